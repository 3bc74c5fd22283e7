"""Check volumes and labels of Boolean operations on many pairs, and time them beside trimesh.

python tests/benchmarks/solid_identities.py MESH... [--pairs 204]

Each mesh is scaled to 200 m and moved to mine coordinates, and is paired with each other mesh and
with itself, moved at random. For each pair, volume(A or B) + volume(A and B) must be volume(A) +
volume(B), and volume(A without B) + volume(A and B) must be volume(A), within the stated bound. The
proof of each result has 20,000 points. trimesh, which also calls manifold3d, is timed on the first
mesh and a copy of it that is moved by a fifth.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, cycle, islice

import numpy as np

import geodomain
from geodomain import Mesh, MeshError, solids

MINE = np.array([414_000.3, 7_480_000.7, 312.9])
SIZE, POINTS = 200.0, 20_000


def at_the_mine(mesh: Mesh) -> Mesh:
    """Return a mesh scaled to 200 m, at mine coordinates."""
    used = mesh.vertices[np.unique(mesh.triangles)]
    scale = SIZE / np.ptp(used, axis=0).max()
    return Mesh((mesh.vertices - used.mean(axis=0)) * scale + MINE, mesh.triangles, name=mesh.name)


def volume(function: Callable[..., solids.SolidResult], a: Mesh, b: Mesh) -> float:
    """Return the volume of a result, 0 if it is empty."""
    try:
        return function(a, b, points=POINTS).volume or 0.0
    except MeshError as error:
        if "no volume in common" in str(error) or "nothing of" in str(error):
            return 0.0
        raise


def error_of(a: Mesh, b: Mesh) -> float:
    """Return the larger error of the two identities, as a fraction of the stated bound."""
    united = solids.union(a, b, points=POINTS)
    shared, rest = volume(solids.intersect, a, b), volume(solids.subtract, a, b)
    first, second = (each.volume or 0.0 for each in united.inputs)
    errors = (united.volume or 0.0) + shared - first - second, rest + shared - first
    return max(map(abs, errors)) / (united.distance * (a.area + b.area))


def check_pairs(meshes: Sequence[Mesh], count: int) -> None:
    """Print the largest error of some pairs, and the pairs that are refused."""
    random = np.random.default_rng(0)
    worst, refused = 0.0, 0
    for a, b in islice(cycle(combinations_with_replacement(meshes, 2)), count):
        moved = Mesh(b.vertices + random.uniform(-60, 60, 3), b.triangles, name=f"moved {b.name}")
        try:
            worst = max(worst, error_of(a, moved))
        except MeshError as error:
            refused += 1
            say(f"{a.name}, {moved.name}: {error}")
    say(f"{count} pairs, {refused} refused, largest error {worst:.2%} of the bound")


def time_peers(mesh: Mesh) -> None:
    """Print the times of each operation on a mesh and a moved copy, best of three."""
    import trimesh

    moved = Mesh(mesh.vertices + np.ptp(mesh.bounds, axis=0) / 5, mesh.triangles, name="moved")
    peers = [trimesh.Trimesh(m.vertices, m.triangles, process=False) for m in (mesh, moved)]
    names = {"union": "union", "intersection": "intersect", "difference": "subtract"}
    for peer, own in names.items():
        times = {
            "geodomain": best(partial(getattr(solids, own), mesh, moved)),
            "with 1,000 points": best(partial(getattr(solids, own), mesh, moved, points=1000)),
            "trimesh": best(partial(getattr(trimesh.boolean, peer), peers)),
        }
        say(f"{own}: {', '.join(f'{name} {text}' for name, text in times.items())}")


def best(work: Callable[[], object]) -> str:
    """Return the shortest of three times as text, or that the meshes are refused."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        try:
            work()
        except ValueError as error:
            return f"refuses: {error}"
        times.append(time.perf_counter() - start)
    return f"{min(times):.3f} s"


def say(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("meshes", nargs="+")
    parser.add_argument("--pairs", type=int, default=204)
    arguments = parser.parse_args()
    chosen = [geodomain.read_mesh(path) for path in arguments.meshes]
    time_peers(chosen[0])
    check_pairs([at_the_mine(mesh) for mesh in chosen], arguments.pairs)
