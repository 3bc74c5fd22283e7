"""Make domains from implicit models of LoopStructural and GemPy.

Both libraries compute a scalar field for each group of conformable units, and know the values of
the field at the contacts. Their own surfaces end at or near the box of the model, so they enclose
nothing. This module makes a closed solid of each unit. The contacts of the unit, and the parts of
the box's faces between them, bound the solid. A contact is one set of triangles, which the units on
both sides share, so no block can be lost between them.

The field is taken at the nodes of the model's own grid. Each cell of the grid is cut into six
tetrahedra around a diagonal, and the field is linear in each tetrahedron. So a contact crosses each
edge of the grid at the same point as the surface of LoopStructural.

The objects are recognised by their attributes; neither library is imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, permutations, product
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains, ImplicitModel
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, warn
from geodomain.inputs import as_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import locate

if TYPE_CHECKING:
    from geodomain.inputs import MeshLike

    # The attributes that this module reads; both libraries have no types of their own.
    class _Named(Protocol):
        name: str

    class _LoopBox(Protocol):
        origin: Sequence[float]
        maximum: Sequence[float]
        nsteps: Sequence[int]

    class _LoopUnit(_Named, Protocol):
        def min(self) -> float: ...
        def max(self) -> float: ...

    class _LoopGroup(_Named, Protocol):
        units: Sequence[_LoopUnit]

    class _LoopColumn(Protocol):
        def get_groups(self) -> Sequence[_LoopGroup]: ...

    class _LoopFeature(_Named, Protocol):
        def evaluate_value(self, pos: Floats, ignore_regions: bool) -> object: ...

    class _Loop(Protocol):
        bounding_box: _LoopBox
        stratigraphic_column: _LoopColumn
        features: Sequence[_LoopFeature]
        feature_name_index: Mapping[str, int]

        def get_feature_by_name(self, name: str) -> _LoopFeature: ...
        def get_stratigraphic_surfaces(self) -> Sequence[_Named]: ...

    class _GempyElement(_Named, Protocol):
        scalar_field_at_interface: float
        vertices: object

    class _GempyGroup(_Named, Protocol):
        structural_relation: _Named
        elements: Sequence[_GempyElement]

    class _GempyFrame(Protocol):
        structural_groups: Sequence[_GempyGroup]

    class _GempyTransform(Protocol):
        def apply_inverse_with_pivot(self, points: Floats, pivot: Floats) -> object: ...

    class _GempyGrid(Protocol):
        extent: Floats
        resolution: Sequence[int]
        transform: _GempyTransform

    class _GempyGrids(Protocol):
        dense_grid: _GempyGrid | None
        octree_grid: _GempyGrid | None

    class _GempyArrays(Protocol):
        scalar_field_matrix: object

    class _Gempy(Protocol):
        structural_frame: _GempyFrame
        solutions: object
        grid: _GempyGrids


OUTSIDE, NO_UNIT = "OUTSIDE", "NO UNIT"
_LINES = 64


def is_implicit_model(thing: object) -> TypeGuard[ImplicitModel]:
    """Return whether an object is a model of LoopStructural or GemPy."""
    return _has(thing, "bounding_box", "stratigraphic_column") or _has(
        thing, "structural_frame", "solutions"
    )


def _has(thing: object, *names: str) -> bool:
    return not isinstance(thing, type) and all(hasattr(thing, name) for name in names)


def model_domains(model: ImplicitModel, *, as_stack: bool = False) -> Domains:
    """Return the units of a model of LoopStructural or GemPy as domains.

    Functions that take domains also take such a model, and call this function.

    Parameters
    ----------
    model : LoopStructural.GeologicalModel, or gempy.data.GeoModel
        A model with a stratigraphic column, or a computed model.
    as_stack : bool
        Return a `Stack` of the surfaces that the library itself made, instead of closed solids.
        Each vertical line must meet a surface at most once, so this is for units that are neither
        overturned nor faulted, and the meshes of GemPy must not overlap themselves. Beyond its rim,
        a surface continues at the height of the nearest point of the rim.

    Returns
    -------
    Domains
        A closed solid for each unit, from young to old. A younger group of units erodes the older
        groups, because the first domain that contains a block labels it. Blocks outside the box of
        the model get the background label, ``"OUTSIDE"``. The solid of an older unit includes what
        younger groups erode: labels leave it out, and so do shares, which for such a model are by
        priority unless ``proportions="itself"``; the volume of the solid counts it. Blocks inside
        the box that are in no unit of the stratigraphic column get the label ``"NO UNIT"``.

    Raises
    ------
    TypeError
        For any other object.
    DomainError
        If the model is not computed, has no units, or has a relation between groups other than
        erosion.

    Warns
    -----
    GeodomainWarning
        If a unit has no volume in the box.

    Notes
    -----
    The solids are made on the grid of the model: ``model.bounding_box.nsteps`` of LoopStructural,
    the dense grid or the octree of GemPy. Volumes are those of the model within the error of this
    grid.
    """
    if not is_implicit_model(model):
        message = (
            "a model must be a GeologicalModel of LoopStructural or a GeoModel of GemPy, not "
            f"{type(model).__name__}"
        )
        raise TypeError(message)
    if _has(model, "structural_frame"):
        parts = _read_gempy(cast("_Gempy", model), as_stack)
    else:
        parts = _read_loop(cast("_Loop", model), as_stack)
    return _stacked(parts) if as_stack else _solids(parts)


class _Unit(NamedTuple):
    """A unit: its name, the values of the field at its base and top, and the base as a surface."""

    name: str
    low: float
    high: float
    surface: object


class _Group(NamedTuple):
    """Conformable units, from top to bottom, and their scalar field at the nodes of the grid."""

    field: Floats
    units: Sequence[_Unit]


class _Parts(NamedTuple):
    """A model of either library.

    Attributes
    ----------
    groups : sequence of _Group
        From young to old.
    basement : str
        Label of the blocks below all groups.
    grid : _Grid
        The nodes at which the fields are known.
    """

    groups: Sequence[_Group]
    basement: str
    grid: _Grid


def _solids(parts: _Parts) -> Domains:
    """Return a closed solid for each unit, and solids for what is above and below all units."""
    pieces = [
        (unit.name, group.field, unit.low, unit.high)
        for group in parts.groups
        for unit in group.units
    ]
    tops = [(group.field, group.units[0].high) for group in parts.groups]
    pieces += [(NO_UNIT, field, top, np.inf) for field, top in tops if np.isfinite(top)]
    # Younger domains come first, so this piece labels only what no other unit contains.
    lowest = parts.groups[-1]
    if np.isfinite(lowest.units[-1].low):
        pieces.append((parts.basement, lowest.field, -np.inf, lowest.units[-1].low))
    solids: dict[str, list[Mesh]] = {}
    for name, field, low, high in pieces:
        mesh = parts.grid.between(field, low, high, name)
        if len(mesh.triangles):
            solids.setdefault(name, []).append(mesh)
        elif name != NO_UNIT:
            warn(f"{name} has no volume in the box of the model, so it is left out")
    made = _Eroded if len(parts.groups) > 1 else Domains
    return made(tuple(Domain(name, meshes) for name, meshes in solids.items()), background=OUTSIDE)


class _Eroded(Domains):
    """Units of which the older reach into the younger, which erode them."""

    usual_proportions = "priority"


def _stacked(parts: _Parts) -> Domains:
    """Return one stack of the surfaces that the library made; the upper surface cuts the lower."""
    units = [unit for group in parts.groups for unit in group.units]
    missing = [unit.name for unit in units if unit.surface is None]
    if missing:
        message = (
            f"the model has no surface for the base of {', '.join(missing)}: leave out as_stack= "
            "to get solids"
        )
        raise DomainError(message)
    surfaces = [as_mesh(cast("MeshLike", unit.surface), name=unit.name) for unit in units]
    for surface in surfaces:
        _require_single(surface)
    names = [*(unit.name for unit in units), parts.basement]
    rising = [float(np.nanmean(np.diff(group.field, axis=2))) > 0 for group in parts.groups]
    if not all(rising):
        # The units are sorted from young to old, and young units may be at the bottom.
        if len(rising) > 1:
            message = (
                "the scalar fields of the groups do not all grow upwards: leave out as_stack= "
                "to get solids"
            )
            raise DomainError(message)
        surfaces, names = surfaces[::-1], names[::-1]
    zeros = np.zeros_like(parts.groups[0].field)
    box = parts.grid.between(zeros, -np.inf, np.inf, OUTSIDE)
    outside = Domain(OUTSIDE, box, invert=True)
    return Domains((outside,), (Stack(surfaces, names, extend="nearest"),))


def _require_single(surface: Mesh) -> None:
    """Raise DomainError if vertical lines meet a surface more than once."""
    low, high = surface.bounds
    shares = (np.arange(_LINES) + 1 / math.e) / _LINES  # between the lines of any grid
    x, y = (low[axis] + shares * (high[axis] - low[axis]) for axis in (0, 1))
    below = np.stack(np.meshgrid(x, y, [low[2] - 1.0], indexing="ij"), axis=-1).reshape(-1, 3)
    counts = locate(surface, backend="cpu", threads=None, allow_open=True).count_crossings(below)
    twice = int((counts > 1).sum())
    if twice:
        message = (
            f"the surface of {surface.name} lies above itself at {twice:,} of "
            f"{len(below):,} places, so a stack cannot use it: leave out as_stack= to get solids"
        )
        raise DomainError(message)


# --- LoopStructural: the groups of the stratigraphic column, each a feature.


def _read_loop(model: _Loop, as_stack: bool) -> _Parts:
    """Read the groups of a GeologicalModel, whose fields are computed at the nodes of its box."""
    box = model.bounding_box
    axes = [
        np.linspace(float(low), float(high), int(count))
        for low, high, count in zip(box.origin, box.maximum, box.nsteps, strict=True)
    ]
    grid = _Grid(axes)
    for feature in model.features:
        kind = getattr(getattr(feature, "type", None), "name", "")
        if kind in ("ONLAPUNCONFORMITY", "DOMAINFAULT"):
            what = "an onlap" if kind == "ONLAPUNCONFORMITY" else "a domain fault"
            message = (
                f"the model has {what}, {feature.name}, which geodomain cannot turn into solids: "
                "between groups, only erosion is supported"
            )
            raise DomainError(message)
    surfaces: dict[str, object] = {}
    if as_stack:
        surfaces = {surface.name: surface for surface in model.get_stratigraphic_surfaces()}
    groups: list[_Group] = []
    basement = NO_UNIT
    column = [group for group in model.stratigraphic_column.get_groups() if group.units]
    for group in column:
        if group.name not in model.feature_name_index:
            if groups and group is column[-1]:
                basement = str(group.units[-1].name)
                continue
            message = (
                f"the group {group.name} of the stratigraphic column is not a feature of the "
                "model: give it the name of a feature in stratigraphic_column.group_mapping"
            )
            raise DomainError(message)
        feature = model.get_feature_by_name(group.name)
        values = _numbers(feature.evaluate_value(grid.nodes, ignore_regions=True))
        units = [
            _Unit(str(unit.name), float(unit.min()), float(unit.max()), surfaces.get(unit.name))
            for unit in group.units
        ]
        groups.append(_Group(values.reshape(grid.shape), units))
    if not groups:
        message = (
            "the stratigraphic column of the model has no unit: add units with "
            "model.stratigraphic_column.add_unit"
        )
        raise DomainError(message)
    return _Parts(groups, basement, grid)


# --- GemPy: groups of elements, each the base of its unit.


def _read_gempy(model: _Gempy, as_stack: bool) -> _Parts:
    """Read the groups of a GeoModel, whose fields are stored for the cells of its grid."""
    arrays: _GempyArrays | None = getattr(model.solutions, "raw_arrays", None)
    grid = model.grid.dense_grid or model.grid.octree_grid
    frame = model.structural_frame.structural_groups
    fields = np.empty(0) if arrays is None else _numbers(arrays.scalar_field_matrix)
    if grid is None or fields.size != len(frame) * np.prod(grid.resolution):
        message = (
            "the model of GemPy has no scalar fields on its grid: set a resolution or a "
            "refinement, and call gempy.compute_model(model)"
        )
        raise DomainError(message)
    low, high, shape = grid.extent[::2], grid.extent[1::2], tuple(map(int, grid.resolution))
    axes = [_cell_axis(*each) for each in zip(low, high, shape, strict=True)]
    fields = fields.reshape(-1, *shape)
    groups = []
    for number, group in enumerate(frame):
        relation = group.structural_relation.name
        if relation == "FAULT":
            continue
        if relation == "ONLAP":
            message = (
                f"the group {group.name} of the model onlaps an older group, which geodomain "
                "cannot turn into solids: between groups, only erosion is supported"
            )
            raise DomainError(message)
        elements = [each for each in group.elements if getattr(each, "is_active", True)]
        if not elements:
            continue
        field = np.pad(fields[number], 1, mode="edge")
        levels = sorted(
            ((float(each.scalar_field_at_interface), each) for each in elements),
            key=lambda pair: -pair[0],
        )
        bounds = [np.inf, *(level for level, _ in levels)]
        units = [
            _Unit(str(each.name), base, top, each if as_stack and _has_mesh(each) else None)
            for (top, base), (_, each) in zip(pairwise(bounds), levels, strict=True)
        ]
        groups.append(_Group(field, units))
    if not groups:
        message = "the model of GemPy has no group of units: every group is a fault"
        raise DomainError(message)
    return _Parts(groups, "basement", _Grid(axes, _turn_of(grid)))


def _cell_axis(low: float, high: float, count: int) -> Floats:
    """Return both ends and the centres of cells; outer cells extend their values to the ends."""
    edges = np.linspace(float(low), float(high), count + 1)
    return np.concatenate([edges[:1], 0.5 * (edges[1:] + edges[:-1]), edges[-1:]])


def _turn_of(grid: _GempyGrid) -> Floats | None:
    """Return the matrix (4, 3) from a turned grid to world coordinates; None if it is not turned.

    This module applies the matrix row by row. In GemPy's own product, the last bits depend on the
    number of rows, so the walls of two units would differ.
    """
    pivot = np.array(grid.extent[::2], np.float64)
    scale = float(np.max(grid.extent[1::2] - pivot))
    corners = pivot + scale * np.concatenate([np.zeros((1, 3)), np.eye(3)])
    moved = _numbers(grid.transform.apply_inverse_with_pivot(points=corners.copy(), pivot=pivot))
    if np.abs(moved - corners).max() <= 1e-9 * scale:
        return None
    matrix = (moved[1:] - moved[:1]) / scale
    return np.concatenate([matrix, moved[:1] - np.einsum("i,ij->j", pivot, matrix)])


def _has_mesh(element: _GempyElement) -> bool:
    return isinstance(getattr(element, "vertices", None), np.ndarray)


def _numbers(values: object) -> Floats:
    """Return numbers of another library as a float64 array."""
    return np.asarray(values, np.float64)


# --- Solids between two values of a field on a grid.


def _parity(order: Sequence[int]) -> bool:
    """Return whether a permutation is even."""
    swaps = sum(a > b for place, a in enumerate(order) for b in order[place + 1 :])
    return swaps % 2 == 0


def _tetrahedra() -> list[tuple[tuple[int, int, int], ...]]:
    """Return the corners of the six tetrahedra around the diagonal of a unit cube.

    The corners of each follow a path from (0, 0, 0) to (1, 1, 1) along the axes, in right-handed
    order. Neighbouring cubes cut their common face along the same diagonal.
    """
    tetrahedra = []
    for order in permutations(range(3)):
        corner = [0, 0, 0]
        corners = [(0, 0, 0)]
        for axis in order:
            corner[axis] = 1
            corners.append((corner[0], corner[1], corner[2]))
        if not _parity(order):
            corners[1], corners[2] = corners[2], corners[1]
        tetrahedra.append(tuple(corners))
    return tetrahedra


@cache
def _walls() -> dict[int, list[tuple[tuple[int, int], ...]]]:
    """Return the triangles of a contact in a tetrahedron, by the corners above the contact (bits).

    A corner of a triangle is on an edge (a, b), with a above the contact and b not above it. The
    triangle faces the side that is not above the contact.
    """
    table: dict[int, list[tuple[tuple[int, int], ...]]] = {}
    for bits in range(1, 15):
        above = [corner for corner in range(4) if bits >> corner & 1]
        below = [corner for corner in range(4) if not bits >> corner & 1]
        even = _parity([*above, *below])
        if len(above) == 2:
            (a, b), (c, d) = above, below
            ring = [(a, c), (a, d), (b, d), (b, c)]
        else:
            ring = [(a, b) for a in above for b in below]
        ring = ring if even else ring[::-1]
        table[bits] = [(ring[0], *pair) for pair in pairwise(ring[1:])]
    return table


_Point: TypeAlias = tuple[int, int, int]


@cache
def _pieces() -> dict[tuple[int, int, int], list[tuple[_Point, ...]]]:
    """Return the part between two contacts of a triangle on the box, cut into triangles.

    The key has the state of each corner: 0 below both contacts, 1 between them, 2 above both. A
    point is (a, a, 0) at a corner, or (a, b, contact) on an edge, with the contact 0 or 1. The
    triangles have the orientation of the whole triangle.
    """
    table: dict[tuple[int, int, int], list[tuple[_Point, ...]]] = {}
    for states in product(range(3), repeat=3):
        ring: list[_Point] = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            if states[a] == 1:
                ring.append((a, a, 0))
            rising = range(states[a], states[b])
            falling = range(states[a] - 1, states[b] - 1, -1)
            ring += [(a, b, contact) for contact in (rising or falling)]
        key = states[0], states[1], states[2]
        table[key] = [(ring[0], *pair) for pair in pairwise(ring[1:])] if ring else []
    return table


class _Grid(NamedTuple):
    """The nodes of a grid; solids are made in its box.

    Attributes
    ----------
    axes : sequence of (n,) float64
        The coordinates of the nodes along x, y and z, in increasing order.
    turn : (4, 3) float64, optional
        Matrix from points x, y, z, 1 of a turned grid to world coordinates.
    """

    axes: Sequence[Floats]
    turn: Floats | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of nodes along each axis."""
        x, y, z = self.axes
        return len(x), len(y), len(z)

    @property
    def nodes(self) -> Floats:
        """The coordinates of all nodes, (n, 3), with z changing fastest."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, 3)

    def between(self, field: Floats, low: float, high: float, name: str) -> Mesh:
        """Return the closed solid in which low < field <= high.

        Parameters
        ----------
        field : (nx, ny, nz) float64
            Values at the nodes; a node without a value (NaN) is below every contact.
        low, high : float
            The values at the two contacts; -inf or inf if there is no contact on this side.
        name : str
            Name of the solid.
        """
        values = np.where(np.isnan(field), -np.inf, field).ravel()
        corners = [*self._contact(values, low), *(
            (ends[:, ::-1], levels[:, ::-1]) for ends, levels in self._contact(values, high)
        ), *self._caps(values, low, high)]  # fmt: skip
        ends = np.concatenate([np.empty((0, 3, 2), np.int64), *(each for each, _ in corners)])
        levels = np.concatenate([np.empty((0, 3)), *(each for _, each in corners)])
        return self._mesh(values, ends.reshape(-1, 2), levels.ravel(), high, name)

    def _contact(self, values: Floats, level: float) -> Iterator[tuple[Ints, Floats]]:
        """Yield the triangles of one contact, facing lower values of the field.

        Each item is `ends`, (t, 3, 2), the two nodes of the edge that each corner is on; and
        `levels`, (t, 3), the value of the field at the corner.
        """
        if not np.isfinite(level):
            return
        above = (values > level).reshape(self.shape)
        cells = self._mixed(above)
        strides = self._strides
        flat = above.ravel()
        for corners in _tetrahedra():
            nodes = cells[:, None] + np.array(corners) @ strides
            bits = flat[nodes] @ (1 << np.arange(4))
            for case, triangles in _walls().items():
                some = nodes[bits == case]
                for triangle in triangles if len(some) else []:
                    ends = some[:, np.array(triangle)]
                    yield ends, np.full(ends.shape[:2], level)

    @property
    def _strides(self) -> Ints:
        """The steps between the indices of neighbouring nodes along x, y and z."""
        _, ny, nz = self.shape
        return np.array([ny * nz, nz, 1])

    def _mixed(self, above: NDArray[np.bool_]) -> Ints:
        """Return the lowest node of each cell that has nodes on both sides of a contact."""
        count = np.zeros([size - 1 for size in self.shape], np.uint8)
        for corner in product((0, 1), repeat=3):
            part = tuple(
                slice(start, start + size - 1)
                for start, size in zip(corner, self.shape, strict=True)
            )
            count += above[part]
        cells = np.argwhere((count > 0) & (count < 8))
        return np.asarray(cells @ self._strides, np.int64)

    def _caps(self, values: Floats, low: float, high: float) -> Iterator[tuple[Ints, Floats]]:
        """Yield the triangles of the box's faces between two contacts, facing out of the box."""
        states = ((values > low) | np.isneginf(low)).astype(np.int64) + (values > high)
        bounds = np.array([low, high])
        for triangles in self._faces():
            keys = states[triangles] @ np.array([9, 3, 1])
            for case, pieces in _pieces().items():
                some = triangles[keys == 9 * case[0] + 3 * case[1] + case[2]]
                for piece in pieces if len(some) else []:
                    points = np.array(piece)
                    levels = np.where(points[:, 0] == points[:, 1], 0.0, bounds[points[:, 2]])
                    ends = some[:, points[:, :2]]
                    yield ends, np.broadcast_to(levels, ends.shape[:2])

    def _faces(self) -> Iterator[Ints]:
        """Yield the nodes (t, 3) of the triangles of each face of the box, facing outwards."""
        strides = self._strides
        for axis in range(3):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            steps = [np.arange(self.shape[each] - 1) * strides[each] for each in (first, second)]
            cells = np.add.outer(*steps).ravel()
            u, v = strides[first], strides[second]
            # The diagonal of a cell's face goes from its lowest node to its highest.
            halves = np.array([[0, u, u + v], [0, u + v, v]])
            for far in (0, self.shape[axis] - 1):
                nodes = cells[:, None, None] + (halves if far else halves[:, ::-1])
                yield nodes.reshape(-1, 3) + far * strides[axis]

    def _mesh(self, values: Floats, ends: Ints, levels: Floats, top: float, name: str) -> Mesh:
        """Return the mesh of triangles whose corners are nodes, or points on edges of the grid.

        `top` is the upper one of the two contacts.
        """
        # The two nodes have the same order everywhere, so units on both sides of a contact, and all
        # cells around an edge, compute the same bits.
        low, high = ends.min(axis=1), ends.max(axis=1)
        before, after = values[low], values[high]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (levels - before) / (after - before)
        share = np.where(low == high, 0.0, np.where(np.isfinite(share), share, 0.5))
        # A contact at a node is the node itself.
        low, high = np.where(share >= 1, high, low), np.where(share <= 0, low, high)
        share = np.where(low == high, 0.0, share)
        keys = (low * len(values) + high) * 2 + ((low != high) & (levels == top))
        _, first, corners = np.unique(keys, return_index=True, return_inverse=True)
        low, high, share = low[first], high[first], share[first, None]
        nodes = self._points(low), self._points(high)
        points = nodes[0] + share * (nodes[1] - nodes[0])
        triangles = _without_pairs(corners.reshape(-1, 3))
        used, triangles = np.unique(triangles, return_inverse=True)
        points = points[used]
        if self.turn is not None:
            points = np.einsum("ij,jk->ik", points, self.turn[:3]) + self.turn[3]
        return Mesh(points, triangles.reshape(-1, 3), name=name)

    def _points(self, nodes: Ints) -> Floats:
        """Return the coordinates of nodes, (n, 3)."""
        places = np.unravel_index(nodes, self.shape)
        return np.stack(
            [axis[place] for axis, place in zip(self.axes, places, strict=True)], axis=-1
        )


def _without_pairs(triangles: Ints) -> Ints:
    """Remove triangles with equal corners, and pairs on the same corners that face opposite ways.

    Where a contact goes through a node, several corners meet, so triangles collapse or coincide.
    """
    a, b, c = triangles.T
    rest: Ints = triangles[(a != b) & (b != c) & (c != a)]
    if not len(rest):
        return rest
    first = rest.argmin(axis=1)[:, None]
    turned = np.take_along_axis(rest, (first + np.arange(3)) % 3, axis=1)
    facing = np.where(turned[:, 1] < turned[:, 2], 1, -1)
    _, owner = np.unique(np.sort(turned, axis=1), axis=0, return_inverse=True)
    owner = owner.ravel()
    sums = np.bincount(owner, weights=facing)
    seen = np.zeros(len(sums), np.int64)
    keep = np.zeros(len(rest), np.bool_)
    for row in np.flatnonzero(np.bincount(owner)[owner] > 1).tolist():
        place = owner[row]
        keep[row] = facing[row] * sums[place] > 0 and seen[place] < abs(sums[place])
        seen[place] += keep[row]
    keep |= np.bincount(owner)[owner] == 1
    apart: Ints = rest[keep]
    return apart
