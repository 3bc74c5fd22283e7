"""A million slivers as long as the mesh, beside Open3D: what no grid of cells parts well.

pytest tests/benchmarks/test_slivers.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from geodomain import Mesh, PointLocator, contains

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from shapes import fan, odd_on_purpose, splinters

pytestmark = odd_on_purpose

POINTS = 100_000
FEW = 100  # for the peer, once: for all of them it can take minutes
SCENES = {
    "fan": lambda: fan(250_000),
    "parallel": lambda: splinters(250_000, turn=0.0),
    "x and y": lambda: splinters(250_000, turn=90.0),
    "all directions": lambda: splinters(250_000, turn=360.0),
}


@pytest.fixture(scope="module", params=SCENES)
def slivers(request: pytest.FixtureRequest) -> tuple[str, Mesh, np.ndarray]:
    mesh = SCENES[request.param]()
    low, high = mesh.bounds
    points = low + np.random.default_rng(3).random((POINTS, 3)) * (high - low)
    return request.param, mesh, points


def test_slivers(slivers, timed, wrong) -> None:
    name, mesh, points = slivers

    def ask() -> np.ndarray:
        return contains(Mesh(mesh.vertices, mesh.triangles), points)

    labels = timed(f"{name}, {POINTS:,} points", ask)
    assert wrong(labels, PointLocator(mesh).count_crossings(points) % 2 == 1) == 0


def test_slivers_open3d_along_z(slivers, timed, wrong, peer) -> None:
    open3d = peer("open3d")
    name, mesh, points = slivers
    points = points[:FEW]
    up = np.broadcast_to([0.0, 0.0, 1.0], points.shape)
    rays = open3d.core.Tensor(np.hstack([points, up]).astype(np.float32))
    vertices = mesh.vertices.astype(np.float32)

    def count() -> np.ndarray:
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles(
            open3d.core.Tensor(vertices), open3d.core.Tensor(mesh.triangles.astype(np.uint32))
        )
        return scene.count_intersections(rays).numpy()

    counts = timed(f"{name}, {FEW:,} points", count, rounds=1)
    wrong(counts % 2 == 1, contains(mesh, points))
