"""Settings that compare block models: keywords of `diff`, and options of its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from geodomain.labelling.settings import PointKeywords
from geodomain.settings import FLAG, TEXT, read_by, require_values, setting
from geodomain.tables.settings import TableKeywords

# The properties of a model that may be old or new, in the usual order of the steps.
EXTENT, WIREFRAMES, ORDER, LATTICE = "extent", "wireframes", "order", "lattice"
LABELS, DENSITY, GRADE = "labels", "density", "grade"
PROPERTIES = (EXTENT, WIREFRAMES, ORDER, LATTICE, LABELS, DENSITY, GRADE)


@dataclass(frozen=True, kw_only=True)
class DiffSettings:
    """Names in the new model, and the order of the steps.

    Raises
    ------
    ValueError
        If a value is invalid.
    """

    new_column: str | None = setting(
        None,
        TEXT,
        "Label column of the new model, if its name differs.  [default: as column=]",
        hashed=True,
        metavar="NAME",
    )
    new_density: str | float | None = setting(
        None,
        read_by("geodomain.statistics.settings.read_weight"),
        "Density column of the new model, if its name differs, or one number for all blocks.  "
        "[default: as density=]",
        hashed=True,
        metavar="COLUMN|VALUE",
    )
    new_grade: Mapping[str, str] | None = setting(
        None,
        read_by("geodomain.changes.difference_settings.read_renamed", dict),
        "Column of the new model for a grade, if its name differs, such as AU=AU_OK. May be "
        "repeated.",
        hashed=True,
        metavar="GRADE=COLUMN",
    )
    rename: Mapping[str, str] | None = setting(
        None,
        read_by("geodomain.changes.difference_settings.read_label", dict),
        "A label of the old model that has another name in the new one, such as ORE=ORE_HG. The "
        "old blocks are summed under the new name. May be repeated.",
        hashed=True,
        metavar="OLD=NEW",
    )
    steps: str | Sequence[str] | None = setting(
        None,
        read_by("geodomain.changes.difference_settings.read_steps"),
        "Order in which the properties of the new model replace those of the old one.  [default: "
        f"{','.join(PROPERTIES)}]",
        hashed=True,
        metavar="NAME,...",
    )
    average_orders: bool = setting(
        False,
        FLAG,
        "Average each step over all orders of the steps, so that no order is preferred.",
        hashed=True,
    )

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        require_values(self)
        if self.steps is not None:
            read_steps(self.steps)
        if self.steps is not None and self.average_orders:
            message = "steps= has no effect with average_orders=: give only one of them"
            raise ValueError(message)

    @property
    def order(self) -> tuple[str, ...]:
        """The properties in the order of the steps."""
        return PROPERTIES if self.steps is None else read_steps(self.steps)


def read_steps(steps: str | Sequence[str]) -> tuple[str, ...]:
    """Read the order of the steps, which must have each property once.

    Examples
    --------
    >>> read_steps("grade,density,labels,lattice,order,wireframes,extent")[:2]
    ('grade', 'density')
    """
    names = [name.strip() for name in (steps.split(",") if isinstance(steps, str) else steps)]
    if sorted(names) != sorted(PROPERTIES):
        message = f"steps= is {','.join(names)!r}; it must have {', '.join(PROPERTIES)} once each"
        raise ValueError(message)
    return tuple(names)


def read_renamed(value: str) -> tuple[str, str]:
    """Read GRADE=COLUMN.

    Examples
    --------
    >>> read_renamed("AU=AU_OK")
    ('AU', 'AU_OK')
    """
    return _pair(value, "GRADE=COLUMN, such as AU=AU_OK")


def read_label(value: str) -> tuple[str, str]:
    """Read OLD=NEW, two names of a domain.

    Examples
    --------
    >>> read_label("ORE=ORE_HG")
    ('ORE', 'ORE_HG')
    """
    return _pair(value, "OLD=NEW, such as ORE=ORE_HG")


def _pair(value: str, expected: str) -> tuple[str, str]:
    """Split a text at its first equals sign; raise ValueError if a part is empty."""
    name, _, other = value.partition("=")
    if not name or not other:
        message = f"{value!r} is not {expected}"
        raise ValueError(message)
    return name, other


class DiffKeywords(PointKeywords, TableKeywords, total=False):
    """The keywords of `diff` apart from those that it lists itself; all are optional."""

    new_column: str | None
    new_density: str | float | None
    new_grade: Mapping[str, str] | None
    rename: Mapping[str, str] | None
    steps: str | Sequence[str] | None
    average_orders: bool
    weld: float | None
