"""Flag samples with their domains, in files and in memory, and summarise the result."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, Protocol, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import say_box
from geodomain.compute.data import Floats
from geodomain.domains.order import ConditionCounts, DomainsLike
from geodomain.domains.sources import as_domains, domains_to_label
from geodomain.drillholes.drillholes import Drillholes, for_samples, settle
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.drillholes.flagging import (
    BY,
    By,
    Cuts,
    Flags,
    check_length,
    cut_rows,
    flag_middles,
    flag_parts,
    majority,
    make_cuts,
    without_domain,
)
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.settings import HoleKeywords, HoleSettings, SampleKeywords
from geodomain.drillholes.tables import (
    HoleTable,
    TableLike,
    read_table,
    reading_of,
    refuse_unmarked,
    require_outputs,
)
from geodomain.errors import TableError, collect_warnings, counted, in_lines, warn
from geodomain.files.outputs import refuse_inputs
from geodomain.formats.blocks import open_table, require_same_kind
from geodomain.formats.geoh5_holes import IntervalTable
from geodomain.formats.parquet_table import ParquetTable
from geodomain.inputs import PathGiven
from geodomain.labelling.evaluate import explain_apart, rest_labels, solids_apart, with_labels
from geodomain.labelling.frames import LabelColumn, as_categorical, categories_of
from geodomain.labelling.labeller import LOST, Labeller, new_columns
from geodomain.labelling.settings import LabelSettings, PointKeywords, WriteKeywords
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.tables.in_memory import BlockFrame
from geodomain.tables.new_columns import NewColumn, plan_splice
from geodomain.tables.settings import TableSettings
from geodomain.tables.text import TextRows

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame, IntoDataFrameT

    from geodomain.tables.in_memory import ColumnT, TableOf


@dataclass(frozen=True)
class FlaggedPart:
    """A row of the summary: the samples with one label, such as one domain or the background.

    Attributes
    ----------
    name : str
        Name of the domain, or "background", "unassigned", "leaking" or "beyond".
    label : str
        Label of the samples.
    samples : int
        Number of samples. A sample in several domains counts only for the domain that comes first
        in their order.
    length : float
        Total length of the samples, in the unit of the file.
    """

    name: str
    label: str
    samples: int
    length: float


@dataclass(frozen=True, repr=False)
class FlagSummary:
    """Summary of a flagging; ``print`` it.

    Attributes
    ----------
    rows : int
        Number of intervals in the input.
    by : {"middle", "majority", "split"}
        Method of flagging.
    parts : tuple of FlaggedPart
        Totals of the domains, in their order, and then of background, unassigned, leaking and
        beyond.
    cut, slivers : int
        Number of intervals that were split. Number of pieces that were too short, and were joined
        to a neighbour.
    unusable : int
        Number of intervals without a position on a hole; they are unassigned.
    findings : tuple of Finding
        Findings about the tables of holes, including findings about unusable intervals.
    dips : str
        Which dips point down, and how that was decided.
    columns : tuple of str
        Names of the new columns.
    output : str or None
        The output file.
    seconds : float
        Elapsed time, including reading and writing.
    backend, backend_reason : str
        Device that labelled points, and the reason for the choice.
    warnings : tuple of str
        Texts of all warnings.
    notes : tuple of str
        Notes on values below detection in columns of conditions.
    """

    rows: int
    by: By
    parts: tuple[FlaggedPart, ...]
    cut: int
    slivers: int
    unusable: int
    findings: tuple[Finding, ...]
    dips: str
    columns: tuple[str, ...]
    output: str | None
    seconds: float
    backend: str
    backend_reason: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the summary as plain values, ready for JSON."""
        values = asdict(replace(self, findings=()))
        return values | {"findings": [each.as_dict() for each in self.findings]}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the totals as rows: one for each domain, and one for each of the other labels."""
        return records_frame(FlaggedPart, self.parts)

    def __repr__(self) -> str:
        """Return the number of samples of each domain."""
        counts = ", ".join(f"{part.name} {part.samples:,}" for part in self._shown())
        return f"<FlagSummary of {counted(self.rows, 'interval')}: {counts}>"

    def __str__(self) -> str:
        """Return the summary as a text table."""
        return in_lines([*text_table(self._rows()), *self._notes()])

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(self.output or "flagged", rows, headings=headings, notes=self._notes())

    def _shown(self) -> list[FlaggedPart]:
        """Return the totals of all domains, and of the other labels if they have samples."""
        return [part for part in self.parts if part.samples or part.name == part.label]

    def _rows(self) -> list[list[str]]:
        """Return the cells of the table, headings first."""
        rows = [["domain", "samples", "length"]]
        for part in self._shown():
            own = part.name == part.label
            name = part.name if own else f"({part.name}) {part.label}".rstrip()
            rows.append([name, f"{part.samples:,}", f"{part.length:,.2f}"])
        return rows

    def _notes(self) -> list[str]:
        """Return the lines below the table: splits, the sign of dips, findings and time."""
        notes = []
        if self.by == "split":
            notes.append(
                f"split at walls: {counted(self.cut, 'interval')}; "
                f"{counted(self.slivers, 'sliver')} not "
                "split off"
            )
        return [
            *notes,
            *self.notes,
            *notes_of(self.findings, self.dips),
            f"{counted(self.rows, 'interval')} by {self.by} in {self.seconds:.2f} s, "
            f"{self.backend} ({self.backend_reason})",
        ]


def parts_of(
    names: Sequence[str], rest: Sequence[str], codes: NDArray[np.intp], lengths: Floats
) -> tuple[FlaggedPart, ...]:
    """Return the number and the total length of the samples of each domain and each other label.

    The sum of lengths is exact; only the total is rounded.

    Parameters
    ----------
    names : sequence of str
        Names of the domains.
    rest : sequence of str
        Labels of background, unassigned, leaking and beyond.
    codes : (n,) intp
        Domain code of each sample.
    lengths : (n,) float64
        Length of each sample, NaN if unknown.
    """
    others = ("background", "unassigned", "leaking", "beyond")
    pairs = [*zip(names, names, strict=True), *zip(others, rest, strict=True)]
    finite = np.nan_to_num(lengths, posinf=0.0, neginf=0.0)
    parts = []
    for code, (name, label) in enumerate(pairs):
        mine = codes == code
        length = math.fsum(finite[mine].tolist())
        parts.append(FlaggedPart(name, label, int(mine.sum()), length))
    return tuple(parts)


# --- Writing sample files with new columns: text tables, byte for byte, and Parquet.

AXES = ("x", "y", "z")
Spelled = list[NDArray[np.object_]]


@dataclass(frozen=True, eq=False)
class FlaggedRows:
    """Rows of the output: one for each interval, or for each piece if intervals are split.

    Attributes
    ----------
    codes : (m,) intp
        Domain code of each row.
    lengths : (m,) float64
        Length of each row; NaN for an interval whose TO is not greater than its FROM.
    middles : (m, 3) float64
        Middle point of each row; NaN for an unusable interval.
    cuts : Cuts or None
        Interval and depths of each row, if intervals were split.
    """

    codes: NDArray[np.intp]
    lengths: Floats
    middles: Floats
    cuts: Cuts | None


class SampleFile(Protocol):
    """The content of a file of samples, in memory."""

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO as exact decimals; only the rows in `several` are set."""

    def written(
        self, rows: Intervals, flagged: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> bytes | memoryview:
        """Return the content of the output file: the input with new columns.

        If intervals were split, the output has a row for each piece.
        """


def sample_file(table: HoleTable) -> SampleFile:
    """Return the sample file from which a table was read.

    Raise TableError if the file is neither text nor Parquet nor a geoh5 workspace.
    """
    if table.rows is not None:
        return TextSamples(table.rows)
    if table.workspace is not None:
        return WorkspaceSamples(table.workspace)
    if table.parquet is None:
        message = (
            f"{table.name} is neither text nor Parquet, and the output must have the format of "
            "the input: save the input as .csv"
        )
        raise TableError(message)
    return ParquetSamples(table.parquet)


def flagged_rows(made: Drillholes, rows: Intervals, flags: Flags, cuts: Cuts | None) -> FlaggedRows:
    """Return the rows of the output with their codes, lengths and middle points."""
    if cuts is None:
        lengths = _lengths(rows.starts, rows.ends)
        return FlaggedRows(flags.codes, lengths, flags.middles, None)
    begins, ends = cuts.depths(rows.starts, rows.ends)
    middles = np.full((len(cuts.codes), 3), np.nan)
    usable = np.flatnonzero(rows.usable[cuts.rows])
    middles[usable] = made.points_at(
        rows.holes[cuts.rows[usable]], 0.5 * (begins[usable] + ends[usable])
    )
    return FlaggedRows(cuts.codes, _lengths(begins, ends), middles, cuts)


def _lengths(begins: Floats, ends: Floats) -> Floats:
    """Return the length of each row; NaN if TO is not greater than FROM."""
    with np.errstate(invalid="ignore"):
        return np.where(ends > begins, ends - begins, np.nan)


@dataclass(frozen=True)
class TextSamples:
    """Samples in a text table."""

    text: TextRows

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO with the decimals of the text; rows outside `several` are None."""
        mark = self.text.layout.decimal.decode()
        decimals = []
        for role in ("from", "to"):
            texts = self.text.spelled(rows.table.roles[role])
            values = np.empty(len(texts), object)
            for row in several.tolist():
                values[row] = Decimal(texts[row].replace(mark, ".").lower().replace("d", "e"))
            decimals.append(values)
        return decimals

    def written(
        self, rows: Intervals, flagged: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> bytes:
        """Return the text with cells added to each row; all other bytes are kept."""
        source, layout = self.text, self.text.layout
        text = source if flagged.cuts is None else cut_rows(source, rows, flagged.cuts)
        columns, cells = [label], [flagged.codes.astype(np.int32)]
        if coordinates:
            mark = layout.decimal.decode()
            for axis, name in enumerate(AXES):
                columns.append(
                    NewColumn(name, _spelled(flagged.middles[:, axis], mark), numeric=True)
                )
                cells.append(np.arange(len(flagged.codes), dtype=np.int32))
        splice = plan_splice(layout, columns, encoding=layout.encoding, name=source.name)
        return text.with_cells(splice.head, splice.vocabulary, cells)


@dataclass(frozen=True)
class _StoredNumbers:
    """Samples whose FROM and TO are stored as numbers, not as text."""

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO as decimals; only the rows in `several` are set.

        A decimal has the fewest digits that convert back to the number in the file.
        """
        decimals = []
        for depths in (rows.starts, rows.ends):
            values = np.empty(len(depths), object)
            values[several] = [Decimal(repr(depth)) for depth in depths[several].tolist()]
            decimals.append(values)
        return decimals


@dataclass(frozen=True)
class ParquetSamples(_StoredNumbers):
    """Samples in a Parquet file."""

    file: ParquetTable

    def written(
        self, rows: Intervals, flagged: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> memoryview:
        """Return the file with added columns; other types, compression and metadata are kept."""
        roles, cuts = rows.table.roles, flagged.cuts
        depths: dict[int, Mapping[int, float]] = {}
        if cuts is not None:
            for role, pieces in (("from", cuts.begins), ("to", cuts.ends)):
                depths[roles[role]] = {piece: float(depth) for piece, depth in pieces.items()}
        middles = {name: flagged.middles[:, axis] for axis, name in enumerate(AXES)}
        return self.file.written(
            None if cuts is None else cuts.rows,
            depths,
            [(label, flagged.codes.astype(np.int32))],
            middles if coordinates else {},
        )


@dataclass(frozen=True)
class WorkspaceSamples(_StoredNumbers):
    """Samples in a geoh5 workspace."""

    table: IntervalTable

    def written(
        self, rows: Intervals, flagged: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> memoryview:
        """Return a copy of the workspace with new data on its holes; nothing else changes."""
        cuts = flagged.cuts
        depths: dict[str, Mapping[int, float]] = {}
        if cuts is not None:
            for role, pieces in (("from", cuts.begins), ("to", cuts.ends)):
                name = rows.table.names[rows.table.roles[role]]
                depths[name] = {piece: float(depth) for piece, depth in pieces.items()}
        columns: list[tuple[NewColumn, NDArray[np.generic]]] = [
            (label, flagged.codes.astype(np.int32))
        ]
        if coordinates:
            for axis, name in enumerate(AXES):
                measured = NewColumn(name, (), numeric=True, measured=True)
                columns.append((measured, flagged.middles[:, axis]))
        return self.table.written(None if cuts is None else cuts.rows, depths, columns)


def _spelled(values: Floats, mark: str) -> tuple[str, ...]:
    """Return coordinates as text with up to 6 decimals, NaN as an empty text."""
    rounded = np.round(values, 6).tolist()
    return tuple("" if v != v else repr(v).removesuffix(".0").replace(".", mark) for v in rounded)


# --- Flag the samples in a file.


class FlagKeywords(WriteKeywords, HoleKeywords, total=False):
    """The keywords of `flag_file`."""

    codes: bool


@with_keywords((LabelSettings, HoleSettings, TableSettings), FlagKeywords)
def flag_file(
    intervals: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None,
    *,
    collar: TableLike,
    survey: TableLike | None = None,
    by: By = "middle",
    min_length: float = 0.001,
    coordinates: bool = False,
    overwrite: bool = False,
    **keywords: Unpack[FlagKeywords],
) -> FlagSummary:
    r"""Flag the samples of drillholes in a file with their domains.

    The output is the file with one more column; all other bytes are kept. In Parquet, the other
    columns, types, compression and metadata are kept, but FROM and TO become float64 if intervals
    are split. Intervals without a position on a hole are counted, listed and left unassigned.

    Parameters
    ----------
    intervals : path
        A text table or Parquet file of samples or logs: hole, FROM and TO; "-" reads text from
        stdin. If the collars have no depth, each hole ends at its largest TO in this table.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`; conditions are about columns of `intervals`.
    output : path or None
        Output file, in the format of `intervals`; "-" is stdout, None writes nothing.
    collar, survey
        As for `Drillholes`.
    by : {"middle", "majority", "split"}
        "middle" gives the domain at the middle of each interval, along the hole. "majority" gives
        the domain with the greatest length in the interval; if several have this length, the first
        of them. "split" cuts the interval at each wall of a domain, and writes a row for each part.
    min_length : float
        With "split": shortest length of a part. A shorter part is counted, and joined to its longer
        neighbour.
    coordinates : bool
        Add columns x, y, z of the middle of each row, to 6 decimals; in Parquet with all digits.
    overwrite
        As for `label_file`.
    **settings

    Returns
    -------
    FlagSummary
        Samples and lengths by domain; ``print`` it.

    Raises
    ------
    TableError, DomainError, MeshError, PointError, OSError
        As `label_file` and `Drillholes`.

    Warns
    -----
    GeodomainWarning
        For each warning among the findings about holes, and for problems of wireframes.

    Notes
    -----
    A row that is split keeps the text of its other columns. Depths of cuts are rounded to 3
    decimals, or to the decimals of ``min_length`` if these are more. The first piece has the FROM
    of the interval, the last piece has the TO, and neighbours share the depth of their cut.
    Therefore the lengths of the pieces add up to the length of the interval exactly. A hole may
    change its domain at each wall that it crosses, and at the rims of surfaces.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> collar, assay = folder / "collar.csv", folder / "assay.csv"
    >>> _ = collar.write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    >>> _ = assay.write_text("HOLE,FROM,TO,AU\nA,0,6,0.10\nA,6,8,2.50\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.flag_file(assay, {"ORE": ore}, folder / "out.csv", collar=collar, by="split")
    <FlagSummary of 2 intervals: ORE 1, background 2>
    >>> (folder / "out.csv").read_text().split()[1:]
    ['A,0,6,0.10,', 'A,6,7,2.50,', 'A,7,8,2.50,ORE']
    """
    began = time.perf_counter()
    if by not in BY:
        message = f"by is {by!r}; use {', '.join(map(repr, BY))}"
        raise ValueError(message)
    least = check_length(min_length)
    call_settings = read_keywords(LabelSettings, keywords, FlagKeywords)
    holes = among(HoleKeywords, keywords)
    tables = [intervals, collar, survey, holes.get("topography")]
    places = require_outputs([output], tables, overwrite=overwrite, formats="any")
    if output is not None:
        require_same_kind(os.fspath(intervals), os.fspath(output))
    with collect_warnings() as warned:
        sources = domains_to_label(domains, weld=call_settings.weld)
        refuse_inputs(places, sources.files)
        labeller = Labeller(sources.domains, call_settings)
        settings = with_labels(call_settings, sources.domains)
        _, reading = reading_of(holes, call_settings.threads)
        table = read_table(intervals, "intervals", reading, also=None)
        made = Drillholes(collar, survey, table, threads=call_settings.threads, **holes)
        refuse_unmarked(reading, [*table.names, *made.report.columns])
        rows, source = made.match(table), sample_file(table)
        findings = made.tell(sources.domains)
        if not call_settings.allow_disjoint:
            refuse_apart(labeller, made, rows)
        seen = ConditionCounts()
        flags = flag_middles(made.paths, rows, labeller, seen)
        for sentence in seen.warnings("sample"):
            warn(sentence)
        cuts = None
        if by != "middle":
            parts = flag_parts(made.paths, rows, labeller, ConditionCounts())
            if by == "majority":
                flags = Flags(majority(rows, parts, labeller), flags.middles)
            else:
                lost = np.full(len(rows.starts), len(labeller.targets) + LOST, np.intp)
                several = np.flatnonzero(np.bincount(parts.rows, minlength=len(lost)) > 1)
                cuts = make_cuts(len(lost), parts, lost, source.spelled(rows, several), least)
        flagged = flagged_rows(made, rows, flags, cuts)
        pieces = np.arange(len(flagged.codes)) if cuts is None else cuts.rows
        findings += settle(made, without_domain(rows, pieces, flagged.codes, labeller))
        (new,) = new_columns(settings, labeller.targets)
        written = source.written(rows, flagged, new, coordinates=coordinates)
        if output is not None:
            layout = None if table.rows is None else table.rows.layout
            with open_table(output, overwrite=overwrite, layout=layout) as target:
                target.write(memoryview(written))
    machine, reason = labeller.machine
    return FlagSummary(
        rows=len(rows.starts),
        by=by,
        parts=parts_of(
            [target.name for target in labeller.targets],
            settings.rest,
            flagged.codes,
            flagged.lengths,
        ),
        cut=cuts.cut if cuts else 0,
        slivers=cuts.slivers if cuts else 0,
        unusable=int((~rows.usable).sum()),
        findings=findings,
        dips=made.report.dips,
        columns=(call_settings.column, *(AXES if coordinates else ())),
        output=None if output is None else os.fspath(output),
        seconds=time.perf_counter() - began,
        backend=machine,
        backend_reason=reason,
        warnings=tuple(warned),
        notes=tuple(seen.notes()),
    )


def refuse_apart(labeller: Labeller, holes: Drillholes, rows: Intervals) -> None:
    """Raise TableError, with a likely reason, if the box of the holes meets no domain's box."""
    if holes.report.bounds is None or not rows.usable.any():
        return
    box = np.array(holes.report.bounds)
    targets = labeller.targets
    if len(solids_apart(targets, box)) < max(len(targets), 1):
        return
    reason = next(filter(None, (explain_apart(target.bounds, box) for target in targets)), "")
    message = (
        f"no domain meets the drillholes. The holes extend over {say_box(box)}, and "
        f"{targets[0].name} over {say_box(targets[0].bounds)}: "
        f"{reason or 'is it in another datum or grid?'}; "
        "use allow_disjoint=True to flag the samples anyway"
    )
    raise TableError(message)


# --- Flag the samples of a table in memory.


class FrameKeywords(PointKeywords, SampleKeywords, total=False):
    """The keywords of `flag`."""


@overload
def flag(
    frame: TableOf[ColumnT],
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: Literal["middle", "majority"] = ...,
    min_length: float = ...,
    column: str = ...,
    **settings: Unpack[FrameKeywords],
) -> ColumnT: ...


@overload
def flag(
    frame: IntoDataFrameT,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: Literal["split"],
    min_length: float = ...,
    column: str = ...,
    **settings: Unpack[FrameKeywords],
) -> IntoDataFrameT: ...


@with_keywords((LabelSettings, HoleSettings, TableSettings), FrameKeywords)
def flag(
    frame: TableOf[LabelColumn] | IntoDataFrame,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: By = "middle",
    min_length: float = 0.001,
    column: str = "domain",
    **settings: Unpack[FrameKeywords],
) -> LabelColumn | IntoDataFrame:
    """Return the domain of each sample in a table. With "split", return the table cut at walls.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or pyarrow.Table
        One sample per row: hole, FROM and TO, under their usual names, and the columns that
        conditions name.
    holes : Drillholes
        The holes.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_blocks`.
    by : {"middle", "majority", "split"}
        As for `flag_file`.
    min_length : float
        As for `flag_file`; used only with "split".
    column : str
        Name of the new column; used only with "split".
    **settings

    Returns
    -------
    categorical of the table's library
        As from `label_blocks`; intervals without a position on a hole are unassigned. With "split",
        a table of the same library with one row per piece. Its other columns are unchanged, and
        its last column is the categorical.

    Raises
    ------
    TypeError, TableError, DomainError, MeshError, PointError
        As `label_blocks` and `Drillholes`.

    Warns
    -----
    GeodomainWarning
        For each warning among the findings about holes and samples that has not been issued for
        `holes` before.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
    >>> samples = pandas.DataFrame({"HOLE": ["A", "A"], "FROM": [0.0, 6], "TO": [6.0, 8]})
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
    >>> split = geodomain.flag(samples, holes, {"ORE": ore}, by="split", background="WASTE")
    >>> split[["FROM", "TO", "domain"]].values.tolist()
    [[0.0, 6.0, 'WASTE'], [6.0, 7.0, 'WASTE'], [7.0, 8.0, 'ORE']]
    """
    if by not in BY:
        message = f"by is {by!r}; use {', '.join(map(repr, BY))}"
        raise ValueError(message)
    least = check_length(min_length)
    ordered = as_domains(domains)
    call_settings = read_keywords(LabelSettings, settings, FrameKeywords)
    labeller = Labeller(ordered, call_settings)
    samples = cast("IntoDataFrame", frame)
    holes = for_samples(holes, among(SampleKeywords, settings))
    rows = holes.match(samples)
    holes.tell(ordered)
    settle(holes, rows.findings)
    native = BlockFrame(samples, rows.table.name)
    names = [target.name for target in ordered.targets]
    rest, lost = rest_labels(ordered, names, call_settings)
    categories, table = categories_of(ordered, rest, lost)
    every = np.arange(len(native))
    if by == "middle":
        codes = flag_middles(holes.paths, rows, labeller).codes
        settle(holes, without_domain(rows, every, codes, labeller))
        return as_categorical(native, table[codes], categories, column)
    parts = flag_parts(holes.paths, rows, labeller)
    if by == "majority":
        codes = majority(rows, parts, labeller)
        settle(holes, without_domain(rows, every, codes, labeller))
        return as_categorical(native, table[codes], categories, column)
    unusable = np.full(len(native), len(labeller.targets) + LOST, np.intp)
    several = np.flatnonzero(np.bincount(parts.rows, minlength=len(native)) > 1)
    spelled = []
    for values in (rows.starts, rows.ends):
        each = np.empty(len(native), object)
        each[several] = [Decimal(repr(value)) for value in values[several].tolist()]
        spelled.append(each)
    cuts = make_cuts(len(native), parts, unusable, spelled, least)
    settle(holes, without_domain(rows, cuts.rows, cuts.codes, labeller))
    begins, ends = cuts.depths(rows.starts, rows.ends)
    roles = rows.table.roles
    cut = native.with_rows(cuts.rows, {roles["from"]: begins, roles["to"]: ends}, {})
    labels = as_categorical(BlockFrame(cut), table[cuts.codes], categories, column)
    return BlockFrame(cut).with_rows(np.arange(len(cuts.rows)), {}, {column: labels})
