"""A block model in parts, and what its labels must be, for the tests of datasets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import wireframes
from late import pandas
from wireframes import box, cube

import geodomain
from geodomain.mesh.mesh import Mesh

# PYTHONPATH of a script that imports this module.
FOLDERS = os.pathsep.join(str(Path(file).parent) for file in (__file__, wireframes.__file__))
HALO = box((5, 5, 5), (15, 15, 15), name="halo")
# Two triangles over all blocks: what is above is air.
GROUND = Mesh(
    [[-1e3, -1e3, 18], [1e3, -1e3, 18], [1e3, 1e3, 18], [-1e3, 1e3, 18]],
    [[0, 1, 2], [0, 2, 3]],
    name="ground",
)


def _blocks() -> pandas.DataFrame:
    """Make 1,000 blocks of which none is on a wall, some without a coordinate."""
    axis = np.arange(10) * 2 + 1.25
    x, y, z = (each.ravel() for each in np.meshgrid(axis, axis, axis, indexing="ij"))
    blocks = pandas.DataFrame({"X": x, "Y": y, "Z": z})
    blocks[["DX", "DY", "DZ"]] = 2.0
    blocks["ROCK"] = np.where(np.arange(len(x)) % 3, "OX", "FR")
    blocks.loc[::97, "Y"] = np.nan
    return blocks


_ENDS = [0, 130, 131, 131, 480, 815, 1000]
_NAMES = [
    "zone=A/1.csv",
    "zone=A/2.csv",
    "zone=A/3.csv",
    "zone=B/1.csv",
    "zone=B/2.csv",
    "zone=C/1.csv",
]


@cache
def all_parts() -> dict[str, pandas.DataFrame]:
    """Return the parts in the order of the rows; one part has one row, and one has none."""
    blocks = _blocks()
    return {
        name: blocks.iloc[start:end]
        for name, start, end in zip(_NAMES, _ENDS, _ENDS[1:], strict=False)
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def domains() -> geodomain.Domains:
    """Return domains of every kind: above a surface, two solids, one of them with a condition."""
    return geodomain.Domains(
        (
            geodomain.Domain("AIR", GROUND, kind="above"),
            geodomain.Domain("ORE", cube(), only_if={"ROCK": "OX"}),
            geodomain.Domain("HALO", HALO),
        ),
        background="WASTE",
        unassigned="?",
    )


def oracle(blocks: pandas.DataFrame) -> list[str]:
    """Return the labels by comparing coordinates."""
    labels = []
    for x, y, z, rock in zip(blocks["X"], blocks["Y"], blocks["Z"], blocks["ROCK"], strict=True):
        if np.isnan([x, y, z]).any():
            labels.append("?")
        elif z > 18:
            labels.append("AIR")
        elif max(x, y, z) < 10 and rock == "OX":
            labels.append("ORE")
        else:
            labels.append("HALO" if min(x, y, z) > 5 and max(x, y, z) < 15 else "WASTE")
    return labels


def write_csv(dataset: str, parts: Mapping[str, pandas.DataFrame]) -> None:
    """Write parts as text."""
    for name, part in parts.items():
        path = Path(dataset, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        part.to_csv(path, index=False)


def write_parquet(dataset: str, parts: Mapping[str, pandas.DataFrame]) -> None:
    """Write parts as Parquet, in row groups of 100 rows."""
    import pyarrow
    from pyarrow import parquet

    for name, part in parts.items():
        path = Path(dataset, name).with_suffix(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pyarrow.Table.from_pandas(part, preserve_index=False)
        if "ROCK" in part:  # which pandas 2 writes as a column of nulls where there are no rows
            place = table.schema.get_field_index("ROCK")
            table = table.set_column(place, "ROCK", table["ROCK"].cast(pyarrow.string()))
        parquet.write_table(table, path, row_group_size=100)


def rows_of(dataset: str, ending: str) -> list[str]:
    """Return the labels of all parts, in their order."""
    labels: list[str] = []
    for path in sorted(Path(dataset).rglob(f"*{ending}")):
        if "_geodomain" not in path.parts:
            if ending == ".parquet":
                labels += pandas.read_parquet(path)["domain"].tolist()
            else:
                labels += pandas.read_csv(path, keep_default_na=False)["domain"].tolist()
    return labels


def files_of(output: str) -> dict[str, bytes]:
    """Return the labelled parts of a folder, hidden files too: a part of a file would be one."""
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in Path(output).rglob("*")
        if path.is_file() and "_geodomain" not in path.parts
    }
