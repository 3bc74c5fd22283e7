"""Make `Domains` from any source: read, weld and check the meshes, and list the files read.

A source is a mapping of names to meshes or paths (one or several each), a MultiBlock of named
meshes, `Domain` and `Stack` objects, `Domains`, a model of LoopStructural or GemPy, or the path of
a TOML file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from geodomain.domains.domain import Domain
from geodomain.domains.implicit import is_implicit_model, model_domains
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.stack import Stack
from geodomain.domains.toml import read_domains, read_policy
from geodomain.errors import MeshError, warn
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import read_mesh, reading_once
from geodomain.inputs import MeshesLike
from geodomain.mesh.fitness import list_warnings, mark_warned
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.pyvista import is_dataset
from geodomain.mesh.repair import weld as weld_mesh
from geodomain.tables.numbers import BelowDetection

if TYPE_CHECKING:
    import pyvista


@dataclass(frozen=True)
class Weld:
    """The result of welding one mesh; `largest_move` is in the unit of the coordinates."""

    mesh: str
    tolerance: float
    moved: int
    largest_move: float


class DomainSource(NamedTuple):
    """Domains, the files read for them, the changes by welding, and notes for the summary."""

    domains: Domains
    files: tuple[Path, ...]
    welds: tuple[Weld, ...]
    notes: tuple[str, ...] = ()


def as_domains(domains: DomainsLike) -> Domains:
    """Return `Domains` from a TOML file, an implicit model, domains, or names and meshes.

    Raises
    ------
    TypeError
        For any other type.
    DomainError, MeshError, OSError
        As `geodomain.read_domains`, for a path.
    """
    if isinstance(domains, Domains):
        return domains
    if isinstance(domains, Mapping):
        return Domains(tuple(Domain(name, meshes) for name, meshes in domains.items()))
    if is_dataset(domains, "MultiBlock"):
        blocks = cast("pyvista.MultiBlock", domains)
        named = zip(blocks.keys(), blocks, strict=True)
        return Domains(tuple(Domain(str(name), mesh) for name, mesh in named if mesh is not None))
    if isinstance(domains, str | os.PathLike):
        return read_domains(domains)
    if is_implicit_model(domains):
        return model_domains(domains)
    if not isinstance(domains, Domain | Stack | Iterable):
        message = (
            "domains must be a Domains object, a list of Domain and Stack objects, a mapping of "
            "names to meshes, a pyvista.MultiBlock, a model of LoopStructural or GemPy, or the "
            f"path of a TOML file, not {type(domains).__name__}"
        )
        raise TypeError(message)
    units = (domains,) if isinstance(domains, Domain | Stack) else tuple(domains)
    for unit in units:
        if not isinstance(unit, Domain | Stack):
            message = f"a domain must be a geodomain.Domain or Stack, not {type(unit).__name__}"
            raise TypeError(message)
    return Domains(
        tuple(unit for unit in units if isinstance(unit, Domain)),
        tuple(unit for unit in units if isinstance(unit, Stack)),
    )


def domains_to_label(domains: DomainsLike, *, weld: float | None = None) -> DomainSource:
    """Return domains for labelling; each mesh is read and welded once.

    Parameters
    ----------
    domains : mapping, Domains, sequence of Domain and Stack, or path
        A mapping gives each name a mesh or the path of a mesh file, or several of these as a union.
        A path instead of a mapping is a TOML file: see `geodomain.read_domains`.
    weld : float, optional
        In each mesh, join vertices that are at most this far apart.

    Returns
    -------
    DomainSource

    Raises
    ------
    DomainError, MeshError, OSError
        As `geodomain.read_domains` and `geodomain.read_mesh`.

    Warns
    -----
    GeodomainWarning
        If a mesh from a file is usable but unusual: see
        `geodomain.mesh.fitness.list_warnings`.
    """
    welds: list[Weld] = []
    notes: list[str] = []

    def read(path: Path) -> Mesh:
        mesh = prepare(read_mesh(path))
        _require_triangles(mesh, weld)
        # A hole also makes edges look reversed; the labelling reports open meshes itself.
        for warning in list_warnings(mesh) if mesh.is_closed else ():
            warn(warning)
        mark_warned(mesh)
        file, solid = split_name(path)
        if solid is None and mesh.name != file.name:
            notes.append(f"{mesh.name} is read as one mesh; use FILE:NAME for one of its solids")
        return mesh

    def prepare(mesh: Mesh) -> Mesh:
        if weld is None:
            return mesh
        result = weld_mesh(mesh, weld)
        welds.append(Weld(mesh.name, weld, result.moved, result.largest_move))
        return result.mesh

    gathered, files = _gather(domains, read, prepare)
    return DomainSource(gathered, files, tuple(welds), (*notes, *gathered.shifts))


def _require_triangles(mesh: Mesh, tolerance: float | None) -> None:
    """Raise MeshError if a mesh has no triangle with three different corners.

    `tolerance` is the tolerance of welding, or None if the mesh was not welded.
    """
    if mesh.bodies.triangles:
        return
    if tolerance is None:
        message = (
            f"{mesh.name} has no triangle with three different corners; export the wireframe again"
        )
    else:
        message = (
            f"{mesh.name} has no triangle left after welding at {tolerance:g}; choose a smaller "
            "tolerance"
        )
    raise MeshError(message)


def policy_of(domains: DomainsLike | None) -> BelowDetection | None:
    """Return the setting `below_detection` of domains, without reading their meshes."""
    if isinstance(domains, Domains):
        return domains.below_detection
    return read_policy(domains) if isinstance(domains, str | os.PathLike) else None


def domains_to_draw(domains: DomainsLike) -> Domains:
    """Return domains to draw or compare; unlike `domains_to_label`, meshes are not checked."""
    return drawn_source(domains)[0]


def drawn_source(domains: DomainsLike | None) -> tuple[Domains, tuple[Path, ...]]:
    """Return domains to draw, and the files read for them; for None, no domains and no files."""
    return (Domains(), ()) if domains is None else _gather(domains, read_mesh, lambda mesh: mesh)


def _gather(
    source: DomainsLike, read: Callable[[Path], Mesh], prepare: Callable[[Mesh], Mesh]
) -> tuple[Domains, tuple[Path, ...]]:
    """Return domains, and the files that were read for them.

    `read` reads a mesh from a path, and `prepare` is applied to meshes that are not from files.
    """
    meshes: dict[Path, Mesh] = {}

    def read_once(path: str | os.PathLike[str]) -> Mesh:
        key = Path(path)
        if key not in meshes:
            meshes[key] = read(key)
        return meshes[key]

    with reading_once() as cache:
        if isinstance(source, str | os.PathLike):
            domains = read_domains(source, read=read_once)
            files = [Path(source)]
        else:
            if isinstance(source, Mapping):
                source = {name: _read_paths(tiles, read_once) for name, tiles in source.items()}
            domains, files = as_domains(source), []
            prepared = {id(mesh): mesh for mesh in meshes.values()}
            for mesh in domains.meshes:
                if id(mesh) not in prepared:
                    prepared[id(mesh)] = prepare(mesh)
            domains = _with_meshes(domains, prepared)
        cache.clear()
    # FILE:NAME and FILE:OTHER are one file.
    files += dict.fromkeys(split_name(path)[0] for path in meshes)
    return domains, tuple(files)


def _read_paths(tiles: MeshesLike, read: Callable[[str | os.PathLike[str]], Mesh]) -> MeshesLike:
    """Return the meshes of a domain, after reading those that are given as paths."""
    if isinstance(tiles, str | os.PathLike):
        return read(tiles)
    if isinstance(tiles, list | tuple):
        return type(tiles)(
            read(tile) if isinstance(tile, str | os.PathLike) else tile for tile in tiles
        )
    return tiles


def _with_meshes(domains: Domains, meshes: Mapping[int, Mesh]) -> Domains:
    """Return the same domains with other meshes; `meshes` is keyed by the id of the old mesh."""
    if all(id(mesh) == identity for identity, mesh in meshes.items()):
        return domains

    def swap(tiles: Iterable[Mesh]) -> tuple[Mesh, ...]:
        return tuple(meshes[id(mesh)] for mesh in tiles)

    return replace(
        domains,
        domains=tuple(replace(domain, meshes=swap(domain.meshes)) for domain in domains.domains),
        stacks=tuple(
            replace(stack, surfaces=tuple(map(swap, stack.surfaces))) for stack in domains.stacks
        ),
    )
