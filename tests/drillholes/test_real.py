"""Drillholes of real deposits: ends of holes, and samples in wireframes, as is known of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import geodomain
from geodomain import Drillholes


def truth(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))[1:]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], float)


@pytest.fixture
def babbitt(shared_data: Path) -> Drillholes:
    ours, theirs = shared_data / "babbitt", shared_data / "formats" / "drillholes"
    survey = theirs / "babbitt_survey.csv"
    return Drillholes(ours / "collar_BABBITT.csv", survey, ours / "assay_BABBITT.csv")


def test_ends_of_holes_of_babbitt(babbitt: Drillholes, shared_data: Path) -> None:
    names, ends = truth(shared_data / "formats/drillholes/babbitt_end_of_hole.truth.csv")
    assert len(names) == len(babbitt) == 399
    assert np.abs(babbitt.positions(names, ends[:, 0]) - ends[:, 1:]).max() < 1e-6
    counts = {one.what: one.count for one in babbitt.report.findings}
    assert counts["holes with a station below their end"] == 70
    assert counts["holes whose unsurveyed end is longer than any distance between stations"] == 102
    assert babbitt.report.largest_bend == pytest.approx(16.85, abs=0.005)


def test_ends_of_holes_of_copper_creek(shared_data: Path) -> None:
    folder = shared_data / "formats" / "drillholes"
    tables = (folder / f"copper_creek_{name}.csv" for name in ("collar", "survey", "assay"))
    holes = Drillholes(*tables)
    names, ends = truth(folder / "copper_creek_end_of_hole.truth.csv")
    assert len(names) == len(holes) == 545
    assert np.abs(holes.positions(names, ends[:, 0]) - ends[:, 1:]).max() < 1e-6
    counts = {one.what: one.count for one in holes.report.findings}
    assert counts["holes whose first station is below the collar"] == 101
    assert counts["holes with one station, which are straight"] == 121
    assert counts["holes without an interval"] == 57
    assert counts["intervals that overlap the interval before"] == 159
    assert counts["gaps before an interval"] == 585
    assert holes.report.down == "negative"
    assert (len(holes.report.upward), len(holes.report.level)) == (28, 52)


def test_samples_of_demo1_in_its_wireframe(shared_data: Path) -> None:
    """The assays were made from the wireframe: those inside, and no others, have gold."""
    folder = shared_data / "demo1"
    survey = shared_data / "formats/drillholes/demo1_survey.csv"
    holes = Drillholes(folder / "collar.csv", survey, folder / "assay.csv")
    rows = holes.match(folder / "assay.csv", also=["Au"])
    middles = holes.points_at(rows.holes, (rows.starts + rows.ends) / 2)
    with pytest.warns(geodomain.GeodomainWarning, match="duplicate"):
        inside = geodomain.contains(geodomain.read_mesh(folder / "dom1.vtp"), middles)
    assert (inside == (rows.table.numbers_of("Au") > 0)).all()
    assert inside.sum() == 370
