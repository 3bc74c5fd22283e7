"""Files of OMF 2: a ZIP with an index of the elements and a Parquet file for each array."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.errors import GeodomainError
from geodomain.io.omf.refusal import damaged

COMMENT = b"Open Mining Format 2.0"
INDEX = "index.json.gz"


def require_pyarrow(file: str, error: type[GeodomainError]) -> None:
    """Refuse to go on without the library that reads Parquet."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        message = (
            f"{file} is OMF 2, which is read and written through pyarrow: install it with pip"
            " install 'geodomain[parquet]'"
        )
        raise error(message) from None


class Project2:
    """The members of a file and what its index says of them."""

    def __init__(
        self, members: zipfile.ZipFile, size: int, file: str, error: type[GeodomainError]
    ) -> None:
        self.members, self.size, self.file, self._error = members, size, file, error
        if not members.comment.startswith(COMMENT):
            message = (
                f"{file} is an early form of OMF 2 (of the Python package 2.0.0a0) that no"
                " other program reads: write it as OMF 1, or as Open Mining Format 2.0"
            )
            raise error(message)
        index = f"{file}: its index"
        packed = memory.read_member(members, INDEX, index, error)
        self.project: Any = json.loads(memory.inflate(packed, index, error, json=True))

    def refuse(self, found: str) -> NoReturn:
        """Raise the error for a file that is not what it must be."""
        raise damaged(self.file, found, self._error)

    def require_surface(self, nu: int, nv: int) -> None:
        """Refuse a surface of more cells than memory holds triangles for."""
        what = f"{self.file}, with a surface of {nu:,} x {nv:,} cells,"
        memory.require(200.0 * nu * nv, what, self._error)

    def elements(self) -> Iterator[Any]:
        """Yield the elements in their order, those of composites in their place."""
        return _flat(self.project["elements"], 0)

    def origin(self, placed: Any) -> NDArray[np.float64]:
        """Give what is added to coordinates: the project's origin and that of what is placed."""
        origin = np.array(self.project.get("origin") or (0, 0, 0), dtype=np.float64)
        total: NDArray[np.float64] = origin + np.array(
            placed.get("origin") or (0, 0, 0), dtype=np.float64
        )
        return total

    def steps(self, grid: Any, axes: str) -> list[NDArray[np.float64]]:
        """Give the sizes of cells along each axis of a grid, regular or tensor."""
        if grid["type"] == "Tensor":
            return [self.numbers(grid[axis], ["scalar"])[:, 0] for axis in axes]
        counts = [int(count) for count in grid["count"]]
        if min(counts) < 0:
            self.refuse("a grid has fewer than no cells")
        memory.require(16 * sum(counts), f"{self.file}, with a grid of that size,", self._error)
        return [
            np.full(count, float(size)) for count, size in zip(counts, grid["size"], strict=True)
        ]

    def table(self, told: Any) -> Any:
        """Return a Parquet member as an Arrow table; it has as many rows as the index says."""
        import pyarrow.parquet

        what = f"{self.file}: {told['filename']}"
        packed = memory.read_member(self.members, told["filename"], what, self._error)
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(packed))
        count = file.metadata.num_rows
        if count != int(told["item_count"]):
            found = f"{told['filename']} has {count:,} rows, not {told['item_count']}"
            self.refuse(found)
        columns = range(file.metadata.num_columns)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        size = sum(group.column(n).total_uncompressed_size for group in groups for n in columns)
        needed = max(size, 8 * count * file.metadata.num_columns)
        memory.require(needed, what, self._error)
        # A thread of Arrow that lets go of the bytes while Python ends would abort the process.
        return file.read(use_threads=False)

    def numbers(self, told: Any, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of a Parquet member as float64, (n, k)."""
        return as_floats(self.table(told), names)


def as_floats(table: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Give columns of an Arrow table as float64, (n, k)."""
    arrays = [table.column(name).to_numpy(zero_copy_only=False) for name in names]
    return np.column_stack([array.astype(np.float64) for array in arrays])


def _flat(elements: Any, depth: int) -> Iterator[Any]:
    if depth > 100:
        message = "composites inside each other"
        raise ValueError(message)
    for one in elements:
        if one["geometry"]["type"] == "Composite":
            yield from _flat(one["geometry"]["elements"], depth + 1)
        else:
            yield one


def member(name: str) -> zipfile.ZipInfo:
    """Return a member without the time of writing, so that equal content is equal files."""
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def packed_index(project: Any) -> bytes:
    """Give the index as it is stored."""
    return gzip.compress(json.dumps(project).encode(), mtime=0)


def packed_table(table: Any) -> bytes:
    """Give an Arrow table as it is stored."""
    import pyarrow.parquet

    target = io.BytesIO()
    pyarrow.parquet.write_table(table, target, compression="gzip", use_dictionary=False)
    return target.getvalue()
