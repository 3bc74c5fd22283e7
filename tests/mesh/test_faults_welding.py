"""Welding: what moves, where to, what is dropped, and what it closes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import cube, joined
from surfaces import MINE, divided_roof, hairline, lidless, shuffled, small_meshes, soup

from geodomain import Mesh, MeshError
from geodomain.mesh import repair
from geodomain.mesh.edges import edge_table
from geodomain.mesh.repair import closing_weld, could_close, weld


def triangles_of(mesh: Mesh) -> list:
    """Give the triangles as sorted coordinates, each from its smallest corner."""
    found = []
    for triangle in mesh.vertices[mesh.triangles].tolist():
        start = triangle.index(min(triangle))
        found.append(triangle[start:] + triangle[:start])
    return sorted(found)


def test_a_hairline_is_closed():
    mesh = hairline(0.0004)
    assert not mesh.is_closed
    result = weld(mesh, 0.001)
    assert result.mesh.is_closed
    assert (result.moved, result.dropped) == (4, 0)
    assert result.largest_move == pytest.approx(0.0004, rel=1e-5)
    assert result.mesh.name == "ore.stl"
    assert triangles_of(result.mesh) == triangles_of(cube(100.0, MINE))


def test_too_small_a_tolerance_moves_nothing():
    result = weld(hairline(0.0004), 0.0003)
    assert (result.moved, result.largest_move) == (0, 0.0)
    assert not result.mesh.is_closed


def test_nothing_joins_equal_vertices():
    result = weld(soup(cube()), 0)
    assert (len(result.mesh.vertices), result.moved, result.dropped) == (8, 0, 0)
    assert triangles_of(result.mesh) == triangles_of(cube())


def test_a_cluster_moves_to_its_first_member():
    points = [[2, 0, 0], [1, 9, 0], [1, 8.9, 5], [2, 0.1, 0], [1.9, 0.1, 0]]
    result = weld(Mesh(points, [[0, 1, 2], [3, 1, 2], [4, 2, 1]]), 0.2)
    expected = [[1, 8.9, 5], [1, 9, 0], [1.9, 0.1, 0]]
    assert sorted(result.mesh.vertices.tolist()) == expected
    assert result.moved == 2
    assert result.largest_move == pytest.approx(np.hypot(0.1, 0.1))


def test_a_chain_is_joined_whole_and_the_move_is_told():
    chain = [[0.9 * i, 0, 0] for i in range(5)] + [[0, 50, 0], [0, 0, 50]]
    result = weld(Mesh(chain, [[i, 5, 6] for i in range(5)]), 1.0)
    assert len(result.mesh.vertices) == 3
    assert (result.moved, result.largest_move) == (4, pytest.approx(3.6))


def test_triangles_that_collapse_are_dropped():
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1.001, 0, 0]]
    result = weld(Mesh(points, [[0, 1, 2], [1, 3, 2], [0, 0, 2]]), 0.01)
    assert (len(result.mesh.triangles), result.dropped) == (1, 2)


@given(small_meshes(), st.integers(0, 1000), st.sampled_from([0, 0.1, 0.15, 1.0]))
def test_the_order_of_vertices_and_triangles_does_not_matter(mesh, seed, tolerance):
    one, other = weld(mesh, tolerance), weld(shuffled(mesh, seed), tolerance)
    assert triangles_of(one.mesh) == triangles_of(other.mesh)
    assert (one.moved, one.dropped) == (other.moved, other.dropped)
    assert one.largest_move == other.largest_move


@given(small_meshes(), st.sampled_from([0, 0.1, 1.0]))
def test_no_coordinate_is_new_and_nothing_near_is_left(mesh, tolerance):
    result = weld(mesh, tolerance)
    before, after = (set(map(tuple, m.vertices.tolist())) for m in (mesh, result.mesh))
    assert after <= before
    again = weld(result.mesh, tolerance)
    assert len(again.mesh.vertices) <= len(after)


@given(small_meshes(), st.sampled_from([0.1, 1.0]))
def test_what_could_close_is_the_image_of_the_open_edges(mesh, tolerance):
    # Welding commutes with the boundary: with nothing but open edges, the two agree.
    table = edge_table(mesh)
    if len(np.unique(table.ends[table.odd])) == len(table.vertices):
        assert could_close(table, tolerance) == weld(mesh, tolerance).mesh.is_closed


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(ValueError, match="at least 0"):
        weld(cube(), tolerance)


def test_too_wide_a_tolerance_is_refused_where_it_would_take_forever(monkeypatch):
    monkeypatch.setattr(repair, "_MOST_PAIRS", 10)
    with pytest.raises(MeshError, match="too wide"):
        weld(cube(), 5.0)


def test_a_mesh_that_collapses_is_empty():
    result = weld(cube(), 10.0)
    assert (len(result.mesh.triangles), result.dropped, result.moved) == (0, 12, 7)


def test_an_empty_mesh_stays_empty():
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32))
    assert weld(empty, 1.0).moved == 0


def test_what_closes_a_mesh_keeps_its_shape():
    mesh = hairline(0.0004)
    assert closing_weld(mesh, edge_table(mesh), 0.001) is not None
    assert closing_weld(mesh, edge_table(mesh), 0.0001) is None
    # So wide that nothing is left, and nothing is open.
    assert closing_weld(mesh, edge_table(mesh), 200.0) is None


@pytest.mark.parametrize("mesh", [lidless(), divided_roof(), joined(lidless(), cube(at=(5, 5, 5)))])
def test_a_hole_is_not_closed(mesh):
    assert all(closing_weld(mesh, edge_table(mesh), t) is None for t in (1e-6, 1e-3, 1e-2))
