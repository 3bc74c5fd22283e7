"""What the kernels do, for the stand-in driver: arguments decoded, answers by the CPU's core."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from geodomain.backends import cpu

GRID_VIEW, POINTS_VIEW, LATTICE_VIEW, MESH_VIEW, SINGLE_VIEW = 216, 48, 160, 24, 16
RULER = 48
SOLIDS_VIEW, SOLID = 16, GRID_VIEW + SINGLE_VIEW
ALL_ONES = np.uint64(2**64 - 1)


def _points(fake: Any, view: bytes, rows: int) -> Any:
    *places, sx, sy, sz = struct.unpack("@QQQqqq", view)
    columns = []
    for place, step in zip(places, (sx, sy, sz), strict=True):
        first = min(place, place + step * (rows - 1))
        span = abs(step) * (rows - 1) + 8
        raw = fake.at(first, span)
        column = as_strided(raw[place - first :][:8].view(np.float64), (rows,), (step,))
        columns.append(column)
    return tuple(columns)


def _mesh(fake: Any, view: bytes) -> tuple[np.ndarray, np.ndarray]:
    vertices_at, triangles_at, count = struct.unpack("@QQq", view)
    triangles = fake.at(triangles_at, 3 * count, np.int32).reshape(-1, 3)
    vertices = fake.at(vertices_at, 3 * (int(triangles.max()) + 1), np.float64).reshape(-1, 3)
    return vertices, triangles


def _index(fake: Any, view: bytes) -> cpu.Index:
    vertices, triangles = _mesh(fake, view[:MESH_VIEW])
    bounds = np.frombuffer(view[24:72]).reshape(2, 3)
    closed = struct.unpack_from("@i", view, 208)[0] != 0
    return cpu.Index(vertices, triangles, bounds, closed=closed, threads=1)


def _refuse(fake: Any, place: int, row: int) -> None:
    if row >= 0:
        refused = fake.at(place, 1, np.uint64)
        refused[0] = min(refused[0], np.uint64(row))


def look_up(fake: Any, packed: bytes, threads: int) -> None:
    """List every row, so that the others have something to do."""
    rows, _, open_at, count_at = struct.unpack("@IQQQ", packed[GRID_VIEW + POINTS_VIEW :])
    assert threads >= rows
    count = fake.at(count_at, 1, np.uint32)
    fake.at(open_at + 4 * int(count[0]), rows, np.uint32)[:] = np.arange(rows)[::-1]
    count[0] += rows


def count_quick(fake: Any, packed: bytes, threads: int) -> None:
    rows_at, count_at, _, unsure_at, unsure_count_at = struct.unpack(
        "@QQQQQ", packed[GRID_VIEW + POINTS_VIEW :]
    )
    count = int(fake.at(count_at, 1, np.uint32)[0])
    unsure = fake.at(unsure_count_at, 1, np.uint32)
    target = fake.at(unsure_at + 4 * int(unsure[0]), count, np.uint32)
    target[:] = fake.at(rows_at, count, np.uint32)
    unsure[0] += count


def count_single(fake: Any, packed: bytes, threads: int) -> None:
    """See that the halves are those of the mesh, and go on as count_quick."""
    halves_at, reach = struct.unpack_from("@Qf", packed, GRID_VIEW)
    vertices, _ = _mesh(fake, packed[:MESH_VIEW])
    halves = fake.at(halves_at, 2 * vertices.size, np.float32).astype(float)
    assert np.allclose(halves.reshape(-1, 3, 2).sum(axis=2), vertices, rtol=1e-14)
    assert np.abs(vertices).max() <= reach
    count_quick(fake, packed[:GRID_VIEW] + packed[GRID_VIEW + SINGLE_VIEW :], threads)


def halve_vertices(fake: Any, packed: bytes, threads: int) -> None:
    vertices_at, count, out_at = struct.unpack("@QqQ", packed)
    vertices = fake.at(vertices_at, 3 * count, np.float64)
    high = vertices.astype(np.float32)
    halves = np.stack([high, (vertices - high).astype(np.float32)], axis=1)
    fake.at(out_at, 6 * count, np.float32)[:] = halves.ravel()


def count_full(fake: Any, packed: bytes, threads: int) -> None:
    rows_at, count_at, out_at, refused_at = struct.unpack(
        "@QQQQ", packed[GRID_VIEW + POINTS_VIEW :]
    )
    count = int(fake.at(count_at, 1, np.uint32)[0])
    listed = fake.at(rows_at, count, np.uint32)
    if count == 0:
        return
    rows = int(listed.max()) + 1
    points = _points(fake, packed[GRID_VIEW:][:POINTS_VIEW], rows)
    labels = np.empty(rows, np.bool_)
    row = _index(fake, packed[:GRID_VIEW]).contains(points, labels, 1)
    fake.at(out_at, rows)[listed] = labels[listed]
    _refuse(fake, refused_at, row)


def crossings(fake: Any, packed: bytes, threads: int) -> None:
    rows, signed, out_at, refused_at = struct.unpack("@qiQQ", packed[GRID_VIEW + POINTS_VIEW :])
    points = _points(fake, packed[GRID_VIEW:][:POINTS_VIEW], rows)
    out = fake.at(out_at, rows, np.int32)
    row = _index(fake, packed[:GRID_VIEW]).crossings(points, out, 1, signed=bool(signed))
    _refuse(fake, refused_at, row)


def on_surface(fake: Any, packed: bytes, threads: int) -> None:
    rows, out_at, refused_at = struct.unpack("@qQQ", packed[GRID_VIEW + POINTS_VIEW :])
    points = _points(fake, packed[GRID_VIEW:][:POINTS_VIEW], rows)
    out = fake.at(out_at, rows, np.bool_)
    _refuse(fake, refused_at, _index(fake, packed[:GRID_VIEW]).on_surface(points, out, 1))


def sides(fake: Any, packed: bytes, threads: int) -> None:
    rows, below, out_at, refused_at = struct.unpack("@qiQQ", packed[GRID_VIEW + POINTS_VIEW :])
    points = _points(fake, packed[GRID_VIEW:][:POINTS_VIEW], rows)
    found = np.empty((rows, 2), np.int32)
    _refuse(fake, refused_at, _index(fake, packed[:GRID_VIEW]).sides(points, found, 1))
    fake.at(out_at, rows, np.int32)[:] = found[:, below]


def winding(fake: Any, packed: bytes, threads: int) -> None:
    rows, ends_at, weights_at, edges, word, out_at, refused_at = struct.unpack(
        "@qQQqiQQ", packed[GRID_VIEW + POINTS_VIEW :]
    )
    points = _points(fake, packed[GRID_VIEW:][:POINTS_VIEW], rows)
    rim = fake.at(ends_at, 6 * edges, np.float64), fake.at(weights_at, edges, np.int32)
    found = np.empty((rows, 2))
    index = _index(fake, packed[:GRID_VIEW])
    _refuse(fake, refused_at, index.winding(points, found, 1, rim=rim))
    fake.at(out_at, rows, np.int32)[:] = found.view(np.int32)[:, word]


def _solids(fake: Any, packed: bytes) -> list[cpu.Index]:
    solids_at, count = struct.unpack_from("@Qi", packed)
    views = fake.at(solids_at, count * SOLID).reshape(count, SOLID)
    return [_index(fake, view.tobytes()[:GRID_VIEW]) for view in views]


def codes_look_up(fake: Any, packed: bytes, threads: int) -> None:
    """List every finite row, open from the first solid on."""
    rows, codes_at, open_at, count_at = struct.unpack("@IQQQ", packed[SOLIDS_VIEW + POINTS_VIEW :])
    assert threads >= rows
    points = np.stack(_points(fake, packed[SOLIDS_VIEW:][:POINTS_VIEW], rows))
    finite = np.isfinite(points).all(axis=0)
    fake.at(codes_at, rows, np.int32)[:] = np.where(finite, -3, -2)
    count = fake.at(count_at, 1, np.uint32)
    assert count[0] == 0, "the lists were not emptied"
    listed = np.flatnonzero(finite)[::-1]
    fake.at(open_at, len(listed), np.uint32)[:] = listed
    count[0] = len(listed)


def codes_quick(fake: Any, packed: bytes, threads: int) -> None:
    rows_at, count_at, _, unsure_at, unsure_count_at = struct.unpack(
        "@QQQQQ", packed[SOLIDS_VIEW + POINTS_VIEW :]
    )
    count = int(fake.at(count_at, 1, np.uint32)[0])
    fake.at(unsure_at, count, np.uint32)[:] = fake.at(rows_at, count, np.uint32)
    fake.at(unsure_count_at, 1, np.uint32)[0] = count


def codes_single(fake: Any, packed: bytes, threads: int) -> None:
    """See that every solid has halves, and go on as codes_quick."""
    solids_at, count = struct.unpack_from("@Qi", packed)
    for view in fake.at(solids_at, count * SOLID).reshape(count, SOLID):
        halves_at, reach = struct.unpack_from("@Qf", view.tobytes(), GRID_VIEW)
        assert halves_at and reach > 0
    codes_quick(fake, packed, threads)


def codes_full(fake: Any, packed: bytes, threads: int) -> None:
    rows_at, count_at, codes_at, refused_at = struct.unpack(
        "@QQQQ", packed[SOLIDS_VIEW + POINTS_VIEW :]
    )
    listed = fake.at(rows_at, int(fake.at(count_at, 1, np.uint32)[0]), np.uint32)
    if not len(listed):
        return
    rows = int(listed.max()) + 1
    points = _points(fake, packed[SOLIDS_VIEW:][:POINTS_VIEW], rows)
    codes = np.empty(rows, np.int32)
    row = cpu.codes(_solids(fake, packed), points, codes, 1)
    fake.at(codes_at, rows, np.int32)[listed] = codes[listed]
    _refuse(fake, refused_at, row)


def nonzero(fake: Any, packed: bytes, threads: int) -> None:
    numbers_at, rows, out_at = struct.unpack("@QIQ", packed)
    fake.at(out_at, rows)[:] = fake.at(numbers_at, rows, np.int32) != 0


def _axis(fake: Any, view: bytes, number: int) -> np.ndarray:
    value_at, count = struct.unpack_from("@Qi", view, RULER * number)
    return fake.at(value_at, count, np.float64)


def lattice_toggle(fake: Any, packed: bytes, threads: int) -> None:
    """Write the labels at once; the full kernel has nothing to do."""
    axes = [_axis(fake, packed, number) for number in range(3)]
    words, bits_at = struct.unpack_from("@iQ", packed, 3 * RULER)
    vertices, triangles = _mesh(fake, packed[LATTICE_VIEW:][:MESH_VIEW])
    assert threads >= len(triangles)
    _, counts_at, room = struct.unpack_from("@QQI", packed, LATTICE_VIEW + MESH_VIEW)
    bits = cpu.lattice_bits(vertices, triangles, tuple(axes), 1)
    assert bits is not None and bits.shape[2] == words
    place = fake.at(bits_at, bits.size, np.uint64)
    assert not place.any(), "the bits were not cleared"
    place[:] = bits.ravel() if fake.unsure <= room else ALL_ONES
    fake.at(counts_at, 1, np.uint32)[0] = fake.unsure


def _settled(fake: Any, packed: bytes, threads: int, in_flight: int) -> tuple[np.ndarray, int]:
    """Return the bits, (columns, bytes), and the depth."""
    nx, ny, depth = (len(_axis(fake, packed, number)) for number in range(3))
    words, bits_at, lanes = struct.unpack_from("@iQi", packed, 3 * RULER)
    assert lanes in (1, 2, 4, 8, 16, 32) and lanes >= min(words, 32)
    assert threads // 32 * (32 // lanes) * in_flight >= nx * ny
    return fake.at(bits_at, 8 * nx * ny * words).reshape(nx * ny, 8 * words), depth


def lattice_settle_few(fake: Any, packed: bytes, threads: int) -> None:
    lattice_settle(fake, packed, 8 * threads)


def lattice_settle(fake: Any, packed: bytes, threads: int) -> None:
    bits, _ = _settled(fake, packed, threads, 8)
    rows_at, row_bytes = struct.unpack_from("@Qi", packed, LATTICE_VIEW + 8)
    fake.at(rows_at, len(bits) * row_bytes)[:] = bits[:, :row_bytes].ravel()


def lattice_settle_tile(fake: Any, packed: bytes, threads: int) -> None:
    words, _, lanes = struct.unpack_from("@iQi", packed, 3 * RULER)
    row_bytes = struct.unpack_from("@i", packed, LATTICE_VIEW + 16)[0]
    assert 2 <= words <= lanes and row_bytes > 8 and row_bytes % 8
    lattice_settle(fake, packed, threads)


def lattice_settle_bytes(fake: Any, packed: bytes, threads: int) -> None:
    bits, depth = _settled(fake, packed, threads, 4)
    blocks_at = struct.unpack_from("@Q", packed, LATTICE_VIEW + 8)[0]
    blocks = np.unpackbits(bits, axis=1, count=depth, bitorder="little")
    fake.at(blocks_at, blocks.size)[:] = blocks.ravel()


def nothing(fake: Any, packed: bytes, threads: int) -> None:
    """Do nothing."""


def build_plan(fake: Any, packed: bytes, threads: int) -> None:
    """Say that one cell holds everything: the kernels here ask the mesh, not the index.

    Where ``fake.crowded`` is true, say that the host has to build.
    """
    plan_at = struct.unpack_from("@Q", packed, MESH_VIEW + 48)[0]
    plan = fake.at(plan_at + 72, 6, np.uint32)
    plan[:] = [1, 1, fake.crowded, 0, 0, 0]


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
