"""Tells the formats of the mining packages by what their files begin with; parses none."""

from __future__ import annotations

import re

from geodomain.io.datamine.table import is_table

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
