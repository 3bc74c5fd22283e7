"""Compute which share of each block is left after each step of mining, from wireframes.

A step takes the inside of solids and everything above surfaces out of the ground. What is left
after several steps lies below all their surfaces and outside all their solids, so ground that two
steps share is mined by the first of them.

Only wireframes that matter in a block are combined there. A surface that another surface undercuts
everywhere in the block is left out, and so is a solid that lies in another solid or above a
surface. Usually one wireframe is left, however many months have passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.errors import MeshError
from geodomain.labelling.evaluate import TiledSurface
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.parting import BodyShelf, SizedBlocks, entry_of, sized_blocks
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.share_pieces import Body, Places
from geodomain.labelling.sharer import Sharer, frame_of
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import locate
from geodomain.query.surfaces import ABOVE, sides_of

# Shares are rounded to whole multiples of 2^-40, so float64 adds and subtracts them exactly.
SHARE_UNITS = 2.0**40
# Two shares that differ by less than this are equal, and a volume below this is nothing.
_EQUAL = 1 / SHARE_UNITS
# Most wireframes that are combined in a block; a block with more is sampled along lines.
_MOST_TOGETHER = 6
_TOGETHER = 1 << 16  # blocks


class Excavation(NamedTuple):
    """What one step takes out of the ground.

    Attributes
    ----------
    name : str
        Name of the step in messages.
    solids : tuple of Mesh
        Closed wireframes; their insides are taken out.
    surfaces : tuple of Mesh
        Open wireframes; everything above them is taken out.
    """

    name: str
    solids: tuple[Mesh, ...]
    surfaces: tuple[Mesh, ...]


def excavation(name: str, meshes: Sequence[Mesh]) -> Excavation:
    """Return an excavation: closed meshes are solids, and open meshes are surfaces.

    Raises
    ------
    MeshError
        If an open mesh has triangles above each other nearly everywhere, as a solid with a hole
        has.
    """
    surfaces = tuple(mesh for mesh in meshes if not mesh.is_closed)
    for mesh in surfaces:
        if _lies_over_itself(mesh):
            message = (
                f"{name}: {mesh.name} is not closed, so it is no solid, and its triangles lie "
                "above each other, so it is no surface: find its holes with 'geodomain check', "
                "and close it with --weld or --fill"
            )
            raise MeshError(message)
    return Excavation(name, tuple(mesh for mesh in meshes if mesh.is_closed), surfaces)


def _lies_over_itself(mesh: Mesh) -> bool:
    """Return whether most vertical lines through an open mesh meet several of its triangles.

    The lines go through the middles of up to 1,000 triangles.
    """
    every = max(1, len(mesh.triangles) // 1000)
    places = mesh.vertices[mesh.triangles[::every]].mean(axis=1)
    places[:, 2] = mesh.bounds[0, 2] - 1.0
    sides = locate(mesh, backend="cpu", threads=1, allow_open=True).count_sides(places)
    crossings = sides.sum(axis=1)
    crossings = crossings[crossings > 0]
    return bool((crossings > 1).sum() * 2 > len(crossings))


class _State(NamedTuple):
    """Position of n blocks relative to one body.

    Attributes
    ----------
    rows : (m,) intp
        Blocks that the body enters, in ascending order.
    share : (m,) float64
        Share of each of these blocks inside the solid, or below the surface.
    sampled : (m,) bool
        Whether this share is not exact: triangles cross in the block, or a rim ends there.
    mined : (k,) intp
        Blocks that lie entirely inside the solid, or above the surface.
    """

    rows: Places
    share: Floats
    sampled: Bools
    mined: Places

    def of(self, rows: Places) -> tuple[Bools, Floats]:
        """Return which of some blocks the body enters, and the shares of these."""
        place = np.searchsorted(self.rows, rows)
        place[place == len(self.rows)] = 0
        entered = self.rows[place] == rows if len(self.rows) else np.zeros(len(rows), np.bool_)
        return entered, self.share[place[entered]]


class MinedShares:
    """Measures which share of each block is left after each step of some sequences.

    Parameters
    ----------
    excavations : sequence of Excavation
        All excavations.
    axes : (3, 3) float64
        The directions of the block edges in rows.
    name : str
        Name of the model in messages.
    settings : LabelSettings
        Rule, backend and threads.

    Raises
    ------
    MeshError
        If a solid has no inside by the rule.
    TableError
        If blocks are no boxes, or tilted although there are surfaces.
    """

    def __init__(
        self,
        excavations: Sequence[Excavation],
        axes: Floats,
        name: str,
        settings: LabelSettings,
    ) -> None:
        self._settings, self._excavations = settings, excavations
        domains, owners = _as_domains(range(len(excavations)), excavations)
        labeller = Labeller(Domains(tuple(domains)), settings)
        self._frame = frame_of(labeller, axes, name)
        shelf = BodyShelf(labeller, self._frame, settings.line_count)
        self._bodies = shelf.bodies
        places = {id(body): place for place, body in enumerate(self._bodies)}
        self._of = [
            [
                places[id(body)]
                for owner, bodies in zip(owners, shelf.units, strict=True)
                for body in bodies
                if owner == number
            ]
            for number in range(len(excavations))
        ]
        self._is_surface = [isinstance(body.source, TiledSurface) for body in self._bodies]
        base = 0.0 if self._frame.is_world else float(self._frame.origin[2])
        self._lowest = [_lowest(body, base) for body in self._bodies]
        self._sharers: dict[tuple[int, ...], tuple[Labeller, Sharer, list[int]]] = {}

    def left(
        self, points: Floats, sizes: Floats, orders: Sequence[Sequence[int]]
    ) -> tuple[list[Floats], Bools]:
        """Return the share of each box that is left after each step, for each order of steps.

        Parameters
        ----------
        points, sizes : (n, 3) float64
            Centres in world coordinates, and sizes along the axes of the blocks.
        orders : sequence of sequence of int
            Sequences of steps: numbers of excavations, in the order of time.

        Returns
        -------
        left : list of (steps, n) float64
            For each order, the share after each step. Shares are rounded to whole multiples of
            2^-40, and never increase. A wireframe that adds less than 2^-40 is left out, so an
            exact share is wrong by less than 2^-40 for each wireframe that enters the box. NaN for
            boxes without a finite centre or a size above 0.
        sampled : (n,) bool
            Boxes whose shares are estimated along lines.
        """
        left = [np.full((len(order), len(points)), np.nan) for order in orders]
        sampled = np.zeros(len(points), np.bool_)
        for begin in range(0, len(points), _TOGETHER):
            rows = slice(begin, begin + _TOGETHER)
            blocks = sized_blocks(points[rows], sizes[rows], self._frame)
            states = [self._state(place, blocks) for place in range(len(self._bodies))]
            for order, shares in zip(orders, left, strict=True):
                shares[:, rows], lines = self._left(order, states, blocks)
                shares[:, rows][:, ~blocks.usable] = np.nan
                sampled[rows] |= lines
        return left, sampled

    def estimated_error(self, order: Sequence[int]) -> float:
        """Return the estimated error of the volume mined in an order, from blocks on lines."""
        if tuple(order) not in self._sharers:
            return 0.0
        return float(self._sharers[tuple(order)][1].tally.errors.sum())

    def _state(self, place: int, blocks: SizedBlocks) -> _State:
        body = self._bodies[place]
        if not _may_meet(body.box, blocks):
            none = np.empty(0, np.intp)
            return _State(none, np.empty(0), np.empty(0, np.bool_), none)
        entry = entry_of(body, blocks, self._frame)
        rows, share, sampled = entry.rows, entry.share, entry.crossed | entry.off
        # At a rim, a block below the whole surface has no part above it.
        under = entry.off & (blocks.highs[rows, 2] <= self._lowest[place])
        whole = blocks.usable.copy()
        whole[rows] = False
        with np.errstate(invalid="ignore"):
            near = (blocks.lows < body.box[1]) & (blocks.highs > body.box[0])
        candidates = np.flatnonzero(whole & near.all(axis=1))
        states = body.states_at(np.ascontiguousarray(blocks.points[candidates]))
        inside = sides_of(states) == ABOVE if self._is_surface[place] else body.within(states)
        return _State(rows[~under], share[~under], sampled[~under], candidates[inside])

    def _left(
        self, order: Sequence[int], states: Sequence[_State], blocks: SizedBlocks
    ) -> tuple[Floats, Bools]:
        """Return the rounded shares that are left, (steps, n), and the boxes sampled on lines."""
        count = len(blocks.points)
        left, current = np.empty((len(order), count)), np.ones(count)
        sampled = np.zeros(count, np.bool_)
        for place in {place for number in order for place in self._of[number]}:
            sampled[states[place].rows[states[place].sampled]] = True
        groups: dict[tuple[int, ...], Places] = {(): np.flatnonzero(blocks.usable & ~sampled)}
        for step, number in enumerate(order):
            for place in self._of[number]:
                current[states[place].mined] = 0.0
                groups = self._joined(groups, place, states, blocks, current, sampled)
            left[step] = current
        rows = np.flatnonzero(sampled & blocks.usable)
        if len(rows):
            left[:, rows] = self._along_lines(order, blocks, rows)
        left = np.rint(np.clip(left, 0.0, 1.0) * SHARE_UNITS) / SHARE_UNITS
        return np.minimum.accumulate(left, axis=0), sampled

    def _joined(
        self,
        groups: dict[tuple[int, ...], Places],
        place: int,
        states: Sequence[_State],
        blocks: SizedBlocks,
        current: Floats,
        sampled: Bools,
    ) -> dict[tuple[int, ...], Places]:
        """Return the groups of blocks by the bodies that matter in them, after one more body.

        `current` gets the new shares, and `sampled` the blocks with too many bodies.
        """
        parts: dict[tuple[int, ...], list[Places]] = {}
        for members, rows in groups.items():
            rows = rows[current[rows] > 0]
            entered, own = states[place].of(rows)
            parts.setdefault(members, []).append(rows[~entered])
            rows = rows[entered]
            if not len(rows):
                continue
            for joined, some in self._merged(members, place, rows, own, states, blocks):
                if len(joined) > _MOST_TOGETHER:
                    sampled[some] = True
                    continue
                parts.setdefault(joined, []).append(some)
                if joined != members:
                    shares = self._outside(joined, some, states, blocks)
                    current[some] = np.minimum(current[some], shares)
        return {members: np.concatenate(rows) for members, rows in parts.items()}

    def _merged(
        self,
        members: tuple[int, ...],
        place: int,
        rows: Places,
        own: Floats,
        states: Sequence[_State],
        blocks: SizedBlocks,
    ) -> Iterator[tuple[tuple[int, ...], Places]]:
        """Yield the bodies that matter after one more, and the blocks for which they are these.

        Bodies that add nothing to others are left out. `own` are the shares of the new body.
        """
        useless = np.zeros(len(rows), np.bool_)
        dropped = np.zeros((len(members), len(rows)), np.bool_)
        for slot, member in enumerate(members):
            both = self._common((member, place), rows, states, blocks)[:, 3]
            other = states[member].of(rows)[1]
            # A surface has its share below it, a solid inside it.
            if self._is_surface[member] == self._is_surface[place]:
                within, around = both >= own - _EQUAL, both >= other - _EQUAL
                if self._is_surface[place]:  # the lower surface mines more
                    within, around = around, within
                useless |= within
                dropped[slot] = around & ~within
            elif self._is_surface[place]:
                dropped[slot] = both <= _EQUAL
            else:
                useless |= both <= _EQUAL
        dropped[:, useless] = False
        codes = useless.astype(np.intp)
        for slot in range(len(members)):
            codes |= dropped[slot].astype(np.intp) << (slot + 1)
        for code in np.unique(codes).tolist():
            some = rows[codes == code]
            remain = tuple(m for slot, m in enumerate(members) if not code >> (slot + 1) & 1)
            yield remain if code & 1 else (*remain, place), some

    def _outside(
        self,
        members: tuple[int, ...],
        rows: Places,
        states: Sequence[_State],
        blocks: SizedBlocks,
    ) -> Floats:
        """Return the share of blocks below all surfaces and outside all solids of a set."""
        common = self._common(members, rows, states, blocks)
        floor = sum(1 << slot for slot, place in enumerate(members) if self._is_surface[place])
        total = np.zeros(len(rows))
        for bodies in range(1 << len(members)):
            if bodies & floor == floor:
                solids = (bodies & ~floor).bit_count()
                total += -common[:, bodies] if solids % 2 else common[:, bodies]
        return total

    def _common(
        self,
        members: tuple[int, ...],
        rows: Places,
        states: Sequence[_State],
        blocks: SizedBlocks,
    ) -> Floats:
        """Return the share of blocks common to each set of bodies, (n, 2**k); see `Shares.common`.

        The empty set has the share 1, and a set of one body the share of this body.
        """
        common = np.ones((len(rows), 1 << len(members)))
        if len(members) > 1:
            first, *others = (self._bodies[place].shares for place in members)
            common = first.common(others, blocks.lows[rows], blocks.highs[rows])
            common[:, 0] = 1.0
        for slot, place in enumerate(members):
            common[:, 1 << slot] = states[place].of(rows)[1]
        return common

    def _along_lines(self, order: Sequence[int], blocks: SizedBlocks, rows: Places) -> Floats:
        """Return the shares left of some blocks, (steps, n), estimated along vertical lines."""
        key = tuple(order)
        if key not in self._sharers:
            domains, owners = _as_domains(order, self._excavations)
            labeller = Labeller(Domains(tuple(domains)), self._settings)
            sharer = Sharer(labeller, self._frame, self._settings)
            self._sharers[key] = labeller, sharer, owners
        labeller, sharer, owners = self._sharers[key]
        points = np.ascontiguousarray(blocks.points[rows])
        measured = sharer.measure(points, blocks.sizes[rows], labeller.label(points))
        mined = np.zeros((len(order), len(rows)))
        np.add.at(mined, [key.index(owner) for owner in owners], measured.shares)
        return 1.0 - np.cumsum(mined, axis=0)


def _as_domains(
    order: Sequence[int], excavations: Sequence[Excavation]
) -> tuple[list[Domain], list[int]]:
    """Return excavations as domains, first wins, and the number of each domain's excavation."""
    domains, owners = [], []
    for number in order:
        each = excavations[number]
        bodies = [(each.solids, "solid")] if each.solids else []
        bodies += [((surface,), "above") for surface in each.surfaces]
        for place, (meshes, kind) in enumerate(bodies):
            name = f"{each.name} ({number}.{place})"
            beyond = {"extend": "background"} if kind == "above" else {}
            domains.append(Domain(name, meshes, kind=kind, **beyond))  # type: ignore[arg-type]
            owners.append(number)
    return domains, owners


def _may_meet(box: Floats, blocks: SizedBlocks) -> bool:
    """Return whether a box meets the box around all blocks."""
    low = np.min(blocks.lows, axis=0, where=blocks.usable[:, None], initial=np.inf)
    high = np.max(blocks.highs, axis=0, where=blocks.usable[:, None], initial=-np.inf)
    return bool((low < box[1]).all() and (high > box[0]).all())


def _lowest(body: Body, base: float) -> float:
    """Return the lowest elevation of a surface above `base`; minus infinity for a solid."""
    if not isinstance(body.source, TiledSurface):
        return -np.inf
    return min(float(tile.bounds[0, 2]) for tile in body.source.tiles) - base
