"""Writes a mesh file of the format that its extension names; formats no number itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from geodomain.errors import MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles import obj, off, ply, stl, vtk

_WRITERS: dict[str, Callable[[Mesh, BinaryIO], None]] = {
    ".stl": stl.write,
    ".ply": ply.write,
    ".obj": obj.write,
    ".off": off.write,
}


def write_mesh(mesh: Mesh, path: str | os.PathLike[str]) -> None:
    """Write a wireframe in the format that the extension names.

    .ply (binary double), .obj, .off and .vtp keep every coordinate; .stl (binary)
    holds single precision. The file appears whole or not at all.

    Parameters
    ----------
    mesh : Mesh
        What to write.
    path : str or path-like
        Where to; a file of that name is replaced.

    Raises
    ------
    OSError
        If the file cannot be written.
    MeshError
        If the extension is not known, or STL cannot hold the coordinates.

    Warns
    -----
    GeodomainWarning
        If STL's rounding moves a vertex, with the largest move.
    """
    path = Path(path)
    extension = path.suffix.lower()
    if extension != ".vtp" and extension not in _WRITERS:
        known = ", ".join([*_WRITERS, ".vtp"])
        message = f"{path.name} names no format that is written: end it in one of {known}"
        raise MeshError(message)
    beside = path.with_name(f".{path.name}.{os.getpid()}{extension}")
    try:
        if extension == ".vtp":
            vtk.write(mesh, beside)
        else:
            with beside.open("wb") as file:
                _WRITERS[extension](mesh, file)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
