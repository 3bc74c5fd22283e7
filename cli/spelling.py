"""Translation of messages: the library names keywords (`x=`), a command its options (`--x`)."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

# Keywords that messages of the library name. Each is written as code, `x=` or `backend='cpu'`.
KEYWORDS = {
    keyword: "--" + keyword.replace("_", "-")
    for keyword in (
        *("x", "y", "z", "dx", "dy", "dz", "position", "rotation", "origin", "local_origin"),
        "frame",
        *("decimal", "encoding", "missing", "start", "end", "vertex_type", "ray_type"),
        *("column", "codes", "flags", "uncertain", "leaky", "domain", "bench", "weld"),
        *("output", "overwrite", "take_over", "allow_open", "allow_disjoint", "backend", "devices"),
        *("gslib_grid", "count", "fit", "margin", "fill", "size"),
        *("proportions", "percent", "by", "lines"),
        *("collar", "survey", "intervals", "strict", "min_length", "points_are_middles"),
        *("within", "colour_by", "grade", "sample_grade", "grade_unit", "cutoff", "scheduler"),
        *("density", "density_unit", "proportion", "background"),
        *("resolution", "extensive", "parent", "scheme", "below_detection", "detection_limit"),
        *("topography", "bend", "accept"),
    )
} | {
    "domains": "--solid",
    "replace": "--replace-column",
    "columns": "--hole-column",
    "minimum": "--min",
    "holes": "--collar",
    "samples": "--intervals",
}

_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"True|{_TEXT}|\{{[^{{}}]*\}}|\([^()]*\)"
_GIVEN = rf"\b(?:{'|'.join(KEYWORDS)})=(?:{_VALUE})"
_NAMED = rf"\b(?:{'|'.join(KEYWORDS)})=(?=[\s,;.)]|$)"
# A run of values with commas between them is one command line, and has none. Compiled by the first
# message, which most commands end without: that takes 3 ms.
_WORDS = rf"(?<![\w.'\"=-])(?:{_GIVEN}(?:, {_GIVEN})*|{_NAMED})"
# What the library reads from the environment is an option, too.
_ALLOWS = "GEODOMAIN_MEMORY allows"
_WELD = rf"geodomain\.weld\(({_TEXT}), ([^()]+)\)"

# Formats that `geodomain check` keeps when it suggests a file for the weld.
_KEPT = {".stl", ".ply", ".obj", ".off"}


def as_options(message: str) -> str:
    """Write each keyword of a message as an option, and a call of `weld` as a command.

    Examples
    --------
    >>> as_options("name them with x= and y=, or use backend='cpu'")
    'name them with --x and --y, or use --backend cpu'
    """
    message = message.replace("GEODOMAIN_MEMORY=", "--memory ").replace(_ALLOWS, "--memory allows")
    return re.sub(_WORDS, _options, re.sub(_WELD, _weld_command, message))


def _options(found: re.Match[str]) -> str:
    """Write keywords that stand together as options."""
    return " ".join(_option(*one) for one in re.findall(rf"(\w+)=({_VALUE})?", found[0]))


def _option(keyword: str, value: str) -> str:
    """Write one keyword with its value, if it has one, as a shell takes them."""
    option = KEYWORDS[keyword]
    if value in ("", "True"):
        return option
    given = ast.literal_eval(value)
    if isinstance(given, str):
        joint = "=" if given.startswith("-") else " "  # or the value would be taken for an option
        return f"{option}{joint}{shlex.quote(given)}"
    if isinstance(given, tuple):
        return " ".join([option, *map(shlex.quote, given)])
    pairs = (shlex.quote(f"{name}={path}") for name, path in given.items())
    return " ".join(f"{option} {pair}" for pair in pairs)


def _weld_command(call: re.Match[str]) -> str:
    """Write the command that welds the file."""
    path = ast.literal_eval(call[1])
    quoted = f'"{path}"' if " " in path else path
    suffix = Path(path).suffix.lower()
    target = f"closed{suffix if suffix in _KEPT else '.ply'}"
    return f"'geodomain check {quoted} --weld {call[2]} -o {target}'"
