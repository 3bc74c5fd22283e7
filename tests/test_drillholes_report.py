"""What the report of holes tells of their directions."""

from __future__ import annotations

import pandas as pd
import pytest

from geodomain import Drillholes
from geodomain.drillholes.findings import Finding


@pytest.mark.parametrize("sign", [1, -1])
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
        "holes that turn back on themselves": "1 hole that turns back on itself (A)",
        "collars that are there twice": "1 collar that is there twice (A)",
        "intervals that overlap the one before": "1 interval that overlaps the one before (A)",
        "holes that go on straight below their last station": (
            "1 hole that goes on straight below its last station (A)"
        ),
    }
    for what, one in said.items():
        assert str(Finding(what, 1, ("A",))) == one
        assert str(Finding(what, 1200, ("A",))) == f"1,200 {what} (A, ..)"
