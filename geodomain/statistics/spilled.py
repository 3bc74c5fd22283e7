"""Statistics of rows that do not fit into memory: temporary files hold them, by domain or sorted.

Every result equals that of the same rows in memory, bit for bit: sums are exact, and the order of
the rows does not matter.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.statistics.declustering import Cell, CellGrid, Steps, Trial
from geodomain.statistics.populations import Numbers, Population, SortedRows
from geodomain.volumes.exact_sums import exact_sums, nearest_float

Codes = NDArray[np.uint16]
Keys = NDArray[np.int64]
Element = TypeVar("Element", bound=np.generic)

# Bytes of working memory for each row of a batch, and the limits of the number of rows in a batch.
_BATCH_ROW, _LEAST, _MOST = 400, 1 << 16, 1 << 20
# Up to this many cells for each sample of a batch, a table of all cells is faster than sorting.
_DENSE = 16


def batch_rows() -> int:
    """Return the number of rows of a batch, which takes about an eighth of the allowed memory."""
    return min(max(memory.allowance() // 8 // _BATCH_ROW, _LEAST), _MOST)


class DiskArray(Generic[Element]):
    """An array in a temporary file: rows are appended, and read in slices.

    Parameters
    ----------
    dtype : dtype
        Type of the elements.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile(buffering=0, prefix="geodomain-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # closed, and so removed, with the array
        self._rows = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def append(self, rows: NDArray[Element]) -> None:
        """Write rows at the end of the file.

        Raises
        ------
        TableError
            If the temporary file cannot be written.
        """
        try:
            self._file.seek(self._rows * self._dtype.itemsize)
            rest = np.ascontiguousarray(rows, self._dtype).view(np.uint8).data
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            message = (
                f"a temporary file in {tempfile.gettempdir()} cannot be written "
                f"({error.strerror}): set TMPDIR to another folder, or allow more memory with "
                f"{memory.SETTING}"
            )
            raise TableError(message) from error
        self._rows += len(rows)

    @overload
    def __getitem__(self, place: slice) -> NDArray[Element]: ...
    @overload
    def __getitem__(self, place: int) -> Element: ...
    def __getitem__(self, place: slice | int) -> NDArray[Element] | Element:
        """Return the rows of a slice without a step, or one row."""
        if isinstance(place, int):
            start = place + self._rows if place < 0 else place
            row: Element = self[start : start + 1][0]
            return row
        start, stop, _ = place.indices(self._rows)
        self._file.seek(start * self._dtype.itemsize)
        return np.fromfile(self._file, self._dtype, max(stop - start, 0))


class Columns(NamedTuple):
    """Rows of a batch that have the grade and a weight.

    Attributes
    ----------
    values : (n,) float64
        Grades.
    lengths : (n,) float64, optional
        Weights of the rows; None if all rows have the same weight.
    holes : (n,) int32, optional
        The number of the drillhole of each row; None if drillholes are not known.
    points : (n, 3) float64, optional
        Coordinates; None if they are not used.
    """

    values: Floats
    lengths: Floats | None
    holes: NDArray[np.int32] | None
    points: Floats | None


class SpilledRows:
    """Rows of a table in a temporary file, grouped by domain.

    Parameters
    ----------
    columns : mapping of str to array
        The first rows, by column: they set the types of the columns, and are not added.
    """

    def __init__(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        self._fields = np.dtype([
            (name, column.dtype, column.shape[1:]) for name, column in columns.items()
        ])  # fmt: skip
        self._disk: DiskArray[np.void] = DiskArray(self._fields)
        self.batch = batch_rows()
        self._held: list[tuple[Codes, NDArray[np.void]]] = []
        self._count = 0
        self._extents: dict[int, list[tuple[int, int]]] = {}

    def add(self, codes: Codes, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Add rows with the index of their label."""
        rows = np.empty(len(codes), self._fields)
        for name, column in columns.items():
            rows[name] = column
        self._held.append((codes, rows))
        self._count += len(rows)
        if self._count >= self.batch:
            self._flush()

    def rows_of(self, code: int | None) -> int:
        """Return the number of rows with a label, or of all rows."""
        self._flush()
        if code is None:
            return len(self._disk)
        return sum(stop - start for start, stop in self._extents.get(code, ()))

    def batches(self, code: int | None) -> Iterator[NDArray[np.void]]:
        """Yield the rows with a label, or all rows, in batches."""
        self._flush()
        extents = [(0, len(self._disk))] if code is None else self._extents.get(code, [])
        pieces: list[NDArray[np.void]] = []
        count = 0
        for first, last in extents:
            for start in range(first, last, self.batch):
                pieces.append(self._disk[start : min(start + self.batch, last)])
                count += len(pieces[-1])
                if count >= self.batch:
                    yield np.concatenate(pieces)
                    pieces, count = [], 0
        if pieces:
            yield np.concatenate(pieces)

    def _flush(self) -> None:
        """Write the rows that are in memory, sorted by label."""
        if not self._held:
            return
        codes = np.concatenate([codes for codes, _ in self._held])
        rows = np.concatenate([rows for _, rows in self._held])
        self._held, self._count = [], 0
        start = len(self._disk)
        self._disk.append(rows[np.argsort(codes, kind="stable")])
        for code, count in enumerate(np.bincount(codes).tolist()):
            if count:
                self._extents.setdefault(code, []).append((start, start + count))
                start += count


class SpilledPart:
    """The rows of a domain, or of all domains, that have a grade and a weight.

    Parameters
    ----------
    rows : SpilledRows
        All rows.
    code : int, optional
        The index of a label; None for all rows.
    grade : str
        Name of the column of the grade in `rows`.
    threads : int, optional
        Number of threads; by default all cores.
    located : bool
        Whether rows without coordinates are left out.

    Attributes
    ----------
    missing, without_weight : int
        Numbers of rows without the grade, and of rows with the grade but without a weight.
    """

    def __init__(
        self,
        rows: SpilledRows,
        code: int | None,
        grade: str,
        threads: int | None,
        *,
        located: bool = False,
    ) -> None:
        self._rows, self._code, self._grade = rows, code, grade
        self._threads, self._located = threads, located
        self.missing = self.without_weight = self._used = 0
        for batch in rows.batches(code):
            valued = ~np.isnan(batch[grade])
            self.missing += int((~valued).sum())
            used = self._usable(batch)
            self._used += int(used.sum())
        self.without_weight = rows.rows_of(code) - self.missing - self._used

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._used

    def located(self) -> SpilledPart:
        """Return the rows that have coordinates."""
        return SpilledPart(self._rows, self._code, self._grade, self._threads, located=True)

    def batches(self) -> Iterator[Columns]:
        """Yield the rows in batches."""
        for batch in self._rows.batches(self._code):
            used = batch[self._usable(batch)]
            names = used.dtype.names or ()
            yield Columns(
                np.array(used[self._grade]),
                np.array(used["weight"]) if "weight" in names else None,
                np.array(used["hole"]) if "hole" in names else None,
                np.array(used["point"]) if self._located else None,
            )

    def total_weight(self) -> float:
        """Return the exact sum of the weights, rounded once; without weights, the row count."""
        total = 0
        for batch in self.batches():
            if batch.lengths is None:
                return float(len(self))
            total += _sum(batch.lengths)
        return nearest_float(total)

    def population(self, weights: Numbers | None = None) -> Population:
        """Return the sorted values, with their weights or with other weights."""
        runs = _Runs(self._rows.batch)
        start = 0
        for batch in self.batches():
            stop = start + len(batch.values)
            runs.add(batch.values, batch.lengths if weights is None else weights[start:stop],
                     batch.holes)  # fmt: skip
            start = stop
        return Population.of_sorted(runs.merged())

    def cells(self, origins: int) -> SpilledDeclustering:
        """Return the grids of cells that decluster these rows, which must have coordinates."""
        return SpilledDeclustering(self, origins, self._threads)

    def _usable(self, batch: NDArray[np.void]) -> NDArray[np.bool_]:
        used = ~np.isnan(batch[self._grade])
        if "weight" in (batch.dtype.names or ()):
            used &= ~np.isnan(batch["weight"])
        if self._located:
            used &= np.isfinite(batch["point"]).all(axis=1)
        return np.asarray(used, np.bool_)


def _sum(terms: Floats) -> int:
    return exact_sums(terms, np.zeros(len(terms), np.intp), 1)[0]


class _Runs:
    """Sorts rows by value in temporary files: writes sorted runs, then merges them.

    Parameters
    ----------
    batch : int
        Number of rows that are sorted at once.
    """

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._ends = [0]
        self._columns: list[DiskArray[np.generic] | None] = []

    def add(self, values: Floats, weights: Floats | None, holes: NDArray[np.int32] | None) -> None:
        """Sort rows and append them as a run."""
        columns = (values, weights, holes)
        if not self._columns:
            self._columns = _empty_arrays(columns)
        order = np.argsort(values)
        for disk, column in zip(self._columns, columns, strict=True):
            if disk is not None and column is not None:
                disk.append(column[order])
        self._ends.append(self._ends[-1] + len(values))

    def merged(self) -> SortedRows:
        """Return all rows, sorted by value."""
        values, weights, holes = self._columns
        merged = _empty_arrays([
            None if disk is None else disk[:0] for disk in self._columns
        ])  # fmt: skip
        for slices in self._slices():
            parts = [_gathered(disk, slices) for disk in self._columns]
            assert parts[0] is not None
            order = np.argsort(parts[0])
            for disk, part in zip(merged, parts, strict=True):
                if disk is not None and part is not None:
                    disk.append(part[order])
        values, weights, holes = merged
        assert values is not None
        return SortedRows(values, weights, holes)  # type: ignore[arg-type]

    def _slices(self) -> Iterator[list[slice]]:
        """Yield lists of slices of the runs; no value of a list exceeds a value of the next list.

        The slices of a list have at most a batch of rows in all. If more rows than that have the
        same value, they come in several lists.
        """
        values = self._columns[0]
        assert values is not None
        runs = list(pairwise(self._ends))
        step = max(self._batch // (4 * len(runs)), 1)
        places = [place for start, stop in runs for place in range(start, stop, step)]
        samples = np.sort(np.array([values[place] for place in places], np.float64))
        begins = [start for start, _ in runs]
        for split in np.unique(samples[:: 2 * len(runs)]).tolist():
            below, upto = (
                [
                    _place(values, begin, stop, split, after=after)
                    for begin, (_, stop) in zip(begins, runs, strict=True)
                ]
                for after in (False, True)
            )
            yield [slice(*ends) for ends in zip(begins, below, strict=True)]
            for begin, end in zip(below, upto, strict=True):
                for start in range(begin, end, self._batch):
                    yield [slice(start, min(start + self._batch, end))]
            begins = upto
        yield [slice(begin, stop) for begin, (_, stop) in zip(begins, runs, strict=True)]


def _empty_arrays(
    columns: Iterable[NDArray[np.generic] | None],
) -> list[DiskArray[np.generic] | None]:
    return [None if column is None else DiskArray(column.dtype) for column in columns]


def _gathered(
    disk: DiskArray[np.generic] | None, slices: Sequence[slice]
) -> NDArray[np.generic] | None:
    return None if disk is None else np.concatenate([disk[each] for each in slices])


def _place(
    values: DiskArray[np.generic], begin: int, end: int, value: float, *, after: bool
) -> int:
    """Return the place of a value in the sorted rows [begin, end): before or after its equals."""
    while begin < end:
        middle = (begin + end) // 2
        other = float(values[middle])
        if other < value or (after and other == value):
            begin = middle + 1
        else:
            end = middle
    return begin


# --- Declustering.


class _CellCounts:
    """Number of samples in each cell that has samples.

    Parameters
    ----------
    cells : int
        Number of all cells.
    dense : bool
        Whether to keep a table of all cells, rather than a list of those with samples.
    """

    def __init__(self, cells: int, *, dense: bool) -> None:
        self._cells = cells
        self._table = np.zeros(cells, np.int32) if dense else None
        self._keys: Keys = np.empty(0, np.int64)
        self._counts: NDArray[np.int32] = np.empty(0, np.int32)

    @property
    def occupied(self) -> int:
        """Number of cells with samples."""
        return len(self._keys) if self._table is None else int(np.count_nonzero(self._table))

    def add(self, keys: Keys) -> None:
        """Count samples; `keys` are the numbers of their cells."""
        if self._table is not None and self._cells <= _DENSE * len(keys):
            self._table += np.bincount(keys, minlength=self._cells).astype(np.int32)
            return
        distinct, counts = np.unique(keys, return_counts=True)
        if self._table is not None:
            self._table[distinct] += counts.astype(np.int32)
            return
        every = np.concatenate([self._keys, distinct])
        numbers = np.concatenate([self._counts, counts.astype(np.int32)])
        order = np.argsort(every, kind="stable")
        first = np.flatnonzero(np.diff(every[order], prepend=-1))
        self._keys = every[order][first]
        self._counts = np.add.reduceat(numbers[order], first) if len(first) else numbers

    def of(self, keys: Keys) -> NDArray[np.int32]:
        """Return the number of samples in the cell of each sample."""
        if self._table is not None:
            return self._table[keys]
        return self._counts[np.searchsorted(self._keys, keys)]


class SpilledDeclustering(CellGrid):
    """Cell declustering of samples on disk, with the same weights as `Declustering`.

    Parameters
    ----------
    part : SpilledPart
        The samples, which have coordinates.
    origins : int
        Number of origins of the grid.
    threads : int, optional
        Number of threads; by default all cores.
    """

    def __init__(self, part: SpilledPart, origins: int, threads: int | None) -> None:
        self._part, self._threads = part, threads or os.cpu_count() or 1
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for points in self._points():
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        self._low = low
        super().__init__((high - low).tolist(), origins)

    def weights(self, cell: Cell) -> DiskArray[np.float64]:
        """Return the weight of each sample, times its length, in the order of the batches."""
        weights: DiskArray[np.float64] = DiskArray(np.float64)
        for _, own in self._weighed(cell, self._counts(cell)):
            weights.append(own)
        return weights

    def trial(self, cell: Cell) -> Trial:
        """Return the declustered mean of the samples with cells of one size."""
        counts = self._counts(cell)
        total = metal = 0
        for batch, weights in self._weighed(cell, counts):
            total += _sum(weights)
            metal += _sum(weights * batch.values)
        cells = sum(each.occupied for each in counts) / self._origins
        return Trial(cell, nearest_float(metal, total), cells)

    def _points(self) -> Iterator[Floats]:
        for batch in self._part.batches():
            if batch.points is not None and len(batch.points):
                yield batch.points

    def _counts(self, cell: Cell) -> list[_CellCounts]:
        """Return the numbers of samples in the cells of each origin."""
        size = math.prod(self.shape(cell))
        dense = 4 * size * self._origins <= memory.allowance() // 4
        counts = [_CellCounts(size, dense=dense) for _ in range(self._origins)]
        with ThreadPoolExecutor(self._threads) as pool:
            for points in self._points():
                steps = self._steps_of(points, cell)

                def add(shift: int, steps: Sequence[Steps] = steps) -> None:
                    counts[shift].add(self._keys(steps, cell, shift))

                list(pool.map(add, range(self._origins)))
                if not dense:
                    listed = 16 * sum(each.occupied for each in counts)
                    memory.require(listed, "the list of cells with samples", TableError)
        return counts

    def _weighed(
        self, cell: Cell, counts: Sequence[_CellCounts]
    ) -> Iterator[tuple[Columns, Floats]]:
        """Yield the batches with their weights, which are computed as in `Declustering`."""
        occupied = [each.occupied for each in counts]
        for batch in self._part.batches():
            if batch.points is None or not len(batch.points):
                continue
            steps = self._steps_of(batch.points, cell)
            weights = np.zeros(len(batch.values))
            for shift, cells in enumerate(occupied):
                own = counts[shift].of(self._keys(steps, cell, shift))
                weights += 1.0 / (own.astype(np.float64) * cells)
            weights *= len(self._part) / self._origins
            yield batch, weights if batch.lengths is None else weights * batch.lengths

    def _steps_of(self, points: Floats, cell: Cell) -> list[Steps]:
        return [self.steps(points[:, axis] - self._low[axis], axis, cell) for axis in range(3)]

    def _keys(self, steps: Sequence[Steps], cell: Cell, shift: int) -> Keys:
        """Return the number of each sample's cell among all cells."""
        keys = np.zeros(len(steps[0]), np.int64)
        for each, along in zip(steps, self.shape(cell), strict=True):
            keys *= along
            keys += (each + shift) // self._origins
        return keys
