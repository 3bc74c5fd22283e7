"""What the README shows runs, and what it should mention it mentions.

Blocks that make a virtual environment are left to `.ci/run`, which runs them to the letter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from geodomain.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SET_UP = [text for kind, text in BLOCKS if kind == "sh" and "-m venv" in text]
SHELL = [text for kind, text in BLOCKS if kind == "sh" and "-m venv" not in text]
PYTHON = [text for kind, text in BLOCKS if kind == "python"]


def title(text: str) -> str:
    return text.strip().splitlines()[0][:40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the README's first command leaves behind."""
    folder = tmp_path_factory.mktemp("readme")
    run(["geodomain", "demo", "demo", "--quiet"], folder)
    return folder


def run(command: list[str], folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_says_what_it_is() -> None:
    assert {kind for kind, _ in BLOCKS} <= {"sh", "python", "powershell", "text"}
    assert README.count("```") == 2 * len(BLOCKS)
    assert SHELL
    assert PYTHON


def test_the_set_up_commands_are_there_to_be_copied() -> None:
    install, test = SET_UP
    assert install == (
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/geodomain demo demo\n"
    )
    assert test == (
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && "
        ".venv/bin/python -m pytest\n"
    )


def test_all_that_a_newcomer_needs_comes_by_line_40() -> None:
    top = "\n".join(README.splitlines()[:40])
    for needed in ("<img", "pip install", "geodomain label", "```python", "label_points"):
        assert needed in top
    assert top.count("```") % 2 == 0


@pytest.mark.skipif(os.name == "nt", reason="blocks for a POSIX shell")
@pytest.mark.parametrize("text", SHELL, ids=title)
def test_shell_block_runs(text: str, folder: Path) -> None:
    run(["bash", "-euo", "pipefail", "-c", text], folder)


@pytest.mark.parametrize("text", PYTHON, ids=title)
def test_python_block_runs(text: str, folder: Path) -> None:
    run([sys.executable, "-W", "error", "-c", text], folder)


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_is_mentioned(name: str) -> None:
    assert f"geodomain {name}" in README


def test_links_to_files_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!http|#)([^)#]+)", README) + re.findall(r'src="([^"]+)"', README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
