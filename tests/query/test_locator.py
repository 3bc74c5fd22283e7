"""The index: the same labels however it is built and asked; hostile meshes."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import shapes
from shapes import (
    cube,
    fan,
    joined,
    odd_on_purpose,
    oracle_crossings,
    random_body,
    splinters,
    staircase,
    star,
)

import geodomain
from geodomain import Mesh, PointLocator
from geodomain.compute import native


def probe_points(mesh: Mesh, count: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    low, high = mesh.bounds
    spread = low + (rng.random((count, 3)) * 1.2 - 0.1) * (high - low)
    corners = mesh.vertices[rng.integers(0, len(mesh.vertices), count)]
    level = corners.copy()
    level[:, 2] = spread[:, 2]  # the same x and y as a vertex
    near = corners + rng.normal(size=(count, 3)) * (high - low) * 1e-4
    return np.concatenate([spread, corners, level, near])


HOSTILE = {
    "small beside huge": lambda: joined(
        cube(1e6, at=(-5e5, -5e5, -5e5)), star(40, radius=(1, 1, 1), centre=(7, 7, 6e5))
    ),
    "small at mine coordinates": lambda: joined(
        cube(1e5, at=(4e5, 7.4e6, 0)), star(30, radius=(2, 2, 2), centre=(4.5e5, 7.48e6, 2e5))
    ),
    "a cluster in a cluster": lambda: joined(
        cube(1e6, at=(2e3, 2e3, 0)),
        star(30, radius=(1000, 1000, 1000)),
        star(30, radius=(0.1, 0.1, 0.1), centre=(500, 500, 5000)),
    ),
    "a fan of slivers": lambda: fan(4000),
    "a fan of many slivers": lambda: fan(40_000),
    "parallel slivers": lambda: splinters(12_000, turn=0.0),
    "slivers along x and y": lambda: splinters(12_000, turn=90.0, at=(4.1e5, 7.48e6)),
    "slivers in all directions": lambda: splinters(12_000, turn=360.0),
    "slivers in one cell": lambda: joined(
        cube(1e6, at=(2e3, 2e3, 0)), splinters(12_000, turn=360.0)
    ),
    "stacked sheets": lambda: joined(*[cube(10.0, at=(0, 0, 11.0 * k)) for k in range(300)]),
}


@pytest.mark.full
@odd_on_purpose
@pytest.mark.parametrize("name", HOSTILE)
def test_free_slabs_agree_with_every_crossing(name: str, backend: str) -> None:
    """`contains` takes short cuts that `count_crossings` does not."""
    mesh = HOSTILE[name]()
    locator = PointLocator(mesh, backend=backend)
    points = probe_points(mesh, 4000)
    labels = locator.contains(points)
    assert np.array_equal(labels, locator.count_crossings(points) % 2 == 1)
    assert 0.001 < labels.mean() < 0.999
    some = np.random.default_rng(0).choice(len(points), 3, replace=False)
    for row in some:
        assert labels[row] == oracle_crossings(mesh, points[row])[0] % 2


@pytest.mark.parametrize("count", [1, 63, 64, 65, 2047, 2048, 2049, 4097])
@pytest.mark.parametrize("step", [1, 7])
def test_points_by_the_block_are_points_one_by_one(count: int, step: int, backend: str) -> None:
    """Blocks and pieces that are full, nearly, or just not; nearly all points are undecided."""
    mesh = joined(*[cube(10.0, at=(0, 0, 11.0 * k)) for k in range(70)])
    near = np.random.default_rng(3).normal(size=(count * step, 3)) * 1e-3
    corners = mesh.vertices[np.arange(count * step) % len(mesh.vertices)]
    points = (corners + near)[::step]
    low, high = np.array([0, 0, 0.0]), np.array([10, 10, 10.0])
    above = points - np.outer(np.floor(points[:, 2] / 11.0 + 1e-3), [0, 0, 11.0])
    inside = ((above > low) & (above < high)).all(axis=1)
    labels = PointLocator(mesh, backend=backend).contains(points)
    assert np.array_equal(labels, inside)


@pytest.mark.full
@odd_on_purpose
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_stays_a_small_multiple_of_the_triangles(name: str) -> None:
    mesh = HOSTILE[name]()
    cells, entries, *_ = PointLocator(mesh).index.size()
    assert cells <= 8192 + len(mesh.triangles)
    assert entries <= 60_000 + 40 * len(mesh.triangles)


def test_crowded_cells_are_divided() -> None:
    mesh = HOSTILE["small beside huge"]()
    assert PointLocator(mesh).index.size()[2] > 1


@pytest.mark.full
@odd_on_purpose
@pytest.mark.parametrize("name", [name for name in HOSTILE if "slivers" in name])
def test_long_triangles_are_found_through_bundles(name: str, backend: str) -> None:
    """The lattice's columns know nothing of grids and bundles."""
    mesh = HOSTILE[name]()
    locator = PointLocator(mesh, backend=backend)
    assert locator.index.size()[3] > 0
    low, high = (
        mesh.bounds if "one cell" not in name else HOSTILE["slivers in all directions"]().bounds
    )
    rng = np.random.default_rng(4)
    axes = [np.sort(low[k] + rng.random(20) * (high - low)[k]) for k in range(3)]
    expected = geodomain.contains_lattice(mesh, *axes)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    order = rng.permutation(len(points))
    assert np.array_equal(locator.contains(points[order]), expected.ravel()[order])
    assert 0.001 < expected.mean() < 0.999
    corners = mesh.vertices[rng.integers(0, len(mesh.vertices), 500)]
    assert locator.on_surface(corners).all()
    assert np.array_equal(locator.winding_numbers(points) % 2 != 0, locator.contains(points))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_labels_do_not_depend_on_threads_or_order(threads: int) -> None:
    mesh = star(40, centre=(414_000.3, 7_480_000.7, 310.1))
    points = probe_points(mesh, 20_000)
    expected = geodomain.contains(mesh, points, threads=2)
    assert np.array_equal(geodomain.contains(mesh, points, threads=threads), expected)
    rng = np.random.default_rng(threads)
    rows, faces = rng.permutation(len(points)), rng.permutation(len(mesh.triangles))
    shuffled = Mesh(mesh.vertices, np.roll(mesh.triangles[faces], 1, axis=1))
    labels = geodomain.contains(shuffled, points[rows], threads=threads)
    assert np.array_equal(labels, expected[rows])
    pieces = [geodomain.contains(mesh, part) for part in np.array_split(points, 37)]
    assert np.array_equal(np.concatenate(pieces), expected)


SCRIPT = """
import hashlib, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from shapes import random_body, staircase, star
import geodomain
digest = hashlib.sha256()
body = star(20, centre=(414000.3, 7480000.7, 310.1))
steps = staircase(random_body((6, 6, 6), 3), origin=(0.1, 0.2, 0.3))
verbs = "contains", "count_crossings", "winding_numbers", "on_surface"
for mesh in (body, steps):
    rng = np.random.default_rng(5)
    low, high = mesh.bounds
    points = np.concatenate([low + rng.random((20000, 3)) * (high - low), mesh.vertices])
    for verb in verbs:
        digest.update(getattr(geodomain, verb)(mesh, points).tobytes())
    axes = [np.linspace(a, b, 33) for a, b in zip(low, high)]
    digest.update(geodomain.contains_lattice(mesh, *axes).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.full
def test_every_instruction_set_gives_the_same_bits() -> None:
    levels = native.levels()
    outputs = set()
    for level in levels:
        environment = {**os.environ, "GEODOMAIN_CPU_LEVEL": str(level)}
        command = [sys.executable, "-P", "-c", SCRIPT, str(Path(shapes.__file__).parent)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.add(run.stdout)
    assert len(outputs) == 1


@odd_on_purpose
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00])  # down, up, towards zero
def test_the_hosts_rounding_changes_no_label(mode: int) -> None:
    try:
        libm = ctypes.CDLL("libm.so.6")
    except OSError:
        pytest.skip("no libm.so.6 to change the rounding mode with")
    # n of the 2n + 1 coordinates of a staircase: each lies, but for rounding, where two of
    # the 2n cells of the search table meet.
    n = 12
    spacing, origin = np.array([0.1, 0.3, 0.7]), np.array([0.1, 0.2, 0.3])
    mesh = staircase(random_body((2 * n,) * 3, seed=6), spacing, origin)
    rng = np.random.default_rng(0)
    axes = []
    for axis in range(3):
        inner = rng.choice(np.arange(1, 2 * n), n - 2, replace=False)
        axes.append(np.sort([0, 2 * n, *inner]) * spacing[axis] + origin[axis])
    points = probe_points(mesh, 5_000)
    expected = geodomain.contains(mesh, points), geodomain.contains_lattice(mesh, *axes)
    try:
        assert libm.fesetround(mode) == 0
        found = geodomain.contains(mesh, points), geodomain.contains_lattice(mesh, *axes)
    finally:
        libm.fesetround(0)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_one_locator_serves_many_threads() -> None:
    mesh = star(20)
    locator = PointLocator(mesh, threads=2)
    points = probe_points(mesh, 5000)
    expected = locator.contains(points)
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(5):
            wrong.append(int((locator.contains(points) != expected).sum()))

    team = [threading.Thread(target=ask) for _ in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert wrong == [0] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_can_ask_too() -> None:
    locator = PointLocator(star(20), threads=2)
    points = probe_points(locator.mesh, 5000)
    expected = locator.contains(points)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(locator.contains(points), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_on_surface_knows_walls_edges_and_vertices(backend: str) -> None:
    on = [
        [0, 0.5, 0.5],
        [1, 0.5, 0.5],
        [0.5, 0, 0.5],
        [0.5, 0.5, 0],
        [0.5, 0.5, 1],
        [0, 0, 0.5],
        [1, 1, 1],
    ]
    off = [
        [0.5, 0.5, 0.5],
        [np.nextafter(0, 1) * 2**800, 0.5, 0.5],
        [1, 1, np.nextafter(1, 2)],
        [np.nan, 0, 0],
    ]
    assert geodomain.on_surface(cube(), on, backend=backend).all()
    assert not geodomain.on_surface(cube(), off, backend=backend).any()


def test_on_surface_of_a_degenerate_triangle(backend: str) -> None:
    needle = Mesh([[0, 0, 0], [2, 4, 6], [1, 2, 3]], [[0, 1, 2]])
    points = [[1, 2, 3], [0.5, 1, 1.5], [2, 4, 6], [3, 6, 9], [1, 2, 3.5]]
    expected = [True, True, True, False, False]
    assert geodomain.on_surface(needle, points, backend=backend).tolist() == expected


def test_a_locator_can_be_pickled():
    open_box = joined(cube(4.0), cube(at=(9, 0, 0)))
    open_box = Mesh(open_box.vertices, open_box.triangles[:-1])
    locator = PointLocator(open_box, threads=1, allow_open=True)
    again = pickle.loads(pickle.dumps(locator))
    points = probe_points(open_box, 50)
    assert np.array_equal(again.contains(points), locator.contains(points))
    assert again.index is not locator.index
