"""`Segments`: coordinates of either type, each taken as it is, and memory that is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from crossings import MODES, adversarial
from shapes import star

from geodomain import Mesh, PointError, SegmentIntersector, Segments, intersect, sort_rays
from geodomain.query.raw_files import open_segments
from geodomain.query.segment_files import OUTPUTS, intersect_files

TRIANGLE = Mesh([[0, 0, 5], [8, 0, 5], [0, 8, 5]], [[0, 1, 2]])
LARGE = np.finfo(np.float32).max
TINY = np.finfo(np.float32).smallest_subnormal
# What single precision has beside ordinary numbers; two of these are NaN with other bits.
ODD = np.array(
    [0.0, -0.0, 0.1, -LARGE, LARGE, TINY, -TINY, 1e-38, np.nan, -np.nan, np.inf, -np.inf],
    np.float32,
)
SIGNALLING = np.array([0x7F800001, 0xFF812345], np.uint32).view(np.float32)


def widened(values: np.ndarray) -> list[list[float]]:
    """Return float32 as Python's numbers, one by one, without NumPy's conversion of arrays."""
    return [[value.item() for value in row] for row in values]


def expected_rows(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return what is kept of finite segments and those with a NaN, by its definition."""
    rows = [[*start, *end] for start, end in zip(widened(starts), widened(ends), strict=True)]
    return np.array([[np.nan] * 6 if any(v != v for v in row) else row for row in rows]) + 0.0


@pytest.mark.parametrize("rows", [0, 1, 5, 2047, 2049, 6200])
@pytest.mark.parametrize("threads", [1, 3])
def test_single_precision_is_packed_as_what_it_stands_for(rows: int, threads: int) -> None:
    rng = np.random.default_rng(rows)
    pair = rng.uniform(-9e6, 9e6, (2, rows, 3)).astype(np.float32)
    odd = rng.random(pair.shape) < 0.02
    pair[odd] = rng.choice([*ODD[:10], *SIGNALLING], odd.sum())
    single = Segments(*pair, threads=threads)
    expected = expected_rows(*pair).reshape(rows, 6)
    assert np.array_equal(single.packed, expected, equal_nan=True)
    assert not np.signbit(single.packed[expected == 0]).any()
    assert single.missing == np.isnan(expected).any(axis=1).sum()
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        double = Segments(*pair.astype(float), threads=threads)
    assert double.packed.tobytes() == single.packed.tobytes()
    assert double.missing == single.missing


def test_every_odd_number_in_every_place() -> None:
    for value in (*ODD, *SIGNALLING):
        for place in range(6):
            pair = np.full((2, 3, 3), 7.0, np.float32)
            pair[place // 3, 1, place % 3] = value
            if np.isinf(value):
                for given in (pair, pair.astype(float)):
                    with pytest.raises(PointError, match=r"segment 1 goes .*inf.* must be finite"):
                        Segments(*given)
                continue
            kept = Segments(*pair)
            assert np.array_equal(kept.packed, expected_rows(*pair), equal_nan=True)
            assert not np.signbit(kept.packed[kept.packed == 0]).any()
            assert kept.missing == np.isnan(value)


def test_the_first_infinite_row_is_told_alike_of_both_types() -> None:
    pair = np.full((2, 5000, 3), 0.1, np.float32)
    pair[1, [4999, 4100, 2050], [0, 1, 2]] = np.inf
    pair[0, 2050, 1] = 0.3
    said = []
    for given in (pair, pair.astype(float)):
        with pytest.raises(PointError) as error:
            Segments(*given, threads=2, first_row=10)
        said.append(str(error.value))
    assert said[0] == said[1] and "segment 2060 goes from (0.10000000149011612, 0.300000" in said[0]


def test_types_may_differ_and_come_in_any_order_of_bytes() -> None:
    mesh, rng = star(6), np.random.default_rng(5)
    pair = [side.astype(np.float32) for side in adversarial(mesh, 300, rng)]
    pair[0][7, 1] = np.nan
    plain = Segments(*(side.astype(float) for side in pair))
    strided = [np.repeat(side, 2, axis=0)[::2] for side in pair]
    masked = np.ma.array(np.nan_to_num(pair[0]), mask=np.isnan(pair[0]))
    for given in (
        pair,
        (pair[0], pair[1].astype(float)),
        (pair[0].astype(float), pair[1]),
        (pair[0].astype(">f4"), pair[1]),
        (masked, pair[1]),
        strided,
        [side.tolist() for side in pair],
    ):
        kept = Segments(*given)
        assert kept.packed.tobytes() == plain.packed.tobytes() and kept.missing == 1
    order = sort_rays(*(side.astype(float) for side in pair))
    assert np.array_equal(sort_rays(*pair), order)
    again = Segments(*pair, sort=True)
    assert np.array_equal(again.order, order)
    assert again.packed.tobytes() == plain.packed[order].tobytes()


def test_answers_are_those_of_the_same_numbers_in_doubles(backend: str) -> None:
    mesh = star(6)
    pair = [side.astype(np.float32) for side in adversarial(mesh, 400, np.random.default_rng(6))]
    for mode in MODES:
        single = intersect(mesh, *pair, mode=mode, backend=backend)
        double = intersect(mesh, *(side.astype(float) for side in pair), mode=mode, backend=backend)
        if mode in ("boolean", "count"):
            assert single.any() and np.array_equal(single, double)
            continue
        for column in ("segment", "triangle", "t", "u", "v", "distance", "point"):
            assert np.array_equal(getattr(single, column), getattr(double, column))


@pytest.mark.parametrize("shape", [(4,), (2, 2), (2, 3, 1)])
def test_a_wrong_shape_is_told_of_either_type(shape: tuple[int, ...]) -> None:
    for kind in (np.float32, np.float64):
        with pytest.raises(ValueError, match=r"starts must have shape \(n, 3\), not"):
            Segments(np.zeros(shape, kind), np.zeros((2, 3), kind))


def test_a_stream_uses_memory_again() -> None:
    out = np.full((3, 6), -1.0)
    for height in (9.0, 4.0):
        ends = np.full((2, 3), [1.0, 1.0, height])
        kept = Segments(np.ones((2, 3)), ends, out=out[:2])
        assert np.shares_memory(kept.packed, out) and not kept.packed.flags.writeable
        assert out[:2].tolist() == [[1, 1, 1, 1, 1, height]] * 2 and (out[2] == -1).all()
        assert intersect(TRIANGLE, np.ones((2, 3)), ends).all() == (height > 5)
        assert SegmentIntersector(TRIANGLE).intersect(kept).all() == (height > 5)
    assert out.flags.writeable


def test_memory_that_does_not_fit_is_refused() -> None:
    ends = np.ones((2, 3))
    room = np.empty((4, 6))
    for out in (room, room[:2].astype(np.float32), np.empty((2, 12))[:, ::2], room[:2].T):
        with pytest.raises(
            ValueError, match=r"out must be a contiguous, writable array of float64"
        ):
            Segments(ends, ends, out=out)
    with pytest.raises(TypeError, match="out must be an array, not list"):
        Segments(ends, ends, out=[[0.0] * 6] * 2)
    apart = np.ones((4, 3))
    with pytest.raises(ValueError, match="out shares memory with the input"):
        Segments(apart[:2], apart[2:], out=apart.reshape(2, 6))


@pytest.mark.parametrize("mode", OUTPUTS)
@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_files_of_either_type_give_the_same_files(tmp_path: Path, mode: str, chunk: int) -> None:
    mesh = star(6)
    pair = [side.astype(np.float32) for side in adversarial(mesh, 128, np.random.default_rng(9))]
    pair[0][[0, 6, 63, 127], 1] = np.nan  # first and last of chunks
    tallies = []
    for kind in ("f32", "f64"):
        for name, side in zip(("from", "to"), pair, strict=True):
            side.astype(f"<f{int(kind[1:]) // 8}").tofile(tmp_path / f"{name}_{kind}")
        rays = open_segments(tmp_path / f"from_{kind}", tmp_path / f"to_{kind}")
        with SegmentIntersector(mesh, backend="cpu") as intersector:
            tallies.append(
                intersect_files(intersector, rays, tmp_path / kind, mode=mode, chunk=chunk)
            )
    assert tallies[0] == tallies[1] and tallies[0].missing == 4 and tallies[0].crossing
    expected = intersect(mesh, *(side.astype(float) for side in pair), mode="count", backend="cpu")
    assert tallies[0].crossing == np.count_nonzero(expected)
    for name in OUTPUTS[mode]:
        assert (tmp_path / "f32" / name).read_bytes() == (tmp_path / "f64" / name).read_bytes()
    if mode != "barycentric":
        found = np.fromfile(tmp_path / "f32" / "results_i32", "<i4")
        assert np.array_equal(found, expected if mode == "intercept_count" else expected > 0)


@pytest.mark.parametrize("row", range(9))
@pytest.mark.parametrize(("kind", "value"), [("f32", np.inf), ("f64", -np.inf), ("f64", 1e300)])
def test_a_bad_row_is_told_in_every_place_of_a_chunk(
    tmp_path: Path, row: int, kind: str, value: float
) -> None:
    pair = np.array([np.full((9, 3), 1.0), np.full((9, 3), 9.0)])
    pair[1, row, 2] = value
    pair[0, 8, 0] = np.nan  # outweighs what else is wrong with a row
    for name, side in zip(("from", "to"), pair, strict=True):
        side.astype(f"<f{int(kind[1:]) // 8}").tofile(tmp_path / f"{name}_{kind}")
    rays = open_segments(tmp_path / f"from_{kind}", tmp_path / f"to_{kind}")
    with SegmentIntersector(TRIANGLE) as intersector:
        if row == 8:
            assert intersect_files(intersector, rays, tmp_path / "out", chunk=4).missing == 1
            return
        with pytest.raises(PointError, match=rf"^.*from_{kind} and .*: segment {row} goes from"):
            intersect_files(intersector, rays, tmp_path / "out", chunk=4)
    assert not (tmp_path / "out").exists()


def test_a_file_that_shrinks_leaves_no_results(tmp_path: Path) -> None:
    for name in ("from_f32", "to_f32"):
        np.ones((9, 3), "<f4").tofile(tmp_path / name)
    rays = open_segments(tmp_path / "from_f32", tmp_path / "to_f32")

    def shorten(done: int, whole: int | None) -> None:
        assert done < 6 and whole == 9
        (tmp_path / "to_f32").write_bytes(bytes(12 * 5 + 3))

    with (
        SegmentIntersector(TRIANGLE) as intersector,
        pytest.raises(OSError, match="it was cut from 108 to 63 bytes while it was read"),
    ):
        intersect_files(intersector, rays, tmp_path / "out", chunk=2, progress=shorten)
    assert not (tmp_path / "out").exists()
