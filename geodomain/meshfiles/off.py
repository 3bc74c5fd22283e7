"""Reads and writes OFF; knows no other format."""

from __future__ import annotations

import re
from itertools import chain
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles.faces import Faces
from geodomain.meshfiles.text import floats, integers, truncated, unify_lines

# ST, C and N announce texture, colour and normal after x, y, z; 4 and n other dimensions.
KEYWORD = re.compile(rb"(ST)?C?N?(4?n?)OFF$", re.IGNORECASE)

Line = tuple[int, list[bytes]]


def read(data: bytes, name: str) -> Faces:
    """Return the vertices and faces of an OFF file; normals and colours are passed over."""
    lines = [
        (number, words)
        for number, line in enumerate(unify_lines(data).split(b"\n"), 1)
        if (words := line.partition(b"#")[0].split())
    ]
    vertex_count, face_count, start = _counts(lines, name)
    if vertex_count + face_count > len(lines) - start:
        promised = f"{vertex_count:,} vertices and {face_count:,} faces"
        raise truncated(name, promised, f"{len(lines) - start:,} lines follow")
    middle = start + vertex_count
    vertices = _first_words(lines[start:middle], 3, name, "a vertex needs x, y and z")

    def place(i: int) -> str:
        return f"line {lines[start + i // 3][0]}"

    points = floats(vertices, name, place).reshape(-1, 3)
    return Faces(points, *_faces(lines[middle : middle + face_count], name))


def _counts(lines: list[Line], name: str) -> tuple[int, int, int]:
    """Return the numbers of vertices and faces, and where the vertices start."""
    _, words = lines[0]
    keyword = KEYWORD.match(words[0])
    if keyword is None or keyword[2] or b"BINARY" in words[1:2]:
        form = b" ".join(words[:2]).decode("utf-8", "replace")
        message = (
            f"{name} is OFF of a kind that is not read ({form}): export it as plain OFF or PLY"
        )
        raise MeshError(message)
    start = 1
    if len(words) == 1:
        if len(lines) < 2:
            raise truncated(name, "counts", "it ends after the first line")
        words, start = [words[0], *lines[1][1]], 2
    place = f"line {lines[start - 1][0]}"
    counts = integers(words[1:3], name, lambda _: place)
    if len(counts) < 2 or counts.min() < 0:
        message = f"{name}, {place}: expected the numbers of vertices and faces"
        raise MeshError(message)
    return int(counts[0]), int(counts[1]), start


def _first_words(lines: list[Line], count: int, name: str, needs: str) -> list[bytes]:
    """Return the first words of each line, one line after the other."""
    for number, words in lines:
        if len(words) < count:
            message = f"{name}, line {number}: {needs}, but there are {len(words)} numbers"
            raise MeshError(message + "; correct it or export the wireframe again")
    return list(chain.from_iterable(words[:count] for _, words in lines))


def _faces(lines: list[Line], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return corners and sizes; what follows a face's corners is its colour."""
    heads = [words[0] for _, words in lines]
    sizes = integers(heads, name, lambda i: f"line {lines[i][0]}")
    wanted = sizes.tolist()
    corners: list[bytes] = []
    for (number, words), size in zip(lines, wanted, strict=True):
        if size < 3 or len(words) <= size:
            message = (
                f"{name}, line {number}: a face of {size} corners with {len(words) - 1} numbers;"
                " correct it or export the wireframe again"
            )
            raise MeshError(message)
        corners += words[1 : size + 1]
    ends = np.cumsum(sizes)

    def place(i: int) -> str:
        return f"line {lines[int(np.searchsorted(ends, i, side='right'))][0]}"

    return integers(corners, name, place), sizes


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write OFF with the shortest numbers that read back the same."""
    file.write(b"OFF\n%d %d 0\n" % (len(mesh.vertices), len(mesh.triangles)))
    for row in mesh.vertices.tolist():
        file.write(b"%a %a %a\n" % tuple(row))
    for row in mesh.triangles.tolist():
        file.write(b"3 %d %d %d\n" % tuple(row))
