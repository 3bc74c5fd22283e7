"""Work that a thread does one step ahead of who takes its results."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from geodomain.io.files.pipeline import empty, wait

Item = TypeVar("Item")
Result = TypeVar("Result")


class Ahead(Generic[Item, Result]):
    """Do something with items, in their order, while the result before is used.

    One result is in use and the next one is made, so that the work may use two rooms by turns.

    Parameters
    ----------
    items : iterable
        Asked for by the thread.
    work : callable
        From an item to its result; what it raises comes in its turn.
    """

    def __init__(self, items: Iterable[Item], work: Callable[[Item], Result]) -> None:
        self._items, self._work = items, work
        self._done: queue.SimpleQueue[tuple[Result] | BaseException | None] = queue.SimpleQueue()
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._wanted.put(True)
        self._working, self._stopped = threading.Lock(), False
        # A daemon: it may be waiting for an item when the rest has given up.
        self._thread = threading.Thread(target=self._run, name="geodomain-ahead", daemon=True)
        self._thread.start()

    def results(self) -> Iterator[Result]:
        """Give the results in order; each is used until the next one is asked for."""
        while (done := wait(self._done)) is not None:
            if isinstance(done, BaseException):
                raise done
            self._wanted.put(True)
            yield done[0]

    def stop(self) -> None:
        """Begin no further work, and wait for what is being done."""
        with self._working:
            self._stopped = True
        empty(self._wanted)
        self._wanted.put(False)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._wanted.get():
                    return
                with self._working:
                    if self._stopped:
                        return
                    result = self._work(item)
                self._done.put((result,))
            self._done.put(None)
        except BaseException as error:
            self._done.put(error)
