"""Run commands; a block model and wireframes for the tests of `geodomain label`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from shapes import joined
from wireframes import box, cube, roofless

from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

BLOCKS = b"""X,Y,Z,DX,DY,DZ,AU\r
2.50,2.5,2.5,5,5,5,"1,2"\r
7.5,7.5,7.5,5,5,5,\r
12.5,12.5,12.5,5,5,5,x\r
\r
99,99,99,5,5,5,2.70\r
,1,1,5,5,5,0"""


LABELLED = b"""X,Y,Z,DX,DY,DZ,AU,domain\r
2.50,2.5,2.5,5,5,5,"1,2",ORE\r
7.5,7.5,7.5,5,5,5,,ORE\r
12.5,12.5,12.5,5,5,5,x,HALO\r
\r
99,99,99,5,5,5,2.70,\r
,1,1,5,5,5,0,"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a block model and some wireframes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_bytes(BLOCKS)
    write_mesh(cube(), tmp_path / "ORE.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "halo.obj")
    write_mesh(roofless(), tmp_path / "open.obj")
    write_mesh(box((900, 900, 900), (910, 910, 910)), tmp_path / "far.obj")
    write_mesh(joined(cube(), box((5, 5, 5), (15, 15, 15))), tmp_path / "shells.obj")
    return tmp_path


def run_command(*words: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run a command of `geodomain`, require its exit code, and raise what is a bug."""
    result = CliRunner().invoke(main, words, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run(*arguments: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run `geodomain label`."""
    return run_command("label", *arguments, code=code, stdin=stdin)


BOTH = ("--solid", "ORE.obj", "--solid", "HALO=halo.obj")
