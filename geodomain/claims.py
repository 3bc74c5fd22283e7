"""What each domain says of blocks by itself, before any order among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from geodomain.domains import Domain
from geodomain.locator import PointLocator, Rule
from geodomain.mesh import Mesh
from geodomain.scene import Bools, Floats, Scene, Surface
from geodomain.stacks import Stack
from geodomain.surfaces import ABOVE, BELOW, OFF


@dataclass(frozen=True)
class Found:
    """What one domain says of n blocks; None stands for False everywhere.

    Attributes
    ----------
    inside : (n,) bool
        Its own blocks.
    leaking : (n,) bool, optional
        Blocks for which an open solid has no answer: the crossings above and below differ
        in parity.
    beyond : (n,) bool, optional
        Blocks that it has no answer for because they are `off`.
    doubled : (n,) bool, optional
        Blocks that a solid holds more than once: by parity an even count with a winding number
        other than 0, by winding a number beyond 1, or more than one mesh of the union. Within a
        mesh they are looked for where it has several pieces, since one piece hardly meets itself.
    uncertain : (n,) bool, optional
        Blocks of an open solid whose winding number is too near 1/2 to be sure.
    off : (n,) bool, optional
        Blocks outside the footprint of a surface that would decide, whatever becomes of them.
    crossed : (n,) bool, optional
        Blocks above a surface of a stack and below one that is further down in it: the rule of
        the stack decides.
    """

    inside: Bools
    leaking: Bools | None = None
    beyond: Bools | None = None
    doubled: Bools | None = None
    uncertain: Bools | None = None
    off: Bools | None = None
    crossed: Bools | None = None

    def within(self, rows: Bools) -> Found:
        """Return what holds in some of the rows only."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(self, **{n: part & rows for n, part in parts.items() if part is not None})

    def inverted(self, rows: Bools) -> Found:
        """Return what holds of the other blocks among the rows; no answer stays none."""
        sure = rows & ~self.inside
        for unsure in (self.leaking, self.beyond):
            sure = sure if unsure is None else sure & ~unsure
        return replace(self, inside=sure, doubled=None)


@dataclass(frozen=True, eq=False)
class SurfaceClaim:
    """A domain above or below a surface."""

    domain: Domain
    surface: Surface
    width = 1  # rows of what it finds

    def ask(self, scene: Scene) -> list[Found]:
        """Say of which blocks it is."""
        domain = self.domain
        side, off = self.surface.sides(scene, extend=domain.extend)
        found = Found(
            side == (ABOVE if domain.kind == "above" else BELOW),
            beyond=off if domain.extend == "unassigned" else None,
            off=off,
        )
        return [found.inverted(side != OFF) if domain.invert else found]


@dataclass(frozen=True, eq=False)
class StackClaim:
    """The layers of a stack."""

    stack: Stack
    surfaces: tuple[Surface, ...]

    @property
    def width(self) -> int:
        """Count the layers that have a name."""
        return len(self.stack.named)

    def ask(self, scene: Scene) -> list[Found]:
        """Say of each layer that has a name which blocks are its own.

        Eroding, the first surface from the top that a block is above decides, and it is in
        the layer over it; onlapping, the first from the bottom that it is below, and it is in
        the layer under it. A surface that is not there ends the search.
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
        first, *others = (Found(layer == index) for index in named)
        # What is true of the whole stack is said once, with the first layer.
        beyond = lost if self.stack.extend == "unassigned" else None
        return [replace(first, beyond=beyond, off=off, crossed=crossed), *others]


@dataclass(frozen=True, eq=False)
class Shell:
    """A mesh of a solid, ready to be asked."""

    mesh: Mesh
    locator: PointLocator
    rule: Rule
    by_fraction: bool = field(init=False)
    may_double: bool = field(init=False)

    def __post_init__(self) -> None:
        """See once what the mesh is like."""
        mesh = self.mesh
        several = mesh.is_balanced and mesh.bodies.count > 1
        fraction = self.rule == "winding" and not mesh.is_closed and not mesh.is_balanced
        object.__setattr__(self, "may_double", several)
        object.__setattr__(self, "by_fraction", fraction)

    def is_apart(self, box: Floats) -> bool:
        """Whether no block of a box can be inside, or have no answer."""
        low, high = self.mesh.bounds
        in_plan = bool((box[1, :2] < low[:2]).any() or (high[:2] < box[0, :2]).any())
        if self.by_fraction:
            return False
        if not self.mesh.is_closed:
            return in_plan
        return in_plan or bool(box[1, 2] < low[2] or high[2] < box[0, 2])

    def ask(self, scene: Scene) -> Found:
        """Say which blocks are inside, and what is odd about some."""
        points = scene.points
        if self.by_fraction:
            winding = self.locator.generalised_winding(points)
            uncertain = winding.uncertain & scene.finite
            return Found(winding.inside, uncertain=uncertain if uncertain.any() else None)
        inside = scene.members.get(id(self.locator))
        if inside is None or self.rule != "parity":
            inside = self.locator.contains(points, rule=self.rule)
        leaks = self._leaks(points)
        doubled = self._doubled(points, inside) if self.may_double else None
        if leaks is not None:
            inside = inside & ~leaks
        return Found(inside, leaking=leaks, doubled=doubled)

    def _doubled(self, points: Floats, inside: Bools) -> Bools:
        """Tell the blocks that a balanced mesh of several pieces holds more than once."""
        # Parity is the last bit of the winding number: what has an odd one is inside already.
        # Winding numbers cost more than membership, so only blocks that may be doubled are asked.
        suspects = np.flatnonzero(self._in_box(points) & (inside == (self.rule == "winding")))
        winding = np.abs(self.locator.winding_numbers(points[suspects]))
        doubled = np.zeros(len(points), np.bool_)
        doubled[suspects] = winding > (1 if self.rule == "winding" else 0)
        return doubled

    def _in_box(self, points: Floats) -> Bools:
        """Tell the blocks in the mesh's box, which is closed."""
        low, high = self.mesh.bounds
        within = np.ones(len(points), np.bool_)
        for axis in range(3):
            within &= (points[:, axis] >= low[axis]) & (points[:, axis] <= high[axis])
        return within

    def _leaks(self, points: Floats) -> Bools | None:
        """Tell the blocks whose vertical line crosses an open mesh an odd number of times."""
        if self.mesh.is_closed:
            return None
        leaks: Bools = (self.locator.count_sides(points).sum(axis=1) & 1).astype(np.bool_)
        return leaks


@dataclass(frozen=True, eq=False)
class SolidClaim:
    """A domain inside the union of solids."""

    domain: Domain
    shells: tuple[Shell, ...]
    width = 1

    def ask(self, scene: Scene) -> list[Found]:
        """Say of which blocks it is; none at all where all the solids are apart from them."""
        near = [shell for shell in self.shells if not shell.is_apart(scene.box)]
        found = _union([shell.ask(scene) for shell in near], len(scene.points)) if near else None
        if not self.domain.invert:
            return [] if found is None else [found]
        found = found or Found(np.zeros(len(scene.points), np.bool_))
        return [found.inverted(scene.finite)]


Claim = SolidClaim | SurfaceClaim | StackClaim


def _union(found: Sequence[Found], count: int) -> Found:
    """Join what the meshes of one solid say.

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
    return Found(inside, None if leaking is None else leaking & ~inside, None, doubled, uncertain)


def _any(parts: Iterable[Bools | None]) -> Bools | None:
    """Tell where any part is true."""
    some = [part for part in parts if part is not None]
    return np.logical_or.reduce(some) if some else None
