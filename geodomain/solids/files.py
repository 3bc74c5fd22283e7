"""Write solids and their tables to files, completely or not at all, and without rounding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from geodomain.errors import MeshError
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.formats.blocks import require_table_name, write_columns
from geodomain.formats.registry import split_name
from geodomain.formats.wireframes import files_of, holds_names, require_writer, write_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.open_edges import is_single
from geodomain.result_tables import ResultColumns


def require_output(output: Path, inputs: Sequence[str], *, overwrite: bool) -> None:
    """Refuse an output that could not be written, or that is an input, before any work starts.

    Raises
    ------
    MeshError
        If no format has the extension.
    TableError, OSError
        As `refuse_inputs` and `require_places`.
    """
    require_writer(output)
    refuse_inputs(files_of(output), [split_name(path)[0] for path in inputs])
    require_places(files_of(output), overwrite=overwrite)


def write_solid(mesh: Mesh, output: Path, *, overwrite: bool = False) -> None:
    """Write a solid; refuse a format that would round its coordinates.

    Parameters
    ----------
    mesh : Mesh
        The solid.
    output : Path
        The file; its extension gives the format.
    overwrite : bool
        Whether to replace an existing file.

    Raises
    ------
    MeshError
        If the output is .stl, and a coordinate is not a single-precision number.
    """
    _refuse_rounding(mesh, output)
    write_mesh(Mesh(mesh.vertices, mesh.triangles, name=output.stem), output, overwrite=overwrite)


def _refuse_rounding(mesh: Mesh, output: Path) -> None:
    if output.suffix.lower() != ".stl" or is_single(mesh.vertices):
        return
    with np.errstate(over="ignore"):
        moves = np.abs(mesh.vertices.astype(np.float32) - mesh.vertices).max()
    message = (
        f"{output.name} would round coordinates by up to {moves:.3g}, because STL has single "
        "precision: write .ply, .obj or .off instead"
    )
    raise MeshError(message)


def write_bodies(
    bodies: Sequence[Mesh], output: Path, source: str, *, overwrite: bool = False
) -> list[Path]:
    """Write several solids: all to one file that holds names, or each to a numbered file.

    Returns
    -------
    list of Path
        The files.
    """
    require_writer(output)
    together = holds_names(output) or len(bodies) == 1
    stems = [f"{output.stem}_{number}" for number in range(1, len(bodies) + 1)]
    paths = [output] if together else [output.with_stem(stem) for stem in stems]
    files = [place for path in paths for place in files_of(path)]
    refuse_inputs(files, [split_name(source)[0]])
    require_places(files, overwrite=overwrite)
    for body in bodies:
        _refuse_rounding(body, output)
    if together:
        write_mesh(dict(zip(stems, bodies, strict=True)), output, overwrite=overwrite)
        return paths
    for path, body in zip(paths, bodies, strict=True):
        write_mesh(body, path, overwrite=overwrite)
    return paths


def require_table(
    output: str | os.PathLike[str], inputs: Sequence[str], *, overwrite: bool
) -> None:
    """Refuse a table that could not be written, or that is an input, before any work starts."""
    require_table_name(os.fspath(output), parquet=True)
    refuse_inputs([Path(output)], [split_name(path)[0] for path in inputs])
    require_places([Path(output)], overwrite=overwrite)


def write_table(
    columns: ResultColumns, output: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a table of results in the format of its extension: CSV, .xlsx or Parquet."""
    write_columns(columns, output, overwrite=overwrite)
