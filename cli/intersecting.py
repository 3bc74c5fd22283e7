"""The two runs of `geodomain intersect`: a table to a table, raw files to raw files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import places
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.hit_tally import HitTally
    from geodomain.intersector import SegmentIntersector
    from geodomain.mesh import Mesh
    from geodomain.tables.files import Source
    from geodomain.tables.layout import TableLayout

# The head of a table is looked for in so many bytes.
_PEEK = 1 << 20

_DIALECT = ("delimiter", "decimal", "missing")


def answer_table(inputs: tuple[Path, ...], given: dict[str, Any], talk: Talk) -> dict[str, Any]:
    """Answer a table with a table."""
    from geodomain.blockfiles import require_text_file
    from geodomain.hit_table import intersect_table
    from geodomain.meshfiles import read_mesh
    from geodomain.tables.files import open_source, open_target

    _refuse(given, ("vertex_type", "ray_type"), "raw files, and SEGMENTS.csv is a table")
    if given["output"] is None:
        message = "say where to write: -o HITS.csv, or -o - for stdout"
        raise click.UsageError(message)
    if bool(given["start"]) != bool(given["end"]):
        message = "--start and --end go together"
        raise click.UsageError(message)
    outputs = [] if given["output"] == "-" else [Path(given["output"])]
    for table in (inputs[1], *outputs):
        require_text_file(str(table))
    for output in outputs:
        places.require_folder(output)
    places.refuse_inputs(outputs, inputs)
    mode = given["mode"] or "barycentric"
    mesh = read_mesh(inputs[0])
    with open_source(str(inputs[1])) as source:
        layout = _layout(source, given)
        with (
            _intersector(mesh, given) as intersector,
            open_target(given["output"], source=source, overwrite=given["overwrite"]) as target,
            talk.progress("intersecting") as progress,
        ):
            tally = intersect_table(
                intersector,
                source,
                target,
                layout,
                mode=mode,
                name=source.name,
                threads=given["threads"],
                progress=progress,
            )
            return _summary(intersector, mode, outputs, tally)


def _layout(source: Source, given: dict[str, Any]) -> TableLayout:
    """Work out what the head of the table means."""
    from geodomain.tables.segments import read_segment_layout

    head = source.peek(_PEEK)
    asked = {key: given[key] for key in ("start", "end", *_DIALECT, "encoding")}
    return read_segment_layout(head, **asked, name=source.name, whole=len(head) < _PEEK)


def answer_files(inputs: tuple[Path, ...], given: dict[str, Any], talk: Talk) -> dict[str, Any]:
    """Answer raw files with raw files."""
    from geodomain.hit_files import OUTPUTS, intersect_files
    from geodomain.rawfiles import open_segments, read_raw_mesh
    from geodomain.tables.atomic import refuse_to_replace

    columns = ("start", "end", *_DIALECT)
    _refuse(given, columns, "a table, and FROM and TO are raw files")
    mode, folder = given["mode"] or "boolean", Path(given["output"] or ".")
    if mode not in OUTPUTS:
        message = f"--mode {mode} writes a table: give MESH SEGMENTS.csv"
        raise click.UsageError(message)
    if given["output"] == "-":
        message = "raw files go to a folder: -o - is for a table"
        raise click.UsageError(message)
    outputs = [folder / name for name in OUTPUTS[mode]]
    places.refuse_inputs(outputs, inputs)
    refuse_to_replace(outputs, overwrite=given["overwrite"])
    mesh = read_raw_mesh(*inputs[:2], vertex_type=given["vertex_type"])
    segments = open_segments(*inputs[2:], ray_type=given["ray_type"])
    with _intersector(mesh, given) as intersector, talk.progress("intersecting") as progress:
        tally = intersect_files(
            intersector,
            segments,
            folder,
            mode=mode,
            overwrite=given["overwrite"],
            progress=progress,
        )
        return _summary(intersector, mode, outputs, tally)


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    """Stop at options that belong to the other kind of input."""
    for name in names:
        if given[name]:
            message = f"--{name.replace('_', '-')} is for {why}"
            raise click.UsageError(message)


def _intersector(mesh: Mesh, given: dict[str, Any]) -> SegmentIntersector:
    """Make the surface ready to be asked."""
    from geodomain.intersector import SegmentIntersector

    return SegmentIntersector(mesh, backend=given["backend"], threads=given["threads"])


def _summary(
    intersector: SegmentIntersector, mode: str, outputs: list[Path], tally: HitTally
) -> dict[str, Any]:
    """Say what was asked of what, what was found, and where."""
    machine, why = intersector.machine
    return {
        "mode": mode,
        "triangles": len(intersector.mesh.triangles),
        "outputs": [str(path) for path in outputs],
        **tally.as_dict(),
        "backend": machine,
        "backend_reason": why,
    }
