"""Label block models in files, and write a record of the run."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from geodomain.checks.blocks import (
    MISSING_OPTION,
    BlockChecks,
    overfull,
    realisations_of,
    summed_realisations,
)
from geodomain.compute.data import Floats
from geodomain.domains.domain import Domain
from geodomain.domains.order import (
    ConditionCounts,
    Domains,
    DomainsLike,
    allowed_rows,
    condition_columns,
)
from geodomain.errors import PointError, TableError, collect_warnings, warn
from geodomain.files.outputs import refuse_inputs, require_places, same_place
from geodomain.files.streams import STANDARD, replaced
from geodomain.files.unchanged import Digest
from geodomain.formats.blocks import (
    BlockFile,
    Destination,
    Relabelling,
    file_of,
    open_model,
    require_page_name,
    require_record_name,
    require_same_kind,
)
from geodomain.formats.cell_file import CellModel
from geodomain.inputs import PathGiven, model_path
from geodomain.labelling.counts import Counts, Tally
from geodomain.labelling.evaluate import BlockLattice, refuse_disjoint
from geodomain.labelling.labeller import Labeller, new_columns, prepare
from geodomain.labelling.settings import FileKeywords, LabelSettings
from geodomain.labelling.sharer import Sharer, frame_of
from geodomain.labelling.summary import Summary, parts_of, summarise
from geodomain.labelling.warnings import exchanged_axes, share_warnings, tally_warnings
from geodomain.labelling.whole_lattice import label_whole
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.settings import read_keywords, recorded, with_keywords
from geodomain.tables.conditions import Column
from geodomain.tables.options import options_among
from geodomain.tables.rotation import (
    azimuth_of,
    frame_of_azimuth,
    refuse_misfit,
    require_constants,
    require_known_turn,
)
from geodomain.tables.settings import TableKeywords
from geodomain.tables.text import NewCells
from geodomain.tables.vendors import find_column


class FileHash(TypedDict):
    """The number of bytes and the SHA-256 of a file."""

    bytes: int
    sha256: str


class PartHashes(TypedDict):
    """A part of a dataset: its name, its number of rows, and hashes of its input and output."""

    part: str
    rows: int
    input: FileHash
    output: FileHash | None


class RunRecord:
    """The record of one run: start time, options, and the files that are read and written.

    Parameters
    ----------
    command : str
        Name of the command or function.
    options : dict
        All options by name, including defaults.
    path : path, optional
        File of the record, if a record is requested.
    page : path, optional
        File of a report that includes the record, written after the run.

    Attributes
    ----------
    inputs : list of Path
        Input files other than the block model. They are hashed only if the record is written.
    parts : list of PartHashes
        Parts of a dataset. They take the place of a table and its output.
    path, page : Path, optional
        Files of the record and of the report.
    source, target : Digest
        Hashes of the bytes that are read from and written to the table; None without a record and
        a report.
    """

    def __init__(
        self,
        command: str,
        options: Mapping[str, object],
        path: str | os.PathLike[str] | None,
        *,
        page: Path | None = None,
    ) -> None:
        self._began, self._clock = datetime.now(UTC), time.perf_counter()
        self._command, self._options = command, options
        self.path = None if path is None else Path(path)
        self.page = page
        self.inputs: list[Path] = []
        self.parts: list[PartHashes] = []
        self.source, self.target = (Digest() if self.path or page else None for _ in range(2))

    @classmethod
    def of(
        cls, record: PathGiven | RunRecord | None, command: str, options: Mapping[str, object]
    ) -> RunRecord:
        """Return `record` itself if it is a RunRecord, else a new one with `record` as its file."""
        return record if isinstance(record, RunRecord) else cls(command, options, record)

    @property
    def seconds(self) -> float:
        """Return the seconds since the run started."""
        return time.perf_counter() - self._clock

    def write(self, model: str, summary: Summary, *, overwrite: bool) -> None:
        """Write the record completely or not at all; do nothing if no record was requested."""
        if self.path is None:
            return
        text = json.dumps(self.as_dict(model, summary), indent=2, default=_plain) + "\n"
        with replaced(self.path, overwrite=overwrite) as file:
            file.write(text.encode())

    def as_dict(self, model: str, summary: Summary) -> dict[str, object]:
        """Return the record as plain values, ready for JSON."""
        from importlib.metadata import version  # importing it loads the parser of e-mail headers

        return {
            "command": self._command,
            "options": self._options,
            "started": self._began.isoformat(timespec="seconds"),
            "versions": {
                "geodomain": version("geodomain"),
                "numpy": version("numpy"),
                "python": platform.python_version(),
                "platform": f"{sys.platform} {platform.machine()}",
            },
            **(self._parts(model) if self.parts else self._table(model, summary)),
            "summary": summary.as_dict(),
        }

    def _table(self, model: str, summary: Summary) -> dict[str, object]:
        """Return the input and output files of a labelled table."""
        output = None if summary.output is None else _file(summary.output, self.target)
        return {"inputs": [_file(model, self.source), *self._others()], "output": output}

    def _parts(self, dataset: str) -> dict[str, object]:
        """Return the input and output files of a labelled dataset."""
        files = {"dataset": dataset, "parts": self.parts}
        return {"inputs": self._others(), "output": None, **files}

    def _others(self) -> list[dict[str, object]]:
        """Return path, size and hash of each input file other than the block model."""
        return [_file(path, Digest.of_file(path)) for path in self.inputs]


def _file(path: str | Path, digest: Digest | None) -> dict[str, object]:
    """Return the path, size and SHA-256 of a file; `digest` is None for an empty file."""
    return {"path": str(path), **hash_of(digest or Digest())}


def hash_of(digest: Digest) -> FileHash:
    """Return the number of bytes and the SHA-256 that a digest has computed."""
    return {"bytes": digest.size, "sha256": digest.hexadecimal}


def hash_of_file(path: Path) -> FileHash:
    """Return the number of bytes and the SHA-256 of a file."""
    return hash_of(Digest.of_file(path))


def _plain(value: object) -> object:
    """Return a value that JSON can store: domains and meshes become their names."""
    if isinstance(value, Domains):
        return [*value.domains, *value.stacks]
    return value.name if isinstance(value, Domain | Mesh) and value.name else str(value)


# --- Labelling of an open block model; its other columns stay unchanged.


def label_table(
    model: BlockFile,
    destination: Destination | None,
    labeller: Labeller,
    settings: LabelSettings,
    *,
    progress: Progress | None = None,
) -> Tally:
    """Label every block of a model, and warn of problems that the counts show.

    Parameters
    ----------
    model : BlockFile
        The block model, opened.
    destination : Destination, optional
        Output; if None, nothing is written.
    labeller : Labeller
        Domains with their indexes.
    settings : LabelSettings
        New columns and other settings.
    progress : callable, optional
        Called with the amount done and the total, or None for an unknown total.

    Returns
    -------
    Tally

    Raises
    ------
    TableError
        If a row is malformed, a new column already exists, or no solid meets the blocks. Whether
        solids meet the blocks is tested after all rows are read, and before the output is put in
        place.

    Warns
    -----
    GeodomainWarning
        If the counts show a problem. The warning comes after all rows are read, and before the
        output is put in place.
    """
    times = realisations_of(model.facts())
    counts = Counts(
        Tally(labeller.targets), BlockChecks(compare=times == 1 and not settings.samples)
    )

    def before_commit() -> None:
        # Warn before the output is put in place, so that a warning raised as an error leaves no
        # output.
        conclude(counts, labeller, settings, model.name, times=times)

    count_table(
        model, destination, labeller, settings, counts,
        progress=progress, before_commit=before_commit,
    )  # fmt: skip
    return counts.tally


def conclude(
    counts: Counts,
    labeller: Labeller,
    settings: LabelSettings,
    name: str,
    *,
    times: int = 1,
) -> None:
    """Warn of problems in the counts of all blocks; raise TableError if no domain meets the blocks.

    Parameters
    ----------
    counts : Counts
        Counts of all blocks.
    labeller, settings
        As for `label_table`.
    name : str
        Name of the model in messages.
    times : int
        Number of realisations; every block occurs in each of them.
    """
    tally, checks = counts.tally, counts.checks
    if not settings.allow_disjoint:
        refuse_disjoint(labeller.targets, tally.bounds, name)
    parts = parts_of(labeller.targets, tally, settings)
    for sentence in tally_warnings(labeller.domains, tally, parts):
        warn(sentence)
    for sentence in checks.warnings(mend=MISSING_OPTION):
        warn(sentence)
    if tally.shares is not None:
        _require_boxes(tally, name)
        for sentence in share_warnings(settings, tally.shares, labeller.targets):
            warn(sentence)
    for sentence in summed_realisations(times):
        warn(sentence)
    if not settings.samples:
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
    settings: LabelSettings,
    counts: Counts,
    *,
    progress: Progress | None = None,
    before_commit: Callable[[], None] = lambda: None,
) -> None:
    """Label every block of a model, and add the blocks to `counts`.

    `before_commit` is called when all blocks are counted, before the output is put in place.
    """
    tally, checks, samples = counts.tally, counts.checks, settings.samples
    sharer = _sharer(labeller, model, settings)
    tally.shares = None if sharer is None else sharer.tally
    fields = condition_columns(labeller.domains, model.columns, model.name)
    label_column = _existing_labels(labeller, model, settings)
    edges = None if (model.axes == np.eye(3)).all() else model.axes
    begun = False
    lattice = _lattice(model, settings)

    def label(
        points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[NewCells]:
        nonlocal edges, begun
        require_constants(model.constants, column, model.columns, model.name, tally.rows)
        if not begun and not samples:
            edges = _edges(model, points, sizes, measured=sharer is not None)
        begun = True
        seen = ConditionCounts()
        allowed = allowed_rows(labeller.domains, lambda named: column(fields[named]), seen)
        labelled = None if label_column is None else column(label_column).present()
        try:
            verdict = labeller.label(points, allowed, labelled, lattice)
        except PointError as error:
            message = f"{model.name}, in the chunk that starts at block {tally.rows + 1}: {error}"
            raise PointError(message) from None
        shares: Sequence[Floats] = ()
        if sharer is not None:
            lengths = _required(sizes, model)
            measured = sharer.measure(points, lengths, verdict, allowed, labelled)
            verdict = replace(verdict, codes=measured.codes)
            shares = [*(100.0 * measured.shares if settings.percent else measured.shares)]
        tally.add(points, sizes, verdict, allowed, edges, seen)
        checks.add(points, None if samples else sizes, verdict.box, edges)
        flags = verdict.table("inside").astype(np.int32) if settings.flags else ()
        unsure = [verdict.uncertain.astype(np.int32)] if settings.uncertain else []
        return [verdict.codes, *flags, *unsure, *shares]

    task = Relabelling(
        label,
        new_columns(settings, labeller.targets),
        destination,
        also=sorted(
            {*fields.values(), *model.constants, *([] if label_column is None else [label_column])}
        ),
        replace=settings.replace,
        threads=settings.threads,
        progress=progress,
        before_commit=before_commit,
        codes=None
        if samples or label_column is not None
        else _codes_of_lattice(model, labeller, settings, tally, progress),
    )
    model.relabel(task)


def _edges(
    model: BlockFile, points: Floats, sizes: Floats | None, *, measured: bool
) -> Floats | None:
    """Return the directions of the block edges; None if they are along the world axes.

    Raise an error if the first blocks contradict the caller's frame. If proportions are computed
    (`measured`), also raise an error if the blocks look rotated but the caller gave no rotation.
    """
    refuse_misfit(points, sizes, model.frame, model.name)
    if (model.axes != np.eye(3)).any():
        return model.axes
    if sizes is None:
        return None
    if measured:
        require_known_turn(points, sizes, model.frame, model.name, "measured")
    azimuth = azimuth_of(points, sizes) if model.frame.lattice is None else 0.0
    return np.array(frame_of_azimuth(azimuth).matrix).T if azimuth else None


def _lattice(model: BlockFile, settings: LabelSettings) -> BlockLattice | None:
    """Return the lattice of most blocks; None for rotated models and for samples."""
    if settings.samples or (model.axes != np.eye(3)).any():
        return None
    if not isinstance(model, CellModel):
        return BlockLattice.inferred(threads=settings.threads)
    if model.lattice is None:
        return None
    return BlockLattice.of_axes(model.lattice.centres, threads=settings.threads)


def _codes_of_lattice(
    model: BlockFile,
    labeller: Labeller,
    settings: LabelSettings,
    tally: Tally,
    progress: Progress | None,
) -> list[NewCells] | None:
    """Label all cells of a lattice at once; None if they must be labelled block by block."""
    if settings.measures or not isinstance(model, CellModel) or model.lattice is None:
        return None
    codes = label_whole(model.lattice, labeller, tally, flags=settings.flags, progress=progress)
    if codes is None:
        return None
    unsure = [np.zeros(len(codes[0]), np.uint8)] if settings.uncertain else []
    return [*codes, *unsure]


def _sharer(labeller: Labeller, model: BlockFile, settings: LabelSettings) -> Sharer | None:
    """Return the object that measures proportions; None for samples or if none are needed."""
    if settings.samples or not settings.measures:
        return None
    if not model.sizes and not isinstance(model, CellModel):
        _required(None, model)
    return Sharer(labeller, frame_of(labeller, model.axes, model.name), settings)


def _required(sizes: Floats | None, model: BlockFile) -> Floats:
    """Return the sizes of blocks; raise TableError if the model has no sizes."""
    if sizes is None:
        message = (
            f"{model.name} has no block sizes, but proportions need them: give dx=, dy= and dz=, "
            "as columns or numbers"
        )
        raise TableError(message)
    return sizes


def _require_boxes(tally: Tally, name: str) -> None:
    """Raise TableError if proportions were computed but no block is a box with sizes."""
    if tally.unsized and not tally.volumes.any():
        message = (
            f"no block of {name} is a box with sizes above 0, but proportions need boxes: "
            "correct the sizes, or name other size columns with dx=, dy= and dz=. Skewed "
            "cells have no sizes: give a model with skewed cells as a lattice, or as a table of "
            "centroids and sizes with frame=, such as frame='z=30'"
        )
        raise TableError(message)


def _existing_labels(labeller: Labeller, model: BlockFile, settings: LabelSettings) -> int | None:
    """Return the index of the label column if it is replaced and some domains keep its labels.

    Otherwise return None.
    """
    if not settings.replace or not any(domain.keep for domain in labeller.domains):
        return None
    return find_column(model.columns, settings.column, model.name)


# --- Labelling of a block-model file.

_IN_MEMORY = (
    "use label_blocks for a table in memory, label_grid for a grid, label_points for points"
)


@with_keywords(LabelSettings, FileKeywords, table=TableKeywords)
def label_file(
    model: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None,
    *,
    overwrite: bool = False,
    record: PathGiven | RunRecord | None = None,
    progress: Progress | bool = False,
    **keywords: Unpack[FileKeywords],
) -> Summary:
    r"""Label a block model in a file by the domains that contain its blocks, and write the result.

    The output has the model's format and one more column. In a text table all other bytes stay the
    same. The column is a cell array in a VTK data set, an attribute in an OMF file of the same
    version, referenced data in a geoh5 workspace, a field in a Datamine table, and a column of
    codes in GSLIB. A GOCAD Voxet is the exception: its output has the format of the output's
    extension, which is .csv, .parquet, .vti, .vtu, .omf or .geoh5. From text or a sheet of Excel,
    an output that ends in .xlsx is a workbook of one sheet with the same cells; from a sheet, the
    output may also be text. The output is written completely or not at all.

    Parameters
    ----------
    model : path
        Text (.csv, .csv.gz, ..), Parquet, VTK, OMF, geoh5, Datamine, GSLIB or a GOCAD Voxet,
        recognised by content; "-" is text on stdin. ``FILE:NAME`` selects one of several models, or
        a sheet of an Excel workbook.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        Domains; the first domain that contains a block labels it. A mapping gives each name a mesh
        or the path of a mesh file, or several of these as a union: ``{"ORE": "ore.stl"}``. A path
        instead of a mapping is a TOML file: see `read_domains`.
    output : path or None
        The file to write; "-" is stdout. None labels and counts without writing. With
        ``overwrite``, it may be the model itself, which is then changed in place.
    overwrite : bool
        Whether an existing output or record may be replaced.
    record : path, optional
        Where to write a record of the run as JSON: command, inputs with their hashes, results.
    progress : bool or callable
        True shows progress on stderr. A function is called with the amount done and the total,
        or None for an unknown total.
    **settings
    **table
        Settings for reading the file, if its header is not enough.

        - ``x``, ``y``, ``z``, ``dx``, ``dy``, ``dz``: names of columns.
        - ``missing``: the value of a missing coordinate, such as ``-99`` or ``[-99, "NA"]``.
        - ``position``: "centroid" or "corner".
        - ``rotation``, such as "z=30", with ``origin`` and ``local_origin``, three numbers each:
          for local coordinates.
        - ``frame``, such as "z=30": for world coordinates of rotated blocks.
        - ``delimiter``, ``decimal`` and ``encoding``: for text.
        - ``gslib_grid``: for a GSLIB file, "NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ" with the centre of the
          first cell.
        - ``points_are_middles``: in a table with FROM and TO, the coordinates are midpoints, even
          if they are the same for a whole hole.

    Returns
    -------
    Summary
        Counts, volumes, overlaps and warnings; ``print`` it.

    Raises
    ------
    FileExistsError
        If the output or record exists; see ``overwrite``.
    OSError
        If a file cannot be read or written.
    MeshError, DomainError, TableError, PointError
        If data is invalid; the message gives the file, the position and the remedy. No output is
        left.
    DeviceError
        If the backend cannot be used.
    ValueError
        If options contradict each other.
    TypeError
        If `model` is not a path; use `label_blocks` for a table in memory.

    Warns
    -----
    GeodomainWarning
        For each warning of the summary, before the output is put in place. If a filter turns a
        warning into an error, no output is left.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z,AU\n1,1,1,2.5\n9,9,9,0.1\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_file(folder / "blocks.csv", {"ORE": ore}, folder / "labelled.csv")
    <Summary of 2 rows: ORE 1, background 1, unassigned 0>
    >>> (folder / "labelled.csv").read_text().split()
    ['X,Y,Z,AU,domain', '1,1,1,2.5,ORE', '9,9,9,0.1,']
    """
    arguments = recorded(LabelSettings, FileKeywords, locals(), keywords)
    arguments["table"] = {n: v for n, v in keywords.items() if n not in arguments}
    run = RunRecord.of(record, "label_file", arguments)
    call_settings = read_keywords(LabelSettings, keywords, FileKeywords)
    options, source = options_among(keywords), model_path(model, _IN_MEMORY)
    target = None if output is None else os.fspath(output)
    if target == source != STANDARD:  # in place, FILE:NAME writes FILE
        target = str(file_of(source))
    outputs = _require_outputs(source, target, run, overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "labelling") as report:
        ready = prepare(domains, call_settings)
        refuse_inputs(outputs, ready.source.files)
        run.inputs.extend(ready.source.files)
        with open_model(source, options, digest=run.source) as opened:
            destination = _destination(source, target, run, overwrite=overwrite)
            tally = label_table(
                opened, destination, ready.labeller, ready.settings, progress=report
            )
    summary = summarise(
        ready.labeller,
        tally,
        ready.settings,
        seconds=run.seconds,
        columns=ready.columns,
        output=target,
        welds=ready.source.welds,
        warnings=warned,
        earlier=ready.source.notes,
    )
    run.write(str(file_of(source)), summary, overwrite=overwrite)
    return summary


def _require_outputs(
    source: str, target: str | None, run: RunRecord, *, overwrite: bool
) -> list[Path]:
    """Return the files to write, including record and report; raise an error for wrong paths."""
    written = [] if target is None or target == STANDARD else [Path(target)]
    if target is not None:
        require_same_kind(source, target)
    beside = [path for path in (run.path, run.page) if path is not None]
    refuse_inputs(beside, [] if source == STANDARD else [file_of(source)])
    written += beside
    require_places(written, overwrite=overwrite)
    if run.path is not None:
        require_record_name(str(run.path))
    if run.page is not None:
        require_page_name(str(run.page))
    return written


def _destination(
    source: str, target: str | None, run: RunRecord, *, overwrite: bool
) -> Destination | None:
    """Return where the output is written, which may be the model itself; None for no output."""
    if target is None:
        return None
    streamed = STANDARD in (source, target)
    in_place = overwrite and not streamed and same_place(file_of(source), target)
    return Destination(target, overwrite, in_place, run.target)
