"""What is said of a mesh that is not closed."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import cube, joined, tetrahedron
from surfaces import MINE, divided_roof, hairline, lidless, shuffled, soup

from geodomain import Mesh
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
        "the smallest gap is 1. Welding does not close it: repair it in the program that "
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
