"""What the benchmarks share: rounds, scenes, and peers that may be missing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodomain import Mesh, synthetic

HERE = Path(__file__).parent
ROUNDS = 3
# Scenes A and B: one orebody, 81,920 and 1,003,520 triangles.
FREQUENCIES = {"A": 64, "B": 224}
LATTICE = (200, 200, 100)
SCATTERED = 1_000_000
WRONG: dict[str, int] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let other libraries warn."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say beside the times how many labels were wrong."""
    for name, count in WRONG.items():
        terminalreporter.write_line(f"{count:9,} wrong labels  {name}")


@pytest.fixture(scope="module", params=FREQUENCIES)
def mesh(request: pytest.FixtureRequest) -> Mesh:
    return synthetic.star_shaped_orebody(FREQUENCIES[request.param])


@pytest.fixture(scope="module")
def axes(mesh: Mesh) -> synthetic.Axes:
    return synthetic.lattice_over(mesh, LATTICE)


@pytest.fixture(scope="module")
def scattered(mesh: Mesh) -> np.ndarray:
    low, high = mesh.bounds
    middle, half = (low + high) / 2, (high - low) * 0.6
    random = np.random.Generator(np.random.PCG64(7))
    return middle + half * random.uniform(-1, 1, (SCATTERED, 3))


@pytest.fixture
def timed(benchmark: Any) -> Callable[..., Any]:
    """Return what runs a function a few times, in a group, and gives its result."""

    def run(group: str, function: Callable[[], Any]) -> Any:
        benchmark.group = group
        return benchmark.pedantic(function, rounds=ROUNDS, iterations=1, warmup_rounds=1)

    return run


@pytest.fixture
def wrong(benchmark: Any) -> Callable[..., int]:
    """Return what counts labels that differ, and leaves the count in the report."""

    def count(labels: np.ndarray, truth: np.ndarray) -> int:
        different = int(np.count_nonzero(labels != truth))
        benchmark.extra_info["wrong"] = different
        WRONG[benchmark.name] = different
        return different

    return count


@pytest.fixture
def peer() -> Callable[[str], Any]:
    """Return what imports another library, or skips the benchmark and says why."""

    def load(name: str) -> Any:
        try:
            return importlib.import_module(name)
        except (ImportError, OSError) as error:
            pytest.skip(f"{name} is not usable here: {error}")

    return load
