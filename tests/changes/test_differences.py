"""Differences of two block models, against sums of hybrid models in rational arithmetic."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from late import pandas as pd
from wireframes import box

import geodomain
from geodomain import Domain, Domains, GeodomainWarning, diff
from geodomain.cli import main
from geodomain.errors import TableError

STEPS = ("extent", "wireframes", "order", "lattice", "labels", "density", "grade")
Totals = dict[tuple[str, int], list[Fraction]]
Box = tuple[tuple[float, ...], tuple[float, ...]]


def exact(value: float) -> Fraction:
    return Fraction(Decimal(repr(float(value))))


# --- The oracle: hybrids of two models, block by block.


class Oracle:
    """Sums of hybrids by their definition.

    `lists` are the domains of both models: pairs of a name and a box, in the order of priority.
    """

    def __init__(
        self,
        models: Sequence[pd.DataFrame],
        lists: Sequence[Sequence[tuple[str, Box]]] | None,
        cutoffs: Sequence[float] = (),
    ) -> None:
        self.models, self.lists, self.cutoffs = models, lists, cutoffs
        self.boxes = [[self.faces(row) for row in model.itertuples()] for model in models]
        self.rows = [list(model.itertuples()) for model in models]
        self.cells = [
            (i, j, volume)
            for i, first in enumerate(self.boxes[0])
            for j, second in enumerate(self.boxes[1])
            if (volume := self.common(first, second)) > 0
        ]

    @staticmethod
    def faces(row) -> list[tuple[Fraction, Fraction]]:
        pairs = ((row.X, row.DX), (row.Y, row.DY), (row.Z, row.DZ))
        return [(exact(c) - exact(s) / 2, exact(c) + exact(s) / 2) for c, s in pairs]

    @staticmethod
    def common(first, second) -> Fraction:
        lengths = [min(a[1], b[1]) - max(a[0], b[0]) for a, b in zip(first, second, strict=True)]
        return math.prod(lengths, start=Fraction(1)) if min(lengths) > 0 else Fraction(0)

    def label(self, row, wireframes: int, order: int) -> str:
        if self.lists is None:
            return row.domain
        own, guide = self.lists[wireframes], [name for name, _ in self.lists[order]]

        def rank(place: int) -> tuple[float, int]:
            for back in range(place, -1, -1):
                if own[back][0] in guide:
                    return guide.index(own[back][0]), place - back
            return -1, place

        for place in sorted(range(len(own)), key=rank):
            name, (low, high) = own[place]
            if all(a < c < b for a, c, b in zip(low, (row.X, row.Y, row.Z), high, strict=True)):
                return name
        return "WASTE"

    def add(
        self, totals: Totals, label: str, volume: Fraction, density: float, grade: float
    ) -> None:
        tonnes = Fraction(0) if math.isnan(density) else volume * Fraction(density)
        terms = [volume, tonnes]
        terms += [Fraction(0)] * 2 if math.isnan(grade) else [tonnes, tonnes * Fraction(grade)]
        for step, cutoff in enumerate([None, *self.cutoffs]):
            if cutoff is None or grade >= cutoff:
                for name in (label, "total"):
                    sums = totals.setdefault((name, step), [Fraction(0)] * 4)
                    totals[name, step] = [a + b for a, b in zip(sums, terms, strict=True)]

    def state(self, new: frozenset[str]) -> Totals:
        """Return the sums of the hybrid in which these properties are new."""
        is_new = {name: int(name in new) for name in STEPS}
        totals: Totals = {}
        for i, j, volume in self.cells:
            sides = self.rows[0][i], self.rows[1][j]
            row = sides[is_new["lattice"]]
            label = self.label(row, is_new["wireframes"], is_new["order"])
            density, grade = sides[is_new["density"]].SG, sides[is_new["grade"]].AU
            self.add(totals, label, volume, density, grade)
        edits = is_new["labels"]
        has_file = [self.lists is not None and "domain" in model for model in self.models]
        for i, j, volume in self.cells if has_file[edits] else ():
            # The labels in the file replace those of the model's own domains.
            sides = self.rows[0][i], self.rows[1][j]
            values = sides[is_new["density"]].SG, sides[is_new["grade"]].AU
            self.add(totals, sides[edits].domain, volume, *values)
            self.add(totals, self.label(sides[edits], edits, edits), -volume, *values)
        side = is_new["extent"]
        for row, faces in zip(self.rows[side], self.boxes[side], strict=True):
            covered = [self.common(faces, each) for each in self.boxes[1 - side]]
            volume = math.prod((b - a for a, b in faces), start=Fraction(1)) - sum(covered)
            of_file = side == edits and has_file[side]
            label = row.domain if of_file else self.label(row, side, side)
            self.add(totals, label, volume, row.SG, row.AU)
        return totals


def mean(sums: Sequence[Fraction]) -> Fraction | None:
    return sums[3] / sums[2] if sums[2] else None


def change(before: Sequence[Fraction], after: Sequence[Fraction]) -> list[Fraction | None]:
    means = mean(before), mean(after)
    both = None if None in means else means[1] - means[0]  # type: ignore[operator]
    return [*(b - a for a, b in zip(before, after, strict=True)), both]


def check(
    result: geodomain.ModelDifference,
    oracle: Oracle,
    groups: Sequence[set[str]],
    *,
    averaged: bool = False,
) -> None:
    """Compare the changes of a result with those of the oracle, as fractions."""
    orders = list(itertools.permutations(groups)) if averaged else [tuple(groups)]
    states: dict[frozenset[str], Totals] = {}

    def sums(new: frozenset[str], key: tuple[str, int]) -> list[Fraction]:
        if new not in states:
            states[new] = oracle.state(new)
        return states[new].get(key, [Fraction(0)] * 4)

    names = [step.name for step in result.steps]
    assert len(names) == len(groups)
    for rows in (result.rows, result.totals):
        for row in rows:
            if row.step not in names:
                continue
            label = row.domain if rows is result.rows else "total"
            step = 0 if row.cutoff is None else 1 + list(oracle.cutoffs).index(row.cutoff)
            group = groups[names.index(row.step)]
            changes = []
            for order in orders:
                before = frozenset().union(*order[: order.index(group)])
                after = before | group
                changes.append(change(sums(before, (label, step)), sums(after, (label, step))))
            wanted = [
                None if None in column else sum(column, Fraction(0)) / len(orders)
                for column in zip(*changes, strict=True)
            ]
            own = row.exact
            assert [own.volume, own.tonnes, *own.graded, *own.metal, *own.means] == wanted
            assert row.volume == float(own.volume)
            assert row.tonnes == float(own.tonnes)


def add_up(result: geodomain.ModelDifference) -> None:
    """Check that the steps of each domain and cut-off add up to the difference exactly."""
    for rows in (result.rows, result.totals):
        for _, group in itertools.groupby(rows, key=lambda row: (row.domain, row.cutoff)):
            by_step = {row.step: row.exact for row in group}
            for amount in ("volume", "tonnes", "metal", "means"):
                values = {name: getattr(each, amount) for name, each in by_step.items()}
                single = isinstance(values["old"], Fraction)
                old, new, whole = (
                    [values[name]] if single else values[name]
                    for name in ("old", "new", "difference")
                )
                steps = [
                    [value] if single else value
                    for name, value in values.items()
                    if name not in ("old", "new", "difference")
                ]
                for place in range(len(old)):
                    parts = [step[place] for step in steps]
                    if None in (*parts, old[place], new[place]):
                        continue
                    assert sum(parts) == whole[place] == new[place] - old[place]


# --- Random models.

LISTS: tuple[list[tuple[str, Box]], list[tuple[str, Box]]] = (
    [
        ("DYKE", ((3.3, -1.0, -1.0), (5.7, 11.0, 11.0))),
        ("ORE", ((-1.0, -1.0, 1.3), (9.1, 7.3, 6.1))),
        ("OLD ONLY", ((-1.0, 5.1, -1.0), (11.0, 11.0, 4.3))),
    ],
    [
        ("NEW ONLY", ((7.9, 7.9, -1.0), (13.0, 13.0, 13.0))),
        ("ORE", ((-1.0, -1.0, 2.1), (8.7, 8.3, 6.7))),
        ("DYKE", ((3.3, -1.0, -1.0), (6.1, 11.0, 11.0))),
    ],
)


def domains_of(number: int) -> Domains:
    units = [Domain(name, box(low, high, name=name)) for name, (low, high) in LISTS[number]]
    return Domains(units, background="WASTE")


def random_model(rng: np.random.Generator, size: float, origin: float) -> pd.DataFrame:
    """Make a lattice of blocks, some of which are split in two, with gaps in the values."""
    rows = []
    for x, y, z in itertools.product(range(3), repeat=3):
        if rng.random() < 0.15:
            continue
        centre = [round(origin + (place + 0.5) * size, 3) for place in (x, y, z)]
        if rng.random() < 0.3:
            rows += [
                [centre[0], centre[1], round(centre[2] + sign * size / 4, 4), size, size, size / 2]
                for sign in (-1, 1)
            ]
        else:
            rows.append([*centre, size, size, size])
    frame = pd.DataFrame(rows, columns=["X", "Y", "Z", "DX", "DY", "DZ"])
    frame["SG"] = np.round(rng.uniform(2, 3, len(frame)), 2)
    frame["AU"] = np.round(rng.exponential(1.0, len(frame)), 3)
    frame.loc[rng.random(len(frame)) < 0.1, "SG"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1, "AU"] = np.nan
    return frame


def pair(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    return random_model(rng, 3.0, 0.0), random_model(rng, 2.5, 1.1)


def labelled(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed + 1)
    models = pair(seed)
    for model in models:
        model["domain"] = rng.choice(["ORE", "DYKE", "WASTE"], len(model))
    return models


pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_steps_by_domains_equal_rational_arithmetic(seed: int) -> None:
    models = pair(seed)
    lists = domains_of(0), domains_of(1)
    result = diff(*models, domains=lists, density="SG", grade="AU", cutoff="0.5,1")
    groups = [{name} for name in STEPS if name != "labels"]
    check(result, Oracle(models, LISTS, (0.5, 1.0)), groups)
    add_up(result)


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_labels_in_the_files_are_a_step_of_their_own(seed: int) -> None:
    models = labelled(seed)
    lists = domains_of(0), domains_of(1)
    result = diff(*models, domains=lists, density="SG", grade="AU")
    check(result, Oracle(models, LISTS), [{name} for name in STEPS])
    add_up(result)


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_without_domains_the_steps_of_labels_are_merged(seed: int) -> None:
    models = labelled(seed)
    result = diff(*models, density="SG", grade="AU", cutoff=1)
    merged = {"wireframes", "order", "lattice"}
    check(result, Oracle(models, None, (1.0,)), [{"extent"}, merged, {"density"}, {"grade"}])
    assert [step.name for step in result.steps][1] == "wireframes, order, lattice"
    assert "wireframes, order, lattice: one step, because no domains are given" in str(result)
    add_up(result)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_the_steps(seed: int) -> None:
    models, order = pair(seed), ["grade", "lattice", "order", "density", "wireframes", "extent"]
    lists = domains_of(0), domains_of(1)
    steps = ",".join([*order, "labels"])
    result = diff(*models, domains=lists, density="SG", grade="AU", steps=steps)
    assert [step.name for step in result.steps] == order
    check(result, Oracle(models, LISTS), [{name} for name in order])
    add_up(result)


@pytest.mark.parametrize("seed", range(2))
def test_the_mean_over_all_orders(seed: int) -> None:
    models = labelled(seed)
    result = diff(*models, density="SG", grade="AU", average_orders=True)
    merged = {"wireframes", "order", "lattice"}
    groups = [{"extent"}, merged, {"density"}, {"grade"}]
    check(result, Oracle(models, None), groups, averaged=True)
    assert result.averaged and "its mean over all 24 orders" in str(result)
    add_up(result)


def test_the_mean_over_all_orders_with_domains() -> None:
    models, lists = pair(5), (domains_of(0), domains_of(1))
    result = diff(*models, domains=lists, density="SG", grade="AU", average_orders=True)
    groups = [{name} for name in STEPS if name != "labels"]
    check(result, Oracle(models, LISTS), groups, averaged=True)
    add_up(result)


def test_order_does_not_depend_on_rows_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    models = labelled(7)
    result = diff(*models, density="SG", grade="AU")
    shuffled = [model.sample(frac=1, random_state=1) for model in models]
    from geodomain.changes import overlay

    monkeypatch.setattr(overlay, "_TOGETHER", 5)
    assert diff(*shuffled, density="SG", grade="AU").rows == result.rows


def test_odd_numbers_are_summed_exactly() -> None:
    """Sizes of thirds and values with all their bits need several parts of each volume."""
    rng = np.random.default_rng(2)
    models = []
    for size in (1 / 3, 0.7000000000000001):
        frame = pd.DataFrame(
            [[414_000.1 + size * place, 7.3e6, 1 / 7] for place in range(4)],
            columns=["X", "Y", "Z"],
        )
        for name in ("DX", "DY", "DZ"):
            frame[name] = size
        frame["SG"], frame["AU"] = rng.random(4), rng.random(4)
        frame["domain"] = ["A", "B", "A", "B"]
        models.append(frame)
    result = diff(*models, density="SG", grade="AU")
    merged = {"wireframes", "order", "lattice"}
    check(result, Oracle(models, None), [{"extent"}, merged, {"density"}, {"grade"}])
    add_up(result)


def test_units_are_exact_factors() -> None:
    models = labelled(3)
    plain = diff(*models, density="SG", grade="AU")
    ounces = diff(*models, density="SG", grade="AU", grade_unit="opt", density_unit="lb/ft3")
    factor = Fraction(*geodomain.checks.columns.density_unit("lb/ft3").tonnes)
    for row, own in zip(plain.rows, ounces.rows, strict=True):
        assert own.exact.tonnes == row.exact.tonnes * factor
        metal = row.exact.metal[0] * factor * Fraction(100_000_000, 90_718_474)
        assert own.exact.metal[0] == metal
        assert own.exact.means == row.exact.means
        assert own.grades[0].unit == "oz"


# --- Agreement with other functions.


def test_sums_of_the_models_are_those_of_tonnes() -> None:
    models = labelled(11)
    result = diff(*models, density="SG", grade="AU", cutoff=1)
    for model, step in zip(models, ("old", "new"), strict=True):
        own = {
            (row.domain, row.cutoff): (
                row.volume,
                row.tonnes,
                row.grades[0].mean,
                row.grades[0].metal,
            )
            for row in result.rows
            if row.step == step
        }
        for row in geodomain.tonnes(model, density="SG", grade="AU", cutoff=1).rows:
            numbers = own[row.domain, row.cutoff]
            grade = row.grades[0]
            for number, wanted in zip(
                numbers, (row.volume, row.tonnes, grade.mean, grade.metal), strict=True
            ):
                assert number == pytest.approx(wanted, rel=1e-14, abs=1e-12)


def test_moves_are_those_of_compare_for_the_same_blocks(tmp_path: Path) -> None:
    old = labelled(13)[0]
    new = old.assign(domain=np.roll(old["domain"], 1))
    for name, model in (("old.csv", old), ("new.csv", new)):
        model.to_csv(tmp_path / name, index=False)
    result = diff(tmp_path / "old.csv", tmp_path / "new.csv")
    moves = {(move.old, move.new): move.volume for move in result.moves}
    compared = geodomain.compare_files(tmp_path / "old.csv", tmp_path / "new.csv")
    assert moves == {(m.old, m.new): pytest.approx(m.volume) for m in compared.moves}
    assert "both models have the same blocks" in str(result)
    assert all(row.tonnes is None for row in result.rows) and "tonnes" not in str(result)


def test_a_regular_model_agrees_with_pandas() -> None:
    """Each step is a difference of two groupings of one table, for the same blocks."""
    rng = np.random.default_rng(8)
    places = pd.DataFrame(
        list(itertools.product(range(20), range(20), range(10))), columns=[*"XYZ"]
    )
    old = (places * [10.0, 10.0, 5.0]).assign(DX=10.0, DY=10.0, DZ=5.0)
    old = old.assign(SG=rng.uniform(2, 3, len(old)), AU=rng.exponential(1, len(old)))
    old["domain"] = rng.choice(["ORE", "WASTE"], len(old))
    new = old.assign(SG=rng.uniform(2, 3, len(old)), AU=rng.exponential(1, len(old)))
    new["domain"] = np.where(rng.random(len(old)) < 0.1, "ORE", old["domain"])
    result = diff(old, new, density="SG", grade="AU")

    def metal(labels: pd.Series, density: pd.Series, grade: pd.Series) -> pd.Series:
        return (500.0 * density * grade).groupby(labels).sum()

    levels = [
        metal(old.domain, old.SG, old.AU),
        metal(new.domain, old.SG, old.AU),
        metal(new.domain, new.SG, old.AU),
        metal(new.domain, new.SG, new.AU),
    ]
    names = ["wireframes, order, lattice", "density", "grade"]
    for domain in ("ORE", "WASTE"):
        rows = {row.step: row.grades[0].metal for row in result.rows if row.domain == domain}
        assert rows["extent"] == 0
        for name, (before, after) in zip(names, itertools.pairwise(levels), strict=True):
            assert rows[name] == pytest.approx(after[domain] - before[domain], rel=1e-9, abs=1e-6)


def test_the_same_model_has_no_difference() -> None:
    model = labelled(4)[0]
    result = diff(model, model, density="SG", grade="AU")
    changes = [row for row in (*result.rows, *result.totals) if not row.is_level]
    assert all(row.volume == row.tonnes == row.grades[0].metal == 0 for row in changes)


# --- Merged steps, and columns with other names.


def rotated(model: pd.DataFrame, angle: float) -> pd.DataFrame:
    turn = math.radians(angle)
    x, y = model["X"], model["Y"]
    return model.assign(
        X=x * math.cos(turn) + y * math.sin(turn), Y=y * math.cos(turn) - x * math.sin(turn)
    )


def test_models_with_other_rotations_have_one_step(tmp_path: Path) -> None:
    model = labelled(4)[0].drop(columns="domain")
    model.to_csv(tmp_path / "old.csv", index=False)
    grid = _turned_grid()
    lists = domains_of(0), domains_of(1)
    result = diff(tmp_path / "old.csv", grid, domains=lists, density=2.0)
    names = [step.name for step in result.steps]
    assert names == ["extent, lattice, density", "wireframes", "order"]
    assert "one step, because the models are rotated differently" in str(result)
    add_up(result)
    volume = {row.step: row.volume for row in result.totals}
    assert volume["new"] == pytest.approx(27 * 8)


def _turned_grid():
    import pyvista

    grid = pyvista.ImageData(dimensions=(4, 4, 4), spacing=(2, 2, 2))
    turn = math.radians(30)
    grid.direction_matrix = [
        [math.cos(turn), math.sin(turn), 0], [-math.sin(turn), math.cos(turn), 0], [0, 0, 1]
    ]  # fmt: skip
    return grid


def test_models_with_the_same_rotation_are_overlaid() -> None:
    grid, other = _turned_grid(), _turned_grid()
    grid.cell_data["domain"] = ["A"] * 27
    other.cell_data["domain"] = ["A"] * 13 + ["B"] * 14
    result = diff(grid, other)
    assert {(m.old, m.new): round(m.volume, 6) for m in result.moves} == {
        ("A", "B"): 112.0, ("A", "A"): 104.0
    }  # fmt: skip
    assert "centroids along their axes are rounded to 1e-6" in str(result)


def test_a_rotated_table_and_a_grid_that_states_its_rotation(tmp_path: Path) -> None:
    grid = _turned_grid()
    centres = grid.cell_centers().points
    table = pd.DataFrame(centres, columns=["X", "Y", "Z"]).assign(DX=2, DY=2, DZ=2)
    table.to_csv(tmp_path / "table.csv", index=False)
    for models in ((tmp_path / "table.csv", grid), (grid, tmp_path / "table.csv")):
        result = diff(*models, frame="z=30")
        assert [row.volume for row in result.totals if not row.is_level] == pytest.approx([0, 0, 0])
    with pytest.raises(TableError, match="frame= does not apply"):
        diff(grid, grid, frame="z=30")


def test_columns_of_the_new_model_may_have_other_names() -> None:
    old, new = labelled(8)
    plain = diff(old, new, density="SG", grade="AU", cutoff=0.5)
    other = new.rename(columns={"SG": "RHO", "AU": "GOLD", "domain": "rock"})
    renamed = diff(
        old, other, density="SG", grade="AU", cutoff=0.5, new_density="RHO",
        new_grade={"AU": "GOLD"}, new_column="rock",
    )  # fmt: skip
    assert renamed.rows == plain.rows
    number = diff(old, new, density="SG", new_density=2.5)
    tonnes = {row.step: row.tonnes for row in number.totals}
    assert tonnes["new"] == pytest.approx(
        2.5 * next(r.volume for r in plain.totals if r.step == "new")
    )


def test_codes_in_a_file_are_names_of_domains() -> None:
    model = pair(9)[0]
    domains = Domains(
        [Domain("ORE", box((-1, -1, -1), (5, 5, 5)), code=7)], background="WASTE", background_code=0
    )
    names = geodomain.label_blocks(model, domains)
    coded = model.assign(domain=[7 if name == "ORE" else 0 for name in names])
    result = diff(coded, coded, domains=(domains, domains), density=2)
    assert result.domains == ["ORE", "WASTE"]
    assert all(row.volume == 0 for row in result.rows if row.step == "labels")


def test_renamed_labels_are_summed_under_their_new_name() -> None:
    """Two old domains have become one; the steps are those of lists with the new name."""
    models = pair(12)
    old = Domains(
        [Domain(f"A{n}", box(*LISTS[0][n][1])) for n in (0, 1)]
        + [Domain("B", box(*LISTS[0][2][1]))],
        background="WASTE",
    )
    new = Domains(
        [Domain("B", box(*LISTS[1][0][1])), Domain("A", box(*LISTS[1][1][1]))], background="WASTE"
    )
    rename = {"A0": "A", "A1": "A"}
    result = diff(*models, domains=(old, new), density="SG", rename=rename)
    assert result.domains == ["B", "A", "WASTE"]
    add_up(result)
    labels = geodomain.label_blocks(models[0], old)
    volume = models[0].eval("DX * DY * DZ")[np.isin(labels, ["A0", "A1"])].sum()
    assert next(r.volume for r in result.rows if (r.domain, r.step) == ("A", "old")) == volume
    files = labelled(2)
    plain = diff(*files, density="SG")
    other = files[0].assign(domain=files[0]["domain"].replace("ORE", "OLD ORE"))
    assert diff(other, files[1], density="SG", rename={"OLD ORE": "ORE"}).rows == plain.rows


def test_edited_labels_have_the_densities_of_their_step() -> None:
    """A domain that is emptied by hand has no tonnes before its blocks get new densities."""
    old = pair(2)[0].assign(SG=2.0)
    everywhere = Domains([Domain("ORE", box((-99, -99, -99), (99, 99, 99)))], background="WASTE")
    new = old.assign(SG=3.0, domain="WASTE")
    result = diff(old, new, domains=(everywhere, everywhere), density="SG", grade="AU")
    ore = {row.step: row.tonnes for row in result.rows if row.domain == "ORE"}
    assert ore["labels"] == -ore["old"] and ore["density"] == ore["new"] == 0


def test_labels_in_one_model_only_are_not_used() -> None:
    old, new = labelled(3)
    for models in ((old.drop(columns="domain"), new), (old, new.drop(columns="domain"))):
        result = diff(*models, density="SG", grade="AU")
        assert [step.name for step in result.steps] == ["extent", "lattice", "density", "grade"]
        assert result.domains == [""] and "so the labels of the" in str(result)
        add_up(result)


def test_conditions_on_a_column_that_one_model_lacks_merge_steps() -> None:
    old, new = pair(4)
    new["ROCK"] = np.where(new.Z > 3, "OX", "FR")
    lists = [
        Domains([Domain("A", box((0, 0, 0), (6, 6, 6)), only_if=condition)], background="B")
        for condition in ({}, {"rock": "OX"})
    ]
    result = diff(old, new, domains=(lists[0], lists[1]), density="SG")
    names = [step.name for step in result.steps]
    assert names == ["extent", "wireframes, lattice", "order", "density"]
    assert "the old table has no column rock, which conditions of the new domains" in str(result)
    add_up(result)
    turned = diff(new, old, domains=(lists[1], lists[0]), density="SG")
    assert turned.totals[0].exact == next(r.exact for r in result.totals if r.step == "new")


def test_a_column_that_the_new_model_lacks_is_named() -> None:
    old, new = labelled(3)
    for column, keyword in (("SG", "new_density="), ("AU", "new_grade=")):
        with pytest.raises(TableError, match=f"no column '{column}', and the old .* {keyword}"):
            diff(old, new.drop(columns=column), density="SG", grade="AU")


def test_models_apart_are_told() -> None:
    old, new = labelled(3)
    with pytest.warns(GeodomainWarning, match="the whole difference is in the step extent"):
        result = diff(old, new.assign(X=new.X + 500), density="SG", grade="AU")
    assert {row.step for row in result.totals if row.tonnes and not row.is_level} == {
        "extent", "difference"
    }  # fmt: skip


def test_labels_by_centroids_are_stated() -> None:
    lists = domains_of(0), domains_of(1)
    assert "domains label blocks by their centroids" in str(diff(*pair(1), domains=lists))


def test_models_without_labels_have_totals() -> None:
    result = diff(*pair(1), density="SG")
    assert result.domains == [""]
    add_up(result)


def test_conditions_read_the_columns_of_each_model() -> None:
    old, new = pair(6)
    where = box((-99, -99, -99), (99, 99, 99))
    lists = [
        Domains([Domain("RICH", where, only_if={"AU": {">=": limit}})], background="POOR")
        for limit in (1.0, 0.5)
    ]
    result = diff(old, new, domains=(lists[0], lists[1]), density="SG", grade="AU")
    rows = {row.step: row for row in result.rows if row.domain == "RICH"}
    richer = old[(old.AU >= 0.5)].eval("DX * DY * DZ").sum()
    rich = old[(old.AU >= 1.0)].eval("DX * DY * DZ").sum()
    assert rows["old"].volume == pytest.approx(rich)
    after = sum(rows[step].volume for step in ("old", "extent", "wireframes"))
    assert 0 < after <= richer + rows["new"].volume
    assert "conditions of domains read AU" in str(result)
    add_up(result)


# --- Results and files.


def files(tmp_path: Path, seed: int = 2) -> tuple[Path, Path]:
    paths = tmp_path / "old.csv", tmp_path / "new.csv"
    for path, model in zip(paths, labelled(seed), strict=True):
        model.to_csv(path, index=False)
    return paths


def run(*words: object) -> object:
    return CliRunner().invoke(main, ["diff", *map(str, words)])


def test_the_command_writes_tables_and_json(tmp_path: Path) -> None:
    old, new = files(tmp_path)
    options = [old, new, "--density", "SG", "--grade", "AU", "--cutoff", "1", "--grade-unit", "g/t"]
    result = diff(old, new, density="SG", grade="AU", cutoff=1, grade_unit="g/t")
    done = run(*options)
    assert done.exit_code == 0 and done.stdout.splitlines() == str(result).splitlines()
    values = json.loads(run(*options, "--json").stdout)
    for row, plain in zip(result.rows, values["rows"], strict=True):
        assert Fraction(plain["tonnes_exact"]) == row.exact.tonnes
        assert Fraction(plain["grades"][0]["metal_exact"]) == row.exact.metal[0]
    for name in ("out.csv", "out.parquet", "out.xlsx"):
        assert run(*options, "-o", tmp_path / name).exit_code == 0
    frames = [
        pd.read_csv(tmp_path / "out.csv"),
        pd.read_parquet(tmp_path / "out.parquet"),
        pd.read_excel(tmp_path / "out.xlsx"),
    ]
    for frame in frames:
        assert [*frame] == ["domain", "cutoff", "step", "volume", "tonnes", "mean_AU", "metal_AU_g"]
        assert frame["tonnes"].tolist() == pytest.approx(result.to_pandas()["tonnes"].tolist())
    assert run(*options, "-o", tmp_path / "out.csv").exit_code == 4
    assert result._repr_html_().count("<tr>") == 1 + len(result.rows) + len(result.totals)
    assert repr(result).startswith("<ModelDifference: old.csv -> new.csv: ")


def refusals(tmp_path: Path) -> Iterator[tuple[list[object], int, str]]:
    old, new = files(tmp_path)
    listed = tmp_path / "domains.toml"
    listed.write_text('[[domain]]\nname = "A"\nmesh = "none.stl"\n')
    bare = tmp_path / "bare.csv"
    pd.read_csv(old).drop(columns="domain").to_csv(bare, index=False)
    yield [old, new, "--grade", "AU"], 2, "--grade needs --density"
    yield [old, new, "--density-unit", "t/m3"], 2, "--density-unit needs --density"
    yield [old, new, "--new-density", "3"], 2, "--new-density needs --density"
    yield [old, new, "--density", "1e300"], 3, "density of all blocks is 1e+300, and exact sums"
    yield [old, new, "--title", "March"], 2, "--title needs --report"
    yield [old, new, "--rule", "winding"], 2, "--rule needs the domains of both models"
    yield [old, new, "--weld", "0.1"], 2, "--weld needs the domains of both models"
    yield [listed, listed, "--column", "X"], 2, "--column is for block models"
    yield [listed, listed, "--rule", "winding"], 2, "--rule is for block models"
    yield [listed, listed, "--frame", "z=3"], 2, "--frame is for block models"
    yield [old, new, "--domains", listed], 2, "give --domains twice"
    yield [old, listed], 2, "the new input is a list of domains"
    yield [listed, listed, "--density", "SG"], 2, "--density is for block models"
    yield [old, new, "--steps", "grade,extent"], 2, "once each"
    yield [old, new, "--steps", ",".join(STEPS), "--average-orders"], 2, "give only one of them"
    yield [old, new, "--density", "NONE"], 3, "old.csv has no column 'NONE'"
    yield [old, new, "--density", "SG", "--grade", "AU", "--new-grade", "CU=X"], 2, "must rename"
    empty = tmp_path / "empty.csv"
    pd.read_csv(old).head(0).to_csv(empty, index=False)
    yield [old, empty], 3, "empty.csv has no rows, so there is nothing to compare"
    collar = tmp_path / "collar.csv"  # resembles strings of Surpac
    collar.write_text("BHID,XCOLLAR,YCOLLAR,ZCOLLAR,LENGTH\n0,4.5,0.0,99.7,79.1\n1,35.6,0,112,98\n")
    yield [collar, collar], 3, "collar.csv has no complete set of centroid columns"
    flat = tmp_path / "flat.csv"
    pd.read_csv(old).assign(DZ=0).to_csv(flat, index=False)
    yield [old, flat], 3, "rows of flat.csv has a centroid and a size above 0"
    yield [old, new, "--rename", "OER=ORE"], 3, "--rename has 'OER', and no block of old.csv has"
    yield [old, tmp_path / "none.csv"], 4, "No such file"
    yield ["-", new], 3, "give files, not -"
    yield [old, new, "-o", old, "--overwrite"], 3, "old.csv"
    yield [old, new, "-o", tmp_path / "a.csv", "--report", tmp_path / "a.csv"], 3, "a.csv"
    yield [old, new, "--report", tmp_path / "a.csv"], 3, "use the extension .html"
    yield [old, new, "--chart", tmp_path / "a.gif"], 2, "a.gif must end in"
    yield [listed, listed], 3, "there is no file 'none.stl'"


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    for words, code, part in refusals(tmp_path):
        done = run(*words)
        assert (done.exit_code, part in done.stderr) == (code, True), (words, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_value_beyond_exact_products_is_refused() -> None:
    old, new = labelled(2)
    wrong = new.assign(AU=[1e-200, *new["AU"][1:]])
    with pytest.raises(TableError, match=r"AU is 1e-200 in block 1 of the new table"):
        diff(old, wrong, density="SG", grade="AU")


def test_warnings_name_the_model() -> None:
    old, new = labelled(2)
    lacking = new.assign(SG=np.nan, DX=[np.nan, *new["DX"][1:]])
    with pytest.warns(GeodomainWarning) as caught:
        diff(old.assign(SG=2.5), lacking, density="SG")
    texts = [str(each.message) for each in caught]
    assert any(text.startswith("the new table: ") and "have no SG" in text for text in texts)
    assert any("1 block without a centroid or a size" in text for text in texts)


def test_domains_that_miss_a_model_are_refused_or_told() -> None:
    old, new = pair(3)
    far = Domain("FAR", box((500, 500, 500), (600, 600, 600)))
    near = Domain("NEAR", box((0, 0, 0), (5, 5, 5)))
    with pytest.raises(TableError, match="no solid meets the block model: the blocks of the new"):
        diff(old, new, domains=(Domains([near]), Domains([far])))
    with pytest.warns(GeodomainWarning, match="the new table: FAR does not meet the block model"):
        diff(old, new, domains=(Domains([near]), Domains([near, far])))


def test_overlapping_blocks_are_told_and_still_add_up() -> None:
    old, new = labelled(4)
    doubled = pd.concat([new, new.head(3)])
    with pytest.warns(GeodomainWarning, match="the new table: .*repeat|the new table: .*twice"):
        result = diff(old, doubled, density="SG", grade="AU")
    merged = {"wireframes", "order", "lattice"}
    oracle = Oracle((old, doubled), None)
    check(result, oracle, [{"extent"}, merged, {"density"}, {"grade"}])
    add_up(result)


def test_a_table_without_sizes(tmp_path: Path) -> None:
    model = pd.DataFrame(list(itertools.product((5, 15, 25), repeat=3)), columns=["X", "Y", "Z"])
    model["domain"] = "ORE"
    model.to_csv(tmp_path / "bare.csv", index=False)
    result = diff(tmp_path / "bare.csv", tmp_path / "bare.csv")
    assert result.totals[0].volume == 27_000  # the size of blocks follows from their lattice
    with pytest.raises(TableError, match="the old table has no block sizes"):
        diff(model, model)


def test_two_estimates_of_demo1(shared_data: Path) -> None:
    """A real model of 5,572 blocks of 5 m: kriging against inverse distance, in a wireframe."""
    path = shared_data / "demo1" / "bmodel.csv"
    ore = Domains([Domain("ORE", shared_data / "demo1" / "dom1.vtp")], background="WASTE")
    result = diff(
        path, path, domains=(ore, ore), density=2.7, grade="Au_OK", new_grade={"Au_OK": "Au_ID2"}
    )
    frame = pd.read_csv(path)
    inside = frame[geodomain.label_blocks(frame, ore) == "ORE"]
    metal = {row.step: row.grades[0].metal for row in result.rows if row.domain == "ORE"}
    assert metal["old"] == pytest.approx(125 * 2.7 * inside["Au_OK"].sum(), rel=1e-13)
    assert metal["new"] == pytest.approx(125 * 2.7 * inside["Au_ID2"].sum(), rel=1e-13)
    assert metal["grade"] == metal["difference"] and metal["wireframes"] == metal["lattice"] == 0
    add_up(result)
