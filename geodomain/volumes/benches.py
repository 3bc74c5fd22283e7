"""Which benches blocks lie in, and with which part; benches are at multiples of a height."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError

Floats = NDArray[np.float64]

# A face this close to a multiple of the height, in heights, lies on it: 0.3 / 0.1 is below 3.
_ON_FACE = 1e-9
_MOST = 10_000


def split_by_bench(
    z: Floats, dz: Floats, height: float, first_row: int = 1
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the lowest bench of each block, then the next one, as long as any block has another.

    Parameters
    ----------
    z, dz : (n,) float64
        Centres and heights of the blocks. Where either is not known the bench is NaN, and has
        all of the block.
    height : float
        Of a bench, which has its lower end and not its upper one.
    first_row : int
        What messages call the first block.

    Yields
    ------
    bench : (n,) float64
        The lower end of the bench.
    share : (n,) float64
        The part of the block in it, 0 to 1; 0 where the block has no more benches.

    Raises
    ------
    TableError
        For a block that spans more than 10,000 benches.
    """
    low, high = _snapped((z - dz / 2) / height), _snapped((z + dz / 2) / height)
    known = np.isfinite(low) & np.isfinite(high) & (high > low)
    first = np.where(known, np.floor(low), np.nan)
    count = np.where(known, np.ceil(high) - first, 1.0)
    if (count > _MOST).any():
        row = int(np.argmax(count > _MOST))
        message = (
            f"block {first_row + row} is {dz[row]:g} high, more than {_MOST:,} benches of "
            f"{height:g}: mend its size, or take higher benches"
        )
        raise TableError(message)
    for step in range(int(count.max(initial=0))):
        bottom = first + step
        inside = np.minimum(high, bottom + 1) - np.maximum(low, bottom)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(count > 1, np.clip(inside / (high - low), 0, 1), 1.0)
        yield bottom * height, np.where(step < count, share, 0.0)


def _snapped(heights: Floats) -> Floats:
    """Put what is very close to a whole number on it."""
    nearest = np.round(heights)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(heights - nearest) <= _ON_FACE, nearest, heights)
