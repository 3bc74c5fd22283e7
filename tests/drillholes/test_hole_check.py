"""`holes check` and `Drillholes.check`: each planted fault has its row, honest holes pass."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from late import pd, pyarrow
from wireframes import box

import geodomain
from geodomain import Drillholes, Mesh
from geodomain.cli import main
from geodomain.drillholes.check import COLUMNS, HoleCheck, _near_pairs
from geodomain.drillholes.collars import _smallest
from geodomain.drillholes.files import check_holes_file
from geodomain.drillholes.findings import KINDS, UNUSED
from geodomain.formats.wireframes import write_mesh

Rows = list[list[object]]
NAMES = [f"DH{number:03}" for number in range(1, 13)]
HEADS = {
    "collar": "HOLEID,EAST,NORTH,RL,MAXDEPTH",
    "survey": "HOLEID,DEPTH,AZIMUTH,DIP",
    "assay": "HOLEID,FROM,TO,SAMPLE_ID,AU,ROCK",
}


def field() -> dict[str, Rows]:
    """Twelve holes of 150 on a grid of 50, with a station each 15 and a sample each 10."""
    collar: Rows = [
        [name, 5030 + 50 * (row % 4), 9010 + 50 * (row // 4), 375 + row, 150]
        for row, name in enumerate(NAMES)
    ]
    survey: Rows = [
        [name, depth, 270 + depth / 30, -60 + depth / 15]
        for name in NAMES
        for depth in range(0, 150, 15)
    ]
    assay: Rows = [
        [name, depth, depth + 10, f"S{row:02}{depth:03}", 1.5, "OX"]
        for row, name in enumerate(NAMES)
        for depth in range(0, 150, 10)
    ]
    return {"collar": collar, "survey": survey, "assay": assay}


def write(tables: dict[str, Rows]) -> list[str]:
    """Write the tables, and return their paths."""
    for name, rows in tables.items():
        lines = [HEADS[name], *(",".join(map(str, row)) for row in rows)]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
    return [f"{name}.csv" for name in tables]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options: str, code: int = 0) -> Result:
    tables = ("--collar", "collar.csv", "--survey", "survey.csv", "--intervals", "assay.csv")
    result = CliRunner().invoke(main, ["holes", "check", *tables, *options])
    assert result.exit_code == code, result.output
    return result


def row_of(tables: dict[str, Rows], table: str, hole: str, depth: float | None = None) -> list:
    """Return the row of a hole, at a depth, in a table."""
    found = (row for row in tables[table] if row[0] == hole and depth in (None, row[1]))
    return next(found)


def line_of(tables: dict[str, Rows], table: str, row: list[object]) -> int:
    """Return the line of a row in the file of a table."""
    return 2 + next(at for at, one in enumerate(tables[table]) if one is row)


def test_honest_holes_have_no_finding() -> None:
    check = check_holes_file(*write(field()))
    assert len(check) == 0 and check.fit and check.holes == 12
    assert check.grades == {"intervals": ("AU",)}
    assert {key: (one.rows, one.used) for key, one in check.tables.items()} == {
        "collar": (12, 12), "survey": (120, 120), "intervals": (180, 180)
    }  # fmt: skip
    assert repr(check) == "<HoleCheck of 12 holes: 0 errors, 0 warnings and 0 notes>"
    assert check.to_pandas().columns.tolist() == list(COLUMNS)


# --- Each fault: code, table of its row, change of the tables (which returns the row), value.

Change = Callable[[dict[str, Rows]], list[object]]


def put(table: str, hole: str, depth: float | None, column: int, value: object) -> Change:
    """Return a change of one cell."""

    def change(tables: dict[str, Rows]) -> list[object]:
        row = row_of(tables, table, hole, depth)
        row[column] = value
        return row

    return change


def add(table: str, like: str, depth: float | None, **cells: object) -> Change:
    """Return a change that adds a row like another one, with other cells, at the end."""

    def change(tables: dict[str, Rows]) -> list[object]:
        row = list(row_of(tables, table, like, depth))
        names = HEADS[table].split(",")
        for name, value in cells.items():
            row[names.index(name)] = value
        tables[table].append(row)
        return row

    return change


def drop(table: str, hole: str, depth: float | None, where: tuple[str, float | None]) -> Change:
    """Return a change that removes rows of a hole; `where` is the place of the finding."""

    def change(tables: dict[str, Rows]) -> list[object]:
        tables[table] = [
            row for row in tables[table] if not (row[0] == hole and depth in (None, row[1]))
        ]
        return row_of(tables, where[0], hole, where[1])

    return change


def copied(name: str, east: float = 0.0, end: float = 150) -> Change:
    """Return a change that adds a hole like DH002 some metres to the east."""

    def change(tables: dict[str, Rows]) -> list[object]:
        for table in ("survey", "assay"):
            rows = [[name, *row[1:]] for row in tables[table] if row[0] == "DH002"]
            if table == "assay":
                rows = [[*row[:3], f"X{row[1]}", *row[4:]] for row in rows if row[2] <= end]
            tables[table] += rows
        collar = row_of(tables, "collar", "DH002")
        tables["collar"].append([name, collar[1] + east, *collar[2:4], end])
        return tables["collar"][-1]

    return change


def deeper(tables: dict[str, Rows]) -> list[object]:
    """End hole DH004 at 400, and return its last station."""
    row_of(tables, "collar", "DH004")[4] = 400
    return row_of(tables, "survey", "DH004", 135)


FAULTS: dict[str, tuple[str, str, Change, str]] = {
    "collar-no-hole": ("error", "collar", add("collar", "DH003", None, HOLEID=""), ""),
    "collar-no-coordinates": ("error", "collar", put("collar", "DH003", None, 1, ""), ""),
    "collar-twice": ("note", "collar", add("collar", "DH003", None), ""),
    "collar-far": ("warning", "collar", put("collar", "DH003", None, 1, 513), "x 513"),
    "collar-zero": ("warning", "collar", put("collar", "DH005", None, 3, 0), "z 0"),
    "collar-mark": ("warning", "collar", put("collar", "DH005", None, 3, -99), "z -99"),
    "collar-no-end": ("note", "collar", put("collar", "DH005", None, 4, ""), ""),
    "id-alike": ("warning", "collar", copied("dh-2", 25.0), "like 'DH002'"),
    "hole-copy": ("warning", "collar", copied("COPY"), "like DH002"),
    "hole-twin": ("note", "collar", copied("TWIN", 3.0, 100), "DH002, at most 3 apart"),
    "survey-no-collar": ("error", "survey", add("survey", "DH003", 0, HOLEID="DH3"), "is it 'DH0"),
    "station-none": ("error", "collar", drop("survey", "DH004", None, ("collar", None)), ""),
    "station-single": (
        "note",
        "survey",
        lambda tables: [drop("survey", "DH004", depth, ("survey", 0))(tables)
                        for depth in range(15, 150, 15)][-1],
        "",
    ),
    "station-late": ("note", "survey", drop("survey", "DH004", 0, ("survey", 15)), "is at 15"),
    "station-incomplete": ("error", "survey", put("survey", "DH004", 30, 3, ""), "no dip"),
    "station-above": ("error", "survey", put("survey", "DH004", 30, 1, -30), ""),
    "station-differs": ("error", "survey", add("survey", "DH004", 60, DIP=-40), ""),
    "station-twice": ("note", "survey", add("survey", "DH004", 60), ""),
    "station-order": ("note", "survey", lambda tables: tables["survey"].insert(
        0, tables["survey"].pop(1)) or tables["survey"][1], ""),
    "station-deep": ("note", "survey", put("survey", "DH004", 135, 1, 900), "ends at 150"),
    "station-gap": ("note", "survey", drop("survey", "DH004", 60, ("survey", 45)), "30 long"),
    "survey-short": ("note", "survey", deeper, "the last 265 of 400"),
    "hole-bend": ("warning", "survey", put("survey", "DH004", 60, 3, -20), "degrees from"),
    "dip-beyond": ("error", "survey", put("survey", "DH004", 60, 3, -95), "-95"),
    "dip-flip": ("warning", "survey", put("survey", "DH004", 135, 3, 51), "dip 51 after -52"),
    "azimuth-beyond": ("warning", "survey", put("survey", "DH004", 60, 2, 632), "632"),
    "azimuth-jump": ("warning", "survey", put("survey", "DH004", 60, 2, 290),
                     "azimuth 290, by its neighbours 272"),
    "interval-no-collar": ("error", "intervals", add("assay", "DH003", 0, HOLEID="X9",
                                                     SAMPLE_ID="n"), ""),
    "interval-no-depth": ("error", "intervals", put("assay", "DH003", 20, 2, ""), ""),
    "interval-reversed": ("error", "intervals", put("assay", "DH003", 20, 2, 20), "no length"),
    "interval-above": ("error", "intervals", put("assay", "DH003", 0, 1, -2), ""),
    "interval-below": ("error", "intervals", add("assay", "DH003", 140, FROM=160, TO=170,
                                                 SAMPLE_ID="n"), "the hole ends at 150"),
    "interval-past": ("note", "intervals", put("assay", "DH003", 140, 2, 155), "ends at 150"),
    "interval-far-past": ("warning", "intervals", put("assay", "DH003", 140, 2, 1550), "TO 1550"),
    "interval-overlap": ("note", "intervals", put("assay", "DH003", 20, 1, 18), "2 long"),
    "interval-gap": ("note", "intervals", put("assay", "DH003", 20, 1, 22), "2 long"),
    "interval-short": ("note", "intervals", lambda tables: drop(
        "assay", "DH003", 140, ("assay", 120))(tables) and drop(
        "assay", "DH003", 130, ("assay", 120))(tables), "the last 20 of 150"),
    "interval-twice": ("warning", "intervals", add("assay", "DH003", 20), ""),
    "sample-twice": ("warning", "intervals", put("assay", "DH003", 20, 3, "S00000"),
                     "SAMPLE_ID S00000"),
    "grade-negative": ("warning", "intervals", put("assay", "DH003", 20, 4, -0.005), "AU -0.005"),
    "grade-mark": ("warning", "intervals", put("assay", "DH003", 20, 4, -999), "AU -999"),
    "grade-below": ("note", "intervals", put("assay", "DH003", 20, 4, "<0.01"), "AU <0.01"),
    "grade-text": ("warning", "intervals", put("assay", "DH003", 20, 4, "n.s."), "AU n.s."),
    "hole-no-interval": ("note", "collar", drop("assay", "DH003", None, ("collar", None)),
                         "none in assay.csv"),
}  # fmt: skip


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_has_its_row(code: str) -> None:
    level, table, change, value = FAULTS[code]
    tables = field()
    row = change(tables)
    check = check_holes_file(*write(tables))
    frame = check.to_pandas()
    found = frame[frame["code"] == code]
    key = "assay" if table == "intervals" else table
    assert found["row"].tolist()[0] == line_of(tables, key, row)
    assert set(found["severity"]) == {level} and set(found["table"]) == {table}
    assert found["hole"].tolist()[0] == str(row[0]) and value in found["value"].tolist()[0]
    assert found["mend"].tolist()[0] == KINDS[code].mend
    if table == "intervals" and code not in ("interval-no-depth",):
        assert found[["from", "to"]].to_numpy()[0].tolist() == [float(row[1]), float(row[2])]
    if table == "survey":
        assert found["depth"].tolist()[0] == float(row[1])
    assert_counts_add_up(check)


def assert_counts_add_up(check: HoleCheck) -> None:
    """Require that each row of each table is used, or in a finding that says why not."""
    codes = {each.code for each in check.findings}
    for one in check.tables.values():
        assert one.rows == one.used + sum(one.not_used.values())
        assert {*one.not_used} <= codes
        assert {*one.not_used} <= UNUSED | {"collar-twice", "station-twice"}


def test_unused_rows_are_counted_by_their_reason() -> None:
    tables = field()
    for code in ("collar-no-hole", "collar-twice", "station-incomplete", "station-differs",
                 "survey-no-collar", "interval-no-collar", "interval-reversed"):  # fmt: skip
        FAULTS[code][2](tables)
    add("collar", "DH009", None, EAST=5031)(tables)
    check = check_holes_file(*write(tables))
    assert {key: (one.rows, one.used, one.not_used) for key, one in check.tables.items()} == {
        "collar": (15, 10, {
            "collar-differs": 2, "collar-no-hole": 1, "collar-twice": 1, "station-differs": 1
        }),
        "survey": (122, 100, {
            "survey-no-collar": 1, "station-incomplete": 1, "station-left-out": 20
        }),
        "intervals": (181, 149, {
            "interval-no-collar": 1, "interval-left-out": 30, "interval-reversed": 1
        }),
    }  # fmt: skip
    assert check.holes == 10 and not check.fit
    assert "not used of survey: 1 survey-no-collar, 1 station-incomplete, 20 station-" in str(check)
    left = check.to_pandas().query("code == 'station-left-out'")
    assert left.groupby("hole").size().to_dict() == {"DH004": 10, "DH009": 10}


@pytest.mark.parametrize("seed", range(8))
def test_counts_add_up_in_damaged_tables(seed: int) -> None:
    """Cells become empty, texts of other rows, or wrong numbers; rows are repeated and moved."""
    rng = random.Random(seed)
    tables = field()
    for name, rows in tables.items():
        for _ in range(12):
            row, other = rng.choice(rows), rng.choice(rows)
            column = rng.randrange(4)
            row[column] = rng.choice(["", other[column], *([-5, 0, 400] if column else ["", "X"])])
        rows += [list(rng.choice(rows)) for _ in range(5)]
        rng.shuffle(rows)
        tables[name] = rows
    check = check_holes_file(*write(tables))
    assert_counts_add_up(check)
    log = check.matched.intervals["intervals"]
    assert check.tables["intervals"].used == int(log.usable.sum())
    assert len(check.to_pandas()) == len(check) == sum(check.counts.values())


# --- Honest holes that look like faults.

HONEST: dict[str, tuple[str, Callable[[dict[str, Rows]], object]]] = {
    "a mark between digits tells holes apart": (
        "id-alike",
        lambda tables: [rename(tables, "DH001", "1-12"), rename(tables, "DH002", "11-2")],
    ),
    "a fan from one collar has no twins": ("hole-twin", lambda tables: fan(tables)),
    "level holes rise and fall": (
        "dip-flip",
        lambda tables: [row.__setitem__(3, (-1) ** row[1] * 3 + row[1] / 100)
                        for row in tables["survey"]],
    ),
    "azimuths of steep holes scatter": (
        "azimuth-jump",
        lambda tables: [row.__setitem__(slice(2, 4), [row[1] * 97 % 360, -89])
                        for row in tables["survey"]],
    ),
    "legs of all lengths": (
        "station-gap",
        lambda tables: [row.__setitem__(1, row[1] ** 2 / 100) for row in tables["survey"]],
    ),
    "two logs in two rows of one sample": (
        "sample-twice",
        lambda tables: add("assay", "DH003", 20)(tables),
    ),
    "negative numbers of all values": (
        "grade-negative",
        lambda tables: [row.__setitem__(4, round(np.sin(at) * 9, 3))
                        for at, row in enumerate(tables["assay"])],
    ),
    "a log of words": (
        "grade-text",
        lambda tables: [row.__setitem__(5, at if at % 3 == 0 else "OX")
                        for at, row in enumerate(tables["assay"])],
    ),
}  # fmt: skip


def rename(tables: dict[str, Rows], old: str, new: str) -> None:
    for rows in tables.values():
        for row in rows:
            row[0] = new if row[0] == old else row[0]


def fan(tables: dict[str, Rows]) -> None:
    """Drill all holes from one place, 10 degrees apart."""
    for at, row in enumerate(tables["collar"]):
        row[1:4] = [5000, 9000, 300 + at / 100]
    for row in tables["survey"]:
        row[2] = 10 * NAMES.index(str(row[0]))


@pytest.mark.parametrize("case", HONEST)
@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_honest_holes_that_look_like_faults(case: str) -> None:
    code, change = HONEST[case]
    tables = field()
    change(tables)
    check = check_holes_file(*write(tables), twin=5)
    assert code not in {each.code for each in check.findings}


def test_ids_that_look_alike() -> None:
    names = ["DH-1", "dh 01", "DH1.0", "DH_001", "1-12", "11-2", "01_12", "A1O", "A10", "PO1", "P1"]
    tables = field()
    tables["collar"] = [[name, 5000 + 90 * at, 9000, 300, 150] for at, name in enumerate(names)]
    tables["survey"] = [[name, 0, 0, -60] for name in names]
    tables["assay"] = [[name, 0, 150, name, 1, "OX"] for name in names]
    check = check_holes_file(*write(tables))
    (found,) = (each for each in check.findings if each.code == "id-alike")
    assert dict(zip(found.holes, map(found.value, range(found.count)), strict=True)) == {
        "dh 01": "like 'DH-1'", "DH1.0": "like 'DH-1'", "DH_001": "like 'DH-1'",
        "01_12": "like '1-12'", "A10": "like 'A1O'",
    }  # fmt: skip


# --- Twins.


def test_each_pair_of_near_points_is_found_once() -> None:
    points = np.random.default_rng(5).random((600, 3)) * [60, 60, 20]
    found: list[tuple[int, int]] = []
    for one, two in _near_pairs(points, 4.0):
        near = np.linalg.norm(points[one] - points[two], axis=1) <= 4.0
        found += zip(one[near].tolist(), two[near].tolist(), strict=True)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    wanted = np.argwhere(np.triu(apart <= 4.0, 1))
    assert sorted(found) == sorted(map(tuple, wanted.tolist())) and len(found) > 500


def test_twins_are_nearer_than_the_distance() -> None:
    tables = field()
    copied("TWIN", 8.0)(tables)
    files = write(tables)
    found = [
        [(each.code, each.holes, each.value(0)) for each in check.findings]
        for check in (check_holes_file(*files, twin=twin) for twin in (None, 7.9, 8.1))
    ]
    assert found == [[], [], [("hole-twin", ["TWIN"], "DH002, at most 8 apart")]]
    with pytest.raises(ValueError, match="twin= is -1"):
        check_holes_file(*files, twin=-1)
    many = {"collar": [[f"H{at}", 0, at / 9, 9, 50] for at in range(5)],
            "survey": [[f"H{at}", 0, 0, -90] for at in range(5)]}  # fmt: skip
    (each,) = (e for e in check_holes_file(*write(many), twin=1).findings if e.code == "hole-twin")
    assert [each.value(at) for at in range(each.count)] == [
        "H0, at most 0.111 apart",
        "H1, at most 0.111 apart, and 1 other",
        "H2, at most 0.111 apart, and 2 others",
        "H3, at most 0.111 apart, and 3 others",
    ]


def test_the_smallest_of_equal_values_are_the_first() -> None:
    rng = np.random.default_rng(3)
    for values in (rng.random((50, 200)), rng.integers(0, 9, (50, 200)).astype(float)):
        assert (_smallest(values, 7) == np.argsort(values, axis=1, kind="stable")[:, :7]).all()


# --- Grades.


def test_grades_by_name_and_policy() -> None:
    tables = field()
    for row, value in zip(tables["assay"], ("<0.02", "BDL", -0.01, -99, "1,2"), strict=False):
        row[4] = f'"{value}"'
    files = write(tables)
    plain = check_holes_file(*files, grade="au")
    assert counts_of(plain) == {
        "grade-negative": 1, "grade-mark": 1, "grade-below": 2, "grade-text": 1
    }  # fmt: skip
    policy = check_holes_file(*files, grade=["AU"], below_detection="half", missing=-99)
    assert counts_of(policy) == {"grade-below": 3, "grade-text": 1}
    with pytest.raises(geodomain.TableError, match=r"assay.csv has no column 'CU'"):
        check_holes_file(*files, grade="CU")
    with pytest.raises(geodomain.TableError, match="grade='AU' needs a table of intervals"):
        check_holes_file(*files[:2], grade="AU")


def counts_of(check: HoleCheck) -> dict[str, int]:
    return {each.code: each.count for each in check.findings}


# --- The command, its files, and the same in Python.


def faulty() -> list[str]:
    tables = field()
    for code in ("dip-flip", "grade-negative", "interval-gap", "interval-no-collar"):
        FAULTS[code][2](tables)
    return write(tables)


def test_the_table_as_csv_and_parquet_and_data_frame() -> None:
    collar, survey, assay = faulty()
    text = run("-o", "-").stdout
    run("-o", "findings.csv")
    assert Path("findings.csv").read_text() == text
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["severity"], row["code"], row["row"], row["from"], row["to"]) for row in rows] == [
        ("note", "interval-gap", "34", "22.0", "30.0"),
        ("warning", "grade-negative", "34", "22.0", "30.0"),
        ("warning", "hole-bend", "41", "", ""),
        ("warning", "dip-sign", "5", "", ""),
        ("warning", "dip-flip", "41", "", ""),
        ("error", "interval-no-collar", "182", "0.0", "10.0"),
    ]
    run("-o", "findings.parquet")
    table = pyarrow.parquet.read_table("findings.parquet")
    assert table.column_names == list(COLUMNS)
    assert table["row"].to_pylist() == [34, 34, 41, 5, 41, 182]
    assert table["from"].to_pylist() == [22.0, 22.0, None, None, None, 0.0]
    with pytest.warns(geodomain.GeodomainWarning):
        frame = Drillholes(collar, survey, assay).check().to_pandas()
    assert frame["code"].tolist() == table["code"].to_pylist()
    assert frame["value"].tolist() == table["value"].to_pylist()
    assert frame["mend"].tolist()[1] == "Choose below_detection=, or declare a mark with missing=."
    assert rows[1]["mend"] == "Choose --below-detection, or declare a mark with --missing."
    assert frame["other_row"].isna().tolist() == [True, True, False, True, False, True]


def test_a_table_from_stdin_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    collar, survey, assay = write(field())
    with Path(assay).open() as file:
        monkeypatch.setattr("sys.stdin", file)
        holes = Drillholes(collar, survey, "-")
    with pytest.raises(geodomain.TableError, match="stdin cannot be read again"):
        holes.check()


def test_the_summary_in_a_notebook() -> None:
    check = check_holes_file(*faulty())
    html = check._repr_html_()
    assert "<caption>12 drillholes</caption>" in html
    assert "<div>warning: 1 station whose dip" in html and str(check).splitlines()[-1] in html


def test_the_summary_and_json() -> None:
    faulty()
    result = run()
    assert result.stderr == ""
    assert "intervals  assay.csv    181   180         1" in result.stdout
    assert "not used of intervals: 1 interval-no-collar" in result.stdout
    assert "         Correct the sign of the dip." in result.stdout
    assert result.stdout.endswith("1 error, 4 warnings and 1 note\n")
    found = json.loads(run("--json").stdout)
    assert found["counts"] == {"error": 1, "warning": 4, "note": 1}
    assert found["tables"]["intervals"] == {
        "name": "assay.csv", "rows": 181, "used": 180, "not_used": {"interval-no-collar": 1}
    }  # fmt: skip
    flip = next(each for each in found["findings"] if each["code"] == "dip-flip")
    assert (flip["severity"], flip["table"], flip["holes"]) == ("warning", "survey", ["DH004"])
    assert run("--quiet").output == ""


def test_strict_and_accept() -> None:
    faulty()
    assert run("--strict", "-o", "findings.csv", code=3).stdout.endswith("1 note\n")
    assert Path("findings.csv").exists()
    accept = ("hole-bend", "dip-sign", "dip-flip:DH004", "grade-negative", "interval-no-collar")
    options = [word for each in accept for word in ("--accept", each)]
    result = run("--strict", *options)
    assert result.stdout.endswith("0 errors, 0 warnings and 6 notes\n")
    assert "[dip-flip, accepted]" in result.stdout
    write(field())
    assert run("--strict").stdout.endswith("0 errors, 0 warnings and 0 notes\n")


def test_topography_and_domains() -> None:
    tables = field()
    put("collar", "DH005", None, 3, 341)(tables)
    write(tables)
    corners = [[4000, 8000, 380], [6000, 8000, 380], [6000, 9999, 380], [4000, 9999, 380]]
    write_mesh(Mesh(corners, [[0, 1, 2], [0, 2, 3]]), Path("ground.ply"))
    write_mesh(box((5000, 9000, 250), (5200, 9200, 320)), Path("ore.ply"))
    Path("domains.toml").write_text(
        '[[domain]]\nname = "AIR"\nkind = "above"\nmesh = "ground.ply"\n'
        '[[domain]]\nname = "ORE"\nmesh = "ore.ply"\n'
    )
    for options, name in (
        (("--topography", "ground.ply"), "ground.ply"),
        (("--domains", "domains.toml"), "AIR"),
    ):
        said = run(*options).stdout
        assert f"(DH005: z 341, {name} 380) [collar-off-topography]" in said
    refused = run("--domains", "domains.toml", "-o", "ore.ply", "--overwrite", code=3).stderr
    assert "ore.ply" in refused


BAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no file": (("--intervals", "none.csv"), 4, "none.csv"),
    "no column": (("--intervals", "collar.csv"), 3, "has no column for the role 'from'"),
    "an output that is there": (("-o", "assay.csv"), 4, "--overwrite"),
    "an output that is an input": (("-o", "assay.csv", "--overwrite"), 3, "is the input"),
    "another format": (("-o", "table.vtu"), 3, ".vtu"),
    "no finding": (("--accept", "no"), 2, "there is no finding 'no'"),
    "a distance below 0": (("--twin", "-1"), 2, "--twin"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str) -> None:
    options, code, words = BAD[case]
    write(field())
    said = run(*options, code=code).stderr
    assert words in said
    assert code == 2 or said.count("\n") == 1


def test_tables_without_a_usable_hole() -> None:
    tables = field()
    tables["survey"] = [["X", 0, 0, -60]]
    write(tables)
    said = run(code=3).stderr
    assert "contain no usable hole (DH001: it has no station)" in said


def test_several_interval_tables_are_named() -> None:
    tables = field()
    put("assay", "DH003", 20, 1, 22)(tables)
    write(tables)
    Path("geology.csv").write_text("HOLEID,FROM,TO\n" + "".join(f"{n},0,150\n" for n in NAMES[1:]))
    said = run("--intervals", "geology.csv").stdout
    assert "[interval-gap] in assay.csv" in said and "[hole-no-interval] in geology.csv" in said
    assert "intervals 2  geology.csv    11    11         0" in said


@pytest.mark.parametrize("kind", ["text", "dictionary", "large", "categorical", "polars"])
def test_parquet_ids_are_read_as_those_of_text(kind: str) -> None:
    """Ids may be texts, a dictionary of texts or a categorical, in each of the tables."""
    collar, survey, assay = faulty()
    wanted = check_holes_file(collar, survey, assay).to_pandas()
    for name in ("collar", "survey", "assay"):
        frame = pd.read_csv(f"{name}.csv", dtype={"HOLEID": str})
        if kind == "categorical":
            frame["HOLEID"] = frame["HOLEID"].astype("category")
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        types = {"dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
                 "large": pyarrow.large_string(), "text": pyarrow.string(),
                 "polars": pyarrow.string_view()}  # fmt: skip
        if kind in types:
            table = table.set_column(0, "HOLEID", table["HOLEID"].cast(types[kind]))
        pyarrow.parquet.write_table(table, f"{name}.parquet")
    found = check_holes_file("collar.parquet", "survey.parquet", "assay.parquet").to_pandas()
    columns = ["severity", "code", "table", "hole", "depth", "from", "to", "value"]
    pd.testing.assert_frame_equal(found[columns], wanted[columns])
    assert (found["row"] == wanted["row"] - 2).all()


def test_real_tables(shared_data: Path) -> None:
    """NE-6 of Copper Creek is logged twice, and OR1 is another hole than OR-1."""
    theirs = shared_data / "formats" / "drillholes"
    files = [theirs / f"copper_creek_{name}.csv" for name in ("collar", "survey", "assay")]
    check = check_holes_file(*files)
    assert_counts_add_up(check)
    frame = check.to_pandas()
    twice = frame[frame["code"] == "interval-twice"]
    assert set(twice["hole"]) == {"NE-6"} and len(twice) == 141
    alike = frame[frame["code"] == "id-alike"]
    assert len(alike) == 7 and "like 'OR-1'" in alike["value"].tolist()
    assert counts_of(check)["hole-twin"] == 6 and check.counts["error"] == 0
    babbitt = check_holes_file(
        shared_data / "babbitt" / "collar_BABBITT.csv",
        theirs / "babbitt_survey.csv",
        shared_data / "babbitt" / "assay_BABBITT.csv",
    )
    assert babbitt.counts == {"error": 0, "warning": 3, "note": 179}
