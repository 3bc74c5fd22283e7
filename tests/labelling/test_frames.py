"""Labels of tables of every library: categoricals of theirs, with the categories of pandas."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from late import narwhals, pd
from wireframes import box, cube

import geodomain
from geodomain import Domain, Domains, TableError, label_blocks

FAR = box((90, 90, 90), (99, 99, 99))
ORE = Domain("ORE", cube())
HALO = Domain("HALO", box((5, 5, 5), (15, 15, 15)))
RICH = Domain("RICH", cube(), only_if={"grade": {">=": 2}, "rock": ["OX"], "fresh": "True"})


@cache
def blocks() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "IJK": range(6),
            "XC": [2.0, 7, 12, 50, np.nan, 3],
            "YC": [2, 7, 12, 50, 1, 3],
            "ZC": np.float32([2, 7, 12, 50, 1, 3]),
            "ROCK": ["OX", "SU", None, "OX", "OX", "OX"],
            "GRADE": pd.array([3, None, 1, 1, 1, 1], dtype="Int64"),
            "FRESH": pd.array([True, None, False, True, True, True], dtype="boolean"),
        },
        index=[9, 8, 7, 6, 5, 4],
    )


DOMAINS = Domains((RICH, HALO, ORE), background="WASTE")
LABELS = ["RICH", "HALO", "HALO", "WASTE", None, "ORE"]
CATEGORIES = ["RICH", "HALO", "ORE", "WASTE"]


def nullable():
    return blocks().convert_dtypes()


def arrow_backed():
    pytest.importorskip("pyarrow")
    return blocks().convert_dtypes(dtype_backend="pyarrow")


@pytest.mark.parametrize("make", [lambda: blocks(), nullable, arrow_backed])
def test_pandas_of_every_kind_of_column(make) -> None:
    found = label_blocks(make(), DOMAINS)
    assert isinstance(found, pd.Series) and found.name == "domain"
    assert found.index.tolist() == blocks().index.tolist()
    assert list(found.cat.categories) == CATEGORIES and not found.cat.ordered
    assert [None if label != label else label for label in found.tolist()] == LABELS


@pytest.mark.filterwarnings("ignore:no solid meets")
def test_polars() -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    found = label_blocks(pl.from_pandas(blocks()), DOMAINS)
    assert isinstance(found, pl.Series) and found.name == "domain"
    assert found.dtype == pl.Enum(CATEGORIES)
    assert found.to_list() == LABELS
    none = label_blocks(
        pl.from_pandas(blocks()), Domains((Domain("FAR", box((90,) * 3, (99,) * 3)),))
    )
    assert none.to_list() == [None] * 6
    with pytest.raises(TypeError, match=r"a polars LazyFrame holds no rows.*with \.collect\(\)"):
        label_blocks(pl.from_pandas(blocks()).lazy(), DOMAINS)


def test_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    found = label_blocks(pa.Table.from_pandas(blocks()), DOMAINS)
    assert isinstance(found, pa.DictionaryArray)
    assert found.dictionary.to_pylist() == CATEGORIES
    assert found.to_pylist() == LABELS
    empty = label_blocks(pa.Table.from_pandas(blocks())[:0], DOMAINS)
    assert len(empty) == 0 and empty.dictionary.to_pylist() == CATEGORIES


@pytest.mark.full
@pytest.mark.parametrize("partitions", [1, 3])
def test_dask_is_labelled_later(partitions) -> None:
    pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(blocks().sort_index(), npartitions=partitions)
    found = label_blocks(frame, DOMAINS)
    assert isinstance(found, dd.Series) and found.name == "domain"
    assert found.cat.known and list(found.cat.categories) == CATEGORIES
    computed = found.compute(scheduler="synchronous")
    expected = label_blocks(blocks().sort_index(), DOMAINS)
    pd.testing.assert_series_equal(computed, expected)
    with pytest.raises(TableError, match="no complete set of centroid columns"):  # at once
        label_blocks(frame.drop(columns="XC"), DOMAINS)
    keeping = [Domain("B", cube(), keep=True)]
    with pytest.raises(ValueError, match="existing labels of a dask table"):
        label_blocks(frame, keeping, replace="ROCK")
    replaced = label_blocks(frame, DOMAINS, replace="rock").compute(scheduler="synchronous")
    assert (replaced.name == "ROCK" and replaced.tolist() == expected.tolist()) or partitions


@pytest.mark.filterwarnings("ignore:FAR does not meet")
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_labels_that_are_kept(library) -> None:
    module = pytest.importorskip(library)
    columns = {"x": [1.0, 1, 1, 20], "y": [1.0] * 4, "z": [1.0] * 4, "Zone": ["OLD", "", None, "B"]}
    frame = module.DataFrame(columns) if library == "polars" else module.table(columns)
    keeping = [Domain("B", cube(9.0), keep=True), Domain("FAR", FAR)]
    found = label_blocks(frame, keeping, background="REST", replace="zone")
    assert list(found if library == "polars" else found.to_pylist()) == ["OLD", "B", "B", "B"]
    if library == "polars":
        assert found.name == "Zone"
        assert found.dtype == module.Enum(["B", "FAR", "REST", "OLD"])


def test_names_that_come_twice_or_are_no_text() -> None:
    twice = pd.concat([blocks(), blocks()[["ROCK"]].rename(columns={"ROCK": "IJK"})], axis=1)
    assert label_blocks(twice, [ORE]).tolist()[0] == "ORE"
    numbered = blocks().assign(**{"0": 1}).rename(columns={"0": 0})
    assert label_blocks(numbered, [ORE]).tolist()[0] == "ORE"
    with pytest.raises(TableError, match="2 columns called 'XC'"):
        label_blocks(pd.concat([blocks(), blocks()[["XC"]]], axis=1), [ORE])
    pa = pytest.importorskip("pyarrow")
    table = pa.table([pa.array([1.0])] * 4, names=["x", "y", "z", "z"])
    with pytest.raises(TableError, match="2 columns called 'z'"):
        label_blocks(table, [ORE])


def test_decimals_and_what_no_float64_holds() -> None:
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    column = pa.array([Decimal("2.50"), None], pa.decimal128(9, 2))
    table = pa.table({"x": column, "y": [1, 1], "z": [1.0, 1.0]})
    assert label_blocks(table, [ORE]).to_pylist() == ["ORE", None]
    wide = pa.table({"x": [2**53 + 1], "y": [1], "z": [1], "a": [1]})
    assert label_blocks(wide, [ORE], x="a").to_pylist() == ["ORE"]
    with pytest.raises(ValueError, match="column 'x' hold 9007199254740993"):
        label_blocks(wide, [ORE])
    texts = pa.table({"x": ["1"], "y": [1], "z": [1]})
    with pytest.raises(TableError, match="'x' holds String, not numbers"):
        label_blocks(texts, [ORE])


@pytest.mark.parametrize("thing", [3, None, {"x": [1]}, np.zeros((2, 3)), "blocks.csv"])
def test_what_is_no_table_is_refused(thing) -> None:
    taken = r"a pandas\.DataFrame, a polars\.DataFrame, .*__arrow_c_stream__.*, not "
    with pytest.raises(TypeError, match=taken):
        label_blocks(thing, [ORE])


def test_what_is_nearly_a_table_is_refused_with_what_to_do() -> None:
    nearly = {
        r"not narwhals\.DataFrame: pass the result of its \.to_native": (
            narwhals.from_native(blocks())
        ),
        r"not str: use label_file for a file": "blocks.csv",
    }
    for message, thing in nearly.items():
        with pytest.raises(TypeError, match=message):
            label_blocks(thing, [ORE])


def test_pandas_is_imported_only_where_it_is_given() -> None:
    pytest.importorskip("polars")
    script = (
        "import sys, geodomain, polars\n"
        "pair = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], "
        "[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]\n"
        "frame = polars.DataFrame({'x': [1], 'y': [1], 'z': [1]})\n"
        "assert geodomain.label_blocks(frame, {'ORE': pair}).to_list() == ['ORE']\n"
        "heavy = {'pandas', 'pyarrow', 'pyvista', 'dask', 'xarray'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)


def test_the_names_of_domains_may_stand_for_files(tmp_path) -> None:
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    halo = HALO.meshes[0].to_pyvista()
    given = {"ORE": str(tmp_path / "ore.ply"), "HALO": halo}
    labels = label_blocks(blocks(), given, background="-").tolist()
    assert labels[:4] == ["ORE", "ORE", "HALO", "-"]
