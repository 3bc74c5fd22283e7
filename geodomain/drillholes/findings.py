"""Findings in tables of holes: their codes and words, and how they are told, passed and refused.

A check compares a table with itself, with the other tables, or with a topography, and adds a
`Finding`: a stable code, the holes concerned, where in the table, and the value. The checks stand
beside what they check: collars, stations, intervals, and the ground above them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from geodomain.errors import TableError, warn

Severity = Literal["warning", "note"]
SHOWN = 5


class Kind(NamedTuple):
    """A kind of finding: what it says of several, and how to mend it."""

    severity: Severity
    what: str
    mend: str


# Every finding by its code. A warning may put samples in the wrong place, or leaves them out; a
# note is a fact that honest tables may have. `--strict` refuses warnings, `--accept` passes them.
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
    "collar-twice": Kind("note", "collars that are there twice", "Remove one of the rows."),
    "collar-far": Kind(
        "warning",
        "collars far from their neighbours",
        "Look for a lost or added digit, exchanged coordinates, or another grid.",
    ),
    "collar-zero": Kind(
        "warning",
        "collars whose coordinate is 0, which stands for a missing value in many tables",
        "Fill in the coordinate.",
    ),
    "collar-mark": Kind(
        "warning",
        "collars whose coordinate is a mark of a missing value",
        "Fill in the coordinate, or declare the mark with missing=.",
    ),
    "collar-off-topography": Kind(
        "warning",
        "collars that are not at the topography",
        "Correct the elevation; collars of underground holes can be accepted.",
    ),
    "end-above-topography": Kind(
        "warning",
        "holes whose end is above the topography",
        "Look at the sign of the dips, at exchanged columns, and at the collar.",
    ),
    "survey-no-collar": Kind(
        "warning", "holes of the survey without a collar", "Add the collar, or correct the id."
    ),
    "station-none": Kind(
        "warning", "holes without a station", "Add a survey, or take them as vertical."
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
        "warning", "stations above the collar, not used", "Depths are 0 or more: correct them."
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
        "stations whose azimuth is a mark of a missing value",
        "Fill in the azimuth, or declare the mark with missing=.",
    ),
    "azimuth-wrapped": Kind(
        "note",
        "stations whose azimuth is outside 0 to 360, wrapped",
        "Nothing, where azimuths are from -180 to 180.",
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
    "station-twice": Kind("note", "stations that are there twice", "Remove one of the rows."),
    "station-single": Kind(
        "note", "holes with one station, which are straight", "Nothing, for straight holes."
    ),
    "station-late": Kind(
        "note",
        "holes whose first station is below the collar",
        "Nothing, where its direction is that of the collar.",
    ),
    "station-deep": Kind(
        "note",
        "holes with a station below their end, which bends the last leg only",
        "Nothing, for dummy stations.",
    ),
    "survey-short": Kind(
        "note",
        "holes that go on straight for longer than between any two of their stations",
        "Nothing, where the hole is straight there.",
    ),
    "interval-no-collar": Kind(
        "warning", "intervals of a hole without a collar", "Add the collar, or correct the id."
    ),
    "interval-left-out": Kind(
        "warning", "intervals of a hole that is left out", "Mend the collar or survey."
    ),
    "interval-no-depth": Kind(
        "warning", "intervals without FROM or TO", "Fill in the depth."
    ),
    "interval-reversed": Kind(
        "warning", "intervals whose TO is not below FROM", "Correct the depths."
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
        "note", "intervals that overlap the one before", "Correct FROM or TO."
    ),
    "interval-gap": Kind("note", "gaps before an interval", "Nothing, where none was sampled."),
    "sample-unassigned": Kind(
        "warning",
        "samples without a domain: beyond a surface, or where an open wireframe gives no answer",
        "Extend the surface, close the wireframe, or accept them.",
    ),
    "hole-no-interval": Kind("note", "holes without an interval", "Nothing, if not sampled."),
}  # fmt: skip

# Words that follow the number of what they are about.
_OF_ONE = {
    "are": "is", "begin": "begins", "bend": "bends", "go": "goes", "overlap": "overlaps",
    "run": "runs", "seem": "seems", "their": "its", "themselves": "itself", "turn": "turns",
}  # fmt: skip


class Case(NamedTuple):
    """One hole or row of a finding."""

    hole: str
    where: str
    value: str

    def __str__(self) -> str:
        """Say it in a few words: a line by its number alone, a depth with its hole."""
        lone = self.where.startswith(("line ", "row "))
        place = self.where if lone else f"{self.hole} {self.where}".strip()
        return f"{place}: {self.value}" if self.value else place


@dataclass(frozen=True, eq=False)
class Finding:
    """Something in a table of holes that is odd, with the holes and rows where it is.

    Attributes
    ----------
    code : str
        Its short and stable name, one of `KINDS`.
    holes : tuple of str
        The hole of each case, "" for a row without one.
    where : callable
        Where a case stands in its table, by its number.
    value : callable
        The value of a case, by its number.
    accepted : bool
        Whether the caller has passed it.
    """

    code: str
    holes: Sequence[str]
    where: Callable[[int], str]
    value: Callable[[int], str]
    accepted: bool = False

    @property
    def count(self) -> int:
        """The number of cases."""
        return len(self.holes)

    @property
    def what(self) -> str:
        """What it says of several; the first word is what is counted."""
        return KINDS[self.code].what

    @property
    def mend(self) -> str:
        """How to mend it."""
        return KINDS[self.code].mend

    @property
    def severity(self) -> Severity:
        """A warning, or a note: what was accepted is a note."""
        return "note" if self.accepted else KINDS[self.code].severity

    @property
    def bad(self) -> bool:
        """Whether it is a warning, which ``strict`` refuses."""
        return self.severity == "warning"

    @property
    def first(self) -> tuple[str, ...]:
        """The first five cases, in words; each hole once where nothing else tells them apart."""
        return tuple(islice(dict.fromkeys(str(case) for case in self._some()), SHOWN))

    def _some(self) -> Iterator[Case]:
        return islice(self.cases(), 1 << 12)

    def cases(self) -> Iterator[Case]:
        """Yield every case."""
        for number, hole in enumerate(self.holes):
            yield Case(hole, self.where(number), self.value(number))

    def only(self, which: Sequence[int], *, accepted: bool) -> Finding:
        """Return a finding of some of the cases."""
        return Finding(
            self.code,
            [self.holes[number] for number in which],
            lambda number: self.where(which[number]),
            lambda number: self.value(which[number]),
            accepted,
        )

    def __str__(self) -> str:
        """Say it in a line, with its code."""
        first = self.first
        more = ", .." if self.count > len(first) else ""
        noun, _, rest = self.what.partition(" ")
        if self.count == 1:
            noun = noun.removesuffix("s")
            rest = " ".join(_OF_ONE.get(word, word) for word in rest.split(" "))
        passed = ", accepted" if self.accepted else ""
        return f"{self.count:,} {noun} {rest} ({', '.join(first)}{more}) [{self.code}{passed}]"

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
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
    found: list[Finding],
    code: str,
    holes: Iterable[str],
    where: Callable[[int], str] | Sequence[str] = (),
    value: Callable[[int], str] | Sequence[str] = (),
) -> None:
    """Add a finding to a list where there is any case of it."""
    each = list(holes)
    if each:
        found.append(Finding(code, each, _getter(where), _getter(value)))


def _getter(texts: Callable[[int], str] | Sequence[str]) -> Callable[[int], str]:
    """Return a function from the number of a case to its text."""
    if callable(texts):
        return texts
    return (lambda number: texts[number]) if texts else (lambda _: "")


# Acceptance and refusal


def require_codes(accept: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Return codes and holes of FINDING or FINDING:HOLE.

    Raises
    ------
    ValueError
        For a code that there is not.
    """
    pairs = []
    for text in [accept] if isinstance(accept, str) else accept:
        code, colon, hole = text.partition(":")
        if code not in KINDS:
            message = f"there is no finding {code!r} to accept; there are {', '.join(KINDS)}"
            raise ValueError(message)
        pairs.append((code, hole if colon else None))
    return tuple(pairs)


def accepted(
    found: Iterable[Finding],
    passed: Iterable[tuple[str, str | None]],
    names: Sequence[str] | None = None,
) -> list[Finding]:
    """Return findings with the passed cases of warnings as notes of their own.

    With the `names` of all holes, warn of a hole to pass that is none of them.
    """
    found = list(found)
    by_code: dict[str, set[str | None]] = {}
    for code, hole in passed:
        by_code.setdefault(code, set()).add(hole)
    if names is not None:
        known = {None, *names, *(hole for each in found for hole in each.holes)}
        strange = [(code, hole) for code, holes in by_code.items() for hole in holes - known]
        for code, hole in strange:
            meant = id_proposals([hole or ""], names)[0]
            warn(f"there is no hole {hole!r} to accept {code} of{': ' if meant else ''}{meant}")
    out = []
    for each in found:
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


def refuse_bad(found: Iterable[Finding], tables: str) -> None:
    """Raise TableError for the warnings among findings."""
    bad = [each for each in found if each.bad]
    if bad:
        more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
        message = (
            f"{tables}: {'; '.join(map(str, bad[:3]))}{more}; mend them, do without strict=True, "
            f"or pass what is right with accept={bad[0].code!r}"
        )
        raise TableError(message)


def sentences(found: Iterable[Finding]) -> list[str]:
    """Return each warning among findings, with how to mend it."""
    return [f"{each}. {each.mend}" for each in found if each.bad]


def notes_of(found: Iterable[Finding], dips: str) -> list[str]:
    """Return the lines below a summary: the sign of dips, and the notes among findings.

    Warnings are told apart from them: see `sentences`.
    """
    lines = [f"dips: {dips}"] if dips else []
    return lines + [f"note: {each}" for each in found if not each.bad]


# Ids


def id_proposals(strange: Sequence[str], known: Iterable[str]) -> list[str]:
    """Propose, for ids without a collar, the id that differs by case, zeros or blanks alone."""
    if not strange:
        return []
    alike: dict[str, list[str]] = {}
    for name in known:
        alike.setdefault(_skeleton(name), []).append(name)
    found = []
    for text in strange:
        same = [name for name in alike.get(_skeleton(text), ()) if name != text]
        found.append(f"is it {same[0]!r}?" if len(same) == 1 else "")
    return found


def _skeleton(name: str) -> str:
    """Return an id without case, blanks, marks between words, leading zeros, and a final .0."""
    plain = re.sub(r"[\s_\-.'\"]", "", re.sub(r"\.0+$", "", name.strip())).casefold()
    return re.sub(r"(?<!\d)0+(?=\d)", "", plain)


# Numbers that stand for a missing one in many tables.
MARKS = frozenset(
    float(sign + text)
    for sign, texts in (
        ("-", ("99", "999", "9999", "99999", "999999", "99.9", "99.99", "999.9", "999.99",
               "999.25", "9999.99", "9999.25", "1e30", "1e32", "1e38")),
        ("", ("99999", "999999", "9999999", "1e30", "1e32", "1e38")),
    )
    for text in texts
)  # fmt: skip
