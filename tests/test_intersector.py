"""Where segments cross surfaces: known answers, the oracle, what modes and meshes agree on."""

from __future__ import annotations

import ctypes
import functools
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from crossings import adversarial, crossings, lattice_crossings, lattice_scene
from shapes import cube, cube_in_six, joined, odd_on_purpose, random_body, staircase, star

import geodomain
from geodomain import Mesh, SegmentIntersector, Segments, intersect, synthetic
from geodomain.backends import cpu_segments, cuda_segments
from geodomain.backends.bvh_nodes import BINS, FRAME
from geodomain.backends.native import library, pointer

TRIANGLE = Mesh([[0, 0, 5], [8, 0, 5], [0, 8, 5]], [[0, 1, 2]])
MODES = ("boolean", "nearest", "count", "all")


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


def assert_consistent(intersector: SegmentIntersector, starts, ends) -> None:
    """Check that the modes agree, and that the hits are in order."""
    boolean, nearest, count, every = (
        intersector.intersect((starts, ends), mode=mode) for mode in MODES
    )
    assert np.array_equal(boolean, count > 0)
    assert np.array_equal(nearest.segment, np.flatnonzero(boolean))
    assert np.array_equal(np.diff(every.offsets), count)
    first = every.offsets[:-1][boolean]
    for column in ("segment", "triangle", "t", "u", "v", "distance", "point"):
        assert np.array_equal(getattr(nearest, column), getattr(every, column)[first])
    keys = list(zip(every.segment, every.t, every.triangle, strict=True))
    assert keys == sorted(keys)


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


def test_single_precision_arrays_at_mine_coordinates(backend: str) -> None:
    """Widened as they are: what a float32 file holds is taken as given."""
    mesh = cube(100.0, at=(414_000.0, 7_480_000.0, 150.0))
    starts = np.array([[414_050.5, 7_480_050.5, 149.9]], dtype=np.float32)
    ends = np.array([[414_050.5, 7_480_050.5, 250.1]], dtype=np.float32)
    assert intersect(mesh, starts, ends, mode="count", backend=backend).tolist() == [2]


def test_sorted_segments_answer_in_the_callers_order(backend: str) -> None:
    mesh = star(6)
    starts, ends = adversarial(mesh, 500, np.random.default_rng(3))
    intersector = SegmentIntersector(mesh, backend=backend)
    with Segments(starts, ends, sort=True) as kept:
        assert sorted(kept.order) == list(range(500))
        for mode in ("boolean", "count"):
            plain = intersector.intersect((starts, ends), mode=mode)
            assert np.array_equal(intersector.intersect(kept, mode=mode), plain)
        for mode in ("nearest", "all"):
            plain = intersector.intersect((starts, ends), mode=mode)
            found = intersector.intersect(kept, mode=mode)
            for column in ("segment", "triangle", "t", "u", "v", "distance", "point"):
                assert np.array_equal(getattr(found, column), getattr(plain, column))


def test_an_order_serves_any_number_of_surfaces(backend: str) -> None:
    starts, ends = adversarial(star(6), 300, np.random.default_rng(3))
    starts[5], ends[9] = np.nan, -0.0
    order = geodomain.sort_rays(starts, ends)
    assert np.array_equal(np.sort(order), np.arange(300))
    assert not np.array_equal(order, np.arange(300))
    for mesh in (star(6), star(3, radius=(9.0, 5.0, 70.0))):
        restored = np.empty(300, dtype=np.int32)
        restored[order] = intersect(mesh, starts[order], ends[order], mode="count", backend=backend)
        plain = intersect(mesh, starts, ends, mode="count", backend=backend)
        assert np.array_equal(restored, plain) and plain.any()


def test_chunks_give_what_one_piece_gives(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    mesh = star(6)
    starts, ends = adversarial(mesh, 500, np.random.default_rng(3))
    intersector = SegmentIntersector(mesh, backend=backend)
    whole = [intersector.intersect((starts, ends), mode=mode) for mode in MODES]
    monkeypatch.setattr("geodomain.intersector.CHUNK", 37)
    boolean, nearest, count, every = (
        intersector.intersect((starts, ends), mode=mode) for mode in MODES
    )
    assert np.array_equal(boolean, whole[0])
    assert np.array_equal(count, whole[2])
    for mine, other in ((nearest, whole[1]), (every, whole[3])):
        assert np.array_equal(mine.segment, other.segment)
        assert np.array_equal(mine.point, other.point)
        assert np.array_equal(mine.offsets, other.offsets)


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
    with pytest.raises(geodomain.PointError, match=r"segment 0 goes from .*1e-310.*write 0, or"):
        intersect(TRIANGLE, [[1e-310, 1, 0]], [[1, 1, 9]])


def test_threads_may_ask_at_once(backend: str) -> None:
    mesh = star(6)
    starts, ends = adversarial(mesh, 400, np.random.default_rng(3))
    with (
        SegmentIntersector(mesh, backend=backend) as intersector,
        Segments(starts, ends) as kept,
        ThreadPoolExecutor(8) as pool,
    ):
        expected = intersector.intersect(kept, mode="count")
        asked = [pool.submit(intersector.intersect, kept, mode="count") for _ in range(40)]
        assert all(np.array_equal(each.result(), expected) for each in asked)


def test_rows_are_the_callers_in_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodomain.intersector.CHUNK", 2)
    starts, ends = np.full((5, 3), 1.0), np.full((5, 3), 9.0)
    for bad in (np.inf, 1e300):
        ends[4, 2] = bad
        with pytest.raises(geodomain.PointError, match="segment 4 goes from"):
            intersect(TRIANGLE, starts, ends)
    with pytest.raises(geodomain.PointError, match="segment 104 goes from"):
        SegmentIntersector(TRIANGLE).intersect(Segments(starts, ends, first_row=100))


@pytest.mark.parametrize("strategy", ["bvh", "brute"])
def test_what_is_freed_cannot_be_asked(strategy: str, backend: str) -> None:
    with (
        SegmentIntersector(TRIANGLE, strategy=strategy, backend=backend) as intersector,
        Segments([[1, 1, 0]], [[1, 1, 9]]) as kept,
    ):
        assert intersector.intersect(kept).all()
    intersector.close()
    for mode in MODES:
        with pytest.raises(ValueError, match="the intersector is closed: make another"):
            intersector.intersect(kept, mode=mode)
    with pytest.raises(ValueError, match="closed"):
        intersector.to_pyvista(0)
    # Segments come back to life: they are only copied again.
    assert SegmentIntersector(TRIANGLE, backend=backend).intersect(kept).all()


def test_what_is_asked_is_freed_when_it_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread may leave the block while another asks; here they are one."""
    mesh = star(6)
    starts, ends = adversarial(mesh, 400, np.random.default_rng(3))
    expected = intersect(mesh, starts, ends, mode="count", backend="cpu")
    intersector, segments = SegmentIntersector(mesh, backend="cpu"), Segments(starts, ends)
    freed = []
    free = library().geodomain_surface_free
    monkeypatch.setattr(library(), "geodomain_surface_free", lambda *_: freed.append(free(*_)))

    def close(array: np.ndarray):
        intersector.close()
        assert not freed
        return pointer(array)

    monkeypatch.setattr(cpu_segments, "pointer", close)
    found = intersector.intersect(segments, mode="count")
    assert np.array_equal(found, expected) and len(freed) == 1


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
    with pytest.raises(TypeError, match=r"geodomain\.Mesh"):
        SegmentIntersector("ground.stl")
    with pytest.raises(ValueError, match=r"ends must have shape \(n, 3\)"):
        intersect(TRIANGLE, [[0, 0, 0]], [[0, 0]])


def test_boxes_of_each_level_hold_the_mesh(backend: str) -> None:
    pytest.importorskip("pyvista")
    mesh = star(6)
    intersector = SegmentIntersector(mesh, backend=backend)
    top = intersector.to_pyvista(0)
    assert np.allclose(np.reshape(top.bounds, (3, 2)).T, mesh.bounds, rtol=1e-2)
    assert intersector.to_pyvista(1).n_cells > top.n_cells
    for level in (99, -1, 0.0, "0"):
        with pytest.raises(ValueError, match=r"no level .*: the hierarchy has levels 0 to \d"):
            intersector.to_pyvista(level)
    with pytest.raises(ValueError, match="there is no hierarchy"):
        SegmentIntersector(mesh, strategy="brute", backend=backend).to_pyvista(0)


def test_build_times_are_told(backend: str) -> None:
    times = SegmentIntersector(star(6), backend=backend).build_times
    assert set(times) == {"boxes", "codes", "sort", "tree"}
    assert all(seconds > 0 for seconds in times.values())


def test_a_lattice_where_everything_touches(backend: str) -> None:
    """Ends on faces, edges and vertices; along edges; in planes."""
    mesh, starts, ends = lattice_scene(1, 4000)
    hits = intersect(mesh, starts, ends, mode="all", backend=backend)
    found = np.zeros((len(starts), len(mesh.triangles)), dtype=bool)
    found[hits.segment, hits.triangle] = True
    expected = lattice_crossings(mesh, starts, ends)
    assert expected.sum() == len(hits)
    assert np.array_equal(found, expected)


def test_rows_are_answered_in_their_places(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU takes so many in an order of its own."""
    monkeypatch.setattr(cuda_segments, "BINNED_ROWS", 70_000)
    mesh, rng = star(16), np.random.default_rng(8)
    starts, ends = rng.uniform(-1.5, 1.5, (2, 70_001, 3)) * np.abs(mesh.bounds).max()
    starts[::1000], ends[7::1000] = np.nan, ends[7::1000] * 100
    starts[10_000:20_000], ends[10_000:20_000] = starts[1], ends[1]
    intersector = SegmentIntersector(mesh, backend=backend)
    assert 0 < intersector.intersect((starts, ends)).mean() < 1
    for some in (slice(0, 3000), slice(-3000, None)):
        assert_consistent(intersector, starts[some], ends[some])
    few = [slice(i, i + 5000) for i in range(0, len(starts), 5000)]
    for mode in ("boolean", "count"):
        parts = [intersector.intersect((starts[s], ends[s]), mode=mode) for s in few]
        assert np.array_equal(
            intersector.intersect((starts, ends), mode=mode), np.concatenate(parts)
        )
    for mode in ("nearest", "all"):
        hits = intersector.intersect((starts, ends), mode=mode)
        parts = [intersector.intersect((starts[s], ends[s]), mode=mode) for s in few]
        assert np.array_equal(hits.triangle, np.concatenate([part.triangle for part in parts]))
        assert np.array_equal(hits.point, np.concatenate([part.point for part in parts]))


@pytest.mark.parametrize(
    ("extent", "rows", "size"),
    [
        ((3000, 2500, 280), 10**7, (256, 256, 16)),
        ((3000, 2500, 280), 10, (32, 32, 4)),
        ((1, 1, 1), 10**9, (128, 128, 64)),
        ((0, 7, 0), 10**6, (1, 65536, 1)),
        ((9, 0, 7), 1, (128, 1, 32)),
    ],
)
def test_bins_are_as_near_to_cubes_as_powers_of_two_allow(extent, rows: int, size) -> None:
    frame, bins = np.zeros(1, dtype=FRAME), np.zeros(1, dtype=BINS)
    bounds = np.array([(414_000, 7_480_000, 100), np.add((414_000, 7_480_000, 100), extent)], float)
    library().geodomain_surface_frame(pointer(bounds), pointer(frame))
    library().geodomain_bins_of(pointer(frame), ctypes.c_int64(rows), pointer(bins))
    assert tuple(bins[0]["size"]) == size
    assert bins[0]["count"] == np.prod(size)
    assert bins[0]["frame"] == frame[0]


def test_hits_come_in_pieces_that_a_device_has_room_for(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = star(6)
    starts, ends = adversarial(mesh, 600, np.random.default_rng(2))
    whole = intersect(mesh, starts, ends, mode="all", backend=backend)
    for most in (1, 7):
        monkeypatch.setattr(cuda_segments, "MOST_HITS", most)
        pieces = intersect(mesh, starts, ends, mode="all", backend=backend)
        for column in ("segment", "triangle", "t", "point"):
            assert np.array_equal(getattr(whole, column), getattr(pieces, column))


def test_rows_of_so_many_hits_together() -> None:
    offsets = np.array([0, 0, 3, 3, 7, 9, 20, 20, 21, 21])
    for most in range(1, 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cuda_segments, "MOST_HITS", most)
            ranges = list(cuda_segments._ranges(offsets))
        begins, ends = map(list, zip(*ranges, strict=True))
        assert begins == [0, *ends[:-1]] and offsets[ends[-1]] == 21
        assert all(e == b + 1 or offsets[e] - offsets[b] <= most for b, e in ranges)
        assert all(offsets[e + 1] - offsets[b] > most for b, e in ranges if offsets[e] < 21)
    assert list(cuda_segments._ranges(np.zeros(4, dtype=np.int64))) == []


def test_more_segments_than_single_precision_can_number(backend: str) -> None:
    rows = 2**24 + 3
    starts = np.broadcast_to([1.0, 1.0, 0.0], (rows, 3))
    ends = np.full((rows, 3), 1.0)
    ends[-2:, 2] = 9.0
    hits = intersect(TRIANGLE, starts, ends, mode="nearest", backend=backend)
    assert hits.segment.tolist() == [2**24 + 1, 2**24 + 2]
    assert hits.segment_count == rows
