"""Takes meshes from VTK's data sets through PyVista, imported when it is needed; parses no file."""

from __future__ import annotations

import locale
import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from geodomain.errors import GeodomainError, MeshError
from geodomain.io.files.unchanged import Unchanged
from geodomain.io.meshes.solids import NamedFaces
from geodomain.io.meshes.vtk_encoding import encode
from geodomain.io.meshes.vtk_probe import probe, require_sound
from geodomain.mesh import datasets
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh

# What a collection of wireframes may name.
_SURFACES = (".vtp", ".vtu", ".vtk")


def read(path: Path, extension: str) -> Faces:
    """Return the polygons of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    MeshError
        If PyVista cannot read it, or it holds something other than polygons.
    """
    return datasets.from_dataset(read_dataset(path, extension), path.name)


def read_collection(data: bytes, path: Path) -> Iterator[NamedFaces]:
    """Yield the data sets of a .vtm, an index of files beside it, each under its name.

    Raises
    ------
    MeshError
        If the index is no XML, names a file outside its folder, or one is missing or no wireframe.
    """
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as wrong:
        message = f"{path.name} is damaged ({wrong}): export the file again"
        raise MeshError(message) from None
    found = 0
    for element in root.iter("DataSet"):
        inner = element.get("file")
        if not inner:  # a block without data
            continue
        place = path.parent / inner
        if Path(inner).is_absolute() or ".." in Path(inner).parts:
            message = f"{path.name} names {inner}, which is outside of its folder: save it anew"
            raise MeshError(message)
        if not place.is_file():
            message = f"{path.name} is an index of other files, and {inner} is not there: copy it"
            raise MeshError(message)
        if place.suffix.lower() not in _SURFACES:
            message = (
                f"{path.name} names {inner}, which is no surface: save the surfaces that are meant "
                "as .vtp"
            )
            raise MeshError(message)
        found += 1
        with Unchanged(place):
            yield element.get("name") or place.stem, read(place, place.suffix.lower())
    if not found:
        message = f"{path.name} is an index of other files, and names none"
        raise MeshError(message)


def read_dataset(path: Path, extension: str, error: type[GeodomainError] = MeshError) -> Any:
    """Return the data set of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    GeodomainError
        Of the type that is asked for, if PyVista cannot read it, or VTK would crash on it.
    """
    probe().start()  # both at a time
    import pyvista

    require_sound(path, extension, error)
    try:
        with vtk_errors():
            reader: Any = pyvista.get_reader  # its parameters have no types in some releases
            return reader(str(path), force_ext=extension).read()
    except (RuntimeError, ValueError, TypeError, AttributeError, OSError) as wrong:
        message = f"{path.name} cannot be read by PyVista ({_reason(wrong)}): export the file again"
        raise error(message) from wrong


@contextmanager
def vtk_errors() -> Iterator[None]:
    """Raise what VTK would only print, as a RuntimeError, and have nothing printed.

    The process keeps its locale.
    """
    import pyvista

    with (
        _same_locale(),
        _quiet(),
        pyvista.VtkErrorCatcher(raise_errors=True, send_to_logging=False),
    ):
        yield


@contextmanager
def _same_locale() -> Iterator[None]:
    """Undo what VTK 9.4 does with legacy files: "C" stays, and then `open` knows ASCII alone."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        yield
    finally:
        if locale.setlocale(locale.LC_ALL) != before:
            locale.setlocale(locale.LC_ALL, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep VTK, and PyVista's log of it, from printing what is said in the error anyway."""
    import pyvista

    silence: Any = getattr(pyvista, "vtk_verbosity", nullcontext)  # not in older releases
    root = logging.getLogger()
    root.addFilter(_is_not_of_vtk)
    try:
        with silence("off"):
            yield
    finally:
        root.removeFilter(_is_not_of_vtk)


def _is_not_of_vtk(record: logging.LogRecord) -> bool:
    """Tell whether something else than PyVista's observer of VTK has written a log record."""
    return record.module != "observers"


def _reason(error: Exception) -> str:
    """Return the first thing VTK complains of, without where in VTK that was."""
    text = " ".join(str(error).split())
    return text.partition("): ")[2].partition(" ERROR:")[0][:120] or text[:120]


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write VTP in double precision."""
    with vtk_errors():
        file.write(encode(mesh.to_pyvista(), ".vtp"))
