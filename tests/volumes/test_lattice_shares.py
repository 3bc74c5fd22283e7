"""Shares of blocks against fractions, and what they add up to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from shapes import cube, cube_in_six, joined, odd_on_purpose, random_body, staircase, star
from shares import enters, exact_share

import geodomain
from geodomain import Mesh, MeshError


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
    with pytest.warns(geodomain.GeodomainWarning, match="blocks in which triangles may cross"):
        found = shares(spiked, edges)
    rng = np.random.default_rng(5)
    for place in np.ndindex(found.shape):
        low, high = block(edges, place)
        inside = geodomain.contains(spiked, rng.uniform(low, high, (4000, 3)))
        assert abs(inside.mean() - found[place]) < 0.05
