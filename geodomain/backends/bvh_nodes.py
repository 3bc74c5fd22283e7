"""The nodes of a hierarchy as arrays, for a look at them; see kernels/bvh.h."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODE = np.dtype(
    [
        ("origin", np.float32, 3),
        ("exponent", np.int8, 3),
        ("inner", np.uint8),
        ("child", np.uint32),
        ("packet", np.uint32),
        ("leaf", np.uint8),
        ("unused", np.uint8, 7),
        ("low", np.uint8, (3, 8)),
        ("high", np.uint8, (3, 8)),
    ]
)
FRAME = np.dtype(
    [("centre", np.float64, 3), ("scale", np.float64, 3), ("share", np.float32, 3)], align=True
)
BINS = np.dtype([("frame", FRAME), ("size", np.uint32, 3), ("count", np.uint32)], align=True)


def boxes_of_levels(nodes: Any, firsts: Sequence[int], frame: Any) -> list[Floats]:
    """Return the boxes in the nodes of each level, (k, 2, 3); `firsts` ends with their number."""
    return [_boxes(nodes[begin:end], frame) for begin, end in pairwise(firsts)]


def _boxes(nodes: Any, frame: Any) -> Floats:
    """Return the boxes in nodes' slots in the mesh's coordinates, (k, 2, 3)."""
    steps = np.ldexp(1.0, nodes["exponent"].astype(np.int32))[:, :, None]
    origin = nodes["origin"].astype(np.float64)[:, :, None]
    corners = [(origin + nodes[side] * steps).transpose(0, 2, 1) for side in ("low", "high")]
    there = np.unpackbits((nodes["inner"] | nodes["leaf"])[:, None], axis=1, bitorder="little")
    boxes = np.stack(corners, axis=2)[there.astype(bool)]
    scaled: Floats = boxes / frame["scale"] + frame["centre"]
    return scaled
