"""Rows that agree in several columns at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from geodomain.io.numbers import Rows


def combined(columns: Iterable[Rows], count: int) -> Rows:
    """Give a code to each of so many rows, the same to those with the same codes everywhere."""
    codes = np.zeros(count, np.int64)
    for each in columns:
        lowest = int(each.min(initial=0))
        span = int(each.max(initial=0)) - lowest + 1
        # Codes are below the number of rows, and so is the span: the product is below 2^63.
        codes = np.unique(codes * span + (each - lowest), return_inverse=True)[1]
    return codes.astype(np.int64)
