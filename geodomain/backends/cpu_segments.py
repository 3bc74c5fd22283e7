"""Segments on the CPU: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.bvh_nodes import FRAME, NODE, boxes_of_levels
from geodomain.backends.native import library, must, pointer

Floats = NDArray[np.float64]
STEPS = ("boxes", "codes", "sort", "tree")  # of building the hierarchy
CLOSED = "the surface was closed while it was asked"
FOUND = np.dtype([("t", np.float64), ("triangle", np.int64)])


class Packed(Protocol):
    """What the kernels need of segments: (n, 6), start and end."""

    @property
    def packed(self) -> Floats:
        """Return the rows; NaN crosses nothing."""


@dataclass(frozen=True)
class Checked:
    """Hold segments as rows of six, and what was found in them."""

    ends: Floats
    infinite: int
    missing: int
    extreme: NDArray[np.int64]


def pack(starts: Floats, ends: Floats, order: NDArray[np.int64] | None, threads: int) -> Checked:
    """Copy contiguous starts and ends, (n, 3), into rows of six in an order, and check them.

    Returns
    -------
    Checked
        Rows out of a mesh's range, `extreme`, have become NaN, as have those with a NaN.
    """
    out = np.empty((len(starts), 6))
    flags = np.empty(len(starts), dtype=np.uint8)
    faults = (ctypes.c_int64 * 3)()
    must(
        library().geodomain_segments_pack(
            pointer(starts),
            pointer(ends),
            None if order is None else pointer(order),
            ctypes.c_int64(len(starts)),
            threads,
            pointer(out),
            pointer(flags),
            faults,
        )
    )
    extreme = np.flatnonzero(flags) if faults[2] else np.empty(0, dtype=np.int64)
    return Checked(out, faults[0], faults[1], extreme)


def order(starts: Floats, ends: Floats, threads: int) -> NDArray[np.int64]:
    """Return the rows of (n, 3) by the Morton codes of their middles; equal codes by row."""
    rows = np.empty(len(starts), dtype=np.int32)
    must(
        library().geodomain_segments_order(
            pointer(starts), pointer(ends), ctypes.c_int64(len(starts)), threads, pointer(rows)
        )
    )
    return rows.astype(np.int64)


def scatter(values: NDArray[Any], places: NDArray[np.int64], threads: int) -> NDArray[Any]:
    """Return ``out[places] = values`` of 1-D arrays; the places are all there are, each once."""
    out = np.empty(len(places), dtype=values.dtype)
    values = np.ascontiguousarray(values)
    must(
        library().geodomain_scatter(
            pointer(values), ctypes.c_int64(values.itemsize), pointer(places),
            ctypes.c_int64(len(places)), threads, pointer(out),
        )
    )  # fmt: skip
    return out


class _Core:
    """What the core holds of a surface; freed when the last question that is under way is done."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()

    def __del__(self) -> None:
        """Give the memory back."""
        if self.handle:
            library().geodomain_surface_free(self.handle)


class Surface:
    """One surface's triangles, ready to be asked about segments from any thread."""

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        strategy: str,
        grid: int | None,
        threads: int,
    ) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        core = _Core()
        limits = np.ascontiguousarray(bounds, dtype=np.float64)
        times = (ctypes.c_double * len(STEPS))()
        must(
            library().geodomain_surface_create(
                pointer(vertices),
                pointer(triangles),
                ctypes.c_int64(len(triangles)),
                pointer(limits),
                int(strategy == "brute"),
                threads,
                times,
                ctypes.byref(core.handle),
            )
        )
        self._core: _Core | None = core
        self.build_times: Mapping[str, float] = dict(zip(STEPS, times, strict=True))
        self._strategy = strategy

    @property
    def nbytes(self) -> int:
        """Return the bytes that the core holds, beside the mesh's own arrays."""
        size = library().geodomain_surface_bytes
        size.restype = ctypes.c_int64
        return int(size(self._held().handle))

    def close(self) -> None:
        """Free what the core holds, once no thread asks it."""
        self._core = None

    def _held(self) -> _Core:
        """Return what the core holds; ValueError once it is freed."""
        core = self._core
        if core is None:
            raise ValueError(CLOSED)
        return core

    def _ask(self, function: str, segments: Packed, threads: int, *out: Any) -> None:
        core = self._held()
        must(
            getattr(library(), function)(
                core.handle,
                pointer(segments.packed),
                ctypes.c_int64(len(segments.packed)),
                threads,
                *map(pointer, out),
            )
        )

    def boolean(self, segments: Packed, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        self._ask("geodomain_segments_boolean", segments, threads, out)
        return out

    def count(self, segments: Packed, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("geodomain_segments_count", segments, threads, out)
        return out

    def nearest(self, segments: Packed, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("geodomain_segments_nearest", segments, threads, out)
        return out

    def all(self, segments: Packed, offsets: NDArray[np.int64], threads: int) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = np.empty(offsets[-1], dtype=FOUND)
        self._ask("geodomain_segments_all", segments, threads, offsets, out)
        return out["triangle"].astype(np.int32)

    def describe(
        self, segments: Packed, rows: NDArray[np.int64], triangle: NDArray[np.int32], threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        vertices, triangles = self._arrays
        out = np.empty((len(rows), 7))
        must(
            library().geodomain_segments_describe(
                pointer(vertices),
                pointer(triangles),
                ctypes.c_int64(len(triangles)),
                pointer(segments.packed),
                pointer(rows),
                pointer(triangle),
                ctypes.c_int64(len(rows)),
                threads,
                pointer(out),
            )
        )
        return out

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        if self._strategy == "brute" or not len(self._arrays[1]):
            return []
        core = self._held()
        nodes, firsts = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
        count, frame = ctypes.c_int64(), np.zeros(1, dtype=FRAME)
        library().geodomain_surface_nodes(
            core.handle,
            ctypes.byref(nodes),
            ctypes.byref(firsts),
            ctypes.byref(count),
            pointer(frame),
        )
        ends = firsts[: count.value + 1]
        raw = (ctypes.c_uint8 * (ends[-1] * NODE.itemsize)).from_address(nodes.value or 0)
        return boxes_of_levels(np.frombuffer(raw, dtype=NODE), ends, frame[0])
