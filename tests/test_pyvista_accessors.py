"""The accessor `.geodomain` of PyVista: the library's answers as arrays of a copy, or in place."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
from grids import GRIDS, image
from late import pandas, pyvista
from plugins import declared, has_plugins
from wireframes import cube, roofless

import geodomain
from geodomain import GeodomainWarning, TableError

pytestmark = has_plugins
ORE = {"ORE": cube()}


def run(code: str, program: str = sys.executable) -> str:
    """Run code in a fresh process; warnings are errors. Return what it prints."""
    done = subprocess.run(
        [program, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYVISTA_OFF_SCREEN": "true"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FRESH = """
import sys, pyvista
assert not [name for name in sys.modules if name.startswith("geodomain")]
assert "geodomain" in dir(pyvista.PolyData())
assert not [name for name in sys.modules if name.startswith("geodomain")]
grid = pyvista.ImageData(dimensions=(5, 5, 5), spacing=(2, 2, 2), origin=(-4, -4, -4))
ball = pyvista.Sphere(radius=3)
made = grid.geodomain.label({"ORE": ball}, background="WASTE")
print((made.cell_data["domain"] == "ORE").sum(), ball.geodomain.check().closed)
"""


def test_accessors_need_nothing_but_pyvista() -> None:
    assert declared("pyvista.accessors") == {"geodomain": "geodomain.pyvista_accessors"}
    assert run(FRESH) == "8 True"


@pytest.mark.full
@pytest.mark.parametrize("release", ["0.48", "0.49"])
def test_accessors_with_another_release(release: str) -> None:
    variable = f"GEODOMAIN_PYVISTA_{release.replace('.', '_')}"
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name a python with PyVista {release} and geodomain")
    assert run(FRESH, os.environ[variable]) == "8 True"


@pytest.mark.full
def test_nothing_happens_with_an_old_release() -> None:
    variable = "GEODOMAIN_PYVISTA_0_45"
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name a python with PyVista 0.45 and geodomain")
    code = """
import sys, pyvista
assert not hasattr(pyvista.PolyData(), "geodomain") and not hasattr(pyvista, "register_reader")
import geodomain, geodomain.pyvista_accessors
grid = pyvista.ImageData(dimensions=(5, 5, 5), spacing=(2, 2, 2), origin=(-4, -4, -4))
assert not hasattr(grid, "geodomain")
print((geodomain.label(grid, {"ORE": pyvista.Sphere(radius=3)}) == "ORE").sum())
"""
    assert run(code, os.environ[variable]) == "8"


@pytest.mark.parametrize("kind", GRIDS)
def test_cells_of_every_grid_are_labelled_as_by_the_library(kind: str) -> None:
    grid = GRIDS[kind]()
    made = grid.geodomain.label(ORE, background="WASTE")
    assert type(made) is type(grid) and made is not grid
    assert grid.array_names == []
    labels = made.cell_data["domain"]
    assert (labels == geodomain.label_grid(grid, ORE, background="WASTE")).all()
    assert {*labels.tolist()} == {"ORE", "WASTE"}
    inside = grid.geodomain.contains(cube()).cell_data["inside"]
    assert inside.dtype == bool and ((labels == "ORE") == inside).all()
    away = grid.geodomain.distances(ORE, signed=True).cell_data["dist_ore"]
    assert ((away < 0) <= inside).all() and ((away > 0) <= ~inside).all()
    shares = grid.geodomain.proportions(ORE).cell_data["prop_ore"]
    sizes = np.abs(grid.compute_cell_sizes().cell_data["Volume"])
    assert (shares * sizes).sum() == pytest.approx(1000)


def test_in_place_changes_the_grid_and_nothing_else() -> None:
    grid = image()
    grid.cell_data["AU"] = np.arange(grid.n_cells, dtype=float)
    grid.field_data["note"] = [1]
    assert grid.geodomain.label(ORE, inplace=True, column="zone") is grid
    assert grid.geodomain.contains(cube(), inplace=True, column="in") is grid
    assert set(grid.array_names) == {"AU", "zone", "in", "note"}
    assert grid.active_scalars_name == "in"
    again = grid.geodomain.label({"ROCK": cube()}, column="zone")
    assert set(again.cell_data["zone"].tolist()) == {"ROCK", ""}
    assert set(grid.cell_data["zone"].tolist()) == {"ORE", ""}


def test_labels_replace_an_array_of_bool() -> None:
    """PyVista notes which arrays are bool, and a shallow copy shares these notes."""
    grid = image()
    inside = grid.geodomain.contains(cube(), column="zone")
    made = inside.geodomain.label(ORE, column="zone")
    assert set(made.cell_data["zone"].tolist()) == {"ORE", ""}
    assert inside.cell_data["zone"].dtype == bool
    assert set(grid.geodomain.label(ORE, column="zone").cell_data["zone"].tolist()) == {"ORE", ""}
    points = pyvista.PolyData([[1.0, 1, 1], [11, 1, 1]]).geodomain.contains(cube(), column="zone")
    points.geodomain.label(ORE, column="zone", inplace=True)
    assert points.point_data["zone"].tolist() == ["ORE", ""]


def test_the_solids_of_a_file_are_domains(tmp_path) -> None:
    beside = geodomain.Mesh(cube().vertices + np.array([10.0, 0, 0]), cube().triangles)
    geodomain.write_mesh({"ORE": cube(), "DYKE": beside}, tmp_path / "solids.dxf")
    solids = pyvista.read(tmp_path / "solids.dxf")
    made = image().geodomain.label(solids, background="WASTE").cell_data["domain"]
    expected = geodomain.label_grid(image(), {"ORE": cube(), "DYKE": beside}, background="WASTE")
    assert (made == expected).all()
    assert {*image().geodomain.proportions(solids).array_names} == {"prop_ore", "prop_dyke"}
    solids.append(None, "EMPTY")
    assert (image().geodomain.label(solids, background="WASTE")["domain"] == expected).all()
    solids.append(solids["ORE"], "ORE")
    assert "'ORE' is the name of both" in wrong(lambda: image().geodomain.label(solids))


def test_conditions_use_cell_data() -> None:
    grid = image()
    grid.cell_data["AU"] = np.arange(grid.n_cells, dtype=float)
    rich = geodomain.Domain("RICH", cube(), only_if={"AU": {">=": 100}})
    made = grid.geodomain.label([rich])
    inside = grid.geodomain.contains(cube()).cell_data["inside"]
    assert ((made.cell_data["domain"] == "RICH") == (inside & (grid.cell_data["AU"] >= 100))).all()


def test_one_mesh_needs_no_name_for_distances() -> None:
    made = image().geodomain.distances(cube())
    assert made.active_scalars_name == "distance"
    assert (made.cell_data["distance"] >= 0).all()


def test_points_are_labelled_as_points() -> None:
    places = [[1.0, 1, 1], [11, 1, 1], [5, 5, 5]]
    for points in (pyvista.PolyData(places), pyvista.PointSet(places)):
        made = points.geodomain.label({"ÖRE": cube()}, background="WASTE")
        assert made.point_data["domain"].tolist() == ["ÖRE", "WASTE", "ÖRE"]
        rich = [geodomain.Domain("RICH", cube(), only_if={"AU": {">": 1}})]
        made = points.geodomain.label(rich, columns={"AU": [0, 2, 2]})
        assert made.point_data["domain"].tolist() == ["", "", "RICH"]
        made = points.geodomain.contains(cube())
        assert made.point_data["inside"].tolist() == [True, False, True]


def test_sub_blocks_are_those_of_the_file(tmp_path) -> None:
    grid = image()
    grid.cell_data["AU"] = np.arange(grid.n_cells, dtype=float)
    grid.cell_data["T"] = np.full(grid.n_cells, 8.0)
    settings = {"scheme": "octree", "minimum": (1, 1.5, 1.25), "extensive": "T", "merge": True}
    grid.save(tmp_path / "a.vti")
    out = tmp_path / "b.vtu"
    with pytest.warns(GeodomainWarning, match="more volume"):
        made = grid.geodomain.subblock(ORE, background="WASTE", **settings)
    with pytest.warns(GeodomainWarning, match="more volume"):
        geodomain.subblock_file(tmp_path / "a.vti", ORE, out, background="WASTE", **settings)
    written = pyvista.read(out)
    assert isinstance(made, pyvista.UnstructuredGrid) and made.n_cells == written.n_cells
    assert (made.points == written.points).all()
    for name in ("AU", "T", "parent", "domain"):
        assert (made.cell_data[name] == written.cell_data[name]).all()
    assert made.cell_data["T"].sum() == pytest.approx(8 * grid.n_cells)
    assert (made.cell_data["AU"] == grid.cell_data["AU"][made.cell_data["parent"]]).all()


def test_tonnes_of_a_turned_grid_are_those_of_a_table() -> None:
    grid = GRIDS["turned"]()
    grid.cell_data["AU"] = np.linspace(0, 2, grid.n_cells)
    grid = grid.geodomain.label(ORE, background="WASTE")
    result = grid.geodomain.tonnes(density=2.5, grade="AU", bench=5)
    x, y, z = grid.cell_centers().points.astype(float).T
    frame = pandas.DataFrame({"X": x, "Y": y, "Z": z, "DX": 3.0, "DY": 2.0, "DZ": 2.5})
    frame["domain"], frame["AU"] = grid.cell_data["domain"], grid.cell_data["AU"]
    expected = geodomain.tonnes(frame, density=2.5, grade="AU", bench=5)
    assert str(result) == str(expected)
    assert str(geodomain.tonnes(grid, density=2.5, grade="AU", bench=5)) == str(expected)


def test_surfaces_are_checked_and_repaired() -> None:
    open_box = roofless().to_pyvista()
    assert not open_box.geodomain.check().closed
    closed = open_box.geodomain.fill_holes(10)
    assert closed.geodomain.check().closed and closed.is_manifold
    assert closed.field_data["fill_added"].tolist() == [1]
    assert not open_box.geodomain.check().closed
    assert open_box.geodomain.volume_report().volume is None
    assert closed.geodomain.volume_report().volume == pytest.approx(1000)
    assert open_box.geodomain.fill_holes(10, inplace=True) is open_box
    assert open_box.is_manifold


def test_a_weld_returns_its_figures() -> None:
    box = cube().to_pyvista()
    loose = box.separate_cells().extract_surface(algorithm=None)
    loose.points[0] += [0.0004, 0, 0]
    loose.field_data["source"] = ["survey"]
    welded = loose.geodomain.weld(0.001)
    assert welded.n_points == 8 and welded.geodomain.check().closed
    assert welded.field_data["weld_moved"].tolist() == [1]
    assert welded.field_data["weld_largest_move"][0] == pytest.approx(0.0004)
    assert welded.field_data["source"].tolist() == ["survey"]


def test_coarse_single_precision_is_told() -> None:
    far = image()
    far.origin = (7_480_000, 7_480_000, 0)
    single = far.cast_to_structured_grid()
    single.points = single.points.astype(np.float32)
    single.cell_data["zone"] = np.ones(single.n_cells)
    with pytest.warns(GeodomainWarning, match="accurate to 0.5"):
        single.geodomain.label(ORE)
    with pytest.warns(GeodomainWarning, match="accurate to 0.5"):
        single.geodomain.tonnes(density=1, column="zone")
    points = pyvista.PolyData(np.float32([[7_480_000, 0, 0]])).geodomain
    calls = (points.contains, points.distances, lambda mesh: points.label({"ORE": mesh}))
    for call in calls:
        with pytest.warns(GeodomainWarning, match="accurate to 0.5") as told:
            call(cube())
        assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far.geodomain.contains(cube())
        image().cast_to_structured_grid().geodomain.contains(cube())


def wrong(call) -> str:
    with pytest.raises((TypeError, TableError, ValueError, geodomain.GeodomainError)) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_wrong_objects_are_named_in_a_sentence() -> None:
    grid = image()
    assert "not int" in wrong(lambda: grid.geodomain.contains(3))
    assert "not dict" in wrong(lambda: grid.geodomain.contains(ORE))
    assert "int" in wrong(lambda: grid.geodomain.label(3))
    assert "backgruond" in wrong(lambda: grid.geodomain.label(ORE, backgruond="W"))
    assert "not closed" in wrong(lambda: grid.geodomain.contains(roofless())).replace(
        "open", "not closed"
    )
    assert "flat" in wrong(lambda: pyvista.ImageData(dimensions=(5, 5, 1)).geodomain.label(ORE))
    tetrahedra = pyvista.UnstructuredGrid({10: np.array([[0, 1, 2, 3]])}, np.eye(4, 3))
    assert "not blocks" in wrong(lambda: tetrahedra.geodomain.label(ORE))
    assert "domain" in wrong(lambda: grid.geodomain.tonnes(density=2.5))
    assert "octree" in wrong(lambda: grid.geodomain.subblock(ORE, scheme="cubes", minimum=1))
    lines = pyvista.Line()
    assert "lines" in wrong(lambda: lines.geodomain.check())
    assert "a domain's name is 1" in wrong(lambda: grid.geodomain.label({1: cube()}))
    alike = {"ORE": cube(), "ore": cube()}
    assert "the array 'dist_ore'" in wrong(lambda: grid.geodomain.distances(alike))
    rich = [geodomain.Domain("RICH", cube(), only_if={"AU": {">": 1}})]
    assert "an array of the grid's cells" in wrong(lambda: grid.geodomain.label(rich))
    surface = cube().to_pyvista().geodomain
    assert "tolerance" in wrong(lambda: surface.weld(-1))
    assert wrong(lambda: surface.weld("wide")).endswith("at least 0, not wide")
    assert "max_edges is many, but" in wrong(lambda: surface.fill_holes("many"))
    for name in ("", 3):
        assert "name of an array" in wrong(lambda name=name: grid.geodomain.label(ORE, column=name))
        assert "name of an array" in wrong(
            lambda name=name: grid.geodomain.contains(cube(), column=name)
        )
    assert "0 x 0 x 0 cells" in wrong(lambda: pyvista.ImageData().geodomain.label(ORE))


def test_an_accessor_does_not_keep_its_data_set_alive() -> None:
    grid = image()
    grid.geodomain.contains(cube())
    gone = weakref.ref(grid)
    del grid
    gc.collect()
    assert gone() is None


def test_an_old_release_registers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from geodomain import pyvista_accessors

    monkeypatch.delattr("pyvista.register_dataset_accessor")
    pyvista_accessors.register()
