"""Compare two labellings of one block model: the blocks and volume that changed domain."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import LabelSpellings
from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, in_lines, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.block_file import Relabelling
from geodomain.formats.blocks import file_of, open_model, open_table, require_table_name
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.tables.conditions import Column
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import find_column

if TYPE_CHECKING:
    import pandas

_NO_LABEL = "(no label)"


@dataclass(frozen=True)
class Move:
    """The blocks with one pair of labels: their old label, and their new label.

    Attributes
    ----------
    old, new : str
        The old and the new label; they are equal for blocks that did not change.
    blocks : int
        Number of blocks.
    volume : float, optional
        Volume of the blocks with usable sizes, in cubed units of the file; None without sizes.
    unsized : int
        Number of blocks without a usable size, which are not part of the volume.
    """

    old: str
    new: str
    blocks: int
    volume: float | None
    unsized: int = 0


@dataclass(frozen=True, repr=False)
class Comparison:
    """The difference between two labellings; `str` and a notebook show it as a table.

    Attributes
    ----------
    rows : int
        Number of blocks.
    changed : int
        Number of blocks whose label changed.
    moves : tuple of Move
        One item for each pair of an old and a new label. Pairs of different labels come before
        pairs of equal labels. In both groups, the pairs with the most blocks come first.
    """

    rows: int
    changed: int
    moves: tuple[Move, ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; the key `unsized` is left out if it is 0."""
        moves = [asdict(move) for move in self.moves]
        for move in moves:
            if not move["unsized"]:
                del move["unsized"]
        return {"rows": self.rows, "changed": self.changed, "moves": moves}

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row for each pair of old and new labels."""
        return records_frame(Move, self.moves)

    def to_csv(self) -> str:
        r"""Return the moves as CSV: old, new, blocks, volume and unsized. Lines end in "\n"."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["old", "new", "blocks", "volume", "unsized"])
        writer.writerows(astuple(move) for move in self.moves)
        return text.getvalue()

    def __str__(self) -> str:
        """Return a text table of the blocks by old and new label."""
        return in_lines([*text_table(self.cells(), names=2), self.sentence])

    def __repr__(self) -> str:
        """Return one line with the number of blocks that changed."""
        return f"<Comparison: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self.cells()
        return html_table("Moved blocks", rows, headings=headings, notes=[self.sentence])

    @property
    def sentence(self) -> str:
        """The number of blocks that changed their label, as a sentence."""
        share = f" ({self.changed / self.rows:.2%})" if self.rows else ""
        return f"{self.changed:,} of {counted(self.rows, 'block')}{share} changed their label"

    def cells(self) -> list[list[str]]:
        """Return the cells of the table of labels and counts; the first row holds the headings."""
        sized = any(move.volume is not None for move in self.moves)
        unsized = any(move.unsized for move in self.moves)
        rows = [["old", "new", "blocks", *["volume"] * sized, *["without size"] * unsized]]
        for move in self.moves:
            row = [move.old or _NO_LABEL, move.new or _NO_LABEL, f"{move.blocks:,}"]
            row += [f"{move.volume:,.10g}"] if move.volume is not None else []
            rows.append(row + [f"{move.unsized:,}"] * unsized)
        return rows


def compare_files(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    column: str = "domain",
    new_column: str | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Comparison:
    r"""Compare two labellings of one block model, row by row.

    Parameters
    ----------
    old, new : path
        Labelled models in any format, with the same blocks in the same order. To compare two
        columns of one file, give the file as `old` and as `new`.
    column : str
        Label column.
    new_column : str, optional
        Label column of the new model, if its name differs.
    output : path, optional
        Table of the moves to write: CSV, or a workbook if the name ends in .xlsx; "-" is stdout.
    overwrite : bool
        Whether an existing output may be replaced.
    progress
        As for `label_file`.
    **table
        Options for reading the files, as for `label_file`.

    Returns
    -------
    Comparison
        ``print`` it.

    Raises
    ------
    TableError
        If a column is missing, or the blocks or their order differ.
    OSError
        If a file cannot be read. If the output exists already; see ``overwrite``.

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
    if output is not None and os.fspath(output) != STANDARD:
        refuse_inputs([Path(output)], [file_of(os.fspath(path)) for path in (old, new)])
        require_table_name(os.fspath(output))
        require_places([Path(output)], overwrite=overwrite)
    spellings = LabelSpellings(column)
    with show_progress(progress, "reading") as report:
        before = _Labels.read(os.fspath(old), options, column, spellings, report)
        after = _Labels.read(os.fspath(new), options, new_column or column, spellings, report)
    _require_same_blocks(before, after)
    if note := _size_note(before, after):
        warn(note)
    for sentence in spellings.notes():
        warn(sentence)
    pairs = before.codes.astype(np.int64) * len(after.labels) + after.codes
    # Count only pairs that occur; a table of all old by all new labels could be huge.
    moved, places = np.unique(pairs, return_inverse=True)
    counts = np.bincount(places, minlength=len(moved))
    volumes, unsized = None, np.zeros(len(moved), np.int64)
    if after.sizes is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            block_volumes = after.sizes.prod(axis=1)
        usable = (after.sizes > 0).all(axis=1) & np.isfinite(block_volumes)
        volumes = np.bincount(places, np.where(usable, block_volumes, 0.0), len(moved))
        unsized = np.bincount(places[~usable], minlength=len(moved))
    moves = [
        Move(
            before.labels[pair // len(after.labels)],
            after.labels[pair % len(after.labels)],
            int(counts[place]),
            None if volumes is None else float(volumes[place]),
            int(unsized[place]),
        )
        for place, pair in enumerate(moved.tolist())
    ]
    moves.sort(key=lambda move: (move.old == move.new, -move.blocks))
    changed = sum(move.blocks for move in moves if move.old != move.new)
    comparison = Comparison(len(pairs), changed, tuple(moves))
    if output is not None:
        with open_table(output, overwrite=overwrite) as target:
            target.write(memoryview(comparison.to_csv().encode()))
    return comparison


@dataclass(frozen=True)
class _Labels:
    """The blocks of a model and their labels."""

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
        spellings: LabelSpellings,
        progress: Progress | None,
    ) -> _Labels:
        """Read the centroids, sizes and labels of a model in one pass."""
        label_codes: dict[str, int] = {}
        codes: list[NDArray[np.int32]] = []
        points: list[Floats] = []
        lengths: list[Floats] = []

        def add(
            centroids: Floats, sizes: Floats | None, cells: Callable[[int], Column]
        ) -> Sequence[NDArray[np.int32]]:
            texts, places = spellings.distinct(cells(label))
            chunk_codes = [label_codes.setdefault(text, len(label_codes)) for text in texts]
            codes.append(np.array(chunk_codes, np.int32)[places])
            points.append(np.array(centroids))
            if sizes is not None:
                lengths.append(np.array(sizes))
            return []

        with open_model(path, options) as model:
            label = find_column(model.columns, column, model.name)
            model.relabel(Relabelling(add, also=[label], progress=progress))
            name = model.name
        return cls(
            name,
            list(label_codes),
            np.concatenate([np.empty(0, np.int32), *codes]),
            np.concatenate([np.empty((0, 3)), *points]),
            np.concatenate(lengths) if lengths else None,
        )


def _size_note(old: _Labels, new: _Labels) -> str | None:
    """Return a note if block sizes differ between the two models."""
    if old.sizes is None or new.sizes is None:
        return None
    # Rounding to fewer digits or bits does not count as a difference.
    same = np.isclose(old.sizes, new.sizes, rtol=1e-6, atol=0, equal_nan=True)
    different = np.flatnonzero(~same.all(axis=1))
    if not different.size:
        return None
    row = int(different[0])
    before, after = (
        " x ".join(f"{value:.10g}" for value in each.sizes[row]) if each.sizes is not None else ""
        for each in (old, new)
    )
    return (
        f"{counted(len(different), 'block')} {'has' if len(different) == 1 else 'have'} a "
        f"different size in {new.name} than in {old.name}; the first is block {row + 1:,}, "
        f"{before} before and {after} now: volumes are from {new.name}"
    )


def _require_same_blocks(old: _Labels, new: _Labels) -> None:
    """Raise TableError if the blocks of the models or their order differ."""
    if len(old.codes) != len(new.codes):
        message = (
            f"{old.name} has {counted(len(old.codes), 'block')}, but {new.name} has "
            f"{len(new.codes):,}: compare two labellings of the same model"
        )
        raise TableError(message)
    same = (old.points == new.points) | (np.isnan(old.points) & np.isnan(new.points))
    if not same.all():
        row = int(np.flatnonzero(~same.all(axis=1))[0])
        first, second = (
            ", ".join(f"{value:.10g}" for value in each.points[row]) for each in (old, new)
        )
        message = (
            f"block {row + 1:,} is at ({first}) in {old.name}, but at ({second}) in {new.name}: "
            "compare two labellings of the same model, with blocks in the same order"
        )
        raise TableError(message)
