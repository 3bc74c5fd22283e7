"""A table of texts: lines to read, or HTML for a notebook (every text escaped)."""

from __future__ import annotations

from collections.abc import Sequence

from geodomain.errors import visible


def text_table(rows: Sequence[Sequence[str]], *, names: int = 1) -> list[str]:
    """Lay rows out as lines: columns of one width, names to the left and numbers to the right.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells, headings included; each row has as many.
    names : int, default 1
        How many of the first columns are names.

    Returns
    -------
    list of str
        A line a row, without spaces at its end; a cell is one line, whatever it holds.

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
    """Return a table with a caption; the first cell of each row is its name.

    Parameters
    ----------
    title : str
        What stands above.
    rows : sequence of sequence of str
        Cells, the first of a row to the left, numbers to the right if there are headings.
    headings : sequence of str, optional
        Of the columns.
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
    from html import escape  # brings the entities of HTML, of which commands have no need

    side = "right" if headings else "left"
    parts = [f"<table><caption>{escape(title)}</caption>"]
    if headings:
        parts.append("<tr>" + "".join(f"<th>{escape(word)}</th>" for word in headings) + "</tr>")
    for name, *cells in rows:
        told = "".join(f'<td style="text-align:{side}">{escape(cell)}</td>' for cell in cells)
        parts.append(f'<tr><th style="text-align:left">{escape(name)}</th>{told}</tr>')
    return "\n".join([*parts, "</table>", *(f"<div>{escape(note)}</div>" for note in notes)])
