"""Compute what share of each block is left after each step of mining, from wireframes.

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
from geodomain.labelling.parting import BodyShelf, SizedBlocks, entry_of, merged, sized_blocks
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.share_pieces import Body, Places
from geodomain.labelling.sharer import Sharer, frame_of
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import locate
from geodomain.query.surfaces import ABOVE, sides_of
from geodomain.volumes.shares import Shares

# Shares are rounded to whole multiples of 2^-40, so float64 adds and subtracts them exactly.
SHARE_UNITS = 2.0**40
# Two shares that differ by less than this count as equal, and a smaller share counts as 0.
_EQUAL = 1 / SHARE_UNITS
# Largest number of bodies that are combined in a block; with more, it is sampled along lines.
_MOST_TOGETHER = 6
_TOGETHER = 1 << 16  # blocks
_ROOF = 2.0**24  # height by which a surface is raised above all blocks


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
                f"{name}: {mesh.name} is not closed, so it is not a solid, and its triangles lie "
                "above each other, so it is not a surface: find and close its holes with "
                "'geodomain check'"
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
    cover : (m,) float64
        Share of the plan of each of these blocks that a surface covers; 1 for a solid.
    sampled : (m,) bool
        Whether these shares are not exact, because triangles cross or fold in the block.
    mined : (k,) intp
        Blocks that lie entirely inside the solid, or above the surface.
    """

    rows: Places
    share: Floats
    cover: Floats
    sampled: Bools
    mined: Places

    @classmethod
    def apart(cls) -> _State:
        """Return the state of blocks that the body does not meet."""
        none = np.empty(0, np.intp)
        return cls(none, np.empty(0), np.empty(0), np.empty(0, np.bool_), none)

    def entered(self, rows: Places) -> Bools:
        """Return which of some blocks the body enters."""
        return np.asarray(np.isin(rows, self.rows, assume_unique=True))

    def at(self, rows: Places) -> tuple[Floats, Floats]:
        """Return `share` and `cover` of some blocks that the body enters."""
        place = np.searchsorted(self.rows, rows)
        return self.share[place], self.cover[place]


# A member of a group of blocks: the number of a body, and whether its rim crosses the plan of the
# blocks.
_Member = tuple[int, bool]
_Members = tuple[_Member, ...]
# A factor of a product: the sets of bodies, as bits, whose common shares are added, with signs.
_Factor = tuple[tuple[int, int], ...]


class MinedShares:
    """Measures what share of each block is left after each step of some sequences.

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
        If blocks are not boxes, or if they are tilted and there are surfaces.
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
        self._roofs: dict[int, Shares] = {}
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
            Sequences of steps: indices of excavations, in the order of time.

        Returns
        -------
        left : list of (steps, n) float64
            For each order, the share after each step. Shares are rounded to whole multiples of
            2^-40, and never increase. A wireframe that adds less than 2^-40 is left out, so the
            error of a share that is not sampled is less than 2^-40 for each wireframe that enters
            the box. NaN for boxes without a finite centre or a size above 0.
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
        """Return the estimated error of the volume mined in an order, from the sampled blocks."""
        if tuple(order) not in self._sharers:
            return 0.0
        return float(self._sharers[tuple(order)][1].tally.errors.sum())

    def _state(self, place: int, blocks: SizedBlocks) -> _State:
        body = self._bodies[place]
        near = blocks.near(body.box)
        if not near.any():
            return _State.apart()
        entry = entry_of(body, blocks, self._frame)
        rows, share, sampled = entry.rows, entry.share.copy(), entry.crossed | entry.off
        cover = np.ones(len(rows))
        # At a rim, a block below the whole surface has no part above it.
        under = entry.off & (blocks.highs[rows, 2] <= self._lowest[place])
        rim = np.flatnonzero(entry.off & ~under)
        if len(rim):
            share[rim], cover[rim], sampled[rim] = self._at_rim(place, rows[rim], blocks)
            under |= ~sampled & (cover - share <= _EQUAL)
        near[rows] = False
        candidates = np.flatnonzero(near)
        states = body.states_at(np.ascontiguousarray(blocks.points[candidates]))
        inside = sides_of(states) == ABOVE if self._is_surface[place] else body.within(states)
        entered = ~under
        return _State(
            rows[entered], share[entered], cover[entered], sampled[entered], candidates[inside]
        )

    def _at_rim(
        self, place: int, rows: Places, blocks: SizedBlocks
    ) -> tuple[Floats, Floats, Bools]:
        """Return the shares of blocks below a surface, its cover, and which blocks are doubtful.

        The rim of the surface crosses the plan of these blocks. A block is doubtful if the surface
        may lie over itself there. Where n triangles lie over each other, pairs of them count n * n
        times and triples n * n * n times; these are equal only for n = 0 and 1.
        """
        lows, highs = blocks.lows[rows], blocks.highs[rows]
        roof, shares = self._roof(place), self._bodies[place].shares
        several = roof.common([roof, roof], lows, highs)
        cover, triples = several[:, 3], several[:, 7]
        below = shares.common([roof], lows, highs)[:, 3]
        doubtful = (np.abs(cover - triples) > _EQUAL) | (cover > 1 - _EQUAL)
        return np.minimum(below, cover), cover, doubtful

    def _roof(self, place: int) -> Shares:
        """Return a surface raised above all blocks: the share below it is the share it covers."""
        if place not in self._roofs:
            source = self._bodies[place].source
            assert isinstance(source, TiledSurface)
            mesh = self._frame.mesh(merged(source.tiles))
            raised = Mesh(mesh.vertices + np.array([0.0, 0.0, _ROOF]), mesh.triangles)
            settings = self._settings
            self._roofs[place] = Shares(
                raised, "below", "parity", settings.backend, settings.threads
            )
        return self._roofs[place]

    def _left(
        self, order: Sequence[int], states: Sequence[_State], blocks: SizedBlocks
    ) -> tuple[Floats, Bools]:
        """Return the rounded shares that are left, (steps, n), and the boxes sampled on lines."""
        count = len(blocks.points)
        left, current = np.empty((len(order), count)), np.ones(count)
        sampled = np.zeros(count, np.bool_)
        for place in {place for number in order for place in self._of[number]}:
            sampled[states[place].rows[states[place].sampled]] = True
        groups: dict[_Members, Places] = {(): np.flatnonzero(blocks.usable & ~sampled)}
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
        groups: dict[_Members, Places],
        place: int,
        states: Sequence[_State],
        blocks: SizedBlocks,
        current: Floats,
        sampled: Bools,
    ) -> dict[_Members, Places]:
        """Return the groups of blocks by the bodies that matter in them, after one more body.

        `current` gets the new shares, and `sampled` the blocks with too many bodies.
        """
        parts: dict[_Members, list[Places]] = {}
        for members, rows in groups.items():
            rows = rows[current[rows] > 0]
            entered = states[place].entered(rows)
            parts.setdefault(members, []).append(rows[~entered])
            at_rim = states[place].at(rows[entered])[1] < 1
            for rim in (False, True):
                some = rows[entered][at_rim == rim]
                for joined, part in self._merged(members, (place, rim), some, states, blocks):
                    if _body_count(joined) > _MOST_TOGETHER:
                        sampled[part] = True
                        continue
                    parts.setdefault(joined, []).append(part)
                    if joined != members:
                        common = self._common(joined, part, states, blocks)
                        shares = _product(common, self._factors(joined, mined=False))
                        current[part] = np.minimum(current[part], shares)
        return {members: np.concatenate(rows) for members, rows in parts.items()}

    def _merged(
        self,
        members: _Members,
        new: _Member,
        rows: Places,
        states: Sequence[_State],
        blocks: SizedBlocks,
    ) -> Iterator[tuple[_Members, Places]]:
        """Yield each set of bodies that matter after adding a body, with the blocks of this set.

        A body is left out if another body removes everything that it removes from the block.
        """
        if not len(rows):
            return
        useless = np.zeros(len(rows), np.bool_)
        codes = np.zeros(len(rows), np.intp)
        for slot, member in enumerate(members):
            common = self._common((member, new), rows, states, blocks)
            old, own = self._factors((member, new), mined=True)
            both = _product(common, [old, own])
            within = both >= _product(common, [own]) - _EQUAL
            useless |= within
            around = ~within & (both >= _product(common, [old]) - _EQUAL)
            codes |= around.astype(np.intp) << (slot + 1)
        codes[useless] = 1
        for code in np.unique(codes).tolist():
            remain = tuple(m for slot, m in enumerate(members) if not code >> (slot + 1) & 1)
            yield remain if code & 1 else (*remain, new), rows[codes == code]

    def _factors(self, members: _Members, *, mined: bool) -> list[_Factor]:
        """Return for each member what it mines of a block, or what it leaves, as a factor.

        The bits are those of the bodies of `_common`. A surface leaves what is below it, and what
        its plan does not cover.
        """
        factors: list[_Factor] = []
        bit = 1
        for place, rim in members:
            if not self._is_surface[place]:
                factors.append(((1, bit),) if mined else ((1, 0), (-1, bit)))
            elif rim:
                plan = bit << 1
                factors.append(((1, plan), (-1, bit)) if mined else ((1, 0), (-1, plan), (1, bit)))
            else:
                factors.append(((1, 0), (-1, bit)) if mined else ((1, bit),))
            bit <<= 1 + rim
        return factors

    def _common(
        self,
        members: _Members,
        rows: Places,
        states: Sequence[_State],
        blocks: SizedBlocks,
    ) -> Floats:
        """Return the share of blocks common to each set of bodies, (n, 2**k); see `Shares.common`.

        A member is one body, or two at a rim: the surface, and its plan. The empty set has the
        share 1, and a set of one body the share of this body.
        """
        bodies, single = [], []
        for place, rim in members:
            share, cover = states[place].at(rows)
            bodies += [self._bodies[place].shares, *([self._roof(place)] if rim else [])]
            single += [share, *([cover] if rim else [])]
        common = np.ones((len(rows), 1 << len(bodies)))
        if len(bodies) > 1:
            common = bodies[0].common(bodies[1:], blocks.lows[rows], blocks.highs[rows])
            common[:, 0] = 1.0
        for slot, share in enumerate(single):
            common[:, 1 << slot] = share
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


def _body_count(members: _Members) -> int:
    """Return the number of bodies of members; at a rim, a surface and its plan are two."""
    return sum(1 + rim for _, rim in members)


def _product(common: Floats, factors: Sequence[_Factor]) -> Floats:
    """Return the share of blocks in the product of factors, from shares common to bodies."""
    terms = {0: 1}
    for factor in factors:
        more: dict[int, int] = {}
        for bodies, times in terms.items():
            for sign, bits in factor:
                more[bodies | bits] = more.get(bodies | bits, 0) + times * sign
        terms = more
    total = np.zeros(len(common))
    for bodies, times in terms.items():
        total += times * common[:, bodies]
    return total


def _as_domains(
    order: Sequence[int], excavations: Sequence[Excavation]
) -> tuple[list[Domain], list[int]]:
    """Return excavations as domains in order of priority, and the excavation of each domain."""
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


def _lowest(body: Body, base: float) -> float:
    """Return the lowest elevation of a surface, less `base`; minus infinity for a solid."""
    if not isinstance(body.source, TiledSurface):
        return -np.inf
    return min(float(tile.bounds[0, 2]) for tile in body.source.tiles) - base
