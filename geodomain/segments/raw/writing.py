"""Write arrays to raw little-endian files, piece after piece; what fails leaves none of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from geodomain.io.files.atomic import AtomicFile, refuse_to_replace


class ArrayWriter:
    """Append arrays to a file as numbers of one type.

    Parameters
    ----------
    file : AtomicFile
        What is written to.
    code : str
        NumPy's name of the type, such as "<f4".
    """

    def __init__(self, file: AtomicFile, code: str) -> None:
        self._file, self._type = file, np.dtype(code)

    def append(self, values: ArrayLike) -> None:
        """Write all the numbers of an array, rows one after another."""
        array = np.ascontiguousarray(values, dtype=self._type)
        self._file.write(array.reshape(-1).view(np.uint8).data)


@contextmanager
def written_together(
    folder: Path, codes: Mapping[str, str], *, overwrite: bool = False
) -> Iterator[dict[str, ArrayWriter]]:
    """Open files that are there, whole, only after the block.

    Parameters
    ----------
    folder : Path
        Where to; made if it is missing.
    codes : mapping of str to str
        NumPy's name of the type for the name of each file.
    overwrite : bool
        Whether files that are there may be replaced.

    Yields
    ------
    dict of str to ArrayWriter
        By the name of the file. An exception in the block leaves what was there before, and no
        folder that was not.

    Raises
    ------
    FileExistsError
        If one of the files is there and may not be replaced.
    OSError
        If a file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    refuse_to_replace([folder / name for name in codes], overwrite=overwrite)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.callback(_remove_empty, made)
        files = {}
        for name in codes:
            # A link is followed, so that it stays one.
            files[name] = AtomicFile(Path(os.path.realpath(folder / name)), new=not overwrite)
            stack.callback(files[name].abandon)
        yield {name: ArrayWriter(files[name], code) for name, code in codes.items()}
        for file in files.values():
            file.commit()


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost first, up to one that holds something."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
