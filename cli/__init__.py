"""The command line: one module for each command or family of commands."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import click

from geodomain import __version__
from geodomain.cli.console import WANTED, exit_codes, refuse_own_input, wants_json, warnings_last
from geodomain.cli.help import did_you_mean
from geodomain.cli.options import CONTEXT, with_memory

# The module and one line for each command, so that --help imports none of them.
_COMMANDS = {
    "model": ("models", "Make a regular block model."),
    "label": ("labelling", "Add a domain column to a block model."),
    "flag": ("drillholes", "Add a domain column to samples or drillhole intervals."),
    "composite": ("drillholes", "Average samples of drillholes over equal lengths within domains."),
    "contacts": ("drillholes", "Average a grade by distance from the contact of two domains."),
    "holes": ("drillholes", "Check drillholes, and find where they cross solids and surfaces."),
    "inspect": ("models", "Describe a block model, and how wireframes fit it."),
    "check": ("wireframes", "Check wireframes, weld them, and fill their holes."),
    "convert": ("wireframes", "Convert wireframes and block models to other formats."),
    "solids": ("solids", "Unite, subtract, clip, repair and measure solids."),
    "distance": ("wireframes", "Add the distance from wireframes to a block model."),
    "subblock": ("models", "Split blocks at wireframes, and label the sub-blocks."),
    "merge": ("models", "Join sub-blocks into fewer blocks."),
    "shell": ("models", "Make wireframes of the labelled blocks of a model."),
    "regularise": ("changes", "Move a block model to a lattice of other blocks, exactly."),
    "stats": ("statistics", "Compute statistics of grades by domain."),
    "validate": ("statistics", "Compare grades of blocks with those of samples."),
    "tonnes": ("labelling", "Add up volume, tonnes and grade of a labelled block model."),
    "deplete": ("changes", "Add up what is mined by period, and what remains."),
    "plot": ("pictures", "Draw sections through a labelled block model."),
    "report": ("pictures", "Write a labelled block model as a page for the browser."),
    "compare": ("models", "Compare two labellings of one block model."),
    "diff": ("changes", "Explain how two models, wireframes or lists of domains differ."),
    "demo": ("demo", "Make a synthetic deposit and label it."),
    "devices": ("devices", "List the CPU and the GPUs, and which of them would be used."),
    "intersect": ("segments", "Find where line segments cross a surface."),
    "synthesize": ("segments", "Make a test surface and line segments across it."),
    "bench": ("segments", "Compare ways to intersect segments on this machine."),
    "help": ("help", "Explain a command or a topic."),
}

# New names of options by the old ones, which go on working for as long as
# docs/reference/compatibility.md says.
RENAMED = {
    "composite": {"--weight": "--grade"},
    "plot": {"--grade": "--sample-grade"},
    "subblock": {"--min": "--minimum"},
}

# The key of a context: what the user typed after `geodomain`.
_WORDS = "geodomain.words"


class Commands(click.Group):
    """Group of commands that imports only the command to run, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands that are installed."""
        return list(filter(_is_installed, _COMMANDS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it; None if there is no command with that name."""
        if not _is_installed(cmd_name):
            return None
        module = importlib.import_module(f"{__name__}.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return with_memory(command, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands to the help, one line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the user typed; suggest a similar name if it does not exist."""
        name = args[0]
        if not (_is_installed(name) or name.startswith("-") or ctx.resilient_parsing):
            message = f"there is no command {name!r}{did_you_mean(name, self.list_commands(ctx))}"
            raise click.UsageError(message, ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and note whether errors must also be written as JSON."""
        args = _with_new_names(args)
        ctx.meta[WANTED] = wants_json(args)
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; give exit codes to errors that occur before a command runs."""
        with exit_codes():
            return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command.

        Bad data ends the command with one line and an exit code; a bug ends it with a traceback.
        """
        with exit_codes(), warnings_last():
            refuse_own_input(ctx.meta.get(_WORDS, ()))
            return super().invoke(ctx)


def _is_installed(name: str) -> bool:
    """Return whether a command exists and its module is installed."""
    entry = _COMMANDS.get(name)
    return entry is not None and importlib.util.find_spec(f"{__name__}.{entry[0]}") is not None


def _with_new_names(args: list[str]) -> list[str]:
    """Return the arguments with renamed options under their new names; warn about each old name."""
    names = RENAMED.get(args[0], {}) if args else {}
    renamed = []
    for word in args:
        option, equals, value = word.partition("=")
        if option in names and not {"-q", "--quiet"} & {*args}:
            click.secho(f"warning: {option} is now called {names[option]}", fg="yellow", err=True)
        renamed.append(f"{names.get(option, option)}{equals}{value}")
    return renamed


_EXAMPLE = """\b
Example:
  geodomain label blocks.csv --solid ORE=ore.stl --solid WASTE=waste.obj -o labelled.csv
"""


@click.group(
    cls=Commands,
    epilog=_EXAMPLE,
    context_settings=CONTEXT,
)
@click.version_option(__version__, "-V", "--version")
def main() -> None:
    """Label geological block models: which blocks lie inside which wireframe, exactly.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted, 143 ended.
    """
