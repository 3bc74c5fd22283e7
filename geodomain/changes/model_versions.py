"""Read two block models, label them by two lists of domains, and sum them step by step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.changes.attribution import (
    HybridSums,
    Places,
    Shape,
    Sums,
    Version,
    hybrid_of,
    require_number,
    require_range,
    sum_of_blocks,
    volume_parts,
)
from geodomain.changes.difference_settings import EXTENT, LABELS, PROPERTIES
from geodomain.changes.domain_differences import by_priority, name_of_unit
from geodomain.changes.overlay import Overlay
from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import LabelSpellings, refuse_geometry
from geodomain.compute.data import Floats
from geodomain.domains.domain import Domain
from geodomain.domains.order import ConditionCounts, Domains, allowed_rows
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, TableError, counted, shown, warn
from geodomain.formats.blocks import BlockFile, Rows, open_model, read_columns
from geodomain.formats.grids import GridModel
from geodomain.inputs import is_grid
from geodomain.labelling.counts import MOST_SAMPLES
from geodomain.labelling.evaluate import all_apart, rest_labels, say_apart
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.warnings import exchanged_axes, placement_warnings
from geodomain.progress import Progress
from geodomain.reporting.blocks import spacing_of
from geodomain.tables.conditions import Column
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import NegativeGrades, below_notes
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import require_known_turn
from geodomain.volumes.exact_sums import exact_sums
from geodomain.volumes.tonnage import Tonnage, Wanted
from geodomain.volumes.tonnes import refuse_commas
from geodomain.volumes.tonnes_report import tonnage_warnings

if TYPE_CHECKING:
    import pyvista
    from narwhals.typing import IntoDataFrame

# --- Two lists of domains, and lists between them.


def domains_between(
    wireframes: Domains, order: Domains, rename: Mapping[str, str] | None = None
) -> Domains:
    """Return the domains of one list in the order of priority of another list.

    A domain that is only in the first list stays directly after its predecessor there.

    Parameters
    ----------
    wireframes : Domains
        The list whose wireframes, kinds and conditions are used.
    order : Domains
        The list whose order is used.
    rename : mapping of str to str, optional
        New names of old domains; each list may use either name.

    Raises
    ------
    DomainError
        If the last domain wins, and the first list has both stacks and domains with ``keep``.
    """
    if wireframes is order:
        return wireframes
    if wireframes.order == "last" and wireframes.stacks and any(d.keep for d in wireframes):
        message = (
            "a list with order = 'last', stacks, and domains with 'keep' has no equivalent in the "
            "order of another list: leave out domains= to compare the labels in the files"
        )
        raise DomainError(message)
    own = by_priority(wireframes)
    names, guide = (
        [(rename or {}).get(name, name) for name in map(name_of_unit, units)]
        for units in (own, by_priority(order))
    )
    units = [own[place] for place in _in_order_of(names, guide)]
    return replace(
        wireframes,
        domains=tuple(unit for unit in units if isinstance(unit, Domain)),
        stacks=tuple(unit for unit in units if isinstance(unit, Stack)),
        order="first",
    )


def _in_order_of(own: Sequence[str], guide: Sequence[str]) -> list[int]:
    """Return the places of names in the order of `guide`.

    A name that is not in `guide` follows its predecessor.

    Examples
    --------
    >>> _in_order_of(["a", "x", "b", "y"], ["b", "a"])
    [2, 3, 0, 1]
    """
    ranks: list[tuple[int, int]] = []
    for name in own:
        last, after = ranks[-1] if ranks else (-1, 0)
        ranks.append((guide.index(name), 0) if name in guide else (last, after + 1))
    return sorted(range(len(own)), key=ranks.__getitem__)


def domain_names(domains: Domains) -> list[str]:
    """Return the names of domains and layers in the order of priority."""
    return [
        name
        for unit in by_priority(domains)
        for name in ([unit.name] if isinstance(unit, Domain) else unit.layers)
        if name
    ]


class DomainPair:
    """Two lists of domains, and the indexes that label blocks by one of them or by a mixture.

    Parameters
    ----------
    old, new : Domains
    settings : LabelSettings
    rename : mapping of str to str, optional
        New names of old domains.

    Attributes
    ----------
    lists : (Domains, Domains)
        The old and the new list.
    """

    def __init__(
        self,
        old: Domains,
        new: Domains,
        settings: LabelSettings,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        self.lists, self._settings, self._rename = (old, new), settings, rename
        self._made: dict[tuple[bool, bool], Labeller] = {}

    def labeller(self, key: tuple[bool, bool]) -> Labeller:
        """Return the index for old or new wireframes, and for the old or the new order."""
        if key not in self._made:
            wireframes, order = (self.lists[new] for new in key)
            domains = domains_between(wireframes, order, self._rename)
            self._made[key] = Labeller(domains, self._settings)
        return self._made[key]

    def names(self, key: tuple[bool, bool]) -> list[str]:
        """Return the labels by the codes of the index."""
        labeller = self.labeller(key)
        names = [target.name for target in labeller.targets]
        rest, lost = rest_labels(labeller.domains, names, self._settings)
        return [*names, rest, lost, lost, lost, rest]

    def placement(self, model: ReadModel, *, new: bool) -> Iterator[str]:
        """Yield warnings if domains do not meet their model, or meet it only with axes exchanged.

        Raises
        ------
        TableError
            If no domain meets the model.
        """
        domains, labeller = self.lists[new], self.labeller((new, new))
        bounds = np.array([model.points.min(axis=0), model.points.max(axis=0)])
        half = np.sqrt(np.square(model.sizes).sum(axis=1).max()) / 2
        bounds += np.array([[-half], [half]])
        if all_apart(domains.targets, bounds):
            raise TableError(say_apart(domains.targets, bounds, model.name))
        yield from placement_warnings(domains, bounds)
        sample = np.asfortranarray(model.points[:: 1 + len(model.points) // MOST_SAMPLES])
        yield from exchanged_axes(domains, bounds, sample, labeller.count_solids)

    def names_of_codes(self, new: bool) -> dict[str, str]:
        """Return the name of each domain by its code, for files that have codes as labels."""
        domains = self.lists[new]
        pairs = [(target.code, target.name) for target in domains.targets]
        pairs += [(domains.background_code, domains.background)]
        pairs += [(domains.unassigned_code, domains.unassigned)]
        return {str(code): name for code, name in pairs if code is not None}


# --- The two models: read, label, check.


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a model to read, and the settings of its sums.

    Attributes
    ----------
    wanted : Wanted
        Columns and settings, as for `tonnes`; `domain` is empty without a column of labels.
    options : TableOptions
        The user's options for the table.
    has_density : bool
        Whether there is a density; otherwise the density in `wanted` is 1.
    """

    wanted: Wanted
    options: TableOptions
    has_density: bool


@dataclass(frozen=True)
class ReadModel:
    """The blocks of a model that have a centroid and a size.

    Attributes
    ----------
    name : str
        Name of the model.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the axes.
    axes : (3, 3) float64
        The directions of the block edges, one in each row.
    rows : (n,) int64
        The row of each block in the table, from 0.
    labels : list of str or None
        Distinct labels in the file; None without a column of labels.
    codes : (n,) intp
        The index of each block's label.
    by_domains : dict of (bool, bool) to (list of str, (n,) intp)
        Labels by domains: the distinct labels, and the index of each block's label.
    numbers : dict of str to (n,) float64
        Densities and grades by column, NaN where missing.
    left_out : int
        Number of blocks without a centroid or a size.
    notes : tuple of str
        Observations that are not warnings, such as blocks of density 0.
    """

    name: str
    points: Floats
    sizes: Floats
    axes: Floats
    rows: NDArray[np.int64]
    labels: list[str] | None
    codes: Places
    by_domains: Mapping[tuple[bool, bool], tuple[list[str], Places]]
    numbers: Mapping[str, Floats]
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def is_turned(self) -> bool:
        """Whether the blocks are rotated."""
        return not np.array_equal(self.axes, np.eye(3))

    def local(self) -> Floats:
        """Return centroids along the axes of the blocks; rotated ones are rounded to 1e-6."""
        return np.round(self.points @ self.axes.T, 6) if self.is_turned else self.points


# What `diff` accepts as a block model.
ModelLike: TypeAlias = "str | os.PathLike[str] | IntoDataFrame | pyvista.DataSet"


class _Gathering:
    """Collects the blocks of a model and labels them, batch by batch."""

    def __init__(
        self, columns: ModelColumns, pair: DomainPair | None, keys: Iterable[tuple[bool, bool]]
    ) -> None:
        self._wanted, self._pair = columns.wanted, pair
        self._labellers = {key: pair.labeller(key) for key in keys} if pair else {}
        self._points: list[Floats] = []
        self._sizes: list[Floats | None] = []
        self._codes: list[Places] = []
        self._by_domains: dict[tuple[bool, bool], list[NDArray[np.int32]]] = {
            key: [] for key in self._labellers
        }
        self._numbers: dict[str, list[Floats]] = {name: [] for name in self._wanted.amounts}
        self._labels: list[str] = []
        self.spelled = LabelSpellings(self._wanted.domain)
        self._counts = {key: ConditionCounts() for key in self._labellers}
        self._negative = {
            name: NegativeGrades(name, self._wanted.below_detection) for name in self._wanted.grades
        }
        self.below: dict[str, int] = {}

    @property
    def conditions(self) -> list[str]:
        """The columns that conditions of domains use."""
        tests = [
            condition.column
            for labeller in self._labellers.values()
            for _, some in labeller.domains.conditions
            for condition in some
        ]
        return list(dict.fromkeys(tests))

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[str], Column], there: Rows
    ) -> None:
        """Add a batch of blocks, as `read_columns` gives them."""
        done = sum(map(len, self._points))
        self._points.append(np.array(points))
        self._sizes.append(None if sizes is None else np.array(sizes))
        if self._wanted.domain:
            self._labels, codes = self.spelled.distinct(column(self._wanted.domain), self._labels)
            self._codes.append(codes[there])
        for key, labeller in self._labellers.items():
            allowed = allowed_rows(labeller.domains, column, self._counts[key], row="block")
            some = allowed and [None if mask is None else mask[there] for mask in allowed]
            self._by_domains[key].append(labeller.label(self._points[-1], some).codes)
        for name, parts in self._numbers.items():
            cells = column(name)
            values = cells.numbers()[there]
            if name in self._negative:
                values = self._negative[name].take(values, done, cells.below_detection())
            self.below[name] = self.below.get(name, 0) + cells.below_detection()
            parts.append(np.array(values))

    def model(
        self, name: str, axes: Floats, spacing: Callable[[Floats], tuple[float, float, float]]
    ) -> ReadModel:
        """Join the batches; leave out blocks without a centroid or a size.

        `spacing` returns the size of all blocks from their centroids, for a table without sizes.
        """
        points = np.concatenate([np.empty((0, 3)), *self._points])
        lengths = [each for each in self._sizes if each is not None]
        sizes = (
            np.concatenate([np.empty((0, 3)), *lengths])
            if len(lengths) == len(self._sizes)
            else np.broadcast_to(spacing(points), points.shape)
        )
        usable = (np.isfinite(points) & np.isfinite(sizes) & (sizes > 0)).all(axis=1)
        rows = np.flatnonzero(usable)
        codes = np.concatenate([np.empty(0, np.intp), *self._codes]) if self._codes else None
        return ReadModel(
            name,
            points[rows],
            sizes[rows],
            axes,
            rows,
            self._labels if self._wanted.domain else None,
            np.zeros(len(rows), np.intp) if codes is None else codes[rows],
            {
                key: (self._pair.names(key), np.concatenate([np.empty(0, np.intp), *parts])[rows])
                for key, parts in self._by_domains.items()
                if self._pair is not None
            },
            {
                column: np.concatenate([np.empty(0), *parts])[rows]
                for column, parts in self._numbers.items()
            },
            len(points) - len(rows),
        )

    def notes(self) -> Iterator[str]:
        """Yield notes on labels and on cells below detection."""
        if self._wanted.domain:
            yield from self.spelled.notes()
        yield from below_notes(self.below, self._wanted.below_detection)

    def warnings(self) -> Iterator[str]:
        """Yield warnings about columns of conditions."""
        seen = [text for each in self._counts.values() for text in each.warnings("block")]
        yield from dict.fromkeys(seen)


def read_version(
    source: ModelLike,
    columns: ModelColumns,
    pair: DomainPair | None,
    keys: Iterable[tuple[bool, bool]],
    *,
    new: bool,
    threads: int | None = None,
    progress: Progress | None = None,
    name: str = NAME,
) -> ReadModel:
    """Read a model, label it, and check it as `tonnes` does.

    Parameters
    ----------
    source : path, pandas or polars DataFrame, pyarrow.Table, or PyVista grid
        The model.
    columns : ModelColumns
        What to read.
    pair : DomainPair, optional
        The domains that label the blocks.
    keys : iterable of (bool, bool)
        The labellings to make: by old or new wireframes, in the old or the new order.
    new : bool
        Whether this is the new model; a warning says if its own domains do not meet it.
    threads, progress
        As for `read_columns`.
    name : str
        Name of a table in memory, in messages.

    Raises
    ------
    TableError
        As for `tonnes`.

    Warns
    -----
    GeodomainWarning
        As for `tonnes`. Each warning begins with the name of the model.
    """
    wanted, gathering = columns.wanted, _Gathering(columns, pair, keys)
    names = [wanted.domain] if wanted.domain else []
    names = list(dict.fromkeys([*names, *wanted.amounts, *gathering.conditions]))
    opened = open_source(source, columns.options)
    if opened is not None:
        with opened as model:
            refuse_geometry(wanted.density, model.centroid, model.sizes, model.name)
            refuse_commas(wanted.cut, wanted.spelled, model)
            read_columns(model, names, gathering.add, threads=threads, progress=progress)
            result = gathering.model(model.name, model.axes, partial(spacing_of, model))
            times, frame = realisations_of(model.facts()), model.frame
    else:
        blocks = BlockFrame(cast("IntoDataFrame", source), options=columns.options)
        points, sizes, frame = blocks.blocks(columns.options)
        refuse_geometry(wanted.density, *blocks.geometry(columns.options), name)
        cells = {each: blocks.column(blocks.find(each)) for each in names}
        gathering.add(points, sizes, cells.__getitem__, slice(None))
        result, times = gathering.model(name, frame.axes, partial(_no_sizes, name)), 1
    if not len(result.points):
        message = f"{result.name} has no rows, so there is nothing to compare"
        if result.left_out:
            message = (
                f"none of the {counted(result.left_out, 'row')} of {result.name} has a centroid "
                "and a size above 0, so there is nothing to compare: check the columns of "
                "coordinates, or give the sizes with dx=, dy= and dz="
            )
        raise TableError(message)
    if not result.is_turned:
        require_known_turn(result.points, result.sizes, frame, result.name, "compared")
    tonnage = _checked(result, wanted)
    warnings = [*gathering.warnings(), *_warnings(result, columns, tonnage, times)]
    if pair is not None:
        warnings += pair.placement(result, new=new)
    for sentence in warnings:
        warn(f"{result.name}: {sentence}")
    notes = [*gathering.notes(), *(tonnage.densities.notes() if columns.has_density else ())]
    return replace(result, notes=tuple(f"{result.name}: {note}" for note in notes))


def open_source(
    source: ModelLike, options: TableOptions
) -> AbstractContextManager[BlockFile] | None:
    """Return a file or a grid as a block model to open; None for a table in memory."""
    if isinstance(source, str | os.PathLike):
        return open_model(os.fspath(source), options)
    return nullcontext(cast(BlockFile, GridModel(source, options))) if is_grid(source) else None


def _no_sizes(name: str, _: Floats) -> NoReturn:
    message = (
        f"{name} has no block sizes, so volumes are unknown: give dx=, dy= and dz=, as names of "
        "size columns or as numbers"
    )
    raise TableError(message)


def _checked(model: ReadModel, wanted: Wanted) -> Tonnage:
    """Raise the errors of `tonnes` about a model; return its checks of densities and grades."""
    if not isinstance(wanted.density, str):
        require_number(wanted.density)
    for name, values in model.numbers.items():
        require_range(values, name, model.name, model.rows)
    tonnage = Tonnage(replace(wanted, cutoffs=()))
    texts = model.labels if model.labels is not None else [""]
    tonnage.add(
        model.points, model.sizes, model.numbers.__getitem__, lambda _: (texts, model.codes)
    )
    return tonnage


def _warnings(
    model: ReadModel, columns: ModelColumns, tonnage: Tonnage, times: int
) -> Iterator[str]:
    """Yield the warnings of `tonnes` about a model."""
    checks = VolumeChecks(model.axes, times=times)
    checks.add(model.points, model.sizes)
    yield from checks.warnings()
    if model.left_out:
        yield (
            f"{counted(model.left_out, 'block')} without a centroid or a size above 0: left out of "
            "all sums"
        )
    if columns.has_density:
        yield from tonnage_warnings(tonnage)


# --- The sums of hybrids of two models.


class Drawn(NamedTuple):
    """Which blocks changed.

    Attributes
    ----------
    second, labels, volume : (m,) array
        For each overlap of blocks with different labels: the row of the new block, the old label,
        and the volume.
    covered : (n,) float64
        For each old block, the volume that the new model covers.
    new_covered : (n,) float64
        For each new block, the volume that the old model covers.
    """

    second: Places
    labels: Places
    volume: Floats
    covered: Floats
    new_covered: Floats


class ModelPair:
    """Two models whose labels have common numbers, and their exact sums.

    Parameters
    ----------
    old, new : ReadModel
        The models.
    wanted : (Wanted, Wanted)
        The columns of each model.
    domains : DomainPair, optional
        The domains that labelled both models; None compares the labels in the files.
    rename : mapping of str to str, optional
        New names of old labels.

    Attributes
    ----------
    names : list of str
        The labels by their numbers.
    shape : Shape
        The groups of the sums.
    same_blocks : bool
        Whether both models have the same blocks in the same order.
    overlays : bool
        Whether the blocks of both models have the same axes, so that they can be overlaid.
    """

    def __init__(
        self,
        old: ReadModel,
        new: ReadModel,
        wanted: tuple[Wanted, Wanted],
        domains: DomainPair | None,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        self.models, self.wanted, self._domains = (old, new), wanted, domains
        self._rename = rename or {}
        self._numbers: dict[str, int] = {}
        self._seen: set[str] = set()
        self.files = [self._of_file(number) for number in (0, 1)]
        by_domains = [
            {key: self._numbered(names)[codes] for key, (names, codes) in each.by_domains.items()}
            for each in (old, new)
        ]
        self.versions = [self._version(number, by_domains[number]) for number in (0, 1)]
        self.names = [*self._numbers]
        self._require_renamed()
        self.shape = Shape(len(self.names), len(wanted[0].cutoffs) + 1, len(wanted[0].grades))
        self.overlays = have_same_axes(old.axes, new.axes)
        self.same_blocks = np.array_equal(old.points, new.points) and np.array_equal(
            old.sizes, new.sizes
        )
        self.overlay = Overlay((old.local(), old.sizes), (new.local(), new.sizes))

    def _numbered(self, texts: Sequence[str]) -> Places:
        """Return the number of each label; a new label gets the next number."""
        self._seen.update(texts)
        names = [self._rename.get(text, text) for text in texts]
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        return np.array(numbers, np.intp)

    def _require_renamed(self) -> None:
        """Raise TableError if `rename` has a label that does not occur."""
        for name in self._rename.keys() - self._seen:
            labels = ", ".join(shown(text) for text in sorted(self._seen - {""}))
            message = (
                f"rename= has {shown(name)}, and no block of {self.models[0].name} has this label: "
                f"the labels are {labels or 'missing'}"
            )
            raise TableError(message)

    def _of_file(self, number: int) -> Places | None:
        """Return the labels in a file; codes of domains are replaced by their names."""
        model = self.models[number]
        if model.labels is None:
            return None
        texts = model.labels
        if self._domains is not None:
            names = self._domains.names_of_codes(bool(number))
            if all(text in names for text in texts if text):
                texts = [names.get(text, text) for text in texts]
        return self._numbered(texts)[model.codes]

    def _version(self, number: int, by_domains: Mapping[tuple[bool, bool], Places]) -> Version:
        model, wanted = self.models[number], self.wanted[number]
        labels = by_domains
        if self._domains is None:
            own = self.files[number]
            codes = np.full(len(model.points), self._numbered([""])[0]) if own is None else own
            keys = [(wireframes, order) for wireframes in (False, True) for order in (False, True)]
            labels = dict.fromkeys(keys, codes)
        density = (
            model.numbers[wanted.density]
            if isinstance(wanted.density, str)
            else np.full(len(model.points), float(wanted.density))
        )
        grades = tuple(model.numbers[name] for name in wanted.grades)
        steps = np.zeros(len(model.points), np.intp)
        if wanted.cutoffs:
            cut = grades[wanted.grades.index(wanted.cut)]
            above = np.searchsorted(wanted.cutoffs, cut, side="right")
            steps = np.where(np.isnan(cut), 0, above)
        in_file = self.files[number]
        edited = None
        if self._domains is not None and in_file is not None:
            edited = in_file, labels[bool(number), bool(number)]
        return Version(labels, density, grades, steps, edited)

    def own_labels(self, number: int) -> Places:
        """Return the labels of a model by its own domains, or those in its file."""
        return self.versions[number].labels[bool(number), bool(number)]

    def shown_labels(self, number: int) -> Places:
        """Return the labels in the file of a model or, if it has none, those by its own domains."""
        own = self.files[number]
        return self.own_labels(number) if own is None else own

    def sums(
        self, states: Iterable[frozenset[str]], *, tracks: bool = False
    ) -> tuple[dict[frozenset[str], Sums], dict[tuple[int, int], int], Drawn | None]:
        """Return the sums of hybrids, the volumes by old and new label, and the changed blocks.

        Parameters
        ----------
        states : iterable of frozenset of str
            For each hybrid, the new properties.
        tracks : bool
            Whether to find the changed blocks.

        Returns
        -------
        dict
            The sums for each state.
        dict of (int, int) to int
            For each old and new label, the volume in both models, in units of `exact_sums`.
        Drawn or None
            The changed blocks, if `tracks` is true.
        """
        wanted = {state: hybrid_of(state) for state in states}
        ends = [hybrid_of(()), hybrid_of(PROPERTIES)]
        by_domains = [end._replace(labels=None) for end in ends]
        running = HybridSums(
            self.versions[0], self.versions[1], self.shape, {*wanted.values(), *ends, *by_domains}
        )
        moves, drawn = self._run(running, tracks=tracks)
        # Parts of blocks outside the other model, by the labels in the file and by its domains.
        outside = [
            (
                self._whole(number, self.shown_labels(number)) - running.sums[ends[number]],
                self._whole(number, self.own_labels(number)) - running.sums[by_domains[number]],
            )
            for number in (0, 1)
        ]
        result = {}
        for state, hybrid in wanted.items():
            by_file, own = outside[EXTENT in state]
            same = (EXTENT in state) == (LABELS in state)
            result[state] = running.sums[hybrid] + (by_file if same else own)
        return result, moves, drawn

    def _whole(self, number: int, labels: Places) -> Sums:
        """Return the sums over all blocks of a model, by these labels."""
        faces = self.overlay.second if number else self.overlay.first
        return sum_of_blocks(
            self.versions[number], volume_parts(faces.lengths()), labels, self.shape
        )

    def _run(
        self, running: HybridSums, *, tracks: bool
    ) -> tuple[dict[tuple[int, int], int], Drawn | None]:
        """Add all common cells to the running sums; return moves and changed blocks."""
        moves: dict[tuple[int, int], int] = {}
        old, new = self.shown_labels(0), self.shown_labels(1)
        if not self.overlays:
            self._add_apart(running)
            return moves, None
        covered = [np.zeros(len(labels)) for labels in (old, new)]
        changed: list[tuple[Places, Places, Floats]] = []
        for pairs in self.overlay.pairs():
            parts = volume_parts(pairs.lengths)
            running.add(parts, pairs.first, pairs.second)
            before, after = old[pairs.first], new[pairs.second]
            keys, where = np.unique(before * len(self.names) + after, return_inverse=True)
            for part in parts:
                for key, volume in zip(
                    keys.tolist(), exact_sums(part, where, len(keys)), strict=True
                ):
                    pair = divmod(key, len(self.names))
                    moves[pair] = moves.get(pair, 0) + volume
            if tracks:
                volume_of = np.sum(parts, axis=0)
                for number, rows in ((0, pairs.first), (1, pairs.second)):
                    covered[number] += np.bincount(rows, volume_of, len(covered[number]))
                differs = before != after
                changed.append((pairs.second[differs], before[differs], volume_of[differs]))
        if not tracks:
            return moves, None
        joined = [np.concatenate(each) for each in zip(*changed, strict=True)]
        empty = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
        return moves, Drawn(*(joined or empty), *covered)

    def _add_apart(self, running: HybridSums) -> None:
        """Add the blocks of each model alone, for models that cannot be overlaid.

        A hybrid then has the extent, lattice, density and grade of one model.
        """
        for number, faces in enumerate((self.overlay.first, self.overlay.second)):
            rows = np.arange(faces.boxes)
            sides = [rows if number == each else np.zeros(len(rows), np.intp) for each in (0, 1)]
            hybrids = [hybrid for hybrid in running.sums if hybrid.lattice == bool(number)]
            part = HybridSums(self.versions[0], self.versions[1], self.shape, hybrids)
            part.add(volume_parts(faces.lengths()), *sides)
            for hybrid in hybrids:
                running.sums[hybrid] += part.sums[hybrid]


def have_same_axes(old: Floats, new: Floats) -> bool:
    """Return whether the blocks of two models have the same axes, apart from rounding."""
    return bool(np.allclose(old, new, rtol=0, atol=1e-12))
