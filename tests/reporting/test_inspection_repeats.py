"""Blocks that are there twice, in memory and in a temporary file, against a plain search."""

from __future__ import annotations

import errno
from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from geodomain.files import pipeline
from geodomain.reporting.survey import Repeats

Floats = NDArray[np.float64]


def blocks(seed: int) -> tuple[Floats, Floats]:
    """Return blocks of two sizes, few enough places that many share one, some missing."""
    dice = np.random.default_rng(seed)
    points = 410_000 + dice.integers(0, 7, (900, 3)) * 2.5
    points[dice.random(900) < 0.05, dice.integers(0, 3)] = np.nan
    return points, dice.choice([5.0, 10.0], (900, 1)) * np.ones(3)


def expected(points: Floats, sizes: Floats | None) -> tuple[int, int, int]:
    """Return how many come again, the first of them, and the last one that it is the same as."""
    seen: dict[tuple[float, ...], int] = {}
    again: list[tuple[int, int]] = []
    for row, point in enumerate(points.tolist()):
        if not np.isnan(point).any():
            key = (*point, *(() if sizes is None else sizes[row].tolist()))
            if key in seen:
                again.append((row + 1, seen[key] + 1))
            seen[key] = row
    return len(again), *min(again)


@pytest.mark.parametrize("held", [10**6, 250, 20])
@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_each_block_that_comes_again_is_found(
    held: int, sized: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_HELD", held)
    points, sizes = blocks(seed)
    found = Repeats()
    for begin in range(0, 900, 90):
        rows = slice(begin, begin + 90)
        found.add(points[rows], sizes[rows] if sized else None)
    (said,) = found.warnings()
    count, first, before = expected(points, sizes if sized else None)
    assert said.startswith(f"{count:,} blocks are duplicated")
    assert f"the first is block {first:,} of the table, the same as block {before:,}:" in said


def test_without_any_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_HELD", 50)
    points = np.random.default_rng(0).normal(size=(500, 3))
    found = Repeats()
    found.add(points, None)
    found.add(points + 100, None)
    assert list(found.warnings()) == []


def test_zeros_of_both_signs_are_one_place() -> None:
    found = Repeats()
    found.add(np.array([[0.0, 1, 1], [-0.0, 1, 1]]), None)
    assert len(list(found.warnings())) == 1


def test_where_a_temporary_file_has_no_room_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**options: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pipeline, "_HELD", 50)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    found = Repeats()
    for _ in range(3):
        found.add(np.ones((60, 3)), None)
    (said,) = found.warnings()
    assert "were not checked" in said and "No space left on device" in said and "TMPDIR" in said
