"""Reports: files and records that are refused, and what a page says of doubtful ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from report_page import labelled_model, page_of, run

from geodomain import GeodomainWarning, report_file
from geodomain.cli import main
from geodomain.errors import TableError


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return labelled_model(tmp_path)


def spoil(labelled: Path, old: str, new: str) -> Path:
    path = labelled.parent / "other.csv"
    path.write_text(labelled.read_text().replace(old, new))
    return path


def test_other_blocks_to_compare_with_are_refused(labelled: Path) -> None:
    other = spoil(labelled, "\n0.5,0.5,0.5,", "\n0.5,0.5,0.6,")
    page = labelled.parent / "report.html"
    done = run(labelled, "--compare", other, "-o", page)
    assert done.exit_code == 3 and "other.csv" in done.output and not page.exists()
    done = run(labelled, "--compare", other, "-o", other, "--overwrite")
    assert done.exit_code == 3 and other.read_text().startswith("X,")


def test_a_page_and_a_record_do_not_go_to_standard_output(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(labelled.parent)
    before = set(labelled.parent.iterdir())
    done = run(labelled, "-o", "-")
    assert (
        done.exit_code == 3 and "not standard output: name a file that ends in .html" in done.output
    )
    assert set(labelled.parent.iterdir()) == before


def test_a_model_that_is_not_labelled_is_refused(labelled: Path) -> None:
    done = run(labelled.parent / "blocks.csv", "-o", labelled.parent / "out.html")
    assert done.exit_code == 3
    assert "has no column 'domain': label the model with" in done.output
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
    assert done.exit_code == 3 and "the record belongs to another file" in done.output


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
    assert "no volume is counted for them" in warned and 'data-at="4.5,0.5,0.5"' in warned


def test_a_section_beside_the_model_is_refused(labelled: Path) -> None:
    with pytest.raises(TableError, match=r"no block of labelled\.csv is cut by z = 40"):
        page_of(labelled, sections="z=40")


def test_a_page_that_is_there_is_kept(labelled: Path) -> None:
    place = labelled.parent / "report.html"
    place.write_text("mine")
    assert run(labelled, "-o", place).exit_code == 4 and place.read_text() == "mine"
    assert run(labelled, "-o", place, "--overwrite").exit_code == 0


def test_label_needs_a_file_to_report_on(labelled: Path) -> None:
    words = ["label", str(labelled.parent / "blocks.csv"), "--dry-run", "--report", "x.html"]
    words += ["--solid", f"ORE={labelled.parent / 'ore.stl'}"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2 and "--report needs a labelled file" in done.output


def test_grades_are_no_labels(tmp_path: Path) -> None:
    rows = "\n".join(f"{x}.5,0.5,0.5,1,1,1,{x / 7:.2f},{x % 3}" for x in range(200))
    (tmp_path / "b.csv").write_text(f"X,Y,Z,DX,DY,DZ,AU,domain\n{rows}\n")
    done = run(tmp_path / "b.csv", "--column", "AU", "-o", tmp_path / "r.html")
    assert done.exit_code == 3 and not (tmp_path / "r.html").exists()
    assert "column 'AU' holds 200 different numbers, so it is not a label column" in done.output
    assert "--column" in done.output
    assert run(tmp_path / "b.csv", "-o", tmp_path / "r.html").exit_code == 0
