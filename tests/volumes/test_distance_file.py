"""Distances in files: the same numbers in every format, and every other byte as it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import omf_models
import pytest
from distances import error_in_ulps, square_distance
from label_command import run_command
from late import pyarrow, pyvista
from mining_files import datamine_table
from wireframes import box, cube, roofless

import geodomain
from geodomain import MeshError, TableError, distance_file
from geodomain.formats.datamine import read_table

PLACES = np.array([[2.5, 3.25, 4.0], [12.0, 5.0, 5.0], [-3.0, -4.0, 0.1], [10.0, 1.0, 2.0]])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a cube of 10 and an open one."""
    monkeypatch.chdir(tmp_path)
    geodomain.write_mesh(cube(), "ore.obj")
    geodomain.write_mesh(roofless(), "open.obj")
    return tmp_path


def run(*options: str, code: int = 0):
    return run_command("distance", *options, code=code)


def square(mesh: geodomain.Mesh, point) -> tuple:
    """Return the exact square of a distance and the triangle that has it."""
    found = [(square_distance(mesh.vertices[t], point), n) for n, t in enumerate(mesh.triangles)]
    least, triangle = min(found)
    return least, mesh.vertices[mesh.triangles[triangle]]


def test_a_text_keeps_every_byte_and_gains_exact_numbers(folder: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [f'{x!r},{y!r},{z!r}," q",2.70' for x, y, z in (rng.normal(size=(300, 3)) * 9).tolist()]
    rows[7] = ",1,2,x,-"
    text = "\r\n".join(["# made", "", "X,Y,Z,ROCK,AU", *rows])  # no line end at the last
    Path("b.csv").write_bytes(text.encode())
    mesh = roofless()
    found = distance_file(
        "b.csv", {"Roof": "open.obj", "FAR": box((90, 0, 0), (91, 1, 1))}, "o.csv"
    )
    lines = Path("o.csv").read_bytes().decode().split("\r\n")
    assert lines[:3] == ["# made", "", "X,Y,Z,ROCK,AU,dist_roof,dist_far"]
    kept = [line.rsplit(",", 2) for line in lines[3:]]
    assert [row for row, *_ in kept] == rows
    assert kept[7][1:] == ["", ""]
    for row, near, _ in kept[:7] + kept[8:60]:
        point = np.array([float(cell) for cell in row.split(",")[:3]])
        least, corners = square(mesh, point)
        assert error_in_ulps(float(near), least, corners, point) <= 4
    numbers = np.array([float(cell[1]) for cell in kept if cell[1]])
    assert (found.rows, found.missing) == (300, 1)
    assert found.columns[0].nearest == numbers.min() and found.columns[0].farthest == numbers.max()
    assert all(repr(float(cell[1])).removesuffix(".0") == cell[1] for cell in kept if cell[1])


def test_the_marks_of_the_text_are_kept(folder: Path) -> None:
    Path("b.csv").write_text("X;Y;Z\n2,5;3,25;4\n12;5;5\n")
    distance_file("b.csv", {"ORE": "ore.obj"}, "o.csv", signed=True)
    assert Path("o.csv").read_text() == "X;Y;Z;dist_ore\n2,5;3,25;4;-2,5\n12;5;5;2\n"


def test_a_sign_is_that_of_contains_and_zero_has_none(folder: Path) -> None:
    points = np.r_[PLACES, np.random.default_rng(1).integers(-2, 13, (400, 3)).astype(float)]
    lines = "\n".join(",".join(map(repr, row)) for row in points.tolist())
    Path("b.csv").write_text(f"X,Y,Z\n{lines}\n")
    found = distance_file("b.csv", {"ORE": "ore.obj"}, "o.csv", signed=True)
    cells = [row.rpartition(",")[2] for row in Path("o.csv").read_text().splitlines()[1:]]
    low, high = (points - 0).min(axis=1), (10 - points).min(axis=1)
    outside = np.maximum(np.maximum(-points, points - 10), 0)
    due = np.where(
        np.minimum(low, high) > 0, -np.minimum(low, high), np.sqrt((outside**2).sum(axis=1))
    )
    assert np.allclose([float(cell) for cell in cells], due, rtol=1e-15, atol=0)
    assert "-0" not in cells and cells.count("0") == int((due == 0).sum()) > 0
    assert found.columns[0].inside == int((due < 0).sum())


def parquet(path: str) -> None:
    columns = dict(zip("XYZ", PLACES.T, strict=True)) | {"ROCK": ["a", None, "b", "c"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=3)


def test_parquet_has_doubles_and_nulls(folder: Path) -> None:
    columns = dict(zip("XYZ", PLACES.T, strict=True)) | {"ROCK": ["a", None, "b", "c"]}
    columns["X"] = [2.5, 12.0, None, 10.0]
    pyarrow.parquet.write_table(pyarrow.table(columns), "b.parquet", row_group_size=3)
    distance_file("b.parquet", {"ORE": "ore.obj"}, "o.parquet")
    out = pyarrow.parquet.read_table("o.parquet")
    assert out.column_names == ["X", "Y", "Z", "ROCK", "dist_ore"]
    assert out.column("dist_ore").type == pyarrow.float64()
    assert out.column("dist_ore").to_pylist() == [2.5, 2.0, None, 0.0]
    assert out.drop(["dist_ore"]).equals(pyarrow.parquet.read_table("b.parquet"))


def test_cells_have_numbers_too(folder: Path) -> None:
    image = pyvista.ImageData(dimensions=(3, 4, 5), spacing=(4, 5, 6), origin=(-3, 1, 2))
    image.cell_data["AU"] = np.arange(24.0)
    image.save("b.vti")
    centres = image.cell_centers().points
    distance_file("b.vti", {"ORE": "ore.obj"}, "o.vti")
    found = pyvista.read("o.vti")
    assert np.array_equal(found.cell_data["dist_ore"], geodomain.distances(cube(), centres))
    assert np.array_equal(found.cell_data["AU"], np.arange(24.0))
    Path("a.omf").write_bytes(omf_models.omf1())
    distance_file("a.omf", {"ORE": "ore.obj"}, "o.omf")
    geodomain.convert_blocks("o.omf", "o.csv")
    head, *rows = (row.split(",") for row in Path("o.csv").read_text().splitlines())
    place, at = [head.index(name) for name in "xyz"], head.index("dist_ore")
    points = np.array([[float(row[axis]) for axis in place] for row in rows])
    due = geodomain.distances(cube(), points)
    assert np.array_equal([float(row[at]) for row in rows], due) and len(rows) == 24


@pytest.mark.parametrize("width", [4, 8])
def test_a_datamine_table_has_them_in_its_precision(folder: Path, width: int) -> None:
    fields = dict(zip(("XC", "YC", "ZC"), PLACES.T.tolist(), strict=True))
    fields["XC"][2] = -1e30
    Path("b.dm").write_bytes(datamine_table(fields, width, "<"))
    distance_file("b.dm", {"ORE": box((0, 0, 0), (10, 10, 9))}, "o.dm", missing=-1e30)
    found = read_table(Path("o.dm").read_bytes(), "o.dm").columns["DIST_ORE"]
    assert np.array_equal(found, [2.5, 2.0, np.nan, 0.0], equal_nan=True)


def test_a_gslib_grid_has_them_as_text(folder: Path) -> None:
    head = ["title", "1", "AU"]
    Path("a.dat").write_text("\n".join([*head, *map(str, range(8)), ""]))
    distance_file("a.dat", {"ORE": "ore.obj"}, "o.dat", gslib_grid="2,2,2,5,5,8.75,10,10,0.5")
    rows = Path("o.dat").read_text().splitlines()
    assert rows[1:4] == ["2", "AU", "dist_ore"]
    far = "7.0710678118654755"
    due = ["1.25", "5", "5", far, "0.75", "5", "5", far]
    assert [row.split()[1] for row in rows[4:]] == due


def test_local_coordinates_are_turned(folder: Path) -> None:
    # North turned to east: local (x, y) is world (5 + y, 5 - x).
    Path("b.csv").write_text("X,Y,Z\n0,0,5\n0,8,5\n7,0,5\n")
    distance_file("b.csv", {"ORE": "ore.obj"}, "o.csv", rotation="z=90", origin="5,5,0")
    cells = [row.rpartition(",")[2] for row in Path("o.csv").read_text().splitlines()[1:]]
    assert cells == ["5", "3", "2"]


def test_the_command(folder: Path) -> None:
    Path("b.csv").write_text("X,Y,Z\n5,5,4\n20,5,5\n")
    result = run("b.csv", "--mesh", "ORE=ore.obj", "--mesh", "open.obj", "-o", "o.csv")
    assert Path("o.csv").read_text() == "X,Y,Z,dist_ore,dist_open\n5,5,4,4,4\n20,5,5,10,10\n"
    assert result.stderr.splitlines() == [
        "mesh  column     nearest  farthest",
        "ORE   dist_ore         4        10",
        "open  dist_open        4        10",
        "2 blocks",
    ]
    told = json.loads(
        run("b.csv", "--mesh", "A=ore.obj", "--signed", "-o", "p.csv", "--json").stdout
    )
    assert told["columns"] == [
        {"name": "A", "column": "dist_a", "nearest": -4.0, "farthest": 10.0, "inside": 1}
    ]
    assert run("b.csv", "--mesh", "A=ore.obj", "-o", "-", "-q").stdout.startswith("X,Y,Z,dist_a\n5")


def test_what_is_refused_leaves_nothing(folder: Path) -> None:
    Path("b.csv").write_text("X,Y,Z,DIST_ORE\n5,5,4,1\n1e300,5,5,2\n")
    ore = {"ORE": "ore.obj"}
    with pytest.raises(TableError, match="already has a column 'DIST_ORE'"):
        distance_file("b.csv", ore, "o.csv")
    with pytest.raises(MeshError, match="not closed"):
        distance_file("b.csv", {"A": "open.obj"}, "o.csv", signed=True)
    with pytest.raises(TableError, match=r"b\.csv, row 2: X is 1e\+300, which is too large"):
        distance_file("b.csv", {"A": "ore.obj"}, "o.csv")
    with pytest.raises(TableError, match="is for wireframes; use the"):
        distance_file("b.csv", {"A": "ore.obj"}, "ore.obj", overwrite=True)
    with pytest.raises(TableError, match="extension"):
        distance_file("b.csv", {"A": "ore.obj"}, "o.parquet")
    with pytest.raises(ValueError, match="no mesh"):
        distance_file("b.csv", {}, "o.csv")
    run("b.csv", "--mesh", "A=ore.obj", "--mesh", "A=open.obj", "-o", "o.csv", code=2)
    run("b.csv", "--mesh", "A=ore.obj", "-o", "b.csv", "--overwrite", code=3)
    assert sorted(path.name for path in folder.iterdir()) == ["b.csv", "open.obj", "ore.obj"]
