"""Domains from a TOML file: what it may say, and what is wrong with it, key by key."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from geodomain.domains import Domain, Extend, Kind
from geodomain.errors import DomainError
from geodomain.locator import Rule
from geodomain.mesh import Mesh
from geodomain.ordering import Domains, Order
from geodomain.stacks import Crossing, Stack

ReadMesh = Callable[[Path], Mesh]
Noun = TypeVar("Noun")


@dataclass(frozen=True)
class _Key:
    """What a key may hold: a description, and whether a value fits it."""

    expected: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(fits, value))


def _is_mesh(value: Any) -> bool:
    return _is_text(value) or _is_list(value, _is_text)


def _one_of(choices: Sequence[str]) -> _Key:
    return _Key(f"one of {', '.join(map(repr, choices))}", lambda value: value in choices)


_PATHS = "; write paths with / or in single quotes"

_TEXT = _Key("a text that is not empty", _is_text)
_LABEL = _Key("a text", lambda value: isinstance(value, str))
_WHOLE = _Key("a whole number", _is_whole)
_FLAG = _Key("true or false", lambda value: isinstance(value, bool))
_MESH = _Key("the name of a mesh file, or a list of them", _is_mesh)
_CONDITIONS = _Key(
    'a table of columns, such as { rock = "OX", grade = { ">=" = 0.3 } }',
    lambda value: isinstance(value, dict),
)
_TABLES = _Key(
    "tables, each under its own heading in double brackets",
    lambda value: _is_list(value, lambda one: isinstance(one, dict)),
)

_FILE = {
    "domain": _TABLES,
    "stack": _TABLES,
    "order": _one_of(get_args(Order)),
    "background": _LABEL,
    "unassigned": _LABEL,
    "background_code": _WHOLE,
    "unassigned_code": _WHOLE,
}
_DOMAIN = {
    "name": _TEXT,
    "mesh": _MESH,
    "kind": _one_of(get_args(Kind)),
    "code": _WHOLE,
    "only_if": _CONDITIONS,
    "keep": _FLAG,
    "invert": _FLAG,
    "rule": _one_of(get_args(Rule)),
    "extend": _one_of(get_args(Extend)),
}
_STACK = {
    "surfaces": _Key(
        "a list of mesh files from top to bottom, each a name or a list of names",
        partial(_is_list, fits=_is_mesh),
    ),
    "layers": _Key(
        "a list of names from top to bottom, one more than surfaces",
        partial(_is_list, fits=lambda one: isinstance(one, str)),
    ),
    "codes": _Key("a list of whole numbers, one to a layer", partial(_is_list, fits=_is_whole)),
    "rule": _one_of(get_args(Crossing)),
    "only_if": _CONDITIONS,
    "extend": _one_of(get_args(Extend)),
}


def read_domains(path: str | os.PathLike[str], *, read: ReadMesh | None = None) -> Domains:
    r"""Read a list of domains, and the meshes that it names, from a TOML file.

    Parameters
    ----------
    path : path
        The file. Meshes are looked for beside it; each is read once.
    read : callable, optional
        Reads a mesh; `read_mesh` by default.

    Returns
    -------
    Domains
        Ready for `label_points` and `label_blocks`.

    Raises
    ------
    DomainError
        For a key that there is not, a value of the wrong kind, a mesh that is not there, or a name
        that is there twice or is the background's: with the file, the key, and what was expected.
    MeshError
        For a mesh that cannot be read.
    OSError
        If the file itself cannot be read.

    Notes
    -----
    ::

        background = "WASTE"            # and: order = "last", unassigned = "?"

        [[domain]]                      # the first that has a block wins
        name = "AIR"
        kind = "above"                  # or "below", or "solid", which is the default
        mesh = "topography.ply"         # or a list: tiles, or a union of solids
        extend = "nearest"              # beyond the surface; or "background", "unassigned"
        code = 0                        # and background_code, unassigned_code above

        [[domain]]
        name = "OXIDE ORE"
        mesh = ["upper.stl", "lower.stl"]
        only_if = { rock = ["OX", "TR"], au = { ">=" = 0.3 } }

        [[stack]]                       # for blocks that no domain has
        surfaces = ["hanging_wall.ply", "foot_wall.ply"]
        layers = ["COVER", "SEAM", "FLOOR"]
        rule = "erode"                  # or "onlap"

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> geodomain.write_mesh(ground, folder / "ground.ply")
    >>> text = '[[domain]]\nname = "AIR"\nkind = "above"\nmesh = "ground.ply"'
    >>> _ = (folder / "domains.toml").write_text(text)
    >>> domains = geodomain.read_domains(folder / "domains.toml")
    >>> geodomain.label_points([[1, 1, 6], [1, 1, 4]], domains, background="ROCK").tolist()
    ['AIR', 'ROCK']
    """
    place = Path(path)
    return _Reader(place, read or _read_mesh).domains()


def _read_mesh(path: Path) -> Mesh:
    from geodomain.meshfiles import read_mesh

    return read_mesh(path)


class _Reader:
    """One file on its way to domains."""

    def __init__(self, path: Path, read: ReadMesh) -> None:
        self._path, self._read = path, read
        self._meshes: dict[Path, Mesh] = {}

    def domains(self) -> Domains:
        """Give all that the file says."""
        given = self._parsed()
        self._check(given, _FILE, "")
        if not given.keys() & {"domain", "stack"}:
            self._refuse("", "there is no [[domain]] and no [[stack]]")
        domains = [self._domain(table, i) for i, table in enumerate(given.pop("domain", ()), 1)]
        stacks = [self._stack(table, i) for i, table in enumerate(given.pop("stack", ()), 1)]
        return self._made("", Domains, tuple(domains), tuple(stacks), **given)

    def _parsed(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._path.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError:
            self._refuse("", "it is not UTF-8 text; save it as UTF-8")
        except tomllib.TOMLDecodeError as error:
            escaped = "Unescaped" in str(error) or "hex" in str(error)
            self._refuse("", f"it is not TOML: {error}{_PATHS if escaped else ''}")

    def _domain(self, table: dict[str, Any], number: int) -> Domain:
        where = _place("domain", number, table.get("name"))
        self._check(table, _DOMAIN, where, needed=("name", "mesh"))
        name, meshes = table.pop("name"), self._tiles(table.pop("mesh"), f"{where} mesh")
        return self._made(where, Domain, name, meshes, **table)

    def _stack(self, table: dict[str, Any], number: int) -> Stack:
        where = _place("stack", number, None)
        self._check(table, _STACK, where, needed=("surfaces", "layers"))
        surfaces = [self._tiles(one, f"{where} surfaces") for one in table.pop("surfaces")]
        return self._made(where, Stack, surfaces, table.pop("layers"), **table)

    def _check(
        self,
        table: Mapping[str, Any],
        keys: Mapping[str, _Key],
        where: str,
        needed: Sequence[str] = (),
    ) -> None:
        """Refuse keys that there are not, values that do not fit, and keys that lack."""
        for key, value in table.items():
            if key not in keys:
                close = get_close_matches(key, keys, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                self._refuse(
                    where, f"there is no key {key!r}; {hint}the keys are {', '.join(keys)}"
                )
            if not keys[key].fits(value):
                self._refuse(where, f"{key} is {_shown(value)}; it must be {keys[key].expected}")
        for key in needed:
            if key not in table:
                self._refuse(where, f"the key {key!r} is missing: {keys[key].expected}")

    def _tiles(self, names: str | list[str], where: str) -> tuple[Mesh, ...]:
        return tuple(
            self._mesh(name, where) for name in ([names] if isinstance(names, str) else names)
        )

    def _mesh(self, name: str, where: str) -> Mesh:
        """Read a mesh beside the file, once."""
        place = self._path.parent / name
        if not place.is_file():
            folder = place.parent.resolve()
            self._refuse(where, f"there is no file {place.name!r} in {folder}{_nearby(place)}")
        place = place.resolve()
        if place not in self._meshes:
            self._meshes[place] = self._read(place)
        return self._meshes[place]

    def _made(self, where: str, noun: Callable[..., Noun], *values: Any, **options: Any) -> Noun:
        """Make an object, and say in which table what it refuses stands."""
        try:
            return noun(*values, **options)
        except DomainError as error:
            name = values[0] if isinstance(values[0], str) else ""
            self._refuse(where, str(error).removeprefix(f"{name}: "))

    def _refuse(self, where: str, what: str) -> NoReturn:
        message = f"{self._path}{f', {where}' if where else ''}: {what}"
        raise DomainError(message) from None


def _place(kind: str, number: int, name: Any) -> str:
    """Name a table by its heading, its number and its name."""
    said = " ".join(name.split()) if isinstance(name, str) else ""
    return f"[[{kind}]] {number}" + (f" ({said})" if said else "")


def _nearby(place: Path) -> str:
    """Say what else may have been meant by a file that is not there."""
    if not place.name.isprintable():
        return _PATHS
    there = [path.name for path in place.parent.iterdir()] if place.parent.is_dir() else []
    plain = {name.casefold(): name for name in there}
    close = get_close_matches(place.name.casefold(), plain, 1)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _shown(value: Any) -> str:
    """Give a value as TOML has it, not too long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
