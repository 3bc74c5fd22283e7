"""Reads glTF and 3MF through trimesh; parses neither."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from geodomain import memory
from geodomain.arrays import COARSE, single_resolution
from geodomain.errors import MeshError, warn
from geodomain.io.meshes.solids import NamedFaces
from geodomain.io.meshes.text import damaged
from geodomain.mesh.faces import Faces

_OBJECT = re.compile(rb"""<(?:\w+:)?object\b[^>]*?\bname\s*=\s*["']([^"']*)["']""")


def read_glb(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the nodes of a glTF, whose y is up: (x, -z, y) is (east, north, up)."""
    return _read(data, path, "glb", [0, 2, 1], [1.0, -1.0, 1.0])


def read_3mf(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the objects of a 3MF, in its own axes and unit.

    Warns
    -----
    GeodomainWarning
        If the unit is not the metre.
    """
    return _read(data, path, "3mf", [0, 1, 2], [1.0, 1.0, 1.0])


def _read(
    data: bytes, path: Path, kind: str, axes: list[int], signs: list[float]
) -> list[NamedFaces]:
    try:
        import trimesh

        _require_room(data, path.name, kind)
        scene: Any = trimesh.load(
            io.BytesIO(data), file_type=kind, process=False, force="scene", merge_primitives=False
        )
        parts = [_part(scene, node, kind, axes, signs) for node in scene.graph.nodes_geometry]
        again = _renamed(_names_of(data, kind))
    except MeshError:
        raise
    except ImportError as lacking:
        message = (
            f"{path.name} is {kind}, which is read through trimesh ({lacking}): install it with"
            " pip install 'geodomain[trimesh]', or export it as .ply"
        )
        raise MeshError(message) from None
    except Exception as wrong:  # of any kind, from a library that reads any file
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(path.name, f"trimesh cannot read it ({reason})") from wrong
    found = [(again.get(part[0], part[0]), part[1]) for part in parts if part is not None]
    if not found:
        message = f"{path.name} has no triangles: export the wireframe as a mesh"
        raise MeshError(message)
    if kind == "3mf" and (unit := str(scene.metadata.get("units", "meter"))) != "meter":
        message = (
            f"{path.name} says that its unit is the {unit}: coordinates are taken as they are, so"
            " scale the wireframe if that is not the unit of the blocks"
        )
        warn(message)
    return found


def _require_room(data: bytes, name: str, kind: str) -> None:
    """Refuse what would take more memory than there is: of bombs, and numbers without bytes."""
    if kind == "3mf":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            memory.require_members(archive, name, MeshError)
        return
    length = int.from_bytes(data[12:16], "little")
    memory.require_json(length, f"{name}: its description", MeshError)
    tree = json.loads(data[20 : 20 + length])
    counts = [float(one["count"]) for one in tree.get("accessors", ())]
    memory.require(16 * sum(counts), f"{name}, with accessors of so many numbers,", MeshError)


def _names_of(data: bytes, kind: str) -> list[str]:
    """Return the names that the file itself gives its meshes, one for each part of a mesh."""
    if kind == "glb":
        tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
        return [
            str(mesh.get("name", "GLTF")) for mesh in tree["meshes"] for _ in mesh["primitives"]
        ]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        models = [archive.read(name) for name in archive.namelist() if name.endswith(".model")]
    return [unescape(name.decode()) for model in models for name in _OBJECT.findall(model)]


def _renamed(names: list[str]) -> dict[str, str]:
    """Return the names of the file by those that trimesh gives to the second of a name, and so on.

    Where the file itself has a name of that form, nothing is certain, and those names stay.
    """
    found: dict[str, str] = {}
    for name, count in Counter(names).items():
        others = [f"{name}_{number}" for number in range(1, count + 1)]
        if count > 1 and not set(others) & set(names):
            found |= dict.fromkeys(others, name)
    return found


def _part(
    scene: Any, node: str, kind: str, axes: list[int], signs: list[float]
) -> NamedFaces | None:
    """Return one instance of a mesh where its transform puts it."""
    transform, name = scene.graph[node]
    mesh = scene.geometry[name]
    if not hasattr(mesh, "faces") or not len(mesh.faces):
        return None
    place = np.asarray(mesh.vertices, dtype=np.float64)
    # The vertices of glTF are floats and those of 3MF text; a node's transform is of doubles.
    single = kind == "glb" and single_resolution(place) >= COARSE
    matrix = np.asarray(transform, dtype=np.float64)
    if not np.array_equal(matrix, np.eye(4)):
        place = place @ matrix[:3, :3].T + matrix[:3, 3]
    corners = np.asarray(mesh.faces, dtype=np.int64).reshape(-1)
    turned = np.ascontiguousarray(place[:, axes] * signs)
    return str(name), Faces(turned, corners, np.full(len(corners) // 3, 3, dtype=np.int64), single)
