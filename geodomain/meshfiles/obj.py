"""Reads and writes Wavefront OBJ; knows no other format."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles.faces import Faces
from geodomain.meshfiles.text import floats, integers, unify_lines

# Stands for a line end that a backslash continues, so that lines can still be counted.
_JOIN = b"\x00"


@dataclass
class _Lines:
    """The words of the vertex and of the face lines, and where each line stands."""

    vertices: list[list[bytes]] = field(default_factory=list)
    vertex_lines: list[int] = field(default_factory=list)
    faces: list[list[bytes]] = field(default_factory=list)
    face_lines: list[int] = field(default_factory=list)
    vertices_before: list[int] = field(default_factory=list)


def read(data: bytes, name: str) -> Faces:
    """Return the vertices and faces of an OBJ file; everything else is passed over."""
    lines = _sort_lines(unify_lines(data))
    vertices = _vertices(lines, name)
    sizes = np.array([len(words) for words in lines.faces], dtype=np.int64)
    if len(sizes) and sizes.min() < 3:
        message = (
            f"{name}, line {lines.face_lines[int(sizes.argmin())]}: a face of {sizes.min()}"
            " corners, and three is the fewest; remove it and export the wireframe again"
        )
        raise MeshError(message)
    return Faces(vertices, _corners(lines, sizes, len(vertices), name), sizes)


def _sort_lines(text: bytes) -> _Lines:
    """Return what the 'v' and 'f' lines hold."""
    found = _Lines()
    if b"\\\n" in text:
        text = text.replace(b"\\\n", _JOIN)
    number = 1
    for line in text.split(b"\n"):
        start = number
        number += 1
        if _JOIN in line:
            number += line.count(_JOIN)
            line = line.replace(_JOIN, b" ")
        if b"#" in line:
            line = line[: line.index(b"#")]
        words = line.split()
        if not words:
            continue
        if words[0] in (b"v", b"V"):
            found.vertices.append(words[1:])
            found.vertex_lines.append(start)
        elif words[0] in (b"f", b"F"):
            found.faces.append(words[1:])
            found.face_lines.append(start)
            found.vertices_before.append(len(found.vertices))
    return found


def _vertices(lines: _Lines, name: str) -> NDArray[np.float64]:
    """Return x, y, z of each vertex; a weight or a colour after them is passed over."""
    rows = lines.vertices
    widths = {len(words) for words in rows}
    if widths and min(widths) < 3:
        first = next(i for i, words in enumerate(rows) if len(words) < 3)
        message = (
            f"{name}, line {lines.vertex_lines[first]}: a vertex needs x, y and z, but there are"
            f" {len(rows[first])} numbers; correct it or export the wireframe again"
        )
        raise MeshError(message)
    if widths - {3}:
        rows = [words[:3] for words in rows]
    words = list(chain.from_iterable(rows))

    def place(i: int) -> str:
        return f"line {lines.vertex_lines[i // 3]}"

    vertices = floats(words, name, place).reshape(-1, 3)
    good = np.isfinite(vertices).all(axis=1)
    if not good.all():
        message = (
            f"{name}, line {lines.vertex_lines[int(good.argmin())]}: a vertex is not finite;"
            " repair or remove it and export the wireframe again"
        )
        raise MeshError(message)
    return vertices


def _corners(
    lines: _Lines, sizes: NDArray[np.int64], vertex_count: int, name: str
) -> NDArray[np.int64]:
    """Return vertex numbers from 0, of corners v, v/vt, v//vn and v/vt/vn."""
    words = list(chain.from_iterable(lines.faces))
    if any(b"/" in word for word in words):
        words = [word.partition(b"/")[0] for word in words]
    ends = np.cumsum(sizes)

    def place(i: int) -> str:
        return f"line {lines.face_lines[int(np.searchsorted(ends, i, side='right'))]}"

    numbers = integers(words, name, place)
    backward = numbers < 0
    corners = numbers - 1
    if backward.any():
        before = np.repeat(np.array(lines.vertices_before, dtype=np.int64), sizes)
        corners = np.where(backward, before + numbers, corners)
    bad = (corners < 0) | (corners >= vertex_count) | (numbers == 0)
    if bad.any():
        first = int(bad.argmax())
        message = (
            f"{name}, {place(first)}: a face refers to vertex {numbers[first]}, but there are"
            f" {vertex_count:,} vertices, counted from 1; the file is damaged, export it again"
        )
        raise MeshError(message)
    return corners


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write OBJ with the shortest numbers that read back the same."""
    file.write(b"# geodomain\n")
    for row in mesh.vertices.tolist():
        file.write(b"v %a %a %a\n" % tuple(row))
    for row in (mesh.triangles.astype(np.int64) + 1).tolist():
        file.write(b"f %d %d %d\n" % tuple(row))
