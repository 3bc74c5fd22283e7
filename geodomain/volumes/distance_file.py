"""Write the distances of blocks from meshes as columns of a block model file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import PointError, counted
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
from geodomain.html import html_table, records_frame, text_table
from geodomain.inputs import MeshLike, PathGiven, as_mesh, model_path
from geodomain.progress import Progress, show_progress
from geodomain.settings import BackendName
from geodomain.tables.conditions import Column
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import table_options
from geodomain.tables.rotation import require_constants
from geodomain.tables.settings import TableKeywords
from geodomain.volumes.distance import MeshDistance

if TYPE_CHECKING:
    import pandas

_HEADINGS = ("mesh", "column", "nearest", "farthest", "inside")


@dataclass
class DistanceColumn:
    """The column of distances from one mesh, and its extremes.

    Attributes
    ----------
    name : str
        Name of the mesh.
    column : str
        Name of the column of distances.
    nearest, farthest : float, optional
        The smallest and the largest distance, with their signs; None if there is no block.
    inside : int, optional
        Blocks with a negative distance; None if distances have no sign.
    """

    name: str
    column: str
    nearest: float | None = None
    farthest: float | None = None
    inside: int | None = None

    def add(self, distances: NDArray[np.float64]) -> None:
        """Add the distances of more blocks, NaN for blocks without coordinates."""
        valid = distances[~np.isnan(distances)]
        if valid.size:
            least, most = float(valid.min()), float(valid.max())
            self.nearest = least if self.nearest is None else min(self.nearest, least)
            self.farthest = most if self.farthest is None else max(self.farthest, most)
        if self.inside is not None:
            self.inside += int((valid < 0).sum())

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        ends = ("-" if end is None else f"{end:,.6g}" for end in (self.nearest, self.farthest))
        return self.name, self.column, *ends, "" if self.inside is None else f"{self.inside:,}"


@dataclass(frozen=True, repr=False)
class DistanceSummary:
    """Summary of the distances of a block model; `str` is a table, and a notebook shows one.

    Attributes
    ----------
    rows, missing : int
        Number of blocks, and of blocks without coordinates, which have no distance.
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
        """Return the columns that were written as rows."""
        return records_frame(DistanceColumn, self.columns)

    def __str__(self) -> str:
        """Return the table as text."""
        return "\n".join([*text_table(self._table(), names=2), self._counted()])

    def __repr__(self) -> str:
        """Show the number of blocks and the meshes."""
        names = ", ".join(column.name for column in self.columns)
        return f"<DistanceSummary of {counted(self.rows, 'block')}: {names}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._table()
        return html_table("Distances", rows, headings=headings, notes=[self._counted()])

    def _table(self) -> list[tuple[str, ...]]:
        """Return headings and rows, without the last column if distances have no sign."""
        signed = any(column.inside is not None for column in self.columns)
        rows = [_HEADINGS, *(column.cells() for column in self.columns)]
        return [row if signed else row[:-1] for row in rows]

    def _counted(self) -> str:
        """Return the counts of blocks as text."""
        lost = f", {self.missing:,} without coordinates" if self.missing else ""
        return f"{counted(self.rows, 'block')}{lost}"


# Write distances as new columns of a file.

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
    r"""Write a block model file with the distance of each block's centroid from meshes.

    The output has the model's format and one more column for each mesh. In text all other bytes are
    kept, as by `label_file`. Memory is bounded for tables.

    Parameters
    ----------
    model : path
        As for `label_file`; "-" is text on stdin.
    meshes : mapping of str to mesh-like
        Name and mesh, or path of a mesh, open or closed. The column for ``ORE`` is called
        ``dist_ore``.
    output : path
        The file to write; "-" is stdout.
    signed : bool
        Whether distances inside a mesh are negative; every mesh must then be closed.
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
        As `distances` and `label_file`. After an error there is no partial file.
    ValueError
        If there is no mesh.

    Notes
    -----
    Distances are those of `distances`, written with the fewest digits that read back as the same
    float64. A Datamine table of single precision rounds them. A block without coordinates has no
    distance.

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
    """Measure distances chunk by chunk, and count blocks."""

    def __init__(
        self, model: BlockFile, indexes: list[MeshDistance], columns: list[DistanceColumn]
    ) -> None:
        self._model, self._indexes, self._columns = model, indexes, columns
        self.rows = self.missing = 0

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[Floats]:
        """Return the distances of a chunk from each mesh."""
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
    """Refuse an output in another format, one that is an input, or one that exists."""
    require_same_kind(source, target)
    if target == STANDARD:
        return
    paths = [Path(mesh) for mesh in meshes.values() if isinstance(mesh, str | os.PathLike)]
    inputs = [split_name(path)[0] for path in paths]
    if source != STANDARD:
        inputs.append(file_of(source))
    refuse_inputs([Path(target)], inputs)
    require_places([Path(target)], overwrite=overwrite)
