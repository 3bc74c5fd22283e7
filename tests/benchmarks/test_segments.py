"""A million segments across a terrain, beside Open3D's test_occlusions, with as many threads each.

pytest tests/benchmarks/test_segments.py

"prepared" is the question alone, "arrays" from the caller's arrays on, "mesh" with the index too.
The terrain is asked about where it is made and at mine coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from geodomain import Mesh, SegmentIntersector, Segments
from geodomain.synthetic import segments_across, undulating_terrain
from geodomain.synthetic.files import longest_segment

TRIANGLES, SEGMENTS = 29_282, 1_000_000
PLACES = {"at 0": (0.0, 0.0, 0.0), "at a mine": (414_000.0, 7_480_000.0, 0.0)}

Scene = tuple[str, Mesh, np.ndarray, np.ndarray, np.ndarray]
threads = pytest.mark.parametrize("threads", [1, 2])
since = pytest.mark.parametrize("since", ["prepared", "arrays", "mesh"])


@pytest.fixture(scope="module", params=PLACES)
def scene(request: pytest.FixtureRequest) -> Scene:
    """Return where it is, a terrain, segments, and which of them cross it."""
    terrain = undulating_terrain(TRIANGLES)
    (drawn,) = segments_across(terrain, SEGMENTS, reach=longest_segment(TRIANGLES), chunk=SEGMENTS)
    # Coordinates are multiples of 2^-10, so that the move is exact and the truth stays.
    truth = SegmentIntersector(terrain, backend="cpu").intersect((drawn.starts, drawn.ends))
    assert truth[drawn.through].all()
    place = np.array(PLACES[request.param])
    mesh = Mesh(terrain.vertices + place, terrain.triangles)
    return request.param, mesh, drawn.starts + place, drawn.ends + place, truth


def asked(
    since: str,
    build: Callable[[], Any],
    load: Callable[[], Any],
    answer: Callable[[Any, Any], np.ndarray],
) -> Callable[[], np.ndarray]:
    """Return a call of what is to be timed; what comes before is done already."""
    if since == "mesh":
        return lambda: answer(build(), load())
    index = build()
    if since == "arrays":
        return lambda: answer(index, load())
    segments = load()
    return lambda: answer(index, segments)


@threads
@since
def test_crossing(scene: Scene, threads: int, since: str, timed, wrong) -> None:
    place, mesh, starts, ends, truth = scene
    ask = asked(
        since,
        lambda: SegmentIntersector(mesh, backend="cpu", threads=threads),
        lambda: Segments(starts, ends, threads=threads),
        lambda intersector, segments: intersector.intersect(segments),
    )
    answers = timed(f"{SEGMENTS:,} segments {place}, {since}, threads: {threads}", ask)
    assert wrong(answers, truth) == 0


@threads
@since
def test_crossing_open3d(scene: Scene, threads: int, since: str, timed, wrong, peer) -> None:
    open3d = peer("open3d")
    place, mesh, starts, ends, truth = scene

    def build() -> Any:
        built = open3d.t.geometry.RaycastingScene(nthreads=threads)
        built.add_triangles(
            open3d.core.Tensor(mesh.vertices.astype(np.float32)),
            open3d.core.Tensor(mesh.triangles.astype(np.uint32)),
        )
        return built

    ask = asked(
        since,
        build,
        lambda: open3d.core.Tensor(np.hstack([starts, ends - starts]).astype(np.float32)),
        lambda built, rays: built.test_occlusions(
            rays, tnear=0.0, tfar=1.0, nthreads=threads
        ).numpy(),
    )
    wrong(timed(f"{SEGMENTS:,} segments {place}, {since}, threads: {threads}", ask), truth)
