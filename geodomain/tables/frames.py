"""World centroids of blocks, computed from corners or from coordinates in a rotated frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Literal, NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError

Axis = Literal["x", "y", "z"]
Position = Literal["centroid", "corner"]
Triple = tuple[float, float, float]
# Returns the names of a row and a column for a message. Called with the number of the row, and the
# index of the column among x, y, z, dx, dy, dz, both counted from 0.
Where = Callable[[int, int], str]

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620900")
_DIGITS = 70
# Plane in which each axis turns. Seen from the axis's positive end, a clockwise turn moves the
# second direction to the first: about z, north to east.
_PLANES: dict[Axis, tuple[int, int]] = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}


@dataclass(frozen=True)
class LocalFrame:
    """A rotated frame for the coordinates of a block model.

    The rotations turn the world axes, one after another, into the axes of the frame. Each rotation
    is about an axis that the previous rotations have already moved. A positive angle is clockwise
    when looking from the positive end of the axis to the origin: ``("z", 30)`` turns the y axis
    from north to azimuth 30. This is Datamine's convention. According to its help, CDTRAN rotates
    the axes, angles in ROTORDER are clockwise in this sense, and a rotated model from PROTOM has
    its origin in both frames: X0, Y0, Z0 in the world, and XMORIG, YMORIG, ZMORIG in the model.

    Parameters
    ----------
    turns : sequence of (axis, angle)
        Axes "x", "y", "z" and degrees, in the order in which they are applied.
    origin : tuple of float
        World coordinates of a reference point.
    local_origin : tuple of float
        Coordinates of the same point in the local frame.

    Examples
    --------
    >>> frame = LocalFrame([("z", 90)], origin=(500, 1000, 100))
    >>> frame.to_world(np.array([[10.0, 20.0, 5.0]]))
    array([[520., 990., 105.]])
    """

    turns: Sequence[tuple[Axis, float]]
    origin: Triple
    local_origin: Triple = (0.0, 0.0, 0.0)
    matrix: tuple[Triple, Triple, Triple] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the rotation matrix; every entry is the double nearest to the true value."""
        for axis, angle in self.turns:
            if axis not in _PLANES or not math.isfinite(angle):
                message = f"a rotation is an axis x, y or z and degrees, not {(axis, angle)!r}"
                raise ValueError(message)
        object.__setattr__(self, "turns", tuple(self.turns))
        object.__setattr__(self, "matrix", _matrix(self.turns))

    def to_world(self, points: Floats) -> Floats:
        """Convert points, (n, 3), from local to world coordinates.

        Each difference, product and sum is rounded once to float64, in a fixed order, so the result
        is the same on every machine. Rotations by multiples of 90 degrees add no rounding. If one
        coordinate of a point is missing (NaN), all three results are NaN.
        """
        return turned(points, self.matrix, self.origin, self.local_origin)

    def to_local(self, points: Floats) -> Floats:
        """Convert points, (n, 3), from world to local coordinates, rounded as in `to_world`."""
        back = np.array(self.matrix).T
        return turned(points, back, self.local_origin, self.origin)

    def say(self) -> str:
        """Return the frame for a message, as the keywords rotation, origin and local_origin."""
        origins = (",".join(map(shortest, point)) for point in (self.origin, self.local_origin))
        return "{}, origin='{}', local_origin='{}'".format(self.say_turns(), *origins)

    def say_turns(self, keyword: str = "rotation") -> str:
        """Return the rotations for a message, as a keyword and its value: rotation='z=30'."""
        turns = ",".join(f"{axis}={shortest(angle)}" for axis, angle in self.turns)
        return f"{keyword}='{turns}'"


class Frame(NamedTuple):
    """Meaning of the coordinates of a block model.

    Attributes
    ----------
    position : {"centroid", "corner"}
        Whether the coordinates are centroids or lowest corners.
    local : LocalFrame, optional
        Frame of the coordinates, if they are not world coordinates.
    fixed : tuple of float, optional
        Size of every block, if there are no size columns.
    boxes : LocalFrame, optional
        Frame whose axes are parallel to the block edges. It is set if coordinates are world
        coordinates and the caller gives the rotation of the blocks. Its origin is the world origin.
    stated : bool
        Whether the rotation comes from the caller, not from the file.
    """

    position: Position = "centroid"
    local: LocalFrame | None = None
    fixed: Triple | None = None
    boxes: LocalFrame | None = None
    stated: bool = False

    @property
    def lattice(self) -> LocalFrame | None:
        """The frame in which blocks are axis-aligned; None if no rotation is known."""
        return self.local or self.boxes

    @property
    def axes(self) -> Floats:
        """The directions of the block edges in world coordinates, one row per axis."""
        return np.eye(3) if self.lattice is None else np.array(self.lattice.matrix).T

    def sized(self, points: Floats, sizes: Floats | None) -> Floats | None:
        """Return the sizes of blocks, (n, 3), or None if they are unknown.

        The result is `sizes` if given, and otherwise the fixed size of every block.
        """
        if sizes is None and self.fixed is not None:
            return np.broadcast_to(np.array(self.fixed), points.shape)
        return sizes

    def centroids(self, points: Floats, sizes: Floats | None, where: Where | None = None) -> Floats:
        """Return the world centroids of blocks, (n, 3).

        If `points` are corners, `sizes` (n, 3) are needed. A centroid is corner + size / 2 in
        float64: halving is exact, and the sum is rounded once. If `boxes` is set, each corner is
        the corner of a rotated block with the lowest coordinates in the frame `boxes`, and half the
        size is rotated before it is added. If `points` are world centroids, they are returned
        without a copy. `where` names a row and its column in an error.

        Raises
        ------
        TableError
            For a coordinate or a size beyond the limit of `refuse_far`.
        """
        refuse_far(points, sizes, where)
        if self.position == "corner":
            if sizes is None:
                message = "position='corner' needs block sizes"
                raise ValueError(message)
            half = sizes / 2
            points = points + (half if self.boxes is None else self.boxes.to_world(half))
        return points if self.local is None else self.local.to_world(points)


# No model reaches farther, in any unit. A larger number is a missing-value mark, such as 1e30,
# 1.7e38 or 1.797e308. Up to this limit volumes, extents and steps are finite.
_FARTHEST = 1e15


def refuse_far(points: Floats, sizes: Floats | None, where: Where | None = None) -> None:
    """Refuse coordinates and sizes, (n, 3) each, of a magnitude above 1e15; accept NaN.

    Raises
    ------
    TableError
        For the first row with such a coordinate or size. `where` names the row and its column. The
        message has a remedy.
    """
    for first, numbers in ((0, points), (3, sizes)):
        if numbers is None or not len(numbers):
            continue
        # NaN makes both comparisons false; such a chunk is checked number by number.
        if float(numbers.max()) <= _FARTHEST and float(numbers.min()) >= -_FARTHEST:
            continue
        far = np.abs(numbers) > _FARTHEST
        if far.any():
            row, axis = divmod(int(np.ascontiguousarray(far).argmax()), 3)
            number = float(numbers[row, axis])
            message = (
                f"{(where or _where)(row, first + axis)} is {number!r}, which is too large for a "
                f"coordinate or size (limit {_FARTHEST:g}). Correct the number, or, if it stands "
                f"for a missing value, use missing={str(number)!r}."
            )
            raise TableError(message)


def _where(row: int, place: int) -> str:
    return f"block {row + 1:,}: {('x', 'y', 'z', 'dx', 'dy', 'dz')[place]}"


def turned(
    points: Floats,
    matrix: Sequence[Sequence[float]] | Floats,
    origin: Sequence[float],
    local_origin: Sequence[float] = (0.0, 0.0, 0.0),
) -> Floats:
    """Return ``origin + matrix @ (points - local_origin)``, (n, 3); each operation rounds once."""
    out = np.empty(points.shape, order="F")
    with np.errstate(invalid="ignore"):
        x, y, z = (points[:, axis] - local_origin[axis] for axis in range(3))
        for axis, (along_x, along_y, along_z) in enumerate(matrix):
            out[:, axis] = x * along_x + y * along_y + z * along_z
            out[:, axis] += origin[axis]
    return out


def shortest(value: float) -> str:
    """Format a number with the fewest digits that read back as the same number."""
    return repr(float(value)).removesuffix(".0")


def sine_and_cosine(degrees: float) -> tuple[Decimal, Decimal]:
    """Return sine and cosine of an angle in degrees, with more digits than a double.

    Python's sine may differ in its last bit between platforms. Centroids computed with Python's
    sine would then differ, too.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        quarters = round(math.fmod(degrees, 360.0) / 90.0)
        # The reduction is exact: fmod is exact, and the remainder is within 45 degrees of zero.
        rest = Decimal(math.fmod(degrees, 360.0)) - 90 * quarters
        sine, cosine = _series(rest * _PI / 180)
        turned = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))
        return turned[quarters % 4]


def _series(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Sum the power series of sine and cosine for a small angle in radians."""
    sums, term, power = [Decimal(0), Decimal(1)], Decimal(1), 0
    while term and abs(term) > Decimal(10) ** -_DIGITS:
        power += 1
        term = term * angle / power
        sums[(power + 1) % 2] += -term if power % 4 in (2, 3) else term
    return sums[0], sums[1]


def _matrix(turns: Sequence[tuple[Axis, float]]) -> tuple[Triple, Triple, Triple]:
    """Return the matrix that rotates from frame to world; every entry is rounded once."""
    with localcontext() as context:
        context.prec = _DIGITS
        whole = [[Decimal(int(row == column)) for column in range(3)] for row in range(3)]
        for axis, angle in turns:
            first, second = _PLANES[axis]
            sine, cosine = sine_and_cosine(angle)
            for row in whole:
                row[first], row[second] = (
                    cosine * row[first] - sine * row[second],
                    sine * row[first] + cosine * row[second],
                )
        # Adding 0 turns -0.0 into 0.0.
        x, y, z = ((float(a) + 0.0, float(b) + 0.0, float(c) + 0.0) for a, b, c in whole)
    return x, y, z


# --- The grid of a GSLIB table, whose rows have no coordinates.


@dataclass(frozen=True)
class Grid:
    """A regular grid of cells, stored with x fastest, then y, then z upwards.

    Attributes
    ----------
    counts : tuple of int
        Numbers of cells along x, y and z.
    first : tuple of float
        Centre of the first cell.
    sizes : tuple of float
        Size of a cell along x, y and z.
    """

    counts: tuple[int, int, int]
    first: tuple[float, float, float]
    sizes: tuple[float, float, float]

    @property
    def count(self) -> int:
        """The number of cells."""
        return math.prod(self.counts)


def grid_of(numbers: Sequence[float]) -> Grid:
    """Return the grid that nine numbers describe: cell counts, centre of the first cell, cell size.

    Raises
    ------
    ValueError
        If there are not nine finite numbers, a count is not a whole number above 0, or a size is
        not above 0.
    """
    counts, first, sizes = numbers[:3], numbers[3:6], numbers[6:9]
    whole = all(1 <= count < 2**40 and count == int(count) for count in counts)
    finite = all(math.isfinite(number) for number in (*first, *sizes))
    if len(numbers) != 9 or not whole or not finite:
        message = "NX,NY,NZ must be whole numbers; XMN,YMN,ZMN,DX,DY,DZ must be numbers"
        raise ValueError(message)
    if min(sizes) <= 0:
        message = "DX,DY,DZ must be above zero"
        raise ValueError(message)
    nx, ny, nz = map(int, counts)
    return Grid((nx, ny, nz), (first[0], first[1], first[2]), (sizes[0], sizes[1], sizes[2]))
