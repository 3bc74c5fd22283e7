"""Merges vertices whose coordinates are equal as numbers; never vertices that are merely near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Odd constants with well-spread bits: the golden ratio's and two of splitmix64's.
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def merge_equal(vertices: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Merge the rows that are equal number by number.

    Rows are brought together by sorting words that hold a hash of the row above
    its number, which costs a tenth of sorting the rows; whether two rows are the
    same is decided by comparing them, so the result does not depend on the hash.

    Parameters
    ----------
    vertices : ndarray of shape (n, 3)
        Finite coordinates; -0.0 equals 0.0.

    Returns
    -------
    unique : ndarray of shape (m, 3), float64
        The distinct rows in the order in which they first appear; no -0.0.
    index : ndarray of shape (n,), int64
        Where each row went: ``unique[index]`` equals ``vertices``.
    """
    rows = np.ascontiguousarray(vertices, dtype=np.float64) + 0.0
    if len(rows) == 0:
        return rows.reshape(0, 3), np.zeros(0, dtype=np.int64)
    order, starts_group = _group_by_hash(rows)
    starts = np.flatnonzero(starts_group)
    firsts = np.minimum.reduceat(order, starts)
    is_first = np.zeros(len(rows), dtype=bool)
    is_first[firsts] = True
    number = np.cumsum(is_first) - 1
    index = np.empty(len(rows), dtype=np.int64)
    index[order] = np.repeat(number[firsts], np.diff(starts, append=len(rows)))
    return rows[is_first], index


def _group_by_hash(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return an order with equal rows side by side, and where each group starts in it."""
    index_bits = np.uint64(max(len(rows) - 1, 1).bit_length())
    index_mask = (np.uint64(1) << index_bits) - np.uint64(1)
    words = _hash(rows) & ~index_mask
    words |= np.arange(len(rows), dtype=np.uint64)
    words.sort()
    order = (words & index_mask).astype(np.int64)
    same_hash = (words[1:] ^ words[:-1]) <= index_mask
    ordered = rows[order]
    # Column by column: a reduction along an axis of three is five times as slow.
    same_row = ordered[1:, 0] == ordered[:-1, 0]
    for axis in (1, 2):
        same_row &= ordered[1:, axis] == ordered[:-1, axis]
    starts = np.concatenate(([True], ~same_row))
    if (same_hash & ~same_row).any():
        _part_collisions(ordered, order, starts, same_hash)
    return order, starts


def _part_collisions(
    ordered: NDArray[np.float64],
    order: NDArray[np.int64],
    starts: NDArray[np.bool_],
    same_hash: NDArray[np.bool_],
) -> None:
    """Sort by coordinates, in place, the runs of one hash that hold several rows."""
    run = np.concatenate(([0], np.cumsum(~same_hash)))
    mixed = np.zeros(run[-1] + 1, dtype=bool)
    mixed[run[1:][same_hash & starts[1:]]] = True
    places = np.flatnonzero(mixed[run])
    rows = ordered[places]
    sorted_places = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0], run[places]))
    rows, order[places] = rows[sorted_places], order[places][sorted_places]
    fresh = (rows[1:] != rows[:-1]).any(axis=1) | (np.diff(run[places]) != 0)
    starts[places] = np.concatenate(([True], fresh))


def _hash(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row, its high bits the best mixed."""
    bits = rows.view(np.uint64)
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for axis, factor in enumerate(_MIX):
        mixed ^= bits[:, axis]
        mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(_MIX[0])
    return mixed
