"""Label blocks with the search indexes of all domains, by the order and rules of the domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import machine_used
from geodomain.compute.data import Bools, keeping
from geodomain.domains.domain import Domain
from geodomain.domains.order import DomainOrLayer, DomainsLike
from geodomain.domains.sources import DomainSource, as_domains, domains_to_label
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

# Meaning of the codes after those of the domains.
NONE, LOST, LEAKING, BEYOND, KEPT = range(5)
REST = 5


@dataclass(frozen=True, eq=False)
class Verdict:
    """Labels of n blocks, and the answers of k domains, including layers of stacks.

    Attributes
    ----------
    codes : (n,) int32
        Code of each block. A block with the label of a domain has the index of the domain, from 0
        to k - 1. The other codes are k for a block in no domain, k + 1 for a centroid that is not
        finite, k + 2 for a block above or below a gap of an open mesh, k + 3 for a block outside
        the footprint of a surface, and k + 4 for a block that keeps its existing label.
    count : int
        Number of domains and layers, k.
    answers : mapping of int to DomainAnswer
        The answer of each domain on its own, by index of the domain. If all solids of a domain are
        far from the blocks, the domain is left out.
    folded : mapping of str to (n,) bool
        By name of a surface: the blocks whose vertical line crosses it more than once.
    on_wall : (n,) bool, optional
        Blocks exactly on a mesh, if requested.
    box : (2, 3) float64, optional
        Box of the centroids, if all are finite.
    """

    codes: NDArray[np.int32]
    count: int
    answers: Mapping[int, DomainAnswer]
    folded: Mapping[str, Bools]
    on_wall: Bools | None
    box: NDArray[np.float64] | None

    def table(self, what: str) -> Bools:
        """Return one kind of mask, such as "inside", for all domains, (k, n) bool."""
        rows: Bools = np.zeros((self.count, len(self.codes)), np.bool_)
        for index, answer in self.answers.items():
            part = getattr(answer, what)
            if part is not None:
                np.copyto(rows[index], part)
        return rows

    def part(self, begin: int, end: int) -> Verdict:
        """Return the results for a range of blocks."""
        return replace(
            self,
            codes=self.codes[begin:end],
            answers={index: answer.part(begin, end) for index, answer in self.answers.items()},
            folded={name: some[begin:end] for name, some in self.folded.items()},
            on_wall=None if self.on_wall is None else self.on_wall[begin:end],
            box=None,
        )

    @property
    def uncertain(self) -> Bools:
        """The mask of blocks that may have another label because of rounding."""
        return np.asarray(self.table("uncertain").any(axis=0))


# --- New columns of a labelling, and the meaning of their codes.


def new_columns(settings: LabelSettings, targets: Sequence[DomainOrLayer]) -> list[NewColumn]:
    """Return the new columns in order; `with_labels` must have completed the settings.

    The flag column of a domain is 1 for blocks in the domain, whichever domain labels them, and 0
    for other and undecided blocks. The column `uncertain` is 1 for blocks whose label rounding may
    have decided, because their winding number in an open solid is close to 1/2.
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
    """Return a domain's code as text; raise DomainError if the domain has no code."""
    if target.code is None:
        message = f"{target.name} has no code: add one, such as code = 1, or write names instead"
        raise DomainError(message)
    return str(target.code)


# --- Labels of blocks, from domains in priority order.

# With at least this number of solids, testing lattice cells solid by solid is faster than testing
# points against all solids in one pass.
_FEW = 8


class Labeller:
    """Domains with their indexes, ready to label chunks of blocks; thread-safe.

    Parameters
    ----------
    domains : Domains, or any type that `as_domains` accepts
        Domains that blocks can be labelled with.
    settings : LabelSettings, optional
        Rule, backend, threads, whether open solids are allowed, and whether to find blocks exactly
        on a wireframe, which takes longer.

    Attributes
    ----------
    targets : tuple of Domain and Layer
        The domain or layer of each code.
    evaluations : list of Evaluation
        The domains, then the stacks, ready to be evaluated for blocks.
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
        """The backend used so far, "cpu" or "cuda", and the reason for using it."""
        return machine_used(
            self.settings.backend, [locator.index for locator in self._locators.values()]
        )

    @property
    def painted(self) -> list[int]:
        """The codes of the targets in writing order: a later code overwrites an earlier code."""
        order: list[int] = []
        for index, yields in self._sequence:
            order.insert(0 if yields else len(order), index)
        return order

    def label(
        self,
        points: NDArray[np.float64],
        allowed: Sequence[Bools | None] | None = None,
        labelled: Bools | None = None,
        lattice: BlockLattice | None = None,
    ) -> Verdict:
        """Label blocks by their centroids.

        Parameters
        ----------
        points : (n, 3) float64
            Centroids. A centroid that is not finite is in no domain.
        allowed : sequence of (n,) bool or None, optional
            For each domain and then each stack, the mask of blocks that meet its conditions; None
            means all blocks.
        labelled : (n,) bool, optional
            Blocks that already have a label. Domains with `keep` do not change these blocks. If no
            other domain contains such a block, it keeps its label.
        lattice : BlockLattice, optional
            A guess of the blocks' positions, which saves time; no label depends on it.
        """
        with keeping(points) as cached:
            chunk = BlockChunk(points, cached, lattice)
            self._find_members(chunk)
            answers = self.answers(chunk, allowed)
            walls = self._on_wall(chunk) if self.settings.count_on_wall else None
        codes = self.codes(answers, chunk.finite, labelled)
        box = chunk.box if len(points) and chunk.finite.all() else None
        return Verdict(codes, len(self.targets), answers, chunk.folded, walls, box)

    def answers(
        self, chunk: BlockChunk, allowed: Sequence[Bools | None] | None = None
    ) -> dict[int, DomainAnswer]:
        """Return, for each domain on its own, which blocks of a chunk are in it."""
        by_index, index = dict[int, DomainAnswer](), 0
        rows_of = allowed or [None] * len(self.evaluations)
        for evaluation, rows in zip(self.evaluations, rows_of, strict=True):
            for part, each in enumerate(evaluation.ask(chunk)):
                by_index[index + part] = each if rows is None else each.within(rows)
            index += evaluation.width
        return by_index

    def codes(
        self, answers: Mapping[int, DomainAnswer], finite: Bools, labelled: Bools | None = None
    ) -> NDArray[np.int32]:
        """Return the code of each block from the answers of the domains."""
        codes = self._decide(answers, len(finite), labelled)
        codes[~finite] = len(self.targets) + LOST
        if labelled is not None:
            unlabelled = ~finite | (codes == len(self.targets))
            codes[labelled & unlabelled] = len(self.targets) + KEPT
        return codes

    def count_solids(self, points: NDArray[np.float64]) -> list[int]:
        """Return the number of points in each solid domain on its own, ignoring conditions."""
        answers = self.label(points).answers
        solids = [index for index, target in enumerate(self.targets) if target.is_solid]
        return [int(answers[i].inside.sum()) if i in answers else 0 for i in solids]

    def _find_members(self, chunk: BlockChunk) -> None:
        """Find the blocks in each closed solid near the chunk, in one pass over these solids."""
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
                members = chunk.lattice.contains(locator, "parity", chunk.points)
                if members is not None:
                    chunk.members[key, "parity"] = members
            near = {key: each for key, each in near.items() if (key, "parity") not in chunk.members}
        if len(near) > 1:
            inside = members_of(
                [*near.values()], chunk.points, self.settings.threads, cached=chunk.cached
            )
            chunk.members |= {
                (locator, "parity"): each for locator, each in zip(near, inside, strict=True)
            }

    def _decide(
        self, answers: Mapping[int, DomainAnswer], count: int, labelled: Bools | None
    ) -> NDArray[np.int32]:
        """Return the code of each block: the index of the winning domain, or a code after these."""
        none = len(self.targets)
        codes = np.full(count, none, np.int32)
        for index, yields in self._sequence:
            if index not in answers:
                continue
            answer = answers[index]
            if labelled is not None and self.targets[index].keep:
                answer = answer.within(~labelled)
            parts = (
                (answer.leaking, none + LEAKING),
                (answer.beyond, none + BEYOND),
                (answer.inside, index),
            )
            coded = [(np.flatnonzero(part), code) for part, code in parts if part is not None]
            if yields:
                coded = [(rows[codes[rows] == none], code) for rows, code in coded]
            for rows, code in coded:
                codes[rows] = code
        return codes

    def _in_sequence(self) -> list[tuple[int, bool]]:
        """Return the targets in labelling order, as pairs of index and whether the target yields.

        A target that yields labels only blocks that no earlier target has labelled; other targets
        overwrite labels. Domains rank before stacks. Therefore, if the last domain wins, stacks are
        labelled before domains.
        """
        count = len(self.domains.domains)
        layers = [(index, False) for index in range(count, len(self.targets))]
        if self.domains.order == "first":
            return [(index, True) for index in range(len(self.targets))]
        return layers + [(index, domain.keep) for index, domain in enumerate(self.domains)]

    def _on_wall(self, chunk: BlockChunk) -> Bools:
        """Return the mask of blocks with a centroid exactly on a mesh."""
        walls = np.zeros(len(chunk.points), np.bool_)
        for locator in self._locators.values():
            walls |= locator.on_surface(chunk.cached)
        return walls

    def _evaluation(self, domain: Domain) -> Evaluation | SkinEvaluation:
        """Return a domain in the form that can be evaluated for blocks."""
        if not domain.is_skin:
            return self._side(domain)
        distances = tuple(map(self._distance, domain.placed))
        if self.settings.count_on_wall:
            for mesh in domain.placed:
                self._locator(mesh)
        side = None if domain.kind == "either" else self._side(domain)
        return SkinEvaluation(domain, distances, side)

    def _distance(self, mesh: Mesh) -> MeshDistance:
        """Return the distance index of a mesh; all domains that use the mesh share the index."""
        if id(mesh) not in self._distances:
            self._distances[id(mesh)] = MeshDistance(
                mesh, backend=self.settings.backend, threads=self.settings.threads
            )
        return self._distances[id(mesh)]

    def _side(self, domain: Domain) -> SolidEvaluation | SurfaceEvaluation:
        """Return the evaluation of a domain inside solids, or above or below a surface."""
        if domain.kind != "solid":
            _require_rim(domain.name, domain.extend, domain.placed)
            for mesh in domain.placed:
                if mesh.is_closed:
                    warn(_closed_surface(domain, mesh))
            return SurfaceEvaluation(domain, self._surface(domain.placed))
        rule = domain.rule or self.settings.rule
        # A rule of a domain applies to open meshes as well.
        takes_open = self.settings.allow_open or domain.rule == "winding"
        shells = []
        for mesh in domain.placed:
            try:
                require_fit(mesh, allow_open=takes_open, rule=rule)
            except MeshError as error:
                if mesh.is_closed:
                    raise
                message = f"{error} If {domain.name} is a surface, set kind = 'above' or 'below'."
                raise MeshError(message) from None
            if rule == "winding" and mesh.is_closed:
                require_balanced(mesh)
            shells.append(Shell(mesh, self._locator(mesh), rule))
            if shells[-1].by_fraction:
                warn(_by_fraction(mesh))
        return SolidEvaluation(domain, tuple(shells))

    def _layers(self, stack: Stack) -> Evaluation:
        """Return a stack in the form that can be evaluated for blocks."""
        for tiles in stack.placed:
            _require_rim(stack.title, stack.extend, tiles)
        return StackEvaluation(stack, tuple(map(self._surface, stack.placed)))

    def _surface(self, tiles: tuple[Mesh, ...]) -> TiledSurface:
        """Return a surface with its indexes; all domains that use the surface share it."""
        key = tuple(map(id, tiles))
        if key not in self._surfaces:
            for mesh in tiles:
                warn_once(mesh)
            self._surfaces[key] = TiledSurface(tiles, tuple(map(self._locator, tiles)))
        return self._surfaces[key]

    def _locator(self, mesh: Mesh) -> PointLocator:
        """Return the search index of a checked mesh; all domains with this mesh share it."""
        if id(mesh) not in self._locators:
            self._locators[id(mesh)] = locate(
                mesh, backend=self.settings.backend, threads=self.settings.threads, allow_open=True
            )
        return self._locators[id(mesh)]


def _closed_surface(domain: Domain, mesh: Mesh) -> str:
    """Return the warning that a closed mesh is used as a surface."""
    return (
        f"{domain.name}: {mesh.name} is closed, but kind = {domain.kind!r} uses it as a surface: "
        "points inside the mesh count as below the surface, and points over or under the mesh "
        "count as above the surface. To label the blocks inside, leave out kind"
    )


def _require_rim(title: str, extend: str, tiles: Sequence[Mesh]) -> None:
    """Raise MeshError if a surface without a rim is to be extended."""
    if extend == "nearest" and all(mesh.is_closed for mesh in tiles):
        message = (
            f"{title}: extend = 'nearest' needs a surface with a rim, but {tiles[0].name} is "
            "closed: leave out extend"
        )
        raise MeshError(message)


def _by_fraction(mesh: Mesh) -> str:
    """Return the warning that an open mesh is labelled by winding numbers, not crossings."""
    return (
        f"{mesh.name} is not closed, so a block is inside if its generalised winding number is "
        "1/2 or more. This number measures how far the mesh surrounds the block; it is rounded, "
        "so the test is not exact"
    )


# --- Domains, index and new columns, prepared once for all blocks.


class Prepared(NamedTuple):
    """Domains as read, their index, and the settings completed by the domains."""

    source: DomainSource
    labeller: Labeller
    settings: LabelSettings

    @property
    def columns(self) -> list[str]:
        """The names of the new columns."""
        return [each.name for each in new_columns(self.settings, self.labeller.targets)]


def prepare(domains: DomainsLike, call_settings: LabelSettings) -> Prepared:
    """Read domains, weld their meshes if `call_settings` says so, and build their index.

    Raises
    ------
    DomainError, MeshError, OSError
        As `domains_to_label`, `Labeller`, `LabelSettings.over` and `with_labels`.
    """
    source = domains_to_label(domains, weld=call_settings.weld)
    labeller = Labeller(source.domains, call_settings)
    settings = with_labels(call_settings.over(source.domains), source.domains)
    settings.refuse_unused(source.domains)
    return Prepared(source, labeller, settings)
