"""Closed solids from open surfaces, outlines and boxes: prisms that reach beyond a solid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from geodomain.compute.data import Floats, Ints
from geodomain.compute.meshes import projection_signs
from geodomain.errors import MeshError
from geodomain.mesh import fitness
from geodomain.mesh.components import shells
from geodomain.mesh.edges import edge_table
from geodomain.mesh.mesh import Mesh, normals
from geodomain.mesh.polygons import triangulate
from geodomain.solids.mending import Change, mend_surface, orient

# How far a prism reaches beyond what it cuts, as a fraction of the size of the box.
_MARGIN = 0.25
# Angles at corners of the rim: up to this one, edges count as one straight line; and the largest
# angle of a wedge beside a corner.
_STRAIGHT, _WEDGE = 1e-12, np.pi / 4
_BOX = np.array(
    [
        [0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4],
        [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5],
    ]
)  # fmt: skip


def surface_of(tiles: Sequence[Mesh], name: str) -> tuple[Mesh, tuple[Change, ...]]:
    """Return the tiles of a surface as one mesh whose triangles face up, and the changes.

    Raises
    ------
    MeshError
        If the surface is closed, or has no triangle that covers an area in plan.
    """
    starts = np.cumsum([0, *(len(tile.vertices) for tile in tiles[:-1])])
    triangles = [tile.triangles + start for tile, start in zip(tiles, starts, strict=True)]
    joined = Mesh(
        np.concatenate([tile.vertices for tile in tiles]), np.concatenate(triangles), name=name
    )
    mended, changes = mend_surface(joined)
    if mended.is_closed:
        message = (
            f"{name} is a closed solid, not a surface: give an open surface, or combine solids "
            "with union, intersect or subtract"
        )
        raise MeshError(message)
    if not projection_signs(mended.vertices, mended.triangles).any():
        message = f"{name} is vertical everywhere: nothing is above or below it"
        raise MeshError(message)
    return _facing_up(orient(mended)), changes


def _facing_up(surface: Mesh) -> Mesh:
    """Turn each part of a surface that mostly faces down."""
    table = edge_table(surface)
    label, count = shells(table.triangles, len(table.vertices))
    up = normals(table.vertices - table.vertices.mean(axis=0), table.triangles)[:, 2]
    down = (np.bincount(label, up, minlength=count) < 0)[label]
    triangles = table.triangles.copy()
    triangles[down] = triangles[down][:, ::-1]
    return Mesh(table.vertices, triangles, name=surface.name)


def extended(surface: Mesh, reach: Mesh) -> Mesh:
    """Return a surface that is extended beyond its rim, as `geodomain.sides` does with "nearest".

    Beyond a rim that is convex in plan, the height of the nearest point of the rim is constant
    along each line at a right angle to the rim, and around each corner of the rim. So the extension
    consists of a flat strip beside each edge, and of flat wedges at each corner.

    Parameters
    ----------
    surface : Mesh
        A surface from `surface_of`.
    reach : Mesh
        The mesh that the extension must cover in plan.

    Raises
    ------
    MeshError
        If the rim is not a single loop, or not convex in plan; the message gives the place.
    """
    ring = _rim_loop(surface)
    start, end = ring, np.roll(ring, -1, axis=0)
    along = (end - start)[:, :2]
    lengths = np.hypot(*along.T)
    if not lengths.all():
        raise _no_extension(surface, "its rim is vertical", ring[lengths == 0][0])
    way = along / lengths[:, None]
    before = np.roll(way, 1, axis=0)
    turn = np.arctan2(
        before[:, 0] * way[:, 1] - before[:, 1] * way[:, 0], (before * way).sum(axis=1)
    )
    if (turn < -_STRAIGHT).any():
        raise _no_extension(surface, "its rim is not convex in plan", ring[turn < -_STRAIGHT][0])
    boxes = np.array([surface.bounds, reach.bounds])
    far = 4 * float(np.linalg.norm(boxes[:, 1].max(axis=0) - boxes[:, 0].min(axis=0)))
    outward = np.stack([way[:, 1], -way[:, 0]], axis=1)
    vertices, triangles = [*ring], []
    count, rays = len(ring), list[list[int]]()
    for corner, angle, normal in zip(ring, turn, np.roll(outward, 1, axis=0), strict=True):
        parts = int(np.ceil(max(angle - _STRAIGHT, 0.0) / _WEDGE))
        first = len(vertices)
        for step in range(parts + 1):
            bend = angle * step / parts if parts else angle / 2
            x = normal[0] * np.cos(bend) - normal[1] * np.sin(bend)
            y = normal[0] * np.sin(bend) + normal[1] * np.cos(bend)
            vertices.append(corner + far * np.array([x, y, 0.0]))
        rays.append([*range(first, len(vertices))])
    for number, fan in enumerate(rays):
        after = (number + 1) % count
        triangles += [(number, a, b) for a, b in pairwise(fan)]
        triangles += [(number, fan[-1], rays[after][0]), (number, rays[after][0], after)]
    corners = np.array(triangles) + len(surface.vertices)
    return Mesh(
        np.concatenate([surface.vertices, np.array(vertices)]),
        np.concatenate([surface.triangles, corners]),
        name=surface.name,
    )


def _rim_loop(surface: Mesh) -> Floats:
    """Return the corners of the rim, (n, 3), counter-clockwise in plan."""
    table = edge_table(surface)
    rim, balance = table.ends[table.unbalanced], table.balance[table.unbalanced]
    rim = np.where((balance > 0)[:, None], rim, rim[:, ::-1])
    after = dict(rim.tolist())
    ring = [int(rim[0, 0])]
    while (corner := after.get(ring[-1], ring[0])) != ring[0] and len(ring) <= len(rim):
        ring.append(corner)
    if len(ring) != len(rim):
        raise _no_extension(surface, "its rim is not a single loop", table.vertices[ring[0]])
    corners: Floats = table.vertices[ring]
    return corners


def _no_extension(surface: Mesh, reason: str, at: Floats) -> MeshError:
    place = ", ".join(f"{value:.10g}" for value in at.tolist())
    message = (
        f"{surface.name} cannot be extended as triangles, because {reason}, at ({place}): enlarge "
        "the surface, or clip the solid to a box first"
    )
    return MeshError(message)


def part_over(surface: Mesh, solid: Mesh) -> Mesh:
    """Return the triangles of a surface whose boxes in plan meet the box of a solid.

    The other triangles are neither above nor below any point of the solid. The edges that
    they share with the returned triangles lie outside the box of the solid.

    Raises
    ------
    MeshError
        If there is no such triangle.
    """
    corners = surface.vertices[surface.triangles][:, :, :2]
    low, high = solid.bounds[:, :2]
    near = (corners.min(axis=1) <= high).all(axis=1) & (corners.max(axis=1) >= low).all(axis=1)
    if not near.any():
        message = (
            f"{solid.name} is not above or below {surface.name}: check that both have the same "
            "coordinate system"
        )
        raise MeshError(message)
    return Mesh(surface.vertices, surface.triangles[near], name=surface.name)


def levels_around(meshes: Sequence[Mesh]) -> tuple[float, float]:
    """Return two elevations, a quarter of the meshes' size below and above all of them."""
    boxes = np.array([mesh.bounds for mesh in meshes])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    margin = _MARGIN * float((high - low).max())
    return float(low[2] - margin), float(high[2] + margin)


def space_below(surface: Mesh, level: float) -> Mesh:
    """Return the space below a surface, down to a level, as a closed mesh.

    The walls stand on the rim. By parity, a point of it is inside if the vertical line up from it
    crosses the surface an odd number of times, as for `geodomain.sides`.

    Parameters
    ----------
    surface : Mesh
        A surface from `surface_of`.
    level : float
        An elevation below the whole surface.
    """
    return _prism(surface, level, f"the space below {surface.name}")


def space_above(surface: Mesh, level: float) -> Mesh:
    """Return the space above a surface, up to a level above all of it, as a closed mesh."""
    prism = _prism(surface, level, f"the space above {surface.name}")
    turned = Mesh(prism.vertices, prism.triangles[:, ::-1], name=prism.name)
    fitness.mark_warned(turned)
    return turned


def footprint_between(surface: Mesh, low: float, high: float) -> Mesh:
    """Return the footprint of a surface between two elevations, as a closed mesh."""
    return _prism(surface, low, f"the footprint of {surface.name}", top=high)


def _prism(surface: Mesh, level: float, name: str, top: float | None = None) -> Mesh:
    """Return the prism from a surface, or from its footprint at the elevation `top`, to a level.

    Each edge of the rim has a wall for each use of the edge that has no opposite use. So every edge
    of the prism is used equally often in both directions, for any surface.
    """
    table = edge_table(surface)
    count = len(table.vertices)
    roof = table.vertices.copy()
    if top is not None:
        roof[:, 2] = top
    floor = np.column_stack([table.vertices[:, :2], np.full(count, level)])
    rim, balance = table.ends[table.unbalanced], table.balance[table.unbalanced]
    rim = np.where((balance > 0)[:, None], rim, rim[:, ::-1])
    start, end = np.repeat(rim, np.abs(balance), axis=0).T
    walls = np.stack([end, start, start + count], axis=1)
    more_walls = np.stack([end, start + count, end + count], axis=1)
    triangles: Ints = np.concatenate(
        [table.triangles, table.triangles[:, ::-1] + count, walls, more_walls]
    )
    prism = Mesh(np.concatenate([roof, floor]), triangles, name=name)
    fitness.mark_warned(prism)  # it touches or overlaps itself only where the surface does
    return prism


def box_mesh(low: Floats, high: Floats, name: str = "the box") -> Mesh:
    """Return a box as a closed mesh of 12 triangles that face outwards."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
    return Mesh(np.where(corners == 1, high, low), _BOX, name=name)


def prism_of_ring(ring: Floats, low: float, high: float, name: str) -> Mesh:
    """Return the prism over an outline, between two elevations, as a closed mesh.

    Parameters
    ----------
    ring : (n, 2) float64
        The corners of the outline, without the first corner at the end.
    low, high : float
        The elevations.
    name : str
        Name of the mesh.
    """
    flat = np.column_stack([ring, np.full(len(ring), high)])
    count = len(ring)
    top = triangulate(flat, np.arange(count), np.array([count]), flat=False)
    area = float(
        np.sum(ring[:, 0] * np.roll(ring[:, 1], -1) - np.roll(ring[:, 0], -1) * ring[:, 1])
    )
    surface = Mesh(flat, top if area > 0 else top[:, ::-1], name=name)
    return _prism(surface, low, name)


def tunnel_of_ring(ring: Floats) -> Mesh:
    """Return the vertical walls of an outline, turned on their side, as an open mesh.

    The outline's x and y are the tunnel's y and z, and the tunnel is 2 long. A vertical line in the
    middle of it crosses the walls as often as a line along y crosses the outline, so that parity
    tells which points are inside the outline.
    """
    count = len(ring)
    start = np.arange(count)
    end = (start + 1) % count
    lengths = np.repeat([-1.0, 1.0], count)
    walls = np.stack([start, end, start + count, end, end + count, start + count], axis=1)
    return Mesh(np.column_stack([lengths, np.tile(ring, (2, 1))]), walls.reshape(-1, 3))
