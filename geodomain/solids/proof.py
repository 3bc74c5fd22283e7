"""Prove a result at random points: its labels must be those of the rule applied to the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.errors import MeshError, counted
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.query.contains import contains
from geodomain.settings import Rule
from geodomain.solids.mending import point_text
from geodomain.volumes.distance import distances

# Half of the points are random in the box. The others are near walls, at distances between the
# stated distance and this fraction of the diagonal of the box.
_NEAR = 0.02
_MARGIN = 0.05


@dataclass(frozen=True)
class Proof:
    """The comparison of a result with the rule applied to the inputs, at random points.

    Attributes
    ----------
    points : int
        Number of points. Half of them are random in a box around the inputs, and half are near
        walls of the inputs.
    wrong : int
        Points whose labels differ although all walls are farther away than `distance`.
    near : int
        Points whose labels differ and that are at most `distance` from a wall.
    distance : float
        Labels may differ at points within this distance of a wall.
    inside : int
        Points that are inside the result.
    """

    points: int
    wrong: int
    near: int
    distance: float
    inside: int

    def __str__(self) -> str:
        """Say how many labels differ."""
        near = f", {self.near:,} within this distance" if self.near else ""
        where = f" farther than {self.distance:.2g} from a wall{near}" if self.distance else ""
        return (
            f"proof: {self.points:,} random points were labelled by the result and by the rule on "
            f"the inputs, and {self.wrong:,} differ{where}"
        )

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def prove(
    result: Mesh,
    expected: Callable[[Floats], Bools],
    solids: Sequence[Mesh],
    walls: Sequence[Mesh],
    *,
    rule: Rule,
    distance: float,
    points: int,
    reason: str = "",
) -> Proof:
    """Label random points by the result and by the inputs, and compare the labels.

    Parameters
    ----------
    result : Mesh
        The result; it may have no triangle.
    expected : callable
        Returns which points (n, 3) are inside, by the rule applied to the inputs.
    solids : sequence of Mesh
        Meshes whose boxes hold the random points.
    walls : sequence of Mesh
        All inputs, surfaces included.
    rule : {"parity", "winding"}
        The rule for inside of the result.
    distance : float
        Labels may differ at points at most this far from a wall of an input.
    points : int
        Number of points.
    reason : str
        A likely reason for a wrong label, for the message.

    Raises
    ------
    MeshError
        If a label differs at any other point; the message gives their number and the first point.
    """
    fitness.mark_warned(result)  # voids and shells that touch are intended
    places = _points(solids, walls, distance, points)
    inside = _inside(result, places, rule)
    differs = np.flatnonzero(inside != expected(places))
    far = np.full(len(differs), np.inf)
    for wall in walls:
        far = np.minimum(far, distances(wall, places[differs]))
    wrong = differs[far > distance]
    if len(wrong):
        first = places[wrong[np.lexsort(places[wrong].T[::-1])[0]]]
        fault = (
            f"is wrong at {counted(len(wrong), 'point')} of {points:,}, the first at "
            f"{point_text(first)}"
        )
        raise wrong_result(result, fault, reason)
    return Proof(points, len(wrong), len(differs), distance, int(inside.sum()))


def wrong_result(result: Mesh, fault: str, reason: str) -> MeshError:
    """Return the error for a result that is wrong; `reason` is a likely reason, or empty."""
    remedy = f"{reason}; remove the crossing" if reason else "please report these wireframes"
    return MeshError(f"{result.name} {fault}, and is not written: {remedy}")


def _inside(mesh: Mesh, points: Floats, rule: Rule) -> Bools:
    if not len(mesh.triangles):
        return np.zeros(len(points), np.bool_)
    return contains(mesh, points, rule=rule)


def _points(solids: Sequence[Mesh], walls: Sequence[Mesh], distance: float, count: int) -> Floats:
    """Return the points, which are the same in every run with the same inputs."""
    random = np.random.default_rng(20_260_101)
    boxes = np.array([mesh.bounds for mesh in solids])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    margin = _MARGIN * (high - low)
    anywhere = random.uniform(low - margin, high + margin, (count - count // 2, 3))
    return np.concatenate([anywhere, _near_walls(walls, low, high, distance, count // 2, random)])


def _near_walls(
    walls: Sequence[Mesh],
    low: Floats,
    high: Floats,
    distance: float,
    count: int,
    random: np.random.Generator,
) -> Floats:
    """Return points near triangles whose boxes meet the box; each wall has the same number."""
    diagonal = float(np.linalg.norm(high - low))
    share = np.array_split(np.arange(count), len(walls))
    parts = [np.empty((0, 3))]
    for wall, rows in zip(walls, share, strict=True):
        corners = wall.vertices[wall.triangles]
        meets = (corners.min(axis=1) <= high).all(axis=1) & (corners.max(axis=1) >= low).all(axis=1)
        corners = corners[meets] if meets.any() else corners
        corners = corners[random.integers(len(corners), size=len(rows))]
        u, v = np.sort(random.random((2, len(rows))), axis=0)
        on_wall = (corners * np.stack([u, v - u, 1 - v], axis=1)[:, :, None]).sum(axis=1)
        way = random.normal(size=(len(rows), 3))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        shortest = min(2 * distance or 1e-15 * diagonal, _NEAR * diagonal)
        length = np.exp(random.uniform(np.log(shortest), np.log(_NEAR * diagonal), len(rows)))
        parts.append(on_wall + way * length[:, None])
    return np.concatenate(parts)
