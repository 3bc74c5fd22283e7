"""The compiled readers of wireframes written as text: a handle to each; no format, no message."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import CoreFunction, core
from geodomain.backends.threads import thread_count
from geodomain.io.meshes.text import BYTE_ORDER_MARK, unify_lines

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_SMALL = 1 << 20  # bytes that are not worth a second thread


@dataclass(frozen=True)
class TextReader:
    """Hold one text that the core reads, and the bytes of it."""

    kind: str
    address: ctypes.c_void_p
    data: bytes
    start: int

    def told(self, count: int) -> list[int]:
        """Return the counts that the reader tells, then the fault and where it is."""
        out = np.zeros(count, dtype=np.int64)
        _function(f"{self.kind}_told")(self.address, out)
        return [int(value) for value in out]

    def take(self, *arrays: Floats | Integers) -> None:
        """Fill the arrays with what was read."""
        _function(f"{self.kind}_take")(self.address, *arrays)

    def round(self, places: NDArray[np.float64], unsure: NDArray[np.int64]) -> None:
        """Round the numbers that need more than their first digits, by Python's arithmetic."""
        cells = places.reshape(-1)
        for slot, begin, end in unsure.tolist():
            cells[slot] = float(self.data[self.start + begin : self.start + end])


@contextmanager
def reading(
    kind: str, data: bytes, *options: int, start: int = 0, end: int | None = None
) -> Iterator[TextReader]:
    """Read a text, or a stretch of it; what was read is gone when the context ends.

    Parameters
    ----------
    kind : {"obj", "stl", "words"}
        Which of the readers of `kernels/faces/wireframe_text.cpp`.
    data : bytes
        The file.
    *options : int
        What else the reader is given.
    start, end : int
        Where the text starts and ends in the file.
    """
    size = (len(data) if end is None else end) - start
    first, address = np.frombuffer(data, dtype=np.uint8)[start:], ctypes.c_void_p()
    _function(f"{kind}_open")(first, size, *options, _threads(size), address)
    try:
        yield TextReader(kind, address, data, start)
    finally:
        _function(f"{kind}_close")(address)


@dataclass(frozen=True)
class WordReader:
    """Hold a text whose words are rows of tables, whatever lines they stand on."""

    reader: TextReader
    count: int

    @property
    def data(self) -> bytes:
        """Return the bytes of the file."""
        return self.reader.data

    def place(self, word: int) -> int:
        """Return the byte of the file where a word starts."""
        return self.reader.start + core().words_place(self.reader.address, word)

    def split(self, word: int) -> list[bytes]:
        """Return the words from one on."""
        return self.data[self.place(word) :].split()

    def read(
        self, first: int, kinds: NDArray[np.uint8], cells: NDArray[np.float64]
    ) -> tuple[int, int, int, int]:
        """Fill a table with the words from `first` on; `kinds` says what each column holds.

        Returns
        -------
        fault, row, begin, end : int
            The first word that its column has no place for, and where it is in the file; fault 0
            is none.
        """
        told = np.zeros(5, dtype=np.int64)
        core().words_read(self.reader.address, first, len(cells), len(kinds), kinds, cells, told)
        fault, row, begin, end, unsure_count = told.tolist()
        unsure = np.empty((unsure_count, 3), dtype=np.int64)
        core().words_unsure(self.reader.address, unsure)
        self.reader.round(cells, unsure)
        start = self.reader.start
        return fault, row, start + begin, start + end


@contextmanager
def reading_words(data: bytes, start: int) -> Iterator[WordReader]:
    """Read the words of a file from a byte on."""
    with reading("words", data, start=start) as reader:
        yield WordReader(reader, core().words_count(reader.address))


def _threads(size: int) -> int:
    """Return the threads worth starting for this many bytes."""
    return 1 if size < _SMALL else thread_count(None)


def _function(name: str) -> CoreFunction:
    function: CoreFunction = getattr(core(), name)
    return function


def plain_lines(data: bytes) -> bytes:
    """Return the text with lines that end in LF or CR LF; a copy only where there are others."""
    has_one = ctypes.c_int32()
    core().text_has_lone_return(data, len(data), _threads(len(data)), has_one)
    if has_one:
        return unify_lines(data)
    return data.removeprefix(BYTE_ORDER_MARK)


def line_of(data: bytes, place: int) -> int:
    """Return the number of the line that a byte is in."""
    return data.count(b"\n", 0, place) + 1


def word_at(data: bytes, begin: int, end: int) -> str:
    """Return a word as messages show it."""
    return data[begin:end].decode("utf-8", "replace")[:40]
