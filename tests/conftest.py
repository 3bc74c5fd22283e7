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
    help_text = (
        "file of the tests that passed: the quick run writes it; --full reads it and leaves these "
        "tests out, except those by Hypothesis, which have more examples in the full run"
    )
    parser.addoption("--passed", type=Path, metavar="FILE", help=help_text)


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
    full, file = config.getoption("--full"), config.getoption("--passed")
    settings.load_profile("full" if full else "quick")
    if file and not full and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Passed(file))


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
    if any("::" in argument for argument in config.args):
        return
    if config.getoption("--full"):
        file = config.getoption("--passed")
        passed = set(file.read_text().splitlines()) if file else set()
        left_out = [item for item in items if item.nodeid in passed and not _by_hypothesis(item)]
    else:
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.stash[LEFT_OUT] = len(left_out)
    if left_out:
        without = set(left_out)
        items[:] = [item for item in items if item not in without]
        config.hook.pytest_deselected(items=left_out)


def _by_hypothesis(item: pytest.Item) -> bool:
    """Return whether Hypothesis makes the examples of a test."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


class _Passed:
    """Write the names of the tests that pass into a file."""

    def __init__(self, file: Path) -> None:
        self._file, self._names = file, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("\n".join(self._names))


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
