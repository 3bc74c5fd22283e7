"""A message that proposes a keyword proposes one that the function has."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from late import pd
from wireframes import box

import geodomain
from geodomain.cli.console import keywords
from geodomain.labelling import settings as label_settings
from geodomain.tables import settings as table_settings

ORE = {"ORE": box((0, 0, 0), (20, 20, 20))}
RICH = [geodomain.Domain("RICH", ORE["ORE"], only_if={"AU": {">=": 0.5}})]
GRADES = ["<0.01", "BDL", "1,410", "1,5", "inf", "true", "x", "-0.5", "-99"]


@cache
def collar() -> pd.DataFrame:
    return pd.DataFrame({"HOLE": ["A", "B"], "X": [5.0, 15], "Y": [5.0, 5], "Z": [30.0, 30],
                           "AZIMUTH": [0, 0], "DIP": [90, 90]})  # fmt: skip


def blocks(grade: str) -> pd.DataFrame:
    """Return four blocks, the last with a grade as text."""
    x = [5.0, 15.0, 5.0, 15.0]
    return pd.DataFrame({"X": x, "Y": [5.0, 5.0, 15.0, 15.0], "Z": 5.0, "DX": 10.0, "DY": 10.0,
                         "DZ": 10.0, "AU": ["1", "2", "3", grade], "DENSITY": 2.7,
                         "domain": "ORE"})  # fmt: skip


def samples(grade: str) -> pd.DataFrame:
    return pd.DataFrame({"HOLE": ["A", "A", "B"], "FROM": [0.0, 10, 0], "TO": [10.0, 20, 10],
                         "AU": ["1", "2", grade]})  # fmt: skip


def saved(frame: pd.DataFrame, name: str) -> str:
    frame.to_csv(name, index=False)
    return name


def unlabelled(grade: str) -> str:
    return saved(blocks(grade).drop(columns="domain"), "b.csv")


def holes() -> geodomain.Drillholes:
    return geodomain.Drillholes(collar())


# Each function with a call of it that reads grades.
READERS: dict[str, tuple[Callable[..., object], Callable[[str], object]]] = {
    "label_blocks": (geodomain.label_blocks, lambda g: geodomain.label_blocks(blocks(g), RICH)),
    "proportions_blocks": (
        geodomain.proportions_blocks,
        lambda g: geodomain.proportions_blocks(blocks(g), RICH),
    ),
    "label_points": (
        geodomain.label_points,
        lambda g: geodomain.label_points(
            blocks(g)[["X", "Y", "Z"]].to_numpy(), RICH, columns={"AU": blocks(g)["AU"].to_numpy()}
        ),
    ),
    "label_file": (
        geodomain.label_file,
        lambda g: geodomain.label_file(unlabelled(g), RICH, None),
    ),
    "label_file, shares": (
        geodomain.label_file,
        lambda g: geodomain.label_file(unlabelled(g), RICH, None, by="majority"),
    ),
    "tonnes": (
        geodomain.tonnes,
        lambda g: geodomain.tonnes(blocks(g), density="DENSITY", grade="AU"),
    ),
    "tonnes_file": (
        geodomain.tonnes_file,
        lambda g: geodomain.tonnes_file(
            saved(blocks(g), "b.csv"), density="DENSITY", grade="AU"
        ),
    ),
    "stats": (
        geodomain.stats,
        lambda g: geodomain.stats(saved(blocks(g), "b.csv"), "AU"),
    ),
    "stats, samples": (
        geodomain.stats, lambda g: geodomain.stats(saved(samples(g), "s.csv"), "AU"),
    ),
    "flag": (geodomain.flag, lambda g: geodomain.flag(samples(g), holes(), RICH)),
    "flag, split": (
        geodomain.flag, lambda g: geodomain.flag(samples(g), holes(), RICH, by="split"),
    ),
    "flag_file": (
        geodomain.flag_file,
        lambda g: geodomain.flag_file(saved(samples(g), "s.csv"), RICH, None, collar=collar()),
    ),
    "composite": (
        geodomain.composite,
        lambda g: geodomain.composite(samples(g), holes(), ORE, length=5.0, grade="AU"),
    ),
    "composite_file": (
        geodomain.composite_file,
        lambda g: geodomain.composite_file(
            saved(samples(g), "s.csv"), ORE, None, collar=collar(), length=5.0, grade="AU"
        ),
    ),
    "contacts": (
        geodomain.contacts,
        lambda g: geodomain.contacts(
            samples(g), ORE, ("ORE", "W"), "AU", holes=holes(), background="W"
        ),
    ),
    "contacts, points": (
        geodomain.contacts,
        lambda g: geodomain.contacts(blocks(g), ORE, ("ORE", "W"), "AU", background="W"),
    ),
    "contacts_file": (
        geodomain.contacts_file,
        lambda g: geodomain.contacts_file(
            saved(samples(g), "s.csv"), ORE, between=("ORE", "W"), grade="AU", collar=collar(),
            background="W",
        ),
    ),
}  # fmt: skip
# Tables of holes that are in doubt: every finding proposes to accept it, or another keyword.


@cache
def odd() -> pd.DataFrame:
    return collar().assign(Z=[30.0, np.nan])


ODD_HOLES: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "Drillholes": (geodomain.Drillholes, lambda: geodomain.Drillholes(odd(), strict=True)),
    "flag": (
        geodomain.flag,
        lambda: geodomain.flag(samples("1").replace("B", "C"), holes(), ORE, strict=True),
    ),
    "composite": (
        geodomain.composite,
        lambda: geodomain.composite(
            samples("1").replace("B", "C"), holes(), ORE, length=5.0, strict=True
        ),
    ),
    "flag_file": (
        geodomain.flag_file,
        lambda: geodomain.flag_file(
            saved(samples("1"), "s.csv"), ORE, None, collar=odd(), strict=True
        ),
    ),
    "composite_file": (
        geodomain.composite_file,
        lambda: geodomain.composite_file(
            saved(samples("1"), "s.csv"), ORE, None, collar=odd(), length=5.0, strict=True
        ),
    ),
    "crossings_file": (
        geodomain.crossings_file, lambda: geodomain.crossings_file(odd(), solids=ORE, strict=True),
    ),
}  # fmt: skip


def keywords_of(function: Callable[..., object]) -> set[str]:
    """Return the keywords of a function, those of a TypedDict in its signature, too."""
    parameters = inspect.signature(function).parameters
    found = set(parameters)
    for each in parameters.values():
        if typed := re.search(r"Unpack\[(\w+)\]", str(each.annotation)):
            kinds = [vars(module).get(typed[1]) for module in (table_settings, label_settings)]
            found |= set(next(filter(None, kinds)).__annotations__)
    return found


def proposed(call: Callable[[], object]) -> tuple[list[str], set[str]]:
    """Return what a call says, and the keywords that this proposes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except geodomain.GeodomainError as error:
            caught = [error]  # type: ignore[list-item]
    said = [str(getattr(each, "message", each)) for each in caught]
    names = rf"\b({'|'.join(keywords())})=(?=[\s'\"{{(\d,;.:)\]]|True|$)"
    # What another function is called with is not a keyword of this one.
    own = [re.sub(r"\w+\(\.\.\..*?\)", "", each) for each in said]
    return said, {name for each in own for name in re.findall(names, each)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("case", READERS)
def test_what_a_grade_proposes_exists(case: str, grade: str) -> None:
    function, call = READERS[case]
    said, names = proposed(lambda: call(grade))
    assert names <= keywords_of(function), said


@pytest.mark.parametrize("case", ODD_HOLES)
def test_what_odd_holes_propose_exists(case: str) -> None:
    function, call = ODD_HOLES[case]
    said, names = proposed(call)
    assert {"strict", "accept"} <= names <= keywords_of(function), said


def test_grades_propose_something() -> None:
    """The test sees the keywords of messages."""
    for case in ("label_blocks", "label_file", "tonnes", "flag", "flag_file", "composite"):
        call = READERS[case][1]
        assert {"below_detection", "missing"} <= proposed(lambda call=call: call("<0.01"))[1]
    assert "decimal" in proposed(lambda: READERS["flag_file"][1]("1,5"))[1]
