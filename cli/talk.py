"""What a command says while it works: warnings, once each, and progress on a terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import click

from geodomain.errors import GeodomainWarning


@dataclass
class Talk:
    """Everything that goes to stderr but the summary and errors.

    Attributes
    ----------
    quiet : bool
        Keep all of it back.
    said : list of str
        The warnings so far.
    """

    quiet: bool
    said: list[str] = field(default_factory=list)

    def warn(self, message: str) -> None:
        """Say a warning, unless it has been said."""
        message = " ".join(str(message).split())
        if message in self.said:
            return
        self.said.append(message)
        if not self.quiet:
            click.secho(f"warning: {message}", fg="yellow", err=True)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Say the library's warnings as they come."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", GeodomainWarning)
            show = warnings.showwarning

            def showwarning(message: Warning | str, category: type[Warning], *rest: object) -> None:
                if issubclass(category, GeodomainWarning):
                    self.warn(str(message))
                else:
                    show(message, category, *rest)  # type: ignore[arg-type]

            warnings.showwarning = showwarning  # type: ignore[assignment]
            yield

    @contextmanager
    def progress(
        self, doing: str = "labelling"
    ) -> Iterator[Callable[[int, int | None], None] | None]:
        """Give what shows progress, on a terminal only."""
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        try:
            yield partial(_show_progress, doing)
        finally:
            click.echo("\r\x1b[K", err=True, nl=False)

    @contextmanager
    def steps(self) -> Iterator[Callable[[str], None]]:
        """Give what shows the name of the step that begins, on a terminal only."""
        shown = not self.quiet and sys.stderr is not None and sys.stderr.isatty()
        try:
            yield _show_step if shown else lambda _: None
        finally:
            if shown:
                _show_step("")


def _show_step(name: str) -> None:
    """Write over the same line."""
    click.echo(f"\r\x1b[K{name}", err=True, nl=False)


def _show_progress(doing: str, done: int, total: int | None) -> None:
    """Write the share of the bytes, or how many where the end is unknown, over the same line."""
    share = f"{done / total:4.0%}" if total else f"{done / 1e6:,.0f} MB"
    click.echo(f"\r{doing} {share}", err=True, nl=False)
