"""OMF 2 is read without Arrow's threads, which may abort a process that ends soon after."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from late import needs

import geodomain
from geodomain import Mesh

pytestmark = needs("pyarrow")

# A few numbers to each thread are enough: Arrow starts them for the columns of a file.
PROGRAM = """
import os, sys
import pyarrow.parquet
import geodomain
before = set(os.listdir("/proc/self/task"))
geodomain.read_mesh(sys.argv[1])
print(len(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system lists no threads")
def test_no_thread_is_started(tmp_path: Path) -> None:
    corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    place = tmp_path / "a.omf"
    geodomain.write_mesh(Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), place)
    command = [sys.executable, "-c", PROGRAM, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
