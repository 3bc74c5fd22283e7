"""All the points through the device, chunk by chunk: in, answered, out; no geometry.

Each chunk has a slot with a stream of its own, so that one is copied in while another is
worked on and a third comes back. Memory that is page-locked already goes straight over the
bus; other memory goes through a small page-locked ring that several threads fill.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack

from geodomain.backends import layout
from geodomain.backends.cuda import device, libcuda
from geodomain.backends.cuda.buffers import Buffers, Kind, Slot, pool_of, room_for
from geodomain.backends.cuda.point_copy import copy_of
from geodomain.backends.cuda.staging import POINT_BYTES, Filler, Stager, filling
from geodomain.backends.cuda.streams import wait_for
from geodomain.backends.data import Columns, Floats, Points, Room
from geodomain.backends.device_memory import DevicePoints, DeviceRoom

Send = Callable[[Slot, int, int], bytes]
Copy = Callable[[int, Slot, int, int], bytes]
Fetch = Callable[[Slot, int, int, int], Callable[[], None]]
# Launches kernels for a slot's chunk on its stream; returns the address of their answers.
Kernels = Callable[[Slot], int]


def answer_all(
    points: Points, out: Room, threads: int, kernels: Kernels, *, together: bool = False
) -> int:
    """Write the answers to all points; return the first refused row or -1.

    ``out`` is an array in memory, contiguous, or a `DeviceRoom`. When this returns, the
    answers are there, whoever looks. With ``together`` the chunks are large.
    """
    if len(out) == 0:
        return -1
    with device.current():
        return _answer(points, out, threads, kernels, together=together)


def _answer(points: Points, out: Room, threads: int, kernels: Kernels, *, together: bool) -> int:
    """Borrow and answer; buffers that nobody keeps go with this frame, in the context."""
    width = width_of(out)
    there = isinstance(points, DevicePoints) and isinstance(out, DeviceRoom)
    kind: Kind = "together" if together else "resident" if there else "sent"
    with pool_of(kind, width).borrowed(room_for(kind, len(out), width)) as buffers:
        wait_for(points, out)
        if isinstance(points, DevicePoints) and isinstance(out, DeviceRoom):
            return _run(out, buffers, _there(points), kernels, _across(out))
        with ExitStack() as held:
            stager = held.enter_context(Stager(threads))
            if isinstance(points, DevicePoints):
                send = _there(points)
            else:
                send = _sender(points, _copier(points, buffers.room, threads, held))
            return _run(out, buffers, send, kernels, _fetcher(out, stager))


def _run(out: Room, buffers: Buffers, send: Send, kernels: Kernels, fetch: Fetch) -> int:
    """Send chunks through the slots in turn; each is taken out before its slot comes round."""
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
    """Return the address of a row's answer where kernels can write it, or 0."""
    if not isinstance(out, DeviceRoom) or out.address % out.dtype.itemsize:
        return 0
    return out.address + width_of(out) * row


def _there(points: DevicePoints) -> Send:
    """Return what tells how the kernels find rows that are on the device."""
    return lambda slot, begin, end: points.view(begin)


def _sender(points: Columns, send: Copy) -> Send:
    """Return what brings rows to a slot and tells how the kernels find them there.

    Points that are kept go to a place of their own, once.
    """
    kept = copy_of(points)
    if kept is None:
        return lambda slot, begin, end: send(int(slot.coordinates), slot, begin, end)
    start, views = kept.address, kept.views

    def send_once(slot: Slot, begin: int, end: int) -> bytes:
        if (begin, end) not in views:
            for first, last in list(views):  # of other chunks, whose place this one takes
                if first < end and begin < last:
                    del views[first, last]
            views[begin, end] = send(start + POINT_BYTES * begin, slot, begin, end)
        return views[begin, end]

    return send_once


def _copier(points: Columns, room: int, threads: int, held: ExitStack) -> Copy:
    """Return what copies rows to an address, and tells how the kernels find them there."""
    if _is_pinned_rows(points):
        return functools.partial(_send_rows, points)
    if all(_is_pinned_column(column) for column in points):
        return functools.partial(_send_columns, points)
    return functools.partial(_send_pieces, held.enter_context(filling(points, room, threads)))


def _send_rows(points: Columns, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy x y z, x y z, ... straight from the caller's memory."""
    source = _bytes_at(points[0].ctypes.data + POINT_BYTES * begin, POINT_BYTES * (end - begin))
    device.driver().memcpy_htod_async(start, source, slot.stream)
    return _view_of_rows(start)


def _send_columns(points: Columns, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy three columns straight from the caller's memory."""
    step = 8 * (end - begin)
    for axis, column in enumerate(points):
        place = start + axis * step
        device.driver().memcpy_htod_async(place, column[begin:end], slot.stream)
    return layout.points_view((start, start + step, start + 2 * step), (8, 8, 8))


def _send_pieces(filler: Filler, start: int, slot: Slot, begin: int, end: int) -> bytes:
    """Copy from the ring that threads fill to the slot, piece by piece."""
    filler.send(begin, end, start, slot.stream)
    return _view_of_rows(start)


def _view_of_rows(x: int) -> bytes:
    return layout.points_view((x, x + 8, x + 16), (POINT_BYTES, POINT_BYTES, POINT_BYTES))


def _fetcher(out: Room, stager: Stager) -> Fetch:
    """Return what starts a copy of a slot's answers, and returns what is left to do after it."""
    if isinstance(out, DeviceRoom):
        return _across(out)
    cuda = device.driver()
    if libcuda.is_pinned(out.ctypes.data, out.nbytes):

        def straight(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
            cuda.memcpy_dtoh_async(out[begin:end], address, slot.stream)
            return _nothing

        return straight

    def staged(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
        part = out[begin:end]
        kept = slot.host_answers[: part.nbytes]
        cuda.memcpy_dtoh_async(kept, address, slot.stream)
        return lambda: stager.copy(kept, part)

    return staged


def _across(out: DeviceRoom) -> Fetch:
    """Return what copies a slot's answers to where the kernels have not written them already."""
    size = width_of(out)

    def across(slot: Slot, begin: int, end: int, address: int) -> Callable[[], None]:
        place = out.address + size * begin
        if place != address:
            device.driver().memcpy_dtod_async(place, address, size * (end - begin), slot.stream)
        return _nothing

    return across


def width_of(out: Room) -> int:
    """Return the bytes of one answer, which may be several numbers."""
    return int(math.prod(out.shape[1:]) * out.dtype.itemsize)


def _nothing() -> None:
    """Leave answers where they are."""


def _is_pinned_rows(points: Columns) -> bool:
    """Return whether the columns are one page-locked array, row after row."""
    places = [column.ctypes.data for column in points]
    if any(column.strides[0] != POINT_BYTES for column in points):
        return False
    together = places[1] == places[0] + 8 and places[2] == places[0] + 16
    return together and libcuda.is_pinned(places[0], POINT_BYTES * len(points[0]))


def _is_pinned_column(column: Floats) -> bool:
    return column.strides[0] == 8 and libcuda.is_pinned(column.ctypes.data, column.nbytes)


def _bytes_at(address: int, size: int) -> memoryview:
    """Return memory as something that PyCUDA copies from; the caller's array keeps it."""
    return memoryview((ctypes.c_char * size).from_address(address))
