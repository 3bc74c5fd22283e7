"""Reads topography from grids of heights: ESRI ASCII grids, and GeoTIFF through tifffile."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, counted, warn
from geodomain.formats.mesh_text import damaged, floats, truncated
from geodomain.formats.registry import unify_lines
from geodomain.formats.solids import NamedFaces
from geodomain.memory import require_unpacked
from geodomain.mesh.polygons import Faces


def lattice_faces(place: NDArray[np.float64], missing: NDArray[np.bool_] | None = None) -> Faces:
    """Return two triangles for each cell of a grid of nodes (m, n, 3).

    A cell with a missing node gets no triangles.
    """
    m, n = place.shape[:2]
    node = np.arange(m * n).reshape(m, n)
    corners = [node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]]
    complete = np.ones(corners[0].shape, dtype=bool)
    if missing is not None:
        for rows in (slice(None, -1), slice(1, None)):
            for columns in (slice(None, -1), slice(1, None)):
                complete &= ~missing[rows, columns]
    a, b, c, d = (corner[complete] for corner in corners)
    triangles = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1)
    return Faces(place.reshape(-1, 3), triangles, np.full(len(triangles) // 3, 3, dtype=np.int64))


# --- ESRI ASCII grids and GeoTIFF.

_CORNER_KEYS = ("xllcorner", "xllcenter", "yllcorner", "yllcenter")
_KEYS = ("ncols", "nrows", *_CORNER_KEYS, "cellsize", "dx", "dy", "nodata_value")
_ITEM = re.compile(r"<Item\b([^>]*)>([^<]*)<", re.IGNORECASE)
_SETTING = re.compile(r"""(\w+)\s*=\s*["']([^"']*)["']""")
_KEY_LINE = re.compile(rb"\s*([A-Za-z_]+)[ \t]+(\S+)[ \t]*(?:\n|$)")
_MODEL_TYPE, _GEOGRAPHIC = 1024, 2
_SCALE, _TIES, _MATRIX, _GEO_KEYS, _NO_DATA = 33550, 33922, 34264, 34735, 42113
_GDAL_METADATA = 42112
_GREY = {0, 1}  # PhotometricInterpretation of a single band that is not a colour
_PIXEL_BYTES = 200  # at the peak, per pixel, which becomes two triangles
_WORK = 1 << 30  # bytes that are always allowed: about 5 million pixels, in ten seconds
_POINT = 2  # GTRasterTypeGeoKey 1025
_ACROSS_UNIT, _UP_UNIT = 3076, 4099  # ProjLinearUnitsGeoKey, VerticalUnitsGeoKey
# Names of EPSG's length units, and their size in metres.
_UNITS = {
    9001: ("metres", 1.0),
    9002: ("feet", 0.3048),
    9003: ("US survey feet", 1200 / 3937),
    9005: ("Clarke's feet", 0.3047972654),
    1025: ("millimetres", 0.001),
    1033: ("centimetres", 0.01),
    9036: ("kilometres", 1000.0),
}
_TIE_APART = 0.01  # pixels
_SAME_UNIT = 1e-5  # relative difference between two kinds of foot
# Above this a value is a no-data mark, such as -3.4028234663852886e38, often rounded in headers.
_NO_HEIGHT = 1e30
# Usual no-data values, if the file declares none and they are far from all other values.
_MARKS = {
    sign * mark
    for mark in (999.0, 9999.0, 99999.0, 999999.0, 32767.0, 32768.0, 1e10, 1e20, 2147483648.0)
    for sign in (1, -1)
} | {65535.0, float(np.float32(1e20)), -float(np.float32(1e20))}
_APART = 0.25  # of the no-data value itself
_ROUNDING = 1e-6  # relative tolerance for a no-data value written with fewer digits


def read_ascii(data: bytes, path: Path) -> list[NamedFaces]:
    """Return a grid as triangles between the centres of its cells.

    Four neighbouring centres make two triangles. Their common edge goes from the centre with the
    lowest x and y to the centre with the highest x and y. Triangles with a corner in a no-data cell
    are left out.
    """
    text = unify_lines(data)
    header, start = _header(text, path.name)
    columns, rows = (_count(header, key, path.name) for key in ("ncols", "nrows"))
    words = text[start:].split()
    if len(words) > columns * rows:
        promised = f"{rows:,} rows of {columns:,} values"
        raise damaged(path.name, f"it declares {promised}, but has {len(words):,} numbers")
    if len(words) < columns * rows:
        rest = f"there are {len(words):,} numbers"
        raise truncated(path.name, f"{rows:,} rows of {columns:,} values", rest)
    if any(b"," in word for word in words):
        words = [word.replace(b",", b".") for word in words]
    values = floats(words, path.name, lambda i: f"row {i // columns + 1} of the grid")
    step = [_number(header, key, path.name) for key in ("dx", "dy")]
    if not (step[0] > 0 and step[1] > 0):
        raise damaged(path.name, "its cell size is not positive")
    origin = [_centre(header, axis, size, path.name) for axis, size in zip("xy", step, strict=True)]
    none = _number(header, "nodata_value", path.name) if "nodata_value" in header else -9999.0
    grid = values.reshape(rows, columns)[::-1]  # the north is first in the file
    x = origin[0] + np.arange(columns) * step[0]
    y = origin[1] + np.arange(rows) * step[1]
    place = np.stack([*np.meshgrid(x, y), grid], axis=-1).transpose(1, 0, 2)
    missing = _missing(grid, none)
    _warn_of_rounded_mark(grid, missing, none, path.name)
    _warn_of_mark(grid, missing, path.name)
    return [("", _surface(place, missing.T, path.name))]


def _header(text: bytes, file: str) -> tuple[dict[str, bytes], int]:
    """Return the header's values by key (in lower case), and the byte position after the header."""
    header: dict[str, bytes] = {}
    at = 0
    while (line := _KEY_LINE.match(text, at)) and line[1].decode().lower() in _KEYS:
        header[line[1].decode().lower()] = line[2].replace(b",", b".")
        at = line.end()
    if "cellsize" in header:
        header.setdefault("dx", header["cellsize"])
        header.setdefault("dy", header["cellsize"])
    return header, at


def _number(header: dict[str, bytes], key: str, file: str) -> float:
    if key not in header:
        raise damaged(file, f"its header has no {'cellsize' if key in ('dx', 'dy') else key}")
    return float(floats([header[key]], file, lambda _: key)[0])


def _count(header: dict[str, bytes], key: str, file: str) -> int:
    value = _number(header, key, file)
    if not (2 <= value < 2**31 and value == int(value)):
        raise damaged(file, f"{key} is {value:g}, but must be a whole number of at least 2")
    return int(value)


def _centre(header: dict[str, bytes], axis: str, size: float, file: str) -> float:
    """Return the coordinate of the first cell's centre along an axis."""
    if f"{axis}llcenter" in header:
        return _number(header, f"{axis}llcenter", file)
    return _number(header, f"{axis}llcorner", file) + size / 2


def _missing(values: NDArray[np.float64], none: float | None) -> NDArray[np.bool_]:
    """Return the mask of values that are no data.

    A value is no data if it equals the no-data value, or the no-data value rounded to float32.
    A value that is not finite, or has a magnitude of at least 1e30, is no data, too.
    """
    missing = ~np.isfinite(values) | (np.abs(values) >= _NO_HEIGHT)
    if none is not None:
        with np.errstate(over="ignore"):
            missing |= (values == none) | (values == float(np.float32(none)))
    return np.asarray(missing)


def _warn_of_rounded_mark(
    values: NDArray[np.float64], missing: NDArray[np.bool_], none: float | None, file: str
) -> None:
    """Warn of heights that almost equal the no-data value, and so may be no data."""
    if none is None or not np.isfinite(none):
        return
    with np.errstate(over="ignore"):
        close = np.abs(values - none) <= _ROUNDING * abs(none)
        close |= values.astype(np.float32) == np.float32(none)
    heights = values[close & ~missing]
    if heights.size:
        warn(
            f"{file} has {counted(heights.size, 'cell')} of {values.size:,} with a value almost "
            f"equal to the no-data value {none:.17g}, such as {heights[0]:.17g}. These values are "
            "used as heights, because only exact matches are no data. If they are no data, declare "
            "exactly that value in the file"
        )


def _warn_of_mark(values: NDArray[np.float64], missing: NDArray[np.bool_], file: str) -> None:
    """Warn if the lowest or highest height is a usual no-data value, far from all other heights."""
    heights = values[~missing]
    for value in (heights.min(initial=np.inf), heights.max(initial=-np.inf)):
        if value not in _MARKS or not (others := heights[heights != value]).size:
            continue
        apart = min(abs(float(others.min() - value)), abs(float(others.max() - value)))
        if apart > others.max() - others.min() and apart > _APART * abs(value):
            count = len(heights) - len(others)
            warn(
                f"{file} has the height {value:g} in {count:,} of {heights.size:,} cells, far from "
                f"all other heights ({others.min():g} to {others.max():g}). {value:g} is used as a "
                "height, because the file does not declare it as no data. If it is no data, "
                "declare it in the file (NODATA_value of an ASCII grid, GDAL_NODATA of a GeoTIFF)"
            )


def _surface(place: NDArray[np.float64], missing: NDArray[np.bool_], file: str) -> Faces:
    """Return the triangles between nodes (m, n, 3) that have no missing corner."""
    place = np.ascontiguousarray(place)
    place[missing] = 0.0  # not in any triangle
    faces = lattice_faces(place, missing)
    if not len(faces.sizes):
        message = f"{file} has no four neighbouring cells with data, so it contains no surface"
        raise MeshError(message)
    used = np.zeros(len(faces.vertices), dtype=bool)
    used[faces.corners] = True
    row = np.cumsum(used) - 1
    return Faces(faces.vertices[used], row[faces.corners], faces.sizes)


def read_tiff(data: bytes, path: Path) -> list[NamedFaces]:
    """Return band 1 of a GeoTIFF as triangles between the centres of its pixels.

    Raises
    ------
    MeshError
        If tifffile is not installed, or the file has no georeference.
    """
    try:
        import tifffile
    except ImportError:
        message = (
            f"{path.name} is a TIFF, which is read through tifffile: install it with pip install"
            " 'geodomain[tifffile]', or save it as an ESRI ASCII grid"
        )
        raise MeshError(message) from None
    logging.getLogger("tifffile").addFilter(_is_error)
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page: Any = file.pages[0]
            tags = {tag.code: tag.value for tag in page.tags.values()}
            if int(page.photometric) not in _GREY:
                raise _colours(path.name, page.photometric)
            if page.size * page.dtype.itemsize > 1032 * len(data) + (1 << 20):
                raise damaged(path.name, "it declares more pixels than its bytes can hold")
            require_unpacked(
                _PIXEL_BYTES * page.size,
                len(data),
                f"{path.name}, with {page.size:,} pixels,",
                MeshError,
                work=_WORK,
            )
            values = page.asarray()
            if "S" in page.axes and values.ndim == len(page.axes):  # position of the bands
                values = values.take(0, axis=page.axes.index("S"))
    except MeshError:
        raise
    except Exception as wrong:  # of any type, from a library that reads any file
        reason = " ".join(str(wrong).split())[:100]
        raise damaged(path.name, f"tifffile cannot read it ({reason})") from wrong
    return [("", _georeferenced(values, tags, path.name))]


def _colours(file: str, kind: Any) -> MeshError:
    """Return the error for a picture, whose first band holds colours and not heights."""
    name = getattr(kind, "name", str(int(kind)))
    message = (
        f"{file} is a picture in colours ({name}), not a grid of heights: export the elevations"
        " as a GeoTIFF of one grey band, or as an ESRI ASCII grid"
    )
    return MeshError(message)


def _is_error(record: logging.LogRecord) -> bool:
    """Return whether a log record is above ERROR, the level at which tifffile logs wrong tags."""
    return record.levelno > logging.ERROR


def _georeferenced(values: NDArray[Any], tags: dict[int, Any], file: str) -> Faces:
    if values.ndim != 2 or min(values.shape) < 2:
        message = (
            f"{file} is an image of shape {values.shape}, not a grid of heights: export the "
            "elevations as one band of at least 2 x 2 pixels"
        )
        raise MeshError(message)
    matrix = _affine(tags, file)
    raw = values.astype(np.float64)
    keys = _short_keys(tags)
    if keys.get(_MODEL_TYPE) == _GEOGRAPHIC:
        warn(
            f"{file} has x and y in degrees of longitude and latitude, and heights in a unit of "
            "length: export it in the coordinate system of the model"
        )
    shift = 0.0 if keys.get(1025) == _POINT else 0.5
    column, row = np.meshgrid(
        np.arange(values.shape[1]) + shift, np.arange(values.shape[0]) + shift
    )
    x = matrix[0, 0] * column + matrix[0, 1] * row + matrix[0, 2]
    y = matrix[1, 0] * column + matrix[1, 1] * row + matrix[1, 2]
    z = _heights(raw, tags, matrix[2, 0] * column + matrix[2, 1] * row, file)
    z *= _unit_of_heights(keys, file)
    place = np.stack([x, y, z], axis=-1)[::-1].transpose(1, 0, 2)
    none = _no_data(tags, file)
    missing = _missing(raw, none)
    _warn_of_rounded_mark(raw, missing, none, file)
    _warn_of_mark(raw, missing, file)
    return _surface(place, missing[::-1].T, file)


def _short_keys(tags: dict[int, Any]) -> dict[int, int]:
    """Return the GeoKeys whose values are stored in the key directory itself."""
    entries = np.array(tags.get(_GEO_KEYS, ()), dtype=np.int64)
    entries = entries[4 : len(entries) // 4 * 4].reshape(-1, 4)
    return {key: value for key, place, _, value in entries.tolist() if place == 0}


def _unit_of_heights(keys: dict[int, int], file: str) -> float:
    """Return the factor that converts heights to the unit of x and y.

    Raises
    ------
    MeshError
        If the units differ by an unknown factor.
    """
    across, up = keys.get(_ACROSS_UNIT, 0), keys.get(_UP_UNIT, 0)
    if up in {0, across} or (not across and up == 9001):
        return 1.0
    if across not in _UNITS or up not in _UNITS:
        units = [_UNITS[code][0] if code in _UNITS else f"unit {code}" for code in (across, up)]
        message = (
            f"{file} has x and y in {units[0] if across else 'a unit that it does not state'} and "
            f"heights in {units[1]}: export x, y and heights in one unit"
        )
        raise MeshError(message)
    factor = _UNITS[up][1] / _UNITS[across][1]
    if abs(factor - 1.0) <= _SAME_UNIT:
        return 1.0
    warn(
        f"{file} has x and y in {_UNITS[across][0]} and heights in {_UNITS[up][0]}: heights are "
        f"multiplied by {factor:.9g} to convert them to {_UNITS[across][0]}"
    )
    return factor


def _heights(
    raw: NDArray[np.float64], tags: dict[int, Any], slope: NDArray[np.float64], file: str
) -> NDArray[np.float64]:
    """Return the heights for the stored values: value x scale + offset + `slope`.

    Scale and offset come from GDAL's metadata. Without such metadata, they come from the z values
    of the pixel scale, the tie points or the matrix. If these are 0, as in most files, the stored
    values are the heights.
    """
    own = _gdal_scale(tags, file)
    scale, offset = 0.0, 0.0
    if _MATRIX in tags:
        scale, offset = (float(tags[_MATRIX][i]) for i in (10, 11))
    elif len(tags.get(_SCALE, ())) > 2:
        scale = float(tags[_SCALE][2])
        offset = float(tags[_TIES][5]) - scale * float(tags[_TIES][2])
    if scale == 0.0 and offset != 0.0 and own is None:
        message = (
            f"{file} has a tie point at height {offset:g} but no height scale: the stored values "
            "are used as heights, and the height of the tie point is not added"
        )
        warn(message)
    if own is None:
        own = (scale, offset) if scale else (1.0, 0.0)
    elif scale not in {0.0, 1.0} and own != (scale, offset):
        message = (
            f"{file} has two different scales for heights, {own[0]:g} and {scale:g}: save it with "
            "unscaled heights"
        )
        raise MeshError(message)
    return np.asarray(raw * own[0] + own[1] + slope)


def _gdal_scale(tags: dict[int, Any], file: str) -> tuple[float, float] | None:
    """Return the scale and offset of band 1 from GDAL's metadata, or None."""
    scale = {}
    for item in _ITEM.finditer(str(tags.get(_GDAL_METADATA, ""))):
        settings = dict(_SETTING.findall(item[1]))
        role = settings.get("role", "")
        if role in {"scale", "offset"} and settings.get("sample", "0") == "0":
            scale[role] = float(floats([item[2].strip().encode()], file, lambda _: "metadata")[0])
    return (scale.get("scale", 1.0), scale.get("offset", 0.0)) if scale else None


def _affine(tags: dict[int, Any], file: str) -> NDArray[np.float64]:
    """Return a row (a, b, c) for each of x, y and z, such as x = a * column + b * row + c."""
    if _MATRIX in tags:
        full = np.array(tags[_MATRIX], dtype=np.float64).reshape(4, 4)
        return full[:3, [0, 1, 3]]
    ties = np.array(tags.get(_TIES, ()), dtype=np.float64)
    ties = ties[: len(ties) // 6 * 6].reshape(-1, 6)
    if _SCALE in tags and len(ties):
        sx, sy = (float(value) for value in tags[_SCALE][:2])
        i, j, _, x, y, _ = ties[0].tolist()
        matrix = np.array([[sx, 0.0, x - i * sx], [0.0, -sy, y + j * sy], [0.0, 0.0, 0.0]])
        apart = ties[:, :2] @ matrix[:2, :2].T + matrix[:2, 2] - ties[:, 3:5]
        if not (np.abs(apart) > _TIE_APART * np.abs([sx, sy])).any():
            return matrix
    if len(ties) > 1:
        message = (
            f"{file} is placed by {len(ties)} tie points, which may distort it, instead of an "
            "origin and a pixel size: resample it to a regular grid, for example with gdalwarp"
        )
        raise MeshError(message)
    message = f"{file} is a TIFF without a georeference: save it as a GeoTIFF"
    raise MeshError(message)


def _no_data(tags: dict[int, Any], file: str) -> float | None:
    """Return the no-data value; warn if it is not a number."""
    text = str(tags.get(_NO_DATA, "")).strip("\0 ")
    try:
        return float(text)
    except ValueError:
        if text:
            warn(
                f"{file} has the GDAL_NODATA {text!r}, which is not a number: every value is used "
                "as a height"
            )
        return None
