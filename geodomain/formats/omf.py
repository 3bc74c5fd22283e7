"""Shared parts of the readers of both versions of the Open Mining Format: errors, grids, models."""

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
    """Raise an error of type `error` in place of any other error that damaged content causes."""
    try:
        yield
    except GeodomainError:
        raise
    except _WRONG as wrong:
        reason = " ".join(str(wrong).split())[:100] or type(wrong).__name__
        raise damaged(file, f"its index or an array cannot be read ({reason})", error) from wrong


def damaged(file: str, fault: str, error: type[GeodomainError]) -> GeodomainError:
    """Return the error for a file that violates its format."""
    return error(f"{file} is damaged: {fault}; copy or export the file again")


# --- Surfaces of both versions.


def no_surface(file: str, kinds: Sequence[str]) -> MeshError:
    """Return the error for a project without surfaces; it lists the types of its elements."""
    held = listed(list(dict.fromkeys(kinds))) or "nothing"
    message = f"{file} has no surface: it holds {held}; export the wireframes as surfaces"
    return MeshError(message)


@dataclass(frozen=True)
class Grid:
    """A surface over a grid: cell sizes along two axes, and the heights of the nodes.

    For u x v cells, `heights` is an array (u + 1, v + 1).
    """

    origin: NDArray[np.float64]
    axis_u: NDArray[np.float64]
    axis_v: NDArray[np.float64]
    sizes_u: NDArray[np.float64]
    sizes_v: NDArray[np.float64]
    heights: NDArray[np.float64] | None


def grid_faces(grid: Grid) -> Faces:
    """Return two triangles per cell, cut from its node of lowest u, v to that of highest u, v."""
    u, v = (np.concatenate([[0.0], np.cumsum(sizes)]) for sizes in (grid.sizes_u, grid.sizes_v))
    place = grid.origin + u[:, None, None] * grid.axis_u + v[None, :, None] * grid.axis_v
    if grid.heights is not None:
        normal = np.cross(grid.axis_u, grid.axis_v)
        place = place + grid.heights[:, :, None] * (normal / np.linalg.norm(normal))
    return lattice_faces(place)


# --- Block models of both versions.

Element = TypeVar("Element")


def pick_model(
    models: Sequence[tuple[str, Element]], wanted: str | None, file: str, kinds: Iterable[str]
) -> Element:
    """Return the block model with the name `wanted`, or the only model if `wanted` is None.

    Raises
    ------
    TableError
        If no model has that name, or if it is not clear which model is meant; the message lists the
        names.
    """
    if not models:
        held = listed(list(dict.fromkeys(kinds))) or "nothing"
        message = (
            f"{file} has no block model: it holds {held}; pass a file of wireframes as a solid, "
            "not as the block model"
        )
        raise TableError(message)
    matching = [model for name, model in models if wanted in (None, name)]
    if len(matching) == 1:
        return matching[0]
    names = listed([name for name, _ in models])
    if wanted is None:
        message = f"{file} holds {len(models)} block models: choose one of {names}, as {file}:NAME"
    else:
        count = f"{len(matching)} block models" if matching else "no block model"
        message = f"{file} has {count} with the name {wanted!r}: it holds {names}"
    raise TableError(message)


def require_lattice(steps: Sequence[Floats], origin: Floats, axes: Floats) -> None:
    """Require a finite lattice whose cells have positive sizes.

    Raises
    ------
    ValueError
    """
    if origin.shape != (3,) or axes.shape != (3, 3) or any(sizes.ndim != 1 for sizes in steps):
        message = "the lattice does not have three axes"
        raise ValueError(message)
    if not (np.isfinite(origin).all() and np.isfinite(axes).all()):
        message = "the lattice's origin or axes are not finite numbers"
        raise ValueError(message)
    if not all((np.isfinite(sizes) & (sizes > 0)).all() for sizes in steps):
        message = "the lattice has a cell whose size is not positive"
        raise ValueError(message)


def require_room(steps: Sequence[Floats], file: str) -> None:
    """Refuse more cells than fit into memory, because even a small file may declare that many.

    Raises
    ------
    TableError
    """
    counts = [len(sizes) for sizes in steps]
    cells = " x ".join(f"{count:,}" for count in counts)
    memory.require(8.0 * math.prod(counts), f"{file}, with {cells} cells,", TableError)


# --- Whether a project holds blocks or surfaces.

_MODELS = {"VolumeElement", "BlockModel"}
_SURFACES = {"SurfaceElement", "Surface", "GridSurface"}


def surfaces_and_models(kinds: Iterable[tuple[object, str]], place: Path) -> list[tuple[str, bool]]:
    """Return the name of each surface and block model, and whether it is a block model.

    Elements without a name have the name of the file.
    """
    names = [(str(name or place.stem), kind) for name, kind in kinds]
    return [(name, kind in _MODELS) for name, kind in names if kind in _MODELS | _SURFACES]


def only_blocks(kinds: Iterable[tuple[object, str]], place: Path, wanted: str | None) -> bool:
    """Return whether a project, or its element with the name `wanted`, holds blocks and no surface.

    Parameters
    ----------
    kinds : iterable of (object, str)
        Name and type of each element.
    place : Path
        The file; elements without a name have its name.
    wanted : str, optional
        Name of one element.

    Warns
    -----
    GeodomainWarning
        If block models exist besides surfaces, because only the surfaces are converted.
    """
    names = [(str(name or place.stem), kind) for name, kind in kinds]
    models = [name for name, kind in names if kind in _MODELS]
    surfaces = [name for name, kind in names if kind in _SURFACES]
    if wanted is not None:
        return wanted in models and wanted not in surfaces
    if models and surfaces:
        warn(
            f"{place.name} also holds {counted(len(models), 'block model')}, {listed(models)}, "
            f"which {'is' if len(models) == 1 else 'are'} not written; to write one, convert "
            f"{place.name}:NAME"
        )
    return bool(models) and not surfaces
