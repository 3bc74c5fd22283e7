"""Weld vertices within a tolerance that the user chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodomain.errors import MeshError
from geodomain.html.table import html_table
from geodomain.mesh.faults.edge_table import (
    EdgeTable,
    Floats,
    Ints,
    distinct_vertices,
    edge_table,
    has_equal_corners,
)
from geodomain.mesh.faults.nearness import near_pairs, separations
from geodomain.mesh.faults.shells import components
from geodomain.mesh.mesh import Mesh

_MOST_PAIRS = 200_000_000
# A mesh that a weld could close has few open vertices near each other.
_MOST_PAIRS_OF_ONE = 50


@dataclass(frozen=True, eq=False)
class WeldResult:
    """A welded mesh, and what welding did to it.

    Attributes
    ----------
    mesh : Mesh
        With one vertex for each place, and no triangle that has two equal ones.
    moved : int
        How many distinct places changed.
    largest_move : float
        How far the worst of them went, in the unit of the coordinates.
    dropped : int
        How many triangles collapsed, those with two equal vertices before included.
    """

    mesh: Mesh
    moved: int
    largest_move: float
    dropped: int

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("vertices", f"{len(self.mesh.vertices):,}"),
            ("triangles", f"{len(self.mesh.triangles):,}"),
            ("closed", "yes" if self.mesh.is_closed else "no"),
            ("places moved", f"{self.moved:,}"),
            ("largest move", f"{self.largest_move:.3g}"),
            ("triangles dropped", f"{self.dropped:,}"),
        ]
        return html_table(f"Weld of {self.mesh.name}", rows)


def weld(mesh: Mesh, tolerance: float) -> WeldResult:
    """Join the vertices of a mesh that are close to each other; see `geodomain.weld`."""
    if not (np.isfinite(tolerance) and tolerance >= 0):
        message = f"tolerance must be a number of at least 0, not {tolerance}"
        raise ValueError(message)
    vertices, triangles = distinct_vertices(mesh)
    target = _targets(vertices, float(tolerance), mesh.name, _MOST_PAIRS)
    moved = np.flatnonzero(target != np.arange(len(target)))
    welded = target[triangles]
    kept = welded[~has_equal_corners(welded)]
    used, corners = np.unique(kept, return_inverse=True)
    moves = separations(vertices, moved, target[moved])
    return WeldResult(
        Mesh(vertices[used], corners.reshape(-1, 3), name=mesh.name),
        moved=len(moved),
        largest_move=float(moves.max(initial=0.0)),
        dropped=len(triangles) - len(kept),
    )


def _targets(vertices: Floats, tolerance: float, name: str, limit: int) -> Ints:
    """Return the vertex that each one moves to."""
    if not tolerance or len(vertices) < 2:
        return np.arange(len(vertices))
    pairs = near_pairs(vertices, tolerance, limit)
    if pairs is None:
        message = (
            f"{name}: a tolerance of {tolerance:g} is too wide to weld with, "
            "whole neighbourhoods of vertices are within it; choose a smaller one"
        )
        raise MeshError(message)
    return _first_by_coordinates(vertices, pairs[0], pairs[1])


def _first_by_coordinates(vertices: Floats, first: Ints, second: Ints) -> Ints:
    """Return the member of each vertex's cluster that comes first by x, then y, then z."""
    near = np.unique(np.r_[first, second])
    order = near[np.lexsort(vertices[near].T[::-1])]
    rank = np.full(len(vertices), -1)
    rank[order] = np.arange(len(order))
    target = np.arange(len(vertices))
    # Components are labelled by their smallest node: here, by the first in that order.
    target[order] = order[components(rank[first], rank[second], len(order))]
    return target


def could_close(table: EdgeTable, tolerance: float) -> bool:
    """Tell, from the open edges alone and quickly, whether a weld would cancel them all.

    Welding is a simplicial map, so that the odd edges of what it makes are the image of
    the odd edges there were. Only chains through other vertices are overlooked.
    """
    ends = table.ends[table.odd]
    used, local = np.unique(ends, return_inverse=True)
    limit = _MOST_PAIRS_OF_ONE * len(used) + 10_000
    try:
        image = _targets(table.vertices[used], tolerance, "", limit)[local.reshape(-1, 2)]
    except MeshError:
        return False
    left = np.sort(image[image[:, 0] != image[:, 1]], axis=1)
    return not (np.unique(left, axis=0, return_counts=True)[1] & 1).any()


def is_gentle(mesh: Mesh, tolerance: float) -> bool:
    """Return whether a tolerance is at most a hundredth of the size of a mesh."""
    return bool(len(mesh.triangles)) and tolerance <= 0.01 * float(
        np.ptp(mesh.bounds, axis=0).max()
    )


def closing_weld(mesh: Mesh, table: EdgeTable, tolerance: float) -> WeldResult | None:
    """Return the weld at a tolerance if it closes the mesh and keeps its shape, or None.

    A weld closes anything if it is wide enough to leave nothing over. So it must not be
    wider than a hundredth of the mesh, nor take more triangles than there are open edges.
    """
    result = collapsing_weld(mesh, tolerance)
    if result is None or result.dropped - int(table.degenerate.sum()) > len(table.odd):
        return None
    return result


def collapsing_weld(mesh: Mesh, tolerance: float) -> WeldResult | None:
    """Give the weld at a tolerance if it closes the mesh, whatever small triangles it takes.

    Three quarters of the triangles must remain, and the tolerance must be gentle.
    """
    if not is_gentle(mesh, tolerance):
        return None
    try:
        result = weld(mesh, tolerance)
    except MeshError:
        return None
    if 4 * len(result.mesh.triangles) < 3 * len(mesh.triangles):
        return None
    return None if len(edge_table(result.mesh).odd) else result
