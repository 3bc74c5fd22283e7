"""Which points lie inside a mesh: the verbs; the index itself is in `geodomain.locator`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain import lattice, topology
from geodomain.backends import choose
from geodomain.backends.native import thread_count
from geodomain.locator import PointLocator, Rule, Winding, check_rule
from geodomain.mesh import Mesh
from geodomain.points import is_on_device


def contains(
    mesh: Mesh,
    points: ArrayLike,
    *,
    rule: Rule = "parity",
    direction: ArrayLike | None = None,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: Any = None,
) -> NDArray[np.bool_]:
    """Return which points lie inside a closed mesh, exactly.

    Each point stands for itself displaced by an infinitesimal, up first, then
    east, then north: on a roof it is outside, on a floor inside, on a vertical
    wall it belongs to the solid to the east (to the north where the wall runs
    east). Solids that share a wall therefore share no point and leave out none.

    Parameters
    ----------
    mesh : Mesh
        The solid.
    points : array_like of shape (n, 3)
        Coordinates x, y, z in the mesh's unit, taken as given; or float64 on a GPU, by
        ``__cuda_array_interface__`` or DLPack (CuPy, PyTorch, Numba), used where they are.
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
        Threads to use; all the cores allowed to the process by default.
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
    MeshError
        If the mesh is not closed, or its edges do not balance for "winding".
    PointError
        If non-zero coordinates below 2^-306 leave a point undecided, which is rare.
    ValueError
        For a direction without length, or with the rule "winding".

    Warns
    -----
    GeodomainWarning
        Once for a closed mesh in which a shell is there twice, which leaves nothing inside it, in
        which shells overlap, touch or lie inside each other, or triangles face opposite ways.
        A single shell without a handle is known for sound in little time, and so are, wrongly,
        two that touch in two vertices and in no edge; only other meshes are looked at, and
        `geodomain.check` looks at all.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.contains(mesh, [[1, 1, 1], [8, 8, 8], [0, 0, 0], [3, 3, 3]])
    array([ True, False,  True, False])
    """
    check_rule(rule)
    if direction is not None:
        return _along(mesh, points, direction, rule, backend, threads, allow_open, out)
    if rule == "parity" and not (is_on_device(points) or is_on_device(out)):
        topology.require_fit(mesh, allow_open=allow_open)
        labels = lattice.label_ordered(mesh, points, choose(backend), thread_count(threads), out)
        if labels is not None:
            return labels
    return _locator(mesh, backend, threads, allow_open).contains(points, rule=rule, out=out)


def count_crossings(
    mesh: Mesh,
    points: ArrayLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: Any = None,
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
    return _locator(mesh, backend, threads, allow_open).count_crossings(points, out=out)


def winding_numbers(
    mesh: Mesh,
    points: ArrayLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    out: Any = None,
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
    return _locator(mesh, backend, threads, allow_open).winding_numbers(points, out=out)


def generalised_winding(
    mesh: Mesh, points: ArrayLike, *, backend: str = "auto", threads: int | None = None
) -> Winding:
    """Return the generalised winding number of an open mesh about each point.

    The solid angle of the mesh over 4 pi: about 1 inside a solid with a small hole,
    1/2 in the middle of a large one, 0 far away. Computed from the crossings of one
    vertical ray, exactly, and the edges where the mesh ends, rounded; the time is that
    of points times such edges. The same bits on every machine.

    Parameters
    ----------
    mesh : Mesh
        Triangles that turn alike. Of a closed mesh the numbers are those of
        `winding_numbers`.
    points : array_like of shape (n, 3)
        Coordinates x, y, z in the mesh's unit, taken as given.
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
    using generalized winding numbers" (2013); the derivation is in `kernels/winding.h`.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> funnel = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2]])
    >>> winding = geodomain.generalised_winding(funnel, [[1, 1, 1], [2.9, 2.9, 2.9], [9, 9, 9]])
    >>> winding.number.round(3), winding.inside
    (array([0.804, 0.519, 0.044]), array([ True,  True, False]))
    """
    return _locator(mesh, backend, threads, True).generalised_winding(points)


def on_surface(
    mesh: Mesh,
    points: ArrayLike,
    *,
    backend: str = "auto",
    threads: int | None = None,
    out: Any = None,
) -> NDArray[np.bool_]:
    """Return which points lie exactly on a triangle, vertical walls included.

    Parameters
    ----------
    mesh : Mesh
        Any mesh, open or closed.
    points : array_like of shape (n, 3)
        Coordinates x, y, z in the mesh's unit, taken as given.
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
    return _locator(mesh, backend, threads, True).on_surface(points, out=out)


def contains_lattice(
    mesh: Mesh,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    packed: bool = False,
    out: Any = None,
) -> NDArray[np.bool_] | NDArray[np.uint8]:
    """Return which blocks of a lattice lie inside a closed mesh, exactly.

    Parameters
    ----------
    mesh : Mesh
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
    axes = lattice.Axes(x, y, z)
    if rule == "winding":
        locator = _locator(mesh, backend, threads, allow_open)
        return locator.contains_lattice(x, y, z, rule=rule, packed=packed, out=out)
    topology.require_fit(mesh, allow_open=allow_open)
    found: NDArray[Any] = axes.answer(
        mesh, out, choose(backend), thread_count(threads), packed=packed
    )
    return found


def _along(
    mesh: Mesh,
    points: ArrayLike,
    direction: ArrayLike,
    rule: Rule,
    backend: str,
    threads: int | None,
    allow_open: bool,
    out: Any,
) -> NDArray[np.bool_]:
    from geodomain.rays import contains_along

    if rule != "parity":
        message = "a direction goes with the rule 'parity' only"
        raise ValueError(message)
    if is_on_device(points) or is_on_device(out):
        message = "a direction goes with points and out in ordinary memory, not on a GPU"
        raise ValueError(message)
    topology.require_fit(mesh, allow_open=allow_open)
    return contains_along(mesh, points, direction, backend, threads, out)


def _locator(mesh: Mesh, backend: str, threads: int | None, allow_open: bool) -> PointLocator:
    return PointLocator(mesh, backend=backend, threads=threads, allow_open=allow_open)
