"""Find which points are above an open surface and which are below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_rows
from geodomain.compute.data import Floats
from geodomain.errors import MeshError
from geodomain.inputs import MeshesLike, PointsLike, as_meshes, point_rows
from geodomain.mesh.edges import rim
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator
from geodomain.settings import BackendName

Extend = Literal["unassigned", "nearest"]
Edges: TypeAlias = "slice | NDArray[np.intp]"
ABOVE, OFF, BELOW = 1, 0, -1

# Most distances from points to rim edges in memory at a time.
_MOST_DISTANCES = 1 << 20


def sides(
    surface: MeshesLike,
    points: PointsLike,
    *,
    extend: Extend = "unassigned",
    backend: BackendName = "auto",
    threads: int | None = None,
) -> NDArray[np.int8]:
    """Return which points are above an open surface and which below, exactly.

    A point is below the surface if the vertical ray up from it crosses the surface an odd number
    of times. As in `contains`, each point is treated as if it were moved up by an infinitely small
    distance, so a point on the surface counts as above.

    Parameters
    ----------
    surface : mesh-like, or several of them
        Topography, a contact or a fault, as for `as_mesh`. If several meshes are given, they are
        tiles of a single surface.
    points : array_like of shape (n, 3), or points-like
        As in `contains`; z points up.
    extend : {"unassigned", "nearest"}
        What to do outside the footprint, where the vertical line through the point misses the
        surface. "nearest" compares the point's height with that of the point of the surface's rim
        that is nearest in plan: a point at that height or higher is above. Distance and height of
        the rim point are rounded to float64; all else is exact.
    backend, threads
        As in `contains`.

    Returns
    -------
    numpy.ndarray of int8, shape (n,)
        1 above, -1 below, 0 for a point that is outside the footprint or not finite. Where a
        surface folds over itself, a vertical line crosses it more than once: see
        `PointLocator.count_sides`.

    Raises
    ------
    MeshError
        For "nearest" with a closed mesh, which has no rim.
    PointError
        If a point cannot be decided because a coordinate that is not 0 is below 2^-306 in
        magnitude, which is rare.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 5], [9, 0, 5], [9, 9, 8], [0, 9, 8]]
    >>> hill = geodomain.Mesh(corners, [[0, 1, 2], [0, 2, 3]])
    >>> points = [[1, 3, 6], [1, 3, 5.9], [1, 20, 7], [1, 20, 9]]
    >>> geodomain.sides(hill, points)
    array([ 1, -1,  0,  0], dtype=int8)
    >>> geodomain.sides(hill, points, extend="nearest")
    array([ 1, -1, -1,  1], dtype=int8)
    """
    if extend not in ("unassigned", "nearest"):
        message = f"extend is {extend!r}; it can be 'unassigned' or 'nearest'"
        raise ValueError(message)
    tiles = as_meshes(surface)
    locators = [
        PointLocator(mesh, backend=backend, threads=threads, allow_open=True) for mesh in tiles
    ]
    array = as_rows(point_rows(points), "points")
    counts = np.zeros((len(array), 2), np.int32)
    for locator in locators:
        counts += locator.count_sides(array)
    side = sides_of(counts)
    if extend == "nearest":
        off = np.flatnonzero((side == OFF) & np.isfinite(array).all(axis=1))
        side[off] = Extension(tiles).sides(array[off])
    return side


def sides_of(counts: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return 1 for points above the surface, -1 for points below, and 0 outside the footprint.

    `counts` (n, 2) holds the numbers of crossings above and below each point.
    """
    above, below = counts[:, 0], counts[:, 1]
    side = np.where(above & 1, BELOW, ABOVE).astype(np.int8)
    side[(above | below) == 0] = OFF
    return side


class Extension:
    """A surface that is extended beyond its footprint at the height of its rim.

    The rim is the set of the surface's open edges. Outside the footprint, the height is that of the
    rim point nearest in plan.

    Parameters
    ----------
    tiles : sequence of Mesh
        The tiles of the surface.

    Raises
    ------
    MeshError
        If the surface has no rim.
    """

    def __init__(self, tiles: Sequence[Mesh]) -> None:
        edges = np.concatenate([rim(mesh) for mesh in tiles])
        if not len(edges):
            message = (
                f"{tiles[0].name} is closed, so it has no rim to extend from: use "
                "extend='unassigned'"
            )
            raise MeshError(message)
        self._start, end = edges[:, 0], edges[:, 1]
        self._end, self._along = end, end - self._start
        plan = self._along[:, :2]
        square = plan[:, 0] * plan[:, 0] + plan[:, 1] * plan[:, 1]
        self._square = np.where(square > 0, square, 1.0)

    def sides(self, points: Floats) -> NDArray[np.int8]:
        """Return 1 for points above the extended surface, and -1 for points below.

        All points (n, 3) must be finite and outside the footprint of the surface. A point exactly
        at the height of the extended surface counts as above.
        """
        places, which = np.unique(points[:, :2], axis=0, return_inverse=True)
        height = self._heights(places)[which.reshape(-1)]
        return np.where(points[:, 2] >= height, ABOVE, BELOW).astype(np.int8)

    def heights_near(self, places: Floats, reach: Floats) -> tuple[Floats, Floats]:
        """Return a tuple: lower and upper bounds on the heights near plan positions (n, 2).

        "Near" means within a distance, `reach`, of each position. Bounds may be wider than needed.
        """
        ends = np.stack([self._start[:, 2], self._end[:, 2]])
        low, high = np.empty((2, len(places)))
        for rows in _steps(len(places), len(self._square)):
            near = self._may_be_nearest(places[rows], reach[rows])
            low[rows] = np.where(near, ends.min(axis=0), np.inf).min(axis=1)
            high[rows] = np.where(near, ends.max(axis=0), -np.inf).max(axis=1)
        return low, high

    def heights_in(self, middles: Floats, reach: Floats, places: Floats) -> Floats:
        """Return the heights at plan positions (n, k, 2), as an array (n, k).

        Position [i, j] is within the distance reach[i] of middles[i].
        """
        heights = np.empty(places.shape[:2])
        for rows in _steps(len(middles), len(self._square)):
            near = self._may_be_nearest(middles[rows], reach[rows])
            for row, edges in enumerate(near, rows.start):
                heights[row] = self._heights(places[row], np.flatnonzero(edges))
        return heights

    def _may_be_nearest(self, places: Floats, reach: Floats) -> NDArray[np.bool_]:
        """Return a mask (n, m): which rim edges may be nearest to a point around each position.

        `places` are the plan positions (n, 2). The points are within a distance, `reach`, of them.
        """
        distance, _ = self._distances(places, slice(None))
        far = np.sqrt(distance)
        most = (far.min(axis=1) + 2 * reach) * (1 + 1e-9)
        return np.asarray(far <= most[:, None])

    def _heights(self, places: Floats, edges: Edges = slice(None)) -> Floats:
        """Return the height of the rim point that is nearest to each plan position (n, 2).

        If several points of the rim are equally near, the height of the highest point is returned.
        """
        best = np.empty(len(places))
        for rows in _steps(len(places), len(self._square[edges])):
            distance, height = self._distances(places[rows], edges)
            nearest = distance.min(axis=1, keepdims=True)
            best[rows] = np.where(distance == nearest, height, -np.inf).max(axis=1)
        return best

    def _distances(self, places: Floats, edges: Edges) -> tuple[Floats, Floats]:
        """Return two arrays (n, m), with a value for each position and each edge.

        The first array has the squared distance in plan. The second array has the height of the
        edge at the point nearest to the position.
        """
        start, end, along = self._start[edges], self._end[edges], self._along[edges]
        x, y = (places[:, None, axis] - start[:, axis] for axis in range(2))
        part = np.clip((x * along[:, 0] + y * along[:, 1]) / self._square[edges], 0.0, 1.0)
        off_x, off_y = x - part * along[:, 0], y - part * along[:, 1]
        # At the end of an edge use the end itself: start + (end - start) may round.
        at_end = part == 1
        off_x = np.where(at_end, places[:, None, 0] - end[:, 0], off_x)
        off_y = np.where(at_end, places[:, None, 1] - end[:, 1], off_y)
        distance = off_x * off_x + off_y * off_y
        height = np.where(at_end, end[:, 2], start[:, 2] + part * along[:, 2])
        return distance, height


def _steps(count: int, edges: int) -> Iterator[slice]:
    """Yield ranges of positions, each small enough to be compared with all edges at a time."""
    step = max(1, _MOST_DISTANCES // edges)
    for begin in range(0, count, step):
        yield slice(begin, begin + step)
