"""The walls between labelled boxes, as triangles that fit together.

A wall is a rectangle across x, y or z with one label below it and another label above it. Blocks
may have any sizes. Faces are cut where they overlap; this compares the indices of corners, never
coordinates. Neighbouring walls with the same two labels are joined. Then every wall is cut into
triangles once. Corners of other walls on its edges become vertices, so there are no T-junctions,
and the solids on both sides of a wall have the same triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.arrays import ranked
from geodomain.compute.data import Bools, Floats, Indices, Ints
from geodomain.errors import TableError

# The label code of everything that belongs to no solid.
OUTSIDE = -1
# Bounds of the rounding of corners, in units in the last place of the largest coordinate: for
# centre - size / 2 alone, and with a rotation.
_ULPS, _TURNED_ULPS = 8, 64
# Corners of rounded centres and sizes are equal within this share of the smallest size.
_NEAR = 5e-3
# Rounded corners open slits between blocks. Slits are closed if this removes more than this share
# of the area of the boundary.
_SLITS = 0.01
_MOST_DECIMALS = 9
# Most cells of a lattice, for each block, that are stored as an array.
_CELLS_OF_A_BLOCK, _FEWEST_CELLS = 64, 1 << 27
# Pairs of faces that are compared at a time; bound of the integers into which faces are packed.
_PAIRS, _PACKED = 1 << 22, 2**62
# Most bins that a face enters, on average.
_BINS = 16
# Largest table that numbers the spans of an axis.
_TABLE = 1 << 22
# Directions across each axis, so that the first, the second and the axis are right-handed.
_ACROSS = ((1, 2), (2, 0), (0, 1))


class Boxes(NamedTuple):
    """Boxes as indices of their corners; equal corners have the same index.

    Attributes
    ----------
    places : three arrays of float64
        The coordinates of the corners along x, y and z, strictly ascending.
    low, high : three arrays of int32 each
        Along each axis, the indices of the lowest and highest corner of each box; low < high.
    """

    places: tuple[Floats, Floats, Floats]
    low: tuple[Indices, Indices, Indices]
    high: tuple[Indices, Indices, Indices]

    @property
    def is_lattice(self) -> bool:
        """Whether each box is one cell between the corners, and the cells fit into memory."""
        cells = float(np.prod([len(each) - 1.0 for each in self.places]))
        most = max(_FEWEST_CELLS, _CELLS_OF_A_BLOCK * len(self.low[0]))
        sides = zip(self.low, self.high, strict=True)
        return cells <= most and all(bool((high - low == 1).all()) for low, high in sides)

    def lattice(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the code of each cell in a layer of OUTSIDE, (x + 2, y + 2, z + 2)."""
        shape = [len(each) + 1 for each in self.places]
        memory.require(10 * int(np.prod(shape)), "a lattice of blocks", TableError)
        grid = np.full(shape, OUTSIDE, np.int32)
        grid[1:, 1:, 1:][self.low] = codes
        return grid


class Walls(NamedTuple):
    """Rectangular walls across one axis; all arrays have a value for each wall.

    Attributes
    ----------
    plane : int64
        Index of the corner coordinate at which the wall is.
    first, second : two arrays of int64 each
        Indices of the corners at which the wall begins and ends, along the two other axes.
    below, above : int32
        Codes of the labels on both sides.
    """

    plane: Ints
    first: tuple[Ints, Ints]
    second: tuple[Ints, Ints]
    below: NDArray[np.int32]
    above: NDArray[np.int32]

    def at(self, rows: Ints | Bools) -> Walls:
        """Return some of the walls."""
        (a, b), (c, d) = self.first, self.second
        return Walls(
            self.plane[rows],
            (a[rows], b[rows]),
            (c[rows], d[rows]),
            self.below[rows],
            self.above[rows],
        )


class WallTriangles(NamedTuple):
    """The triangles of all walls, counter-clockwise if seen from above the wall.

    Attributes
    ----------
    vertices : (v, 3) float64
    triangles : (t, 3) int64
    below, above : (t,) int32
        Codes of the labels on both sides of each triangle.
    """

    vertices: Floats
    triangles: Ints
    below: NDArray[np.int32]
    above: NDArray[np.int32]

    def solid(self, code: int) -> tuple[Floats, Ints]:
        """Return vertices and triangles of the solid of a label, oriented outwards."""
        out, into = self.triangles[self.below == code], self.triangles[self.above == code]
        triangles = np.concatenate([out, into[:, [0, 2, 1]]])
        used = np.zeros(len(self.vertices), np.bool_)
        used[triangles] = True
        return self.vertices[used], (np.cumsum(used) - 1)[triangles]


# --- Corners of boxes.


def corner_noise(points: Floats, *, turned: bool) -> float:
    """Return the largest rounding error of the corners of blocks with these world centroids."""
    unit = float(np.spacing(max(points.max(initial=0.0), -points.min(initial=0.0))))
    return unit * (_TURNED_ULPS if turned else _ULPS)


def boxes_of(centres: Floats, sizes: Floats, *, noise: float, rounded: bool = False) -> Boxes | int:
    """Return boxes; corners that count as equal have one coordinate.

    This coordinate is the number with the fewest decimals within the rounding of these corners. So
    the corners of a text table are the decimals that exact arithmetic gives.

    Parameters
    ----------
    centres, sizes : (n, 3) float64
        Centres and sizes along the axes of the blocks, finite; sizes are above 0.
    noise : float
        Largest rounding error of centre - size / 2; see `corner_noise`.
    rounded : bool
        Whether the file has rotated centres, with few decimals. Then corners within 1/200 of the
        smallest size count as equal. In other files, they do so only if this closes slits between
        blocks.

    Returns
    -------
    Boxes or int
        The boxes; or the index of a block that is thinner than the rounding of its corners.
    """
    fine = [_Corners.of(centres[:, axis], sizes[:, axis], noise) for axis in range(3)]
    coarse = [each.coarser() for each in fine]
    if rounded and all(each is not None for each in coarse):
        return _boxes([each or fine[0] for each in coarse])
    separate = _boxes(fine)
    closed = [each or own for each, own in zip(coarse, fine, strict=True)]
    if all(np.array_equal(each.first, own.first) for each, own in zip(closed, fine, strict=True)):
        return separate
    joined = _boxes(closed)
    if isinstance(joined, int) or isinstance(separate, int):
        return separate
    return joined if _area(joined) < (1 - _SLITS) * _area(separate) else separate


class _Corners(NamedTuple):
    """Distinct ends of blocks along an axis, ascending, in groups whose ends count as equal.

    `low` and `high` are the indices of each block's ends. `first` marks the first end of each
    group.
    """

    values: Floats
    low: Ints
    high: Ints
    first: Bools
    noise: float
    thinnest: float

    @classmethod
    def of(cls, centres: Floats, sizes: Floats, noise: float) -> _Corners:
        """Group ends that are equal but for rounding."""
        thinnest, thickest = float(sizes.min()), float(sizes.max())
        rows: Ints | slice[None, None, None] = slice(None)
        half: Floats | float = sizes / 2
        if thinnest == thickest:  # blocks with one centre have the same ends
            centres, rows = ranked(centres)
            half = thinnest / 2
        values, ranks = ranked(np.concatenate([centres - half, centres + half]))
        low, high = ranks.reshape(2, -1)
        first = np.append(True, np.diff(values) > 4 * noise)
        return cls(values, low[rows], high[rows], first, noise, thinnest)

    def coarser(self) -> _Corners | None:
        """Group ends within 1/200 of the smallest size; None if they form a chain of close ends."""
        near = _NEAR * self.thinnest
        first = self.first & np.append(True, np.diff(self.values) > near)
        last = np.append(np.flatnonzero(first)[1:], len(first)) - 1
        span = self.values[last] - self.values[first]
        return None if (span > 2 * near).any() else self._replace(first=first)

    def places(self) -> Floats:
        """Return one coordinate for each group: the shortest decimal within it, or its middle."""
        begins = np.flatnonzero(self.first)
        low, high = self.values[begins], self.values[np.append(begins[1:], len(self.first)) - 1]
        coordinates: Floats = low + (high - low) / 2
        left = np.ones(len(low), np.bool_)
        low, high = low - self.noise, high + self.noise
        for decimals in range(_MOST_DECIMALS + 1):
            tried = np.rint(coordinates * 10.0**decimals) / 10.0**decimals
            fits = left & (low <= tried) & (tried <= high)
            coordinates[fits] = tried[fits]
            left &= ~fits
        coordinates += 0.0  # -0.0 becomes 0.0
        return coordinates


def _boxes(axes: Sequence[_Corners]) -> Boxes | int:
    """Return the boxes, or the index of a block whose two ends count as equal."""
    low, high = [], []
    for axis in axes:
        group = (np.cumsum(axis.first) - 1).astype(np.int32)
        begin, end = group[axis.low], group[axis.high]
        flat = begin >= end
        if flat.any():
            return int(flat.argmax())
        low.append(begin)
        high.append(end)
    x, y, z = (axis.places() for axis in axes)
    return Boxes((x, y, z), (low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _area(boxes: Boxes) -> float:
    """Return the area of the boundary of all boxes."""
    total = 0.0
    for axis, walls in enumerate(find_walls(boxes, np.zeros(len(boxes.low[0]), np.int32))):
        spans = [
            boxes.places[other][ends[1]] - boxes.places[other][ends[0]]
            for other, ends in zip(_ACROSS[axis], (walls.first, walls.second), strict=True)
        ]
        total += float((spans[0] * spans[1]).sum())
    return total


# --- Walls between boxes.


def find_walls(boxes: Boxes, codes: NDArray[np.int32]) -> list[Walls]:
    """Return the walls across x, y and z: where the labels on both sides differ.

    Boxes must not overlap. Boxes with the code OUTSIDE are ignored.
    """
    if boxes.is_lattice:
        grid = boxes.lattice(codes)
        return [_joined(_between_cells(grid, axis)) for axis in range(3)]
    if float(np.prod([float(len(each)) for each in boxes.places])) >= _PACKED:
        message = (
            "the blocks have corners at too many different coordinates to be outlined together: "
            "outline the model in parts"
        )
        raise TableError(message)
    solid = codes != OUTSIDE
    low, high = (
        np.stack([each[solid] for each in side], axis=1).astype(np.int64)
        for side in (boxes.low, boxes.high)
    )
    codes = codes[solid]
    spans = [_numbered(low[:, axis], high[:, axis]) for axis in range(3)]
    return [_joined(_between_boxes(low, high, spans, codes, axis)) for axis in range(3)]


def _between_cells(grid: NDArray[np.int32], axis: int) -> Walls:
    """Return the walls between neighbouring cells of a padded lattice."""
    along = np.moveaxis(grid, axis, 0)
    below, above = along[:-1, 1:-1, 1:-1], along[1:, 1:-1, 1:-1]
    where = np.nonzero(below != above)
    plane, *rest = (each.astype(np.int64) for each in where)
    others = [other for other in range(3) if other != axis]
    place = dict(zip(others, rest, strict=True))
    u, v = (place[other] for other in _ACROSS[axis])
    return Walls(plane, (u, u + 1), (v, v + 1), below[where], above[where])


def _between_boxes(
    low: Ints, high: Ints, spans: Sequence[Ints], codes: NDArray[np.int32], axis: int
) -> Walls:
    """Return the walls at right angles to an axis. The boxes may have any sizes."""
    u, v = _ACROSS[axis]
    over = _packed(high[:, axis], spans[u], spans[v])  # faces that have a box below them
    under = _packed(low[:, axis], spans[u], spans[v])
    order = under.argsort(kind="stable")
    at = np.searchsorted(under, over, sorter=order).clip(max=max(len(order) - 1, 0))
    partner = order[at]
    same = under[partner] == over
    upper, lower = np.flatnonzero(same), partner[same]
    alone = np.ones(len(low), np.bool_)
    alone[lower] = False
    rest = _Faces.of(high[:, axis], low, high, codes, np.flatnonzero(~same), axis)
    others = _Faces.of(low[:, axis], low, high, codes, np.flatnonzero(alone), axis)
    differ = codes[upper] != codes[lower]
    equal = _Faces.of(high[:, axis], low, high, codes, upper[differ], axis)
    walls = [equal.walls(equal.codes, codes[lower[differ]])]
    pairs = rest.meeting(others)
    walls += [rest.overlaps(others, *pairs)]
    walls += [bare.walls(bare.codes, OUTSIDE) for bare in rest.bare(others, *pairs)]
    walls += [bare.walls(OUTSIDE, bare.codes) for bare in others.bare(rest, *pairs[::-1])]
    return _together(walls)


def _numbered(low: Ints, high: Ints) -> Ints:
    """Return a number for each span of an axis; equal spans have the same number."""
    room = int(high.max(initial=0)) + 1
    keys = low * room + high
    if room * room > max(_TABLE, len(keys)):
        _, numbers = np.unique(keys, return_inverse=True)
    else:
        there = np.zeros(room * room, np.bool_)
        there[keys] = True
        numbers = (np.cumsum(there) - 1)[keys]
    return np.asarray(numbers, np.int64).ravel()


def _packed(plane: Ints, u: Ints, v: Ints) -> Ints:
    """Return one integer for each face, from its plane and its spans."""
    room = int(v.max(initial=0)) + 1
    whole = (int(u.max(initial=0)) + 1) * room
    if whole * (int(plane.max(initial=0)) + 1) >= _PACKED:
        message = (
            "the blocks have faces of too many different sizes to be outlined together: outline "
            "the model in parts"
        )
        raise TableError(message)
    return plane * whole + u * room + v


def _together(walls: Sequence[Walls]) -> Walls:
    """Return all walls as one list."""
    columns = zip(*((w.plane, *w.first, *w.second, w.below, w.above) for w in walls), strict=True)
    plane, a, b, c, d, below, above = (np.concatenate(each) for each in columns)
    return Walls(plane, (a, b), (c, d), below, above)


class _Faces(NamedTuple):
    """Faces of boxes across an axis, all on the same side of their boxes."""

    plane: Ints
    first: tuple[Ints, Ints]
    second: tuple[Ints, Ints]
    codes: NDArray[np.int32]

    @classmethod
    def of(
        cls, plane: Ints, low: Ints, high: Ints, codes: NDArray[np.int32], rows: Ints, axis: int
    ) -> _Faces:
        """Return the faces of some boxes."""
        u, v = _ACROSS[axis]
        first, second = (low[rows, u], high[rows, u]), (low[rows, v], high[rows, v])
        return cls(plane[rows], first, second, codes[rows])

    def walls(self, below: NDArray[np.int32] | int, above: NDArray[np.int32] | int) -> Walls:
        """Return the faces as walls."""
        sides = (np.broadcast_to(np.int32(each), self.plane.shape) for each in (below, above))
        return Walls(self.plane, self.first, self.second, *sides)

    def meeting(self, others: _Faces) -> tuple[Ints, Ints]:
        """Return the pairs of faces, one from each list, that overlap in their plane.

        The faces of a plane are sorted into rectangular bins of about the size of a face.
        """
        if not len(self.plane) or not len(others.plane):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        every = [
            (np.concatenate([mine[0], its[0]]), np.concatenate([mine[1], its[1]]))
            for mine, its in self._beside(others)
        ]
        bins = _bin_sizes(every)
        counts = [
            int(high.max()) // width + 1 for (_, high), width in zip(every, bins, strict=True)
        ]
        row, key, *own = self._binned(bins, counts)
        other, its_key, *_ = others._binned(bins, counts)
        order = its_key.argsort(kind="stable")
        other, its_key = other[order], its_key[order]
        begin, end = (np.searchsorted(its_key, key, side=side) for side in ("left", "right"))
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        parts = np.searchsorted(
            np.cumsum(end - begin), np.arange(_PAIRS, int((end - begin).sum()), _PAIRS)
        )
        for some in np.split(np.arange(len(row)), np.unique(parts)):
            entry, place = _spread(begin[some], end[some])
            entry = some[entry]
            a, b = row[entry], other[place]
            inside = np.ones(len(a), np.bool_)
            for (begins, ends), width, bin_of in zip(
                self._common(others, a, b), bins, own, strict=True
            ):
                inside &= begins < ends
                inside &= begins // width == bin_of[entry]  # count a pair in one of its bins only
            pairs.append((a[inside], b[inside]))
        mine, its = zip(*pairs, strict=True)
        return np.concatenate(mine), np.concatenate(its)

    def _binned(self, bins: Sequence[int], counts: Sequence[int]) -> tuple[Ints, Ints, Ints, Ints]:
        """Return, for each bin that a face enters: the face, a key of the bin, and the bin."""
        row, bin_u = _spread(self.first[0] // bins[0], (self.first[1] - 1) // bins[0] + 1)
        begin, end = self.second[0][row] // bins[1], (self.second[1][row] - 1) // bins[1] + 1
        entry, bin_v = _spread(begin, end)
        row, bin_u = row[entry], bin_u[entry]
        return row, (self.plane[row] * counts[0] + bin_u) * counts[1] + bin_v, bin_u, bin_v

    def _beside(self, others: _Faces) -> list[tuple[tuple[Ints, Ints], tuple[Ints, Ints]]]:
        """Return the ends of both lists of faces, for each of the two directions."""
        return [(self.first, others.first), (self.second, others.second)]

    def _common(self, others: _Faces, a: Ints, b: Ints) -> list[tuple[Ints, Ints]]:
        """Return the ends of the common parts of pairs of faces, for each of the two directions."""
        return [
            (np.maximum(mine[0][a], its[0][b]), np.minimum(mine[1][a], its[1][b]))
            for mine, its in self._beside(others)
        ]

    def overlaps(self, others: _Faces, a: Ints, b: Ints) -> Walls:
        """Return the walls where faces of boxes with different labels meet."""
        differ = self.codes[a] != others.codes[b]
        a, b = a[differ], b[differ]
        first, second = self._common(others, a, b)
        return Walls(self.plane[a], first, second, self.codes[a], others.codes[b])

    def bare(self, others: _Faces, a: Ints, b: Ints) -> list[_Faces]:
        """Return the parts of faces that meet no face of the other list.

        A face that others cover in part is cut at the corners of these faces.
        """
        area = (self.first[1] - self.first[0]) * (self.second[1] - self.second[0])
        ends = self._common(others, a, b)
        met = (ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0])
        covered = np.bincount(a, met, len(area)).astype(np.int64)
        whole = np.flatnonzero(covered == 0)
        partial = (covered > 0) & (covered < area)
        cut = self._cut(partial, a, ends)
        return [self._at(whole), cut]

    def _at(self, rows: Ints) -> _Faces:
        (a, b), (c, d) = self.first, self.second
        return _Faces(self.plane[rows], (a[rows], b[rows]), (c[rows], d[rows]), self.codes[rows])

    def _cut(self, partial: Bools, owners: Ints, ends: Sequence[tuple[Ints, Ints]]) -> _Faces:
        """Return the parts of the `partial` faces that no rectangle covers.

        `ends` are the ends of the rectangles, and `owners` is the face of each. The ends of its
        rectangles cut every face into a small lattice.
        """
        number = np.cumsum(partial) - 1
        faces, some = np.flatnonzero(partial), partial[owners]
        owner = number[owners[some]]
        lines, counts, firsts, at = [], [], [], []
        for side, (begin, end) in zip((self.first, self.second), ends, strict=True):
            begin, end = begin[some], end[some]
            room = int(side[1].max(initial=0)) + 1
            own = np.arange(len(faces)) * room
            keys = np.concatenate(
                [
                    own + side[0][faces],
                    own + side[1][faces],
                    owner * room + begin,
                    owner * room + end,
                ]
            )
            keys = np.unique(keys)
            first = np.searchsorted(keys, own)
            lines.append(keys % room)
            firsts.append(first)
            counts.append(np.diff(np.append(first, len(keys))) - 1)
            at.append(
                [np.searchsorted(keys, owner * room + each) - first[owner] for each in (begin, end)]
            )
        cells = counts[0] * counts[1]
        start = np.cumsum(cells) - cells
        memory.require(64 * int(cells.sum()), "the faces of sub-blocks", TableError)
        covered = np.zeros(int(cells.sum()), np.bool_)
        rows, across = _spread(at[0][0], at[0][1])
        entry, along = _spread(at[1][0][rows], at[1][1][rows])
        rows, across = rows[entry], across[entry]
        covered[start[owner[rows]] + across * counts[1][owner[rows]] + along] = True
        bare = np.flatnonzero(~covered)
        face = np.searchsorted(start, bare, side="right") - 1
        across, along = np.divmod(bare - start[face], counts[1][face])
        u, v = firsts[0][face] + across, firsts[1][face] + along
        rows = faces[face]
        return _Faces(
            self.plane[rows],
            (lines[0][u], lines[0][u + 1]),
            (lines[1][v], lines[1][v + 1]),
            self.codes[rows],
        )


def _bin_sizes(spans: Sequence[tuple[Ints, Ints]]) -> list[int]:
    """Return sizes of bins along both directions; faces enter few such bins on average.

    `spans` are the ends of all faces along both directions.
    """
    sizes = [max(1, int(np.percentile(high - low, 90))) for low, high in spans]
    while True:
        across, along = (
            (high - 1) // size - low // size + 1
            for (low, high), size in zip(spans, sizes, strict=True)
        )
        if (across * along).sum() <= _BINS * len(across):
            return sizes
        sizes = [2 * size for size in sizes]


def _spread(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return every integer of the ranges from begin to end, with the index of its range."""
    lengths = end - begin
    rows = np.repeat(np.arange(len(begin)), lengths)
    before = np.cumsum(lengths) - lengths
    return rows, np.arange(len(rows)) - (before - begin)[rows]


# --- Larger walls.


def _joined(walls: Walls) -> Walls:
    """Join walls with the same labels into larger rectangles, in both directions by turns."""
    while True:
        count = len(walls.plane)
        walls = _in_rows(_swapped(_in_rows(_swapped(walls))))
        if len(walls.plane) == count:
            return walls


def _swapped(walls: Walls) -> Walls:
    return walls._replace(first=walls.second, second=walls.first)


def _in_rows(walls: Walls) -> Walls:
    """Join neighbouring walls of equal width along their first direction."""
    if not len(walls.plane):
        return walls
    begin, end = walls.first
    sides = (walls.below.astype(np.int64), walls.above.astype(np.int64))
    keys: list[Ints] = [walls.plane, *sides, *walls.second]
    order = np.lexsort([begin, *keys])
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = begin[order[1:]] != end[order[:-1]]
    for key in keys:
        fresh[1:] |= key[order[1:]] != key[order[:-1]]
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(order)) - 1
    joined = walls.at(order[first])
    return joined._replace(first=(joined.first[0], end[order[last]]))


# --- Triangles.


def triangulated(walls: Sequence[Walls], places: Sequence[Floats]) -> WallTriangles:
    """Cut walls into triangles that share whole edges.

    Corners of other walls may lie on the edges of a wall. A wall without them becomes two
    triangles. Otherwise a diagonal halves the wall, if each half then has such corners on one of
    its two edges at most: they are joined to the opposite corner of the half. If no diagonal does,
    the wall gets a vertex in its middle, which is joined to each part of its edges.
    """
    counts = [len(each) for each in places]
    corners = [_corners_of(each, axis) for axis, each in enumerate(walls)]
    keys = [(c[..., 0] * counts[1] + c[..., 1]) * counts[2] + c[..., 2] for c in corners]
    vertices, index = np.unique(np.concatenate(keys), return_inverse=True)
    index = index.reshape(-1, 4)
    place = np.stack(np.unravel_index(vertices, counts), axis=1)
    runs = [_along(place, counts, axis) for axis in range(3)]
    coordinates = [places[axis][place[:, axis]] for axis in range(3)]
    points, triangles, sides = [np.column_stack(coordinates)], [], []
    row = 0
    for axis, each in enumerate(walls):
        own = index[row : row + len(each.plane)]
        row += len(own)
        u, v = (runs[other] for other in _ACROSS[axis])
        fresh, rows, middles = _fans(own, u, v, sum(map(len, points)))
        points.append((points[0][own[middles, 0]] + points[0][own[middles, 2]]) / 2)
        triangles.append(fresh)
        sides.append((each.below[rows], each.above[rows]))
    below, above = zip(*sides, strict=True)
    return WallTriangles(
        np.concatenate(points),
        np.concatenate(triangles),
        np.concatenate(below),
        np.concatenate(above),
    )


def _corners_of(walls: Walls, axis: int) -> Ints:
    """Return the indices of the four corners of each wall, counter-clockwise, (n, 4, 3)."""
    u, v = _ACROSS[axis]
    corners = np.empty((len(walls.plane), 4, 3), np.int64)
    corners[:, :, axis] = walls.plane[:, None]
    corners[:, :, u] = np.stack([walls.first[end] for end in (0, 1, 1, 0)], axis=1)
    corners[:, :, v] = np.stack([walls.second[end] for end in (0, 0, 1, 1)], axis=1)
    return corners


def _along(place: Ints, counts: Sequence[int], axis: int) -> tuple[Ints, Ints]:
    """Return the vertices sorted along lines of an axis, and the position of each vertex."""
    u, v = _ACROSS[axis]
    line = (place[:, u] * counts[v] + place[:, v]) * counts[axis] + place[:, axis]
    order = line.argsort()
    where = np.empty(len(order), np.int64)
    where[order] = np.arange(len(order))
    return order, where


class _Way(NamedTuple):
    """A way to halve a wall by a diagonal; edge i leads from corner i to the next corner.

    `halves` has the two edges of each half. `across` has, for each edge, the opposite corner of its
    half.
    """

    halves: tuple[tuple[int, int], tuple[int, int]]
    across: tuple[int, int, int, int]


_WAYS = (_Way(((0, 3), (1, 2)), (3, 3, 1, 1)), _Way(((0, 1), (2, 3)), (2, 0, 0, 2)))


def _fans(
    corners: Ints, u: tuple[Ints, Ints], v: tuple[Ints, Ints], fresh: int
) -> tuple[Ints, Ints, Ints]:
    """Return triangles, the wall of each triangle, and the walls that need a vertex in the middle.

    `corners` has the vertices of each wall, counter-clockwise. `u` and `v` are the results of
    `_along` for both directions. New vertices are numbered from `fresh`.
    """
    # Each edge: its direction, its corners along it, and whether the wall traverses it backwards.
    edges = ((u, 0, 1, False), (v, 1, 2, False), (u, 3, 2, True), (v, 0, 3, True))
    begin = np.stack([where[corners[:, a]] for (_, where), a, _, _ in edges], axis=1)
    end = np.stack([where[corners[:, b]] for (_, where), _, b, _ in edges], axis=1)
    cut = end - begin > 1
    halves = [[cut[:, a] & cut[:, b] for a, b in way.halves] for way in _WAYS]
    fits = np.stack([~(first | second) for first, second in halves], axis=1)
    middles = np.flatnonzero(~fits.any(axis=1))
    tops = np.full((len(corners), 4), -1, np.int64)  # for each edge, the apex of its triangles
    for way, mine in zip(_WAYS, (fits[:, 0], fits[:, 1] & ~fits[:, 0]), strict=True):
        rows = np.flatnonzero(mine)
        for usual, other in way.halves:
            base = np.where(cut[rows, other], other, usual)
            tops[rows, base] = corners[rows, np.array(way.across)[base]]
    tops[middles] = fresh + np.arange(len(middles))[:, None]
    triangles, rows_of = [], []
    for edge, ((order, _), _, _, backwards) in enumerate(edges):
        wall = np.flatnonzero(tops[:, edge] >= 0)
        entry, at = _spread(begin[wall, edge], end[wall, edge])
        ends = order[at], order[at + 1]
        start, stop = ends[::-1] if backwards else ends
        triangles.append(np.column_stack([start, stop, tops[wall[entry], edge]]))
        rows_of.append(wall[entry])
    return np.concatenate(triangles), np.concatenate(rows_of), middles
