"""Cells of block models: corners in VTK's order, centroids and sizes, sub-blocks.

The corners of an axis-aligned box have two distinct coordinates along each axis. The corners of a
rotated box are rounded. Eight corners therefore count as a rotated box if they differ from the
corners of an exact box by no more than rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.formats.block_file import Relabelling
from geodomain.mesh.pyvista import ghosts
from geodomain.tables.conditions import Column
from geodomain.tables.frames import refuse_far, turned
from geodomain.tables.rotation import frame_of_azimuth
from geodomain.tables.text import NewCells

# Corner positions in half block sizes from the centroid.
_VTK_CORNERS = np.array(
    [[x, y, z] for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))], np.float64
)


def corners_of(centroids: Floats, sizes: Floats, axes: Floats) -> Floats:
    """Return the corners (n, 8, 3) of blocks, in VTK's order."""
    offsets = (_VTK_CORNERS * 0.5) * sizes[:, None, :]
    return centroids[:, None, :] + (offsets if (axes == np.eye(3)).all() else offsets @ axes)


def measured(corners: Floats) -> tuple[Floats, Floats]:
    """Return centres and sizes of cells from their corners (n, 8, 3).

    Sizes are NaN if a cell is not an axis-aligned box.
    """
    low, high = corners.min(axis=1), corners.max(axis=1)
    at_low, at_high = corners == low[:, None], corners == high[:, None]
    # A box has four of its eight corners at either end of each axis.
    box = ((at_low | at_high).all(axis=1) & (at_low.sum(axis=1) == 4)).all(axis=1)[:, None]
    mean = corners[:, 0].copy()
    for corner in range(1, 8):  # in a fixed order, so that the rounding is always the same
        mean += corners[:, corner]
    return np.where(box, (low + high) / 2, mean / 8), np.where(box, high - low, np.nan)


def rounding_of(points: Floats | NDArray[np.float32]) -> float:
    """Return the rounding error of coordinates: 8 times the float spacing at the largest value."""
    largest = np.abs(points).max(initial=0)
    return 8.0 * float(np.spacing(largest)) if np.isfinite(largest) else 0.0


def axes_of(corners: Floats, rounding: float) -> Floats:
    """Return the edge directions of a cell, one row per axis.

    If the cell is not a box, return the world axes.

    Parameters
    ----------
    corners : (8, 3) float64
        Corners of the cell, in any order.
    rounding : float
        Rounding error of the coordinates, from `rounding_of`.
    """
    ways = corners[1:] - corners[0]
    lengths = np.linalg.norm(ways, axis=1)
    # The nearest corner gives the first edge; the nearest perpendicular corners give the others.
    edges: list[Floats] = []
    for place in np.argsort(lengths, kind="stable"):
        near = 4 * rounding * lengths[place]
        if len(edges) < 3 and all(abs(ways[place] @ edge) <= near for edge in edges):
            edges.append(ways[place] / max(lengths[place], rounding))
    if len(edges) < 3:
        return np.eye(3)
    rows = np.empty((3, 3))
    for axis in range(3):  # assign each edge to the nearest world axis
        best = max(range(len(edges)), key=lambda k: abs(edges[k][axis]))
        edge = edges.pop(best)
        rows[axis] = edge * math.copysign(1.0, edge[axis])
    return _plain(rows, rounding / float(lengths.min()))


def _plain(rows: Floats, off: float) -> Floats:
    """Return the rotation matrix nearest to three edge directions, one row per axis.

    If the cell is rotated about the z axis only, its azimuth in degrees is rounded. It gets the
    fewest decimals that change the azimuth by at most `off` radians.
    """
    left, _, right = np.linalg.svd(rows)
    axes: Floats = left @ right
    if abs(axes[2, 2]) >= 1 - off:
        azimuth = math.degrees(math.atan2(axes[1, 0], axes[1, 1]))
        for digits in range(13):
            if abs(round(azimuth, digits) - azimuth) <= math.degrees(off):
                return np.array(frame_of_azimuth(round(azimuth, digits)).matrix).T
    return axes


def measured_along(corners: Floats, axes: Floats, rounding: float) -> Floats:
    """Return the sizes (n, 3) of boxes along rotated axes, from their corners (n, 8, 3).

    Sizes are rounded to the decimals that are reliable at the precision of the corners. They are
    NaN if a cell is not a box along `axes`.
    """
    local = corners @ axes.T
    low, high = local.min(axis=1), local.max(axis=1)
    at_low = np.abs(local - low[:, None]) <= 2 * rounding
    at_high = np.abs(local - high[:, None]) <= 2 * rounding
    box = ((at_low ^ at_high).all(axis=1) & (at_low.sum(axis=1) == 4)).all(axis=1)[:, None]
    sizes = high - low
    if rounding > 0:
        sizes = np.round(sizes, min(math.floor(-math.log10(rounding)), 15))
    return np.where(box, sizes, np.nan)


# --- The cells of VTK data sets as blocks: centres and sizes, in batches.

# A batch: indices of its cells among all cells, their centres (n, 3) and sizes (n, 3).
Where = slice | NDArray[np.intp]
Chunk = tuple[Where, Floats, Floats]

_CHUNK = 1 << 20
# Working memory per cell along an axis: faces, centres and sizes.
_AXIS_BYTES = 80
# Tolerance for perpendicular unit vectors: some programs write five digits.
_SQUARE = 1e-3
_CORNERS = {11: "voxels", 12: "hexahedra"}
# Largest distance of blocks from the cells of a tensor grid, as a share of their size.
_NEAR = 1e-6


class Cells(Protocol):
    """Cells with a centre and a size; the interface of all kinds of cells."""

    @property
    def count(self) -> int:
        """The number of cells."""

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges, one row per axis."""

    def say(self) -> str:
        """Return a description of the cells, with their number."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield all cells in batches: indices, centres (n, 3) and sizes (n, 3)."""


@dataclass(frozen=True, eq=False)
class LatticeCells:
    """Cells of a lattice, given by the planes between them; the lattice may be rotated.

    Attributes
    ----------
    kind : str
        Description of the lattice for messages, such as VTK's name of the data set.
    faces : tuple of (n + 1,) float64
        For each axis, the coordinates of the planes that bound the cells, in file order.
    origin, matrix : optional
        Conversion to world coordinates of a rotated lattice: the world position of (0, 0, 0), and
        the rotation matrix.
    order : str
        The axes in the order in which cells follow each other in the file: the first varies
        fastest. "xyz", "zyx" or any other order.
    lengths : tuple of (n,) float64, optional
        For each axis, the sizes of the cells, if known more exactly than as differences of `faces`.
    """

    kind: str
    faces: tuple[Floats, Floats, Floats]
    origin: tuple[float, ...] | None = None
    matrix: NDArray[np.float64] | None = None
    order: str = "xyz"
    lengths: tuple[Floats, Floats, Floats] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along z, y and x."""
        return tuple(len(axis) - 1 for axis in reversed(self.faces))

    @property
    def count(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges, one row per axis."""
        return np.eye(3) if self.matrix is None else self.matrix.T

    @property
    def centres(self) -> tuple[Floats, Floats, Floats]:
        """Return the coordinates of the cell centres along each axis, before rotation."""
        x, y, z = ((axis[:-1] + axis[1:]) / 2 for axis in self.faces)
        return x, y, z

    @property
    def sizes(self) -> tuple[Floats, Floats, Floats]:
        """Return the sizes of the cells along each axis."""
        if self.lengths is not None:
            return self.lengths
        x, y, z = (np.abs(np.diff(axis)) for axis in self.faces)
        return x, y, z

    def say(self) -> str:
        """Return a description of the lattice, with its number of cells along each axis."""
        return f"{self.kind} of {' x '.join(map(str, reversed(self.shape)))} cells"

    def chunks(self) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
        """Yield the cells in batches: indices, centres and sizes.

        All cells of a vertical column are in the same batch.
        """
        x, y, z = self.centres
        lengths = self.sizes
        nz, ny, nx = self.shape
        counts, strides, stride = {"x": nx, "y": ny, "z": nz}, {}, 1
        for axis in self.order:
            strides[axis] = stride
            stride *= counts[axis]
        across, along, up = (strides[axis] for axis in "xyz")
        step = max(1, _CHUNK // max(1, len(x) * len(z)))
        # If a slab of one layer is too large, it is also cut across x.
        width = max(1, _CHUNK // max(1, len(z)))
        for left in range(0, len(x), width):
            part = slice(left, left + width)
            layers = np.add.outer(up * np.arange(nz), across * np.arange(nx)[part])[:, None]
            sizes, thick = np.empty((0, 3)), np.empty(0)
            for begin in range(0, len(y), step):
                slab = slice(begin, begin + step)
                points = product(x[part], y[slab], z)
                if self.matrix is not None and self.origin is not None:
                    points = turned(points, self.matrix, self.origin)
                if not len(sizes) or not np.array_equal(thick, lengths[1][slab]):
                    thick = lengths[1][slab]
                    sizes = product(lengths[0][part], thick, lengths[2])
                    sizes.flags.writeable = False  # shared by all slabs
                rows: NDArray[np.intp] = along * np.arange(ny)[slab, None]
                yield (layers + rows).ravel(), points, sizes


def lattice(
    kind: str,
    steps: Sequence[Floats],
    origin: Floats,
    axes: Floats,
    *,
    order: str = "xyz",
) -> LatticeCells:
    """Return the cells of a lattice from its cell sizes along each axis, its origin and its axes.

    `axes` holds the direction of each axis in a row.
    """
    u, v, w = (np.concatenate([[0.0], np.cumsum(sizes)]) for sizes in steps)
    lengths = (steps[0], steps[1], steps[2])
    if (axes == np.eye(3)).all():
        x, y, z = origin
        faces = (x + u, y + v, z + w)
        return LatticeCells(kind, faces, order=order, lengths=lengths)
    place = (float(origin[0]), float(origin[1]), float(origin[2]))
    return LatticeCells(f"{kind}, rotated,", (u, v, w), place, axes.T, order, lengths)


class Tensor(NamedTuple):
    """A tensor grid: origin, cell sizes along u, v and w, and the order of the blocks in it."""

    origin: Floats
    steps: list[Floats]
    order: NDArray[np.intp]


def tensor_of(local: Floats, sizes: Floats) -> Tensor | None:
    """Return the tensor grid whose cells are exactly the blocks, or None if there is no such grid.

    In the order of the grid's cells, u varies fastest.
    """
    place, counts, steps = np.zeros(len(local), np.int64), 1, []
    for axis in range(3):
        values, near = local[:, axis], _NEAR * sizes[:, axis].min()
        order = np.argsort(values, kind="stable")
        begins = np.diff(values[order], prepend=-np.inf) > near
        number = np.empty(len(values), np.int64)
        number[order] = np.cumsum(begins) - 1
        first = order[begins]
        step, centre = sizes[first, axis], values[first]
        same = (np.abs(sizes[:, axis] - step[number]) <= near).all()
        joined = np.abs(np.diff(centre) - (step[1:] + step[:-1]) / 2) <= near
        if not (same and joined.all()):
            return None
        place += counts * number
        counts *= len(first)
        steps.append(step)
    if counts != len(local) or len(np.unique(place)) != counts:
        return None
    return Tensor((local - sizes / 2).min(axis=0), steps, np.argsort(place))


def product(x: Floats, y: Floats, z: Floats) -> Floats:
    """Return every combination of x, y and z as a row (n, 3); x varies fastest."""
    shape = (len(z), len(y), len(x))
    out = np.empty((len(x) * len(y) * len(z), 3), order="F")
    axes = (x, y[:, None], z[:, None, None])
    for axis, values in enumerate(axes):
        out[:, axis].reshape(shape)[...] = values
    return out


@dataclass(frozen=True, eq=False)
class WithGhosts:
    """Cells that include ghosts, such as copies, refined cells or hidden cells.

    Attributes
    ----------
    cells : Cells
        All cells, ghosts included.
    ghost : (n,) bool
        True for each ghost. Ghosts do not count as blocks.
    """

    cells: Cells
    ghost: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """The number of cells, ghosts included."""
        return self.cells.count

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges."""
        return self.cells.axes

    def say(self) -> str:
        """Return a description of the cells, with the number of ghosts."""
        return f"{self.cells.say()}, {self.ghost.sum():,} of them ghosts"

    def chunks(self) -> Iterator[Chunk]:
        """Yield the cells in batches: indices, centres and sizes.

        The centres and sizes of ghosts are NaN.
        """
        for where, centres, sizes in self.cells.chunks():
            lost = self.ghost[where][:, None]
            yield where, np.where(lost, np.nan, centres), np.where(lost, np.nan, sizes)


@dataclass(frozen=True, eq=False)
class Corners:
    """Cells with eight corners each.

    Attributes
    ----------
    kind : str
        VTK's name of the cells.
    points : (v, 3) array
        Coordinates of the points, float32 or float64.
    count : int
        Number of cells.
    corners_of : callable
        Takes the first index of some cells and the index after the last cell. Returns the indices
        of their corners in `points`, (n, 8).
    """

    kind: str
    points: Any
    count: int
    corners_of: Callable[[int, int], NDArray[np.int64]]

    @cached_property
    def axes(self) -> Floats:
        """The edge directions, taken from the first cell that has a volume."""
        for begin in range(0, self.count, _CHUNK):
            corners = self._corners(begin)
            thick = np.flatnonzero((np.ptp(corners, axis=1) > self._rounding).all(axis=1))
            if len(thick):
                first = corners[thick[:1]]
                axes = axes_of(first[0], self._rounding)
                is_upright = np.isfinite(measured(first)[1]).all()
                is_box = np.isfinite(measured_along(first, axes, self._rounding)).all()
                return axes if is_box and not is_upright else np.eye(3)
        return np.eye(3)

    @cached_property
    def _rounding(self) -> float:
        return rounding_of(self.points)

    def _corners(self, begin: int) -> Floats:
        end = min(begin + _CHUNK, self.count)
        return np.asarray(self.points[self.corners_of(begin, end)], np.float64)

    def say(self) -> str:
        """Return a description of the cells, with their number."""
        return f"{self.kind} of {counted(self.count, 'cell')}"

    def chunks(self) -> Iterator[Chunk]:
        """Yield the cells in batches, in file order: indices, centres and sizes."""
        for begin in range(0, self.count, _CHUNK):
            corners = self._corners(begin)
            centres, sizes = measured(corners)
            if (self.axes != np.eye(3)).any():
                sizes = measured_along(corners, self.axes, self._rounding)
            yield slice(begin, begin + len(corners)), centres, sizes


def label_cells(
    cells: Cells, task: Relabelling, column: Callable[[Where, int], Column]
) -> list[NewCells]:
    """Label all cells, and return an array (n,) of codes for each new column.

    `column` takes the indices of some cells and the index of a column of the file, and returns the
    values of the column at these cells.
    """
    codes: list[NewCells] = [new.room(cells.count) for new in task.columns]
    done = 0
    for where, centres, sizes in cells.chunks():
        refuse_far(centres, sizes)
        labels = task.label(centres, sizes, partial(column, where))
        for out, each in zip(codes, labels, strict=True):
            out[where] = each
        done += len(centres)
        task.report(done, cells.count)
    return codes


def cells_of(dataset: Any, name: str) -> Cells:
    """Return the cells of a data set that PyVista has read.

    Raises
    ------
    TableError
        If the data set is flat, is a surface, or has cells that are not blocks.
    """
    import pyvista

    makers: dict[type, Callable[[Any, str], Cells]] = {
        pyvista.ImageData: _image,
        pyvista.RectilinearGrid: _rectilinear,
        pyvista.StructuredGrid: _structured,
        pyvista.UnstructuredGrid: _unstructured,
    }
    for kind, maker in makers.items():
        if isinstance(dataset, kind):
            whole = cast("pyvista.DataSet", dataset)
            return _without_ghosts(maker(dataset, name), ghosts(whole), name)
    message = (
        f"{name} contains {type(dataset).__name__}, which has no blocks: save the block model as "
        "ImageData, RectilinearGrid, StructuredGrid or UnstructuredGrid"
    )
    raise TableError(message)


def _without_ghosts(cells: Cells, ghost: NDArray[np.bool_], name: str) -> Cells:
    """Return the cells with their ghosts marked; a warning gives the number of ghosts."""
    if not ghost.any():
        return cells
    count = int(ghost.sum())
    verbs = ("is marked as a ghost", "is") if count == 1 else ("are marked as ghosts", "are")
    warn(f"{name}: {counted(count, 'cell')} {verbs[0]} (vtkGhostType) and {verbs[1]} ignored")
    return WithGhosts(cells, ghost)


def _image(image: Any, name: str) -> Cells:
    """Return the cells of an ImageData, rotated by its direction matrix."""
    matrix = [[image.GetDirectionMatrix().GetElement(i, j) for j in range(3)] for i in range(3)]
    extent, spacing, origin = image.GetExtent(), image.GetSpacing(), image.GetOrigin()
    return image_cells(extent, spacing, origin, np.array(matrix), name)


def image_cells(
    extent: Sequence[int],
    spacing: Sequence[float],
    origin: Sequence[float],
    matrix: NDArray[np.float64],
    name: str,
) -> Cells:
    """Return the cells of an image, rotated by a matrix about its origin.

    Raises
    ------
    TableError
        If the image is flat, or the matrix is not a pure rotation.
    """
    counts = [extent[2 * axis + 1] - extent[2 * axis] for axis in range(3)]
    _require_thickness(counts, name)
    require_axes(counts, name)
    steps = [
        np.arange(extent[2 * axis], extent[2 * axis + 1] + 1) * np.float64(spacing[axis])
        for axis in range(3)
    ]
    if (matrix != np.eye(3)).any():
        if not np.allclose(matrix @ matrix.T, np.eye(3), rtol=0, atol=_SQUARE):
            message = (
                f"{name} has a direction matrix that is not a rotation ({matrix.tolist()}), so "
                "its cells do not have the size that its spacing states: export it again"
            )
            raise TableError(message)
        place = (origin[0], origin[1], origin[2])
        return LatticeCells("ImageData, rotated,", (steps[0], steps[1], steps[2]), place, matrix)
    x, y, z = (start + step for start, step in zip(origin, steps, strict=True))
    return LatticeCells("ImageData", (x, y, z))


def require_axes(counts: Sequence[int], name: str) -> None:
    """Refuse a lattice whose axes or labels need more memory than there is.

    Raises
    ------
    TableError
    """
    shape = " x ".join(f"{count:,}" for count in counts)
    needed = _AXIS_BYTES * sum(counts) + math.prod(counts)
    memory.require(needed, f"{name}, with {shape} cells,", TableError)


def _rectilinear(grid: Any, name: str) -> Cells:
    """Return the cells of a RectilinearGrid."""
    axes = [np.asarray(axis).astype(np.float64) for axis in (grid.x, grid.y, grid.z)]
    _require_thickness([len(axis) - 1 for axis in axes], name)
    return LatticeCells("RectilinearGrid", (axes[0], axes[1], axes[2]))


def _structured(grid: Any, name: str) -> Cells:
    """Return the cells of a StructuredGrid, whose points are in lattice order."""
    nx, ny, nz = grid.dimensions
    _require_thickness([nx - 1, ny - 1, nz - 1], name)
    steps = np.array([i + nx * (j + ny * k) for k in (0, 1) for j in (0, 1) for i in (0, 1)])

    def corners_of(begin: int, end: int) -> NDArray[np.int64]:
        cell = np.arange(begin, end)
        i, rest = cell % (nx - 1), cell // (nx - 1)
        first = i + nx * (rest % (ny - 1) + ny * (rest // (ny - 1)))
        corners: NDArray[np.int64] = first[:, None] + steps
        return corners

    count = (nx - 1) * (ny - 1) * (nz - 1)
    return Corners("StructuredGrid", np.asarray(grid.points), count, corners_of)


def _unstructured(grid: Any, name: str) -> Cells:
    """Return the cells of an UnstructuredGrid of hexahedra and voxels."""
    kinds = set(np.unique(grid.celltypes).tolist())
    if kinds - set(_CORNERS):
        message = (
            f"{name} has cells that are not blocks (VTK types "
            f"{', '.join(str(kind) for kind in sorted(kinds - set(_CORNERS)))}): keep only "
            "voxels (11) and hexahedra (12)"
        )
        raise TableError(message)
    corners = np.asarray(grid.cell_connectivity).reshape(-1, 8)
    words = " and ".join(_CORNERS[kind] for kind in sorted(kinds)) or "no"
    return Corners(
        f"UnstructuredGrid, {words},",
        np.asarray(grid.points),
        grid.n_cells,
        lambda begin, end: corners[begin:end],
    )


def _require_thickness(counts: list[int], name: str) -> None:
    """Refuse a flat data set, which has no cells along some axis.

    `counts` holds the number of cells along each axis.
    """
    if min(counts) < 1:
        cells = " x ".join(str(max(count, 0)) for count in counts)
        message = (
            f"{name} is flat: it has {cells} cells along x, y and z, but a block model needs at "
            "least 1 along each axis"
        )
        raise TableError(message)


# --- Sub-blocks of lattice cells: centres and sizes, in batches.


@dataclass(frozen=True)
class SubBlocks:
    """Sub-blocks within parent cells.

    Attributes
    ----------
    parents : LatticeCells
        Lattice of the parent cells.
    index : (n, 3) integers
        For each sub-block, the index of its parent along each axis.
    low, high : (n, 3) array
        Lowest and highest coordinates of each sub-block within its parent. The unit is a part of
        the parent, see `parts`.
    parts : (3,) float64
        Number of parts of a parent along each axis; 1 if corners are fractions of the parent.
    """

    parents: LatticeCells
    index: NDArray[np.int64]
    low: Floats
    high: Floats
    parts: Floats

    @property
    def count(self) -> int:
        """The number of sub-blocks."""
        return len(self.index)

    @property
    def axes(self) -> Floats:
        """The directions of the block edges, one row per axis."""
        return self.parents.axes

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return, for each sub-block, the index of its parent in the list of all parents.

        The parents are listed with u, the first axis, varying fastest.
        """
        _, ny, nx = self.parents.shape
        along = self.index
        rows: NDArray[np.int64] = along[:, 0] + nx * (along[:, 1] + ny * along[:, 2])
        return rows

    def say(self) -> str:
        """Return a description of the sub-blocks, with their number and parents."""
        return f"{counted(self.count, 'sub-block')} of {self.parents.say()}"

    def wrong(self) -> int | None:
        """Return the index of the first sub-block outside its parent or the lattice, or None."""
        counts = np.array(self.parents.shape[::-1])
        fine = (self.index >= 0) & (self.index < counts)
        fine &= (self.low >= 0) & (self.low < self.high) & (self.high <= self.parts)
        bad = ~fine.all(axis=1)
        return int(bad.argmax()) if bad.any() else None

    def chunks(self) -> Iterator[Chunk]:
        """Yield the sub-blocks in batches, in file order: indices, centres and sizes."""
        for begin in range(0, self.count, _CHUNK):
            where = slice(begin, begin + _CHUNK)
            centres, sizes = self._measured(where)
            if self.parents.matrix is not None and self.parents.origin is not None:
                centres = turned(centres, self.parents.matrix, self.parents.origin)
            yield where, centres, sizes

    def _measured(self, where: slice) -> tuple[Floats, Floats]:
        """Return the centres and sizes of sub-blocks, along the axes of the lattice.

        The centres are coordinates before the rotation of the lattice.
        """
        centres, sizes = np.empty((2, len(self.index[where]), 3))
        for axis, faces in enumerate(self.parents.faces):
            parent = self.index[where, axis]
            step = np.diff(faces)[parent] / self.parts[axis]
            low, high = self.low[where, axis], self.high[where, axis]
            centres[:, axis] = faces[parent] + (low + high) / 2 * step
            sizes[:, axis] = (high - low) * step
        return centres, sizes
