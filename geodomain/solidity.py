"""How much a mesh holds: areas and signed volumes, shell by shell; float64, not exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodomain.edge_table import Bools, EdgeTable, Floats, Ints
from geodomain.shells import shells

_BOX_TESTS = 20_000_000


@dataclass(frozen=True)
class Solidity:
    """Volumes and shells; see MeshReport."""

    shells: int
    signed_volume: float
    inward: int
    inside_out: int


def areas(vertices: Floats, triangles: Ints) -> Floats:
    """Give the areas of triangles, (t,) float64."""
    x, y, z = _normals(vertices, triangles).T
    return np.asarray(np.hypot(np.hypot(x, y), z) / 2)


def _normals(vertices: Floats, triangles: Ints) -> Floats:
    """Give the cross products of two sides of each triangle, (t, 3) float64."""
    a, b, c = vertices[triangles.T]
    return np.cross(b - a, c - a)


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
    volumes = _volumes(table.vertices, triangles, label, count)
    outward = ~_faulty(table, triangles, label, count) & (volumes > 0)
    inward = ~_faulty(table, triangles, label, count) & (volumes < 0)
    boxes = _boxes(table.vertices[triangles], label, count)
    return Solidity(
        shells=count,
        signed_volume=float(volumes.sum()),
        inward=int(inward.sum()),
        inside_out=_in_no_box(boxes[inward], boxes[outward]),
    )


def _volumes(vertices: Floats, triangles: Ints, label: Ints, count: int) -> Floats:
    """Give the signed volume of each shell."""
    # About a corner of its own, for at mine coordinates the terms about 0 would cancel.
    origin = np.zeros((count, 3))
    origin[label[::-1]] = vertices[triangles[::-1, 0]]
    arm = vertices[triangles[:, 0]] - origin[label]
    terms = np.einsum("ij,ij->i", arm, _normals(vertices, triangles))
    return np.bincount(label, terms, minlength=count) / 6


def _faulty(table: EdgeTable, triangles: Ints, label: Ints, count: int) -> Bools:
    """Tell the shells that are open or do not balance."""
    shell_of = np.zeros(len(table.vertices), np.int64)
    shell_of[triangles] = label[:, None]
    faulty = np.zeros(count, np.bool_)
    faulty[shell_of[table.ends[np.r_[table.odd, table.unbalanced], 0]]] = True
    return faulty


def _boxes(corners: Floats, label: Ints, count: int) -> Floats:
    """Give the box of each shell, (s, 2, 3)."""
    boxes = np.empty((count, 2, 3))
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count))
    if count:
        boxes[:, 0] = np.minimum.reduceat(corners.min(axis=1)[order], starts)
        boxes[:, 1] = np.maximum.reduceat(corners.max(axis=1)[order], starts)
    return boxes


def _in_no_box(inner: Floats, outer: Floats) -> int:
    """Count the boxes that lie strictly inside no other; of very many, the first are tried."""
    tried = inner[: max(1, _BOX_TESTS // max(1, len(outer)))]
    return sum(
        not ((outer[:, 0] < low) & (outer[:, 1] > high)).all(axis=1).any() for low, high in tried
    )
