"""Whether the centroids of a table are local to a rotated model; decided from its first rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from geodomain.errors import GeodomainWarning, TableError
from geodomain.tables.dialect import number
from geodomain.tables.families import DATAMINE, WORLD, Family, Triplet, plain_name


@dataclass(frozen=True)
class Rotation:
    """What the head and the first rows say of a rotation: nothing, where the words are empty.

    Attributes
    ----------
    rows : str
        What Micromine's rotation row says.
    angles : str
        What Datamine's ANGLE columns say.
    """

    rows: str
    angles: str

    def prefer_world(self, found: dict[Triplet, Family]) -> dict[Triplet, Family]:
        """Keep world coordinates alone where they stand beside ones that are or may be local."""
        world = {columns: family for columns, family in found.items() if family == WORLD}
        if world and (self.rows or self.angles or DATAMINE in found.values()):
            rest = {c: f for c, f in found.items() if f not in (WORLD, DATAMINE)}
            return world if self.rows or self.angles else world | rest
        return found

    def require_world(self, names: Sequence[str], xyz: Triplet, table: str, *, named: bool) -> None:
        """Raise TableError where the chosen centroids are local to a rotated model.

        Columns that the user has named are taken, with a warning.
        """
        plain = tuple(plain_name(names[column]) for column in xyz)
        local = self.rows or (self.angles if plain == DATAMINE.names else "")
        if plain == WORLD.names or not (local or self.angles):
            return
        chosen = ", ".join(names[column] for column in xyz)
        if local and not named:
            message = (
                f"{table} is a rotated model ({local}) and {chosen} may be local to it, while "
                "there are no XWORLD, YWORLD and ZWORLD: export world coordinates and name them "
                f"with --x, --y and --z, which also accept {chosen} if they are in the world frame."
            )
            raise TableError(message)
        message = (
            f"{table} is a rotated model ({local or self.angles}); {chosen} are taken for world "
            "coordinates"
        )
        warnings.warn(message, GeodomainWarning, stacklevel=2)


def datamine_rotation(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Say which ANGLE column turns the model, or nothing.

    A Datamine file repeats its prototype in every row, so that the first rows decide. An angle
    turns the model where it is not zero and its ROTAXIS, if there is one, names an axis; in such a
    file XC, YC and ZC are local to the rotated frame.
    """
    plain = [plain_name(name) for name in names]
    for index in "123":
        if f"angle{index}" not in plain:
            continue
        angles = _numbers(rows, plain.index(f"angle{index}"))
        axis = f"rotaxis{index}"
        axes = _numbers(rows, plain.index(axis)) if axis in plain else [1.0]
        turned = next((angle for angle in angles if angle), 0.0)
        if turned and any(axes):
            return f"ANGLE{index} is {turned:g}"
    return ""


def micromine_rotation(angles: Sequence[float]) -> str:
    """Say that a Micromine rotation row turns the model, or nothing."""
    if not any(angles):
        return ""
    return "its rotation row says " + ", ".join(f"{angle:g}" for angle in angles)


def _numbers(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    """Read the numbers of a column, leaving out what is none."""
    cells = (number(row[column]) for row in rows if column < len(row))
    return [cell for cell in cells if cell is not None]
