"""How many threads to use."""

from __future__ import annotations

import os

import numpy as np

# More help no machine, and each takes memory when an index is built.
_MOST_THREADS = 1024


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: as many as asked for, or the cores allowed."""
    if threads is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        message = f"threads must be a positive integer or None, not {threads!r}"
        raise ValueError(message)
    return min(int(threads), _MOST_THREADS)
