"""What copies alone take: over the bus, to and from page-locked memory, and within memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

import geodomain
from geodomain.compute.cuda import buffers, device
from geodomain.compute.native import thread_count

ROUNDS = 3
PIECE = 64 << 20


class Host:
    """Page-locked memory for what goes in and what comes out, got once: that is slow."""

    def __init__(self, inward: int, outward: int) -> None:
        self.inward = geodomain.pinned_empty(inward, np.uint8)
        self.outward = geodomain.pinned_empty(outward, np.uint8)
        self.inward[:], self.outward[:] = 1, 1


def best(call: Callable[[], object]) -> float:
    """Return the shortest of some calls, after one that makes everything ready."""
    call()
    took = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return min(took)


def copies(host: Host, numbers: tuple[int, ...], inward: int, outward: int) -> float:
    """Return the seconds of copies both ways at once, a share of the memory to each device."""
    rooms = {}
    for number in numbers:
        with device.using(number), device.current() as cuda:
            rooms[number] = [cuda.mem_alloc(PIECE), cuda.mem_alloc(PIECE)]

    def move(place: int, number: int) -> None:
        with device.using(number), device.current() as cuda:
            streams = []
            for memory, size, room in (
                (host.inward, inward, rooms[number][0]),
                (host.outward, outward, rooms[number][1]),
            ):
                share = len(memory) // len(numbers)
                mine = memory[place * share : (place + 1) * share]
                streams.append(cuda.Stream())
                left, begin = size // len(numbers), 0
                while left > 0:
                    part = mine[begin : begin + min(left, PIECE)]
                    if memory is host.inward:
                        cuda.memcpy_htod_async(int(room), part, streams[-1])
                    else:
                        cuda.memcpy_dtoh_async(part, int(room), streams[-1])
                    left -= len(part)
                    begin = begin + len(part) if begin + len(part) < share else 0
            for stream in streams:
                stream.synchronize()
            streams.clear()  # while the context is current, as PyCUDA wants it
            del stream

    def all_at_once() -> None:
        threads = [
            threading.Thread(target=move, args=(place, number))
            for place, number in enumerate(numbers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    took = best(all_at_once)
    for number in numbers:
        device.free(*rooms.pop(number))
    return took


def fills(source: np.ndarray, teams: int) -> float:
    """Return the seconds in which teams of threads bring an array to rings of 24 MB, and no more.

    That is what ordinary memory costs before the bus takes it.
    """
    flat = source.reshape(-1).view(np.uint8)
    share, size = len(flat) // teams, 6 << 20
    rings = [np.ones(4 * size, np.uint8) for _ in range(teams)]

    def move(team: int) -> None:
        with buffers.Stager(max(1, thread_count(None) // teams)) as stager:
            for number, begin in enumerate(range(0, share - size, size)):
                place = size * (number % 4)
                stager.copy(flat[share * team + begin :][:size], rings[team][place : place + size])

    def all_at_once() -> None:
        threads = [threading.Thread(target=move, args=(team,)) for team in range(teams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return best(all_at_once)
