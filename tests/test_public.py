"""What the package shows: its names, its version, and what importing it costs."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import geodomain


def test_every_public_name_is_there_and_is_no_module() -> None:
    for name in geodomain.__all__:
        assert callable(getattr(geodomain, name))
        # A module of the same name would hide the name once it is imported.
        assert importlib.util.find_spec(f"geodomain.{name}") is None


def test_the_version_is_the_installed_one() -> None:
    assert geodomain.__version__.count(".") == 2


def test_the_citation_names_this_version() -> None:
    docs = Path(__file__).parents[1] / "docs"
    assert f"\nversion: {geodomain.__version__}\n" in (docs / "CITATION.cff").read_text()
    assert f"version {geodomain.__version__}." in (docs / "citing.md").read_text()


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(geodomain, "nothing")


@pytest.mark.full
def test_an_unknown_name_is_an_error_to_a_type_checker(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    # The package alone is followed: what its names are made of takes mypy half a minute.
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nfollow_imports = skip\n[mypy-geodomain]\nfollow_imports = normal\n"
    )
    (tmp_path / "use.py").write_text("import geodomain\n\ngeodomain.contains\ngeodomain.contain\n")
    options = ["--config-file", str(tmp_path / "mypy.ini"), f"--cache-dir={tmp_path}"]
    said, _, status = api.run([*options, str(tmp_path / "use.py")])
    assert status == 1
    assert 'use.py:4: error: Module has no attribute "contain"' in said
    assert "use.py:3" not in said


def test_every_public_name_is_known_to_a_type_checker() -> None:
    tree = ast.parse(Path(geodomain.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(geodomain.__all__) <= imported


SCRIPT = """
import sys
import geodomain
assert "numpy" not in sys.modules, "import geodomain imports numpy"
mesh = geodomain.Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]],
                      [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
geodomain.label_points([[1, 1, 1]], {"ORE": mesh})
geodomain.contains_lattice(mesh, [1], [1], [1])
heavy = {"pandas", "pyvista", "vtkmodules", "click", "pycuda"} & set(sys.modules)
assert not heavy, heavy
"""


def test_labelling_arrays_imports_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-P", "-c", SCRIPT], check=True)
