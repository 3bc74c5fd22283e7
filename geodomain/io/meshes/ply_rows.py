"""The columns that are read of a PLY element, and what to say when it is short."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes.ply_header import Element
from geodomain.io.meshes.text import truncated

FACE_LISTS = ("vertex_indices", "vertex_index")


class Lists(NamedTuple):
    """A list property: all values one after the other, and the length of each row."""

    values: NDArray[Any]
    sizes: NDArray[np.int64]


Columns = dict[str, Any]


def no_rows(element: Element) -> Columns:
    """Return the columns of an element without rows."""
    nothing = np.zeros(0, dtype=np.int64)
    return {
        p.name: Lists(nothing, nothing) if p.length_kind else nothing for p in element.properties
    }


def short_of(element: Element, name: str) -> MeshError:
    """Return the error for a file that ends before the rows of an element do."""
    return truncated(name, f"{element.count:,} rows of '{element.name}'", "it ends before them")
