"""Format a table of texts as lines, or as escaped HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from geodomain.errors import visible


def text_table(rows: Sequence[Sequence[str]], *, names: int = 1) -> list[str]:
    """Format rows as lines of aligned columns, names to the left and numbers to the right.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells, headings included; all rows have the same length.
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


def html_table(
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    headings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML table with a caption; the first cell of each row is its name.

    Parameters
    ----------
    title : str
        Caption of the table.
    rows : sequence of sequence of str
        Cells; names are aligned left, and numbers right if there are headings.
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
