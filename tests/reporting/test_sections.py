"""Sections: which blocks are cut, in which polygons, where by default, and what is drawn."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from label_command import run_command
from late import matplotlib, pv, pyarrow
from wireframes import box, cube

import geodomain
from geodomain import plot_sections
from geodomain.errors import TableError
from geodomain.formats.blocks import open_model
from geodomain.formats.wireframes import write_mesh
from geodomain.reporting import sections as gathering
from geodomain.reporting.look import colours_of
from geodomain.reporting.planes import Section, parse_section
from geodomain.reporting.plot import draw, lay_out
from geodomain.reporting.sections import cut_blocks, cut_triangles, gather, is_cut
from geodomain.tables.frames import LocalFrame
from geodomain.tables.options import TableOptions

EYE = np.eye(3)
POINTS = np.array([[5.0, 5, 5], [15, 5, 5], [2.5, 2.5, 12.5]])
SIZES = np.array([[10.0, 10, 10], [10, 10, 10], [5, 5, 5]])


@pytest.mark.parametrize(
    ("section", "cut"),
    [
        (Section("z", 3), [True, True, False]),
        (Section("z", 10), [False, False, True]),  # the lower face is in, the upper one is not
        (Section("z", 0), [True, True, False]),
        (Section("x", 10), [False, True, False]),
        (Section("y", 15.1), [False, False, False]),
    ],
)
def test_blocks_whose_extent_contains_the_section(section: Section, cut: list[bool]) -> None:
    assert is_cut(section, POINTS, SIZES, EYE).tolist() == cut


@pytest.mark.parametrize(
    ("section", "corners"),
    [
        (Section("x", 11), {(0, 0), (10, 0), (10, 10), (0, 10)}),
        (Section("y", 0), {(10, 0), (20, 0), (20, 10), (10, 10)}),
        (Section("z", 9.9), {(10, 0), (20, 0), (20, 10), (10, 10)}),
    ],
)
def test_a_block_is_cut_in_its_rectangle(section: Section, corners: set) -> None:
    (polygon,) = cut_blocks(section, POINTS[1:2], SIZES[1:2], EYE)
    assert {tuple(corner) for corner in polygon.tolist()} == corners
    assert area(polygon) == pytest.approx(100)


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


def test_a_turned_block() -> None:
    matrix = np.array(LocalFrame([("z", 45)], (0, 0, 0)).matrix)
    sizes = np.array([[np.sqrt(2.0)] * 3])
    (plan,) = cut_blocks(Section("z", 0), np.zeros((1, 3)), sizes, matrix)
    assert {tuple(corner) for corner in plan.round(9).tolist()} == {
        (1, 0),
        (0, 1),
        (-1, 0),
        (0, -1),
    }
    (upright,) = cut_blocks(Section("x", 0.5), np.zeros((1, 3)), sizes, matrix)
    assert area(upright) == pytest.approx(np.sqrt(2))
    assert is_cut(Section("x", 0.99), np.zeros((1, 3)), sizes, matrix).all()


@pytest.mark.full
@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.floats(-90, 90)), max_size=3),
    st.sampled_from("xyz"),
)
def test_sections_add_up_to_the_block(turns: list, axis: str) -> None:
    # Cavalieri: the mean area of sections times the length that they cover is the volume.
    matrix, sizes = np.array(LocalFrame(turns, (0, 0, 0)).matrix), np.array([[2.0, 3, 5]])
    places, step = np.linspace(-4, 4, 401, retstep=True)
    volume = 0.0
    for at in places:
        section = Section(axis, float(at))
        if is_cut(section, np.zeros((1, 3)), sizes, matrix).all():
            volume += step * area(cut_blocks(section, np.zeros((1, 3)), sizes, matrix)[0])
    assert volume == pytest.approx(30, rel=0.02)


def test_triangles_are_cut_in_lines() -> None:
    mesh = cube()
    lines = cut_triangles(Section("z", 4), mesh.vertices[mesh.triangles])
    assert len(lines) == 8  # four walls of two triangles
    length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum()
    assert length == pytest.approx(40)
    assert not len(cut_triangles(Section("z", 40), mesh.vertices[mesh.triangles]))


@pytest.mark.parametrize("text", ["z", "w=3", "z=nan", "=3", "z=", "z=1,5"])
def test_what_is_no_section(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_section(text)


TABLE = """X,Y,Z,DX,DY,DZ,domain
5,5,5,10,10,10,ORE
15,5,5,10,10,10,W
2.5,2.5,12.5,5,5,5,"É, new"
2.5,2.5,17.5,5,5,5,
,1,1,5,5,5,ORE
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a labelled model and a wireframe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_text(TABLE)
    write_mesh(box((0, 0, 0), (10, 10, 10)), tmp_path / "ore.obj")
    return tmp_path


def test_a_section_through_a_table(folder: Path) -> None:
    (cut,) = gather("b.csv", TableOptions(), "Domain", [Section("x", 2)])
    assert cut.labels.tolist() == ["ORE", "É, new", ""]
    assert cut.points.tolist() == [[5, 5, 5], [2.5, 2.5, 12.5], [2.5, 2.5, 17.5]]


def test_default_sections_are_amid_the_labelled_blocks(folder: Path) -> None:
    cuts = gather("b.csv", TableOptions(), "domain", background=["W"])
    assert [cut.section.axis for cut in cuts] == ["x", "y", "z"]
    assert [cut.section.at for cut in cuts] == [5, 5, 5]
    assert [len(cut.labels) for cut in cuts] == [1, 2, 2]


def test_every_kind_of_file_is_drawn(folder: Path) -> None:
    rows = [f"{5 + 10 * i},{5 + 10 * j},5,10,10,10,{'AB'[i]}" for j in range(3) for i in range(2)]
    Path("c.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n" + "\n".join(rows) + "\n")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("c.csv"), "c.parquet")
    image = pv.ImageData(dimensions=(3, 4, 2), spacing=(10, 10, 10))
    image.cell_data["domain"] = ["A", "B"] * 3
    image.save("c.vti")
    found = [
        gather(f"c.{kind}", TableOptions(), "domain", [Section("y", 12)])[0]
        for kind in ("csv", "parquet", "vti")
    ]
    for cut in found:
        assert cut.points.tolist() == [[5, 15, 5], [15, 15, 5]]
        assert cut.sizes.tolist() == [[10] * 3] * 2 and cut.labels.tolist() == ["A", "B"]


def test_named_sections_are_read_in_one_pass_and_others_in_two(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def counted(*given: object, **named: object) -> object:
        opened.append(given)
        return open_model(*given, **named)

    monkeypatch.setattr(gathering, "open_model", counted)
    gather("b.csv", TableOptions(), "domain", [Section("z", 5)])
    assert len(opened) == 1
    gather("b.csv", TableOptions(), "domain")
    assert len(opened) == 3


def test_sizes_are_seen_from_the_centroids(folder: Path) -> None:
    rows = [f"{5 + 10 * i},{2 + 4 * j},5,A" for j in range(3) for i in range(2)]
    Path("c.csv").write_text("X,Y,Z,domain\n" + "\n".join(rows) + "\n")
    (cut,) = gather("c.csv", TableOptions(), "domain", [Section("z", 5)])
    assert cut.sizes[:, :2].tolist() == [[10, 4]] * 6
    Path("c.csv").write_text("X,Y,Z,domain\n1,1,1,A\n2,2,2,A\n2.3,7,1,A\n")
    with pytest.raises(TableError, match="name the size columns"):
        gather("c.csv", TableOptions(), "domain", [Section("z", 1)])


def test_local_models_are_drawn_in_the_world(folder: Path) -> None:
    frame = LocalFrame([("z", 90)], (100, 200, 0))
    (cut,) = gather("b.csv", TableOptions(rotation=frame), "domain", [Section("z", 5)])
    assert cut.points.tolist() == [[105, 195, 5], [105, 185, 5]]
    Path("c.csv").write_text("X;Y;Z;DX;DY;DZ;domain\n0,5;0;0;1;1;1;A\n-99;1;1;1;1;1;B\n")
    options = TableOptions(position="corner", missing=(-99.0,))
    (cut,) = gather("c.csv", options, "domain", [Section("x", 1)])
    assert cut.points.tolist() == [[1, 0.5, 0.5]] and cut.labels.tolist() == ["A"]


ORE, W = (colours_of([name])[name][1:] for name in ("ORE", "W"))


def shares(picture: bytes) -> dict[str, float]:
    """Give which part of the drawn area each of the first colours has."""
    pixels = (matplotlib.image.imread(io.BytesIO(picture))[..., :3] * 255).round().astype(int)
    code = pixels @ [65536, 256, 1]
    counts = {name: (code == int(name, 16)).sum() for name in (ORE, W, "d3dbe0")}
    return {name: count / sum(counts.values()) for name, count in counts.items()}


def test_colours_cover_the_areas_of_the_domains(folder: Path) -> None:
    # Ten by ten of ORE beside ten by thirty of W.
    rows = ["5,5,5,10,10,10,ORE", "25,5,5,30,10,10,W"]
    Path("c.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n" + "\n".join(rows) + "\n")
    cuts = gather("c.csv", TableOptions(), "domain", [Section("z", 5)])
    found = shares(draw(cuts, background=["W"]))
    assert found[ORE] == pytest.approx(0.25, abs=0.01)
    assert found["d3dbe0"] == pytest.approx(0.75, abs=0.01)
    found = shares(draw(cuts, {"W": [cube()]}))
    assert found[W] == pytest.approx(0.75, abs=0.02)


@given(st.lists(st.tuples(st.floats(1, 1e4), st.floats(1, 1e4)), min_size=1, max_size=12))
def test_panels_of_one_scale_lie_apart_on_a_page(lengths: list) -> None:
    page = lay_out(np.array(lengths), below=0.5)
    boxes = np.array(page.panels)
    assert boxes[:, 2:] == pytest.approx(np.maximum(np.array(lengths) * page.scale, 0.25))
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    assert (low > 0).all() and (low[:, 1] > 0.5).all() and (high < page.size).all()
    for one in range(len(boxes)):
        for two in range(one):
            assert (low[one] > high[two]).any() or (low[two] > high[one]).any()


def test_a_plan_stands_beside_two_flat_sections() -> None:
    page = lay_out(np.array([[210.0, 38], [187, 62], [162, 208]]))
    (x, y, z) = page.panels
    assert x[0] == y[0] < z[0] and x[1] > y[1] and page.scale > 1.4 * 15 / (210 + 187 + 162)


def svg(*arguments: str) -> str:
    run(*arguments, "-o", "s.svg", "--overwrite")
    return Path("s.svg").read_text()


def test_titles_say_where_one_looks_and_how_much_taller_z_is_drawn(folder: Path) -> None:
    sections = ("--section", "x=2", "--section", "y=2", "--section", "z=5")
    plain, tall = svg("b.csv", *sections), svg("b.csv", *sections, "--exaggerate", "2.5")
    for words in ("x = 2, looking west", "y = 2, looking north", "z = 5, plan"):
        assert f"<!-- {words} -->" in plain
    assert tall.count("vertical x 2.5") == 2 and "plan, vertical" not in tall
    assert "vertical" not in plain
    run("b.csv", "-o", "t.svg", "--exaggerate", "0", code=2)


def test_the_legend_has_the_order_of_the_list_and_only_what_is_there(folder: Path) -> None:
    high, low, far = (box((0, 0, z), (9, 9, z + 1)) for z in (8, 2, 900))
    (folder / "d.toml").write_text(
        """[[domain]]
name = "FAR"
mesh = "far.obj"
[[stack]]
surfaces = ["high.obj", "low.obj"]
layers = ["ZENITH", "MIDDLE", "ABYSS"]
"""
    )
    for name, mesh in (("high", high), ("low", low), ("far", far)):
        write_mesh(mesh, folder / f"{name}.obj")
    rows = ["5,5,5,10,10,2,MIDDLE", "5,5,7,10,10,2,ZENITH", "5,5,1,10,10,6,ABYSS"]
    (folder / "c.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n" + "\n".join(rows) + "\n")
    picture = svg("c.csv", "--domains", "d.toml", "--section", "y=5")
    places = [picture.index(f"<!-- {name} -->") for name in ("ZENITH", "MIDDLE", "ABYSS")]
    assert places == sorted(places) and "FAR" not in picture


def test_thirty_domains_have_thirty_colours_in_the_order_of_their_numbers(folder: Path) -> None:
    rows = [f"{5 + 10 * i},5,5,10,10,10,D{i}" for i in range(30)]
    (folder / "c.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n" + "\n".join(rows) + "\n")
    picture = svg("c.csv", "--section", "z=5")
    places = [picture.index(f"<!-- D{i} -->") for i in range(30)]
    legend = picture[picture.index('id="legend_1"') :]
    colours = re.findall(r"fill: (#[0-9a-f]{6}); stroke: #999999", legend)
    assert places == sorted(places) and len(set(colours)) == len(colours) == 30


def test_a_long_legend_ends_with_the_number_of_the_others(folder: Path) -> None:
    rows = [f"{5 + 10 * i},5,5,10,10,10,D{i}" for i in range(62)]
    (folder / "c.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n" + "\n".join(rows) + "\n")
    picture = svg("c.csv", "--section", "z=5")
    assert all((f"<!-- D{i} -->" in picture) == (i < 60) for i in range(62))
    assert "<!-- and 2 others -->" in picture


def run(*arguments: str, code: int = 0) -> Result:
    return run_command("plot", *arguments, code=code)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_pictures(folder: Path, kind: str) -> None:
    arguments = ["b.csv", "--section", "z=5", "--section", "x=2", "--solid", "ORE=ore.obj"]
    said = run(*arguments, "-o", f"s.{kind}")
    assert said.stdout == "" and said.stderr.startswith(f"wrote s.{kind}: 2 sections, ")
    assert f"{Path(f's.{kind}').stat().st_size:,} bytes" in said.stderr
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert Path(f"s.{kind}").read_bytes().startswith(start)
    assert "--overwrite" in run(*arguments, "-o", f"s.{kind}", code=4).stderr
    assert run(*arguments, "-o", f"s.{kind}", "--overwrite", "--quiet").output == ""


BAD = {
    "no column": (("b.csv", "--column", "nil"), 3, "no column 'nil'"),
    "no block": (("b.csv", "--section", "z=99"), 3, "no block of b.csv is cut by z = 99"),
    "no section": (("b.csv", "--section", "w=9"), 2, "AXIS=COORDINATE"),
    "no file": (("nil.csv",), 4, "nil.csv"),
    "stdin": (("-",), 2, "read twice"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_requests_draw_nothing(folder: Path, case: tuple) -> None:
    arguments, code, words = case
    assert words in run(*arguments, "-o", "s.png", code=code).stderr
    assert not Path("s.png").exists()


def test_a_kind_of_picture_that_is_not_drawn(folder: Path) -> None:
    assert ".png, .svg, .pdf" in run("b.csv", "-o", "s.gif", code=3).stderr
    Path("c.csv").write_text("X,Y,Z,domain\n,,,A\n")
    assert "nothing to draw" in run("c.csv", "-o", "s.png", code=3).stderr
    Path("c.csv").write_text('X,Y,Z,domain\n1,1,1,A\n1,1,1,"A\n')
    assert "c.csv, line 3: the quote" in run("c.csv", "-o", "s.png", code=3).stderr


def test_help_ends_in_an_example() -> None:
    lines = run("-h").stdout.splitlines()
    assert lines[-2].strip() == "Example:" and lines[-1].strip().startswith("geodomain plot")


@pytest.mark.full
def test_plot_sections_draws_what_the_command_draws(folder: Path) -> None:
    options = ["--section", "z=5", "--solid", "ORE=ore.obj", "--background", "W"]
    run("b.csv", *options, "-o", "one.svg")
    ore = {"ORE": "ore.obj"}
    drawn = plot_sections("b.csv", "two.svg", "z=5", domains=ore, background="W")
    assert drawn == (Section("z", 5.0),)
    assert without_ids("two.svg") == without_ids("one.svg")
    for sections in (("z", 5), [("z", 5)], [Section("z", 5)], ["z=5"]):
        again = plot_sections("b.csv", "two.svg", sections, domains=ore, overwrite=True)
        assert again == drawn
    assert [cut.axis for cut in plot_sections("b.csv", "three.png")] == ["x", "y", "z"]


def without_ids(path: str) -> str:
    return re.sub(r"[a-z]?[0-9a-f]{10,}", "", Path(path).read_text())


def test_a_picture_that_cannot_be_written_is_refused(folder: Path) -> None:
    Path("s.png").write_text("mine")
    before = sorted(folder.iterdir())
    for output, sections, error in (
        ("s.png", (), FileExistsError),
        ("no/s.png", (), FileNotFoundError),
        ("s.gif", (), TableError),
        ("t.png", "z=99", TableError),
        ("t.png", "w=9", ValueError),
    ):
        with pytest.raises(error):
            plot_sections("b.csv", output, sections)
    with pytest.raises(ValueError, match="read twice"):
        plot_sections("-", "t.png")
    with pytest.raises(ValueError, match="above 0"):
        plot_sections("b.csv", "t.png", exaggerate=0)
    assert sorted(folder.iterdir()) == before and Path("s.png").read_text() == "mine"


@pytest.mark.parametrize(("step", "refused"), [(1, True), (4, False)])
def test_a_column_of_grades_is_refused_and_codes_are_not(tmp_path, step, refused):
    rows = [f"{x},5,5,10,10,10,{x // 10 // step * 0.25}" for x in range(5, 2005, 10)]
    (tmp_path / "b.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,AU", *rows, ""]))

    def plot() -> None:
        plot_sections(tmp_path / "b.csv", tmp_path / "s.svg", "z=5", column="AU")

    if not refused:
        plot()
        return
    with pytest.raises(TableError, match=r"200 different numbers.*column="):
        plot()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_characters_without_a_shape_are_told_in_our_words(tmp_path: Path, kind: str) -> None:
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n")
    with pytest.warns(geodomain.GeodomainWarning, match="lacks '\u0b20'") as caught:
        geodomain.plot_sections(blocks, tmp_path / f"a.{kind}", "z=5", title="Gold \u0b20")
    assert [each.category for each in caught] == [geodomain.GeodomainWarning]
