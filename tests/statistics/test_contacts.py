"""Grades by distance from a contact: known distances and steps, walls in force, and intervals."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from label_command import run_command
from late import pd, pyarrow
from wireframes import box

import geodomain
from geodomain import Domain, DomainError, Domains, Drillholes, GeodomainWarning, Mesh, Stack
from geodomain.formats.wireframes import write_mesh
from geodomain.labelling.labeller import Labeller
from geodomain.statistics import contact_walls
from geodomain.statistics.contact_means import RESAMPLES, SEED, ContactStep, interval_of_mean
from geodomain.statistics.contact_walls import WallPieces, labels_at, touching_labels

ORE = {"ORE": box((0, 0, 0), (100, 100, 50))}
PAIR = ("ORE", "WASTE")


def points(*rows: tuple[float, float, float, float], hole: str = "") -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["X", "Y", "Z", "AU"])
    return frame.assign(BHID=hole) if hole else frame


def contacts(table: pd.DataFrame, domains=ORE, between=PAIR, **options) -> geodomain.Contacts:
    options = {"background": "WASTE"} | options
    return geodomain.contacts(table, domains, between, "AU", **options)


def means(found: geodomain.Contacts) -> dict[tuple[str, float], float]:
    return {(row.label, row.begin): row.mean for row in found.rows if row.samples}


def added_up(found: geodomain.Contacts) -> dict[str, int]:
    """Return the counts that are not 0; they add up to the rows read."""
    counts = dict(found.counts)
    assert counts.pop("rows") == sum(counts.values())
    assert counts["measured"] == sum(row.samples for row in found.rows)
    assert counts["measured"] == sum(row.samples for row in found.sides)
    return {key: count for key, count in counts.items() if count}


def test_classes_hold_their_lower_end_and_the_last_one_both() -> None:
    heights = (49, 48.5, 48, 47, 46.5, 50, 51, 52, 54, 54.5)
    table = points(*((50, 50, z, z) for z in heights))
    found = contacts(table, bin=2, max=4)
    assert means(found) == {
        ("ORE", 0): (49 + 48.5) / 2,
        ("ORE", 2): (48 + 47 + 46.5) / 3,
        ("WASTE", 0): (50 + 51) / 2,
        ("WASTE", 2): (52 + 54) / 2,
    }
    assert added_up(found) == {"measured": 9, "farther": 1}
    assert [(row.label, row.begin) for row in found.rows] == [
        ("ORE", 2), ("ORE", 0), ("WASTE", 0), ("WASTE", 2)
    ]  # fmt: skip


def test_the_last_class_may_be_narrower() -> None:
    found = contacts(points((50, 50, 55, 1)), bin=2, max=5)
    assert [(row.begin, row.end) for row in found.rows[3:]] == [(0, 2), (2, 4), (4, 5)]
    assert means(found) == {("WASTE", 4): 1}


def test_every_row_is_counted_once() -> None:
    table = points(
        (50, 50, 49, 1), (50, 50, 51, 2), (50, 50, 51, np.nan), (np.nan, 50, 51, 3),
        (50, 50, 90, 4), (150, 50, 25, 5),
    )  # fmt: skip
    domains = ORE | {"EAST": box((140, 0, 0), (160, 100, 50))}
    assert added_up(contacts(table, domains)) == {
        "measured": 2, "farther": 1, "other_domain": 1, "without_grade": 1, "unplaced": 1,
    }  # fmt: skip


# Walls that separate the labels, among those that do not.


def test_a_sample_is_apart_if_its_label_ends_nearer_at_another_wall() -> None:
    """OXIDE lies on the ore; samples of the ore near it are not near the waste."""
    domains = ORE | {"OXIDE": box((0, 0, 50), (100, 100, 80))}
    table = points((50, 50, 49, 1), (50, 50, 2, 2), (50, 50, 28, 3), (50, 50, 60, 4))
    found = contacts(table, domains)
    assert added_up(found) == {"measured": 1, "farther": 1, "other_wall": 1, "other_domain": 1}
    assert means(found) == {("ORE", 2): 2}
    other = contacts(table, domains, ("OXIDE", "ORE"))
    assert means(other) == {("OXIDE", 10): 4, ("ORE", 0): 1, ("ORE", 22): 3}


def test_a_hidden_part_of_a_wall_is_no_contact() -> None:
    """The ore continues below its first box: the floor between the two is not a wall in force."""
    halves = {"ORE": [box((0, 0, 0), (100, 100, 20)), box((0, 0, 20), (100, 100, 50))]}
    found = contacts(points((50, 50, 21, 1), (50, 50, 49.5, 2)), halves)
    assert means(found) == {("ORE", 20): 1, ("ORE", 0): 2}
    dyke = {"DYKE": box((40, 40, -10), (60, 60, 60))} | ORE
    found = contacts(points((50, 50, 49, 1), (65, 50, 49, 2), (63, 50, 57, 3)), dyke)
    # The first is dyke; the walls of the ore in it are hidden. The last is nearer to the dyke.
    assert added_up(found) == {"measured": 1, "other_domain": 1, "other_wall": 1}
    assert means(found) == {("ORE", 0): 2}


def test_the_edge_of_a_wall_that_is_cut_off() -> None:
    """A dyke through the roof of the ore cuts a hole into the contact."""
    dyke = {"DYKE": box((40, 40, -10), (60, 60, 49))} | ORE
    wide = contacts(points((50, 50, 52, 1)), dyke)
    assert means(wide) == {("WASTE", 2): 1} and wide.edge == 0
    dyke = {"DYKE": box((40, 40, -10), (60, 60, 51))} | ORE
    found = contacts(points((62, 50, 53, 1)), dyke, max=8)
    assert added_up(found) == {"other_wall": 1}  # 2 from the dyke, 3 from the roof
    found = contacts(points((58, 50, 51.4, 1), (62, 50, 51.5, 1)), dyke, between=("WASTE", "ORE"))
    assert 0 < found.edge <= 2 / 16 and added_up(found) == {"measured": 1, "other_wall": 1}


def test_the_order_of_domains_decides() -> None:
    overlapping = [
        Domain("A", box((0, 0, 0), (100, 100, 50))),
        Domain("B", box((0, 0, 40), (100, 100, 90))),
    ]
    table = points((50, 50, 49, 1), (50, 50, 51, 2))
    first = contacts(table, Domains(tuple(overlapping)), ("A", "B"))
    last = contacts(table, Domains(tuple(overlapping), order="last"), ("A", "B"))
    assert means(first) == {("A", 0): 1, ("B", 0): 2}
    assert means(last) == {("B", 8): 1, ("B", 10): 2}


def sheet(height: float) -> Mesh:
    corners = [[-50, -50], [150, -50], [150, 150], [-50, 150]]
    return Mesh([[*corner, height] for corner in corners], [[0, 1, 2], [0, 2, 3]])


def test_layers_of_a_stack_and_sides_of_a_surface() -> None:
    stack = Stack([sheet(60), sheet(40)], ["COVER", "COAL", "FLOOR"])
    table = points((50, 50, 58, 1), (50, 50, 43, 2), (50, 50, 39, 3), (50, 50, 61, 4))
    found = contacts(table, [stack], ("COAL", "FLOOR"), background=None)
    assert means(found) == {("COAL", 2): 2, ("FLOOR", 0): 3}
    assert added_up(found) == {"measured": 2, "other_wall": 1, "other_domain": 1}
    sides = [Domain("AIR", sheet(60), kind="above")]
    found = contacts(table, sides, ("AIR", "WASTE"))
    assert means(found) == {("AIR", 0): 4, ("WASTE", 2): 1, ("WASTE", 16): 2, ("WASTE", 20): 3}


def test_the_rim_of_a_surface_is_a_wall() -> None:
    """Beyond the rim samples are unassigned: a sample may be nearer to that than to the air."""
    found = contacts(
        points((148, 50, 57, 1), (50, 50, 57, 2)),
        [Domain("AIR", sheet(60), kind="above")],
        ("AIR", "WASTE"),
    )
    assert added_up(found) == {"measured": 1, "other_wall": 1}


def test_wireframes_with_a_narrow_gap_touch() -> None:
    domains = ORE | {"TOP": box((0, 0, 50.01), (100, 100, 80))}
    found = contacts(points((50, 50, 49, 1), (50, 50, 51, 2)), domains, ("ORE", "TOP"))
    assert means(found) == {("ORE", 0): 1, ("TOP", 0): 2}


def test_domains_without_walls_are_left_out() -> None:
    rich = Domain("RICH", ORE["ORE"], only_if={"AU": {">=": 2}})
    skin = Domain("SKIN", ORE["ORE"], kind="solid", within=5)
    domains = [rich, skin, Domain("ORE", ORE["ORE"])]
    with pytest.warns(GeodomainWarning) as told:
        found = contacts(points((50, 50, 49, 5)), domains)
    assert means(found) == {("ORE", 0): 5}
    assert [str(each.message).split(",")[0] for each in told] == [
        "RICH is left out", "SKIN is left out",
    ]  # fmt: skip
    with pytest.raises(DomainError, match="RICH has no walls of its own"):
        contacts(points((50, 50, 49, 5)), domains, ("RICH", "WASTE"))


def test_no_wall_between_the_labels() -> None:
    far = ORE | {"FAR": box((500, 0, 0), (600, 100, 50))}
    with pytest.warns(GeodomainWarning, match="no wall between 'ORE' and 'FAR' is within 30"):
        found = contacts(points((50, 50, 49, 1)), far, ("ORE", "FAR"))
    assert added_up(found) == {"farther": 1}
    assert found.step == ContactStep(0, None, None, None)


# Drillholes.


@cache
def collar() -> pd.DataFrame:
    """Return a hole down through the middle of the ore, and one that dips at 30 degrees."""
    return pd.DataFrame({"BHID": ["A", "B"], "X": [50.0, 20], "Y": 50.0, "Z": [80.0, 70],
                         "DEPTH": [100.0, 60], "AZIMUTH": [0, 90], "DIP": [90, 30]})  # fmt: skip


def intervals() -> pd.DataFrame:
    rows = [("A", z, z + 1.0, float(z)) for z in range(100)]
    rows += [("B", z, z + 1.0, float(z)) for z in range(60)]
    return pd.DataFrame(rows, columns=["BHID", "FROM", "TO", "AU"])


def test_along_the_hole_and_from_the_wall() -> None:
    """Hole A meets the ore at depth 30 and leaves it at 80; B meets it at depth 40."""
    holes = Drillholes(collar(), intervals=intervals())
    along = contacts(intervals(), holes=holes, along="hole", bin=10, max=20)
    assert means(along)["WASTE", 0] == (24.5 * 10 + 84.5 * 10 + 34.5 * 10) / 30
    assert means(along)["ORE", 10] == (44.5 * 10 + 64.5 * 10 + 54.5 * 10) / 30
    wall = contacts(intervals(), holes=holes, bin=10, max=20)
    assert [row.samples for row in wall.rows] == [20, 40, 40, 40]  # B: half its length
    assert wall.weighted and wall.rows[0].length == 20
    assert along.step.holes == wall.step.holes == 2 and wall.step.low is None
    assert added_up(along) == {"measured": 120, "farther": 40}


def test_along_the_hole_a_third_domain_ends_a_run() -> None:
    domains = ORE | {"TOP": box((0, 0, 50), (100, 100, 60))}  # from 20 to 30 down hole A
    table = intervals()[:100]
    holes = Drillholes(collar(), intervals=table)
    found = contacts(table, domains, holes=holes, along="hole", bin=10)
    # The waste above has no contact with the ore; the upper half of the ore is nearer to TOP.
    assert added_up(found) == {"measured": 45, "farther": 40, "other_wall": 5, "other_domain": 10}
    assert {row.label: row.samples for row in found.sides} == {"ORE": 25, "WASTE": 20}


def test_composites_and_coordinates_give_the_same(tmp_path: Path) -> None:
    """Composites have columns of the hole, FROM and TO, and coordinates of the middle."""
    holes = Drillholes(collar(), intervals=intervals())
    table = geodomain.composite(
        intervals(), holes, ORE, length=1, grade="AU", background="WASTE"
    ).to_pandas()
    placed = contacts(table)
    desurveyed = contacts(table, holes=holes)
    assert placed.weighted and placed.rows == desurveyed.rows and placed.step == desurveyed.step
    path = tmp_path / "composites.csv"
    table.to_csv(path, index=False)
    assert contacts(path).rows == placed.rows


# Numbers against independent ones.


@cache
def dome() -> Mesh:
    """Return a closed dome: half an ellipsoid of 60 by 60 by 40, on its floor."""
    turns, rises = np.linspace(0, 2 * np.pi, 49)[:-1], np.linspace(0, np.pi / 2, 13)[:-1]
    rings = [[60 * np.cos(a) * np.cos(b), 60 * np.sin(a) * np.cos(b), 40 * np.sin(b)]
             for b in rises for a in turns]  # fmt: skip
    corners = np.array([*rings, [0, 0, 40], [0, 0, 0]])
    faces, count = [], len(turns)
    for ring in range(len(rises) - 1):
        for k in range(count):
            a, b = ring * count + k, ring * count + (k + 1) % count
            faces += [[a, b, a + count], [b, b + count, a + count]]
    top, floor = len(corners) - 2, len(corners) - 1
    last = (len(rises) - 1) * count
    for k in range(count):
        faces += [[last + k, last + (k + 1) % count, top], [(k + 1) % count, k, floor]]
    return Mesh(corners, faces)


def down_the_dome(holes: int) -> pd.DataFrame:
    """Return samples of vertical holes from 30 above the dome to 30 below its roof."""
    angles = np.arange(holes) * 2.4
    reach = 12 + 24 * np.arange(holes) / holes
    frames = []
    for number in range(holes):
        x, y = reach[number] * np.cos(angles[number]), reach[number] * np.sin(angles[number])
        depths = np.arange(0.5, 45, 1.5)
        frames.append(pd.DataFrame({"BHID": f"D{number:02}", "X": x, "Y": y, "Z": 60 - depths}))
    return pd.concat(frames, ignore_index=True)


def test_means_against_pandas() -> None:
    table = down_the_dome(12)
    table["AU"] = np.random.default_rng(3).lognormal(size=len(table))
    found = contacts(table, {"ORE": dome()}, bin=3, max=15)
    distances = geodomain.distances(dome(), table[["X", "Y", "Z"]])
    table["side"] = np.where(geodomain.contains(dome(), table[["X", "Y", "Z"]]), *PAIR)
    table["begin"] = np.minimum(distances // 3, 4) * 3
    own = table[distances <= 15].groupby(["side", "begin"])
    for row in found.rows:
        group = own.get_group((row.label, row.begin))
        assert row.mean == pytest.approx(group["AU"].mean())
        assert (row.samples, row.holes) == (len(group), group["BHID"].nunique())
    by_hole = table[distances <= 15].pivot_table("AU", "BHID", "side", "mean").dropna()
    assert found.step.holes == len(by_hole) == 12
    assert found.step.mean == pytest.approx((by_hole["ORE"] - by_hole["WASTE"]).mean())


def test_an_interval_against_its_definition() -> None:
    rng = np.random.default_rng(1)
    weights, grades = rng.uniform(1, 5, 7), rng.lognormal(size=7)
    draws = np.random.PCG64(SEED).random_raw(RESAMPLES * 7).tolist()
    mean, error = weighted(grades, weights)
    values = []
    for begin in range(0, len(draws), 7):
        rows = [(draw >> 32) * 7 >> 32 for draw in draws[begin : begin + 7]]
        again, its_error = weighted(grades[rows], weights[rows])
        values.append(
            (again - mean) / its_error if its_error > 1e-12 else np.sign(again - mean) * np.inf
        )
    values.sort()
    expected = mean - values[1949] * error, mean - values[49] * error
    assert interval_of_mean(grades * weights, weights) == pytest.approx(expected)


def weighted(grades: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return a weighted mean and its standard error, by the formula in the documentation."""
    mean, count = (grades * weights).sum() / weights.sum(), len(grades)
    squares = (weights**2 * (grades - mean) ** 2).sum()
    return mean, np.sqrt(count / (count - 1) * squares) / weights.sum()


def test_intervals_at_their_limits() -> None:
    assert interval_of_mean(np.arange(4.0), np.ones(4)) is None
    assert interval_of_mean(np.full(6, 2.0), np.ones(6)) == (2.0, 2.0)
    weights = np.array([0.1, 0.3, 0.7, 1.1, 2.3])
    assert interval_of_mean(0.3 * weights, weights) == pytest.approx((0.3, 0.3))
    # A third of the resamples miss the only hole that differs.
    assert interval_of_mean(np.array([0.5, 0.5, 0.5, 0.5, 2.0]), np.ones(5)) is None
    many = np.random.default_rng(0).normal(size=1000)
    drawn, normal = (interval_of_mean(many[:n], np.ones(n)) for n in (1000, 1000))
    assert drawn == normal
    more = np.append(many, many.mean())
    assert interval_of_mean(more, np.ones(1001)) == pytest.approx(drawn, abs=0.005)


def test_the_order_of_rows_and_threads_change_nothing() -> None:
    table = down_the_dome(8)
    table["AU"] = np.random.default_rng(5).lognormal(size=len(table))
    first = contacts(table, {"ORE": dome()}).as_dict()
    for seed, threads in ((1, 1), (2, 3)):
        shuffled = table.sample(frac=1, random_state=seed)
        assert contacts(shuffled, {"ORE": dome()}, threads=threads).as_dict() == first


STEP = 2.0


def simulated(table: pd.DataFrame, ore: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return grades with a known step, in which samples of a hole resemble each other.

    Each hole has a level of its own, and another one on each side; along the hole the noise of a
    sample has a correlation of 0.7 with that of the next.
    """
    holes = table["BHID"].to_numpy()
    grades = np.where(ore, 10.0 + STEP, 10.0)
    for name in np.unique(holes):
        rows = np.flatnonzero(holes == name)
        grades[rows] += rng.normal(0, 0.6) + rng.normal(0, 0.5, 2)[ore[rows].astype(int)]
        noise = rng.normal(0, 0.5)
        for row in rows:
            noise = 0.7 * noise + rng.normal(0, 0.5 * np.sqrt(1 - 0.7**2))
            grades[row] += noise
    return grades


def covered(times: int, seed: int) -> tuple[int, int]:
    """Return how many intervals hold the true step, and how many lie above zero."""
    rng = np.random.default_rng(seed)
    tables = {holes: down_the_dome(holes) for holes in range(5, 16)}
    inside = {n: geodomain.contains(dome(), each[["X", "Y", "Z"]]) for n, each in tables.items()}
    hits = above = 0
    for number in range(times):
        holes = 5 + number % 11
        table = tables[holes].assign(AU=simulated(tables[holes], inside[holes], rng))
        step = contacts(table, {"ORE": dome()}, bin=15, max=15).step
        assert step.holes == holes
        hits += step.low <= STEP <= step.high
        above += step.low > 0
    return hits, above


def test_the_step_at_a_curved_wall_is_found() -> None:
    hits, above = covered(11, seed=4)
    assert hits >= 9 and above >= 10


@pytest.mark.full
def test_the_interval_covers_the_step_in_92_to_98_of_100() -> None:
    hits, _ = covered(1000, seed=29)
    assert 920 <= hits <= 980


# The command.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(ORE["ORE"], Path("ore.ply"))
    collar().to_csv("collar.csv", index=False)
    intervals().to_csv("assay.csv", index=False)
    points((50, 50, 49, 1), (50, 50, 51, 2)).to_csv("points.csv", index=False)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    words = ["contacts", *arguments, "--solid", "ORE=ore.ply", "--background", "WASTE"]
    words += [] if "--between" in arguments else ["--between", *PAIR]
    words += [] if "--grade" in arguments else ["--grade", "AU"]
    return run_command(*words, code=code)


HOLES = ("assay.csv", "--collar", "collar.csv")


def test_what_the_command_prints_and_writes(folder: Path) -> None:
    out = run(*HOLES, "--bin", "10", "--along", "hole", "-o", "out.csv").stdout
    assert out.splitlines()[0].split() == [
        "domain", "distance", "samples", "holes", "length", "AU", "95", "%", "interval"
    ]  # fmt: skip
    assert "ORE minus WASTE, in 2 holes with samples on both sides" in out
    assert "160 rows: 150 measured along the hole, 10 farther than 30" in out
    rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()]
    assert [row[3] for row in rows] == ["samples", "10", "30", "30", "30", "30", "20"]
    result = run(*HOLES, "--bin", "10", "--along", "hole", "-o", "out.parquet", "--json")
    table = pyarrow.parquet.read_table("out.parquet").to_pandas()
    found = json.loads(result.stdout)
    assert table["samples"].tolist() == [row["samples"] for row in found["classes"]]
    assert table["AU"].tolist() == [row["mean"] for row in found["classes"]]
    assert found["counts"]["rows"] == 160 and found["step"]["holes"] == 2


def test_points_without_holes_have_no_interval(folder: Path) -> None:
    out = run("points.csv", "-o", "-").stdout
    assert out.splitlines()[-16:][0] == "ORE,0.0,2.0,1,0,1.0,1.0,,"
    found = json.loads(run("points.csv", "--json").stdout)
    assert not found["weighted"] and found["step"]["holes"] == 0


@pytest.mark.full
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_chart(folder: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    for samples in (HOLES, ("points.csv",)):
        run(*samples, "--chart", f"c.{kind}", "--overwrite")
        assert Path(f"c.{kind}").stat().st_size > 4000
    if kind == "svg":
        text = Path("c.svg").read_text()
        run("points.csv", "--chart", "again.svg")
        assert Path("again.svg").read_text() == text or "matplotlib" in text


def test_the_chart_has_both_sides(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    holes = Drillholes(collar(), intervals=intervals())
    figure = contacts(intervals(), holes=holes, bin=10).draw()
    upper, lower = figure.axes
    assert lower.get_xlim() == (-30, 30) and len(lower.patches) == 6
    assert [text.get_text() for text in upper.texts][::2] == list(PAIR)


BAD = {
    ("--between", "ORE", "WASTED"): (3, "'WASTED' is not a label of these domains (did you mean"),
    ("--between", "ORE", "ORE"): (2, "--between names 'ORE' twice"),
    ("--bin", "5", "--max", "2"): (2, "bin is 5 and max is 2; bin must be above 0"),
    ("--along", "hole"): (2, "--along hole measures along drillholes, and needs --collar FILE"),
    ("--survey", "survey.csv"): (2, "--survey is for drillholes, and needs --collar FILE"),
    ("--grade", "CU"): (3, "points.csv has no column 'CU'"),
    ("--chart", "c.txt"): (2, "c.txt must end in .png or .svg or .pdf"),
    ("-o", "out.vtk"): (3, "the table is written as text"),
    ("-o", "points.csv", "--overwrite"): (3, "points.csv"),
    ("-o", "there/out.csv"): (4, "there"),
    ("--x", "EAST"): (3, "EAST"),
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_sentence(folder: Path, arguments: tuple[str, ...]) -> None:
    code, words = BAD[arguments]
    result = run("points.csv", *arguments, code=code)
    assert words in result.stderr
    assert "Traceback" not in result.output and not Path("out.csv").exists()


def test_bad_arguments() -> None:
    table = points((50, 50, 49, 1))
    for options, words in (
        ({"between": "ORE"}, "two different labels"),
        ({"between": ("ORE",)}, "two different labels"),
        ({"along": "hole"}, "give holes="),
        ({"along": "up"}, "one of 'wall', 'hole'"),
        ({"bin": 0}, "bin is 0"),
        ({"max": float("inf")}, "max is inf"),
        ({"holes": Drillholes(collar()), "x": "X"}, "leave out x="),
    ):
        with pytest.raises(ValueError, match=words):
            contacts(table, **options)
    with pytest.raises(TypeError, match="bins"):
        contacts(table, bins=2)


def test_the_column_of_the_hole_may_be_named(folder: Path) -> None:
    table = points((50, 50, 49, 1), (50, 50, 51, 2)).assign(SHAFT=[7, 7])
    table.to_csv("points.csv", index=False)
    found = json.loads(run("points.csv", "--hole-column", "hole=SHAFT", "--json").stdout)
    assert found["step"] == {"holes": 1, "mean": -1.0, "low": None, "high": None}


def test_values_below_detection(folder: Path) -> None:
    table = points((50, 50, 49, 1), (50, 50, 51, 2)).assign(AU=["<0.2", "-0.4"])
    table.to_csv("points.csv", index=False)
    assert "below-detection" in run("points.csv", code=3).stderr
    found = json.loads(run("points.csv", "--below-detection", "half", "--json").stdout)
    assert [row["mean"] for row in found["sides"]] == [0.1, 0.2] and found["negative"] == 1


def test_no_rows(folder: Path) -> None:
    with pytest.warns(GeodomainWarning, match="no wall between"):
        found = contacts(points().astype(float))
    assert added_up(found) == {} and str(found) and len(found.to_pandas()) == 30


# Walls in force, against faces of unit cubes.


def random_boxes(rng: np.random.Generator) -> tuple[Domains, np.ndarray]:
    """Return boxes with whole corners, and the code of each unit cube of a lattice of 8 by 8 by 8.

    Boxes overlap, touch and share faces; the first one that holds a cube labels it.
    """
    count = int(rng.integers(2, 6))
    codes = np.full((8, 8, 8), count)
    domains = []
    for code in range(count):
        low = rng.integers(0, 6, 3)
        high = np.minimum(low + rng.integers(1, 6, 3), 8)
        domains.append(Domain(f"D{code}", box(tuple(low.tolist()), tuple(high.tolist()))))
        part = codes[low[0] : high[0], low[1] : high[1], low[2] : high[2]]
        part[part == count] = code
    return Domains(tuple(domains)), codes


def faces_between(codes: np.ndarray, first: int, others: set[int]) -> np.ndarray:
    """Return the lower corners and axes of the unit faces between a code and some other codes."""
    wide = np.pad(codes, 1, constant_values=codes.max())
    found = []
    for axis in range(3):
        beside = np.roll(wide, -1, axis)
        for here, there in ((wide, beside), (beside, wide)):
            rows = np.argwhere((here == first) & np.isin(there, list(others)))
            found += [(*(row - 1 + (np.arange(3) == axis)), axis) for row in rows]
    return np.array(found, int).reshape(-1, 4)


def distance_from(faces: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distance of each point from the nearest of some unit faces."""
    best = np.full(len(points), np.inf)
    for *corner, axis in faces:
        high = np.array(corner) + (np.arange(3) != axis)
        off = points - np.clip(points, corner, high)
        best = np.minimum(best, np.sqrt((off**2).sum(axis=1)))
    return best


def check_random_walls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains, codes = random_boxes(rng)
    points = rng.uniform(0, 8, (300, 3))
    own = codes[tuple(points.astype(int).T)]
    labeller = Labeller(domains)
    assert (labels_at(labeller, points) == own).all()
    present = np.unique(own)
    every = WallPieces(labeller, points, 20.0, 0.5)
    for first in present:
        for second in present[present > first]:
            pair = int(first), int(second)
            chosen = np.isin(own, pair)
            places, sides = points[chosen], np.where(own[chosen] == first, 0, 1)
            walls = WallPieces(labeller, places, 20.0, 0.5, pair).between(pair, places)
            found = walls.measure(places, sides, np.inf, labeller)
            # The walls of all labels at once have the same distances.
            twin = every.between(pair, places)
            same = twin.measure(places, sides, np.inf, labeller)
            assert (same.contact == found.contact).all() and (same.other == found.other).all()
            assert twin.edge == walls.edge
            contact = distance_from(faces_between(codes, first, {second}), places)
            with np.errstate(invalid="ignore"):
                error = np.where(contact == found.contact, 0.0, np.abs(contact - found.contact))
            assert error.max() <= walls.edge * 2 + 1e-9
            for side, code in enumerate(pair):
                thirds = set(range(codes.max() + 1)) - set(pair)
                rows = sides == side
                other = distance_from(faces_between(codes, code, thirds), places[rows])
                there = found.other[rows]
                with np.errstate(invalid="ignore"):
                    error = np.where(other == there, 0.0, np.abs(other - there))
                assert error.max(initial=0.0) <= walls.edge * 2 + 1e-9


def test_labels_touch_where_walls_have_them_on_both_sides() -> None:
    """Two boxes share a face of 4 by 4, which both have; each has 5 other faces."""
    pair = {"A": box((0, 0, 0), (4, 4, 4)), "B": box((4, 0, 0), (8, 4, 4))}
    areas = touching_labels(Labeller(pair), 0.01)
    assert areas == pytest.approx({(0, 1): 32.0, (0, 2): 80.0, (1, 2): 80.0})
    assert touching_labels(Labeller({}), 0.01) == {}


def test_distances_from_walls_in_force() -> None:
    check_random_walls(1)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 12))
def test_distances_from_walls_in_force_of_more_boxes(seed: int) -> None:
    check_random_walls(seed)


@pytest.mark.parametrize("mixers", [contact_walls._MIXERS, np.zeros(3, np.uint64)])
def test_triangles_of_two_solids_are_compared_by_their_corners(
    mixers: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all hashes are equal, as they are with factors of 0."""
    monkeypatch.setattr(contact_walls, "_MIXERS", mixers)
    corners = np.random.default_rng(1).random((10, 3, 3))
    others = np.concatenate([corners[:2, [1, 2, 0]], corners[2:4, ::-1], corners[4:6] + 1])
    meshes = [
        Mesh(each.reshape(-1, 3), np.arange(3 * len(each)).reshape(-1, 3))
        for each in (corners, others)
    ]
    triangles, owned = contact_walls._distinct(meshes)
    assert sorted(map(bytes, triangles)) == sorted(map(bytes, [*corners, *others[4:]]))
    shared = [bytes(triangle) for triangle in triangles[owned.all(axis=1)]]
    assert sorted(shared) == sorted(map(bytes, corners[:4]))
