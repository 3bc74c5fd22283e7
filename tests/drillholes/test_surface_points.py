"""Points of surfaces along holes, as LoopStructural and GemPy read them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from late import pd
from wireframes import box

import geodomain
from geodomain import Domain, DomainError, Drillholes, Mesh, Stack, TableError
from geodomain.drillholes.surface_points import GEMPY, GEMPY_ORIENTATIONS, LOOPSTRUCTURAL

ROCKS = [("A", 0, 4, "OX"), ("A", 4, 10, "FR"), ("A", 10, 20, "OX")]


def hole(*, dip: float = 90.0, end: float = 20.0, log: object = None) -> Drillholes:
    """Return one straight hole from (5, 5, 20), towards the north if it is not vertical."""
    collar = {"HOLE": ["A"], "X": [5.0], "Y": [5.0], "Z": [20.0], "DEPTH": [end],
              "AZIMUTH": [0.0], "DIP": [dip]}  # fmt: skip
    return Drillholes(pd.DataFrame(collar), intervals=log, down="positive")


def log_of(rows: list[tuple]) -> object:
    return pd.DataFrame(rows, columns=["HOLE", "FROM", "TO", "ROCK"])


def plane(z: float, slope: float = 0.0) -> Mesh:
    """Return a surface through (5, 5, z) that rises to the north."""
    corners = [(x, y, z + slope * (y - 5)) for x, y in ((-50, -50), (60, -50), (60, 60), (-50, 60))]
    return Mesh(corners, [[0, 2, 1], [0, 3, 2]], name="plane")  # normals point down


def test_a_surface_gives_points_with_normals_that_point_up(backend: str) -> None:
    result = hole().surface_points([Domain("ROOF", plane(12, 1.0), kind="above")], backend=backend)
    assert result.surfaces == ("ROOF",) and result.names == ("A",)
    assert result.points.tolist() == [[5, 5, 12]] and result.depths.tolist() == [8]
    assert result.normals[0] == pytest.approx(np.array([0, -1, 1]) / np.sqrt(2))


@pytest.mark.parametrize("turned", [False, True], ids=["outwards", "inwards"])
def test_normals_of_a_solid_point_out_whichever_way_its_triangles_face(turned: bool) -> None:
    ore = box((0, 0, 5), (10, 10, 15))
    if turned:
        ore = Mesh(ore.vertices, ore.triangles[:, ::-1])
    result = hole().surface_points({"ORE": ore})
    assert result.points[:, 2].tolist() == [15, 5]
    assert result.normals[:, 2].tolist() == [1, -1]
    rising = Drillholes(
        pd.DataFrame({"HOLE": ["A"], "X": [5.0], "Y": [5.0], "Z": [0.0], "DEPTH": [20.0],
                      "AZIMUTH": [0.0], "DIP": [-90.0]}),
        down="positive", accept="dip-sign",
    ).surface_points({"ORE": ore})  # fmt: skip
    assert rising.points[:, 2].tolist() == [5, 15]
    assert rising.normals[:, 2].tolist() == [-1, 1]


def test_a_wall_inside_a_union_is_no_surface() -> None:
    union = {"ORE": [box((0, 0, 0), (10, 10, 12)), box((0, 0, 8), (10, 10, 18))]}
    assert hole(end=30).surface_points(union).points[:, 2].tolist() == [18, 0]


def test_the_collar_and_the_end_of_a_hole_are_no_surface() -> None:
    assert not len(hole(end=10).surface_points({"ORE": box((0, 0, 0), (10, 10, 30))}))


def test_surfaces_of_a_stack_have_the_names_of_their_meshes() -> None:
    top, base = plane(15), plane(5)
    top = Mesh(top.vertices, top.triangles, name="TOP")
    result = hole().surface_points(Stack([top, base], ["AIR", "COAL", "FLOOR"]))
    assert result.surfaces == ("TOP", "plane") and result.points[:, 2].tolist() == [15, 5]


NAMED = {
    "base": ("OX", "FR"),
    "top": ("FR", "OX"),
    "pair": ("OX/FR", "FR/OX"),
}


@pytest.mark.parametrize("name_by", NAMED)
def test_each_change_of_a_code_is_a_point_without_a_normal(name_by: str) -> None:
    result = hole(log=log_of(ROCKS)).surface_points(logged="rock", name_by=name_by)
    assert result.surfaces == NAMED[name_by]
    assert result.depths.tolist() == [4, 10] and result.points[:, 2].tolist() == [16, 10]
    assert np.isnan(result.normals).all() and not result.oriented.any()


def test_above_and_below_are_those_of_the_rock_and_not_of_the_hole() -> None:
    collar = {"HOLE": ["A"], "X": [5.0], "Y": [5.0], "Z": [0.0], "DEPTH": [20.0],
              "AZIMUTH": [0.0], "DIP": [-60.0]}  # fmt: skip
    rising = Drillholes(pd.DataFrame(collar), down="positive", accept="dip-sign")
    result = rising.surface_points(log=log_of(ROCKS[:2]), logged="ROCK", name_by="pair")
    assert result.surfaces == ("FR/OX",)


def test_intervals_without_a_code_are_a_gap() -> None:
    rows = [("A", 0, 4, "OX"), ("A", 4, 6, None), ("A", 6, 9, "FR"), ("A", 9.5, 20, "OX")]
    holes = hole(log=log_of(rows))
    result = holes.surface_points(logged="ROCK")
    assert not len(result) and sum(result.left_out.values()) == 2
    assert "2 logged contacts left out: a gap of more than 0 is not logged" in str(result)
    result = holes.surface_points(logged="ROCK", max_gap=0.5)
    assert result.depths.tolist() == [9.25] and sum(result.left_out.values()) == 1
    result = holes.surface_points(logged="ROCK", max_gap=2)
    assert result.depths.tolist() == [5, 9.25] and not sum(result.left_out.values())


def test_a_code_that_is_the_same_across_a_gap_and_an_overlap_make_no_point() -> None:
    rows = [("A", 0, 4, "OX"), ("A", 6, 10, "OX"), ("A", 8, 12, "FR"), ("A", 12, 20, "FR")]
    result = hole(log=log_of(rows)).surface_points(logged="ROCK", max_gap=5)
    assert not len(result) and result.left_out["the intervals overlap"] == 1


def test_pairs_of_codes_choose_contacts_in_either_order() -> None:
    rows = [("A", 0, 4, "OX"), ("A", 4, 8, "TR"), ("A", 8, 12, "FR"), ("A", 12, 20, "TR")]
    holes = hole(log=log_of(rows))
    result = holes.surface_points(logged="ROCK", between=[("FR", "TR")])
    assert result.depths.tolist() == [8, 12] and result.surfaces == ("TR", "FR")
    with pytest.raises(TableError, match="names the code 'XX', but column 'ROCK'"):
        holes.surface_points(logged="ROCK", between=[("FR", "XX")])


def test_whole_numbers_are_codes_too() -> None:
    log = pd.DataFrame({"HOLE": ["A", "A"], "FROM": [0, 4], "TO": [4, 9], "ROCK": [10, 20]})
    assert hole(log=log).surface_points(logged="ROCK").surfaces == ("10",)


def test_the_table_of_loopstructural() -> None:
    holes = hole(log=log_of(ROCKS))
    result = holes.surface_points({"ORE": box((0, 0, 5), (10, 10, 15))}, logged="ROCK")
    table = result.for_loopstructural()
    assert tuple(table.columns) == LOOPSTRUCTURAL
    assert table["feature_name"].tolist() == ["OX", "ORE", "FR", "ORE"]
    assert table["nz"].fillna(0).tolist() == [0, 1, 0, -1] and set(table["val"]) == {0}
    table = result.for_loopstructural(feature="S", values={"OX": 10, "FR": 5, "ORE": 0})
    assert set(table["feature_name"]) == {"S"} and table["val"].tolist() == [10, 0, 5, 0]
    with pytest.raises(DomainError, match="each needs a value of its own: give values= for OX, FR"):
        result.for_loopstructural(feature="S", values={"ORE": 1})
    with pytest.raises(DomainError, match="'X', which is not a surface; the surfaces are ORE"):
        result.for_loopstructural(values={"X": 1})
    with pytest.raises(DomainError, match="'OX', which has no finite value"):
        result.for_loopstructural(values={"OX": float("nan")})


def test_the_tables_of_gempy() -> None:
    holes = hole(log=log_of(ROCKS))
    points, orientations = holes.surface_points(
        {"ORE": box((0, 0, 5), (10, 10, 15))}, logged="ROCK"
    ).for_gempy()
    assert tuple(points.columns) == GEMPY and len(points) == 4
    assert tuple(orientations.columns) == GEMPY_ORIENTATIONS
    assert orientations["formation"].tolist() == ["ORE", "ORE"]
    assert orientations["G_z"].tolist() == [1, -1]


MISUSED = {
    "no surface is given": {},
    "give the column of codes with logged=": {
        "domains": {"O": box((0, 0, 0), (1, 1, 1))},
        "between": [("A", "B")],
    },
    "must be pairs of codes": {"logged": "ROCK", "between": ["AB"]},
    "name_by= is 'left'": {"logged": "ROCK", "name_by": "left"},
    "max_gap= is -1": {"logged": "ROCK", "max_gap": -1},
}


@pytest.mark.parametrize("message", MISUSED)
def test_misuse_is_one_sentence(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hole(log=log_of(ROCKS)).surface_points(**MISUSED[message])


def test_a_column_that_no_log_has() -> None:
    with pytest.raises(TableError, match=r"'ROC' \(did you mean 'ROCK'\?\)"):
        hole(log=log_of(ROCKS)).surface_points(logged="ROC")
    with pytest.raises(TableError, match="names a column of intervals, but there are none"):
        hole().surface_points(logged="ROCK")


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, None, Path]:
    collar, log = tmp_path / "collar.csv", tmp_path / "log.csv"
    collar.write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,5,5,20,20,0,90\n")
    log.write_text("HOLE,FROM,TO,ROCK\nA,0,4,OX\nA,4,20,FR\n")
    return collar, None, log


def test_files_have_the_rows_of_the_tables(tables: tuple, tmp_path: Path) -> None:
    ore = {"ORE": box((0, 0, 5), (10, 10, 15))}
    points, orientations = tmp_path / "points.csv", tmp_path / "orientations.csv"
    result = geodomain.surface_points_file(
        *tables, target="gempy", solids=ore, logged="ROCK", output=points, orientations=orientations
    )
    with points.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["formation"] for row in rows] == ["OX", "ORE", "ORE"]
    assert [float(row["Z"]) for row in rows] == result.points[:, 2].tolist() == [16, 15, 5]
    assert len(orientations.read_text().splitlines()) == 3
    geodomain.surface_points_file(
        *tables, target="loopstructural", logged="ROCK", values={"OX": 2}, output=points,
        overwrite=True,
    )  # fmt: skip
    assert points.read_text().splitlines()[1] == "5.0,5.0,16.0,OX,2.0,,,,A,4.0"


def test_arguments_of_the_other_library_are_refused(tables: tuple) -> None:
    with pytest.raises(ValueError, match="feature= is for LoopStructural"):
        geodomain.surface_points_file(*tables, target="gempy", logged="ROCK", feature="S")
    with pytest.raises(ValueError, match="orientations= is for GemPy"):
        geodomain.surface_points_file(
            *tables, target="loopstructural", logged="ROCK", orientations="o.csv"
        )
    with pytest.raises(ValueError, match="target= is 'leapfrog'"):
        geodomain.surface_points_file(*tables, target="leapfrog", logged="ROCK")  # type: ignore[arg-type]
