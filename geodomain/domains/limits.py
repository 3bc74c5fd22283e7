"""The kinds of a domain, and the distances that limit one."""

from __future__ import annotations

import math
from typing import Literal, TypeGuard

import numpy as np

from geodomain.errors import DomainError, shown
from geodomain.query.locator import Rule

Kind = Literal["solid", "above", "below", "either"]

# What a distance must be, in words.
DISTANCE = "a number of at least 0"


def require_limits(name: str, within: object, beyond: object) -> None:
    """Refuse distances that no block can have."""
    for key, value in (("within", within), ("beyond", beyond)):
        if value is not None and not is_distance(value):
            message = f"{name}: {key} is {shown(value)}; it must be {DISTANCE}"
            raise DomainError(message)
    if is_distance(within) and is_distance(beyond) and float(beyond) >= float(within):
        message = f"{name}: no block is beyond {beyond} and within {within}: exchange them"
        raise DomainError(message)


def usual_kind(within: float | None, beyond: float | None) -> Kind:
    """Return the kind of a domain that does not say it."""
    return "solid" if within is None and beyond is None else "either"


def require_either(
    name: str, invert: bool, rule: Rule | None, within: float | None, beyond: float | None
) -> None:
    """Refuse what has no meaning where both sides are taken."""
    if within is None and beyond is None:
        message = f"{name}: kind 'either' needs a distance: within or beyond"
    elif invert:
        message = (
            f"{name}: invert takes the other side of a kind 'solid', 'above' or 'below': name the "
            "kind, or take what is farther away with beyond"
        )
    elif rule is not None:
        message = f"{name}: rule is for kind 'solid', and within and beyond alone have no side"
    else:
        return
    raise DomainError(message)


def is_distance(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number of at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    return bool(0 <= value < math.inf)
