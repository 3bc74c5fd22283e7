"""Excel workbooks: a sheet is read as the text of a table, and a text is written as a sheet.

The text table has a line for each row of the sheet and a cell for each cell, so that everything
that reads or labels text tables works on sheets too. A quoted number, date or truth value in the
text is a text cell of the sheet, and an unquoted one is a typed cell. The types of the cells thus
survive a labelling, which copies the text byte for byte.

openpyxl reads and writes the workbooks.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar, cast

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
    from xml.etree.ElementTree import Element

    from geodomain.files.unchanged import Digest
    from geodomain.formats.block_file import Blocks, Relabelling

ROWS, COLUMNS, LETTERS = 1_048_576, 16_384, 32_767  # the most that Excel allows
ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA")
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # a compound file: .xls, or an encrypted workbook
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_STRICT = b"http://purl.oclc.org/ooxml"
# Built-in formats of Chinese, Japanese and Korean dates, which openpyxl takes for numbers.
_EAST_ASIAN_DATES = {*range(27, 37), *range(50, 59)}


# --- Cells as text: numbers, dates, truth values and texts.

_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|-?\.[0-9]+")
# 1E5 may be the id of a hole, and programs write numbers as 1e+05, 1.5e5 or 1e-05.
_POWER = re.compile(r"-?[0-9]\.[0-9]+[eE][+-]?[0-9]{1,3}|-?[0-9][eE][+-][0-9]{1,3}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")
# Texts that may be numbers with thousands separators or decimal commas.
_SEPARATED, _MOST_SEPARATED = re.compile(r"[+-]?[0-9][0-9., ]*"), 1000
_TRUTHS = {"TRUE": True, "FALSE": False}
# Excel escapes control characters, and the _ of such an escape (which openpyxl removes in part).
_ESCAPED = re.compile(r"_x(?!0000)(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")
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


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell; rows count from 1 and columns from 0.

    Examples
    --------
    >>> cell_name(14, 2), cell_name(1, 26)
    ('C14', 'AA1')
    """
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column + 1)}{row}"


# --- Sheets, as openpyxl reads them.


class _Workbook:
    """A workbook that openpyxl has opened, after a check of the size of each part."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        import zipfile

        from openpyxl import load_workbook

        self.name, self._archive = name, zipfile.ZipFile(file)
        self._shared = 0
        for info in self._archive.infolist():
            if info.filename.lower().endswith((".xml", ".rels")):
                self._require_sound(info)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of what it does not keep
            self._book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        self._sheets = self._book.worksheets

    def _require_sound(self, info: zipfile.ZipInfo) -> None:
        """Refuse a part that is too large, and XML that openpyxl does not understand."""
        title = f"{self.name} ({info.filename})"
        memory.require_unpacked(info.file_size, info.compress_size, title, TableError)
        if info.file_size > 50 * info.compress_size:  # empty elements: 4 bytes become 72
            memory.require(20 * info.file_size, title, TableError)
        if info.filename.lower().endswith("sharedstrings.xml"):
            self._shared = info.file_size
            memory.require(4 * self._shared, title, TableError)
        with self._archive.open(info) as part:
            head = part.read(4096)
        if b"<!DOCTYPE" in head:
            message = "it has a DOCTYPE, which workbooks do not allow"
            raise ValueError(message)
        if info.filename.lower() == "xl/workbook.xml" and _STRICT in head:
            message = (
                f"{self.name} is a Strict Open XML workbook, which is not read: save it in Excel "
                "with the type Excel Workbook (.xlsx)"
            )
            raise TableError(message)

    def choose(self, wanted: str | None) -> Any:
        """Return the sheet with a name; without a name, the only visible sheet that has cells."""
        if wanted is not None:
            for fold in (str, str.casefold):
                for sheet in self._sheets:
                    if fold(sheet.title) == fold(wanted):
                        return sheet
            message = f"{self.name} has no sheet {wanted!r}: its sheets are {self._listed()}"
            raise TableError(message)
        if not self._sheets:
            message = f"{self.name} has no worksheet"
            raise TableError(message)
        filled = [sheet for sheet in self._sheets if self._has_cells(sheet)]
        shown = [sheet for sheet in filled if sheet.sheet_state == "visible"]
        if not filled:
            message = f"{self.name} has no cells in any sheet: a table needs a header and rows"
            raise TableError(message)
        if len(shown) != 1:
            message = (
                f"{self.name} has the sheets {self._listed()}: choose one with FILE:SHEET, such as "
                f"{self.name}:{(shown or filled)[0].title}"
            )
            raise TableError(message)
        if len(filled) > 1:
            hidden = ", ".join(repr(sheet.title) for sheet in filled if sheet is not shown[0])
            warn(
                f"{self.name}: only the sheet {shown[0].title!r} is read; hidden sheets, which can "
                f"be chosen with FILE:SHEET, are {hidden}"
            )
        return shown[0]

    def _listed(self) -> str:
        hidden = [" (hidden)" * (sheet.sheet_state != "visible") for sheet in self._sheets]
        names = [f"{each.title!r}{end}" for each, end in zip(self._sheets, hidden, strict=True)]
        return ", ".join(names) or "none"

    def _has_cells(self, sheet: Any) -> bool:
        """Return whether a sheet has a cell with a value or a formula."""
        from xml.etree.ElementTree import iterparse

        with self._archive.open(sheet._worksheet_path) as part:
            for _, element in iterparse(part):
                if element.tag.endswith(("}v", "}f", "}t")):
                    return True
                element.clear()
        return False

    def read(self, sheet: Any, mark: str) -> Sheet:
        """Return a sheet as text; `mark` is the decimal mark of its numbers.

        openpyxl reads the rows, but the loop over them is here. openpyxl's own loop leaves out rows
        in the wrong order and merged cells, and refuses a sheet for a filter that it does not know.
        """
        from xml.etree.ElementTree import iterparse

        title = f"{self.name}:{sheet.title}"
        size = self._archive.getinfo(sheet._worksheet_path).file_size
        what = f"{title}, a sheet of {size:,} bytes,"
        memory.require(4 * self._shared + 3 * size, what, TableError)
        text, parser = _TextOfSheet(title, self._book, mark), _row_parser(sheet, title)
        merged: list[tuple[int, int, int, int]] = []
        with self._archive.open(sheet._worksheet_path) as part:
            for _, element in iterparse(part):
                tag = element.tag.rpartition("}")[2]
                if tag == "row":
                    if len(element) > COLUMNS:
                        message = f"a row has {len(element):,} cells"
                        raise ValueError(message)
                    text.add(*parser.parse_row(element))
                    parser.row_dimensions.clear()
                    element.clear()
                elif tag == "mergeCell":
                    merged.append(_range_of(element.attrib["ref"]))
        return text.sheet(merged)


def _row_parser(sheet: Any, title: str) -> Any:
    """Return openpyxl's parser of rows; it refuses formulas without values, and names wrong cells.

    The parser leaves dates as numbers: openpyxl would make #VALUE! of those that Excel cannot show.
    """
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    parser = WorkSheetParser(None, sheet._shared_strings, data_only=True)
    parse_cell = parser.parse_cell

    def parse_checked(element: Element) -> dict[str, Any]:
        try:
            cell: dict[str, Any] = parse_cell(element)
        except (ValueError, LookupError) as wrong:
            message = f"cell {element.get('r')}: {wrong}"
            raise ValueError(message) from wrong
        if cell["value"] is None and cell["data_type"] not in ("str", "s"):
            formula = element.find(FORMULA_TAG)
            if formula is not None:
                where = cell_name(cell["row"], cell["column"] - 1)
                message = (
                    f"{title}, cell {where} has the formula ={(formula.text or '')[:60]} without a "
                    "value: open the file in Excel, save it, and use it again"
                )
                raise TableError(message)
        return cell

    parser.parse_cell = parse_checked
    return parser


def _range_of(cells: str) -> tuple[int, int, int, int]:
    """Return first row, first column, last row and last column of a range such as A1:B2."""
    from openpyxl.utils import range_boundaries

    left, first, right, last = range_boundaries(cells)
    if first is None or left is None:
        raise ValueError(cells)
    return first, left - 1, last, right - 1


class _TextOfSheet:
    """Builds the text of a sheet, row by row; `mark` is the decimal mark of its numbers."""

    def __init__(self, name: str, book: Any, mark: str) -> None:
        from openpyxl.utils.datetime import from_excel

        self._name, self._mark = name, mark
        self._moment, self._epoch = from_excel, book.epoch
        self._days = (datetime(9999, 12, 31) - book.epoch).days + 1
        self._dates, self._spans = set(book._date_formats), book._timedelta_formats
        for place, style in enumerate(book._cell_styles):
            if style.numFmtId in _EAST_ASIAN_DATES:
                self._dates.add(place)
        self._delimiter = ";" if mark == "," else ","
        self._special = re.compile(rf'[{self._delimiter}"\r\n]')
        self._most, self._size, self._row = memory.allowance(), 0, 0
        self._lines: list[str] = []
        self._widths = array("H")
        self._odd: dict[int, list[tuple[int, str]]] = {}
        self._separated: dict[str, str] = {}
        self._breaks: list[tuple[int, int]] = []  # rows of several lines, and line ends in each

    def add(self, row: int, cells: Sequence[Mapping[str, Any]]) -> None:
        """Add a row of cells; it is below the rows before."""
        if not self._row < row <= ROWS:
            message = f"row {row} follows row {self._row}"
            raise ValueError(message)
        self._row = row
        fields: list[str] = []
        width = 0
        for cell in cells:
            column = cell["column"] - 1
            if cell["row"] != row or not len(fields) <= column < COLUMNS:
                message = f"a cell of row {row} is in the wrong place"
                raise ValueError(message)
            fields.extend([""] * (column - len(fields)))
            fields.append(self._field(cell, row, column))
            if fields[-1]:
                width = column + 1
        if not width:
            return
        line = self._delimiter.join(fields[:width])
        if ends := line.count("\n") + line.count("\r") - line.count("\r\n"):
            self._breaks.append((row, ends))
        self._size += len(line) + 1
        if 2 * self._size > self._most:
            memory.require(2 * self._size, f"{self._name}, read as text,", TableError)
        missing = row - 1 - len(self._lines)
        self._lines += [*[""] * missing, line]
        self._widths.extend([*[0] * missing, width])

    def _field(self, cell: Mapping[str, Any], row: int, column: int) -> str:
        """Return a cell as a field of the text table."""
        value, kind = cell["value"], cell["data_type"]
        if value is None:
            return ""
        if kind == "n":
            if cell["style_id"] in self._dates:
                span = cell["style_id"] in self._spans
                # Excel shows no date for other numbers.
                if -self._days * span <= value < self._days:
                    return self._date(self._moment(value, self._epoch, span), row, column)
            return self._number(value, row, column)
        if kind == "b":
            return "TRUE" if value else "FALSE"
        if kind == "d":
            return self._date(value, row, column)
        if kind == "e":
            self._odd.setdefault(column, []).append((row, value))
            return _quoted(value)
        text = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), value)
        if "," in text and _SEPARATED.fullmatch(text) and len(self._separated) < _MOST_SEPARATED:
            self._separated.setdefault(text, cell_name(row, column))
        if not self._special.search(text) and not _is_typed(text, self._mark):
            return text
        return _quoted(text)

    def _number(self, value: float, row: int, column: int) -> str:
        """Return the fewest digits that give the same float64."""
        number = float(value)
        if not math.isfinite(number):
            message = (
                f"{self._name}, cell {cell_name(row, column)} holds {number}, which is not a number"
            )
            raise TableError(message)
        text = repr(number)
        text = text if text == "-0.0" else text.removesuffix(".0")
        return text if self._mark == "." else text.replace(".", self._mark)

    def _date(self, value: date | time | timedelta, row: int, column: int) -> str:
        """Return a date, a time or a duration as text, and remember its place."""
        if isinstance(value, timedelta):
            seconds = round(abs(value).total_seconds())
            sign = "-" * (value < timedelta(0))
            text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        elif isinstance(value, time):
            text = value.isoformat("microseconds").removesuffix(".000000")
        else:
            text = str(value).removesuffix(" 00:00:00")
        self._odd.setdefault(column, []).append((row, text))
        return text

    def sheet(self, merged: Sequence[tuple[int, int, int, int]]) -> Sheet:
        """Return the sheet; short rows are filled with empty cells up to the widest row."""
        width = max(self._widths, default=0)
        filled = sum(1 for each in self._widths if each)
        title = f"{self._name}, {filled:,} rows of {width:,} columns,"
        memory.require(2 * (self._size + filled * width), title, TableError)
        lines = [
            line + self._delimiter * (width - own) if own else line
            for line, own in zip(self._lines, self._widths, strict=True)
        ]
        lines.append("")
        return Sheet(
            name=self._name,
            text="\n".join(lines).encode(),
            delimiter=self._delimiter.encode(),
            breaks=tuple(self._breaks),
            odd=self._odd,
            merged=tuple(merged),
            separated=self._separated,
        )


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


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
        layout, choice = lay_out(sheet, own)
    except TableError as error:
        raise sheet.explained(error) from None
    if layout.decimal == b"," and options.decimal is None:
        # Texts have decimal commas: give the numbers of the sheet the same mark.
        return read_laid_out(path, options._replace(decimal=b","), lay_out, columns)
    sheet.require_usable(layout, columns(layout, choice))
    return sheet, sheet.placed(layout), choice


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
    place, wanted = split_name(path)
    require_seekable(place)
    mark = (options.decimal or b".").decode() if options else "."
    with place.open("rb") as file:
        _require_workbook(file, place)
        require_library(place.name, "read")
        try:
            book = _Workbook(file, place.name)
            return book.read(book.choose(wanted), mark)
        except (TableError, MemoryError, Warning):
            raise
        except Exception as wrong:  # of any type, from openpyxl
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


def require_library(path: str, use: str = "written") -> None:
    """Raise TableError if openpyxl, which reads and writes workbooks, is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        message = f"{path} can only be {use} with openpyxl: pip install 'geodomain[excel]'"
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
        match = cast("re.Match[str]", fields.match(text, at))
        at = match.end()
        if match[1] is not None:
            row.append((match[1].replace('""', '"'), True))
        else:
            row.append(((match[2] or match[4] or "").strip(" \t"), False))
        if match[3] != delimiter and match[4] is None:
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
            moment = datetime.fromisoformat(text)
            return moment if len(text) > 10 else moment.date()
    except ValueError:
        pass
    return None
