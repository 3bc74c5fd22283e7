"""What block models of both versions of OMF have in common; opens no file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from geodomain import memory
from geodomain.errors import TableError
from geodomain.io.blocks.cells import Floats
from geodomain.io.meshes.solids import listed

Element = TypeVar("Element")

# So many cells a file may claim without an array that shows them.
_MOST_BARE = 1 << 24


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


def require_count(steps: Sequence[Floats], most: int) -> int:
    """Count the cells; refuse more than a file of that kind can hold.

    Raises
    ------
    ValueError
    """
    count = 1
    for one in steps:
        count *= len(one)
    if count > max(most, _MOST_BARE):
        message = f"{count:,} cells are more than the file can hold"
        raise ValueError(message)
    return count
