"""Shares of blocks anywhere and in a lattice: against fractions, of surfaces, of crossings."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from shapes import cube, cube_in_six, joined, odd_on_purpose, random_body, staircase, star
from shares import enters, exact_share

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
    with pytest.warns(GeodomainWarning, match="triangles may cross or fold in 1 block"):
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
    assert any("triangles may cross or fold in 1 block" in str(w.message) for w in said)
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


# --- Blocks of a lattice.


def shares(mesh: Mesh, edges, **options) -> np.ndarray:
    return geodomain.proportions_lattice(mesh, *edges, **options)


def block(edges, place) -> tuple[list[float], list[float]]:
    return tuple([float(e[i + k]) for e, i in zip(edges, place, strict=True)] for k in (0, 1))


def around(mesh: Mesh, counts) -> list[np.ndarray]:
    low, high = mesh.bounds
    margin = (high - low) * 0.07
    return [
        np.linspace(a, b, n) for a, b, n in zip(low - margin, high + margin, counts, strict=True)
    ]


def volume(mesh: Mesh) -> Fraction:
    total = Fraction(0)
    for corners in mesh.vertices[mesh.triangles].tolist():
        (a, b, c), (d, e, f), (g, h, i) = (map(Fraction, corner) for corner in corners)
        total += a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return total / 6


def bound(mesh: Mesh, low, high) -> float:
    """Return the stated error: n (1 + r) 2^-47."""
    corners = mesh.vertices[mesh.triangles]
    first, last = corners.min(axis=1), corners.max(axis=1)
    over = (first[:, :2] < high[:2]).all(axis=1) & (last[:, :2] > low[:2]).all(axis=1)
    ratio = ((last - first)[over] / (np.array(high) - low)).max(initial=0)
    return over.sum() * (1 + ratio) * 2.0**-47


@pytest.mark.parametrize("counts", [(7, 6, 8), (3, 20, 31), (2, 2, 2)])
@pytest.mark.parametrize("centre", [(0, 0, 0), (414_000.3, 7_480_000.7, 310.1)])
def test_shares_are_within_the_bound(centre, counts) -> None:
    mesh = star(5, centre=centre)
    edges = around(mesh, counts)
    found = shares(mesh, edges)
    mixed = np.argwhere((found > 0) & (found < 1))
    rng = np.random.default_rng(1)
    for place in rng.permutation(mixed)[:40]:
        low, high = block(edges, place)
        error = abs(Fraction(found[tuple(place)]) - exact_share(mesh, low, high))
        assert error <= bound(mesh, low, high)
    sizes = [np.diff(e) for e in edges]
    total = np.einsum("ijk,i,j,k", found, *sizes)
    mixed_volume = np.einsum("ijk,i,j,k", (found > 0) & (found < 1), *sizes)
    assert abs(total - float(volume(mesh))) <= 1e-9 * mixed_volume


@pytest.mark.full
@pytest.mark.parametrize("level", [1.0, 0.1])
def test_random_solids_on_and_off_the_lattice(level: float) -> None:
    rng = np.random.default_rng(3)
    edges = [np.arange(5) * level] * 3
    for _ in range(12):
        corners = rng.integers(0, 5, (4, 3)) * level
        if np.linalg.matrix_rank(corners[1:] - corners[0]) < 3:
            continue
        mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        found, sign = shares(mesh, edges), 1 if volume(mesh) > 0 else -1
        for place in np.ndindex(4, 4, 4):
            low, high = block(edges, place)
            exact = sign * exact_share(mesh, low, high)
            entered = any(enters(t, low, high) for t in mesh.vertices[mesh.triangles])
            assert abs(Fraction(found[place]) - exact) <= (entered and bound(mesh, low, high))


@odd_on_purpose
@pytest.mark.parametrize("origin", [(0.0, 0.0, 0.0), (414_000.1, 7_480_000.3, -250.7)])
def test_a_body_of_whole_blocks_is_exactly_full_and_empty(origin) -> None:
    filled = random_body((6, 7, 8), seed=4)
    spacing = (10.0, 10.0, 2.5)
    mesh = staircase(filled, spacing, origin)
    edges = [
        o + np.arange(n + 1) * s for o, n, s in zip(origin, filled.shape, spacing, strict=True)
    ]
    assert np.array_equal(shares(mesh, edges), filled.astype(float))


def test_columns_taller_than_a_word_and_blocks_beyond_the_solid() -> None:
    mesh = star(4, radius=(3, 3, 30))
    edges = [np.array([-9.0, -8, -1, 1, 8]), np.array([-1.0, 0.3]), np.linspace(-40, 40, 200)]
    found = shares(mesh, edges)
    assert not found[0].any()
    for place in np.argwhere(found > 0)[::7]:
        low, high = block(edges, place)
        assert abs(Fraction(found[tuple(place)]) - exact_share(mesh, low, high)) < 1e-13


def test_adjacent_solids_add_up_to_one() -> None:
    edges = [np.linspace(-0.2, 1.3, 6)] * 3
    total = sum(shares(solid, edges) for solid in cube_in_six())
    assert abs(total - shares(cube(), edges)).max() < 1e-14


def inverted(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.triangles[:, ::-1])


@odd_on_purpose
def test_shells_count_by_depth() -> None:
    edges = [np.linspace(0, 9, 5)] * 3
    outer, hole, core = cube(9.0), cube(6.0, (1, 1, 1)), cube(2.0, (3, 3, 3))
    parts = [shares(mesh, edges) for mesh in (outer, hole, core)]
    nested = parts[0] - parts[1] + parts[2]
    for mesh in (joined(outer, hole, core), joined(core, inverted(outer), inverted(hole))):
        assert abs(shares(mesh, edges) - nested).max() < 1e-14
    wound = joined(outer, inverted(hole), core)
    assert abs(shares(wound, edges, rule="winding") - nested).max() < 1e-14
    full = joined(outer, hole, core)
    assert np.array_equal(shares(full, edges, rule="winding"), parts[0])


def test_direction_order_and_threads_change_no_bit() -> None:
    mesh = star(9)
    edges = around(mesh, (17, 18, 19))
    found = shares(mesh, edges, threads=1)
    rng = np.random.default_rng(2)
    shuffled = Mesh(mesh.vertices, rng.permutation(mesh.triangles))
    assert np.array_equal(shares(shuffled, edges, threads=3), found)
    out = np.empty_like(found)
    assert shares(mesh, edges, out=out) is out
    assert np.array_equal(out, found)
    assert abs(shares(inverted(mesh), edges) - found).max() < 1e-14


def test_what_cannot_be_answered_is_refused() -> None:
    edges = [np.arange(3.0)] * 3
    with pytest.raises(MeshError, match=r"not closed: .* in the program that made it\.$"):
        shares(Mesh(np.eye(3), [[0, 1, 2]]), edges)
    with pytest.raises(
        ValueError, match=r"y_edges\[1\] and y_edges\[2\] are 2.0 and 1.0: values must"
    ):
        shares(cube(), [edges[0], [0, 2, 1], edges[2]])
    with pytest.raises(ValueError, match="two or more"):
        shares(cube(), [edges[0], [0], edges[2]])
    with pytest.raises(ValueError, match="z_edges must be finite"):
        shares(cube(), [edges[0], edges[1], [0, np.nan]])
    for far in (2.0**-307, 2.0**340):  # areas and volumes of blocks stay numbers
        with pytest.raises(
            ValueError, match=r"x_edges have a spacing out of range: .* 2\^-306 and 2\^339"
        ):
            shares(cube(), [[0, far], edges[1], edges[2]])


def test_a_shell_that_crosses_itself_goes_along_lines() -> None:
    """A spike pulled through the other side: by parity the space that is there twice is outside."""
    mesh = star(4)
    vertices = mesh.vertices.copy()
    vertices[3] = -vertices[3] * 1.5
    spiked = Mesh(vertices, mesh.triangles)
    edges = around(spiked, (4, 4, 4))
    with pytest.warns(geodomain.GeodomainWarning, match="triangles may cross or fold in"):
        found = shares(spiked, edges)
    rng = np.random.default_rng(5)
    for place in np.ndindex(found.shape):
        low, high = block(edges, place)
        inside = geodomain.contains(spiked, rng.uniform(low, high, (4000, 3)))
        assert abs(inside.mean() - found[place]) < 0.05
