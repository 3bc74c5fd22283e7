"""The kinds of a domain, and the distances that limit one."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import DomainError, MeshError, shown, warn
from geodomain.formats.wireframes import read_mesh
from geodomain.html import html_table
from geodomain.inputs import MeshesLike, as_meshes
from geodomain.mesh.fitness import list_warnings, mark_warned
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.repair import weld as weld_mesh
from geodomain.query.locator import Rule
from geodomain.tables.conditions import Condition, read_conditions
from geodomain.tables.new_columns import unwritable

Kind = Literal["solid", "above", "below", "either"]

# What a distance must be, in words.
DISTANCE = "a number of at least 0"


def require_limits(name: str, within: object, beyond: object) -> None:
    """Refuse distances that no block can have."""
    for key, value in (("within", within), ("beyond", beyond)):
        if value is not None and not is_distance(value):
            message = f"{name}: {key} is {shown(value)}; it must be {DISTANCE}"
            raise DomainError(message)
    if is_distance(within) and is_distance(beyond) and float(beyond) >= float(within):
        message = f"{name}: no block is beyond {beyond} and within {within}: exchange them"
        raise DomainError(message)


def usual_kind(within: float | None, beyond: float | None) -> Kind:
    """Return the kind of a domain that does not say it."""
    return "solid" if within is None and beyond is None else "either"


def require_either(
    name: str, invert: bool, rule: Rule | None, within: float | None, beyond: float | None
) -> None:
    """Refuse what has no meaning where both sides are taken."""
    if within is None and beyond is None:
        message = f"{name}: kind 'either' needs a distance: within or beyond"
    elif invert:
        message = (
            f"{name}: invert takes the other side of a kind 'solid', 'above' or 'below': name the "
            "kind, or take what is farther away with beyond"
        )
    elif rule is not None:
        message = f"{name}: rule is for kind 'solid', and within and beyond alone have no side"
    else:
        return
    raise DomainError(message)


def is_distance(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number of at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    return bool(0 <= value < math.inf)


# --- Meshes from files on their way to being solids: welded where asked, and looked at for faults.


@dataclass(frozen=True)
class Weld:
    """What welding changed in one mesh; `largest_move` in the unit of the coordinates."""

    mesh: str
    tolerance: float
    moved: int
    largest_move: float


def read_solid(
    path: str | os.PathLike[str], *, weld: float | None = None
) -> tuple[Mesh, tuple[Weld, ...]]:
    """Read one mesh to label with.

    Parameters
    ----------
    path : path
        The file.
    weld : float, optional
        Join the vertices that are so close.

    Returns
    -------
    Mesh, tuple of Weld
        And what welding changed, if that was asked for.

    Raises
    ------
    MeshError
        For a mesh that encloses nothing, by itself or after welding.

    Warns
    -----
    GeodomainWarning
        For what is odd about a mesh that can be labelled with all the same: see
        `geodomain.mesh.fitness.list_warnings`.
    """
    mesh, welds = welded(read_mesh(path), weld)
    _require_some_left(mesh, weld)
    # At a hole edges are mis-oriented by nature; what an open mesh does is said elsewhere.
    for sentence in list_warnings(mesh) if mesh.is_closed else ():
        warn(sentence)
    mark_warned(mesh)
    return mesh, welds


def welded(mesh: Mesh, tolerance: float | None) -> tuple[Mesh, tuple[Weld, ...]]:
    """Return a mesh welded, and what that changed; without a tolerance the mesh itself."""
    if tolerance is None:
        return mesh, ()
    result = weld_mesh(mesh, tolerance)
    return result.mesh, (Weld(mesh.name, tolerance, result.moved, result.largest_move),)


def _require_some_left(mesh: Mesh, tolerance: float | None) -> None:
    """Refuse a mesh that encloses nothing, and a weld that joins a whole one into nothing."""
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


# --- A domain: the solids or surfaces that blocks are labelled with.

Extend = Literal["unassigned", "background", "nearest"]

# Of the columns of a table of domains.
HEADINGS = ("name", "kind", "code", "meshes", "only if")

# What a name and a code must be, in words.
NAME = "a text of one line that is not empty and has no blanks around it, and no control characters"
CODE = "a whole number of 32 bits"
COLOUR = 'a colour such as "#b5382c": a hash and six digits, two each for red, green and blue'


@dataclass(frozen=True, eq=False)
class Domain:
    """A name for the blocks inside solids, above or below a surface, or near to either.

    Parameters
    ----------
    name : str
        The label of its blocks.
    meshes : mesh-like, or several of them
        Solids, whose union is the domain, or tiles of one surface, as for `as_mesh`. A mesh
        without a name gets the domain's in messages.
    kind : {"solid", "above", "below", "either"}
        Above and below are along the vertical: see `geodomain.sides`. "either" is both sides of
        any meshes, open or closed, for ``within`` and ``beyond``. [default: "solid", with
        ``within`` or ``beyond`` "either"]
    code : int, optional
        The number that stands for it where labels are written as codes.
    only_if : mapping
        Conditions on columns, all of which must hold: ``{"rock": "OX"}``,
        ``{"zone": ["A", "B"]}``, ``{"grade": {">=": 0.3}}``. Missing values meet none.
    keep : bool
        Do not replace an earlier label: that of an earlier domain where the last one wins, or
        that in the column where it is rewritten.
    invert : bool
        Take the blocks that are not inside, or on the other side.
    rule : {"parity", "winding"}, optional
        Which blocks are inside; by default the rule of the labelling. With "winding" a mesh
        that is not closed is labelled by its solid angle: `geodomain.generalised_winding`.
    extend : {"unassigned", "background", "nearest"}
        The label of blocks outside a surface's footprint: none, not this domain, or as at the
        nearest place of its rim.
    within, beyond : float, optional
        Only blocks at most so far from the nearest of the meshes, or farther, in the unit of the
        coordinates: the float64 of `geodomain.distances` is compared. With ``kind`` they must be
        on that side too, with ``invert`` on the other: ``kind="solid", within=5`` is the skin
        inside, ``kind="solid", invert=True, within=5`` that outside, ``within=5`` both.
    colour : str, optional
        That it has in pictures, as "#b5382c"; otherwise its name decides.

    Raises
    ------
    DomainError
        For any other value.

    Examples
    --------
    >>> import geodomain
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> air = geodomain.Domain("AIR", ground, kind="above", code=0)
    >>> geodomain.label_points([[1, 1, 6], [1, 1, 4]], [air], background="ROCK")
    array(['AIR', 'ROCK'], dtype='<U4')
    """

    name: str
    meshes: tuple[Mesh, ...]
    kind: Kind = field(default="solid", kw_only=True)
    code: int | None = field(default=None, kw_only=True)
    only_if: tuple[Condition, ...] = field(default=(), kw_only=True)
    keep: bool = field(default=False, kw_only=True)
    invert: bool = field(default=False, kw_only=True)
    rule: Rule | None = field(default=None, kw_only=True)
    extend: Extend = field(default="unassigned", kw_only=True)
    within: float | None = field(default=None, kw_only=True)
    beyond: float | None = field(default=None, kw_only=True)
    colour: str | None = field(default=None, kw_only=True)

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
        colour: str | None = None,
    ) -> None:
        """Check every value, and hold them."""
        require_name(name)
        require_code(name, code)
        require_limits(name, within, beyond)
        kind = kind or usual_kind(within, beyond)
        require_colour(name, colour)
        require_choice(name, "kind", kind, get_args(Kind))
        require_choice(name, "rule", rule, (None, *get_args(Rule)))
        require_choice(name, "extend", extend, get_args(Extend))
        if kind == "either":
            require_either(name, invert, rule, within, beyond)
        elif kind != "solid" and rule is not None:
            message = f"{name}: rule is for solids; a surface is {kind} by crossings alone"
            raise DomainError(message)
        if kind in ("solid", "either") and extend != "unassigned":
            message = f"{name}: extend is for surfaces, of kind 'above' or 'below'"
            raise DomainError(message)
        conditions = only_if if isinstance(only_if, tuple) else read_conditions(only_if)
        values = {
            "name": name, "meshes": as_tiles(meshes, name), "kind": kind, "code": code,
            "only_if": conditions, "keep": bool(keep), "invert": bool(invert), "rule": rule,
            "extend": extend, "within": None if within is None else float(within),
            "beyond": None if beyond is None else float(beyond),
            "colour": None if colour is None else colour.lower(),
        }  # fmt: skip
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        """Name it, and say what it is made of; options that are not given are left out."""
        said = [repr(self.name), ", ".join(map(repr, self.meshes))]
        given = {
            "kind": (self.kind, usual_kind(self.within, self.beyond)), "code": (self.code, None),
            "keep": (self.keep, False), "invert": (self.invert, False), "rule": (self.rule, None),
            "extend": (self.extend, "unassigned"), "within": (self.within, None),
            "beyond": (self.beyond, None), "colour": (self.colour, None),
        }  # fmt: skip
        said += [f"{key}={value!r}" for key, (value, usual) in given.items() if value != usual]
        said += [f"only_if={' and '.join(map(str, self.only_if))!r}"] if self.only_if else []
        return f"Domain({', '.join(said)})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table("Domain", [self.cells()], headings=HEADINGS)

    def cells(self) -> tuple[str, ...]:
        """Return what a table says of it, under `HEADINGS`."""
        kind = f"not {self.kind}" if self.invert else self.kind
        kind += "" if self.within is None else f", within {self.within:g}"
        kind += "" if self.beyond is None else f", beyond {self.beyond:g}"
        code = "" if self.code is None else str(self.code)
        meshes = ", ".join(mesh.name for mesh in self.meshes)
        return self.name, kind, code, meshes, " and ".join(map(str, self.only_if))

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Return the box of the meshes, (2, 3), lowest corner first; a surface's has no ends.

        It is wider by what blocks may be outside, by ``within``.
        """
        box = box_of(self.meshes, flat=self.is_surface)
        if self.kind == "either" or (self.invert and self.within is not None):
            wider = math.inf if self.within is None else self.within
            box = box + np.array([[-wider], [wider]])
        return box

    @property
    def is_surface(self) -> bool:
        """Whether its blocks are on a side of a surface."""
        return self.kind in ("above", "below")

    @property
    def is_skin(self) -> bool:
        """Whether distances decide which blocks it has."""
        return self.within is not None or self.beyond is not None

    @property
    def is_solid(self) -> bool:
        """Whether its blocks fill solids, and it can overlap with others by mistake."""
        return self.kind == "solid" and not self.invert and not self.is_skin

    @property
    def wireframes(self) -> tuple[Mesh, ...]:
        """Return the meshes whose volume its blocks should have: none if conditions cut them."""
        whole = self.is_solid and not self.only_if
        return (
            self.meshes if whole and all(m.is_closed and m.is_balanced for m in self.meshes) else ()
        )


def as_tiles(meshes: MeshesLike, name: str) -> tuple[Mesh, ...]:
    """Return one or several meshes as a tuple that is not empty."""
    try:
        tiles = as_meshes(meshes, name=name)
    except TypeError as error:
        message = f"{name}: {error}"
        raise TypeError(message) from None
    if not tiles:
        message = f"{name} has no mesh"
        raise DomainError(message)
    return tiles


def box_of(meshes: Iterable[Mesh], *, flat: bool) -> NDArray[np.float64]:
    """Return the box of meshes, (2, 3); one of a flat thing goes all the way down and up."""
    boxes = np.stack([mesh.bounds for mesh in meshes])
    box = np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])
    if flat:
        box[:, 2] = -np.inf, np.inf
    return box


def require_name(name: object) -> None:
    """Refuse a name that is no text, or one that nobody could see, or tell from another."""
    if not isinstance(name, str) or name.splitlines() != [name.strip()] or unwritable(name):
        message = f"a domain's name is {shown(name)}; it must be {NAME}"
        raise DomainError(message)
    refuse_nan(name)


def refuse_nan(label: str, what: str = "a domain's name") -> None:
    """Refuse the label nan, in any case: other programs lose it when they read the labels."""
    if label.strip().lower().lstrip("+-") == "nan":
        message = (
            f"{what} is {shown(label)}, which programs read as a missing value: choose another"
        )
        raise DomainError(message)


def require_code(name: str, code: object) -> None:
    """Refuse a code that is no whole number, or that block models have no room for."""
    if code is not None and not is_code(code):
        message = f"{name}: code is {shown(code)}; it must be {CODE}"
        raise DomainError(message)


def require_colour(name: str, colour: object) -> None:
    """Refuse a colour that is not written as one."""
    if colour is not None and not is_colour(colour):
        message = f"{name}: colour is {shown(colour)}; it must be {COLOUR}"
        raise DomainError(message)


def is_colour(value: object) -> bool:
    """Return whether a value is a text such as #b5382c."""
    return isinstance(value, str) and re.fullmatch(r"#[0-9a-fA-F]{6}", value) is not None


def is_code(value: object) -> bool:
    """Return whether a value is a whole number of 32 bits, the width that block models have."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        return False
    return bool(-(2**31) <= value < 2**31)


def require_choice(name: str, key: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        known = ", ".join(repr(one) for one in choices if one is not None)
        message = f"{name}: {key} is {shown(value)}; it can be {known}"
        raise DomainError(message)
