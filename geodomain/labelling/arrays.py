"""Label points, grids and lattices in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_doubles, as_rows, is_on_device
from geodomain.domains.defaults import LabelBy, Proportions
from geodomain.domains.domain import Domain, require_name
from geodomain.domains.order import Domains, DomainsLike, allowed_rows
from geodomain.domains.sources import as_domains
from geodomain.errors import DomainError, counted
from geodomain.formats.cells import cells_of
from geodomain.inputs import (
    LatticePoints,
    MeshesLike,
    MeshLike,
    PointsLike,
    as_data_array,
    axes_of,
    dimensions,
    is_grid,
    is_of_xarray,
    lattice_of,
    point_rows,
)
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import LOST, NONE, Labeller
from geodomain.labelling.settings import ArrayKeywords, LabelSettings
from geodomain.labelling.sharer import measure_blocks
from geodomain.labelling.warnings import warn_of_blocks
from geodomain.mesh.mesh import Mesh
from geodomain.query.contains import as_solids, first_codes
from geodomain.query.locator import PointLocator
from geodomain.settings import BackendName, Rule, read_keywords, with_keywords
from geodomain.tables.conditions import ArrayColumn, Column
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import NumberKeywords
from geodomain.tables.vendors import plain_name

if TYPE_CHECKING:
    import pyvista
    import xarray

    from geodomain.compute.device_arrays import DeviceArray
    from geodomain.inputs import ArrayT, CoordinateT, Dimensioned, Gridded

# Points labelled at a time, because labelling needs several arrays of that length.
_PART = 1 << 18


@with_keywords(LabelSettings, ArrayKeywords, numbers=NumberKeywords)
def label_points(
    points: PointsLike | LatticePoints,
    domains: DomainsLike,
    *,
    columns: Mapping[str, ArrayLike] | None = None,
    **keywords: Unpack[ArrayKeywords],
) -> NDArray[np.str_]:
    """Return the name of the domain of each point.

    Parameters
    ----------
    points : array_like of shape (n, 3), or points-like
        Coordinates x, y, z, in the unit of the meshes, as in `geodomain.contains`.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        By default the first domain that contains a point labels it; see `Domain`, `Stack`,
        `read_domains`, and `model_domains` for models of LoopStructural and GemPy. A mapping gives
        each name a mesh-like (see `as_mesh`) or a PointLocator, or several of these as a union.
    columns : mapping of str to array_like of shape (n,)
        Columns that conditions use.
    **settings
    **numbers
        ``missing``, ``below_detection`` and ``detection_limit``, as for `label_file`, for
        columns that conditions compare with numbers.

    Returns
    -------
    numpy.ndarray of str, shape (n,)

    Raises
    ------
    DomainError
        If `columns` lacks a column that a condition needs, or a name has no mesh.
    TableError
        If a column that is compared with numbers contains texts that are not numbers.
    MeshError, PointError
        As in `geodomain.contains`.

    Examples
    --------
    >>> import geodomain
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_points([[1, 1, 1], [9, 9, 9]], {"ORE": ore}, background="WASTE")
    array(['ORE', 'WASTE'], dtype='<U5')
    """
    options = options_among(keywords)
    settings = read_keywords(LabelSettings, keywords, ArrayKeywords)
    if isinstance(domains, Mapping) and settings.rule == "parity" and not columns:
        names, codes = _codes_by_names(points, domains, settings)
        listed = Domains()
    else:
        listed = as_domains(domains)
        lattice = lattice_of(points)
        where = as_rows(point_rows(points), "points") if lattice is None else lattice
        names = [target.name for target in listed.targets]
        codes = codes_by_domains(
            where,
            listed,
            partial(passed_column, columns or {}, len(where), options),
            None,
            settings,
        )
    rest, lost = rest_labels(listed, names, settings)
    labels: NDArray[np.str_] = np.array([*names, rest, lost, lost, lost])[codes]
    return labels


def _codes_by_names(
    points: PointsLike | LatticePoints,
    domains: Mapping[str, MeshesLike | PointLocator | Iterable[MeshLike | PointLocator]],
    settings: LabelSettings,
) -> tuple[list[str], NDArray[np.intp]]:
    """Label points by named unions of meshes.

    Return the names, and the code of each point's label as in `Verdict`.
    """
    meshes: list[Mesh | PointLocator] = []
    owners: list[int] = []
    for owner, (name, union) in enumerate(domains.items()):
        require_name(name)
        parts = as_solids(union, name)
        if not parts:
            message = f"{name} has no mesh: give at least one"
            raise DomainError(message)
        meshes.extend(parts)
        owners.extend([owner] * len(parts))
    codes = first_codes(
        points,
        meshes,
        backend=settings.backend,
        threads=settings.threads,
        allow_open=settings.allow_open,
    )
    # Names are a NumPy array in host memory, even if the points are on a GPU.
    held = cast("DeviceArray", codes).get().astype(np.intp) if is_on_device(codes) else codes
    # Codes -2 and -1 index from the end of the table.
    table = np.array([*owners, len(domains) + LOST, len(domains) + NONE])
    return list(domains), table[held]


def codes_by_domains(
    points: NDArray[np.float64] | LatticePoints,
    domains: Domains,
    column: Callable[[str], Column],
    labelled: NDArray[np.bool_] | None,
    settings: LabelSettings,
    index: Labeller | None = None,
) -> NDArray[np.intp]:
    """Return the code of each point's label, as in `Verdict`, computed in batches.

    If all domains are closed solids without conditions and no `index` is given, one pass of the
    compiled core finds all codes.

    Parameters
    ----------
    points : (n, 3) float64 or LatticePoints
        The points.
    domains : Domains
        The domains.
    column : callable
        Returns a column that conditions use, by name.
    labelled : (n,) bool, optional
        Points that already have a label; see `Labeller.label`.
    settings : LabelSettings
        Settings of the labelling.
    index : Labeller, optional
        Existing index of the same domains. If it is given, the points are only a part of the model.
    """
    plain = settings.rule == "parity" and all(map(_is_plain, domains)) and not domains.stacks
    if index is None and plain and labelled is None:
        return _codes_of_solids(points, domains, settings)
    rows_of = points.rows if isinstance(points, LatticePoints) else points
    labeller = index or Labeller(domains, settings)
    allowed = allowed_rows(domains, column, every=index is None)
    codes = np.empty(len(points), np.intp)
    for begin in range(0, len(points), _PART):
        rows = slice(begin, begin + _PART)
        some = allowed and [None if mask is None else mask[rows] for mask in allowed]
        marked = None if labelled is None else labelled[rows]
        codes[rows] = labeller.label(rows_of[rows], some, marked).codes
    return codes


def _codes_of_solids(
    points: NDArray[np.float64] | LatticePoints,
    domains: Domains,
    settings: LabelSettings,
) -> NDArray[np.intp]:
    """Return the code of each point's label; all domains are closed solids without conditions."""
    ranked = list(enumerate(domains))
    if domains.order == "last":
        # Domains with `keep` rank after the existing labels; all other domains rank before them.
        last = [pair for pair in ranked if pair[1].keep]
        ranked = [pair for pair in ranked[::-1] if not pair[1].keep] + last
    names = {str(index): domain.placed for index, domain in ranked}
    _, codes = _codes_by_names(points, names, settings)
    count = len(ranked)
    places = np.array([*(index for index, _ in ranked), count + NONE, count + LOST], np.intp)
    return places[codes]


def _is_plain(domain: Domain) -> bool:
    """Return whether a domain is a closed solid without conditions or other options."""
    bare = domain.is_solid and not domain.only_if
    return bare and domain.rule != "winding" and all(mesh.is_closed for mesh in domain.placed)


def passed_column(
    columns: Mapping[str, ArrayLike], count: int, options: TableOptions, name: str
) -> Column:
    """Return a column that the caller gave; raise an error if it is missing or of wrong length."""
    places = [plain_name(title) for title in columns]
    if plain_name(name) not in places:
        message = (
            f"a condition uses the column {name!r}: give it with columns={{{name!r}: ...}}, or as "
            "an array of the grid's cells"
        )
        raise DomainError(message)
    own, values = list(columns.items())[places.index(plain_name(name))]
    rule = options.number_rule([*columns], "").of(own)
    column = ArrayColumn(values, name, rule._replace(name=name))
    if len(column.present()) != count:
        message = (
            f"column {name!r} has {counted(len(column.present()), 'row')}, but there are "
            f"{counted(count, 'point')}"
        )
        raise ValueError(message)
    return column


# --- Labels for PyVista grids and for lattices of centroids, xarray's included.


@overload
def label_grid(
    grid: pyvista.DataSet,
    domains: DomainsLike,
    *,
    by: LabelBy | None = ...,
    lines: int | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> NDArray[np.str_]: ...
@overload
def label_grid(
    grid: Gridded[ArrayT],
    domains: DomainsLike,
    *,
    by: LabelBy | None = ...,
    lines: int | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> ArrayT: ...
@with_keywords(LabelSettings, ArrayKeywords, numbers=NumberKeywords)
def label_grid(
    grid: pyvista.DataSet | Gridded[ArrayT],
    domains: DomainsLike,
    *,
    by: LabelBy | None = None,
    lines: int | None = None,
    **keywords: Unpack[ArrayKeywords],
) -> NDArray[np.str_] | ArrayT:
    """Return the name of the domain of each cell of a grid, by its centre or its volume.

    Whole columns of cells are labelled at once if all domains are closed solids with the parity
    rule and without conditions, and the grid is an ImageData or RectilinearGrid without rotation.
    This is much faster and gives the same labels.

    Parameters
    ----------
    grid : pyvista.ImageData, RectilinearGrid, StructuredGrid or UnstructuredGrid
        The block model, in the unit of the meshes. Unstructured cells are voxels or hexahedra.
        Conditions use the cell data. The grid may also be an xarray.DataArray or Dataset whose
        coordinates are named like columns of centroids, such as x, y and z. Conditions then use
        the DataArray under its own name, or the variables of the Dataset.
    by, lines : optional
        As for `label_file`. "majority" labels a cell of a PyVista grid by the domain that contains
        most of the cell.
    domains, **numbers
        As in `label_points`.
    **settings

    Returns
    -------
    numpy.ndarray of str, shape (n_cells,)
        In the order of the cells, ready for ``grid.cell_data["domain"]``. The centre of a cell
        is (low + high) / 2 in float64 along each axis. The centre of a hexahedron that is not a
        box is the mean of its corners.
    xarray.DataArray of str
        For a grid of xarray: the same result as from `label_lattice`, with the dimensions in the
        grid's order.

    Raises
    ------
    TypeError
        If `grid` has another type.
    TableError
        If a grid is flat, cells are not blocks, or coordinates are not recognised.
    ValueError
        If `by` is "majority" and the grid is of xarray, because its blocks have no sizes.
    DomainError, MeshError, PointError
        As in `label_points`.

    Examples
    --------
    >>> import geodomain, pyvista
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = ([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> grid = pyvista.ImageData(dimensions=(3, 2, 2), spacing=(2, 2, 2))
    >>> geodomain.label_grid(grid, {"ORE": ore}, background="WASTE").tolist()
    ['ORE', 'WASTE']
    """
    if not is_grid(grid) and not is_of_xarray(grid):
        message = (
            "a grid must be a pyvista ImageData, RectilinearGrid, StructuredGrid or "
            "UnstructuredGrid, or an xarray DataArray or Dataset, "
            f"not {type(grid).__name__}"
        )
        raise TypeError(message)
    # Domains given as a mapping have no conditions, and may be locators.
    resolved = domains if isinstance(domains, Mapping) else as_domains(domains)
    listed = resolved if isinstance(resolved, Domains) else Domains()
    settings = read_keywords(LabelSettings, keywords, ArrayKeywords)
    settings = dataclasses.replace(settings, by=by, lines=lines).over(listed)
    if is_of_xarray(grid):
        if settings.by == "majority":
            message = (
                "by='majority' needs the sizes of blocks, which xarray arrays do not have: "
                "label a pyvista.ImageData or RectilinearGrid, or a table with sizes"
            )
            raise ValueError(message)
        return label_lattice(cast("Gridded[ArrayT]", grid), resolved, **keywords)
    grid = cast("pyvista.DataSet", grid)
    if settings.by == "majority":
        ordered = as_domains(domains)
        codes = _largest(grid, ordered, settings, options_among(keywords))
        names = [target.name for target in ordered.targets]
        rest, lost = rest_labels(ordered, names, settings)
        labels: NDArray[np.str_] = np.array([*names, rest, lost, lost, lost])[codes]
        return labels
    return label_points(
        grid,
        resolved,
        columns=None if isinstance(resolved, Mapping) else dict(grid.cell_data.items()),
        **keywords,
    )


def _largest(
    grid: pyvista.DataSet,
    domains: Domains,
    settings: LabelSettings,
    options: TableOptions,
) -> NDArray[np.intp]:
    """Return, for each cell, the code of the label with the largest proportion."""
    return _measured(grid, domains, settings, options)[1]


def _measured(
    grid: pyvista.DataSet,
    domains: Domains,
    settings: LabelSettings,
    options: TableOptions,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the share of each cell in each domain, (k, n), and the code of its label, (n,)."""
    cells = cells_of(grid, "the grid")
    points, sizes = np.empty((2, cells.count, 3))
    for where, centres, lengths in cells.chunks():
        points[where], sizes[where] = centres, lengths
    column = partial(passed_column, dict(grid.cell_data.items()), cells.count, options)
    shares, codes = measure_blocks(
        points,
        sizes,
        cells.axes,
        domains,
        settings,
        column,
        None,
        name="the grid",
        known_axes=True,
    )
    if settings.proportions is not None:
        warn_of_blocks(points, sizes, domains, settings, whole=True, reach=True, axes=cells.axes)
    return shares, codes


def proportions_grid(
    grid: pyvista.DataSet,
    domains: DomainsLike,
    *,
    proportions: Proportions | None = None,
    percent: bool | None = None,
    lines: int | None = None,
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    **numbers: Unpack[NumberKeywords],
) -> dict[str, NDArray[np.float64]]:
    """Return the share of each cell of a PyVista grid in each domain.

    Keywords and names are those of `proportions_blocks`: ``prop_<name>`` or ``pct_<name>``.
    """
    listed = as_domains(domains)
    settings = LabelSettings(
        proportions=proportions or listed.proportions or listed.usual_proportions,
        percent=percent, by="centroid", lines=lines, rule=rule, backend=backend, threads=threads,
    ).over(listed)  # fmt: skip
    shares, _ = _measured(grid, listed, settings, options_among(numbers))
    names = [settings.share_column(target.name) for target in listed.targets]
    return dict(zip(names, shares, strict=True))


@overload
def label_lattice(
    grid: pyvista.DataSet, domains: DomainsLike, /, **keywords: Unpack[ArrayKeywords]
) -> NDArray[np.str_]: ...
@overload
def label_lattice(
    grid: Gridded[ArrayT], domains: DomainsLike, /, **keywords: Unpack[ArrayKeywords]
) -> ArrayT: ...
@overload
def label_lattice(
    x: CoordinateT,
    y: CoordinateT,
    z: CoordinateT,
    domains: DomainsLike,
    *,
    like: Dimensioned | None = ...,
    columns: Mapping[str, ArrayLike] | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> CoordinateT: ...
@overload
def label_lattice(
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    domains: DomainsLike,
    *,
    like: None = ...,
    columns: Mapping[str, ArrayLike] | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> NDArray[np.str_]: ...
@with_keywords(LabelSettings, ArrayKeywords, numbers=NumberKeywords)
def label_lattice(
    x: ArrayLike | Dimensioned | pyvista.DataSet | Gridded[ArrayT],
    y: ArrayLike | Dimensioned | DomainsLike,
    z: ArrayLike | Dimensioned | None = None,
    domains: DomainsLike | None = None,
    *,
    like: Dimensioned | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    **keywords: Unpack[ArrayKeywords],
) -> NDArray[np.str_] | Dimensioned | ArrayT:
    """Return the name of the domain of each block of a lattice.

    If all domains are closed solids with the parity rule and without conditions, whole columns of
    blocks are labelled at once. This is much faster than `label_points` and gives the same labels.

    Parameters
    ----------
    x, y, z : array_like of shape (nx,), (ny,), (nz,), or xarray.DataArray of one dimension
        The centroids' coordinates along each axis, in any order, in the unit of the meshes.
        Coordinates of xarray have three different dimensions: ``data.x, data.y, data.z``.
        Instead of x, y and z a grid may be given, ``label_lattice(grid, domains)``: an
        xarray.DataArray or Dataset, or a pyvista.ImageData or RectilinearGrid, as for `label_grid`.
    domains, **numbers
        As in `label_points`.
    **settings
    like : xarray.DataArray or Dataset, optional
        The array to which x, y and z belong. The result has the same order of dimensions as this
        array, such as (z, x, y). Without `like` the order is x, y, z.
    columns : mapping of str to array_like of shape (nx, ny, nz), optional
        Columns that conditions use; an xarray.DataArray may have any order of dimensions.

    Returns
    -------
    numpy.ndarray of str, shape (nx, ny, nz)
        For arrays.
    xarray.DataArray of str
        For coordinates of xarray: an array named ``domain`` with these coordinates and the
        dimensions of x, y and z, in the order x, y, z or in the order of `like`. From a grid or
        `like` it also has all other coordinates that belong to these dimensions or to none, such
        as ``spatial_ref``, and the ``grid_mapping`` of the CF conventions.

    Raises
    ------
    TypeError
        If only some of x, y and z are coordinates of xarray, or a grid is not a lattice.
    TableError
        For a grid of xarray whose coordinates are not recognised, or are in degrees.
    ValueError
        If a coordinate has several dimensions, if two coordinates share a dimension, or if the
        coordinates do not match `like`.
    DomainError, MeshError, PointError
        As in `label_points`.

    Examples
    --------
    >>> import geodomain
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = ([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_lattice([1, 3], [1], [0.5, 1], {"ORE": ore}, background="WASTE").tolist()
    [[['ORE', 'ORE']], [['WASTE', 'WASTE']]]
    """
    if z is None or domains is None:
        if z is not None or domains is not None:
            message = "label_lattice takes x, y, z and domains, or a grid and domains"
            raise TypeError(message)
        domains = y if isinstance(y, Mapping) else as_domains(cast("DomainsLike", y))
        (x, y, z), own, variables = axes_of(x)
        like = own if like is None else like
        if columns is None and not isinstance(domains, Mapping):  # a mapping has no conditions
            used = {plain_name(each.column) for _, some in domains.conditions for each in some}
            columns = {name: each for name, each in variables.items() if plain_name(name) in used}
    along = cast("Sequence[ArrayLike | Dimensioned]", (x, y, z))
    dims = dimensions(along, like)
    axes = [as_doubles(np.asarray(axis), name) for name, axis in zip("xyz", along, strict=True)]
    lattice = LatticePoints((axes[0], axes[1], axes[2]))
    labels = label_points(
        lattice,
        domains,
        columns={name: _in_cell_order(values, dims) for name, values in (columns or {}).items()},
        **keywords,
    )
    nx, ny, nz = map(len, axes)
    shaped = np.ascontiguousarray(labels.reshape(nz, ny, nx).transpose(2, 1, 0))
    if dims is None:
        return shaped
    coordinates = cast("Sequence[xarray.DataArray]", (x, y, z))
    return cast("ArrayT", as_data_array(shaped, "domain", coordinates, dims, like))


def _in_cell_order(values: ArrayLike, dims: list[Hashable] | None) -> ArrayLike:
    """Return a column of shape (nx, ny, nz) as a flat array, with x changing fastest."""
    if dims is not None and hasattr(values, "dims"):
        values = cast("xarray.DataArray", values).transpose(*dims)
    array = np.asarray(values)
    if array.ndim != 3:
        message = f"a column of a lattice must have shape (nx, ny, nz), not {array.shape}"
        raise ValueError(message)
    return array.transpose(2, 1, 0).reshape(-1)
