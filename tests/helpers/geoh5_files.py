"""Workspaces of Geoscience ANALYST (geoh5), made from the published layout for the tests."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from late import h5py

from geodomain.formats.geoh5_workspace import KINDS

TYPES = {name: key for key, name in KINDS.items()}
CONTAINER = "61fbb4e8-a480-11e3-8d5a-2776bdf4f982"
HOLES = "825424fb-c2c6-4fea-9f2b-6cd00023d393"
POINT = np.dtype([("x", "<f8"), ("y", "<f8"), ("z", "<f8")])
NO_FLOAT, NO_INTEGER = 1.175494351e-38, -2147483648


class Maker:
    """A new workspace; each method adds an entity and returns its id."""

    def __init__(self, path: Path) -> None:
        self.file = h5py.File(path, "w")
        self.base = self.file.create_group("GEOSCIENCE")
        self._told(self.base, {"Version": 2.1, "Distance unit": "meter", "GA Version": "1"})
        for name in ("Data", "Groups", "Objects", "Types"):
            self.base.create_group(name)
        for name in ("Data types", "Group types", "Object types"):
            self.base["Types"].create_group(name)
        self._number = 0
        self.root = self._entity("Groups", "Workspace", self.kind("Group types", CONTAINER))
        self.base["Root"] = self.base["Groups"][self.root]

    def __enter__(self) -> Maker:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def new_id(self) -> str:
        self._number += 1
        return f"{{{uuid.UUID(int=self._number)}}}"

    def _told(self, group: Any, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            kind = h5py.string_dtype() if isinstance(value, str) else None
            group.attrs.create(name, value, dtype=kind)

    def kind(self, where: str, key: str, **told: Any) -> Any:
        """Return a type, which is made if it is not there."""
        types = self.base["Types"][where]
        key = f"{{{key.strip('{}')}}}"
        if key not in types:
            self._told(types.create_group(key), {"ID": key, "Name": key, **told})
        return types[key]

    def _entity(
        self, where: str, name: str, kind: Any, parent: str | None = None, **told: Any
    ) -> str:
        key = self.new_id()
        one = self.base[where].create_group(key)
        self._told(one, {"ID": key, "Name": name, **told})
        one["Type"] = kind
        if where != "Data":
            one.create_group("Data")
        if where == "Groups":
            one.create_group("Groups")
            one.create_group("Objects")
        if self._number > 1 and where != "Data":
            self.base["Groups"][parent or self.root].require_group(where)[key] = one
        return key

    def group(self, name: str, parent: str | None = None, kind: str = CONTAINER) -> str:
        return self._entity("Groups", name, self.kind("Group types", kind), parent)

    def object(
        self, kind: str, name: str, arrays: Mapping[str, Any], parent: str | None = None,
        **told: Any,
    ) -> str:  # fmt: skip
        one = self.kind("Object types", TYPES.get(kind, kind))
        told = {name.replace("_", " "): value for name, value in told.items()}
        if "Origin" in told:
            told["Origin"] = np.array(tuple(told["Origin"]), POINT)
        key = self._entity("Objects", name, one, parent, **told)
        for label, values in arrays.items():
            self.base["Objects"][key].create_dataset(label, data=values, compression="gzip")
        return key

    def surface(self, name: str, mesh: Any, parent: str | None = None) -> str:
        vertices = np.array([tuple(row) for row in mesh.vertices.tolist()], POINT)
        arrays = {"Vertices": vertices, "Cells": mesh.triangles.astype("<i4")}
        return self.object("Surface", name, arrays, parent)

    def blocks(
        self, name: str, edges: Sequence[Any], origin: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: float = 0.0, parent: str | None = None,
    ) -> str:  # fmt: skip
        names = (f"{axis} cell delimiters" for axis in "UVZ")
        arrays = {n: np.asarray(one, "<f8") for n, one in zip(names, edges, strict=True)}
        return self.object(
            "BlockModel", name, arrays, parent, Origin=origin, Rotation=float(rotation)
        )

    def octree(
        self, name: str, cells: Sequence[Sequence[int]], counts: Sequence[int],
        size: Sequence[float], origin: Sequence[float] = (0.0, 0.0, 0.0), rotation: float = 0.0,
    ) -> str:  # fmt: skip
        kind = [(axis, "<i4") for axis in ("I", "J", "K", "NCells")]
        rows = np.array([tuple(cell) for cell in cells], kind)
        told: dict[str, Any] = {f"N{a}": np.int32(n) for a, n in zip("UVW", counts, strict=True)}
        told |= {f"{a}_Cell_Size": float(one) for a, one in zip("UVW", size, strict=True)}
        return self.object(
            "Octree", name, {"Octree Cells": rows}, Origin=origin, Rotation=rotation, **told
        )

    def grid(
        self, name: str, counts: Sequence[int], size: Sequence[float],
        origin: Sequence[float] = (0.0, 0.0, 0.0), **told: Any,
    ) -> str:  # fmt: skip
        told |= {f"{a}_Count": np.int32(n) for a, n in zip("UV", counts, strict=True)}
        told |= {f"{a}_Size": float(one) for a, one in zip("UV", size, strict=True)}
        return self.object("Grid2D", name, {}, Origin=origin, **told)

    def data(
        self, owner: str, name: str, values: Any, primitive: str = "Float",
        names: Mapping[int, str] | None = None, association: str = "Cell",
    ) -> str:  # fmt: skip
        kind = self.kind("Data types", self.new_id(), **{"Primitive type": primitive})
        if names is not None:
            kind.create_dataset("Value map", data=value_map(names))
        key = self._entity("Data", name, kind, Association=association)
        self.base["Objects"][owner]["Data"][key] = self.base["Data"][key]
        if values is not None:
            self.base["Data"][key].create_dataset("Data", data=stored(values))
        return key

    def hole(
        self, name: str, collar: Sequence[float], surveys: Sequence[Sequence[float]],
        end: float, parent: str | None = None,
    ) -> str:  # fmt: skip
        """Add a hole that is an object of its own, as files of version 1 have them."""
        kind = [("Depth", "<f4"), ("Azimuth", "<f4"), ("Dip", "<f4")]
        arrays = {"Surveys": np.array([tuple(row) for row in surveys], kind)}
        told = {"Collar": np.array(tuple(collar), POINT), "End_of_hole": float(end)}
        return self.object("Drillhole", name, arrays, parent, **told)

    def holes(
        self, name: str, holes: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]],
        parent: str | None = None,
    ) -> str:  # fmt: skip
        """Add a group of concatenated holes, as files of version 2 have them.

        `holes` has for each name a collar, surveys (depth, azimuth, dip) and the end. `tables` has
        for each name a dictionary of columns: for each hole its values. The columns FROM and TO, or
        DEPTH, are named first.
        """
        key = self.group(name, parent, HOLES)
        group = self.base["Groups"][key]
        both = group.create_group("Concatenated Data")
        ids = {hole: self.new_id() for hole in holes}
        told: list[dict[str, Any]] = []
        arrays: dict[str, list[Any]] = {}
        index: dict[str, list[tuple[int, int, str, str]]] = {}
        nothing = f"{{{uuid.UUID(int=0)}}}"

        def put(label: str, values: Any, hole: str, data: str) -> None:
            start = sum(map(len, arrays.setdefault(label, [])))
            arrays[label].append(values)
            index.setdefault(label, []).append((start, len(values), ids[hole], data))

        kind = [("Depth", "<f4"), ("Azimuth", "<f4"), ("Dip", "<f4")]
        types: dict[str, Any] = {}
        for hole, (collar, surveys, end) in holes.items():
            place = "{" + ", ".join(map(str, map(float, collar))) + "}"
            mine = {
                "ID": ids[hole], "Name": hole, "Collar": place, "End of hole": float(end),
                "Object Type ID": f"{{{TYPES['Drillhole']}}}",
            }  # fmt: skip
            told.append(mine)
            put("Surveys", np.array([tuple(row) for row in surveys], kind), hole, nothing)
            made = []
            for table, columns in tables.items():
                some = [one for one, values in columns.items() if hole in values]
                if not some:
                    continue
                properties = []
                for column in some:
                    values = stored(columns[column][hole])
                    data = self.new_id()
                    sort = {"f": "Float", "i": "Integer", "O": "Text", "u": "Referenced"}
                    primitive = sort[values.dtype.kind]
                    if column not in types:
                        types[column] = self.kind(
                            "Data types", self.new_id(), **{"Primitive type": primitive}
                        )
                        if primitive == "Referenced":
                            names = columns[column]["names"]
                            types[column].create_dataset("Value map", data=value_map(names))
                    mine[f"Property:{column}"] = data
                    put(column, values, hole, data)
                    properties.append(data)
                    told.append({
                        "ID": data, "Name": column, "Association": "Cell",
                        "Type ID": types[column].attrs["ID"],
                    })  # fmt: skip
                made.append(self.new_id())
                style = "Depth table" if "DEPTH" in some else "Interval table"
                told.append({
                    "ID": made[-1], "Group Name": table, "Association": "Cell",
                    "Properties": properties, "Property Group Type": style,
                })  # fmt: skip
            put("Property Group IDs", np.array(made, h5py.string_dtype()), hole, nothing)
        rows = [json.dumps(one) for one in told]
        both.create_dataset("Attributes Jsons", data=np.array(rows, h5py.string_dtype()))
        for label in ("Data", "Index"):
            both.create_group(label)
        layout = [("Start index", "<u4"), ("Size", "<u4")]
        layout += [(part, h5py.string_dtype()) for part in ("Object ID", "Data ID")]
        for label, parts in arrays.items():
            where = both if label in ("Surveys", "Property Group IDs") else both["Data"]
            where.create_dataset(label, data=np.concatenate(parts), compression="gzip")
            both["Index"].create_dataset(label, data=np.array(index[label], layout))
        group.create_dataset(
            "Concatenated object IDs", data=np.array(list(ids.values()), h5py.string_dtype())
        )
        return key


def value_map(names: Mapping[int, str]) -> np.ndarray:
    layout = [("Key", "<u4"), ("Value", h5py.string_dtype())]
    return np.array([(0, "Unknown"), *names.items()], layout)


def stored(values: Any) -> np.ndarray:
    """Return values as they are stored: texts of variable length, numbers as they are."""
    found = np.asarray(values)
    return found.astype(h5py.string_dtype()) if found.dtype.kind == "U" else found


def tree(path: Path) -> dict[str, Any]:
    """Return every attribute and every array of a file, by the address of its HDF5 object.

    Entities occur in several lists; each is told once, under the first of its paths.
    """
    found: dict[str, Any] = {}
    with h5py.File(path, "r") as file:

        def look(group: Any, name: str) -> None:
            attributes = {key: np.asarray(one).tolist() for key, one in group.attrs.items()}
            found[name] = attributes
            for key in group:
                one, inner = group[key], f"{name}/{key}"
                if isinstance(one, h5py.Dataset):
                    found[inner] = (str(one.dtype), one[...].tolist())
                elif name.count("/") < 9:
                    look(one, inner)

        look(file, "")
    return found
