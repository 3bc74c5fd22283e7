"""Shells that cross themselves: where, which results are right, and folds that are no crossing."""

from __future__ import annotations

import numpy as np
import pytest
from late import needs
from wireframes import box

import geodomain
from geodomain import Mesh, MeshError, solids
from geodomain.mesh.components import find_components
from geodomain.solids.crossings import self_crossing

pytestmark = needs("manifold3d")
MIDDLE = np.array([414_000.0, 7_480_000.0, 300.0])


def knotted_tube() -> Mesh:
    """Return a tube along a figure of eight that crosses itself in the middle."""
    turn = np.linspace(0, 1, 40)
    path = np.stack(
        [np.sin(2 * np.pi * turn) * 10, np.sin(4 * np.pi * turn) * 5, turn * 1.5], axis=1
    )
    along = np.gradient(path, axis=0)
    side = np.cross(along, [0.1, 0.2, 1.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(along, side)
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    angles = np.arange(12) / 12 * 2 * np.pi
    ring = (
        np.cos(angles)[None, :, None] * side[:, None] + np.sin(angles)[None, :, None] * up[:, None]
    )
    vertices = (path[:, None] + 2 * ring).reshape(-1, 3)
    first, after = np.arange(12), (np.arange(12) + 1) % 12
    triangles = []
    for start in range(0, 39 * 12, 12):
        a, b = start + first, start + after
        triangles += [np.stack([a, b, a + 12], axis=1), np.stack([b, b + 12, a + 12], axis=1)]
    ends = [np.full(12, 480), np.full(12, 481)]
    triangles += [
        np.stack([ends[0], after, first], axis=1),
        np.stack([ends[1], 468 + first, 468 + after], axis=1),
    ]
    points = np.r_[vertices, path[:1], path[-1:]] + MIDDLE
    return Mesh(points, np.concatenate(triangles), name="tube")


BOX = box(MIDDLE - 3, MIDDLE + 3)


def crossing(mesh: Mesh) -> tuple[float, ...] | None:
    return self_crossing(mesh, find_components(mesh)[1])


def test_the_place_is_where_walls_cross() -> None:
    tube = knotted_tube()
    place = crossing(tube)
    assert place is not None
    assert np.abs(np.array(place) - MIDDLE).max() < 6
    assert geodomain.distances(tube, [place])[0] < 1e-8
    ways = np.random.default_rng(1).normal(size=(200, 3)) * 1e-3
    assert {*geodomain.winding_numbers(tube, np.array(place) + ways).tolist()} >= {0, 1, 2}
    assert crossing(BOX) is None


@pytest.mark.parametrize("function", [solids.union, solids.intersect, solids.subtract])
@pytest.mark.parametrize("swapped", [False, True])
def test_by_parity_every_result_follows_the_rule(function: object, swapped: bool) -> None:
    operands = [knotted_tube(), BOX][:: -1 if swapped else 1]
    result = function(*operands)  # type: ignore[operator]
    assert result.proof.wrong == 0 and result.volume is None
    assert "crosses itself near" in str(result) and "not computed" in str(result)


def test_by_winding_number_results_that_would_be_wrong_are_refused() -> None:
    tube = knotted_tube()
    for result in (
        solids.union(tube, BOX, rule="winding"),
        solids.intersect(BOX, tube, rule="winding"),
        solids.subtract(tube, BOX, rule="winding"),
    ):
        assert result.proof.wrong == 0
    with pytest.raises(MeshError, match=r"tube crosses itself near \(41\d+.*rule 'winding'"):
        solids.subtract(BOX, tube, rule="winding")
    moved = Mesh(tube.vertices + 1.0, tube.triangles, name="moved")
    with pytest.raises(MeshError, match="moved crosses itself"):
        solids.union(tube, moved, rule="winding")


def test_repair_and_volumes_refuse_it_with_the_place() -> None:
    with pytest.raises(MeshError, match=r"tube crosses itself near .* not certain"):
        solids.repair(knotted_tube())
    with pytest.raises(MeshError, match="it has no volume"):
        solids.volumes(knotted_tube(), BOX)


def folded_box() -> Mesh:
    """Return a box whose roof is cut into triangles that fold over each other in its plane."""
    cube = box((0, 0, 0), (4, 4, 4))
    high = cube.vertices[:, 2] == 4
    rest = cube.triangles[~high[cube.triangles].all(axis=1)]
    table = {tuple(v): n for n, v in enumerate(cube.vertices[:, :2].tolist()) if high[n]}
    ring = [table[corner] for corner in ((0, 0), (4, 0), (4, 4), (0, 4))]
    # A fan around a point outside the roof: two triangles face down and cover what is too much.
    fan = [[8, ring[k], ring[(k + 1) % 4]] for k in range(4)]
    return Mesh(np.r_[cube.vertices, [[7.0, 2.0, 4.0]]], [*rest.tolist(), *fan], name="folded")


def test_a_fold_within_a_plane_is_no_crossing() -> None:
    mesh = folded_box()
    assert mesh.is_closed and mesh.is_balanced
    assert crossing(mesh) is None
    result = solids.subtract(mesh, box((-1, -1, 3), (2, 5, 9)))
    assert [(change.kind, change.count) for change in result.changes] == [("unfolded", 1)]
    assert result.volume == pytest.approx(64 - 8)
    assert result.proof.wrong == 0


def test_shells_that_touch_along_an_edge_do_not_cross() -> None:
    first, second = box((0, 0, 0), (1, 1, 1)), box((1, 1, 0), (2, 2, 1))
    both = Mesh(
        np.r_[first.vertices, second.vertices], np.r_[first.triangles, second.triangles + 8]
    )
    assert solids.union(both).volume == pytest.approx(2)
