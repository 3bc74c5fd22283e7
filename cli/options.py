"""Options that commands share, and functions that check or convert their values."""

from __future__ import annotations

import importlib.util
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict, Unpack

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from geodomain.cli.console import as_options
from geodomain.errors import GeodomainError
from geodomain.labelling.settings import LabelSettings
from geodomain.tables.settings import PlaceSettings, TableSettings


def named_path(value: str) -> tuple[str, str]:
    """Split NAME=PATH at the first equals sign; the name is "" if only a path is given."""
    name, equals, path = value.partition("=")
    if not equals:
        name, path = "", value
    if (equals and not name) or not path:
        message = f"{value!r} is not NAME=PATH"
        raise click.BadParameter(message)
    # Not by pathlib, which raises an error if NAME is too long for the name of a file.
    if not os.path.exists(path) and os.path.exists(value):  # noqa: PTH110
        message = f"the path contains an equals sign; write NAME={value}"
        raise click.BadParameter(message)
    return name, path


def by_name(solids: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Return a list of paths for each name; several paths of one name form a union.

    If a name is "", each solid in the file is used under the name that it has in the file.
    """
    paths: dict[str, list[str]] = {}
    for name, path in solids:
        for solid, place in [(name, path)] if name else _solids_in(path):
            paths.setdefault(solid, []).append(place)
    return paths


def _solids_in(path: str) -> list[tuple[str, str]]:
    """Return the solids of a file as pairs: name, and path or FILE:NAME."""
    from geodomain.formats.wireframes import read_meshes

    names = list(read_meshes(path))
    return [(name, path if len(names) == 1 else f"{path}:{name}") for name in names]


def read_by(reader: str, *, pair: bool = False) -> Callable[[str], object]:
    """Return an option type that checks a value by calling a function; `reader` is its dotted name.

    The option keeps the text, which the library reads again. If `pair` is true, the option keeps
    the result of the function instead, a pair (NAME, VALUE). See `geodomain.settings.Key`.
    """

    def check(value: str) -> object:
        module, _, name = reader.rpartition(".")
        try:
            read = getattr(import_module(module or "geodomain.tables.options"), name)(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return read if pair else value

    return check


def as_mapping(
    _: click.Context, __: click.Parameter, pairs: Sequence[tuple[str, object]]
) -> dict[str, object]:
    """Return the pairs from all uses of an option as a dict."""
    return dict(pairs)


def from_words(choices: Sequence[str]) -> Callable[..., str | None]:
    """Return a callback that turns a choice typed with hyphens into the choice with blanks."""
    return lambda _, __, word: next(
        (each for each in choices if each.replace(" ", "-") == word), word
    )


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Return a number; raise BadParameter if it is infinite or NaN."""
    if value is not None and not math.isfinite(value):
        message = f"{value} is not a finite number"
        raise click.BadParameter(message)
    return value


def scheduler(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return the address of a Dask scheduler or local:N; raise BadParameter for any other text."""
    if value is not None:
        from geodomain.datasets.labelling import require_scheduler

        try:
            require_scheduler(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


class Picture(click.Path):
    """Option type for the path of a picture, with the allowed formats and a required library."""

    def __init__(self, kinds: tuple[str, ...], library: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._kinds, self._library = kinds, library

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path; fail if its format is not allowed, or if the library is missing."""
        picture = Path(os.fsdecode(super().convert(value, param, ctx)))
        if picture.suffix.lower() not in self._kinds:
            self.fail(f"{picture} must end in {' or '.join(self._kinds)}", param, ctx)
        if importlib.util.find_spec(self._library) is None:
            message = f"{picture} needs {self._library}, which is not installed: "
            self.fail(message + f"pip install {self._library}", param, ctx)
        return picture


def chart_option(metavar: str, what: str) -> Decorator:
    """Make the option --chart, with the help text `what`."""
    picture = Picture((".png", ".svg", ".pdf"), "matplotlib")
    return click.option("--chart", type=picture, metavar=metavar, help=what)


def count(value: str) -> int:
    """Read a positive whole number, which may be written 1e7 or 10_000_000."""
    try:
        number = float(value.replace("_", ""))
    except ValueError:
        number = math.nan
    if not 1 <= number < 2**53 or number != int(number):
        message = f"{value!r} is not a positive whole number"
        raise click.BadParameter(message)
    return int(number)


def terrain_triangles(value: str) -> int:
    """Read the number of triangles of the test surface; refuse an impossible number."""
    from geodomain.synthetic.scenes import require_possible

    triangles = count(value)
    try:
        require_possible(triangles)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return triangles


def chosen_devices(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Use only the GPUs with these numbers, such as "0,1", in this process and its children."""
    if value is None or context.resilient_parsing:
        return value
    from geodomain.compute.inventory import use_devices
    from geodomain.errors import DeviceError

    words = [word.strip() for word in value.split(",")]
    if not all(word.isdecimal() for word in words):
        message = f"{value!r} is not a list of numbers such as 0,1"
        raise click.BadParameter(message)
    try:
        use_devices([int(word) for word in words])
    except DeviceError:  # no GPU: the usual error, with its own exit code
        raise
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    os.environ["GEODOMAIN_DEVICE"] = ",".join(words)
    return value


# --- The options --section, --line and --title, shared by `geodomain plot` and `geodomain report`.


def section_option(what: str) -> Decorator:
    """Make the option --section, with the help text `what`."""
    return click.option(
        "--section",
        "sections",
        type=_section,
        multiple=True,
        metavar="AXIS=AT|START,STOP,STEP",
        help=what,
    )


def line_option(what: str) -> Decorator:
    """Make the option --line, with the help text `what`."""
    return click.option("--line", type=_line, multiple=True, metavar="X1,Y1,X2,Y2", help=what)


def title_option(what: str) -> Decorator:
    """Make the option --title, with the help text `what`."""
    return click.option("--title", metavar="TEXT", help=what)


def _line(value: str) -> str:
    """Check that a line is X1,Y1,X2,Y2, and return its text."""
    from geodomain.reporting.planes import as_lines

    try:
        as_lines(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _section(value: str) -> str:
    """Check that a section is AXIS=COORDINATE or AXIS=START,STOP,STEP, and return its text."""
    from geodomain.reporting.planes import parse_sections

    try:
        parse_sections(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


# --- Options that commands share.


class OptionSettings(TypedDict, total=False):
    """Settings of a click option that differ between commands."""

    type: object
    default: str
    show_default: bool
    required: bool
    multiple: bool


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# Each command has these options itself, because it may run without the group.
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def together(*options: Decorator) -> Decorator:
    """Return one decorator that adds several options to a command, in order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def settings_options(
    kind: type, *names: str, without: type | None = None, **helps: str
) -> Decorator:
    """Make options from the fields of a settings class.

    Parameters
    ----------
    kind : type
        The data class.
    *names : str
        Names of fields, in the order of the options. By default, all fields that have an option.
    without : type, optional
        A class whose fields are left out.
    **helps : str
        Help texts, by field name, that replace the text of the field.
    """
    entries = {entry.name: entry for entry in fields(kind) if entry.metadata["option"]}
    for entry in fields(without) if without else ():
        entries.pop(entry.name, None)
    return together(*(_option_of(entries[name], helps.get(name)) for name in names or entries))


def _option_of(entry: Field[Any], text: str | None) -> Decorator:
    """Make the option of a field; `text` replaces the help text of the field.

    Keywords in the help text, such as `leaky=`, are written as options.
    """
    default: Any = entry.default
    values, settings = entry.metadata["values"], dict[str, Any](default=default)
    help_text, option = text or entry.metadata["help"], entry.metadata["option"]
    flag = f"--{option}" if isinstance(option, str) else _flag(entry.name)
    if values.kind is bool:
        settings["is_flag"] = True
    elif values.reader:
        settings["type"] = read_by(values.reader, pair=values.kind is dict)
        settings["multiple"] = values.kind in (list, dict)
        settings["callback"] = as_mapping if values.kind is dict else None
    elif values.choices:
        settings["type"] = click.Choice([each.replace(" ", "-") for each in values.choices])
        settings["default"] = default and default.replace(" ", "-")
        settings["callback"] = from_words(values.choices)
    elif values.kind is int:
        settings["type"] = click.IntRange(values.low, values.high)
    elif values.kind is float:
        settings |= {"type": click.FloatRange(values.low, min_open=True), "callback": finite}
    if (bare := entry.metadata["bare"]) is not None:
        settings |= {"is_flag": False, "flag_value": bare}
        help_text += f"  [without a value: {bare}]"
    if default and values.kind is not bool and "[default:" not in help_text:
        settings["show_default"] = True
    return click.option(
        flag,
        entry.name,
        metavar=entry.metadata["metavar"] or None,
        help=re.sub(r"\b(\w+)=(?=[\s,;.:)\]])", lambda match: _flag(match[1]), help_text),
        **settings,
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def require_table(arguments: Mapping[str, Any]) -> None:
    """Raise a usage error if the options for rotation, origin and frame contradict each other."""
    require_settings(TableSettings, arguments)


def require_settings(kind: Callable[..., object], arguments: Mapping[str, Any]) -> None:
    """Raise a usage error, with the library's message, if options contradict each other.

    Only those options in `arguments` that are fields of the settings class `kind` are checked.
    """
    own = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    try:
        kind(**{name: value for name, value in arguments.items() if name in own})
    except GeodomainError:
        raise
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None


def _allow_memory(context: click.Context, _: click.Parameter, value: str | None) -> None:
    """Set the memory limit for this command and the processes that it starts."""
    if value is None:
        return
    import os

    from geodomain import memory

    before = os.environ.get(memory.SETTING)
    try:
        memory.read_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    os.environ[memory.SETTING] = value

    def restore() -> None:
        if before is None:
            os.environ.pop(memory.SETTING, None)
        else:
            os.environ[memory.SETTING] = before

    context.call_on_close(restore)


_memory_option = click.Option(
    ["--memory"],
    metavar="SIZE",
    expose_value=False,
    callback=_allow_memory,
    help="Memory that reading a file may use, such as 64GB; also the limit for unpacking a "
    "compressed file.  [default: GEODOMAIN_MEMORY, or three quarters of the free memory]",
)
# Commands that read no file.
_WITHOUT_FILES = {"bench", "demo", "devices", "help", "synthesize"}


def with_memory(command: click.Command, name: str) -> click.Command:
    """Add the option `--memory` to a command, or to each command of a group."""
    if isinstance(command, click.Group):
        for inner, subcommand in command.commands.items():
            with_memory(subcommand, inner)
    elif name not in _WITHOUT_FILES and _memory_option not in command.params:
        command.params.append(_memory_option)
    return command


text_options = settings_options(TableSettings, "delimiter", "decimal", "encoding", "missing")
number_options = settings_options(TableSettings, "below_detection", "detection_limit")


def origin_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --origin: a model's origin, which is also the centre of its rotation."""
    return click.option("--origin", metavar="X,Y,Z", help=what, **settings)


def size_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --size: the size of new blocks."""
    return click.option("--size", required=True, metavar="DX,DY,DZ", help=what, **settings)


def count_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --count: numbers of new blocks."""
    return click.option("--count", metavar="NX,NY,NZ", help=what, **settings)


rotation_options = settings_options(TableSettings, "rotation", "origin", "local_origin")
frame_options = together(settings_options(TableSettings, "position"), rotation_options)
box_options = settings_options(PlaceSettings)
table_options = settings_options(TableSettings, without=PlaceSettings)


def weld_option(what: str, *, zero: bool = False) -> Decorator:
    """Make the option --weld; if `zero` is true, it accepts 0, which welds only equal vertices."""
    return click.option(
        "--weld",
        type=click.FloatRange(min=0, min_open=not zero),
        callback=finite,
        metavar="TOLERANCE",
        help=what,
    )


rule_options = settings_options(LabelSettings, "rule", "allow_open", "weld")


def named_paths(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return shell completions for PATH; for NAME=PATH, return completions of the path in it."""
    name, equals, start = incomplete.rpartition("=")
    return [f"{name}{equals}{path}" for path in paths_from(start)]


def paths_from(start: str) -> list[str]:
    """Return the files and folders whose paths begin with `start`; folders end in a slash."""
    folder, name = os.path.split(start)
    place = Path(folder or ".")
    if not place.is_dir():
        return []
    entries = sorted(entry for entry in place.iterdir() if entry.name.startswith(name))
    hidden = name.startswith(".")
    return [
        os.path.join(folder, entry.name) + ("/" if entry.is_dir() else "")  # noqa: PTH118
        for entry in entries
        if hidden or not entry.name.startswith(".")
    ]


def solid_option(what: str) -> Decorator:
    """Make the option --solid, with the help text `what`."""
    return click.option(
        "--solid",
        "solids",
        type=named_path,
        shell_complete=named_paths,
        multiple=True,
        metavar="NAME=PATH",
        help=what,
    )


def domains_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --domains, with the help text `what`."""
    return click.option(
        "--domains",
        metavar="FILE.toml",
        type=click.Path(dir_okay=False, path_type=Path),
        help=what,
        **settings,
    )


list_option = domains_option(
    "TOML file with the list of domains: solids, surfaces, stacks, conditions, order."
)

domain_options = together(
    solid_option(
        "A label and its closed wireframe, such as ORE=ore.stl. If solids overlap, the first one "
        "wins; a repeated NAME is a union. PATH may be FILE:SOLID, for one solid of a file. "
        "If NAME= is left out, each solid of the file is a domain."
    ),
    list_option,
)


def output_option(metavar: str, what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option -o (--output), with the help text `what`."""
    return click.option("-o", "--output", metavar=metavar, help=what, **settings)


def column_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --column, also called --domain, with the help text `what`."""
    return click.option("--column", "--domain", "column", metavar="NAME", help=what, **settings)


def sample_grade_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --sample-grade, with the help text `what`."""
    return click.option("--sample-grade", metavar="COLUMN", help=what, **settings)


def samples_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --samples, with the help text `what`."""
    return click.option("--samples", metavar="FILE", help=what, **settings)


def background_option(what: str, **settings: Unpack[OptionSettings]) -> Decorator:
    """Make the option --background: the label of blocks outside every domain."""
    return click.option("--background", metavar="LABEL", help=what, **settings)


overwrite_option = click.option("--overwrite", is_flag=True, help="Replace existing files.")


def record_option(what: str) -> Decorator:
    """Make the option --record, with the help text `what`."""
    return click.option(
        "--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help=what
    )


replacing_options = together(
    overwrite_option,
    click.option(
        "--replace-column",
        is_flag=False,
        flag_value="",
        default=None,
        metavar="[NAME]",
        help="Overwrite the existing column NAME; without NAME, the column that --column gives.",
    ),
    click.option("--in-place", is_flag=True, help="Write the result to the input file."),
    click.option("--dry-run", is_flag=True, help="Label and report, but write no file."),
    record_option("Write a record of the run to FILE as JSON: command, inputs, results."),
)

threads_option = settings_options(LabelSettings, "threads")

devices_option = click.option(
    "--devices",
    callback=chosen_devices,
    expose_value=False,
    metavar="N[,N...]",
    help="The GPUs to use, by their numbers in 'geodomain devices'.  [default: all]",
)

machine_options = together(
    settings_options(LabelSettings, "backend"), devices_option, threads_option
)


def page_option(what: str) -> Decorator:
    """Make the option --report, with the help text `what`."""
    return click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.html",
        help=what,
    )


labelled_page_option = page_option(
    "Write a report of the labelled model as well. For samples, grades and drillholes in it, "
    "run 'geodomain report' on the labelled file, with --record."
)

scheduler_option = click.option(
    "--scheduler",
    callback=scheduler,
    metavar="local:N|tcp://HOST:PORT",
    help="If BLOCKS is a folder, pattern or URL: label its files with Dask, in N local processes "
    "or on the workers of the scheduler at HOST:PORT.",
)

take_over_option = click.option(
    "--take-over",
    is_flag=True,
    help="If BLOCKS is a folder, pattern or URL: use the output folder even if an interrupted run "
    "has left it locked.",
)

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write the result as JSON to stdout."
)

report_options = together(json_option, quiet_option)


# --- Shell completion in Bash.


class WholeWords(BashComplete):
    """Completion for Bash. Bash splits NAME=PATH into three words and replaces only PATH."""

    name = "bash"

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words on the line; the three words of NAME=PATH are joined to one."""
        args, incomplete = super().get_completion_args()
        joined: list[str] = []
        for word in (*args, incomplete):
            if joined and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        return joined[:-1], joined[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return a completion without the text up to the equals sign; Bash keeps that text."""
        value = item.value.rpartition("=")[2] if item.type == "plain" else item.value
        return f"{item.type},{value}"


def offer() -> None:
    """Register the class `WholeWords` with click as the completion for Bash."""
    add_completion_class(WholeWords, "bash")
