"""Make a regular block model as text, Parquet or a VTK image, with exact decimal axes."""

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

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, Target, open_target
from geodomain.formats.parquet import Sink
from geodomain.formats.registry import split_name
from geodomain.formats.vtk import encoded
from geodomain.html import html_table
from geodomain.inputs import MeshesLike, PathGiven, as_meshes
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.tables.frames import LocalFrame, turned
from geodomain.tables.options import read_turns
from geodomain.tables.settings import Turns

Number = float | str | Decimal
Numbers = str | Number | Sequence[Number]
Decimals = tuple[Decimal, Decimal, Decimal]

_MOST_DECIMALS = 30
_LARGEST = Decimal(2) ** 339  # of a wireframe
# Integers and powers of ten that float64 holds exactly: their quotient is rounded once.
_EXACT_INTEGER, _EXACT_POWER = 2**53, 22
_CHUNK = 1 << 16


@dataclass(frozen=True)
class DecimalAxis:
    """The blocks along one axis: from `low`, `count` of them, of one `size`.

    Attributes
    ----------
    low, size : Decimal
        The lower face of the first block, and the length of each.
    count : int
    """

    low: Decimal
    size: Decimal
    count: int

    @property
    def high(self) -> Decimal:
        """Return the upper face of the last block."""
        return as_decimal(Fraction(self.low) + self.count * Fraction(self.size))

    @cached_property
    def _units(self) -> tuple[int, int, int]:
        """Return the first centre and the size in units of a power of ten, and its decimals."""
        size = Fraction(self.size)
        first, decimals = Fraction(self.low) + size / 2, 0
        step = size if self.count > 1 else Fraction(0)
        while (first * 10**decimals).denominator > 1 or (step * 10**decimals).denominator > 1:
            decimals += 1
        return int(first * 10**decimals), int(step * 10**decimals), decimals

    def texts(self) -> Iterator[list[str]]:
        """Yield the centres as text, some at a time: all with as many decimals as one needs."""
        first, step, decimals = self._units
        for begin in range(0, self.count, _CHUNK):
            end = min(begin + _CHUNK, self.count)
            yield [_text(first + step * n, decimals) for n in range(begin, end)]

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the float64 that is nearest to each of some centres."""
        first, step, decimals = self._units
        most = max(abs(first), abs(first + step * self.count))
        if most < _EXACT_INTEGER and decimals <= _EXACT_POWER:
            return (first + step * places) / 10.0**decimals
        # Python divides integers correctly rounded, however long.
        exact = [(first + step * place) / 10**decimals for place in places.tolist()]
        return np.array(exact, np.float64)

    @property
    def is_resolved(self) -> bool:
        """Whether float64 tells neighbours apart, with a digit to spare."""
        largest = max(abs(float(self.low)), abs(float(self.high)))
        return float(self.size) > 16 * float(np.spacing(largest))


def _text(number: int, decimals: int) -> str:
    """Write a number of units of a power of ten."""
    if not decimals:
        return str(number)
    digits = str(abs(number)).rjust(decimals + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def as_decimal(value: Fraction) -> Decimal:
    """Return a fraction whose decimals end, exactly and without zeros at its end."""
    decimals = 0
    while (value * 10**decimals).denominator > 1:
        decimals += 1
    return Decimal(_text(int(value * 10**decimals), decimals))


def plain(value: Decimal) -> str:
    """Write a decimal number without an exponent, or zeros at its end."""
    return str(as_decimal(Fraction(value)))


def read_decimals(value: Numbers, what: str, *, alone: bool = False) -> Decimals:
    """Return three decimal numbers, or those of X,Y,Z; floats by their shortest digits.

    Parameters
    ----------
    value : str, number or sequence of them
        Of three, or `alone`: one, which stands for all three.
    what : str
        What messages call it.

    Raises
    ------
    ValueError
        For anything else, and for numbers that are not finite, too large or too fine.
    """
    given = value.split(",") if isinstance(value, str) else value
    parts: list[Number] = [given] if isinstance(given, float | int | Decimal) else [*given]
    try:
        found = [_decimal(part) for part in (parts * 3 if alone and len(parts) == 1 else parts)]
    except (InvalidOperation, ValueError, TypeError):
        found = []
    if len(found) != 3:
        message = f"{what} is {value!r}; it must be {'one number, or ' if alone else ''}X,Y,Z"
        raise ValueError(message)
    for one in found:
        exponent = one.as_tuple().exponent
        if not isinstance(exponent, int) or not abs(one) < _LARGEST:
            message = f"{what} is {value!r}: numbers must be finite, and smaller than 2^339"
            raise ValueError(message)
        if -exponent > _MOST_DECIMALS:
            message = f"{what} is {value!r}: a number has more than {_MOST_DECIMALS} decimals"
            raise ValueError(message)
    return found[0], found[1], found[2]


def read_sizes(value: Numbers) -> Decimals:
    """Return three sizes above zero; one number is the size along every axis."""
    found = read_decimals(value, "size", alone=True)
    if min(found) <= 0:
        message = f"size is {value!r}; a block's size must be above zero"
        raise ValueError(message)
    return found


def read_margins(value: Numbers) -> Decimals:
    """Return three margins of at least zero; one number is the margin on every side."""
    found = read_decimals(value, "margin", alone=True)
    if min(found) < 0:
        message = f"margin is {value!r}; it must be at least zero"
        raise ValueError(message)
    return found


def read_counts(value: str | Sequence[int]) -> tuple[int, int, int]:
    """Return three whole numbers above zero, or those of NX,NY,NZ."""
    try:
        found = [int(one) for one in (value.split(",") if isinstance(value, str) else value)]
    except (TypeError, ValueError):
        found = []
    if len(found) != 3 or min(found) < 1:
        message = f"count is {value!r}; it must be NX,NY,NZ, three whole numbers above zero"
        raise ValueError(message)
    return found[0], found[1], found[2]


def _decimal(value: Number) -> Decimal:
    """Return a number as it is written; a float by the fewest digits that mean it."""
    if isinstance(value, str | Decimal | int):
        return Decimal(value.strip() if isinstance(value, str) else value)
    return Decimal(repr(float(value))) if math.isfinite(value) else Decimal("nan")


# The new model: its axes and rotation.


@dataclass(frozen=True, repr=False)
class NewModel:
    """A regular block model that was made; ``print`` it.

    Attributes
    ----------
    axes : tuple of DecimalAxis
        Along x, y and z, in the model's coordinates: faces and sizes are exact decimals.
    frame : LocalFrame, optional
        What turns these coordinates into the world's; None where they are those of the world.
    output : str
        The file.
    """

    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis]
    frame: LocalFrame | None = None
    output: str = ""

    @property
    def count(self) -> tuple[int, int, int]:
        """Return the number of blocks along x, y and z."""
        x, y, z = (axis.count for axis in self.axes)
        return x, y, z

    @property
    def blocks(self) -> int:
        """Return the number of all blocks."""
        return math.prod(self.count)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; exact decimals are texts."""
        return {
            "blocks": self.blocks,
            "count": list(self.count),
            "size": [plain(axis.size) for axis in self.axes],
            "low": [plain(axis.low) for axis in self.axes],
            "high": [plain(axis.high) for axis in self.axes],
            "rotation": None if self.frame is None else self.frame.say(),
            "output": self.output,
        }

    def __str__(self) -> str:
        """Say how many blocks there are, where, and how to label them."""
        lines = [
            f"{counted(self.blocks, 'block')} of "
            f"{' x '.join(plain(axis.size) for axis in self.axes)}"
        ]
        lines += [": ".join(row) for row in self._rows()]
        lines += self._notes()
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Count the blocks."""
        return f"<NewModel of {' x '.join(map(str, self.count))} blocks>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table(counted(self.blocks, "block"), self._rows(), notes=self._notes())

    def _notes(self) -> list[str]:
        """Say how the blocks of a rotated model are placed."""
        if self.frame is None:
            return []
        if self.output.lower().endswith(".vti"):
            return ["these coordinates are local, and the image is turned itself"]
        return [f"these coordinates are local; label them with {self.frame.say()}"]

    def _rows(self) -> list[tuple[str, str]]:
        """Return where the blocks are along each axis."""
        return [
            (name, f"{plain(axis.low)} to {plain(axis.high)}, {counted(axis.count, 'block')}")
            for name, axis in zip("xyz", self.axes, strict=True)
        ]


def counted_axes(
    low: Decimals, size: Decimals, count: Sequence[int]
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes of blocks from their lowest corner on."""
    x, y, z = (DecimalAxis(*one) for one in zip(low, size, count, strict=True))
    return _resolved((x, y, z))


def fitted_axes(
    meshes: Iterable[Mesh],
    size: Decimals,
    margin: Decimals,
    anchor: Decimals,
    frame: LocalFrame | None,
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the axes of the fewest blocks that hold meshes, with a margin.

    Faces are at the anchor and multiples of the size from there. The box of vertices and the
    margin are exact; in a rotated frame the vertices are turned, and rounded, first.
    """
    boxes = [_box(mesh, frame) for mesh in meshes]
    lows, highs = np.min([one[0] for one in boxes], axis=0), np.max([o[1] for o in boxes], axis=0)
    x, y, z = (
        _fitted(*map(Fraction, one))
        for one in zip(lows.tolist(), highs.tolist(), size, margin, anchor, strict=True)
    )
    return _resolved((x, y, z))


def _box(mesh: Mesh, frame: LocalFrame | None) -> NDArray[np.float64]:
    """Return the box of the vertices that triangles use, in the model's coordinates."""
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangle that a model could fit"
        raise TableError(message)
    points = mesh.vertices[np.unique(mesh.triangles)]
    if frame is not None:
        inverse = np.array(frame.matrix).T
        points = turned(points, inverse, frame.local_origin, frame.origin)
    return np.array([points.min(axis=0), points.max(axis=0)])


def _fitted(
    low: Fraction, high: Fraction, size: Fraction, margin: Fraction, anchor: Fraction
) -> DecimalAxis:
    """Return the blocks that hold an interval and its margin, one at least."""
    first = math.floor((low - margin - anchor) / size)
    last = math.ceil((high + margin - anchor) / size)
    start = as_decimal(anchor + first * size)
    return DecimalAxis(start, as_decimal(size), max(last - first, 1))


def _resolved(
    axes: tuple[DecimalAxis, DecimalAxis, DecimalAxis],
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Refuse blocks that are too small for float64 where they are."""
    for name, axis in zip("xyz", axes, strict=True):
        if not axis.is_resolved:
            message = (
                f"blocks of {plain(axis.size)} in {name} are too small: near {_rough(axis.high)} "
                "float64 does not tell their centroids apart"
            )
            raise TableError(message)
    return axes


def _rough(value: Decimal) -> str:
    return f"{float(value):.6g}"


# Write the model in bounded memory, x fastest and z slowest.

_NAMES = ("x", "y", "z", "dx", "dy", "dz")
_BUFFER = 1 << 20  # characters of text that are written at a time, at least
_GROUP = 1 << 20  # rows of a row group
_MOST_CELLS = 2**31 - 2  # along an axis of an image

Writer = Callable[[NewModel, Target, str, Progress | None], None]


def writer_of(path: str) -> Writer:
    """Return what writes the kind of file that a path names.

    Raises
    ------
    TableError
        For an extension of another kind.
    """
    name = path.lower()
    if path == STANDARD:
        return _write_text
    for ending, writer in _WRITERS.items():
        if name.endswith(ending):
            return writer
    message = (
        f"{path}: end the output in {', '.join(_WRITERS)}; 'geodomain convert' writes it as others"
    )
    raise TableError(message)


def _write_text(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write a table: centroids as exact decimals, then sizes."""
    done, held, length = 0, [",".join(_NAMES) + "\n"], 0
    for rows, text in _row_texts(model):
        held.append(text)
        length += len(text)
        done += rows
        if length >= _BUFFER:
            target.write(memoryview("".join(held).encode()))
            held, length = [], 0
            if progress is not None:
                progress(done, model.blocks)
    target.write(memoryview("".join(held).encode()))


def _row_texts(model: NewModel) -> Iterator[tuple[int, str]]:
    """Yield the text of some rows that share y and z, and how many they are."""
    x, y, z = model.axes
    sizes = ",".join(plain(axis.size) for axis in model.axes)
    # An axis that is not too long is written once.
    along = [list(axis.texts()) if axis.count <= _BUFFER else None for axis in (x, y)]
    for layers in z.texts():
        for height in layers:
            for lines in along[1] or y.texts():
                for line in lines:
                    tail = f",{line},{height},{sizes}\n"
                    for places in along[0] or x.texts():
                        yield len(places), tail.join([*places, ""])


def _write_parquet(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write row groups of float64, each coordinate the nearest to its decimal."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"{path} needs pyarrow to be written: pip install 'geodomain[parquet]'"
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
    """Yield x, y and z of some rows."""
    nx, ny, _ = model.count
    places = (rows % nx, rows // nx % ny, rows // (nx * ny))
    for axis, along in zip(model.axes, places, strict=True):
        yield axis.numbers(along)


def _write_image(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write an image without arrays, turned as the model is."""
    import pyvista

    if max(model.count) > _MOST_CELLS:
        message = f"{path}: VTK counts {_MOST_CELLS:,} cells along an axis at most"
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

# Bytes that a block takes at least: a row of text is no shorter; the other kinds are compressed,
# and an image has no rows.
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
    r"""Make a regular block model, of centroids and sizes alone, and write it.

    Centroids are exact decimal numbers, origin + (i + 1/2) size, and text has all their digits.
    Rows run through x first, then y, then z. Memory is bounded.

    Parameters
    ----------
    output : path
        .csv, .csv.gz or .parquet, with columns x, y, z, dx, dy and dz, or .vti, which needs no
        columns. "-" is stdout, which gets text. Parquet has the float64 nearest to each centroid;
        a VTK image has its origin and spacing alone, from which readers compute the cells.
    size : number, str or three of them
        Of a block along x, y and z; one number stands for all. Strings are taken to their last
        digit, floats by the fewest digits that mean them.
    origin : str or three numbers
        The lower corner of the model, not a centroid. With ``fit`` it is optional: a corner of
        blocks that the others are aligned to; by default 0, 0, 0, so that faces are multiples of
        the size. With ``rotation`` it is the model's origin in world coordinates, as for
        `label_file`.
    count : str or three integers
        Blocks along x, y and z.
    fit : mesh-like, or several of them
        In the place of ``count``: the fewest blocks that hold the meshes.
    margin : number, str or three of them
        With ``fit``: the least distance from the meshes to the sides of the model.
    rotation : str or sequence of (axis, degrees), optional
        As for `label_file`: the coordinates that are written are then local, and
        ``label_file(..., rotation=, origin=, local_origin=)`` with the same values places the
        blocks. A VTK image is turned itself, and needs none of these.
    local_origin : str or three numbers, optional
        With ``rotation``: the model's coordinates of ``origin``, where blocks begin or, with
        ``fit``, are aligned. [default: 0, 0, 0]
    overwrite : bool
        Whether an output that is there may be replaced.
    progress : bool or callable
        As for `label_file`.

    Returns
    -------
    NewModel
        ``print`` it.

    Raises
    ------
    FileExistsError
        If the output is there already; see ``overwrite``.
    TableError
        For an extension of another kind, a mesh without triangles, and blocks so small that
        float64 does not tell their centroids apart.
    MeshError, OSError
        As `read_mesh`, and for an output that cannot be written.
    ValueError
        For values that cannot be, and options that contradict each other.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.csv"
    >>> made = geodomain.model_file(path, origin="414000.1,0,0", size="5,5,2.5", count="2,1,1")
    >>> print(made)
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
    with show_progress(progress, "writing") as told, open_target(place, overwrite=overwrite) as to:
        writer(model, to, str(place), told)
    return model


def _refuse_slips(
    origin: object, count: object, fit: object, margin: object, rotation: object, local: object
) -> None:
    """Raise ValueError for options that contradict each other."""
    message = ""
    if (count is None) == (fit is None):
        message = "how many blocks? Give either count= or fit="
    elif fit is None and origin is None:
        message = "count= needs origin=: the lower corner of the model"
    elif fit is None and margin != 0:
        message = "margin= belongs to fit="
    elif rotation is not None and origin is None:
        message = "rotation= needs origin=: the world coordinates of the model's origin"
    elif rotation is None and local is not None:
        message = "local_origin= belongs to rotation="
    if message:
        raise ValueError(message)


def _require_room(model: NewModel, place: Path) -> None:
    """Refuse a model that is too large for the disk, by the least that its blocks can take."""
    name = place.name.lower()
    least = max(
        (model.blocks * each for end, each in _LEAST.items() if name.endswith(end)), default=0
    )
    free = shutil.disk_usage(place.absolute().parent).free
    if least > free:
        message = (
            f"{model.blocks:,} blocks need {least / 1e9:,.0f} GB at least, and {place.parent} has "
            f"{free / 1e9:,.0f} GB free: is size= in the unit of the coordinates?"
        )
        raise TableError(message)


def _floats(point: Decimals) -> tuple[float, float, float]:
    x, y, z = map(float, point)
    return x, y, z


def _files(meshes: object) -> list[Path]:
    """Return the files that meshes are read from."""
    given = meshes if isinstance(meshes, list | tuple) else [meshes]
    return [split_name(Path(one))[0] for one in given if isinstance(one, str | os.PathLike)]
