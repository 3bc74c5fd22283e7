"""`label` does what the function for each type does, and refuses what has two meanings."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from shapes import cube

import geodomain

ORE = {"ORE": cube(2.0)}
POINTS = np.array([[1.0, 1, 1], [3, 1, 1]])
COLUMNS = {"XC": POINTS[:, 0], "YC": POINTS[:, 1], "ZC": POINTS[:, 2]}


def write_blocks(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("XC,YC,ZC\n1,1,1\n3,1,1\n")
    return path


@pytest.mark.parametrize(
    ("library", "make"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")]
)
def test_a_table_gets_the_column_of_its_library(library: str, make: str) -> None:
    table = getattr(pytest.importorskip(library), make)(COLUMNS)
    labels = geodomain.label(table, ORE, background="WASTE")
    assert type(labels) is type(geodomain.label_blocks(table, ORE))
    assert list(map(str, labels)) == ["ORE", "WASTE"]


def test_a_dask_table_is_labelled_later() -> None:
    dask = pytest.importorskip("dask.dataframe")
    pandas = importlib.import_module("pandas")
    labels = geodomain.label(dask.from_pandas(pandas.DataFrame(COLUMNS), npartitions=2), ORE)
    assert labels.compute().astype(object).fillna("").tolist() == ["ORE", ""]


def test_points_are_labelled_one_by_one() -> None:
    pyvista = importlib.import_module("pyvista")
    for points in (POINTS, POINTS.tolist(), pyvista.PolyData(POINTS), pyvista.PointSet(POINTS)):
        labels = geodomain.label(points, ORE, background="WASTE")
        assert labels.tolist() == ["ORE", "WASTE"]


def test_a_grid_is_labelled_by_its_cells() -> None:
    pyvista = importlib.import_module("pyvista")
    grid = pyvista.ImageData(dimensions=(3, 2, 2), spacing=(2, 2, 2))
    for cells in (grid, grid.cast_to_rectilinear_grid(), grid.cast_to_unstructured_grid()):
        assert geodomain.label(cells, ORE, by="majority").tolist() == ["ORE", ""]


def test_a_file_is_written_as_by_its_function(tmp_path: Path) -> None:
    model = write_blocks(tmp_path / "a.csv")
    for path in (model, str(model)):
        summary = geodomain.label(path, ORE, tmp_path / "b.csv", overwrite=True, background="W")
        assert summary.output == str(tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_text().split()[1:] == ["1,1,1,ORE", "3,1,1,W"]
    assert geodomain.label(model, ORE, output=None).output is None


def test_a_folder_and_a_pattern_are_datasets(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_blocks(tmp_path / "in" / f"{name}.csv")
    for what, out in ((tmp_path / "in", "out"), (f"{tmp_path}/in/*.csv", "other")):
        summary = geodomain.label(what, ORE, tmp_path / out)
        assert summary.rows == 4
        assert (tmp_path / out / "a.csv").read_text().split()[1] == "1,1,1,ORE"


@pytest.mark.parametrize("make", [tuple, list])
@pytest.mark.parametrize("axis", [np.asarray, list], ids=["arrays", "lists"])
@pytest.mark.parametrize("count", [0, 2, 3])
def test_three_arrays_are_refused(make, axis, count: int) -> None:
    arrays = make(axis(np.arange(count, dtype=float)) for _ in range(3))
    with pytest.raises(TypeError, match=r"label_points .* or label_lattice"):
        geodomain.label(arrays, ORE)


@pytest.mark.parametrize(
    ("what", "keywords", "message"),
    [
        (POINTS, {"codes": True}, "label_points, which labels a set of points, has no .* codes="),
        (POINTS, {"by": "majority"}, "label_points, .* by="),
        (POINTS, {"background_": ""}, "did you mean background="),
        ("a.csv", {"output": None, "scheduler": "local"}, "label_file, .* scheduler="),
        ("*.csv", {"output": None, "samples": True}, "label_dataset, .* samples="),
    ],
)
def test_a_keyword_of_another_function_is_refused(what, keywords, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        geodomain.label(what, ORE, **keywords)


def test_keywords_that_are_kept_together_are_known() -> None:
    labels = geodomain.label(POINTS, ORE, missing=-99, threads=1, allow_open=True)
    assert labels.tolist() == ["ORE", ""]


def test_an_output_goes_with_files() -> None:
    with pytest.raises(TypeError, match=r"label_points returns the labels and accepts no output="):
        geodomain.label(POINTS, ORE, "out.csv")
    with pytest.raises(TypeError, match="label_file needs an output"):
        geodomain.label("a.csv", ORE)


def test_what_holds_no_blocks_is_refused() -> None:
    for what in (None, 3.0, {"x": 1}, ("a", "b", "c")):
        with pytest.raises((TypeError, ValueError)):
            geodomain.label(what, ORE)
