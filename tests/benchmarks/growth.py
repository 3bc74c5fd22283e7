"""Cost as the work grows: which points are inside, for more and more points and triangles.

    python tests/benchmarks/growth.py --json docs/growth_cpu.json
    PYTHONPATH=tests/benchmarks python -P tests/benchmarks/growth.py --backend cuda \
        --json docs/growth_h200.json
    python tests/benchmarks/growth.py --draw docs/growth.svg docs/growth_cpu.json \
        docs/growth_h200.json

On a CPU everyone goes from arrays to labels, the index included, in turns; the shortest time
counts, and it is what all threads together worked, as others may use the machine too. A library
stops where it would work two minutes, or where its memory ends. On a GPU kernels are timed by
events with all data there, calls by the clock.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geodomain import DeviceArray, Mesh, PointLocator, contains, synthetic, use_devices
from geodomain.compute import inventory
from geodomain.compute.native import thread_count

ROUNDS, ENOUGH = 30, 5.0  # or seconds after which one is not asked again
PATIENCE = 120.0
POINTS = [10**power for power in range(5, 9)]
TRIANGLES, MIDDLE = {7: 980, 22: 9_680, 64: 81_920, 224: 1_003_520, 354: 10_025_280}, 64
MILLION = 1_000_000
AHEAD = 1 << 30  # words cleared on a GPU while the launches to be timed are sent

Answer = tuple[float, np.ndarray]  # seconds, labels
Ask = Callable[[], Answer]
Contender = Callable[[Mesh, np.ndarray], Ask]


def body(frequency: int) -> Mesh:
    """Return an orebody, each triangle split in four where one cannot have as many otherwise."""
    mesh = synthetic.star_shaped_orebody(frequency)
    if len(mesh.triangles) == TRIANGLES[frequency]:
        return mesh
    count = len(mesh.vertices)
    ends = np.sort(mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).astype(np.int64))
    edges, places = np.unique(ends @ [count, 1], return_inverse=True)
    middles = (mesh.vertices[edges // count] + mesh.vertices[edges % count]) / 2
    a, b, c = mesh.triangles.T
    ab, bc, ca = count + places.reshape(-1, 3).T
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    triangles = np.concatenate([np.stack(part, axis=1) for part in parts])
    return Mesh(np.concatenate([mesh.vertices, middles]), triangles)


def around(mesh: Mesh, count: int) -> np.ndarray:
    """Return random points in 1.2 times the mesh's box."""
    low, high = mesh.bounds
    points = np.random.default_rng(7).random((count, 3))
    points *= 1.2 * (high - low)
    points += low - 0.1 * (high - low)
    return points


def timed(work: Callable[[], np.ndarray], timer: Callable[[], float] = time.process_time) -> Ask:
    def ask() -> Answer:
        begin = timer()
        labels = work()
        return timer() - begin, labels

    return ask


def ours(backend: str) -> Contender:
    """Return our call from arrays on, with nothing remembered of the mesh."""
    timer = time.process_time if backend == "cpu" else time.perf_counter
    return lambda mesh, points: timed(
        lambda: contains(Mesh(mesh.vertices, mesh.triangles), points, backend=backend), timer
    )


def open3d(mesh: Mesh, points: np.ndarray) -> Ask:
    core, scene = (importlib.import_module(f"open3d.{name}") for name in ("core", "t.geometry"))
    vertices, triangles = mesh.vertices.astype(np.float32), mesh.triangles.astype(np.uint32)
    single = core.Tensor(points.astype(np.float32))

    def occupancy() -> np.ndarray:
        built = scene.RaycastingScene()
        built.add_triangles(core.Tensor(vertices), core.Tensor(triangles))
        return built.compute_occupancy(single).numpy() != 0

    return timed(occupancy)


def trimesh(mesh: Mesh, points: np.ndarray) -> Ask:
    library = importlib.import_module("trimesh")
    importlib.import_module("embreex")
    return timed(
        lambda: library.Trimesh(mesh.vertices, mesh.triangles, process=False).contains(points)
    )


def pyvista(mesh: Mesh, points: np.ndarray) -> Ask:
    library = importlib.import_module("pyvista")
    surface = library.PolyData.from_regular_faces(mesh.vertices, mesh.triangles)
    cloud = library.PolyData(points)
    return timed(lambda: np.asarray(cloud.select_interior_points(surface)["selected_points"]) != 0)


def kernels(mesh: Mesh, points: np.ndarray) -> Ask:
    """Time the launches of one question by events, behind work that keeps the GPU busy."""
    from gpu_kernels import slot_with

    from geodomain.compute.cuda import device
    from geodomain.compute.cuda import points as cuda

    index = cuda.CudaPointIndex(mesh, threads=thread_count(None))
    with device.current() as driver:
        slot = slot_with(driver, points)
        begin, end, ahead = driver.Event(), driver.Event(), driver.mem_alloc(4 * AHEAD)

    def ask() -> Answer:
        with device.current() as driver:
            driver.memset_d32_async(ahead, 0, AHEAD, slot.stream)
            begin.record(slot.stream)
            slot.begin(0)
            index.label(slot)
            end.record(slot.stream).synchronize()
            labels = np.empty(len(points), dtype=np.bool_)
            driver.memcpy_dtoh(labels, slot.labels)
            return begin.time_till(end) / 1e3, labels

    return ask


def resident(mesh: Mesh, points: np.ndarray) -> Ask:
    """Time whole calls with points, index and answers on the GPU."""
    there, out = on_device(points), DeviceArray(len(points), np.bool_)
    locator = PointLocator(mesh, backend="cuda")

    def ask() -> Answer:
        seconds, _ = timed(lambda: locator.contains(there, out=out), time.perf_counter)()
        return seconds, out.get()

    return ask


def on_device(points: np.ndarray) -> DeviceArray:
    from geodomain.compute.cuda import device

    there = DeviceArray(points.shape, points.dtype)
    with device.current() as driver:
        driver.memcpy_htod(there.__cuda_array_interface__["data"][0], points)
    return there


CONTENDERS: dict[str, dict[str, Contender]] = {
    "cpu": {
        "geodomain": ours("cpu"),
        "Open3D compute_occupancy": open3d,
        "trimesh with Embree": trimesh,
        "PyVista select_interior_points": pyvista,
    },
    "cuda": {
        "geodomain: kernels": kernels,
        "geodomain: call, data on the GPU": resident,
        "geodomain: from ordinary arrays, index included": ours("cuda"),
    },
}


@dataclass
class Growth:
    """What was measured, and who stopped where."""

    machine: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of each one's last size

    def measure(self, contenders: dict[str, Contender], mesh: Mesh, points: np.ndarray) -> None:
        """Ask everyone in turns, and keep the shortest times."""
        size = {"triangles": len(mesh.triangles), "points": len(points)}
        asks, took = {}, {name: [] for name in contenders}
        labels: dict[str, np.ndarray] = {}
        for _ in range(ROUNDS):
            for name, prepare in contenders.items():
                if name in took and sum(took[name]) < ENOUGH:
                    try:
                        ask = asks.get(name) or asks.setdefault(name, prepare(mesh, points))
                        seconds, labels[name] = ask()
                    except (ImportError, MemoryError, RuntimeError) as error:
                        self.stop(name, size, f"{type(error).__name__}: {error}"[:80])
                        del took[name]
                        continue
                    took[name].append(seconds)
        truth = next(iter(labels.values()))
        for name, each in took.items():
            wrong = int(np.count_nonzero(labels[name] != truth))
            row = {"who": name, **size, "seconds": float(f"{min(each):.3e}"), "wrong": wrong}
            self.rows.append(row)
            self.seconds[name] = min(each)
            say(str(row))

    def stop(self, name: str, size: dict[str, int], why: str) -> None:
        self.stopped.append({"who": name, **size, "why": why})
        self.seconds[name] = np.inf
        say(str(self.stopped[-1]))

    def series(self, contenders: dict[str, Contender], sizes: list[tuple[int, int]]) -> None:
        """Measure sizes in growing order; whoever would take too long is left out from there on."""
        before = (1, 1)
        for frequency, count in sizes:
            factor = max(TRIANGLES[frequency] / before[0], count / before[1])
            before = TRIANGLES[frequency], count
            for name, seconds in self.seconds.items():
                if PATIENCE < factor * seconds < np.inf:
                    size = {"triangles": before[0], "points": count}
                    self.stop(name, size, f"it would take about {factor * seconds:.0f} s")
            able = {k: v for k, v in contenders.items() if self.seconds.get(k, 0) < np.inf}
            mesh = body(frequency)
            self.measure(able, mesh, around(mesh, count))
        self.seconds.clear()


def say(line: str) -> None:
    sys.stderr.write(line + "\n")


def machine(backend: str) -> str:
    """Say on what this runs."""
    if backend == "cuda":
        return f"{inventory.take().gpus[0].name}, host of {thread_count(None)} cores"
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(line.split(":")[1].strip() for line in described if line.startswith("model name"))
    return f"{thread_count(None)} cores of {model}"


def measure(backend: str, most: int) -> Growth:
    """Measure both series, up to a number of points or triangles."""
    found, contenders = Growth(machine(backend)), CONTENDERS[backend]
    found.series(contenders, [(MIDDLE, count) for count in POINTS if count <= most])
    sizes = [each for each, count in TRIANGLES.items() if count <= most]
    found.series(contenders, [(each, min(MILLION, most)) for each in sizes])
    return found


def as_text(found: Growth, earlier: list[dict[str, Any]]) -> str:
    """Return the shortest times of this run and of earlier ones as JSON, a row to a line."""
    best: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in [*earlier, *found.rows]:
        size = row["who"], row["triangles"], row["points"]
        best[size] = min(best.get(size, row), row, key=lambda each: each["seconds"])
    stopped = [
        each
        for each in found.stopped
        if (each["who"], each["triangles"], each["points"]) not in best
    ]
    parts = {"rows": list(best.values()), "stopped": stopped}
    lists = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for name, rows in parts.items()
    ]
    return "{\n" + ",\n".join([f' "machine": {json.dumps(found.machine)}', *lists]) + "\n}\n"


def main() -> None:
    """Measure or draw."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--backend", choices=list(CONTENDERS), default="cpu")
    asked.add_argument("--json", type=Path, help="where to; shorter times of earlier runs stay")
    asked.add_argument("--most", type=int, default=10**8, help="points, triangles")
    asked.add_argument("--draw", type=Path, nargs="+", metavar="SVG JSON")
    given = asked.parse_args()
    if given.draw:
        from growth_picture import draw

        draw(*given.draw)
        return
    if given.backend == "cuda":
        from geodomain.compute.cuda import device

        use_devices(device.numbers()[:1])
    earlier = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {"rows": []}
    given.json.write_text(as_text(measure(given.backend, given.most), earlier["rows"]), "utf-8")


if __name__ == "__main__":
    main()
