"""Progress of a long call, as one line on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None], None]

# An estimate needs so many seconds, and so much of the whole, to rest on.
_SECONDS, _SHARE = 2.0, 0.02


class TimeLeft:
    """An estimate of how long the rest takes, from the pace since the first report.

    A pass over a file that begins again begins a new estimate.
    """

    def __init__(self) -> None:
        self._began, self._first, self._last = 0.0, 0, sys.maxsize

    def after(self, done: int, total: int) -> float | None:
        """Return the seconds that are left; None while too little is known.

        Parameters
        ----------
        done, total : int
            What is done by now, and the whole.
        """
        now = time.monotonic()
        if done < self._last:
            self._began, self._first = now, done
        self._last = done
        step, passed = done - self._first, now - self._began
        if passed < _SECONDS or step < _SHARE * total or done >= total:
            return None
        return passed * (total - done) / step


def time_said(seconds: float) -> str:
    """Say how long something takes, no more exactly than an estimate is.

    Examples
    --------
    >>> [time_said(seconds) for seconds in (0.3, 7, 43, 100, 5000)]
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
    """Yield what a long call reports to.

    Parameters
    ----------
    progress : callable, bool or None
        The caller's function of what is done and its total (None where that is unknown); True for
        one line on stderr, with an estimate of the time left, which is cleared at the end; False
        or None for nothing.
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
        now = f"{doing} {share}" if left is None else f"{doing} {share}, {time_said(left)} left"
        if now != shown:
            shown = now
            print(f"\r\x1b[K{now}", end="", file=sys.stderr, flush=True)  # noqa: T201

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
