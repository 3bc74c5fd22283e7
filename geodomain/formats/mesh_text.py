"""Reading of numbers and lines, and merging of equal vertices, for all text formats of meshes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import meshes
from geodomain.compute.data import Floats
from geodomain.compute.native import CoreFunction, core, thread_count
from geodomain.errors import MeshError
from geodomain.formats.registry import BYTE_ORDER_MARK, unify_lines


def merge_equal(vertices: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Merge vertices with equal coordinates; vertices that are only close stay separate.

    Parameters
    ----------
    vertices : ndarray of shape (n, 3)
        Finite coordinates; -0.0 equals 0.0.

    Returns
    -------
    unique : ndarray of shape (m, 3), float64
        The distinct rows in the order in which they first appear; no -0.0.
    index : ndarray of shape (n,), int64
        For each vertex, the index of its row in `unique`: ``unique[index]`` equals ``vertices``.
    """
    first, group = meshes.group_equal(vertices)
    return vertices[first] + 0.0, group


# --- Numbers and lines of text mesh files, with the position of errors.

_ROWS = 1 << 16  # rows written at a time


def logical_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield each logical line with its number, counted from 1; a trailing \ continues a line.

    Comments are not continued.
    """
    lines = enumerate(text.split(b"\n"), 1)
    if b"\\" not in text:
        yield from lines
        return
    for number, line in lines:
        parts = []
        while (end := line.rstrip()).endswith(b"\\") and not line.lstrip().startswith(b"#"):
            parts.append(end[:-1])
            line = next(lines, (0, b""))[1]
        yield number, b" ".join([*parts, line])


def decoded(text: bytes) -> str:
    """Decode a name as UTF-8, or as Windows text (cp1252) if it is not UTF-8."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", "replace")


def floats(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.float64]:
    """Return each token as the nearest float64; `place(i)` describes the position of token i."""
    try:
        _require_plain(tokens)
        return np.array(tokens, dtype=np.float64)
    except ValueError:
        _refuse(tokens, float, name, place, whole=False)
        raise


def integers(tokens: Sequence[bytes], name: str, place: Callable[[int], str]) -> NDArray[np.int64]:
    """Return each token as an integer; `place(i)` describes the position of token i."""
    try:
        _require_plain(tokens)
        return np.array(tokens, dtype=np.int64)
    except (ValueError, OverflowError):
        _refuse(tokens, np.int64, name, place, whole=True)
        raise


def _require_plain(tokens: Sequence[bytes]) -> None:
    """Raise ValueError for numbers that only Python accepts, such as 1_000 or Arabic digits."""
    text = b"".join(tokens)
    if b"_" in text or not text.isascii():
        raise ValueError


def _refuse(
    tokens: Sequence[bytes],
    parse: Callable[[str], object],
    name: str,
    place: Callable[[int], str],
    *,
    whole: bool,
) -> None:
    """Raise MeshError for the first token that cannot be parsed."""
    for i, token in enumerate(tokens):
        text = token.decode("utf-8", "replace")
        try:
            _require_plain([token])
            parse(text)
        except (ValueError, OverflowError):
            where = f"{name}, {place(i)}"
            raise not_a_number(where, text[:40], whole=whole) from None


def not_a_number(place: str, word: str, *, whole: bool) -> MeshError:
    """Return the error for a word that should be a number."""
    message = (
        f"{place}: {word!r} is not a {'whole ' if whole else ''}number; correct it or export the"
        " wireframe again"
    )
    return MeshError(message)


def truncated(name: str, promised: str, rest: str) -> MeshError:
    """Return the error for a file that is shorter than its header declares."""
    message = (
        f"{name} is cut short: its header declares {promised}, but {rest};"
        " copy or export the file again"
    )
    return MeshError(message)


def damaged(name: str, fault: str) -> MeshError:
    """Return the error for a file that violates its format."""
    return MeshError(f"{name} is damaged: {fault}; copy or export the file again")


def number_lines(
    rows: NDArray[Any], key: str, *, separator: str = " ", numbered: bool = False
) -> Iterator[bytes]:
    """Yield batches of text lines; each line is the key and the numbers of a row.

    Numbers have the fewest digits that read back the same. If `numbered`, the number of the line,
    counted from 1, comes between the key and the numbers.
    """
    for start in range(0, len(rows), _ROWS):
        columns = [map(repr, column) for column in rows[start : start + _ROWS].T.tolist()]
        if numbered:
            columns.insert(0, map(str, range(start + 1, start + _ROWS + 1)))
        lines = map(separator.join, zip(*columns, strict=False))
        yield (key + f"\n{key}".join(lines) + "\n").encode("ascii")


# --- Compiled readers of wireframes written as text, each used through a handle.

Integers: TypeAlias = NDArray[np.int64]

_SMALL = 1 << 20  # bytes too few for several threads


class TextReader(NamedTuple):
    """A text that the compiled library has read, and its bytes."""

    kind: str
    address: ctypes.c_void_p
    data: bytes
    start: int

    def counts(self, count: int) -> list[int]:
        """Return `count` numbers: the reader's counts, then its fault and the fault's position."""
        out = np.zeros(count, dtype=np.int64)
        _function(f"{self.kind}_told")(self.address, out)
        return [int(value) for value in out]

    def take(self, *arrays: Floats | Integers) -> None:
        """Fill the arrays with the values that were read."""
        _function(f"{self.kind}_take")(self.address, *arrays)

    def round(self, places: NDArray[np.float64], unsure: NDArray[np.int64]) -> None:
        """Parse with Python the numbers that the compiled reader could not round exactly.

        `unsure` gives the position of each number in `places` and its bytes in the text.
        """
        cells = places.reshape(-1)
        for slot, begin, end in unsure.tolist():
            cells[slot] = float(self.data[self.start + begin : self.start + end])


@contextmanager
def reading(
    kind: str, data: bytes, *options: int, start: int = 0, end: int | None = None
) -> Iterator[TextReader]:
    """Read a text or a part of it, as a context manager that frees the result at its end.

    Parameters
    ----------
    kind : {"obj", "stl", "words"}
        Reader in `kernels/launch/wireframe_text.cpp`.
    data : bytes
        The file.
    *options : int
        Further arguments of the reader.
    start, end : int
        Start and end of the text in the file.
    """
    size = (len(data) if end is None else end) - start
    first, address = np.frombuffer(data, dtype=np.uint8)[start:], ctypes.c_void_p()
    _function(f"{kind}_open")(first, size, *options, _threads(size), address)
    try:
        yield TextReader(kind, address, data, start)
    finally:
        _function(f"{kind}_close")(address)


class WordType(IntEnum):
    """Content of a column of words; the values are those of kernels/text/word_table.h."""

    REAL = 0
    WHOLE = 1
    SAME = 2  # the word of the first row
    ANY = 3  # not read


@dataclass(frozen=True, eq=False)
class WordReader:
    """A text whose words fill the rows of tables, regardless of line breaks."""

    reader: TextReader
    count: int

    @property
    def data(self) -> bytes:
        """Return the bytes of the file."""
        return self.reader.data

    def place(self, word: int) -> int:
        """Return the byte position in the file of word number `word`, counted from 0."""
        return self.reader.start + core().words_place(self.reader.address, word)

    def split(self, word: int) -> list[bytes]:
        """Return the words of the text from word number `word` on, counted from 0."""
        return self.data[self.place(word) :].split()

    def are_lines(self, first: int, rows: int, width: int) -> bool:
        """Return whether each row of words is a line of the file.

        There are `rows` rows of `width` words each, beginning with word number `first`.
        """
        answer = ctypes.c_int32()
        core().words_are_lines(self.reader.address, first, rows, width, answer)
        return bool(answer)

    def read(
        self, first: int, kinds: NDArray[np.uint8], cells: NDArray[np.float64]
    ) -> tuple[int, int, int, int]:
        """Fill the table `cells` with words of the text, beginning with word number `first`.

        `kinds` has the `WordType` of each column.

        Returns
        -------
        fault, row, begin, end : int
            The fault (0 if there is none), and the row and byte range of the first word that does
            not fit its column.
        """
        report = np.zeros(5, dtype=np.int64)
        core().words_read(self.reader.address, first, len(cells), len(kinds), kinds, cells, report)
        fault, row, begin, end, unsure_count = report.tolist()
        unsure = np.empty((unsure_count, 3), dtype=np.int64)
        core().words_unsure(self.reader.address, unsure)
        self.reader.round(cells, unsure)
        start = self.reader.start
        return fault, row, start + begin, start + end


@contextmanager
def reading_words(data: bytes, start: int) -> Iterator[WordReader]:
    """Read the words of a file that start at or after a byte position, as a context manager."""
    with reading("words", data, start=start) as reader:
        yield WordReader(reader, core().words_count(reader.address))


def _threads(size: int) -> int:
    """Return how many threads to use for a text of `size` bytes."""
    return 1 if size < _SMALL else thread_count(None)


def _function(name: str) -> CoreFunction:
    function: CoreFunction = getattr(core(), name)
    return function


def plain_lines(data: bytes) -> bytes:
    """Return a text whose lines end in LF or CR LF, without a byte-order mark.

    Lines are rewritten only if some of them end in CR alone.
    """
    has_one = ctypes.c_int32()
    core().text_has_lone_return(data, len(data), _threads(len(data)), has_one)
    if has_one:
        return unify_lines(data)
    return data.removeprefix(BYTE_ORDER_MARK)


def line_of(data: bytes, place: int) -> int:
    """Return the line number, counted from 1, of a byte position."""
    return data.count(b"\n", 0, place) + 1


def word_at(data: bytes, begin: int, end: int) -> str:
    """Return the word at a byte range as text for messages, at most 40 characters."""
    return data[begin:end].decode("utf-8", "replace")[:40]
