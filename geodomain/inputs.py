"""Convert the types of meshes, points, lattices and paths that functions accept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_array, is_on_device
from geodomain.compute.data import CachedPoints, Floats
from geodomain.errors import MeshError, TableError, warn
from geodomain.formats.cells import Cells, LatticeCells, cells_of, product
from geodomain.formats.wireframes import read_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.pyvista import ghosts, is_dataset
from geodomain.tables.in_memory import BlockFrame, is_frame, refuse_lazy
from geodomain.tables.vendors import CENTROIDS, matches, refuse_ambiguity, refuse_no_centroid

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import pyvista
    import xarray
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike
    from typing_extensions import TypeIs

    from geodomain.mesh.mesh import Mesh

    # Structural types, so that type checkers also work without xarray.
    class Dimensioned(Protocol):
        """A DataArray or Dataset of xarray."""

        @property
        def dims(self) -> Iterable[Hashable]:
            """Return the names of the dimensions."""

    ArrayT = TypeVar("ArrayT")
    ArrayT_co = TypeVar("ArrayT_co", covariant=True)

    class Gridded(Dimensioned, Protocol[ArrayT_co]):
        """A DataArray or Dataset of xarray, whose coordinates are DataArrays."""

        def __getitem__(self, key: str, /) -> ArrayT_co:
            """Return a coordinate."""

    CoordinateT = TypeVar("CoordinateT", bound=Dimensioned)


class FacedSurface(Protocol):
    """A surface with vertices (v, 3) and faces (t, 3), such as a trimesh.Trimesh."""

    @property
    def vertices(self) -> ArrayLike:
        """Coordinates, (v, 3)."""

    @property
    def faces(self) -> ArrayLike:
        """Indices of vertices, (t, 3)."""


class Scene(Protocol):
    """A trimesh.Scene: meshes with a position for each."""

    @property
    def geometry(self) -> Mapping[str, object]:
        """The meshes by name."""

    @property
    def graph(self) -> object:
        """The positions of the meshes."""

    def dump(self, *, concatenate: bool) -> object:
        """Return the meshes, moved to their positions in the scene."""


class LoopSurface(Protocol):
    """A surface with vertices (v, 3) and triangles (t, 3), such as a Surface of LoopStructural."""

    @property
    def vertices(self) -> ArrayLike:
        """Coordinates, (v, 3)."""

    @property
    def triangles(self) -> ArrayLike:
        """Indices of vertices, (t, 3)."""


class GempyElement(Protocol):
    """A StructuralElement of GemPy, whose vertices are in world coordinates."""

    @property
    def name(self) -> str:
        """The name of the element."""

    @property
    def vertices(self) -> ArrayLike | None:
        """Coordinates, (v, 3); None before the model is computed."""

    @property
    def edges(self) -> ArrayLike | None:
        """Vertex indices of triangles, (t, 3), despite the name."""


OfTrimesh: TypeAlias = FacedSurface | Scene | LoopSurface | GempyElement
# Each is one string, because pyright does not understand concatenated strings.
MeshLike: TypeAlias = (
    "Mesh | pyvista.DataSet | OfTrimesh | tuple[ArrayLike, ArrayLike] | str | os.PathLike[str]"
)
MeshesLike: TypeAlias = "MeshLike | pyvista.MultiBlock | Iterable[MeshLike | pyvista.MultiBlock]"
PointsLike: TypeAlias = "ArrayLike | pyvista.DataSet | IntoDataFrame"


# --- Paths.

PathGiven = str | os.PathLike[str]


def model_path(model: str | os.PathLike[str], in_memory: str) -> str:
    """Return the path of a block model as text.

    Parameters
    ----------
    model : path
        The model that the caller passed.
    in_memory : str
        The end of the error message: advice for a caller who has the model in memory.

    Raises
    ------
    TypeError
        If the model is not a path.
    """
    if isinstance(model, str | os.PathLike):
        return os.fspath(model)
    message = f"the model must be the path of a file, not {type(model).__name__}; {in_memory}"
    raise TypeError(message)


# --- Conversion of anything mesh-like to `Mesh`; `geodomain.formats` reads the files.

_TAKEN = (
    "a geodomain.Mesh, a pyvista.PolyData, a pyvista.UnstructuredGrid of flat cells, an object "
    "with .vertices and .faces (trimesh), a trimesh.Scene, a Surface of LoopStructural, a "
    "StructuralElement of GemPy, a tuple (vertices, triangles) of shapes (v, 3) and (t, 3), or the "
    "path of a mesh file"
)
_UNNAMED = "mesh"


def as_mesh(mesh: MeshLike, *, name: str | None = None) -> Mesh:
    """Return a mesh of any supported type as a `Mesh`.

    Every function of geodomain that takes a mesh accepts:

    - a `Mesh`, which is used as it is;
    - a ``pyvista.PolyData``, or an UnstructuredGrid of flat cells: see `Mesh.from_pyvista`;
    - an object with ``.vertices`` (v, 3) and ``.faces`` (t, 3), such as a ``trimesh.Trimesh``;
    - a ``trimesh.Scene``: its meshes, moved to their positions, become one mesh;
    - a ``Surface`` of LoopStructural, or another object with ``.vertices`` and ``.triangles``;
    - a ``StructuralElement`` of a computed GemPy model, in world coordinates;
    - a tuple of two arrays, vertices (v, 3) and integer triangles (t, 3);
    - the path of a file, which is read by `read_mesh`.

    Functions that take several meshes also accept a list or another iterable of these types, or a
    ``pyvista.MultiBlock``. A tuple of two arrays is one mesh, but a list is several meshes.

    Conversion copies and checks the mesh on every call: for repeated use, convert once.

    Parameters
    ----------
    mesh : mesh-like
        One of the types above.
    name : str, optional
        Name of the mesh in messages. A `Mesh` keeps its name, and the mesh of a file gets the name
        of the file.

    Returns
    -------
    Mesh

    Raises
    ------
    TypeError
        For any other type; the message lists the accepted types.
    MeshError
        As `Mesh` and `read_mesh`.
    OSError
        If a file cannot be opened.

    Examples
    --------
    >>> import geodomain
    >>> vertices = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> geodomain.as_mesh((vertices, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), name="ore")
    Mesh('ore', 4 vertices, 4 triangles)
    """
    for accepts, convert in _READERS:
        if accepts(mesh):
            return convert(mesh, _UNNAMED if name is None else name)
    raise TypeError(_refusal(mesh))


def as_meshes(meshes: MeshesLike, *, name: str | None = None) -> tuple[Mesh, ...]:
    """Return one or several meshes as a tuple of `Mesh` objects; see `as_mesh`.

    Raises
    ------
    TypeError, MeshError, OSError
        As `as_mesh`.
    """
    if is_mesh_like(meshes):
        return (as_mesh(meshes, name=name),)
    if _is_multiblock(meshes):
        return tuple(_blocks(meshes, name))
    if isinstance(meshes, Mapping) or not isinstance(meshes, Iterable):
        raise TypeError(_refusal(meshes))
    converted: list[Mesh] = []
    for mesh in cast("Iterable[MeshLike | pyvista.MultiBlock]", meshes):
        converted.extend(
            _blocks(mesh, name) if _is_multiblock(mesh) else [as_mesh(mesh, name=name)]
        )
    return tuple(converted)


def is_mesh_like(thing: object) -> TypeGuard[MeshLike]:
    """Return whether `as_mesh` accepts an object."""
    return any(accepts(thing) for accepts, _ in _READERS)


def _blocks(blocks: pyvista.MultiBlock, name: str | None) -> Iterator[Mesh]:
    """Yield the meshes of a MultiBlock and of MultiBlocks nested in it; skip empty blocks."""
    for number in range(blocks.n_blocks):
        block, called = blocks[number], blocks.get_block_name(number) or name
        if _is_multiblock(block):
            yield from _blocks(block, called)
        elif block is not None:
            yield as_mesh(cast("pyvista.PolyData", block), name=called)


def _refusal(thing: object) -> str:
    """Return the message for an unsupported mesh: the accepted types, and the actual type."""
    if _is_multiblock(thing):
        return (
            "a MultiBlock is several meshes, but this function takes a single mesh: pass one block "
            "of the MultiBlock"
        )
    message = f"a mesh must be {_TAKEN}, not {type(thing).__name__}"
    if isinstance(thing, list | np.ndarray):
        message += "; a list is several meshes"
    if hasattr(thing, "vertices") and hasattr(thing, "edges"):
        message += (
            "; the meshes of GemPy's solutions are in its own coordinates, so pass an element of "
            "model.structural_frame.structural_elements"
        )
    return message


def _is_multiblock(thing: object) -> TypeIs[pyvista.MultiBlock]:
    return is_dataset(thing, "MultiBlock")


def _is_path(thing: object) -> bool:
    return isinstance(thing, str | os.PathLike)


def _is_surface(thing: object) -> bool:
    return is_dataset(thing, "PolyData", "UnstructuredGrid")


def _is_scene(thing: object) -> bool:
    return hasattr(thing, "geometry") and hasattr(thing, "graph") and hasattr(thing, "dump")


def _has_faces(thing: object) -> bool:
    return hasattr(thing, "vertices") and hasattr(thing, "faces")


def _has_triangles(thing: object) -> bool:
    return hasattr(thing, "vertices") and hasattr(thing, "triangles")


def _is_element(thing: object) -> bool:
    """Return whether an object is a StructuralElement of GemPy, and not a mesh of its solutions."""
    return all(hasattr(thing, name) for name in ("vertices", "edges", "surface_points"))


def _is_pair(thing: object) -> bool:
    """Return whether an object is a tuple of two arrays of three columns each."""
    return isinstance(thing, tuple) and len(thing) == 2 and all(map(_has_three_columns, thing))


def _has_three_columns(values: object) -> bool:
    """Return whether an object is an array of numbers with shape (n, 3), or an empty array."""
    if not (isinstance(values, list | tuple) or any(hasattr(values, name) for name in _ARRAYS)):
        return False
    try:
        array = as_array(values)
    except ValueError:  # rows of different lengths
        return False
    return array.shape == (0,) or (
        array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "fiub"
    )


def _of_scene(scene: Scene, name: str) -> Mesh:
    """Join the meshes of a scene, each at its position, into a single mesh."""
    placed = scene.to_mesh() if hasattr(scene, "to_mesh") else scene.dump(concatenate=True)
    return _of_faces(cast(FacedSurface, placed), name)


def _of_faces(surface: FacedSurface, name: str) -> Mesh:
    return Mesh(surface.vertices, surface.faces, name=name)


def _of_triangles(surface: LoopSurface, name: str) -> Mesh:
    own = getattr(surface, "name", None)
    called = own if name == _UNNAMED and isinstance(own, str) and own else name
    return Mesh(surface.vertices, surface.triangles, name=called)


def _of_element(element: GempyElement, name: str) -> Mesh:
    """Return the mesh of a GemPy element; GemPy moves its vertices to world coordinates."""
    called = str(element.name) if name == _UNNAMED else name
    if not isinstance(element.vertices, np.ndarray) or not isinstance(element.edges, np.ndarray):
        message = f"{called} has no mesh: compute the model of GemPy first, with meshes"
        raise MeshError(message)
    return Mesh(element.vertices, element.edges, name=called)


_READERS: tuple[tuple[Callable[[object], bool], Callable[[object, str], Mesh]], ...] = (
    (lambda thing: isinstance(thing, Mesh), lambda mesh, _: cast(Mesh, mesh)),
    (_is_path, lambda path, _: read_mesh(cast("str | os.PathLike[str]", path))),
    (_is_surface, lambda surface, name: Mesh.from_pyvista(surface, name=name)),
    (_is_scene, lambda scene, name: _of_scene(cast("Scene", scene), name)),
    (_is_pair, lambda pair, name: Mesh(*cast("tuple[ArrayLike, ArrayLike]", pair), name=name)),
    (_has_faces, lambda faced, name: _of_faces(cast(FacedSurface, faced), name)),
    (_has_triangles, lambda surface, name: _of_triangles(cast(LoopSurface, surface), name)),
    (_is_element, lambda element, name: _of_element(cast(GempyElement, element), name)),
)


# --- Conversion of anything point-like to rows x, y, z, or to a lattice.

_POINTS_TAKEN = (
    "an array of shape (n, 3), one point [x, y, z], a pyvista.PolyData or PointSet (its points), "
    "a pyvista.ImageData, RectilinearGrid, StructuredGrid or UnstructuredGrid (the centres of its "
    "cells), a table with columns of centroids (pandas, polars, Arrow, DuckDB), or a "
    "geopandas.GeoDataFrame of points with z"
)
_GRIDS = ("ImageData", "RectilinearGrid", "StructuredGrid", "UnstructuredGrid")
_ARRAYS = ("__array__", "__array_interface__", "__dlpack__")


@dataclass(frozen=True, eq=False)
class LatticePoints:
    """The points of a lattice, with x changing fastest; rows are computed when they are needed.

    Attributes
    ----------
    axes : tuple of (nx,), (ny,), (nz,) float64
        The coordinates along each axis, in any order.
    """

    axes: tuple[Floats, Floats, Floats]

    def __len__(self) -> int:
        """Return the number of points."""
        x, y, z = self.axes
        return len(x) * len(y) * len(z)

    @cached_property
    def rows(self) -> Floats:
        """Return all points as an array, (n, 3)."""
        return product(*self.axes)


def point_rows(points: PointsLike | LatticePoints) -> ArrayLike:
    """Return points in shape (n, 3); arrays are returned as they are, even on a GPU.

    Raises
    ------
    TypeError
        For an unsupported type; the message lists the accepted types.
    TableError
        For a table without recognised centroid columns, and a grid whose cells are not blocks.
    """
    if isinstance(points, np.ndarray | list | tuple | CachedPoints) or is_on_device(points):
        return cast("ArrayLike", points)
    if isinstance(points, LatticePoints):
        return points.rows
    if is_dataset(points, "PolyData", "PointSet"):
        return np.asarray(cast("pyvista.PolyData", points).points)
    if is_grid(points):
        return _centres(cells_of(points, "the grid"))
    refuse_lazy(points)
    if is_frame(points):
        return BlockFrame(cast("IntoDataFrame", points)).centroids()
    if is_of_xarray(points) and getattr(points, "ndim", 3) > 2:
        message = (
            "a grid of xarray is not a list of points: use label_grid or contains_lattice, or pass "
            f"{_POINTS_TAKEN}"
        )
        raise TypeError(message)
    if isinstance(points, str | bytes) or not _is_array(points):
        message = f"points must be {_POINTS_TAKEN}, not {type(points).__name__}"
        raise TypeError(message)
    return cast("ArrayLike", points)


def lattice_of(points: object) -> LatticePoints | None:
    """Return the cell centres of a grid as a lattice; None for points that are not a lattice."""
    if isinstance(points, LatticePoints):
        return points
    if not is_dataset(points, "ImageData", "RectilinearGrid"):
        return None
    if ghosts(cast("pyvista.DataSet", points)).any():
        return None  # ghost cells are not blocks
    cells = cells_of(points, "the grid")
    if not isinstance(cells, LatticeCells) or cells.matrix is not None:
        return None
    return LatticePoints(cells.centres)


def is_grid(thing: object) -> bool:
    """Return whether an object is a PyVista grid; the cells of such a grid are blocks."""
    return is_dataset(thing, *_GRIDS)


def is_of_xarray(thing: object) -> bool:
    """Return whether an object is an array or a dataset of xarray."""
    module = sys.modules.get("xarray")
    return module is not None and isinstance(thing, module.DataArray | module.Dataset)


def _centres(cells: Cells) -> Floats:
    """Return the centre of each cell, (n, 3), in the order of the cells."""
    out = np.empty((cells.count, 3), order="F")
    for index, centres, _ in cells.chunks():
        out[index] = centres
    return out


def _is_array(thing: object) -> bool:
    return isinstance(thing, Sequence) or any(hasattr(thing, name) for name in _ARRAYS)


# --- Grids that are lattices: axes of PyVista and xarray, and answers as arrays of xarray.


def axes_of(
    grid: object,
) -> tuple[Sequence[Dimensioned | Floats], Dimensioned | None, dict[str, ArrayLike]]:
    """Return the axes of a lattice, the grid itself if it is of xarray, and the grid's columns."""
    if not is_of_xarray(grid):
        lattice = lattice_of(grid)
        if lattice is None:
            message = (
                "a lattice must be a pyvista ImageData or RectilinearGrid that is not rotated, an "
                f"xarray DataArray or Dataset, or x, y and z, not {type(grid).__name__}"
                f"{'; for other grids, use label_grid or contains' * is_grid(grid)}"
            )
            raise TypeError(message)
        shape = tuple(map(len, lattice.axes[::-1]))
        data = cast("pyvista.DataSet", grid).cell_data
        cells = {name: np.asarray(data[name]) for name in data.keys()}  # noqa: SIM118
        flat = {name: values for name, values in cells.items() if values.ndim == 1}
        return lattice.axes, None, {name: flat[name].reshape(shape).T for name in flat}
    model = cast("xarray.DataArray | xarray.Dataset", grid)
    names = [name for name, values in model.coords.items() if values.ndim == 1]
    texts = tuple(map(str, names))
    sets = matches(texts, CENTROIDS, (None, None, None))
    if not sets:
        refuse_no_centroid(texts, "the grid")
    refuse_ambiguity(texts, sets, "the grid")
    axes = [model.coords[names[place]] for place in next(iter(sets))]
    dims = {dim for axis in axes for dim in axis.dims}
    variables = model.data_vars if hasattr(model, "data_vars") else {model.name: model}
    columns = {str(name): v for name, v in variables.items() if set(v.dims) == dims}
    return axes, cast("Dimensioned", model), cast("dict[str, ArrayLike]", columns)


def _are_coordinates(
    axes: Sequence[ArrayLike | Dimensioned],
) -> TypeGuard[Sequence[xarray.DataArray]]:
    """Return whether all axes are coordinates of xarray; raise TypeError if only some are."""
    module = sys.modules.get("xarray")
    of_xarray = [module is not None and isinstance(axis, module.DataArray) for axis in axes]
    if any(of_xarray) and not all(of_xarray):
        message = "x, y and z must all be coordinates of xarray, or all be arrays"
        raise TypeError(message)
    return all(of_xarray)


def dimensions(
    axes: Sequence[ArrayLike | Dimensioned], like: Dimensioned | None
) -> list[Hashable] | None:
    """Return the names of the dimensions of x, y and z in xarray; None if they are plain arrays.

    Raises
    ------
    TableError
        If coordinates are in degrees.

    Warns
    -----
    GeodomainWarning
        If z increases downwards.
    """
    if not _are_coordinates(axes):
        if like is not None:
            message = (
                "if like= is given, x, y and z must be coordinates of that array of xarray, such "
                "as like.x"
            )
            raise TypeError(message)
        return None
    dims = [dim for axis in axes for dim in axis.dims]
    if any(axis.ndim != 1 for axis in axes) or len(set(dims)) < 3:
        message = f"x, y and z must have one dimension each, all different, not {dims}"
        raise ValueError(message)
    for axis in axes:
        units, meaning = (str(axis.attrs.get(name, "")) for name in ("units", "standard_name"))
        if units.lower().startswith("degree") or meaning in ("longitude", "latitude"):
            message = (
                f"the coordinate {axis.name!r} of the grid is in degrees ({units or meaning}), but "
                "wireframes have coordinates in units of length: project the grid first"
            )
            raise TableError(message)
    if axes[2].attrs.get("positive") == "down":
        warn(
            f"the coordinate {axes[2].name!r} increases downwards (positive: down): if the "
            "wireframes have elevations, change its sign first"
        )
    if like is not None and not set(dims) <= set(like.dims):
        message = (
            f"like= has the dimensions {list(like.dims)}, but x, y and z have the dimensions {dims}"
        )
        raise ValueError(message)
    return dims


def as_data_array(
    values: ArrayLike,
    name: str,
    axes: Sequence[xarray.DataArray],
    dims: list[Hashable],
    like: Dimensioned | None,
) -> Dimensioned:
    """Return values as a DataArray with coordinates.

    From `like` it takes the order of the dimensions (for a Dataset, that of its first variable with
    all of them), the other coordinates that fit, and the ``grid_mapping`` of the CF conventions,
    which names the coordinate with the CRS.
    """
    import xarray

    coords = {axis.name or dim: axis.variable for axis, dim in zip(axes, dims, strict=True)}
    array = xarray.DataArray(values, dims=dims, coords=coords, name=name)
    if like is None:
        return cast("Dimensioned", array)
    model = cast("xarray.DataArray | xarray.Dataset", like)
    others = {name: each.variable for name, each in model.coords.items() if name not in coords}
    array = array.assign_coords(
        {name: each for name, each in others.items() if set(each.dims) <= set(dims)}
    )
    variables = list(getattr(model, "data_vars", {}).values())
    for each in (model, *variables):
        for entries, target in ((each.attrs, array.attrs), (each.encoding, array.encoding)):
            if "grid_mapping" in entries and "grid_mapping" not in {*array.attrs, *array.encoding}:
                target["grid_mapping"] = entries["grid_mapping"]
    array.attrs["long_name"] = name
    # The dimensions of a Dataset have no order, but those of its variables have one.
    order = next((each.dims for each in variables if set(dims) <= set(each.dims)), model.dims)
    return cast("Dimensioned", array.transpose(*(dim for dim in order if dim in dims)))


def answer_on_lattice(
    answer: Callable[[ArrayLike, ArrayLike, ArrayLike], NDArray[np.bool_] | NDArray[np.uint8]],
    x: ArrayLike | pyvista.DataSet | Gridded[ArrayT],
    y: ArrayLike | None,
    z: ArrayLike | None,
    *,
    name: str,
    whole: bool,
) -> NDArray[np.bool_] | NDArray[np.uint8] | ArrayT:
    """Compute values on a lattice; for a grid of xarray, return them as an array of xarray.

    Parameters
    ----------
    answer : callable
        Takes x, y and z, and returns an array of shape (nx, ny, nz).
    x, y, z
        The axes. Instead, x may be a grid that is a lattice; then y and z are None.
    name : str
        Name of the array of xarray.
    whole : bool
        Whether `answer` returns a new array of that shape. False for packed bits, and if the caller
        passed an array for the output; a grid of xarray is then refused.
    """
    if y is not None and z is not None:
        return answer(cast("ArrayLike", x), y, z)
    if y is not None or z is not None:
        message = "a lattice is given by all of x, y and z, or by a grid in their place"
        raise TypeError(message)
    axes, like, _ = axes_of(x)
    dims = dimensions(axes, like)
    if dims is not None and not whole:
        message = (
            "packed= and out= cannot be used with a grid of xarray: pass x, y and z as arrays, or "
            "a grid of PyVista"
        )
        raise ValueError(message)
    values = answer(*cast("Sequence[ArrayLike]", axes))
    if dims is None:
        return values
    made = as_data_array(values, name, cast("Sequence[xarray.DataArray]", axes), dims, like)
    return cast("ArrayT", made)
