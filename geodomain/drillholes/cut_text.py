"""The text of a table whose intervals are cut: a row for each piece."""

from __future__ import annotations

import numpy as np

from geodomain.drillholes.cutting import Cuts, spell
from geodomain.drillholes.intervals import Intervals
from geodomain.io.csv.rows import TextRows


def cut_rows(source: TextRows, rows: Intervals, cuts: Cuts) -> TextRows:
    """Return a text in which intervals that are cut have a row for each piece.

    Their own text is copied but for FROM and TO; every other byte stays.
    """
    body, layout = source.body, source.layout
    mark = layout.decimal.decode()
    spans = source.spans()
    fields = {role: source.places(rows.table.roles[role]) for role in ("from", "to")}
    newline = _newline(source)
    parts, at = [source.text[: layout.data_start]], 0
    pieces = np.flatnonzero(np.bincount(cuts.rows, minlength=len(source))[cuts.rows] > 1)
    for piece in pieces.tolist():
        row = int(cuts.rows[piece])
        begin, end = spans[row].tolist()
        edits = []
        for role, depths in (("from", cuts.begins), ("to", cuts.ends)):
            if piece in depths:
                low, high = fields[role][row].tolist()
                edits.append((low, high, spell(depths[piece], mark).encode()))
        if piece not in cuts.begins:  # the first of its row
            parts.append(body[at:begin])
        else:
            parts.append(newline)
        place = begin
        for low, high, text in sorted(edits):
            parts += [body[place:low], text]
            place = high
        parts.append(body[place:end])
        at = end
    parts.append(body[at:])
    places = [0, *rows.table.roles.values()]
    return TextRows(b"".join(parts), layout, source.name, places)


def _newline(source: TextRows) -> bytes:
    """Return the line end of the header."""
    head = source.layout.head_rows[0].row
    return source.text[head.end : head.following] or b"\n"
