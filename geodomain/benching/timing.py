"""Time libraries and strategies that test segments against a mesh."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import choose
from geodomain.compute.data import Floats
from geodomain.errors import DeviceError
from geodomain.mesh.mesh import Mesh
from geodomain.query.segments import WORDS, Answer, Hits, Mode, SegmentIntersector, Segments
from geodomain.settings import BackendName

if TYPE_CHECKING:
    import open3d

Answers = NDArray[np.bool_]
Ask = Callable[[], Answers]
Load = Callable[[Floats, Floats], Ask]


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Contender:
    """A library or an algorithm that finds which segments cross a mesh.

    Attributes
    ----------
    name : str
        Library and function, or our strategy.
    prepare : callable
        Builds the search structure of a mesh, and returns a loader. The loader takes starts and
        ends, shape (n, 3), and returns a query. Each call of the query returns answers, (n,) bool.
    modules : tuple of str
        Modules that must be installed.
    unfit : callable
        Returns any other reason why the contender cannot run here, in a few words; "" if it can.
    """

    name: str
    prepare: Callable[[Mesh], Load]
    modules: tuple[str, ...] = ()
    unfit: Callable[[], str] = _nothing

    def lacking(self) -> str:
        """Return why the contender cannot run here, in a few words; "" if it can."""
        for name in self.modules:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                return f"not installed: {error.name or name}"
            except (ImportError, OSError) as error:
                return f"{name} does not load: {str(error).split(':')[0][:40]}"
        return self.unfit()


# --- Other libraries that test segments against triangles, each in its usual way.


def _from_arrays(query: Callable[[Floats, Floats], Answers]) -> Load:
    """Return a loader for a library that takes the arrays of starts and ends on each call."""
    return lambda starts, ends: lambda: query(starts, ends)


def _pyvista_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()
    surface.ray_trace([0, 0, 0], [0, 0, 1])  # the first call builds its tree

    def query(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts, ends, strict=True)
        return np.array([len(surface.ray_trace(start, end)[1]) > 0 for start, end in pairs])

    return _from_arrays(query)


def _vtk_obb_tree(mesh: Mesh) -> Load:
    from vtkmodules.vtkFiltersGeneral import vtkOBBTree

    surface, tree = mesh.to_pyvista(), vtkOBBTree()
    tree.SetDataSet(surface)
    tree.BuildLocator()

    def query(starts: Floats, ends: Floats) -> Answers:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return np.array([tree.IntersectWithLine(a, b, None, None) != 0 for a, b in pairs])

    return _from_arrays(query)


def _pyvista_multi_ray_trace(mesh: Mesh) -> Load:
    surface = mesh.to_pyvista()

    def query(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = surface.multi_ray_trace(starts, ends - starts, first_point=True)
        return _within(starts, ends, np.asarray(points), np.asarray(rays))

    return _from_arrays(query)


def _trimesh(mesh: Mesh) -> Load:
    import trimesh

    caster = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).ray

    def query(starts: Floats, ends: Floats) -> Answers:
        points, rays, _ = caster.intersects_location(starts, ends - starts, multiple_hits=False)
        return _within(starts, ends, points, rays)

    return _from_arrays(query)


def _within(starts: Floats, ends: Floats, points: Floats, rays: NDArray[np.int64]) -> Answers:
    """Return, for each segment, whether the first hit of its ray lies within the segment."""
    hit = np.zeros(len(starts), dtype=bool)
    if len(rays):
        far = ((points - starts[rays]) ** 2).sum(axis=1)
        hit[rays] = far <= ((ends[rays] - starts[rays]) ** 2).sum(axis=1)
    return hit


def _open3d(
    mesh: Mesh, answer: Callable[[open3d.t.geometry.RaycastingScene, open3d.core.Tensor], Answers]
) -> Load:
    """Build a scene of Open3D, and return a loader that gives it rays in single precision."""
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

# The first three are in the paper, slowest first.
PEERS = (
    Contender("PyVista ray_trace", _pyvista_ray_trace, ("pyvista",)),
    Contender("VTK OBBTree", _vtk_obb_tree, ("vtkmodules", "pyvista")),
    Contender("PyVista multi_ray_trace", _pyvista_multi_ray_trace, ("pyvista", *_EMBREE)),
    Contender("trimesh with Embree", _trimesh, _EMBREE),
    Contender("Open3D cast_rays", _open3d_cast_rays, ("open3d",)),
    Contender("Open3D test_occlusions", _open3d_occlusions, ("open3d",)),
)


# --- Our own contenders: the strategies of arXiv 2209.02878, and our modes.

MACHINES: tuple[BackendName, ...] = ("cpu", "cuda")


class _Options(TypedDict, total=False):
    """Options of `SegmentIntersector`."""

    strategy: Literal["bvh", "brute"]
    grid: int


class _Strategy(_Options, total=False):
    """Options of one of our strategies."""

    sort: bool


# Versions 1, 2.0, 2.1 and 2.2 of the paper, then the default number of blocks. The CPU has threads
# instead of blocks.
_STRATEGIES: dict[str, _Strategy] = {
    "brute": {"strategy": "brute"},
    "bvh, 1 block": {"grid": 1},
    "bvh, 16 blocks": {"grid": 16},
    "bvh, 16 blocks, sorted": {"grid": 16, "sort": True},
    "bvh": {},
    "bvh, sorted": {"sort": True},
}


def strategies(backend: BackendName, threads: int | None = None) -> tuple[Contender, ...]:
    """Return contenders for our strategies on a backend, slowest first.

    The time to sort segments counts as time to load them.
    """
    names = [name for name in _STRATEGIES if not (backend == "cpu" and "block" in name)]
    return tuple(_ours(name, backend, threads, **_STRATEGIES[name]) for name in names)


def modes(backend: BackendName, threads: int | None = None) -> tuple[Contender, ...]:
    """Return a contender for each mode of our hierarchy on a backend, named as in the paper."""
    return tuple(_ours(f"bvh, {word}", backend, threads, mode=mode) for word, mode in WORDS.items())


def preliminary(backend: BackendName, threads: int | None = None) -> tuple[Contender, ...]:
    """Return our contenders for the comparison with libraries: brute force and the default."""
    return _ours("brute", backend, threads, strategy="brute"), _ours("bvh", backend, threads)


def _ours(
    name: str,
    backend: BackendName,
    threads: int | None,
    *,
    sort: bool = False,
    mode: Mode = "boolean",
    **options: Unpack[_Options],
) -> Contender:
    """Return a contender that runs our intersector with the given options."""

    def prepare(mesh: Mesh) -> Load:
        intersector = SegmentIntersector(mesh, backend=backend, threads=threads, **options)

        def load(starts: Floats, ends: Floats) -> Ask:
            segments = Segments(starts, ends, sort=sort, threads=threads)
            return lambda: _whether(intersector.intersect(segments, mode=mode))

        return load

    return Contender(f"geodomain {name} ({backend})", prepare, unfit=lambda: unfit(backend))


def _whether(answer: Answer) -> Answers:
    """Return whether each segment crosses the mesh, (n,), from the answer of any mode."""
    if not isinstance(answer, Hits):
        return np.not_equal(answer, 0)
    crossing = np.zeros(answer.segment_count, dtype=bool)
    crossing[answer.segment] = True
    return crossing


def unfit(backend: BackendName) -> str:
    """Return the reason why a backend cannot be used here; "" if it can."""
    try:
        choose(backend)
    except DeviceError as error:
        return str(error).split(";")[0][:70]
    return ""


# --- Time contenders on the same segments, and compare their answers.

Result = TypeVar("Result")

# A contender first gets this many segments, which also warms it up. A slow contender then gets only
# as many as it can answer in the time below.
PILOT_RAYS = 1000
PATIENCE = 2.0  # approximate seconds for one repetition


@dataclass(frozen=True)
class Scene:
    """The scene for all contenders: a mesh, segments, and the exact answers.

    Attributes
    ----------
    mesh : Mesh
    starts, ends : ndarray of shape (n, 3), float64
    truth : ndarray of shape (n,), bool
        Which segments cross the mesh.
    seed : int
        Seed of the scene.
    """

    mesh: Mesh
    starts: Floats
    ends: Floats
    truth: Answers
    seed: int = 0

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.starts)


@dataclass(frozen=True)
class Run:
    """The result of one contender.

    Attributes
    ----------
    name : str
    triangles, rays : int
        Number of triangles, and number of rays; a slow contender gets only the first rays.
    build_seconds, load_seconds, seconds : float
        Time to build the search structure, to load the segments, and to answer. Build and answer
        are the best of several repetitions. NaN if the contender did not run, or if loading is
        part of answering. Copies to a GPU during the first query count as loading.
    differences : int
        Number of wrong answers.
    lacking : str
        Why the contender did not run; "" if it did.
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
        """The number of rays answered per second."""
        return self.rays / self.seconds

    @property
    def tests_per_second(self) -> float:
        """Triangles times rays per second, as if every pair of a triangle and a ray were tested."""
        return self.triangles * self.rays_per_second

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON, with None instead of NaN."""
        rates = {"rays_per_second": self.rays_per_second, "tests_per_second": self.tests_per_second}
        return {key: _plain(value) for key, value in (asdict(self) | rates).items()}


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def timed(function: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds of a call, and its result."""
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def measure(contender: Contender, scene: Scene, *, repeat: int = 3, loaded: bool = False) -> Run:
    """Time one contender.

    Parameters
    ----------
    contender : Contender
    scene : Scene
        The mesh and the segments.
    repeat : int
        Number of repetitions; the fastest counts.
    loaded : bool
        Whether the segments are loaded before the query is timed. Otherwise loading is part of
        the time.

    Returns
    -------
    Run
        The result, or the reason why the contender cannot run or fails.
    """
    name, triangles = contender.name, len(scene.mesh.triangles)
    if lacking := contender.lacking():
        return Run(name, triangles, lacking=lacking)
    try:
        return _measure(contender, scene, repeat, loaded)
    except Exception as error:  # an error of one library must not stop the benchmark
        words = f"failed: {type(error).__name__}: {error}".split()
        return Run(name, triangles, lacking=" ".join(words)[:70])


def _measure(contender: Contender, scene: Scene, repeat: int, loaded: bool) -> Run:
    """Time a contender that can run."""
    builds = [timed(lambda: contender.prepare(scene.mesh)) for _ in range(repeat)]
    load = builds[-1][1]
    rays = _patient_count(load, scene)
    starts, ends = scene.starts[:rays], scene.ends[:rays]
    load_seconds, query = timed(lambda: load(starts, ends))
    first_seconds, _ = timed(query) if loaded else (math.nan, None)
    rounds = [timed(query if loaded else lambda: load(starts, ends)()) for _ in range(repeat)]
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
    """Return about how many segments can be answered in `PATIENCE` seconds, from a pilot run."""
    pilot = min(PILOT_RAYS, len(scene))
    while True:
        query = load(scene.starts[:pilot], scene.ends[:pilot])
        query()
        seconds, _ = timed(query)
        # The fixed cost of a call must not dominate the estimate.
        if pilot == len(scene) or seconds > PATIENCE / 40:
            return min(len(scene), max(pilot, round_down(PATIENCE * pilot / seconds)))
        pilot = min(10 * pilot, len(scene))


def round_down(count: float) -> int:
    """Round down to 0, 1, 2, 5, 10, 20, 50 and so on, for a readable table."""
    if count < 1:
        return 0
    power: int = 10 ** (len(str(int(count))) - 1)
    return max(step * power for step in (1, 2, 5) if step * power <= count)
