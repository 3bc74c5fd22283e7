"""Rows of points filled into the pieces of a ring, by threads, without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import fake

from geodomain.backends import device
from geodomain.backends.buffers import Piece
from geodomain.backends.staging import Filler

__all__ = ["fake"]

ROWS = 100_003  # pieces of several blocks, and the last ones short


@pytest.fixture
def ring(fake) -> list[Piece]:
    with device.current():
        return [Piece(32_768) for _ in range(3)]


def taken(filler: Filler, ring: list[Piece], begin: int, end: int) -> np.ndarray:
    """Take rows as the bus would, and spoil what has been taken."""
    rows = np.empty((end - begin, 3))
    with device.current():
        for first, last, piece in filler.full(begin, end):
            rows[first - begin : last - begin] = piece.memory[: last - first]
            piece.memory[:] = np.nan
            piece.free.record(device.driver().Stream())
    return rows


@pytest.mark.parametrize("threads", [0, 1, 3, 8])  # none: as where the system starts no more
@pytest.mark.parametrize("shape", ["rows", "columns", "every second", "backwards", "odd address"])
def test_every_row_comes_once_and_in_order(ring, shape: str, threads: int) -> None:
    points = np.random.default_rng(0).random((2 * ROWS, 3))
    given = {
        "rows": points[:ROWS],
        "columns": np.asfortranarray(points[:ROWS]),
        "every second": points[::2],
        "backwards": points[ROWS - 1 :: -1],
        "odd address": points[1 : ROWS + 1],
    }[shape]
    columns = given[:, 0], given[:, 1], given[:, 2]
    with Filler(columns, ring, threads) as filler:
        assert np.array_equal(taken(filler, ring, 0, 65_536), given[:65_536])
        assert np.array_equal(taken(filler, ring, 65_536, ROWS), given[65_536:])
        assert np.array_equal(taken(filler, ring, 32_768, ROWS), given[32_768:])  # from there again


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by Linux")
@pytest.mark.parametrize(("rows", "threads"), [(100, 0), (8192, 0), (8193, 2), (ROWS, 8)])
def test_few_rows_are_not_worth_threads(ring, rows: int, threads: int) -> None:
    before = len(list(Path("/proc/self/task").iterdir()))
    columns = (np.zeros(rows), np.zeros(rows), np.zeros(rows))
    with Filler(columns, ring, 8) as filler, device.current():
        next(iter(filler.full(0, rows)))
        assert len(list(Path("/proc/self/task").iterdir())) <= before + threads


def test_threads_end_though_pieces_were_never_taken(ring) -> None:
    columns = (np.zeros(ROWS), np.zeros(ROWS), np.zeros(ROWS))
    with Filler(columns, ring, 4) as filler, device.current():
        next(iter(filler.full(0, ROWS)))
