"""Call the compiled core for meshes: checks, components and their relations, block shares."""

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

    ``by_index`` is a pair of flags: whether the mesh is closed, and whether every edge is used
    equally often in both directions. These flags treat vertices of equal coordinates as different.
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
    """Copy a mesh's arrays and check them; they must be C-contiguous.

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
    """Return, for each row of an array (n, 3), the first row equal to it; -0.0 equals 0.0."""
    merged = np.empty(len(rows), dtype=np.int32)
    core().merge_vertices(rows, len(rows), merged)
    return merged


def group_equal(rows: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group the equal rows of an array (n, 3); -0.0 equals 0.0.

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
    """Return two flags of a mesh after merging equal vertices.

    The flags tell whether the mesh is closed, and whether every edge is used equally often in both
    directions.
    """
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


def shift(
    vertices: Floats, triangles: Indices, bounds: Floats, by: Floats
) -> tuple[Floats, int, int]:
    """Add a vector to each vertex of a mesh; each sum is rounded once.

    Returns
    -------
    moved : (v, 3) float64
        The moved vertices.
    bad_vertex : int
        The first vertex that is out of range now, or -1.
    collapsed : int
        The first triangle that had an area and has none now, or -1.
    """
    moved, moved_bounds, faults = np.empty_like(vertices), np.empty((2, 3)), (ctypes.c_int64 * 2)()
    core().mesh_shift(
        vertices,
        len(vertices),
        triangles,
        len(triangles),
        np.ascontiguousarray(bounds),
        by,
        moved,
        moved_bounds,
        faults,
    )
    return moved, faults[0], faults[1]


@dataclass(frozen=True)
class Bodies:
    """Counts for the bodies of a mesh; a body is a vertex-connected component.

    ``repeats`` is the number of directed edges that occur more than once.
    """

    count: int
    vertices: int
    triangles: int
    repeats: int

    @property
    def is_ball(self) -> bool:
        """Whether the mesh is a single body without a handle, such as a ball.

        The mesh must use every edge equally often in both directions. In rare cases the result is
        True for two bodies that touch in exactly two vertices.
        """
        is_alone = self.count == 1 and self.repeats == 0
        return is_alone and 2 * self.vertices == self.triangles + 4


def find_bodies(triangles: Indices, merged: Indices | None, vertex_count: int) -> Bodies:
    """Return the counts for a mesh's bodies; ``merged`` is the result of `merge_equal`, or None."""
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
    """Cut a ring of 4 or more corners, (n, 3), into triangles of corner numbers, (n - 2, 3)."""
    triangles = np.empty((len(ring) - 2, 3), dtype=np.int32)
    core().clip_ears(ring, len(ring), normal, triangles)
    return triangles


class VertexFans(NamedTuple):
    """How the triangles at each vertex of a mesh are connected; equal vertices are not merged.

    Attributes
    ----------
    are_rings : bool
        Whether the triangles at each vertex form one closed ring. If so, every edge has two
        triangles that face the same way, and vertex-connected parts are edge-connected.
    parted : (v,) uint8
        1 for a vertex whose triangles certainly meet only in the vertex and in shared edges;
        0 for other vertices.
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
    """Return whether all rows of an array (n, 3) are different; the array must not contain -0.0."""
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
    """Return a mask (t,) of triangles that cross, or may cross, another triangle of their group.

    A triangle of group -1 is in no group. ``bounds`` (2, 3) is a box around all triangles.
    ``parted`` is `VertexFans.parted` of the mesh.
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
    """Return the exact sign of each triangle's area in plan; it is 0 for a vertical triangle."""
    signs = np.empty(len(triangles), np.int8)
    core().projection_signs(vertices, triangles, len(triangles), signs)
    return signs


# The components of a mesh, and their relations where they meet.


class Seen(IntFlag):
    """Flags for how two components meet; values are those of `Evidence` in topology/relate.h."""

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
    closed : bool
        Whether every edge has an even number of triangles.
    balanced : bool
        Whether every edge is used equally often in both directions.
    plain : bool
        Whether every edge has at most two triangles.
    component : (t,) int32
        The component of each triangle; -1 for a triangle with two equal corners.
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
        """Return the pairs of components whose boxes overlap or touch, (p, 2), ascending.

        If there are more than ``most`` pairs, only ``most`` + 1 pairs are returned. ``cluster``
        holds the number of each component's cluster, or -1 for a component in no cluster. If it is
        given, only pairs of components in the same cluster are returned.
        """
        if cluster is None:
            cluster = np.zeros(self.count, np.int32)
        count = int(cluster.max(initial=-1)) + 1
        return _pairs(
            lambda *into: core().components_near(self.handle, cluster, count, most or 2**62, *into)
        )

    def contacts(self, most: int | None = None) -> Indices:
        """Return the pairs of components whose triangles' boxes overlap or touch; see `near`."""
        return _pairs(lambda *into: core().components_contacts(self.handle, most or 2**62, *into))

    def above(self, cluster: Indices, count: int) -> tuple[Indices, Indices]:
        """Return two components for each cluster of components, as a tuple of two arrays.

        The first array has the component, of another cluster, that is next above the cluster's
        highest vertex; -1 if there is none. The second array has the component to which this
        highest vertex belongs.
        ``cluster`` holds the number of each component's cluster, or -1 for a component to ignore.
        Boxes of triangles of different clusters must not meet.
        """
        above, highest = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        core().components_above(self.handle, cluster, count, thread_count(None), above, highest)
        return above, highest

    def inside(self, pairs: Indices) -> NDArray[np.bool_]:
        """Return whether the second component of each pair is inside the first.

        The pairs must be sorted. No point of a second component may be on the surface of the first.
        """
        inside = np.empty(len(pairs), np.uint8)
        core().components_inside(self.handle, pairs, len(pairs), thread_count(None), inside)
        return inside.astype(np.bool_)

    def relate(self, pairs: Indices, outward: NDArray[np.int8], limit: int) -> Indices:
        """Return how the components of each pair meet, as flags of `Seen`.

        ``outward`` is 1 for a component that faces outwards, -1 for a component that faces inwards,
        and 0 for other components. At most ``limit`` pairs of triangles are compared for each pair
        of components.
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
    """Call a core function twice: to count the pairs that it finds, and to return these pairs."""
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

    The CPU computes the shares. They do not depend on the number of threads, not even in rounding.

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
        A column for each set of bodies: bit i of the column's number is 1 if body i is in the set.
        The columns of sets with fewer than two bodies are 0.
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
    """How much of an edge bounds a footprint; the values are those in volume/footprint_end.h."""

    NOWHERE = 0
    ALL_ALONG = 1
    IN_PARTS = 2


class FootprintEnd:
    """The boundary of a surface's footprint in plan.

    The boundary consists of parts of m edges, (m, 2, 3): the open edges of the surface, and the
    edges at which it folds.

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
        """Return a mask (n,) of the blocks whose plan the boundary of the footprint enters."""
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
