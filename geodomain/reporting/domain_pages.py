"""The page of each domain in a report: its figures, gathered, and their HTML.

The figures are those of `stats`, `validate`, `contacts`, `tonnes` and `holes crossings`, which
compute them here as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.check import LEVELS, HoleCheck
from geodomain.drillholes.crossings import STAYS, HoleCrossings
from geodomain.drillholes.drillholes import Drillholes, settle
from geodomain.drillholes.flagging import flag_middles
from geodomain.drillholes.tables import TableLike
from geodomain.errors import GeodomainError, collect_warnings, counted, warn
from geodomain.labelling.evaluate import rest_labels, with_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.blocks import Blocks, ShownLabel
from geodomain.reporting.grades import GradeSettings, curve_of, grade_classes_of
from geodomain.reporting.look import kind_of_name, legible
from geodomain.reporting.svg import chart_svg
from geodomain.reporting.tables import (
    DomainRow,
    domain_name,
    exact_figure,
    grade_figure,
    in_unit,
    rounded,
    table,
    volume,
)
from geodomain.statistics.by_domain import describe_samples
from geodomain.statistics.charts import (
    COOL,
    WARM,
    Chart,
    Curve,
    Series,
    histogram_chart,
    probability_chart,
    round_length,
    swath_charts,
)
from geodomain.statistics.contact_means import Contacts
from geodomain.statistics.contact_walls import touching_labels, with_walls
from geodomain.statistics.contacts import (
    LabelledSamples,
    PlacedSamples,
    place_along,
    place_points,
)
from geodomain.statistics.groups import Groups
from geodomain.statistics.populations import Population
from geodomain.statistics.results import ALL, Statistics, StatsRow
from geodomain.statistics.samples import Samples, gather_samples
from geodomain.statistics.settings import NEAREST, ReportSettings
from geodomain.statistics.validation import (
    NO_ROWS,
    SHARES,
    Side,
    Validation,
    compare_samples,
    options_of_both,
    sides_of,
)
from geodomain.tables.conditions import Column, with_policy
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import options_among
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import plain_name
from geodomain.volumes.distance import MeshDistance
from geodomain.volumes.tonnage import volumes_of
from geodomain.volumes.tonnes_report import Tonnes, TonnesRow

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# Neighbours of a domain whose contact is drawn, and rows of the tables of a page.
_MOST_NEIGHBOURS, _MOST_ROWS, _MOST_CUTOFFS = 4, 10, 12
# Contacts of all pages together, and those if each has to find its own walls.
_MOST_CONTACTS, _MOST_SEARCHES = 120, 12
# Number of holes whose nearest other hole is searched, evenly through all holes.
_MOST_HOLES = 2000


@dataclass(frozen=True)
class DomainRequest:
    """What pages of domains are made from.

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
    rule, allow_open, weld, background
        How samples are labelled by wireframes: as the blocks were.
    """

    samples: TableLike | None = None
    sample_grades: tuple[str, ...] = ()
    settings: ReportSettings = field(default_factory=ReportSettings)
    table: TableKeywords = field(default_factory=TableKeywords)
    column: str = "domain"
    labelling: LabelSettings = field(default_factory=LabelSettings)

    def pairs(self, grades: Sequence[str]) -> list[tuple[str, str]]:
        """Return the grades of blocks and of samples; either is "" if it is not given."""
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

    def distinct(self, known: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        texts = list(dict.fromkeys([*known, *self.texts]))
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
        What options bring the parts that are missing.
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
        Median distance between the middle of a hole's samples and that of the nearest other hole; 0
        if there is one hole, or if holes are not known.
    beyond : tuple of float
        Share of the volume of the domain beyond each distance from the nearest sample.
    volume : float
        The volume that is divided.
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
    """Compute the figures of all pages; new warnings are issued, and added to `warned`.

    Rows that are left out become notes, because the tables of the pages count them.
    """
    with collect_warnings() as told, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = _Gathering(request, blocks, rows, grades, domains, holes).gather()
    for sentence in told:
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
    """Computes the figures of the pages of all domains."""

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
        labeller = self._labeller()
        self._add_samples(labeller)
        if labeller is not None and self._holes is not None:
            self._try("crossings of holes are", self._add_crossings)
        if self._holes is not None:
            self._try("checks of holes are", self._add_check)
        return figures

    def _say_missing(self) -> None:
        """Note the parts that are missing, and the keywords that bring them."""
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

        Its warnings become notes: they are about this part alone.
        """
        notes = self._figures.notes
        with collect_warnings() as told:
            try:
                action()
            except GeodomainError as error:
                told.append(f"{what} left out: {error}")
        notes += [sentence for sentence in told if sentence not in notes]

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
                        known = sides_of(Groups(each.again()), name)
                        sides = {
                            key: (side, NO_ROWS) if each is drilled else (NO_ROWS, side)
                            for key, side in known.items()
                        }
            figures.sides[ours or theirs] = sides
        told = [*(figures.samples.notes if figures.samples else ())]
        told += [note for each in figures.validations.values() for note in each.notes]
        figures.notes += [note for note in dict.fromkeys(told) if note not in figures.notes]
        if labeller is not None and drilled is not None:
            self._try("contacts are", lambda: self._add_contacts(labeller))

    def _read_samples(
        self, source: TableLike, names: list[str], labeller: Labeller | None
    ) -> Samples:
        """Read the samples, and give them labels that name domains as the blocks' labels do."""
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
                f"the labels in their column {drilled.column}"
                if drilled.column
                else "one domain, because they have no label column"
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
        """Return the label column of the samples; None for the usual one, if there is one."""
        column = self._request.column
        return self._settings.sample_column or (None if column == "domain" else column)

    def _along_holes(
        self, holes: Drillholes, source: TableLike, names: list[str], labeller: Labeller | None
    ) -> Samples:
        """Place intervals at their middles on the holes, and label them if they have no labels."""
        rows = holes.match(source, also=None)
        settle(holes, rows.findings)
        self._placed = lambda grade, below: place_along(holes, rows, grade, below)
        below = self._request.table.get("below_detection")
        known = {plain_name(name): name for name in rows.table.names}
        wanted = self._label_column() or "domain"
        own = known.get(plain_name(wanted))
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
            self._figures.labelled_by = "the wireframes around their middles"
        column = wanted if labels else own
        columns = [*rows.table.names, *[wanted] * bool(labels)]

        def cells(name: str) -> Column:
            if labels and name == wanted:
                return labels[0]  # type: ignore[return-value]
            found = rows.table.column(name)
            return with_policy(found, below) if name in read.grades.values() else found

        settings = replace(self._settings, column=column)
        read = Samples(
            settings, names, columns, options_among({}), rows.table.name, sized=False, placed=True
        )
        read.add(middles, None, cells, slice(None))
        return read

    def _add_distances(self, groups: Groups, grade: str) -> None:
        """Add holes, spacing, and shares of volume beyond distances from the nearest sample."""
        figures = self._figures
        holes = groups.samples.holes()
        found = {}
        for group in groups.of(groups.values(grade)):
            rows = groups.placed(group.rows)
            found[ALL if group.whole else group.domain] = (
                groups.points[rows],
                None if holes is None else holes[rows],
            )
        figures.spacing = _spacing(*found[ALL])
        figures.bands = self._settings.bands or tuple(
            float(f"{part * figures.spacing:.2g}") for part in (0.5, 1.0, 2.0) if figures.spacing
        )
        volumes = volumes_of(self._blocks.sizes)
        usable = np.isfinite(self._blocks.points).all(axis=1) & (volumes > 0)
        codes = np.array([self._shown_place(name) for name in self._names], np.intp)
        places = codes[self._blocks.codes]
        for number, name in enumerate(self._shown):
            points, own = found.get(name, (np.empty((0, 3)), None))
            mine = np.flatnonzero(usable & (places == number))
            far = _distances(points, self._blocks.points[mine], self._threads)
            weights = volumes[mine]
            total = float(weights.sum())
            figures.holes[name] = HolesOf(
                len(points),
                0 if own is None else len(np.unique(own)),
                _spacing(points, own),
                tuple(
                    float(weights[far > band].sum()) / total if total else 0.0
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
                wanted.update(mine[:_MOST_NEIGHBOURS])
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
    """Return the median distance between the middle of a hole's samples and the nearest other one.

    Of many holes, 2,000 are taken evenly. The result is 0 with fewer than two holes.
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


# --- HTML.


class Picture(NamedTuple):
    """A section that a page shows in small.

    Attributes
    ----------
    number : int
        Its number in the report.
    title : str
        Its title.
    size : tuple of int
        Width and height of the drawing.
    """

    number: int
    title: str
    size: tuple[int, int]


@dataclass(frozen=True)
class PageStyle:
    """What all pages of domains share.

    Attributes
    ----------
    labels : sequence of ShownLabel
        How to show each label, in the order of the labels of the blocks.
    rows : sequence of DomainRow
        Blocks and volumes of the domains, in their order.
    colours : mapping of str to str
        Colours by the names of domains.
    grades : GradeSettings
        Grades and their units.
    sums : Tonnes, optional
        Tonnes by domain; None without a density.
    above : mapping of str to Tonnes
        For each grade, tonnes above round cut-offs.
    pictures : mapping of str to sequence of Picture
        The sections of each domain.
    unit : str
        Unit of coordinates; may be empty.
    """

    labels: Sequence[ShownLabel]
    rows: Sequence[DomainRow]
    colours: Mapping[str, str]
    grades: GradeSettings
    sums: Tonnes | None
    above: Mapping[str, Tonnes]
    pictures: Mapping[str, Sequence[Picture]]
    unit: str = ""

    @property
    def shown(self) -> list[DomainRow]:
        """The rows of the domains that have a page."""
        return [row for row in self.rows if has_page(row)]

    def length(self, value: float) -> str:
        """Return a length with its unit."""
        return f"{rounded(value, 4)} {self.unit}".strip()


def pages_html(figures: DomainFigures, style: PageStyle) -> str:
    """Return the pages of all domains, with links to them."""
    if not style.shown:
        return "<p>The model has no block in a domain.</p>"
    links = "".join(
        f'<li><a href="#domain-{number}">{domain_name(row.name, style.colours[row.name])}</a></li>'
        for number, row in enumerate(style.shown)
    )
    pages = "".join(
        _Page(figures, style, number, row).html for number, row in enumerate(style.shown)
    )
    return f'<ul class="domain-links">{links}</ul>{_introduction(figures, style)}{pages}'


def _introduction(figures: DomainFigures, style: PageStyle) -> str:
    """Return what holds for all pages: definitions, and what is missing."""
    sentences = []
    if figures.samples is not None:
        sentences.append(f"Samples belong to a domain by {figures.labelled_by}.")
        weight = figures.samples.weight or "number"
        sentences.append(f"Samples are weighted by {weight}.")
    if figures.holes:
        sentences.append(
            "Spacing of holes: the median distance from the middle of a hole's samples in the "
            "domain to that of the nearest other hole. Distances from samples are between the "
            "centre of a block and the nearest sample of its domain."
        )
    if figures.validations:
        sentences.append(
            "Blocks are smoother than samples, because each averages over its volume: means should "
            "agree, while blocks have a smaller CV."
        )
    if figures.contacts:
        sentences.append(
            "Contacts are the parts of wireframes with one of the two labels on each side; "
            "intervals treat each hole as one observation."
        )
    lines = [f'<p class="hint">{escape(" ".join(sentences))}</p>'] if sentences else []
    left_out = [f"<li>{escape(note)}</li>" for note in figures.notes]
    left_out += [f"<li>Not shown: {escape(each)}</li>" for each in figures.missing]
    lines += [f'<ul class="hint">{"".join(left_out)}</ul>'] if left_out else []
    return "".join(lines)


class _Page:
    """The page of one domain."""

    def __init__(
        self, figures: DomainFigures, style: PageStyle, number: int, row: DomainRow
    ) -> None:
        self._figures, self._style, self._number, self._row = figures, style, number, row
        self._name = row.name

    @property
    def html(self) -> str:
        """The page."""
        style = self._style
        parts = [self._facts()]
        for place, (ours, theirs) in enumerate(self._figures.pairs):
            title = style.grades.titled(ours) if ours else theirs
            if len(self._figures.pairs) > 1:
                parts.append(f"<h4>{escape(title)}</h4>")
            parts.append(self._statistics(place, ours, theirs))
            parts.append(self._caps(place, theirs))
            parts.append(self._charts(place, ours, theirs, title))
            parts.append(self._contacts(place, theirs))
        cutoffs = [self._cutoffs(*each) for each in enumerate(dict(self._figures.pairs))]
        parts.append(f'<div class="tables">{"".join(cutoffs)}{self._crossings()}</div>')
        parts.append(self._pictures())
        return (
            f'<article class="domain" id="domain-{self._number}">'
            f"<h3>{domain_name(self._name, style.colours[self._name])}</h3>{''.join(parts)}"
            '<p class="hint"><a href="#domain-pages">All domains</a></p></article>'
        )

    def _facts(self) -> str:
        """Return the main figures, as short cells."""
        row, style, figures = self._row, self._style, self._figures
        cells = [
            ("blocks", f"{row.blocks:,}"),
            (in_unit("volume", style.unit), volume(row.volume)),
            ("share of all blocks", f"{row.share:.2%}"),
        ]
        sums = self._rows_of(style.sums)
        if sums:
            cells.append(("tonnes", volume(sums[0].tonnes)))
        near = figures.holes.get(self._name)
        if near is not None:
            cells.append(("samples", f"{near.samples:,}"))
            if near.holes:
                cells.append(("holes with samples", f"{near.holes:,}"))
            if near.spacing:
                cells.append(("spacing of holes", self._exact(near.spacing)))
            cells += [
                (f"volume beyond {style.length(band)} of a sample", _share(share))
                for band, share in zip(figures.bands, near.beyond, strict=True)
            ]
        shown = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{text}</dd></div>" for name, text in cells if text
        )
        return f'<dl class="facts">{shown}</dl>'

    def _exact(self, value: float) -> str:
        unit = f" {escape(self._style.unit)}" if self._style.unit else ""
        return f"{exact_figure(value)}{unit}"

    def _rows_of(self, sums: Tonnes | None) -> list[TonnesRow]:
        """Return the rows of this domain, over all classes; the first has no cut-off."""
        return [row for row in sums.domains if row.domain == self._row.label] if sums else []

    # --- Statistics.

    def _populations(self, ours: str, theirs: str) -> list[tuple[str, StatsRow]]:
        """Return the rows of statistics, each with its name."""
        figures, found = self._figures, []
        if figures.samples is not None and theirs:
            for row in figures.samples.rows:
                if (row.grade, row.domain) == (theirs, self._name):
                    if row.cap is not None and not row.samples_cut:
                        continue
                    name = "samples" if row.weights == "naive" else "samples, declustered"
                    cap = "" if row.cap is None else f", cut at {row.cap:g}"
                    found.append((f"{name}{cap}", row))
        if figures.blocks is not None and ours:
            found += [
                ("blocks", row)
                for row in figures.blocks.rows
                if (row.grade, row.domain) == (ours, self._name) and row.cap is None
            ]
        return found

    def _statistics(self, place: int, ours: str, theirs: str) -> str:
        """Return the table of statistics: samples and blocks, one below the other."""
        rows = self._populations(ours, theirs)
        if not rows:
            return ""
        headings = ["", "count", "missing", "weight", *(head for head, _ in _MEASURES)]
        cells = [
            [
                escape(name),
                f"{row.count:,}",
                f"{row.missing:,}",
                volume(row.weight),
                *(grade_figure(getattr(row, key)) for _, key in _MEASURES),
            ]
            for name, row in rows
        ]
        title = self._style.grades.titled(ours) if ours else theirs
        html = table(
            f"Statistics of {title} in {self._name}", headings, cells,
            name=f"statistics-{self._number}-{place}",
        )  # fmt: skip
        validation = self._figures.validations.get(ours)
        for each in validation.rows if validation else ():
            if each.domain == self._name and each.difference is not None:
                sign = f"{each.difference:+.3g} %"
                html += (
                    f'<p class="hint">Mean of the blocks minus mean of the samples'
                    f"{', declustered' if each.weights != 'naive' else ''}: "
                    f'<data value="{each.difference!r}" title="{each.difference!r}">{sign}</data> '
                    "of the mean of the samples.</p>"
                )
        return html

    def _caps(self, place: int, theirs: str) -> str:
        """Return the table of top cuts, if there are any."""
        rows = [row for _, row in self._populations("", theirs) if row.cap is not None]
        if not rows:
            return ""
        headings = ["cap", "weights", "percentile", "samples cut", "holes cut", "mean", "CV"]
        cells = [
            [
                f"{row.cap:g}",
                row.weights,
                grade_figure(row.percentile),
                f"{row.samples_cut:,}",
                "" if row.holes_cut is None else f"{row.holes_cut:,}",
                grade_figure(row.mean),
                grade_figure(row.cv),
                "" if row.metal_lost is None else f"{row.metal_lost:.2%}",
            ]
            for row in rows
        ]
        return table(
            f"Top cuts of {theirs} in {self._name}", [*headings, "metal lost"], cells,
            name=f"caps-{self._number}-{place}",
        )  # fmt: skip

    # --- Charts.

    def _charts(self, place: int, ours: str, theirs: str, title: str) -> str:
        """Return the histogram, the probability plot, the slices and the grade-tonnage curve."""
        figures, style = self._figures, self._style
        name = f"{self._number}-{place}"
        drawn: list[tuple[Chart, str]] = []
        samples, blocks = figures.sides.get(ours or theirs, {}).get(self._name, (NO_ROWS, NO_ROWS))
        words = self._sample_word(ours)
        some = [
            (word, kind, colour, side)
            for word, kind, colour, side in (
                ("blocks", "block", WARM, blocks),
                (words, "sample", COOL, samples),
            )
            if len(side)
        ]
        if some:
            drawn.append((histogram_of(title, some), "Histogram"))
            curves = [
                (word, kind, colour, self._curve(ours, kind, side))
                for word, kind, colour, side in some
            ]
            drawn.append(
                (probability_chart("Log-probability plot", title, curves), "Log-probability plot")
            )
        shown = {row.text: row for row in style.labels}.get(self._row.label)
        rows = [row for row in self._rows_of(style.above.get(ours)) if row.cutoff is not None]
        if rows and shown is not None and rows[0].tonnes > 0:
            curve = curve_of(shown, rows, title)._replace(title="Grade and tonnage")
            drawn.append((curve, "Grade-tonnage curve"))
        validation = figures.validations.get(ours)
        if validation is not None:
            panels = validation.panels(self._name)
            slices = swath_charts(panels, title, style.unit, words)
            drawn += [(chart, chart.title) for chart in slices]
        charts = "".join(
            chart_svg(
                chart, f"domain-{name}-{number}", f"{what} of {title} in {self._name}", high=190
            )
            for number, (chart, what) in enumerate(drawn)
        )
        return f'<div class="charts">{charts}</div>' if charts else ""

    def _curve(self, ours: str, kind: str, side: Side) -> Curve:
        """Return the distribution of samples or blocks: that of `validate`, if there is one."""
        validation = self._figures.validations.get(ours)
        every = validation.quantiles if validation else ()
        pairs = [each for each in every if each.domain == self._name]
        if not pairs:
            return curve_of_side(side)
        return Curve(
            [each.probability for each in pairs],
            [each.sample if kind == "sample" else each.block for each in pairs],
            Population(side.values, side.weights).mean,
            side.at_zero,
        )

    def _sample_word(self, ours: str) -> str:
        """Return what the samples of the charts are: declustered or not."""
        validation = self._figures.validations.get(ours)
        for row in validation.rows if validation else ():
            if row.domain == self._name and row.weights != "naive":
                return "samples, declustered"
        return "samples"

    def _cutoffs(self, place: int, ours: str) -> str:
        """Return the table of tonnes and grade above cut-offs."""
        style = self._style
        rows = self._rows_of(style.sums)
        is_asked = style.sums is not None and style.sums.cutoff_grade == ours
        if not is_asked or len(rows) < 2:
            above = [row for row in self._rows_of(style.above.get(ours)) if row.tonnes > 0]
            rows = above[:: max(1, -(-len(above) // _MOST_CUTOFFS))]
        if not rows or not ours:
            return ""
        metal = next((each.unit for each in rows[0].grades if each.name == ours), "")
        headings = [
            "cut-off", "blocks", in_unit("volume", style.unit), "tonnes",
            f"mean {style.grades.titled(ours)}", f"metal, {metal}" if metal else "metal",
        ]  # fmt: skip
        cells = []
        for row in rows:
            (own,) = (each for each in row.grades if each.name == ours)
            cells.append([
                "all" if row.cutoff is None else f"{row.cutoff:g}", f"{row.blocks:,}",
                volume(row.volume), volume(row.tonnes), grade_figure(own.mean), volume(own.metal),
            ])  # fmt: skip
        return table(
            f"{ours} at or above cut-offs in {self._name}, weighted by tonnes", headings, cells,
            name=f"cutoffs-{self._number}-{place}",
        )  # fmt: skip

    def _contacts(self, place: int, theirs: str) -> str:
        """Return the charts of contacts with other labels, and what is left out."""
        figures = self._figures
        touching = figures.touching.get(self._name)
        if not touching or theirs not in figures.contacts:
            return ""
        by_pair = {frozenset(each.between): each for each in figures.contacts[theirs]}
        colours = {name: legible(colour) for name, colour in self._style.colours.items()}
        drawn: list[str] = []
        bare: list[str] = []
        more = touching[_MOST_NEIGHBOURS:]
        for other in touching[:_MOST_NEIGHBOURS]:
            pair = frozenset((self._name, other))
            if pair not in by_pair:
                more.append(other)
                continue
            contact = replace(by_pair[pair], colours=colours)
            if not all(side.samples for side in contact.sides):
                bare.append(other or "(background)")
                continue
            names = " and ".join(each or "(background)" for each in contact.between)
            chart = chart_svg(
                contact.chart(self._style.unit),
                f"contact-{self._number}-{place}-{len(drawn)}",
                f"{theirs} by distance from the contact of {names}",
                high=210,
            )
            sentence = contact.step_sentence
            drawn.append(
                f'<div class="contact">{chart}<p class="hint">'
                f"{escape(sentence[0].upper() + sentence[1:])}.</p></div>"
            )
        notes = []
        if bare:
            most = self._style.length(figures.contacts[theirs][0].settings.max)
            notes.append(
                f"Without samples on both sides within {most} of the contact: {', '.join(bare)}."
            )
        if more:
            listed = ", ".join(each or "(background)" for each in more[:_MOST_ROWS])
            listed += f" and {len(more) - _MOST_ROWS:,} more" if len(more) > _MOST_ROWS else ""
            notes.append(f"Smaller contacts, which are not drawn: {listed}.")
        text = f'<p class="hint">{escape(" ".join(notes))}</p>' if notes else ""
        return (
            f'<h4>Contacts</h4><div class="charts">{"".join(drawn)}</div>{text}' if drawn else text
        )

    # --- Holes and sections.

    def _crossings(self) -> str:
        """Return the first crossings of holes with the wireframes of the domain."""
        crossings = self._figures.crossings
        if crossings is None or self._name not in crossings.solids:
            return ""
        mine = np.flatnonzero(crossings.stays.domains == crossings.solids.index(self._name))
        if not len(mine):
            return '<p class="hint">No hole crosses the wireframes of this domain.</p>'
        stays = crossings.stays
        cells = [
            [
                escape(crossings.names[stays.holes[row]]),
                *(volume(each) for each in (
                    float(stays.begins[row]), float(stays.ends[row]),
                    float(stays.ends[row] - stays.begins[row]),
                )),
            ]
            for row in mine[:_MOST_ROWS].tolist()
        ]  # fmt: skip
        total = float((stays.ends[mine] - stays.begins[mine]).sum())
        holes = counted(len(np.unique(stays.holes[mine])), "hole")
        text = f"{counted(len(mine), 'stay')} of {holes}, {self._style.length(total)} in all"
        if len(mine) > _MOST_ROWS:
            text += f"; the first {_MOST_ROWS} are shown, and all are in the JSON of this page"
        shown = table(
            f"Crossings of holes with {self._name}", ["hole", "from", "to", "length"], cells,
            name=f"crossings-{self._number}",
        )  # fmt: skip
        return f'<div>{shown}<p class="hint">{escape(text)}.</p></div>'

    def _pictures(self) -> str:
        """Return small sections, which link to the large ones."""
        pictures = self._style.pictures.get(self._name, ())
        if not pictures:
            return ""
        drawn = "".join(
            f'<a class="small" href="#section-{each.number}">'
            f'<svg viewBox="0 0 {each.size[0]} {each.size[1]}" role="img" font-size="210" '
            f'font-family="system-ui, sans-serif" aria-label="{escape(each.title, quote=True)}">'
            f'<use href="#drawing-{each.number}"/></svg>{escape(each.title)}</a>'
            for each in pictures
        )
        return f'<h4>Sections</h4><div class="charts sections">{drawn}</div>'


# The columns of the table of statistics.
_MEASURES = (
    ("min", "minimum"), ("Q1", "quartile_1"), ("median", "median"), ("Q3", "quartile_3"),
    ("P90", "p90"), ("P95", "p95"), ("P99", "p99"), ("max", "maximum"), ("mean", "mean"),
    ("variance", "variance"), ("CV", "cv"),
)  # fmt: skip


def _share(share: float) -> str:
    """Return a share in percent, exact on hover."""
    return f'<data value="{share!r}" title="{share!r}">{share:.1%}</data>'


def histogram_of(title: str, some: Sequence[tuple[str, str, str, Side]]) -> Chart:
    """Return the histogram of sides, each with its name, the word for one value, and its colour."""
    values = np.concatenate([side.values for _, _, _, side in some])
    top = max(float(np.quantile(side.values, 0.99)) for _, _, _, side in some)
    classes = grade_classes_of(values, float(values.min()), top if top > 0 else 1.0)
    series = []
    for word, _, colour, side in some:
        weights = np.ones(len(side)) if side.weights is None else side.weights
        shares = classes.shares(side.values, weights)
        mean = Population(side.values, side.weights).mean
        series.append(Series(word, shares.tolist(), mean, colour))
    chart = histogram_chart(
        "Histogram", title, classes.edges, series, is_log=classes.is_log, what="of the weight"
    )
    if not classes.is_log:
        return chart
    hidden = [
        f"{side.at_zero:,} {kind}{'' if side.at_zero == 1 else 's'}"
        for _, kind, _, side in some
        if side.at_zero
    ]
    if not hidden:
        return chart
    (panel,) = chart.panels
    note = f"{' and '.join(hidden)} at 0 or below: off the axis"
    return chart._replace(subtitle=note, panels=[panel])


def curve_of_side(side: Side) -> Curve:
    """Return the distribution of samples or blocks with their weights."""
    population = Population(side.values, side.weights)
    return Curve(
        [float(share) for share in SHARES],
        [population.quantile(share) for share in SHARES],
        population.mean,
        side.at_zero,
    )


# --- Findings about the holes.

# Findings of the table, and cases and holes that each of them names.
_MOST_FINDINGS = 100


def findings_html(check: HoleCheck, unit: str, say: Callable[[str], str] = str) -> str:
    """Return tables of the rows of each table of holes, and of the findings about them.

    `say` writes the names of keywords.
    """
    rows = [
        [
            escape(key),
            escape(each.name),
            f"{each.rows:,}",
            f"{each.used:,}",
            escape(", ".join(f"{count:,} {code}" for code, count in each.not_used.items()) or "0"),
        ]
        for key, each in check.tables.items()
    ]
    length = f"{rounded(check.length, 4)} {unit}".strip()
    counts = ", ".join(counted(count, level) for level, count in check.counts.items())
    parts = [
        f"<p>{counted(check.holes, 'hole')}, {escape(length)} in all: {counts}.</p>",
        table("Rows of tables", ["table", "file", "rows", "used", "not used"], rows,
              name="hole-rows"),
    ]  # fmt: skip
    findings = sorted(check.findings, key=lambda each: LEVELS.index(each.level))
    if findings:
        cells = [
            [
                each.level,
                escape(each.what),
                escape(each.table),
                f"{each.count:,}",
                escape("; ".join(each.first)),
                escape(say(each.mend)),
            ]
            for each in findings[:_MOST_FINDINGS]
        ]
        headings = ["severity", "finding", "table", "cases", "first cases", "what to do"]
        parts.append(table("Findings", headings, cells, name="findings"))
    return "".join(parts)


# --- JSON.


def figures_json(figures: DomainFigures, style: PageStyle) -> dict[str, object]:
    """Return all figures as plain values, ready for JSON."""
    return {
        "grades": [{"blocks": ours, "samples": theirs} for ours, theirs in figures.pairs],
        "distance_bands": list(figures.bands),
        "spacing": figures.spacing,
        "notes": figures.notes,
        "missing": figures.missing,
        "holes": None if figures.check is None else figures.check.as_dict(),
        "domains": [_Json(figures, style, row).values for row in style.shown],
    }


class _Json:
    """The figures of a domain as plain values."""

    def __init__(self, figures: DomainFigures, style: PageStyle, row: DomainRow) -> None:
        self._figures, self._style, self._row, self._name = figures, style, row, row.name

    @property
    def values(self) -> dict[str, object]:
        """All figures of the domain."""
        figures, style, row = self._figures, self._style, self._row
        near = figures.holes.get(self._name)
        return {
            "name": row.name,
            "label": row.label,
            "blocks": row.blocks,
            "share": row.share,
            "volume": row.volume,
            "samples": None if near is None else near.samples,
            "holes": None if near is None else near.holes,
            "spacing": None if near is None else near.spacing,
            "beyond": [] if near is None else list(near.beyond),
            "sample_statistics": self._of(figures.samples),
            "block_statistics": self._of(figures.blocks),
            "validation": {
                grade: {
                    "row": self._first(each.rows),
                    "quantiles": self._some(each.quantiles),
                    "swaths": self._some(each.swaths),
                }
                for grade, each in figures.validations.items()
            },
            "touching": figures.touching.get(self._name, []),
            "contacts": {
                grade: [each.as_dict() for each in some if self._name in each.between]
                for grade, some in figures.contacts.items()
            },
            "tonnes": self._tonnes(style.sums),
            "above_cutoffs": {grade: self._tonnes(sums) for grade, sums in style.above.items()},
            "crossings": self._crossings(),
            "sections": [each.title for each in style.pictures.get(self._name, ())],
        }

    def _of(self, statistics: Statistics | None) -> list[dict[str, object]]:
        return self._some(statistics.rows) if statistics else []

    def _some(self, rows: Sequence[object]) -> list[dict[str, object]]:
        return [asdict(row) for row in rows if row.domain == self._name]  # type: ignore[attr-defined, call-overload]

    def _first(self, rows: Sequence[object]) -> dict[str, object] | None:
        return next(iter(self._some(rows)), None)

    def _tonnes(self, sums: Tonnes | None) -> list[dict[str, object]]:
        rows = sums.domains if sums else ()
        return [asdict(row) for row in rows if row.domain == self._row.label]

    def _crossings(self) -> list[dict[str, object]]:
        """Return each stay of a hole in the wireframes, under the headings of its table."""
        crossings = self._figures.crossings
        if crossings is None:
            return []
        return [
            dict(zip(STAYS, values, strict=True))
            for values in crossings.stay_rows()
            if values[1] == self._name
        ]
