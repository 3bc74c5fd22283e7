"""Parquet with columns more: its own bytes as they are, then new column chunks, then a new footer.

No column is unpacked to be packed again, and what the file has beside them, such as page indexes
and Bloom filters, stays where the footer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geodomain.errors import TableError
from geodomain.io.blocks.parquet_footer import MAGIC, extend, keys_of, known, tail
from geodomain.io.blocks.thrift import Fields, Reader
from geodomain.io.files.streams import Target

# So many bytes are copied at a time.
_PIECE = 1 << 22
# The length of the footer, and a magic number.
_END = 8
# A larger footer takes longer to extend than is saved.
_LARGEST_FOOTER = 1 << 22


class Original:
    """A Parquet file that is open, whose bytes can be kept.

    Parameters
    ----------
    raw : pyarrow.NativeFile
        The file.
    footer : dict
        What its footer says.
    end : int
        Where that begins.
    name : str
        What messages call it.
    columns : int
        How many it has.
    """

    def __init__(self, raw: Any, footer: Fields, end: int, name: str, columns: int) -> None:
        self._raw, self._footer, self._end = raw, footer, end
        self._name, self._columns = name, columns

    @contextmanager
    def appended(self, schema: Any, target: Target, options: dict[str, Any]) -> Iterator[Any]:
        """Write the file with columns more, and give what writes those.

        Parameters
        ----------
        schema : pyarrow.Schema
            Of the file with its new columns, which come last.
        target : Target
            Where it goes.
        options : dict
            Of the writer.
        """
        import pyarrow
        from pyarrow import parquet

        for begin in range(0, self._end, _PIECE):
            size = min(_PIECE, self._end - begin)
            data = self._raw.read_at(size, begin)
            if len(data) < size:
                message = f"{self._name} became shorter while it was read: label it again"
                raise TableError(message)
            target.write(memoryview(data))
        added = pyarrow.schema([schema.field(place) for place in range(self._columns, len(schema))])
        sink = _Sink(target)
        given = options | {"store_schema": False, "sorting_columns": None, "column_encoding": None}
        writer = parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), added, **given)
        try:
            yield writer
        finally:
            sink.hold()
            writer.close()
        rest, footer = sink.held_back()
        target.write(memoryview(rest))
        extend(self._footer, footer, self._end - len(MAGIC), _keys(schema, options))
        data = tail(self._footer)
        _require_sound(data, schema)
        target.write(memoryview(data))


def original(raw: Any, name: str, columns: int) -> Original | None:
    """Give a file of some columns whose bytes can be kept; None for one that is unusual."""
    size = raw.size()
    end = raw.read_at(_END, size - _END)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > min(_LARGEST_FOOTER, size - _END):
        return None
    footer = known(raw.read_at(length, size - _END - length))
    return None if footer is None else Original(raw, footer, size - _END - length, name, columns)


class _Sink:
    """A target as pyarrow wants it, for what a writer says between a file's head and its footer."""

    closed = False

    def __init__(self, target: Target) -> None:
        self._target, self._head = target, len(MAGIC)
        self._held: bytearray | None = None

    def write(self, data: Any) -> int:
        """Write all of it, or keep it."""
        view = memoryview(data).cast("B")
        size, skipped = view.nbytes, min(self._head, view.nbytes)
        self._head -= skipped
        if self._held is not None:
            self._held += view[skipped:]
        elif size > skipped:
            self._target.write(view[skipped:])
        return size

    def hold(self) -> None:
        """Keep what comes from now on."""
        self._held = bytearray()

    def held_back(self) -> tuple[bytes, Fields]:
        """Give what was kept of the columns, and the footer."""
        held = bytes(self._held or b"")
        length = int.from_bytes(held[-_END:-4], "little")
        return held[: -_END - length], Reader(held[-_END - length : -_END]).struct()

    def flush(self) -> None:
        """Leave it to the target, which is flushed at the end."""

    def close(self) -> None:
        """Leave the target open, which has its own end."""


def _keys(schema: Any, options: dict[str, Any]) -> Any:
    """Give the keys and values that a file of a schema has."""
    from pyarrow import BufferOutputStream, parquet

    stream = BufferOutputStream()
    parquet.ParquetWriter(stream, schema, store_schema=options["store_schema"]).close()
    data = stream.getvalue().to_pybytes()
    length = int.from_bytes(data[-_END:-4], "little")
    return keys_of(Reader(data[-_END - length : -_END]).struct())


def _require_sound(data: bytes, schema: Any) -> None:
    """Have pyarrow read the end of the file, before it is put in place."""
    from pyarrow import BufferReader, parquet

    found = parquet.ParquetFile(BufferReader(MAGIC + data)).schema_arrow
    if found.names != schema.names:
        message = f"a footer for {schema.names} says {found.names}"
        raise RuntimeError(message)
