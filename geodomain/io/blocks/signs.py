"""Tells the kind of a block-model file from its content, and where that is silent its extension."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from geodomain.io.blocks.gslib_head import read_head
from geodomain.io.meshes.off import KEYWORD
from geodomain.io.meshes.signs import of_mining
from geodomain.io.meshes.solids import split_name
from geodomain.io.meshes.text import unify_lines

Kind = Literal["datamine", "gslib", "omf1", "omf2", "parquet", "text", "voxet", "vtk"]

HEAD = 1 << 16
# The extensions of each kind, the usual one first; text and GSLIB have any other.
EXTENSIONS: dict[Kind, tuple[str, ...]] = {
    "datamine": (".dm",),
    "omf1": (".omf",),
    "omf2": (".omf",),
    "parquet": (".parquet", ".pq"),
    "voxet": (".vo",),
    "vtk": (".vti", ".vtr", ".vts", ".vtu", ".vtk"),
}
# Kinds that an extension alone names, where content is silent.
_NAMED: dict[str, Kind] = {
    extension: kind
    for kind, extensions in EXTENSIONS.items()
    if kind in ("parquet", "vtk")
    for extension in extensions
}
_VOXET = re.compile(rb"(?:\s*#[^\n]*\n)*\s*GOCAD\s+Voxet\b", re.IGNORECASE)
_MINING: dict[str, Kind] = {"Datamine": "datamine", "OMF 1": "omf1", "OMF 2": "omf2"}


def kind_of(path: str) -> Kind:
    """Name the kind of a file that is there, or is to be written; of FILE:NAME, the file's."""
    place = split_name(path)[0]
    found = _by_content(place) if place.is_file() else None
    return found or _NAMED.get(place.suffix.lower(), "text")


def _by_content(place: Path) -> Kind | None:
    """Name a kind that a file's content shows, None where it shows none."""
    with place.open("rb") as file:
        head = file.read(HEAD)
        if head.startswith(b"PK\3\4"):  # the index of a ZIP is at its end
            file.seek(max(0, place.stat().st_size - HEAD))
            head = head[:4] + file.read(HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    if read_head(head) is not None and not KEYWORD.match(head.split(b"\n")[0].strip()):
        return "gslib"
    if _VOXET.match(unify_lines(head)):
        return "voxet"
    return _MINING.get(of_mining(head, head) or "")
