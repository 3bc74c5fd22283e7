"""Shares and labels of blocks that are arrays in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.order import Domains, allowed_rows
from geodomain.errors import TableError, warn
from geodomain.io.conditions import Column
from geodomain.io.header.azimuth import require_known_turn
from geodomain.io.header.frames import Frame
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.shares.pieces import Bools, Floats
from geodomain.labelling.shares.report import share_warnings
from geodomain.labelling.shares.settings import ShareSettings
from geodomain.labelling.shares.sharer import Sharer, frame_of
from geodomain.query.locator import Rule

# Blocks at a time.
_PART = 1 << 18


def measure_blocks(
    points: Floats,
    sizes: Floats | None,
    axes: Floats,
    domains: Domains,
    settings: ShareSettings,
    column: Callable[[str], Column],
    labelled: Bools | None,
    *,
    rule: Rule,
    backend: str,
    threads: int | None,
    name: str,
    index: Labeller | None = None,
) -> tuple[Floats, NDArray[np.intp]]:
    """Return shares of each domain, (k, n), and labels as codes, a part at a time.

    Parameters
    ----------
    points, sizes : (n, 3) float64
        Centroids in the world, and sizes along the axes.
    axes : (3, 3) float64
        The directions of the blocks' edges, a row each.
    domains, settings, labelled
        As `Sharer` has them.
    column : callable
        Gives the columns of conditions.
    rule, backend, threads
        As `Labeller` has them.
    name : str
        What messages call the blocks.
    index : Labeller, optional
        Of the same domains, where there is one already.

    Raises
    ------
    TableError
        For blocks without sizes, and for ones that are turned where nothing says so.

    Warns
    -----
    GeodomainWarning
        As `label_file` for shares, and for centroids that look like those of a rotated model.
    """
    if sizes is None:
        message = (
            f"{name} has no sizes of blocks, whose shares are asked for: name their columns with "
            "dx=, dy= and dz="
        )
        raise TableError(message)
    labeller = index
    if labeller is None:
        labeller = Labeller(domains, rule=rule, backend=backend, threads=threads)
    sharer = Sharer(labeller, frame_of(labeller, axes, name), settings)
    if not sharer.tally.turned:
        mend = "write them to a file, and label it with label_file(..., frame={!r})".format
        require_known_turn(points, sizes, Frame(), name, "measured", mend)
    allowed = allowed_rows(domains, column)
    wanted = len(labeller.targets) if settings.proportions is not None else 0
    shares, codes = np.empty((wanted, len(points))), np.empty(len(points), np.intp)
    for begin in range(0, len(points), _PART):
        rows = slice(begin, begin + _PART)
        some = allowed and [None if one is None else one[rows] for one in allowed]
        given = None if labelled is None else labelled[rows]
        verdict = labeller.judge(points[rows], some, given)
        found = sharer.measure(points[rows], sizes[rows], verdict, some, given)
        shares[:, rows], codes[rows] = found.shares, found.codes
    for sentence in share_warnings(settings, sharer.tally, labeller.targets):
        warn(sentence)
    return shares * (100.0 if settings.percent else 1.0), codes
