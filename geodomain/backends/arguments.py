"""C values one after the other, as kernels take them; no driver needed."""

from __future__ import annotations

import ctypes
import functools
import struct
from typing import Any

# A field of eight bytes begins where C would have it; "0Q" is nothing but the gap before it.
_FORMATS: dict[type, str] = {
    int: "Q",
    float: "d",
    ctypes.c_float: "f",
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
}


def structure(*fields: Any) -> bytes:
    """Return C values one after the other, aligned as C aligns them.

    A field is an int (a 64-bit pointer or count), a float, a ctypes value of 32 bits, or
    the bytes of another structure. Every structure of ours holds something of eight bytes.
    """
    return _pack(fields, "0Q")


def arguments(*fields: Any) -> bytes:
    """Return a kernel's arguments: a structure that ends where the last one does.

    With the padding that a structure ends in, a launch fails for want of resources.
    """
    return _pack(fields, "")


def _pack(fields: tuple[Any, ...], end: str) -> bytes:
    shape = tuple(len(field) if isinstance(field, bytes) else type(field) for field in fields)
    values = [getattr(field, "value", field) for field in fields]
    return _packer(shape, end).pack(*values)


@functools.lru_cache(maxsize=256)
def _packer(shape: tuple[Any, ...], end: str) -> struct.Struct:
    """Return what packs fields of these types; a number stands for so many bytes."""
    codes = [f"0Q{kind}s" if isinstance(kind, int) else _FORMATS[kind] for kind in shape]
    return struct.Struct("@" + "".join(codes) + end)
