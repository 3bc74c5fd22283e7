"""Label a block model of any kind of file; what is in the file besides is not touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.blockfiles import BlockFile, Destination, Floats, Progress
from geodomain.boxes import refuse_disjoint
from geodomain.errors import PointError
from geodomain.labeller import Labeller, Solid
from geodomain.summary import Labels
from geodomain.tables.columns import NewColumn
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
    """

    column: str = "domain"
    labels: Labels = field(default_factory=Labels)
    flags: bool = False
    replace: bool = False

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
    model: BlockFile,
    destination: Destination | None,
    labeller: Labeller,
    plan: ColumnPlan,
    *,
    allow_disjoint: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Label every block of a model.

    Parameters
    ----------
    model : BlockFile
        The blocks, of any kind of file.
    destination : Destination, optional
        Where they go; without one nothing is written.
    labeller : Labeller
        The solids.
    plan : ColumnPlan
        The new columns.
    allow_disjoint : bool
        Accept that no solid's box meets the blocks.
    threads : int, optional
        For reading and writing.
    progress : callable, optional
        Called with what is done and its total, or None where that is unknown.

    Returns
    -------
    Tally

    Raises
    ------
    TableError
        Where a row is malformed, a column is there already, or no solid meets the blocks; the
        last is decided when all rows are known, before the output takes its place.
    """
    tally = Tally(len(labeller.solids))

    def label(points: Floats, sizes: Floats | None) -> list[NDArray[np.int32]]:
        try:
            verdict = labeller.judge(points)
        except PointError as error:
            message = f"{model.name}, among the blocks from number {tally.rows + 1} on: {error}"
            raise PointError(message) from None
        tally.add(points, sizes, verdict)
        flags = verdict.inside.astype(np.int32) if plan.flags else ()
        return [verdict.codes, *flags]

    def before_commit() -> None:
        if not allow_disjoint:
            refuse_disjoint(labeller.solids, tally.bounds, model.name)

    model.relabel(
        destination,
        plan.columns(labeller.solids),
        label,
        replace=plan.replace,
        threads=threads,
        progress=progress,
        before_commit=before_commit,
    )
    return tally
