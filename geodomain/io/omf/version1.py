"""Files of OMF 1 (omf 0.9 to 1.0): arrays after a short head, then the objects as JSON."""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.errors import GeodomainError
from geodomain.io.files.whole import FileBytes
from geodomain.io.omf.refusal import damaged

MAGIC = b"\x84\x83\x82\x81"
HEAD = 60
START = slice(52, 60)  # where the head says where the JSON begins
_TYPES = {"<f8", "<i8"}
Bytes = bytes | FileBytes


class Project1:
    """The bytes of a file and the objects of its JSON, by their ids."""

    def __init__(self, data: Bytes, file: str, error: type[GeodomainError]) -> None:
        self.data, self.file, self._error = data, file, error
        if len(data) < HEAD:
            self.refuse("its header is cut short")
        self.start = int.from_bytes(data[START], "little")
        if self.start > len(data):
            self.refuse(f"its index starts at byte {self.start:,}, beyond its end")
        memory.require_json(len(data) - self.start, f"{file}: its index", error)
        self.objects: dict[str, Any] = json.loads(bytes(data[self.start :]).decode("utf-8"))
        self.project: Any = self.objects[str(uuid.UUID(bytes=bytes(data[36:52])))]

    def refuse(self, found: str) -> NoReturn:
        """Raise the error for a file that is not what it must be."""
        raise damaged(self.file, found, self._error)

    def close(self) -> None:
        """Let go of the file."""
        if isinstance(self.data, FileBytes):
            self.data.close()

    def require_surface(self, nu: int, nv: int) -> None:
        """Refuse a surface of more cells than memory holds triangles for."""
        what = f"{self.file}, with a surface of {nu:,} x {nv:,} cells,"
        memory.require(200.0 * nu * nv, what, self._error)

    def elements(self) -> Iterator[Any]:
        """Yield the elements in their order."""
        for name in self.project["elements"]:
            yield self.objects[name]

    def origin(self, geometry: Any) -> NDArray[np.float64]:
        """Give what is added to a geometry's coordinates: its origin and the project's."""
        origin = np.array(self.project.get("origin") or (0, 0, 0), dtype=np.float64)
        total: NDArray[np.float64] = origin + np.array(
            geometry.get("origin") or (0, 0, 0), dtype=np.float64
        )
        return total

    def array(self, name: str, count: int | None = None) -> NDArray[np.float64 | np.int64]:
        """Return the numbers of an array, which is compressed; exactly so many where that is known.

        No more is decompressed than what is known to be there.
        """
        told = self.objects[name]["array"]
        start, length, kind = int(told["start"]), int(told["length"]), told["dtype"]
        if kind not in _TYPES or start < 0 or length < 0 or start + length > len(self.data):
            self.refuse("an array lies beyond its end, or is of an unknown type")
        packed = bytes(self.data[start : start + length])
        if count is None:
            raw = memory.inflate(packed, f"{self.file}: an array", self._error)
        else:
            memory.require(8 * count, f"{self.file}: an array", self._error)
            raw = zlib.decompressobj().decompress(packed, 8 * count + 1)
        if len(raw) % 8 or (count is not None and len(raw) != 8 * count):
            wanted = "whole numbers" if count is None else f"{count:,} numbers"
            self.refuse(f"an array does not hold {wanted}")
        return np.frombuffer(raw, dtype=kind)
