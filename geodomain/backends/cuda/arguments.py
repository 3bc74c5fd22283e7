"""C values one after the other, as kernels take them; no driver needed."""

from __future__ import annotations

import ctypes
import functools
import struct
from typing import TypeAlias

# An address or a count of 64 bits, a double, a number of 32 bits, the bytes of a structure.
Argument: TypeAlias = int | float | bytes | ctypes.c_float | ctypes.c_int32 | ctypes.c_uint32

# A field of eight bytes begins where C would have it; "0Q" is nothing but the gap before it.
_FORMATS: dict[type, str] = {
    int: "Q",
    float: "d",
    ctypes.c_float: "f",
    ctypes.c_int32: "i",
    ctypes.c_uint32: "I",
}
_PYTHONS = (int, float, bytes)


def arguments(*fields: Argument) -> bytes:
    """Return a kernel's arguments one after the other, as C aligns them.

    A field is an int (a 64-bit address or count), a float, a ctypes value of 32 bits, or the bytes
    of a structure, which begin at a multiple of eight: `kernels/platform/layout.h` sees to it that
    every structure which kernels take by value is aligned so. What is packed ends where the last
    field does: with padding after it, a launch fails for want of resources.
    """
    shape = tuple([len(field) if isinstance(field, bytes) else type(field) for field in fields])
    values = [field if isinstance(field, _PYTHONS) else field.value for field in fields]
    return _packer(shape).pack(*values)


@functools.lru_cache(maxsize=256)
def _packer(shape: tuple[int | type, ...]) -> struct.Struct:
    """Return what packs fields of these types; a number stands for so many bytes."""
    codes = [f"0Q{kind}s" if isinstance(kind, int) else _FORMATS[kind] for kind in shape]
    return struct.Struct("@" + "".join(codes))
