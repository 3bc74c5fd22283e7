"""Warnings about blocks in memory and domains: those of a file, without its counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import BlockChecks
from geodomain.domains.order import Domains
from geodomain.errors import warn
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.overlap import all_apart, say_apart
from geodomain.labelling.placement import exchanged_axes, placement_warnings
from geodomain.labelling.tally import MOST_SAMPLES
from geodomain.query.locator import Rule

Floats = NDArray[np.float64]


def warn_of_blocks(
    points: Floats,
    sizes: Floats | None,
    domains: Domains,
    *,
    whole: bool,
    rule: Rule,
    backend: str,
    threads: int | None,
    allow_open: bool,
    reach: bool = False,
    axes: Floats | None = None,
) -> None:
    """Warn of what `label_file` would: domains apart from the blocks, exchanged axes.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Of the blocks; without sizes they may be samples, and lie anywhere.
    domains : Domains
        What they were labelled by.
    whole : bool
        Whether these are all the blocks, which some domain should meet.
    rule, backend, threads, allow_open
        As for `Labeller`; a second look is on the CPU.
    reach : bool
        Whether a domain meets blocks that it enters, however their centroids lie.
    axes : (3, 3) float64, optional
        Directions of the blocks' edges, a row each, where they are not those of the world.
    """
    bounds = _bounds(points)
    if reach and sizes is not None:
        half = np.sqrt(np.nanmax(np.square(sizes).sum(axis=1), initial=0.0)) / 2
        bounds = bounds + np.array([[-half], [half]])
    if not whole or np.isnan(bounds).any():
        return
    if all_apart(domains.targets, bounds):
        warn(say_apart(domains.targets, bounds, "the frame"))
        return
    checks = BlockChecks()
    checks.add(points, sizes, axes=axes)
    for sentence in (*placement_warnings(domains, bounds), *checks.warnings(mend="make it NaN")):
        warn(sentence)
    if sizes is None:
        return

    def count_solids(some: Floats) -> list[int]:
        labeller = Labeller(
            domains, rule=rule, backend="cpu", threads=threads, allow_open=allow_open
        )
        return labeller.count_solids(some)

    sample = points[:: 1 + len(points) // MOST_SAMPLES]
    sample = np.asfortranarray(sample[np.isfinite(sample).all(axis=1)])
    for sentence in exchanged_axes(domains, bounds, sample, count_solids):
        warn(sentence)


def _bounds(points: Floats) -> Floats:
    """Return the box of the finite points, (2, 3), NaN where there is none."""
    bounds = np.array([points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)])
    if not np.isfinite(bounds).all():
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return np.full((2, 3), np.nan)
        bounds = np.array([points.min(axis=0), points.max(axis=0)])
    return bounds
