"""Drillholes of geoh5 workspaces: collars, surveys and intervals as tables, flags as data.

A group of drillholes holds its holes in one of two ways. Files of version 2 concatenate the data of
all holes: an array for each column, an index that says which values belong to which hole, and the
attributes of holes, data and tables as JSON. In older files, and in other groups, each hole is an
object with data of its own.
"""

from __future__ import annotations

import json
import mmap
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.formats.block_file import Values, as_text
from geodomain.formats.geoh5_workspace import (
    CONCATENATED,
    MODELS,
    SINGLE,
    Element,
    Encoded,
    Workspace,
    attribute_text,
    changed_copy,
    data_of,
    decoded,
    encoded,
    member,
    missing,
    name_of,
    new_id,
    opened,
    put_array,
    put_data,
    put_type,
    text_of,
    texts,
    value_map,
    values_of,
)
from geodomain.formats.omf import refusing
from geodomain.formats.registry import split_name
from geodomain.formats.solids import listed
from geodomain.tables.new_columns import NewColumn, place_columns
from geodomain.tables.numbers import as_float64

Table = Literal["collar", "survey", "intervals"]
HOLE, FROM, TO = "BHID", "FROM", "TO"
_SINGLE_TABLE = "intervals"  # name of the table of holes that are objects
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf", re.IGNORECASE)
_NEAR = 1e-3  # a stored end of hole repeats the last station if it is as near as this


class Hole(NamedTuple):
    """A hole: its name and id, its collar, its end (NaN if unknown) and its stations."""

    name: str
    id: str
    collar: Floats
    end: float
    stations: Floats  # depth, azimuth and dip, (n, 3)


class Records(NamedTuple):
    """The intervals of a hole in a table.

    Attributes
    ----------
    hole : str
        Name of the hole.
    id : str
        Id of the hole.
    rows : int
        Number of intervals.
    columns : dict of str to Values
        FROM and TO, and then all other columns.
    data : dict of str to str
        Ids of the data of each column.
    group : str
        Id of the property group that makes the data a table; empty if there is none.
    """

    hole: str
    id: str
    rows: int
    columns: dict[str, Values]
    data: dict[str, str]
    group: str


class HoleColumns(NamedTuple):
    """A table of holes.

    Attributes
    ----------
    name : str
        Name of the table in messages.
    columns : dict of str to Values
    table : IntervalTable or None
        The intervals in the workspace; None for collars and surveys.
    has_stations : bool
        Whether the group of holes has a survey.
    """

    name: str
    columns: dict[str, Values]
    table: IntervalTable | None = None
    has_stations: bool = False


def read_columns(path: str, table: Table) -> HoleColumns:
    """Read the collars, the surveys or a table of intervals of a group of holes.

    Parameters
    ----------
    path : str
        FILE:GROUP, or FILE if only one group has holes. Intervals are FILE:GROUP/TABLE; the table
        may be left out if the group has only one.
    table : {"collar", "survey", "intervals"}

    Raises
    ------
    TableError
        If there is no such group or table, or the file is damaged.
    """
    place, wanted = split_name(path)
    with opened(place, TableError) as workspace, refusing(place.name, TableError):
        if table == "intervals":
            return _intervals(workspace, wanted)
        element = _group(workspace, wanted)
        holes = list(_holes_of(workspace, element).holes())
        name = f"{workspace.file}:{element.path}"
        columns = _collars(holes) if table == "collar" else _stations(holes)
        return HoleColumns(name, columns, has_stations=any(len(hole.stations) for hole in holes))


def holds_intervals(path: str) -> bool:
    """Return whether a path leads to intervals of holes, and not to a block model."""
    place, wanted = split_name(path)
    with opened(place, TableError) as workspace, refusing(place.name, TableError):
        if workspace.labels(MODELS) if wanted is None else workspace.names(wanted, MODELS):
            return False
        return any(
            wanted is None or _selects(wanted, element, name)
            for element in workspace.holes
            for name in _holes_of(workspace, element).tables()
        )


def _collars(holes: Sequence[Hole]) -> dict[str, Values]:
    places = np.array([hole.collar for hole in holes], np.float64).reshape(-1, 3)
    columns: dict[str, Values] = {HOLE: np.array([hole.name for hole in holes], object)}
    columns |= {axis: places[:, n] for n, axis in enumerate("XYZ")}
    ends = np.array([hole.end for hole in holes], np.float64)
    return columns if np.isnan(ends).all() else columns | {"DEPTH": ends}


def _stations(holes: Sequence[Hole]) -> dict[str, Values]:
    rows = np.concatenate([np.empty((0, 3)), *(hole.stations for hole in holes)])
    counts = [len(hole.stations) for hole in holes]
    names = np.repeat(np.array([hole.name for hole in holes], object), counts)
    return {HOLE: names} | {name: rows[:, n] for n, name in enumerate(("AT", "AZIMUTH", "DIP"))}


def _group(workspace: Workspace, wanted: str | None) -> Element:
    """Return the group of holes that a name, a path, or the path of a table selects."""
    _require_holes(workspace)
    if wanted is not None and not any(element.is_called(wanted) for element in workspace.holes):
        outer = wanted.rpartition("/")[0]
        if outer and any(element.is_called(outer) for element in workspace.holes):
            wanted = outer
    return workspace.find(wanted, (CONCATENATED, SINGLE))


def _require_holes(workspace: Workspace) -> None:
    if not workspace.holes:
        held = (
            listed(list(dict.fromkeys(element.kind for element in workspace.elements))) or "nothing"
        )
        message = f"{workspace.file} has no drillholes: it holds {held}"
        raise TableError(message)


def _intervals(workspace: Workspace, wanted: str | None) -> HoleColumns:
    """Return a table of intervals as columns, with one row for each interval."""
    _require_holes(workspace)
    tables: dict[str, tuple[Element, str]] = {}
    for label, element in workspace.labels((CONCATENATED, SINGLE)).items():
        for name in _holes_of(workspace, element).tables():
            tables[f"{label}/{name}"] = (element, name)
    selected = {
        label: (element, name)
        for label, (element, name) in tables.items()
        if wanted in (None, label) or _selects(str(wanted), element, name)
    }
    if len(selected) != 1:
        held = listed(list(selected or tables)) or "nothing"
        number = f"{len(selected)} tables" if selected else "no table"
        called = "" if wanted is None else f" {wanted!r}"
        message = (
            f"{workspace.file} has {number} of intervals{called}: choose one of {held}, as "
            f"{workspace.file}:GROUP/TABLE"
            if tables
            else f"{workspace.file} has holes, but no table of intervals (FROM and TO)"
        )
        raise TableError(message)
    ((label, (element, name)),) = selected.items()
    records = list(_holes_of(workspace, element).records(name))
    needed = 16.0 * sum(record.rows * (1 + len(record.columns)) for record in records)
    memory.require(needed, f"{workspace.file}:{label}, with its intervals,", TableError)
    columns = _joined(records)
    file = f"{workspace.file}:{label}"
    return HoleColumns(
        file, columns, IntervalTable(workspace.place, file, element, tuple(columns), tuple(records))
    )


def _selects(wanted: str, element: Element, table: str) -> bool:
    """Return whether a name selects a table: by its path, the end of the path, or its group."""
    own = Element(table, (*element.groups, element.name), "", "")
    if element.is_called(wanted) or own.is_called(wanted):
        return True
    group, _, name = wanted.rpartition("/")
    return name == table and bool(group) and element.is_called(group)


def _joined(records: Sequence[Records]) -> dict[str, Values]:
    """Return the intervals of all holes under each other; a hole may lack a column."""
    counts = [record.rows for record in records]
    names = np.repeat(np.array([record.hole for record in records], object), counts)
    columns: dict[str, Values] = {HOLE: names}
    for column in dict.fromkeys(name for record in records for name in record.columns):
        parts = [record.columns.get(column) for record in records]
        kinds = {part.dtype.kind for part in parts if part is not None and len(part)}
        if "O" in kinds:
            rows = [
                np.full(count, "", object) if part is None else _as_texts(part)
                for part, count in zip(parts, counts, strict=True)
            ]
        else:
            rows = [
                np.full(count, np.nan) if part is None else _as_numbers(part)
                for part, count in zip(parts, counts, strict=True)
            ]
        name = column
        while name in columns:
            name += "_"
        columns[name] = np.concatenate(rows) if rows else np.empty(0)
    return columns


def _as_numbers(values: Values) -> Values:
    """Return numbers; 32-bit floats become the shortest decimals that round to them."""
    return as_float64(values) if values.dtype.kind == "f" else values


def _as_texts(values: Values) -> Values:
    if values.dtype.kind == "O":
        return values
    return np.array([as_text(value) for value in _as_numbers(values).tolist()], object)


def _end(stored: float, stations: Floats, deepest: float) -> float:
    """Return the end of a hole, NaN if unknown.

    geoh5py stores the depth of the last station as the end, even if samples are deeper. Such an end
    is therefore moved to `deepest`, the largest TO of the hole.
    """
    if not np.isfinite(stored) or stored <= 0:
        return np.nan
    if len(stations) and abs(stations[:, 0].max() - stored) <= _NEAR:
        return max(stored, deepest)
    return stored


def _largest(depths: Values | None) -> float:
    """Return the largest of some depths, as the table has it; 0 if there is none."""
    if depths is None or depths.dtype.kind == "O" or not len(depths):
        return 0.0
    numbers = as_float64(depths)
    return float(np.nanmax(numbers)) if not np.isnan(numbers).all() else 0.0


def _rows_of_surveys(rows: NDArray[Any]) -> Floats:
    """Return depth, azimuth and dip, (n, 3), from the rows of an array of surveys."""
    columns = [as_float64(rows[name]) for name in ("Depth", "Azimuth", "Dip")]
    return np.column_stack(columns) if len(rows) else np.empty((0, 3))


# --- Holes whose data are concatenated.


class _Concatenated:
    """A group of concatenated holes."""

    def __init__(self, workspace: Workspace, group: Any) -> None:
        self._workspace = workspace
        self.group, self.both = group, group["Concatenated Data"]
        self._arrays: dict[str, NDArray[Any]] = {}
        self.entities = {
            text_of(entity["ID"]).lower(): entity for entity in self._attributes() if "ID" in entity
        }
        # Field, first value, number of values and hole of each data, by the id of the data. Surveys
        # have no id of their own: their key is the id of the hole.
        self.places: dict[str, tuple[str, int, int, str]] = {}
        self.surveys: dict[str, tuple[int, int]] = {}
        for field in self.both["Index"]:
            for start, size, owner, data in index_of(workspace, self.both, field):
                if field == "Surveys":
                    self.surveys[owner] = (start, size)
                else:
                    self.places[data] = (field, start, size, owner)

    def _attributes(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in attribute_texts(self._workspace, self.both)]

    def holes(self) -> Iterator[Hole]:
        """Yield the holes in file order."""
        surveys = self._read("Surveys") if "Surveys" in self.both else None
        deepest = self._deepest()
        for key in self._ids():
            entity = self.entities.get(key, {})
            stations = np.empty((0, 3))
            if surveys is not None and key in self.surveys:
                start, size = self.surveys[key]
                stations = _rows_of_surveys(surveys[start : start + size])
            collar = entity.get("Collar")
            words = _NUMBER.findall(collar if isinstance(collar, str) else json.dumps(collar))
            place = np.array([float(word) for word in words], np.float64)
            if place.shape != (3,):
                self._workspace.refuse(f"the hole {entity.get('Name', key)!r} has no collar")
            stored = float(entity.get("End of hole") or np.nan)
            end = _end(stored, stations, deepest.get(key, 0.0))
            yield Hole(str(entity.get("Name", key)), key, place, end, stations)

    def _deepest(self) -> dict[str, float]:
        """Return the largest TO of each hole in its tables, by the id of the hole."""
        deepest: dict[str, float] = {}
        for _, _, data in self._groups():
            if data[1] in self.places:
                _, _, size, owner = self.places[data[1]]
                values = self._values(data[1], size)
                deepest[owner] = max(deepest.get(owner, 0.0), _largest(values))
        return deepest

    def _ids(self) -> list[str]:
        rows = self._workspace.dataset(self.group, "Concatenated object IDs")
        return [text.lower() for text in texts(self._workspace, rows).tolist()]

    def _read(self, field: str) -> NDArray[Any]:
        """Return the values of a field of all holes, which are read once."""
        if field not in self._arrays:
            self._arrays[field] = field_of(self._workspace, self.both, field)
        return self._arrays[field]

    def _groups(self) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """Yield each table of intervals: its name, its attributes, and the ids of its data."""
        for entity in self.entities.values():
            data = [str(key).lower() for key in entity.get("Properties") or ()]
            if "Group Name" not in entity or len(data) < 2:
                continue
            names = [str(self.entities.get(key, {}).get("Name", "")).lower() for key in data[:2]]
            if "from" in names[0] and "to" in names[1]:
                yield str(entity["Group Name"]), entity, data

    def tables(self) -> list[str]:
        """Return the names of the tables of intervals."""
        return list(dict.fromkeys(name for name, _, _ in self._groups()))

    def records(self, table: str) -> Iterator[Records]:
        """Yield the intervals of each hole."""
        for name, entity, data in self._groups():
            if name != table or data[0] not in self.places:
                continue
            _, _, count, owner = self.places[data[0]]
            columns: dict[str, Values] = {}
            ids: dict[str, str] = {}
            for number, key in enumerate(data):
                if key not in self.places:
                    continue
                name_of_data = str(self.entities.get(key, {}).get("Name", key))
                column = (FROM, TO)[number] if number < 2 else name_of_data
                while column in columns:
                    column += "_"
                values = self._values(key, count)
                if values is not None:
                    columns[column], ids[column] = values, key
            for depth in (FROM, TO):
                if depth in columns and columns[depth].dtype.kind != "O":
                    columns[depth] = as_float64(columns[depth])
            hole = str(self.entities.get(owner, {}).get("Name", owner))
            yield Records(hole, owner, count, columns, ids, str(entity["ID"]).lower())

    def _values(self, key: str, count: int) -> Values | None:
        """Return the values of data; None if they are neither numbers nor texts."""
        field, start, size, _ = self.places[key]
        if size > count:
            self._workspace.refuse(f"{field!r} has {size:,} values for {count:,} intervals")
        kind = self._kind(key)
        primitive = attribute_text(kind, "Primitive type")
        if primitive not in ("Float", "Integer", "Referenced", "Boolean", "Text"):
            return None
        raw = self._read(field)[start : start + size]
        if primitive == "Text" and raw.dtype.kind != "O":
            return None
        values = decoded(raw, primitive, lambda: value_map(self._workspace, kind))
        if size < count:
            values = np.concatenate([values, missing(primitive, count - size)])
        return values

    def _kind(self, key: str) -> Any:
        """Return the HDF5 group of the type of data."""
        types = self._workspace.base["Types"]["Data types"]
        return member(types, str(self.entities.get(key, {}).get("Type ID", "")))


def attribute_texts(workspace: Workspace, both: Any) -> list[str]:
    """Return the attributes of holes, data and tables: a text of JSON for each entity."""
    name = "Attributes Jsons" if "Attributes Jsons" in both else "Attributes"
    rows: list[str] = texts(workspace, workspace.dataset(both, name)).tolist()
    size = sum(map(len, rows))
    memory.require_json(size, f"{workspace.file}: its attributes", TableError)
    if name == "Attributes Jsons":
        return rows
    return [json.dumps(entity) for row in rows for entity in json.loads(row)["Attributes"]]


def index_of(workspace: Workspace, both: Any, field: str) -> list[tuple[int, int, str, str]]:
    """Return each part of a field: first value, number of values, id of the hole, id of the data.

    A part outside the array of the field is refused.
    """
    rows = workspace.read(workspace.dataset(both["Index"], field)).tolist()
    where = both["Data"] if field in both["Data"] else both
    length = len(where[field]) if field in where else 0
    index = []
    for start, size, owner, data in rows:
        if start + size > length:
            workspace.refuse(f"the index of {field!r} leads beyond its {length:,} values")
        index.append((int(start), int(size), text_of(owner).lower(), text_of(data).lower()))
    return index


def field_of(workspace: Workspace, both: Any, field: str) -> NDArray[Any]:
    """Return the values of a field of all holes, as they are stored."""
    dataset = workspace.dataset(both["Data"] if field in both["Data"] else both, field)
    return texts(workspace, dataset) if dataset.dtype.kind == "O" else workspace.read(dataset)


# --- Holes that are objects.


class _Single:
    """A group of holes that are objects."""

    def __init__(self, workspace: Workspace, group: Any) -> None:
        self._workspace = workspace
        self._entities = [
            (key, entity)
            for key, entity in workspace.children(group["Objects"])
            if workspace.kind_of(key) == "Drillhole"
        ]

    def holes(self) -> Iterator[Hole]:
        """Yield the holes in file order."""
        deepest = {
            entity.id: _largest(entity.columns[TO]) for entity in self.records(_SINGLE_TABLE)
        }
        for key, entity in self._entities:
            stations = np.empty((0, 3))
            if "Surveys" in entity:
                dataset = self._workspace.dataset(entity, "Surveys")
                stations = _rows_of_surveys(self._workspace.read(dataset))
            stored = self._workspace.number(entity, "End of hole", 0.0)
            place = self._workspace.place_of(entity, "Collar")
            end = _end(stored, stations, deepest.get(key, 0.0))
            yield Hole(name_of(entity), key, place, end, stations)

    def tables(self) -> list[str]:
        """Return the name of the only table of intervals, if a hole has intervals."""
        return [_SINGLE_TABLE] if any(True for _ in self.records(_SINGLE_TABLE)) else []

    def records(self, table: str) -> Iterator[Records]:
        """Yield the intervals of each hole that has any."""
        for key, entity in self._entities:
            data = data_of(self._workspace, entity)
            depths = {d.name.strip().upper(): d for d in data}
            if FROM not in depths or TO not in depths or "Data" not in depths[FROM].entity:
                continue
            count = len(self._workspace.dataset(depths[FROM].entity, "Data"))
            memory.require(16.0 * count, f"{self._workspace.file}, with its intervals,", TableError)
            columns: dict[str, Values] = {}
            ids: dict[str, str] = {}
            for each in (depths[FROM], depths[TO], *data):
                if each.id in ids.values():
                    continue
                column = each.name.strip().upper() if len(columns) < 2 else each.name
                while column in columns:
                    column += "_"
                columns[column] = values_of(self._workspace, each, count)
                ids[column] = each.id
            for depth in (FROM, TO):
                columns[depth] = as_float64(columns[depth])
            yield Records(name_of(entity), key, count, columns, ids, "")


def _holes_of(workspace: Workspace, element: Element) -> _Concatenated | _Single:
    group = workspace.entity(element)
    if element.kind == CONCATENATED:
        return _Concatenated(workspace, group)
    return _Single(workspace, group)


# --- Flags of intervals, as data of their holes in a copy of the workspace.


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """A table of intervals in a workspace, to which columns can be added.

    Attributes
    ----------
    place : Path
        The workspace.
    name : str
        Name of the table in messages.
    element : Element
        The group of holes.
    columns : tuple of str
        Names of the columns.
    records : tuple of Records
        The intervals of each hole, in the order of the rows of the table.
    """

    place: Path
    name: str
    element: Element
    columns: tuple[str, ...]
    records: tuple[Records, ...]

    def written(
        self,
        rows: NDArray[np.intp] | None,
        depths: Mapping[str, Mapping[int, float]],
        columns: Sequence[tuple[NewColumn, NDArray[Any]]],
    ) -> memoryview:
        """Return a copy of the workspace with new columns in the table.

        Parameters
        ----------
        rows : (m,) intp, optional
            The interval of each row of the output, if intervals are split.
        depths : mapping
            New values of FROM and TO for some rows of the output.
        columns : sequence of tuple
            New columns, each with an array of values by row: codes of texts, or numbers if the
            column is measured.
        """
        place_columns(
            self.columns, (), [column for column, _ in columns], replace=False, name=self.name
        )
        made = [(column.name, encoded(column, codes, None)) for column, codes in columns]
        if rows is not None and self.element.kind == SINGLE:
            message = (
                f"{self.name}: each hole is an object of its own in this workspace, so its "
                "intervals cannot be split there: use by='majority', or save the holes as a "
                "concatenated group of Geoscience ANALYST"
            )
            raise TableError(message)
        with tempfile.TemporaryFile() as file:
            with changed_copy(self.place, _File(file)) as base:
                if self.element.kind == SINGLE:
                    self._put_single(base, made)
                else:
                    _Adding(self, base).put(rows, depths, made)
            file.flush()
            # The pages stay in the file, so that a large workspace is not held in memory.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _put_single(self, base: Any, made: Sequence[tuple[str, Encoded]]) -> None:
        for name, values in made:
            kind = put_type(base, name, values)
            first = 0
            for record in self.records:
                part = values.values[first : first + record.rows]
                put_data(base, member(base["Objects"], record.id), name, kind, part)
                first += record.rows


class _File:
    """A file as a target for `changed_copy`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: memoryview) -> int:
        """Write bytes."""
        return int(self._file.write(data))


class _Adding:
    """Columns that are added to a table of concatenated holes."""

    def __init__(self, table: IntervalTable, base: Any) -> None:
        self._table, self._base = table, base
        self._group = member(base["Groups"], table.element.id)
        self._both = self._group["Concatenated Data"]
        self._style = "Attributes Jsons" if "Attributes Jsons" in self._both else "Attributes"
        raw = [text_of(entity) for entity in self._both[self._style][...].tolist()]
        self._texts: list[str] = []
        if self._style == "Attributes":
            entities = [entity for text in raw for entity in json.loads(text)["Attributes"]]
        else:
            self._texts = raw
            entities = [json.loads(text) for text in raw]
        self._entities: list[dict[str, Any]] = entities
        self._at = {str(entity.get("ID", "")).lower(): n for n, entity in enumerate(entities)}

    def put(
        self,
        rows: NDArray[np.intp] | None,
        depths: Mapping[str, Mapping[int, float]],
        made: Sequence[tuple[str, Encoded]],
    ) -> None:
        """Split intervals, if `rows` are given, and add the columns."""
        records = self._table.records
        counts = np.array([record.rows for record in records], np.intp)
        starts = np.concatenate([[0], np.cumsum(counts)])
        whole = np.arange(starts[-1]) if rows is None else rows
        # In the output, as in the table, the rows of a hole follow each other.
        ends = np.searchsorted(whole, starts)
        if rows is not None:
            self._split(rows, depths, starts, ends)
        changed: set[int] = set()
        for name, values in made:
            kind = put_type(self._base, name, values)
            parts = []
            for number, record in enumerate(records):
                key = new_id(self._base, f"{record.id} {self._table.element.id} {name}")
                parts.append((record.id, key, values.values[ends[number] : ends[number + 1]]))
                changed |= self._add_data(record, name, key, attribute_text(kind, "ID"))
            self._append(name.replace("/", "\u2044"), parts)
        self._write_attributes(changed)

    def _add_data(self, record: Records, name: str, key: str, kind: str) -> set[int]:
        """Add data to the attributes of a hole and of its table; return the positions of both."""
        hole, group = self._at[record.id], self._at[record.group]
        attributes = self._entities[hole]
        if f"Property:{name}" in attributes:
            message = (
                f"{self._table.name}: the hole {record.hole!r} has data {name!r} in another table: "
                "choose another name with column="
            )
            raise TableError(message)
        attributes[f"Property:{name}"] = key
        self._entities[group]["Properties"].append(key)
        depth = self._entities[self._at[record.data[FROM]]]
        self._entities.append({
            "Allow delete": True, "Allow move": True, "Allow rename": True, "ID": key,
            "Name": name, "Partially hidden": False, "Public": True, "Visible": False,
            "Association": depth.get("Association", "Depth"), "Modifiable": True, "Type ID": kind,
        })  # fmt: skip
        return {hole, group}

    def _write_attributes(self, changed: set[int]) -> None:
        """Write the attributes; the texts of unchanged entities stay the same."""
        import h5py

        if self._style == "Attributes":
            rows = [json.dumps({"Attributes": self._entities}, indent=4)]
        else:
            rows = list(self._texts)
            for number in changed:
                rows[number] = json.dumps(self._entities[number])
            rows += [json.dumps(entity) for entity in self._entities[len(rows) :]]
        del self._both[self._style]
        put_array(self._both, self._style, np.array(rows, h5py.string_dtype()))

    def _append(self, field: str, parts: Sequence[tuple[str, str, NDArray[Any]]]) -> None:
        """Add values of some holes to a field; make the field if it is missing."""
        import h5py

        layout = np.dtype([
            ("Start index", "<u4"), ("Size", "<u4"),
            ("Object ID", h5py.string_dtype()), ("Data ID", h5py.string_dtype()),
        ])  # fmt: skip
        data, index = self._both["Data"], self._both["Index"]
        values = [data[field][...]] if field in data else []
        rows = [index[field][...].astype(layout)] if field in index else []
        start = sum(map(len, values))
        for owner, key, part in parts:
            values.append(part)
            rows.append(np.array([(start, len(part), owner, key)], layout))
            start += len(part)
        for where in (data, index):
            if field in where:
                del where[field]
        put_array(data, field, np.concatenate(values))
        put_array(index, field, np.concatenate(rows))

    def _split(
        self,
        rows: NDArray[np.intp],
        depths: Mapping[str, Mapping[int, float]],
        starts: NDArray[np.intp],
        ends: NDArray[np.intp],
    ) -> None:
        """Repeat the values of all columns for the pieces of each interval."""
        new: dict[str, tuple[NDArray[np.intp], Mapping[int, float], int]] = {}
        for number, record in enumerate(self._table.records):
            part = slice(int(ends[number]), int(ends[number + 1]))
            local = rows[part] - starts[number]
            for key in map(str.lower, self._entities[self._at[record.group]]["Properties"]):
                role = next((name for name, data in record.data.items() if data == key), "")
                new[key] = (local, depths.get(role, {}), part.start)
        data, index = self._both["Data"], self._both["Index"]
        for field in list(data):
            entries = index[field][...]
            if not any(text_of(key).lower() in new for key in entries["Data ID"]):
                continue
            old, values, at = data[field][...], [], 0
            for row in entries:
                start, size = int(row["Start index"]), int(row["Size"])
                piece = old[start : start + size]
                key = text_of(row["Data ID"]).lower()
                if key in new:
                    local, new_depths, first = new[key]
                    piece = piece[local[local < size]].copy()
                    for place, depth in new_depths.items():
                        if first <= place < first + len(piece):
                            piece[place - first] = depth
                row["Start index"], row["Size"] = at, len(piece)
                values.append(piece)
                at += len(piece)
            kinds = (data[field].dtype, index[field].dtype)
            del data[field], index[field]
            put_array(data, field, np.concatenate(values).astype(kinds[0]))
            put_array(index, field, entries.astype(kinds[1]))
