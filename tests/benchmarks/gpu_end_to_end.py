"""Measure whole calls on a GPU against the copies that they cannot do without.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_end_to_end.py

The reference is the copy of the same bytes between page-locked memory and the device, in and
out, on one stream. Goals: page-locked arrays within 1.2 times it, ordinary arrays with an
``out=`` that was used before within 1.5; a fresh result is reported. Minima of several runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from gpu_kernels import around
from growth import kernels, resident

import geodomain
from geodomain import PointLocator, synthetic, use_devices
from geodomain.compute.cuda import buffers, device

POINTS = 10_000_000
SIDE = 1000
RUNS = 50  # over a third of a second, in which a shared host is quiet for once


def best(work: Callable[[], object]) -> float:
    """Return the least of several wall-clock times, in seconds, after one that warms up."""
    work()
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def copies(sources: list[np.ndarray], targets: list[np.ndarray]) -> float:
    """Return the time of copying page-locked arrays in and out, by events of the device."""
    with device.current() as driver:
        stream = driver.Stream()
        begin, end = driver.Event(), driver.Event()
        size = max([array.nbytes for array in [*sources, *targets]])
        memory = driver.mem_alloc(size)
        times = []
        for _ in range(RUNS + 1):
            begin.record(stream)
            for array in sources:
                driver.memcpy_htod_async(memory, array, stream)
            for array in targets:
                driver.memcpy_dtoh_async(array, memory, stream)
            end.record(stream)
            end.synchronize()
            times.append(end.time_since(begin) / 1e3)
        memory.free()
    return min(times[1:])


def say(what: str, seconds: float, reference: float, goal: float | None = None) -> None:
    ratio = seconds / reference
    verdict = "" if goal is None else f"  goal {goal}: {'kept' if ratio <= goal else 'MISSED'}"
    sys.stdout.write(f"  {what:34}{1e3 * seconds:9.2f} ms{ratio:7.2f}x{verdict}\n")


def scattered(mesh: geodomain.Mesh) -> None:
    low, high = mesh.bounds
    points = low + (np.random.default_rng(0).random((POINTS, 3)) * 1.2 - 0.1) * (high - low)
    pinned = geodomain.pinned_empty(points.shape, points.dtype)
    pinned[:] = points
    columns = np.asfortranarray(points)
    out, pinned_out = np.zeros(POINTS, bool), geodomain.pinned_empty(POINTS, bool)
    locator = PointLocator(mesh, backend="cuda")
    reference = copies([pinned], [pinned_out])
    sys.stdout.write(f"{POINTS:,} points, {len(mesh.triangles):,} triangles, contains\n")
    say("copy in and out, page-locked", reference, reference)
    say(
        "page-locked arrays", best(lambda: locator.contains(pinned, out=pinned_out)), reference, 1.2
    )
    say(
        "ordinary arrays, warm out=",
        best(lambda: locator.contains(points, out=out)),
        reference,
        1.5,
    )
    say("ordinary columns, warm out=", best(lambda: locator.contains(columns, out=out)), reference)
    say("ordinary arrays, fresh result", best(lambda: locator.contains(points)), reference)
    for threads in (1, 2, 4, 6, 8):
        seconds = ordinary(mesh, points, out, threads)
        say(f"ordinary, warm, {threads} threads", seconds, reference)
    say(
        "the function, index included",
        best(lambda: geodomain.contains(mesh, pinned, backend="cuda", out=pinned_out)),
        reference,
    )
    meshes = [locator] * 4
    codes = geodomain.pinned_empty(POINTS, np.int32)
    reference = copies([pinned], [codes])
    say(
        "codes of 4 meshes, page-locked",
        best(lambda: geodomain.label_codes(pinned, meshes, out=codes)),
        reference,
    )
    expected = PointLocator(mesh, backend="cpu").contains(points)
    same = np.array_equal(out, expected) and np.array_equal(pinned_out, expected)
    sys.stdout.write(f"  equal to the CPU: {same}\n")


def ordinary(mesh: geodomain.Mesh, points: np.ndarray, out: np.ndarray, threads: int) -> float:
    locator = PointLocator(mesh, backend="cuda", threads=threads)
    return best(lambda: locator.contains(points, out=out))


def lattice(mesh: geodomain.Mesh) -> None:
    axes = [np.linspace(low, high, SIDE) for low, high in zip(*mesh.bounds, strict=True)]
    shape = (SIDE, SIDE, (SIDE + 7) // 8)
    pinned, out = geodomain.pinned_empty(shape, np.uint8), np.zeros(shape, np.uint8)
    locator = PointLocator(mesh, backend="cuda")
    reference = copies([], [pinned])
    sys.stdout.write(
        f"{SIDE}^3 blocks, {len(mesh.triangles):,} triangles, contains_lattice, bits\n"
    )

    def label(room: np.ndarray | None) -> object:
        return locator.contains_lattice(*axes, packed=True, out=room)

    say("copy out, page-locked", reference, reference)
    say("page-locked out=", best(lambda: label(pinned)), reference, 1.2)
    say("ordinary, warm out=", best(lambda: label(out)), reference)
    say("fresh result", best(lambda: label(None)), reference)
    say(
        "the function, page-locked out=",
        best(
            lambda: geodomain.contains_lattice(mesh, *axes, packed=True, backend="cuda", out=pinned)
        ),
        reference,
    )
    expected = geodomain.contains_lattice(mesh, *axes, packed=True, backend="cpu")
    same = np.array_equal(pinned, expected) and np.array_equal(out, expected)
    sys.stdout.write(f"  equal to the CPU: {same}\n")


def first_call(mesh: geodomain.Mesh) -> None:
    """Say what the first call costs: the driver, a context, the kernels, the first labels."""
    began = time.perf_counter()
    device.driver()
    driver_up = time.perf_counter()
    with device.current():
        pass
    context_up = time.perf_counter()
    geodomain.contains(mesh, [[0.0, 0.0, 0.0]], backend="cuda")
    end = time.perf_counter()
    again = time.perf_counter()
    geodomain.contains(mesh, [[0.0, 0.0, 0.0]], backend="cuda")
    sys.stdout.write(
        f"first call: PyCUDA and the driver {driver_up - began:.3f} s, context "
        f"{context_up - driver_up:.3f} s, kernels and labels {end - context_up:.3f} s "
        f"(goal 0.3 s after the driver is up, with a warm cache); a second call "
        f"{1e3 * (time.perf_counter() - again):.2f} ms\n"
    )


def on_device(mesh: geodomain.Mesh, count: int) -> None:
    """Time points that are on the device already, answers there, beside the kernels alone."""
    points = around(mesh, count)
    alone, call = kernels(mesh, points), resident(mesh, points)
    alone_seconds = min(alone()[0] for _ in range(RUNS))
    call_seconds = min(call()[0] for _ in range(RUNS))
    locator, out = PointLocator(mesh, backend="cuda"), np.zeros(count, bool)
    sys.stdout.write(f"{count:,} points on the device, {len(mesh.triangles):,} triangles\n")
    say("kernels", alone_seconds, alone_seconds)
    say("call, answers there", call_seconds, alone_seconds, 1.15 if count == POINTS else None)
    arrays = best(lambda: locator.contains(points, out=out))
    say("ordinary arrays, warm out=", arrays, alone_seconds)


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    body = synthetic.star_shaped_orebody(frequency=63)
    first_call(body)
    scattered(body)
    lattice(body)
    lattice(synthetic.star_shaped_orebody(frequency=224))
    on_device(body, 1_000)
    on_device(body, POINTS)
    buffers.release()
