"""The summary of a flagging, as values, JSON and a text table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.flagging import By
from geodomain.errors import counted, in_lines
from geodomain.html.table import html_table, text_table


@dataclass(frozen=True)
class FlaggedPart:
    """One row of the summary.

    Attributes
    ----------
    name : str
        The domain, or background, unassigned, leaking, beyond.
    label : str
        What its samples are labelled with.
    samples : int
        How many, after priority.
    length : float
        Of all of them, in the unit of the file.
    """

    name: str
    label: str
    samples: int
    length: float


@dataclass(frozen=True, repr=False)
class FlagSummary:
    """Report what a flagging found; `str` is a table to read, and a notebook shows one.

    Attributes
    ----------
    rows : int
        Of the intervals as they came.
    by : {"middle", "majority", "split"}
        How they were labelled.
    parts : tuple of FlaggedPart
        The domains in their order, then what none has.
    cut, slivers : int
        Intervals that were split, and pieces that were too short to be split off.
    unusable : int
        Intervals without a place on a hole, which are unassigned.
    findings : tuple of Finding
        Why, and what else there is to see in the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    columns : tuple of str
        The new columns.
    output : str or None
        The file that was written.
    seconds : float
        How long it took, reading and writing included.
    backend, backend_reason : str
        Where points were looked up, and why there.
    warnings : tuple of str
        Everything that was warned of.
    """

    rows: int
    by: By
    parts: tuple[FlaggedPart, ...]
    cut: int
    slivers: int
    unusable: int
    findings: tuple[Finding, ...]
    dips: str
    columns: tuple[str, ...]
    output: str | None
    seconds: float
    backend: str
    backend_reason: str
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
        values = asdict(replace(self, findings=()))
        return values | {"findings": [each.as_dict() for each in self.findings]}

    def __repr__(self) -> str:
        """Say how many samples each domain has."""
        found = ", ".join(f"{part.name} {part.samples:,}" for part in self._shown())
        return f"<FlagSummary of {counted(self.rows, 'interval')}: {found}>"

    def __str__(self) -> str:
        """Lay everything out as lines to read."""
        return in_lines([*text_table(self._rows()), *self._notes()])

    def _repr_html_(self) -> str:
        """Give a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(self.output or "flagged", rows, headings=headings, notes=self._notes())

    def _shown(self) -> list[FlaggedPart]:
        """Give the parts that have something to say."""
        return [part for part in self.parts if part.samples or part.name == part.label]

    def _rows(self) -> list[list[str]]:
        """Give the cells of the table, headings first."""
        rows = [["domain", "samples", "length"]]
        for part in self._shown():
            own = part.name == part.label
            name = part.name if own else f"({part.name}) {part.label}".rstrip()
            rows.append([name, f"{part.samples:,}", f"{part.length:,.2f}"])
        return rows

    def _notes(self) -> list[str]:
        """Give the lines below the table."""
        notes = []
        if self.by == "split":
            notes.append(
                f"split at walls: {counted(self.cut, 'interval')}; "
                f"{counted(self.slivers, 'sliver')} not "
                "split off"
            )
        return [
            *notes,
            *notes_of(self.findings, self.dips),
            f"{counted(self.rows, 'interval')} by {self.by} in {self.seconds:.2f} s, "
            f"{self.backend} ({self.backend_reason})",
        ]


def parts_of(
    names: Sequence[str], rest: Sequence[str], codes: NDArray[np.intp], lengths: Floats
) -> tuple[FlaggedPart, ...]:
    """Count samples and add up their lengths, by code; sums are exact and rounded once.

    Parameters
    ----------
    names : sequence of str
        Of the domains.
    rest : sequence of str
        Labels of background, unassigned, leaking and beyond.
    codes : (n,) intp
    lengths : (n,) float64
        Of samples, NaN where not known.
    """
    others = ("background", "unassigned", "leaking", "beyond")
    pairs = [*zip(names, names, strict=True), *zip(others, rest, strict=True)]
    known = np.nan_to_num(lengths, posinf=0.0, neginf=0.0)
    parts = []
    for code, (name, label) in enumerate(pairs):
        mine = codes == code
        length = math.fsum(known[mine].tolist())
        parts.append(FlaggedPart(name, label, int(mine.sum()), length))
    return tuple(parts)
