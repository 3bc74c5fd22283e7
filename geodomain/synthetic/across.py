"""Segments along the normals of a mesh, half of them across it; any number, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.sheets import Floats
from geodomain.synthetic.undulation import STEP

CHUNK = 1 << 18

# Segments are made as long as this part of their full length, at random, but not within the gap
# around the half of it, where they would end on their triangle.
_LENGTHS = (0.6, 1.0)
_GAP = (0.498, 0.502)

# How far from the centroid a perturbed segment goes through, in parts of two edges: always inside.
_PERTURBATION = 0.1


@dataclass(frozen=True)
class SegmentChunk:
    """Some segments, and whether each was made to cross.

    Attributes
    ----------
    starts, ends : ndarray of shape (n, 3), float64
        In metres.
    triangles : ndarray of shape (n,), int64
        Through or towards which triangle each was drawn.
    through : ndarray of shape (n,), bool
        Whether it reaches beyond that triangle. It may cross others.
    """

    starts: Floats
    ends: Floats
    triangles: NDArray[np.int64]
    through: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.starts)


def segments_across(
    mesh: Mesh,
    count: int,
    *,
    reach: float,
    seed: int = 0,
    perturb: bool = False,
    chunk: int = CHUNK,
) -> Iterator[SegmentChunk]:
    """Draw segments through triangles along their normals, as R. Leung, arXiv 2209.02878.

    A segment starts below a triangle drawn at random, half of ``reach`` U(0.6, 1) from
    its centroid, and goes along the normal for U(0, 1) of ``reach`` U(0.6, 1): half of
    the segments go through the triangle. None ends within 0.2 % of that length of it.

    Parameters
    ----------
    mesh : Mesh
        Triangles of an area that is not 0.
    count : int
        How many segments.
    reach : float
        The longest a segment can be; the paper's is four cells of its grid.
    seed : int
        Of everything random. The first segments of a larger ``count`` are those of a
        smaller one, and ``chunk`` has no influence.
    perturb : bool
        Go through a point up to a tenth of each of two edges beside the centroid.
    chunk : int
        The most segments that are held at a time.

    Yields
    ------
    SegmentChunk
        Coordinates are multiples of 2^-10, in the unit of the mesh.

    Raises
    ------
    ValueError
        If there is no triangle to draw from.

    Examples
    --------
    >>> from geodomain import synthetic
    >>> terrain = synthetic.undulating_terrain(200)
    >>> (few,) = synthetic.segments_across(terrain, 1000, reach=100.0)
    >>> len(few), int(few.through.sum())
    (1000, 515)
    """
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangles to draw segments through"
        raise ValueError(message)
    random = np.random.Generator(np.random.PCG64([seed, 1]))
    for begin in range(0, count, chunk):
        # Row by row, so that neither the count nor the chunk changes what a row gets.
        yield _drawn(mesh, random.random((min(chunk, count - begin), 5)), reach, perturb)


def _drawn(mesh: Mesh, numbers: Floats, reach: float, perturb: bool) -> SegmentChunk:
    """Return segments from five numbers in [0, 1) each."""
    pick, scale, part, first, second = numbers.T
    triangles = (pick * len(mesh.triangles)).astype(np.int64)
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles[triangles]], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.sqrt((normal**2).sum(axis=1))[:, None]
    middle = (a + b + c) / 3
    if perturb:
        aside = _PERTURBATION * (2 * np.stack([first, second]) - 1)
        middle += aside[0][:, None] * (b - a) + aside[1][:, None] * (c - a)
    length = reach * (_LENGTHS[0] + (_LENGTHS[1] - _LENGTHS[0]) * scale)
    through = part >= 0.5
    part = np.where(through, _GAP[1] + (part - 0.5) * 2 * (1 - _GAP[1]), part * 2 * _GAP[0])
    starts = middle - (length / 2)[:, None] * normal
    ends = starts + (length * part)[:, None] * normal
    starts, ends = (np.round(each / STEP) * STEP for each in (starts, ends))
    return SegmentChunk(starts, ends, triangles, through)
