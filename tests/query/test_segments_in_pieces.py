"""Segments in any order, in chunks, by several threads: the answers of one piece, in place."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from crossings import MODES, adversarial, assert_consistent
from shapes import cube, star

import geodomain
from geodomain import Mesh, SegmentIntersector, Segments, intersect
from geodomain.compute import layout
from geodomain.compute.cuda import segments as cuda_segments
from geodomain.compute.native import core

TRIANGLE = Mesh([[0, 0, 5], [8, 0, 5], [0, 8, 5]], [[0, 1, 2]])


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
    monkeypatch.setattr("geodomain.query.segments.CHUNK", 37)
    boolean, nearest, count, every = (
        intersector.intersect((starts, ends), mode=mode) for mode in MODES
    )
    assert np.array_equal(boolean, whole[0])
    assert np.array_equal(count, whole[2])
    for mine, other in ((nearest, whole[1]), (every, whole[3])):
        assert np.array_equal(mine.segment, other.segment)
        assert np.array_equal(mine.point, other.point)
        assert np.array_equal(mine.offsets, other.offsets)


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
    monkeypatch.setattr("geodomain.query.segments.CHUNK", 2)
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
    free = core().surface_free
    monkeypatch.setattr(core(), "surface_free", lambda *_: freed.append(free(*_)))

    count = core().segments_count

    def close(*arguments: object) -> int:
        intersector.close()
        assert not freed
        return count(*arguments)

    monkeypatch.setattr(core(), "segments_count", close)
    found = intersector.intersect(segments, mode="count")
    assert np.array_equal(found, expected) and len(freed) == 1


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
    frame, bins = layout.structure("BoxFrame").empty(), layout.structure("Bins").empty()
    bounds = np.array([(414_000, 7_480_000, 100), np.add((414_000, 7_480_000, 100), extent)], float)
    core().surface_frame(bounds, frame)
    core().bins_of(frame, rows, bins)
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


@pytest.mark.full
def test_more_segments_than_single_precision_can_number(backend: str) -> None:
    rows = 2**24 + 3
    starts = np.broadcast_to([1.0, 1.0, 0.0], (rows, 3))
    ends = np.full((rows, 3), 1.0)
    ends[-2:, 2] = 9.0
    hits = intersect(TRIANGLE, starts, ends, mode="nearest", backend=backend)
    assert hits.segment.tolist() == [2**24 + 1, 2**24 + 2]
    assert hits.segment_count == rows
