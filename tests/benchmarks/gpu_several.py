"""One GPU and several: the same bits, and how much sooner.

On a machine with two NVIDIA GPUs or more, from the root of the checkout:

    python tests/benchmarks/gpu_several.py [--devices 0,1] [--scale 1.0]

100 million points from page-locked memory, 10^10 blocks of a lattice to bits, and 10^8 segments
that are there and that are sent: with the first GPU alone and with all of them, in turn, the best
of three. Below each is what copies of as many bytes take by themselves, with one GPU and with all
at once, which is what the host's memory and the bus allow. The answers of one, of all and, for
points, of the CPU are compared over all rows. It takes about three minutes with 32 cores; a
``--scale`` of 0.1 takes a tenth of everything.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from gpu_segments import along_normals, terrain

import geodomain
from geodomain import Mesh, PointLocator, SegmentIntersector, Segments, synthetic
from geodomain.backends.cuda import device, devices

ROUNDS = 3
BATCH = 2_000_000
PIECE = 64 << 20


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


def compare(
    what: str, numbers: tuple[int, ...], call: Callable[[], object], sides: tuple[int, int]
) -> None:
    """Time a call with one GPU and with all, and copies of as many bytes in and out."""
    with only(numbers[:1]):
        one = best(call)
    every = best(call)
    say(f"{what}: {one:.3f} s with one, {every:.3f} s with {len(numbers)}: {one / every:.2f}x")
    alone, together = copies(numbers[:1], *sides), copies(numbers, *sides)
    say(
        f"    copies alone, {sides[0] / 1e9:.2f} GB in and {sides[1] / 1e9:.2f} GB out: "
        f"{alone:.3f} s with one, {together:.3f} s with {len(numbers)}: {alone / together:.2f}x"
    )


def copies(numbers: tuple[int, ...], inward: int, outward: int) -> float:
    """Return the seconds of copies from and to page-locked memory, shared by the devices."""

    def move(number: int, share: float) -> None:
        with device.using(number), device.current() as cuda:
            ways = []
            for size, there in ((inward, True), (outward, False)):
                host, memory = rooms[number, there]
                stream = cuda.Stream()
                left = int(size * share)
                while left > 0:
                    part = host[: min(left, PIECE)]
                    if there:
                        cuda.memcpy_htod_async(int(memory), part, stream)
                    else:
                        cuda.memcpy_dtoh_async(part, int(memory), stream)
                    left -= PIECE
                ways.append(stream)
            for stream in ways:
                stream.synchronize()

    rooms = {}
    for number in numbers:
        with device.using(number), device.current() as cuda:
            for there in (True, False):
                host = cuda.pagelocked_empty(PIECE, np.uint8)
                host[:] = 1
                rooms[number, there] = host, cuda.mem_alloc(PIECE)

    def all_at_once() -> None:
        threads = [
            threading.Thread(target=move, args=(number, 1 / len(numbers))) for number in numbers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    took = best(all_at_once)
    for number in numbers:
        with device.using(number), device.current():
            for there in (True, False):
                rooms.pop((number, there))[1].free()
    return took


def points_of(mesh: Mesh, count: int) -> np.ndarray:
    """Return points in page-locked memory, a sixteenth of them on vertices and level with them."""
    low, high = mesh.bounds
    points = geodomain.pinned_empty((count, 3), np.float64)

    def fill(begin: int) -> None:
        rng = np.random.default_rng(begin)
        part = points[begin : begin + BATCH]
        rng.random(out=part)
        part *= 1.2 * (high - low)
        part += low - 0.1 * (high - low)
        corners = mesh.vertices[rng.integers(0, len(mesh.vertices), len(part[::16]))]
        part[::16] = corners
        part[::32, 2] -= 1.0

    in_parallel(fill, range(0, count, BATCH))
    return points


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


def of_points(numbers: tuple[int, ...], count: int) -> int:
    mesh = synthetic.star_shaped_orebody(frequency=63, centre=synthetic.MINE)
    begin = time.perf_counter()
    points = points_of(mesh, count)
    say(f"{count:,} points made in {time.perf_counter() - begin:.1f} s")
    shared = PointLocator(mesh, backend="cuda")
    out = geodomain.pinned_empty(count, np.bool_)
    what = f"{count:,} points x {len(mesh.triangles):,} triangles, page-locked"
    compare(what, numbers, lambda: shared.contains(points, out=out), (24 * count, count))
    ordinary = np.array(points)
    into = np.empty(count, np.bool_)
    what = f"{count:,} points in ordinary memory"
    compare(what, numbers, lambda: shared.contains(ordinary, out=into), (24 * count, count))
    with only(numbers[:1]):
        one = shared.contains(points)
    begin = time.perf_counter()
    cpu = geodomain.PointLocator(mesh, backend="cpu").contains(points)
    took = time.perf_counter() - begin
    wrong = [int((one != found).sum()) for found in (out, into, cpu)]
    say(
        f"    of {count:,} points {wrong[0]} and {wrong[1]} differ between one GPU and "
        f"{len(numbers)}, {wrong[2]} between one GPU and the CPU ({took:.1f} s there)"
    )
    return sum(wrong)


def of_lattices(numbers: tuple[int, ...], blocks: float) -> int:
    mesh = synthetic.star_shaped_orebody(frequency=63, centre=synthetic.MINE)
    side = round(blocks ** (1 / 3))
    axes = [np.linspace(low, high, side) for low, high in zip(*mesh.bounds, strict=True)]
    out = geodomain.pinned_empty((side, side, (side + 7) // 8), np.uint8)
    shared = PointLocator(mesh, backend="cuda")
    what = f"{side}^3 = {float(side) ** 3:.3g} blocks to bits, page-locked"
    compare(
        what, numbers, lambda: shared.contains_lattice(*axes, packed=True, out=out), (0, out.nbytes)
    )
    one = np.empty_like(out)
    with only(numbers[:1]):
        shared.contains_lattice(*axes, packed=True, out=one)
    some = slice(0, side, max(1, side // 16))
    cpu = geodomain.contains_lattice(mesh, axes[0][some], *axes[1:], packed=True, backend="cpu")
    wrong = [int((one != out).sum()), int((one[some] != cpu).sum())]
    say(
        f"    {wrong[0]} of {out.size:,} bytes differ between one GPU and {len(numbers)}, "
        f"{wrong[1]} of {cpu.size:,} from the CPU's"
    )
    return sum(wrong)


def of_segments(numbers: tuple[int, ...], count: int) -> int:
    mesh = terrain()
    batch = along_normals(mesh, min(count, 4 * BATCH))
    starts, ends = np.empty((2, count, 3))

    def fill(begin: int) -> None:
        shift = np.random.default_rng(begin).uniform(-9, 9, 3) * [1, 1, 0.2]
        size = min(BATCH, count - begin)
        first = begin % len(batch[0])
        first = min(first, len(batch[0]) - size)
        for target, source in ((starts, batch[0]), (ends, batch[1])):
            np.add(source[first : first + size], shift, out=target[begin : begin + size])

    in_parallel(fill, range(0, count, BATCH))
    shared = SegmentIntersector(mesh, backend="cuda")
    wrong = 0
    begin = time.perf_counter()
    kept = Segments(starts, ends)
    say(f"{count:,} segments prepared in {time.perf_counter() - begin:.1f} s")

    def sent() -> object:
        kept.close()
        return shared.intersect(kept, mode="count")

    sides = 48 * count, 4 * count
    compare(f"{count:,} segments x {len(mesh.triangles):,} triangles", numbers, sent, sides)
    every = shared.intersect(kept, mode="count")
    what = f"{count:,} segments, on the GPUs already"
    kept.close()
    with only(numbers[:1]):
        shared.intersect(kept, mode="count")
        alone = best(lambda: shared.intersect(kept, mode="count"))
        one = shared.intersect(kept, mode="count")
    kept.close()
    together = best(lambda: shared.intersect(kept, mode="count"))
    say(
        f"{what}: {alone:.3f} s with one, {together:.3f} s with {len(numbers)}: ",
    )
    say(f"    {alone / together:.2f}x; the copies are those of {4 * count / 1e9:.2f} GB out")
    last = slice(max(0, count - BATCH), count)
    cpu = geodomain.intersect(mesh, starts[last], ends[last], mode="count", backend="cpu")
    wrong = [int((one != every).sum()), int((one[last] != cpu).sum())]
    say(
        f"    {wrong[0]} of {count:,} segments differ between one GPU and {len(numbers)}, "
        f"{wrong[1]} of the last {len(cpu):,} from the CPU's"
    )
    kept.close()
    return sum(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", help="such as 0,1")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--what", default="points,lattices,segments")
    options = parser.parse_args()
    if options.devices:
        geodomain.use_devices([int(word) for word in options.devices.split(",")])
    numbers = device.numbers()
    names = [device.driver().Device(number).name() for number in numbers]
    say(f"GPUs {', '.join(map(str, numbers))}: {', '.join(names)}")
    if len(numbers) < 2:
        sys.exit("this wants two GPUs")
    scale, wrong = options.scale, 0
    asked = options.what.split(",")
    if "points" in asked:
        wrong += of_points(numbers, int(100_000_000 * scale))
    if "lattices" in asked:
        wrong += of_lattices(numbers, 1e10 * scale)
    if "segments" in asked:
        wrong += of_segments(numbers, int(100_000_000 * scale))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
