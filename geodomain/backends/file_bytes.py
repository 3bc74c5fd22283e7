"""Large files read by the compiled core; opens none."""

from __future__ import annotations

import ctypes
import os

import numpy as np

from geodomain.backends.native import core
from geodomain.backends.threads import thread_count

_AT_ONCE = 1 << 26  # bytes between looks for signals


def read_bytes(file: int, size: int) -> bytes | None:
    """Return the bytes of an open file that has `size` of them.

    Parameters
    ----------
    file : int
        The file's descriptor.
    size : int
        What the system says of its size.

    Returns
    -------
    bytes or None
        None where the file has fewer bytes or more, or on a system other than Linux.
    """
    data = bytes(size)  # zeros that take no memory yet, known to nobody else: the core fills them
    address, are_there = np.frombuffer(data, dtype=np.uint8).ctypes.data, ctypes.c_int32()
    for start in range(0, size, _AT_ONCE):
        count = min(_AT_ONCE, size - start)
        into = (ctypes.c_char * count).from_address(address + start)
        core().read_bytes(file, start, count, into, thread_count(None), are_there)
        if not are_there:
            return None
    return data if os.fstat(file).st_size == size else None
