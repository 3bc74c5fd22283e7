"""Find the header line and the delimiter of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, NoReturn

from geodomain.errors import TableError
from geodomain.io.header import families
from geodomain.io.header.dialect import DELIMITERS, Row, cell_text, number, split_rows
from geodomain.io.header.encoding import UTF8_MARK
from geodomain.io.header.options import TableOptions

# A header further down than this is not looked for: preambles are short.
_HEAD_ROWS = 100

_QUOTED = re.compile(rb'"(?:[^"]|"")*"[ \t]*')


class TableHeader(NamedTuple):
    """The row of names, and the delimiter that makes it one."""

    delimiter: bytes
    row: Row
    names: tuple[str, ...]


def find_header(head: bytes, options: TableOptions, name: str, *, whole: bool) -> TableHeader:
    """Find the first row that names a centroid, under the delimiter that the rows agree with.

    Raises
    ------
    TableError
        Where no row does, saying what the columns seem to be; where a quote in it is not closed.
    """
    start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    delimiters = _candidates(head, start, options)
    rows = {
        delimiter: list(
            islice(split_rows(head, delimiter, start, whole=whole, name=name), _HEAD_ROWS)
        )
        for delimiter in delimiters
    }
    # A comment may hold the names (`# x y z`, or numpy's `# x,y,z`): only where no other row does.
    for comments in (False, True):
        found = [
            header
            for delimiter in delimiters
            if (header := _header(rows[delimiter], delimiter, options, comments=comments))
        ]
        if found:
            best = max(found, key=lambda header: _agreement(header, rows[header.delimiter]))
            _require_closed_quotes(best, name)
            return best
    _refuse(rows, options, name)


def _require_closed_quotes(header: TableHeader, table: str) -> None:
    """Refuse a name whose quote does not end with it: other readers would see other columns."""
    if header.row.cells[0].startswith(b"#"):
        return
    for cell, text in zip(header.row.cells, header.names, strict=True):
        if cell.startswith(b'"') and not _QUOTED.fullmatch(cell):
            message = (
                f"{table}, line {header.row.line}: the quote that opens the name "
                f"{text.splitlines()[0][:40]!r} is not closed at its end. Close it, or remove it."
            )
            raise TableError(message)


def _candidates(head: bytes, start: int, options: TableOptions) -> tuple[bytes, ...]:
    """Give the delimiters to try: the user's, the one of Excel's `sep=` line, or all of them."""
    if options.delimiter:
        return (options.delimiter,)
    first = head[start : start + 16].splitlines()[:1]
    if first and first[0].strip(b'"').lower().startswith(b"sep="):
        declared = first[0].strip(b'"')[4:5]
        if declared in DELIMITERS:
            return (declared,)
    return DELIMITERS


def _header(
    rows: Sequence[Row], delimiter: bytes, options: TableOptions, *, comments: bool
) -> TableHeader | None:
    """Find the first row that holds the columns that are asked for, or a family's."""
    for row in rows:
        if len(row.cells) < 3 or row.cells[0].startswith(b"#") is not comments:
            continue
        names = tuple(cell_text(cell, options.encoding) for cell in row.cells)
        if _names_centroid(names, options):
            return TableHeader(delimiter, row, names)
    return None


def _names_centroid(names: Sequence[str], options: TableOptions) -> bool:
    """Tell whether the names hold the user's columns, and a family's for the other axes."""
    plain = [families.plain_name(name) for name in names]
    wanted = [None if one is None else families.plain_name(one) for one in options.centroid]
    if any(one is not None and one not in plain for one in wanted):
        return False
    given = [None if one is None else plain.index(one) for one in wanted]
    return bool(families.matches(names, families.CENTROIDS, given))


def _agreement(header: TableHeader, rows: Sequence[Row]) -> tuple[float, int]:
    """Score a header: the share of rows with as many cells, then how many those are."""
    below = [len(row.cells) for row in rows if row.start > header.row.start]
    alike = sum(count == len(header.names) for count in below)
    return (alike / len(below) if below else 1.0), len(header.names)


def _refuse(rows: dict[bytes, list[Row]], options: TableOptions, name: str) -> NoReturn:
    """Say what is missing, in the row that looks most like a header."""
    guesses = [_likely(found, options.encoding) for found in rows.values()]
    names = max(guesses, key=len)
    for wanted in options.centroid:
        if wanted is not None and names:
            families.find_column(names, wanted, name)
    if not any(names):
        message = f"{name} has no header line within its first megabyte: is it a table of text?"
        raise TableError(message)
    if all(number(cell) is not None for cell in names):
        message = (
            f"{name} has no header line: it begins with numbers. Add one that names the columns, "
            "such as X,Y,Z."
        )
        raise TableError(message)
    if len(names) == 1 and len(names[0].split()) > 2:
        message = (
            f"{name} seems to be separated by blanks, which is not read; export it with commas, "
            "semicolons, tabs or pipes."
        )
        raise TableError(message)
    families.refuse_no_centroid(names, name)


def _likely(rows: Sequence[Row], encoding: str) -> tuple[str, ...]:
    """Give the cells of the first row that has as many of them as most rows have."""
    plain = [row for row in rows if not row.cells[0].startswith(b"#")] or list(rows)
    if not plain:
        return ()
    usual = Counter(len(row.cells) for row in plain).most_common(1)[0][0]
    likely = next(row for row in plain if len(row.cells) == usual)
    return tuple(cell_text(cell, encoding) for cell in likely.cells)
