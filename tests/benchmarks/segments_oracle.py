"""Compare a million segments with oracles in exact arithmetic, on every backend that is there.

From the root of the checkout, for some minutes:

    PYTHONPATH=tests/helpers python tests/benchmarks/segments_oracle.py

A third have their ends on a lattice that the mesh's corners are on too, so that they end on
faces, edges and vertices and run along edges and in planes; the others end anywhere.
"""

from __future__ import annotations

import sys

import numpy as np
from crossings import crossing, lattice_crossings, lattice_scene

from geodomain import Hits, Mesh, SegmentIntersector
from geodomain.errors import DeviceError

MILLION = 1_000_000
PART = 5_000


def backends() -> list[str]:
    try:
        SegmentIntersector(Mesh([[0, 0, 0]], []), backend="cuda")
    except DeviceError as error:
        sys.stdout.write(f"the CPU only: {error}\n")
        return ["cpu"]
    return ["cpu", "cuda"]


def whole_crossings(mesh: Mesh, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return (n, t) bool for multiples of 2^-12 up to 8: ties, which are few, by fractions."""
    scale = 2**12
    corners = np.array(mesh.vertices[mesh.triangles.T] * scale, dtype=np.int64)
    start = np.array(starts * scale, dtype=np.int64)[:, None]
    along = np.array(ends * scale, dtype=np.int64)[:, None] - start
    a, b, c = corners[:, None] - start
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])[None]
    before = (normal * a).sum(axis=-1)
    after = before - (normal * along).sum(axis=-1)
    w = [(np.cross(p, q) * along).sum(axis=-1) for p, q in ((a, b), (b, c), (c, a))]
    signs = [np.sign(volume) for volume in (before, -after, *w)]
    crossed = np.logical_and.reduce([sign == signs[0] for sign in signs[1:]])
    tied = np.logical_or.reduce([sign == 0 for sign in signs])
    for row, index in np.argwhere(tied):
        triangle = mesh.vertices[mesh.triangles[index]]
        crossed[row, index] = crossing(starts[row], ends[row], triangle) is not None
    return crossed


def differences(hits: Hits, expected: np.ndarray) -> int:
    found = np.zeros_like(expected)
    found[hits.segment, hits.triangle] = True
    return int((found != expected).sum()) + abs(len(hits) - int(found.sum()))


def main() -> None:
    names = backends()
    wrong, total, crossed = dict.fromkeys(names, 0), 0, 0
    for part in range(MILLION // PART):
        mesh, starts, ends = lattice_scene(part % 20, PART)
        oracle = lattice_crossings
        if part % 3:
            rng = np.random.default_rng(part)
            starts, ends = np.round(rng.random((2, PART, 3)) * 8 * 2**12) / 2**12
            oracle = whole_crossings
        expected = oracle(mesh, starts, ends)
        crossed += int(expected.sum())
        total += PART
        for name in names:
            intersector = SegmentIntersector(mesh, backend=name)
            hits = intersector.intersect((starts, ends), mode="all")
            wrong[name] += differences(hits, expected)
        if part % 20 == 19:
            sys.stdout.write(f"{total:,} segments, {crossed:,} crossings, wrong: {wrong}\n")
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
