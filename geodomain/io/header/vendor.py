"""Rows that vendors put between the names and the data, and what a new column says in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from geodomain.io.header.dialect import Row, cell_text, number

# "names" is the header itself; "other" describes the whole model and not its columns.
Kind = Literal["names", "description", "type", "default", "other"]

_VULCAN_TITLES: tuple[tuple[str, Kind], ...] = (
    ("variable desc", "description"),
    ("variable type", "type"),
    ("variable def", "default"),
)
_VULCAN_TYPES = {"name", "byte", "short", "integer", "int", "long", "float", "double", "bit"}
_MICROMINE_TYPE = re.compile(
    r"([cnrfsldb]|char(acter)?|numeric|real|float|short|long|double|int(eger)?|text|string|date"
    r"|time|datetime|boolean|bool)\s*([:( ]\s*\d+.*)?",
    re.IGNORECASE,
)


class HeadRow(NamedTuple):
    """A row of the head that has cells, and what it says of the columns."""

    kind: Kind
    row: Row

    @property
    def fields(self) -> int:
        """Count the cells."""
        return len(self.row.cells)


def vendor_rows(rows: Iterable[Row], field_count: int, encoding: str) -> list[HeadRow]:
    """Recognise the rows below the names of a table of `field_count` columns.

    Vulcan writes a description, a type and a default row; Micromine a row of types, then, for a
    block model, a row of seven cells with its origin, and one of six where it is rotated.
    """
    first = list(islice(rows, 3))
    texts = [[cell_text(cell, encoding) for cell in row.cells] for row in first]
    titled = [(row, _vulcan_kind(text)) for row, text in zip(first, texts, strict=True)]
    if titled and titled[0][1]:
        return [HeadRow(kind, row) for row, kind in titled if kind]
    if len(texts) == 3 and _is_untitled_vulcan(texts):
        kinds: tuple[Kind, ...] = ("description", "type", "default")
        return [HeadRow(kind, row) for row, kind in zip(first, kinds, strict=True)]
    if texts and _is_micromine_types(texts[0]):
        return [HeadRow("type", first[0]), *_micromine_model(first[1:], texts, field_count)]
    return []


def _vulcan_kind(texts: Sequence[str]) -> Kind | None:
    """Tell what a row that begins with 'Variable descriptions:' or its like is."""
    title = texts[0].casefold()
    return next((kind for start, kind in _VULCAN_TITLES if title.startswith(start)), None)


def _is_untitled_vulcan(texts: Sequence[Sequence[str]]) -> bool:
    """Tell Vulcan's three rows where an editor has lost their titles: by the types alone.

    Centroids that have types have defaults too, which are numbers, but one number.
    """
    words = [cell.casefold() for cell in texts[1] if cell]
    defaults = texts[2][:3]
    alike = all(texts[1][:3]) and len(set(defaults)) == 1
    checked = [*texts[0][:3], *texts[1][:3], *(() if alike else defaults)]
    no_numbers = all(number(cell) is None for cell in checked)
    return bool(words) and no_numbers and set(words) <= _VULCAN_TYPES


def _is_micromine_types(texts: Sequence[str]) -> bool:
    """Tell a row that holds nothing but field types."""
    return len(texts) > 2 and all(_MICROMINE_TYPE.fullmatch(cell) for cell in texts)


def _micromine_model(
    rows: Sequence[Row], texts: Sequence[Sequence[str]], field_count: int
) -> list[HeadRow]:
    """Recognise Micromine's origin row and, after it alone, its rotation row."""
    types = texts[0]
    if len(texts) < 2 or not _is_origin(texts[1], types, field_count):
        return []
    found = [HeadRow("other", rows[0])]
    if len(texts) > 2 and _is_rotation(texts[2], field_count):
        found.append(HeadRow("other", rows[1]))
    return found


def _is_origin(cells: Sequence[str], types: Sequence[str], field_count: int) -> bool:
    """Tell origin and parent size of each axis and a block position, from a row of blocks."""
    cells = _without_padding(cells)
    if len(cells) != 7 or any(number(cell) is None for cell in cells[:6]):
        return False
    # A table of seven columns has blocks of seven cells: only a word where a number is due tells.
    return field_count != 7 or (number(cells[6]) is None and types[6].casefold()[0] != "c")


def _is_rotation(cells: Sequence[str], field_count: int) -> bool:
    """Tell three angles and a pivot, from a row of blocks."""
    cells = _without_padding(cells)
    numbers = [number(cell) for cell in cells]
    return len(cells) == 6 and field_count != 6 and None not in numbers


def _without_padding(cells: Sequence[str]) -> Sequence[str]:
    """Leave out the empty cells that a spreadsheet adds to a short row."""
    filled = [index for index, cell in enumerate(cells) if cell]
    return cells[: filled[-1] + 1] if filled else ()


class MicromineModel(NamedTuple):
    """What Micromine writes of a block model below the types of its columns.

    Attributes
    ----------
    origin, parents : tuple of float
        The model's lowest corner and the size of its parent blocks.
    position : str
        Which point of each block its coordinates are.
    angles, pivot : tuple of float
        Of the rotation row: degrees about Z, X and Y, and the point that stays. Empty without one.
    """

    origin: tuple[float, ...]
    parents: tuple[float, ...]
    position: str
    angles: tuple[float, ...] = ()
    pivot: tuple[float, ...] = ()


def micromine_model(rows: Sequence[HeadRow], encoding: str) -> MicromineModel | None:
    """Read Micromine's origin row and its rotation row, if they are there."""
    others = [head for head in rows if head.kind == "other"]
    if not others:
        return None
    texts = [[cell_text(cell, encoding) for cell in head.row.cells] for head in others]
    values = [number(cell) or 0.0 for cell in texts[0][:6]]
    turned = [number(cell) or 0.0 for cell in texts[1][:6]] if len(texts) > 1 else []
    return MicromineModel(
        origin=tuple(values[::2]),
        parents=tuple(values[1::2]),
        position=texts[0][6],
        angles=tuple(turned[:3]),
        pivot=tuple(turned[3:]),
    )


def type_word(cells: Sequence[str], *, numeric: bool) -> str:
    """Say, in the words of a row of types, that a new column holds numbers or names."""
    words = {cell.casefold() for cell in cells if cell}
    if words & {"name", "double", "byte"} or not all(map(_MICROMINE_TYPE.fullmatch, words)):
        return "integer" if numeric else "name"
    if all(len(re.sub(r"[\W\d]", "", word)) == 1 for word in words):
        return "N" if numeric else "C"
    return "NUMERIC" if numeric else "CHARACTER"
