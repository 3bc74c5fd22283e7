"""`geodomain label` as a process: pipes, devices, closed streams, terminals, what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from label_command import BLOCKS, BOTH, LABELLED, folder

from geodomain.cli import main

__all__ = ["folder"]


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run geodomain as a process of its own."""
    command = [sys.executable, "-m", "geodomain", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_works_everywhere_and_ends_in_an_example() -> None:
    for arguments in (["-h"], ["label", "-h"], ["label", "--help"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-2].strip() == "Example:"
        assert result.stdout.splitlines()[-1].strip().startswith("geodomain ")
    assert "130" in CliRunner().invoke(main, ["label", "-h"]).stdout


def test_pipes_between_processes(folder: Path) -> None:
    done = process("label", "-", *BOTH, "-o", "-", input=BLOCKS)
    assert (done.returncode, done.stdout) == (0, LABELLED)
    assert b"5 rows" in done.stderr


def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    (folder / "b.csv").write_bytes(b"X,Y,Z\n" + b"1,2,3\n" * 200_000)
    command = [sys.executable, "-m", "geodomain", "label", "b.csv", *BOTH, "-o", "-", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        said = running.stderr.read()
    assert (said, running.returncode) == (b"", 0)


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals on Windows")
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_only(folder: Path, quiet: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "geodomain", "label", "b.csv", *BOTH, "-o", "out.csv"]
    done = subprocess.run(command + ["-q"] * quiet, stderr=follower, check=False)
    os.close(follower)
    # An empty read, or an error on Linux, is the end of what was said.
    os.set_blocking(leader, False)
    try:
        said = os.read(leader, 1 << 16)
    except OSError:
        said = b""
    os.close(leader)
    assert (done.returncode, b"labelling 100%" in said) == (0, not quiet)
    assert b"labelling" not in process("label", "b.csv", *BOTH, "-o", "two.csv").stderr


def test_heavy_packages_stay_out(folder: Path) -> None:
    code = (
        "import sys; from geodomain.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "heavy = {'pandas', 'pyvista', 'vtk', 'pycuda', 'scipy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    arguments = ["label", "b.csv", *BOTH, "-o", "out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_help_does_not_load_numpy() -> None:
    code = (
        "import sys; from geodomain.cli import main\n"
        "main(['-h'], standalone_mode=False)\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def start(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in which the word geodomain is the command of this Python."""
    line = " ".join(words).replace("geodomain", f"{sys.executable} -m geodomain", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=60)


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_end_in_a_word_and_no_traceback(folder: Path) -> None:
    done = start("geodomain label b.csv --solid ORE.obj -o - >&-")
    assert done.returncode == 4 and done.stderr == b"error: standard output: it is closed\n"
    done = start("geodomain label - --solid ORE.obj -o out.csv <&-")
    assert done.returncode == 4 and done.stderr == b"error: standard input: it is closed\n"
    assert not (folder / "out.csv").exists()
    assert start("geodomain label b.csv --solid ORE.obj -o out.csv 2>&-").returncode == 0
    assert (folder / "out.csv").exists()


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_outputs_and_say_their_name(folder: Path) -> None:
    done = start("geodomain label b.csv --solid ORE.obj -o /dev/stdout --quiet | cat")
    assert done.stdout.startswith(b"X,Y,Z,DX,DY,DZ,AU,domain") and not done.stderr
    done = start("geodomain label b.csv --solid ORE.obj -o /dev/full")
    assert done.returncode == 4 and done.stderr.startswith(b"error: /dev/full: No space")
