"""Attribute the difference between two models to steps exactly, by sums of hybrid models.

A hybrid model has some properties of the old model, such as its wireframes, and others of the new
one, such as its densities. A step is the sum over one hybrid minus that over the previous hybrid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.changes.difference_settings import (
    DENSITY,
    GRADE,
    LABELS,
    LATTICE,
    ORDER,
    WIREFRAMES,
)
from geodomain.changes.overlay import Lengths
from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.mesh.edges import exact_product
from geodomain.volumes.exact_sums import ONE, exact_sums

# Exact sums: a row for each group of blocks, with volume, tonnes, and for each grade the tonnes
# that have the grade, and the metal. In units of 2^-1126, as in `exact_sums`.
Sums: TypeAlias = "NDArray[np.object_]"
Places: TypeAlias = "NDArray[np.intp]"

# Within this range, float64 holds the rounding errors of volume times density times grade.
_LOWEST, _HIGHEST = 1e-90, 1e90
# Lengths below this are exact in float64.
_EXACT = 1 << 53


class Factor(NamedTuple):
    """A step of the attribution: the properties that become new together.

    Attributes
    ----------
    name : str
        Name of the step.
    properties : frozenset of str
        Some of `PROPERTIES`.
    """

    name: str
    properties: frozenset[str]


class Hybrid(NamedTuple):
    """Which properties are new in a hybrid model, for blocks in both models.

    Blocks have the labels of the domains. `labels` says whose edits are added: where the label in
    the file of the old (False) or the new (True) model differs from the label by its own domains,
    the block has the label in the file. None adds no edits.
    """

    wireframes: bool
    order: bool
    lattice: bool
    density: bool
    grade: bool
    labels: bool | None = None


def hybrid_of(new: Iterable[str]) -> Hybrid:
    """Return the hybrid in which these properties are new."""
    names = set(new)
    properties = (WIREFRAMES, ORDER, LATTICE, DENSITY, GRADE, LABELS)
    return Hybrid(*(name in names for name in properties))


@dataclass(frozen=True)
class Version:
    """The blocks of one model, ready to be summed.

    Attributes
    ----------
    labels : mapping of (bool, bool) to (n,) intp
        The label of each block by domains. The key says whether their wireframes are new, and
        whether their order is new. Labels are numbered for both models together.
    density : (n,) float64
        The densities, NaN where missing.
    grades : tuple of (n,) float64
        The grades, NaN where missing.
    steps : (n,) intp
        The interval between cut-offs of each block's grade; 0 is below every cut-off.
    edited : (labels in the file, labels by the model's own domains), optional
        Two (n,) intp arrays; None if labels in the file are not a step of their own.
    """

    labels: Mapping[tuple[bool, bool], Places]
    density: Floats
    grades: tuple[Floats, ...]
    steps: Places
    edited: tuple[Places, Places] | None = None


class Shape(NamedTuple):
    """The groups of `Sums`: numbers of labels, of intervals between cut-offs, and of grades."""

    labels: int
    intervals: int
    grades: int

    @property
    def groups(self) -> int:
        """Number of groups; the group of a block is label times intervals plus interval."""
        return self.labels * self.intervals

    def zero(self) -> Sums:
        """Return sums over no blocks."""
        return np.zeros((self.groups, 2 + 2 * self.grades), np.object_)


def require_range(values: Floats, name: str, table: str, rows: NDArray[np.int64]) -> None:
    """Raise TableError for numbers whose products float64 cannot hold exactly; accept 0 and NaN.

    `rows` are the rows of the numbers in the table, from 0.
    """
    size = np.abs(values)
    wrong = (size > _HIGHEST) | ((size < _LOWEST) & (size > 0))
    if wrong.any():
        row = int(wrong.argmax())
        message = (
            f"{name} is {float(values[row])!r} in block {int(rows[row]) + 1:,} of {table}, and "
            f"exact sums need 0 or a magnitude from {_LOWEST:g} to {_HIGHEST:g}: correct the "
            "number, or declare it as missing with missing="
        )
        raise TableError(message)


def require_number(density: float) -> None:
    """Raise TableError if products of the density of all blocks are not exact in float64."""
    if not _LOWEST <= density <= _HIGHEST:
        message = (
            f"the density of all blocks is {density!r}, and exact sums need a number from "
            f"{_LOWEST:g} to {_HIGHEST:g}: correct it"
        )
        raise TableError(message)


def volume_parts(lengths: Sequence[Lengths]) -> list[Floats]:
    """Return arrays whose sum is the exact product of three lengths.

    One array is enough for lengths of few digits, whose product is below 2^53.

    Parameters
    ----------
    lengths : three (n,) int64 or object
        Whole numbers.

    Examples
    --------
    >>> three = np.array([3, 2**40 + 1])
    >>> [part.tolist() for part in volume_parts([three, three, np.array([1, 1])])]
    [[9.0, 1.2089258196168282e+24], [0.0, 1.0]]
    """
    if any(each.dtype == object or (len(each) and int(each.max()) >= _EXACT) for each in lengths):
        x, y, z = (np.asarray(each, np.object_) for each in lengths)
        return _parts_of_integers(x * y * z)
    along_x, along_y, along_z = (each.astype(np.float64) for each in lengths)
    plan = exact_product(along_x, along_y)
    parts = [part for factor in plan for part in exact_product(factor, along_z)]
    return [parts[0], *(part for part in parts[1:] if part.any())]


def _parts_of_integers(values: NDArray[np.object_]) -> list[Floats]:
    """Return float64 arrays that add up to Python integers."""
    parts = [values.astype(np.float64)]
    rest = values - np.array([int(each) for each in parts[0].tolist()], np.object_)
    return [parts[0], *(_parts_of_integers(rest) if rest.any() else [])]


class _Terms:
    """Sums over one batch of blocks for each hybrid; equal amounts are summed only once.

    Parameters
    ----------
    parts : list of (m,) float64
        Volumes, as from `volume_parts`.
    old, new : (Version, rows)
        The two models, and the row of each block in them.
    """

    def __init__(
        self,
        parts: Sequence[Floats],
        old: tuple[Version, Places],
        new: tuple[Version, Places],
        shape: Shape,
    ) -> None:
        self._parts, self._sides, self._shape = parts, (old, new), shape
        self._cache: dict[tuple[object, ...], list[int]] = {}
        self._edits: dict[bool, _Terms] = {}

    def sums(self, hybrid: Hybrid) -> Sums:
        """Return the sums over the batch for one hybrid."""
        by_domains = self._by_label(hybrid, self._labels(hybrid), hybrid[:3])
        if hybrid.labels is None or self._sides[hybrid.labels][0].edited is None:
            return by_domains
        terms = self._edited(hybrid.labels)
        version, rows = terms._sides[hybrid.labels]
        assert version.edited is not None
        of_file, of_domains = (labels[rows] for labels in version.edited)
        result: Sums = by_domains + terms._by_label(hybrid, of_file, ("file",))
        result -= terms._by_label(hybrid, of_domains, ("domains",))
        return result

    def _edited(self, new: bool) -> _Terms:
        """Return the blocks whose label in a file differs from that of its domains."""
        if new not in self._edits:
            version, rows = self._sides[new]
            assert version.edited is not None
            differs = version.edited[0][rows] != version.edited[1][rows]
            old, other = ((version, rows[differs]) for version, rows in self._sides)
            parts = [part[differs] for part in self._parts]
            self._edits[new] = _Terms(parts, old, other, self._shape)
        return self._edits[new]

    def _by_label(self, hybrid: Hybrid, labels: Places, named: tuple[object, ...]) -> Sums:
        """Return the sums of a hybrid by these labels; `named` is their key in the cache."""
        groups = self._groups(hybrid, labels)
        # Without cut-offs, groups do not depend on the grade.
        where = (*named, hybrid.grade if self._shape.intervals > 1 else False)
        columns = [self._sum(("volume", where), groups, lambda: self._parts)]
        columns.append(
            self._sum(
                ("tonnes", where, hybrid.density), groups, lambda: self._tonnes(hybrid.density)
            )
        )
        for number in range(self._shape.grades):
            key = where, hybrid.density, hybrid.grade, number
            graded, metal = (
                partial(self._graded, hybrid, number),
                partial(self._metal, hybrid, number),
            )
            columns.append(self._sum(("graded", *key), groups, graded))
            columns.append(self._sum(("metal", *key), groups, metal))
        result = self._shape.zero()
        for place, column in enumerate(columns):
            result[:, place] = column
        return result

    def _sum(
        self, key: tuple[object, ...], groups: Places, terms: Callable[[], Sequence[Floats]]
    ) -> list[int]:
        if key not in self._cache:
            arrays = terms()
            totals = [0] * self._shape.groups
            for array in arrays:
                some = exact_sums(array, groups, self._shape.groups)
                totals = [own + more for own, more in zip(totals, some, strict=True)]
            self._cache[key] = totals
        return self._cache[key]

    def _labels(self, hybrid: Hybrid) -> Places:
        """Return the label of each block by domains."""
        version, rows = self._sides[hybrid.lattice]
        return version.labels[hybrid.wireframes, hybrid.order][rows]

    def _groups(self, hybrid: Hybrid, labels: Places) -> Places:
        """Return the group of each block, from its label."""
        graded, places = self._sides[hybrid.grade]
        return np.asarray(labels * self._shape.intervals + graded.steps[places], np.intp)

    def _density(self, new: bool) -> Floats:
        version, rows = self._sides[new]
        return np.nan_to_num(version.density[rows])

    def _grade(self, new: bool, number: int) -> Floats:
        version, rows = self._sides[new]
        return version.grades[number][rows]

    def _tonnes(self, new: bool) -> list[Floats]:
        return _products(self._parts, [self._density(new)])

    def _graded(self, hybrid: Hybrid, number: int) -> list[Floats]:
        there = ~np.isnan(self._grade(hybrid.grade, number))
        return _products(self._parts, [self._density(hybrid.density) * there])

    def _metal(self, hybrid: Hybrid, number: int) -> list[Floats]:
        grade = np.nan_to_num(self._grade(hybrid.grade, number))
        return _products(self._parts, exact_product(self._density(hybrid.density), grade))


def _products(left: Sequence[Floats], right: Sequence[Floats]) -> list[Floats]:
    """Return arrays that add up exactly to the product of two sums of arrays."""
    every = [part for x in left for y in right for part in exact_product(x, y)]
    return [part for part in every if part.any()]


class HybridSums:
    """Running sums over the blocks in both models, for several hybrids.

    Parameters
    ----------
    old, new : Version
    shape : Shape
    hybrids : iterable of Hybrid
        The hybrids to sum.

    Attributes
    ----------
    sums : dict of Hybrid to Sums
    """

    def __init__(self, old: Version, new: Version, shape: Shape, hybrids: Iterable[Hybrid]) -> None:
        self._old, self._new, self._shape = old, new, shape
        self.sums = {hybrid: shape.zero() for hybrid in hybrids}

    def add(self, parts: Sequence[Floats], first: Places, second: Places) -> None:
        """Add overlaps of blocks: their volumes, and the rows of their old and new blocks."""
        terms = _Terms(parts, (self._old, first), (self._new, second), self._shape)
        for hybrid, sums in self.sums.items():
            sums += terms.sums(hybrid)


def sum_of_blocks(version: Version, parts: Sequence[Floats], labels: Places, shape: Shape) -> Sums:
    """Return the sums over all blocks of one model, with these labels.

    `parts` are the volumes of the blocks, as from `volume_parts`.
    """
    only = Version({(False, False): labels}, version.density, version.grades, version.steps)
    rows = np.arange(len(labels))
    terms = _Terms(parts, (only, rows), (only, rows), shape)
    return terms.sums(hybrid_of(()))


# --- From sums to steps.


@dataclass(frozen=True)
class Amounts:
    """Exact sums over the blocks of a domain, or the change of these sums by a step.

    Attributes
    ----------
    volume, tonnes : Fraction
        Volume and tonnes.
    graded : tuple of Fraction
        For each grade, the tonnes of the blocks that have it.
    metal : tuple of Fraction
        For each grade, the metal.
    means : tuple of Fraction or None
        For each grade, the mean, weighted by tonnes; None without tonnes.
    """

    volume: Fraction
    tonnes: Fraction
    graded: tuple[Fraction, ...]
    metal: tuple[Fraction, ...]
    means: tuple[Fraction | None, ...]

    def combined(self, other: Amounts, weight: Fraction) -> Amounts:
        """Return these amounts plus `weight` times `other`; a mean is None if either is None."""
        return Amounts(
            self.volume + weight * other.volume,
            self.tonnes + weight * other.tonnes,
            tuple(a + weight * b for a, b in zip(self.graded, other.graded, strict=True)),
            tuple(a + weight * b for a, b in zip(self.metal, other.metal, strict=True)),
            tuple(
                None if a is None or b is None else a + weight * b
                for a, b in zip(self.means, other.means, strict=True)
            ),
        )


class Scale(NamedTuple):
    """Exact factors from `Sums` to amounts: for volume, for tonnes, and for each metal."""

    volume: Fraction
    tonnes: Fraction
    metal: tuple[Fraction, ...]


def amounts_of(row: Sequence[int], scale: Scale) -> Amounts:
    """Return a row of `Sums` as amounts."""
    volume, tonnes, *rest = (Fraction(int(each), ONE) for each in row)
    graded, metal = rest[::2], rest[1::2]
    return Amounts(
        volume * scale.volume,
        tonnes * scale.tonnes,
        tuple(each * scale.tonnes for each in graded),
        tuple(each * factor for each, factor in zip(metal, scale.metal, strict=True)),
        tuple(m / g if g else None for m, g in zip(metal, graded, strict=True)),
    )


def sequence_states(factors: Sequence[Factor]) -> list[frozenset[str]]:
    """Return which properties are new before the first step and after each step."""
    states: list[frozenset[str]] = [frozenset()]
    for factor in factors:
        states.append(states[-1] | factor.properties)
    return states


def all_states(factors: Sequence[Factor]) -> list[frozenset[str]]:
    """Return which properties are new after each possible set of steps."""
    return [
        frozenset().union(*(factor.properties for factor in some))
        for count in range(len(factors) + 1)
        for some in combinations(factors, count)
    ]


def steps_in_order(
    factors: Sequence[Factor], levels: Mapping[frozenset[str], Amounts]
) -> list[Amounts]:
    """Return the change by each step, in the order of the steps.

    `levels` holds the amounts of the hybrids of `sequence_states`.
    """
    states = sequence_states(factors)
    return [
        levels[after].combined(levels[before], Fraction(-1)) for before, after in pairwise(states)
    ]


def steps_averaged(
    factors: Sequence[Factor], levels: Mapping[frozenset[str], Amounts]
) -> list[Amounts]:
    """Return the mean change by each step, over all orders of the steps (Shapley, 1953).

    `levels` holds the amounts of the hybrids of `all_states`. Of the k! orders of k steps,
    s! (k - 1 - s)! have exactly a certain set of s steps before a certain step.
    """
    count = len(factors)
    result = []
    for factor in factors:
        others = [each for each in factors if each is not factor]
        total: Amounts | None = None
        for size in range(count):
            ways = math.factorial(size) * math.factorial(count - 1 - size)
            weight = Fraction(ways, math.factorial(count))
            for some in combinations(others, size):
                before = frozenset[str]().union(*(each.properties for each in some))
                change = levels[before | factor.properties].combined(levels[before], Fraction(-1))
                zero = change.combined(change, Fraction(-1)) if total is None else total
                total = zero.combined(change, weight)
        assert total is not None
        result.append(total)
    return result


def cumulated(sums: Sums, shape: Shape) -> Iterator[tuple[int | None, int, list[int]]]:
    """Yield sums by label and cut-off: the label (None for all), the cut-off, and the sums.

    Cut-off 0 sums all blocks; cut-off k sums the blocks at or above the k-th cut-off.
    """
    table = sums.reshape(shape.labels, shape.intervals, -1)
    above = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    for label in range(shape.labels):
        for step in range(shape.intervals):
            yield label, step, list(above[label, step])
    for step in range(shape.intervals):
        yield None, step, list(above[:, step].sum(axis=0)) if shape.labels else []
