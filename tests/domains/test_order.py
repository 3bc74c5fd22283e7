"""Domains and stacks: the label of each block by kind, order, condition and extent; solids."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from sheets import level, overhang
from surfaces import hairline, lidless
from wireframes import box, cube, roofless

import geodomain
from geodomain import Domain, DomainError, Domains, GeodomainWarning, MeshError, Stack, label_points
from geodomain.cli.options import by_name
from geodomain.domains.sources import Weld, domains_to_label
from geodomain.formats.wireframes import write_mesh
from geodomain.labelling.counts import Tally
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.summary import as_table, summarise

GROUND = level(5.0, 10, name="ground.ply")
ORE = Domain("ORE", cube())
AIR = Domain("AIR", GROUND, kind="above")
ROCK = Domain("ROCK", GROUND, kind="below")
POINTS = [[2, 2, 2], [2, 2, 5], [2, 2, 8], [12, 2, 2], [np.nan, 2, 2]]


def labels(*domains, points=POINTS, **options) -> list[str]:
    return label_points(points, domains, background="-", unassigned="?", **options).tolist()


def test_above_and_below_a_surface(backend: str) -> None:
    assert labels(AIR, ROCK, backend=backend) == ["ROCK", "AIR", "AIR", "?", "?"]
    assert labels(ROCK, backend=backend) == ["ROCK", "-", "-", "?", "?"]


def test_beyond_a_surface_by_choice() -> None:
    points = [[12, 2, 2], [12, 2, 5]]
    for extend, expected in (
        ("unassigned", ["?", "?"]),
        ("background", ["-", "-"]),
        ("nearest", ["-", "AIR"]),
    ):
        air = Domain("AIR", GROUND, kind="above", extend=extend)
        assert labels(air, points=points) == expected
    # What is before a surface is sure of its blocks; what is after it is not asked.
    wide = Domain("WIDE", box((0, 0, 0), (20, 20, 20)))
    assert labels(wide, AIR, points=points) == ["WIDE"] * 2
    assert labels(AIR, wide, points=points) == ["?"] * 2


def test_the_first_wins_or_the_last() -> None:
    halo = Domain("HALO", box((1, 1, 1), (15, 15, 15)))
    points = [[0.5, 2, 2], [2, 2, 2], [12, 12, 12], [30, 1, 1]]
    for order, both in (("first", "ORE"), ("last", "HALO")):
        given = Domains((ORE, halo), order=order)
        assert label_points(points, given).tolist() == ["ORE", both, "HALO", ""]
        # The same by the long way, which asks every domain.
        given = Domains((ORE, halo, AIR_FAR), order=order)
        assert label_points(points, given).tolist() == ["ORE", both, "HALO", ""]


AIR_FAR = Domain("FAR", level(5.0, at=(90, 90, 0)), kind="above", extend="background")


@pytest.mark.parametrize("extra", [(), (AIR_FAR,)])
@pytest.mark.parametrize("keeps", list(itertools.product([False, True], repeat=3)))
def test_keep_leaves_what_an_earlier_domain_gave(keeps, extra) -> None:
    boxes = [box((0, 0, 0), (4, 4, 4)), box((0, 0, 0), (3, 3, 3)), box((0, 0, 0), (2, 2, 2))]
    domains = [Domain(n, b, keep=k) for n, b, k in zip("ABC", boxes, keeps, strict=True)]
    points = np.array([[1, 1, 1], [2.5, 1, 1], [3.5, 1, 1]])
    found = label_points(points, Domains((*domains, *extra), order="last"))
    expected = []
    for point in points:
        label = ""
        for domain, mesh in zip(domains, boxes, strict=True):
            if geodomain.contains(mesh, [point])[0] and not (domain.keep and label):
                label = domain.name
        expected.append(label)
    assert found.tolist() == expected


def test_inverted_is_the_other_side() -> None:
    out = Domain("OUT", cube(), invert=True)
    assert labels(out) == ["-", "-", "-", "OUT", "?"]
    below = Domain("BELOW", GROUND, kind="above", invert=True)
    assert labels(below) == ["BELOW", "-", "-", "?", "?"]
    leaky = Domain("OUT", roofless(), invert=True)
    points = [[2, 8, 5], [8, 2, 5], [20, 20, 5]]
    assert labels(leaky, points=points, allow_open=True) == ["-", "?", "OUT"]


def test_conditions_on_columns() -> None:
    columns = {
        "Rock": np.array(["OX", "SU", " OX ", "", "OX"], dtype=object),
        "grade": np.ma.masked_values([0.1, 0.5, 0.5, 0.5, -99.0], -99.0),
    }
    points = [[2.0, 2, 2]] * 5
    for given, expected in (
        ({"rock": "OX"}, "x-x-x"),
        ({"rock": ["OX", "SU"]}, "xxx-x"),
        ({"rock": {"!=": "OX"}}, "-x---"),
        ({"grade": {">=": 0.5}}, "-xxx-"),
        ({"grade": {">": 0.1, "<": 0.6}, "rock": "OX"}, "--x--"),
        ({"grade": 0.5}, "-xxx-"),
        ({"grade": {"!=": 0.5}}, "x----"),
        ({"grade": [0.1, 7]}, "x----"),
    ):
        domain = Domain("x", cube(), only_if=given)
        assert "".join(labels(domain, points=points, columns=columns)) == expected, given


def test_conditions_need_their_columns() -> None:
    domain = Domain("X", cube(), only_if={"rock": "OX"})
    with pytest.raises(DomainError, match="rock"):
        labels(domain)
    with pytest.raises(ValueError, match="2 rows, but there are 5"):
        labels(domain, columns={"rock": ["OX", "OX"]})
    with pytest.raises(DomainError, match="holds numbers"):
        labels(domain, columns={"rock": [1.0] * 5})


@pytest.mark.parametrize(
    "given",
    [
        {"rock": []}, {"rock": ""}, {"rock": True}, {"rock": None}, {"rock": {}},
        {"rock": {"=>": 1}}, {"rock": {"<": "a"}}, {"rock": {"<": [1, 2]}}, {"rock": float("nan")},
        "rock", {"rock": [["a"]]},
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused(given) -> None:
    with pytest.raises(DomainError):
        Domain("X", cube(), only_if=given)


def test_an_open_solid_by_winding_is_asked_for_and_said() -> None:
    given = Domain("POT", lidless(), rule="winding")
    points = [[0.5, 0.5, 0.2], [0.5, 0.5, 0.99], [0.5, 0.5, 3]]
    with pytest.warns(GeodomainWarning, match=r"box\.stl is not closed.*winding"):
        assert labels(given, points=points) == ["POT", "POT", "-"]
    with pytest.raises(geodomain.MeshError, match="not closed"):
        labels(Domain("POT", lidless()), points=points)
    with pytest.raises(geodomain.MeshError, match="not closed"):
        labels(Domain("POT", lidless()), points=points, rule="winding")


def test_what_makes_no_domain_is_refused() -> None:
    for name in ("", " ", 3, None):
        with pytest.raises(DomainError, match="name"):
            Domain(name, cube())  # type: ignore[arg-type]
    for options, what in (
        ({"kind": "inside"}, "'solid', 'above', 'below'"),
        ({"code": 1.5}, "whole number"),
        ({"code": True}, "whole number"),
        ({"rule": "even"}, "parity"),
        ({"extend": "far"}, "nearest"),
        ({"extend": "nearest"}, "only to surfaces"),
        ({"kind": "above", "rule": "winding"}, "only to solids"),
    ):
        with pytest.raises(DomainError, match=what):
            Domain("X", cube(), **options)
    with pytest.raises(TypeError, match=r"X: a mesh must be .* not int"):
        Domain("X", 3)  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="no mesh"):
        Domain("X", [])


def test_names_must_tell() -> None:
    with pytest.raises(DomainError, match="'ORE' is the name of both domain 1 and domain 2"):
        Domains((ORE, ORE))
    with pytest.raises(DomainError, match="of both domain 1 and layer 2 of stack 1"):
        Domains((ORE,), (Stack([GROUND], ["AIR", "ORE"]),))
    for what in ("background", "unassigned"):
        with pytest.raises(DomainError, match=what):
            Domains((ORE,), **{what: "ORE"})
    with pytest.raises(TypeError, match="Domain or Stack"):
        labels(cube())


def test_surfaces_are_asked_once_for_all_that_share_them() -> None:
    labeller = Labeller([AIR, ROCK, Stack([GROUND], ["UP", "DOWN"])])
    assert len(labeller._locators) == 1
    verdict = labeller.label(np.array(POINTS))
    assert verdict.table("inside").sum(axis=1).tolist() == [2, 1, 2, 1]


def summary_of(*domains, points, sizes=None, chunk=10**9):
    labeller = Labeller(list(domains))
    tally = Tally(labeller.targets)
    for begin in range(0, len(points), chunk):
        rows = slice(begin, begin + chunk)
        part = None if sizes is None else sizes[rows]
        tally.add(points[rows], part, labeller.label(points[rows]))
    return summarise(labeller, tally, LabelSettings(background="-", unassigned="?"), seconds=1.0)


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_what_is_not_there_and_what_folds_is_counted(chunk: int) -> None:
    fold = overhang(name="fold.ply")
    points = np.array([[3.0, 1, z] for z in (-1, 4, 9)] + [[2.5, 1, 0], [0.5, 1, 1], [8, 8, 8]])
    summary = summary_of(Domain("UP", fold, kind="above"), points=points, chunk=chunk)
    assert summary.folded == ({"surface": "fold.ply", "columns": 2, "blocks": 4},)
    assert summary.beyond.blocks == 1 and summary.beyond.label == "?"
    said = " ".join(summary.warnings)
    assert "fold.ply is crossed more than once in 2 columns" in said
    assert "1 block is outside the footprint of a surface of UP: unassigned. To label" in said
    assert "(beyond) ?" in as_table(summary)


@pytest.mark.parametrize("kind", ["above", "stack"])
@pytest.mark.parametrize("extend", ["unassigned", "background", "nearest"])
def test_blocks_beyond_a_surface_are_counted_whatever_becomes_of_them(extend, kind) -> None:
    points = np.array([[12.0, 2, 2], [12, 2, 8], [2, 2, 2], [np.nan, 2, 2]])
    domain = (
        Stack([GROUND], ["UP", "DOWN"], extend=extend)
        if kind == "stack"
        else Domain("UP", GROUND, kind="above", extend=extend)
    )
    summary = summary_of(domain, points=points, chunk=3)
    (said,) = (one for one in summary.warnings if "footprint" in one)
    title = "the stack UP / DOWN" if kind == "stack" else "UP"
    assert f"2 blocks are outside the footprint of a surface of {title}: " in said
    assert f"'{'extend' if extend == 'unassigned' else extend}'" in said
    assert summary.beyond.blocks == 2 * (extend == "unassigned")


@pytest.mark.parametrize("rule", ["erode", "onlap"])
def test_blocks_where_surfaces_of_a_stack_cross_are_counted(rule: str) -> None:
    low, high = level(2.0, 10, name="low"), level(7.0, 10, name="high")
    points = np.array([[2.0, 2, z] for z in (1, 2, 5, 6, 7, 9)] + [[12.0, 2, 5]])
    right = summary_of(Stack([high, low], "ABC", rule=rule), points=points)
    assert not [said for said in right.warnings if "cross" in said]
    # Listed from bottom to top: whatever lies between has changed places.
    wrong = summary_of(Stack([low, high], "ABC", rule=rule), points=points)
    (said,) = (one for one in wrong.warnings if "cross" in one)
    assert said.startswith("3 blocks lie where surfaces of the stack A / B / C cross; by rule = ")
    assert f"rule = '{rule}'" in said and said.endswith("from top to bottom")


def test_conditions_that_no_block_meets_are_said() -> None:
    domain = Domain("A", cube(), only_if={"rock": ["OXX", 3], "au": {">=": 0.5}})
    labeller, points = Labeller([domain, ORE]), np.array([[2.0, 2, 2]])
    tally = Tally(labeller.targets)
    for met in (False, False):
        allowed = [np.array([met]), None]
        tally.add(points, None, labeller.label(points, allowed), allowed)
    said = summarise(labeller, tally, LabelSettings(), seconds=1.0).warnings
    assert said == ("no block meets only_if of A: rock == ['OXX', 3], au >= 0.5",)
    allowed = [np.array([True]), None]
    tally.add(points, None, labeller.label(points, allowed), allowed)
    assert not summarise(labeller, tally, LabelSettings(), seconds=1.0).warnings


def test_what_a_surface_taken_for_a_solid_may_be() -> None:
    with pytest.raises(
        geodomain.MeshError, match="If AIR is a surface, set kind = 'above' or 'below'"
    ):
        labels(Domain("AIR", GROUND))


def test_a_closed_mesh_is_not_extended() -> None:
    for one in (
        Domain("UP", cube(), kind="above", extend="nearest"),
        Stack([cube()], ["UP", ""], extend="nearest"),
    ):
        with pytest.raises(
            geodomain.MeshError, match=r"UP.*extend = 'nearest' needs a surface with a rim"
        ):
            Labeller([one])


def test_overlaps_have_volumes() -> None:
    halo = Domain("HALO", box((1, 1, 1), (15, 15, 15)))
    points, sizes = np.array([[2.0, 2, 2], [12, 12, 12], [0.5, 1, 1]]), np.full((3, 3), 2.0)
    summary = summary_of(ORE, halo, AIR, points=points, sizes=sizes)
    assert summary.overlaps == ({"solids": ["ORE", "HALO"], "blocks": 1, "volume": 8.0},)
    assert "blocks in both ORE and HALO: 1, volume 8" in as_table(summary)
    assert summary_of(ORE, halo, points=points).overlaps[0]["volume"] is None


def test_a_surface_has_no_box_of_its_own_upward() -> None:
    high = np.array([[2.0, 2, 900.0]])
    assert not [said for said in summary_of(AIR, points=high).warnings if "does not meet" in said]


@pytest.mark.parametrize("seed", range(3))
def test_chunks_apart_from_a_solid_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solids = [
        Domain(f"S{i}", box(tuple(low), tuple(low + rng.integers(1, 5, 3))))
        for i, low in enumerate(rng.integers(0, 9, (6, 3)))
    ]
    points = rng.integers(-2, 14, (300, 3)) + rng.choice([0.0, 0.5], (300, 3))
    labeller = Labeller([*solids, AIR_FAR])
    whole = labeller.label(points).codes
    some = np.concatenate([labeller.label(points[i : i + 7]).codes for i in range(0, 300, 7)])
    assert np.array_equal(whole, some)
    codes = geodomain.label_codes(points, [solid.meshes[0] for solid in solids])
    assert np.array_equal(np.where(whole == 7, -1, whole), codes)


def test_a_list_of_domains_is_kept_as_a_tuple() -> None:
    listed = Domains([ORE])
    assert listed.domains == (ORE,) and listed.stacks == ()


def test_a_repeated_name_joins_the_place_of_its_first(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.obj"), str(tmp_path / "two.obj")
    write_mesh(cube(), one)
    write_mesh(box((20, 0, 0), (30, 10, 10)), two)
    found = domains_to_label(by_name((("A", one), ("B", one), ("A", two))))
    solids = found.domains.domains
    assert [(solid.name, len(solid.meshes)) for solid in solids] == [("A", 2), ("B", 1)]
    assert solids[0].bounds.tolist() == [[0, 0, 0], [30, 10, 10]]
    assert found.welds == () and found.files == (Path(one), Path(two))
    assert solids[0].meshes[0] is solids[1].meshes[0]  # read once


def test_welding_is_asked_for_and_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "one.obj")
    write_mesh(cube(), path)
    for given in (path, [path], (path,)):
        found = domains_to_label({"A": given}, weld=0.5)
        assert found.welds == (Weld("one.obj", 0.5, 0, 0.0),)
        assert found.domains.meshes[0].is_closed


def test_meshes_that_are_there_are_welded_once_whatever_holds_them() -> None:
    crack = hairline(0.0004)
    domains = [
        Domain("A", crack, only_if={"rock": "OX"}, code=3),
        Stack([crack, [cube()]], ["UP", "MIDDLE", "DOWN"], rule="onlap"),
    ]
    found = domains_to_label(domains, weld=0.001)
    (domain,), (stack,) = found.domains.domains, found.domains.stacks
    assert [weld.moved for weld in found.welds] == [4, 0] and found.files == ()
    assert domain.meshes[0] is stack.surfaces[0][0] and domain.meshes[0].is_closed
    assert (domain.code, domain.only_if) == (3, domains[0].only_if)
    assert (stack.layers, stack.rule) == (("UP", "MIDDLE", "DOWN"), "onlap")
    assert domains_to_label(domains).domains.domains[0] is domains[0]


def test_a_mesh_of_points_and_lines_is_refused(tmp_path):
    path = tmp_path / "thin.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 3 3 3\n")
    with pytest.raises(MeshError, match=r"thin.obj has no triangle with three different corners"):
        domains_to_label({"ORE": path})
