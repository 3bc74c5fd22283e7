"""Kinds of block-model files: which module reads which extension; what a module must have is here.

A module has `open_model(path, options, digest)`, a context manager that gives a `BlockFile`.
Whoever labels, inspects or draws knows only that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.conditions import Column
from geodomain.errors import TableError
from geodomain.frames import Frame
from geodomain.tables.columns import NewColumn
from geodomain.tables.digest import Digest
from geodomain.tables.options import TableOptions

Floats = NDArray[np.float64]
# From world centroids (n, 3), NaN where missing, block sizes (n, 3) or None, and what gives the
# other columns that were asked for, to codes (n,) for each new column. Where a column is replaced,
# the code after its last leaves a cell as it is.
LabelChunk = Callable[[Floats, Floats | None, Callable[[int], Column]], Sequence[NDArray[np.int32]]]
# World centroids, block sizes or None, and text (n,).
Rows = tuple[Floats, Floats | None, NDArray[np.str_]]
Progress = Callable[[int, int | None], None]

# What is in none of these is text: .csv, .txt, .csv.gz, standard input.
_MODULES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".vti": "vtk",
    ".vtr": "vtk",
    ".vts": "vtk",
    ".vtu": "vtk",
    ".vtk": "vtk",
}


@dataclass(frozen=True)
class Destination:
    """Where a labelled model goes.

    Attributes
    ----------
    path : str
        A file, or `-` for standard output.
    overwrite : bool
        Whether a file that is there may be replaced.
    in_place : bool
        Whether the path is the model itself.
    digest : Digest, optional
        Takes the bytes as they are stored.
    """

    path: str
    overwrite: bool = False
    in_place: bool = False
    digest: Digest | None = None


class BlockFile(Protocol):
    """A block model that is open, and understood."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, or of the arrays of its cells."""

    @property
    def centroid(self) -> tuple[str, ...]:
        """The columns that coordinates are taken from; none where cells have a geometry."""

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns of the block sizes, if there are any."""

    @property
    def frame(self) -> Frame:
        """What the coordinates stand for."""

    @property
    def constants(self) -> dict[int, float]:
        """Columns that say in every row what the coordinates stand for, and what they say."""

    @property
    def memory(self) -> int:
        """How many bytes labelling it takes, roughly, with the libraries that read it."""

    @property
    def writing(self) -> float:
        """How many seconds more, roughly, a block takes that is written and not only read."""

    def facts(self) -> dict[str, str]:
        """Say what else was understood, in words."""

    def rows(self, column: str) -> Iterator[Rows]:
        """Give the blocks with the text of one of the columns, chunk by chunk, once."""

    def relabel(
        self,
        destination: Destination | None,
        columns: Sequence[NewColumn],
        label: LabelChunk,
        *,
        also: Sequence[int] = (),
        replace: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Pass over the blocks once, chunk by chunk, and write them with new columns.

        Without a destination nothing is written; without columns `label` gives none, and only
        looks. `also` are the columns that it may ask for. `before_commit` is called when all
        blocks are known: what it raises leaves no output.
        """


def open_model(
    path: str, options: TableOptions, *, digest: Digest | None = None
) -> AbstractContextManager[BlockFile]:
    """Open a block model of any kind, to be used in a `with` block.

    Parameters
    ----------
    path : str
        A file, or `-` for text on standard input.
    options : TableOptions
        What the user says of it.
    digest : Digest, optional
        Takes its stored bytes.

    Raises
    ------
    OSError
        If it cannot be opened.
    TableError
        If it cannot be understood, or a library that reads it is not installed.
    """
    module = importlib.import_module(f"geodomain.blockfiles.{kind_of(path)}")
    opened: AbstractContextManager[BlockFile] = module.open_model(path, options, digest)
    return opened


def kind_of(path: str) -> str:
    """Name the module that a path's extension belongs to."""
    return _MODULES.get(Path(path).suffix.lower(), "text")


def require_text_file(path: str) -> None:
    """Refuse a table of another kind by its extension where only text is read and written.

    Raises
    ------
    TableError
    """
    if kind_of(path) != "text":
        message = f"{path}: segments and hits are tables of text; give it as .csv"
        raise TableError(message)


def require_same_kind(source: str, target: str) -> None:
    """Refuse to write a model as another kind of file, which would change what is not ours.

    Raises
    ------
    TableError
        With the extension that the output should have.
    """
    due, given = (Path(path).suffix.lower() for path in (source, target))
    stream = target == "-" and kind_of(source) != "vtk"
    if stream or kind_of(source) == kind_of(target) != "vtk" or due == given:
        return
    message = (
        f"{source} comes back as what it is: give the output {target} the extension "
        f"{due if kind_of(source) != 'text' else '.csv'}"
    )
    raise TableError(message)
