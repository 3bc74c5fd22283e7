"""Options that describe a table."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import NamedTuple, TypedDict, TypeVar, Unpack, cast, get_args

from geodomain.files.gslib import Grid, grid_of
from geodomain.tables.frames import Axis, LocalFrame, Position, Triple
from geodomain.tables.numbers import BELOW_DETECTION, BelowDetection, Mark, NumberRule
from geodomain.tables.vendors import find_column, plain_name


class TableOptions(NamedTuple):
    """What the user says of a table, where its head does not, or not clearly.

    Attributes
    ----------
    x, y, z, dx, dy, dz : str, optional
        Names of the centroid and block size columns; case, quotes and blanks do not matter. Sizes
        may be numbers: those of every block.
    delimiter : bytes, optional
        One of ``, ; tab |``.
    decimal : bytes, optional
        The decimal mark, ``,`` or ``.``.
    missing, missing_words : tuple of float, tuple of str
        Numbers such as -99, and texts such as NA, that mean that a value is missing, in any column.
    own_missing : tuple of (str, float or str)
        Marks that mean so in one column, each with its column.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        What values below detection count as in columns that are used as numbers.
    detection_limits : tuple of (str, float)
        Columns, and the limit of words such as BDL in them.
    encoding : str
        Encoding of the head's names and of new cells.
    position : {"centroid", "corner"}, optional
        What the coordinates stand for; without it, what the head says, or centroids.
    rotation : LocalFrame, optional
        The frame that the coordinates are in, whatever the head says.
    frame : LocalFrame, optional
        The frame that blocks are boxes in, where coordinates are those of the world.
    gslib_grid : Grid, optional
        The cells that the rows of a GSLIB table stand for.
    points_are_middles : bool
        Whether coordinates that look like those of collars are those of samples all the same.
    """

    x: str | None = None
    y: str | None = None
    z: str | None = None
    dx: str | None = None
    dy: str | None = None
    dz: str | None = None
    delimiter: bytes | None = None
    decimal: bytes | None = None
    missing: tuple[float, ...] = ()
    missing_words: tuple[str, ...] = ()
    encoding: str = "utf-8"
    position: Position | None = None
    rotation: LocalFrame | None = None
    frame: LocalFrame | None = None
    gslib_grid: Grid | None = None
    points_are_middles: bool = False
    own_missing: tuple[tuple[str, Mark], ...] = ()
    below_detection: BelowDetection | None = None
    detection_limits: tuple[tuple[str, float], ...] = ()

    @property
    def centroid(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the centroid columns."""
        return self.x, self.y, self.z

    @property
    def size(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the block size columns."""
        return self.dx, self.dy, self.dz

    def number_rule(
        self, names: Sequence[str], table: str, decimal: bytes | None = None, *, every: bool = True
    ) -> NumberRule:
        """Return how the columns of a table are read as numbers.

        Raises
        ------
        TableError
            For a mark or limit of a column that the table does not have; not where `every` is
            false, because one of several tables has it.
        """
        known = {plain_name(name) for name in names}
        everywhere: tuple[Mark, ...] = (*self.missing, *self.missing_words)
        marks: list[tuple[str, Mark]] = [("", mark) for mark in everywhere]
        limits: list[tuple[str, float]] = []
        point = decimal or self.decimal or b"."
        for column, mark in self.own_missing:
            if every or plain_name(column) in known:
                marks.append((names[find_column(names, column, table)], mark))
        for column, limit in self.detection_limits:
            if every or plain_name(column) in known:
                limits.append((names[find_column(names, column, table)], limit))
        return NumberRule(tuple(marks), self.below_detection, tuple(limits), point.decode(), table)


# --- What a caller says of a table by keyword or option, read into TableOptions; opens no file.

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}

Turns = Sequence[tuple[Axis, float]]
Marks = Mark | Sequence[Mark]
Missing = Marks | Mapping[str, Marks]
Given = TypeVar("Given")
Read = TypeVar("Read")
_POSITIONS: tuple[Position, ...] = get_args(Position)


class NumberKeywords(TypedDict, total=False):
    """The keywords of every function that uses columns as numbers, all of them optional.

    ``missing`` is what stands for a value that is missing: -99, "NA", or several; in one column
    "AU=-99" or {"AU": -99}. ``below_detection`` is what texts such as "<0.01" count as, and
    negative grades: "half" or "limit", of the detection limit, "zero" or "missing".
    ``detection_limit`` is {"AU": 0.01}, the limit of words such as "BDL" in a column.
    """

    missing: Missing
    below_detection: BelowDetection | None
    detection_limit: Mapping[str, float] | None


class ColumnKeywords(NumberKeywords, total=False):
    """The keywords of every function that reads blocks, of a file or a table in memory.

    All of them are optional, and those of `NumberKeywords` are among them.

    ``x``, ``y``, ``z``, ``dx``, ``dy``, ``dz`` name the columns of the centroid and the block
    sizes; sizes may be numbers, the size of every block. ``position`` is "centroid" or "corner".
    ``rotation`` is "z=30" or [("z", 30)], with the ``origin`` in the world and the
    ``local_origin``, three numbers each: coordinates are local.
    ``delimiter``, ``decimal`` and ``encoding`` are for text. ``gslib_grid`` is
    "NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ", or nine numbers, for GSLIB. With ``points_are_middles`` the
    coordinates beside FROM and TO may be the same for all samples of a hole.
    """

    x: str | None
    y: str | None
    z: str | None
    dx: str | float | None
    dy: str | float | None
    dz: str | float | None
    position: Position | None
    rotation: str | Turns | None
    origin: str | Sequence[float] | None
    local_origin: str | Sequence[float] | None
    delimiter: str | None
    decimal: str | None
    encoding: str
    gslib_grid: str | Sequence[float] | Grid | None
    points_are_middles: bool


class TableKeywords(ColumnKeywords, total=False):
    """The keywords of every function that reads a block model of a file, all of them optional.

    ``frame`` is "z=30" or [("z", 30)]: coordinates are those of the world, and boxes are turned.
    """

    frame: str | Turns | None


_KEYWORDS = (*ColumnKeywords.__annotations__, *TableKeywords.__annotations__)


def table_options(**given: Unpack[TableKeywords]) -> TableOptions:
    """Return `TableOptions` of `TableKeywords`.

    Raises
    ------
    TypeError
        For a keyword that there is not.
    ValueError
        For a value that cannot be, and for an origin without a rotation or the reverse.

    Examples
    --------
    >>> table_options(x="EAST", delimiter=";", missing=[-99, "NA"]).missing_words
    ('NA',)
    """
    for name in given.keys() - set(_KEYWORDS):
        message = f"there is no keyword {name!r}; of a table there are "
        raise TypeError(message + ", ".join(_KEYWORDS))
    codes, own = _marks(() if given.get("missing") is None else given["missing"])
    limits = given.get("detection_limit") or {}
    if not isinstance(limits, Mapping):
        message = (
            f"detection_limit is {limits!r}; it must name columns, such as {{'AU': {limits!r}}}"
        )
        raise TypeError(message)
    grid = given.get("gslib_grid")
    return TableOptions(
        x=given.get("x"),
        y=given.get("y"),
        z=given.get("z"),
        dx=_unless_none(str, given.get("dx")),
        dy=_unless_none(str, given.get("dy")),
        dz=_unless_none(str, given.get("dz")),
        delimiter=_unless_none(read_delimiter, given.get("delimiter")),
        decimal=_unless_none(read_decimal, given.get("decimal")),
        missing=tuple(code for code in codes if not isinstance(code, str)),
        missing_words=tuple(code for code in codes if isinstance(code, str)),
        encoding=read_encoding(given.get("encoding") or "utf-8"),
        position=_unless_none(read_position, given.get("position")),
        rotation=_frame(given),
        frame=_boxes(given),
        gslib_grid=None if grid is None else read_gslib_grid(grid),
        points_are_middles=given.get("points_are_middles") or False,
        own_missing=own,
        below_detection=_unless_none(read_below_detection, given.get("below_detection")),
        detection_limits=tuple((column, read_limit(limit)) for column, limit in limits.items()),
    )


def _marks(given: Missing) -> tuple[list[Mark], tuple[tuple[str, Mark], ...]]:
    """Return the marks of missing values in all columns, and those in one, with their columns."""
    if isinstance(given, Mapping):
        return [], tuple((name, mark) for name in given for mark in _marks(given[name])[0])
    # NumPy's numbers are Real, and are no float to Python.
    codes = [*map(read_missing, (given,) if isinstance(given, str | float | Real) else given)]
    everywhere: list[Mark] = []
    own: list[tuple[str, Mark]] = []
    for code in codes:
        column, _, mark = code.rpartition("=") if isinstance(code, str) else ("", "", "")
        if column.strip() and mark.strip():
            own.append((column.strip(), read_missing(mark)))
        else:
            everywhere.append(code)
    return everywhere, tuple(own)


def _unless_none(read: Callable[[Given], Read], value: Given | None) -> Read | None:
    """Read a keyword that may be left out."""
    return None if value is None else read(value)


def _frame(given: TableKeywords) -> LocalFrame | None:
    """Make a frame of the three keywords that describe one."""
    rotation, origin = given.get("rotation"), given.get("origin")
    local_origin = given.get("local_origin")
    if rotation is None:
        if origin or local_origin:
            message = "origin and local_origin belong to a rotation: give that as well"
            raise ValueError(message)
        return None
    if origin is None:
        message = "rotation needs origin: the world coordinates of the model's origin"
        raise ValueError(message)
    return LocalFrame(
        read_turns(rotation), read_point(origin), read_point(local_origin or (0,) * 3)
    )


def _boxes(given: TableKeywords) -> LocalFrame | None:
    """Make the frame of boxes that are turned while their coordinates are those of the world."""
    turns = given.get("frame")
    if turns is None:
        return None
    if given.get("rotation") is not None:
        message = (
            "rotation says that coordinates are local, and frame that they are those of the world: "
            "give one of them"
        )
        raise ValueError(message)
    return LocalFrame(read_turns(turns), (0.0, 0.0, 0.0))


def read_position(value: str) -> Position:
    """Give what coordinates stand for."""
    for known in _POSITIONS:
        if value == known:
            return known
    message = f"position is {value!r}; it can be 'centroid' or 'corner'"
    raise ValueError(message)


def read_delimiter(value: str) -> bytes:
    """Give the byte of one of the four delimiters, said by itself or by name."""
    mark = _DELIMITERS.get(value.lower(), value)
    if mark not in _DELIMITERS.values():
        message = f"{value!r} is none of , ; tab |"
        raise ValueError(message)
    return bytes(mark, "ascii")


def read_decimal(value: str) -> bytes:
    """Give the byte of a decimal mark."""
    if value not in (",", "."):
        message = f"{value!r} is neither , nor ."
        raise ValueError(message)
    return bytes(value, "ascii")


def read_encoding(value: str) -> str:
    """Give Python's name of an encoding in which ASCII is ASCII, so that cells fit in."""
    try:
        known = codecs.lookup(value).name
        if ",a0".encode(known) == b",a0":
            return known
    except (LookupError, UnicodeError):
        pass
    message = f"{value!r} is not an encoding that keeps ASCII, such as utf-8"
    raise ValueError(message)


def read_missing(value: float | str) -> float | str:
    """Give a number if it is one, with a point or a comma, and otherwise the text itself."""
    text = str(value).strip()
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        found = math.nan
    if not text or "\0" in text:
        message = "it stands for a value; an empty field is missing without it"
        raise ValueError(message)
    return found if math.isfinite(found) else text


def read_below_detection(value: str) -> BelowDetection:
    """Give what values below detection count as."""
    for known in BELOW_DETECTION:
        if value == known:
            return known
    message = f"below_detection is {value!r}; it can be {', '.join(map(repr, BELOW_DETECTION))}"
    raise ValueError(message)


def read_limit(value: float) -> float:
    """Give a detection limit."""
    limit = float(value)
    if not 0 < limit < math.inf:
        message = f"a detection limit is {value}; it must be above 0"
        raise ValueError(message)
    return limit


def read_turns(value: str | Turns) -> Turns:
    """Split AXIS=DEGREES,... into turns; turns that are split already stay as they are."""
    if not isinstance(value, str):
        return value
    found = [part.partition("=") for part in value.split(",")]
    try:
        pairs = tuple((axis.strip().lower(), float(angle)) for axis, _, angle in found)
    except ValueError:
        pairs = ()
    if not pairs or any(axis not in "xyz" or not math.isfinite(angle) for axis, angle in pairs):
        message = f"{value!r} is not AXIS=DEGREES, such as z=30 or z=30,x=-60"
        raise ValueError(message)
    return cast(Turns, pairs)


def read_point(value: str | Sequence[float]) -> Triple:
    """Give three numbers, or those of X,Y,Z."""
    try:
        numbers = tuple(map(float, value.split(",") if isinstance(value, str) else value))
    except ValueError:
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        message = f"{value!r} is not X,Y,Z, three numbers with decimal points"
        raise ValueError(message)
    return numbers


def read_gslib_grid(value: str | Sequence[float] | Grid) -> Grid:
    """Give the grid of nine numbers, or of NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ."""
    if isinstance(value, Grid):
        return value
    try:
        numbers = tuple(map(float, value.split(",") if isinstance(value, str) else value))
        return grid_of(numbers)
    except ValueError as error:
        reason = str(error) if len(str(error)) < 80 and "DX" in str(error) else "nine numbers"
        message = f"{value!r} is not NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ ({reason})"
        raise ValueError(message) from None
