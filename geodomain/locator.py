"""Points against one mesh: the index that is built once, and what it answers."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain import lattice, topology
from geodomain.answers import ask, host_room
from geodomain.backends import choose
from geodomain.backends.native import thread_count
from geodomain.mesh import Mesh
from geodomain.points import as_columns, is_on_device, refuse_row
from geodomain.rim import signed_rim

Rule = Literal["parity", "winding"]


def check_rule(rule: str) -> None:
    """Raise ValueError for a rule that does not exist."""
    if rule not in ("parity", "winding"):
        message = f"rule is {rule!r}; it can be 'parity' or 'winding'"
        raise ValueError(message)


def _again(mesh: Mesh, options: dict[str, Any]) -> PointLocator:
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
        """Tell the points with a number of 1/2 or more, whatever the orientation."""
        return np.abs(self.number) >= 0.5

    @property
    def uncertain(self) -> NDArray[np.bool_]:
        """Tell the points so close to 1/2 that rounding may have decided."""
        return np.abs(np.abs(self.number) - 0.5) <= self.bound


class PointLocator:
    """Answer which points lie inside a mesh; built once, asked often, from any thread.

    It can be pickled, for other processes: the mesh goes, and the index is built again there.

    Parameters
    ----------
    mesh : Mesh
        The solid. It is not copied.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; labels are the same everywhere.
    threads : int, optional
        Threads to use; all the cores allowed to the process by default.
    allow_open : bool
        Take a mesh that is not closed: parity is still that of the crossings above
        each point, but it means nothing near and below the holes.

    Raises
    ------
    MeshError
        If the mesh is not closed and ``allow_open`` is false.

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
        mesh: Mesh,
        *,
        backend: str = "auto",
        threads: int | None = None,
        allow_open: bool = False,
    ) -> None:
        topology.require_fit(mesh, allow_open=allow_open)
        self.mesh = mesh
        self._options = {"backend": backend, "threads": threads, "allow_open": allow_open}
        self.backend = choose(backend)
        self._threads = thread_count(threads)
        self.index = self.backend.Index(
            mesh.vertices,
            mesh.triangles,
            mesh.bounds,
            closed=mesh.is_closed,
            threads=self._threads,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the locator is made of; the index is built again where it is unpickled."""
        return _again, (self.mesh, self._options)

    def contains(
        self, points: ArrayLike, *, rule: Rule = "parity", out: Any = None
    ) -> NDArray[np.bool_]:
        """Return which points are inside; see `geodomain.contains`."""
        check_rule(rule)
        if rule == "winding" and self._by_fraction:
            inside = self.generalised_winding(points).inside
            room: NDArray[np.bool_] = host_room(inside.shape, np.bool_, out)
            room[...] = inside
            return room
        if rule == "winding":
            topology.require_balanced(self.mesh)
        asked = ask(points, np.bool_, out, self.backend)
        answer = self.index.winds if rule == "winding" else self.index.contains
        refuse_row(asked.points, answer(asked.points, asked.room, self._threads))
        found: NDArray[np.bool_] = asked.out
        return found

    def count_crossings(self, points: ArrayLike, *, out: Any = None) -> NDArray[np.int32]:
        """Return the crossings above each point; see `geodomain.count_crossings`."""
        return self._crossings(points, out, signed=False)

    def winding_numbers(self, points: ArrayLike, *, out: Any = None) -> NDArray[np.int32]:
        """Return the winding number of each point; see `geodomain.winding_numbers`."""
        topology.require_balanced(self.mesh)
        return self._crossings(points, out, signed=True)

    def on_surface(self, points: ArrayLike, *, out: Any = None) -> NDArray[np.bool_]:
        """Return which points lie exactly on a triangle; see `geodomain.on_surface`."""
        asked = ask(points, np.bool_, out, self.backend)
        refuse_row(asked.points, self.index.on_surface(asked.points, asked.room, self._threads))
        found: NDArray[np.bool_] = asked.out
        return found

    def count_sides(self, points: ArrayLike) -> NDArray[np.int32]:
        """Return the crossings above and below each point, (n, 2) int32; 0 where not finite."""
        columns = as_columns(points)
        out = np.empty((len(columns[0]), 2), dtype=np.int32)
        refuse_row(columns, self.index.sides(columns, out, self._threads))
        return out

    def generalised_winding(self, points: ArrayLike) -> Winding:
        """Return winding numbers of an open mesh; see `geodomain.generalised_winding`."""
        columns = as_columns(points)
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
        out: Any = None,
    ) -> NDArray[np.bool_] | NDArray[np.uint8]:
        """Return which blocks of a lattice are inside; see `geodomain.contains_lattice`."""
        check_rule(rule)
        axes = lattice.Axes(x, y, z)
        found: NDArray[Any]
        if rule == "parity":
            found = axes.answer(self.mesh, out, self.backend, self._threads, packed=packed)
            return found
        if is_on_device(out):
            message = "out is on a GPU, which is for the rule 'parity': give an out in memory"
            raise ValueError(message)
        room = host_room(*axes.form(packed=packed), out)
        labels = lattice.by_layers(axes, lambda points: self.contains(points, rule=rule))
        room[...] = np.packbits(labels, axis=2, bitorder="little") if packed else labels
        return room

    @property
    def _by_fraction(self) -> bool:
        """Whether winding numbers are fractions: the mesh is open, and may be."""
        return not self.mesh.is_closed and not self.mesh.is_balanced

    @cached_property
    def _rim(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        return signed_rim(self.mesh)

    def _crossings(self, points: ArrayLike, out: Any, *, signed: bool) -> NDArray[np.int32]:
        asked = ask(points, np.int32, out, self.backend)
        refused = self.index.crossings(asked.points, asked.room, self._threads, signed=signed)
        refuse_row(asked.points, refused)
        found: NDArray[np.int32] = asked.out
        return found
