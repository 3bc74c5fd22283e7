"""Run the parity kernels on the scenes of the performance table, for a profiler to time.

On a machine with an NVIDIA GPU, from the root of the checkout:

    ncu --clock-control none --metrics gpu__time_duration.sum -k regex:geodomain \
        python tests/benchmarks/gpu_kernels.py

A figure of the table is the sum over a step's kernels, data resident, warm.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import geodomain
from geodomain import synthetic
from geodomain.backends import cuda, device, grid_building, lattice_in_place
from geodomain.backends.buffers import Slot
from geodomain.backends.grid_on_device import GridOnDevice

SCENES = {79_380: 63, 1_003_520: 224}  # triangles: frequency


def scattered(mesh: geodomain.Mesh, count: int) -> None:
    low, high = mesh.bounds
    points = low + (np.random.default_rng(0).random((count, 3)) * 1.2 - 0.1) * (high - low)
    index = cuda.Index(mesh.vertices, mesh.triangles, mesh.bounds, closed=True, threads=8)
    with device.current() as driver:
        slot = Slot(count)
        driver.memcpy_htod(slot.coordinates, points)
        slot.rows, start = count, int(slot.coordinates)
        slot.view = device.structure(start, start + 8, start + 16, 24, 24, 24)
        for _ in range(3):
            slot.clear()
            index.label(slot)
            driver.Context.synchronize()
        labels = np.empty(count, dtype=np.bool_)
        driver.memcpy_dtoh(labels, slot.labels)
        counts = np.empty(4, dtype=np.uint32)
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
    view = GridOnDevice(mesh.vertices, mesh.triangles, mesh.bounds, closed=True, threads=8)
    box = device.structure(*map(float, np.ravel(mesh.bounds)))
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


def lattice(mesh: geodomain.Mesh, shape: tuple[int, int, int]) -> None:
    axes = [np.linspace(low, high, n) for low, high, n in zip(*mesh.bounds, shape, strict=True)]
    for _ in range(3):
        bits = cuda.lattice_bits(mesh.vertices, mesh.triangles, tuple(axes), 8)
    same = np.array_equal(
        bits,
        geodomain.lattice.label_bits(
            mesh, geodomain.lattice.Axes(*axes), geodomain.backends.choose("cpu"), 8
        ),
    )
    sys.stdout.write(f"{len(mesh.triangles)} triangles, lattice {shape}: equal to the CPU {same}\n")


def lattice_there(mesh: geodomain.Mesh, shape: tuple[int, int, int], *, packed: bool) -> None:
    """Label into an array on the device: its kernels and clears are a figure of the table."""
    axes = [np.linspace(low, high, n) for low, high, n in zip(*mesh.bounds, shape, strict=True)]
    expected = geodomain.contains_lattice(mesh, *axes, packed=packed, backend="cpu")
    out = geodomain.DeviceArray(expected.shape, expected.dtype)
    locator = geodomain.PointLocator(mesh, backend="cuda")
    lattice_in_place.SLAB_BYTES = max(lattice_in_place.SLAB_BYTES, expected.size)  # one slab
    times = []
    for _ in range(5):
        start = time.perf_counter()
        locator.contains_lattice(*axes, packed=packed, out=out)
        times.append(1e3 * (time.perf_counter() - start))
    same, said = np.array_equal(out.get(), expected), ", ".join(f"{each:.2f}" for each in times)
    sys.stdout.write(
        f"{len(mesh.triangles)} triangles, lattice {shape} on the device, {expected.dtype}: "
        f"equal to the CPU {same}, calls in ms: {said}\n"
    )


if __name__ == "__main__":
    building(synthetic.star_shaped_orebody(frequency=224))
    building(ten_million())
    for frequency in SCENES.values():
        body = synthetic.star_shaped_orebody(frequency=frequency)
        scattered(body, 10_000_000)
    lattice(synthetic.star_shaped_orebody(frequency=63), (200, 200, 100))
    lattice(synthetic.star_shaped_orebody(frequency=224), (1000, 1000, 1000))
    for packed in (True, False):
        lattice_there(
            synthetic.star_shaped_orebody(frequency=224), (1000, 1000, 1000), packed=packed
        )
