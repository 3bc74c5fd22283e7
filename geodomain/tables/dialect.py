"""Text of a table: encoding, rows and cells of its first lines, and decimal marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from geodomain.errors import BinaryTableError, TableError
from geodomain.tables.numbers import BLANKS

UTF8_MARK = b"\xef\xbb\xbf"

_WIDE_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_FORMATS = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive", ""),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", ""),
    (b"PAR1", "a Parquet file", "name it .parquet, or "),
    (b"\x89HDF", "an HDF5 file", ""),
    (b"# vtk DataFile", "a VTK file", "name it .vtk, or "),
    (b"<VTKFile", "a VTK file", "name it .vti, .vtr or .vtu, or "),
    (b"<?xml", "an XML file", "name it .vti, .vtr or .vtu if it is VTK's, or "),
)
# Tab, line feed, form feed, carriage return and Ctrl-Z (an old end-of-file mark) count as text.
_CONTROLS = bytes({*range(1, 32)} - {*b"\t\n\f\r\x1a"})


def require_text(head: bytes, name: str) -> None:
    """Raise TableError unless a file begins with text whose ASCII characters take one byte each.

    UTF-8 and other encodings that keep ASCII are accepted. UTF-16, UTF-32, NUL bytes, many control
    characters and common other formats are refused.
    """
    if not head.removeprefix(UTF8_MARK).strip():
        message = f"{name} is empty: a table needs a header line and rows."
        raise TableError(message)
    for mark, what, way in _FORMATS:
        if head.startswith(mark):
            message = f"{name} is {what}, not a table of text; {way}export it as CSV."
            raise TableError(message)
    wide = _wide_encoding(head)
    if wide:
        message = f"{name} is {wide} text; save it as UTF-8 (in Excel: 'CSV UTF-8')."
        raise TableError(message)
    _require_no_control(head, name)


def _wide_encoding(head: bytes) -> str | None:
    """Return "UTF-16" or "UTF-32" if a byte order mark or NUL bytes show it, or else None."""
    for mark, what in _WIDE_MARKS:
        if head.startswith(mark):
            return what
    sample = head[: 4096 - len(head) % 4] if len(head) < 4096 else head[:4096]
    # ASCII has a NUL in every pair of bytes in UTF-16, and three in every four bytes in UTF-32,
    # always at the same places.
    lanes = sorted(sample[lane::4].count(0) * 4 / max(len(sample), 1) for lane in range(4))
    if lanes[0] < 0.2 and lanes[1] > 0.9:
        return "UTF-32"
    pairs = max(len(sample) // 2, 1)
    odd, even = sample[1::2].count(0) / pairs, sample[0::2].count(0) / pairs
    return "UTF-16" if max(odd, even) > 0.8 and min(odd, even) < 0.2 else None


def _require_no_control(head: bytes, name: str) -> None:
    """Raise TableError for a NUL byte, or if more than 1 byte in 500 is a control character."""
    nul = head.find(b"\x00")
    if nul >= 0:
        line = count_line_ends(head, 0, nul) + 1
        message = (
            f"{name} has a NUL byte in line {line}: the file is binary, or was cut off while it "
            "was written; export the table as CSV again."
        )
        raise BinaryTableError(message)
    controls = len(head) - len(head.translate(None, _CONTROLS))
    # A block model may have a few control characters in a comment.
    if controls * 500 > len(head):
        message = f"{name} is not text (it is full of control characters); export it as CSV."
        raise TableError(message)


def count_line_ends(head: bytes, start: int, end: int) -> int:
    """Count the line ends LF, CR LF and CR from one byte offset to another."""
    ends = head.count(b"\n", start, end) + head.count(b"\r", start, end)
    return ends - head.count(b"\r\n", start, end)


# Rows and cells of the head, as raw bytes.

DELIMITERS = (b",", b";", b"\t", b"|")

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(
    r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,})"
)
_MARKS = (_DECIMAL_COMMA, _DECIMAL_POINT)
_NUMBER = re.compile(rf"[+-]?\d+(?:[eE][+-]?\d+)?|{'|'.join(mark.pattern for mark in _MARKS)}")
# The mark may separate thousands, or come before three decimals.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


# Block models have hundreds of columns; thousands mean the wrong delimiter, or not a table.
_MOST_CELLS = 10_000

# Skip blank lines all at once, because a file may have millions.
_BLANK = re.compile(rb"(?: *(?:\r\n|[\r\n]))+")


class Row(NamedTuple):
    """One row of a table's first lines: its cells and its position.

    Attributes
    ----------
    cells : tuple of bytes
        The raw cells, quotes included.
    start, end : int
        Byte offsets of the content, without the line ending.
    following : int
        Byte offset after the line ending.
    line : int
        Number of the physical line in which the row starts, counted from 1.
    """

    cells: tuple[bytes, ...]
    start: int
    end: int
    following: int
    line: int


@cache
def _field_pattern(delimiter: bytes) -> re.Pattern[bytes]:
    """Return a pattern that matches one field, with quotes if its first byte is a quote."""
    stop = b"[^" + re.escape(delimiter) + rb"\r\n]*"
    return re.compile(rb'"(?:[^"]|"")*"' + stop + b"|" + stop)


@cache
def _plain_pattern(delimiter: bytes) -> re.Pattern[bytes]:
    """Return a pattern that matches one field, in which quotes are ordinary bytes."""
    return re.compile(b"[^" + re.escape(delimiter) + rb"\r\n]*")


def split_rows(
    head: bytes, delimiter: bytes, start: int, *, whole: bool, name: str = "the table"
) -> Iterator[Row]:
    """Yield the rows of `head` from the byte offset `start` on, without blank rows.

    Lines end in LF, CR LF or CR. If `head` is not the `whole` file, a last row without a line end
    is left out, because it may be incomplete.
    """
    line = 1 + count_line_ends(head, 0, start)
    while start < len(head):
        blank = _BLANK.match(head, start)
        if blank:
            line += count_line_ends(head, start, blank.end())
            start = blank.end()
            continue
        row = _one_row(head, delimiter, start, line, name)
        # A final CR may be the first half of a CR LF.
        last = row.end + 1 == len(head) and head[row.end :] == b"\r"
        if not whole and (row.following == row.end or last):
            return
        if len(row.cells) > 1 or row.cells[0].strip():
            yield row
        line += count_line_ends(head, start, row.following)
        start = row.following


def _one_row(head: bytes, delimiter: bytes, start: int, line: int, name: str) -> Row:
    """Split the row that begins at `start` into cells."""
    # A quote in a comment line does not open a quoted field.
    comment = head[start : start + 1] == b"#"
    pattern = _plain_pattern(delimiter) if comment else _field_pattern(delimiter)
    cells: list[bytes] = []
    end = start - 1
    while end < start or head[end : end + 1] == delimiter:
        if len(cells) > _MOST_CELLS:
            message = (
                f"{name}, line {line} has more than {_MOST_CELLS:,} cells: the file is not a table"
            )
            raise TableError(message)
        field = pattern.match(head, end + 1)
        cells.append(field[0] if field else b"")
        end += 1 + len(cells[-1])
    ending = 2 if head[end : end + 2] == b"\r\n" else 1
    return Row(tuple(cells), start, end, min(end + ending, len(head)), line)


def decoded(text: bytes, encoding: str) -> str:
    """Decode bytes; text that is not valid in `encoding` is read as Latin-1, which never fails.

    Therefore a table can be read even if its header has another encoding.
    """
    try:
        return text.decode(encoding)
    except UnicodeDecodeError:
        return text.decode("latin-1")


def cell_text(cell: bytes, encoding: str = "utf-8") -> str:
    """Return the text of a raw cell without outer blanks and quotes; inner "" becomes one quote."""
    text = decoded(cell, encoding).strip(BLANKS)
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"').strip(BLANKS)
    return text


def quote_cell(text: str, delimiter: bytes, encoding: str) -> bytes:
    """Encode the text of a new cell, and put it in quotes only if its characters need them.

    Raises
    ------
    TableError
        If `encoding` cannot represent `text`.
    """
    try:
        cell = text.encode(encoding)
    except UnicodeEncodeError:
        message = f"{text!r} cannot be written in {encoding}; choose another text or encoding=."
        raise TableError(message) from None
    special = any(mark in cell for mark in (delimiter, b'"', b"\n", b"\r"))
    if special or cell != cell.strip():
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def decimal_mark(
    cells: Sequence[str], columns: Sequence[Sequence[str]], name: str, delimiter: bytes
) -> bytes | None:
    """Return the decimal mark of a table, or None if its cells show none.

    `cells` are the coordinates of some rows, and `columns` holds all cells of the same rows, column
    by column. A mark followed by three digits, as in 1,410, may separate thousands. It counts as a
    decimal mark only if another number, such as 0,5 or 12,25, allows no other reading. If all
    coordinates are whole numbers, the numbers in `columns` decide, unless commas separate the
    fields. A column whose numbers may all have thousands separators does not decide. Its cells are
    refused when they are used.

    Raises
    ------
    TableError
        If coordinates have thousands separators, or both decimal commas and decimal points. If all
        marks in coordinates may be thousands separators. If coordinates are whole numbers, and
        other columns have both decimal commas and decimal points.
    """
    for cell in cells:
        if _THOUSANDS.fullmatch(cell):
            message = (
                f"{name} contains {cell!r} with thousands separators; export the table without "
                "them."
            )
            raise TableError(message)
    comma, point = _first(_DECIMAL_COMMA, cells), _first(_DECIMAL_POINT, cells)
    if comma and point:
        message = (
            f"{name} mixes decimal commas ({comma}) and decimal points ({point}); export the table "
            "with one decimal mark."
        )
        raise TableError(message)
    if not comma and not point:
        if delimiter != b",":
            comma, point = _marks_of_others(columns, name)
    elif not _certain(cells, comma or point):
        _require_witness(comma or point, columns, name, delimiter)
    return b"," if comma else b"." if point else None


def _certain(cells: Iterable[str], example: str) -> bool:
    """Return whether a cell shows that the comma or point in `example` is a decimal mark.

    A cell such as 12,005 does not show it, because its comma may separate thousands.
    """
    mark = _DECIMAL_COMMA if "," in example else _DECIMAL_POINT
    return any(mark.fullmatch(cell) and not _EITHER.fullmatch(cell) for cell in cells)


def _require_witness(
    example: str, columns: Sequence[Sequence[str]], name: str, delimiter: bytes
) -> None:
    """Raise TableError if a coordinate such as 12,005 may have thousands separators.

    A point counts as a decimal point unless another column shows decimal commas.
    """
    numbers = [column for column in map(_numbers, columns) if column]
    mark = "," if "," in example else "."
    if mark == ",":
        witness = next(filter(None, (_first(_DECIMAL_POINT, column) for column in columns)), "")
        if not witness and delimiter != b"," and any(_certain(each, example) for each in numbers):
            return
    else:
        commas = [cell for column in numbers for cell in column if "," in cell]
        if delimiter == b"," or not _certain(commas, "0,0"):
            return
        witness = next(cell for cell in commas if not _EITHER.fullmatch(cell))
    because = ""
    if witness:
        because = f" and {witness!r}"
    elif delimiter == b",":
        because = ", and commas separate the fields"
    message = (
        f"{name} contains {example!r}{because}: does {example!r} mean {example.replace(mark, '')} "
        f"or {example.replace(mark, '.')}? Export the table without thousands separators, or, if "
        f"the {'comma' if mark == ',' else 'point'} is the decimal mark, use decimal={mark!r}."
    )
    raise TableError(message)


def _marks_of_others(columns: Sequence[Sequence[str]], name: str) -> tuple[str, str]:
    """Return a cell with a decimal comma and a cell with a decimal point, searching all columns.

    A mark that no column uses gives "". If both marks occur, and the columns do not show which of
    them is the decimal mark, raise TableError.
    """
    numbers = [column for column in map(_numbers, columns) if column]
    comma, point = ([_first(mark, column) for column in numbers] for mark in _MARKS)
    with_comma, with_point = (next(filter(None, marks), "") for marks in (comma, point))
    cells = [cell for column in numbers for cell in column]
    if with_comma and not _certain(cells, with_comma):
        # Commas that may separate thousands are not decimal commas if points must be decimal.
        if not with_point or _certain(cells, with_point):
            return "", with_point
    elif not (with_comma and with_point):
        return with_comma, with_point
    message = (
        f"{name} contains {with_comma} in one column and {with_point} in another, and its "
        "coordinates do not show which is the decimal mark: export the table with one decimal "
        "mark, or use decimal=',' or decimal='.'."
    )
    raise TableError(message)


def _numbers(column: Sequence[str]) -> list[str]:
    """Return the cells of a column that contain digits; if one is not a number, return no cells.

    Therefore a column of dates, versions or lists of codes gives no cells. Words such as NA are
    ignored.
    """
    cells = [cell.lstrip("<") for cell in column if any(map(str.isdigit, cell))]
    return cells if all(_NUMBER.fullmatch(cell) for cell in cells) else []


def may_have_decimal_commas(text: bytes) -> bool:
    """Return whether a text has a comma between two digits, which may be a decimal comma."""
    return re.search(rb"[0-9],[0-9]", text) is not None


def _first(pattern: re.Pattern[str], cells: Sequence[str]) -> str:
    """Return the first cell that matches a pattern completely, or ""."""
    return next((cell for cell in cells if pattern.fullmatch(cell)), "")


def number(cell: str) -> float | None:
    """Return a cell as a number, with decimal comma or point, or None if it is not a number."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None
