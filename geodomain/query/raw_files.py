"""Read meshes and segments from raw files of numbers, and write arrays to such files."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from geodomain.compute.data import Coordinates
from geodomain.errors import TableError
from geodomain.files.outputs import AtomicFile, refuse_to_replace
from geodomain.files.pipeline import Ahead, fill
from geodomain.files.unchanged import Unchanged
from geodomain.mesh.mesh import Mesh

FLOATS = {"float32": "<f4", "float64": "<f8"}

# Endings of R. Leung's file names: vertices_f32, rayFrom_f32.
_ENDINGS = {"f32": "float32", "f64": "float64"}

_ROW = {name: 3 * int(code[-1]) for name, code in FLOATS.items()}  # bytes


def byte_count(path: Path) -> int:
    """Return the size of a file in bytes; raise OSError if it is not a regular file."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "raw arrays can only be read from a regular file", str(path))
    return path.stat().st_size


def float_type(path: Path, named: str | None, keyword: str, *, at_least: int = 0) -> str:
    """Return the type of the coordinates in a file of x, y, z rows.

    The type that the user named has priority. Otherwise the ending of the file's name decides:
    `_f32` or `_f64`. Without such an ending, the size of the file decides, if only one type fits.

    Parameters
    ----------
    path : Path
        An existing file.
    named : {"float32", "float64"}, optional
        The type that the user named.
    keyword : str
        The keyword with which the user names the type, such as ``"ray_type="``, for messages.
    at_least : int
        The smallest number of rows that the file must have. If the file has fewer with either type,
        the result is float32, which gives more rows.

    Raises
    ------
    TableError
        If the size is not a whole number of rows. If the size fits both types.
    """
    size = byte_count(path)
    named = named or next(
        (_ENDINGS[end] for end in _ENDINGS if path.name.endswith(f"_{end}")), None
    )
    if named is not None:
        if size % _ROW[named]:
            message = (
                f"{path} has {size:,} bytes, which is not a whole number of rows of three {named} "
                f"({_ROW[named]} bytes each). Export the file again, or correct {keyword}."
            )
            raise TableError(message)
        return named
    whole = [name for name, row in _ROW.items() if size % row == 0]
    fitting = [name for name in whole if size // _ROW[name] >= at_least]
    if len(fitting) == 1 or not size or (whole and not fitting):
        return [*fitting, *whole][0]
    if fitting:
        message = (
            f"{path} has {size:,} bytes, which may be {size // 12:,} rows of float32 or "
            f"{size // 24:,} of float64. Choose with {keyword}, or rename the file so that its "
            "name ends in _f32 or _f64."
        )
    else:
        message = (
            f"{path} has {size:,} bytes, which is not a whole number of rows of three float32 or "
            "float64 (12 or 24 bytes each). Export the file again."
        )
    raise TableError(message)


# Reading.

CHUNK = 1 << 20  # segments

_TRIANGLE = 12  # bytes: three int32


def read_raw_mesh(vertices: Path, triangles: Path, *, vertex_type: str | None = None) -> Mesh:
    """Read a mesh from a file of coordinates and a file of indices.

    Parameters
    ----------
    vertices : Path
        x, y, z of each vertex, float32 or float64, little-endian. float32 is widened exactly.
    triangles : Path
        Three vertex numbers for each triangle, int32, counted from 0, little-endian.
    vertex_type : {"float32", "float64"}, optional
        By default the ending of the file's name decides: `_f32` or `_f64`. Without such an ending,
        the size decides, if only one type gives enough rows for the highest index.

    Returns
    -------
    Mesh

    Raises
    ------
    TableError
        If a file's size is not a whole number of rows. If the type is ambiguous.
    MeshError
        For an index without a vertex, and for the reasons listed at `Mesh`.
    OSError
        If a file cannot be read.
    """
    with Unchanged(vertices, triangles):
        return _mesh(vertices, triangles, vertex_type)


def _mesh(vertices: Path, triangles: Path, vertex_type: str | None) -> Mesh:
    """Read both files, and check that there is a vertex for every index."""
    size = byte_count(triangles)
    if size % _TRIANGLE:
        message = (
            f"{triangles} has {size:,} bytes, which is not a whole number of triangles of three "
            f"int32 ({_TRIANGLE} bytes each). Export the file again."
        )
        raise TableError(message)
    corners = np.fromfile(triangles, dtype="<i4").reshape(-1, 3)
    needed = int(corners.max()) + 1 if len(corners) else 0
    kind = float_type(vertices, vertex_type, "vertex_type=", at_least=needed)
    name = f"{vertices.name} and {triangles.name}"
    points = np.fromfile(vertices, dtype=FLOATS[kind]).reshape(-1, 3)
    return Mesh(points.astype(np.float64), corners.astype(np.int32), name=name)


@dataclass(frozen=True)
class RawSegments:
    """Two files with the starts and the ends of segments.

    Attributes
    ----------
    starts, ends : Path
        Files of x, y, z, little-endian.
    kind : {"float32", "float64"}
        Number type of both files.
    """

    starts: Path
    ends: Path
    kind: str

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.starts.stat().st_size // (3 * np.dtype(FLOATS[self.kind]).itemsize)

    def chunks(self, size: int = CHUNK) -> Generator[tuple[Coordinates, Coordinates], None, None]:
        """Yield pairs of arrays (starts, ends) of at most `size` rows, in the type of the files.

        A pair is valid only until the next pair is yielded: a thread reads ahead, and two buffers
        are used in turn.

        Raises
        ------
        OSError
            If a file changes while it is read.
        """
        count = len(self)
        buffers = np.empty((2, 2, min(size, count), 3), dtype=FLOATS[self.kind])
        with (
            Unchanged(self.starts, self.ends),
            self.starts.open("rb", buffering=0) as starts,
            self.ends.open("rb", buffering=0) as ends,
        ):

            def read(begin: int) -> tuple[Coordinates, Coordinates]:
                starts_read, ends_read = buffers[begin // size % 2, :, : min(size, count - begin)]
                for file, rows in ((starts, starts_read), (ends, ends_read)):
                    buffer = rows.reshape(-1).view(np.uint8).data
                    if fill(file, buffer) < len(buffer):
                        message = f"{self.starts} or {self.ends} became shorter while being read."
                        raise TableError(message)
                return starts_read, ends_read

            ahead = Ahead(range(0, count, size), read)
            try:
                yield from ahead.results()
            finally:
                ahead.stop()


def open_segments(starts: Path, ends: Path, *, ray_type: str | None = None) -> RawSegments:
    """Open two files of segments, and check that they match.

    Parameters
    ----------
    starts, ends : Path
        x, y, z of each segment's start and end, float32 or float64, little-endian.
    ray_type : {"float32", "float64"}, optional
        Number type of both files. By default the endings of the files' names decide; without such
        endings, the sizes decide.

    Raises
    ------
    TableError
        If the files differ in the number or the type of their rows. If the type is ambiguous.
    OSError
        If a file cannot be read.
    """
    sides = [
        RawSegments(path, path, float_type(path, ray_type, "ray_type=")) for path in (starts, ends)
    ]
    if len(sides[0]) != len(sides[1]) or sides[0].kind != sides[1].kind:
        sizes = (f"{side.starts} has {len(side):,} rows of {side.kind}" for side in sides)
        message = (
            f"{' and '.join(sizes)}: each segment needs a start and an end of the same number "
            "type. Export both files again."
        )
        raise TableError(message)
    return RawSegments(starts, ends, sides[0].kind)


# Writing.


class ArrayWriter:
    """Append arrays to a file as numbers of one type.

    Parameters
    ----------
    file : AtomicFile
        The file.
    code : str
        NumPy's name of the type, such as "<f4".
    """

    def __init__(self, file: AtomicFile, code: str) -> None:
        self._file, self._type = file, np.dtype(code)

    def append(self, values: ArrayLike) -> None:
        """Append the numbers of an array to the file, row by row."""
        array = np.ascontiguousarray(values, dtype=self._type)
        self._file.write(array.reshape(-1).view(np.uint8).data)


@contextmanager
def written_together(
    folder: Path, codes: Mapping[str, str], *, overwrite: bool = False
) -> Iterator[dict[str, ArrayWriter]]:
    """Write several files, which all appear at the end of the `with` block, or not at all.

    Parameters
    ----------
    folder : Path
        Folder of the files; created if it is missing.
    codes : mapping of str to str
        For each file name, NumPy's name of the number type in that file.
    overwrite : bool
        Whether existing files may be replaced.

    Yields
    ------
    dict of str to ArrayWriter
        A writer for each file name. If the `with` block raises an exception, existing files stay
        unchanged, and no new folder remains.

    Raises
    ------
    FileExistsError
        If one of the files exists and ``overwrite`` is false.
    OSError
        If a file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    refuse_to_replace([folder / name for name in codes], overwrite=overwrite)
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.callback(_remove_empty, new_folders)
        files = {}
        for name in codes:
            # A link stays a link: its target is replaced.
            files[name] = AtomicFile(Path(os.path.realpath(folder / name)), new=not overwrite)
            stack.callback(files[name].abandon)
        yield {name: ArrayWriter(files[name], code) for name, code in codes.items()}
        for file in files.values():
            file.commit()


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders in the order of the list; stop at the first folder that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
