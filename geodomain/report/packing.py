"""Arrays as text for a page: differences, bytes by place, deflate, base64."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

_NAMES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float32": "f32", "float64": "f64"}

# Bytes up to which packing as well as can be takes no time that anyone notices.
_SMALL = 4_000_000


class Packed(TypedDict):
    """What a reader must know of an array in a page."""

    block: int
    type: str
    length: int
    differences: bool


@dataclass
class Pack:
    """Arrays for a page, each in a block of its own.

    Attributes
    ----------
    blocks : list of str
        The text of each, in the order in which they came.
    """

    blocks: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Return how many characters there are so far."""
        return sum(map(len, self.blocks))

    def add(self, array: NDArray[np.generic], *, differences: bool = False) -> Packed:
        """Take an array, and return what a reader must know of it.

        Parameters
        ----------
        array : (n,) uint8, uint16, uint32, float32 or float64
        differences : bool
            Store the differences between neighbours, modulo the type's range, of unsigned numbers.

        Returns
        -------
        dict
            ``block``, ``type``, ``length`` and ``differences``.
        """
        flat = np.ascontiguousarray(array).reshape(-1)
        stored = flat
        if differences:
            stored = np.diff(flat, prepend=flat.dtype.type(0)).astype(flat.dtype, copy=False)
        little = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        bytes_by_place = little.view(np.uint8).reshape(-1, flat.dtype.itemsize).T
        packed = zlib.compress(bytes_by_place.tobytes(), 9 if flat.nbytes < _SMALL else 5)
        return self._put(packed, _NAMES[flat.dtype.name], len(flat), differences=differences)

    def add_codes(self, codes: NDArray[np.generic], count: int) -> Packed:
        """Take codes below `count` in the fewest bytes."""
        return self.add(narrowed(codes, count), differences=True)

    def add_texts(self, texts: list[str]) -> Packed:
        """Take texts, none of which holds a line end."""
        joined = "\n".join(text.replace("\n", " ") for text in texts).encode()
        return self._put(zlib.compress(joined, 6), "text", len(texts), differences=False)

    def _put(self, packed: bytes, kind: str, length: int, *, differences: bool) -> Packed:
        self.blocks.append(base64.b64encode(packed).decode("ascii"))
        return {
            "block": len(self.blocks) - 1,
            "type": kind,
            "length": length,
            "differences": differences,
        }


def narrowed(codes: NDArray[np.generic], count: int) -> NDArray[np.generic]:
    """Return codes below `count` the narrowest type that holds them."""
    kind = np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32
    return codes.astype(kind)


def runs_of(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return codes as runs: what each run says, and how many rows it has.

    Examples
    --------
    >>> values, lengths = runs_of(np.array([3, 3, 3, 0], np.int32))
    >>> values.tolist(), lengths.tolist()
    ([3, 0], [3, 1])
    """
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[starts], np.diff(np.append(starts, len(codes))).astype(np.uint32)
