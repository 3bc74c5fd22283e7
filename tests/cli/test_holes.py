"""The commands `geodomain holes ...`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from wireframes import box

from geodomain import Mesh
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

COLLAR = "BHID,XCOLLAR,YCOLLAR,ZCOLLAR,ENDDEPTH\nA,5,5,20,30\nB,50,5,20,30\n"
SURVEY = "BHID,AT,BRG,DIP\nA,0,0,90\nB,0,0,90\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("collar.csv").write_text(COLLAR)
    Path("survey.csv").write_text(SURVEY)
    write_mesh(box((0, 0, 0), (10, 10, 10)), Path("ore.ply"))
    ground = Mesh([[-999, -99, 15], [999, -99, 15], [0, 999, 15]], [[0, 1, 2]])
    write_mesh(ground, Path("ground.ply"))
    return tmp_path


def run(*options: str, code: int = 0) -> Result:
    tables = ("--collar", "collar.csv", "--survey", "survey.csv")
    result = CliRunner().invoke(main, ["holes", "crossings", *tables, *options])
    assert result.exit_code == code, result.output
    return result


def test_stays_and_pierce_points(folder: Path) -> None:
    result = run("--solid", "ORE=ore.ply", "--surface", "TOPO=ground.ply", "-o", "stays.csv",
                 "--pierce", "points.csv")  # fmt: skip
    with Path("stays.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["hole"], row["domain"], row["from"], row["to"]) == ("A", "ORE", "10.0", "20.0")
    assert (row["z_in"], row["z_out"], row["starts_inside"]) == ("10.0", "0.0", "0")
    assert Path("points.csv").read_text().splitlines() == [
        "hole,domain,depth,x,y,z,direction",
        "A,TOPO,5.0,5.0,5.0,15.0,down",
        "B,TOPO,5.0,50.0,5.0,15.0,down",
    ]
    assert "2 of 2 holes" in result.stderr and result.stdout == ""


def test_points_that_are_not_written_are_said(folder: Path) -> None:
    result = run("--surface", "TOPO=ground.ply", "-o", "-")
    assert "2 pierce points are not written" in result.stderr
    assert result.stdout.splitlines()[0].startswith("hole,domain,from")


def test_a_list_of_domains(folder: Path) -> None:
    Path("domains.toml").write_text(
        '[[domain]]\nname = "AIR"\nkind = "above"\nmesh = "ground.ply"\n'
        '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n'
    )
    result = run("--domains", "domains.toml", "--json")
    found = json.loads(result.stdout)
    assert found["solids"][0]["length"] == 10 and found["solids"][0]["parity_holds"] == 2
    assert found["surfaces"] == [{"name": "AIR", "pierce_points": 2}]


def test_nothing_is_replaced_unasked(folder: Path) -> None:
    Path("stays.csv").write_text("mine")
    result = run("--solid", "ORE=ore.ply", "-o", "stays.csv", code=4)
    assert "--overwrite" in result.stderr and Path("stays.csv").read_text() == "mine"
    result = run("--solid", "ORE=ore.ply", "-o", "collar.csv", "--overwrite", code=3)
    assert "is the input" in result.stderr and Path("collar.csv").read_text() == COLLAR


MISUSED = {
    (): "no wireframe is given",
    ("--solid", "A=ore.ply", "--domains", "x.toml"): "give either --domains, or --solid",
    ("--solid", "A=ore.ply", "--hole-column", "dip"): "is not ROLE=COLUMN",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...], folder: Path) -> None:
    assert MISUSED[options] in run(*options, code=2).stderr


def test_holes_are_needed(folder: Path) -> None:
    result = CliRunner().invoke(main, ["holes", "crossings", "--solid", "A=ore.ply"])
    assert result.exit_code == 2 and "--collar FILE" in result.stderr


def test_bad_holes_are_warned_of_or_refused(folder: Path) -> None:
    Path("survey.csv").write_text("BHID,AT,BRG,DIP\nA,0,0,90\n")
    result = run("--solid", "ORE=ore.ply")
    assert "1 hole without a station (B)" in result.stderr
    result = run("--solid", "ORE=ore.ply", "--strict", code=3)
    assert "correct the tables" in result.stderr
    assert "2 of 2" in run("--solid", "ORE=ore.ply", "--vertical").output


def inspect(*options: str, code: int = 0) -> Result:
    return run_command("inspect", *options, code=code)


def test_inspect_describes_holes(folder: Path) -> None:
    Path("assay.csv").write_text("BHID,FROM,TO,AU\nA,0,2,1\nA,2,40,1\nX,0,1,2\n")
    tables = ("--collar", "collar.csv", "--survey", "survey.csv", "--intervals", "assay.csv")
    said = inspect(*tables).stdout
    assert "2, 60.0 long in all" in said and "positive dips point down" in said
    assert "1 interval of a hole without a collar (X)" in said
    found = json.loads(inspect(*tables, "--json").stdout)
    assert found["ends"]["collar table"] == 2
    assert "correct the tables" in inspect(*tables, "--strict", code=3).stderr


def test_inspect_takes_blocks_or_holes(folder: Path) -> None:
    assert "--collar FILE" in inspect(code=2).stderr
    assert "give one of them" in inspect("b.csv", "--collar", "collar.csv", code=2).stderr
    said = inspect("b.csv", "--survey", "survey.csv", code=2).stderr
    assert "--survey is for drillholes" in said
    said = inspect("b.csv", "--hole-column", "dip=D", code=2).stderr
    assert "--hole-column is for drillholes" in said


def test_messages_name_options(folder: Path) -> None:
    Path("survey.csv").write_text("BHID,AT,BRG,NEIGUNG\nA,0,0,90\nB,0,0,90\n")
    said = run("--solid", "ORE=ore.ply", code=3).stderr
    assert "Name it with --hole-column survey.dip=COLUMN" in said
    run("--solid", "ORE=ore.ply", "--hole-column", "dip=NEIGUNG")
