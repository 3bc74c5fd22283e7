"""Reads the triangulated surfaces of DXF drawings, and writes them as 3DFACE of R12."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes import dxf_blocks
from geodomain.io.meshes.dxf_scan import FACE, POLYLINE, SEQUENCE_END, VERTEX, Drawing, scan
from geodomain.io.meshes.solids import NamedFaces
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh

_POLYGON_MESH, _POLYFACE = 16, 64  # flags of a POLYLINE, group 70
_CLOSED_M, _CLOSED_N = 1, 32
_POINT, _RECORD = 64, 128  # flags of a VERTEX of a polyface mesh
_ESCAPED = re.compile(r"\\[Uu]\+([0-9A-Fa-f]{4})")


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the faces of each layer: 3DFACE, polyface meshes and polygon meshes.

    MESH and INSERT are left to `ezdxf`, where there are any.
    """
    drawing = scan(data, path.name)
    parts = [*_faces(drawing, path.name), *_polylines(drawing, path.name)]
    if drawing.types.get("MESH") or (drawing.types.get("INSERT") and _blocks_have_faces(data)):
        parts += dxf_blocks.read(path)
    if not parts:
        raise _nothing(drawing, path.name)
    return [(_unescaped(layer), faces) for layer, faces in parts]


def _blocks_have_faces(data: bytes) -> bool:
    """Tell whether the section BLOCKS may hold faces; most blocks are symbols and text."""
    start = data.find(b"BLOCKS")
    end = data.find(b"ENTITIES", start)
    block = data[start : end if end >= 0 else None]
    return any(word in block for word in (b"3DFACE", b"POLYLINE", b"MESH"))


def _unescaped(layer: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), layer)


def _layer(drawing: Drawing, number: int) -> str:
    return drawing.layers[number] if number >= 0 else "0"


def _nothing(drawing: Drawing, file: str) -> MeshError:
    """Return the error for a drawing without faces, with what it has instead."""
    held = [f"{count:,} {kind}" for kind, count in drawing.types.items()]
    shown = ", ".join(held[:8]) + (f" and {len(held) - 8} other kinds" if len(held) > 8 else "")
    message = (
        f"{file} has no faces (3DFACE, polyface mesh, polygon mesh, MESH): it holds"
        f" {shown or 'no entities'}; strings and ACIS bodies are no surface: export the solid as"
        " 3DFACE"
    )
    return MeshError(message)


def _faces(drawing: Drawing, file: str) -> Iterator[NamedFaces]:
    """Yield the 3DFACEs of each layer, triangles where the fourth corner is the third or first."""
    found = np.flatnonzero((drawing.kind == FACE) & ~drawing.in_block)
    rows = slice(None) if len(found) == len(drawing.kind) else found  # a slice makes no copy
    lacking = drawing.seen[rows] & 0x1FF != 0x1FF
    if lacking.any():
        message = (
            f"3DFACE {int(lacking.argmax()) + 1} of {file} lacks a coordinate: export the drawing"
            " again"
        )
        raise MeshError(message)
    layers = drawing.layer[rows]
    corners, seen = drawing.corners[rows], drawing.seen[rows]
    numbers, first = np.unique(layers, return_index=True)
    for number in numbers[np.argsort(first)].tolist():
        those: slice | NDArray[np.bool_] = layers == number if len(numbers) > 1 else slice(None)
        yield _layer(drawing, number), _soup(corners[those], seen[those])


def _soup(corners: NDArray[np.float64], seen: NDArray[np.uint32]) -> Faces:
    """Return faces of three or four corners, each with vertices of its own."""
    place = corners.reshape(-1, 4, 3)
    last = place[:, 3]
    same = (last == place[:, 2]).all(axis=1) | (last == place[:, 0]).all(axis=1)
    triangle = same | (seen >> 9 != 0b111)
    if triangle.all():
        vertices = place[:, :3].reshape(-1, 3)
        return Faces(vertices, np.arange(len(vertices)), np.full(len(place), 3))
    sizes = np.where(triangle, 3, 4)
    kept = np.ones((len(place), 4), dtype=bool)
    kept[:, 3] = ~triangle
    vertices = place[kept]
    return Faces(vertices, np.arange(len(vertices)), sizes)


def _polylines(drawing: Drawing, file: str) -> Iterator[NamedFaces]:
    """Yield each polyface mesh and polygon mesh."""
    kind = drawing.kind
    ends = np.append(np.flatnonzero(kind != VERTEX), len(kind))
    for start in np.flatnonzero((kind == POLYLINE) & ~drawing.in_block).tolist():
        flags = int(drawing.integers[start, 0])
        if not flags & (_POLYFACE | _POLYGON_MESH):
            continue
        end = int(ends[np.searchsorted(ends, start, side="right")])
        if end == len(kind) or kind[end] != SEQUENCE_END:
            message = f"{file} has a POLYLINE that does not end with SEQEND: export it again"
            raise MeshError(message)
        make = _polyface if flags & _POLYFACE else _polygon_mesh
        faces = make(drawing, start, slice(start + 1, end), file)
        if len(faces.sizes):
            yield _layer(drawing, int(drawing.layer[start])), faces


def _polyface(drawing: Drawing, start: int, rows: slice, file: str) -> Faces:
    """Return a polyface mesh: points, then records of point numbers from 1, 0 for none."""
    flags = drawing.integers[rows, 0]
    points = flags & _POINT != 0
    records = (flags & _RECORD != 0) & ~points
    numbers = np.abs(drawing.integers[rows][records, 1:5].astype(np.int64))
    numbers = numbers[(numbers[:, :3] > 0).all(axis=1)]  # the others are edges
    first, third, last = numbers[:, 0], numbers[:, 2], numbers[:, 3]
    kept = np.ones(numbers.shape, dtype=bool)
    kept[:, 3] = (last > 0) & (last != third) & (last != first)
    vertices = np.ascontiguousarray(drawing.corners[rows][points, :3])
    return Faces(vertices, numbers[kept] - 1, kept.sum(axis=1))


def _polygon_mesh(drawing: Drawing, start: int, rows: slice, file: str) -> Faces:
    """Return the quads between M rows of N vertices."""
    flags, m, n = (int(value) for value in drawing.integers[start, :3])
    if drawing.integers[start, 5]:
        message = (
            f"{file} has a polygon mesh that is a smoothed surface, whose faces are not in the"
            " file: export it as 3DFACE"
        )
        raise MeshError(message)
    count = rows.stop - rows.start
    if m < 2 or n < 2 or m * n != count:
        message = (
            f"{file} has a polygon mesh of {m} x {n} vertices with {count:,} of them: export the"
            " drawing again"
        )
        raise MeshError(message)
    grid = np.arange(count).reshape(m, n)
    if flags & _CLOSED_M:
        grid = np.concatenate([grid, grid[:1]])
    if flags & _CLOSED_N:
        grid = np.concatenate([grid, grid[:, :1]], axis=1)
    quads = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1)
    corners = quads.reshape(-1).astype(np.int64)
    vertices = np.ascontiguousarray(drawing.corners[rows, :3])
    return Faces(vertices, corners, np.full(len(corners) // 4, 4))


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write R12 text: a 3DFACE a triangle, a layer a solid, numbers that read back the same."""
    file.write(b"0\nSECTION\n2\nENTITIES\n")
    for name, mesh in solids.items():
        layer = "".join(c if _fits(c) else f"\\U+{ord(c):04X}" for c in " ".join(name.split()))
        head = f"0\n3DFACE\n8\n{layer}\n"
        codes = [f"{axis}{corner}\n" for corner in range(4) for axis in (1, 2, 3)]
        for start in range(0, len(mesh.triangles), 1 << 16):
            corners = mesh.vertices[mesh.triangles[start : start + (1 << 16)]].reshape(-1, 9)
            numbers = map(repr, np.hstack([corners, corners[:, 6:]]).ravel().tolist())
            values = [numbers] * 12
            text = "".join(
                [
                    head + "".join([f"{c}{v}\n" for c, v in zip(codes, row, strict=True)])
                    for row in zip(*values, strict=True)
                ]
            )
            file.write(text.encode("cp1252"))
    file.write(b"0\nENDSEC\n0\nEOF\n")


def _fits(character: str) -> bool:
    try:
        return bool(character.encode("cp1252"))
    except UnicodeEncodeError:
        return False
