"""What the benchmarks share: rounds, scenes, and peers that may be missing."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
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
PEERS: list[str] = []
ROWS: dict[tuple[str, str, str], dict[str, str]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that keeps what was measured for the site."""
    parser.addoption("--measurements", type=Path, help="the JSON that the site's tables are of")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was measured, a table for each file of benchmarks; other tables stay."""
    path = session.config.getoption("--measurements")
    if path is None or not ROWS:
        return
    tables = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in {table for table, _, _ in ROWS}:
        rows = [row for (table, _, _), row in sorted(ROWS.items()) if table == name]
        tables[name] = rows
    path.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


def shown(seconds: float) -> str:
    """Return a time with three digits, in the unit that suits it."""
    unit, factor = next(
        (unit, factor)
        for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6))
        if seconds * factor >= 1
    )
    return f"{float(f'{seconds * factor:.3g}'):g} {unit}"


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
def timed(benchmark: Any, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return what runs a function a few times, in a group, and gives its result.

    With one round, what takes minutes is run once, without a run to warm up.
    """
    name = request.path.stem.removeprefix("test_")
    PEERS.clear()

    def run(
        group: str, function: Callable[[], Any], by: str = "geodomain", rounds: int = ROUNDS
    ) -> Any:
        benchmark.group = group
        warm_up = min(rounds - 1, 1)
        result = benchmark.pedantic(function, rounds=rounds, iterations=1, warmup_rounds=warm_up)
        if benchmark.stats is not None:
            least = benchmark.stats.stats.min
            words = [request.node.originalname.removeprefix("test_").replace("_", " ")]
            given = getattr(request.node, "callspec", None)
            values = given.params.values() if given else ()
            words += [each for each in values if isinstance(each, str) and each not in group]
            what = ", ".join(each for each in words if len(each) > 1)  # no names of scenes
            timer = "CPU time" if "process_time" in str(benchmark._timer) else "elapsed time"
            row = {"work": group, "what": what, "by": " ".join(PEERS) or by}
            ROWS[name, group, what] = {**row, timer: shown(least)}
        return result

    return run


@pytest.fixture
def wrong(benchmark: Any) -> Callable[..., int]:
    """Return what counts labels that differ, and leaves the count in the report."""

    def count(labels: np.ndarray, truth: np.ndarray) -> int:
        different = int(np.count_nonzero(labels != truth))
        benchmark.extra_info["wrong"] = different
        WRONG[benchmark.name] = different
        if ROWS:
            ROWS[next(reversed(ROWS))]["wrong"] = f"{different:,}"
        return different

    return count


@pytest.fixture
def peer() -> Callable[[str], Any]:
    """Return what imports another library, or skips the benchmark and says why."""

    def load(name: str) -> Any:
        with suppress(PackageNotFoundError):
            PEERS.append(f"{name} {version(name)}")
        try:
            return importlib.import_module(name)
        except (ImportError, OSError) as error:
            pytest.skip(f"{name} is not usable here: {error}")

    return load
