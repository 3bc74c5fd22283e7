"""The nodes of a hierarchy as arrays, for inspection; see kernels/bvh/nodes.h."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def boxes_of_levels(nodes: NDArray[np.void], firsts: Sequence[int], frame: np.void) -> list[Floats]:
    """Return the boxes in the nodes of each level, (k, 2, 3); `firsts` ends with their number."""
    return [_boxes(nodes[begin:end], frame) for begin, end in pairwise(firsts)]


def _boxes(nodes: NDArray[np.void], frame: np.void) -> Floats:
    """Return the boxes in nodes' slots in the mesh's coordinates, (k, 2, 3)."""
    steps = np.ldexp(1.0, nodes["exponent"].astype(np.int32))[:, :, None]
    origin = nodes["origin"].astype(np.float64)[:, :, None]
    corners = [
        (origin + _bytes(nodes[side]) * steps).transpose(0, 2, 1) for side in ("low", "high")
    ]
    there = np.unpackbits((nodes["inner"] | nodes["leaf"])[:, None], axis=1, bitorder="little")
    boxes = np.stack(corners, axis=2)[there.astype(bool)]
    scaled: Floats = boxes / frame["scale"] + frame["centre"]
    return scaled


def _bytes(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bytes of words, the lowest first, along a new last axis."""
    rows = np.ascontiguousarray(words, dtype="<u8")[..., None]
    return rows.view(np.uint8)
