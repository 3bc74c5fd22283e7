"""A chunk of blocks that several domains are evaluated for, and shared surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.point_cache import CachedPoints
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, Rule
from geodomain.query.surfaces import OFF, Extension, count_all, sides_of

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
    doubles : bool
        Whether to look for blocks that a solid contains more than once.
    """

    doubles = True

    def __init__(self, points: Floats, asked: CachedPoints) -> None:
        self.points, self.asked = points, asked
        x, y, z = np.isfinite(points).T
        self.finite: Bools = x & y & z
        some = points if self.finite.all() else points[self.finite]
        self.box = np.stack([some.min(axis=0, initial=np.inf), some.max(axis=0, initial=-np.inf)])
        self._counts: dict[int, NDArray[np.int32]] = {}
        self.folded: dict[str, Bools] = {}
        self.members: dict[tuple[int, Rule], Bools] = {}

    def counts(self, surface: TiledSurface) -> NDArray[np.int32]:
        """Return the crossings above and below of a surface, which several domains may share."""
        found = self._counts.get(id(surface))
        if found is None:
            found = self._counts[id(surface)] = count_all(
                surface.locators, self.asked, len(self.points)
            )
            folded = found.sum(axis=1) > 1
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
            side[off] = self.extension.sides(chunk.points[off])
        return side, off
