"""Compare the GPU's labels with the CPU's, bit for bit, on 100 million points.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_equality.py

A quarter of the points are adversarial: on vertices, edges and faces, level with
vertices, one floating-point step beside them, all at mine coordinates.
"""

from __future__ import annotations

import sys

import numpy as np

from geodomain import Mesh, PointLocator, synthetic, use_devices
from geodomain.compute.cuda import device

MILLION = 1_000_000


def adversarial(mesh: Mesh, count: int, rng: np.random.Generator) -> np.ndarray:
    corners = mesh.vertices[mesh.triangles[rng.integers(0, len(mesh.triangles), count)]]
    weights = rng.dirichlet([1, 1, 1], count)
    kind = rng.integers(0, 5, count)
    weights[kind == 0] = [1, 0, 0]  # a vertex
    weights[kind == 1, 0] = 0  # an edge
    weights /= weights.sum(axis=1, keepdims=True)
    points = (corners * weights[:, :, None]).sum(axis=1)
    points[kind == 2] = mesh.vertices[
        rng.integers(0, len(mesh.vertices), ((kind == 2).sum(), 3)), [0, 1, 2]
    ]
    points[kind == 3, :2] = corners[kind == 3, 0, :2]  # below or above a vertex
    beside = kind == 4
    points[beside] = np.nextafter(
        corners[beside, 0], rng.choice([-np.inf, np.inf], (beside.sum(), 3))
    )
    return points


def scene_points(mesh: Mesh, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, high = mesh.bounds
    points = low + (rng.random((count, 3)) * 1.2 - 0.1) * (high - low)
    points[::4] = adversarial(mesh, len(points[::4]), rng)
    return points


def main() -> None:
    body = synthetic.star_shaped_orebody(frequency=63, centre=synthetic.MINE)
    steps, _ = synthetic.staircase()
    wrong = total = 0
    for name, mesh in (("orebody", body), ("staircase", steps)):
        gpu, cpu = PointLocator(mesh, backend="cuda"), PointLocator(mesh, backend="cpu")
        for seed in range(5):
            points = scene_points(mesh, 10 * MILLION, seed)
            expected = cpu.contains(points)
            wrong += int((gpu.contains(points) != expected).sum())
            total += len(points)
        again = [int((gpu.contains(points) != expected).sum()) for _ in range(10)]
        sys.stdout.write(
            f"{name}: {total:,} points so far, {wrong} differ; ten more runs {again}\n"
        )
        some = points[:MILLION]
        for verb in ("count_crossings", "winding_numbers", "on_surface"):
            if verb == "winding_numbers" and not mesh.is_balanced:
                continue
            differ = int((getattr(gpu, verb)(some) != getattr(cpu, verb)(some)).sum())
            sys.stdout.write(f"  {verb}: {differ} of {len(some):,} differ\n")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    main()
