"""The result of `validate`: blocks against samples by domain, as values, tables and charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from geodomain.errors import counted, in_lines, shown
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.statistics.charts import (
    Curve,
    DomainPage,
    SwathPanel,
    validation_figures,
)
from geodomain.statistics.results import figure, named
from geodomain.statistics.settings import AXES

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_SMOOTHER = (
    "blocks are smoother than samples, because each averages over its volume: their means should "
    "agree, while blocks have a smaller CV and less extreme quantiles"
)


@dataclass(frozen=True)
class ValidationRow:
    """Blocks against samples in one domain.

    Attributes
    ----------
    domain : str
        The label; empty for rows without a label. In `Validation.total`, it is ``"(all)"``.
    weights : {"naive", "nearest", "cells"}
        The weights of the samples in `sample_mean`.
    sample_rows, block_rows : int
        Number of rows in the domain: the sum of the next four numbers.
    samples, blocks : int
        Number of rows that are compared.
    samples_without_grade, blocks_without_grade : int
        Number of rows without the grade.
    samples_without_weight, blocks_without_weight : int
        Of the others, number of rows without a weight, such as a length or a volume.
    samples_without_place, blocks_without_place : int
        Of these, number of rows without coordinates.
    sample_weight, block_weight : float
        Total weight of the rows that are compared, before declustering.
    naive_mean : float, optional
        Mean of the samples with their own weights, such as lengths. Means are None without rows.
    sample_mean : float, optional
        Mean of the samples, declustered.
    block_mean : float, optional
        Mean of the blocks.
    difference : float, optional
        `block_mean` minus `sample_mean`, in percent of `sample_mean`; None unless both are known
        and `sample_mean` is above 0.
    sample_cv, block_cv : float, optional
        Coefficients of variation, with the weights of `sample_mean` and `block_mean`.
    samples_at_zero, blocks_at_zero : int
        Number of values that are 0 or less, which have no place on a log axis.
    cell_x, cell_y, cell_z : float, optional
        Size of the cells of declustering.
    """

    domain: str
    weights: str
    sample_rows: int = 0
    samples: int = 0
    samples_without_grade: int = 0
    samples_without_weight: int = 0
    samples_without_place: int = 0
    sample_weight: float = 0.0
    block_rows: int = 0
    blocks: int = 0
    blocks_without_grade: int = 0
    blocks_without_weight: int = 0
    blocks_without_place: int = 0
    block_weight: float = 0.0
    naive_mean: float | None = None
    sample_mean: float | None = None
    block_mean: float | None = None
    difference: float | None = None
    sample_cv: float | None = None
    block_cv: float | None = None
    samples_at_zero: int = 0
    blocks_at_zero: int = 0
    cell_x: float | None = None
    cell_y: float | None = None
    cell_z: float | None = None


@dataclass(frozen=True)
class QuantilePair:
    """Quantiles of samples and blocks at one probability.

    Attributes
    ----------
    domain : str
        The label, or ``"(all)"``.
    probability : float
        Share of the weight, 0 to 1.
    sample, block : float
        The first value, in ascending order, whose cumulative weight reaches the share.
    """

    domain: str
    probability: float
    sample: float
    block: float


@dataclass(frozen=True)
class Swath:
    """Samples and blocks in one slice of a domain.

    Attributes
    ----------
    domain : str
        The label, or ``"(all)"``.
    axis : {"x", "y", "z"}
        The axis across the slice.
    begin, end : float
        The faces of the slice; it includes the first and excludes the second.
    samples, blocks : int
        Number of samples and of blocks whose centres are in the slice.
    sample_weight, block_weight : float
        Their total weight, before declustering: length and volume, for example.
    naive_mean, sample_mean, block_mean : float, optional
        Means, as in `ValidationRow`; None without a weight.
    """

    domain: str
    axis: str
    begin: float
    end: float
    samples: int
    sample_weight: float
    blocks: int
    block_weight: float
    naive_mean: float | None
    sample_mean: float | None
    block_mean: float | None


@dataclass(frozen=True, repr=False)
class Validation:
    """Blocks against samples by domain; `str` gives a table, and `draw` makes charts.

    Attributes
    ----------
    rows : tuple of ValidationRow
        One row for each domain of the blocks or the samples. Empty without label columns.
    total : ValidationRow
        All domains together, as one population.
    quantiles : tuple of QuantilePair
        Quantiles of each domain that has samples and blocks, and of all domains together.
    swaths : tuple of Swath
        The slices that have samples or blocks, by domain and axis.
    grade, sample_grade : str
        Columns of the grade of blocks and of samples.
    block_weight, sample_weight : str
        What rows are weighted by: "volume", "TO - FROM", the name of a column, or "" if each row
        counts alike.
    frame : str
        The rotation of the axes of the slices, such as "rotation='z=30'"; empty for world axes.
    warnings : tuple of str
        The warnings that were issued.
    notes : tuple of str
        Other observations: domains of blocks without samples, labels that differ only in case.
    """

    rows: tuple[ValidationRow, ...]
    total: ValidationRow
    quantiles: tuple[QuantilePair, ...]
    swaths: tuple[Swath, ...]
    grade: str
    sample_grade: str
    block_weight: str = ""
    sample_weight: str = ""
    frame: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows` and then `total` as a DataFrame, with a column for each attribute."""
        return records_frame(ValidationRow, [*self.rows, self.total])

    def quantiles_to_pandas(self) -> pandas.DataFrame:
        """Return `quantiles` as a DataFrame, with a column for each attribute."""
        return records_frame(QuantilePair, self.quantiles)

    def swaths_to_pandas(self) -> pandas.DataFrame:
        """Return `swaths` as a DataFrame, with a column for each attribute."""
        return records_frame(Swath, self.swaths)

    def draw(self, domain: str | None = None) -> Figure:
        """Draw the probability plot, the quantile-quantile plot and the swaths with matplotlib.

        Parameters
        ----------
        domain : str, optional
            A label, or ``"(all)"``; by default, all domains below each other.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            If the domain has no samples or no blocks.
        ModuleNotFoundError
            If matplotlib is not installed.
        """
        pages = [page for key, page in self.pages() if domain is None or key == domain]
        if domain is not None and not pages:
            message = f"{shown(domain)} is not a domain with samples and blocks"
            raise ValueError(message)
        (drawn,) = validation_figures([pages])
        return drawn

    def __str__(self) -> str:
        """Return the means by domain as a text table, then counts and notes."""
        return in_lines([self._title(), *text_table(self._cells()), *self._notes()])

    def __repr__(self) -> str:
        """Return the numbers of blocks and samples as text."""
        blocks, samples = (
            counted(number, what)
            for number, what in ((self.total.blocks, "block"), (self.total.samples, "sample"))
        )
        return f"<Validation of {self.grade}: {blocks} against {samples}>"

    def _repr_html_(self) -> str:
        """Return the means by domain as a table for a notebook."""
        headings, *cells = self._cells()
        notes = [*self._notes(), *(f"warning: {text}" for text in self.warnings)]
        return html_table(self._title(), cells, headings=headings, notes=notes)

    def _title(self) -> str:
        """Return the heading of the table: the grades, and what rows are weighted by."""
        sides = (
            (self.grade, "blocks", self.block_weight),
            (self.sample_grade, "samples", self.sample_weight),
        )
        return " against ".join(
            f"{grade} of {what}{f' (by {weight})' if weight else ''}"
            for grade, what, weight in sides
        )

    def _cells(self) -> list[list[str]]:
        """Return the cells of the printed table; the first row holds the headings."""
        every = [*self.rows, self.total]
        both = any(row.weights != "naive" for row in every)
        cells = [[
            "domain", "samples", "blocks", "naive mean", *["declustered"] * both, "block mean",
            "difference", "sample CV", "block CV",
        ]]  # fmt: skip
        for row in every:
            change = "-" if row.difference is None else f"{row.difference:+.1f} %"
            declustered = row.sample_mean if row.weights != "naive" else None
            cells.append([
                named(row.domain), f"{row.samples:,}", f"{row.blocks:,}", figure(row.naive_mean),
                *[figure(declustered)] * both, figure(row.block_mean), change,
                figure(row.sample_cv, 3), figure(row.block_cv, 3),
            ])  # fmt: skip
        return cells

    def _notes(self) -> list[str]:
        """Return the lines below the table: counts, and how to read it."""
        lines = [
            _sum_of_rows("samples", self.sample_grade, self.total, "sample"),
            _sum_of_rows("blocks", self.grade, self.total, "block"),
        ]
        zeros = [
            counted(number, what)
            for number, what in (
                (self.total.samples_at_zero, "sample"),
                (self.total.blocks_at_zero, "block"),
            )
            if number
        ]
        if zeros:
            lines.append(f"at 0 or below, and so not on a log axis: {' and '.join(zeros)}")
        if self.frame:
            lines.append(f"slices are along the axes of the model, with {self.frame}")
        return [*lines, _SMOOTHER, *self.notes]

    def pages(self) -> Iterator[tuple[str, DomainPage]]:
        """Yield the name and the charts of each domain with samples and blocks, and of all."""
        every = [*self.rows, self.total] if len(self.rows) != 1 else [*self.rows]
        for row in every:
            if not row.samples or not row.blocks:
                continue
            pairs = [each for each in self.quantiles if each.domain == row.domain]
            shares = [each.probability for each in pairs]
            facts = [f"{counted(row.samples, 'sample')}, {counted(row.blocks, 'block')}"]
            if row.difference is not None:
                facts.append(f"difference of means {row.difference:+.1f} %")
            yield (
                row.domain,
                DomainPage(
                    title="all domains" if row is self.total else named(row.domain),
                    subtitle="; ".join(facts),
                    grade=self.grade,
                    samples="samples" + {"naive": ""}.get(row.weights, ", declustered"),
                    sample_curve=Curve(
                        shares,
                        [each.sample for each in pairs],
                        row.sample_mean,
                        row.samples_at_zero,
                    ),
                    block_curve=Curve(
                        shares, [each.block for each in pairs], row.block_mean, row.blocks_at_zero
                    ),
                    swaths=self.panels(row.domain),
                ),
            )

    def panels(self, domain: str) -> list[SwathPanel]:
        """Return the swaths of a domain as they are drawn."""
        rows = [row for row in (*self.rows, self.total) if row.domain == domain]
        axes = {each.axis for each in self.swaths if each.domain == domain}
        return [self._panel(row, axis) for row in rows for axis in AXES if axis in axes]

    def _panel(self, row: ValidationRow, axis: str) -> SwathPanel:
        """Return a swath of a domain as it is drawn."""
        slices = [each for each in self.swaths if (each.domain, each.axis) == (row.domain, axis)]
        return SwathPanel(
            axis=f"{'model ' if self.frame else ''}{axis}",
            edges=[(each.begin, each.end) for each in slices],
            naive=[] if row.weights == "naive" else [each.naive_mean for each in slices],
            samples=[each.sample_mean for each in slices],
            blocks=[each.block_mean for each in slices],
            counts=[each.samples for each in slices],
            weights=[each.block_weight for each in slices],
            weight=self.block_weight or "number of blocks",
        )


def _sum_of_rows(what: str, grade: str, total: ValidationRow, side: str) -> str:
    """Return how many rows were read, and how many of them are compared and left out."""
    parts = {
        f"{what}": "compared",
        f"{what}_without_grade": f"without {grade}",
        f"{what}_without_weight": "without a weight",
        f"{what}_without_place": "without coordinates",
    }
    counts = ((getattr(total, name), text) for name, text in parts.items())
    listed = ", ".join(f"{number:,} {text}" for number, text in counts if number)
    rows = counted(getattr(total, f"{side}_rows"), "row")
    return f"{what}: {rows}" + (f": {listed}" if listed else "")
