"""Rows that are like the row before them say what they would say by themselves."""

import itertools
import random

import numpy as np
import pytest

from geodomain.tables.layout import TableLayout
from geodomain.tables.scanner import Scanner

CODE = -99.0
# Half way between two doubles but for the last digit: only exact arithmetic rounds it.
HALFWAY = "1.000000000000000111022302462515654042363166809082031251"
XYZ = {"first": (0, 1, 2), "last": (2, 3, 4), "backwards": (4, 2, 0), "one thrice": (3, 3, 3)}
SIZES = {"none": None, "all": (1, 2, 3), "with two": (0, 1, 4)}


def number(text, codes=()):
    """Return what a cell says by Python's arithmetic."""
    value = float(text.strip()) if text.strip() else np.nan
    return np.nan if value in codes else value


def scan(lines, *, xyz=(0, 1, 2), sizes=None, codes=(), piece=1 << 16, threads=1, final=True):
    names = tuple("ABCDE")
    layout = TableLayout(b",", b".", names, xyz, sizes, 0, 2, codes)
    scanner = Scanner(layout, "t", threads=threads, piece_bytes=piece)
    found = scanner.scan(np.frombuffer("".join(lines).encode(), np.uint8), final=final)
    return scanner, found


def check(lines, *, xyz=(0, 1, 2), sizes=None, codes=(), **how):
    """Compare with the rows taken apart by Python; those must be plain, or blank."""
    scanner, found = scan(lines, xyz=xyz, sizes=sizes, codes=codes, **how)
    rows = [line.rstrip("\r\n").split(",") for line in lines if line.strip()]
    expected = np.array([[number(cell, codes) for cell in row] for row in rows]).reshape(-1, 5)
    points, lengths, missing = scanner.values()
    np.testing.assert_array_equal(points, expected[:, xyz])
    assert missing == np.isnan(expected[:, xyz]).any(axis=1).sum()
    if sizes is not None:
        np.testing.assert_array_equal(lengths, expected[:, sizes])
    ends = np.cumsum([len(line) for line in lines])
    ends -= [len(line) - len(line.rstrip("\r\n")) for line in lines]
    assert scanner.ends().tolist() == ends[[bool(line.strip()) for line in lines]].tolist()
    assert found.lines == sum(line.count("\n") or line.count("\r") for line in lines)


def tables(count, seed):
    """Give tables whose rows differ from the row before in a few cells, and in their ends."""
    dice = random.Random(seed)
    cells = [
        lambda: f"{dice.uniform(0, 1e6):.{dice.randint(0, 4)}f}",
        lambda: str(dice.randint(-12, 12)),
        lambda: "",
        lambda: "-99",
        lambda: f" {dice.randint(0, 9)}\t" if dice.random() < 0.1 else "7.250",
        lambda: repr(dice.uniform(-1, 1)),
        lambda: HALFWAY if dice.random() < 0.3 else "0.5",
        lambda: f"{dice.randint(0, 9)}{'0' * dice.randint(0, 70)}",
    ]
    for _ in range(count):
        kinds = [dice.choice(cells) for _ in range(5)]
        row, ends = [kind() for kind in kinds], dice.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
        lines = []
        for _ in range(dice.randint(1, 30)):
            for column in dice.sample(range(5), dice.randint(0, 2)):
                row[column] = kinds[column]()
            lines.append(",".join(row) + dice.choice(ends))
            if dice.random() < 0.02:
                lines.append(dice.choice(["\n", "  \r\n"]))
        yield lines


@pytest.mark.full
@pytest.mark.parametrize("xyz", XYZ.values(), ids=XYZ)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_random_tables(xyz, sizes):
    for lines in tables(300, 7):
        for piece, threads in ((1, 1), (100, 2), (1 << 16, 1)):
            check(lines, xyz=xyz, sizes=sizes, codes=(CODE,), piece=piece, threads=threads)


@pytest.mark.parametrize("before", range(40, 70))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_wanted_fields_that_end_about_byte_64(before, end):
    lines = [
        f"{value},{'1' * before},{value},2,{value}{end}" for value in (1, 1, 5, 5, 12, 1, 1, -7)
    ]
    check(lines, xyz=(0, 2, 3), sizes=(0, 1, 4))
    check([line.replace("1" * before, "") for line in lines], xyz=(0, 2, 3))


@pytest.mark.parametrize("length", range(1, 200, 3))
def test_a_text_that_ends_anywhere(length):
    text = "1,2,3,4,5\n" * 25
    lines = [text[i : i + 10] for i in range(0, length, 10)]
    lines[-1] = lines[-1][: (length - 1) % 10 + 1]
    whole = [line for line in lines if line.endswith("\n")]
    _, found = scan(lines, final=False)
    assert (found.rows, found.consumed) == (len(whole), 10 * len(whole))


def test_the_same_bytes_in_other_fields():
    # Each row has the bytes of the row before, but for a delimiter that is now a digit.
    lines = ["1,2,34,5,6\n", "1,2,3,5,6\n", "112,3,5,6,7\n", "1,2,3,5,6\n", "1,,2,3,5\n"]
    for order in itertools.permutations(lines):
        filled = [line.rstrip("\n") + "0" * 60 + "\n" for line in order]
        check(filled, xyz=(0, 1, 2), sizes=(1, 2, 3))


def test_a_number_that_python_rounds_is_rounded_in_every_row():
    scanner, found = scan([f"{HALFWAY},2,3,4,5\n"] * 3 + ["7,2,3,4,5\n"] * 3)
    assert found.unsure == 3
    np.testing.assert_array_equal(scanner.values()[0][:, 0], [float(HALFWAY)] * 3 + [7.0] * 3)


def test_missing_cells_are_missing_in_every_row():
    for cell in ("", " ", "nan", "-99"):
        check([f"1,{cell},3,4,5\n"] * 20 + ["1,2,3,4,5\n"] * 20, codes=(CODE,))


def test_a_table_of_one_column_never_comes_so_far():
    """A blank line would be a row of it, and no delimiter stands before the end of a row."""
    layout = TableLayout(b",", b".", ("A",), (0, 0, 0), None, 0, 2)
    with pytest.raises(ValueError, match="at least two columns"):
        Scanner(layout, "t")
