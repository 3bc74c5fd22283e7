"""What is wrong with a mesh, counted and located: `check`; nothing is mended here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.faults.collinear import collinear
from geodomain.faults.doubles import find_doubles
from geodomain.faults.doubts import doubts
from geodomain.faults.edge_table import EdgeTable, Floats, Ints, edge_table
from geodomain.faults.edges import is_single, say_open
from geodomain.faults.gaps import smallest_gap, t_junctions
from geodomain.faults.relations import Relations, relate
from geodomain.faults.shell_counts import cancelling, count_shells
from geodomain.faults.solidity import measure_shells
from geodomain.mesh import Mesh

PLACES = 100


@dataclass(frozen=True, eq=False)
class MeshReport:
    """Hold what `check` found.

    Edges and vertices are told apart by coordinates, which are equal where they are equal
    as numbers; triangles with two equal vertices have no edges.

    Attributes
    ----------
    name : str
        What the mesh is called.
    triangles : int
        All of them.
    vertices : int
        Distinct places that triangles use.
    bounds : (2, 3) float64
        The box of the triangles; NaN where there are none.
    area, signed_volume : float
        In squares and cubes of the unit of the coordinates. The volume is positive where
        triangles turn counter-clockwise seen from outside. Shells that are not closed, or do not
        balance, enclose nothing: theirs is taken about the mean of all vertices.
    resolution : float
        The spacing of the coarsest coordinates, if they were stored as they seem to be:
        as float32 where all of them are float32 numbers, as float64 otherwise.
    boundary_edges, nonmanifold_edges, unbalanced_edges : int
        Edges of one triangle, of more than two, and those whose directed uses do not
        cancel.
    degenerate, zero_area : int
        Triangles with two equal vertices; triangles without any area, those included.
    dup_faces : int
        Triangles minus distinct sets of three vertices.
    shells, euler : int
        Parts that share no vertex; vertices - edges + triangles that are not degenerate.
    t_junctions : int
        Edges that are open but covered by others on the same line.
    smallest_gap : float or None
        The smallest distance of two vertices of open edges.
    closed, balanced : bool
        Whether every edge has an even number of triangles, as many each way.
    duplicate_shells : int
        Closed shells that are there an even number of times, of the same triangles or others:
        nothing is inside them.
    inward, inside_out : int
        Closed shells of negative volume, which a void has; and those of them that
        lie in the box of no other shell, so that they are no voids.
    pieces : int
        Parts that hang together by edges. Where more than two triangles meet at an edge, those
        two hang together that bound the same wedge of solid, so that shells that touch, or are
        there twice, are several pieces. They are what the counts below are about; of a mesh that
        is not closed, those are 0. What they say is exact.
    nested_shells, nested_alike : int
        Pieces that lie inside another, whose walls they may touch; and those of them that face as
        the one next around them does: voids by parity, solid by winding number.
    touching_shells, overlapping_shells, equal_shells : int
        Pairs of pieces that share places of their surfaces and nothing of their insides; that
        share some of their insides, each having some to itself; that enclose the same space.
    untold_shells : int
        Pairs of pieces whose relation was not found out: they meet where triangles do not face
        alike or have no area, or where looking at all of them would take too long.
    places : mapping of str to array
        Where the faults are, at most 100 of each: edges as (n, 2, 3) coordinates under
        the names of their counts, triangles as (n,) indices in the mesh, and what pieces have
        in common as (n, 2, 3) corners of boxes.
    open_edges : str
        What to say of a mesh that is not closed; empty otherwise.
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
    pieces: int
    nested_shells: int
    nested_alike: int
    touching_shells: int
    overlapping_shells: int
    equal_shells: int
    untold_shells: int
    places: Mapping[str, NDArray[Any]]
    open_edges: str

    @property
    def fit(self) -> bool:
        """Tell whether blocks can be labelled with the mesh as it is."""
        return not self.faults()

    def faults(self) -> list[str]:
        """Say why the mesh cannot be labelled with; nothing where it can."""
        if not self.triangles - self.degenerate:
            return [f"{self.name} has no triangle with three different corners."]
        return [] if self.closed else [self.open_edges]

    def warnings(self) -> list[str]:
        """Say what is doubtful though labels are defined, the worst first."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        return doubts(self.name, counts, self.places)

    def as_dict(self) -> dict[str, Any]:
        """Give everything as lists, numbers and strings, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["bounds"] = self.bounds.tolist() if self.triangles else None
        plain["places"] = {name: where.tolist() for name, where in self.places.items()}
        return plain | {"fit": self.fit, "faults": self.faults(), "warnings": self.warnings()}


def check(mesh: Mesh) -> MeshReport:
    """Count and locate what is wrong with a mesh.

    Parameters
    ----------
    mesh : Mesh
        Any; closed or not, empty or not.

    Returns
    -------
    MeshReport
        Counts do not depend on the order of vertices or triangles.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> report = check(Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    >>> report.closed, report.shells, round(report.signed_volume, 6)
    (True, 1, 0.166667)
    """
    return report_on(mesh, relate(mesh))


def report_on(mesh: Mesh, relations: Relations) -> MeshReport:
    """Return the report on a mesh of which it is known how its pieces lie to each other."""
    table = edge_table(mesh)
    whole = table.triangles[~table.degenerate]
    solidity = measure_shells(table, whole)
    doubles = find_doubles(table.triangles, len(table.vertices))
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
        "dup_faces": doubles.faces,
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
        duplicate_shells=max(doubles.shells, cancelling(relations)),
        inward=solidity.inward,
        inside_out=solidity.inside_out,
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
) -> dict[str, NDArray[Any]]:
    """Give where the first faults of each kind are, if there are any."""
    segments: dict[str, NDArray[Any]]
    segments = {name: table.segments(which, PLACES) for name, which in edges.items()}
    found = segments | {name: which[:PLACES] for name, which in triangles.items()}
    found |= {name: where[:PLACES] for name, where in boxes.items()}
    return {name: where for name, where in found.items() if len(where)}


def _bounds(vertices: Floats) -> Floats:
    """Give the box of the vertices."""
    if not len(vertices):
        return np.full((2, 3), np.nan)
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


def _resolution(vertices: Floats) -> float:
    """Give the spacing of numbers at the largest coordinate."""
    if not len(vertices):
        return 0.0
    largest = np.abs(vertices).max()
    return float(np.spacing(np.float32(largest) if is_single(vertices) else largest))
