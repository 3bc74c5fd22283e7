"""Errors and warnings that geodomain raises, and its log."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parent)
# Control characters, direction marks, line ends and lone surrogates, as in odd paths.
_OBEYED = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


class GeodomainError(ValueError):
    """An error in data. The message says what is wrong, where, and how to fix it.

    For a wrong argument (a wrong type, an unknown option), a plain ``TypeError`` or
    ``ValueError`` is raised.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_sentence(message))


class MeshError(GeodomainError):
    """A mesh that cannot be used: not closed, out of range, unreadable."""


class PointError(GeodomainError):
    """A point whose label cannot be decided within the range of the arithmetic."""


class TableError(GeodomainError):
    """A block-model table that cannot be read, or is ambiguous."""


class BinaryTableError(TableError):
    """Binary data where a text table was expected."""


class CentroidError(TableError):
    """A table without columns of coordinates."""


class RoleError(TableError):
    """A table of drillholes without a column that it needs, such as FROM."""


class DomainError(GeodomainError):
    """A list of domains that cannot be used: a repeated name, a wrong value, a missing file."""


class DeviceError(GeodomainError):
    """A requested compute device that cannot be used."""


class CoreError(GeodomainError, ImportError):
    """A compiled library that is missing, or was built from another version of the sources."""


class GeodomainWarning(UserWarning):
    """A problem in data that geodomain uses nevertheless."""


def _sentence(message: str) -> str:
    """Return a message as one line of readable length, even if it holds long names or line ends."""
    line = re.sub(r"\S{251,}", lambda word: f"{word[0][:120]}...{word[0][-120:]}", message)
    line = re.sub(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*", " ", line).strip()
    return line if len(line) <= 1800 else f"{line[:1200]} ... {line[-500:]}"


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return a text that is safe to print: control characters are written as escapes.

    Labels, ids, names and paths come from files, and may hold colour codes, window titles, line
    ends, or marks that change the writing direction.

    Examples
    --------
    >>> print(visible("ORE\x1b[31m\a, zone\n7"))
    ORE\x1b[31m\x07, zone\n7
    """

    def escaped(each: re.Match[str]) -> str:
        return each[0] if lines and each[0] in "\n\t" else ascii(each[0])[1:-1]

    return re.sub(_OBEYED, escaped, text)


def in_lines(lines: Iterable[str]) -> str:
    """Join lines. Control characters within a line are escaped, so each stays one line."""
    return "\n".join(map(visible, lines))


def shown(value: object) -> str:
    """Return a value as text for a message: booleans as in TOML, long texts shortened."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except (ValueError, RecursionError):  # a number written in 5,000 hexadecimal digits
        return "too long to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return a count with its noun in singular or plural.

    Examples
    --------
    >>> counted(1, "block"), counted(1200, "block"), counted(0, "vertex", "vertices")
    ('1 block', '1,200 blocks', '0 vertices')
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def warn(message: str) -> None:
    """Issue a GeodomainWarning, attributed to the nearest caller outside the package."""
    collected, sentence = _COLLECTED.get(), _sentence(message)
    if collected is not None and sentence not in collected:
        collected.append(sentence)
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, GeodomainWarning, stacklevel=level)


def log(message: str, *values: object, detail: bool = False) -> None:
    """Log to the channel ``geodomain``: at the level INFO, or DEBUG for detail.

    If the process has not imported `logging`, nothing is logged: nobody can be listening, and
    importing `logging` would slow the start. Control characters in values are escaped.
    """
    if "logging" in sys.modules:
        import logging

        level = logging.DEBUG if detail else logging.INFO
        logger = logging.getLogger("geodomain")
        if logger.isEnabledFor(level):
            logger.log(level, message, *(visible(str(value)) for value in values), stacklevel=2)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Yield a list that receives the text of each distinct warning in a `with` block.

    The warnings are still issued as usual.
    """
    collected: list[str] = []
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)
