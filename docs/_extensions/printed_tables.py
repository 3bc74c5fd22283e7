"""Keep the columns of printed tables: a wide table scrolls, while other text wraps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the quick test has no Sphinx
    from docutils import nodes
    from sphinx.application import Sphinx


def is_table(text: str) -> bool:
    """Return whether a line of a text has four columns or more, with two blanks between them."""
    return re.search(r"\S(?:.*?\S {2,}\S){3}", text) is not None


def setup(app: Sphinx) -> dict[str, bool]:
    """Mark each text block that is a table, for the style sheet."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True}


def _mark(app: Sphinx, doctree: nodes.document) -> None:
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "text" and is_table(block.astext()):
            block["classes"].append("printed-table")
