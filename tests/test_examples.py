"""Every example runs by itself, in an empty folder, and ends in an assert."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_numbered_examples() -> None:
    assert len(EXAMPLES) >= 3
    assert [path.name.split("_")[0] for path in EXAMPLES] == [
        str(number) for number in range(1, len(EXAMPLES) + 1)
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_ends_in_an_assert(path: Path) -> None:
    last = ast.parse(path.read_text()).body[-1]
    assert any(isinstance(node, ast.Assert) for node in ast.walk(last))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", path], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["section", "stacks"])
def test_the_pictures_of_the_readme_are_what_the_examples_draw(name: str, tmp_path: Path) -> None:
    script = next(path for path in EXAMPLES if name in path.name)
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True)
    drawn = tmp_path / f"{name}.svg"
    shown = EXAMPLES[0].parents[1] / ".github" / drawn.name
    assert drawn.read_text() == shown.read_text()
