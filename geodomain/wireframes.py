"""Check, weld, fill and write a mesh from any source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from geodomain.errors import counted, visible
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.formats import wireframes
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import files_of, read_mesh, read_meshes
from geodomain.formats.wireframes import write_mesh as write_solid
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh import check as report
from geodomain.mesh import repair
from geodomain.mesh.check import MeshReport, as_table
from geodomain.mesh.check import check as check_mesh
from geodomain.mesh.edges import EdgeTable, edge_table
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.open_edges import collapse_text
from geodomain.mesh.repair import FillResult, Hole, WeldResult, closing_weld, collapsing_weld
from geodomain.mesh.repair import fill_holes as fill_mesh
from geodomain.mesh.repair import weld as weld_mesh
from geodomain.result_tables import html_table

if TYPE_CHECKING:
    import pandas


def check(mesh: MeshLike) -> MeshReport:
    """Count and locate the faults of a mesh.

    Parameters
    ----------
    mesh : mesh-like
        Closed, open or even empty; any type that `as_mesh` accepts.

    Returns
    -------
    MeshReport
        Its counts do not depend on the order of vertices or triangles.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> report = geodomain.check((corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    >>> report.closed, report.shells, round(report.signed_volume, 6)
    (True, 1, 0.166667)
    """
    return report.check(as_mesh(mesh))


def weld(mesh: MeshLike, tolerance: float) -> WeldResult:
    """Join the vertices of a mesh that are close to each other.

    Each cluster of close vertices is moved to one vertex of the cluster: the first when sorted by
    x, then y, then z. So no coordinate is new, and the order of vertices and triangles does not
    matter. Chains of vertices are joined: if a is close to b and b is close to c, all three become
    one vertex, even if c is far from a. A vertex can therefore move farther than the tolerance;
    `largest_move` is the largest distance.

    Parameters
    ----------
    mesh : mesh-like
        Closed or open; any type that `as_mesh` accepts.
    tolerance : float
        Distance in the unit of the coordinates; 0 joins only equal vertices.

    Returns
    -------
    WeldResult
        The new mesh, and the changes.

    Raises
    ------
    ValueError
        If the tolerance is negative or not finite.
    MeshError
        If the tolerance is so large that far too many pairs of vertices are within it.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0.001], [0, 1, 0], [1, 1, 0]]
    >>> result = geodomain.weld((corners, [[0, 1, 2], [3, 5, 4]]), 0.01)
    >>> len(result.mesh.vertices), result.moved, result.largest_move
    (4, 1, 0.001)
    """
    return repair.weld(as_mesh(mesh), tolerance)


def fill_holes(mesh: MeshLike, max_edges: int) -> FillResult:
    """Fill the holes of a mesh with triangles between the corners of each boundary loop.

    No vertex is added or moved. A loop visits each of its corners once, and each of its edges has
    one triangle. Loops that meet at one corner are filled separately. Loops that meet at several
    corners stay open if it is uncertain which edges belong together.

    The new triangles do not depend on the order of vertices and triangles. They form a fan around
    the first corner in the order by x, then y, then z. If this fan would fold, the triangles come
    from clipping ears instead. They face the same way as most of their neighbours. A loop whose
    triangles would fold over each other stays open. Crossings with other parts of the mesh are not
    checked.

    Parameters
    ----------
    mesh : mesh-like
        Any type that `as_mesh` accepts. The rim of an open surface is a boundary loop, too.
    max_edges : int
        Holes with more edges are left open.

    Returns
    -------
    FillResult
        The new mesh, and each hole with its position, its area and whether it was filled.

    Raises
    ------
    ValueError
        If ``max_edges`` is below 3.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]
    >>> result = geodomain.fill_holes((corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2]]), 10)
    >>> print(result.holes[0], result.mesh.is_closed)
    filled: 3 edges from (0, 0, 4), area 13.8564, flat True
    """
    return repair.fill_holes(as_mesh(mesh), max_edges)


def write_mesh(
    mesh: MeshLike | Mapping[str, MeshLike],
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write one wireframe, or several with names, in the format of the file's extension.

    .ply (binary double), .obj, .off, .vtp, .msh (Leapfrog), .ts (GOCAD TSurf), .omf
    (OMF 2, through pyarrow), .geoh5 (through h5py) and .dtm with .str (Surpac) keep every
    coordinate and triangle. .dxf (3DFACE of R12) keeps every corner, but drops unused vertices.
    .stl (binary) has single precision. The file is written completely or not at all. An
    existing file keeps its mode, and symbolic links are followed.

    Parameters
    ----------
    mesh : mesh-like, or mapping of str to mesh-like
        One mesh, or several by name; `as_mesh` lists the types. A single mesh gets the name of
        the file, without its extension. .dxf, .ts, .omf and .geoh5 store names, and .dtm stores
        numbers. In other formats all solids become one mesh.
    path : str or path-like
        The file; for a .dtm, a .str is written to the same folder.
    overwrite : bool
        Whether to replace an existing file.

    Raises
    ------
    FileExistsError
        If the file exists; see ``overwrite``.
    OSError
        If the file cannot be written.
    MeshError
        If the extension is unknown, or STL cannot hold the coordinates.

    Warns
    -----
    GeodomainWarning
        If rounding in STL moves a vertex; the warning gives the largest move.
    """
    if isinstance(mesh, Mapping):
        meshes = {name: as_mesh(each) for name, each in mesh.items()}
        wireframes.write_mesh(meshes, path, overwrite=overwrite)
    else:
        wireframes.write_mesh(as_mesh(mesh), path, overwrite=overwrite)


# --- Check a wireframe in a file, and optionally write a welded or filled copy.

Kind = Literal["solid", "surface"]

# Tolerances to try on an open mesh, in the unit of its coordinates.
_TRIALS = (1e-6, 1e-3, 1e-2)
_OPEN = "does not close it"
_MOST_LISTED = 20  # number of holes listed


@dataclass(frozen=True)
class SolidCheck:
    """One solid of a file: its name, its number of triangles, and whether it is closed."""

    name: str
    triangles: int
    closed: bool


class Welded(TypedDict):
    """The result of welding: vertices moved, largest move, triangles dropped, output file."""

    tolerance: float
    moved: int
    largest_move: float
    dropped: int
    output: str | None


@dataclass(frozen=True)
class FilledHoles:
    """The result of filling: triangles added, all holes, and the output file."""

    max_edges: int
    added: int
    holes: tuple[Hole, ...]
    output: str | None

    def __str__(self) -> str:
        """Return the number of holes, and a list of the first holes."""
        filled = sum(hole.filled for hole in self.holes)
        area = sum(hole.area for hole in self.holes)
        head = (
            f"holes of up to {counted(self.max_edges, 'edge')}: {filled:,} filled by "
            f"{counted(self.added, 'triangle')} of area {area:.6g}, "
            f"{len(self.holes) - filled:,} left open"
        )
        lines = [head, *(f"  {hole}" for hole in self.holes[:_MOST_LISTED])]
        more = len(self.holes) - _MOST_LISTED
        lines += [f"  and {more:,} more"] if more > 0 else []
        return "\n".join(lines)


@dataclass(frozen=True)
class MeshCheck:
    """The check of a mesh in a file; `str` returns the report.

    Attributes
    ----------
    report : MeshReport
        Report on the mesh. If the mesh was welded or filled and written, this is the report on
        the mesh in the output file.
    welded : dict, optional
        Result of welding: ``tolerance``, vertices ``moved``, the ``largest_move``, triangles
        ``dropped``, and the ``output``, if any.
    weld_closes : dict of float to bool
        For an open mesh, whether welding at each of some usual tolerances would close it.
    solids : tuple of SolidCheck
        The solids of the file, each of which can be named as ``FILE:NAME``.
    kind : {"solid", "surface"}
        The intended use of the mesh.
    weld_effects : dict of float to str
        For an open mesh, the effect of welding at each of these tolerances, in words.
    filled : FilledHoles, optional
        Result of filling: ``max_edges``, triangles ``added``, the ``holes``, and the ``output``,
        if any.
    """

    report: MeshReport
    welded: Welded | None
    weld_closes: dict[float, bool]
    solids: tuple[SolidCheck, ...] = ()
    kind: Kind = "solid"
    weld_effects: dict[float, str] = field(default_factory=dict)
    filled: FilledHoles | None = None

    @property
    def fit(self) -> bool:
        """Whether the mesh can be used for labelling, as a solid or surface according to `kind`."""
        return not self.report.faults(self.kind)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        closes = {f"{tolerance:g}": does for tolerance, does in self.weld_closes.items()}
        solids = [asdict(solid) for solid in self.solids]
        filled = None if self.filled is None else asdict(self.filled)
        extra = {"weld": self.welded, "fill": filled, "weld_closes": closes, "solids": solids}
        verdict = {"kind": self.kind, "fit": self.fit, "faults": self.report.faults(self.kind)}
        return self.report.as_dict() | extra | verdict

    def to_pandas(self) -> pandas.DataFrame:
        """Return the report as a DataFrame of one row, with the columns `fit` and `kind`."""
        return self.report.to_pandas().assign(fit=self.fit, kind=self.kind)

    @property
    def _has_names(self) -> bool:
        """Whether the file has several solids, or a solid with another name than the file."""
        names = [solid.name for solid in self.solids]
        name = self.report.name
        return len(names) > 1 or not {*names} <= {Path(name).stem, name.rpartition(":")[2]}

    def _repr_html_(self) -> str:
        """Return tables for a notebook: the verdict, the solids and the report."""
        report = self.report
        verdict = "can be used" if self.fit else "cannot be used"
        rows = [(f"as a {self.kind}", verdict)]
        if self.welded is not None:
            rows.append(("welding", _weld_text(self.welded)))
        if self.filled is not None:
            rows.append(("filling", str(self.filled).partition("\n")[0]))
        rows += [(f"a weld at {size:g}", effect) for size, effect in self.weld_effects.items()]
        if self._has_names:
            rows += [
                (
                    solid.name,
                    f"{counted(solid.triangles, 'triangle')}, "
                    f"{'closed' if solid.closed else 'open'}",
                )
                for solid in self.solids
            ]
        notes = report.faults(self.kind)
        table = html_table(f"Check of {report.name}", rows, notes=notes)
        return f"{table}\n{report._repr_html_()}"

    def __str__(self) -> str:
        """Return the results of welding and filling, then the report."""
        parts = [] if self.welded is None else [f"welded {_weld_text(self.welded)}"]
        parts += [] if self.filled is None else [str(self.filled)]
        parts.append(as_table(self.report, self.weld_effects, kind=self.kind))
        if self._has_names:
            parts.append(_solids_table(self.solids))
        return "\n".join(parts)


def _weld_text(done: Welded) -> str:
    """Describe the tolerance and the result of welding."""
    return (
        f"at {done['tolerance']:g}: {counted(done['moved'], 'vertex', 'vertices')} moved, at most "
        f"{done['largest_move']:.3g}; {counted(done['dropped'], 'triangle')} dropped"
    )


def check_file(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    weld: float | None = None,
    fill: int | None = None,
    kind: Kind = "solid",
    overwrite: bool = False,
) -> MeshCheck:
    """Check whether a wireframe in a file, unchanged, welded or filled, can be used for labelling.

    Parameters
    ----------
    path : path
        The wireframe.
    output : path, optional
        File for the welded or filled mesh, in the format of the file's extension. It may be the
        input itself, with ``overwrite``. A mesh that has no triangles left is not written.
    weld : float, optional
        Join vertices within this distance, in the unit of the coordinates, and report on the
        result.
    fill : int, optional
        After welding, if any, fill holes of at most this number of edges, as `fill_holes` does,
        and report on the result.
    kind : {"solid", "surface"}
        The intended use: a solid must be closed, a surface is open.
    overwrite : bool
        Whether to replace an existing output.

    Returns
    -------
    MeshCheck

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    MeshError, OSError
        As `read_mesh` and `write_mesh`.
    ValueError
        If there is an output without ``weld`` or ``fill``, or the kind is unknown.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ground.ply"
    >>> geodomain.write_mesh(geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]]), path)
    >>> result = geodomain.check_file(path)
    >>> result.report.fit, result.report.boundary_edges, result.weld_closes
    (False, 3, {})
    """
    if kind not in get_args(Kind):
        message = f"kind is {kind!r}; it must be 'solid' or 'surface'"
        raise ValueError(message)
    place = None if output is None else Path(output)
    if place is not None:
        if weld is None and fill is None:
            message = "output= needs a change of the mesh: give weld= or fill="
            raise ValueError(message)
        if not overwrite:
            refuse_inputs(files_of(place), [split_name(path)[0]])
        require_places(files_of(place), overwrite=overwrite)
    solids = read_meshes(path)
    mesh = next(iter(solids.values())) if len(solids) == 1 else read_mesh(path)
    mesh, welded = (mesh, None) if weld is None else _welded(mesh, weld)
    mesh, filled = (mesh, None) if fill is None else _filled(mesh, fill)
    if place is not None and len(mesh.triangles):  # no format can hold an empty mesh
        write_solid(mesh, place, overwrite=overwrite)
        mesh = read_mesh(place)  # STL rounds
        if welded is not None:
            welded["output"] = str(place)
        if filled is not None:
            filled = replace(filled, output=str(place))
    report = check_mesh(mesh)
    effects = {} if report.closed or kind == "surface" or report.sheet else _welds(mesh)
    closes = {tolerance: does != _OPEN for tolerance, does in effects.items()}
    listed = (SolidCheck(name, len(m.triangles), m.is_closed) for name, m in solids.items())
    return MeshCheck(report, welded, closes, tuple(listed), kind, effects, filled)


def _solids_table(solids: tuple[SolidCheck, ...]) -> str:
    """Return a table of the solids of a file as text."""
    names = [visible(solid.name) for solid in solids]
    width = max(map(len, names))
    rows = [
        f"  {name:<{width}}  {counted(solid.triangles, 'triangle'):>20}, "
        f"{'closed' if solid.closed else 'not closed'}"
        for name, solid in zip(names, solids, strict=True)
    ]
    title = (
        "1 solid, which can" if len(solids) == 1 else f"{len(solids):,} solids, each of which can"
    )
    return "\n".join([f"{title} be named as FILE:NAME", *rows])


def _welded(mesh: Mesh, tolerance: float) -> tuple[Mesh, Welded]:
    """Weld a mesh; return the new mesh, and the figures for the report."""
    result = weld_mesh(mesh, tolerance)
    done: Welded = {
        "tolerance": tolerance,
        "moved": result.moved,
        "largest_move": result.largest_move,
        "dropped": result.dropped,
        "output": None,
    }
    return result.mesh, done


def _filled(mesh: Mesh, max_edges: int) -> tuple[Mesh, FilledHoles]:
    """Fill the holes of a mesh; return the new mesh, and the figures for the report."""
    result = fill_mesh(mesh, max_edges)
    return result.mesh, FilledHoles(max_edges, result.added, result.holes, None)


def _welds(mesh: Mesh) -> dict[float, str]:
    """Return the effect of welding at each usual tolerance, in words."""
    table = edge_table(mesh)
    return {trial: _effect(mesh, table, trial) for trial in _TRIALS}


def _effect(mesh: Mesh, table: EdgeTable, tolerance: float) -> str:
    """Describe whether welding closes a mesh and, if so, which triangles collapse."""
    if closing_weld(mesh, table, tolerance) is not None:
        return "closes it"
    collapse = collapsing_weld(mesh, tolerance)
    return _OPEN if collapse is None else f"closes it by {collapse_text(collapse)}"
