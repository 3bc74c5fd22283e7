"""Tonnes and grade by domain: the result with its CSV, printed table and warnings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import TableColumn
from geodomain.errors import TableError, counted, in_lines, shown
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.tables.numbers import below_notes
from geodomain.volumes.exact_sums import ONE, nearest_float
from geodomain.volumes.tonnage import Group, MetalUnit, Tonnage, Wanted

if TYPE_CHECKING:
    import pandas


NO_DOMAIN, NO_BENCH, NO_CLASS = "(none)", "(unknown)", "(none)"


@dataclass(frozen=True)
class GradeTotal:
    """A grade and its metal, summed over blocks.

    Attributes
    ----------
    name : str
        Name of the column.
    mean : float, optional
        Mean, weighted by tonnes, over the blocks that have the grade; None if these blocks have no
        tonnes.
    metal : float
        Grade times tonnes, in the unit `unit`. If `unit` is empty, this is the unit of the grade
        times the unit of tonnes.
    tonnes : float
        Tonnes of the blocks that have the grade.
    missing : int
        Number of blocks without the grade.
    unit : str
        Unit of the metal; empty if the unit of the grade was not specified.
    """

    name: str
    mean: float | None
    metal: float
    tonnes: float
    missing: int
    unit: str = ""


@dataclass(frozen=True)
class TonnesRow:
    """Sums over the blocks in a domain, a class and a bench, with a grade at or above a cut-off.

    Attributes
    ----------
    domain : str
        The label; empty for blocks without a label.
    bench : float, optional
        The base of the bench. None if there are no benches, or for blocks of unknown height.
    cutoff : float, optional
        The lowest grade of the blocks that are summed; None if all blocks are summed.
    blocks : int
        Number of blocks of the class with any part in the domain and the bench.
    volume : float
        Volume in cubed units of the coordinates.
    tonnes : float
        Volume times density.
    grades : tuple of GradeTotal
        The grades in the caller's order.
    without_volume, without_density : int
        Number of blocks without a volume, and number of blocks without a density. Both are included
        in `blocks`.
    classification : str
        The resource class; empty for blocks without a class, or if classes are not asked for.
    """

    domain: str
    bench: float | None
    cutoff: float | None
    blocks: int
    volume: float
    tonnes: float
    grades: tuple[GradeTotal, ...]
    without_volume: int = 0
    without_density: int = 0
    classification: str = ""


@dataclass(frozen=True, repr=False)
class Tonnes:
    """Tonnes and grade of a model; ``print`` it for a table.

    Attributes
    ----------
    rows : tuple of TonnesRow
        Rows by domain, class, bench and cut-off. The first row of each domain, class and bench has
        no cut-off.
    domains : tuple of TonnesRow
        Rows by domain and cut-off, summed over all classes and benches.
    totals : tuple of TonnesRow
        Rows by cut-off, summed over all blocks.
    blocks : int
        Number of blocks read.
    cutoff_grade : str
        The grade to which cut-offs apply; empty if there are no cut-offs.
    bench : float, optional
        The height of a bench.
    warnings : tuple of str
        The warnings that were issued.
    notes : tuple of str
        Other observations: blocks of density 0, a wide spread of densities, labels that differ
        only in case.
    classification : str
        The column of resource classes; empty if there is none.
    classes : tuple of TonnesRow
        Rows by class and cut-off, summed over all domains and benches; empty without such a column.
        Measured, Indicated and Inferred come first, in this order.
    """

    rows: tuple[TonnesRow, ...]
    domains: tuple[TonnesRow, ...]
    totals: tuple[TonnesRow, ...]
    blocks: int
    cutoff_grade: str = ""
    bench: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    classification: str = ""
    classes: tuple[TonnesRow, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows` as a DataFrame.

        A grade has several columns, such as ``mean_AU`` and ``metal_AU_g``. The classification is a
        column if it was asked for.
        """
        frame = records_frame(TonnesRow, self.rows, self._grade_columns())
        return frame if self.classification else frame.drop(columns="classification")

    def to_csv(self) -> str:
        r"""Return the rows as CSV, with unrounded numbers, and empty cells for missing values.

        The columns are domain, classification (if there is one), bench, cutoff, blocks, volume and
        tonnes, then two columns for each grade: the mean, such as ``mean_AU``, and the metal, such
        as ``metal_AU``. If the unit of the metal is known, it is added to the name, as in
        ``metal_AU_g``. Lines end in "\n".
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named = [
            name
            for grade in self.totals[0].grades
            for name in (mean_column(grade), metal_column(grade))
        ]
        keys = ["domain", *["classification"] * bool(self.classification), "bench", "cutoff"]
        writer.writerow([*keys, "blocks", "volume", "tonnes", *named])
        writer.writerows(_csv_cells(row, classed=bool(self.classification)) for row in self.rows)
        return text.getvalue()

    def _grade_columns(self) -> dict[str, TableColumn]:
        """Return the columns of all grades: mean, metal, tonnes and number of missing values."""
        columns: dict[str, TableColumn] = {}
        for place, first in enumerate(self.totals[0].grades):
            grades = [row.grades[place] for row in self.rows]
            columns |= {
                mean_column(first): np.array([grade.mean for grade in grades], np.float64),
                metal_column(first): np.array([grade.metal for grade in grades], np.float64),
                f"tonnes_{first.name}": np.array([grade.tonnes for grade in grades], np.float64),
                f"missing_{first.name}": np.array([grade.missing for grade in grades], np.int64),
            }
        return columns

    def __str__(self) -> str:
        """Return the table as text."""
        headings, rows = self._table()
        return in_lines([*text_table([headings, *rows]), *_missing_notes(self)])

    def __repr__(self) -> str:
        """Return the numbers of blocks, tonnes and domains as text."""
        whole = self.totals[0]
        return (
            f"<Tonnes of {counted(self.blocks, 'block')}: {whole.tonnes:,.6g} t "
            f"in {counted(len({row.domain for row in self.rows}), 'domain')}>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self._table()
        notes = [*_missing_notes(self), *(f"warning: {text}" for text in self.warnings)]
        return html_table("Tonnes and grade", rows, headings=headings, notes=notes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return a tuple: the printed table's headings, and the cells of its rows, totals last."""
        headings = ["domain"]
        headings += [self.classification] if self.classification else []
        headings += ["bench"] if self.bench is not None else []
        headings += [f"{self.cutoff_grade} from"] if self.cutoff_grade else []
        headings += amount_headings(self.totals[0])
        rows = [self._cells(row, row.domain or NO_DOMAIN) for row in self.rows]
        rows += [self._cells(row, "total", bench="") for row in self.classes]
        rows += [self._cells(row, "total", bench="", class_name="") for row in self.totals]
        return headings, rows

    def _cells(
        self,
        row: TonnesRow,
        name: str,
        *,
        bench: str = NO_BENCH,
        class_name: str = NO_CLASS,
    ) -> list[str]:
        """Return the cells of a row of the printed table, with rounded numbers.

        `bench` and `class_name` are shown for a row without a bench or a class.
        """
        cells = [name]
        if self.classification:
            cells.append(row.classification or class_name)
        if self.bench is not None:
            cells.append(bench if row.bench is None else f"{row.bench:.10g}")
        if self.cutoff_grade:
            cells.append("" if row.cutoff is None else f"{row.cutoff:g}")
        return cells + amount_cells(row)


def amount_headings(row: TonnesRow) -> list[str]:
    """Return the headings of `amount_cells`."""
    headings = ["blocks", "volume", "tonnes"]
    for grade in row.grades:
        headings += [grade.name, f"{grade.name} metal" + f", {grade.unit}" * bool(grade.unit)]
    return headings


def amount_cells(row: TonnesRow) -> list[str]:
    """Return the printed cells of a row for blocks, volume, tonnes and grades, rounded."""
    cells = [f"{row.blocks:,}", f"{row.volume:,.10g}", f"{row.tonnes:,.10g}"]
    for grade in row.grades:
        cells += ["-" if grade.mean is None else f"{grade.mean:.6g}", f"{grade.metal:,.10g}"]
    return cells


def mean_column(grade: GradeTotal) -> str:
    """Return the name of the column of a mean grade, such as mean_AU."""
    return f"mean_{grade.name}"


def metal_column(grade: GradeTotal) -> str:
    """Return the name of the column of a metal, such as metal_AU_g."""
    return f"metal_{grade.name}" + f"_{grade.unit}" * bool(grade.unit)


def _csv_cells(row: TonnesRow, *, classed: bool) -> list[str | int | float]:
    """Return the cells of a CSV row, with unrounded numbers."""
    grades = [value for grade in row.grades for value in (grade.mean, grade.metal)]
    keys = [row.domain, *[row.classification] * classed, row.bench, row.cutoff]
    cells = [*keys, row.blocks, row.volume, row.tonnes, *grades]
    return ["" if cell is None else cell for cell in cells]


def _missing_notes(tonnes: Tonnes) -> Iterator[str]:
    """Yield notes on blocks that sums in the table leave out, because they lack a value."""
    whole = tonnes.totals[0]
    if whole.without_volume:
        yield f"without a volume: {counted(whole.without_volume, 'block')}, not in any sum"
    if whole.without_density:
        yield (
            f"without a density: {counted(whole.without_density, 'block')}, included in the "
            "volume, not in tonnes"
        )
    for grade in whole.grades:
        if grade.missing:
            lost = counted(grade.missing, "block")
            yield f"without {grade.name}: {lost}, included in tonnes, not in the mean"
    yield from tonnes.notes


# --- From sums to the result, with warnings.

# Classes of resources in the order of a statement, other classes follow by name.
_CLASS_ORDER = ("measured", "indicated", "inferred")


class RowKey(NamedTuple):
    """What the blocks of a row have in common: domain, class and base of the bench."""

    domain: str = ""
    classification: str = ""
    bench: float | None = None


# For each key, a group for each cut-off interval.
Groups = dict[RowKey, list[Group]]


def report(tonnage: Tonnage, warned: Iterable[str] = ()) -> Tonnes:
    """Return the running sums as a report, with the warnings issued so far."""
    rows: Groups = {}
    domains: Groups = {}
    classes: Groups = {}
    whole = empty_groups(tonnage)
    for (name, resource_class, bench, step), group in tonnage.groups.items():
        key = RowKey(name, resource_class, bench)
        rows.setdefault(key, empty_groups(tonnage))[step].add(group)
        domains.setdefault(RowKey(name), empty_groups(tonnage))[step].add(group)
        classes.setdefault(RowKey("", resource_class), empty_groups(tonnage))[step].add(group)
        whole[step].add(group)
    # A block in several benches or domains counts once.
    for group in (each for groups in (domains, classes) for key in groups for each in groups[key]):
        group.counts = np.zeros_like(group.counts)
    for (name, _, step), counts in tonnage.blocks.items():
        domains[RowKey(name)][step].counts += counts
    for group, counts in zip(whole, sum(tonnage.all_blocks.values(), _none(tonnage)), strict=True):
        group.counts = counts
    for resource_class, tables in tonnage.all_blocks.items():
        for group, counts in zip(classes.get(RowKey("", resource_class), []), tables, strict=False):
            group.counts = counts
    return Tonnes(
        rows=_in_order(tonnage, rows),
        domains=_in_order(tonnage, domains),
        totals=tuple(_rows(tonnage, RowKey(), whole)),
        blocks=tonnage.rows,
        cutoff_grade=tonnage.wanted.cut,
        bench=tonnage.wanted.bench,
        warnings=tuple(warned),
        notes=tuple(tonnage_notes(tonnage)),
        classification=tonnage.wanted.classification,
        classes=_in_order(tonnage, classes) if tonnage.wanted.classification else (),
    )


def _none(tonnage: Tonnage) -> NDArray[np.int64]:
    """Return counts of 0 for each cut-off interval."""
    return np.zeros((tonnage.intervals, tonnage.kinds), np.int64)


def empty_groups(tonnage: Tonnage) -> list[Group]:
    """Return a group without blocks for each cut-off interval."""
    sums = 2 + 2 * len(tonnage.wanted.grades)
    return [Group(counts, [0] * sums) for counts in _none(tonnage)]


def _in_order(tonnage: Tonnage, groups: Groups) -> tuple[TonnesRow, ...]:
    """Return the rows by domain, class and bench; those without a domain, class or bench last."""
    keys = keys_in_order(tonnage, groups)
    return tuple(row for key in keys for row in _rows(tonnage, key, groups[key]))


def keys_in_order(tonnage: Tonnage, groups: Iterable[RowKey]) -> list[RowKey]:
    """Return keys by domain, class and bench; those without a domain, class or bench last."""
    order = {name: place for place, name in enumerate(tonnage.wanted.domains)}

    def place(key: RowKey) -> tuple[int, bool, str, bool, int, str, float]:
        name, resource_class, bench = key
        word = resource_class.lower()
        rank = _CLASS_ORDER.index(word) if word in _CLASS_ORDER else len(_CLASS_ORDER)
        return (
            order.get(name, 0), not name, name,
            not resource_class, rank, resource_class,
            math.inf if bench is None else bench,
        )  # fmt: skip

    return sorted(groups, key=place)


def _rows(tonnage: Tonnage, key: RowKey, steps: list[Group]) -> Iterator[TonnesRow]:
    """Yield a row for all blocks of a key, then a row for each cut-off."""
    for cutoff, group in at_cutoffs(tonnage, steps):
        yield tonnes_row(tonnage.wanted, key, cutoff, group)


def at_cutoffs(tonnage: Tonnage, steps: list[Group]) -> Iterator[tuple[float | None, Group]]:
    """Yield None with the sums of all intervals, then each cut-off with its sums.

    The sums of a cut-off are those of the blocks whose grade is at or above the cut-off.
    """
    above = empty_groups(tonnage)[:1]
    for group in reversed(steps):
        above.append(Group(above[-1].counts, above[-1].sums))
        above[-1].add(group)
    yield from zip([None, *tonnage.wanted.cutoffs], above[:0:-1], strict=True)


def tonnes_row(wanted: Wanted, key: RowKey, cutoff: float | None, group: Group) -> TonnesRow:
    """Return a row of the report, rounding each exact sum once."""
    units = [wanted.units.get(name, MetalUnit("")) for name in wanted.grades]
    blocks, no_volume, no_density, *no_grade = group.counts.tolist()
    volume, tonnes, *rest = group.sums
    # Sums and factors of units are exact; each result is rounded once.
    parts, whole = wanted.density_unit.tonnes if wanted.density_unit else (1, 1)
    row = TonnesRow(
        domain=key.domain,
        bench=key.bench,
        cutoff=cutoff,
        blocks=blocks,
        volume=nearest_float(volume),
        tonnes=nearest_float(tonnes * parts, whole * ONE),
        grades=tuple(
            GradeTotal(
                name=name,
                mean=nearest_float(metal, graded) if graded else None,
                metal=nearest_float(metal * parts * unit.times, unit.parts * whole * ONE),
                tonnes=nearest_float(graded * parts, whole * ONE),
                missing=missing,
                unit=unit.name,
            )
            for name, unit, missing, graded, metal in zip(
                wanted.grades, units, no_grade, rest[::2], rest[1::2], strict=True
            )
        ),
        without_volume=no_volume,
        without_density=no_density,
        classification=key.classification,
    )
    _require_finite(wanted, row)
    return row


def _require_finite(wanted: Wanted, row: TonnesRow) -> None:
    """Raise TableError if a sum overflows float64; single blocks have been checked before."""
    density = wanted.density if isinstance(wanted.density, str) else "the density"
    sums = [("volume", "the block sizes", row.volume), ("tonnes", density, row.tonnes)]
    sums += [(f"metal of {grade.name}", grade.name, grade.metal) for grade in row.grades]
    for what, cause, value in sums:
        if math.isinf(value):
            blocks = f"the blocks of {shown(row.domain)}" if row.domain else "all blocks"
            message = (
                f"the total {what} of {blocks} is more than float64 can hold: look for values in "
                f"{cause} that are far too large, and correct them or declare them as missing"
            )
            raise TableError(message)


def tonnage_notes(tonnage: Tonnage) -> Iterator[str]:
    """Yield notes on cells below detection, on densities, and on labels by their spelling."""
    yield from below_notes(tonnage.below, tonnage.wanted.below_detection)
    yield from tonnage.densities.notes()
    if not tonnage.wanted.shares:
        yield from tonnage.spelled.notes()


def tonnage_warnings(tonnage: Tonnage, *, negative: bool = True) -> Iterator[str]:
    """Yield warnings about missing, negative and inconsistent values in the sums.

    `negative` is False if warnings about negative grades have already been issued during reading.
    """
    wanted = tonnage.wanted
    _, no_volume, no_density, *no_grade = _all_counts(tonnage)
    if not tonnage.rows:
        yield "the model has no blocks: there is nothing to add up"
    if no_volume:
        yield (
            f"{_blocks(no_volume)} no volume, because sizes are missing, not above zero or too "
            "small"
        )
    if no_density:
        yield (
            f"{_blocks(no_density)} no {wanted.density}: such blocks are included in the volume, "
            "not in tonnes"
        )
    for name, missing in zip(wanted.grades, no_grade, strict=True):
        if missing:
            yield (
                f"{_blocks(missing)} no {name}: such blocks are included in tonnes, not in the mean"
            )
    for grade in tonnage.negative.values() if negative else ():
        yield from grade.warnings("block")
    yield from tonnage.densities.warnings()
    for name, count in tonnage.unshared.items():
        if count:
            yield (
                f"{_blocks(count)} no {wanted.shares[name]}: such blocks add nothing to {name}, "
                f"and what their other shares leave is added to {wanted.rest}"
            )
    if tonnage.over:
        count, first = tonnage.over
        yield (
            f"{_blocks(count)} shares that add up to more than 1; the first is block {first:,}: "
            "the total counts some volume more than once"
        )


def _all_counts(tonnage: Tonnage) -> list[int]:
    """Return counts of blocks: all, without volume, without density, and without each grade."""
    counts = sum(tonnage.all_blocks.values(), _none(tonnage)).sum(axis=0)
    return [int(count) for count in counts]


def _blocks(count: int) -> str:
    """Return the beginning of a sentence about `count` blocks."""
    return "1 block has" if count == 1 else f"{count:,} blocks have"
