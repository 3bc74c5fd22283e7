"""Reads and writes Datamine's .dm: tables, wireframes (a pair of tables) and block models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import COARSE, single_resolution
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError, counted, warn
from geodomain.files.streams import read_whole
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Relabelling, Rows, TableModel, as_text
from geodomain.formats.registry import DATAMINE_COUNT as ENTRIES
from geodomain.formats.registry import DATAMINE_FIELDS as FIELDS
from geodomain.formats.registry import DATAMINE_WORDS as WORDS
from geodomain.formats.registry import datamine_form
from geodomain.formats.solids import NamedFaces, compact
from geodomain.mesh.polygons import Faces
from geodomain.tables.layout import SAMPLE_ROWS
from geodomain.tables.new_columns import NewColumn, place_columns
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

# --- Tables of .dm: pages of fields and records, in single or extended precision, either byte
# order.

USED = WORDS - 4  # words of a page; the last four are reserved
ENTRY = 7  # words of a field entry
LAST_PAGE, LAST_RECORDS = 26, 27  # indices of the words that hold these counts
MOST = 68  # entries on the definition page
MISSING = 0.9e30
Words = NDArray[np.uint8]


class Entry(NamedTuple):
    """An entry of the definition page: it declares a number, or four characters of a text.

    Attributes
    ----------
    word : int
        Position in the record, counted from 1; 0 if every record has the default value.
    part : int
        For a text: 1 for its first four characters, 2 for the next four, and so on.
    """

    name: str
    kind: str
    word: int
    part: int
    default: bytes


@dataclass(frozen=True)
class Definition:
    """Layout of a table, read from its definition page.

    Attributes
    ----------
    width : int
        Bytes per word: 8 in extended precision, 4 in single.
    order : str
        Byte order, ``<`` or ``>``.
    entries : tuple of Entry
        Empty if the entries do not fit on one page.
    last_page, last_records : int
        Number of the last page, counted from 1, and its number of records.
    """

    width: int
    order: Literal["<", ">"]
    entries: tuple[Entry, ...]
    last_page: int
    last_records: int

    @property
    def page(self) -> int:
        """Number of bytes per page."""
        return self.width * WORDS

    @property
    def length(self) -> int:
        """Number of words per record."""
        return max((entry.word for entry in self.entries), default=0)

    @property
    def per_page(self) -> int:
        """Number of records per page."""
        return USED // self.length

    @property
    def count(self) -> int:
        """Total number of records."""
        pages = self.last_page - 1
        return (pages - 1) * self.per_page + self.last_records if pages else 0

    @property
    def number(self) -> np.dtype[np.floating]:
        """NumPy type of a number in the file: float32 or float64, in the file's byte order."""
        return np.dtype(f"{self.order}f{self.width}")

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields, in file order."""
        return tuple(dict.fromkeys(entry.name for entry in self.entries))

    def parts(self, name: str) -> list[Entry]:
        """Return the entries of a field, in order; a text has an entry for each four characters."""
        matching = [entry for entry in self.entries if entry.name == name]
        return sorted(matching, key=lambda entry: entry.part)

    def require_whole(self, size: int, file: str, error: type[GeodomainError]) -> None:
        """Refuse a definition with too many entries, or one that contradicts the file's `size`.

        Raises
        ------
        GeodomainError
            Of the type `error`.
        """
        for wrong in self._faults(size):
            message = f"{file} is damaged: {wrong}; copy or export the file again"
            raise error(message)
        if not self.entries:
            message = (
                f"{file} has fields with more than {MOST} entries, which is not supported (a text "
                "has an entry for each four characters): export fewer fields, or CSV"
            )
            raise error(message)

    def _faults(self, size: int) -> Iterator[str]:
        if not self.entries:
            return
        if not self.length:
            yield "its records store none of its fields"
            return
        pages = self.last_page - 1
        if self.last_records > self.per_page or pages < 0 or (pages == 0 and self.last_records):
            yield (
                f"it declares {counted(self.last_page, 'page')} and "
                f"{counted(self.last_records, 'record')} on the last page, but a page holds "
                f"{counted(self.per_page, 'record')}"
            )
        if (1 + pages) * self.page > size:
            yield f"it declares {1 + pages:,} pages but has {size // self.page:,}"


def read_definition(data: bytes) -> Definition | None:
    """Return the definition on the first page of a file, or None if the page is no definition."""
    form = datamine_form(data)
    if form is None:
        return None
    width, order = form
    with np.errstate(invalid="ignore"):  # any file may contain bytes that are not numbers
        numbers = np.frombuffer(data, f"{order}f{width}", WORDS).astype(np.float64)
    return _definition(data, numbers, width, order, int(numbers[ENTRIES]))


def _definition(
    data: bytes, numbers: NDArray[np.float64], width: int, order: Literal["<", ">"], count: int
) -> Definition | None:
    entries = [_entry(data, numbers, width, number) for number in range(min(count, MOST))]
    pages = [float(numbers[LAST_PAGE]), float(numbers[LAST_RECORDS])]
    if not all(0 <= number < 2**40 and number == int(number) for number in pages):
        return None
    valid = tuple(entry for entry in entries if entry is not None)
    if len(valid) < len(entries):
        return None
    return Definition(width, order, () if count > MOST else valid, int(pages[0]), int(pages[1]))


def _entry(data: bytes, numbers: NDArray[np.float64], width: int, number: int) -> Entry | None:
    """Return entry `number` of the definition, or None if its bytes are not a valid entry."""
    at = FIELDS + ENTRY * number
    words = [data[(at + i) * width : (at + i) * width + 4] for i in range(ENTRY)]
    extra = b""
    if width == 8 and data[(at + 2) * 8 + 4 : (at + 2) * 8 + 8] == b"LONG":
        extra = b"".join(data[(at + i) * 8 + 4 : (at + i) * 8 + 8] for i in (0, 1))
    name = (words[0] + words[1] + extra).decode("latin-1").strip()
    kind = words[2][:1].decode("latin-1")
    places = [float(numbers[at + 3]), float(numbers[at + 4])]
    if kind not in "AN" or not all(0 <= place <= USED and place == int(place) for place in places):
        return None
    default = data[(at + 6) * width : (at + 7) * width]
    return Entry(name, kind, int(places[0]), int(places[1]), default)


def numbers_of(definition: Definition, name: str, words: Words) -> NDArray[np.float64]:
    """Return a numeric field of records (n, length, width), with NaN where a value is missing.

    `length` is words per record, and `width` bytes per word.
    """
    entry = definition.parts(name)[0]
    if entry.word:
        raw = np.ascontiguousarray(words[:, entry.word - 1]).view(definition.number)[:, 0]
        with np.errstate(invalid="ignore"):
            values = raw.astype(np.float64)
    else:
        values = np.full(len(words), float(np.frombuffer(entry.default, definition.number)[0]))
    values[np.abs(values) >= MISSING] = np.nan
    return values


def texts_of(definition: Definition, name: str, words: Words) -> NDArray[np.str_]:
    """Return a text field of records (n, length, width), without trailing blanks.

    `length` is words per record, and `width` bytes per word.
    """
    parts = definition.parts(name)
    letters = np.empty((len(words), 4 * len(parts)), np.uint8)
    for number, entry in enumerate(parts):
        default = np.frombuffer(entry.default[:4].ljust(4), np.uint8)
        piece = words[:, entry.word - 1, :4] if entry.word else default
        letters[:, 4 * number : 4 * number + 4] = piece
    letters[letters == 0] = ord(" ")
    joined = letters.view(f"S{letters.shape[1]}")[:, 0]
    return np.char.rstrip(np.char.decode(joined, "latin-1"))


class Table(NamedTuple):
    """A table in memory; its columns are text, or float64 with NaN where a value is missing."""

    file: str
    columns: dict[str, NDArray[np.float64] | NDArray[np.str_]]
    single: bool

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers; raise MeshError if it holds text or lacks a number."""
        values = self.columns[name]
        if values.dtype.kind != "f" or np.isnan(values.astype(np.float64)).any():
            message = (
                f"{self.file}: the field {name} has missing values or holds text: export the "
                "wireframe again"
            )
            raise MeshError(message)
        return values.astype(np.float64)


def is_table(data: bytes) -> bool:
    """Return whether the first bytes of a file are a valid definition page of a .dm file."""
    return read_definition(data) is not None


def read_table(data: bytes, file: str, error: type[GeodomainError] = MeshError) -> Table:
    """Return all columns of a table.

    Raises
    ------
    MeshError, or another `error`
        If the file is truncated or not a table.
    """
    definition = read_definition(data)
    if definition is None:
        message = (
            f"{file} is damaged: its first page is not the definition of a Datamine table; copy or "
            "export the file again"
        )
        raise error(message)
    definition.require_whole(len(data), file, error)
    pages = definition.last_page - 1
    raw = np.frombuffer(data, dtype=np.uint8, count=pages * definition.page, offset=definition.page)
    used = raw.reshape(pages, WORDS, definition.width)[:, : definition.per_page * definition.length]
    words = used.reshape(pages * definition.per_page, definition.length, definition.width)
    words = words[: definition.count]
    columns = {
        name: (texts_of if definition.parts(name)[0].kind == "A" else numbers_of)(
            definition, name, words
        )
        for name in definition.names()
    }
    return Table(file, columns, single=definition.width == 4)


# --- Wireframes: a pair of tables, one for triangles and one for points.

_CORNERS = ("PID1", "PID2", "PID3")
_POINT = ("PID", "XP", "YP", "ZP")


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the triangles of a wireframe, grouped by COLOUR.

    A wireframe is a pair of files, NAMEtr.dm and NAMEpt.dm. `path` may be either file.
    """
    table = read_table(data, path.name)
    if set(_CORNERS) <= table.columns.keys():
        points = _other_of_pair(path, "tr", "pt")
        return _pair(table, read_table(read_whole(points), points.name), path.name)
    if set(_POINT) <= table.columns.keys():
        triangles = _other_of_pair(path, "pt", "tr")
        return _pair(read_table(read_whole(triangles), triangles.name), table, triangles.name)
    what = "a block model" if "XC" in table.columns or "IJK" in table.columns else "a table"
    message = (
        f"{path.name} is {what} from Datamine, not a wireframe: it has the fields "
        f"{', '.join(list(table.columns)[:8])}, but not PID1; give the file NAMEtr.dm of a "
        "wireframe"
    )
    raise MeshError(message)


def _other_of_pair(path: Path, here: str, there: str) -> Path:
    """Return the other file of a pair: NAMEtr.dm for NAMEpt.dm, or the reverse; case is ignored."""
    stem = path.stem
    at = stem.casefold().rfind(here)
    names = {entry.name.casefold(): entry for entry in path.parent.iterdir()}
    wanted = stem[:at] + there + stem[at + len(here) :] if at >= 0 else stem + there
    other = names.get((wanted + path.suffix).casefold())
    if other is None:
        message = (
            f"{path.name} is half of a wireframe, but the other half, {wanted}{path.suffix}, is "
            "not in the same folder: copy it there"
        )
        raise MeshError(message)
    return other


def _pair(triangles: Table, points: Table, file: str) -> list[NamedFaces]:
    for table, wanted in ((triangles, _CORNERS), (points, _POINT)):
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            message = f"{table.file} has no field {missing[0]}: it is not half of a wireframe"
            raise MeshError(message)
    ids = points.numbers("PID")
    vertices = np.column_stack([points.numbers(name) for name in _POINT[1:]])
    corners = np.column_stack([triangles.numbers(name) for name in _CORNERS])
    rows = _rows(ids, corners, triangles.file)
    faces = [(name, rows[those]) for name, those in _groups(triangles)]
    return [
        (
            name if len(faces) > 1 else "",
            compact(
                Faces(
                    vertices,
                    part.reshape(-1),
                    np.full(len(part), 3),
                    triangles.single or points.single,
                )
            ),
        )
        for name, part in faces
    ]


def _rows(ids: NDArray[np.float64], corners: NDArray[np.float64], file: str) -> NDArray[np.int64]:
    """Return, for each id in `corners`, the row of the point that has this id.

    Raises
    ------
    MeshError
        If two points have the same id, or if no point has an id of `corners`.
    """
    order = np.argsort(ids, kind="stable")
    sorted_ids = ids[order]
    if len(sorted_ids) and (sorted_ids[1:] == sorted_ids[:-1]).any():
        message = f"{file}: two of its points have the same PID; export the wireframe again"
        raise MeshError(message)
    place = np.searchsorted(sorted_ids, corners).clip(max=max(len(sorted_ids) - 1, 0))
    strange = (
        sorted_ids[place] != corners if len(sorted_ids) else np.ones(corners.shape, dtype=bool)
    )
    if strange.any():
        row = int(strange.any(axis=1).argmax())
        message = (
            f"triangle {row + 1} of {file} refers to point {corners[row][strange[row]][0]:g}, "
            "which is not in the table of points: the two files do not belong together; export "
            "both again"
        )
        raise MeshError(message)
    rows: NDArray[np.int64] = order[place]
    return rows


def _groups(triangles: Table) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return a name and a mask of triangles for each COLOUR, in order of first appearance."""
    count = len(triangles.numbers(_CORNERS[0]))
    if "COLOUR" not in triangles.columns:
        return [("", np.ones(count, dtype=bool))]
    values = triangles.columns["COLOUR"]
    colours, first, which = np.unique(values, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(first)
    return [(_shown(colours[i]), which == i) for i in order.tolist()]


def _shown(value: float | str) -> str:
    """Format a COLOUR as a name: empty if missing, and with no more digits than needed."""
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return ""
    short = f"{value:g}"
    single = value == np.float32(value) == np.float32(short)  # of a single-precision file
    return short if single or float(short) == value else repr(float(value)).removesuffix(".0")


# --- New fields of a Datamine table: entries in the definition, and their values in the records.

_MISSING = -1e30


class NewFields:
    """New fields of the records, or new values of one existing field.

    Parameters
    ----------
    found : Definition
        Definition of the input table.
    columns : sequence of NewColumn
        The new fields, with names of up to 8 characters.
    rewritten : str, optional
        Existing field that the column overwrites.
    file : str
        Name of the table in messages.
    """

    def __init__(
        self, definition: Definition, columns: Sequence[NewColumn], rewritten: str | None, file: str
    ) -> None:
        self._definition, self._columns, self._file = definition, columns, file
        self._old = [] if rewritten is None else definition.parts(rewritten)
        text = bool(self._old) and self._old[0].kind == "A"
        if self._old and not text and not columns[0].numeric:
            message = (
                f"{file}: the field {rewritten} holds numbers, not text: choose another column"
            )
            raise TableError(message)
        self._cells = [
            self._texts(column, 4 * len(self._old))
            if text or not column.numeric
            else self._numbers(column)
            for column in columns
        ]
        self._is_text = [text or not column.numeric for column in columns]
        self._words = self._placed()
        self.length = max([definition.length, *(word for words in self._words for word in words)])
        if self.length > USED or self._count() > MOST:
            message = (
                f"{file} has no room for another field: its fields have at most {MOST} entries (a "
                f"text has one for each four characters), and a record at most {USED} words; "
                "export fewer fields"
            )
            raise TableError(message)

    @property
    def per_page(self) -> int:
        """Number of records per page of the new table."""
        return USED // self.length

    def _placed(self) -> list[list[int]]:
        """Return the positions of each field's words in a record, counted from 1.

        An existing field keeps its positions.
        """
        last, placed = self._definition.length, []
        for cells in self._cells:
            words = [entry.word for entry in self._old]
            for part in range(cells.shape[1]):
                if part >= len(words):
                    words.append(0)
                if not words[part]:
                    last += 1
                    words[part] = last
            placed.append(words)
        return placed

    def _count(self) -> int:
        """Return the number of entries on the new definition page."""
        new = sum(map(len, self._words)) - len(self._old)
        return len(self._definition.entries) + new

    def _texts(self, column: NewColumn, least: int) -> Words:
        """Return the words that store the text of each code: (codes, words, bytes per word)."""
        try:
            texts = [cell.encode("latin-1") for cell in column.cells]
            column.name.encode("latin-1")
        except UnicodeEncodeError as error:
            message = (
                f"{self._file}: Datamine's Latin-1 text cannot hold {error.object!r}: choose a "
                "name in Latin letters"
            )
            raise TableError(message) from None
        length = -(-max(4, least, *map(len, texts)) // 4) * 4
        letters = b"".join(text.ljust(length) for text in texts)
        words = np.full((len(texts), length // 4, self._definition.width), ord(" "), np.uint8)
        words[:, :, :4] = np.frombuffer(letters, np.uint8).reshape(len(texts), -1, 4)
        return words

    def _numbers(self, column: NewColumn) -> Words:
        values = [float(cell) if cell else _MISSING for cell in column.cells]
        return self._raw(values).reshape(-1, 1, self._definition.width)

    def _raw(self, values: Sequence[float]) -> NDArray[np.uint8]:
        return np.array(values, self._definition.number).view(np.uint8)

    def head(self, page: bytes) -> bytes:
        """Return the bytes of the definition page `page` with the new entries and counts."""
        width = self._definition.width
        words = np.frombuffer(page, np.uint8).reshape(WORDS, width).copy()
        places = [n for n, entry in enumerate(self._definition.entries) if entry in self._old]
        number = len(self._definition.entries)
        for column, text, stands in zip(self._columns, self._is_text, self._words, strict=True):
            for part, word in enumerate(stands, 1):
                existing = [n for n in places if self._definition.entries[n].part == part]
                if existing:  # an existing entry, which may now be stored in the records
                    words[FIELDS + ENTRY * existing[0] + 3] = self._raw([float(word)])
                    continue
                name = self._old[0].name if self._old else column.name
                at = FIELDS + ENTRY * number
                words[at : at + ENTRY] = self._entry(name, text, word, part, column.default)
                number += 1
        count = self._definition.count
        pages = -(-count // self.per_page)
        words[ENTRIES] = self._raw([float(number)])
        words[LAST_PAGE] = self._raw([float(1 + pages)])
        words[LAST_RECORDS] = self._raw(
            [float(count - (pages - 1) * self.per_page if pages else 0)]
        )
        return words.tobytes()

    def _entry(self, name: str, text: bool, word: int, part: int, default: str) -> Words:
        """Return the words of a new entry of the definition page."""
        padded, fallback = name.encode("latin-1").ljust(8), default.encode("latin-1", "replace")
        letters = [padded[:4], padded[4:8], b"A   " if text else b"N   ", b"", b"", b"    "]
        entry = np.full((ENTRY, self._definition.width), ord(" "), np.uint8)
        for row, four in enumerate(letters):
            entry[row, :4] = np.frombuffer(four.ljust(4), np.uint8)
        entry[3], entry[4] = self._raw([float(word)]), self._raw([float(part)])
        if text:
            four = fallback[4 * part - 4 : 4 * part].ljust(4)
            entry[6, :4] = np.frombuffer(four, np.uint8)
        else:
            entry[6] = self._raw([float(default) if default else _MISSING])
        return entry

    def pages(self, records: Words, codes: Sequence[NewCells]) -> bytes:
        """Return pages with the records (n, length, width) and their new fields.

        Numbers are written in the precision of the table. A record whose code equals the number of
        labels keeps its old value.
        """
        width, count = self._definition.width, len(records)
        pages = -(-count // self.per_page)
        out = np.zeros((pages, WORDS, width), np.uint8)
        wide = np.zeros((pages * self.per_page, self.length, width), np.uint8)
        wide[:count, : self._definition.length] = records
        for column, cells, words, coded, text in zip(
            self._columns, self._cells, self._words, codes, self._is_text, strict=True
        ):
            if column.measured:
                numbers = np.where(np.isnan(coded), _MISSING, coded)
                raw = numbers.astype(self._definition.number).view(np.uint8)
                wide[:count, words[0] - 1] = raw.reshape(count, width)
                continue
            each = coded.astype(np.int32, copy=False)
            unchanged = np.flatnonzero(each == len(cells))
            before = wide[unchanged]
            for part, word in enumerate(words):
                wide[:count, word - 1] = cells[np.minimum(each, len(cells) - 1), part]
                wide[unchanged, word - 1] = self._unchanged(before, part, word, text)
        out[:, : self.per_page * self.length] = wide.reshape(pages, -1, width)
        return out.tobytes()

    def _unchanged(self, before: Words, part: int, word: int, text: bool) -> Words | int:
        """Return one word of a field for records that keep their value.

        This is the stored word, or the field's default if the records do not store the field.
        Beyond the end of the old field, the word is filled with blanks.
        """
        if part >= len(self._old):
            return ord(" ")
        if self._old[part].word:
            return before[:, word - 1]
        return np.frombuffer(self._old[part].default, np.uint8)


# --- Block models of Datamine (.dm): copied page by page, with labels added to every record.

_CHUNK_BYTES = 1 << 25
_HEAD = 8 * WORDS
_CENTROID = ("XC", "YC", "ZC")
_ORIGIN, _COUNT, _SIZE = (
    tuple(name.format(axis) for axis in "XYZ") for name in ("{}MORIG", "N{}", "{}INC")
)


def holds_blocks(path: str) -> bool:
    """Return whether a .dm table is a block model: it has a field XC or IJK."""
    with Path(path).open("rb") as file:
        definition = read_definition(file.read(_HEAD))
    return definition is not None and bool({"XC", "IJK"} & set(definition.names()))


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[DatamineModel]:
    """Open a .dm table of blocks, and read its definition page."""
    place = Path(path)
    if digest is not None:
        digest.add_file(place)
    with place.open("rb") as file:
        definition = read_definition(file.read(_HEAD))
        status = os.fstat(file.fileno())
        if definition is None:
            message = f"{place.name} has changed, and is no longer a Datamine table: try again"
            raise TableError(message)
        definition.require_whole(status.st_size, place.name, TableError)
        yield DatamineModel(file, definition, place.name, status, options)


class DatamineModel(TableModel[Words]):
    """A Datamine table of blocks; see `BlockFile`."""

    memory, writing = 75_000_000 + 8 * _CHUNK_BYTES, 5e-8

    def __init__(
        self,
        file: BinaryIO,
        definition: Definition,
        name: str,
        status: os.stat_result,
        options: TableOptions,
    ) -> None:
        self._file, self._definition = file, definition
        self._fields = definition.names()
        _refuse_wireframe(self._fields, name)
        implied = not set(_CENTROID) & set(self._fields)
        implied &= {"IJK", *_ORIGIN, *_COUNT, *_SIZE} <= set(self._fields)
        super().__init__(name, status, self._fields + (_CENTROID if implied else ()), options)
        if definition.width == 4:
            self._warn_of_resolution()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def facts(self) -> dict[str, str]:
        """Return the precision and byte order in words, under "format"."""
        precision = "extended" if self._definition.width == 8 else "single"
        order = "big-endian" if self._definition.order == ">" else "little-endian"
        return {"format": f"Datamine, {precision} precision, {order}"}

    def rows(self, column: str) -> Iterator[Rows]:
        """Yield the blocks batch by batch: centroids, sizes, and the text of the given field."""
        number = self.columns.index(column)
        for words in self._chunks(self._definition.per_page):
            texts = self._texts(words, number)
            yield *self._measured(words), texts

    def relabel(self, task: Relabelling) -> None:
        """Copy the table with the new fields, some pages at a time."""
        named = [replace(column, name=column.name.upper()[:8].strip()) for column in task.columns]
        at = place_columns(
            self.columns, self._geometry, named, replace=task.replace, name=self.name
        )
        with task.open_target(self) as target:
            new = NewFields(
                self._definition, named, None if at is None else self.columns[at], self.name
            )
            if target is not None:
                target.write(memoryview(new.head(self._pages(0, 1))))
            done = 0
            for words in self._chunks(new.per_page):
                codes = self._label(words, task.label, done)
                if target is not None:
                    target.write(memoryview(new.pages(words, codes)))
                done += len(words)
                task.report(done, self._definition.count)
            task.before_commit()

    def _pages(self, begin: int, end: int) -> bytes:
        """Return the bytes of pages `begin` to `end` - 1; page 0 is the definition page."""
        self._file.seek(begin * self._definition.page)
        return self._file.read((end - begin) * self._definition.page)

    def _chunks(self, each: int) -> Iterator[Words]:
        """Yield the records (n, length, width) in batches.

        Except in the last batch, n is a multiple of `each`, the records per output page.
        """
        definition = self._definition
        step = max(1, _CHUNK_BYTES // (definition.width * definition.length * each)) * each
        for begin in range(0, definition.count, step):
            yield self._records(begin, min(begin + step, definition.count))

    def _records(self, begin: int, end: int) -> Words:
        definition = self._definition
        first, last = begin // definition.per_page, -(-end // definition.per_page)
        raw = np.frombuffer(self._pages(1 + first, 1 + last), np.uint8)
        if len(raw) < (last - first) * definition.page:
            message = f"{self.name} became shorter while it was read: try again"
            raise TableError(message)
        used = raw.reshape(-1, WORDS, definition.width)[
            :, : definition.per_page * definition.length
        ]
        records = used.reshape(-1, definition.length, definition.width)
        return records[begin - first * definition.per_page : end - first * definition.per_page]

    def _doubles(self, chunk: Words, column: int) -> Floats:
        """Return a numeric field of a batch, or a coordinate computed from the cell index IJK."""
        name = self.columns[column]
        if column >= len(self._fields):
            return self._implied(chunk, _CENTROID.index(name))
        if self._is_text(name):
            message = f"{self.name}: the field {name!r} holds text, not numbers"
            raise TableError(message)
        return numbers_of(self._definition, name, chunk)

    def _implied(self, chunk: Words, axis: int) -> Floats:
        """Return the coordinate of each record's cell centre along an axis, computed from IJK."""
        ijk, origin, size = (
            numbers_of(self._definition, name, chunk)
            for name in ("IJK", _ORIGIN[axis], _SIZE[axis])
        )
        _, ny, nz = (numbers_of(self._definition, name, chunk) for name in _COUNT)
        with np.errstate(invalid="ignore", divide="ignore"):
            places = (ijk // (nz * ny), ijk // nz % ny, ijk % nz)
            centres: Floats = origin + (places[axis] + 0.5) * size
        return centres

    def _is_text(self, name: str) -> bool:
        return self._definition.parts(name)[0].kind == "A"

    def _values(self, chunk: Words, column: int) -> Floats | NDArray[np.float32] | NDArray[np.str_]:
        """Return a field of a batch unchanged, as numbers or texts; a missing number is NaN."""
        name = self.columns[column]
        if column < len(self._fields) and self._is_text(name):
            return texts_of(self._definition, name, chunk)
        doubles = self._doubles(chunk, column)
        single = self._definition.width == 4 and column not in self._geometry
        return doubles.astype(np.float32) if single else doubles

    def _texts(self, chunk: Words, column: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        values = self._values(chunk, column)
        if values.dtype.kind == "U":
            return values.astype(np.str_)
        return np.array([as_text(value) for value in as_float64(values).tolist()], np.str_)

    def _sample(self) -> list[list[str]]:
        """Return the first records as text; the coordinate columns are recognised from them."""
        words = self._records(0, min(SAMPLE_ROWS, self._definition.count))
        cells = [
            self._texts(words, column).tolist()
            if column < len(self._fields) and self._is_text(name)
            else [repr(value) for value in self._doubles(words, column).tolist()]
            for column, name in enumerate(self.columns)
        ]
        return [["" if cell == "nan" else cell for cell in row] for row in zip(*cells, strict=True)]

    def _warn_of_resolution(self) -> None:
        """Warn if float32 resolves the coordinates of the first blocks only to 0.01 or worse."""
        words = self._records(0, min(SAMPLE_ROWS, self._definition.count))
        points = self._numbers(words, self._choice.xyz)
        resolution = single_resolution(points[np.isfinite(points).all(axis=1)])
        if resolution >= COARSE:
            message = (
                f"{self.name} stores single precision, which is only accurate to {resolution:g} "
                "at these coordinates (in the unit of the file): export it in extended precision"
            )
            warn(message)


def _refuse_wireframe(fields: tuple[str, ...], name: str) -> None:
    """Refuse a table of triangles or points: it is half of a wireframe, not a block model."""
    if {"PID1", "PID2", "PID3"} <= set(fields) or {"PID", "XP", "YP", "ZP"} <= set(fields):
        message = f"{name} is half of a Datamine wireframe, not a block model: give it as a solid"
        raise TableError(message)
