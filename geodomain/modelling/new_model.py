"""A regular block model to be made: its axes, and the frame that they are in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, counted
from geodomain.html.table import html_table
from geodomain.io.header.frames import LocalFrame, turned
from geodomain.mesh.mesh import Mesh
from geodomain.modelling.decimal_axis import DecimalAxis, Decimals, as_decimal, plain


@dataclass(frozen=True, repr=False)
class NewModel:
    """A regular block model that was made; ``print`` it.

    Attributes
    ----------
    axes : tuple of DecimalAxis
        Along x, y and z, in the model's coordinates: faces and sizes are exact decimals.
    frame : LocalFrame, optional
        What turns these coordinates into the world's; None where they are those of the world.
    output : str
        The file.
    """

    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis]
    frame: LocalFrame | None = None
    output: str = ""

    @property
    def count(self) -> tuple[int, int, int]:
        """Return the number of blocks along x, y and z."""
        x, y, z = (axis.count for axis in self.axes)
        return x, y, z

    @property
    def blocks(self) -> int:
        """Return the number of all blocks."""
        return math.prod(self.count)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; exact decimals are texts."""
        return {
            "blocks": self.blocks,
            "count": list(self.count),
            "size": [plain(axis.size) for axis in self.axes],
            "low": [plain(axis.low) for axis in self.axes],
            "high": [plain(axis.high) for axis in self.axes],
            "rotation": None if self.frame is None else self.frame.say(),
            "output": self.output,
        }

    def __str__(self) -> str:
        """Say how many blocks there are, where, and how to label them."""
        lines = [
            f"{counted(self.blocks, 'block')} of "
            f"{' x '.join(plain(axis.size) for axis in self.axes)}"
        ]
        lines += [": ".join(row) for row in self._rows()]
        lines += self._notes()
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Count the blocks."""
        return f"<NewModel of {' x '.join(map(str, self.count))} blocks>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table(counted(self.blocks, "block"), self._rows(), notes=self._notes())

    def _notes(self) -> list[str]:
        """Say how the blocks of a rotated model are placed."""
        if self.frame is None:
            return []
        if self.output.lower().endswith(".vti"):
            return ["these coordinates are local, and the image is turned itself"]
        return [f"these coordinates are local; label them with {self.frame.say()}"]

    def _rows(self) -> list[tuple[str, str]]:
        """Return where the blocks are along each axis."""
        return [
            (name, f"{plain(axis.low)} to {plain(axis.high)}, {counted(axis.count, 'block')}")
            for name, axis in zip("xyz", self.axes, strict=True)
        ]


def counted_axes(
    low: Decimals, size: Decimals, count: Sequence[int]
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes of blocks from their lowest corner on."""
    x, y, z = (DecimalAxis(*one) for one in zip(low, size, count, strict=True))
    return _resolved((x, y, z))


def fitted_axes(
    meshes: Iterable[Mesh],
    size: Decimals,
    margin: Decimals,
    anchor: Decimals,
    frame: LocalFrame | None,
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes of the fewest blocks that hold meshes, with a margin.

    Faces are at the anchor and multiples of the size from there. The box of vertices and the
    margin are exact; in a rotated frame the vertices are turned, and rounded, first.
    """
    boxes = [_box(mesh, frame) for mesh in meshes]
    lows, highs = np.min([one[0] for one in boxes], axis=0), np.max([o[1] for o in boxes], axis=0)
    x, y, z = (
        _fitted(*map(Fraction, one))
        for one in zip(lows.tolist(), highs.tolist(), size, margin, anchor, strict=True)
    )
    return _resolved((x, y, z))


def _box(mesh: Mesh, frame: LocalFrame | None) -> NDArray[np.float64]:
    """Return the box of the vertices that triangles use, in the model's coordinates."""
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangle that a model could fit"
        raise TableError(message)
    points = mesh.vertices[np.unique(mesh.triangles)]
    if frame is not None:
        inverse = np.array(frame.matrix).T
        points = turned(points, inverse, frame.local_origin, frame.origin)
    return np.array([points.min(axis=0), points.max(axis=0)])


def _fitted(
    low: Fraction, high: Fraction, size: Fraction, margin: Fraction, anchor: Fraction
) -> DecimalAxis:
    """Return the blocks that hold an interval and its margin, one at least."""
    first = math.floor((low - margin - anchor) / size)
    last = math.ceil((high + margin - anchor) / size)
    start = as_decimal(anchor + first * size)
    return DecimalAxis(start, as_decimal(size), max(last - first, 1))


def _resolved(
    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis],
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Refuse blocks that are too small for float64 where they are."""
    for name, axis in zip("xyz", axes, strict=True):
        if not axis.is_resolved:
            message = (
                f"blocks of {plain(axis.size)} in {name} are too small: near {_rough(axis.high)} "
                "float64 does not tell their centroids apart"
            )
            raise TableError(message)
    return axes


def _rough(value: Decimal) -> str:
    return f"{float(value):.6g}"
