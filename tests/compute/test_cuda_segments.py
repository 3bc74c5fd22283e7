"""Segments through the stand-in driver: what is sent to a GPU, and what is given back to it."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from crossings import adversarial, same
from fake_gpu import fake
from shapes import star

from geodomain import SegmentIntersector, Segments, intersect
from geodomain.compute.cuda import device
from geodomain.compute.cuda import segments as cuda_segments

__all__ = ["fake"]

MESH = star(6)
STARTS, ENDS = adversarial(MESH, 400, np.random.default_rng(2))
MODES = ("boolean", "nearest", "count", "all")
EXPECTED = {mode: intersect(MESH, STARTS, ENDS, mode=mode, backend="cpu") for mode in MODES}


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("options", [{}, {"grid": 1}, {"grid": 16}, {"strategy": "brute"}], ids=str)
def test_every_strategy_answers(options, binned, fake, monkeypatch) -> None:
    monkeypatch.setattr(cuda_segments, "BINNED_ROWS", 1 if binned else 1 << 20)
    monkeypatch.setattr(cuda_segments, "MOST_HITS", 50)
    with SegmentIntersector(MESH, backend="cuda", **options) as intersector:
        for sort in (False, True):
            with Segments(STARTS, ENDS, sort=sort) as segments:
                for mode in MODES:
                    assert same(intersector.intersect(segments, mode=mode), EXPECTED[mode])
    assert ("geodomain_bins_draw" in fake.calls) == (binned and not options)
    assert fake.used_bytes == 0


def test_what_is_not_closed_is_freed_with_its_context(fake) -> None:
    intersector, segments = SegmentIntersector(MESH, backend="cuda"), Segments(STARTS, ENDS)
    intersector.intersect(segments)
    assert fake.used_bytes > 0
    del intersector, segments
    gc.collect()
    assert (fake.used_bytes, fake.calls.count("leak")) == (0, 0)


@pytest.mark.parametrize("options", [{}, {"strategy": "brute"}], ids=str)
def test_what_is_asked_is_freed_when_it_has_answered(options, fake, monkeypatch) -> None:
    """One thread may leave the block while another asks; here they are one."""
    intersector = SegmentIntersector(MESH, backend="cuda", **options)
    segments = Segments(STARTS, ENDS)
    launch = device.launch

    def close(*arguments) -> None:
        intersector.close()
        segments.close()
        launch(*arguments)

    monkeypatch.setattr(device, "launch", close)
    assert same(intersector.intersect(segments, mode="count"), EXPECTED["count"])
    assert fake.used_bytes == 0


def test_a_part_of_segments_keeps_the_whole(fake) -> None:
    with Segments(STARTS, ENDS) as segments:
        part = cuda_segments.resident(segments).part(10, 20)
    assert fake.used_bytes == 52 * len(STARTS) + 4
    del part
    assert (fake.used_bytes, fake.calls.count("leak")) == (0, 0)
