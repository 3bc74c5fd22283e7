"""The command `geodomain demo`: its files, what it says, and what it refuses to touch."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from geodomain import read_mesh, synthetic
from geodomain.cli import main
from geodomain.synthetic import files

MODELS = (files.REGULAR, files.SUBBLOCKED)


@pytest.fixture(scope="module", autouse=True)
def tiny() -> Iterator[None]:
    """Make the demo quick: the same deposit with fewer blocks."""
    patch = pytest.MonkeyPatch()
    make, small = synthetic.deposit, synthetic.deposit("tiny")
    patch.setattr(synthetic, "deposit", lambda size="tiny": small if size == "tiny" else make(size))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("demo") / "new folder"
    return folder, run(str(folder))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["demo", *arguments])


def test_it_makes_all_the_files(made: tuple[Path, Result]) -> None:
    folder, result = made
    assert result.exit_code == 0, result.output
    labelled = (f"labelled_{model}" for model in MODELS)
    expected = {*files.file_names(), *labelled, "run.json", "report.html"}
    assert {path.name for path in folder.iterdir()} == expected


def test_wireframes_come_back_to_the_bit(made: tuple[Path, Result]) -> None:
    folder, _ = made
    for name, mesh in synthetic.deposit("tiny").solids.items():
        again = read_mesh(folder / (name + files.SUFFIXES[name]))
        assert (again.vertices[again.triangles] == mesh.vertices[mesh.triangles]).all()


@pytest.mark.parametrize("model", MODELS)
def test_models_gain_one_column_and_nothing_else(made: tuple[Path, Result], model: str) -> None:
    folder, _ = made
    before = (folder / model).read_bytes().splitlines()
    after = (folder / f"labelled_{model}").read_bytes().splitlines()
    assert len(before) == len(after)
    assert all(new.rpartition(b",")[0] == old for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_labels_agree_with_the_volumes_of_the_wireframes(
    made: tuple[Path, Result], model: str
) -> None:
    with (made[0] / f"labelled_{model}").open(newline="") as file:
        rows = list(csv.DictReader(file))
    volume: Counter[str] = Counter()
    for row in rows:
        volume[row["domain"]] += float(row["XINC"]) * float(row["YINC"]) * float(row["ZINC"])
    assert set(volume) == {"DYKE", "ORE", "OXIDE", "WASTE"}
    oxide = synthetic.deposit("tiny").solids["oxide"]
    a, b, c = (oxide.vertices - oxide.bounds[0])[oxide.triangles.T]
    assert volume["OXIDE"] == pytest.approx((a * np.cross(b, c)).sum() / 6, rel=0.1)


def test_the_command_it_shows_can_be_copied(made: tuple[Path, Result]) -> None:
    folder, result = made
    commands = [line for line in result.stderr.splitlines() if line.startswith("geodomain label")]
    assert len(commands) == 2
    for model, command in zip(MODELS, commands, strict=True):
        target = folder / f"labelled_{model}"
        before = target.read_bytes()
        target.unlink()
        again = CliRunner().invoke(main, shlex.split(command)[1:])
        assert again.exit_code == 0, again.output
        assert target.read_bytes() == before


@pytest.mark.full
def test_it_ends_with_a_report_of_the_model_and_its_holes(made: tuple[Path, Result]) -> None:
    folder, result = made
    (command,) = (
        line for line in result.stderr.splitlines() if line.startswith("geodomain report")
    )
    assert f"wrote {folder / 'report.html'}" in result.stderr
    page = folder / "report.html"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    again = CliRunner().invoke(main, shlex.split(command)[1:])
    assert again.exit_code == 0, again.output
    text = page.read_text(encoding="utf-8")
    for part in ("Tonnes and grade", "DH001", "A deposit that was never mined"):
        assert part in text and part in before


def test_it_says_nothing_on_stdout(made: tuple[Path, Result]) -> None:
    assert made[1].stdout == ""
    assert "blocks" in made[1].stderr


@pytest.mark.full
def test_quiet_is_quiet(tmp_path: Path) -> None:
    result = run(str(tmp_path / "demo"), "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.full
@pytest.mark.parametrize("name", ["oxide.obj", "labelled_regular.csv", "report.html"])
def test_it_replaces_nothing_unasked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = run(str(tmp_path))
    assert result.exit_code == 4
    assert f"{name} already exists" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert run(str(tmp_path), "--overwrite", "--quiet").exit_code == 0
    assert (tmp_path / name).read_text() != "mine"


def test_a_file_in_the_place_of_the_folder_is_a_slip_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(str(tmp_path / "file")).exit_code == 2


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_disk_that_is_too_small_is_left_as_it_was(tmp_path: Path) -> None:
    """In a folder that is new, and in one with files of somebody else."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    program = limit + "from geodomain.__main__ import run; run()"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes.txt").write_text("mine")
    for name, left in (("new", []), ("old", ["notes.txt"])):
        done = subprocess.run(
            [sys.executable, "-c", program, "demo", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 4, done.stderr
        assert [path.name for path in tmp_path.glob(f"{name}/*")] == left
    assert not (tmp_path / "new").exists()
