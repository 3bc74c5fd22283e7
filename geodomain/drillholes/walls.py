"""Where the curves of holes cross a mesh: on the arcs, not on their chords.

An arc is halved until the chord of a part is no farther than `SAGITTA` from it; parts that keep
clear of the mesh are dropped on the way, those whose ball about the middle of the arc has no point
of the mesh. The chords that are left join where arcs do, so exact predicates decide on a chain
without a gap: a chain that begins inside and ends outside crosses a closed mesh an odd number of
times, always. Depths are then moved from the chord to the arc.

A hole that passes through a wall and back again is found if it goes deeper than `SAGITTA`; parity
alone would not tell of such pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.backends import choose
from geodomain.backends.api import NearestIndex
from geodomain.backends.threads import thread_count
from geodomain.drillholes.curves import Curves, Ints
from geodomain.mesh.mesh import Mesh
from geodomain.segments.intersector import SegmentIntersector

# How far a chord may be from its arc, in the unit of the coordinates.
SAGITTA = 1e-7
_NEWTON = 4
# Rounding of points and distances, for coordinates of any size: far more than either.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class WallCrossings:
    """Crossings of holes and one mesh, by hole, then by depth.

    Attributes
    ----------
    holes : (k,) int64
        Which hole.
    depths : (k,) float64
        Along it, on the arc.
    pieces : (k,) int64
        The piece of the curve.
    triangles : (k,) int32
        Of the mesh.
    """

    holes: Ints
    depths: Floats
    pieces: Ints
    triangles: NDArray[np.int32]

    def __len__(self) -> int:
        """Count the crossings."""
        return len(self.holes)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of pieces: from where to where along the hole."""

    pieces: Ints
    begins: Floats
    ends: Floats

    def __len__(self) -> int:
        return len(self.pieces)

    def only(self, which: NDArray[np.bool_]) -> _Parts:
        """Return some of them."""
        return _Parts(self.pieces[which], self.begins[which], self.ends[which])

    def halved(self) -> _Parts:
        """Return two for each; the middle is one number for both."""
        middles = 0.5 * (self.begins + self.ends)
        return _Parts(
            np.concatenate([self.pieces, self.pieces]),
            np.concatenate([self.begins, middles]),
            np.concatenate([middles, self.ends]),
        )


def cross_walls(
    curves: Curves, ends: Floats, mesh: Mesh, *, backend: str = "auto", threads: int | None = None
) -> WallCrossings:
    """Find where holes cross a mesh, closed or open.

    Parameters
    ----------
    curves : Curves
        Of the holes.
    ends : (h,) float64
        Where they end.
    mesh : Mesh
        The wall.
    backend, threads
        As for `SegmentIntersector`; the answer is the same for any.

    Returns
    -------
    WallCrossings
        Whether there is a crossing is exact for the chords that are within `SAGITTA` of the arcs,
        ends displaced as `geodomain.contains` displaces points. Depths are those of the arc and
        the triangle's plane, to a few units in the last place of the coordinates, divided by the
        sine of the angle between the hole and the plane.
    """
    if not len(mesh.triangles):
        return WallCrossings(*(np.empty(0, kind) for kind in (np.int64, float, np.int64, np.int32)))
    parts = _straightened(curves, _whole(curves, ends), mesh, threads)
    starts, stops = _vertices(curves, parts.pieces, parts.begins), _ends(curves, parts)
    with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
        hits = intersector.intersect((starts, stops), mode="all")
    begins, stops_at = parts.begins[hits.segment], parts.ends[hits.segment]
    pieces = parts.pieces[hits.segment]
    depths = begins + hits.t * (stops_at - begins)
    depths = _on_arcs(curves, mesh, pieces, hits.triangle, depths, begins, stops_at)
    holes = curves.owners[pieces]
    order = np.lexsort((depths, holes))
    return WallCrossings(holes[order], depths[order], pieces[order], hits.triangle[order])


def _whole(curves: Curves, ends: Floats) -> _Parts:
    """Return the pieces as far as their holes go."""
    stops = np.append(curves.depths[1:], 0.0)
    stops[curves.offsets[1:] - 1] = np.inf
    stops = np.minimum(stops, ends[curves.owners])
    parts = _Parts(np.arange(len(curves.depths)), curves.depths, stops)
    return parts.only(stops > curves.depths)


def _straightened(curves: Curves, parts: _Parts, mesh: Mesh, threads: int | None) -> _Parts:
    """Halve what is bent until it is straight enough; drop what keeps clear of the mesh."""
    parts = parts.only(_near_box(curves, parts, mesh))
    straight = _sagittas(curves, parts) <= SAGITTA
    done, bent = [parts.only(straight)], parts.only(~straight)
    if not len(bent):
        return done[0]
    count = thread_count(threads)
    index = choose("cpu").nearest_index(mesh, threads=count)
    while len(bent):
        bent = bent.only(_near(curves, bent, index, count, mesh))
        straight = _sagittas(curves, bent) <= SAGITTA
        done.append(bent.only(straight))
        bent = bent.only(~straight).halved()
    return _Parts(*(np.concatenate([getattr(one, name) for one in done])
                    for name in ("pieces", "begins", "ends")))  # fmt: skip


def _sagittas(curves: Curves, parts: _Parts) -> Floats:
    """Return bounds on how far arcs are from their chords: s^2 k / 8, and 0 for straight ones."""
    lengths = parts.ends - parts.begins
    found: Floats = lengths * (lengths * curves.curvatures[parts.pieces]) / 8.0
    return found


def _near_box(curves: Curves, parts: _Parts, mesh: Mesh) -> NDArray[np.bool_]:
    """Tell the parts whose chord's box, inflated by the sagitta, meets the mesh's."""
    starts, stops = _vertices(curves, parts.pieces, parts.begins), _ends(curves, parts)
    slack = (1.1 * _sagittas(curves, parts) + _slack(mesh))[:, None]
    low, high = np.minimum(starts, stops) - slack, np.maximum(starts, stops) + slack
    met: NDArray[np.bool_] = ((low <= mesh.bounds[1]) & (high >= mesh.bounds[0])).all(axis=1)
    # An arc of more than half a circle leaves the box of its chord, inflated or not.
    turned = curves.curvatures[parts.pieces] * (parts.ends - parts.begins)
    return met | (turned > 3.0)


def _near(
    curves: Curves, parts: _Parts, index: NearestIndex, threads: int, mesh: Mesh
) -> NDArray[np.bool_]:
    """Tell the parts with a point of the mesh in the ball about the middle of the arc."""
    middles = curves.at(parts.pieces, 0.5 * (parts.begins + parts.ends))
    distances = np.empty(len(parts))
    index.nearest((middles[:, 0], middles[:, 1], middles[:, 2]), distances, threads)
    reach = 0.5 * (parts.ends - parts.begins)
    near: NDArray[np.bool_] = distances <= reach * (1.0 + 1e-9) + _slack(mesh)
    return near


def _slack(mesh: Mesh) -> float:
    """Return more than what rounding does to a coordinate near a mesh."""
    return _SLACK * float(np.abs(mesh.bounds).max()) + SAGITTA


def _vertices(curves: Curves, pieces: Ints, depths: Floats) -> Floats:
    """Return points at depths on pieces, exactly the piece's own where it begins."""
    points = curves.at(pieces, depths)
    first = depths == curves.depths[pieces]
    points[first] = curves.points[pieces[first]]
    return points


def _ends(curves: Curves, parts: _Parts) -> Floats:
    """Return where parts end: exactly where the next piece of the hole begins."""
    points = _vertices(curves, parts.pieces, parts.ends)
    later = np.minimum(parts.pieces + 1, len(curves.depths) - 1)
    last = np.zeros(len(curves.depths), np.bool_)
    last[curves.offsets[1:] - 1] = True
    joins = ~last[parts.pieces] & (curves.depths[later] == parts.ends)
    points[joins] = curves.points[later[joins]]
    return points


def _on_arcs(
    curves: Curves,
    mesh: Mesh,
    pieces: Ints,
    triangles: NDArray[np.int32],
    depths: Floats,
    begins: Floats,
    ends: Floats,
) -> Floats:
    """Move depths from chords to arcs: Newton's steps to the triangle's plane, within the part."""
    bent = np.flatnonzero(curves.curvatures[pieces] > 0)
    corners = mesh.vertices[mesh.triangles[triangles[bent]]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    found, some = depths[bent], pieces[bent]
    for _ in range(_NEWTON):
        heights = np.einsum("ij,ij->i", normals, curves.at(some, found) - corners[:, 0])
        slopes = np.einsum("ij,ij->i", normals, curves.along(some, found))
        steps = np.divide(heights, slopes, out=np.zeros_like(heights), where=slopes != 0)
        found = np.clip(found - steps, begins[bent], ends[bent])
    moved = depths.copy()
    moved[bent] = found
    return moved


def turns_of(curves: Curves, mesh: Mesh, crossings: WallCrossings) -> NDArray[np.bool_]:
    """Return whether each crossing goes down through the surface, whatever way its triangles face.

    Through a vertical triangle a hole goes down if it does so itself.
    """
    corners = mesh.vertices[mesh.triangles[crossings.triangles]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = curves.along(crossings.pieces, crossings.depths)
    through = np.einsum("ij,ij->i", normals, along) * np.sign(normals[:, 2])
    level = (normals[:, 2] == 0) | (through == 0)
    down: NDArray[np.bool_] = np.where(level, along[:, 2] <= 0, through < 0)
    return down
