"""Segments against one surface: the hierarchy that is built once, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain import topology
from geodomain.backends import choose_segments
from geodomain.backends.native import thread_count
from geodomain.hits import Hits, join
from geodomain.mesh import Mesh
from geodomain.segments import Segments, as_ends

if TYPE_CHECKING:
    import pyvista

Mode = Literal["boolean", "nearest", "count", "all"]
HitMode = Literal["nearest", "all"]
Strategy = Literal["bvh", "brute"]
CHUNK = 4_194_304  # segments prepared at a time, of arrays that are not Segments
Answer = NDArray[np.bool_] | NDArray[np.int32] | Hits


class SegmentIntersector:
    """Answer where segments cross a surface; built once, asked often, from any thread.

    Parameters
    ----------
    mesh : Mesh
        The surface, open or closed. It is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; answers are the same everywhere, bit for bit.
    threads : int, optional
        Threads to use; all the cores allowed to the process by default.
    strategy : {"bvh", "brute"}
        How to look for crossings; answers are the same. "bvh" goes down a hierarchy of
        boxes; "brute" screens every triangle's box, and is there to compare with.
    grid : int, optional
        How many blocks of threads a GPU works with, 1 and 16 in the paper; as many as the
        segments need by default. Of no effect on the CPU.

    Attributes
    ----------
    build_times : mapping of str to float
        Seconds spent on "boxes", "codes", "sort" and "tree"; empty for "brute".

    Notes
    -----
    The hierarchy is linear: triangles in the order of the Morton codes of their boxes'
    middles, parted bottom-up (C. Apetrei, "Fast and simple agglomerative LBVH
    construction", 2014), then gathered into nodes of eight boxes. The strategies are those of
    R. Leung, "GPU implementation of a ray-surface intersection algorithm in CUDA", arXiv
    2209.02878.

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
        mesh: Mesh,
        *,
        backend: str = "auto",
        threads: int | None = None,
        strategy: Strategy = "bvh",
        grid: int | None = None,
    ) -> None:
        topology.require_mesh(mesh, "surface")
        if strategy not in get_args(Strategy):
            message = f"strategy is {strategy!r}; it can be 'bvh' or 'brute'"
            raise ValueError(message)
        if grid is not None and (isinstance(grid, bool) or not grid >= 1):
            message = f"grid must be a positive number of blocks or None, not {grid!r}"
            raise ValueError(message)
        self.mesh = mesh
        self.backend = choose_segments(backend)
        self._threads = thread_count(threads)
        self.surface = self.backend.Surface(
            mesh.vertices,
            mesh.triangles,
            mesh.bounds,
            strategy=strategy,
            grid=grid,
            threads=self._threads,
        )

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building the hierarchy took."""
        times: Mapping[str, float] = self.surface.build_times
        return times

    @overload
    def intersect(
        self, segments: Segments | tuple[ArrayLike, ArrayLike], *, mode: Literal["boolean"] = ...
    ) -> NDArray[np.bool_]: ...
    @overload
    def intersect(
        self, segments: Segments | tuple[ArrayLike, ArrayLike], *, mode: Literal["count"]
    ) -> NDArray[np.int32]: ...
    @overload
    def intersect(
        self, segments: Segments | tuple[ArrayLike, ArrayLike], *, mode: HitMode
    ) -> Hits: ...
    def intersect(
        self, segments: Segments | tuple[ArrayLike, ArrayLike], *, mode: Mode = "boolean"
    ) -> Answer:
        """Return where segments, prepared or as (starts, ends), cross the surface.

        Modes, rules and errors are those of `geodomain.intersect`.
        """
        if mode not in get_args(Mode):
            message = f"mode is {mode!r}; it can be 'boolean', 'nearest', 'count' or 'all'"
            raise ValueError(message)
        if isinstance(segments, Segments):
            return self._ask(segments, mode)
        parts = [self._ask(part, mode) for part in _chunks(segments, self._threads)]
        return _join(parts)

    def _ask(self, segments: Segments, mode: Mode) -> Answer:
        segments.refuse_extreme(self.mesh.bounds)
        return _ASK[mode](self.surface, segments, self._threads)

    def __enter__(self) -> SegmentIntersector:
        """Return the intersector itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the hierarchy."""
        self.close()

    def close(self) -> None:
        """Free the hierarchy, on the device too; the intersector cannot be asked any more."""
        self.surface.close()

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
        from geodomain.meshfiles import vtk

        levels = self.surface.levels()
        if not 0 <= level < len(levels):
            message = f"there is no level {level}: the hierarchy has {len(levels)}, from 0"
            raise ValueError(message)
        boxes: pyvista.PolyData = vtk.boxes_to_dataset(levels[level])
        return boxes


@overload
def intersect(
    mesh: Mesh,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["boolean"] = ...,
    backend: str = ...,
    threads: int | None = ...,
) -> NDArray[np.bool_]: ...
@overload
def intersect(
    mesh: Mesh,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["count"],
    backend: str = ...,
    threads: int | None = ...,
) -> NDArray[np.int32]: ...
@overload
def intersect(
    mesh: Mesh,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: HitMode,
    backend: str = ...,
    threads: int | None = ...,
) -> Hits: ...
def intersect(
    mesh: Mesh,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Mode = "boolean",
    backend: str = "auto",
    threads: int | None = None,
) -> Answer:
    """Return where line segments cross a surface, exactly.

    Each segment stands for itself displaced by an infinitesimal, up first, then east, then
    north, as the points of `contains` do. So it meets no edge and no vertex, and does not
    end on the surface: through an edge that two triangles share it crosses one of them;
    along a ridge that it touches it crosses none or two. A drillhole that is collared on the
    ground crosses it going down and not going up. A segment in a triangle's plane or
    of zero length crosses nothing. For a closed mesh the count is odd where `contains`
    has one end inside and the other not.

    Parameters
    ----------
    mesh : Mesh
        The surface, open or closed.
    starts, ends : array_like of shape (n, 3)
        The coordinates of each segment's ends, in the mesh's unit, taken as given.
    mode : {"boolean", "nearest", "count", "all"}
        What to return. They agree: a segment has a nearest crossing where its count is
        not 0, which is where it crosses at all.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; answers are the same everywhere, bit for bit.
    threads : int, optional
        Threads to use; all the cores allowed to the process by default.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        For "boolean": whether the segment crosses the surface.
    numpy.ndarray of int32, shape (n,)
        For "count": how many triangles it crosses.
    Hits
        For "nearest": the first crossing, by t and then by triangle, of each segment that
        has one. For "all": every crossing.

    Raises
    ------
    PointError
        For an end at infinity, or one so large or small (see `Segments`) that the
        answer would not be exact, with the row. A segment with a NaN crosses nothing.
    ValueError
        If there are not as many starts as ends, and for an unknown mode.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> starts, ends = [[1, 1, 9], [1, 1, 5], [1, 1, 5]], [[1, 1, 5], [1, 1, 0], [1, 1, 9]]
    >>> geodomain.intersect(ground, starts, ends)
    array([False,  True, False])
    >>> geodomain.intersect(ground, starts, ends, mode="all").distance
    array([0.])
    """
    with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
        return intersector.intersect((starts, ends), mode=mode)


def _chunks(pair: tuple[ArrayLike, ArrayLike], threads: int) -> Iterator[Segments]:
    """Prepare the segments a chunk at a time; one chunk at least."""
    starts, ends = as_ends(*pair)
    for begin in range(0, max(len(starts), 1), CHUNK):
        part = slice(begin, begin + CHUNK)
        with Segments(starts[part], ends[part], threads=threads) as segments:
            yield segments


def _join(parts: list[Answer]) -> Answer:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Hits):
        return join(parts)  # type: ignore[arg-type]
    return np.concatenate(parts)  # type: ignore[arg-type]


def _in_callers_order(values: NDArray[Any], segments: Segments) -> NDArray[Any]:
    if segments.order is None:
        return values
    restored = np.empty_like(values)
    restored[segments.order] = values
    return restored


def _boolean(surface: Any, segments: Segments, threads: int) -> NDArray[np.bool_]:
    return _in_callers_order(surface.boolean(segments, threads), segments)


def _count(surface: Any, segments: Segments, threads: int) -> NDArray[np.int32]:
    return _in_callers_order(surface.count(segments, threads), segments)


def _nearest(surface: Any, segments: Segments, threads: int) -> Hits:
    triangle = surface.nearest(segments, threads)
    rows = np.flatnonzero(triangle >= 0)
    return _hits(surface, segments, rows, triangle[rows], threads)


def _all(surface: Any, segments: Segments, threads: int) -> Hits:
    counts = surface.count(segments, threads)
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    triangle = surface.all(segments, offsets, threads)
    return _hits(surface, segments, np.repeat(np.arange(len(counts)), counts), triangle, threads)


def _hits(
    surface: Any,
    segments: Segments,
    rows: NDArray[np.int64],
    triangle: NDArray[np.int32],
    threads: int,
) -> Hits:
    """Describe the hits of kept rows, in the caller's order."""
    if segments.order is not None:
        caller = segments.order[rows]
        order = np.argsort(caller, kind="stable")
        rows, triangle = rows[order], triangle[order]
    values = surface.describe(segments, rows, triangle, threads)
    return Hits(
        segment=rows if segments.order is None else segments.order[rows],
        triangle=triangle,
        t=values[:, 0],
        u=values[:, 1],
        v=values[:, 2],
        distance=values[:, 3],
        point=values[:, 4:],
        segment_count=len(segments),
    )


_ASK: dict[str, Callable[..., Answer]] = {
    "boolean": _boolean,
    "nearest": _nearest,
    "count": _count,
    "all": _all,
}
