"""Split the blocks of a model at wireframes; label, join and write the sub-blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.blocks.schemes import Boundaries, Boxes, Parents, Pieces, Scheme, Splitter
from geodomain.blocks.settings import (
    IN_MEMORY,
    NegativeAmounts,
    SubblockSummary,
    amount_columns,
    refuse_new,
    require_output,
    require_scheme,
    resolution_of,
    rewritable,
    shared,
    smallest_sizes,
    unshared_warnings,
)
from geodomain.compute.data import Bools, Floats, Ints
from geodomain.domains.order import ConditionCounts, DomainsLike, allowed_rows, condition_columns
from geodomain.domains.sources import domains_to_label
from geodomain.errors import PointError, collect_warnings, counted, warn
from geodomain.files.outputs import refuse_inputs
from geodomain.formats.blocks import BlockFile, Destination, open_model
from geodomain.formats.rewriting import Added, BlockRows, NewRows, Rewriting, Space
from geodomain.inputs import PathGiven, model_path
from geodomain.labelling.counts import Tally
from geodomain.labelling.evaluate import refuse_disjoint, with_labels
from geodomain.labelling.labeller import Labeller, new_columns
from geodomain.labelling.settings import LabelSettings, SubblockKeywords
from geodomain.labelling.summary import parts_of, summarise
from geodomain.labelling.warnings import tally_warnings
from geodomain.progress import Progress, show_progress
from geodomain.settings import read_keywords, with_keywords
from geodomain.tables.numbers import Numbers, Resolution
from geodomain.tables.options import options_among
from geodomain.tables.rotation import refuse_misfit, require_constants, require_known_turn
from geodomain.tables.settings import TableKeywords

# Approximate number of sub-blocks made at a time.
_TOGETHER = 1 << 19


class Splitting:
    """Splits and labels blocks, and counts them.

    Parameters
    ----------
    splitter : Splitter
        Splits blocks by the scheme.
    labeller : Labeller
        Labels points by the domains.
    space : Space
        The frame of the blocks.
    resolution : Resolution
        Step to which cuts are rounded.
    conditions : mapping of str to int
        Index of each column that conditions use.
    constants : mapping of int to float
        Columns that must be constant, such as the rotation, and their values.
    names : sequence of str
        Names of all columns.
    join : bool
        Whether to join parts of a block with the same label.
    threads : int, optional
        Number of threads.

    Attributes
    ----------
    tally : Tally
        Counts of labels before joining.
    parents, split, written, dropped, missing : int
        Numbers of blocks read, of blocks that were split, of blocks written, of dropped cuts, and
        of blocks without coordinates or sizes, which are not changed.
    unsized : int
        Number of blocks that have coordinates but no valid size.
    first_unsized : int, optional
        Number of the first such block, counted from 1.
    """

    def __init__(
        self,
        splitter: Splitter,
        labeller: Labeller,
        space: Space,
        resolution: Resolution,
        conditions: Mapping[str, int],
        constants: Mapping[int, float],
        names: Sequence[str],
        *,
        join: bool,
        threads: int | None,
    ) -> None:
        self._splitter, self._labeller, self._space = splitter, labeller, space
        self._resolution, self._conditions, self._constants = resolution, conditions, constants
        self._names, self._join, self._threads = names, join, threads
        self.tally = Tally(labeller.targets)
        self.parents = self.split = self.written = self.dropped = self.missing = 0
        self.unsized = 0
        self.first_unsized: int | None = None

    def rewrite(self, rows: BlockRows) -> Iterator[NewRows]:
        """Yield the labelled parts of a chunk of blocks, in smaller chunks."""
        require_constants(
            self._constants, rows.column, self._names, self._splitter.name, rows.first
        )
        if not rows.first:
            self._require_frame(rows)
        coordinates = self._space.local(rows.coordinates)
        parents = Parents(coordinates, rows.sizes, self._space.at_corner, self._resolution)
        entered = self._entered(parents)
        parts = self._splitter.parts(parents, entered, rows.first)
        parts[~entered] = 1
        seen = ConditionCounts()
        allowed = allowed_rows(
            self._labeller.domains, lambda name: rows.column(self._conditions[name]), seen
        )
        self.tally.conditions.merge(seen, rows.first)
        self.parents += len(rows)
        unsized = rows.missing & np.isfinite(rows.points).all(axis=1)
        if self.first_unsized is None and unsized.any():
            self.first_unsized = rows.first + int(unsized.argmax()) + 1
        self.unsized += int(unsized.sum())
        self.missing += int(rows.missing.sum())
        expected = np.cumsum(self._splitter.expected(parts, entered)) // _TOGETHER
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(expected)) + 1):
            yield self._pieces(rows, parents, some, parts[some], entered[some], allowed)

    def _require_frame(self, rows: BlockRows) -> None:
        """Raise an error if blocks contradict the stated rotation, or look rotated without one."""
        frame, name = self._space.frame, self._splitter.name
        usable = ~rows.missing
        points, sizes = rows.points[usable], _stacked(rows.sizes)[usable]
        refuse_misfit(points, sizes, frame, name)
        if not self._space.is_turned:
            require_known_turn(points, sizes, frame, name, "split")

    def _entered(self, parents: Parents) -> Bools:
        """Return the mask of blocks that a triangle enters."""
        lows, highs = np.empty((2, len(parents), 3))
        for axis, size in enumerate(parents.sizes):
            lows[:, axis] = parents.face(axis, size - size)
            highs[:, axis] = parents.face(axis, size)
        return self._splitter.boundaries.entered(lows, highs)

    def _pieces(
        self,
        rows: BlockRows,
        parents: Parents,
        some: Ints,
        parts: Ints,
        entered: Bools,
        allowed: Sequence[Bools | None] | None,
    ) -> NewRows:
        """Split and label the blocks numbered `some`, and join parts if requested."""
        own = parents.take(some)
        pieces = self._splitter.split(own, parts, entered)
        boxes = pieces.boxes(own)
        written = self._space.written(boxes.coordinates)
        placed = Boxes(written, boxes.sizes)
        codes = self._labelled(rows, some[pieces.parent], pieces.alone, placed, allowed)
        self.split += int((~pieces.alone & (np.diff(pieces.parent, prepend=-1) != 0)).sum())
        self.dropped += pieces.dropped
        if self._join:
            pieces, first = pieces.joined(codes, self._threads)
            boxes, codes = pieces.boxes(own), codes[first]
            written = self._space.written(boxes.coordinates)
        self.written += len(pieces)
        row = some[pieces.parent]
        return NewRows(
            row=row,
            unchanged=pieces.alone,
            coordinates=written,
            sizes=boxes.sizes,
            amounts=self._shared(rows, row, pieces, boxes),
            added=[rows.first + row, codes.astype(np.int64)],
        )

    def _labelled(
        self,
        rows: BlockRows,
        row: Ints,
        alone: Bools,
        boxes: Boxes,
        allowed: Sequence[Bools | None] | None,
    ) -> NDArray[np.int32]:
        """Label parts by their centroids, as rounded in the output; return the codes."""
        sizes = _stacked(boxes.sizes)
        points = self._space.world(_stacked(boxes.coordinates), sizes)
        points[alone] = rows.points[row[alone]]
        met = None if allowed is None else [None if a is None else a[row] for a in allowed]
        try:
            verdict = self._labeller.label(np.asfortranarray(points), met)
        except PointError as error:
            message = (
                f"{self._splitter.name}, in a chunk that begins with block "
                f"{rows.first + int(row[0]) + 1}: {error}"
            )
            raise PointError(message) from None
        axes = self._space.axes if self._space.is_turned else None
        self.tally.add(points, sizes, verdict, met, axes)
        return verdict.codes

    def _shared(self, rows: BlockRows, row: Ints, pieces: Pieces, boxes: Boxes) -> list[Numbers]:
        """Divide the amounts of blocks among their parts by volume."""
        if not rows.amounts:
            return []
        volumes = _stacked(boxes.sizes).prod(axis=1)
        volumes[rows.missing[row]] = 1.0
        starts = np.diff(row, prepend=-1) != 0
        place, own = np.cumsum(starts) - 1, row[starts]
        return [shared(amount.take(own), place, volumes) for amount in rows.amounts]


def _stacked(numbers: tuple[Numbers, Numbers, Numbers]) -> Floats:
    """Return three columns as one array of float64, (n, 3)."""
    return np.column_stack([column.doubles() for column in numbers])


# Split the blocks of a model file.


@with_keywords(LabelSettings, SubblockKeywords, table=TableKeywords)
def subblock_file(
    model: PathGiven,
    domains: DomainsLike,
    output: PathGiven,
    *,
    scheme: Scheme,
    minimum: float | str | Sequence[float | str],
    merge: bool = False,
    resolution: float | str = "0.001",
    extensive: str | Sequence[str] = (),
    parent: str = "parent",
    overwrite: bool = False,
    progress: Progress | bool = False,
    **keywords: Unpack[SubblockKeywords],
) -> SubblockSummary:
    r"""Split the blocks of a model in a file at wireframes, label the parts, and write them.

    A block is split if it is larger than the smallest size and a triangle of a domain has a point
    strictly inside the block. The parts get their own coordinates and sizes. All other columns,
    except those in ``extensive``, keep the bytes of the block. There are two new columns: the row
    of the parent, counted from 0, and the domain of the part's centroid. A block that is not split
    gets only the two new columns.

    Parameters
    ----------
    model : path
        Text, Parquet or VTK with block sizes, in world coordinates or rotated.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    output : path
        The file to write, in the format of the model; a VTK data set becomes .vtu.
    scheme : {"octree", "grid", "seam"}
        "octree" halves a block along each axis that is at least twice the smallest size, then
        halves the parts that a triangle enters, and so on. "grid" cuts a block into equal cells at
        once. "seam" cuts a block into equal cells in plan, and each cell along z at wireframes that
        cross its centre line: at the mean height of a sheet that spans the cell, otherwise at the
        crossing. Cuts that are closer than the smallest size to a face or another cut are dropped
        and counted.
    minimum : float or three of them
        The smallest size along x, y and z, in the unit of the model.
    merge : bool
        Join parts of a block with the same domain, as `merge_file` does.
    resolution : float
        Step to which cuts are rounded. Cuts of "seam" are always rounded. Other cuts are rounded
        only in text, if they have endless decimals, such as thirds.
    extensive : str or sequence of str
        Columns of quantities that can be added up, such as volume or tonnes. They are divided
        among the parts by volume.
    parent : str
        Name of the new column with the row of the parent.
    overwrite, progress, **table
        As for `label_file`.
    **settings

    Returns
    -------
    SubblockSummary
        ``print`` it. In text, coordinates and sizes are exact decimals, and the volumes of the
        parts add up exactly to the volume of the block. In binary files they are float64, and
        volumes add up within 4 units in the last place. With ``frame``, the coordinates of parts
        are converted to world coordinates, and rounded to 6 decimals in text.

    Raises
    ------
    TableError, MeshError, DomainError, OSError
        As `label_file`; also if the model has no sizes. After an error there is no partial file.
    ValueError
        If the smallest size or the resolution is invalid.

    Warns
    -----
    GeodomainWarning
        As `label_file`; also for columns that look like amounts but are not in ``extensive``, and
        for numbers in Parquet that are written as float64.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z,DX,DY,DZ,AU\n5,5,5,10,10,10,2.50\n")
    >>> corners = [[x, y, z] for z in (0, 5) for y in (0, 10) for x in (0, 10)]
    >>> quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    >>> faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    >>> ore = {"ORE": geodomain.Mesh(corners, faces)}
    >>> out = folder / "sub.csv"
    >>> summary = geodomain.subblock_file(
    ...     folder / "blocks.csv", ore, out, scheme="octree", minimum=5, merge=True
    ... )
    >>> print(out.read_text())
    X,Y,Z,DX,DY,DZ,AU,parent,domain
    5,5,2.5,10,10,5,2.50,0,ORE
    5,5,7.5,10,10,5,2.50,0,
    <BLANKLINE>
    """
    options, source = options_among(keywords), model_path(model, IN_MEMORY)
    plan = SplitPlan(domains, scheme, minimum, resolution, extensive, parent, keywords, merge=merge)
    outputs = require_output(source, os.fspath(output), overwrite=overwrite)
    return plan.run(
        lambda: open_model(source, options),
        Destination(os.fspath(output), overwrite),
        outputs=outputs,
        progress=progress,
    )


class SplitPlan:
    """The checked arguments of `subblock_file`; `run` splits a model.

    Raises
    ------
    ValueError
        If the scheme, the smallest size or the resolution is invalid.
    """

    def __init__(
        self,
        domains: DomainsLike,
        scheme: Scheme,
        minimum: float | str | Sequence[float | str],
        resolution: float | str,
        extensive: str | Sequence[str],
        parent: str,
        keywords: Mapping[str, object],
        *,
        merge: bool,
    ) -> None:
        self._smallest = smallest_sizes(minimum)
        self._step = resolution_of(resolution, minimum)
        require_scheme(scheme)
        self._own = read_keywords(LabelSettings, keywords, SubblockKeywords)
        self._domains, self._scheme, self._extensive = domains, scheme, extensive
        self._parent, self._join = parent, merge

    def run(
        self,
        opening: Callable[[], AbstractContextManager[BlockFile]],
        destination: Destination,
        *,
        outputs: Sequence[Path] = (),
        progress: Progress | bool = False,
    ) -> SubblockSummary:
        """Split the model that `opening` opens, and write it to the destination.

        `outputs` are the paths to write, which must not be files of the domains.
        """
        began = time.perf_counter()
        own, parent = self._own, self._parent
        with collect_warnings() as warned, show_progress(progress, "splitting") as report:
            sources = domains_to_label(self._domains, weld=own.weld)
            refuse_inputs(outputs, sources.files)
            for domain in sources.domains:
                if domain.within is not None or domain.beyond is not None:
                    warn(
                        f"{domain.name} uses 'within' or 'beyond', but blocks are split only at "
                        "the wireframe, not at this distance from it"
                    )
            labeller = Labeller(sources.domains, own)
            settings = with_labels(own, sources.domains)
            (labelled,) = new_columns(settings, labeller.targets)
            with opening() as opened:
                file = rewritable(opened)
                refuse_new(opened, (parent, "parent="), (own.column, "column="))
                conditions = condition_columns(sources.domains, opened.columns, opened.name)
                shares = amount_columns(opened, self._extensive)
                negative = NegativeAmounts([opened.columns[field] for field in shares])
                boundaries = Boundaries(sources.domains.placed, file.space, own.threads)
                work = Splitting(
                    Splitter(self._scheme, self._smallest, boundaries, opened.name),
                    labeller,
                    file.space,
                    self._step,
                    conditions,
                    opened.constants,
                    opened.columns,
                    join=self._join,
                    threads=own.threads,
                )

                def before_commit() -> None:
                    if not own.allow_disjoint:
                        refuse_disjoint(labeller.targets, work.tally.bounds, opened.name)
                    # Report blocks without a size as blocks of the model, not as sub-blocks.
                    work.tally.unsized, work.tally.first_unsized = 0, None
                    if work.first_unsized is not None:
                        verb = "is not changed" if work.unsized == 1 else "are not changed"
                        warn(
                            f"{counted(work.unsized, 'block')} without a size above 0 along each "
                            f"axis {verb}; the first is block {work.first_unsized:,} of the table"
                        )
                    parts = parts_of(labeller.targets, work.tally, settings)
                    for sentence in tally_warnings(labeller.domains, work.tally, parts):
                        warn(sentence)
                    for sentence in (
                        *unshared_warnings(opened.columns, shares),
                        *negative.warnings(),
                    ):
                        warn(sentence)

                file.rewrite(
                    Rewriting(
                        negative.counted(work.rewrite),
                        destination,
                        (Added(parent), Added(own.column, labelled.cells, labelled.default)),
                        amounts=shares,
                        also=[*conditions.values(), *opened.constants],
                        threads=own.threads,
                        progress=report,
                        before_commit=before_commit,
                    )
                )
        return SubblockSummary(
            scheme=self._scheme,
            parents=work.parents,
            split=work.split,
            missing=work.missing,
            subblocks=work.tally.rows,
            written=work.written,
            dropped=work.dropped,
            labels=summarise(
                labeller,
                work.tally,
                settings,
                seconds=time.perf_counter() - began,
                columns=[parent, own.column],
                output=destination.path,
                welds=sources.welds,
                warnings=warned,
            ),
        )
