"""Settings of Boolean operations on solids: keywords of functions and options of commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, get_args

from geodomain.settings import LENGTH, Rule, one_of, require_values, setting, whole

PROOF_POINTS, FEWEST_POINTS = 100_000, 1000


@dataclass(frozen=True, kw_only=True)
class SolidSettings:
    """Rule for inside, repair of the inputs, and size of the proof.

    Raises
    ------
    DomainError
        If a value is invalid.
    """

    rule: Rule = setting(
        "parity",
        one_of(get_args(Rule)),
        "A point is inside if an odd number of triangles lies above it (parity), or if its winding "
        "number is not 0 (winding).",
        hashed=True,
    )
    weld: float | None = setting(
        None,
        LENGTH,
        "Before the operation, join vertices that are at most this far apart.",
        hashed=True,
        metavar="TOLERANCE",
    )
    fill: int | None = setting(
        None,
        whole(3),
        "Before the operation, close holes of at most this number of edges with new triangles.",
        hashed=True,
        metavar="MAX_EDGES",
    )
    points: int = setting(
        PROOF_POINTS,
        whole(FEWEST_POINTS),
        "Number of random points that prove the result: their labels by the result and by the "
        "inputs must agree.",
        hashed=True,
        metavar="N",
    )

    def __post_init__(self) -> None:
        """Check the values."""
        require_values(self)


class MendKeywords(TypedDict, total=False):
    """The keywords of functions that mend solids and measure them; all are optional."""

    rule: Rule
    weld: float | None
    fill: int | None


class SolidKeywords(MendKeywords, total=False):
    """The keywords of functions that make and prove a solid."""

    points: int
