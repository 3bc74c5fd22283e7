"""Answers from the device to the caller's array, piece by piece; no geometry."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.cuda import device, libcuda
from geodomain.backends.cuda.pools import Pool
from geodomain.backends.cuda.pycuda_types import CudaStream
from geodomain.backends.cuda.staging import Stager

_PIECE_BYTES = 8 << 20
_LEAST_BYTES = 1 << 16
_PIECES = 3  # filled by the bus, emptied, and waited for


class OutletPiece:
    """Page-locked memory that the bus copies to, and when it has."""

    def __init__(self, room: int) -> None:
        cuda = device.driver()
        self.memory = cuda.pagelocked_empty(room, np.uint8)
        self.full = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Outlet:
    """Pieces of ``room`` bytes that answers pass through."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces = [OutletPiece(room) for _ in range(_PIECES)]

    def bring(
        self, address: int, out: NDArray[np.generic], stream: CudaStream, stager: Stager
    ) -> None:
        """Copy memory of the device, after a stream's work, to a contiguous array; wait for it."""
        cuda, flat = device.driver(), out.reshape(-1).view(np.uint8)
        if libcuda.is_pinned(flat.ctypes.data, flat.nbytes):
            cuda.memcpy_dtoh_async(flat, address, stream)
            stream.synchronize()
            return
        under_way: deque[tuple[OutletPiece, NDArray[np.uint8]]] = deque()

        def empty() -> None:
            piece, part = under_way.popleft()
            piece.full.synchronize()
            stager.copy(piece.memory[: part.nbytes], part)

        for number, begin in enumerate(range(0, flat.nbytes, self.room)):
            if len(under_way) == len(self.pieces):
                empty()
            part, piece = flat[begin : begin + self.room], self.pieces[number % len(self.pieces)]
            cuda.memcpy_dtoh_async(piece.memory[: part.nbytes], address + begin, stream)
            piece.full.record(stream)
            under_way.append((piece, part))
        while under_way:
            empty()


pool = Pool(Outlet, _LEAST_BYTES)


def room_for(size: int) -> int:
    """Return the bytes of a piece for so many in all."""
    return max(_LEAST_BYTES, min(_PIECE_BYTES, size))
