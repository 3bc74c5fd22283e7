"""What a first pass over a model's blocks tells: how it is turned, its spacing, its middle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.inspection.lattice_guess import find_lattice
from geodomain.inspection.survey import Survey
from geodomain.io.header.frames import LocalFrame

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ModelShape:
    """The shape of a block model.

    Attributes
    ----------
    spacing : (3,) float64, optional
        Of the lattice of blocks without sizes.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    middle : (3,) float64
        Of the labelled domains, amid blocks.
    """

    spacing: Floats | None
    matrix: Floats
    middle: Floats

    def require_spacing(self, name: str) -> Floats:
        """Return the spacing, or say that there is none."""
        if self.spacing is None:
            message = (
                f"{name} has no block sizes, and its centroids are on no lattice that would give "
                "them: name the sizes with dx=, dy= and dz="
            )
            raise TableError(message)
        return self.spacing


def shape_of(survey: Survey, local: LocalFrame | None, domains: Floats, name: str) -> ModelShape:
    """Return the shape of a model, of which `domains` is the box of labelled centroids.

    Raises
    ------
    TableError
        If no block has a centroid.
    """
    if survey.rows == survey.missing:
        message = f"{name} has no block with a centroid: there is nothing to draw"
        raise TableError(message)
    if not np.isfinite(domains).all():
        domains = survey.centroids
    lattice = None if survey.sized else find_lattice(survey)
    return ModelShape(
        spacing=np.array(lattice.spacing) if lattice else None,
        matrix=matrix_of(survey, local),
        middle=np.array([_amid(survey, axis, domains[:, axis].mean()) for axis in range(3)]),
    )


def matrix_of(survey: Survey, local: LocalFrame | None) -> Floats:
    """Return from directions of the blocks to those of the world, as the first blocks tell."""
    frame = local or LocalFrame([("z", survey.azimuth)], (0.0, 0.0, 0.0))
    return np.array(frame.matrix)


def _amid(survey: Survey, axis: int, middle: float) -> float:
    """Move a section that lies on faces of blocks to the middle of the blocks."""
    lows = None if survey.is_turned else survey.lows(axis)
    if lows is None:
        length = float(np.ptp(survey.extent[:, axis])) or 1.0
        return round(middle, 2 - math.floor(math.log10(length)))
    if not survey.sized:  # then these are the centroids
        return float(lows[np.abs(lows - middle).argmin()])
    faces = np.append(lows, survey.extent[1, axis])
    after = int(np.clip(np.searchsorted(faces, middle, side="right"), 1, len(faces) - 1))
    return float(faces[after - 1 : after + 1].mean())
