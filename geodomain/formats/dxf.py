"""Reads the faces of DXF drawings and of their inserted blocks; writes 3DFACEs of DXF R12.

A block of a DXF drawing is a group of entities.
"""

from __future__ import annotations

import codecs
import ctypes
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Ints
from geodomain.compute.native import core
from geodomain.errors import MeshError, counted, warn
from geodomain.formats.solids import NamedFaces, join, listed
from geodomain.memory import require_unpacked
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces, require_indices

Matrices = NDArray[np.float64]  # of shape (m, 3, 4): rotation, scale and shift

# DxfKind in kernels/text/dxf.h
(
    _FACE,
    _POLYLINE,
    _VERTEX,
    _SEQUENCE_END,
    _BLOCK,
    _BLOCK_END,
    _INSERT,
    _MESH,
    _BODY,
    _LAYER,
) = range(10)
_CODE, _NUMBER, _INTEGER, _CUT = range(1, 5)  # DxfFault in kernels/text/dxf.h
_EXPECTED = {_CODE: "a group code", _NUMBER: "a finite number", _INTEGER: "a whole number"}
_POLYGON_MESH, _POLYFACE = 16, 64  # flags of a POLYLINE, group 70
_CLOSED_M, _CLOSED_N = 1, 32
_POINT, _RECORD = 64, 128  # flags of a VERTEX of a polyface mesh
_REFERENCE = 4 | 8 | 16 | 32  # flags of a BLOCK that is another file (xref)
_FROZEN = 1  # flag of a layer
_THICK = 1 << 31  # in `seen`: the POLYLINE has a thickness
_WORK = (
    1 << 31
)  # bytes that placed blocks may always take: about 2.8 million triangles, in half a minute
_CORNER_BYTES, _PLACEMENT_BYTES = 250, 400  # at the peak, until equal vertices are merged
# Escape sequences: a UTF-16 number, or two bytes of one of five code pages.
_ESCAPED = re.compile(r"\\[Uu]\+([0-9A-Fa-f]{4})|\\[Mm]\+([1-5])([0-9A-Fa-f]{4})")
_PAGES = {"1": "cp932", "2": "cp950", "3": "cp949", "4": "johab", "5": "cp936"}
# Characters outside ASCII, or text that would be read as an escape sequence.
_SPECIAL = re.compile(r"[^ -~]|\\(?=[Uu]\+|[Mm]\+[1-5])")
_CODE_PAGE = re.compile(
    rb"\$DWGCODEPAGE(?:\s+3\s+|\x00\x03\x00?)(?:ANSI_|DOS)(\d{2,5})\b", re.IGNORECASE
)


# --- The scanner ---


@dataclass(frozen=True)
class Drawing:
    """Entities of a drawing in file order; each entity is a row of the arrays.

    The arrays are described in kernels/text/dxf.h.
    """

    names: list[str]
    types: dict[str, int]
    kind: NDArray[np.uint8]
    in_block: NDArray[np.bool_]
    paper: NDArray[np.bool_]
    invisible: NDArray[np.bool_]
    layer: NDArray[np.int32]
    name: NDArray[np.int32]
    seen: NDArray[np.uint32]
    integers: NDArray[np.int32]
    corners: NDArray[np.float64]
    mesh_places: NDArray[np.float64]
    mesh_faces: NDArray[np.int32]

    def rows(self, kind: int, rows: Ints) -> Ints:
        """Return the members of `rows` that are entities of one kind, such as 3DFACE."""
        chosen: Ints = rows[self.kind[rows] == kind]
        return chosen

    @cached_property
    def has_faces(self) -> NDArray[np.bool_]:
        """Mask of the rows whose entities have faces."""
        meshes = self.integers[:, 0] & (_POLYFACE | _POLYGON_MESH) != 0
        kind = self.kind
        return np.asarray((kind == _FACE) | (kind == _MESH) | ((kind == _POLYLINE) & meshes))

    @cached_property
    def block_ends(self) -> Ints:
        """The rows of the entities that end a DXF block."""
        return np.flatnonzero(self.kind == _BLOCK_END)

    @cached_property
    def vertex_ends(self) -> Ints:
        """The rows at which a run of VERTEX entities can end, in ascending order.

        These are the rows of all other entities. The last element is the number of rows.
        """
        return np.append(np.flatnonzero(self.kind != _VERTEX), len(self.kind))

    @cached_property
    def meshes(self) -> Ints:
        """The rows that are MESH entities."""
        return np.flatnonzero(self.kind == _MESH)

    @cached_property
    def mesh_ends(self) -> Ints:
        """For each MESH, the ends of its coordinates and of its face list, as an array (m, 2).

        The ends are positions in the arrays of coordinates and face lists of all MESHes.
        """
        return np.cumsum(self.integers[self.meshes, 1:3], axis=0, dtype=np.int64)


def scan(data: bytes, file: str) -> Drawing:
    """Return the entities of a drawing that describe faces, layers and DXF blocks.

    Raises
    ------
    MeshError
        If the drawing is truncated, or a line is invalid.
    """
    handle = ctypes.c_void_p()
    core().dxf_open(data, len(data), handle)
    try:
        return _drawing(handle, data, file)
    finally:
        core().dxf_close(handle)


def _drawing(handle: ctypes.c_void_p, data: bytes, file: str) -> Drawing:
    sizes = np.zeros(9, dtype=np.int64)
    core().dxf_sizes(handle, sizes)
    count, unsure_count, type_count, name_bytes, type_bytes, *more = sizes.tolist()
    place_count, corner_count, fault, place = more
    if fault:
        raise _fault(fault, place, data, file)
    names, types = (np.empty(size, dtype=np.uint8) for size in (name_bytes, type_bytes))
    counts = np.empty(type_count, dtype=np.int64)
    core().dxf_names(handle, names, types, counts)
    kind, flags = np.empty(count, dtype=np.uint8), np.empty((count, 3), dtype=np.bool_)
    numbers, seen = np.empty((count, 2), dtype=np.int32), np.empty(count, dtype=np.uint32)
    integers, corners = np.empty((count, 6), dtype=np.int32), np.empty((count, 12))
    unsure = np.empty((unsure_count, 4), dtype=np.int64)
    columns = (kind, flags, numbers, seen, integers, corners, unsure)
    core().dxf_rows(handle, *columns)
    places, faces = np.empty(place_count), np.empty(corner_count, dtype=np.int32)
    core().dxf_meshes(handle, places, faces)
    for row, slot, begin, end in unsure.tolist():
        number = float(data[begin:end].replace(b"d", b"e").replace(b"D", b"e"))
        if row < 0:
            places[slot] = number
        else:
            corners[row, slot] = number
    page = _code_page(data)
    in_block, paper, invisible = (np.ascontiguousarray(column) for column in flags.T)
    layer, name = (np.ascontiguousarray(column) for column in numbers.T)
    return Drawing(
        _split(names, page),
        dict(zip(_split(types, page), counts.tolist(), strict=True)),
        kind,
        in_block,
        paper,
        invisible,
        layer,
        name,
        seen,
        integers,
        corners,
        places,
        faces,
    )


def _code_page(data: bytes) -> str:
    """Return the encoding of text that is not UTF-8: the header's code page, or else cp1252."""
    match = _CODE_PAGE.search(data, 0, 1 << 16)
    try:
        return codecs.lookup(f"cp{match[1].decode()}").name if match else "cp1252"
    except LookupError:
        return "cp1252"


def _split(joined: NDArray[np.uint8], page: str) -> list[str]:
    return [_decoded(name, page) for name in joined.tobytes().split(b"\n")[:-1]]


def _decoded(name: bytes, page: str) -> str:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = name.decode(page, "replace")
    text = _ESCAPED.sub(_unescaped, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(escape: re.Match[str]) -> str:
    r"""Return the character of an escape \U+XXXX or \M+nXXXX, or the escape if it is invalid."""
    if escape[1]:
        return chr(int(escape[1], 16))
    code = bytes.fromhex(escape[3]).lstrip(b"\0")
    try:
        return code.decode(_PAGES[escape[2]])
    except UnicodeDecodeError:
        return escape[0]


def _fault(fault: int, place: int, data: bytes, file: str) -> MeshError:
    """Return the error for a fault that stopped the scanner at byte `place`."""
    if fault == _CUT:
        message = (
            f"{file} is cut short: the end of its section ENTITIES is missing; copy or export the "
            "drawing again"
        )
        return MeshError(message)
    line = data.count(b"\n", 0, place) + 1
    text = data[place : place + 40].split(b"\n")[0].strip().decode("utf-8", "replace")
    message = (
        f"{file}, line {line}: {text!r} is not {_EXPECTED[fault]}; correct it or export the"
        " drawing again"
    )
    return MeshError(message)


# --- Reading ---


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the faces of each layer in model space, including placed DXF blocks (INSERT).

    Faces come from 3DFACEs, polyface meshes, polygon meshes and MESHes. Faces on layer 0 of a block
    get the layer of the INSERT that places the block.

    Warns
    -----
    GeodomainWarning
        If the drawing has solids, external references or surfaces in paper space, which are not
        read, or places blocks that are missing. Also if faces are read that the drawing hides
        (invisible, or on a layer that is frozen or off) or shows smoothed.
    """
    file = path.name
    drawing = scan(data, file)
    model = _Model(drawing, file, len(data))
    model.require_room()
    parts = [
        (drawing.names[layer] if layer >= 0 else "0", faces)
        for layer, faces in [*model.blocks[_SPACE].parts, *model.placed()]
    ]
    if not parts:
        raise model.nothing()
    for message in model.left_out():
        warn(f"{file} {message}")
    model.warn_of_hidden(dict.fromkeys(name for name, _ in parts))
    return parts


@dataclass
class _Block:
    """The content of a DXF block or of model space: faces by layer, and INSERTs."""

    parts: list[tuple[int, Faces]]
    inserts: list[_Insert] = field(default_factory=list)


@dataclass(frozen=True)
class _Insert:
    """An INSERT, which places a block once or as an array of columns and rows."""

    row: int
    block: str
    layer: int
    columns: int
    rows: int


_SPACE = "\0model"  # key of the model among the blocks; real names contain no NUL


class _Model:
    """The model space of a drawing, and the DXF blocks that are placed in it."""

    def __init__(self, drawing: Drawing, file: str, size: int) -> None:
        self.drawing, self.file, self.size = drawing, file, size
        self.blocks: dict[str, _Block] = {}
        self.bodies: Counter[str] = Counter()  # by type
        self.invisible = 0  # entities with faces, and INSERTs of blocks with faces
        self.references: dict[str, None] = {}
        self.missing: dict[str, None] = {}
        self._zero = {-1, *(i for i, name in enumerate(drawing.names) if name == "0")}
        self._spans = self._block_rows()
        self._order = self._outer_first()

    def _block_rows(self) -> dict[str, list[int]]:
        """Return, for each block name in lower case, the rows of its BLOCK entities."""
        spans: dict[str, list[int]] = defaultdict(list)
        for row in np.flatnonzero(self.drawing.kind == _BLOCK).tolist():
            spans[self._name(row)].append(row)
        return spans

    def _name(self, row: int) -> str:
        number = int(self.drawing.name[row])
        return self.drawing.names[number].casefold() if number >= 0 else ""

    def _outer_first(self) -> list[str]:
        """Read model space and the DXF blocks that it places directly or within other blocks.

        Return the names of the blocks; a block comes before the blocks that it places.
        """
        space = ~self.drawing.in_block & ~self.drawing.paper & (self.drawing.kind != _LAYER)
        self.blocks[_SPACE] = self._read(np.flatnonzero(space))
        order: list[str] = []
        path = [(_SPACE, self._children(_SPACE))]
        open_blocks = {_SPACE}
        while path:
            name, children = path[-1]
            child = next(children, None)
            if child is None:
                path.pop()
                open_blocks.remove(name)
                order.append(name)
            elif child in open_blocks:
                message = (
                    f"{self.file} has a block {child!r} that contains itself: export the solid as "
                    "3DFACE"
                )
                raise MeshError(message)
            elif child not in self.blocks:
                self.blocks[child] = self._read(self._rows_of(child))
                path.append((child, self._children(child)))
                open_blocks.add(child)
        return order[::-1]

    def _children(self, name: str) -> Iterator[str]:
        return iter(dict.fromkeys(insert.block for insert in self.blocks[name].inserts))

    def _rows_of(self, block: str) -> Ints:
        """Return the rows of a block's entities; raise MeshError if two blocks have that name."""
        starts = self._spans[block]
        if len(starts) > 1:
            message = (
                f"{self.file} places the block {block!r}, but has {len(starts)} blocks of that "
                "name: export the drawing again"
            )
            raise MeshError(message)
        return self._rows_of_block(starts[0])

    def _read(self, rows: Ints) -> _Block:
        drawing, file = self.drawing, self.file
        parts = [
            *_faces(drawing, rows, file),
            *_polylines(drawing, rows, file),
            *_meshes(drawing, rows, file),
        ]
        for _, faces in parts:
            require_indices(faces, file)
        self.invisible += int((drawing.has_faces[rows] & drawing.invisible[rows]).sum())
        self.bodies.update(self._bodies(rows))
        block = _Block([(-1 if layer in self._zero else layer, faces) for layer, faces in parts])
        for row in drawing.rows(_INSERT, rows).tolist():
            self._place(row, block)
        return block

    def _place(self, row: int, block: _Block) -> None:
        """Add an INSERT to a DXF block, unless it places a missing block or an external reference.

        Missing blocks and external references (xref) are noted for a warning.
        """
        drawing = self.drawing
        name = self._name(row)
        if name not in self._spans:
            self.missing[drawing.names[drawing.name[row]] if name else ""] = None
            return
        if any(drawing.integers[start, 0] & _REFERENCE for start in self._spans[name]):
            self.references[drawing.names[drawing.name[row]]] = None
            return
        layer = int(drawing.layer[row])
        numbers, seen = drawing.corners[row], int(drawing.seen[row])
        # Copies at distance 0 count as one copy, as in CAD programs.
        counts = [
            max(int(count), 1) if seen >> slot & 1 and numbers[slot] != 0 else 1
            for slot, count in zip((7, 8), drawing.integers[row, :2].tolist(), strict=True)
        ]
        block.inserts.append(_Insert(row, name, -1 if layer in self._zero else layer, *counts))

    def require_room(self) -> None:
        """Refuse a drawing whose placed DXF blocks need more memory than there is."""
        below = dict.fromkeys(
            self.blocks, 0
        )  # number of faces of a block, including the blocks it places
        for name in reversed(self._order):
            block = self.blocks[name]
            block.inserts = [insert for insert in block.inserts if below[insert.block]]
            self.invisible += sum(
                bool(self.drawing.invisible[insert.row]) for insert in block.inserts
            )
            below[name] = sum(len(faces.sizes) for _, faces in block.parts) + sum(
                insert.columns * insert.rows * below[insert.block] for insert in block.inserts
            )
        placements, corners = Counter({_SPACE: 1}), 0
        for name in self._order:
            block, times = self.blocks[name], placements[name]
            for insert in block.inserts:
                placements[insert.block] += times * insert.columns * insert.rows
            if name != _SPACE:
                corners += times * sum(len(faces.corners) for _, faces in block.parts)
        faces = below[_SPACE] - sum(len(faces.sizes) for _, faces in self.blocks[_SPACE].parts)
        require_unpacked(
            _CORNER_BYTES * corners + _PLACEMENT_BYTES * (sum(placements.values()) - 1),
            self.size,
            f"{self.file}, whose placed blocks (INSERT) have {faces:,} faces,",
            MeshError,
            work=_WORK,
        )

    def placed(self) -> Iterator[tuple[int, Faces]]:
        """Yield pairs: the index of a layer, and the faces of placed DXF blocks on that layer.

        The faces are in coordinates of model space. A layer may come more than once.
        """
        identity = np.eye(3, 4)[None]
        waiting: dict[str, list[tuple[Matrices, NDArray[np.int64]]]] = defaultdict(list)
        waiting[_SPACE].append((identity, np.array([-1])))
        for name in self._order:
            if name not in waiting:
                continue
            sets, block = waiting.pop(name), self.blocks[name]
            matrices = np.concatenate([matrices for matrices, _ in sets])
            layers = np.concatenate([layers for _, layers in sets])
            if name != _SPACE and block.parts:
                yield from _copies(block.parts, matrices, layers)
            together: dict[tuple[str, int], list[_Insert]] = defaultdict(list)
            for insert in block.inserts:
                together[insert.block, insert.layer].append(insert)
            for (inner, layer), inserts in together.items():
                own = self._matrices(inner, inserts)
                on = layers if layer < 0 else np.full(len(matrices), layer)
                waiting[inner].append((_composed(matrices, own), np.repeat(on, len(own))))

    def _matrices(self, block: str, inserts: list[_Insert]) -> Matrices:
        """Return the matrix (3, 4) of each copy of a DXF block that the INSERTs place.

        Each matrix combines the base point of the block with the scale, rotation and position of
        its INSERT.
        """
        rows = np.array([insert.row for insert in inserts])
        columns, lines = np.array([(insert.columns, insert.rows) for insert in inserts]).T
        numbers, seen = self.drawing.corners[rows], self.drawing.seen[rows]
        if not np.isfinite(numbers).all():
            message = (
                f"{self.file} places the block {block!r} with numbers that are not finite: export "
                "the drawing again"
            )
            raise MeshError(message)
        there = (seen[:, None] >> np.arange(12) & 1).astype(bool)
        # A scale of 0 means 1, like a missing scale: CAD programs accept no 0.
        scales = np.where(there[:, 3:6] & (numbers[:, 3:6] != 0), numbers[:, 3:6], 1.0)
        axes = _axes(np.where(there[:, 9:].any(axis=1)[:, None], numbers[:, 9:], [0.0, 0.0, 1.0]))
        turned = _product(axes, _turns(numbers[:, 6]))
        linear = turned * scales[:, None]
        (start,) = self._spans[block]
        base = self.drawing.corners[start, :3]
        place = (axes * numbers[:, None, :3]).sum(axis=2) - (linear * base).sum(axis=2)
        copies = columns * lines
        of = np.repeat(np.arange(len(rows)), copies)
        number = np.arange(len(of)) - np.repeat(np.cumsum(copies) - copies, copies)
        line, column = np.divmod(number, columns[of])
        matrices = np.empty((len(of), 3, 4))
        matrices[:, :, :3] = linear[of]
        matrices[:, :, 3] = place[of]
        matrices[:, :, 3] += turned[of, :, 0] * (column * numbers[of, 7])[:, None]
        matrices[:, :, 3] += turned[of, :, 1] * (line * numbers[of, 8])[:, None]
        return matrices

    def _bodies(self, rows: Ints) -> Counter[str]:
        """Count, by type, the entities that may be surfaces but are not read."""
        drawing = self.drawing
        bodies = drawing.name[drawing.rows(_BODY, rows)].tolist()
        count = Counter(drawing.names[number] for number in bodies)
        lines = drawing.rows(_POLYLINE, rows)
        thick = ~drawing.has_faces[lines] & (drawing.seen[lines] & _THICK != 0)
        return count + Counter({"POLYLINE with a thickness": int(thick.sum())})

    def _in_paper(self) -> Counter[str]:
        """Count, by type, the entities in paper space that may be surfaces."""
        drawing = self.drawing
        sheets = [name for name in self._spans if name.startswith("*paper_space")]
        rows = np.concatenate(
            [
                np.flatnonzero(drawing.paper & ~drawing.in_block),
                *(self._rows_of_block(start) for name in sheets for start in self._spans[name]),
            ]
        )
        faces = int(drawing.has_faces[rows].sum())
        count = Counter({"face or mesh" if faces == 1 else "faces and meshes": faces})
        count += self._bodies(rows)
        shows: dict[str, bool] = {}
        for row in drawing.rows(_INSERT, rows).tolist():
            if self._shows(self._name(row), shows):
                count[f"INSERT of the block {drawing.names[drawing.name[row]]!r}"] += 1
        return count

    def _rows_of_block(self, start: int) -> Ints:
        """Return the rows of the entities after the BLOCK at row `start`, up to the block's end."""
        ends = self.drawing.block_ends
        at = int(np.searchsorted(ends, start))
        return np.arange(start + 1, ends[at] if at < len(ends) else len(self.drawing.kind))

    def _shows(self, block: str, shows: dict[str, bool]) -> bool:
        """Return whether a DXF block, or a block placed in it, may show a surface.

        `shows` keeps the answer for each block name.
        """
        waiting, visited = [block], {block}
        while waiting and not shows.get(block):
            name = waiting.pop()
            for start in self._spans.get(name, ()):
                rows = self._rows_of_block(start)
                reference = bool(self.drawing.integers[start, 0] & _REFERENCE)
                if reference or self.drawing.has_faces[rows].any() or self._bodies(rows):
                    shows[block] = True
                inner = {self._name(row) for row in self.drawing.rows(_INSERT, rows).tolist()}
                waiting += inner - visited
                visited |= inner
        return shows.setdefault(block, False)

    def left_out(self) -> list[str]:
        """Return descriptions of the parts of the drawing that may be surfaces but are not read."""
        notes = []
        if self.bodies:
            notes.append(
                f"has surfaces or solids that are not read ({_counts(self.bodies)}): export them "
                "as 3DFACE"
            )
        if self.references:
            notes.append(
                f"places other drawings (xref {listed(list(self.references))}), which are not"
                " read: bind them before you export, or read the referenced files"
            )
        if self.missing:
            notes.append(
                f"places blocks that are not in the file: {listed(list(self.missing))}; their "
                "content is not read"
            )
        if paper := self._in_paper():
            notes.append(
                f"has {_counts(paper)} in paper space, which is not part of the model and is not "
                "read"
            )
        return notes

    def nothing(self) -> MeshError:
        """Return the error for a drawing without faces; it lists the entities of the drawing."""
        types = self.drawing.types
        message = (
            f"{self.file} has no faces (3DFACE, polyface mesh, polygon mesh, MESH) in model "
            f"space: it contains {_counts(Counter(types)) or 'no entities'}"
        )
        left_out = self.left_out()
        if left_out:
            return MeshError("; it ".join([message, *left_out]))
        if set(types) <= {"INSERT"}:
            return MeshError(f"{message}; export the solid as 3DFACE")
        return MeshError(f"{message}; strings are not surfaces: export the solid as 3DFACE")

    def warn_of_hidden(self, names: Iterable[str]) -> None:
        """Warn of faces on the layers `names` that are read although the drawing hides them."""
        drawing, file = self.drawing, self.file
        states = np.flatnonzero(drawing.kind == _LAYER)
        flags, colours = drawing.integers[states, 0], drawing.integers[states, 1]
        frozen, off = (
            {drawing.names[number].casefold() for number in drawing.layer[those].tolist()}
            for those in (states[flags & _FROZEN != 0], states[colours < 0])
        )
        layers = [name for name in names if name.casefold() in frozen | off]
        if layers:
            message = (
                f"{file}: faces on layers that are frozen or off were read as well: "
                f"{listed(layers)}"
            )
            warn(message)
        # A frozen layer hides all of a block placed on it. A layer that is off hides the block's
        # faces on layer 0, which here are on the layer of the INSERT.
        placing = [
            drawing.names[insert.layer] if insert.layer >= 0 else "0"
            for name, block in self.blocks.items()
            for insert in block.inserts
            if insert.layer >= 0 or name == _SPACE
        ]
        blocks = [
            name
            for name in dict.fromkeys(placing)
            if name.casefold() in frozen and name not in layers
        ]
        if blocks:
            message = (
                f"{file}: blocks that are placed on frozen layers were read as well: "
                f"{listed(blocks)}"
            )
            warn(message)
        if self.invisible:
            marked = counted(
                self.invisible,
                "face, mesh or placed block that is marked invisible was",
                "faces, meshes or placed blocks that are marked invisible were",
            )
            message = f"{file}: {marked} read as well"
            warn(message)


def _counts(count: Counter[str]) -> str:
    """Return counts by type as text, with at most eight types."""
    kinds = [f"{number:,} {kind}" for kind, number in count.items()]
    return ", ".join(kinds[:8]) + (f" and {len(kinds) - 8} other kinds" if kinds[8:] else "")


_QUARTERS = {0.0: (1.0, 0.0), 90.0: (0.0, 1.0), 180.0: (-1.0, 0.0), 270.0: (0.0, -1.0)}


def _turns(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rotations (n, 3, 3) about z by angles in degrees; multiples of 90 are exact."""
    different, which = np.unique(angles % 360.0, return_inverse=True)
    made = np.zeros((len(different), 3, 3))
    for matrix, angle in zip(made, different.tolist(), strict=True):
        radians = math.radians(angle)
        cosine, sine = _QUARTERS.get(angle) or (math.cos(radians), math.sin(radians))
        matrix[:2, :2] = [[cosine, -sine], [sine, cosine]]
        matrix[2, 2] = 1.0
    return np.asarray(made[which.reshape(-1)])


def _axes(normals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array (n, 3, 3): for each normal, a coordinate system whose columns are the axes.

    This is the arbitrary axis algorithm of the DXF reference. A normal of length 0 counts as the z
    axis.
    """
    made = np.broadcast_to(np.eye(3), (len(normals), 3, 3)).copy()
    tilted = normals.any(axis=1) & ~((normals[:, :2] == 0).all(axis=1) & (normals[:, 2] > 0))
    if tilted.any():
        lengths = np.array([[math.hypot(*normal)] for normal in normals[tilted].tolist()])
        z = normals[tilted] / lengths
        near = (np.abs(z[:, :2]) < 1 / 64).all(axis=1)
        x = np.cross(np.where(near[:, None], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]), z)
        x /= np.sqrt((x * x).sum(axis=1))[:, None]
        made[tilted] = np.stack([x, np.cross(z, x), z], axis=2)
    return made


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products of n pairs of 3 x 3 matrices, with the same bits on every machine."""
    return np.asarray((a[:, :, :, None] * b[:, None]).sum(axis=2))


@np.errstate(over="ignore", invalid="ignore")
def _composed(outer: Matrices, inner: Matrices) -> Matrices:
    """Return the product of each outer matrix with every inner matrix, ordered by outer matrix."""
    a, b = outer[:, None], inner[None]
    made = np.empty((len(outer), len(inner), 3, 4))
    for i in range(3):
        for j in range(4):
            made[:, :, i, j] = a[..., i, 0] * b[..., 0, j] + a[..., i, 1] * b[..., 1, j]
            made[:, :, i, j] += a[..., i, 2] * b[..., 2, j]
        made[:, :, i, 3] += a[..., i, 3]
    return made.reshape(-1, 3, 4)


def _copies(
    parts: list[tuple[int, Faces]], matrices: Matrices, layers: NDArray[np.int64]
) -> Iterator[tuple[int, Faces]]:
    """Yield pairs: the index of a layer, and the copies of a DXF block's faces on that layer.

    Each of the `matrices` places one copy of the block. Faces without a layer of their own (on
    layer 0) get the layer of the INSERT that places the copy, from `layers`.
    """
    together: dict[int, list[Faces]] = defaultdict(list)
    for layer, faces in parts:
        together[layer].append(faces)
    mirrored = _mirrored(matrices)  # a mirrored copy's faces would point inwards
    for layer, several in together.items():
        faces = join(several)
        targets = layers if layer < 0 else np.full(len(layers), layer)
        for target in np.unique(targets).tolist():
            for turned in (False, True):
                chosen = matrices[(targets == target) & (mirrored == turned)]
                if len(chosen):
                    yield target, _moved(_turned_over(faces) if turned else faces, chosen)


@np.errstate(over="ignore", invalid="ignore")
def _mirrored(matrices: Matrices) -> NDArray[np.bool_]:
    a, b, c = (matrices[:, i, :3] for i in range(3))
    return np.asarray((np.cross(a, b) * c).sum(axis=1) < 0)


def _turned_over(faces: Faces) -> Faces:
    return faces._replace(corners=faces.corners[::-1], sizes=faces.sizes[::-1])


@np.errstate(over="ignore", invalid="ignore")  # the mesh refuses coordinates that are not finite
def _moved(faces: Faces, matrices: Matrices) -> Faces:
    """Return one object with a copy of the faces for each matrix, transformed by the matrix."""
    count = len(matrices)
    x, y, z = faces.vertices.T
    vertices = np.empty((count, len(x), 3))
    for i in range(3):
        a, b, c, shift = (matrices[:, i, j, None] for j in range(4))
        vertices[:, :, i] = a * x + b * y + c * z + shift
    corners = faces.corners + len(x) * np.arange(count)[:, None]
    return Faces(vertices.reshape(-1, 3), corners.reshape(-1), np.tile(faces.sizes, count))


# --- Entities with faces ---


def _faces(drawing: Drawing, rows: Ints, file: str) -> Iterator[tuple[int, Faces]]:
    """Yield pairs: the index of a layer, and the 3DFACEs on that layer.

    A face whose corner 4 equals corner 3 or 1 is a triangle.
    """
    faces = drawing.rows(_FACE, rows)
    whole = slice(None) if len(faces) == len(drawing.kind) else faces  # a slice avoids a copy
    lacking = drawing.seen[whole] & 0x1FF != 0x1FF
    if lacking.any():
        message = (
            f"3DFACE {int(lacking.argmax()) + 1} of {file} lacks a coordinate: export the drawing"
            " again"
        )
        raise MeshError(message)
    layers = drawing.layer[whole]
    corners, seen = drawing.corners[whole], drawing.seen[whole]
    numbers, first = np.unique(layers, return_index=True)
    for number in numbers[np.argsort(first)].tolist():
        those: slice | NDArray[np.bool_] = layers == number if len(numbers) > 1 else slice(None)
        yield number, _soup(corners[those], seen[those])


def _soup(corners: NDArray[np.float64], seen: NDArray[np.uint32]) -> Faces:
    """Return triangles and quads from 3DFACE corners (n, 12); each face has its own vertices."""
    place = corners.reshape(-1, 4, 3)
    last = place[:, 3]
    same = (last == place[:, 2]).all(axis=1) | (last == place[:, 0]).all(axis=1)
    triangle = same | (seen >> 9 != 0b111)
    if triangle.all():
        vertices = place[:, :3].reshape(-1, 3)
        return Faces(vertices, np.arange(len(vertices)), np.full(len(place), 3))
    sizes = np.where(triangle, 3, 4)
    used = np.ones((len(place), 4), dtype=bool)
    used[:, 3] = ~triangle
    vertices = place[used]
    return Faces(vertices, np.arange(len(vertices)), sizes)


def _polylines(drawing: Drawing, rows: Ints, file: str) -> Iterator[tuple[int, Faces]]:
    """Yield pairs, one for each polyface or polygon mesh: the index of its layer, and its faces."""
    kind = drawing.kind
    for start in drawing.rows(_POLYLINE, rows).tolist():
        flags = int(drawing.integers[start, 0])
        if not flags & (_POLYFACE | _POLYGON_MESH):
            continue
        ends = drawing.vertex_ends
        end = int(ends[np.searchsorted(ends, start, side="right")])
        if end == len(kind) or kind[end] != _SEQUENCE_END:
            message = f"{file} has a POLYLINE that does not end with SEQEND: export it again"
            raise MeshError(message)
        make = _polyface if flags & _POLYFACE else _polygon_mesh
        faces = make(drawing, start, slice(start + 1, end), file)
        if len(faces.sizes):
            yield int(drawing.layer[start]), faces


def _polyface(drawing: Drawing, start: int, rows: slice, file: str) -> Faces:
    """Return the faces of a polyface mesh, which lists its points first and then its faces.

    A face has up to four point numbers. They count from 1, and 0 means no corner.
    """
    flags = drawing.integers[rows, 0]
    points = flags & _POINT != 0
    records = (flags & _RECORD != 0) & ~points
    numbers = np.abs(drawing.integers[rows][records, 1:5].astype(np.int64))
    used = numbers > 0
    used[:, 3] &= (numbers[:, 3] != numbers[:, 2]) & (numbers[:, 3] != numbers[:, 0])
    surface = used.sum(axis=1) >= 3  # the others are edges
    numbers, used = numbers[surface], used[surface]
    vertices = np.ascontiguousarray(drawing.corners[rows][points, :3])
    return Faces(vertices, numbers[used] - 1, used.sum(axis=1))


def _polygon_mesh(drawing: Drawing, start: int, rows: slice, file: str) -> Faces:
    """Return the quads of a polygon mesh, a grid of M x N vertices."""
    flags, m, n = (int(value) for value in drawing.integers[start, :3])
    if drawing.integers[start, 5]:
        message = (
            f"{file} has a smoothed polygon mesh, whose faces are not stored in the file: export "
            "it as 3DFACE"
        )
        raise MeshError(message)
    count = rows.stop - rows.start
    if m < 2 or n < 2 or m * n != count:
        message = (
            f"{file} has a polygon mesh of {m} x {n} vertices, of which it stores {count:,}; it "
            "needs all of them, and at least 2 x 2: export the drawing again"
        )
        raise MeshError(message)
    grid = np.arange(count).reshape(m, n)
    if flags & _CLOSED_M:
        grid = np.concatenate([grid, grid[:1]])
    if flags & _CLOSED_N:
        grid = np.concatenate([grid, grid[:, :1]], axis=1)
    quads = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1)
    corners = quads.reshape(-1).astype(np.int64)
    vertices = np.ascontiguousarray(drawing.corners[rows, :3])
    return Faces(vertices, corners, np.full(len(corners) // 4, 4))


def _meshes(drawing: Drawing, rows: Ints, file: str) -> Iterator[tuple[int, Faces]]:
    """Yield a pair for each MESH: the index of its layer, and its faces before smoothing."""
    for row in drawing.rows(_MESH, rows).tolist():
        number = int(np.searchsorted(drawing.meshes, row))
        last_place, last_corner = drawing.mesh_ends[number].tolist()
        places, corners = drawing.integers[row, 1:3].tolist()
        layer = int(drawing.layer[row])
        if drawing.integers[row, 0]:
            name = drawing.names[layer] if layer >= 0 else "0"
            message = (
                f"{file} has a MESH on layer {name!r} that is shown smoothed: its unsmoothed "
                "faces are read"
            )
            warn(message)
        if drawing.integers[row, 3] or places % 3:
            message = f"{file} has a MESH whose coordinates are out of order: export it again"
            raise MeshError(message)
        vertices = drawing.mesh_places[last_place - places : last_place].reshape(-1, 3)
        list_ = drawing.mesh_faces[last_corner - corners : last_corner].astype(np.int64)
        if corners:
            yield layer, Faces(vertices, *_face_list(list_, file))


def _face_list(numbers: Ints, file: str) -> tuple[Ints, Ints]:
    """Return the corners of all faces, and the size of each face.

    In `numbers`, each face is its size followed by its corners.
    """
    width = int(numbers[0]) + 1
    if width > 1 and len(numbers) % width == 0 and (numbers[::width] == width - 1).all():
        return numbers.reshape(-1, width)[:, 1:].reshape(-1), numbers[::width]
    is_corner = np.ones(len(numbers), dtype=bool)
    sizes, at, values = [], 0, numbers.tolist()
    while at < len(values):
        size = values[at]
        if size < 0 or at + size >= len(values):
            message = f"{file} has a MESH whose list of faces is truncated: export it again"
            raise MeshError(message)
        is_corner[at] = False
        sizes.append(size)
        at += size + 1
    return numbers[is_corner], np.array(sizes, dtype=np.int64)


# --- Writing ---


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write solids as R12 text: a 3DFACE per triangle, a layer per solid, and exact numbers."""
    file.write(b"0\nSECTION\n2\nENTITIES\n")
    for name, mesh in solids.items():
        layer = _SPECIAL.sub(_escaped, name)
        head = f"0\n3DFACE\n8\n{layer}\n"
        codes = [f"{axis}{corner}\n" for corner in range(4) for axis in (1, 2, 3)]
        for start in range(0, len(mesh.triangles), 1 << 16):
            corners = mesh.vertices[mesh.triangles[start : start + (1 << 16)]].reshape(-1, 9)
            numbers = map(repr, np.hstack([corners, corners[:, 6:]]).ravel().tolist())
            values = [numbers] * 12
            text = "".join(
                [
                    head + "".join([f"{c}{v}\n" for c, v in zip(codes, row, strict=True)])
                    for row in zip(*values, strict=True)
                ]
            )
            file.write(text.encode("ascii"))
    file.write(b"0\nENDSEC\n0\nEOF\n")


def _escaped(character: re.Match[str]) -> str:
    """Return the escapes of a character, one per UTF-16 unit; every program reads them alike."""
    code = character[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\U+{code[i : i + 4]}" for i in range(0, len(code), 4))
