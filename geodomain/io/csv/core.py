"""Read one number of a text as the compiled scanner does."""

from __future__ import annotations

import ctypes
import math

from geodomain.backends.native import core


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
    reading = core().text_number(text, len(text), decimal, value)
    if reading == 4:
        return exactly(text, decimal)
    return (value.value, math.nan, None, math.inf)[reading]


def exactly(text: bytes, decimal: bytes) -> float:
    """Return the number that a field says, by Python's own arithmetic."""
    return float(text.replace(decimal, b".").lower().replace(b"d", b"e"))
