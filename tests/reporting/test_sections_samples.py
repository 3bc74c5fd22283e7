"""Samples along drillholes on sections: where they are drawn, and in which colour."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import matplotlib, pd

import geodomain
from geodomain import Drillholes, plot_sections
from geodomain.errors import TableError
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import samples_near, samples_of

BLOCKS = ["X,Y,Z,DX,DY,DZ,domain,AU"] + [
    f"{5 + 10 * i},5,{5 + 10 * k},10,10,10,ORE,{i}" for k in range(10) for i in range(10)
]
SAMPLES = "HOLE,FROM,TO,AU\nV,0,10,0\nV,10,20,2\nV,20,30,-1\nV,30,40,\nV,40,50,4\nW,0,10,9\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("b.csv").write_text("\n".join([*BLOCKS, ""]))
    Path("a.csv").write_text(SAMPLES)
    # A vertical hole 3 from the section y = 5, and one far from it.
    Path("c.csv").write_text("HOLE,X,Y,Z,DEPTH,DIP,AZ\nV,50,8,90,45,-90,0\nW,20,90,90,45,-90,0\n")
    return tmp_path


def plot(*arguments: str, code: int = 0) -> Result:
    words = ["plot", "b.csv", "--section", "y=5", "--overwrite", *arguments]
    return run_command(*words, code=code)


NEAR = ("--collar", "c.csv", "--intervals", "a.csv", "--within", "5", "-o", "s.svg")


def test_samples_are_drawn_where_they_are_with_their_values(folder: Path) -> None:
    holes = Drillholes("c.csv")
    with pytest.warns(geodomain.GeodomainWarning, match="AU is negative in 1 of the samples"):
        samples = samples_of(holes, "a.csv", "AU")
    lines, values = samples_near(Section("y", 5), holes, 5, samples)
    # What has no value is not drawn; nor is what lies below the hole's end.
    assert values.tolist() == [0, 2, -1, 4]
    ends = [line[[0, -1]].ravel().tolist() for line in lines]
    assert ends == [[50, 90, 50, 80], [50, 80, 50, 70], [50, 70, 50, 60], [50, 50, 50, 45]]
    with pytest.warns(geodomain.GeodomainWarning, match="they count as half"):
        half = samples_of(Drillholes("c.csv", below_detection="half"), "a.csv", "AU")
    assert half.values.tolist() == [0, 2, 0.5, 4, 9]


def test_plot_counts_negative_grades_as_tonnes_do(folder: Path) -> None:
    text = Path("b.csv").read_text()
    Path("b.csv").write_text(text.replace(",ORE,1\n", ",ORE,-1\n"))
    said = plot("--colour-by", "AU", "-o", "p.svg").stderr.replace("\n", " ")
    assert said.count("AU is negative in 10 of the blocks") == 1 and "are used as they are" in said
    said = plot("--colour-by", "AU", "--below-detection", "zero", "-o", "p.svg").stderr
    assert "they count as 0" in said.replace("\n", " ")
    said = plot("--colour-by", "AU", "--missing", "AU=-1", "-o", "p.svg").stderr
    assert "negative" not in said


def test_a_sample_is_cut_where_it_leaves() -> None:
    collar = pd.DataFrame(
        {"HOLE": ["A"], "X": [0.0], "Y": [0.0], "Z": [100.0], "DEPTH": [100.0],
         "AZIMUTH": [0.0], "DIP": [45.0]}
    )  # fmt: skip
    holes = Drillholes(collar)
    table = pd.DataFrame({"HOLE": ["A"] * 2, "FROM": [0.0, 50.0], "TO": [50.0, 99.0], "CU": [1, 2]})
    samples = samples_of(holes, table, "CU")
    lines, values = samples_near(Section("y", 35), holes, 5, samples)
    assert values.tolist() == [1, 2]
    half = 50 / np.sqrt(2)
    assert lines[0][[0, -1], 1] == pytest.approx([70, 100 - half])
    assert lines[1][[0, -1], 1] == pytest.approx([100 - half, 60])


def test_colours_are_those_of_the_ramp(folder: Path) -> None:
    plot(*NEAR, "--sample-grade", "AU", "--cmap", "magma")
    picture = (folder / "s.svg").read_text()
    colours = matplotlib.colormaps["magma"]
    high = np.quantile([0, 2, -1, 4], 0.98)  # the ramp ends where 98% of the values do
    for value in (0, 2, 4):
        share = min(1.0, (value + 1) / (high + 1))
        colour = matplotlib.colors.to_hex(colours(min(int(share * 256), 255)))
        assert len(re.findall(f"stroke: {colour}; stroke-width: 5", picture)) == 1
    assert "AU, of samples" in re.sub("<!-- | -->", "", picture)


def test_blocks_and_samples_of_one_grade_have_one_ramp(folder: Path) -> None:
    plot(*NEAR, "--sample-grade", "AU", "--colour-by", "AU")
    picture = (folder / "s.svg").read_text()
    assert "AU, of blocks and samples" in picture and "AU, of samples" not in picture
    # Of -1 to 9: a sample of 2 has the colour of a block of 2.
    high = np.quantile([*list(range(10)) * 10, 0, 2, -1, 4], 0.98)
    step = int(3 / (high + 1) * 256)
    colour = matplotlib.colors.to_hex(matplotlib.colormaps["viridis"](step))
    assert f"stroke: {colour}; stroke-width: 5" in picture and f"fill: {colour}" in picture


def test_what_cannot_be_drawn_is_one_sentence(folder: Path) -> None:
    said = plot(*NEAR, "--sample-grade", "CU", code=3).stderr
    assert said.count("\n") == 1 and "CU" in said and "a.csv" in said
    (folder / "a.csv").write_text("HOLE,FROM,TO,AU\nV,0,10,\nW,0,10,\n")
    assert "no sample of these holes has a number in the column 'AU'" in plot(
        *NEAR, "--sample-grade", "AU", code=3
    ).stderr.replace("\n", " ")
    assert "--intervals" in plot("--sample-grade", "AU", "-o", "s.svg", code=2).stderr
    with pytest.raises(ValueError, match="give both samples= and sample_grade="):
        plot_sections("b.csv", "s.svg", samples="a.csv")
    with pytest.raises(ValueError, match="holes="):
        plot_sections("b.csv", "s.svg", samples="a.csv", sample_grade="AU")
    with pytest.raises(TableError, match="domain is not a number in 100 of the rows"):
        plot_sections("b.csv", "t.svg", "y=5", colour_by="domain")
