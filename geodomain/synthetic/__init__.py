"""Synthetic ground for demos, tests and benchmarks: arrays, no files."""

from __future__ import annotations

from geodomain.synthetic.across import SegmentChunk, segments_across
from geodomain.synthetic.blocks import BlockTable
from geodomain.synthetic.deposit import Deposit, deposit
from geodomain.synthetic.scenes import (
    MINE,
    Axes,
    lattice_over,
    staircase,
    star_shaped_orebody,
    terrain,
)
from geodomain.synthetic.undulation import undulating_terrain

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
