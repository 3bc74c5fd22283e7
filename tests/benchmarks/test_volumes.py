"""Distances of points, and shares of a lattice's blocks beside its labels, from arrays on.

What a mesh remembers is made anew in each round, unless a name says "remembered".
"""

from __future__ import annotations

import numpy as np
import pytest

from geodomain import Mesh, contains_lattice, distances, proportions_lattice

LATTICE = (200, 200, 100)
POINTS = 1_000_000


def fresh(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.triangles)


def title(kind: str, mesh: Mesh) -> str:
    return f"{kind}, {len(mesh.triangles):,} triangles"


@pytest.fixture(scope="module")
def points(mesh) -> np.ndarray:
    return np.random.default_rng(0).uniform(*mesh.bounds, (POINTS, 3))


@pytest.fixture(scope="module")
def edges(mesh) -> list[np.ndarray]:
    ends = zip(*mesh.bounds, LATTICE, strict=True)
    return [np.linspace(low, high, count + 1) for low, high, count in ends]


@pytest.fixture(scope="module")
def middles(edges) -> list[np.ndarray]:
    return [(axis[1:] + axis[:-1]) / 2 for axis in edges]


def test_distances(mesh, points, timed) -> None:
    timed(title("distances", mesh), lambda: distances(fresh(mesh), points, backend="cpu"))


def test_distances_open3d(mesh, points, timed, peer) -> None:
    open3d = peer("open3d")
    corners = open3d.core.Tensor(mesh.vertices.astype(np.float32))
    triangles = open3d.core.Tensor(mesh.triangles.astype(np.uint32))
    asked = open3d.core.Tensor(points.astype(np.float32))

    def by_open3d() -> np.ndarray:
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles(corners, triangles)
        return scene.compute_distance(asked).numpy()

    found = timed(title("distances", mesh), by_open3d)
    assert np.abs(found - distances(mesh, points, backend="cpu")).max() < 1e-2


def test_labels(mesh, middles, timed) -> None:
    timed(title("shares", mesh), lambda: contains_lattice(fresh(mesh), *middles, backend="cpu"))


def test_shares(mesh, edges, timed) -> None:
    timed(title("shares", mesh), lambda: proportions_lattice(fresh(mesh), *edges, backend="cpu"))


def test_labels_remembered(mesh, middles, timed) -> None:
    timed(title("remembered", mesh), lambda: contains_lattice(mesh, *middles, backend="cpu"))


def test_shares_remembered(mesh, edges, timed) -> None:
    timed(title("remembered", mesh), lambda: proportions_lattice(mesh, *edges, backend="cpu"))


def test_mixed_block_manifold3d(mesh, edges, timed, peer) -> None:
    """The Boolean of one mixed block, to be held against the lattice's time by mixed blocks."""
    manifold3d = peer("manifold3d")
    solid = manifold3d.Manifold(
        manifold3d.Mesh64(mesh.vertices.copy(), mesh.triangles.astype(np.uint64))
    )
    shares = proportions_lattice(mesh, *edges, backend="cpu")
    at = tuple(np.argwhere((shares > 0.3) & (shares < 0.7))[0])
    low, high = (
        [float(axis[i + end]) for axis, i in zip(edges, at, strict=True)] for end in (0, 1)
    )
    size = np.subtract(high, low)

    def boolean() -> float:
        return (manifold3d.Manifold.cube(size.tolist()).translate(low) ^ solid).volume()

    share = timed(title("mixed block", mesh), boolean) / size.prod()
    assert share == pytest.approx(shares[at], abs=1e-3)
