"""Where a million segments cross a terrain, beside Open3D's cast_rays, which gives the first hit.

pytest tests/benchmarks/test_hits.py --benchmark-timer=time.process_time

The timer counts the time that all threads together worked, for a machine that others use too.
Segments go along normals, for a tenth of the terrain's box from anywhere, or across it. The first
hits are also written as a table, beside Python's `repr` and `join` of the same numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

from geodomain import Mesh, SegmentIntersector, Segments
from geodomain.synthetic import segments_across, undulating_terrain
from geodomain.synthetic.files import longest_segment
from geodomain.tables.text import Column, lines_of

TRIANGLES, SEGMENTS, THREADS = 29_282, 1_000_000, 2
ROWS = 200_000
KINDS = ("along normals", "a tenth of the box", "anywhere")

Scene = tuple[str, Mesh, np.ndarray, np.ndarray]


@pytest.fixture(scope="module", params=KINDS)
def scene(request: pytest.FixtureRequest) -> Scene:
    """Return its name, the terrain at mine coordinates, and segments."""
    terrain = undulating_terrain(TRIANGLES)
    place = np.array([414_000.0, 7_480_000.0, 0.0])
    mesh = Mesh(terrain.vertices + place, terrain.triangles)
    if request.param == "along normals":
        reach = longest_segment(TRIANGLES)
        (drawn,) = segments_across(terrain, SEGMENTS, reach=reach, chunk=SEGMENTS)
        return request.param, mesh, drawn.starts + place, drawn.ends + place
    low, high = mesh.bounds
    rng = np.random.default_rng(1)
    starts, ends = rng.uniform(low, high, (2, SEGMENTS, 3))
    if request.param == "a tenth of the box":
        ends = starts + rng.normal(size=(SEGMENTS, 3)) * (high - low) / 10
    return request.param, mesh, starts, ends


@pytest.mark.parametrize("mode", ["nearest", "all"])
def test_hits(scene: Scene, mode: str, timed) -> None:
    kind, mesh, starts, ends = scene
    intersector = SegmentIntersector(mesh, backend="cpu", threads=THREADS)
    segments = Segments(starts, ends, threads=THREADS)
    hits = timed(f"segments {kind}", lambda: intersector.intersect(segments, mode=mode))
    crossed = intersector.intersect(segments)
    assert np.array_equal(np.unique(hits.segment), np.flatnonzero(crossed))


def test_hits_open3d(scene: Scene, timed, wrong, peer) -> None:
    open3d = peer("open3d")
    kind, mesh, starts, ends = scene
    built = open3d.t.geometry.RaycastingScene(nthreads=THREADS)
    built.add_triangles(
        open3d.core.Tensor(mesh.vertices.astype(np.float32)),
        open3d.core.Tensor(mesh.triangles.astype(np.uint32)),
    )
    rays = open3d.core.Tensor(np.hstack([starts, ends - starts]).astype(np.float32))
    first = timed(f"segments {kind}", lambda: built.cast_rays(rays, nthreads=THREADS))
    truth = SegmentIntersector(mesh, backend="cpu").intersect((starts, ends))
    wrong(first["t_hit"].numpy() <= 1, truth)


@pytest.fixture(scope="module")
def columns() -> list[Column]:
    """Return nine columns of a table of hits."""
    dice = np.random.default_rng(2)
    triangle, numbers = dice.integers(0, TRIANGLES, ROWS), dice.random((7, ROWS)) * 1000
    return [np.arange(ROWS), *numbers[:5], triangle, *numbers[5:]]


def in_python(columns: list[Column]) -> bytes:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "".join([",".join(map(repr, row)) + "\n" for row in rows]).encode()


@pytest.mark.parametrize("way", ["geodomain", "repr and join"])
def test_hits_as_csv(columns: list[Column], way: str, timed) -> None:
    def ours() -> bytes:
        return b"".join(map(bytes, lines_of(columns, b",", b".", THREADS)))

    write = ours if way == "geodomain" else lambda: in_python(columns)
    by = "geodomain" if way == "geodomain" else "Python"
    assert timed(f"{ROWS:,} hits as CSV", write, by) == in_python(columns)
