"""Regularised models against rational arithmetic, pandas, and what users may get wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from late import needs, pd

import geodomain
from geodomain import regularise
from geodomain.errors import GeodomainWarning, TableError
from geodomain.volumes.exact_sums import Exponents, Sums

SIZES = (0.5, 1.0, 1.25, 2.0)


def boxes(seed: int) -> pd.DataFrame:
    """Return random blocks that do not overlap: a lattice of parents, some of them divided."""
    rng = np.random.default_rng(seed)
    rows = []
    size = rng.choice([2.0, 2.5, 5.0], 3)
    low = rng.choice([0.0, 414_000.3, -7.15], 3)
    for place in product(range(3), range(4), range(2)):
        if rng.random() < 0.1:
            continue
        parts = rng.choice([1, 2, 4], 3) if rng.random() < 0.5 else np.ones(3, int)
        for at in product(*map(range, parts)):
            own = size / parts
            centre = low + np.array(place) * size + (np.array(at) + 0.5) * own
            rows.append([*np.round(centre, 6), *own])
    frame = pd.DataFrame(rows, columns=["X", "Y", "Z", "DX", "DY", "DZ"])
    count = len(frame)
    frame["SG"] = np.where(rng.random(count) < 0.1, np.nan, 2 + rng.random(count))
    frame["AU"] = np.where(rng.random(count) < 0.2, np.nan, rng.lognormal(0, 2, count))
    frame["W"] = np.round(rng.random(count), 2)
    frame["T"] = rng.random(count) * 1000
    frame["ROCK"] = rng.choice(["A", "B", "C", ""], count)
    return frame


def exact(value: float) -> Fraction:
    return Fraction(repr(float(value)))


class Oracle:
    """The new model by Fractions, cell by cell."""

    def __init__(self, frame: pd.DataFrame, low: list[Fraction], size: list[Fraction]) -> None:
        self.pieces: dict[tuple[int, ...], list[tuple[Fraction, int, Fraction]]] = defaultdict(list)
        self.volumes = []
        for row, values in enumerate(frame[["X", "Y", "Z", "DX", "DY", "DZ"]].to_numpy()):
            centre, length = [*map(exact, values[:3])], [*map(exact, values[3:])]
            faces = [(c - s / 2, c + s / 2) for c, s in zip(centre, length, strict=True)]
            whole = math.prod(length)
            self.volumes.append(whole)
            spans = [
                range(math.floor((a - o) / s), math.ceil((b - o) / s))
                for (a, b), o, s in zip(faces, low, size, strict=True)
            ]
            for cell in product(*spans):
                part = Fraction(1)
                for (a, b), o, s, k in zip(faces, low, size, cell, strict=True):
                    part *= min(b, o + (k + 1) * s) - max(a, o + k * s)
                self.pieces[cell].append((part, row, whole))


def nearest(value: Fraction) -> float:
    return value.numerator / value.denominator


def mean_of(
    pieces: list[tuple[Fraction, int, Fraction]], values: list, weights: list | None = None
) -> float:
    """Return the mean of values by volume and weights, rounded once."""
    top = bottom = Fraction(0)
    for part, at, _ in pieces:
        value, by = values[at], 1.0 if weights is None else weights[at]
        if not (math.isnan(value) or math.isnan(by)):
            top += part * Fraction(value) * Fraction(by)
            bottom += part * Fraction(by)
    return nearest(top / bottom) if bottom else math.nan


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(6))
def test_random_models_against_fractions(tmp_path: Path, seed: int, kind: str) -> None:
    frame = boxes(seed)
    source, out = tmp_path / f"a.{kind}", tmp_path / "b.parquet"
    frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    rng = np.random.default_rng(100 + seed)
    size = [Fraction(repr(float(each))) for each in rng.choice([1.5, 3.0, 4.0, 7.25], 3)]
    low = [exact(frame[axis].min()) - Fraction(13, 10) for axis in "XYZ"]
    done = regularise(
        source, out, [float(each) for each in size],
        origin=[str(float(each)) for each in low], density="SG", dominant="ROCK", share="ROCK",
        mean={"AU": "tonnes", "W": "volume"}, sum="T", cutoff={"AU": [0.5, 2]},
    )  # fmt: skip
    made = pd.read_parquet(out).fillna({"ROCK": ""})
    oracle = Oracle(frame, low, size)
    assert len(made) == len(oracle.pieces) == done.after
    by_cell = {
        tuple(
            math.floor((exact(row[axis]) - o) / s)
            for axis, o, s in zip("xyz", low, size, strict=True)
        ): row
        for _, row in made.iterrows()
    }
    cell_volume = math.prod(size)
    sums: dict[tuple[float, str], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 3)
    for cell, pieces in oracle.pieces.items():
        row = by_cell[cell]
        assert row["filled"] == nearest(sum(p for p, _, _ in pieces) / cell_volume)
        values = {name: frame[name].to_list() for name in ("SG", "AU", "W", "T", "ROCK")}
        density = mean_of(pieces, values["SG"])
        grade = mean_of(pieces, values["AU"], values["SG"])
        other = mean_of(pieces, values["W"])
        np.testing.assert_array_equal([row["SG"], row["AU"], row["W"]], [density, grade, other])
        total = sum(part / whole * Fraction(values["T"][at]) for part, at, whole in pieces)
        assert row["T"] == nearest(total)
        texts: dict[str, Fraction] = defaultdict(Fraction)
        for part, at, _ in pieces:
            texts[values["ROCK"][at]] += part
        for label in "ABC":
            assert row[f"prop_{label}"] == nearest(texts.get(label, Fraction(0)) / cell_volume)
        named = {label: volume for label, volume in texts.items() if label}
        assert row["ROCK"] == min(named, key=lambda each: (-named[each], each), default="")
        for part, at, _ in pieces:
            value, density = values["AU"][at], values["SG"][at]
            if math.isnan(value) or math.isnan(density):
                continue
            for cutoff in (0.5, 2):
                sides = [("ore before", value >= cutoff), ("ore after", grade >= cutoff)]
                sides += [("ore loss", value >= cutoff > grade)]
                sides += [("dilution", value < cutoff <= grade)]
                mass = part * Fraction(density)
                for side in (name for name, there in sides if there):
                    old = sums[cutoff, side]
                    new = (part, mass, mass * Fraction(value))
                    sums[cutoff, side] = [a + b for a, b in zip(old, new, strict=True)]
    for moves in done.cutoffs:
        for side, moved in moves.sides().items():
            wanted = sums[moves.cutoff, side]
            assert [moved.volume, moved.tonnes, moved.metal] == wanted, side
    assert done.balance("volume").before == sum(oracle.volumes)
    assert done.balance("T").inside == sum(map(Fraction, frame["T"]))


def test_what_lies_outside_is_added_up_apart(tmp_path: Path) -> None:
    rows = "X,Y,Z,DX,DY,DZ,AU,T\n5,5,5,10,10,10,2,30\n15,5,5,10,10,10,3,50\n"
    (tmp_path / "a.csv").write_text(rows)
    done = regularise(
        tmp_path / "a.csv", tmp_path / "b.csv", 4, origin="4,4,4", count="2,2,1", mean="AU", sum="T"
    )
    assert done.after == 4
    volume = done.balance("volume")
    inside = Fraction(6 * 6 * 4 + 2 * 6 * 4)
    assert (volume.before, volume.inside, volume.outside) == (2000, inside, 2000 - inside)
    amounts = done.balance("T")
    assert amounts.inside == Fraction(6 * 6 * 4 * 30 + 2 * 6 * 4 * 50, 1000)
    assert amounts.inside + amounts.outside == 80


def test_a_regular_model_agrees_with_pandas(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    at = np.stack(np.meshgrid(*[np.arange(12)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    frame = pd.DataFrame(at * 5.0 + 2.5, columns=["X", "Y", "Z"]).assign(DX=5.0, DY=5.0, DZ=5.0)
    frame["AU"], frame["SG"] = rng.lognormal(size=len(frame)), 2 + rng.random(len(frame))
    frame.to_csv(tmp_path / "a.csv", index=False)
    regularise(tmp_path / "a.csv", tmp_path / "b.csv", 15, density="SG", mean="AU")
    cells = [*(frame[axis] // 15 for axis in "ZYX")]
    tonnes = (frame["SG"] * 125).groupby(cells).sum()
    metal = (frame["AU"] * frame["SG"] * 125).groupby(cells).sum()
    made = pd.read_csv(tmp_path / "b.csv")
    np.testing.assert_allclose(made["AU"], (metal / tonnes).to_numpy(), rtol=1e-14)
    np.testing.assert_allclose(made["SG"], (tonnes / 27 / 125).to_numpy(), rtol=1e-14)


def test_sums_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    frame = boxes(9)
    settings = {"density": "SG", "mean": "AU", "sum": "T", "dominant": "ROCK"}
    texts = []
    for place, rows in enumerate((frame, frame.sample(frac=1, random_state=1))):
        rows.to_csv(tmp_path / f"{place}.csv", index=False)
        regularise(tmp_path / f"{place}.csv", tmp_path / f"o{place}.csv", 3, **settings)
        texts.append((tmp_path / f"o{place}.csv").read_bytes())
    assert texts[0] == texts[1]


def test_rotated_images_keep_their_frame(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    turn = np.deg2rad(-30)
    matrix = np.array(
        [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    )
    image = pyvista.ImageData(
        dimensions=(5, 5, 3), spacing=(5, 5, 5), origin=(4e5, 7e6, 100), direction_matrix=matrix
    )
    image.cell_data["AU"] = np.arange(32.0)
    image.save(tmp_path / "a.vti")
    done = regularise(tmp_path / "a.vti", tmp_path / "b.vti", "10,10,5", mean="AU")
    made = pyvista.read(tmp_path / "b.vti")
    np.testing.assert_allclose(made.direction_matrix, matrix, atol=1e-12)
    np.testing.assert_allclose(made.origin, image.origin, atol=1e-5)
    assert made.n_cells == 8 and done.balance("volume").before == 32 * 125
    assert made.cell_data["AU"][0] == np.mean([0, 1, 4, 5])
    assert any("rounded to 6 decimals" in note for note in done.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mean": "XX"}, "no column 'XX'"),
        ({"mean": "DX"}, "holds the x sizes .* cannot be their mean: name the column with mean="),
        ({"sum": "Z"}, "cannot be their sum: name the column with sum="),
        ({"density": "X", "mean": "AU"}, "cannot be their density"),
        ({"mean": {"AU": "tonnes"}}, "tonnes, which need density="),
        ({"density": -1.0}, "number above 0"),
        ({"count": "2,2,2"}, "count= needs origin="),
        ({"mean": "AU", "sum": "au"}, "AU is named twice"),
        ({"mean": "AU", "incomplete": "refuse"}, "has 1 block without AU: fill in the values"),
        ({"sum": "AU", "incomplete": "refuse"}, "has 1 block without AU"),
        ({"mean": "AU", "incomplete": "drop"}, "use 'keep' or 'refuse'"),
        ({"mean": "AU", "cutoff": {"CU": 1}}, "must name one of the grades"),
        ({"mean": "AU", "cutoff": {"AU": "x"}}, "one or more numbers"),
        ({"origin": "100,100,100", "count": "1,1,1"}, "no block of .* lies in the new model"),
        ({"mean": "ROCK"}, "ROCK"),
    ],
)
def test_bad_settings(tmp_path: Path, settings: dict, message: str) -> None:
    rows = "X,Y,Z,DX,DY,DZ,AU,ROCK\n5,5,5,10,10,10,,GRANITE\n15,5,5,10,10,10,3,X\n"
    (tmp_path / "a.csv").write_text(rows)
    with pytest.raises((TableError, ValueError), match=message):
        regularise(tmp_path / "a.csv", tmp_path / "b.csv", 4, **settings)
    assert not (tmp_path / "b.csv").exists()


def test_bad_outputs_and_models(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z,AU\n5,5,5,1\n15,5,5,2\n")
    with pytest.raises(TableError, match="no block sizes"):
        regularise(tmp_path / "a.csv", tmp_path / "b.csv", 4)
    with pytest.raises(TableError, match=r"b\.txt: name a file .* \.csv, \.parquet, \.xlsx"):
        regularise(tmp_path / "a.csv", tmp_path / "b.txt", 4)
    with pytest.raises(ValueError, match="size"):
        regularise(tmp_path / "a.csv", tmp_path / "b.csv", "4,0,1")
    with pytest.raises((TableError, OSError, ValueError)):
        regularise(tmp_path / "a.csv", tmp_path / "a.csv", 4, overwrite=True)
    (tmp_path / "c.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n,5,5,10,10,10\n")
    with pytest.warns(GeodomainWarning, match="1 block of .* without a centroid or a size"):
        done = regularise(tmp_path / "c.csv", tmp_path / "d.csv", 5)
    assert done.balance("volume").before == 1000


def test_the_memory_of_the_new_model_is_counted_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n")
    with pytest.raises(TableError, match="memory"):
        regularise(tmp_path / "a.csv", tmp_path / "b.csv", 0.001)


def test_missing_values_are_counted_apart_in_every_chunk(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"X": [1.0, 3, 5, 7], "Y": 1.0, "Z": 1.0, "DX": 2.0, "DY": 2.0, "DZ": 2.0})
    frame["SG"] = [2.0, math.nan, math.nan, 3]
    frame["AU"] = [1.0, 2, math.nan, math.nan]
    frame["T"] = [math.nan, 5, math.nan, 7]
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1)
    settings = {"density": "SG", "mean": "AU", "sum": "T"}
    done = regularise(tmp_path / "a.parquet", tmp_path / "b.csv", "8,2,2", **settings)
    assert done.notes == (
        "2 blocks without SG: not in its mean or in tonnes",
        "2 blocks without AU: not in its mean",
        "2 blocks without T: not in its sum",
        "1 block with AU but without SG: not in the mean of AU",
    )
    assert done.balance("T").inside == 12 and done.balance("tonnes").inside == 8 * 5
    with pytest.raises(TableError, match=r"a\.parquet has 2 blocks without SG: fill in"):
        regularise(tmp_path / "a.parquet", tmp_path / "c.csv", 8, incomplete="refuse", **settings)


def test_thin_new_blocks_are_counted_before_blocks_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEODOMAIN_MEMORY", "1GB")
    # Five thousand million new blocks along z: dividing one block among them would fill memory.
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,5\n")
    with pytest.raises(TableError, match="5,000,000,000 new blocks along an axis would take"):
        regularise(tmp_path / "a.csv", tmp_path / "b.csv", ["10", "10", "1e-9"])


def test_large_blocks_are_divided_batch_by_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = boxes(4)
    frame.to_csv(tmp_path / "a.csv", index=False)
    settings = {"density": "SG", "mean": "AU", "sum": "T", "share": "ROCK", "cutoff": {"AU": 1}}
    whole = regularise(tmp_path / "a.csv", tmp_path / "b.csv", 1.5, **settings)
    monkeypatch.setattr("geodomain.changes.cells._TOGETHER", 7)
    parts = regularise(tmp_path / "a.csv", tmp_path / "c.csv", 1.5, **settings)
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "c.csv").read_bytes()
    assert (whole.balances, whole.cutoffs) == (parts.balances, parts.cutoffs)


@pytest.mark.parametrize("exponent", [-1060, -900, -40, 0, 300])
def test_sums_of_products_are_exact(exponent: int) -> None:
    rng = np.random.default_rng(5)
    values = np.ldexp(rng.normal(size=(400, 2)), exponent + rng.integers(-9, 9, (400, 2)))
    values[::7] = 0
    volumes, groups = rng.integers(0, 1 << 62, 400), rng.integers(0, 3, 400)
    ranges = [Exponents(), Exponents()]
    for range_, column in zip(ranges, values.T, strict=True):
        range_.add(column)
    for count in (0, 1, 2):
        sums = Sums(3, ranges[:count])
        for rows in np.array_split(np.arange(400), 5):
            sums.add(groups[rows], volumes[rows], *values[rows, :count].T)
        for group, whole in enumerate(sums.wholes()):
            rows = np.flatnonzero(groups == group).tolist()
            wanted = sum(
                int(volumes[row]) * math.prod(map(Fraction, values[row, :count].tolist()))
                for row in rows
            )
            assert whole * sums.scale == wanted


def test_results_print_and_become_tables(tmp_path: Path) -> None:
    frame = boxes(2)
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = regularise(
        tmp_path / "a.csv", tmp_path / "b.csv", 3, density=2.5, mean="AU", cutoff={"AU": 1}
    )
    assert "inside + outside = before, exactly" in str(done) and "dilution" in str(done)
    assert repr(done).startswith("<Regularised: ") and "<table" in done._repr_html_()
    assert done.to_pandas()["part"].tolist() == [
        "ore before", "ore loss", "ore outside", "dilution", "ore after"
    ]  # fmt: skip
    volume, metal = done.as_dict()["balances"]
    assert Fraction(volume["before"]["exact"]) == (done.balance("volume").before)
    assert metal["name"] == "AU x tonnes"


@needs("openpyxl")
def test_labelled_models_keep_shares_of_domains(tmp_path: Path) -> None:
    rows = "X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n15,5,5,10,10,10,WASTE\n"
    (tmp_path / "a.csv").write_text(rows)
    regularise(
        tmp_path / "a.csv", tmp_path / "b.csv", "20,10,10", share="domain", dominant="domain"
    )
    made = pd.read_csv(tmp_path / "b.csv")
    assert made[["prop_ORE", "prop_WASTE"]].to_numpy().tolist() == [[0.5, 0.5]]
    assert made["domain"].tolist() == ["ORE"]  # equal volumes: the first in alphabetical order
    done = geodomain.tonnes_file(tmp_path / "b.csv", density=2, proportion={"ORE": "prop_ORE"})
    assert done.rows[0].tonnes == 2000
