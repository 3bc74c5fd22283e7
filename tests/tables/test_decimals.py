"""Decimals of text: against Python's own, exactly."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.tables.decimals import NOT_PLAIN, Decimals, put_decimal, read_decimals
from geodomain.tables.numbers import Doubles, Resolution, read_resolution

PLAIN = st.from_regex(r"[+-]?[0-9]{1,9}(\.[0-9]{0,16})?", fullmatch=True)


def read(*cells: str, mark: bytes = b".") -> Decimals:
    text = np.frombuffer("|".join(cells).encode(), np.uint8)
    ends = np.cumsum([len(cell) + 1 for cell in cells]) - 1
    places = np.column_stack([ends - [len(cell) for cell in cells], ends])
    return read_decimals(text, places.astype(np.int64), mark)


def fractions(numbers: Decimals) -> list[Fraction]:
    pairs = zip(numbers.whole.tolist(), numbers.parts.tolist(), strict=True)
    return [whole + Fraction(parts, 10**18) for whole, parts in pairs]


@pytest.mark.full
@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=20))
def test_sums_differences_and_halves_are_exact(pairs) -> None:
    one, other = read(*(a for a, _ in pairs)), read(*(b for _, b in pairs))
    known = [(Fraction(a), Fraction(b)) for a, b in pairs]
    assert fractions(one) == [a for a, _ in known]
    assert fractions(one + other) == [a + b for a, b in known]
    assert fractions(one - other) == [a - b for a, b in known]
    assert fractions(one.half()) == [a / 2 for a, _ in known]
    assert one.doubles().tolist() == [float(a) for a, _ in pairs]
    (total,) = fractions(one.summed(np.zeros(len(one), np.int64), 1))
    assert total == sum(a for a, _ in known)


@given(
    st.decimals(0, 10**6, places=6), st.decimals(-(10**7), 10**7, places=3),
    st.integers(1, 300), st.data(),
)  # fmt: skip
def test_a_share_is_exact_or_a_multiple_of_the_resolution(size, start, parts, data) -> None:
    part = data.draw(st.integers(0, parts))
    step = Resolution(5, 4)
    numbers, base = read(str(size)), read(str(start))
    (found,) = fractions(numbers.share(np.array([part]), np.array([parts]), base, step))
    true = Fraction(size) * part / parts
    if (true * 10**17).denominator == 1:
        assert found == true
    else:
        unit = Fraction(5, 10**4)
        assert ((found + Fraction(start)) / unit).denominator == 1
        assert abs(found - true) <= unit / 2


@pytest.mark.parametrize("cell", ["", "x", "1e3", "1.2.3", "-", ".", "1" * 19, "0." + "1" * 19])
def test_what_is_no_plain_decimal(cell: str) -> None:
    assert read("1", cell).decimals.tolist() == [0, NOT_PLAIN]


def test_other_spellings_and_marks() -> None:
    assert fractions(read(" -2,50 ", ",5", "3,", mark=b",")) == [
        Fraction(-5, 2),
        Fraction(1, 2),
        Fraction(3),
    ]
    numbers = read("1e3", "-1.5e-3")
    with localcontext() as context:
        context.prec = 50
        assert put_decimal(numbers, 0, Decimal("1e3"))
        assert put_decimal(numbers, 1, Decimal("-1.5e-3"))
        assert not put_decimal(numbers, 1, Decimal("1e-19"))
    assert fractions(numbers) == [Fraction(1000), Fraction(-3, 2000)]
    assert numbers.decimals.tolist() == [0, 4]


def test_resolutions() -> None:
    assert read_resolution("0.001") == Resolution(1, 3)
    assert read_resolution(2.5) == Resolution(25, 1)
    assert read_resolution("10") == Resolution(10, 0)
    for wrong in (0, -1, "nan", "1e-10", "x"):
        with pytest.raises(ValueError, match="resolution= is"):
            read_resolution(wrong)


def test_halves_of_a_resolution_are_rounded_up() -> None:
    found = read("0.0005", "0.00049999999999", "-0.0005", "7").to_multiples(Resolution(1, 3))
    assert fractions(found) == [Fraction(1, 1000), 0, 0, 7]
    values = Doubles(np.array([0.1, 2.0]))
    assert values.rounded(np.array([1.0004, 0.3]), Resolution(1, 3)).doubles().tolist() == [1, 0.3]
