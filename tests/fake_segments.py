"""What the kernels of segments do, for the stand-in driver: answers by the CPU's core.

A hierarchy is one node of rubbish and packets that stand for the mesh they were filled from.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from geodomain.backends import cpu_segments
from geodomain.backends.bvh_nodes import FRAME, NODE

MESH_VIEW, TREE_VIEW = 24, 72
BVH_VIEW = 24 + FRAME.itemsize  # nodes, packets, frame, triangle count
BRUTE_VIEW = MESH_VIEW + 8 + FRAME.itemsize
ROWS, LIST = 24, 16
Kernel = Callable[[Any, bytes, int], None]


def _mesh(fake: Any, view: bytes) -> tuple[np.ndarray, np.ndarray]:
    vertices_at, triangles_at, count = struct.unpack_from("@QQq", view)
    triangles = fake.at(triangles_at, 3 * count, np.int32).reshape(-1, 3).copy()
    vertices = fake.at(vertices_at, 3 * (int(triangles.max()) + 1), np.float64)
    return vertices.reshape(-1, 3).copy(), triangles


def _surface(vertices: np.ndarray, triangles: np.ndarray) -> cpu_segments.Surface:
    bounds = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    return cpu_segments.Surface(vertices, triangles, bounds, strategy="bvh", grid=None, threads=1)


def _packed(fake: Any, place: int, rows: int) -> Any:
    return SimpleNamespace(packed=fake.at(place, 6 * rows, np.float64).reshape(-1, 6).copy())


def nothing(fake: Any, packed: bytes, threads: int) -> None:
    """Do nothing."""


def begin(fake: Any, packed: bytes, threads: int) -> None:
    *_, counts_at, sizes_at = struct.unpack_from("@QQQQQ", packed, TREE_VIEW)
    fake.at(counts_at, 1, np.uint32)[0] = 0
    sizes = fake.at(sizes_at, 97, np.uint32)
    sizes[:] = 0
    sizes[0] = 1


def gather(fake: Any, packed: bytes, threads: int) -> None:
    """Make the one node of the first level, with a packet for every two triangles."""
    nodes_at, _, _, counts_at, _ = struct.unpack_from("@QQQQQ", packed, TREE_VIEW)
    (level,) = struct.unpack_from("@i", packed, TREE_VIEW + 40)
    if level == 0:
        fake.at(nodes_at, NODE.itemsize)[:] = 0
        triangles = struct.unpack_from("@i", packed)[0]
        fake.at(counts_at, 1, np.uint32)[0] = -(-triangles // 2)


def fill(fake: Any, packed: bytes, threads: int) -> None:
    _, _, count, packets_at = struct.unpack_from("@QQIQ", packed, MESH_VIEW)
    mesh = _mesh(fake, packed)
    assert threads >= 2 * count >= len(mesh[1])
    fake.at(packets_at, 160 * count)
    fake.surfaces[packets_at] = mesh


def _view(fake: Any, packed: bytes) -> tuple[Any, tuple[int, int, int], tuple[Any, ...], int, int]:
    """Return the surface, the rows, the places of the answers, and the list of what is unsure."""
    _, packets_at = struct.unpack_from("@QQ", packed)
    rows = struct.unpack_from("@QQI", packed, BVH_VIEW)
    *places, unsure_at, count_at = struct.unpack_from(
        f"@{(len(packed) - BVH_VIEW - ROWS) // 8}Q", packed, BVH_VIEW + ROWS
    )
    return _surface(*fake.surfaces[packets_at]), rows, tuple(places), unsure_at, count_at


def quick(fake: Any, packed: bytes, threads: int) -> None:
    """Be unsure of every row, in the order given, if there is one."""
    _, (_, order_at, rows), _, unsure_at, count_at = _view(fake, packed)
    count = fake.at(count_at, 1, np.uint32)
    assert count[0] == 0, "the list was not emptied"
    order = fake.at(order_at, rows, np.uint32) if order_at else np.arange(rows)
    fake.at(unsure_at, rows, np.uint32)[:] = order
    count[0] = rows


def full(question: str, dtype: Any) -> Kernel:
    def kernel(fake: Any, packed: bytes, threads: int) -> None:
        surface, (ends_at, _, rows), (out_at,), unsure_at, count_at = _view(fake, packed)
        listed = fake.at(unsure_at, int(fake.at(count_at, 1, np.uint32)[0]), np.uint32)
        answers = getattr(surface, question)(_packed(fake, ends_at, rows), 1)
        fake.at(out_at, rows, dtype)[listed] = answers[listed]

    return kernel


def _found(surface: Any, segments: Any, offsets: np.ndarray) -> np.ndarray:
    triangle = surface.all(segments, offsets, 1)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    found = np.empty(len(triangle), dtype=cpu_segments.FOUND)
    found["t"] = surface.describe(segments, rows, triangle, 1)[:, 0]
    found["triangle"] = triangle
    return found


def all_full(fake: Any, packed: bytes, threads: int) -> None:
    surface, (ends_at, _, rows), (firsts_at, out_at), *_ = _view(fake, packed)
    offsets = fake.at(firsts_at, rows + 1, np.int64).copy()
    found = _found(surface, _packed(fake, ends_at, rows), offsets)
    fake.at(out_at, offsets[-1], cpu_segments.FOUND)[:] = found


def describe(fake: Any, packed: bytes, threads: int) -> None:
    ends_at, rows_at, crossed_at, hits, out_at = struct.unpack_from("@QQQqQ", packed, MESH_VIEW)
    rows, crossed = fake.at(rows_at, hits, np.int64), fake.at(crossed_at, hits, np.int32)
    segments = _packed(fake, ends_at, int(rows.max()) + 1)
    found = _surface(*_mesh(fake, packed)).describe(segments, rows.copy(), crossed.copy(), 1)
    fake.at(out_at, 7 * hits, np.float64)[:] = found.ravel()


def draw(fake: Any, packed: bytes, threads: int) -> None:
    """Put every row into the first bin, the last one first."""
    *_, rows, counts_at, tickets_at = struct.unpack("@QIQQ", packed[-32:])
    fake.at(counts_at, 1, np.uint32)[0] = rows
    fake.at(tickets_at, rows, np.uint64)[:] = np.arange(rows)[::-1]


def order(fake: Any, packed: bytes, threads: int) -> None:
    tickets_at, rows, _, order_at = struct.unpack("@QIQQ", packed)
    fake.at(order_at, rows, np.uint32)[:] = fake.at(tickets_at, rows, np.uint64)


def _brute(fake: Any, packed: bytes, threads: int) -> tuple[Any, Any, tuple[int, ...]]:
    ends_at, rows, *places = struct.unpack_from(
        f"@QI{(len(packed) - BRUTE_VIEW - 16) // 8}Q", packed, BRUTE_VIEW
    )
    vertices, triangles = _mesh(fake, packed)
    assert threads == 128 * len(triangles)  # a block to a triangle
    return _surface(vertices, triangles), _packed(fake, ends_at, rows), tuple(places)


def brute_boolean(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (out_at,) = _brute(fake, packed, threads)
    found = surface.boolean(segments, 1)
    fake.at(out_at, len(found))[found] = 1


def brute_count(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (out_at,) = _brute(fake, packed, threads)
    found = surface.count(segments, 1)
    fake.at(out_at, len(found), np.int32)[:] += found


def brute_least(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (least_at,) = _brute(fake, packed, threads)
    least = fake.at(least_at, len(segments.packed), np.uint64)
    assert (least == 2**64 - 1).all()
    least[surface.boolean(segments, 1)] = 0


def brute_nearest(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (least_at, out_at) = _brute(fake, packed, threads)
    hit = fake.at(least_at, len(segments.packed), np.uint64) == 0
    fake.at(out_at, len(hit), np.int32)[hit] = surface.nearest(segments, 1)[hit]


def brute_all(fake: Any, packed: bytes, threads: int) -> None:
    """Leave every segment's crossings in the wrong order."""
    surface, segments, (firsts_at, taken_at, out_at) = _brute(fake, packed, threads)
    assert not fake.at(taken_at, len(segments.packed), np.uint32).any()
    offsets = fake.at(firsts_at, len(segments.packed) + 1, np.int64).copy()
    found = _found(surface, segments, offsets)
    out = fake.at(out_at, len(found), cpu_segments.FOUND)
    for begin, end in itertools.pairwise(offsets):
        out[begin:end] = found[begin:end][::-1]


def brute_sort(fake: Any, packed: bytes, threads: int) -> None:
    rows, firsts_at, out_at = struct.unpack("@IQQ", packed)
    offsets = fake.at(firsts_at, rows + 1, np.int64)
    out = fake.at(out_at, offsets[-1], cpu_segments.FOUND)
    for begin, end in itertools.pairwise(offsets):
        out[begin:end] = np.sort(out[begin:end], order=["t", "triangle"])


KERNELS: dict[str, Kernel] = {
    **{f"geodomain_bvh_{step}": nothing for step in ("boxes", "codes", "climb")},
    **{f"geodomain_radix_{step}": nothing for step in ("count", "add_up", "scatter")},
    "geodomain_bvh_begin": begin,
    "geodomain_bvh_gather": gather,
    "geodomain_bvh_fill": fill,
    **{f"geodomain_segments_{name}": quick for name in ("boolean", "count", "nearest", "all")},
    "geodomain_segments_boolean_full": full("boolean", np.bool_),
    "geodomain_segments_count_full": full("count", np.int32),
    "geodomain_segments_nearest_full": full("nearest", np.int32),
    "geodomain_segments_all_full": all_full,
    "geodomain_segments_describe": describe,
    "geodomain_bins_draw": draw,
    "geodomain_bins_begin": nothing,
    "geodomain_bins_order": order,
    "geodomain_brute_boolean": brute_boolean,
    "geodomain_brute_count": brute_count,
    "geodomain_brute_least": brute_least,
    "geodomain_brute_nearest": brute_nearest,
    "geodomain_brute_all": brute_all,
    "geodomain_brute_sort": brute_sort,
}
