"""Open and convert block models of any format, and check the names of output files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, log
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, Target, is_dataset, open_target
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import BlockFile, Blocks, Destination, Relabelling, Values
from geodomain.formats.cell_file import CellModel, write_blocks
from geodomain.formats.registry import (
    EXCEL,
    FORMATS,
    HEAD,
    TEXT_TABLES,
    Format,
    Head,
    block_outputs,
    format_of_blocks,
    format_of_wireframe,
    is_workbook_name,
    kind_of,
    loaded,
    split_name,
    writer_of_blocks,
    writer_of_meshes,
)
from geodomain.progress import Progress
from geodomain.result_tables import ResultColumns, csv_text, parquet_bytes
from geodomain.tables.conditions import Column
from geodomain.tables.layout import TableLayout
from geodomain.tables.numbers import NumberError, Refused
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth, require_constants
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import find_column

__all__ = [
    "BlockFile",
    "Destination",
    "Floats",
    "Progress",
    "Relabelling",
    "convert_blocks",
    "converts_blocks",
    "file_of",
    "kind_of",
    "open_model",
    "open_table",
    "read_columns",
    "require_page_name",
    "require_record_name",
    "require_same_kind",
    "require_table_name",
    "require_text_name",
    "write_columns",
]

# Extensions of block-model formats other than text.
_TAKEN = {extension for form in FORMATS if form.open_blocks for extension in form.extensions}
_GSLIB = next(form for form in FORMATS if form.name == "GSLIB")
# Extensions of text tables.
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc")
# Extensions that a text table must not have.
_NOT_WRITTEN = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "spreadsheets"),
    **dict.fromkeys((".dm", ".bmf", ".mdl", ".blk"), "block models of mining packages"),
    ".omf": "OMF files",
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z"), "archives other than .gz"),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".rtf", ".ppt", ".pptx"), "documents"),
    **dict.fromkeys((".html", ".htm", ".json", ".toml", ".xml"), "pages and settings"),
    **dict.fromkeys((".png", ".svg", ".jpg", ".jpeg", ".gif", ".tif", ".tiff"), "pictures"),
    **dict.fromkeys((".npy", ".npz", ".feather", ".arrow", ".h5", ".pkl"), "arrays"),
    **dict.fromkeys((".shp", ".dbf", ".gpkg", ".mdb", ".accdb", ".sqlite", ".db"), "databases"),
}
_NOT_WRITTEN |= {
    extension: "wireframes"
    for form in FORMATS
    if form.reads_meshes and not form.open_blocks
    for extension in form.extensions
    if extension not in (*_TEXT, *_TAKEN, *_NOT_WRITTEN)
}


@contextmanager
def open_model(
    path: str, options: TableOptions, *, digest: Digest | None = None
) -> Iterator[BlockFile]:
    """Open a block model of any format, as a context manager.

    The file must not change while it is open.

    Parameters
    ----------
    path : str
        File, ``FILE:NAME`` for one of several models, or `-` for text on standard input.
    options : TableOptions
        The user's options for reading the file.
    digest : Digest, optional
        Updated with the bytes of the file, as they are stored.

    Raises
    ------
    OSError
        If the file cannot be opened, or changes while it is open.
    TableError
        If the content cannot be interpreted, or a library that reads the format is not installed.
    """
    with Unchanged(*([] if path == STANDARD else [file_of(path)])):
        form = format_of_blocks(path) if options.gslib_grid is None else _GSLIB
        try:
            with loaded(form.open_blocks)(path, options, digest) as opened:
                log("opened %s: %s, %s", path, form.name, counted(len(opened.columns), "column"))
                yield opened
        except NumberError as error:
            if path == STANDARD:
                raise
            raise _counted_in_column(error, path, options, form) from None


def _counted_in_column(
    error: NumberError, path: str, options: TableOptions, form: Format
) -> NumberError:
    """Return the error with the number of invalid values in the whole column, not in one batch."""
    some = error.refused
    whole = Refused(some.rule, words=some.words)
    with suppress(TableError), loaded(form.open_blocks)(path, options, None) as model:
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


# The blocks of a batch that a reader takes: a mask, or all of them.
Rows: TypeAlias = "NDArray[np.bool_] | slice[None, None, None]"
AddRows: TypeAlias = "Callable[[Floats, Floats | None, Callable[[str], Column], Rows], None]"


def read_columns(
    model: BlockFile,
    columns: Sequence[str],
    add: AddRows,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Read the blocks of an open model with some columns, batch by batch.

    Blank cells of a grid (ghosts) are left out.

    Parameters
    ----------
    model : BlockFile
        The model.
    columns : sequence of str
        Names of the columns to read, apart from centroids and sizes.
    add : callable
        Takes a batch: its centroids, its sizes (None if unknown), a function that returns a column
        by name, and the rows of that column to which centroids and sizes belong.
    threads, progress
        As for `Relabelling`.

    Raises
    ------
    TableError
        For a missing column, and if rows contradict the position of the model.
    """
    places = {name: find_column(model.columns, name, model.name) for name in columns}
    also = list(dict.fromkeys([*places.values(), *model.constants]))
    ghosts = bool(getattr(model, "has_ghosts", False))  # only formats of cells have ghosts
    done = 0

    def take(points: Floats, sizes: Floats | None, column: Callable[[int], Column]) -> tuple[()]:
        nonlocal done
        require_constants(model.constants, column, model.columns, model.name, done)
        there: Rows = slice(None)
        if ghosts:
            there = np.asarray(~np.isnan(points).all(axis=1), np.bool_)
        some = points[there]
        add(some, None if sizes is None else sizes[there], lambda name: column(places[name]), there)
        done += len(some)
        return ()

    model.relabel(Relabelling(take, also=also, threads=threads, progress=progress))


def file_of(path: str) -> Path:
    """Return the file that a path, or FILE:NAME, refers to."""
    return split_name(path)[0]


def holds_many_files(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a dataset of several files; a name in FILE:NAME is no pattern."""
    return split_name(path)[1] is None and is_dataset(path)


def labelled_path(source: str, target: str) -> str:
    """Return the path under which the labelled copy of a model is read again.

    A copy of a file with several models holds all of them, so it needs the name of `source`.
    """
    wanted, form = split_name(source)[1], format_of_blocks(source)
    if wanted is None or split_name(target)[1] is not None:
        return target
    return f"{target}:{wanted}" if form.contents and form.keeps_blocks else target


def require_same_kind(source: str, target: str) -> None:
    """Require an output name whose extension fits the input's format, so that all data is kept.

    If geodomain cannot write the input's format, the extension must belong to a format that
    geodomain can write.

    Raises
    ------
    TableError
        If the extension does not fit; the message gives one that does.
    """
    form, extension = format_of_blocks(source), Path(target).suffix.lower()
    if not form.keeps_blocks:
        if writer_of_blocks(extension) is None:
            message = (
                f"{source} is a {form.name}, which is saved as {_listed(block_outputs())}: "
                "give the output one of these extensions"
            )
            raise TableError(message)
        return
    usual = form.extensions[0] if form.extensions else ".csv"
    if is_workbook_name(target) and form in (EXCEL, TEXT_TABLES):
        loaded(".excel:require_library")(target)
        return
    if form is EXCEL:
        require_table_name(target)
        return
    if target == STANDARD:
        if form.blocks_by != "extension":
            return
    elif extension in form.extensions:
        return
    elif extension in _NOT_WRITTEN:
        message = (
            f"{target}: the output has the same format as {source}, and {extension} is for "
            f"{_NOT_WRITTEN[extension]}; use the extension {usual}"
        )
        raise TableError(message)
    elif not form.extensions and extension not in _TAKEN:
        return
    message = f"the output has the same format as {source}: give {target} the extension {usual}"
    raise TableError(message)


def _listed(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]])


def require_text_name(target: str) -> None:
    """Refuse an output name for a text table if its extension belongs to a different format.

    Raises
    ------
    TableError
        If the name is refused; the message gives the extension to use.
    """
    _require_name(target, "the table is written as text", (".csv",))


def require_table_name(target: str, *, parquet: bool = False) -> None:
    """Refuse an output name for a table if it ends neither in .xlsx nor as a text table may end.

    `parquet` is whether the table may be Parquet, too.

    Raises
    ------
    TableError
        If the name is refused, or if openpyxl is missing, which writes .xlsx.
    """
    if is_workbook_name(target):
        loaded(".excel:require_library")(target)
    elif not parquet:
        _require_name(target, "the table is written as text or .xlsx", (".csv",))
    elif not _is_parquet_name(target):
        _require_name(target, "the table is written as text, .xlsx or .parquet", (".csv",))


def _is_parquet_name(target: str) -> bool:
    return target.lower().endswith((".parquet", ".pq"))


def write_columns(columns: ResultColumns, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a table of results as Parquet, as a workbook or as CSV, as its extension says.

    Raises
    ------
    TableError
        If a library that writes the format is not installed.
    OSError
        If the file cannot be written. If the file exists already; see ``overwrite``.
    """
    if _is_parquet_name(os.fspath(path)):
        content = parquet_bytes(columns, os.fspath(path))
        with open_target(path, overwrite=overwrite) as target:
            target.write(memoryview(content))
    else:
        with open_table(path, overwrite=overwrite) as target:
            target.write(memoryview(csv_text(columns).encode()))


_TextOutput = Callable[
    [AbstractContextManager[Target], str | os.PathLike[str], TableLayout | None],
    AbstractContextManager[Target],
]


@contextmanager
def open_table(
    path: str | os.PathLike[str], *, overwrite: bool = False, layout: TableLayout | None = None
) -> Iterator[Target]:
    """Open an output for the text of a table, which becomes a workbook if its name ends in .xlsx.

    Parameters
    ----------
    path, overwrite
        As for `open_target`.
    layout : TableLayout, optional
        Layout of the text; default: commas, decimal points, UTF-8, one header line.
    """
    opener: _TextOutput = loaded(".text:text_output")
    with opener(open_target(path, overwrite=overwrite), path, layout) as target:
        yield target


def require_page_name(target: str) -> None:
    """Refuse an output name for an HTML page if its extension belongs to a different format.

    Raises
    ------
    TableError
        If the name is refused; the message gives the extension to use.
    """
    _require_name(target, "the report is one page of HTML", (".html", ".htm"))


def require_record_name(target: str) -> None:
    """Refuse an output name for a JSON record if its extension belongs to a different format.

    Raises
    ------
    TableError
        If the name is refused; the message gives the extension to use.
    """
    _require_name(target, "the record is written as JSON", (".json",))


def _require_name(target: str, what: str, own: tuple[str, ...]) -> None:
    """Refuse an output name if its extension is not in `own`, but belongs to a known format.

    Standard output is refused unless `own` contains .csv. `what` is the start of the message, such
    as "the record is written as JSON".
    """
    if target == STANDARD and ".csv" not in own:
        message = (
            f"{what}, which needs a file, not standard output: name a file that ends in {own[0]}"
        )
        raise TableError(message)
    place = Path(target)
    suffix = (place.with_suffix("") if place.suffix.lower() == ".gz" else place).suffix.lower()
    others = {*_NOT_WRITTEN, *_TAKEN, *(() if ".csv" in own else _TEXT)} - {*own}
    if suffix in others:
        message = (
            f"{target}: {what}, and {suffix} is a different format; use the extension {own[0]}"
        )
        raise TableError(message)


# Conversion to the format that the extension of the output names.


def convert_blocks(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **table: Unpack[TableKeywords],
) -> int:
    r"""Convert a block model to the format named by the output's extension.

    All blocks are held in memory. A table that is written as a table keeps its columns. A table
    that is made from another format gets columns x, y, z, dx, dy and dz. In .vti, .vtu, .omf and
    .geoh5 the blocks are boxes with the rotation of the model.

    Parameters
    ----------
    model : path
        Model in any format that `label_file` takes; ``FILE:NAME`` selects one of several models.
    output : path
        A .csv, .xlsx or .parquet file stores any blocks, and a .vtu file any blocks with sizes. A
        .vti file needs blocks of one size that fill a lattice. An .omf file (version 2) needs
        blocks that fit into cells of the largest block size, or that are the cells of a grid whose
        spacing may vary along each axis. A .geoh5 file needs the cells of such a grid, rotated
        about the vertical only.
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
        blocks = gathered(source, options)
        with open_target(place, overwrite=overwrite) as target:
            write_blocks(blocks, target, str(place))
    return len(blocks.centroids)


def converts_blocks(source: str, output: Path) -> bool:
    """Return whether `geodomain convert` converts the blocks of a source, and not its wireframes.

    The extension of the output decides. If its format stores blocks and wireframes, as .omf does,
    the content of the source decides. If the source contains blocks and wireframes, its wireframes
    are converted.

    Warns
    -----
    GeodomainWarning
        If wireframes are converted, and the source also holds block models, which are left out.
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
    return format_of_wireframe(head) is None


def gathered(source: str, options: TableOptions) -> Blocks:
    """Read all blocks of a file with all columns into memory."""
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
    """Collects centroids, sizes and columns batch by batch.

    A column is numeric until a batch has a text in it. Whole numbers that float64 cannot represent
    exactly, such as ids of 19 digits, become texts.
    """

    def __init__(self, columns: int) -> None:
        self._centroids: list[Floats] = []
        self._sizes: list[Floats] = []
        self._numbers: list[list[Floats] | None] = [[] for _ in range(columns)]

    def add(
        self, points: Floats, sizes: Floats | None, column: Callable[[int], Column]
    ) -> Sequence[NDArray[np.int32]]:
        """Add a batch of blocks; called like a labelling function, but returns no labels."""
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
        """Return all batches as one set of blocks; `texts` reads a column that is not numeric."""
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
    """Return column `number` as float64; None if it has texts, or too many digits for float64."""
    try:
        cells = column(number)
    except TableError:
        return None
    if cells.loses_digits():
        return None
    numbers = cells.loose_numbers()
    return None if (np.isnan(numbers) & cells.present(number=True)).any() else numbers.copy()
