"""Unite, intersect, subtract and clip solids, and prove each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack, get_args

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.errors import MeshError, counted
from geodomain.inputs import MeshesLike, MeshLike, as_mesh, as_meshes
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.query.contains import contains
from geodomain.query.surfaces import Extend, sides
from geodomain.settings import Rule, read_keywords, with_keywords
from geodomain.solids.bodies import (
    Body,
    Operation,
    body_of,
    combine,
    exact_origin,
    mesh_of,
    tolerance_of,
    volume_of,
    wall_error,
)
from geodomain.solids.mending import Change, Mended, mend, point_text
from geodomain.solids.proof import prove, wrong_result
from geodomain.solids.results import SolidInput, SolidResult
from geodomain.solids.settings import SolidKeywords, SolidSettings
from geodomain.solids.surfaces import (
    box_mesh,
    extended,
    footprint_between,
    levels_around,
    part_over,
    space_above,
    space_below,
    surface_of,
)
from geodomain.volumes.distance import distances

# A proof lets labels differ within this multiple of the distance by which a wall may be off.
_SLACK = 10
# What the result of an operation is called in messages.
_NOUNS = {
    "union": "the union",
    "intersection": "the intersection",
    "difference": "the difference",
    "clip": "the clipped solid",
    "between": "the solid between the surfaces",
    "extrude": "the prism",
    "repair": "the repaired solid",
}
Side = Literal["above", "below"]


@dataclass(frozen=True, eq=False)
class Operand:
    """One input of an operation.

    Attributes
    ----------
    name : str
        Name of the input.
    mesh : Mesh
        The closed mesh that takes part in the operation.
    walls : Mesh
        The input's own triangles, near which labels may differ.
    inside : callable
        Returns which points (n, 3) are inside, by the exact rule on the input.
    changes : tuple of Change
        How the input was mended.
    triangles : int
        Number of triangles of the input.
    is_solid : bool
        Whether the input is a solid; random points are taken from the boxes of solids.
    """

    name: str
    mesh: Mesh
    walls: Mesh
    inside: Callable[[Floats], Bools]
    changes: tuple[Change, ...]
    triangles: int
    is_solid: bool = True


def solid_operand(mesh: Mesh, settings: SolidSettings) -> Operand:
    """Return a mended solid as an operand.

    Points are labelled by the original mesh if it is closed, the rule applies to it, and it is not
    welded; otherwise by the mended mesh.
    """
    mended: Mended = mend(mesh, settings.rule, tolerance=settings.weld, holes=settings.fill)
    as_read = mesh.is_closed and (settings.rule == "parity" or mesh.is_balanced)
    judge = mesh if as_read and settings.weld is None else mended.mesh
    fitness.mark_warned(judge)  # its faults are mended, and listed as changes

    def inside(points: Floats) -> Bools:
        return contains(judge, points, rule=settings.rule)

    return Operand(mesh.name, mended.mesh, judge, inside, mended.changes, len(mesh.triangles))


@with_keywords(SolidSettings, SolidKeywords)
def union(*solids: MeshLike, **settings: Unpack[SolidKeywords]) -> SolidResult:
    """Return the solid of all points that are inside at least one of several solids.

    Parameters
    ----------
    *solids : mesh-like
        Two or more solids, or a single solid whose shells overlap.
    **settings

    Returns
    -------
    SolidResult
        Its `mesh` is the solid. Vertices that the operation does not touch are those of the inputs,
        bit for bit.

    Raises
    ------
    GeodomainError
        If manifold3d is not installed.
    MeshError
        If an input cannot be mended with certainty. If an input crosses itself, and manifold3d
        cannot compute the result by the rule. If the result has no volume, or a wrong label.

    Examples
    --------
    >>> import geodomain
    >>> from geodomain.solids import box, union
    >>> result = union(box([0, 0, 0], [2, 2, 2]), box([1, 1, 1], [3, 3, 3]))
    >>> result.volume, result.proof.wrong
    (15.0, 0)
    """
    return _operate("union", solids, settings)


@with_keywords(SolidSettings, SolidKeywords)
def intersect(*solids: MeshLike, **settings: Unpack[SolidKeywords]) -> SolidResult:
    """Return the solid of all points that are inside all of several solids.

    Parameters
    ----------
    *solids : mesh-like
        Two or more solids.
    **settings

    Returns
    -------
    SolidResult

    Raises
    ------
    GeodomainError, MeshError
        As `union`.

    Examples
    --------
    >>> from geodomain.solids import box, intersect
    >>> intersect(box([0, 0, 0], [2, 2, 2]), box([1, 1, 1], [3, 3, 3])).volume
    1.0
    """
    return _operate("intersection", solids, settings)


@with_keywords(SolidSettings, SolidKeywords)
def subtract(solid: MeshLike, *others: MeshLike, **settings: Unpack[SolidKeywords]) -> SolidResult:
    """Return the solid of all points that are inside a solid and outside all the others.

    Parameters
    ----------
    solid : mesh-like
        The solid from which the others are taken away.
    *others : mesh-like
        One or more solids.
    **settings

    Returns
    -------
    SolidResult

    Raises
    ------
    GeodomainError, MeshError
        As `union`.

    Examples
    --------
    >>> from geodomain.solids import box, subtract
    >>> subtract(box([0, 0, 0], [2, 2, 2]), box([1, 1, 1], [3, 3, 3])).volume
    7.0
    """
    return _operate("difference", (solid, *others), settings)


def _operate(
    operation: Operation, solids: Sequence[MeshLike], keywords: SolidKeywords
) -> SolidResult:
    settings = read_keywords(SolidSettings, keywords, SolidKeywords)
    least = 1 if operation == "union" else 2
    if len(solids) < least:
        message = f"the {operation} needs at least {counted(least, 'solid')}, not {len(solids)}"
        raise TypeError(message)
    operands = [solid_operand(as_mesh(solid), settings) for solid in solids]
    return operate(operation, operands, settings)


@with_keywords(SolidSettings, SolidKeywords)
def clip(
    solid: MeshLike,
    *,
    above: MeshesLike | None = None,
    below: MeshesLike | None = None,
    box: Sequence[Sequence[float]] | None = None,
    extend: Extend = "unassigned",
    **settings: Unpack[SolidKeywords],
) -> SolidResult:
    """Return the part of a solid above or below a surface, or inside a box.

    The surface stays open: there is no need to close it. As in labelling, a point is
    above or below the surface only if it is within the surface's footprint in plan.

    Parameters
    ----------
    solid : mesh-like
        The solid.
    above, below : mesh-like, or several of them
        A surface, such as topography: keep the part above it, or below it. Several meshes are tiles
        of a single surface.
    box : two sequences of three float
        The lowest and the highest corner of a box: keep the part inside it.
    extend : {"unassigned", "nearest"}
        What to do beyond the rim of the surface, as for `geodomain.sides`. With "unassigned", a
        solid that reaches beyond the rim is refused. With "nearest", the surface continues at the
        height of the nearest point of its rim, which must be convex in plan.
    **settings

    Returns
    -------
    SolidResult

    Raises
    ------
    GeodomainError
        As `union`.
    MeshError
        As `union`. If the solid reaches beyond the rim of the surface; the message gives the box of
        that part. If the surface cannot be extended.

    Examples
    --------
    >>> import geodomain
    >>> from geodomain.solids import box, clip
    >>> slope = geodomain.Mesh([[0, 0, 0], [4, 0, 2], [4, 4, 2], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> clip(box([0, 0, 0], [4, 4, 2]), below=slope).volume
    16.0
    """
    own = read_keywords(SolidSettings, settings, SolidKeywords)
    if sum(each is not None for each in (above, below, box)) != 1:
        message = "clip needs one of above=, below= and box="
        raise TypeError(message)
    if extend not in get_args(Extend):
        message = f"extend is {extend!r}; it can be 'unassigned' or 'nearest'"
        raise ValueError(message)
    if box is not None and extend != "unassigned":
        message = "a box has no rim: extend= is for above= and below="
        raise TypeError(message)
    operand = solid_operand(as_mesh(solid), own)
    if box is not None:
        return operate("intersection", [operand, _box(box, operand.mesh)], own, name="clip")
    side: Side = "below" if below is not None else "above"
    tiles = as_meshes(below if below is not None else above)  # type: ignore[arg-type]
    surface, changes = surface_of(tiles, tiles[0].name)
    if extend == "nearest":
        surface = extended(surface, operand.mesh)
    surface = part_over(surface, operand.mesh)
    _refuse_beyond(operand, surface)
    levels = levels_around([operand.mesh, surface])
    cutter = _side(tiles, surface, changes, side, levels, extend)
    return operate("intersection", [operand, cutter], own, name="clip")


@with_keywords(SolidSettings, SolidKeywords)
def between(top: MeshesLike, base: MeshesLike, **settings: Unpack[SolidKeywords]) -> SolidResult:
    """Return the solid below one surface and above another, where their footprints overlap.

    Parameters
    ----------
    top, base : mesh-like, or several of them
        The upper and the lower surface, as for `clip`. There is no solid where the base
        is above the top.
    **settings

    Returns
    -------
    SolidResult

    Raises
    ------
    GeodomainError, MeshError
        As `union`.

    Examples
    --------
    >>> import geodomain
    >>> from geodomain.solids import between
    >>> floor = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> roof = geodomain.Mesh([[0, 0, 1], [4, 0, 3], [4, 4, 3], [0, 4, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> between(roof, floor).volume
    32.0
    """
    own = read_keywords(SolidSettings, settings, SolidKeywords)
    surfaces = [(tiles, *surface_of(tiles, tiles[0].name)) for tiles in map(as_meshes, (top, base))]
    levels = levels_around([surface for _, surface, _ in surfaces])
    words: tuple[Side, Side] = ("below", "above")
    operands = [
        _side(tiles, surface, changes, side, levels)
        for (tiles, surface, changes), side in zip(surfaces, words, strict=True)
    ]
    return operate("intersection", operands, own, name="between")


def box(low: Sequence[float], high: Sequence[float]) -> Mesh:
    """Return a box as a closed mesh of 12 triangles.

    Parameters
    ----------
    low, high : sequence of three float
        The lowest and the highest corner.

    Raises
    ------
    ValueError
        If a corner is not three finite numbers, or the box has no volume.

    Examples
    --------
    >>> from geodomain.solids import box
    >>> box([0, 0, 0], [2, 3, 4]).volume
    24.0
    """
    corners = np.array([low, high], np.float64)
    if (
        corners.shape != (2, 3)
        or not np.isfinite(corners).all()
        or (corners[0] >= corners[1]).any()
    ):
        message = f"a box needs a lowest and a highest corner, not {low} and {high}"
        raise ValueError(message)
    return box_mesh(corners[0], corners[1])


def _box(corners: Sequence[Sequence[float]], solid: Mesh) -> Operand:
    """Return a box as an operand.

    The tolerance grows with the coordinates, so the box is cut where it extends beyond the solid by
    more than the solid's size.
    """
    if len(corners) != 2:
        message = f"box= must be two corners, the lowest and the highest, not {len(corners)}"
        raise ValueError(message)
    mesh = box(*corners)
    size = np.ptp(solid.bounds, axis=0).max()
    low, high = solid.bounds + np.array([[-size], [size]])
    low, high = np.maximum(mesh.bounds[0], low), np.minimum(mesh.bounds[1], high)
    if (low < high).all():
        mesh = box_mesh(low, high)

    def inside(points: Floats) -> Bools:
        return contains(mesh, points)

    return Operand(mesh.name, mesh, mesh, inside, (), len(mesh.triangles), is_solid=False)


def _side(
    tiles: Sequence[Mesh],
    surface: Mesh,
    changes: tuple[Change, ...],
    side: Side,
    levels: tuple[float, float],
    extend: Extend = "unassigned",
) -> Operand:
    """Return one side of a surface as an operand: all points labelled as being on this side."""
    prism = space_below(surface, levels[0]) if side == "below" else space_above(surface, levels[1])
    value = -1 if side == "below" else 1

    def inside(points: Floats) -> Bools:
        return np.asarray(sides(tiles, points, extend=extend) == value)

    count = sum(len(tile.triangles) for tile in tiles)
    return Operand(surface.name, prism, surface, inside, changes, count, is_solid=False)


def _refuse_beyond(operand: Operand, surface: Mesh) -> None:
    """Refuse a solid that reaches beyond the rim of a surface."""
    levels = levels_around([operand.mesh, surface])
    footprint = footprint_between(surface, *levels)
    origin = exact_origin([operand.mesh, footprint])
    body, _ = body_of(operand.mesh, "parity", origin)
    column, changes = body_of(footprint, "parity", origin)
    overlap = next((change for change in changes if change.kind == "united"), None)
    if overlap is not None:
        message = (
            f"{surface.name} has parts that overlap in plan, near "
            f"{point_text(overlap.places[0][:2])}: cut them so that they meet only along their rims"
        )
        raise MeshError(message)
    beyond = combine("difference", [body, column], [operand.name, footprint.name], "parity")
    distance = _SLACK * wall_error([body, column, beyond], [operand.mesh, footprint])
    if beyond.solid.is_empty() or beyond.solid.volume() <= distance * beyond.solid.surface_area():
        return
    low, high = mesh_of(beyond, origin, operand.name).bounds
    where = " to ".join(f"({', '.join(f'{v:.10g}' for v in corner)})" for corner in (low, high))
    message = (
        f"{operand.name} reaches beyond the rim of {surface.name}, in the box {where}, where "
        "nothing is above or below the surface: enlarge the surface, or clip the solid to a box "
        "first"
    )
    raise MeshError(message)


def operate(
    operation: Operation,
    operands: Sequence[Operand],
    settings: SolidSettings,
    *,
    name: str | None = None,
) -> SolidResult:
    """Combine operands, and prove the result.

    Parameters
    ----------
    operation : {"union", "intersection", "difference", "parity"}
        The Boolean operation.
    operands : sequence of Operand
        The inputs, in order.
    settings : SolidSettings
        The rule, and the number of points of the proof.
    name : str, optional
        Name of the operation in the result.
    """
    rule = settings.rule
    meshes = [operand.mesh for operand in operands]
    origin = exact_origin(meshes)
    bodies, inputs = list[Body](), list[SolidInput]()
    for operand in operands:
        body, changes = body_of(operand.mesh, rule if operand.is_solid else "parity", origin)
        _refuse_hollow(operand, body, rule)
        bodies.append(body)
        inputs.append(_input(operand, body, changes))
    body = combine(operation, bodies, [operand.name for operand in operands], rule)
    distance = wall_error([*bodies, body], meshes)
    mesh = mesh_of(body, origin, _NOUNS[name or operation], distance)
    new = _new_vertices(mesh, meshes)
    offset = _largest_offset(new, meshes)
    crossing = "" if body.crossing is None else _crossing_text(inputs)
    if offset > _SLACK * distance:
        raise wrong_result(
            mesh, f"has a corner {offset:.2g} from the walls of the inputs", crossing
        )
    proof = prove(
        mesh,
        lambda points: _expected(operation, operands, points),
        [operand.mesh for operand in operands if operand.is_solid] or meshes,
        [operand.walls for operand in operands],
        rule=rule,
        distance=_SLACK * distance,
        points=settings.points,
        reason=crossing,
    )
    _refuse_empty(mesh, operation, operands, distance)
    return SolidResult(
        operation=name or operation,
        mesh=mesh,
        inputs=tuple(inputs),
        rule=rule,
        volume=volume_of(mesh, body),
        unchanged=len(mesh.vertices) - len(new),
        new=len(new),
        tolerance=tolerance_of([*bodies, body]),
        distance=distance,
        offset=offset,
        proof=proof,
    )


def _crossing_text(inputs: Sequence[SolidInput]) -> str:
    """Return which input crosses itself, and where."""
    first = next(each for each in inputs if each.crossing is not None)
    return f"{first.name} crosses itself near {point_text(first.crossing or ())}"


def _expected(operation: Operation, operands: Sequence[Operand], points: Floats) -> Bools:
    """Return which points are inside the result, by the exact rule on the inputs."""
    first, *others = (operand.inside(points) for operand in operands)
    for other in others:
        if operation == "union":
            first = first | other
        elif operation == "parity":
            first = first ^ other
        else:
            first = first & (other if operation == "intersection" else ~other)
    return first


def _input(operand: Operand, body: Body, changes: tuple[Change, ...]) -> SolidInput:
    volume = float(body.solid.volume()) if operand.is_solid and not body.crossing else None
    changes = operand.changes + changes if operand.is_solid else operand.changes
    return SolidInput(operand.name, operand.triangles, volume, body.crossing, changes)


def _refuse_hollow(operand: Operand, body: Body, rule: Rule) -> None:
    """Refuse an input that encloses nothing."""
    if body.solid.is_empty():
        message = f"{operand.name} encloses nothing by rule {rule!r}"
        raise MeshError(message)


def _refuse_empty(
    mesh: Mesh, operation: Operation, operands: Sequence[Operand], distance: float
) -> None:
    """Refuse a result without volume."""
    if len(mesh.triangles):
        return
    first, *others = (operand.mesh.name for operand in operands)
    rest = " and ".join(others)
    message = (
        f"{first} and {rest} have no volume in common, apart from parts at most {distance:.2g} "
        "thick"
    )
    if operation != "intersection":
        message = (
            f"nothing of {first} is outside {rest}, apart from parts at most {distance:.2g} thick"
        )
    raise MeshError(message)


def _new_vertices(mesh: Mesh, inputs: Sequence[Mesh]) -> Floats:
    """Return the vertices of a result that are not, bit for bit, vertices of the inputs."""
    rows = [np.ascontiguousarray(each.vertices).view("V24").ravel() for each in inputs]
    own = np.ascontiguousarray(mesh.vertices).view("V24").ravel()
    return np.asarray(mesh.vertices[~np.isin(own, np.concatenate(rows))])


def _largest_offset(points: Floats, walls: Sequence[Mesh]) -> float:
    """Return the largest distance of a point from the nearest of several meshes."""
    nearest = np.full(len(points), np.inf)
    for wall in walls:
        if len(points):
            nearest = np.minimum(nearest, distances(wall, points))
    return float(nearest.max(initial=0.0))
