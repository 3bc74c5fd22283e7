"""What shares of blocks add up to, chunk by chunk, and how far off those along lines may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
        self.volumes, self._halved = np.zeros((2, count))
        self._checked: dict[tuple[str, int], Floats] = {}
        self.lost = np.zeros(count, np.int64)
        self.entered = self.by_lines = self.beyond = self.moved = 0
        self.crossed: dict[str, int] = {}
        self.worst = 0.0
        self.turned = self.by_itself = False

    @property
    def errors(self) -> Floats:
        """Return the estimated error of each volume, (k,)."""
        found = np.abs(self._halved)
        for off in self._checked.values():
            np.maximum(found, np.abs(off), out=found)
        return found

    def see(self, difference: Floats) -> None:
        """Remember the largest error of shares."""
        self.worst = max(self.worst, float(np.abs(difference).max(initial=0.0)))

    def add_halved(self, targets: range, difference: Floats, volume: Floats) -> None:
        """Add what twice as many lines change: shares (n, w), and the volumes of the blocks."""
        self._halved[targets.start : targets.stop] += (difference * volume[:, None]).sum(axis=0)

    def add_checked(self, name: str, targets: range, difference: Floats, volume: Floats) -> None:
        """Add what lines miss of the shares by volume of one body, (n,), that bounds targets."""
        off = self._checked.setdefault((name, targets.start), np.zeros(len(self.volumes)))
        off[targets.start : targets.stop] += float((difference * volume).sum())
