"""What a geologist is fooled by is said: what, where, and how to mend it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from label_command import run_command as run
from late import pd
from wireframes import box, cube

import geodomain
from geodomain import TableError
from geodomain.formats.wireframes import write_mesh
from geodomain.labelling.evaluate import explain_apart
from geodomain.mesh.mesh import Mesh

BLOCKS = "x,y,z,dx,dy,dz\n" + "".join(
    f"{x},{y},{z},5,5,5\n" for x in (2.5, 7.5) for y in (2.5, 7.5) for z in (902.5, 907.5)
)


def ground(low: float, high: float) -> Mesh:
    """Return a sheet over the blocks, from one height to another."""
    corners = [(-9.0, -9.0, low), (99.0, -9.0, low), (-9.0, 99.0, high), (99.0, 99.0, high)]
    return Mesh(np.array(corners), np.array([[0, 1, 2], [1, 3, 2]]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.csv").write_text(BLOCKS)
    return tmp_path


def label(kind: str = "above") -> str:
    """Label the blocks by ground.ply, and return the warnings."""
    text = f'background = "ROCK"\n[[domain]]\nname = "AIR"\nmesh = "ground.ply"\nkind = "{kind}"\n'
    Path("d.toml").write_text(text)
    return run("label", "b.csv", "--domains", "d.toml", "--dry-run").stderr


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-910.0, -900.0, "with the sign of z changed, surface and blocks would meet"),
        (905.0 / 0.3048, 906.0 / 0.3048, "(feet to metres), surface and blocks would meet"),
        (905.0 * 0.3048, 906.0 * 0.3048, "(metres to feet), surface and blocks would meet"),
        (2900.0, 2901.0, "does the surface use another height datum?"),
    ],
)
def test_blocks_all_on_one_side_of_a_surface_are_said(
    folder: Path, low: float, high: float, said: str
) -> None:
    write_mesh(ground(low, high), folder / "ground.ply")
    warned = label()
    assert "all blocks are on one side of ground.ply of AIR" in warned
    assert said in warned


@pytest.mark.parametrize(("low", "high"), [(905.0, 906.0), (912.0, 915.0), (895.0, 899.0)])
def test_a_model_underground_lies_honestly_below_topography(
    folder: Path, low: float, high: float
) -> None:
    write_mesh(ground(low, high), folder / "ground.ply")
    assert "one side" not in label()


def test_a_closed_mesh_as_a_surface_is_said(folder: Path) -> None:
    write_mesh(box((-1, -1, 901), (11, 11, 906)), folder / "ground.ply")
    assert "AIR: ground.ply is closed, but kind = 'above' uses it as a surface" in label()


def test_a_table_of_nothing_but_a_header_is_said(folder: Path) -> None:
    write_mesh(cube(), folder / "ore.ply")
    (folder / "b.csv").write_text("x,y,z\n")
    arguments = ("label", "b.csv", "--solid", "ORE=ore.ply", "--dry-run", "--allow-disjoint")
    assert "no rows below its header" in run(*arguments).stderr


@pytest.mark.parametrize("name", ["out.ods", "out.dm", "out.zip"])
def test_an_output_that_would_not_be_what_it_is_called_is_refused(folder: Path, name: str) -> None:
    write_mesh(cube(), folder / "ore.ply")
    result = run("label", "b.csv", "--solid", "ORE=ore.ply", "-o", name, code=3)
    assert "; use the extension .csv" in result.stderr
    assert not (folder / name).exists()


def test_check_goes_on_after_a_file_that_cannot_be_read(folder: Path) -> None:
    write_mesh(cube(), folder / "good.ply")
    (folder / "bad.ply").write_text("ply\n")
    result = run("check", "bad.ply", "good.ply", code=3)
    assert "bad.ply is cut short" in result.stderr
    assert "good.ply: can be used for labelling" in result.stdout
    assert "1 of 2 meshes could not be read" in result.stderr
    said = run("check", "none.ply", "good.ply", code=4).stderr
    assert said.count("none.ply: No such file or directory") == 1 and "Errno" not in said


@pytest.mark.parametrize(
    ("ratio", "said"), [(3.28084, "feet to metres"), (0.001, "kilometres to metres")]
)
def test_units_are_tried_where_boxes_do_not_meet(ratio: float, said: str) -> None:
    model = np.array([[5000.0, 6000.0, 300.0], [5500.0, 6500.0, 400.0]])
    assert said in explain_apart(model * ratio, model)


def test_the_advice_is_the_one_that_fits_best() -> None:
    model = np.array([[0.0, -100.0, 0.0], [1000.0, 100.0, 100.0]])
    # Exchanged axes would bring a corner of it to the model, another sign all of it.
    mesh = np.array([[-900.0, -90.0, 10.0], [-50.0, 90.0, 90.0]])
    assert "the sign of x" in explain_apart(mesh, model)


def test_the_end_of_a_rim_has_its_own_height() -> None:
    """From 1.1 by all of 0.3 - 1.1 one comes to 0.30000000000000004."""
    sheet = Mesh(np.array([[0, 0, 1.1], [1, 0, 0.3], [0, 1, 1.1]]), np.array([[0, 1, 2]]))
    point = [[2.0, -0.5, 0.3]]
    assert geodomain.sides(sheet, point, extend="nearest").tolist() == [1]
    assert geodomain.sides(sheet, [[2.0, -0.5, 0.29999999999999993]], extend="nearest") == [-1]


def test_a_row_without_end_names_its_file(folder: Path) -> None:
    write_mesh(cube(), folder / "ore.ply")
    (folder / "commas.csv").write_text("," * 20_000)
    result = run("label", "commas.csv", "--solid", "A=ore.ply", "-o", "x.csv", code=3)
    assert "commas.csv, line 1 has more than 10,000 cells" in result.stderr


# ---- marks of missing values that are no places


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("value", ["1e30", "-1.70141e38", "1.797e308"])
@pytest.mark.parametrize("column", ["x", "dx"])
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_coordinates_and_sizes_beyond_all_places_are_refused_alike(
    folder: Path, column: str, value: str, suffix: str
) -> None:
    rows = [dict(zip(BLOCKS.split()[0].split(","), row.split(","), strict=True))
            for row in BLOCKS.split()[1:]]  # fmt: skip
    rows[3][column] = value
    table = pd.DataFrame(rows)
    table["domain"], table["density"] = "ORE", "2.5"
    table.to_csv("far.csv", index=False)
    pd.read_csv("far.csv").to_parquet("far.parquet")
    write_mesh(box((1, 1, 901), (9, 9, 909)), folder / "ore.obj")
    blocks = f"far.{suffix}"
    commands = [
        ("label", blocks, "--solid", "ORE=ore.obj", "--column", "new", "--dry-run"),
        ("inspect", blocks, "ore.obj"),
        ("tonnes", blocks, "--density", "density"),
        ("report", blocks, "-o", "r.html"),
        ("plot", blocks, "-o", "p.png"),
        ("compare", blocks, blocks),
        ("convert", blocks, "c.vtu" if suffix == "csv" else "c.csv"),
    ]
    for command in commands:
        said = " ".join(run(*command, code=3).output.split())
        assert f"{blocks}, row 4: {column} is " in said and "too large for a coordinate" in said
        mark = f"--missing={float(value)}" if float(value) < 0 else f"--missing {float(value)}"
        assert f"missing value, use {mark}." in said
    marks = {"missing": [repr(float(value))]}
    done = geodomain.label_file(blocks, {"ORE": "ore.obj"}, None, column="new", **marks)
    assert done.rows == 8
    if column == "x":
        with pytest.raises(TableError, match="row 4: x is "):
            geodomain.label_blocks(pd.read_csv("far.csv"), {"ORE": "ore.obj"})
