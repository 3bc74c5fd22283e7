"""Printing of results, of warnings after them, and progress on a terminal."""

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
from geodomain.errors import GeodomainWarning, visible

# The key of a context: consoles with warnings to print once the command has printed its result.
_LATER = "geodomain.warnings later"
# Keys of JSON whose values are sentences; those of all others are data.
_SENTENCES = {"backend_reason", "faults", "mend", "notes", "reason", "rotation", "warnings"}


@dataclass
class Console:
    """Print notes and progress to stderr, and warnings after the result.

    Attributes
    ----------
    quiet : bool
        Print nothing.
    said : list of str
        Warnings so far.
    """

    quiet: bool
    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Write to stderr."""
        if not self.quiet:
            click.echo(visible(text, lines=True), err=True)

    def warn(self, message: str) -> None:
        """Keep a warning, once."""
        message = as_options(" ".join(str(message).split()))
        if message not in self.said:
            self.said.append(message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Gather the library's warnings, to be printed after the result of the command.

        Where a command ends in an error, the error is what it says: warnings would hide it.
        Without a command around it, they are printed at the end of the block.
        """
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
        context = click.get_current_context(silent=True)
        if context is None:
            self.tell()
        else:
            context.meta.setdefault(_LATER, {})[id(self)] = self

    def tell(self) -> None:
        """Print the warnings."""
        for message in () if self.quiet else self.said:
            click.secho(f"warning: {visible(message)}", fg="yellow", err=True)

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


@contextmanager
def warnings_last() -> Iterator[None]:
    """Print what the consoles of a command have gathered when it ends, unless by an error.

    A command that has printed its result and ends with an exit code has its warnings, too.
    """
    context = click.get_current_context()
    try:
        yield
    except (SystemExit, click.exceptions.Exit):
        _tell_all(context)
        raise
    _tell_all(context)


def _tell_all(context: click.Context) -> None:
    for console in context.meta.pop(_LATER, {}).values():
        console.tell()


def _show_step(name: str) -> None:
    """Write over the same line."""
    click.echo(f"\r\x1b[K{visible(name)}", err=True, nl=False)


def print_text(result: object, *, err: bool = False) -> None:
    """Print a result as text, with options in the place of keywords."""
    click.echo(visible(as_options(str(result)), lines=True), err=err)


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
