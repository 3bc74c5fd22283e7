"""Rows on a GPU in an order in which near ones are next to each other, by a counting sort."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from geodomain.backends import layout
from geodomain.backends.cuda import device
from geodomain.backends.cuda.arguments import Argument
from geodomain.backends.cuda.pycuda_types import CudaStream

LEAST_CURVE_BITS, MOST_CURVE_BITS = 12, 24


def curve(frame: bytes, rows: int) -> tuple[bytes, int]:
    """Return the bins of points along a curve, and how many they are.

    They are several to a point, for points are often near a surface.
    """
    bits = min(max(LEAST_CURVE_BITS, 2 + rows.bit_length()), MOST_CURVE_BITS)
    return layout.structure("CurveBins").pack(frame=frame, bits=bits), 1 << bits


def order_by(
    draw: str,
    bins: bytes,
    count: int,
    source: Argument,
    rows: int,
    order: int,
    room: Callable[[int], int],
    stream: CudaStream | None = None,
) -> None:
    """Write the rows of ``source`` to ``order``, bin by bin; the kernel ``draw`` knows a row's."""
    blocks, size = -(-count // layout.constant("kBinsOfBlock")), ctypes.c_uint32(rows)
    tickets = room(layout.structure("BinTicket").size * rows)
    counts, sums, bin_count = room(4 * count), room(4 * blocks), ctypes.c_uint32(count)
    device.driver().memset_d32_async(counts, 0, count, stream)

    def launch(step: str, threads: int, *fields: Argument) -> None:
        device.launch("bins.cu", f"geodomain_bins_{step}", threads, *fields, stream=stream)

    launch(draw, rows, bins, source, size, counts, tickets)
    launch("add_up", blocks * device.block_threads(), bin_count, counts, sums)
    launch("begin", blocks * device.block_threads(), bin_count, sums, counts)
    launch("order", rows, tickets, size, counts, order)
