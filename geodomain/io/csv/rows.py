"""A whole text table in memory: any of its fields, and its text with cells added to the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.csv.scanner import ColumnCells, Scanner
from geodomain.io.csv.stream import edit
from geodomain.io.csv.text_column import TextColumn
from geodomain.io.header.dialect import cell_text
from geodomain.io.header.encoding import count_line_ends
from geodomain.io.header.layout import TableLayout

Edits = Sequence[tuple[int, int, bytes]]
_MOST = 2**32 - 1  # bytes of a text that the scanner takes at once


class TextRows:
    """The rows of a table that is in memory as a whole.

    Parameters
    ----------
    text : bytes
        The file, decompressed, from its first byte.
    layout : TableLayout
        How it is written; its `xyz` may be empty.
    name : str
        What messages call it.
    fields : sequence of int
        Those that are asked for.
    threads : int, optional
        For scanning.
    """

    def __init__(
        self,
        text: bytes,
        layout: TableLayout,
        name: str,
        fields: Sequence[int],
        *,
        threads: int | None = None,
    ) -> None:
        if len(text) > _MOST:
            message = f"{name} is larger than 4 GB: split it by holes"
            raise TableError(message)
        self.text, self.layout, self.name = text, layout, name
        self._body = np.frombuffer(text, np.uint8)[layout.data_start :]
        self._scanner = Scanner(layout, name, also=list(dict.fromkeys(fields)), threads=threads)
        self.count = self._scanner.scan(self._body, final=True).rows

    def __len__(self) -> int:
        """Count the rows."""
        return self.count

    def column(self, field: int) -> TextColumn:
        """Return a field as conditions take it."""
        return self._scanner.column(field)

    def cell(self, field: int, row: int) -> bytes:
        """Return the bytes of one cell, without its quotes."""
        begin, end = self._scanner.places(field)[row].tolist()
        return self._body[begin:end].tobytes()

    def texts(self, field: int) -> tuple[NDArray[np.intp], list[str]]:
        """Return the texts of a field: the place of each row's among the different ones.

        Neighbours are compared as bytes first, since rows of one hole follow each other.
        """
        places = self._scanner.places(field)
        if not len(places):
            return np.empty(0, np.intp), []
        first = _run_starts(self._body, places)
        known: dict[str, int] = {}
        codes = np.empty(len(first), np.intp)
        for run, (begin, end) in enumerate(places[first].tolist()):
            text = cell_text(self._body[begin:end].tobytes(), self.layout.encoding)
            codes[run] = known.setdefault(text.replace('""', '"'), len(known))
        lengths = np.diff(np.append(first, len(places)))
        return np.repeat(codes, lengths), list(known)

    def spelled(self, field: int) -> list[str]:
        """Return the text of a field in every row, without quotes and outer blanks."""
        body, encoding = self._body.tobytes(), self.layout.encoding
        places = self._scanner.places(field).tolist()
        return [cell_text(body[begin:end], encoding) for begin, end in places]

    def line(self, row: int) -> int:
        """Return the physical line in which a row ends, from 1."""
        end = int(self._scanner.ends()[row])
        return self.layout.data_line + count_line_ends(self._body[:end].tobytes(), 0, end)

    def spans(self) -> NDArray[np.int64]:
        """Return where the content of each row is, (n, 2) bytes of the body; needs field 0."""
        begins = self._scanner.places(0)[:, 0].copy()
        quoted = (begins > 0) & (self._body[np.maximum(begins - 1, 0)] == ord('"'))
        return np.stack([begins - quoted, self._scanner.ends()], axis=1)

    def places(self, field: int) -> NDArray[np.int64]:
        """Return where a field is in each row, (n, 2) bytes of the body, quotes left out."""
        return self._scanner.places(field)

    @property
    def body(self) -> bytes:
        """The text below the head."""
        return self._body.tobytes()

    def with_cells(
        self,
        head: Edits,
        vocabulary: Sequence[Sequence[bytes]],
        codes: Sequence[NDArray[np.int32]],
    ) -> bytes:
        """Return the text with new cells at the end of its rows, and a head that is edited."""
        start = self.layout.data_start
        columns = [ColumnCells(cells, self.layout.delimiter) for cells in vocabulary]
        added = self._scanner.splice(columns, codes, lambda size: np.empty(size, np.uint8))
        return edit(self.text[:start], head) + added.tobytes()


def _run_starts(body: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the rows whose bytes differ from those of the row before."""
    begins, lengths = places[:, 0], places[:, 1] - places[:, 0]
    same = lengths[1:] == lengths[:-1]
    for offset in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(same & (lengths[1:] > offset))
        if not rows.size:
            break
        differ = body[begins[rows + 1] + offset] != body[begins[rows] + offset]
        same[rows[differ]] = False
    return np.flatnonzero(np.concatenate([[True], ~same]))
