"""What shares of blocks add up to, chunk by chunk, and how far off those along lines may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.labelling.shares.lines import SAMPLES

Floats = NDArray[np.float64]

# Shares by volume are wrong by less than so much of a block that is cut.
ROUNDING = 1e-9


class ShareTally:
    """Volumes by shares, and counts of how shares were found; one thread adds.

    Parameters
    ----------
    count : int
        Domains and layers, k.

    Attributes
    ----------
    volumes : (k,) float64
        By shares, in cubed units of the file.
    entered, by_lines : int
        Blocks that a wireframe enters, and those of them that went along lines.
    crossed : dict of str to int
        Blocks along lines because triangles of one mesh cross or fold, by its name.
    lost : (k,) int64
        Blocks without a share of a domain by itself, beyond a surface's footprint.
    beyond : int
        Blocks of which a part has no label, by the domains' order, for the same reason.
    moved : int
        Blocks whose label by majority is not that of their centroid.
    worst : float
        The largest estimated error of one share.
    turned, by_itself : bool
        Whether meshes were turned into the frame of the blocks; whether volumes are those of each
        domain by itself, not by their order.
    """

    def __init__(self, count: int) -> None:
        self.volumes = np.zeros(count)
        self._off, self._unseen = np.zeros((SAMPLES, count)), np.zeros(count)
        self._cut = np.zeros(count)
        self.lost = np.zeros(count, np.int64)
        self.entered = self.by_lines = self.beyond = self.moved = 0
        self.crossed: dict[str, int] = {}
        self.worst = 0.0
        self.turned = self.by_itself = False

    @property
    def errors(self) -> Floats:
        """Return the estimated error of each volume, (k,), with what rounding may be."""
        lines = np.sqrt((self._off**2).max(axis=0) + self._unseen)
        return np.asarray(lines + ROUNDING * self._cut)

    def add_cut(self, targets: range, shares: Floats, volumes: Floats) -> None:
        """Add the volumes of blocks that are cut, (n,), with the shares of w targets, (n, w)."""
        cut = (shares > 0) & (shares < 1)
        self._cut[targets.start : targets.stop] += (cut * volumes[:, None]).sum(axis=0)

    def see(self, off: Floats, unseen: Floats) -> None:
        """Remember the largest error of shares."""
        for error in (off, unseen):
            self.worst = max(self.worst, float(np.abs(error).max(initial=0.0)))

    def add_off(self, targets: range, off: Floats, unseen: Floats, volumes: Floats) -> None:
        """Add errors of shares to those of volumes.

        Parameters
        ----------
        targets : range
            w of them.
        off : (s, n, w) float64
            How far samples of lines are from all of them. They err alike in many blocks, or not:
            so each is added up with its sign.
        unseen : (n, w) float64
            What lines may miss, which is different in each block.
        volumes : (n,) float64
            Of the blocks.
        """
        span = slice(targets.start, targets.stop)
        self._off[: len(off), span] += (off * volumes[:, None]).sum(axis=1)
        self._unseen[span] += ((unseen * volumes[:, None]) ** 2).sum(axis=0)
