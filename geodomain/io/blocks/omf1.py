"""Block models of OMF 1: labels become mapped data, and every byte of the other arrays stays.

Cells run along w first, then v, then u. New arrays are put before the JSON, which is written anew.
"""

from __future__ import annotations

import json
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Destination
from geodomain.io.blocks.cell_file import CellModel, refuse_columns
from geodomain.io.blocks.cells import LatticeCells, lattice
from geodomain.io.blocks.new_values import NewArrays, Values, as_category, as_numbers
from geodomain.io.blocks.omf_model import pick_model, require_lattice, require_room
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import Target
from geodomain.io.files.whole import FileBytes
from geodomain.io.header.options import TableOptions
from geodomain.io.meshes.solids import split_name
from geodomain.io.omf.refusal import refusing
from geodomain.io.omf.version1 import START, Project1

_STEP = 1 << 24


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a file, or FILE:NAME where it has several models."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    with FileBytes(place) as data:
        with refusing(place.name, TableError):
            store = Omf1Store(Project1(data, place.name, TableError), wanted, data.status)
        yield CellModel(store, options)


class Omf1Store:
    """A volume element of a file; see `CellStore`."""

    def __init__(self, project: Project1, wanted: str | None, status: os.stat_result) -> None:
        self.name, self.status, self._project = project.file, status, project
        elements = list(project.elements())
        volumes = [
            (str(one.get("name") or Path(project.file).stem), one)
            for one in elements
            if one["__class__"] == "VolumeElement"
        ]
        kinds = [one["__class__"] for one in elements]
        self._element: Any = pick_model(volumes, wanted, project.file, kinds)
        self.cells = self._lattice(project.objects[self._element["geometry"]])
        told = ((one, project.objects[one]) for one in self._element.get("data") or ())
        self._data = [(name, one) for name, one in told if one.get("location") == "cells"]
        self.columns = tuple(str(one.get("name", "")) for _, one in self._data)
        self._held = lru_cache(maxsize=4)(self._read)

    def _lattice(self, geometry: Any) -> LatticeCells:
        steps = [np.array(geometry[f"tensor_{axis}"], dtype=np.float64) for axis in "uvw"]
        axes = np.array([geometry[f"axis_{axis}"] for axis in "uvw"], dtype=np.float64)
        origin = self._project.origin(geometry)
        require_lattice(steps, origin, axes)
        require_room(steps, self.name)
        return lattice("blocks", steps, origin, axes, z_fastest=True)

    def close(self) -> None:
        """Close the file."""
        self._project.close()

    @property
    def memory(self) -> int:
        """The index and an array."""
        return 4 * (len(self._project.data) - self._project.start) + 16 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Say what the file is."""
        return {"format": f"OMF 1, {self._element.get('name', '')!r}, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Give the numbers or texts of some data."""
        with refusing(self.name, TableError):
            return self._held(column)

    def _read(self, column: int) -> Values:
        told = self._data[column][1]
        match told["__class__"]:
            case "ScalarData":
                return self._project.array(told["array"], self.cells.count)
            case "MappedData":
                return self._mapped(told)
            case "StringData" | "DateTimeData":
                return self._texts(self._project.objects[told["array"]]["array"])
        message = (
            f"{self.name}: {self.columns[column]!r} holds {told['__class__']}, neither numbers "
            "nor texts"
        )
        raise TableError(message)

    def _mapped(self, told: Any) -> Values:
        """Give the texts of a legend; the indices where none has texts."""
        index = self._project.array(told["array"], self.cells.count).astype(np.int64)
        objects = self._project.objects
        for legend in told["legends"]:
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
        """Write the arrays as they are, then the new ones, then the objects."""
        project, objects = self._project, dict(self._project.objects)
        element = dict(self._element)
        ids = list(element.get("data") or ())
        packed = []
        end = project.start
        for column, codes, old in new.each(self.values):
            place = None if new.at is None else self._data[new.at][0]
            made, raw = self._made(column, codes, old, end, place)
            objects.update(made)
            packed.append(raw)
            end += len(raw)
            if place is None:
                ids.append(next(reversed(made)))
        element["data"] = ids
        key = next(name for name, one in objects.items() if one is self._element)
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
        """Give the objects of new data, the data last, and the bytes of their array."""
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
        told = {"start": start, "dtype": kind, "length": len(raw)}
        made: dict[str, Any] = {array: {**dates, "array": told, "__class__": "ScalarArray"}}
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
        """Give an id that the file does not have, the same for the same file."""
        number = 0
        while True:
            found = str(uuid.uuid5(uuid.NAMESPACE_OID, f"geodomain {what} {number}"))
            if found not in self._project.objects:
                return found
            number += 1
