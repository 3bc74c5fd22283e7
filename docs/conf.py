"""The documentation site: what Sphinx is told. The pages are Markdown (MyST) beside this file.

    python -m sphinx -W --keep-going -q docs SOMEWHERE

Nothing is downloaded. The reference is generated from the installed package, the gallery and its
report from `examples/` and the demo by the modules of `_extensions/`.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from importlib.metadata import version as installed
from pathlib import Path

from geodomain.domains.defaults import LabelDefaults

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import gallery  # noqa: E402  (it lives in _extensions)
import live_report  # noqa: E402

project = "geodomain"
author = "the geodomain developers"
project_copyright = author
release = version = installed("geodomain")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_pages",
    "measured",
    "printed_tables",
    "shell_tabs",
]
exclude_patterns = ["_extensions", "gallery/GALLERY_HEADER.rst"]
suppress_warnings = ["config.cache"]  # the gallery's scraper is a function, which cannot be pickled

nitpicky = True
# Named tuples list what they inherit from tuple, and Domains its defaults of a labelling: these
# have no page here.
nitpick_ignore_regex = [("py:obj", r"geodomain\.\w+\.(count|index)")]
nitpick_ignore = [("py:obj", f"geodomain.Domains.{each.name}") for each in fields(LabelDefaults)]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = ["reference/api.md"]
# A name that differs from another by case alone would share its page on Windows and macOS.
autosummary_filename_map = {"geodomain.Nearest": "geodomain.Nearest-class"}
autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints = "none"  # numpydoc's sections say the types
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = gallery.configuration(HERE.parent / "examples")

# Examples in the help of commands are prose to Sphinx: --solid must stay two hyphens.
smartquotes = False
html_theme = "pydata_sphinx_theme"
html_title = "geodomain"
html_static_path = ["_static"]
html_extra_path = [str(live_report.report_folder())]
html_css_files = ["geodomain.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "text": "geodomain",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "github_url": "https://github.com/geodomain/geodomain",
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {name: [] for name in ("index", "performance", "limits", "glossary", "changelog")}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
