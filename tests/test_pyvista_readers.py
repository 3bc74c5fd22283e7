"""`pyvista.read` of our formats: wireframes, solids by name, block models with all columns."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import mining_files
import numpy as np
import omf_models
import pytest
from geoh5_files import Maker
from grids import image, rectilinear, turned
from late import needs, pandas, pyvista
from plugins import declared, has_plugins
from wireframes import box, cube

import geodomain
from geodomain import GeodomainWarning, MeshError, TableError
from geodomain.formats.blocks import gathered
from geodomain.formats.registry import FORMATS
from geodomain.tables.options import table_options

pytestmark = has_plugins
# What PyVista 0.48 or 0.49 reads itself, of the extensions of our formats.
OWN = {
    ".glb", ".obj", ".ply", ".stl", ".tif", ".tiff", ".vti", ".vtk", ".vtm", ".vtmb", ".vtp",
    ".vtr", ".vts", ".vtu",
}  # fmt: skip
WIREFRAMES = [".dxf", ".msh", ".off", ".omf", ".ts"]


def moved(*by: float) -> geodomain.Mesh:
    return geodomain.Mesh(cube().vertices + np.array(by), cube().triangles)


TWO = {"ore": cube(), "dyke": moved(20, 0, 0)}


def test_every_other_extension_of_our_formats_is_declared() -> None:
    from pyvista.core.utilities.reader import CLASS_READERS

    from geodomain.pyvista_readers import extensions

    found = declared("pyvista.readers")
    assert set(found.values()) == {"geodomain.pyvista_readers:read"}
    assert set(found) == set(extensions()) - OWN
    assert set(CLASS_READERS) >= OWN and not set(found) & set(CLASS_READERS)
    assert {e for form in FORMATS for e in form.extensions} <= set(found) | OWN
    assert not declared_overrides()


def declared_overrides() -> list[str]:
    from importlib.metadata import entry_points

    found = entry_points(group="pyvista.readers.override")
    return [point.value for point in found if point.value.startswith("geodomain.")]


FRESH = """
import sys, pyvista
surface = pyvista.read(sys.argv[1])
print(type(surface).__name__, surface.n_cells, surface.points.dtype)
"""


def fresh(path: Path, program: str = sys.executable) -> str:
    """Read a file in a fresh process, with nothing imported but PyVista."""
    done = subprocess.run(
        [program, "-W", "error", "-c", FRESH, path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_reader_needs_nothing_but_pyvista(tmp_path: Path) -> None:
    geodomain.write_mesh(cube(), tmp_path / "pit.dtm")
    assert fresh(tmp_path / "pit.dtm") == "PolyData 12 float64"


@pytest.mark.full
@pytest.mark.parametrize("release", ["0.48", "0.49"])
def test_a_reader_with_another_release(release: str, tmp_path: Path) -> None:
    variable = f"GEODOMAIN_PYVISTA_{release.replace('.', '_')}"
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name a python with PyVista {release} and geodomain")
    geodomain.write_mesh(cube(), tmp_path / "pit.dtm")
    assert fresh(tmp_path / "pit.dtm", os.environ[variable]) == "PolyData 12 float64"


# --- Wireframes.


@pytest.mark.parametrize("extension", WIREFRAMES)
def test_a_wireframe_keeps_every_coordinate(extension: str, tmp_path: Path) -> None:
    if extension == ".omf":
        pytest.importorskip("pyarrow")
    mesh = moved(414_000.1, 7_480_000.7, 0.3)
    path = tmp_path / f"pit{extension}"
    geodomain.write_mesh(mesh, path)
    surface = pyvista.read(path)
    assert isinstance(surface, pyvista.PolyData) and surface.points.dtype == np.float64
    corners = surface.points[surface.regular_faces]
    assert sorted(map(tuple, corners.reshape(-1, 9))) == sorted(
        map(tuple, mesh.vertices[mesh.triangles].reshape(-1, 9))
    )


@pytest.mark.parametrize("extension", [".dxf", ".ts", ".omf"])
def test_several_solids_keep_their_names(extension: str, tmp_path: Path) -> None:
    if extension == ".omf":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"pit{extension}"
    geodomain.write_mesh(TWO, path)
    several = pyvista.read(path)
    assert isinstance(several, pyvista.MultiBlock) and several.keys() == ["ore", "dyke"]
    assert [block.geodomain.check().closed for block in several] == [True, True]
    assert several["dyke"].bounds[0] == 20


def test_surpac_and_datamine(tmp_path: Path) -> None:
    path = mining_files.surpac_text(tmp_path, {(1, 1): mining_files.surpac_corners()})
    assert pyvista.read(path).n_cells == 8
    mining_files.datamine_pair(tmp_path, 8, "<")
    colours = pyvista.read(tmp_path / "atr.dm")
    assert isinstance(colours, pyvista.MultiBlock) and sum(b.n_cells for b in colours) == 8


def test_landxml_by_either_extension(tmp_path: Path) -> None:
    for extension in (".xml", ".landxml"):
        path = tmp_path / f"pit{extension}"
        path.write_text(mining_files.landxml())
        assert pyvista.read(path).keys() == [*geodomain.read_meshes(path)]


def test_the_content_decides(tmp_path: Path) -> None:
    geodomain.write_mesh(cube(), tmp_path / "pit.ts")
    (tmp_path / "pit.ts").rename(tmp_path / "pit.dxf")
    with pytest.warns(GeodomainWarning, match=r"rename it to \.ts"):
        assert pyvista.read(tmp_path / "pit.dxf").n_cells == 12
    (tmp_path / "pit.dxf").rename(tmp_path / "pit.bin")
    with pytest.warns(GeodomainWarning, match=r"rename it to \.ts"):
        assert pyvista.read(tmp_path / "pit.bin", force_ext=".ts").n_cells == 12


def test_coarse_single_precision_in_a_file_is_told(tmp_path: Path) -> None:
    geodomain.write_mesh(moved(7_480_000, 0, 0), tmp_path / "a.stl")
    (tmp_path / "a.stl").rename(tmp_path / "a.stlb")
    with pytest.warns(GeodomainWarning, match="accurate to 0.5"):
        pyvista.read(tmp_path / "a.stlb")


# --- Extensions of other programs.


def test_files_of_meshio_go_on_to_meshio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.msh"
    path.write_text("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")
    monkeypatch.setitem(sys.modules, "meshio", type("M", (), {"ReadError": ValueError}))
    monkeypatch.setattr("pyvista.read_meshio", lambda place: ("by meshio", place.name))
    assert pyvista.read(path) == ("by meshio", "a.msh")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(MeshError, match=r"a\.msh is not a Leapfrog mesh.* pip install meshio"):
        pyvista.read(path)


@pytest.mark.full
@needs("meshio")
def test_a_mesh_of_gmsh_is_read_by_meshio(tmp_path: Path) -> None:
    path = tmp_path / "a.msh"
    grid = pyvista.Sphere().cast_to_unstructured_grid()
    pyvista.save_meshio(path, grid, file_format="gmsh")
    assert pyvista.read(path).n_cells == pyvista.Sphere().n_cells
    for name in ("a.msh", "a.xml"):
        for text in ("junk", "", "\x00\xff"):
            (tmp_path / name).write_text(text, "latin-1")
            with pytest.raises(MeshError, match=r"and meshio cannot read it either$"):
                pyvista.read(tmp_path / name)


def test_pictures_stay_pyvistas_own(tmp_path: Path) -> None:
    grid = pyvista.ImageData(dimensions=(4, 3, 1))
    grid.point_data["v"] = np.arange(12, dtype=np.uint8)
    from vtkmodules.vtkIOImage import vtkTIFFWriter

    writer = vtkTIFFWriter()
    writer.SetInputData(grid)
    writer.SetFileName(str(tmp_path / "a.tif"))
    writer.Write()
    assert isinstance(pyvista.read(tmp_path / "a.tif"), pyvista.ImageData)


# --- Block models.


def same_blocks(grid, source: Path, **table: object) -> None:
    """Assert that the cells and arrays of a grid are the blocks and columns of a file."""
    blocks = gathered(str(source), table_options(**table))
    boxes = np.array([grid.get_cell(number).bounds for number in range(grid.n_cells)])
    places = grid.cell_centers().points.astype(float)
    mine = np.lexsort(np.round(places, 6).T)
    other = np.lexsort(np.round(blocks.centroids, 6).T)
    assert np.allclose(places[mine], blocks.centroids[other], rtol=0, atol=1e-6)
    if blocks.sizes is not None and (blocks.axes == np.eye(3)).all():
        assert np.allclose((boxes[:, 1::2] - boxes[:, ::2])[mine], blocks.sizes[other])
    assert list(blocks.others()) == list(grid.cell_data.keys())
    for name, values in blocks.others().items():
        held = np.asarray(grid.cell_data[name])[mine]
        if values.dtype.kind in "OU":
            expected = ["" if text is None else str(text) for text in values[other].tolist()]
            assert held.tolist() == expected
        else:
            assert np.array_equal(held, values[other], equal_nan=True)


def table_of(grid, **columns: object):
    """Return the cells of a grid as a table in a random order."""
    boxes = np.array([grid.get_cell(number).bounds for number in range(grid.n_cells)])
    low, high = boxes[:, ::2], boxes[:, 1::2]
    names = ["XC", "YC", "ZC", "XINC", "YINC", "ZINC"]
    frame = pandas.DataFrame(np.hstack([(low + high) / 2, high - low]), columns=names)
    frame["AU"] = np.arange(len(frame)) / 8
    frame["ROCK"] = np.resize(["ÖX", "FR", ""], len(frame))
    for name, values in columns.items():
        frame[name] = values
    return frame.sample(frac=1, random_state=1)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.txt", "a.parquet", "a.xlsx"])
def test_a_regular_table_is_an_image(name: str, tmp_path: Path) -> None:
    path, frame = tmp_path / name, table_of(image())
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    grid = pyvista.read(path)
    assert isinstance(grid, pyvista.ImageData)
    assert grid.dimensions == image().dimensions and grid.spacing == image().spacing
    assert grid.origin == image().origin
    same_blocks(grid, path)


def test_a_table_of_varying_spacing_is_rectilinear(tmp_path: Path) -> None:
    table_of(rectilinear()).to_csv(tmp_path / "a.csv", index=False)
    grid = pyvista.read(tmp_path / "a.csv")
    assert isinstance(grid, pyvista.RectilinearGrid)
    for axis in "xyz":
        assert (getattr(grid, axis) == getattr(rectilinear(), axis)).all()
    same_blocks(grid, tmp_path / "a.csv")


def test_a_table_with_gaps_is_unstructured(tmp_path: Path) -> None:
    table_of(image()).iloc[7:].to_csv(tmp_path / "a.csv", index=False)
    grid = pyvista.read(tmp_path / "a.csv")
    assert isinstance(grid, pyvista.UnstructuredGrid)
    same_blocks(grid, tmp_path / "a.csv")


def test_sizes_follow_from_a_full_lattice_alone(tmp_path: Path) -> None:
    frame = table_of(image())[["XC", "YC", "ZC", "AU"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert pyvista.read(tmp_path / "a.csv").spacing == image().spacing
    frame.iloc[1:].to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(TableError, match=r"^b\.csv has no block sizes, .* dx=, dy= and dz=$"):
        pyvista.read(tmp_path / "b.csv")
    from geodomain.pyvista_readers import read

    same_blocks(
        read(str(tmp_path / "b.csv"), dx=2, dy=3, dz=2.5), tmp_path / "b.csv", dx=2, dy=3, dz=2.5
    )


@needs("pyarrow")
def test_a_turned_table_is_a_turned_image(tmp_path: Path) -> None:
    turned().save(tmp_path / "a.vti")
    geodomain.convert_blocks(tmp_path / "a.vti", tmp_path / "b.omf")
    grid = pyvista.read(tmp_path / "b.omf")
    assert isinstance(grid, pyvista.ImageData)
    assert np.allclose(grid.cell_centers().points, turned().cell_centers().points)
    assert np.allclose(grid.direction_matrix, turned().direction_matrix)


def test_centres_of_a_grid_are_those_of_the_table(tmp_path: Path) -> None:
    """With thirds and tenths, an ImageData would round the centres of the blocks."""
    for step in (0.1, 1 / 3, 0.7):
        places = np.round(414_000 + step * (np.arange(30) + 0.5), 12)
        frame = pandas.DataFrame({"X": places, "Y": 5.0, "Z": 5.0, "DX": step, "DY": 10, "DZ": 10})
        frame.to_csv(tmp_path / "a.csv", index=False)
        grid = pyvista.read(tmp_path / "a.csv")
        axis = grid.x if isinstance(grid, pyvista.RectilinearGrid) else None
        if axis is None:
            axis = grid.origin[0] + grid.spacing[0] * np.arange(31)
        assert np.abs((axis[1:] + axis[:-1]) / 2 - places).max() <= 2 * np.spacing(414_000.0)


@pytest.mark.parametrize("axes", [omf_models.STRAIGHT, omf_models.TURNED])
def test_omf_1_models(axes, tmp_path: Path) -> None:
    path = tmp_path / "a.omf"
    path.write_bytes(omf_models.omf1(axes))
    same_blocks(pyvista.read(path), path)


def test_several_models_of_a_project_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "a.omf"
    path.write_bytes(omf_models.omf1(names=("Coarse", "Fine")))
    several = pyvista.read(path)
    assert isinstance(several, pyvista.MultiBlock) and several.keys() == ["Coarse", "Fine"]
    same_blocks(several["Fine"], Path(f"{path}:Fine"))


@needs("pyarrow")
@pytest.mark.parametrize("sub", [None, "Regular", "Freeform"])
def test_omf_2_models(sub: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.omf"
    path.write_bytes(omf_models.omf2(sub=sub))
    grid = pyvista.read(path)
    assert isinstance(grid, pyvista.UnstructuredGrid) or sub is None
    same_blocks(grid, path)


def test_datamine_model(tmp_path: Path) -> None:
    frame = table_of(image())
    fields = {name: frame[name].tolist() for name in frame.columns if name != "ROCK"}
    (tmp_path / "a.dm").write_bytes(mining_files.datamine_table(fields, 8, "<"))
    grid = pyvista.read(tmp_path / "a.dm")
    assert isinstance(grid, pyvista.ImageData)
    same_blocks(grid, tmp_path / "a.dm")


def test_a_label_on_the_grid_is_the_label_of_the_file(tmp_path: Path) -> None:
    table_of(image()).to_csv(tmp_path / "a.csv", index=False)
    domains = {"ORE": cube()}
    with pytest.warns(GeodomainWarning, match="more volume"):
        geodomain.label_file(tmp_path / "a.csv", domains, tmp_path / "b.csv")
    grid = pyvista.read(tmp_path / "a.csv").geodomain.label(domains)
    read = pyvista.read(tmp_path / "b.csv")
    assert (grid.cell_data["domain"] == read.cell_data["domain"]).all()


@needs("h5py")
def test_all_surfaces_and_models_of_a_workspace(tmp_path: Path) -> None:
    """Objects of different kinds may have one name, in one group or in several."""
    path = tmp_path / "a.geoh5"
    edges = ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0], [0.0, 1.0])
    with Maker(path) as made:
        pit = made.group("Pit: 2026")
        made.surface("Ore", box((0, 0, 0), (1, 2, 3)), pit)
        made.surface("Ore", box((0, 0, 0), (1, 2, 4)))
        made.surface("Waste", box((0, 0, 0), (1, 2, 5)))
        for group in (pit, None):
            blocks = made.blocks("Model", edges, parent=group)
            made.data(blocks, "ROCK", np.arange(4, dtype="<u4") % 3, "Referenced", {1: "Ö", 2: "b"})
            made.data(blocks, "AU", np.arange(4) / 8)
        made.blocks("Waste", edges)
        made.octree("Tree: 1/2", [(0, 0, 0, 2), (2, 0, 0, 2)], (4, 4, 4), (5.0, 5.0, -4.0))
    several = pyvista.read(path)
    surfaces = [
        name
        for name, part in zip(several.keys(), several, strict=True)
        if isinstance(part, pyvista.PolyData)
    ]
    assert surfaces == [*geodomain.read_meshes(path)] and len(surfaces) == 3
    assert several["Pit: 2026/Ore"].bounds[5] == 3 and several["Waste"].bounds[5] == 5
    models = {*several.keys()} - {*surfaces}
    assert len(models) == 4 and {"Pit: 2026/Model", "Waste (blocks)", "Tree: 1/2"} < models
    same_blocks(several["Pit: 2026/Model"], Path(f"{path}:Pit: 2026/Model"))
    assert {*several["Pit: 2026/Model"].cell_data["ROCK"].tolist()} == {"", "Ö", "b"}
    assert several["Tree: 1/2"].n_cells == 2


# --- Files that cannot be read, and addresses.


def test_files_that_cannot_be_read_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "meshio", None)

    def told(name: str, text: str, error: type[Exception] = MeshError) -> str:
        (tmp_path / name).write_text(text)
        with pytest.raises(error) as caught:
            pyvista.read(tmp_path / name)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "its format is not recognised" in told("a.dxf", "hello\n")
    assert "empty" in told("b.dtm", "")
    assert "no complete set of centroid columns" in told("c.csv", "a,b\n1,2\n", TableError)
    assert "LandXML" in told("d.xml", "<a/>\n")
    assert "no blocks" in told("e.csv", "X,Y,Z,DX,DY,DZ\n", TableError)
    assert "lack a centroid" in told("f.csv", "X,Y,Z,DX,DY,DZ\n1,1,,2,2,2\n", TableError)
    from geodomain.pyvista_readers import read

    geodomain.write_mesh(cube(), tmp_path / "h.dxf")
    with pytest.raises(
        TypeError, match=r"^h\.dxf is a wireframe: dx= is an option for block models only$"
    ):
        read(str(tmp_path / "h.dxf"), dx=10)
    (tmp_path / "i.omf").write_bytes(omf_models.omf1(names=("A",)))
    with pytest.raises(
        TypeError, match=r"^i\.omf is a project: dx= is an option for block models only$"
    ):
        read(str(tmp_path / "i.omf"), dx=10)


def test_an_address_is_downloaded_by_pyvista(tmp_path: Path) -> None:
    geodomain.write_mesh(cube(), tmp_path / "pit.dxf")
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(quiet, directory=tmp_path)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        surface = pyvista.read(f"http://127.0.0.1:{server.server_port}/pit.dxf")
        server.shutdown()
    assert surface.n_cells == 12
