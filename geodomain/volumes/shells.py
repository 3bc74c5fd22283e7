"""The weight of each triangle of a solid in a volume, by shell and rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.mesh_checks import self_crossings
from geodomain.backends.threads import thread_count
from geodomain.mesh import fitness
from geodomain.mesh.faults.facing import facing
from geodomain.mesh.faults.relations import relate
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import Rule

Weights = NDArray[np.int8]


def triangle_weights(mesh: Mesh, rule: Rule) -> Weights | None:
    """Return what the volume below each triangle counts, with the triangle's sign, (t,).

    A shell counts with what is inside by the rule just within it, less what is inside just
    without: so shells inside others are holes by parity. The mesh remembers the answer.

    Returns
    -------
    ndarray of int8, shape (t,), or None
        None where that is not the same all over a shell: triangles cross, shells overlap, or
        face opposite ways.

    Raises
    ------
    MeshError
        If the mesh is not closed, or has no winding number and the rule is "winding".
    """
    fitness.require_fit(mesh, allow_open=False)
    if rule == "winding":
        fitness.require_balanced(mesh)
    kept: dict[str, Weights | None] = mesh.__dict__.setdefault("_triangle_weights", {})
    if rule not in kept:
        kept[rule] = _weigh(mesh, rule) if mesh.is_balanced else None
    return kept[rule]


def _weigh(mesh: Mesh, rule: Rule) -> Weights | None:
    component, outward = facing(mesh)
    crossings, _ = self_crossings(mesh.vertices, mesh.triangles, component, thread_count(None))
    nested = _nested(mesh) if len(outward) > 1 else np.zeros((0, 2), np.int64)
    if crossings or nested is None:
        return None
    holders = [nested[nested[:, 1] == shell, 0] for shell in range(len(outward))]
    count = np.array([len(inside_of) for inside_of in holders], np.int64)
    winding = np.array([int(outward[inside_of].sum()) for inside_of in holders], np.int64)
    within, without = (winding + outward != 0).astype(int), (winding != 0).astype(int)
    counts = 1 - 2 * (count % 2) if rule == "parity" else within - without
    weights = (counts * outward).astype(np.int8)
    return np.ascontiguousarray(np.append(weights, np.int8(0))[component])  # -1 is the last


def _nested(mesh: Mesh) -> NDArray[np.int64] | None:
    """Return the pairs of shells of which the second is inside the first; None if some mix."""
    found = relate(mesh)
    mixed = len(found.overlapping) + len(found.equal) + len(found.undetermined)
    return None if mixed else found.nested
