"""Find the first of several solids that contains each point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import ask, host_room, is_on_device, refuse_row
from geodomain.compute import choose
from geodomain.compute.native import thread_count
from geodomain.errors import MeshError
from geodomain.inputs import (
    LatticePoints,
    MeshesLike,
    MeshLike,
    PointsLike,
    as_meshes,
    is_mesh_like,
    lattice_of,
    point_rows,
)
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.pyvista import is_dataset
from geodomain.query import lattice
from geodomain.query.locator import PointLocator, locate
from geodomain.settings import BackendName


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
        The solids in order of precedence, as for `as_mesh`. A `PointLocator` brings its own
        index; for a mesh an index is built. The solids of a mapping are counted in its order.
    backend, threads, allow_open
        As in `geodomain.contains`.
    out : array of int32, shape (n,), optional
        As in `geodomain.contains`, for points on a GPU too.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        -1 if no solid contains the point, -2 if it is not finite.

    Raises
    ------
    MeshError
        As in `geodomain.contains`, if there is no mesh, or if a name has several meshes.
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
    """Return the solid of a name; refuse several, because codes number the names."""
    solids = as_solids(solid, name)
    if len(solids) != 1:
        message = (
            f"label_codes counts solids, but {name!r} has {len(solids)}: label_points labels by "
            "their union"
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
    """Return the index of the first solid that contains each point; there may be no solid."""
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
        message = "the PointLocators have different backends: make all of them with the same one"
        raise ValueError(message)
    query = ask(point_rows(points), np.int32, out, chosen)
    indexes = [locator.index for locator in locators]
    row = chosen.codes(indexes, query.points, query.room, thread_count(threads))
    refuse_row(query.points, row)
    return query.out


def as_solids(
    meshes: MeshesLike | Iterable[MeshLike | PointLocator] | PointLocator, name: str | None = None
) -> list[Mesh | PointLocator]:
    """Return one solid or several as a list; locators stay as they are. See `as_meshes`."""
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
    """Return the codes of a lattice's points if all solids are closed meshes; None otherwise."""
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
