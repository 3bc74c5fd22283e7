"""The CUDA backend: the same kernels launched on a GPU through PyCUDA; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import cpu, device
from geodomain.backends.cpu import Columns, Floats, expand_lattice, recognise
from geodomain.backends.native import library, must, pointer

__all__ = ["Index", "codes", "expand_lattice", "lattice_bits", "recognise"]

CHUNK = 4_194_304  # points on the device at a time
NONE_REFUSED = 2**64 - 1
UNSURE_ROOM = 1 << 20
GRID_BYTES = 88  # of one Grid: three axes, its first cell and its bundles


class Points:
    """Hold a chunk of points, and the answers to them, on the device."""

    def __init__(self, room: int) -> None:
        cuda = device.driver()
        self.room = room
        self.coordinates = cuda.mem_alloc(24 * room)
        self.labels = cuda.mem_alloc(room)
        self.open_rows = cuda.mem_alloc(4 * room)
        self.unsure_rows = cuda.mem_alloc(4 * room)
        self.counts = cuda.mem_alloc(16)  # open rows, unsure rows, first refused row
        self.staging = np.empty((3, room))

    def fill(self, points: Columns, begin: int, end: int) -> None:
        """Copy rows [begin, end) to the device."""
        self.rows = end - begin
        packed = self.staging.reshape(-1)[: 3 * self.rows].reshape(3, self.rows)
        for axis in range(3):
            packed[axis] = points[axis][begin:end]
        device.driver().memcpy_htod(self.coordinates, packed)
        start, step = int(self.coordinates), 8 * self.rows
        self.view = device.structure(start, start + step, start + 2 * step, 8, 8, 8)
        self.clear()

    def clear(self) -> None:
        """Empty the lists, and say that no row was refused."""
        device.driver().memcpy_htod(self.counts, np.array([0, NONE_REFUSED], dtype=np.uint64))

    @property
    def refused(self) -> int:
        """Return the address of the first refused row."""
        return int(self.counts) + 8

    def first_refused(self) -> int:
        """Return the first row of the chunk that a kernel refused, or -1."""
        found = np.empty(1, dtype=np.uint64)
        device.driver().memcpy_dtoh(found, self.refused)
        return -1 if found[0] == NONE_REFUSED else int(found[0])


class Index:
    """The grid over one mesh's triangles, built on the host and kept on the device."""

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        closed: bool,
        threads: int,
    ) -> None:
        # Shorter lists than the CPU's: here the index is cheap and the answers are many.
        self.host = cpu.Index(
            vertices, triangles, bounds, closed=closed, threads=threads, density=1.0
        )
        parts = self.host.arrays()
        with device.current():
            self._memory = [device.upload(array) for array in (vertices, triangles, *parts)]
        vertices_at, triangles_at, *index_at = map(int, self._memory)
        index_at[4] *= len(parts[4]) > 0  # null: there are no bundles
        mesh = device.structure(vertices_at, triangles_at, len(triangles))
        box = device.structure(*[float(value) for value in np.ravel(bounds)])
        whole = parts[0][:GRID_BYTES].tobytes()
        self.view = device.structure(mesh, box, whole, *index_at, ctypes.c_int32(closed))

    def __del__(self) -> None:
        """Give the device's memory back, in the context that it came from."""
        if getattr(self, "_memory", None):
            with device.current():
                for memory in self._memory:
                    memory.free()

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self.host.size()

    def label(self, points: Points) -> None:
        """Label the chunk on the device: two bits, quick counts, full counts."""
        rows, counts = ctypes.c_uint32(points.rows), int(points.counts)
        open_list = device.structure(int(points.open_rows), counts)
        unsure_list = device.structure(int(points.unsure_rows), counts + 4)
        labels, some = int(points.labels), min(points.rows, device.BLOCK * device.LIST_BLOCKS)
        device.launch(
            "grid.cu", "geodomain_look_up", points.rows,
            self.view, points.view, rows, labels, open_list,
        )  # fmt: skip
        device.launch(
            "grid.cu", "geodomain_count_quick", some,
            self.view, points.view, int(points.open_rows), counts, labels, unsure_list,
        )  # fmt: skip
        device.launch(
            "grid.cu", "geodomain_count_full", some,
            self.view, points.view, int(points.unsure_rows), counts + 4, labels, points.refused,
        )  # fmt: skip

    def contains(self, points: Columns, out: NDArray[np.bool_], threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""

        def answer(chunk: Points, part: NDArray[Any]) -> None:
            self.label(chunk)
            device.driver().memcpy_dtoh(part, chunk.labels)

        return _by_chunks(points, out, answer)

    def crossings(
        self, points: Columns, out: NDArray[np.int32], threads: int, *, signed: bool
    ) -> int:
        """Write the crossings above each point; return the first refused row or -1."""

        def answer(chunk: Points, part: NDArray[Any]) -> None:
            device.launch(
                "grid.cu", "geodomain_crossings", chunk.rows, self.view, chunk.view,
                chunk.rows, ctypes.c_int32(signed), int(chunk.open_rows), chunk.refused,
            )  # fmt: skip
            device.driver().memcpy_dtoh(part, chunk.open_rows)

        return _by_chunks(points, out, answer)

    def on_surface(self, points: Columns, out: NDArray[np.bool_], threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""

        def answer(chunk: Points, part: NDArray[Any]) -> None:
            device.launch(
                "grid.cu", "geodomain_on_surface", chunk.rows, self.view, chunk.view,
                chunk.rows, int(chunk.labels), chunk.refused,
            )  # fmt: skip
            device.driver().memcpy_dtoh(part, chunk.labels)

        return _by_chunks(points, out, answer)

    def sides(self, points: Columns, out: NDArray[np.int32], threads: int) -> int:
        """Write the crossings above and below each point, (n, 2); the first refused row or -1."""

        def answer(chunk: Points, part: NDArray[Any]) -> None:
            found = device.driver().mem_alloc(8 * chunk.rows)
            device.launch(
                "sides.cu", "geodomain_sides", chunk.rows, self.view, chunk.view,
                chunk.rows, int(found), chunk.refused,
            )  # fmt: skip
            device.driver().memcpy_dtoh(part, found)
            found.free()

        return _by_chunks(points, out, answer)

    def winding(
        self,
        points: Columns,
        ends: Floats,
        weights: NDArray[np.int32],
        out: Floats,
        threads: int,
    ) -> int:
        """Write generalised winding numbers and bounds, (n, 2); as the CPU's."""
        kept: list[Any] = []

        def answer(chunk: Points, part: NDArray[Any]) -> None:
            if not kept:
                kept.extend([device.upload(ends), device.upload(weights)])
            rim = device.structure(int(kept[0]), int(kept[1]), len(weights))
            found = device.driver().mem_alloc(16 * chunk.rows)
            device.launch(
                "winding.cu", "geodomain_winding", chunk.rows, self.view, chunk.view,
                chunk.rows, rim, int(found), chunk.refused,
            )  # fmt: skip
            device.driver().memcpy_dtoh(part, found)
            found.free()

        return _by_chunks(points, out, answer)


def _by_chunks(points: Columns, out: NDArray[Any], answer: Any) -> int:
    """Answer all points, a chunk at a time; return the first refused row or -1."""
    rows = len(out)
    if rows == 0:
        return -1
    first = -1
    with device.current():
        chunk = Points(min(rows, CHUNK))
        for begin in range(0, rows, CHUNK):
            end = min(begin + CHUNK, rows)
            chunk.fill(points, begin, end)
            answer(chunk, out[begin:end])
            refused = chunk.first_refused()
            if first < 0 <= refused:
                first = begin + refused
    return first


def codes(indexes: Sequence[Index], points: Columns, out: NDArray[np.int32], threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""

    def answer(chunk: Points, part: NDArray[Any]) -> None:
        rows = ctypes.c_uint32(chunk.rows)
        found = device.driver().mem_alloc(4 * chunk.rows)
        device.launch("grid.cu", "geodomain_codes_begin", chunk.rows, chunk.view, rows, int(found))
        for code, index in enumerate(indexes):
            index.label(chunk)
            device.launch(
                "grid.cu", "geodomain_codes_take", chunk.rows,
                int(chunk.labels), rows, ctypes.c_int32(code), int(found),
            )  # fmt: skip
            device.driver().memset_d32(chunk.counts, 0, 2)  # empty lists for the next one
        device.driver().memcpy_dtoh(part, found)
        found.free()

    return _by_chunks(points, out, answer)


def _ruler(values: Floats, kept: list[Any]) -> bytes:
    """Return the device's Ruler of an ascending axis; its memory goes to ``kept``."""
    first = np.empty(2 * len(values) + 1, dtype=np.int32)
    axis = ctypes.create_string_buffer(24)
    must(
        library().geodomain_ruler(
            pointer(values), ctypes.c_int64(len(values)), axis, pointer(first)
        )
    )
    kept.extend([device.upload(values), device.upload(first)])
    return device.structure(
        int(kept[-2]), ctypes.c_int32(len(values)), bytes(axis.raw), int(kept[-1])
    )


def lattice_bits(
    vertices: Floats, triangles: NDArray[np.int32], axes: Columns, threads: int
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z; as the CPU's, None included."""
    words = (len(axes[2]) + 63) // 64
    out = np.empty((len(axes[0]), len(axes[1]), words), dtype=np.uint64)
    with device.current() as cuda:
        kept = [device.upload(vertices), device.upload(triangles)]
        mesh = device.structure(int(kept[0]), int(kept[1]), len(triangles))
        bits = cuda.mem_alloc(out.nbytes)
        cuda.memset_d32(bits, 0, out.nbytes // 4)
        unsure = cuda.mem_alloc(12 * UNSURE_ROOM)
        count = device.upload(np.zeros(2, dtype=np.uint32))  # unsure pairs, undecided ones
        rulers = [_ruler(np.ascontiguousarray(axis), kept) for axis in axes]
        lattice = device.structure(*rulers, ctypes.c_int32(words), int(bits))
        room = ctypes.c_uint32(UNSURE_ROOM)
        device.launch(
            "lattice.cu", "geodomain_lattice_toggle", len(triangles),
            lattice, mesh, int(unsure), int(count), room,
        )  # fmt: skip
        listed = np.empty(1, dtype=np.uint32)
        cuda.memcpy_dtoh(listed, count)
        if listed[0] > UNSURE_ROOM:  # more than the list holds: the host takes it all
            return cpu.lattice_bits(vertices, triangles, axes, threads)
        device.launch(
            "lattice.cu", "geodomain_lattice_full", int(listed[0]),
            lattice, mesh, int(unsure), int(count), room, int(count) + 4,
        )  # fmt: skip
        lanes = min(32, 1 << (words - 1).bit_length())  # a word to each, where that is enough
        device.launch(
            "lattice.cu", "geodomain_lattice_settle", lanes * out.shape[0] * out.shape[1],
            lattice, ctypes.c_int32(lanes),
        )  # fmt: skip
        undecided = np.empty(1, dtype=np.uint32)
        cuda.memcpy_dtoh(undecided, int(count) + 4)
        if undecided[0]:
            return None
        cuda.memcpy_dtoh(out, bits)
    return out
