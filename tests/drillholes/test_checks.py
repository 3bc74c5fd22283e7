"""Findings in tables of holes: each planted fault is named by its code, and honest tables pass."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from collections.abc import Callable
from math import radians
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from flagged_holes import warned_of
from holes import SLIPS, try_collars
from label_command import run_command
from late import pd
from wireframes import box

import geodomain
from geodomain import Drillholes, GeodomainWarning, Mesh, TableError
from geodomain.cli import main
from geodomain.drillholes.collars import check_collars
from geodomain.drillholes.findings import KINDS, Finding
from geodomain.formats.wireframes import write_mesh

# Findings are read from reports; whether they are warned of has tests of its own.

GROUND = 380.0
NAMES = [f"DH{number:03}" for number in range(1, 13)]
Rows = list[list[object]]


def collars() -> Rows:
    """Twelve holes of 150 on a grid of 50 by 50, at 5,000 east and 375 to 386 high."""
    return [
        [name, 5030.0 + 50 * (row % 4), 9010.0 + 50 * (row // 4), 375.0 + row, 150.0]
        for row, name in enumerate(NAMES)
    ]


def stations() -> Rows:
    """Three stations in each hole, to the west, negative dips down."""
    return [
        [name, depth, 270.0 + depth / 30, -60.0 + depth / 15]
        for name in NAMES
        for depth in (0, 60, 120)
    ]


def samples() -> Rows:
    return [[name, depth, depth + 10, 1.0] for name in NAMES for depth in range(0, 150, 10)]


def write(path: str, head: str, rows: Rows) -> str:
    lines = [head, *(",".join("" if cell is None else str(cell) for cell in row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n")
    return path


def tables(collar: Rows | None = None, survey: Rows | None = None, log: Rows | None = None):
    """Write three tables, and return their paths."""
    collar = collars() if collar is None else collar
    return (
        write("collar.csv", "HOLEID,EAST,NORTH,RL,MAXDEPTH", collar),
        write("survey.csv", "HOLEID,DEPTH,AZIMUTH,DIP", stations() if survey is None else survey),
        write("assay.csv", "HOLEID,FROM,TO,AU", samples() if log is None else log),
    )  # fmt: skip


def changed(rows: Rows, name: object, column: int, value: object, *, at: object = None) -> Rows:
    """Return rows with one cell of a hole changed, or that of the row at a depth."""
    for row in rows:
        if row[0] == name and at in (None, row[1]):
            row[column] = value
    return rows


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(box((5000, 9000, 250), (5200, 9200, 320)), Path("ore.ply"))
    corners = [[4000, 8000, GROUND], [6000, 8000, GROUND], [6000, 9999, GROUND]]
    ground = Mesh([*corners, [4000, 9999, GROUND]], [[0, 1, 2], [0, 2, 3]], name="ground")
    write_mesh(ground, Path("ground.ply"))
    return tmp_path


def warnings_of(holes: Drillholes) -> dict[str, tuple[str, ...]]:
    return {each.code: each.first for each in holes.report.findings if each.bad}


def test_honest_tables_have_no_warning() -> None:
    assert warnings_of(Drillholes(*tables(), strict=True)) == {}
    assert warnings_of(Drillholes(*tables(), topography="ground.ply", strict=True)) == {}


PLANTED_COLLARS = {
    "collar-zero": (3, 0),
    "collar-mark": (3, -99),
    "collar-far": (1, 580),
}


@pytest.mark.parametrize("code", PLANTED_COLLARS)
@warned_of(maybe=("collar-far", "collar-mark", "collar-zero"))
def test_a_collar_out_of_place_is_named(code: str) -> None:
    column, value = PLANTED_COLLARS[code]
    holes = Drillholes(*tables(changed(collars(), "DH005", column, value)))
    ((found, (first,)),) = warnings_of(holes).items()
    axis, whose = "xyz"[column - 1], "neighbours" if column == 3 else "others"
    assert found == code and first.startswith(f"DH005: {axis} {value}, {whose} ")


@pytest.mark.parametrize(("value", "count"), [(0, 12), (-99, 12)])
@warned_of(maybe=("collar-mark", "collar-zero"))
def test_elevations_that_are_all_missing(value: float, count: int) -> None:
    rows = [[*row[:3], value, row[4]] for row in collars()]
    (found,) = (each for each in Drillholes(*tables(rows)).report.findings if each.bad)
    assert found.count == count and f"z {value}" in found.first[0]


HONEST_COLLARS = {
    "flat ground": [(row, 0.0) for row in range(12)],
    "zero is at home": [(row, row - 5.0) for row in range(12)],
    "a level of underground holes": [(row, 375.0 if row < 9 else 95.0 + row) for row in range(12)],
    "-99 is at home": [(row, -105.0 + row) for row in range(12)],
    "all alike but one by a little": [(row, 375.0 + (row == 3)) for row in range(12)],
}


@pytest.mark.parametrize("case", HONEST_COLLARS)
def test_honest_elevations_pass(case: str) -> None:
    rows = collars()
    for row, height in HONEST_COLLARS[case]:
        rows[row][3] = height + (100.0 if case == "flat ground" else 0.0)
    assert warnings_of(Drillholes(*tables(rows))) == {}


def test_a_hole_far_off_in_a_district_passes() -> None:
    rows = [[name, 5000 + 400 * row, 9000 + 250 * row, 300 + 7 * row, 150]
            for row, name in enumerate(NAMES)]  # fmt: skip
    rows[-1][1:3] = [5000 - 4900, 9000 - 3000]
    assert warnings_of(Drillholes(*tables(rows))) == {}


def far_from_neighbours(points: list[list[float]], lengths: list[float]) -> list[str]:
    """Return what is said of collars alone, named A, B, .."""
    found: list[Finding] = []
    check_collars(found, [*"ABCDEFGHIJ"[: len(points)]], np.array(points), np.array(lengths))
    return [case.hole for each in found for case in each.cases() if each.code == "collar-far"]


def test_six_collars_on_a_hillside_pass() -> None:
    places = [(0, 600), (300, 6500), (5000, 4100), (7300, 1300), (0, 0), (300, 5500)]
    points = [[5000.0 + x, 9000.0 + y, 2000 - 0.38 * x - 0.5 * y] for x, y in places]
    assert far_from_neighbours(points, [500.0] * 6) == []
    points[3][2] += 20_000
    assert far_from_neighbours(points, [500.0] * 6) == ["D"]


def test_a_collar_between_the_elevations_of_its_neighbours_passes() -> None:
    points = [[710.0, 1240, 10], [2280, 940, 440], [610, 1760, 500], [400, 1180, 170],
              [250, 1630, 380]]  # fmt: skip
    above = [[5000 + x, 9000 + y, 1000 + z] for x, y, z in points]
    assert far_from_neighbours(above, [100.0] * 5) == []


def moved(row: int, column: int, value: float, rows: Rows) -> Rows:
    rows[row][column] = value
    return rows


def valley() -> Rows:
    """Collars in hills from -150 to 417, where 0 is an elevation."""
    return [[f"V{n:02}", 5000.0 + 50 * (n % 8), 9000.0 + 50 * (n // 8), n * 9.0 - 150.0, 150.0]
            for n in range(64)]  # fmt: skip


def drives() -> Rows:
    """Collars on flat ground, and a ring of 20 in a drive below the first of them."""
    return collars() + [[f"UG{n}", 5030.0 + n / 4, 9010.0, 80.0, 60.0] for n in range(20)]


NEAR_COLLARS = {
    "0 in hills that reach below it": (moved(60, 3, 0.0, valley()), "V60"),
    "a digit added, among hills": (moved(40, 3, 2010.0, valley()), "V40"),
    "0 where all others are alike": ([[*row[:3], 380.0 * (row[0] != "DH005"), 150.0]
                                      for row in collars()], "DH005"),
    "0 of a hole above a drive": (moved(4, 3, 0.0, drives()), "DH005"),
    "3 holes": (moved(1, 3, 0.0, collars()[:3]), "DH002"),
    "half a field": ([[*row[:3], row[3] * (n % 2), 150.0] for n, row in enumerate(collars())],
                     "DH001"),
    "exchanged": (moved(1, 1, 9010.0, moved(1, 2, 5080.0, collars())), "DH002"),
    "a lost sign": (moved(1, 2, -9010.0, collars()), "DH002"),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR_COLLARS)
@warned_of(maybe=("collar-far", "collar-zero", "interval-no-collar", "survey-no-collar"))
def test_a_collar_is_compared_with_its_neighbours(case: str) -> None:
    rows, name = NEAR_COLLARS[case]
    holes = Drillholes(*tables([list(row) for row in rows]), vertical=True)
    named = [each.holes for each in holes.report.findings if each.bad and "collar-" in each.code]
    assert any(name in each for each in named)
    if case != "half a field":
        assert {hole for each in named for hole in each} - {name} == set()


def in_order() -> Rows:
    """Forty collars of a grid of 50 by 50, along its lines."""
    return [[f"G{n:02}", 5000.0 + 50 * (n % 8), 9000.0 + 50 * (n // 8), 380.0, 150.0]
            for n in range(40)]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "change"),
    [(1, 1000.0), (1, 2000.0), (1, -3000.0), (1, 10_000.0), (2, -1000.0), (2, -5000.0)],
)
@warned_of("collar-far")
def test_a_changed_digit_out_of_the_order_of_the_table(column: int, change: float) -> None:
    rows = in_order()
    rows[21][column] += change
    found = warnings_of(Drillholes(tables(rows)[0], vertical=True))
    assert list(found) == ["collar-far"] and len(found["collar-far"]) == 1
    assert found["collar-far"][0].startswith(f"G21: {'xyz'[column - 1]} ")


STEP_OUTS = {
    "no digit": [(21, 1, 6543.0)],
    "both ways": [(21, 1, 6250.0), (21, 2, 11_100.0)],
    "several": [(row, 1, 6050.0 + 50 * row) for row in (5, 12, 21, 30)],
    "last": [(39, 1, 6350.0)],
}


@pytest.mark.parametrize("case", STEP_OUTS)
def test_honest_step_outs_pass(case: str) -> None:
    rows = in_order()
    for row, column, value in STEP_OUTS[case]:
        rows[row][column] = value
    assert warnings_of(Drillholes(tables(rows)[0], vertical=True)) == {}


HONEST_NEIGHBOURS = {
    "hills": valley(),
    "a drive": drives(),
    "a remote hole": [*collars(), ["FAR", 5080.0 - 4100, 9010.0 + 2900, 312.0, 150.0]],
    "two clusters": collars() + [[f"B{n}", 9000.0 + 20 * n, 9500.0, 90.0, 150.0] for n in range(5)],
    "a line": [[f"L{n}", 5000.0 + 400 * n, 9000.0, 380.0 + 40 * n, 80.0] for n in range(9)],
    "3 holes": [row[:] for row in collars()[:3]],
    "flat": [[*row[:3], 0.5, row[4]] for row in collars()],
    "a hillside": [
        [f"S{n}", 5000.0 + x, 9000.0 + y, 3900 - 0.4 * x - 0.5 * y, 200.0]
        for n, (x, y) in enumerate(
            [
                (0, 0),
                (600, 600),
                (180, 250),
                (300, 210),
                (350, 400),
                (410, 330),
                (240, 390),
                (390, 180),
                (290, 310),
                (200, 330),
            ]
        )
    ],
}


@pytest.mark.parametrize("case", HONEST_NEIGHBOURS)
@warned_of(maybe=("interval-no-collar", "survey-no-collar"))
def test_honest_neighbours_pass(case: str) -> None:
    rows = [list(row) for row in HONEST_NEIGHBOURS[case]]
    assert not [code for code in warnings_of(Drillholes(*tables(rows), vertical=True))
                if code.startswith("collar-")]  # fmt: skip


@pytest.mark.full
def test_alarms_about_honest_fields_and_misses_are_few() -> None:
    """Random fields, and one wrong number in each that a reader would see."""
    counts: Counter[str] = Counter()
    for case in range(60):
        try_collars(random.Random(f"fields {case}"), counts)
    ground = counts["collars above ground: honest"]
    assert ground > 30 and counts["collars above ground: honest, with an alarm"] <= 1
    drives_there = counts["collars with drives: honest"]
    assert 8 * counts["collars with drives: honest, with an alarm"] <= drives_there
    slips = [f"collars above ground: {slip}" for slip in SLIPS]
    missed = sum(counts[f"{slip}, missed"] for slip in slips)
    assert missed <= 0.08 * sum(counts[slip] for slip in slips)
    for slip in ("RL 0", "RL -99", "EAST 0"):
        assert counts[f"collars above ground: {slip}, missed"] <= 1


PLANTED_STATIONS = {
    "azimuth-beyond": (2, 400.0, "DH005 at 60: 400"),
    "azimuth-mark": (2, -99.0, "DH005 at 60: -99"),
    "dip-beyond": (3, -156.0, "DH005 at 60: -156"),
    "station-incomplete": (3, None, "DH005 at 60: no dip"),
    "hole-bend": (2, 207.0, "DH005: 38.0 degrees from 60 to 120"),
}


@pytest.mark.parametrize("code", PLANTED_STATIONS)
@warned_of(
    maybe=(
        "azimuth-beyond",
        "azimuth-mark",
        "dip-beyond",
        "hole-bend",
        "interval-left-out",
        "station-incomplete",
    )
)
def test_a_wrong_station_is_named(code: str) -> None:
    column, value, said = PLANTED_STATIONS[code]
    rows = changed(stations(), "DH005", column, value, at=60)
    found = warnings_of(Drillholes(*tables(survey=rows), bend=(15, 60)))
    assert found.pop(code) == (said,)
    assert found.keys() <= {"hole-bend", "interval-left-out"}


@pytest.mark.parametrize("value", [1e30, -1e30, 1e300])
@warned_of("hole-bend", maybe=("azimuth-beyond", "azimuth-mark"))
def test_an_azimuth_without_an_end_is_named(value: float) -> None:
    rows = changed(stations(), "DH005", 2, value, at=60)
    holes = Drillholes(*tables(survey=rows))
    assert {"azimuth-beyond", "azimuth-mark"} & warnings_of(holes).keys()
    assert np.isfinite(holes.positions("DH005", [0, 60, 150])).all()


@warned_of("dip-sign")
def test_one_hole_with_the_other_sign() -> None:
    rows = [[*row[:3], -row[3]] if row[0] == "DH002" else row for row in stations()]
    found = Drillholes(*tables(survey=rows)).report.findings
    (one,) = (each for each in found if each.bad)
    assert str(one) == "1 hole that goes up, unlike the others (DH002) [dip-sign]"


@warned_of("dip-sign")
def test_a_long_hole_with_the_other_sign_does_not_turn_the_others() -> None:
    short = [[name, 0, 90, -60] for name in NAMES]
    long = [[NAMES[4], depth, 90, 60] for depth in range(2, 60, 2)]
    rows = [row for row in short if row[0] != NAMES[4]] + [[NAMES[4], 0, 90, 60], *long]
    holes = Drillholes(*tables(survey=rows))
    assert holes.report.down == "negative"
    assert warnings_of(holes)["dip-sign"] == (NAMES[4],)


def test_a_fan_of_holes_that_go_up_passes() -> None:
    rows = [[*row[:3], -row[3]] if row[0] in NAMES[:3] else row for row in stations()]
    holes = Drillholes(*tables(survey=rows))
    assert warnings_of(holes) == {} and holes.report.upward == tuple(NAMES[:3])


@warned_of("angles-radians")
def test_radians() -> None:
    rows = [[name, depth, np.deg2rad(azimuth + 7 * float(name[2:])), np.deg2rad(dip)]
            for name, depth, azimuth, dip in stations()]  # fmt: skip
    found = Drillholes(*tables(survey=rows)).report.findings
    assert [each.code for each in found if each.bad] == ["angles-radians"]


@pytest.mark.parametrize("digits", range(2, 8))
@warned_of("angles-radians", "interval-left-out", "station-none")
def test_one_azimuth_in_radians_for_all_holes(digits: int) -> None:
    azimuth = round(radians(270), digits)
    rows = [(f"DH{n:03}", depth, azimuth, -66.5) for n in range(1, 9) for depth in (0, 30, 60)]
    warned = warnings_of(Drillholes(*tables(survey=rows)))
    assert "angles-radians" in warned


@pytest.mark.parametrize("azimuths", [(4.71,), (3.84, 5.41), (4.71, 1.57)])
@warned_of("angles-radians")
def test_azimuths_in_radians_with_two_decimals(azimuths: tuple[float, ...]) -> None:
    rows = [[name, depth, azimuths[number % len(azimuths)], dip]
            for number, (name, depth, _, dip) in enumerate(stations())]  # fmt: skip
    found = Drillholes(*tables(survey=rows)).report.findings
    assert "angles-radians" in [each.code for each in found if each.bad]


@pytest.mark.parametrize("digits", [4, 5, 6, 15])
@warned_of("angles-radians")
def test_azimuths_of_one_fence_in_radians(digits: int) -> None:
    """Azimuths of 86 to 94 degrees in tenths, as a survey tool writes them; dips in degrees."""
    rows = [[name, depth, round(radians(86 + 0.7 * (number % 12)), digits), dip]
            for number, (name, depth, _, dip) in enumerate(stations())]  # fmt: skip
    assert list(warnings_of(Drillholes(*tables(survey=rows)))) == ["angles-radians"]


@warned_of("angles-radians", "end-above-topography")
def test_dips_in_radians_are_not_also_dips_from_the_vertical() -> None:
    """Holes of 150 that seem level end above a hillside, and stay out of the ore below them."""
    rows = [[*row[:3], GROUND + 0.7 * (row[1] - 5030), 150] for row in collars()]
    survey = [[*row[:3], radians(-80)] for row in from_vertical(-12)]
    steep = Drillholes(*tables(rows, survey), topography=hillside())
    assert set(warnings_of(steep)) == {"angles-radians", "end-above-topography"}
    holes = Drillholes(*tables(survey=survey))
    solid = geodomain.Domain("ORE", box((4900, 9000, 250), (5200, 9200, 320)))
    told = [each.code for each in holes.tell(geodomain.Domains([solid])) if each.bad]
    assert told == ["angles-radians"]


@pytest.mark.parametrize("azimuths", [(4.5,), (1.21, 2.35, 3.3), (0.0, 6.2), (2.5, 5.0)])
def test_honest_azimuths_near_north_pass(azimuths: tuple[float, ...]) -> None:
    rows = [[name, depth, azimuths[number % len(azimuths)], dip]
            for number, (name, depth, _, dip) in enumerate(stations())]  # fmt: skip
    found = Drillholes(*tables(survey=rows)).report.findings
    assert "angles-radians" not in [each.code for each in found if each.bad]


@warned_of("collar-zero")
def test_a_collar_without_two_coordinates_is_one_collar() -> None:
    rows = moved(4, 1, 0.0, moved(4, 2, 0.0, collars()))
    (one,) = (
        each for each in Drillholes(*tables(rows)).report.findings if each.code == "collar-zero"
    )
    assert one.count == 1 and "x 0, others" in one.first[0] and "y 0, others" in one.first[0]


@warned_of("collar-zero")
def test_accepting_a_hole_that_is_not_there_is_told() -> None:
    with pytest.warns(
        GeodomainWarning,
        match="'collar-zero:dh005' names a hole that does not exist: is it 'DH005'",
    ):
        Drillholes(*tables(moved(4, 3, 0.0, collars())), accept=["collar-zero:dh005"])


@pytest.mark.parametrize("digits", [2, 4, 8])
@pytest.mark.parametrize("wander", [0.0, 1.0])
@warned_of("angles-radians")
def test_dips_alone_in_radians(digits: int, wander: float) -> None:
    rows = [[name, depth, azimuth, round(np.deg2rad(dip + wander * np.sin(depth + 7.0)), digits)]
            for name, depth, azimuth, dip in stations()]  # fmt: skip
    found = warnings_of(Drillholes(*tables(survey=rows)))
    assert list(found) == ["angles-radians"]
    assert found["angles-radians"][0].startswith("DH001 at 0: 1.0")


HONEST_DIPS = {
    "level": [0.0, 0.5, -0.5, 1.0],
    "drains": [1.0, 1.5, 0.5],
    "level, measured": [-0.31, -1.12, 0.44, 1.02, -0.87],
    "of one sign": [-0.31, -1.12, -0.12, -0.87],
    "steep too": [-1.0472, -1.2217, -60.0],
}


@pytest.mark.parametrize("case", HONEST_DIPS)
def test_honest_dips_near_level_pass(case: str) -> None:
    dips = HONEST_DIPS[case]
    rows = [[name, 0, 270.0, dips[row % len(dips)]] for row, name in enumerate(NAMES)]
    assert "angles-radians" not in warnings_of(Drillholes(*tables(survey=rows)))


@warned_of("interval-far-past")
def test_a_sample_far_beyond_the_end_of_its_hole() -> None:
    log = samples()
    log[14][2] = 1500.0
    log[29][2] = 160.0
    holes = Drillholes(*tables(log=log))
    assert warnings_of(holes) == {"interval-far-past": ("line 16: TO 1500 of 150",)}
    (near,) = (each for each in holes.report.findings if each.code == "interval-past")
    assert near.first == ("line 31",)


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize(("table", "column"), [("collar", "EAST"), ("survey", "DIP")])
def test_coordinates_and_angles_are_not_below_detection(kind: str, table: str, column: str) -> None:
    tables()
    lines = Path(f"{table}.csv").read_text().splitlines()
    place = lines[0].split(",").index(column)
    cells = lines[1].split(",")
    cells[place] = "<5"
    Path(f"{table}.csv").write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
    given = {name: f"{name}.csv" for name in ("collar", "survey")}
    if kind == "frame":
        given[table] = pd.read_csv(f"{table}.csv")
    with pytest.raises(TableError, match=column) as refused:
        Drillholes(*given.values())
    assert "below" not in str(refused.value)


@warned_of("angles-radians")
def test_azimuths_alone_in_radians() -> None:
    rows = [[name, depth, round(np.deg2rad(270.0), 5), dip] for name, depth, _, dip in stations()]
    assert list(warnings_of(Drillholes(*tables(survey=rows)))) == ["angles-radians"]
    rows = [[name, depth, 4.7, dip] for name, depth, _, dip in stations()]
    assert warnings_of(Drillholes(*tables(survey=rows))) == {}


def test_holes_to_the_north_are_not_in_radians() -> None:
    rows = [[name, depth, float(name[2:]) / 4, dip] for name, depth, _, dip in stations()]
    assert warnings_of(Drillholes(*tables(survey=rows), bend=(40, 60))) == {}


def test_exchanged_columns_are_said_to_be() -> None:
    rows = [[name, depth, dip, azimuth] for name, depth, azimuth, dip in stations()]
    message = r"survey.csv: azimuth and dip seem to be exchanged: DIP reaches 27., but AZIMUTH "
    with pytest.raises(TableError, match=message + "stays within -90 to 90; name the columns with"):
        Drillholes(*tables(survey=rows))
    said = run("inspect", "--intervals", "assay.csv", code=3).stderr
    (option,) = (line for line in said.splitlines() if "--hole-column" in line)
    assert "--hole-column survey.azimuth=DIP --hole-column survey.dip=AZIMUTH" in option
    named = {"survey.azimuth": "DIP", "survey.dip": "AZIMUTH"}
    tables_there = ("collar.csv", "survey.csv", "assay.csv")
    assert warnings_of(Drillholes(*tables_there, columns=named)) == {}


@warned_of("angles-exchanged", "interval-left-out")
def test_an_exchanged_row_is_said_to_be() -> None:
    rows = stations()
    rows[1][2:] = [-56.0, 272.0]
    holes = Drillholes(*tables(survey=rows))
    assert warnings_of(holes)["angles-exchanged"] == ("DH001 at 60: azimuth -56, dip 272",)
    assert holes.report.left_out == {"DH001": "its azimuth and dip seem to be exchanged"}


@warned_of("hole-bend")
def test_bends_are_angles_within_a_span_and_no_rates() -> None:
    def found(*legs: tuple[float, float], **options) -> bool:
        rows = [["DH001", depth, 270.0, -dip] for depth, dip in ((0.0, 60.0), *legs)]
        rows += [row for row in stations() if row[0] != "DH001"]
        return "hole-bend" in warnings_of(Drillholes(*tables(survey=rows), **options))

    assert not found((6.1, 68.4))  # 41 degrees in 30, were it a rate
    assert not found((30.0, 75.0)) and found((30.0, 75.1))
    assert found((10.0, 66.0), (20.0, 72.0), (30.0, 78.0))
    assert not found((10.0, 75.0), (20.0, 60.0))
    assert not found((30.48, 75.64)) and found((60.0, 20.0))
    assert not found((60.0, 20.0), bend=(45, 30)) and found((6.1, 68.4), bend=(5, 30))


@warned_of("interval-no-collar", "station-none", "survey-no-collar")
def test_ids_that_nearly_match_are_proposed() -> None:
    collar = changed(collars(), "DH005", 0, "dh5")
    log = changed(samples(), "DH006", 0, "DH-06 ")
    found = Drillholes(*tables(collar, log=log)).report.findings
    said = {each.code: each.first for each in found if each.bad}
    assert said["survey-no-collar"] == ("DH005: is it 'dh5'?",)
    assert set(said["interval-no-collar"]) == {"DH-06: is it 'DH006'?", "DH005: is it 'dh5'?"}
    assert said["station-none"] == ("dh5",)


def test_ids_that_never_match_are_proposed_in_the_error() -> None:
    survey = [[str(row[0]).lower(), *row[1:]] for row in stations()]
    with pytest.raises(TableError, match=r"contain no usable hole .* is it 'DH001'"):
        Drillholes(*tables(survey=survey))


@warned_of("collar-off-topography")
def test_a_collar_away_from_the_topography() -> None:
    rows = changed(collars(), "DH005", 3, 341.0)
    assert warnings_of(Drillholes(*tables(rows))) == {}
    found = warnings_of(Drillholes(*tables(rows), topography="ground.ply"))
    assert found == {"collar-off-topography": ("DH005: z 341, ground.ply 380",)}


def from_vertical(dip: float) -> Rows:
    return [[name, depth, 270.0, dip] for name in NAMES for depth in (0, 60, 120)]


def hillside() -> Mesh:
    """Ground that falls to the west by 35 degrees, below which are the collars."""
    slope = 0.7
    corners = [(x, y) for x in (3000.0, 7000.0) for y in (7000.0, 11000.0)]
    return Mesh([[x, y, GROUND + slope * (x - 5030)] for x, y in corners], [[0, 2, 1], [1, 2, 3]])


@pytest.mark.parametrize(("dip", "suspected"), [(-12.0, True), (-40.0, False), (-90.0, False)])
@warned_of(maybe=("dip-from-vertical", "end-above-topography"))
def test_dips_from_the_vertical_are_suspected_by_evidence(dip: float, suspected: bool) -> None:
    rows = [[*row[:3], GROUND + 0.7 * (row[1] - 5030), 150] for row in collars()]
    survey = from_vertical(dip)
    found = warnings_of(Drillholes(*tables(rows, survey), topography=hillside()))
    assert ("dip-from-vertical" in found) == suspected
    assert ("end-above-topography" in found) == suspected
    assert warnings_of(Drillholes(*tables(rows, survey))) == {}


@pytest.mark.parametrize("dip", [-5.0, -12.0, -20.0, -32.0, -45.0, -60.0, -75.0, -90.0])
def test_dips_from_the_vertical_miss_the_solids(dip: float) -> None:
    """The ore is 55 to 135 below the collars, which holes of 150 reach by 30 degrees or more."""
    holes = Drillholes(*tables(survey=from_vertical(dip)))
    solid = box((4900, 9000, 250), (5200, 9200, 320))
    oxide = geodomain.Domain("OXIDE", box((4900, 8900, 200), (5300, 9300, 400)))
    domains = geodomain.Domains([geodomain.Domain("ORE", solid), oxide])
    if dip > -25:
        with pytest.warns(GeodomainWarning, match="measured from the vertical"):
            (one,) = (each for each in holes.tell(domains) if each.bad)
        assert one.code == "dip-from-vertical" and one.count == 12
        assert one.first[0] == "DH001: stays out of the box of every solid"
    else:
        assert not [each for each in holes.tell(domains) if each.bad]
    high = geodomain.Domains([geodomain.Domain("ORE", box((0, 0, 0), (100, 100, 9)))])
    assert not [each for each in holes.tell(high) if each.bad]


def run(verb: str, *options: str, code: int = 0) -> Result:
    """Run a verb on the tables that are there."""
    words = {
        "flag": ["flag", "assay.csv", "--dry-run"],
        "composite": ["composite", "assay.csv", "--length", "5"],
        "holes": ["holes", "crossings", "--intervals", "assay.csv"],
        "inspect": ["inspect", "--intervals", "assay.csv"],
        "report": ["report", "labelled.csv", "-o", "r.html", "--overwrite"],
        "plot": ["plot", "labelled.csv", "-o", "p.svg", "--overwrite", "--within", "500"],
    }[verb]
    solid = [] if verb == "inspect" else ["--solid", "ORE=ore.ply"]
    given = [*words, "--collar", "collar.csv", "--survey", "survey.csv", *solid, *options]
    return run_command(*given, code=code)


VERBS = ("flag", "composite", "holes", "inspect", "report", "plot")


@pytest.mark.full
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_the_same_and_strict_refuses(verb: str) -> None:
    Path("labelled.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n5005,9005,300,10,10,10,ORE\n")
    survey = [row for row in changed(stations(), "DH002", 2, 630.0, at=0) if row[1] < 120]
    tables(changed(collars(), "DH005", 3, -99), survey)
    said = run(verb).output
    for words in (
        "1 collar whose coordinate is a missing-value mark "
        "(DH005: z -99, neighbours 375 to 384) [collar-mark]",
        "1 station whose azimuth is beyond 360 degrees (DH002 at 0: 630) [azimuth-beyond]",
        "negative dips point down (in survey.csv 0 dips are positive, 24 negative)",
        "12 holes whose unsurveyed end is longer than any distance between stations "
        "(DH001: the last 90 of 150, DH002: the last 90 of 150, ",
    ):
        assert words in said
    assert "error" not in said
    refused = run(verb, "--strict", code=3).stderr
    assert "[azimuth-beyond]" in refused and "[collar-mark]" in refused
    assert "--accept azimuth-beyond" in refused
    refused = run(verb, "--strict", "--accept", "azimuth-beyond", code=3).stderr
    assert "[azimuth-beyond]" not in refused and "[collar-mark]" in refused
    passed = ("--accept", "azimuth-beyond:DH002", "--accept", "collar-mark")
    run(verb, "--strict", *passed)
    run(verb, "--strict", "--accept", "azimuth-beyond:DH003", "--accept", "collar-mark", code=3)


@warned_of("collar-mark")
def test_a_report_holds_the_findings_and_the_sign_of_dips() -> None:
    Path("labelled.csv").write_text("X,Y,Z,DX,DY,DZ,domain\n5005,9005,300,10,10,10,ORE\n")
    survey = [row for row in stations() if row[1] < 120]
    tables(changed(collars(), "DH005", 3, -99), survey)
    run("report", "--accept", "survey-short", "--topography", "ground.ply")
    text = Path("r.html").read_text()
    assert '<p id="dips">Dips: negative dips point down (in survey.csv 0 dips' in text
    assert "<td>DH005: z -99, neighbours 375 to 384</td>" in text
    assert (
        '<th scope="row">note</th>'
        "<td>holes whose unsurveyed end is longer than any distance between stations</td>" in text
    )
    scene = json.loads(text.split('id="scene">')[1].split("</script>")[0])
    assert scene["drillholes"]["dips"].startswith("negative dips point down")
    codes = [each["code"] for each in scene["drillholes"]["findings"]]
    assert codes == ["survey-short", "collar-mark", "collar-off-topography"]
    holes = Drillholes("collar.csv", "survey.csv", "assay.csv")
    done = geodomain.report_file("labelled.csv", "s.html", holes=holes)
    assert "neighbours 375 to 384</td><td>Fill in" in Path("s.html").read_text()
    assert [each.code for each in done.findings] == codes[:2]
    assert "\nnote: 12 holes whose unsurveyed end" in str(done) and holes.report.dips in str(done)


def test_a_surface_of_the_domains_is_the_topography() -> None:
    tables(changed(collars(), "DH005", 3, 341.0))
    Path("domains.toml").write_text(
        '[[domain]]\nname = "AIR"\nkind = "above"\nmesh = "ground.ply"\n'
        '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n'
    )
    given = ["flag", "assay.csv", "--dry-run", "--collar", "collar.csv", "--survey", "survey.csv",
             "--domains", "domains.toml"]  # fmt: skip
    said = CliRunner().invoke(main, given)
    assert said.exit_code == 0 and "(DH005: z 341, AIR 380) [collar-off-topography]" in said.stderr
    assert CliRunner().invoke(main, [*given, "--strict"]).exit_code == 3
    accept = ["--strict", "--accept", "collar-off-topography:DH005"]
    assert CliRunner().invoke(main, [*given, *accept]).exit_code == 0
    # A hanging wall, far below the collars, is no topography.
    sheet = Mesh([[4000, 8000, 100], [6000, 8000, 100], [5000, 9999, 100]], [[0, 1, 2]])
    domains = geodomain.Domains([geodomain.Domain("HW", sheet, kind="above")])
    assert Drillholes("collar.csv", "survey.csv").tell(domains) == ()


@warned_of("azimuth-beyond", "collar-mark")
def test_positions_do_not_depend_on_what_is_accepted() -> None:
    files = tables(changed(collars(), "DH005", 3, -99), changed(stations(), "DH002", 2, 400.0))
    plain = Drillholes(*files)
    passed = Drillholes(*files, accept=["collar-mark", "azimuth-beyond"], strict=True)
    assert (plain.curves.points == passed.curves.points).all()
    said = [str(each) for each in passed.report.findings if "accepted" in str(each)]
    assert said == [
        "3 stations whose azimuth is beyond 360 degrees (DH002 at 0: 400, DH002 at 60: 400, "
        "DH002 at 120: 400) [azimuth-beyond, accepted]",
        "1 collar whose coordinate is a missing-value mark "
        "(DH005: z -99, neighbours 375 to 384) [collar-mark, accepted]",
    ]


def test_findings_as_json() -> None:
    tables(changed(collars(), "DH005", 3, -99))
    found = json.loads(run("inspect", "--json").stdout)["findings"]
    assert next(each for each in found if each["severity"] == "warning") == {
        "code": "collar-mark",
        "severity": "warning",
        "accepted": False,
        "what": "collars whose coordinate is a missing-value mark",
        "count": 1,
        "first": ["DH005: z -99, neighbours 375 to 384"],
        "holes": ["DH005"],
        "mend": "Fill in the coordinate, or declare the value as a mark with --missing.",
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--accept", "collar-near"), "there is no finding 'collar-near' to accept; findings are"),
        (("--bend", "15"), "'15' is not ANGLE,LENGTH"),
        (("--bend", "0,30"), "'0,30' is not ANGLE,LENGTH"),
        (("--bend", "15,nan"), "'15,nan' is not ANGLE,LENGTH"),
    ],
)
def test_misuse(options: tuple[str, ...], said: str) -> None:
    tables()
    assert said in run("inspect", *options, code=2).stderr


@pytest.mark.filterwarnings(
    "ignore:ground.txt has the extension .txt, but is PLY:geodomain.GeodomainWarning"
)
def test_a_topography_is_not_overwritten() -> None:
    tables()
    Path("ground.ply").rename("ground.txt")
    given = ("--topography", "ground.txt", "-o", "ground.txt", "--overwrite")
    assert "is the input" in run("holes", *given, code=3).stderr
    assert Path("ground.txt").read_bytes().startswith(b"ply")
    assert Drillholes("collar.csv", topography="ground.txt", vertical=True).files[-1].name == (
        "ground.txt"
    )


def said_by(call: Callable[[], object]) -> list[str]:
    """Return what a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught]


def test_python_is_warned_once_of_each_finding() -> None:
    files = tables(changed(collars(), "DH005", 3, -99))
    made: list[Drillholes] = []
    (said,) = said_by(lambda: made.append(Drillholes(*files)))
    assert "[collar-mark]. Fill in the coordinate, or" in said
    (holes,) = made
    assert holes.tell() == holes.report.findings
    frame, ore = pd.read_csv("assay.csv"), {"ORE": geodomain.read_mesh("ore.ply")}
    assert said_by(holes.tell) == []
    assert said_by(lambda: geodomain.flag(frame, holes, ore)) == []
    assert said_by(lambda: geodomain.composite(frame, holes, ore, length=5.0)) == []
    frame.loc[0, "HOLEID"] = "dh001"
    (said,) = said_by(lambda: geodomain.flag(frame, holes, ore))
    assert said.startswith("1 interval of a hole without a collar (dh001: is it 'DH001'?)")
    assert said_by(lambda: geodomain.composite(frame, holes, ore, length=5.0)) == []


def test_commands_and_python_warn_in_the_same_words() -> None:
    files = tables(changed(collars(), "DH005", 3, -99), log=[["DHX", 0, 10, 1.0], *samples()])
    printed = run("flag").stderr.splitlines()
    ore = {"ORE": geodomain.read_mesh("ore.ply")}
    holes: list[Drillholes] = []
    said = said_by(lambda: holes.append(Drillholes(*files[:2])))
    said += said_by(lambda: geodomain.flag(pd.read_csv("assay.csv"), holes[0], ore))
    as_printed = [f"warning: {each}" for each in said]
    assert len(said) == 2
    assert [each.replace("missing=", "--missing") for each in as_printed] == [
        line for line in printed if line.startswith("warning")
    ]


def test_samples_of_frames_are_refused_and_passed_as_by_commands() -> None:
    holes = Drillholes(*tables()[:2])
    frame = pd.DataFrame([["DHX", 0, 10], *(row[:3] for row in samples())],
                         columns=["HOLEID", "FROM", "TO"])  # fmt: skip
    ore = {"ORE": geodomain.read_mesh("ore.ply")}
    for verb in (
        lambda **more: geodomain.flag(frame, holes, ore, **more),
        lambda **more: geodomain.composite(frame, holes, ore, length=5.0, **more),
    ):
        with pytest.raises(TableError, match=r"\(DHX\) \[interval-no-collar\]; correct the tables"):
            verb(strict=True)
        with pytest.warns(GeodomainWarning, match="DHX' names a hole that does not exist"):
            verb(strict=True, accept="interval-no-collar:DHX")
        with pytest.raises(ValueError, match="there is no finding 'no' to accept"):
            verb(accept="no")


def test_samples_without_a_domain_are_named_and_strict_refuses_them() -> None:
    sheet = Mesh([[5000, 8000, 0], [5100, 8000, 0], [5100, 9999, 0], [5000, 9999, 0]],
                 [[0, 1, 2], [0, 2, 3]])  # fmt: skip
    domains = geodomain.Domains([geodomain.Domain("AIR", sheet, kind="above")])
    holes = Drillholes(*tables()[:2])
    frame = pd.read_csv("assay.csv")
    for by in ("middle", "majority", "split"):
        with pytest.raises(TableError, match=r"samples without a domain.*\[sample-unassigned\]"):
            geodomain.flag(frame, holes, domains, by=by, strict=True)
    with pytest.warns(GeodomainWarning, match=r"\(DH001 at \d+, .*\[sample-unassigned\]"):
        labels = geodomain.flag(frame, holes, domains)
    assert labels.isna().sum() == 6 * 15
    geodomain.flag(frame, holes, domains, strict=True, accept="sample-unassigned")
    with pytest.raises(TableError, match="sample-unassigned"):
        geodomain.flag_file("assay.csv", domains, None, collar="collar.csv", survey="survey.csv",
                            strict=True)  # fmt: skip


def test_the_documentation_lists_every_finding() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/findings.md").read_text()
    for code, kind in KINDS.items():
        assert f"| `{code}` | {kind.severity} | {kind.what} | {kind.mend} |" in page
    assert page.count("| `") == len(KINDS)


@pytest.mark.parametrize("name", ["babbitt", "copper_creek", "demo1"])
def test_real_tables_have_no_warning(name: str, shared_data: Path) -> None:
    """Babbitt bends by 16.85 degrees in 80 feet, 28 holes of Copper Creek go up."""
    theirs = shared_data / "formats" / "drillholes"
    files = {
        "babbitt": ("babbitt/collar_BABBITT.csv", "babbitt/assay_BABBITT.csv"),
        "demo1": ("demo1/collar.csv", "demo1/assay.csv"),
    }
    if name == "copper_creek":
        collar, log = theirs / f"{name}_collar.csv", theirs / f"{name}_assay.csv"
    else:
        collar, log = (shared_data / path for path in files[name])
    holes = Drillholes(collar, theirs / f"{name}_survey.csv", log, strict=True)
    assert warnings_of(holes) == {}


@pytest.mark.parametrize(("value", "code"), [(0, "collar-zero"), (-99, "collar-mark")])
@warned_of(maybe=("collar-mark", "collar-zero"))
def test_a_missing_elevation_in_a_real_field(value: float, code: str, shared_data: Path) -> None:
    """A score of 13.9 median deviations is no test: an honest northing there has 19."""
    folder = shared_data / "formats" / "drillholes"
    lines = (folder / "copper_creek_collar.csv").read_text(encoding="utf-8-sig").splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:3], str(value)])
    Path("collar.csv").write_text("\n".join(lines))
    found = warnings_of(Drillholes("collar.csv", folder / "copper_creek_survey.csv"))
    assert list(found) == [code] and found[code][0].startswith(lines[5].split(",")[0])
