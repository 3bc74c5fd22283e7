"""Reads wireframes of Datamine: a pair of tables, triangles in one and points in the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.datamine.table import Table, read_table
from geodomain.io.files.whole import read_whole
from geodomain.io.meshes.solids import NamedFaces, compact
from geodomain.mesh.faces import Faces

_CORNERS = ("PID1", "PID2", "PID3")
_POINT = ("PID", "XP", "YP", "ZP")


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return the triangles of each COLOUR, of a pair NAMEtr.dm and NAMEpt.dm."""
    table = read_table(data, path.name)
    if set(_CORNERS) <= table.columns.keys():
        points = _beside(path, "tr", "pt")
        return _pair(table, read_table(read_whole(points), points.name), path.name)
    if set(_POINT) <= table.columns.keys():
        triangles = _beside(path, "pt", "tr")
        return _pair(read_table(read_whole(triangles), triangles.name), table, triangles.name)
    what = "a block model" if "XC" in table.columns or "IJK" in table.columns else "a table"
    message = (
        f"{path.name} is {what} of Datamine, not a wireframe: it has the fields"
        f" {', '.join(list(table.columns)[:8])}, and no PID1; name NAMEtr.dm"
    )
    raise MeshError(message)


def _beside(path: Path, here: str, there: str) -> Path:
    """Return the other file of a pair: the same name with tr for pt, in any case."""
    stem = path.stem
    at = stem.casefold().rfind(here)
    names = {one.name.casefold(): one for one in path.parent.iterdir()}
    wanted = stem[:at] + there + stem[at + len(here) :] if at >= 0 else stem + there
    found = names.get((wanted + path.suffix).casefold())
    if found is None:
        message = (
            f"{path.name} is half of a wireframe, and the other half, {wanted}{path.suffix}, is"
            " not beside it: copy it there"
        )
        raise MeshError(message)
    return found


def _pair(triangles: Table, points: Table, file: str) -> list[NamedFaces]:
    for table, wanted in ((triangles, _CORNERS), (points, _POINT)):
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            message = f"{table.file} has no field {missing[0]}: it is not half of a wireframe"
            raise MeshError(message)
    ids = points.numbers("PID")
    vertices = np.column_stack([points.numbers(name) for name in _POINT[1:]])
    corners = np.column_stack([triangles.numbers(name) for name in _CORNERS])
    rows = _rows(ids, corners, triangles.file)
    faces = [(name, rows[those]) for name, those in _groups(triangles)]
    return [
        (
            name if len(faces) > 1 else "",
            compact(
                Faces(
                    vertices,
                    part.reshape(-1),
                    np.full(len(part), 3),
                    triangles.single or points.single,
                )
            ),
        )
        for name, part in faces
    ]


def _rows(ids: NDArray[np.float64], corners: NDArray[np.float64], file: str) -> NDArray[np.int64]:
    """Return the rows of the points that triangles refer to by id."""
    order = np.argsort(ids, kind="stable")
    known = ids[order]
    if len(known) and (known[1:] == known[:-1]).any():
        message = f"{file}: its points have one PID twice; export the wireframe again"
        raise MeshError(message)
    place = np.searchsorted(known, corners).clip(max=max(len(known) - 1, 0))
    strange = known[place] != corners if len(known) else np.ones(corners.shape, dtype=bool)
    if strange.any():
        row = int(strange.any(axis=1).argmax())
        message = (
            f"triangle {row + 1} of {file} refers to point {corners[row][strange[row]][0]:g}, which"
            " is not in the table of points: the two are not a pair; export them together"
        )
        raise MeshError(message)
    rows: NDArray[np.int64] = order[place]
    return rows


def _groups(triangles: Table) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return which triangles have each COLOUR, in the order in which they come."""
    count = len(triangles.numbers(_CORNERS[0]))
    if "COLOUR" not in triangles.columns:
        return [("", np.ones(count, dtype=bool))]
    values = triangles.columns["COLOUR"]
    kept, first, which = np.unique(values, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(first)
    return [(_shown(kept[i]), which == i) for i in order.tolist()]


def _shown(value: float | str) -> str:
    """Return a COLOUR as a name: none where it is missing, a number in the digits that it needs."""
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return ""
    short = f"{value:g}"
    single = value == np.float32(value) == np.float32(short)  # of a file of single precision
    return short if single or float(short) == value else repr(float(value)).removesuffix(".0")
