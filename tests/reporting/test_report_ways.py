"""`geodomain label --report` whatever the format of the model and the way of labelling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from label_command import run_command
from report_page import Page
from wireframes import box

from geodomain.formats.wireframes import write_mesh

LIST = """background = "WASTE"
background_code = 9
[[domain]]
name = "ORE"
mesh = "ore.obj"
code = 7
"""


def geodomain(*words: str, code: int = 0) -> Result:
    return run_command(*words, code=code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a model of 4 x 3 x 2 blocks of 10, half of it in ORE, and a list of domains."""
    monkeypatch.chdir(tmp_path)
    places = [(x, y, z) for z in (5, 15) for y in (5, 15, 25) for x in (5, 15, 25, 35)]
    rows = ["X,Y,Z,DX,DY,DZ,OLD", *(f"{x},{y},{z},10,10,10,A" for x, y, z in places)]
    Path("b.csv").write_text("\n".join([*rows, ""]))
    Path("b.out").write_text("grid\n1\nAU\n" + "0.5\n" * len(places))
    write_mesh(box((0, 0, 0), (20, 30, 20)), Path("ore.obj"))
    Path("d.toml").write_text(LIST)
    return tmp_path


WAYS = {
    "text": ("b.csv", "-o", "out.csv"),
    "compressed": ("b.csv", "-o", "out.csv.gz"),
    "Parquet": ("b.parquet", "-o", "out.parquet"),
    "VTK unstructured": ("b.vtu", "-o", "out.vtu"),
    "VTK image": ("b.vti", "-o", "out.vti"),
    "OMF": ("b.omf", "-o", "out.omf"),
    "GSLIB": ("b.out", "-o", "out.out", "--gslib-grid", "4,3,2,5,5,5,10,10,10"),
    "GSLIB, codes": ("b.out", "-o", "out.out", "--codes", "--gslib-grid", "4,3,2,5,5,5,10,10,10"),
    "in place": ("b.csv", "--in-place"),
    "a column rewritten": ("b.csv", "-o", "out.csv", "--replace-column", "OLD"),
    "proportions": ("b.csv", "-o", "out.csv", "--proportions"),
    "majority": ("b.csv", "-o", "out.csv", "--by", "majority"),
    "flags": ("b.csv", "-o", "out.csv", "--flags"),
    "codes": ("b.csv", "-o", "out.csv", "--codes"),
    "winding": ("b.csv", "-o", "out.csv", "--rule", "winding"),
}


@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS)
def test_the_table_is_that_of_the_summary(words: tuple[str, ...], folder: Path) -> None:
    if words[0] not in ("b.csv", "b.out"):
        geodomain("convert", "b.csv", words[0])
    more = ("--domains", "d.toml", "--report", "r.html", "--json")
    done = geodomain("label", *words, *more)
    summary = json.loads(done.stdout)
    page = Page(Path("r.html").read_text())
    found = {row[0].strip().split(" (")[0]: row[1:4] for row in page.tables["domains"][1:-1]}
    expected = [summary["domains"][0], summary["background"]]
    assert [one["blocks"] for one in expected] == [12, 12]
    assert found == {name: ["12", "50.00%", "12,000"] for name in ("ORE", "WASTE")}


def test_a_model_is_said_to_be_labelled_before_its_report_fails(folder: Path) -> None:
    rows = ["X,Y,Z", *(f"{x},{y},5" for x, y in ((1, 2), (7.37, 2.2), (11, 2.9)))]
    Path("c.csv").write_text("\n".join([*rows, ""]))
    done = geodomain(
        *("label", "c.csv", "--solid", "ORE=ore.obj", "-o", "out.csv", "--report", "r.html"), code=3
    )
    lines = done.stderr.splitlines()
    assert lines[0].startswith("domain") and lines[-1].startswith("error: ")
    assert "wrote out.csv" in lines[:-1] and Path("out.csv").exists()
    assert not Path("r.html").exists()
