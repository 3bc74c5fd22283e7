"""The class `Domain`: solids or surfaces, the label of their blocks, conditions and other keys.

Each field of `Domain`, `Stack` and `Domains` declares its key in `domains.toml` as metadata (see
`geodomain.settings.key`). Reading, checks, `repr` and the hash of a dataset's job all use these
fields. To add a key, add a field and an argument here, and the code that uses the field.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import is_one_line, refuse_nan
from geodomain.errors import DomainError, MeshError, shown
from geodomain.inputs import MeshesLike, as_meshes
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table
from geodomain.settings import FLAG, Key, Rule, key, one_of, require_fits
from geodomain.tables.conditions import Condition, read_conditions
from geodomain.tables.frames import shortest
from geodomain.tables.new_columns import unwritable

Shift = tuple[float, float, float]
Kind = Literal["solid", "above", "below", "either"]
Extend = Literal["unassigned", "background", "nearest"]

# The columns of a table of domains.
HEADINGS = ("name", "kind", "code", "meshes", "only if")

# Requirements for names and codes, in words.
NAME = "one line of text, not empty, without blanks around it and without control characters"
CODE = "a whole number of 32 bits"


def set_fields(thing: Domain, arguments: Mapping[str, object]) -> None:
    """Check the arguments of a constructor by the metadata of the fields, and set the fields."""
    for entry in fields(thing):
        value, values = arguments[entry.name], entry.metadata["values"]
        if value is not None or entry.default is not None:
            if not values.toml_only:
                require_fits(thing.name, entry.name, value, values)
            if values.convert is not None:
                value = values.convert(value)
        object.__setattr__(thing, entry.name, value)


def is_code(value: object) -> bool:
    """Return whether a value is a whole number of 32 bits, as block models store integers."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        return False
    return bool(-(2**31) <= value < 2**31)


def is_colour(value: object) -> bool:
    """Return whether a value is a colour such as #b5382c."""
    return isinstance(value, str) and re.fullmatch(r"#[0-9a-fA-F]{6}", value) is not None


def _is_distance(value: object) -> bool:
    """Return whether a value is a finite number of at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    return bool(0 <= value < math.inf)


def _is_shift(value: object) -> bool:
    """Return whether a value is a list of three finite numbers that float64 holds exactly."""
    numbers = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(numbers, list | tuple) or len(numbers) != 3:
        return False
    return all(
        isinstance(each, int | float | np.integer | np.floating)
        and not isinstance(each, bool)
        and -sys.float_info.max <= each <= sys.float_info.max
        and float(each) == each
        for each in numbers
    )


def as_shift(value: Sequence[float]) -> Shift | None:
    """Return a shift as a tuple, or None for a shift that moves nothing."""
    x, y, z = (float(each) + 0.0 for each in value)
    return (x, y, z) if x or y or z else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_list(value: object, fits: Callable[[object], bool]) -> bool:
    """Return whether a value is a list that is not empty, and `fits` accepts all its entries."""
    return isinstance(value, list) and bool(value) and all(map(fits, value))


def is_mesh_name(value: object) -> bool:
    """Return whether a value is the name of a mesh file, or a list of such names."""
    return _is_text(value) or is_list(value, _is_text)


CODES = Key(CODE, is_code, int)
EXTEND = one_of(get_args(Extend))
COLOUR = Key(
    'a colour such as "#b5382c": a hash and six digits, two each for red, green and blue',
    is_colour,
    str.lower,
)
CONDITIONS = Key(
    'a table of columns, such as { rock = "OX", grade = { ">=" = 0.3 } }',
    lambda value: isinstance(value, dict),
    lambda value: value if isinstance(value, tuple) else read_conditions(value),
    toml_only=True,
)
SHIFT = Key("a list of three finite numbers, such as [0.0, 0.0, -2.5]", _is_shift, as_shift)
_DISTANCE = Key("a number of at least 0", _is_distance, float)
_NAME = Key("a text that is not empty", _is_text, toml_only=True)
_MESH = Key(
    "the name of a mesh file (or FILE:NAME), or a list of such names", is_mesh_name, toml_only=True
)


@dataclass(frozen=True, eq=False)
class Domain:
    """A named set of blocks: inside solids, above or below a surface, or near a wireframe.

    Parameters
    ----------
    name : str
        Label of the blocks in the domain.
    meshes : mesh-like, or several of them
        Solids, whose union is the domain; or the tiles of one surface. See `as_mesh` for the types.
        Messages call a mesh without a name by the name of the domain.
    kind : {"solid", "above", "below", "either"}
        "above" and "below" are measured along the vertical: see `geodomain.sides`. "either" means
        both sides of the meshes, open or closed, and needs ``within`` or ``beyond``. [default:
        "either" with ``within`` or ``beyond``, otherwise "solid"]
    code : int, optional
        Number of the domain, if labels are written as codes.
    only_if : mapping
        Conditions on columns, which must all be met: ``{"rock": "OX"}``,
        ``{"zone": ["A", "B"]}``, ``{"grade": {">=": 0.3}}``. Missing values meet no condition.
    keep : bool
        Do not replace an existing label. If the last domain wins, the existing label is the label
        of an earlier domain. If an existing column is replaced, the existing label is the label in
        this column.
    invert : bool
        Select the blocks outside the solids, or on the other side of the surface.
    rule : {"parity", "winding"}, optional
        Rule that decides which blocks are inside. [default: the rule of the labelling] "winding"
        also works for open meshes, by solid angle: see `geodomain.generalised_winding`.
    extend : {"unassigned", "background", "nearest"}
        Treatment of blocks outside a surface's footprint. With "unassigned", they are unassigned.
        With "background", they are not in this domain. With "nearest", the surface continues beyond
        its footprint at the height of the nearest point of its rim.
    within, beyond : float, optional
        ``within`` selects blocks at most this far from the nearest mesh, and ``beyond`` selects
        blocks farther away than this. Distances are the float64 values of `geodomain.distances`. If
        ``kind`` names a side of the mesh, the blocks must also be on this side, or, with
        ``invert``, on the opposite side: ``kind="solid", within=5`` is the skin inside,
        ``kind="solid", invert=True, within=5`` is the skin outside, and ``within=5`` alone is the
        skin on both sides.
    shift : sequence of 3 floats, optional
        Moves the meshes: these numbers are added to x, y and z of each vertex, in the unit of the
        coordinates. Each sum is rounded once, to float64. See `Mesh.shifted`. Meshes are welded
        before they are moved.
    colour : str, optional
        Colour in pictures, such as "#b5382c"; by default chosen from the name.

    Raises
    ------
    DomainError
        If a value is invalid, or a triangle collapses by ``shift``.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> air = geodomain.Domain("AIR", ground, kind="above", code=0)
    >>> geodomain.label_points([[1, 1, 6], [1, 1, 4]], [air], background="ROCK")
    array(['AIR', 'ROCK'], dtype='<U4')
    """

    name: str = field(metadata=key(_NAME, hashed=True))
    meshes: tuple[Mesh, ...] = field(metadata=key(_MESH, hashed=True, name="mesh"))
    _: KW_ONLY
    kind: Kind = field(default="solid", metadata=key(one_of(get_args(Kind)), hashed=True))
    code: int | None = field(default=None, metadata=key(CODES, hashed=True))
    only_if: tuple[Condition, ...] = field(default=(), metadata=key(CONDITIONS, hashed=True))
    keep: bool = field(default=False, metadata=key(FLAG, hashed=True))
    invert: bool = field(default=False, metadata=key(FLAG, hashed=True))
    rule: Rule | None = field(default=None, metadata=key(one_of(get_args(Rule)), hashed=True))
    extend: Extend = field(default="unassigned", metadata=key(EXTEND, hashed=True))
    within: float | None = field(default=None, metadata=key(_DISTANCE, hashed=True))
    beyond: float | None = field(default=None, metadata=key(_DISTANCE, hashed=True))
    shift: Shift | None = field(default=None, metadata=key(SHIFT, hashed=True))
    colour: str | None = field(default=None, metadata=key(COLOUR, hashed=False))

    def __init__(
        self,
        name: str,
        meshes: MeshesLike,
        *,
        kind: Kind | None = None,
        code: int | None = None,
        only_if: Mapping[str, object] | tuple[Condition, ...] = (),
        keep: bool = False,
        invert: bool = False,
        rule: Rule | None = None,
        extend: Extend = "unassigned",
        within: float | None = None,
        beyond: float | None = None,
        shift: Sequence[float] | None = None,
        colour: str | None = None,
    ) -> None:
        """Check every value, and set the fields."""
        require_name(name)
        kind = kind or _usual_kind(within, beyond)
        arguments = locals()
        set_fields(self, arguments | {"meshes": as_tiles(meshes, name)})
        self._require_sense()
        _ = self.placed  # raises an error if a triangle collapses

    def _require_sense(self) -> None:
        """Raise DomainError for keys that contradict each other or do not apply to the kind."""
        message = ""
        if self.within is not None and self.beyond is not None and self.beyond >= self.within:
            message = (
                f"no block can be both beyond {self.beyond:g} and within {self.within:g}: give a "
                "smaller beyond or a larger within"
            )
        elif self.kind == "either" and not self.is_skin:
            message = "kind = 'either' needs a distance: give within or beyond"
        elif self.kind == "either" and self.invert:
            message = (
                "invert needs a kind with two sides: give kind = 'solid', 'above' or 'below'; or, "
                "for blocks farther away than a distance, give beyond = DISTANCE instead"
            )
        elif self.kind == "either" and self.rule is not None:
            message = (
                "rule needs kind = 'solid': without a kind, within and beyond measure distance on "
                "both sides of the wireframe, so rule has no effect"
            )
        elif self.is_surface and self.rule is not None:
            message = (
                f"leave out rule: it applies only to solids, and crossings decide whether blocks "
                f"are {self.kind} a surface"
            )
        elif not self.is_surface and self.extend != "unassigned":
            message = (
                "extend applies only to surfaces: leave out extend, or set kind = 'above' or "
                "kind = 'below'"
            )
        if message:
            message = f"{self.name}: {message}"
            raise DomainError(message)

    def __repr__(self) -> str:
        """Return the name, the meshes and the keys that differ from their defaults."""
        parts = [repr(self.name), ", ".join(map(repr, self.meshes))]
        for entry in fields(self)[2:]:
            value, default = getattr(self, entry.name), entry.default
            if entry.name == "kind":
                default = _usual_kind(self.within, self.beyond)
            if entry.name == "only_if":
                continue
            if value != default:
                parts.append(f"{entry.name}={value!r}")
        if self.only_if:
            parts.append(f"only_if={' and '.join(map(str, self.only_if))!r}")
        return f"Domain({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table("Domain", [self.cells()], headings=HEADINGS)

    def cells(self) -> tuple[str, ...]:
        """Return the domain as a row of a table, with the columns of `HEADINGS`."""
        kind = f"not {self.kind}" if self.invert else self.kind
        kind += "" if self.within is None else f", within {self.within:g}"
        kind += "" if self.beyond is None else f", beyond {self.beyond:g}"
        code = "" if self.code is None else str(self.code)
        meshes = ", ".join(mesh.name for mesh in self.meshes) + in_words(self.shift)
        return self.name, kind, code, meshes, " and ".join(map(str, self.only_if))

    @cached_property
    def placed(self) -> tuple[Mesh, ...]:
        """The meshes, moved by ``shift``: the domain as it labels blocks."""
        return shifted(self.meshes, self.shift, self.name)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The box, (2, 3), that contains the centroids of the domain's blocks, lowest corner first.

        The box of a surface is unbounded along the vertical. ``within`` widens the box if blocks
        may be outside the meshes. ``beyond`` alone makes the box unbounded.
        """
        box = box_of(self.placed, flat=self.is_surface)
        if self.kind == "either" or (self.invert and self.within is not None):
            wider = math.inf if self.within is None else self.within
            box = box + np.array([[-wider], [wider]])
        return box

    @property
    def is_surface(self) -> bool:
        """Whether the domain is one side of a surface."""
        return self.kind in ("above", "below")

    @property
    def is_skin(self) -> bool:
        """Whether the domain is limited by a distance from the meshes."""
        return self.within is not None or self.beyond is not None

    @property
    def is_solid(self) -> bool:
        """Whether the domain is the inside of solids; overlaps of such domains may be mistakes."""
        return self.kind == "solid" and not self.invert and not self.is_skin

    @property
    def wireframes(self) -> tuple[Mesh, ...]:
        """The meshes whose volume is compared with the volume of the domain's blocks.

        The result is empty unless the domain is the inside of closed solids, without conditions or
        distance.
        """
        whole = self.is_solid and not self.only_if
        return (
            self.placed if whole and all(m.is_closed and m.is_balanced for m in self.placed) else ()
        )


def as_tiles(meshes: MeshesLike, name: str) -> tuple[Mesh, ...]:
    """Return one or several meshes as a tuple; raise DomainError if there is none."""
    try:
        tiles = as_meshes(meshes, name=name)
    except TypeError as error:
        message = f"{name}: {error}"
        raise TypeError(message) from None
    if not tiles:
        message = f"{name} has no mesh: give at least one"
        raise DomainError(message)
    return tiles


def shifted(tiles: tuple[Mesh, ...], shift: Shift | None, name: str) -> tuple[Mesh, ...]:
    """Return meshes moved by a shift; raise DomainError, with `name`, if a triangle collapses."""
    if shift is None:
        return tiles
    try:
        return tuple(mesh.shifted(shift) for mesh in tiles)
    except MeshError as error:
        message = f"{name}: {error}"
        raise DomainError(message) from None


def in_words(shift: Shift | None) -> str:
    """Return words that follow the name of what is shifted; "" without a shift.

    The numbers are in brackets, because a report takes three numbers in parentheses for a point.
    """
    return "" if shift is None else f" shifted by [{', '.join(map(shortest, shift))}]"


def box_of(meshes: Iterable[Mesh], *, flat: bool) -> NDArray[np.float64]:
    """Return the box of meshes, (2, 3); if `flat`, it is unbounded along the vertical."""
    boxes = np.stack([mesh.bounds for mesh in meshes])
    box = np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])
    if flat:
        box[:, 2] = -np.inf, np.inf
    return box


def require_name(name: object) -> None:
    """Raise DomainError for a name that is not text, is blank, or has blanks around it.

    Control characters are not allowed, because the name would look like another name in print.
    """
    if not isinstance(name, str) or not is_one_line(name) or unwritable(name):
        message = f"a domain's name is {shown(name)}; it must be {NAME}"
        raise DomainError(message)
    refuse_nan(name)


def _usual_kind(within: float | None, beyond: float | None) -> Kind:
    """Return the default kind: "either" if there is a distance, otherwise "solid"."""
    return "solid" if within is None and beyond is None else "either"
