"""Block models of the Open Mining Format, made from its description for the tests."""

from __future__ import annotations

import gzip
import io
import json
import uuid
import zipfile
import zlib
from pathlib import Path

import numpy as np

from geodomain.formats.blocks import open_model
from geodomain.tables.options import TableOptions

STEPS = ([10.0, 10.0, 20.0, 10.0], [10.0, 5.0, 10.0], [4.0, 6.0])
ORIGIN = (1000.0, 2000.0, -50.0)
STRAIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
TURNED = ((0.8, -0.6, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 1.0))
SHAPE = (4, 3, 2)


def centres(axes=STRAIGHT, project=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Return the centres [u, v, w, 3] by hand."""
    out = np.empty((*SHAPE, 3))
    for i in range(4):
        for j in range(3):
            for k in range(2):
                local = [
                    sum(steps[:n]) + steps[n] / 2 for steps, n in zip(STEPS, (i, j, k), strict=True)
                ]
                out[i, j, k] = np.add(ORIGIN, project) + np.array(local) @ np.array(axes)
    return out


def numbers() -> np.ndarray:
    """Return a different number for each cell [u, v, w]."""
    return np.arange(24.0).reshape(SHAPE) / 8


def omf1(axes=STRAIGHT, project=(0.0, 0.0, 0.0), names=("Model",), **changes) -> bytes:
    """Return a project with a volume of each name: a number, a rock by legend, and notes."""
    objects: dict[str, dict] = {}
    packed = []
    ids = iter(str(uuid.UUID(int=n)) for n in range(1, 1000))

    def add(kind: str, **told) -> str:
        name = next(ids)
        objects[name] = {"date_created": "2020-01-01T00:00:00Z", **told, "__class__": kind}
        return name

    def array(values) -> str:
        raw = zlib.compress(np.asarray(values).tobytes())
        start = 60 + sum(map(len, packed))
        packed.append(raw)
        dtype = "<f8" if np.asarray(values).dtype.kind == "f" else "<i8"
        return add("ScalarArray", array={"start": start, "dtype": dtype, "length": len(raw)})

    elements = []
    for name in names:
        index = np.arange(24) % 3 - 1
        rock = add("StringArray", array=["GRANITE", "Ovb é"])
        colours = add("ColorArray", array=[[1, 2, 3], [4, 5, 6]])
        legends = [add("Legend", values=one) for one in (colours, rock)]
        cells = {"location": "cells", "description": ""}
        data = [
            add("ScalarData", name="AU", array=array(numbers().ravel()), **cells),
            add("MappedData", name="ROCK", array=array(index), legends=legends, **cells),
            add("StringData", name="NOTE", array=add("StringArray", array=["n"] * 24), **cells),
        ]
        geometry = {"origin": ORIGIN}
        geometry |= {f"axis_{axis}": one for axis, one in zip("uvw", axes, strict=True)}
        geometry |= {f"tensor_{axis}": one for axis, one in zip("uvw", STEPS, strict=True)}
        placed = add("VolumeGridGeometry", **(geometry | changes))
        elements.append(add("VolumeElement", name=name, data=data, geometry=placed))
    root = uuid.UUID(int=7777)
    objects[str(root)] = {"origin": project, "elements": elements, "__class__": "Project"}
    body = b"".join(packed)
    head = b"\x84\x83\x82\x81" + b"OMF-v0.9.0".ljust(32, b"\0") + root.bytes
    head += (60 + len(body)).to_bytes(8, "little")
    return head + body + json.dumps(objects).encode()


SUB_BLOCKS = np.array(
    [  # parent, low corner, high corner: two of cell (0, 0, 0), one of (3, 2, 1)
        [0, 0, 0, 0, 0, 0, 2, 4, 4],
        [0, 0, 0, 2, 0, 0, 4, 4, 1],
        [3, 2, 1, 1, 1, 1, 2, 2, 2],
    ]
)


def sub_centres() -> np.ndarray:
    return np.add(ORIGIN, [[2.5, 5, 2], [7.5, 5, 0.5], [43.75, 18.75, 6.25]])


def omf2(axes=STRAIGHT, project=(0.0, 0.0, 0.0), sub: str | None = None, rows=SUB_BLOCKS, **grid):
    """Return a project with a model inside a composite, a surface's worth of bytes beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    members: dict[str, bytes] = {}

    def put(told: dict, name: str = "") -> dict:
        table = pa.table(told)
        out = io.BytesIO()
        pq.write_table(table, out, compression="gzip")
        name = name or f"{len(members) + 1}.parquet"
        members[name] = out.getvalue()
        return {"filename": name, "item_count": len(table)}

    values = numbers().transpose(2, 1, 0).ravel()
    index = pa.array([n % 3 if n % 3 < 2 else None for n in range(24)], pa.uint32())
    attributes = [
        {
            "name": "AU",
            "location": "Primitives",
            "units": "g/t",
            "data": {"type": "Number", "values": put({"number": values})},
        },
        {
            "name": "ROCK",
            "location": "Primitives",
            "data": {
                "type": "Category",
                "values": put({"index": index}),
                "names": put({"name": ["GRANITE", "Ovb é"]}),
            },
        },
    ]
    steps = {axis: put({"scalar": one}) for axis, one in zip("uvw", STEPS, strict=True)}
    geometry: dict = {
        "type": "BlockModel",
        "orient": {"origin": ORIGIN, **dict(zip("uvw", axes, strict=True))},
        "grid": {"type": "Tensor", **steps} | grid,
    }
    if sub:
        names = [
            f"{what}_{axis}" for what in ("parent", "corner_min", "corner_max") for axis in "uvw"
        ]
        scale = 4 if sub == "Freeform" else 1
        columns = {
            name: rows[:, n] if n < 3 else (rows[:, n] / scale if scale > 1 else rows[:, n])
            for n, name in enumerate(names)
        }
        told = {"type": sub, "subblocks": put(columns)}
        geometry["subblocks"] = told | ({"count": [4, 4, 4]} if sub == "Regular" else {})
        grade = put({"number": np.arange(len(rows)) + 0.5})
        data = {"type": "Number", "values": grade}
        attributes.append({"name": "CU", "location": "Subblocks", "data": data})
    model = {"name": "Model", "attributes": attributes, "geometry": geometry}
    members["photo.png"] = b"not really"
    group = {"name": "All", "geometry": {"type": "Composite", "elements": [model]}}
    index_json = {"name": "P", "origin": list(project), "elements": [group]}
    members["index.json.gz"] = gzip.compress(json.dumps(index_json).encode(), mtime=0)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        archive.comment = b"Open Mining Format 2.0-beta.1"
    return out.getvalue()


MAKERS = {1: omf1, 2: omf2}


def read(path: Path | str) -> tuple[np.ndarray, np.ndarray, dict[str, list]]:
    """Return centres, sizes and the values of every column, in the order of the file."""
    with open_model(str(path), TableOptions()) as model:
        store = model._store
        centres, sizes = np.empty((2, store.cells.count, 3))
        for where, points, lengths in store.cells.chunks():
            centres[where], sizes[where] = points, lengths
        values = {name: store.values(n).tolist() for n, name in enumerate(model.columns)}
    return centres, sizes, values


def in_file_order(cells: np.ndarray, version: int) -> np.ndarray:
    """Return [u, v, w, ...] as a file has it: w fastest in version 1, u in version 2."""
    axes = (0, 1, 2) if version == 1 else (2, 1, 0)
    return cells.transpose(*axes, *range(3, cells.ndim)).reshape(24, *cells.shape[3:])
