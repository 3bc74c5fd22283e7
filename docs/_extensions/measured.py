"""The directive `measured`: a table of the JSON that a benchmark script wrote.

    ```{measured} agreement.json demo
    ```

The file, beside `conf.py`, has a list of rows for each name; a row has a text for each column.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class Measured(Directive):
    """Show the rows of one name as a table."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the table, and read the page again when the file changes."""
        environment = self.state.document.settings.env
        path = Path(environment.srcdir) / self.arguments[0]
        environment.note_dependency(str(path))
        rows = json.loads(path.read_text(encoding="utf-8"))[self.arguments[1]]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in columns), cols=len(columns))
        group += nodes.thead("", _row(columns))
        group += nodes.tbody("", *(_row([row.get(name, "") for name in columns]) for row in rows))
        return [nodes.table("", group)]


def _row(cells: list[str]) -> nodes.row:
    """Return a row of a table; a number and its unit stay on one line."""
    cells = [re.sub(r"^([\d.,]+) (\w+)$", "\\1\u00a0\\2", cell) for cell in cells]
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
