"""Compute the distances of points from meshes, and write the distances of blocks to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, host_room
from geodomain.compute import choose
from geodomain.compute.api import NearestIndex
from geodomain.compute.data import Floats
from geodomain.compute.native import thread_count
from geodomain.errors import MeshError, PointError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import (
    BlockFile,
    Destination,
    Relabelling,
    file_of,
    open_model,
    require_same_kind,
)
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import reading_once
from geodomain.inputs import MeshLike, PathGiven, PointsLike, as_mesh, model_path, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.query.contains import contains_fit
from geodomain.query.locator import contains_read, locate
from geodomain.result_tables import data_frame, html_table, records_frame, text_table
from geodomain.settings import BackendName
from geodomain.tables.conditions import Column
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import table_options
from geodomain.tables.rotation import require_constants
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    import pandas


_UNSIGNED = "use distances without a sign"  # the alternative for an open mesh


class Nearest(NamedTuple):
    """The nearest point on a mesh for each query point.

    Attributes
    ----------
    point : (n, 3) float64
        The nearest point on the mesh; NaN if the query point is not finite.
    triangle : (n,) int32
        The index of the triangle that contains the nearest point; of several such triangles, the
        lowest index; -1 if the query point is not finite.
    distance : (n,) float64
        The distance in the mesh's unit; NaN if the query point is not finite.
    """

    point: NDArray[np.float64]
    triangle: NDArray[np.int32]
    distance: NDArray[np.float64]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each query point; the triangle is NA if it is -1."""
        return data_frame(
            dict(zip("xyz", self.point.T, strict=True))
            | {
                "triangle": [None if place < 0 else place for place in self.triangle.tolist()],
                "distance": self.distance,
            },
            {"triangle": "Int64"},
        )


def nearest(
    mesh: MeshLike, points: PointsLike, *, backend: BackendName = "auto", threads: int | None = None
) -> Nearest:
    """Find the nearest point on a mesh for each query point.

    Parameters
    ----------
    mesh : mesh-like
        Open or closed; any type that `as_mesh` accepts. A triangle without area counts as the
        segment or the point to which it has collapsed.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; results have the same bits everywhere.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.

    Returns
    -------
    Nearest
        ``point``, ``triangle`` and ``distance``. The error of a distance is at most 4 units in the
        last place of the largest coordinate difference between the point and the triangle's
        corners. The distance of a point at a vertex is exactly 0.0. If several triangles have the
        same float64 distance, the triangle of the lowest index is returned.

    Raises
    ------
    MeshError
        If the mesh has no triangle.
    PointError
        For a point with a coordinate beyond 2^339.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> nearest = geodomain.nearest(mesh, [[2, 3, -4], [-3, 0, 13]])
    >>> nearest.point.tolist(), nearest.triangle.tolist(), nearest.distance.tolist()
    ([[2.0, 3.0, 0.0], [0.0, 0.0, 9.0]], [0, 1], [4.0, 5.0])
    """
    mesh = as_mesh(mesh)
    columns = as_columns(point_rows(points))
    rows = len(columns[0])
    result = Nearest(np.empty((rows, 3)), np.empty(rows, np.int32), np.empty(rows))
    index, count = _index(mesh, backend, threads)
    refused = index.nearest(
        columns, result.distance, count, triangle=result.triangle, place=result.point
    )
    _refuse_far(columns, refused)
    return result


def distances(
    mesh: MeshLike,
    points: PointsLike,
    *,
    signed: bool = False,
    backend: BackendName = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the distance of each point from a mesh.

    Parameters
    ----------
    mesh : mesh-like
        Open or closed; any type that `as_mesh` accepts. It must be closed if ``signed`` is true.
    points : array_like of shape (n, 3), or points-like
        As in `contains`.
    signed : bool
        Whether distances of points inside the solid are negative. Which points are inside is
        decided by parity, as in `contains`.
    backend, threads
        As in `nearest`.
    out : numpy.ndarray of float64, shape (n,), optional
        Array that receives the distances and is returned.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        In the mesh's unit, with the error bound of `nearest`; NaN if a point is not finite.

    Raises
    ------
    MeshError
        If the mesh has no triangle. If the mesh is not closed although ``signed`` is true.
    PointError
        As in `nearest`. If ``signed`` is true, as in `contains` too.
    ValueError
        If ``out`` has a wrong shape or type, or shares memory with the points.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.distances(mesh, [[1, 2, -3], [1, 2, 3]], signed=True)
    array([ 3., -1.])
    """
    mesh = as_mesh(mesh)
    columns = as_columns(point_rows(points))
    room = host_room((len(columns[0]),), np.float64, out, columns)
    if signed:
        fitness.require_fit(mesh, allow_open=False, instead=_UNSIGNED)
    index, count = _index(mesh, backend, threads)
    _refuse_far(columns, index.nearest(columns, room, count))
    if signed:
        inside = contains_fit(mesh, points, columns=columns, backend=backend, threads=threads)
        np.negative(room, out=room, where=inside & (room != 0.0))
    return room


class MeshDistance:
    """A mesh and its distance index, to compute distances of points from the mesh chunk by chunk.

    Parameters
    ----------
    mesh : Mesh
        A mesh with at least one triangle. If `signed` is true, it must be closed.
    signed : bool
        Whether distances inside the mesh are negative.
    backend, threads
        As in `nearest`.
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        signed: bool = False,
        backend: BackendName = "auto",
        threads: int | None = None,
    ) -> None:
        self.mesh, self._inside = mesh, None
        self._index, self._threads = _index(mesh, backend, threads)
        if signed:
            fitness.require_fit(mesh, allow_open=False, instead=_UNSIGNED)
            self._inside = locate(mesh, backend=backend, threads=threads, allow_open=False)

    def of(self, points: Floats) -> Floats:
        """Return the distances of points (n, 3) from the mesh; see `distances`."""
        columns, room = as_columns(points), np.empty(len(points))
        _refuse_far(columns, self._index.nearest(columns, room, self._threads))
        if self._inside is not None:
            inside = contains_read(self._inside, "parity", columns)
            np.negative(room, out=room, where=inside & (room != 0.0))
        return room


def _index(mesh: Mesh, backend: BackendName, threads: int | None) -> tuple[NearestIndex, int]:
    """Return a tuple: the distance index of a mesh, and the number of threads.

    Raise MeshError if the mesh has no triangle.
    """
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangle, so no distance from it is defined"
        raise MeshError(message)
    count = thread_count(threads)
    return choose(backend).nearest_index(mesh, threads=count), count


def _refuse_far(columns: tuple[Floats, Floats, Floats], row: int) -> None:
    """Raise PointError for a row with a coordinate beyond 2^339; if `row` is -1, do nothing."""
    if row < 0:
        return
    place = tuple(float(column[row]) for column in columns)
    message = (
        f"point {row} is {place}: a coordinate is beyond 2^339, the limit for distances; correct "
        "the row, or use NaN"
    )
    raise PointError(message)


# Distances as new columns of a file.

_HEADINGS = ("mesh", "column", "nearest", "farthest", "inside")


@dataclass
class DistanceColumn:
    """The column of distances from one mesh, with its smallest and largest value.

    Attributes
    ----------
    name : str
        Name of the mesh.
    column : str
        Name of the column of distances.
    nearest, farthest : float, optional
        The smallest and the largest distance, with their signs; None if there are no blocks.
    inside : int, optional
        Number of blocks with a negative distance; None if distances are unsigned.
    """

    name: str
    column: str
    nearest: float | None = None
    farthest: float | None = None
    inside: int | None = None

    def add(self, distances: NDArray[np.float64]) -> None:
        """Update the values with the distances of more blocks; NaN means no coordinates."""
        valid = distances[~np.isnan(distances)]
        if valid.size:
            least, most = float(valid.min()), float(valid.max())
            self.nearest = least if self.nearest is None else min(self.nearest, least)
            self.farthest = most if self.farthest is None else max(self.farthest, most)
        if self.inside is not None:
            self.inside += int((valid < 0).sum())

    def cells(self) -> tuple[str, ...]:
        """Return the cells of this column's row in the printed table, as texts."""
        ends = ("-" if end is None else f"{end:,.6g}" for end in (self.nearest, self.farthest))
        return self.name, self.column, *ends, "" if self.inside is None else f"{self.inside:,}"


@dataclass(frozen=True, repr=False)
class DistanceSummary:
    """Summary of a model's distances; `str` gives a table, and a notebook shows the table.

    Attributes
    ----------
    rows, missing : int
        Number of all blocks, and number of blocks without coordinates, which have no distance.
    columns : tuple of DistanceColumn
        A column for each mesh, in the order of the meshes.
    output : str
        The output file.
    """

    rows: int
    missing: int
    columns: tuple[DistanceColumn, ...]
    output: str

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each column that was written."""
        return records_frame(DistanceColumn, self.columns)

    def __str__(self) -> str:
        """Return the table as text."""
        return "\n".join([*text_table(self._table(), names=2), self._counted()])

    def __repr__(self) -> str:
        """Return the number of blocks and the names of the meshes."""
        names = ", ".join(column.name for column in self.columns)
        return f"<DistanceSummary of {counted(self.rows, 'block')}: {names}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._table()
        return html_table("Distances", rows, headings=headings, notes=[self._counted()])

    def _table(self) -> list[tuple[str, ...]]:
        """Return headings and rows. If distances are unsigned, there is no column "inside"."""
        signed = any(column.inside is not None for column in self.columns)
        rows = [_HEADINGS, *(column.cells() for column in self.columns)]
        return [row if signed else row[:-1] for row in rows]

    def _counted(self) -> str:
        """Return the counts of blocks as text."""
        lost = f", {self.missing:,} without coordinates" if self.missing else ""
        return f"{counted(self.rows, 'block')}{lost}"


_IN_MEMORY = "use geodomain.distances for points in memory"


def distance_file(
    model: PathGiven,
    meshes: Mapping[str, MeshLike],
    output: PathGiven,
    *,
    signed: bool = False,
    overwrite: bool = False,
    backend: BackendName = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> DistanceSummary:
    r"""Write a block model file with the distances of each block's centroid from meshes.

    The output has the model's format, and one more column for each mesh. In a text table all other
    bytes stay the same. For a table, memory does not grow with the number of blocks.

    Parameters
    ----------
    model : path
        As for `label_file`; "-" is text on stdin.
    meshes : mapping of str to mesh-like
        For each name, a mesh or the path of a mesh, open or closed. The column for the name ``ORE``
        is called ``dist_ore``.
    output : path
        The file to write; "-" is stdout.
    signed : bool
        Whether distances inside a mesh are negative. If true, every mesh must be closed.
    overwrite : bool
        Whether an existing output may be replaced.
    backend, threads, progress, **table
        As for `label_file`.

    Returns
    -------
    DistanceSummary
        The smallest and the largest distance from each mesh; ``print`` it.

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    MeshError, TableError, PointError, OSError
        As for `distances` and `label_file`. After an error no partial file remains.
    ValueError
        If there is no mesh.

    Notes
    -----
    Distances are those of `distances`, written with the fewest digits that read back as the same
    float64. In a Datamine table of single precision they are rounded. A block without coordinates
    has no distance.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z\n1,2,-3\n1,2,3\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], faces)
    >>> summary = geodomain.distance_file(
    ...     folder / "blocks.csv", {"ORE": ore}, folder / "out.csv", signed=True)
    >>> (folder / "out.csv").read_text().split()
    ['X,Y,Z,dist_ore', '1,2,-3,3', '1,2,3,-1']
    """
    options, source, target = table_options(**table), model_path(model, _IN_MEMORY), str(output)
    if not meshes:
        message = "there is no mesh: give meshes, such as meshes={'ORE': 'ore.stl'}"
        raise ValueError(message)
    _require_place(source, target, meshes, overwrite=overwrite)
    with reading_once():
        read = {name: as_mesh(mesh) for name, mesh in meshes.items()}
    indexes = {
        name: MeshDistance(mesh, signed=signed, backend=backend, threads=threads)
        for name, mesh in read.items()
    }
    columns = [DistanceColumn(name, f"dist_{name}".lower()) for name in indexes]
    for column in columns:
        column.inside = 0 if signed else None
    with show_progress(progress, "measuring") as report, open_model(source, options) as opened:
        measured = _Measured(opened, [*indexes.values()], columns)
        task = Relabelling(
            measured.add,
            [NewColumn(column.column, numeric=True, measured=True) for column in columns],
            Destination(target, overwrite),
            also=[*opened.constants],
            threads=threads,
            progress=report,
        )
        opened.relabel(task)
    return DistanceSummary(measured.rows, measured.missing, tuple(columns), target)


class _Measured:
    """Measures the distances of blocks chunk by chunk, and counts the blocks."""

    def __init__(
        self, model: BlockFile, indexes: list[MeshDistance], columns: list[DistanceColumn]
    ) -> None:
        self._model, self._indexes, self._columns = model, indexes, columns
        self.rows = self.missing = 0

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[Floats]:
        """Return, for each mesh, the distances of the blocks of a chunk."""
        model = self._model
        require_constants(model.constants, column, model.columns, model.name, self.rows)
        try:
            distances = [index.of(points) for index in self._indexes]
        except PointError as error:
            message = f"{model.name}, in a chunk that begins with block {self.rows + 1}: {error}"
            raise PointError(message) from None
        for result, each in zip(self._columns, distances, strict=True):
            result.add(each)
        self.rows += len(points)
        self.missing += int((distances[0] != distances[0]).sum())
        return distances


def _require_place(
    source: str, target: str, meshes: Mapping[str, MeshLike], *, overwrite: bool
) -> None:
    """Raise an error if the output has a wrong format, is an input, or exists without `overwrite`.

    The format is wrong if it differs from the format of the model.
    """
    require_same_kind(source, target)
    if target == STANDARD:
        return
    paths = [Path(mesh) for mesh in meshes.values() if isinstance(mesh, str | os.PathLike)]
    inputs = [split_name(path)[0] for path in paths]
    if source != STANDARD:
        inputs.append(file_of(source))
    refuse_inputs([Path(target)], inputs)
    require_places([Path(target)], overwrite=overwrite)
