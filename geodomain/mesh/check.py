"""Check a mesh: count, locate and report its faults, including duplicates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.compute.meshes import group_equal
from geodomain.errors import counted, in_lines
from geodomain.mesh.components import measure_shells, shells
from geodomain.mesh.edges import EdgeTable, collinear, count_edges, edge_table, has_equal_corners
from geodomain.mesh.mesh import Mesh, area, normals
from geodomain.mesh.open_edges import is_single, place, say_open, smallest_gap, t_junctions
from geodomain.mesh.relations import Relations, cancelling, count_shells, relate
from geodomain.result_tables import html_table, records_frame

if TYPE_CHECKING:
    import pandas


# The count's name, the text for one, the text for several, the meaning. The worst comes first.
_WORDS = (
    (
        "duplicate_shells",
        "a duplicate closed shell",
        "{} duplicate closed shells",
        "the copies cancel: by parity NOTHING IS INSIDE them; remove one copy",
    ),
    (
        "overlapping_shells",
        "a pair of overlapping shells",
        "{} pairs of overlapping shells",
        "the shared space is NOT INSIDE by parity, and inside by rule 'winding'",
    ),
    (
        "unbalanced_edges",
        "a mis-oriented edge",
        "{} mis-oriented edges",
        "the triangles at such an edge face opposite ways: rule 'parity' works, but rule 'winding' "
        "does not",
    ),
    (
        "nested_alike",
        "a shell that faces the same way as the shell around it",
        "{} shells that face the same way as the shells around them",
        "such a shell is a void by parity, and solid by rule 'winding'",
    ),
    (
        "inside_out",
        "an inward-facing shell that is not a void",
        "{} inward-facing shells that are not voids",
        "labels are not affected, but signed volumes are",
    ),
    (
        "undetermined_shells",
        "a pair of shells whose relationship could not be determined",
        "{} pairs of shells whose relationship could not be determined",
        "the shells meet in triangles without area, in triangles that face opposite ways, or in "
        "too many triangles",
    ),
    (
        "voids",
        "a shell inside another",
        "{} shells inside others",
        "an inner shell encloses a void, whose space is outside; a shell within the void is solid "
        "again",
    ),
    (
        "equal_shells",
        "a pair of shells that enclose the same space",
        "{} pairs of shells that enclose the same space",
        "by parity the two shells of a pair cancel",
    ),
    (
        "touching_shells",
        "a pair of shells that touch",
        "{} pairs of shells that touch",
        "labels are still well defined: the shells share no space",
    ),
    (
        "nonmanifold_edges",
        "an edge shared by more than two triangles",
        "{} edges shared by more than two triangles",
        "labels by parity are still well defined",
    ),
    (
        "dup_faces",
        "a duplicate triangle",
        "{} duplicate triangles",
        "by parity two triangles with the same corners cancel",
    ),
)
_EDGES = {"unbalanced_edges", "nonmanifold_edges"}


def mesh_warnings(
    name: str, counts: Mapping[str, int], places: Mapping[str, NDArray[np.generic]]
) -> list[str]:
    """List warnings about a mesh, one sentence each, the worst first.

    Parameters
    ----------
    name : str
        Name of the mesh.
    counts, places
        Number and locations of the faults of each kind. Keys are the names of attributes of
        `MeshReport`. A missing key means that the mesh was not checked for this fault.

    Returns
    -------
    list of str
        Empty for a mesh without faults.
    """
    counts = {**counts, "voids": counts.get("nested_shells", 0) - counts.get("nested_alike", 0)}
    # Every open edge is mis-oriented too; it is reported as open only.
    if counts.get("unbalanced_edges") == counts.get("boundary_edges"):
        counts["unbalanced_edges"] = 0
    if counts.get("duplicate_shells"):
        counts["equal_shells"] = 0
    if "nested_shells" in places:
        alike = places.get("nested_alike", np.empty((0, 2, 3))).tolist()
        voids = [box for box in places["nested_shells"].tolist() if box not in alike]
        places = {**places, "voids": np.array(voids)}
    return [
        f"{name} has {(single if count == 1 else more).format(count)}"
        f"{_first(kind, count, places.get(kind))}; {meaning}."
        for kind, single, more, meaning in _WORDS
        if (count := counts.get(kind, 0))
    ]


def _first(kind: str, count: int, where: NDArray[np.generic] | None) -> str:
    """Describe the place of the first fault of a kind; "" if `where` has no edges or boxes."""
    if where is None or not len(where) or where.ndim != 3:
        return ""
    first = "" if count == 1 else "the first "
    return f", {first}{'' if kind in _EDGES else 'in the box '}{place(where[0])}"


# The report: the count and place of each fault.

PLACES = 100
# The message of `check`, and of every function that takes a solid, if the faces cancel.
NOTHING_INSIDE = (
    "each face of {}, however it is cut into triangles, occurs twice, or another even number of "
    "times: the copies cancel, and nothing is inside; remove the copies."
)
# Faults that make a closed mesh enclose some space twice, so that by parity this space is outside.
_DOUBLED = ("duplicate_shells", "overlapping_shells", "equal_shells")
# A surface faces up, or down, almost everywhere and is flatter than this; an open solid faces
# both ways.
_SHEET_FACES, _SHEET_FLATNESS = 0.99, 0.3


@dataclass(frozen=True, eq=False)
class MeshReport:
    """Faults in a mesh, found by `check`.

    Vertices with equal coordinates count as one vertex, and edges are compared by these vertices.
    Triangles with two equal vertices have no edges.

    Attributes
    ----------
    name : str
        Name of the mesh.
    triangles : int
        Number of triangles.
    vertices : int
        Number of distinct vertices that triangles use.
    bounds : (2, 3) float64
        The box of the triangles; NaN if there are none.
    area, signed_volume : float
        Area in squares and volume in cubes of the unit of the coordinates. The volume is positive
        if triangles turn counter-clockwise seen from outside. Shells that are open or mis-oriented
        enclose nothing: their signed volume is the sum over tetrahedra whose apex is the mean of
        all vertices.
    resolution : float
        The spacing of floats at the largest coordinate: the spacing of float32 if all coordinates
        are float32 numbers, otherwise that of float64.
    boundary_edges, nonmanifold_edges, unbalanced_edges : int
        Edges of one triangle, edges of more than two triangles, and edges used more often in one
        direction than in the other.
    degenerate, zero_area : int
        `degenerate`: triangles with two equal vertices. `zero_area`: triangles without area,
        including the degenerate triangles.
    dup_faces : int
        Number of triangles minus the number of distinct triples of vertices.
    shells : int
        Vertex-connected parts of the mesh.
    euler : int
        The number of vertices, minus edges, plus triangles that are not degenerate.
    t_junctions : int
        Open edges that are covered by other open edges on the same line.
    smallest_gap : float or None
        The smallest distance between two vertices of open edges; None for a closed mesh. Edges at
        T-junctions are left out if there are other open edges.
    closed, balanced : bool
        `closed`: whether every edge has an even number of triangles. `balanced`: whether every edge
        is used equally often in both directions.
    duplicate_shells : int
        Closed shells that occur an even number of times, even if the copies are cut into different
        triangles. By parity nothing is inside them.
    inward, inside_out : int
        `inward`: closed shells of negative volume, such as voids. `inside_out`: how many of these
        cannot be voids, because they lie in no other shell's box.
    components : int
        Edge-connected parts of the mesh. If more than two triangles meet at an edge, two of them
        are connected if they are neighbours around the edge and the solid is between them. So
        shells that touch, or that occur twice, are separate components. The counts from
        `nested_shells` to `undetermined_shells` are counts of components or of pairs of components.
        They are exact, and 0 for a mesh that is not closed.
    nested_shells, nested_alike : int
        `nested_shells`: components inside another component; they may touch its walls.
        `nested_alike`: how many of these face the same way as the component around them. By parity
        the inside of such a component is a void; by winding number it is solid.
    touching_shells : int
        Pairs of components that share points of their surfaces but no volume.
    overlapping_shells : int
        Pairs of components that share part of their volumes.
    equal_shells : int
        Pairs of components that enclose the same space.
    undetermined_shells : int
        Pairs of components whose relation could not be determined, because they meet in
        mis-oriented or zero-area triangles, or the comparison would take too long.
    sheet : bool
        Whether the mesh seems to be a surface: it is open, and almost all of it faces up, or almost
        all of it faces down.
    cancelled : bool
        Whether every face occurs an even number of times, as in a file that holds a surface twice.
        The copies may be cut into different triangles. By parity nothing is inside such a mesh.
    places : mapping of str to array
        Where the faults are, at most 100 of each kind, keyed by the name of the attribute that
        counts them: edges as (n, 2, 3) coordinates, triangles as (n,) indices into the mesh,
        components as (n, 2, 3) corners of their boxes, pairs of components as (n, 2, 3) corners of
        the intersection of both boxes.
    open_edges : str
        Message about the open edges of the mesh; empty for a closed mesh.
    """

    name: str
    triangles: int
    vertices: int
    bounds: Floats
    area: float
    signed_volume: float
    resolution: float
    boundary_edges: int
    nonmanifold_edges: int
    unbalanced_edges: int
    degenerate: int
    zero_area: int
    dup_faces: int
    shells: int
    euler: int
    t_junctions: int
    smallest_gap: float | None
    closed: bool
    balanced: bool
    duplicate_shells: int
    inward: int
    inside_out: int
    components: int
    nested_shells: int
    nested_alike: int
    touching_shells: int
    overlapping_shells: int
    equal_shells: int
    undetermined_shells: int
    sheet: bool
    cancelled: bool
    places: Mapping[str, NDArray[np.generic]]
    open_edges: str

    def __repr__(self) -> str:
        """Return the verdict and the main counts as text."""
        counts = ((self.triangles, "triangle"), (self.shells, "shell"))
        parts = [counted(count, what) for count, what in counts]
        warned = len(self.warnings())
        parts.append(counted(warned, "warning"))
        return f"<MeshReport of {self.name}: {verdict_of(fit=self.fit)}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Return a short table for a notebook; `as_table` gives a longer one as text."""
        rows = [
            ("can be used for labelling", "yes" if self.fit else "no"),
            ("triangles", f"{self.triangles:,} on {counted(self.vertices, 'vertex', 'vertices')}"),
            ("shells", f"{self.shells:,}"),
            ("open edges", f"{self.boundary_edges:,}"),
            ("mis-oriented edges", f"{self.unbalanced_edges:,}"),
            ("area", f"{self.area:.7g}"),
            ("signed volume", f"{self.signed_volume:.7g}"),
        ]
        faults = self.faults()
        notes = [*faults, *(f"warning: {w}" for w in self.warnings() if w not in faults)]
        return html_table(f"Report on {self.name}", rows, notes=notes)

    @property
    def fit(self) -> bool:
        """Whether the mesh can be used to label blocks, as a solid."""
        return not self.faults()

    def faults(self, kind: str = "solid") -> list[str]:
        """List the reasons why the mesh cannot be used as `kind`; empty if it can.

        Parameters
        ----------
        kind : {"solid", "surface"}
            A solid must be closed, and its shells must not overlap: by parity the space that
            they share is outside. A surface must be open.
        """
        if not self.triangles - self.degenerate:
            return [f"{self.name} has no triangle with three different corners."]
        if self.cancelled:
            return [NOTHING_INSIDE.format(self.name)]
        if kind == "surface":
            message = (
                f"{self.name} is closed: used as a surface, it would make the space inside it "
                "count as below."
            )
            return [message] if self.closed else []
        if self.sheet:
            message = f"{self.name} is an open surface, not a solid"
            return [f"{message}: use it with kind = 'above' or kind = 'below'."]
        if not self.closed:
            return [self.open_edges]
        counts = {name: getattr(self, name) for name in _DOUBLED}
        return mesh_warnings(self.name, counts, self.places)

    def warnings(self) -> list[str]:
        """List warnings about a mesh that can be used for labelling, the worst first."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        counts = {name: value for name, value in values.items() if isinstance(value, int)}
        return mesh_warnings(self.name, counts, self.places)

    def as_dict(self) -> dict[str, object]:
        """Return the report as lists, numbers and strings, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["bounds"] = self.bounds.tolist() if self.triangles else None
        plain["places"] = {name: where.tolist() for name, where in self.places.items()}
        return plain | {"fit": self.fit, "faults": self.faults(), "warnings": self.warnings()}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the report as one row; the rows of several reports can be joined to a table."""
        return records_frame(MeshReport, [self], {"fit": np.array([self.fit])})


def verdict_of(*, fit: bool) -> str:
    """Return the verdict, "can be used for labelling" or "cannot be used for labelling"."""
    return "can be used for labelling" if fit else "cannot be used for labelling"


def check(mesh: Mesh) -> MeshReport:
    """Count and locate the faults of a mesh; see `geodomain.check`."""
    return report_on(mesh, relate(mesh))


def report_on(mesh: Mesh, relations: Relations) -> MeshReport:
    """Return the report on a mesh, given the relations of its components."""
    table = edge_table(mesh)
    whole = table.triangles[~table.degenerate]
    solidity = measure_shells(table, whole)
    duplicates = find_duplicates(table.triangles, len(table.vertices))
    flat = table.degenerate | collinear(*table.vertices[table.triangles.T])
    junctions = t_junctions(table)
    gap = smallest_gap(table, junctions)
    closed = not len(table.odd)
    counts, boxes = count_shells(relations)
    edges = {
        "boundary_edges": table.open,
        "nonmanifold_edges": table.nonmanifold,
        "unbalanced_edges": table.unbalanced,
        "t_junctions": junctions,
    }
    triangles = {
        "degenerate": np.flatnonzero(table.degenerate),
        "zero_area": np.flatnonzero(flat),
        "dup_faces": duplicates.faces,
    }
    return MeshReport(
        name=mesh.name,
        triangles=len(table.triangles),
        vertices=len(table.vertices),
        bounds=_bounds(table.vertices),
        area=solidity.area,
        signed_volume=solidity.signed_volume,
        resolution=_resolution(table.vertices),
        shells=solidity.shells,
        euler=len(table.vertices) - len(table.ends) + len(whole),
        smallest_gap=gap,
        closed=closed,
        balanced=not len(table.unbalanced),
        duplicate_shells=max(duplicates.shells, cancelling(relations)),
        inward=solidity.inward,
        inside_out=solidity.inside_out,
        cancelled=closed and encloses_nothing(table.vertices, table.triangles, winding=False),
        sheet=not closed and _is_sheet(table.vertices, whole),
        places=_places(table, edges, triangles, boxes),
        open_edges="" if closed else say_open(mesh, table, junctions, gap),
        **{name: len(where) for name, where in (edges | triangles).items()},
        **counts,
    )


def _places(
    table: EdgeTable,
    edges: Mapping[str, Ints],
    triangles: Mapping[str, Ints],
    boxes: Mapping[str, Floats],
) -> dict[str, NDArray[np.generic]]:
    """Return the locations of the first faults of each kind; leave out kinds that do not occur."""
    segments: dict[str, NDArray[np.generic]]
    segments = {name: table.segments(which, PLACES) for name, which in edges.items()}
    located = segments | {name: which[:PLACES] for name, which in triangles.items()}
    located |= {name: where[:PLACES] for name, where in boxes.items()}
    return {name: where for name, where in located.items() if len(where)}


def _is_sheet(vertices: Floats, triangles: Ints) -> bool:
    """Return whether triangles form a flat sheet.

    Almost all must face up, or almost all must face down, and the sheet as a whole must not be
    steep.
    """
    if not len(triangles):
        return False
    crosses = normals(vertices - vertices.mean(axis=0), triangles)
    up = crosses[:, 2]
    flat = float(np.abs(up).sum())
    return abs(float(up.sum())) >= _SHEET_FACES * flat > _SHEET_FLATNESS * 2 * area(crosses)


def _bounds(vertices: Floats) -> Floats:
    """Return the box of the vertices."""
    if not len(vertices):
        return np.full((2, 3), np.nan)
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


def _resolution(vertices: Floats) -> float:
    """Return the spacing of floats at the largest coordinate; see `MeshReport.resolution`."""
    if not len(vertices):
        return 0.0
    largest = np.abs(vertices).max()
    return float(np.spacing(np.float32(largest) if is_single(vertices) else largest))


# Triangles and shells that occur more than once.

Vector = tuple[int, int, int]

# Number of vertices that are tested before all the others are prepared.
_FEW = 64
# Triangles at a vertex that are compared at once; for more, a vertex with fewer is looked for.
_SMALL_STAR = 100


class Duplicates(NamedTuple):
    """Repeated triangles, and the number of repeated shells.

    Attributes
    ----------
    faces : (n,) int64
        Indices, ascending, of triangles that have the same three corners as an earlier triangle,
        in any order.
    shells : int
        Number of closed shells that occur an even number of times. By parity, nothing is inside
        such a shell, because its copies cancel each other.
    """

    faces: Ints
    shells: int


def find_duplicates(triangles: Ints, vertex_count: int) -> Duplicates:
    """Find triangles and shells that occur more than once.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices with distinct coordinates; degenerate triangles count too.
    vertex_count : int
        Number of vertices.
    """
    # Indices are far below 2^53, so float64 holds them exactly.
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Duplicates(faces, 0)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    more = (copies > 1) & proper
    shells_cancelled = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Duplicates(faces, shells_cancelled)


def _cancelled_shells(faces: Ints, copies: Ints, vertex_count: int) -> int:
    """Count the closed shells, made of repeated faces, that occur an even number of times.

    `faces` are repeated faces only, so that other triangles that touch a shell do not hide it. A
    shell is closed here if no edge has an odd number of these faces. A shell is counted if at least
    one of its faces has an even number of copies. Not every face needs an even number: if a solid
    occurs twice and a neighbour shares a wall with it, that wall has three copies.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    cancelled = np.zeros(count, np.bool_)
    cancelled[label[copies % 2 == 0]] = True
    cancelled[shell_of[ends[uses & 1 == 1, 0]]] = False
    return int(cancelled.sum())


# Faces that cancel, so that nothing is inside.


def encloses_nothing(vertices: Floats, triangles: Ints, *, winding: bool) -> bool:
    """Return whether the faces of a closed mesh cancel, so that nothing can be inside.

    Faces are compared as sets of points; how they are cut into triangles does not matter. By
    parity, a point of a plane separates inside from outside if an odd number of faces covers the
    point. By winding number, the point separates inside from outside if more of these faces face
    one way than the opposite way. The faces in a plane cancel if their boundary edges cancel. The
    edges on a line cancel if their ends cancel. So each vertex can be tested alone, and the search
    stops at the first vertex where the edges do not cancel.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct vertices.
    triangles : (t, 3) int64
        Indices of vertices; degenerate triangles are ignored.
    winding : bool
        Whether the inside is defined by the winding number instead of parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper) or not extremes_cancel(vertices, proper, winding=winding):
        return False
    left = _uncancelled(proper, winding=winding)
    order = np.argsort(left, axis=None, kind="stable")
    used, starts = np.unique(left.reshape(-1)[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    # In random order, so that a small part that encloses something is met early.
    mixed = np.random.default_rng(0).permutation(len(used))
    for some in (mixed[:_FEW], mixed[_FEW:]):
        stars = [left[order[starts[each] : ends[each]] // 3] for each in some]
        near = np.unique(np.concatenate([*stars, left[:0]]))
        places = dict(zip(near.tolist(), whole_places(vertices[near]), strict=True))
        for centre, star in zip(used[some].tolist(), stars, strict=True):
            if not star_cancels(places, centre, star, winding=winding):
                return False
    return True


def extremes_cancel(vertices: Floats, triangles: NDArray[np.integer], *, winding: bool) -> bool:
    """Return whether the faces cancel at a vertex that is farthest along an axis.

    If the faces do not cancel, the mesh encloses something. No flat face surrounds such a vertex,
    so in most valid meshes the faces do not cancel there. The parameters are those of
    `encloses_nothing`, but vertices may be equal.
    """
    best: tuple[int, Ints] | None = None
    for axis, direction in itertools.product(range(3), (1.0, -1.0)):
        here = np.zeros(len(vertices), np.bool_)
        here[equal := _farthest(vertices, axis, direction)] = True
        rows, corners = np.unique(np.flatnonzero(here[triangles]) // 3, return_counts=True)
        star: Ints = triangles[rows[corners == 1]].astype(np.int64)
        if len(star) and (best is None or len(star) < len(best[1])):
            best = int(equal[0]), np.where(here[star], equal[0], star)
        if best is not None and len(best[1]) <= _SMALL_STAR:
            break
    if best is None:
        return True
    used = sorted(set(best[1].ravel().tolist()))
    places = dict(zip(used, whole_places(vertices[used]), strict=True))
    return star_cancels(places, best[0], best[1], winding=winding)


def _farthest(vertices: Floats, axis: int, direction: float) -> NDArray[np.intp]:
    """Return the indices of the vertices at the point that is farthest along an axis.

    Among points that are equally far, the other axes decide.
    """
    rows = np.arange(len(vertices))
    for each in (axis, (axis + 1) % 3, (axis + 2) % 3):
        values = direction * vertices[rows, each]
        rows = rows[values == values.max()]
    return rows


def _uncancelled(proper: Ints, *, winding: bool) -> Ints:
    """Return the triangles that remain after triangles with the same corners cancel each other."""
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if winding:
        a, b, c = proper.T
        turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
        remaining: Ints = proper[(np.bincount(group, turns) != 0)[group]]
    else:
        remaining = proper[first[np.bincount(group) % 2 == 1]]
    return remaining


def whole_places(vertices: Floats) -> list[Vector]:
    """Return coordinates as integers: all are divided by the same power of two, exactly."""
    fraction, power = np.frexp(vertices)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    power[digits == 0] = power.max(initial=0)
    shift = power - power.min(initial=0)
    whole: list[Vector] = (digits.astype(object) << shift.astype(object)).tolist()
    return whole


def star_cancels(places: Mapping[int, Vector], centre: int, star: Ints, *, winding: bool) -> bool:
    """Return whether the edges at a vertex cancel, for every plane and line through the vertex.

    Parameters
    ----------
    places : mapping of int to three int
        The coordinates of all vertices of `star`, from `whole_places`.
    centre : int
        The index of the vertex.
    star : (t, 3) int64
        The triangles that have exactly one corner at the vertex.
    winding : bool
        As in `encloses_nothing`.
    """
    ends: dict[tuple[Vector, Vector], int] = {}
    x, y, z = places[centre]
    for corners in star.tolist():
        at = corners.index(centre)
        after, before = places[corners[at - 2]], places[corners[at - 1]]
        leaving = after[0] - x, after[1] - y, after[2] - z
        coming = before[0] - x, before[1] - y, before[2] - z
        plane = _direction(_cross(leaving, coming))
        if not any(plane):
            continue
        for way, step in ((leaving, -1), (coming, 1)):
            key = plane, _direction(way)
            ends[key] = ends.get(key, 0) + step
    return not any(count if winding else count % 2 for count in ends.values())


def _cross(p: Vector, q: Vector) -> Vector:
    return (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])


def _direction(vector: Vector) -> Vector:
    """Return the shortest integer vector along a line, in one of the line's two directions.

    Vectors along the same line, in either direction, give the same result.
    """
    part = gcd(*vector)
    if not part:
        return vector
    first = next(value for value in vector if value)
    part = part if first > 0 else -part
    x, y, z = (value // part for value in vector)
    return x, y, z


# The report as a text table.

# Rows of every report, and rows that are shown only if the count is not 0.
_ALWAYS = ("shells", "boundary_edges", "nonmanifold_edges", "unbalanced_edges")
_FAULTS = (
    *("t_junctions", "degenerate", "zero_area", "dup_faces", "duplicate_shells", "inside_out"),
    *("nested_shells", "overlapping_shells", "touching_shells", "undetermined_shells"),
)
_LABELS = {
    "shells": "shells",
    "boundary_edges": "open edges",
    "nonmanifold_edges": "non-manifold edges",
    "unbalanced_edges": "mis-oriented edges",
    "t_junctions": "T-junction edges",
    "degenerate": "degenerate triangles",
    "zero_area": "triangles without area",
    "dup_faces": "duplicate triangles",
    "duplicate_shells": "duplicate shells",
    "inside_out": "shells inside out",
    "nested_shells": "shells inside others",
    "overlapping_shells": "pairs that overlap",
    "touching_shells": "pairs that touch",
    "undetermined_shells": "pairs undetermined",
    "components": "components",
}


def as_table(
    report: MeshReport, welds: Mapping[float, str] | None = None, *, kind: str = "solid"
) -> str:
    """Format a report as a text table.

    Parameters
    ----------
    report : MeshReport
        The report that `check` returned.
    welds : mapping of float to str, optional
        For an open mesh, a text for each weld tolerance that says what a weld would do.
    kind : {"solid", "surface"}
        The intended use of the mesh.

    Returns
    -------
    str
        Without a newline at the end.
    """
    rows = [*_size(report), *_counts(report), *_welds(welds or {})]
    width = max(len(label) for label, _ in rows)
    faults = report.faults(kind)
    verdict = verdict_of(fit=not faults)
    verdict += " as a surface" if kind == "surface" else ""
    lines = [f"{report.name}: {verdict}", *(f"  {label:{width}}  {text}" for label, text in rows)]
    lines += [f"  {text}" for text in dict.fromkeys([*faults, *report.warnings()])]
    return in_lines(lines)


def _size(report: MeshReport) -> list[tuple[str, str]]:
    """Return the table rows (label, text) about the size of the mesh."""
    low, high = report.bounds.tolist()
    box = [f"{a:.10g} to {b:.10g}" for a, b in zip(low, high, strict=True)]
    return [
        ("triangles", f"{report.triangles:,} on {counted(report.vertices, 'vertex', 'vertices')}"),
        ("bounds", "; ".join(f"{axis} {span}" for axis, span in zip("xyz", box, strict=True))),
        ("resolution", f"{report.resolution:.2g}"),
        ("area", f"{report.area:.7g}"),
        ("signed volume", f"{report.signed_volume:.7g}"),
    ]


def _counts(report: MeshReport) -> list[tuple[str, str]]:
    """Return the table rows (label, text) with the counts of shells and faults."""
    shown = [*_ALWAYS, *(name for name in _FAULTS if getattr(report, name))]
    if report.components != report.shells:  # parts by vertices and by edges
        shown.insert(1, "components")
    rows = [(_LABELS[name], f"{getattr(report, name):,}") for name in shown]
    if report.smallest_gap is not None:
        rows.append(("smallest gap", f"{report.smallest_gap:.3g}"))
    return rows


def _welds(welds: Mapping[float, str]) -> list[tuple[str, str]]:
    """Return one table row (label, text) for each weld tolerance."""
    return [(f"weld at {tolerance:g}", does) for tolerance, does in welds.items()]
