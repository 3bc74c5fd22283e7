"""Read collar, survey and interval tables, and find their columns by their usual names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.settings import DipDown, HoleKeywords, HoleSettings
from geodomain.errors import RoleError, TableError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_source
from geodomain.files.unchanged import Unchanged
from geodomain.formats.blocks import file_of, require_table_name
from geodomain.formats.datamine import is_table
from geodomain.formats.datamine import read_table as read_columns
from geodomain.formats.excel import Sheet, read_laid_out
from geodomain.formats.geoh5_holes import IntervalTable
from geodomain.formats.geoh5_holes import read_columns as read_holes
from geodomain.formats.parquet_table import ParquetTable, read_parquet
from geodomain.formats.registry import is_workbook, is_workspace, other_formats_named
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
from geodomain.tables.vendors import (
    CENTROIDS,
    SIZES,
    HeadRow,
    closest,
    find_column,
    listed,
    plain_name,
    vendor_rows,
)

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

Table = Literal["collar", "survey", "intervals"]
# Column index by role, such as "dip", the key in `columns={"dip": "INCL"}`.
Roles = dict[str, int]

_HOLE = (
    "bhid holeid hole dhid anumber drillholeid drillhole boreholeid borehole holename holeno "
    "holenumber ddhid ddh wellid"
)
# The roles of each table, and the usual column names of each role, most common first, without case,
# blanks, "_", "-" and ".". A role in _OPTIONAL may be missing.
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
_GEOMETRY = {
    *(word for roles in _NAMES.values() for words in roles.values() for word in words.split()),
    *(re.sub(r"[_.-]", "", name) for each in (*CENTROIDS, *SIZES) for name in each.names),
    "interval", "width", "thickness", "midpoint", "middle", "mid", "a0", "b0", "c0",
}  # fmt: skip
_ROLES = dict.fromkeys(role for roles in _NAMES.values() for role in roles)
# Two sets of coordinates are ambiguous, unless one set has the word "collar" in its names.
_COORDINATES, _COLLAR = {"x", "y", "z"}, "collar"


def plain(name: str) -> str:
    """Return a name for comparison: without case, blanks, quotes, "_", "-" and "."."""
    return re.sub(r"[\s\"'`#_.\-\u00a0\ufeff]", "", name).casefold()


def find_roles(
    names: Sequence[str], table: Table, columns: Mapping[str, str], title: str
) -> dict[str, int]:
    """Find the columns of a table by their roles.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    table : {"collar", "survey", "intervals"}
        Kind of table.
    columns : mapping of str to str
        Column names by role, from the caller. The role ``"hole"`` applies to all tables, and
        ``"survey.hole"`` to the survey only. If a role applies to all tables, and this table has no
        column with the name, the usual names are tried.
    title : str
        Name of the table in messages.

    Returns
    -------
    dict of str to int
        Column index by role. A collar table may lack a column for the role "end"; this role is then
        left out. If it lacks a column for "azimuth" or for "dip", both roles are left out.

    Raises
    ------
    TableError
        If a column is missing or ambiguous.

    Examples
    --------
    >>> find_roles(["DH-ID", "-FROM-", "-TO-", "CU"], "intervals", {}, "assay.csv")
    {'hole': 0, 'from': 1, 'to': 2}
    """
    roles: Roles = {}
    for role, place in _places_of_roles(names, table, columns, title):
        if place is not None:
            roles[role] = place
        elif table == "survey" or role not in _OPTIONAL:
            _refuse(names, table, role, _NAMES[table][role].split(), title)
    if table == "collar" and ("azimuth" in roles) != ("dip" in roles):
        roles.pop("azimuth", None)
        roles.pop("dip", None)
    _refuse_twice(names, roles, title)
    return roles


def roles_among(
    names: Sequence[str], table: Table, columns: Mapping[str, str], title: str
) -> dict[str, int]:
    """Find the columns of a table by their roles, as `find_roles`; a role may lack a column.

    Examples
    --------
    >>> roles_among(["X", "Y", "Z", "BHID", "AU"], "intervals", {}, "samples.csv")
    {'hole': 3}
    """
    places = _places_of_roles(names, table, columns, title)
    return {role: place for role, place in places if place is not None}


def _places_of_roles(
    names: Sequence[str], table: Table, columns: Mapping[str, str], title: str
) -> Iterator[tuple[str, int | None]]:
    """Yield each role of a table, and the index of its column or None."""
    for role, words in _NAMES[table].items():
        place = _named_column(names, table, role, columns, title)
        yield role, _usual(names, words.split(), title, role) if place is None else place


def find_rivals(
    names: Sequence[str], table: Table, roles: Mapping[str, int], columns: Mapping[str, str]
) -> dict[str, list[int]]:
    """Find, for each role, other columns whose names also fit the role.

    A role is left out if the caller names its column. Coordinates are left out, because
    `find_roles` refuses ambiguous coordinates.

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
        if places and _named_column(names, table, role, columns, "") is None:
            rivals[role] = places
    return rivals


def is_geometry(name: str) -> bool:
    """Return whether a column has a usual name of a depth, length, coordinate, size or angle."""
    return plain(name) in _GEOMETRY


def has_roles(names: Sequence[str], table: Table, columns: Mapping[str, str]) -> bool:
    """Return whether a row of names can be the header: it has all roles that the table needs."""
    try:
        find_roles(names, table, columns, "")
    except TableError:
        return False
    return True


def usual_column(names: Sequence[str], role: str) -> str | None:
    """Return the column of intervals whose name is usual for a role; None if none or several are.

    Examples
    --------
    >>> usual_column(["DH-ID", "-FROM-", "-TO-", "CU"], "from")
    '-FROM-'
    """
    try:
        place = _usual(names, _NAMES["intervals"][role].split(), "", role)
    except TableError:
        return None
    return None if place is None else names[place]


def _named_column(
    names: Sequence[str], table: Table, role: str, columns: Mapping[str, str], title: str
) -> int | None:
    """Return the index of the column that the caller names for a role, or None."""
    if f"{table}.{role}" in columns:
        return find_column(names, columns[f"{table}.{role}"], title)
    if role in columns and plain(columns[role]) in map(plain, names):
        return find_column(names, columns[role], title)
    return None


def _usual(names: Sequence[str], words: Sequence[str], title: str, role: str) -> int | None:
    """Return the index of the column whose name is the most common one for a role, or None.

    Raise TableError if several columns may have the role.
    """
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
        message = (
            f"{title} has several columns for the role {role!r}, {twins}: choose one with "
            f"columns={{{role!r}: 'COLUMN'}}"
        )
        raise TableError(message)
    return rivals[0]


def _refuse(
    names: Sequence[str], table: Table, role: str, words: Sequence[str], title: str
) -> None:
    """Raise TableError with the missing role, its usual names, and the existing columns."""
    message = (
        f"{title} has no column for the role {role!r}, such as {', '.join(words[:3]).upper()}"
        f"{closest(names, words[0])}; {listed(names)} "
        f"Name it with columns={{'{table}.{role}': 'COLUMN'}}."
    )
    raise RoleError(message)


def _refuse_twice(names: Sequence[str], by_role: Roles, title: str) -> None:
    """Raise TableError if one column has two roles."""
    for place in by_role.values():
        roles = [role for role, at in by_role.items() if at == place]
        if len(roles) > 1:
            message = (
                f"{title}: the column {names[place]!r} has the roles "
                f"{' and '.join(map(repr, roles))}, but a column can have only one role; choose "
                f"another column with columns={{{roles[0]!r}: 'COLUMN'}}"
            )
            raise TableError(message)


# --- Settings for reading tables of holes.


@dataclass(frozen=True)
class Reading:
    """Settings for reading tables of holes.

    Attributes
    ----------
    columns : mapping of str to str
        Names of columns by role, as for `find_roles`.
    text : mapping
        Keywords of `TextKeywords`.
    threads : int, optional
        Number of threads that read text.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    text: Mapping[str, object] = field(default_factory=dict)
    threads: int | None = None

    @cached_property
    def options(self) -> TableOptions:
        """Delimiter, decimal mark, encoding and rules for numbers."""
        return options_among(self.text)

    def __post_init__(self) -> None:
        """Raise TableError for an unknown role."""
        valid = {f"{table}.{role}" for table in _NAMES for role in _NAMES[table]}
        for role in self.columns:
            if role not in valid and role not in _ROLES:
                message = (
                    f"columns= names {role!r}, which is not a role; the roles are "
                    f"{', '.join(_ROLES)}. To name a column of one table only, write survey.hole"
                )
                raise TableError(message)


def reading_of(keywords: HoleKeywords, threads: int | None = None) -> tuple[HoleSettings, Reading]:
    """Split a function's keywords into settings for holes and settings for reading tables.

    Raises
    ------
    TypeError
        For an unknown keyword.
    ValueError
        For an invalid value.
    """
    for name in keywords.keys() & _ROLES.keys():
        message = (
            f"there is no keyword {name!r}; to name a column, use columns={{{name!r}: 'EAST'}}"
        )
        raise TypeError(message)
    settings = read_keywords(HoleSettings, keywords, HoleKeywords)
    reading = Reading(dict(settings.columns or {}), among(TextKeywords, keywords), threads)
    return settings, reading


def refuse_unmarked(reading: Reading, names: Iterable[str]) -> None:
    """Refuse a missing-value mark or a detection limit of a column that no table has.

    A single table may lack the column; `names` are the columns of all tables of a call.
    """
    used = {plain_name(name): name for name in names}
    options = reading.options
    for column, _ in (*options.own_missing, *options.detection_limits):
        if plain_name(column) not in used:
            keyword = "missing" if column in dict(options.own_missing) else "detection_limit"
            message = (
                f"{keyword}= names the column {column!r}, but no table of holes uses such a "
                f"column; the columns are {', '.join(used.values())}"
            )
            raise TableError(message)


# --- Input files of tables of holes, and outputs, which must not replace them.


def files_of(tables: Iterable[object]) -> tuple[Path, ...]:
    """Return the paths among `tables`; stdin and tables in memory are left out."""
    paths = (os.fspath(table) for table in tables if isinstance(table, str | os.PathLike))
    return tuple(file_of(path) for path in paths if path != STANDARD)


def require_outputs(
    outputs: Iterable[PathGiven | None],
    tables: Iterable[object],
    *,
    overwrite: bool,
    formats: Literal["text", "columns", "any"] = "text",
    chart: PathGiven | None = None,
) -> list[Path]:
    """Return the files to write; refuse a path that is not writable, or that is an input.

    The extension of an output must be that of a text table or a workbook (.xlsx); if `formats` is
    "columns", it may be that of Parquet; if it is "any", the caller checks it. A `chart` is also an
    output, whose extension the caller checks.

    Raises
    ------
    TableError
        If two outputs have the same path, or both are stdout.
    TableError, FileExistsError, FileNotFoundError
        As `refuse_inputs` and `require_places`.
    """
    written = [os.fspath(output) for output in outputs if output is not None]
    pictures = [] if chart is None else [os.fspath(chart)]
    if [*written, *pictures].count(STANDARD) > 1:
        message = "two outputs would both go to stdout (-): name a file for at least one of them"
        raise TableError(message)
    places = [Path(path) for path in (*written, *pictures) if path != STANDARD]
    require_places(places, overwrite=overwrite)
    refuse_inputs(places, files_of(tables))
    for path in written:
        if path != STANDARD and formats != "any":
            require_table_name(path, parquet=formats == "columns")
    return places


# --- Tables of holes from files or memory: ids, numbers, and positions of rows.

TableLike: TypeAlias = "str | os.PathLike[str] | IntoDataFrame | HoleTable"
PARQUET = (".parquet", ".pq")
_HEAD_ROWS, _SAMPLE = 100, 200
_BLOCK = 1 << 24
_PAGE = 4096  # bytes of the first page of a .dm


@dataclass(frozen=True, eq=False)
class HoleTable:
    """A collar, survey or interval table, with columns addressed by role.

    Attributes
    ----------
    name : str
        Name of the table in messages.
    names : tuple of str
        Names of the columns.
    roles : dict of str to int
        Column index by role, such as "hole" and "from".
    count : int
        Number of rows.
    rows : TextRows or None
        The rows of a text file.
    parquet : ParquetTable or None
        The content of a Parquet file.
    workspace : IntervalTable or None
        The intervals of a geoh5 workspace.
    down : {"auto", "positive", "negative"}
        Sign of dips that point down, if the format states it.
    survey : str or None
        Path of the survey that the format stores with these collars.
    """

    name: str
    names: tuple[str, ...]
    roles: Roles
    count: int
    rows: TextRows | None
    _texts: Callable[[int], tuple[NDArray[np.intp], list[str]]]
    _numbers: Callable[[int], NDArray[np.float64]]
    _column: Callable[[int], Column]
    _cells: Callable[[int, NDArray[np.intp]], list[str]]
    parquet: ParquetTable | None = None
    workspace: IntervalTable | None = None
    down: DipDown = "auto"
    survey: str | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.count

    @cached_property
    def ids(self) -> tuple[NDArray[np.intp], list[str]]:
        """A tuple: the index of each row's hole in the list of distinct ids, and this list."""
        return self._texts(self.roles["hole"])

    def numbers(self, role: str) -> NDArray[np.float64]:
        """Return the numbers in the column of a role, NaN where missing."""
        return self._numbers(self.roles[role])

    def numbers_of(self, name: str) -> NDArray[np.float64]:
        """Return the numbers in a column with this name, NaN where missing."""
        return self.column(name).numbers()

    def column(self, name: str) -> Column:
        """Return the column with this name, for conditions."""
        return self._column(find_column(self.names, name, self.name))

    def texts(self, place: int) -> tuple[NDArray[np.intp], list[str]]:
        """Return the index of each row's text in the list of distinct texts, and this list.

        The column is given by its index.
        """
        return self._texts(place)

    def cells(self, place: int, rows: NDArray[np.intp]) -> list[str]:
        """Return the cells of a column, given by its index, in some rows as texts."""
        return self._cells(place, rows)

    def lines(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the line in the file of each row of a text table; of other tables, the rows."""
        return rows.astype(np.int64) if self.rows is None else self.rows.lines(rows)

    def where(self, row: int) -> str:
        """Return the position of a row for a message, such as "line 12"."""
        if self.rows is None:
            return f"row {row}"
        return self.rows.layout.place(self.rows.line(row), "")


def read_table(
    source: TableLike, table: Table, reading: Reading, *, also: Sequence[str] | None = ()
) -> HoleTable:
    """Read a table of holes from a file or from memory.

    Parameters
    ----------
    source : path, pandas or polars DataFrame, pyarrow.Table, or HoleTable
        A path with the extension .parquet or .pq is read as Parquet. A Datamine .dm file is
        recognised by its content. A sheet of an Excel workbook is ``FILE:SHEET``, or FILE if only
        one sheet has cells. In a geoh5 workspace, ``FILE:GROUP`` is a group of holes, and
        ``FILE:GROUP/TABLE`` one of its tables of intervals; names may be left out if there is only
        one. Any other file is read as text; "-" is stdin. A `HoleTable` is returned unchanged.
    table : {"collar", "survey", "intervals"}
        Kind of table.
    reading : Reading
        Settings for reading the table.
    also : sequence of str, optional
        Other columns of a text table that will be used by name; None means all columns.

    Returns
    -------
    HoleTable

    Raises
    ------
    TableError
        If a column is missing, or the text cannot be read.
    TypeError
        If `source` is not a table.
    """
    if isinstance(source, HoleTable):
        return source
    if not isinstance(source, str | os.PathLike):
        return _of_frame(source, table, reading, f"the {table} table")
    if os.fspath(source) == STANDARD:
        return _of_text(STANDARD, table, reading, also)
    with Unchanged(file_of(os.fspath(source))):
        return _of_file(Path(source), table, reading, also)


def _of_file(path: Path, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a file in the format that its extension or its content shows."""
    if path.suffix.lower() in PARQUET:
        file = read_parquet(path)
        return replace(_of_frame(file.arrow, table, reading, file.name), parquet=file)
    if is_workbook(os.fspath(path)):
        return _of_sheet(os.fspath(path), table, reading, also)
    if is_workspace(os.fspath(path)):
        return _of_workspace(os.fspath(path), table, reading)
    if (frame := _datamine(path)) is not None:
        return _of_frame(frame, table, reading, path.name)
    return _of_text(os.fspath(path), table, reading, also)


def _of_workspace(path: str, table: Table, reading: Reading) -> HoleTable:
    """Read a table of a geoh5 workspace, in which dips that point down are negative."""
    import pandas

    content = read_holes(path, table)
    made = _of_frame(pandas.DataFrame(content.columns), table, reading, content.name)
    return replace(
        made,
        workspace=content.table,
        down="negative",
        survey=path if table == "collar" and content.has_stations else None,
    )


def _datamine(path: Path) -> pandas.DataFrame | None:
    """Read a Datamine .dm table; return None for another file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_PAGE)
    if not is_table(head):
        return None
    import pandas

    content = read_columns(path.read_bytes(), path.name, TableError)
    single = content.single
    return pandas.DataFrame(
        {
            name: values.astype(np.float32) if single and values.dtype.kind == "f" else values
            for name, values in content.columns.items()
        }
    )


def several_tables(intervals: TableLike | Sequence[TableLike] | None) -> list[TableLike]:
    """Return one table, several tables or None as a list."""
    if intervals is None:
        return []
    if isinstance(intervals, list | tuple):
        return list(intervals)
    return [cast("TableLike", intervals)]


def _of_frame(native: IntoDataFrame, table: Table, reading: Reading, name: str) -> HoleTable:
    """Return a table in memory as a HoleTable."""
    frame = BlockFrame(native, name, reading.options, every=False)
    roles = find_roles(frame.names, table, reading.columns, name)
    hole_table = HoleTable(
        name=name,
        names=frame.names,
        roles=roles,
        count=len(frame),
        rows=None,
        _texts=frame.ids,
        _numbers=frame.numbers,
        _column=frame.column,
        _cells=frame.cells,
    )
    _refuse_rivals(hole_table, find_rivals(frame.names, table, roles, reading.columns))
    return hole_table


def _refuse_rivals(table: HoleTable, rivals: Mapping[str, Sequence[int]]) -> None:
    """Raise TableError if two columns fit a role and their values differ."""
    for role, places in rivals.items():
        chosen = table.roles[role]
        for place in places:
            differs = _differs(table, role, chosen, place)
            if differs.any():
                rows = np.flatnonzero(differs)
                message = (
                    f"{table.name} has two columns for the role {role!r}, {table.names[chosen]!r} "
                    f"and {table.names[place]!r}, which differ in {rows.size:,} of "
                    f"{counted(len(table), 'row')}, the first in {table.where(int(rows[0]))}: "
                    f"choose one with columns={{{role!r}: 'COLUMN'}}"
                )
                raise TableError(message)


def _differs(table: HoleTable, role: str, chosen: int, place: int) -> NDArray[np.bool_]:
    """Return the mask of rows in which two columns for a role differ.

    If the role is numeric and the second column is not, all rows differ.
    """
    if role == "hole":
        (codes, ids), (others, other_ids) = table._texts(chosen), table._texts(place)
        number = {text: at for at, text in enumerate(other_ids)}
        same = np.array([number.get(text, -1) for text in ids], np.intp)
        return np.asarray(same[codes] != others)
    numbers = table._numbers(chosen)
    try:
        rival = table._numbers(place)
    except TableError:
        return np.ones(len(table), bool)
    return np.asarray((numbers != rival) & ~(np.isnan(numbers) & np.isnan(rival)))


def _of_text(path: str, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a text file whole, and return it as a HoleTable."""
    with open_source(path) as source:
        name, text = source.name, _all_bytes(source.readinto)
    with other_formats_named(text, name):
        require_text(text, name)
        layout, roles = _layout(text, table, reading.columns, reading.options, name)
    return _of_rows(text, layout, roles, table, reading, also, name)


def _of_sheet(path: str, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a sheet of an Excel workbook, and return it as a HoleTable."""

    def lay_out(sheet: Sheet, options: TableOptions) -> tuple[TableLayout, Roles]:
        return _layout(sheet.text, table, reading.columns, options, sheet.name)

    sheet, layout, roles = read_laid_out(
        path, reading.options, lay_out, lambda _, roles: roles.values()
    )
    return _of_rows(sheet.text, layout, roles, table, reading, also, sheet.name)


def _of_rows(
    text: bytes,
    layout: TableLayout,
    roles: Roles,
    table: Table,
    reading: Reading,
    also: Sequence[str] | None,
    name: str,
) -> HoleTable:
    """Return the rows of a text, whose layout is known, as a HoleTable."""
    options = reading.options
    wanted = [find_column(layout.names, field, name) for field in also or ()]
    rivals = find_rivals(layout.names, table, roles, reading.columns)
    wanted += [place for places in rivals.values() for place in places]
    fields = range(len(layout.names)) if also is None else [0, *roles.values(), *wanted]
    rows = TextRows(text, layout, name, list(fields), threads=reading.threads)
    missing = {word.casefold() for word in options.missing_words}

    def texts(place: int) -> tuple[NDArray[np.intp], list[str]]:
        codes, spellings = rows.texts(place)
        return codes, ["" if text.casefold() in missing else text for text in spellings]

    def numbers(place: int) -> NDArray[np.float64]:
        column = rows.column(place)
        column.rule = column.rule._replace(below=None, has_limits=False)
        return column.numbers()

    def cells(place: int, some: NDArray[np.intp]) -> list[str]:
        read = (rows.cell(place, row) for row in some.tolist())
        return [cell_text(cell, options.encoding) for cell in read]

    hole_table = HoleTable(
        name, layout.names, roles, len(rows), rows, texts, numbers, rows.column, cells
    )
    _refuse_rivals(hole_table, rivals)
    return hole_table


def _all_bytes(readinto: Callable[[memoryview], int]) -> bytes:
    """Return all bytes of a source."""
    parts, block = [], bytearray(_BLOCK)
    while count := readinto(memoryview(block)):
        parts.append(bytes(block[:count]))
    return b"".join(parts)


def _layout(
    text: bytes, table: Table, columns: Mapping[str, str], options: TableOptions, name: str
) -> tuple[TableLayout, Roles]:
    """Return a tuple: the layout of a text table, and the index of the column of each role."""
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
            if has_roles(names, table, columns):
                if best is None or len(names) > len(best[2]):
                    best = delimiter, row, names
                break
    if best is None:
        find_roles(likely, table, columns, name)
        message = f"{name} has no header line with the columns of the {table} table"
        raise RoleError(message)
    delimiter, row, names = best
    below = split_rows(head, delimiter, row.following, whole=whole)
    head_rows = (HeadRow("names", row), *vendor_rows(below, len(names), options.encoding))
    roles = find_roles(names, table, columns, name)
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
    """Return the decimal mark, inferred from the numbers in the first rows."""
    rows = [
        [cell_text(cell, options.encoding) for cell in row.cells]
        for row in islice(split_rows(head, delimiter, start, whole=whole), _SAMPLE)
    ]
    numeric = {place for role, place in roles.items() if role != "hole"}
    cells = _cells(rows, numeric)
    columns = [_cells(rows, {place}) for place in range(max(map(len, rows), default=0))]
    return decimal_mark(cells, columns, name, delimiter) or b"."


def _cells(rows: Iterable[Sequence[str]], places: set[int]) -> list[str]:
    """Return the cells of some columns, row by row; cells that a short row lacks are skipped."""
    return [row[place] for row in rows for place in sorted(places) if place < len(row)]
