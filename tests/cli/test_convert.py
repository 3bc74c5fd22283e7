"""The command `geodomain convert`: what is in one file is in the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from wireframes import box, cube

from geodomain import GeodomainWarning, read_meshes, write_mesh
from geodomain.cli import main
from geodomain.synthetic import star_shaped_orebody

SOLIDS = {"ORE": cube(1 / 3), "WASTE": box((20, 0, 0), (30.1, 10, 10))}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_mesh(SOLIDS, "pit.dxf")


def convert(*arguments: str, code: int = 0) -> Result:
    return run_command("convert", *arguments, code=code)


@pytest.mark.parametrize("extension", [".ts", ".omf", ".dxf"])
def test_names_are_kept(extension: str) -> None:
    result = convert("pit.dxf", f"out{extension}")
    assert "ORE: 12 triangles\nWASTE: 12 triangles\n" in result.stderr
    for name, mesh in read_meshes(f"out{extension}").items():
        known = SOLIDS[name]
        corners = mesh.vertices[mesh.triangles]
        assert np.array_equal(corners, known.vertices[known.triangles])


def test_one_solid_and_one_mesh() -> None:
    convert("pit.dxf:WASTE", "waste.msh")
    assert list(read_meshes("waste.msh")) == ["waste"]
    result = convert("pit.dxf", "all.ply")
    assert "all.ply cannot store names: all 2 solids are one mesh in it" in result.stderr
    assert len(read_meshes("all.ply")["all"].triangles) == 24


def test_stl_says_what_it_cannot_hold() -> None:
    assert "single precision" in convert("pit.dxf", "a.stl").stderr


def test_a_binary_stl_of_any_size_is_a_wireframe() -> None:
    """One of more than 64 kB was once taken for a table: its size did not fit its head."""
    with pytest.warns(GeodomainWarning, match="single precision"):
        write_mesh(star_shaped_orebody(frequency=12), "a.stl")
    assert Path("a.stl").stat().st_size > 1 << 16
    assert "2,880 triangles" in convert("a.stl", "a.omf").stderr


def test_nothing_is_overwritten() -> None:
    before = Path("pit.dxf").read_bytes()
    Path("out.str").write_text("mine")
    convert("pit.dxf", "out.dtm", code=4)
    assert Path("out.str").read_text() == "mine"
    convert("pit.dxf", "out.dtm", "--overwrite")
    assert len(read_meshes("out.dtm")) == 2
    convert("pit.dxf", "pit.dxf", "--overwrite", code=3)
    convert("pit.dxf", "out.xyz", code=3)
    assert Path("pit.dxf").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "what"), [("a.stl", "it is binary STL"), ("a.dm", "is half of a Datamine wireframe")]
)
def test_what_is_given_as_blocks(name: str, what: str, tmp_path: Path) -> None:
    import mining_files

    if name == "a.stl":
        write_mesh(cube(), name)
    else:
        table = mining_files.datamine_table({f"PID{n}": [1.0] for n in (1, 2, 3)}, 8, "<")
        Path(name).write_bytes(table)
    out = "out.dm" if name == "a.dm" else "out.csv"
    result = CliRunner().invoke(main, ["label", name, "--solid", "pit.dxf", "-o", out])
    assert result.exit_code == 3
    assert what in result.stderr
    assert "NUL" not in result.stderr


@pytest.mark.parametrize("source", ["blocks.csv", "ore.obj"])
def test_an_output_without_an_extension_is_what_is_wrong(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blocks.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    write_mesh(box((0, 0, 0), (9, 9, 9)), "ore.obj")
    for output, named in (("-", "standard output"), ("/dev/full", "/dev/full"), ("x", "x")):
        result = CliRunner().invoke(main, ["convert", source, output])
        assert result.exit_code == 3
        assert result.stderr.startswith(f"error: {named} has no extension of a format that")
        assert ".dxf" in result.stderr and ".parquet" in result.stderr
