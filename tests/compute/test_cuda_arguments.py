"""Kernel arguments: aligned as C aligns them, checked against ctypes."""

from __future__ import annotations

import ctypes

from hypothesis import given
from hypothesis import strategies as st

from geodomain.compute.cuda.kernels import arguments

KINDS = {
    int: ctypes.c_uint64,
    float: ctypes.c_double,
    ctypes.c_int32: ctypes.c_int32,
    ctypes.c_uint32: ctypes.c_uint32,
}

fields = st.one_of(
    st.integers(0, 2**64 - 1),
    st.floats(allow_nan=False),
    st.integers(-(2**31), 2**31 - 1).map(ctypes.c_int32),
    st.integers(0, 2**32 - 1).map(ctypes.c_uint32),
    st.binary(min_size=1, max_size=3).map(lambda part: part * 8),
)


def reference(values: list) -> ctypes.Structure:
    kinds = [
        ctypes.c_uint64 * (len(value) // 8) if isinstance(value, bytes) else KINDS[type(value)]
        for value in values
    ]
    names = [(f"field{k}", kind) for k, kind in enumerate(kinds)]
    given = [
        kind.from_buffer_copy(value) if isinstance(value, bytes) else value
        for kind, value in zip(kinds, values, strict=True)
    ]
    return type("Fields", (ctypes.Structure,), {"_fields_": names})(*given)


@given(st.lists(fields, min_size=1, max_size=8))
def test_fields_lie_where_a_compiler_puts_them(values: list) -> None:
    expected = reference(values)
    last = getattr(type(expected), f"field{len(values) - 1}")
    assert arguments(*values) == bytes(expected)[: last.offset + last.size]
