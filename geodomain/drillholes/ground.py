"""Compare holes with topography and solids: find wrong collars, ends above ground and odd dips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.drillholes.curves import Curves, HolePaths, make_curves
from geodomain.drillholes.findings import Finding, note
from geodomain.inputs import MeshesLike, as_meshes
from geodomain.mesh.mesh import Mesh
from geodomain.query.segments import SegmentIntersector


class Ground(NamedTuple):
    """A topography: its name, and the meshes that form it."""

    name: str
    tiles: Sequence[Mesh]

    def heights(self, points: Floats) -> Floats:
        """Return the elevation of the ground at x and y of each point, NaN outside its footprint.

        If the ground has several elevations there, the elevation nearest to the point is returned.
        """
        nearest = np.full(len(points), np.nan)
        if not len(points):
            return nearest
        for tile in self.tiles:
            low = min(float(tile.bounds[0, 2]), float(points[:, 2].min())) - 1.0
            high = max(float(tile.bounds[1, 2]), float(points[:, 2].max())) + 1.0
            ends = points.copy(), points.copy()
            ends[0][:, 2], ends[1][:, 2] = high, low
            with SegmentIntersector(tile, backend="cpu") as intersector:
                hits = intersector.intersect(ends, mode="all")
            heights = high + hits.t * (low - high)
            for row, height in zip(hits.segment.tolist(), heights.tolist(), strict=True):
                if not abs(height - points[row, 2]) >= abs(nearest[row] - points[row, 2]):
                    nearest[row] = height
        return nearest


def ground_of(topography: MeshesLike | None) -> Ground | None:
    """Return a topography, named after its first mesh; None without meshes."""
    tiles = () if topography is None else as_meshes(topography)
    return Ground(tiles[0].name, tiles) if tiles else None


def topography_among(surfaces: Iterable[Ground], holes: HolePaths) -> Ground | None:
    """Return the likely topography: the first surface on which most collars lie, or None.

    A collar lies on a surface if its distance from the surface is at most a twentieth of the median
    hole length. For fewer than three holes, None is returned.
    """
    reach = 0.05 * float(np.median(holes.ends)) if len(holes) > 2 else 0.0
    for ground in surfaces:
        away = np.abs(holes.collars[:, 2] - ground.heights(holes.collars))
        if 2 * int((np.nan_to_num(away, nan=np.inf) <= reach).sum()) > len(holes) > 2:
            return ground
    return None


def in_radians(findings: Iterable[Finding]) -> bool:
    """Return whether a finding says that angles seem to be radians."""
    return any(each.code == "angles-radians" for each in findings)


def check_topography(
    findings: list[Finding], ground: Ground, holes: HolePaths, *, radians: bool = False
) -> None:
    """Compare collars, and the ends of holes, with a topography.

    A collar is off the topography if its distance from the topography exceeds both 10 times the
    median deviation of all collars and a twentieth of the median hole length.

    Dips seem to be measured from the vertical if two conditions are met. First, at least half of
    the holes with a correct collar end above the topography, or far outside its box in plan.
    Second, at most a fifth of these holes would end there if their dips were converted. Angles in
    radians also put ends of holes in wrong places: if `radians` is true, dips are not suspected.
    """
    collars, names = holes.collars, holes.names
    heights = ground.heights(collars)
    away = collars[:, 2] - heights
    finite = np.isfinite(away)
    if not finite.any():
        return
    spread = float(np.median(np.abs(away[finite] - np.median(away[finite]))))
    slack = max(10.0 * spread, 0.05 * float(np.median(holes.ends)))
    with np.errstate(invalid="ignore"):
        off = np.flatnonzero(np.abs(away) > slack)
    note(findings, "collar-off-topography", [names[row] for row in off],
         value=lambda number: f"z {collars[off[number], 2]:.10g}, "
         f"{ground.name} {heights[off[number]]:.10g}")  # fmt: skip
    sound = np.abs(np.nan_to_num(away, nan=np.inf)) <= slack
    ends = holes.points_at(np.arange(len(holes)), holes.ends)
    levels = ground.heights(ends)
    with np.errstate(invalid="ignore"):
        above = sound & (ends[:, 2] - levels > slack)
    rows = np.flatnonzero(above)
    note(findings, "end-above-topography", [names[row] for row in rows],
         value=lambda number: f"z {ends[rows[number], 2]:.10g}, "
         f"{ground.name} {levels[rows[number]]:.10g}")  # fmt: skip
    lost = int((above | (sound & _beyond(ground, ends))).sum())
    if radians or lost < 2 or 2 * lost < int(sound.sum()):
        return
    other = _from_vertical(holes)
    others = other.at(other.find(np.arange(len(holes)), holes.ends), holes.ends)
    with np.errstate(invalid="ignore"):
        high = others[:, 2] - ground.heights(others) > slack
    if 5 * int((sound & (high | _beyond(ground, others))).sum()) <= lost:
        note(findings, "dip-from-vertical", [names[row] for row in np.flatnonzero(sound)])


def check_dips(findings: list[Finding], solids: Sequence[Mesh], holes: HolePaths) -> None:
    """Add a finding if dips seem to be measured from the vertical, judged by the solids' boxes.

    Holes are usually drilled into the modelled solids. Solids in which most holes begin are
    ignored. Dips are suspect if two conditions are met. First, at least half of the holes enter no
    box of another solid. Second, at least four fifths of these holes would enter a box if their
    dips were measured from the vertical.
    """
    if not solids or any(each.code == "dip-from-vertical" for each in findings):
        return
    boxes = np.array([mesh.bounds for mesh in solids])
    starts = [((holes.collars >= low) & (holes.collars <= high)).all(axis=1) for low, high in boxes]
    boxes = boxes[[2 * int(each.sum()) <= len(holes) for each in starts]]
    if not len(boxes):
        return
    if len(boxes) > 64:
        boxes = np.array([[boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]])
    lost = np.logical_not(_enters(boxes, holes.curves, holes.ends))
    if int(lost.sum()) < 2 or 2 * int(lost.sum()) < len(holes):
        return
    mended = np.logical_and(lost, _enters(boxes, _from_vertical(holes), holes.ends))
    if 5 * int(mended.sum()) >= 4 * int(lost.sum()):
        note(findings, "dip-from-vertical", [holes.names[row] for row in np.flatnonzero(mended)],
             value=lambda _: "stays out of the box of every solid")  # fmt: skip


def _enters(boxes: Floats, curves: Curves, ends: Floats) -> Bools:
    """Return the mask of holes that enter any of the boxes (n, 2, 3).

    Each hole is tested at 65 points.
    """
    steps = np.linspace(0.0, 1.0, 65)
    rows = np.repeat(np.arange(len(ends)), len(steps))
    depths = np.outer(ends, steps).ravel()
    points = curves.at(curves.find(rows, depths), depths)
    inside = np.zeros(len(points), np.bool_)
    for low, high in boxes:
        within = ((points >= low) & (points <= high)).all(axis=1)
        np.logical_or(inside, within, out=inside)
    return np.asarray(inside.reshape(len(ends), len(steps)).any(axis=1))


def _from_vertical(holes: HolePaths) -> Curves:
    """Return the curves of holes on the assumption that dips are measured from the vertical."""
    curves = holes.curves
    level = np.hypot(curves.tangents[:, 0], curves.tangents[:, 1])
    aim = curves.tangents[:, :2] / np.where(level > 0, level, 1.0)[:, None]
    aim[level == 0] = 0.0, 1.0
    tangents = np.column_stack([aim * np.abs(curves.tangents[:, 2:]), -level])
    return make_curves(curves.offsets, curves.depths, tangents, holes.collars, "tangent")


def _beyond(ground: Ground, points: Floats) -> Bools:
    """Return the mask of points that are far outside the ground's box in plan.

    Far means more than a tenth of the size of the box.
    """
    low = np.min([tile.bounds[0, :2] for tile in ground.tiles], axis=0)
    high = np.max([tile.bounds[1, :2] for tile in ground.tiles], axis=0)
    slack = 0.1 * (high - low)
    out: Bools = ((points[:, :2] < low - slack) | (points[:, :2] > high + slack)).any(axis=1)
    return out
