"""Blocks with their columns in memory, written as another kind of file than they came in."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.streams import Target
from geodomain.formats.block_file import NewArrays, Values, as_category, as_numbers, said
from geodomain.formats.cells import Cells, WithGhosts
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.numbers import as_float64
from geodomain.tables.text import NewCells

_CENTROID, _SIZES = ("x", "y", "z"), ("dx", "dy", "dz")
_ROWS = 1 << 16


class Blocks(NamedTuple):
    """Blocks in the world, with their columns.

    Attributes
    ----------
    centroids, sizes : (n, 3) float64
        Sizes are None where the file has none.
    axes : (3, 3) float64
        The directions of the blocks' edges, a row each.
    columns : dict of str to (n,) array
        Numbers, or texts with None or "" where missing; labels last.
    coordinates : set of str
        The columns that are centroids and sizes already.
    """

    centroids: Floats
    sizes: Floats | None
    axes: Floats
    columns: dict[str, Values]
    coordinates: frozenset[str] = frozenset()


def blocks_of(cells: Cells, columns: Mapping[str, Values], new: NewArrays | None = None) -> Blocks:
    """Gather cells with their columns, the new ones last."""
    centroids, sizes = np.empty((2, cells.count, 3))
    for where, centres, lengths in cells.chunks():
        centroids[where], sizes[where] = centres, lengths
    held = dict(columns)
    for column, codes in zip(new.columns, new.codes, strict=True) if new else ():
        name = column.name if new is None or new.at is None else [*columns][new.at]
        held[name] = _values(column, codes, held.get(name))
    if isinstance(cells, WithGhosts):
        there = ~cells.ghost
        held = {name: values[there] for name, values in held.items()}
        centroids, sizes = centroids[there], sizes[there]
    return Blocks(centroids, sizes, cells.axes, held)


def _values(column: NewColumn, codes: NewCells, old: Values | None) -> Values:
    if column.numeric:
        return as_numbers(column, codes, old)
    names, index = as_category(column, codes, old)
    return np.array([*names, ""], dtype=object)[index]


def write_blocks(blocks: Blocks, target: Target, path: str) -> None:
    """Write blocks as the extension of a path says.

    Raises
    ------
    TableError
        For an extension that names no such kind of file.
    """
    extension = Path(path).suffix.lower()
    writer = _WRITERS.get(extension)
    if writer is None:
        message = f"{path}: end the output in {', '.join(_WRITERS)}"
        raise TableError(message)
    for part in writer(blocks, path):
        target.write(memoryview(part))


def is_written(path: str) -> bool:
    """Tell whether the extension of a path names a kind of file that blocks are written as."""
    return Path(path).suffix.lower() in _WRITERS


def _table(blocks: Blocks) -> dict[str, Values]:
    """Give all columns of a table: centroids, sizes, and the others under names of their own."""
    if blocks.coordinates:
        return blocks.columns
    held: dict[str, Values] = {}
    for names, numbers in ((_CENTROID, blocks.centroids), (_SIZES, blocks.sizes)):
        if numbers is None:
            continue
        held |= {name: numbers[:, axis] for axis, name in enumerate(names)}
    for name, values in blocks.columns.items():
        while name in held:
            name += "_"
        held[name] = values
    return held


def _csv(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Give a table of text: the shortest digits that mean a number, nothing where it is missing."""
    held = _table(blocks)
    _warn_of_sizes(blocks, path)
    yield _lines([held])
    for begin in range(0, len(blocks.centroids), _ROWS):
        parts = [_cells(values[begin : begin + _ROWS]) for values in held.values()]
        yield _lines(zip(*parts, strict=True))


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _cells(values: Values) -> list[str]:
    numbers = values if values.dtype != np.float32 else as_float64(values)
    return [said(value) for value in numbers.tolist()]


def _parquet(blocks: Blocks, path: str) -> Iterator[bytes]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"{path} needs pyarrow to be written: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    _warn_of_sizes(blocks, path)
    arrays = {
        name: pyarrow.array(
            values if values.dtype.kind != "O" else [said(one) or None for one in values],
            from_pandas=True,
        )
        for name, values in _table(blocks).items()
    }
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), out)
    yield out.getvalue()


def _boxes(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield a file of boxes, made by the module of its format."""
    writer = import_module(f"{__package__}.{_BOX_FORMATS[Path(path).suffix.lower()]}")
    sizes = _require_sizes(blocks, path)
    yield writer.encoded_blocks(blocks.centroids, sizes, blocks.axes, _others(blocks), path)


def _others(blocks: Blocks) -> dict[str, Values]:
    """Give the columns that are neither centroids nor sizes."""
    return {name: one for name, one in blocks.columns.items() if name not in blocks.coordinates}


def _require_sizes(blocks: Blocks, path: str) -> Floats:
    if blocks.sizes is None:
        message = (
            f"{path} holds boxes, and the blocks have no sizes: name them with dx=, dy= and dz="
        )
        raise TableError(message)
    if count := _unboxed(blocks):
        message = (
            f"{path}: {counted(count, 'cell')} of the model turned or skewed, no boxes along the "
            "axes, and boxes are written: save the model as a lattice or an image, which says how "
            "it is turned, or as .csv"
        )
        raise TableError(message)
    return blocks.sizes


def _unboxed(blocks: Blocks) -> int:
    """Count the cells that have a centre and no size; a table's blocks are counted elsewhere."""
    if blocks.coordinates or blocks.sizes is None:
        return 0
    known = np.isfinite(blocks.centroids).all(axis=1)
    return int((known & ~np.isfinite(blocks.sizes).all(axis=1)).sum())


def _warn_of_sizes(blocks: Blocks, path: str) -> None:
    """Say why a table has no sizes for some cells."""
    if count := _unboxed(blocks):
        warn(
            f"{path}: {counted(count, 'cell')} of the model turned or skewed, no boxes along the "
            f"axes: {'its' if count == 1 else 'their'} {', '.join(_SIZES)} are empty"
        )


# Formats of boxes by extension: the module that writes each, imported when it is needed.
_BOX_FORMATS = {".omf": "omf2", ".vti": "vtk", ".vtu": "vtk"}
_WRITERS: dict[str, Callable[[Blocks, str], Iterator[bytes]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".pq": _parquet,
    **dict.fromkeys(_BOX_FORMATS, _boxes),
}
