"""Read the blocks of a labelled model that its sections cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.order import Domains
from geodomain.errors import TableError
from geodomain.inspection.lattice_guess import find_lattice
from geodomain.inspection.survey import Survey
from geodomain.io.blocks.model import BlockFile, open_model
from geodomain.io.header.families import find_column
from geodomain.io.header.frames import LocalFrame
from geodomain.io.header.options import TableOptions
from geodomain.mesh.mesh import Mesh
from geodomain.sections.cutting import AXES, Section, is_cut

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """The blocks that a section cuts.

    Attributes
    ----------
    section : Section
        The plane.
    points, sizes : (n, 3) float64
        World centroids, and sizes along the blocks' own axes.
    labels : (n,) array of str
        What they are labelled with.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    """

    section: Section
    points: Floats
    sizes: Floats
    labels: NDArray[np.str_]
    matrix: Floats


@dataclass(frozen=True)
class _Shape:
    """The result of a first pass: block spacing, rotation, and the middle of the domains."""

    spacing: Floats | None
    matrix: Floats
    extent: Floats
    middle: Floats


def wireframes_of(domains: Domains) -> dict[str, Sequence[Mesh]]:
    """Return wireframes by domain; a surface of a stack belongs to the layer below it.

    The uppermost layer of a stack has none. A surface above a layer without a name is called by its
    own.
    """
    found: dict[str, Sequence[Mesh]] = {domain.name: domain.meshes for domain in domains}
    for stack in domains.stacks:
        if stack.layers[0]:
            found[stack.layers[0]] = ()
        for tiles, below in zip(stack.surfaces, stack.layers[1:], strict=True):
            found[below or tiles[0].name] = tiles
    return found


def gather(
    path: str,
    options: TableOptions,
    column: str,
    sections: Sequence[Section] = (),
    *,
    background: Sequence[str] = (),
) -> list[Cut]:
    """Read the blocks that sections cut.

    Parameters
    ----------
    path : str
        A labelled model of any kind of file; it is read twice.
    options : TableOptions
        What the user says of it.
    column : str
        The column of labels.
    sections : sequence of Section
        Where to cut; across each axis through the middle of the labelled domains, if empty.
    background : sequence of str
        Labels that are no domain; an empty one never is.

    Returns
    -------
    list of Cut

    Raises
    ------
    TableError
        Where there is no such column, a section cuts no block, or sizes are neither there nor to
        be seen from the centroids.
    """
    with open_model(path, options) as model:
        column = model.columns[find_column(model.columns, column, model.name)]
        shape = _survey(model, column, {"", *background})
    sections = sections or [
        Section(axis, float(at)) for axis, at in zip(AXES, shape.middle, strict=True)
    ]
    found: list[list[tuple[Floats, Floats, NDArray[np.str_]]]] = [[] for _ in sections]
    with open_model(path, options) as model:
        for points, sizes, labels in model.rows(column):
            sizes = _sizes(points, sizes, shape, model.name)
            for parts, section in zip(found, sections, strict=True):
                cut = is_cut(section, points, sizes, shape.matrix)
                parts.append((points[cut], sizes[cut], labels[cut]))
        name = model.name
    return [
        _together(section, parts, shape, name)
        for section, parts in zip(sections, found, strict=True)
    ]


def _survey(model: BlockFile, column: str, background: set[str]) -> _Shape:
    """Find the rotation, the spacing and the middle of the labelled domains in one pass."""
    survey = Survey(model.frame.local)
    domains = np.array([[np.inf] * 3, [-np.inf] * 3])
    for points, sizes, labels in model.rows(column):
        survey.add(points, sizes)
        labelled = points[~np.isin(labels, list(background))]
        labelled = labelled[np.isfinite(labelled).all(axis=1)]
        if len(labelled):
            domains[0] = np.minimum(domains[0], labelled.min(axis=0))
            domains[1] = np.maximum(domains[1], labelled.max(axis=0))
    if survey.rows == survey.missing:
        message = f"{model.name} has no block with a centroid: there is nothing to draw"
        raise TableError(message)
    if not np.isfinite(domains).all():
        domains = survey.centroids
    lattice = None if survey.sized else find_lattice(survey)
    local = model.frame.local or LocalFrame([("z", survey.azimuth)], (0.0, 0.0, 0.0))
    return _Shape(
        spacing=np.array(lattice.spacing) if lattice else None,
        matrix=np.array(local.matrix),
        extent=survey.extent,
        middle=np.array([_amid(survey, axis, domains[:, axis].mean()) for axis in range(3)]),
    )


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


def _sizes(points: Floats, sizes: Floats | None, shape: _Shape, name: str) -> Floats:
    """Return the sizes of blocks, or the spacing of the lattice if they have none."""
    if sizes is not None:
        return sizes
    if shape.spacing is None:
        message = (
            f"{name} has no block sizes, and its centroids are on no lattice that would give them: "
            "name the sizes with dx=, dy= and dz="
        )
        raise TableError(message)
    return np.broadcast_to(shape.spacing, points.shape)


def _together(
    section: Section,
    parts: Sequence[tuple[Floats, Floats, NDArray[np.str_]]],
    shape: _Shape,
    name: str,
) -> Cut:
    """Join the chunks of a section; raise TableError if it cuts no block."""
    points, sizes, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    if not len(points):
        low, high = shape.extent[:, section.across]
        message = (
            f"no block of {name} is cut by {section.axis} = {section.at:.10g}: {section.axis} "
            f"runs from {low:.10g} to {high:.10g}"
        )
        raise TableError(message)
    return Cut(section, points, sizes, labels, shape.matrix)
