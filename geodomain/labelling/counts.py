"""Counts of labelled blocks: collected chunk by chunk, merged, and stored as arrays."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import BlockChecks, with_prefix
from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import ConditionCounts, DomainOrLayer
from geodomain.labelling.evaluate import within
from geodomain.labelling.labeller import REST, Verdict
from geodomain.labelling.share_pieces import SAMPLES
from geodomain.lattice import StoredArray
from geodomain.mesh.mesh import Mesh
from geodomain.tables.frames import turned

# Largest number of vertical lines that are counted for a folded surface.
MOST_COLUMNS = 1_000_000
# Limit on the pairs of overlapping solids that are counted: all pairs of 447 solids.
MOST_PAIRS = 100_000
# Quantities that are summed over blocks.
SUMS = (
    *("blocks", "volumes", "own_blocks", "own_volumes", "doubled", "leaking", "off", "uncertain"),
    "crossed",
)
# Numbers of centroids: in the sample of a chunk, in the final sample, and kept for it.
_SAMPLES_OF_CHUNK, MOST_SAMPLES, _KEPT_SAMPLES = 1000, 10_000, 1_000_000
# Rounding error of a rotation and its inverse, in units in the last place of the largest
# coordinate.
_ROUNDED = 8


@dataclass
class Folds:
    """The blocks on vertical lines that cross a surface more than once, and these lines."""

    blocks: int = 0
    columns: set[bytes] = field(default_factory=set)
    first: tuple[float, float] = (np.nan, np.nan)

    def add(self, places: NDArray[np.float64]) -> None:
        """Count n blocks; `places` (n, 2) holds the x and y of their centroids."""
        if not self.blocks:
            self.first = float(places[0, 0]), float(places[0, 1])
        self.blocks += len(places)
        if len(self.columns) < MOST_COLUMNS:
            self.columns.update(row.tobytes() for row in np.unique(places, axis=0))

    def merge(self, later: Folds) -> None:
        """Add the counts of blocks that come after the blocks counted here."""
        self.first = self.first if self.blocks else later.first
        self.blocks += later.blocks
        if len(self.columns) < MOST_COLUMNS:
            self.columns |= later.columns


class Overlaps:
    """The number and the volume of the blocks that two solids share, for each pair of solids.

    If there are more than `MOST_PAIRS` pairs, only the first `MOST_PAIRS` of them in domain order
    are counted. Their counts are exact and do not depend on chunks or threads.

    Parameters
    ----------
    targets : int
        The number of domains and layers.

    Attributes
    ----------
    pairs : (n,) int64
        ``first * targets + second`` for the numbers of the two solids of each pair, where first <
        second. The array is ascending.
    blocks : (n,) int64
        Blocks that are in both solids of the pair.
    volumes : (n,) float64
        Volumes of these blocks.
    are_all : bool
        Whether all pairs are counted.
    """

    def __init__(self, targets: int) -> None:
        self.targets = targets
        self.pairs, self.blocks = np.zeros((2, 0), np.int64)
        self.volumes = np.zeros(0)
        self.are_all = True

    def add(
        self,
        pairs: NDArray[np.int64],
        blocks: NDArray[np.int64],
        volumes: NDArray[np.float64],
        *,
        are_all: bool = True,
    ) -> None:
        """Add the counts of pairs, in ascending order.

        If `are_all` is false, `pairs` is cut off: there may be greater pairs than its last one, and
        they are not counted.
        """
        limit = np.iinfo(np.int64).max
        for some, all_of_them in ((self.pairs, self.are_all), (pairs, are_all)):
            if not all_of_them:
                limit = min(limit, int(some[-1]))
        together, place = np.unique(np.concatenate([self.pairs, pairs]), return_inverse=True)
        counts, sums = np.zeros(len(together), np.int64), np.zeros(len(together))
        old, new = np.split(place, [len(self.pairs)])
        with np.errstate(over="ignore"):
            counts[old], sums[old] = self.blocks, self.volumes
            counts[new] += blocks
            sums[new] += volumes
        length = min(MOST_PAIRS, int(np.searchsorted(together, limit, "right")))
        self.are_all &= are_all and length == len(together)
        self.pairs, self.blocks, self.volumes = together[:length], counts[:length], sums[:length]

    def merge(self, later: Overlaps) -> None:
        """Add the counts of blocks that come after the blocks counted here."""
        self.add(later.pairs, later.blocks, later.volumes, are_all=later.are_all)

    def add_tables(self, blocks: NDArray[np.int64], volumes: NDArray[np.float64]) -> None:
        """Add the counts in two tables of pairs of solids, (targets, targets).

        The tables hold numbers of blocks and their volumes, and 0 on and below the diagonal.
        """
        pairs = np.flatnonzero(blocks)
        self.add(pairs, blocks.reshape(-1)[pairs], volumes.reshape(-1)[pairs])

    def add_chunk(
        self,
        near: Sequence[int],
        inside: Sequence[Bools],
        volume: NDArray[np.float64] | None,
    ) -> None:
        """Add n blocks that are in several solids.

        Parameters
        ----------
        near : sequence of int
            Numbers of the solids near the blocks, ascending.
        inside : sequence of (n,) bool
            For each of these solids, the mask of blocks in it.
        volume : (n,) float64, optional
            Volumes of the blocks.
        """
        if len(near) * (len(near) - 1) // 2 > MOST_PAIRS:
            self._add_many(np.array(near), inside, volume)
            return
        members = np.stack(inside).astype(np.int64)
        shared = np.triu(members @ members.T, 1)
        first, second = np.nonzero(shared)
        volumes = np.zeros(len(first))
        if volume is not None:
            with np.errstate(over="ignore"):
                volumes = np.einsum("ir,jr->ij", members * volume, members)[first, second]
        self.add(
            np.array(near)[first] * self.targets + np.array(near)[second],
            shared[first, second],
            volumes,
        )

    def _add_many(
        self,
        near: NDArray[np.int64],
        inside: Sequence[Bools],
        volume: NDArray[np.float64] | None,
    ) -> None:
        """Do the same as `add_chunk` for many solids, storing only the pairs that occur."""
        rows_of = [np.flatnonzero(mask) for mask in inside]
        rows = np.concatenate(rows_of)
        solids = np.repeat(np.arange(len(near)), [len(some) for some in rows_of])
        members = solids[np.argsort(rows, kind="stable")]  # solids of each block, ascending
        ends = np.cumsum(np.bincount(rows, minlength=len(inside[0])))
        begins = np.concatenate([[0], ends[:-1]])
        pairs: list[NDArray[np.int64]] = []
        blocks: list[NDArray[np.int64]] = []
        volumes: list[NDArray[np.float64]] = []
        counted = 0
        for place, here in enumerate(rows_of):
            first = int(near[place]) * self.targets
            if counted > MOST_PAIRS or not (self.are_all or first <= self.pairs[-1]):
                break
            begins[here] += 1  # solids after this one
            counts = ends[here] - begins[here]
            steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            others = members[np.repeat(begins[here], counts) + steps]
            shared = np.bincount(others).astype(np.int64)
            there = np.flatnonzero(shared)
            sums: NDArray[np.float64] = np.zeros(len(there))
            if volume is not None:
                with np.errstate(over="ignore"):
                    weights = np.repeat(volume[here], counts)
                    sums = np.bincount(others, weights)[there].astype(np.float64)
            pairs.append(first + near[there])
            blocks.append(shared[there])
            volumes.append(sums)
            counted += len(there)
        if counted:
            together = np.concatenate(pairs), np.concatenate(blocks), np.concatenate(volumes)
            self.add(*together, are_all=counted <= MOST_PAIRS)


class Tally:
    """Counts, volumes and boxes of labelled blocks; thread-safe.

    Parameters
    ----------
    targets : sequence of Domain and Layer
        Targets that blocks can be labelled with; k of them.

    Attributes
    ----------
    blocks, volumes : (k + 5,) arrays
        Blocks by code: the k domains, background, unassigned, leaking, beyond a surface, and
        existing labels that were kept. Volumes are in cubed units of the file.
    own_blocks, own_volumes : (k,) arrays
        The blocks in each domain, whichever domain labels them.
    doubled, leaking, off, uncertain, crossed : (k,) int64
        Five counts for each domain, in this order: blocks that a solid contains more than once,
        blocks above or below a gap of an open mesh, blocks outside the footprint of a surface,
        blocks whose label rounding may have decided, blocks at which surfaces of a stack cross.
    met : list of int
        Blocks that meet the conditions of each domain, then of each stack.
    conditions : ConditionCounts
        Unusual values in the columns of conditions.
    overlaps : Overlaps
        Blocks that are in two solids.
    folds : dict of str to Folds
        For each surface, where vertical lines cross it more than once.
    on_wall : int
        Blocks exactly on a wireframe, if they are counted.
    first_leak : (k, 3) float64
        Centroid of the first leaking block of each domain, NaN without leaking blocks.
    bounds : (2, 3) float64
        Box of the blocks with finite centroids, including their sizes if known; NaN without blocks.
    axes : (3, 3) float64
        Directions of the block edges, one in each row, if the blocks are rotated; otherwise NaN.
    turned : (2, 3) float64
        Box of the blocks in coordinates along `axes`, from the world origin; NaN without axes.
    turned_apart : bool
        Whether parts of the model have different `axes`, or only some parts have known `axes`.
    unsized : int
        Blocks with a finite centroid, but with a size that is not above zero, not finite, or
        missing.
    first_unsized : tuple of int and (3,) float64, optional
        Number of the first such block, counted from 1, and its sizes.
    sized : bool
        Whether the volumes are valid: every block with a finite centroid has sizes above 0, and
        the sum of volumes is finite.
    shares : ShareTally, optional
        Sums of block proportions, if proportions are computed.
    """

    def __init__(self, targets: Sequence[DomainOrLayer]) -> None:
        self._lock = threading.Lock()
        count = len(targets)
        self._solids = [index for index, target in enumerate(targets) if target.is_solid]
        self.blocks = np.zeros(count + REST, np.int64)
        self.volumes = np.zeros(count + REST)
        self.own_blocks, self.doubled, self.leaking = np.zeros((3, count), np.int64)
        self.off, self.uncertain, self.crossed = np.zeros((3, count), np.int64)
        self.met: list[int] = []
        self.conditions = ConditionCounts()
        self.own_volumes = np.zeros(count)
        self.overlaps = Overlaps(count)
        self.folds: dict[str, Folds] = {}
        self.on_wall = 0
        self.first_leak = np.full((count, 3), np.nan)
        self.bounds = np.full((2, 3), np.nan)
        self.axes, self.turned = np.full((3, 3), np.nan), np.full((2, 3), np.nan)
        self.turned_apart = False
        self.unsized = 0
        self.first_unsized: tuple[int, NDArray[np.float64]] | None = None
        self.sized = True
        self.shares: ShareTally | None = None
        self._samples: list[NDArray[np.float64]] = []
        self._stride = 1

    @property
    def sample(self) -> NDArray[np.float64]:
        """A sample of the finite centroids, (n, 3), taken from all parts of the model."""
        some: NDArray[np.float64] = np.concatenate([*self._samples, np.empty((0, 3))])
        finite: NDArray[np.float64] = some[np.isfinite(some).all(axis=1)]
        return finite[:: 1 + len(finite) // MOST_SAMPLES]

    @property
    def is_turned(self) -> bool:
        """Whether the blocks are rotated and their axes are known."""
        return bool(np.isfinite(self.turned).all())

    @property
    def box(self) -> NDArray[np.float64]:
        """The box of the blocks along their edges: `turned` if they are rotated, else `bounds`."""
        return self.turned if self.is_turned else self.bounds

    def along(self, mesh: Mesh) -> Mesh:
        """Return a mesh in coordinates along the edges of the blocks."""
        if not self.is_turned:
            return mesh
        vertices = np.ascontiguousarray(turned(mesh.vertices, self.axes, (0.0, 0.0, 0.0)))
        return Mesh(vertices, mesh.triangles, name=mesh.name)

    def encloses(self, solid: DomainOrLayer) -> bool:
        """Return whether the box of the blocks contains a whole solid, apart from rounding."""
        if not self.is_turned or not solid.wireframes:
            return within(solid.bounds, self.bounds)
        slack = _ROUNDED * np.spacing(np.abs(self.bounds).max())
        box = np.array([self.turned[0] - slack, self.turned[1] + slack])
        return all(within(self.along(mesh).bounds, box) for mesh in solid.wireframes)

    @property
    def rows(self) -> int:
        """The number of all blocks."""
        return int(self.blocks.sum())

    def add(
        self,
        points: NDArray[np.float64],
        sizes: NDArray[np.float64] | None,
        verdict: Verdict,
        allowed: Sequence[Bools | None] | None = None,
        axes: NDArray[np.float64] | None = None,
        conditions: ConditionCounts | None = None,
    ) -> None:
        """Count the blocks of a chunk.

        Parameters
        ----------
        points, sizes : (n, 3) float64
            Centroids, and sizes if known.
        verdict : Verdict
            Labels of the blocks.
        allowed : sequence of (n,) bool or None, optional
            Blocks that meet the conditions of each domain, then of each stack.
        axes : (3, 3) float64, optional
            Directions of the block edges, one in each row, if they differ from the world axes.
        conditions : ConditionCounts, optional
            Unusual values in the columns of conditions.
        """
        met = [0 if rows is None else int(np.count_nonzero(rows)) for rows in allowed or ()]
        with self._lock:
            if conditions is not None:
                self.conditions.merge(conditions, self.rows)
            self._count_met(met)
            self._count(points, verdict)
            self.keep_sample(points[:: 1 + len(points) // _SAMPLES_OF_CHUNK])
            self._count_folds(points, verdict.folded)
            self._measure(points, sizes, verdict, axes)

    def merge(self, later: Tally) -> None:
        """Add the counts of blocks that come after the blocks counted here."""
        if later.rows:
            self._merge_turned(later)
        if self.first_unsized is None and later.first_unsized is not None:
            number, sizes = later.first_unsized
            self.first_unsized = self.rows + number, sizes
        self.conditions.merge(later.conditions, self.rows)
        with np.errstate(over="ignore"):
            for name in SUMS:
                counts = getattr(self, name)
                counts += getattr(later, name)
        self.overlaps.merge(later.overlaps)
        self._count_met(later.met or [0] * len(self.met))
        for name, folds in later.folds.items():
            self.folds.setdefault(name, Folds()).merge(folds)
        self.on_wall += later.on_wall
        self.unsized += later.unsized
        unknown = np.isnan(self.first_leak)
        self.first_leak[unknown] = later.first_leak[unknown]
        self.bounds[0] = np.fmin(self.bounds[0], later.bounds[0])
        self.bounds[1] = np.fmax(self.bounds[1], later.bounds[1])
        self.sized &= later.sized and bool(np.isfinite(self.volumes).all())
        self.keep_sample(later.sample)

    def _merge_turned(self, later: Tally) -> None:
        """Extend the box along the block edges, or set it to NaN if the directions differ."""
        if not self.rows:
            self.axes = later.axes.copy()
        same = np.array_equal(self.axes, later.axes, equal_nan=True)
        self.turned_apart |= later.turned_apart or not same
        self.turned[0] = np.fmin(self.turned[0], later.turned[0]) if same else np.nan
        self.turned[1] = np.fmax(self.turned[1], later.turned[1]) if same else np.nan
        self.axes[...] = self.axes if same else np.nan

    def keep_sample(self, points: NDArray[np.float64]) -> None:
        """Add some centroids to the sample; if it grows too large, drop every second point."""
        self._samples.append(points[:: self._stride].copy())
        if sum(map(len, self._samples)) > _KEPT_SAMPLES:
            self._stride *= 2
            self._samples = [np.concatenate(self._samples)[::2]]

    def _count_met(self, met: Sequence[int]) -> None:
        """Add the numbers of blocks that meet the conditions of each domain and stack."""
        self.met = [sum(both) for both in zip(self.met or [0] * len(met), met, strict=True)]

    def _count(self, points: NDArray[np.float64], verdict: Verdict) -> None:
        """Count the blocks of a chunk by code and by domain."""
        self.blocks += np.bincount(verdict.codes, minlength=len(self.blocks))
        for index, answer in verdict.answers.items():
            self.own_blocks[index] += np.count_nonzero(answer.inside)
            for count, rows in (
                (self.doubled, answer.doubled),
                (self.leaking, answer.leaking),
                (self.off, answer.off),
                (self.uncertain, answer.uncertain),
                (self.crossed, answer.crossed),
            ):
                if rows is not None:
                    count[index] += np.count_nonzero(rows)
            self._keep_first_leak(index, points, answer.leaking)
        if verdict.on_wall is not None:
            self.on_wall += int(verdict.on_wall.sum())

    def _keep_first_leak(
        self, index: int, points: NDArray[np.float64], leaking: Bools | None
    ) -> None:
        """Store the centroid of a domain's first leaking block, unless one is stored already."""
        if leaking is not None and np.isnan(self.first_leak[index, 0]) and leaking.any():
            self.first_leak[index] = points[leaking.argmax()]

    def _count_folds(self, points: NDArray[np.float64], folded: Mapping[str, Bools]) -> None:
        """Add the blocks and vertical lines that cross a surface more than once."""
        for name, rows in folded.items():
            self.folds.setdefault(name, Folds()).add(points[rows, :2])

    def _count_overlaps(self, verdict: Verdict, volume: NDArray[np.float64] | None) -> None:
        """Add the blocks that are in several solids, and their volumes."""
        near = [index for index in self._solids if index in verdict.answers]
        once, twice = np.zeros((2, len(verdict.codes)), np.bool_)
        for index in near:
            inside = verdict.answers[index].inside
            twice |= once & inside
            once |= inside
        rows = np.flatnonzero(twice)
        if not rows.size:
            return
        members = [verdict.answers[index].inside[rows] for index in near]
        self.overlaps.add_chunk(near, members, None if volume is None else volume[rows])

    def _measure(
        self,
        points: NDArray[np.float64],
        sizes: NDArray[np.float64] | None,
        verdict: Verdict,
        axes: NDArray[np.float64] | None,
    ) -> None:
        """Add the volumes of a chunk, count overlaps, and extend the box of the blocks."""
        finite = verdict.codes != len(self.own_blocks) + 1
        volume = None
        if sizes is None:
            self.sized = False
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                volume = sizes[:, 0] * sizes[:, 1] * sizes[:, 2]
            # One comparison of the smallest size avoids the masks for nearly every chunk; NaN fails
            # it too.
            if not (finite.all() and sizes.min(initial=np.inf) > 0 and np.isfinite(volume).all()):
                usable = finite & (sizes > 0).all(axis=1) & np.isfinite(volume)
                self._keep_unsized(finite & ~usable, sizes)
                volume = np.where(usable, volume, 0.0)
                sizes = np.where(usable[:, None], sizes, 0.0)
            with np.errstate(over="ignore"):
                self.volumes += np.bincount(verdict.codes, volume, len(self.volumes))
                for index, answer in verdict.answers.items():
                    # A BLAS product would round depending on the number of threads, and BLAS's idle
                    # threads spin and take cores from others.
                    self.own_volumes[index] += volume[answer.inside].sum()
            self.sized &= not self.unsized and bool(np.isfinite(self.volumes).all())
        self._count_overlaps(verdict, volume)
        if axes is not None:
            self.axes[...] = axes
            _grow(self.turned, turned(points, axes, (0.0, 0.0, 0.0)), sizes, finite)
            sizes = (
                None if sizes is None else sizes @ np.abs(axes)
            )  # of the box around a rotated block
        _grow(self.bounds, points, sizes, finite)

    def _keep_unsized(self, unsized: Bools, sizes: NDArray[np.float64]) -> None:
        """Count blocks without a valid size, and store the first such block.

        The property `rows` must already include the blocks of the chunk.
        """
        if unsized.any() and self.first_unsized is None:
            row = int(unsized.argmax())
            self.first_unsized = self.rows - len(sizes) + row + 1, sizes[row].copy()
        self.unsized += int(unsized.sum())


def _grow(
    box: NDArray[np.float64],
    points: NDArray[np.float64],
    sizes: NDArray[np.float64] | None,
    finite: Bools,
) -> None:
    """Extend a box so that it contains the blocks in the mask `finite`."""
    if not finite.all():
        points, sizes = points[finite], None if sizes is None else sizes[finite]
    if not len(points):
        return
    for axis in range(3):
        low, high = _faces(points[:, axis], None if sizes is None else sizes[:, axis])
        box[0, axis] = np.fmin(box[0, axis], low)
        box[1, axis] = np.fmax(box[1, axis], high)


def _faces(centre: NDArray[np.float64], size: NDArray[np.float64] | None) -> tuple[float, float]:
    """Return the coordinates of the lowest and the highest face of blocks along an axis."""
    low, high = centre.min(), centre.max()
    if size is None:
        return float(low), float(high)
    least, most = size.min(), size.max()
    if least == most:  # rounding is monotone: the lowest centre has the lowest face
        return float(low - least / 2), float(high + least / 2)
    # No block has its lowest face below the lowest centre minus half the largest size, unless its
    # centre is near that bound; a few units in the last place allow for rounding. A NaN bound
    # excludes nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        room = (most - least) / 2 + 4 * np.spacing(max(abs(low), abs(high)) + most)
        lowest, highest = ~(centre > low + room), ~(centre < high - room)
    return (
        float((centre[lowest] - size[lowest] / 2).min()),
        float((centre[highest] + size[highest] / 2).max()),
    )


# --- Sums of block proportions, and error estimates for shares along lines.

# Error bound of shares by volume, as a fraction of a cut block.
ROUNDING = 1e-9


class ShareTally:
    """Volumes from proportions, and counts of the measured blocks. Not thread-safe.

    Parameters
    ----------
    count : int
        Number of domains and layers, k.

    Attributes
    ----------
    volumes : (k,) float64
        Volumes from proportions, in cubed units of the file.
    entered, by_lines : int
        Blocks that a wireframe enters, and how many of these blocks were sampled along lines.
    crossed : dict of str to int
        By name of a mesh: blocks sampled along lines because triangles of the mesh cross or fold.
    lost : (k,) int64
        For each domain on its own: blocks that have no proportion, because they are partly or
        wholly outside the footprint of a surface.
    beyond : int
        Blocks partly outside a surface's footprint, if proportions are by domain order.
    moved : int
        Blocks whose label by majority differs from the label of the centroid.
    worst : float
        Largest estimated error of a share.
    turned : bool
        Whether meshes were rotated to the frame of the blocks.
    by_itself : bool
        Whether `volumes` are volumes of each domain on its own, instead of by domain order.
    """

    def __init__(self, count: int) -> None:
        self.volumes = np.zeros(count)
        self._off, self._unseen = np.zeros((SAMPLES, count)), np.zeros(count)
        self._cut = np.zeros(count)
        self.lost = np.zeros(count, np.int64)
        self.entered = self.by_lines = self.beyond = self.moved = 0
        self.crossed: dict[str, int] = {}
        self.worst = 0.0
        self.turned = self.by_itself = False

    @property
    def errors(self) -> Floats:
        """Return the estimated error of each volume, (k,), rounding included."""
        lines = np.sqrt((self._off**2).max(axis=0) + self._unseen)
        return np.asarray(lines + ROUNDING * self._cut)

    def add_cut(self, targets: range, shares: Floats, volumes: Floats) -> None:
        """Add the volumes of blocks partly inside a domain, to estimate the rounding error.

        Parameters
        ----------
        targets : range
            The domains and layers; w of them.
        shares : (n, w) float64
            Share of each block in each of these domains and layers.
        volumes : (n,) float64
            Volumes of the blocks.
        """
        cut = (shares > 0) & (shares < 1)
        self._cut[targets.start : targets.stop] += (cut * volumes[:, None]).sum(axis=0)

    def see(self, off: Floats, unseen: Floats) -> None:
        """Update the largest error of a share with the errors of some blocks; see `add_off`."""
        for error in (off, unseen):
            self.worst = max(self.worst, float(np.abs(error).max(initial=0.0)))

    def add_off(self, targets: range, off: Floats, unseen: Floats, volumes: Floats) -> None:
        """Add errors of shares to the errors of volumes.

        Parameters
        ----------
        targets : range
            The domains and layers; w of them.
        off : (s, n, w) float64
            The share by each sample of lines, minus the share by all lines. A sample may err in the
            same direction in many blocks, so differences are added with their sign.
        unseen : (n, w) float64
            Share of a block that all its lines may miss. These errors are independent.
        volumes : (n,) float64
            Volumes of the blocks.
        """
        span = slice(targets.start, targets.stop)
        self._off[: len(off), span] += (off * volumes[:, None]).sum(axis=1)
        self._unseen[span] += ((unseen * volumes[:, None]) ** 2).sum(axis=0)


# --- All counts of a pass over blocks: merged with other passes, and stored as arrays.

Arrays = Mapping[str, StoredArray]
_PLAIN = (*SUMS, "first_leak", "bounds", "axes", "turned")
_CHECK, _CONDITION = "check_", "condition_"
# Centroids stored as the sample.
_SAMPLES = 1000


class Counts(NamedTuple):
    """Counts of labelled blocks, and checks of their coordinates and sizes."""

    tally: Tally
    checks: BlockChecks

    @classmethod
    def empty(cls, targets: Sequence[DomainOrLayer]) -> Counts:
        """Return counts that are all zero."""
        return cls(Tally(targets), BlockChecks())

    def merge(self, later: Counts) -> None:
        """Add the counts of blocks that come after the blocks counted here."""
        self.tally.merge(later.tally)
        self.checks.merge(later.checks)

    def arrays(self) -> dict[str, StoredArray]:
        """Return the counts as named arrays to store; `restored` reads them back."""
        tally = self.tally
        number, sizes = tally.first_unsized or (0, np.zeros(3))
        stored: dict[str, StoredArray] = {name: getattr(tally, name) for name in _PLAIN}
        overlaps = tally.overlaps
        stored["overlaps"] = np.array([overlaps.pairs, overlaps.blocks])
        stored["overlap_volumes"] = overlaps.volumes
        stored["met"] = np.array(tally.met, np.int64)
        stored["scalars"] = np.array(
            [tally.on_wall, tally.unsized, tally.sized, number, overlaps.are_all], np.int64
        )
        stored["unsized"] = sizes
        stored["sample"] = tally.sample[:: 1 + len(tally.sample) // _SAMPLES]
        stored["folded"] = np.array([*tally.folds], np.str_)
        for place, folds in enumerate(tally.folds.values()):
            stored[f"fold_{place}"] = _columns_of(folds)
        for prefix, arrays in (
            (_CONDITION, tally.conditions.stored()),
            (_CHECK, self.checks.arrays()),
        ):
            stored |= {f"{prefix}{name}": array for name, array in arrays.items()}
        return stored

    @classmethod
    def restored(cls, targets: Sequence[DomainOrLayer], stored: Arrays) -> Counts:
        """Return the counts whose `arrays` were stored, for the same targets.

        Raises
        ------
        KeyError, ValueError
            If an array is missing or has the wrong shape.
        """
        tally = Tally(targets)
        for name in _PLAIN:
            np.copyto(getattr(tally, name), stored[name], casting="no")
        tally.met = np.asarray(stored["met"], np.int64).tolist()
        scalars = np.asarray(stored["scalars"], np.int64).tolist()
        on_wall, unsized, sized, number, are_all = scalars
        pairs, blocks = np.asarray(stored["overlaps"], np.int64)
        volumes = np.asarray(stored["overlap_volumes"], np.float64)
        tally.overlaps.add(pairs, blocks, volumes, are_all=bool(are_all))
        tally.on_wall, tally.unsized, tally.sized = on_wall, unsized, bool(sized)
        if number:
            tally.first_unsized = number, np.asarray(stored["unsized"], np.float64)
        tally.keep_sample(np.asarray(stored["sample"], np.float64))
        for place, name in enumerate(stored["folded"]):
            tally.folds[str(name)] = _folds_of(np.asarray(stored[f"fold_{place}"], np.float64))
        tally.conditions = ConditionCounts.restored(with_prefix(stored, _CONDITION))
        return cls(tally, BlockChecks.restored(with_prefix(stored, _CHECK)))


def _columns_of(folds: Folds) -> NDArray[np.float64]:
    """Return the counts of a folded surface as an array to store, (n + 2, 2).

    The first row holds the number of blocks twice. The second row holds x and y of the first block.
    The other n rows hold x and y of the vertical lines.
    """
    columns = np.frombuffer(b"".join(sorted(folds.columns)), np.float64).reshape(-1, 2)
    return np.concatenate([[[folds.blocks] * 2, folds.first], columns])


def _folds_of(rows: NDArray[np.float64]) -> Folds:
    """Return the counts of a folded surface from an array that `_columns_of` made."""
    (blocks, _), (x, y), *columns = rows
    return Folds(int(blocks), {column.tobytes() for column in columns}, (float(x), float(y)))
