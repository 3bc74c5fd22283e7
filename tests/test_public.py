"""Public names, their stub and groups, the version, and what importing the package costs.

    python tests/test_public.py

writes geodomain/__init__.pyi again, after a change of the table of names in `__init__.py`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import geodomain

ROOT = Path(__file__).parents[1]
STUB = ROOT / "geodomain" / "__init__.pyi"


def stub() -> str:
    """Return the stub: type checkers and editors read it instead of `__init__.py`."""
    lines = [
        f"from geodomain.{module} import {name} as {name}"
        for module, names in geodomain._NAMES.items()
        for name in names.split()
    ]
    return "\n".join(
        [
            f'"""{geodomain.__doc__}"""',
            "",
            "# Written by `python tests/test_public.py` from the table in `__init__.py`.",
            "from geodomain import solids as solids",
            "from geodomain import synthetic as synthetic",
            *sorted(lines, key=isort_order),
            "",
            "__all__: list[str]",
            "__version__: str",
            "",
        ]
    )


def isort_order(line: str) -> tuple[str, int, str]:
    """Return what ruff sorts imports by: the module, then constants, classes and functions."""
    _, module, _, name, *_ = line.split()
    return module, 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def test_the_stub_is_what_the_table_makes() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run python tests/test_public.py"


def test_each_public_name_is_in_the_table_once() -> None:
    names = " ".join(geodomain._NAMES.values()).split()
    assert sorted(names) == geodomain.__all__ == dir(geodomain)
    assert len(set(names)) == len(names)


def test_every_public_name_is_in_one_group_of_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", text, re.MULTILINE)
    assert sorted(listed) == geodomain.__all__


def test_every_public_name_is_there_and_is_no_module() -> None:
    for name in geodomain.__all__:
        assert callable(getattr(geodomain, name))
        # A module of the same name would hide the name once it is imported.
        assert importlib.util.find_spec(f"geodomain.{name}") is None


def test_the_version_is_the_installed_one() -> None:
    assert geodomain.__version__ == importlib.metadata.version("geodomain")
    for option in ("--version", "-V"):
        printed = subprocess.check_output([sys.executable, "-m", "geodomain", option], text=True)
        assert printed == f"geodomain, version {geodomain.__version__}\n"


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("CITATION.cff", "version: {}"),
        (".ci/conda-forge/recipe.yaml", '  version: "{}"'),
        ("CHANGELOG.md", "## {} (not released)"),
    ],
)
def test_files_of_a_release_name_this_version(file: str, line: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert line.format(geodomain.__version__) in lines


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


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
