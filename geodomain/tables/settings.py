"""Settings for reading tables: keywords of functions and options of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from geodomain.settings import FLAG, TEXT, one_of, read_by, setting

if TYPE_CHECKING:
    from geodomain.tables.frames import Axis, Grid, Position
    from geodomain.tables.numbers import BelowDetection, Mark

Turns: TypeAlias = "Sequence[tuple[Axis, float]]"
Marks: TypeAlias = "Mark | Sequence[Mark]"
Missing: TypeAlias = "Marks | Mapping[str, Marks]"


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """Position and rotation of the blocks of a table.

    Raises
    ------
    ValueError
        For an origin without a rotation, a rotation without an origin, or both a rotation and a
        frame.
    """

    position: Position | None = setting(
        None,
        one_of(("centroid", "corner"), toml_only=True),
        "Whether the coordinates are centroids or lowest corners (smallest x, y and z). Corners "
        "need block sizes. "
        " [default: as the header says, otherwise centroid]",
        hashed=True,
    )
    rotation: str | Turns | None = setting(
        None,
        read_by("read_turns"),
        "Rotation of the model, if its coordinates are local. z=30 turns the model's north to "
        "azimuth 30. Several rotations, such as z=30,x=-60, are applied in this order, each about "
        "an axis of the model as the earlier ones have turned it. Angles are clockwise, seen from "
        "the positive end of the axis.",
        hashed=True,
        metavar="AXIS=DEGREES,...",
    )
    origin: str | Sequence[float] | None = setting(
        None,
        read_by("read_point"),
        "With rotation=: origin of the model in world coordinates, such as 500100,6000200,250.",
        hashed=True,
        metavar="X,Y,Z",
    )
    local_origin: str | Sequence[float] | None = setting(
        None,
        read_by("read_point"),
        "With rotation=: local coordinates of the origin= point.  [default: 0,0,0]",
        hashed=True,
        metavar="X,Y,Z",
    )
    frame: str | Turns | None = setting(
        None,
        read_by("read_turns"),
        "Rotation of the blocks, such as z=30, if the blocks are rotated and their centroids are "
        "in world coordinates.",
        hashed=True,
        metavar="AXIS=DEGREES,...",
    )

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        message = ""
        if self.rotation is None:
            if self.origin is not None or self.local_origin is not None:
                message = "origin= and local_origin= need a rotation=: give it as well"
        elif self.frame is not None:
            message = (
                "rotation= is for local coordinates, and frame= for world coordinates: give only "
                "one of them"
            )
        elif self.origin is None:
            message = "rotation= needs origin=: the world coordinates of the model's origin"
        if message:
            raise ValueError(message)


def _of_centroid(axis: str) -> str | None:
    return setting(None, TEXT, f"Column of the centroid's {axis}.", hashed=True, metavar="COLUMN")


def _of_size(axis: str) -> str | float | None:
    text = f"Column of block sizes in {axis}, or one size for all blocks."
    return setting(None, TEXT, text, hashed=True, metavar="COLUMN")


@dataclass(frozen=True, kw_only=True)
class TableSettings(PlaceSettings):
    """Settings for reading a table of blocks; `options_of` converts them to `TableOptions`."""

    x: str | None = _of_centroid("x")
    y: str | None = _of_centroid("y")
    z: str | None = _of_centroid("z")
    dx: str | float | None = _of_size("x")
    dy: str | float | None = _of_size("y")
    dz: str | float | None = _of_size("z")
    delimiter: str | None = setting(
        None,
        read_by("read_delimiter"),
        "Mark between columns: , ; tab or |  [default: detected]",
        hashed=True,
        metavar="MARK",
    )
    decimal: str | None = setting(
        None,
        read_by("read_decimal"),
        "Decimal mark: a comma or a point.  [default: detected]",
        hashed=True,
        metavar="MARK",
    )
    encoding: str = setting(
        "utf-8",
        read_by("read_encoding"),
        "Encoding of the text in the table, and of text that is added to it.",
        hashed=True,
        metavar="NAME",
    )
    missing: Missing = setting(
        (),
        read_by("read_missing", list),
        "Value that means missing, such as -99 or NA; AU=-99 applies it to one column. May be "
        "repeated. Empty cells and NaN are always missing.",
        hashed=True,
        metavar="[COLUMN=]VALUE",
    )
    below_detection: BelowDetection | None = setting(
        None,
        one_of(("half", "limit", "zero", "missing"), toml_only=True),
        "What to use for values below detection (texts such as <0.01, and negative grades): half "
        "of the detection limit, the limit, 0, or missing.  [default: texts are an error; negative "
        "grades are used as they are, with a warning]",
        hashed=True,
    )
    detection_limit: Mapping[str, float] | None = setting(
        None,
        read_by("read_limit_of", dict),
        "With below_detection=: the detection limit to assume for words such as BDL in a column; "
        "may be repeated.",
        hashed=True,
        metavar="COLUMN=LIMIT",
    )
    gslib_grid: str | Sequence[float] | Grid | None = setting(
        None,
        read_by("read_gslib_grid"),
        "Grid of a GSLIB file that does not state its grid: number of cells, centre of the first "
        "cell, cell sizes.",
        hashed=True,
        metavar="NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ",
    )
    points_are_middles: bool = setting(
        False,
        FLAG,
        "For a table of drillhole samples (FROM and TO): x, y, z are the midpoints of the samples. "
        "Without this option, the table is refused if, in most holes, all samples have the same x, "
        "y, z, because these are probably the coordinates of the collar.",
        hashed=True,
    )


# --- The keywords of functions, for a type checker: a test compares them with the fields.


class NumberKeywords(TypedDict, total=False):
    """Keywords of every function that uses columns as numbers; all are optional.

    ``missing`` lists values that mean missing, such as -99 or "NA"; "AU=-99" or {"AU": -99} applies
    to one column. ``below_detection`` sets how texts such as "<0.01", and negative grades, are
    read: as "half" of the detection limit, the "limit", "zero" or "missing".
    ``detection_limit`` gives the limit of words such as "BDL" by column: {"AU": 0.01}.
    """

    missing: Missing
    below_detection: BelowDetection | None
    detection_limit: Mapping[str, float] | None


class TextKeywords(NumberKeywords, total=False):
    """Keywords of every function that reads tables of text; all are optional."""

    delimiter: str | None
    decimal: str | None
    encoding: str


class ColumnKeywords(TextKeywords, total=False):
    """Keywords of every function that reads blocks from a file or a table in memory.

    All are optional. They include those of `TextKeywords`.

    ``x``, ``y``, ``z``, ``dx``, ``dy``, ``dz`` name the columns of the centroid and the block
    sizes; a size may also be a number, for all blocks. ``position`` is "centroid" or "corner".
    ``rotation``, such as "z=30" or [("z", 30)], means that coordinates are local; ``origin`` and
    ``local_origin``, three numbers each, are the same point in the world and in the model.
    ``delimiter``, ``decimal`` and ``encoding`` are for text tables. ``gslib_grid`` is
    "NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ", or nine numbers, for GSLIB. ``points_are_middles`` accepts
    sample midpoints that look like collar coordinates, because they are the same for all intervals
    (FROM to TO) of a hole.
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
    gslib_grid: str | Sequence[float] | Grid | None
    points_are_middles: bool


class TableKeywords(ColumnKeywords, total=False):
    """Keywords of every function that reads a block model from a file; all are optional.

    ``frame``, such as "z=30" or [("z", 30)], is the rotation of blocks whose coordinates are world
    coordinates.
    """

    frame: str | Turns | None
