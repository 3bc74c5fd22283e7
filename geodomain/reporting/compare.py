"""Compare two labellings of one block model: the blocks and volume that changed domain."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import LabelSpellings
from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, in_lines, warn
from geodomain.formats.block_file import Relabelling
from geodomain.formats.blocks import open_model
from geodomain.html import html_table, text_table
from geodomain.progress import Progress, show_progress
from geodomain.tables.conditions import Column
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import find_column

_NO_LABEL = "(no label)"


@dataclass(frozen=True)
class Move:
    """Blocks that have one label in one model and another in the other.

    Attributes
    ----------
    old, new : str
        The labels; the same for blocks that stay.
    blocks : int
        How many.
    volume : float, optional
        Theirs, in cubed units of the file, where sizes are known.
    """

    old: str
    new: str
    blocks: int
    volume: float | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """Report how two labellings differ; `str` is a table to read, and a notebook shows one.

    Attributes
    ----------
    rows : int
        All the blocks.
    changed : int
        Those with another label.
    moves : tuple of Move
        Blocks by old and new label, those that changed first, the most first.
    """

    rows: int
    changed: int
    moves: tuple[Move, ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay the moves out as lines to read."""
        return in_lines([*text_table(self.cells(), names=2), self.said])

    def __repr__(self) -> str:
        """Say how many blocks changed."""
        return f"<Comparison: {self.said}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self.cells()
        return html_table("Moved blocks", rows, headings=headings, notes=[self.said])

    @property
    def said(self) -> str:
        """How many blocks changed, as a sentence."""
        share = f" ({self.changed / self.rows:.2%})" if self.rows else ""
        return f"{self.changed:,} of {counted(self.rows, 'block')}{share} changed their label"

    def cells(self) -> list[list[str]]:
        """Return the moves as cells to read, headings first."""
        sized = any(move.volume is not None for move in self.moves)
        rows = [["old", "new", "blocks", *["volume"] * sized]]
        for move in self.moves:
            row = [move.old or _NO_LABEL, move.new or _NO_LABEL, f"{move.blocks:,}"]
            rows.append(row + ([f"{move.volume:,.10g}"] if move.volume is not None else []))
        return rows


def compare_files(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    column: str = "domain",
    new_column: str | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Comparison:
    r"""Compare two labellings of one block model, row by row.

    Parameters
    ----------
    old, new : path
        Labelled models of any kind of file, with the same blocks in the same order; the same
        file twice where both labellings are columns of it.
    column : str
        The column of labels.
    new_column : str, optional
        That of the new model, if it is called otherwise.
    progress
        As for `label_file`.
    **table
        What the files do not say, or not clearly; as for `label_file`.

    Returns
    -------
    Comparison
        ``print`` it.

    Raises
    ------
    TableError
        For a column that is not there, and for models with other blocks, or in another order.
    OSError
        For a file that cannot be read.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, label in [("old.csv", "ORE"), ("new.csv", "WASTE")]:
    ...     _ = (folder / name).write_text(f"X,Y,Z,domain\n5,5,5,{label}\n15,5,5,ORE\n")
    >>> geodomain.compare_files(folder / "old.csv", folder / "new.csv")
    <Comparison: 1 of 2 blocks (50.00%) changed their label>
    """
    options = table_options(**table)
    seen = LabelSpellings(column)
    with show_progress(progress, "reading") as told:
        before = _Labels.read(os.fspath(old), options, column, seen, told)
        after = _Labels.read(os.fspath(new), options, new_column or column, seen, told)
    _require_same_blocks(before, after)
    if said := _other_sizes(before, after):
        warn(said)
    for sentence in seen.notes():
        warn(sentence)
    pairs = before.codes.astype(np.int64) * len(after.labels) + after.codes
    counts = np.bincount(pairs, minlength=len(before.labels) * len(after.labels))
    own = None if after.sizes is None else after.sizes.prod(axis=1)
    volumes = None if own is None else np.bincount(pairs, own, len(counts))
    moves = [
        Move(
            before.labels[pair // len(after.labels)],
            after.labels[pair % len(after.labels)],
            int(counts[pair]),
            None if volumes is None else float(volumes[pair]),
        )
        for pair in np.flatnonzero(counts).tolist()
    ]
    moves.sort(key=lambda move: (move.old == move.new, -move.blocks))
    changed = sum(move.blocks for move in moves if move.old != move.new)
    return Comparison(len(pairs), changed, tuple(moves))


@dataclass(frozen=True)
class _Labels:
    """The labels of a model, and which blocks have them."""

    name: str
    labels: list[str]
    codes: NDArray[np.int32]
    points: Floats
    sizes: Floats | None

    @classmethod
    def read(
        cls,
        path: str,
        options: TableOptions,
        column: str,
        seen: LabelSpellings,
        progress: Progress | None,
    ) -> _Labels:
        """Read a model in one pass."""
        known: dict[str, int] = {}
        codes: list[NDArray[np.int32]] = []
        points: list[Floats] = []
        lengths: list[Floats] = []

        def add(
            here: Floats, sizes: Floats | None, cells: Callable[[int], Column]
        ) -> Sequence[NDArray[np.int32]]:
            texts, places = seen.distinct(cells(which))
            codes.append(
                np.array([known.setdefault(text, len(known)) for text in texts], np.int32)[places]
            )
            points.append(np.array(here))
            if sizes is not None:
                lengths.append(np.array(sizes))
            return []

        with open_model(path, options) as model:
            which = find_column(model.columns, column, model.name)
            model.relabel(Relabelling(add, also=[which], progress=progress))
            name = model.name
        return cls(
            name,
            list(known),
            np.concatenate([np.empty(0, np.int32), *codes]),
            np.concatenate([np.empty((0, 3)), *points]),
            np.concatenate(lengths) if lengths else None,
        )


def _other_sizes(old: _Labels, new: _Labels) -> str | None:
    """Return a note where blocks have another size in the new model than in the old one."""
    if old.sizes is None or new.sizes is None:
        return None
    # Sizes of fewer digits or bits are no others.
    same = np.isclose(old.sizes, new.sizes, rtol=1e-6, atol=0, equal_nan=True)
    other = np.flatnonzero(~same.all(axis=1))
    if not other.size:
        return None
    row = int(other[0])
    one, another = (
        " x ".join(f"{value:.10g}" for value in each.sizes[row]) if each.sizes is not None else ""
        for each in (old, new)
    )
    return (
        f"{counted(len(other), 'block')} {'has' if len(other) == 1 else 'have'} another size in "
        f"{new.name} than in {old.name}, the first is block {row + 1:,}, of {one} before and "
        f"{another} now: volumes are those of {new.name}"
    )


def _require_same_blocks(old: _Labels, new: _Labels) -> None:
    """Refuse models of which one has other blocks than the other, or in another order."""
    if len(old.codes) != len(new.codes):
        message = (
            f"{old.name} has {counted(len(old.codes), 'block')} and {new.name} "
            f"{len(new.codes):,}: compare "
            "two labellings of one model"
        )
        raise TableError(message)
    same = (old.points == new.points) | (np.isnan(old.points) & np.isnan(new.points))
    if not same.all():
        row = int(np.flatnonzero(~same.all(axis=1))[0])
        one, other = (
            ", ".join(f"{value:.10g}" for value in each.points[row]) for each in (old, new)
        )
        message = (
            f"block {row + 1:,} is at ({one}) in {old.name} and at ({other}) in {new.name}: "
            "compare two labellings of one model, with its blocks in the same order"
        )
        raise TableError(message)
