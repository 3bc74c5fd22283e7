"""What every kind of block-model file gives, `BlockFile`, and where a labelled one goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.io.conditions import Column
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import Input, Target, open_target
from geodomain.io.header.frames import Frame

Floats = NDArray[np.float64]
# From world centroids (n, 3), NaN where missing, block sizes (n, 3) or None, and what gives the
# other columns that were asked for, to codes (n,) for each new column, or to numbers where it is
# measured. Where a column is replaced, the code after its last leaves a cell as it is.
LabelChunk = Callable[[Floats, Floats | None, Callable[[int], Column]], Sequence[NewCells]]
# World centroids, block sizes or None, and text (n,).
Rows = tuple[Floats, Floats | None, NDArray[np.str_]]
Progress = Callable[[int, int | None], None]


class Destination(NamedTuple):
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


class Relabelling(NamedTuple):
    """What one pass over the blocks is to do.

    Attributes
    ----------
    label : callable
        Gives the codes of each chunk; without columns it gives none, and only looks.
    columns : sequence of NewColumn
        What is added, in order.
    destination : Destination, optional
        Where the model is written; without one nothing is.
    also : sequence of int
        The columns that `label` may ask for.
    replace : bool
        Rewrite the one column where it stands.
    threads : int, optional
        For reading and writing.
    progress : callable, optional
        Called with what is done and its total, or None where that is unknown.
    before_commit : callable
        Called when all blocks are known: what it raises leaves no output.
    known : sequence of (n,) arrays, optional
        What `label` would give of all blocks, where that was found at once.
    """

    label: LabelChunk
    columns: Sequence[NewColumn] = ()
    destination: Destination | None = None
    also: Sequence[int] = ()
    replace: bool = False
    threads: int | None = None
    progress: Progress | None = None
    before_commit: Callable[[], None] = lambda: None
    known: Sequence[NewCells] | None = None

    def told(self, done: int, total: int | None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total)

    def open_target(self, source: Input) -> AbstractContextManager[Target | None]:
        """Open what is written, None where nothing is."""
        if self.destination is None:
            return nullcontext()
        return open_target(
            self.destination.path,
            source=source,
            overwrite=self.destination.overwrite,
            in_place=self.destination.in_place,
            threads=self.threads,
            digest=self.destination.digest,
        )


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
    def axes(self) -> Floats:
        """The directions of the blocks' edges in the world, a row each."""

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

    def relabel(self, task: Relabelling) -> None:
        """Pass over the blocks once, chunk by chunk, and write them with new columns."""
