"""Reads 3MF through trimesh, in its own axes and unit."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from geodomain import memory
from geodomain.errors import MeshError, warn
from geodomain.io.meshes.solids import NamedFaces
from geodomain.io.meshes.text import damaged
from geodomain.mesh.faces import Faces

_OBJECT = re.compile(rb"""<(?:\w+:)?object\b[^>]*?\bname\s*=\s*["']([^"']*)["']""")


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the objects of a 3MF where its build items and components put them.

    Warns
    -----
    GeodomainWarning
        If the unit is not the metre.
    """
    file = path.name
    try:
        import trimesh

        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            memory.require_members(archive, file, MeshError)
        scene: Any = trimesh.load(
            io.BytesIO(data), file_type="3mf", process=False, force="scene", merge_primitives=False
        )
        parts = [_part(scene, node) for node in scene.graph.nodes_geometry]
        again = _renamed(_names_of(data))
    except MeshError:
        raise
    except ImportError as lacking:
        message = (
            f"{file} is 3mf, which is read through trimesh ({lacking}): install it with"
            " pip install 'geodomain[trimesh]', or export it as .ply"
        )
        raise MeshError(message) from None
    except Exception as wrong:  # of any kind, from a library that reads any file
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(file, f"trimesh cannot read it ({reason})") from wrong
    solids = [(again.get(part[0], part[0]), part[1]) for part in parts if part is not None]
    if not solids:
        message = f"{file} has no triangles: export the wireframe as a mesh"
        raise MeshError(message)
    if (unit := str(scene.metadata.get("units", "meter"))) != "meter":
        message = (
            f"{file} says that its unit is the {unit}: coordinates are taken as they are, so"
            " scale the wireframe if that is not the unit of the blocks"
        )
        warn(message)
    return solids


def _names_of(data: bytes) -> list[str]:
    """Return the names that the file itself gives its objects."""
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


def _part(scene: Any, node: str) -> NamedFaces | None:
    """Return one instance of a mesh where its transform puts it."""
    transform, name = scene.graph[node]
    mesh = scene.geometry[name]
    if not hasattr(mesh, "faces") or not len(mesh.faces):
        return None
    place = np.asarray(mesh.vertices, dtype=np.float64)
    matrix = np.asarray(transform, dtype=np.float64)
    if not np.array_equal(matrix, np.eye(4)):
        place = place @ matrix[:3, :3].T + matrix[:3, 3]
    corners = np.asarray(mesh.faces, dtype=np.int64).reshape(-1)
    sizes = np.full(len(corners) // 3, 3, dtype=np.int64)
    return str(name), Faces(np.ascontiguousarray(place), corners, sizes)
