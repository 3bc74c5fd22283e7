"""`intersect_file`: tables and raw files, what it returns, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from geodomain import Mesh, intersect_file, write_mesh
from geodomain.cli import main
from geodomain.errors import TableError

GROUND = Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]], name="ground.ply")
STARTS, ENDS = [[1, 2, 9], [8, 8, 9], [1, 1, 4]], [[1, 2, 0], [8, 8, 0], [1, 1, 6]]
RAW = ("vertices_f32", "triangles_i32", "from_f32", "to_f32")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a surface and segments, as a table and as raw files."""
    monkeypatch.chdir(tmp_path)
    write_mesh(GROUND, "ground.ply")
    rows = [",".join(map(str, [*pair[0], *pair[1]])) for pair in zip(STARTS, ENDS, strict=True)]
    Path("holes.csv").write_text("\n".join(["x1,y1,z1,x2,y2,z2", *rows, ",1,1,1,1,1", ""]))
    for name, values in zip(RAW, (GROUND.vertices, GROUND.triangles, STARTS, ENDS), strict=True):
        np.asarray(values).astype("<i4" if name.endswith("i32") else "<f4").tofile(name)
    return tmp_path


PAIR = (GROUND.vertices, GROUND.triangles)
KINDS = {"mesh": GROUND, "path": "ground.ply", "raw": RAW[:2], "pair": PAIR}


@pytest.mark.parametrize("surface", KINDS.values(), ids=KINDS.keys())
def test_a_table_gives_a_table(surface: object) -> None:
    found = intersect_file(surface, "holes.csv", "hits.csv")
    assert (found.crossing, found.segments, found.missing, found.mode) == (2, 4, 1, "barycentric")
    assert found.outputs == ("hits.csv",)
    head, first, second = Path("hits.csv").read_text().splitlines()
    assert head.startswith("row,t,distance") and first.startswith("0,0.4444444444444444,4.0,1.0,2")
    assert second.startswith("2,0.5,1.0,")


def test_raw_files_give_raw_files() -> None:
    found = intersect_file(RAW[:2], RAW[2:], "new/folder", mode="count")
    assert np.fromfile("new/folder/results_i32", "<i4").tolist() == [1, 0, 1]
    assert found.mode == "intercept_count" and found.crossings == 2
    intersect_file(GROUND, RAW[2:], "near", mode="nearest")
    assert np.fromfile("near/intersectTriangle_i32", "<i4").tolist() == [0, -1, 0]


@pytest.mark.parametrize("raw", [False, True])
def test_it_returns_what_the_command_prints(raw: bool) -> None:
    inputs = list(RAW) if raw else ["ground.ply", "holes.csv"]
    result = CliRunner().invoke(main, ["intersect", *inputs, "-o", "one", "--json"])
    surface, segments = (RAW[:2], RAW[2:]) if raw else inputs
    found = intersect_file(surface, segments, "one", overwrite=True)
    said, again = json.loads(result.stdout), json.loads(json.dumps(found.as_dict()))
    assert said.pop("seconds") >= 0 and again.pop("seconds") >= 0
    assert list(said) == list(again) and said == again
    assert str(found).startswith(f"2 of {3 if raw else 4} segments cross a surface of 1 triangle")


def test_options_of_a_table() -> None:
    text = Path("holes.csv").read_text().replace(",", ";").replace("z2", "down")
    Path("h.txt").write_text(text.replace("1;2;9", "1,5;2;9").replace("8;8;9", "NA;8;9"))
    options = {"start": ("x1", "y1", "z1"), "end": ("x2", "y2", "down"), "missing": "NA"}
    seen: list[int] = []
    found = intersect_file(
        GROUND,
        "h.txt",
        "hits.csv",
        mode="all",
        delimiter=";",
        decimal=",",
        backend="cpu",
        threads=1,
        progress=lambda done, _: seen.append(done),
        **options,
    )
    assert found.missing == 2 and found.crossing == 2 and seen
    assert ";" in Path("hits.csv").read_text() and found.backend == "cpu"


def test_what_goes_wrong_leaves_nothing_behind(folder: Path) -> None:
    Path("mine.csv").write_text("mine")
    Path("results_i32").write_text("mine")
    Path("bad.csv").write_text(Path("holes.csv").read_text() + "1,2,3,4,5,six\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    raw = RAW[2:]
    for segments, output, options, error in (
        ("holes.csv", "mine.csv", {}, FileExistsError),
        ("holes.csv", "no/hits.csv", {}, FileNotFoundError),
        ("holes.csv", "hits.parquet", {}, TableError),
        ("holes.csv", "holes.csv", {"overwrite": True}, TableError),
        ("holes.csv", "ground.ply", {"overwrite": True}, TableError),
        ("bad.csv", "hits.csv", {}, TableError),
        ("holes.csv", "hits.csv", {"mode": "some"}, ValueError),
        (raw, ".", {}, FileExistsError),
        (raw, "-", {}, ValueError),
        (raw, "out", {"mode": "all"}, ValueError),
    ):
        with pytest.raises(error):
            intersect_file("ground.ply", segments, output, **options)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
