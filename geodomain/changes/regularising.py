"""Regularise a block model: move its values to the cells of another regular lattice, exactly."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple, Unpack, cast, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.blocks.new_model import DecimalAxis, read_counts, read_decimals, read_sizes
from geodomain.changes.cells import AxisIntervals, Division, lattice_over
from geodomain.changes.regularised import Balance, CutoffMoves, Moved, Regularised
from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import refuse_geometry
from geodomain.compute.data import Bools, Floats, Ints
from geodomain.errors import TableError, collect_warnings, counted, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_target
from geodomain.formats.block_file import BlockFile, Blocks, Values
from geodomain.formats.blocks import (
    Rows,
    file_of,
    open_model,
    read_columns,
    require_table_name,
    write_columns,
)
from geodomain.formats.cell_file import write_blocks
from geodomain.formats.registry import block_outputs, writer_of_blocks
from geodomain.inputs import PathGiven, model_path
from geodomain.progress import Progress, show_progress
from geodomain.tables.conditions import Column
from geodomain.tables.numbers import NegativeGrades
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.rotation import refuse_misfit, require_known_turn
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import find_column, plain_name
from geodomain.volumes.exact_sums import Exponents, Sums
from geodomain.volumes.tonnes import Cutoffs, read_cutoffs, refuse_commas

Incomplete = Literal["keep", "refuse"]
Numbers3 = str | float | Sequence[float | str | Decimal]

# The weights of a mean that are not columns.
VOLUME, TONNES = "volume", "tonnes"
# The column that states what share of a new block lies in blocks of the model.
FILLED = "filled"
_SHARE = "prop_"
_IN_MEMORY = "write a table in memory to a file first"
# Number of blocks whose rotation is checked.
_FEW = 1 << 16
# Local coordinates of rotated models are rounded to this many decimals.
_DECIMALS = 6


def regularise(
    model: PathGiven,
    output: PathGiven,
    size: Numbers3,
    *,
    count: str | Sequence[int] | None = None,
    density: str | float | None = None,
    mean: str | Sequence[str] | Mapping[str, str] = (),
    sum: str | Sequence[str] = (),
    dominant: str | Sequence[str] = (),
    share: str | Sequence[str] = (),
    cutoff: Cutoffs | None = None,
    cutoff_table: PathGiven | None = None,
    incomplete: Incomplete = "keep",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Regularised:
    r"""Move the values of a block model to the blocks of another regular lattice.

    Each block is divided among the new blocks that it overlaps; overlaps are exact. Means are
    weighted, amounts are divided among the new blocks by volume, and a new block gets the text with
    the largest volume in it. A new block that no block of the model overlaps is left out.

    Parameters
    ----------
    model : path
        A block model with sizes, regular or sub-blocked, in any format that `label_file` takes. It
        is read two or three times.
    output : path
        The file to write, in any format of block models that `convert_blocks` writes.
    size : number, or three
        Size of the new blocks along the axes of the model.
    count : three numbers, optional
        Numbers of blocks along the axes, from ``origin``, which is then the lower corner of the new
        model; what lies outside is summed separately. [default: enough to contain the model]
    density : str or float, optional
        A column, which is averaged by volume, or one number for all blocks.
    mean : str, sequence of str, or mapping of str to str
        Columns to average. A mapping gives the weight of each: ``"volume"``, ``"tonnes"`` (needs
        ``density``), or a column, by which the volume is multiplied. [default of weights: tonnes
        if there is a density, otherwise volume]
    sum : str or sequence of str
        Columns of amounts of whole blocks, such as tonnes, to add up. The amount of a block that is
        cut is divided among the new blocks by volume.
    dominant : str or sequence of str
        Columns of texts: a new block gets the text with the largest volume in it; if volumes are
        equal, the first text in alphabetical order. Empty cells count only if all are empty.
    share : str or sequence of str
        Columns of labels: for each label, a column ``prop_<label>`` has the share of the new block
        in blocks with this label.
    cutoff : number, numbers, or mapping of str to them, optional
        Cut-offs of the table of dilution and ore loss. A mapping names the column of ``mean``;
        without a mapping, ``mean`` must have exactly one column.
    cutoff_table : path, optional
        A .csv, .xlsx or .parquet file for the table of dilution and ore loss.
    incomplete : {"keep", "refuse"}
        What to do with blocks that lack a density, a value of ``mean`` or ``sum``, or a weight.
        "keep": leave them out of that mean or sum, and count them. "refuse": raise an error.
    overwrite, threads, progress, **table
        As for `label_file`. But without ``rotation``, ``origin`` is a corner of any new block; the
        others follow from it. [default: the lower corner of the model]

    Returns
    -------
    Regularised
        What was conserved, and what changes sides at cut-offs; ``print`` it.

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    TableError
        If a column is missing, blocks have no sizes, or ``incomplete`` refuses blocks. After an
        error there is no partial file.
    ValueError
        If a size, a count or a weight is invalid.

    Warns
    -----
    GeodomainWarning
        For blocks that occur twice, and for blocks without a centroid or a size.

    Notes
    -----
    A coordinate or size counts as the shortest decimal that reads back as its float64; a density,
    grade or amount counts as its float64. With these numbers, all sums are exact fractions: see
    `Regularised.balances`. Each number that is written is rounded once. Local
    coordinates of rotated models are rounded to 6 decimals first.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,SG,AU\n2,2,2,4,4,4,2,1\n6,2,2,4,4,4,3,4\n"
    >>> _ = (folder / "fine.csv").write_text(rows)
    >>> result = geodomain.regularise(
    ...     folder / "fine.csv", folder / "coarse.csv", "8,4,4", density="SG", mean="AU"
    ... )
    >>> print((folder / "coarse.csv").read_text())
    x,y,z,dx,dy,dz,filled,SG,AU
    4,2,2,8,4,4,1,2.5,2.8
    <BLANKLINE>
    >>> result.balance("tonnes").inside
    Fraction(320, 1)
    """
    origin = None if table.get("rotation") else table.pop("origin", None)
    options, source, place = table_options(**table), model_path(model, _IN_MEMORY), Path(output)
    plan = Plan.read(density, mean, sum, dominant, share, cutoff, incomplete)
    lattice = NewLattice.read(size, origin, count)
    _require_output(source, place, overwrite=overwrite)
    if cutoff_table is not None:
        require_table_name(os.fspath(cutoff_table), parquet=True)
        refuse_inputs([Path(cutoff_table)], [file_of(source), place])
        require_places([Path(cutoff_table)], overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "regularising") as report:
        work = _Work(source, options, plan, threads, report)
        axes = work.survey(lattice)
        work.add_up()
        moves = work.compare() if plan.cutoffs else ()
        blocks = work.blocks()
        if not len(blocks.centroids):
            message = f"no block of {source} lies in the new model: check origin= and count="
            raise TableError(message)
        with open_target(place, overwrite=overwrite) as target:
            write_blocks(blocks, target, str(place))
    result = Regularised(
        before=work.rows,
        after=len(blocks.centroids),
        axes=axes,
        balances=work.balances(),
        cutoffs=moves,
        notes=tuple(work.notes()),
        output=str(place),
        warnings=tuple(warned),
    )
    if cutoff_table is not None:
        write_columns(result.columns(), cutoff_table, overwrite=overwrite)
    return result


def _require_output(source: str, place: Path, *, overwrite: bool) -> None:
    """Raise an error for an output that cannot be written, or that is the input."""
    if source == STANDARD:
        message = "the model is - (stdin), but it is read several times: give a file"
        raise ValueError(message)
    if writer_of_blocks(place.suffix.lower()) is None:
        message = (
            f"a block model cannot be written to {place}: name a file with one of the extensions "
            f"{', '.join(block_outputs())}"
        )
        raise TableError(message)
    refuse_inputs([place], [file_of(source)])
    require_places([place], overwrite=overwrite)


# --- What is computed.


@dataclass(frozen=True)
class Plan:
    """The columns of the new model, and how they are computed.

    Attributes
    ----------
    density : str or float, optional
        Column of densities, or one density.
    means : dict of str to str
        Columns to average, with their weights.
    sums, dominants, shares : tuple of str
        Columns of amounts, of texts, and of labels.
    graded : str
        The column to which cut-offs apply; "" without cut-offs.
    cutoffs : tuple of float
        Cut-offs, ascending.
    spelled : tuple of str
        Texts of cut-offs whose commas may be decimal marks.
    incomplete : {"keep", "refuse"}
        What to do with blocks that lack a value.
    """

    density: str | float | None = None
    means: Mapping[str, str] = field(default_factory=dict)
    sums: tuple[str, ...] = ()
    dominants: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    graded: str = ""
    cutoffs: tuple[float, ...] = ()
    spelled: tuple[str, ...] = ()
    incomplete: Incomplete = "keep"

    @classmethod
    def read(
        cls,
        density: str | float | None,
        mean: str | Sequence[str] | Mapping[str, str],
        sum: str | Sequence[str],
        dominant: str | Sequence[str],
        share: str | Sequence[str],
        cutoff: Cutoffs | None,
        incomplete: Incomplete,
    ) -> Plan:
        """Check the arguments of `regularise`; raise ValueError if they contradict each other."""
        usual = VOLUME if density is None else TONNES
        means = mean if isinstance(mean, Mapping) else dict.fromkeys(_names(mean), "")
        means = {name: weight or usual for name, weight in means.items()}
        for name, weight in means.items():
            if weight == TONNES and density is None:
                message = f"the weight of {name} is tonnes, which need density="
                raise ValueError(message)
        if isinstance(density, int | float) and not 0 < density < math.inf:
            message = f"density= is {density}; it must be a column or a number above 0"
            raise ValueError(message)
        if incomplete not in get_args(Incomplete):
            message = f"incomplete= is {incomplete!r}; use 'keep' or 'refuse'"
            raise ValueError(message)
        graded, cutoffs, spelled = read_cutoffs(cutoff, tuple(means))
        plan = cls(
            density, means, _names(sum), _names(dominant), _names(share), graded, cutoffs, spelled,
            incomplete,
        )  # fmt: skip
        plan._require_distinct()
        return plan

    def _require_distinct(self) -> None:
        names = [*self.averaged, *self.sums, *self.dominants]
        plain = list(map(plain_name, names))
        for name, short in zip(names, plain, strict=True):
            if plain.count(short) > 1:
                message = f"{name} is named twice: use it in only one of mean=, sum= and dominant="
                raise ValueError(message)

    @property
    def averaged(self) -> dict[str, str]:
        """The columns to average, with their weights: the density first."""
        density = {self.density: VOLUME} if isinstance(self.density, str) else {}
        return density | dict(self.means)

    @property
    def numbers(self) -> list[str]:
        """The columns to read as numbers."""
        weights = [each for each in self.means.values() if each not in (VOLUME, TONNES)]
        return list(dict.fromkeys([*self.averaged, *weights, *self.sums]))

    @property
    def texts(self) -> list[str]:
        """The columns to read as texts."""
        return list(dict.fromkeys([*self.dominants, *self.shares]))

    def weight_of(self, name: str) -> tuple[str, ...]:
        """Return the columns that multiply the volume in the weight of a mean."""
        weight = self.averaged[name]
        if weight == TONNES:
            return (self.density,) if isinstance(self.density, str) else ()
        return () if weight == VOLUME else (weight,)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


class NewLattice(NamedTuple):
    """The wanted lattice.

    Attributes
    ----------
    size : tuple of Decimal
        Size of a block.
    corner : tuple of Decimal, optional
        A corner of a block, in world coordinates.
    counts : tuple of int, optional
        Numbers of blocks from the corner.
    """

    size: tuple[Decimal, Decimal, Decimal]
    corner: tuple[Decimal, Decimal, Decimal] | None
    counts: tuple[int, int, int] | None

    @classmethod
    def read(
        cls, size: Numbers3, origin: Numbers3 | None, count: str | Sequence[int] | None
    ) -> NewLattice:
        """Check the arguments of `regularise`; raise ValueError for invalid numbers."""
        corner = None if origin is None else read_decimals(origin, "origin")
        if count is not None and corner is None:
            message = "count= needs origin=: the lower corner of the new model"
            raise ValueError(message)
        return cls(read_sizes(size), corner, None if count is None else read_counts(count))


# --- Reading the model: first its lattice, then its values, then cut-offs.


_Give = Callable[[str], Column]
_Take = Callable[[list[Ints], Mapping[str, Floats], Mapping[str, Ints]], None]


class _Work:
    """The passes over the model, and their sums."""

    def __init__(
        self,
        source: str,
        options: TableOptions,
        plan: Plan,
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        self._source, self._options, self._plan = source, options, plan
        self._threads, self._progress = threads, progress
        self._intervals = [AxisIntervals() for _ in range(3)]
        self._ranges = {name: Exponents() for name in plan.numbers}
        # For each column, the count of blocks without a value; for each mean, the count of blocks
        # with a value but without its weight.
        self._missing = dict.fromkeys(plan.numbers, 0)
        self._unweighted = dict.fromkeys(plan.averaged, 0)
        self._labels: dict[str, list[str]] = {name: [] for name in plan.texts}
        self._volumes: dict[str, list[tuple[Ints, Ints]]] = {name: [] for name in plan.texts}
        self._kinds: set[tuple[float, ...]] = set()
        self.rows = self._unplaced = 0
        self._matrix: Floats | None = None
        self._name = source

    # The first pass: intervals, ranges of exponents, and checks.

    def survey(self, lattice: NewLattice) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
        """Read the positions and the ranges of values; return the axes of the new model."""
        plan = self._plan
        with open_model(self._source, self._options) as model:
            self._name = model.name
            _refuse_columns(model, plan)
            refuse_commas(plan.graded, plan.spelled, model)
            axes = np.asarray(model.axes, np.float64)
            self._matrix = None if (axes == np.eye(3)).all() else axes
            checks = VolumeChecks(model.axes, times=realisations_of(model.facts()))
            negative = {
                name: NegativeGrades(name, self._options.below_detection) for name in plan.means
            }

            def add(points: Floats, sizes: Floats | None, column: _Give, there: Rows) -> None:
                sizes = _require_sizes(sizes, model)
                if not self.rows:
                    _refuse_misfit(points[:_FEW], sizes[:_FEW], model)
                checks.add(points, sizes)
                placed = self._codes(points, sizes)[1]
                if plan.sums:
                    self._kinds |= _distinct(sizes[placed])
                values = self._numbers(column, there, placed, negative)
                for name, range_ in self._ranges.items():
                    range_.add(values[name])
                self._count_missing(values)
                self.rows += len(placed)
                self._unplaced += int((~placed).sum())

            read_columns(model, plan.numbers, add, threads=self._threads, progress=self._progress)
            for sentence in checks.warnings():
                warn(sentence)
            for each in negative.values():
                for sentence in each.warnings("block"):
                    warn(sentence)
            self._notes_below = [note for each in negative.values() for note in each.notes()]
        if self.rows == self._unplaced:
            message = f"{self._name} has no block with a centroid and a size"
            raise TableError(message)
        if self._unplaced:
            warn(
                f"{counted(self._unplaced, 'block')} of {self._name} without a centroid or a size: "
                "left out"
            )
        self._refuse_lacking()
        self._axes = self._lattice(lattice)
        self._division = Division(self._intervals, self._axes)
        self._prepare()
        return self._axes

    def _lattice(self, wanted: NewLattice) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
        corner = wanted.corner
        if corner is not None and self._matrix is not None:
            local = self._matrix @ np.array([float(each) for each in corner])
            a, b, c = (Decimal(repr(round(each, _DECIMALS))) for each in local.tolist())
            corner = a, b, c
        if wanted.counts is not None and corner is not None:
            x, y, z = map(DecimalAxis, corner, wanted.size, wanted.counts)
            return x, y, z
        return lattice_over(self._intervals, wanted.size, corner)

    def _codes(self, points: Floats, sizes: Floats) -> tuple[list[Ints], Bools]:
        """Return the intervals of the blocks that have a centroid and a size, and their mask."""
        placed: Bools = np.ones(len(points), np.bool_)
        if not (np.isfinite(points).all() and np.isfinite(sizes).all() and (sizes > 0).all()):
            finite = np.isfinite(points).all(axis=1) & np.isfinite(sizes).all(axis=1)
            placed = np.asarray(finite & (sizes > 0).all(axis=1), np.bool_)
            points, sizes = points[placed], sizes[placed]
        if self._matrix is not None:
            points = np.round(points @ self._matrix.T, _DECIMALS)
        codes = [
            intervals.codes(points[:, axis], sizes[:, axis])
            for axis, intervals in enumerate(self._intervals)
        ]
        return codes, placed

    def _numbers(
        self,
        column: _Give,
        there: Rows,
        placed: Bools,
        negative: Mapping[str, NegativeGrades],
    ) -> dict[str, Floats]:
        """Return the values of the columns of numbers in the placed rows."""
        values = {}
        for name in self._plan.numbers:
            cells = column(name)
            numbers = cells.numbers()[there]
            if name in negative:
                numbers = negative[name].take(numbers, self.rows, cells.below_detection())
            numbers = numbers[placed]
            if np.isinf(numbers).any():
                message = f"{self._name}: {name} is infinite in a block: correct it"
                raise TableError(message)
            values[name] = numbers
        density = self._plan.density
        if isinstance(density, str) and (values[density] < 0).any():
            message = f"{self._name}: {density} is negative in a block: correct it"
            raise TableError(message)
        return values

    def _count_missing(self, values: Mapping[str, Floats]) -> None:
        for name in self._missing:
            self._missing[name] += int(np.isnan(values[name]).sum())
        for name in self._unweighted:
            lacking = ~np.isnan(values[name]) & ~self._present(name, values)
            self._unweighted[name] += int(lacking.sum())

    def _lacks(self) -> Iterator[tuple[str, str]]:
        """Yield which blocks lack numbers, and where these blocks are left out."""
        plan = self._plan
        for name, count in self._missing.items():
            places = ["its mean"] if name in plan.averaged else []
            places += ["its sum"] if name in plan.sums else []
            places += ["tonnes"] if name == plan.density else []
            if count and places:
                yield f"{counted(count, 'block')} without {name}", " or in ".join(places)
        for name, count in self._unweighted.items():
            if count:
                (weight,) = plan.weight_of(name)
                yield (
                    f"{counted(count, 'block')} with {name} but without {weight}",
                    (f"the mean of {name}"),
                )

    def _present(self, name: str, values: Mapping[str, Floats]) -> Bools:
        """Return which blocks count in the mean of a column."""
        present = ~np.isnan(values[name])
        for weight in self._plan.weight_of(name):
            present &= ~np.isnan(values[weight])
        return present

    def _refuse_lacking(self) -> None:
        if self._plan.incomplete == "keep":
            return
        for blocks, _ in self._lacks():
            message = (
                f"{self._name} has {blocks}: fill in the values, or leave these blocks out with "
                "incomplete='keep'"
            )
            raise TableError(message)

    # The second pass: sums by cell.

    def _prepare(self) -> None:
        """Make the sums. Their last group is what lies outside the new model."""
        plan, groups = self._plan, self._division.cells + 1
        unit = self._division.volume_unit
        volumes = {
            math.prod((Fraction(repr(each)) for each in kind), start=Fraction(1)) / unit
            for kind in self._kinds
        }
        self._wholes = np.array(sorted(map(int, volumes)), np.int64)
        products: dict[str, tuple[int, tuple[str, ...]]] = {"": (groups, ())}
        for name in plan.averaged:
            weight = plan.weight_of(name)
            products |= {f"{name} x": (groups, (name, *weight)), f"{name} w": (groups, weight)}
        for name in plan.sums:
            products[f"{name} +"] = (groups * len(self._wholes), (name,))
        ranges = {
            key: (count, [self._ranges[name] for name in names])
            for key, (count, names) in products.items()
        }
        needed = sum(Sums.room(count, factors) for count, factors in ranges.values())
        memory.require(needed, f"{self._division.cells:,} new blocks", TableError)
        self._sums = {key: Sums(count, factors) for key, (count, factors) in ranges.items()}
        self._before = {key: Sums(1, factors) for key, (_, factors) in ranges.items()}

    def _pass(self, take: _Take) -> None:
        """Read the model again, and pass its chunks to `take`."""
        plan = self._plan
        with open_model(self._source, self._options) as model:

            def add(points: Floats, sizes: Floats | None, column: _Give, there: Rows) -> None:
                sizes = _require_sizes(sizes, model)
                codes, placed = self._codes(points, sizes)
                negative = {
                    name: NegativeGrades(name, self._options.below_detection) for name in plan.means
                }
                values = self._numbers(column, there, placed, negative)
                texts = {}
                for name in plan.texts:
                    self._labels[name], spelled = column(name).distinct(self._labels[name])
                    texts[name] = spelled.astype(np.int64)[there][placed]
                for some in self._division.batches(codes):
                    take(
                        [code[some] for code in codes],
                        {name: numbers[some] for name, numbers in values.items()},
                        {name: labels[some] for name, labels in texts.items()},
                    )

            names = list(dict.fromkeys([*plan.numbers, *plan.texts]))
            read_columns(model, names, add, threads=self._threads, progress=self._progress)

    def add_up(self) -> None:
        """Add up the products of all blocks by cell."""
        self._pass(self._add)

    def _add(
        self, codes: list[Ints], values: Mapping[str, Floats], texts: Mapping[str, Ints]
    ) -> None:
        plan, division = self._plan, self._division
        whole = division.whole(codes)
        rows, cells, volumes = self._pieces(codes, whole)
        self._sums[""].add(cells, volumes)
        self._before[""].add(np.zeros(len(whole), np.int64), whole)
        for name in plan.averaged:
            weight, present = plan.weight_of(name), self._present(name, values)
            some = present[rows]
            factors = [values[each] for each in (name, *weight)]
            of_pieces = [each[rows][some] for each in factors]
            self._sums[f"{name} x"].add(cells[some], volumes[some], *of_pieces)
            self._sums[f"{name} w"].add(cells[some], volumes[some], *of_pieces[1:])
            zeros = np.zeros(int(present.sum()), np.int64)
            of_blocks = [each[present] for each in factors]
            self._before[f"{name} x"].add(zeros, whole[present], *of_blocks)
            self._before[f"{name} w"].add(zeros, whole[present], *of_blocks[1:])
        kinds = np.searchsorted(self._wholes, whole)
        for name in plan.sums:
            present = ~np.isnan(values[name])
            some = present[rows]
            groups = cells[some] * len(self._wholes) + kinds[rows][some]
            self._sums[f"{name} +"].add(groups, volumes[some], values[name][rows][some])
            zeros = np.zeros(int(present.sum()), np.int64)
            self._before[f"{name} +"].add(zeros, np.ones_like(zeros), values[name][present])
        inside = cells < division.cells
        for name, spelled in texts.items():
            keys = spelled[rows][inside] * np.int64(division.cells) + cells[inside]
            self._volumes[name].append(_added(keys, volumes[inside]))

    def _pieces(self, codes: list[Ints], whole: Ints) -> tuple[NDArray[np.intp], Ints, Ints]:
        """Return the pieces of blocks, and one for the part of each block outside the new model."""
        rows, cells, volumes = self._division.pieces(codes)
        rest = whole - self._division.inside(codes)
        out = np.flatnonzero(rest)
        if not len(out):
            return rows, cells, volumes
        outside = np.full(len(out), self._division.cells)
        return (
            np.concatenate([rows, out]),
            np.concatenate([cells, outside]),
            np.concatenate([volumes, rest[out]]),
        )

    # The third pass: what changes sides at cut-offs.

    def compare(self) -> tuple[CutoffMoves, ...]:
        """Return the volume, tonnes and metal on each side of the cut-offs, before and after."""
        plan, name = self._plan, self._plan.graded
        above = [self._cells_above(name, cutoff) for cutoff in plan.cutoffs]
        weight = plan.weight_of(name)
        ranges = [self._ranges[each] for each in (name, *weight)]
        density = [self._ranges[plan.density]] if isinstance(plan.density, str) else []
        groups = 6 * len(plan.cutoffs)
        volumes, tonnes, metal = Sums(groups), Sums(groups, density), Sums(groups, ranges)

        def take(codes: list[Ints], values: Mapping[str, Floats], _: Mapping[str, Ints]) -> None:
            rows, cells, parts = self._pieces(codes, self._division.whole(codes))
            some = self._present(name, values)[rows]
            if density:
                some &= ~np.isnan(values[cast("str", plan.density)])[rows]
            rows, cells, parts = rows[some], cells[some], parts[some]
            factors = [values[each][rows] for each in (name, *weight)]
            heavy = [values[cast("str", plan.density)][rows]] if density else []
            for place, cutoff in enumerate(plan.cutoffs):
                side = above[place][cells].astype(np.int64) + 3 * (factors[0] >= cutoff)
                group = 6 * place + side
                volumes.add(group, parts)
                tonnes.add(group, parts, *heavy)
                metal.add(group, parts, *factors)

        self._pass(take)
        unit = self._division.volume_unit
        constant = Fraction(plan.density) if isinstance(plan.density, int | float) else Fraction(1)
        sums = [
            [Fraction(each) * sums.scale * unit for each in sums.wholes()]
            for sums in (volumes, tonnes, metal)
        ]
        scaled = constant if plan.averaged[name] == TONNES else Fraction(1)
        moved = [
            Moved(volume, mass * constant if plan.density is not None else None, grams * scaled)
            for volume, mass, grams in zip(*sums, strict=True)
        ]
        return tuple(
            CutoffMoves(name, cutoff, *moved[6 * place : 6 * place + 6])
            for place, cutoff in enumerate(plan.cutoffs)
        )

    def _cells_above(self, name: str, cutoff: float) -> NDArray[np.int8]:
        """Return 1 for each cell whose mean reaches the cut-off, otherwise 0; 2 for outside."""
        top, bottom = self._sums[f"{name} x"], self._sums[f"{name} w"]
        ratio = top.scale / bottom.scale
        limit = Fraction(cutoff) / ratio
        above = [
            a * limit.denominator >= b * limit.numerator and b != 0
            for a, b in zip(top.wholes(), bottom.wholes(), strict=True)
        ]
        sides = np.array(above, np.int8)
        sides[-1] = 2
        return sides

    # Results.

    def blocks(self) -> Blocks:
        """Return the new blocks that at least one block of the model overlaps."""
        volumes = self._sums[""].wholes()[:-1]
        filled = np.flatnonzero(np.array([each > 0 for each in volumes], np.bool_))
        places = np.unravel_index(filled, [axis.count for axis in reversed(self._axes)])
        local = np.column_stack(
            [
                axis.numbers(at.astype(np.int64))
                for axis, at in zip(self._axes, places[::-1], strict=True)
            ]
        )
        matrix = np.eye(3) if self._matrix is None else self._matrix
        centroids = local if self._matrix is None else local @ matrix
        sizes = np.tile([float(axis.size) for axis in self._axes], (len(filled), 1))
        cell = self._division.cell_volume
        columns: dict[str, Values] = {
            FILLED: np.array([volumes[at] / cell for at in filled.tolist()])
        }
        for name, values in self._values(filled):
            if plain_name(name) in map(plain_name, columns):
                message = f"two new columns are called {name!r}: rename a column of the model"
                raise TableError(message)
            columns[name] = values
        return Blocks(centroids, sizes, matrix, columns)

    def _values(self, cells: NDArray[np.intp]) -> Iterator[tuple[str, Values]]:
        """Yield the name and the values of each new column."""
        for name in self._plan.averaged:
            yield name, self._means(name, cells)
        for name in self._plan.sums:
            yield name, np.array([a / b for a, b in self._amounts(name, cells.tolist())])
        for name in self._plan.dominants:
            yield name, self._dominant(name, cells)
        for name in self._plan.shares:
            yield from self._shares(name, cells)

    def _means(self, name: str, cells: NDArray[np.intp]) -> Floats:
        top, bottom = self._sums[f"{name} x"], self._sums[f"{name} w"]
        ratio = top.scale / bottom.scale
        more, less = ratio.numerator, ratio.denominator
        above, below = top.wholes(), bottom.wholes()
        return np.array(
            [
                above[at] * more / (below[at] * less) if below[at] else math.nan
                for at in cells.tolist()
            ]
        )

    def _amounts(self, name: str, cells: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the amount in each cell as numerator and denominator.

        A block adds the part of its amount that corresponds to the part of its volume in the cell.
        """
        sums, kinds = self._sums[f"{name} +"], self._wholes.tolist()
        wholes, scale = sums.wholes(), sums.scale
        for at in cells:
            parts = wholes[at * len(kinds) : (at + 1) * len(kinds)]
            some = [(part, kind) for part, kind in zip(parts, kinds, strict=True) if part]
            common = math.lcm(*(kind for _, kind in some))
            total = sum(part * (common // kind) for part, kind in some)
            yield total * scale.numerator, common * scale.denominator

    def _dominant(self, name: str, cells: NDArray[np.intp]) -> Values:
        labels = self._labels[name]
        rank = np.argsort(np.argsort(np.array(labels, np.object_)))
        keys, volumes = _joined(self._volumes[name])
        codes, where = np.divmod(keys, self._division.cells)
        blank = np.array([not label for label in labels], np.bool_)[codes]
        order = np.lexsort([rank[codes], -volumes, blank, where])
        first = order[np.diff(where[order], prepend=-1) != 0]
        texts = np.array(labels, np.object_)[codes[first]]
        made: Values = np.full(len(cells), "", np.object_)
        made[np.searchsorted(cells, where[first])] = texts
        return made

    def _shares(self, name: str, cells: NDArray[np.intp]) -> Iterator[tuple[str, Floats]]:
        keys, volumes = _joined(self._volumes[name])
        codes, where = np.divmod(keys, self._division.cells)
        for code, label in sorted(enumerate(self._labels[name]), key=lambda pair: pair[1]):
            if label:
                some = codes == code
                shares = np.zeros(len(cells))
                shares[np.searchsorted(cells, where[some])] = [
                    each / self._division.cell_volume for each in volumes[some].tolist()
                ]
                yield f"{_SHARE}{label}", shares

    def balances(self) -> tuple[Balance, ...]:
        """Return what was conserved: volume, tonnes, metal and amounts."""
        plan, unit = self._plan, self._division.volume_unit
        rows = [self._balance("volume", "", unit)]
        for name, weight in plan.averaged.items():
            constant = Fraction(1)
            if weight == TONNES and isinstance(plan.density, int | float):
                constant = Fraction(plan.density)
            title = TONNES if name == plan.density else f"{name} x {weight}"
            rows.append(self._balance(title, f"{name} x", unit * constant))
        rows += [self._amount_balance(name) for name in plan.sums]
        return tuple(rows)

    def _balance(self, title: str, key: str, unit: Fraction) -> Balance:
        sums, before = self._sums[key], self._before[key]
        wholes = sums.wholes()
        inside, outside = (each * sums.scale * unit for each in (sum(wholes[:-1]), wholes[-1]))
        return Balance.checked(title, before.total() * unit, inside, outside)

    def _amount_balance(self, name: str) -> Balance:
        totals: Counter[int] = Counter()
        for numerator, denominator in self._amounts(name, range(self._division.cells)):
            totals[denominator] += numerator
        inside = sum((Fraction(a, b) for b, a in totals.items()), Fraction(0))
        ((numerator, denominator),) = self._amounts(name, [self._division.cells])
        before = self._before[f"{name} +"].total()
        return Balance.checked(name, before, inside, Fraction(numerator, denominator))

    def notes(self) -> Iterator[str]:
        """Yield notes: blocks that means leave out, and rounded coordinates."""
        for blocks, places in self._lacks():
            yield f"{blocks}: not in {places}"
        yield from self._notes_below
        if self._matrix is not None:
            yield (
                f"the model is rotated: its local coordinates are rounded to {_DECIMALS} decimals"
            )


def _refuse_columns(model: BlockFile, plan: Plan) -> None:
    """Raise TableError if a column is missing, or is a coordinate or a size."""
    for name in (*plan.numbers, *plan.texts):
        find_column(model.columns, name, model.name)
    roles = dict.fromkeys(plan.numbers, "mean") | dict.fromkeys(plan.sums, "sum")
    roles |= {plan.density: "density"} if isinstance(plan.density, str) else {}
    for name, role in roles.items():
        refuse_geometry(name, model.centroid, model.sizes, model.name, role)


def _require_sizes(sizes: Floats | None, model: BlockFile) -> Floats:
    """Return the sizes; raise TableError if there are none."""
    if sizes is None:
        message = (
            f"{model.name} has no block sizes: name their columns, or give the size of all blocks, "
            "with dx=, dy= and dz="
        )
        raise TableError(message)
    return sizes


def _refuse_misfit(points: Floats, sizes: Floats, model: BlockFile) -> None:
    """Raise TableError if blocks contradict the stated rotation, or look rotated without one."""
    refuse_misfit(points, sizes, model.frame, model.name)
    if (np.asarray(model.axes) == np.eye(3)).all():
        require_known_turn(points, sizes, model.frame, model.name, "regularised")


def _distinct(sizes: Floats) -> set[tuple[float, ...]]:
    """Return the distinct rows of sizes, (n, 3)."""
    import pandas

    return {*map(tuple, pandas.DataFrame(sizes).drop_duplicates().to_numpy().tolist())}


def _added(keys: Ints, volumes: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys, ascending, and the sum of volumes of each."""
    order = np.argsort(keys, kind="stable")
    keys, volumes = keys[order], volumes[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.add.reduceat(volumes, starts) if len(starts) else volumes


def _joined(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return the distinct keys of all chunks, and the sum of volumes of each."""
    return _added(*(np.concatenate([each[place] for each in parts]) for place in (0, 1)))
