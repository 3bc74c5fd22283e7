"""What the kernels of segments do, for the stand-in driver: answers by the CPU's core.

A hierarchy is one node of rubbish and packets that stand for the mesh they were filled from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_kernels import append, mesh_of, unpacked

from geodomain.compute import cpu as cpu_segments
from geodomain.compute import layout

Kernel = Callable[[Any, bytes, int], None]


def _mesh(fake: Any, view: Any) -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = mesh_of(fake, view)
    return vertices.copy(), triangles.copy()


def _surface(vertices: np.ndarray, triangles: np.ndarray) -> cpu_segments.CpuSegmentIndex:
    bounds = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    return cpu_segments.CpuSegmentIndex(
        SimpleNamespace(vertices=vertices, triangles=triangles, bounds=bounds),
        strategy="bvh",
        threads=1,
    )


def _packed(fake: Any, place: int, rows: int) -> Any:
    return SimpleNamespace(packed=fake.at(place, 6 * rows, np.float64).reshape(-1, 6).copy())


def nothing(fake: Any, packed: bytes, threads: int) -> None:
    """Do nothing."""


def begin(fake: Any, packed: bytes, threads: int) -> None:
    _, wide = unpacked(packed, "BinaryTree", "WideTree")
    fake.at(int(wide["packet_count"]), 1, np.uint32)[0] = 0
    sizes = fake.at(int(wide["level_sizes"]), layout.constant("kLevels"), np.uint32)
    sizes[:] = 0
    sizes[0] = 1


def gather(fake: Any, packed: bytes, threads: int) -> None:
    """Make the one node of the first level, with a packet for as many triangles as one takes."""
    tree, wide, level = unpacked(packed, "BinaryTree", "WideTree", "i")
    if level == 0:
        fake.at(int(wide["nodes"]), layout.structure("WideNode").size)[:] = 0
        packets = -(-int(tree["leaf_count"]) // layout.constant("kDevicePacket"))
        fake.at(int(wide["packet_count"]), 1, np.uint32)[0] = packets


def fill(fake: Any, packed: bytes, threads: int) -> None:
    view, _, _, count, packets_at = unpacked(packed, "MeshView", *"QQIQ")
    mesh = _mesh(fake, view)
    assert threads >= layout.constant("kDevicePacket") * count >= len(mesh[1])
    fake.at(packets_at, layout.structure("Packet").size * count)
    fake.surfaces[packets_at] = mesh


def _view(fake: Any, packed: bytes, places: int) -> tuple[Any, Any, list[int], Any]:
    """Return the surface, the rows, the places of the answers, and the list of what is unsure."""
    bvh, rows, *answers, unsure = unpacked(
        packed, "BvhView", "SegmentRows", *"Q" * places, "RowList"
    )
    return _surface(*fake.surfaces[int(bvh["packets"])]), rows, answers, unsure


def quick(places: int) -> Kernel:
    def kernel(fake: Any, packed: bytes, threads: int) -> None:
        """Be unsure of every row, in the order given, if there is one."""
        _, view, _, unsure = _view(fake, packed, places)
        assert fake.at(int(unsure["count"]), 1, np.uint32)[0] == 0, "the list was not emptied"
        rows, order_at = int(view["count"]), int(view["order"])
        append(fake, unsure, fake.at(order_at, rows, np.uint32) if order_at else np.arange(rows))

    return kernel


def full(question: str, dtype: Any) -> Kernel:
    def kernel(fake: Any, packed: bytes, threads: int) -> None:
        surface, view, (out_at,), unsure = _view(fake, packed, 1)
        count = int(fake.at(int(unsure["count"]), 1, np.uint32)[0])
        listed, rows = fake.at(int(unsure["rows"]), count, np.uint32), int(view["count"])
        answers = getattr(surface, question)(_packed(fake, int(view["segments"]), rows), 1)
        fake.at(out_at, rows, dtype)[listed] = answers[listed]

    return kernel


def _found(surface: Any, segments: Any, offsets: np.ndarray) -> np.ndarray:
    triangle = surface.all(segments, offsets, 1)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    found = layout.structure("Found").empty(len(triangle))
    found["t"] = surface.describe(segments, rows, triangle, 1)[:, 0]
    found["triangle"] = triangle
    return found


def all_full(fake: Any, packed: bytes, threads: int) -> None:
    surface, view, (firsts_at, out_at), _ = _view(fake, packed, 2)
    rows = int(view["count"])
    offsets = fake.at(firsts_at, rows + 1, np.int64).copy()
    found = _found(surface, _packed(fake, int(view["segments"]), rows), offsets)
    _hits(fake, out_at, offsets[-1])[:] = found


def _hits(fake: Any, place: int, count: int) -> np.ndarray:
    return fake.at(place, count, layout.structure("Found").dtype)


def describe(fake: Any, packed: bytes, threads: int) -> None:
    mesh, ends_at, rows_at, crossed_at, hits, out_at = unpacked(packed, "MeshView", *"QQQqQ")
    rows, crossed = fake.at(rows_at, hits, np.int64), fake.at(crossed_at, hits, np.int32)
    segments = _packed(fake, ends_at, int(rows.max()) + 1)
    found = _surface(*_mesh(fake, mesh)).describe(segments, rows.copy(), crossed.copy(), 1)
    fake.at(out_at, 7 * hits, np.float64)[:] = found.ravel()


def _tickets(fake: Any, place: int, rows: int) -> np.ndarray:
    ticket = layout.structure("BinTicket")
    return fake.at(place, rows * ticket.size).view(ticket.dtype)


def draw(fake: Any, packed: bytes, threads: int) -> None:
    """Put every row into the first bin, the last one first."""
    _, _, rows, counts_at, tickets_at = unpacked(packed, "Bins", *"QIQQ")
    fake.at(counts_at, 1, np.uint32)[0] = rows
    tickets = _tickets(fake, tickets_at, rows)
    tickets["bin"], tickets["number"] = 0, np.arange(rows)[::-1]


def order(fake: Any, packed: bytes, threads: int) -> None:
    tickets_at, rows, _, order_at = unpacked(packed, *"QIQQ")
    fake.at(order_at, rows, np.uint32)[:] = _tickets(fake, tickets_at, rows)["number"]


def _brute(fake: Any, packed: bytes, threads: int, places: int) -> tuple[Any, Any, list[int]]:
    view, ends_at, rows, *answers = unpacked(packed, "BruteView", *"QI", *"Q" * places)
    vertices, triangles = _mesh(fake, view["mesh"])
    block = layout.constant("kBlockThreads")
    assert threads == block * len(triangles)  # a block to a triangle
    return _surface(vertices, triangles), _packed(fake, ends_at, rows), answers


def brute_boolean(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (out_at,) = _brute(fake, packed, threads, 1)
    found = surface.boolean(segments, 1)
    fake.at(out_at, len(found))[found] = 1


def brute_count(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (out_at,) = _brute(fake, packed, threads, 1)
    found = surface.count(segments, 1)
    fake.at(out_at, len(found), np.int32)[:] += found


def brute_least(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (least_at,) = _brute(fake, packed, threads, 1)
    least = fake.at(least_at, len(segments.packed), np.uint64)
    assert (least == 2**64 - 1).all()
    least[surface.boolean(segments, 1)] = 0


def brute_nearest(fake: Any, packed: bytes, threads: int) -> None:
    surface, segments, (least_at, out_at) = _brute(fake, packed, threads, 2)
    hit = fake.at(least_at, len(segments.packed), np.uint64) == 0
    fake.at(out_at, len(hit), np.int32)[hit] = surface.nearest(segments, 1)[hit]


def brute_all(fake: Any, packed: bytes, threads: int) -> None:
    """Leave every segment's crossings in the wrong order."""
    surface, segments, (firsts_at, taken_at, out_at) = _brute(fake, packed, threads, 3)
    assert not fake.at(taken_at, len(segments.packed), np.uint32).any()
    offsets = fake.at(firsts_at, len(segments.packed) + 1, np.int64).copy()
    found = _found(surface, segments, offsets)
    out = _hits(fake, out_at, len(found))
    for begin, end in itertools.pairwise(offsets):
        out[begin:end] = found[begin:end][::-1]


def brute_sort(fake: Any, packed: bytes, threads: int) -> None:
    rows, firsts_at, out_at = unpacked(packed, "I", "Q", "Q")
    offsets = fake.at(firsts_at, rows + 1, np.int64)
    out = _hits(fake, out_at, offsets[-1])
    for begin, end in itertools.pairwise(offsets):
        out[begin:end] = np.sort(out[begin:end], order=["t", "triangle"])


KERNELS: dict[str, Kernel] = {
    **{f"geodomain_bvh_{step}": nothing for step in ("boxes", "codes", "climb")},
    **{f"geodomain_radix_{step}": nothing for step in ("count", "add_up", "scatter")},
    "geodomain_bvh_begin": begin,
    "geodomain_bvh_gather": gather,
    "geodomain_bvh_fill": fill,
    **{f"geodomain_segments_{name}": quick(1) for name in ("boolean", "count", "nearest")},
    "geodomain_segments_all": quick(2),
    "geodomain_segments_boolean_full": full("boolean", np.bool_),
    "geodomain_segments_count_full": full("count", np.int32),
    "geodomain_segments_nearest_full": full("nearest", np.int32),
    "geodomain_segments_all_full": all_full,
    "geodomain_segments_describe": describe,
    "geodomain_bins_draw": draw,
    "geodomain_bins_add_up": nothing,
    "geodomain_bins_begin": nothing,
    "geodomain_bins_order": order,
    "geodomain_brute_boolean": brute_boolean,
    "geodomain_brute_count": brute_count,
    "geodomain_brute_least": brute_least,
    "geodomain_brute_nearest": brute_nearest,
    "geodomain_brute_all": brute_all,
    "geodomain_brute_sort": brute_sort,
}
