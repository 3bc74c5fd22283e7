"""Write the block model of a file as another kind of file."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.datamine import read_definition
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.signatures import HEAD, detect, kind_of, split_name
from geodomain.files.streams import open_target, read_whole
from geodomain.files.unchanged import Unchanged
from geodomain.formats.block_file import BlockFile, Relabelling, Values
from geodomain.formats.blocks import file_of, open_model
from geodomain.formats.cell_file import CellModel
from geodomain.formats.export import Blocks, is_written, write_blocks
from geodomain.formats.omf import refusing
from geodomain.formats.omf1 import Project1
from geodomain.formats.omf2 import Project2
from geodomain.formats.solids import listed
from geodomain.tables.conditions import Column
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth
from geodomain.tables.settings import TableKeywords

# Elements of OMF 1 and 2.
_MODELS = {"VolumeElement", "BlockModel"}
_SURFACES = {"SurfaceElement", "Surface", "GridSurface"}
_LATTICE = re.compile(
    rb"^DATASET\s+(STRUCTURED_(POINTS|GRID)|RECTILINEAR_GRID)",
    re.MULTILINE | re.IGNORECASE,
)
_LATTICES = (".vti", ".vtr", ".vts", ".vtu")


def convert_blocks(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **table: Unpack[TableKeywords],
) -> int:
    r"""Write a block model as the kind of file that the output's extension names.

    All blocks are held in memory. A table keeps its columns in a table; other models get
    columns x, y, z, dx, dy and dz there. In .vti, .vtu and .omf blocks are boxes, turned as
    the model is.

    Parameters
    ----------
    model : path
        Any kind of model that `label_file` takes; ``FILE:NAME`` is one of several.
    output : path
        Ends in .csv, .parquet, .vtu (any blocks), .vti (blocks of one size that fill a lattice)
        or .omf (version 2; blocks within cells of the largest size, or between planes).
    overwrite : bool
        Whether an output that is there may be replaced.
    **table
        What the file does not say, or not clearly; as for `label_file`.

    Returns
    -------
    int
        The number of blocks.

    Raises
    ------
    FileExistsError
        If the output is there already; see ``overwrite``.
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
    with Unchanged(file_of(source)):  # it is opened again for columns of text
        blocks = _gathered(source, options)
        with open_target(place, overwrite=overwrite) as target:
            write_blocks(blocks, target, str(place))
    return len(blocks.centroids)


def converts_blocks(source: str, output: Path) -> bool:
    """Tell whether a conversion is one of blocks, by what the output or else the input holds.

    .omf holds wireframes and blocks, and so do .omf and .vtk as input: they are taken for
    wireframes where they have some.

    Warns
    -----
    GeodomainWarning
        For block models beside wireframes, which are not written with them.
    """
    if output.suffix.lower() != ".omf":
        return is_written(str(output))
    place, kind = file_of(source), kind_of(source)
    if kind in ("omf1", "omf2"):
        return _is_block_model(source, kind)
    if kind == "vtk" and place.suffix.lower() == ".vtk":
        with place.open("rb") as file:
            return _LATTICE.search(file.read(HEAD)) is not None
    if kind in ("text", "datamine"):
        with place.open("rb") as file:
            head = file.read(HEAD)
        found = read_definition(head)
        if found:
            return bool({"XC", "IJK"} & set(found.names()))
        looks = detect(head)
        # A table whose first row begins with 0 looks like strings.
        return looks is None or (looks == "Surpac strings" and place.suffix.lower() != ".str")
    return kind in ("gslib", "parquet", "voxet") or place.suffix.lower() in _LATTICES


def _is_block_model(source: str, kind: str) -> bool:
    """Tell whether a project, or the element of it that is named, is blocks and no surface."""
    place, wanted = split_name(source)
    with refusing(place.name, TableError):
        if kind == "omf1":
            data = read_whole(place)
            first = Project1(data, place.name, TableError)
            told = [(one.get("name"), one["__class__"]) for one in first.elements()]
        else:
            with zipfile.ZipFile(place) as members:
                second = Project2(members, place.stat().st_size, place.name, TableError)
                told = [(one.get("name"), one["geometry"]["type"]) for one in second.elements()]
    names = [(str(name or place.stem), each) for name, each in told]
    models = [name for name, each in names if each in _MODELS]
    surfaces = [name for name, each in names if each in _SURFACES]
    if wanted is not None:
        return wanted in models and wanted not in surfaces
    if models and surfaces:
        warn(
            f"{place.name} has {counted(len(models), 'block model')} too, {listed(models)}, which "
            f"{'is' if len(models) == 1 else 'are'} not written: convert {place.name}:NAME"
        )
    return bool(models) and not surfaces


def _gathered(source: str, options: TableOptions) -> Blocks:
    """Read all blocks with all their columns."""
    with open_model(source, options) as opened:
        if isinstance(opened, CellModel):
            return opened.gathered()
        chunks = _Chunks(len(opened.columns))
        opened.relabel(Relabelling(chunks.add, also=range(len(opened.columns))))
        coordinates = {*opened.centroid, *opened.sizes}
        return chunks.blocks(opened, coordinates, _texts(source, options))


def _texts(source: str, options: TableOptions) -> Callable[[str], NDArray[np.str_]]:
    """Return what reads a column as text, by opening the file once more."""

    def read(column: str) -> NDArray[np.str_]:
        with open_model(source, options) as opened:
            parts = [texts for _, _, texts in opened.rows(column)]
        return np.concatenate(parts) if parts else np.empty(0, np.str_)

    return read


class _Chunks:
    """Centroids, sizes and columns, chunk by chunk; a column is of numbers until one is not."""

    def __init__(self, columns: int) -> None:
        self._centroids: list[Floats] = []
        self._sizes: list[Floats] = []
        self._numbers: list[list[Floats] | None] = [[] for _ in range(columns)]

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> Sequence[NDArray[np.int32]]:
        """Take a chunk."""
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
        """Put the chunks together."""
        columns: dict[str, Values] = {}
        for name, held in zip(model.columns, self._numbers, strict=True):
            columns[name] = texts(name) if held is None else np.concatenate([*held, []])
        centroids = np.concatenate([*self._centroids, np.empty((0, 3))])
        sizes = np.concatenate([*self._sizes, np.empty((0, 3))]) if model.sizes else None
        local = model.frame.lattice
        if local is None and sizes is not None and len(sizes):
            # Coordinates of the world do not say that the model is turned; its rows of blocks do.
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
    """Give a column of numbers, None where it has texts or what is neither."""
    try:
        asked = column(number)
    except TableError:
        return None
    numbers = asked.loose_numbers()
    return None if (np.isnan(numbers) & asked.present(number=True)).any() else numbers.copy()
