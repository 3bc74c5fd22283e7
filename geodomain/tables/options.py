"""What the user says of a table; nothing is read here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableOptions:
    """What the user says of a table, where its head does not, or not clearly.

    Attributes
    ----------
    x, y, z, dx, dy, dz : str, optional
        Names of the centroid and block size columns; case, quotes and blanks do not matter.
    delimiter : bytes, optional
        One of ``, ; tab |``.
    decimal : bytes, optional
        The decimal mark, ``,`` or ``.``.
    missing, missing_words : tuple of float, tuple of str
        Numbers such as -99, and texts such as NA, that mean that a coordinate is missing.
    encoding : str
        Encoding of the head's names and of new cells.
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

    @property
    def centroid(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the centroid columns."""
        return self.x, self.y, self.z

    @property
    def size(self) -> tuple[str | None, str | None, str | None]:
        """Give the names of the block size columns."""
        return self.dx, self.dy, self.dz
