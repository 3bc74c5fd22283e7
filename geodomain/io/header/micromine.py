"""What Micromine's rows below the column types say of the coordinates: block position, rotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.header.dialect import number
from geodomain.io.header.families import Triplet
from geodomain.io.header.frames import LocalFrame, Position
from geodomain.io.header.vendor import MicromineModel

Floats = NDArray[np.float64]

# So many columns of blocks must tell local from world coordinates; exports round to decimals.
_ENOUGH, _SLACK = 10, 0.02


class Blocks(NamedTuple):
    """The first blocks of a table.

    Attributes
    ----------
    points : (n, 3) float64
        Their coordinates as they stand.
    sizes : (n, 3) float64, optional
        Their sizes.
    position : {"centroid", "corner"}
        What the coordinates are.
    """

    points: Floats
    sizes: Floats | None
    position: Position


def first_blocks(
    sample: Sequence[Sequence[str]], xyz: Triplet, sizes: Triplet | None, position: Position
) -> Blocks:
    """Read the rows of a sample that have all their numbers."""
    wanted = [*xyz, *(sizes or ())]
    found = [[number(row[column]) for column in wanted] for row in sample if max(wanted) < len(row)]
    numbers = np.array([row for row in found if None not in row], np.float64)
    table = numbers.reshape(-1, len(wanted))
    return Blocks(table[:, :3], table[:, 3:] if sizes else None, position)


def position_of(model: MicromineModel | None, table: str) -> Position:
    """Give what the coordinates are by the last cell of the origin row.

    Raises
    ------
    TableError
        Where they are the upper corners.
    """
    word = model.position.casefold() if model else ""
    if word.startswith("top"):
        message = (
            f"{table} has the upper corners of its blocks ({model.position if model else ''}); "
            "export it with the block origin at the centre or bottom left, or "
            "say what its coordinates are with position=."
        )
        raise TableError(message)
    return "corner" if word.startswith("bottom") else "centroid"


def frame_of(model: MicromineModel, blocks: Blocks) -> LocalFrame | str | None:
    """Give the frame of a rotated model's blocks, None for the world, or what is in doubt.

    Micromine's help (block model export) names the cells of the two rows and not the frame of the
    coordinates, so the blocks themselves must tell: on the lattice of the origin row as they
    stand, they are local; turned back, they are in the world. An angle about Z is an azimuth,
    clockwise; of the senses of the two others nothing certain is known.
    """
    if any(model.angles[1:]):
        return "in which sense it is turned about X and Y is not certain"
    if blocks.sizes is None or len(np.unique(blocks.points[:, :2], axis=0)) < _ENOUGH:
        return "there are not enough blocks with sizes to tell local from world coordinates"
    pivot = (model.pivot[0], model.pivot[1], model.pivot[2])
    frame = LocalFrame([("z", model.angles[0])], origin=pivot, local_origin=pivot)
    back = LocalFrame([("z", -model.angles[0])], origin=pivot, local_origin=pivot)
    half = blocks.sizes / 2 if blocks.position == "centroid" else np.zeros(3)
    local, world = (
        _on_lattice(points - half, blocks.sizes, model)
        for points in (blocks.points, back.to_world(blocks.points))
    )
    if local == world:
        return "its blocks are on the lattice of its origin row neither or both ways"
    if world and blocks.position == "corner":
        return "it has the corners of turned blocks in world coordinates: export their centres"
    return frame if local else None


def _on_lattice(corners: Floats, sizes: Floats, model: MicromineModel) -> bool:
    """Tell whether blocks begin at whole numbers of their sizes from the origin, in plan."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (corners - np.array(model.origin))[:, :2] / sizes[:, :2]
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())
