"""Small jobs, whole processes: what starting costs before there is any work.

pytest tests/benchmarks/test_start.py

100,000 blocks in a solid of 1,280 triangles, beside Python that imports NumPy and ends. Bytecode
is kept from the warm-up on, as it is where a package is installed.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from geodomain import contains, synthetic, write_mesh

ROWS = 100_000
GROUP = f"processes, {ROWS:,} rows"
PROGRAMS = {"NumPy": "import numpy", "the library": "import geodomain"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """Return a folder with a model and a solid, and which blocks are in it."""
    folder, mesh = tmp_path_factory.mktemp("start"), synthetic.star_shaped_orebody(8)
    low, high = mesh.bounds
    points = np.random.default_rng(0).uniform(low, high, (ROWS, 3)).round(2)
    np.savetxt(folder / "model.csv", points, "%.2f", ",", header="X,Y,Z", comments="")
    write_mesh(mesh, folder / "ore.ply")
    return folder, contains(mesh, points)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Return what runs a program in a process of its own."""
    kept = {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode"))}
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def process(program: str, *arguments: object) -> None:
        command = [sys.executable, "-P", "-c", program, *map(str, arguments)]
        subprocess.run(command, check=True, env=given | kept)

    return process


@pytest.mark.parametrize("name", PROGRAMS)
def test_import(name: str, run, timed) -> None:
    timed(GROUP, lambda: run(PROGRAMS[name]), "NumPy" if name == "NumPy" else "geodomain")


def test_label(scene: tuple[Path, np.ndarray], run, timed, wrong) -> None:
    folder, inside = scene
    given = [folder / "model.csv", f"--solid=ORE={folder / 'ore.ply'}", "-o", folder / "out.csv"]
    program = "from geodomain.__main__ import run; run()"
    timed(GROUP, lambda: run(program, "label", *given, "--overwrite", "--quiet"))
    with (folder / "out.csv").open(newline="") as file:
        labels = [row[-1] for row in csv.reader(file)][1:]
    assert wrong(np.array(labels) == "ORE", inside) == 0
