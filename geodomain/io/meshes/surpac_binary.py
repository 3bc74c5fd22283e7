"""Reads the binary records and triangles of Surpac's files; their text form is in surpac.py."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from geodomain.io.meshes.text import damaged

_RECORD = struct.Struct(
    ">i3d"
)  # string, northing, easting, elevation; then a text that ends in NUL
_TRIANGLE = np.dtype([("kind", ">i4"), ("number", ">i4"), ("corners", ">i4", 3), ("rest", "V13")])
_OBJECT = struct.Struct(">iiiBi")
_PART = struct.Struct(">iBi")
_MARK = b"\0" * 5
_END = b"\xff" * 8


def _after_lines(data: bytes, lines: int) -> int:
    """Return where the data starts after some lines of text, -1 if there are fewer."""
    at = 0
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return -1
    return at


def is_binary(data: bytes, lines: int) -> bool:
    """Tell whether five zero bytes follow the lines of text at the start."""
    at = _after_lines(data, lines)
    return at >= 0 and data[at : at + 5] == _MARK


def _records(data: bytes, at: int, file: str) -> tuple[list[tuple[int, float, float, float]], int]:
    """Return the records to the one that says END, and where the data goes on."""
    found: list[tuple[int, float, float, float]] = []
    while at + _RECORD.size < len(data):
        record = _RECORD.unpack_from(data, at)
        text = at + _RECORD.size
        end = data.find(b"\0", text)
        if end < 0:
            break
        if record[0] == 0 and data[text:end].startswith(b"END"):
            return found, end + 1
        found.append(record)
        at = end + 1
    raise damaged(file, "it has no record END")


def read_records(data: bytes, file: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return (east, north, up) of each record of a .str, and whether it ends a segment."""
    found, _ = _records(data, _after_lines(data, 2) + len(_MARK), file)
    table = np.array(found, dtype=np.float64).reshape(-1, 4)
    return np.ascontiguousarray(table[:, [2, 1, 3]]), table[:, 0] == 0


def read_groups(data: bytes, file: str) -> dict[str, NDArray[np.int64]]:
    """Return the corners of each trisolation of a .dtm."""
    _, at = _records(data, _after_lines(data, 1) + len(_MARK), file)
    found: dict[str, NDArray[np.int64]] = {}
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
            raise damaged(file, f"there is no object at byte {at:,}, and no end of the file")
        at = data.find(b"\0", at) + 1
        if at == 0:
            raise damaged(file, "the description of its last object does not end")
        rows = _triangles(data, at)
        name = f"{thing}.{part}"
        corners = rows["corners"].astype(np.int64)
        found[name] = np.concatenate([found[name], corners]) if name in found else corners
        at += rows.nbytes
    return {name: corners for name, corners in found.items() if len(corners)}


def _triangles(data: bytes, at: int) -> NDArray[np.void]:
    """Return the triangles from a place on; the first thing that is none ends them."""
    count = (len(data) - at) // _TRIANGLE.itemsize
    rows = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=at)
    other = rows["kind"] != 3
    return rows[: int(other.argmax())] if other.any() else rows
