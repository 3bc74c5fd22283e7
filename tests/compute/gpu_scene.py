"""A mesh and many points for the tests that need a GPU; their labels by the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from shapes import star

import geodomain
from geodomain import PointLocator
from geodomain.compute.cuda import device

MESH = star(20)


POINTS = np.random.default_rng(0).normal(size=(3_000_000, 3)) * 60


@pytest.fixture
def one_gpu() -> Iterator[None]:
    """Use one GPU alone, where several would share: a test may look into its index."""
    before = list(device.chosen)
    device.chosen[:] = [device.numbers()[:1]]
    device.numbers.cache_clear()
    try:
        yield
    finally:
        device.chosen[:] = before
        device.numbers.cache_clear()


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return geodomain.contains(MESH, POINTS, backend="cpu")


@pytest.fixture(scope="module")
def locator() -> PointLocator:
    return PointLocator(MESH, backend="cuda")
