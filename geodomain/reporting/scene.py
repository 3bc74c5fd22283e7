"""The 3D view of a report: blocks, wireframes and drillholes, encoded as text."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Ints
from geodomain.drillholes.drillholes import Drillholes
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.blocks import Geometry, ShownLabel, TextColumns

_NAMES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float32": "f32", "float64": "f64"}

# Bytes up to which packing as well as can be takes no time that anyone notices.
_SMALL = 4_000_000


class Packed(TypedDict):
    """What a reader must know of an array in a page."""

    block: int
    type: str
    length: int
    differences: bool


@dataclass
class Pack:
    """Arrays for a page, each in a block of its own.

    Attributes
    ----------
    blocks : list of str
        The text of each, in the order in which they came.
    """

    blocks: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return how many characters there are so far."""
        return sum(map(len, self.blocks))

    def add(self, array: NDArray[np.generic], *, differences: bool = False) -> Packed:
        """Take an array, and return what a reader must know of it.

        Parameters
        ----------
        array : (n,) uint8, uint16, uint32, float32 or float64
        differences : bool
            Store the differences between neighbours, modulo the type's range, of unsigned numbers.

        Returns
        -------
        dict
            ``block``, ``type``, ``length`` and ``differences``.
        """
        flat = np.ascontiguousarray(array).reshape(-1)
        stored = flat
        if differences:
            stored = np.diff(flat, prepend=flat.dtype.type(0)).astype(flat.dtype, copy=False)
        little = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        bytes_by_place = little.view(np.uint8).reshape(-1, flat.dtype.itemsize).T
        packed = zlib.compress(bytes_by_place.tobytes(), 9 if flat.nbytes < _SMALL else 5)
        return self._put(packed, _NAMES[flat.dtype.name], len(flat), differences=differences)

    def add_codes(self, codes: NDArray[np.generic], count: int) -> Packed:
        """Take codes below `count` in the fewest bytes."""
        return self.add(narrowed(codes, count), differences=True)

    def add_texts(self, texts: list[str]) -> Packed:
        """Take texts, none of which holds a line end."""
        joined = "\n".join(text.replace("\n", " ") for text in texts).encode()
        return self._put(zlib.compress(joined, 6), "text", len(texts), differences=False)

    def _put(self, packed: bytes, kind: str, length: int, *, differences: bool) -> Packed:
        self.blocks.append(base64.b64encode(packed).decode("ascii"))
        return {
            "block": len(self.blocks) - 1,
            "type": kind,
            "length": length,
            "differences": differences,
        }


def narrowed(codes: NDArray[np.generic], count: int) -> NDArray[np.generic]:
    """Return codes below `count` the narrowest type that holds them."""
    kind = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32
    return codes.astype(kind)


def runs_of(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return codes as runs: what each run says, and how many rows it has.

    Examples
    --------
    >>> values, lengths = runs_of(np.array([3, 3, 3, 0], np.int32))
    >>> values.tolist(), lengths.tolist()
    ([3, 0], [3, 1])
    """
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[starts], np.diff(np.append(starts, len(codes))).astype(np.uint32)


# Wireframes simplified for display: the vertices of a cell become one.


def coarser(mesh: Mesh, most: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return vertices and at most so many triangles that look like a mesh, its own if those do.

    Vertices in one cell of a lattice become their mean, and triangles without an area go. The
    cells grow until few enough triangles are left.
    """
    vertices, triangles = mesh.vertices, mesh.triangles
    cells = 1024
    while len(triangles) > most and cells >= 4:
        vertices, triangles = _clustered(mesh, cells)
        cells = cells * 3 // 4
    return vertices, triangles


def _clustered(mesh: Mesh, cells: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Merge the vertices in each cell of a lattice so many cells long."""
    low, high = mesh.bounds
    step = float((high - low).max()) / cells or 1.0
    places = np.floor((mesh.vertices - low) / step).astype(np.int64) + 1
    key = (places[:, 0] << 40) | (places[:, 1] << 20) | places[:, 2]
    _, inverse = np.unique(key, return_inverse=True)
    counts = np.bincount(inverse)
    columns = [np.bincount(inverse, mesh.vertices[:, axis]) / counts for axis in range(3)]
    found = inverse[mesh.triangles].astype(np.int32)
    kept = (found != np.roll(found, 1, axis=1)).all(axis=1)
    return np.stack(columns, axis=1), found[kept]


# Block faces on the boundary of their domain, which alone are drawn.

Cells = NDArray[np.int16] | NDArray[np.int32]

# Cells of the finest lattice: three bytes each, or five.
_MOST_CELLS = 1 << 27
# A block of more cells than this is not taken apart.
_MOST_PARTS = 4096
_SLACK = 0.02


def boundary_faces(geometry: Geometry) -> NDArray[np.uint8] | None:
    """Tell the faces of blocks that lie, or part of which lies, on another label or on no block.

    Parameters
    ----------
    geometry : Geometry

    Returns
    -------
    (n,) uint8, or None
        The bits 1, 2, 4, 8, 16, 32 stand for the faces towards low x, high x, low y, high y, low z
        and high z along the blocks' axes. None where the blocks lie on no lattice, or on one of
        too many cells.
    """
    unit = geometry.sizes.min(axis=0)
    counts = geometry.sizes / unit
    parts = np.round(counts).astype(np.int64)
    lows = [_lowest_cells(geometry, axis, float(unit[axis])) for axis in range(3)]
    if any(low is None for low in lows) or (np.abs(counts - parts) > _SLACK).any():
        return None
    # A layer of empty cells all around, so that every cell has six neighbours.
    shape = [
        int((low + parts[geometry.kinds, axis]).max()) + 2
        for axis, low in enumerate(lows)
        if low is not None
    ]
    if np.prod(shape, dtype=np.float64) > _MOST_CELLS or parts.prod(axis=1).max() > _MOST_PARTS:
        return None
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    flat = sum((low + 1) * step for low, step in zip(lows, strides, strict=True) if low is not None)
    assert isinstance(flat, np.ndarray)
    many = int(geometry.codes.max(initial=0)) >= np.iinfo(np.int16).max
    cells: Cells = np.zeros(shape, np.int32) if many else np.zeros(shape, np.int16)
    for rows, steps in _cells_of(geometry, parts, strides):
        cells.reshape(-1)[flat[rows] + steps] = geometry.codes[rows] + 1
    outer = _other_neighbours(cells).reshape(-1)
    found = np.zeros(len(flat), np.uint8)
    for rows, steps in _cells_of(geometry, parts, strides):
        found[rows] |= outer[flat[rows] + steps]
    return found


def _lowest_cells(geometry: Geometry, axis: int, unit: float) -> Ints | None:
    """Return the lowest cell of each block along an axis, or None where they lie on no lattice."""
    centres, places, kinds = geometry.centres[axis], geometry.places[axis], geometry.kinds
    lows = centres[:, None] - geometry.sizes[:, axis] / 2
    there = np.zeros(lows.shape, np.bool_)
    there[places, kinds] = True
    steps = (lows - lows[there].min()) / unit
    cells = np.round(steps)
    if (np.abs(steps - cells)[there] > _SLACK).any():
        return None
    found: Ints = cells.astype(np.int64)[places, kinds]
    return found


def _cells_of(geometry: Geometry, parts: Ints, strides: Ints) -> Iterator[tuple[Ints | slice, int]]:
    """Return the blocks of each size, cell by cell of theirs: rows, steps from the lowest cell."""
    for kind, counts in enumerate(parts.tolist()):
        rows = slice(None) if len(parts) == 1 else np.flatnonzero(geometry.kinds == kind)
        for offset in product(*map(range, counts)):
            yield rows, int(np.dot(offset, strides))


def _other_neighbours(cells: Cells) -> NDArray[np.uint8]:
    """Tell on which of its six sides each cell has a neighbour that holds something else."""
    other = np.zeros(cells.shape, np.uint8)
    for axis in range(3):
        one = tuple(slice(None, -1) if each == axis else slice(None) for each in range(3))
        two = tuple(slice(1, None) if each == axis else slice(None) for each in range(3))
        differs = (cells[one] != cells[two]).astype(np.uint8)
        other[two] |= differs << np.uint8(2 * axis)
        other[one] |= differs << np.uint8(2 * axis + 1)
    return other


# Drillholes as lines.

# Points along a hole, at most, and so many to the length of the longest.
_MOST = 64


def packed_holes(holes: Drillholes, origin: NDArray[np.float64], pack: Pack) -> dict[str, object]:
    """Return drillholes as plain values and arrays in a pack.

    Parameters
    ----------
    holes : Drillholes
    origin : (3,) float64
        What coordinates are taken from.
    pack : Pack
        Takes the arrays.

    Returns
    -------
    dict
        ``names``, ``points`` (x, y, z in turn), and ``lengths``, of how many points each is.
    """
    longest = float(holes.ends.max(initial=1.0)) or 1.0
    lines = [
        holes.positions(name, np.linspace(0.0, end, max(2, int(np.ceil(_MOST * end / longest)))))
        for name, end in zip(holes.names, holes.ends.tolist(), strict=True)
    ]
    points = np.concatenate([np.empty((0, 3)), *lines]) - origin
    return {
        "names": list(holes.names),
        "points": pack.add(points.astype(np.float32)),
        "lengths": pack.add(np.array([len(line) for line in lines], np.uint32)),
    }


# The scene for the browser.

# More are thinned out: a browser without a graphics card draws as many in about a second.
MOST_DRAWN = 300_000
# Of all wireframes together.
MOST_TRIANGLES = 400_000
# Characters for the texts of cells; columns beyond them are left out.
_MOST_CHARACTERS = 17_000_000


@dataclass(frozen=True)
class CoarseWireframe:
    """A wireframe that is drawn with fewer triangles than it has."""

    name: str
    drawn: int
    whole: int


@dataclass(frozen=True)
class Scene:
    """What the view draws.

    Attributes
    ----------
    values : dict
        For the page, as JSON.
    drawn, every : int
        Boundary blocks that are drawn, one of so many.
    count : int
        All blocks.
    coarse : tuple of CoarseWireframe
        Wireframes that are not drawn as they are.
    left_out : tuple of str
        Columns whose texts are not there.
    """

    values: dict[str, object]
    drawn: int
    every: int
    count: int
    coarse: tuple[CoarseWireframe, ...]
    left_out: tuple[str, ...]


def scene_of(
    geometry: Geometry,
    texts: TextColumns,
    labels: Sequence[ShownLabel],
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    holes: Drillholes | None,
    pack: Pack,
) -> Scene:
    """Return what the view draws, as plain values and arrays in a pack.

    Parameters
    ----------
    geometry : Geometry
        The blocks.
    texts : TextColumns
        What the file says in each row.
    labels : sequence of ShownLabel
        What the codes of blocks stand for.
    wireframes : mapping of str to sequence of Mesh
        By domain.
    colours : mapping of str to str
        Of domains.
    holes : Drillholes, optional
        Drawn as lines.
    pack : Pack
        Takes the arrays.
    """
    shell, faces, every = _shell(geometry, labels)
    rows, count = geometry.rows, len(geometry.rows)
    values, lengths = runs_of(geometry.codes)
    whole = count == 0 or int(rows[-1]) == count - 1
    columns, left_out = _columns(texts, pack)
    drawn, coarse = _wireframes(wireframes, colours, geometry.origin, pack)
    return Scene(
        {
            "origin": geometry.origin.tolist(),
            "matrix": geometry.matrix.tolist(),
            "turned": geometry.is_turned,
            "extent": geometry.extent.tolist(),
            "count": count,
            "centres": [pack.add(each) for each in geometry.centres],
            "places": [
                pack.add_codes(codes, len(centres))
                for codes, centres in zip(geometry.places, geometry.centres, strict=True)
            ],
            "sizes": geometry.sizes.tolist(),
            "kinds": pack.add_codes(geometry.kinds, len(geometry.sizes)),
            "rows": None if whole else pack.add(rows.astype(np.uint32), differences=True),
            "labels": [asdict(label) for label in labels],
            "runs": {
                "values": pack.add(narrowed(values, len(labels))),
                "lengths": pack.add(lengths),
            },
            "shell": pack.add(shell.astype(np.uint32), differences=True),
            "faces": pack.add(faces),
            "wireframes": drawn,
            "holes": None if holes is None else packed_holes(holes, geometry.origin, pack),
            "columns": columns,
        },
        drawn=len(shell),
        every=every,
        count=count,
        coarse=coarse,
        left_out=(*left_out, *texts.left_out),
    )


def _shell(
    geometry: Geometry, labels: Sequence[ShownLabel]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], int]:
    """Return the blocks on a boundary of a domain, their faces on it, of how many one is drawn."""
    is_domain = np.array([not label.ground for label in labels])
    drawn = is_domain[geometry.codes]
    faces = boundary_faces(geometry)
    if faces is not None:
        drawn &= faces > 0
    found = np.flatnonzero(drawn)
    every = max(1, -(-len(found) // MOST_DRAWN))
    kept = found[::every]
    whole = faces is None or every > 1
    return kept, np.full(len(kept), 63, np.uint8) if whole or faces is None else faces[kept], every


def _columns(texts: TextColumns, pack: Pack) -> tuple[list[dict[str, object]], list[str]]:
    """Pack the texts of cells, column by column, as far as there is room."""
    found: list[dict[str, object]] = []
    left_out, begin = [], pack.size
    for name, words, codes in zip(texts.names, texts.texts, texts.codes, strict=True):
        mark = len(pack.blocks)
        packed = {"texts": pack.add_texts(words), "codes": pack.add_codes(codes, len(words))}
        if pack.size - begin > _MOST_CHARACTERS:
            del pack.blocks[mark:]
            left_out.append(name)
        else:
            found.append({"name": name, **packed})
    return found, left_out


def _wireframes(
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    origin: NDArray[np.float64],
    pack: Pack,
) -> tuple[list[dict[str, object]], tuple[CoarseWireframe, ...]]:
    """Pack the wireframes, coarser where they have too many triangles."""
    total = sum(len(mesh.triangles) for meshes in wireframes.values() for mesh in meshes)
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    found: list[dict[str, object]] = []
    coarse = []
    for domain, mesh in [(name, mesh) for name, meshes in wireframes.items() for mesh in meshes]:
        vertices, triangles = coarser(mesh, int(share * len(mesh.triangles)))
        found.append(
            {
                "domain": domain,
                "colour": colours[domain],
                "vertices": pack.add((vertices - origin).astype(np.float32)),
                "triangles": pack.add(triangles.astype(np.uint32), differences=True),
            }
        )
        if len(triangles) < len(mesh.triangles):
            coarse.append(CoarseWireframe(mesh.name, len(triangles), len(mesh.triangles)))
    return found, tuple(coarse)
