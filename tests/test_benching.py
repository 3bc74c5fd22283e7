"""What a benchmark says: counts that are right, reasons that can be read; never a time."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import fake

from geodomain import Mesh, synthetic
from geodomain.benching import report as chart
from geodomain.benching import timing
from geodomain.benching import timing as ours
from geodomain.benching.report import Report, as_text, rounded
from geodomain.benching.running import make_scene, run
from geodomain.benching.timing import (
    PEERS,
    Contender,
    Run,
    Scene,
    measure,
    modes,
    round_down,
    strategies,
)

__all__ = ["fake"]


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(200, 300, seed=1, threads=1)[0]


@pytest.fixture(scope="module")
def report() -> Report:
    return run(make_scene(200, 300, seed=0, threads=None)[0], repeat=1)


def test_the_scene_is_that_of_synthesize(scene: Scene) -> None:
    mesh = synthetic.undulating_terrain(200, seed=1)
    assert (scene.mesh.vertices == mesh.vertices).all()
    assert 100 < np.count_nonzero(scene.truth) < 200


OURS = [*strategies("cpu", 1), *modes("cpu", 1)]


@pytest.mark.parametrize("contender", [*PEERS, *OURS], ids=lambda contender: contender.name)
@pytest.mark.filterwarnings("default")  # of other libraries
def test_everyone_answers_as_exact_arithmetic_does(contender: Contender, scene: Scene) -> None:
    if contender.lacking():
        pytest.skip(contender.lacking())
    answers = contender.prepare(scene.mesh)(scene.starts, scene.ends)()
    assert answers.dtype == bool
    assert (answers == scene.truth).all()


@pytest.mark.parametrize("contender", [*PEERS, *OURS], ids=lambda contender: contender.name)
@pytest.mark.filterwarnings("default")
def test_segments_that_end_before_the_surface_do_not_hit(contender: Contender) -> None:
    if contender.lacking():
        pytest.skip(contender.lacking())
    ground = Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    starts = np.array([[1.0, 2.0, 0.0]] * 3)
    ends = np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 6.0], [1.0, 2.0, -9.0]])
    assert contender.prepare(ground)(starts, ends)().tolist() == [False, True, False]


def test_a_backend_that_is_there_takes_part_with_all_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ours, "unfit", lambda _: "")
    names = [contender.name for contender in strategies("cuda")]
    assert names == [
        "geodomain brute (cuda)",
        "geodomain bvh, 1 block (cuda)",
        "geodomain bvh, 16 blocks (cuda)",
        "geodomain bvh, 16 blocks, sorted (cuda)",
        "geodomain bvh (cuda)",
        "geodomain bvh, sorted (cuda)",
    ]
    monkeypatch.setattr(ours, "unfit", lambda _: "no GPU")
    assert {each.lacking() for each in (*strategies("cuda"), *modes("cuda"))} == {"no GPU"}


def test_differences_are_counted(scene: Scene) -> None:
    denier = Contender("denier", lambda _: lambda starts, _: lambda: np.zeros(len(starts), bool))
    assert measure(denier, scene, repeat=1).differences == np.count_nonzero(scene.truth)


def test_a_slow_contender_gets_the_first_rays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "PILOT_RAYS", 10)
    monkeypatch.setattr(timing, "timed", lambda function: (1.0, function()))
    asked: list[int] = []

    def load(starts, ends):
        asked.append(len(starts))
        return lambda: scene.truth[: len(starts)]

    found = measure(Contender("slow", lambda _: load), scene, repeat=2)
    assert (found.rays, found.differences) == (20, 0)
    assert max(asked) == 20


def test_a_contender_that_cannot_run_says_why(scene: Scene) -> None:
    absent = Contender("absent", lambda _: pytest.fail("prepared"), ("no_such_module",))
    found = measure(absent, scene)
    assert found.lacking == "not installed: no_such_module"
    assert "(not installed: no_such_module)" in as_text(Report(SETTING, (found,), ()))
    assert found.as_dict()["seconds"] is None


def test_a_contender_that_fails_does_not_stop_the_rest(scene: Scene) -> None:
    def fail(_: Mesh) -> None:
        message = "no\nmore memory"
        raise MemoryError(message)

    assert measure(Contender("weak", fail), scene).lacking == "failed: MemoryError: no more memory"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1234.5, "1,230"),
        (1.0, "1.00"),
        (0.01234, "0.0123"),
        (99.96, "100"),
        (-0.5, "-0.500"),
        (0, "0"),
    ],
)
def test_numbers_have_three_figures(value: float, said: str) -> None:
    assert rounded(value) == said


@pytest.mark.parametrize(
    ("count", "least"), [(0.5, 0), (1, 1), (4, 2), (9, 5), (1000, 1000), (19_999, 10_000)]
)
def test_counts_are_rounded_down_to_what_can_be_read(count: float, least: int) -> None:
    assert round_down(count) == least


SETTING = {
    "triangles": 10, "rays": 20, "crossing": 5, "seed": 0, "repeat": 1, "threads": 1,
    "machine": "a machine",
}  # fmt: skip


def test_rates_and_gain_are_those_of_the_times() -> None:
    runs = (Run("slow", 10, 20, 0.5, math.nan, 2.0), Run("fast", 10, 20, 0.5, math.nan, 0.5))
    lines = as_text(Report(SETTING, runs, ())).splitlines()
    slow, fast = (line.split() for line in lines if line.startswith(("slow", "fast")))
    # name, rays, build, time, rays/s, Mi/s, gain, differences
    assert slow[1:] == ["20", "500", "ms", "2.00", "s", "10.0", "0.000100", "1.00x", "0"]
    assert fast[6:8] == ["40.0", "0.000400"]
    assert fast[8] == "4.00x"
    assert not any("load" in line for line in lines)


def test_a_report_has_every_table(report: Report) -> None:
    text = as_text(report)
    assert set(report.build["cpu"]) == {"boxes", "codes", "sort", "tree"}
    for part in ("Table 1", "Table 2", "Table 3", "Memory", "geodomain bvh (cpu)", "sort", "tree"):
        assert part in text
    assert all(run.differences == 0 for run in (*report.peers, *report.strategies, *report.modes))
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert set(told) == {
        "setting", "peers", "strategies", "modes", "build_seconds", "memory_bytes", "published",
    }  # fmt: skip
    first, *rest = told["strategies"]
    assert first["gain"] == 1.0
    assert [run["gain"] for run in rest if not run["lacking"]] == [
        run["rays_per_second"] / first["rays_per_second"] for run in rest if not run["lacking"]
    ]
    assert all(run["gain"] is None for run in rest if run["lacking"])
    # Each machine by itself: what "auto" would take is one of them.
    assert not any("(auto)" in run["name"] for run in (*told["peers"], *rest, *told["modes"]))


@pytest.mark.filterwarnings("default")  # of matplotlib
def test_the_chart_shows_who_is_missing_and_every_mode(
    report: Report, monkeypatch, tmp_path
) -> None:
    said: list[str] = []

    def read(figure, _, **options) -> None:
        for axes in figure.axes:
            said.extend([axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)])

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", read)
    absent = Run("absent", 200, lacking="not installed: absent")
    chart.draw(replace(report, peers=(absent, *report.peers)), tmp_path / "a.png")
    titles = {"Table 1. Libraries", "Table 2. Building the hierarchy (cpu)", "Table 3. Strategies"}
    assert titles | {"Modes"} <= set(said)
    assert "not installed: absent" in said


def test_memory_is_that_of_the_arrays(report: Report) -> None:
    triangles, memory = report.setting["triangles"], report.memory["cpu"]
    assert memory["triangles"] == 12 * triangles
    assert memory["segments"] == 48 * 300
    # At least the corners of every triangle, in double precision, and not many times that.
    assert 72 * triangles < memory["hierarchy"] < 300 * triangles
    assert memory["answers, boolean"] == 300
    assert memory["answers, intercept_count"] == 4 * 300
    # Of each hit a segment, a triangle, and seven numbers.
    crossing = report.setting["crossing"]
    assert memory["answers, barycentric"] == (8 + 4 + 7 * 8) * crossing


def test_the_best_of_all_repetitions_counts_and_copies_are_loading(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first build that compiles and a first answer that copies do not pass for the usual."""
    told = iter([9.0, 2.0, 100.0, 1.0, 5.0, 0.75, 0.5])  # two builds, a pilot, loading, 1 + 2 asks
    monkeypatch.setattr(timing, "timed", lambda function: (next(told), function()))
    alike = Contender("alike", lambda _: lambda starts, _: lambda: scene.truth[: len(starts)])
    found = measure(alike, scene, repeat=2, loaded=True)
    assert (found.build_seconds, found.load_seconds, found.seconds) == (2.0, 1.0 + 4.5, 0.5)


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # of other libraries
def test_a_gpu_takes_part_where_no_other_library_is(fake, monkeypatch, tmp_path: Path) -> None:
    """As on a machine for computing alone: the stand-in driver, and neither PyVista nor VTK."""
    for name in ("pyvista", "vtkmodules"):
        monkeypatch.setitem(sys.modules, name, None)  # which cannot be imported
    scene, _ = make_scene(200, 300, seed=0, threads=None)
    report = run(scene, repeat=1)
    assert report.setting["machine"].endswith("Imaginary GPU 0")
    told = {each.name: each for each in (*report.peers, *report.strategies, *report.modes)}
    assert all(
        "not installed" in told[name].lacking for name in ("PyVista ray_trace", "VTK OBBTree")
    )
    ours = [each for name, each in told.items() if "(cuda)" in name]
    assert len(ours) == 9 and not any(each.lacking or each.differences for each in ours)
    assert set(report.build["cuda"]) == {"boxes", "codes", "sort", "tree"}
    memory = report.memory["cuda"]
    assert memory["segments"] == 52 * 300 + 4  # and the list of rows that are not sure
    assert memory["hierarchy"] == 80 + 160 * 100
    headings = [line.split() for line in as_text(report).splitlines() if line.startswith(" ")]
    assert headings.count(["cpu", "cuda", "published,", "Titan", "X"]) == 2
    chart.draw(report, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert (fake.used_bytes, fake.calls.count("leak")) == (0, 0)


def test_a_gpu_that_fails_does_not_stop_the_rest(fake, monkeypatch) -> None:
    monkeypatch.setattr("geodomain.benching.running.PEERS", ())
    fake.fail_launch["geodomain_bvh_fill"] = fake.LaunchError("the GPU fell off the bus")
    report = run(make_scene(200, 300, seed=0, threads=None)[0], repeat=1)
    lacking = {run.name: run.lacking for run in report.peers}
    assert lacking["geodomain bvh (cpu)"] == ""
    assert lacking["geodomain bvh (cuda)"].startswith("failed: ")
    assert "the GPU fell off" in lacking["geodomain bvh (cuda)"]
    assert list(report.build) == list(report.memory) == ["cpu"]


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # of matplotlib
def test_the_chart_is_a_picture(report: Report, tmp_path) -> None:
    chart.draw(report, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
