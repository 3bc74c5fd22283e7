"""Index one mesh, and find which points are inside, on the surface, above or below the mesh."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

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
from geodomain.inputs import MeshLike, PointsLike, answer_on_lattice, as_mesh, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.edges import signed_rim
from geodomain.mesh.mesh import Mesh
from geodomain.query import lattice
from geodomain.query.lattice import Axes, label_bits
from geodomain.result_tables import data_frame, html_table
from geodomain.settings import BackendName
from geodomain.settings import Rule as Rule

if TYPE_CHECKING:
    import pandas
    import pyvista

    from geodomain.inputs import ArrayT, Gridded


def check_rule(rule: str) -> None:
    """Raise ValueError unless the rule is "parity" or "winding"."""
    if rule not in ("parity", "winding"):
        message = f"rule is {rule!r}; it can be 'parity' or 'winding'"
        raise ValueError(message)


class Winding(NamedTuple):
    """Winding numbers about points, and bounds on their rounding errors.

    Attributes
    ----------
    number, bound : (n,) float64
        The winding number about each point, and a bound on its error.
    """

    number: NDArray[np.float64]
    bound: NDArray[np.float64]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each point: columns `number`, `bound`, `inside` and `uncertain`."""
        return data_frame(
            {name: getattr(self, name) for name in ("number", "bound", "inside", "uncertain")}
        )

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which points are inside: those whose number is at least 1/2 or at most -1/2."""
        return np.abs(self.number) >= 0.5

    @property
    def uncertain(self) -> NDArray[np.bool_]:
        """Which points have a number so close to 1/2 or -1/2 that rounding may have decided."""
        return np.abs(np.abs(self.number) - 0.5) <= self.bound


class PointLocator:
    """Index of a mesh for point queries; any thread may use it.

    A locator can be pickled. The process that unpickles it builds the index again.

    Parameters
    ----------
    mesh : mesh-like
        The solid, as for `as_mesh`. A `Mesh` is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; labels are the same everywhere.
    threads : int, optional
        Number of threads. [default: all cores that the process may use]
    allow_open : bool
        Accept a mesh that is not closed. The rule "parity" still counts the crossings above each
        point, but its results are meaningless near and below holes.

    Raises
    ------
    MeshError
        If the mesh is not closed and ``allow_open`` is false. If the mesh encloses nothing by any
        rule, because all triangles lie in a plane or cancel each other.

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
        backend: BackendName = "auto",
        threads: int | None = None,
        allow_open: bool = False,
    ) -> None:
        checked = as_mesh(mesh)
        fitness.require_fit(checked, allow_open=allow_open, rule=None)
        self._build(checked, backend, threads, allow_open)

    def _build(
        self, mesh: Mesh, backend: BackendName, threads: int | None, allow_open: bool
    ) -> None:
        """Index a mesh that has passed the checks."""
        self.mesh = mesh
        self._rebuild = partial(
            PointLocator,
            backend=backend,
            threads=threads,
            allow_open=allow_open,
        )
        self._backend_name = backend
        self.backend = choose(backend)
        self._threads = thread_count(threads)
        self.index = self.backend.point_index(mesh, threads=self._threads)

    def __repr__(self) -> str:
        """Return the name of the mesh and the backend."""
        return f"PointLocator({self.mesh!r}, backend={self._backend_name!r})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("mesh", repr(self.mesh)),
            ("backend", self._backend_name),
            ("threads", str(self._threads)),
        ]
        return html_table(f"PointLocator of {self.mesh.name}", rows)

    def __reduce__(self) -> tuple[partial[PointLocator], tuple[Mesh]]:
        """Pickle the mesh and the options; unpickling builds the index again."""
        return self._rebuild, (self.mesh,)

    def contains(
        self, points: PointsLike, *, rule: Rule = "parity", out: object = None
    ) -> NDArray[np.bool_]:
        """Return which points are inside; see `geodomain.contains`."""
        check_rule(rule)
        return contains_by(self, rule, points, out)

    def count_crossings(self, points: PointsLike, *, out: object = None) -> NDArray[np.int32]:
        """Return how many crossings are above each point; see `geodomain.count_crossings`."""
        fitness.require_inside(self.mesh, "parity")
        return self._crossings(points, out, signed=False)

    def winding_numbers(self, points: PointsLike, *, out: object = None) -> NDArray[np.int32]:
        """Return the winding number of each point; see `geodomain.winding_numbers`."""
        fitness.require_balanced(self.mesh)
        return self._crossings(points, out, signed=True)

    def on_surface(self, points: PointsLike, *, out: object = None) -> NDArray[np.bool_]:
        """Return which points lie exactly on a triangle; see `geodomain.on_surface`."""
        query = ask(point_rows(points), np.bool_, out, self.backend)
        refuse_row(query.points, self.index.on_surface(query.points, query.room, self._threads))
        return query.out

    def count_sides(self, points: PointsLike) -> NDArray[np.int32]:
        """Return the number of crossings above and below each point, (n, 2) int32.

        A point that is not finite has 0 crossings.
        """
        columns = as_columns(point_rows(points))
        out = np.empty((len(columns[0]), 2), dtype=np.int32)
        refuse_row(columns, self.index.sides(columns, out, self._threads))
        return out

    def generalised_winding(self, points: PointsLike) -> Winding:
        """Return the winding number about each point; see `geodomain.generalised_winding`."""
        columns = as_columns(point_rows(points))
        out = np.empty((len(columns[0]), 2))
        refuse_row(columns, self.index.winding(columns, out, self._threads, rim=self._rim))
        return Winding(out[:, 0], out[:, 1])

    @overload
    def contains_lattice(
        self,
        grid: pyvista.DataSet,
        /,
        *,
        rule: Rule = ...,
        packed: Literal[False] = ...,
        out: object = ...,
    ) -> NDArray[np.bool_]: ...
    @overload
    def contains_lattice(
        self,
        grid: pyvista.DataSet,
        /,
        *,
        rule: Rule = ...,
        packed: Literal[True],
        out: object = ...,
    ) -> NDArray[np.uint8]: ...
    @overload
    def contains_lattice(
        self,
        grid: pyvista.DataSet,
        /,
        *,
        rule: Rule = ...,
        packed: bool,
        out: object = ...,
    ) -> NDArray[np.bool_] | NDArray[np.uint8]: ...
    @overload
    def contains_lattice(
        self,
        grid: Gridded[ArrayT],
        /,
        *,
        rule: Rule = ...,
    ) -> ArrayT: ...
    @overload
    def contains_lattice(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        rule: Rule = ...,
        packed: Literal[False] = ...,
        out: object = ...,
    ) -> NDArray[np.bool_]: ...
    @overload
    def contains_lattice(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        rule: Rule = ...,
        packed: Literal[True],
        out: object = ...,
    ) -> NDArray[np.uint8]: ...
    @overload
    def contains_lattice(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        *,
        rule: Rule = ...,
        packed: bool,
        out: object = ...,
    ) -> NDArray[np.bool_] | NDArray[np.uint8]: ...
    def contains_lattice(
        self,
        x: ArrayLike | pyvista.DataSet | Gridded[ArrayT],
        y: ArrayLike | None = None,
        z: ArrayLike | None = None,
        *,
        rule: Rule = "parity",
        packed: bool = False,
        out: object = None,
    ) -> NDArray[np.bool_] | NDArray[np.uint8] | ArrayT:
        """Return which blocks of a lattice are inside; see `geodomain.contains_lattice`."""
        check_rule(rule)

        def inside(
            x: ArrayLike, y: ArrayLike, z: ArrayLike
        ) -> NDArray[np.bool_] | NDArray[np.uint8]:
            axes = lattice.Axes(x, y, z)
            if rule == "winding":
                return contains_lattice_winding(self, axes, packed=packed, out=out)
            fitness.require_inside(self.mesh, rule)
            return axes.answer(
                self.mesh, out, self.backend, self._threads, packed=packed, index=self.index
            )

        whole = not packed and out is None
        return answer_on_lattice(inside, x, y, z, name="inside", whole=whole)

    @cached_property
    def _rim(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        return signed_rim(self.mesh)

    def _crossings(self, points: PointsLike, out: object, *, signed: bool) -> NDArray[np.int32]:
        query = ask(point_rows(points), np.int32, out, self.backend)
        row = self.index.crossings(query.points, query.room, self._threads, signed=signed)
        refuse_row(query.points, row)
        return query.out


def locate(
    mesh: Mesh, *, backend: BackendName, threads: int | None, allow_open: bool
) -> PointLocator:
    """Index a mesh that has passed `require_fit`, without checking it again."""
    locator = PointLocator.__new__(PointLocator)
    locator._build(mesh, backend, threads, allow_open)
    return locator


def contains_by(
    locator: PointLocator, rule: Rule, points: PointsLike, out: object = None
) -> NDArray[np.bool_]:
    """Check that a rule suits the mesh, and return which points are inside by this rule."""
    mesh = locator.mesh
    if rule == "winding" and not mesh.is_closed and not mesh.is_balanced:
        inside = locator.generalised_winding(points).inside
        room = host_room(inside.shape, np.bool_, out)
        room[...] = inside
        return room
    if rule == "winding":
        fitness.require_balanced(mesh)
    fitness.require_inside(mesh, rule)
    return contains_read(locator, rule, read_points(point_rows(points), locator.backend), out)


def contains_read(
    locator: PointLocator, rule: Rule, points: Points, out: object = None
) -> NDArray[np.bool_]:
    """Return which points are inside by a rule, without checking the rule or the points."""
    query = ask_read(points, np.bool_, out, locator.backend)
    answer = locator.index.winds if rule == "winding" else locator.index.contains
    refuse_row(query.points, answer(query.points, query.room, locator._threads))
    return query.out


def contains_lattice_winding(
    locator: PointLocator, axes: lattice.Axes, *, packed: bool, out: object
) -> NDArray[np.bool_] | NDArray[np.uint8]:
    """Return which blocks of a lattice are inside by winding number, in memory."""
    if is_on_device(out):
        message = "rule 'winding' cannot write results on a GPU: give an array in memory as out="
        raise ValueError(message)
    # Check `out` before the work.
    room: NDArray[np.bool_] | NDArray[np.uint8]
    if packed:
        room = host_room(axes.packed_shape, np.uint8, out)
    else:
        room = host_room(axes.shape, np.bool_, out)
    labels = lattice.by_layers(axes, lambda points: contains_by(locator, "winding", points))
    room[...] = np.packbits(labels, axis=2, bitorder="little") if packed else labels
    return room


_Bytes = NDArray[np.uint8]
# If a vertical line crosses a closed mesh at most this often, parity above a point gives winding.
_MOST_WOUND = 2
_NOT_ON_LATTICE = layout.constant("kNotOnLattice")


class CellAnswers:
    """Labels of the lattice cells in a mesh's box, to look up by the coordinates of a point.

    A point gets the label of the cell whose centre has exactly the point's coordinates. If there is
    no such cell, the point is computed separately. For the rule "winding", a point is also computed
    separately if its vertical line crosses the mesh more than twice. (Along a line with two
    crossings the winding number is 0, then 1 or -1, then 0.)

    Parameters
    ----------
    locator : PointLocator
        The index of the mesh.
    axes : three of (n,) float64
        The lattice's coordinates within the mesh's box, strictly increasing, n > 0.
    threads : int
        Number of threads.

    Raises
    ------
    PointError
        If a cell cannot be decided; the message names no row. The methods may raise this error.
    """

    def __init__(self, locator: PointLocator, axes: Columns, threads: int) -> None:
        self._locator, self._axes, self._threads = locator, axes, threads
        self._box = np.ascontiguousarray(locator.mesh.bounds, np.float64)
        self._bits = label_bits(locator.mesh, Axes(*axes), locator.backend, threads, locator.index)
        self._crossings: _Bytes | None = None

    def contains(self, rule: Rule, points: Floats) -> Bools:
        """Return which points (n, 3) are inside; the rule "winding" needs a closed mesh."""
        closed = self._locator.mesh.is_closed
        codes = self._look_up(points, lines=rule == "winding" or not closed)
        inside = (codes & 1).astype(np.bool_)
        undecided = codes > 2 * _MOST_WOUND + 1 if rule == "winding" else codes == _NOT_ON_LATTICE
        rows = np.flatnonzero(undecided)
        if len(rows):
            x, y, z = points[rows].T
            inside[rows] = contains_read(self._locator, rule, (x, y, z))
        return inside

    def sides(self, points: Floats) -> NDArray[np.int32]:
        """Return two numbers for each point, (n, 2), in place of the crossings above and below it.

        The first number is odd exactly if the number of crossings above is odd. If the vertical
        line has 0 or 1 crossings in all, the two numbers have this sum; otherwise their sum is
        above 1.
        """
        codes = self._look_up(points, lines=True)
        counts = np.empty((len(points), 2), np.int32)
        np.bitwise_and(codes, 1, out=counts[:, 0])
        np.subtract(codes >> 1, counts[:, 0], out=counts[:, 1])
        rows = np.flatnonzero(codes == _NOT_ON_LATTICE)
        if len(rows):
            counts[rows] = self._locator.count_sides(points[rows])
        return counts

    def _look_up(self, points: Floats, *, lines: bool) -> _Bytes:
        """Return, for each point, a code for the cell that has the point's coordinates.

        `look_up` explains the codes. If ``lines``, a code includes the number of crossings of the
        vertical line through the point.
        """
        if lines and self._crossings is None:
            self._crossings = self._count_crossings()
        crossings = self._crossings if lines else None
        x, y, z = points.T
        return look_up((x, y, z), self._axes, self._bits, crossings, self._box, self._threads)

    def _count_crossings(self) -> _Bytes:
        """Return how often the vertical line of each cell column crosses the mesh, (nx, ny).

        A number above 2 is replaced: by 3 if it is odd, by 4 if it is even.
        """
        x, y, z = self._axes
        places = np.empty((len(x), len(y), 3))
        places[:, :, 0], places[:, :, 1], places[:, :, 2] = x[:, None], y, z[0]
        counts = self._locator.count_sides(places.reshape(-1, 3)).sum(axis=1)
        codes: _Bytes = np.where(counts > 2, 4 - (counts & 1), counts).astype(np.uint8)
        return codes
