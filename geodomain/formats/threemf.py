"""Reads 3MF; coordinates keep the axes and the unit of the file."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.errors import MeshError, warn
from geodomain.formats.mesh_text import damaged, floats, integers
from geodomain.formats.solids import NamedFaces
from geodomain.mesh.polygons import Faces

_RELATIONS = "_rels/.rels"
_DEEPEST = 100  # levels of nested elements, and of components
_TRIANGLE_BYTES = 400  # at the peak, per placed triangle
_PLACEMENT_BYTES = 2000
_WORK = 1 << 30  # bytes that are always allowed
_WRONG = (expat.ExpatError, zipfile.BadZipFile, zlib.error, EOFError, OSError, LookupError,
          ValueError, RuntimeError, NotImplementedError)  # fmt: skip
_Key = tuple[str, str]  # key: a model part and an object in it


@dataclass
class _Object:
    """An object: the words of its mesh, or the objects that it places, with their transforms."""

    name: str
    places: list[str] = field(default_factory=list)
    corners: list[str] = field(default_factory=list)
    components: list[tuple[_Key, str]] = field(default_factory=list)


class _Part:
    """Handlers for the events of the XML parser expat; they collect the objects of a model part."""

    def __init__(self, file: str, part: str) -> None:
        self.file, self.part, self.unit = file, part, "millimeter"
        self.objects: dict[str, _Object] = {}
        self.items: list[tuple[_Key, str]] = []
        self._now: _Object | None = None
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._depth += 1
        if self._depth > _DEEPEST:
            raise damaged(self.file, f"elements are nested more than {_DEEPEST} deep")
        if tag == "model":
            self.unit = attributes.get("unit", self.unit)
        elif tag == "object":
            name = attributes.get("name") or f"object_{attributes['id']}"
            self._now = self.objects[attributes["id"]] = _Object(name)
        elif tag == "item":
            self.items.append(self._placed(attributes))
        elif self._now is None:
            return
        elif tag == "vertex":
            self._now.places += [attributes["x"], attributes["y"], attributes["z"]]
        elif tag == "triangle":
            self._now.corners += [attributes["v1"], attributes["v2"], attributes["v3"]]
        elif tag == "component":
            self._now.components.append(self._placed(attributes))

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag.rpartition(":")[2] == "object":
            self._now = None

    def _placed(self, attributes: dict[str, str]) -> tuple[_Key, str]:
        other = (value for key, value in attributes.items() if key.endswith(":path"))
        part = next(other, self.part).lstrip("/")
        return (part, attributes["objectid"]), attributes.get("transform", "")

    def refuse_doctype(self, *_: object) -> None:
        raise damaged(self.file, "it has a DOCTYPE, which 3MF does not allow")


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the objects of a 3MF in the positions given by its build items and components.

    Warns
    -----
    GeodomainWarning
        If the unit is not the metre.
    """
    file = path.name
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            memory.require_members(archive, file, MeshError)
            scene = _Scene(archive, file, len(data))
            solids = list(scene.parts())
    except MeshError:
        raise
    except _WRONG as wrong:
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(file, f"it is not the ZIP of a 3MF model ({reason})") from wrong
    if not solids:
        message = f"{file} has no triangles: export the wireframe as a mesh"
        raise MeshError(message)
    if scene.root.unit != "meter":
        message = (
            f"{file} has the unit {scene.root.unit}: coordinates are not converted, so scale the "
            "wireframe if the blocks have another unit"
        )
        warn(message)
    return solids


class _Scene:
    """The model parts of a file, and the objects placed by its build items."""

    def __init__(self, archive: zipfile.ZipFile, file: str, size: int) -> None:
        self.file, self._archive, self._size = file, archive, size
        self._read: dict[str, _Part] = {}
        self._meshes: dict[_Key, Faces] = {}
        self.root = self._part(self._start())

    def _start(self) -> str:
        """Return the name of the model part with the build items."""
        names = self._archive.namelist()
        if _RELATIONS in names:
            targets: list[str] = []

            def relation(_: str, attributes: dict[str, str]) -> None:
                if attributes.get("Type", "").endswith("/3dmodel"):
                    targets.append(attributes["Target"].lstrip("/"))

            parser = expat.ParserCreate()
            parser.StartElementHandler = relation
            parser.Parse(self._archive.read(_RELATIONS), True)
            if targets and targets[0] in names:
                return targets[0]
        models = sorted((name for name in names if name.endswith(".model")), key=len)
        if not models:
            raise damaged(self.file, "it holds no model (3D/3dmodel.model)")
        usual = "3D/3dmodel.model"
        return usual if usual in models else models[0]

    def _part(self, name: str) -> _Part:
        if name not in self._read:
            part = _Part(self.file, name)
            parser = expat.ParserCreate()
            parser.StartElementHandler, parser.EndElementHandler = part.start, part.end
            parser.StartDoctypeDeclHandler = part.refuse_doctype
            parser.Parse(self._archive.read(posixpath.normpath(name)), True)
            self._read[name] = part
        return self._read[name]

    def _object(self, key: _Key) -> _Object:
        shape = self._part(key[0]).objects.get(key[1])
        if shape is None:
            raise damaged(self.file, f"it places the object {key[1]!r}, which does not exist")
        return shape

    def parts(self) -> Iterator[NamedFaces]:
        """Yield the mesh of each placed object, in the order of the items."""
        counts: dict[_Key, tuple[float, float]] = {}
        placements, triangles = 0.0, 0.0
        for key, _ in self.root.items:
            more, several = self._count(key, counts, 0)
            placements, triangles = placements + more, triangles + several
        memory.require_unpacked(
            _TRIANGLE_BYTES * triangles + _PLACEMENT_BYTES * placements,
            self._size,
            f"{self.file}, whose items have {triangles:,.0f} triangles,",
            MeshError,
            work=_WORK,
        )
        for key, transform in self.root.items:
            yield from self._placed(key, _matrix(transform, np.eye(4, 3), self.file))

    def _count(
        self, key: _Key, counts: dict[_Key, tuple[float, float]], depth: int
    ) -> tuple[float, float]:
        """Return how many objects and triangles an object places, with all its components."""
        if depth > _DEEPEST:
            raise damaged(self.file, f"components are nested more than {_DEEPEST} deep")
        if key not in counts:
            own = self._object(key)
            placements, triangles = 1.0, len(own.corners) / 3
            for inner, _ in own.components:
                more, several = self._count(inner, counts, depth + 1)
                placements, triangles = placements + more, triangles + several
            counts[key] = placements, triangles
        return counts[key]

    def _placed(self, key: _Key, matrix: NDArray[np.float64]) -> Iterator[NamedFaces]:
        own = self._object(key)
        if own.corners:
            faces = self._mesh(key, own)
            if not np.array_equal(matrix, np.eye(4, 3)):
                faces = faces._replace(vertices=faces.vertices @ matrix[:3] + matrix[3])
            yield own.name, faces
        for inner, transform in own.components:
            yield from self._placed(inner, _matrix(transform, matrix, self.file))

    def _mesh(self, key: _Key, own: _Object) -> Faces:
        if key not in self._meshes:
            where = f"object {key[1]!r}"
            places = floats([word.encode() for word in own.places], self.file, lambda _: where)
            corners = integers([word.encode() for word in own.corners], self.file, lambda _: where)
            sizes = np.full(len(corners) // 3, 3, dtype=np.int64)
            self._meshes[key] = Faces(places.reshape(-1, 3), corners, sizes)
        return self._meshes[key]


def _matrix(text: str, outer: NDArray[np.float64], file: str) -> NDArray[np.float64]:
    """Return the transform in `text`, followed by the transform `outer`, as a (4, 3) matrix.

    The matrix multiplies row vectors. It has three rows of rotation and scale, then a row of
    translation.
    """
    if not text.strip():
        return outer
    own = floats(text.encode().split(), file, lambda _: "a transform")
    if own.shape != (12,):
        raise damaged(file, "a transform does not have 12 numbers")
    made = own.reshape(4, 3) @ outer[:3]
    made[3] += outer[3]
    return made
