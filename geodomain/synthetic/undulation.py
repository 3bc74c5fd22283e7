"""The terrain on which segments are tested: cosines summed over a jittered grid; no segments."""

from __future__ import annotations

import numpy as np

from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.sheets import Floats, grid

EXTENT = (3000.0, 2500.0)  # metres along x and y

# Every coordinate is a multiple of this, in metres. Below 2^14 m such numbers are the same in
# float32 and in float64, and the last bit in which one machine's cosine differs is hidden.
STEP = 2.0**-10

# How far a line of the grid may move to either side, in cells: lines never meet.
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
    """Return the cells along x and y of the grid that comes nearest to so many triangles.

    Cells are as square as the numbers allow; 29,260 triangles are 133 x 110 cells.
    """
    ideal = int((triangles / 2 * EXTENT[0] / EXTENT[1]) ** 0.5)
    shapes = [(x, max(1, round(triangles / 2 / x))) for x in (max(1, ideal), ideal + 1)]
    return min(shapes, key=lambda shape: abs(2 * shape[0] * shape[1] - triangles))


def require_possible(triangles: int) -> None:
    """Raise ValueError for a number of triangles that no such terrain can have."""
    if triangles < 2:
        message = f"a grid has at least 2 triangles, not {triangles}"
        raise ValueError(message)
    if cell_size(triangles) < 64 * STEP:
        message = f"{triangles:,} triangles are too many: cells would be below {64 * STEP} m"
        raise ValueError(message)


def cell_size(triangles: int) -> float:
    """Return the shorter side of a cell of that grid, before it is jittered, in metres."""
    return min(length / cells for length, cells in zip(EXTENT, grid_cells(triangles), strict=True))


def undulating_terrain(triangles: int = 29_260, *, seed: int = 0) -> Mesh:
    """Make the open terrain of R. Leung, arXiv 2209.02878: summed cosines on a jittered grid.

    Parameters
    ----------
    triangles : int
        About how many, two to a cell of the grid: the nearest number whose cells are
        nearly square. 29,260 (134 x 111 nodes) is the paper's, and exact.
    seed : int
        Of the jitter: each line of the grid but the outermost is moved by up to an
        eighth of a cell.

    Returns
    -------
    Mesh
        3000 x 2500 m from (0, 0), its lowest node at height 0; counter-clockwise
        seen from above. No vertical line crosses it twice. Every coordinate is a
        multiple of 2^-10 m, so float32 files hold it exactly.

    Raises
    ------
    ValueError
        For less than 2 triangles, or for so many that lines of the grid would meet.

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
    """Place the lines of the grid along one axis."""
    moved = np.arange(cells + 1) + _JITTER * (2 * random.random(cells + 1) - 1)
    moved[[0, -1]] = 0, cells
    return _stepped(moved * (length / cells))


def _stepped(values: Floats) -> Floats:
    """Round to the step."""
    rounded: Floats = np.round(values / STEP) * STEP
    return rounded


def _height(x: Floats, y: Floats) -> Floats:
    """Sum the waves."""
    total = np.zeros_like(x)
    for amplitude, along_x, along_y, phase in _WAVES:
        total += amplitude * np.cos(2 * np.pi / along_x * x + phase)
        total += amplitude * np.cos(2 * np.pi / along_y * y - 2 * phase)
    return total
