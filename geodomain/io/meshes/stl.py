"""Reads and writes STL, binary and ASCII; knows no other format."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, warn
from geodomain.io.meshes.merging import merge_equal
from geodomain.io.meshes.text import floats, truncated, unify_lines
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh

HEADER = 84
FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])

# A facet of ASCII STL is 21 words; the coordinates stand at these places.
_WORDS = 21
_KEYWORDS = {0: b"facet", 1: b"normal", 5: b"outer", 6: b"loop", 7: b"vertex", 11: b"vertex"}
_KEYWORDS |= {15: b"vertex", 19: b"endloop", 20: b"endfacet"}
_NUMBERS = (8, 9, 10, 12, 13, 14, 16, 17, 18)
_SOLID_LINE = re.compile(rb"^[ \t]*(?:end[ \t]*)?solid\b.*$", re.MULTILINE | re.IGNORECASE)
_END_LINE = re.compile(rb"^[ \t]*end[ \t]*solid\b.*$", re.MULTILINE | re.IGNORECASE)
_FACET_LINE = re.compile(rb"^[ \t]*facet\b", re.MULTILINE | re.IGNORECASE)
_CHUNK, _TAIL = 1 << 22, 1 << 12


def facet_count(head: bytes) -> int:
    """Return the number of facets that a binary header promises."""
    return int.from_bytes(head[80:84], "little")


def read_binary(data: bytes, name: str) -> Faces:
    """Return the facets of a binary STL, each float32 widened exactly."""
    count = facet_count(data)
    whole = max(len(data) - HEADER, 0) // FACET.itemsize
    if HEADER + count * FACET.itemsize > len(data):
        raise truncated(name, f"{count:,} facets", f"there are bytes for {whole:,}")
    if whole > count:
        _warn_of_rest(name, count, whole)
    facets = np.frombuffer(data, dtype=FACET, count=count, offset=HEADER)
    soup = facets["corners"].reshape(-1, 3).astype(np.float64)
    return _merged(soup, name, single=True)


def _warn_of_rest(name: str, count: int, whole: int) -> None:
    message = (
        f"{name} has bytes for {whole:,} facets, but its header promises {count:,}, and only those"
        " are read: export it again if any are missing"
    )
    warn(message)


def read_ascii(data: bytes, name: str) -> Faces:
    """Return the facets of all the solids of an ASCII STL, float64 as printed."""
    text = _to_last_end(unify_lines(data), name)
    blocks = []
    line, start = 1, 0
    while start < len(text):
        end = _end_of_chunk(text, start)
        chunk = text[start:end]
        block = _read_chunk(chunk, name, line)
        blocks.append(block)
        line += chunk.count(b"\n")
        start = end
    soup = np.concatenate(blocks) if blocks else np.empty((0, 3))
    return _merged(soup, name, single=False)


def _to_last_end(text: bytes, name: str) -> bytes:
    """Return the text to its last 'endsolid', whose absence alone tells a cut between facets."""
    tail = max(len(text) - _TAIL, 0)
    ends = [m.end() for m in _END_LINE.finditer(text, tail)]
    ends = ends or [m.end() for m in _END_LINE.finditer(text)]
    if not ends or _FACET_LINE.search(text, ends[-1]):
        found = "it ends without the line 'endsolid'"
        raise truncated(name, "a solid", f"{found} (add that line if nothing is missing)")
    return text[: ends[-1]]


def _end_of_chunk(text: bytes, start: int) -> int:
    """Return where to cut: after a line that ends a facet, or at the end."""
    end = start + _CHUNK
    while end < len(text):
        mark = text.find(b"\n", end)
        if mark < 0:
            break
        before = text[max(start, mark - 200) : mark].rstrip().rsplit(b"\n", 1)[-1]
        if before.strip().lower() == b"endfacet":
            return mark + 1
        end = mark + 1
    return len(text)


def _read_chunk(chunk: bytes, name: str, line: int) -> NDArray[np.float64]:
    """Return the corners (3 f, 3) of whole facets, at full speed where they are regular."""
    text = chunk.lower()
    words = (_SOLID_LINE.sub(b"", text) if b"solid" in text else text).split()
    count = len(words) // _WORDS
    regular = (
        b"_" not in text
        and len(words) == count * _WORDS
        and all(
            words[place::_WORDS].count(keyword) == count for place, keyword in _KEYWORDS.items()
        )
    )
    if not regular:
        return _read_lines(chunk, name, line)
    soup = np.empty((count, 9))
    try:
        for column, place in enumerate(_NUMBERS):
            soup[:, column] = np.array(words[place::_WORDS], dtype=np.float64)
    except ValueError:
        return _read_lines(chunk, name, line)
    return soup.reshape(-1, 3)


def _read_lines(chunk: bytes, name: str, first_line: int) -> NDArray[np.float64]:
    """Return the corners of facets written in an unusual way, line by line."""
    soup: list[list[bytes]] = []
    lines: list[int] = []
    opened = -1
    for number, raw in enumerate(chunk.split(b"\n"), first_line):
        words = raw.lower().split()
        if not words:
            continue
        if words[0] == b"facet":
            _require_closed(soup, opened, number, name)
            opened = len(soup)
        elif words[0] == b"vertex":
            if len(words) != 4 or opened < 0:
                message = (
                    f"{name}, line {number}: expected 'vertex x y z' inside a facet, not"
                    f" {raw.decode('utf-8', 'replace').strip()[:60]!r}; export the file again"
                )
                raise MeshError(message)
            soup.append(words[1:])
            lines.append(number)
        elif words[0] == b"endfacet":
            _require_three(soup, opened, number, name)
            opened = -1
    _require_closed(soup, opened, number, name)
    tokens = [word for words in soup for word in words]
    return floats(tokens, name, lambda i: f"line {lines[i // 3]}").reshape(-1, 3)


def _require_three(soup: list[list[bytes]], opened: int, number: int, name: str) -> None:
    found = len(soup) - opened if opened >= 0 else 0
    if found != 3:
        message = (
            f"{name}, line {number}: a facet ends with {found} vertices instead of 3;"
            " export the file again"
        )
        raise MeshError(message)


def _require_closed(soup: list[list[bytes]], opened: int, number: int, name: str) -> None:
    if opened >= 0:
        message = (
            f"{name} is cut short: the facet before line {number} does not end;"
            " copy or export the file again"
        )
        raise MeshError(message)


def _merged(soup: NDArray[np.float64], name: str, *, single: bool) -> Faces:
    """Return triangles that share corners where coordinates are equal."""
    finite = np.isfinite(soup)
    if not finite.all():
        good = finite.all(axis=1)
        first = int(np.argmin(good))
        place = ", ".join(map(str, soup[first].tolist()))
        message = (
            f"{name} has a corner that is not finite, ({place}), in facet {first // 3 + 1}:"
            " remove the facet and export the wireframe again"
        )
        raise MeshError(message)
    vertices, index = merge_equal(soup)
    return Faces(vertices, index, np.full(len(index) // 3, 3), single)


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write binary STL, which can hold single precision only.

    Warns
    -----
    GeodomainWarning
        If rounding moves a vertex, with the largest move.
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
    """Return unit normals (t, 3), zero for a triangle without area."""
    wide = corners.astype(np.float64)
    normals = np.cross(wide[:, 1] - wide[:, 0], wide[:, 2] - wide[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0))


def _warn_of_moves(mesh: Mesh, rounded: NDArray[np.float32]) -> None:
    move = np.linalg.norm(rounded - mesh.vertices, axis=1).max(initial=0.0)
    if move == 0:
        return
    message = (
        f"STL holds single precision only: writing {mesh.name} moves vertices by up to {move:.3g};"
        " write .ply, .obj or .off to keep them"
    )
    warn(message)
