"""Reads and writes STL, binary and ASCII."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, counted, warn
from geodomain.formats.mesh_text import (
    line_of,
    merge_equal,
    not_a_number,
    plain_lines,
    reading,
    truncated,
    word_at,
)
from geodomain.formats.registry import STL_HEADER, stl_facets
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_END_LINE = re.compile(rb"^[ \t]*end[ \t]*solid\b.*$", re.MULTILINE | re.IGNORECASE)
_FACET_LINE = re.compile(rb"^[ \t]*facet\b", re.MULTILINE | re.IGNORECASE)
_PIECE, _TAIL = 1 << 20, 1 << 12
_NUMBER, _VERTEX, _CUT, _CORNERS = range(1, 5)  # faults of kernels/text/stl.h


def read_binary(data: bytes, path: Path) -> Faces:
    """Return the facets of a binary STL, with its float32 coordinates as exact float64."""
    name = path.name
    count = stl_facets(data)
    whole = max(len(data) - STL_HEADER, 0) // FACET.itemsize
    if STL_HEADER + count * FACET.itemsize > len(data):
        raise truncated(name, f"{count:,} facets", f"the file has bytes for {whole:,}")
    if whole > count:
        _warn_of_rest(name, count, whole)
    facets = np.frombuffer(data, dtype=FACET, count=count, offset=STL_HEADER)
    soup = facets["corners"].reshape(-1, 3).astype(np.float64)
    return _facets(*merge_equal(soup), name, single=True)


def _warn_of_rest(name: str, count: int, whole: int) -> None:
    message = (
        f"{name} has bytes for {whole:,} facets, but its header declares {count:,}: only {count:,} "
        "facets are read; export the file again if facets are missing"
    )
    warn(message)


def read_ascii(data: bytes, path: Path) -> Faces:
    """Return the facets of all solids of an ASCII STL, with coordinates as the nearest float64."""
    name = path.name
    text = plain_lines(data)
    with reading("stl", text, _PIECE, end=_last_end(text, name)) as reader:
        vertex_count, corner_count, unsure_count, *fault = reader.counts(7)
        if fault[0]:
            raise _fault(fault, text, name)
        vertices, corners = np.empty((vertex_count, 3)), np.empty(corner_count, dtype=np.int64)
        unsure = np.empty((unsure_count, 3), dtype=np.int64)
        reader.take(vertices, corners, unsure)
        reader.round(vertices, unsure)
    if unsure_count:  # exact rounding may make vertices equal
        vertices, index = merge_equal(vertices)
        corners = index[corners]
    return _facets(vertices, corners, name, single=False)


def _last_end(text: bytes, name: str) -> int:
    """Return the byte position after the last 'endsolid'.

    Raises
    ------
    MeshError
        If no 'endsolid' follows the last facet, because the file may be cut between facets.
    """
    tail = max(len(text) - _TAIL, 0)
    ends = [m.end() for m in _END_LINE.finditer(text, tail)]
    ends = ends or [m.end() for m in _END_LINE.finditer(text)]
    if not ends or _FACET_LINE.search(text, ends[-1]):
        rest = "it ends without the line 'endsolid'"
        raise truncated(name, "a solid", f"{rest} (add that line if nothing is missing)")
    return ends[-1]


def _fault(report: list[int], text: bytes, name: str) -> MeshError:
    """Return the error for a fault in the text; `report` holds [fault, begin, end, count]."""
    fault, begin, end, count = report
    line = line_of(text, begin)
    if fault == _NUMBER:
        return not_a_number(f"{name}, line {line}", word_at(text, begin, end), whole=False)
    if fault == _CUT:
        message = (
            f"{name} is cut short: the facet before line {line} is incomplete;"
            " copy or export the file again"
        )
    elif fault == _VERTEX:
        shown = text[begin : begin + 200].split(b"\n")[0].decode("utf-8", "replace").strip()[:60]
        message = (
            f"{name}, line {line}: expected 'vertex x y z' inside a facet, not {shown!r};"
            " export the file again"
        )
    else:
        message = (
            f"{name}, line {line}: a facet has {counted(count, 'vertex', 'vertices')} instead of 3;"
            " export the file again"
        )
    return MeshError(message)


def _facets(
    vertices: NDArray[np.float64], corners: NDArray[np.int64], name: str, *, single: bool
) -> Faces:
    """Return the triangles; raise MeshError for a corner that is not finite."""
    finite = np.isfinite(vertices)
    if not finite.all():
        bad = np.flatnonzero(~finite.all(axis=1))
        first = int(np.argmax(np.isin(corners, bad)))
        place = ", ".join(map(str, vertices[corners[first]].tolist()))
        message = (
            f"facet {first // 3 + 1} of {name} has the corner ({place}), which is not finite:"
            " remove the facet and export the wireframe again"
        )
        raise MeshError(message)
    return Faces(vertices, corners, np.full(len(corners) // 3, 3), single)


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write binary STL, which has single precision only.

    Warns
    -----
    GeodomainWarning
        If rounding to single precision moves a vertex; the message gives the largest move.
    """
    with np.errstate(over="ignore"):
        rounded = mesh.vertices.astype(np.float32)
    if not np.isfinite(rounded).all():
        message = f"{mesh.name} has coordinates too large for STL: write .ply, .obj or .off instead"
        raise MeshError(message)
    _warn_of_moves(mesh, rounded)
    corners = rounded[mesh.triangles]
    facets = np.zeros(len(corners), dtype=FACET)
    facets["corners"] = corners
    facets["normal"] = _normals(corners)
    file.write(b"binary STL".ljust(80) + len(facets).to_bytes(4, "little"))
    file.write(facets.data)


def _normals(corners: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the unit normal (t, 3) of each triangle; zero for triangles without area."""
    wide = corners.astype(np.float64)
    normals = np.cross(wide[:, 1] - wide[:, 0], wide[:, 2] - wide[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0))


def _warn_of_moves(mesh: Mesh, rounded: NDArray[np.float32]) -> None:
    move = np.linalg.norm(rounded - mesh.vertices, axis=1).max(initial=0.0)
    if move == 0:
        return
    message = (
        f"STL has single precision only: writing {mesh.name} moves vertices by up to {move:.3g};"
        " write .ply, .obj or .off to keep the exact coordinates"
    )
    warn(message)
