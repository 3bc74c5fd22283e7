"""Workspaces of Geoscience ANALYST (geoh5): find objects, read arrays and data, and add data.

A workspace is an HDF5 file. It holds objects, their data and their types by id, and a tree of
groups that link to the objects. h5py reads and writes the file.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, TableError
from geodomain.files.streams import Target, require_seekable
from geodomain.formats.block_file import Values, as_category, as_numbers
from geodomain.formats.omf import damaged, refusing
from geodomain.formats.solids import listed
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.text import NewCells

# Kinds of objects by the id of their type.
KINDS = {
    "f26feba3-aded-494b-b9e9-b2bbcbe298e1": "Surface",
    "b020a277-90e2-4cd7-84d6-612ee3f25051": "BlockModel",
    "4ea87376-3ece-438b-bf12-3479733ded46": "Octree",
    "48f5054a-1c5c-4ca4-9048-80f36dc60a06": "Grid2D",
    "7caebf0e-d16e-11e3-bc69-e4632694aa37": "Drillhole",
    "202c5db1-a56d-4004-9cad-baafd8899406": "Points",
    "6a057fdc-b355-11e3-95be-fd84a7ffcb88": "Curve",
}
MODELS = ("BlockModel", "Octree")
# Kinds of groups: holes whose data are in the arrays of their group, and holes that are objects.
CONCATENATED, SINGLE = "concatenated holes", "holes"
_WORDS = {
    "Surface": "surface",
    "BlockModel": "block model",
    "Grid2D": "grid",
    CONCATENATED: "group of drillholes",
}
_SEVERAL = {"group of drillholes": "groups of drillholes"}
# Marks of missing values; "Unknown" is the text of the code 0 of referenced data.
_NO_FLOAT = (1.17549434e-38, 1.17549436e-38)  # around 1.175494351e-38, in 32 or 64 bits
_MISSING = 1.17549435e-38  # geoh5py writes this mark, and in 64 bits recognises no other
_NO_INTEGER = -2147483648
UNKNOWN = "Unknown"
STEP = 1 << 24  # bytes
_ROWS = 1 << 16  # texts at a time


# --- A workspace: its objects, with their names, groups and ids.


class Element(NamedTuple):
    """An object of a workspace.

    Attributes
    ----------
    name : str
    groups : tuple of str
        Names of the groups that contain the object, the outermost first.
    id : str
        Identifier, in lower case and with braces.
    kind : str
        Kind of object, such as "Surface".
    """

    name: str
    groups: tuple[str, ...]
    id: str
    kind: str

    @property
    def path(self) -> str:
        """The names of the groups and of the object, with "/" between them."""
        return "/".join((*self.groups, self.name))

    def is_called(self, wanted: str) -> bool:
        """Return whether a text is the object's name, a path that ends with it, or its id."""
        path = f"/{self.path}"
        return path.endswith(f"/{wanted.strip('/')}") or bare_id(wanted) == bare_id(self.id)


def bare_id(text: str) -> str:
    """Return an identifier in lower case and without braces."""
    return text.strip().strip("{}").lower()


def require_library(path: str, error: type[GeodomainError]) -> None:
    """Raise an error if h5py, which reads and writes workspaces, is not installed."""
    try:
        import h5py  # noqa: F401
    except ImportError:
        message = (
            f"{path} is a geoh5 workspace, which is read and written through h5py: install it with"
            " pip install 'geodomain[geoh5]'"
        )
        raise error(message) from None


@contextmanager
def opened(place: Path, error: type[GeodomainError]) -> Iterator[Workspace]:
    """Open a workspace for reading; it is closed at the end, and with it the lock on the file.

    Raises
    ------
    GeodomainError
        Of type `error`, if another program writes to the file, or the file is damaged, is not a
        workspace, or cannot be read without h5py.
    """
    require_seekable(place)
    require_library(place.name, error)
    import h5py

    with ExitStack() as stack:
        with refusing(place.name, error):
            try:
                file = stack.enter_context(h5py.File(place, "r"))
            except OSError as wrong:
                if isinstance(wrong, BlockingIOError) or "to lock file" in str(wrong):
                    raise _is_held(place.name, error) from None
                raise
            workspace = Workspace(file, place, error)
        yield workspace


def _is_held(file: str, error: type[GeodomainError]) -> GeodomainError:
    return error(
        f"{file} is open for writing in another program, such as Geoscience ANALYST: close it "
        "there, and repeat the command"
    )


class Workspace:
    """An open workspace.

    Attributes
    ----------
    base : h5py.Group
        The group that holds everything.
    error : type of GeodomainError
        Type of the errors about the file.
    elements : tuple of Element
        The objects that are not parts of another object, in the order of their ids.
    holes : tuple of Element
        The groups of drillholes.
    """

    def __init__(self, file: Any, place: Path, error: type[GeodomainError]) -> None:
        self.place, self.file, self.error = place, place.name, error
        names = list(file)
        self.base: Any = file.get("GEOSCIENCE", file[names[0]] if len(names) == 1 else None)
        if not all(
            name in (self.base if hasattr(self.base, "keys") else ())
            for name in ("Objects", "Types", "Groups")
        ):
            message = (
                f"{self.file} is an HDF5 file, but not a geoh5 workspace, because it has no "
                "objects, groups and types: save a workspace from Geoscience ANALYST as .geoh5"
            )
            raise error(message)
        self._kinds = {
            key: self._kind(entity) for key, entity in self.children(self.base["Objects"])
        }
        groups, self.holes = self._groups()
        self.elements = tuple(
            Element(name_of(entity), groups.get(key, ()), key, self._kinds[key])
            for key, entity in self.children(self.base["Objects"])
        )

    def refuse(self, fault: str) -> NoReturn:
        """Raise the error for a file that violates its format."""
        raise damaged(self.file, fault, self.error)

    def children(self, group: Any) -> Iterator[tuple[str, Any]]:
        """Yield the id and the HDF5 group of each entity in a list of entities.

        Links to other files are refused, because they could lead anywhere.
        """
        import h5py

        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                self.refuse(f"the link {name!r} leads out of its list of entities")
            yield name.lower(), group[name]

    def _kind(self, entity: Any) -> str:
        kind = entity["Type"]
        return KINDS.get(bare_id(attribute_text(kind, "ID")), attribute_text(kind, "Name", "?"))

    def _groups(self) -> tuple[dict[str, tuple[str, ...]], tuple[Element, ...]]:
        """Return the names of the groups of each object by its id, and the groups of drillholes."""
        groups_of: dict[str, tuple[str, ...]] = {}
        holes: list[Element] = []
        waiting: list[tuple[str, Any, tuple[str, ...]]] = []
        seen: set[str] = set()  # a damaged tree may lead to a group again and again
        if "Root" in self.base:
            root = self.base["Root"]
            waiting.append((attribute_text(root, "ID"), root, ()))
        while waiting:
            key, group, names = waiting.pop(0)
            objects = [each for each, _ in self.children(group.get("Objects", ()))]
            groups_of |= dict.fromkeys(objects, names)
            at_root = not names
            name = name_of(group) if at_root else names[-1]
            kind = CONCATENATED if "Concatenated Data" in group else SINGLE
            has_holes = any(self._kinds.get(each) == "Drillhole" for each in objects)
            if kind == CONCATENATED or has_holes:
                holes.append(Element(name, names[:-1], key.lower(), kind))
            for inner, entity in self.children(group.get("Groups", ())):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append((inner, entity, (*names, name_of(entity))))
        return groups_of, tuple(holes)

    def kind_of(self, key: str) -> str:
        """Return the kind of the object with an id."""
        return self._kinds.get(key.lower(), "")

    def entity(self, element: Element) -> Any:
        """Return the HDF5 group of an object or group."""
        return member(self.base[_LISTS.get(element.kind, "Objects")], element.id)

    def labels(self, kinds: Sequence[str]) -> dict[str, Element]:
        """Return the objects of some kinds by unique labels.

        The label of an object is its name if no other object has it, else its path if no other
        object has that, else its name and id.
        """
        those = [element for element in (*self.elements, *self.holes) if element.kind in kinds]
        names = Counter(element.name for element in those)
        paths = Counter(element.path for element in those)
        by_label: dict[str, Element] = {}
        for element in those:
            is_unique = element.groups and paths[element.path] == 1
            longer = element.path if is_unique else f"{element.name} {element.id}"
            by_label[element.name if names[element.name] == 1 else longer] = element
        return by_label

    def names(self, wanted: str, kinds: Sequence[str]) -> bool:
        """Return whether a text is the name, the path or the id of an object of some kinds."""
        labels = self.labels(kinds)
        return wanted in labels or any(element.is_called(wanted) for element in labels.values())

    def find(self, wanted: str | None, kinds: Sequence[str]) -> Element:
        """Return the object of some kinds that has a name, path or id, or the only such object.

        Raises
        ------
        GeodomainError
            If no object or several objects have the name; the message lists their labels.
        """
        labels, what = self.labels(kinds), _WORDS[kinds[0]]
        if wanted in labels:
            return labels[wanted]
        matching = {
            k: element
            for k, element in labels.items()
            if wanted is None or element.is_called(wanted)
        }
        if len(matching) == 1:
            return next(iter(matching.values()))
        if matching:
            called = "" if wanted is None else f" called {wanted!r}"
            several = _SEVERAL.get(what, f"{what}s")
            message = (
                f"{self.file} holds {len(matching)} {several}{called}: choose one of "
                f"{listed(list(matching))}, as {self.file}:NAME"
            )
        elif wanted is None or not labels:
            held = (
                listed(list(dict.fromkeys(element.kind for element in self.elements))) or "nothing"
            )
            message = f"{self.file} has no {what}: it holds {held}"
        else:
            folded = {name.casefold(): name for name in labels}
            close = get_close_matches(wanted.casefold(), folded, 1)
            hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
            message = f"{self.file} has no {what} {wanted!r}: it holds {listed(list(labels))}{hint}"
        raise self.error(message)

    # Arrays. A file may declare any number of values, so values are counted before memory is
    # allocated.

    def dataset(self, group: Any, name: str) -> Any:
        """Return an array of an entity, before it is read; refuse values in another file."""
        import h5py

        array = group.get(name)
        if not isinstance(array, h5py.Dataset) or array.ndim != 1 + (name == "Cells"):
            self.refuse(f"{name_of(group)!r} has no array {name!r}")
        if not _is_plain(array.id.get_type()):
            self.refuse(f"the array {name!r} holds neither usual numbers nor texts")
        other = h5py.h5o.get_info(array.id).fileno != h5py.h5o.get_info(self.base.id).fileno
        if other or array.external or array.is_virtual:
            self.refuse(f"the array {name!r} is in another file")
        return array

    def read(self, dataset: Any) -> NDArray[Any]:
        """Return all values of an array, if they fit into memory and the file."""
        what = f"{self.file}, with an array of {len(dataset):,} values,"
        needed, stored = 2.0 * dataset.dtype.itemsize * dataset.size, dataset.id.get_storage_size()
        memory.require(needed, what, self.error)
        memory.require_unpacked(needed, stored, what, self.error)
        values: NDArray[Any] = dataset[...]
        return values

    def place_of(self, entity: Any, name: str) -> Floats:
        """Return three coordinates that are an attribute of an entity."""
        values = np.asarray(attribute(entity, name))
        if values.dtype.names:
            values = np.array([values[axis] for axis in values.dtype.names])
        place = values.astype(np.float64).reshape(-1)
        if place.shape != (3,) or not np.isfinite(place).all():
            self.refuse(f"{name!r} is not three coordinates")
        return place

    def number(self, entity: Any, name: str, default: float | None = None) -> float:
        """Return a number that is an attribute of an entity."""
        if default is not None and name not in entity.attrs:
            return default
        values = np.asarray(attribute(entity, name), dtype=np.float64).reshape(-1)
        if values.shape != (1,) or not np.isfinite(values[0]):
            self.refuse(f"{name!r} is not a number")
        return float(values[0])

    def count(self, entity: Any, name: str) -> int:
        """Return a number of cells that is an attribute of an entity."""
        value = self.number(entity, name)
        if value != int(value) or not 0 < value < 2**31:
            self.refuse(f"{name!r} is {value:g}, which is not a number of cells")
        return int(value)


_LISTS = {CONCATENATED: "Groups", SINGLE: "Groups"}


def member(group: Any, key: str) -> Any:
    """Return the entity with an id from a list of entities; the case of ids may differ."""
    for spelled in (key, key.upper()):
        if spelled in group:
            return group[spelled]
    for name in group:
        if name.lower() == key.lower():
            return group[name]
    message = f"there is no entity {key}"
    raise KeyError(message)


def attribute(entity: Any, name: str) -> Any:
    """Return an attribute of an entity: a number, a text or a place."""
    if not _is_plain(entity.attrs.get_id(name).get_type()):
        message = f"{name!r} is neither a usual number nor a text"
        raise ValueError(message)
    return entity.attrs[name]


def attribute_text(entity: Any, name: str, default: str = "") -> str:
    """Return an attribute of an entity as text."""
    return text_of(attribute(entity, name)) if name in entity.attrs else default


def name_of(entity: Any) -> str:
    """Return the name of an entity."""
    return attribute_text(entity, "Name")


def _is_plain(kind: Any) -> bool:
    """Return whether values of an HDF5 type are usual numbers or texts, or rows of them.

    HDF5 crashes if damage turns texts into lists of variable length, or changes how the bits of
    numbers are used.
    """
    import h5py

    if isinstance(kind, h5py.h5t.TypeCompoundID):
        members = range(kind.get_nmembers())
        return all(_is_plain(kind.get_member_type(member)) for member in members)
    if isinstance(kind, h5py.h5t.TypeEnumID):
        return _is_plain(kind.get_super())
    return isinstance(kind, h5py.h5t.TypeStringID) or any(map(kind.equal, _usual_numbers()))


@cache
def _usual_numbers() -> tuple[Any, ...]:
    """Return the HDF5 types of numbers of 8 to 64 bits, in both orders of bytes."""
    import h5py

    names = [f"STD_{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64)]
    names += [f"IEEE_F{bits}" for bits in (16, 32, 64)]
    return tuple(getattr(h5py.h5t, f"{name}{order}") for name in names for order in ("LE", "BE"))


def text_of(value: object) -> str:
    """Return a text that h5py has read as bytes or str; anything else becomes text, too."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


# --- Data of an object: numbers and texts, one for each cell or interval.

_PRIMITIVES = ("Float", "Integer", "Referenced", "Boolean", "Text")


class Data(NamedTuple):
    """Data of an object.

    Attributes
    ----------
    name : str
    id : str
    entity : h5py.Group
    primitive : str
        Kind of values, such as "Float".
    """

    name: str
    id: str
    entity: Any
    primitive: str


def data_of(workspace: Workspace, entity: Any, association: str = "Cell") -> list[Data]:
    """Return the data of an object that are numbers or texts, one for each cell.

    Other data, such as pictures, dates and comments, are left out.
    """
    data = []
    for key, item in workspace.children(entity.get("Data", ())):
        primitive = attribute_text(item["Type"], "Primitive type")
        where = attribute_text(item, "Association")
        if primitive in _PRIMITIVES and where == association:
            data.append(Data(name_of(item), key, item, primitive))
    return sorted(data, key=lambda item: item.name)


def values_of(workspace: Workspace, data: Data, count: int) -> Values:
    """Return `count` values of data; values that the file leaves out at the end are missing."""
    if "Data" not in data.entity:
        return missing(data.primitive, count)
    dataset = workspace.dataset(data.entity, "Data")
    if len(dataset) > count:
        workspace.refuse(f"{data.name!r} has {len(dataset):,} values for {count:,} cells")
    raw = texts(workspace, dataset) if data.primitive == "Text" else dataset[...]
    values = decoded(raw, data.primitive, lambda: value_map(workspace, data.entity["Type"]))
    if len(values) == count:
        return values
    rest = missing(data.primitive, count - len(values))
    return np.concatenate([values, rest])


def missing(primitive: str, count: int) -> Values:
    """Return an array of missing values."""
    return (
        np.full(count, "", object)
        if primitive in ("Text", "Referenced")
        else np.full(count, np.nan)
    )


def decoded(raw: NDArray[Any], primitive: str, names: Callable[[], dict[int, str]]) -> Values:
    """Decode stored values: missing values become NaN or "", and codes become their texts."""
    if primitive == "Float":
        values = raw if raw.dtype.kind == "f" else raw.astype(np.float64)
        doubles = values.astype(np.float64)  # 32 bits would round the bounds to the mark itself
        none = (doubles > _NO_FLOAT[0]) & (doubles < _NO_FLOAT[1])
        return np.where(none, values.dtype.type(np.nan), values) if none.any() else values
    if primitive == "Integer":
        none = raw == _NO_INTEGER
        return np.where(none, np.nan, raw) if none.any() else raw
    if primitive == "Referenced":
        codes, index = np.unique(raw.astype(np.int64), return_inverse=True)
        texts = names()
        decoded_texts = [texts.get(code, str(code)) if code > 0 else "" for code in codes.tolist()]
        return np.array([*decoded_texts, ""], object)[index]
    return raw


def texts(workspace: Workspace, dataset: Any) -> NDArray[np.object_]:
    """Return an array of texts, read in parts, because a small file may repeat a text often."""
    what = f"{workspace.file}, with an array of {len(dataset):,} texts,"
    memory.require(64.0 * len(dataset), what, workspace.error)
    most = memory.most_unpacked(workspace.place.stat().st_size)
    values, total = np.empty(len(dataset), object), 0
    for begin in range(0, len(dataset), _ROWS):
        part = [text_of(text) for text in dataset[begin : begin + _ROWS].tolist()]
        total += sum(map(len, part))
        if total > most:
            workspace.refuse("its texts are longer than the file")
        values[begin : begin + _ROWS] = part
    return values


def value_map(workspace: Workspace, kind: Any) -> dict[int, str]:
    """Return the texts of the codes of referenced data."""
    if "Value map" not in kind:
        return {}
    rows = workspace.read(workspace.dataset(kind, "Value map"))
    return {int(key): text_of(text) for key, text in rows.tolist()}


# --- Write: a copy of the workspace, to which entities are added.


@contextmanager
def changed_copy(place: Path, target: Target) -> Iterator[Any]:
    """Yield the base group of a copy of a workspace, for changes; then write the copy."""
    import h5py

    with tempfile.TemporaryFile() as made:
        with place.open("rb") as source:
            shutil.copyfileobj(source, made, STEP)
        made.seek(0)
        with h5py.File(made, "r+") as file, refusing(place.name, TableError):
            yield file["GEOSCIENCE"] if "GEOSCIENCE" in file else file[next(iter(file))]
        made.seek(0)
        while part := made.read(STEP):
            target.write(memoryview(part))


class Encoded(NamedTuple):
    """Values in the form that is stored: primitive type, values, and texts of codes."""

    primitive: str
    values: NDArray[Any]
    names: Sequence[str] = ()


def encoded(column: NewColumn, codes: NewCells, old: Values | None) -> Encoded:
    """Return a new column in the form that is stored: numbers, or codes of texts, from 1 on."""
    if not column.numeric:
        names, index = as_category(column, codes, old)
        return Encoded("Referenced", (index + 1).astype(np.uint32), names)
    numbers = as_numbers(column, codes, old)
    if numbers.dtype == np.int32:
        return Encoded("Integer", numbers)
    return Encoded("Float", with_marks(numbers.astype(np.float64)))


def put_column(
    base: Any,
    owner: str,
    column: NewColumn,
    codes: NewCells,
    old: Values | None,
    replaced: str | None,
) -> None:
    """Add data to an object, or replace the values of its data with the id `replaced`."""
    made = encoded(column, codes, old)
    if replaced is None:
        kind = put_type(base, column.name, made)
        put_data(base, member(base["Objects"], owner), column.name, kind, made.values)
        return
    data = member(base["Data"], replaced)
    del data["Type"]
    if "Data" in data:
        del data["Data"]
    data["Type"] = put_type(base, name_of(data), made)
    put_array(data, "Data", made.values)


def put_data(base: Any, entity: Any, name: str, kind: Any, values: NDArray[Any]) -> None:
    """Add data on the cells of an object."""
    key = new_id(base, f"{attribute_text(entity, 'ID')} {name}")
    data = base["Data"].create_group(key)
    put_attributes(data, {
        **entity_attributes(key, name), "Association": "Cell", "Modifiable": np.int8(1),
        "Visible": np.int8(0),
    })  # fmt: skip
    data["Type"] = kind
    put_array(data, "Data", values)
    entity.require_group("Data")[key] = data


def entity_attributes(key: str, name: str) -> dict[str, object]:
    """Return the attributes that all groups, objects and data have."""
    yes, no = np.int8(1), np.int8(0)
    return {
        "Allow delete": yes, "Allow move": yes, "Allow rename": yes, "ID": key, "Name": name,
        "Partially hidden": no, "Public": yes, "Visible": yes,
    }  # fmt: skip


def with_marks(numbers: Floats) -> Floats:
    """Return numbers with the mark of missing values in place of NaN."""
    return np.where(np.isnan(numbers), _MISSING, numbers)


def put_type(base: Any, name: str, made: Encoded) -> Any:
    """Add a type of data, with the texts of its codes, and return its HDF5 group."""
    import h5py

    key = new_id(base, f"type of {name}")
    kind = base["Types"].require_group("Data types").create_group(key)
    put_attributes(kind, {
        "Description": name, "Hidden": np.int8(0), "ID": key, "Mapping": "equal_area",
        "Name": name, "Precision": np.int64(2), "Primitive type": made.primitive,
        "Scientific notation": np.int8(0), "Transparent no data": np.int8(1),
    })  # fmt: skip
    if made.primitive == "Referenced":
        rows = [(0, UNKNOWN), *((code, text) for code, text in enumerate(made.names, 1))]
        layout = np.dtype([("Key", "<u4"), ("Value", h5py.string_dtype())])
        put_array(kind, "Value map", np.array(rows, layout))
    return kind


def put_attributes(group: Any, attributes: Mapping[str, object]) -> None:
    """Add attributes to an HDF5 group; texts have variable length, as in other workspaces."""
    import h5py

    for name, value in attributes.items():
        kind = h5py.string_dtype() if isinstance(value, str) else None
        group.attrs.create(name, value, dtype=kind)


def put_array(group: Any, name: str, values: NDArray[Any]) -> None:
    """Add a compressed array to an HDF5 group."""
    import h5py

    packing = {"compression": "gzip", "compression_opts": 4} if len(values) else {}
    kind = h5py.string_dtype() if values.dtype.kind == "O" else None
    group.create_dataset(name, data=values, dtype=kind, **packing)


def new_id(base: Any, what: str) -> str:
    """Return an id that is not in the file; the same file always gives the same id."""
    number = 0
    while True:
        key = f"{{{uuid.uuid5(uuid.NAMESPACE_OID, f'geodomain {what} {number}')}}}"
        groups = (base["Data"], base["Objects"], base["Groups"], base["Types/Data types"])
        if not any(key in each for each in groups):
            return key
        number += 1
