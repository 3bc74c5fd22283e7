"""Whether the centroids of a table are local to a rotated model, and to which frame then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from geodomain.errors import TableError, warn
from geodomain.io.conditions import Column
from geodomain.io.header import micromine
from geodomain.io.header.dialect import number
from geodomain.io.header.families import DATAMINE, WORLD, Family, Triplet, plain_name
from geodomain.io.header.frames import Axis, LocalFrame, Triple, shortest
from geodomain.io.header.micromine import Blocks
from geodomain.io.header.vendor import MicromineModel

_AXES: dict[float, Axis] = {1.0: "x", 2.0: "y", 3.0: "z"}


class Rotation(NamedTuple):
    """What the head and the first rows say of a rotation: nothing, where the words are empty.

    Attributes
    ----------
    rows : str
        What Micromine's rotation row says.
    angles : str
        What Datamine's ANGLE columns say.
    prototype : LocalFrame or str
        Datamine's local frame, or what is lacking to know it.
    model : MicromineModel, optional
        What Micromine says of the whole model.
    origins : tuple of two points, optional
        Datamine's X0, Y0, Z0 and XMORIG, YMORIG, ZMORIG, where they differ.
    """

    rows: str
    angles: str
    prototype: LocalFrame | str = ""
    model: MicromineModel | None = None
    origins: tuple[Triple, Triple] | None = None

    def prefer_world(self, found: dict[Triplet, Family]) -> dict[Triplet, Family]:
        """Keep world coordinates alone where they stand beside ones that are or may be local."""
        world = {columns: family for columns, family in found.items() if family == WORLD}
        if world and (self.rows or self.angles or DATAMINE in found.values()):
            rest = {c: f for c, f in found.items() if f not in (WORLD, DATAMINE)}
            return world if self.rows or self.angles else world | rest
        return found

    def settle(
        self, names: Sequence[str], xyz: Triplet, table: str, *, named: bool, blocks: Blocks
    ) -> LocalFrame | None:
        """Give the frame that the chosen centroids are in, None where that is the world.

        Columns that the user has named are taken for world coordinates, with a warning.

        Raises
        ------
        TableError
            Where they are local to a rotated model, or may be, and the head does not say how.
        """
        plain = tuple(plain_name(names[column]) for column in xyz)
        local = self.rows or (self.angles if plain == DATAMINE.names else "")
        if plain == WORLD.names or not (local or self.angles):
            if plain == DATAMINE.names and self.origins and not named:
                _warn(_uncertain(table, *self.origins))
            return None
        chosen = ", ".join(names[column] for column in xyz)
        if local and not named:
            return self._known(local, chosen, table, blocks)
        _warn(
            f"{table} is a rotated model ({local or self.angles}); {chosen} are taken for world "
            "coordinates"
        )
        return None

    def _known(self, local: str, chosen: str, table: str, blocks: Blocks) -> LocalFrame | None:
        """Give the frame of local centroids, or refuse to guess."""
        frame = micromine.frame_of(self.model, blocks) if self.model else self.prototype
        if frame is None:
            _warn(
                f"{table} is a rotated model ({local}); {chosen} lie on its turned lattice and are "
                "taken for world coordinates"
            )
            return None
        if isinstance(frame, LocalFrame):
            _warn(
                f"{table} is a rotated model ({local}); {chosen} are local to it, and are turned "
                f"into world coordinates ({frame.say()})"
            )
            return frame
        message = (
            f"{table} is a rotated model ({local}) and {chosen} may be local to it: there are no "
            f"XWORLD, YWORLD and ZWORLD, and {frame}. Say where it lies with rotation= and "
            "origin=, or export world coordinates and name them with x=, y= and z=, which "
            f"also accept {chosen} if they are in the world frame."
        )
        raise TableError(message)


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


_ORIGINS = tuple(f"{axis}{word}" for word in ("0", "morig") for axis in "xyz")
_TURNS = tuple(f"{word}{index}" for index in "123" for word in ("rotaxis", "angle"))


def datamine_prototype(names: Sequence[str], rows: Sequence[Sequence[str]]) -> LocalFrame | str:
    """Give the frame that a Datamine prototype describes, or what is lacking to know it.

    Datamine's help, of the process PROTOM: a rotated model has its origin in the world, X0, Y0
    and Z0, and in its own frame, XMORIG, YMORIG and ZMORIG. Of COPYMOD: XC, YC and ZC are in the
    latter, and ANGLE1..3 with ROTAXIS1..3 (1, 2, 3: x, y, z; 0: no rotation) relate the two.
    """
    plain = [plain_name(name) for name in names]
    values: list[float] = []
    for name in (*_ORIGINS, *_TURNS):
        found = set(_numbers(rows, plain.index(name))) if name in plain else set()
        # The second and third turn may be missing altogether.
        if not found and name in _TURNS[2:]:
            found = {0.0}
        if len(found) != 1:
            return f"{name.upper()} {'differs among the rows' if found else 'is not there'}"
        values += found
    turns = list(zip(values[6::2], values[7::2], strict=True))
    if any(axis not in (0.0, *_AXES) for axis, _ in turns):
        return "a ROTAXIS is none of 0, 1, 2 and 3"
    return LocalFrame(
        [(_AXES[axis], angle) for axis, angle in turns if axis and angle],
        origin=(values[0], values[1], values[2]),
        local_origin=(values[3], values[4], values[5]),
    )


def datamine_origins(
    names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Triple, Triple] | None:
    """Return the origins in the world and in the model's frame, where a prototype has both.

    None where they are equal, or where the one in the world is 0, 0, 0, as a model that was never
    rotated may have it.
    """
    plain = [plain_name(name) for name in names]
    if not set(_ORIGINS) <= set(plain):
        return None
    values = [set(_numbers(rows, plain.index(name))) for name in _ORIGINS]
    if any(len(found) != 1 for found in values):
        return None
    x, y, z, *local = (found.pop() for found in values)
    world = (x, y, z)
    return (world, (local[0], local[1], local[2])) if any(world) and world != (*local,) else None


def _uncertain(table: str, world: Triple, local: Triple) -> str:
    """Say that the coordinates of a model that is not rotated may be local to it all the same."""
    here, there = (", ".join(map(shortest, point)) for point in (world, local))
    frame = LocalFrame([("z", 0.0)], world, local)
    return (
        f"{table}: its angles are all 0, but its origin is {here} in X0, Y0, Z0 and {there} in "
        "XMORIG, YMORIG, ZMORIG: whether XC, YC, ZC are in the world or local to the model is not "
        "certain. They are taken for world coordinates; if they are local, give "
        f"{frame.say()}; if not, x='XC', y='YC', z='ZC'"
    )


def datamine_constants(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, turned: bool
) -> dict[int, float]:
    """Give the columns of a Datamine prototype that every row must repeat, and what they say.

    Where the model is not turned only its angles matter: another model further down might be.
    """
    plain = [plain_name(name) for name in names]
    wanted = (*_ORIGINS, *_TURNS) if turned else _TURNS
    places = [plain.index(name) for name in wanted if name in plain]
    return {place: next(iter(_numbers(rows, place)), 0.0) for place in places}


def require_constants(
    constants: Mapping[int, float],
    column: Callable[[int], Column],
    names: Sequence[str],
    table: str,
    done: int = 0,
) -> None:
    """Refuse a row that says something else of the frame than the first ones: another model.

    `done` rows were seen before those that `column` gives.
    """
    for place, value in constants.items():
        numbers = column(place).loose_numbers()
        other = (numbers != value) & ~(np.isnan(numbers) & (value == 0))
        if other.any():
            row = int(other.argmax())
            message = (
                f"{table}: {names[place]} is {value:g} in the first blocks and "
                f"{numbers[row]:g} in block {done + row + 1}: these are several models, rotated "
                "in different ways; label them one at a time."
            )
            raise TableError(message)


def micromine_rotation(model: MicromineModel | None) -> str:
    """Say that a Micromine rotation row turns the model, or nothing."""
    if model is None or not any(model.angles):
        return ""
    return "its rotation row says " + ", ".join(f"{angle:g}" for angle in model.angles)


def _numbers(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    """Read the numbers of a column, leaving out what is none."""
    cells = (number(row[column]) for row in rows if column < len(row))
    return [cell for cell in cells if cell is not None]


def _warn(message: str) -> None:
    """Say what has been understood of a rotation: nobody should have to guess it."""
    warn(message)
