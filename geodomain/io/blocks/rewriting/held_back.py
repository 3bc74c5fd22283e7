"""Which rows at the end of some belong together with those that follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def last_group(values: NDArray[np.float64]) -> int:
    """Return where the last run of equal numbers begins; NaN equals nothing."""
    changes = np.flatnonzero(values[1:] != values[:-1])
    return int(changes[-1]) + 1 if changes.size else 0
