"""The compiled text functions, typed, and the one that reads a single number."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Protocol

from geodomain.backends.native import library


def read_number(text: bytes, decimal: bytes = b".") -> float | None:
    """Return the number that a field says, rounded to the nearest double.

    Parameters
    ----------
    text : bytes
        The field, without its quotes; blanks around it are passed over.
    decimal : bytes
        The decimal mark.

    Returns
    -------
    float or None
        NaN for an empty field or NaN, None for text, infinity for a number out
        of range.

    Examples
    --------
    >>> read_number(b" 2296021.10 ")
    2296021.1
    >>> read_number(b"1,5e3", b",")
    1500.0
    """
    value = ctypes.c_double()
    reading = core().geodomain_text_number(text, len(text), decimal, ctypes.byref(value))
    if reading == 4:
        return exactly(text, decimal)
    return (value.value, math.nan, None, math.inf)[reading]


def exactly(text: bytes, decimal: bytes) -> float:
    """Return the number that a field says, by Python's own arithmetic."""
    return float(text.replace(decimal, b".").lower().replace(b"d", b"e"))


@functools.cache
def core() -> ctypes.CDLL:
    """Return the compiled core with its text functions typed."""
    loaded = library()
    address, count, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
    mark = ctypes.c_char
    loaded.geodomain_text_open.restype = address
    loaded.geodomain_text_close.restype = None
    for name, types in {
        "open": [
            mark,
            mark,
            number,
            number,
            address,
            number,
            number,
            address,
            number,
            address,
            number,
            address,
        ],
        "close": [address],
        "scan": [address, address, count, number, count, number, address],
        "values": [address, address, address, number],
        "unsure": [address, address],
        "column": [address, address, number, address, address],
        "among": [address, address, number, number, address, address],
        "spellings": [address, address, number, address, address, address],
        "place": [address, number, count, address],
        "places": [address, number, address],
        "ends": [address, address],
        "measure": [address, number, address, address, address, address, number, address],
        "write": [address, address, address],
        "number": [ctypes.c_char_p, count, ctypes.c_char, address],
        "row_room": [number],
        "rows": [number, address, address, address, count, mark, mark, number, address],
    }.items():
        getattr(loaded, f"geodomain_text_{name}").argtypes = types
    loaded.geodomain_text_row_room.restype = count
    loaded.geodomain_text_rows.restype = count
    return loaded


class _Array(Protocol):
    @property
    def ctypes(self) -> _Address: ...


class _Address(Protocol):
    @property
    def data(self) -> int: ...


def pointers(arrays: Sequence[_Array]) -> ctypes.Array[ctypes.c_void_p]:
    """Return the addresses of arrays; the caller keeps them alive."""
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
