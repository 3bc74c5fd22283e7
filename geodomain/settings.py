"""Settings, each declared once as a field of a data class.

The metadata of a field state its allowed values, its meaning, and whether it changes output: see
`setting`. Keys of `domains.toml`, keywords and docstrings of functions, options of commands and
the hash of a dataset's job follow from the fields. This module does not import NumPy, because
`--help` imports it.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeVar, cast

from geodomain.errors import DomainError, shown

Rule = Literal["parity", "winding"]
BackendName = Literal["auto", "cpu", "cuda"]

Made = TypeVar("Made")
Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., object])


class Key(NamedTuple):
    """The values that a setting may have.

    Attributes
    ----------
    expected : str
        Description of the values, for messages.
    fits : callable
        Returns whether a value is allowed.
    convert : callable, optional
        Converts an allowed value to the value of the field.
    toml_only : bool
        Check only values of `domains.toml`. The argument in Python has other types, or is
        checked where it is used.
    kind : {str, bool, int, float, list, dict}
        The type of an option's value; list and dict mean an option that may be repeated.
    choices : sequence of str
        All the values, if they are a few texts.
    low, high : float, optional
        The smallest and the largest number. A float must be larger than a `low` of 0.
    reader : str
        Name of the function that reads the value, both of the option and of the keyword: a function
        of `geodomain.tables.options`, or a full name with its module.
    """

    expected: str
    fits: Callable[[object], bool]
    convert: Callable[..., object] | None = None
    toml_only: bool = False
    kind: type = str
    choices: Sequence[str] = ()
    low: float | None = None
    high: float | None = None
    reader: str = ""


def one_of(choices: Sequence[str], *, toml_only: bool = False) -> Key:
    """Return the key of a setting that is one of several texts."""
    expected = f"one of {', '.join(map(repr, choices))}"
    return Key(expected, lambda value: value in choices, None, toml_only, choices=choices)


def whole(low: int, high: int | None = None, *, toml_only: bool = False) -> Key:
    """Return the key of a setting that is a whole number."""

    def fits(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return low <= value <= (math.inf if high is None else high)

    expected = f"a whole number from {low}" + ("" if high is None else f" to {high}")
    return Key(expected, fits, None, toml_only, int, low=low, high=high)


FLAG = Key("true or false", lambda value: isinstance(value, bool), bool, True, bool)
TEXT = Key("a text", lambda value: isinstance(value, str), toml_only=True)
LENGTH = Key(
    "a number above 0",
    lambda value: isinstance(value, int | float) and 0 < value < math.inf,
    toml_only=True,
    kind=float,
    low=0,
)


def read_by(reader: str, kind: type = str) -> Key:
    """Return the key of a setting that a function reads: a text, or each text of a list.

    For a mapping, the function reads one NAME=VALUE of an option, and returns the pair.
    """
    return Key("", lambda value: True, toml_only=True, kind=kind, reader=reader)


def key(values: Key, *, hashed: bool, name: str = "", usual: object = None) -> dict[str, object]:
    """Return the metadata of a field that `domains.toml` can set.

    Parameters
    ----------
    values : Key
        The allowed values.
    hashed : bool
        Whether the field enters the hash of a dataset's job. True for every field that changes
        labels or output, unless the job contains it elsewhere.
    name : str
        The key in `domains.toml`, if it differs from the field's name.
    usual : optional
        The value that None means if neither the caller nor the domains set one.
    """
    return {"values": values, "hashed": hashed, "name": name, "usual": usual}


def setting(
    default: Value,
    values: Key,
    help: str,
    *,
    hashed: bool,
    usual: object = None,
    note: str = "",
    metavar: str = "",
    option: bool | str = True,
    bare: str | None = None,
) -> Value:
    """Return a field that is a keyword of functions and an option of commands.

    Parameters
    ----------
    default : optional
        None means the value of the domains, or the default of the function that uses the setting.
    values, hashed, usual
        As for `key`.
    help : str
        Help text of the option, and first part of the docstring. It names other settings as
        keywords, such as ``allow_open=``, which a command prints as ``--allow-open``.
    note : str
        Further text for the docstring.
    metavar : str
        Placeholder for the value in the help of the option.
    option : bool or str
        Whether commands have an option for the setting, or the name of the option if it differs. A
        command may define its own option instead.
    bare : str, optional
        The value of the option if it is given without a value.
    """
    told = {"help": help, "note": note, "metavar": metavar, "option": option, "bare": bare}
    return field(default=default, metadata=key(values, hashed=hashed, usual=usual) | told)


def keys_of(kind: type) -> dict[str, Key]:
    """Return the keys of a table of `domains.toml`, by the fields of its class."""
    return {
        entry.metadata["name"] or entry.name: entry.metadata["values"] for entry in fields(kind)
    }


def required_keys(kind: type) -> list[str]:
    """Return the keys that a table must have: the fields without a default."""
    return [
        entry.metadata["name"] or entry.name
        for entry in fields(kind)
        if entry.default is MISSING and entry.default_factory is MISSING
    ]


def hashed_values(thing: object) -> Iterator[tuple[str, object]]:
    """Return the fields that enter the hash of a dataset's job, with their values."""
    for entry in fields(thing):  # type: ignore[arg-type]
        if entry.metadata["hashed"]:
            yield entry.name, getattr(thing, entry.name)


def hashed_part(thing: Made) -> Made:
    """Return a copy with the defaults of all fields that do not enter the hash."""
    make: Callable[..., Made] = type(thing)
    return make(**dict(hashed_values(thing)))


def require_fits(name: str, field_name: str, value: object, values: Key) -> None:
    """Refuse a value that a setting does not allow."""
    if not values.fits(value):
        where = f"{name}: " if name else ""
        message = f"{where}{field_name} is {shown(value)}; it must be {values.expected}"
        raise DomainError(message)


def require_values(thing: object) -> None:
    """Refuse values that the fields of a data class do not allow; None means not set yet."""
    kind: Callable[..., object] = type(thing)
    for name, values, optional in _checked(kind):
        value = getattr(thing, name)
        if value is not None or not optional:
            require_fits("", name, value, values)


@functools.cache
def _checked(kind: Callable[..., object]) -> list[tuple[str, Key, bool]]:
    """Return the checked fields of a class, their keys, and whether they may be None."""
    declared = fields(kind)  # type: ignore[arg-type]
    checked = [each for each in declared if not each.metadata["values"].toml_only]
    return [(each.name, each.metadata["values"], each.default is None) for each in checked]


# --- Keywords of functions. A type checker sees `**keywords: Unpack[SomeKeywords]`, and a reader
# sees a signature and a docstring with every keyword. The function makes a data class of them.


def read_keywords(make: Callable[..., Made], keywords: Mapping[str, object], offered: type) -> Made:
    """Make a data class from the keywords of a function that are its fields.

    Parameters
    ----------
    make : type
        The data class.
    keywords : mapping
        The keywords of the call.
    offered : type
        The TypedDict of all its keywords.

    Raises
    ------
    TypeError
        For an unknown keyword.
    """
    for name in keywords.keys() - offered.__annotations__.keys():
        close = get_close_matches(name, offered.__annotations__, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        message = f"there is no keyword {name!r}{hint}"
        raise TypeError(message)
    own = _names(make)
    return make(**{name: value for name, value in keywords.items() if name in own})


@functools.cache
def _names(kind: Callable[..., object]) -> frozenset[str]:
    """Return the fields of a data class, or the keys of a TypedDict."""
    typed = getattr(kind, "__dataclass_fields__", None) or inspect.get_annotations(kind)
    return frozenset(typed)


def among(kind: Callable[..., Made], keywords: Mapping[str, object]) -> Made:
    """Return the keywords that are in a TypedDict."""
    own = _names(kind)
    return kind(**{name: value for name, value in keywords.items() if name in own})


def recorded(
    kind: type, offered: type, arguments: Mapping[str, object], keywords: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a call for its record, with defaults for missing settings."""
    found = {name: value for name, value in arguments.items() if value is not keywords}
    for entry in fields(kind):
        if entry.name in offered.__annotations__:
            found[entry.name] = keywords.get(entry.name, entry.default)
    return found


def with_keywords(
    kinds: type | tuple[type, ...], offered: type, **rest: type
) -> Callable[[Function], Function]:
    """Return a decorator that writes keywords into the signature and docstring of a function.

    The signature lists the fields of `kinds` that are keys of the TypedDict `offered`. In the
    docstring they replace the parameter ``**settings``. All other keywords stay one parameter:
    `rest` is its name and TypedDict.
    """
    some = [
        entry
        for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
        for entry in fields(kind)
        if entry.name in offered.__annotations__
    ]

    def complete(function: Function) -> Function:
        called: Callable[..., object] = vars(function).get("__init__", function)
        *given, last = inspect.signature(called).parameters.values()
        more = [
            inspect.Parameter(
                entry.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=entry.default,
                annotation=entry.type,
            )
            for entry in some
        ]
        more += [
            last.replace(name=name, annotation=f"Unpack[{typed.__name__}]")
            for name, typed in rest.items()
        ]
        vars(called)["__signature__"] = inspect.signature(called).replace(
            parameters=[*given, *more]
        )
        entries = "".join(
            f"{entry.name} : {_described(entry.type, entry.metadata['values'])}\n"
            + _filled(entry.metadata["help"], entry.metadata["note"])
            for entry in some
        )
        if function.__doc__:
            doc = inspect.cleandoc(function.__doc__)
            function.__doc__ = doc.replace("\n**settings\n", f"\n{entries}")
        return function

    return complete


def _described(annotation: object, values: Key) -> str:
    """Return the type of a keyword as text for a docstring."""
    text, optional = str(annotation).removesuffix(" | None"), str(annotation).endswith("| None")
    if values.choices:
        text = "{" + ", ".join(f'"{choice}"' for choice in values.choices) + "}"
    return f"{text}, optional" if optional else text


def _filled(help: str, note: str) -> str:
    """Return the description of a keyword as lines of a docstring, with the default at the end."""
    what, bracket, default = help.partition("  [default")
    text = " ".join(f"{what} {note} {bracket}{default}".split())
    said = re.sub(r"\b(\w+)=(?=[\s,;.:)\]])", r"``\1``", text)
    return textwrap.fill(said, 96, initial_indent=" " * 4, subsequent_indent=" " * 4) + "\n"


def renamed(**names: str) -> Callable[[Function], Function]:
    """Return a decorator that takes old names of keywords, too, and warns of them.

    `names` are the new names by the old ones. docs/reference/compatibility.md lists them, and says
    how long they stay.
    """

    def complete(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: object, **keywords: object) -> object:
            for old in names.keys() & keywords.keys():
                new = names[old]
                if new in keywords:
                    message = f"{old}= and {new}= are one keyword: give {new}="
                    raise TypeError(message)
                called = function.__name__
                message = f"{called}({old}=...) is now called {called}({new}=...)"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                keywords[new] = keywords.pop(old)
            return function(*args, **keywords)

        vars(call)["renamed"] = names
        return cast("Function", call)

    return complete
