"""The reader of geodomain's formats for ``pyvista.read``.

The entry points ``pyvista.readers`` of `pyproject.toml` list the extensions of geodomain's formats
that PyVista does not read itself. PyVista 0.48 and later imports this module when it first reads a
file with one of them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from geodomain.errors import MeshError
from geodomain.formats.grids import read_grid
from geodomain.formats.registry import (
    FORMATS,
    TEXT,
    TEXT_TABLES,
    Format,
    Head,
    format_of_blocks,
    format_of_meshes,
    head_of,
    loaded,
)
from geodomain.formats.wireframes import read_meshes
from geodomain.tables.options import table_options
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    import pyvista


def extensions() -> tuple[str, ...]:
    """Return all extensions of geodomain's formats; PyVista reads some of them itself."""
    return (
        ".csv",
        ".csv.gz",
        ".tsv",
        *dict.fromkeys(each for form in FORMATS for each in form.extensions),
    )


def read(path: str, **table: Unpack[TableKeywords]) -> pyvista.DataSet | pyvista.MultiBlock:
    """Read wireframes or a block model as PyVista data sets; called by ``pyvista.read``.

    Parameters
    ----------
    path : str
        The file. Its content decides which format it has.
    **table
        Options for the columns and the geometry of a block model in a table, such as ``dx``; as for
        `label_file`. PyVista 0.49 and later passes them on from ``pyvista.read``.

    Returns
    -------
    pyvista.PolyData
        A wireframe, with points in double precision.
    pyvista.ImageData, RectilinearGrid or UnstructuredGrid
        A block model, with all its columns as cell data: an ImageData if the blocks fill a lattice
        of equal cells, a RectilinearGrid if the spacing varies, otherwise hexahedra.
    pyvista.MultiBlock
        Several solids or models, by their names in the file.

    Raises
    ------
    MeshError, TableError, OSError
        If the file cannot be read.
    TypeError
        For an unknown option, or options for a wireframe.
    """
    if "://" in path:
        from pyvista.core.utilities.reader_registry import LocalFileRequiredError

        raise LocalFileRequiredError  # PyVista then downloads the file
    place = Path(path)
    head = head_of(place, place.suffix.lower())
    meshes = format_of_meshes(head)
    if _is_of_meshio(head.extension, meshes):
        return _read_meshio(place)
    if _is_of_blocks(path, head, meshes):
        return cast("pyvista.DataSet", read_grid(path, table_options(**table)))
    if table:
        what = "a project" if meshes is not None and meshes.contents else "a wireframe"
        message = f"{place.name} is {what}: {min(table)}= is an option for block models only"
        raise TypeError(message)
    if meshes is not None and meshes.contents:
        return _read_elements(place, meshes)
    return _as_one({name: mesh.to_pyvista() for name, mesh in read_meshes(path).items()})


def _is_of_blocks(path: str, head: Head, meshes: Format | None) -> bool:
    """Return whether a file is a block model; `meshes` is its format if it may hold wireframes."""
    if meshes is None:
        of_blocks = [e for form in FORMATS if form.open_blocks for e in form.extensions]
        return head.extension in (*TEXT, *of_blocks)
    if meshes.contents:
        return False  # it may hold wireframes and blocks
    if meshes.holds_blocks:
        return loaded(meshes.holds_blocks)(path)
    if format_of_blocks(path) is not TEXT_TABLES:
        return True
    # A table may look like a file of some wireframe formats.
    unsure = meshes.sure is not None and not meshes.sure(head)
    return unsure and head.extension not in meshes.extensions


def _read_elements(place: Path, form: Format) -> pyvista.DataSet | pyvista.MultiBlock:
    """Read all surfaces and block models of a file that may hold both."""
    contents = loaded(form.contents)(place)
    datasets: dict[str, pyvista.DataSet] = {}
    if not contents or not all(is_model for _, is_model in contents):
        datasets = {name: mesh.to_pyvista() for name, mesh in read_meshes(place).items()}
    models = [name for name, is_model in contents if is_model]
    for name in models:
        key = f"{name} (blocks)" if name in datasets else name
        source = str(place) if len(models) == 1 else f"{place}:{name}"
        datasets[key] = read_grid(source, table_options())
    return _as_one(datasets)


def _as_one(parts: dict[str, pyvista.DataSet]) -> pyvista.DataSet | pyvista.MultiBlock:
    """Return the only data set, or several as a MultiBlock with their names."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    import pyvista

    several = pyvista.MultiBlock()
    for name, part in parts.items():
        several.append(part, name)
    return several


# --- Extensions that geodomain shares with meshio, such as .msh of Gmsh.

_SHARED = (".msh", ".xml")


def _is_of_meshio(extension: str, meshes: Format | None) -> bool:
    """Return whether meshio must read a file, because no format of geodomain recognises it."""
    return extension in _SHARED and (meshes is None or extension not in meshes.extensions)


def _read_meshio(place: Path) -> pyvista.DataSet:
    """Read a file as PyVista does without geodomain: by meshio.

    Raises
    ------
    MeshError
        If meshio is not installed, or cannot read the file.
    """
    import pyvista

    names = [form.name for form in FORMATS if place.suffix.lower() in form.extensions]
    try:
        import_module("meshio")
    except ImportError:
        message = (
            f"{place.name} is not a {names[0]}, and other {place.suffix} files need meshio: "
            "pip install meshio"
        )
        raise MeshError(message) from None
    try:
        return pyvista.read_meshio(place)
    # What meshio raises for a damaged file depends on its reader; it even ends the program.
    except (Exception, SystemExit) as error:
        message = f"{place.name} is not a {names[0]}, and meshio cannot read it either"
        raise MeshError(message) from error
