"""The files that tables of holes come from, and the outputs that must not replace them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from geodomain.errors import TableError
from geodomain.inputs.paths import PathGiven
from geodomain.io.blocks.model import require_text_name
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.standard import STANDARD


def files_of(tables: Iterable[object]) -> tuple[Path, ...]:
    """Return the files among some tables; stdin and tables in memory are none."""
    paths = (os.fspath(one) for one in tables if isinstance(one, str | os.PathLike))
    return tuple(Path(path) for path in paths if path != STANDARD)


def require_outputs(
    outputs: Iterable[PathGiven | None],
    tables: Iterable[object],
    *,
    overwrite: bool,
    text: bool = True,
) -> list[Path]:
    """Return the files to write; refuse places that cannot be written, or are read as a table.

    With `text`, outputs are tables of text, and refused under names of other kinds of files.

    Raises
    ------
    TableError
        For one place of two outputs, stdout too.
    TableError, FileExistsError, FileNotFoundError
        As `refuse_inputs` and `require_places`.
    """
    given = [os.fspath(one) for one in outputs if one is not None]
    if given.count(STANDARD) > 1:
        message = "- is to hold two outputs: give each its own file"
        raise TableError(message)
    places = [Path(one) for one in given if one != STANDARD]
    require_places(places, overwrite=overwrite)
    refuse_inputs(places, files_of(tables))
    for place in places if text else ():
        require_text_name(str(place))
    return places
