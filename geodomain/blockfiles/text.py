"""Block models as text tables: a stream, every byte of which comes back but for the new cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from geodomain.blockfiles import Destination, LabelChunk, Progress
from geodomain.frames import Frame
from geodomain.tables.columns import NewColumn, plan_splice
from geodomain.tables.files import Source, Target, open_source, open_target
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.options import TableOptions
from geodomain.tables.stream import relabel

# The head is looked for in so many bytes.
_PEEK = 1 << 20
_MARKS = {b",": "comma", b";": "semicolon", b"\t": "tab", b"|": "bar", b".": "point"}


@contextmanager
def open_model(path: str, options: TableOptions) -> Iterator[TextModel]:
    """Open a table and read its head."""
    with open_source(path) as source:
        head = source.peek(_PEEK)
        layout = read_layout(head, options, name=source.name, whole=len(head) < _PEEK)
        yield TextModel(source, layout, options.encoding)


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

    def relabel(
        self,
        destination: Destination | None,
        columns: Sequence[NewColumn],
        label: LabelChunk,
        *,
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
        )
