"""Compare two lists of domains: what changed, and whether it changes labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geodomain.changes.wireframe_differences import (
    WireframeDifference,
    have_same_meshes,
    wireframe_difference,
)
from geodomain.compute.data import Floats
from geodomain.domains.domain import Domain, box_of
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import drawn_source
from geodomain.domains.stack import Stack
from geodomain.errors import counted, in_lines, shown
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import ResultColumns, html_table, records_columns, records_frame

if TYPE_CHECKING:
    import pandas

_CODE_KEYS = ("code", "codes", "background_code", "unassigned_code")
_OUTPUT_KEYS = ("proportions", "percent", "lines")


@dataclass(frozen=True)
class DomainChange:
    """One change between two lists of domains.

    Attributes
    ----------
    domain : str
        The domain or the stack; empty for settings of the whole list.
    key : str
        What changed: a key of `domains.toml`, or "added", "removed", "priority". The key "name"
        means that the domain was renamed, and is otherwise the same.
    old, new : str
        The two values; empty if there is none.
    effect : {"labels", "codes", "shares", "pictures", "nothing"}
        What the change can alter in a labelled model.
    sentence : str
        The change in words.
    """

    domain: str
    key: str
    old: str
    new: str
    effect: str
    sentence: str


@dataclass(frozen=True, repr=False)
class DomainsDifference:
    """The difference between two lists of domains; ``print`` it for a list of sentences.

    Attributes
    ----------
    old, new : str
        Names of the two lists.
    changes : tuple of DomainChange
        The changes: settings of the list, domains added and removed, priority, and then the keys
        and meshes of each domain.
    wireframes : tuple of WireframeDifference
        The meshes that are in both lists and changed.
    """

    old: str
    new: str
    changes: tuple[DomainChange, ...]
    wireframes: tuple[WireframeDifference, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether both lists give the same labels to all blocks."""
        return not any(change.effect == "labels" for change in self.changes)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        wireframes = [each.as_dict() for each in self.wireframes]
        return asdict(self) | {"kind": "domains", "same": self.is_same, "wireframes": wireframes}

    def columns(self) -> ResultColumns:
        """Return the columns of the table of changes."""
        return records_columns(DomainChange, self.changes)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each change."""
        return records_frame(DomainChange, self.changes)

    @property
    def sentence(self) -> str:
        """The number of changes in one sentence."""
        labels = sum(change.effect == "labels" for change in self.changes)
        if not self.changes:
            return f"{self.old} and {self.new} list the same domains"
        return f"{counted(len(self.changes), 'change')} from {self.old} to {self.new}; " + (
            f"{labels:,} can change labels" if labels else "no label changes"
        )

    def __str__(self) -> str:
        """Return a line for each change."""
        return in_lines([self.sentence, *(f"  {each.sentence}" for each in self.changes)])

    def __repr__(self) -> str:
        """Return the number of changes."""
        return f"<DomainsDifference: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        _, rows = self.table()
        return html_table("Domains", rows, notes=[self.sentence])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return a tuple: the headings, and the cells of a row for each change."""
        headings = ["domain", "key", "can change", "what changed"]
        return headings, [
            [each.domain or "(list)", each.key, each.effect, each.sentence] for each in self.changes
        ]


def domains_difference(old: DomainsLike, new: DomainsLike) -> DomainsDifference:
    """Compare two lists of domains, and report which changes can alter labels.

    Parameters
    ----------
    old, new : path, Domains, sequence of Domain and Stack, or mapping
        As for `label_points`.

    Returns
    -------
    DomainsDifference

    Raises
    ------
    DomainError, MeshError, OSError
        As `geodomain.read_domains` and `geodomain.read_mesh`.
    """
    (old_list, _), (new_list, _) = drawn_source(old), drawn_source(new)
    before, after = _ranked(old_list), _ranked(new_list)
    renamed = _renamed(before, after)
    old_names = {name: unit for unit, name in renamed.items()}
    after = {old_names.get(name, name): unit for name, unit in after.items()}
    meshes: list[WireframeDifference] = []
    changes = [
        *_settings(old_list, new_list),
        *_presence(before, after, renamed),
        *_priority(before, after),
        *_units(before, after, meshes),
    ]
    return DomainsDifference(
        _name_of(old, "the old list"), _name_of(new, "the new list"), tuple(changes), tuple(meshes)
    )


def _name_of(source: object, usual: str) -> str:
    """Return the name of a file, or `usual` for domains in memory."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else usual


def _effect(key: str, *, hashed: bool) -> str:
    """Return what a change of a key can alter."""
    if key in _CODE_KEYS:
        return "codes"
    if key in _OUTPUT_KEYS:
        return "shares"
    return "labels" if hashed else "pictures"


def _value(value: object) -> str:
    """Return the value of a key as text."""
    if isinstance(value, tuple):
        word = ", " if value and isinstance(value[0], float) else " and "
        return word.join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _keys(old: object, new: object, name: str, without: Sequence[str]) -> Iterator[DomainChange]:
    """Yield a change for each key that differs between two domains, stacks or lists."""
    for entry in fields(old):  # type: ignore[arg-type]
        if entry.name in without:
            continue
        values = getattr(old, entry.name), getattr(new, entry.name)
        if values[0] == values[1]:
            continue
        before, after = map(_value, values)
        word = entry.metadata["name"] or entry.name
        sentence = (
            f"{name + ': ' if name else ''}{word} was {shown(before) if before else 'not set'}, "
            f"and is {shown(after) if after else 'not set'} now"
        )
        effect = _effect(entry.name, hashed=entry.metadata["hashed"])
        yield DomainChange(name, word, before, after, effect, sentence)


def _settings(old: Domains, new: Domains) -> Iterator[DomainChange]:
    """Yield the changes of settings of the whole list."""
    yield from _keys(old, new, "", ("domains", "stacks", "order"))


class _Unit(NamedTuple):
    """A domain or a stack, with its name in messages and its rank by priority, from 1."""

    name: str
    rank: int
    thing: Domain | Stack


def by_priority(domains: Domains) -> list[Domain | Stack]:
    """Return domains and stacks in the order of priority: the first that contains a block wins.

    Stacks follow the domains, because they label the blocks that are in no domain.
    """
    units, stacks = list(domains.domains), list(domains.stacks)
    if domains.order == "last":
        last = [domain for domain in units if not domain.keep]
        return [*reversed(last), *reversed(stacks), *(each for each in units if each.keep)]
    return [*units, *stacks]


def _ranked(domains: Domains) -> dict[str, _Unit]:
    """Return the domains and stacks by name, in the order of priority."""
    named = [(name_of_unit(thing), thing) for thing in by_priority(domains)]
    return {name: _Unit(name, rank, thing) for rank, (name, thing) in enumerate(named, 1)}


def name_of_unit(thing: Domain | Stack) -> str:
    """Return the name of a domain, or the title of a stack."""
    return thing.name if isinstance(thing, Domain) else thing.title


def _renamed(before: dict[str, _Unit], after: dict[str, _Unit]) -> dict[str, str]:
    """Return the new name of each domain and stack that was renamed and has the same meshes."""
    come = {name: unit for name, unit in after.items() if name not in before}
    renamed: dict[str, str] = {}
    for name, unit in before.items():
        if name not in after:
            same = (each for each in come.values() if _is_renamed(unit.thing, each.thing))
            other = next(same, None)
            if other is not None:
                renamed[name] = other.name
                del come[other.name]
    return renamed


def _is_renamed(old: Domain | Stack, new: Domain | Stack) -> bool:
    """Return whether two domains or stacks differ only by names, codes and colours."""
    if type(old) is not type(new):
        return False
    without = ("name", "layers", "meshes", "surfaces", "code", "codes", "colour", "colours")
    surfaces = _surfaces(old), _surfaces(new)
    return (
        next(_keys(old, new, "", without), None) is None
        and len(surfaces[0]) == len(surfaces[1])
        and all(have_same_meshes(*pair) for pair in zip(*surfaces, strict=True))
    )


def _presence(
    before: dict[str, _Unit], after: dict[str, _Unit], renamed: dict[str, str]
) -> Iterator[DomainChange]:
    """Yield the domains that were renamed, removed and added; the keys of `after` are old names."""
    for name, unit in before.items():
        if name in renamed:
            text = f"{name} is called {renamed[name]} now, with the same meshes"
            yield DomainChange(name, "name", name, renamed[name], "labels", text)
        elif name not in after:
            text = f"{name} was removed; it had priority {unit.rank} of {len(before)}"
            yield DomainChange(name, "removed", str(unit.rank), "", "labels", text)
    for name, unit in after.items():
        if name not in before:
            text = f"{name} is new, with priority {unit.rank} of {len(after)}"
            yield DomainChange(name, "added", "", str(unit.rank), "labels", text)


def _priority(before: dict[str, _Unit], after: dict[str, _Unit]) -> Iterator[DomainChange]:
    """Yield the pairs of domains whose priority is reversed."""
    common = [name for name in before if name in after]
    for first, second in combinations(common, 2):
        if after[first].rank < after[second].rank:
            continue
        units = (before[first], before[second], after[first], after[second])
        meet = _boxes_meet(units[0].thing, units[1].thing) or _boxes_meet(
            units[2].thing, units[3].thing
        )
        text = f"{first} came before {second}, and comes after it now: " + (
            f"{second} labels the blocks in both"
            if meet
            else "their boxes do not meet, so this changes no label"
        )
        effect = "labels" if meet else "nothing"
        yield DomainChange(
            second, "priority", f"{first}, {second}", f"{second}, {first}", effect, text
        )


def _boxes_meet(first: Domain | Stack, second: Domain | Stack) -> bool:
    """Return whether the boxes of two domains or stacks meet."""
    (low, high), (bottom, top) = _box(first), _box(second)
    return bool(((low <= top) & (bottom <= high)).all())


def _box(thing: Domain | Stack) -> Floats:
    """Return the box, (2, 3), outside which a domain or a stack labels no block."""
    if isinstance(thing, Stack):
        return box_of([mesh for tiles in thing.placed for mesh in tiles], flat=True)
    if thing.invert:
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    return thing.bounds


def _units(
    before: dict[str, _Unit], after: dict[str, _Unit], meshes: list[WireframeDifference]
) -> Iterator[DomainChange]:
    """Yield the changes of keys and meshes of the domains in both lists; collect the meshes."""
    compared: dict[tuple[int, int], WireframeDifference] = {}
    for name, unit in before.items():
        if name not in after:
            continue
        now = after[name].thing
        without = ("name", "meshes", "surfaces", "layers")
        yield from _keys(unit.thing, now, name, without)
        pairs = list(zip(_surfaces(unit.thing), _surfaces(now), strict=True))
        for place, pair in enumerate(pairs, 1):
            where = f" of surface {place}" * isinstance(now, Stack)
            yield from _mesh_changes(name, where, *pair, compared)
    meshes += [each for each in compared.values() if not each.is_same]


def _surfaces(thing: Domain | Stack) -> list[tuple[Mesh, ...]]:
    """Return the meshes of each surface of a stack, or the meshes of a domain as the only item."""
    return [
        tuple(each) for each in ([thing.meshes] if isinstance(thing, Domain) else thing.surfaces)
    ]


def _mesh_changes(
    name: str,
    where: str,
    old: Sequence[Mesh],
    new: Sequence[Mesh],
    compared: dict[tuple[int, int], WireframeDifference],
) -> Iterator[DomainChange]:
    """Yield a change for each mesh of a domain that is added, removed, renamed or different.

    `where` is the surface of a stack that has the meshes, in words; empty for a domain.
    Meshes are matched by name. If one mesh on each side is left over, these two are compared.
    """
    for before, after in _matched(old, new):
        if before is None or after is None:
            mesh, word = (after, "added") if before is None else (before, "removed")
            assert mesh is not None
            names = ("", mesh.name) if before is None else (mesh.name, "")
            text = f"{name}: the mesh {mesh.name}{where} was {word}"
            yield DomainChange(name, "mesh", *names, "labels", text)
            continue
        key = id(before), id(after)
        if key not in compared:
            compared[key] = wireframe_difference(before, after)
        result = compared[key]
        if not result.is_same:
            text = f"{name}: the mesh{where} changed, {result.sentence}"
            yield DomainChange(name, "mesh", before.name, after.name, "labels", text)
        elif before.name != after.name:
            text = (
                f"{name}: the mesh {before.name}{where} is called {after.name} now, and is the same"
            )
            yield DomainChange(name, "mesh", before.name, after.name, "nothing", text)


def _matched(old: Sequence[Mesh], new: Sequence[Mesh]) -> Iterable[tuple[Mesh | None, Mesh | None]]:
    """Return pairs of an old and a new mesh with the same name; None where there is no match."""
    rest, later = list(old), list(new)
    pairs: list[tuple[Mesh | None, Mesh | None]] = []
    for mesh in old:
        same = next((each for each in later if each.name == mesh.name), None)
        if same is not None:
            pairs.append((mesh, same))
            rest.remove(mesh)
            later.remove(same)
    if len(rest) == len(later) == 1:
        return [*pairs, (rest[0], later[0])]
    return [*pairs, *((mesh, None) for mesh in rest), *((None, mesh) for mesh in later)]
