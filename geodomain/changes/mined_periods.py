"""Read what is mined in each period, the initial ground, a design, and domains."""

from __future__ import annotations

import os
import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from geodomain.changes.cut_and_fill import CutAndFill, cut_and_fill
from geodomain.changes.depletion_report import (
    DESIGN,
    IN_SITU,
    MINED,
    OVERBREAK,
    REMAINING,
    UNDERBREAK,
    Part,
)
from geodomain.changes.mined_shares import Excavation, excavation
from geodomain.checks.columns import is_one_line, require_rest_label
from geodomain.errors import MeshError
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import read_meshes
from geodomain.inputs import MeshesLike, as_meshes, is_mesh_like
from geodomain.mesh import fitness
from geodomain.mesh.mesh import Mesh
from geodomain.settings import BackendName
from geodomain.volumes.tonnage import REST

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
# Names that consist only of parts of a date, with a year or the name of a month, such as 2026-1,
# 202601, 01/2026, Jan-26 or 2026-Q1. Without this check, they would keep the order of the options.
_YEAR = r"(?<!\d)(?:19|20)\d\d(?:(?:0[1-9]|1[0-2])(?:[0-3]\d)?)?(?!\d)"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_OTHER_DATE = re.compile(
    rf"(?=.*(?:{_YEAR}|{_MONTH}.*\d|\d.*{_MONTH}))(?:\d+|[^\w]|_|{_MONTH}|[qhw](?=\d))+",
    re.IGNORECASE,
)


def end_of(name: str) -> date | None:
    """Return the last day of a year, month or day such as 2026-01; None for another text.

    Raises
    ------
    ValueError
        If there is no such day, or if the text is a date in another form, such as 2026-1.

    Examples
    --------
    >>> print(end_of("2026-02"), end_of("2026-02-14"), end_of("stage 1"))
    2026-02-28 2026-02-14 None
    """
    match = _DATE.fullmatch(name)
    if match is None:
        if _OTHER_DATE.fullmatch(name):
            message = (
                f"{name!r} looks like a date, but has another form than 2026, 2026-01 or "
                "2026-01-31, so its order is unknown: write it in one of these forms"
            )
            raise ValueError(message)
        return None
    year, month, day = (None if part is None else int(part) for part in match.groups())
    try:
        last = monthrange(year or 0, month or 12)[1] if day is None else day
        return date(year or 0, month or 12, last)
    except ValueError:
        message = f"{name!r} is not a date: write a year, month or day, such as 2026-01"
        raise ValueError(message) from None


def periods_until(names: Iterable[str], at: str | None) -> list[str]:
    """Return the names of periods in order of time, up to the last period `at`.

    Raises
    ------
    ValueError
        If there is no period, if two have the same column or end on the same day, if only some
        names are dates, or if no period ends by `at`.
    """
    listed = list(names)
    _require_names(listed)
    ends = [end_of(name) for name in listed]
    plain = [name for name, end in zip(listed, ends, strict=True) if end is None]
    if plain and len(plain) < len(listed):
        dated = next(name for name in listed if name not in plain)
        message = (
            f"{dated!r} is a date and {plain[0]!r} is not, so their order is unknown: name all "
            "periods by dates, such as 2026-01, or none"
        )
        raise ValueError(message)
    if plain:
        if at is not None and at not in listed:
            message = f"at= is {at!r}; it must be the name of a period: {', '.join(listed)}"
            raise ValueError(message)
        return listed if at is None else listed[: listed.index(at) + 1]
    ordered = sorted(zip(ends, listed, strict=True), key=lambda pair: pair[0] or date.min)
    for (end, name), (next_end, other) in pairwise(ordered):
        if end == next_end:
            message = (
                f"the periods {name} and {other} end on the same day, so their order is unknown: "
                "rename one of them"
            )
            raise ValueError(message)
    last = None if at is None else end_of(at)
    if at is not None and last is None:
        message = f"at= is {at!r}; it must be a date, such as 2026-01 or 2026-01-31"
        raise ValueError(message)
    chosen = [name for end, name in ordered if last is None or (end and end <= last)]
    if not chosen:
        message = f"at= is {at}, before the end of the first period, {ordered[0][1]}"
        raise ValueError(message)
    return chosen


def _require_names(names: Sequence[str]) -> None:
    """Raise ValueError if there is no name, if a name is invalid, or if two have one column."""
    if not names:
        message = "nothing is mined: give mined=, such as mined={'2026-01': 'pit.dxf'}"
        raise ValueError(message)
    columns: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not is_one_line(name) or not re.search(r"\w", name):
            message = (
                f"a period is called {name!r}; give it a name of one line, with letters or digits"
            )
            raise ValueError(message)
        other = columns.setdefault(share_column(name), name)
        if other != name:
            message = (
                f"the periods {other!r} and {name!r} have the same column, {share_column(name)}: "
                "rename one of them"
            )
            raise ValueError(message)


def share_column(period: str) -> str:
    """Return the name of the column of a period's shares, such as mined_2026_01."""
    return "mined_" + re.sub(r"\W+", "_", period.lower()).strip("_")


class Ground(NamedTuple):
    """The excavations, in the order of time, and the design.

    Attributes
    ----------
    initial : Excavation
        What is gone before the first period; it may be empty.
    periods : sequence of Excavation
        What is mined in each period.
    design : Excavation
        What was to be mined; it may be empty.
    domains : sequence of Excavation
        Wireframes of domains, the first wins; empty if a column has the domains.
    background : str
        The domain of the ground outside these wireframes.
    """

    initial: Excavation
    periods: Sequence[Excavation]
    design: Excavation
    domains: Sequence[Excavation]
    background: str

    @classmethod
    def read(
        cls,
        initial: MeshesLike,
        design: MeshesLike,
        mined: Mapping[str, MeshesLike],
        domains: Mapping[str, MeshesLike],
        background: str,
    ) -> Ground:
        """Read the meshes; raise MeshError if a domain has an open mesh."""
        ore = [excavation(name, _meshes(name, meshes)) for name, meshes in domains.items()]
        for each in ore:
            if each.surfaces:
                fitness.require_fit(each.surfaces[0], allow_open=False, instead="")
        return cls(
            excavation("the initial ground", _meshes("initial", initial, empty=True)),
            [excavation(name, _meshes(name, meshes)) for name, meshes in mined.items()],
            excavation("the design", _meshes("design", design, empty=True)),
            ore,
            background,
        )

    @property
    def has_initial(self) -> bool:
        """Whether some ground is gone before the first period."""
        return bool(self.initial.solids or self.initial.surfaces)

    @property
    def has_design(self) -> bool:
        """Whether there is a design."""
        return bool(self.design.solids or self.design.surfaces)

    @property
    def parts(self) -> list[Part]:
        """The parts of the ground, in the order of the rows."""
        names = [period.name for period in self.periods]
        mined = [Part(MINED, name) for name in names]
        parts = [Part(IN_SITU), *mined, Part(MINED), Part(REMAINING)]
        if self.has_design:
            over = [Part(OVERBREAK, name) for name in names]
            parts += [Part(DESIGN), *over, Part(OVERBREAK), Part(UNDERBREAK)]
        return parts

    @property
    def columns(self) -> list[str]:
        """The columns of shares."""
        columns = [share_column(period.name) for period in self.periods] + [REMAINING]
        columns = ["in_situ", *columns] if self.has_initial else columns
        return [*columns, OVERBREAK, UNDERBREAK] if self.has_design else columns


def _meshes(name: str, meshes: MeshesLike, *, empty: bool = False) -> list[Mesh]:
    """Return the meshes of a period; each solid of a file is a mesh."""
    read: list[Mesh] = []
    for each in _several(meshes):
        if isinstance(each, str | os.PathLike):
            read += read_meshes(each).values()
        else:
            read += as_meshes(each, name=name)
    if not read and not empty:
        message = f"{name} has no mesh: give its solids or surfaces"
        raise ValueError(message)
    return read


def _several(meshes: MeshesLike) -> Sequence[MeshesLike]:
    """Return meshes as a sequence, in which paths are separate."""
    if isinstance(meshes, list | tuple) and not is_mesh_like(meshes):
        return meshes
    return [meshes]


def mesh_files(groups: Iterable[MeshesLike]) -> list[Path]:
    """Return the files among meshes."""
    each = (mesh for group in groups for mesh in _several(group))
    return [split_name(path)[0] for path in each if isinstance(path, str | os.PathLike)]


def refuse_both(
    column: str | None, domains: Mapping[str, MeshesLike] | None, background: str | None
) -> None:
    """Raise ValueError for both a column and meshes of domains, or a background without meshes.

    Raise DomainError for a name that programs would read as another one, or as missing.
    """
    message = ""
    if column is not None and domains:
        message = "column= and domains= both name domains: give one of them"
    elif background is not None and not domains:
        message = "background= needs domains=: it names the ground outside their wireframes"
    elif domains and (background or REST) in domains:
        message = (
            f"domains= has a domain called {background or REST!r}, which is also the name of the "
            "rest of the ground: give the rest another name with background="
        )
    if message:
        raise ValueError(message)
    for name in (*(domains or {}), background or ""):
        require_rest_label(name, "the name of a domain")


# --- Cut and fill between the surfaces.


def cuts_and_fills(
    ground: Ground, backend: BackendName, threads: int | None
) -> tuple[list[CutAndFill], list[str]]:
    """Return cut and fill between each surface and those before it, and notes on failures."""
    measured, notes = [], []
    before: tuple[Mesh, ...] = ground.initial.surfaces
    for period in ground.periods:
        for first, second in product(before, period.surfaces):
            try:
                measured.append(cut_and_fill(first, second, backend=backend, threads=threads))
            except MeshError as error:
                notes.append(f"no cut and fill: {error}")
        before = period.surfaces or before
    return measured, notes
