"""Time distances on a GPU, and compare their bits with the CPU's.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_distances.py

Times are those of whole calls: arrays in ordinary memory, the index ready, the best of three.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import geodomain
from geodomain import synthetic, use_devices
from geodomain.compute.cuda import device
from geodomain.compute.cuda.distance import CudaNearestIndex

POINTS, COMPARED = 10_000_000, 200_000
SCENES = {79_380: 63, 1_003_520: 224}  # triangles: frequency


def scenes(mesh: geodomain.Mesh) -> dict[str, np.ndarray]:
    """Return points all over the box, near the surface, and in a wider box."""
    rng = np.random.default_rng(0)
    low, high = mesh.bounds
    beside = rng.integers(len(mesh.vertices), size=POINTS)
    return {
        "scattered": low + rng.random((POINTS, 3)) * (high - low),
        "near": mesh.vertices[beside] + rng.normal(size=(POINTS, 3)) * 0.1,
        "wide": (low + high) / 2 + (rng.random((POINTS, 3)) - 0.5) * 2 * (high - low),
    }


def best_of_three(index: CudaNearestIndex, points: np.ndarray) -> float:
    """Return seconds."""
    times, out = [], np.empty(len(points))
    for _ in range(3):
        start = time.perf_counter()
        index.nearest((points[:, 0], points[:, 1], points[:, 2]), out, 16)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print a line for each scene."""
    for frequency in SCENES.values():
        mesh = synthetic.star_shaped_orebody(frequency=frequency)
        index = CudaNearestIndex(mesh)
        for name, points in scenes(mesh).items():
            some = points[:COMPARED]
            found = geodomain.nearest(mesh, some, backend="cuda")
            expected = geodomain.nearest(mesh, some, backend="cpu")
            differ = [int((a != b).sum()) for a, b in zip(found, expected, strict=True)]
            sys.stdout.write(
                f"{len(mesh.triangles)} triangles, {POINTS} points, {name}: "
                f"{1e3 * best_of_three(index, points):.1f} ms, {differ} of {COMPARED} differ\n"
            )


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    main()
