"""Block models as text tables: a stream, every byte of which comes back but for the new cells."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.blockfiles import Destination, LabelChunk, Progress, Rows
from geodomain.errors import TableError
from geodomain.frames import Frame
from geodomain.tables.columns import NewColumn, plan_splice
from geodomain.tables.digest import Digest
from geodomain.tables.files import Source, Target, open_source, open_target
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.options import TableOptions
from geodomain.tables.pipeline import fill
from geodomain.tables.stream import relabel

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


class _Raw(io.RawIOBase):
    """A source as Python's own files are."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.readinto(memoryview(buffer))


class TextModel:
    """A text table whose head has been read; see `geodomain.blockfiles.BlockFile`."""

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
        return tuple(self._layout.names[column] for column in self._layout.sizes or ())

    @property
    def frame(self) -> Frame:
        """What the coordinates stand for."""
        return self._layout.frame

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
                io.BufferedReader(_Raw(self._source)),
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
        sizes = numbers[:, 3:] if self._layout.sizes else None
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

    def relabel(
        self,
        destination: Destination | None,
        columns: Sequence[NewColumn],
        label: LabelChunk,
        *,
        also: Sequence[int] = (),
        replace: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Copy the table with new cells."""
        with self._target(destination) as target:
            splice = plan_splice(
                self._layout, columns, replace=replace, encoding=self._encoding, name=self.name
            )
            relabel(
                self._source,
                target,
                self._layout,
                splice,
                label,
                also=also,
                threads=threads,
                progress=progress,
                before_commit=before_commit,
            )

    def _target(self, destination: Destination | None) -> AbstractContextManager[Target | None]:
        """Open what is written; without a destination there is nothing."""
        if destination is None:
            return nullcontext()
        return open_target(
            destination.path,
            source=self._source,
            overwrite=destination.overwrite,
            in_place=destination.in_place,
            digest=destination.digest,
        )
