"""What `check` counts: known meshes and invariants."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import CUBE_TRIANGLES, cube, joined, random_body, staircase, tetrahedron
from surfaces import (
    MINE,
    divided_roof,
    hairline,
    lidless,
    reversed_mesh,
    shuffled,
    small_meshes,
    soup,
    torus,
)

from geodomain import Mesh
from geodomain.mesh.check import PLACES, as_table, check

COUNTS = ("boundary_edges", "nonmanifold_edges", "unbalanced_edges", "degenerate", "zero_area")
COUNTS += ("dup_faces", "shells", "euler")
FAULTS = (*COUNTS[:6], "t_junctions", "duplicate_shells", "inward", "inside_out")


def faults(report) -> dict[str, int]:
    return {name: getattr(report, name) for name in FAULTS if getattr(report, name)}


def test_a_cube_is_clean():
    report = check(cube(2.0, MINE))
    assert faults(report) == {}
    assert (report.triangles, report.vertices, report.shells, report.euler) == (12, 8, 1, 2)
    assert (report.area, report.signed_volume) == (24, 8)
    assert report.bounds.tolist() == [MINE.tolist(), (MINE + 2).tolist()]
    assert report.closed and report.balanced and report.fit
    assert report.smallest_gap is None and report.open_edges == ""
    assert report.warnings() == [] and dict(report.places) == {}


def test_a_torus_has_a_hole():
    report = check(torus())
    assert (report.euler, report.shells, faults(report)) == (0, 1, {})


@pytest.mark.parametrize("at", [(0, 0, 0), MINE, (0, 7.48e6, 0)])
def test_the_volume_of_a_small_solid_far_away(at):
    corners = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0.25, 0], [0, 0, 0.125]]) + at
    assert check(tetrahedron(corners)).signed_volume == pytest.approx(0.015625 / 6, rel=1e-12)


def test_a_roof_that_is_off():
    report = check(lidless())
    assert faults(report) == {"boundary_edges": 4, "unbalanced_edges": 4}
    assert not report.closed and not report.fit
    assert report.faults() == [report.open_edges]
    assert report.smallest_gap == 1
    rim = report.places["boundary_edges"]
    assert rim.shape == (4, 2, 3) and (rim[:, :, 2] == 1).all()


def test_a_triangle_that_faces_the_other_way():
    triangles = CUBE_TRIANGLES.copy()
    triangles[5] = triangles[5, ::-1]
    report = check(Mesh(cube().vertices, triangles, name="ore.stl"))
    assert faults(report) == {"unbalanced_edges": 3}
    assert report.closed and report.fit and not report.balanced
    assert report.warnings()[0].startswith("ore.stl has 3 mis-oriented edges")
    assert "the first from (" in report.warnings()[0]


def test_t_junctions_are_counted_and_located():
    report = check(divided_roof())
    assert report.t_junctions == report.boundary_edges == 12
    assert report.places["t_junctions"].shape == (12, 2, 3)
    assert not report.fit


def test_a_hairline_is_located():
    report = check(hairline(0.0004))
    assert report.smallest_gap == pytest.approx(0.0004, rel=1e-5)
    assert report.boundary_edges == 8
    assert ", 0.0005)" in report.faults()[0]


def test_nested_shells():
    void = reversed_mesh(cube(1.0, (1, 1, 1)))
    report = check(joined(cube(3.0), void))
    assert (report.shells, report.inward, report.inside_out) == (2, 1, 0)
    assert report.signed_volume == 26
    assert (report.nested_shells, report.nested_alike) == (1, 0)
    assert report.places["nested_shells"].tolist() == [[[1, 1, 1], [2, 2, 2]]]
    (said,) = report.warnings()
    assert said.startswith("joined has a shell inside another, in the box from (1.0, 1.0")


def test_a_shell_inside_another_that_faces_as_it_does():
    report = check(joined(cube(3.0), cube(1.0, (1, 1, 1)), cube(5.0, (-1, -1, -1))))
    assert (report.nested_shells, report.nested_alike) == (2, 2)
    assert report.places["nested_alike"].tolist() == report.places["nested_shells"].tolist()
    (said,) = report.warnings()
    assert (
        "2 shells that face the same way as the shells around them" in said
        and "solid by rule 'winding'" in said
    )


def test_shells_that_overlap_or_touch_are_counted_and_located():
    across = joined(*(cube(2.0, MINE + at) for at in ([0, 0, 0], [1, 1, 1], [2, 0, 0])))
    report = check(across)
    assert (report.components, report.overlapping_shells, report.touching_shells) == (3, 2, 1)
    low, high = report.places["overlapping_shells"][0]
    assert low.tolist() == (MINE + 1).tolist() and high.tolist() == (MINE + 2).tolist()
    assert "2 pairs of overlapping shells, the first in the box from" in report.warnings()[0]
    assert any("a pair of shells that touch" in said for said in report.warnings())
    table = as_table(report)
    assert "  pairs that overlap   2\n" in table and "  components           3\n" in table
    assert not report.fit and "2 pairs of overlapping shells" in report.faults()[0]


def test_shells_of_one_space_and_other_triangles_cancel_too():
    finer = staircase(np.ones((2, 2, 2), bool), spacing=(0.5, 0.5, 0.5))
    report = check(joined(cube(), finer))
    assert (report.duplicate_shells, report.equal_shells, report.dup_faces) == (1, 1, 0)
    assert "NOTHING IS INSIDE" in report.warnings()[0]


def test_a_relation_that_is_not_told_is_said():
    turned = cube().triangles.copy()
    turned[3] = turned[3, ::-1]
    report = check(joined(Mesh(cube().vertices, turned), cube(at=(1, 0.5, 0))))
    assert report.undetermined_shells == 1
    assert any("whose relationship could not be determined" in said for said in report.warnings())


def test_a_shell_inside_out():
    report = check(joined(cube(3.0), reversed_mesh(cube(1.0, (9, 1, 1)))))
    assert (report.inward, report.inside_out) == (1, 1)
    assert "an inward-facing shell that is not a void" in report.warnings()[0]
    assert check(reversed_mesh(cube())).inside_out == 1


def test_shells_that_touch_in_a_corner_are_one():
    report = check(joined(cube(), cube(at=(1, 1, 1))))
    assert (report.shells, report.euler, faults(report)) == (1, 3, {})


@pytest.mark.parametrize("again", [cube, lambda: reversed_mesh(cube())])
def test_a_shell_that_is_there_twice_is_said_first(again):
    report = check(joined(cube(), again(), cube(at=(5, 5, 5))))
    assert (report.duplicate_shells, report.dup_faces) == (1, 12)
    assert report.closed and not report.fit
    assert report.faults() == report.warnings()[:1]
    assert "NOTHING IS INSIDE" in report.warnings()[0]
    assert len(report.warnings()) >= 2


def test_a_duplicate_shell_is_found_beside_one_that_touches_it():
    report = check(joined(cube(), cube(), cube(at=(1, 1, 1)), cube(at=(1, 0, 0))))
    assert (report.shells, report.duplicate_shells) == (1, 1)


def test_a_shell_that_is_there_three_times_has_an_inside():
    report = check(joined(cube(), cube(), cube()))
    assert (report.duplicate_shells, report.dup_faces) == (0, 24)
    assert report.equal_shells == 3


@pytest.mark.parametrize("copies", [2, 4])
def test_a_surface_that_is_there_twice_encloses_nothing(copies):
    """Every edge has an even number of triangles, so that it counts as closed."""
    report = check(joined(*[lidless()] * copies))
    assert report.closed and report.cancelled and not report.fit
    assert "nothing is inside" in report.faults()[0]
    assert report.faults("surface") == report.faults()


def test_what_is_left_of_copies_is_not_cancelled():
    assert not check(joined(lidless(), lidless(), lidless())).cancelled
    closed = check(joined(lidless(), lidless(), cube(at=(5, 0, 0))))
    assert closed.closed and closed.fit and not closed.cancelled


def test_a_face_between_two_solids_is_no_duplicate_shell():
    report = check(joined(cube(), cube(at=(1, 0, 0))))
    assert report.duplicate_shells == 0
    # The rim of the face, and its diagonal.
    assert report.nonmanifold_edges == 5


def test_triangles_without_area():
    points = np.array([[0, 0, 0], [3, 1, 2], [6, 2, 4], [6, 2, 4 + 1e-9], [0, 0, 0]]) + MINE
    report = check(Mesh(points, [[0, 1, 2], [0, 1, 3], [0, 4, 1]]))
    assert (report.degenerate, report.zero_area) == (1, 2)
    assert report.places["zero_area"].tolist() == [0, 2]
    assert report.places["degenerate"].tolist() == [2]


def test_duplicate_faces_are_located():
    mesh = cube()
    triangles = [*mesh.triangles.tolist(), [0, 3, 2], [1, 1, 2], [2, 1, 2], [7, 7, 7]]
    report = check(Mesh(mesh.vertices, triangles))
    assert (report.dup_faces, report.degenerate) == (1, 3)
    assert report.places["dup_faces"].tolist() == [12]


def test_places_are_bounded():
    report = check(joined(*(lidless(at=(3 * i, 0, 0)) for i in range(40))))
    assert report.boundary_edges == 160
    assert len(report.places["boundary_edges"]) == PLACES


def test_resolution_is_that_of_the_numbers():
    assert check(cube(1.0, MINE)).resolution == np.spacing(np.float32(MINE[0] + 1))
    assert check(cube(0.1, MINE)).resolution == np.spacing(MINE[0])


def test_the_far_end_of_the_range():
    report = check(cube(2.0**330))
    assert report.fit and report.signed_volume == pytest.approx(2.0**990)


def test_an_empty_mesh_is_not_fit():
    report = check(Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32), name="none.ply"))
    assert not report.fit
    assert report.faults() == ["none.ply has no triangle with three different corners."]
    json.dumps(report.as_dict(), allow_nan=False)
    assert "cannot be used" in as_table(report)


@pytest.mark.full
@given(small_meshes(), st.integers(0, 1000))
def test_a_report_does_not_depend_on_order(mesh, seed):
    one, other = check(mesh).as_dict(), check(shuffled(mesh, seed)).as_dict()
    for name, value in one.items():
        if name == "places":
            assert {k: len(v) for k, v in value.items()} == {
                k: len(v) for k, v in other[name].items()
            }
        elif isinstance(value, float):
            assert other[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
        else:
            assert other[name] == value, name


@pytest.mark.parametrize("mesh", [staircase(random_body((5, 4, 6), 2)), soup(torus())])
def test_closed_and_balanced_are_those_of_the_mesh(mesh):
    report = check(mesh)
    assert (report.closed, report.balanced) == (mesh.is_closed, mesh.is_balanced)


def test_a_report_goes_to_json_and_to_a_table():
    report = check(divided_roof())
    plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert plain["boundary_edges"] == 12 and plain["fit"] is False
    assert np.shape(plain["places"]["t_junctions"]) == (12, 2, 3)
    table = as_table(report, {0.001: "does not close it"})
    assert table.startswith("blocks.obj: cannot be used for labelling\n")
    assert "T-junction edges    12" in table
    assert "weld at 0.001       does not close it" in table
