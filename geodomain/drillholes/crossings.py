"""Find where drillholes cross meshes: stays in solids, and pierce points of surfaces.

A stay is a stretch of a hole inside a solid. A pierce point is where a hole goes through a surface.

Crossings are on the arcs of holes, not on chords. An arc is halved until the chord of each part is
within `SAGITTA` of the part. A ball around the middle of a part contains the part: its diameter is
the length of the part. If no point of the mesh is in this ball, the part is dropped. The chords of
neighbouring parts share their end points, so they form a chain without gaps. Exact predicates find
where this chain crosses the mesh: a chain that begins inside and ends outside a closed mesh always
crosses it an odd number of times. At the end, the depth of each crossing is moved from the chord to
the arc.

A hole that goes through a wall and back is detected if it goes deeper than `SAGITTA` behind the
wall. A test that only compares inside and outside at points would miss such a pair of crossings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import choose
from geodomain.compute.api import NearestIndex
from geodomain.compute.data import Bools, Floats, Ints, TableColumn
from geodomain.compute.native import thread_count
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.drillholes.curves import Curves, HolePaths
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.errors import counted, in_lines, warn
from geodomain.mesh.fitness import require_balanced, require_fit
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import PointLocator, Rule, check_rule, contains_by, locate
from geodomain.query.segments import SegmentIntersector
from geodomain.result_tables import data_frame, html_table, text_table
from geodomain.settings import BackendName

if TYPE_CHECKING:
    import pandas

# Greatest distance of a chord from its arc, in the unit of the coordinates.
SAGITTA = 1e-7
_NEWTON = 4
# Relative bound on the rounding of points and distances, with ample margin.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class WallCrossings:
    """Crossings of holes with one mesh, sorted by hole and then by depth.

    Attributes
    ----------
    holes : (k,) int64
        Index of the hole.
    depths : (k,) float64
        Depth along the arc.
    pieces : (k,) int64
        Index of the arc or straight piece of the hole, in `Curves`.
    triangles : (k,) int32
        Index of the triangle of the mesh.
    """

    holes: Ints
    depths: Floats
    pieces: Ints
    triangles: NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of crossings."""
        return len(self.holes)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of arcs and straight pieces of holes, with the depths where each begins and ends."""

    pieces: Ints
    begins: Floats
    ends: Floats

    def __len__(self) -> int:
        return len(self.pieces)

    def only(self, mask: NDArray[np.bool_]) -> _Parts:
        """Return the parts at which the mask is true."""
        return _Parts(self.pieces[mask], self.begins[mask], self.ends[mask])

    def halved(self) -> _Parts:
        """Return both halves of each part; the two halves share the depth in the middle."""
        middles = 0.5 * (self.begins + self.ends)
        return _Parts(
            np.concatenate([self.pieces, self.pieces]),
            np.concatenate([self.begins, middles]),
            np.concatenate([middles, self.ends]),
        )


def cross_walls(
    curves: Curves,
    ends: Floats,
    mesh: Mesh,
    *,
    backend: BackendName = "auto",
    threads: int | None = None,
) -> WallCrossings:
    """Find where holes cross a mesh, closed or open.

    Parameters
    ----------
    curves : Curves
        Curves of the holes.
    ends : (h,) float64
        Depths of the ends of holes.
    mesh : Mesh
        The mesh to cross.
    backend, threads
        As for `SegmentIntersector`; they do not change the result.

    Returns
    -------
    WallCrossings
        Crossings are decided exactly for chords within `SAGITTA` of the arcs; the surface rule of
        `geodomain.contains` applies to the ends of chords. At the depth of a crossing, the arc
        meets the plane of the triangle. The error of a depth is a few units in the last place of
        the coordinates, divided by the sine of the angle between the hole and the plane.
    """
    if not len(mesh.triangles):
        return WallCrossings(*(np.empty(0, kind) for kind in (np.int64, float, np.int64, np.int32)))
    parts = _straightened(curves, _all_parts(curves, ends), mesh, threads)
    starts, stops = _vertices(curves, parts.pieces, parts.begins), _ends(curves, parts)
    with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
        hits = intersector.intersect((starts, stops), mode="all")
    begins, stops_at = parts.begins[hits.segment], parts.ends[hits.segment]
    pieces = parts.pieces[hits.segment]
    depths = begins + hits.t * (stops_at - begins)
    depths = _on_arcs(curves, mesh, pieces, hits.triangle, depths, begins, stops_at)
    holes = curves.owners[pieces]
    order = np.lexsort((depths, holes))
    return WallCrossings(holes[order], depths[order], pieces[order], hits.triangle[order])


def _all_parts(curves: Curves, ends: Floats) -> _Parts:
    """Return all pieces of the curves as parts, cut off at the ends of holes."""
    stops = np.append(curves.depths[1:], 0.0)
    stops[curves.offsets[1:] - 1] = np.inf
    stops = np.minimum(stops, ends[curves.owners])
    parts = _Parts(np.arange(len(curves.depths)), curves.depths, stops)
    return parts.only(stops > curves.depths)


def _straightened(curves: Curves, parts: _Parts, mesh: Mesh, threads: int | None) -> _Parts:
    """Halve curved parts until each chord is at most `SAGITTA` from its part.

    Parts that miss the mesh are dropped.
    """
    parts = parts.only(_near_box(curves, parts, mesh))
    straight = _sagittas(curves, parts) <= SAGITTA
    done, bent = [parts.only(straight)], parts.only(~straight)
    if not len(bent):
        return done[0]
    count = thread_count(threads)
    index = choose("cpu").nearest_index(mesh, threads=count)
    while len(bent):
        bent = bent.only(_near(curves, bent, index, count, mesh))
        straight = _sagittas(curves, bent) <= SAGITTA
        done.append(bent.only(straight))
        bent = bent.only(~straight).halved()
    return _Parts(*(np.concatenate([getattr(part, name) for part in done])
                    for name in ("pieces", "begins", "ends")))  # fmt: skip


def _sagittas(curves: Curves, parts: _Parts) -> Floats:
    """Return an upper bound on the distance of each arc from its chord: s^2 k / 8.

    Here s is the length of the arc, and k its curvature.
    """
    lengths = parts.ends - parts.begins
    bounds: Floats = lengths * (lengths * curves.curvatures[parts.pieces]) / 8.0
    return bounds


def _near_box(curves: Curves, parts: _Parts, mesh: Mesh) -> NDArray[np.bool_]:
    """Return the mask of parts that may be near the mesh, by a comparison of boxes.

    The box of the chord, enlarged by the sagitta, must meet the box of the mesh. A part that turns
    by more than 3 radians always counts as near, because its arc may leave the box.
    """
    starts, stops = _vertices(curves, parts.pieces, parts.begins), _ends(curves, parts)
    slack = (1.1 * _sagittas(curves, parts) + _slack(mesh))[:, None]
    low, high = np.minimum(starts, stops) - slack, np.maximum(starts, stops) + slack
    met: NDArray[np.bool_] = ((low <= mesh.bounds[1]) & (high >= mesh.bounds[0])).all(axis=1)
    # An arc of more than half a circle leaves the box of its chord, inflated or not.
    turned = curves.curvatures[parts.pieces] * (parts.ends - parts.begins)
    return met | (turned > 3.0)


def _near(
    curves: Curves, parts: _Parts, index: NearestIndex, threads: int, mesh: Mesh
) -> NDArray[np.bool_]:
    """Return the mask of parts with a point of the mesh in the ball around the arc's middle.

    The diameter of the ball is the length of the arc, plus a margin for rounding.
    """
    middles = curves.at(parts.pieces, 0.5 * (parts.begins + parts.ends))
    distances = np.empty(len(parts))
    index.nearest((middles[:, 0], middles[:, 1], middles[:, 2]), distances, threads)
    reach = 0.5 * (parts.ends - parts.begins)
    near: NDArray[np.bool_] = distances <= reach * (1.0 + 1e-9) + _slack(mesh)
    return near


def _slack(mesh: Mesh) -> float:
    """Return `SAGITTA` plus a bound on the rounding of coordinates near a mesh."""
    return _SLACK * float(np.abs(mesh.bounds).max()) + SAGITTA


def _vertices(curves: Curves, pieces: Ints, depths: Floats) -> Floats:
    """Return the point at each depth; `pieces` has the index of the piece for each depth.

    A depth at the start of a piece gives exactly the start point of the piece.
    """
    points = curves.at(pieces, depths)
    first = depths == curves.depths[pieces]
    points[first] = curves.points[pieces[first]]
    return points


def _ends(curves: Curves, parts: _Parts) -> Floats:
    """Return the end point of each part.

    If a part ends where the next piece begins, the result is exactly the start point of that piece.
    """
    points = _vertices(curves, parts.pieces, parts.ends)
    later = np.minimum(parts.pieces + 1, len(curves.depths) - 1)
    last = np.zeros(len(curves.depths), np.bool_)
    last[curves.offsets[1:] - 1] = True
    joins = ~last[parts.pieces] & (curves.depths[later] == parts.ends)
    points[joins] = curves.points[later[joins]]
    return points


def _on_arcs(
    curves: Curves,
    mesh: Mesh,
    pieces: Ints,
    triangles: NDArray[np.int32],
    depths: Floats,
    begins: Floats,
    ends: Floats,
) -> Floats:
    """Move depths of crossings from chords to arcs, by Newton steps to the triangle's plane."""
    bent = np.flatnonzero(curves.curvatures[pieces] > 0)
    corners = mesh.vertices[mesh.triangles[triangles[bent]]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    on_arc, bent_pieces = depths[bent], pieces[bent]
    for _ in range(_NEWTON):
        heights = np.einsum("ij,ij->i", normals, curves.at(bent_pieces, on_arc) - corners[:, 0])
        slopes = np.einsum("ij,ij->i", normals, curves.along(bent_pieces, on_arc))
        steps = np.divide(heights, slopes, out=np.zeros_like(heights), where=slopes != 0)
        on_arc = np.clip(on_arc - steps, begins[bent], ends[bent])
    moved = depths.copy()
    moved[bent] = on_arc
    return moved


def turns_of(curves: Curves, mesh: Mesh, crossings: WallCrossings) -> NDArray[np.bool_]:
    """Return the mask of crossings at which the hole goes down through the surface.

    The orientation of triangles does not matter. If a triangle is vertical, or the hole is parallel
    to it, the direction of the hole alone decides.
    """
    corners = mesh.vertices[mesh.triangles[crossings.triangles]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = curves.along(crossings.pieces, crossings.depths)
    through = np.einsum("ij,ij->i", normals, along) * np.sign(normals[:, 2])
    level = (normals[:, 2] == 0) | (through == 0)
    down: NDArray[np.bool_] = np.where(level, along[:, 2] <= 0, through < 0)
    return down


# --- Results: stays in solids, and pierce points of surfaces.

SHOWN = 10
STAYS = (
    "hole", "domain", "from", "to", "length", "x_in", "y_in", "z_in", "x_out", "y_out", "z_out",
    "starts_inside", "ends_inside",
)  # fmt: skip
PIERCES = ("hole", "domain", "depth", "x", "y", "z", "direction")
_Columns: TypeAlias = tuple[TableColumn, ...]


@dataclass(frozen=True, eq=False)
class Stays:
    """Stays: stretches of holes inside solids. Each array has one row per stay.

    Attributes
    ----------
    holes : (k,) intp
        Indices into the names of holes.
    domains : (k,) intp
        Indices into the names of solids.
    begins, ends : (k,) float64
        Depths of entry and exit.
    entries, exits : (k, 3) float64
        Points of entry and exit.
    starts_inside : (k,) bool
        Whether the stay begins at the collar, and the collar is inside the solid by `contains`.
    ends_inside : (k,) bool
        Whether the stay ends at the end of the hole, and that point is inside the solid by
        `contains`.
    """

    holes: NDArray[np.intp]
    domains: NDArray[np.intp]
    begins: Floats
    ends: Floats
    entries: Floats
    exits: Floats
    starts_inside: Bools
    ends_inside: Bools

    def __len__(self) -> int:
        """Return the number of stays."""
        return len(self.holes)


@dataclass(frozen=True, eq=False)
class Pierces:
    """Points where holes go through surfaces; each array has one row per point.

    Attributes
    ----------
    holes, domains : (k,) intp
        Indices into the names of holes, and into the names of surfaces.
    depths : (k,) float64
        Depth of each point along its hole.
    points : (k, 3) float64
        Coordinates of the points.
    down : (k,) bool
        Whether the hole goes from above the surface to below it.
    """

    holes: NDArray[np.intp]
    domains: NDArray[np.intp]
    depths: Floats
    points: Floats
    down: Bools

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.holes)


class SolidTotals(TypedDict):
    """Totals of one solid; see ``crossings`` and ``parity`` of `HoleCrossings`."""

    name: str
    stays: int
    holes: int
    length: float
    crossings: int
    parity_holds: int


@dataclass(frozen=True, eq=False, repr=False)
class HoleCrossings:
    """Crossings of holes with domains; ``print`` it for a summary by domain.

    Attributes
    ----------
    names : tuple of str
        Names of the holes.
    solids, surfaces : tuple of str
        Names of the solids in `stays`, and of the surfaces in `pierces`.
    stays : Stays
        Stays: stretches of holes in solids.
    pierces : Pierces
        Points where holes go through surfaces.
    crossings : tuple of int
        For each solid, the number of crossings of its walls.
    parity : tuple of int
        For each solid, the number of holes that pass this check: the hole crosses each wireframe
        of the solid an odd number of times if exactly one of collar and end is inside the
        wireframe, and an even number of times otherwise.
    hole_count : int
        Number of holes.
    findings : tuple of Finding
        Findings about the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    """

    names: tuple[str, ...]
    solids: tuple[str, ...]
    surfaces: tuple[str, ...]
    stays: Stays
    pierces: Pierces
    crossings: tuple[int, ...]
    parity: tuple[int, ...]
    findings: tuple[Finding, ...] = ()
    dips: str = ""

    @property
    def hole_count(self) -> int:
        """The number of holes, including holes without crossings."""
        return len(self.names)

    def __repr__(self) -> str:
        """Return the number of stays and of pierce points."""
        return (
            f"<HoleCrossings: {counted(len(self.stays), 'stay')}, "
            f"{counted(len(self.pierces), 'pierce point')}>"
        )

    def __str__(self) -> str:
        """Return the summary as a text table."""
        return in_lines([*text_table(self._rows()), *notes_of(self.findings, self.dips)])

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(repr(self)[1:-1], rows, headings=headings)

    def as_dict(self) -> dict[str, object]:
        """Return the summary as plain values, ready for JSON."""
        return {
            "holes": self.hole_count,
            "method": f"arcs, halved until within {SAGITTA:g} of their chords; depths on the arc",
            "solids": [self._solid(place) for place in range(len(self.solids))],
            "surfaces": [
                {"name": name, "pierce_points": int((self.pierces.domains == place).sum())}
                for place, name in enumerate(self.surfaces)
            ],
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def _solid(self, place: int) -> SolidTotals:
        mine = self.stays.domains == place
        lengths = self.stays.ends[mine] - self.stays.begins[mine]
        return {
            "name": self.solids[place],
            "stays": int(mine.sum()),
            "holes": len(np.unique(self.stays.holes[mine])),
            "length": float(lengths.sum()),
            "crossings": self.crossings[place],
            "parity_holds": self.parity[place],
        }

    def _rows(self) -> list[list[str]]:
        """Return the cells of the summary, headings first."""
        rows = [["domain", "stays", "holes", "length", "crossings", "parity holds in"]]
        for place in range(len(self.solids)):
            totals = self._solid(place)
            rows.append([
                totals["name"],
                f"{totals['stays']:,}", f"{totals['holes']:,}", f"{totals['length']:,.2f}",
                f"{totals['crossings']:,}",
                f"{totals['parity_holds']:,} of {counted(self.hole_count, 'hole')}",
            ])  # fmt: skip
        for place, name in enumerate(self.surfaces):
            mine = self.pierces.domains == place
            holes = len(np.unique(self.pierces.holes[mine]))
            rows.append([name, "", f"{holes:,}", "", f"{int(mine.sum()):,}", ""])
        return rows

    def stay_rows(self) -> Iterable[tuple[object, ...]]:
        """Return the stays as rows under the headings `STAYS`."""
        return _rows_of(self._stay_columns())

    def _stay_columns(self) -> _Columns:
        stays = self.stays
        return (
            [self.names[hole] for hole in stays.holes.tolist()],
            [self.solids[domain] for domain in stays.domains.tolist()],
            stays.begins, stays.ends, stays.ends - stays.begins, *stays.entries.T, *stays.exits.T,
            stays.starts_inside.astype(np.int64), stays.ends_inside.astype(np.int64),
        )  # fmt: skip

    def pierce_rows(self) -> Iterable[tuple[object, ...]]:
        """Return the pierce points as rows under the headings `PIERCES`."""
        return _rows_of(self._pierce_columns())

    def _pierce_columns(self) -> _Columns:
        points = self.pierces
        return (
            [self.names[hole] for hole in points.holes.tolist()],
            [self.surfaces[domain] for domain in points.domains.tolist()],
            points.depths,
            *points.points.T,
            ["down" if down else "up" for down in points.down.tolist()],
        )

    def to_pandas(self) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Return the stays and the pierce points as tables."""
        return (
            data_frame(dict(zip(STAYS, self._stay_columns(), strict=True))),
            data_frame(dict(zip(PIERCES, self._pierce_columns(), strict=True))),
        )


def _rows_of(columns: _Columns) -> Iterable[tuple[object, ...]]:
    """Return the rows of columns, as plain values."""
    return zip(
        *(each.tolist() if isinstance(each, np.ndarray) else each for each in columns), strict=True
    )


# --- Walk down holes to find stays in solids and pierce points of surfaces.

Value = TypeVar("Value", bound=np.generic)


def find_crossings(
    holes: HolePaths,
    domains: Domains,
    *,
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    allow_open: bool = False,
) -> HoleCrossings:
    """Find crossings of holes with domains; see `Drillholes.crossings`."""
    check_rule(rule)
    walker = _Walker(holes, backend, threads)
    solids = [domain for domain in domains if _has_stays(domain)]
    results = [walker.stays(domain, rule, allow_open) for domain in solids]
    tiles = [(domain.name, domain.placed) for domain in domains if domain.is_surface]
    tiles += [(group[0].name, group) for stack in domains.stacks for group in stack.placed]
    pierced = [walker.pierces(meshes) for _, meshes in tiles]
    return HoleCrossings(
        holes.names,
        tuple(domain.name for domain in solids),
        tuple(name for name, _ in tiles),
        walker.joined_stays([stretches for stretches, _, _ in results]),
        walker.joined_pierces(pierced),
        tuple(count for _, count, _ in results),
        tuple(parity for _, _, parity in results),
    )


def _has_stays(domain: Domain) -> bool:
    """Return whether stays in a domain are computed; warn if a solid domain is left out."""
    if domain.is_skin:
        warn(f"{domain.name} is left out, because 'within' and 'beyond' are distances, not walls")
    elif domain.kind == "solid" and domain.only_if:
        warn(
            f"{domain.name} is left out, because its condition is on a column, and holes "
            "cross wireframes"
        )
    return domain.kind == "solid" and not domain.is_skin and not domain.only_if


# Stays in one domain: holes, begins, ends, and whether they start and end inside.
Stretches = tuple[NDArray[np.intp], Floats, Floats, Bools, Bools]


@dataclass(frozen=True, eq=False)
class _Walker:
    """Compute stays and pierce points by following holes from wall to wall."""

    holes: HolePaths
    backend: BackendName
    threads: int | None

    def cross(self, mesh: Mesh) -> WallCrossings:
        return cross_walls(
            self.holes.curves, self.holes.ends, mesh, backend=self.backend, threads=self.threads
        )

    def stays(self, domain: Domain, rule: Rule, allow_open: bool) -> tuple[Stretches, int, int]:
        """Return a tuple: stays in a domain, number of crossings, and `parity`.

        `parity` is the number of holes that pass the check described in `HoleCrossings`.
        """
        domain_rule: Rule = domain.rule or rule
        for mesh in domain.placed:
            require_fit(mesh, allow_open=allow_open or domain.rule == "winding", rule=domain_rule)
            if domain_rule == "winding" and mesh.is_closed:
                require_balanced(mesh)
        walls = [self.cross(mesh) for mesh in domain.placed]
        pieces = _Pieces.of(walls, self.holes.ends)
        inside = np.zeros(len(pieces), np.bool_)
        at_top, at_end = np.zeros((2, len(self.holes)), np.bool_)
        parity = np.ones(len(self.holes), np.bool_)
        for number, mesh in enumerate(domain.placed):
            locator = locate(mesh, backend=self.backend, threads=self.threads, allow_open=True)
            inside_mesh, holds = self._inside(locator, domain_rule, pieces, number)
            inside |= inside_mesh
            parity &= holds
            at_top |= contains_by(locator, domain_rule, self.holes.collars)
            at_end |= contains_by(locator, domain_rule, self._bottoms)
        if domain.invert:
            inside, at_top, at_end = ~inside, ~at_top, ~at_end
        # A stay from the collar or to the end counts as inside only if that point is inside.
        holes, begins, ends = pieces.runs(inside)
        starts_inside = (begins == 0.0) & at_top[holes]
        ends_inside = (ends == self.holes.ends[holes]) & at_end[holes]
        stretches = holes, begins, ends, starts_inside, ends_inside
        return stretches, sum(map(len, walls)), int(parity.sum())

    @property
    def _bottoms(self) -> Floats:
        return self.holes.points_at(np.arange(len(self.holes)), self.holes.ends)

    def _inside(
        self, locator: PointLocator, rule: Rule, pieces: _Pieces, wall: int
    ) -> tuple[Bools, Bools]:
        """Return two masks: of pieces inside a mesh, and of holes that pass the check of parity.

        A hole passes if its number of crossings agrees with whether its collar and its end are
        inside.
        """
        crossed = pieces.crossed(wall)
        last = np.append(pieces.firsts[1:], len(pieces)) - 1
        first = locator.contains(self.holes.collars)
        odd = first[pieces.holes] ^ ((crossed & 1) == 1)
        holds = odd[last] == locator.contains(self._bottoms)
        if rule == "parity" and locator.mesh.is_closed:
            return odd, holds
        middles = self.holes.points_at(pieces.holes, 0.5 * (pieces.begins + pieces.ends))
        return contains_by(locator, rule, middles), holds

    def pierces(self, meshes: Sequence[Mesh]) -> tuple[NDArray[np.intp], Floats, Bools]:
        """Return three arrays of pierce points: hole, depth, and whether the hole goes down."""
        parts = []
        for mesh in meshes:
            crossings = self.cross(mesh)
            parts.append(
                (crossings.holes, crossings.depths, turns_of(self.holes.curves, mesh, crossings))
            )
        holes, depths, down = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((depths, holes))
        return holes[order], depths[order], down[order]

    def joined_stays(self, stretches: Sequence[Stretches]) -> Stays:
        """Join the stays of all domains, sorted by hole, then by depth, then by domain."""
        domains = np.repeat(np.arange(len(stretches)), [len(each[0]) for each in stretches])
        holes = _joined([each[0] for each in stretches], np.intp)
        begins = _joined([each[1] for each in stretches], np.float64)
        order = np.lexsort((domains, begins, holes))
        holes, begins = holes[order], begins[order]
        ends = _joined([each[2] for each in stretches], np.float64)[order]
        return Stays(
            holes,
            domains[order],
            begins,
            ends,
            self.holes.points_at(holes, begins),
            self.holes.points_at(holes, ends),
            _joined([each[3] for each in stretches], np.bool_)[order],
            _joined([each[4] for each in stretches], np.bool_)[order],
        )

    def joined_pierces(self, pierced: Sequence[tuple[NDArray[np.intp], Floats, Bools]]) -> Pierces:
        """Join the pierce points of all surfaces, sorted by hole, then depth, then surface."""
        domains = np.repeat(np.arange(len(pierced)), [len(each[0]) for each in pierced])
        holes = _joined([each[0] for each in pierced], np.intp)
        depths = _joined([each[1] for each in pierced], np.float64)
        down = _joined([each[2] for each in pierced], np.bool_)
        order = np.lexsort((domains, depths, holes))
        holes, depths = holes[order], depths[order]
        points = self.holes.points_at(holes, depths)
        return Pierces(holes, domains[order], depths, points, down[order])


def _joined(parts: Sequence[NDArray[Value]], kind: type[Value]) -> NDArray[Value]:
    """Concatenate columns of one type; return an empty column if there are none."""
    return np.concatenate([np.empty(0, kind), *parts])


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Pieces of holes between walls, hole by hole; each hole has at least one piece.

    Attributes
    ----------
    holes : (p,) intp
        Index of the hole.
    begins, ends : (p,) float64
        Depths of the piece.
    walls : (p,) intp
        Index of the mesh crossed at the start of the piece; -1 at a collar.
    firsts : (h,) intp
        Index of the first piece of each hole.
    """

    holes: NDArray[np.intp]
    begins: Floats
    ends: Floats
    walls: NDArray[np.intp]
    firsts: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.holes)

    @staticmethod
    def of(walls: Sequence[WallCrossings], ends: Floats) -> _Pieces:
        """Cut holes at their crossings with meshes."""
        count = len(ends)
        holes = np.concatenate([np.arange(count), *(wall.holes for wall in walls)])
        begins = np.concatenate([np.zeros(count), *(wall.depths for wall in walls)])
        owners = np.repeat(np.arange(-1, len(walls)), [count, *map(len, walls)])
        order = np.lexsort((owners, begins, holes))
        holes, begins = holes[order], begins[order]
        firsts = np.flatnonzero(np.diff(holes, prepend=-1))
        stops = np.append(begins[1:], 0.0)
        stops[np.append(firsts[1:], len(holes)) - 1] = ends
        return _Pieces(holes, begins, stops, owners[order], firsts)

    def crossed(self, wall: int) -> NDArray[np.int64]:
        """Count, for each piece, the crossings of one mesh between the collar and the piece."""
        total = np.cumsum(self.walls == wall)
        before = np.append(0, total)[self.firsts]
        counts: NDArray[np.int64] = total - before[self.holes]
        return counts

    def runs(self, inside: Bools) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return three arrays of runs of pieces that are inside: hole, top depth and bottom depth.

        Pieces of length zero are skipped.
        """
        use = self.ends > self.begins
        holes, begins, ends = self.holes[use], self.begins[use], self.ends[use]
        state = inside[use]
        joined = state[1:] & state[:-1] & (holes[1:] == holes[:-1])
        first = np.flatnonzero(state & ~np.concatenate([[False], joined])[: len(state)])
        last = np.flatnonzero(state & ~np.concatenate([joined, [False]])[: len(state)])
        return holes[first], begins[first], ends[last]
