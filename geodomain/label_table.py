"""Label a block model of any kind of file; what is in the file besides is not touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.blockfiles import BlockFile, Destination, Floats, Progress
from geodomain.boxes import refuse_disjoint
from geodomain.conditions import Column
from geodomain.errors import DomainError, PointError
from geodomain.labeller import Labeller
from geodomain.labels import Labels
from geodomain.ordering import Target, allowed_rows, condition_columns
from geodomain.tables.columns import NewColumn
from geodomain.tables.families import find_column
from geodomain.tables.rotation import require_constants
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
    """

    column: str = "domain"
    labels: Labels = field(default_factory=Labels)
    flags: bool = False
    replace: bool = False
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
    tally = Tally(labeller.targets)
    asked = condition_columns(labeller.domains, model.columns, model.name)
    kept = _kept_column(labeller, model, plan)

    def label(
        points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[NDArray[np.int32]]:
        require_constants(model.constants, column, model.columns, model.name, tally.rows)
        allowed = allowed_rows(labeller.domains, lambda named: column(asked[named]))
        try:
            labelled = None if kept is None else column(kept).present()
            verdict = labeller.judge(points, allowed, labelled)
        except PointError as error:
            message = f"{model.name}, among the blocks from number {tally.rows + 1} on: {error}"
            raise PointError(message) from None
        tally.add(points, sizes, verdict, allowed)
        flags = verdict.table("inside").astype(np.int32) if plan.flags else ()
        doubts = [verdict.uncertain.astype(np.int32)] if plan.uncertain else []
        return [verdict.codes, *flags, *doubts]

    def before_commit() -> None:
        if not allow_disjoint:
            refuse_disjoint(labeller.targets, tally.bounds, model.name)

    model.relabel(
        destination,
        plan.columns(labeller.targets),
        label,
        also=sorted({*asked.values(), *model.constants, *([] if kept is None else [kept])}),
        replace=plan.replace,
        threads=threads,
        progress=progress,
        before_commit=before_commit,
    )
    return tally


def _kept_column(labeller: Labeller, model: BlockFile, plan: ColumnPlan) -> int | None:
    """Find the column whose labels some domains keep, where it is rewritten."""
    if not plan.replace or not any(domain.keep for domain in labeller.domains):
        return None
    return find_column(model.columns, plan.column, model.name)
