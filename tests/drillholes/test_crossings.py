"""What holes pass through: arcs against walls, with exact parity and depths known by hand."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from flagged_holes import warned_of
from hypothesis import given
from hypothesis import strategies as st
from late import pd
from wireframes import box

import geodomain
from geodomain import Domain, Drillholes, Mesh, Stack
from geodomain.drillholes.crossings import SAGITTA, cross_walls

# Holes of a few straight lines bend and begin at 0, which is warned of.


def holes_of(*holes: tuple, end: float = 100.0, **options) -> Drillholes:
    """Make holes of (collar, stations), each station (depth, azimuth, dip)."""
    collar = [(f"H{i}", *place, end) for i, (place, _) in enumerate(holes)]
    survey = [(f"H{i}", *station) for i, (_, stations) in enumerate(holes) for station in stations]
    return Drillholes(
        pd.DataFrame(collar, columns=["HOLE", "X", "Y", "Z", "DEPTH"]),
        pd.DataFrame(survey, columns=["HOLE", "AT", "AZ", "DIP"]),
        down="positive",
        **options,
    )


def quarter(radius: float = 100.0) -> tuple:
    """A quarter circle from the origin, straight down, to level, towards the east."""
    return (0.0, 0.0, 0.0), [(0, 90, 90), (radius * np.pi / 2, 90, 0)]


def test_depths_are_on_the_arc_and_not_on_its_chord(backend: str) -> None:
    """At 30 degrees of a circle of radius 100: x = 100 (1 - cos 30), z = -50."""
    holes = holes_of(quarter(), end=150.0)
    roof, floor = -50.0, -100 * np.sin(np.radians(60))
    found = holes.crossings({"ORE": box((-500, -500, floor), (500, 500, roof))}, backend=backend)
    (row,) = found.stay_rows()
    assert row[:2] == ("H0", "ORE")
    assert row[2] == pytest.approx(100 * np.pi / 6, abs=1e-9)
    assert row[3] == pytest.approx(100 * np.pi / 3, abs=1e-9)
    assert row[5:8] == pytest.approx((100 * (1 - np.cos(np.pi / 6)), 0, roof), abs=1e-9)
    assert row[8:11] == pytest.approx((50, 0, floor), abs=1e-9)
    assert row[11:] == (0, 0)
    chord = roof / -100 * np.hypot(100, 100)
    assert abs(chord - row[2]) > 10


def test_a_passage_that_the_chord_misses_is_found() -> None:
    """A box between arc and chord: both ends are outside, and the chord does not meet it."""
    middle = np.array([100 * (1 - np.cos(np.pi / 4)), 0, -100 * np.sin(np.pi / 4)])
    for size in (1.0, 1e-3, 3e-6):
        ore = box(middle - size, middle + size)
        found = holes_of(quarter(), end=157.0).crossings({"ORE": ore})
        (row,) = found.stay_rows()
        assert (row[2] + row[3]) / 2 == pytest.approx(100 * np.pi / 4, abs=1e-8 + size * 0.01)
        assert found.parity == (1,)
    far = middle + np.array([-2.0, 0.0, -2.0])
    assert not len(holes_of(quarter()).crossings({"ORE": box(far - 1.9, far + 1.9)}).stays)


def test_the_balanced_and_tangent_ways_are_crossed_too() -> None:
    end = 100 * np.pi / 2
    slab = {"ORE": box((-500, -500, -60), (500, 500, -40))}
    for method, exact in (("balanced", (40, 60)), ("tangent", (40, 60))):
        (row,) = holes_of(quarter(), end=end, method=method).crossings(slab).stay_rows()
        assert row[2:4] == pytest.approx(exact)
    slab = {"ORE": box((-500, -500, -120), (500, 500, -100))}
    assert not len(holes_of(quarter(), end=end, method="balanced").crossings(slab).stays)
    (row,) = holes_of(quarter(), end=end, method="tangent").crossings(slab).stay_rows()
    assert row[2:4] == pytest.approx((100, 120))


def test_holes_that_begin_and_end_inside() -> None:
    down = ((5.0, 5.0, 10.0), [(0, 0, 90)])
    ore = {"ORE": box((0, 0, 0), (10, 10, 20))}
    (row,) = holes_of(down, end=4).crossings(ore).stay_rows()
    assert row[2:5] == (0, 4, 4) and row[11:] == (1, 1)
    (row,) = holes_of(down, end=40).crossings(ore).stay_rows()
    assert row[2:5] == (0, 10, 10) and row[11:] == (1, 0)


@warned_of("hole-bend")
def test_a_crossing_at_a_station_counts_once() -> None:
    stations = [(0, 0, 90), (5, 0, 90), (10, 0, 80), (20, 0, 70)]
    for collar in ((5.0, 5.0, 20.0), (0.0, 0.0, 20.0), (10.0, 5.0, 20.0)):
        holes = holes_of((collar, stations), end=30)
        found = holes.crossings({"ORE": box((0, 0, 5), (10, 10, 15))})
        assert found.parity == (1,)
        (inside,) = geodomain.contains(
            box((0, 0, 5), (10, 10, 15)), holes.points_at(np.array([0]), np.array([6.0]))
        )
        assert (len(found.stays) > 0) == bool(inside)


@warned_of("hole-bend")
def test_adjacent_solids_share_a_hole_without_gap() -> None:
    hole = ((5.0, 5.0, 30.0), [(0, 90, 85), (30, 100, 60), (60, 120, 40)])
    holes = holes_of(hole, end=60)
    cuts = [0, 5, 11, 17]
    slabs = {f"L{low}": box((-50, -50, low), (90, 90, high))
             for low, high in pairwise(cuts)}  # fmt: skip
    rows = list(holes.crossings(slabs).stay_rows())
    assert [row[1] for row in rows] == ["L11", "L5", "L0"]
    assert rows[0][3] == pytest.approx(rows[1][2], abs=1e-9)
    assert rows[1][3] == pytest.approx(rows[2][2], abs=1e-9)


def test_a_union_is_one_stay() -> None:
    hole = ((5.0, 5.0, 30.0), [(0, 0, 90)])
    both = {"ORE": [box((0, 0, 0), (10, 10, 12)), box((0, 0, 8), (10, 10, 20))]}
    found = holes_of(hole, end=60).crossings(both)
    assert [row[2:4] for row in found.stay_rows()] == [(10, 30)]
    assert found.crossings == (4,)


def test_the_winding_rule_and_inverted_domains() -> None:
    hole = ((5.0, 5.0, 30.0), [(0, 0, 90)])
    low, high = box((0, 0, 0), (10, 10, 12)), box((0, 0, 8), (10, 10, 20))
    joined = Mesh(
        np.concatenate([low.vertices, high.vertices]),
        np.concatenate([low.triangles, high.triangles + len(low.vertices)]),
    )
    holes = holes_of(hole, end=40)
    with pytest.warns(geodomain.GeodomainWarning, match="overlap"):
        wound = holes.crossings([Domain("ORE", joined, rule="winding")])
    assert [row[2:4] for row in wound.stay_rows()] == [(10, 30)]
    odd = holes.crossings({"ORE": joined})
    assert [row[2:4] for row in odd.stay_rows()] == [(10, 18), (22, 30)]
    rest = holes.crossings([Domain("REST", low, invert=True)])
    assert [row[2:4] for row in rest.stay_rows()] == [(0, 18), (30, 40)]


GROUND = Mesh([[-99, -99, 5], [99, -99, 5], [0, 99, 5]], [[0, 1, 2]], name="ground")


@warned_of(maybe=("hole-bend",))
def test_pierce_points_say_which_way(backend: str) -> None:
    """Down through the ground and up again, whatever way its triangles face."""
    hole = ((0.0, 0.0, 10.0), [(0, 90, 60), (30, 90, -60)])
    for mesh in (GROUND, Mesh(GROUND.vertices, GROUND.triangles[:, ::-1], name="ground")):
        holes = holes_of(hole, end=30)
        found = holes.crossings([Domain("AIR", mesh, kind="above")], backend=backend)
        one, other = found.pierce_rows()
        assert (one[:2], one[-1], other[-1]) == (("H0", "AIR"), "down", "up")
        assert one[5] == pytest.approx(5, abs=1e-9) == other[5]
        assert one[2] + other[2] == pytest.approx(30, abs=1e-9)
        assert not len(found.stays)


def test_surfaces_of_stacks_and_conditions() -> None:
    hole = ((0.0, 0.0, 10.0), [(0, 0, 90)])
    stack = Stack([GROUND], ["AIR", "ROCK"])
    found = holes_of(hole, end=30).crossings([stack])
    assert [row[:2] for row in found.pierce_rows()] == [("H0", "ground")]
    rich = Domain("RICH", box((-1, -1, 0), (1, 1, 2)), only_if={"au": {">=": 1}})
    with pytest.warns(geodomain.GeodomainWarning, match="RICH is left out, because its condition"):
        assert holes_of(hole, end=30).crossings([rich]).solids == ()


def test_an_open_solid_is_refused() -> None:
    hole = ((0.0, 0.0, 10.0), [(0, 0, 90)])
    with pytest.raises(geodomain.MeshError, match="ground is not closed"):
        holes_of(hole).crossings({"ORE": GROUND})


bends = st.lists(st.tuples(st.integers(0, 359), st.integers(-30, 90)), min_size=1, max_size=6)


@pytest.mark.full
@given(bends, st.integers(0, 2**32 - 1), st.sampled_from(["minimum curvature", "balanced"]))
@warned_of(maybe=("hole-bend",))
def test_parity_holds_and_middles_are_inside(stations, seed: int, method: str) -> None:
    """In a random body, on lattice coordinates where edges and corners are met."""
    random = np.random.default_rng(seed)
    body = box((-10, -10, -40), (15, 15, -5))
    collar = tuple(random.integers(-12, 13, 3).astype(float))
    rows = [(20.0 * i, *station) for i, station in enumerate(stations)]
    try:
        holes = holes_of((collar, rows), end=20.0 * len(rows), method=method)
    except geodomain.TableError:  # it turns back on itself
        return
    found = holes.crossings({"ORE": body})
    assert found.parity == (1,)
    stays = found.stays
    deep = stays.ends - stays.begins > 1e-5
    middles = holes.points_at(stays.holes, (stays.begins + stays.ends) / 2)
    assert geodomain.contains(body, middles)[deep].all()
    on_wall = np.concatenate([stays.entries[~stays.starts_inside], stays.exits[~stays.ends_inside]])
    assert (geodomain.distances(body, on_wall) < 1e-6).all()


@warned_of("collar-zero")
def test_the_answer_is_the_same_for_any_number_of_threads() -> None:
    holes = holes_of(*[((float(i), 0.0, 0.0), quarter()[1]) for i in range(200)], end=140)
    body = box((-10, -10, -90), (300, 15, -5))
    one, two = (cross_walls(holes.curves, holes.ends, body, threads=n) for n in (1, 2))
    assert len(one) > 200
    for name in ("holes", "depths", "pieces", "triangles"):
        assert (getattr(one, name) == getattr(two, name)).all()


def test_it_shows_itself() -> None:
    holes = holes_of(((5.0, 5.0, 30.0), [(0, 0, 90)]), end=60)
    air = Domain("AIR", GROUND, kind="above")
    found = holes.crossings([Domain("ORE", box((0, 0, 0), (10, 10, 12))), air])
    assert repr(found) == "<HoleCrossings: 1 stay, 1 pierce point>"
    assert "1 of 1 hole" in str(found) and "<td" in found._repr_html_()
    assert found.as_dict()["solids"][0]["length"] == 12
    stays, pierces = found.to_pandas()
    assert stays["length"].tolist() == [12] and pierces["direction"].tolist() == ["down"]
    assert SAGITTA == 1e-7


@pytest.mark.filterwarnings("ignore:domain.stl stores single:geodomain.GeodomainWarning")
def test_crossings_of_babbitt(shared_data: Path) -> None:
    ours, theirs = shared_data / "babbitt", shared_data / "formats" / "drillholes"
    survey = theirs / "babbitt_survey.csv"
    holes = Drillholes(ours / "collar_BABBITT.csv", survey, ours / "assay_BABBITT.csv")
    mesh = geodomain.read_mesh(ours / "domain.stl")
    found = cross_walls(holes.curves, holes.ends, mesh)
    with (theirs / "babbitt_domain_crossings.truth.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    exact = sorted((int(holes.rows_of(name)[0]), float(depth)) for name, depth in rows)
    assert len(found) == len(exact) == 789
    assert [hole for hole, _ in exact] == found.holes.tolist()
    assert np.abs(found.depths - [depth for _, depth in exact]).max() < 1e-6
    assert holes.crossings({"ORE": mesh}).parity == (399,)


def test_intervals_in_memory_reach_the_crossings() -> None:
    collar = pd.DataFrame({"HOLE": ["A"], "X": [5.0], "Y": [5.0], "Z": [20.0], "AZ": [0.0],
                           "DIP": [90.0]})  # fmt: skip
    logs = pd.DataFrame({"HOLE": ["A"], "FROM": [0.0], "TO": [15.0]})
    solids = {"ORE": box((0, 0, 0), (10, 10, 10))}
    for taken in (logs, [logs], (logs,)):
        found = geodomain.crossings_file(collar, intervals=taken, solids=solids)
        assert [row[2:4] for row in found.stay_rows()] == [(10, 15)]
    assert not len(geodomain.crossings_file(collar, intervals=[], solids=solids).stays)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("rule", ["parity", "winding"])
@pytest.mark.parametrize("dip", [90, -90])
@pytest.mark.parametrize("height", [0.0, 10.0])
def test_holes_begin_and_end_inside_as_contains_says(
    height: float, dip: int, rule: str, invert: bool
) -> None:
    """Collars, then ends, exactly on the floor and the roof of a box."""
    body = box((0, 0, 0), (10, 10, 10))
    ore = [Domain("ORE", body, rule=rule, invert=invert)]
    down = np.sign(dip)
    from_wall = ((5.0, 5.0, height), [(0, 0, dip)])
    onto_wall = ((5.0, 5.0, height + down * 4), [(0, 0, dip)])
    said = bool(geodomain.contains(body, np.array([[5.0, 5.0, height]]))[0]) ^ invert
    for row in holes_of(from_wall, end=4).crossings(ore).stay_rows():
        assert (row[2], row[11]) == (0, said)
    for row in holes_of(onto_wall, end=4).crossings(ore).stay_rows():
        assert (row[3], row[12]) == (4, said)
