"""Findings in tables of holes: codes, texts, and settings that accept or refuse findings.

A check compares a table with itself, with the other tables, or with a topography, and adds a
`Finding`: a stable code, the holes, the positions in the table, and the values. The checks are in
the modules `collars`, `stations`, `intervals`, `ground`, `drillholes` and `check`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, counted, warn

Severity = Literal["warning", "note"]
Level = Literal["error", "warning", "note"]
SHOWN = 5


class Kind(NamedTuple):
    """A kind of finding: severity, a text that follows the number of cases, and the remedy."""

    severity: Severity
    what: str
    mend: str


# All findings by code. A warning means that samples may have wrong positions, or are left out. A
# note also occurs in correct tables. `--strict` makes warnings errors, `--accept` makes them notes.
KINDS: dict[str, Kind] = {
    "collar-no-hole": Kind(
        "warning", "collars without a hole", "Fill in the id of the hole."
    ),
    "collar-no-coordinates": Kind(
        "warning", "collars without coordinates", "Fill in x, y and z."
    ),
    "collar-differs": Kind(
        "warning", "holes with two different collars", "Remove the wrong row."
    ),
    "collar-twice": Kind("note", "collars that appear twice", "Remove one of the rows."),
    "collar-far": Kind(
        "warning",
        "collars far from their neighbours",
        "Check for a lost or added digit, exchanged coordinates, or another grid.",
    ),
    "collar-zero": Kind(
        "warning",
        "collars whose coordinate is 0, which means missing in many tables",
        "Fill in the coordinate.",
    ),
    "collar-mark": Kind(
        "warning",
        "collars whose coordinate is a missing-value mark",
        "Fill in the coordinate, or declare the value as a mark with missing=.",
    ),
    "collar-off-topography": Kind(
        "warning",
        "collars above or below the topography",
        "Correct the elevation, or accept the finding for underground holes.",
    ),
    "end-above-topography": Kind(
        "warning",
        "holes whose end is above the topography",
        "Check the sign of the dips, the choice of columns, and the collar.",
    ),
    "survey-no-collar": Kind(
        "warning", "holes of the survey without a collar", "Add the collar, or correct the id."
    ),
    "station-none": Kind(
        "warning", "holes without a station", "Add a survey, or use vertical=True."
    ),
    "station-vertical": Kind(
        "note", "holes without a station, taken as vertical", "Nothing, for vertical holes."
    ),
    "station-incomplete": Kind(
        "warning",
        "stations without depth, azimuth or dip, not used",
        "Fill in the number, or remove the row.",
    ),
    "station-above": Kind(
        "warning", "stations above the collar, not used", "Correct the depth: it must be 0 or more."
    ),
    "station-differs": Kind(
        "warning", "holes with two directions at one depth", "Remove the wrong row."
    ),
    "station-turns-back": Kind(
        "warning", "holes that turn back on themselves", "Correct the sign of a dip."
    ),
    "dip-beyond": Kind(
        "warning", "stations whose dip is beyond 90 degrees", "Correct the dip."
    ),
    "angles-exchanged": Kind(
        "warning",
        "stations whose azimuth and dip look exchanged",
        "Exchange the two numbers.",
    ),
    "angles-radians": Kind(
        "warning",
        "stations with angles that seem to be radians",
        "Convert azimuths and dips to degrees.",
    ),
    "azimuth-beyond": Kind(
        "warning", "stations whose azimuth is beyond 360 degrees", "Correct the azimuth."
    ),
    "azimuth-mark": Kind(
        "warning",
        "stations whose azimuth is a missing-value mark",
        "Fill in the azimuth, or declare the value as a mark with missing=.",
    ),
    "azimuth-wrapped": Kind(
        "note",
        "stations whose azimuth is outside 0 to 360, converted",
        "Nothing, if azimuths are from -180 to 180.",
    ),
    "dip-sign": Kind(
        "warning",
        "holes that go up, unlike the others",
        "Change the sign of the dip, or accept the hole.",
    ),
    "dip-from-vertical": Kind(
        "warning",
        "holes whose dips seem to be measured from the vertical",
        "Subtract the dips from 90.",
    ),
    "hole-bend": Kind(
        "warning",
        "holes that bend more than a drill string can",
        "Correct the station, or allow more with bend=.",
    ),
    "station-order": Kind(
        "note", "holes whose stations were not in order", "Nothing: they were sorted."
    ),
    "station-twice": Kind("note", "stations that appear twice", "Remove one of the rows."),
    "station-single": Kind(
        "note", "holes with one station, which are straight", "Nothing, for straight holes."
    ),
    "station-late": Kind(
        "note",
        "holes whose first station is below the collar",
        "Nothing, if the collar has the same direction.",
    ),
    "station-deep": Kind(
        "note",
        "holes with a station below their end",
        "Nothing, for dummy stations: they bend only the last part of the hole.",
    ),
    "survey-short": Kind(
        "note",
        "holes whose unsurveyed end is longer than any distance between stations",
        "Nothing, if the hole is straight there.",
    ),
    "interval-no-collar": Kind(
        "warning", "intervals of a hole without a collar", "Add the collar, or correct the id."
    ),
    "interval-left-out": Kind(
        "warning", "intervals of a hole that is left out", "Correct the collar or survey."
    ),
    "interval-no-depth": Kind(
        "warning", "intervals without FROM or TO", "Fill in the depth."
    ),
    "interval-reversed": Kind(
        "warning", "intervals whose TO is not greater than FROM", "Correct the depths."
    ),
    "interval-above": Kind(
        "warning", "intervals that begin above the collar", "Correct FROM."
    ),
    "interval-below": Kind(
        "warning", "intervals below the end of their hole", "Correct the depth of the hole."
    ),
    "interval-past": Kind(
        "note", "intervals that run past the end of their hole", "Correct the depth of the hole."
    ),
    "interval-far-past": Kind(
        "warning",
        "intervals whose TO is far below the end of their hole",
        "Correct TO, or the depth of the hole.",
    ),
    "interval-overlap": Kind(
        "note", "intervals that overlap the interval before", "Correct FROM or TO."
    ),
    "interval-gap": Kind("note", "gaps before an interval", "Nothing, if the gap was not sampled."),
    "sample-unassigned": Kind(
        "warning",
        "samples without a domain: outside a surface's footprint, or at a gap in a wireframe",
        "Extend the surface, close the wireframe, or accept the finding.",
    ),
    "hole-no-interval": Kind("note", "holes without an interval", "Nothing, if not sampled."),
    # Only `Drillholes.check` looks for the findings below.
    "id-alike": Kind(
        "warning",
        "holes whose id differs from another one only in case, blanks, punctuation, zeros or O",
        "Use one spelling of an id in all tables.",
    ),
    "hole-copy": Kind(
        "warning",
        "holes that have the same collar, stations and end as another hole",
        "Remove one of the holes, or correct its collar.",
    ),
    "hole-twin": Kind(
        "note", "holes that run beside another hole", "Nothing, for holes twinned on purpose."
    ),
    "collar-no-end": Kind(
        "note", "collars without the depth of their hole", "Fill in the depth of the hole."
    ),
    "station-left-out": Kind(
        "warning", "stations of a hole that is left out", "Correct the collar or survey."
    ),
    "station-gap": Kind(
        "note",
        "legs between stations that are about twice as long as the others of the hole, or longer",
        "Add the missing stations, if there are any.",
    ),
    "dip-flip": Kind(
        "warning",
        "stations whose dip has another sign than at the station above",
        "Correct the sign of the dip.",
    ),
    "azimuth-jump": Kind(
        "warning",
        "stations whose azimuth jumps away and back, as beside magnetic rock",
        "Check the station: rock, casing or a steep hole may disturb a compass.",
    ),
    "interval-short": Kind(
        "note",
        "holes that go on below their last interval by more than any interval is long",
        "Nothing, if the end was not sampled.",
    ),
    "interval-twice": Kind(
        "warning",
        "intervals with the FROM and TO of another interval",
        "Remove one of the rows. If the table mixes two logs, make two tables.",
    ),
    "sample-twice": Kind(
        "warning", "samples with the id of another sample", "Correct the id, or remove the row."
    ),
    "grade-negative": Kind(
        "warning",
        "grades below 0",
        "Choose below_detection=, or declare a mark with missing=.",
    ),
    "grade-mark": Kind(
        "warning",
        "grades that are a missing-value mark",
        "Declare the mark with missing=.",
    ),
    "grade-below": Kind(
        "note",
        "grades below detection",
        "Choose their value with below_detection=.",
    ),
    "grade-text": Kind(
        "warning",
        "grades that are not a number",
        "Correct the cell, or declare it with missing=.",
    ),
}  # fmt: skip

# Warnings about holes or rows that cannot be used. `Drillholes.check` calls them errors.
UNUSED = {
    "collar-no-hole", "collar-no-coordinates", "collar-differs", "survey-no-collar",
    "station-none", "station-incomplete", "station-above", "station-differs",
    "station-turns-back", "dip-beyond", "angles-exchanged", "station-left-out",
    "interval-no-collar", "interval-left-out", "interval-no-depth", "interval-reversed",
    "interval-above", "interval-below",
}  # fmt: skip

# Why a hole is left out, by the code of the finding.
REASONS = {
    "collar-no-coordinates": "its collar has no coordinates",
    "collar-differs": "it has two different collars",
    "station-none": "it has no station",
    "station-differs": "it has two directions at the same depth",
    "station-turns-back": "two of its stations point in opposite directions",
    "dip-beyond": "a dip is beyond 90 degrees",
    "angles-exchanged": "its azimuth and dip seem to be exchanged",
}

# Singular forms of the words in these texts.
_OF_ONE = {
    "appear": "appears", "are": "is", "begin": "begins", "bend": "bends", "go": "goes",
    "overlap": "overlaps", "run": "runs", "seem": "seems", "their": "its", "themselves": "itself",
    "turn": "turns",
}  # fmt: skip


class Case(NamedTuple):
    """A hole or a table row that has a finding, with its position and value."""

    hole: str
    where: str
    value: str

    def __str__(self) -> str:
        """Return position and value, such as "line 12: 370" or "DH1 at 30: 95"."""
        lone = self.where.startswith(("line ", "row "))
        place = self.where if lone else f"{self.hole} {self.where}".strip()
        return f"{place}: {self.value}" if self.value else place


@dataclass(frozen=True, eq=False)
class Finding:
    """A problem or peculiarity in a table of holes, with the holes and rows that have it.

    Attributes
    ----------
    code : str
        The short and stable name of the finding, one of `KINDS`.
    holes : tuple of str
        The hole of each case, "" for a row without a hole.
    where : callable
        Returns the position of a case in its table, from the index of the case.
    value : callable
        Returns the value of a case, from the index of the case.
    accepted : bool
        Whether the caller has accepted the finding.
    table : str
        The table of the cases, such as "survey".
    rows, others : (n,) intp, optional
        The row of each case in the table, and the row that it is compared with; -1 for no row.
    detail : callable, optional
        Returns the value of a case in the table of `HoleCheck`, if it differs from `value`.
    """

    code: str
    holes: Sequence[str]
    where: Callable[[int], str]
    value: Callable[[int], str]
    accepted: bool = False
    table: str = "collar"
    rows: NDArray[np.intp] | None = None
    others: NDArray[np.intp] | None = None
    detail: Callable[[int], str] | None = None

    @property
    def count(self) -> int:
        """The number of cases."""
        return len(self.holes)

    @property
    def what(self) -> str:
        """The finding as text that follows a number of cases, such as "collars without a hole"."""
        return KINDS[self.code].what

    @property
    def mend(self) -> str:
        """What the user can do about the finding."""
        return KINDS[self.code].mend

    @property
    def severity(self) -> Severity:
        """Whether the finding is a warning or a note; an accepted finding is a note."""
        return "note" if self.accepted else KINDS[self.code].severity

    @property
    def bad(self) -> bool:
        """Whether the finding is a warning, which ``strict`` refuses."""
        return self.severity == "warning"

    @property
    def level(self) -> Level:
        """The severity for `Drillholes.check`: error if the holes or rows cannot be used."""
        return "error" if self.bad and self.code in UNUSED else self.severity

    @property
    def first(self) -> tuple[str, ...]:
        """The texts of the first five cases, without repetitions."""
        return tuple(islice(dict.fromkeys(str(case) for case in self._first_cases()), SHOWN))

    def _first_cases(self) -> Iterator[Case]:
        return islice(self.cases(), 1 << 12)

    def cases(self) -> Iterator[Case]:
        """Yield all cases."""
        for number, hole in enumerate(self.holes):
            yield Case(hole, self.where(number), self.value(number))

    def only(self, which: Sequence[int], *, accepted: bool) -> Finding:
        """Return the finding with only the cases at the indices `which`."""
        detail = self.detail
        return Finding(
            self.code,
            [self.holes[number] for number in which],
            lambda number: self.where(which[number]),
            lambda number: self.value(which[number]),
            accepted,
            self.table,
            None if self.rows is None else self.rows[which],
            None if self.others is None else self.others[which],
            None if detail is None else lambda number: detail(which[number]),
        )

    def __str__(self) -> str:
        """Return the finding as one line, with its code."""
        first = self.first
        more = ", .." if self.count > len(first) else ""
        noun, _, rest = self.what.partition(" ")
        if self.count == 1:
            noun = noun.removesuffix("s")
            rest = " ".join(_OF_ONE.get(word, word) for word in rest.split(" "))
        passed = ", accepted" if self.accepted else ""
        return f"{self.count:,} {noun} {rest} ({', '.join(first)}{more}) [{self.code}{passed}]"

    def as_dict(self) -> dict[str, object]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "accepted": self.accepted,
            "what": self.what,
            "count": self.count,
            "first": list(self.first),
            "holes": list(dict.fromkeys(filter(None, self.holes))),
            "mend": self.mend,
        }


def note(
    findings: list[Finding],
    code: str,
    holes: Iterable[str],
    where: Callable[[int], str] | Sequence[str] = (),
    value: Callable[[int], str] | Sequence[str] = (),
    *,
    table: str = "collar",
    rows: NDArray[np.intp] | None = None,
    others: NDArray[np.intp] | None = None,
    detail: Callable[[int], str] | None = None,
) -> None:
    """Add a finding to a list, unless it has no case."""
    each = list(holes)
    if each:
        places = _getter(where), _getter(value)
        findings.append(Finding(code, each, *places, False, table, rows, others, detail))


def _getter(texts: Callable[[int], str] | Sequence[str]) -> Callable[[int], str]:
    """Return a function that takes the index of a case and returns its text.

    `texts` is such a function, or a sequence of texts. If the sequence is empty, every text is "".
    """
    if callable(texts):
        return texts
    return (lambda number: texts[number]) if texts else (lambda _: "")


# Acceptance and refusal


def require_codes(accept: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Split each FINDING or FINDING:HOLE into a code, and a hole or None.

    Raises
    ------
    ValueError
        For an unknown code.
    """
    pairs = []
    for text in [accept] if isinstance(accept, str) else accept:
        code, colon, hole = text.partition(":")
        if code not in KINDS:
            message = f"there is no finding {code!r} to accept; findings are {', '.join(KINDS)}"
            raise ValueError(message)
        pairs.append((code, hole if colon else None))
    return tuple(pairs)


def accepted(
    findings: Iterable[Finding],
    passed: Iterable[tuple[str, str | None]],
    names: Sequence[str] | None = None,
) -> list[Finding]:
    """Return the findings, with accepted warnings turned into notes.

    If only some holes of a warning are accepted, the finding is split into a warning and a note.
    If `names`, the ids of all holes, is given, warn about an accepted hole that does not exist.
    """
    findings = list(findings)
    by_code: dict[str, set[str | None]] = {}
    for code, hole in passed:
        by_code.setdefault(code, set()).add(hole)
    if names is not None:
        existing = {None, *names, *(hole for each in findings for hole in each.holes)}
        strange = [(code, hole) for code, holes in by_code.items() for hole in holes - existing]
        for code, hole in strange:
            meant = id_proposals([hole or ""], names)[0]
            wanted = f"{code}:{hole}"
            warn(
                f"accept={wanted!r} names a hole that does not exist{': ' if meant else ''}{meant}"
            )
    out = []
    for each in findings:
        holes = by_code.get(each.code, set())
        if not holes or not each.bad:
            out.append(each)
            continue
        mine = [None in holes or hole in holes for hole in each.holes]
        for state in (False, True):
            which = [number for number, is_mine in enumerate(mine) if is_mine == state]
            if which:
                out.append(each.only(which, accepted=state))
    return out


def refuse_bad(findings: Iterable[Finding], tables: str) -> None:
    """Raise TableError if any of the findings is a warning."""
    bad = [each for each in findings if each.bad]
    if bad:
        more = f"; and {counted(len(bad) - 3, 'more warning')}" if len(bad) > 3 else ""
        message = (
            f"{tables}: {'; '.join(map(str, bad[:3]))}{more}; correct the tables, leave out "
            f"strict=True, or accept a finding with accept={bad[0].code!r}"
        )
        raise TableError(message)


def sentences(findings: Iterable[Finding]) -> list[str]:
    """Return the text and remedy of each warning among findings."""
    return [f"{each}. {each.mend}" for each in findings if each.bad]


def notes_of(findings: Iterable[Finding], dips: str) -> list[str]:
    """Return the lines below a summary: the sign of dips, and the notes among the findings.

    Warnings are not included; see `sentences`.
    """
    lines = [f"dips: {dips}"] if dips else []
    return lines + [f"note: {each}" for each in findings if not each.bad]


# Ids


def id_proposals(strange: Sequence[str], names: Iterable[str]) -> list[str]:
    """Propose, for each unknown id, the known id that differs only in case, zeros or blanks.

    A proposal is a question such as "is it 'DH1'?". It is "" if there is no such id, or more than
    one.
    """
    if not strange:
        return []
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(id_skeleton(name), []).append(name)
    proposals = []
    for text in strange:
        same = [name for name in alike.get(id_skeleton(text), ()) if name != text]
        proposals.append(f"is it {same[0]!r}?" if len(same) == 1 else "")
    return proposals


def id_skeleton(name: str) -> str:
    """Return an id without case, blanks, punctuation and leading zeros, to compare spellings.

    Punctuation between two digits becomes a hyphen, because 1-12 and 11-2 are two holes. The letter
    O after a digit becomes a zero.
    """
    text = re.sub(r"\.0+$", "", name.strip()).casefold()
    text = re.sub(r"(?<=\d)o", "0", text)
    text = re.sub(r"(?<=\d)[\s_\-./'\"]+(?=\d)", "-", text)
    text = re.sub(r"(?<!\d)[\s_\-./'\"]+|[\s_\-./'\"]+(?!\d)", "", text)
    return re.sub(r"(?<!\d)0+(?=\d)", "", text)
