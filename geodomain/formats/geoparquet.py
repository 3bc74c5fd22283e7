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
# Beginnings of a CRS in degrees, as text, which early files of GeoParquet have.
_TEXTS = ("GEOGCS", "GEOGCRS", "GEOGRAPHICCRS", "GEODCRS", "EPSG:4326", "EPSG:4979", "OGC:CRS84")
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
        import pyarrow

        points = np.full((len(array), 3), np.nan)
        there = np.flatnonzero(~np.asarray(array.is_null().to_numpy(zero_copy_only=False), bool))
        present = array.drop_null()
        try:
            if pyarrow.types.is_struct(array.type):
                for axis, name in enumerate("xyz"):
                    values = present.field(name).cast(pyarrow.float64())
                    points[there, axis] = values.to_numpy(zero_copy_only=False)
            elif len(there):
                points[there] = self._decoded(present.cast(pyarrow.large_binary()), there)
        except (KeyError, pyarrow.ArrowException):  # the type does not hold points with z
            self._refuse(int(there[0]) if len(there) else 0)
        return points

    def _decoded(self, array: Any, rows: NDArray[np.intp]) -> Floats:
        """Return the coordinates of points in well-known binary; `rows` is for the message."""
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
        sizes = np.diff(ends)
        if (sizes != _BYTES).any():
            self._refuse(int(rows[(sizes != _BYTES).argmax()]))
        packed = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].reshape(-1, _BYTES)
        points = np.full((len(packed), 3), np.nan)
        is_point = np.zeros(len(packed), np.bool_)
        for order, mark in ((">", 0), ("<", 1)):
            alike = packed[:, 0] == mark
            some = np.ascontiguousarray(packed[alike])
            kinds = np.ascontiguousarray(some[:, 1:5]).view(f"{order}u4")[:, 0]
            is_point[alike] = np.isin(kinds, _TYPES)
            points[alike] = np.ascontiguousarray(some[:, 5:]).view(f"{order}f8")
        if not is_point.all():
            self._refuse(int(rows[is_point.argmin()]))
        return points

    def _refuse(self, row: int) -> None:
        message = (
            f"{self.table}: the column {self.name!r} has geometries that are not points with z, "
            f"first in row {row + 1:,} of a row group: keep only points, with their elevation"
        )
        raise TableError(message)


def point_column(metadata: dict[bytes, bytes] | None, table: str) -> PointColumn | None:
    """Return the column that holds the points of a GeoParquet file; None for other files.

    `metadata` is that of the schema.

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
        kinds = set(column.get("geometry_types") or [])
        encoding = column["encoding"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if encoding not in ("WKB", "point") or not kinds <= {"Point Z"}:
        return None
    crs = column.get("crs", _NO_CRS)
    refuse_degrees(crs, f"{table}: the column {name!r}")
    return PointColumn(name, _named(crs), table)


def refuse_degrees(crs: Any, whose: str) -> None:
    """Raise TableError for a CRS, as PROJJSON or as text, of longitude and latitude."""
    in_text = isinstance(crs, str) and crs.strip().upper().startswith(_TEXTS)
    if in_text or any(each.get("type") in _DEGREES for each in _parts(crs)):
        message = (
            f"{whose} has coordinates in degrees ({_named(crs)}), but wireframes have coordinates "
            "in units of length: project the points first, in geopandas with to_crs()"
        )
        raise TableError(message)


def _parts(crs: Any) -> Sequence[dict[str, Any]]:
    """Return a CRS and the coordinate reference systems that it consists of."""
    if not isinstance(crs, dict):
        return []
    components = crs.get("components")
    inner = [*(components if isinstance(components, list) else ()), crs.get("source_crs")]
    return [crs, *(part for each in inner for part in _parts(each))]


def _named(crs: Any) -> str:
    """Return the name of a CRS with its code, such as "GDA94 / MGA zone 50 (EPSG:28350)"."""
    if not isinstance(crs, dict):
        return crs[:60] if isinstance(crs, str) else "unknown"
    code = crs.get("id")
    coded = isinstance(code, dict) and {"authority", "code"} <= code.keys()
    end = f" ({code['authority']}:{code['code']})" if coded and isinstance(code, dict) else ""
    return f"{crs.get('name', 'unnamed')}{end}"
