"""Results as tables: lines of text, HTML for a notebook, a DataFrame, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from geodomain.compute.data import TableColumn
from geodomain.errors import TableError, visible

if TYPE_CHECKING:
    import pandas

# Types of columns by the annotations of a field; None stands for the type of texts in pandas. A
# missing count is NA in Int64, and a missing float is NaN.
_KINDS = {
    "bool": "bool",
    "float": "float64",
    "float | None": "float64",
    "int": "int64",
    "int | None": "Int64",
    "str": None,
    "str | None": None,
}

# The columns of a table of results: for each name the type of the values, which is str, float64,
# int64 or bool, and the values.
ResultColumns = Mapping[str, tuple[str, TableColumn]]


def text_table(rows: Sequence[Sequence[str]], *, names: int = 1) -> list[str]:
    """Format rows as lines of aligned columns: names are aligned left and numbers right.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells of the table, headings included; all rows have the same length.
    names : int, default 1
        Number of leading columns that hold names.

    Returns
    -------
    list of str
        One line for each row, without trailing spaces; line ends in cells are made visible.

    Examples
    --------
    >>> for line in text_table([["domain", "blocks"], ["ORE", "3"]]):
    ...     print(line)
    domain  blocks
    ORE          3
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def rounded(value: float, digits: int) -> str:
    """Return a number with `digits` significant digits; large numbers get commas, not exponents.

    Examples
    --------
    >>> rounded(8423190.7, 4), rounded(0.123456, 4)
    ('8,423,000', '0.1235')
    """
    few = float(f"{value:.{digits}g}")
    return f"{few:,.0f}" if abs(few) >= 10 ** (digits - 1) else f"{few:,.{digits}g}"


def html_table(
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    headings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML table with a caption; the first cell of each row is the name of the row.

    Parameters
    ----------
    title : str
        Caption of the table.
    rows : sequence of sequence of str
        Cells of the table. Names are aligned left. If there are headings, the other cells are
        numbers and aligned right.
    headings : sequence of str, optional
        Headings of the columns.
    notes : sequence of str, optional
        Lines below the table.

    Returns
    -------
    str

    Examples
    --------
    >>> print(html_table("3 rows", [["<ORE>", "3"]]))
    <table><caption>3 rows</caption>
    <tr><th style="text-align:left">&lt;ORE&gt;</th><td style="text-align:left">3</td></tr>
    </table>
    """
    from html import escape  # imported late: it loads all HTML entities

    side = "right" if headings else "left"
    parts = [f"<table><caption>{escape(title)}</caption>"]
    if headings:
        parts.append("<tr>" + "".join(f"<th>{escape(word)}</th>" for word in headings) + "</tr>")
    for name, *cells in rows:
        html_cells = "".join(f'<td style="text-align:{side}">{escape(cell)}</td>' for cell in cells)
        parts.append(f'<tr><th style="text-align:left">{escape(name)}</th>{html_cells}</tr>')
    return "\n".join([*parts, "</table>", *(f"<div>{escape(note)}</div>" for note in notes)])


def data_frame(
    columns: Mapping[str, TableColumn],
    kinds: Mapping[str, str | None] | None = None,
) -> pandas.DataFrame:
    """Return columns as a DataFrame. The types of the columns do not depend on the values.

    Parameters
    ----------
    columns : mapping of str to sequence or array
        Arrays keep their types; sequences without a type in `kinds` are texts.
    kinds : mapping of str to str, optional
        Types of columns, by their names in pandas.
    """
    import pandas

    text = pandas.Series([""]).dtype  # object, or str from pandas 3 on
    series = {}
    for name, values in columns.items():
        kind = (kinds or {}).get(name)
        if kind is None:
            kind = str(values.dtype) if isinstance(values, np.ndarray) else str(text)
        series[name] = pandas.Series(values, dtype=pandas.api.types.pandas_dtype(kind))
    return pandas.DataFrame(series)


def records_columns(record: type, records: Sequence[object]) -> ResultColumns:
    """Return the columns of some records: a column for each number or text.

    Parameters
    ----------
    record : type
        A data class.
    records : sequence
        Objects of this class.
    """
    return {
        field.name: (
            (_KINDS[str(field.type)] or "str").lower(),
            [getattr(each, field.name) for each in records],
        )
        for field in fields(record)
        if field.type in _KINDS
    }


def csv_text(columns: ResultColumns) -> str:
    """Return columns as CSV with unrounded numbers, and empty cells for None and NaN."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(values for _, values in columns.values()), strict=True):
        writer.writerow(["" if cell is None or cell != cell else cell for cell in row])
    return text.getvalue()


def parquet_bytes(columns: ResultColumns, path: str) -> bytes:
    """Return columns as a Parquet file; None and NaN become null.

    Raises
    ------
    TableError
        If pyarrow, which writes Parquet, is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"{path} can only be written with pyarrow: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    kinds = {"str": pyarrow.string(), "float64": pyarrow.float64(), "int64": pyarrow.int64()}
    kinds["bool"] = pyarrow.bool_()
    arrays = {
        name: pyarrow.array(values, kinds[kind], from_pandas=True)
        for name, (kind, values) in columns.items()
    }
    out = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), out)
    content: bytes = out.getvalue().to_pybytes()
    return content


def records_frame(
    record: type,
    records: Sequence[object],
    columns: Mapping[str, TableColumn] | None = None,
) -> pandas.DataFrame:
    """Return a DataFrame with a row for each record and a column for each number or text in it.

    Parameters
    ----------
    record : type
        A data class.
    records : sequence
        Objects of this class.
    columns : mapping of str to sequence or array, optional
        Further columns, which follow the columns of the fields.
    """
    plain = {
        field.name: _KINDS[str(field.type)] for field in fields(record) if field.type in _KINDS
    }
    values = {name: [getattr(each, name) for each in records] for name in plain}
    return data_frame(values | dict(columns or {}), plain)
