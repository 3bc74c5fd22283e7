"""The rows of each domain that have a grade and a weight, and their declustering weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, shown
from geodomain.statistics.declustering import (
    Cell,
    Declustering,
    Trial,
    best,
    nearest_volumes,
)
from geodomain.statistics.populations import Numbers, Population, RunningSums
from geodomain.statistics.samples import Samples
from geodomain.statistics.settings import AUTO, NEAREST, WeightSettings
from geodomain.statistics.spilled import SpilledPart
from geodomain.volumes.exact_sums import nearest_float

# More cells than this along an axis, or in all, cannot be numbered.
_MOST_ALONG, _MOST_CELLS = 1 << 30, 1 << 62


class Group(NamedTuple):
    """The rows of one domain, or of all domains, for one grade.

    Attributes
    ----------
    domain : str
        The label; empty for rows without a label, and for all domains.
    whole : bool
        Whether these are all domains together.
    total, missing, without_weight : int
        Numbers of rows: all rows, rows without the grade, and rows that have the grade but no
        weight above 0.
    rows : (n,) intp
        The rows that have the grade and a weight.
    """

    domain: str
    whole: bool
    total: int
    missing: int
    without_weight: int
    rows: NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """The rows of a domain, or of all domains, that have a grade and a weight, in memory.

    `geodomain.statistics.spilled.SpilledPart` has the same methods for rows on disk.

    Attributes
    ----------
    values : (n,) float64
        Grades.
    lengths : (n,) float64, optional
        Weights of the rows; None if all rows have the same weight.
    holes : (n,) int32, optional
        The number of the drillhole of each row; None if drillholes are not known.
    points : (n, 3) float64
        Coordinates; (0, 3) if they are not used.
    threads : int, optional
        Number of threads; by default all cores.
    """

    values: Floats
    lengths: Floats | None
    holes: NDArray[np.int32] | None
    points: Floats
    threads: int | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def located(self) -> Part:
        """Return the rows that have coordinates."""
        there = np.isfinite(self.points).all(axis=1)
        if there.all():
            return self
        return Part(
            self.values[there],
            None if self.lengths is None else self.lengths[there],
            None if self.holes is None else self.holes[there],
            self.points[there],
            self.threads,
        )

    def total_weight(self) -> float:
        """Return the exact sum of the weights, rounded once; without weights, the row count."""
        return total_weight(self.lengths, len(self))

    def population(self, weights: Numbers | None = None) -> Population:
        """Return the sorted values, with their own weights or with other weights."""
        own = self.lengths if weights is None else weights[slice(None)]
        return Population(self.values, own, self.holes)

    def cells(self, origins: int) -> Declustering:
        """Return the grids of cells that decluster these rows, which must have coordinates."""
        return Declustering(
            self.points, origins, self.threads, values=self.values, lengths=self.lengths
        )


class Groups:
    """The rows of a table by domain, with their weights and coordinates.

    Attributes
    ----------
    samples : Samples
        The table.
    weights : (n,) float64, optional
        The weight of each row, NaN where missing; None if all rows have the same weight.
    points : (n, 3) float64
        Coordinates; empty unless `samples` has them.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.weights, self.points = samples.weights_of_rows(), samples.points()
        self._domains, self._holes = samples.domains(), samples.holes()

    def values(self, grade: str) -> Floats:
        """Return a grade of all rows, NaN where missing."""
        return self.samples.values(grade)

    def parts(self, grade: str, threads: int | None) -> Iterator[tuple[Group, Part | SpilledPart]]:
        """Yield the rows of each domain, in the order of the labels, and then those of all."""
        spilled = self.samples.spilled
        if spilled is not None:
            for group, code in self._spilled_groups():
                part = SpilledPart(spilled, code, grade, threads)
                yield group._replace(missing=part.missing, without_weight=part.without_weight), part
            return
        values = self.values(grade)
        for group in self.of(values):
            rows = group.rows
            yield (
                group,
                Part(
                    values[rows],
                    self.weights_of(rows),
                    None if self._holes is None else self._holes[rows],
                    self.points[rows] if self.samples.placed else self.points,
                    threads,
                ),
            )

    def _spilled_groups(self) -> Iterator[tuple[Group, int | None]]:
        """Yield the domains with rows on disk, and then all domains, with the index of the label.

        The rows of these groups are not listed, because they are on disk.
        """
        samples = self.samples
        assert samples.spilled is not None
        nothing = np.empty(0, np.intp)
        for code in sorted(range(len(samples.labels)), key=lambda at: in_order(samples.labels[at])):
            total = samples.spilled.rows_of(code) if samples.column is not None else 0
            if total:
                yield Group(samples.labels[code], False, total, 0, 0, nothing), code
        yield Group("", True, samples.rows, 0, 0, nothing), None

    def of(self, values: Floats) -> Iterator[Group]:
        """Yield the rows of each domain in the order of the labels, and then those of all."""
        samples = self.samples
        valued = ~np.isnan(values)
        used = valued if self.weights is None else valued & ~np.isnan(self.weights)
        every = np.flatnonzero(used)
        if samples.column is not None and samples.rows:
            codes, count = self._domains, len(samples.labels)
            totals, missing, usable = (
                np.bincount(codes[mask], minlength=count) for mask in (slice(None), ~valued, used)
            )
            order = every[np.argsort(codes[every], kind="stable")]
            ends = np.cumsum(usable)
            for code in sorted(range(count), key=lambda at: in_order(samples.labels[at])):
                if totals[code]:
                    yield Group(
                        samples.labels[code],
                        False,
                        int(totals[code]),
                        int(missing[code]),
                        int(totals[code] - missing[code] - usable[code]),
                        order[ends[code] - usable[code] : ends[code]],
                    )
        lost = int((~valued).sum())
        yield Group("", True, samples.rows, lost, samples.rows - lost - len(every), every)

    def placed(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the given rows without those that lack a coordinate."""
        return rows[np.isfinite(self.points[rows]).all(axis=1)]

    def weights_of(self, rows: NDArray[np.intp]) -> Floats | None:
        """Return the weights of some rows; None if all rows have the same weight."""
        return None if self.weights is None else self.weights[rows]

    def in_domain(self, domain: str, whole: bool) -> NDArray[np.intp]:
        """Return the rows of a domain, or all rows, that have a weight and coordinates."""
        samples = self.samples
        if whole or samples.column is None:
            rows = np.arange(samples.rows)
        else:
            code = samples.labels.index(domain) if domain in samples.labels else -1
            rows = np.flatnonzero(self._domains == code)
        if self.weights is not None:
            rows = rows[~np.isnan(self.weights[rows])]
        return self.placed(rows)


def in_order(label: str) -> tuple[bool, str]:
    """Return the key that sorts labels; the rows without a label come last."""
    return not label, label


def require_labels(blocks: Samples, samples: Samples) -> None:
    """Raise TableError if samples have a label column, and blocks have none."""
    if samples.column is not None and blocks.column is None:
        message = (
            f"{blocks.table} has no column {samples.column!r} to match the domains of the samples: "
            "label it with 'geodomain label', or name its column with column="
        )
        raise TableError(message)


def lost_rows(
    samples: Samples, grade: str, missing: int, without_weight: int, left_out: str
) -> Iterator[str]:
    """Yield warnings about rows of a table without a grade or a weight."""
    if missing:
        yield f"{counted(missing, samples.word)} without {grade}: {left_out}"
    if without_weight:
        lost = counted(without_weight, samples.word)
        yield (
            f"{lost} with {grade} but without a weight above 0 ({samples.weights.name}): {left_out}"
        )


def total_weight(weights: Floats | None, count: int) -> float:
    """Return the exact sum of weights, rounded once; `count` if there are no weights."""
    if weights is None:
        return float(count)
    return nearest_float(RunningSums(weights.__getitem__, len(weights)).total)


class Weighed(NamedTuple):
    """The declustered weights of the samples of a domain.

    Attributes
    ----------
    weights : (n,) float64, optional
        Declustering weights times the weights of the samples, in memory or on disk; None if there
        are no declustering weights.
    cell : tuple of float, optional
        Size of the cells.
    trials : list of Trial
        Sizes that were tried.
    chosen : Trial, optional
        The trial whose size is used.
    why : str
        The reason, if there are no weights.
    """

    weights: Numbers | None = None
    cell: Cell | None = None
    trials: list[Trial] = []  # noqa: RUF012  # never changed
    chosen: Trial | None = None
    why: str = ""


def decluster(
    part: Part | SpilledPart,
    settings: WeightSettings,
    *,
    table: str,
    blocks: tuple[Floats, Floats | None] | None = None,
) -> Weighed:
    """Return the declustered weights of samples: by cells and lengths, or by nearest blocks.

    Parameters
    ----------
    part : Part or SpilledPart
        The samples, which have coordinates.
    settings : WeightSettings
        How to decluster.
    table : str
        Name of the table, for a message.
    blocks : tuple, optional
        Centres and volumes of the blocks, for ``decluster="nearest"``.
    """
    cell = settings.cell
    if not len(part) or cell is None:
        return Weighed()
    if cell == NEAREST and isinstance(part, Part):
        centres, volumes = blocks or (np.empty((0, 3)), None)
        if not len(centres):
            return Weighed(why="no blocks are in this domain")
        sides = np.array(settings.ratio)
        ones = np.ones(len(centres)) if volumes is None else volumes
        return Weighed(nearest_volumes(part.points / sides, centres / sides, ones))
    grid = part.cells(settings.decluster_origins)
    trials: list[Trial] = []
    chosen: Trial | None = None
    if cell == AUTO:
        trials = [grid.trial(size) for size in grid.sizes(settings.ratio)]
        chosen = best(trials, maximise=settings.maximise) if trials else None
        if chosen is None:
            return Weighed(trials=trials, why=_no_turn(trials, maximise=settings.maximise))
        size = chosen.cell
    elif isinstance(cell, tuple):
        size = cell
    else:
        x, y, z = settings.ratio
        side = float(cell)
        size = side * x, side * y, side * z
    shape = grid.shape(size)
    if max(shape) > _MOST_ALONG or math.prod(shape) > _MOST_CELLS:
        message = (
            f"{table}: cells of {size[0]:g} x {size[1]:g} x {size[2]:g} are too small for a domain "
            f"of {' x '.join(f'{side:g}' for side in grid.sides)}: give larger ones with "
            "decluster="
        )
        raise TableError(message)
    return Weighed(grid.weights(size), size, trials, chosen)


def not_declustered(grade: str, group: Group, why: str) -> str:
    """Return a warning that the samples of a domain have no declustered weights."""
    domain = shown(group.domain) if group.domain else "rows without a domain"
    return f"{grade} of {'all domains' if group.whole else domain} is not declustered: {why}"


def _no_turn(trials: list[Trial], *, maximise: bool) -> str:
    """Return the reason why no size of cells is better than others."""
    if not trials:
        why = "all samples are at one place"
    else:
        sizes = " to ".join(f"{trial.cell[0]:g}" for trial in (trials[0], trials[-1]))
        what = "largest" if maximise else "least"
        why = (
            f"cells of {sizes} were tried, and the {what} declustered mean is at the smallest or "
            "the largest of them"
        )
    return (
        f"{why}; give a size of cells with decluster=, such as the spacing of holes where they are "
        "sparse"
    )
