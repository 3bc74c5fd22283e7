"""Labelled copies of damaged models: what was read is what the copy holds, and its own bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import seeds

from geodomain.errors import GeodomainError, TableError
from geodomain.formats.blocks import Destination, Relabelling, open_model
from geodomain.formats.cell_file import CellModel
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions

# Damage may make a lattice of any number of cells.
_MOST_CELLS = 1_000_000
_NEW = NewColumn("a new one", ("A", "b,;|\tB", ""))


def model_files() -> dict[str, list[tuple[str, bytes]]]:
    """Return models that are copied with a column more, by kind."""
    return {
        "copy of csv": [(f"copy{n}.csv", text.encode()) for n, text in enumerate(tables())],
        "copy of vti": [(f"copy{n}.vti", text.encode()) for n, text in enumerate(seeds.VTI)],
        "copy of parquet": [("copy.parquet", parquet(**options)) for options in ({}, _INDEXED)],
    }


_INDEXED = {"compression": "none", "write_page_index": True, "row_group_size": 5}


def tables() -> list[str]:
    """Return texts whose rows are much like the row before, in several dialects."""
    head = "x,y,z,dx,dy,dz,rock,au\n"
    rows = [f"{i % 5}.25,{i // 5 % 4}.5,{i // 20},1,1,0.{i % 3}5,r{i % 7},{i}.0" for i in range(60)]
    text = head + "\n".join(rows) + "\n"
    return [
        text,
        text.replace("\n", "\r\n"),
        text.replace(",", ";").replace(".", ","),
        text.replace(",r", ',"r').replace(",0.", '",0.').replace(",au", ',"au"'),
        text.replace(",", "\t") + "\t" * 70 + "\n",
        "\n".join(f"{row},{'7' * 50}" for row in text.splitlines()),
    ]


def parquet(**options: object) -> bytes:
    """Return a table as Parquet."""
    import pyarrow
    from pyarrow import parquet as format_of

    numbers = np.arange(12.0)
    table = pyarrow.table(dict.fromkeys(("x", "y", "z"), numbers) | {"rock": list("aabbccddeeff")})
    sink = io.BytesIO()
    format_of.write_table(table, sink, **options)
    return sink.getvalue()


def copied(path: Path) -> None:
    """Write a model with a column more, and hold both against each other."""
    copy = path.with_name(f"of-{path.name}")
    copy.unlink(missing_ok=True)
    given: list[tuple[np.ndarray, np.ndarray | None]] = []

    def label(points: np.ndarray, sizes: np.ndarray | None, column: Callable) -> list:
        rows = np.arange(len(points)) + sum(len(each) for each, _ in given)
        given.append((points.copy(), None if sizes is None else sizes.copy()))
        return [(rows % 3).astype(np.int32)]

    with open_model(str(path), TableOptions()) as model:
        if isinstance(model, CellModel) and model.memory > 40 * _MOST_CELLS + 200_000_000:
            message = "as many cells take long"
            raise TableError(message)
        columns = model.columns
        model.relabel(Relabelling(label, [_NEW], Destination(str(copy), overwrite=True)))
    try:
        with open_model(str(copy), TableOptions()) as model:
            assert model.columns == (*columns, _NEW.name), (columns, model.columns)
            found = again(model, range(len(model.columns)))
    except GeodomainError as error:
        with open_model(str(path), TableOptions()) as model:
            again(model, range(len(model.columns)))  # refused: what nobody looked at is damaged
        message = f"the copy of what was read is refused: {error}"
        raise AssertionError(message) from error
    for ours, theirs in zip(joined(given), joined(found), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if path.suffix == ".csv":
        require_bytes(path.read_bytes(), copy.read_bytes())


def again(model: CellModel, also: Sequence[int]) -> list:
    """Read a copy, all of its columns too, and look at the labels."""
    found: list[tuple[np.ndarray, np.ndarray | None]] = []

    def look(points: np.ndarray, sizes: np.ndarray | None, column: Callable) -> list:
        rows = np.arange(len(points)) + sum(len(each) for each, _ in found)
        found.append((points.copy(), None if sizes is None else sizes.copy()))
        for number in also:
            column(number).present()
        if model.columns[-1:] != (_NEW.name,):
            return []
        labels = column(also[-1])
        for code, text in enumerate(_NEW.cells[:2]):
            np.testing.assert_array_equal(labels.among([text]), rows % 3 == code)
        return []

    model.relabel(Relabelling(look, also=also))
    return found


def joined(chunks: list[tuple[np.ndarray, np.ndarray | None]]) -> tuple[np.ndarray, np.ndarray]:
    """Return all centroids and all sizes."""
    points = np.concatenate([np.empty((0, 3)), *(each for each, _ in chunks)])
    sizes = [each for _, each in chunks if each is not None]
    return points, np.concatenate([np.empty((0, 3)), *sizes])


def require_bytes(before: bytes, after: bytes) -> None:
    """Have the bytes of a table be in its copy, one after another, and nothing but cells more."""
    rest = iter(after)
    assert all(byte in rest for byte in before), "bytes of the table are lost"
    assert after.count(b"\n") == before.count(b"\n")
