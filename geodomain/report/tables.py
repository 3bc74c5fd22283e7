"""The tables of a report as HTML, every text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from geodomain.report.domain_rows import DomainRow
from geodomain.report.record import FileFacts, OverlapFacts

_POINT = re.compile(r"\((-?[\d.e+]+), (-?[\d.e+]+), (-?[\d.e+]+)\)")


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, name: str
) -> str:
    """Lay cells of HTML out as a table; the first cell of a row names it.

    Parameters
    ----------
    caption : str
        What stands above.
    headings : sequence of str
        Of the columns.
    rows : sequence of sequence of str
        Cells that are HTML already.
    name : str
        The identifier of the table in the page.
    """
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in headings)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0">'
        f'<table id="{name}"><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def swatch(colour: str) -> str:
    """Return a small square of a colour; what it stands for is beside it."""
    return (
        '<svg class="swatch" width="14" height="14" aria-hidden="true">'
        f'<rect width="14" height="14" fill="{colour}" stroke="#888"/></svg>'
    )


def domains_table(rows: Sequence[DomainRow], colours: Mapping[str, str]) -> str:
    """Return blocks and volumes by domain."""
    own = any(row.own_volume is not None for row in rows)
    solid = any(row.wireframe_volume is not None for row in rows)
    shared = any(row.proportion_volume is not None for row in rows)
    headings = ["domain", "blocks", "share", "volume"]
    headings += ["volume by proportion"] if shared else []
    headings += ["volume before priority"] if own else []
    headings += ["wireframe volume"] if solid else []
    headings += ["blocks against wireframe"] if own and solid else []
    cells = []
    for row in rows:
        label = f"{row.name} ({row.label})" if row.label != row.name else row.name
        line = [
            f"{swatch(colours[row.name])} {escape(label or '(no label)')}",
            f"{row.blocks:,}",
            f"{row.share:.2%}",
            volume(row.volume),
        ]
        line += [volume(row.proportion_volume)] if shared else []
        line += [volume(row.own_volume)] if own else []
        line += [volume(row.wireframe_volume)] if solid else []
        line += [_percent(row.difference)] if own and solid else []
        cells.append(line)
    total = [row for row in rows if row.blocks]
    last = ["total", f"{sum(row.blocks for row in total):,}", "100.00%"]
    last += [volume(sum(row.volume for row in total))]
    cells.append([*last, *[""] * (len(headings) - len(last))])
    return table("Blocks and volume by domain", headings, cells, name="domains")


def overlaps_table(overlaps: Sequence[OverlapFacts]) -> str:
    """Return what pairs of solids share; nothing where they share none."""
    if not overlaps:
        return ""
    rows = [
        [
            f"{escape(one['solids'][0])} and {escape(one['solids'][1])}",
            f"{one['blocks']:,}",
            volume(one["volume"]),
        ]
        for one in overlaps
    ]
    return table("Blocks in two solids", ["solids", "blocks", "volume"], rows, name="overlaps")


def files_table(files: Sequence[tuple[str, FileFacts]]) -> str:
    """Return the files of a run with their SHA-256."""
    rows = [
        [
            what,
            escape(file["path"]),
            f"{file['bytes']:,}",
            f"<code>{escape(file['sha256'])}</code>",
        ]
        for what, file in files
    ]
    return table("Files", ["what", "path", "bytes", "SHA-256"], rows, name="files")


def facts_table(caption: str, facts: Mapping[str, object], *, name: str) -> str:
    """Return names and values; values that say nothing are left out."""
    rows = [
        [escape(key.replace("_", " ")), escape(_fact(value))]
        for key, value in facts.items()
        if not _says_nothing(value)
    ]
    return table(caption, ["what", "value"], rows, name=name) if rows else ""


def warnings_list(warnings: Sequence[str], name: str = "warnings") -> str:
    """Return warnings, each place in them a link into the view."""
    if not warnings:
        return "<p>None.</p>"
    items = "".join(f"<li>{_linked(one)}</li>" for one in warnings)
    return f'<ul id="{name}">{items}</ul>'


def volume(value: float | None) -> str:
    """Say a volume with six digits or more, or nothing."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.6g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.2%}"


def _says_nothing(value: object) -> bool:
    """Return whether a value is none, False or empty; 0 is a number."""
    return value is None or value is False or value in ("", [], (), {})


def _fact(value: object) -> str:
    """Say a value in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_fact(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value))
    return str(value)


def _linked(sentence: str) -> str:
    """Make a link of each place in a sentence."""
    parts, end = [], 0
    for found in _POINT.finditer(sentence):
        place = ",".join(found.groups())
        parts.append(escape(sentence[end : found.start()]))
        parts.append(f'<a href="#view" data-at="{place}">{escape(found.group())}</a>')
        end = found.end()
    return "".join([*parts, escape(sentence[end:])])
