"""Solids for Boolean operations: a common origin, shells resolved by the rule, and the result.

manifold3d computes with winding numbers. If a and b are the winding numbers of two solids at a
point, those of the results are

    union a + b - a b,   intersection a b,   difference a - a b.

So if all winding numbers are 0 or 1, each result is right by either rule. By parity the formulas
are right for all whole numbers, because modulo 2 they are those of "or", "and" and "and not". A
solid that crosses itself can have other winding numbers. `require_rule` refuses it where the
formulas do not give the result by winding number. manifold3d promises nothing for such a solid: the
proof decides.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from itertools import zip_longest
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError
from geodomain.mesh.components import (
    connected_components,
    find_components,
    outward_signs,
    shells,
)
from geodomain.mesh.edges import distinct_vertices, edge_table, has_equal_corners
from geodomain.mesh.mesh import Mesh, enclosed_volume, normals, sixfold_volumes
from geodomain.mesh.relations import relate
from geodomain.settings import Rule
from geodomain.solids.crossings import parted_corners, self_crossing, unfolded
from geodomain.solids.mending import Change, place_change, point_text
from geodomain.volumes.shares import triangle_weights

if TYPE_CHECKING:
    from manifold3d import Manifold

Operation = Literal["union", "intersection", "difference", "parity"]


class Body(NamedTuple):
    """A solid in local coordinates, ready for Boolean operations.

    Attributes
    ----------
    solid : manifold3d.Manifold
        The solid, relative to the origin.
    crossing : tuple of float, optional
        A point (x, y, z) near which the solid crosses itself. None if all winding numbers are 0
        or 1.
    """

    solid: Manifold
    crossing: tuple[float, ...] | None


# The origin.


def exact_origin(meshes: Sequence[Mesh]) -> Floats:
    """Return an origin, (3,), from which all coordinates are exact differences.

    manifold3d merges points that are closer than 10^-12 times the largest coordinate, so
    coordinates should be small. A difference x - o of two float64 numbers is exact if o / 2 <= x <=
    2 o (Sterbenz). At mine coordinates, this holds for any o between the lowest and the highest
    coordinate. Along an axis where a difference would be rounded, the origin is 0. So an unchanged
    vertex comes back bit for bit when the origin is added.
    """
    points = np.concatenate([mesh.vertices[np.unique(mesh.triangles)] for mesh in meshes])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = low + (high - low) / 2
    step = np.exp2(np.ceil(np.log2(np.where(high > low, high - low, 1.0))))
    origin = np.round(middle / step) * step
    local = points - origin
    exact = (_difference_error(points, origin, local) == 0) & (local + origin == points)
    return np.where(exact.all(axis=0), origin, 0.0)


def _difference_error(x: Floats, y: Floats, difference: Floats) -> Floats:
    """Return the rounding error of x - y (Knuth's two-difference)."""
    virtual = x - difference
    return np.asarray((x - (difference + virtual)) + (virtual - y))


# From meshes to bodies.


def clean_shells(mesh: Mesh, rule: Rule) -> tuple[Mesh, tuple[Change, ...]] | None:
    """Return a closed mesh whose shells all bound the solid and face away from it.

    By the rule, shells that face the wrong way are turned, and shells that bound nothing are
    dropped. Remaining triangles keep their order. If shells overlap, or a shell crosses or folds
    over itself, return None.
    """
    if len(relate(mesh).overlapping):
        return None
    weights = triangle_weights(mesh, rule)
    if weights.doubtful.any():
        return None
    signs = weights.values
    if (signs == 1).all():
        return mesh, ()
    triangles = mesh.triangles[signs != 0].copy()
    back = signs[signs != 0] < 0
    triangles[back] = triangles[back][:, ::-1]
    _, parts = find_components(mesh)
    first = parts.order[parts.starts[:-1]]
    places = mesh.vertices[mesh.triangles[first, 0]]
    changes = place_change("shell turned", places[signs[first] < 0])
    changes += place_change("shell dropped", places[signs[first] == 0])
    return Mesh(mesh.vertices, triangles, name=mesh.name), changes


def body_of(mesh: Mesh, rule: Rule, origin: Floats) -> tuple[Body, tuple[Change, ...]]:
    """Return the body of a closed mesh by the rule, and the changes to its shells.

    Overlapping shells are separated, and combined by the rule: by parity, the space that two of
    them share is outside; by winding number, it is inside if the shells face the same way. A mesh
    with a shell that crosses itself is used unchanged, and `Body.crossing` gives the place.

    Parameters
    ----------
    mesh : Mesh
        A closed mesh whose edges are used equally often in both directions.
    rule : {"parity", "winding"}
        The rule for inside.
    origin : (3,) float64
        The origin of local coordinates.
    """
    clean = clean_shells(mesh, rule)
    if clean is not None:
        return Body(manifold_of(clean[0], origin), None), clean[1]
    _, parts = find_components(mesh)
    crossing = self_crossing(mesh, parts)
    if crossing is not None:
        return Body(manifold_of(mesh, origin), crossing), ()
    mesh, folds = unfolded(mesh, parts)
    changes = place_change("unfolded", folds)
    _, parts = find_components(mesh)
    outward = outward_signs(parts)
    facing: dict[int, list[Manifold]] = {1: [], -1: []}
    for number in np.flatnonzero(outward).tolist():
        corners = parts.triangles(number)
        corners = corners if outward[number] > 0 else corners[:, ::-1]
        shell = manifold_of(Mesh(mesh.vertices, corners, name=mesh.name), origin)
        facing[int(outward[number])].append(shell)
    body = Body(_by_rule(facing[1], facing[-1], rule), None)
    return body, changes + place_change("united", _overlaps(mesh))


def _overlaps(mesh: Mesh) -> Floats:
    """Return a place for each group of overlapping shells: the centre of two boxes' overlap."""
    relations = relate(mesh)
    pairs = np.concatenate([relations.overlapping, relations.equal, relations.undetermined])
    group = connected_components(pairs[:, 0], pairs[:, 1], relations.components)
    _, first = np.unique(group[pairs[:, 0]], return_index=True)
    boxes = relations.boxes[pairs[first]]
    low, high = boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)
    return np.asarray(low + (high - low) / 2)


def manifold_of(mesh: Mesh, origin: Floats) -> Manifold:
    """Return a closed mesh as a Manifold in local coordinates.

    Raises
    ------
    GeodomainError
        If manifold3d is not installed.
    MeshError
        If manifold3d does not accept the mesh.
    """
    library = require_library()
    vertices, triangles = distinct_vertices(mesh)
    places, corners = parted_corners(vertices, triangles[~has_equal_corners(triangles)])
    solid: Manifold = library.Manifold(
        library.Mesh64(np.ascontiguousarray(vertices[places] - origin), corners.astype(np.uint64))
    )
    if solid.status() != library.Error.NoError:
        message = (
            f"{mesh.name} cannot be used for Boolean operations, because manifold3d reports "
            f"{solid.status().name}: repair the mesh in the program that made it"
        )
        raise MeshError(message)
    return solid


def require_library() -> ModuleType:
    """Return the module manifold3d; raise GeodomainError if it is not installed."""
    try:
        return importlib.import_module("manifold3d")
    except ImportError:
        message = (
            "Boolean operations need manifold3d, which is not installed: "
            "pip install 'geodomain[solids]'"
        )
        raise GeodomainError(message) from None


# Shells that overlap.


def _by_rule(outward: list[Manifold], inward: list[Manifold], rule: Rule) -> Manifold:
    """Return the solid of shells that may overlap, each facing outwards.

    Parameters
    ----------
    outward, inward : list of Manifold
        The shells that face outwards and inwards in the mesh; here all of them face outwards.
    """
    if rule == "parity":
        levels = _levels([*outward, *inward])
        even = [*levels[1::2], None]
        rings = [a if b is None else a - b for a, b in zip(levels[::2], even, strict=False)]
        return _united(rings)
    if not inward:
        return _united(outward)
    pairs = zip_longest(_levels(outward), _levels(inward), fillvalue=_united([]))
    return _united([part for p, n in pairs for part in (p - n, n - p)])


def _levels(shells: Sequence[Manifold]) -> list[Manifold]:
    """Return the solids of points that are inside at least 1, 2, 3, ... of the shells.

    The shells are split into two halves along the longest side of their common box. A point is
    inside at least k of them if it is inside at least i of one half and k - i of the other.
    """
    if len(shells) < 2:
        return list(shells)
    boxes = np.array([shell.bounding_box() for shell in shells]).reshape(-1, 2, 3)
    middles = boxes.sum(axis=1)
    order = np.argsort(middles[:, np.ptp(middles, axis=0).argmax()], kind="stable")
    ordered = [shells[number] for number in order.tolist()]
    left, right = _levels(ordered[: len(ordered) // 2]), _levels(ordered[len(ordered) // 2 :])
    terms: list[list[Manifold]] = [[] for _ in range(len(left) + len(right))]
    for levels in (left, right):
        for number, level in enumerate(levels):
            terms[number].append(level)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            both = a ^ b
            if both.is_empty():  # so is the overlap with any higher level of `right`
                break
            terms[i + j + 1].append(both)
    return [_united(solids) for solids in terms if solids]


def _united(solids: Sequence[Manifold]) -> Manifold:
    library = require_library()
    united: Manifold = library.Manifold.batch_boolean(list(solids), library.OpType.Add)
    return united


# Boolean operations.


def combine(operation: Operation, bodies: Sequence[Body], names: Sequence[str], rule: Rule) -> Body:
    """Return the union or the intersection of bodies, or the first body minus all others.

    The operation "parity" returns the space inside an odd number of the bodies.

    Raises
    ------
    MeshError
        As `require_rule`.
    """
    require_rule(operation, bodies, names, rule)
    library = require_library()
    types = library.OpType
    kind = {"union": types.Add, "intersection": types.Intersect, "difference": types.Subtract}
    solids = [body.solid for body in bodies]
    if operation == "parity":
        solid = _by_rule(solids, [], "parity")
    else:
        solid = library.Manifold.batch_boolean(solids, kind[operation])
    return Body(solid, next((body.crossing for body in bodies if body.crossing), None))


def require_rule(
    operation: Operation, bodies: Sequence[Body], names: Sequence[str], rule: Rule
) -> None:
    """Refuse bodies that cross themselves where the result would be wrong by winding number.

    A point is inside if its winding number is not 0. The product a b is 0 only if a or b is, so
    intersections are right. A difference a (1 - b) is right if b is 0 or 1, and a union
    1 - (1 - a) (1 - b) if a or b is 0 or 1. By parity all are right.

    Raises
    ------
    MeshError
        The message gives the place where the body crosses itself.
    """
    if rule == "parity" or operation in ("intersection", "parity"):
        return
    crossing = [number for number, body in enumerate(bodies) if body.crossing]
    wrong = crossing[1:] if operation == "union" else [number for number in crossing if number]
    if wrong:
        body, name = bodies[wrong[0]], names[wrong[0]]
        message = (
            f"{name} crosses itself near {point_text(body.crossing or ())}, and manifold3d cannot "
            f"compute its {operation} by rule 'winding': use rule='parity', or remove the crossing "
            "in the program that made the mesh"
        )
        raise MeshError(message)


# From bodies to meshes.


def mesh_of(body: Body, origin: Floats, name: str, thickness: float = 0.0) -> Mesh:
    """Return a body as a mesh in the coordinates of the inputs.

    New vertices are rounded to float64 when the origin is added. Vertices that coincide after this
    are joined. Where two walls coincide, manifold3d may leave flat shells: shells whose volume is
    at most `thickness` times half their area are dropped.
    """
    raw = body.solid.to_mesh64()
    local = np.asarray(raw.vert_properties)[:, :3]
    triangles = np.asarray(raw.tri_verts).astype(np.int64)
    label, count = shells(triangles, len(local))
    crosses = normals(local, triangles)
    heads = np.zeros((count, 3))
    heads[label[::-1]] = local[triangles[::-1, 0]]
    arms = local[triangles[:, 0]] - heads[label]
    content = np.abs(np.bincount(label, sixfold_volumes(arms, crosses), minlength=count)) / 6
    walls = np.bincount(label, np.linalg.norm(crosses, axis=1) / 2, minlength=count)
    thin = (content <= thickness * walls / 2) & (body.crossing is None)
    solid = ~thin[label]
    mesh = Mesh(local + origin, triangles[solid].astype(np.int32), name=name)
    table = edge_table(mesh)
    return Mesh(table.vertices, table.triangles[~table.degenerate], name=name)


def tolerance_of(bodies: Sequence[Body]) -> float:
    """Return the largest tolerance of manifold3d for some bodies, such as inputs and a result."""
    return max(0.0, *(float(body.solid.get_tolerance()) for body in bodies))  # -1 if empty


def wall_error(bodies: Sequence[Body], meshes: Sequence[Mesh]) -> float:
    """Return how far a wall of a result may be off: the tolerance, and rounding to float64."""
    largest = max(float(np.abs(mesh.bounds).max()) for mesh in meshes if len(mesh.triangles))
    rounding = float(np.spacing(largest)) * math.sqrt(3) / 2
    return tolerance_of(bodies) + rounding


def volume_of(mesh: Mesh, body: Body) -> float | None:
    """Return the volume of a result; None if it crosses itself."""
    if body.crossing is not None:
        return None
    return enclosed_volume(mesh.vertices, mesh.triangles, mesh.bounds)
