"""Reads and writes PLY, text and binary; knows no other format."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from geodomain.errors import MeshError
from geodomain.io.meshes import ply_binary, ply_text
from geodomain.io.meshes.ply_header import Element, PlyHeader, read_header
from geodomain.io.meshes.ply_rows import FACE_LISTS
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh


def read(data: bytes, name: str) -> Faces:
    """Return the vertices and faces of a PLY file; other elements are passed over."""
    header = read_header(data, name)
    vertex, _ = (_element(header, title, name) for title in ("vertex", "face"))
    if any(element.name == "tristrips" and element.count for element in header.elements):
        message = f"{name} has triangle strips (tristrips), which are not read: export it as faces"
        raise MeshError(message)
    read_rows = ply_binary.read_rows if header.order else ply_text.read_rows
    columns = read_rows(data, header, {"vertex", "face"}, name)
    vertices = np.empty((vertex.count, 3))
    for axis, title in enumerate("xyz"):
        vertices[:, axis] = columns["vertex"][title]
    lists = next(columns["face"][title] for title in FACE_LISTS if title in columns["face"])
    kinds = {p.kind for p in vertex.properties if p.name in {"x", "y", "z"}}
    single = "f4" in kinds and bool(header.order)
    return Faces(vertices, lists.values.astype(np.int64), lists.sizes, single)


def _element(header: PlyHeader, title: str, name: str) -> Element:
    """Return an element that has what a mesh needs of it."""
    for element in header.elements:
        if element.name == title:
            _require_properties(element, name)
            return element
    message = f"{name} has no element '{title}', so it is no wireframe: export it with its faces"
    raise MeshError(message)


def _require_properties(element: Element, name: str) -> None:
    lists = {p.name for p in element.properties if p.length_kind}
    scalars = {p.name for p in element.properties if not p.length_kind}
    if element.name == "vertex" and not {"x", "y", "z"} <= scalars:
        message = f"the vertices of {name} have no properties x, y and z: export the file again"
        raise MeshError(message)
    if element.name == "face" and not lists & {*FACE_LISTS}:
        message = f"the faces of {name} have no list vertex_indices: export it with its faces"
        raise MeshError(message)
    if any(p.kind[0] == "f" for p in element.properties if p.name in FACE_LISTS):
        message = f"the faces of {name} number their vertices in floating point: export it again"
        raise MeshError(message)


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write little-endian binary PLY in double precision."""
    file.write(
        b"ply\nformat binary_little_endian 1.0\ncomment geodomain\n"
        b"element vertex %d\nproperty double x\nproperty double y\nproperty double z\n"
        b"element face %d\nproperty list uchar int vertex_indices\nend_header\n"
        % (len(mesh.vertices), len(mesh.triangles))
    )
    file.write(np.ascontiguousarray(mesh.vertices, dtype="<f8").data)
    rows = np.empty(len(mesh.triangles), dtype=[("size", "u1"), ("corners", "<i4", 3)])
    rows["size"] = 3
    rows["corners"] = mesh.triangles
    file.write(rows.data)
