"""New columns: their place in the head, what is never overwritten, and numbers as Python's text."""

from __future__ import annotations

import csv
import io
import math
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import cube

from geodomain import Domain, label_file
from geodomain.errors import DomainError, TableError
from geodomain.formats.rewriting import Added
from geodomain.tables.layout import read_layout
from geodomain.tables.new_columns import NewColumn, plan_splice
from geodomain.tables.options import TableOptions
from geodomain.tables.text import lines_of, number_cells, relabel

DOMAIN = NewColumn("domain", ("ORE", "WASTE", ""), default="WASTE")
FLAG = NewColumn("in_ore", ("0", "1"), default="0", numeric=True)


def edited(head: bytes, *columns: NewColumn) -> bytes:
    """Give the head with its edits."""
    splice = plan_splice(read_layout(head), columns or (DOMAIN, FLAG))
    assert splice.replace is None
    for start, end, text in reversed(splice.head):
        head = head[:start] + text + head[end:]
    return head


VULCAN = b"""centroid_x,centroid_y,centroid_z,volume,rock
Variable descriptions:,,,,rock type
Variable types:,,,,name
Variable defaults:,,,,none
1,2,3,4,granite
"""
MICROMINE = b"""EAST,NORTH,RL,AU,LITH,CODE,GEO,W
%s
500,10,1000,10,100,5,Centre%s
505,1005,102.5,1.25,BIF,1,2,3
"""


@pytest.mark.parametrize(
    ("head", "due"),
    [
        (b"X,Y,Z\n1,2,3\n", b"X,Y,Z,domain,in_ore\n1,2,3\n"),
        (b"X,Y,Z\r\n1,2,3\r\n", b"X,Y,Z,domain,in_ore\r\n1,2,3\r\n"),
        (b"X;Y;Z\n1,5;2;3\n", b"X;Y;Z;domain;in_ore\n1,5;2;3\n"),
        (b"X,Y,Z", b"X,Y,Z,domain,in_ore"),
        (b"X,Y,Z,\n1,2,3,\n", b"X,Y,Z,,domain,in_ore\n1,2,3,\n"),
        (b"\xef\xbb\xbfX,Y,Z\n", b"\xef\xbb\xbfX,Y,Z,domain,in_ore\n"),
        (b"# a, b\n\nsep,=\nX,Y,Z\n", b"# a, b\n\nsep,=\nX,Y,Z,domain,in_ore\n"),
        (b'"X","Y","Z"\n', b'"X","Y","Z",domain,in_ore\n'),
        (
            VULCAN,
            b"centroid_x,centroid_y,centroid_z,volume,rock,domain,in_ore\n"
            b"Variable descriptions:,,,,rock type,domain,in_ore\n"
            b"Variable types:,,,,name,name,integer\n"
            b"Variable defaults:,,,,none,WASTE,0\n"
            b"1,2,3,4,granite\n",
        ),
        (
            VULCAN.replace(b",,,,name", b""),
            b"centroid_x,centroid_y,centroid_z,volume,rock,domain,in_ore\n"
            b"Variable descriptions:,,,,rock type,domain,in_ore\n"
            b"Variable types:,,,,,name,integer\n"
            b"Variable defaults:,,,,none,WASTE,0\n"
            b"1,2,3,4,granite\n",
        ),
        (
            MICROMINE % (b"N,N,N,N,C,N,N,N", b""),
            b"EAST,NORTH,RL,AU,LITH,CODE,GEO,W,domain,in_ore\nN,N,N,N,C,N,N,N,C,N\n"
            b"500,10,1000,10,100,5,Centre\n505,1005,102.5,1.25,BIF,1,2,3\n",
        ),
        (
            MICROMINE % (b"REAL,REAL,REAL,REAL,CHARACTER(9),REAL,REAL,REAL", b","),
            b"EAST,NORTH,RL,AU,LITH,CODE,GEO,W,domain,in_ore\n"
            b"REAL,REAL,REAL,REAL,CHARACTER(9),REAL,REAL,REAL,CHARACTER,NUMERIC\n"
            b"500,10,1000,10,100,5,Centre,,,\n505,1005,102.5,1.25,BIF,1,2,3\n",
        ),
    ],
)
def test_head_of_the_new_table(head: bytes, due: bytes) -> None:
    assert edited(head) == due


def test_cells_are_quoted_only_where_they_must_be() -> None:
    head = b"X;Y;Z\n1;2;3\n"
    names = ("ore, rich", 'the "A" zone', "a;b", " blank", "two\nlines", "")
    splice = plan_splice(read_layout(head), [NewColumn("a;b", names)])
    assert splice.vocabulary == (
        (b"ore, rich", b'"the ""A"" zone"', b'"a;b"', b'" blank"', b'"two\nlines"', b""),
    )
    assert splice.head == ((5, 5, b';"a;b"'),)


def test_encoding_of_new_cells() -> None:
    layout = read_layout(b"X,Y,Z\n")
    column = NewColumn("domínio", ("MINÉRIO",))
    splice = plan_splice(layout, [column], encoding="latin-1")
    assert splice.vocabulary == ((b"MIN\xc9RIO",),)
    assert splice.head[0][2] == b",dom\xednio"
    with pytest.raises(TableError, match=r"'MINÉRIO' cannot be written in ascii.*encoding="):
        plan_splice(layout, [column], encoding="ascii")


def test_a_column_that_is_there_is_not_overwritten() -> None:
    layout = read_layout(b'X,Y,Z,"Domain "\n')
    with pytest.raises(TableError, match=r"already has a column 'Domain' \(column 4\).*replace="):
        plan_splice(layout, [DOMAIN])
    with pytest.raises(TableError, match="two new columns would be called 'In_Ore'"):
        plan_splice(layout, [FLAG, NewColumn("In_Ore", ("",))])


def test_a_named_column_is_replaced_where_it_stands() -> None:
    splice = plan_splice(read_layout(b'X,"Domain ",Y,Z\n'), [DOMAIN], replace=True)
    assert (splice.head, splice.replace) == ((), 1)
    with pytest.raises(TableError, match=r"no column 'domain'.*did you mean 'domian'"):
        plan_splice(read_layout(b"X,Y,Z,domian\n"), [DOMAIN], replace=True)
    with pytest.raises(TableError, match="2 columns called 'domain'"):
        plan_splice(read_layout(b"X,Y,Z,DOMAIN,Domain\n"), [DOMAIN], replace=True)
    with pytest.raises(TableError, match="'Z' holds the coordinates"):
        plan_splice(read_layout(b"X,Y,Z\n"), [NewColumn("z", ("",))], replace=True)


UNWRITABLE = ["a\0b", "\x01", "a\x1f", "\x7f\x08", "a\udc80", "\ud800", "\ufffe", "\uffff"]


@pytest.mark.parametrize("text", UNWRITABLE, ids=ascii)
def test_text_that_no_file_can_hold_is_refused(text: str) -> None:
    """XML of it cannot be read again, NUL ends a text, and UTF-8 has no halves of characters."""
    with pytest.raises((ElementTree.ParseError, UnicodeError)):
        ElementTree.fromstring(f"<a>{text}</a>".encode())
    with pytest.raises(TableError, match=r"the column name .* contains"):
        NewColumn(text, ("ORE",))
    with pytest.raises(TableError, match=r"the label .* contains"):
        NewColumn("domain", ("ORE", text))
    with pytest.raises(TableError, match=r"the column name .* contains"):
        Added(text)
    with pytest.raises(DomainError, match="without control characters"):
        Domain(f"A{text}B", cube())


def test_a_file_in_place_keeps_its_bytes_where_a_name_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("X,Y,Z\n0.5,0.5,0.5\n")
    with pytest.raises(TableError, match="choose another"):
        label_file(path, {"ORE": cube()}, path, overwrite=True, column="a\0b")
    with pytest.raises(TableError, match="choose another"):
        label_file(path, {"ORE": cube()}, path, overwrite=True, background="\udc80")
    assert path.read_text() == "X,Y,Z\n0.5,0.5,0.5\n" and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("text", ["डोमेन 😀", "a\tb", 'R&D "<1>"', "\x7f", "\ue000", "\ufffd"])
def test_other_text_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z\n0.5,0.5,0.5\n")
    out = tmp_path / "b.csv"
    label_file(tmp_path / "a.csv", {text: cube()}, out, column=f"{text}\n2")
    with out.open(newline="", encoding="utf-8") as file:
        assert [row[-1] for row in csv.reader(file)] == [f"{text}\n2", text]


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


# --- Columns of numbers in text.


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
