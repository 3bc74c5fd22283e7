"""What a command says besides its result."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.testing import CliRunner
from wireframes import box

from geodomain.cli import Commands, main
from geodomain.cli.console import Console
from geodomain.errors import GeodomainWarning, MeshError
from geodomain.formats.wireframes import write_mesh


def test_a_warning_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=False)
    with console.listening():
        for _ in range(2):
            warnings.warn("ore.stl\nis odd", GeodomainWarning, stacklevel=1)
    console.warn("ore.stl is odd")
    assert capsys.readouterr().err == "warning: ore.stl is odd\n"
    assert console.warnings == ["ore.stl is odd"]


def test_quiet_keeps_warnings_for_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)
    with console.listening():
        warnings.warn("odd", GeodomainWarning, stacklevel=1)
    assert (capsys.readouterr().err, console.warnings) == ("", ["odd"])


def test_other_warnings_stay_what_they_are() -> None:
    with pytest.warns(DeprecationWarning, match="old"), Console(quiet=False).listening():
        warnings.warn("old", DeprecationWarning, stacklevel=1)


TORN = MeshError("ore.stl is torn")
# Geodomain's commands, with one that warns and then ends in a way of its own.
ENDS = {
    "well": (lambda: None, 0, ["result", "warning: odd"]),
    "not fit": (lambda: sys.exit(3), 3, ["result", "warning: odd"]),
    "bad data": (
        lambda: fail(TORN),
        3,
        ["result", "error: ore.stl is torn"],
    ),
    "misuse": (lambda: fail(click.UsageError("no")), 2, ["result", "Usage: ", "Try ", "Error: no"]),
}


def fail(error: Exception) -> NoReturn:
    raise error


@pytest.mark.parametrize(("end", "code", "said"), ENDS.values(), ids=ENDS)
def test_warnings_come_after_the_result_and_hide_no_error(
    end: Callable[[], None], code: int, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command
    def warns() -> None:
        console = Console(quiet=False)
        with console.listening():
            warnings.warn("odd", GeodomainWarning, stacklevel=1)
        console.say("result")
        end()

    monkeypatch.setattr(Commands, "get_command", lambda *_: warns)
    done = CliRunner().invoke(main, ["check"])
    assert done.exit_code == code
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == len(said)
    assert all(line.startswith(start) for line, start in zip(lines, said, strict=True))


def test_a_failed_run_says_its_error_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command
    def fails() -> None:
        with Console(quiet=False).listening():
            warnings.warn("odd", GeodomainWarning, stacklevel=1)
            fail(TORN)

    monkeypatch.setattr(Commands, "get_command", lambda *_: fails)
    done = CliRunner().invoke(main, ["check"])
    assert (done.exit_code, done.stderr) == (3, "error: ore.stl is torn\n")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "words", [["inspect", "{}", "--json"], ["compare", "{}", "{}"], ["tonnes", "{}", "--density=1"]]
)
def test_a_command_does_not_print_into_its_input(
    tmp_path: Path, words: list[str], stream: str
) -> None:
    path = tmp_path / "b.csv"
    path.write_text("X,Y,Z,DX,DY,DZ,domain\n1,1,1,2,2,2,A\n", "ascii")
    before = path.read_bytes()
    command = [sys.executable, "-m", "geodomain", *(word.format(path) for word in words)]
    with path.open("ab") as file:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: file}
        done = subprocess.run(command, check=False, **streams)
    after = path.read_bytes()
    assert done.returncode == 4 and after == before
    said = (done.stderr or b"") + (done.stdout or b"")
    name = {"stdout": b"standard output", "stderr": b"standard error"}[stream]
    assert name + b" is the input file " in said


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_command_does_not_print_into_what_its_list_of_domains_names(
    tmp_path: Path, quote: str
) -> None:
    (tmp_path / "b.csv").write_text("X,Y,Z\n1,1,1\n", "ascii")
    (tmp_path / "in").mkdir()
    mesh = tmp_path / "in" / "ore.obj"
    write_mesh(box((0, 0, 0), (2, 2, 2)), mesh)
    listed = tmp_path / "in" / "domains.toml"
    listed.write_text(f"[[domain]]\nname = 'ORE'\nmesh = {quote}ore.obj{quote}\n", "ascii")
    before = mesh.read_bytes()
    words = ["label", "b.csv", "--domains", "in/domains.toml", "-o", "-"]
    with mesh.open("ab") as file:
        done = subprocess.run(
            [sys.executable, "-m", "geodomain", *words],
            check=False,
            cwd=tmp_path,
            stdout=file,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 4 and mesh.read_bytes() == before
    assert b"standard output is the input file in/ore.obj" in done.stderr


@pytest.mark.parametrize("words", [["inspect", "-"], ["tonnes", "-", "--density=1"]])
def test_a_command_does_not_print_into_its_standard_input(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "b.csv"
    path.write_text("X,Y,Z,DX,DY,DZ,domain\n1,1,1,2,2,2,A\n", "ascii")
    before = path.read_bytes()
    command = [sys.executable, "-m", "geodomain", *words]
    with path.open("rb") as source, path.open("ab") as file:
        done = subprocess.run(
            command, check=False, stdin=source, stdout=file, stderr=subprocess.PIPE
        )
    assert done.returncode == 4 and path.read_bytes() == before
    assert b"standard output is the input file standard input" in done.stderr
