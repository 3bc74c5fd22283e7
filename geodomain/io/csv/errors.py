"""Error messages about the rows of a table."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from geodomain.errors import counted

SNIPPET = 40


class Fault(IntEnum):
    """Name what the scanner can find wrong; the numbers are those of dialect.h."""

    NONE = 0
    RAGGED = 1
    WORD = 2
    RANGE = 3
    UNCLOSED = 4
    NUL = 5
    JUNK = 6


class Place(NamedTuple):
    """Say where in a table something is wrong."""

    table: str
    line: int  # 1-based physical line where the text in question starts
    last_line: int  # and where it ends
    text: bytes
    column: str = ""


def sentence(fault: Fault, place: Place, found: int, due: int, decimal: bytes) -> str:
    """Return what is wrong, where, and how to mend it.

    Parameters
    ----------
    fault : Fault
        What is wrong.
    place : Place
        Where.
    found, due : int
        For a ragged row, how many fields it has and how many the header has.
    decimal : bytes
        The decimal mark of the table.

    Returns
    -------
    str
        One or two sentences.
    """
    where = f"{place.table}, line {place.line}"
    match fault:
        case Fault.RAGGED:
            fields = counted(found, "field")
            return (
                f"{where}: {fields} where the header has {due}. Mend the row; a field that "
                "holds the delimiter must stand in double quotes."
            )
        case Fault.WORD:
            return (
                f"{where}: {place.column} is {_quoted(place.text)}, which is not a number"
                f"{_hint(place.text, decimal)}. Correct it, or, if that means that there is "
                f"none, say so with missing={_quoted(place.text.strip())}."
            )
        case Fault.RANGE:
            return (
                f"{where}: {place.column} is {_quoted(place.text)}, which is beyond the range "
                "of a number. Correct it, or leave the field empty."
            )
        case Fault.UNCLOSED:
            return (
                f"{where}: the quote that opens the field {_quoted(place.text)} is never "
                "closed. Close it, or remove it."
            )
        case Fault.NUL:
            return (
                f"{where}: there is a NUL byte, so the file is damaged or not plain text. "
                "Export it again as CSV in UTF-8."
            )
        case Fault.JUNK:
            return (
                f"{where}: the quoted field {_quoted(place.text)}{_closed(place)} is followed by "
                "text before the next delimiter. Double the quotes within the field, or "
                "close it in its place."
            )
        case Fault.NONE:
            return ""


def too_long(table: str, line: int, limit: int) -> str:
    """Return the sentence for a row that is longer than any row may be."""
    return (
        f"{table}, line {line}: the row that starts there is longer than {limit >> 20} MB. "
        "Check that the file is a table with line ends."
    )


def _quoted(text: bytes) -> str:
    """Return the start of a field, as it can be shown in one line."""
    shown = text[: 4 * SNIPPET].decode("utf-8", "replace")
    return repr(shown if len(shown) <= SNIPPET else shown[: SNIPPET - 3] + "...")


def _hint(text: bytes, decimal: bytes) -> str:
    other = b"," if decimal == b"." else b"."
    if other not in text or text.strip(b" \t+-.,0123456789eE"):
        return ""
    mark = f" where the decimal mark is {decimal.decode()!r} and nothing parts thousands"
    return f"{mark} (decimal='{other.decode()}' takes the other mark)"


def _closed(place: Place) -> str:
    return "" if place.line == place.last_line else f", closed in line {place.last_line},"
