"""Polygons as a file or a data set holds them, checked and cut into triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import COARSE, single_resolution
from geodomain.backends.mesh_checks import merge_equal
from geodomain.errors import MeshError, counted, warn
from geodomain.mesh.polygons import triangulate

_LARGE, _PASSES = 1000, 100  # corners of a face, and of them at one place


class Faces(NamedTuple):
    """Polygons as a file holds them, not yet checked.

    Parameters
    ----------
    vertices : ndarray of shape (v, 3), float64
        Coordinates, exactly as the file has them.
    corners : ndarray of shape (c,), int64
        Vertex numbers from 0, face after face.
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
    """Return the triangles of some faces, polygons cut, after a look at what may be wrong.

    Raises
    ------
    MeshError
        If there is no face, a coordinate is not finite, a face has fewer than three
        corners or a corner that is no vertex.

    Warns
    -----
    GeodomainWarning
        If the coordinates are single precision and too large to be known to 0.01.
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
        f"({place}): repair or remove it and export the wireframe again"
    )
    raise MeshError(message)


def _require_sizes(faces: Faces, name: str) -> None:
    if faces.sizes.min() >= 3:
        return
    face = int(np.argmax(faces.sizes < 3))
    message = (
        f"face {face + 1} of {name} has {faces.sizes[face]} corners, and three is the fewest:"
        " remove it and export the wireframe again"
    )
    raise MeshError(message)


def _require_rings(faces: Faces, name: str) -> None:
    """Refuse large faces that come back to one place again and again: cutting them takes hours."""
    for face in np.flatnonzero(faces.sizes > _LARGE).tolist():
        begin = int(faces.sizes[:face].sum())
        ring = faces.vertices[faces.corners[begin : begin + int(faces.sizes[face])]]
        passes = int(np.bincount(merge_equal(np.ascontiguousarray(ring))).max())
        if passes > _PASSES:
            message = (
                f"face {face + 1} of {name} has {len(ring):,} corners, and comes through one place"
                f" {passes:,} times: it is no polygon; export the wireframe as triangles"
            )
            raise MeshError(message)


def require_indices(faces: Faces, name: str) -> None:
    """Refuse corners that are no vertex, before vertices of other parts come behind these."""
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
        f"{name} stores single precision, which at these coordinates is only good to"
        f" {resolution:g} (in the unit of the file): export it in double precision, or as text"
    )
    warn(message)
