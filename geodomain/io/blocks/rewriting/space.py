"""The frame that a model's blocks are boxes in, and the way from there to the world and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.io.blocks.hexahedra import corners_of, measured
from geodomain.io.header.frames import Frame, turned

Floats = NDArray[np.float64]


class Space(Protocol):
    """A frame of blocks."""

    @property
    def at_corner(self) -> bool:
        """Whether coordinates are the lowest corners of blocks, not their centroids."""

    @property
    def is_turned(self) -> bool:
        """Whether it is not the world's."""

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give the world centroids that are read from a file with these coordinates and sizes."""

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world, (n, 3), in the frame."""


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
        return self.frame.local is not None

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give centroids as `label_file` has them."""
        return self.frame.centroids(points, sizes)

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world in the frame: turned back by the transposed matrix."""
        local = self.frame.local
        if local is None:
            return vertices
        back = np.array(local.matrix).T
        return np.ascontiguousarray(turned(vertices, back, local.local_origin, local.origin))


@dataclass(frozen=True)
class CellSpace:
    """The frame of cells whose edges point along the rows of `axes`, (3, 3)."""

    axes: Floats
    at_corner = False

    @property
    def is_turned(self) -> bool:
        """Whether the cells are."""
        return bool((self.axes != np.eye(3)).any())

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
