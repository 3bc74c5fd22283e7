"""Options that describe a table."""

from __future__ import annotations

from typing import NamedTuple

from geodomain.io.header.frames import LocalFrame, Position
from geodomain.io.header.gslib_grid import Grid


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
        Numbers such as -99, and texts such as NA, that mean that a coordinate is missing.
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

    @property
    def centroid(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the centroid columns."""
        return self.x, self.y, self.z

    @property
    def size(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the block size columns."""
        return self.dx, self.dy, self.dz
