"""Segments by the hundred million through 4 GB of a GPU's memory: what is taken at most.

On a machine with an NVIDIA GPU and 32 GB of memory, from the root of the checkout:

    python tests/benchmarks/gpu_streaming.py [--rays 100000000] [--folder /dev/shm]

The ends are memory-mapped files. All but 4 GB of the GPU is taken by something else first.
Each answer's last rows are compared with the CPU's.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gpu_segments import MODES, along_normals, differences, terrain

from geodomain import Hits, Mesh, intersect, use_devices
from geodomain.compute.cuda import device

ROOM = 4_000_000_000
BATCH = 5_000_000
LAST = 500_000


def mapped(folder: Path, mesh: Mesh, rays: int) -> list[np.ndarray]:
    """Segments along normals, moved about as a whole for each batch."""
    rng, batch = np.random.default_rng(4), along_normals(mesh, min(BATCH, rays))
    paths = [folder / "starts.npy", folder / "ends.npy"]
    files = [np.lib.format.open_memmap(p, "w+", np.float64, (rays, 3)) for p in paths]
    for begin in range(0, rays, BATCH):
        count = min(BATCH, rays - begin)
        shift = rng.uniform(-9, 9, (count, 1)) * [1, 1, 0.2]
        for out, ends in zip(files, batch, strict=True):
            np.add(ends[:count], shift, out=out[begin : begin + count])
    return [np.load(path, mmap_mode="r") for path in paths]


def sheets(count: int, rays: int) -> tuple[Mesh, np.ndarray, np.ndarray]:
    """Squares one above the other, and segments that cross all of them."""
    square = np.array([[0, 0], [100, 0], [100, 100], [0, 100]])
    vertices = [[*corner, level] for level in range(count) for corner in square]
    triangles = [[4 * k, 4 * k + i, 4 * k + i + 1] for k in range(count) for i in (1, 2)]
    places = np.random.default_rng(5).uniform(1, 99, (2, rays, 2))
    starts, ends = np.empty((2, rays, 3))
    for rows, place, level in ((starts, places[0], -1), (ends, places[1], count + 1)):
        rows[:, :2], rows[:, 2] = place, level
    return Mesh(vertices, triangles), starts, ends


@contextlib.contextmanager
def crowded() -> Iterator[list[int]]:
    """Leave ROOM bytes of the GPU, and note the least that is left of them."""
    with device.current() as cuda:
        ballast = cuda.mem_alloc(cuda.mem_get_info()[0] - ROOM)
    least, stop = [ROOM], threading.Event()

    def watch() -> None:
        while not stop.wait(0.002):
            with device.current() as cuda:
                least[0] = min(least[0], cuda.mem_get_info()[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield least
    finally:
        stop.set()
        watcher.join()
        device.free(ballast)


def last_of(answer: Any, rays: int, begin: int) -> Any:
    if not isinstance(answer, Hits):
        return answer[begin:]
    kept = answer.segment >= begin
    columns = {
        name: getattr(answer, name)[kept]
        for name in ("triangle", "t", "u", "v", "distance", "point")
    }
    return Hits(segment=answer.segment[kept] - begin, segment_count=rays - begin, **columns)


def stream(
    name: str, least: list[int], modes: tuple[str, ...], mesh: Mesh, starts: Any, ends: Any
) -> int:
    rays, wrong, begin = len(starts), 0, max(0, len(starts) - LAST)
    for mode in modes:
        least[0], start = ROOM, time.perf_counter()
        answer = intersect(mesh, starts, ends, mode=mode, backend="cuda")
        took = time.perf_counter() - start
        expected = intersect(mesh, starts[begin:], ends[begin:], mode=mode, backend="cpu")
        differ = differences(last_of(answer, rays, begin), expected)
        wrong += differ
        sys.stdout.write(
            f"{name}, {mode}: {rays:,} segments in {took:.1f} s, at most "
            f"{(ROOM - least[0]) / 1e9:.2f} of 4 GB taken, {differ} of the last differ\n"
        )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    options = parser.parse_args()
    mesh = terrain()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, crowded() as least:
        ends = mapped(Path(folder), mesh, options.rays)
        wrong = stream("terrain", least, MODES, mesh, *ends)
        wrong += stream("40 sheets", least, ("all",), *sheets(40, options.rays // 23))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    main()
