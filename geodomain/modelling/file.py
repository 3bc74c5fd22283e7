"""Make a regular block model as a file."""

from __future__ import annotations

import os
import shutil
from decimal import Decimal
from pathlib import Path

from geodomain.errors import TableError
from geodomain.inputs.kinds import MeshesLike
from geodomain.inputs.meshes import as_meshes
from geodomain.inputs.paths import PathGiven
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.streams import open_target
from geodomain.io.header.frames import LocalFrame
from geodomain.io.header.keywords import Turns, read_turns
from geodomain.io.meshes.solids import split_name
from geodomain.modelling.decimal_axis import (
    Decimals,
    Numbers,
    read_counts,
    read_decimals,
    read_margins,
    read_sizes,
)
from geodomain.modelling.new_model import NewModel, counted_axes, fitted_axes
from geodomain.modelling.writing import writer_of
from geodomain.progress import Progress, show_progress

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
