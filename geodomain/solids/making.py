"""Make solids from outlines, repair solids, split them into bodies, and measure their overlaps."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Unpack

import numpy as np

from geodomain.compute.data import Bools, Floats
from geodomain.errors import MeshError, TableError, counted
from geodomain.files.streams import read_whole
from geodomain.formats.registry import split_name, writer_of_meshes
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh import fitness
from geodomain.mesh.components import find_components
from geodomain.mesh.edges import collinear
from geodomain.mesh.mesh import Mesh, enclosed_volume
from geodomain.mesh.relations import relate
from geodomain.query.contains import contains
from geodomain.query.surfaces import sides
from geodomain.result_tables import ResultColumns, csv_text, data_frame, html_table, text_table
from geodomain.settings import Rule, read_keywords, with_keywords
from geodomain.solids.bodies import (
    Body,
    body_of,
    clean_shells,
    combine,
    exact_origin,
    mesh_of,
    wall_error,
)
from geodomain.solids.mending import Change, mend, point_text
from geodomain.solids.operations import Operand, operate, solid_operand
from geodomain.solids.proof import prove
from geodomain.solids.results import SolidInput, SolidResult
from geodomain.solids.settings import MendKeywords, SolidKeywords, SolidSettings
from geodomain.solids.surfaces import footprint_between, prism_of_ring, surface_of, tunnel_of_ring
from geodomain.tables.dialect import DELIMITERS, UTF8_MARK, cell_text, number, split_rows
from geodomain.tables.vendors import CENTROIDS, plain_name

if TYPE_CHECKING:
    import pandas

Outline: TypeAlias = (
    "str | os.PathLike[str] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]"
)
# Names of the column that separates several rings of one outline.
_RING = {"ring", "polygon", "part"}


# Outlines.


@with_keywords(SolidSettings, SolidKeywords)
def extrude(
    outline: Outline, low: float, high: float, **settings: Unpack[SolidKeywords]
) -> SolidResult:
    """Return the prism over an outline between two elevations.

    Parameters
    ----------
    outline : path, array_like of shape (n, 2), or sequence of these arrays
        The corners of the outline in plan, in order; further columns of an array are ignored.
        Several rings make one outline: a point inside an even number of rings is outside. A path
        names a text table with columns of x and y, and a column `ring` if there are several rings.
        It can also name an open wireframe, whose footprint is the outline.
    low, high : float
        The elevations of the floor and the roof.
    **settings

    Returns
    -------
    SolidResult

    Raises
    ------
    ValueError
        If an elevation is not finite, or the roof is not above the floor.
    TableError
        If the table has no columns of x and y, or a cell is not a number.
    MeshError
        If a ring has fewer than three corners, encloses no area, or crosses itself.

    Examples
    --------
    >>> from geodomain.solids import extrude
    >>> extrude([[0, 0], [4, 0], [4, 3], [0, 3]], 10, 15).volume
    60.0
    """
    own = read_keywords(SolidSettings, settings, SolidKeywords)
    if not (np.isfinite([low, high]).all() and low < high):
        message = f"the roof of a prism must be above its floor, but {high} is not above {low}"
        raise ValueError(message)
    operands = _prisms(outline, low, high)
    result = operate("parity", operands, own, name="extrude")
    crossing = next((each for each in result.inputs if each.crossing is not None), None)
    if crossing is not None:
        place = point_text((crossing.crossing or ())[:2])
        message = f"{crossing.name} crosses itself near {place}: correct the outline"
        raise MeshError(message)
    return result


def _prisms(outline: Outline, low: float, high: float) -> list[Operand]:
    """Return the prism over each ring of an outline, or over the footprint of a surface."""
    name = "the outline"
    if isinstance(outline, str | os.PathLike):
        path = Path(split_name(outline)[0])
        name = path.name
        if writer_of_meshes(path.suffix.lower()) is not None:
            tiles = [as_mesh(outline)]
            surface, changes = surface_of(tiles, tiles[0].name)
            prism = footprint_between(surface, low, high)
            return [_prism(prism, lambda points: sides(tiles, points) != 0, low, high, changes)]
        rings = _read_rings(path)
    elif not len(outline):
        message = "the outline has no corners"
        raise ValueError(message)
    else:
        several = np.ndim(outline[0][0]) > 0
        rings = [np.asarray(ring, np.float64) for ring in (outline if several else [outline])]
    operands = []
    for count, ring in enumerate(rings, 1):
        corners = _checked(ring, name, count)
        prism = prism_of_ring(corners, low, high, f"ring {count} of {name}")
        operands.append(_prism(prism, partial(_within_ring, tunnel_of_ring(corners)), low, high))
    return operands


def _prism(
    mesh: Mesh,
    within: Callable[[Floats], Bools],
    low: float,
    high: float,
    changes: tuple[Change, ...] = (),
) -> Operand:
    """Return a prism as an operand; `within` says which points are inside the outline in plan."""
    fitness.mark_warned(mesh)  # an outline may touch itself

    def inside(points: Floats) -> Bools:
        z = points[:, 2]
        return np.asarray((z > low) & (z < high) & within(points))

    return Operand(mesh.name, mesh, mesh, inside, changes, len(mesh.triangles))


def _within_ring(tunnel: Mesh, points: Floats) -> Bools:
    """Return which points are inside a ring in plan, by even-odd parity, exactly."""
    turned = np.column_stack([np.zeros(len(points)), points[:, :2]])
    return contains(tunnel, turned, allow_open=True)


def _checked(ring: Floats, name: str, number: int) -> Floats:
    """Return the corners of a ring, (n, 2), without repeated corners."""
    if ring.ndim != 2 or ring.shape[1] < 2 or not np.isfinite(ring[:, :2]).all():
        message = f"ring {number} of {name} must be finite numbers of shape (n, 2)"
        raise ValueError(message)
    corners = ring[:, :2]
    corners = corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]
    if len(np.unique(corners, axis=0)) < 3:
        message = f"ring {number} of {name} has fewer than three different corners"
        raise MeshError(message)
    flat = np.column_stack([corners, np.zeros(len(corners))])
    if collinear(*np.broadcast_arrays(flat[0], flat[1], flat)).all():
        message = f"ring {number} of {name} encloses no area: all its corners are on one line"
        raise MeshError(message)
    return np.ascontiguousarray(corners)


def _read_rings(path: Path) -> list[Floats]:
    """Return the rings of a text table: x and y by the usual names, in the order of its rows."""
    text = read_whole(path)
    start = len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0
    for delimiter in DELIMITERS:
        rows = list(split_rows(text, delimiter, start, whole=True, name=path.name))
        if not rows:
            continue
        names = [plain_name(cell_text(cell)) for cell in rows[0].cells]
        for family in CENTROIDS:
            x, y, _ = family.names
            if x in names and y in names:
                cells = [[cell_text(cell) for cell in row.cells] for row in rows[1:]]
                return _rings(cells, names, (names.index(x), names.index(y)), path.name)
    message = f"{path.name} has no columns of x and y in its first line, such as X,Y"
    raise TableError(message)


def _rings(
    cells: list[list[str]], names: list[str], columns: tuple[int, int], name: str
) -> list[Floats]:
    """Return the rings in the rows of a table; empty rows are skipped."""
    key = next((place for place, each in enumerate(names) if each in _RING), None)
    rings: dict[str, list[tuple[float, ...]]] = {}
    for line, row in enumerate(cells, 2):
        if not any(cell.strip() for cell in row):
            continue
        values = [number(row[place]) if place < len(row) else None for place in columns]
        if any(value is None or not np.isfinite(value) for value in values):
            message = (
                f"line {line} of {name} has no numbers for x and y: correct or delete the line"
            )
            raise TableError(message)
        ring = row[key] if key is not None and key < len(row) else ""
        rings.setdefault(ring, []).append(tuple(value or 0.0 for value in values))
    if not rings:
        message = f"{name} has no rows below its header line"
        raise TableError(message)
    return [np.array(ring) for ring in rings.values()]


# Repair.


@with_keywords(SolidSettings, SolidKeywords)
def repair(solid: MeshLike, **settings: Unpack[SolidKeywords]) -> SolidResult:
    """Return a repaired solid, whose shells face the right way and do not overlap.

    Only certain changes are made: equal vertices are joined, copies of triangles and folded
    triangles dropped, triangles cut at T-junctions, and triangles and shells that face the wrong
    way turned. Shells that overlap are combined by the rule. Vertices move only with `weld`, and
    holes are filled only with `fill`.

    Parameters
    ----------
    solid : mesh-like
        The solid.
    **settings

    Returns
    -------
    SolidResult
        If no shells overlap, unchanged triangles keep their order.

    Raises
    ------
    GeodomainError
        If shells overlap and manifold3d is not installed.
    MeshError
        If the right change is not certain; the message gives the reason and the place.

    Examples
    --------
    >>> import geodomain
    >>> from geodomain.solids import box, repair
    >>> whole = box([0, 0, 0], [1, 1, 1])
    >>> damaged = geodomain.Mesh(whole.vertices, [*whole.triangles, whole.triangles[3]])
    >>> print(repair(damaged).changes[0])
    1 copy of a triangle dropped, at (0.6666666667, 0.6666666667, 1); no volume moved
    """
    own = read_keywords(SolidSettings, settings, SolidKeywords)
    operand = solid_operand(as_mesh(solid), own)
    clean = clean_shells(operand.mesh, own.rule)
    if clean is None:
        result = operate("union", [operand], own, name="repair")
        if result.inputs[0].crossing is not None:
            place = point_text(result.inputs[0].crossing)
            message = (
                f"{operand.name} crosses itself near {place}, and it is not certain where to cut "
                "it: remove the crossing in the program that made the mesh"
            )
            raise MeshError(message)
        return result
    mesh, changes = clean
    volume = enclosed_volume(mesh.vertices, mesh.triangles, mesh.bounds)
    proof = prove(
        mesh, operand.inside, [mesh], [operand.walls],
        rule=own.rule, distance=0.0, points=own.points,
    )  # fmt: skip
    source = SolidInput(operand.name, operand.triangles, volume, None, operand.changes + changes)
    used = len(np.unique(mesh.triangles))
    return SolidResult("repair", mesh, (source,), own.rule, volume, used, 0, 0.0, 0.0, 0.0, proof)


# Bodies.


@dataclass(frozen=True, eq=False)
class SplitResult:
    """The bodies of a solid, and its repair before the split; `str` gives a report.

    Attributes
    ----------
    bodies : tuple of Mesh
        Each outer shell with the voids in it, the largest first. The name of a body is that of the
        solid and a number.
    repair : SolidResult
        The repaired solid that was split, with its changes and its proof.
    """

    bodies: tuple[Mesh, ...]
    repair: SolidResult

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; the meshes are left out."""
        rows = [
            {"name": each.name, "triangles": len(each.triangles), "volume": each.volume}
            for each in self.bodies
        ]
        return {"bodies": rows, "repair": self.repair.as_dict()}

    def __str__(self) -> str:
        """Return the report of the repair, and the size of each body."""
        rows = [
            f"{each.name}: {counted(len(each.triangles), 'triangle')}, volume {each.volume:,.10g}"
            for each in self.bodies
        ]
        return "\n".join([str(self.repair), *rows])

    def __repr__(self) -> str:
        """Return the number of bodies."""
        return f"<SplitResult: {counted(len(self.bodies), 'body', 'bodies')}>"


@with_keywords(SolidSettings, SolidKeywords)
def split(solid: MeshLike, **settings: Unpack[SolidKeywords]) -> SplitResult:
    """Split a solid into its bodies: each outer shell, with the voids in it.

    Parameters
    ----------
    solid : mesh-like
        The solid, which is repaired first, as by `repair`.
    **settings

    Returns
    -------
    SplitResult
        Its `bodies` are the solids, the largest first. Their vertices and triangles are those of
        the repaired solid.

    Raises
    ------
    GeodomainError, MeshError
        As `repair`.

    Examples
    --------
    >>> import geodomain
    >>> from geodomain.solids import box, split, union
    >>> two = union(box([0, 0, 0], [1, 1, 1]), box([5, 0, 0], [7, 1, 1]))
    >>> [body.volume for body in split(two.mesh).bodies]
    [2.0, 1.0]
    """
    mesh = as_mesh(solid)
    name = mesh.name
    repaired = repair(mesh, **settings)
    mesh = repaired.mesh
    _, parts = find_components(mesh)
    relations = relate(mesh)
    around = np.full(parts.count, -1)
    around[relations.nested[:, 1]] = relations.nested[:, 0]
    void = relations.depth % 2 == 1
    owner = np.where(void, around, np.arange(parts.count))
    bodies = []
    for outer in np.flatnonzero(~void).tolist():
        rows = np.flatnonzero(np.isin(parts.component, np.flatnonzero(owner == outer)))
        used, corners = np.unique(mesh.triangles[rows], return_inverse=True)
        bodies.append(Mesh(mesh.vertices[used], corners.reshape(-1, 3), name=name))
    volumes = [enclosed_volume(each.vertices, each.triangles, each.bounds) for each in bodies]
    order = sorted(range(len(bodies)), key=lambda number: -volumes[number])
    named = tuple(
        Mesh(bodies[place].vertices, bodies[place].triangles, name=f"{name} {count}")
        for count, place in enumerate(order, 1)
    )
    return SplitResult(named, repaired)


# Volumes.


@dataclass(frozen=True, eq=False, repr=False)
class VolumeMatrix:
    """Volumes of several solids and of the space that each pair shares; `str` gives a table.

    Attributes
    ----------
    names : tuple of str
        Names of the solids; a name that occurs again gets a number.
    overlaps : (n, n) float64
        The volume that solids i and j share; on the diagonal, the volume of each solid.
    alone : (n,) float64
        For each solid, the volume of the part outside all other solids.
    error : float
        A bound on the error of each volume from a Boolean operation: the distance by which
        a wall may be off, times the area of the walls.
    methods : tuple of tuple of str
        How each volume of `overlaps` was computed: "triangles" (sum over the triangles of the
        solid, in float64), "boxes" (exactly 0, because the boxes of the solids do not meet) or
        "boolean" (sum over the triangles of manifold3d's intersection).
    inputs : tuple of SolidInput
        The solids, and how they were mended.
    """

    names: tuple[str, ...]
    overlaps: Floats
    alone: Floats
    error: float
    methods: tuple[tuple[str, ...], ...]
    inputs: tuple[SolidInput, ...]

    @property
    def columns(self) -> ResultColumns:
        """The table: a row for each solid."""
        columns: dict[str, tuple[str, object]] = {"solid": ("str", list(self.names))}
        for name, values in zip(self.names, self.overlaps.T, strict=True):
            columns[name] = ("float64", values)
        columns["in no other"] = ("float64", self.alone)
        return columns  # type: ignore[return-value]

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"overlaps": self.overlaps.tolist(), "alone": self.alone.tolist()}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a DataFrame."""
        return data_frame({name: values for name, (_, values) in self.columns.items()})

    def to_csv(self) -> str:
        """Return the table as CSV, with unrounded numbers."""
        return csv_text(self.columns)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (name, *(f"{value:,.10g}" for value in row), f"{alone:,.10g}")
            for name, row, alone in zip(self.names, self.overlaps, self.alone, strict=True)
        ]

    def _note(self) -> str:
        return (
            "volumes of solids are sums over their triangles; shared volumes and volumes in no "
            f"other solid come from Boolean operations, with an error of at most {self.error:.2g}"
        )

    def __str__(self) -> str:
        """Return how the solids were mended, the table, and how the volumes were computed."""
        changed = [line for each in self.inputs if each.changes for line in each.lines()]
        head = ("solid", *self.names, "in no other")
        return "\n".join([*changed, *text_table([head, *self._rows()]), self._note()])

    def __repr__(self) -> str:
        """Return the number of solids, and of pairs that overlap."""
        pairs = int(np.count_nonzero(np.triu(self.overlaps, 1)))
        overlap = counted(pairs, "pair overlaps", "pairs overlap")
        return f"<VolumeMatrix of {counted(len(self.names), 'solid')}: {overlap}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings = ("solid", *self.names, "in no other")
        changes = [f"{each.name}: {change}" for each in self.inputs for change in each.changes]
        notes = [*changes, self._note()]
        return html_table("Volumes", self._rows(), headings=headings, notes=notes)


@with_keywords(SolidSettings, MendKeywords)
def volumes(*solids: MeshLike, **settings: Unpack[MendKeywords]) -> VolumeMatrix:
    """Return the volume of each solid, of each pair's overlap, and of the part outside all others.

    Parameters
    ----------
    *solids : mesh-like
        The solids, which are mended as by `repair`.
    **settings

    Returns
    -------
    VolumeMatrix

    Raises
    ------
    GeodomainError, MeshError
        As `union`. Also if a solid crosses itself.

    Examples
    --------
    >>> from geodomain.solids import box, volumes
    >>> matrix = volumes(box([0, 0, 0], [2, 2, 2]), box([1, 1, 1], [3, 3, 3]))
    >>> matrix.overlaps.tolist(), matrix.alone.tolist()
    ([[8.0, 1.0], [1.0, 8.0]], [7.0, 7.0])
    """
    own = read_keywords(SolidSettings, settings, MendKeywords)
    if not solids:
        message = "volumes needs at least one solid"
        raise TypeError(message)
    sources = [as_mesh(solid) for solid in solids]
    mended = [mend(each, own.rule, tolerance=own.weld, holes=own.fill) for each in sources]
    meshes = [each.mesh for each in mended]
    origin = exact_origin(meshes)
    resolved = [body_of(mesh, own.rule, origin) for mesh in meshes]
    bodies = [body for body, _ in resolved]
    names = _unlike_names([mesh.name for mesh in meshes])
    for body, name in zip(bodies, names, strict=True):
        if body.crossing is not None:
            message = f"{name} crosses itself near {point_text(body.crossing)}: it has no volume"
            raise MeshError(message)
    overlaps, methods = _overlaps(meshes, bodies, own.rule)
    inputs = []
    for place, (source, body, name) in enumerate(zip(sources, bodies, names, strict=True)):
        result = mesh_of(body, origin, name)
        volume = enclosed_volume(result.vertices, result.triangles, result.bounds)
        overlaps[place, place] = volume
        changes = mended[place].changes + resolved[place][1]
        inputs.append(SolidInput(name, len(source.triangles), volume, None, changes))
    alone, error = _alone(meshes, bodies, overlaps, own.rule)
    return VolumeMatrix(tuple(names), overlaps, alone, error, methods, tuple(inputs))


def _unlike_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number after a name that occurred before."""
    unlike: list[str] = []
    for name in names:
        numbered = (f"{name} ({count})" for count in range(2, len(names) + 2))
        unlike.append(next(each for each in (name, *numbered) if each not in unlike))
    return unlike


def _overlaps(
    meshes: Sequence[Mesh], bodies: Sequence[Body], rule: Rule
) -> tuple[Floats, tuple[tuple[str, ...], ...]]:
    """Return the volume that each pair of bodies shares, and how it was computed."""
    count = len(bodies)
    overlaps = np.zeros((count, count))
    methods = [["triangles"] * count for _ in range(count)]
    for i, j in combinations(range(count), 2):
        apart = (meshes[i].bounds[0] >= meshes[j].bounds[1]).any()
        apart |= (meshes[j].bounds[0] >= meshes[i].bounds[1]).any()
        methods[i][j] = methods[j][i] = "boxes" if apart else "boolean"
        if not apart:
            names = [meshes[i].name, meshes[j].name]
            shared = combine("intersection", [bodies[i], bodies[j]], names, rule)
            overlaps[i, j] = overlaps[j, i] = shared.solid.volume()
    return overlaps, tuple(map(tuple, methods))


def _alone(
    meshes: Sequence[Mesh], bodies: Sequence[Body], overlaps: Floats, rule: Rule
) -> tuple[Floats, float]:
    """Return the volume of each body outside all others, and a bound on the errors."""
    names = [mesh.name for mesh in meshes]
    alone, error = np.diag(overlaps).copy(), 0.0
    for i, body in enumerate(bodies):
        near = [bodies[j] for j in np.flatnonzero(overlaps[i]).tolist() if j != i]
        rest = combine("difference", [body, *near], names, rule) if near else body
        if near:
            alone[i] = rest.solid.volume()
        area = float(sum(each.solid.surface_area() for each in (body, *near)))
        error = max(error, wall_error([body, *near, rest], meshes) * area)
    return alone, error
