"""Segments on a GPU: the same kernels launched through PyCUDA; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device
from geodomain.backends.cpu_segments import FOUND, Floats
from geodomain.backends.cuda_hierarchy import Hierarchy, Rooms


class Resident:
    """Hold segments on the device, and room for the rows that quick arithmetic is unsure of."""

    def __init__(self, packed: Floats) -> None:
        self.rows = len(packed)
        with device.current() as cuda:
            self._memory = [device.upload(packed), cuda.mem_alloc(4 * self.rows + 4)]
        self.ends, self._unsure = map(int, self._memory)

    def unsure(self) -> bytes:
        """Return the list of unsure rows, empty."""
        device.driver().memset_d32_async(self._unsure, 0, 1)
        return device.structure(self._unsure + 4, self._unsure)

    def close(self) -> None:
        """Free the memory, in the context that it came from."""
        memory, self._memory = self._memory, []
        device.free(*memory)


def resident(segments: Any) -> Resident:
    """Return the device's copy of segments, made when it is first asked for."""
    copy: Resident | None = segments.device.get("cuda")
    if copy is None:
        copy = segments.device["cuda"] = Resident(segments.packed)
    return copy


class Surface:
    """One surface's triangles on the device, ready to be asked about segments."""

    answers, on_the_cpu, want = 0, 0, ""  # as an Index's: the CPU takes none of its work

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
        self._hierarchy = Hierarchy(vertices, triangles, bounds, brute=strategy == "brute")
        self._brute = strategy == "brute"
        self._grid = grid

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took."""
        return self._hierarchy.build_times

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        return self._hierarchy.levels()

    def close(self) -> None:
        """Free the device's memory."""
        if hasattr(self, "_hierarchy"):
            self._hierarchy.close()

    def __del__(self) -> None:
        """Give the memory back."""
        self.close()

    def ask(self, question: str, segments: Resident, *fields: Any) -> None:
        """Run a question over all rows, quickly, then over the unsure ones in full."""
        unsure, view = segments.unsure(), self._hierarchy.view
        threads = segments.rows if self._grid is None else self._grid * device.BLOCK
        some = min(threads, device.BLOCK * device.LIST_BLOCKS)
        name, rows = f"geodomain_segments_{question}", ctypes.c_uint32(segments.rows)
        device.launch("segments.cu", name, threads, view, segments.ends, rows, *fields, unsure)
        device.launch("segments.cu", f"{name}_full", some, view, segments.ends, *fields, unsure)

    def ask_brute(self, step: str, segments: Resident, *fields: Any) -> None:
        """Run a step of brute force: a block to a triangle."""
        hierarchy = self._hierarchy
        device.launch(
            "brute.cu", f"geodomain_brute_{step}", hierarchy.count * device.BLOCK,
            hierarchy.view, segments.ends, ctypes.c_uint32(segments.rows), *fields,
        )  # fmt: skip

    def _answer(
        self, question: str, segments: Any, out: NDArray[Any], nothing: int
    ) -> NDArray[Any]:
        if len(out) == 0:
            return out
        kept = resident(segments)
        with device.current() as cuda, Rooms() as room:
            found = room(out.nbytes)
            if not self._brute:
                self.ask(question, kept, found)
            else:
                cuda.memset_d8(found, nothing, out.nbytes)
                if question == "nearest":
                    least = room(8 * kept.rows)
                    cuda.memset_d8(least, 0xFF, 8 * kept.rows)
                    self.ask_brute("least", kept, least)
                    self.ask_brute("nearest", kept, least, found)
                else:
                    self.ask_brute(question, kept, found)
            cuda.memcpy_dtoh(out, found)
        return out

    def boolean(self, segments: Any, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        return self._answer("boolean", segments, out, 0)

    def count(self, segments: Any, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self._answer("count", segments, out, 0)

    def nearest(self, segments: Any, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self._answer("nearest", segments, out, 0xFF)

    def all(self, segments: Any, offsets: NDArray[np.int64], threads: int) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = np.empty(offsets[-1], dtype=FOUND)
        if len(out) == 0:
            return np.empty(0, dtype=np.int32)
        kept = resident(segments)
        with device.current() as cuda, Rooms() as room:
            firsts, found = room(offsets.nbytes), room(out.nbytes)
            cuda.memcpy_htod(firsts, offsets)
            if not self._brute:
                self.ask("all", kept, firsts, found)
            else:
                taken = room(4 * kept.rows)
                cuda.memset_d32(taken, 0, kept.rows)
                self.ask_brute("all", kept, firsts, taken, found)
                rows = ctypes.c_uint32(kept.rows)
                device.launch("brute.cu", "geodomain_brute_sort", kept.rows, rows, firsts, found)
            cuda.memcpy_dtoh(out, found)
        return np.ascontiguousarray(out["triangle"])

    def describe(
        self, segments: Any, rows: NDArray[np.int64], triangle: NDArray[np.int32], threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        out = np.empty((len(rows), 7))
        if len(rows) == 0:
            return out
        with device.current() as cuda, Rooms() as room:
            places = room(rows.nbytes), room(triangle.nbytes), room(out.nbytes)
            cuda.memcpy_htod(places[0], rows)
            cuda.memcpy_htod(places[1], triangle)
            device.launch(
                "segments.cu", "geodomain_segments_describe", len(rows), self._hierarchy.mesh,
                resident(segments).ends, *places[:2], len(rows), places[2],
            )  # fmt: skip
            cuda.memcpy_dtoh(out, places[2])
        return out
