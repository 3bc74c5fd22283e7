"""Reads and writes Surpac's pairs of files: vertices in a .str, triangles in a .dtm."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, warn
from geodomain.files.streams import read_whole
from geodomain.formats.mesh_text import damaged, decoded, floats, integers, number_lines
from geodomain.formats.registry import unify_lines
from geodomain.formats.solids import NamedFaces, compact
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

_RECORD = struct.Struct(">i3d")  # string, northing, easting, elevation; then a text ending in NUL
_TRIANGLE = np.dtype([("kind", ">i4"), ("number", ">i4"), ("corners", ">i4", 3), ("rest", "V13")])
_OBJECT = struct.Struct(">iiiBi")
_PART = struct.Struct(">iBi")
_MARK = b"\0" * 5
_END = b"\xff" * 8


def _after_lines(data: bytes, lines: int) -> int:
    """Return the byte position after a number of text lines; -1 if there are fewer lines."""
    at = 0
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return -1
    return at


def is_binary_file(data: bytes, lines: int) -> bool:
    """Return whether five zero bytes follow the first `lines` lines, as in binary files."""
    at = _after_lines(data, lines)
    return at >= 0 and data[at : at + 5] == _MARK


def _records(data: bytes, at: int, file: str) -> tuple[list[tuple[int, float, float, float]], int]:
    """Return the binary records from byte `at` up to END, and the byte position after END."""
    records: list[tuple[int, float, float, float]] = []
    while at + _RECORD.size < len(data):
        record = _RECORD.unpack_from(data, at)
        text = at + _RECORD.size
        end = data.find(b"\0", text)
        if end < 0:
            break
        if record[0] == 0 and data[text:end].startswith(b"END"):
            return records, end + 1
        records.append(record)
        at = end + 1
    raise damaged(file, "it has no record END")


def read_records(data: bytes, file: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return (east, north, up) of each record of a binary .str, and whether it ends a segment."""
    records, _ = _records(data, _after_lines(data, 2) + len(_MARK), file)
    table = np.array(records, dtype=np.float64).reshape(-1, 4)
    return np.ascontiguousarray(table[:, [2, 1, 3]]), table[:, 0] == 0


def read_groups(data: bytes, file: str) -> dict[str, NDArray[np.int64]]:
    """Return, for each trisolation of a binary .dtm by name, the point numbers of its triangles."""
    _, at = _records(data, _after_lines(data, 1) + len(_MARK), file)
    groups: dict[str, NDArray[np.int64]] = {}
    thing = 0
    while data[at : at + 8] != _END:
        kind = int.from_bytes(data[at : at + 4], "big")
        if kind == 1 and at + _OBJECT.size < len(data):
            _, thing, _, _, part = _OBJECT.unpack_from(data, at)
            at += _OBJECT.size
        elif kind == 0 and thing and at + _PART.size < len(data):
            _, _, part = _PART.unpack_from(data, at)
            at += _PART.size
        else:
            raise damaged(
                file, f"there is neither an object nor the end of the file at byte {at:,}"
            )
        at = data.find(b"\0", at) + 1
        if at == 0:
            raise damaged(file, "the description of its last object is incomplete")
        rows = _triangles(data, at)
        name = f"{thing}.{part}"
        corners = rows["corners"].astype(np.int64)
        groups[name] = np.concatenate([groups[name], corners]) if name in groups else corners
        at += rows.nbytes
    return {name: corners for name, corners in groups.items() if len(corners)}


def _triangles(data: bytes, at: int) -> NDArray[np.void]:
    """Return the triangles from byte `at` up to the first record that is not a triangle."""
    count = (len(data) - at) // _TRIANGLE.itemsize
    rows = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=at)
    other = rows["kind"] != 3
    return rows[: int(other.argmax())] if other.any() else rows


# --- Text files, and the pairs of files.

_NO_SURFACE = "strings are not a surface: export the .dtm with its .str, or DXF"


def read_triangles(data: bytes, path: Path) -> list[NamedFaces]:
    """Return each trisolation of a .dtm, with vertices from the .str in the same folder."""
    named = decoded(data.split(b",", 1)[0]).strip().replace("\\", "/").rpartition("/")[2]
    partner = _other_of_pair(path, ".str", named)
    if partner is None:
        message = (
            f"{path.name} holds triangles whose vertices are in {path.stem}.str, which is not in "
            "the same folder: copy it there"
        )
        raise MeshError(message)
    return _pair(partner, read_whole(partner), path, data)


def read_strings(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the surface of a .str, with triangles from the .dtm in the same folder."""
    partner = _other_of_pair(path, ".dtm", "")
    if partner is None:
        message = f"{path.name} has no {path.stem}.dtm in the same folder, and {_NO_SURFACE}"
        raise MeshError(message)
    return _pair(path, data, partner, read_whole(partner))


def _other_of_pair(path: Path, extension: str, named: str) -> Path | None:
    """Return the other file of a pair, or None.

    The other file has the name of `path` with another extension, or else the name `named`. Case is
    ignored.
    """
    there = {entry.name.casefold(): entry for entry in path.parent.iterdir()}
    for name in (path.stem + extension, named):
        other = there.get(name.casefold())
        if other is not None and other.is_file() and other != path:
            return other
    return None


def _pair(strings: Path, points: bytes, path: Path, triangles: bytes) -> list[NamedFaces]:
    is_binary = is_binary_file(points, 2)
    read = read_records if is_binary else _read_records
    vertices, is_end = read(points, strings.name)
    split = read_groups if is_binary_file(triangles, 1) else _read_groups
    groups = split(triangles, path.name)
    if not groups:
        message = f"{path.name} has no triangles: export the surface again"
        raise MeshError(message)
    return [
        (name if len(groups) > 1 else "", _faces(vertices, is_end, corners, path.name))
        for name, corners in groups.items()
    ]


def _faces(
    vertices: NDArray[np.float64], is_end: NDArray[np.bool_], corners: NDArray[np.int64], file: str
) -> Faces:
    """Return triangles whose corners are record numbers, counted from 1.

    Records that end a segment have numbers, too. They are not points, so a triangle must not refer
    to them.
    """
    strange = (corners < 1) | (corners > len(vertices))
    strange[~strange] = is_end[corners[~strange] - 1]
    if strange.any():
        row = int(strange.any(axis=1).argmax())
        which = int(corners[row][strange[row]][0])
        message = (
            f"triangle {row + 1} of {file} has the corner {which}, which is not a point of its "
            ".str: the two files do not belong together; export both again"
        )
        raise MeshError(message)
    sizes = np.full(len(corners), 3, dtype=np.int64)
    return compact(Faces(vertices, corners.reshape(-1) - 1, sizes))


def _read_records(data: bytes, file: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return (east, north, up) of each record of a text .str, and whether it ends a segment."""
    strings, places, lines = [], [], []
    for number, line in enumerate(unify_lines(data).split(b"\n")[2:], 3):
        words = line.split(b",", 4)
        if len(words) < 4:
            if line.strip():
                raise damaged(file, f"line {number} has fewer than four fields")
            continue
        if int(words[0].strip() == b"0") and len(words) > 4 and words[4].strip()[:3] == b"END":
            break
        strings.append(words[0])
        places += [words[2], words[1], words[3]]
        lines.append(number)
    else:
        raise damaged(file, "it has no record END")
    places = [place.strip() for place in places]
    numbers = integers([string.strip() for string in strings], file, lambda i: f"line {lines[i]}")
    vertices = floats(places, file, lambda i: f"line {lines[i // 3]}").reshape(-1, 3)
    return vertices, numbers == 0


def _read_groups(data: bytes, file: str) -> dict[str, NDArray[np.int64]]:
    """Return, for each trisolation of a text .dtm by name, the point numbers of its triangles."""
    lines = unify_lines(data).split(b"\n")
    start = next((i for i, line in enumerate(lines) if line.upper().startswith(b"OBJECT")), None)
    if start is None:
        raise damaged(file, "it has no line OBJECT")
    words: dict[str, list[bytes]] = {}
    places: dict[str, list[int]] = {}
    thing = part = b"?"
    ended = True
    for number, line in enumerate(lines[start:], start + 1):
        fields = [field.strip() for field in line.split(b",", 4)]
        key = fields[0].upper()
        if key == b"OBJECT":
            thing, ended = _second(fields, file, number), False
        elif key == b"TRISOLATION":
            part, ended = _second(fields, file, number), False
        elif key == b"END":
            ended = True
        elif key:
            if len(fields) < 4 or part == b"?" or ended:
                raise damaged(file, f"line {number} is not a triangle")
            name = f"{decoded(thing)}.{decoded(part)}"
            words.setdefault(name, []).extend(fields[1:4])
            places.setdefault(name, []).append(number)
    if not ended:
        raise damaged(file, "its last object has no line END")
    return {name: _read_triangles(texts, places[name], file) for name, texts in words.items()}


def _read_triangles(words: list[bytes], lines: list[int], file: str) -> NDArray[np.int64]:
    return integers(words, file, lambda i: f"line {lines[i // 3]}").reshape(-1, 3)


def _second(fields: list[bytes], file: str, number: int) -> bytes:
    if len(fields) < 2:
        raise damaged(file, f"line {number} has no number")
    return fields[1]


def write(solids: dict[str, Mesh], stem: str, triangles: BinaryIO, strings: BinaryIO) -> None:
    """Write a pair of text files, in which each solid is an object with one trisolation.

    The neighbours of triangles are not stored.
    """
    strings.write(f"{stem},01-Jan-00,,\r\n".encode())
    strings.write(b"0, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000\r\n")
    for mesh in solids.values():
        for block in number_lines(mesh.vertices[:, [1, 0, 2]], "32000, ", separator=", "):
            strings.write(block.replace(b"\n", b", \r\n"))
    strings.write(b"0, 0.000, 0.000, 0.000, \r\n0, 0.000, 0.000, 0.000, END\r\n")
    triangles.write(f"{stem}.str,0;algorithm=standard;fields=x,y\r\n".encode())
    triangles.write(b"0, 0.000, 0.000, 0.000, END\r\n")
    _warn_of_names(solids, stem)
    first = 1
    for number, mesh in enumerate(solids.values(), 1):
        closed = b"yes" if mesh.is_closed else b"no"
        triangles.write(b"OBJECT, %d, \r\nTRISOLATION, 1, neighbours=no,validated=false," % number)
        triangles.write(b"closed=%s,algorithm=legacy\r\n" % closed)
        rows = np.zeros((len(mesh.triangles), 6), dtype=np.int64)
        rows[:, :3] = mesh.triangles.astype(np.int64) + first
        for block in number_lines(rows, "", separator=", ", numbered=True):
            triangles.write(block.replace(b"\n", b", \r\n"))
        triangles.write(b"END\r\n")
        first += len(mesh.vertices)


def _warn_of_names(solids: dict[str, Mesh], stem: str) -> None:
    """Warn that numbers replace the names of solids, and list both."""
    lost = [
        f"{name} is {number}.1"
        for number, name in enumerate(solids, 1)
        if len(solids) > 1 and name != f"{number}.1"
    ]
    if lost:
        message = f"{stem}.dtm can store only numbers of solids, not names: {', '.join(lost)}"
        warn(message)
