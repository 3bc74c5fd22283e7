"""Segments on a GPU: equal to the CPU's bit for bit, and timed kernel by kernel.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_segments.py equality
    python tests/benchmarks/gpu_segments.py times [--rays 10000000] [--grid N]
    ncu --clock-control none --metrics gpu__time_duration.sum -k regex:geodomain \
        python tests/benchmarks/gpu_segments.py kernels

`times` puts events around warm launches, data resident: they hold the launches' own cost, about
5 us each. `kernels` runs each question once more for a profiler to time.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from geodomain import Hits, Mesh, SegmentIntersector, Segments, synthetic, use_devices
from geodomain.compute.cuda import device
from geodomain.compute.cuda import segments as cuda_segments

MILLION = 1_000_000
COLUMNS = ("segment", "triangle", "t", "u", "v", "distance", "point")
MODES = ("boolean", "count", "nearest", "all")


def terrain(nodes: tuple[int, int] = (134, 111), seed: int = 0) -> Mesh:
    """Summed cosines on a jittered grid over 3000 x 2500 m: 29,260 triangles."""
    rng = np.random.default_rng(seed)
    axes = [
        np.linspace(0, length, count) for length, count in zip((3000, 2500), nodes, strict=True)
    ]
    x, y = np.meshgrid(*axes, indexing="ij")
    x, y = (axis + rng.uniform(-0.3, 0.3, axis.shape) * 22 for axis in (x, y))
    z = 100 * np.cos(x / 300) * np.cos(y / 250) + 40 * np.cos(x / 90 + y / 110)
    corner = (np.arange(nodes[0] - 1)[:, None] * nodes[1] + np.arange(nodes[1] - 1)).ravel()
    right, up = corner + nodes[1], corner + 1
    across = right + 1
    triangles = np.concatenate(
        [np.stack([corner, right, across], axis=1), np.stack([corner, across, up], axis=1)]
    )
    return Mesh(np.stack([x, y, z], axis=-1).reshape(-1, 3), triangles)


def along_normals(mesh: Mesh, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Segments of up to 4 cells along triangles' normals; about half of them cross."""
    rng = np.random.default_rng(seed)
    corners = mesh.vertices[mesh.triangles[rng.integers(0, len(mesh.triangles), count)]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    length = 4 * 22.6 * rng.uniform(0.6, 1, (count, 1))
    shares = rng.uniform(0.1, 0.9, (count, 1)), rng.uniform(1.05, 1.5, (count, 1))
    share = np.where(rng.random((count, 1)) < 0.5, *shares)
    starts = corners.mean(axis=1) - normal * length * share
    return starts, starts + normal * length


def differences(one: object, other: object) -> int:
    if isinstance(one, Hits) and isinstance(other, Hits):
        if len(one) != len(other):
            return abs(len(one) - len(other))
        return sum(int((getattr(one, name) != getattr(other, name)).sum()) for name in COLUMNS)
    return int((one != other).sum())


def special_ends(mesh: Mesh, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Segments between vertices, points of edges and points of planes."""
    rng = np.random.default_rng(3)
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25], [-1, 2, 0]])
    corners = mesh.vertices[mesh.triangles[rng.integers(0, len(mesh.triangles), (2, count))]]
    starts, ends = np.einsum("sij,sijk->sik", weights[rng.integers(0, 4, (2, count))], corners)
    return starts, ends


def equality() -> int:
    ground = terrain()
    steps, _ = synthetic.staircase()
    far = Mesh(ground.vertices + synthetic.MINE, ground.triangles)
    body = synthetic.star_shaped_orebody(frequency=224)
    wrong = 0
    for name, mesh in (("terrain", ground), ("mine", far), ("staircase", steps), ("body", body)):
        sets = {"normals": along_normals(mesh, MILLION), "special": special_ends(mesh, MILLION)}
        for strategy in ("bvh", "brute"):
            if strategy == "brute" and name != "terrain":
                continue
            gpu = SegmentIntersector(mesh, backend="cuda", strategy=strategy)
            cpu = SegmentIntersector(mesh, backend="cpu")
            for kind, ends in sets.items():
                kept = Segments(*ends, sort=kind == "special")
                for mode in MODES:
                    found = differences(
                        gpu.intersect(kept, mode=mode), cpu.intersect(kept, mode=mode)
                    )
                    again = differences(
                        gpu.intersect(kept, mode=mode), gpu.intersect(kept, mode=mode)
                    )
                    wrong += found + again
                    sys.stdout.write(
                        f"{name:10} {strategy:6} {kind:8} {mode:8} {found} differ, {again} again\n"
                    )
    return wrong


def build(mesh: Mesh) -> None:
    took = []
    for _ in range(10):
        begin = time.perf_counter()
        with SegmentIntersector(mesh, backend="cuda") as intersector:
            took.append(1e3 * (time.perf_counter() - begin))
            steps = {name: f"{1e3 * t:.3f} ms" for name, t in intersector.build_times.items()}
    sys.stdout.write(f"build, {len(mesh.triangles):,} triangles: {min(took):.2f} ms, {steps}\n")


def ask(
    surface: cuda_segments.CudaSegmentIndex, kept: cuda_segments.Resident, out: int, mode: str
) -> float:
    """Return the milliseconds of one question, both passes, data resident."""
    driver = device.driver()
    begin, end = driver.Event(), driver.Event()
    begin.record()
    surface.ask(mode, kept, out)
    end.record()
    end.synchronize()
    return float(begin.time_till(end))


def times(rays: int, grid: int | None, rounds: int) -> None:
    mesh = terrain()
    starts, ends = along_normals(mesh, rays)
    surface = SegmentIntersector(mesh, backend="cuda", grid=grid).surface
    for name, sort in (("random", False), ("sorted", True)):
        begin = time.perf_counter()
        segments = Segments(starts, ends, sort=sort)
        prepared = time.perf_counter() - begin
        kept = cuda_segments.resident(segments)
        with device.current() as driver:
            out = driver.mem_alloc(4 * rays)
            for mode in MODES[:3]:
                best = min(ask(surface, kept, int(out), mode) for _ in range(rounds))
                unsure = np.empty(1, dtype=np.uint32)
                driver.memcpy_dtoh(unsure, kept._unsure)
                sys.stdout.write(
                    f"{rays:,} {name} segments x {len(mesh.triangles):,} triangles, {mode}: "
                    f"{best:.3f} ms, {unsure[0]} unsure (prepared in {prepared:.2f} s)\n"
                )
            out.free()
        segments.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["equality", "times", "kernels"])
    parser.add_argument("--rays", type=int, default=10 * MILLION)
    parser.add_argument("--grid", type=int)
    options = parser.parse_args()
    if options.what == "equality":
        sys.exit(equality() != 0)
    build(terrain())
    build(synthetic.star_shaped_orebody(frequency=224))
    times(options.rays, options.grid, 10 if options.what == "times" else 1)


if __name__ == "__main__":
    use_devices(device.numbers()[:1])
    main()
