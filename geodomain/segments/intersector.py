"""Queries of segments against one surface, with an index that is built once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypedDict, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.backends import choose, taken
from geodomain.backends.api import SegmentIndex
from geodomain.backends.threads import thread_count
from geodomain.inputs.kinds import MeshLike
from geodomain.inputs.meshes import as_mesh
from geodomain.mesh import datasets
from geodomain.mesh.mesh import Mesh
from geodomain.segments.hits import Hits
from geodomain.segments.modes import Answer, HitMode, Mode, ask, join
from geodomain.segments.segments import Segments, as_ends

if TYPE_CHECKING:
    import pyvista

Strategy = Literal["bvh", "brute"]
Pair = tuple[ArrayLike, ArrayLike]
CHUNK = 4_194_304  # segments prepared at a time, of arrays that are not Segments


class IntersectorOptions(TypedDict):
    """What an intersector is made with, besides the mesh."""

    backend: str
    threads: int | None
    strategy: Strategy
    grid: int | None


class SegmentIntersector:
    """Answer where segments cross a surface; built once, asked often, from any thread.

    Parameters
    ----------
    mesh : mesh-like
        The surface, open or closed, as for `as_mesh`. A `Mesh` is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; answers are the same everywhere, bit for bit. "auto" takes a GPU
        once there is work enough to repay its start.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    strategy : {"bvh", "brute"}
        How to look for crossings; answers are the same. "bvh" goes down a hierarchy of
        boxes; "brute" screens every triangle's box, and is there to compare with.
    grid : int, optional
        How many blocks of threads a GPU works with, 1 and 16 in the paper; as many as the
        segments need by default. Of no effect on the CPU.

    Attributes
    ----------
    mesh : Mesh
        The surface.
    backend : str
        As it was given.
    threads : int
        How many are used.

    Notes
    -----
    The hierarchy is linear: triangles in the order of the Morton codes of their boxes'
    middles, parted bottom-up (C. Apetrei, "Fast and simple agglomerative LBVH
    construction", 2014), then gathered into nodes of eight boxes. The strategies are those of
    R. Leung, "GPU implementation of a ray-surface intersection algorithm in CUDA", arXiv
    2209.02878.

    An intersector is a context manager: on leaving it the hierarchy is freed. It can be pickled,
    for other processes: the mesh goes, and the hierarchy is built again there.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> intersector = geodomain.SegmentIntersector(ground)
    >>> hits = intersector.intersect(([[1, 2, 0]], [[1, 2, 10]]), mode="nearest")
    >>> hits.t.tolist(), hits.point.tolist(), hits.triangle.tolist()
    ([0.5], [[1.0, 2.0, 5.0]], [0])
    """

    def __init__(
        self,
        mesh: MeshLike,
        *,
        backend: str = "auto",
        threads: int | None = None,
        strategy: Strategy = "bvh",
        grid: int | None = None,
    ) -> None:
        if strategy not in get_args(Strategy):
            message = f"strategy is {strategy!r}; it can be 'bvh' or 'brute'"
            raise ValueError(message)
        if grid is not None and not (_is_whole(grid) and grid >= 1):
            message = f"grid must be a positive number of blocks or None, not {grid!r}"
            raise ValueError(message)
        self.mesh = as_mesh(mesh)
        self.backend = backend
        self.threads = thread_count(threads)
        self._options: IntersectorOptions = {
            "backend": backend, "threads": threads, "strategy": strategy, "grid": grid,
        }  # fmt: skip
        self._surface: SegmentIndex | None = choose(backend).segment_index(
            self.mesh, strategy=strategy, grid=grid, threads=self.threads
        )

    def __repr__(self) -> str:
        """Name the mesh and the options."""
        return f"SegmentIntersector({self.mesh!r}, backend={self.backend!r})"

    def __reduce__(
        self,
    ) -> tuple[
        Callable[[Mesh, IntersectorOptions], SegmentIntersector], tuple[Mesh, IntersectorOptions]
    ]:
        """Pickle what the intersector is made of; the hierarchy is built again there."""
        return _again, (self.mesh, self._options)

    @property
    def surface(self) -> SegmentIndex:
        """Return the backend's surface; ValueError once it is freed."""
        if self._surface is None:
            message = "the intersector is closed: make another SegmentIntersector"
            raise ValueError(message)
        return self._surface

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds of "boxes", "codes", "sort" and "tree"; "brute" takes boxes alone."""
        return self.surface.build_times

    @property
    def machine(self) -> tuple[str, str]:
        """Name where most segments so far were asked, "cpu" or "cuda", and say why there."""
        return taken(self.backend, [self.surface])

    @overload
    def intersect(
        self, segments: Segments | Pair, *, mode: Literal["boolean"] = ...
    ) -> NDArray[np.bool_]: ...
    @overload
    def intersect(
        self, segments: Segments | Pair, *, mode: Literal["count"]
    ) -> NDArray[np.int32]: ...
    @overload
    def intersect(self, segments: Segments | Pair, *, mode: HitMode) -> Hits: ...
    def intersect(self, segments: Segments | Pair, *, mode: Mode = "boolean") -> Answer:
        """Return where segments, prepared or as (starts, ends), cross the surface.

        Modes, rules and errors are those of `geodomain.intersect`.
        """
        if mode not in get_args(Mode):
            message = f"mode is {mode!r}; it can be 'boolean', 'nearest', 'count' or 'all'"
            raise ValueError(message)
        pieces = [segments] if isinstance(segments, Segments) else _pieces(segments, self.threads)
        return join([self._ask(piece, mode) for piece in pieces])

    def _ask(self, segments: Segments, mode: Mode) -> Answer:
        segments.refuse_extreme(self.mesh.bounds)
        return ask(self.surface, segments, mode, self.threads)

    def __enter__(self) -> SegmentIntersector:
        """Return the intersector itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the hierarchy."""
        self.close()

    def close(self) -> None:
        """Free the hierarchy, on the device too; the intersector cannot be asked any more."""
        if self._surface is not None:
            self._surface.close()
            self._surface = None

    def to_pyvista(self, level: int) -> pyvista.PolyData:
        """Return the boxes of a level of the hierarchy, for a look at them.

        Parameters
        ----------
        level : int
            0 for the boxes in the first node; each level has those below the one above.

        Returns
        -------
        pyvista.PolyData
            Six quadrangles to a box, in the mesh's coordinates.

        Raises
        ------
        ValueError
            If there is no such level; the message says how many there are.
        """
        levels = self.surface.levels()
        if not (_is_whole(level) and 0 <= level < len(levels)):
            message = (
                f"there is no level {level!r}: the hierarchy has levels 0 to {len(levels) - 1}"
            )
            if not levels:
                message = (
                    "there is no hierarchy: the surface has no triangle, or is searched by force"
                )
            raise ValueError(message)
        boxes: pyvista.PolyData = datasets.boxes_to_dataset(levels[level])
        return boxes


def _again(mesh: Mesh, options: IntersectorOptions) -> SegmentIntersector:
    return SegmentIntersector(mesh, **options)


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _pieces(pair: Pair, threads: int) -> Iterator[Segments]:
    """Prepare segments a chunk at a time; one chunk at least."""
    try:
        first, second = pair
    except (TypeError, ValueError):
        given = f"{len(pair)} arrays" if hasattr(pair, "__len__") else type(pair).__name__
        message = f"segments must be Segments or a pair (starts, ends), not {given}"
        raise TypeError(message) from None
    starts, ends = as_ends(first, second)
    for begin in range(0, max(len(starts), 1), CHUNK):
        part = slice(begin, begin + CHUNK)
        with Segments(starts[part], ends[part], threads=threads, first_row=begin) as segments:
            yield segments
