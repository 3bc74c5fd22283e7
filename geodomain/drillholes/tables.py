"""The columns of collar, survey and interval tables, found by the names that packages use."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.settings import HoleKeywords, HoleSettings
from geodomain.errors import TableError
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_source
from geodomain.files.unchanged import Unchanged
from geodomain.formats.blocks import require_text_name
from geodomain.formats.datamine import is_table
from geodomain.formats.datamine import read_table as read_columns
from geodomain.formats.parquet_table import ParquetTable, read_parquet
from geodomain.formats.registry import other_formats_named
from geodomain.inputs import PathGiven
from geodomain.settings import among, read_keywords
from geodomain.tables.conditions import Column
from geodomain.tables.dialect import (
    DELIMITERS,
    UTF8_MARK,
    Row,
    cell_text,
    count_line_ends,
    decimal_mark,
    require_text,
    split_rows,
)
from geodomain.tables.in_memory import BlockFrame
from geodomain.tables.layout import TableLayout
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import TextKeywords
from geodomain.tables.text import TextRows
from geodomain.tables.vendors import HeadRow, closest, find_column, listed, vendor_rows

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

Table = Literal["collar", "survey", "intervals"]
# The words by which a caller names columns, in `columns={"dip": "INCL"}`.
Roles = dict[str, int]

_HOLE = (
    "bhid holeid hole dhid anumber drillholeid drillhole boreholeid borehole holename holeno "
    "holenumber ddhid ddh wellid"
)
# For each table its roles; for each role names without case, blanks, "_", "-" and ".", the
# usual one first. A role in _OPTIONAL may be lacking.
_NAMES: dict[Table, dict[str, str]] = {
    "collar": {
        "hole": _HOLE,
        "x": "xcollar collarx x east easting eastm xm leste este est",
        "y": "ycollar collary y north northing northm ym norte nord",
        "z": "zcollar collarz z rl elev elevation level height rlm zm cota cote altitude",
        "end": "enddepth maxdepth totdep totaldepth holedepth length depth eoh td finaldepth",
        "azimuth": "brg bearing az azimuth azim azi a0",
        "dip": "dip inclination inclin dipangle",
    },
    "survey": {
        "hole": _HOLE,
        "at": "at depth surveydepth depthat from distance md",
        "azimuth": "brg bearing az azimuth azim azi a0",
        "dip": "dip inclination inclin dipangle",
    },
    "intervals": {
        "hole": _HOLE,
        "from": "from depthfrom fromdepth sampfrom fromm mfrom geolfrom",
        "to": "to depthto todepth sampto tom mto geolto",
    },
}
_OPTIONAL = {"end", "azimuth", "dip"}
_ROLES = dict.fromkeys(role for roles in _NAMES.values() for role in roles)
# Of two sets of coordinates one may be local: only a collar's own names come before others.
_COORDINATES, _COLLAR = {"x", "y", "z"}, "collar"


def plain(name: str) -> str:
    """Return a name as it is compared: without case, blanks, quotes, "_", "-" and "."."""
    return re.sub(r"[\s\"'`#_.\-\u00a0\ufeff]", "", name).casefold()


def find_roles(
    names: Sequence[str], table: Table, given: Mapping[str, str], title: str
) -> dict[str, int]:
    """Find the columns of a table by what they hold.

    Parameters
    ----------
    names : sequence of str
        Of all its columns.
    table : {"collar", "survey", "intervals"}
        Which it is.
    given : mapping of str to str
        Columns that the caller names, by role; ``"survey.hole"`` is for that table alone. One
        that this table has not is found by its usual names.
    title : str
        What messages call the table.

    Returns
    -------
    dict of str to int
        Places by role; "end" of a collar, and its "azimuth" and "dip", only where there are any.

    Raises
    ------
    TableError
        For a column that is not there, or that several are alike of.

    Examples
    --------
    >>> find_roles(["DH-ID", "-FROM-", "-TO-", "CU"], "intervals", {}, "assay.csv")
    {'hole': 0, 'from': 1, 'to': 2}
    """
    found: Roles = {}
    for role, words in _NAMES[table].items():
        place = _given(names, table, role, given, title)
        place = _usual(names, words.split(), title, role) if place is None else place
        if place is not None:
            found[role] = place
        elif table == "survey" or role not in _OPTIONAL:
            _refuse(names, table, role, words.split(), title)
    if table == "collar" and ("azimuth" in found) != ("dip" in found):
        found.pop("azimuth", None)
        found.pop("dip", None)
    _refuse_twice(names, found, title)
    return found


def find_rivals(
    names: Sequence[str], table: Table, roles: Mapping[str, int], given: Mapping[str, str]
) -> dict[str, list[int]]:
    """Find the columns whose names say what another column was taken for.

    A role that the caller names has none. Coordinates have none: `find_roles` refuses two of them.

    Examples
    --------
    >>> names = ["BHID", "AT", "AZ", "DIP", "AZIMUTH"]
    >>> find_rivals(names, "survey", find_roles(names, "survey", {}, "survey.csv"), {})
    {'azimuth': [4]}
    """
    plains = [plain(name) for name in names]
    free = [place for place in range(len(names)) if place not in roles.values()]
    rivals = {}
    for role in roles.keys() - _COORDINATES:
        words = _NAMES[table][role].split()
        places = [place for place in free if plains[place] in words]
        if places and _given(names, table, role, given, "") is None:
            rivals[role] = places
    return rivals


def has_roles(names: Sequence[str], table: Table, given: Mapping[str, str]) -> bool:
    """Tell whether names can be those of a table: to find its header."""
    try:
        find_roles(names, table, given, "")
    except TableError:
        return False
    return True


def _given(
    names: Sequence[str], table: Table, role: str, given: Mapping[str, str], title: str
) -> int | None:
    """Return the column that the caller names, or None."""
    if f"{table}.{role}" in given:
        return find_column(names, given[f"{table}.{role}"], title)
    if role in given and plain(given[role]) in map(plain, names):
        return find_column(names, given[role], title)
    return None


def _usual(names: Sequence[str], words: Sequence[str], title: str, role: str) -> int | None:
    """Return the first column of the usual names; refuse two that are alike."""
    plains = [plain(name) for name in names]
    alike = [[place for place, name in enumerate(plains) if name == word] for word in words]
    ranked = [places for places in alike if places]
    if not ranked:
        return None
    own = _COLLAR in plains[ranked[0][0]]
    rivals = (
        [place for places in ranked for place in places]
        if role in _COORDINATES and not own
        else ranked[0]
    )
    if len(rivals) > 1:
        twins = " and ".join(repr(names[place]) for place in rivals)
        message = f"{title} has {twins}: name the {role} with columns={{{role!r}: 'COLUMN'}}"
        raise TableError(message)
    return rivals[0]


def _refuse(
    names: Sequence[str], table: Table, role: str, words: Sequence[str], title: str
) -> None:
    """Say which column is missing, what it is usually called, and what there is."""
    message = (
        f"{title} has no column of the {role}, such as {', '.join(words[:3]).upper()}"
        f"{closest(names, words[0])}; {listed(names)} "
        f"Name it with columns={{'{table}.{role}': 'COLUMN'}}."
    )
    raise TableError(message)


def _refuse_twice(names: Sequence[str], found: Roles, title: str) -> None:
    """Refuse a column that is to be two things."""
    for place in found.values():
        roles = [role for role, at in found.items() if at == place]
        if len(roles) > 1:
            message = f"{title}: {names[place]!r} cannot be the {' and the '.join(roles)}"
            raise TableError(message)


# --- How tables of holes are read.


@dataclass(frozen=True)
class Reading:
    """How tables of text are read.

    Attributes
    ----------
    columns : mapping of str to str
        Names of columns by role, as for `find_roles`.
    text : mapping
        Keywords of `TextKeywords`.
    threads : int, optional
        For scanning text.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    text: Mapping[str, object] = field(default_factory=dict)
    threads: int | None = None

    @cached_property
    def options(self) -> TableOptions:
        """Delimiter, decimal mark, encoding, and how numbers are read."""
        return options_among(self.text)

    def __post_init__(self) -> None:
        """Refuse a role that does not exist, and values of keywords that do not."""
        known = {f"{table}.{role}" for table in _NAMES for role in _NAMES[table]}
        for role in self.columns:
            if role not in known and role not in _ROLES:
                message = (
                    f"columns= names {role!r}, which is not a role; the roles are "
                    f"{', '.join(_ROLES)}, each for all tables, or for one of them as survey.hole"
                )
                raise ValueError(message)


def reading_of(keywords: HoleKeywords, threads: int | None = None) -> tuple[HoleSettings, Reading]:
    """Return what a function's keywords say: how holes are made, and how tables are read.

    Raises
    ------
    TypeError
        For a keyword that does not exist.
    ValueError
        For a value that a setting cannot have.
    """
    for name in keywords.keys() & _ROLES.keys():
        message = (
            f"there is no keyword {name!r}; columns are named with columns={{{name!r}: 'EAST'}}"
        )
        raise TypeError(message)
    settings = read_keywords(HoleSettings, keywords, HoleKeywords)
    reading = Reading(dict(settings.columns or {}), among(TextKeywords, keywords), threads)
    return settings, reading


# --- The files that tables of holes come from, and the outputs that must not replace them.


def files_of(tables: Iterable[object]) -> tuple[Path, ...]:
    """Return the files among some tables; stdin and tables in memory are none."""
    paths = (os.fspath(one) for one in tables if isinstance(one, str | os.PathLike))
    return tuple(Path(path) for path in paths if path != STANDARD)


def require_outputs(
    outputs: Iterable[PathGiven | None],
    tables: Iterable[object],
    *,
    overwrite: bool,
    text: bool = True,
) -> list[Path]:
    """Return the files to write; refuse places that cannot be written, or are read as a table.

    With `text`, outputs are tables of text, and refused under names of other kinds of files.

    Raises
    ------
    TableError
        For one place of two outputs, stdout too.
    TableError, FileExistsError, FileNotFoundError
        As `refuse_inputs` and `require_places`.
    """
    given = [os.fspath(one) for one in outputs if one is not None]
    if given.count(STANDARD) > 1:
        message = "- is to hold two outputs: give each its own file"
        raise TableError(message)
    places = [Path(one) for one in given if one != STANDARD]
    require_places(places, overwrite=overwrite)
    refuse_inputs(places, files_of(tables))
    for place in places if text else ():
        require_text_name(str(place))
    return places


# --- Tables of holes, of files and of frames alike: ids, numbers, and where a row stands.

TableLike: TypeAlias = "str | os.PathLike[str] | IntoDataFrame | HoleTable"
PARQUET = (".parquet", ".pq")
_HEAD_ROWS, _SAMPLE = 100, 200
_BLOCK = 1 << 24
_PAGE = 4096  # bytes of the first page of a .dm


@dataclass(frozen=True, eq=False)
class HoleTable:
    """A table whose columns are known by their roles.

    Attributes
    ----------
    name : str
        What messages call it.
    names : tuple of str
        Of the columns.
    roles : dict of str to int
        Places of columns, such as "hole" and "from".
    count : int
        Rows.
    rows : TextRows or None
        The text, of a file.
    parquet : ParquetTable or None
        What a file of Parquet holds.
    """

    name: str
    names: tuple[str, ...]
    roles: Roles
    count: int
    rows: TextRows | None
    _texts: Callable[[int], tuple[NDArray[np.intp], list[str]]]
    _numbers: Callable[[int], NDArray[np.float64]]
    _column: Callable[[int], Column]
    parquet: ParquetTable | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return self.count

    @cached_property
    def ids(self) -> tuple[NDArray[np.intp], list[str]]:
        """The hole of each row: its place among the different ids, and those."""
        return self._texts(self.roles["hole"])

    def numbers(self, role: str) -> NDArray[np.float64]:
        """Return the numbers of a role, NaN where missing."""
        return self._numbers(self.roles[role])

    def numbers_of(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a column by its name, NaN where missing."""
        return self.column(name).numbers()

    def column(self, name: str) -> Column:
        """Return a column by its name, as conditions take it."""
        return self._column(find_column(self.names, name, self.name))

    def where(self, row: int) -> str:
        """Say where a row stands."""
        if self.rows is None:
            return f"row {row}"
        return f"line {self.rows.line(row)}"


def read_table(
    given: TableLike, table: Table, reading: Reading, *, also: Sequence[str] | None = ()
) -> HoleTable:
    """Read a table of a file, or of a frame in memory.

    Parameters
    ----------
    given : path, pandas or polars DataFrame, pyarrow.Table, or HoleTable
        What was read already stays as it is. A path that ends in .parquet or .pq is of Parquet; a
        .dm of Datamine is known by its content, and any other is of text; "-" is stdin.
    table : {"collar", "survey", "intervals"}
        Which it is.
    reading : Reading
        How to read it.
    also : sequence of str, optional
        Other columns of text that are asked for by name; None for all of them.

    Returns
    -------
    HoleTable

    Raises
    ------
    TableError
        Where the columns are not there, or the text cannot be read.
    TypeError
        For what is no table.
    """
    if isinstance(given, HoleTable):
        return given
    if not isinstance(given, str | os.PathLike):
        return _of_frame(given, table, reading, f"the {table} table")
    if os.fspath(given) == STANDARD:
        return _of_text(STANDARD, table, reading, also)
    with Unchanged(given):
        return _of_file(Path(given), table, reading, also)


def _of_file(given: Path, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a file, by its extension or its content."""
    if given.suffix.lower() in PARQUET:
        file = read_parquet(given)
        return replace(_of_frame(file.arrow, table, reading, file.name), parquet=file)
    if (frame := _datamine(given)) is not None:
        return _of_frame(frame, table, reading, given.name)
    return _of_text(os.fspath(given), table, reading, also)


def _datamine(path: Path) -> pandas.DataFrame | None:
    """Read a table of Datamine's .dm, None where the file is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_PAGE)
    if not is_table(head):
        return None
    import pandas

    found = read_columns(path.read_bytes(), path.name, TableError)
    single = found.single
    return pandas.DataFrame(
        {
            name: values.astype(np.float32) if single and values.dtype.kind == "f" else values
            for name, values in found.columns.items()
        }
    )


def several_tables(intervals: TableLike | Sequence[TableLike] | None) -> list[TableLike]:
    """Return tables in a list."""
    if intervals is None:
        return []
    if isinstance(intervals, list | tuple):
        return list(intervals)
    return [cast("TableLike", intervals)]


def _of_frame(native: IntoDataFrame, table: Table, reading: Reading, name: str) -> HoleTable:
    """Take a table in memory."""
    frame = BlockFrame(native, name, reading.options, every=False)
    roles = find_roles(frame.names, table, reading.columns, name)
    taken = HoleTable(
        name=name,
        names=frame.names,
        roles=roles,
        count=len(frame),
        rows=None,
        _texts=frame.ids,
        _numbers=frame.numbers,
        _column=frame.column,
    )
    _refuse_rivals(taken, find_rivals(frame.names, table, roles, reading.columns))
    return taken


def _refuse_rivals(table: HoleTable, rivals: Mapping[str, Sequence[int]]) -> None:
    """Refuse columns that are one thing by their names and differ; alike, the first will do."""
    for role, places in rivals.items():
        taken = table.roles[role]
        for place in places:
            differs = _differs(table, role, taken, place)
            if differs.any():
                rows = np.flatnonzero(differs)
                message = (
                    f"{table.name} has {table.names[taken]!r} and {table.names[place]!r}, which "
                    f"differ in {rows.size:,} of {len(table):,} rows, the first in "
                    f"{table.where(int(rows[0]))}: name the {role} with "
                    f"columns={{{role!r}: 'COLUMN'}}"
                )
                raise TableError(message)


def _differs(table: HoleTable, role: str, taken: int, place: int) -> NDArray[np.bool_]:
    """Tell in which rows two columns of a role differ; texts differ from all numbers."""
    if role == "hole":
        (codes, ids), (others, known) = table._texts(taken), table._texts(place)
        number = {text: at for at, text in enumerate(known)}
        same = np.array([number.get(text, -1) for text in ids], np.intp)
        return np.asarray(same[codes] != others)
    numbers = table._numbers(taken)
    try:
        rival = table._numbers(place)
    except TableError:
        return np.ones(len(table), bool)
    return np.asarray((numbers != rival) & ~(np.isnan(numbers) & np.isnan(rival)))


def _of_text(path: str, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a file of text, all of it."""
    with open_source(path) as source:
        name, text = source.name, _whole(source.readinto)
    options = reading.options
    with other_formats_named(text, name):
        require_text(text, name)
        layout, roles = _layout(text, table, reading, name)
    wanted = [find_column(layout.names, one, name) for one in also or ()]
    rivals = find_rivals(layout.names, table, roles, reading.columns)
    wanted += [place for places in rivals.values() for place in places]
    fields = range(len(layout.names)) if also is None else [0, *roles.values(), *wanted]
    rows = TextRows(text, layout, name, list(fields), threads=reading.threads)
    missing = {word.casefold() for word in options.missing_words}

    def texts(place: int) -> tuple[NDArray[np.intp], list[str]]:
        codes, known = rows.texts(place)
        return codes, ["" if text.casefold() in missing else text for text in known]

    def numbers(place: int) -> NDArray[np.float64]:
        column = rows.column(place)
        column.rule = column.rule._replace(below=None, has_limits=False)
        return column.numbers()

    taken = HoleTable(name, layout.names, roles, len(rows), rows, texts, numbers, rows.column)
    _refuse_rivals(taken, rivals)
    return taken


def _whole(readinto: Callable[[memoryview], int]) -> bytes:
    """Return all that there is to be read."""
    parts, block = [], bytearray(_BLOCK)
    while count := readinto(memoryview(block)):
        parts.append(bytes(block[:count]))
    return b"".join(parts)


def _layout(text: bytes, table: Table, reading: Reading, name: str) -> tuple[TableLayout, Roles]:
    """Find the header, the delimiter that makes it one, and the decimal mark."""
    options = reading.options
    start = len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0
    head = text[: start + (1 << 20)]
    whole = len(head) == len(text)
    best: tuple[bytes, Row, tuple[str, ...]] | None = None
    likely: tuple[str, ...] = ()
    for delimiter in (options.delimiter,) if options.delimiter else DELIMITERS:
        for row in islice(split_rows(head, delimiter, start, whole=whole, name=name), _HEAD_ROWS):
            if row.cells[0].startswith(b"#") or len(row.cells) < 3:
                continue
            names = tuple(cell_text(cell, options.encoding) for cell in row.cells)
            likely = likely if len(likely) >= len(names) else names
            if has_roles(names, table, reading.columns):
                if best is None or len(names) > len(best[2]):
                    best = delimiter, row, names
                break
    if best is None:
        find_roles(likely, table, reading.columns, name)
        message = f"{name} has no header line that names the columns of a table of {table}"
        raise TableError(message)
    delimiter, row, names = best
    below = split_rows(head, delimiter, row.following, whole=whole)
    head_rows = (HeadRow("names", row), *vendor_rows(below, len(names), options.encoding))
    roles = find_roles(names, table, reading.columns, name)
    end = head_rows[-1].row.following
    layout = TableLayout(
        delimiter=delimiter,
        decimal=options.decimal or _decimal(head, delimiter, end, whole, roles, options, name),
        names=names,
        xyz=(),  # type: ignore[arg-type]  # no centroid: columns are read by their roles
        sizes=None,
        data_start=end,
        data_line=count_line_ends(text, 0, end) + 1,
        missing=options.missing,
        head_rows=head_rows,
        missing_words=tuple(word.encode(options.encoding) for word in options.missing_words),
        encoding=options.encoding,
    )
    rule = options.number_rule(names, name, layout.decimal, every=False)
    return replace(layout, numbers=rule), roles


def _decimal(
    head: bytes,
    delimiter: bytes,
    start: int,
    whole: bool,
    roles: Roles,
    options: TableOptions,
    name: str,
) -> bytes:
    """Tell the decimal mark by the numbers of the first rows."""
    rows = [
        [cell_text(cell, options.encoding) for cell in row.cells]
        for row in islice(split_rows(head, delimiter, start, whole=whole), _SAMPLE)
    ]
    numeric = {place for role, place in roles.items() if role != "hole"}
    cells = _cells(rows, numeric)
    columns = [_cells(rows, {place}) for place in range(max(map(len, rows), default=0))]
    return decimal_mark(cells, columns, name, delimiter) or b"."


def _cells(rows: Iterable[Sequence[str]], places: set[int]) -> list[str]:
    """Gather some columns of rows."""
    return [row[place] for row in rows for place in sorted(places) if place < len(row)]
