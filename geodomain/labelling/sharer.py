"""Compute proportions of blocks: of each domain on its own, or by the order of the domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains, allowed_rows
from geodomain.errors import TableError, warn
from geodomain.labelling.counts import ShareTally
from geodomain.labelling.evaluate import SolidEvaluation
from geodomain.labelling.labeller import BEYOND, KEPT, LEAKING, LOST, NONE, REST, Labeller, Verdict
from geodomain.labelling.parting import (
    BodyShelf,
    Entered,
    LabelledBlocks,
    Measured,
    Parting,
    beyond_footprint,
    entry_of,
    measure,
    score_by_order,
    score_itself,
    sized_blocks,
)
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.share_pieces import Body, ModelFrame, model_frame
from geodomain.labelling.warnings import share_warnings
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame
from geodomain.tables.rotation import require_known_turn

_TOGETHER = 1 << 16  # blocks
# Tolerance for equal shares in majority labels: about the error of a share.
EQUAL = 1e-9


class MeasuredBlocks(NamedTuple):
    """Proportions and labels of some blocks.

    Attributes
    ----------
    shares : (k, n) float64, or (0, n)
        Proportion in each domain, NaN if unknown; (0, n) if only labels are needed.
    codes : (n,) int32
        Labels as in `Verdict`.
    """

    shares: Floats
    codes: NDArray[np.int32]


class Sharer:
    """Measures proportions of blocks as they are labelled, chunk by chunk.

    Parameters
    ----------
    labeller : Labeller
        The domains and their rules.
    frame : ModelFrame
        Frame in which the blocks are axis-aligned boxes.
    settings : LabelSettings
        Settings of the labelling.

    Attributes
    ----------
    tally : ShareTally
        Sums of all shares.

    Raises
    ------
    DomainError, MeshError
        If proportions cannot be computed for a domain or a mesh: see `BodyShelf`.
    """

    def __init__(self, labeller: Labeller, frame: ModelFrame, settings: LabelSettings) -> None:
        self._labeller, self._frame, self.settings = labeller, frame, settings
        shelf = BodyShelf(labeller, frame, settings.line_count)
        self._units, self._bodies = shelf.units, shelf.bodies
        self._count = len(labeller.targets)
        self._rank = _ranked(labeller)
        self.tally = ShareTally(self._count)
        self.tally.turned = not frame.is_world
        self.tally.by_itself = settings.proportions == "itself"

    def measure(
        self,
        points: Floats,
        sizes: Floats,
        verdict: Verdict,
        allowed: Sequence[Bools | None] | None = None,
        labelled: Bools | None = None,
    ) -> MeasuredBlocks:
        """Compute the proportions of blocks, and their labels by majority.

        `verdict` has the labels of their centroids, and `allowed` is as in `Labeller.label`. A
        block without a size or centroid has no proportions and keeps its label.
        """
        wanted = self._count if self.settings.proportions is not None else 0
        shares, codes = np.full((wanted, len(points)), np.nan), verdict.codes.copy()
        for begin in range(0, len(points), _TOGETHER):
            rows = slice(begin, begin + _TOGETHER)
            batch = LabelledBlocks(
                sized_blocks(points[rows], sizes[rows], self._frame),
                verdict.part(begin, begin + _TOGETHER),
                allowed and [None if mask is None else mask[rows] for mask in allowed],
                None if labelled is None else labelled[rows],
            )
            self._measure(batch, shares[:, rows], codes[rows])
        return MeasuredBlocks(shares, codes)

    def _measure(self, batch: LabelledBlocks, shares: Floats, codes: NDArray[np.int32]) -> None:
        """Write the shares and labels of a batch of blocks into `shares` and `codes`."""
        blocks, tally = batch.blocks, self.tally
        entries = {id(body): entry_of(body, blocks, self._frame) for body in self._bodies}
        touched, along = np.zeros((2, len(codes)), np.bool_)
        for body in self._bodies:
            crossed = int(entries[id(body)].crossed.sum())
            if crossed:
                tally.crossed[body.name] = tally.crossed.get(body.name, 0) + crossed
        if self.settings.proportions == "itself":
            for unit, bodies in enumerate(self._units):
                parting = self._parting(batch, bodies, entries)
                beyond = beyond_footprint(
                    self._labeller.evaluations[unit], bodies, entries, blocks, parting.several
                )
                self._measure_unit(batch, unit, parting, beyond, shares)
                touched |= ~parting.untouched
                along[parting.several] = True
        if self.settings.by_order:
            parting = self._parting(batch, self._bodies, entries)
            by_label = self._by_order(batch, parting)
            if self.settings.proportions == "priority":
                shares[:, blocks.usable] = by_label[blocks.usable, : self._count].T
            if self.settings.by == "majority":
                self._relabel(by_label, ~parting.untouched, codes)
            touched |= ~parting.untouched
            along[parting.several] = True
        tally.entered += int(touched.sum())
        tally.by_lines += int(along.sum())

    def _parting(
        self, batch: LabelledBlocks, bodies: Sequence[Body], entries: Mapping[int, Entered]
    ) -> Parting:
        """Prepare blocks for division.

        The bodies are ordered by the priority of their domains, highest first.
        """
        unique = list(dict.fromkeys(bodies))
        if self._labeller.domains.order == "last":
            unique.reverse()
        pairs = [(body, entries[id(body)]) for body in unique]
        return Parting(batch.blocks, pairs, self._frame)

    def _measure_unit(
        self, batch: LabelledBlocks, unit: int, parting: Parting, beyond: Bools, shares: Floats
    ) -> None:
        """Write the shares of one domain on its own, or of the layers of one stack."""
        evaluation = self._labeller.evaluations[unit]
        targets, width = self._targets_of(unit), evaluation.width
        met = None if batch.allowed is None else batch.allowed[unit]
        lost = beyond.copy() if met is None else beyond & met
        whole, usable = parting.untouched, batch.blocks.usable
        own_shares = np.zeros((len(usable), width))
        for part in range(width):
            answer = batch.verdict.answers.get(targets.start + part)
            if answer is None:
                continue
            own_shares[whole, part] = answer.inside[whole]
            if answer.beyond is not None:
                lost |= whole & answer.beyond
        score = score_itself(batch, evaluation, unit)
        for some in measure(parting, self.settings.line_count, width + 2, score):
            lost[some.rows] |= some.shares[:, width] > 0
            own_shares[some.rows] = some.shares[:, :width]
            self._record_error(batch, some, targets, usable & ~lost)
        valid = usable & ~lost
        shares[targets.start : targets.stop, valid] = own_shares[valid].T
        self.tally.lost[targets.start : targets.stop] += int((usable & lost).sum())
        self._add(batch, own_shares, valid, targets)

    def _by_order(self, batch: LabelledBlocks, parting: Parting) -> Floats:
        """Return the share of each block that has each label, (n, k + 5), by domain order.

        There are k domains, and 5 codes for the rest of a block (see `REST`).
        """
        codes, usable = self._count + REST, batch.blocks.usable
        shares = np.zeros((len(usable), codes))
        whole = np.flatnonzero(parting.untouched)
        shares[whole, batch.verdict.codes[whole]] = 1.0
        score = score_by_order(batch, self._labeller)
        for some in measure(parting, self.settings.line_count, codes, score):
            shares[some.rows] = some.shares
            adds = not self.tally.by_itself
            self._record_error(batch, some, range(self._count), usable, adds=adds)
        self.tally.beyond += int((shares[usable, self._count + BEYOND] > 0).sum())
        if not self.tally.by_itself:
            self._add(batch, shares, usable, range(self._count))
        return shares

    def _record_error(
        self,
        batch: LabelledBlocks,
        some: Measured,
        targets: range,
        valid: Bools,
        *,
        adds: bool = True,
    ) -> None:
        """Record the error of shares sampled along lines.

        If `adds` is true, also add this error to the error of volumes.
        """
        if some.off is None or some.unseen is None:
            return
        here = valid[some.rows]
        off, unseen = some.off[:, here, : len(targets)], some.unseen[here, : len(targets)]
        self.tally.see(off, unseen)
        if adds:
            volumes = batch.blocks.sizes[some.rows[here]].prod(axis=1)
            self.tally.add_off(targets, off, unseen, volumes)

    def _add(self, batch: LabelledBlocks, all_shares: Floats, valid: Bools, targets: range) -> None:
        """Add the volumes of blocks, by their shares, to the volumes of domains."""
        volume = np.where(valid, batch.blocks.sizes.prod(axis=1), 0.0)
        shares = all_shares[:, : len(targets)]
        self.tally.volumes[targets.start : targets.stop] += (shares * volume[:, None]).sum(axis=0)
        self.tally.add_cut(targets, shares, volume)

    def _targets_of(self, unit: int) -> range:
        first = sum(evaluation.width for evaluation in self._labeller.evaluations[:unit])
        return range(first, first + self._labeller.evaluations[unit].width)

    def _relabel(self, shares: Floats, rows: Bools, codes: NDArray[np.int32]) -> None:
        """Label blocks by their largest share; if shares are equal, the highest rank wins.

        See `_ranked` for the ranks.
        """
        ranked = shares[rows][:, self._rank]
        best = self._rank[np.argmax(ranked >= ranked.max(axis=1, keepdims=True) - EQUAL, axis=1)]
        self.tally.moved += int((best != codes[rows]).sum())
        codes[rows] = best


def frame_of(labeller: Labeller, axes: Floats, name: str) -> ModelFrame:
    """Return the frame of blocks with these edge directions; see `model_frame`."""
    low = np.concatenate([mesh.bounds[0] for mesh in labeller.domains.placed]).reshape(-1, 3)[0]
    solid = all(isinstance(evaluation, SolidEvaluation) for evaluation in labeller.evaluations)
    return model_frame(
        axes, np.where(np.isfinite(low), low, 0.0), has_surfaces=not solid, name=name
    )


def _ranked(labeller: Labeller) -> NDArray[np.int32]:
    """Return the codes of all labels, highest rank first: domains, then labels of other blocks."""
    domains, count = labeller.domains, len(labeller.targets)
    layers = range(len(domains), count)
    if domains.order == "first":
        order = [*range(count)]
    else:
        last = [index for index, domain in enumerate(domains) if not domain.keep]
        keep = [index for index, domain in enumerate(domains) if domain.keep]
        order = [*reversed(last), *layers, *keep]
    rest = [count + offset for offset in (NONE, KEPT, BEYOND, LEAKING, LOST)]
    return np.array([*order, *rest], np.int32)


# --- Proportions and labels of blocks in memory.

# Number of blocks measured at a time.
_PART = 1 << 18


def measure_blocks(
    points: Floats,
    sizes: Floats | None,
    axes: Floats,
    domains: Domains,
    settings: LabelSettings,
    column: Callable[[str], Column],
    labelled: Bools | None,
    *,
    name: str,
    index: Labeller | None = None,
    known_axes: bool = False,
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the share of each block in each domain, (k, n), and the code of its label, (n,).

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids in world coordinates, and sizes along the axes.
    axes : (3, 3) float64
        The directions of the block edges, one in each row.
    domains, settings
        Domains and settings of the labelling.
    column : callable
        Returns a column that conditions use, by name.
    labelled : (n,) bool, optional
        Blocks that already have a label; see `Labeller.label`.
    name : str
        Name of the blocks in messages.
    index : Labeller, optional
        Existing index of the same domains.
    known_axes : bool
        Whether the axes are certain, as those of a grid are. If not, blocks along the world axes
        are checked for signs of a rotation.

    Raises
    ------
    TableError
        If blocks have no sizes, or are rotated although no rotation is given.

    Warns
    -----
    GeodomainWarning
        As `label_file` for proportions, and if centroids look like those of a rotated model.
    """
    if sizes is None:
        message = (
            f"{name} has no block sizes, but proportions need them: name the size columns with "
            "dx=, dy= and dz="
        )
        raise TableError(message)
    labeller = index or Labeller(domains, replace(settings, allow_open=False))
    sharer = Sharer(labeller, frame_of(labeller, axes, name), settings)
    if not (known_axes or sharer.tally.turned):
        mend = "write the blocks to a file, and use label_file(..., frame={!r})".format
        require_known_turn(points, sizes, Frame(), name, "measured", mend)
    allowed = allowed_rows(domains, column, every=index is None)
    wanted = len(labeller.targets) if settings.proportions is not None else 0
    shares, codes = np.empty((wanted, len(points))), np.empty(len(points), np.intp)
    for begin in range(0, len(points), _PART):
        rows = slice(begin, begin + _PART)
        some = allowed and [None if mask is None else mask[rows] for mask in allowed]
        marked = None if labelled is None else labelled[rows]
        verdict = labeller.label(points[rows], some, marked)
        measured = sharer.measure(points[rows], sizes[rows], verdict, some, marked)
        shares[:, rows], codes[rows] = measured.shares, measured.codes
    for sentence in share_warnings(settings, sharer.tally, labeller.targets):
        warn(sentence)
    return shares * (100.0 if settings.percent else 1.0), codes
