"""A page for each command, made from its help when the site is: `reference/commands/label.rst`.

sphinx-click finds a command as `command_pages:label`, as `geodomain label --help` shows it.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
from sphinx.application import Sphinx

from geodomain.cli import main

PAGE = """.. click:: command_pages:{name}
   :prog: geodomain {name}
"""
INDEX = """Commands
========

``geodomain COMMAND --help`` prints the same in a terminal. :doc:`/start/which_command` says which
command does what.

.. list-table::
   :header-rows: 0

{rows}

.. toctree::
   :hidden:

{entries}
"""


def __getattr__(name: str) -> click.Command:
    """Return a command by its name."""
    command = main.get_command(click.Context(main), name) if not name.startswith("__") else None
    if command is None:
        raise AttributeError(name)
    return command


def write_pages(reference: Path) -> None:
    """Write a page for each command, and the page that lists them, into a folder of the site."""
    names = main.list_commands(click.Context(main))
    folder = reference / "commands"
    folder.mkdir(exist_ok=True)
    for name in names:
        _write(folder / f"{name}.rst", PAGE.format(name=name))
    for page in folder.glob("*.rst"):
        if page.stem not in names:
            page.unlink()
    rows = [
        f"   * - :doc:`commands/{name}`\n     - {_first_line(__getattr__(name))}" for name in names
    ]
    entries = [f"   commands/{name}" for name in names]
    text = INDEX.format(rows="\n".join(rows), entries="\n".join(entries))
    _write(reference / "commands.rst", text)


def _first_line(command: click.Command) -> str:
    return command.get_short_help_str(200)


def _write(path: Path, text: str) -> None:
    """Write a page that is new or another: Sphinx reads it again only then."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Escape what help texts have and reStructuredText takes for markup."""
    for part in ("description", "options", "arguments", "epilog"):
        app.connect(f"sphinx-click-process-{part}", _escape)
    write_pages(Path(app.srcdir) / "reference")
    return {"parallel_read_safe": True}


def _escape(app: Sphinx, context: object, lines: list[str]) -> None:
    r"""Escape `|`, `/*` of a pattern, and FILE:NAME, which looks like a link."""
    lines[:] = [
        re.sub(r"\||(?<=/)\*", r"\\\g<0>", line).replace("FILE:", r"FILE\:") for line in lines
    ]
