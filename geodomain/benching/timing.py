"""The contenders of a benchmark: ways to test segments against a mesh."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import BACKENDS, choose
from geodomain.compute.data import Floats
from geodomain.errors import DeviceError
from geodomain.mesh.mesh import Mesh
from geodomain.query.segments import WORDS, Answer, Hits, Mode, SegmentIntersector, Segments

if TYPE_CHECKING:
    import open3d

Answers = NDArray[np.bool_]
Ask = Callable[[], Answers]
Load = Callable[[Floats, Floats], Ask]


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Contender:
    """One way to tell which segments cross a mesh.

    Attributes
    ----------
    name : str
        Library and function, or our strategy.
    prepare : callable
        From a mesh, builds what is searched, and returns what loads starts and ends,
        shape (n, 3); that returns what answers, as often as it is asked, (n,) bool.
    modules : tuple of str
        What must be installed.
    unfit : callable
        Says in a few words why it cannot run here for another reason, or nothing.
    """

    name: str
    prepare: Callable[[Mesh], Load]
    modules: tuple[str, ...] = ()
    unfit: Callable[[], str] = _nothing

    def lacking(self) -> str:
        """Return in a few words why it cannot run here; empty if it can."""
        for name in self.modules:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                return f"not installed: {error.name or name}"
            except (ImportError, OSError) as error:
                return f"{name} does not load: {str(error).split(':')[0][:40]}"
        return self.unfit()


# --- Other libraries that test segments against triangles, each in its own usual way; no timing.


def _from_arrays(ask: Callable[[Floats, Floats], Answers]) -> Load:
    """Return a loader for a library that takes arrays on each call."""
    return lambda starts, ends: lambda: ask(starts, ends)


def _pyvista_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()
    surface.ray_trace([0, 0, 0], [0, 0, 1])  # builds its tree when it is first asked

    def ask(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts, ends, strict=True)
        return np.array([len(surface.ray_trace(start, end)[1]) > 0 for start, end in pairs])

    return _from_arrays(ask)


def _vtk_obb_tree(mesh: Mesh) -> Load:
    from vtkmodules.vtkFiltersGeneral import vtkOBBTree

    surface, tree = mesh.to_pyvista(), vtkOBBTree()
    tree.SetDataSet(surface)
    tree.BuildLocator()

    def ask(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return np.array([tree.IntersectWithLine(a, b, None, None) != 0 for a, b in pairs])

    return _from_arrays(ask)


def _pyvista_multi_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()

    def ask(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = surface.multi_ray_trace(starts, ends - starts, first_point=True)
        return _within(starts, ends, np.asarray(points), np.asarray(rays))

    return _from_arrays(ask)


def _trimesh(mesh: Mesh) -> Load:
    import trimesh

    caster = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).ray

    def ask(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = caster.intersects_location(starts, ends - starts, multiple_hits=False)
        return _within(starts, ends, points, rays)

    return _from_arrays(ask)


def _within(starts: Floats, ends: Floats, points: Floats, rays: NDArray[np.int64]) -> Answers:
    """Return which rays' first hits lie within the segment."""
    hit = np.zeros(len(starts), dtype=bool)
    if len(rays):
        far = ((points - starts[rays]) ** 2).sum(axis=1)
        hit[rays] = far <= ((ends[rays] - starts[rays]) ** 2).sum(axis=1)
    return hit


def _open3d(
    mesh: Mesh, answer: Callable[[open3d.t.geometry.RaycastingScene, open3d.core.Tensor], Answers]
) -> Load:
    """Build Open3D's scene; its rays are a start and a direction in single precision."""
    import open3d

    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        open3d.core.Tensor(mesh.vertices.astype(np.float32)),
        open3d.core.Tensor(mesh.triangles.astype(np.uint32)),
    )

    def load(starts: Floats, ends: Floats) -> Ask:
        rays = open3d.core.Tensor(np.hstack([starts, ends - starts]).astype(np.float32))
        return lambda: answer(scene, rays)

    return load


def _open3d_cast_rays(mesh: Mesh) -> Load:
    return _open3d(mesh, lambda scene, rays: scene.cast_rays(rays)["t_hit"].numpy() <= 1)


def _open3d_occlusions(mesh: Mesh) -> Load:
    return _open3d(
        mesh, lambda scene, rays: scene.test_occlusions(rays, tnear=0.0, tfar=1.0).numpy()
    )


_EMBREE = ("trimesh", "embreex")

# The first three are those of the paper, slowest first.
PEERS = (
    Contender("PyVista ray_trace", _pyvista_ray_trace, ("pyvista",)),
    Contender("VTK OBBTree", _vtk_obb_tree, ("vtkmodules", "pyvista")),
    Contender("PyVista multi_ray_trace", _pyvista_multi_ray_trace, ("pyvista", *_EMBREE)),
    Contender("trimesh with Embree", _trimesh, _EMBREE),
    Contender("Open3D cast_rays", _open3d_cast_rays, ("open3d",)),
    Contender("Open3D test_occlusions", _open3d_occlusions, ("open3d",)),
)


# --- Our own strategies as contenders: those of arXiv 2209.02878, and our modes.

MACHINES = tuple(name for name in BACKENDS if name != "auto")


class _Options(TypedDict, total=False):
    """Options of the intersector."""

    strategy: Literal["bvh", "brute"]
    grid: int


class _Strategy(_Options, total=False):
    """What makes a strategy."""

    sort: bool


# What the paper calls versions 1, 2.0, 2.1 and 2.2, and as many blocks as suit the segments. On the
# CPU a number of blocks has no meaning: there are threads.
_STRATEGIES: dict[str, _Strategy] = {
    "brute": {"strategy": "brute"},
    "bvh, 1 block": {"grid": 1},
    "bvh, 16 blocks": {"grid": 16},
    "bvh, 16 blocks, sorted": {"grid": 16, "sort": True},
    "bvh": {},
    "bvh, sorted": {"sort": True},
}


def strategies(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return our strategies on a backend, the slowest first; sorting is part of loading."""
    names = [name for name in _STRATEGIES if not (backend == "cpu" and "block" in name)]
    return tuple(_ours(name, backend, threads, **_STRATEGIES[name]) for name in names)


def modes(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return the modes of a hierarchy on a backend, by the words of the paper."""
    return tuple(_ours(f"bvh, {word}", backend, threads, mode=mode) for word, mode in WORDS.items())


def preliminary(backend: str, threads: int | None = None) -> tuple[Contender, ...]:
    """Return what the libraries are compared with: brute force, and the default strategy."""
    return _ours("brute", backend, threads, strategy="brute"), _ours("bvh", backend, threads)


def _ours(
    name: str,
    backend: str,
    threads: int | None,
    *,
    sort: bool = False,
    mode: Mode = "boolean",
    **options: Unpack[_Options],
) -> Contender:
    """Make a contender of the intersector with some options; it says where it cannot run."""

    def prepare(mesh: Mesh) -> Load:
        intersector = SegmentIntersector(mesh, backend=backend, threads=threads, **options)

        def load(starts: Floats, ends: Floats) -> Ask:
            segments = Segments(starts, ends, sort=sort, threads=threads)
            return lambda: _whether(intersector.intersect(segments, mode=mode))

        return load

    return Contender(f"geodomain {name} ({backend})", prepare, unfit=lambda: unfit(backend))


def _whether(answer: Answer) -> Answers:
    """Turn any mode's answer into whether there is a crossing."""
    if not isinstance(answer, Hits):
        return np.not_equal(answer, 0)
    crossing = np.zeros(answer.segment_count, dtype=bool)
    crossing[answer.segment] = True
    return crossing


def unfit(backend: str) -> str:
    """Return why a backend cannot be used here, or an empty text."""
    try:
        choose(backend)
    except DeviceError as error:
        return str(error).split(";")[0][:70]
    return ""


# --- Time contenders on the same segments, and compare their answers; no printing.

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
