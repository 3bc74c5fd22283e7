"""What the kernels of distances do, for the stand-in driver: answers by the CPU's core."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_kernels import points_of, unpacked

from geodomain.backends import layout
from geodomain.backends.cpu.nearest import CpuNearestIndex

Kernel = Callable[[Any, bytes, int], None]


def codes(fake: Any, packed: bytes, threads: int) -> None:
    """Put the rows in the order in which they are."""
    _, rows, _, codes_at, order_at = unpacked(packed, "PointsView", "q", "BoxFrame", "Q", "Q")
    assert threads >= rows
    fake.at(codes_at, rows, np.uint64)[:] = np.arange(rows)
    fake.at(order_at, rows, np.int32)[:] = np.arange(rows)


def packets(fake: Any, packed: bytes, threads: int) -> None:
    _, count, _, out_at = unpacked(packed, "Q", "q", "BoxFrame", "Q")
    assert threads >= count
    fake.at(out_at, layout.structure("Cylinder").size * count)


def nodes(fake: Any, packed: bytes, threads: int) -> None:
    _, begin, end, out_at, _ = unpacked(packed, "Q", "q", "q", "Q", "Q")
    assert threads >= end - begin
    fake.at(out_at, layout.structure("Cylinder").size * end)


def nearest(fake: Any, packed: bytes, threads: int) -> None:
    view, points, order_at, rows, whole, out_at, refused_at = unpacked(
        packed, "NearestView", "PointsView", "Q", "q", "i", "Q", "Q"
    )
    assert threads >= rows
    assert sorted(fake.at(order_at, rows, np.int32)) == list(range(rows))
    vertices, triangles = fake.surfaces[int(view["bvh"]["packets"])]
    bounds = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    mesh = SimpleNamespace(vertices=vertices, triangles=triangles, bounds=bounds)
    found = np.empty((rows, 5))
    distance, triangle, place = np.empty(rows), np.empty(rows, np.int32), np.empty((rows, 3))
    refused = CpuNearestIndex(mesh, threads=1).nearest(
        points_of(fake, points, rows), distance, 1, triangle=triangle, place=place
    )
    found[:, 0], found[:, 1:4], found[:, 4] = distance, place, triangle
    wanted = found if whole else distance
    fake.at(out_at, wanted.size, np.float64)[:] = wanted.ravel()
    if refused >= 0:
        fake.at(refused_at, 1, np.uint64)[0] = refused


KERNELS: dict[str, Kernel] = {
    "geodomain_distance_codes": codes,
    "geodomain_distance_packets": packets,
    "geodomain_distance_nodes": nodes,
    "geodomain_distance_nearest": nearest,
}
