"""The compiled checks of a mesh's arrays, through ctypes; no messages."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import core
from geodomain.backends.threads import thread_count

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


class CheckedMesh(NamedTuple):
    """Copies of a mesh's arrays, and the faults found in them; -1 is no fault.

    ``by_index`` tells whether it is closed and whether it is balanced.
    """

    vertices: Floats
    triangles: Indices
    bounds: Floats
    bad_vertex: int
    bad_triangle: int
    by_index: tuple[bool, bool]


def _threads(count: int) -> int:
    """Return the threads worth starting for this many triangles or vertices."""
    return 1 if count < 50_000 else thread_count(None)


def check(vertices: Floats, triangles: Indices) -> CheckedMesh:
    """Copy and check C-contiguous (v, 3) float64 and (t, 3) int32."""
    vertices_out, triangles_out = np.empty_like(vertices), np.empty_like(triangles)
    bounds = np.empty((2, 3))
    faults, flags = (ctypes.c_int64 * 2)(), (ctypes.c_int32 * 2)()
    core().mesh_check(
        vertices,
        len(vertices),
        triangles,
        len(triangles),
        _threads(len(vertices) + len(triangles)),
        vertices_out,
        triangles_out,
        bounds,
        faults,
        flags,
    )
    by_index = bool(flags[0]), bool(flags[1])
    return CheckedMesh(vertices_out, triangles_out, bounds, faults[0], faults[1], by_index)


def merge_equal(rows: Floats) -> Indices:
    """Return, for each row of (n, 3), the first one that is equal to it; -0.0 equals 0.0."""
    merged = np.empty(len(rows), dtype=np.int32)
    core().merge_vertices(rows, len(rows), merged)
    return merged


def group_equal(rows: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find rows of equal numbers; -0.0 equals 0.0.

    Returns
    -------
    first : (m,) int64
        The first row of each group, ascending.
    group : (n,) int64
        The group of each row of (n, 3), an index of `first`.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, 3)
    first, group = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    count = ctypes.c_int64()
    core().group_rows(rows, len(rows), group, first, count)
    return first[: count.value].copy(), group


def closed_by_value(vertices: Floats, triangles: Indices) -> tuple[bool, bool]:
    """Return what `CheckedMesh.by_index` holds, equal vertices being one."""
    merged = merge_equal(vertices)
    flags = (ctypes.c_int32 * 2)()
    core().mesh_closed(
        triangles,
        len(triangles),
        merged,
        _threads(len(triangles)),
        flags,
    )
    return bool(flags[0]), bool(flags[1])


@dataclass(frozen=True)
class Bodies:
    """Count the bodies of a mesh, which hang together by vertices, and what they are made of.

    ``repeats`` tells how often an edge is used again in the same direction.
    """

    count: int
    vertices: int
    triangles: int
    repeats: int

    @property
    def is_ball(self) -> bool:
        """Whether there is one, whose closed surface is that of a ball if directions cancel.

        So is, rarely, that of two which touch in two vertices alone.
        """
        is_alone = self.count == 1 and self.repeats == 0
        return is_alone and 2 * self.vertices == self.triangles + 4


def find_bodies(triangles: Indices, merged: Indices | None, vertex_count: int) -> Bodies:
    """Return the bodies of a mesh; ``merged`` tells which vertices are equal, if not indices do."""
    found = (ctypes.c_int64 * 4)()
    core().mesh_bodies(
        triangles,
        len(triangles),
        merged,
        vertex_count,
        _threads(len(triangles)),
        found,
    )
    return Bodies(*found)


def clip_ears(ring: Floats, normal: Floats) -> Indices:
    """Cut a ring (n, 3) of 4 or more corners into triangles (n - 2, 3) of their numbers."""
    triangles = np.empty((len(ring) - 2, 3), dtype=np.int32)
    core().clip_ears(ring, len(ring), normal, triangles)
    return triangles


class VertexFans(NamedTuple):
    """What triangles do about the vertices of a mesh, by index.

    Attributes
    ----------
    are_rings : bool
        Whether those of each vertex close to one ring: then every edge has two triangles, which
        face alike, and what hangs together by vertices hangs together by edges.
    parted : (v,) uint8
        1 where those of a vertex are known to meet in nothing but the vertex and shared edges.
    """

    are_rings: bool
    parted: NDArray[np.uint8]


def vertex_fans(vertices: Floats, triangles: Indices) -> VertexFans:
    """Look at the triangles about each vertex."""
    parted, are_rings = np.empty(len(vertices), np.uint8), ctypes.c_int32()
    core().vertex_fans(
        vertices,
        len(vertices),
        triangles,
        len(triangles),
        _threads(len(triangles)),
        parted,
        are_rings,
    )
    return VertexFans(bool(are_rings), parted)


def are_distinct(rows: Floats) -> bool:
    """Tell whether no two rows of (n, 3) are equal; there is no -0.0 in them."""
    distinct = ctypes.c_int32()
    core().rows_distinct(rows, len(rows), _threads(len(rows)), distinct)
    return bool(distinct)


def volume_sign(vertices: Floats, triangles: Indices) -> int:
    """Return the sign of a mesh's signed volume, or 0 where float64 does not tell it."""
    sign = ctypes.c_int32()
    core().volume_sign(vertices, triangles, len(triangles), _threads(len(triangles)), sign)
    return sign.value


def crossed_triangles(
    vertices: Floats,
    triangles: Indices,
    bounds: Floats,
    group: Indices,
    parted: NDArray[np.uint8],
    threads: int,
) -> NDArray[np.bool_]:
    """Return which triangles cross another one of their group, (t,), or may; -1 is no group.

    ``bounds``, (2, 3), hold all triangles; ``parted`` as in `VertexFans`.
    """
    crossed = np.zeros(len(triangles), np.bool_)
    core().self_crossings(
        vertices,
        triangles,
        len(triangles),
        bounds,
        group,
        parted,
        threads,
        crossed,
    )
    return crossed


def projection_signs(vertices: Floats, triangles: Indices) -> NDArray[np.int8]:
    """Return the sign of each triangle's projection, exactly; 0 where it is a line."""
    signs = np.empty(len(triangles), np.int8)
    core().projection_signs(vertices, triangles, len(triangles), signs)
    return signs
