"""Tables of Datamine's .dm: fields and records, in either precision and byte order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import GeodomainError, MeshError

WORDS, USED = 512, 508  # of a page; the last four are reserved
FIELDS, ENTRY = 28, 7  # the first word of the field entries, and the words of each
ENTRIES, LAST_PAGE, LAST_RECORDS = 25, 26, 27  # the words of these counts
MOST = 68  # entries in the one page of definitions
MISSING = 0.9e30
_FORMS = ((8, "<"), (8, ">"), (4, "<"), (4, ">"))
Words = NDArray[np.uint8]


class Entry(NamedTuple):
    """What the definition says of a number, or of four characters of a text.

    Attributes
    ----------
    word : int
        Its place in the record, from 1; 0 where every record has the default.
    part : int
        Which four characters of the text, from 1.
    """

    name: str
    kind: str
    word: int
    part: int
    default: bytes


@dataclass(frozen=True)
class Definition:
    """The form of a table.

    Attributes
    ----------
    width : int
        Bytes of a word: 8 in extended precision, 4 in single.
    order : str
        ``<`` or ``>``.
    entries : tuple of Entry
        None where there are more than a page holds.
    last_page, last_records : int
        The number of the last page, the first being 1, and how many records it has.
    """

    width: int
    order: Literal["<", ">"]
    entries: tuple[Entry, ...]
    last_page: int
    last_records: int

    @property
    def page(self) -> int:
        """Give the bytes of a page."""
        return self.width * WORDS

    @property
    def length(self) -> int:
        """Give the words of a record."""
        return max((entry.word for entry in self.entries), default=0)

    @property
    def each(self) -> int:
        """Give the records of a page."""
        return USED // self.length

    @property
    def count(self) -> int:
        """Give the records in all."""
        pages = self.last_page - 1
        return (pages - 1) * self.each + self.last_records if pages else 0

    @property
    def number(self) -> np.dtype[np.floating]:
        """Give the type of a number."""
        return np.dtype(f"{self.order}f{self.width}")

    def names(self) -> tuple[str, ...]:
        """Give the names of the fields, in their order."""
        return tuple(dict.fromkeys(entry.name for entry in self.entries))

    def parts(self, name: str) -> list[Entry]:
        """Give the entries of a field, the first characters first."""
        found = [entry for entry in self.entries if entry.name == name]
        return sorted(found, key=lambda entry: entry.part)

    def require_whole(self, size: int, file: str, error: type[GeodomainError]) -> None:
        """Refuse a definition that a file of that size cannot have.

        Raises
        ------
        GeodomainError
            Of the kind that is given.
        """
        for wrong in self._faults(size):
            message = f"{file} is damaged: {wrong}; copy or export the file again"
            raise error(message)
        if not self.entries:
            message = f"{file} has more than {MOST} fields, which is not read: export fewer, or CSV"
            raise error(message)

    def _faults(self, size: int) -> Iterator[str]:
        if not self.entries:
            return
        if not self.length:
            yield "none of its fields is stored"
            return
        pages = self.last_page - 1
        if self.last_records > self.each or pages < 0 or (pages == 0 and self.last_records):
            yield f"its last page has {self.last_records} records of {self.each}"
        if (1 + pages) * self.page > size:
            yield f"it promises {1 + pages:,} pages, and there are {size // self.page:,}"


def read_definition(data: bytes) -> Definition | None:
    """Return what the first page says, None where it is no page of definitions."""
    for width, order in _FORMS:
        if len(data) < width * WORDS:
            continue
        with np.errstate(invalid="ignore"):  # what is no number at all may be in any file
            numbers = np.frombuffer(data, f"{order}f{width}", WORDS).astype(np.float64)
        count = float(numbers[ENTRIES])
        if not (1 <= count <= 500 and count == int(count)):
            continue
        first = (FIELDS + 2) * width
        if data[first : first + 1] in (b"A", b"N") and data[first + 1 : first + 4] == b"   ":
            return _definition(data, numbers, width, "<" if order == "<" else ">", int(count))
    return None


def _definition(
    data: bytes, numbers: NDArray[np.float64], width: int, order: Literal["<", ">"], count: int
) -> Definition | None:
    entries = [_entry(data, numbers, width, number) for number in range(min(count, MOST))]
    pages = [float(numbers[LAST_PAGE]), float(numbers[LAST_RECORDS])]
    if not all(0 <= one < 2**40 and one == int(one) for one in pages):
        return None
    known = tuple(entry for entry in entries if entry is not None)
    if len(known) < len(entries):
        return None
    return Definition(width, order, () if count > MOST else known, int(pages[0]), int(pages[1]))


def _entry(data: bytes, numbers: NDArray[np.float64], width: int, number: int) -> Entry | None:
    """Return an entry, None where it cannot be one."""
    at = FIELDS + ENTRY * number
    words = [data[(at + i) * width : (at + i) * width + 4] for i in range(ENTRY)]
    extra = b""
    if width == 8 and data[(at + 2) * 8 + 4 : (at + 2) * 8 + 8] == b"LONG":
        extra = b"".join(data[(at + i) * 8 + 4 : (at + i) * 8 + 8] for i in (0, 1))
    name = (words[0] + words[1] + extra).decode("latin-1").strip()
    kind = words[2][:1].decode("latin-1")
    places = [float(numbers[at + 3]), float(numbers[at + 4])]
    if kind not in "AN" or not all(0 <= one <= USED and one == int(one) for one in places):
        return None
    default = data[(at + 6) * width : (at + 7) * width]
    return Entry(name, kind, int(places[0]), int(places[1]), default)


def numbers_of(found: Definition, name: str, words: Words) -> NDArray[np.float64]:
    """Give a field of numbers of records (n, length, width), NaN where one is missing."""
    entry = found.parts(name)[0]
    if entry.word:
        raw = np.ascontiguousarray(words[:, entry.word - 1]).view(found.number)[:, 0]
        with np.errstate(invalid="ignore"):
            values = raw.astype(np.float64)
    else:
        values = np.full(len(words), float(np.frombuffer(entry.default, found.number)[0]))
    values[np.abs(values) >= MISSING] = np.nan
    return values


def texts_of(found: Definition, name: str, words: Words) -> NDArray[np.str_]:
    """Give a field of texts of records (n, length, width), without the blanks at their ends."""
    parts = found.parts(name)
    letters = np.empty((len(words), 4 * len(parts)), np.uint8)
    for number, entry in enumerate(parts):
        default = np.frombuffer(entry.default[:4].ljust(4), np.uint8)
        piece = words[:, entry.word - 1, :4] if entry.word else default
        letters[:, 4 * number : 4 * number + 4] = piece
    letters[letters == 0] = ord(" ")
    joined = letters.view(f"S{letters.shape[1]}")[:, 0]
    return np.char.rstrip(np.char.decode(joined, "latin-1"))


# The whole table.


class Table(NamedTuple):
    """Columns by name: float64 with NaN where a value is missing, or text."""

    file: str
    columns: dict[str, NDArray[np.float64] | NDArray[np.str_]]
    single: bool

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers that must all be there."""
        values = self.columns[name]
        if values.dtype.kind != "f" or np.isnan(values.astype(np.float64)).any():
            message = f"{self.file}: the field {name} has missing values or text: export it again"
            raise MeshError(message)
        return values.astype(np.float64)


def is_table(data: bytes) -> bool:
    """Tell whether data begins like a .dm."""
    return read_definition(data) is not None


def read_table(data: bytes, file: str, error: type[GeodomainError] = MeshError) -> Table:
    """Return all columns of a table.

    Raises
    ------
    MeshError, or another `error`
        If it is cut short, or no table.
    """
    found = read_definition(data)
    if found is None:
        message = (
            f"{file} is damaged: its first page is no definition of a Datamine table; copy or "
            "export the file again"
        )
        raise error(message)
    found.require_whole(len(data), file, error)
    pages = found.last_page - 1
    raw = np.frombuffer(data, dtype=np.uint8, count=pages * found.page, offset=found.page)
    used = raw.reshape(pages, WORDS, found.width)[:, : found.each * found.length]
    words = used.reshape(pages * found.each, found.length, found.width)[: found.count]
    columns = {
        name: (texts_of if found.parts(name)[0].kind == "A" else numbers_of)(found, name, words)
        for name in found.names()
    }
    return Table(file, columns, single=found.width == 4)
