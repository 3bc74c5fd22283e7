"""The layout of panels of one scale on a page, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Inches: what is drawn of all panels together, the room for words around each, and the least side.
_WIDTH, _HEIGHT = 15.0, 9.0
LEFT, RIGHT, BELOW, ABOVE = 0.95, 0.25, 0.65, 0.4
_LEAST = 0.25
# Of more panels than this, columns of like numbers are tried.
_MOST = 10


@dataclass(frozen=True)
class Page:
    """A page and its panels, in inches.

    Attributes
    ----------
    size : tuple of float
        Width and height.
    scale : float
        Inches to a unit of length.
    panels : list of tuple of float
        Left, bottom, width and height of what is drawn of each.
    """

    size: tuple[float, float]
    scale: float
    panels: list[tuple[float, float, float, float]]


def lay_out(lengths: Floats, *, below: float = 0.0, above: float = 0.0) -> Page:
    """Put panels into columns, in their order, so that they are as large as a page allows.

    Parameters
    ----------
    lengths : (n, 2) float64
        How long each is to the right and up.
    below : float
        Inches to leave at the foot of the page.
    above : float
        Inches to leave at its head.

    Returns
    -------
    Page
        All panels to one scale, except that none is thinner than a line.
    """
    scale, columns = max(
        ((_scale(lengths, columns), columns) for columns in _divisions(len(lengths))),
        key=lambda one: (round(one[0], 9), -len(one[1])),
    )
    drawn = np.maximum(lengths * scale, _LEAST)
    height = max(
        float(drawn[column, 1].sum()) + len(column) * (BELOW + ABOVE) for column in columns
    )
    panels, left = [], 0.0
    for column in columns:
        top = height + below
        for index in column:
            wide, high = drawn[index].tolist()
            panels.append((left + LEFT, top - ABOVE - high, wide, high))
            top -= ABOVE + high + BELOW
        left += LEFT + float(drawn[column, 0].max()) + RIGHT
    return Page((left, height + below + above), scale, panels)


def _scale(lengths: Floats, columns: Sequence[Sequence[int]]) -> float:
    """Return the scale at which columns fit on a page."""
    across = sum(float(lengths[column, 0].max()) for column in columns)
    up = max(float(lengths[column, 1].sum()) for column in columns)
    return min(_WIDTH / across, _HEIGHT / up)


def _divisions(count: int) -> Iterator[list[list[int]]]:
    """Yield every way to divide panels into columns, or, for many panels, the even ones."""
    if count > _MOST:
        for each in range(1, count + 1):
            yield [list(range(at, min(at + each, count))) for at in range(0, count, each)]
        return
    for after in product((True, False), repeat=count - 1):
        starts = [0, *(index + 1 for index, cut in enumerate(after) if cut), count]
        yield [list(range(*pair)) for pair in pairwise(starts)]
