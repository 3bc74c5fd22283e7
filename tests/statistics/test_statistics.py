"""Statistics by domain: a table worked out by hand, all kinds of tables, policies, refusals."""

from __future__ import annotations

import csv
import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import Field, fields
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import pandas, parquet, polars, pyarrow
from wireframes import box

import geodomain
from geodomain.cli.statistics import stats as command
from geodomain.errors import GeodomainWarning, TableError
from geodomain.statistics.results import Statistics, StatsRow
from geodomain.statistics.settings import StatsKeywords, StatsSettings

# Two holes. The last sample has no grade, and the one before no length.
SAMPLES = """BHID,FROM,TO,X,Y,Z,domain,AU
A,0,1,0,0,-0.5,ORE,4
A,1,3,0,0,-2,ORE,1
A,3,4,0,0,-3.5,WASTE,0.1
B,0,1,100,0,-0.5,ORE,2
B,1,1,100,0,-1,ORE,9
B,1,2,100,0,-1.5,ORE,
"""
BLOCKS = """X,Y,Z,DX,DY,DZ,domain,AU
5,5,5,10,10,10,ORE,1
15,5,5,10,10,10,ORE,4
25,5,2.5,10,10,5,ORE,2
35,5,5,10,10,10,,0.5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside the tables."""
    monkeypatch.chdir(tmp_path)
    Path("samples.csv").write_text(SAMPLES)
    Path("blocks.csv").write_text(BLOCKS)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    return run_command("stats", *arguments, code=code)


def quietly(*arguments: object, **keywords: object) -> Statistics:
    """Compute statistics of tables that have gaps."""
    with pytest.warns(GeodomainWarning):
        return geodomain.stats(*arguments, **keywords)  # type: ignore[arg-type]


def naive(found: Statistics, domain: str = "(all)") -> StatsRow:
    rows = [*found.rows, *found.totals]
    return next(
        row for row in rows if (row.domain, row.weights, row.cap) == (domain, "naive", None)
    )


def test_statistics_worked_out_by_hand() -> None:
    """ORE: 4 over 1 m, 1 over 2 m and 2 over 1 m, in ascending order 1, 1, 2, 4 by metres."""
    found = quietly("samples.csv", "AU", cap=3)
    ore = naive(found, "ORE")
    assert (ore.rows, ore.count, ore.missing, ore.without_weight) == (5, 3, 1, 1)
    assert (ore.weight, ore.mean, ore.variance) == (4.0, 2.0, 1.5)
    assert ore.cv == pytest.approx(1.5**0.5 / 2)
    assert (ore.minimum, ore.quartile_1, ore.median, ore.quartile_3) == (1.0, 1.0, 1.0, 2.0)
    assert (ore.p90, ore.p95, ore.p99, ore.maximum) == (4.0, 4.0, 4.0, 4.0)
    (cut,) = (row for row in found.rows if row.domain == "ORE" and row.cap == 3.0)
    assert (cut.percentile, cut.samples_cut, cut.holes_cut) == (75.0, 1, 1)
    assert (cut.mean, cut.maximum, cut.p90, cut.median) == (1.75, 3.0, 3.0, 1.0)
    assert cut.metal_lost == pytest.approx(0.125) and cut.variance == pytest.approx(0.6875)
    whole = naive(found)
    assert (whole.rows, whole.count, whole.weight) == (6, 4, 5.0)
    assert found.read == 6 and found.weight == "TO - FROM" and found.column == "domain"
    assert whole.mean == pytest.approx(8.1 / 5)


PRINTED = """\
AU, weighted by TO - FROM
domain  count  missing  no weight  TO - FROM  min   Q1  median   Q3  P90  P95  P99  max  mean
ORE         3        1          1          4    1    1       1    2    4    4    4    4     2
WASTE       1        0          0          1  0.1  0.1     0.1  0.1  0.1  0.1  0.1  0.1   0.1
(all)       4        1          1          5  0.1    1       1    2    4    4    4    4  1.62

AU, top cuts, weighted by TO - FROM
domain  cap  percentile  count  cut  holes cut  mean      CV  metal lost
ORE       3          75      3    1          1  1.75  0.4738      12.50%
(all)     3          80      4    1          1  1.42  0.6991      12.35%

AU: 1 domain without a value above the cap 3
"""


def test_the_printed_tables() -> None:
    lines = run("samples.csv", "--grade", "AU", "--cap", "AU=3").stdout.splitlines()
    assert lines[1].endswith("  mean  variance      CV")
    assert lines[2].split()[-2:] == ["1.5", "0.6124"]
    wide = len(PRINTED.splitlines()[1])
    assert [*(line[:wide] for line in lines[:5]), *lines[5:]] == PRINTED.splitlines()


def test_counts_add_up_and_json_has_everything() -> None:
    Path("odd.csv").write_text(SAMPLES.replace("WASTE", "").replace("100,0,-0.5", ",,"))
    result = run("odd.csv", "--grade", "AU", "--decluster", "50", "--cap", "2", "--json")
    found = json.loads(result.stdout)
    for row in [*found["rows"], *found["totals"]]:
        parts = ("count", "missing", "without_weight", "without_place")
        assert row["rows"] == sum(row[name] for name in parts)
    assert [row["domain"] for row in found["rows"]] == ["ORE"] * 4 + [""] * 4
    whole = [row for row in found["rows"] if row["weights"] == "naive" and row["cap"] is None]
    assert sum(row["rows"] for row in whole) == found["read"] == 6
    placed = [row["without_place"] for row in found["rows"] if row["cap"] is None]
    assert placed == [0, 1, 0, 0]
    assert {each["weights"] for each in found["cut_curve"]} == {"naive", "declustered"}
    assert (
        "1 sample with AU but without coordinates: left out of the declustered statistics of AU"
        in result.stderr
    )
    assert "1 sample without AU: left out of the statistics of AU" in result.stderr
    assert "1 sample with AU but without a weight above 0 (TO - FROM)" in result.stderr


def test_blocks_are_weighted_by_volume() -> None:
    found = geodomain.stats("blocks.csv", "AU")
    ore, none = (row for row in found.rows)
    assert (ore.domain, none.domain) == ("ORE", "") and found.weight == "volume"
    assert (ore.count, ore.weight, ore.mean) == (3, 2500.0, 6000 / 2500)
    assert naive(found).weight == 3500.0
    assert "(none)" in str(found) and "(all)" in str(found)
    alike = geodomain.stats("blocks.csv", "AU", sample_weight=1)
    assert (naive(alike, "ORE").weight, naive(alike, "ORE").mean) == (3.0, 7 / 3)
    assert "weighted" not in str(alike)
    other = geodomain.stats("blocks.csv", "AU", sample_weight="DZ")
    assert naive(other, "ORE").mean == (10 + 40 + 10) / 25
    twice = geodomain.stats("blocks.csv", "AU", sample_weight=2.5)
    assert naive(twice, "ORE").weight == 7.5


MADE = ("pandas", "polars", "pyarrow", "parquet", "interval parquet", "no coordinates", "text")


@pytest.mark.parametrize("kind", MADE)
def test_all_kinds_of_tables_give_the_same(kind: str) -> None:
    wanted = quietly("samples.csv", ["AU"], cap={"AU": [2, 3]})
    frame = pandas.read_csv("samples.csv")
    plain = frame.drop(columns=["X", "Y", "Z"])
    what: object = "other.csv"
    if kind == "pandas":
        what = frame
    elif kind == "polars":
        what = polars.from_pandas(frame)
    elif kind == "pyarrow":
        what = pyarrow.Table.from_pandas(frame)
    elif kind == "text":
        frame.to_csv("other.csv", sep=";", decimal=",", index=False)
    elif kind == "no coordinates":
        plain.to_csv("other.csv", index=False)
    else:
        what = "other.parquet"
        (frame if kind == "parquet" else plain).to_parquet(what, index=False)
    found = quietly(what, "AU", cap=["AU=2", "3"])
    assert found.rows == wanted.rows and found.totals == wanted.totals
    assert found.cut_curve == wanted.cut_curve


def many(count: int, seed: int = 5) -> pandas.DataFrame:
    random = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "BHID": random.integers(0, 40, count).astype(str),
            "X": random.integers(0, 100, count) * 5.0,
            "Y": random.integers(0, 100, count) * 5.0,
            "Z": random.integers(0, 20, count) * 5.0,
            "LENGTH": random.choice([0.1, 0.7, 1.0, 2.0], count),
            "domain": random.choice(["A", "B", "C"], count),
            "AU": random.lognormal(size=count).round(2),
            "CU": np.where(random.random(count) < 0.2, np.nan, random.random(count)),
        }
    )


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_pandas_and_fractions_agree() -> None:
    frame = many(2000)
    found = geodomain.stats(frame, ["AU", "CU"], sample_weight="LENGTH", cap={"AU": 5})
    rows = {(row.grade, row.domain, row.cap): row for row in (*found.rows, *found.totals)}
    parts = [*frame.groupby("domain"), ("(all)", frame)]
    for (domain, part), grade in ((each, name) for each in parts for name in ("AU", "CU")):
        row = rows[grade, domain, None]
        some = part[part[grade].notna()]
        values, lengths = some[grade], some["LENGTH"]
        assert (row.rows, row.count, row.missing) == (
            len(part), len(some), int(part[grade].isna().sum()),
        )  # fmt: skip
        total = sum(map(Fraction, lengths))
        mean = sum(map(Fraction, values * lengths)) / total
        assert row.mean == float(mean) and row.weight == float(total)
        spread = sum(
            Fraction(w) * (Fraction(v) - mean) ** 2 for v, w in zip(values, lengths, strict=True)
        )
        assert row.variance == pytest.approx(float(spread / total), rel=1e-13)
        assert (row.minimum, row.maximum) == (values.min(), values.max())
        reached = some.sort_values(grade)[[grade, "LENGTH"]].to_numpy().tolist()
        for name, share in (("median", 50), ("quartile_1", 25), ("p90", 90), ("p99", 99)):
            sums = Fraction(0)
            for value, length in reached:
                sums += Fraction(length)
                if sums * 100 >= total * share:
                    assert getattr(row, name) == value
                    break
    cut = rows["AU", "B", 5.0]
    part = frame[frame["domain"] == "B"]
    above = part[part["AU"] > 5]
    assert (cut.samples_cut, cut.holes_cut) == (len(above), above["BHID"].nunique())
    assert cut.mean == pytest.approx(np.average(part["AU"].clip(upper=5), weights=part["LENGTH"]))


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_the_order_of_rows_does_not_matter() -> None:
    frame = many(500)
    asked = {"sample_weight": "LENGTH", "cap": 3, "decluster": 60, "threads": 2}
    one = geodomain.stats(frame, "AU", **asked)
    other = geodomain.stats(frame.sample(frac=1, random_state=1), "AU", **asked)
    assert (one.rows, one.totals, one.cut_curve) == (other.rows, other.totals, other.cut_curve)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_declustering_is_within_each_domain_and_multiplies_lengths() -> None:
    from geodomain.statistics.declustering import Declustering

    frame = many(400)
    found = geodomain.stats(frame, "CU", sample_weight="LENGTH", decluster=(80, 80, 20),
                            decluster_origins=3)  # fmt: skip
    for domain, part in (*frame.groupby("domain"), ("(all)", frame)):
        some = part[part["CU"].notna()]
        weights = Declustering(some[["X", "Y", "Z"]].to_numpy(), 3).weights((80, 80, 20))
        (row,) = (
            row
            for row in (*found.rows, *found.totals)
            if (row.domain, row.weights) == (domain, "declustered")
        )
        assert row.mean == pytest.approx(np.average(some["CU"], weights=weights * some["LENGTH"]))
        assert (row.cell_x, row.cell_y, row.cell_z) == (80, 80, 20)
        assert row.weight == naive(found, domain).weight
    flat = geodomain.stats(frame, "CU", sample_weight="LENGTH", decluster="80",
                           cell_ratio="1,1,0.25", decluster_origins=3)  # fmt: skip
    assert flat.rows == found.rows


def crowded() -> pandas.DataFrame:
    """Return holes at 100 in poor ground, and a crowd of them in a rich spot."""
    wide = np.stack(np.meshgrid(np.arange(20) * 100.0, np.arange(20) * 100.0), -1).reshape(-1, 2)
    dense = np.stack(np.meshgrid(np.arange(20) * 10.0, np.arange(20) * 10.0), -1).reshape(-1, 2)
    x, y = np.vstack([wide, dense + 905]).T
    rich = (np.abs(x - 1000) < 110) & (np.abs(y - 1000) < 110)
    return pandas.DataFrame({"X": x, "Y": y, "Z": 0.0, "AU": np.where(rich, 10.0, 1.0)})


def test_auto_writes_the_curve() -> None:
    crowded().to_csv("crowd.csv", index=False)
    run("crowd.csv", "--grade", "AU", "--decluster", "auto", "--curve", "curve.csv",
        "-o", "stats.parquet")  # fmt: skip
    found = parquet.read_table("stats.parquet").to_pylist()
    plain, row = found
    curve = list(csv.DictReader(Path("curve.csv").read_text().splitlines()))
    assert len(curve) == 20 and [each["chosen"] for each in curve].count("True") == 1
    (chosen,) = (each for each in curve if each["chosen"] == "True")
    assert float(chosen["cell_x"]) == row["cell_x"] and float(chosen["mean"]) == row["mean"]
    assert float(chosen["mean"]) == min(float(each["mean"]) for each in curve)
    assert plain["mean"] > 5 and row["mean"] == pytest.approx(1.2025, abs=0.02)
    again = run("crowd.csv", "--grade", "AU", "--decluster", "auto", "--json")
    assert len(json.loads(again.stdout)["cluster_curve"]) == 20


def test_a_curve_without_a_turn_asks_for_a_size() -> None:
    crowded().to_csv("crowd.csv", index=False)
    result = run("crowd.csv", "--grade", "AU", "--decluster", "auto", "--maximise", "--json")
    assert "AU of all domains is not declustered: cells of 9.5 to 950 were tried, and" in (
        result.stderr
    )
    assert "give a size of cells with --decluster" in result.stderr
    _, row = json.loads(result.stdout)["totals"]
    assert (row["weights"], row["mean"], row["count"]) == ("declustered", None, 800)
    one = pandas.DataFrame({"X": [1.0], "Y": [1.0], "Z": [1.0], "AU": [1.0]})
    with pytest.warns(GeodomainWarning, match="all samples are at one place"):
        geodomain.stats(one, "AU", decluster="auto")
    found = geodomain.stats(one, "AU", decluster=10).totals
    assert [row.mean for row in found] == [1.0, 1.0]


def test_policies_of_missing_and_below_detection() -> None:
    Path("odd.csv").write_text("BHID,FROM,TO,AU\nA,0,1,<0.02\nA,1,2,-99\nA,2,3,BDL\nA,3,4,-0.04\n")
    assert "such as '<0.02' in line 2" in run("odd.csv", "--grade", "AU", code=3).stderr
    words = ["odd.csv", "--grade", "AU", "--missing", "AU=-99", "--below-detection", "half",
             "--detection-limit", "AU=0.06"]  # fmt: skip
    result = run(*words, "--json")
    (row,) = json.loads(result.stdout)["totals"]
    assert (row["count"], row["missing"]) == (3, 1)
    assert (row["minimum"], row["median"], row["maximum"]) == (0.01, 0.02, 0.03)
    assert "AU: 2 values below detection, read with --below-detection half" in run(*words).stdout
    assert "AU is negative in 1 of the samples" in result.stderr


def test_a_table_without_a_label_column_is_one_population() -> None:
    Path("plain.csv").write_text(SAMPLES.replace("domain", "rock"))
    found = quietly("plain.csv", "AU")
    assert found.rows == () and naive(found).count == 4 and found.column is None
    named = quietly("plain.csv", "AU", column="ROCK")
    assert [row.domain for row in named.rows] == ["ORE", "WASTE"] and named.column == "rock"
    assert run("plain.csv", "--grade", "AU", "--domain", "rock").stdout == str(named) + "\n"
    frame = named.to_pandas()
    assert frame["domain"].tolist() == ["ORE", "WASTE", "(all)"]
    assert frame.columns.tolist() == [entry.name for entry in fields(StatsRow)]
    assert next(csv.reader(named.to_csv().splitlines())) == frame.columns.tolist()
    assert "3 rows" not in repr(named) and repr(named) == "<Statistics of AU in 6 rows: 2 domains>"
    assert "<table>" in named._repr_html_() and "1 sample without AU" in named._repr_html_()


def test_collars_do_no_harm_without_declustering() -> None:
    text = "".join(f"{hole},{at},{at + 1},{hole},5,9,{at}\n" for hole in (1, 2) for at in range(4))
    Path("collars.csv").write_text("BHID,FROM,TO,X,Y,Z,AU\n" + text)
    assert naive(geodomain.stats("collars.csv", "AU")).count == 8
    said = run("collars.csv", "--grade", "AU", "--decluster", "5", code=3).stderr
    assert "They are collar coordinates" in said


def test_a_wrong_parquet_table_without_coordinates_is_one_sentence() -> None:
    table = pandas.read_csv("samples.csv").drop(columns=["X", "Y", "Z"])
    table.to_parquet("i.parquet")
    assert "has no column 'AG'" in run("i.parquet", "--grade", "AG", code=3).stderr
    said = run("i.parquet", "--grade", "AU", "--decluster", "5", code=3).stderr
    assert "i.parquet has no coordinates, which declustering needs" in said
    table.drop(columns="FROM").to_parquet("n.parquet")
    assert "columns of hole, from and to" in run("n.parquet", "--grade", "AU", code=3).stderr
    table.assign(AU="rich").to_parquet("t.parquet")
    assert "AU is not a number in 6" in run("t.parquet", "--grade", "AU", code=3).stderr


def test_samples_without_lengths_count_alike_and_a_note_says_so() -> None:
    Path("points.csv").write_text("X,Y,Z,AU\n1,1,1,3\n2,2,2,1\n")
    said = run("points.csv", "--grade", "AU").stdout
    assert said.endswith(
        "\neach sample has the same weight: to weight by length, for example, name the column of "
        "lengths with --sample-weight\n"
    )
    assert "alike" not in run("points.csv", "--grade", "AU", "--sample-weight", "1").stdout


def test_a_domain_called_all_is_a_domain() -> None:
    Path("all.csv").write_text("X,Y,Z,domain,AU\n1,1,1,(all),3\n2,2,2,B,1\n")
    found = geodomain.stats("all.csv", "AU")
    assert [row.mean for row in found.rows] == [3.0, 1.0]
    assert [row.mean for row in found.totals] == [2.0]


def test_tables_without_rows_and_domains_without_values() -> None:
    Path("none.csv").write_text("X,Y,Z,AU\n")
    found = quietly("none.csv", "AU", decluster=5, cap=1)
    assert [(row.rows, row.cap, row.mean) for row in found.totals] == [
        (0, None, None), (0, 1.0, None), (0, None, None),
    ]  # fmt: skip
    assert "(all)" in str(found)
    Path("gap.csv").write_text("X,Y,Z,domain,AU\n1,1,1,A,\n2,2,2,B,3\n")
    found = quietly("gap.csv", "AU", decluster=5)
    assert [(row.domain, row.count, row.mean) for row in found.rows] == [
        ("A", 0, None), ("A", 0, None), ("B", 1, 3.0), ("B", 1, 3.0),
    ]  # fmt: skip


MISUSED = {
    ("--cap", "CU=2"): "--cap names CU; it must name a grade (AU)",
    ("--cap", "AU=x"): "'AU=x' is not [GRADE=]VALUE, such as AU=20",
    ("--decluster", "0"): "'0' is not a size of cells",
    ("--decluster", "1,2"): "'1,2' is not a size of cells",
    ("--maximise",): "--cell-ratio and --maximise need --decluster",
    ("--decluster", "5", "--maximise"): "it needs --decluster auto",
    ("--decluster", "5,5,1", "--cell-ratio", "1,1,2"): "leave out --cell-ratio",
    ("--cell-ratio", "1,0,1", "--decluster", "5"): "'1,0,1' is not X,Y,Z",
    ("--curve", "c.csv"): "--curve is the curve of --decluster auto",
    ("--sample-weight", "-1"): "it must be a column, or a number above 0",
    ("--grade", "CU", "--cap", "2"): "--cap must name a grade (AU, CU), such as AU=20",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...]) -> None:
    assert MISUSED[options] in run("samples.csv", "--grade", "AU", *options, code=2).stderr


def test_no_grade_is_misuse() -> None:
    assert "no grade given" in run("samples.csv", code=2).stderr
    with pytest.raises(ValueError, match="grade= is empty"):
        geodomain.stats("samples.csv", [])


# A table, the options, and the sentence that refuses it.
WRONG: dict[str, tuple[str, tuple[str, ...], str]] = {
    "no such grade": (SAMPLES, ("--grade", "AG"), "has no column 'AG'"),
    "no such domain": (SAMPLES, ("--column", "zone"), "has no column 'zone'"),
    "no such weight": (SAMPLES, ("--sample-weight", "LEN"), "has no column 'LEN'"),
    "no such hole": (SAMPLES, ("--hole", "DDH"), "has no column 'DDH'"),
    "text among grades": (SAMPLES.replace(",4\n", ",x\n"), (), "AU is not a number in 1 of"),
    "TO before FROM": (SAMPLES.replace("A,1,3", "A,3,1"), (), "TO - FROM is -2 in sample 2"),
    "negative weight": (
        SAMPLES.replace("BHID,FROM,TO", "BHID,L,M").replace("A,0,1", "A,-9,1"),
        ("--sample-weight", "L"),
        "L is -9 in sample 1, but a weight cannot be negative: if -9 stands for a missing value, "
        "use --missing L=-9",
    ),
    "too large": (SAMPLES.replace(",4\n", ",1e200\n"), (), "AU is 1e+200 in sample 1, too large"),
    "too heavy": (
        SAMPLES.replace("A,0,1", "A,0,1e200"), (), "TO - FROM is 1e+200 in sample 1, too large",
    ),
    "no coordinates": (
        "BHID,FROM,TO,AU\nA,0,1,2\n", ("--decluster", "5"), "has no coordinates, which declustering"
    ),
    "neither": ("AU,L\n1,2\n", (), "Or give a table of samples with columns of hole, from and to"),
    "tiny cells": (SAMPLES, ("--decluster", "1e-9"), "are too small for a domain of 100 x 0 x 1.5"),
    "many labels": (
        "X,Y,Z,AU\n" + "".join(f"{x},1,1,1\n" for x in range(1100)),
        ("--column", "X"),
        "X has more than 1,000 different values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_one_sentence(name: str) -> None:
    text, options, words = WRONG[name]
    Path("wrong.csv").write_text(text)
    grade = () if "--grade" in options else ("--grade", "AU")
    result = run("wrong.csv", *grade, *options, code=3)
    assert words in result.stderr and result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("error: ")


def test_outputs_are_written_whole_or_not_at_all() -> None:
    run("blocks.csv", "--grade", "AU", "-o", "s.csv", "-q")
    assert len(Path("s.csv").read_text().splitlines()) == 4
    assert "already exists" in run("blocks.csv", "--grade", "AU", "-o", "s.csv", code=4).stderr
    run("blocks.csv", "--grade", "AU", "-o", "s.csv", "--overwrite")
    assert "is the input" in run(
        "blocks.csv", "--grade", "AU", "-o", "blocks.csv", "--overwrite", code=3
    ).stderr  # fmt: skip
    assert (
        "use the extension .csv" in run("blocks.csv", "--grade", "AU", "-o", "a.vtu", code=3).stderr
    )
    assert run("blocks.csv", "--grade", "AU", "-o", "-").stdout == Path("s.csv").read_text()
    with pytest.raises(TableError, match="two outputs would both go to stdout"):
        geodomain.stats("blocks.csv", "AU", "-", curve="-", decluster="auto")


# --- Settings: a field has a keyword, a type, a line of the docstring, and an option.


@pytest.mark.parametrize("entry", fields(StatsSettings), ids=lambda entry: entry.name)
def test_every_setting_has_every_face(entry: Field[object]) -> None:
    assert entry.metadata["help"] and isinstance(entry.metadata["hashed"], bool)
    assert StatsKeywords.__annotations__[entry.name].__forward_arg__ == entry.type
    keyword = inspect.signature(geodomain.stats).parameters[entry.name]
    assert (keyword.kind, keyword.default) == (keyword.KEYWORD_ONLY, entry.default)
    assert f"\n{entry.name} : " in str(inspect.getdoc(geodomain.stats))
    option = next(each for each in command.params if each.name == entry.name)
    assert isinstance(option, click.Option) and "--" + entry.name.replace("_", "-") in option.opts


WRONG_SETTINGS: list[Callable[[], object]] = [
    lambda: StatsSettings(sample_weight=0),
    lambda: StatsSettings(decluster="auto", cell_ratio=(1, 2)),  # type: ignore[arg-type]
    lambda: StatsSettings(decluster=(1, 2, -3)),
    lambda: StatsSettings(decluster_origins=0),
    lambda: StatsSettings(cap={"AU": [1, "x"]}).caps(["AU"]),
    lambda: StatsSettings(cap=float("nan")).caps(["AU"]),
]


@pytest.mark.parametrize("make", WRONG_SETTINGS)
def test_wrong_settings_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"is not|must|origins"):
        make()


def test_caps_of_several_grades() -> None:
    settings = StatsSettings(cap={"AU": [30, "20"], "CU": 2})
    assert settings.caps(["AU", "CU", "AG"]) == {"AU": (20.0, 30.0), "CU": (2.0,), "AG": ()}
    assert StatsSettings(cap="AU=3").caps(["AU"]) == {"AU": (3.0,)}


# --- Assays of real deposits, against NumPy.

ASSAYS = {
    "babbitt/assay_BABBITT.csv": ("FROM", "TO", ["CU", "NI", "S", "FE"]),
    "demo1/assay.csv": ("FROM", "TO", ["Au"]),
    "formats/drillholes/copper_creek_assay.csv": (
        "depth_from", "depth_to", ["Cu_pct", "Mo_pct", "Ag_ppm", "Au_ppm"],
    ),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("name", ASSAYS)
def test_real_assays_agree_with_numpy(name: str, shared_data: Path) -> None:
    begin, end, grades = ASSAYS[name]
    frame = pandas.read_csv(shared_data / name, encoding="utf-8-sig")
    lengths = frame[end] - frame[begin]
    found = geodomain.stats(shared_data / name, grades)
    for row in found.totals:
        known = frame[row.grade].notna() & (lengths > 0)
        values, weights = frame.loc[known, row.grade].to_numpy(), lengths[known].to_numpy()
        assert (row.rows, row.count) == (len(frame), known.sum())
        assert row.rows == row.count + row.missing + row.without_weight
        mean = np.average(values, weights=weights)
        assert row.mean == pytest.approx(mean, rel=1e-12)
        assert row.variance == pytest.approx(np.average((values - mean) ** 2, weights=weights))
        shares = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
        wanted = np.quantile(values, shares, weights=weights, method="inverted_cdf")
        assert [
            row.quartile_1, row.median, row.quartile_3, row.p90, row.p95, row.p99,
        ] == pytest.approx(wanted.tolist())  # fmt: skip


@pytest.mark.parametrize("command", ["stats", "validate"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_blocks_that_count_twice_are_told(command: str, kind: str) -> None:
    places = [5.0, 15.0, 25.0, 5.0]
    blocks = pandas.DataFrame({"X": places, "Y": 5.0, "Z": 5.0, "DX": 10.0, "DY": 10.0, "DZ": 10.0})
    blocks["AU"] = [9.0, 1.0, 1.0, 9.0]
    blocks.to_csv("b.csv", index=False)
    blocks.to_parquet("b.parquet")
    samples = blocks[["X", "Y", "Z", "AU"]].iloc[:3]
    source = blocks if kind == "frame" else f"b.{kind}"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if command == "stats":
            geodomain.stats(source, "AU")
        else:
            geodomain.validate(source, "AU", samples=samples)
    told = [str(each.message).split(":")[0] for each in warned]
    assert told == [
        "1 block has the same centroid as another block",
        "the blocks have 1.333 times the volume of their bounding box",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        geodomain.stats(blocks.iloc[:3], "AU")


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("command", ["stats", "validate", "contacts"])
def test_coordinates_that_are_marks_are_told(command: str, kind: str) -> None:
    places = [5.0, 15.0, 25.0, -99.0]
    samples = pandas.DataFrame({"X": places, "Y": 5.0, "Z": 5.0, "AU": [9.0, 1.0, 1.0, 9.0]})
    samples.to_csv("s.csv", index=False)
    samples.to_parquet("s.parquet")
    source = samples if kind == "frame" else f"s.{kind}"
    solids = {"W": box((0, 0, 0), (10, 10, 10)), "E": box((10, 0, 0), (30, 10, 10))}
    with pytest.warns(GeodomainWarning, match=r"1 row has a coordinate of -99, far from all"):
        if command == "stats":
            geodomain.stats(source, "AU", decluster=10)
        elif command == "validate":
            blocks = samples.iloc[:3].assign(DX=10.0, DY=10.0, DZ=10.0)
            geodomain.validate(blocks, "AU", samples=source)
        else:
            geodomain.contacts(source, solids, ("W", "E"), "AU")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        geodomain.stats(samples, "AU")  # places do not matter
