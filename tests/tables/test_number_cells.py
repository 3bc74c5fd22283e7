"""New columns of numbers in text: each row its own, in the table's marks, whatever the chunks."""

from __future__ import annotations

import io

import numpy as np
import pytest

from geodomain.tables.layout import read_layout
from geodomain.tables.new_columns import NewColumn, plan_splice
from geodomain.tables.options import TableOptions
from geodomain.tables.text import number_cells, relabel

COLUMNS = [
    NewColumn("zone", ("N", "S")),
    NewColumn("part", numeric=True, measured=True),
]


def relabelled(table: bytes, values: np.ndarray, chunk_bytes: int = 1 << 20) -> bytes:
    layout = read_layout(table, TableOptions())
    out, row = io.BytesIO(), 0

    def label(points, sizes, column):
        nonlocal row
        some = values[row : row + len(points)]
        row += len(points)
        return [np.arange(len(some), dtype=np.int32) % 2 * 0, some]

    relabel(
        io.BytesIO(table), out, layout, plan_splice(layout, COLUMNS), label, chunk_bytes=chunk_bytes
    )
    return out.getvalue()


@pytest.mark.parametrize("chunk_bytes", [30, 1000, 1 << 20])
def test_each_row_has_its_number_in_the_fewest_digits(chunk_bytes: int) -> None:
    values = np.random.default_rng(1).uniform(0, 1, 300)
    values[:5] = 0, 1, np.nan, 1 / 3, 1e-17
    body = b"".join(b"1,2,%d\n" % n for n in range(300))
    lines = relabelled(b"X,Y,Z\n" + body, values, chunk_bytes).split(b"\n")
    assert lines[0] == b"X,Y,Z,zone,part" and lines[-1] == b""
    before = (b"X,Y,Z\n" + body).split(b"\n")[1:-1]
    cells = []
    for old, new in zip(before, lines[1:-1], strict=True):
        assert new.startswith(old + b",N,")
        cells.append(new.removeprefix(old + b",N,").decode())
    assert cells[:5] == ["0", "1", "", "0.3333333333333333", "1e-17"]
    assert [float(cell) for cell in cells[3:]] == values[3:].tolist()
    assert all(repr(float(cell)) == cell for cell in cells[3:])


def test_numbers_have_the_marks_of_the_table() -> None:
    table = b"X;Y;Z\r\n1,5;2,5;3,5\r\n"
    found = relabelled(table, np.array([0.25]))
    assert found == b"X;Y;Z;zone;part\r\n1,5;2,5;3,5;N;0,25\r\n"
    layout = read_layout(b"X\tY\tZ\n1\t2\t3\n", TableOptions(decimal=b","))
    cells, codes = number_cells(np.array([0.5, np.nan, 0.5, 2.0, np.nan]), layout)
    assert (cells, codes.tolist()) == ([b"0,5", b"2", b""], [0, 2, 0, 1, 2])
