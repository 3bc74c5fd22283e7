"""What was found of blocks: the codes of their labels, and what each domain says by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import machine_used
from geodomain.compute.data import Bools
from geodomain.compute.point_cache import keeping
from geodomain.domains.domain import Domain
from geodomain.domains.order import (
    DomainOrLayer,
    DomainsLike,
)
from geodomain.domains.sources import DomainsGiven, DomainSource, as_domains, domains_to_label
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, MeshError, warn
from geodomain.labelling.evaluate import (
    BlockChunk,
    BlockLattice,
    DomainAnswer,
    Evaluation,
    Shell,
    SkinEvaluation,
    SolidEvaluation,
    StackEvaluation,
    SurfaceEvaluation,
    TiledSurface,
    members_of,
    with_labels,
)
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.fitness import require_balanced, require_fit, warn_once
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, locate
from geodomain.tables.new_columns import NewColumn
from geodomain.volumes.distance import MeshDistance

# What codes beyond those of the domains stand for.
NONE, LOST, LEAKING, BEYOND, KEPT = range(5)
REST = 5


@dataclass(frozen=True)
class Verdict:
    """What was found of n blocks and k domains, layers of stacks included.

    Attributes
    ----------
    codes : (n,) int32
        The domain whose label the block gets; k none, k + 1 not finite, k + 2 in a leaking
        column, k + 3 beyond a surface, k + 4 where a label that was there is left.
    found : mapping of int to DomainAnswer
        What domains say by themselves; those that are not there have no block and no doubt.
    folded : mapping of str to (n,) bool
        For surfaces, the blocks whose vertical line crosses them more than once.
    on_wall : (n,) bool, optional
        Blocks exactly on a wall of any mesh, where that was asked for.
    box : (2, 3) float64, optional
        That of the centroids, if all of them are finite.
    """

    codes: NDArray[np.int32]
    count: int
    found: Mapping[int, DomainAnswer]
    folded: Mapping[str, Bools]
    on_wall: Bools | None
    box: NDArray[np.float64] | None

    def table(self, what: str) -> Bools:
        """Return one attribute of all that was found, (k, n) bool, such as "inside"."""
        rows: Bools = np.zeros((self.count, len(self.codes)), np.bool_)
        for index, found in self.found.items():
            part = getattr(found, what)
            if part is not None:
                np.copyto(rows[index], part)
        return rows

    def part(self, begin: int, end: int) -> Verdict:
        """Return what was found of the blocks from one number to another."""
        return replace(
            self,
            codes=self.codes[begin:end],
            found={index: one.part(begin, end) for index, one in self.found.items()},
            folded={name: some[begin:end] for name, some in self.folded.items()},
            on_wall=None if self.on_wall is None else self.on_wall[begin:end],
            box=None,
        )

    @property
    def uncertain(self) -> Bools:
        """Return the blocks whose label rounding may have decided."""
        return np.asarray(self.table("uncertain").any(axis=0))


# --- The columns that a labelling adds, and the meaning of their codes.


def new_columns(settings: LabelSettings, targets: Sequence[DomainOrLayer]) -> list[NewColumn]:
    """Return the new columns, in order; the settings have their labels: see `with_labels`.

    A column of 0 and 1 for each domain is before priority, and 0 where there is no sure answer. One
    for all says whether rounding may have decided, which only winding numbers of open solids allow.
    """
    names = tuple(target.name for target in targets)
    cells = tuple(map(_code, targets)) if settings.codes else names
    rest = settings.rest
    domain = NewColumn(settings.column, cells + rest, default=rest[0], numeric=settings.codes)
    flags = [f"in_{name}".lower() for name in (names if settings.flags else ())]
    flags += ["uncertain"] if settings.uncertain else []
    named = [NewColumn(flag, ("0", "1"), default="0", numeric=True) for flag in flags]
    shares = [
        NewColumn(settings.share_column(name), default="0", numeric=True, measured=True)
        for name in (names if settings.proportions is not None else ())
    ]
    return [domain, *named, *shares]


def _code(target: DomainOrLayer) -> str:
    """Return a domain's code as a cell."""
    if target.code is None:
        message = f"{target.name} has no code: give it one, 'code = 1', or write names"
        raise DomainError(message)
    return str(target.code)


# --- Labels of blocks, from domains in their order of priority.

# Of so many solids each is asked about the cells of a lattice faster than all about points.
_FEW = 8


class Labeller:
    """Domains in their order, ready to label chunk after chunk; safe among threads.

    Parameters
    ----------
    domains : Domains, or what `as_domains` makes them of
        What blocks can be labelled with.
    settings : LabelSettings, optional
        Rule, backend, threads, whether open solids are taken, and whether blocks exactly on a wall
        are looked for, which takes longer.

    Attributes
    ----------
    targets : tuple of Domain and Layer
        What codes stand for.
    evaluations : list of Evaluation
        The domains, then the stacks, ready to be asked.
    """

    def __init__(self, domains: DomainsLike, settings: LabelSettings | None = None) -> None:
        self.settings = settings or LabelSettings()
        self.domains = as_domains(domains)
        self.targets = self.domains.targets
        self._locators: dict[int, PointLocator] = {}
        self._surfaces: dict[tuple[int, ...], TiledSurface] = {}
        self._distances: dict[int, MeshDistance] = {}
        self.evaluations: list[Evaluation | SkinEvaluation] = [
            *(self._evaluation(domain) for domain in self.domains.domains),
            *(self._layers(stack) for stack in self.domains.stacks),
        ]
        self._sequence = self._in_sequence()

    @property
    def machine(self) -> tuple[str, str]:
        """Name where the blocks so far were labelled, "cpu" or "cuda", and say why there."""
        return machine_used(
            self.settings.backend, [locator.index for locator in self._locators.values()]
        )

    @property
    def painted(self) -> list[int]:
        """Give the targets so that each labels blocks of those before it as well as its own."""
        order: list[int] = []
        for index, yields in self._sequence:
            order.insert(0 if yields else len(order), index)
        return order

    def judge(
        self,
        points: NDArray[np.float64],
        allowed: Sequence[Bools | None] | None = None,
        labelled: Bools | None = None,
        lattice: BlockLattice | None = None,
    ) -> Verdict:
        """Label (n, 3) centroids; one that is not finite is in no domain.

        `allowed` has for each domain, then for each stack, the blocks that meet its
        conditions; None stands for all of them. Blocks that are `labelled` already are left
        alone by domains that keep labels, and stay as they are if no other one has them. The
        lattice is one that most blocks are thought to lie on; no answer depends on it.
        """
        with keeping(points) as kept:
            chunk = BlockChunk(points, kept, lattice)
            self._find_members(chunk)
            found = self.answers(chunk, allowed)
            walls = self._on_wall(chunk) if self.settings.count_on_wall else None
        codes = self.codes(found, chunk.finite, labelled)
        box = chunk.box if len(points) and chunk.finite.all() else None
        return Verdict(codes, len(self.targets), found, chunk.folded, walls, box)

    def answers(
        self, chunk: BlockChunk, allowed: Sequence[Bools | None] | None = None
    ) -> dict[int, DomainAnswer]:
        """Return what each domain says of the blocks of a chunk by itself."""
        found, index = dict[int, DomainAnswer](), 0
        rows_of = allowed or [None] * len(self.evaluations)
        for evaluation, rows in zip(self.evaluations, rows_of, strict=True):
            for part, each in enumerate(evaluation.ask(chunk)):
                found[index + part] = each if rows is None else each.within(rows)
            index += evaluation.width
        return found

    def codes(
        self, found: Mapping[int, DomainAnswer], finite: Bools, labelled: Bools | None = None
    ) -> NDArray[np.int32]:
        """Return the label of each block from what the domains say by themselves."""
        codes = self._decide(found, len(finite), labelled)
        codes[~finite] = len(self.targets) + LOST
        if labelled is not None:
            unlabelled = ~finite | (codes == len(self.targets))
            codes[labelled & unlabelled] = len(self.targets) + KEPT
        return codes

    def count_solids(self, points: NDArray[np.float64]) -> list[int]:
        """Count the points in each solid domain by itself, conditions left out."""
        found = self.judge(points).found
        solids = [index for index, target in enumerate(self.targets) if target.is_solid]
        return [int(found[i].inside.sum()) if i in found else 0 for i in solids]

    def _find_members(self, chunk: BlockChunk) -> None:
        """Find together what closed solids contain, where there are several near the blocks."""
        shells = [
            s
            for evaluation in self.evaluations
            if isinstance(evaluation, SolidEvaluation)
            for s in evaluation.shells
        ]
        near = {
            id(shell.locator): shell.locator
            for shell in shells
            if shell.rule == "parity" and shell.mesh.is_closed and not shell.is_apart(chunk.box)
        }
        if chunk.lattice is not None and len(near) <= _FEW:
            for key, locator in near.items():
                known = chunk.lattice.contains(locator, "parity", chunk.points)
                if known is not None:
                    chunk.members[key, "parity"] = known
            near = {key: one for key, one in near.items() if (key, "parity") not in chunk.members}
        if len(near) > 1:
            inside = members_of(
                [*near.values()], chunk.points, self.settings.threads, asked=chunk.asked
            )
            chunk.members |= {
                (locator, "parity"): one for locator, one in zip(near, inside, strict=True)
            }

    def _decide(
        self, found: Mapping[int, DomainAnswer], count: int, labelled: Bools | None
    ) -> NDArray[np.int32]:
        """Return each block the domain that wins it, or that may have it and has no answer."""
        none = len(self.targets)
        codes = np.full(count, none, np.int32)
        for index, yields in self._sequence:
            if index not in found:
                continue
            one = found[index]
            if labelled is not None and self.targets[index].keep:
                one = one.within(~labelled)
            parts = (
                (one.leaking, none + LEAKING),
                (one.beyond, none + BEYOND),
                (one.inside, index),
            )
            found_in = [(np.flatnonzero(part), code) for part, code in parts if part is not None]
            if yields:
                found_in = [(rows[codes[rows] == none], code) for rows, code in found_in]
            for rows, code in found_in:
                codes[rows] = code
        return codes

    def _in_sequence(self) -> list[tuple[int, bool]]:
        """Return the targets in the order in which they label, and whether they yield.

        Domains come before stacks in rank, so where the last wins they come after them in time.
        """
        count = len(self.domains.domains)
        layers = [(index, False) for index in range(count, len(self.targets))]
        if self.domains.order == "first":
            return [(index, True) for index in range(len(self.targets))]
        return layers + [(index, domain.keep) for index, domain in enumerate(self.domains)]

    def _on_wall(self, chunk: BlockChunk) -> Bools:
        """Return the blocks that are exactly on a wall of any mesh."""
        walls = np.zeros(len(chunk.points), np.bool_)
        for locator in self._locators.values():
            walls |= locator.on_surface(chunk.asked)
        return walls

    def _evaluation(self, domain: Domain) -> Evaluation | SkinEvaluation:
        """Make a domain ready to be asked."""
        if not domain.is_skin:
            return self._side(domain)
        distances = tuple(map(self._distance, domain.meshes))
        if self.settings.count_on_wall:
            for mesh in domain.meshes:
                self._locator(mesh)
        side = None if domain.kind == "either" else self._side(domain)
        return SkinEvaluation(domain, distances, side)

    def _distance(self, mesh: Mesh) -> MeshDistance:
        """Build the hierarchy of a mesh, once for all that share it."""
        if id(mesh) not in self._distances:
            self._distances[id(mesh)] = MeshDistance(
                mesh, backend=self.settings.backend, threads=self.settings.threads
            )
        return self._distances[id(mesh)]

    def _side(self, domain: Domain) -> SolidEvaluation | SurfaceEvaluation:
        """Make ready what says which blocks are inside, above or below."""
        if domain.kind != "solid":
            _require_rim(domain.name, domain.extend, domain.meshes)
            for mesh in domain.meshes:
                if mesh.is_closed:
                    warn(_closed_surface(domain, mesh))
            return SurfaceEvaluation(domain, self._surface(domain.meshes))
        rule = domain.rule or self.settings.rule
        # To write the rule with a domain is to ask for it, also of an open mesh.
        takes_open = self.settings.allow_open or domain.rule == "winding"
        shells = []
        for mesh in domain.meshes:
            try:
                require_fit(mesh, allow_open=takes_open, rule=rule)
            except MeshError as error:
                if mesh.is_closed:
                    raise
                message = f"{error} Of a surface, {domain.name} is kind = 'above' or 'below'."
                raise MeshError(message) from None
            if rule == "winding" and mesh.is_closed:
                require_balanced(mesh)
            shells.append(Shell(mesh, self._locator(mesh), rule))
            if shells[-1].by_fraction:
                warn(_by_fraction(mesh))
        return SolidEvaluation(domain, tuple(shells))

    def _layers(self, stack: Stack) -> Evaluation:
        """Make a stack ready to be asked."""
        for tiles in stack.surfaces:
            _require_rim(stack.title, stack.extend, tiles)
        return StackEvaluation(stack, tuple(map(self._surface, stack.surfaces)))

    def _surface(self, tiles: tuple[Mesh, ...]) -> TiledSurface:
        """Make a surface ready to be asked, once for all that share it."""
        key = tuple(map(id, tiles))
        if key not in self._surfaces:
            for mesh in tiles:
                warn_once(mesh)
            self._surfaces[key] = TiledSurface(tiles, tuple(map(self._locator, tiles)))
        return self._surfaces[key]

    def _locator(self, mesh: Mesh) -> PointLocator:
        """Build the index of a mesh that was checked, once for all that share it."""
        if id(mesh) not in self._locators:
            self._locators[id(mesh)] = locate(
                mesh, backend=self.settings.backend, threads=self.settings.threads, allow_open=True
            )
        return self._locators[id(mesh)]


def _closed_surface(domain: Domain, mesh: Mesh) -> str:
    """Say what a closed mesh means as a surface."""
    return (
        f"{domain.name}: {mesh.name} is closed, and as kind = {domain.kind!r} its inside counts as "
        "below it, what is over and under it as above it; for the blocks inside, leave kind away"
    )


def _require_rim(title: str, extend: str, tiles: Sequence[Mesh]) -> None:
    """Refuse to extend what has no rim, before any block is beyond it."""
    if extend == "nearest" and all(mesh.is_closed for mesh in tiles):
        message = f"{title}: extend = 'nearest' needs a rim, and {tiles[0].name} is closed"
        raise MeshError(message)


def _by_fraction(mesh: Mesh) -> str:
    """Say that an open mesh is labelled by other than crossings."""
    return (
        f"{mesh.name} is not closed, and is labelled by its generalised winding number, 1/2 or "
        "more: a rounded measure of how far it surrounds a block, not an exact one"
    )


# --- Domains, their index and the new columns, made ready once for all blocks of a labelling.


class Prepared(NamedTuple):
    """Domains as they were read, their index, and the settings with what the domains say."""

    source: DomainSource
    labeller: Labeller
    settings: LabelSettings

    @property
    def columns(self) -> list[str]:
        """Return the names of the new columns."""
        return [each.name for each in new_columns(self.settings, self.labeller.targets)]


def prepare(domains: DomainsGiven, asked: LabelSettings) -> Prepared:
    """Read domains and build their index.

    Raises
    ------
    DomainError, MeshError, OSError
        As `domains_to_label`, `Labeller`, `LabelSettings.over` and `with_labels`.
    """
    source = domains_to_label(domains, weld=asked.weld)
    labeller = Labeller(source.domains, asked)
    settings = with_labels(asked.over(source.domains), source.domains)
    settings.refuse_unused(source.domains)
    return Prepared(source, labeller, settings)
