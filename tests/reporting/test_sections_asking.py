"""Which sections are asked for: one, several, runs, and what is none."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodomain.reporting.planes import Section, as_sections, is_run, parse_sections


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        ("y=7480200,7480300,50", [7480200, 7480250, 7480300]),
        ("z=0.1,0.3,0.1", [0.1, 0.2, 0.3]),
        ("z=10,0,-4", [10, 6, 2]),
        ("x=5,5,1", [5]),
        ("x=5", [5]),
        (("z", 310), [310]),
        ([("z", 310), "z=5,6,1"], [310, 5, 6]),
        (("z=5", "z=6"), [5, 6]),
        (Section("z", 7), [7]),
        ((), []),
    ],
)
def test_sections_that_are_asked_for(asked: object, at: list[float]) -> None:
    assert [section.at for section in as_sections(asked)] == at  # type: ignore[arg-type]


def test_axes_as_miners_call_them() -> None:
    asked = ["E=1", "n=2", "RL=3,4,1", ("rl", 5), ("N", 6)]
    assert as_sections(asked) == [  # type: ignore[arg-type]
        Section("x", 1), Section("y", 2), Section("z", 3), Section("z", 4), Section("z", 5),
        Section("y", 6),
    ]  # fmt: skip


@settings(max_examples=30)
@given(
    st.decimals(-(10**7), 10**7, places=3),
    st.integers(1, 400),
    st.decimals(1, 100, places=3),
    st.sampled_from([-1, 1]),
)
def test_a_run_has_its_ends_and_steps_of_decimal_numbers(
    start: Decimal, count: int, step: Decimal, sign: int
) -> None:
    stop = start + sign * step * (count - 1)
    found = parse_sections(f"x={start},{stop},{sign * step}")
    assert len(found) == count
    assert found[0].at == float(start) and found[-1].at == float(stop)
    assert found[count // 2].at == float(start + sign * step * (count // 2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("z=1,5", "AXIS=START,STOP,STEP"),
        ("z=1,5,0", "AXIS=START,STOP,STEP"),
        ("z=1,5,x", "AXIS=START,STOP,STEP"),
        ("w=1,5,1", "w"),
        ("z=5,1,1", "0 sections"),
        ("z=0,1,0.0001", "10,001 sections"),
        ("z=nan,1,1", "AXIS="),
        ("z=0,inf,1", "1,000,000,001 sections"),
        ("z=0,1e999999,1", "1,000,000,001 sections"),
        ("z=5,4.5,1", "0 sections"),
    ],
)
def test_what_is_no_run(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_sections(text)


@pytest.mark.parametrize("asked", [(5,), [None], ["z"], [("z", 1, 2)]])
def test_what_is_no_section_among_others(asked: list) -> None:
    with pytest.raises(ValueError, match=r"section|AXIS"):
        as_sections(asked)


def test_a_run_among_others() -> None:
    assert is_run("z=0,9,3") and is_run(["x=5", "z=0,9,3"])
    assert not is_run("x=5") and not is_run(["x=5", ("z", 3)]) and not is_run(Section("x", 5))
