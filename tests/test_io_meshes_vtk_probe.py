"""A child reads what VTK may crash on; its end is an answer, and the next file has another one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyvista")
sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
import pyvista
import seeds

from geodomain import MeshError, read_mesh
from geodomain.io.meshes import vtk_probe
from geodomain.io.meshes.vtk_probe import Probe


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.vtp"
    path.write_text(seeds.vtp())
    return path


def test_one_child_serves_many_files(one: Path) -> None:
    probe = Probe()
    child = probe.start()
    assert [probe.fault(one, ".vtp", 60.0) for _ in range(3)] == [None] * 3
    assert probe.start() is child
    probe.close()
    assert child.returncode is not None


def test_a_child_that_crashes_is_followed_by_another(one: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.vtk"
    bad.write_text(seeds.BAD_VTK["vtk, a corner that is not there"][1])
    probe = Probe()
    assert probe.fault(bad, ".vtk", 60.0)
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_a_child_that_does_not_end_is_killed(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vtk_probe, "_CHILD", one.with_name("sleep.py"))
    one.with_name("sleep.py").write_text("import time\ntime.sleep(600)\n")
    probe = Probe()
    assert probe.fault(one, ".vtp", 0.5) == "VTK does not end within 0 s"
    probe.close()


def test_a_child_that_is_gone_is_no_hang(one: Path) -> None:
    probe = Probe()
    probe.start().kill()
    assert probe.fault(one, ".vtp", 60.0) in (None, "VTK crashes on it")
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_modules_beside_the_user_are_not_imported(
    one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one.parent / "vtkmodules").mkdir()
    (one.parent / "vtkmodules" / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(one.parent)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    probe = Probe()
    assert probe.fault(one, ".vtp", 60.0) is None
    probe.close()


def test_the_sentence_names_the_file_and_the_point(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vtk"
    bad.write_text(seeds.BAD_VTK["vtk, a vertex that is not there"][1])
    with pytest.raises(MeshError, match=r"bad\.vtk cannot be read \(.*999999.*4.*\): .* export"):
        read_mesh(bad)


HEAD = "# vtk DataFile Version 3.0\npoints 999999999 lines\nASCII\nDATASET POLYDATA\n"


@pytest.mark.parametrize(
    "counts",
    [
        "POINTS 999999999 double\n0 0",
        "points\n+999999999 float\n",
        "POINTS 1 float\n0 0 0\nPOLYGONS 1 999999999\n1 0\n",
        "POINTS 1 float\n0 0 0\nVERTICES 999999999 4\n",
        "POINTS 1 float\n0 0 0\nPOINT_DATA 999999999\n",
        "POINTS 1 float\n0 0 0\nPOINT_DATA 40\nSCALARS a double 400\nLOOKUP_TABLE default\n",
        "POINTS 1 float\n0 0 0\nCELL_DATA 40\nCOLOR_SCALARS a 400\n",
        "POINTS 1 float\n0 0 0\nLOOKUP_TABLE a 999999999\n",
        "FIELD FieldData 1\na 400 400 vtktypeint64\n",
        "X_COORDINATES 9999999999999999999999999999 float\n",
    ],
)
def test_counts_beyond_the_file_are_refused_before_vtk_sees_them(
    counts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VTK takes memory for all of them first, more than there may be."""
    monkeypatch.setattr(vtk_probe, "probe", lambda: pytest.fail("VTK was asked"))
    (tmp_path / "a.vtk").write_text(HEAD + counts)
    with pytest.raises(MeshError, match=r"a\.vtk cannot be read \(its header has .*, and the file"):
        read_mesh(tmp_path / "a.vtk")


@pytest.mark.parametrize("binary", [False, True])
def test_counts_of_sound_files_pass(binary: bool, tmp_path: Path) -> None:
    cube = pyvista.Cube().triangulate()
    cube["lines 99999999 99999999"] = np.full(cube.n_cells, 99999999)
    cube.point_data["bits"] = np.full((cube.n_points, 3), 99999999.0)
    grid = pyvista.ImageData(dimensions=(3, 4, 5))
    grid["values"] = np.full(60, 99999999)
    axes = pyvista.RectilinearGrid([0, 1e9, 2e9], [0, 1], [0, 1])
    for data in (cube, grid, axes, grid.cast_to_unstructured_grid()):
        path = tmp_path / "sound.vtk"
        data.save(path, binary=binary)
        vtk_probe.require_sound(path, ".vtk", MeshError)
    scalars = "POINTS 1 float\n0 0 0\nPOINT_DATA 1\nSCALARS a int\nLOOKUP_TABLE mine\n99999999\n"
    path.write_text(HEAD + scalars)
    vtk_probe.require_sound(path, ".vtk", MeshError)
