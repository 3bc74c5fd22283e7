"""Tables that are made from columns of numbers, as lines of text."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import addresses, core
from geodomain.backends.threads import thread_count

Column = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int32]

_ROWS = 1 << 16


def lines_of(
    columns: Sequence[Column],
    delimiter: bytes = b",",
    decimal: bytes = b".",
    threads: int | None = None,
) -> Iterator[memoryview]:
    r"""Yield rows as text, some at a time; a piece is good until the next one is asked for.

    Parameters
    ----------
    columns : sequence of (n,) float64 or integers
        One at least, all of one length.
    delimiter, decimal : bytes
        A byte each.
    threads : int, optional
        All cores, if not given.

    Yields
    ------
    memoryview
        Lines that end in "\n". A float has the fewest digits that read back as the same number,
        as Python's `repr` has; nothing stands for NaN.

    Examples
    --------
    >>> import numpy as np
    >>> [bytes(piece) for piece in lines_of([np.array([7]), np.array([0.1])])]
    [b'7,0.1\n']
    """
    rows, size = len(columns[0]), ctypes.c_int64()
    whole = np.array([column.dtype.kind != "f" for column in columns], np.int32)
    room = core().text_row_room(len(columns))
    text = np.empty(min(rows, _ROWS) * room, np.uint8)
    for begin in range(0, rows, _ROWS):
        some = [
            column[begin : begin + _ROWS].astype(np.int64 if integers else np.float64, copy=False)
            for column, integers in zip(columns, whole.tolist(), strict=True)
        ]
        steps = np.array([column.strides[0] for column in some], np.int64)
        core().text_rows(
            len(some),
            addresses(some),
            whole,
            steps,
            len(some[0]),
            delimiter,
            decimal,
            thread_count(threads),
            text,
            size,
        )
        yield text.data[: size.value]
