"""What blocks are labelled with: a frozen noun and its checks; no files, no labelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.conditions import Condition, read_conditions
from geodomain.errors import DomainError
from geodomain.locator import Rule
from geodomain.mesh import Mesh

Kind = Literal["solid", "above", "below"]
Extend = Literal["unassigned", "background", "nearest"]
Meshes = Mesh | Iterable[Mesh]

# What a name and a code must be, in words.
NAME = "a text of one line that is not empty and has no blanks around it"
CODE = "a whole number of 32 bits"


@dataclass(frozen=True, eq=False)
class Domain:
    """A name for the blocks inside solids, or above or below a surface.

    Parameters
    ----------
    name : str
        What its blocks are labelled with.
    meshes : Mesh or several of them
        Solids, of which it is the union, or tiles of one surface.
    kind : {"solid", "above", "below"}
        Above and below are along the vertical: see `geodomain.sides`.
    code : int, optional
        What models that carry numbers call it.
    only_if : mapping
        Conditions on columns, all of which must hold: ``{"rock": "OX"}``,
        ``{"zone": ["A", "B"]}``, ``{"grade": {">=": 0.3}}``. Missing values meet none.
    keep : bool
        Leave a label that is given already: where the last domain wins, by an earlier one;
        where the column of a table is rewritten, by what it says.
    invert : bool
        Blocks that are not inside, or on the other side.
    rule : {"parity", "winding"}, optional
        What counts as inside; that of the labelling if not given. With "winding" a mesh
        that is not closed is labelled by its solid angle: `geodomain.generalised_winding`.
    extend : {"unassigned", "background", "nearest"}
        What a surface makes of blocks outside its footprint: no label, none of this
        domain, or what the nearest place of its rim makes of them.

    Raises
    ------
    DomainError
        For a value that is none of these.

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

    def __init__(
        self,
        name: str,
        meshes: Meshes,
        *,
        kind: Kind = "solid",
        code: int | None = None,
        only_if: Mapping[str, Any] | tuple[Condition, ...] = (),
        keep: bool = False,
        invert: bool = False,
        rule: Rule | None = None,
        extend: Extend = "unassigned",
    ) -> None:
        """Check every value, and hold them."""
        require_name(name)
        require_code(name, code)
        require_choice(name, "kind", kind, get_args(Kind))
        require_choice(name, "rule", rule, (None, *get_args(Rule)))
        require_choice(name, "extend", extend, get_args(Extend))
        if kind != "solid" and rule is not None:
            message = f"{name}: rule is for solids; a surface is {kind} by crossings alone"
            raise DomainError(message)
        if kind == "solid" and extend != "unassigned":
            message = f"{name}: extend is for surfaces, of kind 'above' or 'below'"
            raise DomainError(message)
        conditions = only_if if isinstance(only_if, tuple) else read_conditions(only_if)
        values = {
            "name": name, "meshes": as_tiles(meshes, name), "kind": kind, "code": code,
            "only_if": conditions, "keep": bool(keep), "invert": bool(invert), "rule": rule,
            "extend": extend,
        }  # fmt: skip
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Give the box of all the meshes, (2, 3), lowest corner first; a surface's has no ends."""
        return box_of(self.meshes, flat=self.kind != "solid")

    @property
    def is_solid(self) -> bool:
        """Whether its blocks fill solids, and it can overlap with others by mistake."""
        return self.kind == "solid" and not self.invert

    @property
    def wireframes(self) -> tuple[Mesh, ...]:
        """Give the meshes whose volume its blocks should have: none if conditions cut them."""
        whole = self.is_solid and not self.only_if
        return (
            self.meshes if whole and all(m.is_closed and m.is_balanced for m in self.meshes) else ()
        )


def as_tiles(meshes: Any, name: str) -> tuple[Mesh, ...]:
    """Return one or several meshes as a tuple that is not empty."""
    tiles = (meshes,) if isinstance(meshes, Mesh) else tuple(meshes)
    for mesh in tiles:
        if not isinstance(mesh, Mesh):
            message = (
                f"{name}: {type(mesh).__name__} is no geodomain.Mesh; read files with read_mesh"
            )
            raise TypeError(message)
    if not tiles:
        message = f"{name} has no mesh"
        raise DomainError(message)
    return tiles


def box_of(meshes: Iterable[Mesh], *, flat: bool) -> NDArray[np.float64]:
    """Give the box of meshes, (2, 3); one of a flat thing goes all the way down and up."""
    boxes = np.stack([mesh.bounds for mesh in meshes])
    box = np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])
    if flat:
        box[:, 2] = -np.inf, np.inf
    return box


def require_name(name: Any) -> None:
    """Refuse a name that is no text, or one that nobody could see, or tell from another."""
    if not isinstance(name, str) or name.splitlines() != [name.strip()]:
        message = f"a domain's name is {name!r}; it must be {NAME}"
        raise DomainError(message)


def require_code(name: str, code: Any) -> None:
    """Refuse a code that is no whole number, or that block models have no room for."""
    if code is not None and not is_code(code):
        message = f"{name}: code is {code!r}; it must be {CODE}"
        raise DomainError(message)


def is_code(value: Any) -> bool:
    """Tell whether a value is a whole number of 32 bits, the width that block models have."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(whole and -(2**31) <= value < 2**31)


def require_choice(name: str, key: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        known = ", ".join(repr(one) for one in choices if one is not None)
        message = f"{name}: {key} is {value!r}; it can be {known}"
        raise DomainError(message)
