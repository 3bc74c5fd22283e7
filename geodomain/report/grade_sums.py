"""Tonnes and grades of a model that is in memory, by domain and above cut-offs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import warn
from geodomain.report.blocks import Blocks
from geodomain.volumes.tonnage import Tonnage, Wanted
from geodomain.volumes.tonnes_report import report, tonnage_warnings
from geodomain.volumes.tonnes_table import Tonnes

Floats = NDArray[np.float64]

# So many blocks at a time.
_TOGETHER = 1 << 18


@dataclass(frozen=True)
class _Part:
    """Some rows of a model."""

    blocks: Blocks
    rows: slice

    def numbers(self, name: str) -> Floats:
        """Return a column as numbers."""
        return self.blocks.numbers[name][self.rows]

    def labels(self, _: list[str]) -> tuple[list[str], NDArray[np.intp]]:
        """Return the different labels, and the place of each row's among them."""
        return self.blocks.labels, self.blocks.codes[self.rows].astype(np.intp)


def add_up(blocks: Blocks, wanted: Wanted) -> Tonnes:
    """Add up a model as `geodomain.tonnes_file` does, without reading its file again.

    Parameters
    ----------
    blocks : Blocks
        The model, with the grades and the density among its numbers.
    wanted : Wanted
        What is to be added up, by labels; it warns of what is missing.
    """
    tonnage = Tonnage(wanted)
    for start in range(0, len(blocks.codes), _TOGETHER):
        part = _Part(blocks, slice(start, start + _TOGETHER))
        tonnage.add(blocks.points[part.rows], blocks.sizes[part.rows], part.numbers, part.labels)
    for sentence in tonnage_warnings(tonnage, negative=False):
        warn(sentence)
    return report(tonnage)
