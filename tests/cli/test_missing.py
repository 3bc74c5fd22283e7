"""With NumPy and Click alone wireframes and CSV work; what needs more says so in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from geodomain import synthetic
from geodomain.cli.console import mend_missing
from geodomain.synthetic.files import write_deposit

# Other libraries are as if they were not installed.
BARE = """
import sys

class Only:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in {*sys.stdlib_module_names, *ALLOWED} or top.startswith("_")
        return self.finder.find_spec(name, path, target) if known else None

    def find_distributions(self, *context):
        return getattr(self.finder, "find_distributions", lambda *_: ())(*context)

sys.meta_path[:] = [Only(finder) for finder in sys.meta_path if hasattr(finder, "find_spec")]
"""
COMMAND = "from geodomain.__main__ import run; run()"


def bare(
    script: str, folder: Path, *arguments: str, also: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    allowed = {"numpy", "click", "geodomain", "colorama", *also}
    text = f"ALLOWED = {allowed!r}\n{BARE}\n{script}"
    return subprocess.run(
        [sys.executable, "-P", "-c", text, *arguments], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small deposit, and a wireframe of it in each format."""
    folder = tmp_path_factory.mktemp("bare")
    write_deposit(synthetic.deposit("tiny"), folder)
    script = """
from geodomain import read_mesh, write_mesh
for ending in ("stl", "ply", "obj", "off"):
    write_mesh(read_mesh("dyke.ply"), f"solid.{ending}")
"""
    done = bare(script, folder)
    assert done.returncode == 0, done.stderr
    (folder / "blocks.parquet").touch()
    (folder / "blocks.vtu").touch()
    (folder / "solid.vtp").write_text(
        '<?xml version="1.0"?>\n<VTKFile type="PolyData">\n</VTKFile>\n'
    )
    (folder / "relief.tif").write_bytes(b"II*\0\x08" + bytes(9))
    for kind in ("csv", "parquet"):
        (folder / f"{kind}_parts").mkdir()
    (folder / "csv_parts" / "a.csv").write_text("x,y,z\n1,2,3\n")
    (folder / "parquet_parts" / "a.parquet").touch()
    return folder


@pytest.mark.full
@pytest.mark.parametrize("ending", ["stl", "ply", "obj", "off"])
def test_a_csv_is_labelled(ending: str, folder: Path) -> None:
    output = f"{ending}.csv"
    arguments = ("label", "regular.csv", "--solid", f"DYKE=solid.{ending}", "-o", output)
    done = bare(COMMAND, folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert ",DYKE" in (folder / output).read_text()


def test_arrays_are_labelled(folder: Path) -> None:
    script = """
import numpy as np
import geodomain
mesh = geodomain.read_mesh("solid.stl")
middle = (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))[None] / 2
assert geodomain.label_points(middle - 1e6, {"ORE": mesh}, background="W").tolist() == ["W"]
"""
    done = bare(script, folder)
    assert done.returncode == 0, done.stderr


SAID = {
    "label blocks.parquet --solid A=solid.stl -o out.parquet": "pip install 'geodomain[parquet]'",
    "label blocks.vtu --solid A=solid.stl -o out.vtu": "pip install pyvista",
    "check relief.tif": "pip install 'geodomain[tifffile]'",
    "model --fit dyke.ply --size 10,10,5 -o m.parquet": "pip install 'geodomain[parquet]'",
    "label parquet_parts --solid A=solid.stl -o out": "pip install 'geodomain[parquet]'",
    "label csv_parts --scheduler local:2 --solid A=solid.stl -o o": "pip install 'geodomain[dask]'",
    "plot stl.csv -o out.png": "pip install 'geodomain[plot]'",
}


@pytest.mark.full
@pytest.mark.parametrize("line", SAID)
def test_what_needs_more_says_so(line: str, folder: Path) -> None:
    if not (folder / "stl.csv").exists():
        test_a_csv_is_labelled("stl", folder)
    also = ("pandas", "dateutil", "pytz", "six", "tzdata") if line.startswith("plot") else ()
    done = bare(COMMAND, folder, *line.split(), also=also)
    assert done.returncode == 3, done.stderr
    *_, last = done.stderr.splitlines()
    assert last.startswith("error: ") and SAID[line] in last
    assert "Traceback" not in done.stderr


def test_a_module_that_is_nobodys_is_a_bug() -> None:
    assert mend_missing(ModuleNotFoundError("No module named 'x'", name="nothing_of_ours")) is None
