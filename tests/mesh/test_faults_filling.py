"""Filling holes: closed by brute force, areas by fractions, and every loop that is left open."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command
from shapes import cube, joined, star
from surfaces import MINE, lidless, shuffled, soup

import geodomain
from geodomain import Mesh, fill_holes


def open_edges(mesh: Mesh) -> int:
    """Count the edges of an odd number of triangles, by the coordinates of their ends."""
    uses: Counter = Counter()
    for corners in mesh.vertices[mesh.triangles].tolist():
        places = [tuple(corner) for corner in corners]
        uses.update(frozenset(pair) for pair in zip(places, places[1:] + places[:1], strict=True))
    return sum(count % 2 for count in uses.values())


def fans(ring, apex=(3.0, 4.0, -7.0)) -> Mesh:
    """Return an open cone over a ring of corners, whose hole is the ring."""
    places = np.array([*ring, apex], float)
    count = len(ring)
    return Mesh(places, [[(k + 1) % count, k, count] for k in range(count)])


def doubled_areas(places, triangles) -> list[Fraction]:
    """Return twice the area of triangles in plan, exactly, by direction."""
    found = []
    for corners in places[triangles]:
        (ax, ay), (bx, by), (cx, cy) = ([Fraction(v) for v in p[:2]] for p in corners.tolist())
        found.append((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
    return found


def added(before: Mesh, result) -> np.ndarray:
    triangles = result.mesh.triangles[len(before.triangles) :]
    assert len(triangles) == result.added
    assert np.array_equal(result.mesh.vertices, before.vertices)
    assert np.array_equal(result.mesh.triangles[: -result.added or None], before.triangles)
    return triangles


COMB = [
    (0, 0),
    (9, 0),
    (9, 6),
    (7, 6),
    (7, 2),
    (5, 2),
    (5, 6),
    (3, 6),
    (3, 2),
    (1, 2),
    (1, 6),
    (0, 6),
]
SQUARE = [(0, 0), (2, 0), (4, 0), (6, 0), (6, 3), (6, 6), (3, 6), (0, 6), (0, 2)]  # and mid-points
SPIRAL = [(0, 0), (10, 0), (10, 10), (1, 10), (1, 4), (6, 4), (6, 7), (7, 7), (7, 3), (0, 3)]


@pytest.mark.parametrize("ring", [COMB, SQUARE, SPIRAL, COMB[::-1], SPIRAL[::-1]])
@pytest.mark.parametrize("shift", [0.0, 7_480_000.0])
def test_a_flat_loop_is_covered_once_and_by_no_flat_triangle(ring, shift) -> None:
    for start in range(len(ring)):
        turned = [(x + shift, y + shift, 5.0) for x, y in ring[start:] + ring[:start]]
        mesh = fans(turned, apex=(3.0 + shift, 4.0 + shift, -7.0))
        result = fill_holes(mesh, 12)
        areas = doubled_areas(mesh.vertices, added(mesh, result))
        # All on one side, and together the polygon: so they cover it once, and do not cross.
        polygon = sum(
            a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:] + ring[:1], strict=True)
        )
        assert abs(sum(areas)) == abs(polygon) and min(map(abs, areas)) > 0
        assert len({area > 0 for area in areas}) == 1
        assert open_edges(result.mesh) == 0 and result.mesh.is_balanced
        (hole,) = result.holes
        assert hole.area == abs(polygon) / 2 and hole.off_plane == 0
        assert (hole.edges, hole.filled) == (len(ring), True)
        assert hole.bounds[0] == tuple(mesh.vertices[:-1].min(axis=0))


def test_random_stars_in_a_slanted_plane() -> None:
    rng = np.random.default_rng(4)
    for count in range(3, 40):
        angles = np.sort(rng.random(count)) * 2 * np.pi
        if np.diff(angles, append=angles[0] + 2 * np.pi).max() > 3:
            continue
        radii = 1 + 9 * rng.random(count)
        flat = np.c_[radii * np.cos(angles), radii * np.sin(angles)]
        ring = np.c_[flat, 0.3 * flat[:, 0] - 0.8 * flat[:, 1]]
        mesh = fans(ring.tolist(), apex=(0, 0, -50))
        result = fill_holes(mesh, 99)
        x, y = flat.T
        due = (
            abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) / 2 * np.sqrt(1 + 0.3**2 + 0.8**2)
        )
        assert result.holes[0].area == pytest.approx(due, rel=1e-12)
        assert result.holes[0].off_plane < 1e-13 and open_edges(result.mesh) == 0


def test_a_closed_body_gets_its_volume_back() -> None:
    whole = cube(10.0, MINE)
    holes = Mesh(whole.vertices, whole.triangles[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
    result = fill_holes(holes, 4)
    assert open_edges(holes) > 0 and open_edges(result.mesh) == 0
    assert result.mesh.volume == pytest.approx(1000, rel=1e-12)
    assert fill_holes(whole, 9).holes == () and fill_holes(whole, 9).mesh.is_closed
    body = star(40)
    apart = Mesh(body.vertices, np.delete(body.triangles, [3, 9000, 20_000], axis=0))
    result = fill_holes(apart, 9)
    assert result.mesh.is_closed and result.mesh.is_balanced
    assert [hole.corner for hole in result.holes] == sorted(hole.corner for hole in result.holes)


def test_the_order_of_triangles_vertices_and_corners_does_not_matter() -> None:
    def made(mesh: Mesh) -> tuple:
        result = fill_holes(mesh, 20)
        triangles = result.mesh.vertices[added(mesh, result)].tolist()
        return result.holes, [
            three[k:] + three[:k] for three in triangles for k in [three.index(min(three))]
        ]

    ring = [(x * 1.1, y * 0.7, (x * y) % 3 / 9) for x, y in COMB]
    mesh = joined(fans(ring), lidless())
    holes, triangles = made(mesh)
    assert len(holes) == 2 and all(hole.filled for hole in holes)
    for seed in range(6):
        other = shuffled(mesh, seed)
        again = made(other)
        assert again[0] == holes and sorted(again[1]) == sorted(triangles)
    assert made(soup(mesh))[0] == holes


def test_a_slit_of_t_junctions_is_closed() -> None:
    places = [(0, 0, 0), (4, 0, 0), (1, 0, 0), (3, 0, 0), (2, 3, 1), (2, -3, 1), (2, 0, 5)]
    slit = Mesh(
        places,
        [[0, 1, 5], [4, 3, 1], [4, 2, 3], [4, 0, 2], [0, 5, 6], [5, 1, 6], [1, 4, 6], [4, 0, 6]],
    )
    assert open_edges(slit) == 4
    result = fill_holes(slit, 4)
    assert open_edges(result.mesh) == 0 and result.holes[0].area == 0


def test_most_neighbours_decide_which_way_it_faces() -> None:
    mesh = fans([(x, y, 5.0) for x, y in COMB])
    turned = Mesh(
        mesh.vertices,
        [[b, a, c] if k < 4 else [a, b, c] for k, (a, b, c) in enumerate(mesh.triangles.tolist())],
    )
    due, found = (fill_holes(one, 12).mesh.triangles[len(COMB) :] for one in (mesh, turned))
    assert np.array_equal(due, found)
    # As many each way: the first corner decides, whatever the order of the vertices.
    square = fans([(0, 0, 5), (9, 0, 5), (8, 9, 5), (1, 8, 5)])
    torn = [
        [b, a, c] if k < 2 else [a, b, c] for k, (a, b, c) in enumerate(square.triangles.tolist())
    ]
    tied, ways = Mesh(square.vertices, torn), set()
    for seed in range(8):
        result = fill_holes(shuffled(tied, seed), 4)
        new = result.mesh.triangles[-2:]
        ways.add(all(area > 0 for area in doubled_areas(result.mesh.vertices, new)))
    assert len(ways) == 1


@pytest.mark.full
def test_loops_that_meet_at_a_corner_are_filled_one_by_one() -> None:
    bow = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]])
    result = fill_holes(bow, 3)
    assert [hole.edges for hole in result.holes] == [3, 3] and open_edges(result.mesh) == 0
    body = star(40)
    corners = [set(triangle) for triangle in body.triangles.tolist()]
    for first in (0, 4_000, 9_999):
        # Those that share one corner with it: their holes meet there, and nowhere else.
        other = next(n for n, three in enumerate(corners) if len(three & corners[first]) == 1)
        part = Mesh(body.vertices, np.delete(body.triangles, [first, other], axis=0))
        result = fill_holes(part, 3)
        assert [hole.edges for hole in result.holes] == [3, 3] and result.added == 2
        assert open_edges(result.mesh) == 0 and result.mesh.is_balanced


def test_loops_that_stay_open() -> None:
    long = fill_holes(lidless(), 3)
    assert str(long.holes[0]) == "left open: 4 edges from (0, 0, 1), more than 3" and not long.added
    ribbon = Mesh(
        [[0, 0, 0], [4, 0, 0], [2, 1, 0], [2, -1, 0], [2, 0, 3], [2, 0, 9]],
        [[0, 2, 4], [4, 2, 1], [0, 5, 3], [3, 5, 1]],
    )  # two sheets that share two corners
    assert "meet at several corners" in str(fill_holes(ribbon, 9).holes[0])
    book = Mesh(
        [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, 0, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    )
    assert "three or more triangles" in str(fill_holes(book, 9).holes[0])
    turns = np.linspace(0, 4 * np.pi, 16, endpoint=False)
    coil = fans(np.c_[np.cos(turns), np.sin(turns), turns], apex=(0.0, 0.0, -9.0))
    found = fill_holes(coil, 16)
    assert "fold over itself" in str(found.holes[0]) and found.added == 0
    assert np.array_equal(found.mesh.triangles, coil.triangles)
    with pytest.raises(ValueError, match="at least 3 edges"):
        fill_holes(coil, 2)


def test_coordinates_of_any_size() -> None:
    for scale in (2.0**-300, 2.0**330):
        mesh = lidless()
        result = fill_holes(Mesh(mesh.vertices * scale, mesh.triangles), 4)
        assert result.mesh.is_closed and result.added == 2
        assert result.holes[0].filled


def run(*options: str, code: int = 0):
    return run_command("check", *options, code=code)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(lidless(), "box.ply")
    told = run("box.ply", "--fill", "4", "-o", "closed.ply").stdout.splitlines()
    assert told[:2] == [
        "holes of up to 4 edges: 1 filled by 2 triangles of area 1, 0 left open",
        "  filled: 4 edges from (0, 0, 1), area 1, flat",
    ]
    assert geodomain.read_mesh("closed.ply").is_closed
    run("closed.ply")
    found = json.loads(run("box.ply", "--fill", "3", "--json", code=3).stdout)[0]
    assert found["fill"]["added"] == 0 and found["fill"]["output"] is None
    assert found["fill"]["holes"][0]["reason"] == "more than 3" and not found["fit"]
    both = run("box.ply", "--weld", "0.001", "--fill", "9", "-o", "both.obj").stdout
    assert both.startswith("welded at 0.001: 0 vertices moved") and "1 filled" in both
    run("box.ply", "--fill", "2", code=2)
    run("box.ply", "-o", "x.ply", code=2)
    run("box.ply", "closed.ply", "--fill", "4", "-o", "x.ply", code=2)
    run("box.ply", "--fill", "4", "-o", "closed.ply", code=4)
    with pytest.raises(ValueError, match="weld= or fill="):
        geodomain.check_file("box.ply", "x.ply")
    assert not Path("x.ply").exists()
