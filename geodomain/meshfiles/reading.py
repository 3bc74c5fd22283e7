"""Reads a mesh file of any known format; parses none itself."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from geodomain.errors import GeodomainWarning, MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles import obj, off, ply, stl, vtk
from geodomain.meshfiles.faces import Faces, to_mesh
from geodomain.meshfiles.formats import (
    ELSEWHERE,
    EXTENSIONS,
    HEAD,
    READABLE,
    detect,
    is_broken_binary_stl,
)

_PARSERS: dict[str, Callable[[bytes, str], Faces]] = {
    "binary STL": stl.read_binary,
    "ASCII STL": stl.read_ascii,
    "PLY": ply.read,
    "OBJ": obj.read,
    "OFF": off.read,
}


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a wireframe in float64 exactly as the file has it.

    STL, PLY, OBJ and OFF are read here; VTP, VTK, VTU and glTF through PyVista. The
    content decides, not the extension. STL repeats every corner in each triangle:
    corners with equal coordinates become one vertex, and nothing else is merged.
    Polygons are cut alike whichever corner they start with, and only their geometry
    is taken: normals, colours, groups and materials are passed over.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Mesh
        Its vertices are in the unit of the file; its name is the file's name.

    Raises
    ------
    OSError
        If the file cannot be opened.
    MeshError
        If the content is not known, damaged, or no triangulated wireframe.

    Warns
    -----
    GeodomainWarning
        If the extension belongs to another format, or the file stores float32 at
        coordinates so large that they are only good to 0.01 or worse.
    """
    path = Path(path)
    data = path.read_bytes()
    if not data:
        message = f"{path.name} is empty: export the wireframe again"
        raise MeshError(message)
    extension = path.suffix.lower()
    kind = detect(data)
    if kind is None and is_broken_binary_stl(data, extension):
        kind = "binary STL"
    if kind is None:
        raise _unknown(path, data[:HEAD])
    _warn_of_extension(path.name, extension, kind)
    if kind in _PARSERS:
        faces = _PARSERS[kind](data, path.name)
    else:
        del data
        faces = vtk.read(path, EXTENSIONS[kind][0])
    return to_mesh(faces, path.name)


def _unknown(path: Path, head: bytes) -> MeshError:
    """Return the error for content that nobody here can read."""
    extension = path.suffix.lower()
    if head.lstrip().upper().startswith(b"GOCAD"):
        extension = ".ts"
    advice = ELSEWHERE.get(extension)
    if advice is None and not head.strip(b"\xef\xbb\xbf \t\r\n"):
        advice = "it holds nothing but blanks: export the wireframe again"
    if advice is None:
        advice = (
            f"its content is none of those that are read ({READABLE}): export it as one of them"
        )
    return MeshError(f"{path.name}: {advice}")


def _warn_of_extension(name: str, extension: str, kind: str) -> None:
    if extension in EXTENSIONS[kind]:
        return
    called = f"called {extension}" if extension else "without an extension"
    message = f"{name} is {kind} {called}, and read as {kind}: rename it to {EXTENSIONS[kind][0]}"
    warnings.warn(message, GeodomainWarning, stacklevel=3)
