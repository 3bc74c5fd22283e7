"""Reports: what the page says and holds; what a browser makes of it is tested beside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pandas
from report_page import Page, labelled_model, page_of, run
from wireframes import box

import geodomain
from geodomain import Drillholes, GeodomainWarning, label_file, tonnes_file
from geodomain.cli import main
from geodomain.cli.console import as_options
from geodomain.formats.blocks import open_model
from geodomain.formats.wireframes import write_mesh
from geodomain.reporting.blocks import read_blocks
from geodomain.reporting.look import colours_of
from geodomain.reporting.page import escaped_json
from geodomain.reporting.tables import facts_table
from geodomain.tables.options import table_options


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return labelled_model(tmp_path)


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


def test_paths_are_relative_to_the_page_on_request(labelled: Path) -> None:
    folder = labelled.parent
    page = page_of(labelled, record=folder / "run.json", relative_paths=True)
    assert {row[1] for row in page.tables["files"][1:]} >= {"labelled.csv", "blocks.csv", "ore.stl"}
    assert str(folder) not in (folder / "report.html").read_text()
    (folder / "pages").mkdir()
    written = folder / "pages" / "r.html"
    done = run(labelled, "--record", folder / "run.json", "--relative-paths", "-o", written)
    assert done.exit_code == 0, done.output
    assert str(folder) not in written.read_text() and "../labelled.csv" in written.read_text()


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


def test_tonnes_and_grades_are_those_of_the_command(labelled: Path) -> None:
    page = page_of(labelled, background="WASTE", density=2.5, grade="AU")
    expected = tonnes_file(labelled, density=2.5, grade="AU")
    found = {row[0]: row[1:] for row in page.exact["tonnes"][1:]}
    for row in expected.rows:
        cells = [float(cell.replace(",", "")) for cell in found[row.domain]]
        (grade,) = row.grades
        whole = [row.blocks, row.volume, row.tonnes, grade.mean, grade.metal]
        assert cells == whole
    above = [row for row in page.exact["above-0"][1:] if row[0] == "ORE"]
    cut = tonnes_file(labelled, density=2.5, grade="AU", cutoff=float(above[3][1]))
    (row,) = (row for row in cut.domains if row.domain == "ORE" and row.cutoff is not None)
    assert float(above[3][4].replace(",", "")) == row.tonnes
    html = (labelled.parent / "report.html").read_text()
    # In the part about tonnes and grade, and on the pages of the two domains.
    assert html.count("Histogram of AU in") == html.count("Grade-tonnage curve of AU in") == 4


def test_tonnes_of_blocks_whose_lattice_shows_their_size(tmp_path: Path) -> None:
    rows = [f"{2 * x},{3 * y},{4 * z},A" for z in range(2) for y in range(3) for x in range(4)]
    (tmp_path / "b.csv").write_text("\n".join(["X,Y,Z,domain", *rows, ""]))
    page = page_of(tmp_path / "b.csv", density=2.5)
    assert page.tables["tonnes"][1][:4] == ["A", "24", "576", "1,440"]


def test_a_grade_without_numbers_is_refused(labelled: Path) -> None:
    done = run(labelled, "--grade", "domain", "-o", labelled.parent / "report.html")
    assert done.exit_code == 3 and not (labelled.parent / "report.html").exists()
    assert "domain is not a number in 192 of the rows, such as" in done.output
    assert "The column holds texts: name a column of numbers." in done.output


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


def test_the_head_says_which_bytes_and_every_file_is_hashed(labelled: Path) -> None:
    collar = labelled.parent / "collar.csv"
    collar.write_text("BHID,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,1,2,4,4,90,90\n")
    page = page_of(labelled, record=labelled.parent / "run.json", holes=Drillholes(collar))
    html = (labelled.parent / "report.html").read_text()
    head = html[html.index("<header>") : html.index("</header>")]
    digest = hashlib.sha256(labelled.read_bytes()).hexdigest()
    assert digest[:16] in head and f"{labelled.stat().st_size:,} bytes" in head
    started = json.loads((labelled.parent / "run.json").read_text())["started"][:10]
    assert f"labelled {started}" in head
    digest = hashlib.sha256(collar.read_bytes()).hexdigest()
    assert ["drillholes", str(collar), f"{collar.stat().st_size:,}", digest] in page.tables["files"]


def test_each_section_names_its_colours(labelled: Path) -> None:
    page_of(labelled, domains={"ORE": labelled.parent / "ore.stl"}, sections=["z=0.5", "x=6.5"])
    html = (labelled.parent / "report.html").read_text()
    legends = re.findall(r'<p class="legend">(.*?)</p>', html)
    names = [re.findall(r"</svg> (.*?)</span>", legend) for legend in legends]
    # ORE, from z = 1 and to x = 6, is neither on z = 0.5 nor on x = 6.5.
    assert [sorted(one) for one in names] == [["DYKE", "WASTE"], ["DYKE", "WASTE"]]
    page_of(labelled, domains={"ORE": labelled.parent / "ore.stl"}, sections="z=1.5")
    html = (labelled.parent / "report.html").read_text()
    (legend,) = re.findall(r'<p class="legend">(.*?)</p>', html)
    for name in ("DYKE", "ORE", "WASTE"):
        colour = re.search(rf'fill="(#\w+)" stroke="#888"/></svg> {name}', legend)
        assert colour is not None and html.count(colour[1]) > 2


def test_notes_of_the_labelling_are_among_the_warnings(tmp_path: Path) -> None:
    write_mesh(box((0, 0, 0), (9, 1, 1)), tmp_path / "long.stl")
    (tmp_path / "b.csv").write_text("X,Y,Z,DX,DY,DZ\n0.5,0.5,0.5,1,1,1\n1.5,0.5,0.5,1,1,1\n")
    record, out = tmp_path / "run.json", tmp_path / "out.csv"
    label_file(tmp_path / "b.csv", {"LONG": tmp_path / "long.stl"}, out, record=record)
    page_of(out, record=record)
    html = (tmp_path / "report.html").read_text()
    part = html[html.index('id="warnings"') : html.index('id="view"')]
    assert "long.stl of LONG extends beyond the block model: volume 7 (77.8%)" in part


def test_zero_is_a_fact() -> None:
    html = facts_table("Options", {"weld": 0, "at": 0.0, "x": None, "y": False}, name="o")
    assert "weld" in html and "at</th><td>0.0" in html
    assert "x</th>" not in html and "y</th>" not in html


def test_what_moved_since_an_earlier_labelling_is_a_part(labelled: Path) -> None:
    old = labelled.parent / "old.csv"
    old.write_text(labelled.read_text().replace(",DYKE\n", ",<ORE>\n"))
    dyke = labelled.read_text().count(",DYKE\n")
    done = run(labelled, "--compare", old, "-o", labelled.parent / "changes.html")
    assert done.exit_code == 0, done.output
    page = Page((labelled.parent / "changes.html").read_text())
    headings, moved, *stayed = page.tables["moves"]
    assert headings == ["old", "new", "blocks", "volume"]
    assert moved == ["<ORE>", "DYKE", f"{dyke}", f"{dyke}"]
    assert {tuple(row[:2]) for row in stayed} == {("ORE", "ORE"), ("WASTE", "WASTE")}
    digest = hashlib.sha256(old.read_bytes()).hexdigest()
    assert ["compared with", str(old), f"{old.stat().st_size:,}", digest] in page.tables["files"]
    assert "moves" not in page_of(labelled).tables


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


def test_what_lacks_a_grade_is_among_the_warnings(labelled: Path) -> None:
    text = labelled.read_text().replace("1,1,1.0,0.00,", "1,1,1.0,-99,")
    labelled.write_text(text)
    count = text.count(",-99,")
    with pytest.warns(GeodomainWarning, match=f"{count} blocks have no AU"):
        page = page_of(labelled, density=2.5, grade="AU", missing=-99)
    html = (labelled.parent / "report.html").read_text()
    (warned,) = re.findall(r'<ul id="warnings">(.*?)</ul>', html)
    assert f"{count} blocks have no AU: such blocks are included in tonnes" in warned
    with pytest.warns(GeodomainWarning):
        expected = tonnes_file(labelled, density=2.5, grade="AU", missing=-99)
    means = {row.domain: row.grades[0].mean for row in expected.rows}
    assert {row[0]: float(row[4]) for row in page.exact["tonnes"][1:-1]} == means


def test_each_grade_has_its_curves_and_no_file_is_read_twice(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = labelled.read_text().split()
    more = [f"{line},{number % 7}" for number, line in enumerate(lines[1:])]
    labelled.write_text("\n".join([f"{lines[0]},CU", *more, ""]))
    opened = []
    monkeypatch.setattr(
        "geodomain.reporting.blocks.open_model",
        lambda *a, **k: opened.append(1) or open_model(*a, **k),
    )
    page = page_of(labelled, density=2.5, grade=["AU", "CU"])
    assert opened == [1]
    for number, name in enumerate(("AU", "CU")):
        rows = [row for row in page.exact[f"above-{number}"][1:] if row[0] == "ORE"]
        cutoffs = [float(row[1]) for row in rows]
        expected = tonnes_file(labelled, density=2.5, grade=name, cutoff=cutoffs)
        cut = [one for one in expected.domains if one.domain == "ORE" and one.cutoff is not None]
        assert len(cut) == len(rows) > 3
        for row, one in zip(rows, cut, strict=True):
            mean = one.grades[0].mean
            assert row[2] == f"{one.blocks:,}" and (float(row[5]) if row[5] else None) == mean


def test_a_density_that_is_no_column_is_found_before_the_model_is_read(labelled: Path) -> None:
    done = run(labelled, "--density", "SG", "-o", labelled.parent / "r.html")
    assert done.exit_code == 3 and "SG" in done.output and not (labelled.parent / "r.html").exists()


def test_notes_of_the_page_are_printed_too(labelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = labelled.parent
    monkeypatch.chdir(folder)
    lines = labelled.read_text().split()
    with_air = [f"{line},{2.5 * (number % 3 > 0)}" for number, line in enumerate(lines[1:])]
    labelled.write_text("\n".join([f"{lines[0]},SG", *with_air, ""]))
    write_mesh(box((2, 2, 1), (20, 5, 3)), folder / "long.stl")
    words = ["label", str(labelled), "--solid", "ORE=long.stl", "--column", "new", "-o", "new.csv"]
    assert CliRunner().invoke(main, [*words, "--record", "new.json"]).exit_code == 0
    record = json.loads((folder / "new.json").read_text())
    notes = [*tonnes_file("new.csv", density="SG", column="new").notes]
    notes += record["summary"]["warnings"] + record["summary"]["notes"]
    assert any("density 0" in note for note in notes) and len(notes) > 1
    words = ["new.csv", "--column", "new", "--density", "SG", "--record", "new.json"]
    done = run(*words, "-o", "page.html")
    page = html.unescape((folder / "page.html").read_text())
    for note in notes:
        assert as_options(note) in done.stderr and note in page


# --- Shares of blocks: the volume by proportion of each domain.


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
