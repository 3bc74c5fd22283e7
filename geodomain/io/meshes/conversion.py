"""Writes the wireframes of a file in another format; parses and formats none itself."""

from __future__ import annotations

import os
from pathlib import Path

from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.meshes.reading import read_meshes
from geodomain.io.meshes.solids import split_name
from geodomain.io.meshes.writing import files_of, write_mesh
from geodomain.mesh.mesh import Mesh


def convert_file(
    source: str | os.PathLike[str], output: str | os.PathLike[str], *, overwrite: bool = False
) -> dict[str, Mesh]:
    """Write the wireframes of a file in the format that the output's extension names.

    Parameters
    ----------
    source : path
        The file, or FILE:NAME for one of its solids.
    output : path
        Where to; see `write_mesh` for what each format holds. Names are kept where it
        holds names; other files get all solids as one mesh.
    overwrite : bool
        Whether an output that is there may be replaced.

    Returns
    -------
    dict of str to Mesh
        What was read, by name.

    Raises
    ------
    FileExistsError
        If the output is there already; see ``overwrite``.
    MeshError, OSError
        As `read_meshes` and `write_mesh`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ground = geodomain.Mesh([[0, 0, 5], [9, 0, 5], [0, 9, 5]], [[0, 1, 2]])
    >>> geodomain.write_mesh(ground, folder / "ground.ply")
    >>> list(geodomain.convert_file(folder / "ground.ply", folder / "topo.dxf"))
    ['ground']
    >>> geodomain.read_mesh(folder / "topo.dxf:ground")
    Mesh('topo.dxf:ground', 3 vertices, 1 triangles)
    """
    place = Path(output)
    outputs = files_of(place)
    refuse_inputs(outputs, [split_name(source)[0]])
    require_places(outputs, overwrite=overwrite)
    solids = read_meshes(source)
    write_mesh(solids, place, overwrite=overwrite)
    return solids
