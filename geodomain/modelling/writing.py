"""A regular block model as text, Parquet or a VTK image, in bounded memory; x fastest, z last."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Progress
from geodomain.io.blocks.parquet import Sink
from geodomain.io.blocks.vtk_arrays import encoded
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.streams import Target
from geodomain.modelling.decimal_axis import plain
from geodomain.modelling.new_model import NewModel

_NAMES = ("x", "y", "z", "dx", "dy", "dz")
_BUFFER = 1 << 20  # characters of text that are written at a time, at least
_GROUP = 1 << 20  # rows of a row group
_MOST_CELLS = 2**31 - 2  # along an axis of an image

Writer = Callable[[NewModel, Target, str, Progress | None], None]


def writer_of(path: str) -> Writer:
    """Return what writes the kind of file that a path names.

    Raises
    ------
    TableError
        For an extension of another kind.
    """
    name = path.lower()
    if path == STANDARD:
        return _write_text
    for ending, writer in _WRITERS.items():
        if name.endswith(ending):
            return writer
    message = (
        f"{path}: end the output in {', '.join(_WRITERS)}; 'geodomain convert' writes it as others"
    )
    raise TableError(message)


def _write_text(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write a table: centroids as exact decimals, then sizes."""
    done, held, length = 0, [",".join(_NAMES) + "\n"], 0
    for rows, text in _row_texts(model):
        held.append(text)
        length += len(text)
        done += rows
        if length >= _BUFFER:
            target.write(memoryview("".join(held).encode()))
            held, length = [], 0
            if progress is not None:
                progress(done, model.blocks)
    target.write(memoryview("".join(held).encode()))


def _row_texts(model: NewModel) -> Iterator[tuple[int, str]]:
    """Yield the text of some rows that share y and z, and how many they are."""
    x, y, z = model.axes
    sizes = ",".join(plain(axis.size) for axis in model.axes)
    # An axis that is not too long is written once.
    along = [list(axis.texts()) if axis.count <= _BUFFER else None for axis in (x, y)]
    for layers in z.texts():
        for height in layers:
            for lines in along[1] or y.texts():
                for line in lines:
                    tail = f",{line},{height},{sizes}\n"
                    for places in along[0] or x.texts():
                        yield len(places), tail.join([*places, ""])


def _write_parquet(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write row groups of float64, each coordinate the nearest to its decimal."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"{path} needs pyarrow to be written: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in _NAMES])
    sink = pyarrow.PythonFile(Sink(target), mode="w")
    with parquet.ParquetWriter(sink, schema) as writer:
        for begin in range(0, model.blocks, _GROUP):
            rows = np.arange(begin, min(begin + _GROUP, model.blocks))
            columns = [*_centroids(model, rows)]
            columns += [np.full(len(rows), float(axis.size)) for axis in model.axes]
            writer.write_table(pyarrow.table(columns, schema=schema), _GROUP)
            if progress is not None:
                progress(int(rows[-1]) + 1, model.blocks)


def _centroids(model: NewModel, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """Yield x, y and z of some rows."""
    nx, ny, _ = model.count
    places = (rows % nx, rows // nx % ny, rows // (nx * ny))
    for axis, along in zip(model.axes, places, strict=True):
        yield axis.numbers(along)


def _write_image(model: NewModel, target: Target, path: str, progress: Progress | None) -> None:
    """Write an image without arrays, turned as the model is."""
    import pyvista

    if max(model.count) > _MOST_CELLS:
        message = f"{path}: VTK counts {_MOST_CELLS:,} cells along an axis at most"
        raise TableError(message)
    low = np.array([[float(axis.low) for axis in model.axes]])
    frame = model.frame
    image = pyvista.ImageData(
        dimensions=tuple(count + 1 for count in model.count),
        spacing=tuple(float(axis.size) for axis in model.axes),
        origin=tuple((low if frame is None else frame.to_world(low))[0].tolist()),
    )
    if frame is not None:
        image.direction_matrix = np.array(frame.matrix)
    target.write(memoryview(encoded(image, path)))


_WRITERS: dict[str, Writer] = {
    ".csv": _write_text,
    ".csv.gz": _write_text,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
    ".vti": _write_image,
}
