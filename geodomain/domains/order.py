"""Domains and stacks in priority order, and the rows that meet their conditions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.checks.columns import require_rest_label
from geodomain.compute.data import Bools, Floats
from geodomain.domains.defaults import LabelDefaults
from geodomain.domains.domain import CODES, HEADINGS, Domain, in_words, is_list
from geodomain.domains.stack import Layer, Stack
from geodomain.errors import DomainError, GeodomainError, shown, warn
from geodomain.inputs import MeshesLike
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table
from geodomain.settings import TEXT, Key, key, one_of, require_values
from geodomain.tables.conditions import Column, Condition, with_policy
from geodomain.tables.numbers import BELOW_DETECTION, BelowDetection, NegativeGrades, NumberError
from geodomain.tables.vendors import find_column

if TYPE_CHECKING:
    import pyvista

Order = Literal["first", "last"]
# Largest number of texts in a warning.
_SHOWN = 3
DomainOrLayer = Domain | Layer

_TABLES = Key(
    "tables, each under its own heading in double brackets",
    lambda value: is_list(value, lambda table: isinstance(table, dict)),
    toml_only=True,
)


@dataclass(frozen=True, eq=False)
class Domains(LabelDefaults):
    """Domains and stacks in priority order, and the labels of all other blocks.

    Attributes
    ----------
    domains : tuple of Domain
        A block gets the label of the first or last domain that contains it: see `order`.
    stacks : tuple of Stack
        Stacks label the blocks that are in no domain. The first or last stack wins, as for domains.
    order : {"first", "last"}
        Whether the first or the last of several domains labels a block.
    background, unassigned : str
        Labels of blocks in no domain, and of blocks without coordinates or outside a surface's
        footprint.
    background_code, unassigned_code : int, optional
        Codes of these blocks, if labels are written as codes.
    proportions : {"itself", "priority"}, optional
        Proportions that `label_file` writes: of each domain on its own, or by domain order.
    percent : bool
        Whether proportions are from 0 to 100.
    by : {"centroid", "majority"}
        How `label_file`, `label_blocks` and `label_grid` label a block with a size: by its
        centroid, or by its largest proportion.
    lines : int, optional
        Square root of the number of vertical lines in blocks that more than three wireframes enter.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        Value of texts such as "<0.01" in columns of conditions, unless the caller sets it.

    Raises
    ------
    DomainError
        If a value is invalid, a name occurs twice or is also the background or unassigned label,
        or a label is nan.
    """

    domains: Sequence[Domain] = field(default=(), metadata=key(_TABLES, hashed=True, name="domain"))
    stacks: Sequence[Stack] = field(default=(), metadata=key(_TABLES, hashed=True, name="stack"))
    order: Order = field(default="first", metadata=key(one_of(get_args(Order)), hashed=True))
    background: str = field(default="", metadata=key(TEXT, hashed=True))
    unassigned: str = field(default="", metadata=key(TEXT, hashed=True))
    background_code: int | None = field(default=None, metadata=key(CODES, hashed=True))
    unassigned_code: int | None = field(default=None, metadata=key(CODES, hashed=True))
    below_detection: BelowDetection | None = field(
        default=None, metadata=key(one_of(BELOW_DETECTION), hashed=True)
    )

    # Proportions that functions compute unless the caller or the list says otherwise.
    usual_proportions: ClassVar[Literal["itself", "priority"]] = "itself"

    def __post_init__(self) -> None:
        """Raise DomainError for invalid values, and for labels that are equal."""
        for entry in fields(self):
            if getattr(self, entry.name) is None:
                object.__setattr__(self, entry.name, entry.metadata["usual"])
        require_values(self)
        for units in ("domains", "stacks"):
            object.__setattr__(self, units, tuple(getattr(self, units)))
        seen: dict[str, str] = {}
        for name, where in self._named():
            if name in seen:
                message = (
                    f"{shown(name)} is the name of both {seen[name]} and {where}; give each a "
                    "different name"
                )
                raise DomainError(message)
            seen[name] = where
        for what in ("background", "unassigned"):
            label = getattr(self, what)
            require_rest_label(label, what)
            if label in seen:
                message = (
                    f"{what} is {shown(label)}, which is also the name of {seen[label]}: change "
                    "the label or the name"
                )
                raise DomainError(message)

    def __repr__(self) -> str:
        """Return the names of domains and layers, the order and the background."""
        names = [target.name for target in self.targets]
        rest = f", background={self.background!r}" if self.background else ""
        return f"Domains({names!r}, order={self.order!r}{rest})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [*(domain.cells() for domain in self.domains)]
        rows += [row for stack in self.stacks for row in stack.cells()]
        notes = [f"the {self.order} domain that contains a block labels it"]
        for what, label in (("background", self.background), ("unassigned", self.unassigned)):
            notes += [f"{what}: {label}"] if label else []
        return html_table("Domains", rows, headings=HEADINGS, notes=notes)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each domain and layer, with its position, such as "domain 2"."""
        for number, domain in enumerate(self.domains, 1):
            yield domain.name, f"domain {number}"
        for number, stack in enumerate(self.stacks, 1):
            for place, name in enumerate(stack.layers, 1):
                if name:
                    yield name, f"layer {place} of stack {number}"

    @property
    def targets(self) -> tuple[DomainOrLayer, ...]:
        """The domains, then the named layers of the stacks. A code is an index in this tuple."""
        return (*self.domains, *(layer for stack in self.stacks for layer in stack.named))

    @property
    def conditions(self) -> tuple[tuple[str, tuple[Condition, ...]], ...]:
        """The name and conditions of each domain, then of each stack."""
        of_domains = tuple((domain.name, domain.only_if) for domain in self.domains)
        return of_domains + tuple((stack.title, stack.only_if) for stack in self.stacks)

    @property
    def meshes(self) -> tuple[Mesh, ...]:
        """The meshes of all domains, then of all stacks, each once, before they are shifted."""
        tiles = [*(d.meshes for d in self.domains), *(t for s in self.stacks for t in s.surfaces)]
        return tuple({id(mesh): mesh for group in tiles for mesh in group}.values())

    @property
    def placed(self) -> tuple[Mesh, ...]:
        """The meshes of all domains, then of all stacks, each once, moved by their shifts."""
        tiles = [*(d.placed for d in self.domains), *(t for s in self.stacks for t in s.placed)]
        return tuple({id(mesh): mesh for group in tiles for mesh in group}.values())

    @property
    def shifts(self) -> tuple[str, ...]:
        """A sentence for each domain and each stack that is shifted."""
        named = [(domain.name, domain.shift) for domain in self.domains]
        named += [(stack.title, stack.shift) for stack in self.stacks]
        return tuple(f"{name} is{in_words(shift)}" for name, shift in named if shift)

    @property
    def colours(self) -> dict[str, str]:
        """The colours that the user chose, by name of a domain or layer."""
        own = {domain.name: domain.colour for domain in self.domains if domain.colour}
        return own | {name: colour for stack in self.stacks for name, colour in stack.chosen}

    def __len__(self) -> int:
        """Return the number of domains, without stacks."""
        return len(self.domains)

    def __iter__(self) -> Iterator[Domain]:
        """Return an iterator over the domains, without stacks."""
        return iter(self.domains)


class LoopModel(Protocol):
    """A GeologicalModel of LoopStructural."""

    @property
    def bounding_box(self) -> object:
        """The box of the model, and the grid in it."""

    @property
    def stratigraphic_column(self) -> object:
        """The units, and the groups of conformable units."""


class GempyModel(Protocol):
    """A GeoModel of GemPy."""

    @property
    def structural_frame(self) -> object:
        """The groups of elements, from young to old."""

    @property
    def solutions(self) -> object:
        """The computed scalar fields."""


ImplicitModel: TypeAlias = LoopModel | GempyModel
# A path means a TOML file.
_ListedDomains: TypeAlias = (
    str
    | os.PathLike[str]
    | Domains
    | Domain
    | Stack
    | Iterable[Domain | Stack]
    | Mapping[str, MeshesLike]
)
# One string, because pyright does not understand concatenated strings.
DomainsLike: TypeAlias = "_ListedDomains | pyvista.MultiBlock | ImplicitModel"


@dataclass
class ConditionCounts:
    """Unusual values in columns of conditions, counted chunk by chunk for warnings.

    Attributes
    ----------
    grades : dict of str to NegativeGrades
        Negative and very large grades, by column.
    alike : dict of (str, str, str) to int
        Numbers of rows whose text differs from the text of a condition only by case or blanks. The
        key is a tuple: name of the domain, condition, text of the rows.
    """

    grades: dict[str, NegativeGrades] = field(default_factory=dict)
    alike: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def merge(self, later: ConditionCounts, done: int) -> None:
        """Add the counts of a later part of the rows, which begins after `done` rows."""
        for name, grade in later.grades.items():
            self.grades.setdefault(name, NegativeGrades(name, grade.below)).merge(grade, done)
        for text, count in later.alike.items():
            self.alike[text] = self.alike.get(text, 0) + count

    def stored(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64] | NDArray[np.str_]]:
        """Return the counts as named arrays to store; `restored` reads them back."""
        return {
            "grades": np.array([*self.grades], np.str_),
            **{f"grade_{place}": each.stored() for place, each in enumerate(self.grades.values())},
            "alike": np.array([*self.alike], np.str_).reshape(-1, 3),
            "alike_counts": np.array([*self.alike.values()], np.int64),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, ArrayLike]) -> ConditionCounts:
        """Return the counts from the arrays that `stored` made."""
        names = [str(name) for name in np.asarray(arrays["grades"]).tolist()]
        texts = [tuple(map(str, each)) for each in np.asarray(arrays["alike"]).tolist()]
        counts = np.asarray(arrays["alike_counts"], np.int64).tolist()
        return cls(
            {
                name: NegativeGrades.restored(name, np.asarray(arrays[f"grade_{place}"]))
                for place, name in enumerate(names)
            },
            {(title, test, text): n for (title, test, text), n in zip(texts, counts, strict=True)},
        )

    def notes(self) -> Iterator[str]:
        """Yield a note for each column of grades that has cells below detection."""
        for grade in self.grades.values():
            yield from grade.notes()

    def warnings(self, row: str) -> Iterator[str]:
        """Yield warnings about grades, and about texts that resemble the text of a condition.

        `row` is the noun for a row in the warnings, such as "block".
        """
        for grade in self.grades.values():
            yield from grade.warnings(row)
        by_condition: dict[tuple[str, str], list[str]] = {}
        for (title, test, text), count in self.alike.items():
            by_condition.setdefault((title, test), []).append(f"{text!r} in {count:,}")
        for (title, test), texts in by_condition.items():
            more = f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
            yield (
                f"only_if of {title}: the condition {test} is case-sensitive, and some {row}s have "
                f"a text that differs only by case or blanks ({', '.join(texts[:_SHOWN])}{more}): "
                f"to include these {row}s, list each spelling"
            )


def allowed_rows(
    domains: Domains,
    column: Callable[[str], Column],
    counts: ConditionCounts | None = None,
    *,
    every: bool = True,
    row: str = "row",
) -> list[Bools | None] | None:
    """Return, for each domain and then for each stack, the rows that meet its conditions.

    Parameters
    ----------
    domains : Domains
        The domains and stacks.
    column : callable
        Returns a column by its name in a condition.
    counts : ConditionCounts, optional
        Receives the counts of unusual values; if None, this function warns about them.
    every : bool
        Whether the columns hold all rows of the model. If so, and if `counts` is None, the
        function also warns about conditions that no row meets.
    row : str
        The noun for a row in the warnings, such as "sample".

    Returns
    -------
    list of (n,) bool or None
        A mask for each domain and stack; None for a domain or stack without conditions. If no
        domain or stack has conditions, None is returned instead of the list.
    """
    if not any(conditions for _, conditions in domains.conditions):
        return None
    read = cache(lambda name: with_policy(column(name), domains.below_detection))
    grades = _grades(domains)
    negatives: dict[str, NegativeGrades] = {}

    @cache
    def read_grade(name: str) -> Floats:
        values = read(name)
        negatives[name] = NegativeGrades(name, values.rule.below)
        return negatives[name].take(values.numbers(), cells=values.below_detection())

    alike: dict[tuple[str, str, str], int] = {}
    allowed: list[Bools | None] = []
    for title, conditions in domains.conditions:
        with _naming(title):
            masks = [
                condition.holds(
                    read(condition.column),
                    read_grade(condition.column)
                    if condition.orders and condition.column in grades
                    else None,
                )
                for condition in conditions
            ]
            for condition in conditions:
                for text, count in condition.near_misses(read(condition.column)).items():
                    alike[title, str(condition), text] = count
        allowed.append(np.logical_and.reduce(masks) if masks else None)
    reported = {
        name: grade
        for name, grade in negatives.items()
        if grade.large or grade.cells or (grade.count and (grades[name] or grade.below is not None))
    }
    seen = ConditionCounts(reported, alike)
    if counts is not None:
        counts.merge(seen, 0)
        return allowed
    for sentence in (*(unmet_in(domains, allowed, row) if every else ()), *seen.warnings(row)):
        warn(sentence)
    return allowed


def unmet_in(domains: Domains, allowed: Sequence[Bools | None], row: str) -> Iterator[str]:
    """Yield a warning for each domain whose conditions no row of a whole table meets.

    `allowed` is the result of `allowed_rows`, and `row` the noun for a row in the warning.
    """
    met = [0 if rows is None else int(rows.sum()) for rows in allowed]
    rows = max((len(rows) for rows in allowed if rows is not None), default=0)
    return unmet(domains, met, rows, row)


def unmet(domains: Domains, met: Sequence[int], rows: int, row: str) -> Iterator[str]:
    """Yield a warning for each domain whose conditions no row meets.

    Parameters
    ----------
    domains : Domains
        The domains and stacks.
    met : sequence of int
        For each domain and then each stack, the number of rows that meet its conditions.
    rows : int
        Number of all rows; without rows there is no warning.
    row : str
        The noun for a row in the warning, such as "block".
    """
    for (title, conditions), count in zip(domains.conditions, met, strict=False):
        if conditions and rows and not count:
            yield f"no {row} meets only_if of {title}: {', '.join(map(str, conditions))}"


def _grades(domains: Domains) -> dict[str, bool]:
    """Return, for each column of grades, whether a negative value can meet its conditions.

    A column holds grades if it is compared by <, <=, > or >=. A column that is compared with a
    negative number, or by < or <= with 0, holds no grades, because its sign has a meaning, as for
    elevations.
    """
    grades: dict[str, bool] = {}
    signed = set()
    for _, conditions in domains.conditions:
        with_minimum = {each.column for each in conditions if each.operator in (">", ">=")}
        for condition in conditions:
            column = condition.column
            if condition.is_signed:
                signed.add(column)
            if condition.orders:
                grades[column] = grades.get(column, False) or column not in with_minimum
    return {name: negative for name, negative in grades.items() if name not in signed}


def condition_columns(domains: Domains, names: Sequence[str], table: str) -> dict[str, int]:
    """Return a mapping from name to index of the columns of a table that conditions use.

    Raises
    ------
    TableError
        If no column has the name, or several columns have it; the message names the domain.
    """
    places: dict[str, int] = {}
    for title, conditions in domains.conditions:
        with _naming(title):
            for condition in conditions:
                places[condition.column] = find_column(names, condition.column, table)
    return places


@contextmanager
def _naming(title: str) -> Iterator[None]:
    """Add the name of the domain or stack to errors that are raised in the `with` block."""
    try:
        yield
    except NumberError as error:
        whose = f"only_if of {title}: "
        raise error.blaming(whose) from None
    except GeodomainError as error:
        message = f"only_if of {title}: {error}"
        raise type(error)(message) from None
