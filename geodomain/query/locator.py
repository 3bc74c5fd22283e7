"""Point queries against one mesh, with an index that is built once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import (
    as_columns,
    ask,
    ask_read,
    host_room,
    is_on_device,
    read_points,
    refuse_row,
)
from geodomain.compute import choose, layout
from geodomain.compute.data import Bools, Columns, Floats, Points
from geodomain.compute.native import thread_count
from geodomain.compute.rows import look_up
from geodomain.html import html_table
from geodomain.inputs import MeshLike, PointsLike, as_mesh, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.edges import signed_rim
from geodomain.mesh.mesh import Mesh
from geodomain.query import lattice
from geodomain.query.lattice import Axes, label_bits

Rule = Literal["parity", "winding"]


def check_rule(rule: str) -> None:
    """Raise ValueError for a rule that does not exist."""
    if rule not in ("parity", "winding"):
        message = f"rule is {rule!r}; it can be 'parity' or 'winding'"
        raise ValueError(message)


class LocatorOptions(TypedDict):
    """What a locator is made with, besides the mesh."""

    backend: str
    threads: int | None
    allow_open: bool


def _again(mesh: Mesh, options: LocatorOptions) -> PointLocator:
    return PointLocator(mesh, **options)


class Winding(NamedTuple):
    """Winding numbers of an open mesh, which are fractions, and what rounding may have done.

    Attributes
    ----------
    number, bound : (n,) float64
        The number of each point, and a bound on its error.
    """

    number: NDArray[np.float64]
    bound: NDArray[np.float64]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Return the points with a number of 1/2 or more, whatever the orientation."""
        return np.abs(self.number) >= 0.5

    @property
    def uncertain(self) -> NDArray[np.bool_]:
        """Return the points so close to 1/2 that rounding may have decided."""
        return np.abs(np.abs(self.number) - 0.5) <= self.bound


class PointLocator:
    """Answer which points lie inside a mesh; built once, asked often, from any thread.

    It can be pickled, for other processes: the mesh goes, and the index is built again there.

    Parameters
    ----------
    mesh : mesh-like
        The solid, as for `as_mesh`. A `Mesh` is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; labels are the same everywhere.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    allow_open : bool
        Take a mesh that is not closed: parity is still that of the crossings above
        each point, but it means nothing near and below the holes.

    Raises
    ------
    MeshError
        If the mesh is not closed and ``allow_open`` is false, and if nothing can be inside, by any
        rule: its faces cancel, or lie in a plane.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> locator = geodomain.PointLocator(geodomain.Mesh(corners, faces))
    >>> locator.contains([[1, 1, 1], [8, 8, 8]])
    array([ True, False])
    """

    def __init__(
        self,
        mesh: MeshLike,
        *,
        backend: str = "auto",
        threads: int | None = None,
        allow_open: bool = False,
    ) -> None:
        checked = as_mesh(mesh)
        fitness.require_fit(checked, allow_open=allow_open, rule=None)
        self._build(checked, backend, threads, allow_open)

    def _build(self, mesh: Mesh, backend: str, threads: int | None, allow_open: bool) -> None:
        """Index a mesh that was checked."""
        self.mesh = mesh
        self._options: LocatorOptions = {
            "backend": backend, "threads": threads, "allow_open": allow_open
        }  # fmt: skip
        self.backend = choose(backend)
        self._threads = thread_count(threads)
        self.index = self.backend.point_index(mesh, threads=self._threads)

    def __repr__(self) -> str:
        """Name the mesh and the options."""
        return f"PointLocator({self.mesh!r}, backend={self._options['backend']!r})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("mesh", repr(self.mesh)),
            ("backend", self._options["backend"]),
            ("threads", str(self._threads)),
        ]
        return html_table(f"PointLocator of {self.mesh.name}", rows)

    def __reduce__(
        self,
    ) -> tuple[Callable[[Mesh, LocatorOptions], PointLocator], tuple[Mesh, LocatorOptions]]:
        """Pickle what the locator is made of; the index is built again where it is unpickled."""
        return _again, (self.mesh, self._options)

    def contains(
        self, points: PointsLike, *, rule: Rule = "parity", out: object = None
    ) -> NDArray[np.bool_]:
        """Return which points are inside; see `geodomain.contains`."""
        check_rule(rule)
        return contains_by(self, rule, points, out)

    def count_crossings(self, points: PointsLike, *, out: object = None) -> NDArray[np.int32]:
        """Return the crossings above each point; see `geodomain.count_crossings`."""
        fitness.require_inside(self.mesh, "parity")
        return self._crossings(points, out, signed=False)

    def winding_numbers(self, points: PointsLike, *, out: object = None) -> NDArray[np.int32]:
        """Return the winding number of each point; see `geodomain.winding_numbers`."""
        fitness.require_balanced(self.mesh)
        return self._crossings(points, out, signed=True)

    def on_surface(self, points: PointsLike, *, out: object = None) -> NDArray[np.bool_]:
        """Return which points lie exactly on a triangle; see `geodomain.on_surface`."""
        asked = ask(point_rows(points), np.bool_, out, self.backend)
        refuse_row(asked.points, self.index.on_surface(asked.points, asked.room, self._threads))
        return asked.out

    def count_sides(self, points: PointsLike) -> NDArray[np.int32]:
        """Return the crossings above and below each point, (n, 2) int32; 0 where not finite."""
        columns = as_columns(point_rows(points))
        out = np.empty((len(columns[0]), 2), dtype=np.int32)
        refuse_row(columns, self.index.sides(columns, out, self._threads))
        return out

    def generalised_winding(self, points: PointsLike) -> Winding:
        """Return winding numbers of an open mesh; see `geodomain.generalised_winding`."""
        columns = as_columns(point_rows(points))
        out = np.empty((len(columns[0]), 2))
        refuse_row(columns, self.index.winding(columns, out, self._threads, rim=self._rim))
        return Winding(out[:, 0], out[:, 1])

    def contains_lattice(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        rule: Rule = "parity",
        packed: bool = False,
        out: object = None,
    ) -> NDArray[np.bool_] | NDArray[np.uint8]:
        """Return which blocks of a lattice are inside; see `geodomain.contains_lattice`."""
        check_rule(rule)
        axes = lattice.Axes(x, y, z)
        if rule == "winding":
            return wind_about(self, axes, packed=packed, out=out)
        fitness.require_inside(self.mesh, rule)
        return axes.answer(
            self.mesh, out, self.backend, self._threads, packed=packed, index=self.index
        )

    @property
    def _by_fraction(self) -> bool:
        """Whether winding numbers are fractions: the mesh is open, and may be."""
        return not self.mesh.is_closed and not self.mesh.is_balanced

    @cached_property
    def _rim(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        return signed_rim(self.mesh)

    def _crossings(self, points: PointsLike, out: object, *, signed: bool) -> NDArray[np.int32]:
        asked = ask(point_rows(points), np.int32, out, self.backend)
        refused = self.index.crossings(asked.points, asked.room, self._threads, signed=signed)
        refuse_row(asked.points, refused)
        return asked.out


def locate(mesh: Mesh, *, backend: str, threads: int | None, allow_open: bool) -> PointLocator:
    """Index a mesh that `require_fit` has let pass, without a second look at it."""
    locator = PointLocator.__new__(PointLocator)
    locator._build(mesh, backend, threads, allow_open)
    return locator


def contains_by(
    locator: PointLocator, rule: Rule, points: PointsLike, out: object = None
) -> NDArray[np.bool_]:
    """Return which points are inside by a rule that is known to exist."""
    if rule == "winding" and locator._by_fraction:
        inside = locator.generalised_winding(points).inside
        room = host_room(inside.shape, np.bool_, out)
        room[...] = inside
        return room
    if rule == "winding":
        fitness.require_balanced(locator.mesh)
    fitness.require_inside(locator.mesh, rule)
    return contains_read(locator, rule, read_points(point_rows(points), locator.backend), out)


def contains_read(
    locator: PointLocator, rule: Rule, points: Points, out: object = None
) -> NDArray[np.bool_]:
    """Return which points, read and checked, are inside by a rule that the mesh has."""
    asked = ask_read(points, np.bool_, out, locator.backend)
    answer = locator.index.winds if rule == "winding" else locator.index.contains
    refuse_row(asked.points, answer(asked.points, asked.room, locator._threads))
    return asked.out


def wind_about(
    locator: PointLocator, axes: lattice.Axes, *, packed: bool, out: object
) -> NDArray[np.bool_] | NDArray[np.uint8]:
    """Return which blocks of a lattice are inside by winding number."""
    if is_on_device(out):
        message = "out is on a GPU, which is for the rule 'parity': give an out in memory"
        raise ValueError(message)

    def label() -> NDArray[np.bool_]:
        return lattice.by_layers(axes, lambda points: contains_by(locator, "winding", points))

    if packed:
        bits = host_room(axes.packed_shape, np.uint8, out)
        bits[...] = np.packbits(label(), axis=2, bitorder="little")
        return bits
    labels = host_room(axes.shape, np.bool_, out)
    labels[...] = label()
    return labels


# --- What a mesh answers about the cells of a lattice, given to rows that have their coordinates.

_Bytes = NDArray[np.uint8]
# A closed mesh winds about a row as the parity above it tells if the line crosses so often at most.
_MOST_WOUND = 2
_NONE = layout.constant("kNotOnLattice")


class CellAnswers:
    """One mesh and the cells of a lattice in its box.

    A row has the answer of a cell if its three coordinates are the cell's, the very same numbers;
    other rows are asked one by one. So are, for winding numbers, those on vertical lines that cross
    the mesh more than twice: of two crossings the numbers are 0, 1 or -1, and 0.

    Parameters
    ----------
    locator : PointLocator
    axes : three of (n,) float64
        Those of the lattice's coordinates that are in the mesh's box, ascending strictly, n > 0.
    threads : int
        How many to use.

    Raises
    ------
    PointError
        Where a cell cannot be decided; so do all methods, which name no row then.
    """

    def __init__(self, locator: PointLocator, axes: Columns, threads: int) -> None:
        self._locator, self._axes, self._threads = locator, axes, threads
        self._box = np.ascontiguousarray(locator.mesh.bounds, np.float64)
        self._bits = label_bits(locator.mesh, Axes(*axes), locator.backend, threads, locator.index)
        self._crossings: _Bytes | None = None

    def contains(self, rule: Rule, points: Floats) -> Bools:
        """Return which of (n, 3) points are inside: by winding number of a closed mesh only."""
        closed = self._locator.mesh.is_closed
        found = self._look_up(points, lines=rule == "winding" or not closed)
        inside = (found & 1).astype(np.bool_)
        rows = np.flatnonzero(found > 2 * _MOST_WOUND + 1 if rule == "winding" else found == _NONE)
        if len(rows):
            x, y, z = points[rows].T
            inside[rows] = contains_read(self._locator, rule, (x, y, z))
        return inside

    def sides(self, points: Floats) -> NDArray[np.int32]:
        """Return numbers above and below (n, 3) points, (n, 2), that tell what crossings would.

        That is the parity above, and whether the line crosses once, more often or never; beyond
        that the numbers are not those of the crossings.
        """
        found = self._look_up(points, lines=True)
        counts = np.empty((len(points), 2), np.int32)
        np.bitwise_and(found, 1, out=counts[:, 0])
        np.subtract(found >> 1, counts[:, 0], out=counts[:, 1])
        rows = np.flatnonzero(found == _NONE)
        if len(rows):
            counts[rows] = self._locator.count_sides(points[rows])
        return counts

    def _look_up(self, points: Floats, *, lines: bool) -> _Bytes:
        """Return what `look_up` finds of each row, its vertical line included if asked for."""
        if lines and self._crossings is None:
            self._crossings = self._count_crossings()
        crossings = self._crossings if lines else None
        x, y, z = points.T
        return look_up((x, y, z), self._axes, self._bits, crossings, self._box, self._threads)

    def _count_crossings(self) -> _Bytes:
        """Count the crossings of vertical lines through cells as `look_up` takes them."""
        x, y, z = self._axes
        places = np.empty((len(x), len(y), 3))
        places[:, :, 0], places[:, :, 1], places[:, :, 2] = x[:, None], y, z[0]
        counts = self._locator.count_sides(places.reshape(-1, 3)).sum(axis=1)
        told: _Bytes = np.where(counts > 2, 4 - (counts & 1), counts).astype(np.uint8)
        return told
