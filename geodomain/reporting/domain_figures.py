"""Compute the figures of each domain in a report from blocks, samples and drillholes.

The code of `stats`, `validate`, `contacts`, `tonnes` and `holes crossings` computes them, so they
are the figures that these commands print.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.check import HoleCheck
from geodomain.drillholes.crossings import HoleCrossings
from geodomain.drillholes.drillholes import Drillholes, settle
from geodomain.drillholes.flagging import flag_middles
from geodomain.drillholes.tables import TableLike
from geodomain.errors import GeodomainError, collect_warnings, warn
from geodomain.labelling.evaluate import rest_labels, with_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.blocks import Blocks
from geodomain.reporting.grades import GradeSettings
from geodomain.reporting.look import kind_of_name
from geodomain.reporting.tables import DomainRow
from geodomain.statistics.by_domain import describe_samples
from geodomain.statistics.charts import round_length
from geodomain.statistics.contact_means import Contacts
from geodomain.statistics.contact_walls import touching_labels, with_walls
from geodomain.statistics.contacts import (
    LabelledSamples,
    PlacedSamples,
    place_along,
    place_points,
)
from geodomain.statistics.groups import Groups, total_weight
from geodomain.statistics.results import ALL, Statistics
from geodomain.statistics.samples import Samples, gather_samples
from geodomain.statistics.settings import NEAREST, ReportSettings
from geodomain.statistics.validation import (
    NO_ROWS,
    Side,
    compare_samples,
    options_of_both,
    sides_of,
)
from geodomain.statistics.validation_report import Validation
from geodomain.tables.conditions import Column, with_policy
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import options_among
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import plain_name
from geodomain.volumes.distance import MeshDistance
from geodomain.volumes.tonnage import volumes_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# Neighbours of a domain whose contact is drawn.
MOST_NEIGHBOURS = 4
# Contacts of all pages together, and those if each has to find its own walls.
_MOST_CONTACTS, _MOST_SEARCHES = 120, 12
# Largest number of holes from which the spacing is computed.
_MOST_HOLES = 2000


@dataclass(frozen=True)
class DomainRequest:
    """Input and settings of the pages of domains.

    Attributes
    ----------
    samples : path or table, optional
        Intervals along `holes`, or samples with coordinates if there are no holes.
    sample_grades : tuple of str
        For each grade of the blocks, the column of the samples; without grades of blocks, the
        columns of the samples.
    settings : ReportSettings
        Weights, declustering, caps, slices and classes of distance.
    table : TableKeywords
        Options for reading the blocks; some apply to the samples as well.
    column : str
        Label column of the blocks.
    labelling : LabelSettings
        How wireframes label the samples: as they labelled the blocks.
    """

    samples: TableLike | None = None
    sample_grades: tuple[str, ...] = ()
    settings: ReportSettings = field(default_factory=ReportSettings)
    table: TableKeywords = field(default_factory=TableKeywords)
    column: str = "domain"
    labelling: LabelSettings = field(default_factory=LabelSettings)

    def pairs(self, grades: Sequence[str]) -> list[tuple[str, str]]:
        """Return pairs of a grade of blocks and a grade of samples; "" where one is missing."""
        samples = self.sample_grades if self.samples is not None else ()
        count = max(len(grades), len(samples))
        ours, theirs = ([*some, *[""] * (count - len(some))] for some in (grades, samples))
        return list(zip(ours, theirs, strict=True))


# --- Numbers of blocks, and labels of samples, as columns of a table.


class _Numbers(NamedTuple):
    """A column of numbers that have been read."""

    values: Floats

    def numbers(self) -> Floats:
        return self.values

    def below_detection(self) -> int:
        return 0


class _Labels(NamedTuple):
    """A column of labels: distinct texts, and the index of each row's text."""

    texts: list[str]
    codes: NDArray[np.intp]

    def distinct(self, earlier: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        texts = list(dict.fromkeys([*earlier, *self.texts]))
        places = np.array([texts.index(text) for text in self.texts], np.intp)
        return texts, places[self.codes]

    def padded(self) -> Bools:
        return np.zeros(len(self.codes), np.bool_)


def _model_samples(
    blocks: Blocks, names: Sequence[str], request: DomainRequest, grades: Sequence[str]
) -> Samples:
    """Return the blocks as a table of statistics, labelled by the names of their domains."""
    column = request.column
    settings = replace(request.settings.of_blocks, column=column)
    model = Samples(
        settings, grades, [*blocks.numbers, column], options_among(request.table), blocks.name,
        sized=True, placed=True,
    )  # fmt: skip
    model.frame, model.axes = blocks.frame, blocks.axes
    labels = _Labels(list(names), blocks.codes.astype(np.intp))

    def cells(name: str) -> Column:
        return labels if name == column else _Numbers(blocks.numbers[name])  # type: ignore[return-value]

    model.add(blocks.points, blocks.sizes, cells, slice(None))
    return model


# --- Gathering the figures.


@dataclass
class DomainFigures:
    """The figures of the pages of domains.

    Attributes
    ----------
    pairs : list of (str, str)
        The grades of blocks and of samples.
    labelled_by : str
        How the samples get their domains, as a sentence.
    samples, blocks : Statistics, optional
        Statistics of the samples and of the blocks.
    validations : dict of str to Validation
        Blocks against samples, by the grade of the blocks.
    sides : dict of str to dict
        For each grade, the samples and the blocks of each domain, with their weights.
    contacts : dict of str to list of Contacts
        Contacts of each grade of the samples.
    touching : dict of str to list of str
        The labels that each domain touches, the largest contact first.
    crossings : HoleCrossings, optional
        Crossings of holes with wireframes.
    check : HoleCheck, optional
        Findings about the holes.
    holes : dict of str to HolesOf
        Holes and distances of each domain.
    bands : tuple of float
        Distances from the nearest sample.
    spacing : float
        Spacing of all holes; 0 if it is not known.
    notes : list of str
        What is left out, and why.
    missing : list of str
        The parts that are missing, and the options that add them.
    conditional : dict of str to tuple of str
        For each domain, the domains before it with conditions on columns, which have no walls.
    """

    pairs: list[tuple[str, str]]
    labelled_by: str = ""
    samples: Statistics | None = None
    blocks: Statistics | None = None
    validations: dict[str, Validation] = field(default_factory=dict)
    sides: dict[str, dict[str, tuple[Side, Side]]] = field(default_factory=dict)
    contacts: dict[str, list[Contacts]] = field(default_factory=dict)
    touching: dict[str, list[str]] = field(default_factory=dict)
    crossings: HoleCrossings | None = None
    check: HoleCheck | None = None
    holes: dict[str, HolesOf] = field(default_factory=dict)
    bands: tuple[float, ...] = ()
    spacing: float = 0.0
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    conditional: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def spelled(self, say: Callable[[str], str]) -> DomainFigures:
        """Return the figures with texts in which `say` writes the names of keywords."""
        return replace(self, notes=list(map(say, self.notes)), missing=list(map(say, self.missing)))


class HolesOf(NamedTuple):
    """The samples of a domain in space.

    Attributes
    ----------
    samples, holes : int
        Number of samples with coordinates, and of holes with such a sample.
    spacing : float
        Median distance from the middle of a hole's samples to the nearest such middle of another
        hole; 0 if there is only one hole, or if the holes are not known.
    beyond : tuple of float
        Share of the volume of the domain beyond each distance from the nearest sample.
    volume : float
        Volume of the domain, from which the shares are computed.
    """

    samples: int
    holes: int
    spacing: float
    beyond: tuple[float, ...]
    volume: float


def gather_figures(
    request: DomainRequest,
    blocks: Blocks,
    rows: Sequence[DomainRow],
    grades: GradeSettings,
    domains: Domains,
    holes: Drillholes | None,
    warned: list[str],
) -> DomainFigures:
    """Compute the figures of all pages; issue new warnings, and add them to `warned`.

    Warnings about rows that are left out become notes, because the tables count these rows.
    """
    with collect_warnings() as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = _Gathering(request, blocks, rows, grades, domains, holes).gather()
    for sentence in caught:
        if "left out of" in sentence:
            figures.notes.append(sentence)
        elif sentence not in warned:
            warn(sentence)
            warned.append(sentence)
    return figures


def has_page(row: DomainRow) -> bool:
    """Return whether a label has a page: background, air and domains without blocks have none."""
    return bool(row.blocks) and not row.is_ground and kind_of_name(row.name) != "air"


class _Gathering:
    """Computes the numbers that the pages of all domains show."""

    def __init__(
        self,
        request: DomainRequest,
        blocks: Blocks,
        rows: Sequence[DomainRow],
        grades: GradeSettings,
        domains: Domains,
        holes: Drillholes | None,
    ) -> None:
        self._request, self._settings = request, request.settings
        self._blocks, self._holes, self._grades = blocks, holes, grades
        self._rows, self._domains = rows, domains
        self._model: Samples | None = None
        self._placed: Callable[[str, BelowDetection | None], PlacedSamples]
        by_label = {row.label: row.name for row in rows}
        self._names = [by_label[label] for label in blocks.labels]
        self._shown = [row.name for row in rows if has_page(row)]
        self._figures = DomainFigures(request.pairs(grades.names))
        self._threads = request.labelling.threads

    def gather(self) -> DomainFigures:
        """Return all figures."""
        figures = self._figures
        self._say_missing()
        if self._grades.names:
            model = _model_samples(self._blocks, self._names, self._request, self._grades.names)
            figures.blocks = describe_samples(
                Groups(model.again(placed=False)),
                None,
                self._plain(model),
                dict.fromkeys(self._grades.names, ()),
                self._threads,
            )
            self._model = model
        titles = [title for title, conditions in self._domains.conditions if conditions]
        order = [target.name for target in self._domains.targets]
        for place, name in enumerate(order):
            before = tuple(title for title in titles if title in order[:place])
            figures.conditional[name] = before if name not in titles else ()
        labeller = self._labeller()
        self._add_samples(labeller)
        if labeller is not None and self._holes is not None:
            self._try("crossings of holes are", self._add_crossings)
        if self._holes is not None:
            self._try("checks of holes are", self._add_check)
        return figures

    def _say_missing(self) -> None:
        """Note the parts that are missing, and the keywords that add them."""
        figures, request = self._figures, self._request
        parts = {
            "statistics of samples, contacts, slices and distances from samples: give samples, and "
            "their grade with sample_grade=": request.samples is None,
            "statistics of the grades of blocks: give grade=": not self._grades.names,
            "grade and tonnage above cut-offs: give density=": (
                bool(self._grades.names) and self._grades.wanted is None
            ),
            "contacts and crossings of holes: give domains=": not self._domains.targets,
            "crossings of holes: give holes=": bool(self._domains.targets) and self._holes is None,
        }
        figures.missing += [text for text, is_missing in parts.items() if is_missing]

    def _try(self, what: str, action: Callable[[], None]) -> None:
        """Run an action; if its input cannot be used, note why the part is left out.

        Warnings become notes, because they are only about this part.
        """
        notes = self._figures.notes
        with collect_warnings() as caught:
            try:
                action()
            except GeodomainError as error:
                caught.append(f"{what} left out: {error}")
        notes += [sentence for sentence in caught if sentence not in notes]

    def _plain(self, model: Samples) -> ReportSettings:
        """Return settings for statistics of blocks: no declustering and no caps."""
        return replace(
            self._settings, column=model.column, decluster=None, cap=(), cell_ratio=None,
            maximise=False,
        )  # fmt: skip

    def _labeller(self) -> Labeller | None:
        """Return the wireframes, ready to label samples; None without wireframes."""
        if not self._domains.targets:
            return None
        made: list[Labeller] = []

        def make() -> None:
            domains = domains_to_label(self._domains, weld=self._request.labelling.weld).domains
            made.append(Labeller(domains, self._request.labelling))

        self._try("contacts and labels of samples by wireframes are", make)
        return made[0] if made else None

    # --- Samples.

    def _add_samples(self, labeller: Labeller | None) -> None:
        """Add the figures of samples, and of blocks against samples."""
        request, figures = self._request, self._figures
        model = self._model
        drilled: Samples | None = None
        if request.samples is not None:
            names = [theirs for _, theirs in figures.pairs if theirs]
            drilled = self._read_samples(request.samples, names, labeller)
            settings = replace(self._settings, column=drilled.column)
            nearest = settings.cell == NEAREST
            if nearest and model is None:
                settings = replace(settings, decluster=None, cell_ratio=None, maximise=False)
            figures.samples = describe_samples(
                Groups(drilled.again(placed=settings.cell is not None)),
                Groups(model.again()) if nearest and model is not None else None,
                settings,
                settings.caps(names),
                self._threads,
            )
            self._add_distances(Groups(drilled.again()), names[0])
        for ours, theirs in figures.pairs:
            if ours and theirs and model is not None and drilled is not None:
                figures.validations[ours], sides = compare_samples(
                    model.again(), drilled.again(), self._settings, (ours, theirs), self._threads
                )
            else:
                sides = {}
                for name, each in ((theirs, drilled), (ours, model)):
                    if name and each is not None:
                        by_domain = sides_of(Groups(each.again()), name)
                        sides = {
                            key: (side, NO_ROWS) if each is drilled else (NO_ROWS, side)
                            for key, side in by_domain.items()
                        }
            figures.sides[ours or theirs] = sides
        sentences = [*(figures.samples.notes if figures.samples else ())]
        sentences += [note for each in figures.validations.values() for note in each.notes]
        figures.notes += [note for note in dict.fromkeys(sentences) if note not in figures.notes]
        if labeller is not None and drilled is not None:
            self._try("contacts are", lambda: self._add_contacts(labeller))

    def _read_samples(
        self, source: TableLike, names: list[str], labeller: Labeller | None
    ) -> Samples:
        """Read the samples, and label them with the same names of domains as the blocks."""
        if self._holes is not None:
            drilled = self._along_holes(self._holes, source, names, labeller)
        else:
            drilled = self._at_points(source, names)
        by_label = {row.label: row.name for row in self._rows}
        renamed = [by_label.get(label, label) for label in drilled.labels]
        if len({*renamed}) == len(renamed):
            drilled.labels = renamed
        if not self._figures.labelled_by:
            self._figures.labelled_by = (
                f"Samples belong to the domains in their column {drilled.column}."
                if drilled.column
                else "All samples belong to one domain, because they have no label column."
            )
        return drilled

    def _at_points(self, source: TableLike, names: list[str]) -> Samples:
        """Read samples with coordinates."""
        request, settings = self._request, self._settings
        _, options = options_of_both(
            request.table,
            [*self._grades.names, settings.block_weight],
            [*names, settings.sample_weight],
        )
        x, y, z = settings.xyz or (None, None, None)
        options = options._replace(x=x, y=y, z=z)
        self._placed = lambda grade, below: place_points(
            source, grade, below, options, {}, self._threads
        )
        settings = replace(settings, column=self._label_column())
        return gather_samples(
            cast("IntoDataFrame", source), settings, names, {}, self._threads, None,
            purpose="the page of a domain", options=options,
        )  # fmt: skip

    def _label_column(self) -> str | None:
        """Return the label column of the samples; None for the usual name, if it exists."""
        column = self._request.column
        return self._settings.sample_column or (None if column == "domain" else column)

    def _along_holes(
        self, holes: Drillholes, source: TableLike, names: list[str], labeller: Labeller | None
    ) -> Samples:
        """Place each interval at its middle on the hole; without a label column, label them."""
        rows = holes.match(source, also=None)
        settle(holes, rows.findings)
        self._placed = lambda grade, below: place_along(holes, rows, grade, below)
        below = self._request.table.get("below_detection")
        by_name = {plain_name(name): name for name in rows.table.names}
        wanted = self._label_column() or "domain"
        own = by_name.get(plain_name(wanted))
        labels: list[_Labels] = []
        middles = np.full((len(rows.holes), 3), np.nan)
        usable = np.flatnonzero(rows.usable)
        depths = 0.5 * (rows.starts[usable] + rows.ends[usable])
        middles[usable] = holes.points_at(rows.holes[usable], depths)
        if own is None and labeller is not None:

            def flag() -> None:
                codes = flag_middles(holes.paths, rows, labeller).codes
                rest = with_labels(self._request.labelling, labeller.domains).rest
                texts = [*(target.name for target in labeller.targets), *rest]
                distinct = list(dict.fromkeys(texts))
                places = np.array([distinct.index(text) for text in texts], np.intp)
                labels.append(_Labels(distinct, places[codes]))

            self._try("labels of samples by wireframes are", flag)
        if labels:
            self._figures.labelled_by = "The wireframes label each sample at its middle."
        column = wanted if labels else own
        columns = [*rows.table.names, *[wanted] * bool(labels)]

        def cells(name: str) -> Column:
            if labels and name == wanted:
                return labels[0]  # type: ignore[return-value]
            values = rows.table.column(name)
            return with_policy(values, below) if name in read.grades.values() else values

        settings = replace(self._settings, column=column)
        read = Samples(
            settings, names, columns, options_among({}), rows.table.name, sized=False, placed=True
        )
        read.add(middles, None, cells, slice(None))
        return read

    def _add_distances(self, groups: Groups, grade: str) -> None:
        """Add holes, spacing, and shares of volume farther than distances from a sample."""
        figures = self._figures
        holes = groups.samples.holes()
        points_of = {}
        for group in groups.of(groups.values(grade)):
            rows = groups.placed(group.rows)
            points_of[ALL if group.whole else group.domain] = (
                groups.points[rows],
                None if holes is None else holes[rows],
            )
        figures.spacing = _spacing(*points_of[ALL])
        figures.bands = self._settings.bands or tuple(
            float(f"{part * figures.spacing:.2g}") for part in (0.5, 1.0, 2.0) if figures.spacing
        )
        volumes = volumes_of(self._blocks.sizes)
        usable = np.isfinite(self._blocks.points).all(axis=1) & (volumes > 0)
        codes = np.array([self._shown_place(name) for name in self._names], np.intp)
        places = codes[self._blocks.codes]
        for number, name in enumerate(self._shown):
            points, own = points_of.get(name, (np.empty((0, 3)), None))
            mine = np.flatnonzero(usable & (places == number))
            far = _distances(points, self._blocks.points[mine], self._threads)
            weights = volumes[mine]
            total = total_weight(weights, 0)
            figures.holes[name] = HolesOf(
                len(points),
                0 if own is None else len(np.unique(own)),
                _spacing(points, own),
                tuple(
                    total_weight(weights[far > band], 0) / total if total else 0.0
                    for band in figures.bands
                ),
                total,
            )

    def _shown_place(self, name: str) -> int:
        return self._shown.index(name) if name in self._shown else -1

    # --- Contacts, crossings and checks.

    def _add_contacts(self, labeller: Labeller) -> None:
        """Add the contacts of each domain with the labels that it touches most."""
        figures, request = self._figures, self._request
        domains = with_walls(labeller.domains, ())
        plain = Labeller(domains, request.labelling)
        names = [target.name for target in domains.targets]
        labels = [*names, rest_labels(domains, names, request.labelling)[0]]
        length = _usual_length(self._placed(figures.pairs[0][1], None))
        settings = self._settings.contact(length)
        areas = touching_labels(plain, settings.bin / 64)
        areas = {pair: area for pair, area in areas.items() if pair[1] < len(labels)}
        wanted: set[tuple[int, int]] = set()
        for code, name in enumerate(labels):
            mine = sorted(
                (pair for pair in areas if code in pair), key=lambda pair: (-areas[pair], pair)
            )
            figures.touching[name] = [labels[a if b == code else b] for a, b in mine]
            if name in self._shown:
                wanted.update(mine[:MOST_NEIGHBOURS])
        for _, grade in figures.pairs:
            if grade:
                read = self._placed(grade, domains.below_detection)
                samples = LabelledSamples(read, plain, settings)
                most = _MOST_CONTACTS if samples.find_all_walls() else _MOST_SEARCHES
                largest = sorted(wanted, key=lambda pair: (-areas[pair], pair))[:most]
                figures.contacts[grade] = [
                    samples.contact(grade, (labels[a], labels[b]), (a, b))
                    for a, b in sorted(largest)
                ]
                if len(wanted) > most:
                    warn(
                        f"{len(wanted) - most:,} of {len(wanted):,} contacts of {grade} are not "
                        "measured, because they are smaller than the others: measure them with "
                        "contacts_file"
                    )

    def _add_crossings(self) -> None:
        """Add the stays of holes in the solids."""
        labelling = self._request.labelling
        assert self._holes is not None
        self._figures.crossings = self._holes.crossings(
            domains_to_label(self._domains, weld=labelling.weld).domains,
            rule=labelling.rule,
            allow_open=labelling.allow_open,
        )

    def _add_check(self) -> None:
        assert self._holes is not None
        self._figures.check = self._holes.check(self._domains if self._domains.targets else None)


def _usual_length(samples: PlacedSamples) -> float:
    """Return the median length of samples, rounded up to 1, 2 or 5 times a power of ten."""
    lengths = samples.weights[samples.weights > 0]
    if not samples.weighted or not len(lengths):
        return 0.0
    return round_length(float(np.median(lengths)), up=True)


def _distances(samples: Floats, points: Floats, threads: int | None) -> Floats:
    """Return the distance of each point from the nearest sample; infinity without samples."""
    if not len(samples) or not len(points):
        return np.full(len(points), np.inf)
    # A triangle whose corners are equal is a point.
    spots = Mesh(samples, np.repeat(np.arange(len(samples)), 3).reshape(-1, 3), name="samples")
    return MeshDistance(spots, threads=threads).of(points)


def _spacing(points: Floats, holes: NDArray[np.int32] | None) -> float:
    """Return the median distance from the middle of a hole's samples to the nearest other middle.

    The median is over at most 2,000 holes, evenly through all holes. With one hole it is 0.
    """
    if holes is None or not len(holes):
        return 0.0
    distinct, rows = np.unique(holes, return_inverse=True)
    count = len(distinct)
    if count < 2:
        return 0.0
    sums = [np.bincount(rows, points[:, axis], count) for axis in range(3)]
    middles = np.stack(sums, axis=1) / np.bincount(rows, minlength=count)[:, None]
    chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST_HOLES)).astype(np.intp))
    nearest = []
    for hole in chosen.tolist():
        squares = ((middles - middles[hole]) ** 2).sum(axis=1)
        squares[hole] = np.inf
        nearest.append(float(squares.min()))
    return float(np.sqrt(np.median(nearest)))
