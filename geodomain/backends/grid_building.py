"""The grid built on the device, from a mesh that is there; what is not for it goes to the host."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodomain.backends import device
from geodomain.backends.pools import allocate_pooled

_BLOCK = 256  # threads: kBlock of grid_build.cu
_SUM_BLOCKS = 1024
_SCAN_BLOCK = 4 * _BLOCK  # cells
_LARGE = (256, 8)  # blocks for large triangles: by triangle, by row
# struct Plan of grid_build.cu: a frame of three axes, and counts.
_PLAN = np.dtype(
    [
        ("frame", np.void, 72),
        ("cells", np.uint32),
        ("entries", np.uint32),
        ("crowds", np.uint32),
        ("longest", np.uint32),
        ("unsure", np.uint32),
        ("large", np.uint32),
    ]
)
_LONG_LIST = 1024  # of entries; a cell that has more, and many times the usual, is crowded
_MOST_TRIANGLES = 1 << 28  # beyond, 32-bit counts of entries might not do


@dataclass(frozen=True)
class BuiltGrid:
    """A grid in device memory, which it keeps: its parts for a GridView, and its size."""

    whole: bytes
    slabs: Any
    lists: Any
    entries: Any
    size: tuple[int, int, int, int]


def build(mesh: bytes, box: bytes, triangle_count: int, density: float) -> BuiltGrid | None:
    """Build the grid over a mesh whose views are given; a context is current.

    None where some cells would be crowded: child grids and bundles are the host's work. All
    kernels go to the null stream, which the others wait for.
    """
    if not 0 < triangle_count <= _MOST_TRIANGLES:
        return None
    cuda, allocate = device.driver(), allocate_pooled
    cells = _most_cells(triangle_count, density)
    blocks = -(-cells // _SCAN_BLOCK)
    plan, slabs, lists = (allocate(size) for size in (_PLAN.itemsize, 16 * cells, 8 * cells + 8))
    # Counts, stamps, unsure pairs and large triangles; sums.
    counts, stamps = allocate(8 * cells), allocate(8 * triangle_count)
    unsure, large = allocate(12 * triangle_count), allocate(4 * triangle_count)
    extents, sums = allocate(24 * _SUM_BLOCKS), allocate(4 * blocks)
    cuda.memset_d32_async(int(slabs), 0, 4 * cells)
    cuda.memset_d32_async(int(counts), 0, 2 * cells)
    parts = (plan, slabs, counts, lists, stamps, unsure, large)
    view = device.structure(mesh, box, *map(int, parts))
    rows = -(-triangle_count // _BLOCK)
    _launch("extents", _SUM_BLOCKS, view, int(extents))
    _launch("plan", 1, view, int(extents), ctypes.c_int32(_SUM_BLOCKS), float(density))
    _launch("count", rows, view)
    _launch("count_large", _LARGE, view)
    _launch("mark_full", _SUM_BLOCKS, view)
    _launch("sums", blocks, view, int(sums))
    _launch("offsets", 1, view, int(sums), ctypes.c_uint32(blocks))
    _launch("lists", blocks, view, int(sums))
    record = np.empty(1, dtype=_PLAN)
    cuda.memcpy_dtoh(record, plan)
    found = record[0]
    if _is_for_the_host(found, triangle_count):
        return None
    entries = allocate(8 * max(int(found["entries"]), 1))
    _launch("scatter", rows, view, int(entries))
    if found["large"]:
        _launch("scatter_large", _LARGE, view, int(entries))
    whole = device.structure(found["frame"].tobytes(), 0, 0)  # its first cell, no bundles
    size = (int(found["cells"]), int(found["entries"]), 1, 0)
    return BuiltGrid(whole, slabs, lists, entries, size)


def _most_cells(triangle_count: int, density: float) -> int:
    """Return the cells that a resolution can have at most: Load::at."""
    wanted = min(max(triangle_count / density, 4096.0), 4194304.0)
    return math.ceil(max(wanted, 1024.0 * math.sqrt(wanted))) + 1


def _is_for_the_host(plan: Any, triangle_count: int) -> bool:
    usual = plan["entries"] / max(plan["cells"], 1)
    crowded = plan["longest"] > _LONG_LIST and plan["longest"] > 8.0 * usual
    return bool(plan["crowds"] or crowded or plan["unsure"] > triangle_count)


def _launch(name: str, blocks: int | tuple[int, int], *fields: Any) -> None:
    grid = (blocks, 1) if isinstance(blocks, int) else blocks
    packed = np.frombuffer(device.arguments(*fields), dtype=np.uint8)
    kernel = device.kernel("grid_build.cu", f"geodomain_build_{name}")
    kernel(packed, grid=grid, block=(_BLOCK, 1, 1))
