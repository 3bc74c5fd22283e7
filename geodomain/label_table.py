"""Label a block-model table from a stream to a stream, its text untouched but for new columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.boxes import refuse_disjoint
from geodomain.labeller import Labeller, Solid
from geodomain.summary import Labels
from geodomain.tables.columns import NewColumn, plan_splice
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
        Add a column of 0 and 1 for each solid, before priority; 0 where there is no sure answer.
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

    def columns(self, solids: Sequence[Solid]) -> list[NewColumn]:
        """Give the new columns, in order."""
        rest = (self.labels.background, self.labels.unassigned, self.labels.leaky)
        names = tuple(solid.name for solid in solids)
        domain = NewColumn(self.column, names + rest, default=self.labels.background)
        flags = [
            NewColumn(f"in_{name}".lower(), ("0", "1"), default="0", numeric=True)
            for name in (names if self.flags else ())
        ]
        return [domain, *flags]


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
    tally = Tally(len(labeller.solids))
    columns = plan.columns(labeller.solids)
    splice = plan_splice(layout, columns, replace=plan.replace, encoding=plan.encoding, name=name)

    def label(
        points: NDArray[np.float64], sizes: NDArray[np.float64] | None
    ) -> list[NDArray[np.int32]]:
        verdict = labeller.judge(points)
        tally.add(points, sizes, verdict)
        flags = verdict.inside.astype(np.int32) if plan.flags else ()
        return [verdict.codes, *flags]

    def before_commit() -> None:
        if not allow_disjoint:
            refuse_disjoint(labeller.solids, tally.bounds, name)

    stream = relabel(
        source,
        target,
        layout,
        splice,
        label,
        threads=threads,
        progress=progress,
        before_commit=before_commit,
    )
    return stream, tally
