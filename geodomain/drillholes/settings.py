"""Settings for drillholes: keywords of functions and options of commands.

To add a setting, add a field to `HoleSettings`, and its type to `HoleKeywords`. Settings for
reading text tables are in `geodomain.tables.settings.TableSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from geodomain.errors import DomainError
from geodomain.settings import FLAG, TEXT, one_of, read_by, require_values, setting
from geodomain.tables.settings import NumberKeywords, TextKeywords

if TYPE_CHECKING:
    from geodomain.inputs import MeshesLike

Method = Literal["minimum curvature", "balanced", "tangent"]
DipDown = Literal["auto", "positive", "negative"]


@dataclass(frozen=True, kw_only=True)
class HoleSettings:
    """Settings for making holes from their tables, and for the checks of the tables.

    Raises
    ------
    ValueError
        For an invalid value.
    """

    method: Method = setting(
        "minimum curvature",
        one_of(get_args(Method)),
        "Shape of the curve between two stations.",
        hashed=True,
        option="desurvey",
        note="In order: an arc with the directions of both stations; half the length straight "
        "along each direction; straight along the direction of the upper station. Above the first "
        "station and below the last station a hole is straight.",
    )
    down: DipDown = setting(
        "auto",
        one_of(get_args(DipDown)),
        "Sign of dips that point down; auto decides for the whole file, by the sign of the sum of "
        "dips.",
        hashed=True,
        option="dip-down",
        note="The stations of a hole together weigh as much as the square root of their number.",
    )
    vertical: bool = setting(
        False,
        FLAG,
        "Treat holes without a station as vertical.  [default: leave them out]",
        hashed=True,
    )
    strict: bool = setting(
        False,
        FLAG,
        "Treat every warning about the tables of holes as an error.",
        hashed=False,
        note="The error is a TableError.",
    )
    accept: str | Sequence[str] = setting(
        (),
        read_by("geodomain.drillholes.findings.require_codes", list),
        "Accept a warning about the tables of holes: it becomes a note. FINDING is the code that "
        "the warning gives in brackets. May be repeated.",
        hashed=False,
        metavar="FINDING[:HOLE]",
    )
    topography: MeshesLike | None = setting(
        None,
        TEXT,
        "Surface to compare with collars and ends of holes.  [default: the surface in domains= on "
        "which most collars lie]",
        hashed=False,
        metavar="FILE",
    )
    bend: str | Sequence[float] = setting(
        (15.0, 30.0),
        read_by("geodomain.drillholes.settings.read_bend"),
        "Warn of holes that turn by more than ANGLE degrees within LENGTH, in the unit of the "
        "coordinates; 15,98.4 in feet is 15,30 in metres.  [default: 15,30]",
        hashed=False,
        metavar="ANGLE,LENGTH",
    )
    columns: Mapping[str, str] | None = setting(
        None,
        read_by("geodomain.drillholes.settings.read_role", dict),
        "Use COLUMN for a role: hole, x, y, z, end (depth of the hole), at (depth of a station), "
        "azimuth, dip, from or to. A role that begins with the name of a table, such as "
        "survey.hole, applies to that table only.",
        hashed=True,
        option="hole-column",
        metavar="ROLE=COLUMN",
        note="A mapping, such as {'x': 'EAST'}.",
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        try:
            require_values(self)
        except DomainError as error:
            raise ValueError(str(error)) from None
        read_bend(self.bend)

    @property
    def largest_bend(self) -> tuple[float, float]:
        """The largest bend that is not a finding: an angle in degrees, within a length of hole."""
        return read_bend(self.bend)


def read_bend(bend: str | Sequence[float]) -> tuple[float, float]:
    """Read a bend: an angle in degrees and a length of hole, as two numbers or as text.

    Examples
    --------
    >>> read_bend("15,30")
    (15.0, 30.0)
    """
    try:
        numbers = tuple(map(float, bend.split(",") if isinstance(bend, str) else bend))
    except ValueError:
        numbers = ()
    if len(numbers) != 2 or not (0 < numbers[0] <= 180 and 0 < numbers[1] < math.inf):
        message = (
            f"{bend!r} is not ANGLE,LENGTH, such as 15,30: the angle must be more than 0 and at "
            "most 180 degrees, and the length more than 0"
        )
        raise ValueError(message)
    return numbers[0], numbers[1]


def read_role(text: str) -> tuple[str, str]:
    """Split ROLE=COLUMN into the role and the name of the column.

    Examples
    --------
    >>> read_role("dip=INCL")
    ('dip', 'INCL')
    """
    role, _, column = text.partition("=")
    if not role or not column:
        message = f"{text!r} is not ROLE=COLUMN, such as dip=INCL"
        raise ValueError(message)
    return role, column


# --- The keywords of functions, for a type checker: a test compares them with the fields.


class HoleKeywords(TextKeywords, total=False):
    """Keywords of every function that reads tables of holes; all are optional."""

    method: Method
    down: DipDown
    vertical: bool
    strict: bool
    accept: str | Sequence[str]
    topography: MeshesLike | None
    bend: str | Sequence[float]
    columns: Mapping[str, str] | None


class SampleKeywords(NumberKeywords, total=False):
    """Keywords of functions that take samples and a `Drillholes` object; all are optional."""

    strict: bool
    accept: str | Sequence[str]
