"""The gallery: the programs of `examples/`, run elsewhere, with what they print and draw."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

PICTURES = (".png", ".svg")
HEADER = """Gallery
=======

Whole programs to start from. Each runs by itself, makes its own data, and ends by checking its
result. They are the files of the folder ``examples/``. What ``geodomain report`` writes is here as
it is: `a report of the demo <demo_report.html>`__.
"""


def configuration(examples: Path) -> dict[str, Any]:
    """Return what sphinx-gallery is told about a folder of examples."""
    scratch = Path(tempfile.mkdtemp(prefix="geodomain-gallery-"))
    (scratch / "GALLERY_HEADER.rst").write_text(HEADER, encoding="utf-8")
    for example in sorted(examples.glob("*.py")):
        (scratch / example.name).write_text(titled(example), encoding="utf-8")
    return {
        "examples_dirs": [str(scratch)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"\.py$",
        "within_subsection_order": "FileNameSortKey",
        "image_scrapers": (drawn_files,),
        "reset_modules": (),
        "abort_on_example_error": True,
        "download_all_examples": False,
        "remove_config_comments": True,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1e9,
        "write_computation_times": False,
    }


def titled(example: Path) -> str:
    """Return an example whose docstring begins with a title: its first sentence, underlined."""
    opening, docstring, rest = example.read_text(encoding="utf-8").split('"""', 2)
    title, _, text = docstring.partition(".\n")
    return f'{opening}"""\n{title}\n{"=" * len(title)}\n{text}"""{rest}'


def drawn_files(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Show the pictures that an example has written to the folder in which it runs."""
    from sphinx_gallery.scrapers import figure_rst

    shown = []
    paths = variables["image_path_iterator"]
    for picture in sorted(Path(variables["src_file"]).parent.iterdir()):
        if picture.suffix in PICTURES:
            target = Path(next(paths)).with_suffix(picture.suffix)
            shutil.move(picture, target)
            shown.append(str(target))
    return str(figure_rst(shown, settings["src_dir"]))
