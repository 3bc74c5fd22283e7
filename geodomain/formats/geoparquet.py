"""Points of GeoParquet: the geometry column as columns of coordinates, and its CRS."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError

_KEY = b"geo"  # in the metadata of the schema
# Well-known binary of a point with z: byte order, type, three float64. ISO and PostGIS have
# different types.
_BYTES = 29
_TYPES = (1001, 0x80000001)
_DEGREES = ("GeographicCRS", "DerivedGeographicCRS")
# GeoParquet without a CRS means longitude and latitude.
_NO_CRS = {"type": "GeographicCRS", "name": "WGS 84 (CRS84)"}


@dataclass(frozen=True)
class PointColumn:
    """A column of points with z.

    Attributes
    ----------
    name : str
        Name of the column.
    crs : str
        The coordinate reference system in words.
    table : str
        Name of the file in messages.
    """

    name: str
    crs: str
    table: str

    @property
    def columns(self) -> tuple[str, str, str]:
        """The names of the columns of coordinates."""
        return f"{self.name}.x", f"{self.name}.y", f"{self.name}.z"

    def appended(self, table: Any) -> Any:
        """Return an Arrow table with the columns of coordinates at the end."""
        import pyarrow

        chunks = table.column(self.name).chunks
        parts = [np.empty((0, 3)), *map(self._coordinates, chunks)]
        points = np.concatenate(parts)
        for axis, name in enumerate(self.columns):
            table = table.append_column(name, pyarrow.array(points[:, axis].copy()))
        return table

    def _coordinates(self, array: Any) -> Floats:
        """Return the coordinates (n, 3) of an Arrow array of points, NaN where one is missing."""
        from pyarrow import types

        points = np.full((len(array), 3), np.nan)
        there = ~np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)
        if types.is_struct(array.type):
            for axis, name in enumerate("xyz"):
                points[there, axis] = array.drop_null().field(name).to_numpy(zero_copy_only=False)
            return points
        points[there] = self._decoded(array, there)
        return points

    def _decoded(self, array: Any, there: NDArray[np.bool_]) -> Floats:
        """Return the coordinates of the points that are not missing, from well-known binary."""
        from pyarrow import types

        kind = np.int64 if types.is_large_binary(array.type) else np.int32
        _, offsets, data = array.buffers()
        if not there.any():
            return np.empty((0, 3))
        ends = np.frombuffer(offsets, kind, len(array) + 1, array.offset * np.dtype(kind).itemsize)
        starts, sizes = ends[:-1][there], np.diff(ends)[there]
        if (sizes != _BYTES).any():
            self._refuse(int(np.flatnonzero(there)[(sizes != _BYTES).argmax()]))
        raw = np.frombuffer(data, np.uint8)
        packed = raw[starts.astype(np.int64)[:, None] + np.arange(_BYTES)]
        points = np.empty((len(packed), 3))
        for order, mark in ((">", 0), ("<", 1)):
            rows = packed[:, 0] == mark
            some = np.ascontiguousarray(packed[rows])
            number = np.ascontiguousarray(some[:, 1:5]).view(f"{order}u4")[:, 0]
            if not np.isin(number, _TYPES).all():
                self._refuse(int(np.flatnonzero(there)[0]))
            points[rows] = np.ascontiguousarray(some[:, 5:]).view(f"{order}f8")
        return points

    def _refuse(self, row: int) -> None:
        message = (
            f"{self.table}: the column {self.name!r} has geometries that are not points with z, "
            f"first in row {row + 1:,} of a row group: keep only points, with their elevation"
        )
        raise TableError(message)


def point_column(metadata: dict[bytes, bytes] | None, table: str) -> PointColumn | None:
    """Return the points of a GeoParquet file from its schema's metadata; None for other files.

    Raises
    ------
    TableError
        If the coordinates are in degrees, because distances and volumes need lengths.
    """
    if not metadata or _KEY not in metadata:
        return None
    try:
        description = json.loads(metadata[_KEY])
        name = str(description["primary_column"])
        column = description["columns"][name]
        kinds = column.get("geometry_types", [])
        encoding = column["encoding"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if encoding not in ("WKB", "point") or not set(kinds) <= {"Point Z"}:
        return None
    crs = column.get("crs", _NO_CRS)
    refuse_degrees(crs, f"{table}: the column {name!r}")
    return PointColumn(name, _named(crs), table)


def refuse_degrees(crs: Any, whose: str) -> None:
    """Raise TableError for a CRS (as PROJJSON) of longitude and latitude."""
    if any(each.get("type") in _DEGREES for each in _parts(crs)):
        message = (
            f"{whose} has coordinates in degrees ({_named(crs)}), but wireframes have coordinates "
            "in units of length: project the points first, in geopandas with to_crs()"
        )
        raise TableError(message)


def _parts(crs: Any) -> Sequence[dict[str, Any]]:
    """Return a CRS and the coordinate reference systems that it consists of."""
    if not isinstance(crs, dict):
        return []
    inner = [*crs.get("components", []), *([crs["source_crs"]] if "source_crs" in crs else [])]
    return [crs, *(part for each in inner for part in _parts(each))]


def _named(crs: Any) -> str:
    """Return the name of a CRS with its code, such as "GDA94 / MGA zone 50 (EPSG:28350)"."""
    if not isinstance(crs, dict):
        return "unknown"
    code = crs.get("id")
    coded = isinstance(code, dict) and {"authority", "code"} <= code.keys()
    end = f" ({code['authority']}:{code['code']})" if coded and isinstance(code, dict) else ""
    return f"{crs.get('name', 'unnamed')}{end}"
