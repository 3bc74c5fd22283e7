"""The accessor ``.geodomain`` of PyVista's grids, surfaces and points.

PyVista 0.48 and later imports this module, by the entry point ``pyvista.accessors``, when a program
first uses ``.geodomain``. Older releases never import it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np
import pyvista
from numpy.typing import NDArray

import geodomain
from geodomain.arrays import COARSE, single_resolution
from geodomain.blocks.schemes import Scheme
from geodomain.blocks.splitting import SplitPlan
from geodomain.domains.order import DomainsLike
from geodomain.errors import GeodomainError, warn
from geodomain.formats.blocks import Destination
from geodomain.formats.grids import GridModel, grid_of
from geodomain.formats.vtk import put_column
from geodomain.inputs import MeshLike
from geodomain.labelling.arrays import proportions_grid

if TYPE_CHECKING:
    from geodomain.mesh.check import MeshReport
    from geodomain.volumes.solids import VolumeReport
    from geodomain.volumes.tonnes_report import Tonnes

DataT = TypeVar("DataT", bound=pyvista.DataSet)


class _Labelling(ABC, Generic[DataT]):
    """The methods that grids and points share; they return arrays of cells or of points."""

    _of_points = False

    def __init__(self, dataset: DataT) -> None:
        self._held = dataset

    @property
    def _dataset(self) -> DataT:
        """The data set of the accessor.

        PyVista 0.48 stores the accessor in the data set. That reference cycle would never be freed,
        so it is broken here.
        """
        vars(self._held).pop("geodomain", None)
        return self._held

    def label(
        self,
        domains: DomainsLike,
        *,
        column: str = "domain",
        inplace: bool = False,
        **keywords: object,
    ) -> DataT:
        """Add an array with the domain of each cell of a grid, or of each point.

        Parameters
        ----------
        domains : mapping, MultiBlock, sequence of Domain and Stack, Domains, or path
            As for `geodomain.label_grid`, such as ``{"ORE": mesh}``. Each block of a MultiBlock is
            a domain.
        column : str
            Name of the new array of texts. An array of this name is replaced.
        inplace : bool
            Whether to change this data set, instead of a copy that shares all other arrays.
        **keywords
            As for `geodomain.label_grid`, or `geodomain.label_points` for points: ``background``,
            ``by``, ``rule``, ``allow_open`` and so on.

        Returns
        -------
        pyvista.DataSet
            The copy with the new array, or this data set.
        """
        self._warn_of_single()
        return self._with({column: self._labels(domains, keywords)}, inplace)

    def contains(
        self, mesh: MeshLike, *, column: str = "inside", inplace: bool = False, **keywords: object
    ) -> DataT:
        """Add an array that says whether each cell's centre, or each point, is inside a mesh.

        Parameters
        ----------
        mesh : mesh-like
            The solid; any type that `geodomain.as_mesh` accepts.
        column : str
            Name of the new array of bool.
        inplace, **keywords
            As for `label`; keywords are those of `geodomain.contains`.
        """
        self._warn_of_single()
        contains: Callable[..., NDArray[np.bool_]] = geodomain.contains
        inside = contains(mesh, self._dataset, **keywords)
        return self._with({column: inside}, inplace)

    def distances(
        self,
        meshes: Mapping[str, MeshLike] | MeshLike,
        *,
        inplace: bool = False,
        **keywords: object,
    ) -> DataT:
        """Add arrays with the distance of each cell's centre, or of each point, from meshes.

        Parameters
        ----------
        meshes : mapping of str to mesh-like, or mesh-like
            The array for the name ``ORE`` is called ``dist_ore``; for one mesh without a name it is
            called ``distance``.
        inplace, **keywords
            As for `label`; keywords are those of `geodomain.distances`, such as ``signed=True``.
        """
        self._warn_of_single()
        named = isinstance(meshes, Mapping)
        each = cast("Mapping[str, MeshLike]", meshes if named else {"": meshes})
        measure: Callable[..., NDArray[np.float64]] = geodomain.distances
        columns: dict[str, NDArray[np.float64]] = {}
        for name, mesh in each.items():
            column = f"dist_{name}".lower() if named else "distance"
            if column in columns:
                message = f"two meshes have the array {column!r}: give them different names"
                raise ValueError(message)
            columns[column] = measure(mesh, self._dataset, **keywords)
        return self._with(columns, inplace)

    @abstractmethod
    def _labels(self, domains: DomainsLike, keywords: dict[str, object]) -> NDArray[np.str_]:
        """Return the domain of each cell or point."""

    def _with(self, arrays: Mapping[str, NDArray[np.generic]], inplace: bool) -> DataT:
        """Return the data set with new arrays; the last numeric array becomes active."""
        for name in arrays:
            if not (isinstance(name, str) and name):
                message = f"column={name!r} is not the name of an array: use a text, not empty"
                raise ValueError(message)
        made = self._dataset
        if not inplace:
            made = made.copy(deep=False)
            made.copy_meta_from(self._dataset, deep=True)  # such as which arrays are bool
        for name, values in arrays.items():
            put_column(made, name, values, points=self._of_points)
            if values.dtype.kind != "U":
                made.set_active_scalars(name, "point" if self._of_points else "cell")
        return made

    def _warn_of_single(self) -> None:
        """Warn of a grid whose float32 coordinates are so large that they are coarse.

        The functions themselves warn of points.
        """
        if self._of_points:
            return
        dataset = self._dataset
        if isinstance(dataset, pyvista.RectilinearGrid):
            parts = [np.asarray(axis) for axis in (dataset.x, dataset.y, dataset.z)]
        else:
            parts = [] if isinstance(dataset, pyvista.ImageData) else [np.asarray(dataset.points)]
        single = [part for part in parts if part.dtype == np.float32]
        resolution = max(map(single_resolution, single), default=0.0)
        if resolution >= COARSE:
            warn(
                "the grid has coordinates in single precision (float32), which are only accurate "
                f"to {resolution:g} here: make the grid from float64 points"
            )


class GridAccessor(_Labelling[pyvista.DataSet]):
    """Methods for the cells of a grid.

    The cells are the blocks of a block model; a cell array is a column.
    """

    def proportions(
        self, domains: DomainsLike, *, inplace: bool = False, **keywords: object
    ) -> pyvista.DataSet:
        """Add arrays with the share of each cell in each domain, computed from the triangles.

        Parameters
        ----------
        domains : mapping, sequence of Domain and Stack, Domains, or path
            As for `geodomain.proportions_blocks`. The array for the name ``ORE`` is called
            ``prop_ore``, from 0 to 1, or ``pct_ore`` if ``percent`` is true.
        inplace, **keywords
            As for `label`; keywords are ``proportions``, ``percent``, ``lines``, ``rule``,
            ``backend`` and ``threads`` of `geodomain.proportions_blocks`.
        """
        self._warn_of_single()
        measure: Callable[..., dict[str, NDArray[np.float64]]] = proportions_grid
        return self._with(measure(self._dataset, domains, **keywords), inplace)

    def subblock(
        self,
        domains: DomainsLike,
        *,
        scheme: Scheme,
        minimum: float | str | Sequence[float | str],
        merge: bool = False,
        resolution: float | str = "0.001",
        extensive: str | Sequence[str] = (),
        parent: str = "parent",
        **keywords: object,
    ) -> pyvista.UnstructuredGrid:
        """Split the cells at wireframes, and label the parts.

        Parameters are those of `geodomain.subblock_file`, without the files.

        Returns
        -------
        pyvista.UnstructuredGrid, ImageData or RectilinearGrid
            The parts, with all arrays of the cells, and the arrays ``parent`` (the index of the
            cell) and ``domain``. If the parts fill a lattice, the grid is an ImageData or a
            RectilinearGrid.
        """
        self._warn_of_single()
        plan = SplitPlan(
            domains, scheme, minimum, resolution, extensive, parent, keywords, merge=merge
        )
        model = GridModel(self._dataset)
        plan.run(lambda: nullcontext(model), Destination(""))
        if model.made is None:
            message = "the cells were not split"
            raise GeodomainError(message)
        return cast("pyvista.UnstructuredGrid", grid_of(model.made, "the grid"))

    def tonnes(self, *, density: str | float, **keywords: object) -> Tonnes:
        """Add up volume, tonnes and grades of the cells by domain; see `geodomain.tonnes`."""
        self._warn_of_single()
        add_up: Callable[..., Tonnes] = geodomain.tonnes
        return add_up(self._dataset, density=density, **keywords)

    def _labels(self, domains: DomainsLike, keywords: dict[str, object]) -> NDArray[np.str_]:
        label = cast("Callable[..., NDArray[np.str_]]", geodomain.label_grid)
        return label(self._dataset, domains, **keywords)


class PointsAccessor(_Labelling[DataT]):
    """Methods for points: labels become arrays of the points."""

    _of_points = True

    def _labels(self, domains: DomainsLike, keywords: dict[str, object]) -> NDArray[np.str_]:
        columns = {"columns": dict(self._dataset.point_data.items())}
        label: Callable[..., NDArray[np.str_]] = geodomain.label_points
        return label(self._dataset, domains, **(columns | keywords))


class SurfaceAccessor(PointsAccessor[pyvista.PolyData]):
    """Methods for a surface: check, repair and measure it, and label its points."""

    def check(self) -> MeshReport:
        """Count and locate the faults of the surface; see `geodomain.check`."""
        return geodomain.check(self._dataset)

    def weld(self, tolerance: float, *, inplace: bool = False) -> pyvista.PolyData:
        """Join vertices that are close to each other; see `geodomain.weld`.

        Parameters
        ----------
        tolerance : float
            Distance in the unit of the coordinates; 0 joins only equal vertices.
        inplace : bool
            Whether to change this surface, instead of returning a new one.

        Returns
        -------
        pyvista.PolyData
            Triangles with float64 points. Arrays of points and cells are left out, because points
            and triangles change. The field data have the figures of the weld: ``weld_moved``,
            ``weld_largest_move`` and ``weld_dropped``, as in `geodomain.WeldResult`.
        """
        result = geodomain.weld(self._dataset, tolerance)
        figures = {
            "weld_moved": result.moved,
            "weld_largest_move": result.largest_move,
            "weld_dropped": result.dropped,
        }
        return self._repaired(result.mesh.to_pyvista(), figures, inplace)

    def fill_holes(self, max_edges: int, *, inplace: bool = False) -> pyvista.PolyData:
        """Fill the holes of the surface without moving or adding vertices.

        Parameters
        ----------
        max_edges : int
            Holes with more edges are left open; see `geodomain.fill_holes`.
        inplace : bool
            Whether to change this surface, instead of returning a new one.

        Returns
        -------
        pyvista.PolyData
            As for `weld`. The field data have the number of new triangles, ``fill_added``, and the
            numbers of filled and of open holes, ``fill_filled`` and ``fill_left_open``.
        """
        result = geodomain.fill_holes(self._dataset, max_edges)
        filled = sum(hole.filled for hole in result.holes)
        figures = {
            "fill_added": result.added,
            "fill_filled": filled,
            "fill_left_open": len(result.holes) - filled,
        }
        return self._repaired(result.mesh.to_pyvista(), figures, inplace)

    def volume_report(self) -> VolumeReport:
        """Return the volume that the surface encloses; see `geodomain.volume_report`."""
        return geodomain.volume_report(self._dataset)

    def _repaired(
        self, made: pyvista.PolyData, figures: Mapping[str, float], inplace: bool
    ) -> pyvista.PolyData:
        """Return a repaired surface with the figures of the repair in its field data."""
        for source in (self._dataset.field_data, figures):
            for name, value in source.items():
                made.field_data[name] = np.atleast_1d(value)
        if not inplace:
            return made
        self._dataset.copy_from(made)
        return self._dataset


def register() -> None:
    """Register the accessors with PyVista, unless it is older than 0.48."""
    add = vars(pyvista).get("register_dataset_accessor")
    if add is None:
        return
    for name in ("ImageData", "RectilinearGrid", "StructuredGrid", "UnstructuredGrid"):
        add("geodomain", getattr(pyvista, name))(GridAccessor)
    add("geodomain", pyvista.PointSet)(PointsAccessor)
    add("geodomain", pyvista.PolyData)(SurfaceAccessor)


register()
