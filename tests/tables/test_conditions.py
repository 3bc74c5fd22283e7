"""Conditions on columns: the same of text and of arrays, and missing values meet none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodomain.errors import TableError
from geodomain.tables.conditions import ArrayColumn, read_conditions
from geodomain.tables.layout import read_layout
from geodomain.tables.options import TableOptions
from geodomain.tables.scanner import Scanner

HEAD = b"X,Y,Z,ROCK,AU\n"


def scan(rows: bytes, *, options=None, piece=1 << 16, head=HEAD):
    """Return what gives the columns of a table, and how many rows it has."""
    layout = read_layout(head + rows, options)
    also = range(3, len(layout.names))
    scanner = Scanner(layout, "table", also=also, threads=2, piece_bytes=piece)
    text = np.frombuffer((head + rows)[layout.data_start :], np.uint8)
    return scanner, scanner.scan(text, final=True).rows


def holds(rows: bytes, conditions, **options) -> list[bool]:
    scanner, count = scan(rows, **options)
    names = {"ROCK": 3, "AU": 4}
    found = np.ones(count, np.bool_)
    for one in read_conditions(conditions):
        found &= one.holds(scanner.column(names[one.column]))
    return found.tolist()


ROWS = b"""1,1,1,OX,0.5
1,1,1, OX\t,0.30000000000000004
1,1,1,"OX",5d-1
1,1,1,"a ""quoted"" one",
1,1,1,,
1,1,1,ox,-99
1,1,1,3,NaN
1,1,1,3.0,1e99
"""


@pytest.mark.parametrize("piece", [8, 1 << 16])
@pytest.mark.parametrize(
    "conditions, expected",
    [
        ({"ROCK": "OX"}, "xxx-----"),
        ({"ROCK": ["OX", "ox"]}, "xxx--x--"),
        ({"ROCK": 'a "quoted" one'}, "---x----"),
        ({"ROCK": {"!=": "OX"}}, "---x-xxx"),
        ({"ROCK": 3}, "------xx"),
        ({"ROCK": "3"}, "------x-"),
        ({"ROCK": [3, "OX"]}, "xxx---xx"),
        ({"AU": 0.5}, "x-x-----"),
        ({"AU": {">": 0.3}}, "xxx----x"),
        ({"AU": {"<=": 0.30000000000000004}}, "-x---x--"),
        ({"AU": {"!=": 0.5}}, "-x---x-x"),
        ({"AU": {">": 0.3}, "ROCK": "OX"}, "xxx-----"),
    ],
)
def test_conditions_of_text(conditions, expected, piece) -> None:
    found = holds(ROWS, conditions, piece=piece)
    assert "".join("-x"[one] for one in found) == expected


def test_what_stands_for_missing_meets_nothing() -> None:
    options = TableOptions(missing=(-99.0,), missing_words=("ox",))
    assert holds(ROWS, {"AU": {"<": 9}}, options=options)[5] is False
    assert holds(ROWS, {"AU": {"!=": 1}}, options=options)[5] is False
    assert holds(ROWS, {"AU": "-99"}, options=options)[5] is False
    assert holds(ROWS, {"ROCK": "ox"}, options=options)[5] is False


def test_numbers_that_only_exact_arithmetic_rounds() -> None:
    digits = b"0.50000000000000000000000000000000000000000000000000000001"
    halfway = b"1.00000000000000011102230246251565404236316680908203125"
    rows = b"1,1,1,A," + digits + b"\n1,1,1,A," + halfway + b"\n"
    assert holds(rows, {"AU": 0.5}) == [True, False]
    assert holds(rows, {"AU": 1.0}) == [False, True]


def test_decimal_commas_and_another_encoding() -> None:
    head = b"X;Y;Z;ROCK;AU\n"
    rows = "1,5;1;1;Öl;0,5\n".encode("cp1252")
    options = TableOptions(encoding="cp1252")
    assert holds(rows, {"ROCK": "Öl", "AU": 0.5}, options=options, head=head) == [True]


CELL = st.sampled_from(["", "A", "b", " A", "1", "1.0", "-99", "nan", "2.5", "x y", '"', "1e3"])


@settings(max_examples=100, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=30))
def test_text_and_arrays_agree(cells) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    rows = "".join(f"1,1,1,{quoted(cell)},0\n" for cell in cells).encode()
    array = ArrayColumn(np.array([c or None for c in cells], object), "ROCK")
    text = scan(rows)[0].column(3)
    for given_values in ("A", ["b", 1], {"!=": "A"}, {">": 0}, {"<=": 1}, 1000, {"!=": 1}):
        (one, *_) = read_conditions({"ROCK": given_values})
        assert rows_or_refusal(one, text) == rows_or_refusal(one, array), given_values


def rows_or_refusal(condition, column) -> list[bool] | str:
    try:
        found: list[bool] = condition.holds(column).tolist()
    except TableError as error:
        return str(error).partition("such as ")[2].partition(" in ")[0]
    return found


@pytest.mark.parametrize(
    "cell, values, said",
    [
        ("1,410", {">=": 500}, "'1,410' in line 3. The decimal mark of the table is '.': export "),
        ("1,410", 1410, "'1,410' in line 3."),
        ("1,001,410.5", {"<": 5}, "'1,001,410.5' in line 3. Export the table without thousands"),
        ("0,5", {">": 0.1}, "or, if ',' is its decimal mark, use decimal=','."),
        ("<0.01", {">": 0.1}, "below_detection='half' (or limit, zero, missing); if the cell"),
        ("BDL", {">": 0.1}, "its limit with detection_limit={'AU': 0.01}"),
        ("inf", {">": 0.1}, "Numbers must be finite"),
        ("1e400", 3, "Numbers must be finite"),
        ("n.a.", {">": 0.1}, "if it means a missing value, use missing={'AU': 'n.a.'}."),
        ("true", 1, "A truth value is not 1 or 0"),
    ],
)
def test_text_in_a_column_of_numbers_is_refused(cell, values, said) -> None:
    rows = f'1,1,1,A,1\n1,1,1,A,"{cell}"\n1,1,1,A,2\n1,1,1,A,"{cell}"\n'.encode()
    (condition,) = read_conditions({"AU": values})
    with pytest.raises(TableError) as caught:
        condition.holds(scan(rows)[0].column(4))
    assert "table: AU is not a number in 2 of the rows up to line 5, such as" in str(caught.value)
    assert said in str(caught.value)
    array = ArrayColumn(np.array([1.0, cell, 2.0, cell], object), "AU")
    with pytest.raises(TableError, match=r"^AU is not a number in 2 of the rows up to row 4"):
        condition.holds(array)


def test_codes_beside_texts_can_be_compared() -> None:
    rows = b"1,1,1,AIR,1\n1,1,1,101,2\n1,1,1,101.0,2\n"
    assert holds(rows, {"ROCK": 101}) == [False, True, True]
    assert holds(rows, {"ROCK": {"!=": 101}}) == [True, False, False]


def test_bools_are_texts() -> None:
    (condition,) = read_conditions({"ROCK": 1})
    with pytest.raises(TableError, match=r"such as 'True' in row 1"):
        condition.holds(ArrayColumn(np.array([True, False]), "ROCK"))
    (condition,) = read_conditions({"ROCK": "True"})
    assert condition.holds(ArrayColumn(np.array([True, False]), "ROCK")).tolist() == [True, False]


def test_columns_in_memory() -> None:
    column = ArrayColumn(np.array([1, 2, 3]), "code")
    assert column.numbers().tolist() == [1, 2, 3] and column.present().all()
    assert ArrayColumn(np.array(["a", " b "]), "rock").among(["b"]).tolist() == [False, True]
    with pytest.raises(ValueError, match="one-dimensional"):
        ArrayColumn(np.zeros((2, 2)), "grid")
    with pytest.raises(ValueError, match="neither numbers nor texts"):
        ArrayColumn(np.array(["2026-01-01"], "datetime64[D]"), "day")
