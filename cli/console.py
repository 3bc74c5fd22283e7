"""Output of commands: results, warnings, progress, errors and exit codes."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shlex
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NoReturn, TextIO

import click

from geodomain.errors import DeviceError, GeodomainError, GeodomainWarning, visible

_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
# Extras installed for several features.
_WIDE = {"all", "bench", "docs", "test"}
_DISTRIBUTIONS = {"vtkmodules": "pyvista"}


def mend_missing(error: ModuleNotFoundError) -> str | None:
    """Return a message on how to install a missing library; None for other modules."""
    module = (error.name or "").partition(".")[0]
    name = _DISTRIBUTIONS.get(module, module)
    extras = _extras().get(name)
    if extras is None:
        return None
    narrow = sorted(extras - _WIDE) or sorted(extras)
    wanted = name if "" in extras else f"'geodomain[{narrow[0]}]'"
    return f"this needs {name}, which is not installed: pip install {wanted}"


def _extras() -> dict[str, set[str]]:
    """Return the extras that install each library; "" stands for a library always installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("geodomain") or []
    except PackageNotFoundError:
        lines = []
    extras: dict[str, set[str]] = {}
    for line in lines:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is not None:
            extras.setdefault(name[0].lower(), set()).add(extra[1] if extra else "")
    return extras


# --- The library's messages contain keywords (`x=`), which commands print as options (`--x`).

_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"True|{_TEXT}|\{{[^{{}}]*\}}|\([^()]*\)"


@cache
def keywords() -> dict[str, str]:
    """Return a dict: for each keyword in messages of the library (`x=`), the option (`--x`).

    The modules with the settings are imported inside this function, because most commands print
    no such message.
    """
    from geodomain.drillholes.settings import HoleSettings
    from geodomain.labelling.settings import LabelSettings
    from geodomain.solids.settings import SolidSettings
    from geodomain.statistics.settings import ContactSettings, ReportSettings
    from geodomain.tables.settings import TableSettings

    settings = (
        *fields(LabelSettings),
        *fields(SolidSettings),
        *fields(TableSettings),
        *fields(HoleSettings),
        *fields(ReportSettings),
        *fields(ContactSettings),
    )
    names = (
        *(entry.name for entry in settings),
        *("start", "end", "vertex_type", "ray_type"),
        *("bench", "output", "overwrite", "take_over", "devices", "blocks"),
        *("count", "fit", "margin", "fill", "size"),
        *("collar", "survey", "intervals", "min_length", "pierce", "coordinates"),
        *("within", "twin", "curve", "colour_by", "grade", "sample_grade", "grade_unit", "cutoff"),
        *("classes", "scale", "paper", "prepared_by", "unit"),
        *("scheduler", "density", "density_unit", "proportion", "between", "chart"),
        "classification",
        *("feature", "orientations", "logged", "name_by", "max_gap"),
        *("resolution", "extensive", "parent", "scheme", "minimum", "only", "smooth"),
    )
    named = {
        entry.name: f"--{entry.metadata['option']}"
        for entry in fields(HoleSettings)
        if isinstance(entry.metadata["option"], str)
    }
    others = {
        "domains": "--solid",
        "replace": "--replace-column",
        "holes": "--collar",
        "samples": "--intervals",
        "target": "--for",
        "values": "--value",
    }
    return {name: "--" + name.replace("_", "-") for name in names} | named | others


@cache
def _words() -> re.Pattern[str]:
    """Return the pattern that finds keywords, such as `x=`, in a message.

    Keywords are not searched in values separated by commas, because these are part of a command
    line.
    """
    name = rf"\b(?:{'|'.join(keywords())})="
    with_value = rf"{name}(?:{_VALUE})"
    return re.compile(
        rf"(?<![\w.'\"=-])(?:{with_value}(?:, {with_value})*|{name}(?=[\s,;.:)\]]|$))"
    )


# The option --memory sets this environment variable, which the library's messages name.
_ALLOWS = "GEODOMAIN_MEMORY allows"
_WELD = rf"geodomain\.weld\(({_TEXT}), ([^()]+)\)"


def as_options(message: str) -> str:
    """Return a message with keywords written as options, and calls of `weld` as commands.

    Examples
    --------
    >>> as_options("name them with x= and y=, or use backend='cpu'")
    'name them with --x and --y, or use --backend cpu'
    """
    message = message.replace("GEODOMAIN_MEMORY=", "--memory ").replace(_ALLOWS, "--memory allows")
    return _words().sub(_options, re.sub(_WELD, _weld_command, message))


def _options(match: re.Match[str]) -> str:
    """Return the options for a list of keywords, such as `x='EAST', y='NORTH'`."""
    return " ".join(_option(*pair) for pair in re.findall(rf"(\w+)=({_VALUE})?", match[0]))


def _option(keyword: str, value: str) -> str:
    """Return a keyword as an option for the shell, followed by its value unless the value is ""."""
    option = keywords()[keyword]
    if value in ("", "True"):
        return option
    parsed = ast.literal_eval(value)
    if isinstance(parsed, str):
        joint = (
            "=" if parsed.startswith("-") else " "
        )  # otherwise the value would be read as an option
        return f"{option}{joint}{shlex.quote(parsed)}"
    if isinstance(parsed, tuple):
        return " ".join([option, *map(shlex.quote, parsed)])
    pairs = (
        shlex.quote(f"{name}={value}")
        for name, values in parsed.items()
        for value in (values if isinstance(values, list) else [values])
    )
    return " ".join(f"{option} {pair}" for pair in pairs)


def _weld_command(call: re.Match[str]) -> str:
    """Return the `geodomain check` command that replaces a call of `weld` in a message.

    The command writes a mesh in the format of the mesh's file. If geodomain cannot write a single
    mesh in that format, the command writes PLY.
    """
    from geodomain.formats.registry import writer_of_meshes

    path = ast.literal_eval(call[1])
    quoted = f'"{path}"' if " " in path else path
    suffix = Path(path).suffix.lower()
    form = writer_of_meshes(suffix)
    target = f"closed{suffix if form and form.write_mesh else '.ply'}"
    return f"'geodomain check {quoted} --weld {call[2]} -o {target}'"


# --- Errors as one line on stderr, with a documented exit code.

# Keys of the click context: whether JSON goes to stdout or stderr, and whether it has been written.
WANTED, WRITTEN = "geodomain.json wanted", "geodomain.json written"
# Name of an error in JSON, by exit code.
_KINDS = {2: "usage", 3: "bad input", 4: "input or output", 5: "device", 130: "interrupted"}
BAD_INPUT, INPUT_OUTPUT, DEVICE, INTERRUPTED = 3, 4, 5, 130


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors that the user can correct into exit codes; bugs keep their traceback.

    A closed pipe is not an error, because the program that reads it has stopped on purpose. If an
    error cannot be printed, for example on a full disk, only the exit code reports it.
    """
    try:
        yield
    except click.UsageError as error:
        vars(error)["message"] = visible(error.message, lines=True)  # click declares it final
        with suppress(OSError):
            error.show()
        with suppress(OSError):
            _write_json(error.format_message(), error.exit_code)
        raise SystemExit(error.exit_code) from None
    except DeviceError as error:
        _fail(str(error), DEVICE)
    except GeodomainError as error:
        _fail(str(error), BAD_INPUT)
    except ModuleNotFoundError as error:
        mend = mend_missing(error)
        if mend is None:
            raise
        _fail(mend, BAD_INPUT)
    except ImportError as error:  # no memory even to format the error
        if not any(phrase in str(error).lower() for phrase in ("failed to map", "allocate memory")):
            raise
        _fail("not enough memory", INPUT_OUTPUT)
    except BrokenPipeError:
        _leave_pipe()
    except OSError as error:
        _fail(message_of(error), INPUT_OUTPUT)
    except MemoryError:
        _fail("not enough memory", INPUT_OUTPUT)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        _fail("the system allows no more threads: use fewer with --threads", INPUT_OUTPUT)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


# Texts of a domains.toml, and the number of bytes that are searched for them.
_QUOTED = re.compile(r""" "([^"\n]*)" | '([^'\n]*)' """, re.VERBOSE)
_MOST_TOML = 1 << 20


def refuse_own_input(words: Sequence[str]) -> None:
    """Refuse to print into an input file, because this would destroy the file.

    Inputs are the files on the command line, the files that a domains.toml on the command line
    names, and standard input for a dash.

    Raises
    ------
    OSError
        If an input file would be overwritten. Nothing has been read or printed then.
    """
    streams = [
        (name, status)
        for name, stream in (("standard output", sys.stdout), ("standard error", sys.stderr))
        if (status := _regular(partial(_status_of, stream))) is not None
    ]
    for word in words if streams else ():
        for path in sorted(_named_by(word)):
            look = partial(_status_of, sys.stdin) if path == "-" else partial(os.stat, path)
            status = _regular(look)
            spoilt = [
                name
                for name, own in streams
                if status is not None and os.path.samestat(own, status)
            ]
            if spoilt:
                _keep_silent(spoilt)
                shown = "standard input" if path == "-" else path
                message = f"{spoilt[0]} is the input file {shown}: redirect it to another file"
                raise OSError(message)


def _named_by(word: str) -> set[str]:
    """Return the paths that a word of the command line may name.

    For a domains.toml, the paths in this file are included.
    """
    value = word.partition("=")[2]
    paths = {part for whole in (word, value) for part in (whole, whole.rpartition(":")[0])}
    for path in [path for path in paths if path.endswith(".toml")]:
        with suppress(OSError, ValueError), Path(path).open(encoding="utf-8") as file:
            texts = [own or other for own, other in _QUOTED.findall(file.read(_MOST_TOML))]
            names = {part for text in texts for part in (text, text.rpartition(":")[0])}
            paths |= {str(Path(path).parent / name) for name in names - {""}}
    return paths - {""}


def _keep_silent(names: Sequence[str]) -> None:
    """Keep error messages off the streams `names`; use the other standard stream if possible."""
    context = click.get_current_context(silent=True)
    where = context.meta.get(WANTED) if context else ""
    out, err = "standard output" in names, "standard error" in names
    if context is not None and (out, err)[where == "stderr"]:
        context.meta[WRITTEN] = True
    if err:
        silent = out or where == "stdout"
        sys.stderr = io.TextIOWrapper(io.BytesIO()) if silent else sys.stdout


def _status_of(stream: TextIO) -> os.stat_result:
    return os.fstat(stream.fileno())


def _regular(look: Callable[[], os.stat_result]) -> os.stat_result | None:
    """Return the file status that `look` gives; None if the file is not a regular file."""
    with suppress(OSError, ValueError, AttributeError):
        status = look()
        return status if stat.S_ISREG(status.st_mode) else None
    return None


def _fail(message: str, code: int) -> NoReturn:
    """End with a red line on stderr and an exit code.

    If JSON was requested, also write the error as JSON.
    """
    with suppress(OSError):
        print_error(message)
    with suppress(OSError):
        _write_json(message, code)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print an error as one red line, with keywords written as options."""
    text = visible(as_options(" ".join(message.split())))
    click.secho(f"error: {text}", fg="red", err=True)


def wants_json(args: Sequence[str]) -> Literal["stdout", "stderr", ""]:
    """Return the stream to which a command writes JSON, or "" if the arguments do not ask for JSON.

    The stream is stderr if the command writes data to stdout.
    """
    if "--json" not in args:
        return ""
    data = any(pair in (("-o", "-"), ("--output", "-")) for pair in pairwise(args))
    return "stderr" if data or {"-o-", "--output=-"} & set(args) else "stdout"


def _write_json(message: str, code: int) -> None:
    """Write an error as JSON, if JSON was requested and no result has been written as JSON."""
    context = click.get_current_context(silent=True)
    where = context.meta.get(WANTED) if context else ""
    if context is None or not where or context.meta.get(WRITTEN):
        return
    text = as_options(" ".join(message.split()))
    error = {"kind": _KINDS.get(code, "bug"), "message": text, "exit_code": code}
    click.echo(json.dumps({"error": error}, indent=2), err=where == "stderr")


def message_of(error: Exception) -> str:
    """Return the message of an error; for an OSError, the file and the reason."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _leave_pipe() -> NoReturn:
    """Exit without a message after a pipe was closed, and write nothing more to the pipe."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)


# --- Printing of results, then warnings; progress on a terminal.

# Key of the click context: consoles whose warnings are printed after the result.
_LATER = "geodomain.warnings later"
# JSON keys whose values are sentences; all others are data.
_SENTENCES = {"backend_reason", "faults", "mend", "notes", "reason", "rotation", "warnings"}


@dataclass
class Console:
    """Printer of notes and progress to stderr, and of warnings after the result.

    Attributes
    ----------
    quiet : bool
        Whether notes and warnings are left out.
    warnings : list of str
        Warnings collected so far.
    """

    quiet: bool
    warnings: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a text to stderr, unless `quiet` is true."""
        if not self.quiet:
            click.echo(visible(text, lines=True), err=True)

    def warn(self, message: str) -> None:
        """Store a warning to be printed later; equal warnings are stored once."""
        message = as_options(" ".join(str(message).split()))
        if message not in self.warnings:
            self.warnings.append(message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect the library's warnings, to print them after the result of the command.

        If a command ends with an error, only the error is printed. If no command is running,
        warnings are printed at the end of the `with` statement.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("always", GeodomainWarning)
            show = warnings.showwarning

            def showwarning(
                message: Warning | str,
                category: type[Warning],
                filename: str,
                lineno: int,
                file: TextIO | None = None,
                line: str | None = None,
            ) -> None:
                if issubclass(category, GeodomainWarning):
                    self.warn(str(message))
                else:
                    show(message, category, filename, lineno, file, line)

            warnings.showwarning = showwarning
            yield
        context = click.get_current_context(silent=True)
        if context is None:
            self.tell()
        else:
            context.meta.setdefault(_LATER, {})[id(self)] = self

    def tell(self) -> None:
        """Print the stored warnings to stderr, unless `quiet` is true."""
        for message in () if self.quiet else self.warnings:
            click.secho(f"warning: {visible(message)}", fg="yellow", err=True)

    @property
    def on_terminal(self) -> bool:
        """Whether progress is shown: stderr is a terminal, and the command is not quiet."""
        return not self.quiet and sys.stderr is not None and sys.stderr.isatty()

    @contextmanager
    def steps(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that shows the current step if stderr is a terminal."""
        shown = self.on_terminal
        try:
            yield _show_step if shown else lambda _: None
        finally:
            if shown:
                _show_step("")


@contextmanager
def warnings_last() -> Iterator[None]:
    """Print a command's warnings when it ends, unless it ends with an error.

    Warnings are also printed if the command prints its result and then ends with an exit code
    other than 0.
    """
    context = click.get_current_context()
    try:
        yield
    except (SystemExit, click.exceptions.Exit):
        _tell_all(context)
        raise
    _tell_all(context)


def _tell_all(context: click.Context) -> None:
    for console in context.meta.pop(_LATER, {}).values():
        console.tell()


def _show_step(name: str) -> None:
    """Replace the current line of the terminal by the name of a step."""
    click.echo(f"\r\x1b[K{visible(name)}", err=True, nl=False)


def print_text(result: object, *, err: bool = False) -> None:
    """Print a result as text, with keywords written as options; if `err` is true, to stderr."""
    click.echo(visible(as_options(str(result)), lines=True), err=err)


def print_json(result: object, *, err: bool = False) -> None:
    """Print a result as JSON; in sentences, keywords are written as options.

    If `err` is true, print to stderr.
    """
    click.echo(json.dumps(_with_options(result), indent=2), err=err)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[WRITTEN] = True


def _with_options(value: object, *, convert: bool = False) -> object:
    """Return JSON values, with keywords such as dip_down= in their texts replaced by options."""
    if isinstance(value, Mapping):
        return {key: _with_options(each, convert=key in _SENTENCES) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_options(each, convert=convert) for each in value]
    return as_options(value) if convert and isinstance(value, str) else value
