"""Blocks that are there twice or overlap, densities that no rock has, and the rest of shares."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command as run
from late import pandas
from wireframes import box

import geodomain
from geodomain import write_mesh
from geodomain.checks.columns import DENSITY_UNITS, density_unit
from geodomain.errors import GeodomainWarning, TableError

HEAD = "XC,YC,ZC,DX,DY,DZ,domain,SG,AU"
TWICE = (
    "40 blocks have the same centroid as another block: their volume counts twice; 'geodomain "
    "inspect' names the first of them"
)
OVERLAP = "blocks overlap their neighbours along x: centroids at 5 and 15 are 10 apart"


def rows(size: str = "10,10,10", density: str = "3") -> list[str]:
    """Return 200 blocks of 10 x 10 x 10, half of them ORE."""
    cells = itertools.product(range(10), range(10), range(2))
    return [
        f"{x * 10 + 5},{y * 10 + 5},{z * 10 + 5},{size},{'ORE' if x < 5 else 'AIR'},"
        f"{'3' if x < 5 else density},{(x + y) % 7 + 1}"
        for x, y, z in cells
    ]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the honest model."""
    monkeypatch.chdir(tmp_path)
    return table(rows())


def table(lines: Iterable[str], name: str = "model.csv") -> Path:
    path = Path(name)
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


@pytest.mark.usefixtures("write")
def test_an_honest_model_has_no_warning_and_no_note() -> None:
    result = run("tonnes", "model.csv", "--density", "SG", "--grade", "AU")
    assert not result.stderr and result.stdout.splitlines()[-1].startswith("total")
    told = geodomain.tonnes_file("model.csv", density="SG", density_unit="t/m3")
    assert not told.warnings and not told.notes and told.totals[0].tonnes == 600_000


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (rows() + rows()[:40], [TWICE, "1.2 times the volume of their"]),
        (rows("20,10,10"), [OVERLAP, "1.818 times the volume of their"]),
    ],
)
@pytest.mark.usefixtures("write")
def test_blocks_that_are_there_twice_or_overlap_are_told_as_label_tells_them(
    lines: list[str], sentences: list[str]
) -> None:
    table(lines)
    write_mesh(box((0, 0, 0), (50, 100, 20)), "solid.ply")
    label = run("label", "model.csv", "--solid", "S=solid.ply", "-o", "l.csv", "--column", "new")
    tonnes = run("tonnes", "model.csv", "--density", "SG")
    report = run("report", "model.csv", "-o", "r.html")
    told = json.loads(run("tonnes", "model.csv", "--density", "SG", "--json").stdout)["warnings"]
    for sentence in sentences:
        line = next(one for one in tonnes.stderr.splitlines() if sentence in one)
        assert line in label.stderr.splitlines() and line in report.stderr.splitlines()
        assert line.removeprefix("warning: ") in told
    both = run("label", "model.csv", "--solid", "S=solid.ply", "-o", "both.csv", "--column", "new",
               "--density", "SG")  # fmt: skip
    assert all(both.stderr.count(sentence) == 1 for sentence in sentences)


@pytest.mark.usefixtures("write")
def test_a_frame_is_checked_as_a_file_is() -> None:
    frame = pandas.read_csv(table(rows() + rows()[:40]))
    with pytest.warns(GeodomainWarning) as caught:
        told = geodomain.tonnes(frame, density="SG")
    assert {str(one.message) for one in caught} == set(told.warnings)
    with pytest.warns(GeodomainWarning):
        assert told.warnings == geodomain.tonnes_file("model.csv", density=1.0).warnings
    assert TWICE in told.warnings


@pytest.mark.usefixtures("write")
def test_turned_blocks_do_not_overlap() -> None:
    options = {"rotation": "z=30", "origin": (1000, 2000, 0)}
    told = geodomain.tonnes_file("model.csv", density="SG", **options)
    assert not told.warnings and told.totals[0].volume == 200_000
    table(rows() + rows()[:40])
    with pytest.warns(GeodomainWarning):
        told = geodomain.tonnes_file("model.csv", density="SG", **options)
    twice, full = told.warnings
    assert "40 blocks have the same centroid" in twice and "1.2 times the volume" in full


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("XC", " holds the x coordinates of the blocks"),
        ("zc", " holds the z coordinates of the blocks"),
        ("DY", " holds the y sizes of the blocks"),
    ],
)
@pytest.mark.usefixtures("write")
def test_a_coordinate_or_a_size_is_no_density(column: str, said: str) -> None:
    write_mesh(box((0, 0, 0), (50, 100, 20)), "solid.ply")
    for command in (
        ["tonnes", "model.csv"],
        ["report", "model.csv", "-o", "r.html"],
        ["label", "model.csv", "--solid", "S=solid.ply", "-o", "l.csv", "--column", "new"],
    ):
        assert said in run(*command, "--density", column, code=3).stderr
    assert not Path("r.html").exists() and not Path("l.csv").exists()
    with pytest.raises(TableError, match=said):
        geodomain.tonnes(pandas.read_csv("model.csv"), density=column)


@pytest.mark.usefixtures("write")
def test_a_grade_as_density_is_a_warning() -> None:
    said = "AU is both the density and a grade"
    assert said in run("tonnes", "model.csv", "--density", "AU", "--grade", "AU").stderr
    page = ["report", "model.csv", "-o", "r.html", "--density", "AU", "--grade", "AU"]
    run(*page)
    assert said in Path("r.html").read_text()


@pytest.mark.usefixtures("write")
def test_densities_of_zero_are_counted_and_noted() -> None:
    table(rows(density="0"))
    result = run("tonnes", "model.csv", "--density", "SG")
    said = "density 0: 100 blocks, included in the volume, with 0 tonnes"
    assert said in result.stdout and not result.stderr
    told = geodomain.tonnes_file("model.csv", density="SG", density_unit="t/m3")
    assert said in told.notes[0] and not told.warnings and told.totals[0].tonnes == 300_000
    run("report", "model.csv", "-o", "r.html", "--density", "SG")
    assert said in Path("r.html").read_text()
    assert said in told._repr_html_()


@pytest.mark.usefixtures("write")
def test_a_wide_spread_without_a_unit_is_noted_and_a_unit_counts_what_no_rock_has() -> None:
    table(rows(density="2700"))
    result = run("tonnes", "model.csv", "--density", "SG")
    assert "SG above 0 range from 3 to 2700" in result.stdout and "--density-unit" in result.stdout
    told = run("tonnes", "model.csv", "--density", "SG", "--density-unit", "t/m3")
    assert (
        "100 blocks have a density in SG that no rock has; the first is 2700 in block 101, but "
        "rock has 0.5 to 8 t/m3"
    ) in told.stderr and "range from" not in told.output
    told = run("tonnes", "model.csv", "--density", "2700", "--density-unit", "t/m3")
    assert "the density is 2700 t/m3" in told.stderr
    page = run("report", "model.csv", "-o", "r.html", "--density", "SG", "--density-unit", "t/m3")
    assert "warning: 100 blocks" in page.stderr or "100 blocks have a" in Path("r.html").read_text()


@pytest.mark.parametrize("unit", DENSITY_UNITS)
@pytest.mark.usefixtures("write")
def test_a_unit_makes_tonnes_exactly(unit: str) -> None:
    pound, foot = Fraction(45359237, 10**8), Fraction(3048, 10**4)
    kilograms = {
        "t/m3": Fraction(1000), "kg/m3": Fraction(1), "lb/ft3": pound, "t/ft3": Fraction(1000),
    }[unit]  # fmt: skip
    volume = foot**3 if unit.endswith("ft3") else 1
    density = float(Fraction(27, 10) * 1000 / kilograms * volume)
    told = geodomain.tonnes_file(
        "model.csv", density=density, grade="AU", grade_unit="g/t", density_unit=unit
    )
    assert not told.warnings
    exact = sum([Fraction(float(1000 * np.float64(density)))] * 200) * kilograms / 1000
    assert told.totals[0].tonnes == float(exact)
    plain = geodomain.tonnes_file("model.csv", density=density, grade="AU")
    assert told.totals[0].grades[0].mean == plain.totals[0].grades[0].mean
    assert told.totals[0].grades[0].tonnes == told.totals[0].tonnes
    for share, fits in ((0.49, False), (0.51, True), (7.9, True), (8.1, False)):
        assert (density_unit(unit).low <= density / 2.7 * share <= density_unit(unit).high) is fits


@pytest.mark.usefixtures("write")
def test_units_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"density_unit is 'g/cc'; use t/m3, lb/ft3"):
        geodomain.tonnes_file("model.csv", density="SG", density_unit="g/cc")
    run("tonnes", "model.csv", "--density", "SG", "--density-unit", "g/cc", code=2)
    page = ["report", "model.csv", "-o", "r.html", "--density-unit", "t/m3"]
    assert "--density-unit needs --density" in run(*page, code=2).stderr


@pytest.mark.usefixtures("write")
def test_the_rest_of_shares_is_of_the_background_and_the_table_adds_up_to_the_model() -> None:
    frame = pandas.read_csv("model.csv")
    frame["a"] = np.linspace(0, 0.4, len(frame))
    frame["b"] = np.linspace(0.6, 0, len(frame))
    frame.to_csv("shares.csv", index=False)
    shares = {"A": "a", "B": "b"}
    told = geodomain.tonnes_file("shares.csv", density="SG", proportion=shares)
    assert [row.domain for row in told.rows] == ["A", "B", "rest"]
    assert sum(row.volume for row in told.rows) == pytest.approx(200_000, rel=1e-15)
    assert told.totals[0].volume == pytest.approx(200_000, rel=1e-15)
    assert told.totals[0].blocks == 200
    named = geodomain.tonnes(frame, density="SG", proportion=shares, background="WASTE")
    assert [row.domain for row in named.rows] == ["A", "B", "WASTE"]
    assert [row.volume for row in named.rows] == [row.volume for row in told.rows]
    # One of the shares may be the background's: the rest is added to it.
    more = geodomain.tonnes(frame, density="SG", proportion=shares, background="B")
    assert [row.domain for row in more.rows] == ["A", "B"]
    assert more.rows[1].volume == pytest.approx(told.rows[1].volume + told.rows[2].volume)
    options = ["--density", "SG", "--proportion", "A=a", "--proportion", "B=b"]
    said = run("tonnes", "shares.csv", *options, "--background", "WASTE").stdout
    assert "WASTE" in said and "rest" not in said
    # What rounding leaves is no rest.
    frame["b"] = 1 - frame["a"].round(7)
    full = geodomain.tonnes(frame, density="SG", proportion=shares)
    assert [row.domain for row in full.rows] == ["A", "B"]


@pytest.mark.usefixtures("write")
def test_a_background_needs_shares_of_blocks() -> None:
    with pytest.raises(ValueError, match="background= needs proportion="):
        geodomain.tonnes_file("model.csv", density="SG", background="WASTE")
    result = run("tonnes", "model.csv", "--density", "SG", "--background", "W", code=2)
    assert "--background needs --proportion" in result.stderr


@pytest.mark.usefixtures("write")
def test_label_gives_the_rest_to_its_background() -> None:
    write_mesh(box((-1, -1, -1), (42, 101, 21)), "solid.ply")
    result = run(
        "label", "model.csv", "--solid", "S=solid.ply", "-o", "l.csv", "--column", "new",
        "--proportions", "--background", "HOST", "--density", "SG", "--proportion", "S=prop_S",
        "--json",
    )  # fmt: skip
    tonnes = json.loads(result.stdout)["tonnes"]
    assert {row["domain"]: row["volume"] for row in tonnes["rows"]} == {
        "S": pytest.approx(84_000), "HOST": pytest.approx(116_000),
    }  # fmt: skip
