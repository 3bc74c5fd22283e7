"""Meshes of a chosen size for tests and benchmarks; geology is made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.icosphere import geodesic_sphere
from geodomain.synthetic.sheets import Floats, grid

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
        Parts into which each edge of an icosahedron is divided: the body has
        20 ``frequency``^2 triangles, 81,920 at 64 and 1,003,520 at 224.
    centre, radii : sequence of 3 float
        Where it lies and its half lengths, about, in metres.

    Returns
    -------
    Mesh
        Outward, 10 ``frequency``^2 + 2 vertices.

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
        What the lattice should cover.
    shape : sequence of 3 int
        Centroids along x, y and z.
    margin : float
        Parts of the box's length added at each end.

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
    """Make the surface of a body of blocks, and the axes on which its vertices stand.

    Blocks that touch by an edge alone share it, so four triangles may meet there:
    the surface is closed but not everywhere a manifold.

    Parameters
    ----------
    cells : int
        Blocks along each side of the box: about 7 ``cells``^2 triangles.
    block : sequence of 3 float
        The size of a block.
    origin : sequence of 3 float
        The lowest corner of the box. Every vertex is ``origin + index * block``,
        computed once on each axis, so that lattice and wireframe agree to the bit.

    Returns
    -------
    mesh : Mesh
        Outward, two triangles to a face of a block, every vertex once.
    axes : tuple of 3 ndarray, each of shape (cells + 1,)
        All the x, y and z that a vertex can have. Points on these axes are the
        hardest case; points half a block away are the centroids of the blocks,
        which still meet the diagonals of the faces.
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
    """Return which blocks of a cube belong to a bumpy body, empty at the cube's faces."""
    middle = (np.arange(cells) + 0.5) / cells * 2 - 1
    x, y, z = np.meshgrid(middle, middle, middle, indexing="ij", sparse=True)
    bumps = np.sin(7 * x + 2 * y) + np.sin(6 * y - 3 * z) + np.sin(8 * z + 4 * x)
    body: NDArray[np.bool_] = x * x + y * y + z * z < (0.78 + 0.06 * bumps) ** 2
    return body


def faces_of(body: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the boundary faces of blocks as four corner numbers each, counter-clockwise."""
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
        Cells along each side, two triangles each: 29,282 triangles at 121.
    spacing : float
        The length of a cell, metres.
    origin : sequence of 3 float
        Its south-west corner, and the height about which it undulates.

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
