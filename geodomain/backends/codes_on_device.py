"""Which of several solids first holds each point, on the device: the launches; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodomain.backends import device
from geodomain.backends.buffers import Slot
from geodomain.backends.pipeline import Points, answer_all
from geodomain.backends.staging import upload


def first_solids(solids: Sequence[bytes], points: Points, out: Any, threads: int) -> int:
    """Write codes as the backend's ``codes``, of the kernels' Solids: all of them at once."""
    count = "geodomain_codes_single" if device.has_slow_doubles() else "geodomain_codes_quick"
    with device.current():
        table = upload(np.frombuffer(b"".join(solids) or b"-", "u1"))
    view = device.structure(int(table), ctypes.c_int32(len(solids)))

    def kernels(slot: Slot) -> int:
        rows, found, counts = ctypes.c_uint32(slot.rows), int(slot.answers), int(slot.counts)
        open_rows, unsure_rows = int(slot.open_rows), int(slot.unsure_rows)
        some = min(slot.rows, device.BLOCK * device.LIST_BLOCKS)
        device.launch(
            "grid.cu", "geodomain_codes_look_up", slot.rows,
            view, slot.view, rows, found, device.structure(open_rows, counts),
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", count, some,
            view, slot.view, open_rows, counts, found, device.structure(unsure_rows, counts + 4),
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", "geodomain_codes_full", some,
            view, slot.view, unsure_rows, counts + 4, found, slot.refused, stream=slot.stream,
        )  # fmt: skip
        return found

    try:
        return answer_all(points, out, threads, kernels)
    finally:
        device.free(table)
