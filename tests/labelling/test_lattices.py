"""Labels of grids and lattices: those of their centres, whichever way they are found."""

from __future__ import annotations

import numpy as np
import pytest
from grids import GRIDS, centres_of
from late import pyvista
from sheets import level
from wireframes import box, cube, roofless

import geodomain
from geodomain import Domain, Domains, Stack, label_grid, label_lattice, label_points

NEAR = box((0, 0, 0), (9, 9, 9))
HALO = box((5, 5, 5), (15, 15, 15))
DOMAINS = {
    "a mapping": {"ORE": cube(), "HALO": [HALO, box((-3, -3, -3), (0, 0, 0))]},
    "locators": {"ORE": geodomain.PointLocator(cube()), "HALO": HALO},
    "first": Domains((Domain("ORE", cube()), Domain("HALO", HALO)), background="W"),
    "last": Domains(
        (
            Domain("ORE", cube()),
            Domain("HALO", HALO),
            Domain("K", NEAR, keep=True),
        ),
        order="last",
    ),
    "winding": [Domain("ORE", cube(), rule="winding")],
    "open": [Domain("ORE", roofless(), rule="winding")],
    "surface": [Domain("ORE", cube()), Domain("AIR", level(6.0), kind="above")],
    "stack": [Domain("ORE", cube()), Stack([level(6.0)], ["AIR", "ROCK"])],
    "inverted": [Domain("OUT", cube(), invert=True)],
}


@pytest.mark.filterwarnings("ignore:roofless is not closed")
@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("grid", GRIDS)
def test_a_grid_has_the_labels_of_its_centres(grid, kind) -> None:
    cells, domains = GRIDS[grid](), DOMAINS[kind]
    expected = label_points(centres_of(cells), domains, unassigned="?")
    assert len(set(expected.tolist())) > 1
    found = label_grid(cells, domains, unassigned="?")
    assert found.shape == (cells.n_cells,) and found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    assert label_points(cells, domains, unassigned="?").tolist() == expected.tolist()


@pytest.mark.parametrize("grid", ["ImageData", "turned", "RectilinearGrid"])
def test_every_backend_labels_alike(grid, backend) -> None:
    cells, domains = GRIDS[grid](), DOMAINS["last"]
    expected = label_points(centres_of(cells), domains, backend="cpu")
    assert label_grid(cells, domains, backend=backend).tolist() == expected.tolist()
    lattice = label_lattice(*AXES, domains, backend=backend)
    assert lattice.tolist() == label_lattice(*AXES, domains, backend="cpu").tolist()
    inside = geodomain.contains(cube(), cells, backend=backend)
    assert inside.tolist() == geodomain.contains(cube(), centres_of(cells)).tolist()


def test_conditions_are_about_the_data_of_the_cells() -> None:
    grid = GRIDS["ImageData"]()
    grid.cell_data["Grade"] = np.arange(grid.n_cells)
    rich = Domain("RICH", cube(), only_if={"grade": {">=": 100}})
    found = label_grid(grid, [rich])
    inside = geodomain.contains(cube(), grid)
    assert ((found == "RICH") == (inside & (np.arange(grid.n_cells) >= 100))).all()
    assert inside[:100].any() and (found == "RICH").any()
    with pytest.raises(geodomain.DomainError, match="'zone'"):
        label_grid(grid, [Domain("A", cube(), only_if={"zone": 1})])


@pytest.mark.parametrize("kind", ["nothing", "array", "surface"])
def test_what_is_no_grid_is_refused(kind: str) -> None:
    thing = {"nothing": None, "array": np.zeros((2, 3)), "surface": pyvista.Sphere()}[kind]
    with pytest.raises(TypeError, match=r"a grid must be a pyvista ImageData.*not"):
        label_grid(thing, {"ORE": cube()})


AXES = (
    np.array([12.0, 1, 7, 7, np.nan, -3, 10, 0]),  # in no order, twice, missing, on walls
    np.array([1.0, 9, 16]),
    np.array([-1.0, 0, 6, 10, np.inf]),
)


@pytest.mark.filterwarnings("ignore:roofless is not closed")
@pytest.mark.parametrize("kind", DOMAINS)
def test_a_lattice_has_the_labels_of_its_points(kind) -> None:
    points = np.stack([a.ravel() for a in np.meshgrid(*AXES, indexing="ij")], axis=1)
    expected = label_points(points, DOMAINS[kind], background="-", unassigned="?")
    found = label_lattice(*AXES, DOMAINS[kind], background="-", unassigned="?")
    assert found.shape == (8, 3, 5) and found.flags.c_contiguous
    assert found.ravel().tolist() == expected.tolist()


def test_a_lattice_without_blocks() -> None:
    assert label_lattice([], [1], [1], {"ORE": cube()}).shape == (0, 1, 1)
    assert label_lattice([1], [1], [], [Domain("AIR", level(1.0), kind="above")]).shape == (1, 1, 0)


def test_columns_of_a_lattice() -> None:
    rich = [Domain("RICH", cube(), only_if={"grade": {">=": 5}})]
    grade = np.arange(6.0).reshape(2, 1, 3)
    found = label_lattice([1, 2], [1], [1, 2, 3], rich, columns={"grade": grade})
    assert found.tolist() == [[["", "", ""]], [["", "", "RICH"]]]
    with pytest.raises(ValueError, match=r"\(nx, ny, nz\)"):
        label_lattice([1, 2], [1], [1, 2, 3], rich, columns={"grade": grade.ravel()})


def data_array():
    xarray = pytest.importorskip("xarray")
    x, y, z = np.arange(-1.0, 13), np.arange(0.5, 17, 4), np.arange(0.25, 9)
    grade = xarray.DataArray(
        np.arange(14.0 * 5 * 9).reshape(9, 14, 5),
        dims=("z", "x", "y"),
        coords={"x": ("x", x, {"units": "m"}), "y": y, "z": z},
        name="grade",
    )
    return grade, (x, y, z)


def test_coordinates_of_xarray() -> None:
    data, axes = data_array()
    expected = label_lattice(*axes, DOMAINS["first"])
    found = label_lattice(data.x, data.y, data.z, DOMAINS["first"])
    assert type(found) is type(data) and found.dims == ("x", "y", "z") and found.name == "domain"
    assert found.values.tolist() == expected.tolist()
    assert found.x.attrs == {"units": "m"} and found.z.values.tolist() == axes[2].tolist()
    like = label_lattice(data.x, data.y, data.z, DOMAINS["first"], like=data)
    assert like.dims == data.dims and like.shape == data.shape
    assert like.sel(x=5, y=0.5, z=2.25).item() == "ORE"
    assert (like.transpose("x", "y", "z").values == expected).all()
    assert (data.where(like == "ORE").count() == (expected == "ORE").sum()).item()
    rich = [Domain("RICH", cube(), only_if={"grade": {">=": 300}})]
    some = label_lattice(data.x, data.y, data.z, rich, like=data, columns={"grade": data})
    assert ((some == "RICH") <= (data >= 300)).all() and (some == "RICH").any()


def test_coordinates_that_are_no_dimensions() -> None:
    data, axes = data_array()
    renamed = data.rename(x="east").swap_dims(east="i").reset_coords(drop=False)
    found = label_lattice(renamed.east, renamed.y, renamed.z, DOMAINS["first"], like=renamed)
    assert set(found.dims) == {"i", "y", "z"} and found.east.dims == ("i",)
    assert (found.transpose("i", "y", "z").values == label_lattice(*axes, DOMAINS["first"])).all()


def climate_like():
    """Return a Dataset by the CF conventions: a CRS, a map of places, bounds, a grade in blocks."""
    data, _ = data_array()
    grade = data.astype(np.float32)
    grade.attrs = {"units": "g/t", "grid_mapping": "crs"}
    model = grade.to_dataset()
    model["other"] = data * 2
    model = model.assign_coords(crs=0, level=("z", np.arange(9)), run=("time", [1, 2]))
    model = model.assign_coords(lon=(("y", "x"), np.zeros((5, 14))))
    model.crs.attrs = {"grid_mapping_name": "transverse_mercator", "epsg_code": "EPSG:28350"}
    model.z.attrs = {"positive": "up", "axis": "Z", "standard_name": "height"}
    model.attrs = {"Conventions": "CF-1.11"}
    return model


def test_a_label_keeps_coordinates_and_the_grid_mapping() -> None:
    model = climate_like()
    found = label_grid(model, DOMAINS["first"])
    assert set(found.coords) == {"x", "y", "z", "crs", "level", "lon"}
    assert found.crs.attrs == model.crs.attrs and found.z.attrs == model.z.attrs
    assert found.attrs == {"grid_mapping": "crs", "long_name": "domain"}
    assert set(label_grid(model.grade, DOMAINS["first"]).coords) == set(found.coords)
    plain = label_lattice(model.x, model.y, model.z, DOMAINS["first"])
    assert set(plain.coords) == {"x", "y", "z"} and plain.attrs == {}
    inside = geodomain.contains_lattice(cube(), model)
    assert inside.attrs["grid_mapping"] == "crs" and "crs" in inside.coords


def test_only_variables_of_conditions_are_loaded() -> None:
    xarray = pytest.importorskip("xarray")
    model = climate_like()

    class Loaded(xarray.backends.BackendArray):
        shape, dtype = model.other.shape, model.other.dtype

        def __getitem__(self, key: object) -> None:
            pytest.fail("a variable that no condition uses was loaded")

    lazy = xarray.core.indexing.LazilyIndexedArray(Loaded())
    model["other"] = (model.other.dims, lazy)
    rich = [Domain("RICH", cube(), only_if={"grade": {">=": 300}})]
    found = label_grid(model, rich)
    assert ((found == "RICH") <= (model.grade >= 300)).all() and (found == "RICH").any()


@pytest.mark.full
@pytest.mark.parametrize(
    ("library", "write", "read"),
    [("h5netcdf", "to_netcdf", "open_dataset"), ("zarr", "to_zarr", "open_zarr")],
)
@pytest.mark.filterwarnings("ignore")
def test_a_label_in_a_file_is_read_back(tmp_path, library: str, write: str, read: str) -> None:
    pytest.importorskip(library)
    xarray = pytest.importorskip("xarray")
    path, more = tmp_path / "a.store", {"engine": library} if library == "h5netcdf" else {}
    getattr(climate_like(), write)(path, **more)
    for coords in ("coordinates", "all"):
        with getattr(xarray, read)(path, decode_coords=coords, **more) as model:
            model = model.assign(domain=label_grid(model, DOMAINS["first"], background="WASTE"))
            out = tmp_path / f"{coords}.store"
            getattr(model, write)(out, **more)
        with getattr(xarray, read)(out, decode_coords="all", **more) as again:
            assert again.attrs == {"Conventions": "CF-1.11"}
            assert again.domain.encoding["grid_mapping"] == "crs" and "crs" in again.coords
            assert again.domain.dims == climate_like().grade.dims
            expected = label_grid(climate_like(), DOMAINS["first"], background="WASTE")
            assert (again.domain.values == expected.values).all()
            assert again.grade.equals(climate_like().grade)


def test_coordinates_that_do_not_fit_are_refused() -> None:
    data, axes = data_array()
    with pytest.raises(TypeError, match="must all be coordinates of xarray"):
        label_lattice(data.x, data.y, axes[2], DOMAINS["first"])
    with pytest.raises(TypeError, match="like= is given, x, y and z must be coordinates"):
        label_lattice(*axes, DOMAINS["first"], like=data)
    with pytest.raises(ValueError, match="one dimension each, all different"):
        label_lattice(data.x, data.x, data.z, DOMAINS["first"])
    with pytest.raises(ValueError, match=r"like= has the dimensions \['z', 'y'\]"):
        label_lattice(data.x, data.y, data.z, DOMAINS["first"], like=data.isel(x=0))
