"""The native scanner of DXF drawings as Python sees it: rows of numbers; what they mean is not."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import library, pointer
from geodomain.errors import MeshError
from geodomain.io.meshes.text import decoded

FACE, POLYLINE, VERTEX, SEQUENCE_END = range(4)  # DxfKind in kernels/text/dxf.h
_CODE, _NUMBER, _INTEGER, _CUT = range(1, 5)  # DxfFault in dxf_groups.h
_EXPECTED = {_CODE: "a group code", _NUMBER: "a finite number", _INTEGER: "a whole number"}


@dataclass(frozen=True)
class Drawing:
    """Rows of a drawing, one an entity: see kernels/text/dxf.h for what each column holds."""

    layers: list[str]
    types: dict[str, int]
    kind: NDArray[np.uint8]
    in_block: NDArray[np.bool_]
    layer: NDArray[np.int32]
    seen: NDArray[np.uint32]
    integers: NDArray[np.int32]
    corners: NDArray[np.float64]


def scan(data: bytes, file: str) -> Drawing:
    """Return the faces and polylines of a drawing.

    Raises
    ------
    MeshError
        If the drawing is cut short, or a line is not what it must be.
    """
    core = library()
    core.geodomain_dxf_open.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(core.geodomain_dxf_open(data, ctypes.c_int64(len(data))))
    if not handle:
        message = f"not enough memory to read {file}"
        raise MemoryError(message)
    try:
        return _rows(core, handle, data, file)
    finally:
        core.geodomain_dxf_close(handle)


def _rows(core: ctypes.CDLL, handle: ctypes.c_void_p, data: bytes, file: str) -> Drawing:
    sizes = np.zeros(7, dtype=np.int64)
    core.geodomain_dxf_sizes(handle, pointer(sizes))
    count, unsure_count, type_count, layer_bytes, type_bytes, fault, place = sizes.tolist()
    if fault:
        raise _fault(fault, place, data, file)
    layers, types = (np.empty(size, dtype=np.uint8) for size in (layer_bytes, type_bytes))
    counts = np.empty(type_count, dtype=np.int64)
    core.geodomain_dxf_names(handle, pointer(layers), pointer(types), pointer(counts))
    kind, in_block = np.empty(count, dtype=np.uint8), np.empty(count, dtype=np.bool_)
    layer, seen = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.uint32)
    integers, corners = np.empty((count, 6), dtype=np.int32), np.empty((count, 12))
    unsure = np.empty((unsure_count, 4), dtype=np.int64)
    columns = (kind, in_block, layer, seen, integers, corners, unsure)
    core.geodomain_dxf_rows(handle, *map(pointer, columns))
    for row, slot, begin, end in unsure.tolist():
        corners[row, slot] = float(data[begin:end].replace(b"d", b"e").replace(b"D", b"e"))
    names = dict(zip(_names(types), counts.tolist(), strict=True))
    return Drawing(_names(layers), names, kind, in_block, layer, seen, integers, corners)


def _names(joined: NDArray[np.uint8]) -> list[str]:
    return [decoded(name) for name in joined.tobytes().split(b"\n")[:-1]]


def _fault(fault: int, place: int, data: bytes, file: str) -> MeshError:
    """Return the error for what stopped the scanner."""
    if fault == _CUT:
        message = (
            f"{file} is cut short: its section ENTITIES does not end; copy or export the drawing"
            " again"
        )
        return MeshError(message)
    line = data.count(b"\n", 0, place) + 1
    found = data[place : place + 40].split(b"\n")[0].strip().decode("utf-8", "replace")
    message = (
        f"{file}, line {line}: {found!r} is not {_EXPECTED[fault]}; correct it or export the"
        " drawing again"
    )
    return MeshError(message)
