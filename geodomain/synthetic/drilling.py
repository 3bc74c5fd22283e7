"""Drillholes through the synthetic deposit and their tables as text; no wireframes, no files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.synthetic.blocks import described
from geodomain.synthetic.ground import ORIGIN, topography_height
from geodomain.synthetic.sheets import Floats

SAMPLE, STATION = 2.0, 30.0  # metres along a hole
# A hole begins steep and lifts in a vertical plane, as holes do: degrees for each metre.
STEEP, LIFT, WEST = 66.0, 0.05, 270.0


@dataclass(frozen=True, eq=False)
class HoleTables:
    """Drillholes as a mining package exports them.

    Attributes
    ----------
    collars : (h, 3) float64
        Metres, mine coordinates.
    lengths : (h,) float64
        Metres; each hole is sampled over its whole length.
    grades : list of (n,) float64
        Gold in each sample of each hole, grams per tonne.
    """

    collars: Floats
    lengths: Floats
    grades: list[Floats]

    def __len__(self) -> int:
        """Count the holes."""
        return len(self.collars)

    @property
    def names(self) -> list[str]:
        """The ids of the holes."""
        return [f"DH{number:03d}" for number in range(1, len(self) + 1)]

    def collar_csv(self) -> bytes:
        """Return the collar table, with the depth of each hole."""
        rows = ["HOLEID,EAST,NORTH,RL,MAXDEPTH"]
        for name, (x, y, z), length in zip(self.names, self.collars, self.lengths, strict=True):
            rows.append(f"{name},{x:.2f},{y:.2f},{z:.2f},{length:.1f}")
        return _text(rows)

    def survey_csv(self) -> bytes:
        """Return the survey, its dips negative downwards; the last stations lie above the ends."""
        rows = ["HOLEID,DEPTH,AZIMUTH,DIP"]
        for name, length in zip(self.names, self.lengths, strict=True):
            for depth in np.arange(0.0, length, STATION).tolist():
                rows.append(f"{name},{depth:.1f},{WEST:.1f},{LIFT * depth - STEEP:.1f}")
        return _text(rows)

    def assay_csv(self) -> bytes:
        """Return the samples, two metres long."""
        rows = ["HOLEID,FROM,TO,AU"]
        for name, grades in zip(self.names, self.grades, strict=True):
            for place, grade in enumerate(grades.tolist()):
                rows.append(f"{name},{place * SAMPLE:.1f},{(place + 1) * SAMPLE:.1f},{grade:.2f}")
        return _text(rows)


def drilling(seed: int = 1) -> HoleTables:
    """Drill 56 holes to the west through the deposit, on a grid of 50 m, and assay them.

    Examples
    --------
    >>> holes = drilling()
    >>> len(holes), sum(map(len, holes.grades))
    (56, 5600)
    """
    east, north = (part.ravel() for part in np.meshgrid(np.arange(110.0, 461, 50),
                                                        np.arange(50.0, 351, 50)))  # fmt: skip
    local = np.stack([east, north, topography_height(east, north)], axis=1)
    collars = (local + ORIGIN).round(2)
    lengths = np.full(len(collars), 200.0)
    grades = []
    for number, (collar, length) in enumerate(zip(collars, lengths.tolist(), strict=True)):
        middles = path(collar, np.arange(SAMPLE / 2, length, SAMPLE))
        table = described(middles, np.zeros_like(middles), seed + 1000 + number)
        grades.append(table.grades)
    return HoleTables(collars, lengths, grades)


def path(collar: Floats, depths: Floats) -> Floats:
    """Return points of a hole, (n, 3): an arc of a circle in a vertical plane, towards the west.

    Above its last station; below it a hole goes on straight, which is no farther than 0.1 m away.
    """
    rate = np.deg2rad(LIFT)
    dips: NDArray[np.float64] = np.deg2rad(STEEP) - rate * depths
    west = (np.sin(np.deg2rad(STEEP)) - np.sin(dips)) / rate
    down = (np.cos(dips) - np.cos(np.deg2rad(STEEP))) / rate
    points: Floats = collar + np.stack([-west, np.zeros_like(west), -down], axis=1)
    return points


def _text(rows: list[str]) -> bytes:
    return ("\n".join(rows) + "\n").encode()
