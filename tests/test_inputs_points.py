"""What users hold as points: arrays, PyVista's points and grids, tables with known columns."""

from __future__ import annotations

import numpy as np
import pytest
from grids import GRIDS, centres_of, image, pyvista, rectilinear, turned
from wireframes import box, cube

import geodomain
from geodomain.errors import TableError
from geodomain.mesh import fitness
from geodomain.query import lattice

CORNERS = np.array([[1.0, 1, 1], [11, 11, 11], [5, 5, 5], [np.nan, 1, 1], [0, 0, 0], [10, 10, 10]])
INSIDE = geodomain.contains(cube(), CORNERS)


def frames():
    """Return the corners as tables of every library that is there."""
    columns = {
        "IJK": np.arange(len(CORNERS)),
        **dict(zip(("XC", "YC", "ZC"), CORNERS.T, strict=True)),
    }
    found = {}
    for name, make in (
        ("pandas", lambda library: library.DataFrame(columns)),
        ("polars", lambda library: library.DataFrame(columns)),
        ("pyarrow", lambda library: library.table(columns)),
    ):
        found[name] = lambda name=name, make=make: make(pytest.importorskip(name))
    return found


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_with_known_columns(library) -> None:
    frame, mesh = frames()[library](), cube()
    assert geodomain.contains(mesh, frame).tolist() == INSIDE.tolist()
    assert geodomain.PointLocator(mesh).contains(frame, rule="winding").tolist() == INSIDE.tolist()
    for verb in (geodomain.count_crossings, geodomain.winding_numbers, geodomain.on_surface):
        assert verb(mesh, frame).tolist() == verb(mesh, CORNERS).tolist()
    assert geodomain.sides(mesh, frame).tolist() == geodomain.sides(mesh, CORNERS).tolist()
    labels = geodomain.label_points(frame, {"ORE": mesh})
    assert labels.tolist() == ["ORE" if inside else "" for inside in INSIDE]
    one = geodomain.label_points(frame, [geodomain.Domain("A", mesh)], unassigned="?")
    assert one.tolist()[3] == "?"


def test_a_table_without_known_columns_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TableError, match="no complete set of centroid columns"):
        geodomain.contains(cube(), pandas.DataFrame(CORNERS, columns=["a", "b", "c"]))
    lazy = pytest.importorskip("polars").LazyFrame({"x": [1], "y": [1], "z": [1]})
    with pytest.raises(TypeError, match="compute it first"):
        geodomain.contains(cube(), lazy)


def test_the_points_of_a_surface() -> None:
    points = pyvista.PolyData(np.float32(CORNERS[:3]))
    assert geodomain.contains(cube(), points).tolist() == [True, False, True]


@pytest.mark.parametrize("kind", GRIDS)
def test_a_grid_stands_for_the_centres_of_its_cells_in_their_order(kind) -> None:
    grid, mesh = GRIDS[kind](), cube()
    centres = centres_of(grid)
    expected = geodomain.contains(mesh, centres)
    assert expected.any() and not expected.all()
    assert geodomain.contains(mesh, grid).tolist() == expected.tolist()
    out = np.empty(grid.n_cells, np.bool_)
    assert geodomain.contains(mesh, grid, out=out) is out
    assert out.tolist() == expected.tolist()
    assert geodomain.contains(mesh, grid, rule="winding").tolist() == expected.tolist()
    assert geodomain.contains(mesh, grid, direction=(1, 1, 1)).tolist() == expected.tolist()
    codes = np.empty(grid.n_cells, np.int32)
    halo = box((5, 5, 5), (15, 15, 15))
    geodomain.label_codes(grid, [halo, mesh], out=codes)
    assert codes.tolist() == geodomain.label_codes(centres, [halo, mesh]).tolist()
    locator = geodomain.PointLocator(mesh)
    assert locator.contains(grid).tolist() == expected.tolist()
    crossings = geodomain.count_crossings(mesh, centres).tolist()
    assert geodomain.count_crossings(mesh, grid).tolist() == crossings
    assert geodomain.label_codes(grid, [locator]).tolist() == [0 if one else -1 for one in expected]


def test_a_lattice_that_bits_cannot_decide_is_checked_once(monkeypatch) -> None:
    grid, mesh, checked = GRIDS["ImageData"](), cube(), []
    expected = geodomain.label_codes(grid, [mesh]).tolist()
    monkeypatch.setattr(fitness, "warn_once", checked.append)
    monkeypatch.setattr(lattice, "first_of", lambda *arguments: None)
    assert geodomain.label_codes(grid, [mesh]).tolist() == expected
    assert checked == [mesh]


def test_a_lattice_takes_the_lattice_path(monkeypatch) -> None:
    asked = []
    answer = lattice.label_cells
    monkeypatch.setattr(lattice, "label_cells", lambda *a: asked.append(1) or answer(*a))
    geodomain.contains(cube(), image())
    geodomain.label_points(image(), {"ORE": cube()})
    geodomain.label_points(rectilinear(), [geodomain.Domain("ORE", cube())])
    assert len(asked) == 3
    geodomain.contains(cube(), turned())
    assert len(asked) == 3


def test_a_centre_that_cannot_be_decided_is_named_by_its_cell() -> None:
    corners = np.array([[0, 0, 0], [3, 1, 0], [1, 3, 1], [1, 1, 3]]) * 2.0**-304
    minute = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    axis = np.array([-2.0, 0, 2.0**-306])  # the middles are -1 and 2^-307
    grid = pyvista.RectilinearGrid(axis, axis, axis)
    with pytest.raises(geodomain.PointError, match="point 3 is"):
        geodomain.contains(minute, grid)
    with pytest.raises(geodomain.PointError, match="point 3 is"):
        geodomain.label_points(grid, {"ORE": minute})


def test_cells_that_are_no_blocks_are_refused() -> None:
    with pytest.raises(TableError, match="flat"):
        geodomain.contains(cube(), pyvista.ImageData(dimensions=(3, 3, 1)))
    with pytest.raises(TableError, match="not blocks"):
        geodomain.contains(cube(), pyvista.Sphere().cast_to_unstructured_grid())


@pytest.mark.parametrize("thing", [3, None, {"x": [1]}, "points.csv", cube(), object()])
def test_anything_else_is_refused_with_what_is_taken(thing) -> None:
    for ask in (
        lambda points: geodomain.contains(cube(), points),
        lambda points: geodomain.PointLocator(cube()).winding_numbers(points),
        lambda points: geodomain.label_points(points, {"A": cube()}),
        lambda points: geodomain.label_codes(points, [cube()]),
    ):
        with pytest.raises(TypeError, match=r"points must be an array of shape \(n, 3\).*not "):
            ask(thing)
