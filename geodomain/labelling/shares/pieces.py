"""BlockPieces of blocks, on one side of every wireframe each, as the rules of domains ask them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.point_cache import CachedPoints
from geodomain.labelling.chunk import BlockChunk, TiledSurface
from geodomain.labelling.evaluate import Shell
from geodomain.query.surfaces import BELOW, sides_of
from geodomain.volumes.block_shares import Shares

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Places = NDArray[np.intp]
# Of places (n, 2): for a solid 1 inside, and 0; for a surface its crossings above and below.
States = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Body:
    """A solid or a surface that parts blocks.

    Attributes
    ----------
    source : Shell or TiledSurface
        What the rules of domains know it by.
    shares : Shares
        Of blocks inside it, or below.
    box : (2, 3) float64
        In the frame of the blocks; that of a surface has no ends along z.
    name : str
    extended : bool
        Whether a domain takes it for as high as its rim beyond its footprint.
    """

    source: Shell | TiledSurface
    shares: Shares
    box: Floats
    name: str
    extended: bool = False

    def states_at(self, points: Floats) -> States:
        """Return the states of places in the world."""
        if isinstance(self.source, TiledSurface):
            return sum(
                (locator.count_sides(points) for locator in self.source.locators),
                np.zeros((len(points), 2), np.int32),
            )
        inside = self.source.locator.contains(points, rule=self.source.rule)
        return _solid(inside)

    def states_along(self, above: NDArray[np.int32], signs: States, below: States) -> States:
        """Return the states of places by the crossings above, their signs, and those below."""
        if isinstance(self.source, TiledSurface):
            return np.stack([above, below], axis=1).astype(np.int32)
        return _solid(signs != 0 if self.source.rule == "winding" else (above & 1) == 1)

    def within(self, states: States) -> Bools:
        """Return which states are inside, or below."""
        if isinstance(self.source, TiledSurface):
            return np.asarray(sides_of(states) == BELOW)
        return np.asarray(states[:, 0] != 0)


# Inside or below, and the other side: of solids and surfaces.
WITHIN, WITHOUT = (1, 0), (0, 1)


def _solid(inside: Bools) -> States:
    return np.stack([inside, ~inside], axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class BlockPieces:
    """Parts of blocks, and how they lie to wireframes.

    Attributes
    ----------
    block : (m,) intp
        The block that each is of.
    share : (m,) float64
        Of the block, 0 to 1.
    points : (m, 3) float64
        A place in each, in the world.
    states : sequence of (Body, States)
        Of all the wireframes near.
    box : (2, 3) float64
        In the world, around all the blocks.
    extended : dict of int to (m,) int8
        By the id of a surface, the sides of the pieces beyond its footprint, where known.
    sample : (m,) intp, optional
        Of pieces of lines, which of several samples their line is in, from 0.
    """

    block: Places
    share: Floats
    points: Floats
    states: Sequence[tuple[Body, States]]
    box: Floats
    extended: Mapping[int, NDArray[np.int8]] = field(default_factory=dict)
    sample: Places | None = None

    def chunk(self) -> AnsweredChunk:
        """Return the pieces as the rules of domains ask blocks."""
        return AnsweredChunk(self)

    def of(self, body: Body) -> States:
        """Return the states of a wireframe that is near."""
        return next(states for one, states in self.states if one is body)

    def taken(self, rows: Places) -> BlockPieces:
        """Return some of the pieces, as copies."""
        return BlockPieces(
            self.block[rows],
            self.share[rows],
            self.points[rows],
            [(body, states[rows]) for body, states in self.states],
            self.box,
            {surface: sides[rows] for surface, sides in self.extended.items()},
            None if self.sample is None else self.sample[rows],
        )


class AnsweredChunk(BlockChunk):
    """Places whose answers are known."""

    doubles = False

    def __init__(self, pieces: BlockPieces) -> None:
        super().__init__(pieces.points, CachedPoints(pieces.points))
        self.box = pieces.box
        self.extended.update(pieces.extended)
        for body, states in pieces.states:
            if isinstance(body.source, TiledSurface):
                self._counts[id(body.source)] = states
            else:
                self.members[id(body.source.locator), body.source.rule] = states[:, 0] != 0
