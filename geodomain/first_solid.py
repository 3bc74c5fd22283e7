"""The first of several solids that contains each point, in one pass over the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.answers import ask
from geodomain.backends import choose
from geodomain.backends.native import thread_count
from geodomain.locator import PointLocator
from geodomain.mesh import Mesh
from geodomain.points import refuse_row


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
