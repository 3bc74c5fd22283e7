"""The index of the Python reference: every public name, grouped by the folder that it lives in."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

import geodomain

# Folder of the package, and the heading of its names. Names from anywhere else come last.
HEADINGS = {
    "labelling": "Label blocks and points",
    "domains": "Describe domains",
    "query": "Ask where points are",
    "mesh": "Wireframes",
    "inputs": "Take and check wireframes",
    "drillholes": "Drillholes",
    "volumes": "Distances and volumes",
    "io": "Read and write files",
    "segments": "Line segments",
    "inspection": "Inspect block models",
    "sections": "Draw sections",
    "backends": "GPU arrays",
    "errors": "Errors and warnings",
}


def folder_of(name: str) -> str:
    """Return the folder of the package that a public name comes from."""
    module = str(getattr(geodomain, name).__module__)
    return module.split(".")[1] if module.startswith("geodomain.") else "other names"


def page() -> str:
    """Return the page, as reStructuredText for autosummary."""
    names: dict[str, list[str]] = {folder: [] for folder in HEADINGS}
    for name in sorted(geodomain.__all__, key=str.lower):
        names.setdefault(folder_of(name), []).append(name)
    parts = []
    for folder, members in names.items():
        if members:
            heading = HEADINGS.get(folder, folder.capitalize())
            rows = "".join(f"   {name}\n" for name in members)
            parts.append(
                f"{heading}\n{'-' * len(heading)}\n\n"
                f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{rows}"
            )
    return "\n".join(parts)


def write_page(app: Sphinx) -> None:
    """Write the page for `reference/api.md` to include, where it has changed."""
    target = Path(app.srcdir) / "reference" / "names.rst"
    text = ".. currentmodule:: geodomain\n\n" + page()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before autosummary looks for what to generate."""
    app.connect("builder-inited", write_page, priority=100)
    return {"parallel_read_safe": True}
