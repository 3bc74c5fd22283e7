"""Edges by value, open edges in messages, and collinear triangles, against exact arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import cube, joined, random_body, staircase, tetrahedron
from surfaces import MINE, divided_roof, hairline, lidless, shuffled, small_meshes, soup, torus

from geodomain import Mesh
from geodomain.mesh.edges import collinear, edge_table
from geodomain.mesh.open_edges import open_edges_sentence, place, round_number_above


def test_a_hairline_gets_the_call_that_closes_it():
    assert open_edges_sentence(hairline(0.0004)) == (
        "ore.stl is not closed: 8 open edges, the first from (2296021.0, 414095.0, 1690.0) to "
        "(2296021.0, 414195.0, 1690.0); the smallest gap is 0.0004. Close it with "
        "geodomain.weld('ore.stl', 0.0005), or label with allow_open=True."
    )


def test_a_hole_is_not_welded():
    assert open_edges_sentence(lidless()) == (
        "box.stl is not closed: 4 open edges, the first from (0.0, 0.0, 1.0) to (0.0, 1.0, 1.0); "
        "the smallest gap is 1. Welding does not close it: repair the mesh in the program that "
        "made it, or label with allow_open=True."
    )


def test_t_junctions_are_said_to_leave_no_gap():
    said = open_edges_sentence(divided_roof())
    assert "12 open edges" in said
    assert "all of them are T-junctions" in said
    assert "gap is" not in said
    assert "labels with allow_open=True are still right." in said


def test_some_t_junctions_are_counted_beside_a_hole():
    said = open_edges_sentence(joined(divided_roof(), lidless(at=(9, 0, 0))))
    assert "16 open edges" in said
    assert "12 of them are T-junctions" in said
    assert "smallest gap is 1." in said


def test_gaps_of_different_widths_are_welded_by_the_widest():
    mesh = soup(cube(100.0))
    corners = mesh.vertices.copy()
    corners[6, 2] += 0.0001
    corners[3, 0] += 0.004
    said = open_edges_sentence(Mesh(corners, mesh.triangles, name="a b.dxf"))
    assert "the smallest gap is 0.0001" in said
    assert "Close it with geodomain.weld('a b.dxf', 0.02), or" in said


def test_a_mesh_that_is_no_file_gets_the_call():
    mesh = hairline()
    said = open_edges_sentence(Mesh(mesh.vertices, mesh.triangles))
    assert "Close it with geodomain.weld(mesh, 0.0005)" in said


def test_edges_of_three_triangles_are_open_too():
    wing = Mesh([[0, 0, 0], [0, 0, 1], [5, 5, 5]], [[0, 1, 2]])
    solid = tetrahedron([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    said = open_edges_sentence(joined(solid, wing))
    assert "3 open edges (1 of three or more triangles)" in said


@pytest.mark.parametrize("mesh", [hairline(), lidless(), divided_roof(at=MINE)])
def test_the_words_do_not_depend_on_order(mesh):
    assert open_edges_sentence(mesh) == open_edges_sentence(shuffled(mesh, 3))


def test_single_precision_is_shown_in_its_own_digits():
    edge = np.array([[717.6375, 0.1, 2e6], [1, 2, 3]], dtype=np.float32).astype(float)
    assert place(edge) == "from (717.6375, 0.1, 2000000.0) to (1.0, 2.0, 3.0)"
    assert place(edge + 1e-9).startswith("from (717.637512208")


@pytest.mark.parametrize(
    ("value", "above"), [(0.0004, 0.0005), (0.001, 0.002), (0.7, 1), (1, 2), (6e-7, 1e-6), (49, 50)]
)
def test_round_numbers(value, above):
    assert round_number_above(value) == above


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


numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-9, 9).map(lambda i: 0.1 * i),
    st.integers(-9, 9).map(lambda i: 7_480_000.7 + 0.1 * i),
    st.sampled_from([1e90, -1e90, 1e-90, 2.0**53 + 2]),
)
points = st.tuples(numbers, numbers, numbers)


def by_fractions(a, b, c) -> bool:
    p = [Fraction(x) - Fraction(y) for x, y in zip(b, a, strict=True)]
    q = [Fraction(x) - Fraction(y) for x, y in zip(c, a, strict=True)]
    return all(p[i] * q[j] == p[j] * q[i] for i, j in ((0, 1), (1, 2), (2, 0)))


@pytest.mark.full
@given(st.lists(st.tuples(points, points, points), min_size=1, max_size=20))
def test_it_agrees_with_fractions(triples):
    found = collinear(*(np.array([t[i] for t in triples]) for i in range(3)))
    assert found.tolist() == [by_fractions(*triple) for triple in triples]


@given(points, points, st.integers(-5, 5), st.integers(0, 2), st.booleans())
def test_points_along_a_line_and_one_ulp_beside_it(a, b, steps, axis, nudge):
    a, b = np.array(a), np.array(b)
    c = a + steps * (b - a)
    if nudge:  # one step beside 0 is below the range of a mesh
        c[axis] = np.nextafter(c[axis], np.inf) if c[axis] else 2.0**-306
    assert collinear(a[None], b[None], c[None])[0] == by_fractions(a, b, c)


@pytest.mark.parametrize("scale", [2.0**-300, 1.0, 2.0**330])
def test_the_whole_range_of_a_mesh_is_decided(scale):
    a, b, c = (np.array([p]) * scale for p in ([0.0, 0, 0], [1.0, 3, 5], [3.0, 9, 15]))
    assert collinear(a, b, c)[0]
    c[0, 0] = np.nextafter(c[0, 0], np.inf)
    assert not collinear(a, b, c)[0]
