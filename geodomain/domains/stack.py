"""A stack: layers between surfaces that lie one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.domain import (
    CODES,
    COLOUR,
    CONDITIONS,
    EXTEND,
    HEADINGS,
    SHIFT,
    Extend,
    Shift,
    as_shift,
    as_tiles,
    box_of,
    in_words,
    is_code,
    is_colour,
    is_list,
    is_mesh_name,
    require_name,
    shifted,
)
from geodomain.errors import DomainError
from geodomain.inputs import MeshesLike, is_mesh_like
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table
from geodomain.settings import Key, key, one_of, require_fits
from geodomain.tables.conditions import Condition, read_conditions

Crossing = Literal["erode", "onlap"]

_SURFACES = Key(
    "a list of mesh files from top to bottom, each a name or a list of names",
    partial(is_list, fits=is_mesh_name),
)
_LAYERS = Key(
    "a list of names from top to bottom, one more than surfaces",
    partial(is_list, fits=lambda name: isinstance(name, str)),
)
_RULE = one_of(get_args(Crossing))
_CODES = Key(f"a list, one per layer, each {CODES.expected}", partial(is_list, fits=is_code))
_COLOURS = Key(
    f"a list, one per layer, each {COLOUR.expected}, or empty",
    partial(is_list, fits=lambda colour: colour == "" or is_colour(colour)),
)


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of a stack, as a separate domain."""

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
        From top to bottom; see `as_mesh` for the types.
    layers : sequence of str
        Names from top to bottom, one more than there are surfaces. The first layer is above the
        first surface, the last layer is below the last surface, and the others lie between two
        surfaces. A layer with an empty name labels no blocks; other stacks may label them.
    rule : {"erode", "onlap"}
        Which surface decides where surfaces cross. With "erode", the upper surface cuts the lower
        surfaces: a block above the upper surface is in the layer above it. With "onlap", the lower
        surface decides: a block below the lower surface is in the layer below it.
    codes : sequence of int, optional
        Code of each layer.
    only_if : mapping
        Conditions for all the layers, as for a `Domain`.
    extend : {"unassigned", "background", "nearest"}
        Treatment of a block outside the footprint of the surface that decides its layer. With
        "unassigned", the block is unassigned. With "background", it is in no layer of this stack.
        With "nearest", the surface continues beyond its footprint at the height of the nearest
        point of its rim.
    shift : sequence of 3 floats, optional
        Moves all surfaces, as for a `Domain`.
    colours : sequence of str, optional
        Colour of each layer in pictures, as for a `Domain`; an empty text means the default.

    Raises
    ------
    DomainError
        If a value is invalid, the number of layers is wrong, or a triangle collapses by ``shift``.

    Examples
    --------
    >>> import geodomain
    >>> corners, square = [[0, 0], [9, 0], [9, 9], [0, 9]], [[0, 1, 2], [0, 2, 3]]
    >>> top, base = (geodomain.Mesh([[*c, z] for c in corners], square) for z in (8, 5))
    >>> stack = geodomain.Stack([top, base], ["AIR", "COAL", "FLOOR"])
    >>> geodomain.label_points([[2, 2, 9], [2, 2, 8], [2, 2, 6], [2, 2, 1]], [stack]).tolist()
    ['AIR', 'AIR', 'COAL', 'FLOOR']
    """

    surfaces: tuple[tuple[Mesh, ...], ...] = field(metadata=key(_SURFACES, hashed=True))
    layers: tuple[str, ...] = field(metadata=key(_LAYERS, hashed=True))
    rule: Crossing = field(default="erode", metadata=key(_RULE, hashed=True))
    codes: tuple[int | None, ...] = field(default=(), metadata=key(_CODES, hashed=True))
    only_if: tuple[Condition, ...] = field(default=(), metadata=key(CONDITIONS, hashed=True))
    extend: Extend = field(default="unassigned", metadata=key(EXTEND, hashed=True))
    shift: Shift | None = field(default=None, metadata=key(SHIFT, hashed=True))
    colours: tuple[str, ...] = field(default=(), metadata=key(_COLOURS, hashed=False))

    def __init__(
        self,
        surfaces: Iterable[MeshesLike],
        layers: Iterable[str],
        *,
        rule: Crossing = "erode",
        codes: Iterable[int] = (),
        only_if: Mapping[str, object] | tuple[Condition, ...] = (),
        extend: Extend = "unassigned",
        shift: Sequence[float] | None = None,
        colours: Iterable[str] = (),
    ) -> None:
        """Check every value, and set the fields."""
        several: Iterable[MeshesLike] = [surfaces] if is_mesh_like(surfaces) else surfaces
        tiles = tuple(as_tiles(surface, "a stack") for surface in several)
        names, numbers, paints = tuple(layers), tuple(codes), tuple(colours)
        if not tiles or len(names) != len(tiles) + 1:
            message = (
                f"'layers' must have {len(tiles) + 1} names, one more than 'surfaces', but it has "
                f"{len(names)}: give one name for the layer above the first surface, one for each "
                "layer between two surfaces, and one for the layer below the last surface"
            )
            raise DomainError(message)
        for option, values, noun in (("codes", numbers, "numbers"), ("colours", paints, "colours")):
            if values and len(values) != len(names):
                message = (
                    f"{option!r} must have {len(names)} {noun}, one per layer, not {len(values)}"
                )
                raise DomainError(message)
        for name, colour in zip(names, paints, strict=False):
            if colour != "":
                require_fits(name, "colour", colour, COLOUR)
        for name in filter(None, names):
            require_name(name)
        for name, code in zip(names, numbers, strict=False):
            if code is not None:
                require_fits(name, "code", code, CODES)
        if not any(names):
            message = "every name in layers is empty: name at least one layer"
            raise DomainError(message)
        for above, below in pairwise(tiles):
            if above == below:
                message = (
                    f"'surfaces' lists {above[0].name} twice in succession, so the layer in "
                    "between is empty: list each surface once"
                )
                raise DomainError(message)
        require_fits("a stack", "rule", rule, _RULE)
        require_fits("a stack", "extend", extend, EXTEND)
        if shift is not None:
            require_fits("a stack", "shift", shift, SHIFT)
        fields = {
            "surfaces": tiles, "layers": names, "rule": rule, "extend": extend,
            "codes": tuple(None if code is None else int(code) for code in numbers)
            or (None,) * len(names),
            "only_if": only_if if isinstance(only_if, tuple) else read_conditions(only_if),
            "colours": tuple(map(str.lower, paints)),
            "shift": shift if shift is None else as_shift(shift),
        }  # fmt: skip
        for option, value in fields.items():
            object.__setattr__(self, option, value)
        _ = self.placed  # raises an error if a triangle collapses

    def __repr__(self) -> str:
        """Return the names of the layers, the number of surfaces, the rule and the shift."""
        shift = "" if self.shift is None else f", shift={self.shift!r}"
        several = f"{len(self.surfaces)} surfaces"
        return f"Stack({list(self.layers)!r}, {several}, rule={self.rule!r}{shift})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table("Stack", self.cells(), headings=HEADINGS)

    def cells(self) -> list[tuple[str, ...]]:
        """Return a row of a table for each layer, with the columns of `HEADINGS`."""
        conditions, moved = " and ".join(map(str, self.only_if)), in_words(self.shift)
        above = [
            "",
            *(f"below {', '.join(tile.name for tile in tiles)}{moved}" for tiles in self.surfaces),
        ]
        rows = zip(self.layers, self.codes, above, strict=True)
        return [
            (name, f"layer, {self.rule}", "" if code is None else str(code), where, conditions)
            for name, code, where in rows
        ]

    @cached_property
    def placed(self) -> tuple[tuple[Mesh, ...], ...]:
        """The tiles of each surface, moved by ``shift``: the stack as it labels blocks."""
        return tuple(shifted(tiles, self.shift, self.title) for tiles in self.surfaces)

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """The name and colour of each layer whose colour the user chose."""
        pairs = zip(self.layers, self.colours, strict=False)
        return [(name, colour) for name, colour in pairs if name and colour]

    @property
    def title(self) -> str:
        """The name of the stack in messages, made of its layers."""
        return f"the stack {' / '.join(self.layers)}"

    @property
    def named(self) -> tuple[Layer, ...]:
        """The layers with a name."""
        box = box_of([mesh for tiles in self.placed for mesh in tiles], flat=True)
        pairs = zip(self.layers, self.codes, strict=True)
        return tuple(Layer(name, code, box, self) for name, code in pairs if name)
