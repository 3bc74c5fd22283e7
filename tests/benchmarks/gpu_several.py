"""One GPU and several: the same bits, and how much sooner.

On a machine with two NVIDIA GPUs or more, from the root of the checkout:

    PYTHONPATH=tests/benchmarks python -P tests/benchmarks/gpu_several.py
        [--devices 0,1] [--scale 1.0] [--what points,lattices,segments] [--trace]

100 million points, 10^10 blocks of a lattice to bits, and 10^8 segments, sent or there already:
with the first GPU alone and with all of them, the best of three in wall time. Beside each is what
page-locked copies of as many bytes take by themselves, with one GPU and with all at once: the
host's memory and the bus allow no more. The answers of one GPU, of all and of the CPU are compared
over all rows. It takes 20 GB of memory, and a few minutes with 32 cores; a ``--scale`` of 0.1 is
for a tenth of everything. The scenes of segments are those of gpu_segments.py, which is why
`PYTHONPATH` names this folder where ``-P`` keeps Python from looking beside the script.

With ``--trace`` the last of the calls is told step by step: on which GPU each part and each step
in it began and ended, in milliseconds since the call began.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from gpu_segments import along_normals, terrain

import geodomain
from geodomain import Mesh, PointLocator, SegmentIntersector, Segments, synthetic
from geodomain.backends.cuda import (
    device,
    devices,
    grid,
    hierarchy,
    lattice_slabs,
    pipeline,
    segments,
    staging,
)
from geodomain.backends.gpus import crew
from geodomain.backends.threads import thread_count

ROUNDS = 3
BATCH = 2_000_000
PIECE = 64 << 20
POINTS, BLOCKS, SEGMENTS = 100_000_000, 1e10, 100_000_000


class Host:
    """Page-locked memory for what goes in and what comes out, got once: that is slow."""

    def __init__(self, scale: float) -> None:
        self.inward = geodomain.pinned_empty(int(24 * POINTS * scale), np.uint8)
        self.outward = geodomain.pinned_empty(int(0.16 * BLOCKS * scale) + 1000, np.uint8)
        self.inward[:], self.outward[:] = 1, 1


@contextlib.contextmanager
def only(numbers: tuple[int, ...]) -> Iterator[None]:
    """Let indexes that were made for several GPUs be asked on these alone."""
    before = list(devices.chosen)
    devices.chosen[:] = [numbers]
    device.numbers.cache_clear()
    try:
        yield
    finally:
        devices.chosen[:] = before
        device.numbers.cache_clear()


def best(call: Callable[[], object]) -> float:
    """Return the shortest of some calls, after one that makes everything ready."""
    call()
    took = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return min(took)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Trace:
    """When each GPU began and ended its parts and the steps in them, once it is switched on."""

    # Where the steps are, by module and name; a dot is for a method.
    STEPS = (
        (crew, "Shift._answer"), (grid, "GridOnDevice.__init__"),
        (hierarchy, "Hierarchy.__init__"), (segments, "resident"),
        (segments, "CudaSegmentIndex.ask"), (lattice_slabs, "DeviceLattice"),
        (lattice_slabs, "_run"), (pipeline, "_copier"),
        (pipeline, "_run"), (segments, "upload"), (segments, "allocate"), (segments, "download"),
    )  # fmt: skip

    def __init__(self) -> None:
        self.spans: list[tuple[float, float, int, str]] = []
        self.on = False
        for module, name in self.STEPS:
            self._watch(module, name)

    def _watch(self, module: object, name: str) -> None:
        owner: object = module
        *classes, last = name.split(".")
        for one in classes:
            owner = getattr(owner, one)
        real = getattr(owner, last)

        @functools.wraps(real, updated=())
        def timed(*given: object, **options: object) -> object:
            begin = time.perf_counter()
            try:
                return real(*given, **options)
            finally:
                if self.on:
                    ended = time.perf_counter()
                    self.spans.append((begin, ended, device.number(), name))

        setattr(owner, last, timed)

    def tell(self, what: str, call: Callable[[], object]) -> None:
        """Make a call, and say what it did when."""
        self.spans.clear()
        self.on, begin = True, time.perf_counter()
        call()
        self.on, took = False, time.perf_counter() - begin
        say(f"    traced, {what}: {1e3 * took:.2f} ms")
        for first, last, number, name in sorted(self.spans, key=lambda span: (span[2], span[0])):
            say(
                f"      GPU {number} {1e3 * (first - begin):8.2f} to {1e3 * (last - begin):8.2f}"
                f" ({1e3 * (last - first):8.2f})  {name}"
            )


traces: list[Trace] = []


def compare(
    what: str,
    host: Host,
    numbers: tuple[int, ...],
    call: Callable[[], object],
    sides: tuple[int, int],
) -> None:
    """Time a call with one GPU and with all, and copies of as many bytes in and out."""
    with only(numbers[:1]):
        one = best(call)
    every = best(call)
    for trace in traces:
        trace.tell(f"{what}, {len(numbers)} GPUs", call)
        with only(numbers[:1]):
            call()
            trace.tell(f"{what}, one GPU", call)
    alone, together = copies(host, numbers[:1], *sides), copies(host, numbers, *sides)
    count = len(numbers)
    say(f"{what}: {one:.4f} s with one GPU, {every:.4f} s with {count}: {one / every:.2f}x")
    say(
        f"    {sides[0] / 1e9:.2f} GB in and {sides[1] / 1e9:.2f} GB out, copies alone: "
        f"{alone:.4f} s with one, {together:.4f} s with {count}: {alone / together:.2f}x"
    )


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
        with staging.Stager(max(1, thread_count(None) // teams)) as stager:
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


def fill_points(mesh: Mesh, points: np.ndarray) -> None:
    """Make points, a sixteenth of them on vertices and level with them."""
    low, high = mesh.bounds

    def fill(begin: int) -> None:
        rng = np.random.default_rng(begin)
        part = points[begin : begin + BATCH]
        rng.random(out=part)
        part *= 1.2 * (high - low)
        part += low - 0.1 * (high - low)
        corners = mesh.vertices[rng.integers(0, len(mesh.vertices), len(part[::16]))]
        part[::16] = corners
        part[::32, 2] -= 1.0

    in_parallel(fill, range(0, len(points), BATCH))


def in_parallel(work: Callable[[int], None], items: range) -> None:
    """Do work for each of some numbers, in 16 threads."""
    todo = iter(items)
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                item = next(todo, None)
            if item is None:
                return
            work(item)

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def of_points(host: Host, numbers: tuple[int, ...], count: int) -> int:
    mesh = synthetic.star_shaped_orebody(frequency=63, centre=synthetic.MINE)
    points = host.inward[: 24 * count].view(np.float64).reshape(count, 3)
    fill_points(mesh, points)
    shared = PointLocator(mesh, backend="cuda")
    out = host.outward[:count].view(np.bool_)
    what = f"{count:,} points x {len(mesh.triangles):,} triangles"

    def straight() -> object:
        return shared.contains(points, out=out)

    compare(f"{what}, page-locked", host, numbers, straight, (24 * count, count))
    straight()
    every = out.copy()
    ordinary, into = np.array(points), np.empty(count, np.bool_)

    def by_the_ring() -> object:
        return shared.contains(ordinary, out=into)

    compare(f"{what}, ordinary memory", host, numbers, by_the_ring, (24 * count, count))
    teams = len(numbers)
    say(
        f"    copies to rings in memory alone: {fills(ordinary, 1):.4f} s by one team of threads, "
        f"{fills(ordinary, teams):.4f} s by {teams}"
    )
    with only(numbers[:1]):
        one = shared.contains(points)
    begin = time.perf_counter()
    cpu = PointLocator(mesh, backend="cpu").contains(points)
    took = time.perf_counter() - begin
    wrong = [int((one != found).sum()) for found in (every, into, cpu)]
    say(
        f"    of {count:,} points ({one.mean():.1%} inside) {wrong[0]} and {wrong[1]} differ "
        f"between one GPU and {len(numbers)}, {wrong[2]} between one and the CPU ({took:.2f} s)"
    )
    return sum(wrong)


def of_lattices(host: Host, numbers: tuple[int, ...], blocks: float) -> int:
    mesh = synthetic.star_shaped_orebody(frequency=63, centre=synthetic.MINE)
    side = round(blocks ** (1 / 3))
    axes = [np.linspace(low, high, side) for low, high in zip(*mesh.bounds, strict=True)]
    shape = side, side, (side + 7) // 8
    out = host.outward[: shape[0] * shape[1] * shape[2]].reshape(shape)
    shared = PointLocator(mesh, backend="cuda")
    shared.contains(np.zeros((1, 3)))  # the index

    def label() -> object:
        return shared.contains_lattice(*axes, packed=True, out=out)

    what = f"{side}^3 = {float(side) ** 3:.4g} blocks x {len(mesh.triangles):,} triangles to bits"
    compare(f"{what}, page-locked", host, numbers, label, (0, out.nbytes))
    label()
    every = out.copy()
    with only(numbers[:1]):
        label()
    begin = time.perf_counter()
    cpu = geodomain.contains_lattice(mesh, *axes, packed=True, backend="cpu")
    took = time.perf_counter() - begin
    wrong = [int((out != every).sum()), int((out != cpu).sum())]
    say(
        f"    of {out.size:,} bytes {wrong[0]} differ between one GPU and {len(numbers)}, "
        f"{wrong[1]} between one and the CPU ({took:.2f} s)"
    )
    return sum(wrong)


def make_segments(mesh: Mesh, count: int) -> Segments:
    """Return segments along normals, moved about batch by batch."""
    some = min(count, BATCH)
    batch = along_normals(mesh, some)
    starts, ends = np.empty((2, count, 3))

    def fill(begin: int) -> None:
        shift = np.random.default_rng(begin).uniform(-9, 9, 3) * [1, 1, 0.2]
        rows = slice(begin, min(begin + some, count))
        for target, source in ((starts, batch[0]), (ends, batch[1])):
            np.add(source[: rows.stop - begin], shift, out=target[rows])

    in_parallel(fill, range(0, count, some))
    return Segments(starts, ends)


def of_segments(host: Host, numbers: tuple[int, ...], count: int) -> int:
    mesh = terrain()
    begin = time.perf_counter()
    kept = make_segments(mesh, count)
    say(f"{count:,} segments made in {time.perf_counter() - begin:.1f} s")
    shared = SegmentIntersector(mesh, backend="cuda")
    what = f"{count:,} segments x {len(mesh.triangles):,} triangles, how often"

    def ask() -> object:
        return shared.intersect(kept, mode="count")

    def send_and_ask() -> object:
        kept.close()
        return ask()

    compare(f"{what}, sent", host, numbers, send_and_ask, (48 * count, 4 * count))
    every = np.asarray(ask())
    there = best(ask)
    for trace in traces:
        trace.tell("there", ask)
    kept.close()
    with only(numbers[:1]):
        one, alone = np.asarray(ask()), best(ask)
        kept.close()
    ratio = f"{alone / there:.2f}x"
    say(f"{what}, there: {alone:.4f} s with one GPU, {there:.4f} s with {len(numbers)}: {ratio}")
    begin = time.perf_counter()
    cpu = SegmentIntersector(mesh, backend="cpu").intersect(kept, mode="count")
    took = time.perf_counter() - begin
    wrong = [int((one != every).sum()), int((one != cpu).sum())]
    say(
        f"    of {count:,} segments ({(one > 0).mean():.1%} cross) {wrong[0]} differ between one "
        f"GPU and {len(numbers)}, {wrong[1]} between one and the CPU ({took:.2f} s)"
    )
    return sum(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", help="such as 0,1")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--what", default="points,lattices,segments")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    if options.trace:
        traces.append(Trace())
    if options.devices:
        geodomain.use_devices([int(word) for word in options.devices.split(",")])
    numbers = device.numbers()
    names = [device.driver().Device(number).name() for number in numbers]
    say(f"GPUs {', '.join(map(str, numbers))}: {', '.join(names)}; {thread_count(None)} cores")
    if len(numbers) < 2:
        sys.exit("this wants two GPUs or more")
    begin, scale, wrong = time.perf_counter(), options.scale, 0
    host = Host(scale)
    for what in options.what.split(","):
        if what == "points":
            wrong += of_points(host, numbers, int(POINTS * scale))
        elif what == "lattices":
            wrong += of_lattices(host, numbers, BLOCKS * scale)
        else:
            wrong += of_segments(host, numbers, int(SEGMENTS * scale))
        say(f"{time.perf_counter() - begin:.0f} s so far")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
