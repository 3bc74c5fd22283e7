"""Blocks against an ordered list of solids: which label each gets, and what it is in besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import meshcheck, taken
from geodomain.locator import PointLocator, Rule
from geodomain.mesh import Mesh
from geodomain.topology import require_balanced

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Solid:
    """A named domain: the union of its meshes."""

    name: str
    meshes: tuple[Mesh, ...]

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Give the box of all the meshes, (2, 3), lowest corner first."""
        boxes = np.stack([mesh.bounds for mesh in self.meshes])
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


@dataclass(frozen=True)
class Verdict:
    """What was found of n blocks and k solids.

    Attributes
    ----------
    codes : (n,) int32
        The first solid that has the block; k none, k + 1 not finite, k + 2 in a leaking column.
    inside : (k, n) bool
        Membership of each solid by itself, before priority.
    leaking : (k, n) bool
        Blocks for which an open mesh has no answer: the crossings above and below differ in
        parity.
    doubled : (k, n) bool
        Blocks that a solid holds more than once: by parity an even count with a winding number
        other than 0, by winding a number beyond 1, or more than one mesh of the union. Within a
        mesh they are looked for where it has several pieces, since one piece hardly meets itself.
    on_wall : (n,) bool, optional
        Blocks exactly on a wall of any mesh, where that was asked for.
    """

    codes: NDArray[np.int32]
    inside: Bools
    leaking: Bools
    doubled: Bools
    on_wall: Bools | None


@dataclass(frozen=True)
class _Shell:
    """A mesh that is ready to be asked."""

    mesh: Mesh
    locator: PointLocator
    rule: Rule
    bounds: NDArray[np.float64]
    may_double: bool

    def ask(self, points: NDArray[np.float64]) -> tuple[Bools, Bools | None]:
        """Give membership and, for a balanced mesh of several pieces, where they double."""
        inside = self.locator.contains(points, rule=self.rule)
        if not self.may_double:
            return inside, None
        # Parity is the last bit of the winding number: what has an odd one is inside already.
        # Winding numbers cost more than membership, so only blocks that may be doubled are asked.
        suspects = np.flatnonzero(self._in_box(points) & (inside == (self.rule == "winding")))
        winding = np.abs(self.locator.winding_numbers(points[suspects]))
        doubled = np.zeros(len(points), np.bool_)
        doubled[suspects] = winding > (1 if self.rule == "winding" else 0)
        return inside, doubled

    def _in_box(self, points: NDArray[np.float64]) -> Bools:
        """Tell the blocks in the mesh's box, which is closed."""
        low, high = self.bounds
        within = np.ones(len(points), np.bool_)
        for axis in range(3):
            within &= (points[:, axis] >= low[axis]) & (points[:, axis] <= high[axis])
        return within

    def leaks(self, points: NDArray[np.float64]) -> Bools | None:
        """Tell the blocks whose vertical line crosses an open mesh an odd number of times."""
        if self.mesh.is_closed:
            return None
        low = float(self.bounds[0, 2])
        below = points.copy()
        # From below the mesh, the crossings above are all there are.
        below[:, 2] = np.where(np.isfinite(points[:, 2]), low - max(1.0, abs(low)), np.nan)
        return self.locator.contains(below, rule="parity")


@dataclass(frozen=True)
class Labeller:
    """Solids in their order of priority, ready to label chunk after chunk; safe among threads.

    Parameters
    ----------
    solids : sequence of Solid
        The first that has a block wins.
    rule : {"parity", "winding"}
        What counts as inside.
    backend : str
        As for `geodomain.contains`.
    threads : int, optional
        As for `geodomain.contains`.
    allow_open : bool
        Take meshes that are not closed.
    count_on_wall : bool
        Look for blocks exactly on a wall, which takes longer.
    """

    solids: tuple[Solid, ...]
    rule: Rule = "parity"
    backend: str = "auto"
    threads: int | None = None
    allow_open: bool = False
    count_on_wall: bool = False
    _shells: tuple[tuple[_Shell, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Build the index of every mesh."""
        shells = tuple(tuple(map(self._shell, solid.meshes)) for solid in self.solids)
        object.__setattr__(self, "_shells", shells)

    def _shell(self, mesh: Mesh) -> _Shell:
        """Build the index of one mesh; a winding number is refused before there is one."""
        if self.rule == "winding":
            require_balanced(mesh)
        locator = PointLocator(
            mesh, backend=self.backend, threads=self.threads, allow_open=self.allow_open
        )
        several = not meshcheck.is_one_piece(mesh.triangles, len(mesh.vertices))
        return _Shell(mesh, locator, self.rule, mesh.bounds, mesh.is_balanced and several)

    @property
    def machine(self) -> tuple[str, str]:
        """Name where the blocks so far were labelled, "cpu" or "cuda", and say why there."""
        indexes = [shell.locator.index for shells in self._shells for shell in shells]
        return taken(self.backend, indexes)

    def judge(self, points: NDArray[np.float64]) -> Verdict:
        """Label (n, 3) centroids; one that is not finite is in no solid."""
        found = [_judge_union(shells, points) for shells in self._shells]
        inside, leaking, doubled = (np.stack(part) for part in zip(*found, strict=True))
        codes = _first_wins(inside, leaking)
        x, y, z = np.isfinite(points).T
        codes[~(x & y & z)] = len(self.solids) + 1
        walls = self._on_wall(points) if self.count_on_wall else None
        return Verdict(codes, inside, leaking, doubled, walls)

    def _on_wall(self, points: NDArray[np.float64]) -> Bools:
        """Tell the blocks that are exactly on a wall of any mesh."""
        locators = [shell.locator for shells in self._shells for shell in shells]
        walls = np.zeros(len(points), np.bool_)
        for locator in locators:
            walls |= locator.on_surface(points)
        return walls


def _judge_union(
    shells: Sequence[_Shell], points: NDArray[np.float64]
) -> tuple[Bools, Bools, Bools]:
    """Give membership, leaks and doubled blocks of one solid.

    A closed mesh of a union is sure of its blocks, whatever an open one beside it leaks.
    """
    inside, leaking, doubled = (np.zeros(len(points), bool) for _ in range(3))
    for shell in shells:
        has, twice = shell.ask(points)
        leaks = shell.leaks(points)
        if leaks is not None:
            has, leaking = has & ~leaks, leaking | leaks
        doubled |= inside & has
        if twice is not None:
            doubled |= twice
        inside |= has
    return inside, leaking & ~inside, doubled


def _first_wins(inside: Bools, leaking: Bools) -> NDArray[np.int32]:
    """Give the first solid that has, or may have, each block; see Verdict.codes."""
    count = len(inside)
    codes = np.full(inside.shape[1], count, np.int32)
    # From the last to the first, so that the first is written over the others.
    for solid in reversed(range(count)):
        codes[leaking[solid]] = count + 2
        codes[inside[solid]] = solid
    return codes
