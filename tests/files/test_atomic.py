"""A file is there whole or not at all, at whatever step the run is killed."""

import os
import subprocess
import sys

import pytest

from geodomain.files.outputs import AtomicFile

NEW = b"new\n" * 50_000

# Kills a child at every step that the interpreter takes, one child to a step.
PROGRAM = """
import os, signal, sys
from pathlib import Path
from geodomain.files import outputs

out, new = Path(sys.argv[1]), b"new\\n" * 50_000
if sys.argv[2] == "named":
    outputs._open_nameless = lambda folder: -1

def run(last_step):
    steps = 0
    def step(frame, event, argument):
        nonlocal steps
        steps += 1
        if steps == last_step:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(step)
    file = outputs.AtomicFile(out)
    file.write(memoryview(new)[:70_000])
    file.write(memoryview(new)[70_000:])
    file.commit()
    sys.setprofile(None)

for last_step in range(1, 10_000):
    out.write_bytes(b"old")
    child = os.fork()
    if child == 0:
        run(last_step)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    content = out.read_bytes()
    print({b"old": "old", new: "new"}.get(content, "broken"))
    if status == 0:
        break
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
@pytest.mark.parametrize("kind", ["nameless", "named"])
def test_killed_at_every_step_leaves_the_old_or_the_new(tmp_path, kind):
    out = tmp_path / "out.csv"
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(out), kind], capture_output=True, text=True, check=True
    )
    states = run.stdout.split()
    assert set(states) == {"old", "new"}
    assert states == sorted(states, reverse=True)  # old until the rename, then new
    assert len(states) > 30


def test_gives_up_without_a_trace(tmp_path):
    file = AtomicFile(tmp_path / "out.csv")
    file.write(memoryview(NEW))
    file.abandon()
    file.abandon()
    assert list(tmp_path.iterdir()) == []


def test_commits_once(tmp_path):
    file = AtomicFile(tmp_path / "out.csv")
    file.write(memoryview(NEW))
    file.commit()
    file.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_bytes() == NEW
