"""Reads binary glTF 2.0 (.glb): the triangles of its scene in scene coordinates."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.arrays import COARSE, single_resolution
from geodomain.errors import MeshError, counted, warn
from geodomain.formats.mesh_text import damaged, truncated
from geodomain.formats.solids import NamedFaces, listed
from geodomain.mesh.polygons import Faces, require_indices

_HEADER, _CHUNK_HEADER = 12, 8
_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC3": 3}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_CORNER_BYTES = 100
_WORK = 1 << 30  # bytes that are always allowed: about 10 million corners, in ten seconds
# Required extensions that do not change the shape.
_HARMLESS = (
    "KHR_mesh_quantization",
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "EXT_texture_",
)
_INSTANCING = "EXT_mesh_gpu_instancing"
_BAD_TREE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the mesh of each node in coordinates (east, north, up).

    These are (x, -z, y) in the coordinates of glTF, whose y axis points up.

    Raises
    ------
    MeshError
        If the file is damaged, or requires an unsupported extension such as compression.

    Warns
    -----
    GeodomainWarning
        If the shape depends on features that are not read (skins, morph targets, GPU instances,
        nodes outside the scene); and if coordinates are quantized in steps of 0.01 or more.
    """
    file = path.name
    try:
        tree, blob = _chunks(data, file)
        _require_extensions(tree, file)
        parts = list(_Scene(tree, blob, file, len(data)).parts())
    except MeshError:
        raise
    except _BAD_TREE as wrong:
        reason = " ".join(str(wrong).split())[:80]
        fault = f"its JSON description does not follow glTF ({type(wrong).__name__}: {reason})"
        raise damaged(file, fault) from wrong
    if not parts:
        message = f"{file} has no triangles in its scene: export the wireframe as a mesh"
        raise MeshError(message)
    return parts


def _chunks(data: bytes, file: str) -> tuple[dict[str, Any], bytes]:
    """Return the two chunks of a .glb: the parsed JSON description, and the binary data."""
    version, length, json_length = (
        int.from_bytes(data[at : at + 4], "little") for at in (4, 8, 12)
    )
    start = _HEADER + _CHUNK_HEADER
    if len(data) < max(length, start + json_length) or len(data) < start:
        raise truncated(
            file, f"{max(length, start + json_length):,} bytes", f"the file has {len(data):,}"
        )
    if version != 2 or data[16:20] != b"JSON":
        message = (
            f"{file} is not glTF 2.0 with a JSON description (it declares version {version}): "
            "export it as glTF 2.0"
        )
        raise MeshError(message)
    memory.require_json(json_length, f"{file}: its description", MeshError)
    try:
        tree = json.loads(data[start : start + json_length])
    except (ValueError, RecursionError) as wrong:
        raise damaged(file, f"its description is not valid JSON ({str(wrong)[:80]})") from wrong
    at = start + json_length
    size = int.from_bytes(data[at : at + 4], "little")
    binary = data[at + 4 : at + 8] == b"BIN\0"
    if binary and size > len(data) - at - _CHUNK_HEADER:
        raise truncated(file, f"{size:,} bytes of arrays", f"there are {len(data) - at - 8:,}")
    at += _CHUNK_HEADER
    return tree, data[at : at + size] if binary else b""


def _require_extensions(tree: dict[str, Any], file: str) -> None:
    unread = [name for name in tree.get("extensionsRequired", ()) if not name.startswith(_HARMLESS)]
    if unread:
        message = (
            f"{file} requires the glTF extension {listed(unread)}, which is not supported: export "
            "it without extensions such as compression"
        )
        raise MeshError(message)


class _Scene:
    """The meshes of a glTF and the matrices that place them."""

    def __init__(self, tree: dict[str, Any], blob: bytes, file: str, size: int) -> None:
        self.tree, self.blob, self.file, self.size = tree, blob, file, size
        self.buffers: dict[int, bytes] = {}
        self.meshes: dict[
            int, list[tuple[Faces, float]]
        ] = {}  # mesh faces with the quantization step of their coordinates
        self.step = 0.0  # the coarsest step

    def parts(self) -> Iterator[NamedFaces]:
        """Yield the faces of each node that has a mesh."""
        placed = list(self._placed())
        self._require_room([mesh for mesh, _ in placed])
        for mesh, matrix in placed:
            name = str(self.tree["meshes"][mesh].get("name", ""))
            for faces in self._mesh(mesh, matrix):
                yield name, faces
        if self.step >= COARSE:
            message = (
                f"{self.file} stores coordinates rounded to steps of up to {self.step:g} (in"
                " the unit of the file): export it in floating point"
            )
            warn(message)

    def _placed(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the mesh number and matrix of each node of the scene that has a mesh."""
        nodes = self.tree.get("nodes", [])
        scenes = self.tree.get("scenes")
        children = {child for node in nodes for child in node.get("children", ())}
        roots = (
            scenes[self.tree.get("scene", 0)].get("nodes", [])
            if scenes
            else [number for number in range(len(nodes)) if number not in children]
        )
        identity = np.eye(4)
        waiting = [(number, identity) for number in reversed(roots)]
        seen: set[int] = set()
        unread: set[str] = set()
        while waiting:
            number, above = waiting.pop()
            if number in seen or number < 0:
                raise damaged(self.file, f"its node {number} has two parents")
            seen.add(number)
            node = nodes[number]
            matrix = (
                above
                if not {"matrix", "translation", "rotation", "scale"} & node.keys()
                else (_times(above, _matrix(node)))
            )
            waiting += [(child, matrix) for child in reversed(node.get("children", ()))]
            if "mesh" in node:
                yield int(node["mesh"]), matrix
                unread.update(self._not_read(node))
        outside = sum("mesh" in node for i, node in enumerate(nodes) if i not in seen)
        if outside:
            unread.add(f"{counted(outside, 'node')} outside its scene")
        if unread:
            message = (
                f"{self.file} has {listed(sorted(unread))}, which are not read: check the shape "
                "of the mesh"
            )
            warn(message)

    def _not_read(self, node: dict[str, Any]) -> Iterator[str]:
        """Yield the names of a node's features that change its shape but are not read."""
        if "skin" in node:
            yield "skins"
        if any("targets" in part for part in self.tree["meshes"][node["mesh"]]["primitives"]):
            yield "morph targets"
        if _INSTANCING in node.get("extensions", {}):
            yield "instances on the GPU"

    def _require_room(self, meshes: list[int]) -> None:
        """Refuse a file whose accessors or repeated meshes need more memory than there is."""
        counts = [float(accessor["count"]) for accessor in self.tree.get("accessors", ())]
        what = f"{self.file}, with the number of values that its accessors declare,"
        memory.require(16 * sum(counts), what, MeshError)
        corners = 0.0
        for mesh in meshes:
            for part in self.tree["meshes"][mesh]["primitives"]:
                corners += (
                    counts[part["attributes"]["POSITION"]]
                    if "POSITION" in part["attributes"]
                    else 0
                )
                corners += 3 * counts[part["indices"]] if "indices" in part else 0
        what = f"{self.file}, whose nodes repeat meshes,"
        memory.require_unpacked(_CORNER_BYTES * corners, self.size, what, MeshError, work=_WORK)

    def _mesh(self, number: int, matrix: NDArray[np.float64]) -> Iterator[Faces]:
        """Yield the faces of a mesh, transformed by a matrix and with z up."""
        if number not in self.meshes:
            parts = (self._primitive(part) for part in self.tree["meshes"][number]["primitives"])
            self.meshes[number] = [part for part in parts if part is not None]
        moved = not np.array_equal(matrix, np.eye(4))
        mirrored = np.linalg.det(matrix[:3, :3]) < 0
        longest = np.sqrt((matrix[:3, :3] ** 2).sum(axis=0)).max()
        for faces, step in self.meshes[number]:
            self.step = max(self.step, float(step * longest))
            x, y, z = faces.vertices.T
            if moved:
                x, y, z = (a * x + b * y + c * z + shift for a, b, c, shift in matrix[:3].tolist())
            corners = faces.corners[::-1] if mirrored else faces.corners
            yield faces._replace(vertices=np.stack([x, -z, y], axis=1), corners=corners)

    def _primitive(self, part: dict[str, Any]) -> tuple[Faces, float] | None:
        """Return the triangles of a primitive and the quantization step of its coordinates.

        The step is 0 for floats. The result is None for points and lines.
        """
        mode = part.get("mode", _TRIANGLES)
        if mode not in {_TRIANGLES, _STRIP, _FAN} or "POSITION" not in part["attributes"]:
            return None
        positions = self.tree["accessors"][part["attributes"]["POSITION"]]
        vertices = self._array(positions, 3)
        # Floats near the origin of their node are accurate, because its transform is in double
        # precision.
        kind = np.dtype(_TYPES[positions["componentType"]])
        single = kind.kind == "f" and single_resolution(vertices) >= COARSE
        step = 0.0
        if kind.kind != "f":
            step = 1 / np.iinfo(kind).max if positions.get("normalized") else 1.0
        order = (
            self._array(self.tree["accessors"][part["indices"]], 1)[:, 0].astype(np.int64)
            if "indices" in part
            else np.arange(len(vertices))
        )
        corners = _triangles(order, mode)
        faces = Faces(vertices, corners.reshape(-1), np.full(len(corners), 3), single)
        if not len(corners):
            return None
        require_indices(faces, self.file)
        return faces, step

    def _array(self, accessor: dict[str, Any], width: int) -> NDArray[np.float64]:
        """Return the values of an accessor as float64 (count, width).

        Normalized integers become fractions; all other numbers keep their exact values.
        """
        count, kind = int(accessor["count"]), np.dtype(_TYPES[accessor["componentType"]])
        if _WIDTHS.get(accessor["type"]) != width or count < 0:
            declared = f"an accessor declares {count} values of the type {accessor['type']}"
            raise damaged(self.file, f"{declared}, which does not fit its use")
        rows = np.zeros((count, width), dtype=kind)
        if "bufferView" in accessor:
            rows[:] = self._view(accessor, kind, count, width)
        if sparse := accessor.get("sparse"):
            changed, values = sparse["indices"], sparse["values"]
            number = np.dtype(_TYPES[changed["componentType"]])
            places = self._view(changed, number, sparse["count"], 1)[:, 0]
            if len(places) and (number.kind == "f" or places.min() < 0 or places.max() >= count):
                raise damaged(self.file, "a sparse accessor changes a row that does not exist")
            rows[places] = self._view(values, kind, sparse["count"], width)
        numbers = rows.astype(np.float64)
        if width == 3 and kind.kind != "f" and accessor.get("normalized"):
            numbers = np.maximum(numbers / np.iinfo(kind).max, -1.0)
        return numbers

    def _view(
        self, place: dict[str, Any], kind: np.dtype[Any], count: int, width: int
    ) -> NDArray[Any]:
        """Return `count` rows of `width` numbers from a buffer, contiguous or with a stride."""
        view = self.tree["bufferViews"][place["bufferView"]]
        data = self._buffer(view["buffer"])
        row = kind.itemsize * width
        stride = int(view.get("byteStride", row))
        inner, start = int(place.get("byteOffset", 0)), int(view.get("byteOffset", 0))
        size = int(view["byteLength"])
        needed = inner + (count - 1) * stride + row if count else 0
        if (
            min(inner, start, count) < 0
            or stride < row
            or needed > size
            or start + size > len(data)
        ):
            raise damaged(self.file, "an accessor extends beyond its buffer")
        if not count:
            return np.zeros((0, width), dtype=kind)
        rows: NDArray[Any] = np.ndarray(
            (count, width), kind, data, start + inner, (stride, kind.itemsize)
        )
        return rows

    def _buffer(self, number: int) -> bytes:
        """Return the bytes of a buffer: the binary chunk, or base64 data in the description."""
        if number not in self.buffers:
            uri = self.tree["buffers"][number].get("uri")
            if uri is None:
                self.buffers[number] = self.blob
            elif uri.startswith("data:"):
                self.buffers[number] = base64.b64decode(uri.partition(",")[2], validate=True)
            else:
                message = (
                    f"{self.file} stores its numbers in another file, {uri[:60]!r}: export a "
                    "single .glb"
                )
                raise MeshError(message)
        return self.buffers[number]


def _triangles(order: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Return the triangles (n, 3) of a list, strip or fan of vertices, as defined by glTF 2.0."""
    if mode == _TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    i = np.arange(max(len(order) - 2, 0))
    if mode == _FAN:
        made = np.stack([order[i + 1], order[i + 2], order[np.zeros_like(i)]], axis=1)
    else:
        made = np.stack([order[i], order[i + 1 + i % 2], order[i + 2 - i % 2]], axis=1)
    a, b, c = made.T
    return np.asarray(made[(a != b) & (b != c) & (c != a)])  # repeated vertices join two strips


def _times(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply two matrices, with the same bits on every machine."""
    return np.asarray((a[:, :, None] * b[None]).sum(axis=1))


def _matrix(node: dict[str, Any]) -> NDArray[np.float64]:
    """Return the 4 x 4 matrix of a node, stated directly or as scale, rotation and translation."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = (float(value) for value in node.get("rotation", (0, 0, 0, 1)))
    length = x * x + y * y + z * z + w * w
    twice = 2 / length if length else 0.0
    turned = np.array(
        [
            [1 - twice * (y * y + z * z), twice * (x * y - z * w), twice * (x * z + y * w)],
            [twice * (x * y + z * w), 1 - twice * (x * x + z * z), twice * (y * z - x * w)],
            [twice * (x * z - y * w), twice * (y * z + x * w), 1 - twice * (x * x + y * y)],
        ]
    )
    made = np.eye(4)
    made[:3, :3] = turned * np.array(node.get("scale", (1, 1, 1)), dtype=np.float64)
    made[:3, 3] = node.get("translation", (0, 0, 0))
    return made
