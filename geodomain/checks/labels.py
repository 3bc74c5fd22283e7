"""Check labels: names that read as missing values, and labels that differ by case alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from geodomain.io.conditions import Column

# What pandas reads as a missing value besides nan, which no domain may be called, in any case.
_MISSING = {"na", "n/a", "#n/a", "#na", "<na>", "null", "none"}
_SHOWN = 5
_PLAIN = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{0,18})?")


def read_as_missing(names: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each new label that other programs read as a missing value."""
    for name in dict.fromkeys(names):
        if name.lower() in _MISSING:
            yield (
                f"the label {name!r} is one that pandas and Excel read as a missing value: choose "
                "another, or read the column as text"
            )


class LabelSpellings:
    """How the labels of a column are spelled, chunk by chunk.

    Parameters
    ----------
    column : str
        What notes call it.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._plain: dict[str, int] = {}
        self._padded: dict[str, int] = {}

    def distinct(
        self, column: Column, known: Sequence[str] = ()
    ) -> tuple[list[str], NDArray[np.intp]]:
        """Return the different labels of a chunk, as `Column.distinct` does, and count them."""
        texts, codes = column.distinct(known)
        self.add(texts, codes, column.padded())
        return texts, codes

    def add(self, texts: Sequence[str], codes: NDArray[np.intp], padded: NDArray[np.bool_]) -> None:
        """Count the labels of a chunk, and those with blanks around them."""
        for held, rows in ((self._plain, ~padded), (self._padded, padded)):
            counts = np.bincount(codes[rows], minlength=len(texts))
            for place in np.flatnonzero(counts).tolist():
                text = texts[place].strip()
                held[text] = held.get(text, 0) + int(counts[place])

    def notes(self) -> Iterator[str]:
        """Yield a note for labels that are alike, and for those with and without blanks."""
        yield from alike_labels([*self._plain, *self._padded], self._column)
        both = sorted((text, count) for text, count in self._padded.items() if text in self._plain)
        if both := [one for one in both if one[0]]:
            said = "; ".join(f"{text!r} in {count:,} rows" for text, count in both[:_SHOWN])
            more = f" and {len(both) - _SHOWN:,} more" if len(both) > _SHOWN else ""
            yield (
                f"{self._column} has labels with blanks around them, which count as those "
                f"without: {said}{more}"
            )


def alike_labels(labels: Iterable[str], column: str) -> Iterator[str]:
    """Yield a note for labels of a column that differ by case, blanks or spelt numbers alone."""
    known = dict.fromkeys(labels)
    for what, key in (("case or blanks", _folded), ("the way a number is written", _number)):
        groups: dict[object, list[str]] = {}
        for label in known:
            groups.setdefault(key(label), []).append(label)
        alike = [names for names in groups.values() if len(names) > 1]
        said = [" and ".join(repr(name) for name in sorted(names)) for names in alike[:_SHOWN]]
        if said:
            more = f" and {len(alike) - _SHOWN:,} more" if len(alike) > _SHOWN else ""
            yield (
                f"{column} has labels that differ by {what} alone, and count apart: "
                f"{'; '.join(said)}{more}"
            )


def _folded(label: str) -> object:
    """Return what labels of the same letters have in common."""
    return " ".join(label.casefold().split())


def _number(label: str) -> object:
    """Return the number of a label such as 1 or 1.0, exactly, or the label itself."""
    return Decimal(label) if _PLAIN.fullmatch(label) else label
