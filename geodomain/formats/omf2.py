"""OMF 2 files: a ZIP of an index of the elements and a Parquet file for each array."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import (
    Blocks,
    Destination,
    NewArrays,
    Values,
    as_category,
    as_numbers,
    as_text,
)
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import LatticeCells, SubBlocks, lattice, tensor_of
from geodomain.formats.omf import (
    Grid,
    damaged,
    grid_faces,
    no_surface,
    only_blocks,
    pick_model,
    refusing,
    require_lattice,
    require_room,
    surfaces_and_models,
)
from geodomain.formats.registry import split_name
from geodomain.formats.solids import NamedFaces, warn_of_repeats
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

COMMENT = b"Open Mining Format 2.0"
INDEX = "index.json.gz"


def require_pyarrow(file: str, error: type[GeodomainError]) -> None:
    """Raise an error if pyarrow, which reads and writes the Parquet files, is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        message = (
            f"{file} is OMF 2, which is read and written through pyarrow: install it with pip"
            " install 'geodomain[parquet]'"
        )
        raise error(message) from None


class Project2:
    """An OMF 2 project: the members of the ZIP, and the content of its index."""

    def __init__(
        self, members: zipfile.ZipFile, size: int, file: str, error: type[GeodomainError]
    ) -> None:
        self.members, self.size, self.file, self._error = members, size, file, error
        if not members.comment.startswith(COMMENT):
            message = (
                f"{file} is an early form of OMF 2 (of the Python package 2.0.0a0) that other "
                "programs cannot read: save it as OMF 1, or as Open Mining Format 2.0"
            )
            raise error(message)
        index = f"{file}: its index"
        packed = memory.read_member(members, INDEX, index, error)
        self.project: Any = json.loads(memory.inflate(packed, index, error, json=True))

    def refuse(self, fault: str) -> NoReturn:
        """Raise the error for a file that violates its format."""
        raise damaged(self.file, fault, self._error)

    def require_surface(self, nu: int, nv: int) -> None:
        """Refuse a surface with more cells than memory can hold."""
        what = f"{self.file}, with a surface of {nu:,} x {nv:,} cells,"
        memory.require(200.0 * nu * nv, what, self._error)

    def elements(self) -> Iterator[Any]:
        """Yield the elements in file order; a composite is replaced by its elements."""
        return _flat(self.project["elements"], 0)

    def origin(self, placed: Any) -> NDArray[np.float64]:
        """Return the offset of an element's coordinates: project origin plus element origin."""
        origin = np.array(self.project.get("origin") or (0, 0, 0), dtype=np.float64)
        total: NDArray[np.float64] = origin + np.array(
            placed.get("origin") or (0, 0, 0), dtype=np.float64
        )
        return total

    def steps(self, grid: Any, axes: str) -> list[NDArray[np.float64]]:
        """Return the sizes of cells along each axis of a regular or tensor grid."""
        if grid["type"] == "Tensor":
            return [self.numbers(grid[axis], ["scalar"])[:, 0] for axis in axes]
        counts = [int(count) for count in grid["count"]]
        if min(counts) < 0:
            self.refuse("a grid has a negative number of cells")
        memory.require(
            16 * sum(counts), f"{self.file}, with the grid that it declares,", self._error
        )
        return [
            np.full(count, float(size)) for count, size in zip(counts, grid["size"], strict=True)
        ]

    def table(self, entry: Any) -> Any:
        """Return a Parquet file of the ZIP as an Arrow table.

        The file is refused if it does not have the number of rows that the index declares.
        """
        import pyarrow.parquet

        what = f"{self.file}: {entry['filename']}"
        packed = memory.read_member(self.members, entry["filename"], what, self._error)
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(packed))
        count = file.metadata.num_rows
        if count != int(entry["item_count"]):
            fault = f"{entry['filename']} has {count:,} rows, not {entry['item_count']}"
            self.refuse(fault)
        columns = range(file.metadata.num_columns)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        size = sum(group.column(n).total_uncompressed_size for group in groups for n in columns)
        needed = max(size, 8 * count * file.metadata.num_columns)
        memory.require(needed, what, self._error)
        # If an Arrow thread released the bytes while Python ends, the process would abort.
        return file.read(use_threads=False)

    def numbers(self, entry: Any, names: Sequence[str]) -> NDArray[np.float64]:
        """Return k columns of a Parquet file of the ZIP as a float64 array (n, k)."""
        return as_floats(self.table(entry), names)


def as_floats(table: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Return k columns of an Arrow table as a float64 array (n, k)."""
    arrays = [table.column(name).to_numpy(zero_copy_only=False) for name in names]
    return np.column_stack([array.astype(np.float64) for array in arrays])


def _flat(elements: Any, depth: int) -> Iterator[Any]:
    if depth > 100:
        message = "composites that contain each other"
        raise ValueError(message)
    for element in elements:
        if element["geometry"]["type"] == "Composite":
            yield from _flat(element["geometry"]["elements"], depth + 1)
        else:
            yield element


def member(name: str) -> zipfile.ZipInfo:
    """Return a ZIP entry with a fixed time, so that equal content gives equal files."""
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def packed_index(project: Any) -> bytes:
    """Return the index as it is stored in the file: JSON, compressed with gzip."""
    return gzip.compress(json.dumps(project).encode(), mtime=0)


def packed_table(table: Any) -> bytes:
    """Return an Arrow table as the bytes of a Parquet file."""
    import pyarrow.parquet

    target = io.BytesIO()
    pyarrow.parquet.write_table(table, target, compression="gzip", use_dictionary=False)
    return target.getvalue()


# --- Surfaces of OMF 2: read and written.


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return each surface with its name, including surfaces in composites."""
    require_pyarrow(path.name, MeshError)
    with refusing(path.name, MeshError), zipfile.ZipFile(io.BytesIO(data)) as members:
        project = Project2(members, len(data), path.name, MeshError)
        elements = list(project.elements())
        kinds = [str(element["geometry"]["type"]) for element in elements]
        parts = [
            (str(element.get("name", "")), _faces(project, element["geometry"]))
            for element, kind in zip(elements, kinds, strict=True)
            if kind in {"Surface", "GridSurface"}
        ]
        if not parts:
            raise no_surface(path.name, kinds)
    warn_of_repeats([name for name, _ in parts], path.name)
    return parts


def _faces(project: Project2, geometry: Any) -> Faces:
    if geometry["type"] == "GridSurface":
        return _grid(project, geometry)
    place = project.table(geometry["vertices"])
    corners = project.numbers(geometry["triangles"], "abc")
    index = corners.astype(np.int64).reshape(-1)
    # The origin does not make float32 coordinates any finer.
    single = any(str(place.schema.field(name).type) == "float" for name in "xyz")
    vertices = as_floats(place, "xyz") + project.origin(geometry)
    return Faces(vertices, index, np.full(len(index) // 3, 3), single)


def _grid(project: Project2, geometry: Any) -> Faces:
    orient = geometry["orient"]
    u, v = project.steps(geometry["grid"], "uv")
    project.require_surface(len(u), len(v))
    heights = None
    if geometry.get("heights"):
        values = project.numbers(geometry["heights"], ["scalar"])[:, 0]
        heights = values.reshape(len(v) + 1, len(u) + 1).T  # u fastest, like the cells of blocks
    axis_u, axis_v = (np.array(orient[key], dtype=np.float64) for key in "uv")
    return grid_faces(Grid(project.origin(orient), axis_u, axis_v, u, v, heights))


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write one surface per solid, in double precision."""
    require_pyarrow("the output", MeshError)
    elements = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members:
        for number, (name, mesh) in enumerate(solids.items()):
            arrays = {}
            tables: list[tuple[str, str, NDArray[Any]]] = [
                ("vertices", "xyz", mesh.vertices),
                ("triangles", "abc", mesh.triangles),
            ]
            for place, (key, names, rows) in enumerate(tables, 1):
                title = f"{2 * number + place}.parquet"
                members.writestr(member(title), _parquet(rows, names))
                arrays[key] = {"filename": title, "item_count": len(rows)}
            elements.append({"name": name, "geometry": {"type": "Surface", **arrays}})
        project = {
            "name": next(iter(solids), ""),
            "application": "geodomain",
            "date": "1980-01-01T00:00:00Z",
            "elements": elements,
        }
        members.writestr(member(INDEX), packed_index(project))
        members.comment = COMMENT


def _parquet(rows: NDArray[Any], names: str) -> bytes:
    import pyarrow

    kind = pyarrow.float64() if rows.dtype.kind == "f" else pyarrow.uint32()
    schema = pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name in names])
    columns = [pyarrow.array(np.ascontiguousarray(column), kind) for column in rows.T]
    return packed_table(pyarrow.Table.from_arrays(columns, schema=schema))


# --- Blocks as a new file of OMF 2: a regular grid, sub-blocks of the largest size, or a tensor.

_EVEN = 1e-6
_MOST_PARTS = 1 << 16
Put = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class _Division:
    """Parent cells of equal size; for each block, its parent and its corners within the parent."""

    origin: Floats
    size: Floats
    counts: NDArray[np.int64]
    index: NDArray[np.int64]
    low: Floats
    high: Floats

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return, for each block, the index of its parent in the list of all parents.

        The parents are listed with u, the first axis, varying fastest.
        """
        along = self.index
        rows: NDArray[np.int64] = along[:, 0] + self.counts[0] * (
            along[:, 1] + self.counts[1] * along[:, 2]
        )
        return rows

    @property
    def is_regular(self) -> bool:
        """Whether each parent is one block."""
        full = float(self.counts.astype(np.float64).prod()) == len(self.index)
        whole = (np.abs(self.low) < _EVEN).all() and (np.abs(self.high - 1) < _EVEN).all()
        return full and bool(whole) and len(np.unique(self.rows)) == len(self.index)


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield the bytes of a new file with the given blocks.

    Raises
    ------
    TableError
        If centroids or sizes are missing, or if OMF cannot store the blocks: some of them do not
        fit into one cell of the largest block size, and they are not the cells of a tensor grid.
    """
    centroids, sizes, axes = blocks.centroids, blocks.box_sizes(path), blocks.axes
    require_pyarrow(path, TableError)
    if not len(centroids) or not np.isfinite(centroids).all() or not (sizes > 0).all():
        message = (
            f"{path}: there are no blocks, or some of them lack a centroid or a size, and OMF "
            "cannot store them: remove blocks that lack one"
        )
        raise TableError(message)
    local = centroids @ axes.T
    division = _divided(local, sizes)
    tensor = tensor_of(local, sizes) if division is None else None
    members: dict[str, bytes] = {}

    def put(arrays: dict[str, Any]) -> dict[str, Any]:
        import pyarrow

        table = pyarrow.table(arrays)
        name = f"{len(members) + 1}.parquet"
        members[name] = packed_table(table)
        return {"filename": name, "item_count": len(table)}

    geometry: dict[str, Any] = {"type": "BlockModel"}
    location, order = "Primitives", np.arange(len(centroids))
    if division is not None:
        origin = division.origin
        counts = division.counts.tolist()
        geometry["grid"] = {"type": "Regular", "size": division.size.tolist(), "count": counts}
        if division.is_regular:
            order = np.argsort(division.rows)
        else:
            location, geometry["subblocks"] = "Subblocks", _sub_blocks(division, put)
    elif tensor is not None:
        origin, order = tensor.origin, tensor.order
        steps = zip("uvw", tensor.steps, strict=True)
        geometry["grid"] = {
            "type": "Tensor",
            **{a: put({"scalar": lengths}) for a, lengths in steps},
        }
    else:
        message = (
            f"{path}: OMF cannot store these blocks, because some of them cross the boundaries of "
            "parent blocks of the largest size, and they are not the cells of a tensor grid: use "
            "the extension .vtu"
        )
        raise TableError(message)
    geometry["orient"] = {
        "origin": (origin @ axes).tolist(),
        **{name: axis.tolist() for name, axis in zip("uvw", axes, strict=True)},
    }
    attributes = [
        {"name": name, "location": location, "data": _data(values[order], put)}
        for name, values in blocks.others().items()
    ]
    stem = Path(path).stem
    element = {"name": stem, "attributes": attributes, "geometry": geometry}
    yield _archive(members, {"name": stem, "elements": [element]})


def _divided(local: Floats, sizes: Floats) -> _Division | None:
    """Assign each block to a parent cell; return None if some block does not fit into one parent.

    Parents have the largest block size, and their grid begins at the lowest corner of the model.
    """
    low, size = local - sizes / 2, sizes.max(axis=0)
    origin = low.min(axis=0)
    steps = (low - origin) / size
    index = np.floor(steps + _EVEN).astype(np.int64)
    begin = np.maximum(steps - index, 0.0)
    end = steps - index + sizes / size
    if (end > 1 + _EVEN).any():
        return None
    return _Division(origin, size, index.max(axis=0) + 1, index, begin, np.minimum(end, 1.0))


def _sub_blocks(division: _Division, put: Put) -> dict[str, Any]:
    """Return the index entry for sub-blocks.

    The sub-blocks lie on a regular grid within their parents if possible, otherwise at free
    positions.
    """
    parts = np.round(1 / (division.high - division.low).min(axis=0))
    low, high = division.low * parts, division.high * parts
    even = all((np.abs(bound - np.round(bound)) < _EVEN * parts).all() for bound in (low, high))
    regular = even and bool((parts <= _MOST_PARTS).all())
    ends = (np.round(low), np.round(high)) if regular else (division.low, division.high)
    kind = np.uint32 if regular else np.float64
    arrays: dict[str, Any] = {}
    named: Iterable[tuple[str, Any]] = zip(
        ("parent", "corner_min", "corner_max"), (division.index, *ends), strict=True
    )
    for what, values in named:
        typed = values.astype(np.uint32 if what == "parent" else kind)
        arrays |= {f"{what}_{axis}": typed[:, n] for n, axis in enumerate("uvw")}
    if regular:
        count = parts.astype(int).tolist()
        return {"type": "Regular", "count": count, "subblocks": put(arrays)}
    return {"type": "Freeform", "subblocks": put(arrays)}


def _data(values: Values, put: Put) -> dict[str, Any]:
    """Return the index entry for an attribute: numbers, or categories with their names."""
    import pyarrow

    if values.dtype.kind in "fiub":
        return {"type": "Number", "values": put({"number": values.astype(np.float64)})}
    texts = pyarrow.array([as_text(value) or None for value in values.tolist()], pyarrow.string())
    coded = texts.dictionary_encode()
    names = put({"name": coded.dictionary})
    return {
        "type": "Category",
        "values": put({"index": coded.indices.cast("uint32")}),
        "names": names,
    }


def _archive(members: Mapping[str, bytes], project: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    index = {"application": "geodomain", "date": "1980-01-01T00:00:00Z", **project}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(member(name), data)
        archive.writestr(member(INDEX), packed_index(index))
        archive.comment = COMMENT
    return out.getvalue()


# --- Block models of OMF 2: labels become a category attribute; all other members are copied.

_STEP = 1 << 24
_CELLS, _SUB_BLOCKS = "Primitives", "Subblocks"


def holds_blocks(path: str) -> bool:
    """Return whether a file, or the element of FILE:NAME, holds blocks and no surface."""
    place, wanted = split_name(path)
    return only_blocks(_kinds(place), place, wanted)


def contents(place: Path) -> list[tuple[str, bool]]:
    """Return the name of each surface and block model, and whether it is a block model."""
    return surfaces_and_models(_kinds(place), place)


def _kinds(place: Path) -> list[tuple[object, str]]:
    """Return the name and the type of each element of a file."""
    with refusing(place.name, TableError), zipfile.ZipFile(place) as members:
        project = Project2(members, place.stat().st_size, place.name, TableError)
        return [
            (element.get("name"), element["geometry"]["type"]) for element in project.elements()
        ]


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open the block model of a file; FILE:NAME selects one of several models."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    require_pyarrow(place.name, TableError)
    if digest is not None:
        digest.add_file(place)
    status = place.stat()
    with refusing(place.name, TableError):
        members = zipfile.ZipFile(place)
    with members:
        with refusing(place.name, TableError):
            project = Project2(members, status.st_size, place.name, TableError)
            store = Omf2Store(project, wanted, status)
        yield CellModel(store, options)


class Omf2Store:
    """An open block model of an OMF 2 file; see `CellStore`."""

    def __init__(self, project: Project2, wanted: str | None, status: os.stat_result) -> None:
        self.name, self.status, self._project = project.file, status, project
        elements = list(project.elements())
        kinds = [str(element["geometry"]["type"]) for element in elements]
        models = [
            (str(element.get("name") or Path(project.file).stem), element)
            for element, kind in zip(elements, kinds, strict=True)
            if kind == "BlockModel"
        ]
        self._element: Any = pick_model(models, wanted, project.file, kinds)
        self._parents = self._lattice(self._element["geometry"])
        divided = self._element["geometry"].get("subblocks")
        self.cells = self._sub_blocks(divided) if divided else self._parents
        self._location = _SUB_BLOCKS if divided else _CELLS
        self._entries = self._attributes()
        self.columns = tuple(str(attribute["name"]) for attribute in self._entries)
        self._held = lru_cache(maxsize=4)(self._read)

    def _lattice(self, geometry: Any) -> LatticeCells:
        orient = geometry["orient"]
        steps = self._project.steps(geometry["grid"], "uvw")
        axes = np.array([orient[axis] for axis in "uvw"], dtype=np.float64)
        origin = self._project.origin(orient)
        require_lattice(steps, origin, axes)
        require_room(steps, self.name)
        return lattice("blocks", steps, origin, axes)

    def _sub_blocks(self, entry: Any) -> SubBlocks:
        """Return the sub-blocks that the index entry `entry` describes."""
        table = self._project.table(entry["subblocks"])
        index, low, high = (
            as_floats(table, [f"{what}_{axis}" for axis in "uvw"])
            for what in ("parent", "corner_min", "corner_max")
        )
        regular = entry["type"] == "Regular"
        parts = np.array(entry["count"] if regular else (1, 1, 1), dtype=np.float64)
        blocks = SubBlocks(self._parents, index.astype(np.int64), low, high, parts)
        if (wrong := blocks.wrong()) is not None:
            self._project.refuse(f"sub-block {wrong + 1:,} lies outside its parent or the model")
        return blocks

    def _attributes(self) -> list[Any]:
        """List the attributes of blocks, then those of parent cells that have other names."""
        attributes = self._element.get("attributes") or []
        own = [attribute for attribute in attributes if attribute["location"] == self._location]
        names = {attribute["name"] for attribute in own}
        parents = [
            attribute
            for attribute in attributes
            if attribute["location"] == _CELLS and attribute["name"] not in names
        ]
        return own + (parents if self._location == _SUB_BLOCKS else [])

    def close(self) -> None:
        """Close the file."""
        self._project.members.close()

    @property
    def memory(self) -> int:
        """Memory in bytes for the sub-block arrays and one more array."""
        return 100 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"OMF 2, {self._element.get('name', '')!r}, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Return an attribute as numbers or texts; sub-blocks repeat the value of their parent."""
        with refusing(self.name, TableError):
            return self._held(column)

    def _read(self, column: int) -> Values:
        entry = self._entries[column]
        values = self._values(entry["data"], self.columns[column])
        rows = None
        if isinstance(self.cells, SubBlocks) and entry["location"] == _CELLS:
            rows = self.cells.rows
        count = self.cells.count if rows is None else self._parents.count
        if len(values) != count:
            self._project.refuse(f"{entry['name']!r} has {len(values):,} values, not {count:,}")
        return values if rows is None else values[rows]

    def _values(self, data: Any, name: str) -> Values:
        kind = data["type"]
        if kind not in ("Number", "Category", "Text", "Boolean"):
            message = (
                f"{self.name}: the column {name!r} holds {kind}, which is neither numbers nor text"
            )
            raise TableError(message)
        column = self._project.table(data["values"]).column(0)
        if kind == "Category":
            names = self._project.table(data["names"]).column(0).combine_chunks()
            column = names.take(column)
        if kind == "Boolean":
            column = column.cast("uint8")
        numbers = str(column.type) in ("float", "double", "int64", "uint8")
        if not numbers:
            return np.array(column.cast("string").to_pylist(), dtype=object)
        values: Values = column.to_numpy()
        return values

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Copy the members of the ZIP, then write the new arrays, and last the new index."""
        arrays, project = self._indexed(new)
        with tempfile.TemporaryFile() as made:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as out:
                for info in self._project.members.infolist():
                    if info.filename != INDEX:
                        _copy(self._project.members, info, out)
                for title, table in arrays.items():
                    out.writestr(member(title), packed_table(table))
                out.writestr(member(INDEX), packed_index(project))
                out.comment = self._project.members.comment
            made.seek(0)
            while part := made.read(_STEP):
                target.write(memoryview(part))

    def _indexed(self, new: NewArrays) -> tuple[dict[str, Any], Any]:
        """Return the new arrays by member name, and an index that lists them."""
        names = {info.filename for info in self._project.members.infolist()}
        arrays: dict[str, Any] = {}

        def put(table: Any) -> dict[str, Any]:
            number = len(names) + len(arrays)
            while f"{number}.parquet" in names | arrays.keys():
                number += 1
            arrays[f"{number}.parquet"] = table
            return {"filename": f"{number}.parquet", "item_count": len(table)}

        place: Any = self._element
        attributes = list(place.get("attributes") or [])
        for column, codes, old in new.items(self.values):
            data = _attribute_data(column, codes, old, put)
            if new.at is None:
                attributes.append({"name": column.name, "location": self._location, "data": data})
            else:
                was = self._entries[new.at]
                at = next(n for n, attribute in enumerate(attributes) if attribute is was)
                attributes[at] = {**was, "location": self._location, "data": data}
        # The element may be inside composites, so it is changed in a copy of the whole index.
        copies: dict[int, Any] = {}
        project = copy.deepcopy(self._project.project, copies)
        copies[id(place)]["attributes"] = attributes
        return arrays, project


def _attribute_data(
    column: NewColumn, codes: NewCells, old: Values | None, put: Any
) -> dict[str, Any]:
    """Return the index entry for a new attribute: numbers, or categories with their names."""
    import pyarrow

    if column.numeric:
        numbers = as_numbers(column, codes, old)
        kind = pyarrow.float64() if numbers.dtype.kind == "f" else pyarrow.int64()
        array = pyarrow.array(numbers, kind, from_pandas=True)
        return {"type": "Number", "values": put(pyarrow.table({"number": array}))}
    names, index = as_category(column, codes, old)
    array = pyarrow.array(index, mask=index < 0).cast(pyarrow.uint32())
    field = pyarrow.field("name", pyarrow.string(), nullable=False)
    texts = pyarrow.table([pyarrow.array(names, pyarrow.string())], pyarrow.schema([field]))
    values = put(pyarrow.table({"index": array}))
    return {"type": "Category", "values": values, "names": put(texts)}


def _copy(members: zipfile.ZipFile, info: zipfile.ZipInfo, out: zipfile.ZipFile) -> None:
    """Copy a member of a ZIP to another ZIP, piece by piece."""
    twin = zipfile.ZipInfo(info.filename, info.date_time)
    twin.compress_type, twin.external_attr = info.compress_type, info.external_attr
    large = info.file_size >= 1 << 31
    with members.open(info) as source, out.open(twin, "w", force_zip64=large) as target:
        shutil.copyfileobj(source, target, _STEP)
