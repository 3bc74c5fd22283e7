"""Kinds of block-model files: which module reads which, imported when a file of its kind comes.

A module has the name of its kind, and `open_model(path, options, digest)`, a context manager that
gives a `BlockFile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path

from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.files.signatures import BLOCK_EXTENSIONS, Kind, kind_of, split_name
from geodomain.files.streams import STANDARD
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import BlockFile, Destination, Relabelling
from geodomain.formats.export import is_written
from geodomain.progress import Progress
from geodomain.tables.conditions import Column
from geodomain.tables.numbers import NumberError, Refused
from geodomain.tables.options import TableOptions

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
