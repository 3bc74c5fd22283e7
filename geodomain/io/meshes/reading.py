"""Reads a mesh file of any known format; parses none itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path

from geodomain.errors import MeshError, warn
from geodomain.io.files.unchanged import Unchanged
from geodomain.io.files.whole import read_whole
from geodomain.io.meshes import closed
from geodomain.io.meshes.formats import (
    EXTENSIONS,
    HEAD,
    READABLE,
    detect,
    is_broken_binary_stl,
)
from geodomain.io.meshes.solids import NamedFaces, Solids, as_one, gather, pick, split_name, title
from geodomain.mesh.faces import Faces
from geodomain.mesh.mesh import Mesh

_FileState = tuple[Path, int, int, int, int]
_KEPT: ContextVar[dict[_FileState, Solids] | None] = ContextVar("kept", default=None)
# The function that reads each kind of file, and its module, which is imported when one comes.
_PARSERS = {
    "binary STL": "stl.read_binary",
    "ASCII STL": "stl.read_ascii",
    "PLY": "ply.read",
    "OBJ": "obj.read",
    "OFF": "off.read",
}
_READERS = {
    "DXF": "dxf.read",
    "GOCAD": "gocad.read",
    "Leapfrog mesh": "leapfrog.read",
    "LandXML": "landxml.read",
    "Datamine": "datamine.read",
    "OMF 1": "omf1.read",
    "OMF 2": "omf2.read",
    "ESRI ASCII grid": "grid.read_ascii",
    "TIFF": "grid.read_tiff",
    "glTF": "gltf.read",
    "3MF": "threemf.read",
    "Surpac triangles": "surpac.read_triangles",
    "Surpac strings": "surpac.read_strings",
    "VTM": "vtk.read_collection",
}


def parser(kind: str) -> Callable[[bytes, str], Faces]:
    """Return what reads the one solid of a file."""
    module, name = _PARSERS[kind].split(".")
    found: Callable[[bytes, str], Faces] = getattr(import_module(f"{__package__}.{module}"), name)
    return found


def reader(kind: str) -> Callable[[bytes, Path], Iterable[NamedFaces]]:
    """Return what reads the solids of a file with their names."""
    module, name = _READERS[kind].split(".")
    found: Callable[[bytes, Path], Iterable[NamedFaces]] = getattr(
        import_module(f"{__package__}.{module}"), name
    )
    return found


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a wireframe in float64 exactly as the file has it.

    The content decides on the format, not the extension. Corners with equal coordinates
    become one vertex where a format repeats them, and nothing else is merged. Polygons
    are cut alike whichever corner they start with, and only their geometry is taken:
    normals, colours and materials are passed over.

    Parameters
    ----------
    path : str or path-like
        The file. ``FILE:NAME`` is one solid of a file that holds several, such as a layer
        of a DXF drawing; without a name, all of them are read as one mesh.

    Returns
    -------
    Mesh
        Its vertices are in the unit of the file; its name is the file's name, followed by
        the names of the solids where there are several.

    Raises
    ------
    OSError
        If the file cannot be opened.
    MeshError
        If the content is not known, damaged, or no triangulated wireframe, or no solid
        has the name.

    Warns
    -----
    GeodomainWarning
        If the extension belongs to another format, or the file stores float32 at
        coordinates so large that they are only good to 0.01 or worse.

    See Also
    --------
    read_meshes : reads each solid of a file as a mesh of its own.
    """
    place, wanted = split_name(path)
    solids = _read_solids(place)
    if wanted is None:
        return Mesh.from_faces(as_one(solids), name=title(place.name, solids))
    return Mesh.from_faces(pick(solids, wanted, place.name), name=f"{place.name}:{wanted}")


def read_meshes(path: str | os.PathLike[str]) -> dict[str, Mesh]:
    """Read each solid of a file as a mesh of its own.

    Parameters
    ----------
    path : str or path-like
        The file; ``FILE:NAME`` is one of its solids.

    Returns
    -------
    dict of str to Mesh
        By the name that the file gives, in the order of the file; the file's stem where
        it gives none. Objects of one name are one mesh.

    Raises
    ------
    OSError
        If the file cannot be opened.
    MeshError
        As for `read_mesh`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> ore = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pit.ts"
    >>> geodomain.write_mesh({"ORE_HG": ore, "ORE_LG": ore}, path)
    >>> [(name, mesh.is_closed) for name, mesh in geodomain.read_meshes(path).items()]
    [('ORE_HG', True), ('ORE_LG', True)]
    """
    place, wanted = split_name(path)
    solids = _read_solids(place)
    if wanted is not None:
        solids = {wanted: pick(solids, wanted, place.name)}
    alone = len(solids) == 1 and wanted is None
    return {
        name: Mesh.from_faces(faces, name=place.name if alone else f"{place.name}:{name}")
        for name, faces in solids.items()
    }


@contextmanager
def reading_once() -> Iterator[dict[_FileState, Solids]]:
    """Read each file of several solids once within the block, however many of them are wanted.

    What is kept is yielded, to be cleared as soon as no more solids are wanted. A file that has
    changed is read again. A block within another keeps what that keeps.
    """
    outer = _KEPT.get()
    if outer is not None:
        yield outer
        return
    kept: dict[_FileState, Solids] = {}
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def _read_solids(path: Path) -> Solids:
    """Return the polygons of a file, which must not change meanwhile, by the name of the solid."""
    kept = _KEPT.get()
    state = _state(path) if kept is not None else None
    if kept is not None and state in kept:
        return kept[state]
    with Unchanged(path):
        solids = _parsed(path)
    if kept is not None and state is not None and len(solids) > 1:
        kept[state] = solids
    return solids


def _state(path: Path) -> _FileState | None:
    """Return what tells a file from others and from what it was; None for pipes and devices."""
    if not path.is_file():
        return None
    status = path.stat()
    return path.resolve(), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _parsed(path: Path) -> Solids:
    """Return the polygons by what the content shows the format to be."""
    data = read_whole(path)
    if not data:
        message = f"{path.name} is empty: export the wireframe again"
        raise MeshError(message)
    extension = path.suffix.lower()
    kind = detect(data)
    if kind is None and is_broken_binary_stl(data, extension):
        kind = "binary STL"
    if kind is None:
        raise _unknown(path, data[:HEAD])
    _warn_of_extension(path.name, extension, kind)
    if kind in _READERS:
        return gather(reader(kind)(data, path), path.stem)
    if kind in _PARSERS:
        return {path.stem: parser(kind)(data, path.name)}
    del data
    from geodomain.io.meshes import vtk

    return {path.stem: vtk.read(path, EXTENSIONS[kind][0])}


def _unknown(path: Path, head: bytes) -> MeshError:
    """Return the error for content that nobody here can read."""
    advice = closed.advice(head, path.suffix.lower())
    if advice is None and not head.strip(b"\xef\xbb\xbf \t\r\n"):
        advice = "it holds nothing but blanks: export the wireframe again"
    if advice is None:
        advice = (
            f"its content is none of those that are read ({READABLE}): export it as one of them"
        )
    return MeshError(f"{path.name}: {advice}")


def _warn_of_extension(name: str, extension: str, kind: str) -> None:
    if extension in EXTENSIONS[kind]:
        return
    called = f"called {extension}" if extension else "without an extension"
    message = f"{name} is {kind} {called}, and read as {kind}: rename it to {EXTENSIONS[kind][0]}"
    warn(message)
