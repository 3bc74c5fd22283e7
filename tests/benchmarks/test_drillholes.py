"""A million stations beside wellpathpy, which desurveys hole by hole; a million samples flagged.

pytest tests/benchmarks/test_drillholes.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import geodomain
from geodomain.drillholes.curves import Curves, HolePaths, directions, make_curves

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from shapes import star

HOLES, STATIONS, SAMPLES = 100_000, 10, 1_000_000


@pytest.fixture(scope="module")
def survey() -> tuple[np.ndarray, ...]:
    """Collars, depths, azimuths and dips of holes that bend by some degrees."""
    random = np.random.default_rng(0)
    shape = (HOLES, STATIONS)
    azimuths = random.uniform(0, 360, HOLES)[:, None] + random.normal(0, 2, shape).cumsum(axis=1)
    dips = np.clip(60 + random.normal(0, 1, shape).cumsum(axis=1), -90, 90)
    depths = np.tile(np.arange(STATIONS) * 30.0, HOLES)
    return random.uniform(0, 4000, (HOLES, 3)), depths, azimuths.ravel() % 360, dips.ravel()


def desurvey(survey: tuple[np.ndarray, ...]) -> Curves:
    collars, depths, azimuths, dips = survey
    offsets = np.arange(len(collars) + 1) * STATIONS
    return make_curves(offsets, depths, directions(azimuths, dips), collars, "minimum curvature")


def test_desurvey_100_000_holes(survey, timed) -> None:
    assert len(timed("1M stations", lambda: desurvey(survey)).points) == HOLES * STATIONS


def test_desurvey_1_000_holes_by_wellpathpy(survey, timed, peer) -> None:
    wellpathpy = peer("wellpathpy")
    collars, depths, azimuths, dips = survey

    def run() -> np.ndarray:
        parts = []
        for hole in range(1000):
            rows = slice(hole * STATIONS, (hole + 1) * STATIONS)
            path = wellpathpy.deviation(md=depths[rows], inc=90 - dips[rows], azi=azimuths[rows])
            found = path.minimum_curvature()
            local = np.stack([found.easting, found.northing, -found.depth], axis=1)
            parts.append(collars[hole] + local)
        return np.concatenate(parts)

    theirs = timed("10,000 stations", run)
    assert np.abs(theirs - desurvey(survey).points[: len(theirs)]).max() < 1e-9


def test_flag_a_million_samples_in_20_solids(survey, timed) -> None:
    """From holes, FROM and TO as arrays to the solid of each sample."""
    holes = HolePaths((), survey[0], np.full(HOLES, 300.0), desurvey(survey))
    random = np.random.default_rng(1)
    rows = np.repeat(np.arange(HOLES), SAMPLES // HOLES)
    middles = np.tile(np.arange(SAMPLES // HOLES) * 25.0 + 10, HOLES)
    places = random.uniform((300, 300, 2000), (3700, 3700, 3700), (20, 3))
    solids = [star(50, (250, 250, 250), place) for place in places]
    assert sum(len(solid.triangles) for solid in solids) == 1_000_000

    def run() -> np.ndarray:
        return geodomain.label_codes(holes.points_at(rows, middles), solids)

    assert 0.001 < (timed("1M samples, 1M triangles", run) >= 0).mean() < 0.9
