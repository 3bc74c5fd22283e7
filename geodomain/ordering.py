"""Domains and stacks in their order of priority, however they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from geodomain.conditions import Bools, Column, Condition
from geodomain.domains import Domain, require_choice
from geodomain.errors import DomainError
from geodomain.stacks import Layer, Stack

Order = Literal["first", "last"]
Target = Domain | Layer


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

    Raises
    ------
    DomainError
        For a name that is there twice, or is the background's or that of unassigned blocks.
    """

    domains: tuple[Domain, ...] = ()
    stacks: tuple[Stack, ...] = ()
    order: Order = "first"
    background: str = ""
    unassigned: str = ""
    background_code: int | None = None
    unassigned_code: int | None = None

    def __post_init__(self) -> None:
        """Refuse names that would not tell."""
        require_choice("domains", "order", self.order, get_args(Order))
        seen: set[str] = set()
        for target in self.targets:
            if target.name in seen:
                message = f"the name {target.name!r} is there twice; every domain needs its own"
                raise DomainError(message)
            seen.add(target.name)
        for what in ("background", "unassigned"):
            if getattr(self, what) in seen:
                message = (
                    f"{getattr(self, what)!r} is the name of a domain and the {what} label too; "
                    "choose another for one of them"
                )
                raise DomainError(message)

    @property
    def targets(self) -> tuple[Target, ...]:
        """Give all that a block can be labelled with: the domains, then the stacks' layers."""
        return (*self.domains, *(layer for stack in self.stacks for layer in stack.named))

    @property
    def conditions(self) -> tuple[tuple[Condition, ...], ...]:
        """Give the conditions of each domain, then of each stack."""
        ours = tuple(domain.only_if for domain in self.domains)
        return ours + tuple(stack.only_if for stack in self.stacks)

    def __len__(self) -> int:
        """Count the domains, stacks left out."""
        return len(self.domains)

    def __iter__(self) -> Iterator[Domain]:
        """Give the domains, stacks left out."""
        return iter(self.domains)


def as_domains(given: Any) -> Domains:
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
    units = (given,) if isinstance(given, Domain | Stack) else tuple(given)
    for unit in units:
        if not isinstance(unit, Domain | Stack):
            message = f"a domain must be a geodomain.Domain or Stack, not {type(unit).__name__}"
            raise TypeError(message)
    domains = tuple(unit for unit in units if isinstance(unit, Domain))
    return Domains(domains, tuple(unit for unit in units if isinstance(unit, Stack)))


def allowed_rows(domains: Domains, column: Callable[[str], Column]) -> list[Bools | None] | None:
    """Tell, for each domain and then each stack, the rows that meet its conditions.

    Parameters
    ----------
    domains : Domains
        What has conditions.
    column : callable
        Gives a column by the name that a condition has for it.

    Returns
    -------
    list of (n,) bool or None
        None where there is no condition, and for all of it where there are none at all.
    """
    if not any(domains.conditions):
        return None
    known = cache(column)
    return [
        np.logical_and.reduce([one.holds(known(one.column)) for one in conditions])
        if conditions
        else None
        for conditions in domains.conditions
    ]
