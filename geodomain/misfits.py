"""Why a mesh and a block model are not in the same place: what would make their boxes meet."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Box = NDArray[np.float64]

_AXES = "xyz"
_EXCHANGES = (((1, 0, 2), "x and y"), ((2, 1, 0), "x and z"), ((0, 2, 1), "y and z"))


def meet(one: Box, other: Box) -> bool:
    """Tell whether two boxes, (2, 3) each, have a point in common."""
    return bool((one[0] <= other[1]).all() and (other[0] <= one[1]).all())


def share_within(box: Box, model: Box) -> float:
    """Give which part of a box is in the model's, by length along each axis, multiplied."""
    overlap = np.minimum(box[1], model[1]) - np.maximum(box[0], model[0])
    length = box[1] - box[0]
    parts = np.where(length > 0, overlap / np.where(length > 0, length, 1.0), overlap >= 0)
    return float(np.prod(np.clip(parts, 0.0, 1.0))) if (overlap >= 0).all() else 0.0


def explain_apart(box: Box, model: Box) -> str:
    """Say what would bring a mesh's box to a model's that it does not meet; empty if nothing would.

    Looked for, in this order: exchanged axes, other signs, a round number left out of coordinates
    (a truncated prefix such as 7,000,000), another height datum.
    """
    for order, what in _EXCHANGES:
        if meet(box[:, order], model):
            return f"with {what} exchanged they would meet"
    for count in (1, 2, 3):
        for axes in combinations(range(3), count):
            if meet(_negated(box, axes), model):
                named = " and ".join(_AXES[axis] for axis in axes)
                return f"with the sign of {named} changed they would meet"
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


def explain_better(box: Box, model: Box) -> str:
    """Say that a mesh that meets a model hardly would fit well with two axes exchanged."""
    if share_within(box, model) < 0.5:
        for order, what in _EXCHANGES:
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
    """Give the roundest number that brings one interval to another: 0 if they meet, None if none.

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
