"""Read a labelled block model for a report: positions, labels and shares in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import LabelSpellings, refuse_geometry
from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Relabelling
from geodomain.formats.blocks import BlockFile, open_model
from geodomain.progress import Progress
from geodomain.reporting.survey import Survey, find_lattice
from geodomain.tables.conditions import Column
from geodomain.tables.frames import LocalFrame
from geodomain.tables.numbers import NegativeGrades
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import azimuth_of, refuse_misfit, require_constants
from geodomain.tables.vendors import find_column, plain_name
from geodomain.volumes.tonnage import Wanted
from geodomain.volumes.tonnes import refuse_commas


@dataclass(frozen=True)
class ShownLabel:
    """A label of the model and how the report shows it.

    Attributes
    ----------
    text : str
        The text in the file.
    name : str
        The text in the report. If the text in the file is the code of a domain, this is the
        domain's name.
    colour : str
        #rrggbb.
    order : int
        Position in the summary.
    ground : bool
        Whether the label is background, not a domain.
    hidden : bool
        Whether blocks with this label are hidden when the 3D view opens.
    """

    text: str
    name: str
    colour: str
    order: int
    ground: bool
    hidden: bool


# Share columns of domains: prefixes of their names, and the number that means a whole block.

_WHOLES = {"prop_": 1.0, "pct_": 100.0}
_SLACK = 1e-6


class ShareColumns:
    """Collect the columns prop_<name> and pct_<name>: the share of domain <name> in each block.

    Parameters
    ----------
    columns : sequence of str
        All columns of the model.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns: dict[int, tuple[str, float]] = {}
        for place, column in enumerate(columns):
            name = plain_name(column).lower()
            for start, whole in _WHOLES.items():
                if name.startswith(start):
                    self._columns[place] = name.removeprefix(start), whole
        self._parts: dict[int, list[Floats]] = {place: [] for place in self._columns}

    def add(self, column: Callable[[int], Column]) -> None:
        """Add the shares in a batch of rows; ``column(i)`` returns column i of the batch."""
        for place, parts in self._parts.items():
            cells = column(place)
            numbers = cells.loose_numbers()
            # A column of text holds no shares; a column of numbers is read strictly.
            parts.append(numbers if np.isnan(numbers).all() else cells.numbers(words=True))

    def result(self) -> dict[str, Floats]:
        """Return the shares by domain, from 0 to 1.

        A column with a number that is not a share is left out.
        """
        shares = {}
        for place, (name, whole) in self._columns.items():
            numbers = np.concatenate([np.empty(0), *self._parts[place]]) / whole
            valid = numbers[~np.isnan(numbers)]
            if valid.size and valid.min() >= -_SLACK and valid.max() <= 1 + _SLACK:
                shares[name] = numbers
        return shares


# Text columns, stored as codes into the distinct texts of each column.

# Columns with more distinct texts than this are left out, to keep the report small.
MOST_TEXTS = 400_000


@dataclass(frozen=True)
class TextColumns:
    """The columns of a table as text.

    Attributes
    ----------
    names : tuple of str
        Names of the columns that the report shows, in the order of the file.
    texts : tuple of list of str
        Distinct texts of each column.
    codes : tuple of (n,) int32
        An array for each column: for each row, the index of its text in `texts`.
    left_out : tuple of str
        Columns with too many distinct texts.
    """

    names: tuple[str, ...]
    texts: tuple[list[str], ...]
    codes: tuple[NDArray[np.int32], ...]
    left_out: tuple[str, ...] = ()

    def cell(self, column: int, row: int) -> str:
        """Return the text of a column in a row; both are counted from 0."""
        return self.texts[column][int(self.codes[column][row])]


class TextCollector:
    """Collect a column, batch by batch; discard it if it has too many distinct texts."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self.is_full = False

    def add(self, texts: list[str], codes: NDArray[np.intp]) -> None:
        """Add a batch: distinct texts, and for each row the index of the row's text among them."""
        places = self._places
        renumbered = [places.setdefault(text, len(places)) for text in texts]
        self._codes.append(np.array(renumbered, np.int32)[codes])
        if len(places) > MOST_TEXTS:
            self._places, self._codes, self.is_full = {}, [], True

    def result(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return the distinct texts, and for each row the index of the row's text among them."""
        return list(self._places), np.concatenate([np.empty(0, np.int32), *self._codes])


# Positions and sizes of blocks, stored as codes into their distinct values.

Codes = NDArray[np.int32]

# Coordinates count as equal within this fraction of the smallest block, because exports round.
_PARTS = 10_000


@dataclass(frozen=True)
class Geometry:
    """The positions, sizes and labels of the blocks that have a centroid and a size.

    Attributes
    ----------
    rows : (n,) int64
        Row of each block in the file, counted from 0.
    origin : (3,) float64
        A point near the middle of the model, in world coordinates.
    matrix : (3, 3) float64
        Rotation from block axes to world axes.
    centres : tuple of (k,) float64
        Distinct centroid coordinates along each block axis, relative to the origin, ascending.
    places : tuple of (n,) int32
        An array for each axis: for each block, the index of its coordinate in `centres`.
    sizes : (m, 3) float64
        Distinct block sizes.
    kinds : (n,) int32
        Index of each block's size in `sizes`.
    codes : (n,) int32
        Index of each block's label.
    """

    rows: NDArray[np.int64]
    origin: Floats
    matrix: Floats
    centres: tuple[Floats, Floats, Floats]
    places: tuple[Codes, Codes, Codes]
    sizes: Floats
    kinds: Codes
    codes: Codes

    @property
    def is_turned(self) -> bool:
        """Whether the blocks are rotated against the world axes."""
        return not np.array_equal(self.matrix, np.eye(3))

    @cached_property
    def extent(self) -> Floats:
        """The bounding box of the blocks in world coordinates, (2, 3)."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        if not self.is_turned:
            for axis in range(3):
                centres = self.centres[axis][self.places[axis]]
                half = (self.sizes[:, axis] / 2)[self.kinds]
                low[axis], high[axis] = (centres - half).min(), (centres + half).max()
        else:
            points = self.world(slice(None))
            half = (self.sizes / 2 @ np.abs(self.matrix).T)[self.kinds]
            low, high = (points - half).min(axis=0) - self.origin, (points + half).max(axis=0)
            high = high - self.origin
        return np.stack([low, high]) + self.origin

    def local(self, which: NDArray[np.int64] | slice) -> Floats:
        """Return centroids of the chosen blocks along the block axes, relative to the origin."""
        columns = zip(self.centres, self.places, strict=True)
        return np.stack([centres[places[which]] for centres, places in columns], axis=1)

    def world(self, which: NDArray[np.int64] | slice) -> Floats:
        """Return world centroids of the chosen blocks."""
        local = self.local(which)
        return (local @ self.matrix.T if self.is_turned else local) + self.origin


def geometry_of(blocks: Blocks) -> Geometry:
    """Store the centroids and sizes of blocks as distinct values and an index for each block."""
    usable = np.isfinite(blocks.points[:, 0]) & (blocks.sizes[:, 0] > 0)
    whole = bool(usable.all())
    rows = np.flatnonzero(usable)
    points = blocks.points if whole else blocks.points[usable]
    sizes = blocks.sizes if whole else blocks.sizes[usable]
    origin = np.floor((points.min(axis=0) + points.max(axis=0)) / 2)
    offsets = points - origin
    if not np.array_equal(blocks.matrix, np.eye(3)):
        offsets = np.asfortranarray(offsets @ blocks.matrix)
    kinds, distinct_sizes = _size_codes(sizes)
    quantum = distinct_sizes.min(axis=0) / _PARTS
    axes = [_distinct(offsets[:, axis], quantum[axis]) for axis in range(3)]
    return Geometry(
        rows=rows,
        origin=origin,
        matrix=blocks.matrix,
        centres=(axes[0][0], axes[1][0], axes[2][0]),
        places=(axes[0][1], axes[1][1], axes[2][1]),
        sizes=distinct_sizes,
        kinds=kinds,
        codes=blocks.codes if whole else blocks.codes[usable],
    )


def _distinct(values: Floats, quantum: float) -> tuple[Floats, Codes]:
    """Return the distinct values in ascending order, and the index of each value among them.

    Values that round to the same multiple of `quantum` count as equal.
    """
    import pandas

    codes, steps = pandas.factorize(np.round(values / quantum).astype(np.int64), sort=True)
    first = np.empty(len(steps))
    first[codes[::-1]] = values[::-1]  # keep the exact value of the first row
    return first, codes.astype(np.int32)


def _size_codes(sizes: Floats) -> tuple[Codes, Floats]:
    """Return a tuple: the index of each block's size among the distinct sizes, and these sizes."""
    import pandas

    if (sizes[0] == sizes).all():
        return np.zeros(len(sizes), np.int32), np.array(sizes[:1])
    key = np.zeros(len(sizes), np.int64)
    for axis in range(3):
        codes, values = pandas.factorize(sizes[:, axis])
        key = pandas.factorize(key * len(values) + codes)[0]
    first = np.empty(int(key.max()) + 1, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    return key.astype(np.int32), sizes[first]


# Reading the model in one pass.

# Number of blocks checked at a time.
_TOGETHER = 1 << 18
# A block takes about 100 bytes in this process, and 50 bytes in the browser.
MOST_BLOCKS = 20_000_000


@dataclass(frozen=True)
class Blocks:
    """A labelled block model in memory.

    Attributes
    ----------
    name : str
        Name of the file.
    digest : Digest
        Hash of the file.
    points, sizes : (n, 3) float64
        World centroids, NaN where missing, and sizes along the block axes.
    matrix : (3, 3) float64
        Rotation from block axes to world axes.
    labels : list of str
        Distinct labels.
    codes : (n,) int32
        Index of each block's label in `labels`.
    texts : TextColumns
        The columns of the file as text.
    numbers : dict of str to (n,) float64
        The numeric columns of the report, NaN where a cell is empty.
    proportions : dict of str to (n,) float64
        For each domain, the share of each block that is in the domain, from 0 to 1. Keys are names
        in lower case. Shares come from the column prop_<name> or pct_<name>; NaN where a cell is
        empty.
    spacing : tuple of float, optional
        Size of all blocks, inferred from the lattice of centroids. None if the file has sizes.
    classes : list of str
        Distinct resource classes; empty if no column of classes was read.
    class_codes : (n,) int32
        Index of each block's class in `classes`.
    frame : LocalFrame, optional
        The frame in which blocks are axis-aligned, as the file or the user states it.
    axes : (3, 3) float64
        Directions of the block edges in world coordinates, as the file states them.
    notes : tuple of str
        For each numeric column with cells below detection, their number and the policy for them.
    """

    name: str
    digest: Digest
    points: Floats
    sizes: Floats
    matrix: Floats
    labels: list[str]
    codes: NDArray[np.int32]
    texts: TextColumns
    numbers: dict[str, Floats]
    proportions: dict[str, Floats]
    spacing: tuple[float, float, float] | None = None
    classes: list[str] = field(default_factory=list)
    class_codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    frame: LocalFrame | None = None
    axes: Floats = field(default_factory=lambda: np.eye(3))
    notes: tuple[str, ...] = ()


def read_blocks(
    path: str,
    options: TableOptions,
    column: str,
    *,
    numeric: Sequence[str] = (),
    wanted: Wanted | None = None,
    progress: Progress | None = None,
) -> Blocks:
    """Read a labelled model from a file of any format.

    Parameters
    ----------
    path : str
        The file; it is read once.
    options : TableOptions
        The user's options for the file.
    column : str
        Label column.
    numeric : sequence of str
        Columns to read as numbers.
    wanted : Wanted, optional
        The tonnes to add up. A column of densities must not be a coordinate or a size.
    progress : callable, optional
        Called with the work done and the total.

    Returns
    -------
    Blocks

    Raises
    ------
    TableError
        If the label column is missing or empty, no block has a centroid, or there are too many
        blocks. Also if the file has no sizes and the centroids form no lattice.
    """
    digest = Digest()
    with open_model(path, options, digest=digest) as model:
        label = _find_label(model, column)
        if wanted is not None:
            refuse_geometry(wanted.density, model.centroid, model.sizes, model.name)
            refuse_commas(wanted.cut, wanted.spelled, model)
        reading = _Reading(model, label, numeric, wanted)
        columns = sorted({*range(len(model.columns)), *model.constants})
        model.relabel(Relabelling(reading.add, also=columns, progress=progress))
        return reading.blocks(model, digest)


def _find_label(model: BlockFile, column: str) -> int:
    """Return the index of the label column; if there is none, raise TableError with a remedy."""
    if plain_name(column) not in map(plain_name, model.columns):
        message = (
            f"{model.name} has no column {column!r}: label the model with 'geodomain label', or "
            "name its label column with column="
        )
        raise TableError(message)
    return find_column(model.columns, column, model.name)


class _Reading:
    """Collector of the blocks, labels and columns of a model, filled in one pass over the file."""

    def __init__(
        self,
        model: BlockFile,
        label: int,
        numeric: Sequence[str],
        wanted: Wanted | None,
    ) -> None:
        self._model, self._label = model, label
        self._density = wanted.density if wanted else None
        named = wanted.classification if wanted else ""
        self._class = find_column(model.columns, named, model.name) if named else None
        self._classes: list[str] = []
        self._class_codes: list[NDArray[np.int32]] = []
        self._negative: dict[str, NegativeGrades] = {}
        self._columns = [TextCollector() for _ in model.columns]
        self._points: list[Floats] = []
        self._sizes: list[Floats] = []
        self._numeric = {name: find_column(model.columns, name, model.name) for name in numeric}
        self._numbers: dict[str, list[Floats]] = {name: [] for name in numeric}
        self._shares = ShareColumns(model.columns)
        self._spelled = LabelSpellings(model.columns[label])
        self.rows = 0

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> Sequence[NDArray[np.int32]]:
        """Add a batch of rows."""
        model = self._model
        require_constants(model.constants, column, model.columns, model.name, self.rows)
        self.rows += len(points)
        if self.rows > MOST_BLOCKS:
            message = (
                f"{model.name} has more than {MOST_BLOCKS:,} blocks, the most that a report can "
                "hold: draw sections of it with 'geodomain plot'"
            )
            raise TableError(message)
        self._points.append(np.array(points))
        if sizes is not None:
            self._sizes.append(np.array(sizes))
        for number, collector in enumerate(self._columns):
            if not collector.is_full:
                texts, codes = column(number).spellings()
                collector.add(texts, codes)
                if number == self._label:
                    self._spelled.add(texts, codes, column(number).padded())
        for name, place in self._numeric.items():
            cells = column(place)
            numbers = cells.numbers()
            if name != self._density:
                below = self._negative.setdefault(name, NegativeGrades(name, cells.rule.below))
                done = self.rows - len(points)
                numbers = below.take(numbers, done, cells.below_detection())
            self._numbers[name].append(numbers.copy())
        if self._class is not None:
            self._classes, codes = column(self._class).distinct(self._classes)
            self._class_codes.append(codes.astype(np.int32))
        self._shares.add(column)
        return []

    def blocks(self, model: BlockFile, digest: Digest) -> Blocks:
        """Join the batches, check them, and return the blocks."""
        points = _stacked(self._points)
        if not np.isfinite(points).all(axis=1).any():
            message = f"{model.name} has no block with a centroid, so there is nothing to report"
            raise TableError(message)
        if not self._sizes:
            refuse_misfit(points, None, model.frame, model.name)
        spacing = None if self._sizes else spacing_of(model, points)
        sizes = np.broadcast_to(spacing, points.shape) if spacing else _stacked(self._sizes)
        local = model.frame.lattice or LocalFrame(
            [("z", azimuth_of(points, sizes))], (0.0, 0.0, 0.0)
        )
        usable = np.all(np.isfinite(sizes) & (sizes > 0), axis=1)
        if not usable.all():
            sizes = np.where(usable[:, None], sizes, 0.0)
        if not usable.any():
            message = (
                f"{model.name} has no block with sizes above 0: correct the sizes, or name "
                "other size columns"
            )
            raise TableError(message)
        ghosts = np.isnan(points).all(axis=1) & bool(getattr(model, "has_ghosts", False))
        _warn_of_sizes(model.name, usable | ghosts, points)
        for grade in self._negative.values():
            for sentence in grade.warnings("block"):
                warn(sentence)
        _warn_of_blocks(model, points, None if spacing else sizes)
        labels, codes = self._labels(model)
        matrix = np.array(local.matrix)
        numbers = {name: np.concatenate(chunks) for name, chunks in self._numbers.items()}
        shares = self._shares.result()
        return Blocks(
            name=model.name,
            digest=digest,
            points=points,
            sizes=sizes,
            matrix=matrix,
            labels=labels,
            codes=codes,
            texts=self._texts(),
            numbers=numbers,
            proportions=shares,
            spacing=spacing,
            classes=self._classes,
            class_codes=np.concatenate([np.empty(0, np.int32), *self._class_codes]),
            frame=model.frame.lattice,
            axes=model.axes,
            notes=tuple(note for grade in self._negative.values() for note in grade.notes()),
        )

    def _labels(self, model: BlockFile) -> tuple[list[str], NDArray[np.int32]]:
        """Return the distinct labels, and for each row the index of the row's label among them.

        Raise TableError if the column holds no labels.
        """
        name = model.columns[self._label]
        if self._columns[self._label].is_full:
            message = (
                f"the column {name!r} of {model.name} does not hold labels: nearly all its values "
                "are different; name another column with column="
            )
            raise TableError(message)
        labels, codes = self._columns[self._label].result()
        for sentence in self._spelled.notes():
            warn(sentence)
        if labels == [""]:
            message = (
                f"the column {name!r} of {model.name} is empty in every row: label the model with "
                "'geodomain label', or name another column with column="
            )
            raise TableError(message)
        return labels, codes

    def _texts(self) -> TextColumns:
        """Return the columns as text; leave out columns with too many distinct texts."""
        names = self._model.columns
        small = [place for place, column in enumerate(self._columns) if not column.is_full]
        columns = [self._columns[place].result() for place in small]
        return TextColumns(
            names=tuple(names[place] for place in small),
            texts=tuple(texts for texts, _ in columns),
            codes=tuple(codes for _, codes in columns),
            left_out=tuple(
                name for name, column in zip(names, self._columns, strict=True) if column.is_full
            ),
        )


def _warn_of_sizes(name: str, usable: NDArray[np.bool_], points: Floats) -> None:
    """Warn about blocks without a size, with their number and the centroid of the first one."""
    lacking = np.flatnonzero(~usable)
    if len(lacking):
        at = ", ".join(f"{value:.10g}" for value in points[lacking[0]])
        has, they = ("has", "it") if len(lacking) == 1 else ("have", "them")
        message = (
            f"{len(lacking):,} of {counted(len(usable), 'block')} of {name} {has} no size above "
            "0, the "
            f"first at ({at}): no volume is counted for {they}, and the view leaves {they} out"
        )
        warn(message)


def _warn_of_blocks(model: BlockFile, points: Floats, sizes: Floats | None) -> None:
    """Warn about duplicate blocks, and about sizes that do not fit the lattice."""
    checks = VolumeChecks(model.axes, times=realisations_of(model.facts()))
    for start in range(0, len(points), _TOGETHER):
        rows = slice(start, start + _TOGETHER)
        checks.add(points[rows], None if sizes is None else sizes[rows])
    for sentence in checks.warnings():
        warn(sentence)


def _stacked(chunks: list[Floats]) -> Floats:
    """Concatenate arrays in Fortran order, and free each array as soon as it is copied."""
    out, row = np.empty((sum(map(len, chunks)), 3), order="F"), 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        out[row : row + len(chunk)] = chunk
        row += len(chunk)
    return out


def spacing_of(model: BlockFile, points: Floats) -> tuple[float, float, float]:
    """Infer the block size from the lattice of the centroids."""
    survey = Survey.of_model(model)
    survey.add(points, None)
    lattice = find_lattice(survey)
    if lattice is None:
        message = (
            f"{model.name} has no block sizes, and they cannot be inferred, because its centroids "
            "form no lattice: name the size columns, or give the sizes, with dx=, dy= and dz="
        )
        raise TableError(message)
    x, y, z = (float(step) for step in lattice.spacing)
    return x, y, z
