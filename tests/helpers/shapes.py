"""Meshes and an independent oracle for the tests."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from geodomain import Mesh

# Of a test whose meshes have shells that touch or overlap: what is said of that is not the point.
odd_on_purpose = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")

TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

CUBE_CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
CUBE_QUADS = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
CUBE_TRIANGLES = np.array([t for a, b, c, d in CUBE_QUADS for t in ((a, b, c), (a, c, d))])


def cube(size=1.0, at=(0.0, 0.0, 0.0)) -> Mesh:
    return Mesh(CUBE_CORNERS * size + np.asarray(at, dtype=float), CUBE_TRIANGLES)


def joined(*meshes: Mesh, name: str = "joined") -> Mesh:
    """Put meshes into one, sharing no index."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)]
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    return Mesh(vertices, np.concatenate(triangles), name=name)


def tetrahedron(corners) -> Mesh:
    """Return the solid of four corners, oriented outwards."""
    corners = np.asarray(corners, dtype=float)
    a, b, c, d = ([Fraction(v) for v in row] for row in corners)
    m = [[x - y for x, y in zip(row, a, strict=True)] for row in (b, c, d)]
    det = (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )
    return Mesh(corners, TETRAHEDRON if det > 0 else TETRAHEDRON[:, ::-1])


# A solid at the lower end of a mesh's range, and a point in it that is below it.
def minute() -> Mesh:
    return tetrahedron(np.array([[0, 0, 0], [3, 1, 0], [1, 3, 1], [1, 1, 3]]) * 2.0**-304)


UNDECIDABLE = (2.0**-307, 2.0**-307, 2.0**-307)


def cube_in_six() -> list[Mesh]:
    """Return the six tetrahedra that a unit cube's diagonal path orders cut it into."""
    solids = []
    for order in permutations(range(3)):
        corner, path = np.zeros(3), [np.zeros(3)]
        for axis in order:
            corner = corner.copy()
            corner[axis] = 1
            path.append(corner)
        solids.append(tetrahedron(path))
    return solids


def staircase(filled: np.ndarray, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0)) -> Mesh:
    """Return the surface of a body of voxels, two triangles to a face, outwards.

    Its vertices are origin + index * spacing, so a lattice of the same numbers
    meets nothing but vertices, edges and faces.
    """
    padded = np.pad(filled, 1)
    quads = []
    for axis in range(3):
        for side in (0, 1):
            neighbour = np.roll(padded, -1 if side else 1, axis=axis)
            for voxel in np.argwhere(padded & ~neighbour) - 1:
                base = voxel.copy()
                base[axis] += side
                u, v = (axis + 1) % 3, (axis + 2) % 3
                du, dv = np.eye(3, dtype=int)[u], np.eye(3, dtype=int)[v]
                ring = [base, base + du, base + du + dv, base + dv]
                quads.append(ring if side else ring[::-1])
    rings = np.array(quads).reshape(-1, 3)
    unique, index = np.unique(rings, axis=0, return_inverse=True)
    index = index.reshape(-1, 4)
    triangles = np.concatenate([index[:, [0, 1, 2]], index[:, [0, 2, 3]]])
    return Mesh(unique * np.asarray(spacing) + np.asarray(origin), triangles)


def random_body(shape, seed: int) -> np.ndarray:
    """Return a voxel body with holes, overhangs and voxels that touch by an edge."""
    rng = np.random.default_rng(seed)
    return rng.random(shape) < 0.55


def star(frequency: int, radius=(100.0, 80.0, 50.0), centre=(0.0, 0.0, 0.0)) -> Mesh:
    """Return a bumpy closed body of 20 * frequency**2 triangles or so, indexed."""
    from geodomain import synthetic

    mesh = synthetic.star_shaped_orebody(frequency=frequency)
    unit = mesh.vertices / np.abs(mesh.vertices).max(axis=0)
    return Mesh(unit * np.asarray(radius) + np.asarray(centre), mesh.triangles)


E = Fraction(1, 2**1400)


def fan(count: int) -> Mesh:
    """Return a drum whose roof and floor are slivers from the centre to the rim."""
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 1000
    top = np.column_stack([rim, np.full(count, 10.0)])
    low = np.column_stack([rim, np.full(count, -10.0)])
    i = np.arange(count)
    j = (i + 1) % count
    c, d = 2 * count, 2 * count + 1
    faces = [
        np.column_stack([np.full(count, c), i, j]),
        np.column_stack([np.full(count, d), j + count, i + count]),
        np.column_stack([i, i + count, j]),
        np.column_stack([j, i + count, j + count]),
    ]
    vertices = np.concatenate([top, low, [[0, 0, 10], [0, 0, -10]]])
    return Mesh(vertices, np.concatenate(faces))


def splinters(count: int, *, turn: float, at=(0.0, 0.0), seed=1) -> Mesh:
    """Return tetrahedra as long as the whole, a thousand times as thin, in eight layers.

    Their directions are spread over ``turn`` degrees, or are 0 and 90 degrees for 90; those of a
    layer overlap.
    """
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0, 1000, (count, 2)) + at
    angle = rng.uniform(0, turn, count) + 33.0
    if turn == 90.0:
        angle = np.where(rng.random(count) < 0.5, 0.0, 90.0)
    run = 500.0 * np.stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))], axis=1)
    aside = 1e-3 * np.stack([-run[:, 1], run[:, 0]], axis=1)
    low = np.arange(count)[:, None] % 8 * 1.0
    corners = [
        np.hstack([middle - run, low]),
        np.hstack([middle + run, low]),
        np.hstack([middle + aside, low]),
        np.hstack([middle + aside / 3, low + 0.7]),
    ]
    faces = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
    triangles = (4 * np.arange(count)[:, None, None] + faces).reshape(-1, 3)
    return Mesh(np.stack(corners, axis=1).reshape(-1, 3), triangles, name="splinters")


def displaced(point) -> tuple[Fraction, Fraction, Fraction]:
    """Return the point moved by (e^2, e^3, e), with an e below every difference in play."""
    x, y, z = (Fraction(float(v)) for v in point)
    return x + E**2, y + E**3, z + E


def passed_by(corners, point) -> np.ndarray:
    """Tell of which triangles (n, 3, 2) the vertical line stays so far off that doubles show it."""
    to_point = np.asarray(point)[:2] - corners
    edges = np.roll(corners, -1, axis=1) - corners
    left, right = edges[..., 0] * to_point[..., 1], edges[..., 1] * to_point[..., 0]
    sides = left - right
    sure = abs(sides) > 1e-9 * (abs(left) + abs(right)) + 1e-290  # rounding is below 1e-15
    return (sure & (sides > 0)).any(axis=1) & (sure & (sides < 0)).any(axis=1)


def oracle_crossings(mesh: Mesh, point) -> tuple[int, int]:
    """Return the crossings above a displaced point and their signed sum, by fractions.

    Nothing here knows a tie rule: the point is really moved, and every comparison
    is strict.
    """
    qx, qy, qz = displaced(point)
    count = signed = 0
    corners_at = mesh.vertices[mesh.triangles, :2]
    low, high = corners_at.min(axis=1), corners_at.max(axis=1)
    # Only triangles whose box the vertical line meets or touches; the others are apart.
    near = ((low <= np.asarray(point)[:2]) & (np.asarray(point)[:2] <= high)).all(axis=1)
    for triangle in mesh.triangles[near][~passed_by(corners_at[near], point)]:
        corners = [[Fraction(float(v)) for v in mesh.vertices[i]] for i in triangle]
        sides = []
        for (ax, ay, _), (bx, by, _) in zip(corners, corners[1:] + corners[:1], strict=True):
            sides.append((bx - ax) * (qy - ay) - (by - ay) * (qx - ax))
        if not (all(s > 0 for s in sides) or all(s < 0 for s in sides)):
            continue
        # The sides are twice the areas opposite each corner: barycentric weights.
        total = sum(sides)
        height = sum(side * corners[(i + 2) % 3][2] for i, side in enumerate(sides)) / total
        if height > qz:
            count += 1
            signed += 1 if total > 0 else -1
    return count, signed


def oracle_inside(mesh: Mesh, points) -> np.ndarray:
    return np.array([oracle_crossings(mesh, point)[0] % 2 == 1 for point in points], dtype=bool)
