"""Read, write and convert wireframes in files of any format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from geodomain.errors import MeshError, counted, log, warn
from geodomain.files.outputs import refuse_inputs, refuse_to_replace, require_places
from geodomain.files.streams import read_whole, replaced
from geodomain.files.unchanged import Unchanged
from geodomain.formats.registry import (
    HEAD,
    Format,
    Head,
    advice,
    block_outputs,
    format_of_meshes,
    loaded,
    mesh_outputs,
    readable,
    split_name,
    writer_of_blocks,
    writer_of_meshes,
)
from geodomain.formats.solids import NamedFaces, Solids, as_one, gather, pick, title
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

# Path, device, inode, size and time of a file, and the solid that was read alone.
_FileState = tuple[Path, int, int, int, int, str | None]
_CACHE: ContextVar[dict[_FileState, Solids] | None] = ContextVar("cache", default=None)


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a wireframe with exactly the coordinates of the file, in float64.

    The format is recognised by content, not by extension. If a format repeats the corners of
    triangles, corners with equal coordinates become one vertex; nothing else is merged. The
    triangulation of a polygon does not depend on its first corner. Normals, colours and materials
    are ignored.

    Parameters
    ----------
    path : str or path-like
        The file. ``FILE:NAME`` selects one solid of several, such as a layer of a DXF drawing;
        without a name, all solids are read as one mesh.

    Returns
    -------
    Mesh
        The mesh, in the unit of the file. Its name is the file name, followed by the names of the
        solids if there are several.

    Raises
    ------
    OSError
        If the file cannot be opened.
    MeshError
        If the format is unknown, the file is damaged or not a triangulated wireframe, or no solid
        has the given name.

    Warns
    -----
    GeodomainWarning
        If the extension belongs to another format, or the file stores float32 at coordinates so
        large that their resolution is 0.01 or worse.

    See Also
    --------
    read_meshes : reads each solid of a file as a separate mesh.
    """
    place, wanted = split_name(path)
    solids = _read_solids(place, wanted)
    if wanted is None:
        return Mesh.from_faces(as_one(solids), name=title(place.name, solids))
    return Mesh.from_faces(pick(solids, wanted, place.name), name=f"{place.name}:{wanted}")


def read_meshes(path: str | os.PathLike[str]) -> dict[str, Mesh]:
    """Read each solid of a file as a separate mesh.

    Parameters
    ----------
    path : str or path-like
        The file; ``FILE:NAME`` selects one of its solids.

    Returns
    -------
    dict of str to Mesh
        Meshes by their names in the file, in file order. Solids without a name get the file name
        without its extension. Objects with the same name form one mesh.

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
    solids = _read_solids(place, wanted)
    if wanted is not None:
        solids = {wanted: pick(solids, wanted, place.name)}
    alone = len(solids) == 1 and wanted is None
    return {
        name: Mesh.from_faces(faces, name=place.name if alone else f"{place.name}:{name}")
        for name, faces in solids.items()
    }


@contextmanager
def reading_once() -> Iterator[dict[_FileState, Solids]]:
    """Read each file with several solids only once while the context is open.

    The cache is yielded, so that it can be cleared as soon as no more solids are needed. A file
    that has changed is read again. Nested contexts share the cache of the outer one.
    """
    outer = _CACHE.get()
    if outer is not None:
        yield outer
        return
    cache: dict[_FileState, Solids] = {}
    token = _CACHE.set(cache)
    try:
        yield cache
    finally:
        _CACHE.reset(token)


def _read_solids(path: Path, wanted: str | None) -> Solids:
    """Return the polygons of each solid of a file, from the cache if possible.

    If the format can read one solid alone, only the solid with the name `wanted` is returned.

    Raises
    ------
    OSError
        If the file changes while it is read.
    """
    cache = _CACHE.get()
    own = _opened_by_library(path)
    state = None if cache is None else _state(path, wanted if own else None)
    if cache is not None and state in cache:
        return cache[state]
    with Unchanged(path):
        if own is None:
            form, solids = _parsed(path)
        else:
            form, solids = own, _gathered(loaded(own.read_named)(path, wanted), path)
            _warn_of_extension(path.name, path.suffix.lower(), own)
    faces = sum(len(solid.sizes) for solid in solids.values())
    log(
        "read %s: %s, %s in %s",
        path, form.name, counted(faces, "face"), counted(len(solids), "solid"),
    )  # fmt: skip
    if cache is not None and state is not None and len(solids) > 1:
        cache[state] = solids
    return solids


def _state(path: Path, wanted: str | None) -> _FileState | None:
    """Return a key that changes when the file changes; None for pipes and devices."""
    if not path.is_file():
        return None
    status = path.stat()
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    return path.resolve(), *stamp, wanted


def _parsed(path: Path) -> tuple[Format, Solids]:
    """Return the format of a file, recognised by content, and the polygons of each solid."""
    data = read_whole(path)
    if not data:
        message = f"{path.name} is empty: export the wireframe again"
        raise MeshError(message)
    head = Head(data, path.suffix.lower())
    form = format_of_meshes(head)
    if form is None:
        raise _unknown(path, head)
    _warn_of_extension(path.name, head.extension, form)
    if form.read_file:
        del data, head  # a library opens the file itself
        return form, {path.stem: loaded(form.read_file)(path, form.extensions[0])}
    return form, _gathered(loaded(form.read_meshes)(data, path), path)


def _opened_by_library(path: Path) -> Format | None:
    """Return the format of a file that a library opens and reads in part; None for other files."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = Head(file.read(HEAD), path.suffix.lower(), os.fstat(file.fileno()).st_size)
    form = format_of_meshes(head) if head.data else None
    return form if form is not None and form.read_named else None


def _gathered(parts: Faces | Iterable[NamedFaces], path: Path) -> Solids:
    return {path.stem: parts} if isinstance(parts, Faces) else gather(parts, path.stem)


def _unknown(path: Path, head: Head) -> MeshError:
    """Return the error for a file whose content matches no readable format."""
    reason = advice(head)
    if reason is None and not head.text:
        reason = "it contains only blanks: export the wireframe again"
    if reason is None:
        reason = (
            f"its format is not recognised; readable formats are {readable()}: export it as one "
            "of them"
        )
    return MeshError(f"{path.name}: {reason}")


def _warn_of_extension(name: str, extension: str, form: Format) -> None:
    if extension in form.extensions or not form.extensions:
        return
    called = f"has the extension {extension}" if extension else "has no extension"
    usual = form.extensions[0]
    warn(f"{name} {called}, but is {form.name} and is read as {form.name}: rename it to {usual}")


# --- Write wireframes.

_UNPRINTABLE = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def write_mesh(
    mesh: Mesh | Mapping[str, Mesh], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a wireframe in the format of the extension; see `geodomain.write_mesh`."""
    path = Path(path)
    solids = {path.stem: mesh} if isinstance(mesh, Mesh) else dict(mesh)
    form = require_writer(path)
    if form.write_solids:
        solids = _named(solids, path, form)
    places = files_of(path)
    refuse_to_replace(filter(Path.is_file, places), overwrite=overwrite)
    with ExitStack() as opened:  # the last file is put in place first
        files = [opened.enter_context(replaced(place, overwrite=overwrite)) for place in places]
        if form.write_mesh:
            loaded(form.write_mesh)(_as_one(solids), files[0])
        elif form.write_solids:
            loaded(form.write_solids)(solids, files[0])
        else:
            loaded(form.write_pair)(solids, path.stem, files[0], files[1])


def require_writer(path: Path, *, blocks: bool = False) -> Format:
    """Return the format of an output, or raise MeshError with the possible extensions."""
    form = writer_of_meshes(path.suffix.lower())
    if form is None:
        extensions = dict.fromkeys((*mesh_outputs(), *(block_outputs() if blocks else ())))
        place = "standard output" if str(path) == "-" else str(path)
        endings = ", ".join(extensions)
        message = f"{place} has no extension of a format that can be written: use one of {endings}"
        raise MeshError(message)
    return form


def _named(solids: dict[str, Mesh], path: Path, form: Format) -> dict[str, Mesh]:
    """Return the solids under names that the format can store, and warn of changed names.

    A stored name is a single line that is not empty and has no blanks around it.
    """
    spelled = loaded(form.spell) if form.spell else str
    made: dict[str, Mesh] = {}
    changed = []
    for name, mesh in solids.items():
        new = spelled(_UNPRINTABLE.sub(" ", name).strip()) or path.stem
        if new in made:
            message = (
                f"{path.name} would have two solids named {new!r}, the second for the solid "
                f"{name!r}: rename one of the two solids"
            )
            raise MeshError(message)
        made[new] = mesh
        if new != name:
            changed.append(f"{name!r} becomes {new!r}")
    if changed:
        message = f"{path.name} cannot store some names unchanged: {', '.join(changed[:12])}"
        warn(message + (f" and {len(changed) - 12} more" if len(changed) > 12 else ""))
    return made


def files_of(path: Path) -> list[Path]:
    """Return the files that are created when a wireframe is written to a path: two for Surpac."""
    form = writer_of_meshes(path.suffix.lower())
    if not (form and form.pair):
        return [path]
    return [path.with_suffix(extension) for extension in form.pair]


def holds_names(path: str | os.PathLike[str]) -> bool:
    """Return whether the format of a path's extension can store several solids with names."""
    form = writer_of_meshes(Path(path).suffix.lower())
    return form is not None and not form.write_mesh


def _as_one(solids: dict[str, Mesh]) -> Mesh:
    """Return one mesh with the vertices of all solids one after the other, and all triangles."""
    parts = list(solids.values())
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [p.triangles + start for p, start in zip(parts, starts, strict=True)]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices, np.concatenate(triangles), name=parts[0].name)


# --- Convert wireframes.


def convert_file(
    source: str | os.PathLike[str], output: str | os.PathLike[str], *, overwrite: bool = False
) -> dict[str, Mesh]:
    """Convert the wireframes of a file to the format of the output's extension.

    Parameters
    ----------
    source : path
        The file, or ``FILE:NAME`` for one of its solids.
    output : path
        The output; see `write_mesh` for its formats. Formats that store the names of solids keep
        them; in other formats, all solids are written as one mesh.
    overwrite : bool
        Whether an existing output may be replaced.

    Returns
    -------
    dict of str to Mesh
        The meshes by name.

    Raises
    ------
    FileExistsError
        If the output exists; see ``overwrite``.
    MeshError, OSError
        As for `read_meshes` and `write_mesh`.

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
    extension = place.suffix.lower()
    if writer_of_meshes(extension) is None and writer_of_blocks(extension) is None:
        require_writer(place, blocks=True)
    solids = read_meshes(source)
    write_mesh(solids, place, overwrite=overwrite)
    return solids
