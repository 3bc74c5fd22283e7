"""Upright sections along lines of the map: where they cut, what they are called, how they look."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from label_command import run_command
from late import needs
from wireframes import cube

from geodomain import Drillholes, plot_sections, report_file
from geodomain.errors import TableError
from geodomain.reporting.planes import Section, as_lines
from geodomain.reporting.sections import (
    cut_blocks,
    cut_triangles,
    is_cut,
    lines_near,
    samples_near,
    samples_of,
)
from geodomain.tables.frames import LocalFrame

EYE = np.eye(3)


def line(*ends: float) -> Section:
    (section,) = as_lines(ends)
    return section


@pytest.mark.parametrize(
    ("ends", "looking"),
    [
        ((0, 0, 9, 0), "looking north"),
        ((0, 0, 0, 9), "looking west"),
        ((9, 0, 0, 0), "looking south"),
        ((0, 9, 0, 0), "looking east"),
        ((0, 0, 9, 9), "looking 315°"),
        ((0, 9, 9, 0), "looking 045°"),
    ],
)
def test_the_second_end_is_at_the_right(ends: tuple[float, ...], looking: str) -> None:
    section = line(*ends)
    assert section.looking == looking and section.name == "A-A'"
    places = section.flat(np.array([[*ends[:2], 5.0], [*ends[2:], 7.0]]))
    assert places.ravel().tolist() == pytest.approx([0, 5, math.dist(ends[:2], ends[2:]), 7])


def test_lines_along_axes_cut_what_sections_across_axes_cut() -> None:
    generator = np.random.default_rng(3)
    points = generator.integers(0, 20, (500, 3)) * 5.0
    sizes = generator.integers(1, 4, (500, 3)) * 5.0
    lines = (line(-99, 50, 999, 50), line(999, 50, -99, 50))
    for section in lines:  # on faces, seen from either side, the blocks to the north are drawn
        cut = is_cut(Section("y", 50), points, sizes, EYE)
        assert is_cut(section, points, sizes, EYE).tolist() == cut.tolist()
    ahead = cut_blocks(Section("y", 50), points[cut], sizes[cut], EYE)
    along = cut_blocks(lines[0], points[cut], sizes[cut], EYE)
    for one, two in zip(ahead, along, strict=True):
        np.testing.assert_allclose(one, two - [99, 0])


def test_a_line_cuts_a_block_in_its_diagonal() -> None:
    points, sizes = np.array([[5.0, 5, 5]]), np.array([[10.0, 10, 4]])
    section = line(-10, -10, 20, 20)
    (polygon,) = cut_blocks(section, points, sizes, EYE)
    low, high = polygon.min(axis=0), polygon.max(axis=0)
    assert low.tolist() == pytest.approx([10 * math.sqrt(2), 3])
    assert high.tolist() == pytest.approx([20 * math.sqrt(2), 7])
    assert is_cut(section, points, sizes, EYE).all()
    # Beyond the ends of the line nothing is cut.
    assert not is_cut(line(-10, -10, -1, -1), points, sizes, EYE).any()
    assert is_cut(line(-10, -10, 1, 1), points, sizes, EYE).all()
    # A corner that is touched has no area, and no warning.
    corner = cut_blocks(line(0, 20, 20, 0), points, sizes, EYE)[0]
    assert np.ptp(corner[:, 0]) == pytest.approx(0, abs=1e-9)


def test_sections_of_turned_blocks_add_up() -> None:
    matrix, sizes = np.array(LocalFrame([("z", 20), ("x", 30)], (0, 0, 0)).matrix), [[2.0, 3, 5]]
    volume, step, size = 0.0, 0.02, np.array(sizes)
    for at in np.arange(-4, 4, step):
        away = at * np.array([-0.6, 0.8])
        along = np.array([80, 60])
        section = line(*(away - along), *(away + along))
        if is_cut(section, np.zeros((1, 3)), size, matrix).all():
            x, y = cut_blocks(section, np.zeros((1, 3)), size, matrix)[0].T
            volume += step * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
    assert volume == pytest.approx(30, rel=0.02)


def test_a_line_cuts_a_wireframe() -> None:
    mesh = cube()
    lines = cut_triangles(line(-5, -5, 15, 15), mesh.vertices[mesh.triangles])
    length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum()
    assert length == pytest.approx(20 + 20 * math.sqrt(2))


def test_holes_and_samples_near_a_line() -> None:
    import pandas as pd

    collar = pd.DataFrame(
        {"HOLE": ["ON", "OFF", "PAST"], "X": [10.0, 10.0, 60.0], "Y": [10.0, 20.0, 60.0],
         "Z": [100.0] * 3, "DEPTH": [50.0] * 3, "AZIMUTH": [0.0] * 3, "DIP": [-90.0] * 3}
    )  # fmt: skip
    assay = pd.DataFrame({"HOLE": ["ON", "OFF"], "FROM": [10.0, 0], "TO": [20.0, 9], "AU": [3, 5]})
    holes = Drillholes(collar)
    section = line(0, 0, 30, 30)
    ((name, drawn),) = lines_near(section, holes, 5)
    assert name == "ON"
    reach = 10 * math.sqrt(2)
    assert drawn[[0, -1]].ravel().tolist() == pytest.approx([reach, 100, reach, 50])
    assert {name for name, _ in lines_near(section, holes, 7.1)} == {"ON", "OFF"}
    (bar,), values = samples_near(section, holes, 5, samples_of(holes, assay, "AU"))
    assert values.tolist() == [3]
    assert bar[[0, -1]].ravel().tolist() == pytest.approx([reach, 90, reach, 80])


def test_where_sections_cross() -> None:
    section = line(0, 0, 30, 40)
    assert section.crossing(Section("z", 7)).tolist() == [[-math.inf, 7], [math.inf, 7]]
    across = section.crossing(Section("x", 15))
    assert across[:, 0].tolist() == pytest.approx([25, 25]) and np.isinf(across[:, 1]).all()
    assert section.crossing(line(30, 0, 0, 40))[0, 0] == pytest.approx(25)
    assert section.crossing(line(30, 0, 25, 5)) is None  # it ends before
    assert section.crossing(line(1, 0, 31, 40)) is None  # parallel
    assert section.crossing(Section("x", 31)) is None  # the section ends before
    assert Section("z", 1).crossing(section).tolist() == [[0, 0], [30, 40]]
    assert Section("y", 1).crossing(Section("y", 2)) is None
    assert Section("y", 20).crossing(section)[0, 0] == pytest.approx(15)


@pytest.mark.parametrize(
    "wrong", ["1,2,3", "1,2,3,x", "1,2,1,2", (1, 2, 3), (1, 2, 3, math.inf), "1,2,3,4,5"]
)
def test_what_is_no_line(wrong: object) -> None:
    with pytest.raises(ValueError, match="two different points"):
        as_lines(wrong)


def test_names_of_lines() -> None:
    many = as_lines([(0, 0, 1, number) for number in range(28)])
    assert [section.name for section in many[:2]] == ["A-A'", "B-B'"]
    assert [section.name for section in many[25:]] == ["Z-Z'", "AA-AA'", "BB-BB'"]
    assert as_lines(()) == [] and as_lines("0,0,1,1") == as_lines([(0, 0, 1, 1)])
    assert repr(many[0]) == 'Section(axis=None, at=0.0, ends=(0.0, 0.0, 1.0, 0.0), label="A-A\'")'


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Work beside a model of 10 x 10 x 2 blocks of 10: ORE in the west half of it."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{5 + 10 * i},{5 + 10 * j},{5 + 10 * k},10,10,10,{'ORE' if i < 5 else 'WASTE'}"
        for k in range(2)
        for j in range(10)
        for i in range(10)
    ]
    Path("b.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows, ""]))
    return "b.csv"


@needs("matplotlib")
def test_a_picture_of_lines(model: str) -> None:
    run_command("plot", model, "--line", "10,10,90,90", "--section", "z=5", "-o", "s.svg")
    picture = Path("s.svg").read_text()
    words = re.findall(r"<!-- (.*?) -->", picture)
    for word in ("A-A&apos;, looking 315°", "distance from A", "z = 5, plan", "A", "A&apos;"):
        assert word in words or word.replace("&apos;", "'") in words, word
    wrong = run_command("plot", model, "--line", "1,1,1,1", "-o", "t.svg", code=2).stderr
    assert "two different points" in wrong
    with pytest.raises(TableError, match=r"cut by A-A': x runs from 0 to 100, and y runs"):
        plot_sections(model, "t.svg", line=(200, 0, 300, 100))


def test_a_report_of_lines(model: str) -> None:
    done = report_file(model, "r.html", sections="z=5", line="10,10,90,90")
    assert [str(section) for section in done.sections] == ["z = 5", "A-A'"]
    page = Path("r.html").read_text()
    assert "A-A&#x27;, looking 315°" in page and "distance from A →" in page
    # From ore to waste half way: two rectangles of 40 and 40 by 20, to scale.
    end = page.index("distance from A")
    drawn = page[page.rindex('role="img"', 0, end) : end]
    widths = {int(wide) for wide in re.findall(r"h(\d+)v\d+h-\d+z", drawn)}
    assert max(widths) / min(widths) == pytest.approx(1, rel=0.01)
    with pytest.raises(TableError, match="cut by A-A'"):
        report_file(model, "t.html", line=(200, 0, 300, 100))
