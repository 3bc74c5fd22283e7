"""Checks of output paths, before any work starts."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from geodomain.errors import TableError
from geodomain.io.files.atomic import AtomicFile, refuse_to_replace


def require_places(outputs: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse outputs that could not be written in the end, or not all of them.

    Parameters
    ----------
    outputs : iterable of Path
        All that a command writes; pipes and devices among them are written to as they are.
    overwrite : bool
        Whether files that are there may be replaced.

    Raises
    ------
    TableError
        If two outputs have one place.
    FileNotFoundError
        If the folder of an output is not there.
    FileExistsError
        If an output is there and may not be replaced.
    OSError
        If links lead in a circle, the place is a folder, or no file can be made there.
    """
    places = list(outputs)
    for one, other in combinations(places, 2):
        if same_place(one, other):
            message = f"{one} is to hold two outputs: give each its own file"
            raise TableError(message)
    for place in places:
        _require_writable(place)
    refuse_to_replace([place for place in places if place.is_file()], overwrite=overwrite)


def _require_writable(place: Path) -> None:
    """Refuse a place where no file can be."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder: name a file", str(place))
    if mode and not stat.S_ISREG(mode):
        return
    # Of links, the folder that they lead to.
    folder = Path(os.path.realpath(place)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(place))
    AtomicFile(Path(os.path.realpath(place))).abandon()


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
    return os.path.realpath(one) == os.path.realpath(other)
