"""Cores are found where the README says that Python runs, and only those of the same sources."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from geodomain.compute import native
from geodomain.compute.native import kernel_folders, load
from geodomain.errors import CoreError, GeodomainError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the sources that are looked at first; the core is the installed one."""
    folders = [tmp_path / "kernels", *kernel_folders()]
    shutil.copytree(ROOT / "kernels", folders[0])
    monkeypatch.setattr(native, "kernel_folders", lambda: folders)
    return folders[0]


def built() -> list[str]:
    places = [path for one in kernel_folders() for path in one.glob(f"core*{native.SUFFIX}")]
    return sorted({path.name.partition(".")[0] for path in places})


def test_every_core_is_of_the_sources_of_the_checkout(copy: Path) -> None:
    assert "core" in built()
    for name in built():
        assert load(name).geodomain_cpu_level() >= 1


@pytest.mark.parametrize(
    ("built", "processor", "levels"),
    [
        ("core core_v3 core_v4", 4, [1, 3, 4]),
        ("core core_v4", 4, [1, 4]),
        ("core core_v4", 3, [1]),  # built on another processor
        ("core core_v3", 4, [1, 3]),
        ("core", 4, [1]),
    ],
)
def test_the_core_is_the_best_that_was_built_and_runs_here(
    built: str, processor: int, levels: list[int], tmp_path: Path, monkeypatch
) -> None:
    for name in built.split():
        (tmp_path / f"{name}{native.SUFFIX}").touch()
    monkeypatch.setattr(native, "kernel_folders", lambda: [tmp_path])
    core = SimpleNamespace(geodomain_cpu_level=lambda: processor)
    loaded = []
    monkeypatch.setattr(native, "load", lambda name: loaded.append(name) or core)
    monkeypatch.delenv("GEODOMAIN_CPU_LEVEL", raising=False)
    assert native.levels() == levels
    assert native.level() == levels[-1]
    monkeypatch.setattr(native, "Core", lambda core: core)
    native.core.__wrapped__(4)
    assert loaded[-1] == native.LIBRARIES[levels[-1]]
    monkeypatch.setenv("GEODOMAIN_CPU_LEVEL", "3")
    assert native.level() == max(level for level in levels if level <= 3)


@pytest.mark.parametrize("name", ["exact/crossing.h", "launch/grid.cpp", "CMakeLists.txt"])
def test_a_core_of_other_sources_is_refused(copy: Path, name: str) -> None:
    with (copy / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(CoreError) as caught:
        load("core")
    message = str(caught.value)
    assert f"was not built from the sources in {copy}" in message
    assert message.endswith("run 'pip install --force-reinstall geodomain'")
    (copy.parent / "pyproject.toml").touch()
    with pytest.raises(CoreError, match=r"run 'pip install \.' in "):
        load("core")


def test_a_source_more_or_less_is_seen(copy: Path) -> None:
    (copy / "launch/sides.cpp").rename(copy / "launch/sides.txt")
    with pytest.raises(CoreError, match="not built from the sources"):
        load("core")


def test_what_no_core_is_compiled_from_does_not_count(copy: Path) -> None:
    for name in ("README.md", "launch/grid.cu"):
        (copy / name).write_text("changed")
    load("core")


def test_a_core_from_before_there_were_stamps_is_refused(copy: Path, monkeypatch) -> None:
    monkeypatch.setattr(native.ctypes, "CDLL", lambda path: SimpleNamespace())
    with pytest.raises(CoreError, match="not built from the sources"):
        load("core")


def test_no_core_at_all(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel_folders", lambda: [copy])
    with pytest.raises(ImportError, match=r"the compiled core core\.\w+ is not in .*; run 'pip"):
        load("core")
    assert issubclass(CoreError, GeodomainError)


# As after `pip install .`: what makes an editable installation known is taken away.
PLAIN = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if "ScikitBuild" not in type(one).__name__]
sys.path.insert(0, "")
import runpy
import geodomain, geodomain.cli, geodomain.kernels
mesh = geodomain.Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]],
                      [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
from pathlib import Path
here = Path.cwd()
assert Path(geodomain.__file__).parent == here / "geodomain", geodomain.__file__
assert Path(geodomain.cli.__file__).parent == here / "cli", geodomain.cli.__file__
assert geodomain.contains(mesh, [[1, 1, 1]]).all()
import pkgutil
names = [found.name for found in pkgutil.walk_packages(geodomain.__path__, "geodomain.")]
assert not any(name.startswith("geodomain.geodomain.geodomain.") for name in names)
sys.argv[1:] = ["--version"]
runpy.run_module("geodomain", run_name="__main__")
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_python_in_the_root_of_the_checkout_takes_the_checkout_and_the_installed_core() -> None:
    done = run(PLAIN, ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "geodomain, version" in done.stdout


@pytest.mark.full
def test_python_in_another_checkout_refuses_the_installed_core(tmp_path: Path) -> None:
    for name in ("geodomain", "kernels", "cli"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert run(PLAIN, tmp_path).returncode == 0
    with (tmp_path / "kernels/exact/crossing.h").open("a") as file:
        file.write("// changed\n")
    done = run(PLAIN, tmp_path)
    assert done.returncode == 1
    assert f"not built from the sources in {tmp_path / 'kernels'}" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("module", ["geodomain", "geodomain.cli"])
@pytest.mark.parametrize("safe", [[], ["-P"]], ids=["", "-P"])
def test_the_command_line_is_a_module_too(module: str, safe: list[str], tmp_path: Path) -> None:
    for folder in (ROOT, tmp_path):
        command = [sys.executable, *safe, "-m", module, "devices", "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.full
@pytest.mark.parametrize("all_cores", [False, True])
def test_a_core_that_others_may_load_is_optimised(all_cores: bool, tmp_path: Path) -> None:
    """Wheels have the baseline core at -O3, and no object for another instruction set in it."""
    cmake = shutil.which("cmake")
    if cmake is None or shutil.which("ninja") is None or sys.platform != "linux":
        pytest.skip("needs cmake and ninja, as pip brings them for a build")
    options = [f"-DGEODOMAIN_ALL_CORES={all_cores:d}", "-DCMAKE_BUILD_TYPE=Release", "-GNinja"]
    make = [cmake, "-S", ROOT / "kernels", "-B", tmp_path, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    environment = {k: v for k, v in os.environ.items() if k != "GEODOMAIN_ALL_CORES"}
    subprocess.run([*make, *options], env=environment, check=True, capture_output=True)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    flags: dict[str, set[str]] = {}
    for entry in commands:
        words = entry["command"].split()
        target = words[words.index("-o") + 1].partition(".dir")[0].rpartition("/")[2]
        flags.setdefault(target, set()).update(words)
    assert {"core", "shared"} <= flags.keys()
    assert not all_cores or platform.machine() != "x86_64" or len(flags) == 4
    for target, words in flags.items():
        assert {"-O3", "-ffp-contract=off", "-fno-fast-math"} <= words
        wide = {word for word in words if word.startswith("-march=")}
        assert bool(wide) == (target in ("core_v3", "core_v4"))
    assert ("-O1" in flags["core"]) == (len(flags) > 2 and not all_cores)
