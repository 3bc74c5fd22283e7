"""Triangles about a vertex: rings, and pairs that meet in what they share alone, by fractions."""

from __future__ import annotations

import numpy as np
import pytest
from crossings import cross_beyond_edges, crossed, exact
from shapes import joined

from geodomain import Mesh, synthetic
from geodomain.compute.meshes import VertexFans, are_distinct, vertex_fans, volume_sign
from geodomain.mesh.components import facing

TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
CORNERS = np.array([[1.0, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]])


def two_pyramids(turns, corners=5):
    """Return a double pyramid over a polygon that winds about its middle more than once."""
    angles = 2 * np.pi * turns * np.arange(corners) / corners
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(corners)], axis=1)
    vertices = np.concatenate([ring, [[0, 0, 1], [0, 0, -1]]])
    here, there = np.arange(corners), np.roll(np.arange(corners), -1)
    tops, ends = np.full(corners, corners), np.full(corners, corners + 1)
    faces = np.concatenate([np.stack([here, there, tops], 1), np.stack([there, here, ends], 1)])
    return vertices, faces.astype(np.int32)


def test_convex_corners_are_rings_and_parted():
    fans = vertex_fans(CORNERS, TETRAHEDRON)
    assert fans.are_rings
    assert fans.parted.tolist() == [1] * 4


def test_open_pinched_and_misoriented_fans_are_no_rings():
    pinched = np.concatenate([TETRAHEDRON, np.where(TETRAHEDRON > 0, TETRAHEDRON + 3, 0)])
    turned = TETRAHEDRON.copy()
    turned[0] = turned[0, ::-1]
    twice = np.concatenate([TETRAHEDRON, TETRAHEDRON])
    lines = np.concatenate([TETRAHEDRON, [[0, 0, 1], [0, 1, 0]]]).astype(np.int32)
    for faces in (TETRAHEDRON[1:], pinched, turned, twice, lines):
        corners = np.concatenate([CORNERS, -CORNERS[1:]])
        fans = vertex_fans(corners, np.ascontiguousarray(faces, np.int32))
        assert not fans.are_rings
        assert fans.parted[1] == (faces is pinched)
        assert fans.parted[0] == 0


def test_unused_vertices_are_rings_of_nothing():
    fans = vertex_fans(np.concatenate([CORNERS, [[9.0, 9, 9]]]), TETRAHEDRON)
    assert fans.are_rings
    assert fans.parted.tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(("turns", "corners"), [(1, 5), (2, 5), (3, 7), (1, 40), (7, 40)])
def test_a_fan_that_winds_twice_is_not_parted(turns, corners):
    vertices, faces = two_pyramids(turns, corners)
    fans = vertex_fans(vertices, faces)
    assert fans.are_rings
    assert fans.parted[-2:].tolist() == [turns == 1] * 2
    if turns > 1:
        assert crossed(vertices, faces, np.zeros(len(faces), np.int32)).all()


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e60])
def test_what_is_parted_never_crosses(scale):
    rng, seen = np.random.default_rng(8), set()
    body = synthetic.star_shaped_orebody(1)
    size = np.ptp(body.vertices, axis=0).max()
    for round_number in range(24):
        corners = body.vertices + rng.normal(0, size * 0.2, body.vertices.shape)
        if round_number % 3 == 1:
            corners = np.round(corners / size * 3)
        if round_number % 3 == 2:
            corners[:, 2] *= 1e-12
        corners = corners * scale
        parted = vertex_fans(corners, body.triangles).parted
        triangles = [[exact(corners[k]) for k in face] for face in body.triangles]
        for vertex in np.flatnonzero(parted):
            around = [
                one for one, face in zip(triangles, body.triangles, strict=True) if vertex in face
            ]
            for i, one in enumerate(around):
                assert not any(cross_beyond_edges(one, other) for other in around[i + 1 :])
        seen.update(parted.tolist())
    assert seen == ({0} if scale < 1 else {0, 1})


def test_distinct_rows():
    rows = np.random.default_rng(2).random((100_000, 3))
    assert are_distinct(rows)
    rows[77_777] = rows[5]
    assert not are_distinct(rows)
    assert are_distinct(rows[:5])
    assert are_distinct(rows[:0])


def test_the_sign_of_a_volume():
    assert volume_sign(CORNERS, TETRAHEDRON) == 1
    assert volume_sign(CORNERS, np.ascontiguousarray(TETRAHEDRON[:, ::-1])) == -1
    assert volume_sign(CORNERS * [1, 1, 0], TETRAHEDRON) == 0
    assert volume_sign(CORNERS * 2.0**338, TETRAHEDRON) in (0, 1)


def solid(corners=CORNERS, step=1):
    return Mesh(corners, TETRAHEDRON[:, ::step])


@pytest.mark.parametrize(
    "mesh",
    [
        solid(),
        solid(step=-1),
        solid(CORNERS * [1, 1, 0]),
        Mesh(*two_pyramids(2)),
        joined(solid(), solid(CORNERS + 9, -1)),
        joined(solid(), solid(-CORNERS, -1)),
        joined(solid(), solid(CORNERS + np.array([2, 2, 0]))),
        Mesh(np.concatenate([CORNERS, CORNERS[:1]]), TETRAHEDRON),
        synthetic.star_shaped_orebody(3),
    ],
)
def test_facing_is_what_all_components_tell(mesh):
    quick = facing(mesh, vertex_fans(mesh.vertices, mesh.triangles))
    slow = facing(mesh, VertexFans(are_rings=False, parted=np.zeros(len(mesh.vertices), np.uint8)))
    for one, other in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
