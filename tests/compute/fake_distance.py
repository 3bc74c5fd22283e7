"""What the kernels of distances do, for the stand-in driver: answers by the CPU's core."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_kernels import mesh_of, points_of, unpacked

from geodomain.compute import layout
from geodomain.compute.cpu import CpuNearestIndex

Kernel = Callable[[Any, bytes, int], None]


def draw_points(fake: Any, packed: bytes, threads: int) -> None:
    """Put every row into the first bin, in the order in which they are."""
    bins, _, rows, counts_at, tickets_at = unpacked(packed, "CurveBins", "PointsView", *"IQQ")
    assert threads >= rows
    fake.at(counts_at, 1 << int(bins["bits"]), np.uint32)[0] = rows
    ticket = layout.structure("BinTicket")
    tickets = fake.at(tickets_at, rows * ticket.size).view(ticket.dtype)
    tickets["bin"], tickets["number"] = 0, np.arange(rows)


def packets(fake: Any, packed: bytes, threads: int) -> None:
    _, count, _, _, out_at, rows_at = unpacked(packed, "Q", "q", "BoxFrame", "MeshView", "Q", "Q")
    assert threads >= count
    fake.at(out_at, layout.structure("Cylinder").size * count)
    fake.at(rows_at, layout.structure("FlatRow").size * layout.constant("kDevicePacket") * count)


def nodes(fake: Any, packed: bytes, threads: int) -> None:
    _, begin, end, _, to_at, out_at, _ = unpacked(packed, "Q", "q", "q", "BoxFrame", "Q", "Q", "Q")
    assert threads >= end - begin
    fake.at(to_at, layout.structure("NearestNode").size * end)
    fake.at(out_at, layout.structure("Cylinder").size * end)


def note(fake: Any, packed: bytes, threads: int) -> None:
    """Find nothing: `inside` looks at all."""
    view, _, order_at, rows, noted_at = unpacked(packed, "NearestView", "PointsView", "Q", "q", "Q")
    assert threads >= rows
    mesh_of(fake, view["mesh"])
    assert sorted(fake.at(order_at, rows, np.int32)) == list(range(rows))
    fake.at(noted_at, layout.constant("kMostNoted") * rows, np.int32)[:rows] = -1


def inside(fake: Any, packed: bytes, threads: int) -> None:
    view, points, _, rows, noted_at, whole, out_at, refused_at, on_edges, others = unpacked(
        packed, "MeshView", "PointsView", "Q", "q", "Q", "i", "Q", "Q", "RowList", "RowList"
    )
    assert threads >= rows
    for left in (on_edges, others):
        fake.at(left["rows"], rows, np.uint32)
        assert fake.at(left["count"], 1, np.uint32)[0] == 0
    assert (fake.at(noted_at, rows, np.int32) == -1).all()
    vertices, triangles = mesh_of(fake, view)
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


def listed(fake: Any, packed: bytes, threads: int) -> None:
    """Find none: `inside` left none."""
    *_, left = unpacked(packed, "MeshView", "PointsView", "Q", "q", "Q", "i", "Q", "RowList")
    assert fake.at(left["count"], 1, np.uint32)[0] == 0


def rest(fake: Any, packed: bytes, threads: int) -> None:
    """Find none: `note` had room for all."""
    _, _, _, rows, noted_at, _, _ = unpacked(
        packed, "NearestView", "PointsView", "Q", "q", "Q", "i", "Q"
    )
    assert threads >= rows
    assert (fake.at(noted_at, rows, np.int32) == -1).all()


KERNELS: dict[str, Kernel] = {
    "geodomain_bins_draw_points": draw_points,
    "geodomain_distance_packets": packets,
    "geodomain_distance_nodes": nodes,
    "geodomain_distance_note": note,
    "geodomain_distance_inside": inside,
    "geodomain_distance_edges": listed,
    "geodomain_distance_others": listed,
    "geodomain_distance_rest": rest,
}
