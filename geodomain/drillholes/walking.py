"""Walks down holes: where they are inside solids, and where they go through surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.drillholes.crossings import Bools, HoleCrossings, Pierces, Stays
from geodomain.drillholes.paths import HolePaths
from geodomain.drillholes.walls import WallCrossings, cross_walls, turns_of
from geodomain.errors import warn
from geodomain.mesh.fitness import require_balanced, require_fit
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, Rule, check_rule, contains_by, locate

Value = TypeVar("Value", bound=np.generic)


def find_crossings(
    holes: HolePaths,
    domains: Domains,
    *,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
) -> HoleCrossings:
    """Find what holes pass through; see `Drillholes.crossings`."""
    check_rule(rule)
    walker = _Walker(holes, backend, threads)
    solids = [one for one in domains if _has_stays(one)]
    found = [walker.stays(domain, rule, allow_open) for domain in solids]
    tiles = [(one.name, one.meshes) for one in domains if one.is_surface]
    tiles += [(some[0].name, some) for stack in domains.stacks for some in stack.surfaces]
    pierced = [walker.pierces(meshes) for _, meshes in tiles]
    return HoleCrossings(
        holes.names,
        tuple(domain.name for domain in solids),
        tuple(name for name, _ in tiles),
        walker.joined_stays([one for one, _, _ in found]),
        walker.joined_pierces(pierced),
        tuple(count for _, count, _ in found),
        tuple(parity for _, _, parity in found),
    )


def _has_stays(domain: Domain) -> bool:
    """Return whether a domain is a solid that holes stay in; warn of one that is left out."""
    if domain.is_skin:
        warn(f"{domain.name} has limits of distance, which are no walls: it is left out")
    elif domain.kind == "solid" and domain.only_if:
        warn(f"{domain.name} has conditions on columns, which holes have not: it is left out")
    return domain.kind == "solid" and not domain.is_skin and not domain.only_if


# Holes, begins and ends of stays in one domain, and whether they start and end inside.
Stretches = tuple[NDArray[np.intp], Floats, Floats, Bools, Bools]


@dataclass(frozen=True, eq=False)
class _Walker:
    """Walks down holes, with the walls that were found."""

    holes: HolePaths
    backend: str
    threads: int | None

    def cross(self, mesh: Mesh) -> WallCrossings:
        return cross_walls(
            self.holes.curves, self.holes.ends, mesh, backend=self.backend, threads=self.threads
        )

    def stays(self, domain: Domain, rule: Rule, allow_open: bool) -> tuple[Stretches, int, int]:
        """Return the stays; how many crossings there are; in how many holes parity holds."""
        asked: Rule = domain.rule or rule
        for mesh in domain.meshes:
            require_fit(mesh, allow_open=allow_open or domain.rule == "winding", rule=asked)
            if asked == "winding" and mesh.is_closed:
                require_balanced(mesh)
        walls = [self.cross(mesh) for mesh in domain.meshes]
        pieces = _Pieces.of(walls, self.holes.ends)
        inside = np.zeros(len(pieces), np.bool_)
        at_top, at_end = np.zeros((2, len(self.holes)), np.bool_)
        parity = np.ones(len(self.holes), np.bool_)
        for number, mesh in enumerate(domain.meshes):
            locator = locate(mesh, backend=self.backend, threads=self.threads, allow_open=True)
            mine, holds = self._inside(locator, asked, pieces, number)
            inside |= mine
            parity &= holds
            at_top |= contains_by(locator, asked, self.holes.collars)
            at_end |= contains_by(locator, asked, self._bottoms)
        if domain.invert:
            inside, at_top, at_end = ~inside, ~at_top, ~at_end
        # A stay that begins or ends on a wall reaches the end of its hole, but not from inside.
        holes, begins, ends = pieces.runs(inside)
        starts_inside = (begins == 0.0) & at_top[holes]
        ends_inside = (ends == self.holes.ends[holes]) & at_end[holes]
        found = holes, begins, ends, starts_inside, ends_inside
        return found, sum(map(len, walls)), int(parity.sum())

    @property
    def _bottoms(self) -> Floats:
        return self.holes.points_at(np.arange(len(self.holes)), self.holes.ends)

    def _inside(
        self, locator: PointLocator, rule: Rule, pieces: _Pieces, wall: int
    ) -> tuple[Bools, Bools]:
        """Tell the pieces inside one mesh, and the holes whose crossings agree with both ends."""
        crossed = pieces.crossed(wall)
        last = np.append(pieces.firsts[1:], len(pieces)) - 1
        first = locator.contains(self.holes.collars)
        odd = first[pieces.holes] ^ ((crossed & 1) == 1)
        holds = odd[last] == locator.contains(self._bottoms)
        if rule == "parity" and locator.mesh.is_closed:
            return odd, holds
        middles = self.holes.points_at(pieces.holes, 0.5 * (pieces.begins + pieces.ends))
        return contains_by(locator, rule, middles), holds

    def pierces(self, meshes: Sequence[Mesh]) -> tuple[NDArray[np.intp], Floats, Bools]:
        """Return holes, depths and directions of pierce points of a surface's tiles."""
        parts = []
        for mesh in meshes:
            found = self.cross(mesh)
            parts.append((found.holes, found.depths, turns_of(self.holes.curves, mesh, found)))
        holes, depths, down = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((depths, holes))
        return holes[order], depths[order], down[order]

    def joined_stays(self, found: Sequence[Stretches]) -> Stays:
        """Return the stays of all domains, by hole, by depth, by domain."""
        domains = np.repeat(np.arange(len(found)), [len(one[0]) for one in found])
        holes = _joined([one[0] for one in found], np.intp)
        begins = _joined([one[1] for one in found], np.float64)
        order = np.lexsort((domains, begins, holes))
        holes, begins = holes[order], begins[order]
        ends = _joined([one[2] for one in found], np.float64)[order]
        return Stays(
            holes,
            domains[order],
            begins,
            ends,
            self.holes.points_at(holes, begins),
            self.holes.points_at(holes, ends),
            _joined([one[3] for one in found], np.bool_)[order],
            _joined([one[4] for one in found], np.bool_)[order],
        )

    def joined_pierces(self, found: Sequence[tuple[NDArray[np.intp], Floats, Bools]]) -> Pierces:
        """Return the pierce points of all surfaces, by hole, by depth, by surface."""
        domains = np.repeat(np.arange(len(found)), [len(one[0]) for one in found])
        holes = _joined([one[0] for one in found], np.intp)
        depths = _joined([one[1] for one in found], np.float64)
        down = _joined([one[2] for one in found], np.bool_)
        order = np.lexsort((domains, depths, holes))
        holes, depths = holes[order], depths[order]
        points = self.holes.points_at(holes, depths)
        return Pierces(holes, domains[order], depths, points, down[order])


def _joined(parts: Sequence[NDArray[Value]], kind: type[Value]) -> NDArray[Value]:
    """Join columns, of which there may be none."""
    return np.concatenate([np.empty(0, kind), *parts])


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Parts of all the holes between walls, hole by hole, one at least in each.

    Attributes
    ----------
    holes : (p,) intp
    begins, ends : (p,) float64
    walls : (p,) intp
        Which of the meshes is crossed at the beginning; -1 at a collar.
    firsts : (h,) intp
        The first piece of each hole.
    """

    holes: NDArray[np.intp]
    begins: Floats
    ends: Floats
    walls: NDArray[np.intp]
    firsts: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.holes)

    @staticmethod
    def of(walls: Sequence[WallCrossings], ends: Floats) -> _Pieces:
        """Cut holes at the crossings of some meshes."""
        count = len(ends)
        holes = np.concatenate([np.arange(count), *(wall.holes for wall in walls)])
        begins = np.concatenate([np.zeros(count), *(wall.depths for wall in walls)])
        owners = np.repeat(np.arange(-1, len(walls)), [count, *map(len, walls)])
        order = np.lexsort((owners, begins, holes))
        holes, begins = holes[order], begins[order]
        firsts = np.flatnonzero(np.diff(holes, prepend=-1))
        stops = np.append(begins[1:], 0.0)
        stops[np.append(firsts[1:], len(holes)) - 1] = ends
        return _Pieces(holes, begins, stops, owners[order], firsts)

    def crossed(self, wall: int) -> NDArray[np.int64]:
        """Count, for each piece, the crossings of one mesh from the collar to it."""
        total = np.cumsum(self.walls == wall)
        before = np.append(0, total)[self.firsts]
        found: NDArray[np.int64] = total - before[self.holes]
        return found

    def runs(self, inside: Bools) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return holes, begins and ends of runs of pieces inside; runs without length are none."""
        use = self.ends > self.begins
        holes, begins, ends = self.holes[use], self.begins[use], self.ends[use]
        state = inside[use]
        joined = state[1:] & state[:-1] & (holes[1:] == holes[:-1])
        first = np.flatnonzero(state & ~np.concatenate([[False], joined])[: len(state)])
        last = np.flatnonzero(state & ~np.concatenate([joined, [False]])[: len(state)])
        return holes[first], begins[first], ends[last]
