"""Kinds of block-model files: which module reads which, imported when a file of its kind comes.

A module has the name of its kind, and `open_model(path, options, digest)`, a context manager that
gives a `BlockFile`.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.datamine import read_definition
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.signatures import BLOCK_EXTENSIONS, HEAD, Kind, detect, kind_of, split_name
from geodomain.files.streams import STANDARD, open_target, read_whole
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import BlockFile, Destination, Relabelling, Values
from geodomain.formats.cell_file import CellModel
from geodomain.formats.export import Blocks, is_written, write_blocks
from geodomain.formats.omf import refusing
from geodomain.formats.omf1 import Project1
from geodomain.formats.omf2 import Project2
from geodomain.formats.solids import listed
from geodomain.progress import Progress
from geodomain.tables.conditions import Column
from geodomain.tables.numbers import NumberError, Refused
from geodomain.tables.options import TableKeywords, TableOptions, table_options
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth

__all__ = [
    "BlockFile",
    "Destination",
    "Floats",
    "Progress",
    "Relabelling",
    "file_of",
    "kind_of",
    "open_model",
    "require_page_name",
    "require_record_name",
    "require_same_kind",
    "require_text_name",
]

Opener = Callable[[str, TableOptions, Digest | None], AbstractContextManager[BlockFile]]
_TABLES = ("gslib", "parquet", "text")
# What names a kind that is no text.
_TAKEN = {extension for known in BLOCK_EXTENSIONS.values() for extension in known}
# What names a table of text.
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc")
# What a table must not be called.
_NOT_WRITTEN = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "spreadsheets"),
    **dict.fromkeys((".dm", ".bmf", ".mdl", ".blk"), "block models of mining packages"),
    ".omf": "OMF files",
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z"), "archives but .gz"),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".rtf", ".ppt", ".pptx"), "documents"),
    **dict.fromkeys((".html", ".htm", ".json", ".toml", ".xml"), "pages and settings"),
    **dict.fromkeys((".png", ".svg", ".jpg", ".jpeg", ".gif", ".tif", ".tiff"), "pictures"),
    **dict.fromkeys((".npy", ".npz", ".feather", ".arrow", ".h5", ".pkl"), "arrays"),
    **dict.fromkeys((".shp", ".dbf", ".gpkg", ".mdb", ".accdb", ".sqlite", ".db"), "databases"),
    **dict.fromkeys((".stl", ".ply", ".obj", ".off", ".dxf", ".glb", ".ts", ".vtp"), "wireframes"),
}


@contextmanager
def open_model(
    path: str, options: TableOptions, *, digest: Digest | None = None
) -> Iterator[BlockFile]:
    """Open a block model of any kind, to be used in a `with` block.

    The file must not change within the block.

    Parameters
    ----------
    path : str
        A file, ``FILE:NAME`` for one model of several, or `-` for text on standard input.
    options : TableOptions
        What the user says of it.
    digest : Digest, optional
        Takes its stored bytes.

    Raises
    ------
    OSError
        If it cannot be opened, or changes while it is open.
    TableError
        If it cannot be understood, or a library that reads it is not installed.
    """
    with Unchanged(*([] if path == STANDARD else [file_of(path)])):
        kind = kind_of(path) if options.gslib_grid is None else "gslib"
        try:
            with opener(kind)(path, options, digest) as opened:
                yield opened
        except NumberError as error:
            if path == STANDARD:
                raise
            raise _of_the_whole(error, path, options, kind) from None


def _of_the_whole(error: NumberError, path: str, options: TableOptions, kind: Kind) -> NumberError:
    """Count the refused cells of the whole column, where those of a chunk are known."""
    some = error.refused
    whole = Refused(some.rule, words=some.words)
    with suppress(TableError), opener(kind)(path, options, None) as model:
        if some.rule.name not in model.columns:
            return error
        place = model.columns.index(some.rule.name)

        def count(_: Floats, __: Floats | None, column: Callable[[int], Column]) -> tuple[()]:
            cells = column(place)
            cells.rule = some.rule
            cells.tell(whole)
            return ()

        model.relabel(Relabelling(count, also=[place]))
        return error.of(whole) if whole.count >= some.count else error
    return error


def opener(kind: Kind) -> Opener:
    """Return what opens a kind of file."""
    found: Opener = import_module(f"{__package__}.{kind}").open_model
    return found


def file_of(path: str) -> Path:
    """Name the file that a path, or FILE:NAME, leads to."""
    return split_name(path)[0]


def require_same_kind(source: str, target: str) -> None:
    """Refuse to write a model as another kind of file, which would change what is not ours.

    Raises
    ------
    TableError
        With the extension that the output should have.
    """
    kind, given = kind_of(source), Path(target).suffix.lower()
    if kind == "voxet":
        if not is_written(target):
            message = (
                f"{source} is a GOCAD Voxet: end the output in .csv, .parquet, .vti, .vtu or .omf"
            )
            raise TableError(message)
        return
    fits = _extensions(kind, file_of(source).suffix.lower())
    if given in _NOT_WRITTEN and kind in _TABLES:
        message = f"{target}: {_NOT_WRITTEN[given]} are not written; end the output in .csv"
        raise TableError(message)
    if (kind != "vtk") if target == "-" else (given in fits if fits else given not in _TAKEN):
        return
    message = (
        f"{source} comes back as what it is: give the output {target} the extension "
        f"{fits[0] if fits else '.csv'}"
    )
    raise TableError(message)


def require_text_name(target: str) -> None:
    """Refuse to write a table of text under a name that promises another kind of file.

    Raises
    ------
    TableError
        With the extension that the output should have.
    """
    _require_name(target, "the table is written as text", (".csv",))


def require_page_name(target: str) -> None:
    """Refuse to write a page of HTML under a name that promises another kind of file.

    Raises
    ------
    TableError
        With the extension that the page should have.
    """
    _require_name(target, "the report is one page of HTML", (".html", ".htm"))


def require_record_name(target: str) -> None:
    """Refuse to write a record under a name that promises another kind of file.

    Raises
    ------
    TableError
        With the extension that the record should have.
    """
    _require_name(target, "the record is written as JSON", (".json",))


def _require_name(target: str, what: str, own: tuple[str, ...]) -> None:
    """Refuse a name whose extension is that of another kind of file; without one it is free."""
    place = Path(target)
    suffix = (place.with_suffix("") if place.suffix.lower() == ".gz" else place).suffix.lower()
    others = {*_NOT_WRITTEN, *_TAKEN, *(() if ".csv" in own else _TEXT)} - {*own}
    if suffix in others:
        message = f"{target}: {what}, which {suffix} is not; end the output in {own[0]}"
        raise TableError(message)


def _extensions(kind: Kind, own: str) -> tuple[str, ...]:
    """Give the extensions of an output, the one to name first; none where any other will do."""
    known = BLOCK_EXTENSIONS.get(kind, ())
    return (own,) if kind == "vtk" else known


# --- Writes the block model of a file as another kind of file; parses and formats none itself.

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
