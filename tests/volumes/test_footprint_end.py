"""Blocks partly beyond a surface that folds, overlaps or has holes, against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from line_shares import places
from shapes import joined
from shares import clip, integrate
from sheets import level

import geodomain
from geodomain import Mesh
from geodomain.compute.meshes import EdgeReach, FootprintEnd, projection_signs
from geodomain.mesh.edges import folds, rim

MINE = (414_000.3, 7_480_000.7, 310.1)
pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")


def folded(seed: int, kind: str, at=(0.0, 0.0, 0.0)) -> Mesh:
    """Return a sheet over about [0, 6] x [0, 6] that runs back along x, with holes."""
    rng = np.random.default_rng(seed)
    n = 5
    u, v = np.meshgrid(np.linspace(0, 6, n), np.linspace(0, 6, n), indexing="ij")
    turn = rng.uniform(0, 4)
    x = u + turn * np.sin(u * rng.uniform(0.5, 1.5)) + rng.uniform(-0.5, 0.5, u.shape)
    y = v + rng.uniform(-0.7, 0.7, u.shape)
    z = u + rng.uniform(-0.5, 0.5, u.shape)
    if kind == "lattice":  # crossings at corners and along edges
        x, y = np.round(x), np.round(y)
    index = np.arange(n * n).reshape(n, n)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    faces = faces[rng.permutation(len(faces))[: len(faces) - rng.integers(0, 4)]]
    mesh = Mesh(np.stack([x, y, z], -1).reshape(-1, 3) + at, faces)
    if kind != "pillow":
        return mesh
    # Closed: two sheets, their rims joined by walls, so that crossings are even everywhere.
    up = np.array([0.0, 0.0, 3.0])
    lifted = Mesh(mesh.vertices + up, mesh.triangles)
    walls = [((p, q, q + up), (p, q + up, p + up)) for p, q in rim(mesh)]
    corners = np.array(walls).reshape(-1, 3)
    return joined(mesh, lifted, Mesh(corners, np.arange(len(corners)).reshape(-1, 3)))


def blocks(mesh: Mesh, seed: int, kind: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    low, high = mesh.bounds
    centres = rng.uniform(low - 0.2, high + 0.2, (count, 3))
    sizes = rng.choice([0.3, 1.0, 2.0], (count, 3))
    if kind == "lattice":
        centres, sizes = np.round(centres * 2) / 2, np.ceil(sizes)
    return centres, sizes


@pytest.mark.full
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("kind", ["random", "lattice", "pillow"])
def test_a_share_is_there_where_the_plan_is_covered(kind, at) -> None:
    said = {True: 0, False: 0}
    for seed in range(12):
        mesh = folded(seed, kind, at)
        centres, sizes = blocks(mesh, seed, kind, 12)
        below = geodomain.proportions(mesh, centres, sizes, kind="below", threads=1 + seed % 2)
        above = geodomain.proportions(mesh, centres, sizes, kind="above")
        assert np.array_equal(above, 1 - below, equal_nan=True)
        lows, highs = centres - sizes / 2, centres + sizes / 2
        for row in range(len(centres)):
            covered = covers(mesh, lows[row], highs[row])
            assert np.isnan(below[row]) == (not covered), (seed, row)
            said[covered] += 1
    assert min(said.values()) > 15


@pytest.mark.full
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
def test_shares_of_covered_blocks_are_those_of_lines(at) -> None:
    checked = 0
    for seed in range(20):
        mesh = folded(seed, "random", at)
        centres, sizes = blocks(mesh, seed, "random", 30)
        below = geodomain.proportions(mesh, centres, sizes, kind="below")
        rows = np.flatnonzero((below > 0) & (below < 1))
        for row in rows[:2]:
            lows, highs = centres[row] - sizes[row] / 2, centres[row] + sizes[row] / 2
            wanted = share_below(mesh, lows, highs, 16)
            # Where a sheet is there once its volume is computed, and lines come near it.
            assert below[row] == pytest.approx(wanted, abs=0.02)
            checked += abs(below[row] - wanted) < 1e-9
    assert checked > 5


def pocket(begin: float, end: float) -> Mesh:
    """Return two sheets over [begin, end] x [0, 10], joined at x = end."""
    corners = [(x, y, z) for z in (0, 2) for x in (begin, end) for y in (0, 10)]
    return Mesh(np.array(corners, float), POCKET)


POCKET = [[0, 2, 3], [0, 3, 1], [4, 6, 7], [4, 7, 5], [2, 6, 7], [2, 7, 3]]


def frame(low, high) -> Mesh:
    """Return two sheets over [0, 10] x [0, 10] with a hole in plan, whose rims are joined."""
    hole = [(low, low), (high, low), (high, high), (low, high)]
    ring = [(0, 0), (10, 0), (10, 10), (0, 10), *hole]
    corners = [(x, y, z) for z in (0, 2) for x, y in ring]
    faces = []
    for k in range(4):
        a, b, c, d = k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k
        faces += [(s + a, s + b, s + c) for s in (0, 8)] + [(s + a, s + c, s + d) for s in (0, 8)]
        faces += [(c, d, 8 + d), (c, 8 + d, 8 + c)]
    return Mesh(np.array(corners, float), faces)


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
@pytest.mark.parametrize("width", [0.01, 1e-6])
def test_a_gap_that_no_line_meets_is_seen(width, at) -> None:
    """Over all of each block a line crosses two sheets, but for a strip or a hole between lines."""
    centres, sizes = (
        [[5, 5, 1], [5, 5, 1], [5, 5, 4], [2, 5, 1]],
        [[2, 2, 1], [2, 2, 6], [2, 2, 1], [2] * 3],
    )
    gaps = (joined(pocket(0, 5), pocket(10, 5 + width)), frame(5, 5 + width))
    for mesh in gaps:
        moved = Mesh(mesh.vertices + at, mesh.triangles)
        for kind, whole in (("below", 1.0), ("above", 0.0)):
            found = geodomain.proportions(moved, np.add(centres, at), sizes, kind=kind)
            assert np.array_equal(found, [np.nan, np.nan, np.nan, whole], equal_nan=True)
    shut = joined(pocket(0, 5), pocket(10, 5))
    found = geodomain.proportions(shut, centres, sizes, kind="below")
    assert found == pytest.approx([1, 1 / 3, 0, 1])


def test_walls_alone_are_no_footprint() -> None:
    """A closed wall without a breadth stands beside a sheet, and in another block over it."""
    wall = np.array([(20, 0, -1), (20, 4, -1), (20, 2, 3), (20, 2, 1)], float)
    faces = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]
    sheet = level(0.0, 10)
    mesh = joined(sheet, Mesh(wall, faces), Mesh(wall - (17, 0, 0), faces))
    centres = [[20, 2, 1], [3, 2, 0], [3, 2, 1.5]]
    below = geodomain.proportions(mesh, centres, [2, 2, 2], kind="below")
    assert np.array_equal(below, [np.nan, 0.5, 0], equal_nan=True)
    free = joined(sheet, Mesh(wall - (17, 0, 0), faces[2:3]))  # with a rim of its own
    assert geodomain.proportions(free, centres[1:], [2, 2, 2], kind="below").tolist() == [0.5, 0]


def test_tiles_that_overlap_go_along_lines_and_seams_do_not() -> None:
    overlap = joined(level(0.0, 4), level(1.0, 4, (3, 0, 0)))
    centres = [[3, 2, 0.5], [3, 2, -2.5], [7, 2, 0.5], [6, 2, 0.5], [1, 2, 0.5], [3.5, 2, 0.5]]
    with pytest.warns(geodomain.GeodomainWarning, match="triangles may cross or fold in 3 blocks"):
        below = geodomain.proportions(overlap, centres, [1, 1, 3], kind="below")
    assert np.array_equal(below, [1 / 3, 0.5, np.nan, 2 / 3, 1 / 3, 1 / 3], equal_nan=True)
    finer = Mesh(
        [(4, 0, 1), (8, 0, 1), (8, 4, 1), (4, 4, 1), (4, 2.5, 1)], [[0, 1, 4], [1, 2, 4], [2, 3, 4]]
    )
    seam = joined(level(0.0, 4), finer)
    found = geodomain.proportions(
        seam, [[4, 2, 0.5], [4, 2, -2], [4, 4, 0]], [1, 1, 3], kind="below"
    )
    assert np.array_equal(found, [0.5, 1, np.nan], equal_nan=True)


def test_beyond_the_range_of_cuts_every_rim_counts() -> None:
    overlap = joined(level(0.0, 4), level(1.0, 4, (3, 0, 0)))
    huge = Mesh(overlap.vertices * 2.0**300, overlap.triangles)
    blocks = np.array([[3, 2, 0.5], [1, 2, 0.5]]) * 2.0**300, np.array([1, 1, 3.0]) * 2.0**300
    below = geodomain.proportions(huge, *blocks, kind="below")
    assert np.array_equal(below, [np.nan, 1 / 3], equal_nan=True)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["random", "lattice"])
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
def test_the_end_of_a_footprint_is_exact_at_crossings(kind, at) -> None:
    """Small plans with a corner at, or one bit beside, a place where edges cross."""
    said = {True: 0, False: 0}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        corners = rng.uniform(0, 4, (27, 3))
        corners = (np.round(corners) if kind == "lattice" else corners) + at
        mesh = Mesh(corners, np.arange(27).reshape(-1, 3))
        signs = projection_signs(mesh.vertices, mesh.triangles)
        end = FootprintEnd(mesh, np.concatenate([rim(mesh), folds(mesh, signs)]), 2)
        assert set(end.reach) <= {*EdgeReach}
        edges = [[tuple(map(Fraction, p[:2])) for p in ends] for ends in rim(mesh).tolist()]
        for one, other in rng.integers(len(edges), size=(40, 2)):
            x = crossing(edges[one], edges[other])
            y = crossing(*([p[::-1] for p in edges[i]] for i in (one, other)))
            if x is None:
                continue
            place = np.array([float(x), float(y)])
            beside = np.nextafter(place, place + rng.integers(-1, 2, 2))
            place = np.where(place == 0, place, beside)  # not tiny
            side = rng.choice([0.25, 2.0**-20], 2) * rng.choice([-1, 1], 2)
            low, high = np.minimum(place, place + side), np.maximum(place, place + side)
            found = end.is_in(np.append(low, 0)[None], np.append(high, 1)[None], 1)[0]
            covered = covers(mesh, low, high)
            # A rim that has nothing on either side may be in a plan that is bare.
            assert found == (not covered) or is_bare(mesh, low, high)
            assert not (found and covered)
            said[bool(found)] += 1
    assert min(said.values()) > 20


# Whether triangles cover a rectangle in plan, by slabs between all events, in fractions.
def covers(mesh, low, high) -> bool:
    """Tell whether the triangles of a mesh cover the inside of a rectangle, as a closed set."""
    (left, bottom), (right, top) = (
        tuple(Fraction(float(v)) for v in row[:2]) for row in (low, high)
    )
    triangles = []
    for rows in mesh.vertices[mesh.triangles][:, :, :2].tolist():
        a, b, c = corners = [(Fraction(x), Fraction(y)) for x, y in rows]
        flat = (b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0])
        xs, ys = zip(*corners, strict=True)
        beside = max(xs) <= left or min(xs) >= right or max(ys) <= bottom or min(ys) >= top
        if not flat and not beside:
            triangles.append(corners)
    edges = {tuple(sorted((t[k - 1], t[k]))) for t in triangles for k in range(3)}
    sides = [((left, y), (right, y)) for y in (bottom, top)]
    events = {left, right, *(x for t in triangles for x, _ in t)}
    listed = [*edges, *sides]
    for place, one in enumerate(listed):
        events.update(x for other in listed[:place] if (x := crossing(one, other)) is not None)
    inside = sorted(x for x in events if left <= x <= right)
    return all(_is_filled(triangles, (x + y) / 2, bottom, top) for x, y in pairwise(inside))


def is_bare(mesh, low, high) -> bool:
    """Tell whether no triangle covers any of a rectangle's inside."""
    ends = [[Fraction(float(v)) for v in row[:2]] for row in (low, high)]
    for rows in mesh.vertices[mesh.triangles].tolist():
        polygon = [tuple(map(Fraction, row)) for row in rows]
        for axis in (0, 1):
            polygon = clip(clip(polygon, axis, ends[0][axis], 1), axis, ends[1][axis], -1)
        if polygon and integrate(polygon, Fraction(0))[0] != 0:
            return False
    return True


def crossing(one, other) -> Fraction | None:
    """Return the x of where the lines through two pairs of points cross."""
    (p, q), (r, s) = one, other
    whole = (q[0] - p[0]) * (s[1] - r[1]) - (q[1] - p[1]) * (s[0] - r[0])
    if whole == 0:
        return None
    part = ((r[0] - p[0]) * (s[1] - r[1]) - (r[1] - p[1]) * (s[0] - r[0])) / whole
    return p[0] + part * (q[0] - p[0])


def _is_filled(triangles, x: Fraction, bottom: Fraction, top: Fraction) -> bool:
    """Tell whether triangles cover a vertical stretch of a plan, at an x that is no corner's."""
    spans = []
    for corners in triangles:
        ys = [
            p[1] + (x - p[0]) / (q[0] - p[0]) * (q[1] - p[1])
            for p, q in zip(corners, [*corners[1:], corners[0]], strict=True)
            if (p[0] < x) != (q[0] < x)
        ]
        if ys:
            spans.append((min(ys), max(ys)))
    to = bottom
    for begin, end in sorted(spans):
        if begin > to:
            break
        to = max(to, end)
    return to >= top


def share_below(mesh, low, high, lines: int) -> float:
    """Return the share of a block below an odd number of crossings, along lines, in fractions."""
    low, high = ([float(v) for v in corner] for corner in (low, high))
    floor, roof = Fraction(low[2]), Fraction(high[2])
    total = Fraction(0)
    for u, v in places(lines):
        x, y = low[0] + (high[0] - low[0]) * u, low[1] + (high[1] - low[1]) * v
        levels = sorted(min(max(h, floor), roof) for h in _heights(mesh, x, y))
        ends = [floor, *levels, roof]
        parts = [b - a for a, b in pairwise(ends)]
        total += sum(parts[-2::-2], Fraction(0))
    return float(total / (roof - floor) / lines**2)


def _heights(mesh, x: float, y: float) -> list[Fraction]:
    """Return where a line that meets no edge crosses triangles."""
    corners = mesh.vertices[mesh.triangles]
    near = (corners[..., :2].min(axis=1) <= (x, y)).all(axis=1)
    near &= (corners[..., :2].max(axis=1) >= (x, y)).all(axis=1)
    found = []
    for rows in corners[near].tolist():
        a, b, c = ([Fraction(v) for v in row] for row in rows)
        whole = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if whole == 0:
            continue
        of_b = ((Fraction(x) - a[0]) * (c[1] - a[1]) - (Fraction(y) - a[1]) * (c[0] - a[0])) / whole
        of_c = ((b[0] - a[0]) * (Fraction(y) - a[1]) - (b[1] - a[1]) * (Fraction(x) - a[0])) / whole
        of_a = 1 - of_b - of_c
        assert 0 not in (of_a, of_b, of_c), "a line on an edge: move the block"
        if min(of_a, of_b, of_c) > 0:
            found.append(a[2] + of_b * (b[2] - a[2]) + of_c * (c[2] - a[2]))
    return found
