"""Send points through the device, batch by batch: copy in, compute, copy out."""

from __future__ import annotations

import ctypes
import functools
import math
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout
from geodomain.compute.cuda import buffers, device, driver
from geodomain.compute.cuda.buffers import (
    POINT_BYTES,
    Buffers,
    Filler,
    Kind,
    Pool,
    Slot,
    Stager,
    filling,
    memory_pool,
    pool_of,
    room_for,
)
from geodomain.compute.cuda.device import wait_for
from geodomain.compute.cuda.driver import CudaStream
from geodomain.compute.data import (
    CachedColumns,
    Columns,
    DevicePoints,
    DeviceRoom,
    Floats,
    Points,
    Room,
)

_PIECE_BYTES = 8 << 20
_LEAST_BYTES = 1 << 16
_PIECES = 3  # one is filled by the bus, one emptied, one waiting


class OutletPiece:
    """Page-locked memory to which results are copied, and an event that marks the copy's end."""

    def __init__(self, room: int) -> None:
        cuda = device.driver()
        self.memory = cuda.pagelocked_empty(room, np.uint8)
        self.full = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Outlet:
    """Pieces of page-locked memory (``room`` bytes each), through which results are copied."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces = [OutletPiece(room) for _ in range(_PIECES)]

    def bring(
        self, address: int, out: NDArray[np.generic], stream: CudaStream, stager: Stager
    ) -> None:
        """Copy device memory to a contiguous array after a stream's work; wait for the copy."""
        cuda, flat = device.driver(), out.reshape(-1).view(np.uint8)
        if driver.is_pinned(flat.ctypes.data, flat.nbytes):
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


def piece_bytes(size: int) -> int:
    """Return the size of a piece, in bytes, for results of `size` bytes in total."""
    return max(_LEAST_BYTES, min(_PIECE_BYTES, size))


# The device's copy of points that several queries share.


class DeviceCopy:
    """A copy of cached points on the device; create it while a context is current.

    Attributes
    ----------
    views : dict
        For each range (begin, end) of rows already copied, the kernels' PointsView of these rows.
    """

    def __init__(self, rows: int) -> None:
        self._memory = memory_pool().allocate(24 * rows)
        self.address = int(self._memory)
        self.views: dict[tuple[int, int], bytes] = {}

    def free(self) -> None:
        """Free the memory in the context in which it was allocated."""
        device.free(self._memory)


def copy_of(points: Points) -> DeviceCopy | None:
    """Return the device copy of cached points; a context must be current.

    The copy is allocated if necessary. Returns None if the points are not cached, or if the copy
    does not fit on the device.
    """
    if not isinstance(points, CachedColumns) or len(points[0]) > buffers.IN_FLIGHT:
        return None
    where = f"cuda {device.number()}"
    copy = points.copies.get(where)
    if not isinstance(copy, DeviceCopy):
        try:
            copy = points.copies[where] = DeviceCopy(len(points[0]))
        except device.driver().MemoryError:
            return None
    return copy


# All points, batch by batch.

Send = Callable[[Slot, int, int], bytes]
Copy = Callable[[int, Slot, int, int], bytes]
Fetch = Callable[[Slot, int, int, int], Callable[[], None]]
# Launches kernels for a slot's batch on its stream; returns the address of their results.
Kernels = Callable[[Slot], int]


def answer_all(
    points: Points, out: Room, threads: int, kernels: Kernels, *, together: bool = False
) -> int:
    """Write the results for all points; return the first undecided row, or -1.

    ``out`` is a contiguous array in memory, or a `DeviceRoom`. The results are complete when this
    function returns. If ``together``, batches are large, so the points of a batch lie closer
    together.
    """
    if len(out) == 0:
        return -1
    with device.current():
        return _answer(points, out, threads, kernels, together=together)


def _answer(points: Points, out: Room, threads: int, kernels: Kernels, *, together: bool) -> int:
    """Compute with borrowed buffers; a context must be current, so that buffers can be freed."""
    width = width_of(out)
    there = isinstance(points, DevicePoints) and isinstance(out, DeviceRoom)
    kind: Kind = "together" if together else "resident" if there else "sent"
    with pool_of(kind, width).borrowed(room_for(kind, len(out), width)) as buffers:
        wait_for(points, out)
        if isinstance(points, DevicePoints) and isinstance(out, DeviceRoom):
            return _run(out, buffers, _view_on_device(points), kernels, _across(out))
        with ExitStack() as held:
            stager = held.enter_context(Stager(threads))
            if isinstance(points, DevicePoints):
                send = _view_on_device(points)
            else:
                send = _sender(points, _copier(points, buffers.room, threads, held))
            return _run(out, buffers, send, kernels, _fetcher(out, stager))


def _run(out: Room, buffers: Buffers, send: Send, kernels: Kernels, fetch: Fetch) -> int:
    """Compute all batches, in the slots in turn; return the first undecided row, or -1.

    The results of a slot are copied out before the slot is used again.
    """
    rows, first_refused = len(out), -1
    under_way: deque[tuple[int, Slot, Callable[[], None]]] = deque()

    def take_out() -> None:
        nonlocal first_refused
        begin, slot, deliver = under_way.popleft()
        slot.stream.synchronize()
        deliver()
        refused = slot.first_refused
        if first_refused < 0 and refused is not None:
            first_refused = begin + refused

    for number, begin in enumerate(range(0, rows, buffers.room)):
        if len(under_way) == len(buffers.slots):
            take_out()
        slot = buffers.slots[number % len(buffers.slots)]
        end = min(begin + buffers.room, rows)
        slot.rows = end - begin
        slot.view = send(slot, begin, end)
        slot.begin(_room_there(out, begin))
        deliver = fetch(slot, begin, end, kernels(slot))
        under_way.append((begin, slot, deliver))
    while under_way:
        take_out()
    return first_refused


def _room_there(out: Room, row: int) -> int:
    """Return the address of a row of ``out``; 0 if kernels cannot write to ``out`` directly."""
    if not isinstance(out, DeviceRoom) or out.address % out.dtype.itemsize:
        return 0
    return out.address + width_of(out) * row


def _view_on_device(points: DevicePoints) -> Send:
    """Return a function that returns the kernels' view of rows already on the device."""
    return lambda slot, begin, end: points.view(begin)


def _sender(points: Columns, send: Copy) -> Send:
    """Return a function that copies a batch to the device and returns the kernels' view of it.

    Cached points are copied only once, to memory that other points do not use. Other points are
    copied to the slot's memory.
    """
    copy = copy_of(points)
    if copy is None:
        return lambda slot, begin, end: send(int(slot.coordinates), slot, begin, end)
    start, views = copy.address, copy.views

    def send_once(slot: Slot, begin: int, end: int) -> bytes:
        if (begin, end) not in views:
            for first, last in list(views):  # of other batches, which this one overwrites
                if first < end and begin < last:
                    del views[first, last]
            views[begin, end] = send(start + POINT_BYTES * begin, slot, begin, end)
        return views[begin, end]

    return send_once


def _copier(points: Columns, room: int, threads: int, held: ExitStack) -> Copy:
    """Return a function that copies rows to an address and returns the kernels' view of them."""
    if _is_pinned_rows(points):
        return functools.partial(_send_rows, points)
    if all(_is_pinned_column(column) for column in points):
        return functools.partial(_send_columns, points)
    return functools.partial(_send_pieces, held.enter_context(filling(points, room, threads)))


def _send_rows(points: Columns, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy rows x y z, x y z, ... directly from the caller's page-locked memory."""
    source = _bytes_at(points[0].ctypes.data + POINT_BYTES * begin, POINT_BYTES * (end - begin))
    device.driver().memcpy_htod_async(start, source, slot.stream)
    return _view_of_rows(start)


def _send_columns(points: Columns, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy three columns directly from the caller's page-locked memory."""
    step = 8 * (end - begin)
    for axis, column in enumerate(points):
        place = start + axis * step
        device.driver().memcpy_htod_async(place, column[begin:end], slot.stream)
    return layout.points_view((start, start + step, start + 2 * step), (8, 8, 8))


def _send_pieces(filler: Filler, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy rows through the page-locked pieces that the filler's threads fill."""
    filler.send(begin, end, start, slot.stream)
    return _view_of_rows(start)


def _view_of_rows(x: int) -> bytes:
    return layout.points_view((x, x + 8, x + 16), (POINT_BYTES, POINT_BYTES, POINT_BYTES))


def _fetcher(out: Room, stager: Stager) -> Fetch:
    """Return a function that starts to copy a slot's results to `out`.

    When called, that function returns a second function, which completes the copy. Call the second
    function when the slot's stream is done.
    """
    if isinstance(out, DeviceRoom):
        return _across(out)
    cuda = device.driver()
    if driver.is_pinned(out.ctypes.data, out.nbytes):

        def straight(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
            cuda.memcpy_dtoh_async(out[begin:end], address, slot.stream)
            return _nothing

        return straight

    def staged(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
        part = out[begin:end]
        staging = slot.host_answers[: part.nbytes]
        cuda.memcpy_dtoh_async(staging, address, slot.stream)
        return lambda: stager.copy(staging, part)

    return staged


def _across(out: DeviceRoom) -> Fetch:
    """Return a function that copies a slot's results to `out` on a device.

    If the kernels have already written to `out`, that function does nothing.
    """
    size = width_of(out)

    def across(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
        place = out.address + size * begin
        if place != address:
            device.driver().memcpy_dtod_async(place, address, size * (end - begin), slot.stream)
        return _nothing

    return across


def width_of(out: Room) -> int:
    """Return the size of one result in bytes; a result may be several numbers."""
    return int(math.prod(out.shape[1:]) * out.dtype.itemsize)


def _nothing() -> None:
    """Do nothing, because the results need no second copy."""


def _is_pinned_rows(points: Columns) -> bool:
    """Return whether the columns belong to one page-locked array (n, 3) in C order."""
    places = [column.ctypes.data for column in points]
    if any(column.strides[0] != POINT_BYTES for column in points):
        return False
    together = places[1] == places[0] + 8 and places[2] == places[0] + 16
    return together and driver.is_pinned(places[0], POINT_BYTES * len(points[0]))


def _is_pinned_column(column: Floats) -> bool:
    return column.strides[0] == 8 and driver.is_pinned(column.ctypes.data, column.nbytes)


def _bytes_at(address: int, size: int) -> memoryview:
    """Return a view of memory that PyCUDA can copy from; keep the memory's owner alive."""
    return memoryview((ctypes.c_char * size).from_address(address))
