"""Find which points lie inside a mesh, and which of several meshes contains a point first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_columns, ask, host_room, is_on_device, refuse_row
from geodomain.compute import choose, layout
from geodomain.compute.data import Columns
from geodomain.compute.native import thread_count
from geodomain.errors import MeshError
from geodomain.inputs import (
    LatticePoints,
    MeshesLike,
    MeshLike,
    PointsLike,
    answer_on_lattice,
    as_mesh,
    as_meshes,
    is_mesh_like,
    lattice_of,
    point_rows,
)
from geodomain.mesh import fitness
from geodomain.mesh.fitness import require_fit, warn_once
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.pyvista import is_dataset
from geodomain.query import lattice
from geodomain.query.locator import (
    PointLocator,
    Rule,
    Winding,
    check_rule,
    contains_by,
    contains_lattice_winding,
    contains_read,
    locate,
)
from geodomain.query.segments import SegmentIntersector
from geodomain.settings import BackendName

if TYPE_CHECKING:
    import pyvista

    from geodomain.inputs import ArrayT, Gridded


def contains(
    mesh: MeshLike,
    points: PointsLike,
    *,
    rule: Rule = "parity",
    direction: ArrayLike | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.bool_]:
    """Return which points lie inside a closed mesh, exactly.

    Each point is treated as if it were moved up by an infinitely small distance, east by a far
    smaller one, and north by one that is smaller still. So a point on a roof is outside, and a
    point on a floor is inside. A point on a vertical wall is in the solid east of the wall, or
    north of it if the wall runs east. Every point on a wall between two solids is in exactly one of
    them.

    Parameters
    ----------
    mesh : mesh-like
        The solid: a `Mesh`, a ``pyvista.PolyData``, the path of a file, and so on; see `as_mesh`.
    points : array_like of shape (n, 3), or points-like
        Coordinates x, y, z in the mesh's unit, used unchanged. An array on a GPU (CuPy, PyTorch,
        Numba) must be float64 and is used in place, through ``__cuda_array_interface__`` or DLPack.
        A ``pyvista.PolyData`` stands for its points, a PyVista grid for the centres of its cells in
        their order. In a table of pandas, polars or Arrow, the centroid columns are recognised
        by the names that mining packages use.
    rule : {"parity", "winding"}
        By "parity" a point is inside if the ray up from it crosses the mesh an odd number of
        times. By "winding" a point is inside if its winding number is not zero: overlapping shells
        count once, and the orientation of triangles matters. For an open mesh, accepted with
        ``allow_open``, the winding number is a rounded fraction, and a point is inside if the
        number's magnitude is 1/2 or more: see `generalised_winding`.
    direction : array_like of shape (3,), optional
        Count crossings along rays in this direction instead of vertical rays. For a closed mesh
        the result is the same. This is slower, but serves as an independent check, because it uses
        the code for segments.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; labels are the same everywhere.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    allow_open : bool
        Accept a mesh that is not closed.
    out : array of bool, shape (n,), optional
        Contiguous array, in memory or on the GPU, that receives the results and is returned.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        True inside. A point with a coordinate that is not finite is never inside. Points on a
        GPU give a `geodomain.DeviceArray` on that GPU, which CuPy and PyTorch use without a copy.

    Raises
    ------
    ValueError
        If ``out`` does not fit or shares memory with the points. If an array is on a GPU although
        ``backend`` is "cpu".
    DeviceError
        If ``backend`` is "cuda" and no GPU can be used; the message says why.
    TypeError
        For a mesh or points of an unknown type; the message lists the accepted types.
    TableError
        If the centroid columns of a table are not recognised.
    MeshError
        If the mesh is not closed. For the rule "winding", if the edges of the mesh are not used
        equally often in both directions.
    PointError
        If a point cannot be decided because a coordinate that is not 0 is below 2^-306 in
        magnitude, which is rare.
    ValueError
        For a direction of zero length. If a direction is given with the rule "winding".

    Warns
    -----
    GeodomainWarning
        Once for a closed mesh with one of three faults: a duplicate shell (nothing is inside it),
        shells that overlap, touch or lie inside each other, or triangles that face opposite ways.
        A mesh that passes a quick test is not examined further. A single shell without a handle
        passes this test, and rightly; two shells that touch in two vertices and no edge also pass,
        and get no warning. `geodomain.check` examines every mesh.

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
        if rule != "parity":
            message = "direction= needs rule='parity': leave one of the two out"
            raise ValueError(message)
        if is_on_device(points) or is_on_device(out):
            message = (
                "with direction=, the arrays of points and results must be in memory, not on a GPU"
            )
            raise ValueError(message)
        require_fit(mesh, allow_open=allow_open)
        return _contains_along(mesh, point_rows(points), direction, backend, threads, out)
    require_fit(mesh, allow_open=allow_open, rule=rule)
    if rule == "parity" and not (is_on_device(points) or is_on_device(out)):
        return contains_fit(mesh, points, backend=backend, threads=threads, out=out)
    locator = locate(mesh, backend=backend, threads=threads, allow_open=allow_open)
    return contains_by(locator, rule, points, out)


@overload
def contains_lattice(
    mesh: MeshLike,
    grid: pyvista.DataSet,
    /,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: Literal[False] = ...,
    out: object = ...,
) -> NDArray[np.bool_]: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    grid: pyvista.DataSet,
    /,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: Literal[True],
    out: object = ...,
) -> NDArray[np.uint8]: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    grid: pyvista.DataSet,
    /,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: bool,
    out: object = ...,
) -> NDArray[np.bool_] | NDArray[np.uint8]: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    grid: Gridded[ArrayT],
    /,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
) -> ArrayT: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: Literal[False] = ...,
    out: object = ...,
) -> NDArray[np.bool_]: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: Literal[True],
    out: object = ...,
) -> NDArray[np.uint8]: ...
@overload
def contains_lattice(
    mesh: MeshLike,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    rule: Rule = ...,
    backend: BackendName = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
    packed: bool,
    out: object = ...,
) -> NDArray[np.bool_] | NDArray[np.uint8]: ...
def contains_lattice(
    mesh: MeshLike,
    x: ArrayLike | pyvista.DataSet | Gridded[ArrayT],
    y: ArrayLike | None = None,
    z: ArrayLike | None = None,
    *,
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    packed: bool = False,
    out: object = None,
) -> NDArray[np.bool_] | NDArray[np.uint8] | ArrayT:
    """Return which blocks of a lattice lie inside a closed mesh, exactly.

    Parameters
    ----------
    mesh : mesh-like
        The solid.
    x, y, z : array_like of shape (nx,), (ny,), (nz,)
        The centroids' coordinates along each axis, in the mesh's unit, in any order. Duplicates are
        allowed, and the spacing may vary. A grid can be given instead of the three arrays, as in
        ``contains_lattice(mesh, grid)``: a pyvista.ImageData or RectilinearGrid that is not
        rotated, or an xarray.DataArray or Dataset, as for `label_lattice`.
    rule, backend, threads, allow_open
        As in `contains`.
    packed : bool
        Return bits instead of bools.
    out : array, optional
        Contiguous array of the type and shape given under Returns, in memory or on the GPU. It
        receives the results and is returned. If it is on the GPU (`geodomain.DeviceArray`, CuPy,
        PyTorch), the axes must be strictly increasing, and ``rule`` must be "parity".

    Returns
    -------
    numpy.ndarray of bool, shape (nx, ny, nz)
        In the caller's order, z fastest. If ``packed``, an array of uint8 and shape
        (nx, ny, ceil(nz / 8)), with the first z in the lowest bit.
    xarray.DataArray of bool
        For a grid of xarray: an array named ``inside``, with the dimensions in the grid's order.

    Raises
    ------
    TypeError
        For a grid that is not a lattice.
    TableError
        For a grid of xarray whose coordinates are not recognised.
    ValueError
        If ``out`` does not fit. If ``out`` is on a GPU although the axes, the rule or ``backend``
        do not allow that. If ``packed`` or ``out`` is given with a grid of xarray.
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

    def inside(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> NDArray[np.bool_] | NDArray[np.uint8]:
        axes = lattice.Axes(x, y, z)
        if rule == "winding":
            locator = PointLocator(mesh, backend=backend, threads=threads, allow_open=allow_open)
            return contains_lattice_winding(locator, axes, packed=packed, out=out)
        require_fit(mesh, allow_open=allow_open)
        return axes.answer(mesh, out, choose(backend), thread_count(threads), packed=packed)

    whole = not packed and out is None
    return answer_on_lattice(inside, x, y, z, name="inside", whole=whole)


def contains_fit(
    mesh: Mesh,
    points: PointsLike,
    *,
    columns: Columns | None = None,
    backend: BackendName,
    threads: int | None,
    out: object = None,
) -> NDArray[np.bool_]:
    """Return which points are inside a mesh by parity; the mesh must have passed `require_fit`.

    The points are in memory. If their coordinates have been read already, ``columns`` holds them.
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


def count_crossings(
    mesh: MeshLike,
    points: PointsLike,
    *,
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return how often the vertical ray up from each point crosses the mesh.

    Parameters and errors are those of `contains`.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        Number of crossings; an odd number means inside, and a point with a coordinate that is not
        finite has 0. A point on the mesh counts as moved by an infinitely small distance, as in
        `contains`. ``out`` must have this type.

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
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return the winding number of the mesh about each point.

    It is +1 inside a solid whose triangles face outwards. Parameters and errors are those of
    `contains`. A mesh with open or mis-oriented edges has no winding number and is
    refused, even with ``allow_open``.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        ``out`` must have this type.

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
    mesh: MeshLike, points: PointsLike, *, backend: BackendName = "auto", threads: int | None = None
) -> Winding:
    """Return the generalised winding number of an open mesh about each point.

    This number is the solid angle of the mesh divided by 4 pi: about 1 inside a solid with a small
    hole, 1/2 in the middle of a large hole, 0 far away. It is computed as the exact number of
    crossings of a vertical ray, plus a rounded sum over the open edges. So the time grows with the
    number of points times the number of open edges. The results are the same, bit for bit, on every
    machine.

    Parameters
    ----------
    mesh : mesh-like
        Triangles of consistent orientation. For a closed mesh the numbers are those of
        `winding_numbers`.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    backend, threads
        As in `contains`.

    Returns
    -------
    Winding
        ``number`` and ``bound``, (n,) float64: the winding number, and a bound on its error.
        ``inside`` and ``uncertain``, (n,) bool: whether the number is 1/2 or more in magnitude, and
        whether rounding may have decided ``inside``. For a point that is not finite, the number is
        0. For a point on an open edge, the bound is infinite.

    Raises
    ------
    PointError
        For a point with a coordinate that is not 0, but below 2^-306 in magnitude.

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
    return _locate_any(mesh, backend, threads).generalised_winding(points)


def on_surface(
    mesh: MeshLike,
    points: PointsLike,
    *,
    backend: BackendName = "auto",
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
        Decided by exact arithmetic, without a tolerance. False for a point that is not finite.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.on_surface(mesh, [[3, 3, 3], [1, 1, 1], [0, 2, 5]])
    array([ True, False,  True])
    """
    return _locate_any(mesh, backend, threads).on_surface(points, out=out)


def _locate_any(mesh: MeshLike, backend: BackendName, threads: int | None) -> PointLocator:
    """Return an index of a mesh, which may be open; warn once about the faults of the mesh."""
    surface = as_mesh(mesh)
    warn_once(surface)
    return locate(surface, backend=backend, threads=threads, allow_open=True)


def _contains_along(
    mesh: Mesh,
    points: ArrayLike,
    direction: ArrayLike,
    backend: BackendName,
    threads: int | None,
    out: object,
) -> NDArray[np.bool_]:
    """Return which points are inside, by counting crossings along a direction.

    A point is inside if a segment from the point to anywhere outside the mesh's box crosses the
    mesh an odd number of times. Any end outside the box will do, so the direction may be rounded.
    """
    step = _as_direction(direction)
    columns = as_columns(points)
    positions = np.stack(columns, axis=1)
    low, high = mesh.bounds
    # False for NaN. A point on top of the box is displaced upwards, so it comes out as outside.
    near = np.flatnonzero(((low <= positions) & (positions <= high)).all(axis=1))
    inside = host_room((len(positions),), np.bool_, out)
    inside[:] = False
    if len(near):
        starts = positions[near]
        # Ends of segments must be 0 or in this range, as a mesh's coordinates are.
        least, most = layout.real("kLeastMagnitude"), layout.real("kMostMagnitude")
        tiny = ((starts != 0) & (np.abs(starts) < least)).any(axis=1)
        refuse_row(columns, int(near[tiny.argmax()]) if tiny.any() else -1)
        if (low == -most).any():
            step = np.abs(step)  # no coordinate in range lies below the box
        # An end on the upper sides of the box is outside: it is displaced upwards too.
        ends = np.clip(starts + step * 2 * np.linalg.norm(high - low), -most, most)
        ends[np.abs(ends) < least] = 0.0
        with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
            inside[near] = intersector.intersect((starts, ends), mode="count") % 2 == 1
    return inside


def _as_direction(direction: ArrayLike) -> NDArray[np.float64]:
    """Return the direction, scaled so that the component of largest magnitude is 1 or -1."""
    try:
        vector = np.asarray(direction, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all() or not vector.any():
        message = f"direction must be three finite numbers that are not all 0, not {direction!r}"
        raise ValueError(message)
    scaled: NDArray[np.float64] = vector / np.abs(vector).max()
    return scaled


# The first of several solids that contains each point.


def label_codes(
    points: PointsLike | LatticePoints,
    meshes: MeshesLike | Iterable[MeshLike | PointLocator] | Mapping[str, MeshLike | PointLocator],
    *,
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return the index of the first solid that contains each point.

    Parameters
    ----------
    points : array_like of shape (n, 3), or points-like
        Coordinates x, y, z, in the unit of the meshes, as in `contains`.
    meshes : sequence of mesh-like or PointLocator, or mapping of str to one of them
        The solids in order of precedence, as for `as_mesh`. In a mapping of names to solids, the
        order of its items counts. A `PointLocator` has an index already; for a mesh, one is built.
    backend, threads, allow_open
        As in `geodomain.contains`.
    out : array of int32, shape (n,), optional
        As in `geodomain.contains`. Points and ``out`` may be on a GPU.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        -1 if no solid contains the point, -2 if the point is not finite.

    Raises
    ------
    MeshError
        As in `geodomain.contains`. Also if there is no mesh, or if a name has several meshes.
    PointError
        As in `geodomain.contains`.

    Examples
    --------
    >>> import geodomain
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> small = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> large = geodomain.Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], faces)
    >>> points = [[1, 1, 1], [2, 2, 2], [9, 9, 9], [1, 1, float("nan")]]
    >>> geodomain.label_codes(points, [small, large])
    array([ 0,  1, -1, -2], dtype=int32)
    """
    if isinstance(meshes, Mapping):
        solids = [_single(solid, name) for name, solid in meshes.items()]
    else:
        solids = as_solids(meshes)
    if not solids:
        message = "label_codes has no mesh: pass at least one solid"
        raise MeshError(message)
    return first_codes(
        points, solids, backend=backend, threads=threads, allow_open=allow_open, out=out
    )


def _single(solid: MeshLike | PointLocator, name: str) -> Mesh | PointLocator:
    """Return the only solid of a name; raise MeshError if the name has several solids."""
    solids = as_solids(solid, name)
    if len(solids) != 1:
        message = (
            f"label_codes needs one solid for each name, but {name!r} has {len(solids)}: use "
            "label_points, which labels by their union"
        )
        raise MeshError(message)
    return solids[0]


def first_codes(
    points: PointsLike | LatticePoints,
    solids: Sequence[Mesh | PointLocator],
    *,
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: object = None,
) -> NDArray[np.int32]:
    """Return the index of the first solid that contains each point, as `label_codes` does.

    The list of solids may be empty.
    """
    distinct = list({id(solid): solid for solid in solids}.values())
    for solid in distinct:
        if isinstance(solid, Mesh):
            fitness.require_fit(solid, allow_open=allow_open)
    codes = _on_lattice(points, solids, backend, threads, out)
    if codes is not None:
        return codes
    by_id = {
        id(solid): solid
        if isinstance(solid, PointLocator)
        else locate(solid, backend=backend, threads=threads, allow_open=allow_open)
        for solid in distinct
    }
    locators = [by_id[id(solid)] for solid in solids]
    chosen = locators[0].backend if locators else choose(backend)
    if any(locator.backend is not chosen for locator in locators):
        message = (
            "the PointLocators have different backends: make all of them with the same backend"
        )
        raise ValueError(message)
    query = ask(point_rows(points), np.int32, out, chosen)
    indexes = [locator.index for locator in locators]
    row = chosen.codes(indexes, query.points, query.room, thread_count(threads))
    refuse_row(query.points, row)
    return query.out


def as_solids(
    meshes: MeshesLike | Iterable[MeshLike | PointLocator] | PointLocator, name: str | None = None
) -> list[Mesh | PointLocator]:
    """Return a list of meshes and locators, from one solid or several; see `as_meshes`.

    A `PointLocator` is returned unchanged.
    """
    if isinstance(meshes, PointLocator):
        return [meshes]
    single = is_mesh_like(meshes) or is_dataset(meshes, "MultiBlock")
    if single or not isinstance(meshes, Iterable):
        return [*as_meshes(cast("MeshesLike", meshes), name=name)]
    solids: list[Mesh | PointLocator] = []
    for mesh in cast("Iterable[MeshLike | PointLocator]", meshes):
        solids += [mesh] if isinstance(mesh, PointLocator) else as_meshes([mesh], name=name)
    return solids


def _on_lattice(
    points: object,
    solids: Sequence[Mesh | PointLocator],
    backend: BackendName,
    threads: int | None,
    out: object,
) -> NDArray[np.int32] | None:
    """Return the first solid of each point as `first_codes` does, if the points form a lattice.

    Returns None if the points form no lattice, if a solid is not a closed mesh, if ``out`` is on a
    GPU, or if a point cannot be decided.
    """
    cells = lattice_of(points)
    meshes = [solid for solid in solids if isinstance(solid, Mesh) and solid.is_closed]
    if cells is None or len(meshes) < len(solids) or is_on_device(out):
        return None
    axes = lattice.Axes(*cells.axes)
    codes = lattice.first_of(meshes, axes, choose(backend), thread_count(threads))
    if codes is None or out is None:
        return codes
    room = host_room(codes.shape, np.int32, out)
    room[...] = codes
    return room
