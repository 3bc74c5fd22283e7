"""What other libraries hold is taken: Arrow streams, geopandas, DLPack, xarray, scenes, TOML."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from late import pd
from wireframes import box, cube

import geodomain

POINTS = np.array([[1.0, 1, 1], [11, 11, 11], [5, 5, 5], [np.nan, 1, 1]])
INSIDE = [True, False, True, False]
LABELS = ["ORE", "W", "ORE", None]


@cache
def blocks() -> pd.DataFrame:
    return pd.DataFrame(POINTS, columns=["XC", "YC", "ZC"])


class Stream:
    """A table of no library, which streams to Arrow."""

    def __init__(self, table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Shared:
    """An array of no library, which shares its memory by DLPack alone."""

    def __init__(self, array) -> None:
        self.array = np.array(array)

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def relation():
    """Return a DuckDB relation; its connection must outlive it."""
    connection = pytest.importorskip("duckdb").connect()
    connection.register("blocks", pytest.importorskip("pyarrow").table(blocks()))
    return connection, connection.sql("select * from blocks")


@pytest.mark.parametrize("kind", ["stream", "reader", "batch"])
def test_a_table_that_streams_to_arrow(kind) -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(blocks())
    make = {
        "stream": Stream,
        "reader": lambda t: t.to_reader(),
        "batch": lambda t: t.to_batches()[0],
    }[kind]
    found = geodomain.label_blocks(make(table), {"ORE": cube()}, background="W")
    assert isinstance(found, arrow.DictionaryArray) and found.to_pylist() == LABELS
    assert geodomain.label(make(table), {"ORE": cube()}, background="W").to_pylist() == LABELS
    assert geodomain.contains(cube(), make(table)).tolist() == INSIDE
    shares = geodomain.proportions_blocks(make(table), {"ORE": cube()}, dx=2, dy=2, dz=2)
    assert shares.column_names == ["XC", "YC", "ZC", "prop_ore"]


def test_a_reader_that_was_read_before_is_told() -> None:
    reader = pytest.importorskip("pyarrow").table(blocks()).to_reader()
    geodomain.label(reader, {"ORE": cube()})
    with pytest.warns(geodomain.GeodomainWarning, match="a reader can be read only once"):
        assert len(geodomain.label(reader, {"ORE": cube()})) == 0


@pytest.mark.full
def test_a_relation_of_duckdb() -> None:
    connection, blocks = relation()
    assert geodomain.label(blocks, {"ORE": cube()}, background="W").to_pylist() == LABELS
    assert geodomain.contains(cube(), blocks).tolist() == INSIDE
    connection.close()


def test_columns_and_data_sets_that_stream_to_arrow_are_no_tables() -> None:
    arrow, pyvista = pytest.importorskip("pyarrow"), pytest.importorskip("pyvista")
    with pytest.raises(TypeError, match="blocks must be"):
        geodomain.label_blocks(arrow.chunked_array([[1.0, 2.0]]), {"ORE": cube()})
    points = pyvista.PolyData(POINTS[:3])
    assert geodomain.label(points, {"ORE": cube()}, background="W").tolist() == LABELS[:3]


@pytest.mark.full
def test_points_of_geopandas() -> None:
    geopandas = pytest.importorskip("geopandas")
    some = POINTS[:3]
    places = geopandas.points_from_xy(*some.T)
    frame = geopandas.GeoDataFrame({"hole": ["A", "B", "C"]}, geometry=places, index=[7, 8, 9])
    found = geodomain.label_blocks(frame, {"ORE": cube()}, background="W")
    assert found.index.tolist() == [7, 8, 9] and found.tolist() == LABELS[:3]
    assert geodomain.contains(cube(), frame).tolist() == INSIDE[:3]
    assert geodomain.contains(cube(), frame.geometry).tolist() == INSIDE[:3]
    shares = geodomain.proportions_blocks(frame, {"ORE": cube()}, dx=2, dy=2, dz=2)
    assert list(shares.columns) == ["hole", "geometry", "prop_ore"]
    both = frame.assign(X=some[:, 0], Y=some[:, 1], Z=some[:, 2])
    assert geodomain.contains(cube(), both).tolist() == INSIDE[:3]
    with pytest.raises(
        geodomain.TableError, match=r"X, Y, Z are not the coordinates of its points"
    ):
        geodomain.label_blocks(both.assign(Z=some[:, 2] + 1), {"ORE": cube()})
    moved = geodomain.label_blocks(
        both.assign(Z=99.0), {"ORE": cube()}, x="X", y="Y", z="geometry.z", background="W"
    )
    assert moved.tolist() == LABELS[:3]
    flat = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(some[:, 0], some[:, 1]))
    with pytest.raises(geodomain.TableError, match="no complete set of centroid columns"):
        geodomain.contains(cube(), flat)


def test_points_in_degrees_are_refused() -> None:
    geopandas = pytest.importorskip("geopandas")
    places = geopandas.points_from_xy(*POINTS[:3].T)
    frame = geopandas.GeoDataFrame({"AU": [1.0, 2, 3]}, geometry=places, crs="EPSG:4326")
    for points in (frame, frame.geometry):
        with pytest.raises(geodomain.TableError, match=r"in degrees \(WGS 84\).* to_crs\(\)$"):
            geodomain.contains(cube(), points)
    metres = frame.set_crs("EPSG:28350", allow_override=True)
    assert geodomain.contains(cube(), metres).tolist() == INSIDE[:3]
    both = frame.assign(X=POINTS[:3, 0], Y=POINTS[:3, 1], Z=POINTS[:3, 2])
    named = {"x": "X", "y": "Y", "z": "Z", "background": "W"}
    assert geodomain.label_blocks(both, {"ORE": cube()}, **named).tolist() == LABELS[:3]


def columns_in_memory() -> dict[str, object]:
    """Return one table of float64 in the libraries that share memory by Arrow."""
    numbers = {name: np.arange(5.0) + place for place, name in enumerate("xyz")}
    made: dict[str, object] = {}
    if (polars := _library("polars")) is not None:
        made["polars"] = polars.DataFrame(numbers)
    if (arrow := _library("pyarrow")) is not None:
        made["arrow"] = arrow.table(numbers)
        made["stream"] = Stream(arrow.table(numbers))
    return made


def _library(name: str):
    try:
        return __import__(name)
    except ImportError:
        return None


@pytest.mark.parametrize("library", ["polars", "arrow", "stream"])
def test_columns_of_arrow_are_not_copied(library: str) -> None:
    from geodomain.tables.in_memory import BlockFrame, numbers_of

    held = columns_in_memory()
    if library not in held:
        pytest.skip(f"{library} is not installed")
    native = held[library]
    frame = BlockFrame(native)
    source = native.table if library == "stream" else native
    for place, name in enumerate("xyz"):
        own = source[name]
        own = own.chunk(0).to_numpy() if hasattr(own, "chunk") else own.to_numpy()
        assert np.shares_memory(numbers_of(frame._series(place)), own)


@pytest.mark.full
def test_a_relation_of_duckdb_is_read_once_by_arrow() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select i + 0.5 as x, i * 1.0 as y, 5.0 as z from range(100000) t(i)")
    found = geodomain.label_blocks(relation, {"ORE": cube()}, background="W")
    assert found.type.value_type == "string" and len(found) == 100000
    inside = geodomain.contains(cube(), relation)
    assert inside.sum() == 10 == found.to_pylist().count("ORE")
    lazy = pytest.importorskip("polars").LazyFrame({"x": [1.0], "y": [1.0], "z": [1.0]})
    with pytest.raises(TypeError, match="collect"):
        geodomain.contains(cube(), lazy)
    assert geodomain.contains(cube(), lazy.collect()).tolist() == [True]


def test_arrays_that_share_memory_by_dlpack() -> None:
    mesh = cube()
    assert geodomain.contains(mesh, Shared(POINTS)).tolist() == INSIDE
    pair = Shared(mesh.vertices), Shared(mesh.triangles)
    assert geodomain.as_mesh(pair).triangles.tolist() == mesh.triangles.tolist()


@pytest.mark.parametrize("point", [[5, 5, 5], (5.0, 5, 5), np.array([5.0, 5, 5])])
def test_one_point_is_one_row(point) -> None:
    mesh = cube()
    assert geodomain.contains(mesh, point).tolist() == [True]
    assert geodomain.label_points(point, {"ORE": mesh}).tolist() == ["ORE"]
    assert geodomain.label(point, {"ORE": mesh}).tolist() == ["ORE"]
    assert geodomain.nearest(mesh, point).distance.shape == (1,)
    assert geodomain.intersect(mesh, point, [50, 5, 5], mode="all").segment.tolist() == [0]
    with pytest.raises(ValueError, match=r"shape \(n, 3\), not \(2,\)"):
        geodomain.contains(mesh, point[:2])


def test_a_scene_is_a_mesh_of_its_placed_meshes() -> None:
    trimesh = pytest.importorskip("trimesh")
    mesh = cube()
    solid = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    scene = trimesh.Scene([solid])
    away = np.eye(4)
    away[0, 3] = 100.0
    scene.add_geometry(solid, transform=away)
    assert geodomain.contains(scene, [[5, 5, 5], [105, 5, 5], [50, 5, 5]]).tolist() == [1, 1, 0]
    assert geodomain.label_points([[105, 5, 5]], {"ORE": scene}).tolist() == ["ORE"]


def test_codes_count_the_names_of_a_mapping() -> None:
    far = box((20, 0, 0), (30, 10, 10))
    points = [[5, 5, 5], [25, 5, 5], [50, 5, 5], [np.nan, 0, 0]]
    codes = geodomain.label_codes(points, {"ORE": cube(), "FAR": geodomain.PointLocator(far)})
    assert codes.tolist() == [0, 1, -1, -2]
    with pytest.raises(geodomain.MeshError, match="'ORE' has 2: use label_points"):
        geodomain.label_codes(points, {"ORE": [cube(), far]})


def test_the_path_of_a_toml_file_goes_where_domains_go(tmp_path: Path) -> None:
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    path = tmp_path / "domains.toml"
    path.write_text('background = "W"\n[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n')
    for domains in (path, str(path)):
        assert geodomain.label_blocks(blocks()[:3], domains).tolist() == LABELS[:3]
        assert geodomain.label_points(POINTS[:3], domains).tolist() == LABELS[:3]
        assert geodomain.label_lattice([1, 11], [1], [1], domains).tolist() == [[["ORE"]], [["W"]]]
    shares = geodomain.proportions_blocks(blocks()[:1], path, dx=2, dy=2, dz=2)
    assert shares["prop_ore"].tolist() == [1.0]


def model(xarray, name="au"):
    """Return an array of grades, (z, y, x), of which half lies in the cube."""
    coords = {"z": [1.0, 5], "y": [5.0], "x": [1.0, 5, 11]}
    return xarray.DataArray(
        np.arange(6.0).reshape(2, 1, 3), dims=("z", "y", "x"), coords=coords, name=name
    )


def test_grids_of_xarray_are_labelled_in_their_own_order() -> None:
    xarray = pytest.importorskip("xarray")
    grades = model(xarray)
    for grid in (grades, grades.to_dataset()):
        for label in (geodomain.label_grid, geodomain.label_lattice, geodomain.label):
            found = label(grid, {"ORE": cube()}, background="W")
            assert isinstance(found, xarray.DataArray) and set(found.dims) == {"x", "y", "z"}
            assert found.sel(z=1, y=5).values.tolist() == ["ORE", "ORE", "W"]
    assert geodomain.label_grid(grades, {"ORE": cube()}).dims == ("z", "y", "x")
    rich = [geodomain.Domain("RICH", cube(), only_if={"au": {">=": 4}})]
    assert geodomain.label_grid(grades, rich).values.ravel().tolist() == [
        "",
        "",
        "",
        "",
        "RICH",
        "",
    ]
    with pytest.raises(ValueError, match="needs the sizes of blocks"):
        geodomain.label_grid(grades, rich, by="majority")
    with pytest.raises(geodomain.TableError, match="no complete set of centroid columns"):
        geodomain.label_grid(grades.rename(z="depth"), rich)


@pytest.mark.parametrize(
    "attributes", [{"units": "degrees_east"}, {"units": "Degree"}, {"standard_name": "longitude"}]
)
def test_a_grid_in_degrees_is_refused(attributes: dict[str, str]) -> None:
    xarray = pytest.importorskip("xarray")
    grid = model(xarray)
    grid.x.attrs.update(attributes)
    own = (grid.x, grid.y, grid.z)
    for call in (
        lambda: geodomain.label_grid(grid, {"ORE": cube()}),
        lambda: geodomain.label_lattice(*own, {"ORE": cube()}),
        lambda: geodomain.contains_lattice(cube(), grid),
    ):
        with pytest.raises(geodomain.TableError, match=r"^the coordinate 'x' .*degrees.*length"):
            call()


def test_a_grid_whose_z_points_down_is_told() -> None:
    xarray = pytest.importorskip("xarray")
    grid = model(xarray)
    grid.z.attrs.update(units="m", positive="up")
    assert geodomain.label_grid(grid, {"ORE": cube()}).z.attrs == grid.z.attrs
    grid.z.attrs["positive"] = "down"
    with pytest.warns(geodomain.GeodomainWarning, match=r"'z' increases downwards.*elevations"):
        geodomain.label_grid(grid, {"ORE": cube()})


def test_a_grid_of_xarray_is_no_points() -> None:
    xarray = pytest.importorskip("xarray")
    for grid in (model(xarray), model(xarray).to_dataset()):
        for call in (
            lambda grid=grid: geodomain.contains(cube(), grid),
            lambda grid=grid: geodomain.distances(cube(), grid),
        ):
            with pytest.raises(TypeError, match=r"a grid of xarray.* label_grid or contains_latt"):
                call()
    rows = xarray.DataArray([[1.0, 1, 1], [11, 1, 1]])
    assert geodomain.contains(cube(), rows).tolist() == [True, False]
    assert geodomain.contains(cube(), rows[0]).tolist() == [True]


def test_a_grid_of_pyvista_is_a_lattice_with_its_cell_data() -> None:
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(3, 2, 3), spacing=(8, 8, 8))
    grid.cell_data["au"] = np.arange(4.0)
    found = geodomain.label_lattice(grid, {"ORE": cube()}, background="W")
    assert found.shape == (2, 1, 2) and found[:, 0, 0].tolist() == ["ORE", "W"]
    rich = [geodomain.Domain("RICH", cube(), only_if={"au": {"<": 2}})]
    assert (geodomain.label_lattice(grid, rich) == "RICH").ravel().tolist() == [1, 0, 0, 0]
    with pytest.raises(TypeError, match="for other grids, use label_grid"):
        geodomain.label_lattice(grid.cast_to_unstructured_grid(), rich)
    with pytest.raises(TypeError, match="or a grid and domains"):
        geodomain.label_lattice([1], [1], [1])


def grid_of(library: str) -> tuple[object, list[np.ndarray], tuple]:
    """Return a lattice as a grid, its axes, and the order of the grid's dimensions."""
    axes = [np.array([1.0, 5, 11]), np.array([2.0, 12]), np.array([3.0, 9, 10, 14])]
    if library == "xarray":
        xarray = pytest.importorskip("xarray")
        named = {"z": axes[2], "x": axes[0], "y": axes[1]}
        return xarray.DataArray(np.zeros((4, 3, 2)), named, [*named], name="AU"), axes, (2, 0, 1)
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(dimensions=(4, 3, 5), spacing=(4, 5, 3), origin=(-1, 0, 1))
    return grid, [np.array([1.0, 5, 9]), np.array([2.5, 7.5]), np.array([2.5, 5.5, 8.5, 11.5])], ()


@pytest.mark.parametrize("library", ["pyvista", "xarray"])
def test_what_of_a_grid_is_inside(library: str) -> None:
    grid, axes, order = grid_of(library)
    wanted = geodomain.contains_lattice(cube(), *axes)
    assert 0 < wanted.sum() < wanted.size
    for ask in (
        lambda *grid, **more: geodomain.contains_lattice(cube(), *grid, **more),
        geodomain.PointLocator(cube()).contains_lattice,
    ):
        for rule in ("parity", "winding"):
            found = ask(grid, rule=rule)
            assert found.dtype == bool
            if library == "xarray":
                assert found.name == "inside" and found.dims == grid.dims
                assert (found.coords["z"] == grid.z).all()
                assert (found.to_numpy() == wanted.transpose(order)).all()
            else:
                assert (found == wanted).all()
        if library == "pyvista":
            packed = geodomain.contains_lattice(cube(), *axes, packed=True)
            assert (ask(grid, packed=True) == packed).all()
            room = np.empty(wanted.shape, bool)
            assert ask(grid, out=room) is room and (room == wanted).all()
            with pytest.raises(TypeError, match=r"label_grid|contains"):
                ask(grid.cast_to_unstructured_grid())
        else:
            with pytest.raises(ValueError, match=r"packed= and out= cannot be used with a grid"):
                ask(grid, packed=True)
        with pytest.raises(TypeError, match="all of x, y and z, or by a grid in their place"):
            ask(axes[0], axes[1])
        with pytest.raises(TypeError, match=r"a lattice must be a pyvista ImageData"):
            ask(axes[0])
