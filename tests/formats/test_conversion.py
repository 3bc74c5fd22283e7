"""`geodomain convert` of block models: the same blocks and columns in another kind of file."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import omf_models
import pytest
from click.testing import Result
from label_command import run_command
from late import needs, pd, pyvista
from wireframes import box, cube

from geodomain import TableError, convert_blocks, inspect_file, label_file, read_mesh, write_mesh

pytestmark = needs("pyarrow")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def convert(*arguments: str, code: int = 0) -> Result:
    return run_command("convert", *arguments, code=code)


def regular() -> pd.DataFrame:
    """Return 24 blocks, z fastest, so that a file of x fastest has them in another order."""
    i, j, k = (axis.ravel() for axis in np.indices((4, 3, 2)))
    places = {"X": 5.0 + 10 * i, "Y": 205.0 + 10 * j, "Z": -47.5 + 5 * k}
    sizes = {"DX": [10.0] * 24, "DY": [10.0] * 24, "DZ": [5.0] * 24}
    labels = np.where(i < 2, "ÖRE", "")
    grade = np.where(j == 1, np.nan, i + j / 8)
    return pd.DataFrame(places | sizes | {"AU": grade, "domain": labels})


def divided() -> pd.DataFrame:
    """Return a block of 10 by 10 by 5, and two halves of another."""
    rows = [
        [5.0, 5.0, 5.0, 10.0, 10.0, 10.0, 1.5, "A"],
        [12.5, 5.0, 5.0, 5.0, 10.0, 10.0, 2.5, "B"],
        [17.5, 5.0, 5.0, 5.0, 10.0, 10.0, 3.5, ""],
    ]
    return pd.DataFrame(rows, columns=["X", "Y", "Z", "DX", "DY", "DZ", "AU", "domain"])


def table(path: str) -> pd.DataFrame:
    """Return any model as a table of its own columns, in a fixed order of blocks."""
    convert_blocks(path, "any.csv", overwrite=True)
    found = pd.read_csv("any.csv", keep_default_na=True)
    found.columns = [name.upper() if len(name) < 3 else name for name in found.columns]
    return found.sort_values(["X", "Y", "Z"], ignore_index=True)


@pytest.mark.parametrize("extension", [".parquet", ".vtu", ".vti", ".omf"])
def test_a_table_becomes_any_kind_and_comes_back(extension: str) -> None:
    regular().to_csv("a.csv", index=False)
    assert "24 blocks" in convert("a.csv", f"b{extension}").stderr
    back, there = table(f"b{extension}"), table("a.csv")
    pd.testing.assert_frame_equal(back, there, check_like=True, rtol=1e-14)
    assert inspect_file(f"b{extension}").volume == 24 * 500


@pytest.mark.parametrize("extension", [".parquet", ".vtu", ".omf"])
def test_sub_blocks_become_any_kind_but_an_image(extension: str) -> None:
    divided().to_csv("a.csv", index=False)
    convert("a.csv", f"b{extension}")
    pd.testing.assert_frame_equal(table(f"b{extension}"), table("a.csv"), check_like=True)
    assert "use the extension .vtu" in convert("a.csv", "b.vti", code=3).stderr
    assert not Path("b.vti").exists()


@pytest.mark.parametrize("source", ["csv", "parquet"])
@pytest.mark.parametrize("extension", ["parquet", "vtu", "vti", "omf"])
def test_whole_numbers_keep_their_digits(source: str, extension: str) -> None:
    ids = [2**60 + 1, 2**60 + 3]
    frame = pd.DataFrame({"X": [0.5, 1.5], "Y": 0.5, "Z": 0.5, "DX": 1.0, "DY": 1.0, "DZ": 1.0})
    frame["ID"] = ids
    if source == "csv":
        frame.to_csv("ids.csv", index=False)
    else:
        frame.to_parquet("ids.parquet", index=False)
    convert_blocks(f"ids.{source}", f"out.{extension}")
    convert_blocks(f"out.{extension}", "back.csv")
    assert [int(cell) for cell in pd.read_csv("back.csv", dtype=str)["ID"]] == ids


def test_free_sub_blocks_and_blocks_that_straddle() -> None:
    odd = divided()
    odd.loc[1:, "X"], odd.loc[1:, "DX"] = [10 + np.pi / 2, 10 + np.pi + 1], [np.pi, 2.0]
    odd.to_csv("a.csv", index=False)
    convert("a.csv", "b.omf")
    pd.testing.assert_frame_equal(table("b.omf"), table("a.csv"), check_like=True, rtol=1e-14)
    odd.loc[1, "X"] = 10.0
    odd.to_csv("c.csv", index=False)
    assert "cross the boundaries" in convert("c.csv", "c.omf", code=3).stderr


@pytest.mark.parametrize("axes", [np.eye(3).tolist(), omf_models.TURNED])
def test_a_grid_of_planes_stays_one(axes: list[list[float]]) -> None:
    Path("v1.omf").write_bytes(omf_models.omf1(axes=axes))
    convert_blocks("v1.omf", "b.omf")
    before, after = inspect_file("v1.omf"), inspect_file("b.omf")
    assert "sub-blocks" not in after.facts["format"]
    assert after.rows == before.rows and after.volume == pytest.approx(before.volume)
    pd.testing.assert_frame_equal(table("b.omf"), table("v1.omf"), check_like=True, rtol=1e-12)


def test_rectilinear_grids_become_omf() -> None:
    axes = np.array([0.0, 10, 30, 60]), np.array([0.0, 8, 20]), np.array([0.0, 5, 15])
    grid = pyvista.RectilinearGrid(*axes)
    grid.cell_data["AU"] = np.arange(12.0)
    grid.save("a.vtr")
    convert("a.vtr", "b.omf")
    pd.testing.assert_frame_equal(table("b.omf"), table("a.vtr"), check_like=True)


def test_skewed_cells_are_told_as_what_they_are() -> None:
    image = pyvista.ImageData(dimensions=(4, 3, 2), spacing=(10, 10, 5))
    image.cell_data["AU"] = np.arange(6.0)
    skew = np.eye(4)
    skew[0, 1] = 0.25
    image.cast_to_unstructured_grid().transform(skew, inplace=False).save("a.vtu")
    for name in ("b.vti", "b.vtu", "b.omf"):
        said = convert("a.vtu", name, code=3).stderr
        assert "6 cells of the model are rotated or skewed" in said
        assert "centroid" not in said
    for name in ("b.csv", "b.parquet"):
        assert "their dx, dy, dz are empty" in convert("a.vtu", name).stderr
    assert pd.read_csv("b.csv")[["dx", "dy", "dz"]].isna().all(axis=None)


def test_a_turned_model_stays_turned() -> None:
    Path("a.omf").write_bytes(omf_models.omf2(axes=omf_models.TURNED, sub="Regular"))
    for name in ("b.vtu", "c.csv"):
        assert "3 blocks" in convert("a.omf", name).stderr
    grid = pyvista.read("b.vtu")
    edges = grid.get_cell(0).points[1] - grid.get_cell(0).points[0]
    np.testing.assert_allclose(edges / 5, omf_models.TURNED[0], rtol=1e-12)
    Path("v1.omf").write_bytes(omf_models.omf1(axes=omf_models.TURNED))
    assert convert("v1.omf", "d.csv").exit_code == 0
    found = pd.read_csv("d.csv")[["x", "y", "z"]].to_numpy()
    np.testing.assert_allclose(found, omf_models.centres(omf_models.TURNED).reshape(-1, 3))


def test_labels_made_of_a_csv_open_in_leapfrog() -> None:
    regular().drop(columns="domain").to_csv("a.csv", index=False)
    label_file("a.csv", {"ORE": box((0, 200, -50), (20, 220, -40))}, "b.csv")
    convert("b.csv", "c.omf")
    assert table("c.omf")["domain"].value_counts().to_dict() == {"ORE": 8}


def test_the_error_for_an_extension_names_each_format_once() -> None:
    regular().to_csv("a.csv", index=False)
    text = convert("a.csv", "a.foo", code=3).stderr
    assert text.count(".omf") == 1 and text.count(".geoh5") == 1, text


def test_wireframes_are_still_wireframes() -> None:
    write_mesh(cube(), "ore.ply")
    convert("ore.ply", "ore.omf")
    assert len(read_mesh("ore.omf").triangles) == 12
    assert "no surface" in convert("ore.omf", "x.csv", code=3).stderr or not Path("x.csv").exists()


@pytest.mark.parametrize("make", [omf_models.omf1, omf_models.omf2])
def test_blocks_of_omf_are_blocks_in_omf(make: Callable[[], bytes]) -> None:
    Path("a.omf").write_bytes(make())
    assert "24 blocks" in convert("a.omf", "b.omf").stderr
    convert("a.omf", "a.csv")
    convert("b.omf", "b.csv")
    keys = ["x", "y", "z"]
    first, again = (pd.read_csv(name).sort_values(keys) for name in ("a.csv", "b.csv"))
    np.testing.assert_allclose(again[keys], first[keys])
    assert again["AU"].tolist() == pytest.approx(first["AU"].tolist(), nan_ok=True)
    assert "no surface" in convert("a.omf", "b.dxf", code=3).stderr


def test_blocks_beside_wireframes_of_a_project() -> None:
    """Wireframes are written, and the blocks that are not are named."""
    write_mesh(cube(), "ore.omf")
    with zipfile.ZipFile("ore.omf") as members:
        held = {name: members.read(name) for name in members.namelist()}
    Path("model.omf").write_bytes(omf_models.omf2())
    with zipfile.ZipFile("model.omf") as members:
        blocks = {name: members.read(name) for name in members.namelist()}
    index = json.loads(gzip.decompress(held["index.json.gz"]))
    other = json.loads(gzip.decompress(blocks["index.json.gz"]))
    text = json.dumps(other["elements"])
    for name in [name for name in blocks if name != "index.json.gz"]:
        text = text.replace(f'"{name}"', f'"m{name}"')
        held[f"m{name}"] = blocks[name]
    index["elements"] += json.loads(text)
    name = "Model"
    held["index.json.gz"] = gzip.compress(json.dumps(index).encode())
    with zipfile.ZipFile("both.omf", "w") as members:
        for one, content in held.items():
            members.writestr(one, content)
        members.comment = b"Open Mining Format 2.0"
    done = convert("both.omf", "c.omf")
    assert "12 triangles" in done.stderr
    assert f"both.omf also holds 1 block model, {name!r}, which is not written" in done.stderr
    assert "24 blocks" in convert(f"both.omf:{name}", "d.omf").stderr
    assert "12 triangles" in convert("both.omf:ore", "e.omf").stderr


def test_a_legacy_image_is_blocks_in_omf() -> None:
    pyvista.ImageData(dimensions=(3, 3, 3)).save("a.vtk")
    assert "8 blocks" in convert("a.vtk", "a.omf").stderr


def test_what_cannot_be_converted_is_said() -> None:
    regular().drop(columns=["DX", "DY", "DZ"]).to_csv("a.csv", index=False)
    assert (
        "name the size columns with --dx, --dy and --dz" in convert("a.csv", "b.vtu", code=3).stderr
    )
    convert("a.csv", "b.parquet")
    convert("a.csv", "b.parquet", code=4)
    convert("b.parquet", "b.parquet", "--overwrite", code=3)
    lost = regular()
    lost.loc[3, "X"] = np.nan
    lost.to_csv("c.csv", index=False)
    for name in ("d.vtu", "d.vti", "d.omf"):
        assert "lack a centroid or a size" in convert("c.csv", name, code=3).stderr
    with pytest.raises(TableError, match=r"d\.xyz"):
        convert_blocks("a.csv", "d.xyz")
    assert sorted(path.name for path in Path().iterdir()) == ["a.csv", "b.parquet", "c.csv"]


def test_a_table_that_counts_its_rows_from_0_is_of_blocks() -> None:
    """Strings of Surpac begin with such a row, below a name; so do tables with an index."""
    regular().reset_index(names="Id").to_csv("t.csv", index=False)
    assert "24 blocks" in convert("t.csv", "t.omf").stderr
    Path("s.str").write_text(
        "s,1-Jan-26,,\n0, 0.0, 0.0, 0.0,\n1, 5.0, 5.0, 5.0,\n0, 0, 0, 0, END\n"
    )
    assert "strings are not a surface" in convert("s.str", "s.omf", code=3).stderr


@pytest.mark.parametrize("kind", [regular, divided])
def test_turned_coordinates_of_the_world_are_boxes_that_are_turned(
    kind: Callable[[], pd.DataFrame],
) -> None:
    turned, angle = kind(), np.radians(30)
    turned = pd.concat([turned] * 6) if kind is divided else turned
    if kind is divided:
        turned["Y"] += np.repeat(np.arange(6) * 10.0, 3)
    x, y = turned["X"].to_numpy(), turned["Y"].to_numpy()
    turned["X"] = np.cos(angle) * x - np.sin(angle) * y
    turned["Y"] = np.sin(angle) * x + np.cos(angle) * y
    turned.to_csv("t.csv", index=False)
    convert("t.csv", "t.vtu")
    grid = pyvista.read("t.vtu")
    corners = np.array([[dx, dy] for dx in (-0.5, 0.5) for dy in (-0.5, 0.5)])
    for cell, row in enumerate(turned[["X", "Y", "DX", "DY"]].to_numpy()):
        spread = corners * row[2:]
        expected = row[:2] + spread @ np.array([[np.cos(angle), np.sin(angle)],
                                                [-np.sin(angle), np.cos(angle)]])  # fmt: skip
        found = grid.get_cell(cell).points[:, :2]
        gaps = np.abs(found[:, None] - expected[None]).sum(axis=2).min(axis=0)
        assert gaps.max() < 1e-4
    convert("t.csv", "t.omf")
