"""Segment queries on the CPU, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout, native
from geodomain.backends.bvh_nodes import boxes_of_levels
from geodomain.backends.data import Floats, MeshArrays, SegmentRows

STEPS = ("boxes", "codes", "sort", "tree")  # of building the hierarchy
CLOSED = "the surface was closed while it was asked"


class _Core:
    """What the core holds of a surface; freed when the last question that is under way is done."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()

    def __del__(self) -> None:
        """Free the memory."""
        if self.handle:
            native.core().surface_free(self.handle)


class CpuSegmentIndex:
    """One surface's triangles, ready to be asked about segments from any thread."""

    def __init__(self, mesh: MeshArrays, *, strategy: str, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        core = _Core()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        times = (ctypes.c_double * len(STEPS))()
        native.core().surface_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            limits,
            int(strategy == "brute"),
            threads,
            times,
            core.handle,
        )
        self._core: _Core | None = core
        self.build_times: Mapping[str, float] = dict(zip(STEPS, times, strict=True))
        self._strategy = strategy

    @property
    def nbytes(self) -> int:
        """Return the bytes that the core holds, beside the mesh's own arrays."""
        return native.core().surface_bytes(self._held().handle)

    def close(self) -> None:
        """Free what the core holds, once no thread asks it."""
        self._core = None

    def _held(self) -> _Core:
        """Return what the core holds; ValueError once it is freed."""
        core = self._core
        if core is None:
            raise ValueError(CLOSED)
        return core

    def _ask(
        self, function: str, segments: SegmentRows, threads: int, *out: NDArray[np.generic]
    ) -> None:
        core = self._held()
        ask: native.CoreFunction = getattr(native.core(), f"segments_{function}")
        ask(core.handle, segments.packed, len(segments.packed), threads, *out)

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        self._ask("boolean", segments, threads, out)
        return out

    def count(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("count", segments, threads, out)
        return out

    def nearest(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("nearest", segments, threads, out)
        return out

    def all(
        self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = layout.structure("Found").empty(int(offsets[-1]))
        self._ask("all", segments, threads, offsets, out)
        return out["triangle"].astype(np.int32)

    def describe(
        self,
        segments: SegmentRows,
        rows: NDArray[np.int64],
        triangle: NDArray[np.int32],
        threads: int,
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        vertices, triangles = self._arrays
        out = np.empty((len(rows), 7))
        native.core().segments_describe(
            vertices,
            triangles,
            len(triangles),
            segments.packed,
            rows,
            triangle,
            len(rows),
            threads,
            out,
        )
        return out

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        if self._strategy == "brute" or not len(self._arrays[1]):
            return []
        core = self._held()
        nodes, firsts = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
        node, frame = layout.structure("WideNode"), layout.structure("BoxFrame").empty()
        count = ctypes.c_int64()
        native.core().surface_nodes(
            core.handle,
            nodes,
            firsts,
            count,
            frame,
        )
        ends = firsts[: count.value + 1]
        raw = (ctypes.c_uint8 * (ends[-1] * node.size)).from_address(nodes.value or 0)
        return boxes_of_levels(np.frombuffer(raw, dtype=node.dtype), ends, frame[0])
