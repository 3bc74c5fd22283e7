"""Inspect a block model in a file, and how wireframes in files fit it; nothing is written."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Unpack

from geodomain.domains.order import Domains, condition_columns
from geodomain.domains.sources import DomainsGiven, domains_to_draw
from geodomain.errors import collect_warnings, warn
from geodomain.inputs.kinds import MeshesLike
from geodomain.inputs.meshes import as_meshes
from geodomain.inputs.paths import model_path
from geodomain.inspection.report import Inspection, inspect_model
from geodomain.io.blocks.model import open_model
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.io.meshes.reading import reading_once
from geodomain.progress import Progress, show_progress


def inspect_file(
    model: str | os.PathLike[str],
    meshes: MeshesLike = (),
    domains: DomainsGiven | None = None,
    *,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Inspection:
    r"""Describe a block model in a file, and how wireframes fit it.

    Parameters
    ----------
    model : path
        As for `label_file`; it is read once.
    meshes : mesh-like, or several of them
        As for `as_mesh`, paths included: wireframes, closed or open. Their boxes are compared
        with the model's.
    domains : optional
        As for `label_file`: their meshes are compared too, and the model must have the columns
        that their conditions are about.
    threads, progress
        As for `label_file`.
    **table
        What the file does not say, or not clearly; as for `label_file`.

    Returns
    -------
    Inspection
        Columns, sizes, lattice, rotation, extent and warnings; ``print`` it.

    Raises
    ------
    TableError
        Where the model cannot be understood or read, or has no column for a condition.
    MeshError, DomainError, OSError
        For the files of wireframes and domains.
    TypeError
        For a model that is no path.

    Warns
    -----
    GeodomainWarning
        For each of its warnings: axes that seem to be exchanged, another datum, and the like.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> blocks = pathlib.Path(tempfile.mkdtemp()) / "blocks.csv"
    >>> _ = blocks.write_text("X,Y,Z,DX,DY,DZ\n5,5,5,10,10,10\n15,5,5,10,10,10\n")
    >>> found = geodomain.inspect_file(blocks)
    >>> found.rows, found.lattice.cells, found.volume
    (2, (2, 1, 1), 2000.0)
    """
    source = model_path(model, "a block model in memory has no inspection: write it to a file")
    options = table_options(**table)
    with collect_warnings() as warned, show_progress(progress, "reading") as report:
        listed = Domains() if domains is None else domains_to_draw(domains)
        with reading_once():
            read = [*as_meshes(meshes), *listed.meshes]
        with open_model(source, options) as opened:
            condition_columns(listed, opened.columns, opened.name)
            found = inspect_model(opened, read, threads=threads, progress=report)
        for sentence in found.warnings:
            warn(sentence)
    return replace(found, warnings=tuple(warned))
