"""Options for reading a table, from keywords or the command line."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import NamedTuple, TypeVar, Unpack, cast, get_args

from geodomain.settings import among, read_keywords
from geodomain.tables.frames import Grid, LocalFrame, Position, Triple, grid_of
from geodomain.tables.numbers import BELOW_DETECTION, BelowDetection, Mark, NumberRule
from geodomain.tables.settings import Missing, TableKeywords, TableSettings, Turns
from geodomain.tables.vendors import find_column, plain_name


class TableOptions(NamedTuple):
    """The user's options for reading a table; they override or complete what the file states.

    Attributes
    ----------
    x, y, z, dx, dy, dz : str, optional
        Names of the centroid and block size columns; case, quotes and blanks do not matter. A size
        may be a number, the size of every block.
    delimiter : bytes, optional
        One of ``, ; tab |``.
    decimal : bytes, optional
        The decimal mark, ``,`` or ``.``.
    missing, missing_words : tuple of float, tuple of str
        Numbers such as -99, and texts such as NA, that stand for a missing value in any column.
    own_missing : tuple of (str, float or str)
        Columns, each with a missing-value mark for this column only.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        Policy for values below detection in columns that are used as numbers.
    detection_limits : tuple of (str, float)
        Columns, each with the detection limit that words such as BDL stand for.
    encoding : str
        Encoding of the column names and of new cells.
    position : {"centroid", "corner"}, optional
        Meaning of the coordinates; by default as the file states, or else centroids.
    rotation : LocalFrame, optional
        The local frame of the coordinates; it overrides the frame that the file states.
    frame : LocalFrame, optional
        Frame whose axes are parallel to the block edges, if blocks are rotated and their
        coordinates are world coordinates.
    gslib_grid : Grid, optional
        The grid whose cells are the rows of a GSLIB table.
    points_are_middles : bool
        Whether to accept coordinates that look like collar coordinates as sample midpoints.
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
        """The names of the centroid columns."""
        return self.x, self.y, self.z

    @property
    def size(self) -> tuple[str | None, str | None, str | None]:
        """The names of the block size columns."""
        return self.dx, self.dy, self.dz

    def number_rule(
        self, names: Sequence[str], table: str, decimal: bytes | None = None, *, every: bool = True
    ) -> NumberRule:
        """Return how the columns of a table are read as numbers.

        Raises
        ------
        TableError
            For a missing-value mark or detection limit of a column that the table lacks. If `every`
            is false, such a mark or limit is skipped, because another table of the same call may
            have the column.
        """
        columns = {plain_name(name) for name in names}
        everywhere: tuple[Mark, ...] = (*self.missing, *self.missing_words)
        marks: list[tuple[str, Mark]] = [("", mark) for mark in everywhere]
        limits: list[tuple[str, float]] = []
        point = decimal or self.decimal or b"."
        for column, mark in self.own_missing:
            if every or plain_name(column) in columns:
                marks.append((names[find_column(names, column, table)], mark))
        for column, limit in self.detection_limits:
            if every or plain_name(column) in columns:
                limits.append((names[find_column(names, column, table)], limit))
        return NumberRule(tuple(marks), self.below_detection, tuple(limits), point.decode(), table)


# Keywords and options, read into `TableOptions`.

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}

Value = TypeVar("Value")
Read = TypeVar("Read")
_POSITIONS: tuple[Position, ...] = get_args(Position)


def table_options(**keywords: Unpack[TableKeywords]) -> TableOptions:
    """Read keywords into `TableOptions`.

    Raises
    ------
    TypeError
        For an unknown keyword.
    ValueError
        For an invalid value, an origin without a rotation, or a rotation without an origin.

    Examples
    --------
    >>> table_options(x="EAST", delimiter=";", missing=[-99, "NA"]).missing_words
    ('NA',)
    """
    return options_of(read_keywords(TableSettings, keywords, TableKeywords))


def options_among(keywords: Mapping[str, object]) -> TableOptions:
    """Pick the keywords about a table from all keywords of a function; return `TableOptions`."""
    own = among(TableKeywords, keywords)
    return table_options(**own) if own else TableOptions()


def options_of(settings: TableSettings) -> TableOptions:
    """Convert settings to options; raises the errors of `table_options`."""
    codes, own = _marks(() if settings.missing is None else settings.missing)
    limits = settings.detection_limit or {}
    if not isinstance(limits, Mapping):
        message = (
            f"detection_limit is {limits!r}; it must name columns, such as {{'AU': {limits!r}}}"
        )
        raise TypeError(message)
    turns, boxes, still = settings.rotation, settings.frame, (0.0, 0.0, 0.0)
    return TableOptions(
        x=settings.x,
        y=settings.y,
        z=settings.z,
        dx=_unless_none(str, settings.dx),
        dy=_unless_none(str, settings.dy),
        dz=_unless_none(str, settings.dz),
        delimiter=_unless_none(read_delimiter, settings.delimiter),
        decimal=_unless_none(read_decimal, settings.decimal),
        missing=tuple(code for code in codes if not isinstance(code, str)),
        missing_words=tuple(code for code in codes if isinstance(code, str)),
        encoding=read_encoding(settings.encoding or "utf-8"),
        position=_unless_none(read_position, settings.position),
        rotation=None
        if turns is None or settings.origin is None
        else LocalFrame(
            read_turns(turns),
            read_point(settings.origin),
            read_point(settings.local_origin or still),
        ),
        frame=None if boxes is None else LocalFrame(read_turns(boxes), still),
        gslib_grid=None if settings.gslib_grid is None else read_gslib_grid(settings.gslib_grid),
        points_are_middles=bool(settings.points_are_middles),
        own_missing=own,
        below_detection=_unless_none(read_below_detection, settings.below_detection),
        detection_limits=tuple((column, read_limit(limit)) for column, limit in limits.items()),
    )


def _marks(missing: Missing) -> tuple[list[Mark], tuple[tuple[str, Mark], ...]]:
    """Return the missing-value marks for all columns, and pairs (column, mark) for one column."""
    if isinstance(missing, Mapping):
        return [], tuple((name, mark) for name in missing for mark in _marks(missing[name])[0])
    # NumPy's numbers are Real, but not all are Python floats.
    codes = [*map(read_missing, (missing,) if isinstance(missing, str | float | Real) else missing)]
    everywhere: list[Mark] = []
    own: list[tuple[str, Mark]] = []
    for code in codes:
        column, _, mark = code.rpartition("=") if isinstance(code, str) else ("", "", "")
        if column.strip() and mark.strip():
            own.append((column.strip(), read_missing(mark)))
        else:
            everywhere.append(code)
    return everywhere, tuple(own)


def _unless_none(read: Callable[[Value], Read], value: Value | None) -> Read | None:
    """Return the value of a keyword after reading it with `read`, or None if it is not given."""
    return None if value is None else read(value)


def read_position(value: str) -> Position:
    """Return "centroid" or "corner"; raise ValueError for any other text."""
    for position in _POSITIONS:
        if value == position:
            return position
    message = f"position is {value!r}; use 'centroid' or 'corner'"
    raise ValueError(message)


def read_delimiter(value: str) -> bytes:
    """Return the byte of one of the four delimiters, from its sign or its name."""
    mark = _DELIMITERS.get(value.lower(), value)
    if mark not in _DELIMITERS.values():
        message = f"{value!r} is not a delimiter; use one of , ; tab |"
        raise ValueError(message)
    return bytes(mark, "ascii")


def read_decimal(value: str) -> bytes:
    """Return the byte of a decimal mark, which is a comma or a point."""
    if value not in (",", "."):
        message = f"{value!r} is not a decimal mark; use , or ."
        raise ValueError(message)
    return bytes(value, "ascii")


def read_encoding(value: str) -> str:
    """Return Python's name of an encoding; raise ValueError unless ASCII takes one byte in it."""
    try:
        name = codecs.lookup(value).name
        if ",a0".encode(name) == b",a0":
            return name
    except (LookupError, UnicodeError):
        pass
    message = f"{value!r} is not an encoding that contains ASCII; use one such as utf-8"
    raise ValueError(message)


def read_missing(value: float | str) -> float | str:
    """Return a missing-value mark: a float if the mark is a number, otherwise a text.

    The number may have a decimal point or a decimal comma.
    """
    text = str(value).strip()
    try:
        code = float(text.replace(",", "."))
    except ValueError:
        code = math.nan
    if not text or "\0" in text:
        message = (
            "give the text that marks a missing value; an empty field counts as missing anyway"
        )
        raise ValueError(message)
    return code if math.isfinite(code) else text


def read_below_detection(value: str) -> BelowDetection:
    """Return a policy for values below detection; raise ValueError for an unknown one."""
    for count in BELOW_DETECTION:
        if value == count:
            return count
    message = f"below_detection is {value!r}; use {', '.join(map(repr, BELOW_DETECTION))}"
    raise ValueError(message)


def read_limit(value: float) -> float:
    """Return a detection limit as a float; raise ValueError unless it is finite and above 0."""
    limit = float(value)
    if not 0 < limit < math.inf:
        message = f"a detection limit is {value}; it must be above 0"
        raise ValueError(message)
    return limit


def read_limit_of(text: str) -> tuple[str, float]:
    """Return the column and the detection limit of a text COLUMN=LIMIT."""
    column, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not column or not 0 < limit < math.inf:
        message = f"{text!r} is not COLUMN=LIMIT, such as AU=0.01"
        raise ValueError(message)
    return column, limit


def read_turns(value: str | Turns) -> Turns:
    """Return (axis, degrees) pairs from AXIS=DEGREES,...; a sequence is returned as it is."""
    if not isinstance(value, str):
        return value
    parts = [part.partition("=") for part in value.split(",")]
    try:
        pairs = tuple((axis.strip().lower(), float(angle)) for axis, _, angle in parts)
    except ValueError:
        pairs = ()
    if not pairs or any(axis not in "xyz" or not math.isfinite(angle) for axis, angle in pairs):
        message = f"{value!r} is not AXIS=DEGREES, such as z=30 or z=30,x=-60"
        raise ValueError(message)
    return cast(Turns, pairs)


def read_point(value: str | Sequence[float]) -> Triple:
    """Return three numbers, from a sequence or from a text such as "1,2,3"."""
    try:
        numbers = tuple(map(float, value.split(",") if isinstance(value, str) else value))
    except ValueError:
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        message = f"{value!r} is not X,Y,Z, three numbers with decimal points"
        raise ValueError(message)
    return numbers


def read_gslib_grid(value: str | Sequence[float] | Grid) -> Grid:
    """Return a grid, from nine numbers or from NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ."""
    if isinstance(value, Grid):
        return value
    try:
        numbers = tuple(map(float, value.split(",") if isinstance(value, str) else value))
        return grid_of(numbers)
    except ValueError as error:
        reason = str(error) if len(str(error)) < 80 and "DX" in str(error) else "nine numbers"
        message = f"{value!r} is not NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ ({reason})"
        raise ValueError(message) from None
