"""Blocks against samples: means and swaths worked out by hand, a made deposit, refusals, charts."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import Field, fields
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import pandas

import geodomain
from geodomain.cli.console import keywords
from geodomain.cli.statistics import validate as command
from geodomain.errors import GeodomainWarning, TableError
from geodomain.statistics.settings import ValidateKeywords, ValidateSettings
from geodomain.statistics.validation_report import Swath, Validation, ValidationRow

# Four blocks of ORE in a row, one of them thin, and one of WASTE; the last has no grade.
BLOCKS = """X,Y,Z,DX,DY,DZ,domain,AU
5,5,5,10,10,10,ORE,1
15,5,5,10,10,10,ORE,4
25,5,2.5,10,10,5,ORE,2
35,5,5,10,10,10,ORE,3
45,5,5,10,10,10,WASTE,0
55,5,5,10,10,10,WASTE,
"""
# Three samples of ORE, two of which crowd; one without coordinates, one without a length, one
# without a grade; and one of WASTE.
SAMPLES = """BHID,FROM,TO,X,Y,Z,domain,AU
A,0,1,4,5,5,ORE,2
A,1,3,6,5,5,ORE,5
B,0,1,30,5,5,ORE,1
B,1,2,,5,5,ORE,9
B,2,2,31,5,5,ORE,9
B,2,3,32,5,5,ORE,
C,0,4,45,5,5,WASTE,0.5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside the tables."""
    monkeypatch.chdir(tmp_path)
    Path("samples.csv").write_text(SAMPLES)
    Path("blocks.csv").write_text(BLOCKS)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    return run_command("validate", *arguments, code=code)


def quietly(*arguments: object, **keywords: object) -> Validation:
    """Compare tables that have gaps."""
    with pytest.warns(GeodomainWarning):
        return geodomain.validate(*arguments, **keywords)  # type: ignore[arg-type]


def row_of(found: Validation, domain: str = "(all)") -> ValidationRow:
    return next(row for row in (*found.rows, found.total) if row.domain == domain)


def test_means_worked_out_by_hand() -> None:
    """The block at 5 is as near to 4 as to 6, 15 is nearest to 6, and 25 and 35 to 30."""
    found = quietly("blocks.csv", "AU", samples="samples.csv")
    ore = row_of(found, "ORE")
    assert (ore.weights, ore.naive_mean) == ("nearest", (1 * 2 + 2 * 5 + 1 * 1) / 4)
    assert ore.sample_mean == (500 * 2 + 1500 * 5 + 1500 * 1) / 3500
    assert ore.block_mean == (1000 + 4000 + 1000 + 3000) / 3500
    assert ore.difference == pytest.approx(100 * (9000 - 10000) / 10000)
    assert (ore.sample_weight, ore.block_weight) == (4.0, 3500.0)
    variance = sum(w * (v - 9000 / 3500) ** 2 for w, v in ((2, 1), (2, 4), (1, 2), (2, 3))) / 7
    assert ore.block_cv == pytest.approx(variance**0.5 / (9000 / 3500))
    waste = row_of(found, "WASTE")
    assert (waste.block_mean, waste.sample_mean, waste.difference) == (0.0, 0.5, -100.0)
    assert (waste.blocks_at_zero, waste.samples_at_zero) == (1, 0)
    assert (found.block_weight, found.sample_weight) == ("volume", "TO - FROM")


def test_rows_add_up() -> None:
    found = quietly("blocks.csv", "AU", samples="samples.csv")
    for row in (*found.rows, found.total):
        for rows, compared, what in (
            (row.sample_rows, row.samples, "samples"),
            (row.block_rows, row.blocks, "blocks"),
        ):
            lost = [getattr(row, f"{what}_without_{why}") for why in ("grade", "weight", "place")]
            assert rows == compared + sum(lost)
    assert sum(row.sample_rows for row in found.rows) == found.total.sample_rows == 7
    assert sum(row.block_rows for row in found.rows) == found.total.block_rows == 6
    ore = row_of(found, "ORE")
    lost = ore.samples_without_grade, ore.samples_without_weight, ore.samples_without_place
    assert (ore.samples, *lost) == (3, 1, 1, 1) and found.total.blocks_without_grade == 1
    said = " ".join(found.warnings)
    assert "1 sample without AU: left out of the comparison" in said
    assert "1 sample with AU but without a weight above 0 (TO - FROM)" in said
    assert "1 sample with AU without coordinates" in said
    assert "1 block without AU" in said
    text = str(found)
    assert "samples: 7 rows: 4 compared, 1 without AU, 1 without a weight, 1 without coo" in text
    assert "blocks are smoother than samples" in text
    assert "not on a log axis: 1 block" in text


def test_a_swath_worked_out_by_hand() -> None:
    """Slices of 20: blocks at 5 and 15, at 25 and 35; samples at 4 and 6, and at 30."""
    found = quietly("blocks.csv", "AU", samples="samples.csv", swath="x", step=20)
    first, second = (each for each in found.swaths if each.domain == "ORE")
    assert first == Swath(
        "ORE", "x", 0.0, 20.0, 2, 3.0, 2, 2000.0,
        naive_mean=(2 + 10) / 3, sample_mean=(500 * 2 + 1500 * 5) / 2000, block_mean=2.5,
    )  # fmt: skip
    assert second == Swath(
        "ORE", "x", 20.0, 40.0, 1, 1.0, 2, 1500.0,
        naive_mean=1.0, sample_mean=1.0, block_mean=4000 / 1500,
    )  # fmt: skip
    assert {each.axis for each in found.swaths} == {"x"}
    whole = [each for each in found.swaths if each.domain == "(all)"]
    assert sum(each.blocks for each in whole) == found.total.blocks
    assert sum(each.samples for each in whole) == found.total.samples
    assert sum(each.block_weight for each in whole) == found.total.block_weight


def test_a_slice_has_its_lower_face_and_not_the_upper_one() -> None:
    """Of ten blocks of 0.1, some faces are rounded: 0.3 / 0.1 is below 3 in float64."""
    places = [each / 10 for each in range(10)]
    frame = pandas.DataFrame({"X": places, "Y": 0.0, "Z": 0.0, "AU": 1.0})
    found = geodomain.validate(frame, "AU", samples=frame, swath="x", step=0.1)
    assert [each.blocks for each in found.swaths] == [1] * 10


def test_slices_are_a_multiple_of_the_block_size() -> None:
    found = quietly("blocks.csv", "AU", samples="samples.csv")
    steps = {each.axis: each.end - each.begin for each in found.swaths}
    assert steps == {"x": 10.0, "y": 10.0, "z": 10.0}


def test_quantiles_have_the_weights_of_both_sides() -> None:
    generator = np.random.default_rng(5)
    blocks = pandas.DataFrame(generator.uniform(0, 100, (300, 3)), columns=[*"XYZ"])
    blocks["AU"], blocks["TONNES"] = generator.lognormal(size=300), generator.uniform(1, 3, 300)
    samples = pandas.DataFrame(generator.uniform(0, 100, (90, 3)), columns=[*"XYZ"])
    samples["AU"], samples["LENGTH"] = generator.lognormal(size=90), generator.uniform(0.1, 2, 90)
    found = geodomain.validate(
        blocks, "AU", samples=samples, block_weight="TONNES", sample_weight="LENGTH",
        decluster=None,
    )  # fmt: skip
    shares = [each.probability for each in found.quantiles]
    for frame, weight, name in ((blocks, "TONNES", "block"), (samples, "LENGTH", "sample")):
        wanted = np.quantile(
            frame["AU"], shares, weights=frame[weight], method="inverted_cdf"
        ) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else [
            weighted_quantile(frame["AU"], frame[weight], share) for share in shares
        ]  # fmt: skip
        assert [getattr(each, name) for each in found.quantiles] == list(wanted)
        mean = getattr(found.total, f"{name}_mean")
        assert mean == pytest.approx(np.average(frame["AU"], weights=frame[weight]), rel=1e-14)
    assert found.total.weights == "naive" and "declustered" not in str(found)
    assert found.block_weight == "TONNES"


def weighted_quantile(values: object, weights: object, share: float) -> float:
    """Return the first value whose cumulative weight reaches a share of the total, exactly."""
    pairs = sorted(zip(map(float, values), map(Fraction, map(float, weights)), strict=True))  # type: ignore[call-overload]
    wanted, reached = Fraction(share) * sum(weight for _, weight in pairs), Fraction(0)
    for value, weight in pairs:
        reached += weight
        if reached >= wanted:
            return value
    raise AssertionError


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("decluster", ["nearest", 30, "auto"])
def test_the_order_of_rows_does_not_matter(decluster: object) -> None:
    generator = np.random.default_rng(8)
    blocks = pandas.DataFrame(generator.uniform(0, 100, (400, 3)), columns=[*"XYZ"])
    samples = pandas.DataFrame(generator.uniform(0, 50, (120, 3)) ** 1.1, columns=[*"XYZ"])
    for frame in (blocks, samples):
        frame["AU"] = generator.lognormal(size=len(frame)) * 0.1
        frame["domain"] = generator.choice(["A", "B"], len(frame))
    found, again = (
        geodomain.validate(
            blocks.sample(frac=1, random_state=seed),
            "AU",
            samples=samples.sample(frac=1, random_state=seed),
            decluster=decluster,  # type: ignore[arg-type]
        )
        for seed in (1, 2)
    )
    assert found.rows == again.rows and found.total == again.total
    assert found.quantiles == again.quantiles and found.swaths == again.swaths


def test_a_deposit_whose_blocks_are_the_smoothed_truth() -> None:
    """Holes crowd where the grade is high; declustered, they agree with the blocks they sample."""
    side, cell = 64, 4
    generator = np.random.default_rng(11)
    x, y = np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5, indexing="ij")
    trend = 1 + np.sin(x / 10) * np.cos(y / 13)
    truth = np.exp(trend + 0.15 * generator.standard_normal((side, side)))
    parts = truth.reshape(side // cell, cell, side // cell, cell).mean(axis=(1, 3))
    middles = np.arange(side // cell) * cell + cell / 2
    columns, lines = np.meshgrid(middles, middles, indexing="ij")
    blocks = pandas.DataFrame({"X": columns.ravel(), "Y": lines.ravel(), "Z": 0.5})
    blocks[["DX", "DY", "DZ"]], blocks["AU"] = (cell, cell, 1.0), parts.ravel()
    every = np.ones((side, side), bool)
    every[(np.indices(every.shape) % 4 != 1).any(axis=0)] = False
    every |= (trend > np.quantile(trend, 0.8)) & (np.indices(every.shape).sum(axis=0) % 2 == 0)
    samples = pandas.DataFrame({"X": x[every], "Y": y[every], "Z": 0.5, "AU": truth[every]})
    found = geodomain.validate(blocks, "AU", samples=samples)
    row = found.total
    assert row.block_mean == pytest.approx(truth.mean())
    assert row.naive_mean is not None and row.naive_mean > 1.3 * truth.mean()
    assert row.sample_mean == pytest.approx(truth.mean(), rel=0.04)
    assert row.difference is not None and abs(row.difference) < 4
    # Blocks are smoother: a smaller CV, and less extreme quantiles at both ends.
    assert row.block_cv is not None and row.sample_cv is not None
    assert row.block_cv < row.sample_cv
    ends = {each.probability: each for each in found.quantiles}
    assert ends[0.99].block < ends[0.99].sample and ends[0.01].block > ends[0.01].sample
    for each in found.swaths:
        if each.axis == "x" and each.sample_mean is not None:
            assert each.sample_mean == pytest.approx(each.block_mean, rel=0.35)


def test_a_rotated_model_has_slices_along_its_own_axes() -> None:
    """A row of blocks along the model's x, which points to the east-south-east."""
    local = pandas.DataFrame({"X": [5.0, 15, 25, 35], "Y": 5.0, "Z": 5.0})
    local[["DX", "DY", "DZ"]], local["AU"] = 10.0, [1.0, 2.0, 3.0, 4.0]
    turn, origin = np.radians(30), np.array([1000.0, 2000.0])
    world = pandas.DataFrame({
        "X": origin[0] + local.X * np.cos(turn) + local.Y * np.sin(turn),
        "Y": origin[1] - local.X * np.sin(turn) + local.Y * np.cos(turn),
        "Z": 105.0, "AU": local.AU,
    })  # fmt: skip
    rotation = {"rotation": "z=30", "origin": (1000, 2000, 100)}
    local.to_csv("local.csv", index=False)
    found = geodomain.validate(local, "AU", samples=world, **rotation, swath="x,y", step=10)
    assert found == geodomain.validate(
        "local.csv", "AU", samples=world, **rotation, swath="x,y", step=10
    )
    along = [each for each in found.swaths if each.axis == "x"]
    assert [each.begin for each in along] == [0.0, 10.0, 20.0, 30.0]
    assert [(each.sample_mean, each.block_mean) for each in along] == [(n, n) for n in (1, 2, 3, 4)]
    assert [each.blocks for each in found.swaths if each.axis == "y"] == [4]
    assert found.frame == "rotation='z=30'" and "along the axes of the model" in str(found)
    by_world = geodomain.validate(
        local, "AU", samples=world, **rotation, swath="x", step=1e6, swath_axes="world"
    )
    assert [(each.begin, each.blocks) for each in by_world.swaths] == [(0.0, 4)]
    assert by_world.frame == ""
    # The same blocks with world coordinates, whose edges are turned.
    turned = world.assign(DX=10.0, DY=10.0, DZ=10.0)
    again = geodomain.validate(turned, "AU", samples=world, frame="z=30", swath="x", step=10)
    assert [each.block_mean for each in again.swaths] == [1.0, 2.0, 3.0, 4.0]
    # Cells of a grid, which store their directions.
    vtk = geodomain.convert_blocks("local.csv", "local.vti", **rotation)
    cells = geodomain.validate("local.vti", "AU", samples=world, swath="x")
    assert vtk == 4 and [each.block_mean for each in cells.swaths] == [1.0, 2.0, 3.0, 4.0]
    assert cells.frame == "the rotation of the cells"


def test_declustering_by_cells_and_by_stretched_distances() -> None:
    found = quietly("blocks.csv", "AU", samples="samples.csv", decluster="20,20,20")
    ore = row_of(found, "ORE")
    assert (ore.weights, ore.cell_x) == ("cells", 20.0)
    plain = geodomain.stats(
        pandas.read_csv("samples.csv").dropna(subset=["AU", "X"]).query("TO > FROM"),
        "AU", decluster=20,
    )  # fmt: skip
    wanted = {row.domain: row.mean for row in plain.rows if row.weights == "declustered"}
    assert {row.domain: row.sample_mean for row in found.rows} == wanted
    auto = quietly("blocks.csv", "AU", samples="samples.csv", decluster="auto")
    assert any(said.startswith("AU of 'ORE' is not declustered: cells") for said in auto.warnings)
    assert row_of(auto, "ORE").weights == "naive"
    # Distances along one line have no other axis to compare with.
    flat = quietly("blocks.csv", "AU", samples="samples.csv", cell_ratio="0.1,1,1")
    assert row_of(flat, "ORE").sample_mean == row_of(found_nearest(), "ORE").sample_mean


def found_nearest() -> Validation:
    return quietly("blocks.csv", "AU", samples="samples.csv")


def test_other_columns_for_samples() -> None:
    """Names of the samples' own, and missing values of either table."""
    frame = pandas.read_csv("samples.csv").rename(
        columns={"X": "EASTING_M", "Y": "NORTHING_M", "Z": "ELEV_M", "domain": "ZONE", "AU": "PPM"}
    )
    frame.fillna({"PPM": -99}).to_csv("other.csv", index=False)
    blocks = pandas.read_csv("blocks.csv").fillna({"AU": -1})
    found = quietly(
        blocks, "AU", samples="other.csv", sample_grade="PPM", sample_column="ZONE",
        sample_xyz="EASTING_M,NORTHING_M,ELEV_M", missing={"AU": -1, "PPM": -99},
    )  # fmt: skip
    plain = quietly("blocks.csv", "AU", samples="samples.csv")
    assert (found.rows, found.swaths) == (plain.rows, plain.swaths)
    assert found.sample_grade == "PPM" and "AU of blocks (by volume) against PPM of" in str(found)


def test_domains_on_one_side_alone() -> None:
    Path("more.csv").write_text(SAMPLES + "D,0,1,50,5,5,DYKE,3\nD,1,2,51,5,5,,3\n")
    with pytest.warns(GeodomainWarning) as caught:
        found = geodomain.validate("blocks.csv", "AU", samples="more.csv")
    said = [str(each.message) for each in caught]
    alone = "samples without blocks to compare with: 'DYKE', rows without a domain"
    assert f"{alone}; the row of all samples includes them" in said
    assert [row.domain for row in found.rows] == ["DYKE", "ORE", "WASTE", ""]
    dyke = row_of(found, "DYKE")
    assert (dyke.samples, dyke.blocks, dyke.block_mean, dyke.difference) == (1, 0, None, None)
    assert not [each for each in found.quantiles if each.domain == "DYKE"]
    Path("bigger.csv").write_text(BLOCKS + "65,5,5,10,10,10,AIR,0\n")
    air = quietly("bigger.csv", "AU", samples="samples.csv")
    assert air.notes == (
        "blocks without samples to compare with: 'AIR'; the row of all blocks includes them",
    )
    assert not any("AIR" in said for said in air.warnings) and air.notes[0] in str(air)
    bare = pandas.read_csv("samples.csv").drop(columns="domain")
    whole = quietly("blocks.csv", "AU", samples=bare)
    assert any("has no label column: all domains are compared" in said for said in whole.warnings)
    assert whole.rows == () and whole.total == found_nearest().total


def test_tables_without_rows_to_compare() -> None:
    Path("none.csv").write_text(SAMPLES.splitlines()[0] + "\n")
    found = quietly("blocks.csv", "AU", samples="none.csv")
    assert "none.csv has no samples with AU: there is nothing to compare" in found.warnings
    assert found.total.samples == 0 and found.total.sample_mean is None
    assert found.total.blocks == 5 and "-" in str(found) and not found.quantiles


# --- The command: tables, JSON and charts.

PRINTED = """\
AU of blocks (by volume) against AU of samples (by TO - FROM)
domain  samples  blocks  naive mean  declustered  block mean  difference  sample CV  block CV
ORE           3       4        3.25        2.857       2.571     -10.0 %       0.66     0.458
WASTE         1       1         0.5          0.5           0    -100.0 %          0         -
"""


def test_the_command_prints_and_writes_tables() -> None:
    result = run(
        "blocks.csv", "--samples", "samples.csv", "--grade", "AU", "-o", "means.csv",
        "--quantile-table", "quantiles.csv", "--swath-table", "swaths.csv", "--step", "20",
    )  # fmt: skip
    assert result.stdout.startswith(PRINTED)
    means = pandas.read_csv("means.csv")
    assert means["domain"].tolist() == ["ORE", "WASTE", "(all)"]
    found = quietly("blocks.csv", "AU", samples="samples.csv", step=20)
    assert means["block_mean"].tolist() == found.to_pandas()["block_mean"].tolist()
    assert len(pandas.read_csv("quantiles.csv")) == len(found.quantiles_to_pandas())
    assert len(pandas.read_csv("swaths.csv")) == len(found.swaths_to_pandas())
    assert "<table>" in found._repr_html_() and "4 samples" in repr(found)


def test_json_has_everything() -> None:
    words = ("blocks.csv", "--samples", "samples.csv", "--grade", "AU", "--json", "--swath", "z")
    found = json.loads(run(*words).stdout)
    with pytest.warns(GeodomainWarning):
        result = geodomain.validate("blocks.csv", "AU", samples="samples.csv", swath="z")
    assert found == json.loads(json.dumps(result.as_dict()))
    assert len(run(*words[:-3], "-o", "-", "-q").stdout.splitlines()) == 4


@pytest.mark.full
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_charts_are_written(kind: str) -> None:
    words = ("blocks.csv", "--samples", "samples.csv", "--grade", "AU", "--chart")
    for name in ("chart", "again"):
        run(*words, f"{name}.{kind}")
    assert Path(f"chart.{kind}").stat().st_size > 4000
    if kind != "svg":  # ids in SVG are random
        assert Path(f"chart.{kind}").read_bytes() == Path(f"again.{kind}").read_bytes()
    if kind == "pdf":
        assert len(re.findall(rb"/Type /Page\b", Path("chart.pdf").read_bytes())) == 3


def test_a_chart_has_distributions_and_swaths() -> None:
    pytest.importorskip("matplotlib")
    found = quietly("blocks.csv", "AU", samples="samples.csv", swath="x,z")
    figure = found.draw("ORE")
    probability, quantiles, *swaths = figure.axes
    assert probability.get_xscale() == "log" and quantiles.get_xlabel() == "quantiles of samples"
    assert [axes.get_xlabel() for axes in swaths] == ["", "x", "", "", "z", ""]
    waste = found.draw("WASTE").axes[0]
    assert "1 block at 0 or below: off the axis" in [text.get_text() for text in waste.texts]
    with pytest.raises(ValueError, match="'DYKE' is not a domain with samples and blocks"):
        found.draw("DYKE")


def test_a_chart_of_one_value_and_of_zeros() -> None:
    """Axes need a range, and log axes a value above 0."""
    pytest.importorskip("matplotlib")
    frame = pandas.DataFrame({"X": [0.0, 1], "Y": 0.0, "Z": 0.0, "AU": 0.0})
    for grade in (0.0, 2.0):
        one = frame.assign(AU=grade)
        geodomain.validate(one, "AU", samples=one, chart="c.png", overwrite=True)
    assert Path("c.png").stat().st_size > 4000


BAD = {
    ("--grade", "CU"): (3, "blocks.csv has no column 'CU'"),
    ("--sample-grade", "CU"): (3, "samples.csv has no column 'CU'"),
    ("--sample-column", "ZONE"): (3, "samples.csv has no column 'ZONE'"),
    ("--sample-xyz", "E,N"): (2, "'E,N' is not three columns"),
    ("--sample-xyz", "E,N,RL"): (3, "samples.csv"),
    ("--swath", "x,w"): (2, "'x,w' is not a list of axes"),
    ("--step", "0"): (2, "'0' is not a thickness of slices"),
    ("--step", "1,2"): (2, "'1,2' is not a thickness of slices"),
    ("--step", "1e-6"): (3, "--step is 1e-06 along x, where the domain 'ORE' would have more than"),
    ("--decluster", "far"): (2, "'far' is not a size of cells"),
    ("--decluster", "1e-9"): (3, "are too small for a domain"),
    ("--block-weight", "-1"): (2, "it must be a column, or a number above 0"),
    ("--block-weight", "T"): (3, "blocks.csv has no column 'T'"),
    ("--maximise",): (2, "--maximise chooses the size of cells, so it needs --decluster auto"),
    ("--chart", "c.txt"): (2, "c.txt must end in .png or .svg or .pdf"),
    ("-o", "samples.csv", "--overwrite"): (3, "samples.csv"),
    ("-o", "out.vtk"): (3, "the table is written as text"),
    ("-o", "-", "--swath-table", "-"): (3, "two outputs would both go to stdout"),
    ("--missing", "AG=-99"): (3, "no column 'AG'"),
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...]) -> None:
    code, words = BAD[arguments]
    grade = () if arguments[0] == "--grade" else ("--grade", "AU")
    result = run("blocks.csv", "--samples", "samples.csv", *grade, *arguments, code=code)
    assert words in " ".join(result.stderr.split()), result.stderr
    assert "Traceback" not in result.output and not Path("out.csv").exists()


def test_samples_need_coordinates() -> None:
    Path("assay.csv").write_text("BHID,FROM,TO,AU\nA,0,1,2\n")
    with pytest.raises(TableError, match=r"assay\.csv has no coordinates, which a comparison with"):
        geodomain.validate("blocks.csv", "AU", samples="assay.csv")


def test_coordinates_of_collars_are_refused_unless_they_are_middles() -> None:
    rows = [f"{hole},{at},{at + 1},{5 + 10 * n},5,5,1\n" for n, hole in enumerate("ABC")
            for at in range(4)]  # fmt: skip
    Path("flat.csv").write_text("".join(["BHID,FROM,TO,X,Y,Z,AU\n", *rows]))
    words = ("blocks.csv", "--samples", "flat.csv", "--grade", "AU")
    assert "--points-are-middles" in run(*words, code=3).stderr
    assert run(*words, "--points-are-middles").stdout


@pytest.mark.parametrize("entry", fields(ValidateSettings), ids=lambda entry: entry.name)
def test_every_setting_has_every_face(entry: Field[object]) -> None:
    assert entry.metadata["help"] and isinstance(entry.metadata["hashed"], bool)
    assert ValidateKeywords.__annotations__[entry.name].__forward_arg__ == entry.type
    keyword = inspect.signature(geodomain.validate).parameters[entry.name]
    assert (keyword.kind, keyword.default) == (keyword.KEYWORD_ONLY, entry.default)
    assert f"\n{entry.name} : " in str(inspect.getdoc(geodomain.validate))
    option = next(each for each in command.params if each.name == entry.name)
    assert isinstance(option, click.Option) and keywords()[entry.name] in option.opts


WRONG_SETTINGS: list[Callable[[], object]] = [
    lambda: ValidateSettings(swath=()),
    lambda: ValidateSettings(step=(1, 2)),
    lambda: ValidateSettings(step=-1),
    lambda: ValidateSettings(sample_xyz=("E", "N", "")),
    lambda: ValidateSettings(block_weight=0),
    lambda: ValidateSettings(swath_axes="hole"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("make", WRONG_SETTINGS)
def test_wrong_settings_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"is not|must"):
        make()
