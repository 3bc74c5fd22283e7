"""The command `geodomain label` on corners and rotated models: labels are those of the world."""

from __future__ import annotations

import re
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from late import pyarrow
from wireframes import box

from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

SOLID = ("--solid", "ORE=ore.obj")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a box from (500, 990, 100) to (520, 1000, 105) in the world."""
    monkeypatch.chdir(tmp_path)
    write_mesh(box((500, 990, 100), (520, 1000, 105)), tmp_path / "ore.obj")
    return tmp_path


def run(text: str, *options: str, code: int = 0) -> Result:
    """Label a table that is written to blocks.csv."""
    Path("blocks.csv").write_text(text)
    arguments = ["label", "blocks.csv", *SOLID, "-o", "out.csv", "--overwrite", *options]
    return run_command(*arguments, code=code)


def labels() -> list[str]:
    return [row.rpartition(",")[2] for row in Path("out.csv").read_text().splitlines()[1:]]


# North turned to east: local (x, y) is world (500 + y, 1000 - x).
LOCAL = "X,Y,Z,DX,DY,DZ\n5,10,2.5,10,20,5\n10,5,2.5,10,20,5\n5,30,2.5,10,20,5\n-5,5,2.5,10,20,5\n"


def test_rotation_and_origin(folder: Path) -> None:
    where = ("--rotation", "z=90", "--origin", "500,1000,100")
    run(LOCAL, *where, "--background", "W")
    assert labels() == ["ORE", "ORE", "W", "W"]
    assert Path("out.csv").read_text().startswith("X,Y,Z,DX,DY,DZ,domain\n5,10,2.5,10,20,5,ORE\n")
    # Centroids (10, 20), (15, 15), (10, 40), (0, 15): in the world (510, 995), (505, 990) on the
    # wall in the south, which is inside, (530, 995), (505, 1005).
    run(LOCAL, *where, "--position", "corner", "--local-origin", "5,10,2.5")
    assert labels() == ["ORE", "ORE", "", ""]


def test_a_datamine_prototype(folder: Path) -> None:
    extra = ",XMORIG,YMORIG,ZMORIG,X0,Y0,Z0,ANGLE1,ROTAXIS1"
    head, *rows = LOCAL.replace("X,Y,Z,DX,DY,DZ", "XC,YC,ZC,XINC,YINC,ZINC").splitlines()
    text = "\n".join([head + extra, *(row + ",0,0,0,500,1000,100,90,3" for row in rows), ""])
    result = run(text, "--background", "W")
    assert labels() == ["ORE", "ORE", "W", "W"]
    assert "local to it, and are converted to world coordinates" in result.stderr


def test_volumes_are_those_of_the_blocks(folder: Path) -> None:
    result = run(LOCAL, "--rotation", "z=90", "--origin", "500,1000,100", "--json")
    assert '"volume": 2000.0' in result.stdout


MISUSED = {
    ("--rotation", "w=3"): "AXIS=DEGREES",
    ("--rotation", "z=30", "--origin", "1,2"): "three numbers",
    ("--rotation", "z=30"): "needs --origin",
    ("--origin", "1,2,3"): "need a --rotation",
    ("--position", "top"): "Invalid value",
}


@pytest.mark.parametrize("options", MISUSED, ids=" ".join)
def test_misuse(options: tuple[str, ...], folder: Path) -> None:
    result = run(LOCAL, *options, code=2)
    assert MISUSED[options] in result.stderr


def test_corners_of_a_lattice_give_the_labels_of_its_centroids(folder: Path) -> None:
    axes = [np.arange(495.0, 530, 2.5), np.arange(985.0, 1005, 2.5), np.arange(97.5, 110, 2.5)]
    points = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    found = []
    for shift, option in ((0.0, "centroid"), (1.25, "corner")):
        rows = "".join(f"{x},{y},{z},2.5,2.5,2.5\n" for x, y, z in points - shift)
        run("X,Y,Z,DX,DY,DZ\n" + rows, "--position", option)
        found.append(labels())
    assert found[0] == found[1] and {"ORE", ""} == set(found[0])


PROTOTYPE = "XC,YC,ZC,XMORIG,YMORIG,ZMORIG,X0,Y0,Z0,ANGLE1,ROTAXIS1,ANGLE2\n"


@pytest.mark.parametrize(
    ("first", "other", "column"),
    [
        ("0,0,0,500,1000,100,90,3,-", "0,0,0,500,1000,100,80,3,-", "ANGLE1 is 90"),
        ("0,0,0,500,1000,100,90,3,-", "0,0,0,501,1000,100,90,3,-", "X0 is 500"),
        ("0,0,0,500,1000,100,0,3,0", "0,0,0,500,1000,100,90,3,0", "ANGLE1 is 0"),
        ("0,0,0,500,1000,100,90,3,-", "0,0,0,500,1000,100,90,3,0", ""),
    ],
)
def test_a_model_that_another_one_follows(
    folder: Path, first: str, other: str, column: str
) -> None:
    rows = [f"5,10,2.5,{first}\n"] * 5000 + [f"5,10,2.5,{other}\n"]
    result = run(PROTOTYPE + "".join(rows), "--allow-disjoint", code=3 if column else 0)
    assert not column or f"{column} in the first blocks" in result.stderr
    assert not column or "in block 5001" in result.stderr
    assert Path("out.csv").exists() is not bool(column)
    if column:
        nulls = pyarrow.csv.ConvertOptions(null_values=["-"])
        table = pyarrow.csv.read_csv("blocks.csv", convert_options=nulls)
        pyarrow.parquet.write_table(table, "blocks.parquet")
        arguments = ["label", "blocks.parquet", *SOLID, "-o", "out.parquet"]
        found = CliRunner().invoke(main, arguments)
        assert found.exit_code == 3 and f"{column} in the first blocks" in found.stderr


def test_an_option_that_commands_share_is_declared_once() -> None:
    folder = Path(__file__).parents[2] / "cli"
    declared: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.py")):
        for flag in re.findall(r'option\(\s*(?:"-\w", )?"(--[a-z0-9-]+)"', path.read_text()):
            declared.setdefault(flag, []).append(path.name)
    assert declared["--output"] == declared["--json"] == declared["--weld"] == ["options.py"]
    assert {flag: places for flag, places in declared.items() if len(places) > 1} == {}


def test_the_label_column_has_two_names_in_every_command() -> None:
    named = {}
    for name in ("tonnes", "stats", "validate", "plot", "report", "compare", "shell", "diff"):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        named[name] = next(param.opts for param in command.params if param.name == "column")
    assert set(map(tuple, named.values())) == {("--column", "--domain")}
