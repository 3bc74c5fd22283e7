"""The geology of the demo: where its folds, lenses, dyke, oxidation and topography lie.

Analytic shapes and the wireframes that follow them; block models are made elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh
from geodomain.synthetic.sheets import Floats, between, disc, grid, surveyed

ORIGIN = np.array([414_000.0, 7_480_000.0, 150.0])  # south-west corner at the lowest bench, m
EXTENT = np.array([500.0, 400.0, 250.0])
FOLD_LEVEL = 130.0  # height of the axial plane's hinge line above the lowest bench, m
FARTHEST_RIM = 1.13  # of a lens, in its own half lengths: see Lens.outline
SHEAR = 1.1  # metres east for each metre up: overturns the eastern limbs


def topography_height(x: Floats, y: Floats) -> Floats:
    """Return the height of the ground above the lowest bench, local metres."""
    height: Floats = 221 + 9 * np.sin(x / 83) * np.cos(y / 71) + 4 * np.sin((x + 2 * y) / 57)
    return height


def oxidation_height(x: Floats, y: Floats) -> Floats:
    """Return the height of the base of oxidation, which stays below the ground."""
    cover: Floats = 28 + 7 * np.sin(x / 61 + 1) * np.sin(y / 47) + 0.02 * x
    return topography_height(x, y) - cover


@dataclass(frozen=True)
class Lens:
    """An ore lens that follows the folded surface, pinching out at an uneven rim."""

    name: str
    centre: tuple[float, float]  # of the unsheared lens in plan, local metres
    reach: tuple[float, float]  # half lengths across and along the fold axis
    level: float  # of its mid-surface, relative to the fold's
    thickness: float  # vertical, at its middle

    def middle(self, x: Floats, y: Floats) -> Floats:
        """Return the height of the folded mid-surface at an unsheared place."""
        return FOLD_LEVEL + self.level + 42 * np.cos(x / 37 - 6.4) + 0.06 * y - 12

    def outline(self, p: Floats, q: Floats) -> Floats:
        """Return how far the rim lies along the direction (p, q), 1 on average."""
        angle = np.arctan2(q, p)
        reach: Floats = 1 + 0.08 * np.cos(3 * angle + self.level) + 0.05 * np.cos(5 * angle)
        return reach

    def wireframe(self, rings: int) -> Mesh:
        """Return the closed surface, ``rings`` triangles from its middle to its rim."""
        flat, triangles = disc(rings)
        p, q = flat.T
        radius = np.round(np.hypot(p, q), 9)
        x, y = (flat * self.reach * self.outline(p, q)[:, None] + self.centre).T
        half = self.thickness / 2 * np.sqrt(1 - radius**2)
        sheets = []
        for z in (self.middle(x, y) + half, self.middle(x, y) - half):
            sheets.append(surveyed(np.stack([x + SHEAR * (z - FOLD_LEVEL), y, z], axis=1)) + ORIGIN)
        return between(sheets[0], sheets[1], triangles, self.name)

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points, mine coordinates, lie in the smooth shape itself."""
        x, y, z = (points - ORIGIN).T
        x = x - SHEAR * (z - FOLD_LEVEL)
        p, q = (x - self.centre[0]) / self.reach[0], (y - self.centre[1]) / self.reach[1]
        # Most points are far away: leave them out before the trigonometry.
        near = np.flatnonzero(p * p + q * q < FARTHEST_RIM**2)
        height = abs(z[near] - self.middle(x[near], y[near]))
        near, height = near[height < self.thickness / 2], height[height < self.thickness / 2]
        radius = np.hypot(p[near], q[near]) / self.outline(p[near], q[near])
        held = np.zeros(len(points), dtype=bool)
        held[near] = height < self.thickness / 2 * np.sqrt(np.maximum(1 - radius**2, 0))
        return held


LENSES = (
    Lens("ore_upper", (238.0, 205.0), (150.0, 165.0), 0.0, 26.0),
    Lens("ore_lower", (262.0, 190.0), (120.0, 130.0), -52.0, 17.0),
)


def dyke(spacing: float) -> Mesh:
    """Return a thin, wavy, steep sheet of waste that cuts the ore, closed."""
    u = np.arange(-160, 161, spacing)
    v = np.arange(-100, 81, spacing)
    along, up = (axis.ravel() for axis in np.meshgrid(u, v, indexing="ij"))
    middle = 4 * np.sin(along / 60) + 3 * np.sin(up / 41)
    half = 4.5 + 1.5 * np.cos(along / 90) + up / 80
    # Orthonormal: along the strike, up the dip (74 degrees), across the sheet.
    frame = np.array([[0.28, 0.96, 0.0], [-0.2688, 0.0784, 0.96], [0.9216, -0.2688, 0.28]])
    centre = ORIGIN + np.array([262.0, 200.0, 110.0])
    local = [np.stack([along, up, middle + side * half], axis=1) for side in (1, -1)]
    top, bottom = (surveyed(sheet @ frame) + centre for sheet in local)
    return between(top, bottom, grid(len(u), len(v)), "dyke")


def survey_grid(spacing: float) -> tuple[Floats, Floats, NDArray[np.int32]]:
    """Return x, y (local metres, ravelled) and triangles of a grid over the whole model."""
    x, y = (np.arange(0, length + 1, spacing) for length in EXTENT[:2])
    east, north = (axis.ravel() for axis in np.meshgrid(x, y, indexing="ij"))
    return east, north, grid(len(x), len(y))


def draped(x: Floats, y: Floats, height: Floats) -> Floats:
    """Return the vertices of a sheet at the given local heights, mine coordinates."""
    vertices: Floats = surveyed(np.stack([x, y, height], axis=1)) + ORIGIN
    return vertices


def topography(spacing: float) -> Mesh:
    """Return the ground, an open surface over the whole model."""
    x, y, triangles = survey_grid(spacing)
    return Mesh(draped(x, y, topography_height(x, y)), triangles, name="topography")


def oxide_zone(spacing: float) -> Mesh:
    """Return the closed solid between the ground and the base of oxidation."""
    x, y, triangles = survey_grid(spacing)
    top, bottom = (draped(x, y, height(x, y)) for height in (topography_height, oxidation_height))
    return between(top, bottom, triangles, "oxide")
