"""Checks of output paths, before any work starts."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from geodomain.errors import TableError
from geodomain.io.files.atomic import refuse_to_replace


def require_places(outputs: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse outputs in folders that are not there, or in the place of files that are.

    Parameters
    ----------
    outputs : iterable of Path
        What is to be written; pipes and devices among them are written to as they are.
    overwrite : bool
        Whether files that are there may be replaced.

    Raises
    ------
    FileNotFoundError
        If the folder of an output is not there.
    FileExistsError
        If an output is there and may not be replaced.
    """
    places = list(outputs)
    for place in places:
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(place))
    refuse_to_replace([place for place in places if place.is_file()], overwrite=overwrite)


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that would take the place of what is read, by whatever link.

    Raises
    ------
    TableError
    """
    read = [path for path in inputs if path.exists()]
    for output in outputs:
        for path in read:
            if output.exists() and output.samefile(path):
                message = f"{output} is the input {path}; name another output"
                raise TableError(message)


def same_place(one: str | Path, other: str | Path) -> bool:
    """Tell whether two paths lead to one file, links followed; a hard link is another file."""
    return Path(one).resolve() == Path(other).resolve()
