"""Arrow arrays from NumPy's and back, through their bytes.

pyarrow's own conversions import pandas, where it is installed, which takes 0.3 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.csv.new_columns import NewColumn, refuse_kept
from geodomain.io.csv.number_cells import NewCells

Floats = NDArray[np.float64]


def new_array(column: NewColumn, codes: NewCells, old: Any = None) -> Any:
    """Give the cells of a new column that codes stand for, or its numbers, as an Arrow array.

    The code after the last is the cell of the `old` column, which is replaced.
    """
    import pyarrow
    from pyarrow import compute

    if column.measured:
        return _numbers(codes.astype(np.float64, copy=False), np.isnan(codes))
    kept = codes == len(column.cells)
    cells = vocabulary(column).take(_numbers(codes, kept))
    if not kept.any():
        return cells
    try:
        left = _as_texts(old.take(_numbers(np.arange(len(kept)), ~kept)), cells.type)
    except pyarrow.ArrowInvalid as error:
        refuse_kept(column.name, error)
    return compute.if_else(kept, left, cells)


def _as_texts(values: Any, kind: Any) -> Any:
    """Give values of another type; as texts, whole numbers have no point, as everywhere."""
    from pyarrow import types

    if not types.is_floating(values.type) or not types.is_string(kind):
        return values.cast(kind)
    found = values.to_numpy(zero_copy_only=False)
    texts = ["" if one != one else str(one).removesuffix(".0") for one in found]
    return _texts([text.encode() for text in texts])


def vocabulary(column: NewColumn) -> Any:
    """Give what codes stand for: text, or 32-bit integers, null where there is none."""
    if column.measured:
        return _numbers(np.empty(0), np.empty(0, np.bool_))
    if column.numeric:
        numbers = np.array([int(cell) if cell else 0 for cell in column.cells], np.int32)
        return _numbers(numbers, np.array([not cell for cell in column.cells], np.bool_))
    return _texts([cell.encode() for cell in column.cells])


def _numbers(values: NDArray[np.generic], missing: NDArray[np.bool_]) -> Any:
    """Give numbers as an Arrow array, from their bytes: pyarrow.array imports pandas, 0.3 s."""
    import pyarrow

    valid = pyarrow.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    data = pyarrow.py_buffer(np.ascontiguousarray(values))
    kind = pyarrow.from_numpy_dtype(values.dtype)
    return pyarrow.Array.from_buffers(kind, len(values), [valid, data])


def _texts(texts: Sequence[bytes]) -> Any:
    """Give texts as an Arrow array, from their bytes too."""
    import pyarrow

    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(texts))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(texts), buffers)


def as_doubles(column: Any, name: str, table: str) -> Floats:
    """Give an Arrow column as float64, exactly, NaN where it is null.

    Raises
    ------
    TableError
        If it does not hold numbers, or one that float64 cannot hold.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_decimal(kind):
        column, kind = column.cast(pyarrow.string()), pyarrow.float64()
    if not (types.is_floating(kind) or types.is_integer(kind)):
        message = f"{table}: the column {name!r} holds {kind}, not numbers"
        raise TableError(message)
    try:
        doubles = column.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid as error:
        message = f"{table}: the column {name!r} holds what float64 cannot hold exactly ({error})"
        raise TableError(message) from None
    return _joined(doubles.chunks)


def _joined(chunks: Sequence[Any]) -> Floats:
    parts = [np.empty(0), *map(_doubles, chunks)]
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def _doubles(array: Any) -> Floats:
    valid, data = array.buffers()
    begin, end = array.offset, array.offset + len(array)
    values = np.frombuffer(data, np.float64, len(array), 8 * begin) if end > begin else np.empty(0)
    if not array.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")
    return np.where(bits[begin:end], values, np.nan)
