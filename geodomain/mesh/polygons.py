"""Cut polygons into triangles, independently of the first corner and direction of each polygon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import COARSE, single_resolution
from geodomain.compute.data import Floats, Indices, Ints
from geodomain.compute.meshes import clip_ears, merge_equal
from geodomain.errors import MeshError, counted, warn


def triangulate(
    vertices: Floats, corners: Ints, sizes: Ints, *, flat: bool = True
) -> NDArray[np.int32]:
    """Cut polygons into triangles that do not depend on a polygon's first corner or direction.

    Two solids that share a polygon, seen from opposite sides, get the same triangles. For this, the
    corners of each polygon are first put into a canonical order: from the lexicographically
    smallest corner towards the smaller of its two neighbours. A polygon is cut into a fan from its
    smallest corner if the whole polygon is visible from that corner. Otherwise the triangles of the
    fan would fold over each other, and the polygon is cut by clipping ears.

    Parameters
    ----------
    vertices : ndarray of shape (v, 3), float64
        Coordinates.
    corners : ndarray of shape (c,), int
        The vertex numbers of all the polygons, one polygon after the other.
    sizes : ndarray of shape (p,), int
        The number of corners of each polygon, 3 or more; they sum to c.
    flat : bool
        Whether a polygon is cut from its smallest corner even if a triangle then has no area.
        If False, such a polygon is cut by clipping ears, which avoids flat triangles if possible.

    Returns
    -------
    ndarray of shape (c - 2 * p, 3), int32
        The triangles, in the order of the polygons. Each triangle has the direction of its polygon.

    Raises
    ------
    ValueError
        If a polygon has fewer than three corners or the sizes do not sum to c.

    Examples
    --------
    >>> square = np.array([[0., 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    >>> triangulate(square, np.array([1, 2, 3, 0]), np.array([4])).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    corners, sizes = np.asarray(corners), np.asarray(sizes)
    if len(sizes) and sizes.min() < 3:
        message = f"polygon {int(np.argmax(sizes < 3))} has fewer than three corners"
        raise ValueError(message)
    if sizes.sum() != len(corners):
        message = f"sizes sum to {sizes.sum()}, but there are {len(corners)} corners"
        raise ValueError(message)
    if len(corners) == 3 * len(sizes):
        return corners.reshape(-1, 3).astype(np.int32)
    result = np.empty((len(corners) - 2 * len(sizes), 3), dtype=np.int32)
    first_corner = np.cumsum(sizes) - sizes
    first_triangle = np.cumsum(sizes - 2) - (sizes - 2)
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        rings = corners[first_corner[chosen, None] + np.arange(size)]
        targets = first_triangle[chosen, None] + np.arange(size - 2)
        result[targets] = rings[:, None, :] if size == 3 else _cut(vertices, rings, flat)
    return result


def _cut(vertices: Floats, rings: Ints, flat: bool) -> Ints:
    """Return the triangles (p, n - 2, 3) of rings (p, n) that all have n > 3 corners."""
    canonical, turned = _canonical(vertices, rings)
    points = _at_unit_scale(vertices[canonical])
    points -= points[:, :1]
    cuts = _fans(rings.shape[1], len(rings))
    for ring in np.flatnonzero(_folds(points, flat)).tolist():
        cuts[ring] = _clip_ears(points[ring])
    triangles = np.take_along_axis(canonical[:, None, :], cuts, axis=2)
    triangles[turned] = triangles[turned][:, ::-1, [0, 2, 1]]
    return triangles


def _at_unit_scale(rings: Floats) -> Floats:
    """Scale each ring by a power of two, without rounding, so that products do not overflow."""
    _, exponents = np.frexp(np.abs(rings).max(axis=(1, 2), keepdims=True))
    return np.asarray(np.ldexp(rings, -exponents))


def _canonical(vertices: Floats, rings: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return rings in the canonical order of `triangulate`, and the mask of reversed rings."""
    count, size = rings.shape
    ranks = _ranks(vertices, rings)
    best, best_ranks = rings, ranks
    turned = np.zeros(count, dtype=bool)
    # Try smallest corners only; there are several only if corners coincide.
    smallest = np.flatnonzero((ranks == ranks.min(axis=1, keepdims=True)).any(axis=0))
    for reverse in (False, True):
        for shift in smallest.tolist():
            places = (shift + np.arange(size) * (-1 if reverse else 1)) % size
            rotated = ranks[:, places]
            differs = rotated != best_ranks
            column = np.argmax(differs, axis=1)
            row = np.arange(count)
            less = rotated[row, column] < best_ranks[row, column]
            best = np.where(less[:, None], rings[:, places], best)
            best_ranks = np.where(less[:, None], rotated, best_ranks)
            turned = np.where(less, reverse, turned)
    return best, turned


def _ranks(vertices: Floats, rings: Ints) -> Ints:
    """Return the rank of each corner by x, then y, then z; equal points have the same rank."""
    used, inverse = np.unique(rings, return_inverse=True)
    points = vertices[used]
    order = np.lexsort((points[:, 2], points[:, 1], points[:, 0]))
    ordered = points[order]
    fresh = (ordered[1:] != ordered[:-1]).any(axis=1)
    rank = np.empty(len(used), dtype=np.int64)
    rank[order] = np.concatenate(([0], np.cumsum(fresh)))
    return rank[inverse].reshape(rings.shape)


def _fans(size: int, count: int) -> Ints:
    """Return a fan of triangles from corner 0 for each of `count` rings: (count, size - 2, 3)."""
    second = np.arange(1, size - 1)
    fan = np.stack([np.zeros_like(second), second, second + 1], axis=1)
    return np.repeat(fan[None], count, axis=0)


def _folds(points: Floats, flat: bool) -> NDArray[np.bool_]:
    """Return the mask of rings that would fold over themselves if cut from the first corner.

    The cut makes triangles that share the first corner. In a ring that folds, a triangle faces
    backwards. `flat` is whether triangles without area are allowed; otherwise a ring with such a
    triangle is in the mask as well.
    """
    areas = np.cross(points[:, 1:-1], points[:, 2:])
    normal = areas.sum(axis=1, keepdims=True)
    facing = (areas * normal).sum(axis=2)
    return np.asarray(((facing < 0) if flat else (facing <= 0)).any(axis=1))


def _clip_ears(points: Floats) -> Indices:
    """Return the triangles of a ring (n, 3) by clipping ears; each step cuts off the first ear."""
    normal = np.cross(points[1:-1], points[2:]).sum(axis=0)
    return clip_ears(np.ascontiguousarray(points), normal)


# Polygons from a file or a data set.

_LARGE, _PASSES = 1000, 100  # corners of a face, and how many of them may coincide


class Faces(NamedTuple):
    """Polygons as read from a file, not yet checked.

    Parameters
    ----------
    vertices : ndarray of shape (v, 3), float64
        Coordinates, exactly as in the file.
    corners : ndarray of shape (c,), int64
        Vertex numbers of all faces, one face after the other, counted from 0.
    sizes : ndarray of shape (f,), int64
        The number of corners of each face.
    single : bool
        Whether the file stores coordinates in single precision.
    """

    vertices: NDArray[np.float64]
    corners: NDArray[np.int64]
    sizes: NDArray[np.int64]
    single: bool = False


def triangles_of(faces: Faces, name: str) -> NDArray[np.int32]:
    """Check polygons, and cut them into triangles.

    Raises
    ------
    MeshError
        If there is no face, a coordinate is not finite, a face has fewer than three
        corners, or a corner refers to a vertex that does not exist.

    Warns
    -----
    GeodomainWarning
        If the coordinates have single precision and are too large to resolve 0.01.
    """
    _require_faces(faces, name)
    _require_finite(faces.vertices, name)
    _require_sizes(faces, name)
    require_indices(faces, name)
    _require_rings(faces, name)
    if faces.single:
        _warn_of_resolution(faces, name)
    return triangulate(faces.vertices, faces.corners, faces.sizes)


def _require_faces(faces: Faces, name: str) -> None:
    if len(faces.sizes):
        return
    what = (
        f"{counted(len(faces.vertices), 'point')} but no faces"
        if len(faces.vertices)
        else "no faces"
    )
    message = f"{name} has {what}, so it encloses nothing: export the triangulated wireframe"
    raise MeshError(message)


def _require_finite(vertices: NDArray[np.float64], name: str) -> None:
    finite = np.isfinite(vertices)
    if finite.all():
        return
    good = finite.all(axis=1)
    first = int(np.argmin(good))
    place = ", ".join(map(str, vertices[first].tolist()))
    message = (
        f"{name} has coordinates that are not finite in "
        f"{counted(int((~good).sum()), 'vertex', 'vertices')}, first in vertex {first + 1} at "
        f"({place}): repair or remove the vertex and export the wireframe again"
    )
    raise MeshError(message)


def _require_sizes(faces: Faces, name: str) -> None:
    if faces.sizes.min() >= 3:
        return
    face = int(np.argmax(faces.sizes < 3))
    message = (
        f"face {face + 1} of {name} has {counted(int(faces.sizes[face]), 'corner')}, but a face "
        "needs three: remove the face and export the wireframe again"
    )
    raise MeshError(message)


def _require_rings(faces: Faces, name: str) -> None:
    """Refuse large faces with many corners at one point, because cutting them would take hours."""
    for face in np.flatnonzero(faces.sizes > _LARGE).tolist():
        begin = int(faces.sizes[:face].sum())
        ring = faces.vertices[faces.corners[begin : begin + int(faces.sizes[face])]]
        passes = int(np.bincount(merge_equal(np.ascontiguousarray(ring))).max())
        if passes > _PASSES:
            message = (
                f"face {face + 1} of {name} has {len(ring):,} corners, and {passes:,} of them are"
                " at one point: this is not a polygon; export the wireframe as triangles"
            )
            raise MeshError(message)


def require_indices(faces: Faces, name: str) -> None:
    """Refuse corners whose vertex does not exist.

    Call this before the vertices of another object in the file are appended.
    """
    bad = (faces.corners < 0) | (faces.corners >= len(faces.vertices))
    if not bad.any():
        return
    corner = int(np.argmax(bad))
    face = int(np.searchsorted(np.cumsum(faces.sizes), corner, side="right"))
    message = (
        f"face {face + 1} of {name} refers to vertex {faces.corners[corner]} counted from 0, but"
        f" there are {len(faces.vertices):,} vertices: the file is damaged, export it again"
    )
    raise MeshError(message)


def _warn_of_resolution(faces: Faces, name: str) -> None:
    resolution = single_resolution(faces.vertices)
    if resolution < COARSE:
        return
    message = (
        f"{name} stores single precision, which is only accurate to"
        f" {resolution:g} at these coordinates (in the unit of the file): export it in double"
        " precision, or as text"
    )
    warn(message)
