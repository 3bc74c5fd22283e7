"""Evaluate each domain for blocks, and check that meshes and block model overlap."""

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
from geodomain.checks.columns import read_as_missing, require_rest_label
from geodomain.compute.data import Bools, CachedPoints, Floats
from geodomain.compute.native import thread_count
from geodomain.domains.domain import CODE, Domain, is_code
from geodomain.domains.order import DomainOrLayer, Domains
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, PointError, TableError, counted, warn
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
from geodomain.query.contains import first_codes
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
_SAID = 3  # most solids whose boxes a message lists
EXCHANGES = (((1, 0, 2), "x and y"), ((2, 1, 0), "x and z"), ((0, 2, 1), "y and z"))


def meet(box: Box, other: Box) -> bool:
    """Return whether two boxes, (2, 3) each, have a point in common."""
    return bool((box[0] <= other[1]).all() and (other[0] <= box[1]).all())


def share_within(box: Box, model: Box) -> float:
    """Return the fraction of a box that is inside the model's box."""
    overlap = np.minimum(box[1], model[1]) - np.maximum(box[0], model[0])
    length = box[1] - box[0]
    parts = np.where(length > 0, overlap / np.where(length > 0, length, 1.0), overlap >= 0)
    return float(np.prod(np.clip(parts, 0.0, 1.0))) if (overlap >= 0).all() else 0.0


def explain_apart(box: Box, model: Box) -> str:
    """Return a hint why a mesh's box does not meet the model's box, or "" without a likely cause.

    First, exchanged axes, changed signs and other units are tried. The hint names the change that
    puts most of the mesh into the model. Next, round offsets are tried, because leading digits of
    coordinates may be missing, such as 7,000,000. Last, another height datum is tried.
    """
    changed = (*_changed(box), *_heights_in_feet(box, model))
    met = [(share_within(other, model), text) for other, text in changed if meet(other, model)]
    # A mesh near the origin meets any model if it is multiplied by 1000, so other units need a
    # large overlap.
    met = [change for change in met if change[0] > 0.1 or " times " not in change[1]]
    if met:
        return f"{max(met, key=lambda change: change[0])[1]}, the mesh would fit"
    offsets = [_round_offset(box[:, axis], model[:, axis]) for axis in range(3)]
    if None not in offsets:
        text = " and ".join(
            f"{abs(offset):,.0f} {'added to' if offset > 0 else 'subtracted from'} {axis}"
            for axis, offset in zip(_AXES, offsets, strict=True)
            if offset
        )
        return f"with {text} of the mesh, the mesh would fit: do coordinates lack leading digits?"
    if meet(box[:, :2], model[:, :2]):
        return "the mesh fits in plan but not in elevation: does it use another height datum?"
    return ""


def _changed(box: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with axes exchanged, signs changed and other units, each with a description."""
    for order, what in EXCHANGES:
        yield box[:, order], f"with {what} exchanged"
    for count in (1, 2, 3):
        for axes in combinations(range(3), count):
            named = " and ".join(_AXES[axis] for axis in axes)
            yield _negated(box, axes), f"with the sign of {named} changed"
    for ratio, what in _UNITS:
        yield box * ratio, f"with coordinates of the mesh times {ratio:.6g} ({what})"


def _heights_in_feet(box: Box, model: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with heights converted between feet and metres, if these overlap the model.

    More than half of the joint height range must overlap. A smaller overlap may be a coincidence.
    """
    for ratio, what in _UNITS[:2]:
        changed = box * (1.0, 1.0, ratio)
        low, high = zip(changed[:, 2], model[:, 2], strict=True)
        if min(high) - max(low) > (max(high) - min(low)) / 2:
            yield changed, f"with z of the mesh times {ratio:.6g} ({what})"


def explain_height(surface: Box, model: Box) -> str:
    """Return the likely reason why all blocks are above, or all below, a surface; "" if none.

    An underground model usually lies below topography by less than its own height. A larger
    distance is suspicious. A surface that would meet the blocks if its heights had the opposite
    sign or another unit is suspicious too.
    """
    low, high = model[:, 2]
    if meet(surface[:, 2:], model[:, 2:]) or not meet(surface[:, :2], model[:, :2]):
        return ""
    tried = [(-surface[::-1, 2:], "the sign of z changed")]
    tried += [(surface[:, 2:] * ratio, f"z times {ratio:.6g} ({unit})") for ratio, unit in _UNITS]
    for heights, what in tried:
        if meet(heights, model[:, 2:]):
            return f"with {what}, surface and blocks would meet"
    gap = max(surface[0, 2] - high, low - surface[1, 2])
    return "does the surface use another height datum?" if gap > high - low else ""


def explain_better(box: Box, model: Box) -> str:
    """Return a hint if a mesh would fit the model far better with two axes exchanged; "" if not."""
    if share_within(box, model) < 0.5:
        for order, what in EXCHANGES:
            if share_within(box[:, order], model) > 0.9:
                return f"with {what} exchanged, the mesh would fit the block model far better"
    return ""


def _negated(box: Box, axes: tuple[int, ...]) -> Box:
    """Return a box mirrored at 0 along some axes."""
    flipped = box.copy()
    for axis in axes:
        flipped[:, axis] = -box[::-1, axis]
    return flipped


def _round_offset(mesh: Box, model: Box) -> float | None:
    """Return the roundest offset that makes the mesh's interval meet the model's interval.

    The intervals are coordinate ranges along one axis. A multiple of 10^8 is rounder than a
    multiple of 10^7. Only multiples of 1,000 are tried: leading digits are worth at least 1,000,
    and smaller steps would fit any model. Return 0 if the intervals meet already, and None if no
    offset fits.
    """
    if mesh[0] <= model[1] and model[0] <= mesh[1]:
        return 0.0
    distance = float(model.mean() - mesh.mean())
    for power in range(8, 2, -1):
        offset = round(distance / 10**power) * 10**power
        if offset and mesh[0] + offset <= model[1] and model[0] <= mesh[1] + offset:
            return float(offset)
    return None


def solids_apart(
    solids: Sequence[DomainOrLayer], model: NDArray[np.float64]
) -> list[DomainOrLayer]:
    """Return the solids whose box does not meet the model's box (2, 3); none for an empty model."""
    if np.isnan(model).any():
        return []
    return [solid for solid in solids if not meet(solid.bounds, model)]


def within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether the box `inner`, (2, 3), lies inside the box `outer`."""
    return bool((outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all())


def refuse_disjoint(
    solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str
) -> None:
    """Raise TableError if no solid meets the model; the message gives boxes and a likely cause."""
    if all_apart(solids, model):
        message = f"{say_apart(solids, model, table)} To label anyway, use allow_disjoint=True."
        raise TableError(message)


def all_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> bool:
    """Return whether there are domains, and none of their boxes meets the model's box."""
    return len(solids_apart(solids, model)) >= max(len(solids), 1)


def say_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str) -> str:
    """Return the message that no domain meets the model, with the boxes and a likely cause."""
    places = [f"{solid.name} is in {say_box(solid.bounds)}" for solid in solids[:_SAID]]
    what = "solid" if all(solid.is_solid for solid in solids) else "domain"
    rest = len(solids) - _SAID
    more = f"; {counted(rest, f'other {what}')} {'is' if rest == 1 else 'are'} elsewhere"
    return (
        f"no {what} meets the block model: the blocks of {table} are in {say_box(model)}; "
        f"{'; '.join(places)}{more if rest > 0 else ''}. {_guess(solids, model)}"
    )


def _guess(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> str:
    """Return the likely reason why no solid meets the model, as text.

    The first solid with a likely reason decides.
    """
    for solid in solids:
        reason = explain_apart(solid.bounds, model)
        if reason:
            hint = " Check x=, y= and z=." if "exchanged" in reason else ""
            return f"{reason[0].upper()}{reason[1:]}{'' if reason.endswith('?') else '.'}{hint}"
    return (
        "Check whether meshes and blocks use different datums, grids or units, or whether the "
        "blocks have local coordinates of a rotated model."
    )


# --- Block lattices: answers of a mesh for all cells of the lattice that blocks lie on.

Answer = TypeVar("Answer")

# Cost of a row, a triangle and an axis coordinate, in cells.
_CELLS_TO_A_ROW, _CELLS_TO_A_TRIANGLE, _CELLS_TO_A_COORDINATE = 64, 64, 64


class BlockLattice:
    """A lattice whose cells tell which blocks a mesh contains; thread-safe.

    The lattice is a guess of the positions of blocks. A right guess saves time. A block whose
    centroid is not the centre of a cell is computed separately, so no result depends on the
    lattice.

    Parameters
    ----------
    axes : sequence of three LatticeAxis
        Coordinates along each axis.
    expected : int
        Minimum number of blocks, if known. Cells are computed only if enough blocks have come, or
        are expected, for this to save time.
    threads : int, optional
        Number of threads. [default: all cores]
    """

    def __init__(
        self, axes: Sequence[LatticeAxis], *, expected: int = 0, threads: int | None = None
    ) -> None:
        self._axes, self._expected, self._threads = axes, expected, thread_count(threads)
        self._lock = threading.Lock()
        self._requested: dict[int, int] = {}
        self._answers: dict[int, CellAnswers | None] = {}
        self._left = MOST_CELLS

    @classmethod
    def of_axes(cls, axes: Sequence[Floats], *, threads: int | None) -> BlockLattice:
        """Return the lattice of all combinations of these coordinates along x, y and z."""
        expected = int(np.prod([float(len(axis)) for axis in axes]))
        return cls([ExplicitAxis(axis) for axis in axes], expected=expected, threads=threads)

    @classmethod
    def inferred(cls, *, threads: int | None) -> BlockLattice:
        """Return a lattice whose coordinates are inferred from the blocks passed to `learn`."""
        return cls([LearntAxis() for _ in range(3)], threads=threads)

    def learn(self, points: Floats) -> None:
        """Infer the lattice anew from blocks, (n, 3), if they do not fit it."""
        with self._lock:
            for axis, values in zip(self._axes, points.T, strict=True):
                if isinstance(axis, LearntAxis) and axis.learn(values):
                    self._answers.clear()
                    self._left = MOST_CELLS

    def contains(self, locator: PointLocator, rule: Rule, points: Floats) -> Bools | None:
        """Return the mask of points, (n, 3), inside a mesh by a rule.

        Return None if the lattice gives no answer, for example before its cells are computed.
        """
        if rule == "winding" and not locator.mesh.is_closed:
            return None
        return self._ask(locator, points, lambda cells: cells.contains(rule, points))

    def sides(self, locator: PointLocator, points: Floats) -> NDArray[np.int32] | None:
        """Return two numbers for each point, (n, 2), as `BlockChunk.sides` does for blocks.

        Return None if the lattice gives no answer, for example before its cells are computed.
        """
        return self._ask(locator, points, lambda cells: cells.sides(points))

    def _ask(
        self, locator: PointLocator, points: Floats, call: Callable[[CellAnswers], Answer]
    ) -> Answer | None:
        """Return the result of `call` for the lattice cells in a mesh's box.

        Return None on a GPU, or if the cells would not save time or cannot be computed. Points are
        then computed one by one.
        """
        if locator.backend.name != "cpu":
            return None
        try:
            cells = self._cells(locator, len(points))
            return None if cells is None else call(cells)
        except PointError:  # the point index gives the answer, or an error with the row
            self._answers[id(locator)] = None
            return None

    def _cells(self, locator: PointLocator, rows: int) -> CellAnswers | None:
        """Return the lattice cells in a mesh's box, or None while they would not save time."""
        with self._lock:
            key = id(locator)
            requested = self._requested[key] = self._requested.get(key, 0) + rows
            if key not in self._answers:
                low, high = locator.mesh.bounds
                ends = list(zip(self._axes, low.tolist(), high.tolist(), strict=True))
                counts = [axis.count(a, b) for axis, a, b in ends]
                # Count first: one axis may be long while another has no coordinate.
                if not (min(counts) >= 1 and sum(counts) <= MOST_COORDINATES):
                    return None
                count = cells_in_words(*counts)
                work = (
                    counts[0] * counts[1] * counts[2]
                    + _CELLS_TO_A_TRIANGLE * len(locator.mesh.triangles)
                    + _CELLS_TO_A_COORDINATE * sum(counts)
                )
                if count > self._left or work > _CELLS_TO_A_ROW * max(requested, self._expected):
                    return None
                x, y, z = (axis.within(a, b) for axis, a, b in ends)
                if not min(len(x), len(y), len(z)):
                    return None
                self._left -= int(count)
                self._answers[key] = CellAnswers(locator, (x, y, z), self._threads)
            return self._answers[key]


# --- Labels of blocks outside every domain, and forbidden labels.


def with_labels(settings: LabelSettings, domains: Domains) -> LabelSettings:
    """Return the settings with all labels filled in; missing labels come from the domains.

    Raises
    ------
    DomainError
        If a label is also the name of a domain, or is nan. If codes are written, and a label is
        also the code of a domain, or is not a code.

    Warns
    -----
    GeodomainWarning
        If names are written, and other programs read a name or a label as a missing value.
    """
    codes, rest, lost = settings.codes, settings.background, settings.unassigned
    if codes:
        rest = _number(domains.background_code) if rest is None else rest
        lost = _number(domains.unassigned_code) if lost is None else lost
    else:
        rest, lost = rest_labels(domains, [target.name for target in domains.targets], settings)
    leaky = lost if settings.leaky is None else settings.leaky
    target_of = {_number(t.code) if codes else t.name: t.name for t in domains.targets}
    labels = {"background": rest, "unassigned": lost, "leaky": leaky}
    for what, label in labels.items():
        if codes and label and not _is_number(label):
            message = (
                f"{label!r} is the label of {what} blocks, but the column contains integer "
                f"codes: give {CODE}, or leave out this label"
            )
            raise DomainError(message)
        if label and label in target_of:
            message = (
                f"{label!r} is the label of both {what} blocks and {target_of[label]}; give one of "
                "them a different label"
            )
            raise DomainError(message)
    return replace(settings, background=rest, unassigned=lost)


def rest_labels(domains: Domains, names: Sequence[str], settings: LabelSettings) -> tuple[str, str]:
    """Return the labels of background and unassigned blocks, from the keywords or the domains.

    Parameters
    ----------
    domains : Domains
        Domains with their background and unassigned labels.
    names : sequence of str
        Names of the domains.
    settings : LabelSettings
        The labels that the caller chose.

    Raises
    ------
    DomainError
        If a label is nan, or has several lines, or blanks around it.

    Warns
    -----
    GeodomainWarning
        If other programs read a label, or the name of a domain, as a missing value.
    """
    rest = domains.background if settings.background is None else settings.background
    lost = domains.unassigned if settings.unassigned is None else settings.unassigned
    chosen = {"background": rest, "unassigned": lost, "leaky": settings.leaky or ""}
    for what, label in chosen.items():
        require_rest_label(label, what)
    for sentence in read_as_missing([*names, *chosen.values()]):
        warn(sentence)
    return rest, lost


def _is_number(label: str) -> bool:
    """Return whether a label is the text of a valid code."""
    try:
        return is_code(int(label)) and str(int(label)) == label
    except ValueError:
        return False


def _number(code: int | None) -> str:
    """Return a code as text, empty for None."""
    return "" if code is None else str(code)


# --- A chunk of blocks that several domains evaluate, with cached results.


class BlockChunk:
    """A chunk of blocks. Results that several domains need are computed once.

    Attributes
    ----------
    points : (n, 3) float64
        The centroids.
    cached : CachedPoints
        The same points, sent to a GPU only once.
    finite : (n,) bool
        Whether all coordinates of a point are finite.
    box : (2, 3) float64
        Box of the finite points; from +inf to -inf if no point is finite.
    members : dict of (int, str) to (n,) bool
        Blocks inside a closed solid, if several solids were tested together. The key is the id of
        the solid's locator, and the rule.
    lattice : BlockLattice, optional
        Lattice of most of the blocks.
    extended : dict of int to (n,) int8
        By id of a surface: for each block beyond the footprint, 1 above the extended surface and -1
        below it, if known.
    doubles : bool
        Whether to look for blocks that a solid contains more than once.
    """

    doubles = True

    def __init__(
        self, points: Floats, cached: CachedPoints, lattice: BlockLattice | None = None
    ) -> None:
        self.points, self.cached, self.lattice = points, cached, lattice
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
        """Return the mask of blocks inside a mesh by the parity or winding rule."""
        inside = self.members.get((id(locator), rule))
        if inside is None and self.lattice is not None:
            inside = self.lattice.contains(locator, rule, self.points)
        return contains_read(locator, rule, self.cached.columns) if inside is None else inside

    def sides(self, locator: PointLocator) -> NDArray[np.int32]:
        """Return two numbers for each block, (n, 2), that tell its side of a mesh.

        The two numbers are the crossings of the mesh above and below the block, or substitutes that
        give the same side. `sides_of` turns the numbers into a side.
        """
        counts = None if self.lattice is None else self.lattice.sides(locator, self.points)
        return locator.count_sides(self.cached) if counts is None else counts

    def counts(self, surface: TiledSurface) -> NDArray[np.int32]:
        """Return the sums of `sides` over the tiles of a surface, computed once for all domains."""
        sums = self._counts.get(id(surface))
        if sums is None:
            sums = np.zeros((len(self.points), 2), np.int32)
            for locator in surface.locators:
                sums += self.sides(locator)
            self._counts[id(surface)] = sums
            folded = (sums[:, 0] + sums[:, 1]) > 1
            if folded.any():
                self.folded[surface.name] = folded | self.folded.get(surface.name, False)
        return sums


@dataclass(frozen=True, eq=False)
class TiledSurface:
    """A surface made of one or several meshes (its tiles), with the search index of each tile."""

    tiles: tuple[Mesh, ...]
    locators: tuple[PointLocator, ...]

    @property
    def name(self) -> str:
        """The name of the first tile."""
        return self.tiles[0].name

    @cached_property
    def extension(self) -> Extension:
        """The extension of the surface beyond its footprint."""
        return Extension(self.tiles)

    def sides(self, chunk: BlockChunk, *, extend: str) -> tuple[NDArray[np.int8], Bools]:
        """Return the side of each block, and which blocks are outside the surface's footprint.

        The side is 1 for a block above the surface, -1 for a block below it, and 0 if unknown.
        """
        side = sides_of(chunk.counts(self))
        off = (side == OFF) & chunk.finite
        if extend == "nearest" and off.any():
            extended = chunk.extended.get(id(self))
            side[off] = (
                self.extension.sides(chunk.points[off]) if extended is None else extended[off]
            )
        return side, off


# --- Evaluation of each domain on its own, before domain order is applied.


class DomainAnswer(NamedTuple):
    """The blocks in a domain, and the undecided blocks, as masks of n blocks.

    None stands for a mask that is False for all blocks.

    Attributes
    ----------
    inside : (n,) bool
        The blocks in the domain.
    leaking : (n,) bool, optional
        Blocks that an open solid cannot decide, because one of the numbers of crossings above and
        below is even and the other is odd.
    beyond : (n,) bool, optional
        Blocks that cannot be decided because they are `off`.
    doubled : (n,) bool, optional
        Blocks that a solid contains more than once. With the parity rule: blocks that count as
        outside, but whose winding number is not 0. With the winding rule: blocks with a winding
        number above 1 or below -1. With both rules: blocks in more than one mesh of the union. A
        mesh is searched for such blocks only if it has several components.
    uncertain : (n,) bool, optional
        Blocks whose winding number in an open solid is too near 1/2 to be certain.
    off : (n,) bool, optional
        Blocks outside the footprint of the deciding surface, whatever their label.
    crossed : (n,) bool, optional
        Blocks above an upper surface of a stack and below a lower surface. The stack's rule decides
        their layer.
    """

    inside: Bools
    leaking: Bools | None = None
    beyond: Bools | None = None
    doubled: Bools | None = None
    uncertain: Bools | None = None
    off: Bools | None = None
    crossed: Bools | None = None

    def within(self, rows: Bools) -> DomainAnswer:
        """Return a copy in which all masks are False outside the mask `rows`."""
        return DomainAnswer._make(None if part is None else part & rows for part in self)

    def part(self, begin: int, end: int) -> DomainAnswer:
        """Return the masks for a range of blocks."""
        return DomainAnswer._make(None if part is None else part[begin:end] for part in self)

    def inverted(self, rows: Bools) -> DomainAnswer:
        """Return the complement of the domain among the blocks `rows`, except undecided blocks."""
        sure = rows & ~self.inside
        for unsure in (self.leaking, self.beyond):
            sure = sure if unsure is None else sure & ~unsure
        return self._replace(inside=sure, doubled=None)


@dataclass(frozen=True, eq=False)
class SurfaceEvaluation:
    """A domain above or below a surface, ready to be evaluated for blocks."""

    domain: Domain
    surface: TiledSurface
    width = 1  # number of answers

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return a list with one answer: which blocks of a chunk are in the domain."""
        domain = self.domain
        side, off = self.surface.sides(scene, extend=domain.extend)
        answer = DomainAnswer(
            side == (ABOVE if domain.kind == "above" else BELOW),
            beyond=off if domain.extend == "unassigned" else None,
            off=off,
        )
        return [answer.inverted(side != OFF) if domain.invert else answer]


@dataclass(frozen=True, eq=False)
class StackEvaluation:
    """The layers of a stack, ready to be evaluated for blocks."""

    stack: Stack
    surfaces: tuple[TiledSurface, ...]

    @property
    def width(self) -> int:
        """The number of named layers."""
        return len(self.stack.named)

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return, for each named layer, which blocks of a chunk are in it.

        With the rule "erode", surfaces are searched from the top: a block is in the layer over the
        first surface that it is above. With "onlap", surfaces are searched from the bottom: a block
        is in the layer under the first surface that it is below. If the search reaches a surface
        whose footprint does not cover the block, the block is in no layer.
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
        # Answers about the whole stack are returned once, with the first layer.
        beyond = lost if self.stack.extend == "unassigned" else None
        return [first._replace(beyond=beyond, off=off, crossed=crossed), *others]


@dataclass(frozen=True, eq=False)
class Shell:
    """A mesh of a solid, with the search index of the mesh and the rule of the solid.

    Attributes
    ----------
    by_fraction : bool
        Whether the mesh is open, and its generalised winding number decides which blocks are
        inside.
    may_double : bool
        Whether the mesh has several components, which may contain a block more than once.
    """

    mesh: Mesh
    locator: PointLocator
    rule: Rule
    by_fraction: bool = field(init=False)
    may_double: bool = field(init=False)

    def __post_init__(self) -> None:
        """Set `by_fraction` and `may_double`."""
        mesh = self.mesh
        several = mesh.is_balanced and mesh.bodies.count > 1
        fraction = self.rule == "winding" and not mesh.is_closed and not mesh.is_balanced
        object.__setattr__(self, "may_double", several)
        object.__setattr__(self, "by_fraction", fraction)

    def is_apart(self, box: Floats) -> bool:
        """Return whether every block with its centroid in a box is certainly outside the mesh."""
        low, high = self.mesh.bounds
        in_plan = bool((box[1, :2] < low[:2]).any() or (high[:2] < box[0, :2]).any())
        if self.by_fraction:
            return False
        if not self.mesh.is_closed:
            return in_plan
        return in_plan or bool(box[1, 2] < low[2] or high[2] < box[0, 2])

    def ask(self, scene: BlockChunk) -> DomainAnswer:
        """Return which blocks of a chunk are inside the mesh, and which are undecided."""
        points = scene.points
        if self.by_fraction:
            winding = self.locator.generalised_winding(scene.cached)
            uncertain = winding.uncertain & scene.finite
            return DomainAnswer(winding.inside, uncertain=uncertain if uncertain.any() else None)
        inside = scene.contains(self.locator, self.rule)
        leaks = None if self.mesh.is_closed else self._leaks(scene)
        doubled = self._doubled(points, inside) if self.may_double and scene.doubles else None
        if leaks is not None:
            inside = inside & ~leaks
        return DomainAnswer(inside, leaking=leaks, doubled=doubled)

    def _doubled(self, points: Floats, inside: Bools) -> Bools:
        """Return the mask of blocks that several components of the mesh contain.

        The mesh must use each edge equally often in both directions.
        """
        # Parity is the last bit of the winding number, so an odd one is already inside. Winding
        # numbers cost more than membership, so they are computed only for blocks that may be
        # doubled.
        suspects = np.flatnonzero(self._in_box(points) & (inside == (self.rule == "winding")))
        winding = np.abs(self.locator.winding_numbers(points[suspects]))
        doubled = np.zeros(len(points), np.bool_)
        doubled[suspects] = winding > (1 if self.rule == "winding" else 0)
        return doubled

    def _in_box(self, points: Floats) -> Bools:
        """Return the mask of blocks with a centroid in the mesh's box, or on its faces."""
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
    """A domain inside the union of solids, ready to be evaluated for blocks."""

    domain: Domain
    shells: tuple[Shell, ...]
    width = 1

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return a list with one answer: which blocks of a chunk are in the domain.

        The list is empty if no solid is near.
        """
        near = [shell for shell in self.shells if not shell.is_apart(scene.box)]
        answer = _union([shell.ask(scene) for shell in near], len(scene.points)) if near else None
        if not self.domain.invert:
            return [] if answer is None else [answer]
        answer = answer or DomainAnswer(np.zeros(len(scene.points), np.bool_))
        return [answer.inverted(scene.finite)]


Evaluation = SolidEvaluation | SurfaceEvaluation | StackEvaluation


def _union(answers: Sequence[DomainAnswer], count: int) -> DomainAnswer:
    """Combine the answers of the meshes of one domain.

    A block inside one mesh is in the domain, even if another, open mesh cannot decide the block.
    """
    if len(answers) == 1:
        return answers[0]
    inside, doubled = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for answer in answers:
        doubled |= inside & answer.inside
        doubled |= False if answer.doubled is None else answer.doubled
        inside |= answer.inside
    leaking = _any(answer.leaking for answer in answers)
    uncertain = _any(answer.uncertain for answer in answers)
    return DomainAnswer(
        inside, None if leaking is None else leaking & ~inside, None, doubled, uncertain
    )


def _any(parts: Iterable[Bools | None]) -> Bools | None:
    """Return the logical or of masks; None stands for a mask that is False everywhere."""
    some = [part for part in parts if part is not None]
    return np.logical_or.reduce(some) if some else None


# --- Membership in several closed solids: one pass for the first solid, one for overlaps.


def members_of(
    locators: Sequence[PointLocator],
    points: NDArray[np.float64],
    threads: int | None,
    *,
    cached: ArrayLike | None = None,
) -> list[Bools]:
    """Return, for each solid, the mask of points (n, 3) inside it by parity.

    One pass finds the first solid that contains each point, and tests only solids near the point.
    Then the points in each solid are tested against the later solids whose boxes meet the box of
    this solid. ``cached`` are the same points, prepared for the whole chunk.
    """
    first = first_codes(points if cached is None else cached, locators, threads=threads)
    inside: list[Bools] = []
    owned: list[
        tuple[NDArray[np.intp], NDArray[np.float64]]
    ] = []  # solids that contain some points
    for index, locator in enumerate(locators):
        mask: Bools = first == index
        box = locator.mesh.bounds
        shared = [rows for rows, other in owned if meet(box, other)]
        if mask.any():
            owned.append((np.flatnonzero(mask), box))
        if shared:
            rows = np.concatenate(shared)
            mask[rows] = _contains(locator, points, rows)
        inside.append(mask)
    return inside


def _contains(locator: PointLocator, points: NDArray[np.float64], rows: NDArray[np.intp]) -> Bools:
    """Return which of the points numbered `rows` a solid contains."""
    try:
        return locator.contains(points[rows])
    except PointError:  # so that an error names the point's number
        return locator.contains(points)[rows]


# --- Domains within or beyond a distance of their wireframes.

# A distance is accurate to 4 units in the last place of the largest coordinate difference to a
# vertex, 2^-50 of it; boxes are widened by far more, so that no block is left out.
_SLACK = 1e-14


@dataclass(frozen=True, eq=False)
class SkinEvaluation:
    """A domain defined by a distance from wireframes, ready to be evaluated for blocks.

    Attributes
    ----------
    domain : Domain
        The domain, which has ``within`` or ``beyond``.
    distances : tuple of MeshDistance
        Distance to each mesh of the domain; the smallest counts.
    side : SolidEvaluation or SurfaceEvaluation, optional
        Decides which blocks are on the domain's side of the wireframes; None for both sides.
    """

    domain: Domain
    distances: tuple[MeshDistance, ...]
    side: SolidEvaluation | SurfaceEvaluation | None
    width = 1

    def ask(self, scene: BlockChunk) -> list[DomainAnswer]:
        """Return a list with at most one answer: which blocks of a chunk are in the domain.

        Distances are computed only for blocks on the domain's side of the wireframes.
        """
        answers = [DomainAnswer(scene.finite)] if self.side is None else self.side.ask(scene)
        return [
            answer.within(self._holds(scene.points, _need_distance(answer))) for answer in answers
        ]

    def _holds(self, points: Floats, candidates: Bools) -> Bools:
        """Return which of the blocks `candidates` have a distance in the domain's range."""
        within, beyond = self.domain.within, self.domain.beyond
        limit = (beyond or 0.0) if within is None else within
        nearest = np.full(len(points), np.inf)
        for distance in self.distances:
            rows = np.flatnonzero(candidates & _near(points, distance.mesh.bounds, limit))
            nearest[rows] = np.minimum(nearest[rows], _distances(distance, points, rows))
        held = candidates if within is None else candidates & (nearest <= within)
        return held if beyond is None else held & (nearest > beyond)


def _need_distance(answer: DomainAnswer) -> Bools:
    """Return the mask of blocks that are inside or undecided, for which distances are needed."""
    unsure = [part for part in (answer.leaking, answer.beyond) if part is not None]
    return reduce(np.logical_or, unsure, answer.inside)


def _near(points: Floats, box: Floats, limit: float) -> Bools:
    """Return the mask of points whose distance from a box may be at most `limit`."""
    near = np.ones(len(points), np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        for axis in range(3):
            under, over = box[0, axis] - points[:, axis], points[:, axis] - box[1, axis]
            gap = np.maximum(under, over)
            slack = _SLACK * (np.abs(gap) + (box[1] - box[0]).max())
            near &= gap <= limit + slack
    return near


def _distances(distance: MeshDistance, points: Floats, rows: NDArray[np.intp]) -> Floats:
    """Return the distances from a mesh of the points numbered `rows`."""
    try:
        return distance.of(points[rows])
    except PointError:  # so that an error names the point's number
        return distance.of(points)[rows]
