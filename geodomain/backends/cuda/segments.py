"""Segment queries on a GPU, through PyCUDA."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.cpu.segments import CLOSED
from geodomain.backends.cuda import bins, device
from geodomain.backends.cuda.arguments import Argument
from geodomain.backends.cuda.hierarchy import Hierarchy, Rooms
from geodomain.backends.cuda.pools import allocate
from geodomain.backends.cuda.staging import download, upload
from geodomain.backends.data import Floats, MeshArrays, SegmentRows
from geodomain.backends.native import core

Number = TypeVar("Number", bound=np.generic)

MOST_HITS = 1 << 23  # that room is taken for at a time, however many there are
BINNED_ROWS = 1 << 20  # with fewer segments bins cost more than they save


class Resident:
    """Segments on the device, and room for the rows that quick arithmetic is unsure of."""

    def __init__(self, packed: Floats, *, sorted: bool) -> None:
        self.rows = len(packed)
        self.sorted = sorted
        self.home = device.number()
        self._whole: Resident | None = None
        with device.current():
            self._memory = [*upload(packed), allocate(self.nbytes - packed.nbytes)]
        self.ends, self._unsure = map(int, self._memory)

    def unsure(self) -> bytes:
        """Return the list of unsure rows, empty."""
        device.driver().memset_d32_async(self._unsure, 0, 1)
        return layout.row_list(self._unsure + 4, self._unsure)

    def part(self, begin: int, end: int) -> Resident:
        """Return some of the rows, where they are; the whole stays as long as they do."""
        part = copy.copy(self)
        part.rows, part._memory = end - begin, []
        part.ends = self.ends + layout.structure("Segment").size * begin
        part._whole = self
        return part

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows and of the list."""
        return (layout.structure("Segment").size + 4) * self.rows + 4

    def __del__(self) -> None:
        """Free the memory in the context that it came from."""
        device.free(*getattr(self, "_memory", ()))


@device.one_at_a_time
def resident(segments: SegmentRows) -> Resident:
    """Return the device's copy of segments, made when it is first asked for."""
    kept = segments.device.get("cuda")
    if not isinstance(kept, Resident) or kept.home != device.number():
        kept = segments.device["cuda"] = Resident(
            segments.packed, sorted=segments.order is not None
        )
    return kept


def binned(segments: Resident, frame: NDArray[np.void], room: Rooms) -> int:
    """Return the address of the rows by bins: near segments next to each other."""
    cells = layout.structure("Bins").empty()
    core().bins_of(frame, segments.rows, cells)
    order, count = room(4 * segments.rows), int(cells[0]["count"])
    bins.order_by("draw", cells.tobytes(), count, segments.ends, segments.rows, order, room)
    return order


class CudaSegmentIndex:
    """One surface's triangles on the device, ready to be asked about segments."""

    def __init__(self, mesh: MeshArrays, *, strategy: str, grid: int | None) -> None:
        self._held: Hierarchy | None = Hierarchy(mesh, brute=strategy == "brute")
        self._brute = strategy == "brute"
        self._grid = grid

    @property
    def _hierarchy(self) -> Hierarchy:
        """Return what is on the device, which stays there while it is held; ValueError if freed."""
        held = self._held
        if held is None:
            raise ValueError(CLOSED)
        return held

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took."""
        return self._hierarchy.build_times

    @property
    def nbytes(self) -> int:
        """Return the bytes that the device holds, beside the mesh's own arrays."""
        return self._hierarchy.nbytes

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        return self._hierarchy.levels()

    def close(self) -> None:
        """Free the device's memory, once no thread asks."""
        self._held = None

    @device.one_at_a_time  # the list of unsure rows is begun, filled and read
    def ask(self, question: str, segments: Resident, *fields: Argument) -> None:
        """Run a question over all rows, quickly, then over the unsure ones in full."""
        unsure, hierarchy = segments.unsure(), self._hierarchy
        threads = segments.rows if self._grid is None else self._grid * device.block_threads()
        some = device.list_threads(threads)
        name = f"geodomain_segments_{question}"
        with Rooms() as room:
            pays = segments.rows >= BINNED_ROWS and not segments.sorted and self._grid is None
            order = binned(segments, hierarchy.frame, room) if pays else 0
            rows = layout.structure("SegmentRows").pack(
                segments=segments.ends, order=order, count=segments.rows
            )
            asked = hierarchy.view, rows, *fields, unsure
            device.launch("segments.cu", name, threads, *asked)
            device.launch("segments.cu", f"{name}_full", some, *asked)

    def ask_brute(self, step: str, segments: Resident, *fields: Argument) -> None:
        """Run a step of brute force: a block to a triangle."""
        hierarchy = self._hierarchy
        device.launch(
            "brute.cu", f"geodomain_brute_{step}", hierarchy.count * device.block_threads(),
            hierarchy.view, segments.ends, ctypes.c_uint32(segments.rows), *fields,
        )  # fmt: skip

    def answer(
        self, question: str, segments: SegmentRows, out: NDArray[Number], nothing: int
    ) -> NDArray[Number]:
        """Write and return answers, whose bytes are ``nothing`` where no triangle is crossed."""
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
            download(out, found)
        return out

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        return self.answer("boolean", segments, out, 0)

    def count(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self.answer("count", segments, out, 0)

    def nearest(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self.answer("nearest", segments, out, 0xFF)

    def all(
        self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = np.empty(offsets[-1], dtype=np.int32)
        for begin, end in _ranges(offsets):
            part, firsts = resident(segments).part(begin, end), offsets[begin : end + 1]
            out[firsts[0] : firsts[-1]] = self._all(part, firsts - firsts[0])
        return out

    def _all(self, part: Resident, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        out = layout.structure("Found").empty(int(offsets[-1]))
        with device.current() as cuda, Rooms() as room:
            firsts, found = room(offsets.nbytes), room(out.nbytes)
            cuda.memcpy_htod(firsts, offsets)
            if not self._brute:
                self.ask("all", part, firsts, found)
            else:
                taken = room(4 * part.rows)
                cuda.memset_d32(taken, 0, part.rows)
                self.ask_brute("all", part, firsts, taken, found)
                rows = ctypes.c_uint32(part.rows)
                device.launch("brute.cu", "geodomain_brute_sort", part.rows, rows, firsts, found)
            cuda.memcpy_dtoh(out, found)
        triangle: NDArray[np.int64] = out["triangle"]
        return triangle

    def describe(
        self,
        segments: SegmentRows,
        rows: NDArray[np.int64],
        triangle: NDArray[np.int32],
        threads: int,
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        out = np.empty((len(rows), 7))
        for begin in range(0, len(rows), MOST_HITS):
            some = slice(begin, begin + MOST_HITS)
            self._describe(resident(segments), rows[some], triangle[some], out[some])
        return out

    def _describe(
        self, kept: Resident, rows: NDArray[np.int64], triangle: NDArray[np.int32], out: Floats
    ) -> None:
        with device.current() as cuda, Rooms() as room:
            places = room(rows.nbytes), room(triangle.nbytes), room(out.nbytes)
            cuda.memcpy_htod(places[0], rows)
            cuda.memcpy_htod(places[1], triangle)
            device.launch(
                "segments.cu", "geodomain_segments_describe", len(rows), self._hierarchy.mesh,
                kept.ends, *places[:2], len(rows), places[2],
            )  # fmt: skip
            cuda.memcpy_dtoh(out, places[2])


def _ranges(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Return rows that have MOST_HITS together, or a single one that has more by itself."""
    begin, rows = 0, len(offsets) - 1
    while begin < rows and offsets[begin] < offsets[-1]:
        most = offsets[begin] + MOST_HITS
        end = max(begin, int(np.searchsorted(offsets, most, side="right")) - 2) + 1
        yield begin, end
        begin = end
