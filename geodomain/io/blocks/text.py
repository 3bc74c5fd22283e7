"""Block models as text tables: a stream, every byte of which comes back but for the new cells."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Floats, Relabelling, Rows
from geodomain.io.blocks.rewriting.space import TableSpace
from geodomain.io.blocks.rewriting.task import Rewriting
from geodomain.io.blocks.rewriting.text import rewrite_text
from geodomain.io.csv.new_columns import plan_splice
from geodomain.io.csv.stream import relabel
from geodomain.io.files.digest import Digest
from geodomain.io.files.pipeline import fill
from geodomain.io.files.sources import Source, open_source
from geodomain.io.header.frames import Frame, shortest
from geodomain.io.header.layout import TableLayout, read_layout
from geodomain.io.header.options import TableOptions

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# The head is looked for in so many bytes.
_PEEK = 1 << 20
# So many rows are read at a time for a picture.
_ROWS = 1 << 18
_MARKS = {b",": "comma", b";": "semicolon", b"\t": "tab", b"|": "bar", b".": "point"}


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[TextModel]:
    """Open a table and read its head."""
    with open_source(path, digest=digest) as source:
        head = source.peek(_PEEK)
        layout = read_layout(head, options, name=source.name, whole=len(head) < _PEEK)
        yield TextModel(source, layout, options.encoding)


class _SourceAsFile(io.RawIOBase):
    """A source as Python's own files are."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._source.readinto(memoryview(buffer))


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
        """Give blocks and their texts, read by pandas: nothing exact hangs on them."""
        import pandas

        layout = self._layout
        wanted = [*layout.xyz, *(layout.sizes or ()), layout.names.index(column)]
        fill(self._source, memoryview(bytearray(layout.data_start)))
        try:
            chunks = pandas.read_csv(
                io.BufferedReader(_SourceAsFile(self._source)),
                sep=layout.delimiter.decode(),
                header=None,
                names=list(range(len(layout.names))),
                usecols=wanted,
                dtype=str,
                keep_default_na=False,
                encoding=self._encoding,
                encoding_errors="replace",
                chunksize=_ROWS,
            )
            for chunk in chunks:
                yield self._row_chunk(chunk, wanted)
        except pandas.errors.ParserError as error:
            message = f"{self.name} cannot be read ({error}): is a row of another length?"
            raise TableError(message) from None

    def _row_chunk(self, chunk: Any, wanted: Sequence[int]) -> Rows:
        """Turn a chunk of texts into centroids, sizes and labels."""
        *numeric, texts = (chunk[field].str.strip().to_numpy(str) for field in wanted)
        numbers = np.stack([self._numbers(cells) for cells in numeric], axis=1)
        sizes = self.frame.sized(numbers[:, :3], numbers[:, 3:] if self._layout.sizes else None)
        return self.frame.centroids(numbers[:, :3], sizes), sizes, texts

    def _numbers(self, cells: NDArray[np.str_]) -> NDArray[np.float64]:
        """Read numbers, NaN where there is none."""
        import pandas

        decimal = self._layout.decimal.decode()
        found = pandas.to_numeric(
            pandas.Series(np.char.replace(cells, decimal, ".")), errors="coerce"
        ).to_numpy(np.float64)
        missing = np.isin(found, self._layout.missing)
        return np.where(missing, np.nan, found)

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
