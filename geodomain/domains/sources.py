"""Domains however a caller has them, files included, and which files they come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from geodomain.domains.domain import Domain, Weld, read_solid, welded
from geodomain.domains.order import Domains, as_domains
from geodomain.domains.stack import Stack
from geodomain.domains.toml import read_domains, read_policy
from geodomain.files.signatures import split_name
from geodomain.formats.wireframes import read_mesh, reading_once
from geodomain.inputs import MeshesLike
from geodomain.mesh.mesh import Mesh
from geodomain.tables.numbers import BelowDetection

# A mapping of names to meshes or paths, one or several each; Domain and Stack objects; Domains;
# the path of a TOML file.
DomainsGiven = (
    str
    | os.PathLike[str]
    | Domains
    | Domain
    | Stack
    | Iterable[Domain | Stack]
    | Mapping[str, MeshesLike]
)


class DomainSource(NamedTuple):
    """Domains, every file that was read for them, what welding changed, and what files held."""

    domains: Domains
    files: tuple[Path, ...]
    welds: tuple[Weld, ...]
    notes: tuple[str, ...] = ()


def domains_to_label(given: DomainsGiven, *, weld: float | None = None) -> DomainSource:
    """Return domains to label with; their meshes are read and welded once each.

    Parameters
    ----------
    given : mapping, Domains, sequence of Domain and Stack, or path
        A mapping has a mesh or its path for each name, or several for a union. A path names a
        TOML file: see `geodomain.read_domains`.
    weld : float, optional
        Join vertices of a mesh that are at most this far apart.

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
        As `geodomain.domains.domain.read_solid`, for meshes that are read.
    """
    welds: list[Weld] = []
    notes: list[str] = []

    def read(path: Path) -> Mesh:
        mesh, changed = read_solid(path, weld=weld)
        notes.extend(_note_of_several(path, mesh))
        welds.extend(changed)
        return mesh

    def keep(mesh: Mesh) -> Mesh:
        mesh, changed = welded(mesh, weld)
        welds.extend(changed)
        return mesh

    domains, files = _gathered(given, read, keep)
    return DomainSource(domains, files, tuple(welds), tuple(notes))


def _note_of_several(path: Path, mesh: Mesh) -> Iterator[str]:
    """Say which solids were read as one, where a file held several and the path names none."""
    file, wanted = split_name(path)
    if wanted is None and mesh.name != file.name:
        yield f"{mesh.name} is taken as one mesh; FILE:NAME is one of its solids"


def policy_of(given: DomainsGiven | None) -> BelowDetection | None:
    """Return what domains say of values below detection; no mesh is read for it."""
    if isinstance(given, Domains):
        return given.below_detection
    return read_policy(given) if isinstance(given, str | os.PathLike) else None


def domains_to_draw(given: DomainsGiven) -> Domains:
    """Return domains with meshes of any kind, to draw or compare; see `domains_to_label`."""
    return _gathered(given, read_mesh, lambda mesh: mesh)[0]


def drawn_source(given: DomainsGiven | None) -> tuple[Domains, tuple[Path, ...]]:
    """Return domains to draw, none if none are given, and every file that was read for them."""
    return (Domains(), ()) if given is None else _gathered(given, read_mesh, lambda mesh: mesh)


def _gathered(
    given: DomainsGiven, read: Callable[[Path], Mesh], keep: Callable[[Mesh], Mesh]
) -> tuple[Domains, tuple[Path, ...]]:
    """Return domains and the files that they come from; meshes that are there go through `keep`."""
    with reading_once() as kept:
        gathered = _gather(given, read, keep)
        kept.clear()
    return gathered


def _gather(
    given: DomainsGiven, read: Callable[[Path], Mesh], keep: Callable[[Mesh], Mesh]
) -> tuple[Domains, tuple[Path, ...]]:
    """Return what `_gathered` does, with each path read once."""
    once: dict[Path, Mesh] = {}

    def read_once(path: str | os.PathLike[str]) -> Mesh:
        place = Path(path)
        if place not in once:
            once[place] = read(place)
        return once[place]

    if isinstance(given, str | os.PathLike):
        domains = read_domains(given, read=read_once)
        return domains, (Path(given), *_files(once))
    if isinstance(given, Mapping):
        given = {name: _with_files_read(meshes, read_once) for name, meshes in given.items()}
    there = as_domains(given)
    done = {id(mesh): mesh for mesh in once.values()}
    done |= {id(mesh): keep(mesh) for mesh in there.meshes if id(mesh) not in done}
    return _of_other_meshes(there, done), _files(once)


def _files(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files of places, of which several may be solids of one: FILE:NAME."""
    return tuple(dict.fromkeys(split_name(place)[0] for place in places))


def _with_files_read(
    given: MeshesLike, read: Callable[[str | os.PathLike[str]], Mesh]
) -> MeshesLike:
    """Return what a name stands for with each path replaced by its mesh."""
    if isinstance(given, str | os.PathLike):
        return read(given)
    if isinstance(given, list | tuple):
        return type(given)(
            read(one) if isinstance(one, str | os.PathLike) else one for one in given
        )
    return given


def _of_other_meshes(domains: Domains, other: Mapping[int, Mesh]) -> Domains:
    """Return the same domains of other meshes, which are found by the identity of the first."""
    if all(id(mesh) == key for key, mesh in other.items()):
        return domains

    def tiles(meshes: Iterable[Mesh]) -> tuple[Mesh, ...]:
        return tuple(other[id(mesh)] for mesh in meshes)

    return replace(
        domains,
        domains=tuple(replace(one, meshes=tiles(one.meshes)) for one in domains.domains),
        stacks=tuple(
            replace(one, surfaces=tuple(map(tiles, one.surfaces))) for one in domains.stacks
        ),
    )
