"""Shares of blocks anywhere: against fractions, beside the lattice, of surfaces, of crossings."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from shapes import cube, joined, star
from shares import exact_share

import geodomain
from geodomain import GeodomainWarning, Mesh, MeshError
from geodomain.compute.meshes import projection_signs

MINE = (414_000.3, 7_480_000.7, 310.1)


def middles(edges) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids and sizes of a lattice's blocks, row by row."""
    parts = [(e[1:] + e[:-1]) / 2 for e in edges], [np.diff(e) for e in edges]
    grids = [np.stack(np.meshgrid(*p, indexing="ij"), axis=-1).reshape(-1, 3) for p in parts]
    return grids[0], grids[1]


@pytest.mark.parametrize("centre", [(0, 0, 0), MINE])
def test_blocks_of_any_size_are_within_the_bound(centre) -> None:
    mesh = star(5, centre=centre)
    rng = np.random.default_rng(1)
    low, high = mesh.bounds
    centres = rng.uniform(low - 5, high + 5, (400, 3))
    sizes = 10.0 ** rng.uniform(-3, 2, (400, 3))
    found = geodomain.proportions(mesh, centres, sizes)
    mixed = np.flatnonzero((found > 0) & (found < 1))
    assert len(mixed) > 60
    for row in mixed[:60]:
        corners = centres[row] - sizes[row] / 2, centres[row] + sizes[row] / 2
        ratio = (np.ptp(mesh.vertices[mesh.triangles], axis=1) / sizes[row]).max()
        error = abs(Fraction(found[row]) - exact_share(mesh, *corners))
        assert error <= len(mesh.triangles) * (1 + ratio) * 2.0**-47
    whole = found[np.setdiff1d(np.arange(400), mixed)]
    inside = geodomain.contains(mesh, centres)[np.setdiff1d(np.arange(400), mixed)]
    assert np.array_equal(whole, inside.astype(float))


def test_the_lattice_says_the_same() -> None:
    mesh = star(7)
    edges = [np.linspace(-110, 110, n) for n in (12, 14, 16)]
    centres, sizes = middles(edges)
    found = geodomain.proportions(mesh, centres, sizes)
    lattice = geodomain.proportions_lattice(mesh, *edges).reshape(-1)
    assert abs(found - lattice).max() < 1e-13
    assert np.array_equal((found > 0) & (found < 1), (lattice > 0) & (lattice < 1))
    assert np.array_equal(
        geodomain.proportions(mesh, centres[::-1], sizes[::-1], threads=3), found[::-1]
    )


def hill(n: int = 9, at=(0.0, 0.0, 0.0)) -> Mesh:
    """Return an open sheet over [0, 10] x [0, 10] whose triangles do not face alike."""
    x, y = np.meshgrid(np.linspace(0, 10, n), np.linspace(0, 10, n), indexing="ij")
    z = 3 * np.sin(x / 2) + np.cos(y)
    corner = np.arange(n * n).reshape(n, n)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    faces = [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)]
    vertices = np.stack([x, y, z], -1).reshape(-1, 3) + np.asarray(at)
    return Mesh(vertices, np.concatenate(faces))


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
def test_shares_below_and_above_a_surface(at) -> None:
    mesh = hill(at=at)
    rng = np.random.default_rng(2)
    centres = rng.uniform([-1, -1, -6], [11, 11, 6], (300, 3)) + at
    sizes = rng.uniform(0.5, 3.0, (300, 3))
    below = geodomain.proportions(mesh, centres, sizes, kind="below")
    above = geodomain.proportions(mesh, centres, sizes, kind="above")
    lows, highs = centres - sizes / 2, centres + sizes / 2
    low, high = mesh.bounds[:, :2]
    off = ((lows[:, :2] < low) | (highs[:, :2] > high)).any(axis=1)
    assert np.array_equal(np.isnan(below), off)
    assert np.array_equal(np.isnan(above), off)
    assert (below + above)[~off] == pytest.approx(1, abs=1e-15)
    signs = projection_signs(mesh.vertices, mesh.triangles)
    for row in np.flatnonzero(~off)[:60]:
        exact = exact_share(mesh, lows[row], highs[row], signs)
        assert abs(Fraction(below[row]) - exact) < 1e-11
    assert ((below > 0) & (below < 1)).sum() > 20


def test_a_block_that_ends_on_the_rim_is_within_the_footprint() -> None:
    mesh = hill(at=(0, 0, 20))
    share = geodomain.proportions(
        mesh, [[0.5, 5, 0], [0.49, 5, 0], [9.5, 9.5, 0]], [1, 1, 1], kind="below"
    )
    assert np.array_equal(share, [1.0, np.nan, 1.0], equal_nan=True)
    edges = [np.array([-1.0, 0, 1, 10]), np.array([0.0, 1, 10]), np.array([0.0, 12, 24])]
    lattice = geodomain.proportions_lattice(mesh, *edges, kind="below")
    assert np.isnan(lattice[0]).all()
    centres, sizes = middles(edges)
    one_by_one = geodomain.proportions(mesh, centres, sizes, kind="below")
    assert np.array_equal(lattice.reshape(-1), one_by_one, equal_nan=True)
    assert (lattice[1:, :, 0] == 1).all()


def test_where_a_surface_folds_blocks_go_along_lines() -> None:
    """A profile that runs back under itself: over x in (3, 6) it is there three times."""
    profile = np.array([(0, 0), (6, 0), (6, 2), (3, 2), (3, 4), (9, 4)], dtype=float)
    vertices = np.array([(x, y, z) for x, z in profile for y in (0, 10)])
    faces = [f for i in range(0, 10, 2) for f in ((i, i + 2, i + 3), (i, i + 3, i + 1))]
    mesh = Mesh(vertices, faces)
    centres = [[4.5, 5, 2], [1.5, 5, 2], [4.5, 5, 1], [4.5, 5, 3]]
    sizes = [[1, 2, 6], [1, 2, 6], [1, 1, 1], [1, 1, 1]]
    with pytest.warns(GeodomainWarning, match="1 block in which triangles may cross"):
        below = geodomain.proportions(mesh, centres, sizes, kind="below")
    assert below == pytest.approx([0.5, 1 / 6, 0, 1])


@pytest.mark.filterwarnings("ignore:mesh is crossed more than once", "ignore:1 block is outside")
def test_a_block_partly_beyond_a_fold_has_no_share(tmp_path: Path) -> None:
    """Two sheets joined at x = 5: half of a block is between them, and half beyond both."""
    vertices = [(x, y, z) for z in (0, 2) for x in (0, 5) for y in (0, 10)]
    faces = [[0, 2, 3], [0, 3, 1], [4, 6, 7], [4, 7, 5], [2, 6, 7], [2, 7, 3]]
    mesh = Mesh(np.array(vertices, float), faces)
    centres = np.array([[5, 5, 1], [5, 5, 1], [4.6, 5, 4], [4.6, 5, -3], [4, 5, 1], [4, 5, 4]])
    sizes = np.array([[2, 2, 1], [2, 2, 6], [2, 2, 1], [2, 2, 1], [2, 1, 1], [2, 1, 1]])
    for kind, whole in (("below", [1, 0]), ("above", [0, 1])):
        found = geodomain.proportions(mesh, centres, sizes, kind=kind)
        assert np.array_equal(found, [np.nan] * 4 + whole, equal_nan=True)
    step = Mesh(
        np.array([*vertices, (9, 0, 2), (9, 10, 2)], float),
        [*faces[:2], [2, 6, 7], [2, 7, 3], [6, 8, 9], [6, 9, 7]],
    )
    assert geodomain.proportions(step, [[5, 5, 1]], [2, 2, 6], kind="below").tolist() == [0.5]
    domain = geodomain.Domain("D", mesh, kind="below")
    blocks = tmp_path / "b.csv"
    blocks.write_text("X,Y,Z,DX,DY,DZ\n5,5,1,2,2,1\n3,5,1,2,2,1\n")
    with pytest.warns(GeodomainWarning, match="1 block lies partly or wholly outside"):
        geodomain.label_file(blocks, [domain], tmp_path / "o.csv", proportions="itself")
    shares = [row.rpartition(",")[2] for row in (tmp_path / "o.csv").read_text().split()[1:]]
    assert shares == ["", "1"]


def crossed() -> Mesh:
    return joined(cube(2.0), cube(2.0, (1, 0.5, 0.5)))


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_triangles_that_cross_are_taken_along_lines() -> None:
    edges = [np.arange(-1, 5.0)] * 3
    one, two = (
        geodomain.proportions_lattice(m, *edges) for m in (cube(2.0), cube(2.0, (1, 0.5, 0.5)))
    )
    low, high = np.array([1, 0.5, 0.5]), np.array([2.0, 2, 2])
    common = Mesh(cube().vertices * (high - low) + low, cube().triangles)
    both = geodomain.proportions_lattice(common, *edges)
    assert geodomain.proportions_lattice(crossed(), *edges) == pytest.approx(one + two - 2 * both)
    wound = geodomain.proportions_lattice(crossed(), *edges, rule="winding")
    assert wound == pytest.approx(one + two - both)
    centres, sizes = middles(edges)
    again = geodomain.proportions(crossed(), centres, sizes)
    assert again == pytest.approx((one + two - 2 * both).reshape(-1))


def test_blocks_along_lines_are_counted() -> None:
    """Of three only the first is entered by a wall of what both cubes have."""
    with pytest.warns(GeodomainWarning) as said:
        found = geodomain.proportions(
            crossed(), [[1.5, 0.5, 0.5], [1.5, 1.5, 1.5], [0, 0, 0]], [1, 1, 1]
        )
    assert any("1 block in which triangles may cross" in str(w.message) for w in said)
    assert found == pytest.approx([0.75, 0, 0.125], abs=1e-14)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_a_roof_turned_about_changes_nothing_by_parity() -> None:
    solid = cube()
    faces = solid.triangles.copy()
    faces[2:4] = faces[2:4, ::-1]
    mesh = Mesh(solid.vertices, faces)
    edges = [np.array([-0.5, 0.5, 1.5])] * 3
    assert geodomain.proportions_lattice(mesh, *edges) == pytest.approx(np.full((2, 2, 2), 1 / 8))
    with pytest.raises(MeshError, match="no winding number"):
        geodomain.proportions(mesh, [[0, 0, 0]], [1, 1, 1], rule="winding")


def test_rows_that_are_not_finite_and_sizes_that_are_wrong() -> None:
    found = geodomain.proportions(cube(), [[0, 0, 0], [np.nan, 0, 0], [0, 0, np.inf]], [1, 1, 1])
    assert np.array_equal(found, [0.125, np.nan, np.nan], equal_nan=True)
    assert len(geodomain.proportions(cube(), np.empty((0, 3)), [1, 1, 1])) == 0
    for sizes in ([1, 0, 1], [1, 1, -1], [1, np.nan, 1], [1, 1, np.inf], [1, 1, 1e-12]):
        with pytest.raises(ValueError, match="block 1 has size"):
            geodomain.proportions(cube(), [[np.nan] * 3, [7e6, 7e6, 7e6]], sizes)
    for size in (2.0**-307, 2.0**340):  # areas and volumes of blocks stay numbers
        with pytest.raises(ValueError, match=r"between 2\^-306 and 2\^339"):
            geodomain.proportions(cube(), [[0, 0, 0]], [1, size, 1])
    with pytest.raises(ValueError, match="sizes must have shape"):
        geodomain.proportions(cube(), [[0, 0, 0]], [1, 1])
    with pytest.raises(ValueError, match="kind is 'inside'"):
        geodomain.proportions(cube(), [[0, 0, 0]], [1, 1, 1], kind="inside")
