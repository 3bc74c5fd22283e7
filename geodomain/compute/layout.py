"""Read the memory layout of the kernels' structures, and the kernels' constants, from C++.

Layout and constants are defined in `kernels/launch/layout.cpp` alone. No Python file repeats an
offset, a format, the size of a structure or a constant of the kernels.
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
        Name of the field.
    offset : int
        Bytes from the start of the structure.
    kind : str
        The type. For a number, it is the type's letter in `struct` and NumPy; for an address,
        "P"; for a structure, the structure's name.
    counts : tuple of int
        The dimensions of an array; empty for a single value.
    """

    name: str
    offset: int
    kind: str
    counts: tuple[int, ...]


class Structure:
    """The layout of a C++ structure; it packs field values into bytes, and reads such bytes.

    Attributes
    ----------
    name : str
        Name of the structure.
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
        """Return the bytes of a structure; addresses are given as ints, nested values as bytes."""
        if values.keys() != self._name_set and (unknown := values.keys() - self._name_set):
            message = f"{self.name} has no field {min(unknown)!r}"
            raise TypeError(message)
        return self._packer.pack(*[values[name] for name in self._names])

    def read(self, data: bytes, offset: int = 0) -> np.void:
        """Return the structure that begins at byte `offset` of `data`, as a NumPy record."""
        record: np.void = np.frombuffer(data, self.dtype, 1, offset)[0]
        return record

    def empty(self, count: int = 1) -> NDArray[np.void]:
        """Return an array of `count` zeroed structures, to which the core can write."""
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
    """Return the `struct` format of a field's kind, and its size in bytes."""
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
    """Return the structures and constants that the compiled core lists in its description."""
    return parse(core().text("layout"))


def parse(text: str) -> tuple[Mapping[str, Structure], Mapping[str, int | float]]:
    """Return the structures and constants of a description that layout.cpp wrote."""
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
    """Return the layout of a structure, by the structure's name in the kernels."""
    return _described()[0][name]


def constant(name: str) -> int:
    """Return an integer constant, by its name in the kernels."""
    return int(_described()[1][name])


def real(name: str) -> float:
    """Return a real constant, by its name in the kernels."""
    return float(_described()[1][name])


def bounds_of(box: NDArray[np.float64]) -> bytes:
    """Return a box (2, 3) as the kernels' Bounds structure."""
    low, high = (_corner(row) for row in np.reshape(box, (2, 3)).tolist())
    return structure("Bounds").pack(low=low, high=high)


def _corner(place: list[float]) -> bytes:
    x, y, z = place
    return structure("Vec3").pack(x=x, y=y, z=z)


def mesh_view(vertices: int, triangles: int, count: int) -> bytes:
    """Return the kernels' MeshView of `count` triangles, given the addresses of the arrays."""
    return structure("MeshView").pack(vertices=vertices, triangles=triangles, triangle_count=count)


def points_view(places: tuple[int, int, int], steps: tuple[int, int, int]) -> bytes:
    """Return the kernels' PointsView, given the addresses of the first x, y and z.

    `steps` are the bytes from one point to the next, for each coordinate.
    """
    x, y, z = places
    stride_x, stride_y, stride_z = steps
    return structure("PointsView").pack(
        x=x, y=y, z=z, stride_x=stride_x, stride_y=stride_y, stride_z=stride_z
    )


def row_list(rows: int, count: int) -> bytes:
    """Return the kernels' RowList, given the addresses of the rows and of the row count."""
    return structure("RowList").pack(rows=rows, count=count)
