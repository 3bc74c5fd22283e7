"""Domains and stacks in their order of priority, however they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.domains.domain import CODE, HEADINGS, Domain, is_code, refuse_nan, require_choice
from geodomain.domains.stack import Layer, Stack
from geodomain.errors import DomainError, GeodomainError, shown, warn
from geodomain.html import html_table
from geodomain.inputs import MeshesLike
from geodomain.mesh.mesh import Mesh
from geodomain.tables.conditions import Column, Condition, with_policy
from geodomain.tables.numbers import BELOW_DETECTION, BelowDetection, NegativeGrades, NumberError
from geodomain.tables.vendors import find_column

Order = Literal["first", "last"]
Proportions = Literal["itself", "priority"]
LabelBy = Literal["centroid", "majority"]
MOST_LINES = 256
DomainOrLayer = Domain | Layer
DomainsLike: TypeAlias = (
    "Domains | Domain | Stack | Mapping[str, MeshesLike] | Iterable[Domain | Stack]"
)


@dataclass(frozen=True, eq=False)
class Domains:
    """Domains and stacks in their order of priority, and what the other blocks are called.

    Attributes
    ----------
    domains : tuple of Domain
        The first that has a block wins, or the last: see `order`.
    stacks : tuple of Stack
        What no domain has is left to them, in the same order.
    order : {"first", "last"}
        Which wins.
    background, unassigned : str
        The labels of blocks in no domain, and of blocks without coordinates or beyond a
        surface.
    background_code, unassigned_code : int, optional
        The same for models that carry numbers.
    proportions : {"itself", "priority"}, optional
        Which shares of blocks `label_file` writes: of each domain by itself, or by their order.
    percent : bool
        Whether they are from 0 to 100.
    by : {"centroid", "majority"}
        What labels a block that has a size, in `label_file`, `label_blocks` and `label_grid`: its
        centroid, or the largest share.
    lines : int, optional
        The root of the number of vertical lines in blocks that more than three wireframes enter.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        What texts such as "<0.01" count as in the columns of conditions, where the caller does not
        say so.

    Raises
    ------
    DomainError
        For a name that is there twice, or is the background's or that of unassigned blocks, and
        for the label nan.
    """

    domains: tuple[Domain, ...] = ()
    stacks: tuple[Stack, ...] = ()
    order: Order = "first"
    background: str = ""
    unassigned: str = ""
    background_code: int | None = None
    unassigned_code: int | None = None
    proportions: Proportions | None = None
    percent: bool = False
    by: LabelBy = "centroid"
    lines: int | None = None
    below_detection: BelowDetection | None = None

    def __post_init__(self) -> None:
        """Refuse names that would not tell."""
        require_choice("domains", "order", self.order, get_args(Order))
        require_choice("domains", "proportions", self.proportions, (None, *get_args(Proportions)))
        require_choice("domains", "by", self.by, get_args(LabelBy))
        require_lines(self.lines)
        require_choice("domains", "below_detection", self.below_detection, (None, *BELOW_DETECTION))
        seen: dict[str, str] = {}
        for name, where in self._named():
            if name in seen:
                message = (
                    f"{shown(name)} is the name of {seen[name]} and of {where}; each needs its own"
                )
                raise DomainError(message)
            seen[name] = where
        for what in ("background", "unassigned"):
            label, code = getattr(self, what), getattr(self, f"{what}_code")
            refuse_nan(label, what)
            if label in seen:
                message = f"{what} is {shown(label)}, the name of {seen[label]}: change one of them"
                raise DomainError(message)
            if code is not None and not is_code(code):
                message = f"{what}_code is {shown(code)}; it must be {CODE}"
                raise DomainError(message)

    def __repr__(self) -> str:
        """Name what blocks can be labelled with, in its order."""
        names = [target.name for target in self.targets]
        rest = f", background={self.background!r}" if self.background else ""
        return f"Domains({names!r}, order={self.order!r}{rest})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [*(domain.cells() for domain in self.domains)]
        rows += [row for stack in self.stacks for row in stack.cells()]
        notes = [f"the {self.order} that has a block wins"]
        for what, label in (("background", self.background), ("unassigned", self.unassigned)):
            notes += [f"{what}: {label}"] if label else []
        return html_table("Domains", rows, headings=HEADINGS, notes=notes)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Return every name that blocks can be labelled with, and where it stands."""
        for number, domain in enumerate(self.domains, 1):
            yield domain.name, f"domain {number}"
        for number, stack in enumerate(self.stacks, 1):
            for place, name in enumerate(stack.layers, 1):
                if name:
                    yield name, f"layer {place} of stack {number}"

    @property
    def targets(self) -> tuple[DomainOrLayer, ...]:
        """Return all that a block can be labelled with: the domains, then the stacks' layers."""
        return (*self.domains, *(layer for stack in self.stacks for layer in stack.named))

    @property
    def conditions(self) -> tuple[tuple[str, tuple[Condition, ...]], ...]:
        """Return what each domain and then each stack is called, and its conditions."""
        ours = tuple((domain.name, domain.only_if) for domain in self.domains)
        return ours + tuple((stack.title, stack.only_if) for stack in self.stacks)

    @property
    def meshes(self) -> tuple[Mesh, ...]:
        """Return every mesh once, in the order in which they are named."""
        tiles = [*(d.meshes for d in self.domains), *(t for s in self.stacks for t in s.surfaces)]
        return tuple({id(mesh): mesh for some in tiles for mesh in some}.values())

    @property
    def colours(self) -> dict[str, str]:
        """Return the colours that were chosen, by name."""
        own = {one.name: one.colour for one in self.domains if one.colour}
        return own | {name: colour for stack in self.stacks for name, colour in stack.chosen}

    def __len__(self) -> int:
        """Count the domains, stacks left out."""
        return len(self.domains)

    def __iter__(self) -> Iterator[Domain]:
        """Return the domains, stacks left out."""
        return iter(self.domains)


def require_lines(lines: object) -> None:
    """Refuse a number of lines that is none, or too few or too many to be of use."""
    if lines is None:
        return
    if not isinstance(lines, int) or isinstance(lines, bool) or not 2 <= lines <= MOST_LINES:
        message = f"lines is {shown(lines)}; it must be a whole number from 2 to {MOST_LINES}"
        raise DomainError(message)


def as_domains(given: DomainsLike) -> Domains:
    """Return `Domains` of what a caller has: those, Domain and Stack objects, or a mapping.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(given, Domains):
        return given
    if isinstance(given, Mapping):
        return Domains(tuple(Domain(name, meshes) for name, meshes in given.items()))
    if isinstance(given, str) or not isinstance(given, Domain | Stack | Iterable):
        message = (
            "domains must be Domains, Domain and Stack objects or a mapping of names to meshes, "
            f"not {type(given).__name__}"
        )
        raise TypeError(message)
    units = (given,) if isinstance(given, Domain | Stack) else tuple(given)
    for unit in units:
        if not isinstance(unit, Domain | Stack):
            message = f"a domain must be a geodomain.Domain or Stack, not {type(unit).__name__}"
            raise TypeError(message)
    domains = tuple(unit for unit in units if isinstance(unit, Domain))
    return Domains(domains, tuple(unit for unit in units if isinstance(unit, Stack)))


def allowed_rows(
    domains: Domains,
    column: Callable[[str], Column],
    negative: dict[str, NegativeGrades] | None = None,
) -> list[Bools | None] | None:
    """Tell, for each domain and then each stack, the rows that meet its conditions.

    Parameters
    ----------
    domains : Domains
        What has conditions.
    column : callable
        Gives a column by the name that a condition has for it.
    negative : dict, optional
        Takes the negative grades of these rows, by column; without it they are warned of here.

    Returns
    -------
    list of (n,) bool or None
        None where there is no condition, and for all of it where there are none at all.
    """
    if not any(conditions for _, conditions in domains.conditions):
        return None
    known = cache(lambda name: with_policy(column(name), domains.below_detection))
    found: dict[str, NegativeGrades] = {}
    kept = _grades(domains)

    @cache
    def grade(name: str) -> Floats:
        asked = known(name)
        found[name] = NegativeGrades(name, asked.rule.below)
        return found[name].take(asked.numbers())

    allowed: list[Bools | None] = []
    for title, conditions in domains.conditions:
        with _blaming(title):
            met = [
                one.holds(
                    known(one.column),
                    grade(one.column) if one.orders and one.column in kept else None,
                )
                for one in conditions
            ]
        allowed.append(np.logical_and.reduce(met) if met else None)
    told = {
        name: one
        for name, one in found.items()
        if one.count and (kept[name] or one.below is not None)
    }
    if negative is not None:
        negative.update(told)
    else:
        for one in told.values():
            warn(one.warning("row") or "")
    return allowed


def _grades(domains: Domains) -> dict[str, bool]:
    """Name the columns whose order decides, and whether a negative value can meet a condition.

    Those that are compared with a negative number have signs that mean something, as heights do.
    """
    grades: dict[str, bool] = {}
    signed = set()
    for _, conditions in domains.conditions:
        above = {one.column for one in conditions if one.operator in (">", ">=")}
        for one in conditions:
            if one.is_signed:
                signed.add(one.column)
            if one.orders:
                grades[one.column] = grades.get(one.column, False) or one.column not in above
    return {name: met for name, met in grades.items() if name not in signed}


def condition_columns(domains: Domains, names: Sequence[str], table: str) -> dict[str, int]:
    """Find the columns of a table that conditions are about, by the names they have for them.

    Raises
    ------
    TableError
        Where there is no such column, or more than one, with the domain whose condition it is.
    """
    found: dict[str, int] = {}
    for title, conditions in domains.conditions:
        with _blaming(title):
            for one in conditions:
                found[one.column] = find_column(names, one.column, table)
    return found


@contextmanager
def _blaming(title: str) -> Iterator[None]:
    """Say whose conditions a column does not suit."""
    try:
        yield
    except NumberError as error:
        whose = f"only_if of {title}: "
        raise error.blaming(whose) from None
    except GeodomainError as error:
        message = f"only_if of {title}: {error}"
        raise type(error)(message) from None
