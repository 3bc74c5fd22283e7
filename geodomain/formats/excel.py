"""Excel workbooks: a sheet is read as the text of a table, and a text is written as a sheet.

The text table has a line for each row of the sheet and a cell for each cell, so that everything
that reads or labels text tables works on sheets too. A quoted number, date or truth value in the
text is a text cell of the sheet, and an unquoted one is a typed cell. The types of the cells thus
survive a labelling, which copies the text byte for byte.

The parts of a workbook are read as a stream of XML, with the standard library. They are specified
in ECMA-376 (Office Open XML), part 1, sections 18.2 to 18.18. Workbooks are written with openpyxl.
"""

from __future__ import annotations

import io
import math
import os
import posixpath
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, TypeVar, cast

from geodomain import memory
from geodomain.errors import TableError, warn
from geodomain.files.streams import Source, Target, require_seekable
from geodomain.formats import text as text_tables
from geodomain.formats.registry import split_name
from geodomain.tables.dialect import decoded
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.numbers import loses_digits
from geodomain.tables.options import TableOptions

if TYPE_CHECKING:
    import zipfile

    from geodomain.files.unchanged import Digest
    from geodomain.formats.block_file import Blocks, Relabelling

ROWS, COLUMNS, LETTERS = 1_048_576, 16_384, 32_767  # the most that Excel allows
ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA")
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # a compound file: .xls, or an encrypted workbook
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


# --- Cells as text: numbers, dates, truth values and texts.

_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|-?\.[0-9]+")
# 1E5 may be the id of a hole, and programs write numbers as 1e+05, 1.5e5 or 1e-05.
_POWER = re.compile(r"-?[0-9]\.[0-9]+[eE][+-]?[0-9]{1,3}|-?[0-9][eE][+-][0-9]{1,3}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")
# Texts that may be numbers with thousands separators or decimal commas.
_SEPARATED, _MOST_SEPARATED = re.compile(r"[+-]?[0-9][0-9., ]*"), 1000
_TRUTHS = {"TRUE": True, "FALSE": False}
_ESCAPED = re.compile(r"_x(?!0000|[Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
_TO_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def _is_typed(text: str, decimal: str) -> bool:
    """Return whether an unquoted cell of the text table becomes a typed cell, not a text."""
    return (
        text in _TRUTHS
        or text in ERRORS
        or _number_of(text, decimal) is not None
        or _DATE.fullmatch(text) is not None
        or _TIME.fullmatch(text) is not None
    )


def _number_of(text: str, decimal: str) -> str | None:
    """Return a cell of the text table as a number with a decimal point; None for other texts.

    007, +5 and numbers that float64 would change, such as ids of 19 digits, are texts.
    """
    plain = text if decimal == "." else text.replace(".", "?").replace(decimal, ".")
    if not (_PLAIN.fullmatch(plain) or _POWER.fullmatch(plain)) or loses_digits(plain):
        return None
    return plain if math.isfinite(float(plain)) else None


def _number_text(stored: str) -> str:
    """Return the digits of a stored number: the fewest that give the same float64.

    Raises
    ------
    ValueError
        If it is not a finite number.
    """
    digits = stored.strip()
    if digits.isascii() and digits.removeprefix("-").isdecimal() and len(digits) < 16:
        return str(int(digits)) if digits.strip("-0") or digits[0] != "-" else "-0.0"
    value = float(digits)
    if not math.isfinite(value) or "_" in digits:
        raise ValueError(stored)
    return "-0.0" if str(value) == "-0.0" else repr(value).removesuffix(".0")


def _date_text(days: float, *, since_1904: bool, elapsed: bool) -> str | None:
    """Return a stored date, time or duration as text; None if Excel shows no date for it."""
    if elapsed:
        seconds = round(abs(days) * 86400)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return f"{'-' * (days < 0)}{hours:02}:{minutes:02}:{seconds % 60:02}"
    if not 0 <= days < 2958466:
        return None
    if days < 1 and not since_1904:
        return _clock(timedelta(days=days))
    # Excel counts the day 29 February 1900, which did not exist.
    start = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 - (days >= 60))
    moment = start + timedelta(microseconds=1000 * round(days * 86_400_000))
    return moment.isoformat(" ").removesuffix(" 00:00:00")


def _clock(span: timedelta) -> str:
    """Return a time of day as text, such as 07:30:00."""
    moment = datetime(2000, 1, 1) + timedelta(milliseconds=round(span / timedelta(milliseconds=1)))
    return moment.time().isoformat("microseconds").removesuffix(".000000")


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell; rows count from 1 and columns from 0.

    Examples
    --------
    >>> cell_name(14, 2), cell_name(1, 26)
    ('C14', 'AA1')
    """
    letters, place = "", column + 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


def _cell_place(name: str) -> tuple[int, int]:
    """Return row (from 1) and column (from 0) of a cell's name; raise ValueError if it is none."""
    match = re.fullmatch(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})", name)
    if match is None:
        raise ValueError(name)
    column = 0
    for letter in match[1].upper():
        column = 26 * column + ord(letter) - 64
    return int(match[2]), column - 1


# --- The parts of a workbook, each an XML file in the ZIP.


class _Format(NamedTuple):
    """How a number format shows a number: as a date or time, or as a duration."""

    dated: bool = False
    elapsed: bool = False


def _format_of(code: str) -> _Format:
    """Return whether a number format, such as d-mmm, shows a date or a duration."""
    first = re.sub(r'"[^"]*"|\\.|_.|\*.', "", code).partition(";")[0]
    elapsed = re.search(r"\[(?:h+|m+|s+)\]", first, re.IGNORECASE) is not None
    letters = re.sub(r"\[[^\]]*\]", "", first).lower()
    dated = "general" not in letters and any(letter in letters for letter in "dmyhs")
    return _Format(dated or elapsed, elapsed)


_BUILT_IN = {
    number: _Format(dated=True) for number in (*range(14, 23), *range(27, 37), *range(45, 59))
}
_BUILT_IN |= {number: _Format() for number in (48, 49)} | {46: _Format(dated=True, elapsed=True)}

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]


def _parse(file: IO[bytes], start: Start, end: End, text: Callable[[str], None]) -> None:
    """Read XML, and call functions at each start and end of an element, and for its text.

    Names of elements are passed without prefix.
    """
    from xml.parsers import expat

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, given: start(tag.rpartition(":")[2], given)
    parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.ParseFile(file)


def _refuse_doctype(*_: object) -> NoReturn:
    message = "it has a DOCTYPE, which workbooks do not allow"
    raise ValueError(message)


class _SheetEntry(NamedTuple):
    """A sheet in the list of a workbook: its name, its part, and whether it is hidden."""

    name: str
    part: str
    hidden: bool


class _Enough(Exception):
    """A pass over a sheet has seen what it looked for."""


class _Workbook:
    """An open workbook: its sheets, shared texts and number formats.

    Parameters
    ----------
    archive : ZipFile
    name : str
        Name of the file in messages.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.archive, self.name = archive, name
        self.since_1904 = False
        book = next(
            (part for kind, part in self._relations("").values() if kind == "officeDocument"),
            "xl/workbook.xml",
        )
        self.relations = self._relations(book)
        self.sheets: list[_SheetEntry] = []
        self._parse(book, self._list_sheet)

    def _part(self, ending: str) -> str | None:
        """Return the part with a kind of relation, such as "styles"; None if there is none."""
        parts = [part for kind, part in self.relations.values() if kind == ending]
        return parts[0] if parts and parts[0] in self.archive.NameToInfo else None

    def _relations(self, of: str) -> dict[str, tuple[str, str]]:
        """Return the parts to which a part refers: by id, the kind of the part and its path."""
        folder, last = posixpath.split(of)
        path = posixpath.join(folder, "_rels", f"{last}.rels")
        found: dict[str, tuple[str, str]] = {}

        def start(tag: str, given: dict[str, str]) -> None:
            if tag == "Relationship" and given.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, given["Target"]))
                found[given["Id"]] = given["Type"].rpartition("/")[2], target.lstrip("/")

        if path in self.archive.NameToInfo:
            self._parse(path, start)
        return found

    def _list_sheet(self, tag: str, given: dict[str, str]) -> None:
        if tag == "workbookPr":
            self.since_1904 = given.get("date1904", "0") in ("1", "true", "on")
        elif tag == "sheet":
            of = next(value for key, value in given.items() if key.rpartition(":")[2] == "id")
            kind, part = self.relations[of]
            if kind == "worksheet":
                hidden = given.get("state", "visible") != "visible"
                self.sheets.append(_SheetEntry(given["name"], part, hidden))

    def _parse(
        self,
        part: str,
        start: Start,
        end: End = lambda tag: None,
        text: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Read a part, after a check of the size to which it is decompressed."""
        info = self.archive.getinfo(part)
        title = f"{self.name} ({part})"
        memory.require_unpacked(info.file_size, info.compress_size, title, TableError)
        with self.archive.open(info) as file:
            _parse(file, start, end, text)

    def size_of(self, part: str | None) -> int:
        """Return the decompressed size of a part in bytes."""
        return 0 if part is None else self.archive.getinfo(part).file_size

    def choose(self, wanted: str | None) -> _SheetEntry:
        """Return the sheet with a name; without a name, the only visible sheet that has cells.

        Warns
        -----
        GeodomainWarning
            If no name is given, and a hidden sheet with cells is not read.
        """
        if wanted is not None:
            for fold in (str, str.casefold):
                for sheet in self.sheets:
                    if fold(sheet.name) == fold(wanted):
                        return sheet
            message = f"{self.name} has no sheet {wanted!r}: its sheets are {self._listed()}"
            raise TableError(message)
        if not self.sheets:
            message = f"{self.name} has no worksheet"
            raise TableError(message)
        filled = [sheet for sheet in self.sheets if self._has_cells(sheet)]
        shown = [sheet for sheet in filled if not sheet.hidden]
        if not filled:
            message = f"{self.name} has no cells in any sheet: a table needs a header and rows"
            raise TableError(message)
        if len(shown) != 1:
            message = (
                f"{self.name} has the sheets {self._listed()}: choose one with FILE:SHEET, such as "
                f"{self.name}:{(shown or filled)[0].name}"
            )
            raise TableError(message)
        if len(filled) > 1:
            hidden = ", ".join(repr(sheet.name) for sheet in filled if sheet.hidden)
            warn(
                f"{self.name}: only the sheet {shown[0].name!r} is read; hidden sheets, which can "
                f"be chosen with FILE:SHEET, are {hidden}"
            )
        return shown[0]

    def _listed(self) -> str:
        return ", ".join(f"{one.name!r}{' (hidden)' * one.hidden}" for one in self.sheets) or "none"

    def _has_cells(self, sheet: _SheetEntry) -> bool:
        """Return whether a sheet has a cell with a value or a formula."""
        found = False

        def start(tag: str, given: dict[str, str]) -> None:
            nonlocal found
            found = tag in ("v", "f", "t")
            if found:
                raise _Enough

        def end(tag: str) -> None:
            if tag == "sheetData":
                raise _Enough

        with suppress(_Enough):
            self._parse(sheet.part, start, end)
        return found

    def shared_texts(self) -> list[str]:
        """Return the texts to which cells refer by number."""
        part = self._part("sharedStrings")
        found: list[str] = []
        if part is None:
            return found
        pieces: list[str] = []
        state = {"inside": False, "phonetic": False}

        def start(tag: str, given: dict[str, str]) -> None:
            if tag == "rPh":
                state["phonetic"] = True
            state["inside"] = tag == "t" and not state["phonetic"]

        def end(tag: str) -> None:
            state["inside"] = False
            if tag == "rPh":
                state["phonetic"] = False
            elif tag == "si":
                found.append("".join(pieces))
                pieces.clear()

        def text(data: str) -> None:
            if state["inside"]:
                pieces.append(data)

        self._parse(part, start, end, text)
        return found

    def formats(self) -> list[_Format]:
        """Return, for each style of cells, how it shows a number."""
        part, codes = self._part("styles"), dict(_BUILT_IN)
        found: list[_Format] = []
        if part is None:
            return found
        state = {"cells": False}

        def start(tag: str, given: dict[str, str]) -> None:
            if tag == "numFmt":
                codes[int(given["numFmtId"])] = _format_of(given["formatCode"])
            elif tag == "cellXfs":
                state["cells"] = True
            elif tag == "xf" and state["cells"]:
                found.append(codes.get(int(given.get("numFmtId", "0")), _Format()))

        def end(tag: str) -> None:
            state["cells"] = state["cells"] and tag != "cellXfs"

        self._parse(part, start, end)
        return found

    def read(self, sheet: _SheetEntry, mark: str) -> Sheet:
        """Return a sheet as text; `mark` is the decimal mark of its numbers."""
        shared = self._part("sharedStrings")
        need = 4 * self.size_of(shared) + 3 * self.size_of(sheet.part)
        title = f"{self.name}:{sheet.name}"
        memory.require(need, f"{title}, a sheet of {self.size_of(sheet.part):,} bytes,", TableError)
        reader = _SheetReader(title, self.shared_texts(), self.formats(), self.since_1904, mark)
        self._parse(sheet.part, reader.start, reader.end, reader.text)
        return reader.sheet()


class _SheetReader:
    """Handlers for the XML of a sheet; they build the text of the table row by row.

    Parameters
    ----------
    name : str
        Name of the file and the sheet in messages.
    shared : list of str
        Shared texts of the workbook.
    formats : list of _Format
        Number formats by style.
    since_1904 : bool
        Whether dates count from 1904.
    mark : str
        Decimal mark of numbers in the text.
    """

    def __init__(
        self, name: str, shared: list[str], formats: list[_Format], since_1904: bool, mark: str
    ) -> None:
        self._name, self._shared, self._formats = name, shared, formats
        self._since_1904, self._mark = since_1904, mark
        self._delimiter = ";" if mark == "," else ","
        self._special = re.compile(rf'[{self._delimiter}"\r\n]')
        self._most = memory.allowance()
        self._lines: list[str] = []
        self._widths = array("H")
        self._size = 0
        self._row_number, self._column = 0, -1
        self._cells: dict[int, str] = {}
        self._kind, self._style, self._inside, self._phonetic = "n", 0, "", False
        self._value: list[str] = []
        self._formula: list[str] | None = None
        self._has_value = False
        self._odd: dict[int, list[tuple[int, str]]] = {}
        self._separated: dict[str, str] = {}
        self._breaks: list[tuple[int, int]] = []  # rows of several lines, and line ends in each
        self._merged: list[str] = []

    def start(self, tag: str, given: dict[str, str]) -> None:
        self._inside = ""
        if tag == "c":
            self._start_cell(given)
        elif tag == "v":
            self._inside, self._has_value = tag, True
        elif tag == "t":
            if not self._phonetic:
                self._inside, self._has_value = tag, True
        elif tag == "f":
            self._inside, self._formula = tag, []
        elif tag == "rPh":
            self._phonetic = True
        elif tag == "row":
            row = int(given.get("r", self._row_number + 1))
            if not self._row_number < row <= ROWS:
                message = f"row {row} follows row {self._row_number}"
                raise ValueError(message)
            self._row_number, self._column = row, -1
        elif tag == "mergeCell":
            self._merged.append(given["ref"])

    def _start_cell(self, given: dict[str, str]) -> None:
        self._column += 1
        if "r" in given:
            row, column = _cell_place(given["r"])
            if row != self._row_number or not self._column <= column < COLUMNS:
                message = f"cell {given['r']} is in the wrong place"
                raise ValueError(message)
            self._column = column
        self._kind, self._style = given.get("t", "n"), _index(given.get("s", "0"))
        self._value, self._formula, self._has_value = [], None, False

    def text(self, data: str) -> None:
        if self._inside == "f":
            cast("list[str]", self._formula).append(data)
        elif self._inside:
            self._value.append(data)

    def end(self, tag: str) -> None:
        self._inside = ""
        if tag == "c":
            self._end_cell()
        elif tag == "row" and self._cells:
            self._end_row()
        elif tag == "rPh":
            self._phonetic = False

    def _end_cell(self) -> None:
        stored = "".join(self._value)
        if self._formula is not None and not stored and self._kind not in ("str", "inlineStr"):
            formula = "".join(self._formula)
            message = (
                f"{self._where()} has the formula ={formula[:60]} without a value: open the file "
                "in Excel, save it, and use it again"
            )
            raise TableError(message)
        if not self._has_value or (not stored and self._kind in ("n", "b", "e", "d")):
            return
        cell = self._cell(stored)
        if cell:
            self._cells[self._column] = cell
            self._size += len(cell)
            if 2 * self._size > self._most:
                memory.require(2 * self._size, f"{self._name}, read as text,", TableError)

    def _cell(self, stored: str) -> str:
        """Return a cell as a field of the text table."""
        if self._kind == "n":
            return self._number(stored)
        if self._kind == "b":
            return "TRUE" if stored.strip() in ("1", "true") else "FALSE"
        if self._kind == "e":
            self._note(stored)
            return self._quoted(stored)
        if self._kind == "d":
            moment = stored.replace("T", " ").removesuffix("Z").removesuffix(" 00:00:00")
            if _DATE.fullmatch(moment) or _TIME.fullmatch(moment):
                return self._dated(moment)
        if self._kind == "s":
            stored = self._shared[_index(stored)]
        text = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), stored)
        if "," in text and _SEPARATED.fullmatch(text) and len(self._separated) < _MOST_SEPARATED:
            self._separated.setdefault(text, cell_name(self._row_number, self._column))
        if not self._special.search(text) and not _is_typed(text, self._mark):
            return text
        return self._quoted(text)

    @staticmethod
    def _quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def _number(self, stored: str) -> str:
        """Return a number, or a date if the format of the cell shows one."""
        try:
            text = _number_text(stored)
        except ValueError:
            message = f"{self._where()} holds {stored[:40]!r}, which is not a number"
            raise TableError(message) from None
        form = self._formats[self._style] if self._style < len(self._formats) else _Format()
        if form.dated:
            days, since = float(text), self._since_1904
            dated = _date_text(days, since_1904=since, elapsed=form.elapsed)
            if dated is not None:
                return self._dated(dated)
        if self._mark == ".":
            return text
        return text.replace(".", self._mark)

    def _dated(self, text: str) -> str:
        self._note(text)
        return text

    def _note(self, text: str) -> None:
        """Remember a cell that is neither a number nor a text: a date or an error."""
        self._odd.setdefault(self._column, []).append((self._row_number, text))

    def _where(self) -> str:
        return f"{self._name}, cell {cell_name(self._row_number, self._column)}"

    def _end_row(self) -> None:
        self._lines.extend([""] * (self._row_number - 1 - len(self._lines)))
        self._widths.extend([0] * (self._row_number - 1 - len(self._widths)))
        width = max(self._cells) + 1
        line = self._delimiter.join([self._cells.get(place, "") for place in range(width)])
        if ends := line.count("\n") + line.count("\r") - line.count("\r\n"):
            self._breaks.append((self._row_number, ends))
        self._size += width
        self._lines.append(line)
        self._widths.append(width)
        self._cells = {}

    def sheet(self) -> Sheet:
        """Return the sheet; short rows are filled with empty cells up to the widest row."""
        width = max(self._widths, default=0)
        filled = sum(1 for each in self._widths if each)
        total = self._size + filled * width
        title = f"{self._name}, {filled:,} rows of {width:,} columns,"
        memory.require(2 * total, title, TableError)
        lines = [
            line + self._delimiter * (width - own) if own else line
            for line, own in zip(self._lines, self._widths, strict=True)
        ]
        lines.append("")
        text = "\n".join(lines).encode()
        ranges = [_range_of(ref) for ref in self._merged]
        return Sheet(
            name=self._name,
            text=text,
            delimiter=self._delimiter.encode(),
            breaks=tuple(self._breaks),
            odd=self._odd,
            merged=tuple(ranges),
            separated=self._separated,
        )


def _index(text: str) -> int:
    """Return the index of a shared text or a style; raise ValueError if it is none."""
    index = int(text)
    if index < 0:
        message = f"{index} is not an index"
        raise ValueError(message)
    return index


def _range_of(ref: str) -> tuple[int, int, int, int]:
    """Return first row, first column, last row and last column of a range such as A1:B2."""
    first, _, last = ref.partition(":")
    return (*_cell_place(first), *_cell_place(last or first))


# --- A sheet as the text of a table.


@dataclass(frozen=True, eq=False)
class Sheet:
    """A sheet of a workbook as the text of a table, with the positions of its cells.

    Attributes
    ----------
    name : str
        File and sheet, such as "collar.xlsx:Collars", for messages.
    text : bytes
        The table: UTF-8, LF line ends, a line for each row of the sheet.
    delimiter : bytes
        A comma, or a semicolon if the decimal mark is a comma.
    breaks : tuple of (row, line ends)
        Rows of the sheet whose texts have line ends.
    odd : mapping of int to list of (row, text)
        Dates and errors by column, counted from 0.
    merged : tuple of (row, column, last row, last column)
        Merged cells; rows count from 1, columns from 0.
    separated : mapping of str to str
        Texts such as 1,410, which may be numbers, and the first cell of each.
    """

    name: str
    text: bytes
    delimiter: bytes
    breaks: tuple[tuple[int, int], ...] = ()
    odd: Mapping[int, Sequence[tuple[int, str]]] = field(default_factory=dict)
    merged: tuple[tuple[int, int, int, int], ...] = ()
    separated: Mapping[str, str] = field(default_factory=dict)

    def row(self, line: int) -> int:
        """Return the row of the sheet that contains a line of the text."""
        before = 0
        for row, ends in self.breaks:
            if row + before >= line:
                break
            before += min(ends, line - row - before)
        return line - before

    def placed(self, layout: TableLayout) -> TableLayout:
        """Return the layout of the text with positions in the sheet: "cell C14" or "row 14"."""

        def place(line: int, column: str) -> str:
            row = self.row(line)
            if column not in layout.names:
                return f"row {row}"
            return f"cell {cell_name(row, layout.names.index(column))}"

        return replace(layout, place=place)

    def require_usable(self, layout: TableLayout, columns: Iterable[int]) -> None:
        """Refuse merged cells in the table, and dates and errors in some of its columns.

        Parameters
        ----------
        layout : TableLayout
            Layout of the text.
        columns : iterable of int
            Columns of holes, depths, coordinates and sizes.

        Raises
        ------
        TableError
        """
        header = self.row(layout.head_rows[0].row.line)
        for first, left, last, right in self.merged:
            if last >= header and left < len(layout.names):
                cells = f"{cell_name(first, left)}:{cell_name(last, right)}"
                what = "of the header " * (first <= header)
                message = (
                    f"{self.name}: the cells {cells} {what}are merged, so that all but one of them "
                    "are empty: unmerge them, and fill each cell"
                )
                raise TableError(message)
        for column in columns:
            for row, text in self.odd.get(column, ()):
                if row > header:
                    raise TableError(self._odd_cell(row, column, text, layout.names[column]))

    def _odd_cell(self, row: int, column: int, text: str, name: str) -> str:
        where = f"{self.name}, cell {cell_name(row, column)}"
        if text.startswith("#"):
            return f"{where}: {name} is the error {text}: correct the formula, or clear the cell"
        return (
            f"{where}: {name} is the date {text}; Excel makes a date of an entry such as 4-6: set "
            "the format of the cell to General, and enter the number or the id again"
        )

    def explained(self, error: TableError) -> TableError:
        """Return an error about the header or the decimal mark, with the cells of its cause."""
        for text, cell in self.separated.items():
            if re.search(rf"(?<![0-9]){re.escape(text)}(?![0-9])", str(error)):
                message = f"{error} The text {text!r} is in cell {cell}: enter it as a number."
                return TableError(message)
        if not self.merged:
            return error
        first, left, last, right = self.merged[0]
        cells = f"{cell_name(first, left)}:{cell_name(last, right)}"
        message = (
            f"{error} Cells of the sheet are merged, such as {cells}: a header has one row with a "
            "name in each cell."
        )
        return TableError(message)


Found = TypeVar("Found")


def read_laid_out(
    path: str,
    options: TableOptions,
    lay_out: Callable[[Sheet, TableOptions], tuple[TableLayout, Found]],
    columns: Callable[[TableLayout, Found], Iterable[int]],
) -> tuple[Sheet, TableLayout, Found]:
    """Read a sheet and the layout of its text, and refuse cells that hold no number or text.

    Parameters
    ----------
    path : str
        FILE:SHEET or FILE.
    options : TableOptions
        The user's options.
    lay_out : callable
        Takes the sheet and the options for its text. Returns the layout and anything else.
    columns : callable
        Takes what `lay_out` returns, and returns the columns of holes, depths, coordinates and
        sizes.

    Returns
    -------
    tuple
        The sheet, the layout with positions in the sheet, and the other result of `lay_out`.

    Raises
    ------
    TableError
    """
    sheet = read_sheet(path, options)
    own = options._replace(delimiter=sheet.delimiter, encoding="utf-8")
    try:
        layout, found = lay_out(sheet, own)
    except TableError as error:
        raise sheet.explained(error) from None
    if layout.decimal == b"," and options.decimal is None:
        # Texts have decimal commas: give the numbers of the sheet the same mark.
        return read_laid_out(path, options._replace(decimal=b","), lay_out, columns)
    sheet.require_usable(layout, columns(layout, found))
    return sheet, sheet.placed(layout), found


def read_sheet(path: str, options: TableOptions | None = None) -> Sheet:
    """Read a sheet of a workbook.

    Parameters
    ----------
    path : str
        FILE:SHEET, or FILE if only one visible sheet has cells.
    options : TableOptions, optional
        The user's options. With the decimal mark ",", numbers have decimal commas in the text, as
        cells of text have in the sheet.

    Raises
    ------
    TableError
        If the file is not a workbook, is encrypted or damaged, has no such sheet, would take too
        much memory, or has a formula without a value.
    """
    import zipfile
    import zlib
    from xml.parsers import expat

    place, wanted = split_name(path)
    require_seekable(place)
    with place.open("rb") as file:
        _require_workbook(file, place)
        try:
            with zipfile.ZipFile(file) as archive:
                book = _Workbook(archive, place.name)
                mark = (options.decimal or b".").decode() if options else "."
                return book.read(book.choose(wanted), mark)
        except TableError:
            raise
        except (
            expat.ExpatError, zipfile.BadZipFile, zlib.error, EOFError, OSError, LookupError,
            ValueError, RuntimeError, StopIteration, OverflowError,
        ) as wrong:  # fmt: skip
            reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
            message = (
                f"{place.name} is not a readable Excel workbook ({reason}): save it again as .xlsx"
            )
            raise TableError(message) from wrong


def _require_workbook(file: BinaryIO, place: Path) -> None:
    """Refuse a file that is encrypted, of an older Excel, or not a ZIP."""
    head = file.read(8)
    if head == _OLD:
        rest = file.read(1 << 28)
        if _ENCRYPTED in rest:
            message = f"{place.name} is encrypted: open it in Excel, and save it without a password"
        else:
            message = (
                f"{place.name} is a workbook of Excel 97 to 2003 (.xls), which is not read: save "
                "it as .xlsx or CSV"
            )
        raise TableError(message)
    if place.suffix.lower() == ".xlsb":
        message = f"{place.name} is a binary workbook (.xlsb), which is not read: save it as .xlsx"
        raise TableError(message)
    if not head.startswith(b"PK"):
        what = "is empty" if not head else "is not an Excel workbook, in spite of its name"
        message = f"{place.name} {what}: save it as .xlsx, or give a table of text the name .csv"
        raise TableError(message)
    file.seek(0)


# --- Block models in sheets.


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[ExcelModel]:
    """Open a sheet of blocks, and read its header."""
    place = split_name(path)[0]
    if digest is not None:
        digest.add_file(place)
    sheet, layout, _ = read_laid_out(path, options, _lay_out_blocks, _places_of_blocks)
    with _SheetSource(sheet, place) as source:
        yield ExcelModel(source, layout, sheet)


def _lay_out_blocks(sheet: Sheet, options: TableOptions) -> tuple[TableLayout, None]:
    return read_layout(sheet.text, options, name=sheet.name), None


def _places_of_blocks(layout: TableLayout, _: None) -> tuple[int, ...]:
    """Return the columns of coordinates and sizes."""
    return (*layout.xyz, *(layout.sizes or ()))


class _SheetSource(Source):
    """The text of a sheet, as a source of bytes."""

    def __init__(self, sheet: Sheet, place: Path) -> None:
        self._place = place
        super().__init__(cast("BinaryIO", io.BytesIO(sheet.text)), sheet.name, place)
        self.size = len(sheet.text)

    @property
    def status(self) -> os.stat_result | None:
        """Status of the workbook."""
        return self._place.stat()


class ExcelModel(text_tables.TextModel):
    """A sheet of blocks whose header has been read; see `geodomain.formats.BlockFile`."""

    writing = 1e-5

    def __init__(self, source: Source, layout: TableLayout, sheet: Sheet) -> None:
        super().__init__(source, layout, "utf-8")
        self._sheet = sheet

    def facts(self) -> dict[str, str]:
        """Return facts about the sheet as texts, each under a title."""
        facts = super().facts()
        row = self._layout.place(self._layout.data_line, "")
        return facts | {
            "format": "Excel",
            "sheet": self._sheet.name.partition(":")[2],
            "first row of data": row,
        }

    def relabel(self, task: Relabelling) -> None:
        """Write the sheet with the new columns, as a workbook of one sheet or as text."""
        if task.destination is not None and task.destination.in_place:
            message = (
                f"{self.name}: an output in place would remove the other sheets, the formulas and "
                "the formats of the workbook: name another output"
            )
            raise TableError(message)
        super().relabel(task)


# --- Tables written as workbooks.


def require_library(path: str) -> None:
    """Raise TableError if openpyxl, which writes workbooks, is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        message = f"{path} can only be written with openpyxl: pip install 'geodomain[excel]'"
        raise TableError(message) from None


class TextOfTable(NamedTuple):
    """How the text of a table is written: delimiter, decimal mark, encoding and header.

    Attributes
    ----------
    delimiter, decimal, encoding : str
    header : int
        Number of lines up to the last line of the header.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: int = 1

    @classmethod
    def of(cls, layout: TableLayout) -> TextOfTable:
        """Return the text format of a table with a layout."""
        line = layout.head_rows[-1].row.line
        marks = layout.delimiter.decode(), layout.decimal.decode()
        return cls(*marks, layout.encoding, line)


@contextmanager
def workbook(
    target: Target, path: str | os.PathLike[str], layout: TableLayout | None = None
) -> Iterator[Target]:
    """Collect the text of a table in a `with` statement, and then write it as a workbook.

    Parameters
    ----------
    target : Target
        Gets the bytes of the workbook.
    path : path
        The output, for messages and for the name of the sheet.
    layout : TableLayout, optional
        Layout of the text; default: commas, decimal points, UTF-8, one header line.

    Raises
    ------
    TableError
        If openpyxl is missing, or the table is larger than a sheet.
    """
    require_library(os.fspath(path))
    collected = _Collected()
    yield collected
    form = TextOfTable() if layout is None else TextOfTable.of(layout)
    data = b"".join(collected.parts)
    for part in _encoded(data, Path(path), form):
        target.write(part)


class _Collected:
    """A target that keeps its bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: memoryview) -> int:
        """Keep all of the data, and return the number of bytes."""
        self.parts.append(bytes(data))
        return len(data)


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield blocks as the bytes of a new workbook."""
    require_library(path)
    data = b"".join(text_tables.encoded_blocks(blocks, path))
    for part in _encoded(data, Path(path), TextOfTable()):
        yield bytes(part)


def _encoded(data: bytes, path: Path, form: TextOfTable) -> Iterator[memoryview]:
    """Yield the bytes of a workbook whose only sheet has the cells of a text table."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    title = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", path.stem).strip("' ")[:31] or "Sheet"
    sheet = book.create_sheet(title)
    sheet.freeze_panes = f"A{form.header + 1}"
    cells = _CellMaker(sheet, form.decimal, path.name)
    text = decoded(data, form.encoding).removeprefix("\ufeff")
    try:
        for number, row in enumerate(_rows(text, form.delimiter), 1):
            if number > ROWS or len(row) > COLUMNS:
                message = (
                    f"{path.name}: a sheet of Excel has at most {ROWS:,} rows and {COLUMNS:,} "
                    "columns, and the table is larger: write .csv or .parquet"
                )
                raise TableError(message)
            made = [cells.made(*field, number, place) for place, field in enumerate(row)]
            sheet.append(made)
    except BaseException:
        sheet.close()  # openpyxl writes as it goes, and would complain of an open file
        raise
    out = io.BytesIO()
    book.save(out)
    view = out.getbuffer()
    for begin in range(0, len(view), 1 << 20):
        yield view[begin : begin + (1 << 20)]


def _rows(text: str, delimiter: str) -> Iterator[list[tuple[str, bool]]]:
    """Yield the rows of a text table; each field with whether it is quoted."""
    mark = re.escape(delimiter)
    fields = re.compile(
        rf'(?:"((?:[^"]|"")*)"[ \t]*|([^{mark}\r\n]*))({mark}|\r\n|\r|\n|\Z)|([^{mark}\r\n]*)'
    )
    at, row = 0, list[tuple[str, bool]]()
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if not row and '"' not in line and "\r" not in line:
            yield [(cell.strip(" \t"), False) for cell in line.split(delimiter)] if line else []
            at = end + 1
            continue
        found = cast("re.Match[str]", fields.match(text, at))
        at = found.end()
        if found[1] is not None:
            row.append((found[1].replace('""', '"'), True))
        else:
            row.append(((found[2] or found[4] or "").strip(" \t"), False))
        if found[3] != delimiter and found[4] is None:
            yield [] if row == [("", False)] else row
            row = []
    if row:
        yield row


class _CellMaker:
    """Makes the cells of a sheet from the fields of a text table."""

    def __init__(self, sheet: Any, decimal: str, name: str) -> None:
        from openpyxl.cell import WriteOnlyCell

        self._sheet, self._decimal, self._name = sheet, decimal, name
        self._cell = WriteOnlyCell

    def made(self, text: str, quoted: bool, row: int, column: int) -> Any:
        """Return a cell, or None for an empty field.

        Numbers keep their digits as text, because openpyxl would round them to 16 digits.
        """
        if not text:
            return None
        if not quoted:
            number = _number_of(text, self._decimal)
            if number is not None:
                return self._number(number)
            if text in _TRUTHS:
                return self._cell(self._sheet, _TRUTHS[text])
            if (moment := _moment(text)) is not None:
                return self._cell(self._sheet, moment)
        if len(text.encode("utf-16-le", "surrogatepass")) > 2 * LETTERS:
            message = (
                f"{self._name}: the text of cell {cell_name(row, column)} has {len(text):,} "
                f"characters, and a cell of Excel holds {LETTERS:,}: write .csv or .parquet"
            )
            raise TableError(message)
        escaped = _TO_ESCAPE.sub(lambda each: f"_x{ord(each[0]):04X}_", text)
        cell = self._cell(self._sheet, escaped)
        # Not a formula, in spite of an = at its beginning.
        cell.data_type = "e" if quoted and text in ERRORS else "s"
        return cell

    def _number(self, digits: str) -> Any:
        cell = self._cell(self._sheet, digits)
        cell.data_type = "n"
        _, _, decimals = digits.partition(".")
        if decimals.endswith("0") and decimals.isdecimal():
            cell.number_format = f"0.{'0' * min(len(decimals), 10)}"
        return cell


def _moment(text: str) -> datetime | date | time | None:
    """Return a date or time that Excel can store; None for another text."""
    try:
        if _TIME.fullmatch(text):
            return time.fromisoformat(text)
        if _DATE.fullmatch(text) and text >= "1900-03-01":
            found = datetime.fromisoformat(text)
            return found if len(text) > 10 else found.date()
    except ValueError:
        pass
    return None
