"""Tells the format of a mesh file from its content; parses none."""

from __future__ import annotations

import re

from geodomain.io.meshes import signs
from geodomain.io.meshes.off import KEYWORD
from geodomain.io.meshes.stl import FACET, HEADER, facet_count
from geodomain.io.meshes.text import unify_lines

# The extensions under which each format is expected; the first is the usual one.
EXTENSIONS = {
    "binary STL": (".stl", ".stlb"),
    "ASCII STL": (".stl", ".stla"),
    "PLY": (".ply",),
    "OBJ": (".obj",),
    "OFF": (".off", ".coff", ".noff"),
    "VTK": (".vtk",),
    "VTP": (".vtp",),
    "VTU": (".vtu",),
    "VTI": (".vti",),
    "VTR": (".vtr",),
    "VTS": (".vts",),
    "VTM": (".vtm", ".vtmb"),
    "glTF": (".glb",),
    "DXF": (".dxf",),
    "Leapfrog mesh": (".msh",),
    "LandXML": (".xml", ".landxml"),
    "Datamine": (".dm",),
    "Surpac triangles": (".dtm",),
    "Surpac strings": (".str",),
    "OMF 1": (".omf",),
    "OMF 2": (".omf",),
    "ESRI ASCII grid": (".asc", ".grd", ".txt"),
    "TIFF": (".tif", ".tiff"),
    "3MF": (".3mf",),
    "GOCAD": (".ts", ".ml", ".gp", ".vs", ".pl", ".so", ".sg", ".vo"),
}
READABLE = "STL, PLY, OBJ, OFF, VTP, VTK, VTU, DXF, Surpac, Leapfrog, GOCAD, OMF, LandXML, Datamine"

_XML = re.compile(rb"<VTKFile\s(?:[^>]*?\s)?type\s*=\s*[\"'](\w+)[\"']")
_XML_KINDS = {
    b"PolyData": "VTP",
    b"UnstructuredGrid": "VTU",
    b"ImageData": "VTI",
    b"RectilinearGrid": "VTR",
    b"StructuredGrid": "VTS",
    b"vtkMultiBlockDataSet": "VTM",
}
_FACET = re.compile(rb"^\s*(facet|endsolid)\b", re.MULTILINE | re.IGNORECASE)
_OBJ = re.compile(
    rb"^[ \t]*(?:v[ \t]+[-+.\d]|f[ \t]+-?\d|[fv][ \t]*\\$)", re.MULTILINE | re.IGNORECASE
)
_OBJ_OTHER = re.compile(rb"^(mtllib|usemtl|vn|vt|o|g|s|l|p)[ \t]+\S", re.MULTILINE | re.IGNORECASE)
HEAD = 1 << 16


def detect(data: bytes) -> str | None:
    """Return the format of a file's content, None for one that is not known.

    A binary STL may begin with 'solid' as a text one does: its size gives it away.
    """
    head = unify_lines(data[:HEAD])
    text = head.lstrip()
    first = text.split(None, 1)[0] if text else b""
    if re.match(rb"ply[ \t]*\n", text, re.IGNORECASE):
        return "PLY"
    if (kind := signs.of_mining(data, text)) is not None:
        return kind
    if len(data) >= HEADER and len(data) == HEADER + FACET.itemsize * facet_count(data):
        return "binary STL"
    if first.lower() == b"solid" and b"\x00" not in head and _looks_like_facets(data, head):
        return "ASCII STL"
    if (kind := _vtk(text)) is not None:
        return kind
    if text.startswith(b"glTF"):
        return "glTF"
    if b"\x00" in head:
        return None
    return _plain_text(data, head)


def _looks_like_facets(data: bytes, head: bytes) -> bool:
    return bool(_FACET.search(head)) or (len(data) <= HEAD and head.count(b"\n") <= 1)


def _vtk(text: bytes) -> str | None:
    if text.lower().startswith(b"# vtk datafile"):
        return "VTK"
    found = _XML.search(text)
    return _XML_KINDS.get(found[1]) if found else None


def _plain_text(data: bytes, head: bytes) -> str | None:
    """Return OFF or OBJ, whatever comments stand before."""
    content = re.sub(rb"#[^\n]*", b"", head)
    words = content.split(None, 1)
    if words and KEYWORD.match(words[0]):
        return "OFF"
    if not words and len(data) > len(head):
        content = re.sub(rb"#[^\n]*", b"", unify_lines(data))
    if _OBJ.search(content) or _OBJ_OTHER.search(content):
        return "OBJ"
    return None


def is_broken_binary_stl(data: bytes, extension: str) -> bool:
    """Return whether a file that is no text is called STL, though its size does not fit."""
    is_text = b"\x00" not in data[:HEAD]
    return extension in EXTENSIONS["binary STL"] and not is_text
