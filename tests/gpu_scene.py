"""A mesh and many points for the tests that need a GPU; their labels by the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import star

import geodomain
from geodomain import PointLocator

MESH = star(20)


POINTS = np.random.default_rng(0).normal(size=(3_000_000, 3)) * 60


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return geodomain.contains(MESH, POINTS, backend="cpu")


@pytest.fixture(scope="module")
def locator() -> PointLocator:
    return PointLocator(MESH, backend="cuda")
