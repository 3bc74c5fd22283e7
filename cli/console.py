"""Printing of results and warnings, and progress on a terminal."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

import click

from geodomain.cli.errors import WRITTEN
from geodomain.cli.spelling import as_options
from geodomain.errors import GeodomainWarning

# Keys of JSON whose values are sentences; those of all others are data.
_SENTENCES = {"backend_reason", "faults", "notes", "reason", "rotation", "warnings"}


@dataclass
class Console:
    """Print warnings, notes and progress to stderr.

    Attributes
    ----------
    quiet : bool
        Print nothing.
    said : list of str
        Warnings printed so far.
    """

    quiet: bool
    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Write to stderr."""
        if not self.quiet:
            click.echo(text, err=True)

    def warn(self, message: str) -> None:
        """Print a warning, once."""
        message = as_options(" ".join(str(message).split()))
        if message in self.said:
            return
        self.said.append(message)
        if self.on_terminal:
            _show_step("")  # a warning takes the place of the line of progress
        if not self.quiet:
            click.secho(f"warning: {message}", fg="yellow", err=True)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Print the library's warnings as they occur."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", GeodomainWarning)
            show = warnings.showwarning

            def showwarning(
                message: Warning | str,
                category: type[Warning],
                filename: str,
                lineno: int,
                file: TextIO | None = None,
                line: str | None = None,
            ) -> None:
                if issubclass(category, GeodomainWarning):
                    self.warn(str(message))
                else:
                    show(message, category, filename, lineno, file, line)

            warnings.showwarning = showwarning
            yield

    @property
    def on_terminal(self) -> bool:
        """Whether progress is shown: on a terminal only."""
        return not self.quiet and sys.stderr is not None and sys.stderr.isatty()

    @contextmanager
    def steps(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that shows the current step, on a terminal only."""
        shown = self.on_terminal
        try:
            yield _show_step if shown else lambda _: None
        finally:
            if shown:
                _show_step("")


def _show_step(name: str) -> None:
    """Write over the same line."""
    click.echo(f"\r\x1b[K{name}", err=True, nl=False)


def print_text(result: object, *, err: bool = False) -> None:
    """Print a result as text, with options in the place of keywords."""
    click.echo(as_options(str(result)), err=err)


def print_json(result: object, *, err: bool = False) -> None:
    """Print plain values as JSON, with options in the place of keywords in sentences."""
    click.echo(json.dumps(_with_options(result), indent=2), err=err)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[WRITTEN] = True


def _with_options(value: object, *, said: bool = False) -> object:
    """Return values whose sentences name options, not keywords."""
    if isinstance(value, Mapping):
        return {key: _with_options(each, said=key in _SENTENCES) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_options(each, said=said) for each in value]
    return as_options(value) if said and isinstance(value, str) else value
