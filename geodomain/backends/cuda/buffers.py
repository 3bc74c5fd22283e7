"""Memory for points on their way through the device: chunks there, page-locked pieces here."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np

from geodomain.backends.cuda import device
from geodomain.backends.cuda.pools import Pool
from geodomain.backends.cuda.pycuda_types import CudaMemory

IN_FLIGHT = 4_194_304  # points on the device at a time, in all the slots
SLOTS = 4  # chunks in flight: copied in, worked on, copied out, and one to wait for
ROOM = IN_FLIGHT // SLOTS  # points of a chunk at most
LEAST_ROOM = 16_384  # below this the CPU is the better place
_SMALL_ROOM = 131_072  # what a small job gets, so that the next one need not grow it
PIECE_ROWS = 262_144  # of the caller's points filled before the bus takes them; divides rooms
_PIECES = 4
# Bytes of answers of a chunk whose points are put in order: the more, the nearer.
TOGETHER = 1 << 25
RESIDENT = 1 << 23  # points of a chunk where points and room for the answers are there already
# Bytes of an answer: a count, a pair of counts, a pair of doubles, five doubles.
WIDTHS = (4, 8, 16, 40)

NONE_REFUSED = 2**64 - 1

# How a chunk's points come: sent as they are, sent and put in order, or there already.
Kind = Literal["sent", "together", "resident"]


class Slot:
    """Room for one chunk on the device: its points, their answers, and a stream for them.

    An answer has ``width`` bytes, one of WIDTHS. A point takes 33 bytes more: 24 of coordinates,
    1 of label, 8 in two lists. Where points and answers are ``resident``, nothing is copied.
    """

    def __init__(self, room: int, width: int, *, resident: bool = False) -> None:
        cuda = device.driver()
        self.room = room
        self.rows = 0
        self.view = b""
        self.into = 0
        self.stream = cuda.Stream()
        self.answers = cuda.mem_alloc(width * room)
        self.labels = cuda.mem_alloc(room)
        self.open_rows = cuda.mem_alloc(4 * room)
        self.unsure_rows = cuda.mem_alloc(4 * room)
        self.counts = cuda.mem_alloc(8)  # open rows, unsure rows
        self._refused = cuda.pagelocked_empty(1, np.uint64)  # kernels write to it over the bus
        self.refused = int(self._refused.ctypes.data)  # the address of the first refused row
        if not resident:
            self.coordinates = cuda.mem_alloc(24 * room)
            self.host_answers = cuda.pagelocked_empty(width * room, np.uint8)

    @property
    def first_refused(self) -> int | None:
        """Return the first refused row of a chunk that is done."""
        row = int(self._refused[0])
        return None if row == NONE_REFUSED else row

    def place_of(self, own: CudaMemory) -> int:
        """Return where the last kernel writes answers: the caller's room, or memory of its own."""
        return self.into or int(own)

    def begin(self, into: int) -> None:
        """Say where answers go, and that no row was refused; nothing of the slot is under way."""
        self.into = into
        self._refused[0] = NONE_REFUSED

    def clear_lists(self) -> None:
        """Empty the lists, in the stream's order."""
        device.driver().memset_d32_async(int(self.counts), 0, 2, self.stream)


class Piece:
    """Page-locked memory that the bus copies from, and when it has."""

    def __init__(self, rows: int) -> None:
        cuda = device.driver()
        self.memory = cuda.pagelocked_empty((rows, 3), np.float64)
        self.free = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Ring:
    """Page-locked pieces of ``room`` points, which are filled in turn."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces = [Piece(room) for _ in range(_PIECES)]


class Buffers:
    """What one call at a time works with on the device."""

    def __init__(self, kind: Kind, width: int, room: int) -> None:
        self.room = room
        resident = kind == "resident"
        slots = 2 if resident else SLOTS
        self.slots = [Slot(room, width, resident=resident) for _ in range(slots)]


def room_for(kind: Kind, rows: int, width: int) -> int:
    """Return the points of a slot for so many in all, a power of two."""
    most = {"sent": ROOM, "together": TOGETHER >> (width - 1).bit_length(), "resident": RESIDENT}
    share = -(-rows // SLOTS) if kind == "sent" else rows
    return min(most[kind], max(_SMALL_ROOM, 1 << (share - 1).bit_length()))


@functools.cache
def pool_of(kind: Kind, width: int) -> Pool[Buffers]:
    """Return what lends buffers whose answers have at least so many bytes."""
    return _pools[kind, next(known for known in WIDTHS if known >= width)]


_kinds: tuple[Kind, ...] = ("sent", "together", "resident")
_pools = {
    (kind, width): Pool(functools.partial(Buffers, kind, width), LEAST_ROOM)
    for kind in _kinds
    for width in WIDTHS
}
rings = Pool(Ring, LEAST_ROOM)
