"""Reads and writes Leapfrog's .msh."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.formats.mesh_text import damaged, truncated
from geodomain.formats.solids import NamedFaces
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

_MARK = bytes.fromhex("ff0ff0001bde8342cac0f33f")  # bytes before the arrays, always the same
_LINE = re.compile(rb"^[ \t]*([^\s\[]\S*)\s+(\w+)\s+(\d+)\s+(\d+)\s*;", re.MULTILINE)
_TYPES = {b"double": "<f8", b"float": "<f4", b"integer": "<i4", b"short": "<i2", b"byte": "<u1"}
_HEAD = 1 << 16


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the single mesh of a file; skip arrays other than Location and Tri."""
    arrays = _arrays(data, path.name)
    missing = [name for name in ("Location", "Tri") if name not in arrays]
    if missing:
        message = f"{path.name} has no array {missing[0]!r}: it is not a triangle mesh"
        raise MeshError(message)
    vertices, corners = arrays["Location"], arrays["Tri"]
    if vertices.dtype.kind != "f" or corners.dtype.kind == "f":
        raise damaged(path.name, "Location must be Double and Tri Integer")
    single = vertices.dtype.itemsize == 4
    faces = Faces(
        vertices.astype(np.float64),
        corners.reshape(-1).astype(np.int64),
        np.full(len(corners), 3, dtype=np.int64),
        single,
    )
    return [("", faces)]


def _arrays(data: bytes, file: str) -> dict[str, NDArray[np.float64 | np.int32]]:
    """Return the arrays Location and Tri of a mesh by name, with three numbers per row."""
    start = data.find(b"[binary]", 0, _HEAD)
    if start < 0:
        raise damaged(file, "it has no line [binary]")
    index = [
        (line[1].decode("latin-1"), line[2].lower(), int(line[3]), int(line[4]))
        for line in _LINE.finditer(data[:start])
    ]
    for name, kind, _, _ in index:
        if kind not in _TYPES:
            raise damaged(file, f"the array {name!r} has the unknown type {kind.decode()!r}")
    sizes = [math.prod((np.dtype(_TYPES[kind]).itemsize, m, n)) for _, kind, m, n in index]
    at = len(data) - sum(sizes)  # the file ends with the last array
    before = data[start + 8 : at] if at > start else b""
    if before.removeprefix(b"\r").removeprefix(b"\n") != _MARK:
        rest = f"there are {len(data) - start - 8 - len(_MARK):,}"
        raise truncated(file, f"{sum(sizes):,} bytes of arrays", rest)
    arrays = {}
    for (name, kind, width, count), size in zip(index, sizes, strict=True):
        if name in {"Location", "Tri"}:
            if width != 3:
                raise damaged(file, f"the array {name!r} has {width} numbers per row, not three")
            values = np.frombuffer(data, dtype=_TYPES[kind], count=3 * count, offset=at)
            arrays[name] = values.reshape(-1, 3)
        at += size
    return arrays


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write a mesh: its vertices in double precision, and its triangles."""
    counts = len(mesh.vertices), len(mesh.triangles)
    file.write(b"%%ARANZ-1.0\n\n[index]\nLocation Double 3 %d;\nTri Integer 3 %d;\n\n" % counts)
    file.write(b"[binary]" + _MARK)
    file.write(np.ascontiguousarray(mesh.vertices, dtype="<f8").data)
    file.write(np.ascontiguousarray(mesh.triangles, dtype="<i4").data)
