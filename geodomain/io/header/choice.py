"""Which columns of a table are centroids and sizes, and in which frame; by names and first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from geodomain.errors import TableError
from geodomain.io.header import families, micromine
from geodomain.io.header.azimuth import refuse_misfit
from geodomain.io.header.collars import refuse_collars
from geodomain.io.header.corners import warn_of_corners
from geodomain.io.header.dialect import number
from geodomain.io.header.families import CENTROIDS, DATAMINE, SIZES, Triplet
from geodomain.io.header.frames import Frame, Triple
from geodomain.io.header.options import TableOptions
from geodomain.io.header.rotation import (
    Rotation,
    datamine_constants,
    datamine_origins,
    datamine_prototype,
    datamine_rotation,
    micromine_rotation,
)
from geodomain.io.header.vendor import MicromineModel

# So many rows of blocks are looked at to know what a model means: rotation, decimal mark.
SAMPLE_ROWS = 200


class Choice(NamedTuple):
    """The columns that matter, counted from 0, and what the coordinates stand for.

    `constants` are columns that say so in every row, and must say the same.
    """

    xyz: Triplet
    sizes: Triplet | None
    frame: Frame
    constants: dict[int, float]


def choose_columns(
    names: tuple[str, ...],
    sample: Sequence[Sequence[str]],
    options: TableOptions,
    *,
    model: MicromineModel | None = None,
    table: str = "table",
) -> Choice:
    """Choose the columns of a block model.

    Parameters
    ----------
    names : tuple of str
        Of all its columns.
    sample : sequence of sequence of str
        The cells of its first blocks.
    options : TableOptions
        What the user says; the names and the sample decide the rest.
    model : MicromineModel, optional
        What Micromine says of the whole model.
    table : str
        What error messages call the file.

    Returns
    -------
    Choice

    Raises
    ------
    TableError
        Where there are no such columns, or more than one set, the frame is in doubt, or the
        coordinates are those of collars.
    """
    turned = Rotation(
        rows=micromine_rotation(model),
        angles=datamine_rotation(names, sample),
        prototype=datamine_prototype(names, sample),
        model=model,
        origins=datamine_origins(names, sample),
    )
    xyz = _centroid(names, options, turned, table)
    if not options.points_are_middles:
        refuse_collars(names, sample, xyz, table)
    fixed = _fixed_size(names, options, table)
    sizes = None if fixed else _sizes(names, options, xyz, table)
    frame = _frame(names, options, turned, xyz, sizes, fixed, sample, table)
    if sizes and options.position is None and frame.position == "centroid":
        warn_of_corners(names, sample, xyz, sizes, table)
    # Said by the user, or in the world: then rows have no say in it.
    trusted = (
        options.rotation
        or options.frame
        or None not in options.centroid
        or _is_not_datamine(names, xyz)
    )
    constants = datamine_constants(names, sample, turned=frame.local is not None)
    return Choice(xyz, sizes, frame, {} if trusted else constants)


def _is_not_datamine(names: Sequence[str], xyz: Triplet) -> bool:
    """Tell whether other columns than Datamine's, which may be local, have been chosen."""
    return tuple(families.plain_name(names[column]) for column in xyz) != DATAMINE.names


def _given(names: Sequence[str], wanted: Sequence[str | None], table: str) -> list[int | None]:
    """Find the columns that the user has named."""
    return [None if one is None else families.find_column(names, one, table) for one in wanted]


def _centroid(
    names: tuple[str, ...], options: TableOptions, turned: Rotation, table: str
) -> Triplet:
    """Choose the centroid columns, those of the world where a rotated model has them."""
    given = _given(names, options.centroid, table)
    found = families.matches(names, CENTROIDS, given)
    if not found:
        families.refuse_no_centroid(names, table)
    if not options.rotation:
        found = turned.prefer_world(found)
    families.refuse_ambiguity(names, found, table)
    (xyz,) = found
    families.require_single(names, xyz, table, "x=, y= and z=")
    return xyz


def _frame(
    names: tuple[str, ...],
    options: TableOptions,
    turned: Rotation,
    xyz: Triplet,
    sizes: Triplet | None,
    fixed: Triple | None,
    sample: Sequence[Sequence[str]],
    table: str,
) -> Frame:
    """Say what the coordinates stand for: as the user says, or as the head does."""
    position = options.position or micromine.position_of(turned.model, table)
    if position == "corner" and sizes is None and fixed is None:
        message = (
            f"{table}: the centroid of a block is its corner and half its size, and there are no "
            "sizes: name them with dx=, dy= and dz=."
        )
        raise TableError(message)
    blocks = micromine.first_blocks(sample, xyz, sizes, position)
    if options.rotation or options.frame:
        frame = Frame(position, options.rotation, fixed, options.frame, said=True)
        lengths = frame.sized(blocks.points, blocks.sizes)
        if lengths is not None:
            refuse_misfit(frame.centroids(blocks.points, lengths), lengths, frame, table)
        return frame
    named = None not in options.centroid
    local = turned.settle(names, xyz, table, named=named, blocks=blocks)
    return Frame(position, local, fixed)


def _fixed_size(names: Sequence[str], options: TableOptions, table: str) -> Triple | None:
    """Return the size of every block where the user gives numbers that are no columns.

    Raises
    ------
    TableError
        For a number that is not above zero, and for numbers and columns together.
    """
    plain = {families.plain_name(name) for name in names}
    given = [one for one in options.size if one is not None]
    numbers = [number(one) for one in given if families.plain_name(one) not in plain]
    sizes = [one for one in numbers if one is not None]
    if not sizes:
        return None
    if len(sizes) < 3 or not all(0 < one < np.inf for one in sizes):
        message = (
            f"{table}: a size of all blocks is three numbers above 0, such as dx='10', dy='10', "
            f"dz='5', and not {', '.join(given)}; or name three columns."
        )
        raise TableError(message)
    return sizes[0], sizes[1], sizes[2]


def _sizes(
    names: tuple[str, ...], options: TableOptions, xyz: Triplet, table: str
) -> Triplet | None:
    """Choose the block size columns; where they are in doubt there are none, unless named."""
    given = _given(names, options.size, table)
    found = families.matches(names, SIZES, given)
    if any(options.size):
        if len(found) != 1:
            message = f"{table}: name all three block sizes with dx=, dy= and dz=."
            raise TableError(message)
        families.require_single(names, next(iter(found)), table, "dx=, dy= and dz=")
    if len(found) != 1:
        return None
    (sizes,) = found
    twice = set(sizes).intersection(xyz)
    if twice and not any(options.size):
        return None
    if twice:
        message = (
            f"{table}: {names[min(twice)]!r} cannot be a coordinate and a size; name the sizes "
            "with dx=, dy= and dz=."
        )
        raise TableError(message)
    return sizes
