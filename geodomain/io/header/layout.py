"""What the head of a table means: where its columns are, and where its data begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from geodomain.io.header.choice import SAMPLE_ROWS, choose_columns
from geodomain.io.header.dialect import cell_text, decimal_mark, may_have_decimal_commas, split_rows
from geodomain.io.header.encoding import count_line_ends, require_text, wireframes_named
from geodomain.io.header.families import Triplet
from geodomain.io.header.frames import Frame
from geodomain.io.header.header import TableHeader, find_header
from geodomain.io.header.options import TableOptions
from geodomain.io.header.vendor import HeadRow, micromine_model, vendor_rows
from geodomain.io.number_columns import NumberRule


@dataclass(frozen=True)
class TableLayout:
    """Where everything is in a table of blocks.

    Attributes
    ----------
    delimiter, decimal : bytes
        One byte each.
    names : tuple of str
        Header names, without quotes and outer blanks.
    xyz : tuple of int
        Columns of the centroid, counted from 0.
    sizes : tuple of int, optional
        Columns of the block sizes.
    data_start : int
        Byte offset of the first row of data, or of a blank line before it.
    data_line : int
        Physical line number, from 1, at that offset.
    missing, missing_words : tuple of float, tuple of bytes
        Numbers and texts that mean that a coordinate or size is missing.
    head_rows : tuple of HeadRow
        The names and the vendor's rows below them; lines before the names are not among them.
    encoding : str
        Of names and texts.
    frame : Frame
        What the coordinates stand for.
    constants : dict of int to float
        Columns that say so in every row, and must say the same in all of them.
    numbers : NumberRule
        How columns that are no coordinates are read as numbers.
    """

    delimiter: bytes
    decimal: bytes
    names: tuple[str, ...]
    xyz: Triplet
    sizes: Triplet | None
    data_start: int
    data_line: int
    missing: tuple[float, ...] = ()
    head_rows: tuple[HeadRow, ...] = ()
    missing_words: tuple[bytes, ...] = ()
    encoding: str = "utf-8"
    frame: Frame = field(default_factory=Frame)
    constants: dict[int, float] = field(default_factory=dict)
    numbers: NumberRule = field(default_factory=NumberRule)

    @property
    def scanned_words(self) -> tuple[bytes, ...]:
        """The texts that the scanner takes for missing: those of one coordinate are among them.

        The scanner has one list for all columns, so that a mark of one coordinate must be looked
        for in the others: see `Scanner.values` and `TextColumn`.
        """
        names = [self.names[place] for place in (*self.xyz, *(self.sizes or ()))]
        own = [word.encode(self.encoding) for name in names for word in self.numbers.of(name).words]
        return tuple(dict.fromkeys([*self.missing_words, *own]))


def read_layout(
    head: bytes, options: TableOptions | None = None, *, name: str = "table", whole: bool = True
) -> TableLayout:
    r"""Work out what the head of a block-model table means.

    Parameters
    ----------
    head : bytes
        The first bytes of the file, uncompressed; a megabyte is plenty.
    options : TableOptions, optional
        What the user says; the head decides the rest.
    name : str
        What error messages call the file.
    whole : bool
        Whether `head` is all there is.

    Returns
    -------
    TableLayout

    Raises
    ------
    TableError
        Where the bytes are not text, the header is missing or ambiguous, or the centroids are
        local to a rotated model.

    Examples
    --------
    >>> layout = read_layout(b"XC;YC;ZC;XINC;YINC;ZINC\n1,5;2,5;3,5;1;1;1\n")
    >>> layout.delimiter, layout.decimal, layout.xyz, layout.sizes
    (b';', b',', (0, 1, 2), (3, 4, 5))
    """
    options = options or TableOptions()
    require_text(head, name)
    with wireframes_named(head, name):
        header = find_header(head, options, name, whole=whole)
        head_rows, sample = _below(head, header, options.encoding, whole=whole)
        model = micromine_model(head_rows, options.encoding)
        choice = choose_columns(header.names, sample, options, model=model, table=name)
    rule = options.number_rule(header.names, name)
    decimal = options.decimal
    if decimal is None:
        told = any(mark in cell for cell in _cells(sample, choice.xyz) for mark in ",.")
        # A comma between digits is rare in whole numbers, unless it parts the fields.
        if not told and header.delimiter != b"," and may_have_decimal_commas(head):
            sample = _blocks(head, header, options.encoding, len(head_rows) - 1, None, whole=whole)
        decimal = _decimal(header, choice.xyz, sample, name)
    end = head_rows[-1].row.following
    return TableLayout(
        delimiter=header.delimiter,
        decimal=decimal or b".",
        names=header.names,
        xyz=choice.xyz,
        sizes=choice.sizes,
        data_start=end,
        data_line=count_line_ends(head, 0, end) + 1,
        missing=options.missing,
        missing_words=tuple(word.encode(options.encoding) for word in options.missing_words),
        encoding=options.encoding,
        head_rows=head_rows,
        frame=choice.frame,
        constants=choice.constants,
        numbers=rule._replace(decimal=(decimal or b".").decode()),
    )


def _below(
    head: bytes, header: TableHeader, encoding: str, *, whole: bool
) -> tuple[tuple[HeadRow, ...], list[list[str]]]:
    """Give the rows of the head from the names on, and the cells of the first rows of blocks."""
    rows = split_rows(head, header.delimiter, header.row.following, whole=whole)
    vendor = vendor_rows(rows, len(header.names), encoding)
    sample = _blocks(head, header, encoding, len(vendor), SAMPLE_ROWS, whole=whole)
    return (HeadRow("names", header.row), *vendor), sample


def _blocks(
    head: bytes, header: TableHeader, encoding: str, vendor: int, most: int | None, *, whole: bool
) -> list[list[str]]:
    """Give the cells of the first rows of blocks, after so many vendor's rows."""
    rows = split_rows(head, header.delimiter, header.row.following, whole=whole)
    blocks = islice(rows, vendor, None if most is None else vendor + most)
    return [[cell_text(cell, encoding) for cell in row.cells] for row in blocks]


def _decimal(
    header: TableHeader, xyz: Triplet, rows: Sequence[Sequence[str]], name: str
) -> bytes | None:
    """Tell the decimal mark of some rows, if they do."""
    columns = [_cells(rows, [place]) for place in range(len(header.names))]
    return decimal_mark(_cells(rows, xyz), columns, name, header.delimiter)


def _cells(sample: Sequence[Sequence[str]], columns: Iterable[int]) -> list[str]:
    """Gather some columns of the sample."""
    return [row[column] for row in sample for column in columns if column < len(row)]
