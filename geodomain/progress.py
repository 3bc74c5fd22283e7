"""Progress of a long call, as one line on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None], None]


@contextmanager
def show_progress(progress: Progress | bool | None, doing: str) -> Iterator[Progress | None]:
    """Yield what a long call reports to.

    Parameters
    ----------
    progress : callable, bool or None
        The caller's function of what is done and its total (None where that is unknown); True for
        one line on stderr, which is cleared at the end; False or None for nothing.
    doing : str
        The word before the share, such as "labelling".
    """
    if callable(progress) or not progress:
        yield progress or None
        return
    shown = ""

    def show(done: int, total: int | None) -> None:
        nonlocal shown
        share = f"{done / total:4.0%}" if total else f"{done / 1e6:,.0f} MB"
        if share != shown:
            shown = share
            print(f"\r{doing} {share}", end="", file=sys.stderr, flush=True)  # noqa: T201

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
