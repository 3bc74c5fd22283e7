"""The keys of a TOML list of domains, and what each may hold; reads no file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, TypedDict, TypeVar, cast, get_args

from geodomain import memory
from geodomain.domains.domain import COLOUR, DISTANCE, Domain, Extend, Kind, is_colour, is_distance
from geodomain.domains.order import Domains, LabelBy, Order, Proportions
from geodomain.domains.stack import Crossing, Stack
from geodomain.errors import DomainError, shown
from geodomain.files.signatures import split_name
from geodomain.files.streams import read_whole
from geodomain.formats.wireframes import read_mesh, reading_once
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import Rule
from geodomain.tables.numbers import BELOW_DETECTION, BelowDetection


class Key(NamedTuple):
    """What a key may hold: a description, and whether a value fits it."""

    expected: str
    fits: Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: object) -> bool:
    # A message shows the number: one of thousands of digits is no sentence.
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 200


def _is_list(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(fits, value))


def _is_mesh(value: object) -> bool:
    return _is_text(value) or _is_list(value, _is_text)


def _one_of(choices: Sequence[str]) -> Key:
    return Key(f"one of {', '.join(map(repr, choices))}", lambda value: value in choices)


PATHS = "; write paths with / or in single quotes"

_TEXT = Key("a text that is not empty", _is_text)
_LABEL = Key("a text", lambda value: isinstance(value, str))
_WHOLE = Key("a whole number", _is_whole)
_DISTANCE = Key(DISTANCE, is_distance)
_COLOUR = Key(COLOUR, is_colour)
_FLAG = Key("true or false", lambda value: isinstance(value, bool))
_MESH = Key("the name of a mesh file (or FILE:NAME), or a list of them", _is_mesh)
_CONDITIONS = Key(
    'a table of columns, such as { rock = "OX", grade = { ">=" = 0.3 } }',
    lambda value: isinstance(value, dict),
)
_TABLES = Key(
    "tables, each under its own heading in double brackets",
    lambda value: _is_list(value, lambda one: isinstance(one, dict)),
)

FILE_KEYS = {
    "domain": _TABLES,
    "stack": _TABLES,
    "order": _one_of(get_args(Order)),
    "background": _LABEL,
    "unassigned": _LABEL,
    "background_code": _WHOLE,
    "unassigned_code": _WHOLE,
    "proportions": _one_of(get_args(Proportions)),
    "percent": _FLAG,
    "by": _one_of(get_args(LabelBy)),
    "lines": _WHOLE,
    "below_detection": _one_of(BELOW_DETECTION),
}
DOMAIN_KEYS = {
    "name": _TEXT,
    "mesh": _MESH,
    "kind": _one_of(get_args(Kind)),
    "code": _WHOLE,
    "only_if": _CONDITIONS,
    "keep": _FLAG,
    "invert": _FLAG,
    "rule": _one_of(get_args(Rule)),
    "extend": _one_of(get_args(Extend)),
    "within": _DISTANCE,
    "beyond": _DISTANCE,
    "colour": _COLOUR,
}
STACK_KEYS = {
    "surfaces": Key(
        "a list of mesh files from top to bottom, each a name or a list of names",
        partial(_is_list, fits=_is_mesh),
    ),
    "layers": Key(
        "a list of names from top to bottom, one more than surfaces",
        partial(_is_list, fits=lambda one: isinstance(one, str)),
    ),
    "codes": Key("a list of whole numbers, one to a layer", partial(_is_list, fits=_is_whole)),
    "rule": _one_of(get_args(Crossing)),
    "only_if": _CONDITIONS,
    "extend": _one_of(get_args(Extend)),
    "colours": Key(
        f"a list, one to a layer, each {COLOUR}, or empty",
        partial(_is_list, fits=lambda one: one == "" or is_colour(one)),
    ),
}


class FileOptions(TypedDict, total=False):
    """What `FILE_KEYS` lets through beside domains and stacks."""

    order: Order
    background: str
    unassigned: str
    background_code: int
    unassigned_code: int
    proportions: Proportions
    percent: bool
    by: LabelBy
    lines: int
    below_detection: BelowDetection


class DomainOptions(TypedDict, total=False):
    """What `DOMAIN_KEYS` lets through beside the name and the meshes."""

    kind: Kind
    code: int
    only_if: dict[str, object]
    keep: bool
    invert: bool
    rule: Rule
    extend: Extend
    within: float
    beyond: float
    colour: str


class StackOptions(TypedDict, total=False):
    """What `STACK_KEYS` lets through beside surfaces and layers."""

    codes: list[int]
    rule: Crossing
    only_if: dict[str, object]
    extend: Extend
    colours: list[str]


# --- Domains from a TOML file. Errors name the file, table, key and expected value.

# A part of a key is a table in the one before.
_MOST_PARTS = 16
# Texts and comments, up to their ends or that of the line or the file.
_TEXTS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?'
    r"|'''.*?(?:'''|\Z)|'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{_MOST_PARTS},}}")

_POLICY = "below_detection"

ReadMesh = Callable[[Path], Mesh]
Table = dict[str, object]
Noun = TypeVar("Noun")


def read_domains(path: str | os.PathLike[str], *, read: ReadMesh | None = None) -> Domains:
    r"""Read a list of domains, and the meshes that it names, from a TOML file.

    Parameters
    ----------
    path : path
        The file. Paths of meshes are relative to it; each mesh is read once.
    read : callable, optional
        Reads a mesh; `read_mesh` by default.

    Returns
    -------
    Domains
        Ready for `label_points` and `label_blocks`.

    Raises
    ------
    DomainError
        For an unknown key, a value of the wrong kind, a missing mesh, or a name that occurs twice
        or is the background's. The message has the file, the key, and what was expected.
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
        mesh = ["upper.stl", "pit.dxf:ORE_HG"]    # one layer of a drawing
        only_if = { rock = ["OX", "TR"], au = { ">=" = 0.3 } }

        [[domain]]
        name = "DILUTION"
        mesh = "upper.stl"
        within = 2.5                    # at most so far from it; or beyond = 2.5

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
    with reading_once():
        return _Reader(place, read or _read_mesh).domains()


def read_policy(path: str | os.PathLike[str]) -> BelowDetection | None:
    """Return what a list of domains says of values below detection; its meshes are not read."""
    return cast("BelowDetection | None", _Reader(Path(path), _read_mesh).keys().get(_POLICY))


def _read_mesh(path: Path) -> Mesh:
    return read_mesh(path)


class _Reader:
    """Reads one file: parses it, checks its keys, reads its meshes."""

    def __init__(self, path: Path, read: ReadMesh) -> None:
        self._path, self._read = path, read
        self._meshes: dict[Path, Mesh] = {}

    def domains(self) -> Domains:
        """Return the domains and stacks of the file."""
        given = self.keys()
        if not given.keys() & {"domain", "stack"}:
            self._refuse("", "there is no [[domain]] and no [[stack]]")
        domains = [self._domain(*table) for table in _tables(given, "domain")]
        stacks = [self._stack(*table) for table in _tables(given, "stack")]
        rest = cast(FileOptions, given)
        return self._made("", "", lambda: Domains(tuple(domains), tuple(stacks), **rest))

    def keys(self) -> Table:
        """Return the keys of the file itself, which were checked."""
        given = self._parsed()
        self._check(given, FILE_KEYS, "")
        return given

    def _parsed(self) -> Table:
        import tomllib

        self._require_size()
        try:
            text = read_whole(self._path).decode("utf-8-sig")
            if (line := _line_of_long_key(text)) is None:
                return tomllib.loads(text)
        except UnicodeDecodeError:
            self._refuse("", "it is not UTF-8 text; save it as UTF-8")
        except tomllib.TOMLDecodeError as error:
            escaped = "Unescaped" in str(error) or "hex" in str(error)
            self._refuse("", f"it is not TOML: {error}{PATHS if escaped else ''}")
        except ValueError:
            self._refuse("", f"a number has more than {sys.get_int_max_str_digits():,} digits")
        except RecursionError:
            self._refuse("", "brackets are nested too deeply; no key needs more than two")
        most = f"more than {_MOST_PARTS} parts; none needs more than three"
        self._refuse("", f"line {line} has a key of {most}")

    def _require_size(self) -> None:
        """Refuse a file whose lists may take more memory than there is."""
        with suppress(OSError):  # what cannot be read says so where it is read
            memory.require_json(self._path.stat().st_size, str(self._path), DomainError)

    def _domain(self, table: Table, number: int) -> Domain:
        where = _place("domain", number, table.get("name"))
        self._check(table, DOMAIN_KEYS, where, needed=("name", "mesh"))
        name, files = cast(str, table.pop("name")), cast(str | list[str], table.pop("mesh"))
        meshes, rest = self._tiles(files, f"{where} mesh"), cast(DomainOptions, table)
        return self._made(where, name, lambda: Domain(name, meshes, **rest))

    def _stack(self, table: Table, number: int) -> Stack:
        where = _place("stack", number, None)
        self._check(table, STACK_KEYS, where, needed=("surfaces", "layers"))
        files = cast(list[str | list[str]], table.pop("surfaces"))
        surfaces = [self._tiles(one, f"{where} surfaces") for one in files]
        layers, rest = cast(list[str], table.pop("layers")), cast(StackOptions, table)
        return self._made(where, "", lambda: Stack(surfaces, layers, **rest))

    def _check(
        self,
        table: Table,
        keys: Mapping[str, Key],
        where: str,
        needed: Sequence[str] = (),
    ) -> None:
        """Raise DomainError for unknown keys, values that do not fit, and missing keys."""
        for key, value in table.items():
            if key not in keys:
                close = get_close_matches(key, keys, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                self._refuse(
                    where, f"there is no key {shown(key)}; {hint}the keys are {', '.join(keys)}"
                )
            if not keys[key].fits(value):
                self._refuse(where, f"{key} is {shown(value)}; it must be {keys[key].expected}")
        for key in needed:
            if key not in table:
                self._refuse(where, f"the key {key!r} is missing: {keys[key].expected}")

    def _tiles(self, names: str | list[str], where: str) -> tuple[Mesh, ...]:
        return tuple(
            self._mesh(name, where) for name in ([names] if isinstance(names, str) else names)
        )

    def _mesh(self, name: str, where: str) -> Mesh:
        """Read a mesh beside the file, once; FILE:NAME is one solid of it."""
        if "\0" in name:
            self._refuse(where, f"{shown(name)} holds a NUL character{PATHS}")
        place, wanted = split_name(self._path.parent / name)
        if not place.is_file():
            folder = place.parent.resolve()
            self._refuse(where, f"there is no file {shown(place.name)} in {folder}{_nearby(place)}")
        place = place.resolve()
        if wanted is not None:
            place = place.with_name(f"{place.name}:{wanted}")
        if place not in self._meshes:
            self._meshes[place] = self._read(place)
        return self._meshes[place]

    def _made(self, where: str, name: str, make: Callable[[], Noun]) -> Noun:
        """Make an object; an error names the table that its values are from."""
        try:
            return make()
        except DomainError as error:
            self._refuse(where, str(error).removeprefix(f"{name}: "))

    def _refuse(self, where: str, what: str) -> NoReturn:
        message = f"{self._path}{f', {where}' if where else ''}: {what}"
        raise DomainError(message) from None


def _line_of_long_key(text: str) -> int | None:
    """Return the line of a key of many parts, each a table: the cost is the square of the parts."""
    key = _LONG_KEY.search(_TEXTS.sub(_blanked, text))
    return None if key is None else text.count("\n", 0, key.start()) + 1


def _blanked(text: re.Match[str]) -> str:
    """Return as many letters on as many lines as a text has, so that a quoted key is a key."""
    return re.sub(r"[^\n]", " " if text[0].startswith("#") else "_", text[0])


def _tables(given: Table, kind: str) -> list[tuple[Table, int]]:
    """Take the tables of one kind, which were checked, with their numbers."""
    tables = cast(list[Table], given.pop(kind, []))
    return [(table, number) for number, table in enumerate(tables, 1)]


def _place(kind: str, number: int, name: object) -> str:
    """Return a table's heading, number and name, for messages."""
    said = " ".join(name.split()) if isinstance(name, str) else ""
    return f"[[{kind}]] {number}" + (f" ({said[:60]})" if said else "")


def _nearby(place: Path) -> str:
    """Return a suggestion for a file that is not there."""
    if not place.name.isprintable():
        return PATHS
    there = [path.name for path in place.parent.iterdir()] if place.parent.is_dir() else []
    plain = {name.casefold(): name for name in there}
    close = get_close_matches(place.name.casefold(), plain, 1)
    return f"; did you mean {shown(plain[close[0]])}?" if close else ""
