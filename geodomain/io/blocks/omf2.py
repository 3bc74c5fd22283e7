"""Block models of OMF 2: labels become a category attribute, and every other member stays.

Cells run along u first, then v, then w. Where a model has sub-blocks, they are the blocks.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
import zipfile
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
from geodomain.io.blocks.sub_blocks import SubBlocks
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import Target
from geodomain.io.header.options import TableOptions
from geodomain.io.meshes.solids import split_name
from geodomain.io.omf.refusal import refusing
from geodomain.io.omf.version2 import (
    INDEX,
    Project2,
    as_floats,
    member,
    packed_index,
    packed_table,
    require_pyarrow,
)

_STEP = 1 << 24
_CELLS, _SUB_BLOCKS = "Primitives", "Subblocks"


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a file, or FILE:NAME where it has several models."""
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
    """A block model of a file; see `CellStore`."""

    def __init__(self, project: Project2, wanted: str | None, status: os.stat_result) -> None:
        self.name, self.status, self._project = project.file, status, project
        elements = list(project.elements())
        kinds = [str(one["geometry"]["type"]) for one in elements]
        models = [
            (str(one.get("name") or Path(project.file).stem), one)
            for one, kind in zip(elements, kinds, strict=True)
            if kind == "BlockModel"
        ]
        self._element: Any = pick_model(models, wanted, project.file, kinds)
        self._parents = self._lattice(self._element["geometry"])
        divided = self._element["geometry"].get("subblocks")
        self.cells = self._sub_blocks(divided) if divided else self._parents
        self._location = _SUB_BLOCKS if divided else _CELLS
        self._told = self._attributes()
        self.columns = tuple(str(one["name"]) for one in self._told)
        self._held = lru_cache(maxsize=4)(self._read)

    def _lattice(self, geometry: Any) -> LatticeCells:
        orient = geometry["orient"]
        steps = self._project.steps(geometry["grid"], "uvw")
        axes = np.array([orient[axis] for axis in "uvw"], dtype=np.float64)
        origin = self._project.origin(orient)
        require_lattice(steps, origin, axes)
        require_room(steps, self.name)
        return lattice("blocks", steps, origin, axes)

    def _sub_blocks(self, told: Any) -> SubBlocks:
        """Read the blocks that parents are divided into."""
        table = self._project.table(told["subblocks"])
        index, low, high = (
            as_floats(table, [f"{what}_{axis}" for axis in "uvw"])
            for what in ("parent", "corner_min", "corner_max")
        )
        regular = told["type"] == "Regular"
        parts = np.array(told["count"] if regular else (1, 1, 1), dtype=np.float64)
        blocks = SubBlocks(self._parents, index.astype(np.int64), low, high, parts)
        if (wrong := blocks.wrong()) is not None:
            self._project.refuse(f"sub-block {wrong + 1:,} lies outside its parent or the model")
        return blocks

    def _attributes(self) -> list[Any]:
        """List the attributes of the blocks, then those of parents under other names."""
        told = self._element.get("attributes") or []
        own = [one for one in told if one["location"] == self._location]
        taken = {one["name"] for one in own}
        parents = [one for one in told if one["location"] == _CELLS and one["name"] not in taken]
        return own + (parents if self._location == _SUB_BLOCKS else [])

    def close(self) -> None:
        """Close the file."""
        self._project.members.close()

    @property
    def memory(self) -> int:
        """The arrays of sub-blocks, and one more."""
        return 100 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Say what the file is."""
        return {"format": f"OMF 2, {self._element.get('name', '')!r}, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Give the numbers or texts of an attribute, those of parents for each of their blocks."""
        with refusing(self.name, TableError):
            return self._held(column)

    def _read(self, column: int) -> Values:
        told = self._told[column]
        values = self._values(told["data"], self.columns[column])
        rows = None
        if isinstance(self.cells, SubBlocks) and told["location"] == _CELLS:
            rows = self.cells.rows
        count = self.cells.count if rows is None else self._parents.count
        if len(values) != count:
            self._project.refuse(f"{told['name']!r} has {len(values):,} values, not {count:,}")
        return values if rows is None else values[rows]

    def _values(self, told: Any, name: str) -> Values:
        kind = told["type"]
        if kind not in ("Number", "Category", "Text", "Boolean"):
            message = f"{self.name}: {name!r} holds {kind}, neither numbers nor texts"
            raise TableError(message)
        column = self._project.table(told["values"]).column(0)
        if kind == "Category":
            names = self._project.table(told["names"]).column(0).combine_chunks()
            column = names.take(column)
        if kind == "Boolean":
            column = column.cast("uint8")
        numbers = str(column.type) in ("float", "double", "int64", "uint8")
        if not numbers:
            return np.array(column.cast("string").to_pylist(), dtype=object)
        values: Values = column.to_numpy()
        return values

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write every member as it is, the new arrays, and the index last."""
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
        """Give the new arrays by the names of their members, and an index that has them."""
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
        for column, codes, old in new.each(self.values):
            data = _data(column, codes, old, put)
            if new.at is None:
                attributes.append({"name": column.name, "location": self._location, "data": data})
            else:
                was = self._told[new.at]
                at = next(n for n, one in enumerate(attributes) if one is was)
                attributes[at] = {**was, "location": self._location, "data": data}
        # The element may be inside composites: it is changed in a copy of the whole.
        copies: dict[int, Any] = {}
        project = copy.deepcopy(self._project.project, copies)
        copies[id(place)]["attributes"] = attributes
        return arrays, project


def _data(column: NewColumn, codes: NewCells, old: Values | None, put: Any) -> dict[str, Any]:
    """Give what the index says of new values: numbers, or categories with their names."""
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
    """Copy a member, a part at a time."""
    twin = zipfile.ZipInfo(info.filename, info.date_time)
    twin.compress_type, twin.external_attr = info.compress_type, info.external_attr
    large = info.file_size >= 1 << 31
    with members.open(info) as source, out.open(twin, "w", force_zip64=large) as target:
        shutil.copyfileobj(source, target, _STEP)
