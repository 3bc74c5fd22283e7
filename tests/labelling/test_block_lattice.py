"""Blocks answered by the cells of a lattice have the labels of blocks asked one by one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from wireframes import box, cube

from geodomain import Domain, Mesh, Stack
from geodomain.errors import PointError
from geodomain.labelling import evaluate
from geodomain.labelling.evaluate import BlockLattice
from geodomain.labelling.labeller import Labeller, Verdict
from geodomain.labelling.settings import LabelSettings

pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")

Floats = NDArray[np.float64]
AXES = (np.arange(-8, 118, 9) / 10, np.arange(15) - 2.0, np.arange(13) - 1.5)


def rows_of(axes: tuple[Floats, ...] = AXES) -> Floats:
    """Return every combination, z fastest."""
    return np.asfortranarray(list(product(*axes)), np.float64)


def orders() -> dict[str, Floats]:
    """Return the blocks in many orders, and blocks that are not all of them."""
    random, rows = np.random.default_rng(7), rows_of()
    odd, far = rows.copy(), rows.copy()
    odd[::17] += random.uniform(-0.4, 0.4, odd[::17].shape)
    far[5::40, 2] = np.nan
    far[9::50, 0] = -np.inf
    far[::60] = -99.0
    single = [axis.astype(np.float32).astype(np.float64) for axis in AXES]
    return {
        "z fastest": rows,
        "x fastest": rows[np.lexsort(rows.T)],
        "shuffled": random.permutation(rows),
        "missing": rows[random.uniform(size=len(rows)) < 0.6],
        "gaps": rows[(rows[:, 0] < 2) | (rows[:, 0] > 6)],
        "doubles": random.permutation(np.concatenate([rows, rows[::3]])),
        "off": odd,
        "lost": far,
        "single": rows_of(tuple(single)),
        "computed": rows_of((np.arange(-1, 13) * 0.9 + 0.1, AXES[1] / 3, AXES[2] * 1.1)),
        "one bench": rows[rows[:, 2] == 2.5],
    }


def folded() -> Mesh:
    """Return a sheet that folds over itself between x = 3 and x = 6."""
    line = [(-3, 4.5), (6, 5.5), (3, 6.5), (14, 8.5)]
    corners = [(x, y, z) for x, z in line for y in (-3.0, 14.0)]
    faces = [
        (2 * i + a, 2 * i + b, 2 * i + c) for i in range(3) for a, b, c in ((0, 2, 3), (0, 3, 1))
    ]
    return Mesh(np.array(corners, float), np.array(faces), name="folded")


def hill() -> Mesh:
    """Return a small sheet through lattice points, beyond which there are blocks."""
    corners = [[1, 0, 2.5], [8.2, 0, 2.5], [8.2, 9, 5.5], [1, 9, 3.0]]
    return Mesh(np.array(corners), np.array([[0, 1, 2], [0, 2, 3]]), name="hill")


def nested() -> Mesh:
    """Return a cube within a cube, both facing outwards: lines cross it four times."""
    parts = [box((0, 0, 0), (9, 9, 9)), box((2.8, 3, 2), (6.4, 6, 6.5))]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices, np.concatenate([parts[0].triangles, parts[1].triangles + 8]))


def opened() -> Mesh:
    """Return a cube without two of its triangles."""
    return Mesh(cube().vertices, cube().triangles[:-2], name="opened")


def domains() -> dict[str, list]:
    ore, halo = cube(), box((1, 2.0, -1.5), (14, 9.5, 4.5))
    return {
        "solid": [Domain("A", (ore,))],
        "several": [Domain("A", (ore,)), Domain("B", (halo,)), Domain("C", (nested(),))],
        "union": [Domain("A", (ore, halo))],
        "inverted": [Domain("A", (ore,), invert=True)],
        "winding": [Domain("A", (nested(),), rule="winding"), Domain("B", (halo,), rule="winding")],
        "open": [Domain("A", (opened(),))],
        "fraction": [Domain("A", (opened(),), rule="winding")],
        "above": [Domain("A", (hill(),), kind="above"), Domain("B", (folded(),), kind="above")],
        "below": [Domain("A", (hill(), folded()), kind="below")],
        "below, inverted": [Domain("A", (hill(),), kind="below", invert=True)],
        "nearest": [Domain("A", (hill(),), kind="above", extend="nearest")],
        "closed surface": [Domain("A", (nested(),), kind="below")],
        "stack": [Stack((hill(), folded()), ("over", "between", "under"))],
        "within": [Domain("A", (ore,), within=1.5)],
        "beyond": [Domain("A", (hill(),), kind="above", beyond=1.0)],
    }


def same(one: Verdict, other: Verdict) -> None:
    assert one.codes.tolist() == other.codes.tolist()
    assert one.answers.keys() == other.answers.keys()
    for mine, theirs in zip(one.answers.values(), other.answers.values(), strict=True):
        for what, part in mine._asdict().items():
            assert np.array_equal(part, getattr(theirs, what)), what
    assert {n: r.tolist() for n, r in one.folded.items()} == {
        n: r.tolist() for n, r in other.folded.items()
    }


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cells pay from the first row on."""
    monkeypatch.setattr(evaluate, "_CELLS_TO_A_ROW", 1e9)


def lattices(rows: Floats, threads: int) -> list[BlockLattice]:
    """Return a lattice that is known, one to be learnt, and one that is only partly right."""
    values = [np.unique(column[np.isfinite(column)]) for column in rows.T]
    every = [BlockLattice.of_axes(values, threads=threads), BlockLattice.inferred(threads=threads)]
    return [*every, BlockLattice.of_axes([axis[::2] for axis in AXES], threads=threads)]


@pytest.mark.parametrize("order", orders())
@pytest.mark.parametrize("kind", domains())
@pytest.mark.parametrize("threads", [1, 2])
def test_labels_are_those_of_points(order: str, kind: str, threads: int) -> None:
    rows = np.asfortranarray(orders()[order])
    labeller = Labeller(domains()[kind], LabelSettings(threads=threads, allow_open=True))
    expected = [labeller.label(part) for part in (rows[:700], rows[700:])]
    for lattice in lattices(rows, threads):
        for part, one in zip((rows[:700], rows[700:]), expected, strict=True):
            same(labeller.label(np.asfortranarray(part), lattice=lattice), one)


@pytest.mark.parametrize("kind", ["solid", "winding", "above", "open"])
def test_rows_on_cells_are_asked_of_no_index(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labeller = Labeller(domains()[kind], LabelSettings(allow_open=True))
    for lattice in (BlockLattice.of_axes(AXES, threads=1), BlockLattice.inferred(threads=1)):
        rows = rows_of()
        labeller.label(rows, lattice=lattice)  # which counts the crossings of lines
        expected = labeller.label(rows).codes.tolist()
        with monkeypatch.context() as patched:
            if kind != "winding":  # of which lines through both cubes are asked by themselves
                for locator in labeller._locators.values():
                    patched.setattr(locator, "index", None)
            assert labeller.label(rows, lattice=lattice).codes.tolist() == expected


def test_cells_are_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MOST_CELLS", 100)
    labeller, rows = Labeller(domains()["solid"]), rows_of()
    lattice = BlockLattice.of_axes(AXES, threads=1)
    same(labeller.label(rows, lattice=lattice), labeller.label(rows))
    assert not lattice._answers


def test_solids_without_cells_are_asked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MOST_CELLS", 0)
    asked: list[int] = []

    def members_of(locators: list, *rest: object, **named: object) -> list:
        asked.append(len(locators))
        return evaluate.members_of(locators, *rest, **named)

    monkeypatch.setattr("geodomain.labelling.labeller.members_of", members_of)
    labeller, rows = Labeller(domains()["several"]), rows_of()
    lattice = BlockLattice.of_axes(AXES, threads=1)
    same(labeller.label(rows, lattice=lattice), labeller.label(rows))
    assert asked == [3, 3]
    monkeypatch.setattr(evaluate, "MOST_CELLS", 1 << 20)
    labeller.label(rows, lattice=BlockLattice.of_axes(AXES, threads=1))
    assert asked == [3, 3]


def test_a_lattice_begins_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "_CELLS_TO_A_ROW", 1)
    labeller, rows = Labeller(domains()["solid"]), rows_of()
    lattice = BlockLattice.inferred(threads=1)
    while not lattice._answers:
        same(labeller.label(rows[:300], lattice=lattice), labeller.label(rows[:300]))
        assert lattice._requested[next(iter(lattice._requested))] < 10 * len(rows)
    same(labeller.label(rows, lattice=lattice), labeller.label(rows))


def test_a_point_that_cannot_be_decided_is_named_by_its_row() -> None:
    corners = np.array([[0, 0, 0], [3, 1, 0], [1, 3, 1], [1, 1, 3]]) * 2.0**-304
    minute = Mesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    axis = np.r_[2.0**-307, np.arange(1.0, 5.0)]
    rows = rows_of((axis, axis, axis))[::-1]
    labeller = Labeller([Domain("A", (minute,)), Domain("B", (minute,), kind="above")])
    lattice = BlockLattice.of_axes((axis, axis, axis), threads=1)
    for _ in range(2):
        with pytest.raises(PointError, match="point 124 is"):
            labeller.label(np.asfortranarray(rows), lattice=lattice)
    same(
        labeller.label(np.asfortranarray(rows[:100]), lattice=lattice),
        labeller.label(np.asfortranarray(rows[:100])),
    )


@contextmanager
def at_most(memory: int) -> Iterator[None]:
    """Require that Python and NumPy hold no more than some bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= memory
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_axis_is_counted_before_it_is_made(threads: int) -> None:
    """Of 700 blocks x had 9 decimals and z no step: x alone was to take 48 GB."""
    step, random = 1e-9, np.random.default_rng(1)
    columns = [4 + step * np.arange(700), np.full(700, 4.5), random.uniform(0, 9, 700)]
    labeller = Labeller(domains()["solid"], LabelSettings(threads=threads))
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        rows = np.asfortranarray(np.stack([columns[axis] for axis in order], axis=1))
        expected = labeller.label(rows)
        with at_most(1 << 24):
            same(labeller.label(rows, lattice=BlockLattice.inferred(threads=threads)), expected)


def test_a_long_axis_takes_no_more_than_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of blocks, one of whose steps is minute, is no lattice to be made whole."""
    monkeypatch.setattr(evaluate, "_CELLS_TO_A_ROW", 1e18)
    values = np.round(np.concatenate([np.arange(699) * 1e-8, [9.0]]), 8)
    rows = np.asfortranarray(np.stack([values, *np.full((2, 700), 4.5)], axis=1))
    labeller = Labeller(domains()["solid"])
    expected = labeller.label(rows)
    with at_most(1 << 24):
        same(labeller.label(rows, lattice=BlockLattice.inferred(threads=1)), expected)


def test_bits_of_one_bench_are_counted_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along z bits fill words of 64, however few layers there are."""
    monkeypatch.setattr(evaluate, "MOST_CELLS", 64 * 90)
    labeller = Labeller(domains()["solid"])
    for count, made in ((9, 1), (20, 0)):
        axes = (np.linspace(1, 8, count), np.linspace(1, 8, 10), np.array([4.0]))
        rows = rows_of(axes)
        lattice = BlockLattice.of_axes(axes, threads=1)
        same(labeller.label(rows, lattice=lattice), labeller.label(rows))
        assert len(lattice._answers) == made
