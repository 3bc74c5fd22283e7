"""Structures of the kernels as Python packs them, and kernel arguments as C aligns them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.compute import layout
from geodomain.compute.cuda.kernels import arguments

STRUCTURES, CONSTANTS = layout._described()
PACKED = [name for name, one in STRUCTURES.items() if one.fields]


def test_a_description_in_any_order_of_fields() -> None:
    text = (
        "structure Pair 16\nfield weight 8 d\nfield count 0 i\n"
        "structure Whole 40\nfield places 32 H 3\nfield pair 8 Pair\nfield at 0 P\n"
        "constant kMost 7\nconstant kLeast 0x1p-2\n"
    )
    structures, constants = layout.parse(text)
    pair = structures["Pair"].pack(weight=0.5, count=-3)
    assert pair == np.array(-3, "=i").tobytes() + bytes(4) + np.array(0.5).tobytes()
    assert [field.name for field in structures["Whole"].fields] == ["at", "pair", "places"]
    assert structures["Pair"].read(b"????????" + pair, 8)["weight"] == 0.5
    assert constants == {"kMost": 7, "kLeast": 0.25}


@pytest.mark.parametrize("name", PACKED)
def test_no_field_is_left_out(name: str) -> None:
    """What C++ adds to a structure without describing it would leave a gap of its size."""
    one = layout.structure(name)
    end = 0
    for field in one.fields:
        size = one.dtype[field.name].itemsize
        assert end <= field.offset < end + max(min(one.dtype[field.name].base.itemsize, 8), 1)
        end = field.offset + size
    assert end <= one.size < end + 8


@pytest.mark.parametrize("name", PACKED)
def test_what_is_packed_is_read_again(name: str) -> None:
    one = layout.structure(name)
    rubbish = np.random.default_rng(0).integers(1, 100, one.size).astype(np.uint8)
    row = one.read(rubbish.tobytes())
    values = {
        field.name: row[field.name].tobytes()
        if field.counts or len(field.kind) > 1
        else row[field.name].item()
        for field in one.fields
    }
    again = one.read(one.pack(**values))
    assert all(np.array_equal(again[field.name], row[field.name]) for field in one.fields)


def test_fields_are_named_as_in_c() -> None:
    with pytest.raises(TypeError, match="MeshView has no field 'faces'"):
        layout.structure("MeshView").pack(vertices=1, triangles=2, triangle_count=3, faces=4)
    with pytest.raises(KeyError, match="triangle_count"):
        layout.structure("MeshView").pack(vertices=1, triangles=2)


def test_views_of_arrays() -> None:
    box = layout.structure("Bounds").read(layout.bounds_of(np.array([[1, 2, 3], [4, 5, 6.0]])))
    assert (box["low"]["y"], box["high"]["x"]) == (2.0, 4.0)
    view = layout.structure("PointsView").read(layout.points_view((8, 16, 24), (-24, 8, 8)))
    assert (view["z"], view["stride_x"], view["stride_z"]) == (24, -24, 8)
    assert layout.real("kLeastMagnitude") == 2.0**-306


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
