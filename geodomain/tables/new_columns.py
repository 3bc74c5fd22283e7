"""New columns of a table: changes to its header lines, and the text of each label's cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from geodomain.errors import TableError
from geodomain.tables.dialect import cell_text, quote_cell
from geodomain.tables.layout import TableLayout
from geodomain.tables.text import NewCells, Splice
from geodomain.tables.vendors import HeadRow, find_column, plain_name, type_word

# Characters that XML 1.0 cannot hold; NUL ends a VTK text, and UTF-8 has no lone surrogates.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def unwritable(text: str) -> str:
    r"""Return the first character of a text that some format cannot hold, or "" if all can.

    Examples
    --------
    >>> unwritable("OX\x01IDE"), unwritable("Zóna 1\n")
    ('\x01', '')
    """
    match = _UNWRITABLE.search(text)
    return match[0] if match else ""


@dataclass(frozen=True)
class NewColumn:
    """A column to be added, or an existing column to be rewritten.

    Attributes
    ----------
    name : str
        Name in the header.
    cells : tuple of str
        The distinct texts of the cells. A row's code is an index into them. Empty if the column is
        `measured`.
    default : str
        The column's cell in a vendor's row of default values.
    numeric : bool
        Whether the column's cell in a vendor's row of types is a number type.
    measured : bool
        Whether each row has its own float64 number instead of a code.

    Raises
    ------
    TableError
        For a name or text with a character that some format cannot hold.
    """

    name: str
    cells: tuple[str, ...] = ()
    default: str = ""
    numeric: bool = False
    measured: bool = False

    def __post_init__(self) -> None:
        """Refuse characters that would damage a file."""
        require_writable(self.name, *(() if self.numeric else self.cells))

    def room(self, count: int) -> NewCells:
        """Return an empty array for the codes or values of `count` rows."""
        return np.empty(count) if self.measured else np.empty(count, np.int32)


def plan_splice(
    layout: TableLayout,
    columns: Sequence[NewColumn],
    *,
    replace: bool = False,
    encoding: str = "utf-8",
    name: str = "table",
) -> Splice:
    """Plan the edits that add columns to a table, or that rewrite one of its columns.

    Parameters
    ----------
    layout : TableLayout
        Layout of the input table.
    columns : sequence of NewColumn
        The new columns, in the order in which they are added at the end of each row.
    replace : bool
        Rewrite an existing column with the only new column, instead of adding columns.
    encoding : str
        Encoding of the new cells.
    name : str
        Name of the table in messages.

    Returns
    -------
    Splice

    Raises
    ------
    TableError
        If a column already exists, if the column to be replaced does not exist, or if a text
        cannot be encoded.
    """
    vocabulary = tuple(
        tuple(quote_cell(cell, layout.delimiter, encoding) for cell in column.cells)
        for column in columns
    )
    numbered = tuple(place for place, column in enumerate(columns) if column.measured)
    geometry = (*layout.xyz, *(layout.sizes or ()))
    field = place_columns(layout.names, geometry, columns, replace=replace, name=name)
    if field is not None:
        return Splice(head=(), vocabulary=vocabulary, replace=field, numbered=numbered)
    edits = (_edit(head, layout, columns, encoding) for head in layout.head_rows)
    head = tuple(each for each in edits if each)
    return Splice(head=head, vocabulary=vocabulary, replace=None, numbered=numbered)


def place_columns(
    names: Sequence[str],
    geometry: Sequence[int],
    columns: Sequence[NewColumn],
    *,
    replace: bool,
    name: str,
) -> int | None:
    """Return the index of the column to be replaced, or None if columns are added at the end.

    Raises
    ------
    TableError
        If a new column already exists, if the column to be replaced does not exist, or if it is
        one of the `geometry` columns, which hold coordinates and sizes.
    """
    if not replace:
        _refuse_existing(names, columns, name)
        return None
    (column,) = columns
    field = find_column(names, column.name, name)
    if field in geometry:
        message = (
            f"{name}: {names[field]!r} holds the coordinates or sizes of the blocks, so it cannot "
            "be replaced by labels. Name another column with column=."
        )
        raise TableError(message)
    return field


def require_writable(name: str, *cells: str) -> None:
    """Raise TableError if a column's name or label has a character that some format cannot hold."""
    for what, text in (("column name", name), *(("label", cell) for cell in cells)):
        if character := unwritable(text):
            message = (
                f"the {what} {text!r} contains the character {character!r}, which files cannot "
                f"hold: choose another {what}"
            )
            raise TableError(message)


def refuse_old_value(name: str, reason: Exception) -> NoReturn:
    """Raise TableError for an existing value that must be kept, but that is not a code.

    A column of codes cannot hold such a value.
    """
    message = (
        f"column {name!r} would keep an existing value that is not a code ({reason}): write names "
        "(leave out codes=True), or use no domain that keeps existing values"
    )
    raise TableError(message) from None


def _refuse_existing(names: Sequence[str], columns: Sequence[NewColumn], table: str) -> None:
    """Raise TableError if a new column has the same name as another column, old or new."""
    old = {plain_name(name): index for index, name in enumerate(names)}
    new: set[str] = set()
    for column in columns:
        plain = plain_name(column.name)
        if plain in old:
            twin = names[old[plain]]
            mend = (
                "rename the mesh or solid whose values the new column would hold."
                if column.measured
                else f"choose another name with column=, or rewrite it with column={twin!r}, "
                "replace=True."
            )
            message = f"{table} already has a column {twin!r} (column {old[plain] + 1}): {mend}"
            raise TableError(message)
        if plain in new:
            message = (
                f"two new columns would be called {column.name!r}; rename a solid, or choose "
                "another name with column=."
            )
            raise TableError(message)
        new.add(plain)


def _edit(
    head: HeadRow, layout: TableLayout, columns: Sequence[NewColumn], encoding: str
) -> tuple[int, int, bytes] | None:
    """Return the edit that adds cells to a header row, or None if the row stays as it is."""
    lacking = len(layout.names) - head.fields
    if head.kind == "other" and lacking:
        return None
    words = [cell_text(cell) for cell in head.row.cells]
    cells = [_head_cell(head.kind, words, column) for column in columns]
    new = [quote_cell(cell, layout.delimiter, encoding) for cell in cells]
    # A short row gets empty cells first, so that the new cells are below their names.
    text = layout.delimiter * max(lacking, 0) + b"".join(layout.delimiter + cell for cell in new)
    return head.row.end, head.row.end, text


def _head_cell(kind: str, words: Sequence[str], column: NewColumn) -> str:
    """Return the text of a new column's cell in a header row, such as the row of types."""
    if kind == "type":
        return type_word(words[1:] or words, numeric=column.numeric)
    return {"default": column.default, "other": ""}.get(kind, column.name)
