"""What stands about sections: scale bar, north, other sections, faces, ramps, pages, holes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import needs
from section_model import model
from wireframes import box

from geodomain import (
    Domain,
    Domains,
    Drillholes,
    GeodomainWarning,
    Stack,
    plot_sections,
    read_domains,
    read_mesh,
    report_file,
)
from geodomain.errors import DomainError, TableError
from geodomain.formats.wireframes import write_mesh
from geodomain.reporting.look import colours_of, ramp_of, usual_ground, with_ground
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import lines_near
from geodomain.statistics.charts import round_length

__all__ = ["model"]
pytestmark = needs("matplotlib")


def plot(*arguments: str, code: int = 0) -> Result:
    return run_command("plot", *arguments, code=code)


def svg(*arguments: str) -> str:
    plot(*arguments, "-o", "s.svg", "--overwrite", "--quiet")
    return Path("s.svg").read_text()


def words_of(picture: str) -> list[str]:
    """Return the texts of a picture: matplotlib writes each in a comment, before its outlines."""
    return re.findall(r"<!-- (.*?) -->", picture)


def test_the_frame_is_full_of_blocks_and_no_wider(model: str) -> None:
    # A flat section: 200 by 20 units. The frame has the blocks' proportions, not twice the height.
    picture = svg(model, "--section", "y=5")
    frame = re.search(
        r'id="patch_2">\s*<path d="M ([\d.]+) ([\d.]+) \s*L ([\d.]+) ([\d.]+)', picture
    )
    box_of_frame = re.findall(
        r"[\d.]+", re.search(r'id="patch_2">\s*<path d="([^"]+)"', picture)[1]
    )
    x, y = np.array(box_of_frame, float).reshape(-1, 2).T
    assert frame and np.ptp(x) / np.ptp(y) == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(
    ("length", "down", "up"), [(99, 50, 100), (100, 100, 100), (0.3, 0.2, 0.5), (7.1e6, 5e6, 1e7)]
)
def test_round_lengths(length: float, down: float, up: float) -> None:
    assert round_length(length) == pytest.approx(down)
    assert round_length(length, up=True) == pytest.approx(up)


def test_a_scale_bar_is_as_long_as_it_says(model: str) -> None:
    picture = svg(model, "--section", "z=5", "--unit", "m")
    assert "20 m" in words_of(picture) and "x, east (m)" in words_of(picture)
    bar = re.search(r'id="scale-bar">\s*<path d="M ([\d.]+) [\d.]+ \s*L ([\d.]+) ', picture)
    frame = re.search(r'id="patch_2">\s*<path d="([^"]+)"', picture)
    assert bar and frame
    x = np.array(re.findall(r"[\d.]+", frame[1]), float)[::2]
    # The frame is 200 units wide, and a hundredth more on each side.
    share = (float(bar[2]) - float(bar[1])) / np.ptp(x)
    assert share * 200 * 1.02 == pytest.approx(20, rel=1e-3)


def test_north_is_on_plans_alone(model: str) -> None:
    assert svg(model, "--section", "z=5").count('id="north"') == 1
    assert 'id="north"' not in svg(model, "--section", "y=5")


def test_other_sections_are_marked_on_each(model: str) -> None:
    picture = svg(model, "--section", "z=5", "--section", "y=45", "--section", "x=65")
    words = words_of(picture)
    # Each is the title of its own, and stands at its trace on the two others.
    for name in ("z = 5", "y = 45", "x = 65"):
        assert words.count(name) == 2, name
    assert picture.count('id="section-mark') == 6
    assert "section-mark" not in svg(model, "--section", "z=5", "--section", "z=15")


def test_a_title(model: str) -> None:
    assert "Resource, 2026" in words_of(svg(model, "--section", "z=5", "--title", "Resource, 2026"))


def test_a_section_on_faces_says_which_blocks_it_shows(model: str) -> None:
    for section, side in (("y=10", "north"), ("x=10", "east"), ("z=10", "upper")):
        said = plot(model, "--section", section, "-o", "s.svg", "--overwrite").stderr
        assert f"lies on faces of blocks: blocks on its {side} side are drawn" in said
        assert f"on faces: blocks on the {side} side" in Path("s.svg").read_text()
    with pytest.warns(GeodomainWarning, match=r"3 sections \(y = 0, y = 10, y = 20\) lie on faces"):
        plot_sections(model, "t.svg", "y=0,20,10")
    assert "faces" not in plot(model, "--section", "y=10.5", "-o", "u.svg").stderr


@pytest.mark.full
def test_a_run_is_the_pages_of_a_pdf_of_one_frame(model: str) -> None:
    said = plot(model, "--section", "y=5,95,10", "--section", "z=5", "-o", "s.pdf").stderr
    assert "wrote s.pdf: 11 sections" in said
    pdf = Path("s.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 11
    boxes = re.findall(rb"/MediaBox \[([^\]]+)\]", pdf)
    assert len(set(boxes[:10])) == 1 and boxes[10] != boxes[0]
    plot(model, "--section", "y=5", "--section", "y=15", "-o", "one.pdf")
    assert len(re.findall(rb"/Type /Page\b", Path("one.pdf").read_bytes())) == 1
    # Elsewhere a run is panels of one picture.
    assert svg(model, "--section", "y=5,95,10").count("looking north -->") == 10


def test_a_grade_is_a_ramp_of_colours(model: str) -> None:
    picture = svg(model, "--section", "y=5", "--colour-by", "AU", "--cmap", "gray")
    assert "AU" in words_of(picture) and "ORE" not in words_of(picture)
    fills = set(re.findall(r"fill: #([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", picture))
    greys = {int(one[0], 16) for one in fills if len(set(one)) == 1}
    # 20 grades, evenly apart, but the highest ones, which share the last colour.
    assert len(greys) >= 19 and 255 in greys
    assert (
        "no colour map"
        in plot(model, "--colour-by", "AU", "--cmap", "viridi", "-o", "t.svg", code=2).stderr
    )
    assert (
        "domain is not a number in 400"
        in plot(model, "--colour-by", "domain", "-o", "t.svg", code=3).stderr
    )
    assert not Path("t.svg").exists()


def test_a_ramp_is_not_stretched_by_a_few_high_grades() -> None:
    ramp = ramp_of("AU", "viridis", np.append(np.linspace(0, 1, 1000), [500.0, np.nan]))
    assert ramp is not None
    assert ramp.low == 0 and 0.9 < ramp.high < 1 and ramp.highest == 500
    assert ramp_of("AU", "viridis", np.array([np.nan])) is None
    flat = ramp_of("AU", "viridis", np.array([2.0, 2.0]))
    assert flat is not None and flat.low == 2 and flat.high == 3


def inclined() -> Drillholes:
    """Return a straight hole to the north, 45 degrees down, and a vertical one 30 to its east."""
    import pandas as pd

    collar = pd.DataFrame(
        {"HOLE": ["A", "B"], "X": [0.0, 30.0], "Y": [0.0, 0.0], "Z": [100.0, 100.0],
         "DEPTH": [100.0, 50.0], "AZIMUTH": [0.0, 0.0], "DIP": [45.0, 90.0]}
    )  # fmt: skip
    return Drillholes(collar)


def test_holes_are_cut_to_what_is_near() -> None:
    holes = inclined()
    ((name, line),) = lines_near(Section("y", 20), holes, 5)
    assert name == "A"
    # From y = 15 to y = 25 the hole goes from z = 85 to z = 75.
    assert line[[0, -1]].ravel().tolist() == pytest.approx([0, 85, 0, 75])
    found = dict(lines_near(Section("x", 25), holes, 6))
    assert found.keys() == {"B"}
    assert found["B"][[0, -1]].ravel().tolist() == pytest.approx([0, 100, 0, 50])
    assert not lines_near(Section("x", 200), holes, 5)
    # Parallel to the section and exactly as far as allowed: near.
    assert dict(lines_near(Section("x", 5), holes, 5)).keys() == {"A"}


def test_holes_are_drawn_where_they_are_near(model: str) -> None:
    Path("c.csv").write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nH1,55,45,20,15,0,-90\n")
    near = (model, "--collar", "c.csv", "--within", "10", "--section")
    assert "H1" in words_of(svg(*near, "y=45"))
    said = plot(*near, "y=85", "-o", "t.svg").stderr
    assert "no drillhole comes within 10 of a section" in said
    assert "H1" not in Path("t.svg").read_text()
    for wrong in (("--collar", "c.csv"), ("--within", "5"), ("--survey", "c.csv")):
        assert "--collar" in plot(model, *wrong, "-o", "u.svg", code=2).stderr
    with pytest.raises(ValueError, match="within"):
        plot_sections(model, "u.svg", "y=45", holes=inclined())


def test_colours_of_the_list_are_those_of_the_picture(model: str) -> None:
    write_mesh(box((0, 0, 0), (100, 100, 20)), Path("ore.obj"))
    Path("d.toml").write_text(
        'background = "WASTE"\n[[domain]]\nname = "ORE"\nmesh = "ore.obj"\ncolour = "#D3DBE0"\n'
    )
    assert read_domains("d.toml").colours == {"ORE": "#d3dbe0"}
    picture = svg(model, "--section", "z=5", "--domains", "d.toml")
    legend = picture[picture.index('id="legend_1"') :]
    colours = re.findall(r"fill: (#[0-9a-f]{6}); stroke: #999999", legend)
    # The ground gives way to a domain that was given its colour.
    assert len(colours) == 2 and colours[1] == "#d3dbe0" and colours[0] != "#d3dbe0"


def test_a_report_and_its_view_have_the_colours_of_the_list(model: str) -> None:
    write_mesh(box((0, 0, 0), (100, 100, 20)), Path("ore.obj"))
    ore = Domain("ORE", read_mesh("ore.obj"), colour="#12ab34")
    report_file(model, "r.html", domains=[ore], sections="z=5,15,5")
    page = Path("r.html").read_text()
    assert 'fill="#12ab34"' in page and '"colour":"#12ab34"' in page.replace(" ", "")
    assert "z = 10, plan, north up, on faces: blocks on the upper side" in page
    assert "z = 5, plan, north up<" in page


def test_layers_of_a_stack_have_colours() -> None:
    top, base = (box((0, 0, z), (9, 9, z + 1)) for z in (8, 2))
    stack = Stack([top, base], ["AIR", "COAL", ""], colours=["", "#222222", ""])
    assert Domains(stacks=(stack,)).colours == {"COAL": "#222222"}
    for colours, words in ((["#222222"], "3 colours, one per layer"), (["", "b", ""], "COAL")):
        with pytest.raises(DomainError, match=words):
            Stack([top, base], ["AIR", "COAL", ""], colours=colours)


@pytest.mark.parametrize("colour", ["red", "#12345", "#12345g", 7, ""])
def test_what_is_no_colour(model: str, colour: object) -> None:
    write_mesh(box((0, 0, 0), (100, 100, 20)), Path("ore.obj"))
    Path("d.toml").write_text(f'[[domain]]\nname = "ORE"\nmesh = "ore.obj"\ncolour = {colour!r}\n')
    with pytest.raises(DomainError, match="colour"):
        read_domains("d.toml")


def test_codes_are_drawn_by_the_names_of_their_domains(model: str) -> None:
    text = Path(model).read_text().replace(",ORE,", ",3,").replace(",WASTE,", ",9,")
    Path("codes.csv").write_text(text)
    write_mesh(box((0, 0, 0), (100, 100, 20)), Path("ore.obj"))
    Path("d.toml").write_text(
        'background = "WASTE"\nbackground_code = 9\n'
        '[[domain]]\nname = "ORE"\nmesh = "ore.obj"\ncode = 3\n'
    )
    words = words_of(svg("codes.csv", "--section", "z=5", "--domains", "d.toml"))
    assert "ORE" in words and "WASTE" in words and "9" not in words


def test_waste_is_ground_where_nothing_says_otherwise(model: str) -> None:
    assert usual_ground(["Waste", "ORE"], []) == ["Waste"]
    assert usual_ground(["WASTE"], ["WASTE"]) == []
    colours = with_ground(["ORE", "WASTE", ""], ["WASTE", ""])
    assert colours["ORE"] == colours_of(["ORE"])["ORE"]
    assert colours["WASTE"] in svg(model, "--section", "z=5")
    with pytest.raises(TableError, match="no column"):
        plot_sections(model, "t.svg", "z=5", colour_by="CU")
