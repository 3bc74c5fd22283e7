"""A table of texts as HTML for a notebook; every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


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
    side = "right" if headings else "left"
    parts = [f"<table><caption>{escape(title)}</caption>"]
    if headings:
        parts.append("<tr>" + "".join(f"<th>{escape(word)}</th>" for word in headings) + "</tr>")
    for name, *cells in rows:
        told = "".join(f'<td style="text-align:{side}">{escape(cell)}</td>' for cell in cells)
        parts.append(f'<tr><th style="text-align:left">{escape(name)}</th>{told}</tr>')
    return "\n".join([*parts, "</table>", *(f"<div>{escape(note)}</div>" for note in notes)])
