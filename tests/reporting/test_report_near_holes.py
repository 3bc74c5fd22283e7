"""Drillholes and the grades of their samples on the sections of a report."""

from __future__ import annotations

import hashlib
import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from late import pd
from report_page import Page, labelled_model, run

from geodomain import Drillholes, report_file
from geodomain.reporting.look import Ramp
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import pieces_near
from geodomain.reporting.svg import LEFT, TOP, grade_classes

# In a model of 8 x 6 x 4: V is in the section y = 2.5, W is 2 from it, and S crosses it.
COLLARS = (
    "HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nV,3,2.5,4,4,0,-90\nW,7,4.5,4,2,0,-90\n<S>,5,0.5,4,4,0,-45\n"
)
SAMPLES = "HOLE,FROM,TO,AU\nV,0,1,0\nV,1,2,8\nV,2,3,\nV,3,4,4\nW,0,1,2\n"


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = labelled_model(tmp_path)
    Path("c.csv").write_text(COLLARS)
    Path("a.csv").write_text(SAMPLES)
    return path


NEAR = ("--collar", "c.csv", "--section", "y=2.5", "-o", "r.html", "--overwrite")


def paths(html: str, width: int) -> list[tuple[str, list[list[float]]]]:
    """Return the colour and the lines, in coordinates, of each path of a width."""
    found = re.findall(rf'<path stroke="(#\w+)" stroke-width="{width}"[^>]* d="(.*?)"', html)
    scale = min(10_000 / 8, 6_000 / 4)
    high = 4 * scale
    return [
        (
            colour,
            [
                [(float(a) - LEFT) / scale if n % 2 == 0 else (high - float(a) + TOP) / scale
                 for n, a in enumerate(re.findall(r"-?\d+", line))]
                for line in path.split("M")[1:]
            ],
        )
        for colour, path in found
    ]  # fmt: skip


def test_samples_are_bars_where_they_are_in_the_colour_of_their_step(labelled: Path) -> None:
    words = ("--intervals", "a.csv", "--within", "0.5", "--sample-grade", "AU")
    done = run(labelled, *NEAR, *words)
    assert done.exit_code == 0, done.output
    html = Path("r.html").read_text()
    classes = grade_classes(Ramp("AU", "", 0.0, float(np.quantile([0, 8, 4, 2], 0.98)), 8.0))
    bars = paths(html, 74)
    # Of V the samples 0, 8 and 4; one below 0 is left out, and W is too far away.
    expected = {
        classes[0].colour: [3, 4, 3, 3],
        classes[-1].colour: [3, 3, 3, 2],
        classes[4].colour: [3, 1, 3, 0],
    }
    assert {colour: np.round(lines[0], 2).tolist() for colour, lines in bars} == expected
    (legend,) = re.findall(r'<p class="legend">(.*?)</p>', html)
    assert "AU of samples:" in legend and "6.79 to 8" in legend
    assert all(f"{one.interval}</span>" in legend for one in classes)
    assert not re.findall(r"</svg> ?</span>", legend)
    assert "Drillholes and their samples are drawn within 0.5 on either side" in html


def test_holes_are_cut_at_the_distance_and_named(labelled: Path) -> None:
    assert run(labelled, *NEAR, "--within", "0.5").exit_code == 0
    html = Path("r.html").read_text()
    # The summary shows one section as well.
    html = html[html.index('<section id="sections"') : html.index('<section id="domain-pages"')]
    ((_, lines),) = paths(html, 26)
    # S goes down to the north at 45 degrees: near from y = 2 to 3, where z is 2.5 to 1.5.
    assert np.abs(np.array(lines) - [[3, 4, 3, 0], [5, 2.5, 5, 1.5]]).max() < 0.01
    names = re.findall(r'<text x="\d+" y="-?\d+" font-size="140"[^>]*>(.*?)</text>', html)
    assert names == ["&lt;S&gt;", "V"]
    # Beside the frame's upper edge, where collars are, names are below it.
    heights = re.findall(r'<text x="\d+" y="(-?\d+)" font-size="140"', html)
    assert all(int(y) >= TOP + 140 for y in heights)
    assert "of samples" not in html and not paths(html, 74)
    assert run(labelled, *NEAR).exit_code == 0
    assert not paths(Path("r.html").read_text(), 26)


def test_samples_of_python_have_their_hash(labelled: Path) -> None:
    holes = Drillholes("c.csv")
    asked = {"holes": holes, "within": 1, "sample_grade": "AU", "sections": "z=0.5"}
    report_file(labelled, "r.html", samples="a.csv", **asked)
    page = Page(Path("r.html").read_text())
    digest = hashlib.sha256(SAMPLES.encode()).hexdigest()
    assert ["samples", "a.csv", str(len(SAMPLES)), digest] in page.tables["files"]
    frame = pd.read_csv("a.csv")
    report_file(labelled, "r.html", samples=frame, overwrite=True, **asked)
    with pytest.raises(ValueError, match=r"is the input a\.csv"):
        os.link("a.csv", "a.html")
        report_file(labelled, "a.html", samples="a.csv", overwrite=True, **asked)
    assert Path("a.csv").read_text() == SAMPLES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--within", "5"), "--within is for drillholes, and needs --collar"),
        (("--sample-grade", "AU"), "also give --samples, or --collar and --intervals"),
        (("--samples", "a.csv"), "--samples needs --sample-grade or --grade"),
    ],
)
def test_half_of_what_is_needed_is_a_slip(
    labelled: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(labelled, "-o", "r.html", *words)
    assert done.exit_code == 2 and said in done.output and not Path("r.html").exists()


def test_half_of_what_is_needed_is_refused_in_python(labelled: Path) -> None:
    holes = Drillholes("c.csv")
    for given, said in (
        ({"within": 5}, "give holes="),
        ({"holes": holes, "within": 5, "samples": "a.csv"}, "give both samples="),
        ({"holes": holes, "sample_grade": "AU"}, "give both samples="),
    ):
        with pytest.raises(ValueError, match=said):
            report_file(labelled, "r.html", **given)
    assert not Path("r.html").exists()


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_those_of_each_step_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Whole numbers: many points lie exactly at the distance.
    points = rng.integers(-3, 4, (40, 3)).astype(float)
    section = Section("y", 0.0)
    found = pieces_near(points, points[:, 1], section, 2.0)
    steps = []
    for one, two in pairwise(points):
        low, high = sorted((one[1], two[1]))
        if low > 2 or high < -2 or (low != high and (high == -2 or low == 2)):
            continue
        shares = [0.0, 1.0]
        if low != high:
            at = sorted((side - one[1]) / (two[1] - one[1]) for side in (-2, 2))
            shares = [max(0.0, at[0]), min(1.0, at[1])]
        steps += [[(one + share * (two - one))[[0, 2]] for share in shares]]
    cut = [pair for piece in found for pair in pairwise(piece)]
    assert len(cut) == len(steps)
    assert np.allclose(cut, steps, atol=1e-12)
    for one, two in pairwise(found):
        assert len(one) > 1 and len(two) > 1
