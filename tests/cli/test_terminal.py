"""What comes from files is shown by a terminal, and never obeyed by it."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from wireframes import cube

import geodomain
from geodomain.cli import main
from geodomain.errors import visible
from geodomain.result_tables import text_table

# A colour, the title of a window, a bell, a line of its own, a mark that turns the writing.
EVIL = "O\x1b[31mR\x1b]0;mine\x07E\nerror: forged\r\x9b2J\u202e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(cube(), "ore.ply")
    rows = [(x + 0.5, 1, 1, 1, 1, 1, EVIL if x < 5 else "W") for x in range(900)]
    for name, ore in (("b.csv", EVIL), ("c.csv", EVIL[::-1].replace("\n", "\v"))):
        with Path(name).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["X", "Y", "Z", "DX", "DY", "DZ", "domain"])
            table.writerows([*row[:6], ore if row[6] == EVIL else "W"] for row in rows)
    return tmp_path


def clean(*arguments: str, code: int = 0) -> str:
    """Run a command, and return what it prints, which a terminal does not obey."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == code, done.output
    assert not OBEYED.search(done.stdout + done.stderr), (arguments, done.output)
    assert not any(line.startswith("error: forged") for line in done.output.splitlines())
    return done.stdout + done.stderr


def test_labels_of_tables(folder: Path) -> None:
    said = clean("tonnes", "b.csv", "--density", "2")
    assert r"O\x1b[31mR\x1b]0;mine\x07E\nerror: forged\r" in said
    clean("tonnes", "b.csv", "--density", "2", "--json")
    clean("compare", "b.csv", "c.csv")
    clean("inspect", "b.csv")
    clean("tonnes", "b.csv", "--density", "2", "--grade", EVIL, code=3)
    # Data are not changed.
    with Path("b.csv").open(newline="", encoding="utf-8") as file:
        assert {row["domain"] for row in csv.DictReader(file)} == {EVIL, "W"}


@pytest.mark.skipif(os.name == "nt", reason="such names are POSIX's")
def test_names_of_files(folder: Path) -> None:
    evil = EVIL.replace("/", "")
    Path("ore.ply").rename(f"{evil}.ply")
    said = clean("check", f"{evil}.ply")
    assert "error: forged" not in said.splitlines()
    label = ["label", "b.csv", "--solid", f"ORE={evil}.ply", "--column", "new"]
    assert r"\x1b[31m" in clean(*label, "-o", f"{evil}.csv")
    assert Path(f"{evil}.csv").exists()
    clean(*label, "-o", f"{evil}.csv", code=4)
    clean("check", f"{evil}.none", code=4)
    clean(f"no{evil}", code=2)
    clean("label", "b.csv", "--solid", f"={evil}", "-o", "x.csv", code=2)
    clean("convert", f"{evil}.ply", f"{evil}.dxf")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_path_that_is_no_text(folder: Path) -> None:
    Path("ore.ply").rename(os.fsdecode(b"ore\xff.ply"))
    for command in (["check", b"ore\xff.ply"], ["check", b"no\xff.ply"]):
        done = subprocess.run(
            [sys.executable, "-m", "geodomain", *command], capture_output=True, check=False
        )
        assert done.returncode in (0, 4) and b"Traceback" not in done.stderr, done.stderr


def test_warnings_and_notes_of_the_library(folder: Path) -> None:
    corners = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], float)
    mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    geodomain.write_mesh(mesh, "away.obj")
    Path("d.toml").write_text(
        '[[domain]]\nname = "O\\u001b[31mRE"\nmesh = "away.obj"\n', encoding="utf-8"
    )
    done = CliRunner().invoke(main, ["label", "b.csv", "--domains", "d.toml", "--dry-run"])
    assert not OBEYED.search(done.stdout + done.stderr)


def test_visible_keeps_what_can_be_read() -> None:
    assert visible("Größe 3 m², 鉱床\t") == "Größe 3 m², 鉱床\\t"
    assert visible("a\nb\tc\rd", lines=True) == "a\nb\tc\\rd"
    assert visible("\ud800") == "\\ud800"
    assert text_table([["a\nb", "1"], ["c", "22"]]) == ["a\\nb   1", "c     22"]
