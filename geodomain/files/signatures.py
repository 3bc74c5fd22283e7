"""Signs that formats are recognised by."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from geodomain.files.datamine import is_table
from geodomain.files.gslib import read_head

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def unify_lines(data: bytes) -> bytes:
    """Return the text with plain line ends and without a byte-order mark."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


# ST, C and N announce texture, colour and normal after x, y, z; 4 and n other dimensions.
KEYWORD = re.compile(rb"(ST)?C?N?(4?n?)OFF$", re.IGNORECASE)

HEADER = 84

FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def facet_count(head: bytes) -> int:
    """Return the number of facets that a binary header promises."""
    return int.from_bytes(head[80:84], "little")


def split_name(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    r"""Return the file and the name of the solid in it, None where the path names none.

    A file that is there wins over a name, and the colon of a drive (C:\a.dxf) starts no name.
    """
    text = os.fspath(path)
    if not Path(text).exists():
        for at in _colons(text):
            if Path(text[:at]).is_file():
                return Path(text[:at]), text[at + 1 :]
    return Path(text), None


def _colons(text: str) -> Iterator[int]:
    """Yield where a name may start: each colon with text on both sides that is no drive's."""
    for at, character in enumerate(text[:-1]):
        if character == ":" and at > 0 and not (at == 1 and text[2] in "\\/"):
            yield at


# --- Tells the formats of the mining packages by what their files begin with; parses none.

# Kind, and what the start of the file (blanks before text removed) must match.
_TEXT_SIGNS = (
    (
        "DXF",
        re.compile(rb"AutoCAD Binary DXF\n|(?:999[ \t]*\n[^\n]*\n\s*)*0[ \t]*\n[ \t]*SECTION\b"),
    ),
    ("Leapfrog mesh", re.compile(rb"%%?ARANZ")),
    ("LandXML", re.compile(rb"(?s:<(?:.*?<)?(?:\w+:)?LandXML\b)")),
    ("Surpac triangles", re.compile(rb"[^\n]*\.str *,[^\n]*\n", re.IGNORECASE)),
    ("Surpac strings", re.compile(rb"[^\n,]+,[^\n,]*,[^\n]*\n *0 *,(?: *[-+.\dEe]+ *,){2}")),
    (
        "ESRI ASCII grid",
        re.compile(rb"(?i:ncols|nrows|[xy]ll(?:corner|center)|cellsize|d[xy])[ \t]+[-+.\d]"),
    ),
    ("GOCAD", re.compile(rb"(?:#[^\n]*\n\s*)*GOCAD\s", re.IGNORECASE)),
)


_BYTES_SIGNS = (
    ("OMF 1", b"\x84\x83\x82\x81"),
    ("TIFF", b"II*\0"),
    ("TIFF", b"MM\0*"),
    ("TIFF", b"II+\0"),
    ("TIFF", b"MM\0+"),
    ("glTF", b"glTF"),
)
# What names a member that only archives of that kind have.
_MEMBERS = (
    ("OMF 2", b"index.json.gz"),
    ("OMF 2", b"project.json"),
    ("3MF", b"3D/3dmodel.model"),
)


def of_mining(data: bytes, text: bytes) -> str | None:
    """Return the format of a file, None for one of another kind.

    `text` is the head of the data with plain line ends and without blanks before it.
    """
    for kind, start in _BYTES_SIGNS:
        if data.startswith(start):
            return kind
    if data.startswith(b"PK\3\4"):
        return next((kind for kind, name in _MEMBERS if name in data), None)
    for kind, sign in _TEXT_SIGNS:
        if sign.match(text):
            return kind
    if is_table(data):
        return "Datamine"
    return None


# --- Tells the format of a mesh file from its content; parses none.

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
    if (kind := of_mining(data, text)) is not None:
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


# --- Formats that only the program can read that writes them: their signs, and what to export.

_EXPORT = "export the wireframe as DXF, OMF or .obj"

# By extension: what it is and what to do.
_ADVICE = {
    ".00t": f"Vulcan's .00t is packed in a way that only Vulcan reads: {_EXPORT}",
    ".bmf": "Vulcan's .bmf is a block model that only Vulcan reads: export it as CSV",
    ".isis": f"Vulcan's .isis is a database that only Vulcan reads: {_EXPORT}",
    ".duf": f"Deswik's .duf is read by the vendor's library alone: {_EXPORT}",
    ".dmx": "Datamine's .dmx is compressed: save it as .dm, or export DXF",
    ".tridb": f"Micromine's .tridb is a database that only Micromine reads: {_EXPORT}",
    ".dhdb": "Micromine's .dhdb is a database of drillholes: export CSV",
    ".lfm": "Leapfrog's .lfm is a project: export the meshes as .msh, DXF or OMF",
    ".lfview": "Leapfrog's .lfview is a scene to look at: export the meshes as .msh, DXF or OMF",
    ".geoh5": f"a .geoh5 file (HDF5) is not read: {_EXPORT}",
    ".xlsx": "it is an Excel workbook, not a wireframe: save a table as CSV",
    ".xls": "it is an Excel workbook, not a wireframe: save a table as CSV",
    ".dwg": "a .dwg drawing is not read: save it as .dxf",
    ".step": "STEP holds curved surfaces: mesh it first, and export .obj or .stl",
    ".stp": "STEP holds curved surfaces: mesh it first, and export .obj or .stl",
    ".iges": "IGES holds curved surfaces: mesh it first, and export .obj or .stl",
    ".igs": "IGES holds curved surfaces: mesh it first, and export .obj or .stl",
    ".sat": "ACIS holds curved surfaces: mesh it first, and export .obj or .stl",
}
# By content: what a file begins with, and the extension that it has by custom.
_SIGNS = (
    (b"\xea\xfb\xa7\x8a", ".00t"),
    (b"\x89HDF\r\n\x1a\n", ".geoh5"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
    (b"ISO-10303-21;", ".step"),
    (b"AC10", ".dwg"),
)
_WORKBOOK = b"xl/workbook.xml"


def advice(head: bytes, extension: str) -> str | None:
    """Return what to do with a file of a closed format, None for any other."""
    for sign, known in _SIGNS:
        if head.startswith(sign):
            return _ADVICE[known]
    if head.startswith(b"PK") and (_WORKBOOK in head or b"xl/" in head):
        return _ADVICE[".xlsx"]
    return _ADVICE.get(extension)


# --- Name the format of a file that was given as a text table and is none.

_WIREFRAMES = {"DXF", "Leapfrog mesh", "LandXML", "Surpac triangles", "glTF", "3MF"}
_WIREFRAME_SIGNS = (
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
    return describe_text(head, extension) or advice(head, extension)


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
    found = next((name for name, sign in _WIREFRAME_SIGNS if sign.match(text)), None)
    return f"it is {found}, {_A_WIREFRAME}: give it as {_A_DOMAIN}" if found else None


# --- Tells the kind of a block-model file from its content, and where that is silent its extension.

Kind = Literal["datamine", "gslib", "omf1", "omf2", "parquet", "text", "voxet", "vtk"]
# The extensions of each kind, the usual one first; text and GSLIB have any other.
BLOCK_EXTENSIONS: dict[Kind, tuple[str, ...]] = {
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
    for kind, extensions in BLOCK_EXTENSIONS.items()
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
