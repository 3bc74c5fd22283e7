"""New columns of a table: edits of its head, and the cells that codes stand for."""

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

# What XML 1.0 has no way to say; NUL ends texts of VTK, and UTF-8 has no halves of surrogates.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def unwritable(text: str) -> str:
    r"""Return the first character of a text that some format cannot hold, or nothing.

    Examples
    --------
    >>> unwritable("OX\x01IDE"), unwritable("Zóna 1\n")
    ('\x01', '')
    """
    found = _UNWRITABLE.search(text)
    return found[0] if found else ""


@dataclass(frozen=True)
class NewColumn:
    """A column to be added, or to be rewritten where it stands.

    Attributes
    ----------
    name : str
        What the header calls it.
    cells : tuple of str
        The cells that codes 0, 1, 2 ... stand for; none where it is measured.
    default : str
        What a row of defaults says of it.
    numeric : bool
        Whether a row of types calls it a number.
    measured : bool
        Whether each row has a number of its own, float64, in the place of a code.

    Raises
    ------
    TableError
        For a name or a text that some format cannot hold.
    """

    name: str
    cells: tuple[str, ...] = ()
    default: str = ""
    numeric: bool = False
    measured: bool = False

    def __post_init__(self) -> None:
        """Refuse what a file would be damaged by."""
        require_writable(self.name, *(() if self.numeric else self.cells))

    def room(self, count: int) -> NewCells:
        """Return an array for its codes or values."""
        return np.empty(count) if self.measured else np.empty(count, np.int32)


def plan_splice(
    layout: TableLayout,
    columns: Sequence[NewColumn],
    *,
    replace: bool = False,
    encoding: str = "utf-8",
    name: str = "table",
) -> Splice:
    """Work out the edits that give a table its new columns.

    Parameters
    ----------
    layout : TableLayout
        Of the table as it is.
    columns : sequence of NewColumn
        In the order in which they are added at the end of each row.
    replace : bool
        Rewrite the one column where it stands instead; it must be there.
    encoding : str
        Of the new cells.
    name : str
        What error messages call the table.

    Returns
    -------
    Splice

    Raises
    ------
    TableError
        Where a column is there already, or not there to be replaced, or cannot be encoded.
    """
    vocabulary = tuple(
        tuple(quote_cell(cell, layout.delimiter, encoding) for cell in column.cells)
        for column in columns
    )
    numbered = tuple(place for place, column in enumerate(columns) if column.measured)
    taken = (*layout.xyz, *(layout.sizes or ()))
    field = place_columns(layout.names, taken, columns, replace=replace, name=name)
    if field is not None:
        return Splice(head=(), vocabulary=vocabulary, replace=field, numbered=numbered)
    edits = (_edit(head, layout, columns, encoding) for head in layout.head_rows)
    head = tuple(each for each in edits if each)
    return Splice(head=head, vocabulary=vocabulary, replace=None, numbered=numbered)


def place_columns(
    names: Sequence[str],
    taken: Sequence[int],
    columns: Sequence[NewColumn],
    *,
    replace: bool,
    name: str,
) -> int | None:
    """Give the place of the column that is replaced, or None where new ones are added at the end.

    Raises
    ------
    TableError
        Where a column is there already, not there to be replaced, or one of those `taken`, which
        labels come from.
    """
    if not replace:
        _refuse_existing(names, columns, name)
        return None
    (column,) = columns
    field = find_column(names, column.name, name)
    if field in taken:
        message = (
            f"{name}: {names[field]!r} holds the coordinates or sizes of the blocks and "
            "cannot be replaced by labels."
        )
        raise TableError(message)
    return field


def require_writable(name: str, *cells: str) -> None:
    """Raise TableError for the name of a new column, or a text in it, that no file can hold."""
    for what, text in (("the name of a column", name), *(("a label", cell) for cell in cells)):
        if character := unwritable(text):
            message = (
                f"{text!r} is to be {what} and has the character {character!r}, which files "
                "cannot hold: choose another"
            )
            raise TableError(message)


def refuse_kept(name: str, reason: Exception) -> NoReturn:
    """Raise TableError where a cell that is kept cannot stand in a column of codes."""
    message = (
        f"a cell of {name!r} that is kept is no code ({reason}): write names, without "
        "codes=True, or let no domain keep it"
    )
    raise TableError(message) from None


def _refuse_existing(names: Sequence[str], columns: Sequence[NewColumn], table: str) -> None:
    """Raise TableError where a new column has the name of another, old or new."""
    old = {plain_name(name): index for index, name in enumerate(names)}
    new: set[str] = set()
    for column in columns:
        plain = plain_name(column.name)
        if plain in old:
            twin = names[old[plain]]
            mend = (
                "give the mesh or solid that it is about another name."
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
    """Give the insertion at the end of a row of the head, or None where the row stays as it is."""
    lacking = len(layout.names) - head.fields
    if head.kind == "other" and lacking:
        return None
    words = [cell_text(cell) for cell in head.row.cells]
    cells = [_head_cell(head.kind, words, column) for column in columns]
    new = [quote_cell(cell, layout.delimiter, encoding) for cell in cells]
    # A short row is filled up first, so that the new cells stand below their names.
    text = layout.delimiter * max(lacking, 0) + b"".join(layout.delimiter + cell for cell in new)
    return head.row.end, head.row.end, text


def _head_cell(kind: str, words: Sequence[str], column: NewColumn) -> str:
    """Say what a row of the head has to say of a new column."""
    if kind == "type":
        return type_word(words[1:] or words, numeric=column.numeric)
    return {"default": column.default, "other": ""}.get(kind, column.name)
