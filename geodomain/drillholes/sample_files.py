"""Files of samples that come back with new columns: tables of text, byte for byte, and Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.cut_text import cut_rows
from geodomain.drillholes.cutting import Cuts
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.flagging import Flags
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.tables import HoleTable
from geodomain.errors import TableError
from geodomain.io.blocks.parquet_table import ParquetTable
from geodomain.io.csv.new_columns import NewColumn, plan_splice
from geodomain.io.csv.rows import TextRows

AXES = ("x", "y", "z")
Spelled = list[NDArray[np.object_]]


@dataclass(frozen=True, eq=False)
class FlaggedRows:
    """The rows that are written: each interval, or its pieces.

    Attributes
    ----------
    codes : (m,) intp
    lengths : (m,) float64
        NaN for an interval whose TO is not below FROM.
    middles : (m, 3) float64
        NaN for an interval that cannot be used.
    cuts : Cuts or None
        Which pieces they are, where intervals were split.
    """

    codes: NDArray[np.intp]
    lengths: Floats
    middles: Floats
    cuts: Cuts | None


class SampleFile(Protocol):
    """A file of samples that has been read."""

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO of some rows as the file says them."""

    def written(
        self, rows: Intervals, found: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> bytes | memoryview:
        """Return the file with new columns, and a row for each piece."""


def sample_file(table: HoleTable) -> SampleFile:
    """Return the file that a table was read from."""
    if table.rows is not None:
        return TextSamples(table.rows)
    if table.parquet is None:
        message = (
            f"{table.name} is no table of text or Parquet, and samples come back as what they are:"
            " save it as .csv"
        )
        raise TableError(message)
    return ParquetSamples(table.parquet)


def flagged_rows(made: Drillholes, rows: Intervals, flags: Flags, cuts: Cuts | None) -> FlaggedRows:
    """Return the rows that are written."""
    if cuts is None:
        lengths = _lengths(rows.starts, rows.ends)
        return FlaggedRows(flags.codes, lengths, flags.middles, None)
    begins, ends = cuts.depths(rows.starts, rows.ends)
    middles = np.full((len(cuts.codes), 3), np.nan)
    usable = np.flatnonzero(rows.usable[cuts.rows])
    middles[usable] = made.points_at(
        rows.holes[cuts.rows[usable]], 0.5 * (begins[usable] + ends[usable])
    )
    return FlaggedRows(cuts.codes, _lengths(begins, ends), middles, cuts)


def _lengths(begins: Floats, ends: Floats) -> Floats:
    """Return the lengths of rows, unassigned ones too; NaN for one that has none."""
    with np.errstate(invalid="ignore"):
        return np.where(ends > begins, ends - begins, np.nan)


@dataclass(frozen=True)
class TextSamples:
    """Samples in a table of text."""

    text: TextRows

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO of some rows as the text says them."""
        mark = self.text.layout.decimal.decode()
        found = []
        for role in ("from", "to"):
            texts = self.text.spelled(rows.table.roles[role])
            values = np.empty(len(texts), object)
            for row in several.tolist():
                values[row] = Decimal(texts[row].replace(mark, ".").lower().replace("d", "e"))
            found.append(values)
        return found

    def written(
        self, rows: Intervals, found: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> bytes:
        """Return the text with cells added to each row; every other byte stays."""
        source, layout = self.text, self.text.layout
        text = source if found.cuts is None else cut_rows(source, rows, found.cuts)
        columns, cells = [label], [found.codes.astype(np.int32)]
        if coordinates:
            mark = layout.decimal.decode()
            for axis, name in enumerate(AXES):
                columns.append(
                    NewColumn(name, _spelled(found.middles[:, axis], mark), numeric=True)
                )
                cells.append(np.arange(len(found.codes), dtype=np.int32))
        splice = plan_splice(layout, columns, encoding=layout.encoding, name=source.name)
        return text.with_cells(splice.head, splice.vocabulary, cells)


@dataclass(frozen=True)
class ParquetSamples:
    """Samples in a Parquet file."""

    file: ParquetTable

    def spelled(self, rows: Intervals, several: NDArray[np.intp]) -> Spelled:
        """Return FROM and TO of some rows, the shortest decimals that are these numbers."""
        found = []
        for depths in (rows.starts, rows.ends):
            values = np.empty(len(depths), object)
            values[several] = [Decimal(repr(depth)) for depth in depths[several].tolist()]
            found.append(values)
        return found

    def written(
        self, rows: Intervals, found: FlaggedRows, label: NewColumn, *, coordinates: bool
    ) -> memoryview:
        """Return the file with columns more; types, compression and metadata stay."""
        roles, cuts = rows.table.roles, found.cuts
        depths: dict[int, Mapping[int, float]] = {}
        if cuts is not None:
            for role, pieces in (("from", cuts.begins), ("to", cuts.ends)):
                depths[roles[role]] = {piece: float(depth) for piece, depth in pieces.items()}
        middles = {name: found.middles[:, axis] for axis, name in enumerate(AXES)}
        return self.file.written(
            None if cuts is None else cuts.rows,
            depths,
            [(label, found.codes.astype(np.int32))],
            middles if coordinates else {},
        )


def _spelled(values: Floats, mark: str) -> tuple[str, ...]:
    """Return coordinates as text, NaN as nothing."""
    rounded = np.round(values, 6).tolist()
    return tuple("" if v != v else repr(v).removesuffix(".0").replace(".", mark) for v in rounded)
