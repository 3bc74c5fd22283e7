"""Run a benchmark: make the scene, measure all contenders, and collect the results."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np

from geodomain.benching.report import Report, Setting, draw, draw_level
from geodomain.benching.timing import (
    MACHINES,
    PEERS,
    Contender,
    Run,
    Scene,
    measure,
    modes,
    preliminary,
    strategies,
)
from geodomain.compute import inventory
from geodomain.compute.native import thread_count
from geodomain.files.outputs import require_places
from geodomain.query.segments import WORDS, Answer, Hits, SegmentIntersector, Segments
from geodomain.settings import BackendName
from geodomain.synthetic.files import longest_segment
from geodomain.synthetic.scenes import segments_across, undulating_terrain

Step = Callable[[str], None]


def compare(
    triangles: int = 29_260,
    rays: int = 1_000_000,
    *,
    seed: int = 0,
    repeat: int = 3,
    threads: int | None = None,
    chart: Path | None = None,
    tree: tuple[int, Path] | None = None,
    overwrite: bool = False,
    step: Step = lambda _: None,
) -> Report:
    """Make the scene of `geodomain synthesize`, measure all contenders, and draw the charts.

    Parameters
    ----------
    triangles, rays, seed
        Number of triangles, number of rays (segments), and seed of the scene; see
        `geodomain.synthetic.files.write_scene`.
    repeat, threads, step
        Number of repetitions, number of threads, and function called at each step; see `run`.
    chart : Path, optional
        Where to draw a chart of the rates.
    tree : tuple of int and Path, optional
        A level of the hierarchy, and where to draw the boxes of that level.
    overwrite : bool
        Whether to replace existing pictures.

    Returns
    -------
    Report

    Raises
    ------
    FileExistsError, FileNotFoundError
        If a picture exists, or the folder of a picture does not; checked before any measurement.
    LevelError
        If the hierarchy has no such level.
    """
    pictures = [chart, tree and tree[1]]
    require_places([path for path in pictures if path], overwrite=overwrite)
    step("making the scene")
    scene, intersector = make_scene(triangles, rays, seed, threads)
    if tree:
        step("drawing the hierarchy")
        draw_level(intersector, *tree)
    report = run(scene, repeat=repeat, threads=threads, step=step)
    if chart:
        draw(report, chart)
    return report


def make_scene(
    triangles: int, rays: int, seed: int, threads: int | None
) -> tuple[Scene, SegmentIntersector]:
    """Return the scene of `geodomain synthesize`, with exact answers, and an intersector for it."""
    mesh = undulating_terrain(triangles, seed=seed)
    reach = longest_segment(triangles)
    (chunk,) = segments_across(mesh, rays, reach=reach, seed=seed, chunk=rays)
    intersector = SegmentIntersector(mesh, backend="cpu", threads=threads)
    truth = intersector.intersect((chunk.starts, chunk.ends), mode="boolean")
    return Scene(mesh, chunk.starts, chunk.ends, truth, seed), intersector


def run(
    scene: Scene,
    *,
    repeat: int = 3,
    threads: int | None = None,
    step: Step = lambda _: None,
) -> Report:
    """Measure all contenders on one scene.

    Parameters
    ----------
    scene : Scene
        The scene for all contenders.
    repeat : int
        Number of repetitions; the fastest counts.
    threads : int, optional
        Threads of geodomain; other libraries choose their own number.
    step : callable, optional
        Called with the name of each step as it begins.

    Returns
    -------
    Report
    """

    def runs(contenders: tuple[Contender, ...], *, loaded: bool) -> tuple[Run, ...]:
        done = []
        for contender in contenders:
            step(contender.name)
            done.append(measure(contender, scene, repeat=repeat, loaded=loaded))
        return tuple(done)

    libraries = runs((*PEERS, *_of_every_backend(preliminary, threads)), loaded=False)
    absent: dict[str, str] = {name: why for name in MACHINES if (why := _lacking(libraries, name))}
    ready = [name for name in MACHINES if name not in absent]
    return Report(
        _setting(scene, repeat, threads),
        libraries,
        runs(_of_every_backend(strategies, threads), loaded=True),
        runs(_of_every_backend(modes, threads), loaded=True),
        {name: _build(scene, name, repeat, threads) for name in ready},
        {name: memory(scene, name, threads) for name in ready},
        absent,
    )


def _lacking(runs: tuple[Run, ...], backend: str) -> str:
    """Return the reason why one of our strategies could not run on a backend; "" if all could."""
    return next((run.lacking for run in runs if f"({backend})" in run.name and run.lacking), "")


def _build(
    scene: Scene, backend: BackendName, repeat: int, threads: int | None
) -> dict[str, float]:
    """Build the hierarchy several times; return the seconds of each stage of the fastest build."""
    builds = []
    for _ in range(repeat):
        with SegmentIntersector(scene.mesh, backend=backend, threads=threads) as intersector:
            builds.append(dict(intersector.build_times))
    return min(builds, key=lambda times: sum(times.values()))


def _of_every_backend(
    contenders: Callable[[BackendName, int | None], tuple[Contender, ...]], threads: int | None
) -> tuple[Contender, ...]:
    """Call `contenders` for every backend, and return all contenders."""
    return tuple(contender for name in MACHINES for contender in contenders(name, threads))


def memory(scene: Scene, backend: BackendName, threads: int | None) -> dict[str, int]:
    """Return the number of bytes of each array of a query, including the answers of all modes."""
    with (
        SegmentIntersector(scene.mesh, backend=backend, threads=threads) as intersector,
        Segments(scene.starts, scene.ends, threads=threads) as segments,
    ):
        answers = {
            f"answers, {word}": _bytes(intersector.intersect(segments, mode=mode))
            for word, mode in WORDS.items()
        }
        copies = segments.device.values()
        return {
            "vertices": scene.mesh.vertices.nbytes,
            "triangles": scene.mesh.triangles.nbytes,
            "hierarchy": intersector.surface.nbytes,
            "segments": sum(copy.nbytes for copy in copies) or segments.packed.nbytes,
            **answers,
        }


def _bytes(answer: Answer) -> int:
    arrays = vars(answer).values() if isinstance(answer, Hits) else (answer,)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _setting(scene: Scene, repeat: int, threads: int | None) -> Setting:
    """Return the settings of a benchmark: sizes of the scene, repetitions and machine."""
    return {
        "triangles": len(scene.mesh.triangles),
        "rays": len(scene),
        "crossing": int(np.count_nonzero(scene.truth)),
        "seed": scene.seed,
        "repeat": repeat,
        "threads": thread_count(threads),
        "machine": ", ".join(_machine()),
    }


def _machine() -> list[str]:
    """Return descriptions of the parts of this machine: system, cores, Python, and GPUs last."""
    return [
        f"{platform.system()} {platform.machine()}",
        f"{os.cpu_count()} cores",
        f"Python {platform.python_version()}",
        *(gpu.name for gpu in inventory.take().gpus if gpu.used),
    ]
