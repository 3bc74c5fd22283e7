"""Make synthetic meshes of a chosen size, and segments across them, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.deposit import Triangles, grid

GOLDEN = (1 + np.sqrt(5)) / 2
LARGEST_FREQUENCY = 511


def geodesic_sphere(frequency: int) -> tuple[Floats, Triangles]:
    """Divide the faces of an icosahedron and move the vertices to the unit sphere.

    Each coordinate of an icosahedron's corner is p + q * golden ratio, with integers p and q. So
    six integers describe each vertex of the division. All faces that share a vertex have the same
    integers for it, so equal vertices are merged exactly.

    Parameters
    ----------
    frequency : int
        Number of parts into which each edge is divided, 1 to 511.

    Returns
    -------
    points : ndarray of shape (10 frequency^2 + 2, 3), float64
    triangles : ndarray of shape (20 frequency^2, 3), int32
        Counter-clockwise seen from outside.

    Raises
    ------
    ValueError
        If the frequency is out of range.
    """
    if not 1 <= frequency <= LARGEST_FREQUENCY:
        message = f"frequency is {frequency}; it must be from 1 to {LARGEST_FREQUENCY}"
        raise ValueError(message)
    corners, faces = icosahedron()
    weights, cells = divided_triangle(frequency)
    lattice = np.einsum("wc,fcx->fwx", weights, corners[faces]).reshape(-1, 6)
    # Six integers of ten bits each: |p|, |q| <= frequency <= 511.
    key = (lattice + 512) @ (1 << np.arange(0, 60, 10))
    _, first, vertex = np.unique(key, return_index=True, return_inverse=True)
    exact = lattice[first]
    points = exact[:, 0::2] + GOLDEN * exact[:, 1::2]
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    offsets = np.arange(len(faces))[:, None, None] * len(weights)
    return points, vertex[(cells + offsets).reshape(-1, 3)].astype(np.int32)


def icosahedron() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the corners (12, 6) and faces (20, 3) of an icosahedron, as integers.

    The row of a corner is px, qx, py, qy, pz, qz; its x is px + qx * golden ratio.
    """
    corners = []
    for turn, sign, golden in product(range(3), (-1, 1), (-1, 1)):
        corner = np.zeros((3, 2), dtype=np.int64)
        corner[turn, 0], corner[(turn + 1) % 3, 1] = sign, golden
        corners.append(corner.ravel())
    lattice = np.array(corners)
    place = lattice[:, 0::2] + GOLDEN * lattice[:, 1::2]
    distance = ((place[:, None] - place) ** 2).sum(axis=2)
    near = (distance > 0) & (distance < 4.5)  # an edge has length 2, the next diagonal 3.2
    faces = [
        (a, b, c)
        for a, b, c in product(range(12), repeat=3)
        if a < min(b, c) and near[a, b] and near[b, c] and near[c, a]
        if np.linalg.det(place[[a, b, c]]) > 0
    ]
    return lattice, np.array(faces)


def divided_triangle(frequency: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide a triangle; return the barycentric weights of vertices and the cells.

    The weights, (w, 3), are integers whose sum is `frequency`. The cells, (c, 3), are given by the
    indices of their vertices.
    """
    side = np.arange(frequency + 1)
    i, j = (index.ravel() for index in np.meshgrid(side, side, indexing="ij"))
    inside = i + j <= frequency
    number = np.cumsum(inside) - 1
    here = np.arange(i.size).reshape(len(side), -1)[:-1, :-1].ravel()
    right, up = here + len(side), here + 1
    cells = np.concatenate([np.stack([here, right, up], 1), np.stack([right, right + 1, up], 1)])
    cells = cells[inside[cells].all(axis=1)]
    weights = np.stack([frequency - i - j, i, j], axis=1)[inside]
    return weights, number[cells]


# --- The terrain for tests of segments: cosines summed over a jittered grid.

EXTENT = (3000.0, 2500.0)  # metres along x and y

# Every coordinate is a multiple of this, in metres. Below 2^14 m such numbers are the same in
# float32 and in float64, and the last bit, in which cosines differ between machines, is hidden.
STEP = 2.0**-10

# Largest move of a grid line to either side, in cells: lines never meet.
_JITTER = 0.125

# Amplitude, wavelengths along x and along y, in metres, and a phase. The shortest are below the
# size of a cell at 29,260 triangles, which roughens the terrain from one node to the next.
_WAVES = (
    (23.0, 2750.0, 1900.0, 0.3),
    (6.0, 1610.0, 2240.0, 1.8),
    (2.0, 470.0, 390.0, 5.2),
    (2.4, 170.0, 205.0, 3.6),
    (1.7, 74.0, 41.0, 0.9),
    (0.9, 19.0, 13.0, 2.2),
)


def grid_cells(triangles: int) -> tuple[int, int]:
    """Return the numbers of cells along x and y that give nearly this number of triangles.

    Cells are as square as the numbers allow; 29,260 triangles are 133 x 110 cells.
    """
    ideal = int((triangles / 2 * EXTENT[0] / EXTENT[1]) ** 0.5)
    shapes = [(x, max(1, round(triangles / 2 / x))) for x in (max(1, ideal), ideal + 1)]
    return min(shapes, key=lambda shape: abs(2 * shape[0] * shape[1] - triangles))


def require_possible(triangles: int) -> None:
    """Raise ValueError for a number of triangles that the terrain cannot have."""
    if triangles < 2:
        message = f"a terrain has at least 2 triangles, not {triangles}"
        raise ValueError(message)
    if cell_size(triangles) < 64 * STEP:
        message = f"{triangles:,} triangles are too many: cells would be smaller than {64 * STEP} m"
        raise ValueError(message)


def cell_size(triangles: int) -> float:
    """Return the shorter side, in metres, of a cell of the terrain's grid before the jitter."""
    return min(length / cells for length, cells in zip(EXTENT, grid_cells(triangles), strict=True))


def undulating_terrain(triangles: int = 29_260, *, seed: int = 0) -> Mesh:
    """Make the open terrain of R. Leung, arXiv 2209.02878: summed cosines on a jittered grid.

    Parameters
    ----------
    triangles : int
        Approximate number, two for each cell of the grid. The terrain has the nearest number for
        which the cells are nearly square. The paper has 29,260 (134 x 111 nodes), which is made
        exactly.
    seed : int
        Seed of the jitter: each inner line of the grid moves by up to an eighth of a cell.

    Returns
    -------
    Mesh
        3000 x 2500 m from (0, 0). Its lowest node is at height 0, and its triangles are
        counter-clockwise seen from above. No vertical line crosses it twice. Every coordinate is a
        multiple of 2^-10 m, so float32 files hold it exactly.

    Raises
    ------
    ValueError
        For fewer than 2 triangles, or so many that lines of the grid would meet.

    Examples
    --------
    >>> from geodomain.synthetic import undulating_terrain
    >>> undulating_terrain(29_260)
    Mesh('terrain', 14874 vertices, 29260 triangles)
    """
    require_possible(triangles)
    random = np.random.Generator(np.random.PCG64(seed))
    cells = grid_cells(triangles)
    x, y = (_lines(*side, random) for side in zip(EXTENT, cells, strict=True))
    east, north = (axis.ravel() for axis in np.meshgrid(x, y, indexing="ij"))
    height = _stepped(_height(east, north))
    vertices = np.stack([east, north, height - height.min()], axis=1)
    return Mesh(vertices, grid(len(x), len(y)), name="terrain")


def _lines(length: float, cells: int, random: np.random.Generator) -> Floats:
    """Return the jittered coordinates of the grid's lines along one axis."""
    moved = np.arange(cells + 1) + _JITTER * (2 * random.random(cells + 1) - 1)
    moved[[0, -1]] = 0, cells
    return _stepped(moved * (length / cells))


def _stepped(values: Floats) -> Floats:
    """Round coordinates to multiples of `STEP`."""
    rounded: Floats = np.round(values / STEP) * STEP
    return rounded


def _height(x: Floats, y: Floats) -> Floats:
    """Return the height of the terrain: the sum of all cosine waves."""
    total = np.zeros_like(x)
    for amplitude, along_x, along_y, phase in _WAVES:
        total += amplitude * np.cos(2 * np.pi / along_x * x + phase)
        total += amplitude * np.cos(2 * np.pi / along_y * y - 2 * phase)
    return total


# --- Segments along the normals of a mesh, half of them across it, in chunks.

CHUNK = 1 << 18

# Range of random lengths, as shares of the greatest length; and the gap around half a length, in
# which segments would end on their triangle.
_LENGTHS = (0.6, 1.0)
_GAP = (0.498, 0.502)

# Largest distance of a perturbed crossing from the centroid, as a share of two edges: always
# inside the triangle.
_PERTURBATION = 0.1


@dataclass(frozen=True)
class SegmentChunk:
    """A chunk of segments, with the triangle that each segment is aimed at.

    Attributes
    ----------
    starts, ends : ndarray of shape (n, 3), float64
        End points in metres.
    triangles : ndarray of shape (n,), int64
        The triangle that the segment is aimed at.
    through : ndarray of shape (n,), bool
        Whether the segment passes through that triangle. It may cross other triangles, too.
    """

    starts: Floats
    ends: Floats
    triangles: NDArray[np.int64]
    through: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.starts)


def segments_across(
    mesh: Mesh,
    count: int,
    *,
    reach: float,
    seed: int = 0,
    perturb: bool = False,
    chunk: int = CHUNK,
) -> Iterator[SegmentChunk]:
    """Draw random segments along normals of triangles, as in R. Leung, arXiv 2209.02878.

    For each segment, a length L = ``reach`` U(0.6, 1) and a triangle are drawn, where U(a, b) is a
    uniform random number between a and b. The segment starts L / 2 below the centroid of the
    triangle and follows the normal for U(0, 1) L. So half of the segments pass through their
    triangle. No segment ends within 0.2 % of L of the triangle.

    Parameters
    ----------
    mesh : Mesh
        A mesh in which no triangle has an area of 0.
    count : int
        Number of segments.
    reach : float
        Greatest length of a segment; in the paper this is four cells of the grid.
    seed : int
        Seed of the random numbers. The first segments do not depend on ``count``, and the
        segments do not depend on ``chunk``.
    perturb : bool
        Aim at a point near the centroid instead. The point is moved from the centroid along two
        edges of the triangle, by up to a tenth of each edge.
    chunk : int
        Number of segments in memory at a time.

    Yields
    ------
    SegmentChunk
        Coordinates are multiples of 2^-10, in the unit of the mesh.

    Raises
    ------
    ValueError
        If there is no triangle to draw from.

    Examples
    --------
    >>> from geodomain import synthetic
    >>> terrain = synthetic.undulating_terrain(200)
    >>> (few,) = synthetic.segments_across(terrain, 1000, reach=100.0)
    >>> len(few), int(few.through.sum())
    (1000, 515)
    """
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangles to draw segments through"
        raise ValueError(message)
    random = np.random.Generator(np.random.PCG64([seed, 1]))
    for begin in range(0, count, chunk):
        # Random numbers row by row, so that count and chunk do not change a row.
        yield _drawn(mesh, random.random((min(chunk, count - begin), 5)), reach, perturb)


def _drawn(mesh: Mesh, numbers: Floats, reach: float, perturb: bool) -> SegmentChunk:
    """Make a segment from each row of five random numbers in [0, 1)."""
    pick, scale, part, first, second = numbers.T
    triangles = (pick * len(mesh.triangles)).astype(np.int64)
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles[triangles]], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.sqrt((normal**2).sum(axis=1))[:, None]
    middle = (a + b + c) / 3
    if perturb:
        aside = _PERTURBATION * (2 * np.stack([first, second]) - 1)
        middle += aside[0][:, None] * (b - a) + aside[1][:, None] * (c - a)
    length = reach * (_LENGTHS[0] + (_LENGTHS[1] - _LENGTHS[0]) * scale)
    through = part >= 0.5
    part = np.where(through, _GAP[1] + (part - 0.5) * 2 * (1 - _GAP[1]), part * 2 * _GAP[0])
    starts = middle - (length / 2)[:, None] * normal
    ends = starts + (length * part)[:, None] * normal
    starts, ends = (np.round(each / STEP) * STEP for each in (starts, ends))
    return SegmentChunk(starts, ends, triangles, through)


# --- Meshes of a chosen size for tests and benchmarks.

Axes = tuple[Floats, Floats, Floats]

MINE = (414_000.0, 7_480_000.0, 300.0)  # easting, northing, RL of a place in Western Australia


def star_shaped_orebody(
    frequency: int = 64,
    *,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
    radii: Sequence[float] = (250.0, 200.0, 125.0),
) -> Mesh:
    """Make a smooth, bumpy closed body that is star-shaped about its centre.

    Parameters
    ----------
    frequency : int
        Number of parts into which each edge of an icosahedron is divided. The body has
        20 ``frequency``^2 triangles: 81,920 at 64, and 1,003,520 at 224.
    centre, radii : sequence of 3 float
        Centre and approximate half lengths, in metres.

    Returns
    -------
    Mesh
        Oriented outward, with 10 ``frequency``^2 + 2 vertices.

    Examples
    --------
    >>> from geodomain.synthetic import star_shaped_orebody
    >>> len(star_shaped_orebody(4).triangles)
    320
    """
    sphere, triangles = geodesic_sphere(frequency)
    x, y, z = sphere.T
    bumps = np.sin(5 * x + 3 * y) + np.sin(7 * y - 4 * z + 1) + np.sin(6 * z + 5 * x + 2)
    body = sphere * (0.85 + 0.07 * bumps)[:, None] * radii + np.asarray(centre)
    return Mesh(body, triangles, name="orebody")


def lattice_over(mesh: Mesh, shape: Sequence[int], margin: float = 0.05) -> Axes:
    """Return the axes of a lattice over the box of a mesh and a margin around it.

    Parameters
    ----------
    mesh : Mesh
        The mesh to cover.
    shape : sequence of 3 int
        Number of centroids along x, y and z.
    margin : float
        Margin at each end of an axis, as a share of the length of the box.

    Returns
    -------
    tuple of 3 ndarray, each of shape (n,), float64
    """
    low, high = mesh.bounds
    pad = margin * (high - low)
    x, y, z = (
        np.linspace(low[axis] - pad[axis], high[axis] + pad[axis], shape[axis]) for axis in range(3)
    )
    return x, y, z


def staircase(
    cells: int = 112,
    *,
    block: Sequence[float] = (10.0, 10.0, 5.0),
    origin: Sequence[float] = MINE,
) -> tuple[Mesh, Axes]:
    """Make the surface of a body of equal blocks, and the axes of a lattice through its vertices.

    Where two blocks touch only at an edge, four triangles meet at this edge. So the surface is
    closed, but not a manifold everywhere.

    Parameters
    ----------
    cells : int
        Blocks along each side of the box. The surface has about 7 ``cells``^2 triangles.
    block : sequence of 3 float
        The size of a block.
    origin : sequence of 3 float
        The lowest corner of the box. Every vertex is ``origin + index * block``,
        computed once for each axis, so lattice and wireframe have exactly equal coordinates.

    Returns
    -------
    mesh : Mesh
        Oriented outward, two triangles for each face of a block, every vertex once.
    axes : tuple of 3 ndarray, each of shape (cells + 1,)
        Every x, y and z that a vertex can have. Many points of this lattice lie exactly on the
        surface, which is the hardest case. The centroids of the blocks lie half a block away from
        these points, above or below the diagonals of faces.
    """
    quads = faces_of(blocky_body(cells))
    number = np.arange(cells + 1, dtype=np.float64)
    x, y, z = (origin[axis] + number * block[axis] for axis in range(3))
    corners = quads[:, [0, 1, 2, 0, 2, 3]].ravel()
    used, triangles = np.unique(corners, return_inverse=True)
    i, j, k = np.unravel_index(used, (cells + 1,) * 3)
    vertices = np.stack([x[i], y[j], z[k]], axis=1)
    return Mesh(vertices, triangles.reshape(-1, 3), name="staircase"), (x, y, z)


def blocky_body(cells: int) -> NDArray[np.bool_]:
    """Return which blocks of a cube belong to a bumpy body that does not reach the cube's faces."""
    middle = (np.arange(cells) + 0.5) / cells * 2 - 1
    x, y, z = np.meshgrid(middle, middle, middle, indexing="ij", sparse=True)
    bumps = np.sin(7 * x + 2 * y) + np.sin(6 * y - 3 * z) + np.sin(8 * z + 4 * x)
    body: NDArray[np.bool_] = x * x + y * y + z * z < (0.78 + 0.06 * bumps) ** 2
    return body


def faces_of(body: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the boundary faces of a body of blocks, (f, 4): corner numbers, counter-clockwise."""
    span = np.array(body.shape) + 1
    step = np.array([span[1] * span[2], span[2], 1])
    padded = np.pad(body, 1)
    quads = []
    for axis in range(3):
        right, up = step[(axis + 1) % 3], step[(axis + 2) % 3]
        turn = np.array([0, right, right + up, up])
        change = np.diff(padded.astype(np.int8), axis=axis)
        trim = tuple(slice(None) if other == axis else slice(1, -1) for other in range(3))
        for sign, order in ((-1, turn), (1, turn[::-1])):
            corner = np.argwhere(change[trim] == sign) @ step
            quads.append(corner[:, None] + order)
    return np.concatenate(quads)


def terrain(cells: int = 121, *, spacing: float = 10.0, origin: Sequence[float] = MINE) -> Mesh:
    """Make an open, hilly surface over a square.

    Parameters
    ----------
    cells : int
        Cells along each side. Each cell has two triangles: 121 cells give 29,282 triangles.
    spacing : float
        The length of a cell, in metres.
    origin : sequence of 3 float
        The south-west corner and the mean height of the surface.

    Returns
    -------
    Mesh
        Open; counter-clockwise seen from above.
    """
    line = np.arange(cells + 1)
    i, j = (index.ravel() for index in np.meshgrid(line, line, indexing="ij"))
    u, v = i / cells, j / cells
    relief = np.sin(9 * u + 2 * v) * np.cos(8 * v) + 0.4 * np.sin(31 * u) * np.sin(27 * v + u)
    height = origin[2] + 3 * spacing * relief
    vertices = np.stack([origin[0] + i * spacing, origin[1] + j * spacing, height], axis=1)
    return Mesh(vertices, grid(cells + 1, cells + 1), name="terrain")
