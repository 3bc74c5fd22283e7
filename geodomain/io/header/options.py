"""Options that describe a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from geodomain.io.header.families import find_column, plain_name
from geodomain.io.header.frames import LocalFrame, Position
from geodomain.io.header.gslib_grid import Grid
from geodomain.io.number_columns import BelowDetection, Mark, NumberRule


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
