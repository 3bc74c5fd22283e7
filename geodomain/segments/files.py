"""Where segments in files cross a surface: a table to a table, or raw files to raw files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

from geodomain.errors import TableError
from geodomain.inputs.kinds import MeshLike
from geodomain.inputs.meshes import as_mesh
from geodomain.inputs.paths import PathGiven
from geodomain.io.blocks.model import require_text_name
from geodomain.io.blocks.signs import kind_of
from geodomain.io.files.atomic import refuse_to_replace
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.sources import Source, open_source
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.streams import open_target
from geodomain.io.header.keywords import Missing, table_options
from geodomain.io.header.layout import TableLayout
from geodomain.io.header.options import TableOptions
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import WORDS
from geodomain.segments.raw.reading import open_segments, read_raw_mesh
from geodomain.segments.raw_hits import OUTPUTS, intersect_files
from geodomain.segments.summary import IntersectionSummary
from geodomain.segments.table import Names, read_segment_layout
from geodomain.segments.table_hits import COLUMNS, intersect_table
from geodomain.segments.tally import HitTally

PathPair = tuple[PathGiven, PathGiven]

# The head of a table is looked for in so many bytes.
_PEEK = 1 << 20
# What `geodomain.intersect` calls the modes of files.
_FILE_MODES: dict[str, str] = {mode: word for word, mode in WORDS.items()}


def intersect_file(
    surface: MeshLike | PathPair,
    segments: PathGiven | PathPair,
    output: PathGiven,
    *,
    mode: str | None = None,
    overwrite: bool = False,
    start: Names | None = None,
    end: Names | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Missing = (),
    encoding: str = "utf-8",
    vertex_type: str | None = None,
    ray_type: str | None = None,
    backend: str = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
) -> IntersectionSummary:
    r"""Find where the segments of a file cross a surface, and write it to another.

    A table of segments gives a table of hits; a pair of raw files, of starts and of ends, gives
    raw files. All outputs appear whole or not at all.

    Parameters
    ----------
    surface : mesh-like, or pair of paths
        Open or closed, as for `as_mesh`, a path included; a pair of paths is raw little-endian
        vertices (float32 or float64) and triangles (int32, from 0).
    segments : path or pair of paths
        A table of text with six columns for the ends ("-" is stdin), or raw starts and ends.
    output : path
        The table of hits ("-" is stdout), or for raw files the folder of the results.
    mode : {"boolean", "nearest", "count", "all"}, optional
        As for `intersect`; files have "barycentric" and "intercept_count" for "nearest" and
        "count", and those words are taken too. The default is "nearest" for a table and
        "boolean" for raw files, which have no "all".
    overwrite : bool
        Whether outputs that are there may be replaced.
    start, end : tuple of 3 str, optional
        Columns of a table; found by their names otherwise.
    delimiter, decimal, missing, encoding : optional
        Of a table; as for `label_file`.
    vertex_type, ray_type : {"float32", "float64"}, optional
        Numbers in raw files, where neither their names nor their sizes tell.
    backend, threads, progress
        As for `label_file`.

    Returns
    -------
    IntersectionSummary

    Raises
    ------
    FileExistsError
        If an output is there already; see ``overwrite``.
    TableError, PointError, MeshError
        For bad data, with the file, the row and the remedy. Nothing is left behind.
    ValueError
        For a mode that there is not.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> _ = (folder / "holes.csv").write_text("x1,y1,z1,x2,y2,z2\n1,2,9,1,2,0\n8,8,9,8,8,0\n")
    >>> found = geodomain.intersect_file(ground, folder / "holes.csv", folder / "hits.csv")
    >>> found.crossing, found.segments
    (1, 2)
    """
    began = time.perf_counter()
    raw = isinstance(segments, tuple)
    said = _file_mode(mode, raw=raw)
    text = table_options(delimiter=delimiter, decimal=decimal, missing=missing, encoding=encoding)
    outputs = _require_outputs(surface, segments, output, said, overwrite=overwrite)
    mesh = _read_surface(surface, vertex_type)
    with ExitStack() as stack:
        report = stack.enter_context(show_progress(progress, "intersecting"))
        ask: Callable[[SegmentIntersector], HitTally]
        if isinstance(segments, tuple):
            rays = open_segments(Path(segments[0]), Path(segments[1]), ray_type=ray_type)
            ask = partial(
                intersect_files,
                segments=rays,
                folder=Path(output),
                mode=said,
                overwrite=overwrite,
                progress=report,
            )
        else:
            source = stack.enter_context(open_source(segments))
            ask = partial(
                _intersect_text,
                source=source,
                layout=_layout(source, start, end, text),
                output=output,
                mode=said,
                overwrite=overwrite,
                threads=threads,
                progress=report,
            )
        intersector = stack.enter_context(
            SegmentIntersector(mesh, backend=backend, threads=threads)
        )
        tally = ask(intersector)
        machine, reason = intersector.machine
    return IntersectionSummary(
        mode=said,
        triangles=len(mesh.triangles),
        outputs=tuple(map(str, outputs)),
        **tally.as_dict(),
        backend=machine,
        backend_reason=reason,
        seconds=round(time.perf_counter() - began, 3),
    )


def _file_mode(mode: str | None, *, raw: bool) -> str:
    """Return the word that files have for a mode."""
    known = OUTPUTS if raw else COLUMNS
    said = _FILE_MODES.get(mode, mode) if mode else ("boolean" if raw else "barycentric")
    if said not in known:
        message = f"mode is {mode!r}; {'raw files' if raw else 'a table'} can have "
        raise ValueError(message + ", ".join(map(repr, known)))
    return said


def _require_outputs(
    surface: MeshLike | PathPair,
    segments: PathGiven | PathPair,
    output: PathGiven,
    mode: str,
    *,
    overwrite: bool,
) -> list[Path]:
    """Return the files that are written; refuse places that cannot be."""
    inputs = [*_surface_files(surface), *_paths(segments)]
    if isinstance(segments, tuple):
        if output == STANDARD:
            message = "raw files go to a folder: give its path, not -"
            raise ValueError(message)
        outputs = [Path(output) / name for name in OUTPUTS[mode]]
        refuse_inputs(outputs, inputs)
        refuse_to_replace(outputs, overwrite=overwrite)  # the folder is made where it is missing
        return outputs
    outputs = [] if output == STANDARD else [Path(output)]
    for table in (segments, *outputs):
        _require_text(os.fspath(table))
    refuse_inputs(outputs, inputs)
    for place in outputs:
        require_text_name(str(place))
    require_places(outputs, overwrite=overwrite)
    return outputs


def _require_text(path: str) -> None:
    """Refuse a table of another kind by its extension; `io.blocks` would read it as blocks."""
    if kind_of(path) != "text":
        message = f"{path}: segments and hits are tables of text; give it as .csv"
        raise TableError(message)


def _paths(given: PathGiven | PathPair) -> list[Path]:
    """Return one path or two as a list."""
    return [Path(one) for one in (given if isinstance(given, tuple) else (given,))]


def _read_surface(surface: MeshLike | PathPair, vertex_type: str | None) -> Mesh:
    """Return the surface, read if it is in files."""
    files = _surface_files(surface)
    if len(files) == 2:
        return read_raw_mesh(*files, vertex_type=vertex_type)
    return as_mesh(cast(MeshLike, surface))


def _surface_files(surface: MeshLike | PathPair) -> list[Path]:
    """Return the files of a surface: none of one in memory, one, or two raw ones."""
    parts = surface if isinstance(surface, tuple) else (surface,)
    return [Path(one) for one in parts if isinstance(one, str | os.PathLike)]


def _layout(
    source: Source, start: Names | None, end: Names | None, text: TableOptions
) -> TableLayout:
    """Work out what the head of the table means."""
    head = source.peek(_PEEK)
    return read_segment_layout(
        head,
        start=start,
        end=end,
        delimiter=text.delimiter,
        decimal=text.decimal,
        missing=(
            *text.missing,
            *text.missing_words,
            *(f"{column}={mark}" for column, mark in text.own_missing),
        ),
        encoding=text.encoding,
        name=source.name,
        whole=len(head) < _PEEK,
    )


def _intersect_text(
    intersector: SegmentIntersector,
    *,
    source: Source,
    layout: TableLayout,
    output: PathGiven,
    mode: str,
    overwrite: bool,
    threads: int | None,
    progress: Progress | None,
) -> HitTally:
    """Ask about the segments of a table, and write the hits."""
    with open_target(output, source=source, overwrite=overwrite) as target:
        return intersect_table(
            intersector,
            source,
            target,
            layout,
            mode=mode,
            name=source.name,
            threads=threads,
            progress=progress,
        )
