"""Find where line segments cross a surface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_rows_of_either, host_room, is_on_device
from geodomain.compute import choose, machine_used
from geodomain.compute import rows as segment_rows
from geodomain.compute.api import SegmentIndex
from geodomain.compute.data import Coordinates, Floats, Held
from geodomain.compute.native import thread_count
from geodomain.compute.rows import scatter
from geodomain.errors import PointError, counted
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh import pyvista as datasets
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import data_frame, html_table
from geodomain.settings import BackendName

if TYPE_CHECKING:
    import pandas
    import pyvista

SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """Crossings of segments with a surface; each row of the arrays is one crossing.

    Crossings are ordered by segment, then by ``t``, then by triangle.

    Attributes
    ----------
    segment : numpy.ndarray of int64, shape (k,)
        The segment of the crossing, as a row of the caller's starts and ends.
    triangle : numpy.ndarray of int32, shape (k,)
        The triangle of the mesh that the segment crosses.
    t : numpy.ndarray of float64, shape (k,)
        Position along the segment, 0 at its start and 1 at its end.
    u, v : numpy.ndarray of float64, shape (k,)
        Position on the triangle: (1 - u - v) a + u b + v c for its corners a, b, c.
    distance : numpy.ndarray of float64, shape (k,)
        Distance from the segment's start, in the unit of the coordinates.
    point : numpy.ndarray of float64, shape (k, 3)
        Position in space.
    segment_count : int
        Number of segments in the query.

    Notes
    -----
    Which triangles are crossed is exact. ``t``, ``u``, ``v`` and ``distance`` have a relative
    error of at most 2^-46. The error of a point along each axis is at most 2^-46 of the segment's
    extent along this axis, plus one unit in the last place. All values are the same on every
    machine.
    """

    segment: NDArray[np.int64]
    triangle: NDArray[np.int32]
    t: Floats
    u: Floats
    v: Floats
    distance: Floats
    point: Floats
    segment_count: int

    def __len__(self) -> int:
        """Return the number of crossings."""
        return len(self.segment)

    def __repr__(self) -> str:
        """Return a text with the number of crossings and the number of segments."""
        return f"Hits(crossings={len(self)}, segment_count={self.segment_count})"

    def _repr_html_(self) -> str:
        """Return the first crossings as a table for a notebook."""
        rows = [
            (str(segment), str(triangle), f"{t:.7g}", f"{distance:.7g}", *(f"{c:.10g}" for c in at))
            for segment, triangle, t, distance, at in zip(
                self.segment[:SHOWN], self.triangle, self.t, self.distance, self.point, strict=False
            )
        ]
        title = f"{counted(len(self), 'crossing')} of {counted(self.segment_count, 'segment')}"
        headings = ("segment", "triangle", "t", "distance", "x", "y", "z")
        notes = [f"the first {SHOWN} of them"] if len(self) > SHOWN else []
        return html_table(title, rows, headings=headings, notes=notes)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the crossings as rows; ``x``, ``y`` and ``z`` are coordinates of the crossing."""
        return data_frame(
            {
                "segment": self.segment,
                "triangle": self.triangle.astype(np.int64),
                **{name: getattr(self, name) for name in ("t", "u", "v", "distance")},
                **dict(zip("xyz", self.point.T, strict=True)),
            }
        )

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each segment's crossings begin, (n + 1,) int64.

        The crossings of segment i are the rows offsets[i]:offsets[i + 1].
        """
        counts = np.bincount(self.segment, minlength=self.segment_count)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def joined(parts: list[Hits]) -> Hits:
    """Join the hits of consecutive parts of a list of segments."""
    firsts = np.cumsum([0, *(part.segment_count for part in parts)])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("triangle", "t", "u", "v", "distance", "point")
    }
    segment = [part.segment + first for part, first in zip(parts, firsts[:-1], strict=True)]
    return Hits(segment=np.concatenate(segment), segment_count=int(firsts[-1]), **columns)


Mode = Literal["boolean", "nearest", "count", "all"]
HitMode = Literal["nearest", "all"]
# Names of three modes in R. Leung's program.
WORDS: dict[str, Mode] = {
    "boolean": "boolean",
    "barycentric": "nearest",
    "intercept_count": "count",
}
Answer = NDArray[np.bool_] | NDArray[np.int32] | Hits


def as_ends(starts: ArrayLike, ends: ArrayLike) -> tuple[Coordinates, Coordinates]:
    """Return starts and ends as arrays (n, 3) of the same type, float32 or float64.

    Arrays that already have such a shape and type are not copied.
    """
    pair = []
    for values, name in ((starts, "starts"), (ends, "ends")):
        if is_on_device(values):
            message = (
                f"{name} are on a GPU, but segments are prepared in memory: give a NumPy array, "
                f"such as cupy.asnumpy({name})"
            )
            raise TypeError(message)
        pair.append(as_rows_of_either(values, name))
    if len(pair[0]) != len(pair[1]):
        message = (
            f"there are {len(pair[0])} starts and {len(pair[1])} ends; each segment needs a start "
            "and an end"
        )
        raise ValueError(message)
    if pair[0].dtype != pair[1].dtype:
        pair = [array.astype(np.float64) for array in pair]
    return pair[0], pair[1]


def sort_rays(
    starts: ArrayLike, ends: ArrayLike, *, threads: int | None = None
) -> NDArray[np.int64]:
    """Return an order of segments in which successive segments are near each other in space.

    Segments are sorted by the Morton codes of their midpoints. Queries of sorted segments are
    faster on a GPU. The order depends on the segments alone, so it can be used for any number of
    surfaces.

    Parameters
    ----------
    starts, ends : array_like of shape (n, 3)
        Coordinates x, y, z.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        A permutation of the rows: ``starts[order]`` is sorted. ``restored[order] = result``
        puts a result back in the original order.

    Examples
    --------
    >>> import geodomain
    >>> starts = [[0, 0, 0], [9, 9, 9], [1, 0, 0], [8, 9, 9]]
    >>> geodomain.sort_rays(starts, starts).tolist()
    [0, 2, 3, 1]
    """
    first, second = (np.ascontiguousarray(array) for array in as_ends(starts, ends))
    return segment_rows.order(first, second, thread_count(threads))


class Segments:
    """Line segments, checked and copied once, for queries against several surfaces.

    Parameters
    ----------
    starts, ends : array_like of shape (n, 3)
        The coordinates of each segment's ends, in the unit of the surfaces. Distances are
        measured from the start, so the nearest hit is the one nearest to the start.
    sort : bool
        Store the segments in the order of `sort_rays`, which makes a GPU faster.
        Results are still in the caller's order.
    threads : int, optional
        Number of threads for the preparation. [default: all cores that the process may use]
    first_row : int
        If the segments are part of a longer list, the row number of the first segment in this
        list, for error messages.
    out : numpy.ndarray of float64, shape (n, 6), optional
        Memory for the copy of the segments. Using the same memory for each part of a long list
        saves time, but makes the `Segments` of the previous part invalid.

    Attributes
    ----------
    order : numpy.ndarray of int64, shape (n,), or None
        If the segments were sorted, the caller's row of each stored segment; otherwise None.
    missing : int
        Number of segments with a NaN coordinate. They cross nothing.

    Raises
    ------
    PointError
        For an end at infinity; the message gives the row.
    ValueError
        If there are not as many starts as ends.

    Notes
    -----
    Exact arithmetic needs coordinates that are 0 or have a magnitude from 2^-306 to 2^339. A
    segment out of this range is accepted if its box does not meet the surface's box. Otherwise
    the query raises PointError; the message names the row.

    A `Segments` object is a context manager. At the end of a `with`, the copy on the GPU is freed.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> with geodomain.Segments([[1, 1, 0], [1, 1, 0]], [[1, 1, 9], [1, 1, 4]]) as holes:
    ...     geodomain.SegmentIntersector(ground).intersect(holes)
    array([ True, False])
    """

    def __init__(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        *,
        sort: bool = False,
        threads: int | None = None,
        first_row: int = 0,
        out: Floats | None = None,
    ) -> None:
        first, second = (np.ascontiguousarray(array) for array in as_ends(starts, ends))
        count = thread_count(threads)
        self.order = segment_rows.order(first, second, count) if sort else None
        room = host_room((len(first), 6), np.float64, out, (first, second))
        packed = segment_rows.pack(first, second, self.order, count, room[:])
        if packed.infinite >= 0:
            row = packed.infinite
            message = (
                f"{_path(first_row + row, first[row], second[row])}; both ends must be finite: "
                "instead of infinity, use a point just outside the bounding box of the surface"
            )
            raise PointError(message)
        self.missing = packed.missing
        # Stored apart with their true ends; their packed rows are NaN, which crosses nothing.
        rows = np.sort(packed.extreme if self.order is None else self.order[packed.extreme])
        self._extreme = first_row + rows, *(ends[rows].astype(float) for ends in (first, second))
        self.packed = packed.ends
        self.packed.flags.writeable = False
        self.device: dict[str, Held] = {}

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.packed)

    def __repr__(self) -> str:
        """Return the number of segments as text."""
        return f"Segments({len(self)})"

    def __enter__(self) -> Segments:
        """Return the segments themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the copy of the segments on the GPU."""
        self.close()

    def close(self) -> None:
        """Free the copy on the GPU as soon as no thread uses it; a later query makes a new copy."""
        self.device.clear()

    def refuse_extreme(self, bounds: Floats) -> None:
        """Raise PointError for the first segment that is out of range and near the surface.

        Such a segment has a coordinate out of range, and a box that meets the surface's box,
        `bounds` (2, 3).
        """
        rows, starts, ends = self._extreme
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        meeting = np.flatnonzero(((low <= bounds[1]) & (bounds[0] <= high)).all(axis=1))
        if len(meeting):
            first = meeting[0]
            message = (
                f"{_path(rows[first], starts[first], ends[first])}; for exact results, a "
                "coordinate must be 0 or have a magnitude between 2^-306 and 2^339: write a "
                "smaller coordinate as 0, and if a coordinate is larger, shorten the segment so "
                "that it ends nearer to the surface"
            )
            raise PointError(message)


def _path(row: int, start: Floats, end: Floats) -> str:
    """Return a text that names the row and the ends of a segment."""
    places = (tuple(map(float, point)) for point in (start, end))
    return "segment {} goes from {} to {}".format(row, *places)


Strategy = Literal["bvh", "brute"]
Pair = tuple[ArrayLike, ArrayLike]
CHUNK = 4_194_304  # segments of plain arrays that are prepared at a time


class SegmentIntersector:
    """Index of a surface for queries about where segments cross it; any thread may use it.

    Parameters
    ----------
    mesh : mesh-like
        The surface, open or closed, as for `as_mesh`. A `Mesh` is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; results are the same everywhere, bit for bit. "auto" uses a GPU if there
        is enough work for the GPU to save time in spite of its start.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    strategy : {"bvh", "brute"}
        How to search; results are the same. "bvh" traverses a bounding-volume hierarchy. "brute"
        tests the box of every triangle; it exists for comparison.
    grid : int, optional
        Number of thread blocks on a GPU; Leung's paper (see Notes) uses 1 and 16. By default there
        is a thread for each segment. The CPU ignores this number.

    Attributes
    ----------
    mesh : Mesh
        The surface.
    backend : str
        The backend as the caller named it.
    threads : int
        Number of threads.

    Notes
    -----
    The hierarchy is a linear BVH: triangles are sorted by the Morton codes of their boxes'
    centres, joined bottom-up (C. Apetrei, "Fast and simple agglomerative LBVH
    construction", 2014), then collected into nodes of eight boxes. The strategies are those of
    R. Leung, "GPU implementation of a ray-surface intersection algorithm in CUDA", arXiv
    2209.02878.

    An intersector is a context manager. At the end of a `with`, the hierarchy is freed. An
    intersector can be pickled. The process that unpickles it builds the hierarchy again.

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
        backend: BackendName = "auto",
        threads: int | None = None,
        strategy: Strategy = "bvh",
        grid: int | None = None,
    ) -> None:
        if strategy not in get_args(Strategy):
            message = f"strategy is {strategy!r}; it can be 'bvh' or 'brute'"
            raise ValueError(message)
        if grid is not None and not (_is_whole(grid) and grid >= 1):
            message = f"grid must be a positive number of thread blocks or None, not {grid!r}"
            raise ValueError(message)
        self.mesh = as_mesh(mesh)
        self.backend = backend
        self.threads = thread_count(threads)
        self._rebuild = partial(
            SegmentIntersector, backend=backend, threads=threads, strategy=strategy, grid=grid
        )
        self._surface: SegmentIndex | None = choose(backend).segment_index(
            self.mesh, strategy=strategy, grid=grid, threads=self.threads
        )

    def __repr__(self) -> str:
        """Return the name of the mesh and the backend."""
        return f"SegmentIntersector({self.mesh!r}, backend={self.backend!r})"

    def __reduce__(self) -> tuple[partial[SegmentIntersector], tuple[Mesh]]:
        """Pickle the mesh and the options; unpickling builds the hierarchy again."""
        return self._rebuild, (self.mesh,)

    @property
    def surface(self) -> SegmentIndex:
        """The backend's index of the surface. Reading this after `close` raises ValueError."""
        if self._surface is None:
            message = "the intersector is closed: make another SegmentIntersector"
            raise ValueError(message)
        return self._surface

    @property
    def build_times(self) -> Mapping[str, float]:
        """Seconds for the steps "boxes", "codes", "sort" and "tree"; "brute" has only "boxes"."""
        return self.surface.build_times

    @property
    def machine(self) -> tuple[str, str]:
        """The backend that computed most segments so far ("cpu" or "cuda"), and the reason."""
        return machine_used(self.backend, [self.surface])

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
        """Return where segments cross the surface; segments can be a pair of arrays (starts, ends).

        Modes, results and errors are those of `geodomain.intersect`.
        """
        if mode not in get_args(Mode):
            message = f"mode is {mode!r}; it can be 'boolean', 'nearest', 'count' or 'all'"
            raise ValueError(message)
        pieces = [segments] if isinstance(segments, Segments) else _pieces(segments, self.threads)
        answers = []
        for piece in pieces:
            piece.refuse_extreme(self.mesh.bounds)
            answers.append(ANSWERS[mode](self.surface, piece, self.threads))
        return join(answers)

    def __enter__(self) -> SegmentIntersector:
        """Return the intersector itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the hierarchy."""
        self.close()

    def close(self) -> None:
        """Free the hierarchy, in memory and on the GPU; later queries raise ValueError."""
        if self._surface is not None:
            self._surface.close()
            self._surface = None

    def to_pyvista(self, level: int) -> pyvista.PolyData:
        """Return the boxes of a level of the hierarchy as a PyVista surface, for drawing.

        Parameters
        ----------
        level : int
            0 means the boxes in the root node. The boxes of level n + 1 are the children of those
            of level n.

        Returns
        -------
        pyvista.PolyData
            Six quadrilaterals for each box, in the mesh's coordinates.

        Raises
        ------
        ValueError
            If there is no such level; the message says how many levels there are.
        """
        levels = self.surface.levels()
        if not (_is_whole(level) and 0 <= level < len(levels)):
            message = (
                f"there is no level {level!r}: the hierarchy has levels 0 to {len(levels) - 1}"
            )
            if not levels:
                message = (
                    "there is no hierarchy: the surface has no triangle, or strategy is 'brute'"
                )
            raise ValueError(message)
        boxes: pyvista.PolyData = datasets.boxes_to_dataset(levels[level])
        return boxes


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _pieces(pair: Pair, threads: int) -> Iterator[Segments]:
    """Prepare segments in chunks; yield at least one chunk, which may be empty."""
    try:
        first, second = pair
    except (TypeError, ValueError):
        what = f"{len(pair)} arrays" if hasattr(pair, "__len__") else type(pair).__name__
        message = f"segments must be Segments or a pair (starts, ends), not {what}"
        raise TypeError(message) from None
    starts, ends = as_ends(first, second)
    for begin in range(0, max(len(starts), 1), CHUNK):
        part = slice(begin, begin + CHUNK)
        with Segments(starts[part], ends[part], threads=threads, first_row=begin) as segments:
            yield segments


@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["boolean"] = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
) -> NDArray[np.bool_]: ...
@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["count"],
    backend: BackendName = ...,
    threads: int | None = ...,
) -> NDArray[np.int32]: ...
@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: HitMode,
    backend: BackendName = ...,
    threads: int | None = ...,
) -> Hits: ...
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Mode = "boolean",
    backend: BackendName = "auto",
    threads: int | None = None,
) -> Answer:
    """Return where line segments cross a surface, exactly.

    Each segment is treated as if it were moved by an infinitely small distance: up, and far less
    east and north, like the points of `contains`. The moved segment meets no edge and no vertex,
    and does not end on the surface. So a segment through an edge between two triangles crosses
    exactly one of them. A segment that touches a ridge crosses none of its triangles, or both. A
    drillhole collared on the ground crosses the ground if it goes down, but not if it goes up. A
    segment of zero length crosses nothing. A segment in the plane of a triangle does not cross
    that triangle. For a closed mesh, the number of crossings is odd exactly if, by `contains`, one
    end of the segment is inside and the other end is outside.

    Parameters
    ----------
    mesh : mesh-like
        The surface, open or closed, as for `as_mesh`.
    starts, ends : array_like of shape (n, 3)
        The coordinates of each segment's ends, in the mesh's unit, used unchanged.
    mode : {"boolean", "nearest", "count", "all"}
        What to return. The modes agree: a segment crosses the surface by "boolean" exactly if its
        "count" is not 0 and it has a "nearest" crossing.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; results are the same everywhere, bit for bit.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        For "boolean": whether the segment crosses the surface.
    numpy.ndarray of int32, shape (n,)
        For "count": how many triangles the segment crosses.
    Hits
        For "nearest": the crossing with the smallest t, for each segment that crosses the surface;
        of several such crossings, the one with the lowest triangle number. For "all": every
        crossing.

    Raises
    ------
    PointError
        For a coordinate that is infinite, or so large or small (see `Segments`) that the result
        would not be exact; the message gives the row. A segment with a NaN crosses nothing.
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


# Results of queries, put in the caller's order.

Number = TypeVar("Number", bound=np.generic)


def join(parts: list[Answer]) -> Answer:
    """Join the results for consecutive parts of a list of segments."""
    if len(parts) == 1:
        return parts[0]
    hits = [part for part in parts if isinstance(part, Hits)]
    return joined(hits) if hits else np.concatenate([np.asarray(part) for part in parts])


def _in_callers_order(values: NDArray[Number], segments: Segments, threads: int) -> NDArray[Number]:
    if segments.order is None:
        return values
    return scatter(values, segments.order, threads)


def _boolean(surface: SegmentIndex, segments: Segments, threads: int) -> NDArray[np.bool_]:
    return _in_callers_order(surface.boolean(segments, threads), segments, threads)


def _count(surface: SegmentIndex, segments: Segments, threads: int) -> NDArray[np.int32]:
    return _in_callers_order(surface.count(segments, threads), segments, threads)


def _nearest(surface: SegmentIndex, segments: Segments, threads: int) -> Hits:
    triangle = surface.nearest(segments, threads)
    rows = np.flatnonzero(triangle >= 0)
    return _hits(surface, segments, rows, triangle[rows], threads)


def _all(surface: SegmentIndex, segments: Segments, threads: int) -> Hits:
    counts = surface.count(segments, threads)
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    triangle = surface.all(segments, offsets, threads)
    return _hits(surface, segments, np.repeat(np.arange(len(counts)), counts), triangle, threads)


def _hits(
    surface: SegmentIndex,
    segments: Segments,
    rows: NDArray[np.int64],
    triangle: NDArray[np.int32],
    threads: int,
) -> Hits:
    """Return crossings in the order of the caller's segments, with t, u, v, distance and point.

    For each crossing, `rows` holds the row in `segments` of its segment; the rows are in increasing
    order.
    """
    if segments.order is not None:
        places = _places(rows, segments.order, threads)
        rows, triangle = scatter(rows, places, threads), scatter(triangle, places, threads)
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


def _places(rows: NDArray[np.int64], order: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return the place of each crossing in the order of the caller's segments.

    `rows` holds the segments of the crossings in the order in which segments are stored.
    """
    counts = np.bincount(rows, minlength=len(order))
    callers = scatter(counts, order, threads)
    firsts, stored = (np.cumsum(callers) - callers)[order], np.cumsum(counts) - counts
    places: NDArray[np.int64] = (firsts - stored)[rows] + np.arange(len(rows))
    return places


ANSWERS: dict[Mode, Callable[[SegmentIndex, Segments, int], Answer]] = {
    "boolean": _boolean,
    "nearest": _nearest,
    "count": _count,
    "all": _all,
}
