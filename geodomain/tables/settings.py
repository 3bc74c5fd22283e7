"""What a user can say about a table: the keywords of functions that read one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from geodomain.files.gslib import Grid
    from geodomain.tables.frames import Axis, Position
    from geodomain.tables.numbers import BelowDetection, Mark

Turns: TypeAlias = "Sequence[tuple[Axis, float]]"
Marks: TypeAlias = "Mark | Sequence[Mark]"
Missing: TypeAlias = "Marks | Mapping[str, Marks]"


class NumberKeywords(TypedDict, total=False):
    """Keywords of every function that uses columns as numbers; all are optional.

    ``missing`` lists marks of missing values: -99, "NA", or several; for one column "AU=-99" or
    {"AU": -99}. ``below_detection`` says how texts such as "<0.01", and negative grades, count:
    as "half" or all ("limit") of the detection limit, as "zero" or as "missing".
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
    sizes; sizes may be numbers, the size of every block. ``position`` is "centroid" or "corner".
    ``rotation``, such as "z=30" or [("z", 30)], says that coordinates are local; ``origin`` and
    ``local_origin``, three numbers each, are the same point in the world and in the model.
    ``delimiter``, ``decimal`` and ``encoding`` are for text. ``gslib_grid`` is
    "NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ", or nine numbers, for GSLIB. ``points_are_middles`` accepts
    coordinates beside FROM and TO that are the same for all samples of a hole.
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

    ``frame``, such as "z=30" or [("z", 30)], turns the blocks; their coordinates are world ones.
    """

    frame: str | Turns | None
