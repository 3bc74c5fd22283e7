"""Reads and writes Wavefront OBJ."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from geodomain.errors import MeshError, counted
from geodomain.formats.mesh_text import (
    line_of,
    not_a_number,
    number_lines,
    plain_lines,
    reading,
    word_at,
)
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

# Faults of kernels/text/obj.h.
_NUMBER, _WHOLE, _FINITE, _VERTEX, _FACE, _INDEX, _WEIGHT = range(1, 8)


def read(data: bytes, path: Path) -> Faces:
    """Return the vertices and faces of an OBJ file; skip everything else."""
    name = path.name
    text = plain_lines(data)
    with reading("obj", text) as reader:
        vertex_count, face_count, corner_count, unsure_count, *fault = reader.counts(8)
        if fault[0]:
            raise _fault(fault, text, vertex_count, name)
        vertices, sizes = np.empty((vertex_count, 3)), np.empty(face_count, dtype=np.int64)
        corners = np.empty(corner_count, dtype=np.int64)
        unsure = np.empty((unsure_count, 3), dtype=np.int64)
        reader.take(vertices, corners, sizes, unsure)
        reader.round(vertices, unsure)
    return Faces(vertices, corners, sizes)


def _fault(report: list[int], text: bytes, vertex_count: int, name: str) -> MeshError:
    """Return the error for a fault in the text; `report` holds [fault, begin, end, count]."""
    fault, begin, end, count = report
    place, word = f"{name}, line {line_of(text, begin)}", word_at(text, begin, end)
    if fault in (_NUMBER, _WHOLE):
        return not_a_number(place, word, whole=fault == _WHOLE)
    messages = {
        _FINITE: "a vertex is not finite; repair or remove it and export the wireframe again",
        _VERTEX: f"a vertex needs x, y and z, but has {counted(count, 'number')}; correct it or "
        "export the wireframe again",
        _FACE: f"a face has {counted(count, 'corner')}, but needs at least three; remove it and "
        "export the wireframe again",
        _INDEX: f"a face refers to vertex {word}, but the vertices are 1 to {vertex_count:,}; "
        "the file is damaged, export it again",
        _WEIGHT: f"a vertex has the fourth number {word}. Some programs divide x, y and z by it, "
        "and others do not; export the wireframe with three numbers per vertex",
    }
    return MeshError(f"{place}: {messages[fault]}")


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write OBJ with the shortest numbers that read back the same."""
    file.write(b"# geodomain\n")
    file.writelines(number_lines(mesh.vertices, "v "))
    file.writelines(number_lines(mesh.triangles.astype(np.int64) + 1, "f "))
