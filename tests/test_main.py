"""The program ends quietly on a signal, whenever it comes, with 128 and the signal's number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")

SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Sends itself a signal when a module begins to be imported, or when click makes its context.
PROGRAM = """
import os, sys
number, where = int(sys.argv.pop(1)), sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            os.kill(os.getpid(), number)

if where == "context":
    import click
    make = click.Context.__init__
    def init(self, *args, **kwargs):
        os.kill(os.getpid(), number)
        make(self, *args, **kwargs)
    click.Context.__init__ = init
from geodomain.__main__ import run
sys.meta_path.insert(0, Finder())
run()
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("where", ["geodomain.cli", "click", "context", "geodomain.cli.wireframes"])
def test_a_signal_ends_it_quietly(number: int, where: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number)), where, "check", "none.ply"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (128 + number, "", "")


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_it_works_leaves_nothing(number: int, tmp_path: Path) -> None:
    """Standard input that does not end keeps the command at work."""
    (tmp_path / "ore.obj").write_text(
        "v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    arguments = ["label", "-", "--solid", "ORE=ore.obj", "-o", "out.csv"]
    run = subprocess.Popen(
        [sys.executable, "-m", "geodomain", *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert run.stdin is not None and run.stderr is not None
    run.stdin.write(b"x,y,z\n" + b"1,1,1\n" * 1_000_000)
    run.stdin.flush()
    time.sleep(0.5)
    run.send_signal(number)
    assert run.wait(timeout=60) == 128 + number
    assert run.stderr.read() == b""
    run.stdin.close()
    run.stderr.close()
    assert [path.name for path in tmp_path.iterdir()] == ["ore.obj"]


# Counts the threads that NumPy starts when the program imports it, as a command would.
COUNTING = """
import os, sys
from geodomain.__main__ import run
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
sys.argv[1:] = ["--help"]
try:
    run()
except SystemExit:
    import numpy
    print(threads() - before, os.environ["OPENBLAS_NUM_THREADS"])
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
@pytest.mark.parametrize("chosen", [None, "2"])
def test_numpy_starts_no_threads_unless_told_to(chosen: str | None) -> None:
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    run = subprocess.run(
        [sys.executable, "-c", COUNTING],
        capture_output=True,
        text=True,
        env=given if chosen is None else given | {"OPENBLAS_NUM_THREADS": chosen},
    )
    threads, said = run.stdout.splitlines()[-1].split()
    assert said == (chosen or "1")
    assert chosen or threads == "0"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("called", "quiet"), [("/usr/bin/geodomain", True), ("/home/me/script.py", False)]
)
def test_an_interrupt_is_quiet_from_the_first_line_of_the_program_alone(
    called: str, quiet: bool
) -> None:
    """A script that imports geodomain keeps the KeyboardInterrupt of Python."""
    program = f"import sys; sys.argv = [{called!r}]; import geodomain, os; os.kill(os.getpid(), 2)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == -signal.SIGINT
    assert ("Traceback" in run.stderr) is not quiet
