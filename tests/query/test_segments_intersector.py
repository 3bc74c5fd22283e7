"""Where segments cross surfaces: known answers, the oracle, what modes and meshes agree on."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
from crossings import (
    MODES,
    adversarial,
    assert_consistent,
    crossings,
    lattice_crossings,
    lattice_scene,
)
from shapes import cube, cube_in_six, joined, odd_on_purpose, random_body, staircase, star

import geodomain
from geodomain import Mesh, SegmentIntersector, Segments, intersect, synthetic

TRIANGLE = Mesh([[0, 0, 5], [8, 0, 5], [0, 8, 5]], [[0, 1, 2]])


def meshes() -> dict[str, Mesh]:
    return {
        "triangle": TRIANGLE,
        "cube": cube(),
        "tenths": cube(0.1, at=(0.3, 0.7, -0.1)),
        "mine": cube(12.3, at=(414_000.1, 7_480_000.7, 152.3)),
        "six": joined(*cube_in_six()),
        "staircase": staircase(random_body((3, 3, 2), 5), spacing=(0.1, 0.3, 0.7)),
        "needles": Mesh(
            [[0, 0, 0], [1e6, 1e-3, 0.1], [1e6, 0, 0], [1e6, 2e-3, 1e-7], [3, 0, 0], [6, 0, 0]],
            [[0, 1, 2], [0, 2, 3], [0, 4, 5], [0, 0, 1]],
        ),
    }


@functools.cache
def by_the_oracle(name: str) -> tuple[Mesh, np.ndarray, np.ndarray, list]:
    mesh = meshes()[name]
    starts, ends = adversarial(mesh, 120, np.random.default_rng(11))
    return mesh, starts, ends, [crossings(mesh, *pair) for pair in zip(starts, ends, strict=True)]


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["bvh", "brute"])
@pytest.mark.parametrize("name", meshes())
def test_the_oracle_finds_the_same(name: str, strategy: str, backend: str) -> None:
    mesh, starts, ends, expected = by_the_oracle(name)
    assert 10 < sum(map(bool, expected)) < 110 or name == "needles"
    intersector = SegmentIntersector(mesh, strategy=strategy, backend=backend)
    found = intersector.intersect((starts, ends), mode="all")
    flat = sorted(
        (row, float(t), index, float(u), float(v), t)
        for row, hits in enumerate(expected)
        for index, t, u, v in hits
    )
    assert found.segment.tolist() == [hit[0] for hit in flat]
    assert sorted(zip(found.segment, found.triangle, strict=True)) == sorted(
        (row, index) for row, _, index, *_ in flat
    )
    places = {(row, index): (t, u, v) for row, _, index, u, v, t in flat}
    for i, (row, index) in enumerate(zip(found.segment, found.triangle, strict=True)):
        start, end = (list(map(Fraction, side[row].tolist())) for side in (starts, ends))
        for value, exact in zip(
            (found.t[i], found.u[i], found.v[i]), places[row, index], strict=True
        ):
            assert abs(Fraction(float(value)) - exact) <= exact / 2**46
        t = places[row, index][0]
        for value, s, e in zip(found.point[i].tolist(), start, end, strict=True):
            last_bit = Fraction(np.spacing(abs(value)))
            assert abs(Fraction(value) - (s + t * (e - s))) <= abs(e - s) / 2**46 + last_bit
        square = t**2 * sum((e - s) ** 2 for s, e in zip(start, end, strict=True))
        assert abs(Fraction(float(found.distance[i])) ** 2 - square) <= square / 2**45
    assert_consistent(intersector, starts, ends)


@odd_on_purpose
@pytest.mark.parametrize("name", ["cube", "tenths", "mine", "six", "staircase"])
def test_parity_is_that_of_the_ends(name: str, backend: str) -> None:
    """On closed meshes, ends on the surface included."""
    mesh = meshes()[name]
    starts, ends = adversarial(mesh, 2000, np.random.default_rng(5))
    count = intersect(mesh, starts, ends, mode="count", backend=backend)
    inside = geodomain.contains(mesh, starts) ^ geodomain.contains(mesh, ends)
    assert np.array_equal(count % 2 == 1, inside)


def test_a_hit_at_an_end_is_that_end(backend: str) -> None:
    start, end = [0.1, 0.2, 0.7], [0.3, 0.4, 5.0]
    hits = intersect(TRIANGLE, [end, start], [start, end], mode="nearest", backend=backend)
    assert hits.segment.tolist() == [0, 1]  # the displaced end is above the plane
    assert hits.point.tolist() == [end, end]
    assert hits.t.tolist() == [0.0, 1.0]


def test_a_segment_in_the_plane_of_a_neighbour(backend: str) -> None:
    """As published of the original: in single precision another triangle seems hit, 10 m away."""
    vertices = np.float32(
        [
            [2007.415039062, 1519.457031250, 286.752014160],
            [2007.415039062, 1519.457031250, 281.058990479],
            [2007.628051758, 1518.286010742, 272.477996826],
            [1964.505981445, 1475.868041992, 288.782989502],
            [1964.859008789, 1473.921020508, 283.925994873],
            [1965.276000977, 1471.619995117, 274.032989502],
        ]
    )
    surface = Mesh(vertices, [[3, 1, 4], [3, 1, 0], [4, 2, 5], [4, 1, 2]])
    along = np.float32([[2006.452148438, 1518.478881836, 276.280212402]])
    up = np.float32([[2006.452148438, 1518.478881836, 286.181976318]])
    hits = intersect(surface, along, up, mode="all", backend=backend)
    assert hits.triangle.tolist() == [0]
    assert hits.point[0] == pytest.approx([2006.452148, 1518.478882, 281.2323], abs=1e-4)
    assert hits.t[0] == pytest.approx(0.50012, abs=1e-5)


def test_through_a_shared_edge_once(backend: str) -> None:
    square = Mesh([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]])
    count = intersect(square, [[2, 2, 3]], [[2, 2, -3]], mode="count", backend=backend)
    assert count.tolist() == [1]


def test_a_graze_counts_0_on_a_ridge_and_2_in_a_valley(backend: str) -> None:
    corners = [[0, -5, 0], [0, 5, 0], [-4, 0, -3], [4, 0, -3]]
    ridge = Mesh(corners, [[0, 1, 2], [0, 3, 1]])
    valley = Mesh(np.array(corners) * [1, 1, -1], ridge.triangles)
    along = ([[-9, 0, 0]], [[9, 0, 0]])
    assert intersect(ridge, *along, mode="count", backend=backend).tolist() == [0]
    assert intersect(valley, *along, mode="count", backend=backend).tolist() == [2]


def test_in_and_along_the_plane_and_without_length(backend: str) -> None:
    starts = [[-1, 1, 5], [-1, 1, 6], [1, 1, 5], [0, 0, 5]]
    ends = [[9, 1, 5], [9, 1, 6], [1, 1, 5], [8, 0, 5]]
    assert not intersect(TRIANGLE, starts, ends, backend=backend).any()


def test_a_hole_collared_on_the_ground(backend: str) -> None:
    """Down it crosses, up it does not."""
    found = intersect(TRIANGLE, [[1, 1, 5]] * 2, [[1, 1, 0], [1, 1, 9]], backend=backend)
    assert found.tolist() == [True, False]


def test_no_triangle_and_no_segment(backend: str) -> None:
    empty = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
    for mode in MODES:
        assert len(intersect(TRIANGLE, *np.empty((2, 0, 3)), mode=mode, backend=backend)) == 0
        found = intersect(empty, [[0, 0, 0]], [[1, 1, 1]], mode=mode, backend=backend)
        assert not np.any(found) if mode in ("boolean", "count") else len(found) == 0


def test_lists_without_a_segment() -> None:
    for mode in MODES:
        assert len(intersect(TRIANGLE, [], [], mode=mode)) == 0
    assert geodomain.sort_rays([], []).shape == (0,)


@pytest.mark.parametrize("radius", [0.02, 1e6])
def test_small_and_large_bodies(radius: float, backend: str) -> None:
    mesh = star(6, radius=(radius,) * 3)
    rng = np.random.default_rng(1)
    ends = rng.normal(size=(500, 3))
    ends *= 3 * radius / np.linalg.norm(ends, axis=1, keepdims=True)
    count = intersect(mesh, np.zeros((500, 3)), ends, mode="count", backend=backend)
    assert (count % 2 == 1).all()


def test_forty_crossings_in_order(backend: str) -> None:
    levels = np.random.default_rng(0).permutation(40)
    leaves = joined(*(Mesh(TRIANGLE.vertices - [0, 0, 5 - z], TRIANGLE.triangles) for z in levels))
    up = intersect(leaves, [[1, 1, -1]], [[1, 1, 41]], mode="all", backend=backend)
    assert up.triangle.tolist() == np.argsort(levels).tolist()
    assert up.distance == pytest.approx(np.arange(1, 41))
    down = intersect(leaves, [[1, 1, 41]], [[1, 1, -1]], mode="all", backend=backend)
    assert down.triangle.tolist() == np.argsort(-levels).tolist()


@pytest.mark.parametrize("near", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("at", [0.0, 7_480_000.0])
def test_what_single_precision_cannot_tell_is_told_all_the_same(
    near: float, at: float, backend: str
) -> None:
    terrain = synthetic.undulating_terrain(300)
    mesh = Mesh(terrain.vertices + at, terrain.triangles)
    random = np.random.default_rng(5)
    corners = mesh.vertices[mesh.triangles[random.integers(0, len(mesh.triangles), 1_500)]]
    along = random.random((1_500, 1))
    on_edges = along * corners[:, 0] + (1 - along) * corners[:, 1]
    reach, before = random.normal(size=(2, 1_500, 3)) * 60
    starts, ends = on_edges - before, on_edges + reach * random.choice([near, 1.0], (1_500, 1))
    ends += near * random.normal(size=(1_500, 3))
    found, expected = (
        SegmentIntersector(mesh, strategy=strategy, backend=backend).intersect(
            (starts, ends), mode="all"
        )
        for strategy in ("bvh", "brute")
    )
    assert len(expected) > 500
    assert found.segment.tolist() == expected.segment.tolist()
    assert found.triangle.tolist() == expected.triangle.tolist()


@pytest.mark.parametrize("strategy", ["bvh", "brute"])
def test_crossings_within_an_ulp_are_in_order(strategy: str, backend: str) -> None:
    """Sheets whose corners differ in their last bits; every other start is very near them."""
    rng = np.random.default_rng(4)
    corners = np.array([[414_000.1, 7_480_000.7, 152.3], [9.3, 1.1, 3.7], [2.9, 8.6, -1.3]])
    corners[1:] += corners[0]
    sheets = np.repeat(corners[None], 24, axis=0)
    sheets[:, :, 2] += rng.integers(-2, 3, (24, 3)) * np.spacing(152.3)
    mesh = Mesh(sheets.reshape(-1, 3), np.arange(72).reshape(-1, 3))
    middles = rng.dirichlet(np.ones(3), 300) @ corners
    along = rng.normal(size=(300, 3)) * 50.0
    starts, ends = middles - along, middles + along * rng.random((300, 1))
    starts[::2] = middles[::2] - along[::2] * 1e-14
    intersector = SegmentIntersector(mesh, strategy=strategy, backend=backend)
    assert_consistent(intersector, starts, ends)
    every = intersector.intersect((starts, ends), mode="all")
    first = every.offsets[:-1][np.diff(every.offsets) > 1]
    apart = every.t[first + 1] - every.t[first]
    assert np.any(apart == 0)
    assert np.any((apart > 0) & (apart <= np.spacing(every.t[first])))


def test_equal_triangles_are_told_apart_by_index(backend: str) -> None:
    """All Morton codes are equal too."""
    copies = joined(*[TRIANGLE] * 100)
    hits = intersect(copies, [[1, 1, 0]], [[1, 1, 9]], mode="all", backend=backend)
    assert hits.triangle.tolist() == list(range(100))
    nearest = intersect(copies, [[1, 1, 0]], [[1, 1, 9]], mode="nearest", backend=backend)
    assert nearest.triangle.tolist() == [0]


@pytest.mark.full
def test_other_triangles_of_the_same_code(backend: str) -> None:
    """The middles of their boxes are one point, and their boxes are not."""
    rng = np.random.default_rng(8)
    corners = rng.integers(-20, 21, (40, 3, 3)).astype(float)
    corners -= (corners.min(axis=1) + corners.max(axis=1))[:, None] / 2
    mesh = Mesh(corners.reshape(-1, 3), np.arange(120).reshape(-1, 3))
    starts, ends = rng.integers(-20, 21, (2, 60, 3)).astype(float)
    hits = intersect(mesh, starts, ends, mode="all", backend=backend)
    found = [hits.triangle[slice(*hits.offsets[row : row + 2])].tolist() for row in range(60)]
    expected = [
        [index for index, *_ in crossings(mesh, s, e)] for s, e in zip(starts, ends, strict=True)
    ]
    assert [sorted(each) for each in found] == expected
    assert len(hits) > 60


def test_a_nan_crosses_nothing_and_is_counted(backend: str) -> None:
    starts = np.array([[1, 1, 0], [1, 1, 0], [np.nan, 1, 0]])
    ends = np.array([[1, 1, 9], [1, np.nan, 9], [1, 1, 9]])
    with Segments(starts, ends) as kept:
        assert kept.missing == 2
        found = SegmentIntersector(TRIANGLE, backend=backend).intersect(kept, mode="count")
    assert found.tolist() == [1, 0, 0]


def test_an_end_at_infinity_is_refused_by_its_row() -> None:
    with pytest.raises(geodomain.PointError, match=r"segment 1 goes from .*inf.* finite"):
        intersect(TRIANGLE, [[1, 1, 0]] * 2, [[1, 1, 9], [1, 1, np.inf]])


def test_ends_out_of_range_are_refused_where_they_matter() -> None:
    huge = ([[1, 1, 0], [1, 1, 7]], [[1, 1, 9], [1, 1, 1e300]])
    assert intersect(TRIANGLE, *huge).tolist() == [True, False]  # above the triangle's box
    with pytest.raises(geodomain.PointError, match="segment 1 goes from"):
        intersect(TRIANGLE, [[1, 1, 0], [1, 1, 1]], huge[1])
    with pytest.raises(
        geodomain.PointError, match=r"segment 0 goes from .*1e-310.*write a smaller"
    ):
        intersect(TRIANGLE, [[1e-310, 1, 0]], [[1, 1, 9]])


def test_slips_are_said() -> None:
    with pytest.raises(ValueError, match="2 starts and 1 ends"):
        intersect(TRIANGLE, [[0, 0, 0]] * 2, [[0, 0, 1]])
    with pytest.raises(ValueError, match="mode is 'barycentric'"):
        intersect(TRIANGLE, [[0, 0, 0]], [[0, 0, 1]], mode="barycentric")
    with pytest.raises(ValueError, match="strategy is 'octree'"):
        SegmentIntersector(TRIANGLE, strategy="octree")
    for grid in (0, -1, 1.5, "16", True):
        with pytest.raises(ValueError, match="grid must be"):
            SegmentIntersector(TRIANGLE, grid=grid)
    with pytest.raises(TypeError, match=r"a pair \(starts, ends\), not 3 arrays"):
        SegmentIntersector(TRIANGLE).intersect([[0, 0, 0]] * 3)
    with pytest.raises(TypeError, match=r"a pair \(starts, ends\), not NoneType"):
        SegmentIntersector(TRIANGLE).intersect(None)
    with pytest.raises(TypeError, match="Mesh"):
        SegmentIntersector(7)
    with pytest.raises(FileNotFoundError, match=r"ground\.stl"):
        SegmentIntersector("ground.stl")
    with pytest.raises(ValueError, match=r"ends must have shape \(n, 3\)"):
        intersect(TRIANGLE, [[0, 0, 0]], [[0, 0]])


@pytest.mark.full
def test_a_lattice_where_everything_touches(backend: str) -> None:
    """Ends on faces, edges and vertices; along edges; in planes."""
    mesh, starts, ends = lattice_scene(1, 4000)
    hits = intersect(mesh, starts, ends, mode="all", backend=backend)
    found = np.zeros((len(starts), len(mesh.triangles)), dtype=bool)
    found[hits.segment, hits.triangle] = True
    expected = lattice_crossings(mesh, starts, ends)
    assert expected.sum() == len(hits)
    assert np.array_equal(found, expected)
