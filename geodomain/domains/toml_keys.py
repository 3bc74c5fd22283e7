"""The keys of a TOML list of domains, and what each may hold; reads no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypedDict, get_args

from geodomain.domains.domain import COLOUR, Extend, is_colour
from geodomain.domains.limits import DISTANCE, Kind, is_distance
from geodomain.domains.order import LabelBy, Order, Proportions
from geodomain.domains.stack import Crossing
from geodomain.io.number_columns import BELOW_DETECTION, BelowDetection
from geodomain.query.locator import Rule


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
