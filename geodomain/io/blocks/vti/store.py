"""A `.vti` file as blocks: its own bytes as they are, with new arrays of the cells among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Destination
from geodomain.io.blocks.cell_file import CellStore
from geodomain.io.blocks.new_values import NewArrays, Values
from geodomain.io.blocks.vti.arrays import NewArray
from geodomain.io.blocks.vti.head import Head, read_head
from geodomain.io.files.streams import Target
from geodomain.io.files.whole import FileBytes

# So many bytes are copied at a time.
_PIECE = 1 << 22


# Arrays that mark cells which are no blocks: VTK itself reads these.
_GHOSTS = {"vtkGhostType"}


class ImageStore:
    """An image of which the tags alone have been read; see `CellStore`.

    Parameters
    ----------
    file : binary file
        Of which it takes care.
    name : str
        What messages call it.
    head : Head
        What its tags say.
    whole : callable
        Reads all of it, where arrays are needed or replaced.
    """

    def __init__(
        self, file: BinaryIO, name: str, head: Head, whole: Callable[[], CellStore]
    ) -> None:
        self._file, self._head, self._open_whole = file, head, whole
        self.name, self.status = name, os.fstat(file.fileno())
        self.cells, self.columns = head.cells, head.columns

    @property
    def memory(self) -> int:
        """A piece of the file."""
        return 2 * _PIECE

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def facts(self) -> dict[str, str]:
        """Say what kind of cells there are."""
        return {"format": f"VTK, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Give an array of the cells."""
        return self._whole.values(column)

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write the bytes of the file with the new arrays among them."""
        pairs = zip(new.columns, new.codes, strict=True)
        arrays = [NewArray(column, codes, self._head.form) for column, codes in pairs]
        if new.at is not None or not all(array.fits for array in arrays):
            self._whole.write(target, destination, new)
            return
        (begin, end), (before, after) = self._head.place, self._head.around
        for piece in self._bytes(0, begin):
            target.write(memoryview(piece))
        target.write(memoryview(before))
        for array in arrays:
            for part in array.parts():
                target.write(memoryview(part))
        target.write(memoryview(after))
        for piece in self._bytes(end, self.status.st_size):
            target.write(memoryview(piece))

    def _bytes(self, begin: int, end: int) -> Iterator[bytes]:
        """Give the bytes of the file from one to another."""
        self._file.seek(begin)
        while begin < end:
            piece = self._file.read(min(_PIECE, end - begin))
            if not piece:
                message = f"{self.name} became shorter while it was read: label it again"
                raise TableError(message)
            yield piece
            begin += len(piece)

    @cached_property
    def _whole(self) -> CellStore:
        return self._open_whole()


def image_store(place: Path, whole: Callable[[], CellStore]) -> ImageStore | None:
    """Open an image whose bytes can be kept; None for a file that VTK itself must read.

    Raises
    ------
    TableError
        If the image is flat.
    OSError
        If the file cannot be read.
    """
    with ExitStack() as opened:
        file = opened.enter_context(place.open("rb"))
        if not os.fstat(file.fileno()).st_size:
            return None
        with FileBytes(place) as data:
            head = read_head(data, place.name)
        if head is None or _GHOSTS & set(head.columns):
            return None
        opened.pop_all()
        return ImageStore(file, place.name, head, whole)
