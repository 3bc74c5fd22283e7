"""Domains for a command, from a list of solids or a TOML file, and the files they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from geodomain.domain_file import read_domains
from geodomain.mesh import Mesh
from geodomain.ordering import Domains
from geodomain.solids import Weld, read_solid, read_solids


@dataclass(frozen=True)
class DomainSource:
    """Domains, every file that was read for them, and what welding changed."""

    domains: Domains
    files: tuple[Path, ...]
    welds: tuple[Weld, ...]


def from_solids(named: Sequence[tuple[str, str]], *, weld: float | None = None) -> DomainSource:
    """Read named solids; see `geodomain.solids.read_solids`."""
    solids, welds = read_solids(named, weld=weld)
    files = dict.fromkeys(Path(path) for _, path in named)
    return DomainSource(Domains(solids), tuple(files), welds)


def from_file(path: Path, *, weld: float | None = None) -> DomainSource:
    """Read a TOML file and its meshes; see `geodomain.read_domains`."""
    files, welds = [path], list[Weld]()

    def read(place: Path) -> Mesh:
        mesh, welded = read_solid(place, weld=weld)
        files.append(place)
        welds.extend(welded)
        return mesh

    domains = read_domains(path, read=read)
    return DomainSource(domains, tuple(files), tuple(welds))
