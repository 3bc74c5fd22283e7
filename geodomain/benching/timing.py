"""Time contenders on the same segments, and compare their answers; no printing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np

from geodomain.benching.contender import Answers, Contender, Floats, Load
from geodomain.mesh.mesh import Mesh

Result = TypeVar("Result")

# A contender is first asked about so many, which also warms it up. A slow one is then asked
# about no more than it answers in a while.
PILOT_RAYS = 1000
PATIENCE = 2.0  # seconds for one repetition, about


@dataclass(frozen=True)
class Scene:
    """What all contenders are asked: a mesh, segments, and the exact answers.

    Attributes
    ----------
    mesh : Mesh
    starts, ends : ndarray of shape (n, 3), float64
    truth : ndarray of shape (n,), bool
        Which segments cross the mesh.
    seed : int
        That all of it was made from.
    """

    mesh: Mesh
    starts: Floats
    ends: Floats
    truth: Answers
    seed: int = 0

    def __len__(self) -> int:
        """Return how many segments there are."""
        return len(self.starts)


@dataclass(frozen=True)
class Run:
    """The result of one contender.

    Attributes
    ----------
    name : str
    triangles, rays : int
        How many it was asked about: a slow one gets the first rays alone.
    build_seconds, load_seconds, seconds : float
        To build what is searched, to load the segments, and to answer, each the best
        repetition; NaN if it did not run, or if loading is part of answering. What is copied
        to a GPU when it is first asked about is part of loading.
    differences : int
        Answers that are not the truth.
    lacking : str
        Why it did not run, or nothing.
    """

    name: str
    triangles: int
    rays: int = 0
    build_seconds: float = math.nan
    load_seconds: float = math.nan
    seconds: float = math.nan
    differences: int = 0
    lacking: str = ""

    @property
    def rays_per_second(self) -> float:
        """Return the rate of answers."""
        return self.rays / self.seconds

    @property
    def tests_per_second(self) -> float:
        """Return triangles times rays over time: the tests that trying every pair would take."""
        return self.triangles * self.rays_per_second

    def as_dict(self) -> dict[str, object]:
        """Return everything for JSON, None where there is no number."""
        rates = {"rays_per_second": self.rays_per_second, "tests_per_second": self.tests_per_second}
        return {key: _plain(value) for key, value in (asdict(self) | rates).items()}


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def timed(function: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds that a call takes, and what it returns."""
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def measure(contender: Contender, scene: Scene, *, repeat: int = 3, loaded: bool = False) -> Run:
    """Time one contender.

    Parameters
    ----------
    contender : Contender
    scene : Scene
        What it is asked.
    repeat : int
        Repetitions, of which the fastest counts.
    loaded : bool
        Take the time from segments that are loaded; otherwise from arrays.

    Returns
    -------
    Run
        With its reason, where it cannot run or fails.
    """
    name, triangles = contender.name, len(scene.mesh.triangles)
    if lacking := contender.lacking():
        return Run(name, triangles, lacking=lacking)
    try:
        return _measure(contender, scene, repeat, loaded)
    except Exception as error:  # of another library: the rest can be compared all the same
        words = f"failed: {type(error).__name__}: {error}".split()
        return Run(name, triangles, lacking=" ".join(words)[:70])


def _measure(contender: Contender, scene: Scene, repeat: int, loaded: bool) -> Run:
    """Time a contender that can run."""
    builds = [timed(lambda: contender.prepare(scene.mesh)) for _ in range(repeat)]
    load = builds[-1][1]
    rays = _patient_count(load, scene)
    starts, ends = scene.starts[:rays], scene.ends[:rays]
    load_seconds, ask = timed(lambda: load(starts, ends))
    first_seconds, _ = timed(ask) if loaded else (math.nan, None)
    rounds = [timed(ask if loaded else lambda: load(starts, ends)()) for _ in range(repeat)]
    seconds = min(seconds for seconds, _ in rounds)
    return Run(
        contender.name,
        len(scene.mesh.triangles),
        rays,
        min(seconds for seconds, _ in builds),
        load_seconds + max(first_seconds - seconds, 0.0) if loaded else math.nan,
        seconds,
        int(np.count_nonzero(rounds[0][1] != scene.truth[:rays])),
    )


def _patient_count(load: Load, scene: Scene) -> int:
    """Return how many segments the time allows, estimated from fewer of them."""
    pilot = min(PILOT_RAYS, len(scene))
    while True:
        ask = load(scene.starts[:pilot], scene.ends[:pilot])
        ask()
        seconds, _ = timed(ask)
        # What a call costs for any number must not be taken for the cost of a ray.
        if pilot == len(scene) or seconds > PATIENCE / 40:
            return min(len(scene), max(pilot, round_down(PATIENCE * pilot / seconds)))
        pilot = min(10 * pilot, len(scene))


def round_down(count: float) -> int:
    """Return the next lower of 1, 2, 5, 10, 20, 50 ..., so that a table can be read."""
    if count < 1:
        return 0
    power: int = 10 ** (len(str(int(count))) - 1)
    return max(step * power for step in (1, 2, 5) if step * power <= count)
