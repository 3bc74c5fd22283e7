"""Reads and writes the surfaces of GOCAD's ASCII files (TSurf); knows no other format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.files.signatures import unify_lines
from geodomain.formats.mesh_text import decoded, floats, integers, logical_lines, number_lines
from geodomain.formats.solids import NamedFaces, listed
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

_VERTEX, _ATOM = {b"VRTX", b"PVRTX"}, {b"ATOM", b"PATOM"}
_WORD = re.compile(r'"([^"]*)"|(\S+)')  # of a line, in quotes or not
_AXES = {
    **dict.fromkeys(("x", "e", "east", "easting", "eastings"), "x"),
    **dict.fromkeys(("y", "n", "north", "northing", "northings"), "y"),
    **dict.fromkeys(("z", "elevation", "rl", "depth", "height", "altitude"), "z"),
}


@dataclass
class _Object:
    """One object on its way to faces: words as they stand, with the lines that they stand on."""

    kind: str
    name: str = ""
    depth: bool = False
    swapped: bool = False  # the axes are north, then east
    ids: list[bytes] = field(default_factory=list)
    places: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    atoms: list[bytes] = field(default_factory=list)
    atom_lines: list[int] = field(default_factory=list)
    corners: list[bytes] = field(default_factory=list)
    corner_lines: list[int] = field(default_factory=list)


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the triangles of each TSurf of a file; points, lines and grids are passed over."""
    file = path.name
    objects = list(_objects(unify_lines(data), file))
    surfaces = [one for one in objects if one.kind == "tsurf"]
    if not surfaces:
        kinds = listed(list(dict.fromkeys(one.kind for one in objects)))
        message = f"{file} is a GOCAD file of {kinds}, and only TSurf is a surface: export that"
        raise MeshError(message)
    parts = [(one.name, _faces(one, file)) for one in surfaces if one.corners]
    if not parts:
        message = f"{file} has GOCAD surfaces without triangles (TRGL): export them triangulated"
        raise MeshError(message)
    return parts


def _objects(text: bytes, file: str) -> Iterator[_Object]:
    """Yield the objects of a file, each from its line GOCAD to its END."""
    now: _Object | None = None
    braces = named = False
    for number, line in logical_lines(text):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        key = words[0].upper()
        if key == b"GOCAD" and not braces:
            if now is not None:
                raise _cut(file, f"the object before line {number} does not end")
            now = _Object(words[1].decode("latin-1").lower() if len(words) > 1 else "nothing")
        elif now is None:
            continue
        elif braces or b"{" in line:
            named = key.startswith(b"HEADER") if not braces else named
            inner, braces = _within_braces(line, opens=not braces)
            if named:
                _read_header(now, inner)
        elif key == b"END":
            yield now
            now = None
        elif now.kind == "tsurf":
            _read_line(now, key, words, number, file)
    if now is not None:
        raise _cut(file, "its last object has no line END")


def _within_braces(line: bytes, *, opens: bool) -> tuple[str, bool]:
    """Return what a line has between braces, and whether they are open after it.

    Braces within a value come in pairs: only the one that is over closes.
    """
    text = decoded(line).strip()
    if opens:
        text = text.partition("{")[2]
    closes = text.endswith("}") and text.count("}") > text.count("{")
    return text.removesuffix("}") if closes else text, not closes


def _read_header(now: _Object, text: str) -> None:
    """Take the name out of `name:VALUE` or `name = VALUE`, the first one that there is."""
    key, colon, value = text.partition(":" if ":" in text else "=")
    if colon and key.strip().lower() == "name" and not now.name:
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        now.name = value[1:-1] if quoted else value


def _read_axes(now: _Object, line: bytes, number: int, file: str) -> None:
    """Apply the order of axes, or refuse it, and refuse units that differ."""
    key, *words = (a or b for a, b in _WORD.findall(decoded(line)))
    if key.upper() == "AXIS_UNIT":
        units = [word.casefold() for word in words[:3]]
        if len(units) == 3 and len(set(units)) > 1 and "none" not in units:
            message = (
                f"{file}, line {number}: its axes are in {', '.join(words[:3])}: export the surface"
                " with one unit for all axes"
            )
            raise MeshError(message)
        return
    order = [_AXES.get(word.casefold(), "") for word in words[:3]]
    now.swapped = order[:2] == ["y", "x"] and order[2] in {"z", ""}
    wrong = any(axis and axis != expected for axis, expected in zip(order, "xyz", strict=False))
    if wrong and not now.swapped:
        message = (
            f"{file}, line {number}: its axes are {', '.join(words[:3])}: export the surface with"
            " the axes X, Y, Z"
        )
        raise MeshError(message)


def _read_line(now: _Object, key: bytes, words: list[bytes], number: int, file: str) -> None:
    """Sort one line of a TSurf."""
    if key in _VERTEX:
        _require_words(words, 5, number, file)
        now.ids.append(words[1])
        now.places += words[2:5]
        now.lines.append(number)
    elif key == b"TRGL":
        _require_words(words, 4, number, file)
        now.corners += words[1:4]
        now.corner_lines.append(number)
    elif key in _ATOM:
        _require_words(words, 3, number, file)
        now.atoms += words[1:3]
        now.atom_lines.append(number)
    elif key == b"ZPOSITIVE" and len(words) > 1:
        now.depth = words[1].strip(b'"').lower() == b"depth"
    elif key in {b"AXIS_NAME", b"AXIS_UNIT"}:
        _read_axes(now, b" ".join(words), number, file)


def _require_words(words: list[bytes], count: int, number: int, file: str) -> None:
    if len(words) < count:
        key = words[0].decode("latin-1")
        message = (
            f"{file}, line {number}: {key} needs {count - 1} numbers, but there are"
            f" {len(words) - 1}; export the surface again"
        )
        raise MeshError(message)


def _cut(file: str, found: str) -> MeshError:
    return MeshError(f"{file} is cut short: {found}; copy or export the file again")


def _faces(one: _Object, file: str) -> Faces:
    """Return the triangles of one object; an atom is the point that it refers to."""
    vertices = floats(one.places, file, lambda i: f"line {one.lines[i // 3]}").reshape(-1, 3)
    if one.depth:
        vertices[:, 2] *= -1
    if one.swapped:
        vertices = vertices[:, [1, 0, 2]]
    ids = integers(one.ids, file, lambda i: f"line {one.lines[i]}")
    atoms = integers(one.atoms, file, lambda i: f"line {one.atom_lines[i // 2]}").reshape(-1, 2)
    lines = np.array([*one.lines, *one.atom_lines])
    names, points = _points(ids, atoms, lines, file)
    corners = integers(one.corners, file, lambda i: f"line {one.corner_lines[i // 3]}")
    place = np.searchsorted(names, corners).clip(max=len(names) - 1)
    strange = names[place] != corners
    if strange.any():
        first = int(strange.argmax())
        message = (
            f"{file}, line {one.corner_lines[first // 3]}: a triangle has the corner"
            f" {corners[first]}, and the object has no vertex of that number; export it again"
        )
        raise MeshError(message)
    sizes = np.full(len(corners) // 3, 3, dtype=np.int64)
    return Faces(vertices, points[place], sizes)


def _points(
    ids: NDArray[np.int64], atoms: NDArray[np.int64], lines: NDArray[np.int64], file: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of vertices and atoms, sorted, and the row of the vertex of each."""
    rows = np.arange(len(ids))
    if len(atoms):
        known = dict(zip(ids.tolist(), rows.tolist(), strict=True))
        for line, (name, other) in zip(lines[len(ids) :], atoms.tolist(), strict=True):
            if other not in known:
                message = (
                    f"{file}, line {line}: an ATOM refers to vertex {other}, which is not before"
                    " it in its object; export the surface again"
                )
                raise MeshError(message)
            known.setdefault(name, known[other])
        rows = np.concatenate([rows, [known[other] for other in atoms[:, 1].tolist()]])
        ids = np.concatenate([ids, atoms[:, 0]])
    if not len(ids):
        message = f"{file} has a GOCAD surface with triangles and no vertices: export it again"
        raise MeshError(message)
    order = np.argsort(ids, kind="stable")
    names = ids[order]
    twice = names[1:] == names[:-1]
    if twice.any():
        at = int(twice.argmax()) + 1
        message = (
            f"{file}, line {lines[order[at]]}: vertex {names[at]} is there twice in one object;"
            " export the surface again"
        )
        raise MeshError(message)
    return names, rows[order]


def spelled(name: str) -> str:
    """Return a name as a header can hold it: braces that are not in pairs become round ones."""
    level = 0
    for character in name:
        level += (character == "{") - (character == "}")
        if level < 0:
            break
    return name if level == 0 else name.replace("{", "(").replace("}", ")")


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write a TSurf a solid, elevations upwards, numbers that read back the same."""
    for name, mesh in solids.items():
        # Quotes would be taken off, and a line that ends in \ goes on in the next one.
        value = f'"{name}"' if name[0] == name[-1] == '"' or name[-1] == "\\" else name
        file.write(f"GOCAD TSurf 1\nHEADER {{\nname:{value}\n}}\n".encode())
        file.write(b'GOCAD_ORIGINAL_COORDINATE_SYSTEM\nNAME Default\nAXIS_NAME "X" "Y" "Z"\n')
        file.write(b'AXIS_UNIT "m" "m" "m"\nZPOSITIVE Elevation\n')
        file.write(b"END_ORIGINAL_COORDINATE_SYSTEM\nTFACE\n")
        file.writelines(number_lines(mesh.vertices, "VRTX ", numbered=True))
        file.writelines(number_lines(mesh.triangles.astype(np.int64) + 1, "TRGL "))
        file.write(b"END\n")
