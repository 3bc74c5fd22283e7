"""Make synthetic deposits, meshes and segments for demos, tests and benchmarks."""

from __future__ import annotations

from geodomain.synthetic.deposit import BlockTable, Deposit, deposit
from geodomain.synthetic.scenes import (
    MINE,
    Axes,
    SegmentChunk,
    lattice_over,
    segments_across,
    staircase,
    star_shaped_orebody,
    terrain,
    undulating_terrain,
)

__all__ = [
    "MINE",
    "Axes",
    "BlockTable",
    "Deposit",
    "SegmentChunk",
    "deposit",
    "lattice_over",
    "segments_across",
    "staircase",
    "star_shaped_orebody",
    "terrain",
    "undulating_terrain",
]
