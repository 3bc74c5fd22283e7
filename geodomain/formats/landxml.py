"""Reads the triangulated surfaces of LandXML."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

import numpy as np

from geodomain.errors import MeshError, counted, warn
from geodomain.formats.mesh_text import floats
from geodomain.formats.solids import NamedFaces, warn_of_repeats
from geodomain.mesh.polygons import Faces

_DEEPEST = 1000
_CLIPS = {"outer", "void", "island"}
# LandXML's names of the foot: names for elevations do not distinguish kinds of foot.
_FEET = {"foot": "feet", "ussurveyfoot": "feet", "feet": "feet"}


class _Surface:
    """A surface while it is read: ids, points and faces as text."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, ""
        self.ids: list[str] = []
        self.points: list[str] = []
        self.faces: list[str] = []


class _Parser:
    """Handlers for the events of the XML parser expat; they collect the surfaces."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.surfaces: list[_Surface] = []
        self._inside: list[str] = []
        self._text: list[str] = []
        self._surface = 0  # nesting depth within the current surface, 0 outside
        self._point_or_face = 0  # nesting depth of the current point or face, 0 outside
        self.clipped: str | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        parent = self._inside[-1] if self._inside else ""
        self._inside.append(tag)
        if len(self._inside) > _DEEPEST:
            message = (
                f"{self.file} nests elements more than {_DEEPEST:,} deep, which valid LandXML "
                "never does: export it again"
            )
            raise MeshError(message)
        if tag in {"Metric", "Imperial"} and parent == "Units":
            self._require_one_unit(attributes)
        if tag == "Surface":
            self.surfaces.append(_Surface(attributes.get("name", "")))
            self._surface = self._surface or len(self._inside)
        if not self._surface or self._point_or_face:
            return
        now = self.surfaces[-1]
        if tag == "P" and parent == "Pnts":
            now.ids.append(attributes.get("id", ""))
            self._point_or_face = len(self._inside)
        elif tag == "F" and parent == "Faces":
            if attributes.get("i") != "1":  # invisible faces are not part of the surface
                self._point_or_face = len(self._inside)
        elif tag == "Definition":
            now.kind = attributes.get("surfType", "")
        elif tag == "Boundary" and attributes.get("bndType") in _CLIPS:
            self.clipped = now.name
        self._text = []

    def text(self, text: str) -> None:
        if self._point_or_face == len(self._inside):  # unlike the name of a Feature in the surface
            self._text.append(text)

    def end(self, tag: str) -> None:
        if self._point_or_face == len(self._inside):
            now = self.surfaces[-1]
            (now.points if self._inside[-1] == "P" else now.faces).append("".join(self._text))
            self._point_or_face = 0
        if self._surface == len(self._inside):
            self._surface = 0
        self._inside.pop()

    def _require_one_unit(self, attributes: dict[str, str]) -> None:
        """Refuse lengths and elevations in different units, because points have one unit."""
        across, up = (attributes.get(key, "") for key in ("linearUnit", "elevationUnit"))
        across, up = across or up, up or across
        if _FEET.get(across.casefold(), across) != _FEET.get(up.casefold(), up):
            message = (
                f"{self.file} has lengths in {across} and elevations in {up}: export it with one"
                " unit for both"
            )
            raise MeshError(message)

    def refuse_doctype(self, *_: object) -> None:
        message = f"{self.file} has a DOCTYPE, which LandXML does not need: remove it"
        raise MeshError(message)


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the triangulated surfaces of a file; skip boundaries, breaklines and contours."""
    content = _parse(data, path.name)
    parts = [
        (surface.name, _faces(surface, path.name)) for surface in content.surfaces if surface.faces
    ]
    if not parts:
        kinds = {surface.kind for surface in content.surfaces if surface.kind}
        what = " of the type " + " or ".join(map(repr, sorted(kinds))) if kinds else ""
        message = (
            f"{path.name} has {counted(len(content.surfaces), 'LandXML surface')}{what} without "
            "faces: export triangulated surfaces (TIN)"
        )
        raise MeshError(message)
    if content.clipped is not None:
        message = (
            f"{path.name}: surface {content.clipped!r} has boundaries that clip it when it is "
            "drawn; all of its triangles are read"
        )
        warn(message)
    warn_of_repeats([name for name, _ in parts], path.name)
    return parts


def _parse(data: bytes, file: str) -> _Parser:
    handler = _Parser(file)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = handler.start, handler.end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = handler.refuse_doctype
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as wrong:
        if isinstance(wrong, MeshError):
            raise
        message = f"{file} is truncated or not XML ({wrong}): copy or export the file again"
        raise MeshError(message) from None
    return handler


def _faces(surface: _Surface, file: str) -> Faces:
    """Return the faces of a surface; LandXML stores points as northing, easting, elevation."""
    words = [point.split() for point in surface.points]
    short = next((i for i, row in enumerate(words) if len(row) < 3), None)
    if short is not None:
        message = f"{file}: point {surface.ids[short]!r} has no elevation: export the surface in 3D"
        raise MeshError(message)
    tokens = [word.encode() for row in words for word in row[:3]]
    places = floats(tokens, file, lambda i: f"point {surface.ids[i // 3]!r}").reshape(-1, 3)
    rows = {name: i for i, name in enumerate(surface.ids)}
    if len(rows) < len(surface.ids):
        message = (
            f"{file}: surface {surface.name!r} has two points with the same id: export it again"
        )
        raise MeshError(message)
    faces = [face.split() for face in surface.faces]
    try:
        corners = [rows[name] for face in faces for name in face]
    except KeyError as unknown:
        message = (
            f"{file}: a face of surface {surface.name!r} refers to point {unknown}, which does not "
            "exist: export it again"
        )
        raise MeshError(message) from None
    sizes = np.array([len(face) for face in faces], dtype=np.int64)
    vertices = np.ascontiguousarray(places[:, [1, 0, 2]])
    return Faces(vertices, np.array(corners, dtype=np.int64), sizes)
