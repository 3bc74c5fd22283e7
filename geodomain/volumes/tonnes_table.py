"""What blocks add up to, as plain values, as CSV and as a table to read; nothing is added up."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from geodomain.errors import counted, in_lines
from geodomain.html.table import html_table, text_table

_NO_DOMAIN, _NO_BENCH = "(none)", "(unknown)"


@dataclass(frozen=True)
class GradeTotal:
    """A grade over some blocks.

    Attributes
    ----------
    name : str
        The column.
    mean : float, optional
        Weighted by tonnes, over the blocks that have the grade; None where none has tonnes.
    metal : float
        Grade times tonnes: in the unit of the grade times that of tonnes, or in `unit`.
    tonnes : float
        Of the blocks that have the grade.
    missing : int
        Blocks without it.
    unit : str
        Of the metal; empty where the unit of the grade was not said.
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
        The label, empty for blocks without one.
    bench : float, optional
        The lower end; None without benches, or for blocks whose height is not known.
    cutoff : float, optional
        Only blocks with at least this grade; None for all of them.
    blocks : int
        With any part in the domain and the bench.
    volume, tonnes : float
        Volume in cubed units of the coordinates, and that times density.
    grades : tuple of GradeTotal
        In the order in which they were asked for.
    without_volume, without_density : int
        Blocks that are counted, and have no volume or no tonnes.
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
    """Report the tonnes and grade of a model; `str` is a table, and a notebook shows one.

    Attributes
    ----------
    rows : tuple of TonnesRow
        By domain, bench and cut-off; of each domain and bench the first is without a cut-off.
    domains, totals : tuple of TonnesRow
        By domain and cut-off, all benches together, and of all the blocks by cut-off.
    blocks : int
        All that were read.
    cutoff_grade : str
        The grade that cut-offs are of, if there are any.
    bench : float, optional
        The height of a bench.
    warnings : tuple of str
        Everything that was warned of.
    notes : tuple of str
        What is worth knowing: blocks of density 0, a wide spread of densities, labels that differ
        by case alone.
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

    def to_csv(self) -> str:
        r"""Return the rows as CSV, numbers to their last digit and nothing where there is none.

        The columns are domain, bench, cutoff, blocks, volume, tonnes, and of each grade the mean
        and the metal, ``mean_AU`` and ``metal_AU`` of AU, or ``metal_AU_g`` where its unit is
        known. Lines end in "\n".
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        named: list[str] = []
        for grade in self.totals[0].grades:
            named += [
                f"mean_{grade.name}",
                f"metal_{grade.name}" + f"_{grade.unit}" * bool(grade.unit),
            ]
        writer.writerow(["domain", "bench", "cutoff", "blocks", "volume", "tonnes", *named])
        writer.writerows(map(_csv_cells, self.rows))
        return text.getvalue()

    def __str__(self) -> str:
        """Lay the table out as lines to read."""
        headings, rows = self._table()
        return in_lines([*text_table([headings, *rows]), *_notes(self)])

    def __repr__(self) -> str:
        """Say how many blocks and tonnes there are."""
        whole = self.totals[0]
        return (
            f"<Tonnes of {counted(self.blocks, 'block')}: {whole.tonnes:,.6g} t "
            f"in {len({row.domain for row in self.rows})} domains>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self._table()
        notes = [*_notes(self), *(f"warning: {one}" for one in self.warnings)]
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


def _cells(
    row: TonnesRow, name: str, benched: bool, cut: bool, *, whole: bool = False
) -> list[str]:
    """Return a row as it is read: numbers rounded."""
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
    """Return a row to the last digit."""
    grades = [value for grade in row.grades for value in (grade.mean, grade.metal)]
    cells = [row.domain, row.bench, row.cutoff, row.blocks, row.volume, row.tonnes, *grades]
    return ["" if cell is None else cell for cell in cells]


def _notes(found: Tonnes) -> Iterator[str]:
    """Yield what is missing, which the numbers above leave out."""
    whole = found.totals[0]
    if whole.without_volume:
        yield f"without a volume: {counted(whole.without_volume, 'block')}, counted only"
    if whole.without_density:
        yield (
            f"without a density: {counted(whole.without_density, 'block')}, in the volume, not in "
            "tonnes"
        )
    for grade in whole.grades:
        if grade.missing:
            lost = counted(grade.missing, "block")
            yield f"without {grade.name}: {lost}, in tonnes, not in its mean"
    yield from found.notes
