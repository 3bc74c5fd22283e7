"""Checks that meshes and a block model overlap, and reasons why they do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import say_box
from geodomain.domains.order import DomainOrLayer
from geodomain.errors import TableError

Box = NDArray[np.float64]

_AXES = "xyz"
_FOOT = 0.3048
_UNITS = (
    (1 / _FOOT, "metres to feet"),
    (_FOOT, "feet to metres"),
    (1000.0, "kilometres to metres"),
    (0.001, "millimetres to metres"),
)
_SAID = 3  # solids whose boxes are said
EXCHANGES = (((1, 0, 2), "x and y"), ((2, 1, 0), "x and z"), ((0, 2, 1), "y and z"))


def meet(one: Box, other: Box) -> bool:
    """Return whether two boxes, (2, 3) each, have a point in common."""
    return bool((one[0] <= other[1]).all() and (other[0] <= one[1]).all())


def share_within(box: Box, model: Box) -> float:
    """Return the share of a box that is in the model's, multiplied over the axes."""
    overlap = np.minimum(box[1], model[1]) - np.maximum(box[0], model[0])
    length = box[1] - box[0]
    parts = np.where(length > 0, overlap / np.where(length > 0, length, 1.0), overlap >= 0)
    return float(np.prod(np.clip(parts, 0.0, 1.0))) if (overlap >= 0).all() else 0.0


def explain_apart(box: Box, model: Box) -> str:
    """Return what would make a mesh's box meet the model's; empty if nothing would.

    Looked for are exchanged axes, other signs and other units, of which the one is said with which
    most of the mesh is in the model; then a round number left out of coordinates (a truncated
    prefix such as 7,000,000), then another height datum.
    """
    changed = (*_changed(box), *_heights_in_feet(box, model))
    met = [(share_within(other, model), said) for other, said in changed if meet(other, model)]
    # Times 1000 anything near the origin meets anything: of other units much of it is to be there.
    met = [one for one in met if one[0] > 0.1 or " times " not in one[1]]
    if met:
        return f"{max(met, key=lambda one: one[0])[1]} they would meet"
    offsets = [_round_offset(box[:, axis], model[:, axis]) for axis in range(3)]
    if None not in offsets:
        said = " and ".join(
            f"{abs(offset):,.0f} {'added to' if offset > 0 else 'taken from'} {axis}"
            for axis, offset in zip(_AXES, offsets, strict=True)
            if offset
        )
        return f"with {said} of the mesh they would meet: has a prefix been left out?"
    if meet(box[:, :2], model[:, :2]):
        return "they meet in plan and not in elevation: is it another height datum?"
    return ""


def _changed(box: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with axes exchanged, signs changed, in other units; the simplest change first."""
    for order, what in EXCHANGES:
        yield box[:, order], f"with {what} exchanged"
    for count in (1, 2, 3):
        for axes in combinations(range(3), count):
            named = " and ".join(_AXES[axis] for axis in axes)
            yield _negated(box, axes), f"with the sign of {named} changed"
    for ratio, what in _UNITS:
        yield box * ratio, f"with the mesh times {ratio:.6g}, as from {what},"


def _heights_in_feet(box: Box, model: Box) -> Iterator[tuple[Box, str]]:
    """Yield a box with heights in feet or metres, where they are most of those of the model.

    Less is no sign of another unit: some ratio brings any height anywhere.
    """
    for ratio, what in _UNITS[:2]:
        changed = box * (1.0, 1.0, ratio)
        low, high = zip(changed[:, 2], model[:, 2], strict=True)
        if min(high) - max(low) > (max(high) - min(low)) / 2:
            yield changed, f"with z of the mesh times {ratio:.6g}, as from {what},"


def explain_height(surface: Box, model: Box) -> str:
    """Return why the heights put all blocks on one side of a surface; empty if that is plausible.

    A model underground lies below topography by less than its own height, if all is well; what
    is further away deserves a look, and so does a surface that another sign or unit would bring
    to the blocks.
    """
    low, high = model[:, 2]
    if meet(surface[:, 2:], model[:, 2:]) or not meet(surface[:, :2], model[:, :2]):
        return ""
    tried = [(-surface[::-1, 2:], "the sign of z changed")]
    tried += [(surface[:, 2:] * ratio, f"z times {ratio:.6g}, as from {u}") for ratio, u in _UNITS]
    for heights, what in tried:
        if meet(heights, model[:, 2:]):
            return f"with {what}, they would meet"
    gap = max(surface[0, 2] - high, low - surface[1, 2])
    return "is it another height datum?" if gap > high - low else ""


def explain_better(box: Box, model: Box) -> str:
    """Return a hint if a mesh that hardly meets the model would fit with two axes exchanged."""
    if share_within(box, model) < 0.5:
        for order, what in EXCHANGES:
            if share_within(box[:, order], model) > 0.9:
                return f"it would fit far better with {what} exchanged"
    return ""


def _negated(box: Box, axes: tuple[int, ...]) -> Box:
    """Change the sign of some axes of a box."""
    flipped = box.copy()
    for axis in axes:
        flipped[:, axis] = -box[::-1, axis]
    return flipped


def _round_offset(mesh: Box, model: Box) -> float | None:
    """Return the roundest offset that makes two intervals meet: 0 if they do, None if none does.

    Only multiples of a thousand: less is no prefix, and anything can be brought near anything.
    """
    if mesh[0] <= model[1] and model[0] <= mesh[1]:
        return 0.0
    distance = float(model.mean() - mesh.mean())
    for power in range(8, 2, -1):
        offset = round(distance / 10**power) * 10**power
        if offset and mesh[0] + offset <= model[1] and model[0] <= mesh[1] + offset:
            return float(offset)
    return None


def apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> list[DomainOrLayer]:
    """Return the solids whose box does not meet the model's, (2, 3); none for an empty model."""
    if np.isnan(model).any():
        return []
    return [solid for solid in solids if not meet(solid.bounds, model)]


def within(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> bool:
    """Return whether a box, (2, 3), lies in another."""
    return bool((outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all())


def refuse_disjoint(
    solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str
) -> None:
    """Raise TableError if no solid meets the model, with their boxes and a likely cause."""
    if all_apart(solids, model):
        message = f"{say_apart(solids, model, table)} To label anyway, use allow_disjoint=True."
        raise TableError(message)


def all_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> bool:
    """Return whether there are domains and none of them meets the model."""
    return len(apart(solids, model)) >= max(len(solids), 1)


def say_apart(solids: Sequence[DomainOrLayer], model: NDArray[np.float64], table: str) -> str:
    """Say that no domain meets the model, with their boxes and a likely cause."""
    said = [f"{solid.name} in {say_box(solid.bounds)}" for solid in solids[:_SAID]]
    more = [f"and {len(solids) - _SAID} more elsewhere"] if len(solids) > _SAID else []
    what = "solid" if all(solid.is_solid for solid in solids) else "domain"
    return (
        f"no {what} meets the block model: the blocks of {table} are in {say_box(model)}; "
        f"{'; '.join([*said, *more])}. {_guess(solids, model)}"
    )


def _guess(solids: Sequence[DomainOrLayer], model: NDArray[np.float64]) -> str:
    """Return the likely cause, from the first solid that has one."""
    for solid in solids:
        reason = explain_apart(solid.bounds, model)
        if reason:
            hint = " Check x=, y= and z=." if "exchanged" in reason else ""
            return f"{reason[0].upper()}{reason[1:]}{'' if reason.endswith('?') else '.'}{hint}"
    return "Is it another datum or grid, other units, or the local frame of a rotated model?"
