"""Composites: lengths and means by hand, nothing across a boundary, and what is missing."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from late import pd
from wireframes import box

import geodomain
from geodomain import Domain, Drillholes, GeodomainWarning, TableError
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh


@cache
def hole() -> pd.DataFrame:
    return pd.DataFrame({"HOLE": ["A"], "X": [5.0], "Y": [5.0], "Z": [30.0], "DEPTH": [40.0],
                         "AZIMUTH": [0.0], "DIP": [90.0]})  # fmt: skip


ORE = {"ORE": box((0, 0, 10), (10, 10, 20))}  # from 10 to 20 down the hole


def samples(*rows: tuple) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["FROM", "TO", "AU"])
    return frame.assign(HOLE="A")


def made(*rows: tuple, domains=ORE, **options) -> pd.DataFrame:
    found = geodomain.composite(samples(*rows), Drillholes(hole()), domains, grade="AU", **options)
    return found.to_pandas()


def spans(table: pd.DataFrame) -> list[tuple[float, float, str]]:
    return list(zip(table["from"], table["to"], table["domain"], strict=True))


def test_they_begin_where_the_domain_does_and_end_with_it() -> None:
    found = made((0, 40, 1.0), length=4, background="W")
    assert spans(found) == [
        (0, 4, "W"), (4, 8, "W"), (8, 10, "W"), (10, 14, "ORE"), (14, 18, "ORE"), (18, 20, "ORE"),
        (20, 24, "W"), (24, 28, "W"), (28, 32, "W"), (32, 36, "W"), (36, 40, "W"),
    ]  # fmt: skip
    assert (found["AU"] == 1).all() and (found["AU_missing"] == 0).all()
    assert found["z"].tolist()[:2] == [28, 24]


def test_means_are_weighted_by_length() -> None:
    found = made((10, 11, 1.0), (11, 13, 4.0), (13, 20, 0.0), length=5)
    assert spans(found) == [(10, 15, "ORE"), (15, 20, "ORE")]
    assert found["AU"].tolist() == [(1 + 8) / 5, 0]


def test_samples_across_a_boundary_are_divided() -> None:
    found = made((8, 12, 3.0), (12, 20, 1.0), length=10, background="W")
    assert spans(found) == [(0, 10, "W"), (10, 20, "ORE")]
    assert found["AU"].tolist() == [3, (2 * 3 + 8) / 10]
    assert found["AU_missing"].tolist() == [8, 0]


def test_missing_is_apart_from_zero() -> None:
    found = made((10, 12, None), (12, 14, 0.0), (15, 20, 2.0), length=5)
    assert found["AU"].tolist() == [0, 2] and found["AU_missing"].tolist() == [3, 0]
    found = made((10, 15, None), (15, 20, 2.0), length=5)
    assert np.isnan(found["AU"][0]) and found["AU_missing"].tolist() == [5, 0]


def test_negative_grades_count_as_they_are_or_by_a_policy() -> None:
    rows = ((10, 15, -0.5), (15, 20, 2.0))
    with pytest.warns(
        GeodomainWarning, match=r"first in sample 1 \(-0.5 in 1\); these values are used"
    ):
        found = made(*rows, length=10)
    assert found["AU"].tolist() == [0.75] and found["AU_missing"].tolist() == [0]
    for policy, value in {"half": 1.125, "limit": 1.25, "zero": 1.0, "missing": 2.0}.items():
        holes = Drillholes(hole(), below_detection=policy)
        with pytest.warns(GeodomainWarning, match="they count as"):
            by_policy = geodomain.composite(samples(*rows), holes, ORE, length=10, grade="AU")
        assert by_policy.grades["AU"].tolist() == [value]


SHORT = {
    "keep": [(10, 14), (14, 18), (18, 20)],
    "merge": [(10, 14), (14, 20)],
    "drop": [(10, 14), (14, 18)],
}


@pytest.mark.parametrize("short", SHORT)
def test_short_pieces_by_rule(short: str) -> None:
    found = made((10, 20, 1.0), length=4, short=short, min_length=3)
    assert [span[:2] for span in spans(found)] == SHORT[short]
    # A piece of half a composite is not short.
    found = made((10, 20, 1.0), length=4, short=short)
    assert [span[:2] for span in spans(found)] == SHORT["keep"]


def test_a_run_shorter_than_a_composite() -> None:
    thin = {"ORE": box((0, 0, 18.5), (10, 10, 20))}
    spanned = {}
    for short in SHORT:
        found = geodomain.composite(samples((0, 40, 1.0)), Drillholes(hole()), thin, length=4,
                                    short=short, background="W")  # fmt: skip
        spanned[short] = [(row[1], row[2]) for row in found.rows() if row[7] == "ORE"]
    assert spanned == {"keep": [("10", "11.5")], "merge": [("10", "11.5")], "drop": []}
    assert found.dropped == 2  # and half a metre at the end of the hole


def test_composites_that_are_not_sampled_are_left_out() -> None:
    found = made((10, 11, 1.0), (18, 19, 1.0), length=2, background="W")
    assert spans(found) == [(10, 12, "ORE"), (18, 20, "ORE")]
    assert found["AU_missing"].tolist() == [1, 1]


def test_conditions_are_about_samples() -> None:
    rich = [Domain("RICH", ORE["ORE"], only_if={"AU": {">=": 2}}), Domain("POOR", ORE["ORE"])]
    found = made((10, 13, 5.0), (13, 16, 1.0), (17, 20, 3.0), length=3, domains=rich)
    assert spans(found) == [(10, 13, "RICH"), (13, 16, "POOR"), (17, 20, "RICH")]


def test_overlaps_are_refused() -> None:
    with pytest.raises(TableError, match=r"1 sample overlaps the sample above, the first in row 1"):
        made((0, 5, 1.0), (4, 6, 1.0), length=2)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"length": 0}, "length is 0"), ({"length": 2, "min_length": 3}, "min_length is 3"),
     ({"length": 2, "short": "cut"}, "short is 'cut'")],
)  # fmt: skip
def test_slips_of_the_caller(options: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made((0, 5, 1.0), **options)


# The hole is 40 deep: 20 samples of 2 end with it.
steps = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 3)), min_size=1, max_size=20)


@pytest.mark.full
@given(steps, st.integers(1, 80), st.sampled_from(list(SHORT)))
def test_metal_is_kept(sampled: list[tuple[int, int]], length: int, short: str) -> None:
    """Grade times length of all the composites is that of the samples, unless some are dropped."""
    depth, rows = 0.0, []
    for step, grade in sampled:
        rows.append((depth, depth + step / 10, float(grade) if grade < 3 else None))
        depth += step / 10
    found = made(*rows, length=length / 10, short=short)
    known = [(stop - start) * au for start, stop, au in rows if au is not None]
    weights = found["length"] - found["AU_missing"]
    total = float((found["AU"].fillna(0) * weights).sum())
    if short == "drop":
        assert total <= sum(known) + 1e-9
        return
    assert total == pytest.approx(sum(known), abs=1e-9)
    inside = (found["from"] >= 10 - 1e-9) & (found["to"] <= 20 + 1e-9)
    assert (inside == (found["domain"] == "ORE")).all()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    hole().to_csv("collar.csv", index=False)
    Path("assay.csv").write_text("HOLE,FROM,TO,AU,CU\nA,8,12,3,1\nA,12,20,1,\nX,0,1,2,2\n")
    write_mesh(ORE["ORE"], Path("ore.ply"))
    return tmp_path


def run(*options: str, code: int = 0) -> Result:
    arguments = ["composite", "assay.csv", "--collar", "collar.csv", "--solid", "ORE=ore.ply"]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exit_code == code, result.output
    return result


def test_the_command(folder: Path) -> None:
    asked = ("--length", "5", "--grade", "AU", "--grade", "CU", "--background", "W")
    result = run(*asked, "-o", "out.csv")
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["from"], row["domain"], row["AU"], row["CU_missing"]) for row in rows] == [
        ("5", "W", "3", "3"), ("10", "ORE", "1.8", "3"), ("15", "ORE", "1", "5"),
    ]  # fmt: skip
    assert "1 interval of a hole without a collar (X)" in result.stderr
    assert "without AU" in result.stderr
    assert '"composites": 3' in run(*asked, "--json").stdout
    assert "correct the tables" in run(*asked, "--strict", code=3).stderr
    assert "--overwrite" in run(*asked, "-o", "out.csv", code=4).stderr
    assert "is the input" in run(*asked, "-o", "assay.csv", "--overwrite", code=3).stderr
    assert run("--length", "1", "--min-length", "2", code=2).exit_code == 2


def test_it_shows_itself() -> None:
    found = geodomain.composite(
        samples((0, 40, 1.0)), Drillholes(hole()), ORE, length=4, grade="AU"
    )
    assert repr(found) == "<Composites: 11 of 4 in 2 domains>"
    assert "(background)" in str(found) and "<td" in found._repr_html_()


def test_depths_that_cannot_be_are_refused() -> None:
    far = hole().drop(columns="DEPTH")
    rows = samples((0, 1e20, 1.0))
    with pytest.raises(TableError, match="would be more than 100,000,000 composites of length"):
        geodomain.composite(rows, Drillholes(far, intervals=rows), ORE, length=4, grade="AU")
