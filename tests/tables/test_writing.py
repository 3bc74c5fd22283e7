"""Columns as lines of text: Python's own text of each number is what they are held against."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.tables.text import lines_of

AWKWARD = [
    *(0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, math.inf, -math.inf),
    *(1e15, 1e16, 9999999999999998.0, 1e22, 123456789012345680.0),
    *(1e-4, 1e-5, 0.00012345678901234567),
    *(2.0**power for power in range(-1074, 1024, 7)),
    *(10.0**power for power in range(-30, 30)),
]  # fmt: skip


def text_of(columns: list[np.ndarray], **options: object) -> str:
    return b"".join(map(bytes, lines_of(columns, **options))).decode()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40))
def test_a_double_is_written_as_python_writes_it(bits: list[int]) -> None:
    values = [struct.unpack("<d", struct.pack("<Q", one))[0] for one in bits]
    values = [value for value in values if not math.isnan(value)] + AWKWARD
    assert text_of([np.array(values)]).splitlines() == [repr(value) for value in values]


def test_many_doubles_of_all_sizes_are_written_as_python_writes_them() -> None:
    random = np.random.default_rng(7)
    bits = random.integers(0, 2**64, 200_000, dtype=np.uint64).view(np.float64)
    values = np.concatenate([bits[~np.isnan(bits)], np.round(random.uniform(-9e6, 9e6, 50_000), 3)])
    assert text_of([values]).splitlines() == list(map(repr, values.tolist()))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_rows_are_in_order_whatever_the_number_of_threads(threads: int) -> None:
    rows = 70_001
    row, value = np.arange(rows), np.arange(rows) / 8
    text = text_of([row, value[::-1]], delimiter=b";", decimal=b",", threads=threads)
    want = [f"{i};{(rows - 1 - i) / 8!r}".replace(".", ",") for i in range(rows)]
    assert text.splitlines() == want


def test_integers_of_any_width_and_missing_values() -> None:
    columns = [np.array([-(2**63), 2**63 - 1]), np.array([-1, 7], np.int32), np.array([np.nan, 1])]
    assert text_of(columns) == "-9223372036854775808,-1,\n9223372036854775807,7,1.0\n"


def test_no_rows_are_no_text() -> None:
    assert text_of([np.empty(0)]) == ""
