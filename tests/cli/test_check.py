"""The command `geodomain check`: what it says, what it writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from shapes import cube, joined
from surfaces import MINE, divided_roof, hairline, lidless, soup, torus

from geodomain import Mesh, read_mesh, write_mesh
from geodomain.cli import main


def run(*arguments: str | Path, code: int = 0) -> Result:
    return run_command("check", *map(str, arguments), code=code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    meshes = {
        "ok.ply": cube(10.0, MINE),
        "hair.ply": hairline(0.0004),
        "box.ply": lidless(),
        "blocks.obj": divided_roof(),
        "twice.ply": joined(cube(), cube()),
    }
    for name, mesh in meshes.items():
        write_mesh(mesh, tmp_path / name)
    return tmp_path


def test_a_good_mesh_is_fit(folder):
    said = run("ok.ply").stdout
    assert said.startswith("ok.ply: can be used for labelling\n")
    assert "12 on 8 vertices" in said
    assert "x 2296021 to 2296031; y 414095 to 414105; z 1590 to 1600" in said
    assert "signed volume       1000" in said
    assert "weld at" not in said


def test_a_mesh_that_is_not_fit_ends_in_3(folder):
    said = run("ok.ply", "box.ply", code=3).stdout
    assert "ok.ply: can be used for labelling" in said
    assert "box.ply: cannot be used for labelling" in said
    assert "open edges          4" in said
    assert "weld at 0.01        does not close it" in said
    assert "box.ply is not closed: 4 open edges, the first from (0.0, 0.0, 1.0)" in said


def test_it_says_which_weld_closes(folder):
    said = run("hair.ply", code=3).stdout
    assert "weld at 1e-06       does not close it" in said
    assert "weld at 0.001       closes it" in said
    assert "geodomain check hair.ply --weld 0.0005 -o closed.ply" in said


def test_the_command_that_is_proposed_works(folder):
    said = run("hair.ply", "--weld", "0.0005", "-o", "closed.ply").stdout
    assert said.startswith("welded at 0.0005: 4 vertices moved, at most 0.0004; 0 triangles")
    assert "closed.ply: can be used for labelling" in said
    assert read_mesh("closed.ply").is_closed


def test_a_weld_without_output_is_tried(folder):
    before = sorted(folder.iterdir())
    assert "hair.ply: can be used" in run("hair.ply", "--weld", "0.001").stdout
    assert sorted(folder.iterdir()) == before


def test_what_is_reported_is_what_the_file_holds(folder):
    # Single precision at these coordinates has a step of a quarter: the two halves meet.
    thin = soup(cube(1.0, MINE))
    corners = thin.vertices.copy()
    corners[:, 0] = MINE[0] + (corners[:, 0] - MINE[0]) * 0.01
    write_mesh(Mesh(corners, thin.triangles), "thin.ply")
    result = run("thin.ply", "--weld", "1e-6", "-o", "thin.stl", "--json", code=3)
    report = json.loads(result.stdout)[0]
    assert report["name"] == "thin.stl"
    assert report["signed_volume"] == 0
    assert report["degenerate"] > 0
    assert report["cancelled"] and "nothing is inside" in report["faults"][0]
    assert "warning: " in result.stderr


def test_json_is_a_list_of_reports(folder):
    reports = json.loads(run("ok.ply", "hair.ply", "twice.ply", "--json", code=3).stdout)
    assert [report["fit"] for report in reports] == [True, False, False]
    assert reports[1]["weld_closes"] == {"1e-06": False, "0.001": True, "0.01": True}
    assert reports[0]["weld"] is None and reports[0]["weld_closes"] == {}
    assert reports[2]["duplicate_shells"] == 1
    assert "NOTHING IS INSIDE" in reports[2]["warnings"][0]
    assert np.shape(reports[1]["places"]["boundary_edges"]) == (8, 2, 3)


def test_json_says_what_a_weld_did(folder):
    report = json.loads(run("hair.ply", "--weld", "0.001", "--json").stdout)[0]
    weld = report["weld"]
    assert (weld["moved"], weld["dropped"], weld["output"]) == (4, 0, None)
    assert weld["largest_move"] == pytest.approx(0.0004, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ok.ply", "-o", "x.ply"], "--weld"),
        (["ok.ply", "box.ply", "--weld", "1", "-o", "x.ply"], "one at a time"),
        (["ok.ply", "--weld", "-1"], "--weld"),
        (["ok.ply", "--weld", "nan"], "finite"),
        (["ok.ply", "--weld", "inf"], "finite"),
        ([], "MESH"),
    ],
)
def test_a_slip_is_a_usage_error(folder, arguments, words):
    assert words in run(*arguments, code=2).stderr
    assert not Path("x.ply").exists()


def test_a_file_that_is_there_is_kept(folder):
    before = Path("ok.ply").read_bytes()
    said = run("hair.ply", "--weld", "0.001", "-o", "ok.ply", code=4).stderr
    assert "already exists" in said
    assert Path("ok.ply").read_bytes() == before
    run("hair.ply", "--weld", "0.001", "-o", "ok.ply", "--overwrite")
    assert Path("ok.ply").read_bytes() != before


def test_an_output_in_no_folder_exits_4(folder):
    arguments = ["check", "ok.ply", "--weld", "0.1", "-o", "nil/x.ply"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 4 and result.stderr.startswith(
        "error: nil/x.ply: the folder does not exist"
    )


def test_a_weld_to_nothing_is_not_written(folder):
    said = run("ok.ply", "--weld", "100", "-o", "none.ply", code=3).stdout
    assert "12 triangles dropped" in said and "cannot be used" in said
    assert not (folder / "none.ply").exists()


def test_a_mesh_can_be_welded_in_place(folder):
    run("hair.ply", "--weld", "0.001", "-o", "hair.ply", "--overwrite")
    assert read_mesh("hair.ply").is_closed


def test_what_cannot_be_read_is_said(folder):
    Path("bad.ply").write_bytes(b"ply\nformat nonsense\n")
    assert run("bad.ply", code=3).stderr.startswith("error: bad.ply, line 2")
    said = run("ok.ply", "none.ply", code=4).stderr.splitlines()
    assert said == [
        "error: none.ply: No such file or directory",
        "error: 1 of 2 meshes could not be read",
    ]


def test_the_help_ends_in_an_example():
    lines = run("--help").stdout.rstrip().splitlines()
    assert lines[-1].strip() == "geodomain check ore.stl --weld 0.001 -o closed.stl"


def test_an_open_edge_is_not_called_mis_oriented_as_well(folder):
    said = run("box.ply", code=3).stdout
    assert "4 open edges" in said and "face opposite ways" not in said


def test_a_solid_that_is_there_twice_is_not_fit(folder):
    said = run("twice.ply", code=3).stdout
    assert "twice.ply: cannot be used for labelling" in said
    assert said.count("twice.ply has a duplicate closed shell") == 1


def test_shells_that_overlap_are_not_fit(folder):
    write_mesh(joined(cube(), cube(1.0, (0.5, 0.5, 0.5))), folder / "over.ply")
    assert "over.ply has a pair of overlapping shells" in run("over.ply", code=3).stdout


def test_an_open_surface_is_one_and_not_to_be_mended(folder):
    corners = [[0, 0, 5], [9, 0, 6], [0, 9, 7], [9, 9, 5]]
    write_mesh(Mesh(corners, [[0, 1, 2], [1, 3, 2]]), folder / "ground.ply")
    said = run("ground.ply", code=3).stdout
    assert (
        "ground.ply is an open surface, not a solid: use it with kind = 'above' or kind = 'be"
        in (said)
    )
    assert "weld" not in said
    said = run("ground.ply", "--kind", "surface").stdout
    assert said.startswith("ground.ply: can be used for labelling as a surface\n")
    found = json.loads(run("ground.ply", "--kind", "surface", "--json").stdout)
    assert found[0]["kind"] == "surface" and found[0]["fit"] and not found[0]["faults"]
    assert (
        "ok.ply is closed: used as a surface" in run("ok.ply", "--kind", "surface", code=3).stdout
    )


def test_a_weld_that_closes_by_taking_triangles_says_so(folder):
    speck = cube(0.0005)  # with a hole, beside a torus that has none
    speck = Mesh(speck.vertices, speck.triangles[1:])
    ring = torus()
    write_mesh(joined(Mesh(ring.vertices * 100, ring.triangles), speck), folder / "fan.ply")
    said = run("fan.ply", code=3).stdout
    assert (
        "weld at 0.001       closes it by collapsing 11 triangles (largest move of a vertex" in said
    )
    assert "Welding closes it only by collapsing 11 triangles" in said
    assert "geodomain check fan.ply --weld 0.001 -o closed.ply" in said
    assert "fan.ply: can be used for labelling" in run("fan.ply", "--weld", "0.001").stdout


def test_the_name_of_a_single_solid_is_said(tmp_path: Path) -> None:
    write_mesh({"Bunny surface": cube()}, tmp_path / "a.ts")
    said = CliRunner().invoke(main, ["check", str(tmp_path / "a.ts")]).output
    assert (
        "1 solid, which can be named as FILE:NAME\n  Bunny surface" in said
        and "closed" in said.splitlines()[-1]
    )
    named = CliRunner().invoke(main, ["check", f"{tmp_path / 'a.ts'}:Bunny surface"]).output
    assert "1 solid" not in named
    write_mesh({"SURFACE": cube()}, tmp_path / "layer.dxf")
    said = CliRunner().invoke(main, ["check", str(tmp_path / "layer.dxf")]).output
    assert "1 solid, which can be named as FILE:NAME\n  SURFACE " in said
    write_mesh(cube(), tmp_path / "c.ply")
    assert "1 solid" not in CliRunner().invoke(main, ["check", str(tmp_path / "c.ply")]).output
