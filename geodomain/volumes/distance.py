"""Measure the distances of points from a mesh, and find the nearest points on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, host_room
from geodomain.compute import choose
from geodomain.compute.api import NearestIndex
from geodomain.compute.data import Floats
from geodomain.compute.native import thread_count
from geodomain.errors import MeshError, PointError
from geodomain.html import data_frame
from geodomain.inputs import MeshLike, PointsLike, as_mesh, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.query.contains import contains_fit
from geodomain.query.locator import contains_read, locate
from geodomain.settings import BackendName

if TYPE_CHECKING:
    import pandas

_UNSIGNED = "use distances without a sign"  # the alternative for an open mesh


class Nearest(NamedTuple):
    """The nearest points on a mesh.

    Attributes
    ----------
    point : (n, 3) float64
        The nearest point on the mesh; NaN if the query point is not finite.
    triangle : (n,) int32
        The triangle of the nearest point, the lowest index of several; -1 if the query point is not
        finite.
    distance : (n,) float64
        The distance in the mesh's unit; NaN if the query point is not finite.
    """

    point: NDArray[np.float64]
    triangle: NDArray[np.int32]
    distance: NDArray[np.float64]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each query point; its triangle is NA where there is none."""
        return data_frame(
            dict(zip("xyz", self.point.T, strict=True))
            | {
                "triangle": [None if place < 0 else place for place in self.triangle.tolist()],
                "distance": self.distance,
            },
            {"triangle": "Int64"},
        )


def nearest(
    mesh: MeshLike, points: PointsLike, *, backend: BackendName = "auto", threads: int | None = None
) -> Nearest:
    """Find the nearest point on a mesh for each query point.

    Parameters
    ----------
    mesh : mesh-like
        Open or closed, as for `as_mesh`. Triangles without area count as segments or points.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; results have the same bits everywhere.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.

    Returns
    -------
    Nearest
        ``point``, ``triangle`` and ``distance``. The error of the distance is at most 4 units in
        the last place of the largest coordinate difference between the point and the triangle's
        corners; at a vertex it is 0.0. Of triangles at the same float64 distance, the lowest index
        is returned.

    Raises
    ------
    MeshError
        If the mesh has no triangle.
    PointError
        For a point with a coordinate beyond 2^339.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> nearest = geodomain.nearest(mesh, [[2, 3, -4], [-3, 0, 13]])
    >>> nearest.point.tolist(), nearest.triangle.tolist(), nearest.distance.tolist()
    ([[2.0, 3.0, 0.0], [0.0, 0.0, 9.0]], [0, 1], [4.0, 5.0])
    """
    mesh = as_mesh(mesh)
    columns = as_columns(point_rows(points))
    rows = len(columns[0])
    result = Nearest(np.empty((rows, 3)), np.empty(rows, np.int32), np.empty(rows))
    index, count = _index(mesh, backend, threads)
    refused = index.nearest(
        columns, result.distance, count, triangle=result.triangle, place=result.point
    )
    _refuse_far(columns, refused)
    return result


def distances(
    mesh: MeshLike,
    points: PointsLike,
    *,
    signed: bool = False,
    backend: BackendName = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the distance of each point from a mesh.

    Parameters
    ----------
    mesh : mesh-like
        Open or closed, as for `as_mesh`; it must be closed if ``signed`` is true.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    signed : bool
        Whether distances inside the solid are negative; `contains` decides, by parity.
    backend, threads
        As in `nearest`.
    out : numpy.ndarray of float64, shape (n,), optional
        Array for the distances. It is returned.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        In the mesh's unit, with the error bound of `nearest`; NaN if a point is not finite.

    Raises
    ------
    MeshError
        If the mesh has no triangle, or is not closed and ``signed`` is true.
    PointError
        As in `nearest`; with ``signed`` also as in `contains`.
    ValueError
        If ``out`` has a wrong shape or type, or shares memory with the points.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.distances(mesh, [[1, 2, -3], [1, 2, 3]], signed=True)
    array([ 3., -1.])
    """
    mesh = as_mesh(mesh)
    columns = as_columns(point_rows(points))
    room = host_room((len(columns[0]),), np.float64, out, columns)
    if signed:
        fitness.require_fit(mesh, allow_open=False, instead=_UNSIGNED)
    index, count = _index(mesh, backend, threads)
    _refuse_far(columns, index.nearest(columns, room, count))
    if signed:
        inside = contains_fit(mesh, points, columns=columns, backend=backend, threads=threads)
        np.negative(room, out=room, where=inside & (room != 0.0))
    return room


class MeshDistance:
    """A mesh indexed for distances of points, chunk by chunk.

    Parameters
    ----------
    mesh : Mesh
        A mesh with at least one triangle; it must be closed if `signed`.
    signed : bool
        Whether distances inside are negative.
    backend, threads
        As in `nearest`.
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        signed: bool = False,
        backend: BackendName = "auto",
        threads: int | None = None,
    ) -> None:
        self.mesh, self._inside = mesh, None
        self._index, self._threads = _index(mesh, backend, threads)
        if signed:
            fitness.require_fit(mesh, allow_open=False, instead=_UNSIGNED)
            self._inside = locate(mesh, backend=backend, threads=threads, allow_open=False)

    def of(self, points: Floats) -> Floats:
        """Return the distance of each point, (n, 3), from the mesh; see `distances`."""
        columns, room = as_columns(points), np.empty(len(points))
        _refuse_far(columns, self._index.nearest(columns, room, self._threads))
        if self._inside is not None:
            inside = contains_read(self._inside, "parity", columns)
            np.negative(room, out=room, where=inside & (room != 0.0))
        return room


def _index(mesh: Mesh, backend: BackendName, threads: int | None) -> tuple[NearestIndex, int]:
    """Return the index of a mesh, which must have triangles, and the number of threads."""
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangle, so no distance from it is defined"
        raise MeshError(message)
    count = thread_count(threads)
    return choose(backend).nearest_index(mesh, threads=count), count


def _refuse_far(columns: tuple[Floats, Floats, Floats], row: int) -> None:
    """Raise PointError if a point is beyond the range of the arithmetic (row >= 0)."""
    if row < 0:
        return
    place = tuple(float(column[row]) for column in columns)
    message = (
        f"point {row} is {place}: a coordinate is beyond 2^339, the limit for distances; correct "
        "the row, or use NaN"
    )
    raise PointError(message)
