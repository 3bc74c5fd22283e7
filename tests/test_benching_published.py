"""The paper's figures beside this machine's: they agree with each other, each in its row."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from geodomain.benching import report as chart
from geodomain.benching import report as published
from geodomain.benching.report import Report, as_text
from geodomain.benching.timing import PEERS, Run, preliminary, strategies

SETTING = {"triangles": 10, "rays": 20, "crossing": 5, "seed": 0, "repeat": 1, "threads": 1,
           "machine": "a machine"}  # fmt: skip
GPU = [each.name for each in strategies("cuda")]


@pytest.fixture(scope="module")
def report() -> Report:
    """Return a report of a machine without a GPU."""
    peers = (
        Run("PyVista ray_trace", 10, 20, 0.5, math.nan, 2.0),
        Run("trimesh with Embree", 10, 20, 0.5, math.nan, 0.5),
        Run("geodomain bvh (cuda)", 10, lacking="no GPU"),
    )
    gpu = tuple(Run(name, 10, lacking="no GPU") for name in GPU)
    build = {"cpu": {"boxes": 1e-3, "sort": 3e-3}}
    memory = {"cpu": {"triangles": 5000, "segments": 15_000}}
    return Report(SETTING, peers, gpu, (), build, memory, {"cuda": "no GPU"})


def test_rates_are_those_of_the_times() -> None:
    """Mi/s is triangles times segments over seconds; those of version 2.0 are 1.1 % apart."""
    for found in published.RUNS.values():
        rate = published.TRIANGLES * published.SEGMENTS / found.seconds / 1e6
        assert rate == pytest.approx(found.mega_tests_per_second, rel=0.012)


def test_sums_are_those_of_the_paper() -> None:
    assert sum(published.BUILD.values()) == pytest.approx(24.94e-3)
    assert sum(published.MEMORY.values()) / 2**20 == pytest.approx(267.8)
    # Two ends of three floats a segment, and an answer of four bytes.
    assert published.MEMORY["segments"] == pytest.approx(24 * published.SEGMENTS, rel=1e-3)
    assert published.MEMORY["answers, boolean"] == pytest.approx(4 * published.SEGMENTS, rel=2e-3)


def test_every_published_row_is_one_of_ours() -> None:
    ours = [*PEERS, *preliminary("cuda"), *strategies("cuda")]
    assert published.RUNS.keys() <= {each.name for each in ours}


def test_figures_stand_in_their_rows(report: Report) -> None:
    lines = as_text(report).splitlines()
    rows = {name: next(line for line in lines if line.startswith(name)) for name in GPU}
    assert all("(no GPU)" in row for row in rows.values())
    assert rows["geodomain brute (cuda)"].split()[-3:] == ["23.729", "s", "12,340.5"]
    assert rows["geodomain bvh, 1 block (cuda)"].split()[-3:] == ["5.022", "s", "58,978.1"]
    assert rows["geodomain bvh, 16 blocks (cuda)"].split()[-3:] == ["0.463", "s", "632,071.5"]
    assert rows["geodomain bvh, 16 blocks, sorted (cuda)"].endswith("0.228 s  1,284,357.7")
    assert rows["geodomain bvh (cuda)"].endswith("(no GPU)")  # the whole card is not in the paper
    assert next(line for line in lines if line.startswith("PyVista ray")).endswith(
        "384.5 s    761.5"
    )
    assert next(line for line in lines if line.startswith("trimesh")).endswith("0")
    assert any(line.startswith("Jimenez") and line.endswith("2,742.0") for line in lines)
    assert lines.count("cuda has no column: no GPU") == 1
    # Each table's columns end in one place: of two rows with published figures, the same.
    assert len({len(rows[name]) for name in GPU if name in published.RUNS}) == 1


def test_parts_stand_beside_the_papers(report: Report) -> None:
    lines = [line.split() for line in as_text(report).splitlines()]
    assert ["cpu", "published,", "Titan", "X"] in lines
    assert ["sort", "3.00", "ms", "75%", "16.5", "ms", "66%"] in lines
    assert ["tree", "710", "us", "3%"] in lines
    assert ["segments", "15.0", "kB", "75%", "240", "MB", "85%"] in lines
    assert ["in", "all", "20.0", "kB", "100%", "281", "MB", "100%"] in lines


def test_json_has_them_and_their_source(report: Report) -> None:
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))["published"]
    assert "2209.02878" in told["source"]
    assert told["runs"]["VTK OBBTree"] == {"seconds": 92.3, "tests_per_second": 3_171.3e6}
    assert told["runs"]["Jimenez et al. 2014, GTX 560 Ti"]["seconds"] is None


@pytest.mark.filterwarnings("default")  # of matplotlib
def test_a_chart_has_dots_for_both_and_no_bars(
    report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: dict[str, set[float]] = {"o": set(), "D": set()}

    def read(figure, _, **options) -> None:
        for axes in figure.axes:
            assert not axes.patches
            assert axes.get_xscale() == "log" or axes.get_xlim()[0] == 0
            for line in axes.lines:
                seen[line.get_marker()].update(map(float, line.get_xdata()))

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", read)
    chart.draw(report, tmp_path / "chart.png")
    drawn = {mark: sorted(each for each in dots if each > 0) for mark, dots in seen.items()}
    assert drawn["o"] == pytest.approx([1e-5, 4e-5, 1.0, 3.0])
    rates = [10 / each.seconds for each in published.RUNS.values()]
    shown = [rate for rate in rates if rate not in (10 / 92.3, 10 / 60.6)]  # no such rows
    assert drawn["D"] == pytest.approx(sorted([*shown, 1e3 * published.BUILD["sort"]]))
