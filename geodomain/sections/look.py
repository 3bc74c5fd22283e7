"""How sections are drawn, apart from what they show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.io.number_columns import BelowDetection
from geodomain.sections.samples import Samples, samples_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ramp:
    """Colours for a grade.

    Attributes
    ----------
    name : str
        Of the column, below the ramp.
    cmap : str
        One of matplotlib's colour maps.
    low, high : float
        The values at the ends of the ramp; higher ones have its last colour.
    highest : float
        Of all the values that are drawn.
    """

    name: str
    cmap: str
    low: float
    high: float
    highest: float


@dataclass(frozen=True)
class NearHoles:
    """Drillholes, how far from a section they are drawn on it, and what colours them."""

    holes: Drillholes
    within: float
    samples: Samples | None = None
    ramp: Ramp | None = None


@dataclass(frozen=True)
class Look:
    """How sections are drawn.

    Attributes
    ----------
    exaggerate : float
        How much longer a unit is drawn along z than along x and y.
    title : str
        Above all sections of a page; empty for none.
    unit : str
        Of coordinates, at the axes and the scale bar; empty for none.
    colours : mapping of str to str
        Of domains, where they were chosen.
    ramp : Ramp, optional
        Colours of a grade in the place of those of domains.
    near : NearHoles, optional
        Drillholes to project.
    paged : bool
        Whether each section has a page of its own, all of one frame.
    """

    exaggerate: float = 1.0
    title: str = ""
    unit: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    ramp: Ramp | None = None
    near: NearHoles | None = None
    paged: bool = False

    @property
    def ramps(self) -> list[Ramp]:
        """The ramps to explain: of the blocks, and of samples where theirs is another one."""
        found = [self.ramp, self.near.ramp if self.near else None]
        return list(dict.fromkeys(one for one in found if one is not None))


def near_holes(
    holes: Drillholes | None,
    within: float | None,
    samples: TableLike | None,
    grade: str | None,
    below: BelowDetection | None = None,
) -> NearHoles | None:
    """Return the holes to project and their samples, before the model is read.

    The policy `below` for values below detection is for holes that were read without one.
    """
    if (samples is None) != (grade is None):
        message = "samples and their grade go together: give samples=, and grade= for their column"
        raise ValueError(message)
    if holes is None:
        if samples is not None:
            message = "samples are drawn along drillholes: give holes= and within= with them"
            raise ValueError(message)
        return None
    near = NearHoles(holes, _distance(within))
    if samples is None or grade is None:
        return near
    return replace(near, samples=samples_of(holes, samples, grade, below))


def _distance(within: float | None) -> float:
    """Return how near holes must be, or refuse to guess it."""
    if within is None or not 0 < within < math.inf:
        message = f"within is {within}: say how near drillholes are drawn, a length above 0"
        raise ValueError(message)
    return within


def ramp_of(name: str, cmap: str, values: Floats) -> Ramp | None:
    """Return a ramp from the lowest value to that which 98% do not exceed; None without values.

    A few high grades would leave all others one colour.
    """
    there = values[np.isfinite(values)]
    if not len(there):
        return None
    low, high, highest = float(there.min()), float(np.quantile(there, 0.98)), float(there.max())
    if high <= low:
        high = highest if highest > low else low + 1.0
    return Ramp(name, cmap, low, high, highest)


def require_cmap(name: str) -> None:
    """Raise ValueError for a colour map that there is not."""
    from matplotlib import colormaps

    if name not in colormaps:
        close = get_close_matches(name, list(colormaps), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ": try 'viridis', 'magma' or 'turbo'"
        message = f"there is no colour map {name!r}{hint}"
        raise ValueError(message)
