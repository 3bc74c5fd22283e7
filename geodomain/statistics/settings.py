"""Settings of statistics: keywords of `stats`, `validate` and `contacts`, and of their commands.

To add a setting, add a field to `StatsSettings`, `ValidateSettings` or `ContactSettings`, and its
type to the keywords below. What `stats` and `validate` share is in `WeightSettings`. Settings for
reading tables are in `geodomain.tables.settings.TableSettings`.
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
AUTO, NEAREST = "auto", "nearest"
Triple: TypeAlias = "tuple[float, float, float]"
SwathAxes = Literal["model", "world"]
AXES = ("x", "y", "z")
Along = Literal["wall", "hole"]
# Largest number of classes of distance on each side of a contact.
MOST_BINS = 1000


@dataclass(frozen=True, kw_only=True)
class WeightSettings:
    """Label column of a table, weights of its rows, and declustering.

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
        "Column of weights, such as lengths, or 1 for the same weight in every row.  [default: "
        "volume if the table has block sizes, or else TO - FROM, or else 1]",
        hashed=True,
        metavar="COLUMN|VALUE",
    )
    decluster: str | float | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_cell"),
        "Also compute declustered statistics. One number or DX,DY,DZ: by cells of this size. auto: "
        "by cells of the size with the least declustered mean. nearest: the weight of "
        "a sample is the volume of the blocks= of its domain that are nearest to it.",
        hashed=True,
        metavar="CELL|auto|nearest",
        note="See `decluster_origins`, `cell_ratio` and `maximise`.",
    )
    cell_ratio: str | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_ratio"),
        "With decluster=: sizes of a cell along x, y and z, relative to each other. With nearest, "
        "distances along x, y and z are divided by these numbers.  [default: 1,1,1]",
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
        "With decluster=: number of grids of cells, each with another origin. Weights are averages "
        "over the grids.",
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
    def ratio(self) -> Triple:
        """The relative sizes of a cell along x, y and z."""
        return (1.0, 1.0, 1.0) if self.cell_ratio is None else read_ratio(self.cell_ratio)

    @property
    def cell(self) -> str | float | Triple | None:
        """The size of a cell: one or three numbers, "auto", "nearest", or None for no weights."""
        return None if self.decluster is None else read_cell(self.decluster)


@dataclass(frozen=True, kw_only=True)
class StatsSettings(WeightSettings):
    """What statistics are computed from samples or blocks.

    Raises
    ------
    ValueError
        If a value is invalid, or settings contradict each other.
    """

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
        "A top cut: values above it count as VALUE. With a single grade its name may be left out. "
        "May be repeated.",
        hashed=True,
        metavar="[GRADE=]VALUE",
        note="A mapping, such as {'AU': [20, 30]}, is possible as well.",
    )

    def caps(self, grades: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the caps of each grade in ascending order.

        Raises
        ------
        ValueError
            If a cap is not a number, or for a grade that is not among `grades`.
        """
        by_grade: dict[str, set[float]] = {name: set() for name in grades}
        for name, value in _each_cap(self.cap):
            if not name and len(grades) != 1:
                message = f"cap= must name a grade ({', '.join(grades)}), such as {grades[0]}=20"
                raise ValueError(message)
            if name and name not in by_grade:
                message = f"cap= names {name}; it must name a grade ({', '.join(grades)})"
                raise ValueError(message)
            by_grade[name or grades[0]].add(value)
        return {name: tuple(sorted(values)) for name, values in by_grade.items()}


@dataclass(frozen=True, kw_only=True)
class ValidateSettings(WeightSettings):
    """How blocks are compared with samples.

    Raises
    ------
    ValueError
        If a value is invalid, or settings contradict each other.
    """

    decluster: str | float | Sequence[float] | None = setting(
        NEAREST,
        read_by("geodomain.statistics.settings.read_cell"),
        "How the samples are declustered. nearest: by the volume of the blocks of its domain that "
        "are nearest to each sample. One number or DX,DY,DZ: by cells of this size. auto: by cells "
        "of the size with the least declustered mean.",
        hashed=True,
        metavar="nearest|CELL|auto",
        note="None compares samples as they are.",
    )
    block_weight: str | float | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_weight"),
        "Column of weights of the blocks, such as tonnes, or 1 to count each block alike.  "
        "[default: volume, or else 1]",
        hashed=True,
        metavar="COLUMN|VALUE",
    )
    sample_column: str | None = setting(
        None,
        TEXT,
        "Label column of the samples.  [default: that of the blocks]",
        hashed=True,
        metavar="NAME",
    )
    sample_xyz: str | Sequence[str] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_names"),
        "Columns of the coordinates of the samples, such as EAST,NORTH,RL.  [default: usual names]",
        hashed=True,
        metavar="X,Y,Z",
    )
    swath: str | Sequence[str] = setting(
        "x,y,z",
        read_by("geodomain.statistics.settings.read_axes"),
        "Axes along which slices are compared: x, y, z, or several with commas.",
        hashed=True,
        metavar="AXES",
    )
    step: str | float | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_step"),
        "Thickness of the slices: one number, or one each for x, y and z.  [default: a multiple of "
        "the block size that makes about 20 slices]",
        hashed=True,
        metavar="STEP",
    )
    swath_axes: SwathAxes = setting(
        "model",
        one_of(get_args(SwathAxes)),
        "For a rotated model: slices along the axes of the model, or along those of the world.",
        hashed=True,
    )

    def __post_init__(self) -> None:
        """Refuse invalid values, and settings that contradict each other."""
        super().__post_init__()
        # Each is read, to refuse what is invalid.
        _ = self.axes, self.steps, self.xyz, self.of_blocks

    @property
    def of_blocks(self) -> WeightSettings:
        """The label column and the weights of the blocks."""
        weight = None if self.block_weight is None else read_weight(self.block_weight)
        return WeightSettings(column=self.column, sample_weight=weight)

    def of_samples(self, column: str | None) -> WeightSettings:
        """Return the label column and the weights of the samples; `column` is that of blocks."""
        own = self.sample_column or (None if self.column is None else column)
        return WeightSettings(column=own, sample_weight=self.sample_weight)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the slices, 0 to 2."""
        return read_axes(self.swath)

    @property
    def steps(self) -> Triple | None:
        """The thickness of the slices along x, y and z; None if it is to be chosen."""
        return None if self.step is None else read_step(self.step)

    @property
    def xyz(self) -> tuple[str, str, str] | None:
        """The columns of the coordinates of the samples; None for the usual names."""
        return None if self.sample_xyz is None else read_names(self.sample_xyz)


def _each_cap(caps: Caps) -> list[tuple[str, float]]:
    """Return each cap with the name of its grade, which is empty if no grade is named."""
    if isinstance(caps, Mapping):
        return [
            (name, cap) for name, cap_or_caps in caps.items() for _, cap in _each_cap(cap_or_caps)
        ]
    if isinstance(caps, str):
        return [read_cap(caps)]
    if isinstance(caps, Sequence):
        return [cap for cap_or_caps in caps for cap in _each_cap(cap_or_caps)]
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


@dataclass(frozen=True, kw_only=True)
class ReportSettings(ValidateSettings, StatsSettings):
    """Settings of the pages of domains in a report: those of `stats` and `validate`, and more.

    Raises
    ------
    ValueError
        If a value is invalid, or settings contradict each other.
    """

    contact_bin: float | None = setting(
        None,
        LENGTH,
        "Width of the classes of distance from a contact, as bin= of `geodomain.contacts`.  "
        "[default: 2, or the median length of the samples, rounded up, if that is more]",
        hashed=True,
        metavar="LENGTH",
    )
    contact_max: float | None = setting(
        None,
        LENGTH,
        "Largest distance from a contact, as max= of `geodomain.contacts`.  [default: 15 classes]",
        hashed=True,
        metavar="LENGTH",
    )
    distance_bands: str | float | Sequence[float] | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_bands"),
        "Distances from the nearest sample, separated by commas: the report shows which share of "
        "the volume of each domain is beyond each distance.  [default: half, once and twice the "
        "spacing of the holes]",
        hashed=True,
        metavar="LENGTH,...",
    )

    def __post_init__(self) -> None:
        """Refuse invalid values, and settings that contradict each other."""
        super().__post_init__()
        # Each is read, to refuse what is invalid.
        _ = self.bands, self.contact()

    @property
    def bands(self) -> tuple[float, ...]:
        """The distances from the nearest sample, ascending; empty if none are set."""
        return () if self.distance_bands is None else read_bands(self.distance_bands)

    def contact(self, length: float = 0.0) -> ContactSettings:
        """Return the classes of distance from a contact; by default, at least `length` wide."""
        width = self.contact_bin or max(ContactSettings.bin, length)
        return ContactSettings(bin=width, max=self.contact_max or _CLASSES * width)


# The number of classes of distance on each side of a contact in a report.
_CLASSES = 15


def read_bands(bands: str | float | Sequence[float]) -> tuple[float, ...]:
    """Read distances from the nearest sample, and return them in ascending order.

    Examples
    --------
    >>> read_bands("50,25")
    (25.0, 50.0)
    """
    message = f"{bands!r} is not a list of distances above 0, such as 25,50,100"
    return tuple(sorted({*_positive(bands, message)}))


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
) -> str | float | Triple:
    """Read a size of cells: one number, three numbers, auto or nearest.

    Examples
    --------
    >>> read_cell("40"), read_cell("40,40,10"), read_cell("auto")
    (40.0, (40.0, 40.0, 10.0), 'auto')
    """
    if isinstance(cell, str) and cell in (AUTO, NEAREST):
        return cell
    message = f"{cell!r} is not a size of cells: give one number, DX,DY,DZ, auto or nearest"
    numbers = _positive(cell, message)
    if len(numbers) == 1:
        return numbers[0]
    return _three(numbers, message)


def read_ratio(ratio: str | Sequence[float]) -> Triple:
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
        message = f"the weight is {weight!r}; it must be a column, or a number above 0"
        raise ValueError(message)
    return number


def read_axes(axes: str | Sequence[str]) -> tuple[int, ...]:
    """Read the axes of slices in any order, and return their indices in ascending order.

    Examples
    --------
    >>> read_axes("z,x"), read_axes("y")
    ((0, 2), (1,))
    """
    words = axes.replace(" ", "").lower().split(",") if isinstance(axes, str) else list(axes)
    if not words or not {*words} <= {*AXES}:
        message = f"{axes!r} is not a list of axes: give x, y, z, or several such as x,z"
        raise ValueError(message)
    return tuple(axis for axis, name in enumerate(AXES) if name in words)


def read_step(step: str | float | Sequence[float]) -> Triple:
    """Read the thickness of slices: one number for all axes, or three.

    Examples
    --------
    >>> read_step("25"), read_step("25,25,10")
    ((25.0, 25.0, 25.0), (25.0, 25.0, 10.0))
    """
    message = f"{step!r} is not a thickness of slices: give one number above 0, or X,Y,Z"
    numbers = _positive(step, message)
    return _three(numbers * 3 if len(numbers) == 1 else numbers, message)


def read_names(names: str | Sequence[str]) -> tuple[str, str, str]:
    """Read the names of three columns.

    Examples
    --------
    >>> read_names("EAST,NORTH,RL")
    ('EAST', 'NORTH', 'RL')
    """
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else [*names]
    if len(words) != 3 or not all(isinstance(word, str) and word for word in words):
        message = f"{names!r} is not three columns, such as EAST,NORTH,RL"
        raise ValueError(message)
    return words[0], words[1], words[2]


def _positive(value: str | float | Sequence[float], message: str) -> tuple[float, ...]:
    if isinstance(value, str):
        value = value.split(",")  # type: ignore[assignment]  # texts are read as numbers
    several = value if isinstance(value, Sequence) else [value]
    numbers = tuple(_finite(each, message) for each in several)
    if not numbers or min(numbers) <= 0:
        raise ValueError(message)
    return numbers


def _three(numbers: tuple[float, ...], message: str) -> Triple:
    if len(numbers) != 3:
        raise ValueError(message)
    return numbers[0], numbers[1], numbers[2]


def _finite(value: str | float, message: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise ValueError(message)
    return number


# --- The keywords of functions, for a type checker: a test compares them with the fields.


class _ClusterKeywords(TableKeywords, total=False):
    """Keywords about weights of samples, and those for reading the table."""

    sample_weight: str | float | None
    decluster: str | float | Sequence[float] | None
    cell_ratio: str | Sequence[float] | None
    maximise: bool
    decluster_origins: int


class _CapKeywords(_ClusterKeywords, total=False):
    """Keywords about top cuts."""

    hole: str | None
    cap: Caps


class _SwathKeywords(_ClusterKeywords, total=False):
    """Keywords about blocks, coordinates of samples, and slices."""

    block_weight: str | float | None
    sample_column: str | None
    sample_xyz: str | Sequence[str] | None
    swath: str | Sequence[str]
    step: str | float | Sequence[float] | None
    swath_axes: SwathAxes


class StatsKeywords(_CapKeywords, total=False):
    """Keywords of `geodomain.stats`, and those for reading the table; all are optional."""

    column: str | None


class ValidateKeywords(_SwathKeywords, total=False):
    """Keywords of `geodomain.validate`, and those for reading the blocks; all are optional."""

    column: str | None


class ReportKeywords(_SwathKeywords, _CapKeywords, total=False):
    """Keywords about the pages of domains in a report, and those for reading the blocks."""

    contact_bin: float | None
    contact_max: float | None
    distance_bands: str | float | Sequence[float] | None


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
