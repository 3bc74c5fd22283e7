"""A run that is killed while it splits or joins blocks leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from wireframes import box

import geodomain

ROWS = 400_000
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def has_written(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Tell whether a process has bytes in a file in a folder, with or without a name."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if str(link.readlink()).startswith(f"{folder}/") and link.stat().st_size:
                return True
        except OSError:
            continue
    return False


@LINUX
@pytest.mark.parametrize("command", ["subblock", "merge"])
def test_nothing_is_left(command: str, tmp_path: Path) -> None:
    """The model comes through a pipe that does not end, so that the run is always at work."""
    geodomain.write_mesh(box((0, 0, 0), (3, 3, 3)), tmp_path / "ore.ply")
    folder = tmp_path / "out"
    folder.mkdir()
    options = [command, "-", "-o", str(folder / "o.csv")]
    if command == "subblock":
        options += ["--solid", f"ORE={tmp_path / 'ore.ply'}", "--scheme", "grid", "--minimum", "2"]
    name = "row" if command == "subblock" else "parent"
    rows = "".join(f"{4 * i + 2},2,2,4,4,4,{i}\n" for i in range(ROWS))
    with subprocess.Popen(
        [sys.executable, "-m", "geodomain", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(f"X,Y,Z,DX,DY,DZ,{name}\n{rows}".encode())
        process.stdin.flush()
        end = time.monotonic() + 60
        while not has_written(process, folder) and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.02)
        assert has_written(process, folder)
        process.kill()
        process.stdin.close()
    assert not list(folder.iterdir())
