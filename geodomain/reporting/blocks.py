"""Read a labelled block model for a report: places, labels and shares in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from geodomain.tables.rotation import azimuth_of, require_constants
from geodomain.tables.vendors import find_column, plain_name


@dataclass(frozen=True)
class ShownLabel:
    """What a code of blocks stands for.

    Attributes
    ----------
    text : str
        As the file has it.
    name : str
        As it is shown: the domain's, where the file has its code.
    colour : str
        As #rrggbb.
    order : int
        Its place in the summary.
    ground : bool
        Whether it is no domain.
    hidden : bool
        Whether the view leaves its blocks out at first.
    """

    text: str
    name: str
    colour: str
    order: int
    ground: bool
    hidden: bool


# Columns of shares, by domain.

_WHOLES = {"prop_": 1.0, "pct_": 100.0}
_SLACK = 1e-6


class ShareColumns:
    """Columns prop_<name> and pct_<name>, gathered chunk by chunk.

    Parameters
    ----------
    columns : sequence of str
        All the columns of the model.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._found: dict[int, tuple[str, float]] = {}
        for place, column in enumerate(columns):
            name = plain_name(column).lower()
            for start, whole in _WHOLES.items():
                if name.startswith(start):
                    self._found[place] = name.removeprefix(start), whole
        self._parts: dict[int, list[Floats]] = {place: [] for place in self._found}

    def add(self, column: Callable[[int], Column]) -> None:
        """Take a chunk."""
        for place, parts in self._parts.items():
            asked = column(place)
            numbers = asked.loose_numbers()
            # A column of texts is no share; one of numbers is read by the rule for numbers.
            parts.append(numbers if np.isnan(numbers).all() else asked.numbers(words=True))

    def result(self) -> dict[str, Floats]:
        """Return shares, 0 to 1, by the rest of the name; a column with other numbers is none."""
        shares = {}
        for place, (name, whole) in self._found.items():
            numbers = np.concatenate([np.empty(0), *self._parts[place]]) / whole
            known = numbers[~np.isnan(numbers)]
            if known.size and known.min() >= -_SLACK and known.max() <= 1 + _SLACK:
                shares[name] = numbers
        return shares


# Texts of cells as codes into the distinct texts of a column.

# A column with more different texts is left out: a report is to stay small.
MOST_TEXTS = 400_000


@dataclass(frozen=True)
class TextColumns:
    """Columns of a table as text.

    Attributes
    ----------
    names : tuple of str
        Of the columns that are kept, in the order of the file.
    texts : tuple of list of str
        The different texts of each.
    codes : tuple of (n,) int32
        The place of each row's text among them.
    left_out : tuple of str
        Columns that have too many different texts.
    """

    names: tuple[str, ...]
    texts: tuple[list[str], ...]
    codes: tuple[NDArray[np.int32], ...]
    left_out: tuple[str, ...] = ()

    def cell(self, column: int, row: int) -> str:
        """Return one cell."""
        return self.texts[column][int(self.codes[column][row])]


class TextCollector:
    """Gathers one column chunk by chunk; it gives up on one with too many different texts."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self.is_full = False

    def add(self, texts: list[str], codes: NDArray[np.intp]) -> None:
        """Take the different texts of a chunk, and the place of each row's among them."""
        places = self._places
        here = [places.setdefault(text, len(places)) for text in texts]
        self._codes.append(np.array(here, np.int32)[codes])
        if len(places) > MOST_TEXTS:
            self._places, self._codes, self.is_full = {}, [], True

    def result(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return the different texts, and the place of each row's among them."""
        return list(self._places), np.concatenate([np.empty(0, np.int32), *self._codes])


# Places and sizes of blocks as codes into their distinct numbers.

Codes = NDArray[np.int32]

# Coordinates are told apart in so many parts of the smallest block: exports round.
_PARTS = 10_000


@dataclass(frozen=True)
class Geometry:
    """The blocks that have a place and a size.

    Attributes
    ----------
    rows : (n,) int64
        Their rows in the file, from 0.
    origin : (3,) float64
        A point of the world near the middle.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    centres : tuple of (k,) float64
        The different coordinates of centroids along each axis of the blocks, from the origin,
        ascending.
    places : tuple of (n,) int32
        The place of each block's coordinate among them.
    sizes : (m, 3) float64
        The different sizes.
    kinds : (n,) int32
        The place of each block's size among them.
    codes : (n,) int32
        The place of each block's label.
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
        """Whether the blocks are not along the axes of the world."""
        return not np.array_equal(self.matrix, np.eye(3))

    @cached_property
    def extent(self) -> Floats:
        """Return the box, (2, 3), of the blocks in the world."""
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
        """Return centroids of some blocks along the blocks' axes, from the origin."""
        columns = zip(self.centres, self.places, strict=True)
        return np.stack([centres[places[which]] for centres, places in columns], axis=1)

    def world(self, which: NDArray[np.int64] | slice) -> Floats:
        """Return world centroids of some blocks."""
        local = self.local(which)
        return (local @ self.matrix.T if self.is_turned else local) + self.origin


def geometry_of(blocks: Blocks) -> Geometry:
    """Find the few numbers that places and sizes of blocks are made of."""
    there = np.isfinite(blocks.points[:, 0]) & (blocks.sizes[:, 0] > 0)
    whole = bool(there.all())
    rows = np.flatnonzero(there)
    points = blocks.points if whole else blocks.points[there]
    sizes = blocks.sizes if whole else blocks.sizes[there]
    origin = np.floor((points.min(axis=0) + points.max(axis=0)) / 2)
    offsets = points - origin
    if not np.array_equal(blocks.matrix, np.eye(3)):
        offsets = np.asfortranarray(offsets @ blocks.matrix)
    kinds, known = _kinds(sizes)
    quantum = known.min(axis=0) / _PARTS
    found = [_different(offsets[:, axis], quantum[axis]) for axis in range(3)]
    return Geometry(
        rows=rows,
        origin=origin,
        matrix=blocks.matrix,
        centres=(found[0][0], found[1][0], found[2][0]),
        places=(found[0][1], found[1][1], found[2][1]),
        sizes=known,
        kinds=kinds,
        codes=blocks.codes if whole else blocks.codes[there],
    )


def _different(values: Floats, quantum: float) -> tuple[Floats, Codes]:
    """Return the different values, ascending, and the place of each among them."""
    import pandas

    codes, steps = pandas.factorize(np.round(values / quantum).astype(np.int64), sort=True)
    first = np.empty(len(steps))
    first[codes[::-1]] = values[::-1]  # each as its first row has it
    return first, codes.astype(np.int32)


def _kinds(sizes: Floats) -> tuple[Codes, Floats]:
    """Return the place of each block's size among the different ones, and these."""
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

# So many blocks are checked at a time.
_TOGETHER = 1 << 18
# Blocks are held in memory, about 100 bytes each; a browser holds half of that.
MOST_BLOCKS = 20_000_000


@dataclass(frozen=True)
class Blocks:
    """A labelled block model in memory.

    Attributes
    ----------
    name : str
        Of the file.
    digest : Digest
        Of its bytes.
    points, sizes : (n, 3) float64
        World centroids, NaN where missing, and sizes along the blocks' own axes.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    labels : list of str
        The different labels.
    codes : (n,) int32
        The place of each block's label among them.
    texts : TextColumns
        What the file says in each row.
    numbers : dict of str to (n,) float64
        The columns that were asked for as numbers, NaN where there is none.
    proportions : dict of str to (n,) float64
        By the name of a domain in small letters, its shares of blocks, 0 to 1, NaN where there is
        none: the columns prop_<name> and pct_<name>.
    spacing : tuple of float, optional
        The size of all blocks, where the file has none and their lattice shows it.
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


def read_blocks(
    path: str,
    options: TableOptions,
    column: str,
    *,
    numeric: Sequence[str] = (),
    density: str | float | None = None,
    progress: Progress | None = None,
) -> Blocks:
    """Read a labelled model of any kind of file.

    Parameters
    ----------
    path : str
        The file; it is read once.
    options : TableOptions
        What the user says of it.
    column : str
        The column of labels.
    numeric : sequence of str
        Columns that are wanted as numbers.
    density : str or float, optional
        The column of densities, which must be no coordinate and no size.
    progress : callable, optional
        Called with what is done and its total.

    Returns
    -------
    Blocks

    Raises
    ------
    TableError
        Where there is no such column, no label in it, no block with a place, too many blocks, or
        sizes are neither there nor to be seen from the centroids.
    """
    digest = Digest()
    with open_model(path, options, digest=digest) as model:
        label = _find_label(model, column)
        if density is not None:
            refuse_geometry(density, model.centroid, model.sizes, model.name)
        reading = _Reading(model, label, numeric, density)
        wanted = sorted({*range(len(model.columns)), *model.constants})
        model.relabel(Relabelling(reading.add, also=wanted, progress=progress))
        return reading.blocks(model, digest)


def _find_label(model: BlockFile, column: str) -> int:
    """Find the column of labels, or say how to make it."""
    if plain_name(column) not in map(plain_name, model.columns):
        message = (
            f"{model.name} has no column {column!r}, so that it is not labelled: label it with "
            "'geodomain label', or name the column of labels with column="
        )
        raise TableError(message)
    return find_column(model.columns, column, model.name)


class _Reading:
    """One pass over a model."""

    def __init__(
        self,
        model: BlockFile,
        label: int,
        numeric: Sequence[str],
        density: str | float | None,
    ) -> None:
        self._model, self._label, self._density = model, label, density
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
        """Take a chunk."""
        model = self._model
        require_constants(model.constants, column, model.columns, model.name, self.rows)
        self.rows += len(points)
        if self.rows > MOST_BLOCKS:
            message = (
                f"{model.name} has more than {MOST_BLOCKS:,} blocks, the most that a report holds: "
                "draw sections of it with 'geodomain plot'"
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
            asked = column(place)
            numbers = asked.numbers()
            if name != self._density:
                below = self._negative.setdefault(name, NegativeGrades(name, asked.rule.below))
                numbers = below.take(numbers, self.rows - len(points))
            self._numbers[name].append(numbers.copy())
        self._shares.add(column)
        return []

    def blocks(self, model: BlockFile, digest: Digest) -> Blocks:
        """Put the chunks together."""
        points = _stacked(self._points)
        if not np.isfinite(points).all(axis=1).any():
            message = f"{model.name} has no block with a centroid: there is nothing to report"
            raise TableError(message)
        spacing = None if self._sizes else _spacing(model, points)
        sizes = np.broadcast_to(spacing, points.shape) if spacing else _stacked(self._sizes)
        local = model.frame.lattice or LocalFrame(
            [("z", azimuth_of(points, sizes))], (0.0, 0.0, 0.0)
        )
        usable = np.all(np.isfinite(sizes) & (sizes > 0), axis=1)
        if not usable.all():
            sizes = np.where(usable[:, None], sizes, 0.0)
        if not usable.any():
            message = f"{model.name} has no block with sizes above 0: correct them, or name others"
            raise TableError(message)
        _warn_of_sizes(model.name, usable, points)
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
        )

    def _labels(self, model: BlockFile) -> tuple[list[str], NDArray[np.int32]]:
        """Return the labels; refuse a column in which there is none, or that is something else."""
        name = model.columns[self._label]
        if self._columns[self._label].is_full:
            message = f"the column {name!r} of {model.name} holds no labels: nearly all differ"
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
        """Return the columns that are kept."""
        names = self._model.columns
        kept = [place for place, column in enumerate(self._columns) if not column.is_full]
        found = [self._columns[place].result() for place in kept]
        return TextColumns(
            names=tuple(names[place] for place in kept),
            texts=tuple(texts for texts, _ in found),
            codes=tuple(codes for _, codes in found),
            left_out=tuple(
                name for name, column in zip(names, self._columns, strict=True) if column.is_full
            ),
        )


def _warn_of_sizes(name: str, usable: NDArray[np.bool_], points: Floats) -> None:
    """Say how many blocks have no size, and where the first one is."""
    lacking = np.flatnonzero(~usable)
    if len(lacking):
        at = ", ".join(f"{value:.10g}" for value in points[lacking[0]])
        has, those = ("has", "it") if len(lacking) == 1 else ("have", "them")
        message = (
            f"{len(lacking):,} of {counted(len(usable), 'block')} of {name} {has} no size above "
            "0, the "
            f"first at ({at}): the volume of {those} counts as 0, and the view leaves {those} out"
        )
        warn(message)


def _warn_of_blocks(model: BlockFile, points: Floats, sizes: Floats | None) -> None:
    """Make the checks of `label`: blocks that are there twice, sizes that do not fit."""
    checks = VolumeChecks(model.axes, times=realisations_of(model.facts()))
    for start in range(0, len(points), _TOGETHER):
        rows = slice(start, start + _TOGETHER)
        checks.add(points[rows], None if sizes is None else sizes[rows])
    for sentence in checks.warnings():
        warn(sentence)


def _stacked(chunks: list[Floats]) -> Floats:
    """Put chunks together, axis by axis in memory, and let go of them."""
    out, row = np.empty((sum(map(len, chunks)), 3), order="F"), 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        out[row : row + len(chunk)] = chunk
        row += len(chunk)
    return out


def _spacing(model: BlockFile, points: Floats) -> tuple[float, float, float]:
    """Return the size of blocks without one: that of the lattice that their centroids lie on."""
    survey = Survey.of_model(model)
    survey.add(points, None)
    lattice = find_lattice(survey)
    if lattice is None:
        message = (
            f"{model.name} has no block sizes, and its centroids lie on no lattice that would show "
            "them: name the columns of sizes, or give the sizes, with dx=, dy= and dz="
        )
        raise TableError(message)
    x, y, z = (float(step) for step in lattice.spacing)
    return x, y, z
