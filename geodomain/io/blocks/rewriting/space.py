"""The frame that a model's blocks are boxes in, and the way from there to the world and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.io.blocks.hexahedra import corners_of, measured
from geodomain.io.header.frames import Frame, LocalFrame, turned
from geodomain.io.numbers import Doubles, Numbers, Resolution

Floats = NDArray[np.float64]


Triple = tuple[Numbers, Numbers, Numbers]
# Coordinates that a turn has changed: places in the frame of boxes, and places that text is given.
_NEAREST, _WRITTEN = Resolution(1, 9), Resolution(1, 6)


class Space(Protocol):
    """A frame of blocks."""

    @property
    def frame(self) -> Frame:
        """What the file and the caller say of it."""

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges in the world, a row each."""

    @property
    def at_corner(self) -> bool:
        """Whether coordinates are the lowest corners of blocks, not their centroids."""

    @property
    def is_turned(self) -> bool:
        """Whether it is not the world's."""

    @property
    def is_rounded(self) -> bool:
        """Whether the file has coordinates of turned boxes in the world, which are rounded."""

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give the world centroids that are read from a file with these coordinates and sizes."""

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world, (n, 3), in the frame."""

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates of a file in the frame."""

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates in the frame as a file has them."""


@dataclass(frozen=True)
class TableSpace:
    """The frame of a table."""

    frame: Frame

    @property
    def at_corner(self) -> bool:
        """Whether coordinates are corners."""
        return self.frame.position == "corner"

    @property
    def is_turned(self) -> bool:
        """Whether the model is rotated."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether boxes are turned, and their coordinates those of the world."""
        return self.frame.boxes is not None and self.is_turned

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges."""
        return self.frame.axes

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give centroids as `label_file` has them."""
        return self.frame.centroids(points, sizes)

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world in the frame: turned back by the transposed matrix."""
        lattice = self.frame.lattice
        return vertices if lattice is None else np.ascontiguousarray(lattice.to_local(vertices))

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates in the frame: those of turned boxes in the world are turned back."""
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_local(_stacked(coordinates)), boxes, _NEAREST)

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates as the file has them; those that are turned are rounded in text."""
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_world(_stacked(coordinates)), boxes, _WRITTEN)


def _stacked(numbers: Triple) -> Floats:
    return np.column_stack([each.doubles() for each in numbers])


def _changed(before: Triple, points: Floats, boxes: LocalFrame, step: Resolution) -> Triple:
    """Return points as numbers of a kind; a coordinate that is not turned stays exact."""
    x, y, z = (
        numbers
        if boxes.matrix[axis][axis] == 1.0
        else Doubles(points[:, axis])
        if isinstance(numbers, Doubles)
        else numbers.rounded(points[:, axis], step)
        for axis, numbers in enumerate(before)
    )
    return x, y, z


@dataclass(frozen=True)
class CellSpace:
    """The frame of cells whose edges point along the rows of `axes`, (3, 3)."""

    axes: Floats
    at_corner = False
    frame = Frame()

    @property
    def is_turned(self) -> bool:
        """Whether the cells are."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether corners are rounded: those of cells that are turned."""
        return self.is_turned

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give the centroids of hexahedra with these corners."""
        return measured(corners_of(self.to_world(points), sizes, self.axes))[0]

    def to_world(self, points: Floats) -> Floats:
        """Give points of the frame in the world."""
        return turned(points, self.axes.T, (0.0, 0.0, 0.0)) if self.is_turned else points

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world in the frame."""
        if not self.is_turned:
            return vertices
        return np.ascontiguousarray(turned(vertices, self.axes, (0.0, 0.0, 0.0)))

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates as they are: those of cells are in their frame."""
        return coordinates

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates as they are."""
        return coordinates
