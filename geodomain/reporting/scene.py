"""Encode blocks, wireframes and drillholes for the 3D view of a report."""

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

# Arrays up to this many bytes get the best compression, which takes no noticeable time for them.
_SMALL = 4_000_000


class Packed(TypedDict):
    """Description of an array in a `Pack`, with which the page unpacks the array."""

    block: int
    type: str
    length: int
    differences: bool


@dataclass
class Pack:
    """Compressed arrays for a page.

    Attributes
    ----------
    blocks : list of str
        One base64 text for each array, in the order in which they were added.
    """

    blocks: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of characters in all packed arrays so far."""
        return sum(map(len, self.blocks))

    def add(self, array: NDArray[np.generic], *, differences: bool = False) -> Packed:
        """Add an array, and return its description.

        Parameters
        ----------
        array : (n,) uint8, uint16, uint32, float32 or float64
            The array.
        differences : bool
            Whether to store the differences between neighbouring elements, modulo the range of the
            type. Only for unsigned types.

        Returns
        -------
        dict
            The description, with the keys ``block``, ``type``, ``length`` and ``differences``.
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
        """Add codes from 0 to `count` - 1, in the narrowest unsigned type."""
        return self.add(narrowed(codes, count), differences=True)

    def add_texts(self, texts: list[str]) -> Packed:
        """Add texts; a line end in a text becomes a space."""
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
    """Return codes from 0 to `count` - 1 in the narrowest unsigned type."""
    kind = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32
    return codes.astype(kind)


def runs_of(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Encode codes by run-length encoding: return the code and the length of each run.

    Examples
    --------
    >>> values, lengths = runs_of(np.array([3, 3, 3, 0], np.int32))
    >>> values.tolist(), lengths.tolist()
    ([3, 0], [3, 1])
    """
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[starts], np.diff(np.append(starts, len(codes))).astype(np.uint32)


# Simplified wireframes.


def coarser(mesh: Mesh, most: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a mesh's vertices and triangles, simplified to at most `most` triangles.

    A mesh with at most `most` triangles is returned unchanged. Otherwise all vertices in a cell of
    a regular grid are merged into their mean, and triangles that collapse are dropped. The cells
    grow until at most `most` triangles remain, up to a quarter of the mesh's longest side.
    """
    vertices, triangles = mesh.vertices, mesh.triangles
    cells = 1024
    while len(triangles) > most and cells >= 4:
        vertices, triangles = _clustered(mesh, cells)
        cells = cells * 3 // 4
    return vertices, triangles


def _clustered(mesh: Mesh, cells: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Merge the vertices in each cell of a grid that has `cells` cells along the longest side."""
    low, high = mesh.bounds
    step = float((high - low).max()) / cells or 1.0
    places = np.floor((mesh.vertices - low) / step).astype(np.int64) + 1
    key = (places[:, 0] << 40) | (places[:, 1] << 20) | places[:, 2]
    _, inverse = np.unique(key, return_inverse=True)
    counts = np.bincount(inverse)
    columns = [np.bincount(inverse, mesh.vertices[:, axis]) / counts for axis in range(3)]
    triangles = inverse[mesh.triangles].astype(np.int32)
    proper = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return np.stack(columns, axis=1), triangles[proper]


# Block faces on the boundary of their domain; the view draws only these.

Cells = NDArray[np.int16] | NDArray[np.int32]

# Limit of cells of the finest lattice; a cell takes three bytes, or five.
_MOST_CELLS = 1 << 27
# Limit of cells in one block.
_MOST_PARTS = 4096
_SLACK = 0.02


def boundary_faces(geometry: Geometry) -> NDArray[np.uint8] | None:
    """Find the block faces that border, at least in part, on another label or on no block.

    Parameters
    ----------
    geometry : Geometry
        The blocks.

    Returns
    -------
    (n,) uint8, or None
        A bit mask for each block: bits 1, 2, 4, 8, 16, 32 are the faces at low x, high x, low y,
        high y, low z and high z along the block axes. None if the blocks form no lattice, or if the
        lattice has too many cells.
    """
    unit = geometry.sizes.min(axis=0)
    counts = geometry.sizes / unit
    parts = np.round(counts).astype(np.int64)
    lows = [_lowest_cells(geometry, axis, float(unit[axis])) for axis in range(3)]
    if any(low is None for low in lows) or (np.abs(counts - parts) > _SLACK).any():
        return None
    # Pad with a layer of empty cells, so that every cell has six neighbours.
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
    faces = np.zeros(len(flat), np.uint8)
    for rows, steps in _cells_of(geometry, parts, strides):
        faces[rows] |= outer[flat[rows] + steps]
    return faces


def _lowest_cells(geometry: Geometry, axis: int, unit: float) -> Ints | None:
    """Return the number of the lowest cell of each block along an axis; None without a lattice."""
    centres, places, kinds = geometry.centres[axis], geometry.places[axis], geometry.kinds
    lows = centres[:, None] - geometry.sizes[:, axis] / 2
    occurs = np.zeros(lows.shape, np.bool_)
    occurs[places, kinds] = True
    steps = (lows - lows[occurs].min()) / unit
    cells = np.round(steps)
    if (np.abs(steps - cells)[occurs] > _SLACK).any():
        return None
    lowest: Ints = cells.astype(np.int64)[places, kinds]
    return lowest


def _cells_of(geometry: Geometry, parts: Ints, strides: Ints) -> Iterator[tuple[Ints | slice, int]]:
    """Yield pairs (rows, offset): for each block size, one pair for each cell within a block.

    `rows` are the rows of all blocks of this size. `offset` is the offset of the cell from the
    first cell of its block.
    """
    for kind, counts in enumerate(parts.tolist()):
        rows = slice(None) if len(parts) == 1 else np.flatnonzero(geometry.kinds == kind)
        for offset in product(*map(range, counts)):
            yield rows, int(np.dot(offset, strides))


def _other_neighbours(cells: Cells) -> NDArray[np.uint8]:
    """Return a bit mask for each cell: the sides at which the neighbouring cell has another value.

    The bits have the same meaning as in `boundary_faces`.
    """
    other = np.zeros(cells.shape, np.uint8)
    for axis in range(3):
        before = tuple(slice(None, -1) if each == axis else slice(None) for each in range(3))
        after = tuple(slice(1, None) if each == axis else slice(None) for each in range(3))
        differs = (cells[before] != cells[after]).astype(np.uint8)
        other[after] |= differs << np.uint8(2 * axis)
        other[before] |= differs << np.uint8(2 * axis + 1)
    return other


# Drillholes as lines.

# Number of points along the longest hole; shorter holes have fewer.
_MOST = 64


def packed_holes(holes: Drillholes, origin: NDArray[np.float64], pack: Pack) -> dict[str, object]:
    """Encode drillholes as plain values for JSON; the arrays of points go to `pack`.

    Parameters
    ----------
    holes : Drillholes
        The holes.
    origin : (3,) float64
        Point to subtract from coordinates.
    pack : Pack
        The arrays are added to this object.

    Returns
    -------
    dict
        ``names``: names of the holes. ``points``: x, y, z of all points, one after the other.
        ``lengths``: number of points of each hole.
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

# Limit of blocks drawn; a browser without a graphics card draws this many in about a second.
MOST_DRAWN = 300_000
# Limit of triangles of all wireframes together.
MOST_TRIANGLES = 400_000
# Limit of characters for cell texts; columns beyond it are left out.
_MOST_CHARACTERS = 17_000_000


@dataclass(frozen=True)
class CoarseWireframe:
    """A simplified wireframe: its number of triangles, and the number in the original."""

    name: str
    drawn: int
    whole: int


@dataclass(frozen=True)
class Scene:
    """The contents of the 3D view.

    Attributes
    ----------
    values : dict
        Values for the page, ready for JSON.
    drawn : int
        Number of boundary blocks drawn.
    every : int
        Thinning factor: every n-th boundary block is drawn; 1 draws all of them.
    count : int
        Number of all blocks.
    coarse : tuple of CoarseWireframe
        Simplified wireframes.
    left_out : tuple of str
        Columns that are not in the page, because their texts are too large.
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
    """Encode the contents of the 3D view as plain values for JSON; large arrays go to `pack`.

    Parameters
    ----------
    geometry : Geometry
        The blocks.
    texts : TextColumns
        The columns of the file as text, to show for a block.
    labels : sequence of ShownLabel
        How to show each label of the model, in order.
    wireframes : mapping of str to sequence of Mesh
        Wireframes by domain.
    colours : mapping of str to str
        Colours of domains.
    holes : Drillholes, optional
        Drillholes, drawn as lines.
    pack : Pack
        The large arrays are added to this object. The plain values hold a description in place of
        each large array.
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
    """Return boundary blocks of domains, boundary faces of each block, and the thinning factor."""
    is_domain = np.array([not label.ground for label in labels])
    drawn = is_domain[geometry.codes]
    faces = boundary_faces(geometry)
    if faces is not None:
        drawn &= faces > 0
    boundary = np.flatnonzero(drawn)
    every = max(1, -(-len(boundary) // MOST_DRAWN))
    shown = boundary[::every]
    whole = faces is None or every > 1
    return (
        shown,
        np.full(len(shown), 63, np.uint8) if whole or faces is None else faces[shown],
        every,
    )


def _columns(texts: TextColumns, pack: Pack) -> tuple[list[dict[str, object]], list[str]]:
    """Pack the texts of the columns, up to a limit of characters.

    Return a tuple: the packed columns, and the names of the columns that were left out.
    """
    packed_columns: list[dict[str, object]] = []
    left_out, begin = [], pack.size
    for name, words, codes in zip(texts.names, texts.texts, texts.codes, strict=True):
        mark = len(pack.blocks)
        packed = {"texts": pack.add_texts(words), "codes": pack.add_codes(codes, len(words))}
        if pack.size - begin > _MOST_CHARACTERS:
            del pack.blocks[mark:]
            left_out.append(name)
        else:
            packed_columns.append({"name": name, **packed})
    return packed_columns, left_out


def _wireframes(
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    origin: NDArray[np.float64],
    pack: Pack,
) -> tuple[list[dict[str, object]], tuple[CoarseWireframe, ...]]:
    """Pack the wireframes; a wireframe with too many triangles is simplified."""
    total = sum(len(mesh.triangles) for meshes in wireframes.values() for mesh in meshes)
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    packed_meshes: list[dict[str, object]] = []
    coarse = []
    for domain, mesh in [(name, mesh) for name, meshes in wireframes.items() for mesh in meshes]:
        vertices, triangles = coarser(mesh, int(share * len(mesh.triangles)))
        packed_meshes.append(
            {
                "domain": domain,
                "colour": colours[domain],
                "vertices": pack.add((vertices - origin).astype(np.float32)),
                "triangles": pack.add(triangles.astype(np.uint32), differences=True),
            }
        )
        if len(triangles) < len(mesh.triangles):
            coarse.append(CoarseWireframe(mesh.name, len(triangles), len(mesh.triangles)))
    return packed_meshes, tuple(coarse)
