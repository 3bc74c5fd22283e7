"""The commands `geodomain subblock` and `geodomain merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from wireframes import box

from geodomain import write_mesh
from geodomain.cli import main

_BLOCKS = "X,Y,Z,DX,DY,DZ,T\n5,5,5,10,10,10,8\n15,5,5,10,10,10,8\n"
_SPLIT = (
    "subblock",
    "blocks.csv",
    "--solid",
    "ORE=ore.ply",
    "--scheme",
    "octree",
    "--minimum",
    "5",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside two blocks and a solid that has one half of the first."""
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (10, 10, 5)), tmp_path / "ore.ply")
    (tmp_path / "blocks.csv").write_text(_BLOCKS)
    return tmp_path


def run(*arguments: str, code: int = 0, text: str | None = None) -> Result:
    result = CliRunner().invoke(main, arguments, input=text)
    assert result.exit_code == code, result.output
    return result


def test_split_and_join(folder: Path) -> None:
    said = run(*_SPLIT, "--extensive", "T", "--background", "W", "-o", "sub.csv").stderr
    assert "2 blocks, of which 1 split by octree: 9 sub-blocks" in said
    rows = Path("sub.csv").read_text().splitlines()
    assert rows[0] == "X,Y,Z,DX,DY,DZ,T,parent,domain"
    assert rows[1] == "2.5,2.5,2.5,5,5,5,1,0,ORE"
    assert rows[9] == "15,5,5,10,10,10,8,1,W"
    said = run("merge", "sub.csv", "--extensive", "T", "-o", "merged.csv").stderr
    assert said.startswith("9 blocks of 2 parents joined into 3 in ")
    assert Path("merged.csv").read_text().splitlines()[1:] == [
        "5.0,5.0,2.5,10,10,5,4,0,ORE",
        "5.0,5.0,7.5,10,10,5,4,0,W",
        rows[9],
    ]
    run(*_SPLIT, "--extensive", "T", "--background", "W", "--merge", "-o", "both.csv")
    assert len(Path("both.csv").read_text().splitlines()) == 4


def test_pipes_and_json(folder: Path) -> None:
    result = run("subblock", "-", *_SPLIT[2:], "-o", "-", "--json", text=_BLOCKS)
    assert json.loads(result.stderr)["subblocks"] == 9
    merged = run("merge", "-", "-o", "-", "--json", "--extensive", "T", text=result.stdout)
    assert json.loads(merged.stderr) | {"seconds": 0} == {
        "parents": 2, "before": 9, "after": 3, "seconds": 0, "output": "-", "warnings": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--minimum", "0"), "--minimum is '0'; give one size, or three"),
        (("--minimum", "1,2"), "give one size, or three, DX,DY,DZ"),
        (("--resolution", "4"), "--resolution is 4, but the smallest size is 5"),
        (("--resolution", "x"), "--resolution is 'x'; it must be above zero"),
        (("--leaky", "L"), "--leaky needs --allow-open"),
        (("--parent", ""), "--parent needs the name of a column"),
    ],
)
def test_slips_end_with_code_2(folder: Path, options: tuple[str, ...], said: str) -> None:
    assert said in run(*_SPLIT, *options, "-o", "sub.csv", code=2).output
    assert not Path("sub.csv").exists()


def test_bad_input_ends_with_code_3(folder: Path) -> None:
    assert "--parent" in run("merge", "blocks.csv", "-o", "m.csv", code=3).output
    Path("blocks.csv").write_text("X,Y,Z\n5,5,5\n")
    assert "--dx" in run(*_SPLIT, "-o", "sub.csv", code=3).output
    assert {path.name for path in folder.iterdir()} == {"blocks.csv", "ore.ply"}


def test_negative_amounts_are_told_and_may_be_declared(folder: Path) -> None:
    (folder / "blocks.csv").write_text(_BLOCKS.replace("10,8\n15", "10,-99\n15"))
    said = run(*_SPLIT, "--extensive", "T", "-o", "sub.csv").stderr
    assert "T is negative in 1 of the blocks, the first in block 1 (-99.0 in 1)" in said
    assert "use --missing T=-99.0" in said
    assert "below" not in said
    said = run("merge", "sub.csv", "--extensive", "T", "-o", "all.csv").stderr
    assert "T is negative in 8 of the blocks, the first in block 1" in said
    declared = ("--missing", "T=-99", "--missing", "T=-12.375")
    for command in (_SPLIT, ("merge", "sub.csv")):
        said = run(*command, "--extensive", "T", *declared, "-o", "all.csv", "--overwrite").stderr
        assert "negative" not in said
