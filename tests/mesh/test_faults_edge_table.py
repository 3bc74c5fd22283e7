"""Edges by value: against counters of coordinates, and known meshes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import cube, random_body, staircase
from surfaces import lidless, shuffled, small_meshes, soup, torus

from geodomain import Mesh
from geodomain.mesh.edges import edge_table


def counted(mesh: Mesh) -> tuple[Counter, Counter]:
    """Count the uses of each edge, and its balance, by tuples of coordinates."""
    uses, balance = Counter(), Counter()
    for triangle in mesh.vertices[mesh.triangles].tolist():
        corners = [tuple(corner) for corner in triangle]
        if len(set(corners)) < 3:
            continue
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            uses[min(a, b), max(a, b)] += 1
            balance[min(a, b), max(a, b)] += 1 if a < b else -1
    return uses, balance


def as_set(table, edges) -> set:
    return {tuple(map(tuple, segment)) for segment in table.segments(edges).tolist()}


@given(small_meshes())
def test_edges_are_those_of_a_counter(mesh):
    table, (uses, balance) = edge_table(mesh), counted(mesh)
    assert as_set(table, table.open) == {edge for edge, count in uses.items() if count == 1}
    assert as_set(table, table.odd) == {edge for edge, count in uses.items() if count % 2}
    assert as_set(table, table.nonmanifold) == {e for e, count in uses.items() if count > 2}
    assert as_set(table, table.unbalanced) == {e for e, count in balance.items() if count}
    assert len(table.ends) == len(uses)
    assert (len(table.odd) == 0) == mesh.is_closed
    assert (len(table.unbalanced) == 0) == mesh.is_balanced


@given(small_meshes(), st.integers(0, 1000))
def test_places_do_not_depend_on_order(mesh, seed):
    table, other = edge_table(mesh), edge_table(shuffled(mesh, seed))
    for kind in ("open", "odd", "nonmanifold", "unbalanced"):
        np.testing.assert_array_equal(
            table.segments(getattr(table, kind)), other.segments(getattr(other, kind))
        )


@pytest.mark.parametrize("mesh", [cube(), torus(), staircase(random_body((4, 5, 3), 1))])
def test_a_soup_has_the_edges_of_the_shared_mesh(mesh):
    table, other = edge_table(mesh), edge_table(soup(mesh))
    assert not len(table.odd)
    assert len(table.ends) == len(other.ends)
    assert sorted(table.uses) == sorted(other.uses)


def test_open_edges_are_the_rim():
    table = edge_table(lidless())
    assert len(table.open) == len(table.odd) == len(table.unbalanced) == 4
    assert (table.segments(table.open)[:, :, 2] == 1).all()


def test_zeros_of_both_signs_are_one():
    flat = Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, 0, 0], [1, 1, 0]], [[0, 1, 2]])
    twice = Mesh(flat.vertices, [[0, 1, 2], [3, 2, 1]])
    assert len(edge_table(twice).odd) == 0


def test_a_triangle_with_two_equal_corners_has_no_edge():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 0]], [[0, 1, 2], [0, 0, 1]])
    table = edge_table(mesh)
    assert table.degenerate.all()
    assert len(table.ends) == 0


def test_no_triangle_has_no_edge():
    table = edge_table(Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32)))
    assert len(table.odd) == len(table.vertices) == len(table.segments(table.odd)) == 0


def test_unused_vertices_are_not_counted():
    mesh = Mesh([[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 8]], [[1, 2, 3]])
    assert len(edge_table(mesh).vertices) == 3
