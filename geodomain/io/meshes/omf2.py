"""Reads and writes the surfaces of the Open Mining Format, version 2: a ZIP of Parquet files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes.omf_surface import Grid, grid_faces, no_surface
from geodomain.io.meshes.solids import NamedFaces
from geodomain.io.omf.refusal import refusing
from geodomain.io.omf.version2 import (
    COMMENT,
    INDEX,
    Project2,
    as_floats,
    member,
    packed_index,
    packed_table,
    require_pyarrow,
)
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return each surface by its name; those of composites too."""
    require_pyarrow(path.name, MeshError)
    with refusing(path.name, MeshError), zipfile.ZipFile(io.BytesIO(data)) as members:
        project = Project2(members, len(data), path.name, MeshError)
        elements = list(project.elements())
        kinds = [str(one["geometry"]["type"]) for one in elements]
        found = [
            (str(one.get("name", "")), _faces(project, one["geometry"]))
            for one, kind in zip(elements, kinds, strict=True)
            if kind in {"Surface", "GridSurface"}
        ]
        if not found:
            raise no_surface(path.name, kinds)
        return found


def _faces(project: Project2, geometry: Any) -> Faces:
    if geometry["type"] == "GridSurface":
        return _grid(project, geometry)
    place = project.table(geometry["vertices"])
    corners = project.numbers(geometry["triangles"], "abc")
    index = corners.astype(np.int64).reshape(-1)
    # What was rounded to float32 is as coarse as that wherever the origin is.
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
        heights = values.reshape(len(v) + 1, len(u) + 1).T  # u fastest, as cells of blocks
    axis_u, axis_v = (np.array(orient[key], dtype=np.float64) for key in "uv")
    return grid_faces(Grid(project.origin(orient), axis_u, axis_v, u, v, heights))


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write a surface a solid, in double precision."""
    require_pyarrow("the output", MeshError)
    elements = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members:
        for number, (name, mesh) in enumerate(solids.items()):
            arrays = {}
            told: list[tuple[str, str, NDArray[Any]]] = [
                ("vertices", "xyz", mesh.vertices),
                ("triangles", "abc", mesh.triangles),
            ]
            for place, (key, names, rows) in enumerate(told, 1):
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
