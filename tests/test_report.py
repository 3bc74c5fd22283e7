"""Reports: what the page says and holds; what a browser makes of it is tested beside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from wireframes import box

from geodomain import GeodomainWarning, Mesh, label_file, report_file, tonnes_file
from geodomain.cli import main
from geodomain.errors import TableError
from geodomain.io.header.frames import LocalFrame
from geodomain.io.header.keywords import table_options
from geodomain.io.meshes.writing import write_mesh
from geodomain.report.blocks import read_blocks
from geodomain.report.coarse import coarser
from geodomain.report.geometry import Geometry, geometry_of
from geodomain.report.outlines import merge_rectangles
from geodomain.report.page import escaped_json
from geodomain.report.section_frame import ticks
from geodomain.report.section_svg import cut_rows
from geodomain.report.shell import boundary_faces
from geodomain.report.tables import facts_table
from geodomain.sections.colours import colours_of
from geodomain.sections.cutting import Section, is_cut
from geodomain.synthetic.icosphere import geodesic_sphere

TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}


class Page(HTMLParser):
    """What a page holds: scripts by identifier, tables by identifier, everything that loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: dict[str, str] = {}
        self.code, self.style, self.policy = "", "", ""
        self.tables: dict[str, list[list[str]]] = {}
        self.loads: list[tuple[str, str]] = []
        self.styled: list[str] = []
        self.ids: list[str] = []
        self._in: tuple[str, str] = ("", "")
        self._table = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        said = dict(attrs)
        self.loads += [(tag, name) for name in said if name in ("src", "srcset", "data")]
        self.styled += [tag for name in said if name == "style"]
        self.ids += [said["id"]] if "id" in said else []
        if said.get("http-equiv") == "Content-Security-Policy":
            self.policy = said["content"]
        if tag in ("script", "style"):
            self._in = (tag, said.get("id", ""))
        if tag == "table":
            self._table = said["id"]
            self.tables[self._table] = []
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        if tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._in = ("", "")
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        tag, name = self._in
        if tag == "style":
            self.style += data
        elif tag == "script" and name:
            self.blocks[name] = self.blocks.get(name, "") + data
        elif tag == "script":
            self.code += data
        elif self._table and self.tables[self._table] and self.tables[self._table][-1]:
            self.tables[self._table][-1][-1] += data

    @property
    def scene(self) -> dict:
        return json.loads(self.blocks["scene"])

    def array(self, entry: dict) -> np.ndarray | list[str]:
        """Undo what the page's packing did."""
        data = zlib.decompress(base64.b64decode(self.blocks[f"data-{entry['block']}"]))
        if entry["type"] == "text":
            return data.decode().split("\n")
        kind = np.dtype(TYPES[entry["type"]])
        bytes_by_place = np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1)
        found = np.ascontiguousarray(bytes_by_place.T).reshape(-1).view(kind)
        return np.cumsum(found, dtype=kind) if entry["differences"] else found


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Return a model of 8 x 6 x 4 blocks labelled by two boxes, with its record."""
    write_mesh(box((2, 2, 1), (6, 5, 3)), tmp_path / "ore.stl")
    write_mesh(box((5, 0, 0), (7, 3, 4)), tmp_path / "dyke.stl")
    rows = ["X,Y,Z,DX,DY,DZ,AU"]
    rows += [
        f"{x + 0.5},{y + 0.50},{z + 0.5},1,1,1.0,{x * y / 7:.2f}"
        for z in range(4)
        for y in range(6)
        for x in range(8)
    ]
    (tmp_path / "blocks.csv").write_text("\n".join(rows) + "\n")
    domains = {"DYKE": tmp_path / "dyke.stl", "ORE": tmp_path / "ore.stl"}
    label_file(
        tmp_path / "blocks.csv",
        domains,
        tmp_path / "labelled.csv",
        background="WASTE",
        record=tmp_path / "run.json",
    )
    return tmp_path / "labelled.csv"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, words)])


def page_of(labelled: Path, **options: object) -> Page:
    report_file(labelled, labelled.parent / "report.html", overwrite=True, **options)
    return Page((labelled.parent / "report.html").read_text())


def test_the_page_allows_and_needs_no_request(labelled: Path) -> None:
    page = page_of(labelled, domains={"ORE": labelled.parent / "ore.stl"})
    assert page.loads == [] and page.styled == []
    rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for rule, text in (("script-src", page.code), ("style-src", page.style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}


def test_identifiers_are_unique(labelled: Path) -> None:
    page = page_of(labelled, domains={"ORE": labelled.parent / "ore.stl"})
    assert len(page.ids) == len(set(page.ids))


def test_the_table_has_the_numbers_of_the_summary(labelled: Path) -> None:
    page = page_of(labelled, record=labelled.parent / "run.json")
    summary = json.loads((labelled.parent / "run.json").read_text())["summary"]
    found = {row[0].strip(): row[1:] for row in page.tables["domains"][1:]}
    for part in [*summary["domains"], summary["background"]]:
        cells = found[part["label"]]
        assert cells[0] == f"{part['blocks']:,}"
        assert cells[1] == f"{part['share']:.2%}"
        assert float(cells[2].replace(",", "")) == part["volume"]
    assert [float(found[name][4]) for name in ("DYKE", "ORE")] == [24, 24]
    assert page.tables["overlaps"][1] == ["DYKE and ORE", "2", "2"]


def test_files_are_there_with_their_hashes(labelled: Path) -> None:
    page = page_of(labelled, record=labelled.parent / "run.json")
    found = {row[1]: row[3] for row in page.tables["files"][1:]}
    for name in ("labelled.csv", "blocks.csv", "ore.stl", "dyke.stl"):
        path = labelled.parent / name
        assert found[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_scene_holds_every_label_place_and_text(labelled: Path) -> None:
    page = page_of(labelled, background="WASTE")
    scene = page.scene
    names, *rows = [line.split(",") for line in labelled.read_text().split()]
    labels = [label["name"] for label in scene["labels"]]
    codes = np.repeat(
        page.array(scene["runs"]["values"]), page.array(scene["runs"]["lengths"]).astype(int)
    )
    assert [labels[code] for code in codes] == [row[-1] for row in rows]
    assert [label["ground"] for label in scene["labels"]] == [one == "WASTE" for one in labels]
    for axis in range(3):
        centres = page.array(scene["centres"][axis])
        places = page.array(scene["places"][axis])
        expected = [float(row[axis]) - scene["origin"][axis] for row in rows]
        assert centres[places].tolist() == expected
    for place, column in enumerate(scene["columns"]):
        texts, codes = page.array(column["texts"]), page.array(column["codes"])
        assert column["name"] == names[place]
        assert [texts[code] for code in codes] == [row[place] for row in rows]


def test_texts_are_as_the_file_spells_them(tmp_path: Path) -> None:
    path = tmp_path / "spelled.csv"
    cells = ["1.50", " 1.5", '"1.5"', "-99", "", "NaN", "1.50"]
    rows = [f'{x},1,1,1,1,1,"A, B",{cell}' for x, cell in enumerate(cells)]
    path.write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain,AU", *rows]) + "\n")
    texts = read_blocks(str(path), table_options(missing=-99), "domain").texts
    place = texts.names.index("AU")
    found = [texts.cell(place, row) for row in range(len(cells))]
    assert found == ["1.50", "1.5", "1.5", "-99", "", "NaN", "1.50"]
    assert texts.texts[texts.names.index("domain")] == ["A, B"]


def test_only_boundaries_of_domains_are_drawn(labelled: Path) -> None:
    page = page_of(labelled, background="WASTE")
    table = np.loadtxt(labelled, delimiter=",", skiprows=1, dtype=str)
    labels = table[:, -1].reshape(4, 6, 8)
    around = np.pad(labels, 1, constant_values="?")
    inside = np.ones(labels.shape, bool)
    for axis in range(3):
        for step in (-1, 1):
            inside &= np.roll(around, step, axis)[1:-1, 1:-1, 1:-1] == labels
    expected = np.flatnonzero((~inside & (labels != "WASTE")).reshape(-1))
    assert page.array(page.scene["shell"]).tolist() == expected.tolist()


def geometry(points: np.ndarray, sizes: np.ndarray, codes: np.ndarray) -> Geometry:
    """Return blocks along the axes of the world, each number kept as it is."""
    parts = [np.unique(points[:, axis], return_inverse=True) for axis in range(3)]
    known, kinds = np.unique(sizes, axis=0, return_inverse=True)
    centres, places = zip(*parts, strict=True)
    return Geometry(
        rows=np.arange(len(points)),
        origin=np.zeros(3),
        matrix=np.eye(3),
        centres=centres,
        places=tuple(place.astype(np.int32) for place in places),
        sizes=known,
        kinds=kinds.reshape(-1).astype(np.int32),
        codes=codes.astype(np.int32),
    )


def test_a_sub_block_inside_its_domain_is_not_drawn() -> None:
    # A parent of 8 small blocks, all of one label, with parents all around.
    parents = np.stack(np.meshgrid(*[[1.0, 3, 5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    small = np.stack(np.meshgrid(*[[2.5, 3.5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    outer = parents[(parents != 3).any(axis=1)]
    points = np.concatenate([outer, small])
    sizes = np.repeat([[2.0] * 3, [1.0] * 3], [26, 8], axis=0)
    same = boundary_faces(geometry(points, sizes, np.zeros(34)))
    assert same is not None and (same > 0).tolist() == [True] * 26 + [False] * 8
    other = np.zeros(34)
    other[-1] = 1
    found = boundary_faces(geometry(points, sizes, other))
    assert found is not None and (found[-8:] > 0).tolist() == [False, False, False, True] * 1 + [
        False, True, True, True,
    ]  # fmt: skip


def test_blocks_on_no_lattice_have_no_boundary() -> None:
    points = np.array([[0.0, 0, 0], [1.3, 0, 0]])
    assert boundary_faces(geometry(points, np.ones((2, 3)), np.zeros(2))) is None


@pytest.mark.parametrize("section", [Section("x", 3.0), Section("y", 2.5), Section("z", 0.0)])
def test_the_blocks_of_a_section_are_those_of_a_plot(labelled: Path, section: Section) -> None:
    blocks = read_blocks(str(labelled), table_options(), "domain")
    found = cut_rows(section, geometry_of(blocks))
    expected = np.flatnonzero(is_cut(section, blocks.points, blocks.sizes, np.eye(3)))
    assert found.tolist() == expected.tolist()


def test_a_rotated_model_is_found_by_its_few_places(tmp_path: Path) -> None:
    frame = LocalFrame([("z", 30)], (414000.0, 7480000.0, 100.0))
    local = np.stack(np.meshgrid(*[np.arange(4) * 10.0] * 3, indexing="ij"), axis=-1)
    points = frame.to_world(local.transpose(2, 1, 0, 3).reshape(-1, 3))
    rows = [
        f"{x!r},{y!r},{z!r},10,10,10,{'AB'[i % 3 == 0]}"
        for i, (x, y, z) in enumerate(points.tolist())
    ]
    path = tmp_path / "turned.csv"
    path.write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain", *rows]) + "\n")
    found = geometry_of(read_blocks(str(path), table_options(), "domain"))
    assert [len(centres) for centres in found.centres] == [4, 4, 4]
    assert np.abs(found.world(slice(None)) - points).max() < 0.01
    section = Section("x", float(points[0, 0]) + 12)
    expected = np.flatnonzero(is_cut(section, points, np.full((64, 3), 10.0), found.matrix))
    assert cut_rows(section, found).tolist() == expected.tolist()
    assert page_of(path).scene["turned"]


rectangle_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30, unique=True
)


@given(rectangle_lists)
def test_merged_rectangles_cover_the_same(corners: list[tuple[int, int]]) -> None:
    cells = np.array([(x, x + 1, y, y + 1) for x, y in corners], np.int64).reshape(-1, 4)
    covered = np.zeros((7, 7), int)
    for left, right, low, high in merge_rectangles(cells).tolist():
        covered[left:right, low:high] += 1
    expected = np.zeros((7, 7), int)
    for x, y in corners:
        expected[x, y] = 1
    assert (covered == expected).all()


def test_a_lattice_of_one_label_is_one_rectangle(labelled: Path) -> None:
    page = page_of(labelled, sections="z=3.5")
    html = (labelled.parent / "report.html").read_text()
    figure = html[html.index("<figure") : html.index("</figure>")]
    shapes = re.findall(r'crispEdges" d="([^"]+)"', figure)
    assert len(shapes) == 2  # DYKE, and the rest around it
    assert page.scene["count"] == 192 and max(map(len, shapes)) < 200
    assert len(re.findall("<[a-z]", figure)) < 2000


def test_a_domain_has_its_colour_whatever_else_is_there() -> None:
    names = ["ORE", "WASTE", "DYKE", "OXIDE", "AIR", "FRESH"]
    found = colours_of(names)
    assert len(set(found.values())) == len(names)
    assert colours_of(reversed(names)) == found
    assert colours_of(["ORE"], {"ORE": "#123456"}) == {"ORE": "#123456"}


def test_text_of_the_user_is_text(labelled: Path) -> None:
    page = page_of(labelled, title="<b>&", note="</script><script>alert(1)</script>")
    assert "alert(1)" not in page.code and page.scene["count"] == 192
    assert "<" not in escaped_json(["</script>", "<!--"])


def test_a_coarser_mesh_has_no_more_triangles_than_asked() -> None:
    ball = Mesh(*geodesic_sphere(30))
    vertices, triangles = coarser(ball, 2000)
    assert 100 < len(triangles) <= 2000
    assert np.abs(np.linalg.norm(vertices[triangles].reshape(-1, 3), axis=1) - 1).max() < 0.1
    assert coarser(ball, len(ball.triangles))[1] is ball.triangles


def test_ticks_are_round() -> None:
    assert ticks(413_997, 414_411, 4) == [414_000, 414_200, 414_400]


def test_tonnes_and_grades_are_those_of_the_command(labelled: Path) -> None:
    page = page_of(labelled, background="WASTE", density=2.5, grade="AU")
    expected = tonnes_file(labelled, density=2.5, grade="AU")
    found = {row[0]: row[1:] for row in page.tables["tonnes"][1:]}
    for row in expected.rows:
        cells = [float(cell.replace(",", "")) for cell in found[row.domain]]
        (grade,) = row.grades
        whole = [row.blocks, row.volume, row.tonnes, grade.mean, grade.metal]
        assert cells == pytest.approx(whole, rel=1e-5)
    above = [row for row in page.tables["above-0"][1:] if row[0] == "ORE"]
    cut = tonnes_file(labelled, density=2.5, grade="AU", cutoff=float(above[3][1]))
    (row,) = (row for row in cut.domains if row.domain == "ORE" and row.cutoff is not None)
    assert float(above[3][4].replace(",", "")) == row.tonnes
    html = (labelled.parent / "report.html").read_text()
    assert html.count("Histogram of AU in") == html.count("Grade-tonnage curve of AU in") == 2


def test_a_grade_without_numbers_is_said(labelled: Path) -> None:
    page_of(labelled, grade="domain")
    assert (
        "No block has a number in the column domain"
        in (labelled.parent / "report.html").read_text()
    )


def test_drillholes_are_drawn_where_they_are(labelled: Path) -> None:
    collar = labelled.parent / "collar.csv"
    collar.write_text("BHID,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,1,2,4,4,90,90\nB,3,3,4,2,90,0\n")
    done = run(labelled, "--collar", collar, "-o", labelled.parent / "holes.html")
    assert done.exit_code == 0, done.output
    page = Page((labelled.parent / "holes.html").read_text())
    holes = page.scene["holes"]
    points = page.array(holes["points"]).reshape(-1, 3) + page.scene["origin"]
    first = int(page.array(holes["lengths"])[0])
    assert holes["names"] == ["A", "B"]
    ends = [points[0], points[first - 1], points[first], points[-1]]
    expected = [[1, 2, 4], [1, 2, 0], [3, 3, 4], [5, 3, 4]]
    assert np.abs(np.array(ends) - expected).max() < 1e-5
    done = run(labelled, "--survey", collar, "-o", labelled.parent / "no.html")
    assert done.exit_code == 2 and "needs --collar" in done.output


def spoil(labelled: Path, old: str, new: str) -> Path:
    path = labelled.parent / "other.csv"
    path.write_text(labelled.read_text().replace(old, new))
    return path


def test_a_model_that_is_not_labelled_is_refused(labelled: Path) -> None:
    done = run(labelled.parent / "blocks.csv", "-o", labelled.parent / "out.html")
    assert done.exit_code == 3
    assert "has no column 'domain', so that it is not labelled" in done.output
    assert done.output.count("\n") == 1
    assert not (labelled.parent / "out.html").exists()


def test_a_column_without_a_label_is_refused(labelled: Path) -> None:
    empty = labelled.parent / "empty.csv"
    empty.write_text("X,Y,Z,DX,DY,DZ,domain\n1,1,1,1,1,1,\n2,1,1,1,1,1,\n")
    done = run(empty, "-o", labelled.parent / "out.html")
    assert done.exit_code == 3 and "is empty in every row" in done.output


def test_a_model_without_sizes_on_no_lattice_is_refused(labelled: Path) -> None:
    loose = labelled.parent / "loose.csv"
    loose.write_text("X,Y,Z,domain\n1,1,1,A\n2.3,1,1,A\n4,1,1,B\n")
    done = run(loose, "-o", labelled.parent / "out.html")
    assert done.exit_code == 3 and "has no block sizes" in done.output


def test_the_record_of_another_file_is_refused(labelled: Path) -> None:
    other = spoil(labelled, "WASTE", "REST")
    done = run(other, "--record", labelled.parent / "run.json", "-o", labelled.parent / "out.html")
    assert done.exit_code == 3 and "the record is of another file" in done.output


def test_what_is_no_record_is_refused(labelled: Path) -> None:
    done = run(labelled, "--record", labelled, "-o", labelled.parent / "out.html")
    assert done.exit_code == 3 and "is not the record of a labelling" in done.output


def _without(record: dict, *path: str) -> dict:
    at = record
    for key in path[:-1]:
        at = at[int(key)] if isinstance(at, list) else at[key]
    del at[path[-1]]
    return record


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("output", "sha256"), "output.sha256 is missing"),
        (("inputs", "0", "path"), "inputs[0].path is missing"),
        (("summary", "domains", "1", "own_volume"), "summary.domains[1].own_volume is missing"),
        (("summary", "background", "label"), "summary.background.label is missing"),
        (("summary",), "summary is missing"),
    ],
)
def test_a_record_that_lacks_a_part_is_refused(labelled: Path, path: tuple, said: str) -> None:
    record = json.loads((labelled.parent / "run.json").read_text())
    bad = labelled.parent / "bad.json"
    bad.write_text(json.dumps(_without(record, *path)))
    done = run(labelled, "--record", bad, "-o", labelled.parent / "out.html")
    assert done.exit_code == 3, done.output
    (error,) = [line for line in done.output.splitlines() if line.startswith("error: ")]
    assert said in error and "bad.json is not the record" in error
    with pytest.raises(TableError, match="this mapping is not the record"):
        report_file(labelled, labelled.parent / "out.html", record=record)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": "x"}, "output is not an object"),
        ({"inputs": 5}, "inputs is not a list"),
        ({"started": 5}, "started is not a text"),
        ({"options": []}, "options is not an object"),
    ],
)
def test_a_record_of_other_kinds_is_refused(labelled: Path, changes: dict, said: str) -> None:
    record = json.loads((labelled.parent / "run.json").read_text()) | changes
    with pytest.raises(TableError, match=re.escape(said)):
        report_file(labelled, labelled.parent / "out.html", record=record)


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "[]", "\xff"])
def test_what_is_no_json_is_no_record(labelled: Path, content: str) -> None:
    bad = labelled.parent / "bad.json"
    bad.write_bytes(content.encode("latin-1"))
    with pytest.raises(TableError, match=r"bad\.json is not the record of a labelling \(it is no"):
        report_file(labelled, labelled.parent / "out.html", record=bad)


def test_blocks_without_a_size_are_said(labelled: Path) -> None:
    rows = labelled.read_text().splitlines()
    for row, place in ((5, 3), (9, 5)):
        cells = rows[row].split(",")
        cells[place] = "" if row == 5 else "0"
        rows[row] = ",".join(cells)
    labelled.write_text("\n".join(rows) + "\n")
    with pytest.warns(GeodomainWarning, match="2 of 192 blocks"):
        report_file(labelled, labelled.parent / "out.html")
    text = (labelled.parent / "out.html").read_text()
    (warned,) = re.findall(r'<ul id="warnings">(.*?)</ul>', text)
    assert "2 of 192 blocks of labelled.csv have no size above 0" in warned
    assert "volume of them counts as 0" in warned and 'data-at="4.5,0.5,0.5"' in warned


def test_zero_is_a_fact() -> None:
    html = facts_table("Options", {"weld": 0, "at": 0.0, "x": None, "y": False}, name="o")
    assert "weld" in html and "at</th><td>0.0" in html
    assert "x</th>" not in html and "y</th>" not in html


@pytest.mark.parametrize("most", [2**15 - 2, 2**15 - 1, 2**16 - 1])
def test_a_boundary_among_very_many_labels(most: int) -> None:
    points = np.stack([np.arange(most + 1) + 0.5, *np.full((2, most + 1), 0.5)], axis=1)
    found = boundary_faces(geometry(points, np.ones((most + 1, 3)), np.arange(most + 1)))
    # Every block differs from those beside it, and has no block around.
    assert found is not None and (found == 63).all()


def test_a_section_beside_the_model_is_refused(labelled: Path) -> None:
    with pytest.raises(TableError, match=r"no block of labelled\.csv is cut by z = 40"):
        page_of(labelled, sections="z=40")


def test_a_page_that_is_there_is_kept(labelled: Path) -> None:
    place = labelled.parent / "report.html"
    place.write_text("mine")
    assert run(labelled, "-o", place).exit_code == 4 and place.read_text() == "mine"
    assert run(labelled, "-o", place, "--overwrite").exit_code == 0


def test_label_writes_a_report(labelled: Path) -> None:
    folder = labelled.parent
    words = ["label", "blocks.csv", "--solid", "ORE=ore.stl", "-o", "new.csv"]
    words = [str(folder / one) if "." in one and "=" not in one else one for one in words]
    words[3] = f"ORE={folder / 'ore.stl'}"
    done = CliRunner().invoke(main, [*words, "--report", str(folder / "new.html")])
    assert done.exit_code == 0 and "wrote" in done.output
    page = Page((folder / "new.html").read_text())
    assert page.tables["domains"][1][0].strip() == "ORE"
    assert [row[0] for row in page.tables["options"]].count("backend") == 1
    assert [one["domain"] for one in page.scene["wireframes"]] == ["ORE"]


def test_label_needs_a_file_to_report_on(labelled: Path) -> None:
    words = ["label", str(labelled.parent / "blocks.csv"), "--dry-run", "--report", "x.html"]
    words += ["--solid", f"ORE={labelled.parent / 'ore.stl'}"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2 and "--report needs a labelled file" in done.output
