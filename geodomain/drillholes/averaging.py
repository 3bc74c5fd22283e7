"""Runs of holes in one domain, cut into composites, and the means of samples over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.flagging import Parts, cut_at
from geodomain.drillholes.intervals import Intervals
from geodomain.errors import TableError

Short = Literal["keep", "merge", "drop"]
SHORT: tuple[Short, ...] = ("keep", "merge", "drop")
# Part of a composite's length that rounding may leave over at the end of a run.
_CRUMB = 1e-9
_MOST = 100_000_000


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of holes in one domain each, by hole, then by depth."""

    holes: NDArray[np.intp]
    codes: NDArray[np.intp]
    begins: Floats
    ends: Floats

    def only(self, which: NDArray[np.bool_]) -> Stretches:
        """Return some of them."""
        return Stretches(self.holes[which], self.codes[which], self.begins[which], self.ends[which])


def runs_of(rows: Intervals, parts: Parts, gaps: tuple[NDArray[np.intp], Parts]) -> Stretches:
    """Join parts of samples, and of what lies between them, to runs in one domain."""
    gap_holes, between = gaps
    holes = np.concatenate([rows.holes[parts.rows], gap_holes[between.rows]])
    codes = np.concatenate([parts.codes, between.codes])
    begins = np.concatenate([parts.begins, between.begins])
    ends = np.concatenate([parts.ends, between.ends])
    order = np.lexsort((begins, holes))
    holes, codes, begins, ends = holes[order], codes[order], begins[order], ends[order]
    new = np.ones(len(holes), np.bool_)
    new[1:] = (holes[1:] != holes[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(holes)) - 1
    return Stretches(holes[first], codes[first], begins[first], ends[last[: len(first)]])


def cut_runs(runs: Stretches, length: float, short: Short, least: float) -> tuple[Stretches, int]:
    """Cut runs into composites from the top down; return them, and how many were dropped."""
    expected = float(((runs.ends - runs.begins) / length).sum())
    if expected > _MOST:
        message = (
            f"composites of {length:g} along {expected * length:.3g} of holes would be more than "
            f"{_MOST:,}: correct the depths, or give a greater length"
        )
        raise TableError(message)
    whole = np.floor((runs.ends - runs.begins) / length + _CRUMB).astype(np.int64)
    rest = runs.ends - runs.begins - whole * length
    tail = rest > _CRUMB * length
    is_short = tail & (rest < least * (1 - _CRUMB))
    dropped = is_short & (short == "drop")
    merged = is_short & (short == "merge") & (whole > 0)
    counts = whole + (tail & ~dropped & ~merged)
    owners = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = runs.begins[owners] + rank * length
    ends = begins + length
    final = rank == counts[owners] - 1
    to_exit = final & ~dropped[owners]
    ends[to_exit] = runs.ends[owners[to_exit]]
    return Stretches(runs.holes[owners], runs.codes[owners], begins, ends), int(dropped.sum())


def averages(
    made: Stretches, rows: Intervals, parts: Parts, values: dict[str, Floats]
) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
    """Return the sampled length of each composite, and of each grade the mean and what lacks."""
    holes = rows.holes[parts.rows]
    edges = np.concatenate([made.begins, made.ends])
    owners = np.concatenate([made.holes, made.holes])
    order = np.lexsort((edges, owners))
    pieces, begins, ends = cut_at(holes, parts.begins, parts.ends, owners[order], edges[order])
    middles, lengths = 0.5 * (begins + ends), ends - begins
    place = _stretch_at(made, holes[pieces], middles)
    inside = place >= 0
    place, pieces, lengths = place[inside], pieces[inside], lengths[inside]
    count = len(made.holes)
    sampled = np.asarray(np.bincount(place, weights=lengths, minlength=count), np.float64)
    means: dict[str, Floats] = {}
    missing: dict[str, Floats] = {}
    for name, column in values.items():
        grade = column[parts.rows[pieces]]
        known = ~np.isnan(grade)
        weights = np.bincount(place[known], weights=lengths[known], minlength=count)
        sums = np.bincount(place[known], weights=(lengths * grade)[known], minlength=count)
        means[name] = np.divide(sums, weights, out=np.full(count, np.nan), where=weights > 0)
        lacking = made.ends - made.begins - weights
        missing[name] = np.where(lacking > _CRUMB * np.maximum(made.ends, 1.0), lacking, 0.0)
    return sampled, means, missing


def _stretch_at(made: Stretches, holes: NDArray[np.intp], depths: Floats) -> NDArray[np.intp]:
    """Return the stretch that each depth of a hole is in, or -1."""
    keys = np.lexsort((np.concatenate([np.zeros(len(made.holes)), np.ones(len(holes))]),
                       np.concatenate([made.begins, depths]),
                       np.concatenate([made.holes, holes])))  # fmt: skip
    is_stretch = keys < len(made.holes)
    latest = np.cumsum(is_stretch) - 1
    found = np.empty(len(holes), np.intp)
    found[keys[~is_stretch] - len(made.holes)] = latest[~is_stretch]
    ok = found >= 0
    ok[ok] &= (made.holes[found[ok]] == holes[ok]) & (depths[ok] < made.ends[found[ok]])
    return np.where(ok, found, -1)
