"""Shares of blocks in a report: the volume by proportion of each domain, from its column."""

from __future__ import annotations

from pathlib import Path

import pytest
from late import pandas
from wireframes import box

import geodomain


def page(folder: Path, table: pandas.DataFrame) -> str:
    """Return the report of a labelled table."""
    table.to_csv(folder / "l.csv", index=False)
    geodomain.report_file(folder / "l.csv", folder / "r.html", overwrite=True)
    return (folder / "r.html").read_text(encoding="utf-8")


def test_the_volume_by_proportion_is_beside_that_of_blocks(tmp_path: Path) -> None:
    blocks = pandas.DataFrame({"X": [2.5, 7.5, 12.5], "Y": 2.5, "Z": 2.5})
    blocks = blocks.assign(DX=5.0, DY=5.0, DZ=5.0)
    blocks.to_csv(tmp_path / "b.csv", index=False)
    solids = {"A": box((0, 0, 0), (1.5, 5, 5)), "Bx": box((1.5, 0, 0), (7.5, 5, 5))}
    for percent in (False, True):
        geodomain.label_file(
            tmp_path / "b.csv", solids, tmp_path / "o.csv",
            proportions="itself", percent=percent, background="W", overwrite=True,
        )  # fmt: skip
        found = pandas.read_csv(tmp_path / "o.csv")
        text = page(tmp_path, found)
        heading = '<th scope="col">volume by proportion</th>'
        assert heading in text.split("</thead>")[0] + "</thead>" or heading in text
        row = next(part for part in text.split("<tr>") if "> Bx</th>" in part)
        assert "<td>125</td><td>150</td>" in row
    assert "volume by proportion" not in page(tmp_path, found.assign(pct_a=7, pct_bx=101))
    assert "volume by proportion" not in page(tmp_path, found.drop(columns=["pct_a", "pct_bx"]))


@pytest.mark.parametrize("column", ["prop_other", "prop_"])
def test_a_column_of_no_domain_is_none(tmp_path: Path, column: str) -> None:
    blocks = pandas.DataFrame({"X": [1.0, 2.0], "Y": 1.0, "Z": 1.0, "domain": ["A", ""]})
    blocks = blocks.assign(DX=1.0, DY=1.0, DZ=1.0, **{column: 0.5})
    assert "volume by proportion" not in page(tmp_path, blocks)
