"""Reads the MESH and INSERT entities of a DXF drawing through ezdxf; nothing else of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from geodomain.errors import MeshError, warn
from geodomain.io.meshes.solids import NamedFaces
from geodomain.mesh.faces import Faces

_DEEPEST = 32  # blocks in blocks; a drawing cannot hold itself
_POLYFACE, _POLYGON_MESH = 64, 16


def read(path: Path) -> list[NamedFaces]:
    """Return the faces of each MESH and of what each INSERT places, by layer.

    Raises
    ------
    MeshError
        If ezdxf is not installed, or cannot read the drawing.
    """
    try:
        import ezdxf
    except ImportError:
        message = (
            f"{path.name} has MESH or INSERT entities, which are read through ezdxf: install it"
            " with pip install 'geodomain[dxf]', or export 3DFACE"
        )
        raise MeshError(message) from None
    with _quiet():
        try:
            library: Any = ezdxf  # its names have no types for mypy
            drawing = library.readfile(str(path))
            space = list(drawing.modelspace().query("MESH INSERT"))
            return [part for entity in space for part in _parts(entity, "0", path.name, 0)]
        except MeshError:
            raise
        except Exception as wrong:  # of any kind, from a library that reads any file
            reason = " ".join(str(wrong).split())[:120]
            message = f"{path.name} cannot be read by ezdxf ({reason}): export 3DFACE"
            raise MeshError(message) from wrong


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep ezdxf from logging each handle that is there twice."""
    logger = logging.getLogger("ezdxf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _parts(entity: Any, layer: str, file: str, depth: int) -> Iterator[NamedFaces]:
    """Yield the faces of an entity; layer 0 in a block is the layer of the INSERT."""
    own = entity.dxf.layer if entity.dxf.layer != "0" else layer
    kind = entity.dxftype()
    if kind == "INSERT":
        if depth > _DEEPEST:
            message = f"{file} has blocks inside each other, {_DEEPEST} deep: export 3DFACE"
            raise MeshError(message)
        for single in entity.multi_insert() if entity.mcount > 1 else [entity]:
            for inner in single.virtual_entities():
                yield from _parts(inner, own, file, depth + 1)
    elif kind == "3DFACE":
        corners = [tuple(corner) for corner in entity.wcs_vertices()]
        yield own, _polygons(corners, [list(range(len(corners)))])
    elif kind == "MESH":
        if entity.dxf.subdivision_levels:
            message = (
                f"{file} has a MESH on layer {own!r} that is shown smoothed: its faces are read as"
                " they are stored"
            )
            warn(message)
        yield own, _polygons([tuple(v) for v in entity.vertices], list(entity.faces))
    elif kind == "POLYLINE" and entity.dxf.flags & (_POLYFACE | _POLYGON_MESH):
        from ezdxf.render.mesh import MeshBuilder

        made = MeshBuilder.from_polyface(entity)
        yield own, _polygons([tuple(v) for v in made.vertices], list(made.faces))


def _polygons(vertices: list[tuple[float, ...]], faces: list[Any]) -> Faces:
    corners = [int(corner) for face in faces for corner in face]
    sizes = np.array([len(face) for face in faces], dtype=np.int64)
    place = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    return Faces(place, np.array(corners, dtype=np.int64), sizes)
