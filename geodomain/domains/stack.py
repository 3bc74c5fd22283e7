"""A stack: layers between surfaces that lie one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.domain import (
    HEADINGS,
    Extend,
    as_tiles,
    box_of,
    require_choice,
    require_code,
    require_colour,
    require_name,
)
from geodomain.errors import DomainError
from geodomain.html import html_table
from geodomain.inputs import MeshesLike, is_mesh_like
from geodomain.mesh.mesh import Mesh
from geodomain.tables.conditions import Condition, read_conditions

Crossing = Literal["erode", "onlap"]


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of a stack, as a domain of its own."""

    name: str
    code: int | None
    bounds: NDArray[np.float64]
    stack: Stack
    is_solid: bool = False
    keep: bool = False
    wireframes: tuple[Mesh, ...] = ()


@dataclass(frozen=True, eq=False)
class Stack:
    """Layers between surfaces that lie one below the other.

    Parameters
    ----------
    surfaces : sequence of mesh-like, or of several tiles each
        From top to bottom, as for `as_mesh`.
    layers : sequence of str
        Names from top to bottom, one more than surfaces: above the first, between each
        and the next, below the last. An empty name leaves its blocks to others.
    rule : {"erode", "onlap"}
        Where surfaces cross: the upper one cuts what is below it, so that a block above
        it is in the layer above it, whatever the others say; or the lower one stays, and
        a block below it is in the layer below it.
    codes : sequence of int, optional
        A number for each layer.
    only_if : mapping
        As a `Domain`'s, for all the layers.
    extend : {"unassigned", "background", "nearest"}
        The label of a block outside the footprint of the surface that decides its layer: no
        label, none of the stack's, or what the nearest place of the rim makes of it.
    colours : sequence of str, optional
        Of each layer in pictures, as a `Domain`'s; an empty text leaves it to the name.

    Raises
    ------
    DomainError
        For a value that is none of these, or a wrong number of layers.

    Examples
    --------
    >>> import geodomain
    >>> corners, square = [[0, 0], [9, 0], [9, 9], [0, 9]], [[0, 1, 2], [0, 2, 3]]
    >>> top, base = (geodomain.Mesh([[*c, z] for c in corners], square) for z in (8, 5))
    >>> stack = geodomain.Stack([top, base], ["AIR", "COAL", "FLOOR"])
    >>> geodomain.label_points([[2, 2, 9], [2, 2, 8], [2, 2, 6], [2, 2, 1]], [stack]).tolist()
    ['AIR', 'AIR', 'COAL', 'FLOOR']
    """

    surfaces: tuple[tuple[Mesh, ...], ...]
    layers: tuple[str, ...]
    rule: Crossing = "erode"
    codes: tuple[int | None, ...] = ()
    only_if: tuple[Condition, ...] = ()
    extend: Extend = "unassigned"
    colours: tuple[str, ...] = ()

    def __init__(
        self,
        surfaces: Iterable[MeshesLike],
        layers: Iterable[str],
        *,
        rule: Crossing = "erode",
        codes: Iterable[int] = (),
        only_if: Mapping[str, object] | tuple[Condition, ...] = (),
        extend: Extend = "unassigned",
        colours: Iterable[str] = (),
    ) -> None:
        """Check every value, and hold them."""
        several: Iterable[MeshesLike] = [surfaces] if is_mesh_like(surfaces) else surfaces
        tiles = tuple(as_tiles(surface, "a stack") for surface in several)
        names, numbers, painted = tuple(layers), tuple(codes), tuple(colours)
        if not tiles or len(names) != len(tiles) + 1:
            message = (
                f"layers must have {len(tiles) + 1} names, one more than surfaces, not {len(names)}"
                ": above the first surface, between each two, and below the last"
            )
            raise DomainError(message)
        for key, given, what in (("codes", numbers, "numbers"), ("colours", painted, "colours")):
            if given and len(given) != len(names):
                message = f"{key} must have {len(names)} {what}, one to a layer, not {len(given)}"
                raise DomainError(message)
        for name, colour in zip(names, painted, strict=False):
            require_colour(name, colour or None)
        for name, code in zip(names, numbers or (None,) * len(names), strict=True):
            if name != "":
                require_name(name)
            require_code(name, code)
        if not any(names):
            message = "every name in layers is empty: name at least one layer"
            raise DomainError(message)
        for above, below in pairwise(tiles):
            if above == below:
                message = f"surfaces has {above[0].name} twice in a row, with nothing in between"
                raise DomainError(message)
        require_choice("a stack", "rule", rule, get_args(Crossing))
        require_choice("a stack", "extend", extend, get_args(Extend))
        conditions = only_if if isinstance(only_if, tuple) else read_conditions(only_if)
        values = {
            "surfaces": tiles, "layers": names, "rule": rule,
            "codes": numbers or (None,) * len(names), "only_if": conditions, "extend": extend,
            "colours": tuple(map(str.lower, painted)),
        }  # fmt: skip
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        """Name the layers, and count the surfaces."""
        return f"Stack({list(self.layers)!r}, {len(self.surfaces)} surfaces, rule={self.rule!r})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table("Stack", self.cells(), headings=HEADINGS)

    def cells(self) -> list[tuple[str, ...]]:
        """Return what a table says of each layer, under the headings of domains."""
        conditions = " and ".join(map(str, self.only_if))
        above = [
            "",
            *(f"below {', '.join(tile.name for tile in tiles)}" for tiles in self.surfaces),
        ]
        rows = zip(self.layers, self.codes, above, strict=True)
        return [
            (name, f"layer, {self.rule}", "" if code is None else str(code), where, conditions)
            for name, code, where in rows
        ]

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """Return the layers with a name and a colour that was chosen."""
        pairs = zip(self.layers, self.colours, strict=False)
        return [(name, colour) for name, colour in pairs if name and colour]

    @property
    def title(self) -> str:
        """Return a title made of the layers."""
        return f"the stack {' / '.join(self.layers)}"

    @property
    def named(self) -> tuple[Layer, ...]:
        """Return the layers that have a name."""
        box = box_of([mesh for tiles in self.surfaces for mesh in tiles], flat=True)
        pairs = zip(self.layers, self.codes, strict=True)
        return tuple(Layer(name, code, box, self) for name, code in pairs if name)
