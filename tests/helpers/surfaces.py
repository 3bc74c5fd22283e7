"""Meshes with known faults, and ways to say the same mesh differently."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from shapes import CUBE_TRIANGLES, cube, joined

from geodomain import Mesh

MINE = np.array([2_296_021.0, 414_095.0, 1_590.0])


def soup(mesh: Mesh) -> Mesh:
    """Give every triangle vertices of its own, as STL does."""
    corners = mesh.vertices[mesh.triangles].reshape(-1, 3)
    return Mesh(corners, np.arange(len(corners)).reshape(-1, 3), name=mesh.name)


def reversed_mesh(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.triangles[:, ::-1], name=mesh.name)


def lidless(at=(0.0, 0.0, 0.0)) -> Mesh:
    """Return a unit cube without its roof, which is the second quad."""
    roof = np.isin(np.arange(12), [2, 3])
    return Mesh(cube(at=at).vertices, CUBE_TRIANGLES[~roof], name="box.stl")


def torus(rings=12, sides=8) -> Mesh:
    u, v = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    angle, around = 2 * np.pi * u.ravel() / rings, 2 * np.pi * v.ravel() / sides
    reach = 3 + np.cos(around)
    points = np.stack([reach * np.cos(angle), reach * np.sin(angle), np.sin(around)], axis=1)
    here, right = u * sides + v, (u + 1) % rings * sides + v
    up, across = u * sides + (v + 1) % sides, (u + 1) % rings * sides + (v + 1) % sides
    quads = np.stack([here, right, across, up], axis=-1).reshape(-1, 4)
    return Mesh(points, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def divided_roof(size=2.0, at=(0.0, 0.0, 0.0), pieces=2) -> Mesh:
    """Return a cube whose roof alone is cut into squares: all its rim is T-junctions."""
    at = np.asarray(at, dtype=float)
    box = lidless()
    steps = np.arange(pieces + 1) / pieces
    grid = np.array([[x, y, 1.0] for y in steps for x in steps])
    rows = pieces + 1
    quads = [
        (j * rows + i, j * rows + i + 1, (j + 1) * rows + i + 1, (j + 1) * rows + i)
        for j in range(pieces)
        for i in range(pieces)
    ]
    roof = Mesh(grid, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    both = joined(box, roof)
    return Mesh(both.vertices * size + at, both.triangles, name="blocks.obj")


def hairline(gap=0.0004, at=MINE) -> Mesh:
    """Return a cube of 100 whose roof floats by a hair."""
    apart = soup(cube(100.0))
    moved = apart.vertices.copy()
    moved[6:12, 2] += gap
    return Mesh(moved + at, apart.triangles, name="ore.stl")


def shuffled(mesh: Mesh, seed: int) -> Mesh:
    """Return the same mesh with its vertices, triangles and first corners in another order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(mesh.vertices))
    place = np.argsort(order)
    triangles = place[mesh.triangles][rng.permutation(len(mesh.triangles))]
    turns = rng.integers(3, size=len(triangles))
    corners = (np.arange(3) + turns[:, None]) % 3
    turned = np.take_along_axis(triangles, corners, axis=1)
    return Mesh(mesh.vertices[order], turned, name=mesh.name)


@st.composite
def small_meshes(draw) -> Mesh:
    """Draw a few triangles on a small lattice: every fault is likely."""
    index = st.integers(0, 2)
    vertex = st.tuples(index, index, index)
    triangles = draw(st.lists(st.tuples(vertex, vertex, vertex), min_size=1, max_size=24))
    scale = draw(st.sampled_from([1.0, 0.1, -0.0]))
    corners = np.array(triangles, dtype=float).reshape(-1, 3)
    # A scale of -0.0 turns zeros of both signs up.
    corners = np.where(corners == 0, scale * 0.0, corners * (scale or 1.0))
    return Mesh(corners, np.arange(len(corners)).reshape(-1, 3))
