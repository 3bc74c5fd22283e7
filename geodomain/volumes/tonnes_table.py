"""Lay out a report of tonnes and grade: values, CSV, a text table and warnings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import TableColumn
from geodomain.errors import TableError, counted, in_lines, shown
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.volumes.tonnage import ONE, Group, MetalUnit, Tonnage, Wanted, nearest_float

if TYPE_CHECKING:
    import pandas

_NO_DOMAIN, _NO_BENCH = "(none)", "(unknown)"


@dataclass(frozen=True)
class GradeTotal:
    """A grade and its metal, summed over blocks.

    Attributes
    ----------
    name : str
        Name of the column.
    mean : float, optional
        Mean weighted by tonnes, over the blocks that have the grade; None if these have no tonnes.
    metal : float
        Grade times tonnes, in `unit`, or else in the unit of the grade times the unit of tonnes.
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
    """A row of the table.

    Attributes
    ----------
    domain : str
        The label; empty for blocks without a label.
    bench : float, optional
        The base of the bench; None without benches, or for blocks of unknown height.
    cutoff : float, optional
        Lowest grade of the blocks; None for all blocks.
    blocks : int
        Number of blocks with any part in the domain and the bench.
    volume, tonnes : float
        Volume in cubed units of the coordinates; volume times density.
    grades : tuple of GradeTotal
        The grades in the caller's order.
    without_volume, without_density : int
        Blocks that are counted but have no volume or no tonnes.
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


@dataclass(frozen=True, repr=False)
class Tonnes:
    """Tonnes and grade of a model; `str` is a table, and a notebook shows one.

    Attributes
    ----------
    rows : tuple of TonnesRow
        Rows by domain, bench and cut-off; the first row of each domain and bench has no cut-off.
    domains, totals : tuple of TonnesRow
        Rows by domain and cut-off, over all benches, and rows by cut-off, over all blocks.
    blocks : int
        Number of blocks read.
    cutoff_grade : str
        The grade to which cut-offs apply; empty without cut-offs.
    bench : float, optional
        The height of a bench.
    warnings : tuple of str
        The warnings that were issued.
    notes : tuple of str
        Other observations: blocks of density 0, a wide spread of densities, labels that differ
        only in case.
    """

    rows: tuple[TonnesRow, ...]
    domains: tuple[TonnesRow, ...]
    totals: tuple[TonnesRow, ...]
    blocks: int
    cutoff_grade: str = ""
    bench: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows`, with columns of each grade, such as ``mean_AU`` and ``metal_AU_g``."""
        return records_frame(TonnesRow, self.rows, self._grade_columns())

    def to_csv(self) -> str:
        r"""Return the rows as CSV: numbers in full, and empty cells for missing values.

        The columns are domain, bench, cutoff, blocks, volume, tonnes, and for each grade the mean
        and the metal, such as ``mean_AU`` and ``metal_AU``, or ``metal_AU_g`` if its unit is
        specified. Lines end in "\n".
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named = [name for grade in self.totals[0].grades for name in (_mean(grade), _metal(grade))]
        writer.writerow(["domain", "bench", "cutoff", "blocks", "volume", "tonnes", *named])
        writer.writerows(map(_csv_cells, self.rows))
        return text.getvalue()

    def _grade_columns(self) -> dict[str, TableColumn]:
        """Return the columns of each grade."""
        columns: dict[str, TableColumn] = {}
        for place, first in enumerate(self.totals[0].grades):
            grades = [row.grades[place] for row in self.rows]
            columns |= {
                _mean(first): np.array([grade.mean for grade in grades], np.float64),
                _metal(first): np.array([grade.metal for grade in grades], np.float64),
                f"tonnes_{first.name}": np.array([grade.tonnes for grade in grades], np.float64),
                f"missing_{first.name}": np.array([grade.missing for grade in grades], np.int64),
            }
        return columns

    def __str__(self) -> str:
        """Return the table as text."""
        headings, rows = self._table()
        return in_lines([*text_table([headings, *rows]), *_missing_notes(self)])

    def __repr__(self) -> str:
        """Show the numbers of blocks, tonnes and domains."""
        whole = self.totals[0]
        return (
            f"<Tonnes of {counted(self.blocks, 'block')}: {whole.tonnes:,.6g} t "
            f"in {len({row.domain for row in self.rows})} domains>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self._table()
        notes = [*_missing_notes(self), *(f"warning: {text}" for text in self.warnings)]
        return html_table("Tonnes and grade", rows, headings=headings, notes=notes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings, and the cells of the rows and of the totals."""
        benched, cut = self.bench is not None, bool(self.cutoff_grade)
        headings = ["domain", *["bench"] * benched]
        headings += [f"{self.cutoff_grade} from"] if cut else []
        headings += ["blocks", "volume", "tonnes"]
        for grade in self.totals[0].grades:
            headings += [grade.name, f"{grade.name} metal" + f", {grade.unit}" * bool(grade.unit)]
        rows = [_cells(row, row.domain or _NO_DOMAIN, benched, cut) for row in self.rows]
        rows += [_cells(row, "total", benched, cut, whole=True) for row in self.totals]
        return headings, rows


def _mean(grade: GradeTotal) -> str:
    return f"mean_{grade.name}"


def _metal(grade: GradeTotal) -> str:
    return f"metal_{grade.name}" + f"_{grade.unit}" * bool(grade.unit)


def _cells(
    row: TonnesRow, name: str, benched: bool, cut: bool, *, whole: bool = False
) -> list[str]:
    """Return the cells of a row for reading: numbers are rounded."""
    cells = [name]
    if benched:
        unknown = "" if whole else _NO_BENCH
        cells.append(unknown if row.bench is None else f"{row.bench:.10g}")
    if cut:
        cells.append("" if row.cutoff is None else f"{row.cutoff:g}")
    cells += [f"{row.blocks:,}", f"{row.volume:,.10g}", f"{row.tonnes:,.10g}"]
    for grade in row.grades:
        cells += ["-" if grade.mean is None else f"{grade.mean:.6g}", f"{grade.metal:,.10g}"]
    return cells


def _csv_cells(row: TonnesRow) -> list[str | int | float]:
    """Return the cells of a row for CSV: numbers in full."""
    grades = [value for grade in row.grades for value in (grade.mean, grade.metal)]
    cells = [row.domain, row.bench, row.cutoff, row.blocks, row.volume, row.tonnes, *grades]
    return ["" if cell is None else cell for cell in cells]


def _missing_notes(tonnes: Tonnes) -> Iterator[str]:
    """Yield notes on missing values, which the numbers in the table leave out."""
    whole = tonnes.totals[0]
    if whole.without_volume:
        yield f"without a volume: {counted(whole.without_volume, 'block')}, counted only"
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


# From sums to the report, with warnings.

# A domain, and the lower end of a bench.
_Key = tuple[str, float | None]


def report(tonnage: Tonnage, warned: Iterable[str] = ()) -> Tonnes:
    """Return the sums as a report."""
    by_bench, by_domain, whole = _gather(tonnage)
    for (name, _), steps in by_domain.items():
        for step, group in enumerate(steps):
            group.counts = tonnage.blocks.get((name, step), np.zeros_like(group.counts))
    for step, group in enumerate(whole):
        group.counts = tonnage.all_blocks[step]
    order = {name: place for place, name in enumerate(tonnage.wanted.domains)}
    return Tonnes(
        rows=_in_order(tonnage, by_bench, order),
        domains=_in_order(tonnage, by_domain, order),
        totals=tuple(_rows(tonnage, ("", None), whole)),
        blocks=tonnage.rows,
        cutoff_grade=tonnage.wanted.cut,
        bench=tonnage.wanted.bench,
        warnings=tuple(warned),
        notes=tuple(_notes(tonnage)),
    )


def _gather(
    tonnage: Tonnage,
) -> tuple[dict[_Key, list[Group]], dict[_Key, list[Group]], list[Group]]:
    """Combine groups by domain and bench, by domain, and overall; each is a list by interval."""
    by_bench: dict[_Key, list[Group]] = {}
    by_domain: dict[_Key, list[Group]] = {}
    whole = _empty(tonnage)
    for (name, bench, step), group in tonnage.groups.items():
        by_bench.setdefault((name, bench), _empty(tonnage))[step].add(group)
        by_domain.setdefault((name, None), _empty(tonnage))[step].add(group)
        whole[step].add(group)
    return by_bench, by_domain, whole


def _empty(tonnage: Tonnage) -> list[Group]:
    """Return an empty group for each interval."""
    intervals, kinds = tonnage.all_blocks.shape
    sums = 2 + 2 * len(tonnage.wanted.grades)
    return [Group(np.zeros(kinds, np.int64), [0] * sums) for _ in range(intervals)]


def _in_order(
    tonnage: Tonnage, groups: dict[_Key, list[Group]], order: dict[str, int]
) -> tuple[TonnesRow, ...]:
    """Return the rows by domain and bench; rows without domain or bench come last."""

    def place(key: _Key) -> tuple[int, bool, str, float]:
        name, bench = key
        return order.get(name, 0), not name, name, math.inf if bench is None else bench

    keys = sorted(groups, key=place)
    return tuple(row for key in keys for row in _rows(tonnage, key, groups[key]))


def _rows(tonnage: Tonnage, key: _Key, steps: list[Group]) -> Iterator[TonnesRow]:
    """Yield the row of all blocks, then one for each cut-off."""
    above = _empty(tonnage)[:1]
    for group in reversed(steps):
        above.append(Group(above[-1].counts, above[-1].sums))
        above[-1].add(group)
    sums = above[:0:-1]
    for cutoff, group in zip([None, *tonnage.wanted.cutoffs], sums, strict=True):
        yield _row(tonnage.wanted, key, cutoff, group)


def _row(wanted: Wanted, key: _Key, cutoff: float | None, group: Group) -> TonnesRow:
    """Return a row of the report, rounding each sum once."""
    units = [wanted.units.get(name, MetalUnit("")) for name in wanted.grades]
    blocks, no_volume, no_density, *no_grade = group.counts.tolist()
    volume, tonnes, *rest = group.sums
    # Sums and factors of units are exact; each result is rounded once.
    parts, whole = wanted.density_unit.tonnes if wanted.density_unit else (1, 1)
    row = TonnesRow(
        domain=key[0],
        bench=key[1],
        cutoff=cutoff,
        blocks=blocks,
        volume=nearest_float(volume),
        tonnes=nearest_float(tonnes * parts, whole * ONE),
        grades=tuple(
            GradeTotal(
                name=name,
                mean=nearest_float(metal, graded) if graded else None,
                metal=nearest_float(metal * parts, unit.parts * whole * ONE),
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
    )
    _require_finite(wanted, row)
    return row


def _require_finite(wanted: Wanted, row: TonnesRow) -> None:
    """Raise TableError for a sum that overflows, although no single block does."""
    density = wanted.density if isinstance(wanted.density, str) else "the density"
    sums = [("volume", "the block sizes", row.volume), ("tonnes", density, row.tonnes)]
    sums += [(f"metal of {grade.name}", grade.name, grade.metal) for grade in row.grades]
    for what, cause, value in sums:
        if math.isinf(value):
            blocks = f"the blocks of {shown(row.domain)}" if row.domain else "all blocks"
            message = (
                f"the {what} of {blocks} add up to more than float64 can hold: look for values in "
                f"{cause} that are far too large, and correct them or declare them as missing"
            )
            raise TableError(message)


def _notes(tonnage: Tonnage) -> Iterator[str]:
    """Yield notes on the densities and the labels."""
    yield from tonnage.densities.notes()
    if not tonnage.wanted.shares:
        yield from tonnage.spelled.notes()


def tonnage_warnings(tonnage: Tonnage, *, negative: bool = True) -> Iterator[str]:
    """Yield warnings about missing, negative and inconsistent values in the sums.

    `negative` is false if negative grades were already reported during reading.
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
            f"{_blocks(no_density)} no {wanted.density}: they are included in the volume, not in "
            "tonnes"
        )
    for name, missing in zip(wanted.grades, no_grade, strict=True):
        if missing:
            yield f"{_blocks(missing)} no {name}: they are included in tonnes, not in the mean"
    for grade in tonnage.negative.values() if negative else ():
        yield from grade.warnings("block")
    yield from tonnage.densities.warnings()
    for name, count in tonnage.unshared.items():
        if count:
            yield (
                f"{_blocks(count)} no {wanted.shares[name]}, so no part is in {name}: the "
                f"remainder after the other shares is in {wanted.rest}"
            )
    if tonnage.over:
        count, first = tonnage.over
        yield (
            f"the shares of {count:,} of the blocks add up to more than 1, the first in block "
            f"{first}: the total counts some volume more than once"
        )


def _all_counts(tonnage: Tonnage) -> list[int]:
    """Return the counts over all blocks: total, without volume, density, and each grade."""
    counts: NDArray[np.int64] = tonnage.all_blocks.sum(axis=0)
    return [int(count) for count in counts]


def _blocks(count: int) -> str:
    """Return the beginning of a sentence about a number of blocks."""
    return "1 block has" if count == 1 else f"{count:,} blocks have"
