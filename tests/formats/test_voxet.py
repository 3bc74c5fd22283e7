"""GOCAD Voxets: blocks about nodes, properties from their files, labels in CSV, Parquet or VTK."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late import pd, pyvista
from wireframes import box

from geodomain import GeodomainWarning, TableError, inspect_file, label_file, write_mesh
from geodomain.cli import main

# The nodes (0, 0) and (1, 0) of the lowest layer.
ORE = {"ÖRE": box((95, 195, -52.5), (115, 205, -47.5))}
AXES = {
    "AXIS_O": "100 200 -50",
    "AXIS_U": "30 0 0",
    "AXIS_V": "0 20 0",
    "AXIS_W": "0 0 5",
    "AXIS_MIN": "0 0 0",
    "AXIS_MAX": "1 1 1",
    "AXIS_N": "4 3 2",
}
VALUES = np.arange(24) / 8


def voxet(folder: Path, *, offset: int = 0, **changes: str) -> Path:
    """Write a Voxet with a grade, one of whose values is missing, and a code of one byte."""
    lines = AXES | {"ZPOSITIVE": "Elevation"} | changes
    text = "GOCAD Voxet 1\nHEADER {\nname: Model\n*painted: on\n}\n"
    text += "".join(f"{key} {value}\n" for key, value in lines.items())
    text += 'PROPERTY 1 "Gold grade"\nPROPERTY_CLASS_HEADER 1 "x" {\n*low_clip:1\n}\n'
    text += f"PROP_NO_DATA_VALUE 1 -99999\nPROP_ESIZE 1 4\nPROP_OFFSET 1 {offset}\n"
    text += "PROP_ETYPE 1 IEEE\nPROP_FILE 1 grade@@\n"
    text += "PROPERTY 2 code\nPROP_ESIZE 2 1\nPROP_SIGNED 2 0\nPROP_FILE 2 code@@\nEND\n"
    values = VALUES.copy()
    values[5] = -99999
    (folder / "grade@@").write_bytes(b"?" * offset + values.astype(">f4").tobytes())
    (folder / "code@@").write_bytes(bytes(range(230, 254)))
    (folder / "a.vo").write_text(text)
    return folder / "a.vo"


def wanted() -> pd.DataFrame:
    """Return the table by hand: u fastest."""
    k, j, i = (axis.ravel() for axis in np.indices((2, 3, 4)))
    grade = VALUES.copy()
    grade[5] = np.nan
    places = {"x": 100 + 10.0 * i, "y": 200 + 10.0 * j, "z": -50 + 5.0 * k}
    sizes = {"dx": [10.0] * 24, "dy": [10.0] * 24, "dz": [5.0] * 24}
    labels = np.where((i < 2) & (j == 0) & (k == 0), "ÖRE", None)
    codes = np.arange(230, 254)
    return pd.DataFrame(places | sizes | {"Gold grade": grade, "code": codes, "domain": labels})


def require_same(found: pd.DataFrame) -> None:
    """Compare a table with the one by hand; pandas 2 tells None and NaN apart."""
    texts = {"domain": lambda table: table["domain"].astype(object).fillna("")}
    pd.testing.assert_frame_equal(
        found.assign(**texts), wanted().assign(**texts), check_dtype=False
    )


@pytest.mark.parametrize("offset", [0, 12])
def test_labels_go_to_a_table(tmp_path: Path, offset: int) -> None:
    path = voxet(tmp_path, offset=offset)
    label_file(path, ORE, tmp_path / "b.csv")
    found = pd.read_csv(tmp_path / "b.csv")
    require_same(found)
    label_file(path, ORE, tmp_path / "b.parquet", flags=True)
    found = pd.read_parquet(tmp_path / "b.parquet")
    assert found.pop("in_öre").tolist() == [int(one == "ÖRE") for one in wanted()["domain"]]
    require_same(found)


@pytest.mark.parametrize("extension", [".vti", ".vtu"])
def test_labels_go_to_vtk(tmp_path: Path, extension: str) -> None:
    out = tmp_path / f"b{extension}"
    label_file(voxet(tmp_path), ORE, out)
    grid, table = pyvista.read(out), wanted()
    centres = grid.cell_centers().points
    np.testing.assert_allclose(centres, table[["x", "y", "z"]].to_numpy(), rtol=1e-12)
    assert grid.cell_data["domain"].tolist() == table["domain"].fillna("").tolist()
    np.testing.assert_array_equal(grid.cell_data["Gold grade"], table["Gold grade"])
    found = inspect_file(out)
    assert found.volume == 24 * 500 and found.extent == inspect_file(tmp_path / "a.vo").extent


def test_turned_axes_and_axes_that_point_down(tmp_path: Path) -> None:
    turned = {"AXIS_U": "24 18 0", "AXIS_V": "-12 16 0"}
    path = voxet(tmp_path, **turned)
    summary = label_file(path, ORE, tmp_path / "b.vti")
    assert "(33.3%) beyond the side that faces azimuth 143.1" in str(summary)
    grid = pyvista.read(tmp_path / "b.vti")
    k, j, i = (axis.ravel() for axis in np.indices((2, 3, 4)))
    places = np.column_stack([100 + 8 * i - 6 * j, 200 + 6 * i + 8 * j, -50 + 5 * k])
    np.testing.assert_allclose(grid.cell_centers().points, places, rtol=1e-12)
    assert inspect_file(path).volume == pytest.approx(24 * 500)
    down = inspect_file(voxet(tmp_path, AXIS_W="0 0 -5"))
    assert down.extent == [[95.0, 195.0, -57.5], [135.0, 225.0, -47.5]]
    depth = inspect_file(voxet(tmp_path, ZPOSITIVE="Depth"))
    assert depth.extent == [[95.0, 195.0, 42.5], [135.0, 225.0, 52.5]]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    path = voxet(tmp_path)
    with pytest.raises(
        TableError,
        match=r"which is saved as \.csv, \.parquet, \.xlsx, \.omf, \.geoh5, \.vtu or \.vti",
    ):
        label_file(path, ORE, tmp_path / "b.vo")
    (tmp_path / "grade@@").unlink()
    assert inspect_file(path).rows == 24
    with pytest.raises(
        TableError,
        match="the file grade@@ with the property 'Gold grade' is not in the same folder",
    ):
        label_file(path, ORE, tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"AXIS_U": "30 0 10"}, "not at right angles"),
        ({"AXIS_U": "0 0 0"}, "an axis of length 0"),
        ({"AXIS_MAX": "1 1 0"}, "an axis of length 0"),
        ({"AXIS_U": "nan 0 0"}, "needs three numbers for AXIS_U"),
        ({"AXIS_V": "1 2"}, "needs three numbers for AXIS_V"),
        ({"AXIS_U": "3e200 0 0"}, "a number in AXIS_U beyond"),
        ({"AXIS_N": "4 3 0"}, "not a number of nodes"),
        ({"AXIS_N": "4 3 2.5"}, "not a number of nodes"),
        ({"AXIS_N": "400000 300000 200000"}, "that become 1.54 EB"),
        (
            {"AXIS_N": "16777216 1 1"},
            "of 16,777,216 x 1 x 1 nodes, has 0.5 kB of compressed data that become 1.07 GB",
        ),
        ({"AXIS_N": "4 3 9"}, "is too short"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, changes: dict, said: str) -> None:
    path = voxet(tmp_path, **changes)
    write_mesh(*ORE.values(), tmp_path / "ore.ply")
    solid = f"ORE={tmp_path / 'ore.ply'}"
    arguments = ["label", str(path), "--solid", solid, "-o", str(tmp_path / "b.csv")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 3, result.output
    (error,) = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert said in error and not (tmp_path / "b.csv").exists()


def test_a_header_that_is_cut(tmp_path: Path) -> None:
    path = voxet(tmp_path)
    path.write_text(path.read_text().removesuffix("END\n"))
    with pytest.raises(TableError, match="the line END of its Voxet is missing"):
        inspect_file(path)


def test_the_voxets_beside_the_checkout(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "formats/gocad"
    with pytest.warns(GeodomainWarning):
        label_file(folder / "3D_grid_GOCAD.vo", ORE, tmp_path / "b.csv", allow_disjoint=True)
    table = pd.read_csv(tmp_path / "b.csv")
    assert len(table) == 510 and table.loc[0, ["x", "y", "z"]].tolist() == [716400, 6530800, 400]
    assert table["Data"].mean() == pytest.approx(29.230228, abs=1e-6)
    assert table["Data"].agg(["min", "max"]).tolist() == pytest.approx([1.9169629, 95.07946])
    assert inspect_file(folder / "inverted.vo").extent[1][2] == 800.0
    with pytest.raises(TableError, match="not at right angles"):
        inspect_file(folder / "non_orthogonal.vo")
