"""Read the memory layout of the kernels' structures, and their constants, from the C++ side.

`kernels/launch/layout.cpp` is their only source. No Python file repeats an offset, a format, the
size of a structure or a constant of the kernels.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.compute.native import core

_ADDRESS = "P"


class Field(NamedTuple):
    """One field of a structure.

    Attributes
    ----------
    name : str
    offset : int
        Bytes from the structure's start.
    kind : str
        A number's letter, as in `struct` and NumPy; "P" for an address; or the name of a
        structure.
    counts : tuple of int
        The dimensions of an array; empty for a single value.
    """

    name: str
    offset: int
    kind: str
    counts: tuple[int, ...]


class Structure:
    """A structure of the kernels, packed from its fields and read by them.

    Attributes
    ----------
    name : str
    size : int
        Size in bytes.
    fields : tuple of Field
        The fields in memory order.
    """

    def __init__(self, name: str, size: int, fields: tuple[Field, ...]) -> None:
        self.name, self.size = name, size
        self.fields = tuple(sorted(fields, key=lambda field: field.offset))
        self._names = tuple(field.name for field in self.fields)
        self._name_set = frozenset(self._names)

    @functools.cached_property
    def dtype(self) -> np.dtype[np.void]:
        """Return the NumPy type of the structure; addresses are unsigned integers."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [_format(field) for field in self.fields],
                "offsets": [field.offset for field in self.fields],
                "itemsize": self.size,
            }
        )

    def pack(self, **values: int | float | bytes) -> bytes:
        """Return the bytes of a structure; addresses are ints, nested values are bytes."""
        if values.keys() != self._name_set and (unknown := values.keys() - self._name_set):
            message = f"{self.name} has no field {min(unknown)!r}"
            raise TypeError(message)
        return self._packer.pack(*[values[name] for name in self._names])

    def read(self, data: bytes, offset: int = 0) -> np.void:
        """Return the structure at an offset in bytes as a record."""
        record: np.void = np.frombuffer(data, self.dtype, 1, offset)[0]
        return record

    def empty(self, count: int = 1) -> NDArray[np.void]:
        """Return a zeroed array of structures for the core to write to."""
        return np.zeros(count, self.dtype)

    @functools.cached_property
    def _packer(self) -> struct.Struct:
        """Return the packer of all fields; nested structures and arrays are plain bytes."""
        codes, end = ["="], 0
        for field in self.fields:
            kind, size = _letter(field.kind)
            if field.counts:
                kind, size = f"{size * math.prod(field.counts)}s", size * math.prod(field.counts)
            codes.append(f"{field.offset - end}x{kind}")
            end = field.offset + size
        return struct.Struct("".join([*codes, f"{self.size - end}x"]))


def _letter(kind: str) -> tuple[str, int]:
    """Return the `struct` format of a field, and its size in bytes."""
    if len(kind) > 1:
        size = structure(kind).size
        return f"{size}s", size
    letter = "Q" if kind == _ADDRESS else kind
    return letter, struct.calcsize(f"={letter}")


def _format(field: Field) -> DTypeLike:
    """Return the NumPy format of a field."""
    kind = structure(field.kind).dtype if len(field.kind) > 1 else f"={_letter(field.kind)[0]}"
    return (kind, field.counts) if field.counts else kind


@functools.cache
def _described() -> tuple[Mapping[str, Structure], Mapping[str, int | float]]:
    """Return the structures and the constants that the core describes."""
    return parse(core().text("layout"))


def parse(text: str) -> tuple[Mapping[str, Structure], Mapping[str, int | float]]:
    """Return the structures and the constants of a description: see kernels/launch/layout.cpp."""
    sizes: dict[str, int] = {}
    fields: dict[str, list[Field]] = {}
    constants: dict[str, int | float] = {}
    name = ""
    for line in text.splitlines():
        what, *words = line.split()
        if what == "structure":
            name = words[0]
            sizes[name], fields[name] = int(words[1]), []
        elif what == "field":
            counts = tuple(map(int, words[3:]))
            fields[name].append(Field(words[0], int(words[1]), words[2], counts))
        else:
            constants[words[0]] = _number(words[1])
    whole = {name: Structure(name, size, tuple(fields[name])) for name, size in sizes.items()}
    return whole, constants


def _number(text: str) -> int | float:
    return float.fromhex(text) if "x" in text else int(text)


def structure(name: str) -> Structure:
    """Return a structure of the kernels by its name there."""
    return _described()[0][name]


def constant(name: str) -> int:
    """Return a whole number that the kernels are compiled with, by its name there."""
    return int(_described()[1][name])


def real(name: str) -> float:
    """Return a real number that the kernels are compiled with, by its name there."""
    return float(_described()[1][name])


def bounds_of(box: NDArray[np.float64]) -> bytes:
    """Return the Bounds of a box, (2, 3)."""
    low, high = (_corner(row) for row in np.reshape(box, (2, 3)).tolist())
    return structure("Bounds").pack(low=low, high=high)


def _corner(place: list[float]) -> bytes:
    x, y, z = place
    return structure("Vec3").pack(x=x, y=y, z=z)


def mesh_view(vertices: int, triangles: int, count: int) -> bytes:
    """Return the MeshView of arrays at these addresses."""
    return structure("MeshView").pack(vertices=vertices, triangles=triangles, triangle_count=count)


def points_view(places: tuple[int, int, int], steps: tuple[int, int, int]) -> bytes:
    """Return the PointsView of x, y and z at these addresses; `steps` are bytes from row to row."""
    x, y, z = places
    stride_x, stride_y, stride_z = steps
    return structure("PointsView").pack(
        x=x, y=y, z=z, stride_x=stride_x, stride_y=stride_y, stride_z=stride_z
    )


def row_list(rows: int, count: int) -> bytes:
    """Return the RowList with its rows and their number at these addresses."""
    return structure("RowList").pack(rows=rows, count=count)
