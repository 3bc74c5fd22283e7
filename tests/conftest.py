"""Settings and fixtures of all tests: the quick and the full run, backends, reference data."""

from __future__ import annotations

import gc
import locale
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline: how long an example takes depends on how busy the machine is.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=20)

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
LEFT_OUT = pytest.StashKey[int]()
# Libraries that take long to import: the tests that use them import them (tests/helpers/late.py).
LATE = {"dask", "jupyterlab", "matplotlib", "mypy", "pandas", "polars", "pyarrow", "pyvista"}
COLLECTED = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "run every test, also those marked full, with more examples by Hypothesis"
    parser.addoption("--full", action="store_true", help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use a process for each core, as `-n auto` does, unless single files are asked for."""
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    asked = option.collectonly or option.numprocesses is not None or option.dist != "no"
    if not asked and all(Path(argument).is_dir() for argument in config.args):
        option.numprocesses = "auto"
        option.dist = "worksteal"  # keeps neighbours, which share fixtures, together
        option.benchmark_skip = True  # pytest-benchmark warns of processes, and warnings are errors


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if config.getoption("--full") else "quick")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Note which file makes the collection import a library that takes long."""
    before = set(sys.modules)
    report = yield
    files = collector.config.stash.setdefault(COLLECTED, {})
    files |= {name: collector.nodeid for name in LATE & sys.modules.keys() - before}
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked full, unless --full or a test's own name asks for them."""
    if config.getoption("--full") or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    items[:] = [item for item in items if not item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=left_out)
    config.stash[LEFT_OUT] = len(left_out)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which stay: each time it took 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: pytest.Session) -> None:
    """Take from a process of xdist how many tests it left out; all leave out the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        how = "pytest --full runs them, after pip install -e '.[test-full]'"
        terminalreporter.write_line(f"{count:,} longer tests were left out: {how}")


@pytest.fixture
def imported_by_collection(pytestconfig: pytest.Config) -> dict[str, str]:
    """Return the libraries of LATE that the collection imported, each with the file that did."""
    return pytestconfig.stash[COLLECTED]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> str:
    """Return each backend in turn; the GPU's only where one is asked for and there."""
    name: str = request.param
    if name == "cuda":
        pytest.importorskip("pycuda.driver", exc_type=ImportError)
    return name


@pytest.fixture(autouse=True)
def _same_locale() -> Iterator[None]:
    """Undo what VTK 9.4 does where a test writes a legacy file by PyVista: "C" stays after it."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    if locale.setlocale(locale.LC_ALL) != before:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of reference data kept beside the checkout, or skip."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference data at {SHARED}")
    return SHARED
