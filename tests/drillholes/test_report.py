"""What the report of holes tells of their directions."""

from __future__ import annotations

import pytest
from flagged_holes import warned_of
from late import pd

from geodomain import Drillholes
from geodomain.drillholes.findings import KINDS, Finding, note

# Findings are read from reports; whether they are warned of has tests of its own.


@pytest.mark.parametrize("sign", [1, -1])
@warned_of("collar-zero", "hole-bend")
def test_holes_that_rise_and_holes_that_are_level(sign: int) -> None:
    dips = {"A": [60, 60], "B": [60, -5], "C": [50, 0], "D": [0, -1], "E": [90, 90]}
    collar = pd.DataFrame({"HOLE": [*dips], "X": 0.0, "Y": 0.0, "Z": 0.0, "ENDDEPTH": 20.0})
    rows = [(name, at, 0.0, sign * dip) for name, pair in dips.items()
            for at, dip in zip((0, 10), pair, strict=True)]  # fmt: skip
    survey = pd.DataFrame(rows, columns=["HOLE", "AT", "BRG", "DIP"])
    report = Drillholes(collar, survey).report
    assert report.down == ("positive" if sign > 0 else "negative")
    assert (report.upward, report.level) == (("B", "D"), ("C",))
    lines = str(report).splitlines()
    assert [line.split(None, 1)[1] for line in lines if line.startswith(("upwards", "level"))] == [
        "2 holes (B, D)",
        "1 hole (C)",
    ]


def test_one_of_something_is_said_so() -> None:
    said = {
        "station-turns-back": "1 hole that turns back on itself (A) [station-turns-back]",
        "collar-twice": "1 collar that appears twice (A) [collar-twice]",
        "interval-overlap": "1 interval that overlaps the interval before (A) [interval-overlap]",
        "survey-short": (
            "1 hole whose unsurveyed end is longer than any distance between stations (A) "
            "[survey-short]"
        ),
    }
    for code, one in said.items():
        found: list[Finding] = []
        note(found, code, ["A"])
        note(found, code, [*"ABCDEF"])
        assert str(found[0]) == one
        assert str(found[1]) == f"6 {KINDS[code].what} (A, B, C, D, E, ..) [{code}]"
