"""The command `geodomain label`: add a domain column to a block model."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.help import Sectioned
from geodomain.cli.labelling import amounts_options, run_labelling
from geodomain.labelling.settings import LabelSettings

_EXAMPLE = """\b
Example:
  geodomain label blocks.csv --solid ORE=ore.stl --solid WASTE=waste.obj -o labelled.csv
"""


@click.command(cls=Sectioned, epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@options.domain_options
@options.output_option("OUT.csv", "File to write; - is stdout.")
@options.settings_options(LabelSettings)
@options.table_options
@options.box_options
@amounts_options()
@options.devices_option
@options.scheduler_option
@options.take_over_option
@options.replacing_options
@options.page_option
@options.report_options
def label(**given: Any) -> None:
    """Label the blocks of BLOCKS by the wireframes that they are inside, above or below.

    Name closed wireframes with --solid, or list domains in a file: --domains domains.toml. The list
    may contain solids, surfaces and stacks, with conditions, codes and an order: see 'geodomain
    help domains'.

    BLOCKS is a text table (- for stdin, .csv.gz too), Parquet, a VTK data set, Datamine's .dm,
    GSLIB, or OMF (FILE:NAME selects one of several models). The output has the same format: a text
    table keeps every byte and gains one column. A GOCAD Voxet becomes .csv, .parquet, .vtu or .omf.
    The summary goes to stderr.

    BLOCKS may also be a folder of Parquet or text files, or a pattern in quotes, such as
    'blocks/*.parquet'. Then -o is a folder for the labelled files. Both folders may be
    URLs, such as s3://bucket/blocks. To resume an interrupted run, repeat the command.

    With --density, the command reads the labelled file again and prints volume, tonnes, mean grades
    and metal by domain below the summary, like `geodomain tonnes`.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    run_labelling("label", given)
