"""Find where the segments of a table, or of raw files, cross a surface."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Coordinates, Floats
from geodomain.errors import PointError, TableError, counted
from geodomain.files.outputs import refuse_inputs, refuse_to_replace, require_places
from geodomain.files.pipeline import ByteSource
from geodomain.files.streams import STANDARD, Target, open_source, open_target
from geodomain.formats.blocks import require_text_name
from geodomain.formats.registry import kind_of, other_formats_named
from geodomain.inputs import MeshLike, PathGiven, as_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.query.raw_files import (
    CHUNK,
    ArrayWriter,
    RawSegments,
    open_segments,
    read_raw_mesh,
    written_together,
)
from geodomain.query.segments import WORDS, Answer, Hits, Mode, SegmentIntersector, Segments
from geodomain.result_tables import html_table, records_frame
from geodomain.settings import BackendName
from geodomain.tables.dialect import DELIMITERS, UTF8_MARK, cell_text, require_text, split_rows
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import Missing
from geodomain.tables.text import Column, Splice, StreamSummary, lines_of, relabel
from geodomain.tables.vendors import listed, plain_name

if TYPE_CHECKING:
    import pandas

MODES: dict[str, Mode] = {**WORDS, "all": "all"}


@dataclass
class HitTally:
    """Running counts for a stream of segments: how many were read, and how many cross a surface.

    Attributes
    ----------
    segments : int
        Segments so far.
    crossing : int
        Segments that cross the surface.
    crossings : int
        Crossings. Modes that find only the first crossing count at most one for each segment.
    missing : int
        Segments with a missing coordinate. Such segments cross nothing.
    """

    segments: int = 0
    crossing: int = 0
    crossings: int = 0
    missing: int = 0

    def ask(
        self,
        intersector: SegmentIntersector,
        starts: Coordinates,
        ends: Coordinates,
        mode: str,
        name: str,
        *,
        out: Floats | None = None,
    ) -> Answer:
        """Intersect the next segments in a mode of `MODES`, and add to the counts.

        ``out`` is as for `Segments`.

        Raises
        ------
        PointError
            For an end that is infinite or out of range. The message counts rows from the start of
            the stream.
        """
        try:
            with Segments(
                starts, ends, threads=intersector.threads, first_row=self.segments, out=out
            ) as segments:
                answer = intersector.intersect(segments, mode=MODES[mode])
                self.missing += segments.missing
        except PointError as error:
            message = f"{name}: {error}"
            raise PointError(message) from None
        self.segments += len(starts)
        if isinstance(answer, Hits):
            # Hits are sorted, so a segment begins where the number changes.
            self.crossing += int(np.count_nonzero(np.diff(answer.segment, prepend=-1)))
            self.crossings += len(answer)
        else:
            crossing = int(np.count_nonzero(answer))
            self.crossing += crossing
            self.crossings += crossing if answer.dtype == np.bool_ else int(answer.sum())
        return answer

    def as_dict(self) -> dict[str, int]:
        """Return the four counts, keyed by attribute, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class IntersectionSummary:
    """Result of `intersect_file`; `str` prints it in a few lines.

    Attributes
    ----------
    mode : str
        The mode, by the name that output files use: "barycentric" instead of "nearest", and
        "intercept_count" instead of "count".
    triangles : int
        Triangles of the surface.
    outputs : tuple of str
        The files that were written; none for stdout.
    segments, crossing, crossings, missing : int
        The counts of `HitTally`: segments, segments that cross the surface, crossings, and
        segments with a missing coordinate.
    backend, backend_reason : str
        Where the crossings were computed ("cpu" or "cuda"), and the reason.
    seconds : float
        Time taken, including reading and writing.
    """

    mode: str
    triangles: int
    outputs: tuple[str, ...]
    segments: int
    crossing: int
    crossings: int
    missing: int
    backend: str
    backend_reason: str
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """Return the attributes as numbers, strings and lists, ready for JSON."""
        return asdict(self) | {"outputs": list(self.outputs)}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the summary as one row, so that the rows of several files can be joined."""
        return records_frame(IntersectionSummary, [self])

    def __str__(self) -> str:
        """Return the counts, the time and the backend as a few lines."""
        lines = [
            f"{self.crossing:,} of {counted(self.segments, 'segment')} cross a surface of "
            f"{counted(self.triangles, 'triangle')}"
        ]
        if self.mode in ("intercept_count", "all"):
            lines.append(f"crossings: {self.crossings:,}")
        if self.missing:
            lines.append(f"segments without a coordinate, which cross nothing: {self.missing:,}")
        lines.append(f"{self.seconds:.2f} s, {self.backend} ({self.backend_reason})")
        return "\n".join([*lines, *(f"  {output}" for output in self.outputs)])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("segments", f"{self.segments:,}"),
            ("that cross", f"{self.crossing:,}"),
            ("crossings", f"{self.crossings:,}"),
            ("without coordinates", f"{self.missing:,}"),
            ("triangles", f"{self.triangles:,}"),
            ("seconds", f"{self.seconds:.2f}"),
            ("backend", f"{self.backend} ({self.backend_reason})"),
        ]
        return html_table(f"Intersection, {self.mode}", rows, notes=self.outputs)


# Tables of segments: the columns of starts and ends.

Names = tuple[str, str, str]

# Names of the start and the end, after the axis or, for words, before it too.
_MARKS = (("1", "2"), ("0", "1"), ("s", "e"), ("b", "e"))
_WORDS = (
    ("from", "to"),
    ("start", "end"),
    ("begin", "end"),
    ("beg", "end"),
    ("collar", "toe"),
    ("collar", "eoh"),
    ("collar", "end"),
    ("top", "bottom"),
)
_AFTER, _BEFORE = ("{axis}{what}", "{axis}_{what}"), ("{what}{axis}", "{what}_{axis}")
_AXES = (
    ("x", "y", "z"),
    ("east", "north", "rl"),
    ("east", "north", "z"),
    ("east", "north", "elevation"),
    ("easting", "northing", "rl"),
    ("easting", "northing", "z"),
    ("easting", "northing", "elevation"),
)

_HEAD_ROWS = 100  # rows that are searched for the header, as for block models


def _named(form: str, axes: Names, what: str) -> Names:
    x, y, z = (form.format(axis=axis, what=what) for axis in axes)
    return x, y, z


FAMILIES: tuple[tuple[Names, Names], ...] = tuple(
    (_named(form, axes, start), _named(form, axes, end))
    for axes in _AXES
    for calls, forms in ((_MARKS, _AFTER), (_WORDS, (*_AFTER, *_BEFORE)))
    for start, end in calls
    for form in forms
)


_NO_OPTIONS = TableOptions()


def read_segment_layout(
    head: bytes,
    options: TableOptions = _NO_OPTIONS,
    *,
    start: Names | None = None,
    end: Names | None = None,
    name: str = "table",
    whole: bool = True,
) -> TableLayout:
    r"""Find the columns of a table of segments, from the first bytes of the file.

    Parameters
    ----------
    head : bytes
        The first bytes of the file; a megabyte is plenty.
    options : TableOptions
        Delimiter, decimal mark, missing values and encoding.
    start, end : tuple of 3 str, optional
        Names of the three columns of starts, and of the three columns of ends. Give both or
        neither. By default known names are recognised.
    name : str
        Name of the file in error messages.
    whole : bool
        Whether `head` holds the whole file.

    Returns
    -------
    TableLayout
        ``xyz`` holds the columns of starts, and ``sizes`` the columns of ends.

    Raises
    ------
    TableError
        If the header is missing or ambiguous, or a column is named twice.

    Examples
    --------
    >>> layout = read_segment_layout(b"hole,x1,y1,z1,x2,y2,z2\nA,0,0,9,0,0,-9\n")
    >>> layout.xyz, layout.sizes
    ((1, 2, 3), (4, 5, 6))
    """
    with other_formats_named(head, name):
        require_text(head, name)
        if start is None or end is None:
            start, end = _find(head, options.delimiter, options.encoding, name, whole=whole)
        _require_six([*start, *end], name)
        x, y, z = start
        dx, dy, dz = end
        columns = options._replace(x=x, y=y, z=z, dx=dx, dy=dy, dz=dz)
        return read_layout(head, columns, name=name, whole=whole)


def read_segments(
    source: ByteSource,
    layout: TableLayout,
    visit: Callable[[Floats, Floats], None],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> StreamSummary:
    """Read a table of segments and call `visit` with each batch of rows.

    Parameters
    ----------
    source : binary file
        The table from its first byte.
    layout : TableLayout
        Result of `read_segment_layout`.
    visit : callable
        Takes the starts and ends of the next rows, shape (n, 3), NaN where missing.
    threads : int, optional
        Number of reading threads.
    progress : callable, optional
        Called with the bytes done and the total, which is None if unknown.

    Returns
    -------
    StreamSummary

    Raises
    ------
    TableError
        For the first row that cannot be read; the message gives the line and a remedy.
    """

    def label(starts: Floats, ends: Floats | None, _: object) -> tuple[()]:
        if ends is not None:
            visit(starts, ends)
        return ()

    nothing = Splice(head=(), vocabulary=())
    return relabel(source, None, layout, nothing, label, threads=threads, progress=progress)


def _find(
    head: bytes, delimiter: bytes | None, encoding: str, table: str, *, whole: bool
) -> tuple[Names, Names]:
    """Return the names of the columns of starts and of ends.

    They come from the first row that contains a complete set of known names.
    """
    header: tuple[str, ...] = ()
    for names in _rows_of_names(head, delimiter, encoding, whole=whole):
        plain = {plain_name(name) for name in names}
        families = [each for each in FAMILIES if plain.issuperset((*each[0], *each[1]))]
        if len(families) > 1:
            sets = "; ".join(", ".join((*start, *end)) for start, end in families)
            message = (
                f"{table} has more than one set of columns for segments ({sets}); choose with "
                "start= and end=."
            )
            raise TableError(message)
        if families:
            return families[0]
        header = max(header, names, key=len)
    message = (
        f"{table} lacks the six columns of segment starts and ends, such as x1, y1, z1, x2, y2, "
        f"z2; {listed(header)} Name them with start=('X', 'Y', 'Z') and end=('X', 'Y', 'Z')."
    )
    raise TableError(message)


def _rows_of_names(
    head: bytes, delimiter: bytes | None, encoding: str, *, whole: bool
) -> list[tuple[str, ...]]:
    """Return the cells of the first rows as text, split by each delimiter in turn."""
    begin = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    return [
        tuple(cell_text(cell, encoding) for cell in row.cells)
        for mark in ((delimiter,) if delimiter else DELIMITERS)
        for row in islice(split_rows(head, mark, begin, whole=whole), _HEAD_ROWS)
    ]


def _require_six(names: Sequence[str], table: str) -> None:
    """Raise TableError if a column is named twice, although vertical segments share x and y."""
    plain = [plain_name(name) for name in names]
    for name in names:
        if plain.count(plain_name(name)) > 1:
            message = f"{table}: start= and end= name {name!r} twice; name six different columns."
            raise TableError(message)


# A table of segments in, a table of hits out.

_HITS = ("row", "t", "distance", "x", "y", "z", "triangle", "u", "v")

# Columns of the output in each mode.
COLUMNS = {
    "barycentric": _HITS,
    "all": _HITS,
    "boolean": ("row", "crosses"),
    "intercept_count": ("row", "crossings"),
}


def intersect_table(
    intersector: SegmentIntersector,
    source: ByteSource,
    target: Target,
    layout: TableLayout,
    *,
    mode: str = "barycentric",
    name: str = "table",
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> HitTally:
    """Intersect the segments of a table, and write a table of results.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface.
    source, target : binary file
        The table from its first byte, and the output. The output has the same delimiter and decimal
        mark. Numbers are written with the fewest digits that read back to the same value.
    layout : TableLayout
        Result of `read_segment_layout`.
    mode : {"barycentric", "all", "boolean", "intercept_count"}
        "barycentric" writes a row for each segment that crosses the surface, with its first
        crossing. "all" writes a row for every crossing. "boolean" and "intercept_count" write a row
        for each segment. Rows and triangles are counted from 0.
    name : str
        Name of the table in error messages.
    threads : int, optional
        Number of threads for reading and writing.
    progress : callable, optional
        Called with the bytes done and the total, which is None if unknown.

    Returns
    -------
    HitTally

    Raises
    ------
    TableError
        For the first row that cannot be read.
    PointError
        For a segment with an infinite coordinate, or with one out of range (see `Segments`).
    """
    tally = HitTally()

    def visit(starts: Floats, ends: Floats) -> None:
        first = tally.segments
        answer = tally.ask(intersector, starts, ends, mode, name)
        for lines in lines_of(_columns(answer, first), layout.delimiter, layout.decimal, threads):
            target.write(lines)

    target.write(memoryview(layout.delimiter.join(map(str.encode, COLUMNS[mode])) + b"\n"))
    read_segments(source, layout, visit, threads=threads, progress=progress)
    return tally


def _columns(answer: Answer, first: int) -> tuple[Column, ...]:
    """Return the output columns, in the order of `COLUMNS`.

    `first` is the row number of the first segment of `answer`.
    """
    if not isinstance(answer, Hits):
        return np.arange(first, first + len(answer)), answer.astype(np.int64)
    return (
        answer.segment + first,
        answer.t,
        answer.distance,
        *answer.point.T,
        answer.triangle,
        answer.u,
        answer.v,
    )


# Raw files of segments in, raw files of results out, named as by R. Leung's program.

# That program's t for a segment that crosses nothing; u and v are then 0.
MISS_T = 2.5e8

_RESULTS = {"results_i32": "<i4"}
_RAW_HITS = {
    "intersectTriangle_i32": "<i4",
    "barycentricT_f32": "<f4",
    "barycentricU_f32": "<f4",
    "barycentricV_f32": "<f4",
}

# Output files of each mode, and their number types.
OUTPUTS = {"boolean": _RESULTS, "intercept_count": _RESULTS, "barycentric": _RAW_HITS}


def intersect_files(
    intersector: SegmentIntersector,
    segments: RawSegments,
    folder: Path,
    *,
    mode: str = "boolean",
    overwrite: bool = False,
    chunk: int = CHUNK,
    progress: Callable[[int, int | None], None] | None = None,
) -> HitTally:
    """Intersect the segments of raw files, and write a result for each segment to raw files.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface.
    segments : RawSegments
        Any number of segments: only a chunk is in memory at a time.
    folder : Path
        Folder of the files in `OUTPUTS`. They appear together, or not at all.
    mode : {"boolean", "barycentric", "intercept_count"}
        For each segment, "boolean" writes 1 if it crosses the surface and 0 if not, and
        "intercept_count" writes the number of crossings. "barycentric" writes the triangle of the
        first crossing, and t, u and v as float32. For a segment without a crossing, it writes the
        triangle -1, t = `MISS_T`, u = 0 and v = 0.
    overwrite : bool
        Whether existing files may be replaced.
    chunk : int
        Number of segments in a chunk; the output does not depend on it.
    progress : callable, optional
        Called with the number of segments done and the number of all segments.

    Returns
    -------
    HitTally

    Raises
    ------
    FileExistsError
        If an output file exists and ``overwrite`` is false.
    PointError
        For a segment with an infinite coordinate, or with one out of range (see `Segments`).
    """
    tally, name = HitTally(), f"{segments.starts} and {segments.ends}"
    room = np.empty((min(chunk, len(segments)), 6))  # new memory for each chunk takes time
    with (
        written_together(folder, OUTPUTS[mode], overwrite=overwrite) as files,
        closing(segments.chunks(chunk)) as chunks,
    ):
        for starts, ends in chunks:
            out = room[: len(starts)]
            _write(files, tally.ask(intersector, starts, ends, mode, name, out=out))
            if progress is not None:
                progress(tally.segments, len(segments))
    return tally


def _write(files: dict[str, ArrayWriter], answer: Answer) -> None:
    """Append the results for a chunk of segments to the files."""
    if not isinstance(answer, Hits):
        files["results_i32"].append(answer)
        return
    values: dict[str, tuple[NDArray[np.float64] | NDArray[np.int32], float]] = {
        "intersectTriangle_i32": (answer.triangle, -1),
        "barycentricT_f32": (answer.t, MISS_T),
        "barycentricU_f32": (answer.u, 0.0),
        "barycentricV_f32": (answer.v, 0.0),
    }
    for name, (hit, miss) in values.items():
        column = np.full(answer.segment_count, miss, dtype=_RAW_HITS[name])
        column[answer.segment] = hit
        files[name].append(column)


PathPair = tuple[PathGiven, PathGiven]

_PEEK = 1 << 20  # bytes of a table that are searched for its header
# Names in files for the modes of `geodomain.intersect`.
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
    backend: BackendName = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
) -> IntersectionSummary:
    r"""Find where the segments of a file cross a surface, and write the crossings to a file.

    A table of segments gives a table of crossings. A pair of raw files (starts and ends) gives raw
    files. If an error occurs, no output is written.

    Parameters
    ----------
    surface : mesh-like, or pair of paths
        Open or closed, as for `as_mesh`, which also takes a path. A pair of paths means raw
        little-endian files of vertices (float32 or float64) and triangles (int32, counted from 0).
    segments : path or pair of paths
        A text table with six columns of coordinates ("-" is stdin), or a pair of raw files: starts
        and ends.
    output : path
        For a table, the table of crossings to write ("-" is stdout). For raw files, the folder of
        the results.
    mode : {"boolean", "nearest", "count", "all"}, optional
        As for `intersect`. "barycentric" means "nearest", and "intercept_count" means "count". The
        default is "nearest" for a table, and "boolean" for raw files. Raw files cannot have "all".
    overwrite : bool
        Whether existing outputs may be replaced.
    start, end : tuple of 3 str, optional
        Columns of starts and ends of a table. By default known names are recognised.
    delimiter, decimal, missing, encoding : optional
        Format of a table; as for `label_file`.
    vertex_type, ray_type : {"float32", "float64"}, optional
        Number types of raw files, needed if neither names nor sizes of the files decide.
    backend, threads, progress
        As for `label_file`.

    Returns
    -------
    IntersectionSummary

    Raises
    ------
    FileExistsError
        If an output exists; see ``overwrite``.
    TableError, PointError, MeshError
        For bad data; the message names the file, the row and the remedy. No output remains.
    ValueError
        For an unknown mode.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> _ = (folder / "holes.csv").write_text("x1,y1,z1,x2,y2,z2\n1,2,9,1,2,0\n8,8,9,8,8,0\n")
    >>> summary = geodomain.intersect_file(ground, folder / "holes.csv", folder / "hits.csv")
    >>> summary.crossing, summary.segments
    (1, 2)
    """
    began = time.perf_counter()
    mode = _file_mode(mode, raw=isinstance(segments, tuple))
    options = table_options(
        delimiter=delimiter, decimal=decimal, missing=missing, encoding=encoding
    )
    outputs = _require_outputs(surface, segments, output, mode, overwrite=overwrite)
    mesh = _read_surface(surface, vertex_type)
    with ExitStack() as stack:
        report = stack.enter_context(show_progress(progress, "intersecting"))
        if isinstance(segments, tuple):
            rays = open_segments(Path(segments[0]), Path(segments[1]), ray_type=ray_type)
        else:
            source = stack.enter_context(open_source(segments))
            head = source.peek(_PEEK)
            layout = read_segment_layout(
                head, options, start=start, end=end, name=source.name, whole=len(head) < _PEEK
            )
        intersector = stack.enter_context(
            SegmentIntersector(mesh, backend=backend, threads=threads)
        )
        if isinstance(segments, tuple):
            tally = intersect_files(
                intersector, rays, Path(output), mode=mode, overwrite=overwrite, progress=report
            )
        else:
            with open_target(output, source=source, overwrite=overwrite) as target:
                tally = intersect_table(
                    intersector,
                    source,
                    target,
                    layout,
                    mode=mode,
                    name=source.name,
                    threads=threads,
                    progress=report,
                )
        machine, reason = intersector.machine
    return IntersectionSummary(
        mode=mode,
        triangles=len(mesh.triangles),
        outputs=tuple(map(str, outputs)),
        **tally.as_dict(),
        backend=machine,
        backend_reason=reason,
        seconds=round(time.perf_counter() - began, 3),
    )


def _file_mode(mode: str | None, *, raw: bool) -> str:
    """Return the name of a mode in output files; raise an error if they cannot have the mode."""
    modes = OUTPUTS if raw else COLUMNS
    name = _FILE_MODES.get(mode, mode) if mode else ("boolean" if raw else "barycentric")
    if name not in modes:
        message = f"mode is {mode!r}; {'raw files' if raw else 'a table'} can have "
        raise ValueError(message + ", ".join(map(repr, modes)))
    return name


def _require_outputs(
    surface: MeshLike | PathPair,
    segments: PathGiven | PathPair,
    output: PathGiven,
    mode: str,
    *,
    overwrite: bool,
) -> list[Path]:
    """Return the output paths; raise an error if one of them cannot be written."""
    inputs = [*_paths_of(surface), *_paths_of(segments)]
    if isinstance(segments, tuple):
        if output == STANDARD:
            message = "the results of raw files go to a folder: give the path of a folder, not -"
            raise ValueError(message)
        outputs = [Path(output) / name for name in OUTPUTS[mode]]
        refuse_inputs(outputs, inputs)
        refuse_to_replace(outputs, overwrite=overwrite)  # a missing folder is made
        return outputs
    outputs = [] if output == STANDARD else [Path(output)]
    for table in (segments, *outputs):  # `formats.blocks` would read other types as blocks
        if kind_of(os.fspath(table)) != "text":
            message = (
                f"{os.fspath(table)} is not a text table: segments are read from a .csv file, and "
                "crossings are written to one"
            )
            raise TableError(message)
    refuse_inputs(outputs, inputs)
    for path in outputs:
        require_text_name(str(path))
    require_places(outputs, overwrite=overwrite)
    return outputs


def _read_surface(surface: MeshLike | PathPair, vertex_type: str | None) -> Mesh:
    """Return the surface as a mesh. If it is given as a file or a pair of files, read it."""
    files = _paths_of(surface)
    if len(files) == 2:
        return read_raw_mesh(*files, vertex_type=vertex_type)
    return as_mesh(cast(MeshLike, surface))


def _paths_of(data: MeshLike | PathGiven | PathPair) -> list[Path]:
    """Return the paths of an input: none for a mesh in memory, one for a file, two for a pair."""
    parts = data if isinstance(data, tuple) else (data,)
    return [Path(part) for part in parts if isinstance(part, str | os.PathLike)]
