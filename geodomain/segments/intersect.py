"""The function `intersect`: where segments cross a surface."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.inputs.kinds import MeshLike
from geodomain.segments.hits import Hits
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import Answer, HitMode, Mode


@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["boolean"] = ...,
    backend: str = ...,
    threads: int | None = ...,
) -> NDArray[np.bool_]: ...
@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: Literal["count"],
    backend: str = ...,
    threads: int | None = ...,
) -> NDArray[np.int32]: ...
@overload
def intersect(
    mesh: MeshLike,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    mode: HitMode,
    backend: str = ...,
    threads: int | None = ...,
) -> Hits: ...
def intersect(
    mesh: MeshLike,
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
    mesh : mesh-like
        The surface, open or closed, as for `as_mesh`.
    starts, ends : array_like of shape (n, 3)
        The coordinates of each segment's ends, in the mesh's unit, taken as given.
    mode : {"boolean", "nearest", "count", "all"}
        What to return. They agree: a segment has a nearest crossing where its count is
        not 0, which is where it crosses at all.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; answers are the same everywhere, bit for bit.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]

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
