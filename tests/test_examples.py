"""Every example runs by itself, in an empty folder, ends in an assert, and draws what is shown."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from plugins import HAS_PLUGINS

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
PICTURES = {"4_draw_section": ["section.svg"], "6_stacks": ["stacks.svg"]}


def test_there_are_numbered_examples() -> None:
    assert len(EXAMPLES) >= 3
    assert [path.name.split("_")[0] for path in EXAMPLES] == [
        str(number) for number in range(1, len(EXAMPLES) + 1)
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_ends_in_an_assert(path: Path) -> None:
    last = ast.parse(path.read_text()).body[-1]
    assert any(isinstance(node, ast.Assert) for node in ast.walk(last))


@pytest.mark.full
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    if path.stem == "8_pyvista" and not HAS_PLUGINS:
        pytest.skip("PyVista before 0.48 has no plug-ins")
    done = subprocess.run(
        [sys.executable, "-W", "error", path], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # The pictures of the README are what the examples draw.
    drawn = {picture.name: picture.read_text() for picture in tmp_path.glob("*.svg")}
    assert list(drawn) == PICTURES.get(path.stem, [])
    for name, text in drawn.items():
        assert text == (EXAMPLES[0].parents[1] / ".github" / name).read_text()
