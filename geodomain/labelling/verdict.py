"""What was found of blocks: the codes of their labels, and what each domain says by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodomain.labelling.chunk import Bools
from geodomain.labelling.evaluate import DomainAnswer

# What codes beyond those of the domains stand for.
NONE, LOST, LEAKING, BEYOND, KEPT = range(5)
REST = 5


@dataclass(frozen=True)
class Verdict:
    """What was found of n blocks and k domains, layers of stacks included.

    Attributes
    ----------
    codes : (n,) int32
        The domain whose label the block gets; k none, k + 1 not finite, k + 2 in a leaking
        column, k + 3 beyond a surface, k + 4 where a label that was there is left.
    found : mapping of int to DomainAnswer
        What domains say by themselves; those that are not there have no block and no doubt.
    folded : mapping of str to (n,) bool
        For surfaces, the blocks whose vertical line crosses them more than once.
    on_wall : (n,) bool, optional
        Blocks exactly on a wall of any mesh, where that was asked for.
    box : (2, 3) float64, optional
        That of the centroids, if all of them are finite.
    """

    codes: NDArray[np.int32]
    count: int
    found: Mapping[int, DomainAnswer]
    folded: Mapping[str, Bools]
    on_wall: Bools | None
    box: NDArray[np.float64] | None

    def table(self, what: str) -> Bools:
        """Return one attribute of all that was found, (k, n) bool, such as "inside"."""
        rows: Bools = np.zeros((self.count, len(self.codes)), np.bool_)
        for index, found in self.found.items():
            part = getattr(found, what)
            if part is not None:
                np.copyto(rows[index], part)
        return rows

    def part(self, begin: int, end: int) -> Verdict:
        """Return what was found of the blocks from one number to another."""
        return replace(
            self,
            codes=self.codes[begin:end],
            found={index: one.part(begin, end) for index, one in self.found.items()},
            folded={name: some[begin:end] for name, some in self.folded.items()},
            on_wall=None if self.on_wall is None else self.on_wall[begin:end],
            box=None,
        )

    @property
    def uncertain(self) -> Bools:
        """Return the blocks whose label rounding may have decided."""
        return np.asarray(self.table("uncertain").any(axis=0))
