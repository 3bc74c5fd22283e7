"""Open block models of any format, and check the names of output files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, log
from geodomain.files.streams import STANDARD
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import BlockFile, Destination, Relabelling
from geodomain.formats.registry import (
    FORMATS,
    Format,
    block_outputs,
    format_of_blocks,
    kind_of,
    loaded,
    split_name,
    writer_of_blocks,
)
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
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z"), "archives but .gz"),
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
        The user's options for reading it.
    digest : Digest, optional
        Updated with the stored bytes.

    Raises
    ------
    OSError
        If it cannot be opened, or changes while it is open.
    TableError
        If its content cannot be interpreted, or a library needed to read it is not installed.
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
            raise _of_the_whole(error, path, options, form) from None


def _of_the_whole(
    error: NumberError, path: str, options: TableOptions, form: Format
) -> NumberError:
    """Count the invalid cells of the whole column if an error only counts one chunk."""
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


def file_of(path: str) -> Path:
    """Return the file that a path, or FILE:NAME, refers to."""
    return split_name(path)[0]


def require_same_kind(source: str, target: str) -> None:
    """Require the output to have the format of the input, so that other data is not changed.

    Raises
    ------
    TableError
        With the extension that the output should have.
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
    if target == STANDARD:
        if form.blocks_by != "extension":
            return
    elif extension in form.extensions:
        return
    elif extension in _NOT_WRITTEN:
        message = (
            f"{target}: writing {_NOT_WRITTEN[extension]} is not supported; use the "
            f"extension {usual}"
        )
        raise TableError(message)
    elif not form.extensions and extension not in _TAKEN:
        return
    message = f"the output has the same format as {source}: give {target} the extension {usual}"
    raise TableError(message)


def _listed(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]])


def require_text_name(target: str) -> None:
    """Refuse the extension of another format for a text table.

    Raises
    ------
    TableError
        With the extension that the output should have.
    """
    _require_name(target, "the table is written as text", (".csv",))


def require_page_name(target: str) -> None:
    """Refuse the extension of another format for an HTML page.

    Raises
    ------
    TableError
        With the extension that the page should have.
    """
    _require_name(target, "the report is one page of HTML", (".html", ".htm"))


def require_record_name(target: str) -> None:
    """Refuse the extension of another format for a record.

    Raises
    ------
    TableError
        With the extension that the record should have.
    """
    _require_name(target, "the record is written as JSON", (".json",))


def _require_name(target: str, what: str, own: tuple[str, ...]) -> None:
    """Refuse standard output and extensions of other formats; a name without one is allowed."""
    if target == STANDARD and ".csv" not in own:
        message = f"{what} to a file, not to standard output: name a file that ends in {own[0]}"
        raise TableError(message)
    place = Path(target)
    suffix = (place.with_suffix("") if place.suffix.lower() == ".gz" else place).suffix.lower()
    others = {*_NOT_WRITTEN, *_TAKEN, *(() if ".csv" in own else _TEXT)} - {*own}
    if suffix in others:
        message = (
            f"{target}: {what}, and {suffix} is a different format; use the extension {own[0]}"
        )
        raise TableError(message)
