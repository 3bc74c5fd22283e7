"""Copies to the device through a ring that threads fill, with a stand-in driver."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import fake

from geodomain.compute.cuda import buffers, device
from geodomain.compute.cuda.buffers import Filler, Ring

__all__ = ["fake"]

ROWS = 100_003  # pieces of several blocks, and the last ones short


def there(memory, shape) -> np.ndarray:
    found = np.empty(shape)
    device.driver().memcpy_dtoh(found, memory)
    return found


@pytest.mark.parametrize("threads", [0, 1, 3, 8])  # none: as where the system starts no more
@pytest.mark.parametrize("shape", ["rows", "columns", "every second", "backwards", "odd address"])
def test_every_row_comes_once_and_in_its_place(fake, shape: str, threads: int) -> None:
    points = np.random.default_rng(0).random((2 * ROWS, 3))
    given = {
        "rows": points[:ROWS],
        "columns": np.asfortranarray(points[:ROWS]),
        "every second": points[::2],
        "backwards": points[ROWS - 1 :: -1],
        "odd address": points[1 : ROWS + 1],
    }[shape]
    columns = given[:, 0], given[:, 1], given[:, 2]
    with device.current() as cuda:
        ring, stream, memory = Ring(40_000).pieces, cuda.Stream(), cuda.mem_alloc(given.nbytes)
        with Filler(columns, ring, 32_768, threads) as filler:
            filler.send(0, 65_536, int(memory), stream)
            filler.send(65_536, ROWS, int(memory) + 24 * 65_536, stream)
            stream.synchronize()
            assert np.array_equal(there(memory, given.shape), given)
            cuda.memset_d8(int(memory), 0, given.nbytes)
            filler.send(32_768, ROWS, int(memory), stream)  # from there again
            stream.synchronize()
        assert np.array_equal(there(memory, (ROWS - 32_768, 3)), given[32_768:])


@pytest.mark.parametrize("rows", [0, 1, 999, 12_345, 40_000])
def test_answers_come_back_by_the_ring(fake, monkeypatch, rows: int) -> None:
    """Large ones, in ordinary memory; the others by one call."""
    monkeypatch.setattr(buffers, "_LARGE", 4000)
    monkeypatch.setattr(buffers, "PIECE_ROWS", 500)
    given = np.arange(rows, dtype=np.int32)
    with device.current() as cuda:
        memory = cuda.mem_alloc(4 * rows + 4)
        cuda.memcpy_htod(memory, given)
        for out in (np.empty(rows, np.int32), cuda.pagelocked_empty(rows + 1, np.int32)[:rows]):
            buffers.download(out, int(memory))
            assert np.array_equal(out, given)
    assert fake.calls.count("dtoh") == (-(-4 * rows // 12_000) if rows > 1000 else 0)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by Linux")
@pytest.mark.parametrize(("rows", "threads"), [(100, 0), (8192, 0), (8193, 2), (ROWS, 8)])
def test_few_rows_are_not_worth_threads(fake, rows: int, threads: int) -> None:
    columns = (np.zeros(rows), np.zeros(rows), np.zeros(rows))
    with device.current() as cuda:
        ring, stream, memory = Ring(8192).pieces, cuda.Stream(), cuda.mem_alloc(24 * 8192)
        before = len(list(Path("/proc/self/task").iterdir()))
        with Filler(columns, ring, 8192, 8) as filler:
            filler.send(0, min(rows, 8192), int(memory), stream)
            assert len(list(Path("/proc/self/task").iterdir())) <= before + threads


def test_threads_end_though_pieces_were_never_sent(fake) -> None:
    columns = (np.zeros(ROWS), np.ones(ROWS), np.full(ROWS, 2.0))
    before = threads()
    with device.current() as cuda:
        ring, stream, memory = Ring(8192).pieces, cuda.Stream(), cuda.mem_alloc(24 * 8192)
        with Filler(columns, ring, 8192, 4) as filler:
            filler.send(0, 8192, int(memory), stream)
            assert threads() > before or not before
    assert threads() == before


def threads() -> int:
    """Count the threads of this process, native ones too; 0 where the system does not tell."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 0


def test_pieces_are_not_filled_beyond_their_end(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where so much page-locked memory is not to be had they are smaller than asked for."""
    real = fake.pagelocked_empty

    def scant(shape: tuple[int, ...], *rest: object) -> np.ndarray:
        if np.prod(shape) > 3 * 20_000:
            msg = "cuMemHostAlloc failed: out of memory"
            raise fake.MemoryError(msg)
        return real(shape, *rest)

    monkeypatch.setattr(fake, "pagelocked_empty", scant)
    points = np.random.default_rng(2).random((ROWS, 3))
    with device.current() as cuda:
        stream, memory = cuda.Stream(), cuda.mem_alloc(points.nbytes)
        with buffers.filling((points[:, 0], points[:, 1], points[:, 2]), 65_536, 2) as filler:
            filler.send(0, 65_536, int(memory), stream)
            filler.send(65_536, ROWS, int(memory) + 24 * 65_536, stream)
            stream.synchronize()
        assert np.array_equal(there(memory, points.shape), points)


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 2000, 7001])
def test_an_array_of_any_size_is_uploaded(
    fake, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(buffers, "_LARGE", 40)
    monkeypatch.setattr(buffers, "PIECE_ROWS", 256)
    array = np.random.default_rng(1).integers(0, 9, count, dtype=np.int32)
    with device.current() as cuda:
        found = np.empty_like(array)
        [memory] = buffers.upload(array)
        if count:
            cuda.memcpy_dtoh(found, memory)
    assert np.array_equal(found, array)
