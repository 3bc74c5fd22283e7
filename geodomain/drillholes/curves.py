"""Desurvey drillholes: make curves from their stations, and compute points on them.

Two stations are a length s apart along the hole, with unit tangents t0 and t1 and the angle b
between the tangents. The curve between them is, by method:

- minimum curvature: one arc of the radius s / b with the tangents t0 and t1. (S. J. Sawaryn and
  J. L. Thorogood, "A Compendium of Directional Calculations Based on the Minimum Curvature
  Method", SPE Drilling and Completion 20, 2005.)
- balanced: the first half straight along t0, the second half straight along t1.
- tangent: straight along t0.

All numbers are float64, and sums run hole by hole in the order of depth, so that the points of a
hole do not depend on other holes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.drillholes.settings import DipDown, Method

# Number of rows computed at a time, so that intermediate arrays stay in the cache.
_BLOCK = 1 << 14
# Below this angle (b/2) / tan(b/2) is 1 - b^2/12 to the last place.
_SMALL = 1e-4
_FEW = 24
_HOLES = 1 << 10


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of all holes, one after another, as pieces that are arcs or straight lines.

    Attributes
    ----------
    offsets : (h + 1,) int64
        Hole i has the pieces offsets[i] to offsets[i + 1]; its last piece continues without an end.
    depths : (p,) float64
        Depth at the start of each piece.
    points : (p, 3) float64
        Start point of each piece.
    tangents : (p, 3) float64
        Unit tangent at the start of each piece.
    normals : (p, 3) float64
        Unit vector in the direction of the bend; 0 for a straight piece.
    curvatures : (p,) float64
        Curvature of each piece, in radians per unit of length.
    """

    offsets: Ints
    depths: Floats
    points: Floats
    tangents: Floats
    normals: Floats
    curvatures: Floats

    @property
    def owners(self) -> Ints:
        """The index of the hole of each piece, (p,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def find(self, holes: NDArray[np.intp], depths: Floats) -> Ints:
        """Return the index of the piece that contains each depth of a hole.

        This is the last piece of the hole that starts at or above the depth. For a depth above the
        collar, it is the first piece.
        """
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
        """Return the points (n, 3) at the given depths on the given pieces."""
        points = np.empty((len(pieces), 3))
        for rows in _blocks(len(pieces)):
            points[rows] = self._at(pieces[rows], depths[rows])
        return points

    def _at(self, pieces: Ints, depths: Floats) -> Floats:
        """Compute the points (n, 3) at the given depths on the given pieces, in one batch."""
        along = depths - self.depths[pieces]
        half = 0.5 * along * self.curvatures[pieces]
        # sin(a)/a and (1 - cos a)/a for a = 2 half; 1 and 0 for a straight piece.
        bent = half != 0
        sine, cosine = np.sin(half), np.cos(half)
        ratio = np.divide(sine, half, out=np.ones_like(half), where=bent)
        points = self.points[pieces]
        points += (along * ratio * cosine)[:, None] * self.tangents[pieces]
        points += (along * ratio * sine)[:, None] * self.normals[pieces]
        return points

    def along(self, pieces: Ints, depths: Floats) -> Floats:
        """Return the unit tangents (n, 3) at the given depths on the given pieces."""
        turned = ((depths - self.depths[pieces]) * self.curvatures[pieces])[:, None]
        return np.cos(turned) * self.tangents[pieces] + np.sin(turned) * self.normals[pieces]


def _blocks(count: int) -> list[slice]:
    """Return slices that split `count` rows into batches of limited size."""
    return [slice(begin, begin + _BLOCK) for begin in range(0, count, _BLOCK)]


def make_curves(
    offsets: Ints, depths: Floats, tangents: Floats, collars: Floats, method: Method
) -> Curves:
    """Make the curves of holes from their stations.

    Parameters
    ----------
    offsets : (h + 1,) int64
        Hole i has the stations offsets[i] to offsets[i + 1], at least one.
    depths : (m,) float64
        Depths of stations, ascending within each hole from 0.
    tangents : (m, 3) float64
        Unit tangents at the stations.
    collars : (h, 3) float64
        Collars of the holes.
    method : {"minimum curvature", "balanced", "tangent"}
        Shape of the curve between stations.

    Returns
    -------
    Curves
    """
    lengths = np.diff(depths, append=0.0)
    lengths[offsets[1:] - 1] = 0.0  # no leg follows the last station
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
    # Two stations closer than any unit, such as at 0 and 1e-320, have no arc between them.
    curvatures = np.divide(bends, lengths, out=np.zeros_like(bends), where=lengths > 1e-300)
    return Curves(offsets, depths, points, tangents, normals, curvatures)


def bends_between(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return a tuple: angles between pairs of unit vectors, in radians, and normals of the bends.

    A normal is a unit vector at right angles to the first vector, in the direction of the bend.
    Angles are computed by arc tangent, because the arc cosine is inaccurate for small angles.
    """
    dot = np.einsum("ij,ij->i", first, second)
    normals = second - dot[:, None] * first
    sines = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    np.divide(normals, sines[:, None], out=normals, where=sines[:, None] > 0)
    return np.arctan2(sines, dot), normals


def ratio_factors(bends: Floats) -> Floats:
    """Return tan(b/2) / (b/2) for bends b in radians; 1 if b is 0."""
    small = bends < _SMALL
    half = 0.5 * np.where(small, 1.0, bends)
    return np.where(small, 1.0 + bends * bends / 12.0, np.tan(half) / half)


def running_sums(offsets: Ints, steps: Floats, starts: Floats) -> Floats:
    """Return the point of each station: the collar of its hole plus all steps above, in order."""
    points = np.empty_like(steps)
    for begin in range(0, len(starts), _HOLES):
        end = min(begin + _HOLES, len(starts))
        rows = slice(offsets[begin], offsets[end])
        _add_up(offsets[begin : end + 1] - offsets[begin], steps[rows], starts[begin:end],
                points[rows])  # fmt: skip
    return points


def _add_up(offsets: Ints, steps: Floats, starts: Floats, points: Floats) -> None:
    """Write the points of stations for a group of holes, one station of every hole at a time."""
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
    """Return curves with two straight pieces of equal length between consecutive stations."""
    half = (0.5 * lengths)[:, None]
    pairs = [np.stack(two, axis=1) for two in (
        (depths, depths + half[:, 0]), (points, points + half * first), (first, second),
    )]  # fmt: skip
    present = np.ones((len(depths), 2), np.bool_)
    present[offsets[1:] - 1, 1] = False
    counts = 2 * np.diff(offsets) - 1
    return Curves(
        np.concatenate([[0], np.cumsum(counts)]),
        pairs[0][present],
        pairs[1][present],
        pairs[2][present],
        np.zeros((int(present.sum()), 3)),
        np.zeros(int(present.sum())),
    )


# --- Azimuths and dips in degrees as unit vectors, and the sign of dips.


def directions(azimuth: Floats, dip: Floats) -> Floats:
    """Return unit vectors (east, north, up) of azimuths and dips.

    Parameters
    ----------
    azimuth : (n,) float64
        Degrees clockwise from north.
    dip : (n,) float64
        Degrees down from the horizontal; negative for up-holes.

    Returns
    -------
    (n, 3) float64
        Unit vectors, exact for multiples of 90 degrees. Otherwise each number is within 2 units in
        the last place of its exact value for the given angles.

    Examples
    --------
    >>> directions(np.array([90.0, 0.0]), np.array([0.0, 90.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    """
    vectors = np.empty((len(dip), 3))
    for begin in range(0, len(dip), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        sin_azimuth, cos_azimuth = sine_cosine(azimuth[rows])
        sin_dip, cos_dip = sine_cosine(dip[rows])
        np.multiply(sin_azimuth, cos_dip, out=vectors[rows, 0])
        np.multiply(cos_azimuth, cos_dip, out=vectors[rows, 1])
        np.subtract(0.0, sin_dip, out=vectors[rows, 2])
    return vectors


def sine_cosine(degrees: Floats) -> tuple[Floats, Floats]:
    """Return sines and cosines of degrees, after an exact reduction to one quadrant."""
    # For larger angles the count of quadrants may not fit int64; the remainder is exact.
    degrees = np.where(np.abs(degrees) > 1e9, np.fmod(degrees, 360.0), degrees)
    quadrant = np.rint(degrees / 90.0)
    rest = np.deg2rad(degrees - 90.0 * quadrant)
    sine, cosine = np.sin(rest), np.cos(rest)
    turns = np.nan_to_num(quadrant).astype(np.int64) & 3
    swap = (turns & 1).astype(np.bool_)
    sines, cosines = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    # Adding 0.0 turns -0.0 into 0.0.
    return (
        np.where(turns >= 2, -sines, sines) + 0.0,
        np.where((turns == 1) | (turns == 2), -cosines, cosines) + 0.0,
    )


def sign_of_down(dips: Floats, wanted: DipDown, holes: NDArray[np.intp] | None = None) -> int:
    """Return 1 if positive dips of a table point down, -1 if negative dips do.

    The sign of the sum of all dips decides for the whole table; a sum of 0 counts as positive. The
    stations of a hole together weigh as much as the square root of their number: one long hole
    with the wrong sign does not outvote many short holes, and a fan of short up-holes does not
    outvote long down-holes.

    Parameters
    ----------
    dips : (m,) float64
        Dips in the table; NaN is skipped.
    wanted : {"auto", "positive", "negative"}
        Which dips point down; "auto" infers it.
    holes : (m,) intp, optional
        Index of the hole of each dip, counted from 0; by default each dip has its own hole.
    """
    if wanted != "auto":
        return 1 if wanted == "positive" else -1
    valid = np.isfinite(dips)
    votes = dips[valid]
    if holes is not None:
        rows = holes[valid]
        votes = votes / np.sqrt(np.bincount(rows)[rows])
    return -1 if float(votes.sum()) < 0 else 1


# --- Holes as named curves with an end.


@dataclass(frozen=True, eq=False)
class HolePaths:
    """Drillholes as named curves, with the depths of their ends.

    Attributes
    ----------
    names : tuple of str
        Ids of the holes.
    collars : (h, 3) float64
        Collars of the holes.
    ends : (h,) float64
        Depths of the ends of holes.
    curves : Curves
        Arcs and straight pieces of the holes.
    """

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves

    def __len__(self) -> int:
        """Return the number of holes."""
        return len(self.names)

    def points_at(self, rows: NDArray[np.intp], depths: Floats) -> Floats:
        """Return points (n, 3) at depths of holes; below the last station a hole is straight."""
        return self.curves.at(self.curves.find(rows, depths), depths)
