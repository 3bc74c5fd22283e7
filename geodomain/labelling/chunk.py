"""A chunk of blocks that several domains are evaluated for, and shared surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.point_cache import CachedPoints
from geodomain.labelling.block_lattice import BlockLattice
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, Rule, contains_read
from geodomain.query.surfaces import OFF, Extension, sides_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class BlockChunk:
    """Blocks that several domains are asked about: what is found once is kept.

    Attributes
    ----------
    points : (n, 3) float64
    asked : CachedPoints
        The same, as they are asked about as a whole: they are sent to a GPU once.
    finite : (n,) bool
    box : (2, 3) float64
        Of the finite ones; from +inf to -inf where there are none.
    members : dict of (int, str) to (n,) bool
        By the id of a locator and the rule, the blocks inside a closed solid, where that was found
        for several.
    lattice : BlockLattice, optional
        What most of the blocks lie on.
    extended : dict of int to (n,) int8
        By the id of a surface, the sides of blocks beyond its footprint, where those are known.
    doubles : bool
        Whether to look for blocks that a solid contains more than once.
    """

    doubles = True

    def __init__(
        self, points: Floats, asked: CachedPoints, lattice: BlockLattice | None = None
    ) -> None:
        self.points, self.asked, self.lattice = points, asked, lattice
        if lattice is not None:
            lattice.learn(points)
        x, y, z = np.isfinite(points).T
        self.finite: Bools = x & y & z
        some = points if self.finite.all() else points[self.finite]
        self.box = np.stack([some.min(axis=0, initial=np.inf), some.max(axis=0, initial=-np.inf)])
        self._counts: dict[int, NDArray[np.int32]] = {}
        self.folded: dict[str, Bools] = {}
        self.members: dict[tuple[int, Rule], Bools] = {}
        self.extended: dict[int, NDArray[np.int8]] = {}

    def contains(self, locator: PointLocator, rule: Rule) -> Bools:
        """Return which blocks are inside a mesh by a rule that it has."""
        known = self.members.get((id(locator), rule))
        if known is None and self.lattice is not None:
            known = self.lattice.contains(locator, rule, self.points)
        return contains_read(locator, rule, self.asked.columns) if known is None else known

    def sides(self, locator: PointLocator) -> NDArray[np.int32]:
        """Return numbers above and below each block, (n, 2), that tell what crossings would."""
        known = None if self.lattice is None else self.lattice.sides(locator, self.points)
        return locator.count_sides(self.asked) if known is None else known

    def counts(self, surface: TiledSurface) -> NDArray[np.int32]:
        """Return the same of a surface, which several domains may share."""
        found = self._counts.get(id(surface))
        if found is None:
            found = np.zeros((len(self.points), 2), np.int32)
            for locator in surface.locators:
                found += self.sides(locator)
            self._counts[id(surface)] = found
            folded = (found[:, 0] + found[:, 1]) > 1
            if folded.any():
                self.folded[surface.name] = folded | self.folded.get(surface.name, False)
        return found


@dataclass(frozen=True, eq=False)
class TiledSurface:
    """The tiles of a surface, ready to be asked."""

    tiles: tuple[Mesh, ...]
    locators: tuple[PointLocator, ...]

    @property
    def name(self) -> str:
        """Name it by its first tile."""
        return self.tiles[0].name

    @cached_property
    def extension(self) -> Extension:
        """Return what it is beyond its footprint."""
        return Extension(self.tiles)

    def sides(self, chunk: BlockChunk, *, extend: str) -> tuple[NDArray[np.int8], Bools]:
        """Return 1 above, -1 below, 0 where neither is known; and what is off the footprint."""
        side = sides_of(chunk.counts(self))
        off = (side == OFF) & chunk.finite
        if extend == "nearest" and off.any():
            known = chunk.extended.get(id(self))
            side[off] = self.extension.sides(chunk.points[off]) if known is None else known[off]
        return side, off
