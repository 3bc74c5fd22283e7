"""Reads and writes OFF."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.formats.mesh_text import floats, integers, number_lines, truncated
from geodomain.formats.registry import unify_lines
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

Line = tuple[int, bytes]
# ST, C and N declare texture, colour and normal after x, y, z; 4 and n declare other dimensions.
_KEYWORD = re.compile(rb"(ST)?C?N?(4?n?)OFF$", re.IGNORECASE)


def read(data: bytes, path: Path) -> Faces:
    """Return the vertices and faces of an OFF file; skip normals and colours."""
    name = path.name
    lines = [
        (number, content)
        for number, line in enumerate(unify_lines(data).split(b"\n"), 1)
        if (content := line.partition(b"#")[0].strip())
    ]
    vertex_count, face_count, start = _counts(lines, name)
    if _is_free(lines[start:], vertex_count, face_count):
        words = b" ".join(line for _, line in lines).split()[4:]
        if (found := _free(words, vertex_count, face_count)) is not None:
            return found
    if vertex_count + face_count > len(lines) - start:
        promised = f"{vertex_count:,} vertices and {face_count:,} faces"
        raise truncated(name, promised, f"{len(lines) - start:,} lines follow")
    middle = start + vertex_count
    vertices = _vertices(lines[start:middle], name)
    return Faces(vertices, *_faces(lines[middle : middle + face_count], name))


def _counts(lines: list[Line], name: str) -> tuple[int, int, int]:
    """Return the numbers of vertices and faces, and the index of the first line after them."""
    words = lines[0][1].split()
    keyword = _KEYWORD.match(words[0])
    if keyword is None or keyword[2] or words[1:2] == [b"BINARY"]:
        form = b" ".join(words[:2]).decode("utf-8", "replace")
        message = (
            f"{name} is a variant of OFF that is not supported ({form}): export plain OFF or PLY"
        )
        raise MeshError(message)
    start = 1
    if len(words) == 1:
        if len(lines) < 2:
            raise truncated(name, "counts", "it ends after the first line")
        words, start = [words[0], *lines[1][1].split()], 2
    while len(words) < 3 and start < len(lines) and len(more := lines[start][1].split()) < 3:
        words, start = [*words, *more], start + 1
    place = f"line {lines[start - 1][0]}"
    counts = integers(words[1:3], name, lambda _: place)
    if len(counts) < 2 or counts.min() < 0:
        message = f"{name}, {place}: expected the numbers of vertices and faces; export it again"
        raise MeshError(message)
    return int(counts[0]), int(counts[1]), start


def _is_free(lines: list[Line], vertex_count: int, face_count: int) -> bool:
    """Return whether the file does not have one line for each vertex and each face."""
    if vertex_count + face_count > len(lines):
        return True
    return any(len(line.split(None, 2)) < 3 for _, line in lines[:vertex_count])


def _free(words: list[bytes], vertex_count: int, face_count: int) -> Faces | None:
    """Return vertices and faces regardless of line breaks; None if numbers and counts disagree."""
    middle = 3 * vertex_count
    try:
        vertices = np.array(words[:middle], dtype=np.float64).reshape(-1, 3)
        numbers = np.array(words[middle:], dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    heads: list[int] = []
    at = 0
    while at < len(numbers) and len(heads) < face_count:
        heads.append(at)
        at += 1 + max(int(numbers[at]), 0)
    sizes = numbers[heads]
    if len(vertices) != vertex_count or at != len(numbers) or len(heads) != face_count:
        return None
    if (sizes < 3).any() or any(b"_" in word for word in words):
        return None
    return Faces(vertices, np.delete(numbers, heads), sizes)


def _vertices(lines: list[Line], name: str) -> NDArray[np.float64]:
    """Return the vertices, one per line; skip a normal or colour after x, y, z."""
    words = b" ".join(line for _, line in lines).split()
    if len(words) != 3 * len(lines):
        words = []
        for number, line in lines:
            row = line.split()[:3]
            if len(row) < 3:
                message = (
                    f"{name}, line {number}: a vertex needs x, y and z, but there are {len(row)}"
                    " numbers; correct it or export the wireframe again"
                )
                raise MeshError(message)
            words += row
    return floats(words, name, lambda i: f"line {lines[i // 3][0]}").reshape(-1, 3)


def _faces(lines: list[Line], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the corners and sizes of the faces, one per line; skip a colour after the corners."""
    words = b" ".join(line for _, line in lines).split()
    if len(words) == 4 * len(lines) and words[::4].count(b"3") == len(lines):
        del words[::4]
        sizes = np.full(len(lines), 3, dtype=np.int64)
    else:
        words, sizes = _polygons(lines, name)
    ends = np.cumsum(sizes)

    def place(i: int) -> str:
        return f"line {lines[int(np.searchsorted(ends, i, side='right'))][0]}"

    return integers(words, name, place), sizes


def _polygons(lines: list[Line], name: str) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return the words of all corners, face after face, and the size of each face."""
    heads = [line.split(None, 1)[0] for _, line in lines]
    sizes = integers(heads, name, lambda i: f"line {lines[i][0]}")
    corners: list[bytes] = []
    for (number, line), size in zip(lines, sizes.tolist(), strict=True):
        words = line.split()
        if size < 3 or len(words) <= size:
            message = (
                f"{name}, line {number}: a face declares {size} corners but has {len(words) - 1} "
                "numbers;"
                " correct it or export the wireframe again"
            )
            raise MeshError(message)
        corners += words[1 : size + 1]
    return corners, sizes


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write OFF with the shortest numbers that read back the same."""
    file.write(b"OFF\n%d %d 0\n" % (len(mesh.vertices), len(mesh.triangles)))
    file.writelines(number_lines(mesh.vertices, ""))
    file.writelines(number_lines(mesh.triangles, "3 "))
