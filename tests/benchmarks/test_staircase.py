"""Tie-heavy input: a wireframe on the block lattice, beside a generic one of its size."""

from __future__ import annotations

import numpy as np
import pytest

from geodomain import Mesh, contains, contains_lattice, synthetic

FREQUENCY = 63  # 79,380 triangles, beside the staircase's 80,640


def generic() -> tuple[Mesh, synthetic.Axes]:
    mesh = synthetic.star_shaped_orebody(FREQUENCY, centre=synthetic.MINE, radii=(560, 560, 280))
    _, axes = synthetic.staircase()
    return mesh, synthetic.lattice_over(mesh, [len(axis) for axis in axes])


def points_of(axes) -> np.ndarray:
    points = np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)
    return np.random.Generator(np.random.PCG64(1)).permutation(points)


@pytest.fixture(params=[synthetic.staircase, generic], ids=["staircase", "generic"])
def scene(request) -> tuple[Mesh, synthetic.Axes]:
    return request.param()


def test_lattice(scene, timed, wrong) -> None:
    mesh, axes = scene
    labels = timed(
        "mine coordinates, lattice",
        lambda: contains_lattice(Mesh(mesh.vertices, mesh.triangles), *axes),
    )
    points = np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)
    assert wrong(labels.ravel(), contains(mesh, points)) == 0


def test_points(scene, timed, wrong) -> None:
    mesh, axes = scene
    points = points_of(axes)
    labels = timed(
        "mine coordinates, points",
        lambda: contains(Mesh(mesh.vertices, mesh.triangles), points),
    )
    truth = contains_lattice(mesh, *axes)
    where = tuple(np.searchsorted(axis, points[:, a]) for a, axis in enumerate(axes))
    assert wrong(labels, truth[where]) == 0


def test_staircase_is_labelled_block_by_block() -> None:
    """The displaced vertex lies in the block to the upper north-east of it."""
    mesh, axes = synthetic.staircase()
    cells = len(axes[0]) - 1
    body = np.pad(synthetic.scenes.blocky_body(cells), [(0, 1)] * 3)
    assert (contains_lattice(mesh, *axes) == body).all()
