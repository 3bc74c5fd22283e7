"""What a damaged OMF file ends in: one error, of the kind that the reader asks for."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError, counted, warn
from geodomain.formats.raster import lattice_faces
from geodomain.formats.solids import listed
from geodomain.mesh.polygons import Faces

_WRONG = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    OSError,
    EOFError,
    RuntimeError,
    zlib.error,
    struct.error,
    zipfile.BadZipFile,
)


@contextmanager
def refusing(file: str, error: type[GeodomainError]) -> Iterator[None]:
    """Raise the error for an index that is not what it must be, in whatever way."""
    try:
        yield
    except GeodomainError:
        raise
    except _WRONG as wrong:
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(file, f"its index or an array cannot be read ({reason})", error) from wrong


def damaged(file: str, found: str, error: type[GeodomainError]) -> GeodomainError:
    """Return the error for a file that is not what its format asks for."""
    return error(f"{file} is damaged: {found}; copy or export the file again")


# --- What the two versions of the Open Mining Format have in common; reads no file.


def no_surface(file: str, kinds: Sequence[str]) -> MeshError:
    """Return the error for a project without surfaces, with what it has instead."""
    held = listed(list(dict.fromkeys(kinds))) or "nothing"
    message = f"{file} has no surface: it holds {held}; export the wireframes as surfaces"
    return MeshError(message)


@dataclass(frozen=True)
class Grid:
    """A surface over a grid: cell sizes along two axes, heights (u + 1, v + 1) of the nodes."""

    origin: NDArray[np.float64]
    axis_u: NDArray[np.float64]
    axis_v: NDArray[np.float64]
    sizes_u: NDArray[np.float64]
    sizes_v: NDArray[np.float64]
    heights: NDArray[np.float64] | None


def grid_faces(grid: Grid) -> Faces:
    """Return two triangles a cell, divided from its low corner to its high one."""
    u, v = (np.concatenate([[0.0], np.cumsum(sizes)]) for sizes in (grid.sizes_u, grid.sizes_v))
    place = grid.origin + u[:, None, None] * grid.axis_u + v[None, :, None] * grid.axis_v
    if grid.heights is not None:
        normal = np.cross(grid.axis_u, grid.axis_v)
        place = place + grid.heights[:, :, None] * (normal / np.linalg.norm(normal))
    return lattice_faces(place)


# --- What block models of both versions of OMF have in common; opens no file.

Element = TypeVar("Element")


def pick_model(
    models: Sequence[tuple[str, Element]], wanted: str | None, file: str, kinds: Iterable[str]
) -> Element:
    """Return the block model of a name, or the only one.

    Raises
    ------
    TableError
        If there is none, none of that name, or more than one; with the names that there are.
    """
    if not models:
        held = listed(list(dict.fromkeys(kinds))) or "nothing"
        message = f"{file} has no block model: it holds {held}; give wireframes as solids"
        raise TableError(message)
    found = [one for name, one in models if wanted in (None, name)]
    if len(found) == 1:
        return found[0]
    names = listed([name for name, _ in models])
    if wanted is None:
        message = f"{file} holds {len(models)} block models: choose one, {file}:NAME, of {names}"
    else:
        count = f"{len(found)} block models" if found else "no block model"
        message = f"{file} has {count} of the name {wanted!r}: it holds {names}"
    raise TableError(message)


def require_lattice(steps: Sequence[Floats], origin: Floats, axes: Floats) -> None:
    """Refuse a lattice that is nowhere, or whose cells have no size.

    Raises
    ------
    ValueError
    """
    if origin.shape != (3,) or axes.shape != (3, 3) or any(one.ndim != 1 for one in steps):
        message = "the lattice has not three axes"
        raise ValueError(message)
    if not (np.isfinite(origin).all() and np.isfinite(axes).all()):
        message = "the lattice's origin or axes are no numbers"
        raise ValueError(message)
    if not all((np.isfinite(one) & (one > 0)).all() for one in steps):
        message = "the lattice has a cell whose size is not above zero"
        raise ValueError(message)


def require_room(steps: Sequence[Floats], file: str) -> None:
    """Refuse more cells than memory holds numbers for: a file may well be small beside them.

    Raises
    ------
    TableError
    """
    counts = [len(one) for one in steps]
    cells = " x ".join(f"{count:,}" for count in counts)
    memory.require(8.0 * math.prod(counts), f"{file}, with {cells} cells,", TableError)


# --- Whether a project holds blocks or surfaces.

_MODELS = {"VolumeElement", "BlockModel"}
_SURFACES = {"SurfaceElement", "Surface", "GridSurface"}


def only_blocks(told: Iterable[tuple[object, str]], place: Path, wanted: str | None) -> bool:
    """Tell whether a project, or the element of it that is named, is blocks and no surface.

    Parameters
    ----------
    told : iterable of (object, str)
        The name and the type of each element.
    place : Path
        The file, whose name elements without a name have.
    wanted : str, optional
        The element that is meant.

    Warns
    -----
    GeodomainWarning
        For block models beside surfaces, which are not converted with them.
    """
    names = [(str(name or place.stem), kind) for name, kind in told]
    models = [name for name, kind in names if kind in _MODELS]
    surfaces = [name for name, kind in names if kind in _SURFACES]
    if wanted is not None:
        return wanted in models and wanted not in surfaces
    if models and surfaces:
        warn(
            f"{place.name} has {counted(len(models), 'block model')} too, {listed(models)}, which "
            f"{'is' if len(models) == 1 else 'are'} not written: convert {place.name}:NAME"
        )
    return bool(models) and not surfaces
