"""Make the HTML tables of a report: blocks by domain, overlaps, files and options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from geodomain.domains.order import Domains
from geodomain.labelling.summary import SharedBlocks, mesh_volume
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.blocks import Blocks
from geodomain.reporting.look import usual_ground
from geodomain.reporting.record import FileFacts, PartFacts, SummaryFacts
from geodomain.result_tables import rounded

# The code for no label in formats that hold only numbers.
_NO_LABEL = "0"


@dataclass(frozen=True)
class DomainRow:
    """A label of a model, with the number and the volume of the blocks that have it.

    Attributes
    ----------
    label : str
        Text in the file.
    name : str
        If the label is the code of a domain, the name of the domain; otherwise the label.
    blocks : int
        Number of blocks.
    share : float
        Share of all blocks, 0 to 1.
    volume : float
        Volume of the blocks with sizes, in cubed units of the file.
    own_volume : float, optional
        Volume of all blocks inside the domain, including blocks that went to a domain of higher
        priority. It comes from the record of the labelling.
    wireframe_volume : float, optional
        Volume inside the solids of the domain.
    proportion_volume : float, optional
        Volume of the domain by its share of each block, if the file has columns of shares.
    is_ground : bool
        Whether the label is background or empty, and therefore not a domain.
    """

    label: str
    name: str
    blocks: int
    share: float
    volume: float
    own_volume: float | None
    wireframe_volume: float | None
    proportion_volume: float | None
    is_ground: bool

    @property
    def difference(self) -> float | None:
        """`own_volume` divided by `wireframe_volume`, minus 1; None if either volume is unknown."""
        if self.own_volume is None or not self.wireframe_volume:
            return None
        return self.own_volume / self.wireframe_volume - 1


def domain_rows(
    blocks: Blocks, domains: Domains, summary: SummaryFacts | None, background: Sequence[str]
) -> list[DomainRow]:
    """Count the blocks of each label.

    Parameters
    ----------
    blocks : Blocks
        The model.
    domains : Domains
        Domains of the labelling; may be empty. The rows are in the order of the domains.
    summary : mapping, optional
        Summary of the labelling, from the record of the run.
    background : sequence of str
        Labels that are not domains. If the sequence is empty, WASTE and BACKGROUND are background.

    Returns
    -------
    list of DomainRow
        A row for each label in the file, and for each domain without a block.
    """
    parts = {part["name"]: part for part in (summary["domains"] if summary else ())}
    numbers = _names_of_numbers(blocks, summary) if summary else {}
    names = _names_of_codes(domains, parts) | numbers
    listed = list(dict.fromkeys([*parts, *(target.name for target in domains.targets)]))
    ground = {"", *background, *_ground_labels(domains, summary)}
    if ground == {""}:
        ground.update(usual_ground(blocks.labels, listed))
    if numbers:
        ground.add(_NO_LABEL)
    counts = np.bincount(blocks.codes, minlength=len(blocks.labels))
    block_volumes = blocks.sizes.prod(axis=1)
    volumes = np.bincount(blocks.codes, block_volumes, len(blocks.labels))
    shared = {
        name: float(np.nansum(shares * block_volumes))
        for name, shares in blocks.proportions.items()
    }
    solids = {target.name: target.wireframes for target in domains.targets}
    places = {names.get(label, label): place for place, label in enumerate(blocks.labels)}
    order = [*listed, *sorted(name for name in places if name not in listed)]
    order.sort(key=lambda name: name in ground)
    rows = []
    for name in order:
        place = places.get(name)
        part = parts.get(name)
        wireframe = part["wireframe_volume"] if part else None
        if not parts:
            wireframe = _enclosed(solids.get(name, ()))
        rows.append(
            DomainRow(
                label=name if place is None else blocks.labels[place],
                name=name,
                blocks=0 if place is None else int(counts[place]),
                share=0.0 if place is None else float(counts[place]) / len(blocks.codes),
                volume=0.0 if place is None else float(volumes[place]),
                own_volume=part["own_volume"] if part else None,
                wireframe_volume=wireframe,
                proportion_volume=shared.get(name.lower()) if name else None,
                is_ground=name in ground or (place is not None and blocks.labels[place] in ground),
            )
        )
    return rows


def _names_of_codes(domains: Domains, parts: Mapping[str, PartFacts]) -> dict[str, str]:
    """Return a mapping from codes, as text, to the names of domains and background."""
    coded = {target.name: target.code for target in domains.targets}
    if domains.background:
        coded[domains.background] = domains.background_code
    coded |= {name: part["code"] for name, part in parts.items()}
    return {str(code): name for name, code in coded.items() if code is not None}


def _names_of_numbers(blocks: Blocks, summary: SummaryFacts) -> dict[str, str]:
    """Return a mapping from numbers to labels, for formats without texts, such as GSLIB.

    In such formats labels are numbered from 1, in order. If the number of blocks of each label does
    not agree with the record, the mapping is empty.
    """
    rest = (summary["background"], summary["unassigned"], summary["leaking"], summary["beyond"])
    wanted: dict[str, int] = {}
    for part in (*summary["domains"], *rest):
        if part["label"]:
            wanted[part["label"]] = wanted.get(part["label"], 0) + part["blocks"]
    if not wanted or wanted.keys() & set(blocks.labels):
        return {}
    names = {str(number): label for number, label in enumerate(wanted, 1)}
    counts = np.bincount(blocks.codes, minlength=len(blocks.labels)).tolist()
    counts_in_file = dict(zip(blocks.labels, counts, strict=True))
    counts_in_file.pop(_NO_LABEL, None)
    same = counts_in_file == {
        number: wanted[label] for number, label in names.items() if wanted[label]
    }
    return names if same else {}


def _ground_labels(domains: Domains, summary: SummaryFacts | None) -> set[str]:
    """Return the labels that are not domains, such as the labels of unassigned blocks."""
    codes = (domains.background_code, domains.unassigned_code)
    labels = {domains.background, domains.unassigned, *(str(c) for c in codes if c is not None)}
    if summary is None:
        return labels
    rest = (summary["background"], summary["unassigned"], summary["leaking"], summary["beyond"])
    return labels | {part["label"] for part in rest}


def _enclosed(meshes: Sequence[Mesh]) -> float | None:
    """Return the total volume of solids; None if there are no solids, or if a solid is open."""
    closed = meshes and all(mesh.is_closed for mesh in meshes)
    return sum(map(mesh_volume, meshes)) if closed else None


# Tables as HTML, with every text escaped.

_POINT = re.compile(r"\((-?[\d.e+]+), (-?[\d.e+]+), (-?[\d.e+]+)\)")


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, name: str
) -> str:
    """Return an HTML table; the first cell of each row is a row heading.

    Parameters
    ----------
    caption : str
        Caption above the table.
    headings : sequence of str
        Headings of the columns.
    rows : sequence of sequence of str
        Cells as HTML.
    name : str
        Identifier of the table in the page.
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
    """Return a small coloured square, as HTML, to stand beside a name."""
    return (
        '<svg class="swatch" width="14" height="14" aria-hidden="true">'
        f'<rect width="14" height="14" fill="{colour}" stroke="#888"/></svg>'
    )


def domain_name(name: str, colour: str) -> str:
    """Return the name of a domain as HTML, beside a square in its colour."""
    return f"{swatch(colour)} {escape(name or '(no label)')}"


def in_unit(what: str, unit: str, *, million: bool = False) -> str:
    """Return a heading for volumes, with the unit of volume that follows from a unit of length.

    Examples
    --------
    >>> in_unit("volume", "m"), in_unit("volume", ""), in_unit("volume", "ft", million=True)
    ('volume, m³', 'volume', 'volume, million ft³')
    """
    words = " ".join([*["million"] * million, *[f"{unit}³"] * bool(unit)])
    return f"{what}, {words}" if words else what


def in_millions(volumes: Iterable[float]) -> bool:
    """Return whether a column of volumes is shown in millions, because one is a billion or more."""
    return max(volumes, default=0.0) >= 1e9


def domains_table(rows: Sequence[DomainRow], colours: Mapping[str, str], unit: str = "") -> str:
    """Return the table of blocks and volumes by domain; `unit` is the unit of coordinates."""
    own = any(row.own_volume is not None for row in rows)
    solid = any(row.wireframe_volume is not None for row in rows)
    shared = any(row.proportion_volume is not None for row in rows)
    million = in_millions(row.volume for row in rows)
    words = ["volume"]
    words += ["volume by proportion"] if shared else []
    words += ["volume before priority"] if own else []
    words += ["wireframe volume"] if solid else []
    headings = ["domain", "blocks", "share"]
    headings += [in_unit(word, unit, million=million) for word in words]
    headings += ["blocks against wireframe"] if own and solid else []
    cells = []
    for row in rows:
        label = f"{row.name} ({row.label})" if row.label != row.name else row.name
        line = [
            domain_name(label, colours[row.name]),
            f"{row.blocks:,}",
            f"{row.share:.2%}",
            volume(row.volume, million=million),
        ]
        line += [volume(row.proportion_volume, million=million)] if shared else []
        line += [volume(row.own_volume, million=million)] if own else []
        line += [volume(row.wireframe_volume, million=million)] if solid else []
        line += [_percent(row.difference)] if own and solid else []
        cells.append(line)
    total = [row for row in rows if row.blocks]
    last = ["total", f"{sum(row.blocks for row in total):,}", "100.00%"]
    last += [volume(sum(row.volume for row in total), million=million)]
    cells.append([*last, *[""] * (len(headings) - len(last))])
    return table("Blocks and volume by domain", headings, cells, name="domains")


def overlaps_table(overlaps: Sequence[SharedBlocks], unit: str = "") -> str:
    """Return the table of overlaps between solids, or "" if there are none."""
    if not overlaps:
        return ""
    rows = [
        [
            f"{escape(overlap['solids'][0])} and {escape(overlap['solids'][1])}",
            f"{overlap['blocks']:,}",
            volume(overlap["volume"]),
        ]
        for overlap in overlaps
    ]
    headings = ["solids", "blocks", in_unit("volume", unit)]
    return table("Blocks in two solids", headings, rows, name="overlaps")


def files_table(files: Sequence[tuple[str, FileFacts]]) -> str:
    """Return the table of files with their SHA-256."""
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
    """Return an HTML table of names and values; names with empty values are left out."""
    rows = [
        [escape(key.replace("_", " ")), escape(_fact(value))]
        for key, value in facts.items()
        if not _is_empty(value)
    ]
    return table(caption, ["what", "value"], rows, name=name) if rows else ""


def warnings_list(warnings: Sequence[str], name: str = "warnings") -> str:
    """Return warnings as an HTML list; coordinates in them are links into the 3D view."""
    if not warnings:
        return "<p>None.</p>"
    items = "".join(f"<li>{_linked(sentence)}</li>" for sentence in warnings)
    return f'<ul id="{name}">{items}</ul>'


def volume(value: float | None, *, million: bool = False) -> str:
    """Return a volume or a mass as HTML, rounded to four digits; "" for None.

    The exact number is shown on hover, and is the value of the HTML element. If `million` is true,
    the text is in millions.

    Examples
    --------
    >>> volume(1440.0), volume(1234567.5)
    ('1,440', '<data value="1234567.5" title="1,234,567.5">1,235,000</data>')
    """
    return _figure(value, "" if value is None else rounded(value / (1e6 if million else 1), 4))


def grade_figure(value: float | None) -> str:
    """Return a mean grade as HTML, with three digits; "" for None. See `volume`."""
    if value is None or value == 0:
        return "" if value is None else "0"
    return _figure(value, rounded(value, 3) if abs(value) >= 100 else f"{value:#.3g}")


def exact_figure(value: float) -> str:
    """Return a number as HTML, rounded to four digits; see `volume`."""
    return _figure(value, rounded(value, 4))


def _figure(value: float | None, text: str) -> str:
    """Return a rounded number as HTML, with the exact number if it differs."""
    if value is None or float(text.replace(",", "")) == value:
        return text
    exact = f"{value:,}".removesuffix(".0")
    return f'<data value="{value!r}" title="{exact}">{text}</data>'


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.2%}".replace("-0.00%", "0.00%")


def _is_empty(value: object) -> bool:
    """Return whether a value is None, False or empty; a value of 0 is not empty."""
    return value is None or value is False or value in ("", [], (), {})


def _fact(value: object) -> str:
    """Return a value as text on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_fact(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value))
    return str(value)


def _linked(sentence: str) -> str:
    """Return a sentence as HTML, with links for its coordinates."""
    parts, end = [], 0
    for match in _POINT.finditer(sentence):
        place = ",".join(match.groups())
        parts.append(escape(sentence[end : match.start()]))
        parts.append(f'<a href="#view" data-at="{place}">{escape(match.group())}</a>')
        end = match.end()
    return "".join([*parts, escape(sentence[end:])])
