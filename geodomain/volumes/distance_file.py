"""Write the distances of blocks from meshes as columns of a block model file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import PointError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.signatures import split_name
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import (
    BlockFile,
    Destination,
    Relabelling,
    file_of,
    open_model,
    require_same_kind,
)
from geodomain.formats.wireframes import reading_once
from geodomain.html import html_table, text_table
from geodomain.inputs import MeshLike, PathGiven, as_mesh, model_path
from geodomain.progress import Progress, show_progress
from geodomain.tables.conditions import Column
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import table_options
from geodomain.tables.rotation import require_constants
from geodomain.tables.settings import TableKeywords
from geodomain.volumes.distance import MeshDistance

_HEADINGS = ("mesh", "column", "nearest", "farthest", "inside")


@dataclass
class DistanceColumn:
    """The distances from one mesh.

    Attributes
    ----------
    name : str
        What the mesh is called.
    column : str
        The column that holds them.
    nearest, farthest : float, optional
        The smallest and the largest of them, signs included; None without a block.
    inside : int, optional
        Blocks with a negative distance; None where distances have no sign.
    """

    name: str
    column: str
    nearest: float | None = None
    farthest: float | None = None
    inside: int | None = None

    def add(self, distances: NDArray[np.float64]) -> None:
        """Take the distances of more blocks, NaN for those without a place."""
        known = distances[~np.isnan(distances)]
        if known.size:
            least, most = float(known.min()), float(known.max())
            self.nearest = least if self.nearest is None else min(self.nearest, least)
            self.farthest = most if self.farthest is None else max(self.farthest, most)
        if self.inside is not None:
            self.inside += int((known < 0).sum())

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        ends = ("-" if end is None else f"{end:,.6g}" for end in (self.nearest, self.farthest))
        return self.name, self.column, *ends, "" if self.inside is None else f"{self.inside:,}"


@dataclass(frozen=True, repr=False)
class DistanceSummary:
    """Report the distances of a block model; `str` is a table, and a notebook shows one.

    Attributes
    ----------
    rows, missing : int
        Blocks, and those among them without coordinates, which have no distance.
    columns : tuple of DistanceColumn
        By mesh, in the order of the columns.
    output : str
        The file.
    """

    rows: int
    missing: int
    columns: tuple[DistanceColumn, ...]
    output: str

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay the table out as lines to read."""
        return "\n".join([*text_table(self._table(), names=2), self._counted()])

    def __repr__(self) -> str:
        """Say how many blocks and meshes there are."""
        names = ", ".join(one.name for one in self.columns)
        return f"<DistanceSummary of {counted(self.rows, 'block')}: {names}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._table()
        return html_table("Distances", rows, headings=headings, notes=[self._counted()])

    def _table(self) -> list[tuple[str, ...]]:
        """Return headings and rows, without the last column where distances have no sign."""
        signed = any(one.inside is not None for one in self.columns)
        rows = [_HEADINGS, *(one.cells() for one in self.columns)]
        return [row if signed else row[:-1] for row in rows]

    def _counted(self) -> str:
        """Count the blocks."""
        lost = f", {self.missing:,} without coordinates" if self.missing else ""
        return f"{counted(self.rows, 'block')}{lost}"


# Distances as new columns of a file.

_IN_MEMORY = "use geodomain.distances for points in memory"


def distance_file(
    model: PathGiven,
    meshes: Mapping[str, MeshLike],
    output: PathGiven,
    *,
    signed: bool = False,
    overwrite: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> DistanceSummary:
    r"""Write a block model in a file with the distance of each block's centroid from meshes.

    The output has the model's format and a column more for each mesh, as from `label_file`: text
    keeps every other byte. Memory is bounded for tables.

    Parameters
    ----------
    model : path
        As for `label_file`; "-" is text on stdin.
    meshes : mapping of str to mesh-like
        What distances are from, open or closed; a path is read. The column of ``ORE`` is called
        ``dist_ore``.
    output : path
        The file to write; "-" is stdout.
    signed : bool
        Whether distances inside are negative; every mesh must be closed.
    overwrite : bool
        Whether an output that is there may be replaced.
    backend, threads, progress, **table
        As for `label_file`.

    Returns
    -------
    DistanceSummary
        The smallest and the largest distance from each mesh; ``print`` it.

    Raises
    ------
    FileExistsError
        If the output is there already; see ``overwrite``.
    MeshError, TableError, PointError, OSError
        As `distances` and `label_file`. Nothing is left behind.
    ValueError
        Without a mesh.

    Notes
    -----
    A number is the float64 that `distances` gives, written with the fewest digits that mean it; a
    Datamine table of single precision rounds it. A block without coordinates has none.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z\n1,2,-3\n1,2,3\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], faces)
    >>> found = geodomain.distance_file(
    ...     folder / "blocks.csv", {"ORE": ore}, folder / "out.csv", signed=True)
    >>> (folder / "out.csv").read_text().split()
    ['X,Y,Z,dist_ore', '1,2,-3,3', '1,2,3,-1']
    """
    options, source, target = table_options(**table), model_path(model, _IN_MEMORY), str(output)
    if not meshes:
        message = "there is no mesh to have a distance from: give meshes={'ORE': 'ore.stl'}"
        raise ValueError(message)
    _require_place(source, target, meshes, overwrite=overwrite)
    with reading_once():
        read = {name: as_mesh(mesh) for name, mesh in meshes.items()}
    asked = {
        name: MeshDistance(mesh, signed=signed, backend=backend, threads=threads)
        for name, mesh in read.items()
    }
    found = [DistanceColumn(name, f"dist_{name}".lower()) for name in asked]
    for column in found:
        column.inside = 0 if signed else None
    with show_progress(progress, "measuring") as told, open_model(source, options) as opened:
        measured = _Measured(opened, [*asked.values()], found)
        task = Relabelling(
            measured.add,
            [NewColumn(column.column, numeric=True, measured=True) for column in found],
            Destination(target, overwrite),
            also=[*opened.constants],
            threads=threads,
            progress=told,
        )
        opened.relabel(task)
    return DistanceSummary(measured.rows, measured.missing, tuple(found), target)


class _Measured:
    """Distances chunk by chunk, and what is counted of them."""

    def __init__(
        self, model: BlockFile, asked: list[MeshDistance], found: list[DistanceColumn]
    ) -> None:
        self._model, self._asked, self._found = model, asked, found
        self.rows = self.missing = 0

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> list[Floats]:
        """Return the distances of a chunk from each mesh."""
        model = self._model
        require_constants(model.constants, column, model.columns, model.name, self.rows)
        try:
            distances = [one.of(points) for one in self._asked]
        except PointError as error:
            message = f"{model.name}, among the blocks from number {self.rows + 1} on: {error}"
            raise PointError(message) from None
        for found, each in zip(self._found, distances, strict=True):
            found.add(each)
        self.rows += len(points)
        self.missing += int((distances[0] != distances[0]).sum())
        return distances


def _require_place(
    source: str, target: str, meshes: Mapping[str, MeshLike], *, overwrite: bool
) -> None:
    """Refuse an output of another kind, in the place of an input, or of a file that is there."""
    require_same_kind(source, target)
    if target == STANDARD:
        return
    paths = [Path(one) for one in meshes.values() if isinstance(one, str | os.PathLike)]
    inputs = [split_name(path)[0] for path in paths]
    if source != STANDARD:
        inputs.append(file_of(source))
    refuse_inputs([Path(target)], inputs)
    require_places([Path(target)], overwrite=overwrite)
