"""The GPUs that share the parts of a question: a thread to each, and what becomes of failures."""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from geodomain.backends.cuda import device
from geodomain.backends.cuda.errors import OutOfDeviceMemory, RefusedCall
from geodomain.errors import DeviceError, warn

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def cut(rows: int, workers: int, least: int) -> list[slice]:
    """Cut rows into equal parts, one for each of so many workers.

    Each part fills and empties a pipeline once, which takes as long as some copies of millions of
    rows: more and smaller parts cost more than they save. No part is smaller than ``least``, but
    for one alone.
    """
    count = max(1, min(workers, rows // max(1, least)))
    bounds = [rows * place // count for place in range(count + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


class Shift(Generic[Part, Answer]):
    """One question's parts: those that wait, the answers so far, and what went wrong.

    A part goes to the GPU that is its home, if it has one that works; of the others the first
    GPU takes the first part, the second GPU the second, and so on.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        ask: Callable[[Part], Answer],
        home_of: Callable[[Part], int | None],
    ) -> None:
        self._ask, self._home_of = ask, home_of
        self._lock = threading.Lock()
        self.left = dict(enumerate(parts))
        self.at_work: Sequence[int] = ()
        self.answers: dict[int, Answer] = {}
        self.errors: dict[int, DeviceError] = {}  # by device
        self.fatal: BaseException | None = None

    def work(self, number: int) -> None:
        """Answer part after part on a device, until none is left for it or it fails."""
        with device.using(number):
            while self.fatal is None and (taken := self._take(number)) is not None:
                place, part = taken
                try:
                    self._answer(place, part)
                except RefusedCall as error:  # as on any other GPU
                    _let_go(error)
                    self.fatal = error
                except DeviceError as error:
                    _let_go(error)
                    with self._lock:
                        self.left[place] = part
                        self.errors[number] = error
                    return
                except BaseException as error:
                    _let_go(error)
                    self.fatal = error

    def _answer(self, place: int, part: Part) -> None:
        self.answers[place] = self._ask(part)

    def _take(self, number: int) -> tuple[int, Part] | None:
        with self._lock:
            rank = list(self.at_work).index(number)
            for place in sorted(self.left, key=lambda place: (place < rank, place)):
                home = self._home_of(self.left[place])
                if home == number or home not in self.at_work:
                    return place, self.left.pop(place)
        return None


def _let_go(error: BaseException | None) -> None:
    """Drop what the calls that failed held: PyCUDA frees streams only in the thread that made them.

    The error outlives the thread.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class Crew:
    """The GPUs that a process uses, which of them are busy, and which have failed.

    Attributes
    ----------
    failed : dict of int to str
        Why a GPU is asked no more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: Counter[int] = Counter()
        self._worked = False
        self.failed: dict[int, str] = {}

    @property
    def able(self) -> list[int]:
        """Return the GPUs that can be asked, those with the least to do first."""
        with self._lock:
            some = [number for number in device.numbers() if number not in self.failed]
            return sorted(some, key=lambda number: self._busy[number])

    def share(
        self,
        parts: Sequence[Part],
        ask: Callable[[Part], Answer],
        on_cpu: Callable[[Part], Answer],
        home_of: Callable[[Part], int | None] = lambda part: None,
    ) -> list[Answer]:
        """Return the answers to all parts, each from whichever GPU is free, or from its home.

        ``ask`` runs in a thread that works on one GPU. A GPU that fails is out: its part goes to
        another one, and to the CPU where none is left.

        Raises
        ------
        DeviceError
            If all of them fail, and none has ever answered anything; or one whose GPU still works,
            since the others would refuse the call as well.
        """
        shift = Shift(parts, ask, home_of)
        while shift.left:
            able = [number for number in self.able if number not in shift.errors]
            if not able:
                break
            self._run(shift, able[: len(shift.left)])
            if shift.fatal is not None:
                raise shift.fatal
        self._worked = self._worked or bool(shift.answers)
        self._note(shift)
        for place, part in shift.left.items():
            shift.answers[place] = on_cpu(part)
        return [shift.answers[place] for place in range(len(parts))]

    def _run(self, shift: Shift[Part, Answer], numbers: Sequence[int]) -> None:
        """Let GPUs work until they are done; the caller's thread is the one of the first."""
        shift.at_work = numbers
        with self._lock:
            self._busy.update(numbers)
        threads = [
            threading.Thread(target=shift.work, args=(number,), name=f"geodomain GPU {number}")
            for number in numbers[1:]
        ]
        try:
            for thread in threads:
                thread.start()
            shift.work(numbers[0])
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            with self._lock:
                self._busy.subtract(numbers)

    def _note(self, shift: Shift[Part, Answer]) -> None:
        """Remember which GPUs have failed, and say so; those short of memory may do next time."""
        if shift.left and not self._worked:
            raise next(iter(shift.errors.values()), None) or DeviceError(
                self.told("no GPU is left")
            )
        for number, error in shift.errors.items():
            cause = error.__cause__ or error
            if not isinstance(error, OutOfDeviceMemory):
                with self._lock:
                    self.failed[number] = str(cause)
            others = "the CPU takes" if shift.left else "the others take"
            warn(f"GPU {number} failed ({cause}): {others} over, and the answers are the same")

    def told(self, why: str) -> str:
        """Return why something was computed on GPUs, and which of them failed."""
        return "; ".join([why, *(f"GPU {n} failed: {text}" for n, text in self.failed.items())])
