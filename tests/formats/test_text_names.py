"""Tables of text are not written under names that promise another kind of file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from wireframes import box

from geodomain import write_mesh
from geodomain.cli import main

COMMANDS = {
    "tonnes": ["tonnes", "model.csv", "--density", "2"],
    "label": ["label", "model.csv", "--solid", "A=a.ply", "--column", "new"],
    "crossings": ["holes", "crossings", "--collar", "collar.csv", "--solid", "A=a.ply"],
    "flag": ["flag", "samples.csv", "--collar", "collar.csv", "--solid", "A=a.ply"],
    "intersect": ["intersect", "a.ply", "segments.csv"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n")
    Path("collar.csv").write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,5,5,9,9,0,90\n")
    Path("samples.csv").write_text("HOLE,FROM,TO\nA,0,5\n")
    Path("segments.csv").write_text("x1,y1,z1,x2,y2,z2\n5,5,5,5,5,50\n")
    write_mesh(box((0, 0, 0), (10, 10, 10)), "a.ply")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["t.ods", "t.XLS", "t.pdf", "t.parquet", "t.dxf", "t.png"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_name_of_another_format_is_refused(command: list[str], name: str) -> None:
    result = CliRunner().invoke(main, [*command, "-o", name])
    assert result.exit_code == 3, result.output
    assert result.stderr.count("\n") == 1 and ".csv" in result.stderr and name in result.stderr
    assert not Path(name).exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t", "t.csv.gz", "t.dat"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_names_of_text_are_taken(command: list[str], name: str) -> None:
    result = CliRunner().invoke(main, [*command, "-o", name])
    assert result.exit_code == 0, result.output
    assert Path(name).exists()
