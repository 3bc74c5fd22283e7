"""Labels of DataFrames: columns found by name, conditions, categories."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from late import pd
from sheets import level
from wireframes import box, cube

import geodomain
from geodomain import Domain, DomainError, Domains, TableError, label_blocks

ORE = Domain("ORE", cube())
HALO = Domain("HALO", box((5, 5, 5), (15, 15, 15)))


@cache
def blocks() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "IJK": range(5),
            "XC": [2.0, 7, 12, 50, np.nan],
            "YC": [2, 7, 12, 50, 1],
            "ZC": np.float32([2, 7, 12, 50, 1]),
            "ROCK": ["OX", "SU", None, "OX", "OX"],
        },
        index=[9, 8, 7, 6, 5],
    )


def test_a_categorical_with_the_index_of_the_frame() -> None:
    found = label_blocks(blocks(), [ORE, HALO], background="WASTE", unassigned="LOST")
    assert found.tolist() == ["ORE", "ORE", "HALO", "WASTE", "LOST"]
    assert found.name == "domain" and found.index.tolist() == [9, 8, 7, 6, 5]
    assert list(found.cat.categories) == ["ORE", "HALO", "WASTE", "LOST"]
    assert blocks().shape == (5, 5)


def test_without_a_label_there_is_no_value() -> None:
    found = label_blocks(blocks(), {"ORE": cube()})
    assert found.isna().tolist() == [False, False, True, True, True]
    assert list(found.cat.categories) == ["ORE"]
    ordered = Domains((ORE,), background="W")
    assert label_blocks(blocks(), ordered)[6] == "W"
    assert label_blocks(blocks(), ordered, background="V")[6] == "V"


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_conditions_on_columns_of_the_frame(kind) -> None:
    frame = blocks().assign(ROCK=blocks()["ROCK"].astype(kind))
    oxide = Domain("OX", HALO.meshes, only_if={"rock": {"!=": "OX"}})
    assert label_blocks(frame, [oxide, ORE]).tolist()[:2] == ["ORE", "OX"]
    assert label_blocks(frame, [oxide]).isna().tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("kind", ["Int64", "int16", "float32"])
def test_numbers_of_any_width(kind) -> None:
    frame = blocks().assign(CODE=pd.array([1, 2, 3, 4, 5], dtype=kind))
    assert label_blocks(frame, [Domain("A", cube(), only_if={"code": {">": 1}})]).tolist()[1] == "A"
    assert pd.isna(label_blocks(frame, [Domain("A", cube(), only_if={"code": {">": 1}})])[9])


def test_columns_that_are_not_found() -> None:
    with pytest.raises(TableError, match="the frame"):
        label_blocks(blocks().rename(columns={"ZC": "depth"}), [ORE])
    with pytest.raises(TableError, match="frame"):
        label_blocks(blocks(), [Domain("A", cube(), only_if={"zone": 1})])
    with pytest.raises(TableError, match="'XC' holds"):
        label_blocks(blocks().assign(XC="two"), [ORE])
    with pytest.raises(DomainError, match="holds numbers"):
        label_blocks(blocks(), [Domain("A", cube(), only_if={"IJK": "3"})])
    renamed = blocks().rename(columns={"XC": "a", "YC": "b", "ZC": "c"})
    assert label_blocks(renamed, [ORE], x="a", y="b", z="c").tolist()[0] == "ORE"


def rotated(**columns) -> pd.DataFrame:
    """Return two blocks of a Datamine model that is turned by 90 degrees about z."""
    origins = {"X0": 500, "Y0": 1000, "Z0": 100, "XMORIG": 0, "YMORIG": 0, "ZMORIG": 0}
    frame = pd.DataFrame({"XC": [10.0, 10], "YC": [20.0, 99], "ZC": [5.0, 5]})
    return frame.assign(**origins, ANGLE1=90.0, ROTAXIS1=3).assign(**columns)


@pytest.mark.filterwarnings("ignore:LOCAL does not meet")
def test_local_centroids_are_turned_into_the_world_or_refused() -> None:
    there = Domain("THERE", box((519, 989, 104), (521, 991, 106)))
    local = Domain("LOCAL", box((0, 0, 0), (100, 100, 100)))
    with pytest.warns(geodomain.GeodomainWarning, match="the frame is a rotated model"):
        found = label_blocks(rotated(), [there, local], background="-")
    assert found.tolist() == ["THERE", "-"]
    with pytest.raises(TableError, match=r"ANGLE1 is 90.*X0 is missing"):
        label_blocks(rotated().drop(columns="X0"), [there])
    several = pytest.raises(TableError, match="several models")
    with pytest.warns(geodomain.GeodomainWarning), several:
        label_blocks(pd.concat([rotated()] * 150 + [rotated(ANGLE1=80.0)]), [there])
    world = rotated(XWORLD=520.0, YWORLD=990.0, ZWORLD=105.0)
    assert label_blocks(world, [there]).tolist() == ["THERE", "THERE"]
    with pytest.warns(geodomain.GeodomainWarning, match="are used as world"):
        assert label_blocks(rotated(), [local], x="XC", y="YC", z="ZC").tolist() == ["LOCAL"] * 2


def test_an_empty_frame() -> None:
    found = label_blocks(blocks()[:0], [ORE, Domain("AIR", level(1.0), kind="above")])
    assert len(found) == 0 and list(found.cat.categories) == ["ORE", "AIR"]


def test_labels_given_already_are_kept_where_a_domain_keeps_them():
    frame = pd.DataFrame({"x": [1.0, 1, 1, 20], "y": [1.0] * 4, "z": [1.0, 1, 1, 1]})
    frame["Zone"] = ["OLD", "", None, "B"]
    solid = cube(9.0)
    keeping = [Domain("B", solid, keep=True)]
    found = label_blocks(frame, keeping, background="AIR", replace="zone")
    assert found.tolist() == ["OLD", "B", "B", "B"]
    assert found.name == "Zone" and list(found.cat.categories) == ["B", "AIR", "OLD"]
    taking = label_blocks(frame, [Domain("B", solid)], background="AIR", replace="zone")
    assert taking.tolist() == ["B", "B", "B", "AIR"]
    assert label_blocks(frame, keeping).tolist()[:3] == ["B"] * 3
    with pytest.raises(TableError, match="none"):
        label_blocks(frame, keeping, replace="none")
