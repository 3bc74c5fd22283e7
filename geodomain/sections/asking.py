"""What sections are asked for: one, several, or a run of them from one coordinate to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from geodomain.sections.cutting import AXES, Axis, Section, parse_section

SectionGiven = Section | str | tuple[Axis, float]
# More sections than this are a slip of the step.
MOST_SECTIONS = 500


def as_sections(given: SectionGiven | Sequence[SectionGiven]) -> list[Section]:
    """Return sections of one or several, however they were given.

    Raises
    ------
    ValueError
        For what is no section.
    """
    if isinstance(given, Section):
        return [given]
    if isinstance(given, str):
        return parse_sections(given)
    if len(given) == 2 and isinstance(given[0], str) and given[0] in AXES:
        axis, at = given
        return parse_sections(f"{axis}={at}")
    return [section for one in given for section in as_sections(_single(one))]


def parse_sections(text: str) -> list[Section]:
    """Read AXIS=COORDINATE or AXIS=START,STOP,STEP, such as z=310 or y=7480200,7480300,50.

    A run has its start, and its stop where steps lead there; sums are those of decimal numbers.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> [section.at for section in parse_sections("z=0.1,0.3,0.1")]
    [0.1, 0.2, 0.3]
    """
    axis, _, rest = text.partition("=")
    parts = rest.split(",")
    try:
        if len(parts) == 1:
            return [parse_section(text)]
        start, stop, step = map(Decimal, parts)
        steps = (stop - start) / step
        count = math.floor(min(max(steps, Decimal(-1)), Decimal(10**9))) + 1
    except (ValueError, ArithmeticError):
        message = (
            f"{text!r} is not AXIS=COORDINATE or AXIS=START,STOP,STEP, such as z=310 or "
            "y=7480200,7480300,50"
        )
        raise ValueError(message) from None
    if not 1 <= count <= MOST_SECTIONS:
        message = f"{text!r} are {count:,} sections; a run has 1 to {MOST_SECTIONS}"
        raise ValueError(message)
    return [parse_section(f"{axis}={start + number * step}") for number in range(count)]


def is_run(given: SectionGiven | Sequence[SectionGiven]) -> bool:
    """Return whether there is a run, START,STOP,STEP, among what is asked for."""
    if isinstance(given, str):
        return "," in given
    return not isinstance(given, Section) and any(
        isinstance(one, str) and is_run(one) for one in given
    )


def _single(given: SectionGiven | str | float) -> SectionGiven:
    """Refuse what is in a list and no section."""
    if isinstance(given, Section | str) or (isinstance(given, tuple) and len(given) == 2):
        return given
    message = f"{given!r} is no section: give 'z=310', ('z', 310) or 'y=0,100,25'"
    raise ValueError(message)
