"""Convert block models between file formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import open_target
from geodomain.files.unchanged import Unchanged
from geodomain.formats.block_file import BlockFile, Blocks, Relabelling, Values
from geodomain.formats.blocks import file_of, open_model
from geodomain.formats.cell_file import CellModel, write_blocks
from geodomain.formats.registry import (
    HEAD,
    TEXT_TABLES,
    Head,
    format_of_blocks,
    format_of_meshes,
    loaded,
    writer_of_blocks,
    writer_of_meshes,
)
from geodomain.tables.conditions import Column
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth
from geodomain.tables.settings import TableKeywords


def convert_blocks(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **table: Unpack[TableKeywords],
) -> int:
    r"""Convert a block model to the format named by the output's extension.

    All blocks are held in memory. A table that is written as a table keeps its columns; from other
    models, a table gets columns x, y, z, dx, dy and dz. In .vti, .vtu and .omf the blocks are boxes
    with the rotation of the model.

    Parameters
    ----------
    model : path
        Model in any format that `label_file` takes; ``FILE:NAME`` is one of several.
    output : path
        A .csv, .parquet or .vtu file (any blocks), a .vti file (blocks of one size that fill a
        lattice), or an .omf file (version 2; blocks that divide cells of the largest size, or that
        lie between planes through the model).
    overwrite : bool
        Whether an existing output may be replaced.
    **table
        Options for reading the model, as for `label_file`.

    Returns
    -------
    int
        The number of blocks.

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    TableError, OSError
        If the model cannot be read, or the output cannot hold it.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("X,Y,Z,DX,DY,DZ,ROCK\n5,5,5,10,10,10,OX\n")
    >>> geodomain.convert_blocks(folder / "a.csv", folder / "a.vtu")
    1
    """
    options, source, place = table_options(**table), os.fspath(model), Path(output)
    refuse_inputs([place], [file_of(source)])
    require_places([place], overwrite=overwrite)
    with Unchanged(file_of(source)):  # opened again to read columns of text
        blocks = _gathered(source, options)
        with open_target(place, overwrite=overwrite) as target:
            write_blocks(blocks, target, str(place))
    return len(blocks.centroids)


def converts_blocks(source: str, output: Path) -> bool:
    """Return whether a conversion is of blocks, by the output and, if unclear, the input.

    An .omf output, and an .omf or .vtk input, can contain wireframes or blocks. If a file contains
    both, its wireframes are converted.

    Warns
    -----
    GeodomainWarning
        If the file also holds block models, which are left out.
    """
    extension = output.suffix.lower()
    if writer_of_meshes(extension) is None or writer_of_blocks(extension) is None:
        return writer_of_blocks(extension) is not None
    form, place = format_of_blocks(source), file_of(source)
    if form.holds_blocks:
        return loaded(form.holds_blocks)(source)
    if form is not TEXT_TABLES:
        return True
    with place.open("rb") as file:
        head = Head(file.read(HEAD), place.suffix.lower(), place.stat().st_size)
    looks = format_of_meshes(head)
    if looks is None:
        return True
    # Tables may resemble some formats.
    return (
        looks.sure is not None and not looks.sure(head) and head.extension not in looks.extensions
    )


def _gathered(source: str, options: TableOptions) -> Blocks:
    """Read all blocks with all columns into memory."""
    with open_model(source, options) as opened:
        if isinstance(opened, CellModel):
            return opened.gathered()
        chunks = _Chunks(len(opened.columns))
        opened.relabel(Relabelling(chunks.add, also=range(len(opened.columns))))
        coordinates = {*opened.centroid, *opened.sizes}
        return chunks.blocks(opened, coordinates, _texts(source, options))


def _texts(source: str, options: TableOptions) -> Callable[[str], NDArray[np.str_]]:
    """Return a function that reads a column as text by opening the file again."""

    def read(column: str) -> NDArray[np.str_]:
        with open_model(source, options) as opened:
            parts = [texts for _, _, texts in opened.rows(column)]
        return np.concatenate(parts) if parts else np.empty(0, np.str_)

    return read


class _Chunks:
    """Centroids, sizes and columns, chunk by chunk.

    A column is numeric until it has a text. Whole numbers that float64 cannot represent exactly,
    such as ids of 19 digits, become texts.
    """

    def __init__(self, columns: int) -> None:
        self._centroids: list[Floats] = []
        self._sizes: list[Floats] = []
        self._numbers: list[list[Floats] | None] = [[] for _ in range(columns)]

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> Sequence[NDArray[np.int32]]:
        """Add a chunk."""
        self._centroids.append(points.copy())
        if sizes is not None:
            self._sizes.append(sizes.copy())
        for number, held in enumerate(self._numbers):
            if held is not None:
                values = _numbers(column, number)
                self._numbers[number] = None if values is None else [*held, values]
        return []

    def blocks(
        self,
        model: BlockFile,
        coordinates: set[str],
        texts: Callable[[str], NDArray[np.str_]],
    ) -> Blocks:
        """Join the chunks."""
        columns: dict[str, Values] = {}
        for name, held in zip(model.columns, self._numbers, strict=True):
            columns[name] = texts(name) if held is None else np.concatenate([*held, []])
        centroids = np.concatenate([*self._centroids, np.empty((0, 3))])
        sizes = np.concatenate([*self._sizes, np.empty((0, 3))]) if model.sizes else None
        local = model.frame.lattice
        if local is None and sizes is not None and len(sizes):
            # World coordinates alone do not show a rotation, but the arrangement of the blocks
            # does.
            turn = azimuth_of(centroids, sizes)
            local = frame_of_azimuth(turn) if turn else None
        return Blocks(
            centroids,
            sizes,
            np.eye(3) if local is None else np.array(local.matrix).T,
            columns,
            frozenset(coordinates),
        )


def _numbers(column: Callable[[int], Column], number: int) -> Floats | None:
    """Return a column as numbers, or None if a cell is not numeric."""
    try:
        asked = column(number)
    except TableError:
        return None
    if asked.loses_digits():
        return None
    numbers = asked.loose_numbers()
    return None if (np.isnan(numbers) & asked.present(number=True)).any() else numbers.copy()
