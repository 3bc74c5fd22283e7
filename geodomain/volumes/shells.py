"""The weight of each triangle of a solid in a volume, by shell and rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.mesh_checks import crossed_triangles, vertex_fans
from geodomain.backends.threads import thread_count
from geodomain.mesh import fitness
from geodomain.mesh.faults.facing import facing
from geodomain.mesh.faults.relations import Relations, relate
from geodomain.mesh.faults.shells import components
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import Rule
from geodomain.volumes.patches import weigh_patches

Bools = NDArray[np.bool_]


class TriangleWeights(NamedTuple):
    """What triangles count in volumes.

    Attributes
    ----------
    values : (t,) int8
        What the volume below each triangle counts, with the triangle's sign.
    doubtful : (t,) bool
        Triangles beside which the weights do not tell what is inside: blocks that none of these
        enters have their shares from the weights; others are to be cut along lines.
    """

    values: NDArray[np.int8]
    doubtful: Bools


def triangle_weights(mesh: Mesh, rule: Rule) -> TriangleWeights:
    """Return what the volume below each triangle counts; the mesh remembers the answer.

    A shell counts with what is inside by the rule just within it, less what is inside just
    without: so shells inside others are holes by parity. Where triangles cross, shells overlap
    or face opposite ways, that is not the same all over a shell.

    Raises
    ------
    MeshError
        If the mesh is not closed, or has no winding number and the rule is "winding".
    """
    fitness.require_fit(mesh, allow_open=False, instead="", rule=rule)
    if rule == "winding":
        fitness.require_balanced(mesh)
    kept: dict[str, TriangleWeights] = mesh.__dict__.setdefault("_triangle_weights", {})
    if rule not in kept:
        kept[rule] = _weigh(mesh, rule)
    return kept[rule]


def _weigh(mesh: Mesh, rule: Rule) -> TriangleWeights:
    count = len(mesh.triangles)
    if not mesh.is_balanced:
        return TriangleWeights(np.zeros(count, np.int8), np.ones(count, np.bool_))
    fans = vertex_fans(mesh.vertices, mesh.triangles)
    component, outward = facing(mesh, fans)
    related = relate(mesh) if len(outward) > 1 else None
    mixed = np.zeros(len(outward), np.bool_)
    if related is not None:
        mixed[np.concatenate([related.equal, related.undetermined]).ravel()] = True
    crossed = _crossed(mesh, fans.parted, component, mixed, related)
    overlap = related is not None and len(related.overlapping) > 0
    if crossed.any() or mixed.any() or overlap:
        crossed |= np.append(mixed, False)[component]  # -1 is the last
        return TriangleWeights(*weigh_patches(mesh, component, crossed, rule))
    values = np.append(_of_shells(outward, related, rule), np.int8(0))[component]
    return TriangleWeights(np.ascontiguousarray(values), np.zeros(count, np.bool_))


def _crossed(
    mesh: Mesh,
    parted: NDArray[np.uint8],
    component: NDArray[np.int32],
    mixed: Bools,
    related: Relations | None,
) -> Bools:
    """Return which triangles cross others, (t,): of their shell, or of one that overlaps it."""

    def compare(pairs: NDArray[np.int64]) -> Bools:
        groups = component
        if len(pairs) or mixed.any():
            shells = components(pairs[:, 0].copy(), pairs[:, 1].copy(), len(mixed))
            groups = np.append(np.where(mixed, -1, shells), -1)[component].astype(np.int32)
        return crossed_triangles(
            mesh.vertices, mesh.triangles, mesh.bounds, groups, parted, thread_count(None)
        )

    if related is None:
        return compare(np.zeros((0, 2), np.int64))
    crossed = compare(related.overlapping)
    # How others lie to a shell that crosses itself does not follow from what is seen of both.
    own = np.zeros(len(mixed), np.bool_)
    own[component[crossed & (component >= 0)]] = True
    others = related.near[own[related.near].any(axis=1)]
    return compare(np.concatenate([related.overlapping, others])) if len(others) else crossed


def _of_shells(
    outward: NDArray[np.int8], related: Relations | None, rule: Rule
) -> NDArray[np.int8]:
    """Return the weight of each shell, by the shells around it."""
    if related is None:
        return outward
    winding = related.winding
    within, without = (winding + outward != 0).astype(int), (winding != 0).astype(int)
    counts = 1 - 2 * (related.depth % 2) if rule == "parity" else within - without
    weights: NDArray[np.int8] = (counts * outward).astype(np.int8)
    return weights
