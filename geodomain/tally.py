"""Counts of what was labelled, gathered chunk by chunk; it decides nothing and prints nothing."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from geodomain.labeller import Bools, Verdict


class Tally:
    """Blocks, volumes and boxes of everything that was labelled; safe among threads.

    Attributes
    ----------
    blocks, volumes : (k + 3,) arrays
        By code: the k solids, background, unassigned, leaking. Volumes in cubed units of the file.
    own_blocks, own_volumes : (k,) arrays
        Each solid's own blocks before priority.
    doubled, leaking : (k,) int64
        Blocks that a solid holds more than once, and those it has no answer for.
    overlaps : (k, k) int64
        Blocks that two solids both have, above the diagonal.
    on_wall : int
        Blocks exactly on a wall, where they were looked for.
    first_leak : (k, 3) float64
        The first block that leaks of each solid, NaN where none does.
    bounds : (2, 3) float64
        Box of the finite blocks, with their sizes where those are known; NaN without blocks.
    unsized : int
        Finite blocks with a size that is not above zero, not finite, or missing.
    first_unsized : tuple of int and (3,) float64, optional
        The first of them, counted from 1, and its sizes.
    sized : bool
        Whether the volumes mean anything: every finite block had sizes above zero, and
        their sum is finite.
    """

    def __init__(self, solid_count: int) -> None:
        self._lock = threading.Lock()
        self.blocks = np.zeros(solid_count + 3, np.int64)
        self.volumes = np.zeros(solid_count + 3)
        self.own_blocks, self.doubled, self.leaking = np.zeros((3, solid_count), np.int64)
        self.own_volumes = np.zeros(solid_count)
        self.overlaps = np.zeros((solid_count, solid_count), np.int64)
        self.on_wall = 0
        self.first_leak = np.full((solid_count, 3), np.nan)
        self.bounds = np.full((2, 3), np.nan)
        self.unsized = 0
        self.first_unsized: tuple[int, NDArray[np.float64]] | None = None
        self.sized = True

    @property
    def rows(self) -> int:
        """Count all the blocks."""
        return int(self.blocks.sum())

    def add(
        self, points: NDArray[np.float64], sizes: NDArray[np.float64] | None, verdict: Verdict
    ) -> None:
        """Count a chunk: (n, 3) centroids, (n, 3) sizes or None, and their labels."""
        with self._lock:
            self._count(points, verdict)
            self._count_overlaps(verdict)
            self._measure(points, sizes, verdict)

    def _count(self, points: NDArray[np.float64], verdict: Verdict) -> None:
        """Add the numbers of blocks."""
        self.blocks += np.bincount(verdict.codes, minlength=len(self.blocks))
        self.own_blocks += verdict.inside.sum(axis=1)
        self.doubled += verdict.doubled.sum(axis=1)
        self.leaking += verdict.leaking.sum(axis=1)
        for solid in np.flatnonzero(verdict.leaking.any(axis=1) & np.isnan(self.first_leak[:, 0])):
            self.first_leak[solid] = points[verdict.leaking[solid].argmax()]
        if verdict.on_wall is not None:
            self.on_wall += int(verdict.on_wall.sum())

    def _count_overlaps(self, verdict: Verdict) -> None:
        """Add the blocks that two solids both have."""
        if len(self.overlaps) < 2:
            return
        shared = verdict.inside[:, verdict.inside.sum(axis=0, dtype=np.int32) > 1]
        if shared.size:
            members = shared.astype(np.int64)
            self.overlaps += np.triu(members @ members.T, 1)

    def _measure(
        self,
        points: NDArray[np.float64],
        sizes: NDArray[np.float64] | None,
        verdict: Verdict,
    ) -> None:
        """Add the volumes and grow the box."""
        finite = verdict.codes != len(self.own_blocks) + 1
        if sizes is None:
            self.sized = False
        else:
            volume = sizes[:, 0] * sizes[:, 1] * sizes[:, 2]
            # One look at the smallest spares nearly every chunk the masks; NaN fails it too.
            if not (finite.all() and sizes.min(initial=np.inf) > 0 and np.isfinite(volume).all()):
                usable = finite & (sizes > 0).all(axis=1) & np.isfinite(volume)
                self._keep_unsized(finite & ~usable, sizes)
                volume = np.where(usable, volume, 0.0)
                sizes = np.where(usable[:, None], sizes, 0.0)
            with np.errstate(over="ignore"):
                self.volumes += np.bincount(verdict.codes, volume, len(self.volumes))
                self.own_volumes += verdict.inside @ volume
            self.sized &= not self.unsized and bool(np.isfinite(self.volumes).all())
        self._grow(points, sizes, finite)

    def _keep_unsized(self, unsized: Bools, sizes: NDArray[np.float64]) -> None:
        """Count blocks without a volume in a chunk that was counted already."""
        if unsized.any() and self.first_unsized is None:
            row = int(unsized.argmax())
            self.first_unsized = self.rows - len(sizes) + row + 1, sizes[row].copy()
        self.unsized += int(unsized.sum())

    def _grow(
        self, points: NDArray[np.float64], sizes: NDArray[np.float64] | None, finite: Bools
    ) -> None:
        """Take the finite blocks into the box."""
        if not finite.all():
            points, sizes = points[finite], None if sizes is None else sizes[finite]
        if not len(points):
            return
        for axis in range(3):
            centre = points[:, axis]
            half = 0.0 if sizes is None else sizes[:, axis] / 2
            self.bounds[0, axis] = np.fmin(self.bounds[0, axis], (centre - half).min())
            self.bounds[1, axis] = np.fmax(self.bounds[1, axis], (centre + half).max())
