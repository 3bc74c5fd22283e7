"""Block models as text tables: a stream, every byte of which comes back but for the new cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from geodomain.io.blocks.block_file import Floats, Relabelling, Rows
from geodomain.io.blocks.rewriting.space import TableSpace
from geodomain.io.blocks.rewriting.task import Rewriting
from geodomain.io.blocks.rewriting.text import rewrite_text
from geodomain.io.conditions import Column
from geodomain.io.csv.new_columns import plan_splice
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.csv.stream import relabel
from geodomain.io.files.digest import Digest
from geodomain.io.files.sources import Source, open_source
from geodomain.io.header.frames import Frame, shortest
from geodomain.io.header.layout import TableLayout, read_layout
from geodomain.io.header.options import TableOptions

# The head is looked for in so many bytes.
_PEEK = 1 << 20
_MARKS = {b",": "comma", b";": "semicolon", b"\t": "tab", b"|": "bar", b".": "point"}


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[TextModel]:
    """Open a table and read its head."""
    with open_source(path, digest=digest) as source:
        head = source.peek(_PEEK)
        layout = read_layout(head, options, name=source.name, whole=len(head) < _PEEK)
        yield TextModel(source, layout, options.encoding)


class TextModel:
    """A text table whose head has been read; see `geodomain.io.blocks.BlockFile`."""

    memory, writing = 75_000_000, 0.0

    def __init__(self, source: Source, layout: TableLayout, encoding: str) -> None:
        self._source, self._layout, self._encoding = source, layout, encoding
        self.name = source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in the header."""
        return self._layout.names

    @property
    def centroid(self) -> tuple[str, ...]:
        """The columns of the coordinates."""
        return tuple(self._layout.names[column] for column in self._layout.xyz)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns of the block sizes."""
        fixed = tuple(shortest(size) for size in self.frame.fixed or ())
        return fixed or tuple(self._layout.names[column] for column in self._layout.sizes or ())

    @property
    def frame(self) -> Frame:
        """What the coordinates stand for."""
        return self._layout.frame

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges."""
        return self.frame.axes

    @property
    def constants(self) -> dict[int, float]:
        """The columns of a Datamine prototype."""
        return self._layout.constants

    def facts(self) -> dict[str, str]:
        """Say how the text is written."""
        kinds = [head.kind for head in self._layout.head_rows[1:]]
        return {
            "format": "text, gzip" if self._source.compressed else "text",
            "delimiter": _MARKS[self._layout.delimiter],
            "decimal mark": _MARKS[self._layout.decimal],
            "first row of data": f"line {self._layout.data_line}",
            "vendor rows": ", ".join(kinds) or "none",
        }

    def rows(self, column: str) -> Iterator[Rows]:
        """Give blocks and their texts, of which quotes and outer blanks are left out."""
        place = self._layout.names.index(column)
        chunks: list[Rows] = []

        def add(
            points: Floats, sizes: Floats | None, cells: Callable[[int], Column]
        ) -> Sequence[NewCells]:
            spelled, codes = cells(place).spellings()
            texts = np.array([text.replace('""', '"') for text in spelled], np.str_)
            chunks.append((points.copy(), None if sizes is None else sizes.copy(), texts[codes]))
            return ()

        self.relabel(Relabelling(add, also=[place]))
        yield from chunks

    @property
    def space(self) -> TableSpace:
        """The frame of its blocks."""
        return TableSpace(self.frame)

    def rewrite(self, task: Rewriting) -> None:
        """Write the table with other rows in the place of its own."""
        rewrite_text(self._source, self._layout, self._encoding, task)

    def relabel(self, task: Relabelling) -> None:
        """Copy the table with new cells."""
        with task.open_target(self._source) as target:
            splice = plan_splice(
                self._layout,
                task.columns,
                replace=task.replace,
                encoding=self._encoding,
                name=self.name,
            )
            relabel(
                self._source,
                target,
                self._layout,
                splice,
                task.label,
                also=task.also,
                threads=task.threads,
                progress=task.progress,
                before_commit=task.before_commit,
            )
