"""Show the progress of a long call as one line on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None], None]

# Seconds, and share of the work, that must have passed before an estimate is shown.
_SECONDS, _SHARE = 2.0, 0.02


class TimeLeft:
    """Estimate the time left of a pass over a file from its pace since the first report.

    If a pass starts again, the estimate starts again, too.
    """

    def __init__(self) -> None:
        self._began, self._first, self._last = 0.0, 0, sys.maxsize

    def after(self, done: int, total: int) -> float | None:
        """Return the seconds left; None while it is too early to tell.

        Parameters
        ----------
        done, total : int
            The work done so far, and the total work.
        """
        now = time.monotonic()
        if done < self._last:
            self._began, self._first = now, done
        self._last = done
        step, passed = done - self._first, now - self._began
        if passed < _SECONDS or step < _SHARE * total or done >= total:
            return None
        return passed * (total - done) / step


def time_text(seconds: float) -> str:
    """Format a duration, rounded as an estimate should be.

    Examples
    --------
    >>> [time_text(seconds) for seconds in (0.3, 7, 43, 100, 5000)]
    ['1 s', '7 s', '45 s', '2 min', '1 h 25 min']
    """
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(5 * round(minutes / 5), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


@contextmanager
def show_progress(progress: Progress | bool | None, doing: str) -> Iterator[Progress | None]:
    """Yield the function that a long call reports its progress to.

    Parameters
    ----------
    progress : callable, bool or None
        The caller's function, which takes the work done and the total (None if unknown). True
        for one line on stderr with an estimate of the time left, cleared at the end. False or
        None for no progress.
    doing : str
        The word before the share, such as "labelling".
    """
    if callable(progress) or not progress:
        yield progress or None
        return
    shown, pace = "", TimeLeft()

    def show(done: int, total: int | None) -> None:
        nonlocal shown
        share = f"{done / total:4.0%}" if total else f"{done / 1e6:,.0f} MB"
        left = pace.after(done, total) if total else None
        now = f"{doing} {share}" if left is None else f"{doing} {share}, {time_text(left)} left"
        if now != shown:
            shown = now
            print(f"\r\x1b[K{now}", end="", file=sys.stderr, flush=True)  # noqa: T201

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
