"""Which of several domains each point belongs to; for solids, one pass over the points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_rows, is_on_device
from geodomain.domains.domain import Domain, refuse_nan
from geodomain.domains.order import Domains, DomainsLike, allowed_rows, as_domains
from geodomain.errors import DomainError, counted
from geodomain.inputs.kinds import MeshesLike, MeshLike, PointsLike
from geodomain.inputs.points import LatticePoints, lattice_of, point_rows
from geodomain.io.conditions import ArrayColumn, Column
from geodomain.io.header.families import plain_name
from geodomain.io.header.keywords import NumberKeywords, table_options
from geodomain.io.header.options import TableOptions
from geodomain.labelling.cells import rest_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.verdict import LOST, NONE
from geodomain.mesh.mesh import Mesh
from geodomain.query.first_solid import as_solids, first_codes
from geodomain.query.locator import PointLocator, Rule

if TYPE_CHECKING:
    from geodomain.backends.device_arrays import DeviceArray

# Points that are labelled at a time, where several arrays as long are needed.
_PART = 1 << 18


def label_points(
    points: PointsLike | LatticePoints,
    domains: DomainsLike,
    *,
    background: str | None = None,
    unassigned: str | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
    **numbers: Unpack[NumberKeywords],
) -> NDArray[np.str_]:
    """Return the name of the domain that each point is labelled with.

    Parameters
    ----------
    points : array_like of shape (n, 3), or points-like
        Coordinates x, y, z, in the unit of the meshes, as in `geodomain.contains`.
    domains : Domains, sequence of Domain and Stack, or mapping of str to meshes
        In their order: the first that contains a point wins, if nothing else is said; see
        `Domain`, `Stack`, `read_domains`. In a mapping each name stands for a mesh-like (as for
        `as_mesh`), a PointLocator or several, a union.
    background : str, optional
        The label of points in no domain; that of `domains`, or empty, if not given.
    unassigned : str, optional
        The label of points that are not finite, or that a domain has no answer for:
        beyond a surface, above or below a hole; chosen as `background` is.
    columns : mapping of str to array_like of shape (n,)
        What conditions are about.
    rule, backend, threads, allow_open
        As in `geodomain.contains`.
    **numbers
        ``missing``, ``below_detection`` and ``detection_limit``, as for `label_file`: how columns
        of conditions are read where they are compared with numbers.

    Returns
    -------
    numpy.ndarray of str, shape (n,)

    Raises
    ------
    DomainError
        For conditions on columns that are not given, and a name without a mesh.
    TableError
        For a column that is compared with numbers and has other texts.
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
    options = table_options(**numbers)
    if isinstance(domains, Mapping) and rule == "parity" and not columns:
        names, codes = _codes_by_names(points, domains, backend, threads, allow_open)
        given = Domains()
    else:
        given = as_domains(domains)
        lattice = lattice_of(points)
        where = as_rows(point_rows(points), "points") if lattice is None else lattice
        names = [target.name for target in given.targets]
        codes = codes_by_domains(
            where,
            given,
            partial(given_column, columns or {}, len(where), options),
            None,
            rule=rule,
            backend=backend,
            threads=threads,
            allow_open=allow_open,
        )
    rest, lost = rest_labels(given, names, background, unassigned)
    labels: NDArray[np.str_] = np.array([*names, rest, lost, lost, lost])[codes]
    return labels


def _codes_by_names(
    points: PointsLike | LatticePoints,
    domains: Mapping[str, MeshesLike | PointLocator | Iterable[MeshLike | PointLocator]],
    backend: str,
    threads: int | None,
    allow_open: bool,
) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of closed unions, and codes as in `Verdict`."""
    meshes: list[Mesh | PointLocator] = []
    owners: list[int] = []
    for owner, (name, union) in enumerate(domains.items()):
        refuse_nan(str(name))
        parts = as_solids(union, name)
        if not parts:
            message = f"{name} has no mesh"
            raise DomainError(message)
        meshes.extend(parts)
        owners.extend([owner] * len(parts))
    codes = first_codes(points, meshes, backend=backend, threads=threads, allow_open=allow_open)
    # Names are NumPy's, in memory, wherever the points are.
    held = cast("DeviceArray", codes).get().astype(np.intp) if is_on_device(codes) else codes
    # Codes -2 and -1 count from the end of the table.
    table = np.array([*owners, len(domains) + LOST, len(domains) + NONE])
    return list(domains), table[held]


def codes_by_domains(
    points: NDArray[np.float64] | LatticePoints,
    domains: Domains,
    column: Callable[[str], Column],
    labelled: NDArray[np.bool_] | None,
    *,
    rule: Rule,
    backend: str,
    threads: int | None,
    allow_open: bool,
    index: Labeller | None = None,
) -> NDArray[np.intp]:
    """Return codes as in `Verdict` for points, computed a part at a time.

    `column` gives the columns of conditions; blocks that are `labelled` are as in `Labeller`. Where
    all domains are closed solids without conditions, one pass of the kernels does all of it, unless
    there is an `index` of them already.
    """
    plain = rule == "parity" and all(map(_is_plain, domains)) and not domains.stacks
    if index is None and plain and labelled is None:
        return _codes_of_solids(points, domains, backend, threads, allow_open)
    rows_of = points.rows if isinstance(points, LatticePoints) else points
    labeller = index
    if labeller is None:
        labeller = Labeller(
            domains, rule=rule, backend=backend, threads=threads, allow_open=allow_open
        )
    allowed = allowed_rows(domains, column)
    codes = np.empty(len(points), np.intp)
    for begin in range(0, len(points), _PART):
        rows = slice(begin, begin + _PART)
        some = allowed and [None if one is None else one[rows] for one in allowed]
        given = None if labelled is None else labelled[rows]
        codes[rows] = labeller.judge(rows_of[rows], some, given).codes
    return codes


def _codes_of_solids(
    points: NDArray[np.float64] | LatticePoints,
    domains: Domains,
    backend: str,
    threads: int | None,
    allow_open: bool,
) -> NDArray[np.intp]:
    """Return the codes where each point gets the first solid that contains it."""
    ranked = list(enumerate(domains))
    if domains.order == "last":
        # One that keeps labels given before it yields to all of those; the others outrank them.
        ranked = [one for one in ranked[::-1] if not one[1].keep] + [o for o in ranked if o[1].keep]
    names = {str(index): domain.meshes for index, domain in ranked}
    _, codes = _codes_by_names(points, names, backend, threads, allow_open)
    count = len(ranked)
    places = np.array([*(index for index, _ in ranked), count + NONE, count + LOST], np.intp)
    return places[codes]


def _is_plain(domain: Domain) -> bool:
    """Return whether a domain is a closed solid without conditions or other options."""
    bare = domain.is_solid and not domain.only_if
    return bare and domain.rule != "winding" and all(mesh.is_closed for mesh in domain.meshes)


def given_column(
    columns: Mapping[str, ArrayLike], count: int, options: TableOptions, name: str
) -> Column:
    """Return a column in memory; raise ValueError for a wrong length."""
    places = [plain_name(known) for known in columns]
    if plain_name(name) not in places:
        message = (
            f"a condition is about the column {name!r}; give it with columns={{{name!r}: ...}}"
        )
        raise DomainError(message)
    own, values = list(columns.items())[places.index(plain_name(name))]
    rule = options.number_rule([*columns], "").of(own)
    column = ArrayColumn(values, name, rule._replace(name=name))
    if len(column.present()) != count:
        message = (
            f"column {name!r} has {counted(len(column.present()), 'row')} for "
            f"{counted(count, 'point')}"
        )
        raise ValueError(message)
    return column
