"""Imports point one way: no circle between modules or folders, none hidden in a function."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import geodomain

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "geodomain").rglob("*.py"))
# A public name when it is first used; other libraries, by name, to see which are installed; the
# command line, once signals end it as they should; what is for GPUs alone, where one is used;
# readers and writers of files, by kind, when one comes.
LATE = {
    ROOT / "geodomain/arrays.py",
    ROOT / "geodomain/compute/__init__.py",
    ROOT / "geodomain/__init__.py",
    ROOT / "geodomain/benching/timing.py",
    ROOT / "geodomain/__main__.py",
    ROOT / "geodomain/formats/registry.py",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the package as it is installed: the commands within it."""
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "geodomain", tmp_path / "geodomain", ignore=hidden)
    shutil.copytree(ROOT / "cli", tmp_path / "geodomain" / "cli", ignore=hidden)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


LINT = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if "ScikitBuild" not in type(one).__name__]
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename="pyproject.toml", cache_dir=None))
"""


def lint(package: Path) -> tuple[int, str]:
    """Check the contracts of pyproject.toml."""
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.full
def test_the_contracts_of_imports_are_kept(package: Path) -> None:
    code, said = lint(package)
    assert code == 0, said
    assert "3 kept, 0 broken" in said


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("compute/native.py", "from geodomain.mesh.mesh import Mesh"),
        ("tables/dialect.py", "from geodomain.tables.text import relabel"),
    ],
)
def test_an_import_the_other_way_is_found(package: Path, name: str, line: str) -> None:
    path = package / "geodomain" / name
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    code, said = lint(package)
    assert code == 1, said
    assert "1 broken" in said or "2 broken" in said


@pytest.mark.full
def test_a_module_in_no_layer_is_found(package: Path) -> None:
    (package / "geodomain/modelling.py").write_text('"""A module that nobody listed."""\n')
    code, said = lint(package)
    assert code == 1, said
    assert "1 broken" in said and "modelling" in said


def test_the_package_is_not_imported_as_a_part_of_itself() -> None:
    """In a checkout the folder above the package is on the package's path."""
    with pytest.raises(ModuleNotFoundError, match=r"import geodomain|No module"):
        importlib.import_module("geodomain.geodomain")
    assert "geodomain.geodomain" not in sys.modules


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("volumes/distance.py", "from geodomain.compute.cpu import CpuNearestIndex"),
        ("cli/labelling.py", "from geodomain.compute.cuda import device"),
        ("query/lattice.py", "from geodomain.compute.auto import COSTS"),
    ],
)
def test_an_import_past_the_seam_is_found(package: Path, name: str, line: str) -> None:
    path = package / "geodomain" / name
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    code, said = lint(package)
    assert code == 1, said
    assert "2 kept, 1 broken" in said and line.split()[1] in said


def hidden(tree: ast.AST) -> list[str]:
    """Return what is imported of our own inside functions, and by name."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found += [name for node in ast.walk(function) for name in imported(node)]
    return [name for name in found if name.partition(".")[0] in {"geodomain", ""}]


def imported(node: ast.AST) -> list[str]:
    """Return the modules that a node imports; "" stands for one that is not spelled out."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else str(node.module)]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {
        "importlib.import_module",
        "import_module",
        "__import__",
    }:
        return [beginning(node.args[0]) if node.args else ""]
    return []


def beginning(name: ast.expr) -> str:
    """Return a module's name as far as it is spelled out."""
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    first = parts[0] if parts else None
    return str(first.value) if isinstance(first, ast.Constant) else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_import_of_our_own_is_hidden_in_a_function(path: Path) -> None:
    found = hidden(ast.parse(path.read_text(encoding="utf-8")))
    assert path in LATE or found == []


def test_hidden_imports_are_found() -> None:
    text = """
import importlib
import inspect
from geodomain import errors
def f(name):
    import numpy, geodomain.arrays
    from geodomain.mesh import mesh
    from . import mesh
    importlib.import_module("pyvista")
    importlib.import_module(f"vtkmodules.{name}")
    importlib.import_module(f"geodomain.{name}")
    importlib.import_module(name)
"""
    assert hidden(ast.parse(text)) == ["geodomain.arrays", "geodomain.mesh", "", "geodomain.", ""]


def test_a_command_on_the_cpu_loads_nothing_that_is_for_gpus() -> None:
    program = (
        "import sys, geodomain; from geodomain.labelling import files; from geodomain.query "
        "import segment_files; mesh = geodomain.synthetic.star_shaped_orebody(frequency=2); "
        "geodomain.contains(mesh, [[0, 0, 0]], backend='cpu'); "
        "print(*[name for name in sys.modules if 'compute.cuda' in name or '.gpus' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert done.returncode == 0, done.stderr
    # What says that a GPU has no memory left, and its types.
    assert loaded <= {f"geodomain.compute.cuda{part}" for part in ("", ".driver")}


def test_a_command_loads_what_its_own_files_need_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,z\n1,1,1\n2,1,1\n3,1,1\n")
    geodomain.write_mesh(geodomain.synthetic.star_shaped_orebody(frequency=2), tmp_path / "a.ply")
    program = (
        "import sys, numpy; of_numpy = set(sys.modules); "
        "import geodomain; geodomain.label_file('a.csv', {'A': 'a.ply'}, None); "
        "print(*sys.modules.keys() - of_numpy)"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"geodomain.formats.text", "geodomain.formats.ply"} <= loaded
    others = {"parquet", "vtk", "omf1", "omf2", "dxf", "surpac", "stl", "gocad", "vti"}
    assert not loaded & {f"geodomain.formats.{name}" for name in others}
    assert not loaded & {"numpy.ma", "concurrent.futures", "tempfile", "tomllib", "xml", "zipfile"}


def test_collecting_the_tests_imports_no_large_library(
    imported_by_collection: dict[str, str],
) -> None:
    """Each process collects all tests: pandas, PyVista and matplotlib took half of 6 s."""
    assert imported_by_collection == {}
