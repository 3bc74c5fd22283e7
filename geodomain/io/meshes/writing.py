"""Writes a mesh file of the format that its extension names; formats no number itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from geodomain.errors import MeshError, warn
from geodomain.io.files.atomic import refuse_to_replace
from geodomain.io.files.streams import replaced
from geodomain.io.meshes import dxf, gocad, leapfrog, obj, off, omf2, ply, stl, surpac, vtk
from geodomain.mesh.mesh import Mesh

_WRITERS: dict[str, Callable[[Mesh, BinaryIO], None]] = {
    ".stl": stl.write,
    ".ply": ply.write,
    ".obj": obj.write,
    ".off": off.write,
    ".vtp": vtk.write,
    ".msh": leapfrog.write,
}
# Formats whose files hold several solids, each with its name.
_SOLID_WRITERS: dict[str, Callable[[dict[str, Mesh], BinaryIO], None]] = {
    ".dxf": dxf.write,
    ".ts": gocad.write,
    ".omf": omf2.write,
}
_UNPRINTABLE = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PAIRS = (".dtm", ".str")  # Surpac's: the one is written with the other


def write_mesh(
    mesh: Mesh | Mapping[str, Mesh], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a wireframe in the format that the extension names; see `geodomain.write_mesh`."""
    path = Path(path)
    extension = path.suffix.lower()
    solids = {path.stem: mesh} if isinstance(mesh, Mesh) else dict(mesh)
    known = (*_WRITERS, *_SOLID_WRITERS, *_PAIRS)
    if extension not in known:
        message = (
            f"{path.name} names no format that is written: end it in one of {', '.join(known)}"
        )
        raise MeshError(message)
    if extension in _SOLID_WRITERS:
        solids = _named(solids, path)
    refuse_to_replace(filter(Path.is_file, files_of(path)), overwrite=overwrite)
    if extension in _PAIRS:
        _write_pair(solids, path, overwrite=overwrite)
        return
    with replaced(path, overwrite=overwrite) as file:
        if extension in _WRITERS:
            _WRITERS[extension](_as_one(solids), file)
        else:
            _SOLID_WRITERS[extension](solids, file)


def _named(solids: dict[str, Mesh], path: Path) -> dict[str, Mesh]:
    """Return solids by the names that the format can hold, and say which are others.

    A name is one line without blanks around it, and there is one.
    """
    spelled = gocad.spelled if path.suffix.lower() == ".ts" else str
    made: dict[str, Mesh] = {}
    changed = []
    for name, mesh in solids.items():
        new = spelled(_UNPRINTABLE.sub(" ", name).strip()) or path.stem
        if new in made:
            message = (
                f"{path.name} would have two solids {new!r}, {name!r} is the second: rename one"
            )
            raise MeshError(message)
        made[new] = mesh
        if new != name:
            changed.append(f"{name!r} is {new!r}")
    if changed:
        message = f"{path.name} cannot hold all names as they are: {', '.join(changed[:12])}"
        warn(message + (f" and {len(changed) - 12} more" if len(changed) > 12 else ""))
    return made


def files_of(path: Path) -> list[Path]:
    """Name the files that writing to a path makes: two of Surpac's."""
    pair = path.suffix.lower() in _PAIRS
    return [path.with_suffix(one) for one in _PAIRS] if pair else [path]


def holds_names(path: str | os.PathLike[str]) -> bool:
    """Tell whether the format that an extension names holds several solids."""
    extension = Path(path).suffix.lower()
    return extension in _SOLID_WRITERS or extension in _PAIRS


def _write_pair(solids: dict[str, Mesh], path: Path, *, overwrite: bool) -> None:
    """Write Surpac's two files; the triangles appear after the vertices that they need."""
    with (
        replaced(path.with_suffix(".dtm"), overwrite=overwrite) as triangles,
        replaced(path.with_suffix(".str"), overwrite=overwrite) as strings,
    ):
        surpac.write(solids, path.stem, strings, triangles)


def _as_one(solids: dict[str, Mesh]) -> Mesh:
    """Return one mesh of all solids, their vertices one after the other."""
    parts = list(solids.values())
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [p.triangles + start for p, start in zip(parts, starts, strict=True)]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices, np.concatenate(triangles), name=parts[0].name)
