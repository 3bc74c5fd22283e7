"""The command `geodomain convert`: wireframes and block models from one format to another."""

from __future__ import annotations

from pathlib import Path

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_text
from geodomain.errors import counted, visible

_EXAMPLE = """\b
Example:
  geodomain convert pit.dxf pit.omf
  geodomain convert labelled.csv labelled.vtu
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT", type=click.Path(path_type=Path))
@options.overwrite_option
def convert(source: str, output: Path, overwrite: bool) -> None:
    """Write the wireframes or blocks of IN in the format that the extension of OUT names.

    IN is any file of wireframes, or FILE:NAME for one of its solids. OUT ends in .dxf, .dtm (with
    .str), .msh, .ts, .omf, .ply, .obj, .off, .vtp or .stl. Vertices keep all their digits, but in
    .stl. Names of solids are kept where OUT holds names (.dxf, .ts, .omf).

    A block model (text, Parquet, VTK, OMF, Datamine, GSLIB, GOCAD Voxet) goes to .csv, .parquet,
    .vtu, .vti (blocks of one size that fill a lattice) or .omf. Of an .omf with both, the
    wireframes go to .omf; IN:NAME is one of its block models.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output.
    """
    from geodomain.io.blocks.conversion import convert_blocks, converts_blocks
    from geodomain.io.meshes.conversion import convert_file
    from geodomain.io.meshes.writing import holds_names

    with Console(quiet=False).listening():
        if converts_blocks(source, output):
            count = convert_blocks(source, output, overwrite=overwrite)
            print_text(counted(count, "block"), err=True)
            return
        solids = convert_file(source, output, overwrite=overwrite)
    for name, mesh in solids.items():
        print_text(f"{visible(name)}: {counted(len(mesh.triangles), 'triangle')}", err=True)
    if len(solids) > 1 and not holds_names(output):
        print_text(f"{output.name} holds no names: it has all {len(solids)} as one mesh", err=True)
