"""GOCAD's ASCII files: reads and writes surfaces (TSurf), and reads block models (Voxet).

A Voxet has a text header and one file of numbers per property. A property has a value at each node
of a lattice, stored with u varying fastest. Each node is read as the centre of a block. Voxets are
not written, so a labelled Voxet is saved in a different format.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import MeshError, TableError
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import Destination, NewArrays, Values
from geodomain.formats.cell_file import CellModel, blocks_of, refuse_columns, write_blocks
from geodomain.formats.cells import LatticeCells
from geodomain.formats.mesh_text import decoded, floats, integers, logical_lines, number_lines
from geodomain.formats.omf import pick_model
from geodomain.formats.registry import split_name, unify_lines
from geodomain.formats.solids import NamedFaces, listed, warn_of_repeats
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions

# --- Surfaces.

_VERTEX, _ATOM = {b"VRTX", b"PVRTX"}, {b"ATOM", b"PATOM"}
_WORD = re.compile(r'"([^"]*)"|(\S+)')  # in a header line, quoted or not
_AXES = {
    **dict.fromkeys(("x", "e", "east", "easting", "eastings"), "x"),
    **dict.fromkeys(("y", "n", "north", "northing", "northings"), "y"),
    **dict.fromkeys(("z", "elevation", "rl", "depth", "height", "altitude"), "z"),
}


@dataclass
class _Object:
    """A GOCAD object while it is read: its words, and their line numbers for messages."""

    kind: str
    name: str = ""
    depth: bool = False
    swapped: bool = False  # set if the axes are north, then east
    ids: list[bytes] = field(default_factory=list)
    places: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    atoms: list[bytes] = field(default_factory=list)
    atom_lines: list[int] = field(default_factory=list)
    corners: list[bytes] = field(default_factory=list)
    corner_lines: list[int] = field(default_factory=list)


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the triangles of each TSurf in a file; skip points, lines and grids."""
    file = path.name
    objects = list(_objects(unify_lines(data), file))
    surfaces = [each for each in objects if each.kind == "tsurf"]
    if not surfaces:
        kinds = listed(list(dict.fromkeys(each.kind for each in objects)))
        message = (
            f"{file} is a GOCAD file with {kinds}, but only TSurf objects are surfaces: "
            "export a TSurf"
        )
        raise MeshError(message)
    parts = [(each.name, _faces(each, file)) for each in surfaces if each.corners]
    if not parts:
        message = f"{file} has GOCAD surfaces without triangles (TRGL): export them triangulated"
        raise MeshError(message)
    warn_of_repeats([name for name, _ in parts], file)
    return parts


def _objects(text: bytes, file: str) -> Iterator[_Object]:
    """Yield the objects of a file, each from its line GOCAD to its line END."""
    now: _Object | None = None
    braces = named = False
    for number, line in logical_lines(text):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        key = words[0].upper()
        if key == b"GOCAD" and not braces:
            if now is not None:
                raise _cut(file, f"the object before line {number} has no line END")
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
    """Return a tuple: the part of a line within header braces, and whether the header continues.

    Braces within a value come in pairs; only an unpaired brace closes the header.
    """
    text = decoded(line).strip()
    if opens:
        text = text.partition("{")[2]
    closes = text.endswith("}") and text.count("}") > text.count("{")
    return text.removesuffix("}") if closes else text, not closes


def _read_header(now: _Object, text: str) -> None:
    """Set the object's name from the first `name:VALUE` or `name = VALUE` of its header."""
    key, colon, value = text.partition(":" if ":" in text else "=")
    if colon and key.strip().lower() == "name" and not now.name:
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        now.name = value[1:-1] if quoted else value


def _read_axes(now: _Object, line: bytes, number: int, file: str) -> None:
    """Read a line of axis names or axis units.

    Refuse axes other than x, y and z, and refuse axes with different units.
    """
    key, *words = (a or b for a, b in _WORD.findall(decoded(line)))
    if key.upper() == "AXIS_UNIT":
        units = [word.casefold() for word in words[:3]]
        if len(units) == 3 and len(set(units)) > 1 and "none" not in units:
            message = (
                f"{file}, line {number}: the axes have the units {', '.join(words[:3])}: export "
                "the surface with one unit for all axes"
            )
            raise MeshError(message)
        return
    order = [_AXES.get(word.casefold(), "") for word in words[:3]]
    now.swapped = order[:2] == ["y", "x"] and order[2] in {"z", ""}
    wrong = any(axis and axis != expected for axis, expected in zip(order, "xyz", strict=False))
    if wrong and not now.swapped:
        message = (
            f"{file}, line {number}: the axes are {', '.join(words[:3])}: export the surface with"
            " the axes X, Y, Z"
        )
        raise MeshError(message)


def _read_line(now: _Object, key: bytes, words: list[bytes], number: int, file: str) -> None:
    """Read one line of a TSurf."""
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
            f"{file}, line {number}: {key} needs {count - 1} numbers, but has {len(words) - 1}; "
            "export the surface again"
        )
        raise MeshError(message)


def _cut(file: str, what: str) -> MeshError:
    return MeshError(f"{file} is cut short: {what}; copy or export the file again")


def _faces(surface: _Object, file: str) -> Faces:
    """Return the triangles of one object; an ATOM gives an existing vertex a second number."""
    vertices = floats(surface.places, file, lambda i: f"line {surface.lines[i // 3]}")
    vertices = vertices.reshape(-1, 3)
    if surface.depth:
        vertices[:, 2] *= -1
    if surface.swapped:
        vertices = vertices[:, [1, 0, 2]]
    ids = integers(surface.ids, file, lambda i: f"line {surface.lines[i]}")
    atoms = integers(surface.atoms, file, lambda i: f"line {surface.atom_lines[i // 2]}")
    atoms = atoms.reshape(-1, 2)
    lines = np.array([*surface.lines, *surface.atom_lines])
    names, points = _points(ids, atoms, lines, file)
    corners = integers(surface.corners, file, lambda i: f"line {surface.corner_lines[i // 3]}")
    place = np.searchsorted(names, corners).clip(max=len(names) - 1)
    strange = names[place] != corners
    if strange.any():
        first = int(strange.argmax())
        message = (
            f"{file}, line {surface.corner_lines[first // 3]}: a triangle refers to vertex "
            f"{corners[first]}, which its object does not have; export it again"
        )
        raise MeshError(message)
    sizes = np.full(len(corners) // 3, 3, dtype=np.int64)
    return Faces(vertices, points[place], sizes)


def _points(
    ids: NDArray[np.int64], atoms: NDArray[np.int64], lines: NDArray[np.int64], file: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two arrays with an element for each vertex and each atom, sorted by number.

    The arrays are the numbers, and the rows of the vertices with these numbers.
    """
    rows = np.arange(len(ids))
    if len(atoms):
        row_of = dict(zip(ids.tolist(), rows.tolist(), strict=True))
        for line, (name, other) in zip(lines[len(ids) :], atoms.tolist(), strict=True):
            if other not in row_of:
                message = (
                    f"{file}, line {line}: an ATOM refers to vertex {other}, which must come "
                    "before it in the same object; export the surface again"
                )
                raise MeshError(message)
            row_of.setdefault(name, row_of[other])
        rows = np.concatenate([rows, [row_of[other] for other in atoms[:, 1].tolist()]])
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
            f"{file}, line {lines[order[at]]}: vertex {names[at]} occurs twice in one object; "
            "export the surface again"
        )
        raise MeshError(message)
    return names, rows[order]


def spelled(name: str) -> str:
    """Return a name that a GOCAD header can hold: unpaired braces become round brackets."""
    level = 0
    for character in name:
        level += (character == "{") - (character == "}")
        if level < 0:
            break
    return name if level == 0 else name.replace("{", "(").replace("}", ")")


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write one TSurf per solid, with z upwards.

    Numbers have the fewest digits that read back the same.
    """
    for name, mesh in solids.items():
        # Quotes would be removed, and a line that ends in \ would continue on the next line.
        value = f'"{name}"' if name[0] == name[-1] == '"' or name[-1] == "\\" else name
        file.write(f"GOCAD TSurf 1\nHEADER {{\nname:{value}\n}}\n".encode())
        file.write(b'GOCAD_ORIGINAL_COORDINATE_SYSTEM\nNAME Default\nAXIS_NAME "X" "Y" "Z"\n')
        file.write(b'AXIS_UNIT "m" "m" "m"\nZPOSITIVE Elevation\n')
        file.write(b"END_ORIGINAL_COORDINATE_SYSTEM\nTFACE\n")
        file.writelines(number_lines(mesh.vertices, "VRTX ", numbered=True))
        file.writelines(number_lines(mesh.triangles.astype(np.int64) + 1, "TRGL "))
        file.write(b"END\n")


# --- Block models.

Lines = dict[str, list[str]]
_WHOLE = {("IEEE", 4): ">f4", ("IEEE", 8): ">f8"}
_LARGEST = 2.0**339  # as for a wireframe's coordinates: keeps lengths of axes finite
_SKEW = 1e-9
_NODE_BYTES = 64  # working memory for the centroid and size of a block


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a Voxet header; FILE:NAME selects one of several Voxets."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    status = place.stat()
    voxets = list(_voxets(unify_lines(place.read_bytes()), place))
    lines = pick_model(voxets, wanted, place.name, ["GOCAD"])
    yield CellModel(VoxetStore(lines, place, status), options)


def _voxets(text: bytes, place: Path) -> Iterator[tuple[str, Lines]]:
    """Yield the name and the lines of every Voxet in a file.

    The lines are a dictionary: its keys are the first words of lines, and its values the lists of
    the words after them. The key of a PROP line includes the property number.
    """
    now: Lines | None = None
    name, braces = "", False
    for _, row in logical_lines(text):
        line = row.decode("latin-1")
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if braces or "{" in line:
            braces = "}" not in line
            key, _, value = line.replace("HEADER", "").strip(" {}").partition(":")
            name = value.strip() if key.strip() == "name" and not name else name
        elif words[0].upper() == "GOCAD":
            now = {} if len(words) > 1 and words[1].lower() == "voxet" else None
            name = ""
        elif words[0] == "END" and now is not None:
            yield name or place.stem, now
            now = None
        elif now is not None:
            key, rest = words[0].upper(), words[1:]
            if key.startswith("PROP") and rest:
                key = f"{key} {rest.pop(0)}"
            now.setdefault(key, [word.strip('"') for word in rest])
    if now is not None:
        message = (
            f"{place.name} is cut short: the line END of its Voxet is missing; copy or "
            "export it again"
        )
        raise TableError(message)


class VoxetStore:
    """An open Voxet; see `CellStore`."""

    def __init__(self, lines: Lines, place: Path, status: os.stat_result) -> None:
        self.name, self.status, self._lines, self._place = place.name, status, lines, place
        self.cells = self._lattice()
        self._numbers = [key.split()[1] for key in lines if key.startswith("PROP_FILE ")]
        names = [" ".join(lines.get(f"PROPERTY {n}", [])) or f"property {n}" for n in self._numbers]
        self.columns = tuple(names)
        self._held = lru_cache(maxsize=4)(self._read)

    def _vector(self, key: str, default: tuple[float, ...] | None = None) -> Floats:
        words = self._lines.get(key)
        try:
            values = np.array([float(word) for word in words or ()] if words else default, float)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (3,) or not np.isfinite(values).all():
            message = f"{self.name} needs three numbers for {key}: export the Voxet again"
            raise TableError(message)
        if (np.abs(values) > _LARGEST).any():
            message = f"{self.name} has a number in {key} beyond 2^339: export the Voxet again"
            raise TableError(message)
        return values

    def _lattice(self) -> LatticeCells:
        """Return the lattice of cells with one block around each node."""
        counts = self._vector("AXIS_N")
        if (counts < 1).any() or (counts != np.round(counts)).any():
            message = (
                f"{self.name} has an AXIS_N that is not a number of nodes: export the Voxet again"
            )
            raise TableError(message)
        origin = self._vector("AXIS_O", (0.0, 0.0, 0.0))
        axes = np.array([self._vector(f"AXIS_{axis}") for axis in "UVW"])
        if self._lines.get("ZPOSITIVE", ["Elevation"])[0].lower() == "depth":
            origin[2], axes[:, 2] = -origin[2], -axes[:, 2]
        low = self._vector("AXIS_MIN", (0.0, 0.0, 0.0))
        span = self._vector("AXIS_MAX", (1.0, 1.0, 1.0)) - low
        lengths = np.linalg.norm(axes, axis=1)
        if (lengths == 0).any() or ((span == 0) & (counts > 1)).any():
            message = f"{self.name} has an axis of length 0: export the Voxet again"
            raise TableError(message)
        self._require_square(axes, lengths)
        what = f"{self.name}, of {' x '.join(f'{n:,.0f}' for n in counts)} nodes,"
        needed = _NODE_BYTES * math.prod(counts.tolist())
        memory.require_unpacked(needed, self._bytes(), what, TableError)
        memory.require(needed, what, TableError)
        step = self._steps(counts, span, lengths)
        nodes = [
            first + (np.arange(int(n) + 1, dtype=np.float64) - 0.5) * size
            for first, n, size in zip(low, counts, step, strict=True)
        ]
        du, dv, dw = (np.full(int(counts[n]), step[n] * lengths[n]) for n in range(3))
        if not (axes[~np.eye(3, dtype=bool)] == 0).all():
            u, v, w = (part * length for part, length in zip(nodes, lengths, strict=True))
            place = (float(origin[0]), float(origin[1]), float(origin[2]))
            matrix = (axes / lengths[:, None]).T
            return LatticeCells("a rotated Voxet,", (u, v, w), place, matrix, lengths=(du, dv, dw))
        x, y, z = (origin[n] + axes[n, n] * nodes[n] for n in range(3))
        return LatticeCells("a Voxet", (x, y, z), lengths=(du, dv, dw))

    def _steps(self, counts: Floats, span: Floats, lengths: Floats) -> Floats:
        """Return the node spacing along each axis, as a fraction of the axis vector.

        An axis with a single node has the spacing AXIS_D.
        """
        alone = self._vector("AXIS_D", tuple(lengths * np.where(span, span, 1.0))) / lengths
        with np.errstate(divide="ignore", invalid="ignore"):
            steps: Floats = np.where(counts > 1, span / (counts - 1), np.abs(alone))
        if (steps == 0).any():
            message = (
                f"{self.name} states no distance between its nodes, or a distance of 0: export the "
                "Voxet again"
            )
            raise TableError(message)
        return steps

    def _require_square(self, axes: Floats, lengths: Floats) -> None:
        """Refuse axes that are not perpendicular, because skew cells are not blocks."""
        unit = axes / lengths[:, None]
        if (np.abs(unit @ unit.T - np.eye(3)) > _SKEW).any():
            message = (
                f"{self.name} has axes that are not at right angles, so its cells are not blocks: "
                "export it with perpendicular axes"
            )
            raise TableError(message)

    def _bytes(self) -> int:
        """Return the total size in bytes of the header and of the property files."""
        sizes = [len(words) and self._file_of(words) for words in self._files()]
        files = sum(file.stat().st_size for file in sizes if file and file.is_file())
        return self.status.st_size + files

    def _files(self) -> list[list[str]]:
        return [words for key, words in self._lines.items() if key.startswith("PROP_FILE ")]

    def _file_of(self, words: list[str]) -> Path:
        """Return the path of a property file in the header's folder; `words` hold its name."""
        return self._place.parent / Path(" ".join(words).replace("\\", "/")).name

    def close(self) -> None:
        """Do nothing: the header has been read already."""

    @property
    def memory(self) -> int:
        """Memory in bytes for the output: centroids, sizes and all properties."""
        return (64 + 16 * len(self.columns)) * self.cells.count

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"GOCAD, {self.cells.say()}, blocks about its nodes"}

    def values(self, column: int) -> Values:
        """Return the values of a property, with NaN where a value is missing."""
        return self._held(column)

    def _read(self, column: int) -> Values:
        number = self._numbers[column]
        file = self._file_of(self._lines[f"PROP_FILE {number}"])
        if not file.is_file():
            message = (
                f"{self.name}: the file {file.name} with the property "
                f"{self.columns[column]!r} is not in the same folder: copy it there"
            )
            raise TableError(message)
        start, kind = self._whole_number(number, "PROP_OFFSET", 0), self._type(number)
        if start + self.cells.count * kind.itemsize > file.stat().st_size or start < 0:
            message = (
                f"{file.name} is too short: {self.name} declares {self.cells.count:,} numbers of "
                f"{kind.itemsize} bytes each; copy or export both files again"
            )
            raise TableError(message)
        with Unchanged(file), file.open("rb") as raw:
            raw.seek(start)
            values = np.frombuffer(raw.read(self.cells.count * kind.itemsize), kind)
        return self._present(values, number)

    def _present(self, values: NDArray[np.generic], number: str) -> NDArray[np.float64]:
        """Return a property's values as float64, with NaN in place of its no-data value."""
        with np.errstate(invalid="ignore"):
            doubles = as_float64(values)
        word = " ".join(self._lines.get(f"PROP_NO_DATA_VALUE {number}", []))
        if word:
            try:
                none = np.array(float(word)).astype(values.dtype)
            except ValueError:
                return doubles
            doubles[values == none] = np.nan
        return doubles

    def _whole_number(self, number: str, key: str, default: int) -> int:
        word = " ".join(self._lines.get(f"{key} {number}", [str(default)]))
        if not (word.isascii() and word.isdigit() and len(word) < 19):
            message = (
                f"{self.name}: {key} is {word!r}, which is not a whole number; export the "
                "Voxet again"
            )
            raise TableError(message)
        return int(word)

    def _type(self, number: str) -> np.dtype[np.generic]:
        """Return the NumPy type of the numbers in a property's file."""
        size = self._whole_number(number, "PROP_ESIZE", 4)
        kind = " ".join(self._lines.get(f"PROP_ETYPE {number}", ["IEEE"])).upper()
        if size in (1, 2) and kind in ("IEEE", "INTEGER"):
            signed = self._whole_number(number, "PROP_SIGNED", 1)
            return np.dtype(f">{'i' if signed else 'u'}{size}")
        if (kind, size) not in _WHOLE:
            message = (
                f"{self.name}: properties stored as {kind} of {size} bytes are not supported: "
                "export IEEE numbers of 4 or 8 bytes"
            )
            raise TableError(message)
        return np.dtype(_WHOLE[kind, size])

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write blocks, properties and labels in the format of the output's extension."""
        held = {name: self.values(number) for number, name in enumerate(self.columns)}
        write_blocks(blocks_of(self.cells, held, new), target, destination.path)
