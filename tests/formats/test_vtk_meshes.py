"""Meshes from PyVista's data sets and back."""

from __future__ import annotations

import locale
from pathlib import Path

import numpy as np
import pytest
from late import pyvista
from shapes import cube
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, Mesh, MeshError, read_mesh, read_meshes
from geodomain.formats.vtk import encode, vtk_errors


def test_a_cube_of_quads_is_closed() -> None:
    mesh = Mesh.from_pyvista(pyvista.Cube().clean(), name="cube")
    assert mesh.is_closed
    assert len(mesh.triangles) == 12
    assert mesh.name == "cube"


def test_there_and_back_at_mine_coordinates() -> None:
    mesh = cube(at=(414_000.1, 7_480_000.7, 310.3))
    surface = mesh.to_pyvista()
    assert surface.points.dtype == np.float64
    again = Mesh.from_pyvista(surface)
    assert np.array_equal(again.vertices, mesh.vertices)
    assert np.array_equal(again.triangles, mesh.triangles)
    surface.points[:] = 0
    assert mesh.vertices.max() > 1


def test_single_precision_is_widened_not_rounded() -> None:
    points = cube().vertices.astype(np.float32) + np.float32(0.1)
    surface = pyvista.PolyData(points, [3, 0, 1, 2])
    assert Mesh.from_pyvista(surface).vertices[0, 0] == float(np.float32(0.1))


def test_strips_turn_as_their_faces_do() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0]], dtype=float)
    surface = pyvista.PolyData(corners, faces=[3, 0, 1, 2], strips=[4, 1, 3, 2, 4])
    mesh = Mesh.from_pyvista(surface)
    a, b, c = mesh.vertices[mesh.triangles].transpose(1, 0, 2)
    assert len(mesh.triangles) == 3
    assert (np.cross(b - a, c - a)[:, 2] == 1).all()


@pytest.mark.parametrize(
    ("dataset", "what"),
    [
        (lambda: pyvista.Line(), "line"),
        (lambda: pyvista.PolyData(cube().vertices), "vertices"),
        (lambda: pyvista.ImageData(dimensions=(3, 3, 3)), "ImageData"),
        (lambda: pyvista.ImageData(dimensions=(3, 3, 3)).cast_to_unstructured_grid(), "voxels"),
    ],
)
def test_other_cells_are_refused_by_name(dataset, what: str) -> None:
    with pytest.raises(MeshError, match=what):
        Mesh.from_pyvista(dataset())


def test_the_process_keeps_its_locale(tmp_path: Path) -> None:
    """VTK 9.4 leaves "C" behind a legacy file, and `open` would read ASCII from then on."""
    before = locale.setlocale(locale.LC_ALL)
    path = tmp_path / "cube.vtk"
    with vtk_errors():
        path.write_bytes(encode(pyvista.Cube(), ".vtk"))
        locale.setlocale(locale.LC_ALL, "C")
    assert locale.setlocale(locale.LC_ALL) == before
    assert read_mesh(path).is_closed
    assert locale.setlocale(locale.LC_ALL) == before


def test_ghost_cells_are_left_out(tmp_path: Path) -> None:
    surface = cube().to_pyvista()
    twice = pyvista.merge([surface, surface], merge_points=False).extract_surface(algorithm=None)
    flags = np.zeros(24, dtype=np.uint8)
    flags[12:] = np.resize([1, 32, 33, 8], 12)
    twice.cell_data["vtkGhostType"] = flags
    twice.save(tmp_path / "a.vtp")
    with pytest.warns(GeodomainWarning, match=r"a\.vtp: 12 ghost or hidden cells are left out"):
        mesh = read_mesh(tmp_path / "a.vtp")
    assert len(mesh.triangles) == 12 and mesh.is_closed
    flags[:] = 0
    twice.cell_data["vtkGhostType"] = flags
    twice.save(tmp_path / "a.vtp")
    assert len(read_mesh(tmp_path / "a.vtp").triangles) == 24


def test_the_surfaces_of_a_collection_are_solids_by_name(tmp_path: Path) -> None:
    one, other = cube().to_pyvista(), cube(at=(50, 0, 0)).to_pyvista()
    inner = pyvista.MultiBlock({"LG": other, "nothing": None})
    pyvista.MultiBlock({"HG": one, "inner": inner}).save(tmp_path / "ore.vtm")
    solids = read_meshes(tmp_path / "ore.vtm")
    assert list(solids) == ["HG", "LG"]
    assert all(mesh.is_closed and len(mesh.triangles) == 12 for mesh in solids.values())
    assert read_mesh(tmp_path / "ore.vtm:LG").bounds[0, 0] >= 50 - 1
    assert len(read_mesh(tmp_path / "ore.vtm").triangles) == 24
    summary = geodomain.check_file(tmp_path / "ore.vtm")
    assert "HG" in str(summary)


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ('<DataSet index="0" file="../a.vtp"/>', "outside the folder of"),
        ('<DataSet index="0" file="/etc/passwd"/>', "outside the folder of"),
        ('<DataSet index="0" file="b/a.vtp"/>', "its file b/a.vtp is missing"),
        ('<DataSet index="0" file="i.vti"/>', "i.vti, which is not a surface"),
        ("", "lists no files"),
        ("<DataSet", "damaged"),
    ],
)
def test_a_collection_that_cannot_be_read(tmp_path: Path, parts: str, what: str) -> None:
    pyvista.ImageData(dimensions=(3, 3, 3)).save(tmp_path / "i.vti")
    text = (
        f'<VTKFile type="vtkMultiBlockDataSet"><vtkMultiBlockDataSet>{parts}</vtkMultiBlockDataSet>'
    )
    (tmp_path / "a.vtm").write_text(f"{text}</VTKFile>")
    with pytest.raises(MeshError, match=what):
        read_mesh(tmp_path / "a.vtm")


@pytest.mark.parametrize("extension", [".vti", ".vtu", ".vtk"])
def test_ghost_cells_are_no_blocks(tmp_path: Path, extension: str) -> None:
    image = pyvista.ImageData(dimensions=(4, 3, 2), spacing=(10, 10, 10))
    grid = image.cast_to_unstructured_grid() if extension == ".vtu" else image
    grid.cell_data["vtkGhostType"] = np.array([0, 0, 0, 0, 1, 32], np.uint8)
    grid.save(tmp_path / f"a{extension}")
    ore = Mesh(cube().vertices * 1000 - 100, cube().triangles)
    with pytest.warns(GeodomainWarning, match="2 cells are marked as ghosts"):
        summary = geodomain.label_file(
            tmp_path / f"a{extension}", {"ORE": ore}, tmp_path / f"b{extension}", unassigned="NO"
        )
    assert summary.domains[0].blocks == 4 and summary.unassigned.blocks == 2
    assert summary.domains[0].volume == 4000
    labels = pyvista.read(tmp_path / f"b{extension}").cell_data["domain"]
    assert list(labels) == ["ORE"] * 4 + ["NO"] * 2
    with pytest.warns(GeodomainWarning, match="2 cells are marked as ghosts"):
        assert geodomain.convert_blocks(tmp_path / f"a{extension}", tmp_path / "c.csv") == 4


@pytest.mark.parametrize("by", ["centroid", "majority"])
def test_ghosts_of_grids_are_no_blocks_in_memory_as_in_files(tmp_path, by):
    grid = pyvista.ImageData(dimensions=(4, 4, 4), spacing=(5, 5, 5))
    mark = np.zeros(grid.n_cells, np.uint8)
    mark[:9] = 32
    hexahedra = grid.cast_to_unstructured_grid()  # which would empty hidden cells
    for kind in (grid, hexahedra):
        kind.cell_data["vtkGhostType"] = mark
    grid.save(tmp_path / "m.vti")
    domains = {"ORE": box((0, 0, 0), (10, 10, 10))}
    said = "9 cells are marked as ghosts"
    with pytest.warns(geodomain.GeodomainWarning, match=said):
        summary = geodomain.label_file(
            tmp_path / "m.vti", domains, tmp_path / "out.vti", background="WASTE", by=by
        )
    for kind in (grid, hexahedra):
        with pytest.warns(geodomain.GeodomainWarning, match=said) as caught:
            labels = geodomain.label_grid(kind, domains, background="WASTE", by=by)
        assert sum("ghosts" in str(one.message) for one in caught) == 1
        assert np.unique(labels[:9]).tolist() == [""]
        assert (labels == "ORE").sum() == 4
        written = np.asarray(pyvista.read(tmp_path / "out.vti").cell_data["domain"])
        assert written.tolist() == labels.tolist()
    assert summary.domains[0].blocks == 4
