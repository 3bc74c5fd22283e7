"""Work out a table's layout from its first bytes: header, delimiter, columns, start of data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, NoReturn

import numpy as np

from geodomain.errors import TableError, warn
from geodomain.tables import rotation, vendors
from geodomain.tables.dialect import (
    DELIMITERS,
    UTF8_MARK,
    Row,
    cell_text,
    count_line_ends,
    decimal_mark,
    may_have_decimal_commas,
    number,
    require_text,
    split_rows,
)
from geodomain.tables.frames import Frame, Triple
from geodomain.tables.numbers import NumberRule
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import (
    Rotation,
    datamine_constants,
    datamine_origins,
    datamine_prototype,
    datamine_rotation,
    micromine_rotation,
    refuse_misfit,
)
from geodomain.tables.vendors import (
    CENTROIDS,
    DATAMINE,
    SIZES,
    HeadRow,
    MicromineModel,
    Triplet,
    micromine_model,
    plain_name,
    vendor_rows,
)

# Number of rows in which the header is searched; lines above it are few.
_HEAD_ROWS = 100

_QUOTED = re.compile(rb'"(?:[^"]|"")*"[ \t]*')


class TableHeader(NamedTuple):
    """The row of column names, and the delimiter that separates them."""

    delimiter: bytes
    row: Row
    names: tuple[str, ...]


def find_header(head: bytes, options: TableOptions, name: str, *, whole: bool) -> TableHeader:
    """Find the first row that names centroid columns, and the delimiter that fits the rows below.

    Raises
    ------
    TableError
        If no row names centroid columns (the message lists the columns of the likely header), or if
        a name in the header opens a quote that is not closed.
    """
    start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    delimiters = _candidates(head, start, options)
    rows = {
        delimiter: list(
            islice(split_rows(head, delimiter, start, whole=whole, name=name), _HEAD_ROWS)
        )
        for delimiter in delimiters
    }
    # Comments may hold the names (`# x y z`, or numpy's `# x,y,z`), if no other row does.
    for comments in (False, True):
        headers = [
            header
            for delimiter in delimiters
            if (header := _header(rows[delimiter], delimiter, options, comments=comments))
        ]
        if headers:
            best = max(headers, key=lambda header: _agreement(header, rows[header.delimiter]))
            _require_closed_quotes(best, name)
            return best
    _refuse(rows, options, name)


def _require_closed_quotes(header: TableHeader, table: str) -> None:
    """Refuse a name with an unclosed quote, because other programs would split it differently."""
    if header.row.cells[0].startswith(b"#"):
        return
    for cell, text in zip(header.row.cells, header.names, strict=True):
        if cell.startswith(b'"') and not _QUOTED.fullmatch(cell):
            message = (
                f"{table}, line {header.row.line}: the quote that opens the name "
                f"{text.splitlines()[0][:40]!r} is not closed at the end of the name. Close or "
                "remove the quote."
            )
            raise TableError(message)


def _candidates(head: bytes, start: int, options: TableOptions) -> tuple[bytes, ...]:
    """Return the delimiters to try: the user's, the one in Excel's `sep=` line, or all."""
    if options.delimiter:
        return (options.delimiter,)
    first = head[start : start + 16].splitlines()[:1]
    if first and first[0].strip(b'"').lower().startswith(b"sep="):
        declared = first[0].strip(b'"')[4:5]
        if declared in DELIMITERS:
            return (declared,)
    return DELIMITERS


def _header(
    rows: Sequence[Row], delimiter: bytes, options: TableOptions, *, comments: bool
) -> TableHeader | None:
    """Return the first row that names centroid columns, as a header, or None if there is none.

    If `comments` is true, only comment rows are searched; otherwise, only the other rows.
    """
    for row in rows:
        if len(row.cells) < 3 or row.cells[0].startswith(b"#") is not comments:
            continue
        names = tuple(cell_text(cell, options.encoding) for cell in row.cells)
        if _names_centroid(names, options):
            return TableHeader(delimiter, row, names)
    return None


def _names_centroid(names: Sequence[str], options: TableOptions) -> bool:
    """Return whether a row of names has the three columns of a centroid.

    The row must have every column that the user names. An axis for which the user names no column
    needs a column with a known name, such as XC.
    """
    plain = [vendors.plain_name(name) for name in names]
    wanted = [None if field is None else vendors.plain_name(field) for field in options.centroid]
    if any(field is not None and field not in plain for field in wanted):
        return False
    chosen = [None if field is None else plain.index(field) for field in wanted]
    return bool(vendors.matches(names, vendors.CENTROIDS, chosen))


def _agreement(header: TableHeader, rows: Sequence[Row]) -> tuple[float, int]:
    """Return a score for a header and its delimiter; the greatest score wins.

    The score is the fraction of the rows below the header that have as many cells as the header. If
    fractions are equal, the header with more cells wins.
    """
    below = [len(row.cells) for row in rows if row.start > header.row.start]
    alike = sum(count == len(header.names) for count in below)
    return (alike / len(below) if below else 1.0), len(header.names)


def _refuse(rows: dict[bytes, list[Row]], options: TableOptions, name: str) -> NoReturn:
    """Raise TableError that says what is missing in the row that looks most like a header."""
    guesses = [_likely(group, options.encoding) for group in rows.values()]
    names = max(guesses, key=len)
    for wanted in options.centroid:
        if wanted is not None and names:
            vendors.find_column(names, wanted, name)
    if not any(names):
        message = f"{name} has no header line within its first megabyte: is it a text table?"
        raise TableError(message)
    if all(number(cell) is not None for cell in names):
        message = (
            f"{name} has no header line: it begins with numbers. Add a line of column names, "
            "such as X,Y,Z."
        )
        raise TableError(message)
    if len(names) == 1 and len(names[0].split()) > 2:
        message = (
            f"{name} seems to have columns separated by blanks, which cannot be read; export the "
            "table with commas, semicolons, tabs or pipes."
        )
        raise TableError(message)
    vendors.refuse_no_centroid(names, name)


def _likely(rows: Sequence[Row], encoding: str) -> tuple[str, ...]:
    """Return the cells of the likely header: the first row with the most common number of cells."""
    plain = [row for row in rows if not row.cells[0].startswith(b"#")] or list(rows)
    if not plain:
        return ()
    usual = Counter(len(row.cells) for row in plain).most_common(1)[0][0]
    likely = next(row for row in plain if len(row.cells) == usual)
    return tuple(cell_text(cell, encoding) for cell in likely.cells)


# Detection of corners given as centroids.

_ORIGIN = ("xmorig", "ymorig", "zmorig")
# Exported coordinates are rounded; a centroid is half a block size away from a corner.
_SLACK = 1e-3


def warn_of_corners(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    xyz: Triplet,
    sizes: Triplet,
    table: str,
) -> None:
    """Warn if the coordinates of the first rows are those of block corners, not of centroids.

    The distance of a corner from XMORIG, YMORIG, ZMORIG is a whole number of block sizes. A
    centroid, even of a sub-block, is half a block size farther.

    Warns
    -----
    GeodomainWarning
        If the first rows all have such coordinates along all three axes.
    """
    plain = [plain_name(name) for name in names]
    if not set(_ORIGIN) <= set(plain):
        return
    wanted = [*xyz, *sizes, *(plain.index(name) for name in _ORIGIN)]
    values = [[number(row[c]) for c in wanted] for row in rows if max(wanted) < len(row)]
    numbers = np.array([row for row in values if None not in row], np.float64).reshape(-1, 3, 3)
    points, extents, origins = numbers.transpose(1, 0, 2)
    if not len(points) or not (extents > 0).all():
        return
    steps = (points - origins) / extents
    if (np.abs(steps - np.round(steps)) < _SLACK).all():
        shown = ", ".join(names[column] for column in xyz)
        warn(
            f"{table}: {shown} look like block corners instead of centroids, because they are "
            "whole numbers of block sizes from XMORIG, YMORIG, ZMORIG: if they are the lowest "
            "corners, use position='corner'; if they are centroids, use position='centroid'"
        )


# Detection of samples that have the coordinates of their collar.

# Names of the columns of interval ends, and of the hole.
_ENDS = (
    ("from", "to"),
    ("depthfrom", "depthto"),
    ("depth_from", "depth_to"),
    ("from_depth", "to_depth"),
    ("fromdepth", "todepth"),
    ("sampfrom", "sampto"),
    ("from_m", "to_m"),
    ("mfrom", "mto"),
)
_HOLES = (
    *("bhid", "holeid", "hole_id", "hole", "dhid", "drillhole", "hole_name", "holename"),
    *("hole_no", "boreholeid", "borehole"),
)


def refuse_collars(
    names: Sequence[str], rows: Sequence[Sequence[str]], xyz: Triplet, table: str
) -> None:
    """Refuse collar coordinates in a table of sample intervals.

    Holes with a single interval, such as blast holes, are ignored. At least half of the other holes
    must have intervals at different positions.

    Parameters
    ----------
    names, rows
        Names of all columns, and the cells of the first rows.
    xyz : tuple of int
        Coordinate columns.
    table : str
        Name of the table in messages.

    Raises
    ------
    TableError
        If the coordinates look like those of collars.
    """
    plain = [plain_name(name) for name in names]
    ends = next((pair for pair in _ENDS if set(pair) <= set(plain)), None)
    if ends is None:
        return
    start, end = (plain.index(name) for name in ends)
    hole = next((plain.index(name) for name in _HOLES if name in plain), None)
    places = [positions for positions in _places(rows, start, hole, xyz) if len(positions) > 1]
    still = sum(len(set(positions)) == 1 for positions in places)
    if 2 * still > len(places):
        x, y, z = (names[column] for column in xyz)
        message = (
            f"{table}: in {still} of its first {len(places)} holes with several intervals "
            f"({names[start]} to {names[end]}), {x}, {y} and {z} are the same for all intervals. "
            "They are collar coordinates, not sample midpoints. Desurvey the holes first, and name "
            "the midpoint columns with x=, y= and z=. If the coordinates are midpoints, use "
            "points_are_middles=True."
        )
        raise TableError(message)


def _places(
    rows: Sequence[Sequence[str]], start: int, hole: int | None, xyz: Triplet
) -> list[list[tuple[float | None, ...]]]:
    """Return the coordinates of the intervals of each hole.

    Without a hole column, a row starts a new hole if it is not deeper than the row before.
    """
    positions: dict[str, list[tuple[float | None, ...]]] = {}
    last, count = -1.0, 0
    for row in rows:
        if max(start, *xyz, -1 if hole is None else hole) >= len(row):
            continue
        depth, place = number(row[start]), tuple(number(row[column]) for column in xyz)
        if depth is None or None in place:
            continue
        count += depth <= last
        last = depth
        positions.setdefault(str(count) if hole is None else row[hole], []).append(place)
    return list(positions.values())


# The columns of centroids and sizes, and their frame.

# Rows used to determine rotation and decimal mark.
SAMPLE_ROWS = 200


class Choice(NamedTuple):
    """The chosen columns, counted from 0, and the frame of the coordinates.

    `constants` maps the columns that describe the frame to their values, which must be the same in
    every row.
    """

    xyz: Triplet
    sizes: Triplet | None
    frame: Frame
    constants: dict[int, float]


def choose_columns(
    names: tuple[str, ...],
    sample: Sequence[Sequence[str]],
    options: TableOptions,
    *,
    model: MicromineModel | None = None,
    table: str = "table",
) -> Choice:
    """Choose the columns of a block model.

    Parameters
    ----------
    names : tuple of str
        Names of all columns.
    sample : sequence of sequence of str
        Cells of the first data rows, one row per block.
    options : TableOptions
        The user's options. The names and the first rows decide what the user does not set.
    model : MicromineModel, optional
        Micromine's description of the whole model.
    table : str
        Name of the file in messages.

    Returns
    -------
    Choice

    Raises
    ------
    TableError
        If there are no centroid columns, or several sets of them; if the frame is uncertain; or if
        the coordinates are collar coordinates.
    """
    turned = Rotation(
        rows=micromine_rotation(model),
        angles=datamine_rotation(names, sample),
        prototype=datamine_prototype(names, sample),
        model=model,
        origins=datamine_origins(names, sample),
    )
    xyz = _centroid(names, options, turned, table)
    if not options.points_are_middles:
        refuse_collars(names, sample, xyz, table)
    fixed = _fixed_size(names, options, table)
    sizes = None if fixed else _sizes(names, options, xyz, table)
    frame = _frame(names, options, turned, xyz, sizes, fixed, sample, table)
    if sizes and options.position is None and frame.position == "centroid":
        warn_of_corners(names, sample, xyz, sizes, table)
    # If the user sets the frame, or coordinates are world coordinates, the rows need not agree.
    trusted = (
        options.rotation
        or options.frame
        or None not in options.centroid
        or _is_not_datamine(names, xyz)
    )
    constants = datamine_constants(names, sample, turned=frame.local is not None)
    return Choice(xyz, sizes, frame, {} if trusted else constants)


def _is_not_datamine(names: Sequence[str], xyz: Triplet) -> bool:
    """Return whether the coordinate columns are not Datamine's XC, YC, ZC, which may be local."""
    return tuple(vendors.plain_name(names[column]) for column in xyz) != DATAMINE.names


def _places_of(names: Sequence[str], wanted: Sequence[str | None], table: str) -> list[int | None]:
    """Return for each name in `wanted` the index of its column, and None where there is no name."""
    return [None if name is None else vendors.find_column(names, name, table) for name in wanted]


def _centroid(
    names: tuple[str, ...], options: TableOptions, turned: Rotation, table: str
) -> Triplet:
    """Return the centroid columns; in a rotated model, prefer the columns of world coordinates."""
    chosen = _places_of(names, options.centroid, table)
    sets = vendors.matches(names, CENTROIDS, chosen)
    if not sets:
        vendors.refuse_no_centroid(names, table)
    if not options.rotation:
        sets = turned.prefer_world(sets)
    vendors.refuse_ambiguity(names, sets, table)
    (xyz,) = sets
    vendors.require_single(names, xyz, table, "x=, y= and z=")
    return xyz


def _frame(
    names: tuple[str, ...],
    options: TableOptions,
    turned: Rotation,
    xyz: Triplet,
    sizes: Triplet | None,
    fixed: Triple | None,
    sample: Sequence[Sequence[str]],
    table: str,
) -> Frame:
    """Return the meaning of the coordinates: from the user's options, otherwise from the file."""
    position = options.position or rotation.position_of(turned.model, table)
    if position == "corner" and sizes is None and fixed is None:
        message = (
            f"{table}: computing centroids from corners needs block sizes, but there are no size "
            "columns: name them with dx=, dy= and dz=."
        )
        raise TableError(message)
    blocks = rotation.first_blocks(sample, xyz, sizes, position)
    if options.rotation or options.frame:
        frame = Frame(position, options.rotation, fixed, options.frame, stated=True)
        lengths = frame.sized(blocks.points, blocks.sizes)
        if lengths is not None:
            refuse_misfit(frame.centroids(blocks.points, lengths), lengths, frame, table)
        return frame
    named = None not in options.centroid
    local = turned.settle(names, xyz, table, named=named, blocks=blocks)
    return Frame(position, local, fixed)


def _fixed_size(names: Sequence[str], options: TableOptions, table: str) -> Triple | None:
    """Return the block size if the user gives numbers instead of column names, or else None.

    Raises
    ------
    TableError
        For a number that is not above zero, or for numbers mixed with column names.
    """
    plain = {vendors.plain_name(name) for name in names}
    texts = [each for each in options.size if each is not None]
    numbers = [number(each) for each in texts if vendors.plain_name(each) not in plain]
    sizes = [each for each in numbers if each is not None]
    if not sizes:
        return None
    if len(sizes) < 3 or not all(0 < each < np.inf for each in sizes):
        message = (
            f"{table}: the block size is {', '.join(texts)}; give three numbers above 0, such as "
            "dx='10', dy='10', dz='5', or name three columns."
        )
        raise TableError(message)
    return sizes[0], sizes[1], sizes[2]


def _sizes(
    names: tuple[str, ...], options: TableOptions, xyz: Triplet, table: str
) -> Triplet | None:
    """Return the block size columns, or None if none are named and the file has no clear set."""
    chosen = _places_of(names, options.size, table)
    sets = vendors.matches(names, SIZES, chosen)
    if any(options.size):
        if len(sets) != 1:
            message = f"{table}: name all three block sizes with dx=, dy= and dz=."
            raise TableError(message)
        vendors.require_single(names, next(iter(sets)), table, "dx=, dy= and dz=")
    if len(sets) != 1:
        return None
    (sizes,) = sets
    twice = set(sizes).intersection(xyz)
    if twice and not any(options.size):
        return None
    if twice:
        message = (
            f"{table}: {names[min(twice)]!r} cannot be both a coordinate and a size; name the "
            "sizes with dx=, dy= and dz=."
        )
        raise TableError(message)
    return sizes


# The layout.


def named_line(line: int, column: str) -> str:
    """Return the position of a cell in a text file, such as "line 12"."""
    return f"line {line}"


@dataclass(frozen=True)
class TableLayout:
    """The format of a table of blocks, and the position of its columns and data.

    Attributes
    ----------
    delimiter, decimal : bytes
        Delimiter and decimal mark, one byte each.
    names : tuple of str
        Header names, without quotes and outer blanks.
    xyz : tuple of int
        Columns of the centroid, counted from 0.
    sizes : tuple of int, optional
        Columns of the block sizes.
    data_start : int
        Byte offset of the first row of data, or of a blank line before it.
    data_line : int
        Number, counted from 1, of the physical line at that offset.
    missing, missing_words : tuple of float, tuple of bytes
        Numbers and texts that mean that a coordinate or size is missing.
    head_rows : tuple of HeadRow
        The row of column names, and the rows that the vendor's program writes between the names and
        the data.
    encoding : str
        Encoding of names and texts.
    frame : Frame
        Meaning of the coordinates.
    constants : dict of int to float
        Columns that describe the frame, and the value that every row must repeat.
    numbers : NumberRule
        How columns other than coordinates are read as numbers.
    place : callable
        Takes a line and the name of a column, or "". Returns the position of the cell for messages.
    """

    delimiter: bytes
    decimal: bytes
    names: tuple[str, ...]
    xyz: Triplet
    sizes: Triplet | None
    data_start: int
    data_line: int
    missing: tuple[float, ...] = ()
    head_rows: tuple[HeadRow, ...] = ()
    missing_words: tuple[bytes, ...] = ()
    encoding: str = "utf-8"
    frame: Frame = field(default_factory=Frame)
    constants: dict[int, float] = field(default_factory=dict)
    numbers: NumberRule = field(default_factory=NumberRule)
    place: Callable[[int, str], str] = named_line

    @property
    def scanned_words(self) -> tuple[bytes, ...]:
        """Texts that the scanner reads as missing, in any coordinate or size column.

        A text may be the mark of a single column, but the scanner has one list for all columns.
        `Scanner.values` and `TextColumn` therefore check the cells of the other columns again.
        """
        names = [self.names[place] for place in (*self.xyz, *(self.sizes or ()))]
        own = [word.encode(self.encoding) for name in names for word in self.numbers.of(name).words]
        return tuple(dict.fromkeys([*self.missing_words, *own]))


def read_layout(
    head: bytes, options: TableOptions | None = None, *, name: str = "table", whole: bool = True
) -> TableLayout:
    r"""Work out the layout of a block-model table from its first bytes.

    Parameters
    ----------
    head : bytes
        The first bytes of the file, uncompressed; a megabyte is plenty.
    options : TableOptions, optional
        The user's options. The file decides what the user does not set.
    name : str
        Name of the file in messages.
    whole : bool
        Whether `head` is the whole file.

    Returns
    -------
    TableLayout

    Raises
    ------
    TableError
        If the bytes are not text, if the header is missing or ambiguous, or if the centroids may be
        local to a model whose rotation the file does not describe.

    Examples
    --------
    >>> layout = read_layout(b"XC;YC;ZC;XINC;YINC;ZINC\n1,5;2,5;3,5;1;1;1\n")
    >>> layout.delimiter, layout.decimal, layout.xyz, layout.sizes
    (b';', b',', (0, 1, 2), (3, 4, 5))
    """
    options = options or TableOptions()
    require_text(head, name)
    header = find_header(head, options, name, whole=whole)
    head_rows, sample = _below(head, header, options.encoding, whole=whole)
    model = micromine_model(head_rows, options.encoding)
    choice = choose_columns(header.names, sample, options, model=model, table=name)
    rule = options.number_rule(header.names, name)
    decimal = options.decimal
    if decimal is None:
        has_mark = any(mark in cell for cell in _cells(sample, choice.xyz) for mark in ",.")
        # A comma between digits is rare in whole numbers, unless it separates the fields.
        if not has_mark and header.delimiter != b"," and may_have_decimal_commas(head):
            sample = _blocks(head, header, options.encoding, len(head_rows) - 1, None, whole=whole)
        decimal = _decimal(header, choice.xyz, sample, name)
    end = head_rows[-1].row.following
    return TableLayout(
        delimiter=header.delimiter,
        decimal=decimal or b".",
        names=header.names,
        xyz=choice.xyz,
        sizes=choice.sizes,
        data_start=end,
        data_line=count_line_ends(head, 0, end) + 1,
        missing=options.missing,
        missing_words=tuple(word.encode(options.encoding) for word in options.missing_words),
        encoding=options.encoding,
        head_rows=head_rows,
        frame=choice.frame,
        constants=choice.constants,
        numbers=rule._replace(decimal=(decimal or b".").decode()),
    )


def _below(
    head: bytes, header: TableHeader, encoding: str, *, whole: bool
) -> tuple[tuple[HeadRow, ...], list[list[str]]]:
    """Return the row of names, the vendor's rows below it, and the cells of the first blocks."""
    rows = split_rows(head, header.delimiter, header.row.following, whole=whole)
    vendor = vendor_rows(rows, len(header.names), encoding)
    sample = _blocks(head, header, encoding, len(vendor), SAMPLE_ROWS, whole=whole)
    return (HeadRow("names", header.row), *vendor), sample


def _blocks(
    head: bytes, header: TableHeader, encoding: str, vendor: int, most: int | None, *, whole: bool
) -> list[list[str]]:
    """Return the cells of the first `most` data rows; None means all rows.

    `vendor` is the number of rows that the vendor's program writes between header and data.
    """
    rows = split_rows(head, header.delimiter, header.row.following, whole=whole)
    blocks = islice(rows, vendor, None if most is None else vendor + most)
    return [[cell_text(cell, encoding) for cell in row.cells] for row in blocks]


def _decimal(
    header: TableHeader, xyz: Triplet, rows: Sequence[Sequence[str]], name: str
) -> bytes | None:
    """Return the decimal mark that the cells of some rows show, or None if they show none."""
    columns = [_cells(rows, [place]) for place in range(len(header.names))]
    return decimal_mark(_cells(rows, xyz), columns, name, header.delimiter)


def _cells(sample: Sequence[Sequence[str]], columns: Iterable[int]) -> list[str]:
    """Return the cells of some columns, row by row, except those that a short row lacks."""
    return [row[column] for row in sample for column in columns if column < len(row)]
