"""T-junctions, gaps and near pairs, against known meshes and brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import cube, joined
from surfaces import MINE, divided_roof, hairline, lidless, small_meshes

from geodomain import Mesh
from geodomain.mesh import repair
from geodomain.mesh.edges import edge_table
from geodomain.mesh.open_edges import open_edges_sentence, t_junctions
from geodomain.mesh.open_edges import smallest_gap as gap_beside
from geodomain.mesh.repair import closest_pair, near_pairs, separations
from geodomain.synthetic import star_shaped_orebody


def smallest_gap(table) -> float | None:
    return gap_beside(table, t_junctions(table))


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("size", [2.0, 0.3])
@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_a_divided_roof_meets_its_walls_at_t_junctions(size, at, pieces):
    table = edge_table(divided_roof(size, at, pieces))
    assert len(table.odd) == 4 + 4 * pieces
    np.testing.assert_array_equal(t_junctions(table), table.odd)


def test_t_junctions_are_told_from_holes():
    table = edge_table(joined(divided_roof(), lidless(at=(10, 0, 0))))
    junctions = t_junctions(table)
    assert (len(table.odd), len(junctions)) == (16, 12)
    assert table.segments(junctions)[:, :, 0].max() <= 2
    assert smallest_gap(table) == 1


def test_a_hole_beside_a_t_junction_on_its_line_is_open():
    # The long edge reaches from 0 to 3; the short ones leave out 2 to 3.
    corners = [[0, 0, 0], [3, 0, 0], [1, 1, 0], [1, 0, 0], [2, 0, 0], [1, -1, 0], [2, -1, 0]]
    mesh = Mesh(corners, [[0, 1, 2], [0, 3, 5], [3, 4, 6]])
    table = edge_table(mesh)
    assert len(t_junctions(table)) == 2
    assert table.segments(t_junctions(table))[:, :, 0].max() == 2


@pytest.mark.parametrize("nudge", [0.0, np.spacing(414_095.0)])
def test_a_vertex_one_ulp_off_the_edge_is_no_t_junction(nudge):
    corners = np.array([[0, 0, 0], [6, 2, 0], [1, 5, 0], [3, 1, 0], [5, -5, 0]]) + MINE
    corners[3, 1] += nudge
    table = edge_table(Mesh(corners, [[0, 1, 2], [0, 3, 4], [3, 1, 4]]))
    assert len(t_junctions(table)) == (0 if nudge else 3)


def test_a_closed_mesh_has_neither():
    table = edge_table(cube())
    assert len(t_junctions(table)) == 0
    assert smallest_gap(table) is None


def covered_evenly(table) -> set:
    """Tell T-junctions on a lattice: cut every odd edge into unit parts, and count."""
    cover = {}
    parts = {}
    for edge in table.odd:
        start, end = np.rint(table.vertices[table.ends[edge]] * 10).astype(int)
        steps = np.gcd.reduce(np.abs(end - start))
        points = [tuple((start * (steps - i) + end * i) // steps) for i in range(steps + 1)]
        parts[edge] = {frozenset(pair) for pair in pairwise(points)}
        for part in parts[edge]:
            cover[part] = cover.get(part, 0) + 1
    return {e for e, own in parts.items() if all(cover[part] % 2 == 0 for part in own)}


@given(small_meshes())
def test_t_junctions_are_the_edges_that_are_covered(mesh):
    table = edge_table(
        Mesh(np.rint(mesh.vertices / mesh.vertices.max(initial=0.1) * 2), mesh.triangles)
    )
    found = set(t_junctions(table).tolist())
    # An edge that shares no end with what covers it may be passed over; nothing else.
    assert found <= covered_evenly(table)
    if len(covered_evenly(table)) == len(table.odd):
        assert found == set(table.odd.tolist())


@given(st.lists(st.tuples(*[st.integers(-9, 9)] * 3), min_size=3, max_size=30, unique=True))
def test_the_smallest_gap_is_that_of_all_pairs(points):
    corners = np.array(points[: len(points) // 3 * 3], dtype=float) * 0.37 + MINE
    mesh = Mesh(corners, np.arange(len(corners)).reshape(-1, 3))
    table = edge_table(mesh)
    open_ones = np.setdiff1d(table.odd, t_junctions(table))
    used = np.unique(table.ends[open_ones if len(open_ones) else table.odd])
    distances = np.linalg.norm(table.vertices[used][:, None] - table.vertices[used], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert smallest_gap(table) == pytest.approx(distances.min(), rel=1e-12)


def test_a_hairline_is_measured_at_mine_coordinates():
    assert smallest_gap(edge_table(hairline(0.0004))) == pytest.approx(0.0004, rel=1e-5)


coordinate = st.integers(-30, 30).map(lambda i: i * 0.1)
clouds = st.lists(st.tuples(*[coordinate] * 3), min_size=2, max_size=40, unique=True)


def test_a_weld_is_advised_where_the_smallest_gap_is_far_narrower_than_most():
    # Each triangle has its own corners, moved at random by 1e-10 to 1e-7.
    body = star_shaped_orebody(frequency=4, radii=(40, 30, 20))
    corners = body.vertices[body.triangles].reshape(-1, 3)
    random = np.random.default_rng(7)
    sizes = 10 ** random.uniform(-10, -7, (len(corners), 1))
    corners = corners + random.normal(size=corners.shape) * sizes
    soup = Mesh(corners, np.arange(len(corners)).reshape(-1, 3), name="soup")
    sentence = open_edges_sentence(soup)
    assert "Close it with geodomain.weld(mesh, " in sentence
    tolerance = float(sentence.split("weld(mesh, ")[1].split(")")[0])
    assert repair.weld(soup, tolerance).mesh.is_closed


def all_pairs(points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = np.triu_indices(len(points), 1)
    return first, second, separations(points, first, second)


@given(clouds, st.sampled_from([0.1, 0.25, 1.0, 9.0, 1e-12]), st.booleans())
def test_near_pairs_are_all_pairs_within_the_distance(cloud, distance, mine):
    points = np.unique(np.array(cloud) + (MINE if mine else 0), axis=0)
    first, second, gaps = all_pairs(points)
    near = np.flatnonzero(gaps <= distance)
    expected = {frozenset((first[i], second[i])) for i in near}
    found = near_pairs(points, distance, 10**9)
    assert {frozenset(p) for p in zip(found[0], found[1], strict=True)} == expected
    assert (found[2] <= distance).all()


@given(clouds)
def test_the_closest_pair_is_that_of_all_pairs(cloud):
    points = np.array(cloud)
    assert closest_pair(points) == all_pairs(points)[2].min()


def test_large_clouds_go_in_pieces(monkeypatch):
    points = np.random.default_rng(5).random((400, 3))
    whole = near_pairs(points, 0.2, 10**9)
    monkeypatch.setattr(repair, "_PAIRS_AT_ONCE", 50)
    pieces = near_pairs(points, 0.2, 10**9)
    for found, expected in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_limit_is_kept():
    points = np.random.default_rng(5).random((400, 3))
    assert near_pairs(points, 10.0, 1000) is None


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_points_have_no_pair(count):
    assert closest_pair(np.zeros((count, 3))) is None


def test_a_ring_with_one_hair_among_many_points():
    angle = np.linspace(0, 2 * np.pi, 50_000, endpoint=False)
    ring = np.stack([1000 * np.cos(angle), 1000 * np.sin(angle), 0 * angle], axis=1) + MINE
    hair = ring[777] + np.array([0, 0, 0.001])
    assert closest_pair(np.append(ring, hair[None], axis=0)) == pytest.approx(0.001, rel=1e-5)
