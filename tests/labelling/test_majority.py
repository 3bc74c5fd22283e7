"""Labels by the largest share, turned models, and blocks that have no shares."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from late import pandas
from lattice_of_blocks import corners, lattice, shares, three
from sheets import level, sheet
from surfaces import lidless
from wireframes import box

import geodomain
from geodomain import (
    Domain,
    Domains,
    GeodomainWarning,
    MeshError,
    TableError,
    label_blocks,
    proportions_blocks,
)
from geodomain.tables.frames import LocalFrame


@cache
def one_block() -> pandas.DataFrame:
    return pandas.DataFrame({"X": [0.5], "Y": [0.5], "Z": [0.5], "DX": [1], "DY": [1], "DZ": [1]})


def test_the_largest_share_labels_a_block() -> None:
    domains = Domains(tuple(Domain(n, m) for n, m in three().items()), background="rest")
    blocks = lattice((-80, -60, -70), (100, 90, 70), (9, 8, 7))
    found = shares(blocks, domains, proportions="priority", lines=6)
    labels = label_blocks(blocks, domains, by="majority", lines=6)
    rest = 1 - found.sum(axis=1)
    best = np.column_stack([found, rest]).argmax(axis=1)
    assert labels.tolist() == np.array(["A", "B", "C", "rest"])[best].tolist()
    assert (labels.to_numpy() != label_blocks(blocks, domains).to_numpy()).sum() > 5


@pytest.mark.parametrize(
    ("solids", "order", "wanted"),
    [
        ({"A": (0, 0.5), "B": (0.5, 1)}, "first", "A"),
        ({"A": (0, 0.5), "B": (0.5, 1)}, "last", "B"),
        ({"B": (0.5, 1), "A": (0, 0.5)}, "first", "B"),
        ({"A": (0, 0.5)}, "first", "A"),  # as much as nothing has: a domain goes before none
        ({"A": (0, 0.4375)}, "first", "rest"),
        ({"A": (0, 0.3125), "B": (0.3125, 0.6875)}, "first", "B"),
        # By the order A has what both have, though B has more by itself.
        ({"A": (0, 0.5), "B": (0.125, 0.75)}, "first", "A"),
        ({"A": (0, 0.5), "B": (0.125, 0.75)}, "last", "B"),
    ],
)
def test_the_first_in_the_order_has_equal_shares(solids, order, wanted) -> None:
    units = tuple(Domain(n, box((a, 0, 0), (b, 1, 1))) for n, (a, b) in solids.items())
    domains = Domains(units, order=order, background="rest")
    assert label_blocks(one_block(), domains, by="majority").tolist() == [wanted]
    whole = Domains(units, order=order, background="rest", by="majority", lines=8)
    assert label_blocks(one_block(), whole).tolist() == [wanted]


def test_labels_that_are_kept_take_part() -> None:
    half = Domain("A", box((0, 0, 0), (0.4375, 1, 1)))
    blocks = one_block().assign(zone="OLD")
    labels = label_blocks(blocks, [half], by="majority", replace="zone")
    assert labels.isna().all()
    keeping = Domain("A", box((0, 0, 0), (0.75, 1, 1)), keep=True)
    other = Domain("B", box((0, 0, 0), (0.25, 1, 1)))
    labels = label_blocks(blocks, [keeping, other], by="majority", replace="zone")
    assert labels.tolist() == ["OLD"]
    assert label_blocks(blocks, [keeping, other], by="majority").tolist() == ["A"]


@pytest.mark.parametrize("angle", [90.0, 30.0])
def test_turned_models_have_the_shares_of_turned_meshes(tmp_path, angle) -> None:
    blocks = lattice((-80.1, -60.3, -70.2), (100.3, 90.1, 70.4), (6, 5, 5))
    blocks.to_csv(tmp_path / "b.csv", index=False)
    origin = (414_000.5, 7_480_000.25, 100.0)
    frame = LocalFrame([("z", angle)], origin=origin)
    solids = {
        n: geodomain.Mesh(frame.to_world(m.vertices), m.triangles) for n, m in three().items()
    }
    for proportions in ("itself", "priority"):
        with warnings.catch_warnings():  # of centroids, which miss some of the volume
            warnings.simplefilter("ignore", GeodomainWarning)
            summary = geodomain.label_file(
                tmp_path / "b.csv", solids, tmp_path / "o.csv", proportions=proportions,
                rotation=f"z={angle}", origin=origin, overwrite=True, lines=4,
            )  # fmt: skip
        found = pandas.read_csv(tmp_path / "o.csv")[["prop_a", "prop_b", "prop_c"]].to_numpy()
        wanted = shares(blocks, three(), proportions=proportions, lines=4)
        np.testing.assert_allclose(found, wanted, atol=1e-9)
        sizes = blocks[["DX", "DY", "DZ"]].to_numpy().prod(axis=1)
        volumes = [part.proportion_volume for part in summary.domains]
        np.testing.assert_allclose(volumes, found.T @ sizes, rtol=1e-12)
        assert any("rotated" in note for note in summary.notes)


def test_tilted_models_have_shares_in_solids_alone(tmp_path) -> None:
    blocks = lattice((0, 0, 0), (4, 4, 4), (4, 4, 4))
    blocks.to_csv(tmp_path / "b.csv", index=False)
    frame = LocalFrame([("x", 90.0)], origin=(10, 20, 30))
    ore = box((0.5, 0.25, 0), (3, 3.5, 4))
    solid = geodomain.Mesh(frame.to_world(ore.vertices), ore.triangles)
    options = {"rotation": "x=90", "origin": (10, 20, 30), "proportions": "itself"}
    geodomain.label_file(tmp_path / "b.csv", {"ORE": solid}, tmp_path / "o.csv", **options)
    found = pandas.read_csv(tmp_path / "o.csv")["prop_ore"].to_numpy()
    np.testing.assert_allclose(found, shares(blocks, {"ORE": ore})[:, 0], atol=1e-14)
    ground = Domain("AIR", level(30, 40, (0, 0, 0)), kind="above")
    with pytest.raises(TableError, match="tilted about x or y"):
        geodomain.label_file(tmp_path / "b.csv", [ground], tmp_path / "p.csv", **options)
    assert not (tmp_path / "p.csv").exists()


def test_beyond_a_footprint_there_is_no_share() -> None:
    tiles = [sheet([[2.25] * 3] * 3, 1.0), sheet([[2.25] * 3] * 3, 1.0, (2.0, 0.0, 0.0))]
    blocks = lattice((-1, 0, 0), (5, 2, 4), (6, 2, 4))  # the first and the last columns are off
    off = (blocks["X"] < 0) | (blocks["X"] > 4)
    below = np.clip(2.25 - corners(blocks)[0][:, 2], 0, 1)
    with pytest.warns(GeodomainWarning, match="16 blocks lie partly or wholly .* no prop_low"):
        found = shares(blocks, [Domain("LOW", tiles, kind="below")])[:, 0]
    assert np.isnan(found[off]).all()
    np.testing.assert_allclose(found[~off], below[~off], atol=1e-15)  # the tiles' seam is none
    wide = blocks.assign(X=blocks["X"] + 0.5)  # the first column is off, the last one in half
    unsure = Domain("LOW", tiles, kind="below")
    with pytest.warns(GeodomainWarning, match="the part outside is unassigned"):
        by_order = shares(wide, [unsure], proportions="priority", lines=4)[:, 0]
    half = wide["X"].isin([4.0])
    np.testing.assert_allclose(by_order[half], below[half] / 2, atol=1e-15)
    background = Domain("LOW", tiles, kind="below", extend="background")
    np.testing.assert_allclose(shares(wide, [background], lines=4)[half, 0], below[half] / 2)
    nearest = Domain("LOW", tiles, kind="below", extend="nearest")  # level beyond
    np.testing.assert_allclose(shares(wide, [nearest], lines=4)[:, 0], below, atol=1e-15)


def test_what_has_no_shares_is_said() -> None:
    ore = {"ORE": box((0, 0, 0), (1, 1, 0.5))}
    with pytest.raises(TableError, match="the frame has no block sizes"):
        proportions_blocks(one_block()[["X", "Y", "Z"]], ore)
    with pytest.raises(MeshError, match="not closed"):
        proportions_blocks(one_block(), {"ORE": lidless()})
    opened = Domain("ORE", lidless(), rule="winding")  # by which an open solid has labels
    said = pytest.warns(GeodomainWarning, match="generalised winding number")
    with said, pytest.raises(MeshError, match=r"need closed solids: .* by='majority'"):
        label_blocks(one_block(), [opened], by="majority")
    closed = "closed, but the proportion of a block above or below a surface needs an open"
    said = pytest.warns(GeodomainWarning, match="inside the mesh count as below")
    with said, pytest.raises(MeshError, match=closed):
        proportions_blocks(one_block(), [Domain("UP", ore["ORE"], kind="above")])
    with pytest.raises(TableError, match="has a column 'prop_ore' already"):
        proportions_blocks(one_block().assign(prop_ore=1), ore)
    for wrong in ({"proportions": "alone"}, {"lines": 1}, {"lines": 257}, {"lines": 4.0}):
        with pytest.raises(ValueError, match=r"(proportions|lines) is"):
            proportions_blocks(one_block(), ore, **wrong)
    with pytest.raises(ValueError, match="by is"):
        label_blocks(one_block(), ore, by="middle")
    wrong = [
        one_block().assign(X=1.5, DX=0.0),
        one_block().assign(X=2.5, DZ=np.nan),
        one_block().assign(Y=np.nan),
    ]
    two = pandas.concat([one_block(), *wrong])
    assert proportions_blocks(two, ore)["prop_ore"].tolist()[0] == 0.5
    assert proportions_blocks(two, ore)["prop_ore"].isna().tolist() == [False, True, True, True]


def test_no_blocks_have_no_shares() -> None:
    ore = {"ORE": box((0, 0, 0), (1, 1, 0.5))}
    assert proportions_blocks(one_block()[:0], ore)["prop_ore"].tolist() == []
    assert label_blocks(one_block()[:0], ore, by="majority").tolist() == []


@pytest.mark.parametrize(
    "library", ["polars", "pyarrow", pytest.param("dask.dataframe", marks=pytest.mark.full)]
)
def test_tables_of_other_libraries(library: str) -> None:
    module = pytest.importorskip(library)
    ore = {"ORE": box((0.75, 0, 0), (1.75, 1, 1)), "W": box((0, 0, 0), (0.75, 1, 1))}
    blocks = pandas.concat([one_block()] * 3, ignore_index=True)
    blocks["X"] = [0.5, 1.5, 2.5]
    if library == "dask.dataframe":
        lazy = module.from_pandas(blocks, npartitions=2)
        assert label_blocks(lazy, ore, by="majority").compute().tolist()[:2] == ["W", "ORE"]
        return
    table = module.from_pandas(blocks) if library == "polars" else module.table(dict(blocks))
    found = proportions_blocks(table, ore)
    assert type(found) is type(table)
    assert np.asarray(found["prop_ore"]).tolist() == [0.25, 0.75, 0]


@pytest.mark.parametrize("turned", [False, True])
def test_cells_of_a_grid_have_the_labels_of_blocks(turned: bool) -> None:
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.ImageData(
        dimensions=(7, 6, 6), spacing=(30, 30, 28), origin=(-80.1, -60.3, -70.2)
    )
    solids = three()
    if turned:  # a quarter, clockwise: x to the south, y to the east
        grid.direction_matrix = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
        at = np.array(grid.origin)
        matrix = np.asarray(grid.direction_matrix)
        solids = {
            n: geodomain.Mesh(at + (m.vertices - at) @ matrix.T, m.triangles)
            for n, m in solids.items()
        }
    blocks = lattice((-80.1, -60.3, -70.2), (99.9, 89.7, 69.8), (6, 5, 5))
    wanted = label_blocks(blocks, three(), by="majority", lines=4).astype(object).fillna("")
    domains = Domains(tuple(Domain(n, m) for n, m in solids.items()), by="majority", lines=4)
    found = geodomain.label_grid(grid, domains)
    assert found.reshape(5, 5, 6).transpose(2, 1, 0).ravel().tolist() == wanted.tolist()
    centres = geodomain.label_grid(grid, domains, by="centroid")
    assert (centres != found).any()
