"""Areas and signed volumes of a mesh, shell by shell, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geodomain.mesh.faults.edge_table import Bools, EdgeTable, Floats, Ints
from geodomain.mesh.faults.shells import shells
from geodomain.mesh.measure import area, normals, sixfold_volumes

_BOX_TESTS = 20_000_000


class Solidity(NamedTuple):
    """Volumes and shells; see MeshReport."""

    shells: int
    area: float
    signed_volume: float
    inward: int
    inside_out: int


def measure_shells(table: EdgeTable, triangles: Ints) -> Solidity:
    """Measure the volumes of all shells.

    Parameters
    ----------
    table : EdgeTable
        Of the mesh.
    triangles : (t, 3) int64
        Those that are not degenerate.

    Returns
    -------
    Solidity
        Shells that are not closed, or whose triangles do not agree, face nowhere.
    """
    label, count = shells(triangles, len(table.vertices))
    crosses = normals(table.vertices, triangles)
    sound = ~_faulty(table, triangles, label, count)
    volumes = _volumes(table.vertices, triangles, crosses, label, sound)
    outward, inward = (sound & (sign * volumes[:count] > 0) for sign in (1, -1))
    return Solidity(
        shells=count,
        area=area(crosses),
        signed_volume=float(volumes.sum()),
        inward=int(inward.sum()),
        inside_out=_inside_out(table.vertices[triangles], label, inward, outward),
    )


def _volumes(
    vertices: Floats, triangles: Ints, crosses: Floats, label: Ints, sound: Bools
) -> Floats:
    """Return the signed volume of each shell that is sound, and of all the others together."""
    # A sound shell is measured about a corner of its own, since at mine coordinates the terms
    # about 0 would cancel; the others have no volume of their own, and one origin.
    count = len(sound)
    owner = np.where(sound[label], label, count)
    origin = np.empty((count + 1, 3))
    origin[owner[::-1]] = vertices[triangles[::-1, 0]]
    origin[count] = vertices.mean(axis=0) if len(vertices) else 0.0
    arm = vertices[triangles[:, 0]] - origin[owner]
    return np.bincount(owner, sixfold_volumes(arm, crosses), minlength=count + 1) / 6


def _faulty(table: EdgeTable, triangles: Ints, label: Ints, count: int) -> Bools:
    """Return the shells that are open or do not balance."""
    shell_of = np.zeros(len(table.vertices), np.int64)
    shell_of[triangles] = label[:, None]
    faulty = np.zeros(count, np.bool_)
    faulty[shell_of[table.ends[np.r_[table.odd, table.unbalanced], 0]]] = True
    return faulty


def _inside_out(corners: Floats, label: Ints, inward: Bools, outward: Bools) -> int:
    """Count the inward shells whose boxes lie strictly inside that of no outward one.

    Of very many shells, some thousands are tried.
    """
    if not inward.any():
        return 0
    boxes = _boxes(corners, label, len(inward))
    outer = boxes[outward]
    tried = boxes[inward][: max(1, _BOX_TESTS // max(1, len(outer)))]
    return sum(
        not ((outer[:, 0] < low) & (outer[:, 1] > high)).all(axis=1).any() for low, high in tried
    )


def _boxes(corners: Floats, label: Ints, count: int) -> Floats:
    """Return the box of each shell, (s, 2, 3)."""
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count))
    low = np.minimum.reduceat(corners.min(axis=1)[order], starts)
    return np.stack([low, np.maximum.reduceat(corners.max(axis=1)[order], starts)], axis=1)
