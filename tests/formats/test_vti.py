"""A `.vti` file with arrays more keeps its own bytes, and VTK reads what it would have written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from late import pv
from wireframes import box

from geodomain import Domain, TableError, label_file
from geodomain.formats import vti
from geodomain.formats import vtk as vtk_blocks
from geodomain.formats.wireframes import write_mesh

DOMAINS = [
    Domain("ORE", box((0, 0, 0), (22, 18, 31)), code=7),
    Domain('HALÓ & "B"', box((10, 10, 5), (40, 30, 41)), code=-3),
]
MODES = ("Ascii", "Binary", "Appended")


def image(*, turned: bool = False) -> pv.ImageData:
    """Return blocks with arrays of every sort."""
    grid = pv.ImageData(dimensions=(10, 9, 11), spacing=(5, 4, 4.1), origin=(-2, 0.1, -1))
    if turned:
        grid.direction_matrix, grid.origin = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], (40, 0.1, -1)
    grid.cell_data["AU"] = np.linspace(0, 1, grid.n_cells, dtype=np.float32)
    grid.cell_data["ROCK"] = np.array(["a", "b", ""])[np.arange(grid.n_cells) % 3].tolist()
    grid.cell_data["V"] = np.arange(3.0 * grid.n_cells).reshape(-1, 3)
    grid.cell_data["B"] = (np.arange(grid.n_cells) % 2).astype(np.uint8)
    grid.point_data["P"] = np.arange(grid.n_points)
    grid.field_data["site"] = ["North pit"]
    return grid


def write(path: Path, grid: pv.ImageData, mode: str, **settings: int) -> bytes:
    """Write an image by VTK, with settings of its writer such as SetHeaderType=64."""
    from vtkmodules.vtkIOXML import vtkXMLImageDataWriter

    writer = vtkXMLImageDataWriter()
    writer.SetInputData(grid)
    writer.SetFileName(str(path))
    getattr(writer, f"SetDataModeTo{mode}")()
    for name, value in settings.items():
        getattr(writer, name)(*([] if value is None else [value]))
    assert writer.Write()
    return path.read_bytes()


def require_same(after: pv.ImageData, before: pv.ImageData, *more: str) -> None:
    """Hold all but some arrays of the cells against each other."""
    assert [*after.cell_data] == [*before.cell_data, *more]
    for kind in ("cell_data", "point_data", "field_data"):
        for name, array in getattr(before, kind).items():
            found = getattr(after, kind)[name]
            assert found.dtype == array.dtype and (found == array).all()
    assert after.dimensions == before.dimensions and after.origin == before.origin
    assert after.spacing == before.spacing
    assert (np.asarray(after.direction_matrix) == np.asarray(before.direction_matrix)).all()


def expected(grid: pv.ImageData) -> list[str]:
    """Return the labels of the blocks by the middle that PyVista gives them."""
    x, y, z = grid.cell_centers().points.T
    first = (x > 0) & (x < 22) & (y > 0) & (y < 18) & (z > 0) & (z < 31)
    second = (x > 10) & (x < 40) & (y > 10) & (y < 30) & (z > 5) & (z < 41)
    return np.where(first, "ORE", np.where(second, DOMAINS[1].name, "")).tolist()


SETTINGS = {
    "as it comes": {},
    "64 bits": {"SetHeaderType": 64},
    "big ends first": {"SetByteOrder": 0},
    "not compressed": {"SetCompressorTypeToNone": None},
    "not compressed, big ends first, 64 bits": {
        "SetCompressorTypeToNone": None, "SetByteOrder": 0, "SetHeaderType": 64,
    },
    "raw": {"SetEncodeAppendedData": 0},
    "raw, not compressed": {"SetEncodeAppendedData": 0, "SetCompressorTypeToNone": None},
}  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_arrays_are_added_and_all_bytes_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, mode: str, turned: bool
) -> None:
    grid, path, out = image(turned=turned), tmp_path / "a.vti", tmp_path / "b.vti"
    before = write(path, grid, mode, **SETTINGS[settings])
    monkeypatch.setattr(vti, "_CELLS", 100)
    monkeypatch.setattr(vti, "_BLOCK", 512)
    monkeypatch.setattr(vti, "_BASE64", 300)
    with monkeypatch.context() as patch:
        patch.setattr(vtk_blocks, "read_dataset", None)  # it is not read by VTK
        summary = label_file(path, DOMAINS, out, flags=True)
    after = pv.read(out)
    require_same(after, pv.read(path), "domain", "in_ore", 'in_haló & "b"')
    labels = expected(grid)
    assert after.cell_data["domain"].tolist() == labels
    assert after.cell_data["in_ore"].tolist() == [int(label == "ORE") for label in labels]
    assert after.cell_data["in_ore"].dtype == np.int32
    assert [part.blocks for part in summary.domains] == [labels.count(d.name) for d in DOMAINS]
    data = out.read_bytes()
    common = next(i for i, (a, b) in enumerate(zip(before, data, strict=False)) if a != b)
    assert data.endswith(before[common:]) and len(data) > len(before) > common
    # What was written can be labelled again, and by VTK's own path the same comes out.
    label_file(out, DOMAINS, tmp_path / "c.vti", column="again", codes=True)
    again = pv.read(tmp_path / "c.vti").cell_data["again"]
    codes = {"ORE": 7.0, DOMAINS[1].name: -3.0}
    np.testing.assert_array_equal(again, [codes.get(label, np.nan) for label in labels])


def test_codes_are_integers_where_every_block_has_one(tmp_path: Path) -> None:
    write(tmp_path / "a.vti", image(), "Appended")
    for code, kind in (("0", np.int32), (str(-(2**31)), np.int64)):
        out = tmp_path / f"{kind.__name__}.vti"
        label_file(tmp_path / "a.vti", DOMAINS, out, codes=True, background=code, unassigned="9")
        found = pv.read(out).cell_data["domain"]
        assert found.dtype == kind and set(found.tolist()) == {7, -3, int(code)}


def test_shares_are_doubles(tmp_path: Path) -> None:
    write(tmp_path / "a.vti", image(), "Binary")
    label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti", proportions="itself")
    found = pv.read(tmp_path / "b.vti").cell_data["prop_ore"]
    assert found.dtype == np.float64
    assert found.sum() * 5 * 4 * 4.1 == pytest.approx(22 * (18 - 0.1) * 31)


@pytest.mark.parametrize("cells", ["<CellData/>", '<CellData Scalars="a" />', ""])
def test_an_image_without_arrays(tmp_path: Path, cells: str) -> None:
    text = (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="ImageData" version="0.1" byte_order="LittleEndian">\n'
        '<ImageData WholeExtent="1 11 0 10 0 10" Origin="0 0 0" Spacing="2 2 2.1">\n'
        f'<Piece Extent="1 11 0 10 0 10">\n<PointData/>{cells}\n</Piece>\n</ImageData>\n</VTKFile>'
    )
    (tmp_path / "a.vti").write_text(text)
    label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    grid = pv.read(tmp_path / "b.vti")
    labels = grid.cell_data["domain"]
    assert grid.extent == (1, 11, 0, 10, 0, 10) and labels.tolist() == expected(grid)


UNUSUAL = {
    "a comment": (b"<PointData", b"<!-- <CellData> --><PointData"),
    "Latin-1": (b'version="1.0"', b'version="1.0" encoding="ISO-8859-1"'),
    "a compressor of its own": (b"vtkZLibDataCompressor", b"vtkLZ4DataCompressor"),
    "a bracket in a name": (b'Name="AU"', b'Name="A>U"'),
    "two arrays of a name": (b'Name="V"', b'Name="B"'),
    "an array without a name": (b'Name="V"', b""),
    "a piece that is smaller": (b'Piece Extent="0 9', b'Piece Extent="0 8'),
    "no origin": (b"Origin=", b"Other="),
    "a cut": (b"</VTKFile>", b""),
    "an offset beyond the end": (b'offset="', b'offset="9999999'),
    "an offset of 5,000 digits": (b'offset="', b'offset="' + b"9" * 5000),
    "an offset in Arabic digits": (b'offset="0', b'offset="\xd9\xa0'),
    "text before": (b"<?xml", b"x<?xml"),
    "text between": (b"<VTKFile", b"x<VTKFile"),
    "text of no array": (b"</CellData>", b"\0</CellData>"),
    "no array among the arrays": (b'<DataArray type="Float32" Name="AU"', b'<X Name="AU"'),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_is_left_to_vtk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    old, new = UNUSUAL[what]
    data = write(tmp_path / "a.vti", image(), "Appended")
    assert old in data
    (tmp_path / "a.vti").write_bytes(data.replace(old, new))
    read: list[Path] = []

    def note(path: Path, *_: object) -> None:
        read.append(path)
        message = "read by VTK"
        raise TableError(message)

    monkeypatch.setattr(vtk_blocks, "read_dataset", note)
    with pytest.raises(TableError, match="read by VTK"):
        label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    assert len(read) == 1 and not (tmp_path / "b.vti").exists()


def test_text_after_an_image_is_left_to_vtk(tmp_path: Path) -> None:
    data = write(tmp_path / "a.vti", image(), "Ascii")
    (tmp_path / "a.vti").write_bytes(data + b"<!-- and -->more")
    with pytest.raises(TableError, match="cannot be read by VTK"):
        label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    (tmp_path / "a.vti").write_bytes(b"\xef\xbb\xbf\n" + data.split(b"\n", 1)[1] + b"\n\n ")
    label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    require_same(pv.read(tmp_path / "b.vti"), image(), "domain")


NO_NUMBERS = {
    "an underscore": (b'Spacing="5 4', b'Spacing="1_0 4'),
    "digits of another script": (b'Spacing="5 4', b'Spacing="\xd9\xa3 4'),
    "infinite": (b'Spacing="5 4', b'Spacing="1e400 4'),
    "not a number": (b'Origin="-2', b'Origin="nan'),
    "commas": (b'Origin="-2 ', b'Origin="-2,'),
    "an extent with a point": (b'WholeExtent="0 9', b'WholeExtent="0 9.5'),
    "an extent of 5,000 digits": (b'WholeExtent="0 9', b'WholeExtent="0 ' + b"9" * 5000),
    "eight for a matrix": (b'Direction="1 0', b'Direction="1'),
    "a matrix that stretches": (b'Direction="1 0', b'Direction="2 0'),
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_a_place_that_is_no_numbers_is_refused(tmp_path: Path, what: str) -> None:
    """VTK takes others in their place, 1 for a spacing, and says nothing."""
    old, new = NO_NUMBERS[what]
    data = write(tmp_path / "a.vti", image(), "Appended")
    assert old in data
    (tmp_path / "a.vti").write_bytes(data.replace(old, new))
    with pytest.raises(TableError, match=r"numbers: correct it|is not a rotation"):
        label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    assert not (tmp_path / "b.vti").exists()


def test_a_column_that_is_replaced_or_asked_for_is_read_by_vtk(tmp_path: Path) -> None:
    grid = image()
    write(tmp_path / "a.vti", grid, "Appended")
    rich = Domain("ORE", DOMAINS[0].meshes[0], only_if={"B": 1})
    label_file(tmp_path / "a.vti", [rich], tmp_path / "b.vti", column="ROCK", replace=True)
    after = pv.read(tmp_path / "b.vti")
    assert [*after.cell_data] == [*grid.cell_data]
    some = np.array(expected(grid)) == "ORE"
    assert ((after.cell_data["ROCK"] == "ORE") == (some & (grid.cell_data["B"] == 1))).all()


def test_labelled_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.vti"
    write(path, image(), "Appended")
    label_file(path, DOMAINS, path, overwrite=True)
    require_same(pv.read(path), image(), "domain")
    assert [*tmp_path.iterdir()] == [path]


def test_too_long_for_the_numbers_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where four bytes do not tell how long an array is, VTK has to write it."""
    write(tmp_path / "a.vti", image(), "Binary", SetCompressorTypeToNone=None)
    monkeypatch.setattr(vti, "_longest", lambda form: 100)
    label_file(tmp_path / "a.vti", DOMAINS, tmp_path / "b.vti")
    require_same(pv.read(tmp_path / "b.vti"), image(), "domain")


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.vti"
    data = write(path, image(), "Appended")

    def cut(done: int, total: int | None) -> None:
        path.write_bytes(data[: len(data) // 2])

    with pytest.raises(OSError, match="while it was read"):
        label_file(path, DOMAINS, tmp_path / "b.vti", progress=cut)
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_is_replaced_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, known = tmp_path / "a.vti", tmp_path / "other", vti.read_head
    write(path, image(), "Appended")
    write(other, pv.ImageData(dimensions=(30, 9, 11)), "Binary")

    def read_head(*given: Any) -> object:
        found = known(*given)
        other.replace(path)
        return found

    monkeypatch.setattr(vti, "read_head", read_head)
    with pytest.raises(OSError, match="was replaced by another file while it was read"):
        label_file(path, DOMAINS, tmp_path / "b.vti")
    assert not (tmp_path / "b.vti").exists()


def test_vtk_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path / "a.vti", image(), "Appended")
    write_mesh(DOMAINS[0].meshes[0], tmp_path / "ore.obj")
    program = (
        "import sys, geodomain; geodomain.label_file('a.vti', {'ORE': 'ore.obj'}, 'b.vti'); "
        "print([name for name in sys.modules if name.startswith(('vtk', 'pyvista'))])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
