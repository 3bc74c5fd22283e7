"""Tables of segments: which six columns are their starts and ends, and reading them in chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.csv.chunks import Progress
from geodomain.io.csv.stream import Splice, StreamSummary, relabel
from geodomain.io.files.pipeline import ByteSource
from geodomain.io.header.dialect import DELIMITERS, cell_text, split_rows
from geodomain.io.header.encoding import UTF8_MARK, require_text
from geodomain.io.header.families import listed, plain_name
from geodomain.io.header.keywords import table_options
from geodomain.io.header.layout import TableLayout, read_layout
from geodomain.io.header.options import TableOptions

Names = tuple[str, str, str]
Floats = NDArray[np.float64]

# What the start and the end of a segment are called, after the axis or, in words, before it.
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

_HEAD_ROWS = 100  # as far down as the header of a block model is looked for


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


def read_segment_layout(
    head: bytes,
    *,
    start: Names | None = None,
    end: Names | None = None,
    delimiter: bytes | None = None,
    decimal: bytes | None = None,
    missing: Sequence[float | str] = (),
    encoding: str = "utf-8",
    name: str = "table",
    whole: bool = True,
) -> TableLayout:
    r"""Work out what the head of a table of segments means.

    Parameters
    ----------
    head : bytes
        The first bytes of the file; a megabyte is plenty.
    start, end : tuple of 3 str, optional
        Names of the columns, both or neither; found by what they are called otherwise.
    delimiter : bytes, optional
        One of ``, ; tab |``.
    decimal : bytes, optional
        Point or comma.
    missing : sequence of float or str
        What means that a coordinate is missing, besides nothing and NaN.
    encoding : str
        Of the names.
    name : str
        What error messages call the file.
    whole : bool
        Whether `head` is all there is.

    Returns
    -------
    TableLayout
        Starts are its ``xyz`` and ends its ``sizes``.

    Raises
    ------
    TableError
        Where the header is missing or ambiguous, or two ends share a column.

    Examples
    --------
    >>> layout = read_segment_layout(b"hole,x1,y1,z1,x2,y2,z2\nA,0,0,9,0,0,-9\n")
    >>> layout.xyz, layout.sizes
    ((1, 2, 3), (4, 5, 6))
    """
    require_text(head, name)
    if start is None or end is None:
        start, end = _find(head, delimiter, encoding, name, whole=whole)
    _require_six([*start, *end], name)
    x, y, z = start
    dx, dy, dz = end
    marks = table_options(missing=missing)
    options = TableOptions(
        x=x,
        y=y,
        z=z,
        dx=dx,
        dy=dy,
        dz=dz,
        delimiter=delimiter,
        decimal=decimal,
        missing=marks.missing,
        missing_words=marks.missing_words,
        own_missing=marks.own_missing,
        encoding=encoding,
    )
    return read_layout(head, options, name=name, whole=whole)


def read_segments(
    source: ByteSource,
    layout: TableLayout,
    visit: Callable[[Floats, Floats], None],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> StreamSummary:
    """Read a table of segments and have each chunk of its rows visited.

    Parameters
    ----------
    source : binary file
        The table from its first byte.
    layout : TableLayout
        Of `read_segment_layout`.
    visit : callable
        Gets the starts and ends of the next rows, shape (n, 3), NaN where missing.
    threads : int, optional
        How many threads read.
    progress : callable, optional
        Called with bytes done and bytes in all, or None where that is not known.

    Returns
    -------
    StreamSummary

    Raises
    ------
    TableError
        For the first row that cannot be read, with its line and the way to mend it.
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
    """Find the family whose six names stand in one row."""
    likely: tuple[str, ...] = ()
    for names in _rows_of_names(head, delimiter, encoding, whole=whole):
        plain = {plain_name(name) for name in names}
        found = [family for family in FAMILIES if plain.issuperset((*family[0], *family[1]))]
        if len(found) > 1:
            sets = "; ".join(", ".join((*start, *end)) for start, end in found)
            message = (
                f"{table} has more than one set of columns for segments ({sets}); choose with "
                "start= and end=."
            )
            raise TableError(message)
        if found:
            return found[0]
        likely = max(likely, names, key=len)
    message = (
        f"{table} has no six columns for the starts and ends of segments, such as x1, y1, z1, x2, "
        f"y2, z2; {listed(likely)} Name them with start=('X', 'Y', 'Z') and end=('X', 'Y', 'Z')."
    )
    raise TableError(message)


def _rows_of_names(
    head: bytes, delimiter: bytes | None, encoding: str, *, whole: bool
) -> list[tuple[str, ...]]:
    """Return the cells of the first rows, under each delimiter."""
    begin = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    return [
        tuple(cell_text(cell, encoding) for cell in row.cells)
        for mark in ((delimiter,) if delimiter else DELIMITERS)
        for row in islice(split_rows(head, mark, begin, whole=whole), _HEAD_ROWS)
    ]


def _require_six(names: Sequence[str], table: str) -> None:
    """Refuse a column for two things: a segment that is upright has its x twice in the table."""
    plain = [plain_name(name) for name in names]
    for name in names:
        if plain.count(plain_name(name)) > 1:
            message = f"{table}: start= and end= name {name!r} twice; each needs its own column."
            raise TableError(message)
