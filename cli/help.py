"""Help texts in sections for commands with many options, and the command `geodomain help`."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches

import click

from geodomain.cli import options
from geodomain.labelling.settings import LabelSettings
from geodomain.statistics.settings import ReportSettings
from geodomain.tables.settings import TableSettings

# Options by section; options in no section come last.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Domains": ("solids", "domains", "codes", "rule", "allow_open", "weld", "by", "split"),
    "Blocks that are cut": ("proportions", "percent", "lines"),
    "Tonnes and grade": (
        "density",
        "grade",
        "bench",
        "cutoff",
        "proportion",
        "grade_unit",
        "density_unit",
        "classification",
    ),
    "Output": (
        *("output", "column", "background", "unassigned", "flags", "overwrite", "replace_column"),
        *("take_over", "in_place", "dry_run", "record", "report", "min_length", "coordinates"),
    ),
    "Columns and text": (
        *("x", "y", "z", "dx", "dy", "dz", "delimiter", "decimal", "encoding", "missing"),
        *("below_detection", "detection_limit", "gslib_grid", "points_are_middles"),
    ),
    "Drillholes": (
        *("collar", "survey", "intervals", "method", "down", "vertical", "columns"),
        *("strict", "accept", "topography", "bend", "within", "samples", "sample_grade"),
    ),
    "What is shown": (
        *("sections", "line", "compare", "colour_by", "cmap", "classes", "title", "note"),
        *("unit", "scale", "paper", "prepared_by", "exaggerate", "relative_paths"),
    ),
    "Pages of domains": tuple(
        each.name for each in fields(ReportSettings) if each.metadata["option"]
    ),
    "Where the model lies": ("position", "rotation", "origin", "local_origin", "frame"),
    "Doubtful cases": ("leaky", "uncertain", "allow_disjoint", "count_on_wall"),
    "Machine and messages": (
        "backend",
        "devices",
        "threads",
        "memory",
        "scheduler",
        "as_json",
        "quiet",
    ),
}
# Settings in no section belong to the output or to the table.
for _title, _kind in (("Output", LabelSettings), ("Columns and text", TableSettings)):
    _named = {name for names in SECTIONS.values() for name in names}
    SECTIONS[_title] += tuple(
        each.name for each in fields(_kind) if each.metadata["option"] and each.name not in _named
    )


class Sectioned(click.Command):
    """Command whose help lists options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options to the help, section by section."""
        offered = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        shown = {each.name: each.get_help_record(ctx) for each in offered}
        records = {name: record for name, record in shown.items() if name and record}
        for title, names in SECTIONS.items():
            some = [records.pop(name) for name in names if name in records]
            if some:
                with formatter.section(title):
                    formatter.write_dl(some)
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))


# --- The command `geodomain help`: print the help of a command or a topic.

_SITE = "https://geodomain.readthedocs.io/en/latest/"
# One sentence on each topic, and its page on the site.
TOPICS = {
    "columns": (
        "Columns are recognised by common names; use --x, --y, --z, --dx, --dy and --dz for "
        "other names. 'geodomain inspect' shows the columns it recognised.",
        "reference/formats",
    ),
    "doubtful": (
        "The summary counts doubtful blocks: above or below gaps in open meshes, outside a "
        "surface's footprint, or on a wall. See --leaky, --unassigned, --uncertain and "
        "--count-on-wall.",
        "how_to/quality_control",
    ),
    "domains": (
        "A domains.toml lists solids, surfaces and stacks, with conditions, codes, colours and an "
        "order.",
        "reference/domains_toml",
    ),
    "drillholes": (
        "Drillholes are read from collar, survey and interval tables; their curves have minimum "
        "curvature, unless --desurvey says otherwise.",
        "tutorials/drillholes",
    ),
    "exact": (
        "Labels are those of exact arithmetic. A point on a wall is treated as moved up by an "
        "infinitely small step. If that does not decide, it is also moved east, and if that does "
        "not decide either, north.",
        "explanation/exactness",
    ),
    "exit-codes": (
        "0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130 "
        "interrupted.",
        "reference/exit_codes",
    ),
    "formats": (
        "File formats of block models, wireframes and drillholes.",
        "reference/formats",
    ),
    "gpu": (
        "--backend cuda gives the same results as --backend cpu, bit for bit; --backend auto uses "
        "the faster of the two.",
        "tutorials/gpu",
    ),
    "json": (
        "With --json the result, or an error, is written to stdout as JSON that includes the "
        "warnings.",
        "reference/json",
    ),
    "rotation": (
        "Local coordinates of rotated models are converted to world coordinates by the rotation "
        "in the file, or by --rotation and --origin. With --frame the centroids are already "
        "world coordinates, and only the blocks are rotated.",
        "how_to/rotated_models",
    ),
    "summary": (
        "'volume' is the volume of the blocks with the label; 'before priority' also counts "
        "blocks that got the label of an earlier domain; 'wireframe volume' is the volume that "
        "the closed wireframes enclose.",
        "how_to/quality_control",
    ),
    **{
        name: (f"What to export from {title}, and common pitfalls.", f"how_to/from_{name}")
        for name, title in (
            ("datamine", "Datamine"),
            ("gocad", "GOCAD or SKUA"),
            ("leapfrog", "Leapfrog"),
            ("micromine", "Micromine"),
            ("surpac", "Surpac"),
            ("vulcan", "Vulcan"),
        )
    },
}

_EXAMPLE = """\b
Example:
  geodomain help rotation
"""


@click.command("help", epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("topic", required=False, metavar="[TOPIC]")
@click.pass_context
def help(context: click.Context, topic: str | None) -> None:
    """Explain TOPIC, which is a command or a help topic; without TOPIC, list the topics.

    Exit codes: 0 ok, 2 usage.
    """
    group = context.parent
    if group is None or not isinstance(group.command, click.Group):
        message = "'help' is a command of geodomain: run 'geodomain help'"
        raise click.UsageError(message)
    if topic is None:
        click.echo(_listed())
        return
    name = topic.casefold()
    command = group.command.get_command(group, name)
    if command is not None:
        with click.Context(command, info_name=name, parent=group) as inner:
            click.echo(command.get_help(inner))
    elif name in TOPICS:
        summary, page = TOPICS[name]
        click.echo(f"{summary}\n{_SITE}{page}.html")
    else:
        topics = [*group.command.list_commands(group), *TOPICS]
        message = f"there is no topic {topic!r}{did_you_mean(name, topics)}"
        raise click.UsageError(message)


def did_you_mean(name: str, names: list[str]) -> str:
    """Return "; did you mean 'NAME'?" with the most similar known name; "" without such a name."""
    close = get_close_matches(name.casefold(), names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _listed() -> str:
    """Return the list of help topics as text."""
    formatter = click.HelpFormatter(width=100)
    with formatter.section("Topics, in addition to the commands that 'geodomain -h' lists"):
        formatter.write_dl([(name, summary) for name, (summary, _) in sorted(TOPICS.items())])
    return formatter.getvalue().rstrip()
