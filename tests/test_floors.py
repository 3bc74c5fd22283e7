"""The lowest versions that are allowed are those that CI tests."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def allowed() -> dict[str, str]:
    """Return the lowest version of each library that the package or an extra for users brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [
        line for name in ("excel", "geoh5", "parquet", "plot", "xarray") for line in extras[name]
    ]
    found = {}
    for line in project["dependencies"] + users:
        name, lowest = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups()
        found[name] = lowest
    return found


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    lines = (ROOT / ".ci/floors").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, lowest in allowed().items():
        assert padded(tested[name]) == padded(lowest), name


def test_the_conda_recipe_needs_the_same() -> None:
    text = (ROOT / ".ci/conda-forge/recipe.yaml").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = re.search(r"^  run:\n((?:    - .*\n)+)", text, re.MULTILINE)[1]
    needed = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", run))
    floors = {line.split(">=")[0]: line.split(">=")[1] for line in project["dependencies"]}
    assert needed == floors
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in text
    assert f'summary: "{project["description"]}"' in text


def test_every_python_that_is_declared_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    jobs = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert set(re.findall(r'python(?:-version)?: "([\d.]+)"', jobs)) == set(said)
    assert project["requires-python"] == f">={said[0]}"


def test_all_say_the_same_macos() -> None:
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    lowest = wheels["cibuildwheel"]["macos"]["environment"]["MACOSX_DEPLOYMENT_TARGET"]
    conda = (ROOT / ".ci/conda-forge/conda_build_config.yaml").read_text(encoding="utf-8")
    assert f'- "{lowest}" ' in conda
    assert f"TARGET {lowest})" in (ROOT / "kernels/CMakeLists.txt").read_text(encoding="utf-8")


@pytest.mark.full
def test_tests_of_wheels_have_what_they_import() -> None:
    """A wheel is tested with less than the extra `test` brings; pytest reads these files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    extras = project["project"]["optional-dependencies"]
    lines = [line for name in wheels["test-extras"] for line in extras[name]]
    there = {re.match(r"[\w-]+", line)[0] for line in project["project"]["dependencies"] + lines}
    there |= {*wheels["test-requires"], "geodomain", *sys.stdlib_module_names}
    left_out = {
        Path(word.strip()).name for word in wheels["test-command"][1].split("--ignore=")[1:]
    }
    tests = ROOT / "tests"
    # Benchmarks are run on request, beside other libraries; type checkers alone read tests/types;
    # a Python of its own, with geoh5py, runs the last one.
    others = {tests / "benchmarks", tests / "types", tests / "helpers" / "geoh5py_workspace.py"}
    files = [
        path
        for path in tests.rglob("*.py")
        if path.name not in left_out and others.isdisjoint([path, *path.parents])
    ]
    there |= {path.stem for path in (ROOT / "tests").rglob("*.py")}
    for path in files:
        for one in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(one, ast.ImportFrom):
                names = [one.module]
            else:
                names = [each.name for each in one.names] if isinstance(one, ast.Import) else []
            roots = {name.partition(".")[0] for name in names}
            assert roots <= there, f"{path.name}: {roots - there}"


def test_configured_paths_and_modules_are_there() -> None:
    """What a tool of pyproject.toml is told about a file goes wrong in silence once it moves."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    groups = [override["module"] for override in tools["mypy"]["overrides"]]
    names = [name for group in groups for name in ([group] if isinstance(group, str) else group)]
    modules = [name.removesuffix(".*") for name in names if name.startswith("geodomain.")]
    contracts = tools["importlinter"]["contracts"]
    modules += [f"geodomain.{name}" for each in contracts for name in each.get("layers", [])]
    modules += [name for each in contracts for name in each.get("protected_modules", [])]
    assert len(modules) > 50
    missing = [name for name in modules if not is_module(name)]
    globs = [
        part
        for pattern in tools["ruff"]["lint"]["per-file-ignores"]
        for part in expanded(pattern.removesuffix("/**"))
    ]
    ignored = tools["cibuildwheel"]["test-command"][1].split("--ignore={project}/")[1:]
    paths = [*globs, *(word.strip() for word in ignored)]
    paths += tools["pytest"]["ini_options"]["pythonpath"]
    missing += [path for path in paths if not (ROOT / path).exists()]
    assert missing == []


def is_module(name: str) -> bool:
    """Return whether a module is in the checkout, where `geodomain.cli` is the folder cli/."""
    path = ROOT / name.replace("geodomain.cli", "cli").replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def expanded(pattern: str) -> list[str]:
    """Return the paths that a pattern with at most one pair of braces stands for."""
    head, _, rest = pattern.partition("{")
    inner, _, tail = rest.partition("}")
    return [head + word + tail for word in inner.split(",")]


def padded(version: str) -> list[int]:
    """Return the three numbers of a version, of which the last may be left out."""
    numbers = [int(part) for part in version.split(".")]
    return numbers + [0] * (3 - len(numbers))
