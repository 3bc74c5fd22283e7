"""Label an open block model; its other columns stay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from geodomain.checks.blocks import (
    MISSING_OPTION,
    BlockChecks,
    overfull,
    realisations_of,
    summed_realisations,
)
from geodomain.domains.order import allowed_rows, condition_columns
from geodomain.errors import PointError, TableError, warn
from geodomain.io.blocks.cell_file import CellModel
from geodomain.io.blocks.model import BlockFile, Destination, Floats, Progress, Relabelling
from geodomain.io.conditions import Column
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.header.azimuth import (
    azimuth_of,
    frame_of_azimuth,
    refuse_misfit,
    require_known_turn,
)
from geodomain.io.header.families import find_column
from geodomain.io.header.rotation import require_constants
from geodomain.io.number_columns import NegativeGrades
from geodomain.labelling.block_lattice import BlockLattice
from geodomain.labelling.columns import ColumnPlan
from geodomain.labelling.counts import Counts
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.overlap import refuse_disjoint
from geodomain.labelling.placement import exchanged_axes
from geodomain.labelling.shares.report import share_warnings
from geodomain.labelling.shares.sharer import Sharer, frame_of
from geodomain.labelling.summarise import parts_of
from geodomain.labelling.tally import Tally
from geodomain.labelling.warnings import tally_warnings
from geodomain.labelling.whole_lattice import label_whole


def label_table(
    model: BlockFile,
    destination: Destination | None,
    labeller: Labeller,
    plan: ColumnPlan,
    *,
    allow_disjoint: bool = False,
    samples: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Label every block of a model, and warn of what its counts show.

    Parameters
    ----------
    model : BlockFile
        The block model, opened.
    destination : Destination, optional
        Where to write; without it nothing is written.
    labeller : Labeller
        The solids.
    plan : ColumnPlan
        The new columns.
    allow_disjoint : bool
        Label even if no solid's box meets the blocks.
    samples : bool
        Whether the rows are samples, not the blocks of a model.
    threads : int, optional
        Number of threads that read and write.
    progress : callable, optional
        Called with the amount done and the total, or None for an unknown total.

    Returns
    -------
    Tally

    Raises
    ------
    TableError
        If a row is malformed, a new column exists already, or no solid meets the blocks; the
        last is decided when all rows are read, before the output is put in place.

    Warns
    -----
    GeodomainWarning
        For counts that need a look, at the same moment.
    """
    times = realisations_of(model.facts())
    counts = Counts(Tally(labeller.targets), BlockChecks(compare=times == 1 and not samples))

    def before_commit() -> None:
        # Before the output takes its place: who makes errors of warnings gets none.
        conclude(
            counts, labeller, plan, model.name,
            allow_disjoint=allow_disjoint, samples=samples, times=times,
        )  # fmt: skip

    count_table(
        model, destination, labeller, plan, counts,
        samples=samples, threads=threads, progress=progress, before_commit=before_commit,
    )  # fmt: skip
    return counts.tally


def conclude(
    counts: Counts,
    labeller: Labeller,
    plan: ColumnPlan,
    name: str,
    *,
    allow_disjoint: bool = False,
    samples: bool = False,
    times: int = 1,
) -> None:
    """Warn of what the counts of all blocks show; refuse blocks that no domain meets.

    Parameters
    ----------
    counts : Counts
        Of all the blocks.
    labeller, plan, allow_disjoint, samples
        As for `label_table`.
    name : str
        What messages call the model.
    times : int
        How often each block is there: as often as there are realisations.
    """
    tally, checks = counts.tally, counts.checks
    if not allow_disjoint:
        refuse_disjoint(labeller.targets, tally.bounds, name)
    parts = parts_of(labeller.targets, tally, plan.labels)
    for sentence in tally_warnings(labeller.domains, tally, parts):
        warn(sentence)
    for sentence in checks.warnings(mend=MISSING_OPTION):
        warn(sentence)
    if tally.shares is not None:
        _require_boxes(tally, name)
        for sentence in share_warnings(plan.shares, tally.shares, labeller.targets):
            warn(sentence)
    for sentence in summed_realisations(times):
        warn(sentence)
    if not samples:
        fallback = times == 1 and not checks.tells_volume
        for sentence in overfull(float(tally.volumes.sum()), tally.box) if fallback else ():
            warn(sentence)
        solids = labeller.count_solids
        for sentence in exchanged_axes(labeller.domains, tally.bounds, tally.sample, solids):
            warn(sentence)


def count_table(
    model: BlockFile,
    destination: Destination | None,
    labeller: Labeller,
    plan: ColumnPlan,
    counts: Counts,
    *,
    samples: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    before_commit: Callable[[], None] = lambda: None,
) -> None:
    """Label every block of a model and count what was found; `before_commit` sees the counts."""
    tally, checks = counts.tally, counts.checks
    sharer = _sharer(labeller, model, plan, samples=samples)
    tally.shares = None if sharer is None else sharer.tally
    asked = condition_columns(labeller.domains, model.columns, model.name)
    kept = _kept_column(labeller, model, plan)
    edges = None if (model.axes == np.eye(3)).all() else model.axes
    begun = False
    lattice = _lattice(model, threads, samples=samples)

    def label(
        points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[NewCells]:
        nonlocal edges, begun
        require_constants(model.constants, column, model.columns, model.name, tally.rows)
        if not begun and not samples and sizes is not None:
            edges = _edges(model, points, sizes, measured=sharer is not None)
        begun = True
        negative: dict[str, NegativeGrades] = {}
        allowed = allowed_rows(labeller.domains, lambda named: column(asked[named]), negative)
        labelled = None if kept is None else column(kept).present()
        try:
            verdict = labeller.judge(points, allowed, labelled, lattice)
        except PointError as error:
            message = f"{model.name}, among the blocks from number {tally.rows + 1} on: {error}"
            raise PointError(message) from None
        shares: Sequence[Floats] = ()
        if sharer is not None:
            lengths = _required(sizes, model)
            found = sharer.measure(points, lengths, verdict, allowed, labelled)
            verdict = replace(verdict, codes=found.codes)
            shares = [*(100.0 * found.shares if plan.shares.percent else found.shares)]
        tally.add(points, sizes, verdict, allowed, edges, negative)
        checks.add(points, None if samples else sizes, verdict.box, edges)
        flags = verdict.table("inside").astype(np.int32) if plan.flags else ()
        unsure = [verdict.uncertain.astype(np.int32)] if plan.uncertain else []
        return [verdict.codes, *flags, *unsure, *shares]

    task = Relabelling(
        label,
        plan.columns(labeller.targets),
        destination,
        also=sorted({*asked.values(), *model.constants, *([] if kept is None else [kept])}),
        replace=plan.replace,
        threads=threads,
        progress=progress,
        before_commit=before_commit,
        known=None
        if samples or kept is not None
        else _whole(model, labeller, plan, tally, progress),
    )
    model.relabel(task)


def _edges(model: BlockFile, points: Floats, sizes: Floats, *, measured: bool) -> Floats | None:
    """Return the directions of the blocks' edges, as the first blocks show; None along the axes.

    Refuse what the caller says of them where the blocks contradict it, and boxes that are measured
    where nothing says that they are turned.
    """
    refuse_misfit(points, sizes, model.frame, model.name)
    if (model.axes != np.eye(3)).any():
        return model.axes
    if measured:
        require_known_turn(points, sizes, model.frame, model.name, "measured")
    azimuth = azimuth_of(points, sizes) if model.frame.lattice is None else 0.0
    return np.array(frame_of_azimuth(azimuth).matrix).T if azimuth else None


def _lattice(model: BlockFile, threads: int | None, *, samples: bool) -> BlockLattice | None:
    """Return the lattice that most of a model's blocks lie on; none of turned ones, and samples."""
    if samples or (model.axes != np.eye(3)).any():
        return None
    if not isinstance(model, CellModel):
        return BlockLattice.learnt(threads=threads)
    if model.lattice is None:
        return None
    return BlockLattice.given(model.lattice.centres, threads=threads)


def _whole(
    model: BlockFile,
    labeller: Labeller,
    plan: ColumnPlan,
    tally: Tally,
    progress: Progress | None,
) -> list[NewCells] | None:
    """Label all cells of a lattice at once; None where they are asked for chunk by chunk."""
    if plan.shares.measures or not isinstance(model, CellModel) or model.lattice is None:
        return None
    found = label_whole(model.lattice, labeller, tally, flags=plan.flags, progress=progress)
    if found is None:
        return None
    unsure = [np.zeros(len(found[0]), np.uint8)] if plan.uncertain else []
    return [*found, *unsure]


def _sharer(
    labeller: Labeller, model: BlockFile, plan: ColumnPlan, *, samples: bool
) -> Sharer | None:
    """Return what measures the shares of blocks, if any are asked for; samples have none."""
    if samples or not plan.shares.measures:
        return None
    if not model.sizes and not isinstance(model, CellModel):
        _required(None, model)
    return Sharer(labeller, frame_of(labeller, model.axes, model.name), plan.shares)


def _required(sizes: Floats | None, model: BlockFile) -> Floats:
    """Return the sizes of blocks; refuse blocks without."""
    if sizes is None:
        message = (
            f"{model.name} has no sizes of blocks, whose shares are asked for: name them with "
            "dx=, dy= and dz=, columns or numbers"
        )
        raise TableError(message)
    return sizes


def _require_boxes(tally: Tally, name: str) -> None:
    """Refuse blocks whose shares are asked for, if not one of them is a box with sizes."""
    if tally.unsized and not tally.volumes.any():
        message = (
            f"no block of {name} is a box with sizes above 0 along its axes, and shares are asked "
            "for: correct the sizes, or name others with dx=, dy= and dz=; skewed cells "
            "have none: give such a model as a lattice, or as a table of centroids and sizes with "
            "frame=, such as frame='z=30'"
        )
        raise TableError(message)


def _kept_column(labeller: Labeller, model: BlockFile, plan: ColumnPlan) -> int | None:
    """Return the column whose labels some domains keep, if it is rewritten."""
    if not plan.replace or not any(domain.keep for domain in labeller.domains):
        return None
    return find_column(model.columns, plan.column, model.name)
