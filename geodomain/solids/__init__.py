"""Unite, intersect, subtract, clip, extrude, repair and split solids, and measure overlaps."""

from __future__ import annotations

from geodomain.solids.making import SplitResult, VolumeMatrix, extrude, repair, split, volumes
from geodomain.solids.mending import Change
from geodomain.solids.operations import between, box, clip, intersect, subtract, union
from geodomain.solids.proof import Proof
from geodomain.solids.results import SolidInput, SolidResult

__all__ = [
    "Change",
    "Proof",
    "SolidInput",
    "SolidResult",
    "SplitResult",
    "VolumeMatrix",
    "between",
    "box",
    "clip",
    "extrude",
    "intersect",
    "repair",
    "split",
    "subtract",
    "union",
    "volumes",
]
