"""Outlines, bodies and shared volumes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from late import needs
from wireframes import box

import geodomain
from geodomain import Mesh, MeshError, TableError, solids

pytestmark = needs("manifold3d")
L_SHAPE = [(0, 0), (4, 0), (4, 1), (1, 1), (1, 3), (0, 3)]


@pytest.mark.parametrize("step", [1, -1])
def test_an_outline_that_is_not_convex(step: int) -> None:
    result = solids.extrude(L_SHAPE[::step], 10, 12)
    assert result.volume == pytest.approx(12) and result.new == 0
    points = np.random.default_rng(1).uniform((-1, -1, 9), (5, 4, 13), (20_000, 3))
    x, y, z = points.T
    inside = (z > 10) & (z < 12) & (x > 0) & (y > 0)
    inside &= ((x < 4) & (y < 1)) | ((x < 1) & (y < 3))
    assert (geodomain.contains(result.mesh, points) == inside).all()


def test_rings_of_rings_are_inside_and_outside_in_turn() -> None:
    rings = [[(a, a), (9 - a, a), (9 - a, 9 - a), (a, 9 - a)] for a in (0, 1, 2)]
    assert solids.extrude(rings, 0, 2).volume == pytest.approx(2 * (81 - 49 + 25))


def test_an_outline_that_touches_itself_at_a_corner() -> None:
    bow = [(0, 0), (2, 2), (4, 0), (4, 4), (2, 2), (0, 4)]
    assert solids.extrude(bow, 0, 3).volume == pytest.approx(24)


def test_an_outline_without_area() -> None:
    with pytest.raises(MeshError, match="ring 1 of the outline encloses no area"):
        solids.extrude([(0, 0), (4, 4), (8, 8)], 0, 3)


def test_outlines_from_files(tmp_path: Path) -> None:
    table = tmp_path / "lease.csv"
    table.write_text("\ufeffEasting;Northing;RL\n" + "".join(f"{x};{y};0\n" for x, y in L_SHAPE))
    assert solids.extrude(table, 0, 1).volume == pytest.approx(6)
    table.write_text("X,Y\n0,0\n1,0\n0,0\n1,0\n")
    with pytest.raises(MeshError, match="fewer than three different corners"):
        solids.extrude(table, 0, 1)
    table.write_text("X,Y\n")
    with pytest.raises(TableError, match="no rows"):
        solids.extrude(table, 0, 1)


def test_wrong_outlines() -> None:
    with pytest.raises(ValueError, match="must be above its floor"):
        solids.extrude(L_SHAPE, 5, 5)
    with pytest.raises(ValueError, match="finite numbers"):
        solids.extrude([(0, 0), (1, float("nan")), (1, 1)], 0, 1)
    with pytest.raises(MeshError, match=r"ring 1 of the outline crosses itself near \(2, 2\)"):
        solids.extrude([(0, 0), (4, 4), (4, 0), (0, 4)], 0, 1)


def test_a_body_is_an_outer_shell_with_its_voids() -> None:
    boxes = [
        box((0, 0, 0), (9, 9, 9)),
        box((1, 1, 1), (8, 8, 8)),  # a void
        box((3, 3, 3), (5, 5, 5)),  # solid within the void
        box((20, 0, 0), (24, 1, 1)),
    ]
    mesh = Mesh(
        np.concatenate([each.vertices for each in boxes]),
        np.concatenate([each.triangles + 8 * n for n, each in enumerate(boxes)]),
        name="all",
    )
    result = solids.split(mesh)
    bodies = result.bodies
    assert result.repair.proof.wrong == 0 and "all 1: 24 triangles, volume 386" in str(result)
    assert [geodomain.check(body).signed_volume for body in bodies] == [729 - 343, 8, 4]
    assert [body.name for body in bodies] == ["all 1", "all 2", "all 3"]
    vertices = {tuple(row) for body in bodies for row in body.vertices.tolist()}
    assert vertices == {tuple(row) for row in mesh.vertices.tolist()}


def test_shared_volumes() -> None:
    three = [box((0, 0, 0), (4, 4, 4)), box((2, 0, 0), (6, 4, 4)), box((50, 0, 0), (51, 1, 1))]
    matrix = solids.volumes(
        *(Mesh(b.vertices, b.triangles, name=n) for b, n in zip(three, "abc", strict=True))
    )
    assert matrix.overlaps == pytest.approx(np.array([[64, 32, 0], [32, 64, 0], [0, 0, 1]]))
    assert matrix.alone == pytest.approx(np.array([32, 32, 1]))
    assert matrix.methods[0] == ("triangles", "boolean", "boxes")
    assert 0 < matrix.error < 1e-8
    assert matrix.to_pandas()["in no other"].tolist() == matrix.alone.tolist()
    assert "1 pair overlaps" in repr(matrix) and "<table>" in matrix._repr_html_()
