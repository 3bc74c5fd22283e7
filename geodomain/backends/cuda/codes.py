"""Which of several solids first holds each point, on the device: the launches; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from geodomain.backends import layout
from geodomain.backends.cuda import device
from geodomain.backends.cuda.buffers import Slot
from geodomain.backends.cuda.pipeline import answer_all
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Points, Room


def first_solids(solids: Sequence[bytes], points: Points, out: Room, threads: int) -> int:
    """Write codes as the backend's ``codes``, of the kernels' Solids: all of them at once."""
    count = "geodomain_codes_single" if device.has_slow_doubles() else "geodomain_codes_quick"
    with device.current():
        [table] = upload(np.frombuffer(b"".join(solids) or b"-", "u1"))
    view = layout.structure("Solids").pack(solid=int(table), count=len(solids))

    def kernels(slot: Slot) -> int:
        slot.clear_lists()
        rows, counts = ctypes.c_uint32(slot.rows), int(slot.counts)
        found = slot.place_of(slot.answers)
        open_rows, unsure_rows = int(slot.open_rows), int(slot.unsure_rows)
        some = device.list_threads(slot.rows)
        device.launch(
            "grid.cu", "geodomain_codes_look_up", slot.rows,
            view, slot.view, rows, found, layout.row_list(open_rows, counts),
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", count, some,
            view, slot.view, open_rows, counts, found, layout.row_list(unsure_rows, counts + 4),
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
