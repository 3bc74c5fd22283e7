"""Completion of paths in a shell, also after NAME= in one word."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class


def named_paths(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Offer the files and folders that the path of NAME=PATH, or PATH alone, begins."""
    name, equals, start = incomplete.rpartition("=")
    return [f"{name}{equals}{path}" for path in paths_from(start)]


def paths_from(start: str) -> list[str]:
    """Return files and folders whose paths begin with a text; folders end in a slash."""
    folder, name = os.path.split(start)
    place = Path(folder or ".")
    if not place.is_dir():
        return []
    found = sorted(one for one in place.iterdir() if one.name.startswith(name))
    hidden = name.startswith(".")
    return [
        os.path.join(folder, one.name) + ("/" if one.is_dir() else "")  # noqa: PTH118
        for one in found
        if hidden or not one.name.startswith(".")
    ]


class WholeWords(BashComplete):
    """Completion for Bash, which takes NAME=PATH for three words and replaces the last."""

    name = "bash"

    def get_completion_args(self) -> tuple[list[str], str]:
        """Put words around an equals sign together."""
        args, incomplete = super().get_completion_args()
        joined: list[str] = []
        for word in (*args, incomplete):
            if joined and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        return joined[:-1], joined[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Leave out what Bash keeps: all up to the equals sign."""
        value = item.value.rpartition("=")[2] if item.type == "plain" else item.value
        return f"{item.type},{value}"


def offer() -> None:
    """Let Bash complete so."""
    add_completion_class(WholeWords, "bash")
