"""Domains within or beyond a distance of their wireframes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.domain import Domain
from geodomain.errors import PointError
from geodomain.labelling.chunk import BlockChunk, Bools, Floats
from geodomain.labelling.evaluate import DomainAnswer, SolidEvaluation, SurfaceEvaluation
from geodomain.volumes.distance import MeshDistance

# A distance is off by at most 4 units in the last place of the largest coordinate difference to
# a vertex, 2^-50 of it; boxes are widened by far more, so that they leave no block out.
_SLACK = 1e-14


@dataclass(frozen=True, eq=False)
class SkinEvaluation:
    """A domain of blocks by their distance, on one side of the wireframes or on either.

    Attributes
    ----------
    domain : Domain
        With ``within`` or ``beyond``.
    distances : tuple of MeshDistance
        Of its meshes, the nearest of which counts.
    side : SolidEvaluation or SurfaceEvaluation, optional
        What says which blocks are on the side; None for either side.
    """

    domain: Domain
    distances: tuple[MeshDistance, ...]
    side: SolidEvaluation | SurfaceEvaluation | None
    width = 1

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return the answer for the blocks of a chunk; distances of others are not asked."""
        answers = [DomainAnswer(scene.finite)] if self.side is None else self.side.ask(scene)
        return [found.within(self._holds(scene.points, _asked(found))) for found in answers]

    def _holds(self, points: Floats, asked: Bools) -> Bools:
        """Return which of the blocks that are asked about have such a distance."""
        within, beyond = self.domain.within, self.domain.beyond
        limit = (beyond or 0.0) if within is None else within
        nearest = np.full(len(points), np.inf)
        for one in self.distances:
            rows = np.flatnonzero(asked & _near(points, one.mesh.bounds, limit))
            nearest[rows] = np.minimum(nearest[rows], _distances(one, points, rows))
        held = asked if within is None else asked & (nearest <= within)
        return held if beyond is None else held & (nearest > beyond)


def _asked(found: DomainAnswer) -> Bools:
    """Return the blocks that an answer is about: they are inside, or there is no sure answer."""
    unsure = [part for part in (found.leaking, found.beyond) if part is not None]
    return reduce(np.logical_or, unsure, found.inside)


def _near(points: Floats, box: Floats, limit: float) -> Bools:
    """Return which points may be so near to what is in a box."""
    near = np.ones(len(points), np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        for axis in range(3):
            under, over = box[0, axis] - points[:, axis], points[:, axis] - box[1, axis]
            gap = np.maximum(under, over)
            slack = _SLACK * (np.abs(gap) + (box[1] - box[0]).max())
            near &= gap <= limit + slack
    return near


def _distances(one: MeshDistance, points: Floats, rows: NDArray[np.intp]) -> Floats:
    """Return the distances of some points."""
    try:
        return one.of(points[rows])
    except PointError:  # which is to name the point by its own number
        return one.of(points)[rows]
