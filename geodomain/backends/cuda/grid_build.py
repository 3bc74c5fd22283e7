"""The grid built on the device, from a mesh that is there; what is not for it goes to the host."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from geodomain.backends import layout
from geodomain.backends.cuda import device
from geodomain.backends.cuda.arguments import Argument
from geodomain.backends.cuda.pools import allocate_pooled
from geodomain.backends.cuda.pycuda_types import CudaMemory
from geodomain.backends.native import core

_SUM_BLOCKS = 1024
_LARGE = (256, 8)  # blocks for large triangles: by triangle, by row


@dataclass(frozen=True)
class BuiltGrid:
    """A grid in device memory, which it keeps: its parts for a GridView, and its size."""

    whole: bytes
    parts: dict[str, CudaMemory]
    size: tuple[int, int, int, int]


def build(mesh: bytes, box: bytes, triangle_count: int, density: float) -> BuiltGrid | None:
    """Build the grid over a mesh whose views are given; a context is current.

    None where some cells would be crowded: child grids and bundles are the host's work. All
    kernels go to the null stream, which the others wait for.
    """
    if not 0 < triangle_count <= layout.constant("kMostTrianglesBuilt"):
        return None
    cuda = device.driver()
    cells = _most_cells(triangle_count, density)
    block = layout.constant("kBuildThreads")
    blocks = -(-cells // (block * layout.constant("kScannedCells")))
    plan, slabs, lists = _room("Plan", 1), _room("Slabs", cells), _room("List", cells + 1)
    counts, large = allocate_pooled(8 * cells), allocate_pooled(4 * triangle_count)
    stamps, unsure = _room("Stamp", triangle_count), _room("Marking", triangle_count)
    extents, sums = _room("Extent", _SUM_BLOCKS), allocate_pooled(4 * blocks)
    cuda.memset_d32_async(int(slabs), 0, layout.structure("Slabs").size * cells // 4)
    cuda.memset_d32_async(int(counts), 0, 2 * cells)
    view = layout.structure("Building").pack(
        mesh=mesh, bounds=box, plan=int(plan), slabs=int(slabs), counts=int(counts),
        lists=int(lists), stamps=int(stamps), unsure=int(unsure), large=int(large),
    )  # fmt: skip
    rows = -(-triangle_count // block)
    _launch("extents", _SUM_BLOCKS, view, int(extents))
    _launch("plan", 1, view, int(extents), ctypes.c_int32(_SUM_BLOCKS), float(density))
    _launch("count", rows, view)
    _launch("count_large", _LARGE, view)
    _launch("mark_full", _SUM_BLOCKS, view)
    _launch("sums", blocks, view, int(sums))
    _launch("offsets", 1, view, int(sums), ctypes.c_uint32(blocks))
    _launch("lists", blocks, view, int(sums))
    record = layout.structure("Plan").empty()
    cuda.memcpy_dtoh(record, plan)
    if core().is_for_the_host(record, triangle_count):
        return None
    found = record[0]
    entries = _room("Entry", int(found["entry_count"]))
    _launch("scatter", rows, view, int(entries))
    if found["large_count"]:
        _launch("scatter_large", _LARGE, view, int(entries))
    whole = layout.structure("Grid").pack(
        frame=found["frame"].tobytes(), first_cell=0, bundle_begin=0, bundle_end=0
    )
    parts = {"slabs": slabs, "lists": lists, "entries": entries}
    return BuiltGrid(whole, parts, (int(found["cell_count"]), int(found["entry_count"]), 1, 0))


def _room(name: str, count: int) -> CudaMemory:
    """Return device memory for so many of a structure."""
    return allocate_pooled(layout.structure(name).size * count)


def _most_cells(triangle_count: int, density: float) -> int:
    """Return the cells that a resolution can have at most."""
    return core().most_cells(triangle_count, density)


def _launch(name: str, blocks: int | tuple[int, int], *fields: Argument) -> None:
    grid = (blocks, 1) if isinstance(blocks, int) else blocks
    threads = layout.constant("kBuildThreads")
    device.start("grid_build.cu", f"geodomain_build_{name}", grid, threads, *fields)
