"""Reads and writes OFF."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, counted
from geodomain.formats.mesh_text import (
    WordReader,
    WordType,
    floats,
    integers,
    number_lines,
    plain_lines,
    reading_words,
    truncated,
)
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

Line = tuple[int, bytes]
# ST, C and N declare texture, colour and normal after x, y, z; 4 and n declare other dimensions.
_HEADER_LINES = 5  # at most: the keyword and three counts, a line each, and the next line
_KEYWORD = re.compile(rb"(ST)?C?N?(4?n?)OFF$", re.IGNORECASE)


def read(data: bytes, path: Path) -> Faces:
    """Return the vertices and faces of an OFF file; skip normals and colours."""
    name = path.name
    data = plain_lines(data)
    head = list(itertools.islice(_content(data), _HEADER_LINES))
    vertex_count, face_count, start = _counts(head, name)
    if (table := _table(data, head[start - 1][0], vertex_count, face_count)) is not None:
        return table
    lines = list(_content(data))
    if _is_free(lines[start:], vertex_count, face_count):
        words = b" ".join(line for _, line in lines).split()[4:]
        if (faces := _free(words, vertex_count, face_count)) is not None:
            return faces
    if vertex_count + face_count > len(lines) - start:
        promised = f"{vertex_count:,} vertices and {face_count:,} faces"
        raise truncated(name, promised, f"{counted(len(lines) - start, 'line')} follow")
    middle = start + vertex_count
    vertices = _vertices(lines[start:middle], name)
    return Faces(vertices, *_faces(lines[middle : middle + face_count], name))


def _content(data: bytes) -> Iterator[Line]:
    """Yield the number and the text of each line that is not blank and not only a comment."""
    begin = 0
    for number in itertools.count(1):
        end = data.find(b"\n", begin)
        line = data[begin:] if end < 0 else data[begin:end]
        if content := line.partition(b"#")[0].strip():
            yield number, content
        if end < 0:
            return
        begin = end + 1


def _table(data: bytes, header_end: int, vertex_count: int, face_count: int) -> Faces | None:
    """Read an OFF file with the compiled core if it is a plain table; otherwise return None.

    A plain table, as most OFF files are, has no comments after the header, whose last line is
    number `header_end`. All lines of vertices have equally many words, and so have all lines of
    faces. A fault gives None, because the reader of single lines finds it again and reports its
    position.
    """
    start = 0
    for _ in range(header_end):
        start = data.find(b"\n", start) + 1
        if start == 0:
            return None
    if vertex_count == 0 or face_count == 0 or data.find(b"#", start) >= 0:
        return None
    with reading_words(data, start) as words:
        width = _words_of_line(words, 0)
        middle = vertex_count * width
        if middle >= words.count:
            return None
        face_width = _words_of_line(words, middle)
        if width < 3 or face_width < 4 or middle + face_count * face_width != words.count:
            return None
        size = _size_of_face(words, middle)
        if not 3 <= size < face_width:
            return None
        if not words.are_lines(0, vertex_count, width):
            return None
        if not words.are_lines(middle, face_count, face_width):
            return None
        vertices = np.empty((vertex_count, width))
        faces = np.empty((face_count, face_width))
        kinds = [WordType.REAL] * 3 + [WordType.ANY] * (width - 3)
        if words.read(0, np.array(kinds, np.uint8), vertices)[0]:
            return None
        kinds = [WordType.SAME, *[WordType.WHOLE] * size]
        kinds += [WordType.ANY] * (face_width - len(kinds))
        if words.read(middle, np.array(kinds, np.uint8), faces)[0]:
            return None
    corners = faces[:, 1 : 1 + size].view(np.int64).reshape(-1)
    return Faces(np.ascontiguousarray(vertices[:, :3]), corners, np.full(face_count, size))


def _words_of_line(words: WordReader, word: int) -> int:
    """Return how many words a line has from word number `word` on, this word included."""
    begin = words.place(word)
    end = words.data.find(b"\n", begin)
    return len(words.data[begin : None if end < 0 else end].split())


def _size_of_face(words: WordReader, word: int) -> int:
    """Return the number of corners that a word states, or 0 if the word is not a plain number."""
    begin = words.place(word)
    digits = words.data[begin : begin + 4].split()[0]
    return int(digits) if digits.isdigit() else 0


def _counts(lines: list[Line], name: str) -> tuple[int, int, int]:
    """Return the numbers of vertices and faces, and the index of the line after these numbers."""
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
            promised = "vertices and faces"
            raise truncated(name, promised, "the file ends after the first line")
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
    """Return whether the file breaks the rule of one vertex or one face per line."""
    if vertex_count + face_count > len(lines):
        return True
    return any(len(line.split(None, 2)) < 3 for _, line in lines[:vertex_count])


def _free(words: list[bytes], vertex_count: int, face_count: int) -> Faces | None:
    """Return vertices and faces regardless of line breaks; None if words and counts disagree."""
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
                    f"{name}, line {number}: a vertex needs x, y and z, but has "
                    f"{counted(len(row), 'number')}; correct it or export the wireframe again"
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
                f"{name}, line {number}: a face declares {counted(size, 'corner')} and has "
                f"{counted(len(words) - 1, 'number')}, but needs at least 3 corners, and a number "
                "for each; correct it or export the wireframe again"
            )
            raise MeshError(message)
        corners += words[1 : size + 1]
    return corners, sizes


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write OFF with the shortest numbers that read back the same."""
    file.write(b"OFF\n%d %d 0\n" % (len(mesh.vertices), len(mesh.triangles)))
    file.writelines(number_lines(mesh.vertices, ""))
    file.writelines(number_lines(mesh.triangles, "3 "))
