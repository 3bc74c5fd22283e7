"""Reads and writes Wavefront OBJ; knows no other format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles.faces import Faces
from geodomain.meshfiles.text import floats, integers, number_lines, unify_lines

# Stands for a line end that a backslash continues, so that lines can still be counted.
_JOIN = b"\x00"
_VERTEX, _FACE = (b"v ", b"v\t"), (b"f ", b"f\t")


@dataclass
class _Lines:
    """The vertex and the face lines, where each stands, and the vertices before each face."""

    vertices: list[bytes] = field(default_factory=list)
    vertex_lines: list[int] = field(default_factory=list)
    faces: list[bytes] = field(default_factory=list)
    face_lines: list[int] = field(default_factory=list)
    vertices_before: list[int] = field(default_factory=list)


def read(data: bytes, name: str) -> Faces:
    """Return the vertices and faces of an OBJ file; everything else is passed over."""
    lines = _sort_lines(unify_lines(data))
    vertices = _vertices(lines, name)
    words, sizes = _words(lines.faces, b"f", 3)
    if len(sizes) and sizes.min() < 3:
        message = (
            f"{name}, line {lines.face_lines[int(sizes.argmin())]}: a face of {sizes.min()}"
            " corners, and three is the fewest; remove it and export the wireframe again"
        )
        raise MeshError(message)
    return Faces(vertices, _corners(lines, words, sizes, len(vertices), name), sizes)


def _sort_lines(text: bytes) -> _Lines:
    """Return the lines that start with v and with f."""
    found = _Lines()
    if b"\\\n" in text:
        text = text.replace(b"\\\n", _JOIN)
    start = 0
    for line in text.split(b"\n"):
        start += 1
        number = start
        if _JOIN in line:
            start += line.count(_JOIN)
            line = line.replace(_JOIN, b" ")
        if b"#" in line:
            line = line[: line.index(b"#")]
        key = line[:2]
        if key not in _VERTEX and key not in _FACE:
            line = line.strip().lower()
            key = line[:2]
        if key in _VERTEX:
            found.vertices.append(line)
            found.vertex_lines.append(number)
        elif key in _FACE:
            found.faces.append(line)
            found.face_lines.append(number)
            found.vertices_before.append(len(found.vertices))
    return found


def _words(lines: list[bytes], key: bytes, usual: int) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return the words after each line's key, one line after the other, and how many each has.

    No list is made per line where all have the usual number: the keys then stand at
    regular places among all the words.
    """
    words = b" ".join(lines).split()
    if len(words) == (usual + 1) * len(lines) and words[:: usual + 1].count(key) == len(lines):
        del words[:: usual + 1]
        return words, np.full(len(lines), usual, dtype=np.int64)
    sizes = np.array([len(line.split()) - 1 for line in lines], dtype=np.int64)
    return [word for word in words if word != key], sizes


def _vertices(lines: _Lines, name: str) -> NDArray[np.float64]:
    """Return x, y, z of each vertex; a weight or a colour after them is passed over."""
    words, sizes = _words(lines.vertices, b"v", 3)
    if len(sizes) and sizes.min() < 3:
        message = (
            f"{name}, line {lines.vertex_lines[int(sizes.argmin())]}: a vertex needs x, y and z,"
            f" but there are {sizes.min()} numbers; correct it or export the wireframe again"
        )
        raise MeshError(message)
    if len(words) != 3 * len(sizes):
        words = [word for line in lines.vertices for word in line.split()[1:4]]

    def place(i: int) -> str:
        return f"line {lines.vertex_lines[i // 3]}"

    vertices = floats(words, name, place).reshape(-1, 3)
    finite = np.isfinite(vertices)
    if not finite.all():
        good = finite.all(axis=1)
        message = (
            f"{name}, line {lines.vertex_lines[int(good.argmin())]}: a vertex is not finite;"
            " repair or remove it and export the wireframe again"
        )
        raise MeshError(message)
    return vertices


def _corners(
    lines: _Lines, words: list[bytes], sizes: NDArray[np.int64], vertex_count: int, name: str
) -> NDArray[np.int64]:
    """Return vertex numbers from 0, of corners v, v/vt, v//vn and v/vt/vn."""
    if any(b"/" in line for line in lines.faces):
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
    file.writelines(number_lines(mesh.vertices, "v "))
    file.writelines(number_lines(mesh.triangles.astype(np.int64) + 1, "f "))
