"""Help of commands with many options, in sections."""

from __future__ import annotations

import click

# Parameters by what they are about; what is in none comes last.
SECTIONS = {
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
        *("collar", "survey", "intervals", "desurvey", "dip_down", "vertical", "hole_columns"),
        *("strict", "within", "sample_grade"),
    ),
    "What is shown": (
        *("sections", "compare", "colour_by", "sampled", "cmap", "title", "note", "unit"),
        "exaggerate",
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


class Sectioned(click.Command):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, section by section."""
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
