"""Read domains from a TOML file.

The keys of each table are the fields of `Domains`, `Domain` and `Stack`. An error names the file,
the table, the key and the allowed values.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn, TypeVar, cast

from geodomain import memory
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.domains.stack import Stack
from geodomain.errors import DomainError, shown
from geodomain.files.streams import read_whole
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import read_mesh, reading_once
from geodomain.mesh.mesh import Mesh
from geodomain.settings import keys_of, required_keys
from geodomain.tables.numbers import BelowDetection

PATHS = "; write paths with / or in single quotes"

# Each part of a dotted key is a table within the previous one.
_MOST_PARTS = 16
# Quoted texts and comments; an unclosed text ends with its line, or with the file.
_TEXTS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?'
    r"|'''.*?(?:'''|\Z)|'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{_MOST_PARTS},}}")

ReadMesh = Callable[[Path], Mesh]
Table = dict[str, object]
Made = TypeVar("Made")


def read_domains(path: str | os.PathLike[str], *, read: ReadMesh | None = None) -> Domains:
    r"""Read a list of domains and their meshes from a TOML file.

    Parameters
    ----------
    path : path
        The file. Mesh paths are relative to the folder of the file; each mesh is read once.
    read : callable, optional
        Function that reads a mesh; default: `read_mesh`.

    Returns
    -------
    Domains
        Ready for `label_points` and `label_blocks`.

    Raises
    ------
    DomainError
        If a key is unknown, a value is invalid, a mesh is missing, a triangle collapses by a shift,
        or a name occurs twice or is also the background or unassigned label. The message names the
        file, the key and the expected value.
    MeshError
        If a mesh cannot be read.
    OSError
        If the file itself cannot be read.

    Notes
    -----
    ::

        background = "WASTE"            # and: order = "last", unassigned = "?"

        [[domain]]                      # the first that contains a block wins
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
        within = 2.5                    # at most this far from the mesh; or beyond = 2.5
        shift = [0.0, 0.0, -2.0]        # added to x, y and z of each vertex of the mesh

        [[stack]]                       # for blocks in no domain
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
        return _Reader(place, read or read_mesh).domains()


def read_policy(path: str | os.PathLike[str]) -> BelowDetection | None:
    """Return the setting `below_detection` of a TOML file, without reading the meshes."""
    return cast(
        "BelowDetection | None", _Reader(Path(path), read_mesh).keys().get("below_detection")
    )


class _Reader:
    """Reads one TOML file: parses the text, checks the keys, and reads the meshes."""

    def __init__(self, path: Path, read: ReadMesh) -> None:
        self._path, self._read = path, read
        self._meshes: dict[Path, Mesh] = {}

    def domains(self) -> Domains:
        """Return the domains and stacks of the file."""
        keys = self.keys()
        if not keys.keys() & {"domain", "stack"}:
            self._refuse("", "there is neither a [[domain]] nor a [[stack]]: add at least one")
        domains = [self._domain(*table) for table in _tables(keys, "domain")]
        stacks = [self._stack(*table) for table in _tables(keys, "stack")]
        return self._make("", "", Domains, tuple(domains), tuple(stacks), **keys)

    def keys(self) -> Table:
        """Check and return the top-level keys of the file."""
        keys = self._parsed()
        self._check(keys, Domains, "")
        return keys

    def _parsed(self) -> Table:
        import tomllib

        self._require_size()
        try:
            text = read_whole(self._path).decode("utf-8-sig")
            if (line := _line_of_long_key(text)) is None:
                return tomllib.loads(text)
        except UnicodeDecodeError:
            self._refuse("", "the file is not UTF-8 text: save it as UTF-8")
        except tomllib.TOMLDecodeError as error:
            escaped = "Unescaped" in str(error) or "hex" in str(error)
            self._refuse("", f"the file is not TOML: {error}{PATHS if escaped else ''}")
        except ValueError:
            self._refuse("", f"a number has more than {sys.get_int_max_str_digits():,} digits")
        except RecursionError:
            self._refuse("", "brackets are nested too deeply: no key needs more than two levels")
        most = f"more than {_MOST_PARTS} parts, but no key needs more than three"
        self._refuse("", f"line {line} has a key of {most}")

    def _require_size(self) -> None:
        """Raise DomainError if parsing the file could need more memory than allowed."""
        with suppress(OSError):  # reading it reports the error
            memory.require_json(self._path.stat().st_size, str(self._path), DomainError)

    def _domain(self, table: Table, number: int) -> Domain:
        where = _heading("domain", number, table.get("name"))
        self._check(table, Domain, where)
        name, files = cast(str, table.pop("name")), cast(str | list[str], table.pop("mesh"))
        return self._make(where, name, Domain, name, self._tiles(files, f"{where} mesh"), **table)

    def _stack(self, table: Table, number: int) -> Stack:
        where = _heading("stack", number, None)
        self._check(table, Stack, where)
        files = cast(list[str | list[str]], table.pop("surfaces"))
        surfaces = [self._tiles(names, f"{where} surfaces") for names in files]
        return self._make(where, "", Stack, surfaces, **table)

    def _check(self, table: Table, kind: type, where: str) -> None:
        """Raise DomainError for unknown keys, invalid values and missing keys."""
        keys = keys_of(kind)
        for key, value in table.items():
            if key not in keys:
                close = get_close_matches(key, keys, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                self._refuse(
                    where, f"there is no key {shown(key)}; {hint}the keys are {', '.join(keys)}"
                )
            if not keys[key].fits(value):
                self._refuse(where, f"{key} is {shown(value)}; it must be {keys[key].expected}")
        for key in required_keys(kind):
            if key not in table:
                self._refuse(where, f"the key {key!r} is missing: give {keys[key].expected}")

    def _tiles(self, names: str | list[str], where: str) -> tuple[Mesh, ...]:
        return tuple(
            self._mesh(name, where) for name in ([names] if isinstance(names, str) else names)
        )

    def _mesh(self, name: str, where: str) -> Mesh:
        """Return the mesh at a path relative to the TOML file; read each mesh only once.

        FILE:NAME selects a solid of a file.
        """
        if "\0" in name:
            self._refuse(where, f"{shown(name)} holds a NUL character{PATHS}")
        place, wanted = split_name(self._path.parent / name)
        if not place.is_file():
            folder = place.parent.resolve()
            self._refuse(where, f"there is no file {shown(place.name)} in {folder}{_nearby(place)}")
        place = place.resolve()
        if wanted is not None:
            place = Path(f"{place}:{wanted}")  # the name may be a path of groups
        if place not in self._meshes:
            self._meshes[place] = self._read(place)
        return self._meshes[place]

    def _make(
        self, where: str, name: str, kind: Callable[..., Made], /, *args: object, **keys: object
    ) -> Made:
        """Make an object; add the position of its table to the message of a DomainError."""
        try:
            return kind(*args, **keys)
        except DomainError as error:
            self._refuse(where, str(error).removeprefix(f"{name}: "))

    def _refuse(self, where: str, what: str) -> NoReturn:
        message = f"{self._path}{f', {where}' if where else ''}: {what}"
        raise DomainError(message) from None


def _line_of_long_key(text: str) -> int | None:
    """Return the number (from 1) of a line with a dotted key of very many parts, or None.

    Parsing such a key takes quadratic time.
    """
    key = _LONG_KEY.search(_TEXTS.sub(_blanked, text))
    return None if key is None else text.count("\n", 0, key.start()) + 1


def _blanked(text: re.Match[str]) -> str:
    """Replace a comment by blanks, and a quoted text by underscores; keep line ends."""
    return re.sub(r"[^\n]", " " if text[0].startswith("#") else "_", text[0])


def _tables(keys: Table, kind: str) -> list[tuple[Table, int]]:
    """Remove the tables with the heading [[kind]] from `keys`; return each with its number.

    Tables are numbered from 1.
    """
    tables = cast(list[Table], keys.pop(kind, []))
    return [(table, number) for number, table in enumerate(tables, 1)]


def _heading(kind: str, number: int, name: object) -> str:
    """Return the heading, number and name of a table as text for messages."""
    text = " ".join(name.split()) if isinstance(name, str) else ""
    return f"[[{kind}]] {number}" + (f" ({text[:60]})" if text else "")


def _nearby(path: Path) -> str:
    """Return a suggestion for a missing file: the most similar name in its folder, or ""."""
    if not path.name.isprintable():
        return PATHS
    names = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    by_plain_name = {name.casefold(): name for name in names}
    close = get_close_matches(path.name.casefold(), by_plain_name, 1)
    return f"; did you mean {shown(by_plain_name[close[0]])}?" if close else ""
