"""What the kernels of shares do, for the stand-in driver: answers by the CPU's core."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_kernels import append, mesh_of, unpacked

from geodomain.compute import cpu, layout
from geodomain.compute.api import BlockAnswer
from geodomain.compute.cpu import CpuBlockIndex

Kernel = Callable[[Any, bytes, int], None]


def _edges(fake: Any, lattice: Any) -> tuple[np.ndarray, ...]:
    rulers = [lattice[axis] for axis in "xyz"]
    return tuple(fake.at(int(r["value"]), int(r["count"]), np.float64).copy() for r in rulers)


def _window(lattice: Any) -> tuple[int, int]:
    return int(lattice["x_begin"]), int(lattice["x_end"])


def count(fake: Any, packed: bytes, threads: int) -> None:
    """Give every triangle as many columns as its number has, some of them none."""
    lattice, mesh, weights_at, counts_at = unpacked(packed, "ShareLattice", "MeshView", "Q", "Q")
    triangles = int(mesh["triangle_count"])
    assert threads >= triangles
    fake.at(weights_at, triangles, np.int8)
    begin, end = _window(lattice)
    x, y, z = _edges(fake, lattice)
    assert 0 <= begin < end <= len(x) - 1
    columns, depth = (end - begin) * (len(y) - 1), len(z) - 1
    assert int(lattice["words"]) == (depth + 63) // 64
    assert not fake.at(int(lattice["steps"]), columns * depth, np.uint64).any()
    assert not fake.at(int(lattice["entered"]), columns * int(lattice["words"]), np.uint64).any()
    fake.at(counts_at, triangles, np.uint64)[:] = np.arange(triangles) % 3


def shed(fake: Any, packed: bytes, threads: int) -> None:
    """Remember the mesh and the weights."""
    _, mesh, weights_at, starts_at, pairs = unpacked(
        packed, "ShareLattice", "MeshView", "Q", "Q", "Q"
    )
    triangles = int(mesh["triangle_count"])
    counts = np.arange(triangles, dtype=np.uint64) % 3
    assert threads >= pairs == counts.sum()
    starts = fake.at(starts_at, triangles, np.uint64)
    np.testing.assert_array_equal(starts, np.cumsum(counts) - counts)
    fake.shed = (*mesh_of(fake, mesh), fake.at(weights_at, triangles, np.int8).copy())


def settle(fake: Any, packed: bytes, threads: int) -> None:
    """Write the shares of the layers that are asked about, of the whole lattice's."""
    lattice, labels_at, mixed_at = unpacked(packed, "ShareLattice", "Q", "Q")
    vertices, triangles, weights = fake.shed
    (begin, end), edges = _window(lattice), _edges(fake, lattice)
    counts, words = [len(axis) - 1 for axis in edges], int(lattice["words"])
    assert threads // 32 * layout.constant("kColumnsOfWarp") >= (end - begin) * counts[1]
    labels = np.zeros((*counts[:2], words), np.uint64)
    there = fake.at(labels_at, (end - begin) * counts[1] * words, np.uint64)
    labels[begin:end] = there.reshape(end - begin, counts[1], words)
    out = np.empty(counts)
    mesh = SimpleNamespace(vertices=vertices, triangles=triangles)
    cpu.lattice_shares(mesh, weights, edges, labels, out, 1)
    part = out[begin:end]
    fake.at(int(lattice["steps"]), part.size, np.float64)[:] = part.ravel()
    mixed = fake.at(mixed_at, 1, np.uint64)
    assert mixed[0] == 0
    mixed[0] = ((part > 0) & (part < 1)).sum()


def _index(fake: Any, view: Any) -> CpuBlockIndex:
    """Return the CPU's index of what a BlocksView has, having looked at its trees."""
    vertices, triangles = mesh_of(fake, view["mesh"])
    edges = sum(_leaves(fake, view["rim"]))
    assert sum(_leaves(fake, view["tree"])) == len(triangles)
    rim = fake.at(int(view["edges"]), 6 * edges, np.float64).reshape(-1, 2, 3).copy()
    return CpuBlockIndex(SimpleNamespace(vertices=vertices, triangles=triangles), rim)


def _leaves(fake: Any, tree: Any) -> list[int]:
    """Return the numbers of leaves of the nodes of a tree that have no children."""
    count = int(tree["node_count"])
    if count == 0:
        return []
    raw = fake.at(int(tree["nodes"]), layout.structure("BoxNode").size * count)
    begin, end, right = raw.view(np.int32).reshape(count, -1)[:, 12:15].T
    fake.at(int(tree["leaves"]), layout.structure("BoxLeaf").size * int(end.max(initial=0)))
    return (end - begin)[right == 0].tolist()


def _corners(fake: Any, lows_at: int, highs_at: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = (fake.at(at, 3 * rows, np.float64).reshape(-1, 3) for at in (lows_at, highs_at))
    return low.copy(), high.copy()


def answer(fake: Any, packed: bytes, threads: int) -> None:
    view, lows_at, highs_at, rows, answers_at, entered = unpacked(
        packed, "BlocksView", *"QQqQ", "RowList"
    )
    assert threads >= rows
    corners, out = _corners(fake, lows_at, highs_at, rows), np.empty(rows)
    found = _index(fake, view).shares(None, *corners, out, 1, wound=False, lines=1, single=0.0)
    fake.at(answers_at, rows)[:] = found
    append(fake, entered, np.flatnonzero(found == BlockAnswer.BY_LINES)[::-1])
    fake.asked_rows = rows


def share(fake: Any, packed: bytes, threads: int) -> None:
    view, weights_at, lows_at, highs_at, single, rows_at, count_at, shares_at, answers_at = (
        unpacked(packed, "BlocksView", *"QQQdQQQQ")
    )
    listed = fake.at(rows_at, int(fake.at(count_at, 1, np.uint32)[0]), np.uint32)
    rows = fake.asked_rows
    weights = fake.at(weights_at, int(view["mesh"]["triangle_count"]), np.int8).copy()
    corners, out = _corners(fake, lows_at, highs_at, rows), np.empty(rows)
    found = _index(fake, view).shares(
        weights, *corners, out, 1, wound=False, lines=1, single=single
    )
    fake.at(answers_at, rows)[listed] = found[listed]
    fake.at(shares_at, rows, np.float64)[listed] = out[listed]


KERNELS: dict[str, Kernel] = {
    "geodomain_shares_count": count,
    "geodomain_shares_shed": shed,
    "geodomain_shares_settle": settle,
    "geodomain_blocks_answer": answer,
    "geodomain_blocks_share": share,
}
