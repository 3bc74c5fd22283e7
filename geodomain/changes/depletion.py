"""Deplete a block model: what is mined in each period and what remains, from wireframes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np

from geodomain.changes.cut_and_fill import CutAndFill
from geodomain.changes.depletion_report import (
    IN_SITU,
    MINED,
    OVERBREAK,
    REMAINING,
    UNDERBREAK,
    Depletion,
    LabelledPieces,
    Ledger,
    Part,
    require_balance,
)
from geodomain.changes.mined_periods import (
    Ground,
    cuts_and_fills,
    mesh_files,
    periods_until,
    refuse_both,
)
from geodomain.changes.mined_shares import SHARE_UNITS, MinedShares
from geodomain.checks.blocks import VolumeChecks, realisations_of
from geodomain.checks.columns import refuse_geometry
from geodomain.compute.data import Floats
from geodomain.errors import TableError, collect_warnings, counted, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import (
    BlockFile,
    Destination,
    Relabelling,
    file_of,
    open_model,
    require_same_kind,
    require_table_name,
    write_columns,
)
from geodomain.formats.wireframes import reading_once
from geodomain.inputs import MeshesLike, PathGiven, model_path
from geodomain.labelling.settings import LINES, LabelSettings
from geodomain.labelling.share_pieces import Places
from geodomain.progress import Progress, show_progress
from geodomain.settings import BackendName, Rule
from geodomain.tables.conditions import Column
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import table_options
from geodomain.tables.rotation import refuse_misfit, require_constants, require_known_turn
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import find_column, plain_name
from geodomain.volumes.tonnage import REST, Chunk, Wanted, split_by_bench
from geodomain.volumes.tonnes import Cutoffs, refuse_commas, require_sizes, wanted_of
from geodomain.volumes.tonnes_report import tonnage_warnings

_IN_MEMORY = "write a table in memory to a file first"
_DEFAULT_COLUMN = "domain"
_TOGETHER = 1 << 17  # blocks measured at a time


def deplete(
    model: PathGiven,
    mined: Mapping[str, MeshesLike],
    output: PathGiven | None = None,
    *,
    density: str | float,
    grade: str | Sequence[str] = (),
    initial: MeshesLike = (),
    design: MeshesLike = (),
    at: str | None = None,
    column: str | None = None,
    domains: Mapping[str, MeshesLike] | None = None,
    background: str | None = None,
    bench: float | None = None,
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    density_unit: str | None = None,
    classification: str | None = None,
    tonnes_table: PathGiven | None = None,
    rule: Rule = "parity",
    overwrite: bool = False,
    backend: BackendName = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Depletion:
    r"""Add up what is mined in each period and what remains, and write the shares of the blocks.

    Ground is mined in the first period whose solids contain it, or whose surfaces lie below it. The
    output has the model's format and new columns: the share of the block that is mined in each
    period, such as ``mined_2026_01``, and ``remaining``, the share that is left. ``initial`` adds
    the column ``in_situ``, and ``design`` adds ``overbreak`` and ``underbreak``.

    Parameters
    ----------
    model : path
        A block model with sizes, in any format that `label_file` takes; "-" is text on stdin.
    mined : mapping of str to mesh-like, or to several of them
        For each period its wireframes, or their files. A closed mesh is a solid, such as a stope;
        its inside is mined. An open mesh is a surface, such as a survey of the pit at the end of
        the period; everything above it is mined. All solids of a file are used. If the
        names of all periods are dates, such as ``2026``, ``2026-01`` or ``2026-01-31``, the periods
        are sorted by their ends. Dates in other forms, such as ``2026-1``, are refused. Other names
        are in the order of the mapping.
    output : path, optional
        The file to write; "-" is stdout.
    density, grade, bench, cutoff, grade_unit, density_unit, classification
        As for `tonnes`. A block that spans several benches is cut at the levels between them, and
        each piece is measured.
    initial : mesh-like, or several of them
        The state before the first period: topography or an earlier survey, and voids. What is above
        these surfaces or inside these solids is not in situ. By default, all of every block is in
        situ, so a surface of the first period mines everything above it.
    design : mesh-like, or several of them
        What was to be mined: solids, or surfaces with everything above them.
    at : str, optional
        The last period: a date, or the name of a period. Periods that end later are left out.
    column : str, optional
        The column of domains. [default: domain, if there is such a column]
    domains : mapping of str to mesh-like, or to several of them, optional
        Closed wireframes of domains in place of a column; where they overlap, the first wins. Then
        a block may belong to several domains, each with its exact share.
    background : str, optional
        With ``domains``, the domain of the rest of the ground. [default: "rest"]
    tonnes_table : path, optional
        A .csv, .xlsx or .parquet file for `Depletion.table`.
    rule : {"parity", "winding"}
        The rule for what is inside a solid, as in `contains`.
    overwrite, backend, threads, progress, **table
        As for `label_file`.

    Returns
    -------
    Depletion
        The parts of the ground by domain, class and bench; ``print`` it.

    Raises
    ------
    FileExistsError
        If an output exists; see ``overwrite``.
    MeshError
        If a mesh is neither a solid nor a surface.
    TableError
        As for `tonnes`; also if nothing of the model is mined. After an error no partial file
        remains.
    OSError
        If a file cannot be read or written.
    ValueError
        If names of periods contradict each other, or ``at`` is before the first of them.

    Warns
    -----
    GeodomainWarning
        As for `tonnes`. Also for periods that mine nothing, and blocks that were sampled.

    Notes
    -----
    Shares are those of `proportions`, rounded to whole multiples of 2^-40; the error is less than
    1e-12 of a block for each wireframe that enters it. Float64 adds and subtracts such shares
    exactly: in every block the mined shares and ``remaining`` add up to the share in situ. Sums are
    exact sums of the products of the float64 numbers in the file, and each is rounded once. So in
    every row of the result mined plus remaining is exactly in situ, as a fraction: see
    `DepletionRow.exact`.

    A block is sampled along 16 x 16 vertical lines, and its shares are not exact, if triangles
    cross or fold in it, if a surface lies over itself at its rim, or if more than six wireframes
    matter in it. A surface that ends within a block counts as two wireframes there.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z,DX,DY,DZ\n2,2,2,4,4,4\n")
    >>> corners = [[0, 0, 3], [4, 0, 3], [4, 4, 3], [0, 4, 3]]
    >>> pit = geodomain.Mesh(corners, [[0, 1, 2], [0, 2, 3]])
    >>> result = geodomain.deplete(folder / "blocks.csv", {"2026-01": pit}, density=2.5)
    >>> result
    <Depletion of 1 block: in situ 160 t, mined 40 t, remaining 120 t>
    >>> result.of("mined", "2026-01").exact["tonnes"]
    Fraction(40, 1)
    """
    options, source = table_options(**table), model_path(model, _IN_MEMORY)
    refuse_both(column, domains, background)
    for name, meshes in (("mined", mined), ("domains", domains or {})):
        if not isinstance(meshes, Mapping):
            message = (
                f"{name}= is of type {type(meshes).__name__}; give a mapping of names to meshes"
            )
            raise TypeError(message)
    settings = LabelSettings(rule=rule, backend=backend, threads=threads, proportions="priority")
    periods = periods_until(mined, at)
    wanted = wanted_of(
        column or _DEFAULT_COLUMN, density, grade, bench, cutoff, None, grade_unit,
        options.below_detection, density_unit, None, classification,
    )  # fmt: skip
    target = None if output is None else os.fspath(output)
    written = _require_outputs(source, target, tonnes_table, overwrite=overwrite)
    refuse_inputs(
        written, mesh_files([initial, design, *mined.values(), *(domains or {}).values()])
    )
    with collect_warnings() as warned, show_progress(progress, "depleting") as report:
        with reading_once():
            until = {name: mined[name] for name in periods}
            ground = Ground.read(initial, design, until, domains or {}, background or REST)
        with open_model(source, options) as opened:
            if domains or (column is None and _DEFAULT_COLUMN not in opened.columns):
                wanted = replace(wanted, domain="")
            work = _Pass(opened, ground, wanted, settings, writes=target is not None)
            opened.relabel(
                Relabelling(
                    work.add,
                    [NewColumn(name, default="0", numeric=True, measured=True)
                     for name in ground.columns] if target is not None else (),
                    None if target is None else Destination(target, overwrite),
                    also=work.also,
                    threads=threads,
                    progress=report,
                    before_commit=work.conclude,
                )
            )  # fmt: skip
        surfaces, notes = cuts_and_fills(ground, backend, threads)
        result = work.result(tuple(warned), target, surfaces, notes)
    if tonnes_table is not None:
        write_columns(result.table(), tonnes_table, overwrite=overwrite)
    return result


def _require_outputs(
    source: str, target: str | None, tonnes_table: PathGiven | None, *, overwrite: bool
) -> list[Path]:
    """Return the files to write; raise an error for wrong names and files that exist."""
    written = []
    if target is not None:
        require_same_kind(source, target)
        written += [Path(target)] if target != STANDARD else []
    if tonnes_table is not None:
        require_table_name(os.fspath(tonnes_table), parquet=True)
        written += [Path(tonnes_table)] if os.fspath(tonnes_table) != STANDARD else []
    refuse_inputs(written, [] if source == STANDARD else [file_of(source)])
    require_places(written, overwrite=overwrite)
    return written


# --- Blocks, chunk by chunk.


class _Pieces(NamedTuple):
    """Blocks cut at the benches.

    Attributes
    ----------
    block : (m,) intp
        The block of each piece.
    bench : (m,) float64
        The base of its bench; NaN without benches.
    points, sizes : (m, 3) float64
        Centres in world coordinates, and sizes.
    fraction : (m,) float64
        The share of the block: whole multiples of 2^-40 that add up to 1 in each block.
    """

    block: Places
    bench: Floats
    points: Floats
    sizes: Floats
    fraction: Floats


def cut_at_benches(points: Floats, sizes: Floats, height: float | None, first: int) -> _Pieces:
    """Cut blocks at the multiples of a height; blocks within one bench are not changed.

    `first` is the number of the first block, for messages.
    """
    count = len(points)
    everything = np.arange(count)
    if height is None:
        return _Pieces(everything, np.full(count, np.nan), points, sizes, np.ones(count))
    z, dz = points[:, 2], np.where(sizes[:, 2] > 0, sizes[:, 2], np.nan)
    done, rounded = np.zeros((2, count))
    pieces: list[_Pieces] = []
    for bench, share in split_by_bench(z, dz, height, first):
        done += share
        ends = np.where(done > 1 - 1e-12, 1.0, np.rint(done * SHARE_UNITS) / SHARE_UNITS)
        rows = np.flatnonzero(ends > rounded)
        centres, lengths = points[rows].copy(), sizes[rows].copy()
        cut = (share[rows] < 1) & np.isfinite(bench[rows])
        base, half = bench[rows][cut], dz[rows][cut] / 2
        middle, top = z[rows][cut], (np.rint(base / height) + 1) * height
        low, high = np.maximum(middle - half, base), np.minimum(middle + half, top)
        centres[cut, 2], lengths[cut, 2] = (low + high) / 2, high - low
        part = (ends - rounded)[rows]
        pieces.append(_Pieces(rows, bench[rows], centres, lengths, part))
        rounded = np.maximum(rounded, ends)
    return _Pieces(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


class _Left(NamedTuple):
    """Shares of pieces that are left in one domain, at the start and after each period.

    Attributes
    ----------
    ground : (periods + 1, m) float64
        What is left.
    design : (periods + 1, m) float64, optional
        What is left of it inside the design.
    """

    ground: Floats
    design: Floats | None

    @property
    def parts(self) -> list[Floats]:
        """The shares of the parts of the ground, in the order of `Ground.parts`."""
        mined = self.ground[:-1] - self.ground[1:]
        parts = [self.ground[0], *mined, self.ground[0] - self.ground[-1], self.ground[-1]]
        if self.design is not None:
            over = mined - (self.design[:-1] - self.design[1:])
            parts += [self.design[0], *over, over.sum(axis=0), self.design[-1]]
        return parts


def portion(left: Floats, target: Floats) -> Floats:
    """Return `target`, adjusted to be a part of what is left after each step, (steps, m).

    These shares and the rest of `left` are at least 0 and never increase, so rounding cannot mine
    ground twice.
    """
    part = np.empty_like(target)
    part[0] = np.clip(target[0], 0.0, left[0])
    for step in range(1, len(target)):
        mined = left[step - 1] - left[step]
        least = np.maximum(part[step - 1] - mined, 0.0)
        part[step] = np.clip(target[step], least, np.minimum(part[step - 1], left[step]))
    return part


def _refuse_existing(model: BlockFile, columns: Iterable[str]) -> None:
    """Raise TableError if the model has one of the new columns, as after an earlier depletion."""
    existing = {plain_name(name): name for name in model.columns}
    for name in columns:
        if plain_name(name) in existing:
            message = (
                f"{model.name} already has a column {existing[plain_name(name)]!r}: deplete the "
                "original model with all periods, or rename the column"
            )
            raise TableError(message)


class _Pass:
    """Measures and adds up the blocks of an open model, chunk by chunk."""

    def __init__(
        self,
        model: BlockFile,
        ground: Ground,
        wanted: Wanted,
        settings: LabelSettings,
        *,
        writes: bool,
    ) -> None:
        self._writes, self._model, self._ground = writes, model, ground
        self._wanted = wanted
        refuse_geometry(wanted.density, model.centroid, model.sizes, model.name)
        refuse_commas(wanted.cut, wanted.spelled, model)
        names = [name for name in wanted.columns if name]
        self._places = {name: find_column(model.columns, name, model.name) for name in names}
        self.also = list(dict.fromkeys([*self._places.values(), *model.constants]))
        self._ghosts = bool(getattr(model, "has_ghosts", False))
        self._checks = VolumeChecks(model.axes, times=realisations_of(model.facts()))
        if writes:
            _refuse_existing(model, ground.columns)
        names = [domain.name for domain in ground.domains]
        self._texts: list[str] = [*names, ground.background] if names else []
        self._ledger = Ledger(wanted, ground.parts, self._texts)
        excavations = [ground.initial, *ground.periods, ground.design, *ground.domains]
        self._shares = MinedShares(excavations, model.axes, model.name, settings)
        count = len(ground.periods)
        domains = [
            [count + 2 + place for place in range(number)] for number in range(len(names) + 1)
        ]
        periods = range(1, count + 1)
        self._orders = [[0, *first, *periods] for first in domains]
        if ground.has_design:
            self._orders += [[0, *first, count + 1, *periods] for first in domains]
        self._begun, self._read, self._sampled = False, 0, 0

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[Floats]:
        """Add the blocks of a chunk, and return the columns of their shares, if any are written."""
        model, tonnage = self._model, self._ledger.tonnage
        require_constants(model.constants, column, model.columns, model.name, self._read)
        lengths = require_sizes(self._wanted, sizes, model.frame, model.name)
        if not self._begun:
            refuse_misfit(points, lengths, model.frame, model.name)
            if (model.axes == np.eye(3)).all():
                require_known_turn(points, lengths, model.frame, model.name, "measured")
            self._begun = True
        rows = np.arange(len(points))
        if self._ghosts:
            rows = np.flatnonzero(~np.isnan(points).all(axis=1))
        some, lengths = points[rows], lengths[rows]
        self._checks.add(some, lengths)

        def numbers(name: str) -> Floats:
            return column(self._places[name]).numbers()[rows]

        def classes(texts: list[str]) -> tuple[list[str], Places]:
            texts, codes = column(self._places[self._wanted.classification]).distinct(texts)
            return texts, codes[rows]

        chunk = tonnage.read(lengths, numbers, classes if self._wanted.classification else None)
        tonnage.add_below(lambda name: column(self._places[name]).below_detection())
        codes = self._labels(column, rows)
        columns = [np.full(len(points), np.nan) for _ in self._ground.columns]
        for begin in range(0, len(rows), _TOGETHER):
            part = slice(begin, begin + _TOGETHER)
            shares = self._add_some(some[part], lengths[part], chunk.part(part), codes[part])
            for new, share in zip(columns, shares, strict=True):
                new[rows[part]] = share
            self._read += len(rows[part])
        tonnage.count_all(chunk, np.ones(len(rows), np.bool_))
        return columns if self._writes else []

    def _add_some(self, points: Floats, sizes: Floats, chunk: Chunk, codes: Places) -> list[Floats]:
        """Add some blocks with their domains, and return the columns of their shares."""
        pieces = cut_at_benches(points, sizes, self._wanted.bench, self._read + 1)
        left = self._measure(pieces, len(points))
        count = len(pieces.block)
        labels = [codes[pieces.block]]
        if len(left) > 1:  # wireframes of domains cut blocks
            labels = [np.full(count, number) for number in range(len(left))]
        joined = LabelledPieces(
            np.tile(pieces.block, len(left)),
            np.tile(pieces.bench, len(left)),
            np.concatenate(labels),
        )
        parts = [np.concatenate(shares) for shares in zip(*(p.parts for p in left), strict=True)]
        self._ledger.add(chunk, sizes, self._texts, joined, parts, first=self._read + 1)
        return self._columns(left, pieces, len(points))

    def _labels(self, column: Callable[[int], Column], rows: Places) -> Places:
        """Return the index of the domain of each block, and add new domains to the list."""
        if not self._wanted.domain:
            self._texts = self._texts or [""]
            return np.zeros(len(rows), np.intp)
        place = column(self._places[self._wanted.domain])
        self._texts, codes = self._ledger.tonnage.spelled.distinct(place, self._texts)
        return codes[rows]

    def _measure(self, pieces: _Pieces, count: int) -> list[_Left]:
        """Return what is left of each domain, and of its part in the design, after each step.

        Shares are shares of whole blocks, and not of pieces. Without wireframes of domains, there
        is one domain.
        """
        left, sampled = self._shares.left(pieces.points, pieces.sizes, self._orders)
        self._sampled += int((np.bincount(pieces.block[sampled], minlength=count) > 0).sum())
        rounded = (np.rint(part * pieces.fraction * SHARE_UNITS) / SHARE_UNITS for part in left)
        each = iter(zip(self._orders, rounded, strict=True))
        steps = len(self._ground.periods) + 1
        # What is left outside the first 0, 1, 2, ... domains; then also outside the design.
        outside = [next(each)[1][-steps:] for _ in range(len(self._ground.domains) + 1)]
        beyond = [shares[-steps:] for _, shares in each]
        parts, rest = [], outside[0]
        for number in range(len(outside)):
            last = number == len(outside) - 1
            own = rest if last else portion(rest, outside[number] - outside[number + 1])
            rest = rest - own
            design = None
            if beyond:
                missed = beyond[number] if last else beyond[number] - beyond[number + 1]
                design = portion(own, own - missed)
            parts.append(_Left(own, design))
        return parts

    def _columns(self, left: Sequence[_Left], pieces: _Pieces, count: int) -> list[Floats]:
        """Return the shares of blocks for the new columns; NaN for blocks without a size."""
        ground = self._ground
        whole = [
            sum(shares[1:], shares[0]) for shares in zip(*(p.parts for p in left), strict=True)
        ]
        named = dict(zip(map(str, ground.parts), whole, strict=True))
        wanted = [str(Part(MINED, period.name)) for period in ground.periods] + [REMAINING]
        wanted = [IN_SITU, *wanted] if ground.has_initial else wanted
        wanted += [OVERBREAK, UNDERBREAK] if ground.has_design else []
        return [np.bincount(pieces.block, named[name], count).astype(np.float64) for name in wanted]

    def conclude(self) -> None:
        """Warn about doubtful blocks and values; raise TableError if nothing is mined."""
        totals = self._ledger.rows("totals")
        names = [period.name for period in self._ground.periods]
        blocks = {
            row.period: row.amounts.blocks
            for row in totals
            if row.part == MINED and row.amounts.cutoff is None
        }
        if self._read and not blocks[""]:
            message = (
                f"nothing of {self._model.name} is mined: no block is inside the solids or above "
                "the surfaces of the periods; compare their coordinates with 'geodomain inspect'"
            )
            raise TableError(message)
        for name in names if self._read else ():
            if not blocks[name]:
                warn(f"{name} mines nothing that was left in the blocks")
        if self._sampled:
            warn(
                f"{counted(self._sampled, 'block')} sampled along {LINES} x {LINES} vertical "
                "lines, because triangles cross or fold there, or many wireframes meet; the "
                f"estimated error of the volume mined is {self._error():.3g}"
            )
        for sentence in (*self._checks.warnings(), *tonnage_warnings(self._ledger.tonnage)):
            warn(sentence)
        require_balance(totals)

    def _error(self) -> float:
        """Return the estimated error of the volume mined."""
        return self._shares.estimated_error(self._orders[0])

    def result(
        self,
        warned: tuple[str, ...],
        output: str | None,
        surfaces: Sequence[CutAndFill],
        remarks: Sequence[str],
    ) -> Depletion:
        """Return the sums of all blocks, with cut and fill between surfaces, and notes."""
        rows = self._ledger.rows("rows")
        require_balance(rows)
        wanted, notes = self._wanted, [*remarks, *self._ledger.notes()]
        first = self._ground.periods[0]
        if not self._ground.has_initial and first.surfaces:
            notes.append(
                f"without initial=, all ground above the surface of {first.name} is mined in "
                f"{first.name}"
            )
        return Depletion(
            rows=rows,
            domains=self._ledger.rows("domains"),
            totals=self._ledger.rows("totals"),
            periods=tuple(period.name for period in self._ground.periods),
            columns=tuple(self._ground.columns),
            blocks=self._read,
            column=wanted.domain,
            bench=wanted.bench,
            cutoff_grade=wanted.cut,
            classification=wanted.classification,
            sampled=self._sampled,
            estimated_error=self._error(),
            surfaces=tuple(surfaces),
            warnings=warned,
            notes=tuple(notes),
            output=output,
        )
