"""The command `geodomain bench`: what it prints, and the pictures that it may draw."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from geodomain.cli import main

SMALL = ("--triangles", "200", "--rays", "200", "--repeat", "1")

pytestmark = pytest.mark.filterwarnings("default")  # of other libraries


def run(*options: str) -> Result:
    return CliRunner().invoke(main, ["bench", *options])


def test_tables_go_to_stdout_alone() -> None:
    result = run(*SMALL)
    assert result.exit_code == 0, result.output
    assert "Table 1" in result.stdout
    assert "geodomain bvh (cpu)" in result.stdout
    assert result.stderr == ""


@pytest.mark.full
def test_json_and_a_chart(tmp_path: Path) -> None:
    result = run(*SMALL, "--json", "--seed", "3", "--chart", str(tmp_path / "chart.png"))
    told = json.loads(result.stdout)
    assert told["setting"]["seed"] == 3
    assert {each["name"] for each in told["peers"]} >= {"PyVista ray_trace", "VTK OBBTree"}
    assert (tmp_path / "chart.png").stat().st_size > 10_000


@pytest.mark.full
def test_pictures_that_are_there_are_kept(tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_text("mine")
    result = run(*SMALL, "--chart", str(tmp_path / "chart.png"))
    assert (result.exit_code, "already exists" in result.stderr) == (4, True)
    assert (tmp_path / "chart.png").read_text() == "mine"
    assert run(*SMALL, "-q", "--chart", str(tmp_path / "chart.png"), "--overwrite").output == ""
    assert run(*SMALL, "--chart", str(tmp_path / "no" / "chart.png")).exit_code == 4
    assert run(*SMALL, "--chart", str(tmp_path / "chart.doc")).exit_code == 2
    result = run(*SMALL, "--tree", "0", str(tmp_path / "tree.pdf"))
    assert (result.exit_code, "must end in .png" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("library", "options"), [("matplotlib", ("--chart",)), ("pyvista", ("--tree", "0"))]
)
def test_a_picture_that_cannot_be_drawn_is_refused_at_once(
    library: str, options: tuple[str, ...], monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("geodomain.benching.running.make_scene", lambda *_: pytest.fail("began"))
    result = run(*SMALL, *options, str(tmp_path / "picture.png"))
    assert (result.exit_code, f"pip install {library}" in result.stderr) == (2, True)


@pytest.mark.full
def test_a_level_of_the_hierarchy_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "tree.png"
    command = [sys.executable, "-m", "geodomain", "bench", *SMALL, "-q", "--tree", "0", picture]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode < 0:
        pytest.skip("VTK cannot draw here: neither a display nor EGL")
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_level_that_is_not_there_is_a_slip_of_the_user(tmp_path: Path) -> None:
    result = run(*SMALL, "--tree", "99", str(tmp_path / "tree.png"))
    assert (result.exit_code, "no level 99" in result.stderr) == (2, True)
