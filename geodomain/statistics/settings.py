"""Settings of statistics: keywords of `stats` and `contacts`, and options of their commands.

To add a setting, add a field to `StatsSettings` or `ContactSettings`, and its type to the keywords
below. Settings for reading tables are in `geodomain.tables.settings.TableSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, get_args

from geodomain.drillholes.settings import HoleKeywords
from geodomain.errors import DomainError
from geodomain.settings import FLAG, LENGTH, TEXT, one_of, read_by, require_values, setting, whole
from geodomain.tables.settings import TableKeywords, TextKeywords

CapValues: TypeAlias = "float | str | Sequence[float | str]"
Caps: TypeAlias = "CapValues | Mapping[str, CapValues]"
AUTO = "auto"
Along = Literal["wall", "hole"]
# Largest number of classes of distance on each side of a contact.
MOST_BINS = 1000


@dataclass(frozen=True, kw_only=True)
class StatsSettings:
    """Settings of statistics of samples or blocks.

    Raises
    ------
    ValueError
        If a value is invalid, or settings contradict each other.
    """

    column: str | None = setting(
        None,
        TEXT,
        "Label column.  [default: domain, if there is such a column]",
        hashed=True,
        metavar="NAME",
        option=False,
    )
    sample_weight: str | float | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_weight"),
        "Column of weights, such as lengths, or 1 for the same weight in every row.  [default: the "
        "volume of blocks, or else TO - FROM, or else 1]",
        hashed=True,
        metavar="COLUMN|VALUE",
    )
    hole: str | None = setting(
        None,
        TEXT,
        "Column of holes, to count the holes that a cap affects.  [default: a usual name, such as "
        "BHID]",
        hashed=True,
        metavar="COLUMN",
    )
    cap: Caps = setting(
        (),
        read_by("geodomain.statistics.settings.read_cap", list),
        "A top cut: values above VALUE count as VALUE. With a single grade, its name may be left "
        "out. May be repeated.",
        hashed=True,
        metavar="[GRADE=]VALUE",
        note="A mapping, such as {'AU': [20, 30]}, is possible as well.",
    )
    decluster: str | float | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_cell"),
        "Also compute declustered statistics, with cells of this size: one number, or DX,DY,DZ; "
        "auto takes the size with the least declustered mean.",
        hashed=True,
        metavar="CELL|auto",
        note="See `decluster_origins`, `cell_ratio` and `maximise`.",
    )
    cell_ratio: str | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_ratio"),
        "With decluster=: sizes of a cell along x, y and z, relative to each other.  "
        "[default: 1,1,1]",
        hashed=True,
        metavar="X,Y,Z",
    )
    maximise: bool = setting(
        False,
        FLAG,
        "With decluster=: auto takes the size with the largest declustered mean, for holes that "
        "cluster in low-grade ground.",
        hashed=True,
    )
    decluster_origins: int = setting(
        8,
        whole(1, 1000, toml_only=True),
        "With decluster=: number of origins of the grid of cells over which weights are averaged.",
        hashed=True,
        metavar="N",
    )

    def __post_init__(self) -> None:
        """Refuse invalid values, and settings that contradict each other."""
        try:
            require_values(self)
        except DomainError as error:
            raise ValueError(str(error)) from None
        # Reading each of them refuses invalid values.
        cell, _, _ = self.cell, self.ratio, self.weight
        if not isinstance(self.decluster_origins, int) or self.decluster_origins < 1:
            message = "decluster_origins= must be a whole number above 0"
            raise ValueError(message)
        message = ""
        if cell is None and (self.cell_ratio is not None or self.maximise):
            message = "cell_ratio= and maximise= need decluster=: give it as well"
        elif self.maximise and cell != AUTO:
            message = "maximise= chooses the size of cells, so it needs decluster='auto'"
        elif self.cell_ratio is not None and isinstance(cell, tuple):
            message = "decluster= has three sizes already: leave out cell_ratio="
        if message:
            raise ValueError(message)

    @property
    def weight(self) -> str | float | None:
        """The column of weights, or one weight for all rows."""
        return None if self.sample_weight is None else read_weight(self.sample_weight)

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The relative sizes of a cell along x, y and z."""
        return (1.0, 1.0, 1.0) if self.cell_ratio is None else read_ratio(self.cell_ratio)

    @property
    def cell(self) -> str | float | tuple[float, float, float] | None:
        """The size of a cell: a number, three numbers, "auto", or None without declustering."""
        return None if self.decluster is None else read_cell(self.decluster)

    def caps(self, grades: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the caps of each grade in ascending order.

        Raises
        ------
        ValueError
            If a cap is not a number, or for a grade that is not among `grades`.
        """
        found: dict[str, set[float]] = {name: set() for name in grades}
        for name, value in _each_cap(self.cap):
            if not name and len(grades) != 1:
                message = f"cap= must name a grade ({', '.join(grades)}), such as {grades[0]}=20"
                raise ValueError(message)
            if name and name not in found:
                message = f"cap= names {name}; it must name a grade ({', '.join(grades)})"
                raise ValueError(message)
            found[name or grades[0]].add(value)
        return {name: tuple(sorted(values)) for name, values in found.items()}


def _each_cap(caps: Caps) -> list[tuple[str, float]]:
    """Return each cap with the name of its grade, which is empty if no grade is named."""
    if isinstance(caps, Mapping):
        return [(name, cap) for name, one in caps.items() for _, cap in _each_cap(one)]
    if isinstance(caps, str):
        return [read_cap(caps)]
    if isinstance(caps, Sequence):
        return [cap for one in caps for cap in _each_cap(one)]
    return [("", _finite(caps, f"cap= is {caps!r}; it must be a number"))]


@dataclass(frozen=True, kw_only=True)
class ContactSettings:
    """Settings for grades by distance from a contact.

    Raises
    ------
    ValueError
        For an invalid value.
    """

    bin: float = setting(
        2.0,
        LENGTH,
        "Width of the classes of distance.",
        hashed=True,
        metavar="LENGTH",
    )
    max: float = setting(
        30.0,
        LENGTH,
        "Largest distance from the contact; samples farther away are only counted.",
        hashed=True,
        metavar="LENGTH",
    )
    along: Along = setting(
        "wall",
        one_of(get_args(Along)),
        "Measure the shortest distance from the wall, or the distance along the hole from the "
        "point where the hole crosses it.",
        hashed=True,
        note='"hole" needs drillholes.',
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        try:
            require_values(self)
        except DomainError as error:
            raise ValueError(str(error)) from None
        if not (0 < self.bin <= self.max < math.inf and self.max <= MOST_BINS * self.bin):
            message = (
                f"bin is {self.bin:g} and max is {self.max:g}; bin must be above 0, and max from "
                f"1 to {MOST_BINS:,} times bin"
            )
            raise ValueError(message)


def read_cap(text: str) -> tuple[str, float]:
    """Split [GRADE=]VALUE into the grade and the cap.

    Examples
    --------
    >>> read_cap("AU=20"), read_cap("20")
    (('AU', 20.0), ('', 20.0))
    """
    name, equals, number = text.rpartition("=")
    message = f"{text!r} is not [GRADE=]VALUE, such as AU=20"
    if equals and not name:
        raise ValueError(message)
    return name, _finite(number, message)


def read_cell(
    cell: str | float | Sequence[float],
) -> str | float | tuple[float, float, float]:
    """Read a size of cells: one number, three numbers, or auto.

    Examples
    --------
    >>> read_cell("40"), read_cell("40,40,10"), read_cell("auto")
    (40.0, (40.0, 40.0, 10.0), 'auto')
    """
    if cell == AUTO:
        return AUTO
    message = f"{cell!r} is not a size of cells: give one number, DX,DY,DZ, or auto"
    numbers = _positive(cell, message)
    if len(numbers) == 1:
        return numbers[0]
    return _three(numbers, message)


def read_ratio(ratio: str | Sequence[float]) -> tuple[float, float, float]:
    """Read the relative sizes of a cell along x, y and z.

    Examples
    --------
    >>> read_ratio("1,1,0.25")
    (1.0, 1.0, 0.25)
    """
    message = f"{ratio!r} is not X,Y,Z, three numbers above 0 such as 1,1,0.25"
    return _three(_positive(ratio, message), message)


def read_weight(weight: str | float) -> str | float:
    """Read a column of weights, or one weight for all rows, which must be above 0.

    Examples
    --------
    >>> read_weight("LENGTH"), read_weight("1")
    ('LENGTH', 1.0)
    """
    try:
        number = float(weight)
    except ValueError:
        return weight
    except TypeError:
        number = math.nan
    if not 0 < number < math.inf:
        message = f"sample_weight= is {weight!r}; it must be a column, or a number above 0"
        raise ValueError(message)
    return number


def _positive(given: str | float | Sequence[float], message: str) -> tuple[float, ...]:
    if isinstance(given, str):
        given = given.split(",")  # type: ignore[assignment]  # texts are read as numbers
    several = given if isinstance(given, Sequence) else [given]
    numbers = tuple(_finite(one, message) for one in several)
    if not numbers or min(numbers) <= 0:
        raise ValueError(message)
    return numbers


def _three(numbers: tuple[float, ...], message: str) -> tuple[float, float, float]:
    if len(numbers) != 3:
        raise ValueError(message)
    return numbers[0], numbers[1], numbers[2]


def _finite(given: str | float, message: str) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(given, bool):
        raise ValueError(message)
    return number


# --- The keywords of functions, for a type checker: a test compares them with the fields.


class StatsKeywords(TableKeywords, total=False):
    """Keywords of `geodomain.stats`, and those for reading the table; all are optional."""

    column: str | None
    sample_weight: str | float | None
    hole: str | None
    cap: Caps
    decluster: str | float | Sequence[float] | None
    cell_ratio: str | Sequence[float] | None
    maximise: bool
    decluster_origins: int


class _ContactKeywords(TypedDict, total=False):
    """Keywords about distances from a contact, and about coordinates of samples."""

    bin: float
    max: float
    along: Along
    x: str | None
    y: str | None
    z: str | None
    points_are_middles: bool


class ContactKeywords(_ContactKeywords, TextKeywords, total=False):
    """Keywords of `contacts`; all are optional."""

    strict: bool
    accept: str | Sequence[str]
    columns: Mapping[str, str] | None


class ContactFileKeywords(_ContactKeywords, HoleKeywords, total=False):
    """Keywords of `contacts_file`; all are optional."""
