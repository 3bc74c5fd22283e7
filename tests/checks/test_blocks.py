"""Coordinates and sizes that cannot be are said, by commands and in Python alike."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from late import pandas
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, inspect_file, label_blocks, label_file

ORE = box((410_010, 7_000_010, 310), (410_090, 7_000_090, 340))


def blocks() -> pandas.DataFrame:
    """Return a model of 10 x 10 x 5 blocks of 10, at mine coordinates."""
    x, y, z = np.meshgrid(*(np.arange(5.0, n, 10) for n in (100, 100, 50)), indexing="ij")
    where = {"X": 410_000 + x.ravel(), "Y": 7_000_000 + y.ravel(), "Z": 300 + z.ravel()}
    return pandas.DataFrame(where).assign(DX=10.0, DY=10.0, DZ=10.0)


def said(table: pandas.DataFrame, tmp_path: Path, ore: geodomain.Mesh = ORE) -> dict[str, str]:
    """Return what label_file, label_blocks and inspect_file warn of."""
    path = tmp_path / "b.csv"
    table.to_csv(path, index=False)
    texts = {}
    for name, call in {
        "label": lambda: label_file(path, {"ORE": ore}, None),
        "blocks": lambda: label_blocks(table, {"ORE": ore}),
        "inspect": lambda: inspect_file(path),
    }.items():
        with pytest.warns() as caught:
            geodomain.errors.warn("begin")
            call()
        texts[name] = " | ".join(str(one.message) for one in caught[1:])
    return texts


def test_a_sound_model_is_not_warned_of(tmp_path: Path) -> None:
    assert said(blocks(), tmp_path) == {"label": "", "blocks": "", "inspect": ""}


@pytest.mark.parametrize("code", [0.0, -99.0, -999.0, -9999.0])
def test_codes_far_from_all_others_are_proposed_as_missing(tmp_path: Path, code: float) -> None:
    table = blocks()
    table.loc[[3, 70, 400], ["X", "Y", "Z"]] = code
    for name, text in said(table, tmp_path).items():
        coordinates = f"a coordinate of {code:g}" if code else "the coordinates 0, 0, 0"
        assert f"3 rows have {coordinates}, far from" in text
        assert ("make it NaN" if name == "blocks" else f"missing='{code:g}'") in text


def test_one_missing_elevation_is_enough(tmp_path: Path) -> None:
    table = blocks()
    table.loc[7, "Z"] = -999.0
    assert "a coordinate of -999, far from all other coordinates" in said(table, tmp_path)["label"]


def test_codes_among_coordinates_are_none(tmp_path: Path) -> None:
    table = blocks().assign(X=lambda t: t.X - 410_005, Y=lambda t: t.Y - 7_000_005, Z=-99.0)
    table["Z"] = np.tile([-119.0, -109.0, -99.0, -89.0, -79.0], 100)
    path = tmp_path / "b.csv"
    table.to_csv(path, index=False)
    assert inspect_file(path).warnings == ()


def test_sizes_that_overlap_neighbours_are_said(tmp_path: Path) -> None:
    for name, text in said(blocks().assign(DZ=500.0), tmp_path).items():
        assert "blocks overlap their neighbours along z: centroids at 305 and 315 are 10 apart" in (
            text
        ), name


def test_gaps_and_sub_blocks_are_honest(tmp_path: Path) -> None:
    table = blocks()
    table = table[table.Z != 345]
    parent = table.iloc[0]
    parts = pandas.DataFrame([parent] * 2).assign(DX=5.0, X=[parent.X - 2.5, parent.X + 2.5])
    assert said(pandas.concat([table.iloc[1:], parts]), tmp_path)["label"] == ""


def test_blocks_that_are_there_twice_are_said(tmp_path: Path) -> None:
    texts = said(pandas.concat([blocks(), blocks()[:100]]), tmp_path)
    assert "the blocks have 1.2 times the volume of their bounding box" in texts["label"]
    for name in ("label", "blocks"):
        assert "100 blocks have the same centroid as another block: their volume" in texts[name]
    told = "100 blocks are duplicated, with the same centroid and size; the first is block 501"
    assert told in texts["inspect"] and "the same as block 1:" in texts["inspect"]
    assert "same centroid as another" not in texts["inspect"]


def test_blocks_without_sizes_that_fill_a_lattice_are_compared_too(tmp_path: Path) -> None:
    table = blocks().drop(columns=["DX", "DY", "DZ"])
    texts = said(pandas.concat([table, table[:100]]), tmp_path)
    for name in ("label", "blocks"):
        assert "100 blocks have the same centroid as another" in texts[name]
    assert said(table, tmp_path) == {"label": "", "blocks": "", "inspect": ""}


def test_samples_at_one_place_are_not_blocks_twice(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    places = np.array([410_000, 7_000_000, 300]) + rng.uniform(0, 90, (300, 3)).round(2)
    table = pandas.DataFrame(np.repeat(places, 2, axis=0), columns=["X", "Y", "Z"])
    texts = said(table, tmp_path)
    assert texts["label"] == "" and texts["blocks"] == ""


def test_blocks_twice_off_a_lattice_are_counted_by_inspect(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.uniform(100, 900, (50, 3)), columns=["X", "Y", "Z"])
    table.loc[[8, 9], "X"] = np.nan
    path = tmp_path / "b.csv"
    pandas.concat([table, table[8:13]]).to_csv(path, index=False)
    with pytest.warns(GeodomainWarning, match="3 blocks are duplicated.*block 53 .*block 11:"):
        inspect_file(path)


def test_samples_may_have_any_place_and_size(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    blocks().assign(DZ=500.0).to_csv(path, index=False)
    with pytest.warns(GeodomainWarning, match="more volume than its wireframe") as caught:
        label_file(path, {"ORE": ORE}, None, samples=True)
    assert len(caught) == 1


@pytest.mark.parametrize("lowest", [0.0, -99.0])
def test_blocks_twice_at_a_place_like_a_code_are_said_too(tmp_path: Path, lowest: float) -> None:
    table = blocks().assign(X=lambda t: t.X - 410_005, Y=lambda t: t.Y - 7_000_005)
    table["Z"] += lowest - 305
    twice = pandas.concat([table, table[:1]])
    assert twice.iloc[-1][["X", "Y", "Z"]].tolist() == [0, 0, lowest]
    for name, text in said(twice, tmp_path, box((0, 0, -90), (90, 90, 90))).items():
        assert (
            "1 block is duplicated" if name == "inspect" else "1 block has the same centroid"
        ) in text


TURNS = [
    [("z", 90.0)],
    [("x", 90.0)],
    [("y", -90.0)],
    [("z", 270.0), ("y", 90.0)],
    [("z", 180.0), ("x", 90.0)],
    [("x", 45.0)],
]


@pytest.mark.parametrize("turns", TURNS, ids=str)
@pytest.mark.parametrize("one", ["x", "y", "z"])
def test_turned_blocks_lie_along_their_own_edges(
    tmp_path: Path, turns: list[tuple[str, float]], one: str
) -> None:
    """Blocks of 10 x 4 x 2, many or one of them along an axis, fill their box and no more."""
    counts = {axis: 1 if axis == one else 8 for axis in "xyz"}
    steps = {"x": 10.0, "y": 4.0, "z": 2.0}
    places = [(np.arange(counts[axis]) + 0.5) * steps[axis] for axis in "xyz"]
    x, y, z = (grid.ravel() for grid in np.meshgrid(*places, indexing="ij"))
    table = pandas.DataFrame({"X": x, "Y": y, "Z": z}).assign(DX=10.0, DY=4.0, DZ=2.0)
    path, world = tmp_path / "b.csv", box((-200, -200, -200), (200, 200, 200))
    table.to_csv(path, index=False)
    how = {"rotation": turns, "origin": (1.0, 2.0, 3.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        label_file(path, {"ORE": world}, None, **how)
        inspect_file(path, **how)
    other = next(axis for axis in "xyz" if axis != one)
    table[f"D{other.upper()}"] *= 3
    table.to_csv(path, index=False)
    if turns[0][1] == 45:  # only along x do blocks lie in a row along an axis of the world
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        label_file(path, {"ORE": world}, None, **how)
    (overlap,) = (str(one.message) for one in caught if "neighbours" in str(one.message))
    assert overlap.endswith(f"Check d{other}=")
