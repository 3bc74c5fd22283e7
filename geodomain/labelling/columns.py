"""The columns that a labelling adds, and the meaning of their codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from geodomain.domains.order import DomainOrLayer
from geodomain.errors import DomainError
from geodomain.io.csv.new_columns import NewColumn
from geodomain.labelling.cells import Labels
from geodomain.labelling.shares.settings import ShareSettings


@dataclass(frozen=True)
class ColumnPlan:
    """The new columns of a table, and what their codes mean.

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
    shares : ShareSettings
        Which shares of blocks are written, a column for each domain.
    """

    column: str = "domain"
    labels: Labels = field(default_factory=Labels)
    flags: bool = False
    replace: bool = False
    codes: bool = False
    uncertain: bool = False
    shares: ShareSettings = field(default_factory=ShareSettings)

    def columns(self, targets: Sequence[DomainOrLayer]) -> list[NewColumn]:
        """Return the new columns, in order."""
        labels = self.labels
        rest = (labels.background, labels.unassigned, labels.leaky, labels.unassigned)
        names = tuple(target.name for target in targets)
        cells = tuple(map(_code, targets)) if self.codes else names
        domain = NewColumn(self.column, cells + rest, default=labels.background, numeric=self.codes)
        flags = [f"in_{name}".lower() for name in (names if self.flags else ())]
        flags += ["uncertain"] if self.uncertain else []
        named = [NewColumn(flag, ("0", "1"), default="0", numeric=True) for flag in flags]
        shares = [
            NewColumn(self.shares.column(name), default="0", numeric=True, measured=True)
            for name in (names if self.shares.proportions is not None else ())
        ]
        return [domain, *named, *shares]


def _code(target: DomainOrLayer) -> str:
    """Return a domain's code as a cell."""
    if target.code is None:
        message = f"{target.name} has no code: give it one, 'code = 1', or write names"
        raise DomainError(message)
    return str(target.code)
