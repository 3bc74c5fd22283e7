"""Drillholes from tables: columns by habit, ids as text, and all that is odd, counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from flagged_holes import warned_of
from late import pa, pd, polars
from wireframes import box

from geodomain import Drillholes, TableError, write_mesh
from geodomain.cli import main
from geodomain.drillholes.tables import find_roles

# Findings are read from reports; whether they are warned of has tests of its own.

COLLAR = "BHID,XCOLLAR,YCOLLAR,ZCOLLAR\nA,0,0,100\nB,50,0,100\n"
SURVEY = "BHID,AT,BRG,DIP\nA,0,0,90\nA,50,0,80\nB,0,90,60\n"
ASSAY = "BHID,FROM,TO,AU\nA,0,2,1.5\nA,2,4,-\nB,0,9,2\n"


def holes_of(folder: Path, collar: str = COLLAR, survey: str = SURVEY, assay: str = ASSAY, **more):
    paths = []
    for name, text in (("collar.csv", collar), ("survey.csv", survey), ("assay.csv", assay)):
        (folder / name).write_text(text)
        paths.append(folder / name)
    return Drillholes(*paths, **more)


def found(holes: Drillholes) -> dict[str, int]:
    return {one.what: one.count for one in holes.report.findings}


HABITS = {
    "collar": [
        ("BHID XCOLLAR YCOLLAR ZCOLLAR ENDDEPTH", [0, 1, 2, 3, 4]),
        ("hole_id y x z max_depth hole_path", [0, 2, 1, 3, 4]),
        ("DHID EASTING NORTHING RL TOTDEP", [0, 1, 2, 3, 4]),
        ("HoleId X Y Z MaxDepth", [0, 1, 2, 3, 4]),
        ("HOLE EAST NORTH RL DEPTH", [0, 1, 2, 3, 4]),
        ("DH-ID EAST NORTH ELEV", [0, 1, 2, 3]),
        ("Anumber EAST NORTH RL DEPTH", [0, 1, 2, 3, 4]),
    ],
    "survey": [
        ("BHID AT BRG DIP", [0, 1, 2, 3]),
        ("hole_id depth dip azimuth", [0, 1, 3, 2]),
        ("Hole_ID DEPTH AZIMUTH INCLINATION", [0, 1, 2, 3]),
        ("DH-ID -FROM- AZIM DIP", [0, 1, 2, 3]),
        ("DHID DEPTH BEARING DIP", [0, 1, 2, 3]),
    ],
    "intervals": [
        ("BHID FROM TO AU", [0, 1, 2]),
        ("hole_id samp_id depth_from depth_to", [0, 2, 3]),
        ("DH-ID -FROM- -TO- CU", [0, 1, 2]),
        ("HOLEID SAMPFROM SAMPTO", [0, 1, 2]),
        ("hole_ID depth_from to_depth rock", [0, 1, 2]),
    ],
}


@pytest.mark.parametrize(
    ("table", "names", "places"),
    [(table, names, places) for table, some in HABITS.items() for names, places in some],
)
def test_columns_are_found_by_habit(table: str, names: str, places: list[int]) -> None:
    assert list(find_roles(names.split(), table, {}, "it").values()) == places


def test_two_sets_of_coordinates_are_refused() -> None:
    with pytest.raises(TableError, match="for the role 'x', 'X' and 'EAST': choose one with"):
        find_roles(["HOLE", "X", "Y", "Z", "EAST", "NORTH", "RL"], "collar", {}, "it")
    named = {"x": "EAST", "y": "NORTH", "z": "RL"}
    names = ["HOLE", "X", "Y", "Z", "EAST", "NORTH", "RL"]
    assert list(find_roles(names, "collar", named, "it").values()) == [0, 4, 5, 6]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"survey.csv has no column for the role 'azimuth', such"):
        holes_of(tmp_path, survey="BHID,AT,DIP\nA,0,90\n")


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_are_as_files(library: str, tmp_path: Path) -> None:
    make = {"pandas": pd.DataFrame, "polars": polars.DataFrame, "arrow": pa.table}[library]
    collar = make({"HOLE": [12, 7], "X": [0.0, 5], "Y": [1.0, 1], "Z": [9.0, 9]})
    survey = make({"HOLE": [7, 12, 12], "DEPTH": [0, 0, 30], "AZIMUTH": [0, 10, 20],
                   "DIP": [-60, -50, -45]})  # fmt: skip
    holes = Drillholes(collar, survey)
    assert holes.names == ("12", "7")
    text = holes_of(
        tmp_path,
        "HOLE,X,Y,Z\n12,0,1,9\n7,5,1,9\n",
        "HOLE,DEPTH,AZIMUTH,DIP\n7,0,0,-60\n12,0,10,-50\n12,30,20,-45\n",
        "HOLE,FROM,TO\n12,0,30\n",
    )
    assert (text.positions("12", [0, 10, 30]) == holes.positions(12, [0, 10, 30])).all()
    assert holes.report.down == "negative"


@warned_of("collar-zero", "survey-no-collar")
def test_ids_are_texts(tmp_path: Path) -> None:
    collar = 'BHID;X;Y;Z\n0;1,5;0;0\n0012;2,5;0;0\n"B;1-100A";3,5;0;0\n'
    survey = 'BHID;AT;AZ;DIP\n0;0;0;90\n0012;0;0;90\n"B;1-100A";0;0;90\n12;0;0;90\n'
    holes = holes_of(tmp_path, collar, survey, "BHID;FROM;TO\n0;0;1\n0012;0;1,5\n")
    assert holes.names == ("0", "0012", "B;1-100A")
    assert holes.collars[:, 0].tolist() == [1.5, 2.5, 3.5]
    assert found(holes)["holes of the survey without a collar"] == 1
    assert holes.ends.tolist() == [1.0, 1.5, 0.0]


def test_preambles_marks_and_missing_last_newlines(tmp_path: Path) -> None:
    collar = "\ufeff# from a package\r\nhole_id,y,x,z,max_depth\r\nA,2,1,3,50\r\n"
    holes = holes_of(tmp_path, collar, "hole_id,depth,dip,azimuth\nA,0,-90,0", "hole_id,from,to\n")
    assert holes.collars.tolist() == [[1, 2, 3]] and holes.ends.tolist() == [50]


def test_the_first_direction_goes_back_to_the_collar(tmp_path: Path) -> None:
    holes = holes_of(tmp_path, survey="BHID,AT,BRG,DIP\nA,30,90,0\nB,0,0,90\n")
    assert holes.positions("A", [1]).tolist() == [[1, 0, 100]]
    assert found(holes)["holes whose first station is below the collar"] == 1


def test_the_last_direction_goes_on_to_the_end(tmp_path: Path) -> None:
    assay = "BHID,FROM,TO\nB,0,100\nA,0,10\n"
    holes = holes_of(tmp_path, survey="BHID,AT,BRG,DIP\nA,0,0,90\nB,0,90,0\nB,20,90,0\n",
                     assay=assay)  # fmt: skip
    assert holes.positions("B", [100]).tolist() == [[150, 0, 100]]
    assert np.isnan(holes.positions("B", [100.5, -1, np.nan])).all()
    assert (
        found(holes)["holes whose unsurveyed end is longer than any distance between stations"] == 1
    )


def test_a_station_below_the_end_bends_and_adds_no_length(tmp_path: Path) -> None:
    survey = "BHID,AT,BRG,DIP\nA,0,0,90\nA,1000,90,0\nB,0,0,90\n"
    holes = holes_of(tmp_path, survey=survey)
    assert holes.ends.tolist() == [4, 9]
    assert holes.positions("A", [4])[0, 0] > 0
    assert found(holes)["holes with a station below their end"] == 1


@warned_of("collar-zero")
def test_ends_come_from_the_collar_then_the_intervals_then_the_survey(tmp_path: Path) -> None:
    collar = "BHID,X,Y,Z,DEPTH\nA,0,0,0,77\nB,0,0,0,\nC,0,0,0,\n"
    survey = "BHID,AT,AZ,DIP\nA,0,0,90\nB,0,0,90\nC,0,0,90\nC,55,0,90\n"
    holes = holes_of(tmp_path, collar, survey)
    assert holes.ends.tolist() == [77, 9, 55]
    assert list(holes.report.ends.values()) == [1, 1, 1]


@warned_of("interval-left-out", "station-none")
def test_a_hole_without_a_station_is_left_out_unless_vertical(tmp_path: Path) -> None:
    survey = "BHID,AT,BRG,DIP\nA,0,0,90\n"
    holes = holes_of(tmp_path, survey=survey)
    assert holes.names == ("A",)
    assert holes.report.left_out == {"B": "it has no station"}
    with pytest.raises(TableError, match="hole 'B' is not among the 1 usable hole: it has no"):
        holes.positions("B", [1])
    both = holes_of(tmp_path, survey=survey, vertical=True)
    assert both.positions("B", [9]).tolist() == [[50, 0, 91]]


@warned_of("collar-zero", "hole-bend")
def test_directions_of_collars_are_stations_unless_the_survey_has_them(tmp_path: Path) -> None:
    collar = "BHID,X,Y,Z,AZ,DIP\nA,0,0,0,90,-10\nB,0,0,0,90,0\n"
    survey = "BHID,AT,AZ,DIP\nA,0,0,90\nB,10,90,90\n"
    holes = holes_of(tmp_path, collar, survey, "BHID,FROM,TO\nA,0,5\nB,0,5\n")
    assert holes.positions("A", [5]).tolist() == [[0, 0, -5]]
    assert holes.positions("B", [5])[0, 0] > 4
    alone = Drillholes(tmp_path / "collar.csv", intervals=tmp_path / "assay.csv")
    assert alone.positions("B", [5]).tolist() == [[5, 0, 0]]


@pytest.mark.parametrize("lacking", ["A,0,,60", "A,0,90,"])
@warned_of("hole-bend", "station-incomplete")
def test_a_station_without_numbers_leaves_the_direction_of_the_collar(
    lacking: str, tmp_path: Path
) -> None:
    collar = "BHID,X,Y,Z,AZ,DIP\nA,0,0,0,0,90\n"
    survey = f"BHID,AT,AZ,DIP\n{lacking}\nA,10,90,60\n"
    holes = holes_of(tmp_path, collar, survey, "BHID,FROM,TO\nA,0,10\n", down="positive")
    complete = holes_of(tmp_path, collar, survey.replace(lacking, "A,0,0,90"),
                        "BHID,FROM,TO\nA,0,10\n", down="positive")  # fmt: skip
    assert (holes.positions("A", [5, 10]) == complete.positions("A", [5, 10])).all()
    assert found(holes)["stations without depth, azimuth or dip, not used"] == 1


def test_a_vertical_station_needs_no_azimuth(tmp_path: Path) -> None:
    collar = "BHID,X,Y,Z,AZ,DIP\nA,0,0,0,90,0\n"
    survey = "BHID,AT,AZ,DIP\nA,0,,90\n"
    holes = holes_of(tmp_path, collar, survey, "BHID,FROM,TO\nA,0,10\n", down="positive")
    assert holes.positions("A", [5]).tolist() == [[0, 0, -5]]


ODD = {
    "sorted": ("A,50,0,80\nA,0,0,90\nB,0,0,90\n", "holes whose stations were not in order", False),
    "twice": ("A,0,0,90\nA,0,0,90\nB,0,0,90\n", "stations that appear twice", False,
              "A at 0"),
    "two": ("A,0,0,90\nA,0,0,80\nB,0,0,90\n", "holes with two directions at one depth", True),
    "steep": ("A,0,0,91\nB,0,0,90\n", "stations whose dip is beyond 90 degrees", True,
              "A at 0: 91"),
    "wrapped": ("A,0,-10,60\nB,0,0,90\n", "stations whose azimuth is outside 0 to 360, converted",
                False, "A at 0: -10"),
    "lacking": ("A,0,,60\nA,5,0,60\nB,0,0,90\n",
                "stations without depth, azimuth or dip, not used", True, "A at 0: no azimuth"),
    "above": ("A,-5,0,60\nA,5,0,60\nB,0,0,90\n", "stations above the collar, not used", True,
              "A at -5"),
    "back": ("A,0,0,90\nA,50,0,-90\nB,0,0,90\n", "holes that turn back on themselves", True),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@warned_of(
    maybe=(
        "dip-beyond",
        "interval-left-out",
        "station-above",
        "station-differs",
        "station-incomplete",
        "station-turns-back",
    )
)
def test_odd_stations_are_counted(odd: str, tmp_path: Path) -> None:
    rows, what, bad, *first = ODD[odd]
    holes = holes_of(tmp_path, survey="BHID,AT,BRG,DIP\n" + rows, down="positive")
    one = next(one for one in holes.report.findings if one.what == what)
    assert (one.count, one.bad, one.first) == (1, bad, tuple(first or ["A"]))
    noun = what.split()[0].removesuffix("s")
    assert str(one).startswith(f"1 {noun} ") and str(one) in str(holes.report)
    if bad:
        with pytest.raises(TableError, match="correct the tables"):
            holes_of(tmp_path, survey="BHID,AT,BRG,DIP\n" + rows, strict=True, down="positive")


def test_north_is_both_0_and_360(tmp_path: Path) -> None:
    survey = "BHID,AT,BRG,DIP\nA,0,0,60\nA,0,360,60\nB,0,0,90\n"
    assert "stations that appear twice" in found(holes_of(tmp_path, survey=survey))


@warned_of("collar-differs", "collar-no-coordinates", "collar-no-hole", "interval-left-out")
def test_collars_that_contradict_each_other(tmp_path: Path) -> None:
    collar = COLLAR + "A,0,0,100\nB,50,0,101\n,1,1,1\nC,1,,1\n"
    holes = holes_of(tmp_path, collar=collar)
    assert holes.names == ("A",)
    assert holes.report.left_out["B"] == "it has two different collars"
    assert {one.what: one.first for one in holes.report.findings if "collars" in one.what} == {
        "collars without a hole": ("line 6",),
        "collars without coordinates": ("C",),
        "collars that appear twice": ("A",),
        "holes with two different collars": ("B",),
    }


@pytest.mark.parametrize(
    ("again", "differs"),
    [
        ("A,0,0,0,50,10,60", False),
        ("A,0,0,0,50,370,60", False),
        ("A,0,0,0,51,10,60", True),
        ("A,0,0,0,,10,60", True),
        ("A,0,0,0,50,11,60", True),
        ("A,0,0,0,50,10,61", True),
    ],
)
@warned_of(maybe=("collar-differs", "collar-zero", "interval-left-out"))
def test_two_collars_differ_in_any_number(again: str, differs: bool, tmp_path: Path) -> None:
    collar = f"BHID,X,Y,Z,DEPTH,AZ,DIP\nA,0,0,0,50,10,60\n{again}\nB,9,0,0,,,90\nB,9,0,0,,,90\n"
    holes = holes_of(tmp_path, collar, "BHID,AT,AZ,DIP\nA,9,0,60\nB,0,0,90\n", down="positive")
    assert holes.names == (("B",) if differs else ("A", "B"))
    what = "holes with two different collars" if differs else "collars that appear twice"
    (one,) = (one for one in holes.report.findings if one.what == what)
    assert one.first[0] == "A" and one.bad == differs
    assert ("A" in holes.report.left_out) == differs


INFINITE = {
    "collar": ("X", "Z", "DEPTH"),
    "survey": ("AT", "AZ", "DIP"),
    "intervals": ("FROM", "TO", "AU"),
}


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("table", INFINITE)
@pytest.mark.parametrize("text", ["inf", "-inf", "1e400"])
@warned_of("collar-zero", maybe=("collar-no-coordinates", "station-incomplete"))
def test_infinite_numbers_are_refused_or_declared(
    kind: str, table: str, text: str, tmp_path: Path
) -> None:
    for name in INFINITE[table]:
        frames = {
            "collar": pd.DataFrame({"HOLE": ["A", "B"], "X": 0.0, "Y": 0.0, "Z": 9.0,
                                    "DEPTH": 5.0}),
            "survey": pd.DataFrame({"HOLE": ["A", "A", "B"], "AT": [0.0, 2, 0], "AZ": 0.0,
                                    "DIP": 90.0}),
            "intervals": pd.DataFrame({"HOLE": ["A", "A"], "FROM": [0.0, 2], "TO": [2.0, 4],
                                       "AU": 1.0}),
        }  # fmt: skip
        frames[table].loc[1, name] = float(text)
        given: dict[str, object] = {}
        for one, frame in frames.items():
            path = tmp_path / f"{one}.{kind}"
            if kind == "csv":
                told = frame.astype({name: object}) if one == table else frame
                if one == table:
                    told.loc[1, name] = text
                told.to_csv(path, index=False)
            elif kind == "parquet":
                frame.to_parquet(path)
            given[one] = frame if kind == "frame" else path

        def read(given: dict[str, object] = given, name: str = name, **said: object) -> None:
            holes = Drillholes(given["collar"], given["survey"], **said)
            rows = holes.match(given["intervals"], also=[name] if name == "AU" else [])
            if name == "AU":
                rows.table.numbers_of(name)

        row = "line 3" if kind == "csv" else "row 2"
        with pytest.raises(TableError, match=rf"{name} is not a number in 1 .* in {row}\. Numbers"):
            read()
        read(missing={name: text})


def test_a_gap_is_below_all_intervals_before(tmp_path: Path) -> None:
    assay = "BHID,FROM,TO\nA,0,10\nA,2,3\nA,5,12\nA,12,13\nA,14,15\nB,0,1\nB,3,4\n"
    holes = holes_of(tmp_path, assay=assay)
    assert holes.match(tmp_path / "assay.csv").after_gaps.tolist() == [4, 6]
    assert found(holes)["gaps before an interval"] == 2


@warned_of(
    "collar-zero",
    "interval-above",
    "interval-below",
    "interval-no-collar",
    "interval-no-depth",
    "interval-reversed",
)
def test_intervals_are_matched_and_counted(tmp_path: Path) -> None:
    assay = (
        "BHID,FROM,TO\nA,0,2\nA,1,3\nA,5,6\nA,7,7\nA,9,8\nA,,3\nA,-1,0\nX,0,1\nA,90,91\nA,49,51\n"
    )
    collar = "BHID,X,Y,Z,DEPTH\nA,0,0,0,50\nB,0,0,0,50\n"
    holes = holes_of(tmp_path, collar=collar, assay=assay)
    rows = holes.match(tmp_path / "assay.csv")
    assert np.flatnonzero(rows.usable).tolist() == [0, 1, 2, 9]
    assert {one.what: (one.count, one.bad) for one in rows.findings} == {
        "intervals of a hole without a collar": (1, True),
        "intervals without FROM or TO": (1, True),
        "intervals whose TO is not greater than FROM": (2, True),
        "intervals that begin above the collar": (1, True),
        "intervals below the end of their hole": (1, True),
        "intervals that run past the end of their hole": (1, False),
        "intervals that overlap the interval before": (1, False),
        "gaps before an interval": (2, False),
        "holes without an interval": (1, False),
    }


def test_a_word_in_a_number_says_where(tmp_path: Path) -> None:
    with pytest.raises(
        TableError, match=r"survey.csv: BRG is not a number in 1 .* 'north' in line 3"
    ):
        holes_of(tmp_path, survey="BHID,AT,BRG,DIP\nA,0,0,90\nB,0,north,60\n")


def test_it_shows_itself(tmp_path: Path) -> None:
    holes = holes_of(tmp_path)
    assert repr(holes) == "<Drillholes: 2 holes, 13.0 long>"
    assert "<td" in holes._repr_html_() and "<td" in holes.report._repr_html_()
    assert len(holes) == 2
    assert holes.report.as_dict()["tables"]["survey"]["columns"]["azimuth"] == "BRG"


def test_slips_of_the_caller(tmp_path: Path) -> None:
    holes = holes_of(tmp_path)
    with pytest.raises(ValueError, match="2 holes for"):
        holes.positions(["A", "B"], [1, 2, 3])
    with pytest.raises(ValueError, match="method is 'curved'"):
        holes_of(tmp_path, method="curved")
    with pytest.raises(TableError, match="columns= names 'depth', which is not a role"):
        holes_of(tmp_path, columns={"depth": "AT"})
    with pytest.raises(TypeError, match="holes must be texts"):
        holes.positions(1.5, [1])


def test_columns_can_be_named(tmp_path: Path) -> None:
    survey = "W,TIEFE,RICHTUNG,NEIGUNG\nA,0,0,90\nB,0,0,90\n"
    named = {"survey.hole": "W", "at": "TIEFE", "azimuth": "RICHTUNG", "dip": "NEIGUNG"}
    assert len(holes_of(tmp_path, survey=survey, columns=named)) == 2


def test_a_keyword_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="there is no keyword 'x'; to name a column, use columns="):
        holes_of(tmp_path, x="EAST")


EMPTY = {
    "survey": "1 hole without a station|contain no usable hole",
    "collar": "contain no usable hole",
}


@pytest.mark.parametrize("table", EMPTY)
def test_a_table_without_rows(table: str, tmp_path: Path) -> None:
    text = {"survey": SURVEY, "collar": COLLAR}[table].splitlines(keepends=True)[0]
    with pytest.raises(TableError, match=EMPTY[table]):
        holes_of(tmp_path, **{table: text})


def test_no_intervals_and_no_stations(tmp_path: Path) -> None:
    holes = holes_of(tmp_path, survey=SURVEY.splitlines()[0], assay="BHID,FROM,TO\n", vertical=True)
    assert holes.ends.tolist() == [0, 0]
    assert holes.positions("A", [0]).tolist() == [[0, 0, 100]]
    assert len(holes.match(tmp_path / "assay.csv").holes) == 0


TWO_AZIMUTHS = "BHID,AT,AZIMUTH,DIP,AZ\nA,0,0,90,0\nA,50,0,80,12\nB,0,90,60,90\n"


def test_two_columns_of_one_role_that_differ_are_refused(tmp_path: Path) -> None:
    said = (
        r"survey.csv has two columns for the role 'azimuth', 'AZ' and 'AZIMUTH', which differ in "
        "1 of 3 rows, the first in line 3: choose one with columns={'azimuth': 'COLUMN'}"
    )
    with pytest.raises(TableError, match=said):
        holes_of(tmp_path, survey=TWO_AZIMUTHS)
    holes_of(tmp_path, survey=TWO_AZIMUTHS, columns={"azimuth": "AZIMUTH"})
    frame = pd.read_csv(tmp_path / "survey.csv")
    with pytest.raises(TableError, match="'AZ' and 'AZIMUTH', which differ in 1 of 3 rows"):
        Drillholes(tmp_path / "collar.csv", frame, tmp_path / "assay.csv")


@pytest.mark.parametrize(
    ("tables", "role"),
    [
        ({"survey": "BHID,AT,BRG,DIP,DEPTH\nA,0,0,90,1\nB,0,90,60,0\n"}, "at"),
        ({"survey": "BHID,AT,BRG,DIP,INCLINATION\nA,0,0,90,0\nB,0,90,60,0\n"}, "dip"),
        ({"survey": "BHID,AT,BRG,DIP,INCL,INCLIN\nA,0,0,90,0,steep\nB,0,90,60,0,\n"}, "dip"),
        ({"collar": COLLAR.replace("\n", ",C\n").replace("R,C", "R,HOLEID")}, "hole"),
        ({"assay": "BHID,FROM,TO,SAMPTO\nA,0,2,2\nB,0,9,8\n"}, "to"),
    ],
)
def test_columns_of_every_role_are_compared(tmp_path: Path, tables, role) -> None:
    with pytest.raises(TableError, match=f"the role '{role}', .* which differ in .* choose one"):
        holes_of(tmp_path, **tables)


@warned_of("station-incomplete")
def test_columns_that_agree_are_one(tmp_path: Path) -> None:
    both = "BHID,AT,BRG,DIP,AZIMUTH,HOLEID\nA,0,0,90,0.0,A\nA,50,,80,,A\nB,0,90,60,90,B\n"
    holes_of(tmp_path, survey=both)


def test_a_role_that_no_table_has_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "collar.csv").write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    asked = ["holes", "check", "--collar", str(tmp_path / "collar.csv")]
    said = CliRunner().invoke(main, [*asked, "--hole-column", "shaft=A"])
    assert said.exit_code == 3
    assert said.stderr.startswith("error: --hole-column names 'shaft', which is not a role")


@pytest.mark.parametrize("option", ["--missing", "--detection-limit"])
@pytest.mark.parametrize("command", ["composite", "flag", "check"])
def test_a_mark_of_a_column_that_no_table_has_is_refused(
    tmp_path: Path, command: str, option: str
) -> None:
    collar, assay, ore = (str(tmp_path / name) for name in ("collar.csv", "assay.csv", "ore.ply"))
    Path(collar).write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    Path(assay).write_text("HOLE,FROM,TO,AU\nA,0,2,1.5\n")
    write_mesh(box((0, 0, 0), (5, 5, 9)), ore)
    asked = {
        "composite": [
            "composite",
            assay,
            "--solid",
            f"ORE={ore}",
            "--length",
            "2",
            "--grade",
            "AU",
        ],
        "flag": ["flag", assay, "--solid", f"ORE={ore}"],
        "check": ["holes", "check", "--intervals", assay],
    }[command]
    out = ["-o", str(tmp_path / "out.csv"), "--collar", collar]
    assert CliRunner().invoke(main, [*asked, *out, option, "AU=1"]).exit_code == 0
    said = CliRunner().invoke(main, [*asked, *out, "--overwrite", option, "GOLD=1"])
    assert said.exit_code == 3
    assert f"{option} names the column 'GOLD', but no table of holes uses such" in said.stderr
