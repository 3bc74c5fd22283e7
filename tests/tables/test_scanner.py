"""Numbers equal Python's float; every fault is one sentence that says where."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.errors import TableError
from geodomain.tables.layout import TableLayout
from geodomain.tables.scanner import ColumnCells, ReusedColumns, Scanner, read_number

LAYOUT = TableLayout(b",", b".", ("ID", "XC", "YC", "ZC", "NOTE"), (1, 2, 3), None, 0, 2, ())
TINY, HUGE = 5e-324, 1.7976931348623157e308


def bits(number):
    return struct.pack("<d", number)


def scan(text, *, layout=LAYOUT, final=True, threads=1, piece=1 << 16):
    scanner = Scanner(layout, "blocks.csv", threads=threads, piece_bytes=piece)
    found = scanner.scan(np.frombuffer(text, dtype=np.uint8), final=final)
    return found, scanner.values()[0]


def random_texts(count, seed):
    """Give decimals of the kinds that break number readers."""
    dice = random.Random(seed)

    def double():
        return struct.unpack("<d", struct.pack("<Q", dice.getrandbits(63)))[0]

    def halfway(digits):
        low = min(double(), HUGE / 4)
        low = 1.5 if math.isnan(low) else low
        with localcontext() as context:
            context.prec = digits
            return str((Decimal(low) + Decimal(math.nextafter(low, math.inf))) / 2)

    makers = [
        lambda: f"{dice.uniform(-1e7, 1e7):.{dice.randint(0, 6)}f}",
        lambda: repr(double()),
        lambda: halfway(dice.choice([17, 18, 19, 20, 22, 25, 800])),
        lambda: f"{dice.getrandbits(70)}.{dice.getrandbits(50)}e{dice.randint(-340, 310)}",
        lambda: f"{dice.getrandbits(64)}e{dice.randint(-345, -300)}",
        lambda: f"{2**53 + dice.randint(0, 100)}e{dice.randint(-30, 30)}",
        lambda: f"{dice.randrange(10**17, 10**25)}e{dice.randint(-360, 320)}",
        lambda: f"0.{'0' * dice.randint(0, 400)}{dice.getrandbits(60)}",
        lambda: f"{dice.getrandbits(40)}{'0' * dice.randint(0, 300)}.{dice.getrandbits(9)}",
    ]
    for _ in range(count):
        yield dice.choice(makers)()


def agrees(text):
    expected, actual = float(text), read_number(text.encode())
    return bits(expected) == bits(actual) or (math.isnan(expected) and math.isnan(actual))


@pytest.mark.full
def test_numbers_are_rounded_as_python_rounds_them():
    assert [text for text in random_texts(200_000, 1) if not agrees(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "0", "-0", "-0.0", "00012.500", "1.", ".5", "+.5e+1", "1E5", "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
        "1.7976931348623157e308", "1.7976931348623158079e308", "9007199254740993",
        "9007199254740992.9999999999999999", "9007199254740993.00000000000000000001",
        "8.5e-324", "1e-400", "0e999999999999999999", "1e-999999999999999999999",
        "6929495644600919.5", "3.7455744005952583e15", "1090544144181609348671888949248",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
    ],
)  # fmt: skip
def test_hard_numbers(text):
    assert agrees(text)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.floats(allow_nan=False, allow_infinity=False)
)
def test_any_number(number):
    assert agrees(str(number))


def test_numbers_of_a_table_as_those_of_a_field():
    texts = [text for text in random_texts(20_000, 2) if math.isfinite(float(text))]
    rows = [texts[i : i + 3] for i in range(0, len(texts) - 2, 3)]
    _, points = scan("".join(f"a,{','.join(row)},b\n" for row in rows).encode())
    expected = np.array([[float(text) for text in row] for row in rows])
    np.testing.assert_array_equal(points.view(np.uint64), expected.view(np.uint64))


def test_short_numbers_of_every_length():
    texts = [
        f"{sign}{'123456789012345678'[:whole]}{mark}"
        for sign in ("", "-")
        for whole in range(1, 18)
        for mark in ("", ".", ".0", ".25", ".125", ".98765432101234")
    ]
    _, points = scan("".join(f"a,{text},{text},7,b\n" for text in texts).encode())
    np.testing.assert_array_equal(points[:, 0], [float(text) for text in texts])
    np.testing.assert_array_equal(points[:, 1], points[:, 0])


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        (" 12.5 ", ".", 12.5), ("\t-3", ".", -3.0), ("12,5", ",", 12.5), ("1,5e3", ",", 1500.0),
        ("1.5D+03", ".", 1500.0), ("1d-2", ".", 0.01),
    ],
)  # fmt: skip
def test_what_else_is_a_number(text, mark, value):
    assert read_number(text.encode(), mark.encode()) == value


@pytest.mark.parametrize("text", ["", " ", "\t", "nan", "NaN", "NAN", "-nan", " nan "])
def test_what_is_missing(text):
    assert math.isnan(read_number(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "abc", "-", "+", ".", "-.", "e5", "1e", "1e+", "1.2.3", "1,234.5", "1 2", "0x10", "1_000",
        "--1", "+-1", "NA", "N/A", "null", "12m", "1.5f", "nano",
        "in", "\xa01", "1\0", "5-", "1.-5",
    ],
)  # fmt: skip
def test_what_is_text(text):
    assert read_number(text.encode()) is None


def test_the_other_mark_is_text():
    assert read_number(b"1.5", b",") is None
    assert read_number(b"1.234,5", b",") is None


@pytest.mark.parametrize(
    "text", ["inf", "-Infinity", "1e999", "1.8e308", "1.79769313486231581e308", "1" + "0" * 309]
)
def test_what_is_out_of_range(text):
    assert read_number(text.encode()) == math.inf


FAULTS = {
    b"1,2,3,4\n": "blocks.csv, line 4: the row has 4 fields, but the header has 5. Correct the "
    "row; a field that contains the delimiter must be in double quotes.",
    b"1\n": "line 4: the row has 1 field, but",
    b"1,2,3,4,5,\n": "line 4: the row has 6 fields, but",
    b"1,2,abc,4,5\n": "blocks.csv, line 4: YC is 'abc', which is not a number. Correct the "
    "cell, or, if it stands for a missing value, use missing='abc'.",
    b'1,2,3,"4,5",6\n': "line 4: ZC is '4,5', which is not a number because the decimal mark is "
    "'.', without thousands separators (decimal=',' chooses the other mark).",
    b"1,1e999,3,4,5\n": "blocks.csv, line 4: XC is '1e999', which is beyond the range of a number. "
    "Correct the cell, or leave it empty.",
    b"1,2,3,-inf,5\n": "line 4: ZC is '-inf', which is beyond the range",
    b"1,1.79769313486231580793728971405303415079934132710037826937e308,3,4,5\n": "line 4: XC is "
    "'1.79769313486231580793728971405303415...', which is beyond the range",
    b'1,2,3,4,"5\n1,2,3,4,5\n': "blocks.csv, line 4: the quote that opens the field "
    "'\"5\\n1,2,3,4,5\\n' is never closed. Close or remove the quote.",
    b'1,2,3,4,"a\nb\r\nc"x\n': "blocks.csv, line 4: the quoted field '\"a\\nb\\r\\nc\"', closed in "
    "line 6, is followed by text before the next delimiter. Double the quotes within the field, "
    "or put the closing quote at the end of the field.",
    b'1,2,3,4,"a" b\n': "line 4: the quoted field '\"a\"' is followed by text",
    b"1,2,3,4,\0\n": "blocks.csv, line 4: there is a NUL byte, so the file is damaged or not plain "
    "text. Export the table again as CSV in UTF-8.",
    b'1,2,3,4,"a\n\0"\n': "line 5: there is a NUL byte",
    b"\xff,2,\xff\xfe,4,5\n": "line 4: YC is '\ufffd\ufffd', which is not",
}


@pytest.mark.parametrize("row", FAULTS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("piece", [1, 1 << 16])
def test_faults(row, threads, piece):
    before = b'"1\n",2,3,4,5\n'
    after = b"" if b'"5\n' in row else b'1,x,3\n"'  # its quote would be the one that is missing
    with pytest.raises(TableError) as caught:
        scan(before + row + after, threads=threads, piece=piece)
    assert FAULTS[row] in str(caught.value)


def test_fault_lines_count_all_line_ends_of_earlier_chunks():
    scanner = Scanner(LAYOUT, "blocks.csv")
    chunks = [b"1,2,3,4,5\r\n\r\n", b'"\r\n\n",2,3,4,5\r1,2,3,4,5\n', b"a,b,c\n"]
    for chunk in chunks[:2]:
        assert scanner.scan(np.frombuffer(chunk, np.uint8), final=False).consumed == len(chunk)
    with pytest.raises(TableError, match="line 8: the row has 3 fields"):
        scanner.scan(np.frombuffer(chunks[2], np.uint8), final=False)


def test_an_undecided_fault_comes_in_its_turn():
    beyond = b"a,1.79769313486231580793728971405303415079934132710037826937e308,2,3,b\n"
    with pytest.raises(TableError, match=r"line 3: XC is '1\.797"):
        scan(b"a,1,2,3,b\n" + beyond + b"ragged\n")
    with pytest.raises(TableError, match="line 2: the row has 1 field"):
        scan(b"ragged\n" + beyond)


@pytest.mark.parametrize(
    ("text", "consumed"),
    [
        (b"1,2,3,4,5", 0), (b"1,2,3,4,5\n6,7", 10), (b"1,2,3,4,5\r", 0), (b"1,2,3,4,5\r\n", 11),
        (b'1,2,3,4,"5', 0), (b'1,2,3,4,"5"', 0), (b'1,2,3,4,"5\n"\n1', 13), (b"\n \n1,", 3),
        (b" ", 0),
    ],
)  # fmt: skip
def test_unfinished_rows_wait(text, consumed):
    found, _ = scan(text, final=False)
    assert found.consumed == consumed


HALFWAY = "1.000000000000000111022302462515654042363166809082031251"


@pytest.mark.parametrize(
    ("codes", "row", "missing"),
    [
        ((), f"{HALFWAY},{HALFWAY},3", 0),
        ((0.0,), f"{HALFWAY},2,{HALFWAY}", 0),
        ((float(HALFWAY), 0.0), f"{HALFWAY},2,3", 1),
        ((2.0,), f"{HALFWAY},2,3", 1),
        ((), f"{HALFWAY},,{HALFWAY}", 1),
    ],
)
def test_decided_numbers_are_missing_when_they_are_a_code(codes, row, missing):
    layout = TableLayout(b",", b".", LAYOUT.names, (1, 2, 3), None, 0, 2, codes)
    scanner = Scanner(layout, "t")
    text = f"a,{row},b\n".encode()
    assert scanner.scan(np.frombuffer(text, np.uint8), final=True).unsure == row.count(HALFWAY)
    points, _, count = scanner.values()
    assert count == missing
    assert np.isnan(points).any() == bool(missing)


def test_cells_are_one_run_of_bytes():
    cells = ColumnCells((b"ORE", b"", b"W"), b",")
    assert bytes(cells.bytes) == b",ORE,,W"
    assert cells.starts.tolist() == [0, 4, 5, 7]


# --- Memory of columns, taken again once nobody has an array in it.


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
