"""Make tables of surface points and orientations for LoopStructural and GemPy from drillholes.

A surface point is where a hole goes through a wall of a solid, through a surface, or from one
logged code to another. At a wireframe the point has a normal, that of the triangle. A logged
contact has none, because a hole shows where a contact is, but not how it dips.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, TableColumn
from geodomain.domains.order import Domains
from geodomain.drillholes.crossings import cross_walls, find_crossings
from geodomain.drillholes.curves import HolePaths
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.drillholes.flagging import place_in
from geodomain.drillholes.intervals import Intervals
from geodomain.errors import DomainError, TableError, counted, in_lines
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import Rule
from geodomain.result_tables import data_frame, html_table, text_table
from geodomain.settings import BackendName
from geodomain.tables.vendors import find_column

if TYPE_CHECKING:
    import pandas

Target = Literal["loopstructural", "gempy"]
Naming = Literal["base", "top", "pair"]
TARGETS: tuple[Target, ...] = get_args(Target)
NAMINGS: tuple[Naming, ...] = get_args(Naming)

# The columns of LoopStructural 1.9 (`GeologicalModel.data`), and those that GemPy 2026 reads by
# default (`ImporterHelper`). Both ignore hole and depth, which show where a point comes from.
LOOPSTRUCTURAL = ("X", "Y", "Z", "feature_name", "val", "nx", "ny", "nz", "hole", "depth")
GEMPY = ("X", "Y", "Z", "formation", "hole", "depth")
GEMPY_ORIENTATIONS = ("X", "Y", "Z", "G_x", "G_y", "G_z", "formation", "hole", "depth")
_PLAIN = ("hole", "surface", "depth", "x", "y", "z", "nx", "ny", "nz")
# Depths of neighbouring intervals that differ by at most this count as equal.
_SAME = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class SurfacePoints:
    """Points of surfaces along drillholes, with normals where known; ``print`` it for a summary.

    Attributes
    ----------
    names : tuple of str
        Names of the holes.
    surfaces : tuple of str
        Names of the surfaces.
    holes : (k,) intp
        Index of the hole of each point. Points are sorted by hole, then by depth.
    owners : (k,) intp
        Index of the surface of each point.
    depths : (k,) float64
        Depth of each point along its hole.
    points : (k, 3) float64
        Coordinates of the points.
    normals : (k, 3) float64
        Unit normals: upwards for a surface, outwards for a solid. NaN for a logged contact.
    left_out : dict of str to int
        Number of changes of a logged code without a point, by reason.
    findings : tuple of Finding
        Findings about the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    """

    names: tuple[str, ...]
    surfaces: tuple[str, ...]
    holes: NDArray[np.intp]
    owners: NDArray[np.intp]
    depths: Floats
    points: Floats
    normals: Floats
    left_out: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    dips: str = ""

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.holes)

    def __repr__(self) -> str:
        """Return the numbers of points and surfaces."""
        several = counted(len(self.surfaces), "surface")
        return f"<SurfacePoints: {counted(len(self), 'point')} of {several}>"

    def __str__(self) -> str:
        """Return the summary as a text table."""
        lost = [
            f"{counted(count, 'logged contact')} left out: {why}"
            for why, count in self.left_out.items()
            if count
        ]
        return in_lines([*text_table(self._rows()), *lost, *notes_of(self.findings, self.dips)])

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(repr(self)[1:-1], rows, headings=headings)

    def _rows(self) -> list[list[str]]:
        rows = [["surface", "points", "holes", "with a normal"]]
        for place, name in enumerate(self.surfaces):
            totals = self._totals(place)
            rows.append([name, *(f"{number:,}" for number in totals.values())])
        return rows

    def _totals(self, place: int) -> dict[str, int]:
        mine = self.owners == place
        return {
            "points": int(mine.sum()),
            "holes": len(np.unique(self.holes[mine])),
            "normals": int(self.oriented[mine].sum()),
        }

    @property
    def oriented(self) -> NDArray[np.bool_]:
        """The mask (k,) of points with a normal."""
        return np.asarray(np.isfinite(self.normals).all(axis=1), np.bool_)

    def as_dict(self) -> dict[str, object]:
        """Return the summary as plain values, ready for JSON."""
        return {
            "holes": len(self.names),
            "surfaces": [
                {"name": name, **self._totals(place)} for place, name in enumerate(self.surfaces)
            ],
            "left_out": dict(self.left_out),
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return the points as rows: hole, surface, depth, coordinates, and normal or NaN."""
        columns = (self._holes, self._surfaces, self.depths, *self.points.T, *self.normals.T)
        return data_frame(dict(zip(_PLAIN, columns, strict=True)))

    def for_loopstructural(
        self, *, feature: str | None = None, values: Mapping[str, float] | None = None
    ) -> pandas.DataFrame:
        """Return the points as the table that LoopStructural takes as ``model.data``.

        Parameters
        ----------
        feature : str, optional
            One ``feature_name`` for all surfaces, such as conformable contacts: they are then level
            sets of one scalar field. By default each surface is a feature of its own.
        values : mapping of str to float, optional
            Value of the scalar field on each surface, such as its height above the lowest surface.
            [default: 0]

        Returns
        -------
        pandas.DataFrame
            Columns ``X``, ``Y``, ``Z``, ``feature_name``, ``val``, ``nx``, ``ny``, ``nz``, and
            ``hole`` and ``depth``, which LoopStructural ignores. The scalar field grows along the
            normal.

        Raises
        ------
        DomainError
            For a value of an unknown surface, or if `feature` joins several surfaces and one of
            them has no value.
        """
        columns = self.loopstructural_columns(feature, values)
        return data_frame(dict(zip(LOOPSTRUCTURAL, columns, strict=True)))

    def for_gempy(self) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Return two tables as GemPy reads them: surface points, and orientations.

        Returns
        -------
        points : pandas.DataFrame
            Columns ``X``, ``Y``, ``Z``, ``formation``, ``hole`` and ``depth``.
        orientations : pandas.DataFrame
            A row for each point with a normal: also ``G_x``, ``G_y`` and ``G_z``.
        """
        points, orientations = self.gempy_columns()
        return (
            data_frame(dict(zip(GEMPY, points, strict=True))),
            data_frame(dict(zip(GEMPY_ORIENTATIONS, orientations, strict=True))),
        )

    def loopstructural_columns(
        self, feature: str | None, values: Mapping[str, float] | None
    ) -> tuple[TableColumn, ...]:
        """Return the columns `LOOPSTRUCTURAL`; see `for_loopstructural`."""
        levels = self._levels(feature, values)
        names = self._surfaces if feature is None else [feature] * len(self)
        return (
            *self.points.T, names, levels[self.owners], *self.normals.T, self._holes, self.depths
        )  # fmt: skip

    def gempy_columns(self) -> tuple[tuple[TableColumn, ...], tuple[TableColumn, ...]]:
        """Return the columns `GEMPY` and `GEMPY_ORIENTATIONS`."""
        rows = np.flatnonzero(self.oriented)
        names, holes = self._surfaces, self._holes
        return (
            (*self.points.T, names, holes, self.depths),
            (
                *self.points[rows].T, *self.normals[rows].T, [names[row] for row in rows],
                [holes[row] for row in rows], self.depths[rows],
            ),
        )  # fmt: skip

    @property
    def _holes(self) -> list[str]:
        return [self.names[hole] for hole in self.holes.tolist()]

    @property
    def _surfaces(self) -> list[str]:
        return [self.surfaces[owner] for owner in self.owners.tolist()]

    def _levels(self, feature: str | None, values: Mapping[str, float] | None) -> Floats:
        """Return the value of the scalar field on each surface."""
        levels = {name: float(value) for name, value in (values or {}).items()}
        for name, value in levels.items():
            if name not in self.surfaces or not math.isfinite(value):
                wrong = "has no finite value" if name in self.surfaces else "is not a surface"
                message = (
                    f"values= has {name!r}, which {wrong}; the surfaces are "
                    f"{', '.join(self.surfaces) or 'none'}"
                )
                raise DomainError(message)
        missing = [name for name in self.surfaces if name not in levels]
        if feature is not None and len(self.surfaces) > 1 and missing:
            message = (
                f"feature= joins {counted(len(self.surfaces), 'surface')} in one scalar field, so "
                f"each needs a value of its own: give values= for {', '.join(missing)}"
            )
            raise DomainError(message)
        return np.array([levels.get(name, 0.0) for name in self.surfaces])


def check_target(
    target: Target,
    feature: str | None,
    values: Mapping[str, float] | None,
    orientations: object,
) -> None:
    """Raise ValueError for an unknown target, and for arguments of the other target."""
    message = ""
    if target not in TARGETS:
        message = f"target= is {target!r}; it must be one of {', '.join(map(repr, TARGETS))}"
    elif target == "gempy" and (feature is not None or values):
        which = "values=" if feature is None else "feature="
        message = f"{which} is for LoopStructural: GemPy computes the values of its scalar fields"
    elif target == "loopstructural" and orientations is not None:
        message = (
            "orientations= is for GemPy: the table for LoopStructural has the normals in the "
            "columns nx, ny and nz"
        )
    if message:
        raise ValueError(message)


def column_rows(columns: Iterable[TableColumn]) -> Iterable[tuple[object, ...]]:
    """Return the rows of columns as plain values; a missing number is an empty cell."""
    plain = [each.tolist() if isinstance(each, np.ndarray) else each for each in columns]
    for row in zip(*plain, strict=True):
        yield tuple("" if value != value else value for value in row)  # NaN differs from itself


# --- Points at wireframes.


@dataclass(frozen=True, eq=False)
class SurfaceHits:
    """Points of a surface: its name, and hole, depth and normal of each point."""

    name: str
    holes: NDArray[np.intp]
    depths: Floats
    normals: Floats


def points_at_wireframes(
    holes: HolePaths,
    domains: Domains,
    *,
    rule: Rule,
    backend: BackendName,
    threads: int | None,
    allow_open: bool,
) -> list[SurfaceHits]:
    """Find the points where holes go through the walls of solids and through surfaces.

    A wall inside a union of solids gives no point, because the hole stays inside.
    """
    crossings = find_crossings(
        holes, domains, rule=rule, backend=backend, threads=threads, allow_open=allow_open
    )
    meshes = {domain.name: domain.placed for domain in domains}
    hits = []
    stays = crossings.stays
    for place, name in enumerate(crossings.solids):
        mine = stays.domains == place
        walls = _walls(holes, meshes[name], backend, threads)
        ends = (stays.begins[mine], -1.0), (stays.ends[mine], 1.0)
        sides = [_at_stays(walls, stays.holes[mine], depths, side) for depths, side in ends]
        owners, depths, normals = (np.concatenate(pair) for pair in zip(*sides, strict=True))
        hits.append(SurfaceHits(name, owners, depths, normals))
    sheets = [(domain.name, domain.placed) for domain in domains if domain.is_surface]
    sheets += [(group[0].name, group) for stack in domains.stacks for group in stack.placed]
    for name, tiles in sheets:
        owners, depths, normals, _ = _walls(holes, tiles, backend, threads)
        upward = np.where(normals[:, 2:] < 0, -normals, normals)
        hits.append(SurfaceHits(name, owners, depths, upward))
    return hits


_Walls: TypeAlias = tuple[NDArray[np.intp], Floats, Floats, Floats]


def _walls(
    holes: HolePaths, meshes: Sequence[Mesh], backend: BackendName, threads: int | None
) -> _Walls:
    """Return all crossings with meshes, sorted by hole and depth.

    The arrays are the hole, the depth, the unit normal of the triangle, and the dot product of this
    normal with the direction of the hole.
    """
    parts = []
    for mesh in meshes:
        walls = cross_walls(holes.curves, holes.ends, mesh, backend=backend, threads=threads)
        corners = mesh.vertices[mesh.triangles[walls.triangles]].reshape(-1, 3, 3)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = np.divide(normals, lengths, out=np.full_like(normals, np.nan), where=lengths > 0)
        along = holes.curves.along(walls.pieces, walls.depths)
        through = np.einsum("ij,ij->i", normals, along)
        parts.append((walls.holes.astype(np.intp), walls.depths, normals, through))
    owners, depths, normals, through = (
        np.concatenate(arrays) for arrays in zip(*parts, strict=True)
    )
    order = np.lexsort((depths, owners))
    return owners[order], depths[order], normals[order], through[order]


def _at_stays(
    walls: _Walls, holes: NDArray[np.intp], depths: Floats, side: float
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return hole, depth and outward normal of the ends of stays that are at a wall.

    `side` is -1 where holes enter, against the outward normal, and 1 where they leave. The collar
    and the end of a hole are not walls.
    """
    owners, at, normals, through = walls
    places = place_in(owners, at, holes, depths, side="left")
    inner = np.minimum(places, max(len(owners) - 1, 0))
    met = np.flatnonzero((places < len(owners)) & _equal(owners, at, inner, holes, depths))
    rows = places[met]
    outward = np.where((through[rows] * side < 0)[:, None], -normals[rows], normals[rows])
    return owners[rows], at[rows], outward


def _equal(
    owners: NDArray[np.intp],
    at: Floats,
    places: NDArray[np.intp],
    holes: NDArray[np.intp],
    depths: Floats,
) -> NDArray[np.bool_]:
    """Return the mask of stays whose hole and depth are those of the wall at `places`."""
    if not len(owners):
        return np.zeros(len(holes), np.bool_)
    return np.asarray((owners[places] == holes) & (at[places] == depths))


# --- Points at logged contacts.


def check_contacts(
    logged: str | None,
    between: Sequence[tuple[str, str]],
    naming: Naming,
    max_gap: float,
    *,
    wireframes: bool,
) -> None:
    """Raise ValueError for invalid arguments of `Drillholes.surface_points`."""
    message = ""
    if logged is None and not wireframes:
        message = "no surface is given: give domains, or the column of a log with logged="
    elif logged is None and between:
        message = "between= chooses logged contacts: give the column of codes with logged="
    elif any(len(pair) != 2 or isinstance(pair, str) for pair in between):
        message = "between= must be pairs of codes, such as [('OXIDE', 'FRESH')]"
    elif naming not in NAMINGS:
        message = f"name_by= is {naming!r}; it must be one of {', '.join(map(repr, NAMINGS))}"
    elif not 0 <= max_gap < math.inf:
        message = f"max_gap= is {max_gap!r}; it must be a length of 0 or more"
    if message:
        raise ValueError(message)


def logged_contacts(
    holes: HolePaths,
    rows: Intervals,
    column: str,
    *,
    between: Sequence[tuple[str, str]],
    naming: Naming,
    max_gap: float,
) -> tuple[list[SurfaceHits], dict[str, int]]:
    """Find the depths at which a logged code changes.

    Parameters
    ----------
    holes : HolePaths
        The holes.
    rows : Intervals
        The log, matched with the holes.
    column : str
        Name of the column of codes. An interval without a code is not logged.
    between : sequence of (str, str)
        Pairs of codes whose contacts are wanted, in either order; empty for all pairs.
    naming : {"base", "top", "pair"}
        The name of a surface: the code above it, the code below it, or both as "ABOVE/BELOW".
    max_gap : float
        If the code changes across an unlogged gap of at most this length, the contact is in the
        middle of the gap.

    Returns
    -------
    hits : list of SurfaceHits
        The contacts of each surface, in the order in which the surfaces first occur.
    left_out : dict of str to int
        Numbers of changes without a point, by reason.
    """
    codes, texts = rows.table.texts(find_column(rows.table.names, column, rows.table.name))
    _refuse_unknown(between, texts, column, rows.table.name)
    logged = np.array([bool(text) for text in texts], np.bool_)[codes]
    order = rows.order[logged[rows.order]]
    upper, lower = order[:-1], order[1:]
    changes = (rows.holes[upper] == rows.holes[lower]) & (codes[upper] != codes[lower])
    upper, lower = upper[changes], lower[changes]
    wanted = {frozenset(pair) for pair in between}
    if wanted:
        pairs = zip(codes[upper].tolist(), codes[lower].tolist(), strict=True)
        is_wanted = [frozenset((texts[above], texts[below])) in wanted for above, below in pairs]
        mask = np.array(is_wanted, np.bool_)
        upper, lower = upper[mask], lower[mask]
    gaps = rows.starts[lower] - rows.ends[upper]
    wide, overlap = gaps > max(max_gap, _SAME), gaps < -_SAME
    left_out = {
        f"a gap of more than {max_gap:g} is not logged": int(wide.sum()),
        "the intervals overlap": int(overlap.sum()),
    }
    fit = ~wide & ~overlap
    upper, lower = upper[fit], lower[fit]
    depths = np.where(
        np.abs(gaps[fit]) <= _SAME,
        rows.starts[lower],
        0.5 * (rows.ends[upper] + rows.starts[lower]),
    )
    owners = rows.holes[upper]
    pieces = holes.curves.find(owners, depths)
    rising = holes.curves.along(pieces, depths)[:, 2] > 0
    above = np.where(rising, codes[lower], codes[upper]).tolist()
    below = np.where(rising, codes[upper], codes[lower]).tolist()
    names = [_name_of(texts[a], texts[b], naming) for a, b in zip(above, below, strict=True)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    surfaces = np.array([numbers[name] for name in names], np.intp)
    hits = []
    for name, number in numbers.items():
        some = surfaces == number
        missing = np.full((int(some.sum()), 3), np.nan)
        hits.append(SurfaceHits(name, owners[some], depths[some], missing))
    return hits, left_out


def _name_of(above: str, below: str, naming: Naming) -> str:
    return {"base": above, "top": below, "pair": f"{above}/{below}"}[naming]


def _refuse_unknown(
    between: Sequence[tuple[str, str]], texts: Sequence[str], column: str, table: str
) -> None:
    """Raise TableError for a code in `between` that no interval has."""
    for code in (code for pair in between for code in pair):
        if code not in texts:
            codes = sorted(filter(None, texts))
            shown = ", ".join(codes[:20]) + ", ..." * (len(codes) > 20)
            message = (
                f"between= names the code {code!r}, but column {column!r} of {table} has no such "
                f"code; it has {shown or 'none'}"
            )
            raise TableError(message)


def join_points(
    holes: HolePaths, hits: Sequence[SurfaceHits], left_out: Mapping[str, int]
) -> SurfacePoints:
    """Join the points of all surfaces, sorted by hole, then depth; equal names are one surface."""
    names = tuple(dict.fromkeys(each.name for each in hits))
    places = [names.index(each.name) for each in hits]
    owners = np.repeat(np.array(places, np.intp), [len(each.holes) for each in hits])
    rows = np.concatenate([np.empty(0, np.intp), *(each.holes for each in hits)])
    depths = np.concatenate([np.empty(0), *(each.depths for each in hits)])
    normals = np.concatenate([np.empty((0, 3)), *(each.normals for each in hits)])
    order = np.lexsort((owners, depths, rows))
    points = holes.points_at(rows[order], depths[order])
    return SurfacePoints(
        holes.names, names, rows[order], owners[order], depths[order], points, normals[order],
        dict(left_out),
    )  # fmt: skip
