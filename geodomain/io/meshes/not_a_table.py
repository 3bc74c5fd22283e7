"""Name the format of a file that was given as a text table and is none."""

from __future__ import annotations

import re

from geodomain.io.datamine.table import is_table
from geodomain.io.meshes import closed
from geodomain.io.meshes.signs import of_mining
from geodomain.io.meshes.stl import FACET, HEADER, facet_count
from geodomain.io.meshes.text import unify_lines

_WIREFRAMES = {"DXF", "Leapfrog mesh", "LandXML", "Surpac triangles", "glTF", "3MF"}
_TEXT_SIGNS = (
    ("PLY", re.compile(rb"\s*ply\s*\n", re.IGNORECASE)),
    ("STL", re.compile(rb"\s*solid\b[^\n]*\n\s*facet\b", re.IGNORECASE)),
    ("OFF", re.compile(rb"\s*(?:ST)?C?N?OFF\s", re.IGNORECASE)),
    (
        "OBJ",
        re.compile(
            rb"(?:\s*(?:#|(?:mtllib|usemtl|vn|vt|[ogs])\b)[^\n]*\n)*\s*v(?:[ \t]+[-+.\d]\S*){3}"
        ),
    ),
)
_A_WIREFRAME = "a wireframe, not a table"
_A_DOMAIN = "domains={'NAME': 'PATH'}"


def describe(head: bytes, extension: str, size: int | None = None) -> str | None:
    """Return what a binary file is and what to do, None where it is of no known kind.

    `size` is that of the whole file, where it is known.
    """
    if is_table(head):
        return "it is a Datamine table (.dm), which is read from a file only: name the file"
    if extension in {".stl", ".stlb"} or size == HEADER + FACET.itemsize * facet_count(head):
        return f"it is binary STL, {_A_WIREFRAME}: give it as {_A_DOMAIN}"
    return describe_text(head, extension) or closed.advice(head, extension)


def describe_text(head: bytes, extension: str) -> str | None:
    """Return what a file of wireframes is and what to do, None where it may be a table."""
    text = unify_lines(head)
    kind = of_mining(head, text.lstrip())
    if kind == "Surpac strings" and extension != ".str":  # a table of collars may look like them
        kind = None
    if kind in _WIREFRAMES:
        return f"it is {kind}, {_A_WIREFRAME}: give it as {_A_DOMAIN}"
    if kind is not None:
        return f"it is {kind}, not a table: give a wireframe as {_A_DOMAIN}, blocks as CSV"
    found = next((name for name, sign in _TEXT_SIGNS if sign.match(text)), None)
    return f"it is {found}, {_A_WIREFRAME}: give it as {_A_DOMAIN}" if found else None
