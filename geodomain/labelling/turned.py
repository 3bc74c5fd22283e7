"""Whether blocks that are taken for boxes along the world's axes lie on a turned lattice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodomain.io.numbers import Floats

# So few columns tell nothing; of those of a turned lattice hardly any two share an x or a y.
_COLUMNS, _SHARE = 10, 0.9


_MEND = "give local coordinates with rotation= and origin="


def turned_warnings(points: Floats, name: str, done: str, mend: str = _MEND) -> Iterator[str]:
    """Yield a warning if centroids, (n, 3), lie in columns of which no two share an x or a y.

    `done` is what is done to blocks along the axes: "split", "measured"; `mend` is what to do.
    """
    plan = points[np.isfinite(points).all(axis=1), :2]
    columns = len(np.unique(plan, axis=0))
    alone = min(len(np.unique(plan[:, axis])) for axis in range(2))
    if columns >= _COLUMNS and alone > _SHARE * columns:
        yield (
            f"{name}: hardly any two columns of blocks share an x or a y, as if the model were "
            f"rotated; blocks are {done} along the axes of the world, which are not theirs then: "
            f"{mend}"
        )
