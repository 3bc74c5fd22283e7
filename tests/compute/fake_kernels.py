"""What the kernels do, for the stand-in driver: arguments decoded, answers by the CPU's core."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from geodomain.compute import cpu, layout

ALL_ONES = np.uint64(2**64 - 1)


def unpacked(packed: bytes, *kinds: str) -> list[Any]:
    """Return a kernel's arguments: numbers by their letters, structures as records by name."""
    found, at = [], 0
    for kind in kinds:
        size = struct.calcsize(kind) if len(kind) == 1 else layout.structure(kind).size
        at += -at % (size if len(kind) == 1 else 8)
        if len(kind) == 1:
            found.append(struct.unpack_from(kind, packed, at)[0])
        else:
            found.append(layout.structure(kind).read(packed, at))
        at += size
    assert at == len(packed), f"{len(packed) - at} bytes are left"
    return found


def points_of(fake: Any, view: Any, rows: int) -> Any:
    columns = []
    for axis in "xyz":
        place, step = int(view[axis]), int(view[f"stride_{axis}"])
        first = min(place, place + step * (rows - 1))
        span = abs(step) * (rows - 1) + 8
        raw = fake.at(first, span)
        column = as_strided(raw[place - first :][:8].view(np.float64), (rows,), (step,))
        columns.append(column)
    return tuple(columns)


def mesh_of(fake: Any, view: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays of a MeshView."""
    count = int(view["triangle_count"])
    triangles = fake.at(int(view["triangles"]), 3 * count, np.int32).reshape(-1, 3)
    vertices = fake.at(int(view["vertices"]), 3 * (int(triangles.max()) + 1), np.float64)
    return vertices.reshape(-1, 3), triangles


def _index(fake: Any, view: Any) -> cpu.CpuPointIndex:
    vertices, triangles = mesh_of(fake, view["mesh"])
    bounds = np.array([[view["bounds"][end][axis] for axis in "xyz"] for end in ("low", "high")])
    closed = bool(view["closed"])
    return cpu.CpuPointIndex(
        SimpleNamespace(vertices=vertices, triangles=triangles, bounds=bounds, is_closed=closed),
        threads=1,
    )


def _refuse(fake: Any, place: int, row: int) -> None:
    if row >= 0:
        refused = fake.at(place, 1, np.uint64)
        refused[0] = min(refused[0], np.uint64(row))


def append(fake: Any, view: Any, rows: np.ndarray) -> None:
    """Put rows at the end of a RowList."""
    count = fake.at(int(view["count"]), 1, np.uint32)
    place = int(view["rows"]) + 4 * int(count[0])
    fake.at(place, len(rows), np.uint32)[:] = rows
    count[0] += len(rows)


def _listed(fake: Any, rows_at: int, count_at: int) -> np.ndarray:
    count = int(fake.at(count_at, 1, np.uint32)[0])
    return fake.at(rows_at, count, np.uint32)


def look_up(fake: Any, packed: bytes, threads: int) -> None:
    """List every row, so that the others have something to do."""
    _, _, rows, _, listed = unpacked(packed, "GridView", "PointsView", "I", "Q", "RowList")
    assert threads * layout.constant("kRowsOfThread") >= rows
    append(fake, listed, np.arange(rows)[::-1])


def contains_few(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows, out_at, refused_at = unpacked(packed, "GridView", "PointsView", *"IQQ")
    assert threads >= rows
    labels = fake.at(out_at, rows).view(np.bool_)
    _refuse(fake, refused_at, _index(fake, grid).contains(points_of(fake, view, rows), labels, 1))


def count_quick(fake: Any, packed: bytes, threads: int) -> None:
    _, _, rows_at, count_at, _, unsure = unpacked(
        packed, "GridView", "PointsView", "Q", "Q", "Q", "RowList"
    )
    append(fake, unsure, _listed(fake, rows_at, count_at))


def count_single(fake: Any, packed: bytes, threads: int) -> None:
    """See that the halves are those of the mesh, and go on as count_quick."""
    grid, single, _, rows_at, count_at, _, unsure = unpacked(
        packed, "GridView", "SingleView", "PointsView", "Q", "Q", "Q", "RowList"
    )
    vertices, _ = mesh_of(fake, grid["mesh"])
    halves = fake.at(int(single["vertices"]), 2 * vertices.size, np.float32).astype(float)
    assert np.allclose(halves.reshape(-1, 3, 2).sum(axis=2), vertices, rtol=1e-14)
    assert np.abs(vertices).max() <= single["reach"]
    append(fake, unsure, _listed(fake, rows_at, count_at))


def halve_vertices(fake: Any, packed: bytes, threads: int) -> None:
    vertices_at, count, out_at = unpacked(packed, "Q", "q", "Q")
    vertices = fake.at(vertices_at, 3 * count, np.float64)
    high = vertices.astype(np.float32)
    halves = np.stack([high, (vertices - high).astype(np.float32)], axis=1)
    fake.at(out_at, 6 * count, np.float32)[:] = halves.ravel()


def count_full(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows_at, count_at, out_at, refused_at = unpacked(
        packed, "GridView", "PointsView", "Q", "Q", "Q", "Q"
    )
    listed = _listed(fake, rows_at, count_at)
    if not len(listed):
        return
    rows = int(listed.max()) + 1
    labels = np.empty(rows, np.bool_)
    row = _index(fake, grid).contains(points_of(fake, view, rows), labels, 1)
    fake.at(out_at, rows)[listed] = labels[listed]
    _refuse(fake, refused_at, row)


def crossings(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows, signed, out_at, refused_at = unpacked(
        packed, "GridView", "PointsView", "q", "i", "Q", "Q"
    )
    out = fake.at(out_at, rows, np.int32)
    points = points_of(fake, view, rows)
    _refuse(fake, refused_at, _index(fake, grid).crossings(points, out, 1, signed=bool(signed)))


def on_surface(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows, out_at, refused_at = unpacked(packed, "GridView", "PointsView", *"qQQ")
    out = fake.at(out_at, rows, np.bool_)
    _refuse(fake, refused_at, _index(fake, grid).on_surface(points_of(fake, view, rows), out, 1))


def sides(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows, out_at, refused_at = unpacked(packed, "GridView", "PointsView", *"qQQ")
    out = fake.at(out_at, 2 * rows, np.int32).reshape(rows, 2)
    _refuse(fake, refused_at, _index(fake, grid).sides(points_of(fake, view, rows), out, 1))


def winding(fake: Any, packed: bytes, threads: int) -> None:
    grid, view, rows, rim, out_at, refused_at = unpacked(
        packed, "GridView", "PointsView", "q", "Rim", "Q", "Q"
    )
    edges = int(rim["edge_count"])
    ends = fake.at(int(rim["ends"]), 6 * edges, np.float64)
    weights = fake.at(int(rim["weights"]), edges, np.int32)
    out = fake.at(out_at, 2 * rows, np.float64).reshape(rows, 2)
    index, points = _index(fake, grid), points_of(fake, view, rows)
    _refuse(fake, refused_at, index.winding(points, out, 1, rim=(ends, weights)))


def _solids(fake: Any, view: Any) -> np.ndarray:
    solid, count = layout.structure("Solid"), int(view["count"])
    return fake.at(int(view["solid"]), count * solid.size).view(solid.dtype)


def codes_look_up(fake: Any, packed: bytes, threads: int) -> None:
    """List every finite row, open from the first solid on."""
    _, view, rows, codes_at, listed = unpacked(packed, "Solids", "PointsView", *"IQ", "RowList")
    assert threads >= rows
    finite = np.isfinite(np.stack(points_of(fake, view, rows))).all(axis=0)
    still_open = layout.constant("kOpen") + ~0
    codes = np.where(finite, still_open, layout.constant("kNotFinite"))
    fake.at(codes_at, rows, np.int32)[:] = codes
    assert fake.at(int(listed["count"]), 1, np.uint32)[0] == 0, "the lists were not emptied"
    append(fake, listed, np.flatnonzero(finite)[::-1])


def codes_quick(fake: Any, packed: bytes, threads: int) -> None:
    _, _, rows_at, count_at, _, unsure = unpacked(
        packed, "Solids", "PointsView", "Q", "Q", "Q", "RowList"
    )
    append(fake, unsure, _listed(fake, rows_at, count_at))


def codes_single(fake: Any, packed: bytes, threads: int) -> None:
    """See that every solid has halves, and go on as codes_quick."""
    solids = unpacked(packed, "Solids", "PointsView", "Q", "Q", "Q", "RowList")[0]
    for solid in _solids(fake, solids):
        assert solid["single"]["vertices"] and solid["single"]["reach"] > 0
    codes_quick(fake, packed, threads)


def codes_full(fake: Any, packed: bytes, threads: int) -> None:
    solids, view, rows_at, count_at, codes_at, refused_at = unpacked(
        packed, "Solids", "PointsView", *"QQQQ"
    )
    listed = _listed(fake, rows_at, count_at)
    if not len(listed):
        return
    rows = int(listed.max()) + 1
    codes = np.empty(rows, np.int32)
    indexes = [_index(fake, solid["grid"]) for solid in _solids(fake, solids)]
    row = cpu.codes(indexes, points_of(fake, view, rows), codes, 1)
    fake.at(codes_at, rows, np.int32)[listed] = codes[listed]
    _refuse(fake, refused_at, row)


def nonzero(fake: Any, packed: bytes, threads: int) -> None:
    numbers_at, rows, out_at = unpacked(packed, "Q", "I", "Q")
    fake.at(out_at, rows)[:] = fake.at(numbers_at, rows, np.int32) != 0


def _axis(fake: Any, ruler: Any) -> np.ndarray:
    return fake.at(int(ruler["value"]), int(ruler["count"]), np.float64)


def lattice_toggle(fake: Any, packed: bytes, threads: int) -> None:
    """Write the labels at once; the full kernel has nothing to do."""
    lattice, mesh, unsure = unpacked(packed, "LatticeView", "MeshView", "Pairings")
    axes = [_axis(fake, lattice[axis]) for axis in "xyz"]
    vertices, triangles = mesh_of(fake, mesh)
    assert threads >= len(triangles)
    bits = cpu.lattice_bits(SimpleNamespace(vertices=vertices, triangles=triangles), tuple(axes), 1)
    assert bits is not None and bits.shape[2] == lattice["words"]
    place = fake.at(int(lattice["bits"]), bits.size, np.uint64)
    assert not place.any(), "the bits were not cleared"
    place[:] = bits.ravel() if fake.unsure <= unsure["room"] else ALL_ONES
    fake.at(int(unsure["count"]), 1, np.uint32)[0] = fake.unsure


def _settled(
    fake: Any, lattice: Any, lanes: int, threads: int, in_flight: int
) -> tuple[np.ndarray, int]:
    """Return the bits, (columns, bytes), and the depth."""
    nx, ny, depth = (len(_axis(fake, lattice[axis])) for axis in "xyz")
    words, bits_at = int(lattice["words"]), int(lattice["bits"])
    assert lanes in (1, 2, 4, 8, 16, 32) and lanes >= min(words, 32)
    assert threads // 32 * (32 // lanes) * in_flight >= nx * ny
    return fake.at(bits_at, 8 * nx * ny * words).reshape(nx * ny, 8 * words), depth


def lattice_settle_few(fake: Any, packed: bytes, threads: int) -> None:
    lattice_settle(fake, packed, layout.constant("kBitsInFlight") * threads)


def lattice_settle(fake: Any, packed: bytes, threads: int) -> None:
    lattice, lanes, rows_at, row_bytes = unpacked(packed, "LatticeView", *"iQi")
    bits, _ = _settled(fake, lattice, lanes, threads, layout.constant("kBitsInFlight"))
    fake.at(rows_at, len(bits) * row_bytes)[:] = bits[:, :row_bytes].ravel()


def lattice_settle_tile(fake: Any, packed: bytes, threads: int) -> None:
    lattice, lanes, _, row_bytes = unpacked(packed, "LatticeView", *"iQi")
    assert 2 <= lattice["words"] <= lanes and row_bytes > 8 and row_bytes % 8
    lattice_settle(fake, packed, threads)


def lattice_settle_bytes(fake: Any, packed: bytes, threads: int) -> None:
    lattice, lanes, blocks_at = unpacked(packed, "LatticeView", *"iQ")
    bits, depth = _settled(fake, lattice, lanes, threads, layout.constant("kBytesInFlight"))
    blocks = np.unpackbits(bits, axis=1, count=depth, bitorder="little")
    fake.at(blocks_at, blocks.size)[:] = blocks.ravel()


def nothing(fake: Any, packed: bytes, threads: int) -> None:
    """Do nothing."""


def build_plan(fake: Any, packed: bytes, threads: int) -> None:
    """Say that one cell holds everything: the kernels here ask the mesh, not the index.

    Where ``fake.crowded`` is true, say that the host has to build.
    """
    plan_at = int(unpacked(packed, "Building", *"Qid")[0]["plan"])
    plan = layout.structure("Plan")
    row = fake.at(plan_at, plan.size).view(plan.dtype)
    row[:] = 0
    row["cell_count"] = row["entry_count"] = 1
    row["crowds"] = fake.crowded


KERNELS: dict[str, Callable[[Any, bytes, int], None]] = {
    "geodomain_build_extents": nothing,
    "geodomain_build_plan": build_plan,
    "geodomain_build_count": nothing,
    "geodomain_build_count_large": nothing,
    "geodomain_build_mark_full": nothing,
    "geodomain_build_sums": nothing,
    "geodomain_build_offsets": nothing,
    "geodomain_build_lists": nothing,
    "geodomain_build_scatter": nothing,
    "geodomain_look_up": look_up,
    "geodomain_contains_few": contains_few,
    "geodomain_count_quick": count_quick,
    "geodomain_count_single": count_single,
    "geodomain_halve_vertices": halve_vertices,
    "geodomain_count_full": count_full,
    "geodomain_crossings": crossings,
    "geodomain_on_surface": on_surface,
    "geodomain_sides": sides,
    "geodomain_winding": winding,
    "geodomain_codes_look_up": codes_look_up,
    "geodomain_codes_quick": codes_quick,
    "geodomain_codes_single": codes_single,
    "geodomain_codes_full": codes_full,
    "geodomain_nonzero": nonzero,
    "geodomain_lattice_toggle": lattice_toggle,
    "geodomain_lattice_full": nothing,
    "geodomain_lattice_settle_few": lattice_settle_few,
    "geodomain_lattice_settle": lattice_settle,
    "geodomain_lattice_settle_tile": lattice_settle_tile,
    "geodomain_lattice_settle_bytes": lattice_settle_bytes,
}
