"""New columns in the head of a table: what is inserted, and what is never overwritten."""

from __future__ import annotations

import pytest

from geodomain.errors import TableError
from geodomain.io.csv.new_columns import NewColumn, plan_splice
from geodomain.io.header.layout import read_layout

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
