"""A page of HTML that needs nothing but itself, under a policy that allows no request."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from geodomain.errors import counted
from geodomain.report.shown_label import ShownLabel

_VIEWER = Path(__file__).parent / "viewer"
# Of the view's controls: what looks along which direction.
_LOOKS = (
    ("north", "Look north"), ("south", "Look south"), ("east", "Look east"),
    ("west", "Look west"), ("down", "Look down"), ("oblique", "Oblique"),
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A section of the page: its title, its SVG, and HTML that names its colours."""

    title: str
    svg: str
    legend: str


def html_page(
    title: str,
    lead: str,
    parts: Sequence[tuple[str, str, str]],
    scene: Mapping[str, object],
    blocks: Sequence[str],
) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Of the page.
    lead : str
        HTML below the title.
    parts : sequence of (name, heading, HTML)
        What it shows, in order; the name is the part's identifier.
    scene : mapping
        Plain values for the view.
    blocks : sequence of str
        The arrays of the scene, in base64.

    Returns
    -------
    str
    """
    code, style = (_VIEWER / "viewer.js").read_text(), (_VIEWER / "page.css").read_text()
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(code)}; style-src {_hash(style)}"
    )
    links = "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in parts)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-heading">'
        f'<h2 id="{name}-heading">{escape(heading)}</h2>{html}</section>'
        for name, heading, html in parts
    )
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
            f'<header><h1>{escape(title)}</h1>{lead}<nav aria-label="Parts">{links}</nav></header>',
            f"<main>{body}</main>",
            f'<script type="application/json" id="scene">{escaped_json(scene)}</script>',
            *(
                f'<script type="text/plain" id="data-{number}">{block}</script>\n'
                for number, block in enumerate(blocks)
            ),
            f"<script>{code}</script></body></html>\n",
        ]
    )


def escaped_json(value: object) -> str:
    """Return JSON in which no `<` can end the block that it stands in."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def view_html(
    labels: Sequence[ShownLabel], swatches: Sequence[str], wireframes: Sequence[str], holes: int = 0
) -> str:
    """Return the frame of the view and its controls, which the viewer's code brings to life.

    Parameters
    ----------
    labels : sequence of ShownLabel
        What the codes of blocks stand for.
    swatches : sequence of str
        A small square of its colour for each.
    wireframes : sequence of str
        Domains that have one.
    holes : int
        How many drillholes are drawn.
    """
    return "".join(
        [
            '<p id="no-view" role="status">This view needs JavaScript and WebGL. The tables and '
            "sections of this page show the same model without them.</p>",
            '<div id="viewer" hidden><div class="stage" id="stage">'
            '<canvas id="canvas" tabindex="0" role="img" aria-describedby="canvas-help"></canvas>'
            '<canvas id="overlay" aria-hidden="true"></canvas></div>',
            '<p id="canvas-help" class="hint">Drag to turn, right-drag or two fingers to move, '
            "wheel to zoom; click a block to read its row. Keys: arrows turn, + and - zoom, "
            "Enter picks the block in the middle.</p>",
            '<div class="controls">',
            _cut_controls(),
            _look_controls(),
            _domain_controls(labels, swatches, wireframes, holes),
            _row_controls(),
            "</div></div>",
        ]
    )


def _cut_controls() -> str:
    axes = "".join(f'<option value="{value}">{text}</option>' for value, text in (
        ("", "no cut"), ("0", "across x (east)"), ("1", "across y (north)"), ("2", "across z (up)")
    ))  # fmt: skip
    return (
        "<fieldset><legend>Cut</legend>"
        f'<label>Plane <select id="cut-axis">{axes}</select></label>'
        '<label>Place <input id="cut-range" type="range" min="0" max="1000" value="500" disabled>'
        '</label><label>Coordinate <input id="cut-at" type="number" step="any" disabled></label>'
        '<label><input id="cut-flip" type="checkbox" disabled> keep the other side</label>'
        '<label><input id="cut-ground" type="checkbox" checked disabled> '
        "blocks in no domain</label></fieldset>"
    )


def _look_controls() -> str:
    buttons = "".join(
        f'<button type="button" data-look="{name}">{text}</button>' for name, text in _LOOKS
    )
    return (
        f'<fieldset><legend>Look</legend><div class="buttons">{buttons}</div>'
        '<label>Projection <select id="projection"><option value="perspective">perspective'
        '</option><option value="orthographic">orthographic</option></select></label>'
        '<label>Vertical exaggeration <input id="exaggeration" type="number" min="0.1" max="100" '
        'step="0.5" value="1"></label></fieldset>'
    )


def _domain_controls(
    labels: Sequence[ShownLabel], swatches: Sequence[str], wireframes: Sequence[str], holes: int
) -> str:
    lines = []
    numbered = zip(range(len(labels)), labels, swatches, strict=True)
    for number, label, square in sorted(numbered, key=lambda one: one[1].order):
        if not label.ground:
            checked = "" if label.hidden else " checked"
            lines.append(
                f'<label>{square} <input type="checkbox"{checked} data-label="{number}"> '
                f"blocks of {escape(label.name)}</label>"
            )
    lines += [
        f'<label><input type="checkbox" checked data-wireframe="{escape(name, quote=True)}"> '
        f"wireframe of {escape(name)}</label>"
        for name in wireframes
    ]
    if holes:
        lines.append(
            '<label><input type="checkbox" checked id="holes"> '
            f"{counted(holes, 'drillhole')}</label>"
        )
    return f'<fieldset id="shown"><legend>Show</legend>{"".join(lines)}</fieldset>'


def _row_controls() -> str:
    return (
        '<fieldset><legend>Block</legend><label>Row in the file <input id="row" type="number" '
        'min="1" step="1"></label><div id="picked" aria-live="polite">'
        "<p>No block is picked.</p></div></fieldset>"
    )


def sections_html(figures: Sequence[Figure], first: int, more: str = "") -> str:
    """Return sections with a strip to step through them; without JavaScript all are shown.

    Parameters
    ----------
    figures : sequence of Figure
        In the order of the strip.
    first : int
        Which of them is shown at first.
    more : str
        A sentence of HTML about what else they show.
    """
    options = "".join(
        f'<option value="{number}">{escape(one.title)}</option>'
        for number, one in enumerate(figures)
    )
    drawn = "".join(
        f'<figure data-section="{number}"{" data-first=yes" if number == first else ""}>'
        f"<figcaption>{escape(one.title)}</figcaption>{one.svg}"
        f'<p class="legend">{one.legend}</p></figure>'
        for number, one in enumerate(figures)
    )
    return (
        f'<p class="hint">{counted(len(figures), "section")}. A block is cut where the plane is '
        "on its lower "
        "face and not where it is on its upper one. Red marks at the frame are where the other "
        "sections cross; lines are traces of wireframes."
        f"{more}</p>"
        '<div class="strip" id="strip" hidden><button type="button" id="section-back">Previous'
        f'</button><label>Section <select id="section-choice">{options}</select></label>'
        f'<button type="button" id="section-on">Next</button></div>{drawn}'
    )


def _hash(text: str) -> str:
    """Return the source expression that allows one inline block."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
