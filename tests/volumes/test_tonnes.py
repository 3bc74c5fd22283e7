"""Tonnes and grade: a table worked out by hand, conservation, and all kinds of tables and files."""

from __future__ import annotations

import ast
import io
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from late import pandas, polars, pyarrow
from wireframes import box

import geodomain
from geodomain import write_mesh
from geodomain.cli import main
from geodomain.errors import GeodomainWarning, TableError
from geodomain.volumes.exact_sums import exact_sums, nearest_float
from geodomain.volumes.tonnage import split_by_bench

# Four blocks of 10 x 10: two of 10 high, one of 5, and one of 20 from 5 to 25.
MODEL = """X,Y,Z,DX,DY,DZ,domain,SG,AU,CU,ore
5,5,5,10,10,10,ORE,2,1,0.5,1
15,5,5,10,10,10,ORE,3,4,,0.25
25,5,12.5,10,10,5,WASTE,2.5,0.5,0.1,0
35,5,15,10,10,20,ORE,,2,1,0.5
"""
HEAD = "domain,bench,cutoff,blocks,volume,tonnes"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside the model."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.csv"
    path.write_text(MODEL)
    return path


def run(*arguments: str, code: int = 0) -> Result:
    return run_command("tonnes", *arguments, code=code)


# Worked out by hand: tonnes 2000 and 3000 of ORE, 1250 of WASTE; the last block has no density.
BY_HAND = f"""{HEAD},mean_AU,metal_AU,mean_CU,metal_CU
ORE,,,3,4000.0,5000.0,2.8,14000.0,0.5,1000.0
ORE,,1.0,3,4000.0,5000.0,2.8,14000.0,0.5,1000.0
ORE,,2.0,2,3000.0,3000.0,4.0,12000.0,,0.0
WASTE,,,1,500.0,1250.0,0.5,625.0,0.1,125.0
WASTE,,1.0,0,0.0,0.0,,0.0,,0.0
WASTE,,2.0,0,0.0,0.0,,0.0,,0.0
"""


def test_a_table_worked_out_by_hand(model: Path) -> None:
    options = ["--density", "SG", "--grade", "AU", "--grade", "CU", "--cutoff", "AU=2,1"]
    result = run("model.csv", *options, "-o", "t.csv")
    assert Path("t.csv").read_text() == BY_HAND
    assert "1 block has no SG" in result.stderr and "1 block has no CU" in result.stderr
    assert "without a density: 1 block," in result.stderr and not result.stdout
    assert run("model.csv", *options, "-o", "-", "--quiet").stdout == BY_HAND
    found = json.loads(run("model.csv", *options, "--json").stdout)
    assert found["totals"][0]["tonnes"] == 6250 and found["blocks"] == 4
    assert found["rows"][0]["grades"][1] == {
        "name": "CU", "mean": 0.5, "metal": 1000.0, "tonnes": 2000.0, "missing": 1,
        "unit": "",
    }  # fmt: skip
    assert "t.csv" in run("model.csv", *options, "-o", "t.csv", code=4).stderr


def test_a_labelling_adds_up_what_it_wrote(model: Path) -> None:
    write_mesh(box((0, 0, 0), (20, 10, 20)), "ore.ply")
    wanted = ["--density", "SG", "--grade", "AU", "--bench", "10", "--cutoff", "1"]
    model_and_ore = ["label", "model.csv", "--solid", "ORE=ore.ply", "--column", "new"]

    def label(*more: str) -> Result:
        return CliRunner().invoke(main, [*model_and_ore, *more])

    done = label(*wanted, "-o", "out.csv")
    assert done.exit_code == 0, done.output
    said = run("out.csv", "--column", "new", *wanted).stdout
    assert said and said in done.stderr and "wireframe volume" in done.stderr
    found = json.loads(label(*wanted, "-o", "again.csv", "--json").stdout)
    alone = json.loads(run("out.csv", "--column", "new", *wanted, "--json").stdout)
    assert found["tonnes"] == alone and found["rows"] == alone["blocks"] == 4
    shares = ["--proportions", "--proportion", "IN=prop_ore", "--json"]
    found = json.loads(label(*wanted, *shares, "-o", "shares.csv").stdout)
    (row,) = found["tonnes"]["domains"][:1]
    assert row["domain"] == "IN"
    assert row["volume"] == pytest.approx(found["domains"][0]["proportion_volume"], rel=1e-12)
    for more, said in (
        ([*wanted, "--dry-run"], "-o OUT.csv"),
        ([*wanted, "-o", "-"], "-o OUT.csv"),
        (["--grade", "AU", "-o", "no.csv"], "need --density"),
    ):
        wrong = label(*more)
        assert wrong.exit_code == 2 and said in wrong.stderr
    assert not Path("no.csv").exists()


def test_benches_split_blocks_and_have_their_lower_end(model: Path) -> None:
    result = run("model.csv", "--density", "2", "--bench", "10", "-o", "-")
    assert result.stdout == (
        f"{HEAD}\nORE,0.0,,3,2500.0,5000.0\nORE,10.0,,1,1000.0,2000.0\nORE,20.0,,1,500.0,1000.0\n"
        "WASTE,10.0,,1,500.0,1000.0\n"
    )
    domains = json.loads(run("model.csv", "--density", "2", "--bench", "10", "--json").stdout)
    assert [(row["domain"], row["blocks"]) for row in domains["domains"]] == [
        ("ORE", 3),
        ("WASTE", 1),
    ]
    assert domains["totals"][0]["blocks"] == 4


def test_parts_of_blocks_in_benches() -> None:
    z, dz = np.array([0.35, -5.0, math.nan, 0.4]), np.array([0.1, 20.0, 1.0, 0.0])
    parts = list(split_by_bench(z, dz, 0.1))
    assert parts[0][0][0] == pytest.approx(0.3) and parts[0][1].tolist() == [1, 0.005, 1, 1]
    assert np.isnan(parts[0][0][2:]).all()
    assert len(parts) == 200 and sum(part[1] for part in parts)[1] == pytest.approx(1, rel=1e-12)
    with pytest.raises(TableError, match=r"block 7 is 1e\+09 high, more than 10,000 benches"):
        list(split_by_bench(np.zeros(1), np.array([1e9]), 10, 7))


def test_shares_of_blocks(model: Path) -> None:
    with pytest.warns(GeodomainWarning, match="no SG"):
        found = geodomain.tonnes_file(
            model, density="SG", grade="AU", proportion={"IN": "ore"}, column="not read"
        )
    row, rest = found.rows
    assert (row.domain, row.blocks, row.volume, row.tonnes) == ("IN", 3, 2250, 2750)
    assert row.grades[0].metal == 2000 + 3000
    assert (rest.domain, rest.blocks, rest.volume, rest.tonnes) == ("rest", 3, 2250, 2250 + 1250)
    assert found.totals[0].volume == 4500 and found.totals[0].blocks == 4
    model.write_text(MODEL.replace("0.25\n", "25\n"))
    assert "ore is 25 in block 2: a share must be from 0 to 1" in run(
        "model.csv", "--density", "2", "--proportion", "IN=ore", code=3
    ).stderr  # fmt: skip
    model.write_text(MODEL.replace("0.25\n", "\n"))
    result = run("model.csv", "--density", "2", "--proportion", "A=ore", "--proportion", "B=ore")
    assert "1 block has no ore" in result.stderr
    assert "1 block has shares that add up to more than 1; the first is block 1:" in result.stderr


def many(count: int = 30_000) -> pandas.DataFrame:
    """Return blocks of several sizes and domains, some of their values missing."""
    random = np.random.default_rng(7)
    sizes = random.choice([2.5, 5, 10], (count, 3))
    grade = random.lognormal(0, 1, count)
    grade[::17] = np.nan
    return pandas.DataFrame(
        {
            **{name: random.uniform(0, 500, count) for name in "XYZ"},
            **{f"D{name}": sizes[:, axis] for axis, name in enumerate("XYZ")},
            "domain": random.choice(["", "A", "B, C", 'D "e"'], count),
            "SG": random.uniform(2, 3, count),
            "AU": grade,
        }
    )


WANTED = {"density": "SG", "grade": "AU", "cutoff": [0.5, 1]}


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*no AU")
def test_every_kind_of_table_and_file_gives_the_same_and_nothing_is_lost(tmp_path: Path) -> None:
    frame = many()
    told = geodomain.tonnes(frame, **WANTED)
    frame.to_csv(tmp_path / "b.csv", index=False)
    arrow = pyarrow.Table.from_pandas(frame)
    pyarrow.parquet.write_table(arrow, tmp_path / "b.parquet", row_group_size=4321)
    assert geodomain.tonnes(arrow, **WANTED) == told
    assert geodomain.tonnes(polars.from_arrow(arrow), **WANTED) == told
    assert geodomain.tonnes(frame.sample(frac=1, random_state=1), **WANTED) == told
    for name in ("b.csv", "b.parquet"):
        assert geodomain.tonnes_file(tmp_path / name, **WANTED) == told
    volume = frame.DX * frame.DY * frame.DZ
    exact = sum(map(Fraction, volume * frame.SG))
    assert told.totals[0].tonnes == float(exact)
    assert told.totals[0].volume == sum(row.volume for row in told.rows if row.cutoff is None)
    assert [row.domain for row in told.rows[::3]] == ["A", "B, C", 'D "e"', ""]
    rich = frame[frame.AU >= 1]
    assert told.totals[2].blocks == len(rich)
    assert told.totals[2].grades[0].mean == pytest.approx(
        np.average(rich.AU, weights=(volume * frame.SG)[rich.index]), rel=1e-13
    )
    benched = geodomain.tonnes(frame, **WANTED, bench=7)
    assert math.fsum(row.tonnes for row in benched.rows if row.cutoff is None) == pytest.approx(
        told.totals[0].tonnes, rel=1e-13
    )
    assert [row.blocks for row in benched.domains] == [row.blocks for row in told.domains]


def test_sums_are_exact() -> None:
    values = np.array([1e300, 5e-324, -1e300, 0.1, -1e16, 1e16, 0.2, 0.0])
    groups = np.array([0, 0, 0, 1, 1, 1, 1, 2])
    for order in (slice(None), slice(None, None, -1)):
        found = exact_sums(values[order], groups[order], 3)
        assert [nearest_float(one) for one in found] == [5e-324, 0.1 + 0.2, 0.0]
    near = np.random.default_rng(3).uniform(-9, 9, 5000)
    groups = np.arange(5000) % 7
    exact = [sum(map(Fraction, near[groups == one].tolist())) for one in range(7)]
    found = exact_sums(near, groups, 7)
    assert [Fraction(one, 1 << 1126) for one in found] == exact
    (huge,) = exact_sums(np.full(3, -1e308), np.zeros(3, np.intp), 1)
    assert nearest_float(huge) == -math.inf and nearest_float(huge, huge) == 1


def test_codes_are_labels_and_a_missing_label_has_no_name() -> None:
    frame = many(10).assign(domain=[1, 1, 2, 2, 2, 3, 3, 3, 3, None], AU=1.0)
    found = geodomain.tonnes(frame, density=1, grade="AU")
    assert [(row.domain, row.blocks) for row in found.rows] == [
        ("1", 2), ("2", 3), ("3", 4), ("", 1)
    ]  # fmt: skip
    assert "(none)" in str(found) and "(none)" in found._repr_html_()
    assert repr(found).startswith("<Tonnes of 10 blocks: ")


def test_negative_and_missing_values(model: Path) -> None:
    model.write_text(MODEL.replace("2,1,0.5,1", "2,-99,0.5,1").replace("35,5,15,10", "35,5,15,0"))
    grade = ("--density", "2", "--grade", "AU")
    result = run("model.csv", *grade)
    said = "AU is negative in 1 of the blocks, the first in block 1 (-99.0 in 1); these values are"
    assert said in result.stderr and "use --missing AU=-99.0" in result.stderr
    assert "1 block has no volume" in result.stderr and "not in any sum" in result.stdout
    result = run("model.csv", *grade, "--missing", "-99")
    assert "negative" not in result.stderr and "1 block has no AU" in result.stderr
    model.write_text(MODEL.replace("WASTE,2.5", "WASTE,-1"))
    result = run("model.csv", "--density", "SG", code=3)
    assert "SG is -1 in block 3" in result.stderr and "--missing SG=-1" in result.stderr


def test_negative_grades_go_by_the_policy_for_values_below_detection(model: Path) -> None:
    model.write_text(MODEL.replace("2,1,0.5,1", "2,-0.02,0.5,1"))
    with pytest.warns(GeodomainWarning, match=r"\(-0.02 in 1\): they count as half of the"):
        found = geodomain.tonnes_file(model, density=2, grade="AU", below_detection="half")
    model.write_text(MODEL.replace("2,1,0.5,1", "2,0.01,0.5,1"))
    assert geodomain.tonnes_file(model, density=2, grade="AU").totals == found.totals


def test_a_usual_mark_of_missing_values_is_named_if_it_counts_as_below_detection(
    model: Path,
) -> None:
    model.write_text(MODEL.replace("2,1,0.5,1", "2,-99,0.5,1"))
    policy = ("--density", "2", "--grade", "AU", "--below-detection", "half")
    told = run("model.csv", *policy).stderr
    assert "-99.0 often stands for a missing value: then use --missing AU=-99.0" in told
    assert "negative" not in run("model.csv", *policy, "--missing", "AU=-99.0").stderr
    model.write_text(MODEL.replace("2,1,0.5,1", "2,-0.02,0.5,1"))
    told = run("model.csv", *policy).stderr
    assert "they count as half" in told and "often stands" not in told


def test_products_beyond_the_range_of_a_number_name_the_row(model: Path) -> None:
    model.write_text(MODEL.replace("3,4,,0.25", "3,1.797e308,,0.25"))
    result = run("model.csv", "--density", "2", "--grade", "AU", code=3)
    assert "block 2 has more metal than float64 can hold: AU is 1.797e+308;" in result.stderr
    assert "--missing AU=1.797e+308" in result.stderr
    result = run("model.csv", "--density", "AU", code=3)
    assert "block 2 has more tonnes than float64 can hold: AU is 1.797e+308" in result.stderr
    frame = pandas.read_csv(io.StringIO(MODEL)).assign(AU=[1, math.inf, 1, 1])
    with pytest.raises(TableError, match="Numbers must be finite"):
        geodomain.tonnes(frame, density=2, grade="AU")


@pytest.mark.filterwarnings("ignore:blocks")
def test_a_volume_that_underflows_is_none(model: Path) -> None:
    model.write_text(MODEL.replace("15,5,5,10,10,10", "15,5,5,1e-105,1e-105,1e-105"))
    result = run("model.csv", "--density", "2")
    assert "1 block has no volume, because sizes are missing, not above" in result.stderr
    assert "without a volume: 1 block, not in any sum" in result.stdout


THOUSANDS = MODEL.replace("2,1,0.5,1", '2,"1,410",0.5,1')


def test_thousands_in_a_grade_a_density_and_a_share_are_refused(model: Path) -> None:
    model.write_text(THOUSANDS)
    for options in (
        ("--density", "2", "--grade", "AU"),
        ("--density", "AU"),
        ("--density", "2", "--proportion", "ORE=AU"),
    ):
        result = run("model.csv", *options, code=3)
        assert "model.csv: AU is not a number in 1 of the rows" in result.stderr
        assert "'1,410' in line 2" in result.stderr and "thousands separators" in result.stderr
        assert not result.stdout
    frame = pandas.read_csv(io.StringIO(THOUSANDS))
    with pytest.raises(TableError, match="the frame: AU is not a number in 1 of the rows"):
        geodomain.tonnes(frame, density=2, grade="AU")


@pytest.mark.filterwarnings("ignore:1 block")
def test_a_mark_of_one_column_leaves_the_others(model: Path) -> None:
    model.write_text(MODEL.replace("2,1,0.5,1", "2,5,0.5,1"))
    everywhere = run("model.csv", "--density", "2", "--grade", "AU", "--missing", "5")
    own = run("model.csv", "--density", "2", "--grade", "AU", "--missing", "AU=5")
    assert "no volume" in everywhere.stderr or "no AU" in everywhere.stderr
    assert "1 block has no AU" in own.stderr and "no volume" not in own.stderr
    frame = pandas.read_csv(model)
    made = geodomain.tonnes(frame, density=2, grade="AU", missing={"AU": 5})
    assert made.totals == geodomain.tonnes_file(model, density=2, grade="AU", missing="AU=5").totals
    result = run("model.csv", "--density", "2", "--missing", "AUX=5", code=3)
    assert "no column 'AUX'" in result.stderr


@pytest.mark.filterwarnings("ignore:1 block")
def test_below_detection_is_what_the_user_says(model: Path) -> None:
    model.write_text(MODEL.replace("2,1,0.5,1", "2,<0.02,0.5,1"))
    grade = ("--density", "2", "--grade", "AU")
    said = run("model.csv", *grade, code=3).stderr
    assert (
        "'<0.02' in line 2" in said and "--below-detection half (or limit, zero, missing)" in said
    )
    found = {}
    for policy in ("half", "limit", "zero", "missing"):
        model.write_text(MODEL.replace("2,1,0.5,1", "2,<0.02,0.5,1"))
        by_limit = geodomain.tonnes_file(model, density=2, grade="AU", below_detection=policy)
        model.write_text(MODEL.replace("2,1,0.5,1", "2,BDL,0.5,1"))
        by_word = geodomain.tonnes_file(
            model, density=2, grade="AU", below_detection=policy, detection_limit={"AU": 0.02}
        )
        assert by_word.totals == by_limit.totals
        value = {"half": "0.01", "limit": "0.02", "zero": "0", "missing": ""}[policy]
        model.write_text(MODEL.replace("2,1,0.5,1", f"2,{value},0.5,1"))
        assert geodomain.tonnes_file(model, density=2, grade="AU").totals == by_limit.totals
        found[policy] = by_limit.totals[0].grades[0].metal
    assert found["limit"] > found["half"] > found["zero"] == found["missing"]
    said = run("model.csv", *grade, "--below-detection", "most", code=2).stderr
    assert "half" in said
    assert "AU=0.01" in run("model.csv", *grade, "--detection-limit", "AU", code=2).stderr


@pytest.mark.parametrize("name", ["", "AU="])
def test_a_cutoff_with_a_comma_is_not_clear_beside_decimal_commas(name: str, model: Path) -> None:
    commas = MODEL.replace(",", ";").replace(".", ",")
    model.write_text(commas)
    asked = ("model.csv", "--density", "2", "--grade", "AU", "--cutoff")
    said = run(*asked, f"{name}0,5", code=3).stderr
    assert "model.csv has decimal commas, so the cut-off '0,5' is ambiguous" in said
    assert "--cutoff AU=0.5 for one cut-off, or --cutoff AU=0 --cutoff AU=5 for two" in said
    with pytest.raises(TableError, match="is ambiguous") as refused:
        geodomain.tonnes_file("model.csv", density=2, grade="AU", cutoff={"AU": "0,5"})
    advised = re.findall(r"cutoff=(\{.*?\})", str(refused.value))
    rows = [
        len(geodomain.tonnes_file("model.csv", density=2, grade="AU", cutoff=each).rows)
        for each in map(ast.literal_eval, advised)
    ]
    assert len(rows) == 2 and rows[0] < rows[1]
    assert "give each cut-off separately" in run(*asked, f"{name}0,5,1", code=3).stderr
    one = run(*asked, f"{name}0.5", "-o", "one.csv")
    two = run(*asked, f"{name}0", "--cutoff", f"{name}5", "-o", "two.csv")
    assert one.exit_code == two.exit_code == 0
    assert Path("one.csv").read_text().count(",0.5,") and ",5.0," in Path("two.csv").read_text()
    model.write_text(MODEL)
    assert run(*asked, f"{name}0,5").exit_code == 0


MISUSED = {
    (): "Missing option '--density'",
    ("--density", "0"): "neither a number above 0 nor a column",
    ("--density", "2", "--cutoff", "1"): "must name a grade",
    ("--density", "2", "--grade", "AU", "--cutoff", "CU=1"): "but there is no --grade",
    ("--density", "2", "--grade", "AU", "--cutoff", "AU=x"): "is not GRADE=VALUE",
    ("--density", "2", "--grade", "AU", "--cutoff", "AU=1", "--cutoff", "2"): "AU, no grade",
    ("--density", "2", "--cutoff", "AU=1", "--cutoff", "CU=2"): "cut-offs are given for AU, CU",
    ("--density", "2", "--proportion", "ore"): "is not NAME=COLUMN",
    ("--density", "2", "--proportion", "A=ore", "--column", "b"): "give only one of them",
    ("--density", "2", "--proportion", "A=ore", "--proportion", "A=AU"): "a domain twice",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...], model: Path) -> None:
    assert MISUSED[options] in " ".join(run("model.csv", *options, code=2).stderr.split())


@pytest.mark.parametrize("name", ["", "AU="])
def test_cutoffs_of_an_option_that_is_repeated_are_joined(name: str, model: Path) -> None:
    asked = ["model.csv", "--density", "2", "--grade", "AU", "--json"]
    once = run(*asked, "--cutoff", f"{name}1,2").stdout
    assert run(*asked, "--cutoff", f"{name}1", "--cutoff", f"{name}2").stdout == once
    assert json.loads(once)["cutoff_grade"] == "AU"


REFUSED = {
    ("--density", "2", "--column", "rock"): "no column 'rock'",
    ("--density", "2", "--dx", "rock"): "no column 'rock'",
    ("--density", "2", "-o", "model.csv", "--overwrite"): "model.csv",
    ("--density", "2", "--bench", "5", "--rotation", "x=30", "--origin", "0,0,0"): "is tilted",
}


@pytest.mark.parametrize("options", REFUSED, ids=" ".join)
def test_what_is_refused_leaves_no_output(options: tuple[str, ...], model: Path) -> None:
    assert REFUSED[options] in run("model.csv", "-o", "t.csv", *options, code=3).stderr
    assert model.read_text() == MODEL and not Path("t.csv").exists()


def test_models_without_sizes_and_values_that_cannot_be(model: Path) -> None:
    frame = many(10)
    with pytest.raises(TableError, match="no block sizes"):
        geodomain.tonnes(frame.drop(columns=["DX"]), density=2)
    with pytest.raises(TableError, match="more than 1,000 different values"):
        geodomain.tonnes(many(1100), density=2, column="X")
    for wrong in ({"density": -1}, {"bench": 0}, {"cutoff": 1}, {"cutoff": {"AU": 1}}):
        with pytest.raises(ValueError, match=str(*wrong)):
            geodomain.tonnes(frame, **{"density": 2, **wrong})
    with pytest.raises(TypeError):
        geodomain.tonnes([1, 2], density=2)


def test_cells_of_a_vtk_model_and_a_turned_one(tmp_path: Path) -> None:
    pv = pytest.importorskip("pyvista")
    grid = pv.ImageData(dimensions=(3, 2, 4), spacing=(10, 10, 5))
    grid.cell_data["domain"] = [1, 2] * 3
    grid.cell_data["AU"] = np.arange(6.0)
    grid.save(tmp_path / "b.vti")
    found = geodomain.tonnes_file(tmp_path / "b.vti", density=2, grade="AU", bench=10)
    assert [(row.domain, row.bench, row.tonnes) for row in found.rows] == [
        ("1", 0, 2000), ("1", 10, 1000), ("2", 0, 2000), ("2", 10, 1000)
    ]  # fmt: skip
    assert [row.grades[0].metal for row in found.domains] == [6000, 9000]
    frame = many(100)
    turned = geodomain.tonnes(frame, density=2, bench=10, rotation="z=30", origin=(0, 0, 0))
    assert turned == geodomain.tonnes(frame, density=2, bench=10)


def test_a_model_without_blocks(model: Path) -> None:
    model.write_text(MODEL.splitlines()[0] + "\n")
    result = run("model.csv", "--density", "2", "--grade", "AU", "-o", "-")
    assert result.stdout == f"{HEAD},mean_AU,metal_AU\n"
    assert "the model has no blocks" in result.stderr


def test_shares_are_rounded_as_their_sums_are_and_the_rest_is_told() -> None:
    frame = pandas.DataFrame({"X": [1.0, 3.0, 5.0], "Y": 1.0, "Z": 1.0})
    frame = frame.assign(DX=2.0, DY=2.0, DZ=2.0, ore=[1.0000000001, -1e-9, np.nan])
    with pytest.warns(
        geodomain.GeodomainWarning, match="1 block has no ore.*other shares leave is added to rest"
    ):
        found = geodomain.tonnes(frame, density=1, proportion={"ORE": "ore"})
    assert [(one.domain, one.volume) for one in found.domains] == [("ORE", 8.0), ("rest", 16.0)]
    with pytest.raises(geodomain.TableError, match="a share must be from 0 to 1"):
        geodomain.tonnes(frame.assign(ore=1.01), density=1, proportion={"ORE": "ore"})


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "limit": ({"detection_limit": 0.01}, "detection_limit is 0.01; it must name columns"),
    "bool": ({"density": True}, "density is of type bool"),
    "column": ({"column": None}, "column is None; give the name of the column"),
    "cutoff": ({"cutoff": [None]}, "cutoff of AU is .None.; it must be one or more numbers"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_slip_of_the_caller_is_one_sentence(given: dict[str, object], said: str) -> None:
    frame = pandas.DataFrame({"X": [1.0], "Y": 1.0, "Z": 1.0, "DX": 2.0, "DY": 2.0, "DZ": 2.0})
    frame = frame.assign(domain="ORE", AU=1.5)
    with pytest.raises((TypeError, ValueError), match=said):
        geodomain.tonnes(frame, **({"density": 2, "grade": "AU"} | given))
    with pytest.raises(TypeError, match="density is of type Series; it must be a num"):
        geodomain.tonnes(frame, density=pandas.Series([2.0]))
    wanted = geodomain.tonnes(frame, density=2, grade="AU", cutoff=[1, 2], missing=None)
    for cutoff in (np.array([1, 2]), pandas.Series([1, 2]), {1, 2}):
        found = geodomain.tonnes(frame, density=2, grade="AU", cutoff=cutoff)
        assert found.as_dict() == wanted.as_dict()
    assert not geodomain.tonnes(frame, density=2, grade=None).totals[0].grades
    for unit in ("g/cm3", "t/m\u00b3"):
        found = geodomain.tonnes(frame, density=2, grade="AU", density_unit=unit, grade_unit="gpt")
        assert found.totals[0].grades[0].metal == 24


@pytest.mark.parametrize(
    ("shares", "background", "said"),
    [
        ({"nan": "share"}, None, "a domain's name is 'nan'"),
        ({"ORE": "share"}, "NaN", "a domain's name is 'NaN'"),
        ({"rest": "share"}, None, "another name with background="),
    ],
)
def test_names_of_shares_that_other_names_hide_are_refused(shares, background, said) -> None:
    frame = pyarrow.table({"X": [5.0], "Y": [5.0], "Z": [5.0], "share": [0.5]})
    with pytest.raises(ValueError, match=said):
        geodomain.tonnes(
            frame, density=2.0, proportion=shares, background=background, dx=10, dy=10, dz=10
        )


def test_a_column_of_ids_is_refused_whatever_its_length(model: Path) -> None:
    """With one look at all rows for each label, 100,000 of them took 75 seconds."""
    rows = [f"{row % 100 * 10},{row // 100 * 10},5,10,10,10,DH{row}" for row in range(100_000)]
    model.write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows, ""]))
    said = run("model.csv", "--density", "2", code=3).stderr
    assert said == (
        "error: domain has more than 1,000 different values: name the column of domains with "
        "--column\n"
    )


@pytest.mark.parametrize("extension", [".vti", ".vtu"])
def test_ghost_cells_are_no_blocks(extension: str, model: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(4, 4, 4), spacing=(10, 10, 10))
    grid.cell_data["domain"] = np.where(np.arange(27) % 2, "ORE", "WASTE")
    grid.cell_data["AU"] = np.arange(27.0)
    grid.cell_data["vtkGhostType"] = (np.arange(27) < 5).astype(np.uint8)
    path = model.with_name(f"ghosts{extension}")
    (grid if extension == ".vti" else grid.cast_to_unstructured_grid()).save(path)
    with pytest.warns(GeodomainWarning, match="5 cells are marked as ghosts") as told:
        done = geodomain.tonnes_file(path, density=2.5, grade="AU")
    assert not [one for one in told if "volume" in str(one.message)]
    (whole,) = done.totals
    assert (whole.blocks, whole.volume, whole.without_volume) == (22, 22_000.0, 0)
    assert whole.grades[0].mean == np.arange(5, 27).mean()
