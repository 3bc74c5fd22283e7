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
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from gpu_copies import Host, best, copies, fills
from gpu_segments import along_normals, terrain
from gpu_trace import Trace, say

import geodomain
from geodomain import Mesh, PointLocator, SegmentIntersector, Segments, synthetic
from geodomain.compute.cuda import device
from geodomain.compute.native import thread_count

BATCH = 2_000_000
POINTS, BLOCKS, SEGMENTS = 100_000_000, 1e10, 100_000_000


@contextlib.contextmanager
def only(numbers: tuple[int, ...]) -> Iterator[None]:
    """Let indexes that were made for several GPUs be asked on these alone."""
    before = list(device.chosen)
    device.chosen[:] = [numbers]
    device.numbers.cache_clear()
    try:
        yield
    finally:
        device.chosen[:] = before
        device.numbers.cache_clear()


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
    kept.close()  # the last call left them on one GPU
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
    host = Host(int(24 * POINTS * scale), int(0.16 * BLOCKS * scale) + 1000)
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
