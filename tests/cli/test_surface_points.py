"""The command `geodomain holes surface-points`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from wireframes import box

from geodomain import Mesh
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("collar.csv").write_text("BHID,XCOLLAR,YCOLLAR,ZCOLLAR,ENDDEPTH\nA,5,5,20,30\n")
    Path("survey.csv").write_text("BHID,AT,BRG,DIP\nA,0,0,90\n")
    Path("log.csv").write_text("BHID,FROM,TO,ROCK\nA,0,4,OX\nA,4,30,FR\n")
    write_mesh(box((0, 0, 0), (10, 10, 10)), Path("ore.ply"))
    ground = Mesh([[-999, -99, 15], [999, -99, 15], [0, 999, 15]], [[0, 1, 2]])
    write_mesh(ground, Path("ground.ply"))
    return tmp_path


def run(*options: str, target: str = "loopstructural", code: int = 0) -> Result:
    tables = ("--collar", "collar.csv", "--survey", "survey.csv", "--for", target)
    result = CliRunner().invoke(main, ["holes", "surface-points", *tables, *options])
    assert result.exit_code == code, result.output
    return result


LOG = ("--intervals", "log.csv", "--logged", "ROCK")


def test_the_table_for_loopstructural(folder: Path) -> None:
    result = run(*LOG, "--surface", "TOPO=ground.ply", "--solid", "ORE=ore.ply",
                 "--feature", "S", "--value", "TOPO=15", "--value", "OX=16", "--value", "ORE=0",
                 "-o", "points.csv")  # fmt: skip
    assert Path("points.csv").read_text().splitlines() == [
        "X,Y,Z,feature_name,val,nx,ny,nz,hole,depth",
        "5.0,5.0,16.0,S,16.0,,,,A,4.0",
        "5.0,5.0,15.0,S,15.0,0.0,0.0,1.0,A,5.0",
        "5.0,5.0,10.0,S,0.0,0.0,0.0,1.0,A,10.0",
        "5.0,5.0,0.0,S,0.0,0.0,0.0,-1.0,A,20.0",
    ]
    assert "surface  points  holes  with a normal" in result.stderr and result.stdout == ""


def test_the_tables_for_gempy(folder: Path) -> None:
    run(*LOG, "--surface", "TOPO=ground.ply", "-o", "points.csv", "--orientations", "o.csv",
        target="gempy")  # fmt: skip
    assert Path("points.csv").read_text().splitlines()[1:] == [
        "5.0,5.0,16.0,OX,A,4.0", "5.0,5.0,15.0,TOPO,A,5.0",
    ]  # fmt: skip
    assert Path("o.csv").read_text().splitlines() == [
        "X,Y,Z,G_x,G_y,G_z,formation,hole,depth", "5.0,5.0,15.0,0.0,0.0,1.0,TOPO,A,5.0",
    ]  # fmt: skip


def test_orientations_that_are_not_written_are_said(folder: Path) -> None:
    result = run("--surface", "TOPO=ground.ply", "-o", "-", target="gempy")
    assert "1 orientation is not written: name a file with --orientations" in result.stderr
    assert result.stdout.startswith("X,Y,Z,formation")


def test_json(folder: Path) -> None:
    found = json.loads(run(*LOG, "--json").stdout)
    assert found["surfaces"] == [{"name": "OX", "points": 1, "holes": 1, "normals": 0}]
    assert set(found) == {"holes", "surfaces", "left_out", "findings", "dips"}


MISUSED = {
    (): "no surface is given: use --logged COLUMN",
    ("--solid", "A=ore.ply", "--domains", "x.toml"): "give either --domains, or --solid",
    ("--solid", "A=ore.ply", "--between", "A", "B"): "give the column of codes with --logged",
    ("--solid", "A=ore.ply", "--orientations", "o.csv"): "--orientations is for GemPy",
    ("--solid", "A=ore.ply", "--value", "A"): "'A' is not SURFACE=NUMBER",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...], folder: Path) -> None:
    said = " ".join(run(*options, code=2).stderr.split())
    assert MISUSED[options] in said


def test_options_of_loopstructural_are_not_for_gempy(folder: Path) -> None:
    said = run(*LOG, "--feature", "S", target="gempy", code=2).stderr
    assert "--feature is for LoopStructural" in said


def test_values_of_unknown_surfaces_are_bad_data(folder: Path) -> None:
    said = run(*LOG, "--value", "X=1", code=3).stderr
    assert "--value has 'X', which is not a surface; the surfaces are OX" in said


def test_nothing_is_replaced_unasked(folder: Path) -> None:
    Path("points.csv").write_text("mine")
    assert "--overwrite" in run(*LOG, "-o", "points.csv", code=4).stderr
    assert "is the input" in run(*LOG, "-o", "log.csv", "--overwrite", code=3).stderr
