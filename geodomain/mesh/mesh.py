"""The class `Mesh`: a triangulated wireframe that is checked once and is read-only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_array, as_doubles
from geodomain.compute import meshes
from geodomain.compute.data import Floats, Indices
from geodomain.errors import MeshError
from geodomain.mesh import pyvista as datasets
from geodomain.mesh.polygons import Faces, triangles_of
from geodomain.result_tables import html_table

if TYPE_CHECKING:
    import pyvista


def normals(vertices: Floats, triangles: NDArray[np.integer]) -> Floats:
    """Return the cross product (t, 3) of two sides of each triangle, as float64."""
    a, b, c = vertices[triangles.T]
    p, q = b - a, c - a
    out: Floats = np.empty_like(p)
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[:, k] = p[:, i] * q[:, j] - p[:, j] * q[:, i]
    return out


def area(crosses: Floats) -> float:
    """Return the total area of triangles from their cross products."""
    x, y, z = crosses.T
    return float(np.hypot(np.hypot(x, y), z).sum() / 2)


def sixfold_volumes(arms: Floats, crosses: Floats) -> Floats:
    """Return, for each triangle, six times the signed volume of a tetrahedron over it; shape (t,).

    `arms` lead from the apex of each tetrahedron to a corner of its triangle; `crosses` are from
    `normals`.
    """
    volumes: Floats = np.einsum("ij,ij->i", arms, crosses)
    return volumes


def enclosed_volume(vertices: Floats, triangles: NDArray[np.integer], bounds: Floats) -> float:
    """Return the absolute volume of a closed mesh.

    Coordinates are taken relative to the middle of the mesh's box. If they were taken relative to
    the origin, large terms would cancel at mine coordinates, and digits would be lost.
    """
    if not len(triangles):
        return 0.0
    middle = bounds[0] + (bounds[1] - bounds[0]) / 2
    moved = vertices - middle
    terms = sixfold_volumes(moved[triangles[:, 0]], normals(moved, triangles))
    return abs(float(terms.sum())) / 6


def volume_beyond(
    vertices: Floats, triangles: NDArray[np.integer], axis: int, height: float
) -> float:
    """Return the volume of the part of a closed mesh in which a coordinate exceeds `height`.

    By the divergence theorem, the volume is a sum over triangles. Each term is the mean over the
    triangle of max(coordinate - height, 0) times the signed area of the triangle along the axis.
    """
    crosses = normals(vertices - vertices.mean(axis=0), triangles)
    low, middle, high = np.sort(vertices[:, axis][triangles] - height, axis=1).T
    return abs(float((_mean_above(low, middle, high) * crosses[:, axis]).sum()) / 2)


def _mean_above(low: Floats, middle: Floats, high: Floats) -> Floats:
    """Return the mean over each triangle of max(f, 0), for a linear function f.

    The arguments are the values of f at the corners, in ascending order. If one value differs in
    sign from the others, f changes sign along a line that cuts off a smaller triangle at that
    corner. The sides of the smaller triangle are fractions of the sides of the whole triangle.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        top = high**3 / (3 * (high - middle) * (high - low))
        bottom = low**3 / (3 * (middle - low) * (high - low))
    mean = (low + middle + high) / 3
    mean_above = np.where(middle > 0, mean - bottom, top)
    mean_above = np.where(low >= 0, mean, mean_above)
    return np.asarray(np.where(high <= 0, 0.0, mean_above))


# The mesh.


Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """A triangulated wireframe; its arrays are copied and checked.

    Parameters
    ----------
    vertices : array_like of shape (v, 3)
        Coordinates x, y, z in the unit of the project. Floats and integers of any width
        are converted to float64; values that float64 would round are refused.
    triangles : array_like of shape (t, 3)
        Indices of vertices. By convention they are counter-clockwise if seen from outside.
    name : str
        The name of the mesh in messages: usually the name of its file.

    Attributes
    ----------
    vertices : numpy.ndarray of float64, shape (v, 3)
        Read-only. -0.0 is stored as 0.0.
    triangles : numpy.ndarray of int32, shape (t, 3)
        Read-only.
    bounds : numpy.ndarray of float64, shape (2, 3)
        The lowest and the highest coordinates of vertices that triangles use;
        +inf and -inf if there is no triangle.

    Raises
    ------
    MeshError
        If a coordinate is not finite. If a coordinate other than 0 has a magnitude outside
        [2^-306, 2^339]. If a triangle has an index for which there is no vertex.
    TypeError
        For arrays that are not numbers.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> mesh
    Mesh('mesh', 4 vertices, 4 triangles)
    >>> mesh.is_closed, mesh.is_balanced, mesh.volume
    (True, True, 121.5)
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    name: str
    bounds: NDArray[np.float64]

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike, *, name: str = "mesh") -> None:
        points = _rows_of_three(as_doubles(vertices, f"{name}: vertices"), f"{name}: vertices")
        corners = _rows_of_three(_as_indices(triangles, name, len(points)), f"{name}: triangles")
        checked = meshes.check(points, corners)
        _refuse_vertex(name, points, checked.bad_vertex)
        _refuse_triangle(name, corners, checked.bad_triangle, len(points))
        for array in (checked.vertices, checked.triangles, checked.bounds):
            array.flags.writeable = False
        values = {
            "vertices": checked.vertices,
            "triangles": checked.triangles,
            "bounds": checked.bounds,
            "name": name,
            "_by_index": checked.by_index,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """Return the name and the numbers of vertices and triangles."""
        counts = f"{len(self.vertices)} vertices, {len(self.triangles)} triangles"
        return f"Mesh({self.name!r}, {counts})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        low, high = self.bounds.tolist()
        spans = [f"{a:.10g} to {b:.10g}" for a, b in zip(low, high, strict=True)]
        rows = [
            ("vertices", f"{len(self.vertices):,}"),
            ("triangles", f"{len(self.triangles):,}"),
            *(zip("xyz", spans, strict=True) if len(self.triangles) else ()),
            ("closed", "yes" if self.is_closed else "no"),
        ]
        return html_table(f"Mesh {self.name}", rows)

    def __reduce__(
        self,
    ) -> tuple[Callable[[Floats, Indices, str], Mesh], tuple[Floats, Indices, str]]:
        """Pickle the vertices, triangles and name; loading checks them again."""
        return _again, (self.vertices, self.triangles, self.name)

    @cached_property
    def _by_value(self) -> tuple[bool, bool]:
        """Whether the mesh, with equal vertices merged, is closed, and whether it is balanced.

        In a balanced mesh, each edge is used equally often in both directions.
        """
        return meshes.closed_by_value(self.vertices, self.triangles)

    @cached_property
    def _moves(self) -> WeakValueDictionary[tuple[float, ...], Mesh]:
        """The meshes that `shifted` made and that are in use, by their shifts."""
        return WeakValueDictionary()

    @cached_property
    def area(self) -> float:
        """Total area of the triangles, in squares of the unit, rounded to about 15 digits."""
        return area(normals(self.vertices, self.triangles))

    @cached_property
    def volume(self) -> float:
        """Volume that a closed mesh encloses, in cubes of the unit; it is never negative.

        The volume is the magnitude of the signed volume, with an error of about 1e-15 of the volume
        of the mesh's box. Shells that face inwards (voids) are subtracted. Shells that face
        outwards are added even where they overlap or lie inside others; `geodomain.check` locates
        such shells.

        Raises
        ------
        MeshError
            If the mesh is not closed, or if some triangles of one shell face inwards and others
            outwards.
        """
        if not self.is_closed:
            message = (
                f"{self.name} is not closed, so it encloses no volume: geodomain.check "
                "shows where it is open, and geodomain.weld can close gaps"
            )
            raise MeshError(message)
        if not self.is_balanced:
            message = (
                f"{self.name} has no volume: some triangles of one shell face inwards and others "
                "outwards; orient all triangles of a shell the same way"
            )
            raise MeshError(message)
        return enclosed_volume(self.vertices, self.triangles, self.bounds)

    @property
    def is_closed(self) -> bool:
        """Whether every edge has an even number of triangles.

        Edges whose ends have equal coordinates count as one edge.
        """
        # Equal indices mean equal coordinates, so a mesh that is closed by index is closed.
        return bool(self.__dict__["_by_index"][0]) or self._by_value[0]

    @property
    def is_balanced(self) -> bool:
        """Whether every edge is used as often in one direction as in the other."""
        return bool(self.__dict__["_by_index"][1]) or self._by_value[1]

    @cached_property
    def bodies(self) -> meshes.Bodies:
        """Counts of the vertex-connected parts of the mesh.

        If the mesh is closed without merging vertices, they are not merged. Otherwise vertices with
        equal coordinates are merged.
        """
        merged = None if self.__dict__["_by_index"][0] else meshes.merge_equal(self.vertices)
        return meshes.find_bodies(self.triangles, merged, len(self.vertices))

    def shifted(self, shift: ArrayLike) -> Mesh:
        """Return the mesh, moved by a vector.

        Parameters
        ----------
        shift : array_like of shape (3,)
            Numbers that are added to x, y and z of each vertex, in the unit of the coordinates.
            Each sum is rounded once, to float64.

        Returns
        -------
        Mesh
            A mesh with the same triangles and name. Equal shifts give the same object, as long as
            it is in use.

        Raises
        ------
        MeshError
            If a triangle collapses, because its corners round to points of a line, or to equal
            points. If a coordinate leaves the range of `Mesh`.
        TypeError, ValueError
            If `shift` is not three numbers.

        Examples
        --------
        >>> import geodomain
        >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
        >>> ground.shifted([0, 0, -2]).vertices[:, 2].tolist()
        [3.0, 3.0, 3.0]
        """
        by = np.ascontiguousarray(as_doubles(shift, f"{self.name}: shift"))
        if by.shape != (3,):
            message = f"{self.name}: shift must have shape (3,), not {by.shape}"
            raise ValueError(message)
        vector = tuple(by.tolist())
        mesh = self._moves.get(vector)
        if mesh is None:
            moved, vertex, triangle = meshes.shift(self.vertices, self.triangles, self.bounds, by)
            _refuse_shift(self.name, vector, moved, vertex, triangle)
            mesh = self._moves[vector] = Mesh(moved, self.triangles, name=self.name)
            if "_warned" in self.__dict__:  # about its shape, which is the same
                mesh.__dict__["_warned"] = True
        return mesh

    @classmethod
    def from_faces(cls, faces: Faces, *, name: str = "mesh") -> Mesh:
        """Return a mesh made by cutting polygons into triangles; see `triangles_of` for errors."""
        return cls(faces.vertices, triangles_of(faces, name), name=name)

    @classmethod
    def from_pyvista(cls, dataset: object, *, name: str = "mesh") -> Mesh:
        """Return the mesh of a PyVista surface.

        Parameters
        ----------
        dataset : pyvista.PolyData
            Triangles, polygons or triangle strips. An UnstructuredGrid of triangles and polygons is
            also accepted. Polygons are cut into triangles in a way that does not depend on the
            corner where they start or the direction in which they run. float32 points are
            converted to float64 exactly.
        name : str
            Name of the mesh in messages.

        Raises
        ------
        MeshError
            If the data set has cells of another kind; the message names the kind. Also as for
            `Mesh`.
        """
        return cls.from_faces(datasets.from_dataset(dataset, name), name=name)

    def to_pyvista(self) -> pyvista.PolyData:
        """Return a copy of the mesh as a PyVista surface with float64 points."""
        surface: pyvista.PolyData = datasets.to_dataset(self.vertices, self.triangles)
        return surface


def _again(vertices: Floats, triangles: Indices, name: str) -> Mesh:
    return Mesh(vertices, triangles, name=name)


def _rows_of_three(array: NDArray[Number], what: str) -> NDArray[Number]:
    if array.size == 0 and array.ndim <= 2:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        message = f"{what} must have shape (n, 3), not {array.shape}"
        raise ValueError(message)
    return np.ascontiguousarray(array)


def _as_indices(triangles: ArrayLike, name: str, vertex_count: int) -> Indices:
    array = as_array(triangles)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        message = f"{name}: triangles must be integers, not {array.dtype}"
        raise TypeError(message)
    if array.dtype.itemsize >= 4 and array.dtype != np.int32 and array.size:
        wrong = (array < 0) | (array >= vertex_count)
        if wrong.any():
            rows = _rows_of_three(array, f"{name}: triangles")
            _refuse_triangle(name, rows, int(np.argwhere(wrong)[0][0]), vertex_count)
    return array.astype(np.int32, copy=False)


def _refuse_vertex(name: str, vertices: Floats, row: int) -> None:
    if row < 0:
        return
    place = tuple(float(value) for value in vertices[row])
    if not np.isfinite(vertices[row]).all():
        message = (
            f"{name}: vertex {row} is {place}, which is not finite; correct or remove the vertex"
        )
    else:
        message = (
            f"{name}: vertex {row} is {place}; for exact results, a coordinate must be 0 or have a "
            "magnitude between 2^-306 and 2^339: rescale the mesh, or write tiny coordinates as 0"
        )
    raise MeshError(message)


def _refuse_shift(
    name: str, shift: tuple[float, ...], moved: Floats, vertex: int, triangle: int
) -> None:
    """Raise MeshError if a shift moved a vertex out of range, or made a triangle collapse."""
    if vertex >= 0:
        place = tuple(float(value) for value in moved[vertex])
        message = (
            f"{name} cannot be shifted by {shift}: vertex {vertex} would be at {place}, but a "
            "coordinate must be 0 or have a magnitude between 2^-306 and 2^339: change the shift"
        )
        raise MeshError(message)
    if triangle >= 0:
        message = (
            f"{name} cannot be shifted by {shift}: rounded to 64 bits, the moved corners of "
            f"triangle {triangle} are equal or on a line, because the triangle is too small for "
            "coordinates of this size: shift the mesh by less, or move it to the origin first"
        )
        raise MeshError(message)


def _refuse_triangle(
    name: str, triangles: NDArray[np.integer], row: int, vertex_count: int
) -> None:
    if row < 0:
        return
    corners = tuple(int(value) for value in triangles[row])
    message = (
        f"{name}: triangle {row} is {corners}, but there are {vertex_count} vertices, counted from "
        "0: correct the triangle, or export the wireframe again"
    )
    raise MeshError(message)
