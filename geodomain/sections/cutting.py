"""Blocks and triangles cut by a plane across an axis: polygons and lines to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")
_CORNERS = np.array(list(product((-0.5, 0.5), repeat=3)))
# The edges of a block: pairs of corners that differ in one coordinate.
_EDGES = np.array(
    [
        (one, two)
        for one in range(8)
        for two in range(one + 1, 8)
        if np.abs(_CORNERS[one] - _CORNERS[two]).sum() == 1
    ]
)


@dataclass(frozen=True)
class Section:
    """A plane across an axis.

    Attributes
    ----------
    axis : {"x", "y", "z"}
        What the plane is across.
    at : float
        Its coordinate.
    """

    axis: Axis
    at: float

    @property
    def across(self) -> int:
        """Return the number of the axis."""
        return AXES.index(self.axis)

    @property
    def along(self) -> tuple[int, int]:
        """Return the axes that are drawn to the right and up: x and y, x and z, y and z."""
        one, two = (axis for axis in range(3) if axis != self.across)
        return one, two


def is_cut(section: Section, points: Floats, sizes: Floats, matrix: Floats) -> NDArray[np.bool_]:
    """Return the blocks whose extent contains the section's coordinate, the upper face excluded.

    Parameters
    ----------
    section : Section
        The plane.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the block's own axes.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    """
    half = sizes @ np.abs(matrix[section.across]) / 2
    offset = section.at - points[:, section.across]
    whole = np.isfinite(points).all(axis=1)
    return np.asarray(whole & (-half <= offset) & (offset < half))


def cut_blocks(
    section: Section, points: Floats, sizes: Floats, matrix: Floats
) -> list[NDArray[np.float64]]:
    """Return the polygon, (k, 2), in which a plane cuts each block; it must cut all of them.

    A block may be turned: the polygon has as many corners as edges are cut, three to six.
    """
    corners = points[:, None] + (_CORNERS * sizes[:, None]) @ matrix.T
    starts, ends = corners[:, _EDGES[:, 0]], corners[:, _EDGES[:, 1]]
    places, crossed = _cross(section, starts, ends)
    middle = np.where(crossed[..., None], places, 0).sum(axis=1) / crossed.sum(axis=1)[:, None]
    around = places - middle[:, None]
    angles = np.where(crossed, np.arctan2(around[..., 1], around[..., 0]), np.inf)
    order = np.argsort(angles, axis=1, kind="stable")
    counts = crossed.sum(axis=1)
    ordered = np.take_along_axis(places, order[..., None], axis=1)
    return [polygon[:count] for polygon, count in zip(ordered, counts.tolist(), strict=True)]


def cut_triangles(section: Section, corners: Floats) -> Floats:
    """Return the lines, (k, 2, 2), in which a plane cuts triangles, (t, 3, 3)."""
    starts, ends = corners, np.roll(corners, -1, axis=1)
    places, crossed = _cross(section, starts, ends)
    # A triangle that is cut has two edges that are.
    cut = crossed.sum(axis=1) == 2
    lines: Floats = places[cut][crossed[cut]].reshape(-1, 2, 2)
    return lines


def _cross(section: Section, starts: Floats, ends: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return which edges meet the plane, and where, in the plane's two axes."""
    low, high = starts[..., section.across], ends[..., section.across]
    crossed = (low > section.at) != (high > section.at)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(crossed, (section.at - low) / (high - low), 0.0)
    along = list(section.along)
    return starts[..., along] + part[..., None] * (ends - starts)[..., along], crossed


def parse_section(text: str) -> Section:
    """Read AXIS=COORDINATE, such as z=310.

    Raises
    ------
    ValueError
        If it is none.
    """
    axis, _, at = text.partition("=")
    axis = axis.strip().lower()
    value = float(at)
    for known in AXES:
        if axis == known and np.isfinite(value):
            return Section(known, value)
    raise ValueError(text)


def box_of(polygons: Sequence[Floats]) -> Floats:
    """Return the box, (2, 2), of polygons or lines."""
    stacked = np.concatenate([polygon.reshape(-1, 2) for polygon in polygons])
    return np.stack([stacked.min(axis=0), stacked.max(axis=0)])
