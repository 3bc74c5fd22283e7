"""Polygonal declustering: volumes of nearest blocks, against all distances, and by the command."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from late import pandas

import geodomain
from geodomain.cli import main
from geodomain.errors import GeodomainWarning, TableError
from geodomain.statistics import declustering
from geodomain.statistics.declustering import nearest_volumes

places = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=12)


def by_all_distances(
    points: list[tuple[int, int, int]], blocks: list[tuple[int, int, int]]
) -> list[Fraction]:
    """Return the volume of each sample, from every distance, for blocks of volume 1."""
    totals = [Fraction(0)] * len(points)
    for block in blocks:
        squares = [sum((a - b) ** 2 for a, b in zip(block, at, strict=True)) for at in points]
        nearest = [place for place, square in enumerate(squares) if square == min(squares)]
        for place in nearest:
            totals[place] += Fraction(1, len(nearest))
    return totals


@pytest.mark.parametrize("pairs", [1, 8, 1 << 15])
@given(places, places)
def test_volumes_of_nearest_blocks(
    pairs: int, points: list[tuple[int, int, int]], blocks: list[tuple[int, int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declustering, "_PAIRS", pairs)
        found = nearest_volumes(
            np.array(points, float), np.array(blocks, float), np.ones(len(blocks))
        )
    assert found == pytest.approx([float(each) for each in by_all_distances(points, blocks)])


def test_the_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(3)
    points, blocks = random.uniform(0, 90, (200, 3)), random.uniform(0, 90, (5000, 3))
    points[7] = points[3]
    volumes = random.uniform(0.1, 9, 5000)
    found = nearest_volumes(points, blocks, volumes)
    rows, others = random.permutation(200), random.permutation(5000)
    again = nearest_volumes(points[rows], blocks[others], volumes[others])
    assert again.tolist() == found[rows].tolist()
    assert found.sum() == pytest.approx(volumes.sum()) and found[3] == found[7]


def test_without_blocks_or_samples() -> None:
    none, one = np.empty((0, 3)), np.ones((1, 3))
    assert nearest_volumes(one, none, np.empty(0)).tolist() == [0.0]
    assert nearest_volumes(none, one, np.ones(1)).tolist() == []


# --- `stats --decluster nearest`: two samples crowd in the rich end of a row of ten blocks.

SAMPLES = "X,Y,Z,LENGTH,domain,AU\n0,5,5,1,ORE,8\n10,5,5,9,ORE,6\n90,5,5,1,ORE,1\n5,5,5,1,WASTE,0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("samples.csv").write_text(SAMPLES)
    rows = [f"{x},5,5,10,10,10,ORE\n" for x in range(5, 100, 10)]
    Path("blocks.csv").write_text("".join(["X,Y,Z,DX,DY,DZ,domain\n", *rows, "5,5,15,10,10,10,\n"]))
    return tmp_path


def test_samples_are_weighted_by_the_blocks_of_their_domain(folder: Path) -> None:
    """The block at 5 is half-way between 0 and 10; blocks from 55 on are nearer to 90."""
    with pytest.warns(GeodomainWarning, match="'WASTE' is not declustered: no blocks are in"):
        found = geodomain.stats(
            "samples.csv", "AU", decluster="nearest", blocks="blocks.csv", sample_weight="LENGTH"
        )
    ore, waste = (row for row in found.rows if row.weights == "declustered")
    assert ore.mean == (0.5 * 8 + 4.5 * 6 + 5 * 1) / 10 and ore.weight == 11.0
    assert (waste.count, waste.mean) == (1, None)
    (whole,) = (row for row in found.totals if row.weights == "declustered")
    # The sample at 5 is the nearest one to the blocks at 5: one of ORE, and one without a domain.
    assert whole.mean == pytest.approx((2 * 0 + 4 * 6 + 5 * 1) / 11)
    frame = pandas.read_csv("samples.csv")
    with pytest.warns(GeodomainWarning):
        again = geodomain.stats(
            frame[::-1], "AU", decluster="nearest", blocks=pandas.read_csv("blocks.csv"),
            sample_weight="LENGTH",
        )  # fmt: skip
    assert again.rows == found.rows


def test_distances_are_divided_by_the_ratio(folder: Path) -> None:
    """A sample 30 above the block is as near as one 15 beside it, if z counts a half."""
    Path("two.csv").write_text("X,Y,Z,AU\n5,5,35,1\n20,5,5,3\n")
    Path("one.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    means = []
    for ratio in ("1,1,1", "1,1,2", "1,1,3"):
        (row,) = (
            row
            for row in geodomain.stats(
                "two.csv", "AU", decluster="nearest", blocks="one.csv", cell_ratio=ratio
            ).totals
            if row.weights == "declustered"
        )
        means.append(row.mean)
    assert means == [3.0, 2.0, 1.0]


def test_the_model_and_the_setting_go_together(folder: Path) -> None:
    with pytest.raises(ValueError, match="give both or neither"):
        geodomain.stats("samples.csv", "AU", decluster="nearest")
    with pytest.raises(ValueError, match="give both or neither"):
        geodomain.stats("samples.csv", "AU", decluster=20, blocks="blocks.csv")
    arguments = ["stats", "samples.csv", "--grade", "AU", "--decluster", "nearest"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2 and "--blocks is the model of --decluster nearest" in result.output
    Path("bare.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    with pytest.raises(TableError, match=r"bare\.csv has no column 'domain' to match"):
        geodomain.stats("samples.csv", "AU", decluster="nearest", blocks="bare.csv")


def test_the_command_prints_declustered_rows(folder: Path) -> None:
    arguments = ["stats", "samples.csv", "--grade", "AU", "--decluster", "nearest"]
    result = CliRunner().invoke(main, [*arguments, "--blocks", "blocks.csv", "-o", "out.csv"])
    assert result.exit_code == 0, result.output
    found = pandas.read_csv("out.csv").set_index(["domain", "weights"])
    assert found.loc[("ORE", "declustered"), "mean"] == pytest.approx(3.6)
