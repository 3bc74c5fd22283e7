"""What is mined and what remains: against fractions and pandas, by date, bench and design."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from common_shares import exact_common
from label_command import run_command
from late import pandas, pyarrow
from mined_ground import (
    exact_left,
    exact_parts,
    lattice,
    mesh_of,
    plane,
    random_regions,
    sheet,
    write_model,
)
from shapes import joined
from wireframes import box, roofless

import geodomain
from geodomain.changes.depletion import cut_at_benches, portion
from geodomain.changes.depletion_report import Depletion
from geodomain.changes.mined_periods import end_of, periods_until, share_column
from geodomain.changes.mined_shares import MinedShares, excavation
from geodomain.errors import GeodomainWarning, MeshError, TableError
from geodomain.labelling.settings import LabelSettings
from geodomain.volumes.exact_sums import exact_products, exact_sums, fits_exactly

# The models lack some densities and grades.
pytestmark = pytest.mark.filterwarnings("ignore:.* ha(s|ve) no (SG|AU)")


def seeds(quick: int, full: int) -> pytest.MarkDecorator:
    """Run a test with some seeds, and with more in the full run."""
    more = [pytest.param(seed, marks=pytest.mark.full) for seed in range(quick, full)]
    return pytest.mark.parametrize("seed", [*range(quick), *more])


SETTINGS = LabelSettings(proportions="priority")
UNIT = Fraction(1, 2**40)


def left_of(steps, centres, sizes, order=None):
    """Return the shares left after each step of meshes, and the sampled blocks."""
    excavations = [excavation(f"step {i}", meshes) for i, meshes in enumerate(steps)]
    shares = MinedShares(excavations, np.eye(3), "model", SETTINGS)
    (left,), sampled = shares.left(centres, sizes, [order or range(len(steps))])
    return left, sampled


# --- Shares left after each step.


@seeds(2, 60)
def test_boxes_and_levels_against_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    regions = random_regions(random, 4)
    centres, sizes = lattice()
    left, sampled = left_of([[mesh_of(r) for r in step] for step in regions], centres, sizes)
    assert not sampled.any()
    for row in range(len(centres)):
        low, high = centres[row] - sizes[row] / 2, centres[row] + sizes[row] / 2
        exact = exact_left(regions, low, high)
        for step, share in enumerate(exact):
            assert abs(Fraction(left[step, row]) - share) <= UNIT, (row, step)


@seeds(1, 20)
def test_surfaces_that_cross_against_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    surfaces = [sheet(random.uniform(5, 25, (5, 5))) for _ in range(3)]
    axis = np.array([7.5, 20.0, 31.0])
    centres = np.stack(np.meshgrid(axis, axis, [7.0, 15.0], indexing="ij"), -1).reshape(-1, 3)
    sizes = np.broadcast_to([5.0, 8.0, 6.0], centres.shape)
    left, sampled = left_of([[s] for s in surfaces], centres, sizes)
    assert not sampled.any()
    for row, (centre, size) in enumerate(zip(centres, sizes, strict=True)):
        for step in range(3):
            exact = exact_common(surfaces[: step + 1], centre - size / 2, centre + size / 2)
            assert abs(Fraction(left[step, row]) - exact) <= UNIT


@seeds(0, 20)
def test_surfaces_and_slanted_stopes_against_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    surfaces = [sheet(random.uniform(8, 22, (5, 5))) for _ in range(2)]
    corners = np.array([[5, 5, 2], [35, 8, 4], [12, 36, 3], [17, 15, 24]]) + random.random((4, 3))
    stope = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], name="stope")
    axis = np.array([9.0, 16.0, 23.0])
    centres = np.stack(np.meshgrid(axis, axis, [6.0, 14.0], indexing="ij"), -1).reshape(-1, 3)
    sizes = np.broadcast_to([6.0, 7.0, 8.0], centres.shape)
    left, sampled = left_of([[surfaces[0]], [stope], [surfaces[1]]], centres, sizes)
    assert not sampled.any()
    for row, (centre, size) in enumerate(zip(centres, sizes, strict=True)):
        low, high = centre - size / 2, centre + size / 2
        steps = [[surfaces[0]], [surfaces[0]], surfaces]
        for step, below in enumerate(steps):
            exact = exact_common(below, low, high)
            if step > 0:
                exact -= exact_common([*below, stope], low, high)
            assert abs(Fraction(left[step, row]) - exact) <= 2 * UNIT


def test_a_year_of_surfaces_that_coincide_outside_the_pit_is_not_sampled() -> None:
    random = np.random.default_rng(5)
    ground = random.uniform(25, 35, (6, 6))
    surfaces = [[sheet(ground)]]
    for month in range(1, 13):
        lowered = ground.copy()
        lowered[2:4, 2:4] -= month
        surfaces.append([sheet(lowered)])
    centres, sizes = lattice(5)
    left, sampled = left_of(surfaces, centres, sizes)
    assert not sampled.any()
    for step, (surface,) in enumerate(surfaces):
        below = geodomain.proportions(surface, centres, sizes, kind="below")
        np.testing.assert_allclose(left[step], below, rtol=0, atol=1e-12)


def test_ground_that_is_filled_again_is_mined_once() -> None:
    centres, sizes = np.array([[5.0, 5.0, 5.0]]), np.array([[10.0, 10.0, 10.0]])
    left, _ = left_of([[plane(4.0)], [plane(8.0)], [plane(3.0)]], centres, sizes)
    np.testing.assert_array_equal(left[:, 0], np.rint(np.array([0.4, 0.4, 0.3]) * 2**40) / 2**40)


def test_shares_are_multiples_that_add_up_in_float64() -> None:
    random = np.random.default_rng(9)
    centres, sizes = lattice(4, 10.0)
    steps = [[sheet(random.uniform(5, 35, (5, 5)))] for _ in range(4)]
    left, _ = left_of(steps, centres, sizes)
    assert (left * 2**40 == np.rint(left * 2**40)).all()
    mined = -np.diff(left, axis=0, prepend=1.0)
    assert (mined >= 0).all()
    assert (mined.sum(axis=0) + left[-1] == 1.0).all()
    assert (mined[::-1].sum(axis=0) + left[-1] == 1.0).all()


def test_shares_do_not_depend_on_other_blocks_or_threads() -> None:
    random = np.random.default_rng(2)
    steps = [[sheet(random.uniform(5, 35, (5, 5)))], [box((3, 3, 3), (21, 22, 23))]]
    centres, sizes = lattice()
    left, _ = left_of(steps, centres, sizes)
    order = random.permutation(len(centres))
    again, _ = left_of(steps, centres[order], sizes[order])
    np.testing.assert_array_equal(left[:, order], again)
    each = [left_of(steps, centres[i : i + 1], sizes[i : i + 1])[0] for i in range(0, 64, 7)]
    np.testing.assert_array_equal(np.concatenate(each, axis=1), left[:, ::7])


def test_blocks_beyond_a_rim_are_not_mined_and_those_at_it_by_their_covered_part() -> None:
    surface = plane(5.0, 0.0, 15.0)
    centres, sizes = lattice(4, 10.0)
    left, sampled = left_of([[surface]], centres, sizes)
    assert not sampled.any()
    covered = np.clip(15 - (centres[:, :2] - 5), 0, 10).prod(axis=1) / 100
    above = np.clip(centres[:, 2] + 5 - 5, 0, 10) / 10
    np.testing.assert_allclose(left[0], 1 - covered * above, rtol=0, atol=1e-12)


@seeds(1, 20)
def test_rims_that_end_in_blocks_against_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    whole = sheet(random.uniform(14, 22, (5, 5)))
    ends = []
    for _ in range(2):  # surveys with oblique rims within the blocks
        mesh = sheet(random.uniform(5, 16, (4, 4)), 8.0)
        turn = random.uniform(0.1, 0.6)
        matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        plan = mesh.vertices[:, :2] @ matrix + random.uniform(6, 12, 2)
        ends.append(geodomain.Mesh(np.column_stack([plan, mesh.vertices[:, 2]]), mesh.triangles))
    axis = np.array([6.0, 14.0, 23.0, 32.0])
    centres = np.stack(np.meshgrid(axis, axis, [7.0, 15.0], indexing="ij"), -1).reshape(-1, 3)
    sizes = np.broadcast_to([8.0, 8.0, 8.0], centres.shape)
    left, sampled = left_of([[whole], [ends[0]], [ends[1]]], centres, sizes)
    assert not sampled.any()
    high = [geodomain.Mesh(each.vertices + np.array([0, 0, 99]), each.triangles) for each in ends]
    for row, (centre, size) in enumerate(zip(centres, sizes, strict=True)):
        low, top = centre - size / 2, centre + size / 2

        def common(*meshes, low=low, top=top) -> Fraction:
            return exact_common(meshes, low, top)

        first = common(whole) - common(whole, high[0]) + common(whole, ends[0])
        second = Fraction(0)
        for sign, one in ((1, []), (-1, [high[0]]), (1, [ends[0]])):
            for other_sign, other in ((1, []), (-1, [high[1]]), (1, [ends[1]])):
                second += sign * other_sign * common(whole, *one, *other)
        for step, exact in enumerate((common(whole), first, second)):
            assert abs(Fraction(left[step, row]) - exact) <= 4 * UNIT, (row, step)


def test_a_survey_that_lies_over_itself_at_its_rim_is_sampled() -> None:
    first, second = plane(5.0, 0.0, 15.0), plane(7.0, 12.0, 18.0)
    tiles = geodomain.Mesh(
        np.concatenate([first.vertices, second.vertices]),
        np.concatenate([first.triangles, second.triangles + 4]),
    )
    centres, sizes = lattice(2, 10.0)
    _, sampled = left_of([[tiles]], centres, sizes)
    assert sampled.tolist() == [False] * 6 + [True] * 2


def test_many_stopes_in_one_block_are_sampled() -> None:
    stopes = [box((i, 0, 0), (i + 2.5, 10, 10)) for i in range(8)]
    centres, sizes = lattice(1, 10.0)
    left, sampled = left_of([stopes], centres, sizes)
    assert sampled.all()
    np.testing.assert_allclose(left[0], 0.05, atol=0.01)
    parts = [box((i, 0, 0), (i + 1.0, 10, 10)) for i in range(5)]
    left, sampled = left_of([parts], centres, sizes)
    assert not sampled.any()
    np.testing.assert_allclose(left[0], 0.5, atol=1e-12)


def test_rotated_blocks_are_measured_in_their_own_frame() -> None:
    angle = np.radians(30)
    axes = np.array(
        [[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    local, sizes = lattice(3, 10.0)
    shares = MinedShares([excavation("a", [plane(13.0)])], axes, "model", SETTINGS)
    (left,), _ = shares.left(np.ascontiguousarray(local @ axes), sizes, [[0]])
    np.testing.assert_allclose(left[0], np.clip((13 - (local[:, 2] - 5)) / 10, 0, 1), atol=1e-12)


def test_a_damaged_solid_is_no_surface() -> None:
    with pytest.raises(MeshError, match="roofless is not closed, so it is not a solid"):
        excavation("2026-01", [roofless()])
    assert excavation("2026-01", [plane(3.0)]).surfaces
    assert excavation("2026-01", [box((0, 0, 0), (1, 1, 1))]).solids


# --- Benches.


def test_blocks_are_cut_at_benches() -> None:
    points = np.array([[5.0, 5.0, 12.5], [5.0, 5.0, 5.0], [0.0, 0.0, np.nan]])
    sizes = np.array([[10.0, 10.0, 25.0], [10.0, 10.0, 10.0], [10.0, 10.0, 10.0]])
    pieces = cut_at_benches(points, sizes, 10.0, 1)
    rows = pieces.block == 0
    assert pieces.bench[rows].tolist() == [0.0, 10.0, 20.0]
    assert pieces.sizes[rows, 2].tolist() == [10.0, 10.0, 5.0]
    assert pieces.points[rows, 2].tolist() == [5.0, 15.0, 22.5]
    assert pieces.fraction[rows].sum() == 1.0
    assert (pieces.fraction * 2**40 == np.rint(pieces.fraction * 2**40)).all()
    whole = pieces.block == 1
    assert pieces.fraction[whole].tolist() == [1.0]
    assert pieces.points[whole].tolist() == points[1:2].tolist()


def test_a_portion_and_the_rest_never_grow_whatever_rounding_did() -> None:
    random = np.random.default_rng(7)
    mined = random.integers(0, 3, (6, 4000)) / 2**40
    left = np.cumsum(mined, axis=0)[::-1]
    share = random.integers(0, 2, left.shape[1])
    target = left * share + random.integers(-2, 3, left.shape) / 2**40
    part = portion(left, target)
    for shares in (part, left - part):
        assert (shares >= 0).all()
        assert (np.diff(shares, axis=0) <= 0).all()
    assert np.abs(part - target).max() <= 12 / 2**40
    exact = portion(left, left * share)
    np.testing.assert_array_equal(exact, left * share)


# --- The whole command against fractions.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a model, surfaces, stopes and a design."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    write_model(Path("model.csv"), *lattice())
    ground = random.uniform(30, 39, (5, 5))
    geodomain.write_mesh(sheet(ground), "topography.ply")
    geodomain.write_mesh(sheet(ground - random.uniform(0, 8, (5, 5))), "january.ply")
    geodomain.write_mesh(sheet(ground - random.uniform(3, 15, (5, 5))), "february.ply")
    geodomain.write_mesh(box((12, 8, 3), (27, 22, 19)), "stope.ply")
    geodomain.write_mesh(box((10, 5, 5), (25, 25, 30)), "design.ply")
    return tmp_path


MINED = {"2026-02": ["february.ply", "stope.ply"], "2026-01": "january.ply"}
GROUND = {"initial": "topography.ply", "density": "SG", "grade": "AU"}


def _terms(frame):
    """Return volume, tonnes and metal of each block as fractions, from the cells of the table."""
    for row in frame.itertuples():
        volume = Fraction(row.DX) * Fraction(row.DY) * Fraction(row.DZ)
        known, graded = not math.isnan(row.SG), not math.isnan(row.SG + row.AU)
        tonnes = volume * Fraction(row.SG) if known else Fraction(0)
        yield volume, tonnes, tonnes * Fraction(row.AU) if graded else Fraction(0)


def _expected(all_terms, shares, mask):
    """Return the sums of the terms times shares over the blocks in a mask."""
    total = [Fraction(0)] * 3
    for terms, share, there in zip(all_terms, shares, mask, strict=True):
        if there and share:
            total = [a + b * Fraction(share) for a, b in zip(total, terms, strict=True)]
    return total


def _exact(row):
    return [row.exact["volume"], row.exact["tonnes"], row.exact["metal_AU"]]


def _shares(frame, part: str, period: str):
    if part == "mined" and period:
        return frame[share_column(period)]
    columns = {"in situ": "in_situ", "remaining": "remaining"}
    columns |= {"overbreak": "overbreak", "underbreak": "underbreak"}
    if part == "mined":
        return frame.mined_2026_01 + frame.mined_2026_02
    if part == "design":
        return frame.mined_2026_01 + frame.mined_2026_02 - frame.overbreak + frame.underbreak
    return None if period else frame[columns[part]]


def test_sums_are_those_of_the_columns_in_fractions(folder: Path) -> None:
    result = geodomain.deplete(
        "model.csv", MINED, "out.csv", design="design.ply", classification="CLASS",
        cutoff={"AU": [1, 3]}, **GROUND,
    )  # fmt: skip
    frame = pandas.read_csv("out.csv")
    assert result.periods == ("2026-01", "2026-02")
    assert list(frame.columns[-6:]) == [
        "in_situ", "mined_2026_01", "mined_2026_02", "remaining", "overbreak", "underbreak",
    ]  # fmt: skip
    assert (frame.mined_2026_01 + frame.mined_2026_02 + frame.remaining == frame.in_situ).all()
    checked, terms = 0, [*_terms(frame)]
    for row in (*result.rows, *result.domains, *result.totals):
        shares, amounts = _shares(frame, row.part, row.period), row.amounts
        if shares is None:
            continue
        mask = np.ones(len(frame), bool)
        if row not in result.totals:
            mask &= frame.domain == amounts.domain
        if row in result.rows:
            mask &= amounts.classification == frame.CLASS
        if amounts.cutoff is not None:
            mask &= amounts.cutoff <= frame.AU
        expected = _expected(terms, shares, mask)
        assert _exact(row) == expected
        assert amounts.volume == float(expected[0])
        assert amounts.tonnes == float(expected[1])
        assert amounts.grades[0].metal == float(expected[2])
        assert amounts.blocks == int((mask & (shares > 0)).sum())
        checked += 1
    assert checked > 60


def test_parts_add_up_exactly_with_benches_that_cut_blocks(folder: Path) -> None:
    result = geodomain.deplete(
        "model.csv", MINED, "out.csv", bench=4.0, design="design.ply", **GROUND
    )
    groups: dict[tuple[object, ...], dict[tuple[str, str], list[Fraction]]] = {}
    for row in result.rows:
        key = row.amounts.domain, row.amounts.bench
        groups.setdefault(key, {})[row.part, row.period] = _exact(row)
    for parts in groups.values():
        for k in range(3):
            at = {name: sums[k] for name, sums in parts.items()}
            months = [at["mined", month] for month in result.periods]
            over = [at["overbreak", month] for month in result.periods]
            assert sum(months) == at["mined", ""]
            assert sum(over) == at["overbreak", ""]
            assert at["mined", ""] + at["remaining", ""] == at["in situ", ""]
            assert at["mined", ""] - at["overbreak", ""] == at["design", ""] - at["underbreak", ""]
    for name in ("rows", "domains"):
        total = sum(_exact(r)[1] for r in getattr(result, name) if r.part == "remaining")
        assert total == result.of("remaining").exact["tonnes"]
    whole = geodomain.deplete("model.csv", MINED, design="design.ply", **GROUND)
    for part in ("in situ", "mined", "remaining", "design", "overbreak", "underbreak"):
        one, other = result.of(part).amounts, whole.of(part).amounts
        assert one.volume == pytest.approx(other.volume, rel=1e-11)
        assert one.blocks == other.blocks


def test_benches_measure_the_ground_between_them(folder: Path) -> None:
    geodomain.write_mesh(plane(17.0), "level.ply")
    result = geodomain.deplete(
        "model.csv", {"a": "level.ply"}, density=2.0, bench=4.0, column="CLASS"
    )
    mined = {}
    for row in result.rows:
        if row.part == "mined" and not row.period:
            bench = row.amounts.bench
            mined[bench] = mined.get(bench, 0) + row.exact["volume"]
    assert mined[12.0] == 0
    assert float(mined[16.0]) == pytest.approx(3 * 1600, rel=1e-11)
    assert float(mined[20.0]) == pytest.approx(4 * 1600, rel=1e-11)


def test_tonnes_agree_with_the_command_tonnes_and_with_pandas(folder: Path) -> None:
    result = geodomain.deplete("model.csv", MINED, "out.csv", **GROUND)
    shares = {"mined": "mined_2026_01", "left": "remaining"}
    tonnes = geodomain.tonnes_file("out.csv", density="SG", grade="AU", proportion=shares)
    by_name = {row.domain: row for row in tonnes.domains}
    assert by_name["left"].tonnes == pytest.approx(result.of("remaining").amounts.tonnes, rel=1e-14)
    january = result.of("mined", "2026-01").amounts
    assert by_name["mined"].grades[0].mean == pytest.approx(january.grades[0].mean, rel=1e-14)
    frame = pandas.read_csv("out.csv")
    mass = frame.DX * frame.DY * frame.DZ * frame.SG * frame.mined_2026_02
    for domain, tonnes_of_domain in mass.groupby(frame.domain).sum().items():
        row = result.of("mined", "2026-02", domain=domain)
        assert row.amounts.tonnes == pytest.approx(tonnes_of_domain, rel=1e-13)


def test_parts_of_the_design_are_those_of_boxes(tmp_path: Path) -> None:
    write_model(tmp_path / "m.csv", *lattice())
    mined, design = box((2, 2, 2), (22, 22, 22)), box((12, 2, 2), (32, 22, 22))
    result = geodomain.deplete(
        tmp_path / "m.csv", {"1": mined, "2": plane(30.0)}, design=design, density=1.0
    )
    volumes = {(r.part, r.period): r.amounts.volume for r in result.totals}
    expected = {
        ("mined", "1"): 8000, ("mined", "2"): 16000, ("design", ""): 8000,
        ("overbreak", "1"): 4000, ("overbreak", "2"): 16000, ("underbreak", ""): 4000,
    }  # fmt: skip
    assert {key: round(volumes[key], 6) for key in expected} == expected


def test_a_design_surface_has_everything_above_it(tmp_path: Path) -> None:
    write_model(tmp_path / "m.csv", *lattice())
    result = geodomain.deplete(
        tmp_path / "m.csv", {"1": plane(26.0)}, design=plane(24.0), initial=plane(38.0), density=1.0
    )
    volumes = {(r.part, r.period): round(r.amounts.volume, 6) for r in result.totals}
    assert volumes["in situ", ""] == 1600 * 38
    assert volumes["design", ""] == 1600 * 14
    assert volumes["mined", ""] == 1600 * 12
    assert volumes["overbreak", ""] == 0
    assert volumes["underbreak", ""] == 1600 * 2


@pytest.mark.filterwarnings("ignore:[012] mines nothing")
@seeds(1, 40)
def test_every_part_of_random_ground_against_fractions(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    periods, (design, first, second) = random_regions(random, 3), random_regions(random, 3)
    initial, domains = [37.0], [*first, *second]
    domains = [region for region in domains if not isinstance(region, float)][:2]
    domains.append(((5.0, 5.0, 5.0), (33.0, 26.0, 36.0)))
    centres, sizes = lattice()
    write_model(tmp_path / "m.csv", centres, sizes)
    result = geodomain.deplete(
        tmp_path / "m.csv",
        {str(number): [mesh_of(r) for r in step] for number, step in enumerate(periods)},
        tmp_path / "o.csv",
        initial=[mesh_of(r) for r in initial], design=[mesh_of(r) for r in design], density=1.0,
        domains={f"d{number}": mesh_of(r) for number, r in enumerate(domains)}, bench=6.0,
        background="d_rest",
    )  # fmt: skip
    expected = {}
    for centre, size in zip(centres, sizes, strict=True):
        corners = centre - size / 2, centre + size / 2
        for key, volume in exact_parts(initial, periods, design, domains, *corners).items():
            expected[key] = expected.get(key, 0) + volume
    names = [f"d{number}" for number in range(len(domains))] + ["d_rest"]
    bound = 64 * 1000 * 20 * UNIT  # blocks, their volumes, pieces and parts
    for row in result.domains:
        if row.part in ("mined", "overbreak") and not row.period:
            continue
        period = int(row.period) if row.period else -1
        volume = expected.get((names.index(row.amounts.domain), row.part, period), 0)
        assert abs(row.exact["volume"] - volume) <= bound, (row.part, row.amounts.domain)
    assert [row.amounts.domain for row in result.domains if row.part == "in situ"] == [
        name for name in names if any(row.amounts.domain == name for row in result.rows)
    ]
    total = sum(row.exact["volume"] for row in result.domains if row.part == "remaining")
    assert total == result.of("remaining").exact["volume"]


def test_domains_by_wireframe_split_blocks(folder: Path) -> None:
    geodomain.write_mesh(box((0, 0, 0), (25, 25, 25)), "ore.ply")
    words = ("deplete", "model.csv", "--mined", "2026-01=stope.ply", "--density", "2", "--json")
    printed = json.loads(run_command(*words, "--solid", "ORE=ore.ply").stdout)
    volumes = {(r["domain"], r["part"]): r["volume"] for r in printed["domains"] if not r["period"]}
    assert volumes["ORE", "mined"] == pytest.approx(13 * 14 * 16)
    assert volumes["rest", "mined"] == pytest.approx(2 * 14 * 16)
    assert volumes["ORE", "in situ"] == pytest.approx(25**3)
    assert [row["domain"] for row in printed["domains"][::4]] == ["ORE", "rest"]
    both = ("--solid", "ORE=ore.ply", "--column", "domain")
    assert "both name domains" in run_command(*words, *both, code=2).output
    alone = run_command(*words, "--background", "waste", code=2)
    assert "--background needs --solid" in alone.output
    geodomain.write_mesh(roofless(), "open.ply")
    assert "not closed" in run_command(*words, "--solid", "ORE=open.ply", code=3).output


# --- Dates.


def test_periods_are_in_order_of_their_ends() -> None:
    assert periods_until(["2026-03", "2025", "2026-01-15", "2026-01"], None) == [
        "2025", "2026-01-15", "2026-01", "2026-03",
    ]  # fmt: skip
    assert periods_until(["2026-03", "2026-02"], "2026-03-30") == ["2026-02"]
    assert periods_until(["2026-03", "2026-02"], "2026") == ["2026-02", "2026-03"]
    assert periods_until(["b", "a", "c"], "a") == ["b", "a"]
    assert str(end_of("2024-02")) == "2024-02-29"
    assert share_column("2026-01") == "mined_2026_01"
    assert share_column("Stage 2 (north)") == "mined_stage_2_north"
    assert share_column("Étape 1") == "mined_étape_1"


@pytest.mark.parametrize(
    ("names", "at", "message"),
    [
        ([], None, "nothing is mined"),
        (["2026-01", "stage"], None, "'2026-01' is a date and 'stage' is not"),
        (["2026-13"], None, "'2026-13' is not a date"),
        (["2026-02-30"], None, "is not a date"),
        (["2026", "2026-12"], None, "periods 2026 and 2026-12 end on the same day"),
        (["2026-01-31", "2026-01"], None, "end on the same day"),
        (["2026-01"], "2026-1", "'2026-1' looks like a date"),
        (["2026-01"], "31/01/2026", "looks like a date"),
        (["2026-01"], "2025", "before the end of the first period"),
        (["2026-01"], "soon", "must be a date"),
        (["a", "b"], "c", "must be the name of a period: a, b"),
        (["a", ".."], None, "called '..'; give it a name"),
        ([2026], None, "called 2026; give it a name"),
        (["a\nb"], None, "a name of one line"),
    ],
)
def test_names_and_dates_that_contradict(names, at, message) -> None:
    with pytest.raises(ValueError, match=message):
        periods_until(names, at)


@pytest.mark.parametrize(
    "name",
    [
        "2026-1", "2026_01", "2026/01", "202601", "20260131", "01-2026", "31.01.2026", "Jan-2026",
        "2026 January", "Jan-26", "26 jan", "2026-Q1", "2026-H2", "2026-W05",
    ],
)  # fmt: skip
def test_a_date_in_another_form_is_refused(name: str) -> None:
    # In the order of the options, February before January would mine all of both.
    with pytest.raises(ValueError, match="looks like a date, but has another form"):
        periods_until([name], None)


@pytest.mark.parametrize(
    "name", ["stage 1", "12", "2", "12005", "200150", "stope 2001", "2001 north", "March", "marble"]
)
def test_names_that_are_no_dates_keep_their_order(name: str) -> None:
    assert periods_until([name, "a"], None) == [name, "a"]


def test_depleted_until_a_date(folder: Path) -> None:
    result = geodomain.deplete("model.csv", MINED, "out.csv", at="2026-01-31", **GROUND)
    whole = geodomain.deplete("model.csv", MINED, **GROUND)
    assert result.columns == ("in_situ", "mined_2026_01", "remaining")
    assert _exact(result.of("mined")) == _exact(whole.of("mined", "2026-01"))
    assert "mined_2026_02" not in Path("out.csv").read_text()


# --- Formats, results and the command.


def test_other_columns_and_bytes_stay(folder: Path) -> None:
    before = Path("model.csv").read_bytes()
    geodomain.deplete("model.csv", MINED, "out.csv", **GROUND)
    assert Path("model.csv").read_bytes() == before
    lines = Path("out.csv").read_text().splitlines()
    assert [line.rsplit(",", 4)[0] for line in lines] == before.decode().splitlines()


def test_parquet_gives_the_same(folder: Path) -> None:
    frame = pandas.read_csv("model.csv")
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), "m.parquet", row_group_size=7)
    one = geodomain.deplete("m.parquet", MINED, "out.parquet", bench=7, **GROUND)
    two = geodomain.deplete("model.csv", MINED, "out.csv", bench=7, threads=1, **GROUND)
    assert one.rows == two.rows
    pandas.testing.assert_frame_equal(
        pandas.read_parquet("out.parquet"), pandas.read_csv("out.csv")
    )


@pytest.mark.filterwarnings("ignore:joined has a pair of overlapping shells")
def test_sampled_blocks_have_an_estimated_error(tmp_path: Path) -> None:
    write_model(tmp_path / "m.csv", *lattice())
    crossed = joined(box((2, 3, 4), (22, 23, 24)), box((12, 13, 14), (32, 33, 34)))
    with pytest.warns(GeodomainWarning, match="blocks sampled along 16 x 16 vertical lines"):
        result = geodomain.deplete(tmp_path / "m.csv", {"a": crossed}, density=1.0)
    assert 0 < result.sampled < 40
    mined = result.of("mined").amounts.volume
    assert abs(mined - 2 * (20**3 - 10**3)) <= 3 * result.estimated_error
    assert 0 < result.estimated_error < 1000


def test_a_model_without_domains_is_added_up_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("X,Y,Z,DX,DY,DZ\n2,2,2,4,4,4\n")
    result = geodomain.deplete(tmp_path / "m.csv", {"2026-01": plane(3.0)}, density=2.5)
    assert str(result).splitlines()[:3] == [
        "domain  part           blocks  volume  tonnes",
        "total   in situ             1      64     160",
        "total   mined 2026-01       1      16      40",
    ]
    assert "without initial=, all ground above the surface of 2026-01" in str(result)


def test_blocks_without_a_place_have_no_shares(tmp_path: Path) -> None:
    text = "X,Y,Z,DX,DY,DZ,domain\n2,2,2,4,4,4,A\n,2,2,4,4,4,A\n2,2,2,,4,4,B\n"
    (tmp_path / "m.csv").write_text(text)
    with pytest.warns(GeodomainWarning, match="1 block has no volume"):
        result = geodomain.deplete(
            tmp_path / "m.csv", {"2026-01": plane(3.0)}, tmp_path / "o.csv", density=1.0
        )
    rows = (tmp_path / "o.csv").read_text().split()
    assert rows[1:] == ["2,2,2,4,4,4,A,0.25,0.75", ",2,2,4,4,4,A,,", "2,2,2,,4,4,B,,"]
    assert result.of("in situ").amounts.volume == 64


def test_the_cut_between_surveys_is_what_is_mined(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    centres, sizes = lattice()
    write_model(tmp_path / "m.csv", centres, sizes)
    ground = random.uniform(30, 38, (5, 5))
    january = ground - random.uniform(0, 10, (5, 5))
    february = january - random.uniform(0, 10, (5, 5))
    result = geodomain.deplete(
        tmp_path / "m.csv",
        {"2026-01": sheet(january, name="january"), "2026-02": sheet(february, name="february")},
        initial=sheet(ground, name="ground"),
        density=1.0,
    )
    assert [(each.before, each.after) for each in result.surfaces] == [
        ("ground", "january"),
        ("january", "february"),
    ]
    for period, surface in zip(result.periods, result.surfaces, strict=True):
        assert surface.fill == pytest.approx(0, abs=1e-8)
        assert surface.area == pytest.approx(1600)
        mined = result.of("mined", period).amounts.volume
        assert surface.cut == pytest.approx(mined, rel=1e-10)


def test_each_solid_of_a_file_is_mined_and_a_model_may_come_from_stdin(folder: Path) -> None:
    # As one mesh, the part that both stopes share would be outside by parity.
    stopes = {"A": box((2, 2, 2), (12, 12, 12)), "B": box((7, 2, 2), (17, 12, 12))}
    geodomain.write_mesh(stopes, "stopes.ts")
    words = (
        "deplete",
        "-",
        "--mined",
        "2026=stopes.ts",
        "--density",
        "1",
        "-o",
        "out.csv",
        "--json",
    )
    result = run_command(*words, stdin=Path("model.csv").read_bytes())
    rows = json.loads(result.stdout)["totals"]
    assert [row["volume"] for row in rows if row["part"] == "mined"] == [1500.0, 1500.0]
    assert Path("out.csv").read_text().startswith("X,Y,Z,DX,DY,DZ,domain,SG,AU,CLASS,mined_2026,")


@pytest.mark.filterwarnings("ignore:62 blocks have a density in SG that no rock has")
def test_json_has_exact_fractions(folder: Path) -> None:
    words = ("deplete", "model.csv", "--mined", "2026-01=january.ply", "--density", "SG")
    words += ("--initial", "topography.ply", "--grade", "AU", "--grade-unit", "gpt", "--json")
    printed = json.loads(run_command(*words).stdout)
    (row,) = [r for r in printed["totals"] if r["part"] == "remaining"]
    exact = Fraction(row["exact"]["tonnes"])
    assert row["tonnes"] == float(exact)
    assert row["grades"][0]["unit"] == "g"
    units = geodomain.deplete("model.csv", {"2026-01": "january.ply"}, initial="topography.ply",
                              density="SG", density_unit="lb/ft3")  # fmt: skip
    factor = Fraction(45_359_237, 100_000_000_000)
    assert units.of("remaining").exact["tonnes"] == exact * factor


def test_the_command_writes_model_and_table(folder: Path) -> None:
    words = (
        "deplete",
        "model.csv",
        "--initial",
        "topography.ply",
        "--density",
        "SG",
        "--grade",
        "AU",
    )
    words += ("--mined", "2026-02=february.ply", "--mined", "2026-01=january.ply")
    words += ("--mined", "2026-02=stope.ply")
    result = run_command(*words, "-o", "out.csv", "--tonnes-table", "t.csv", "--bench", "10")
    assert "mined + remaining = in situ in every row, exactly" in result.stdout
    table = pandas.read_csv("t.csv")
    expected = geodomain.deplete("model.csv", MINED, bench=10, **GROUND)
    assert table.tonnes.tolist() == [row.amounts.tonnes for row in expected.rows]
    assert list(table.columns) == [
        "domain", "bench", "cutoff", "part", "period", "blocks", "volume", "tonnes", "mean_AU",
        "metal_AU",
    ]  # fmt: skip
    frame = expected.to_pandas()
    assert frame.tonnes.tolist() == table.tonnes.tolist()
    assert repr(expected).startswith("<Depletion of 64 blocks: in situ ")
    assert "<table" in expected._repr_html_()
    piped = run_command(*words, "-o", "-")
    assert piped.stdout.splitlines()[1:] == Path("out.csv").read_text().splitlines()[1:]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--mined", "january.ply"), 2, "names no period"),
        (("--mined", "2026-01=none.ply"), 4, "none.ply"),
        (("--mined", "2026-01=january.ply", "--at", "2025"), 2, "--at is 2025"),
        (("--mined", "2026-01=january.ply", "-o", "model.csv"), 3, "is the input"),
        (("--mined", "2026-01=january.ply", "-o", "january.ply"), 3, "january.ply"),
        (("--mined", "2026-01=january.ply", "-o", "stope.csv"), 4, "exists"),
        (("--mined", "2026-01=january.ply", "--tonnes-table", "t.pdf"), 3, "t.pdf"),
        (("--mined", "2026-01=far.ply"), 3, "nothing of model.csv is mined"),
        (("--mined", "2026-01=open.ply"), 3, "not closed, so it is not a solid"),
        (("--mined", "a=january.ply", "--mined", "A=far.ply"), 2, "have the same column"),
        (("--mined", "a=january.ply", "--mined", "2026-01=far.ply"), 2, "their order is unknown"),
        (("--mined", "2026-01=january.ply", "--column", "ROCK"), 3, "ROCK"),
        (("--mined", "2026-01=january.ply", "--grade", "CU"), 3, "CU"),
        (("--mined", "2026-01=january.ply", "-o", "-", "--tonnes-table", "-"), 2, "stdout"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_file(
    folder: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    geodomain.write_mesh(box((900, 900, 900), (910, 910, 910)), "far.ply")
    geodomain.write_mesh(roofless(), "open.ply")
    Path("stope.csv").write_text("mine")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    if "-o" not in words:
        words += ("-o", "out.csv")
    result = run_command("deplete", "model.csv", "--density", "SG", *words, code=code)
    assert message in result.output
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_depleted_model_is_not_depleted_again(folder: Path) -> None:
    geodomain.deplete("model.csv", MINED, "out.csv", **GROUND)
    with pytest.raises(TableError, match=r"out\.csv already has a column 'in_situ': deplete the"):
        geodomain.deplete("out.csv", MINED, "again.csv", **GROUND)
    geodomain.deplete("out.csv", MINED, **GROUND)


def test_meshes_without_names_are_refused(folder: Path) -> None:
    with pytest.raises(TypeError, match="mined= is of type list; give a mapping"):
        geodomain.deplete("model.csv", ["january.ply"], density=2.0)


def test_meshes_may_be_arrays(folder: Path) -> None:
    surface = plane(20.0)
    arrays = (surface.vertices, surface.triangles)
    result = geodomain.deplete("model.csv", {"a": arrays, "b": [plane(15.0), arrays]}, density=1.0)
    assert result.of("mined", "a").amounts.volume == 1600 * 20
    assert result.of("mined", "b").amounts.volume == 1600 * 5


def test_an_empty_model_has_nothing_to_mine(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("X,Y,Z,DX,DY,DZ\n")
    with pytest.warns(GeodomainWarning, match="the model has no blocks"):
        result = geodomain.deplete(tmp_path / "m.csv", {"1": plane(3.0)}, density=1.0, bench=5)
    assert result.of("in situ").exact["volume"] == 0


def test_a_model_without_sizes_is_refused(folder: Path) -> None:
    Path("points.csv").write_text("X,Y,Z\n1,2,3\n")
    with pytest.raises(TableError, match="no block sizes"):
        geodomain.deplete("points.csv", MINED, "out.csv", density=2.0)
    assert not Path("out.csv").exists()


def test_a_period_that_mines_nothing_is_a_warning(folder: Path) -> None:
    with pytest.warns(GeodomainWarning, match="2026-02 mines nothing"):
        result = geodomain.deplete(
            "model.csv", {"2026-01": "january.ply", "2026-02": "january.ply"}, **GROUND
        )
    assert isinstance(result, Depletion)
    assert result.of("mined", "2026-02").exact["volume"] == 0


# --- Products without rounding.


def test_products_are_exact() -> None:
    random = np.random.default_rng(4)
    factors = random.uniform(-5, 5, (6, 50)) * 2.0 ** random.integers(-60, 60, (6, 50))
    factors[2, :5] = 0
    terms = [factors[0]]
    for factor in factors[1:]:
        terms = exact_products(terms, factor)
    for row in range(50):
        expected = Fraction(1)
        for factor in factors[:, row]:
            expected *= Fraction(factor)
        assert sum(Fraction(term[row]) for term in terms) == expected
    groups = np.zeros(50, np.intp)
    total = sum(exact_sums(term, groups, 1)[0] for term in terms)
    assert Fraction(total, 2**1126) == sum(
        math.prod(map(Fraction, factors[:, row])) for row in range(50)
    )


def test_which_factors_have_exact_products() -> None:
    values = np.array([0.0, 2.7, -1e30, 1e-30, 1e31, -1e-31, np.nan])
    assert fits_exactly(values).tolist() == [True, True, True, True, False, False, True]


def test_a_value_beyond_exact_products_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("X,Y,Z,DX,DY,DZ,AU\n2,2,2,4,4,4,1\n2,2,6,4,4,4,1e-40\n")
    with pytest.raises(TableError, match="AU is 1e-40 in block 2: exact sums need numbers"):
        geodomain.deplete(tmp_path / "m.csv", {"2026": plane(3.0)}, density=1.0, grade="AU")
