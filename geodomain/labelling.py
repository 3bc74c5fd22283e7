"""Which of several solids each point belongs to; one pass over the points for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.answers import ask
from geodomain.backends import choose
from geodomain.backends.native import thread_count
from geodomain.locator import PointLocator
from geodomain.mesh import Mesh
from geodomain.points import is_on_device, refuse_row

NONE, NOT_FINITE = -1, -2


def label_codes(
    points: ArrayLike,
    meshes: Sequence[Mesh | PointLocator],
    *,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: Any = None,
) -> NDArray[np.int32]:
    """Return the index of the first solid that contains each point.

    Parameters
    ----------
    points : array_like of shape (n, 3)
        Coordinates x, y, z, in the unit of the meshes.
    meshes : sequence of Mesh or PointLocator
        The solids, the first one first. A `PointLocator` brings its own index;
        for a `Mesh` one is built.
    backend, threads, allow_open
        As in `geodomain.contains`.
    out : array of int32, shape (n,), optional
        As in `geodomain.contains`, which says what points on a GPU give, too.

    Returns
    -------
    numpy.ndarray of int32, shape (n,)
        -1 where no solid contains the point, -2 where it is not finite.

    Raises
    ------
    MeshError, PointError
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
    locators = [
        mesh
        if isinstance(mesh, PointLocator)
        else PointLocator(mesh, backend=backend, threads=threads, allow_open=allow_open)
        for mesh in meshes
    ]
    module = locators[0].backend if locators else choose(backend)
    if any(locator.backend is not module for locator in locators):
        message = "the meshes are ready for different backends: make all of them with one"
        raise ValueError(message)
    asked = ask(points, np.int32, out, module)
    indexes = [locator.index for locator in locators]
    refused = module.codes(indexes, asked.points, asked.room, thread_count(threads))
    refuse_row(asked.points, refused)
    codes: NDArray[np.int32] = asked.out
    return codes


def label_points(
    points: ArrayLike,
    domains: Mapping[str, Mesh | PointLocator | Iterable[Mesh | PointLocator]],
    *,
    background: str = "",
    unassigned: str = "",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
) -> NDArray[np.str_]:
    """Return the name of the first domain that contains each point.

    Parameters
    ----------
    points : array_like of shape (n, 3)
        Coordinates x, y, z, in the unit of the meshes.
    domains : mapping of str to Mesh, PointLocator or several of them
        The domains by name, the first one first; several meshes are a union.
    background : str
        The label of points in no domain.
    unassigned : str
        The label of points that are not finite.
    backend, threads, allow_open
        As in `geodomain.contains`.

    Returns
    -------
    numpy.ndarray of str, shape (n,)

    Raises
    ------
    MeshError, PointError
        As in `geodomain.contains`.

    Examples
    --------
    >>> import geodomain
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_points([[1, 1, 1], [9, 9, 9]], {"ORE": ore}, background="WASTE")
    array(['ORE', 'WASTE'], dtype='<U5')
    """
    meshes: list[Mesh | PointLocator] = []
    owners: list[int] = []
    for owner, union in enumerate(domains.values()):
        parts = [union] if isinstance(union, Mesh | PointLocator) else list(union)
        meshes.extend(parts)
        owners.extend([owner] * len(parts))
    codes = label_codes(points, meshes, backend=backend, threads=threads, allow_open=allow_open)
    if is_on_device(codes):  # names are NumPy's, in memory, wherever the points are
        codes = codes.get()  # type: ignore[attr-defined]
    # Codes -2 and -1 count from the end of the table.
    names = np.array([*domains, unassigned, background])
    table = np.array([*owners, len(domains), len(domains) + 1])
    labels: NDArray[np.str_] = names[table[codes]]
    return labels
