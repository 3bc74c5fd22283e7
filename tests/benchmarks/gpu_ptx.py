"""The wheel's PTX on a GPU: its answers are nvcc's and the CPU's, bit for bit, and the first call.

On a machine with an NVIDIA GPU and nvcc, with a wheel whose build had NVRTC (`geodomain devices`
without nvcc says "from PTX"), from the root of the checkout:

    python -P tests/benchmarks/gpu_ptx.py

Each way of answering is a process of its own with an empty cache of ours: kernels by nvcc; by the
wheel's PTX with nvcc taken out of PATH; by the CPU. First calls are of new processes, from PTX with
the driver's cache off: with an empty cache of ours the driver compiles, and with one that an
earlier process has filled it does not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MODES = ("boolean", "count", "nearest", "all")
HIT_COLUMNS = ("segment", "triangle", "t", "u", "v", "distance", "point")


def answers(backend: str) -> dict[str, np.ndarray]:
    """Ask about points, a lattice, distances and segments."""
    import geodomain
    from geodomain import Mesh, PointLocator, SegmentIntersector, Segments, synthetic

    rng = np.random.default_rng(0)
    mesh = synthetic.star_shaped_orebody(frequency=40, centre=synthetic.MINE)
    low, high = mesh.bounds
    points = low + (rng.random((2_000_000, 3)) * 1.2 - 0.1) * (high - low)
    points[::4] = mesh.vertices[rng.integers(len(mesh.vertices), size=len(points[::4]))]
    near = mesh.vertices[rng.integers(len(mesh.vertices), size=200_000)]
    near = near + rng.normal(size=near.shape)
    open_mesh = Mesh(mesh.vertices, mesh.triangles[: len(mesh.triangles) // 2])
    inner = [Mesh(mesh.vertices * s + (1 - s) * (low + high) / 2, mesh.triangles) for s in (0.5, 1)]
    axes = [np.linspace(a, b, 200) for a, b in zip(low - 1, high + 1, strict=True)]
    locator = PointLocator(mesh, backend=backend)
    found = {
        "contains": locator.contains(points),
        "crossings": locator.count_crossings(points),
        "winding_numbers": locator.winding_numbers(points),
        "on_surface": locator.on_surface(points),
        "lattice": locator.contains_lattice(*axes),
        "codes": geodomain.label_codes(points, inner, backend=backend),
        "sides": geodomain.sides(open_mesh, points[:200_000], backend=backend),
        "distances": geodomain.distances(mesh, near, backend=backend),
    }
    winding = geodomain.generalised_winding(open_mesh, points[:50_000], backend=backend)
    found |= {f"winding {number}": np.asarray(part) for number, part in enumerate(winding)}
    starts, ends = (points[: 10**6] + rng.normal(size=(10**6, 3)) * 30 for _ in range(2))
    asked = Segments(starts, ends)
    with SegmentIntersector(mesh, backend=backend) as surface:
        for mode in MODES:
            hits = surface.intersect(asked, mode=mode)
            if isinstance(hits, np.ndarray):
                found[f"segments {mode}"] = hits
            else:
                found |= {f"segments {mode} {c}": np.asarray(getattr(hits, c)) for c in HIT_COLUMNS}
    return found


def first_call() -> dict[str, object]:
    """Time a process's first answer from the GPU, from the import on."""
    begin = time.perf_counter()
    import geodomain
    from geodomain import synthetic

    mesh = synthetic.star_shaped_orebody(frequency=10)
    points = np.random.default_rng(0).normal(size=(100_000, 3)) * 60
    ready = time.perf_counter()
    geodomain.contains(mesh, points, backend="cuda")
    done = time.perf_counter()
    from geodomain.compute import inventory

    found = inventory.take()
    return {
        "import": ready - begin,
        "first": done - ready,
        "nvcc": found.nvcc,
        "driver": found.driver,
        "gpu": found.gpus[0].name,
        "kernels": sorted(set(found.gpus[0].kernels.values())),
    }


def without_nvcc() -> str:
    """Return PATH less the folders that have nvcc."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(f for f in folders if shutil.which("nvcc", path=f) is None)


def child(what: str, *arguments: str, cache: str = "", **environment: str) -> str:
    with tempfile.TemporaryDirectory() as empty:
        given = {**os.environ, "GEODOMAIN_CACHE": cache or str(Path(empty, "ours")), **environment}
        command = [sys.executable, "-P", __file__, what, *arguments]
        done = subprocess.run(command, env=given, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def main() -> None:
    if len(sys.argv) > 1:
        if sys.argv[1] == "first":
            sys.stdout.write(json.dumps(first_call()))
        else:
            np.savez(sys.argv[3], **answers(sys.argv[2]))
        return
    bare = {"PATH": without_nvcc(), "CUDA_CACHE_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as filled:
        child("first", cache=filled, **bare)
        for name, cache, given in (
            ("PTX, our cache empty", "", bare),
            ("PTX, our cache filled", filled, bare),
            ("nvcc, our cache empty", "", {}),
        ):
            calls = [json.loads(child("first", cache=cache, **given)) for _ in range(4)]
            if name.startswith("PTX"):
                assert all((c["nvcc"], c["kernels"]) == (None, ["PTX"]) for c in calls), calls[0]
            times = ", ".join(f"{call['first']:.2f}" for call in calls)
            sys.stdout.write(f"{calls[0]['gpu']}, driver for CUDA {calls[0]['driver']}; {name}: ")
            sys.stdout.write(f"first calls {times} s; imports {calls[0]['import']:.2f} s\n")
            sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        ways = {"PTX": ("cuda", bare), "nvcc": ("cuda", {}), "CPU": ("cpu", {})}
        found = {}
        for name, (backend, given) in ways.items():
            file = str(Path(folder, f"{name}.npz"))
            child("answers", backend, file, **given)
            found[name] = dict(np.load(file))
        wrong = 0
        for what, ptx in found["PTX"].items():
            same = [ptx.tobytes() == found[name][what].tobytes() for name in ("nvcc", "CPU")]
            wrong += same != [True, True]
            sys.stdout.write(f"{what}: {ptx.size:,} values; as nvcc's, the CPU's: {same}\n")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
