"""Checks that meshes and a block model overlap, and reasons why they do not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.checks.blocks import say_box
from geodomain.checks.columns import read_as_missing, refuse_nan
from geodomain.compute.data import Bools, Floats
from geodomain.compute.native import thread_count
from geodomain.compute.point_cache import CachedPoints
from geodomain.domains.domain import CODE, Domain, is_code
from geodomain.domains.order import DomainOrLayer, Domains
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, PointError, TableError, warn
from geodomain.labelling.settings import LabelSettings
from geodomain.lattice import (
    MOST_CELLS,
    MOST_COORDINATES,
    ExplicitAxis,
    LatticeAxis,
    LearntAxis,
    cells_in_words,
)
from geodomain.mesh.mesh import Mesh
from geodomain.query.first_solid import first_codes
from geodomain.query.locator import CellAnswers, PointLocator, Rule, contains_read
from geodomain.query.surfaces import ABOVE, BELOW, OFF, Extension, sides_of
from geodomain.volumes.distance import MeshDistance

Box = NDArray[np.float64]

_AXES = "xyz"
_FOOT = 0.3048
_UNITS = (
    (1 / _FOOT, "metres to feet"),
    (_FOOT, "feet to metres"),
    (1000.0, "kilometres to metres"),
    (0.001, "millimetres to metres"),
)
_SAID = 3  # solids whose boxes are said
EXCHANGES = (((1, 0, 2), "x and y"), ((2, 1, 0), "x and z"), ((0, 2, 1), "y and z"))


def meet(one: Box, other: Box) -> bool:
    """Return whether two boxes, (2, 3) each, have a point in common."""
    return bool((one[0] <= other[1]).all() and (other[0] <= one[1]).all())


def share_within(box: Box, model: Box) -> float:
    """Return the share of a box that is in the model's, multiplied over the axes."""
    overlap = np.minimum(box[1], model[1]) - np.maximum(box[0], model[0])
    length = box[1] - box[0]
    parts = np.where(length > 0, overlap / np.where(length > 0, length, 1.0), overlap >= 0)
    return float(np.prod(np.clip(parts, 0.0, 1.0))) if (overlap >= 0).all() else 0.0


def explain_apart(box: Box, model: Box) -> str:
    """Return what would make a mesh's box meet the model's; empty if nothing would.

    Looked for are exchanged axes, other signs and other units, of which the one is said with which
    most of the mesh is in the model; then a round number left out of coordinates (a truncated
    prefix such as 7,000,000), then another height datum.
    """
    changed = (*_changed(box), *_heights_in_feet(box, model))
    met = [(share_within(other, model), said) for other, said in changed if meet(other, model)]
    # Times 1000 anything near the origin meets anything: of other units much of it is to be there.
    met = [one for one in met if one[0] > 0.1 or " times " not in one[1]]
    if met:
        return f"{max(met, key=lambda one: one[0])[1]} they would meet"
    offsets = [_round_offset(box[:, axis], model[:, axis]) for axis in range(3)]
    if None not in offsets:
        said = " and ".join(
            f"{abs(offset):,.0f} {'added to' if offset > 0 else 'taken from'} {axis}"
            for axis, offset in zip(_AXES, offsets, strict=True)
            if offset
        )
        return f"with {said} of the mesh they would meet: has a prefix been left out?"
    if meet(box[:, :2], model[:, :2]):
        return "they meet in plan and not in elevation: is it another height datum?"
    return ""


def _changed(box: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with axes exchanged, signs changed, in other units; the simplest change first."""
    for order, what in EXCHANGES:
        yield box[:, order], f"with {what} exchanged"
    for count in (1, 2, 3):
        for axes in combinations(range(3), count):
            named = " and ".join(_AXES[axis] for axis in axes)
            yield _negated(box, axes), f"with the sign of {named} changed"
    for ratio, what in _UNITS:
        yield box * ratio, f"with the mesh times {ratio:.6g}, as from {what},"


def _heights_in_feet(box: Box, model: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with heights in feet or metres, where they are most of those of the model.

    Less is no sign of another unit: some ratio brings any height anywhere.
    """
    for ratio, what in _UNITS[:2]:
        changed = box * (1.0, 1.0, ratio)
        low, high = zip(changed[:, 2], model[:, 2], strict=True)
        if min(high) - max(low) > (max(high) - min(low)) / 2:
            yield changed, f"with z of the mesh times {ratio:.6g}, as from {what},"


def explain_height(surface: Box, model: Box) -> str:
    """Return why the heights put all blocks on one side of a surface; empty if that is plausible.

    A model underground lies below topography by less than its own height, if all is well; what
    is further away deserves a look, and so does a surface that another sign or unit would bring
    to the blocks.
    """
    low, high = model[:, 2]
    if meet(surface[:, 2:], model[:, 2:]) or not meet(surface[:, :2], model[:, :2]):
        return ""
    tried = [(-surface[::-1, 2:], "the sign of z changed")]
    tried += [(surface[:, 2:] * ratio, f"z times {ratio:.6g}, as from {u}") for ratio, u in _UNITS]
    for heights, what in tried:
        if meet(heights, model[:, 2:]):
            return f"with {what}, they would meet"
    gap = max(surface[0, 2] - high, low - surface[1, 2])
    return "is it another height datum?" if gap > high - low else ""


def explain_better(box: Box, model: Box) -> str:
    """Return a hint if a mesh that hardly meets the model would fit with two axes exchanged."""
    if share_within(box, model) < 0.5:
        for order, what in EXCHANGES:
            if share_within(box[:, order], model) > 0.9:
                return f"it would fit far better with {what} exchanged"
    return ""


def _negated(box: Box, axes: tuple[int, ...]) -> Box:
    """Change the sign of some axes of a box."""
    flipped = box.copy()
    for axis in axes:
        flipped[:, axis] = -box[::-1, axis]
    return flipped


def _round_offset(mesh: Box, model: Box) -> float | None:
    """Return the roundest offset that makes two intervals meet: 0 if they do, None if none does.

    Only multiples of a thousand: less is no prefix, and anything can be brought near anything.
    """
    if mesh[0] <= model[1] and model[0] <= mesh[1]:
        return 0.0
    distance = float(model.mean() - mesh.mean())
    for power in range(8, 2, -1):
        offset = round(distance / 10**power) * 10**power
        if offset and mesh[0] + offset <= model[1] and model[0] <= mesh[1] + offset:
            return float(offset)
    return None


def apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> list[DomainOrLayer]:
    """Return the solids whose box does not meet the model's, (2, 3); none for an empty model."""
    if np.isnan(model).any():
        return []
    return [solid for solid in solids if not meet(solid.bounds, model)]


def within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether a box, (2, 3), lies in another."""
    return bool((outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all())


def refuse_disjoint(
    solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str
) -> None:
    """Raise TableError if no solid meets the model, with their boxes and a likely cause."""
    if all_apart(solids, model):
        message = f"{say_apart(solids, model, table)} To label anyway, use allow_disjoint=True."
        raise TableError(message)


def all_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> bool:
    """Return whether there are domains and none of them meets the model."""
    return len(apart(solids, model)) >= max(len(solids), 1)


def say_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str) -> str:
    """Say that no domain meets the model, with their boxes and a likely cause."""
    said = [f"{solid.name} in {say_box(solid.bounds)}" for solid in solids[:_SAID]]
    more = [f"and {len(solids) - _SAID} more elsewhere"] if len(solids) > _SAID else []
    what = "solid" if all(solid.is_solid for solid in solids) else "domain"
    return (
        f"no {what} meets the block model: the blocks of {table} are in {say_box(model)}; "
        f"{'; '.join([*said, *more])}. {_guess(solids, model)}"
    )


def _guess(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> str:
    """Return the likely cause, from the first solid that has one."""
    for solid in solids:
        reason = explain_apart(solid.bounds, model)
        if reason:
            hint = " Check x=, y= and z=." if "exchanged" in reason else ""
            return f"{reason[0].upper()}{reason[1:]}{'' if reason.endswith('?') else '.'}{hint}"
    return "Is it another datum or grid, other units, or the local frame of a rotated model?"


# --- Answers of meshes about the cells of the lattice that blocks lie on.

Answer = TypeVar("Answer")

# A row, a triangle and a coordinate of an axis each take the time of this many cells.
_CELLS_TO_A_ROW, _CELLS_TO_A_TRIANGLE, _CELLS_TO_A_COORDINATE = 64, 64, 64


class BlockLattice:
    """Answers about blocks by the cells of their lattice; safe among threads.

    A lattice is a guess about where blocks will be, which saves time where it is right: a block
    whose coordinates are no cell's is asked by itself, and no answer depends on the lattice.

    Parameters
    ----------
    axes : sequence of three LatticeAxis
        The coordinates along each axis.
    expected : int
        How many blocks there are at least, if that is known: the work on cells begins when the
        blocks that have come, or will, repay it.
    threads : int, optional
        How many to use. [default: all cores]
    """

    def __init__(
        self, axes: Sequence[LatticeAxis], *, expected: int = 0, threads: int | None = None
    ) -> None:
        self._axes, self._expected, self._threads = axes, expected, thread_count(threads)
        self._lock = threading.Lock()
        self._asked: dict[int, int] = {}
        self._answers: dict[int, CellAnswers | None] = {}
        self._left = MOST_CELLS

    @classmethod
    def given(cls, axes: Sequence[Floats], *, threads: int | None) -> BlockLattice:
        """Return the lattice that every combination of coordinates is on."""
        expected = int(np.prod([float(len(axis)) for axis in axes]))
        return cls([ExplicitAxis(axis) for axis in axes], expected=expected, threads=threads)

    @classmethod
    def learnt(cls, *, threads: int | None) -> BlockLattice:
        """Return a lattice that is found as blocks come."""
        return cls([LearntAxis() for _ in range(3)], threads=threads)

    def learn(self, points: Floats) -> None:
        """Look at (n, 3) blocks; where they are on no cells, find others."""
        with self._lock:
            for axis, values in zip(self._axes, points.T, strict=True):
                if isinstance(axis, LearntAxis) and axis.learn(values):
                    self._answers.clear()
                    self._left = MOST_CELLS

    def contains(self, locator: PointLocator, rule: Rule, points: Floats) -> Bools | None:
        """Return which of (n, 3) points are inside by a rule; None where cells do not tell."""
        if rule == "winding" and not locator.mesh.is_closed:
            return None
        return self._ask(locator, points, lambda cells: cells.contains(rule, points))

    def sides(self, locator: PointLocator, points: Floats) -> NDArray[np.int32] | None:
        """Return what `CellAnswers.sides` does; None where cells do not tell."""
        return self._ask(locator, points, lambda cells: cells.sides(points))

    def _ask(
        self, locator: PointLocator, points: Floats, call: Callable[[CellAnswers], Answer]
    ) -> Answer | None:
        """Return what the cells of a mesh answer; on a GPU points are as fast."""
        if locator.backend.name != "cpu":
            return None
        try:
            cells = self._cells(locator, len(points))
            return None if cells is None else call(cells)
        except PointError:  # the index decides, or names the row
            self._answers[id(locator)] = None
            return None

    def _cells(self, locator: PointLocator, rows: int) -> CellAnswers | None:
        """Return the answers of a mesh, made when they pay."""
        with self._lock:
            key = id(locator)
            asked = self._asked[key] = self._asked.get(key, 0) + rows
            if key not in self._answers:
                low, high = locator.mesh.bounds
                ends = list(zip(self._axes, low.tolist(), high.tolist(), strict=True))
                counts = [axis.count(a, b) for axis, a, b in ends]
                # One axis may be long while another has no coordinate: each is counted first.
                if not (min(counts) >= 1 and sum(counts) <= MOST_COORDINATES):
                    return None
                count = cells_in_words(*counts)
                work = (
                    counts[0] * counts[1] * counts[2]
                    + _CELLS_TO_A_TRIANGLE * len(locator.mesh.triangles)
                    + _CELLS_TO_A_COORDINATE * sum(counts)
                )
                if count > self._left or work > _CELLS_TO_A_ROW * max(asked, self._expected):
                    return None
                x, y, z = (axis.within(a, b) for axis, a, b in ends)
                if not min(len(x), len(y), len(z)):
                    return None
                self._left -= int(count)
                self._answers[key] = CellAnswers(locator, (x, y, z), self._threads)
            return self._answers[key]


# --- The labels of blocks outside every domain, and what no label may be.


def with_labels(settings: LabelSettings, domains: Domains) -> LabelSettings:
    """Return the settings of a file with its labels; where none are said, those of the domains.

    Raises
    ------
    DomainError
        For a label that is the name of a domain: nobody could tell them apart. For the label nan.

    Warns
    -----
    GeodomainWarning
        For a label that other programs read as a missing value.
    """
    codes, rest, lost = settings.codes, settings.background, settings.unassigned
    if codes:
        rest = _number(domains.background_code) if rest is None else rest
        lost = _number(domains.unassigned_code) if lost is None else lost
    else:
        rest, lost = rest_labels(domains, [target.name for target in domains.targets], settings)
    leaky = lost if settings.leaky is None else settings.leaky
    taken = {_number(t.code) if codes else t.name: t.name for t in domains.targets}
    labels = {"background": rest, "unassigned": lost, "leaky": leaky}
    for what, label in labels.items():
        if codes and label and not _is_number(label):
            message = f"{label!r} labels {what} blocks beside codes; give {CODE}, or nothing"
            raise DomainError(message)
        if label and label in taken:
            message = (
                f"{label!r} labels {what} blocks and stands for {taken[label]} too; change one"
            )
            raise DomainError(message)
    return replace(settings, background=rest, unassigned=lost)


def rest_labels(domains: Domains, names: Sequence[str], settings: LabelSettings) -> tuple[str, str]:
    """Return the labels of blocks in no domain and of unassigned ones: by keyword, or the domains'.

    Parameters
    ----------
    domains : Domains
        What has a background and a label of unassigned blocks.
    names : sequence of str
        Of the domains that blocks are labelled with.
    settings : LabelSettings
        The labels that the caller chose.

    Raises
    ------
    DomainError
        For the label nan.

    Warns
    -----
    GeodomainWarning
        For a label, of the domains too, that other programs read as a missing value.
    """
    rest = domains.background if settings.background is None else settings.background
    lost = domains.unassigned if settings.unassigned is None else settings.unassigned
    chosen = {"background": rest, "unassigned": lost, "leaky": settings.leaky or ""}
    for what, label in chosen.items():
        refuse_nan(label, what)
    for sentence in read_as_missing([*names, *chosen.values()]):
        warn(sentence)
    return rest, lost


def _is_number(label: str) -> bool:
    """Return whether a label is written as a code."""
    try:
        return is_code(int(label)) and str(int(label)) == label
    except ValueError:
        return False


def _number(code: int | None) -> str:
    """Return a code as the text of a cell, empty for None."""
    return "" if code is None else str(code)


# --- A chunk of blocks that several domains are evaluated for, and shared surfaces.


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


# --- Evaluation of each domain by itself, before their order is applied.


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


# --- Which points each of several closed solids contains: one pass, then a second one for overlaps.


def members_of(
    locators: Sequence[PointLocator],
    points: NDArray[np.float64],
    threads: int | None,
    *,
    asked: ArrayLike | None = None,
) -> list[Bools]:
    """Return for each solid which points, (n, 3), are inside by parity.

    The first solid that contains a point is found for all of them at once, which asks a point only
    of the solids near it. Those after it are then asked of its points, where their boxes meet.
    ``asked`` is the points as they are asked about as a whole.
    """
    first = first_codes(points if asked is None else asked, locators, threads=threads)
    inside: list[Bools] = []
    owned: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []  # by those that have some
    for index, locator in enumerate(locators):
        found: Bools = first == index
        box = locator.mesh.bounds
        shared = [rows for rows, other in owned if meet(box, other)]
        if found.any():
            owned.append((np.flatnonzero(found), box))
        if shared:
            rows = np.concatenate(shared)
            found[rows] = _contains(locator, points, rows)
        inside.append(found)
    return inside


def _contains(locator: PointLocator, points: NDArray[np.float64], rows: NDArray[np.intp]) -> Bools:
    """Return which of some points a solid contains."""
    try:
        return locator.contains(points[rows])
    except PointError:  # which is to name the point by its own number
        return locator.contains(points)[rows]


# --- Domains within or beyond a distance of their wireframes.

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
