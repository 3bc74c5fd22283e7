"""Whether solids and a block model are in the same place; boxes only, nothing is labelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.labeller import Solid

_AXES = "xyz"
_SAID = 3  # solids whose boxes are said


def apart(solids: Sequence[Solid], model: NDArray[np.float64]) -> list[Solid]:
    """Give the solids whose box does not meet the model's, (2, 3); none for an empty model."""
    if np.isnan(model).any():
        return []
    return [solid for solid in solids if not meet(solid.bounds, model)]


def meet(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether two boxes, (2, 3) each, have a point in common."""
    return bool((one[0] <= other[1]).all() and (other[0] <= one[1]).all())


def within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Tell whether a box, (2, 3), lies in another."""
    return bool((outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all())


def refuse_disjoint(solids: Sequence[Solid], model: NDArray[np.float64], table: str) -> None:
    """Raise TableError where no solid at all meets the model, with their boxes and a guess why."""
    if len(apart(solids, model)) < max(len(solids), 1):
        return
    said = [f"{solid.name} in {say_box(solid.bounds)}" for solid in solids[:_SAID]]
    more = [f"and {len(solids) - _SAID} more elsewhere"] if len(solids) > _SAID else []
    message = (
        f"no solid meets the block model: the blocks of {table} are in {say_box(model)}; "
        f"{'; '.join([*said, *more])}. {_guess(solids, model)} "
        "--allow-disjoint labels all the same."
    )
    raise TableError(message)


def say_box(box: NDArray[np.float64]) -> str:
    """Say a box, axis by axis."""
    return ", ".join(
        f"{axis} {low:.10g} to {high:.10g}" for axis, low, high in zip(_AXES, *box, strict=True)
    )


def _guess(solids: Sequence[Solid], model: NDArray[np.float64]) -> str:
    """Say what is most likely wrong."""
    for order, what in (((1, 0, 2), "x and y"), ((2, 1, 0), "x and z"), ((0, 2, 1), "y and z")):
        if any(meet(solid.bounds[:, order], model) for solid in solids):
            return f"With {what} exchanged they would meet: look at --x, --y and --z."
    if any(meet(solid.bounds[:, :2], model[:, :2]) for solid in solids):
        return "They meet in plan and not in elevation: is it another height datum?"
    return "Is it another datum or grid, other units, or the local frame of a rotated model?"
