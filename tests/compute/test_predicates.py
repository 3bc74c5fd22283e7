"""The signs that everything rests on, against fractions, and the canary."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodomain.compute import native

LEVELS = native.levels()


def signs(function: str, rows: np.ndarray, level: int) -> np.ndarray:
    rows = np.ascontiguousarray(rows)
    out = np.empty(len(rows), dtype=np.int8)
    getattr(native.core(level), function.removeprefix("geodomain_"))(rows, len(rows), out)
    return out


def signs_on_the_gpu(function: str, rows: np.ndarray) -> np.ndarray:
    device = pytest.importorskip("geodomain.compute.cuda.device")
    from geodomain.compute.cuda.buffers import upload

    out = np.zeros(len(rows), dtype=np.int8)
    with device.current() as driver:
        memory = upload(np.ascontiguousarray(rows), out)
        device.launch(
            "predicates.cu", function, len(rows), int(memory[0]), len(rows), int(memory[1])
        )
        driver.memcpy_dtoh(out, memory[1])
    return out


def sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def exact_orient2d(row: np.ndarray) -> int:
    ax, ay, bx, by, qx, qy = map(Fraction, row.tolist())
    return sign((ax - qx) * (by - qy) - (ay - qy) * (bx - qx))


def exact_orient3d(row: np.ndarray) -> int:
    values = [Fraction(v) for v in row.tolist()]
    q = values[9:]
    a, b, c = ([v - w for v, w in zip(values[i : i + 3], q, strict=True)] for i in (0, 3, 6))
    return sign(
        a[2] * (b[0] * c[1] - b[1] * c[0])
        + b[2] * (c[0] * a[1] - c[1] * a[0])
        + c[2] * (a[0] * b[1] - a[1] * b[0])
    )


EXACT = {
    "geodomain_orient2d": (6, exact_orient2d),
    "geodomain_orient3d": (12, exact_orient3d),
}


def rows_of(kind: str, count: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    small = rng.integers(-3, 4, (count, width)).astype(float)
    if kind == "random":
        return rng.normal(size=(count, width))
    if kind == "integer":
        return small
    if kind == "tenths":  # differences that are not doubles
        return small * 0.1
    if kind == "mine":
        return small * 0.1 + 7_480_000.7
    if kind == "mixed":  # a large coordinate beside a small one
        return np.where(rng.random((count, width)) < 0.5, small * 0.1, small + 7e6)
    exponents = rng.integers(-300, 338, (count, width))
    return rng.choice([-1.5, 1.0, 0.0, 1.25], (count, width)) * 2.0**exponents


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["random", "integer", "tenths", "mine", "mixed", "range"])
@pytest.mark.parametrize("function", EXACT)
def test_signs_are_exact(function: str, kind: str, level: int) -> None:
    width, exact = EXACT[function]
    rows = rows_of(kind, 1500, width)
    expected = np.array([exact(row) for row in rows])
    assert np.array_equal(signs(function, rows, level), expected)
    if kind in ("integer", "tenths", "mine"):
        assert (expected == 0).sum() > 50  # the cases that matter are in the sample


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["random", "integer", "tenths", "mine", "mixed", "range"])
@pytest.mark.parametrize("function", EXACT)
def test_signs_are_exact_on_the_gpu(function: str, kind: str) -> None:
    """nvcc once compiled the expansions wrong: only coplanar cases showed it."""
    pytest.importorskip("pycuda.driver", exc_type=ImportError)
    width, exact = EXACT[function]
    rows = rows_of(kind, 4000, width)
    assert np.array_equal(signs_on_the_gpu(function, rows), [exact(row) for row in rows])


def crossings_of(kind: str, count: int) -> np.ndarray:
    """Return rows of a triangle and a point near it, for most of which a line decides narrowly."""
    rng = np.random.default_rng(11)
    offset = {"local": 0.0, "mine": 7_480_000.7, "far": 3e11, "beyond": 1e60}[kind]
    corners = rng.normal(size=(count, 3, 3)) * 5.0
    weights = rng.dirichlet([1, 1, 1], count)
    weights[: count // 3, 0] = 0.0  # on an edge's line
    q = np.einsum("nk,nki->ni", weights, corners)
    q += rng.normal(size=q.shape) * 10.0 ** rng.uniform(-12, 1, (count, 1))
    rows = np.concatenate([corners.reshape(count, 9), q], axis=1)
    return (rows * (1e55 if kind == "beyond" else 1.0)) + offset


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["local", "mine", "far", "beyond"])
def test_floats_are_right_or_unsure(kind: str, level: int) -> None:
    rows = crossings_of(kind, 60_000)
    exact = signs("geodomain_crossing", rows, level)
    found = signs("geodomain_crossing_single", rows, level)
    sure = found != 2
    assert np.array_equal(found[sure], exact[sure])
    assert len(np.unique(exact)) == 3
    share = {"local": 0.6, "mine": 0.4, "far": 0.01, "beyond": 0.0}[kind]
    assert share <= sure.mean() < 0.95


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(-1e7, 1e7), min_size=12, max_size=12),
    st.sampled_from([1.0, 2.0**-60, 2.0**-100, 2.0**60]),
)
def test_floats_of_any_size_are_right_or_unsure(values: list[float], scale: float) -> None:
    row = np.array(values)[None] * scale
    row[np.abs(row) < 2.0**-300] = 0.0
    found = signs("geodomain_crossing_single", row, LEVELS[-1])[0]
    assert found in (2, signs("geodomain_crossing", row, LEVELS[-1])[0])


@pytest.mark.parametrize("level", LEVELS)
def test_points_one_step_beside_a_line(level: int) -> None:
    start, end = np.array([414_000.1, 7_480_000.7]), np.array([414_931.3, 7_481_777.9])
    t = np.random.default_rng(3).random((4000, 1))
    q = start + t * (end - start)
    q = np.where(np.arange(4000)[:, None] % 3 == 1, np.nextafter(q, np.inf), q)
    rows = np.hstack([np.tile(start, (4000, 1)), np.tile(end, (4000, 1)), q])
    expected = np.array([exact_orient2d(row) for row in rows])
    naive = (start[0] - q[:, 0]) * (end[1] - q[:, 1]) - (start[1] - q[:, 1]) * (end[0] - q[:, 0])
    assert np.array_equal(signs("geodomain_orient2d", rows, level), expected)
    assert (np.sign(naive) != expected).any()  # plain doubles get some of these wrong


coordinate = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-1e7, 1e7).filter(lambda v: v == 0 or abs(v) > 1e-90),
    st.sampled_from([0.1, 0.2, 0.3, 7_480_000.7, 2.0**-306, -(2.0**-306), 2.0**339]),
)


@pytest.mark.full
@settings(max_examples=300, deadline=None)
@given(st.lists(coordinate, min_size=12, max_size=12))
def test_any_coordinates_in_range(values: list[float]) -> None:
    row = np.array(values)
    assert signs("geodomain_orient3d", row[None], LEVELS[-1])[0] == exact_orient3d(row)
    assert signs("geodomain_orient2d", row[None, :6], LEVELS[-1])[0] == exact_orient2d(row[:6])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("guarded", [0, 1])
def test_canary_of_each_build(level: int, guarded: int) -> None:
    assert native.core(level).canary(guarded) == 0


def test_guard_restores_the_callers_rounding() -> None:
    """A host that rounds upwards must not change a sign, nor find its mode changed."""
    try:
        libm = ctypes.CDLL("libm.so.6")
    except OSError:
        pytest.skip("no libm.so.6 to change the rounding mode with")
    core = native.core()
    upward = 0x800
    try:
        assert libm.fesetround(upward) == 0
        seen = core.canary(0), core.canary(1), libm.fegetround()
    finally:
        libm.fesetround(0)
    assert seen[0] & 4  # the canary sees the mode
    assert seen[1] == 0  # the guard puts it right
    assert seen[2] == upward  # and puts it back
