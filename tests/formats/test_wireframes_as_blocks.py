"""A wireframe in the place of a table of blocks is named as what it is, with what to do."""

from __future__ import annotations

from pathlib import Path

import mining_files as files
import pytest
from click.testing import CliRunner
from mesh_files import ascii_stl, binary_ply, binary_stl, obj, off, text_ply
from wireframes import cube

from geodomain import write_mesh
from geodomain.cli import main

MADE = {
    "a.stl": (ascii_stl(), "ASCII STL, a wireframe"),
    "b.stl": (binary_stl(), "binary STL, a wireframe"),
    "a.ply": (text_ply(), "PLY, a wireframe"),
    "b.ply": (binary_ply("<"), "PLY, a wireframe"),
    "a.obj": (obj(), "OBJ, a wireframe"),
    "c.obj": (obj().replace("\n", "\r\n"), "OBJ, a wireframe"),
    "a.off": (off(), "OFF, a wireframe"),
    "a.xml": (files.landxml(), "LandXML, a wireframe"),
    "a.asc": ("ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4\n", "ESRI ASCII"),
}


def said(path: Path) -> str:
    solid = path.parent / "solid.ply"
    write_mesh(cube(), solid, overwrite=True)
    run = CliRunner().invoke(main, ["label", str(path), "--solid", f"A={solid}", "--dry-run"])
    assert run.exit_code == 3, run.output
    (line,) = [line for line in run.output.splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize("name", MADE)
def test_formats_of_any_program(tmp_path: Path, name: str) -> None:
    content, what = MADE[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = said(path)
    assert f"{name}: it is {what}" in line and "--solid NAME=PATH" in line


@pytest.mark.parametrize("extension", [".dxf", ".dtm", ".str", ".msh", ".ts"])
def test_formats_of_mining_packages(tmp_path: Path, extension: str) -> None:
    write_mesh(cube(), tmp_path / f"a{extension}")
    line = said(tmp_path / f"a{extension}")
    assert f"a{extension}: it is " in line and "--solid NAME=PATH" in line


def test_tables_whose_header_is_wrong_stay_tables(tmp_path: Path) -> None:
    for text in ("solid,x,y\n1,2,3\n", "v 1 2\nv,2,3\n", "1,2,3\n4,5,6\n", "off,1\n2,3\n"):
        (tmp_path / "a.csv").write_text(text)
        assert "a wireframe" not in said(tmp_path / "a.csv")
