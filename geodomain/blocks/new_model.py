"""Make a new regular block model as text, Parquet or a VTK image, with exact decimal axes."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, Target, open_target
from geodomain.formats.parquet import Sink
from geodomain.formats.registry import split_name
from geodomain.formats.vtk import encoded
from geodomain.inputs import MeshesLike, PathGiven, as_meshes
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import data_frame, html_table
from geodomain.tables.frames import LocalFrame, turned
from geodomain.tables.options import read_turns
from geodomain.tables.settings import Turns

if TYPE_CHECKING:
    import pandas

Number = float | str | Decimal
Numbers = str | Number | Sequence[Number]
Decimals = tuple[Decimal, Decimal, Decimal]

_MOST_DECIMALS = 30
_LARGEST = Decimal(2) ** 339  # the limit of coordinates of wireframes
# Limits up to which float64 holds integers and powers of ten exactly, so that division rounds once.
_EXACT_INTEGER, _EXACT_POWER = 2**53, 22
_CHUNK = 1 << 16


@dataclass(frozen=True)
class DecimalAxis:
    """Equal blocks along one axis.

    Attributes
    ----------
    low, size : Decimal
        Coordinate of the lower face of the first block, and length of a block.
    count : int
        Number of blocks.
    """

    low: Decimal
    size: Decimal
    count: int

    @property
    def high(self) -> Decimal:
        """The coordinate of the upper face of the last block."""
        return as_decimal(Fraction(self.low) + self.count * Fraction(self.size))

    @cached_property
    def _units(self) -> tuple[int, int, int]:
        """The first centre and the step between centres as integers, in units of 10^-decimals.

        Return the two integers and the number of decimals.
        """
        size = Fraction(self.size)
        first, decimals = Fraction(self.low) + size / 2, 0
        step = size if self.count > 1 else Fraction(0)
        while (first * 10**decimals).denominator > 1 or (step * 10**decimals).denominator > 1:
            decimals += 1
        return int(first * 10**decimals), int(step * 10**decimals), decimals

    def texts(self) -> Iterator[list[str]]:
        """Yield the centres as texts, in chunks, all with the same number of decimals."""
        first, step, decimals = self._units
        for begin in range(0, self.count, _CHUNK):
            end = min(begin + _CHUNK, self.count)
            yield [_text(first + step * n, decimals) for n in range(begin, end)]

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the float64 nearest to the centre of each block in `places`, counted from 0."""
        first, step, decimals = self._units
        most = max(abs(first), abs(first + step * self.count))
        if most < _EXACT_INTEGER and decimals <= _EXACT_POWER:
            return (first + step * places) / 10.0**decimals
        # Python's division of integers is correctly rounded at any length.
        exact = [(first + step * place) / 10**decimals for place in places.tolist()]
        return np.array(exact, np.float64)

    @property
    def is_resolved(self) -> bool:
        """Whether centres lie more than 16 times the spacing of float64 numbers apart."""
        largest = max(abs(float(self.low)), abs(float(self.high)))
        return float(self.size) > 16 * float(np.spacing(largest))


def _text(number: int, decimals: int) -> str:
    """Return number / 10^decimals as a decimal text."""
    if not decimals:
        return str(number)
    digits = str(abs(number)).rjust(decimals + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def as_decimal(value: Fraction) -> Decimal:
    """Return a fraction with finitely many decimals as an exact Decimal without trailing zeros."""
    decimals = 0
    while (value * 10**decimals).denominator > 1:
        decimals += 1
    return Decimal(_text(int(value * 10**decimals), decimals))


def plain(value: Decimal) -> str:
    """Format a decimal number without exponent or trailing zeros."""
    return str(as_decimal(Fraction(value)))


def read_decimals(value: Numbers, what: str, *, alone: bool = False) -> Decimals:
    """Read three decimal numbers, from numbers or from the text X,Y,Z.

    Parameters
    ----------
    value : str, number or sequence of them
        Three numbers; with `alone` also a single number, which is used for all three. A float is
        read as its shortest decimal.
    what : str
        Name of the option in messages.
    alone : bool
        Whether a single number is allowed.

    Raises
    ------
    ValueError
        If the value has another form, or a number is not finite, is too large, or has too many
        decimals.
    """
    items = value.split(",") if isinstance(value, str) else value
    parts: list[Number] = [items] if isinstance(items, float | int | Decimal) else [*items]
    try:
        numbers = [_decimal(part) for part in (parts * 3 if alone and len(parts) == 1 else parts)]
    except (InvalidOperation, ValueError, TypeError):
        numbers = []
    if len(numbers) != 3:
        message = f"{what} is {value!r}; give {'one number, or ' if alone else ''}X,Y,Z"
        raise ValueError(message)
    for number in numbers:
        exponent = number.as_tuple().exponent
        if not isinstance(exponent, int) or not abs(number) < _LARGEST:
            message = f"{what} is {value!r}: numbers must be finite, and smaller than 2^339"
            raise ValueError(message)
        if -exponent > _MOST_DECIMALS:
            message = f"{what} is {value!r}: a number has more than {_MOST_DECIMALS} decimals"
            raise ValueError(message)
    return numbers[0], numbers[1], numbers[2]


def read_sizes(value: Numbers) -> Decimals:
    """Read the block size along x, y and z, or one size for every axis; all must be above zero."""
    sizes = read_decimals(value, "size", alone=True)
    if min(sizes) <= 0:
        message = f"size is {value!r}; block sizes must be above zero"
        raise ValueError(message)
    return sizes


def read_margins(value: Numbers) -> Decimals:
    """Read the margin along x, y and z, or one margin for every axis; none may be negative."""
    margins = read_decimals(value, "margin", alone=True)
    if min(margins) < 0:
        message = f"margin is {value!r}; it must be zero or more"
        raise ValueError(message)
    return margins


def read_counts(value: str | Sequence[int]) -> tuple[int, int, int]:
    """Read three whole numbers above zero, as numbers or as the text NX,NY,NZ."""
    try:
        counts = [int(part) for part in (value.split(",") if isinstance(value, str) else value)]
    except (TypeError, ValueError):
        counts = []
    if len(counts) != 3 or min(counts) < 1:
        message = f"count is {value!r}; give NX,NY,NZ, three whole numbers above zero"
        raise ValueError(message)
    return counts[0], counts[1], counts[2]


def _decimal(value: Number) -> Decimal:
    """Return a text as an exact decimal, and a float as its shortest decimal."""
    if isinstance(value, str | Decimal | int):
        return Decimal(value.strip() if isinstance(value, str) else value)
    return Decimal(repr(float(value))) if math.isfinite(value) else Decimal("nan")


# The new model: its axes and rotation.


@dataclass(frozen=True, repr=False)
class NewModel:
    """A new regular block model; ``print`` shows size and extent.

    Attributes
    ----------
    axes : tuple of DecimalAxis
        Axes x, y and z in model coordinates, with exact decimal faces and sizes.
    frame : LocalFrame, optional
        Rotated frame of the model; None if model coordinates are world coordinates.
    output : str
        Path of the file.
    """

    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis]
    frame: LocalFrame | None = None
    output: str = ""

    @property
    def count(self) -> tuple[int, int, int]:
        """The number of blocks along x, y and z."""
        x, y, z = (axis.count for axis in self.axes)
        return x, y, z

    @property
    def blocks(self) -> int:
        """The number of all blocks."""
        return math.prod(self.count)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; exact decimals are text."""
        return {
            "blocks": self.blocks,
            "count": list(self.count),
            "size": [plain(axis.size) for axis in self.axes],
            "low": [plain(axis.low) for axis in self.axes],
            "high": [plain(axis.high) for axis in self.axes],
            "rotation": None if self.frame is None else self.frame.say(),
            "output": self.output,
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return the axes as rows of a DataFrame, with the float64 nearest to exact decimals."""
        return data_frame(
            {
                "axis": list("xyz"),
                "count": np.array(self.count),
                **{
                    name: np.array([float(getattr(axis, name)) for axis in self.axes])
                    for name in ("size", "low", "high")
                },
            }
        )

    def __str__(self) -> str:
        """Return lines of text: size and extent of the blocks, and how to label a rotated model."""
        lines = [
            f"{counted(self.blocks, 'block')} of "
            f"{' x '.join(plain(axis.size) for axis in self.axes)}"
        ]
        lines += [": ".join(row) for row in self._rows()]
        lines += self._notes()
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the numbers of blocks along x, y and z as text."""
        return f"<NewModel of {' x '.join(map(str, self.count))} blocks>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table(counted(self.blocks, "block"), self._rows(), notes=self._notes())

    def _notes(self) -> list[str]:
        """Return a note on the rotation of the blocks, or no note if they are not rotated."""
        if self.frame is None:
            return []
        if self.output.lower().endswith(".vti"):
            return ["these coordinates are local; the image file holds the rotation"]
        return [f"these coordinates are local; label them with {self.frame.say()}"]

    def _rows(self) -> list[tuple[str, str]]:
        """Return the extent and the number of blocks along each axis."""
        return [
            (name, f"{plain(axis.low)} to {plain(axis.high)}, {counted(axis.count, 'block')}")
            for name, axis in zip("xyz", self.axes, strict=True)
        ]


def counted_axes(
    low: Decimals, size: Decimals, count: Sequence[int]
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes that follow from a lowest corner, a block size and counts of blocks."""
    x, y, z = (DecimalAxis(*axis) for axis in zip(low, size, count, strict=True))
    return _resolved((x, y, z))


def fitted_axes(
    meshes: Iterable[Mesh],
    size: Decimals,
    margin: Decimals,
    anchor: Decimals,
    frame: LocalFrame | None,
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes of the fewest blocks that contain meshes and a margin around them.

    Each face is a whole number of blocks away from the anchor. The arithmetic is exact, except that
    a rotated frame rounds the vertices.
    """
    boxes = np.array([_box(mesh, frame) for mesh in meshes])
    lows, highs = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    x, y, z = (
        fitted_axis(*map(Fraction, axis))
        for axis in zip(lows.tolist(), highs.tolist(), size, margin, anchor, strict=True)
    )
    return _resolved((x, y, z))


def _box(mesh: Mesh, frame: LocalFrame | None) -> NDArray[np.float64]:
    """Return the box, (2, 3), around the triangles of a mesh in model coordinates."""
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangles, so no model can be fitted to it"
        raise TableError(message)
    points = mesh.vertices[np.unique(mesh.triangles)]
    if frame is not None:
        inverse = np.array(frame.matrix).T
        points = turned(points, inverse, frame.local_origin, frame.origin)
    return np.array([points.min(axis=0), points.max(axis=0)])


def fitted_axis(
    low: Fraction, high: Fraction, size: Fraction, margin: Fraction, anchor: Fraction
) -> DecimalAxis:
    """Return the fewest blocks, at least one, that contain an interval and its margin."""
    first = math.floor((low - margin - anchor) / size)
    last = math.ceil((high + margin - anchor) / size)
    start = as_decimal(anchor + first * size)
    return DecimalAxis(start, as_decimal(size), max(last - first, 1))


def _resolved(
    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis],
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes; raise TableError for blocks too small for float64 at their coordinates."""
    for name, axis in zip("xyz", axes, strict=True):
        if not axis.is_resolved:
            message = (
                f"blocks of {plain(axis.size)} in {name} are too small: float64 cannot distinguish "
                f"centroids this close at coordinates of {_rough(axis.high)}; use larger blocks, "
                "or move the origin"
            )
            raise TableError(message)
    return axes


def _rough(value: Decimal) -> str:
    return f"{float(value):.6g}"


# Write the model in bounded memory, x fastest and z slowest.

_NAMES = ("x", "y", "z", "dx", "dy", "dz")
_BUFFER = 1 << 20  # least number of characters to write at a time
_GROUP = 1 << 20  # number of rows in a row group
_MOST_CELLS = 2**31 - 2  # largest number of cells along an axis of an image

Writer = Callable[[NewModel, Target, str, Progress | None], None]


def writer_of(path: str) -> Writer:
    """Return the writer for the extension of a path.

    Raises
    ------
    TableError
        If new models cannot be written with this extension.
    """
    name = path.lower()
    if path == STANDARD:
        return _write_text
    for ending, writer in _WRITERS.items():
        if name.endswith(ending):
            return writer
    message = (
        f"{path}: use the extension {', '.join(_WRITERS)}; for another format, convert the new "
        "model with 'geodomain convert'"
    )
    raise TableError(message)


def _write_text(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write a text table of all blocks: centroids as exact decimals, then sizes."""
    done, buffer, length = 0, [",".join(_NAMES) + "\n"], 0
    for rows, text in _row_texts(model):
        buffer.append(text)
        length += len(text)
        done += rows
        if length >= _BUFFER:
            target.write(memoryview("".join(buffer).encode()))
            buffer, length = [], 0
            if progress is not None:
                progress(done, model.blocks)
    target.write(memoryview("".join(buffer).encode()))


def _row_texts(model: NewModel) -> Iterator[tuple[int, str]]:
    """Yield, for each y and z, the number of rows and their text; in parts if there are many."""
    x, y, z = model.axes
    sizes = ",".join(plain(axis.size) for axis in model.axes)
    # Format the centres of an axis once, unless it is very long.
    along = [list(axis.texts()) if axis.count <= _BUFFER else None for axis in (x, y)]
    for layers in z.texts():
        for height in layers:
            for lines in along[1] or y.texts():
                for line in lines:
                    tail = f",{line},{height},{sizes}\n"
                    for places in along[0] or x.texts():
                        yield len(places), tail.join([*places, ""])


def _write_parquet(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write a Parquet table of all blocks: the float64 nearest to each exact decimal."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"writing {path} needs pyarrow: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in _NAMES])
    sink = pyarrow.PythonFile(Sink(target), mode="w")
    with parquet.ParquetWriter(sink, schema) as writer:
        for begin in range(0, model.blocks, _GROUP):
            rows = np.arange(begin, min(begin + _GROUP, model.blocks))
            columns = [*_centroids(model, rows)]
            columns += [np.full(len(rows), float(axis.size)) for axis in model.axes]
            writer.write_table(pyarrow.table(columns, schema=schema), _GROUP)
            if progress is not None:
                progress(int(rows[-1]) + 1, model.blocks)


def _centroids(model: NewModel, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """Yield the x, then the y, then the z of the blocks in these rows, counted from 0."""
    nx, ny, _ = model.count
    places = (rows % nx, rows // nx % ny, rows // (nx * ny))
    for axis, along in zip(model.axes, places, strict=True):
        yield axis.numbers(along)


def _write_image(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write a VTK image with the extent and rotation of the model, and without cell data."""
    import pyvista

    if max(model.count) > _MOST_CELLS:
        message = f"{path}: VTK allows at most {_MOST_CELLS:,} cells along an axis"
        raise TableError(message)
    low = np.array([[float(axis.low) for axis in model.axes]])
    frame = model.frame
    image = pyvista.ImageData(
        dimensions=tuple(count + 1 for count in model.count),
        spacing=tuple(float(axis.size) for axis in model.axes),
        origin=tuple((low if frame is None else frame.to_world(low))[0].tolist()),
    )
    if frame is not None:
        image.direction_matrix = np.array(frame.matrix)
    target.write(memoryview(encoded(image, path)))


_WRITERS: dict[str, Writer] = {
    ".csv": _write_text,
    ".csv.gz": _write_text,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
    ".vti": _write_image,
}


# Make a model file.

# Smallest number of bytes per block, of the shortest possible row. An image has no rows.
_LEAST = {".csv": 12.0, ".csv.gz": 0.01, ".parquet": 0.01, ".pq": 0.01}
_ZERO = (Decimal(0), Decimal(0), Decimal(0))


def model_file(
    output: PathGiven,
    *,
    size: Numbers,
    origin: Numbers | None = None,
    count: str | tuple[int, int, int] | None = None,
    fit: MeshesLike | None = None,
    margin: Numbers = 0,
    rotation: str | Turns | None = None,
    local_origin: Numbers | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
) -> NewModel:
    r"""Write a new regular block model, which holds only centroids and sizes.

    Centroids are exact decimals, origin + (i + 1/2) * size, and text holds all their digits. In the
    order of rows, x changes fastest, then y, then z. Memory does not grow with the model.

    Parameters
    ----------
    output : path
        .csv, .csv.gz or .parquet, with columns x, y, z, dx, dy and dz; or .vti. "-" writes text to
        stdout. Parquet holds the float64 nearest to each centroid. A VTK image (.vti) holds only
        its origin and spacing, from which readers compute the cells.
    size : number, str or three of them
        Block size along x, y and z, or one number for all axes. Texts are read exactly, floats as
        their shortest decimals.
    origin : str or three numbers
        The lower corner of the model, not a centroid. With ``fit``, it is a point to which block
        corners are aligned; the default is then 0, 0, 0, so that faces are at multiples of the
        size. With ``rotation``, it is the origin of the model in world coordinates, as for
        `label_file`.
    count : str or three integers
        Number of blocks along x, y and z.
    fit : mesh-like, or several of them
        Meshes to contain, instead of ``count``: the model has the fewest blocks that contain them.
    margin : number, str or three of them
        With ``fit``: smallest distance between the meshes and the sides of the model.
    rotation : str or sequence of (axis, degrees), optional
        As for `label_file`. The file then holds local coordinates; give
        ``label_file(..., rotation=, origin=, local_origin=)`` the same values. A VTK image holds
        the rotation, so `label_file` needs none of these.
    local_origin : str or three numbers, optional
        With ``rotation``: the model coordinates of the point whose world coordinates are
        ``origin``. Blocks begin there or, with ``fit``, are aligned to it. [default: 0, 0, 0]
    overwrite : bool
        Whether to replace an existing output.
    progress : bool or callable
        As for `label_file`.

    Returns
    -------
    NewModel
        ``print`` it.

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    TableError
        If new models cannot be written with the extension, a mesh has no triangles, the disk has
        too little space, or blocks are so small that float64 cannot distinguish their centroids.
    MeshError, OSError
        As `read_mesh`; also if the output cannot be written.
    ValueError
        If a value is invalid, or options contradict each other.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.csv"
    >>> model = geodomain.model_file(path, origin="414000.1,0,0", size="5,5,2.5", count="2,1,1")
    >>> print(model)
    2 blocks of 5 x 5 x 2.5
    x: 414000.1 to 414010.1, 2 blocks
    y: 0 to 5, 1 block
    z: 0 to 2.5, 1 block
    >>> path.read_text().split()
    ['x,y,z,dx,dy,dz', '414002.6,2.5,1.25,5,5,2.5', '414007.6,2.5,1.25,5,5,2.5']
    """
    _refuse_slips(origin, count, fit, margin, rotation, local_origin)
    sizes, start = read_sizes(size), _ZERO if origin is None else read_decimals(origin, "origin")
    frame = None
    if rotation is not None:
        local = _ZERO if local_origin is None else read_decimals(local_origin, "local_origin")
        frame = LocalFrame(read_turns(rotation), _floats(start), _floats(local))
        start = local
    place = os.fspath(output)
    writer = writer_of(str(place))
    if place != STANDARD:
        require_places([Path(place)], overwrite=overwrite)
        refuse_inputs([Path(place)], _files(fit))
    if fit is None:
        axes = counted_axes(start, sizes, read_counts(count or ""))
    else:
        axes = fitted_axes(as_meshes(fit), sizes, read_margins(margin), start, frame)
    model = NewModel(axes, frame, str(place))
    if place != STANDARD:
        _require_room(model, Path(place))
    with (
        show_progress(progress, "writing") as report,
        open_target(place, overwrite=overwrite) as target,
    ):
        writer(model, target, str(place), report)
    return model


def _refuse_slips(
    origin: object, count: object, fit: object, margin: object, rotation: object, local: object
) -> None:
    """Raise ValueError for options that contradict each other."""
    message = ""
    if (count is None) == (fit is None):
        message = "give either count= or fit=, which decide the number of blocks"
    elif fit is None and origin is None:
        message = "count= needs origin=: the lower corner of the model"
    elif fit is None and margin != 0:
        message = "margin= needs fit=: the meshes to contain"
    elif rotation is not None and origin is None:
        message = "rotation= needs origin=: the world coordinates of the model's origin"
    elif rotation is None and local is not None:
        message = "local_origin= needs rotation=: the rotation of the model"
    if message:
        raise ValueError(message)


def _require_room(model: NewModel, place: Path) -> None:
    """Raise TableError if even the smallest possible file is larger than the free disk space."""
    name = place.name.lower()
    least = max(
        (model.blocks * each for end, each in _LEAST.items() if name.endswith(end)), default=0
    )
    free = shutil.disk_usage(place.absolute().parent).free
    if least > free:
        message = (
            f"{model.blocks:,} blocks need at least {least / 1e9:,.0f} GB, but {place.parent} has "
            f"{free / 1e9:,.0f} GB free: is size= in the unit of the coordinates?"
        )
        raise TableError(message)


def _floats(point: Decimals) -> tuple[float, float, float]:
    x, y, z = map(float, point)
    return x, y, z


def _files(meshes: object) -> list[Path]:
    """Return the files of all meshes that were passed as paths."""
    items = meshes if isinstance(meshes, list | tuple) else [meshes]
    return [split_name(Path(item))[0] for item in items if isinstance(item, str | os.PathLike)]
