"""Time the kernels of labels on a GPU, by the profiler `ncu`, for the page of measurements.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_kernels.py --measurements docs/measured_h200.json
    python tests/benchmarks/gpu_kernels.py index
    ncu --profile-from-start off --clock-control none --metrics gpu__time_duration.sum \
        python tests/benchmarks/gpu_kernels.py points_a

The first command runs each scene below `ncu`. A scene labels a few times; the profiler sees the
last time. A row of the table is the sum over the kernels of this time, with data on the GPU. The
clear of the bits of a lattice is no kernel, and has a row of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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

BANDWIDTH = 4.2e12  # bytes a second that an H200 moves
PROFILER = (
    "ncu", "--csv", "--profile-from-start", "off", "--clock-control", "none",
    "--metrics", "gpu__time_duration.sum", "--print-units", "base",
)  # fmt: skip
SMALL, LARGE = 63, 224  # frequencies of bodies of 79,380 and 1,003,520 triangles
TIMES = 3  # calls before the one that the profiler sees


def around(mesh: geodomain.Mesh, count: int) -> np.ndarray:
    low, high = mesh.bounds
    return low + (np.random.default_rng(0).random((count, 3)) * 1.2 - 0.1) * (high - low)


def profile(step: Callable[[], object]) -> None:
    """Run a step a few times, and once more for the profiler."""
    import pycuda.driver

    for _ in range(TIMES):
        step()
    with device.current() as driver:
        driver.Context.synchronize()
        pycuda.driver.start_profiler()
    step()
    with device.current() as driver:
        driver.Context.synchronize()
        pycuda.driver.stop_profiler()


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

        def step() -> None:
            slot.begin(0)
            index.label(slot)

        profile(step)
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
    """Label a lattice into an array on the device."""
    expected = geodomain.contains_lattice(mesh, *axes, packed=packed, backend="cpu")
    out = geodomain.DeviceArray(expected.shape, expected.dtype)
    locator = geodomain.PointLocator(mesh, backend="cuda")
    lattices.IN_PLACE_BYTES = max(lattices.IN_PLACE_BYTES, expected.size)  # one slab
    profile(lambda: locator.contains_lattice(*axes, packed=packed, out=out))
    sys.stdout.write(
        f"{len(mesh.triangles)} triangles, labels {expected.shape} on the device, "
        f"{expected.dtype}: equal to the CPU {np.array_equal(out.get(), expected)}\n"
    )


def clear(size: int) -> float:
    """Return the milliseconds of a clear of bits, by events."""
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
        return end.time_since(begin) / 20


def over(mesh: geodomain.Mesh, *counts: int) -> list[np.ndarray]:
    return [np.linspace(low, high, n) for low, high, n in zip(*mesh.bounds, counts, strict=True)]


def body(frequency: int) -> geodomain.Mesh:
    return synthetic.star_shaped_orebody(frequency=frequency)


def index() -> None:
    building(body(LARGE))
    building(ten_million())


def points(frequency: int) -> None:
    scattered(body(frequency), around(body(frequency), 10_000_000))


def solids(*, joined: bool) -> None:
    """Label points by twenty solids, or by one mesh that has all their triangles."""
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
    given, meshes = around(whole, 10_000_000), [whole] if joined else many
    locators = [geodomain.PointLocator(mesh, backend="cuda") for mesh in meshes]
    profile(lambda: geodomain.label_codes(given, locators))
    some = given[:1_000_000]
    expected = geodomain.label_codes(some, meshes, backend="cpu")
    wrong = int((geodomain.label_codes(some, locators) != expected).sum())
    sys.stdout.write(f"{len(meshes)} solids: {wrong} codes differ from the CPU's\n")


def large(depth: int, *, packed: bool) -> None:
    lattice(body(LARGE), over(body(LARGE), 1000, 1000, depth), packed=packed)


def staircase(*, smooth: bool, level: bool) -> None:
    """Label by a wireframe on the block lattice, or a body of its size, at mine coordinates."""
    mesh, axes = synthetic.staircase()
    lines = list(axes)
    if smooth:
        mesh = body(round((len(mesh.triangles) / 20) ** 0.5))
        lines = over(mesh, *map(len, axes))
    if level:
        random = np.random.default_rng(1)
        scattered(mesh, np.stack([random.choice(axis, 10_000_000) for axis in lines], axis=1))
    else:
        lattice(mesh, lines, packed=True)


# A scene: the work, the bytes that it has to move, and what runs it.
Scene = tuple[str, int, Callable[[], None]]
SCENES: dict[str, Scene] = {
    "points_a": ("10M points, 79,380 triangles, to bytes", 250_000_000, lambda: points(SMALL)),
    "points_b": ("10M points, 1,003,520 triangles, to bytes", 250_000_000, lambda: points(LARGE)),
    "solids": (
        "10M points, 20 solids of 3,920 triangles, to codes",
        280_000_000,
        lambda: solids(joined=False),
    ),
    "joined": (
        "10M points, one mesh of these triangles, to codes",
        280_000_000,
        lambda: solids(joined=True),
    ),
    "lattice_a": (
        "200 x 200 x 100 blocks, 79,380 triangles, to bits",
        4_000_000,
        lambda: lattice(body(SMALL), over(body(SMALL), 200, 200, 100), packed=True),
    ),
    "lattice_b": (
        "1000 x 1000 x 1000 blocks, 1,003,520 triangles, to bits",
        380_000_000,
        lambda: large(1000, packed=True),
    ),
    "words": (
        "1000 x 1000 x 1024 blocks (rows of whole words), to bits",
        380_000_000,
        lambda: large(1024, packed=True),
    ),
    "bytes": (
        "1000 x 1000 x 1000 blocks, to bytes",
        1_260_000_000,
        lambda: large(1000, packed=False),
    ),
    "staircase": (
        "10M points level with the walls of a staircase",
        250_000_000,
        lambda: staircase(smooth=False, level=True),
    ),
    "smooth": (
        "10M points in lines, another body of this size",
        250_000_000,
        lambda: staircase(smooth=True, level=True),
    ),
}


def measure(name: str) -> dict[str, str]:
    """Run a scene below the profiler, and return its row."""
    work, size, _ = SCENES[name]
    profiler = shutil.which(PROFILER[0])
    if profiler is None:
        sys.exit("ncu, the profiler of the CUDA toolkit, is not on the PATH")
    command = [profiler, *PROFILER[1:], sys.executable, __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    sys.stdout.write("".join(f"{line}\n" for line in lines if "CPU" in line))
    table = csv.DictReader(line for line in lines if line.startswith('"'))
    times = [float(row["Metric Value"].replace(",", "")) for row in table]
    return row_of(work, size, sum(times) / 1e6, str(len(times)))


def row_of(work: str, size: int, milliseconds: float, kernels: str) -> dict[str, str]:
    """Return a row of the table."""
    return {
        "work": work,
        "kernels": kernels,
        "time": f"{milliseconds:.3g} ms",
        "bytes to move": f"{size / 1e6:,.0f} MB",
        "time of these bytes": f"{1e3 * size / BANDWIDTH:.2g} ms",
    }


def main() -> None:
    """Run the scenes that are named, or measure all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", choices=["index", *SCENES, []])
    parser.add_argument("--measurements", type=Path, help="the JSON for the table of the site")
    asked = parser.parse_args()
    if asked.measurements is not None:
        rows = [measure(name) for name in SCENES]
        use_devices(device.numbers()[:1])
        size = 8 * 1000 * 1000 * 16
        rows.append(row_of("clear the bits of 1000 x 1000 x 1000 blocks", size, clear(size), ""))
        asked.measurements.write_text(json.dumps({"kernels": rows}, indent=1) + "\n", "utf-8")
        return
    use_devices(device.numbers()[:1])
    for name in asked.scenes or SCENES:
        index() if name == "index" else SCENES[name][2]()


if __name__ == "__main__":
    main()
