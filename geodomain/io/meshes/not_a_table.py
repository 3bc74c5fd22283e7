"""Name the format of a file that was given as a text table and is none."""

from __future__ import annotations

from geodomain.io.datamine.table import is_table
from geodomain.io.meshes import closed
from geodomain.io.meshes.signs import of_mining
from geodomain.io.meshes.stl import FACET, HEADER, facet_count

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
    kind = of_mining(head, head)
    if kind is not None:
        return f"it is {kind}, not a table: give a wireframe as {_A_DOMAIN}, blocks as CSV"
    if head.startswith(b"ply"):
        return f"it is PLY, {_A_WIREFRAME}: give it as {_A_DOMAIN}"
    return closed.advice(head, extension)
