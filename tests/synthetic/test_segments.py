"""The undulating terrain and the segments across it are what they say they are."""

from __future__ import annotations

import numpy as np
import pytest

from geodomain import Mesh, PointLocator, synthetic
from geodomain.synthetic.scenes import EXTENT, STEP, cell_size, grid_cells

REACH = 4 * cell_size(2000)


@pytest.fixture(scope="module")
def ground() -> Mesh:
    return synthetic.undulating_terrain(2000, seed=3)


def all_of(chunks) -> tuple[np.ndarray, ...]:
    """Join chunks: starts, ends, triangles, through."""
    fields = ("starts", "ends", "triangles", "through")
    parts = [[getattr(chunk, field) for field in fields] for chunk in chunks]
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def test_the_papers_number_of_triangles_is_met() -> None:
    mesh = synthetic.undulating_terrain(29_260)
    assert (len(mesh.triangles), len(mesh.vertices)) == (29_260, 134 * 111)
    assert mesh.bounds[:, :2].tolist() == [[0.0, 0.0], list(EXTENT)]


@pytest.mark.parametrize("wanted", [2, 3, 7, 100, 12_345, 1_000_003])
def test_numbers_of_triangles_are_near_and_cells_nearly_square(wanted: int) -> None:
    across, along = grid_cells(wanted)
    assert abs(2 * across * along - wanted) <= max(across, along)
    if wanted > 50:
        assert 0.8 < (EXTENT[0] / across) / (EXTENT[1] / along) < 1.25


def test_terrain_is_a_graph(ground: Mesh) -> None:
    a, b, c = np.moveaxis(ground.vertices[ground.triangles][:, :, :2], 1, 0)
    areas = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert areas.min() > 0
    assert areas.sum() / 2 == EXTENT[0] * EXTENT[1]


def test_terrain_undulates(ground: Mesh) -> None:
    heights = ground.vertices[:, 2]
    assert heights.min() == 0
    assert 50 < heights.max() < 150


def test_coordinates_are_the_same_in_single_precision(ground: Mesh) -> None:
    starts, ends, *_ = all_of(synthetic.segments_across(ground, 1000, reach=REACH))
    for values in (ground.vertices, starts, ends):
        assert (values.astype(np.float32) == values).all()
        assert (values % STEP == 0).all()


def test_a_seed_gives_the_same_and_another_does_not(ground: Mesh) -> None:
    again, other = (synthetic.undulating_terrain(2000, seed=seed) for seed in (3, 4))
    assert (again.vertices == ground.vertices).all()
    assert (other.vertices != ground.vertices).any()


def test_neither_chunk_nor_count_changes_a_segment(ground: Mesh) -> None:
    whole = all_of(synthetic.segments_across(ground, 1000, reach=REACH, seed=5))
    parts = all_of(synthetic.segments_across(ground, 700, reach=REACH, seed=5, chunk=37))
    for one, other in zip(whole, parts, strict=True):
        assert (one[:700] == other).all()


@pytest.mark.parametrize("perturb", [False, True])
def test_segments_follow_the_normals_of_their_triangles(ground: Mesh, perturb: bool) -> None:
    starts, ends, triangles, through = all_of(
        synthetic.segments_across(ground, 4000, reach=REACH, perturb=perturb)
    )
    a, b, c = np.moveaxis(ground.vertices[ground.triangles[triangles]], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    middle = (a + b + c) / 3
    # Half of the reach below the plane, scaled by 0.6 to 1; the end on the side that is said.
    depth, height = (((each - middle) * normal).sum(axis=1) for each in (starts, ends))
    assert -REACH / 2 - 0.01 < depth.min() < -0.49 * REACH
    assert -0.31 * REACH < depth.max() < -0.3 * REACH + 0.01
    assert ((height > 0) == through).all()
    assert abs(height).min() > 0.0015 * REACH
    aside = np.linalg.norm((starts - middle) - depth[:, None] * normal, axis=1)
    assert aside.max() < 0.01 if not perturb else aside.max() > 1


def test_half_of_them_go_through(ground: Mesh) -> None:
    *_, through = all_of(synthetic.segments_across(ground, 40_000, reach=REACH))
    assert abs(through.mean() - 0.5) < 0.01


def test_they_end_on_the_side_that_vertical_rays_say(ground: Mesh) -> None:
    starts, ends, _, through = all_of(synthetic.segments_across(ground, 4000, reach=REACH))
    locator = PointLocator(ground, allow_open=True)
    below = [locator.count_crossings(each) == 1 for each in (starts, ends)]
    for each in (starts, ends):  # else a vertical ray passes beside the terrain
        assert ((each[:, :2] > 0) & (each[:, :2] < EXTENT)).all()
    assert ((below[0] != below[1]) == through).all()


def test_what_cannot_be_made_is_refused(ground: Mesh) -> None:
    with pytest.raises(ValueError, match="at least 2 triangles"):
        synthetic.undulating_terrain(1)
    with pytest.raises(ValueError, match="too many"):
        synthetic.undulating_terrain(10**10)
    with pytest.raises(ValueError, match="no triangles"):
        next(synthetic.segments_across(Mesh([], []), 1, reach=1.0))
