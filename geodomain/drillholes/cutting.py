"""Cuts of intervals as decimal text: lengths add up exactly, and slivers are not split off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.flagging import Parts

_DECIMALS = 3


@dataclass(frozen=True, eq=False)
class Cuts:
    """Intervals as they are written: each whole, or in pieces that lie end to end.

    Attributes
    ----------
    rows : (p,) intp
        The interval of each piece, ascending.
    codes : (p,) intp
        The domain of each.
    begins, ends : dict of int to Decimal
        By piece, where an interval is cut: the depths that are not its own FROM and TO.
    cut : int
        How many intervals are cut.
    slivers : int
        How many pieces were too short to be split off; each is left with its longer neighbour.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    begins: dict[int, Decimal]
    ends: dict[int, Decimal]
    cut: int
    slivers: int

    def depths(self, starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
        """Return where pieces begin and end, (p,) each, of FROM and TO of the intervals."""
        first, last = starts[self.rows], ends[self.rows]
        for values, cuts in ((first, self.begins), (last, self.ends)):
            for piece, depth in cuts.items():
                values[piece] = float(depth)
        return first, last


def check_length(min_length: float) -> Decimal:
    """Return a shortest length in decimals; ValueError where it is none."""
    if not 0 <= min_length < math.inf:
        message = f"min_length is {min_length}; it must be a length, 0 or more"
        raise ValueError(message)
    return Decimal(str(min_length))


def make_cuts(
    count: int,
    parts: Parts,
    whole: NDArray[np.intp],
    spelled: Sequence[NDArray[np.object_]],
    min_length: Decimal,
) -> Cuts:
    """Turn parts between walls into the pieces that are written.

    Parameters
    ----------
    count : int
        Intervals.
    parts : Parts
        Of those that can be used.
    whole : (n,) intp
        Codes of the intervals that have no parts.
    spelled : pair of (n,) object
        FROM and TO of each interval as Decimal; only those of intervals with several parts are
        read.
    min_length : Decimal
        What is shorter is not split off.

    Returns
    -------
    Cuts
        Depths of cuts are rounded to 3 decimals, or to those of `min_length` if they are more.
    """
    exponent = min_length.normalize().as_tuple().exponent
    step = Decimal(1).scaleb(-max(_DECIMALS, -int(exponent)))
    sizes = np.bincount(parts.rows, minlength=count)
    codes_of = whole.copy()
    single = sizes[parts.rows] == 1
    codes_of[parts.rows[single]] = parts.codes[single]
    rows, codes = [np.flatnonzero(sizes < 2)], [codes_of[sizes < 2]]
    depths: list[tuple[int, list[Decimal]]] = []
    cut = slivers = 0
    several = np.flatnonzero(~single)
    groups = np.split(several, np.flatnonzero(np.diff(parts.rows[several])) + 1)
    for group in groups if several.size else []:
        row = int(parts.rows[group[0]])
        bounds = [spelled[0][row]]
        bounds += [Decimal(depth).quantize(step) for depth in parts.begins[group[1:]].tolist()]
        bounds.append(spelled[1][row])
        bounds, labels, short = _without_slivers(bounds, parts.codes[group].tolist(), min_length)
        slivers += short
        cut += len(labels) > 1
        depths.append((row, bounds))
        rows.append(np.full(len(labels), row))
        codes.append(np.array(labels, np.intp))
    owners = np.concatenate(rows)
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], np.array([row for row, _ in depths], np.intp))
    begins, ends = {}, {}
    for place, (_, bounds) in zip(first.tolist(), depths, strict=True):
        for piece, depth in enumerate(bounds[1:-1], place):
            ends[piece], begins[piece + 1] = depth, depth
    return Cuts(owners[order], np.concatenate(codes)[order], begins, ends, cut, slivers)


def _without_slivers(
    bounds: list[Decimal], labels: list[int], least: Decimal
) -> tuple[list[Decimal], list[int], int]:
    """Join neighbours of one label, and each sliver, the shortest first, to its longer side."""
    slivers = 0
    bounds, labels = _joined(bounds, labels)
    while len(labels) > 1:
        lengths = [high - low for low, high in pairwise(bounds)]
        shortest = min(range(len(lengths)), key=lengths.__getitem__)
        if lengths[shortest] >= least and lengths[shortest] > 0:
            break
        slivers += 1
        before = lengths[shortest - 1] if shortest else Decimal("-Infinity")
        after = lengths[shortest + 1] if shortest + 1 < len(labels) else Decimal("-Infinity")
        labels.pop(shortest)
        bounds.pop(shortest if before >= after else shortest + 1)
        bounds, labels = _joined(bounds, labels)
    return bounds, labels, slivers


def _joined(bounds: list[Decimal], labels: list[int]) -> tuple[list[Decimal], list[int]]:
    """Join neighbours of one label."""
    kept = [place for place in range(1, len(labels)) if labels[place] != labels[place - 1]]
    return (
        [bounds[0], *(bounds[place] for place in kept), bounds[-1]],
        [labels[0], *(labels[place] for place in kept)],
    )


def spell(depth: Decimal, mark: str = ".") -> str:
    """Return a depth as text, without zeros at its end.

    Examples
    --------
    >>> spell(Decimal("25.350")), spell(Decimal("100.000"), ",")
    ('25.35', '100')
    """
    text = format(depth, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace(".", mark)
