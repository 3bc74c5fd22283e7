"""Label a block-model table from a stream to a stream, its text untouched but for new columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.boxes import refuse_disjoint
from geodomain.conditions import Column
from geodomain.errors import DomainError, PointError
from geodomain.labeller import Labeller
from geodomain.labels import Labels
from geodomain.ordering import Target, allowed_rows
from geodomain.tables.columns import NewColumn, plan_splice
from geodomain.tables.families import find_column
from geodomain.tables.layout import TableLayout
from geodomain.tables.pipeline import ByteSource, ByteTarget
from geodomain.tables.stream import StreamSummary, relabel
from geodomain.tally import Tally


@dataclass(frozen=True)
class ColumnPlan:
    """Which columns a table gets, and what they say.

    Attributes
    ----------
    column : str
        Name of the domain column.
    labels : Labels
        What blocks are labelled with that no solid surely has.
    flags : bool
        Add a column of 0 and 1 for each domain, before priority; 0 where there is no sure answer.
    codes : bool
        Write the domains' codes, not their names; the labels are to be codes too.
    uncertain : bool
        Add a column of 0 and 1: whether rounding may have decided, which only winding numbers
        of open solids allow.
    replace : bool
        Rewrite the domain column where it stands.
    encoding : str
        Of the new cells.
    """

    column: str = "domain"
    labels: Labels = field(default_factory=Labels)
    flags: bool = False
    replace: bool = False
    encoding: str = "utf-8"
    codes: bool = False
    uncertain: bool = False

    def columns(self, targets: Sequence[Target]) -> list[NewColumn]:
        """Give the new columns, in order."""
        labels = self.labels
        rest = (labels.background, labels.unassigned, labels.leaky, labels.unassigned)
        names = tuple(target.name for target in targets)
        cells = tuple(map(_code, targets)) if self.codes else names
        domain = NewColumn(self.column, cells + rest, default=labels.background, numeric=self.codes)
        flags = [f"in_{name}".lower() for name in (names if self.flags else ())]
        flags += ["uncertain"] if self.uncertain else []
        return [domain, *(NewColumn(f, ("0", "1"), default="0", numeric=True) for f in flags)]


def _code(target: Target) -> str:
    """Give a domain's code as a cell."""
    if target.code is None:
        message = f"{target.name} has no code: give it one, 'code = 1', or write names"
        raise DomainError(message)
    return str(target.code)


def label_table(
    source: ByteSource,
    target: ByteTarget | None,
    layout: TableLayout,
    labeller: Labeller,
    plan: ColumnPlan,
    *,
    name: str = "table",
    allow_disjoint: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> tuple[StreamSummary, Tally]:
    """Label every row of a table.

    Parameters
    ----------
    source, target : binary file
        From its first byte; without a target nothing is written.
    layout : TableLayout
        What the head of the table means.
    labeller : Labeller
        The solids.
    plan : ColumnPlan
        The new columns.
    name : str
        What error messages call the table.
    allow_disjoint : bool
        Accept that no solid's box meets the blocks.
    threads : int, optional
        For reading and writing.
    progress : callable, optional
        Called with the bytes done and their total, or None where that is unknown.

    Returns
    -------
    StreamSummary, Tally

    Raises
    ------
    TableError
        Where a row is malformed, a column is there already, or no solid meets the blocks; the
        last is decided when all rows are known, before the target is committed.
    """
    tally = Tally(labeller.targets)
    columns = plan.columns(labeller.targets)
    asked = _condition_columns(labeller, layout, name)
    splice = plan_splice(layout, columns, replace=plan.replace, encoding=plan.encoding, name=name)
    kept = splice.replace if any(domain.keep for domain in labeller.domains) else None

    def label(
        points: NDArray[np.float64],
        sizes: NDArray[np.float64] | None,
        column: Callable[[int], Column],
    ) -> list[NDArray[np.int32]]:
        allowed = allowed_rows(labeller.domains, lambda named: column(asked[named]))
        try:
            labelled = None if kept is None else column(kept).present()
            verdict = labeller.judge(points, allowed, labelled)
        except PointError as error:
            message = f"{name}, among the blocks from number {tally.rows + 1} on: {error}"
            raise PointError(message) from None
        tally.add(points, sizes, verdict)
        flags = verdict.table("inside").astype(np.int32) if plan.flags else ()
        doubts = [verdict.uncertain.astype(np.int32)] if plan.uncertain else []
        return [verdict.codes, *flags, *doubts]

    def before_commit() -> None:
        if not allow_disjoint:
            refuse_disjoint(labeller.targets, tally.bounds, name)

    stream = relabel(
        source,
        target,
        layout,
        splice,
        label,
        also=sorted({*asked.values(), *([] if kept is None else [kept])}),
        threads=threads,
        progress=progress,
        before_commit=before_commit,
    )
    return stream, tally


def _condition_columns(labeller: Labeller, layout: TableLayout, table: str) -> dict[str, int]:
    """Find the columns that conditions are about."""
    named = {one.column for conditions in labeller.domains.conditions for one in conditions}
    return {one: find_column(layout.names, one, table) for one in sorted(named)}
