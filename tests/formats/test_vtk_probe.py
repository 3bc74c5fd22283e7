"""A child reads what VTK may crash on; its end is an answer, and the next file has another one."""

from __future__ import annotations

import base64
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import seeds
from late import pyvista

from geodomain import MeshError, read_mesh
from geodomain.formats import vtk, vtk_probe
from geodomain.formats.vtk_probe import Probe


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "one.vtp"
    path.write_text(seeds.vtp())
    return path


def test_one_child_serves_many_files(one: Path) -> None:
    probe = Probe()
    child = probe.start()
    assert [probe.read(one, ".vtp", 60.0).fault for _ in range(3)] == [None] * 3
    assert probe.start() is child
    probe.close()
    assert child.returncode is not None


def test_a_child_that_crashes_is_followed_by_another(one: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.vtk"
    bad.write_text(seeds.BAD_VTK["vtk, a corner that is not there"][1])
    probe = Probe()
    assert probe.read(bad, ".vtk", 60.0).fault
    assert probe.read(one, ".vtp", 60.0).fault is None
    probe.close()


def test_a_child_that_does_not_end_is_killed(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vtk_probe, "_CHILD", one.with_name("sleep.py"))
    one.with_name("sleep.py").write_text("import time\ntime.sleep(600)\n")
    probe = Probe()
    assert probe.read(one, ".vtp", 0.5).fault == "VTK does not finish within 0 s"
    probe.close()


def test_a_child_that_is_gone_is_no_hang(one: Path) -> None:
    probe = Probe()
    probe.start().kill()
    assert str(probe.read(one, ".vtp", 60.0).fault).startswith(
        ("None", "VTK crashes on it, or needs")
    )
    assert probe.read(one, ".vtp", 60.0).fault is None
    probe.close()


def test_modules_beside_the_user_are_not_imported(
    one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one.parent / "vtkmodules").mkdir()
    (one.parent / "vtkmodules" / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(one.parent)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    probe = Probe()
    assert probe.read(one, ".vtp", 60.0).fault is None
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
    with pytest.raises(MeshError, match=r"a\.vtk cannot be read \(its header has .*, but the file"):
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
        vtk_probe.read_data(path, ".vtk", MeshError)
    scalars = "POINTS 1 float\n0 0 0\nPOINT_DATA 1\nSCALARS a int\nLOOKUP_TABLE mine\n99999999\n"
    path.write_text(HEAD + scalars)
    vtk_probe.read_data(path, ".vtk", MeshError)


def packed_vtp(points: int, block: int) -> str:
    """Return a VTP of a triangle whose compressed points say that they become a block of bytes."""
    data = zlib.compress(struct.pack("<9d", 0, 0, 0, 1, 0, 0, 0, 1, 0))
    head = base64.b64encode(struct.pack("<4Q", 1, block, 0, len(data)))
    text = (head + base64.b64encode(data)).decode()
    text = re.sub(r"\n0 0 0 1 0 0 0 1 0\n", text, seeds.vtp(points=str(points)))
    kind = 'header_type="UInt64" compressor="vtkZLibDataCompressor"'
    return text.replace('format="ascii"', 'format="binary"', 1).replace(
        "<VTKFile", f"<VTKFile {kind}"
    )


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses")
def test_what_a_child_could_read_does_not_end_its_parent(tmp_path: Path) -> None:
    """A child once had more room than its parent, which VTK ended by signal 6."""
    for part in range(1, 13):
        (tmp_path / f"{part:02}.vtp").write_text(packed_vtp(3, part * 250_000_000))
    program = """
import resource, sys
from pathlib import Path
import pyvista
import geodomain
from geodomain import memory
limit = resource.getrlimit(resource.RLIMIT_AS)[1]
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 2_000_000_000, limit))
for path in sorted(Path(sys.argv[1]).glob("*.vtp")):
    try:
        geodomain.read_mesh(path)
    except geodomain.MeshError as error:
        print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 12
    assert "needs more than the 1." in lines[-1] and "GEODOMAIN_MEMORY allows more" in lines[-1]


def test_what_a_header_promises_is_counted_before_vtk_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.vtp"
    path.write_text(packed_vtp(3, 72))
    assert len(read_mesh(path).triangles) == 1
    monkeypatch.setattr(vtk_probe, "_SHORTER", 1e9)
    path.write_text(packed_vtp(10**8, 72))
    monkeypatch.setattr(vtk_probe, "probe", lambda: pytest.fail("VTK was asked"))
    with pytest.raises(
        MeshError,
        match=r"a\.vtp, with the number of values .* GEODOMAIN_MEMORY=5GB",
    ):
        vtk_probe.read_data(path, ".vtp", MeshError)


@pytest.mark.parametrize("kind", ["vti", "vtr", "vts"])
def test_an_extent_is_counted_with_its_arrays(kind: str, tmp_path: Path) -> None:
    names = {"vti": "ImageData", "vtr": "RectilinearGrid", "vts": "StructuredGrid"}
    path = tmp_path / f"a.{kind}"
    path.write_text(
        f'<VTKFile type="{names[kind]}" byte_order="LittleEndian"><{names[kind]} '
        'WholeExtent="0 3000 0 3000 0 3000" Origin="0 0 0" Spacing="1 1 1">'
        '<Piece Extent="0 2 0 2 0 2"><CellData><DataArray type="Float64" Name="a" format="ascii">'
        f"1 2 3 4 5 6 7 8</DataArray></CellData></Piece></{names[kind]}></VTKFile>"
    )
    with pytest.raises(MeshError, match=r"its header declares, has 0.* become 216 GB"):
        vtk_probe.read_data(path, path.suffix, MeshError)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses")
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_file_that_lies_ends_in_one_sentence_under_a_limit(limit: int, tmp_path: Path) -> None:
    (tmp_path / "a.vtp").write_text(packed_vtp(3, 6_000_000_000))
    program = f"ulimit -v {limit * 1_000_000} && exec {sys.executable} -m geodomain check a.vtp"
    run = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: a.vtp")


def test_no_file_is_parsed_in_this_process(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyvista, "get_reader", lambda *_, **__: pytest.fail("VTK reads it here"))
    assert len(read_mesh(one).triangles) == 1
    pyvista.Sphere().strip().save(one)
    assert len(read_mesh(one).triangles) == pyvista.Sphere().n_cells
    image = pyvista.ImageData(dimensions=(3, 4, 5))
    image.save(one.with_suffix(".vtk"))
    assert vtk.read_dataset(one.with_suffix(".vtk"), ".vtk").dimensions == (3, 4, 5)


def test_a_plain_wireframe_takes_no_pyvista(one: Path) -> None:
    program = (
        "import sys, geodomain; geodomain.read_mesh(sys.argv[1]); print('pyvista' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program, str(one)], capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


def furnished(data: pyvista.DataSet) -> pyvista.DataSet:
    """Add arrays of every kind, with what VTK stores beside their values."""
    random = np.random.default_rng(1)
    for name, rows, arrays in (
        ("cell", data.n_cells, data.cell_data),
        ("point", data.n_points, data.point_data),
    ):
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            arrays[f"{name} {kind}"] = random.integers(0, 9, (rows, 3)).astype(kind)
        arrays[f"{name} bool"] = random.integers(0, 2, rows).astype(bool)
        arrays[f"{name} text"] = np.array(["a", "b c", ""] * rows)[:rows]
        arrays[f"{name} one"] = random.random(rows)
    data.field_data["note"], data.field_data["TimeValue"] = ["x y", "z"], [3.5]
    units = data.GetCellData().GetAbstractArray("cell f8")
    units.SetComponentName(0, "R")
    units.GetInformation().Set(units.UNITS_LABEL(), "m")
    units.GetRange(-1)
    from vtkmodules.vtkCommonCore import vtkBitArray  # PyVista brings it

    bits = vtkBitArray()
    bits.SetName("bits")
    for row in range(data.n_cells):
        bits.InsertNextValue(row % 3 == 0)
    data.GetCellData().AddArray(bits)
    data.set_active_scalars("cell one", preference="cell")
    data.GetPointData().SetActiveVectors("point f4")
    return data


def dataset(kind: str) -> pyvista.DataSet:
    """Return a data set of a kind."""
    image = pyvista.ImageData(
        dimensions=(3, 4, 5), spacing=(0.1, 0.2, 0.3), origin=(6771234.5, 0, -2)
    )
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    return {
        "image": lambda: image,
        "rectilinear": lambda: pyvista.RectilinearGrid([0.0, 1, 4], [0.0, 1], [0.0, 2, 3]),
        "structured": image.cast_to_structured_grid,
        "unstructured": image.cast_to_unstructured_grid,
        "cube": pyvista.Cube,
        "strips": lambda: pyvista.Sphere().strip(),
        "mixed": lambda: pyvista.PolyData(corners, lines=[2, 0, 1], faces=[3, 0, 1, 2]),
    }[kind]()


@pytest.mark.parametrize("extension", ["own", ".vtk"])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("image", ".vti"),
        ("rectilinear", ".vtr"),
        ("structured", ".vts"),
        ("unstructured", ".vtu"),
        ("cube", ".vtp"),
        ("strips", ".vtp"),
        ("mixed", ".vtp"),
    ],
)
def test_what_the_child_hands_over_has_the_bytes_of_what_vtk_reads(
    kind: str, own: str, binary: bool, extension: str, tmp_path: Path
) -> None:
    extension = own if extension == "own" else extension
    path = tmp_path / f"a{extension}"
    furnished(dataset(kind)).save(path, binary=binary)
    with vtk.vtk_errors():
        expected = vtk.encoded(pyvista.get_reader(str(path)).read(), path.name)
    assert vtk.encoded(vtk.read_dataset(path, extension), path.name) == expected
