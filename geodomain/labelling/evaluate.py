"""Evaluation of each domain by itself, before their order is applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from geodomain.domains.domain import Domain
from geodomain.domains.stack import Stack
from geodomain.labelling.chunk import BlockChunk, Bools, Floats, TiledSurface
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, Rule
from geodomain.query.surfaces import ABOVE, BELOW, OFF


class DomainAnswer(NamedTuple):
    """The answer of one domain for n blocks; None stands for False everywhere.

    Attributes
    ----------
    inside : (n,) bool
        The blocks of the domain.
    leaking : (n,) bool, optional
        Blocks without an answer from an open solid: the crossings above and below differ in
        parity.
    beyond : (n,) bool, optional
        Blocks without an answer because they are `off`.
    doubled : (n,) bool, optional
        Blocks that a solid contains more than once: by parity an even count with a winding number
        other than 0, by winding a number beyond 1, or more than one mesh of the union. Within a
        mesh they are searched only if it has several components.
    uncertain : (n,) bool, optional
        Blocks of an open solid whose winding number is too near 1/2 to be sure.
    off : (n,) bool, optional
        Blocks outside the footprint of the surface that decides, however they are labelled.
    crossed : (n,) bool, optional
        Blocks above a surface of a stack and below a lower one of it; the stack's rule decides.
    """

    inside: Bools
    leaking: Bools | None = None
    beyond: Bools | None = None
    doubled: Bools | None = None
    uncertain: Bools | None = None
    off: Bools | None = None
    crossed: Bools | None = None

    def within(self, rows: Bools) -> DomainAnswer:
        """Return rows that are true and among some rows."""
        return DomainAnswer._make(None if part is None else part & rows for part in self)

    def part(self, begin: int, end: int) -> DomainAnswer:
        """Return what holds of the blocks from one number to another."""
        return DomainAnswer._make(None if part is None else part[begin:end] for part in self)

    def inverted(self, rows: Bools) -> DomainAnswer:
        """Return the complement among the rows; None stays None."""
        sure = rows & ~self.inside
        for unsure in (self.leaking, self.beyond):
            sure = sure if unsure is None else sure & ~unsure
        return self._replace(inside=sure, doubled=None)


@dataclass(frozen=True, eq=False)
class SurfaceEvaluation:
    """A domain above or below a surface."""

    domain: Domain
    surface: TiledSurface
    width = 1  # rows of what it finds

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return the answer for the blocks of a chunk."""
        domain = self.domain
        side, off = self.surface.sides(scene, extend=domain.extend)
        found = DomainAnswer(
            side == (ABOVE if domain.kind == "above" else BELOW),
            beyond=off if domain.extend == "unassigned" else None,
            off=off,
        )
        return [found.inverted(side != OFF) if domain.invert else found]


@dataclass(frozen=True, eq=False)
class StackEvaluation:
    """The layers of a stack."""

    stack: Stack
    surfaces: tuple[TiledSurface, ...]

    @property
    def width(self) -> int:
        """Return the number of layers that have a name."""
        return len(self.stack.named)

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return an answer for each layer that has a name.

        By "erode", a block is in the layer over the first surface, from the top, that it is
        above. By "onlap", it is in the layer under the first surface, from the bottom, that it
        is below. A surface whose footprint does not reach the block ends the search.
        """
        erode = self.stack.rule == "erode"
        layer = np.full(len(scene.points), len(self.surfaces) if erode else 0)
        open_rows, lost, off = scene.finite.copy(), *np.zeros((2, len(layer)), np.bool_)
        passed, crossed = np.zeros((2, len(layer)), np.bool_)
        ends, goes = (ABOVE, BELOW) if erode else (BELOW, ABOVE)
        surfaces = list(enumerate(self.surfaces))
        for index, surface in surfaces if erode else reversed(surfaces):
            side, missed = surface.sides(scene, extend=self.stack.extend)
            layer[open_rows & (side == ends)] = index + (not erode)
            off |= open_rows & missed
            lost |= open_rows & (side == OFF)
            crossed |= passed & (side == goes)
            passed |= side == ends
            open_rows &= side == goes
        layer[lost | ~scene.finite] = -1
        named = [index for index, name in enumerate(self.stack.layers) if name]
        first, *others = (DomainAnswer(layer == index) for index in named)
        # What is true of the whole stack is said once, with the first layer.
        beyond = lost if self.stack.extend == "unassigned" else None
        return [first._replace(beyond=beyond, off=off, crossed=crossed), *others]


@dataclass(frozen=True, eq=False)
class Shell:
    """A mesh of a solid with its index."""

    mesh: Mesh
    locator: PointLocator
    rule: Rule
    by_fraction: bool = field(init=False)
    may_double: bool = field(init=False)

    def __post_init__(self) -> None:
        """Find the properties of the mesh, once."""
        mesh = self.mesh
        several = mesh.is_balanced and mesh.bodies.count > 1
        fraction = self.rule == "winding" and not mesh.is_closed and not mesh.is_balanced
        object.__setattr__(self, "may_double", several)
        object.__setattr__(self, "by_fraction", fraction)

    def is_apart(self, box: Floats) -> bool:
        """Return whether every block of a box is certainly outside."""
        low, high = self.mesh.bounds
        in_plan = bool((box[1, :2] < low[:2]).any() or (high[:2] < box[0, :2]).any())
        if self.by_fraction:
            return False
        if not self.mesh.is_closed:
            return in_plan
        return in_plan or bool(box[1, 2] < low[2] or high[2] < box[0, 2])

    def ask(self, scene: BlockChunk) -> DomainAnswer:
        """Return which blocks are inside, and which of them deserve a warning."""
        points = scene.points
        if self.by_fraction:
            winding = self.locator.generalised_winding(scene.asked)
            uncertain = winding.uncertain & scene.finite
            return DomainAnswer(winding.inside, uncertain=uncertain if uncertain.any() else None)
        inside = scene.contains(self.locator, self.rule)
        leaks = None if self.mesh.is_closed else self._leaks(scene)
        doubled = self._doubled(points, inside) if self.may_double and scene.doubles else None
        if leaks is not None:
            inside = inside & ~leaks
        return DomainAnswer(inside, leaking=leaks, doubled=doubled)

    def _doubled(self, points: Floats, inside: Bools) -> Bools:
        """Return the blocks that several components of a balanced mesh contain."""
        # Parity is the last bit of the winding number: what has an odd one is inside already.
        # Winding numbers cost more than membership, so only blocks that may be doubled are asked.
        suspects = np.flatnonzero(self._in_box(points) & (inside == (self.rule == "winding")))
        winding = np.abs(self.locator.winding_numbers(points[suspects]))
        doubled = np.zeros(len(points), np.bool_)
        doubled[suspects] = winding > (1 if self.rule == "winding" else 0)
        return doubled

    def _in_box(self, points: Floats) -> Bools:
        """Return the blocks in the mesh's box, its faces included."""
        low, high = self.mesh.bounds
        within = np.ones(len(points), np.bool_)
        for axis in range(3):
            within &= (points[:, axis] >= low[axis]) & (points[:, axis] <= high[axis])
        return within

    def _leaks(self, scene: BlockChunk) -> Bools:
        """Return the blocks whose vertical line crosses an open mesh an odd number of times."""
        above, below = scene.sides(self.locator).T
        leaks: Bools = ((above + below) & 1).astype(np.bool_)
        return leaks


@dataclass(frozen=True, eq=False)
class SolidEvaluation:
    """A domain inside the union of solids."""

    domain: Domain
    shells: tuple[Shell, ...]
    width = 1

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return the answer for the blocks of a chunk; empty where no solid is near them."""
        near = [shell for shell in self.shells if not shell.is_apart(scene.box)]
        found = _union([shell.ask(scene) for shell in near], len(scene.points)) if near else None
        if not self.domain.invert:
            return [] if found is None else [found]
        found = found or DomainAnswer(np.zeros(len(scene.points), np.bool_))
        return [found.inverted(scene.finite)]


Evaluation = SolidEvaluation | SurfaceEvaluation | StackEvaluation


def _union(found: Sequence[DomainAnswer], count: int) -> DomainAnswer:
    """Combine the answers of the meshes of one solid.

    A closed mesh of a union is sure of its blocks, whatever an open one beside it leaks.
    """
    if len(found) == 1:
        return found[0]
    inside, doubled = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for one in found:
        doubled |= inside & one.inside
        doubled |= False if one.doubled is None else one.doubled
        inside |= one.inside
    leaking, uncertain = _any(one.leaking for one in found), _any(one.uncertain for one in found)
    return DomainAnswer(
        inside, None if leaking is None else leaking & ~inside, None, doubled, uncertain
    )


def _any(parts: Iterable[Bools | None]) -> Bools | None:
    """Return where any part is true."""
    some = [part for part in parts if part is not None]
    return np.logical_or.reduce(some) if some else None
