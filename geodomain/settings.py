"""Settings, each declared once as a field of a data class.

The metadata of a field state its allowed values, its meaning, and whether the setting changes
output: see `setting`. The keys of `domains.toml`, the keywords and docstrings of functions, the
options of commands and the hash of a dataset's job are derived from the fields. This module does
not import NumPy, because `--help` needs this module and must start fast.
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
        Check only values of `domains.toml`. The keyword in Python accepts other types, or is
        checked where it is used.
    kind : {str, bool, int, float, list, dict}
        The type of an option's value; list and dict mean an option that may be repeated.
    choices : sequence of str
        All allowed values, if they are a few texts.
    low, high : float, optional
        The smallest and the largest number. If `low` is 0, a float must be larger than 0.
    reader : str
        Name of the function that reads the value of the option and of the keyword: a function of
        `geodomain.tables.options`, or a full name with a module.
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
    """Return the Key of a setting whose value is one of several texts."""
    expected = f"one of {', '.join(map(repr, choices))}"
    return Key(expected, lambda value: value in choices, None, toml_only, choices=choices)


def whole(low: int, high: int | None = None, *, toml_only: bool = False) -> Key:
    """Return the Key of a setting whose value is a whole number from `low`, up to `high` if set."""

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
    """Return the Key of a setting that a function reads from a text, or from each text of a list.

    If the setting is a mapping, the function reads a text NAME=VALUE and returns the pair.
    """
    return Key("", lambda value: True, toml_only=True, kind=kind, reader=reader)


def key(values: Key, *, hashed: bool, name: str = "", usual: object = None) -> dict[str, object]:
    """Return the metadata of a field that can be set in `domains.toml`.

    Parameters
    ----------
    values : Key
        The allowed values.
    hashed : bool
        Whether the field enters the hash of a dataset's job. True for every field that changes
        labels or output, unless the job contains the field elsewhere.
    name : str
        The key in `domains.toml`, if it differs from the field's name.
    usual : optional
        The value that is used if neither the caller nor the domains set one.
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
        Whether commands have an option for the setting, or the name of the option if it differs
        from the field's name. A command may define its own option instead.
    bare : str, optional
        The value of the option if it is given without a value on the command line.
    """
    texts = {"help": help, "note": note, "metavar": metavar, "option": option, "bare": bare}
    return field(default=default, metadata=key(values, hashed=hashed, usual=usual) | texts)


def keys_of(kind: type) -> dict[str, Key]:
    """Return the keys of a table in `domains.toml` with their allowed values, from a class."""
    return {
        entry.metadata["name"] or entry.name: entry.metadata["values"] for entry in fields(kind)
    }


def required_keys(kind: type) -> list[str]:
    """Return the keys that a table must have: the keys of fields without a default."""
    return [
        entry.metadata["name"] or entry.name
        for entry in fields(kind)
        if entry.default is MISSING and entry.default_factory is MISSING
    ]


def hashed_values(thing: object) -> Iterator[tuple[str, object]]:
    """Yield the name and value of each field that enters the hash of a dataset's job."""
    for entry in fields(thing):  # type: ignore[arg-type]
        if entry.metadata["hashed"]:
            yield entry.name, getattr(thing, entry.name)


def hashed_part(thing: Made) -> Made:
    """Return a copy in which all fields that do not enter the hash have their defaults."""
    make: Callable[..., Made] = type(thing)
    return make(**dict(hashed_values(thing)))


def require_fits(name: str, field_name: str, value: object, values: Key) -> None:
    """Raise DomainError for a value that a setting does not allow."""
    if not values.fits(value):
        where = f"{name}: " if name else ""
        message = f"{where}{field_name} is {shown(value)}; it must be {values.expected}"
        raise DomainError(message)


def require_values(thing: object) -> None:
    """Raise DomainError if a field of a data class has a value that is not allowed.

    None is allowed in a field whose default is None.
    """
    kind: Callable[..., object] = type(thing)
    for name, values, optional in _checked(kind):
        value = getattr(thing, name)
        if value is not None or not optional:
            require_fits("", name, value, values)


@functools.cache
def _checked(kind: Callable[..., object]) -> list[tuple[str, Key, bool]]:
    """Return the name, the Key, and whether None is allowed, of each field checked in Python."""
    declared = fields(kind)  # type: ignore[arg-type]
    checked = [each for each in declared if not each.metadata["values"].toml_only]
    return [(each.name, each.metadata["values"], each.default is None) for each in checked]


# --- Keywords of functions. A type checker sees `**keywords: Unpack[SomeKeywords]`, and a reader
# sees a signature and a docstring with every keyword. The function makes a data class of them.


def read_keywords(make: Callable[..., Made], keywords: Mapping[str, object], offered: type) -> Made:
    """Make a data class from the keywords of a function that are fields of the class.

    Parameters
    ----------
    make : type
        The data class.
    keywords : mapping
        The keywords of the call.
    offered : type
        The TypedDict of all keywords that the function takes.

    Raises
    ------
    TypeError
        For a keyword that the function does not take.
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
    """Return the names of the fields of a data class, or the keys of a TypedDict."""
    typed = getattr(kind, "__dataclass_fields__", None) or inspect.get_annotations(kind)
    return frozenset(typed)


def among(kind: Callable[..., Made], keywords: Mapping[str, object]) -> Made:
    """Return the keywords that are keys of a TypedDict, as this TypedDict."""
    own = _names(kind)
    return kind(**{name: value for name, value in keywords.items() if name in own})


def recorded(
    kind: type, offered: type, arguments: Mapping[str, object], keywords: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a call, for the record of a run.

    Settings that the call does not name are included with their defaults.
    """
    values = {name: value for name, value in arguments.items() if value is not keywords}
    for entry in fields(kind):
        if entry.name in offered.__annotations__:
            values[entry.name] = keywords.get(entry.name, entry.default)
    return values


def with_keywords(
    kinds: type | tuple[type, ...], offered: type, **rest: type
) -> Callable[[Function], Function]:
    """Return a decorator that adds keywords to the signature and docstring of a function.

    The signature lists the fields of the data classes `kinds` that are keys of the TypedDict
    `offered`. In the docstring these fields replace the parameter ``**settings``. The keywords of
    each TypedDict in `rest` stay a single parameter, named as in `rest`.
    """
    some = [
        entry
        for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
        for entry in fields(kind)
        if entry.name in offered.__annotations__
    ]

    def complete(function: Function) -> Function:
        called: Callable[..., object] = vars(function).get("__init__", function)
        *own, last = inspect.signature(called).parameters.values()
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
        vars(called)["__signature__"] = inspect.signature(called).replace(parameters=[*own, *more])
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
    marked = re.sub(r"\b(\w+)=(?=[\s,;.:)\]])", r"``\1``", text)
    return textwrap.fill(marked, 96, initial_indent=" " * 4, subsequent_indent=" " * 4) + "\n"


def renamed(**names: str) -> Callable[[Function], Function]:
    """Return a decorator that lets a function accept old names of keywords, with a warning.

    `names` maps each old name to the new one. docs/reference/compatibility.md lists the old names,
    and says how long they are accepted.
    """

    def complete(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: object, **keywords: object) -> object:
            for old in names.keys() & keywords.keys():
                new = names[old]
                if new in keywords:
                    message = f"{old}= is the old name of {new}=: give only {new}="
                    raise TypeError(message)
                called = function.__name__
                message = f"{called}({old}=...) is now called {called}({new}=...)"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                keywords[new] = keywords.pop(old)
            return function(*args, **keywords)

        vars(call)["renamed"] = names
        return cast("Function", call)

    return complete
