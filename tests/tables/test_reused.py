"""Memory is taken again only when nobody has an array in it."""

import numpy as np
import pytest

from geodomain.tables.scanner import ReusedColumns


def test_memory_is_taken_again_when_nobody_has_it():
    columns = ReusedColumns()
    first = columns.take(1000)
    address, first = first.ctypes.data, None
    again = columns.take(900)
    assert again.ctypes.data == address
    assert again.shape == (900, 3)
    assert again.flags.f_contiguous


@pytest.mark.parametrize(
    "part", [lambda a: a, lambda a: a[:, 1], lambda a: a.T[0][5:], lambda a: memoryview(a)]
)
def test_memory_that_somebody_has_stays_as_it_is(part):
    columns = ReusedColumns()
    kept = part(columns.take(1000))
    before = np.array(kept).copy()
    for _ in range(3):
        columns.take(1000)[:] = -1.0
    np.testing.assert_array_equal(np.array(kept), before)
