"""What a pass over a block model that writes other blocks is to do, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.io.blocks.block_file import Destination
from geodomain.io.conditions import Column
from geodomain.io.csv.new_columns import require_writable
from geodomain.io.files.streams import Input, Target, open_target
from geodomain.io.numbers import Numbers, Rows

Bools = NDArray[np.bool_]
# The columns of sizes that a model gets which has none, and whose blocks are of one size.
SIZE_COLUMNS = ("DX", "DY", "DZ")
Triple = tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class BlockRows:
    """Some of the blocks of a file, one after another.

    Attributes
    ----------
    first : int
        The row of the first of them in the file, from 0.
    points : (n, 3) float64
        World centroids, NaN where missing.
    coordinates, sizes : three Numbers each, (n,)
        As the file has them; 0 where a block lacks one of them.
    missing : (n,) bool
        Blocks that lack a coordinate or a size, or whose size is not above zero.
    amounts, absent : sequence of Numbers and of bool, (n,)
        The columns that a block and its parts share, and where they are missing.
    column : callable
        Gives a column that was asked for; it may have more rows, after these.
    alike : callable
        Gives a code to each block, the same to those that agree in all other columns, (n,).
    """

    first: int
    points: NDArray[np.float64]
    coordinates: Triple
    sizes: Triple
    missing: Bools
    amounts: Sequence[Numbers]
    absent: Sequence[Bools]
    column: Callable[[int], Column]
    alike: Callable[[], Rows]

    def __len__(self) -> int:
        """Count the blocks."""
        return len(self.missing)


def lacking(known: NDArray[np.float64]) -> Bools:
    """Tell the blocks, (n, 6) coordinates and sizes, that lack one, or have a size of 0."""
    usable = np.asarray(np.isfinite(known).all(axis=1))
    usable &= (known[:, 3:] > 0).all(axis=1)
    return ~usable


class NewRows(NamedTuple):
    """Blocks in the place of others.

    Attributes
    ----------
    row : (m,) int64
        The block whose other columns each has; ascending.
    unchanged : (m,) bool
        Those that are the block itself, as it is.
    coordinates, sizes : three Numbers each, (m,)
    amounts : sequence of Numbers, (m,)
    added : sequence of (m,) int64
        The new columns: numbers, or codes of their cells.
    """

    row: Rows
    unchanged: Bools
    coordinates: Triple
    sizes: Triple
    amounts: Sequence[Numbers] = ()
    added: Sequence[Rows] = ()


@dataclass(frozen=True)
class Added:
    """A new column: the texts that codes stand for, or None for whole numbers."""

    name: str
    cells: tuple[str, ...] | None = None
    default: str = ""

    def __post_init__(self) -> None:
        """Refuse what a file would be damaged by."""
        require_writable(self.name, *(self.cells or ()))


class Rewriting(NamedTuple):
    """What a pass over the blocks is to do.

    Attributes
    ----------
    rewrite : callable
        From some blocks to those that take their place.
    destination : Destination
    added : sequence of Added
        New columns, in order.
    amounts : sequence of int
        Columns that are shared and added up; see `BlockRows`.
    also : sequence of int
        Columns that `rewrite` asks for.
    together : int, optional
        A column of numbers; rows that follow each other with the same are given together.
    threads, progress, before_commit
        As for `Relabelling`.
    """

    rewrite: Callable[[BlockRows], Iterator[NewRows]]
    destination: Destination
    added: Sequence[Added] = ()
    amounts: Sequence[int] = ()
    also: Sequence[int] = ()
    together: int | None = None
    threads: int | None = None
    progress: Callable[[int, int | None], None] | None = None
    before_commit: Callable[[], None] = lambda: None

    def told(self, done: int, total: int | None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total)


def open_rewritten(task: Rewriting, source: Input) -> AbstractContextManager[Target]:
    """Open what is written."""
    return open_target(
        task.destination.path,
        source=source,
        overwrite=task.destination.overwrite,
        threads=task.threads,
        digest=task.destination.digest,
    )
