"""Checks of columns: units and values of densities, spellings of labels, and labels like "NaN"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import DomainError, TableError, counted, shown
from geodomain.tables.conditions import Column, folded
from geodomain.tables.numbers import BLANKS
from geodomain.tables.vendors import plain_name

# Range of bulk densities of rock in t/m3: only pumice and peat are lighter, and only massive galena
# reaches the upper limit.
_ROCK = (0.5, 8.0)
# Largest plausible ratio of densities; the densest mined rock has ten times the lightest density.
_SPREAD = 20.0


class DensityUnit(NamedTuple):
    """A mass per cubed unit of the coordinates.

    Attributes
    ----------
    name : str
        Name of the unit.
    low, high : float
        Range of rock densities in this unit.
    tonnes : tuple of int
        The mass unit in tonnes of 1,000 kg, as an exact numerator and denominator.
    """

    name: str
    low: float
    high: float
    tonnes: tuple[int, int] = (1, 1)


_FOOT = 0.3048
_POUND = 0.00045359237
DENSITY_UNITS = {
    unit.name: unit
    for unit in (
        DensityUnit("t/m3", *_ROCK),
        DensityUnit(
            "lb/ft3",
            _ROCK[0] * _FOOT**3 / _POUND,
            _ROCK[1] * _FOOT**3 / _POUND,
            (45_359_237, 100_000_000_000),
        ),
        DensityUnit("t/ft3", _ROCK[0] * _FOOT**3, _ROCK[1] * _FOOT**3),
        DensityUnit("kg/m3", _ROCK[0] * 1000, _ROCK[1] * 1000, (1, 1000)),
    )
}
# Names of the same units used by laboratories.
_ALIASES = {"g/cm3": "t/m3", "g/cm\u00b3": "t/m3"}


def density_unit(name: str | None) -> DensityUnit | None:
    """Return the unit of densities called `name`, or None if no name is given.

    An unknown name raises ValueError.
    """
    if name is None:
        return None
    name = _ALIASES.get(name, name).replace("\u00b3", "3")
    if name not in DENSITY_UNITS:
        message = f"density_unit is {name!r}; use {', '.join(DENSITY_UNITS)}"
        raise ValueError(message)
    return DENSITY_UNITS[name]


def unit_of_length(density_unit: str | None) -> str:
    """Return the unit of coordinates that a unit of density implies; "" without such a unit.

    Examples
    --------
    >>> unit_of_length("t/m3"), unit_of_length("lb/ft3"), unit_of_length(None)
    ('m', 'ft', '')
    """
    name = (density_unit or "").replace("\u00b3", "3")
    volume = _ALIASES.get(name, name).partition("/")[2]
    return volume.removesuffix("3")


def refuse_geometry(
    column: str | float,
    centroid: Sequence[str],
    sizes: Sequence[str],
    table: str,
    role: str = "density",
) -> None:
    """Raise TableError if the column of a quantity is a coordinate or size of the blocks.

    `role` is the name of the quantity and of the keyword for its column.
    """
    if not isinstance(column, str):
        return
    for names, what in ((centroid, "coordinates"), (sizes, "sizes")):
        for axis, name in zip("xyz", names, strict=False):
            if plain_name(name) == plain_name(column):
                message = (
                    f"column {column} of {table} holds the {axis} {what} of the blocks, so it "
                    f"cannot be their {role}: name the column with {role}="
                )
                raise TableError(message)


class DensityChecks:
    """Checks of the densities of blocks, which are added chunk by chunk.

    Parameters
    ----------
    density : str or float
        Column, or one density for all blocks.
    grades : sequence of str
        Grade columns; the density column should not be one of them.
    unit : DensityUnit, optional
        Unit of the densities.
    """

    def __init__(
        self, density: str | float, grades: Sequence[str] = (), unit: DensityUnit | None = None
    ) -> None:
        self._density, self._unit = density, unit
        self._is_grade = isinstance(density, str) and plain_name(density) in map(plain_name, grades)
        self._outside, self._first, self._zero = 0, (0, 0.0), 0
        self._least, self._most = math.inf, 0.0

    def add(self, densities: Floats, row: int) -> None:
        """Add densities, (n,), NaN where missing; `row` rows of the model come before them."""
        self._zero += int((densities == 0).sum())
        rock = densities > 0
        if not rock.any():
            return
        some = densities[rock]
        self._least = min(self._least, float(some.min()))
        self._most = max(self._most, float(some.max()))
        if self._unit is None or (self._unit.low <= self._least and self._most <= self._unit.high):
            return
        outside = rock & ((densities < self._unit.low) | (densities > self._unit.high))
        if outside.any():
            if not self._outside:
                place = int(outside.argmax())
                self._first = row + place + 1, float(densities[place])
            self._outside += int(outside.sum())

    def warnings(self) -> Iterator[str]:
        """Yield a warning if the density column is a grade, or if no rock has such densities."""
        if self._is_grade:
            yield (
                f"{self._density} is both the density and a grade: name another column for one of "
                "the two"
            )
        if self._unit is None or not self._outside:
            return
        block, value = self._first
        rock = f"rock has {self._unit.low:.3g} to {self._unit.high:.4g} {self._unit.name}"
        if not isinstance(self._density, str):
            yield f"the density is {value:g} {self._unit.name}, but {rock}: is it in another unit?"
            return
        has = "1 block has" if self._outside == 1 else f"{self._outside:,} blocks have"
        yield (
            f"{has} a density in {self._density} that no rock has; the first is {value:g} in block "
            f"{block:,}, but {rock}. Are the densities in another unit, or does {value:g} stand "
            "for a missing value (missing=)?"
        )

    def notes(self) -> Iterator[str]:
        """Yield notes about densities of 0, and about densities that differ too much to be rock."""
        if self._zero:
            yield (
                f"density 0: {counted(self._zero, 'block')}, included in the volume, with 0 tonnes "
                "(right for blocks of air)"
            )
        if self._unit is None and self._most > _SPREAD * self._least:
            yield (
                f"values of {self._density} above 0 range from {self._least:g} to {self._most:g}, "
                f"a factor of more than {_SPREAD:g}, too much for rock. Give the unit with "
                "density_unit= to count the blocks with impossible densities"
            )


# Labels that read as missing values, or differ only in case.

# Texts, in upper or lower case, that pandas reads as missing values. The text nan is refused.
_MISSING = {"na", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "null", "none"}
_MISSING |= {f"{sign}1.#{word}" for sign in ("", "-") for word in ("ind", "qnan")}
_SHOWN = 5
_PLAIN = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{0,18})?")


def read_as_missing(names: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each new label that other programs read as a missing value."""
    for name in dict.fromkeys(names):
        if name.lower() in _MISSING:
            yield (
                f"the label {name!r} is read as a missing value by pandas and Excel: choose "
                "another label, or read the column as text"
            )


class LabelSpellings:
    """Counts of the spellings of labels in a column, added chunk by chunk.

    Parameters
    ----------
    column : str
        Name of the column in notes.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._plain: dict[str, int] = {}
        self._padded: dict[str, int] = {}

    def distinct(
        self, column: Column, earlier: Sequence[str] = ()
    ) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct labels of a chunk, as `Column.distinct` does, and count them."""
        texts, codes = column.distinct(earlier)
        self.add(texts, codes, column.padded())
        return texts, codes

    def add(self, texts: Sequence[str], codes: NDArray[np.intp], padded: NDArray[np.bool_]) -> None:
        """Count the labels of a chunk, with and without outer blanks."""
        for held, rows in ((self._plain, ~padded), (self._padded, padded)):
            counts = np.bincount(codes[rows], minlength=len(texts))
            for place in np.flatnonzero(counts).tolist():
                text = texts[place].strip(BLANKS)
                held[text] = held.get(text, 0) + int(counts[place])

    def notes(self) -> Iterator[str]:
        """Yield notes for labels that differ only in spelling, and for labels with outer blanks."""
        yield from alike_labels([*self._plain, *self._padded], self._column)
        both = sorted((text, count) for text, count in self._padded.items() if text in self._plain)
        if both := [pair for pair in both if pair[0]]:
            examples = "; ".join(
                f"{text!r} in {counted(count, 'row')}" for text, count in both[:_SHOWN]
            )
            more = f" and {len(both) - _SHOWN:,} more" if len(both) > _SHOWN else ""
            yield (
                f"labels in {self._column} have blanks before or after them, and these blanks are "
                f"ignored: {examples}{more}"
            )


def refuse_nan(label: str, what: str = "a domain's name") -> None:
    """Raise DomainError for the label "nan" in any case, which programs read as missing."""
    if label.strip().lower().lstrip("+-") == "nan":
        message = (
            f"{what} is {shown(label)}, which programs read as a missing value: choose another"
        )
        raise DomainError(message)


def is_one_line(text: str) -> bool:
    """Return whether a text is one line, is not empty, and has no blanks around it."""
    return text.splitlines() == [text] and text == text.strip()


def require_rest_label(label: str, what: str) -> None:
    """Raise DomainError for a label that would be read back as another label, or as missing.

    `what` is the setting that states the label, such as "background". It may be empty.
    """
    if label and not is_one_line(label):
        message = f"{what} is {shown(label)}; it must be one line of text without blanks around it"
        raise DomainError(message)
    refuse_nan(label, what)


def alike_labels(labels: Iterable[str], column: str) -> Iterator[str]:
    """Yield a note for labels that differ only by case, blanks or the spelling of numbers."""
    unique = dict.fromkeys(labels)
    for what, key in (("case or blanks", folded), ("the way a number is written", _number)):
        groups: dict[object, list[str]] = {}
        for label in unique:
            groups.setdefault(key(label), []).append(label)
        alike = [names for names in groups.values() if len(names) > 1]
        examples = [" and ".join(repr(name) for name in sorted(names)) for names in alike[:_SHOWN]]
        if examples:
            more = f" and {len(alike) - _SHOWN:,} more" if len(alike) > _SHOWN else ""
            yield (
                f"{column} has labels that differ only by {what}, but are counted separately: "
                f"{'; '.join(examples)}{more}"
            )


def _number(label: str) -> object:
    """Return the number of a label such as 1 or 1.0 as a Decimal, or else the label itself."""
    return Decimal(label) if _PLAIN.fullmatch(label) else label
