"""Functions that tell which points lie inside a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_columns, host_room, is_on_device, refuse_row
from geodomain.compute import choose, layout
from geodomain.compute.data import Columns
from geodomain.compute.native import thread_count
from geodomain.inputs import MeshLike, PointsLike, as_mesh, lattice_of, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.fitness import require_fit, warn_once
from geodomain.mesh.mesh import Mesh
from geodomain.query import lattice
from geodomain.query.locator import (
    PointLocator,
    Rule,
    Winding,
    check_rule,
    contains_by,
    contains_read,
    locate,
    wind_about,
)
from geodomain.query.segments import SegmentIntersector


def contains(
    mesh: MeshLike,
    points: PointsLike,
    *,
    rule: Rule = "parity",
    direction: ArrayLike | None = None,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.bool_]:
    """Return which points lie inside a closed mesh, exactly.

    Each point stands for itself displaced by an infinitesimal, up first, then
    east, then north: on a roof it is outside, on a floor inside, on a vertical
    wall it belongs to the solid to the east (to the north where the wall runs
    east). Solids that share a wall therefore share no point and leave out none.

    Parameters
    ----------
    mesh : mesh-like
        The solid: a `Mesh`, a ``pyvista.PolyData``, the path of a file .. as for `as_mesh`.
    points : array_like of shape (n, 3), or points-like
        Coordinates x, y, z in the mesh's unit, taken as given; or float64 on a GPU, by
        ``__cuda_array_interface__`` or DLPack (CuPy, PyTorch, Numba), used where they are.
        Points-like are also a ``pyvista.PolyData``, by its points; a grid of PyVista, by the
        centres of its cells in their order; and a table of pandas, polars or Arrow with columns
        of centroids, which are found by the names that mining packages use.
    rule : {"parity", "winding"}
        Inside is an odd number of crossings above the point, or a winding number
        that is not zero (shells that overlap count once; orientation matters). Of an
        open mesh, with ``allow_open``, the winding number is a fraction, inside is 1/2
        or more, and the answer is rounded: see `generalised_winding`.
    direction : array_like of shape (3,), optional
        Count along rays in this direction instead of vertical ones, by segments through a
        hierarchy of boxes: slower, and the same for a closed mesh. An independent check.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; labels are the same everywhere.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    allow_open : bool
        Take a mesh that is not closed.
    out : array of bool, shape (n,), optional
        Where to write the answers, in memory or on the GPU, contiguous. It is returned.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        True inside. A point with a coordinate that is not finite is never inside. For points on
        a GPU, a `geodomain.DeviceArray` there, which CuPy and PyTorch use without a copy.

    Raises
    ------
    ValueError
        If ``out`` does not fit or shares memory with the points, or something is on a GPU and
        ``backend`` is "cpu".
    DeviceError
        If the GPU is asked for and cannot be used; the message says why.
    TypeError
        For a mesh or points of another kind; the message says what is taken.
    TableError
        For a table without known columns of centroids.
    MeshError
        If the mesh is not closed, or its edges do not balance for "winding".
    PointError
        If non-zero coordinates below 2^-306 leave a point undecided, which is rare.
    ValueError
        For a direction without length, or with the rule "winding".

    Warns
    -----
    GeodomainWarning
        Once for a closed mesh with a duplicate shell (nothing is inside it), with shells that
        overlap, touch or lie inside each other, or with triangles that face opposite ways. A
        quick test passes a single shell without a handle; it also passes, wrongly, two shells
        that touch in two vertices and no edge. Only other meshes are examined; `geodomain.check`
        examines every mesh.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.contains(mesh, [[1, 1, 1], [8, 8, 8], [0, 0, 0], [3, 3, 3]])
    array([ True, False,  True, False])
    """
    check_rule(rule)
    mesh = as_mesh(mesh)
    if direction is not None:
        return _along(mesh, points, direction, rule, backend, threads, allow_open, out)
    fitness.require_fit(mesh, allow_open=allow_open, rule=rule)
    if rule == "parity" and not (is_on_device(points) or is_on_device(out)):
        return contains_fit(mesh, points, backend=backend, threads=threads, out=out)
    locator = locate(mesh, backend=backend, threads=threads, allow_open=allow_open)
    return contains_by(locator, rule, points, out)


def contains_lattice(
    mesh: MeshLike,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    packed: bool = False,
    out: object = None,
) -> NDArray[np.bool_] | NDArray[np.uint8]:
    """Return which blocks of a lattice lie inside a closed mesh, exactly.

    Parameters
    ----------
    mesh : mesh-like
        The solid.
    x, y, z : array_like of shape (nx,), (ny,), (nz,)
        The centroids' coordinates along each axis, in any order, duplicates
        allowed, in the mesh's unit; the values themselves are used, no spacing.
    rule, backend, threads, allow_open
        As in `contains`.
    packed : bool
        Return bits instead of bools.
    out : array, optional
        Where to write the answers, in memory or on the GPU, contiguous, of the type and shape
        below. It is returned. On the GPU (`geodomain.DeviceArray`, CuPy, PyTorch) the axes have
        to ascend strictly, and the rule is "parity".

    Returns
    -------
    numpy.ndarray of bool, shape (nx, ny, nz)
        In the caller's order, z fastest; or, packed, of uint8 and shape
        (nx, ny, ceil(nz / 8)), the lowest z in the lowest bit.

    Raises
    ------
    ValueError
        If ``out`` does not fit, or is on a GPU that the axes, the rule or ``backend`` are not for.
    MeshError, PointError, DeviceError
        As in `contains`.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.contains_lattice(mesh, [1, 5], [1], [1, 2, 3, 4]).astype(int).tolist()
    [[[1, 1, 1, 1]], [[1, 1, 0, 0]]]
    """
    check_rule(rule)
    mesh = as_mesh(mesh)
    axes = lattice.Axes(x, y, z)
    if rule == "winding":
        locator = PointLocator(mesh, backend=backend, threads=threads, allow_open=allow_open)
        return wind_about(locator, axes, packed=packed, out=out)
    fitness.require_fit(mesh, allow_open=allow_open)
    return axes.answer(mesh, out, choose(backend), thread_count(threads), packed=packed)


def contains_fit(
    mesh: Mesh,
    points: PointsLike,
    *,
    columns: Columns | None = None,
    backend: str,
    threads: int | None,
    out: object = None,
) -> NDArray[np.bool_]:
    """Return which points in memory are inside a mesh that was checked, by parity.

    ``columns`` are the points where they are read already.
    """
    chosen, count, cells = choose(backend), thread_count(threads), lattice_of(points)
    if cells is not None:
        labels = lattice.label_cells(mesh, lattice.Axes(*cells.axes), chosen, count, out)
        if labels is not None:
            return labels
    columns = as_columns(point_rows(points)) if columns is None else columns
    labels = lattice.label_ordered(mesh, columns, chosen, count, out) if cells is None else None
    if labels is not None:
        return labels
    locator = locate(mesh, backend=backend, threads=threads, allow_open=True)
    return contains_read(locator, "parity", columns, out)


def _along(
    mesh: Mesh,
    points: PointsLike,
    direction: ArrayLike,
    rule: Rule,
    backend: str,
    threads: int | None,
    allow_open: bool,
    out: object,
) -> NDArray[np.bool_]:
    if rule != "parity":
        message = "a direction goes with the rule 'parity' only"
        raise ValueError(message)
    if is_on_device(points) or is_on_device(out):
        message = "a direction goes with points and out in ordinary memory, not on a GPU"
        raise ValueError(message)
    fitness.require_fit(mesh, allow_open=allow_open)
    return contains_along(mesh, point_rows(points), direction, backend, threads, out)


# --- Functions that count a mesh's crossings above points, and its turns about them.


def count_crossings(
    mesh: MeshLike,
    points: PointsLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return how often the vertical ray up from each point crosses the mesh.

    Parameters and errors are those of `contains`.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        Crossings above the displaced point; odd is inside. 0 where not finite. ``out``, where
        it is given, is of that type.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.count_crossings(mesh, [[1, 1, -1], [1, 1, 1], [1, 1, 8]])
    array([2, 1, 0], dtype=int32)
    """
    solid = as_mesh(mesh)
    require_fit(solid, allow_open=allow_open)
    locator = locate(solid, backend=backend, threads=threads, allow_open=allow_open)
    return locator.count_crossings(points, out=out)


def winding_numbers(
    mesh: MeshLike,
    points: PointsLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return the winding number of the mesh about each point, +1 inside an outward solid.

    Parameters and errors are those of `contains`; a mesh whose directed edges do
    not cancel has no winding number and is refused, whatever ``allow_open`` says.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        ``out``, where it is given, is of that type.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.winding_numbers(mesh, [[1, 1, 1], [8, 8, 8]])
    array([1, 0], dtype=int32)
    """
    locator = PointLocator(mesh, backend=backend, threads=threads, allow_open=allow_open)
    return locator.winding_numbers(points, out=out)


def generalised_winding(
    mesh: MeshLike, points: PointsLike, *, backend: str = "auto", threads: int | None = None
) -> Winding:
    """Return the generalised winding number of an open mesh about each point.

    The solid angle of the mesh over 4 pi: about 1 inside a solid with a small hole,
    1/2 in the middle of a large one, 0 far away. Computed from the crossings of one
    vertical ray, exactly, and the edges where the mesh ends, rounded; the time is that
    of points times such edges. The same bits on every machine.

    Parameters
    ----------
    mesh : mesh-like
        Triangles that turn alike. Of a closed mesh the numbers are those of
        `winding_numbers`.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    backend, threads
        As in `contains`.

    Returns
    -------
    Winding
        ``number`` and ``bound`` on its error, (n,) float64; ``inside``, where the number
        is 1/2 or more in magnitude, and ``uncertain``, where rounding may have decided
        that, (n,) bool. 0 where a point is not finite; the bound is infinite on the rim.

    Raises
    ------
    PointError
        For a point with a coordinate that is not zero and below 2^-306.

    Notes
    -----
    After A. Jacobson, L. Kavan, O. Sorkine-Hornung, "Robust inside-outside segmentation
    using generalized winding numbers" (2013); the derivation is in `kernels/grid/winding.h`.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> funnel = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2]])
    >>> winding = geodomain.generalised_winding(funnel, [[1, 1, 1], [2.9, 2.9, 2.9], [9, 9, 9]])
    >>> winding.number.round(3), winding.inside
    (array([0.804, 0.519, 0.044]), array([ True,  True, False]))
    """
    locator = _of_any(mesh, backend, threads)
    return locator.generalised_winding(points)


def on_surface(
    mesh: MeshLike,
    points: PointsLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.bool_]:
    """Return which points lie exactly on a triangle, vertical walls included.

    Parameters
    ----------
    mesh : mesh-like
        Any mesh, open or closed.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    backend, threads, out
        As in `contains`.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        Decided by exact arithmetic, without a tolerance. False where not finite.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.on_surface(mesh, [[3, 3, 3], [1, 1, 1], [0, 2, 5]])
    array([ True, False,  True])
    """
    locator = _of_any(mesh, backend, threads)
    return locator.on_surface(points, out=out)


def _of_any(mesh: MeshLike, backend: str, threads: int | None) -> PointLocator:
    """Index a mesh that need be no solid: of its triangles alone is asked."""
    known = as_mesh(mesh)
    warn_once(known)
    return locate(known, backend=backend, threads=threads, allow_open=True)


# --- Containment by rays in any direction, through segments: a check of the vertical path.


def contains_along(
    mesh: Mesh,
    points: ArrayLike,
    direction: ArrayLike,
    backend: str,
    threads: int | None,
    out: object,
) -> NDArray[np.bool_]:
    """Return which points are inside, by the crossings of segments that end outside the mesh's box.

    Any segment that ends outside decides, so that a direction need not be kept exactly.
    """
    way = _way(direction)
    columns = as_columns(points)
    positions = np.stack(columns, axis=1)
    low, high = mesh.bounds
    # False for NaN. Displaced upwards, a point on top of the box is outside, and so it comes out.
    near = np.flatnonzero(((low <= positions) & (positions <= high)).all(axis=1))
    inside = host_room((len(positions),), np.bool_, out)
    inside[:] = False
    if len(near):
        starts = positions[near]
        # A mesh's coordinates are 0 or in this range, and so must be the ends of segments.
        least, most = layout.real("kLeastMagnitude"), layout.real("kMostMagnitude")
        tiny = ((starts != 0) & (np.abs(starts) < least)).any(axis=1)
        refuse_row(columns, int(near[tiny.argmax()]) if tiny.any() else -1)
        if (low == -most).any():
            way = np.abs(way)  # nothing is beyond the box there
        # An end on the box's upper sides is outside: it is displaced upwards too.
        ends = np.clip(starts + way * 2 * np.linalg.norm(high - low), -most, most)
        ends[np.abs(ends) < least] = 0.0
        with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
            inside[near] = intersector.intersect((starts, ends), mode="count") % 2 == 1
    return inside


def _way(direction: ArrayLike) -> NDArray[np.float64]:
    """Return the direction with its longest part of length 1."""
    try:
        way = np.asarray(direction, dtype=np.float64)
    except (TypeError, ValueError):
        way = np.empty(0)
    if way.shape != (3,) or not np.isfinite(way).all() or not way.any():
        message = f"direction must be three finite numbers that are not all 0, not {direction!r}"
        raise ValueError(message)
    unit: NDArray[np.float64] = way / np.abs(way).max()
    return unit
