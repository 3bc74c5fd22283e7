"""Functions that count a mesh's crossings above points, and its turns about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.inputs.kinds import MeshLike, PointsLike
from geodomain.inputs.meshes import as_mesh
from geodomain.mesh.fitness import require_fit, warn_once
from geodomain.query.locator import PointLocator, Winding, locate


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
