"""Certain repairs of wireframes, each with its place; what is not certain is refused."""

from __future__ import annotations

import numpy as np
import pytest
from late import needs
from wireframes import box

import geodomain
from geodomain import Mesh, MeshError, solids
from geodomain.solids.mending import mend

CUBE = box((0, 0, 0), (1, 1, 1))


def test_a_sound_mesh_is_not_changed() -> None:
    mended, changes = mend(CUBE)
    assert mended is CUBE and changes == ()


def test_vertices_with_equal_coordinates_are_joined() -> None:
    apart = Mesh(CUBE.vertices[CUBE.triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    mended, (change,) = mend(apart)
    assert len(mended.vertices) == 8 and (change.kind, change.count) == ("coincident", 28)
    assert change.volume == 0


@pytest.mark.parametrize("turned", [False, True])
def test_a_triangle_that_occurs_twice_counts_once(turned: bool) -> None:
    more = CUBE.triangles[3:4, ::-1] if turned else CUBE.triangles[3:4]
    mended, (change,) = mend(Mesh(CUBE.vertices, np.r_[CUBE.triangles, more]))
    assert (change.kind, change.count) == ("duplicate", 1)
    assert mended.is_closed and mended.is_balanced and mended.volume == 1
    assert change.places[0] == tuple(CUBE.vertices[CUBE.triangles[3]].mean(axis=0))


def test_two_triangles_folded_onto_each_other_are_dropped() -> None:
    fold = np.array([[0, 1, 8], [0, 8, 1]])
    mesh = Mesh(np.r_[CUBE.vertices, [[0.5, 0.5, 5]]], np.r_[CUBE.triangles, fold])
    mended, (change,) = mend(mesh)
    assert (change.kind, change.count) == ("folded", 2)
    assert len(mended.triangles) == 12


def test_a_shell_that_occurs_twice_is_refused_by_parity_and_counts_once_by_winding() -> None:
    twice = Mesh(CUBE.vertices, np.r_[CUBE.triangles, CUBE.triangles], name="twice")
    with pytest.raises(MeshError, match="has 1 shell twice, and by parity the copies cancel"):
        mend(twice)
    pytest.importorskip("manifold3d")
    assert solids.repair(twice, rule="winding").volume == pytest.approx(1)


def test_triangles_are_turned_to_face_as_their_neighbours() -> None:
    triangles = CUBE.triangles.copy()
    triangles[[2, 7, 8]] = triangles[[2, 7, 8], ::-1]
    mended, (change,) = mend(Mesh(CUBE.vertices, triangles))
    assert (change.kind, change.count) == ("turned", 3)
    assert (mended.triangles == CUBE.triangles).all() or mended.is_balanced
    assert geodomain.check(mended).signed_volume == pytest.approx(
        geodomain.check(CUBE).signed_volume
    )


def t_junction() -> Mesh:
    """Return a cube whose roof is cut at the middle of an edge that the wall has whole."""
    table = {tuple(v): n for n, v in enumerate(CUBE.vertices.tolist())}
    a, b = table[(0, 0, 1)], table[(1, 0, 1)]
    roof = next(
        t for t in CUBE.triangles.tolist() if {a, b} <= {*t} and CUBE.vertices[t][:, 2].min()
    )
    k = next(k for k in range(3) if {roof[k], roof[k - 2]} == {a, b})
    start, end, tip = roof[k], roof[k - 2], roof[k - 1]
    rest = [t for t in CUBE.triangles.tolist() if t != roof]
    cut = [*rest, [start, 8, tip], [8, end, tip]]
    return Mesh(np.r_[CUBE.vertices, [[0.5, 0, 1]]], cut, name="junction")


def test_a_t_junction_is_cut_and_moves_no_volume() -> None:
    mesh = t_junction()
    assert not mesh.is_closed
    mended, (change,) = mend(mesh)
    assert mended.is_closed and mended.volume == 1
    assert (change.kind, change.count, change.volume) == ("split", 1, 0.0)
    points = np.random.default_rng(1).uniform(-0.5, 1.5, (5000, 3))
    assert (geodomain.contains(mended, points) == geodomain.contains(CUBE, points)).all()


def test_holes_are_filled_on_request_only() -> None:
    pierced = Mesh(CUBE.vertices, CUBE.triangles[1:], name="pierced")
    with pytest.raises(
        MeshError, match=r"pierced is not closed: .* fill its holes, of at most 3 edges, with fill="
    ):
        mend(pierced)
    mended, (change,) = mend(pierced, holes=3)
    assert mended.is_closed and (change.kind, change.count) == ("filled", 1)


def test_a_weld_moves_vertices_by_request_and_says_how_much() -> None:
    vertices = np.r_[CUBE.vertices, CUBE.vertices[:1] + np.array([0.001, 0, 0])]
    triangles = CUBE.triangles.copy()
    triangles[0][triangles[0] == 0] = 8
    if (triangles == CUBE.triangles).all():
        row = int(np.flatnonzero((CUBE.triangles == 0).any(axis=1))[0])
        triangles[row][triangles[row] == 0] = 8
    with pytest.raises(MeshError, match="not closed"):
        mend(Mesh(vertices, triangles))
    mended, changes = mend(Mesh(vertices, triangles), tolerance=0.01)
    assert mended.is_closed and changes[0].kind == "welded" and changes[0].volume > 0


def test_a_surface_with_one_side_cannot_be_turned() -> None:
    # The projective plane with six vertices: closed, and it has only one side.
    faces = [
        (0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5), (0, 5, 1),
        (1, 2, 4), (2, 3, 5), (3, 4, 1), (4, 5, 2), (5, 1, 3),
    ]  # fmt: skip
    corners = np.random.default_rng(4).uniform(0, 9, (6, 3))
    with pytest.raises(MeshError, match="cannot be turned to face the same way, the first from"):
        mend(Mesh(corners, faces, name="plane"))


@needs("manifold3d")
def test_repair_keeps_the_order_of_what_it_does_not_change() -> None:
    result = solids.repair(Mesh(CUBE.vertices, CUBE.triangles[::-1]))
    assert (result.mesh.triangles == CUBE.triangles[::-1]).all() and result.new == 0
    inside_out = Mesh(CUBE.vertices, CUBE.triangles[:, ::-1])
    result = solids.repair(inside_out)
    kinds = [change.kind for change in result.changes]
    assert kinds in ([], ["shell turned"])
    assert geodomain.check(result.mesh).signed_volume == 1
