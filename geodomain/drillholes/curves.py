"""The curves of drillholes: arcs and straight pieces from their stations, and points on them.

Between stations with unit tangents t0 and t1, a length s apart along the hole, b the angle between
the tangents:

- minimum curvature: one arc of the radius s / b that has both tangents. (S. J. Sawaryn and
  J. L. Thorogood, "A Compendium of Directional Calculations Based on the Minimum Curvature
  Method", SPE Drilling and Completion 20, 2005.)
- balanced: the first half along t0, the second along t1.
- tangent: all of it along t0.

Everything is float64 and done hole by hole in the order of depth, so that a hole's points do not
depend on other holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints

Method = Literal["minimum curvature", "balanced", "tangent"]
METHODS: tuple[Method, ...] = ("minimum curvature", "balanced", "tangent")
# Rows that are computed at a time, so that what is in between stays in a core's cache.
_BLOCK = 1 << 14
# Below this angle (b/2) / tan(b/2) is 1 - b^2/12 to the last place.
_SMALL = 1e-4
_FEW = 24
_HOLES = 1 << 10


@dataclass(frozen=True, eq=False)
class Curves:
    """Pieces of all the holes, one hole after another, each piece an arc or straight.

    Attributes
    ----------
    offsets : (h + 1,) int64
        Hole i has the pieces offsets[i] to offsets[i + 1]; the last one has no end.
    depths : (p,) float64
        Where each piece begins, along the hole.
    points : (p, 3) float64
        The same in space.
    tangents : (p, 3) float64
        Unit vectors there.
    normals : (p, 3) float64
        Unit vectors towards which it bends; 0 where it is straight.
    curvatures : (p,) float64
        Radians for each unit of length.
    """

    offsets: Ints
    depths: Floats
    points: Floats
    tangents: Floats
    normals: Floats
    curvatures: Floats

    @property
    def owners(self) -> Ints:
        """The hole of each piece."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def find(self, holes: NDArray[np.intp], depths: Floats) -> Ints:
        """Return the piece that each depth of each hole is on: the last that begins there."""
        low, high = self.offsets[holes], self.offsets[holes + 1]
        while True:
            apart = high - low > 1
            if not apart.any():
                return low
            middle = (low + high) >> 1
            up = apart & (self.depths[middle] <= depths)
            low = np.where(up, middle, low)
            high = np.where(apart & ~up, middle, high)

    def at(self, pieces: Ints, depths: Floats) -> Floats:
        """Return the points at depths on pieces, (n, 3)."""
        found = np.empty((len(pieces), 3))
        for rows in _blocks(len(pieces)):
            found[rows] = self._at(pieces[rows], depths[rows])
        return found

    def _at(self, pieces: Ints, depths: Floats) -> Floats:
        """Return the points of some rows."""
        along = depths - self.depths[pieces]
        half = 0.5 * along * self.curvatures[pieces]
        # sin(a)/a and (1 - cos a)/a with a = 2 half, which are 1 and 0 for a straight piece.
        bent = half != 0
        sine, cosine = np.sin(half), np.cos(half)
        ratio = np.divide(sine, half, out=np.ones_like(half), where=bent)
        found = self.points[pieces]
        found += (along * ratio * cosine)[:, None] * self.tangents[pieces]
        found += (along * ratio * sine)[:, None] * self.normals[pieces]
        return found

    def along(self, pieces: Ints, depths: Floats) -> Floats:
        """Return the unit tangents at depths on pieces, (n, 3)."""
        turned = ((depths - self.depths[pieces]) * self.curvatures[pieces])[:, None]
        return np.cos(turned) * self.tangents[pieces] + np.sin(turned) * self.normals[pieces]


def _blocks(count: int) -> list[slice]:
    """Return the rows as blocks."""
    return [slice(begin, begin + _BLOCK) for begin in range(0, count, _BLOCK)]


def make_curves(
    offsets: Ints, depths: Floats, tangents: Floats, collars: Floats, method: Method
) -> Curves:
    """Make the curves of holes from their stations.

    Parameters
    ----------
    offsets : (h + 1,) int64
        Hole i has the stations offsets[i] to offsets[i + 1], one at least.
    depths : (m,) float64
        Along the hole, ascending within each, the first of each 0.
    tangents : (m, 3) float64
        Unit vectors.
    collars : (h, 3) float64
        Where the holes begin.
    method : {"minimum curvature", "balanced", "tangent"}
        What is between stations.

    Returns
    -------
    Curves
    """
    lengths = np.diff(depths, append=0.0)
    lengths[offsets[1:] - 1] = 0.0  # after the last station there is no leg
    later = np.concatenate([tangents[1:], tangents[-1:]])
    later[offsets[1:] - 1] = tangents[offsets[1:] - 1]
    if method == "tangent":
        steps, bends = lengths[:, None] * tangents, np.zeros(len(depths))
        normals = np.zeros_like(tangents)
    elif method == "balanced":
        steps = (0.5 * lengths)[:, None] * (tangents + later)
        bends, normals = np.zeros(len(depths)), np.zeros_like(tangents)
    else:
        bends, normals = np.empty(len(depths)), np.empty_like(tangents)
        steps = np.empty_like(tangents)
        for rows in _blocks(len(depths)):
            bends[rows], normals[rows] = bends_between(tangents[rows], later[rows])
            halves = 0.5 * lengths[rows] * ratio_factors(bends[rows])
            np.multiply(halves[:, None], tangents[rows] + later[rows], out=steps[rows])
    points = running_sums(offsets, steps, collars)
    if method == "balanced":
        return _halved(offsets, depths, points, tangents, later, lengths)
    curvatures = np.divide(bends, lengths, out=np.zeros_like(bends), where=lengths > 0)
    return Curves(offsets, depths, points, tangents, normals, curvatures)


def bends_between(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the angles between unit vectors, in radians, and the unit normals of the bends.

    By the arc tangent of sine and cosine: the arc cosine loses the angle of small doglegs.
    """
    dot = np.einsum("ij,ij->i", first, second)
    normals = second - dot[:, None] * first
    sines = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    np.divide(normals, sines[:, None], out=normals, where=sines[:, None] > 0)
    return np.arctan2(sines, dot), normals


def ratio_factors(bends: Floats) -> Floats:
    """Return tan(b/2) / (b/2), 1 for straight legs."""
    small = bends < _SMALL
    half = 0.5 * np.where(small, 1.0, bends)
    return np.where(small, 1.0 + bends * bends / 12.0, np.tan(half) / half)


def running_sums(offsets: Ints, steps: Floats, starts: Floats) -> Floats:
    """Return, hole by hole, the start plus the steps before each station, added in their order."""
    points = np.empty_like(steps)
    for begin in range(0, len(starts), _HOLES):
        end = min(begin + _HOLES, len(starts))
        rows = slice(offsets[begin], offsets[end])
        _add_up(offsets[begin : end + 1] - offsets[begin], steps[rows], starts[begin:end],
                points[rows])  # fmt: skip
    return points


def _add_up(offsets: Ints, steps: Floats, starts: Floats, points: Floats) -> None:
    """Write the running sums of some holes: station by station for all of them together."""
    points[offsets[:-1]] = starts
    order = np.argsort(-np.diff(offsets), kind="stable")
    counts, begins = np.diff(offsets)[order], offsets[:-1][order]
    rank = 1
    while (active := int(np.searchsorted(-counts, -rank, side="left"))) > _FEW:
        rows = begins[:active] + rank
        points[rows] = points[rows - 1] + steps[rows - 1]
        rank += 1
    for begin, count in zip(begins[:active].tolist(), counts[:active].tolist(), strict=True):
        part = slice(begin + rank - 1, begin + count)
        parts = np.concatenate([points[begin + rank - 1][None], steps[part][:-1]])
        points[part] = np.add.accumulate(parts, axis=0)


def _halved(
    offsets: Ints, depths: Floats, points: Floats, first: Floats, second: Floats, lengths: Floats
) -> Curves:
    """Return two straight pieces for each leg."""
    half = (0.5 * lengths)[:, None]
    pairs = [np.stack(two, axis=1) for two in (
        (depths, depths + half[:, 0]), (points, points + half * first), (first, second),
    )]  # fmt: skip
    kept = np.ones((len(depths), 2), np.bool_)
    kept[offsets[1:] - 1, 1] = False
    counts = 2 * np.diff(offsets) - 1
    return Curves(
        np.concatenate([[0], np.cumsum(counts)]),
        pairs[0][kept],
        pairs[1][kept],
        pairs[2][kept],
        np.zeros((int(kept.sum()), 3)),
        np.zeros(int(kept.sum())),
    )


# --- Azimuths and dips in degrees as unit vectors, and the sign of dips.

DipDown = Literal["auto", "positive", "negative"]
DIP_DOWN: tuple[DipDown, ...] = ("auto", "positive", "negative")


def directions(azimuth: Floats, dip: Floats) -> Floats:
    """Return unit vectors (east, north, up) of azimuths and dips.

    Parameters
    ----------
    azimuth : (n,) float64
        Degrees clockwise from north.
    dip : (n,) float64
        Degrees down from the horizontal; up-holes have negative ones.

    Returns
    -------
    (n, 3) float64
        Multiples of 90 degrees are exact. Elsewhere each number is within 2 units in the last
        place of the sine and cosine of the angle as the file says it, rounded to float64.

    Examples
    --------
    >>> directions(np.array([90.0, 0.0]), np.array([0.0, 90.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    """
    found = np.empty((len(dip), 3))
    for begin in range(0, len(dip), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        sin_azimuth, cos_azimuth = sine_cosine(azimuth[rows])
        sin_dip, cos_dip = sine_cosine(dip[rows])
        np.multiply(sin_azimuth, cos_dip, out=found[rows, 0])
        np.multiply(cos_azimuth, cos_dip, out=found[rows, 1])
        np.subtract(0.0, sin_dip, out=found[rows, 2])
    return found


def sine_cosine(degrees: Floats) -> tuple[Floats, Floats]:
    """Return sines and cosines of degrees; the quadrant is taken off exactly, in degrees."""
    # Beyond this a count of quadrants is no integer of 64 bits; the remainder is exact.
    degrees = np.where(np.abs(degrees) > 1e9, np.fmod(degrees, 360.0), degrees)
    quadrant = np.rint(degrees / 90.0)
    rest = np.deg2rad(degrees - 90.0 * quadrant)
    sine, cosine = np.sin(rest), np.cos(rest)
    turns = np.nan_to_num(quadrant).astype(np.int64) & 3
    swap = (turns & 1).astype(np.bool_)
    one, other = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    # Adding 0.0 makes 0.0 of -0.0.
    return (
        np.where(turns >= 2, -one, one) + 0.0,
        np.where((turns == 1) | (turns == 2), -other, other) + 0.0,
    )


def sign_of_down(dips: Floats, wanted: DipDown, holes: NDArray[np.intp] | None = None) -> int:
    """Return 1 where positive dips of a table point down, -1 where negative ones do.

    Decided once for a table, by the sign of the sum of its dips; a table of level holes says
    positive. The stations of one hole count together as the square root of their number: one long
    hole with the wrong sign does not outvote many short ones, and a fan of short holes that go up
    does not outvote the long ones that go down.

    Parameters
    ----------
    dips : (m,) float64
        As the table has them; NaN is skipped.
    wanted : {"auto", "positive", "negative"}
        Which dips point down, where the caller says it.
    holes : (m,) intp, optional
        The hole of each dip, from 0; without it, each is of another hole.
    """
    if wanted != "auto":
        return 1 if wanted == "positive" else -1
    known = np.isfinite(dips)
    votes = dips[known]
    if holes is not None:
        rows = holes[known]
        votes = votes / np.sqrt(np.bincount(rows)[rows])
    return -1 if float(votes.sum()) < 0 else 1


# --- Holes as named curves with an end: what is asked where they go.


@dataclass(frozen=True, eq=False)
class HolePaths:
    """Holes as curves.

    Attributes
    ----------
    names : tuple of str
    collars : (h, 3) float64
        Where they begin.
    ends : (h,) float64
        How deep they are, along the hole.
    curves : Curves
    """

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves

    def __len__(self) -> int:
        """Count the holes."""
        return len(self.names)

    def points_at(self, rows: NDArray[np.intp], depths: Floats) -> Floats:
        """Return points (n, 3) by places of holes; below its end a hole goes on straight."""
        return self.curves.at(self.curves.find(rows, depths), depths)
