"""Time shares of blocks on a GPU, and compare their bits with the CPU's.

On a machine with an NVIDIA GPU, from the root of the checkout:

    python tests/benchmarks/gpu_proportions.py [lattice|large|blocks|walls|surface|crossed]

Kernel times are those of events around the launches, mesh and lattice on the device, the best of
ten; with a profiler they are told apart:

    ncu --clock-control none --metrics gpu__time_duration.sum -k regex:geodomain_shares \
        python tests/benchmarks/gpu_proportions.py lattice

Times of calls are of arrays in ordinary memory, the mesh's weights known, the best of three. What
has to move is 24 bytes a block of a lattice: cleared, added to and read, written.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

import geodomain
from geodomain import GeodomainWarning, synthetic
from geodomain.compute import choose
from geodomain.compute.cuda import device
from geodomain.compute.cuda.segments import Rooms
from geodomain.compute.cuda.shares import ShareLattice, SharePart
from geodomain.query.lattice import Axes, label_bits
from geodomain.volumes.shares import Shares, triangle_weights

SCENES = {81_920: 64, 1_003_520: 224}  # triangles: frequency


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def best(call: Callable[[], object], times: int = 3) -> float:
    """Return milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return min(taken)


def over(mesh: geodomain.Mesh, *counts: int) -> list[np.ndarray]:
    """Return the edges of blocks over all of a mesh and a little more."""
    low, high = mesh.bounds
    wider = 1e-3 * (high - low)
    pairs = zip(low - wider, high + wider, counts, strict=True)
    return [np.linspace(a, b, n + 1) for a, b, n in pairs]


def kernels(mesh: geodomain.Mesh, edges: list[np.ndarray]) -> str:
    """Time the launches of one lattice that fits into the device's memory."""
    weights = triangle_weights(mesh, "parity").values
    middles = Axes(*(e[:-1] / 2 + e[1:] / 2 for e in edges))
    labels = label_bits(mesh, middles, choose("cuda"), 8)
    with device.current():
        return launches(mesh, weights, edges, labels)


def launches(mesh, weights, edges, labels) -> str:
    """Time them; what is on the device goes with this frame, in the context."""
    driver, layers = device.driver(), len(edges[0]) - 1
    with Rooms() as room:
        lattice = ShareLattice(mesh, weights, tuple(edges), room, layers)
        lattice.answer(0, layers, labels)
        part = SharePart(lattice, 0, layers)
        part.clear()
        pairs = part.count()
        steps = {
            "clear": part.clear, "count": part.launch_count,
            "shed": lambda: part.shed(pairs), "settle": part.settle,
        }  # fmt: skip
        taken = dict.fromkeys(steps, float("inf"))
        for _ in range(10):
            for name, step in steps.items():
                if name == "shed":
                    part.count()  # again, for the starts that the counts were written over
                begin, end = driver.Event(), driver.Event()
                begin.record(lattice.stream)
                step()
                end.record(lattice.stream).synchronize()
                taken[name] = min(taken[name], begin.time_till(end))
    parts = ", ".join(f"{name} {each:.3f}" for name, each in taken.items())
    return f"{sum(taken.values()):.3f} ms ({parts}; {pairs} pairs)"


def one_lattice(name: str, mesh: geodomain.Mesh, edges: list[np.ndarray]) -> None:
    shape = tuple(len(e) - 1 for e in edges)
    found, expected = np.empty(shape), np.empty(shape)

    def ask(backend: str, out: np.ndarray) -> None:
        geodomain.proportions_lattice(mesh, *edges, backend=backend, out=out)

    call = best(lambda: ask("cuda", found))
    cpu = best(lambda: ask("cpu", expected), 1)
    differ = int((found.view(np.uint64) != expected.view(np.uint64)).sum())
    mixed = int(((expected > 0) & (expected < 1)).sum())
    say(
        f"{name}: {len(mesh.triangles)} triangles, {' x '.join(map(str, shape))} blocks, "
        f"{mixed} mixed: kernels {kernels(mesh, edges)}, call {call:.1f} ms, CPU {cpu:.0f} ms, "
        f"{differ} of {found.size} differ"
    )


def lattice() -> None:
    for frequency in SCENES.values():
        mesh = synthetic.star_shaped_orebody(frequency=frequency)
        one_lattice("lattice", mesh, over(mesh, 200, 200, 100))


def large() -> None:
    """Ask for more blocks than are on the device at a time."""
    mesh = synthetic.star_shaped_orebody(frequency=224)
    edges = over(mesh, 500, 500, 400)
    out = np.empty((500, 500, 400))
    taken = best(lambda: geodomain.proportions_lattice(mesh, *edges, backend="cuda", out=out), 2)
    expected = geodomain.proportions_lattice(mesh, *edges, backend="cpu")
    differ = int((out.view(np.uint64) != expected.view(np.uint64)).sum())
    say(f"100M blocks: call {taken:.0f} ms, {differ} of {out.size} differ")


def few() -> geodomain.Mesh:
    """Return a tetrahedron, whose few triangles are over many columns."""
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    corners = np.array([[0, 0, 0], [900, 3, 1], [7, 800, 2], [5, 4, 700]], float)
    return geodomain.Mesh(corners, faces)


def walls() -> None:
    mesh, axes = synthetic.staircase()
    one_lattice("walls on the lattice", mesh, list(axes))
    one_lattice("few triangles", few(), over(few(), 300, 300, 100))


def anywhere(
    name: str, mesh: geodomain.Mesh, centres: np.ndarray, sizes: np.ndarray, kind: str
) -> None:
    count = len(centres)
    found, expected = np.empty(count), np.empty(count)
    lows, highs = centres - sizes / 2, centres + sizes / 2

    def ask(backend: str, out: np.ndarray) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GeodomainWarning)
            geodomain.proportions(mesh, centres, sizes, kind=kind, backend=backend, out=out)

    call = best(lambda: ask("cuda", found))
    cpu = best(lambda: ask("cpu", expected), 1)
    differ = int((found.view(np.uint64) != expected.view(np.uint64)).sum())
    shares = Shares(mesh, kind, "parity", "cuda", None)
    part = best(lambda: shares.entered(lows, highs, found))
    answers = np.bincount(shares.entered(lows, highs, found), minlength=4).tolist()
    say(
        f"{name}: {len(mesh.triangles)} triangles, {count} blocks anywhere, by label, triangles, "
        f"lines, off the rim {answers}: shares {part:.1f} ms, call {call:.1f} ms, CPU {cpu:.0f} "
        f"ms, {differ} differ"
    )


def scattered(mesh: geodomain.Mesh, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    low, high = mesh.bounds
    centres = low + (rng.random((count, 3)) * 1.2 - 0.1) * (high - low)
    return centres, (high - low) / [200, 200, 100] * 2.0 ** rng.integers(-2, 2, (count, 3))


def blocks() -> None:
    for frequency in SCENES.values():
        mesh = synthetic.star_shaped_orebody(frequency=frequency)
        anywhere("blocks", mesh, *scattered(mesh, 4_000_000), "solid")


def hill(n: int, fold: float) -> geodomain.Mesh:
    """Return an open sheet over a square kilometre at mine coordinates."""
    x, y = np.meshgrid(np.linspace(0, 1000, n), np.linspace(0, 1000, n), indexing="ij")
    z = 60 * np.sin(x / 90) + 20 * np.cos(y / 31)
    x = x + fold * np.sin(z / 9)
    corner = np.arange(n * n).reshape(n, n)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    faces = [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)]
    vertices = np.stack([x + 414_000.3, y + 7_480_000.7, z + 310.1], -1).reshape(-1, 3)
    return geodomain.Mesh(vertices, np.concatenate(faces))


def surface() -> None:
    for name, fold in (("surface", 0.0), ("folded surface", 20.0)):
        mesh = hill(200, fold)
        centres, sizes = scattered(mesh, 1_000_000 if not fold else 50_000)
        anywhere(name, mesh, centres, sizes, "below")


def crossed() -> None:
    one = synthetic.star_shaped_orebody(frequency=20)
    shift = 0.3 * (one.bounds[1] - one.bounds[0])
    both = geodomain.Mesh(
        np.concatenate([one.vertices, one.vertices + shift]),
        np.concatenate([one.triangles, one.triangles + len(one.vertices)]),
    )
    anywhere("crossing shells", both, *scattered(both, 50_000), "solid")


STEPS = (lattice, large, blocks, walls, surface, crossed)


if __name__ == "__main__":
    for step in STEPS:
        if step.__name__ in sys.argv[1:] or len(sys.argv) == 1:
            step()
