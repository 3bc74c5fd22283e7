"""Exact sums of what is mined and what remains, by period, domain and bench, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, in_lines
from geodomain.result_tables import ResultColumns, data_frame, html_table, text_table
from geodomain.volumes.exact_sums import ONE, exact_products, exact_sums, fits_exactly
from geodomain.volumes.tonnage import (
    Chunk,
    Group,
    Places,
    Tonnage,
    Wanted,
    counts_by_key,
    flags_of,
    numbered_keys,
)
from geodomain.volumes.tonnes_report import (
    NO_BENCH,
    NO_CLASS,
    NO_DOMAIN,
    RowKey,
    TonnesRow,
    amount_cells,
    amount_headings,
    at_cutoffs,
    empty_groups,
    keys_in_order,
    mean_column,
    metal_column,
    tonnage_notes,
    tonnes_row,
)

if TYPE_CHECKING:
    import pandas

    from geodomain.changes.cut_and_fill import CutAndFill

IN_SITU, MINED, REMAINING = "in situ", "mined", "remaining"
DESIGN, OVERBREAK, UNDERBREAK = "design", "overbreak", "underbreak"


class Part(NamedTuple):
    """A part of the ground: its name, and its period if it is mined in a single period."""

    name: str
    period: str = ""

    def __str__(self) -> str:
        """Return the name and the period."""
        return f"{self.name} {self.period}".rstrip()


@dataclass(frozen=True)
class DepletionRow:
    """Sums of one part of the ground in a domain, a class and a bench, at or above a cut-off.

    Attributes
    ----------
    part : str
        "in situ" at the start, "mined", "remaining" at the end; and with a design, "design" (in
        situ inside it), "overbreak" (mined outside it) and "underbreak" (inside it, not mined).
    period : str
        The period in which ground is mined; empty for all periods together and for other parts.
    amounts : TonnesRow
        Domain, class, bench and cut-off; volume, tonnes, mean grades and metal, each rounded once;
        number of blocks with any share in the part.
    exact : dict of str to Fraction
        The same sums without rounding: "volume", "tonnes", and the metal of each grade, such as
        "metal_AU". They are the sums of the products of the numbers in the file.
    """

    part: str
    period: str
    amounts: TonnesRow
    exact: dict[str, Fraction]

    def as_dict(self) -> dict[str, object]:
        """Return plain values; an exact sum is the text numerator/denominator."""
        exact = {name: str(value) for name, value in self.exact.items()}
        return {
            "part": self.part, "period": self.period, **asdict(self.amounts), "exact": exact,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Depletion:
    """What is mined and what remains; ``print`` it for a table.

    Attributes
    ----------
    rows : tuple of DepletionRow
        Rows by domain, class and bench, and in each by part and cut-off.
    domains, totals : tuple of DepletionRow
        Rows by domain over all classes and benches, and rows over all blocks.
    periods : tuple of str
        The periods in order of time.
    columns : tuple of str
        The columns of shares.
    blocks : int
        Number of blocks read.
    column : str
        The column of domains; empty if there is none.
    bench : float, optional
        The height of a bench.
    cutoff_grade : str
        The grade to which cut-offs apply; empty if there are no cut-offs.
    classification : str
        The column of resource classes; empty if there is none.
    sampled : int
        Number of blocks whose shares were estimated along vertical lines.
    estimated_error : float
        Estimated error of the volume mined, from these blocks.
    surfaces : tuple of CutAndFill
        Cut and fill between each surface and the surface before it.
    warnings, notes : tuple of str
        The warnings that were issued, and other observations.
    output : str, optional
        The file of the depleted model.
    """

    rows: tuple[DepletionRow, ...]
    domains: tuple[DepletionRow, ...]
    totals: tuple[DepletionRow, ...]
    periods: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: int
    column: str = ""
    bench: float | None = None
    cutoff_grade: str = ""
    classification: str = ""
    sampled: int = 0
    estimated_error: float = 0.0
    surfaces: tuple[CutAndFill, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output: str | None = None

    def of(self, part: str, period: str = "", *, domain: str | None = None) -> DepletionRow:
        """Return the sums of a part over all blocks, or over the blocks of a domain.

        Raises
        ------
        KeyError
            If there is no such part, period or domain.
        """
        rows = self.totals if domain is None else self.domains
        for row in rows:
            named = row.part == part and row.period == period and row.amounts.cutoff is None
            if named and domain in (None, row.amounts.domain):
                return row
        raise KeyError(str(Part(part, period)) + ("" if domain is None else f" of {domain}"))

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("rows", "domains", "totals", "surfaces"):
            plain[name] = [row.as_dict() for row in plain[name]]
        return plain

    def table(self) -> ResultColumns:
        """Return `rows` as columns with unrounded numbers, for CSV, Excel and Parquet."""
        rows = self.rows
        amounts = [row.amounts for row in rows]
        columns: dict[str, tuple[str, Sequence[object]]] = {
            "domain": ("str", [each.domain for each in amounts]),
            "classification": ("str", [each.classification for each in amounts]),
            "bench": ("float64", [each.bench for each in amounts]),
            "cutoff": ("float64", [each.cutoff for each in amounts]),
            "part": ("str", [row.part for row in rows]),
            "period": ("str", [row.period for row in rows]),
            "blocks": ("int64", [each.blocks for each in amounts]),
            "volume": ("float64", [each.volume for each in amounts]),
            "tonnes": ("float64", [each.tonnes for each in amounts]),
        }
        if not self.classification:
            del columns["classification"]
        for place, grade in enumerate(self.totals[0].amounts.grades):
            grades = [each.grades[place] for each in amounts]
            columns[mean_column(grade)] = "float64", [each.mean for each in grades]
            columns[metal_column(grade)] = "float64", [each.metal for each in grades]
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows` as a DataFrame."""
        table = self.table()
        kinds = {name: kind for name, (kind, _) in table.items() if kind != "str"}
        return data_frame({name: values for name, (_, values) in table.items()}, kinds)

    def __str__(self) -> str:
        """Return the table as text."""
        headings, rows = self._table()
        names = headings.index("part") + 1
        return in_lines([*text_table([headings, *rows], names=names), *self._remarks()])

    def __repr__(self) -> str:
        """Return the tonnes in situ, mined and remaining as text."""
        tonnes = [self.of(part).amounts.tonnes for part in (IN_SITU, MINED, REMAINING)]
        named = ", ".join(
            f"{name} {value:,.6g} t"
            for name, value in zip((IN_SITU, MINED, REMAINING), tonnes, strict=True)
        )
        return f"<Depletion of {counted(self.blocks, 'block')}: {named}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self._table()
        notes = [*self._remarks(), *(f"warning: {text}" for text in self.warnings)]
        return html_table("Depletion", rows, headings=headings, notes=notes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the printed table's headings, and the cells of its rows, totals last."""
        headings = ["domain"]
        headings += [self.classification] if self.classification else []
        headings += ["bench"] if self.bench is not None else []
        headings += ["part"]
        headings += [f"{self.cutoff_grade} from"] if self.cutoff_grade else []
        headings += amount_headings(self.totals[0].amounts)
        # A period that mines nothing of a domain or bench has no row in print.
        named = any(row.amounts.domain for row in self.rows)
        rows = []
        if named or self.bench is not None:
            rows += [self._cells(row) for row in self.rows if _is_shown(row)]
        if named and (self.bench is not None or self.classification):
            rows += [
                self._cells(row, total=f"{self._domain(row)}, total")
                for row in self.domains
                if _is_shown(row)
            ]
        rows += [self._cells(row, total="total") for row in self.totals]
        return headings, rows

    def _domain(self, row: DepletionRow) -> str:
        return row.amounts.domain or (NO_DOMAIN if self.column else "")

    def _cells(self, row: DepletionRow, *, total: str = "") -> list[str]:
        """Return the cells of a row of the printed table, with rounded numbers."""
        amounts = row.amounts
        cells = [total or self._domain(row)]
        if self.classification:
            cells.append("" if total else amounts.classification or NO_CLASS)
        if self.bench is not None:
            unknown = "" if total else NO_BENCH
            cells.append(unknown if amounts.bench is None else f"{amounts.bench:.10g}")
        cells.append(str(Part(row.part, row.period)))
        if self.cutoff_grade:
            cells.append("" if amounts.cutoff is None else f"{amounts.cutoff:g}")
        return cells + amount_cells(amounts)

    def _remarks(self) -> Iterator[str]:
        """Yield the check of the sums, cut and fill, and notes."""
        yield "mined + remaining = in situ in every row, exactly"
        for surface in self.surfaces:
            yield str(surface)
        yield from self.notes


def _is_shown(row: DepletionRow) -> bool:
    """Return whether to print a row: all but those of periods that mine no block of it."""
    return bool(row.amounts.blocks) or not row.period


# --- Exact sums of the parts, chunk by chunk.


class LabelledPieces(NamedTuple):
    """Pieces of blocks, each in one bench and one domain.

    Attributes
    ----------
    block : (m,) intp
        The block of each piece.
    bench : (m,) float64
        The base of its bench; NaN without benches.
    label : (m,) intp
        The index of its label.
    """

    block: Places
    bench: Floats
    label: Places


class Ledger:
    """Running exact sums of the parts of the ground.

    Parameters
    ----------
    wanted : Wanted
        Columns and settings of the sums.
    parts : sequence of Part
        The parts, in order of the rows.
    order : sequence of str
        Names of domains in order of the rows. By default, domains are in alphabetical order.

    Attributes
    ----------
    tonnage : Tonnage
        Reads and checks the values of blocks, and counts missing values.
    """

    def __init__(self, wanted: Wanted, parts: Sequence[Part], order: Sequence[str] = ()) -> None:
        self.tonnage, self.parts = Tonnage(wanted), parts
        self._rank = {name: rank for rank, name in enumerate(order)}
        self._groups: dict[tuple[str, str, float | None, int], list[Group]] = {}
        # Counts of blocks for each part, by domain and interval, and by interval. A block in
        # several benches or domains counts once.
        self._counts: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._all: dict[int, NDArray[np.int64]] = {}

    def add(
        self,
        chunk: Chunk,
        sizes: Floats,
        labels: Sequence[str],
        pieces: LabelledPieces,
        shares: Sequence[Floats],
        *,
        first: int,
    ) -> None:
        """Add blocks, which `Tonnage.read` has read and `Tonnage.count_all` counts.

        Parameters
        ----------
        chunk : Chunk
            Values of the n blocks.
        sizes : (n, 3) float64
            Sizes of the blocks.
        labels : sequence of str
            All labels so far.
        pieces : LabelledPieces
            The m pieces of the blocks.
        shares : sequence of (m,) float64
            For each part, the share of the block that lies in the piece and in the part. NaN counts
            as 0.
        first : int
            Number of the first block, for messages.
        """
        block, classes = pieces.block, self.tonnage.class_names
        ends, which = np.array([np.nan]), np.zeros(len(block), np.intp)
        if self.tonnage.wanted.bench is not None:
            ends, which = np.unique(pieces.bench, return_inverse=True, equal_nan=True)
        shape = len(labels), len(classes), max(len(ends), 1), self.tonnage.intervals
        place_of = pieces.label, chunk.classes[block], which.reshape(-1), chunk.step[block]
        keys = np.ravel_multi_index(place_of, shape)
        distinct, places = numbered_keys(keys, int(np.prod(shape)))
        bases = [None if end != end else end for end in ends.tolist()]
        names = [
            (labels[label], classes[kind], bases[end], step)
            for label, kind, end, step in zip(
                *(part.tolist() for part in np.unravel_index(distinct, shape)), strict=True
            )
        ]
        terms, flags = self._terms(chunk, sizes, first), flags_of(chunk)
        for part, share in enumerate(shares):
            rows = np.flatnonzero(share > 0)
            table = counts_by_key(places[rows], flags[:, block[rows]], len(names))
            sums = [
                _part_sums(each, block[rows], share[rows], places[rows], len(names))
                for each in terms
            ]
            for index, name in enumerate(names):
                if name not in self._groups:
                    self._groups[name] = [empty_groups(self.tonnage)[0] for _ in self.parts]
                group = Group(table[index], [each[index] for each in sums])
                self._groups[name][part].add(group)
            self._count(part, block[rows], pieces.label[rows], labels, chunk)

    def _terms(self, chunk: Chunk, sizes: Floats, first: int) -> list[list[Floats]]:
        """Return the exact volumes and tonnes of blocks, and for each grade its tonnes and metal.

        Each is a list of arrays whose sum is exact; a missing value is 0.
        """
        sized = np.isfinite(chunk.volume)
        lengths = [np.where(sized, length, 0.0) for length in sizes.T]
        dense = sized & np.isfinite(chunk.density)
        density = np.where(dense, chunk.density, 0.0)
        factors = [("a block size", length) for length in lengths] + [("the density", density)]
        terms = [exact_products(exact_products([lengths[0]], lengths[1]), lengths[2])]
        terms.append(exact_products(terms[0], density))
        for name, grade in zip(self.tonnage.wanted.grades, chunk.grades, strict=True):
            graded = dense & np.isfinite(grade)
            tonnes = [np.where(graded, term, 0.0) for term in terms[1]]
            value = np.where(graded, grade, 0.0)
            factors.append((name, value))
            terms += [tonnes, exact_products(tonnes, value)]
        _require_fitting(factors, first)
        return terms

    def _count(
        self, part: int, block: Places, label: Places, labels: Sequence[str], chunk: Chunk
    ) -> None:
        """Count the blocks of pieces in a part, by label and as a whole."""
        intervals, flags = self.tonnage.intervals, flags_of(chunk)
        shape = len(self.parts), self.tonnage.kinds
        block, label = np.divmod(_distinct(block * len(labels) + label), len(labels))
        by_label = counts_by_key(
            label * intervals + chunk.step[block], flags[:, block], len(labels) * intervals
        )
        for key in np.flatnonzero(by_label[:, 0]).tolist():
            name = labels[key // intervals], key % intervals
            self._counts.setdefault(name, np.zeros(shape, np.int64))[part] += by_label[key]
        block = _distinct(block)
        for step, counts in enumerate(counts_by_key(chunk.step[block], flags[:, block], intervals)):
            self._all.setdefault(step, np.zeros(shape, np.int64))[part] += counts

    def rows(self, level: str) -> tuple[DepletionRow, ...]:
        """Return the rows of a level: "rows", "domains" or "totals"."""
        merged: dict[RowKey, list[list[Group]]] = {}
        for (name, kind, bench, step), groups in self._groups.items():
            key = {"rows": RowKey(name, kind, bench), "domains": RowKey(name)}.get(level, RowKey())
            steps = merged.setdefault(key, [empty_groups(self.tonnage) for _ in self.parts])
            for part, group in enumerate(groups):
                steps[part][step].add(group)
        if not merged:
            merged[RowKey()] = [empty_groups(self.tonnage) for _ in self.parts]
        if level != "rows":
            self._count_once(merged)
        keys = keys_in_order(self.tonnage, merged)
        return tuple(
            self._row(part, key, cutoff, group)
            for key in sorted(keys, key=lambda key: self._rank.get(key.domain, 0))
            for part, steps in zip(self.parts, merged[key], strict=True)
            for cutoff, group in at_cutoffs(self.tonnage, steps)
        )

    def _count_once(self, merged: dict[RowKey, list[list[Group]]]) -> None:
        """Replace counts, so that a block in several benches, classes or domains counts once."""
        for key, parts in merged.items():
            for part, steps in enumerate(parts):
                for step, group in enumerate(steps):
                    counts = (
                        self._all.get(step)
                        if key == RowKey()
                        else self._counts.get((key.domain, step))
                    )
                    if counts is not None:
                        group.counts = counts[part]

    def _row(self, part: Part, key: RowKey, cutoff: float | None, group: Group) -> DepletionRow:
        wanted = self.tonnage.wanted
        volume, tonnes, *rest = group.sums
        factor = Fraction(*wanted.density_unit.tonnes) if wanted.density_unit else Fraction(1)
        exact = {"volume": Fraction(volume, ONE), "tonnes": Fraction(tonnes, ONE) * factor}
        amounts = tonnes_row(wanted, key, cutoff, group)
        for grade, metal in zip(amounts.grades, rest[1::2], strict=True):
            unit = wanted.units.get(grade.name)
            times = Fraction(unit.times, unit.parts) if unit else Fraction(1)
            exact[f"metal_{grade.name}"] = Fraction(metal, ONE) * factor * times
        return DepletionRow(part.name, part.period, amounts, exact)

    def notes(self) -> tuple[str, ...]:
        """Return notes on values below detection, densities and spellings of labels."""
        return tuple(tonnage_notes(self.tonnage))


def _require_fitting(factors: Iterable[tuple[str, Floats]], first: int) -> None:
    """Raise TableError for a value whose products float64 cannot hold exactly."""
    for name, values in factors:
        wrong = np.flatnonzero(~fits_exactly(values))
        if len(wrong):
            row = int(wrong[0])
            message = (
                f"{name} is {float(values[row])!r} in block {first + row}: exact sums need numbers "
                "between 2^-100 and 2^100, so correct it, or declare it as missing"
            )
            raise TableError(message)


def _distinct(numbers: Places) -> Places:
    """Return distinct numbers in ascending order; fast if they already are."""
    if (np.diff(numbers) > 0).all():
        return numbers
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _part_sums(
    terms: Sequence[Floats], block: Places, share: Floats, places: Places, count: int
) -> list[int]:
    """Return the exact sum of terms times share for each of `count` groups."""
    totals = [0] * count
    for product in exact_products([term[block] for term in terms], share):
        for group, value in enumerate(exact_sums(product, places, count)):
            totals[group] += value
    return totals


def require_balance(rows: Iterable[DepletionRow]) -> None:
    """Raise AssertionError unless mined + remaining = in situ in each domain, bench and cut-off.

    The same holds for what is mined inside and outside a design: design + overbreak = mined +
    underbreak.
    """
    sums: dict[tuple[object, ...], dict[str, Fraction]] = {}
    for row in rows:
        amounts = row.amounts
        place = amounts.domain, amounts.classification, amounts.bench, amounts.cutoff
        for name, value in row.exact.items():
            parts = sums.setdefault((*place, name), {})
            if not row.period:
                parts[row.part] = value
    for key, parts in sums.items():
        if parts[MINED] + parts[REMAINING] != parts[IN_SITU]:
            message = f"the parts of {key} do not add up"
            raise AssertionError(message)
        design = parts.get(DESIGN)
        if design is not None and design + parts[OVERBREAK] != parts[MINED] + parts[UNDERBREAK]:
            message = f"mined and design of {key} do not add up"
            raise AssertionError(message)
