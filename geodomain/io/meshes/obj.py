"""Reads and writes Wavefront OBJ; knows no other format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes.text import floats, integers, number_lines, unify_lines
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh

# Stands for a line end that a backslash continues, so that lines can still be counted.
_JOIN = b"\x00"
_PLAIN = {b"v ", b"f ", b"vn", b"vt"}


@dataclass(frozen=True)
class _Lines:
    """The vertex and the face lines, where each stands, and the vertices before each face."""

    vertices: list[bytes]
    vertex_lines: NDArray[np.int64]
    faces: list[bytes]
    face_lines: NDArray[np.int64]
    vertices_before: NDArray[np.int64]


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
    lines = text.replace(b"\\\n", _JOIN).split(b"\n")
    ends = np.arange(1, len(lines) + 1)
    joined = b"\\\n" in text
    if joined:
        ends += np.cumsum([line.count(_JOIN) for line in lines])
    lines = [
        line if line[:2] in _PLAIN and b"#" not in line and not joined else _plain(line)
        for line in lines
    ]
    keys = np.array([line[:2] for line in lines], dtype="S2")
    is_vertex, is_face = keys == b"v ", keys == b"f "
    return _Lines(
        [line for line in lines if line[:2] == b"v "],
        ends[is_vertex],
        [line for line in lines if line[:2] == b"f "],
        ends[is_face],
        np.cumsum(is_vertex)[is_face],
    )


def _plain(line: bytes) -> bytes:
    """Return a line without comment, joins, tabs and capitals, its key followed by a blank."""
    words = line.partition(b"#")[0].replace(_JOIN, b" ").lower().split()
    return b" ".join(words) + b" " if words else b""


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
    return [word for line in lines for word in line.split()[1:]], sizes


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
    if b"/" in b" ".join(lines.faces):
        words = [word.partition(b"/")[0] for word in words]
    ends = np.cumsum(sizes)

    def place(i: int) -> str:
        return f"line {lines.face_lines[int(np.searchsorted(ends, i, side='right'))]}"

    numbers = integers(words, name, place)
    backward = numbers < 0
    corners = numbers - 1
    if backward.any():
        before = np.repeat(lines.vertices_before, sizes)
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
