"""Triangles in floats on a CPU, against fractions; its walks, against every triangle."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import geodomain
from geodomain import synthetic
from geodomain.compute import native

LEVELS = native.levels()
PACKET = 8  # triangles
STRICT, TIE, MISS = 1, 0, -1


def sifted(
    corners: np.ndarray, ends: np.ndarray, bounds: np.ndarray, nearest: bool, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which triangles of packets floats call crossed, which are open, and spans of t."""
    out, spans = np.empty((len(ends), 2), np.uint32), np.empty((len(ends), PACKET, 2), np.float32)
    native.core(level).sift_packets(corners, ends, len(ends), bounds, nearest, out, spans)
    bits = out[:, :, None] >> np.arange(PACKET, dtype=np.uint32) & 1
    return bits[:, 0].astype(bool), bits[:, 1].astype(bool), spans


def det(a: list, b: list, c: list) -> Fraction:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def exactly(corners: np.ndarray, ends: np.ndarray) -> tuple[int, Fraction]:
    """Whether a segment crosses a triangle's inside, misses it, or touches it; t of a crossing."""
    points = [[Fraction(v) for v in p] for p in (*corners.tolist(), *ends.reshape(2, 3).tolist())]
    start = points[3]
    a, b, c, d = ([v - w for v, w in zip(points[i], start, strict=True)] for i in (0, 1, 2, 4))
    edges = [det(d, b, c), det(d, c, a), det(d, a, b)]
    first = det(a, b, c)
    last = first - sum(edges)
    if first * last > 0 or (min(edges) < 0 < max(edges)):
        return MISS, Fraction(2)
    if first * last == 0 or 0 in edges:
        return TIE, Fraction(2)
    return STRICT, first / (first - last)


def scene(length: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return packets in a small part of a mesh's bounds, segments that all but touch, bounds.

    A segment passes an edge, or ends at a plane, by 1e-10 to 1e-2 of a triangle's size, on both
    sides of where floats can tell; or it goes through the middle.
    """
    rng = np.random.default_rng(seed)
    place, count = np.array([414_000.3, 7_480_000.7, 152.1]), 150
    bounds = np.array([place - 500.0, place + 500.0])
    middle = place + rng.uniform(-400, 400, (count, 1, 1, 3))
    corners = middle + rng.normal(size=(count, PACKET, 3, 3)) * 3.0
    corners[::5, :, 2] = corners[::5, :, 1] + (corners[::5, :, 2] - corners[::5, :, 1]) * 1e-4
    # All triangles of a packet have a point at one place, or nearly.
    weights = rng.dirichlet([1, 1, 1], (count, PACKET))
    weights[:, ::2, 2] = 0.0
    weights /= weights.sum(axis=2)[:, :, None]
    at = middle[:, 0, 0] + rng.normal(size=(count, 3))
    corners += (at[:, None] - np.einsum("npk,npki->npi", weights, corners))[:, :, None]
    corners += rng.normal(size=(count, PACKET, 1, 3)) * 10.0 ** rng.uniform(
        -10, -2, (count, PACKET, 1, 1)
    )
    along = rng.normal(size=(count, 3))
    along *= length / np.linalg.norm(along, axis=1)[:, None]
    part = rng.choice([0.0, 1e-8, 1e-4, 0.3, 0.5, 0.9999, 1.0], (count, 1))
    return corners, np.hstack([at - part * along, at + (1 - part) * along]), bounds


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("length", [1e-2, 10.0, 700.0, 3e4, 1e7, 1e12])
@pytest.mark.parametrize("nearest", [True, False])
def test_floats_say_what_is_so(nearest: bool, length: float, level: int) -> None:
    corners, ends, bounds = scene(length, seed=3)
    crossed, unsure, spans = sifted(corners, ends, bounds, nearest, level)
    for i in range(len(ends)):
        for k in range(PACKET):
            if not unsure[i, k]:
                kind, t = exactly(corners[i, k], ends[i])
                assert kind == (STRICT if crossed[i, k] else MISS)
                # Doubles make t with an error of up to 2^-46 of it.
                room = Fraction(1, 2**46) * t
                low, high = map(Fraction, spans[i, k].tolist())
                assert not crossed[i, k] or low <= t - room < t + room <= high


def test_the_nearest_point_leaves_fewer_open() -> None:
    corners, ends, bounds = scene(700.0, seed=4)
    corners += np.random.default_rng(5).normal(size=(len(ends), PACKET, 1, 3))
    level = max(LEVELS)
    _, near, spans = sifted(corners, ends, bounds, True, level)
    _, far, _ = sifted(corners, ends, bounds, False, level)
    assert 10 * near.sum() < far.sum()
    crossed = spans[..., 1] > 0
    assert crossed.any()
    assert np.median(np.diff(spans[crossed])) < 1e-4


def leaves(gap: float) -> geodomain.Mesh:
    """Return flat sheets one above the other, so close that t hardly tells them apart."""
    terrain = synthetic.undulating_terrain(200)
    count = 24
    heights = np.arange(count) * gap
    heights[count // 2 :] = heights[: count // 2]  # each there twice
    vertices = np.concatenate([terrain.vertices * [1, 1, 0] + [0, 0, z] for z in heights])
    firsts = np.arange(count)[:, None, None] * len(terrain.vertices)
    return geodomain.Mesh(vertices, (terrain.triangles + firsts).reshape(-1, 3))


MESHES = {
    "terrain": synthetic.undulating_terrain(2_000),
    "solid": synthetic.star_shaped_orebody(frequency=12),
    "leaves, 1e-3 apart": leaves(1e-3),
    "leaves, 1e-9 apart": leaves(1e-9),
    "one triangle": geodomain.Mesh(np.eye(3), [[0, 1, 2]]),
    "flat": geodomain.Mesh(np.eye(3)[:, [0, 1, 1]] * [1, 1, 0], [[0, 1, 2], [0, 2, 1]]),
}


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reach", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("name", MESHES)
def test_segments_find_what_every_triangle_finds(name: str, reach: float, threads: int) -> None:
    mesh = MESHES[name]
    rng = np.random.default_rng(7)
    low, high = mesh.bounds
    middle, half = (low + high) / 2, (high - low) / 2 + 0.1
    starts, ends = middle + max(reach, 1.0) * half * rng.uniform(-1, 1, (2, 5_000, 3))
    # Ends at vertices, ways along edges and through vertices, missing rows, rows without length.
    corner = mesh.vertices[rng.integers(len(mesh.vertices), size=5_000)]
    other = mesh.vertices[rng.integers(len(mesh.vertices), size=5_000)]
    starts[::5], ends[1::5] = corner[::5], corner[1::5]
    starts[2::5], ends[2::5] = corner[2::5], other[2::5]
    ends[3::5] = 2 * corner[3::5] - starts[3::5]
    if reach < 1:  # short ones are asked in batches
        ends = starts + reach * (ends - starts)
    starts[4::50] = np.nan
    ends[9::50] = starts[9::50]
    segments = geodomain.Segments(starts, ends)
    hierarchy = geodomain.SegmentIntersector(mesh, backend="cpu", threads=threads)
    brute = geodomain.SegmentIntersector(mesh, backend="cpu", threads=threads, strategy="brute")
    crossed, expected = hierarchy.intersect(segments), brute.intersect(segments)
    np.testing.assert_array_equal(crossed, expected)
    assert crossed.any() or name == "flat"
    found, nearest = (asked.intersect(segments, mode="nearest") for asked in (hierarchy, brute))
    for column in ("segment", "triangle", "t", "u", "v", "distance", "point"):
        np.testing.assert_array_equal(getattr(found, column), getattr(nearest, column))
    np.testing.assert_array_equal(hierarchy.intersect(segments, mode="count") > 0, expected)
