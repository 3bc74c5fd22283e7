"""Formats that geodomain does not read: how to recognise them, and what to export instead."""

from __future__ import annotations

_EXPORT = "export the wireframe as DXF, OMF or .obj"

# Advice by extension: the format and what to do.
_ADVICE = {
    ".00t": f"Vulcan's .00t is a packed format that only Vulcan reads: {_EXPORT}",
    ".bmf": "Vulcan's .bmf is a block model that only Vulcan reads: export it as CSV",
    ".isis": f"Vulcan's .isis is a database that only Vulcan reads: {_EXPORT}",
    ".duf": f"Deswik's .duf can only be read with the vendor's library: {_EXPORT}",
    ".dmx": "Datamine's .dmx is compressed: save it as .dm, or export DXF",
    ".tridb": f"Micromine's .tridb is a database that only Micromine reads: {_EXPORT}",
    ".dhdb": "Micromine's .dhdb is a database of drillholes: export CSV",
    ".lfm": "Leapfrog's .lfm is a project: export the meshes as .msh, DXF or OMF",
    ".lfview": "Leapfrog's .lfview is a scene for viewing: export the meshes as .msh, DXF or OMF",
    ".xlsx": "it is an Excel workbook, not a wireframe: save a table as CSV",
    ".xls": "it is an Excel workbook, not a wireframe: save a table as CSV",
    ".dwg": "a .dwg drawing is not read: save it as .dxf",
    ".step": "STEP holds curved surfaces: mesh it first, and export .obj or .stl",
    ".stp": "STEP holds curved surfaces: mesh it first, and export .obj or .stl",
    ".iges": "IGES holds curved surfaces: mesh it first, and export .obj or .stl",
    ".igs": "IGES holds curved surfaces: mesh it first, and export .obj or .stl",
    ".sat": "ACIS holds curved surfaces: mesh it first, and export .obj or .stl",
}
# First bytes of a file, and the usual extension of that format.
_SIGNS = (
    (b"\xea\xfb\xa7\x8a", ".00t"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
    (b"ISO-10303-21;", ".step"),
    (b"AC10", ".dwg"),
)
_WORKBOOK = b"xl/workbook.xml"


def advice(head: bytes, extension: str) -> str | None:
    """Return a message about what to export instead of such a format; None for other files.

    If the first bytes, `head`, match no format, the extension decides.
    """
    for sign, usual in _SIGNS:
        if head.startswith(sign):
            return _ADVICE[usual]
    if head.startswith(b"PK") and (_WORKBOOK in head or b"xl/" in head):
        return _ADVICE[".xlsx"]
    return _ADVICE.get(extension)
