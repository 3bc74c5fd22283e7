"""What a file of any format holds, checked and made into a Mesh; parses no format."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import GeodomainWarning, MeshError
from geodomain.mesh import Mesh
from geodomain.polygons import triangulate

# Single precision is worth a word from a centimetre on, if the unit is a metre:
# below it, rounding is lost in what a wireframe means.
COARSE = 0.01


@dataclass(frozen=True)
class Faces:
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


def to_mesh(faces: Faces, name: str) -> Mesh:
    """Return the mesh of some faces, polygons cut into triangles.

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
    _require_indices(faces, name)
    triangles = triangulate(faces.vertices, faces.corners, faces.sizes)
    mesh = Mesh(faces.vertices, triangles, name=name)
    if faces.single:
        _warn_of_resolution(mesh)
    return mesh


def _require_faces(faces: Faces, name: str) -> None:
    if len(faces.sizes):
        return
    what = f"{len(faces.vertices):,} points but no faces" if len(faces.vertices) else "no faces"
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
        f"{name} has {np.count_nonzero(~good):,} vertices that are not finite, the first is vertex"
        f" {first + 1} at ({place}): repair or remove it and export the wireframe again"
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


def _require_indices(faces: Faces, name: str) -> None:
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


def _warn_of_resolution(mesh: Mesh) -> None:
    resolution = single_resolution(mesh.vertices)
    if resolution < COARSE:
        return
    message = (
        f"{mesh.name} stores single precision, which at these coordinates is only good to"
        f" {resolution:g} (in the unit of the file): export it in double precision, or as text"
    )
    warnings.warn(message, GeodomainWarning, stacklevel=4)


def single_resolution(vertices: NDArray[np.float64]) -> float:
    """Return the spacing of float32 at the largest magnitude, 0 where there is none."""
    largest = np.abs(vertices).max(initial=0.0)
    with np.errstate(over="ignore"):
        return float(np.spacing(np.float32(largest))) if largest else 0.0
