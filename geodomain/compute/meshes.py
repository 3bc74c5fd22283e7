"""Call the compiled core for meshes: checks, components, relations, volumes in blocks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout
from geodomain.compute.api import BlockIndex
from geodomain.compute.data import Floats, Indices, MeshArrays
from geodomain.compute.native import addresses, core, thread_count


class CheckedMesh(NamedTuple):
    """Copies of a mesh's arrays, and the first bad vertex and the first bad triangle, or -1.

    ``by_index`` holds whether the mesh is closed and whether it is balanced, if only equal
    indices count as one vertex.
    """

    vertices: Floats
    triangles: Indices
    bounds: Floats
    bad_vertex: int
    bad_triangle: int
    by_index: tuple[bool, bool]


def _threads(count: int) -> int:
    """Return the number of threads worth starting for this many triangles or vertices."""
    return 1 if count < 50_000 else thread_count(None)


def check(vertices: Floats, triangles: Indices) -> CheckedMesh:
    """Copy and check a mesh's arrays, which must be C-contiguous.

    The vertices are (v, 3) float64, the triangles (t, 3) int32.
    """
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
    """Return, for each row of (n, 3), the number of the first row equal to it; -0.0 equals 0.0."""
    merged = np.empty(len(rows), dtype=np.int32)
    core().merge_vertices(rows, len(rows), merged)
    return merged


def group_equal(rows: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group equal rows of (n, 3); -0.0 equals 0.0.

    Returns
    -------
    first : (m,) int64
        The first row of each group, ascending.
    group : (n,) int64
        The group of each row, as an index into `first`.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, 3)
    first, group = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    count = ctypes.c_int64()
    core().group_rows(rows, len(rows), group, first, count)
    return first[: count.value].copy(), group


def closed_by_value(vertices: Floats, triangles: Indices) -> tuple[bool, bool]:
    """Return whether a mesh is closed and whether it is balanced, with equal vertices merged."""
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
    """Counts of the bodies of a mesh; a body is a vertex-connected part.

    ``repeats`` is the number of directed edges that occur more than once.
    """

    count: int
    vertices: int
    triangles: int
    repeats: int

    @property
    def is_ball(self) -> bool:
        """Whether a balanced mesh is a single body without a handle.

        This is also true, rarely, of two bodies that touch in exactly two vertices.
        """
        is_alone = self.count == 1 and self.repeats == 0
        return is_alone and 2 * self.vertices == self.triangles + 4


def find_bodies(triangles: Indices, merged: Indices | None, vertex_count: int) -> Bodies:
    """Return the counts of a mesh's bodies; ``merged`` is from `merge_equal`, or None."""
    numbers = (ctypes.c_int64 * 4)()
    core().mesh_bodies(
        triangles,
        len(triangles),
        merged,
        vertex_count,
        _threads(len(triangles)),
        numbers,
    )
    return Bodies(*numbers)


def clip_ears(ring: Floats, normal: Floats) -> Indices:
    """Cut a ring (n, 3) of 4 or more corners into triangles (n - 2, 3), as indices of corners."""
    triangles = np.empty((len(ring) - 2, 3), dtype=np.int32)
    core().clip_ears(ring, len(ring), normal, triangles)
    return triangles


class VertexFans(NamedTuple):
    """How the triangles at each vertex of a mesh are connected, by index.

    Attributes
    ----------
    are_rings : bool
        Whether the triangles at each vertex form one closed ring. Then every edge has two
        triangles that face the same way, and vertex-connected parts are edge-connected.
    parted : (v,) uint8
        1 for a vertex if it is proved that the triangles at the vertex meet only in the vertex and
        in shared edges, otherwise 0.
    """

    are_rings: bool
    parted: NDArray[np.uint8]


def vertex_fans(vertices: Floats, triangles: Indices) -> VertexFans:
    """Examine how the triangles at each vertex are connected."""
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
    """Return whether all rows of (n, 3) are different; the rows must not contain -0.0."""
    distinct = ctypes.c_int32()
    core().rows_distinct(rows, len(rows), _threads(len(rows)), distinct)
    return bool(distinct)


def volume_sign(vertices: Floats, triangles: Indices) -> int:
    """Return the sign of a mesh's signed volume, or 0 if float64 cannot decide it."""
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
    """Return which triangles cross, or may cross, another triangle of their group, (t,).

    A triangle of group -1 is in no group. ``bounds``, (2, 3), is a box around all triangles;
    ``parted`` is that of `VertexFans`.
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
    """Return the exact sign of each triangle's area in plan; 0 if the triangle is vertical."""
    signs = np.empty(len(triangles), np.int8)
    core().projection_signs(vertices, triangles, len(triangles), signs)
    return signs


# The components of a mesh, and their relations where they meet.


class Seen(IntFlag):
    """Flags for how two components meet, with the values of `Evidence` in topology/relate.h."""

    TOUCH = layout.constant("kTouch")
    CROSS = layout.constant("kCross")
    FIRST_IN = layout.constant("kFirstIn")
    FIRST_OUT = layout.constant("kFirstOut")
    SECOND_IN = layout.constant("kSecondIn")
    SECOND_OUT = layout.constant("kSecondOut")
    SAME = layout.constant("kSame")
    BACK = layout.constant("kBack")
    UNDETERMINED = layout.constant("kUndetermined")
    TOO_MANY = layout.constant("kTooMany")


class Components:
    """The edge-connected components of a mesh.

    Attributes
    ----------
    count : int
        Number of components.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles, whether every edge is used equally
        in both directions, and whether every edge has at most two triangles.
    component : (t,) int32
        The component of each triangle; -1 if two corners are equal.
    boxes : (count, 2, 3) float64
        The box of each component.
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        count, flags = ctypes.c_int64(), (ctypes.c_int32 * 3)()
        core().components_create(
            vertices,
            len(vertices),
            triangles,
            len(triangles),
            count,
            flags,
            self.handle,
        )
        self.count = count.value
        self.closed, self.balanced, self.plain = map(bool, flags)
        self.component = np.empty(len(triangles), np.int32)
        self.boxes = np.empty((self.count, 2, 3))
        core().components_read(self.handle, self.component, self.boxes)

    def __del__(self) -> None:
        """Free the memory."""
        if getattr(self, "handle", None):
            core().components_free(self.handle)

    def near(self, most: int | None = None, cluster: Indices | None = None) -> Indices:
        """Return the pairs of components whose closed boxes meet, (p, 2), ascending.

        If there are more than ``most`` pairs, ``most`` + 1 of them are returned. ``cluster``
        holds the number of each component's cluster, or -1; if it is given, only pairs within a
        cluster count.
        """
        if cluster is None:
            cluster = np.zeros(self.count, np.int32)
        count = int(cluster.max(initial=-1)) + 1
        return _pairs(
            lambda *into: core().components_near(self.handle, cluster, count, most or 2**62, *into)
        )

    def contacts(self, most: int | None = None) -> Indices:
        """Return the pairs of components with triangles whose closed boxes meet; see `near`."""
        return _pairs(lambda *into: core().components_contacts(self.handle, most or 2**62, *into))

    def above(self, cluster: Indices, count: int) -> tuple[Indices, Indices]:
        """Return, for each cluster, the next component above its highest vertex, or -1 for none.

        Also return the component that has this vertex. ``cluster`` is the number of each
        component's cluster, -1 for components to ignore. Boxes of triangles of different clusters
        must not meet.
        """
        above, highest = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        core().components_above(self.handle, cluster, count, thread_count(None), above, highest)
        return above, highest

    def inside(self, pairs: Indices) -> NDArray[np.bool_]:
        """Return whether the second component of each pair is inside the first.

        The pairs must be sorted. The second component must have no point on the surface of the
        first.
        """
        inside = np.empty(len(pairs), np.uint8)
        core().components_inside(self.handle, pairs, len(pairs), thread_count(None), inside)
        return inside.astype(np.bool_)

    def relate(self, pairs: Indices, outward: NDArray[np.int8], limit: int) -> Indices:
        """Return how the components of each pair meet, as flags of `Seen`.

        ``outward`` is 1 for components that face outwards, -1 inwards, 0 if neither. For one pair
        of components, at most ``limit`` pairs of triangles are compared.
        """
        seen = np.empty(len(pairs), np.int32)
        core().components_relate(
            self.handle,
            pairs,
            len(pairs),
            outward,
            limit,
            thread_count(None),
            seen,
        )
        return seen


def _pairs(find: Callable[..., object]) -> Indices:
    """Return the pairs that a core function finds; a first call of the function counts them."""
    count = ctypes.c_int64()
    find(None, count)
    pairs = np.empty((count.value, 2), np.int32)
    find(pairs, count)
    return pairs


# Volumes of bodies in blocks, and the ends of footprints.


def common_shares(
    bodies: Sequence[tuple[BlockIndex, NDArray[np.int8]]],
    lows: Floats,
    highs: Floats,
    threads: int,
) -> Floats:
    """Return, for each block and each set of bodies, the share that lies in all bodies of the set.

    The CPU computes them; the bits do not depend on the number of threads.

    Parameters
    ----------
    bodies : sequence of (BlockIndex, (t,) int8)
        The k bodies: the index and the triangle weights of each.
    lows, highs : (n, 3) float64
        Corners of the blocks.
    threads : int
        Number of threads.

    Returns
    -------
    (n, 2**k) float64
        A column for each set; bit i of the column's number is 1 if body i is in the set. The
        columns of sets with fewer than two bodies are 0.
    """
    lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
    common = np.zeros((len(lows), 1 << len(bodies)))
    handles = [index.host_handle().value for index, _ in bodies]
    core().blocks_common(
        (ctypes.c_void_p * len(bodies))(*handles),
        addresses([weights for _, weights in bodies]),
        len(bodies),
        lows,
        highs,
        len(lows),
        threads,
        common,
    )
    return common


def line_places(lines: int) -> Floats:
    """Return the positions of ``lines`` times ``lines`` vertical lines in a block's plan.

    The lines are evenly spaced along both sides, and no two have the same x or the same y.

    Returns
    -------
    (lines * lines, 2) float64
        Fractions of the sides, in the order of `BlockIndex.cuts`.
    """
    places = np.empty((lines * lines, 2))
    core().line_places(lines, places)
    return places


class EdgeReach(IntEnum):
    """How much of an edge bounds a footprint; values as in kernels/volume/footprint_end.h."""

    NOWHERE = 0
    ALL_ALONG = 1
    IN_PARTS = 2


class FootprintEnd:
    """The boundary of a surface's footprint in plan, which follows its rim and folds, (m, 2, 3).

    Attributes
    ----------
    reach : (m,) uint8
        The `EdgeReach` of each edge.
    """

    def __init__(self, mesh: MeshArrays, edges: Floats, threads: int) -> None:
        self._edges = np.ascontiguousarray(edges)  # the core reads them where they are
        self.reach: NDArray[np.uint8] = np.empty(len(edges), np.uint8)
        self._handle = ctypes.c_void_p()
        core().footprint_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            self._edges,
            len(edges),
            threads,
            self.reach,
            self._handle,
        )

    def __del__(self) -> None:
        """Free the core's memory."""
        if getattr(self, "_handle", None):
            core().footprint_free(self._handle)

    def is_in(self, lows: Floats, highs: Floats, threads: int) -> NDArray[np.bool_]:
        """Return whether the boundary of the footprint enters the plan of each block, (n,)."""
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        ends_inside = np.empty(len(lows), np.bool_)
        core().footprint_ends(
            self._handle,
            lows,
            highs,
            len(lows),
            threads,
            ends_inside,
        )
        return ends_inside
