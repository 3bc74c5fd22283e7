"""OMF 1 files (omf 0.9 to 1.0): a header of 60 bytes, then arrays, then the objects as JSON."""

from __future__ import annotations

import json
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.errors import GeodomainError, MeshError, TableError
from geodomain.files.streams import FileBytes, Target, read_whole
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Destination, NewArrays, Values, as_category, as_numbers
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import LatticeCells, lattice
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
from geodomain.mesh.polygons import Faces
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

MAGIC = b"\x84\x83\x82\x81"
HEAD = 60
START = slice(52, 60)  # bytes of the header that give the start of the JSON
_TYPES = {"<f8", "<i8"}
Bytes = bytes | FileBytes


class Project1:
    """An OMF 1 project: the bytes of the file, and the objects of its JSON by id."""

    def __init__(self, data: Bytes, file: str, error: type[GeodomainError]) -> None:
        self.data, self.file, self._error = data, file, error
        if len(data) < HEAD:
            self.refuse("its header is cut short")
        self.start = int.from_bytes(data[START], "little")
        if self.start > len(data):
            self.refuse(f"its index starts at byte {self.start:,}, beyond the end of the file")
        memory.require_json(len(data) - self.start, f"{file}: its index", error)
        self.objects: dict[str, Any] = json.loads(bytes(data[self.start :]).decode("utf-8"))
        self.project: Any = self.objects[str(uuid.UUID(bytes=bytes(data[36:52])))]

    def refuse(self, fault: str) -> NoReturn:
        """Raise the error for a file that violates its format."""
        raise damaged(self.file, fault, self._error)

    def close(self) -> None:
        """Close the file."""
        if isinstance(self.data, FileBytes):
            self.data.close()

    def require_surface(self, nu: int, nv: int) -> None:
        """Refuse a surface with more cells than memory can hold."""
        what = f"{self.file}, with a surface of {nu:,} x {nv:,} cells,"
        memory.require(200.0 * nu * nv, what, self._error)

    def elements(self) -> Iterator[Any]:
        """Yield the elements in file order."""
        for name in self.project["elements"]:
            yield self.objects[name]

    def origin(self, geometry: Any) -> NDArray[np.float64]:
        """Return the offset of a geometry's coordinates: project origin plus geometry origin."""
        origin = np.array(self.project.get("origin") or (0, 0, 0), dtype=np.float64)
        total: NDArray[np.float64] = origin + np.array(
            geometry.get("origin") or (0, 0, 0), dtype=np.float64
        )
        return total

    def array(self, name: str, count: int | None = None) -> NDArray[np.float64 | np.int64]:
        """Return the numbers of a compressed array.

        If `count` is given, the array must have exactly that many numbers, and no more are
        decompressed.
        """
        entry = self.objects[name]["array"]
        start, length, kind = int(entry["start"]), int(entry["length"]), entry["dtype"]
        if kind not in _TYPES or start < 0 or length < 0 or start + length > len(self.data):
            self.refuse("an array extends beyond the end of the file, or has an unknown type")
        packed = bytes(self.data[start : start + length])
        if count is None:
            raw = memory.inflate(packed, f"{self.file}: an array", self._error)
        else:
            memory.require(8 * count, f"{self.file}: an array", self._error)
            raw = zlib.decompressobj().decompress(packed, 8 * count + 1)
        if len(raw) % 8 or (count is not None and len(raw) != 8 * count):
            wrong = f"does not contain {count:,} numbers"
            self.refuse(f"an array {'ends within a number' if count is None else wrong}")
        return np.frombuffer(raw, dtype=kind)


# --- Surfaces of OMF 1.


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return each surface element with its name; skip points, lines and volumes."""
    with refusing(path.name, MeshError):
        project = Project1(data, path.name, MeshError)
        elements = list(project.elements())
        surfaces = [element for element in elements if element["__class__"] == "SurfaceElement"]
        if not surfaces:
            raise no_surface(path.name, [element["__class__"] for element in elements])
        parts = [(str(element.get("name", "")), _faces(project, element)) for element in surfaces]
    warn_of_repeats([name for name, _ in parts], path.name)
    return parts


def _faces(project: Project1, element: Any) -> Faces:
    geometry = project.objects[element["geometry"]]
    origin = project.origin(geometry)
    if geometry["__class__"] == "SurfaceGridGeometry":
        return _grid(project, geometry, origin)
    vertices = project.array(geometry["vertices"]).reshape(-1, 3) + origin
    corners = project.array(geometry["triangles"]).reshape(-1).astype(np.int64)
    if len(corners) % 3:
        project.refuse("a surface has an incomplete triangle")
    return Faces(vertices, corners, np.full(len(corners) // 3, 3, dtype=np.int64))


def _grid(project: Project1, geometry: Any, origin: NDArray[np.float64]) -> Faces:
    u, v = (np.array(geometry[f"tensor_{axis}"], dtype=np.float64) for axis in "uv")
    axes = [np.array(geometry[f"axis_{axis}"], dtype=np.float64) for axis in "uv"]
    project.require_surface(len(u), len(v))
    heights = None
    if geometry.get("offset_w") is not None:
        shape = len(u) + 1, len(v) + 1
        # v fastest, like the cells of volumes
        heights = project.array(geometry["offset_w"]).astype(np.float64).reshape(shape)
    return grid_faces(Grid(origin, axes[0], axes[1], u, v, heights))


# --- Block models of OMF 1: labels become mapped data; all other arrays are copied byte for byte.

_STEP = 1 << 24


def holds_blocks(path: str) -> bool:
    """Return whether a file, or the element of FILE:NAME, holds blocks and no surface."""
    place, wanted = split_name(path)
    return only_blocks(_kinds(place), place, wanted)


def contents(place: Path) -> list[tuple[str, bool]]:
    """Return the name of each surface and block model, and whether it is a block model."""
    return surfaces_and_models(_kinds(place), place)


def _kinds(place: Path) -> list[tuple[object, str]]:
    """Return the name and the type of each element of a file."""
    with refusing(place.name, TableError):
        project = Project1(read_whole(place), place.name, TableError)
        return [(element.get("name"), element["__class__"]) for element in project.elements()]


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open the block model of a file; FILE:NAME selects one of several models."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    with FileBytes(place) as data:
        with refusing(place.name, TableError):
            store = Omf1Store(Project1(data, place.name, TableError), wanted, data.status)
        yield CellModel(store, options)


class Omf1Store:
    """An open volume element of an OMF 1 file; see `CellStore`."""

    def __init__(self, project: Project1, wanted: str | None, status: os.stat_result) -> None:
        self.name, self.status, self._project = project.file, status, project
        elements = list(project.elements())
        volumes = [
            (str(element.get("name") or Path(project.file).stem), element)
            for element in elements
            if element["__class__"] == "VolumeElement"
        ]
        kinds = [element["__class__"] for element in elements]
        self._element: Any = pick_model(volumes, wanted, project.file, kinds)
        self.cells = self._lattice(project.objects[self._element["geometry"]])
        items = ((key, project.objects[key]) for key in self._element.get("data") or ())
        self._data = [(name, data) for name, data in items if data.get("location") == "cells"]
        self.columns = tuple(str(data.get("name", "")) for _, data in self._data)
        self._held = lru_cache(maxsize=4)(self._read)

    def _lattice(self, geometry: Any) -> LatticeCells:
        steps = [np.array(geometry[f"tensor_{axis}"], dtype=np.float64) for axis in "uvw"]
        axes = np.array([geometry[f"axis_{axis}"] for axis in "uvw"], dtype=np.float64)
        origin = self._project.origin(geometry)
        require_lattice(steps, origin, axes)
        require_room(steps, self.name)
        return lattice("blocks", steps, origin, axes, order="zyx")

    def close(self) -> None:
        """Close the file."""
        self._project.close()

    @property
    def memory(self) -> int:
        """Memory in bytes for the index of the file and one array of a block attribute."""
        return 4 * (len(self._project.data) - self._project.start) + 16 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"OMF 1, {self._element.get('name', '')!r}, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Return a block attribute: its numbers or texts."""
        with refusing(self.name, TableError):
            return self._held(column)

    def _read(self, column: int) -> Values:
        data = self._data[column][1]
        match data["__class__"]:
            case "ScalarData":
                return self._project.array(data["array"], self.cells.count)
            case "MappedData":
                return self._mapped(data)
            case "StringData" | "DateTimeData":
                return self._texts(self._project.objects[data["array"]]["array"])
        message = (
            f"{self.name}: the column {self.columns[column]!r} holds {data['__class__']}, which is "
            "neither numbers nor text"
        )
        raise TableError(message)

    def _mapped(self, entry: Any) -> Values:
        """Return, for each block, a text from the legend of mapped data.

        If no legend has texts, the values are the blocks' indices into the legend.
        """
        index = self._project.array(entry["array"], self.cells.count).astype(np.int64)
        objects = self._project.objects
        for legend in entry["legends"]:
            values = objects[objects[legend]["values"]]
            if values["__class__"] == "StringArray":
                names = np.array([*map(str, values["array"]), ""], dtype=object)
                return names[np.where(index < 0, len(names) - 1, index)]
        return np.where(index < 0, np.nan, index)

    def _texts(self, texts: Any) -> Values:
        if len(texts) != self.cells.count:
            self._project.refuse(f"it has {len(texts):,} texts for {self.cells.count:,} cells")
        return np.array(texts, dtype=object)

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write the old arrays unchanged, then the new arrays, then the objects as JSON."""
        project, objects = self._project, dict(self._project.objects)
        element = dict(self._element)
        ids = list(element.get("data") or ())
        packed = []
        end = project.start
        for column, codes, old in new.items(self.values):
            place = None if new.at is None else self._data[new.at][0]
            made, raw = self._made(column, codes, old, end, place)
            objects.update(made)
            packed.append(raw)
            end += len(raw)
            if place is None:
                ids.append(next(reversed(made)))
        element["data"] = ids
        key = next(name for name, each in objects.items() if each is self._element)
        objects[key] = element
        for begin in range(0, project.start, _STEP):
            part = bytearray(project.data[begin : min(begin + _STEP, project.start)])
            if begin == 0:
                part[START] = end.to_bytes(8, "little")
            target.write(memoryview(part))
        for raw in (*packed, json.dumps(objects).encode()):
            target.write(memoryview(raw))

    def _made(
        self, column: NewColumn, codes: NewCells, old: Values | None, start: int, place: str | None
    ) -> tuple[dict[str, Any], bytes]:
        """Return a tuple: the JSON objects of a new attribute by id, and the bytes of its array.

        The object of the attribute itself comes last. `start` is the position of the array in the
        file. `place` is the id of the attribute that is replaced, or None.
        """
        dates = {
            key: self._element[key]
            for key in ("date_created", "date_modified")
            if key in self._element
        }
        texts, numbers = [""], as_numbers(column, codes, old) if column.numeric else None
        if numbers is None:
            texts, numbers = as_category(column, codes, old)
        kind = "<f8" if numbers.dtype.kind == "f" else "<i8"
        raw = zlib.compress(numbers.astype(kind).tobytes())
        name = column.name if place is None else self._project.objects[place]["name"]
        array, legend, strings, data = (
            self._new_id(f"{name} {what}") for what in ("array", "legend", "names", "data")
        )
        stored = {"start": start, "dtype": kind, "length": len(raw)}
        made: dict[str, Any] = {array: {**dates, "array": stored, "__class__": "ScalarArray"}}
        entry = {**dates, "name": name, "description": "", "array": array, "location": "cells"}
        if column.numeric:
            entry["__class__"] = "ScalarData"
        else:
            made[strings] = {**dates, "array": texts, "__class__": "StringArray"}
            titles = {"name": name, "description": "", "values": strings}
            made[legend] = {**dates, **titles, "__class__": "Legend"}
            entry |= {"legends": [legend], "__class__": "MappedData"}
        made[place or data] = entry
        return made, raw

    def _new_id(self, what: str) -> str:
        """Return an id that is not in the file; the same file always gives the same id."""
        number = 0
        while True:
            key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"geodomain {what} {number}"))
            if key not in self._project.objects:
                return key
            number += 1
