"""Every writer keeps float64: wireframes and block models, all formats and magnitudes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from late import pd, pyvista

import geodomain
from geodomain import Mesh
from geodomain.formats.registry import FORMATS, mesh_outputs

TRIANGLES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
# Sizes and places of models, from a laboratory's sample to a planet.
MAGNITUDES = [
    (1.0, 0.0), (1e-3, 0.123456789), (123.456789, 6771234.5), (1e-6, 7e6), (1e5 / 3, 1e9),
    (1e-12, 0.0), (1e12 / 7, 0.0), (1e-30, 0.0), (1e30, -1e31),
]  # fmt: skip
# Blocks of which neighbours share coordinates by their rounding: no lattice holds them.
TOO_FINE = [(1e-6, 7e6), (1e-30, 0.0), (1e30, -1e31)]
# STL holds float32 by its definition, and writing it warns by how much vertices move.
WIREFRAMES = sorted({*mesh_outputs()} - {".stl"})
BLOCKS = [extension for form in FORMATS if form.write_blocks for extension in form.outputs]


@pytest.mark.parametrize("extension", WIREFRAMES)
@pytest.mark.parametrize(("size", "place"), MAGNITUDES)
def test_wireframes(extension: str, size: float, place: float, tmp_path: Path) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    vertices = place + size * (corners + np.random.default_rng(3).random((4, 3)))
    mesh = Mesh(vertices, TRIANGLES)
    path = tmp_path / f"ore{extension}"
    geodomain.write_mesh(mesh, path)
    found = geodomain.read_mesh(path)
    there, wanted = (set(map(tuple, each.vertices.tolist())) for each in (found, mesh))
    assert there == wanted and len(found.triangles) == 4


def lattice(size: float, place: float) -> pd.DataFrame:
    z, y, x = np.meshgrid(*[place + size * (np.arange(3) + 0.5)] * 3, indexing="ij")
    grades = np.random.default_rng(5).random(27) * size + place
    return pd.DataFrame(
        {"X": x.ravel(), "Y": y.ravel(), "Z": z.ravel(), "DX": size, "DY": size, "DZ": size}
        | {"AU": grades}
    )


def columns(path: Path, tmp_path: Path) -> np.ndarray:
    """Return centroids and the grade, (27, 4), sorted by the grade."""
    geodomain.convert_blocks(path, tmp_path / "read.parquet", overwrite=True)
    table = pd.read_parquet(tmp_path / "read.parquet")
    table.columns = [name.lower() for name in table.columns]
    return table.sort_values("au")[["x", "y", "z", "au"]].to_numpy(np.float64)


@pytest.mark.parametrize("extension", BLOCKS)
@pytest.mark.parametrize(("size", "place"), [pair for pair in MAGNITUDES if pair not in TOO_FINE])
@pytest.mark.filterwarnings("ignore")
def test_block_models(extension: str, size: float, place: float, tmp_path: Path) -> None:
    frame = lattice(size, place)
    frame.to_parquet(tmp_path / "a.parquet")
    path = tmp_path / f"b{extension}"
    geodomain.convert_blocks(tmp_path / "a.parquet", path)
    wanted, found = columns(tmp_path / "a.parquet", tmp_path), columns(path, tmp_path)
    assert (found[:, 3] == wanted[:, 3]).all()
    exact = extension in (".csv", ".parquet", ".pq")  # others hold corners, and the mean is read
    away = np.abs(found[:, :3] - wanted[:, :3]).max()
    assert away == 0 if exact else away <= 2 * np.spacing(abs(place) + 3 * size)


@pytest.mark.parametrize(("size", "place"), MAGNITUDES[:-1])  # no place is at -1e31
@pytest.mark.filterwarnings("ignore")
def test_labelled_legacy_images_stay_where_they_are(
    size: float, place: float, tmp_path: Path
) -> None:
    numbers = {
        "spacing": [size * 1.23456789012345, size, size * 3],
        "origin": [place, place + size / 7, -place - size / 3],
    }
    lines = [f"{word.upper()} {' '.join(map(repr, each))}" for word, each in numbers.items()]
    head = ["# vtk DataFile Version 3.0", "ORIGIN 1 2 3", "ASCII", "DATASET STRUCTURED_POINTS"]
    (tmp_path / "a.vtk").write_text(
        "\n".join([*head, "DIMENSIONS 3 3 3", *lines, "CELL_DATA 8", "SCALARS au double 1",
                   "LOOKUP_TABLE default", *["1234567.891234567"] * 8, ""])
    )  # fmt: skip
    far = Mesh(np.eye(4, 3) * 1e35, TRIANGLES)
    geodomain.label_file(tmp_path / "a.vtk", {"ORE": far}, tmp_path / "b.vtk", allow_disjoint=True)
    image = pyvista.read(tmp_path / "b.vtk")
    assert [*image.spacing] == numbers["spacing"] and [*image.origin] == numbers["origin"]
    assert image.cell_data["au"][0] == 1234567.891234567
