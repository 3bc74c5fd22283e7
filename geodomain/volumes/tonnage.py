"""Sum volume, tonnes and metal exactly by domain, class and bench, chunk by chunk."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import DensityChecks, DensityUnit, LabelSpellings
from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.tables.numbers import BelowDetection, NegativeGrades
from geodomain.volumes.exact_sums import exact_sums

# Faces this close to a bench boundary, in bench heights, count as on the boundary, because in
# float64, for example, 0.3 / 0.1 is below 3.
_ON_FACE = 1e-9
_MOST = 10_000


def split_by_bench(
    z: Floats, dz: Floats, height: float, first_row: int = 1
) -> Iterator[tuple[Floats, Floats]]:
    """Yield pairs of arrays: a bench for each block, and the share of the block in this bench.

    The first pair is for the lowest bench of each block, the second pair for the bench above that,
    and so on.

    Parameters
    ----------
    z, dz : (n,) float64
        Centres and heights of the blocks. If the centre or the height of a block is unknown, the
        bench is NaN, and its share is 1.
    height : float
        Height of a bench; a bench includes its base and excludes its top.
    first_row : int
        Number of the first block, for messages.

    Yields
    ------
    bench : (n,) float64
        The base of the bench.
    share : (n,) float64
        The share of the block in the bench, 0 to 1; 0 for a block that ends below the bench.

    Raises
    ------
    TableError
        For a block that spans more than 10,000 benches.
    """
    low, high = snapped((z - dz / 2) / height), snapped((z + dz / 2) / height)
    valid = np.isfinite(low) & np.isfinite(high) & (high > low)
    first = np.where(valid, np.floor(low), np.nan)
    count = np.where(valid, np.ceil(high) - first, 1.0)
    if (count > _MOST).any():
        row = int(np.argmax(count > _MOST))
        message = (
            f"block {first_row + row} is {dz[row]:g} high, more than {_MOST:,} benches of "
            f"{height:g}: correct the block's size, or use higher benches"
        )
        raise TableError(message)
    for step in range(int(count.max(initial=0))):
        bottom = first + step
        inside = np.minimum(high, bottom + 1) - np.maximum(low, bottom)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(count > 1, np.clip(inside / (high - low), 0, 1), 1.0)
        yield bottom * height, np.where(step < count, share, 0.0)


def snapped(heights: Floats) -> Floats:
    """Round values that are within 1e-9 of a whole number; keep other values."""
    nearest = np.round(heights)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(heights - nearest) <= _ON_FACE, nearest, heights)


def numbered_keys(keys: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a tuple: the distinct keys in ascending order, and each key's index in this list.

    Parameters
    ----------
    keys : (n,) intp
        Keys from 0 to `size` - 1.
    size : int
        The size of the range of keys. Keys are sorted only if this range is much larger than n.

    Examples
    --------
    >>> distinct, places = numbered_keys(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), places.tolist()
    ([2, 7], [1, 0, 1])
    """
    if size > 4 * len(keys):
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, places
    there = np.bincount(keys, minlength=size) > 0
    ranks = np.cumsum(there) - 1
    return np.flatnonzero(there), ranks[keys]


# The unit of metal, derived from the unit of its grade.

_PER_TONNE = re.compile(r"([A-Za-z]+)/t")


@dataclass(frozen=True)
class MetalUnit:
    """The unit of a metal.

    Attributes
    ----------
    name : str
        Name of the unit.
    parts : int
        Number by which grade times tonnes is divided, such as 100 for a grade in percent.
    times : int
        Number by which grade times tonnes is multiplied.
    """

    name: str
    parts: int = 1
    times: int = 1


_UNITS = {
    "gpt": MetalUnit("g"),
    # Troy ounces per short ton of 0.90718474 tonnes.
    "opt": MetalUnit("oz", 90_718_474, 100_000_000),
    "%": MetalUnit("t", 100),
    "ppm": MetalUnit("g"),
    "ppb": MetalUnit("mg"),
}


def metal_unit(grade: str, unit: str) -> MetalUnit:
    """Return the unit of metal for a unit of grade.

    Raises
    ------
    ValueError
        If the unit is not a unit of grade.

    Examples
    --------
    >>> metal_unit("AU", "g/t").name, metal_unit("CU", "%").name
    ('g', 't')
    """
    listed, mass = _UNITS.get(unit), _PER_TONNE.fullmatch(unit)
    if listed is not None:
        return listed
    if mass is None:
        message = (
            f"the unit of {grade} is {unit!r}; use %, ppm, ppb, gpt, opt (troy ounces per short "
            "ton), or a mass per tonne such as g/t"
        )
        raise ValueError(message)
    return MetalUnit(mass[1])


# Sums of volume, tonnes and metal, chunk by chunk.

Places = NDArray[np.intp]
# Functions that return a column as numbers, NaN where missing; and the labels of rows: all distinct
# labels so far, starting with the labels passed in, and the index of each row's label among them.
GiveNumbers = Callable[[str], Floats]
GiveLabels = Callable[[list[str]], tuple[list[str], Places]]

# The smallest float64 with all its digits.
_SMALLEST = np.finfo(np.float64).tiny
# More distinct labels than this are not domains.
_MOST_LABELS = 1000
# Shares are rounded in files. A sum above 1 by more than this is an overlap; a smaller
# remainder of a block is ignored.
_ROUNDED = 1e-6
# The domain of the remainders of blocks with shares, if the background has no name.
REST = "rest"


@dataclass(frozen=True)
class Wanted:
    """Columns and settings of a sum of tonnes.

    Attributes
    ----------
    domain : str
        The column of labels. If there are shares, it is not read.
    density : str or float
        The column of densities, or one density for all blocks.
    grades : tuple of str
        The columns of grades.
    bench : float, optional
        The height of a bench.
    cut : str
        The grade to which cut-offs apply.
    cutoffs : tuple of float
        Cut-offs in ascending order. The result has, in addition, rows to which no cut-off applies.
    shares : mapping of str to str
        For each name of a domain, the column with the share of each block in this domain.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        Policy for negative grades; if None, negative grades are used unchanged.
    units : mapping of str to MetalUnit
        Units of metal, for grades whose unit is specified.
    density_unit : DensityUnit, optional
        The unit of the densities, to convert sums to tonnes.
    rest : str
        If there are shares, the domain of the remainder of each block.
    spelled : tuple of str
        The texts of cut-offs that have commas but no point: a comma may be a decimal mark in them.
    classification : str
        The column of resource classes, such as Measured and Indicated; empty if there is none.
    """

    domain: str
    density: str | float
    grades: tuple[str, ...] = ()
    bench: float | None = None
    cut: str = ""
    cutoffs: tuple[float, ...] = ()
    shares: Mapping[str, str] = field(default_factory=dict)
    below_detection: BelowDetection | None = None
    units: Mapping[str, MetalUnit] = field(default_factory=dict)
    density_unit: DensityUnit | None = None
    rest: str = REST
    spelled: tuple[str, ...] = ()
    classification: str = ""

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains with shares in the order of the result; then the domain of the remainder."""
        return tuple(dict.fromkeys([*self.shares, self.rest])) if self.shares else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read, apart from centroids and sizes."""
        labels = () if self.shares else (self.domain,)
        classes = (self.classification,) if self.classification else ()
        return tuple(dict.fromkeys([*labels, *classes, *self.amounts]))

    @property
    def amounts(self) -> tuple[str, ...]:
        """The columns to read as numbers: shares, density and grades."""
        density = (self.density,) if isinstance(self.density, str) else ()
        return tuple(dict.fromkeys([*self.shares.values(), *density, *self.grades]))


@dataclass
class Group:
    """Sums over the blocks of a domain, a class and a bench whose grade is between two cut-offs.

    Attributes
    ----------
    counts : (2 + grades + 1,) int64
        Numbers of blocks: all, those without volume, and those without density; then, for each
        grade, those without this grade.
    sums : list of int
        Exact sums: volume and tonnes, then two for each grade. These two are the tonnes of the
        blocks that have the grade, and the metal.
    """

    counts: NDArray[np.int64]
    sums: list[int]

    def add(self, other: Group) -> None:
        """Add the counts and sums of another group."""
        self.counts = self.counts + other.counts
        self.sums = [own + more for own, more in zip(self.sums, other.sums, strict=True)]


@dataclass(frozen=True)
class Chunk:
    """Volumes, densities and grades of a chunk of blocks; NaN means a missing value.

    `step` is the number of the cut-off interval of each block, and `classes` the number of its
    class; see `Tonnage`.
    """

    volume: Floats
    density: Floats
    grades: tuple[Floats, ...]
    step: Places
    classes: Places

    def part(self, rows: slice) -> Chunk:
        """Return the values of a range of blocks."""
        return Chunk(
            self.volume[rows],
            self.density[rows],
            tuple(grade[rows] for grade in self.grades),
            self.step[rows],
            self.classes[rows],
        )


class Tonnage:
    """Running sums of volume, tonnes and metal.

    Attributes
    ----------
    rows : int
        Number of blocks.
    groups : dict
        Sums by domain, class, bench and cut-off interval. The class is empty if there is no column
        of classes, or if the block has no class. A bench is given by its base, or is None if
        there are no benches or the height of blocks is unknown. Interval 0 holds blocks below every
        cut-off or without the grade. Interval 1 begins at the lowest cut-off.
    blocks : dict
        Counts by domain, class and cut-off interval; a block in several benches counts once.
    all_blocks : dict
        For each class, counts (intervals, kinds) int64: by cut-off interval, all blocks, and the
        blocks of each mask of `flags_of`. A block in several domains counts once.
    negative : dict
        For each grade, counts of negative values.
    below : dict of str to int
        For each column of numbers, the number of cells below detection.
    unshared : dict
        For each domain with shares, the number of blocks whose share is missing.
    over : tuple, optional
        How many blocks have shares that add up to more than 1, and the number of the first such
        block, counted from 1. None if there is no such block.
    spelled : LabelSpellings
        The spellings of labels.
    densities : DensityChecks
        Checks of the densities.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self.rows = wanted, 0
        self.groups: dict[tuple[str, str, float | None, int], Group] = {}
        self.blocks: dict[tuple[str, str, int], NDArray[np.int64]] = {}
        self.all_blocks: dict[str, NDArray[np.int64]] = {}
        self.negative = {
            name: NegativeGrades(name, wanted.below_detection) for name in wanted.grades
        }
        self.below: dict[str, int] = {}
        self.over: tuple[int, int] | None = None
        self.unshared: dict[str, int] = {}
        self.spelled = LabelSpellings(wanted.domain)
        self.densities = DensityChecks(wanted.density, wanted.grades, wanted.density_unit)
        self._labels: list[str] = list(wanted.domains)
        self._classes: list[str] = [] if wanted.classification else [""]

    @property
    def intervals(self) -> int:
        """Number of cut-off intervals, that below every cut-off included."""
        return len(self.wanted.cutoffs) + 1

    @property
    def kinds(self) -> int:
        """Number of counts of a group."""
        return 3 + len(self.wanted.grades)

    def add(
        self,
        points: Floats,
        sizes: Floats,
        numbers: GiveNumbers,
        labels: GiveLabels,
        classes: GiveLabels | None = None,
    ) -> None:
        """Add the blocks of a chunk to the sums.

        Parameters
        ----------
        points, sizes : (n, 3) float64
            Centroids in world coordinates, and sizes.
        numbers : callable
            Takes the name of a column, and returns the blocks' values in it as numbers.
        labels : callable
            Returns the labels of the blocks; see `GiveLabels`.
        classes : callable, optional
            Returns the resource classes of the blocks in the same way. It is needed if there is a
            column of classes.
        """
        chunk = self.read(sizes, numbers, classes)
        flags = flags_of(chunk)
        any_part = np.zeros(len(points), np.bool_)
        for codes, share in self._parts(numbers, labels):
            present = share > 0
            any_part |= present
            self._count(np.flatnonzero(present), codes, chunk, flags)
            for bench, part in self._benches(points, sizes):
                here = np.flatnonzero(present & (part > 0))
                if len(here):
                    self._sum(here, codes, bench, share * part, chunk, flags)
        self.count_all(chunk, any_part)

    def count_all(self, chunk: Chunk, rows: NDArray[np.bool_]) -> None:
        """Count the blocks of a chunk that are in the mask `rows`, by class and interval."""
        keys = chunk.classes[rows] * self.intervals + chunk.step[rows]
        table = counts_by_key(keys, flags_of(chunk)[:, rows], len(self._classes) * self.intervals)
        tables = table.reshape(len(self._classes), self.intervals, self.kinds)
        for name, counts in zip(self._classes, tables, strict=True):
            self.all_blocks[name] = self.all_blocks.get(name, 0) + counts
        self.rows += len(rows)

    @property
    def class_names(self) -> list[str]:
        """The resource classes so far, in the order of the codes of `Chunk.classes`."""
        return self._classes

    def add_below(self, cells: Callable[[str], int]) -> None:
        """Count the cells below detection of a chunk; `cells` returns their number in a column."""
        for name in self.wanted.amounts:
            self.below[name] = self.below.get(name, 0) + cells(name)

    def read(self, sizes: Floats, numbers: GiveNumbers, classes: GiveLabels | None) -> Chunk:
        """Check and return the values of the blocks, with cut-off intervals and classes.

        The parameters are as for `add`. The blocks are not counted yet.
        """
        wanted = self.wanted
        volume = volumes_of(sizes)
        if isinstance(wanted.density, str):
            density = numbers(wanted.density)
            self._refuse(density < 0, density, wanted.density, "a density cannot be negative")
        else:
            density = np.full(len(sizes), wanted.density)
        self.densities.add(density, self.rows)
        grades = tuple(self.negative[name].take(numbers(name), self.rows) for name in wanted.grades)
        self._require_finite(sizes, volume, density, grades)
        step = np.zeros(len(sizes), np.intp)
        if wanted.cutoffs:
            cut = grades[wanted.grades.index(wanted.cut)]
            above = np.searchsorted(wanted.cutoffs, cut, side="right")
            step = np.where(np.isnan(cut), 0, above)
        codes = np.zeros(len(sizes), np.intp)
        if classes is not None:
            self._classes, codes = classes(self._classes)
            require_few(self._classes, wanted.classification, "classification=")
        return Chunk(volume, density, grades, step, codes)

    def _refuse(self, wrong: NDArray[np.bool_], numbers: Floats, name: str, why: str) -> None:
        """Raise TableError for the first block in the mask `wrong`; accept an empty mask."""
        if wrong.any():
            row = int(wrong.argmax())
            text = repr(float(numbers[row])).removesuffix(".0")
            message = f"{name} is {text} in block {self.rows + row + 1}: {why}"
            if numbers[row] < 0:
                message += f"; if {text} marks a missing value, use missing={{{name!r}: {text}}}"
            raise TableError(message)

    def _require_finite(
        self, sizes: Floats, volume: Floats, density: Floats, grades: tuple[Floats, ...]
    ) -> None:
        """Raise TableError for the first block whose volume, tonnes or metal overflows float64."""
        wanted = self.wanted
        with np.errstate(over="ignore", invalid="ignore"):
            tonnes = volume * density
            metals = [tonnes * grade for grade in grades]
        products = [("volume", "its largest size", sizes.max(axis=1, initial=0), volume)]
        name = wanted.density if isinstance(wanted.density, str) else "the density"
        products.append(("tonnes", name, density, tonnes))
        for name, grade, metal in zip(wanted.grades, grades, metals, strict=True):
            products.append(("metal", name, grade, metal))
        for what, name, factors, product in products:
            wrong = np.flatnonzero(np.isinf(product))
            if wrong.size:
                row = int(wrong[0])
                value = float(factors[row])
                mend = "correct the value"
                if name in wanted.columns:
                    mark = f"missing={{{name!r}: {value!r}}}"
                    mend += f", or, if it stands for a missing value, use {mark}"
                message = (
                    f"block {self.rows + row + 1} has more {what} than float64 can hold: {name} "
                    f"is {value!r}; {mend}"
                )
                raise TableError(message)

    def _parts(self, numbers: GiveNumbers, labels: GiveLabels) -> Iterator[tuple[Places, Floats]]:
        """Yield pairs of arrays: a domain for each block, and the block's share in this domain.

        A domain is an index into the labels. If there are shares, a pair is yielded for each
        domain, and a last pair for the remainder of the blocks. Otherwise one pair is yielded.
        """
        if not self.wanted.shares:
            self._labels, codes = labels(self._labels)
            require_few(self._labels, self.wanted.domain)
            yield codes, np.ones(len(codes))
            return
        total: Floats | float = 0.0
        for place, (domain, name) in enumerate(self.wanted.shares.items()):
            share = numbers(name)
            wrong = (share < -_ROUNDED) | (share > 1 + _ROUNDED)
            self._refuse(wrong, share, name, "a share must be from 0 to 1, not a percentage")
            share = np.clip(share, 0.0, 1.0)  # shares may exceed the range by rounding
            lost = int(np.isnan(share).sum())
            self.unshared[domain] = self.unshared.get(domain, 0) + lost
            total = total + np.nan_to_num(share)
            yield np.full(len(share), place), np.nan_to_num(share)
        rest = 1 - np.asarray(total)
        rest_place = self._labels.index(self.wanted.rest)
        yield np.full(len(rest), rest_place), np.where(rest > _ROUNDED, rest, 0.0)
        above = np.asarray(total) > 1 + _ROUNDED
        if above.any():
            count, first = self.over or (0, self.rows + int(above.argmax()) + 1)
            self.over = count + int(above.sum()), first

    def _benches(self, points: Floats, sizes: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield pairs of arrays: a bench for each block, and the share of the block in this bench.

        The first pair is for the lowest bench of each block, the second pair for the bench above
        that, and so on.
        """
        if self.wanted.bench is None:
            yield np.full(len(points), np.nan), np.ones(len(points))
            return
        z, dz = points[:, 2], np.where(sizes[:, 2] > 0, sizes[:, 2], np.nan)
        yield from split_by_bench(z, dz, self.wanted.bench, self.rows + 1)

    def _count(self, rows: Places, codes: Places, chunk: Chunk, flags: NDArray[np.bool_]) -> None:
        """Count the blocks in `rows` by domain, class and cut-off interval."""
        shape = len(self._labels), len(self._classes), self.intervals
        keys = np.ravel_multi_index((codes[rows], chunk.classes[rows], chunk.step[rows]), shape)
        distinct, places = numbered_keys(keys, math.prod(shape))
        table = counts_by_key(places, flags[:, rows], len(distinct))
        for counts, *key in zip(table, *np.unravel_index(distinct, shape), strict=True):
            label, resource_class, step = map(int, key)
            name = self._labels[label], self._classes[resource_class], step
            self.blocks[name] = self.blocks.get(name, 0) + counts

    def _sum(
        self,
        rows: Places,
        codes: Places,
        bench: Floats,
        share: Floats,
        chunk: Chunk,
        flags: NDArray[np.bool_],
    ) -> None:
        """Add the blocks in `rows` to the sums by domain, class, bench and cut-off interval."""
        ends, which = np.array([np.nan]), np.zeros(len(rows), np.intp)
        if self.wanted.bench is not None:
            ends, which = np.unique(bench[rows], return_inverse=True)
        shape = len(self._labels), len(self._classes), len(ends), self.intervals
        parts = codes[rows], chunk.classes[rows], which, chunk.step[rows]
        distinct, places = numbered_keys(np.ravel_multi_index(parts, shape), math.prod(shape))
        sums = [exact_sums(values, places, len(distinct)) for values in _values(chunk, rows, share)]
        table = counts_by_key(places, flags[:, rows], len(distinct))
        for index, key in enumerate(zip(*np.unravel_index(distinct, shape), strict=True)):
            label, resource_class, which_end, step = map(int, key)
            end = float(ends[which_end])
            bench_end = None if end != end else end
            name = self._labels[label], self._classes[resource_class], bench_end, step
            group = Group(table[index], [each[index] for each in sums])
            if name in self.groups:
                self.groups[name].add(group)
            else:
                self.groups[name] = group


def volumes_of(sizes: Floats) -> Floats:
    """Return the volumes of blocks, (n,); NaN if a size is missing, not above zero or too small."""
    with np.errstate(over="ignore", invalid="ignore"):
        volume = np.prod(sizes, axis=1)
    # A product below the smallest normal number has lost some or all of its digits.
    valid = np.all((sizes > 0) & np.isfinite(sizes), axis=1) & (volume >= _SMALLEST)
    return np.where(valid, volume, np.nan)


def require_few(texts: Sequence[str], column: str, keyword: str = "column=") -> None:
    """Refuse a column with too many different texts to be domains or resource classes."""
    if len(texts) > _MOST_LABELS:
        what = "domains" if keyword == "column=" else "resource classes"
        message = (
            f"{column} has more than {_MOST_LABELS:,} different values: name the column of {what} "
            f"with {keyword}"
        )
        raise TableError(message)


def flags_of(chunk: Chunk) -> NDArray[np.bool_]:
    """Return masks (.., n) of blocks without volume, without density, and without each grade."""
    return np.isnan([chunk.volume, chunk.density, *chunk.grades])


def counts_by_key(keys: Places, flags: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Return counts for each key: of all its blocks, and of its blocks in each mask of `flags`."""
    counts = [np.bincount(keys, minlength=size)]
    counts += [np.bincount(keys[flag], minlength=size) for flag in flags]
    return np.array(counts, np.int64).T


def _values(chunk: Chunk, rows: Places, share: Floats) -> Iterator[Floats]:
    """Yield arrays of the blocks' terms in the sums: volumes, then tonnes, then two for each grade.

    The two arrays for a grade are the tonnes of the blocks that have the grade, and the metal. An
    unknown term is 0.
    """
    volume = chunk.volume[rows] * share[rows]
    yield _or_zero(volume)
    with np.errstate(over="ignore"):
        tonnes = volume * chunk.density[rows]
        yield _or_zero(tonnes)
        for grade in chunk.grades:
            metal = tonnes * grade[rows]
            yield np.where(np.isfinite(metal), _or_zero(tonnes), 0.0)
            yield _or_zero(metal)


def _or_zero(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
