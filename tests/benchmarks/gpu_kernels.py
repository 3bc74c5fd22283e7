"""Run the parity kernels on the scenes of the performance table, for a profiler to time.

On a machine with an NVIDIA GPU, from the root of the checkout:

    ncu --clock-control none --metrics gpu__time_duration.sum -k regex:geodomain \
        python tests/benchmarks/gpu_kernels.py \
        [index|points|solids|small_lattice|large_lattice|staircase]

A figure of the table is the sum over a step's kernels, data resident, warm, and of the clear of
a lattice's bits.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import geodomain
from geodomain import synthetic, use_devices
from geodomain.compute import layout
from geodomain.compute.cuda import device, lattices
from geodomain.compute.cuda import points as cuda
from geodomain.compute.cuda import points as grid_building
from geodomain.compute.cuda.buffers import Slot
from geodomain.compute.cuda.driver import Driver
from geodomain.compute.cuda.points import GridOnDevice

SCENES = {79_380: 63, 1_003_520: 224}  # triangles: frequency


def around(mesh: geodomain.Mesh, count: int) -> np.ndarray:
    low, high = mesh.bounds
    return low + (np.random.default_rng(0).random((count, 3)) * 1.2 - 0.1) * (high - low)


def slot_with(driver: Driver, points: np.ndarray) -> Slot:
    """Return room on the device for all of these points, with the points in it."""
    slot = Slot(len(points), 4)
    driver.memcpy_htod(slot.coordinates, points)
    slot.rows, start = len(points), int(slot.coordinates)
    slot.view = layout.points_view((start, start + 8, start + 16), (24, 24, 24))
    return slot


def scattered(mesh: geodomain.Mesh, points: np.ndarray) -> None:
    count = len(points)
    index = cuda.CudaPointIndex(mesh, threads=8)
    with device.current() as driver:
        slot = slot_with(driver, points)
        for _ in range(3):
            slot.begin(0)
            index.label(slot)
            driver.Context.synchronize()
        labels = np.empty(count, dtype=np.bool_)
        driver.memcpy_dtoh(labels, slot.labels)
        counts = np.empty(2, dtype=np.uint32)
        driver.memcpy_dtoh(counts, slot.counts)
    some = slice(0, 1_000_000)
    expected = geodomain.PointLocator(mesh, backend="cpu").contains(points[some])
    wrong = int((labels[some] != expected).sum())
    sys.stdout.write(
        f"{len(mesh.triangles)} triangles, {count} points: {counts[0]} open, {counts[1]} unsure, "
        f"{wrong} labels differ from the CPU's, index {index.size()}\n"
    )


def ten_million() -> geodomain.Mesh:
    body = synthetic.star_shaped_orebody(frequency=500)
    vertices, triangles = body.vertices, body.triangles
    width = (body.bounds[1] - body.bounds[0])[0]
    beside = vertices + np.array([2.0 * width, 0.0, 0.0])
    return geodomain.Mesh(
        np.concatenate([vertices, beside]),
        np.concatenate([triangles, triangles + len(vertices)]),
    )


def building(mesh: geodomain.Mesh) -> None:
    """Build the index again and again, its mesh on the device and memory pooled, in wall time."""
    view = GridOnDevice(mesh, threads=8)
    box = layout.bounds_of(mesh.bounds)
    times = []
    with device.current() as driver:
        for _ in range(6):
            driver.Context.synchronize()
            start = time.perf_counter()
            built = grid_building.build(view.mesh, box, len(mesh.triangles), 1.0)
            driver.Context.synchronize()
            times.append(1e3 * (time.perf_counter() - start))
            assert built is not None
            del built
    said = ", ".join(f"{each:.2f}" for each in times)
    sys.stdout.write(f"{len(mesh.triangles)} triangles, index in ms: {said}\n")


def lattice(mesh: geodomain.Mesh, axes: list[np.ndarray], *, packed: bool) -> None:
    """Label into an array on the device: its kernels and the clear are a figure of the table."""
    expected = geodomain.contains_lattice(mesh, *axes, packed=packed, backend="cpu")
    out = geodomain.DeviceArray(expected.shape, expected.dtype)
    locator = geodomain.PointLocator(mesh, backend="cuda")
    lattices.IN_PLACE_BYTES = max(lattices.IN_PLACE_BYTES, expected.size)  # one slab
    times = []
    for _ in range(5):
        start = time.perf_counter()
        locator.contains_lattice(*axes, packed=packed, out=out)
        times.append(1e3 * (time.perf_counter() - start))
    same, said = np.array_equal(out.get(), expected), ", ".join(f"{each:.2f}" for each in times)
    sys.stdout.write(
        f"{len(mesh.triangles)} triangles, labels {expected.shape} on the device, "
        f"{expected.dtype}: equal to the CPU {same}, calls in ms: {said}\n"
    )


def clear(size: int) -> None:
    """Time a clear of the bits, which the profiler does not show; rows of whole words need one."""
    with device.current() as driver:
        memory, stream = driver.mem_alloc(size), driver.Stream()
        ahead = driver.mem_alloc(8 << 30)  # work for the device while the clears are sent
        begin, end = driver.Event(), driver.Event()
        for _ in range(3):
            driver.memset_d32_async(ahead, 0, 2 << 30, stream)
            begin.record(stream)
            for _ in range(20):
                driver.memset_d32_async(memory, 0, size // 4, stream)
            end.record(stream).synchronize()
        sys.stdout.write(f"clearing {size} bytes: {end.time_since(begin) / 20:.4f} ms\n")


def over(mesh: geodomain.Mesh, *counts: int) -> list[np.ndarray]:
    return [np.linspace(low, high, n) for low, high, n in zip(*mesh.bounds, counts, strict=True)]


def body(frequency: int) -> geodomain.Mesh:
    return synthetic.star_shaped_orebody(frequency=frequency)


def index() -> None:
    building(body(224))
    building(ten_million())


def points() -> None:
    for frequency in SCENES.values():
        scattered(body(frequency), around(body(frequency), 10_000_000))


def solids() -> None:
    """Time first-wins codes of twenty solids, and of one mesh that has all their triangles."""
    small = body(14)
    size = small.bounds[1] - small.bounds[0]
    many = [
        geodomain.Mesh(small.vertices + size * [0.9 * (k % 5), 0.9 * (k // 5), 0.1 * (k % 3)],
                       small.triangles)
        for k in range(20)
    ]  # fmt: skip
    count = len(small.vertices)
    whole = geodomain.Mesh(
        np.concatenate([mesh.vertices for mesh in many]),
        np.concatenate([mesh.triangles + count * k for k, mesh in enumerate(many)]),
    )
    given = around(whole, 10_000_000)
    for meshes in (many, [whole]):
        locators = [geodomain.PointLocator(mesh, backend="cuda") for mesh in meshes]
        times = []
        for _ in range(3):
            start = time.perf_counter()
            codes = geodomain.label_codes(given, locators)
            times.append(1e3 * (time.perf_counter() - start))
        expected = geodomain.label_codes(given[:1_000_000], meshes, backend="cpu")
        wrong, said = int((codes[:1_000_000] != expected).sum()), [round(each, 1) for each in times]
        sys.stdout.write(
            f"{len(meshes)} solids, {len(whole.triangles)} triangles: {wrong} codes differ from "
            f"the CPU's, calls in ms: {said}\n"
        )


def small_lattice() -> None:
    clear(8 * 200 * 200 * 2)
    lattice(body(63), over(body(63), 200, 200, 100), packed=True)


def large_lattice() -> None:
    clear(8 * 1000 * 1000 * 16)
    for depth in (1000, 1024):  # rows of 125 bytes, and of whole words
        lattice(body(224), over(body(224), 1000, 1000, depth), packed=True)
    lattice(body(224), over(body(224), 1000, 1000, 1000), packed=False)


def staircase() -> None:
    """Time a wireframe on the block lattice beside a body of its size, both at mine coordinates."""
    steps, axes = synthetic.staircase()
    smooth = body(round((len(steps.triangles) / 20) ** 0.5))
    random = np.random.default_rng(1)
    for mesh, lines in ((steps, list(axes)), (smooth, over(smooth, *map(len, axes)))):
        lattice(mesh, lines, packed=True)
        scattered(mesh, np.stack([random.choice(axis, 10_000_000) for axis in lines], axis=1))


STEPS = (index, points, solids, small_lattice, large_lattice, staircase)


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    for step in STEPS:
        if step.__name__ in sys.argv[1:] or len(sys.argv) == 1:
            step()
