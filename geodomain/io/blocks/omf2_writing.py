"""Blocks as a new file of OMF 2: a regular grid, sub-blocks of the largest size, or a tensor."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.cells import Floats
from geodomain.io.blocks.new_values import Values, said
from geodomain.io.omf.version2 import (
    COMMENT,
    INDEX,
    member,
    packed_index,
    packed_table,
    require_pyarrow,
)

_EVEN = 1e-6
_MOST_PARTS = 1 << 16
Put = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class _Division:
    """Parents of one size, and where in them each block lies, in parts of a parent."""

    origin: Floats
    size: Floats
    counts: NDArray[np.int64]
    index: NDArray[np.int64]
    low: Floats
    high: Floats

    @property
    def rows(self) -> NDArray[np.int64]:
        """Give the number of each block's parent, u fastest."""
        along = self.index
        rows: NDArray[np.int64] = along[:, 0] + self.counts[0] * (
            along[:, 1] + self.counts[1] * along[:, 2]
        )
        return rows

    @property
    def is_regular(self) -> bool:
        """Tell whether each parent is one block."""
        full = float(self.counts.astype(np.float64).prod()) == len(self.index)
        whole = (np.abs(self.low) < _EVEN).all() and (np.abs(self.high - 1) < _EVEN).all()
        return full and bool(whole) and len(np.unique(self.rows)) == len(self.index)


def omf_file(
    centroids: Floats, sizes: Floats, axes: Floats, columns: Mapping[str, Values], path: str
) -> bytes:
    """Give the file of blocks whose edges point along the rows of `axes`.

    Raises
    ------
    TableError
        Where centroids or sizes are missing, or blocks straddle cells of the largest size and fill
        no grid of planes.
    """
    require_pyarrow(path, TableError)
    if not len(centroids) or not np.isfinite(centroids).all() or not (sizes > 0).all():
        message = f"{path}: some blocks have no centroid or no size: OMF cannot hold them"
        raise TableError(message)
    local = centroids @ axes.T
    division = _divided(local, sizes)
    tensor = _tensor(local, sizes) if division is None else None
    members: dict[str, bytes] = {}

    def put(arrays: dict[str, Any]) -> dict[str, Any]:
        import pyarrow

        table = pyarrow.table(arrays)
        name = f"{len(members) + 1}.parquet"
        members[name] = packed_table(table)
        return {"filename": name, "item_count": len(table)}

    geometry: dict[str, Any] = {"type": "BlockModel"}
    location, order = "Primitives", np.arange(len(centroids))
    if division is not None:
        origin = division.origin
        counts = division.counts.tolist()
        geometry["grid"] = {"type": "Regular", "size": division.size.tolist(), "count": counts}
        if division.is_regular:
            order = np.argsort(division.rows)
        else:
            location, geometry["subblocks"] = "Subblocks", _sub_blocks(division, put)
    elif tensor is not None:
        origin, order = tensor.origin, tensor.order
        steps = zip("uvw", tensor.steps, strict=True)
        geometry["grid"] = {"type": "Tensor", **{a: put({"scalar": one}) for a, one in steps}}
    else:
        message = (
            f"{path}: some blocks straddle the cells of the largest size, and all of them fill no "
            "grid of planes, which OMF cannot hold: end the output in .vtu"
        )
        raise TableError(message)
    geometry["orient"] = {
        "origin": (origin @ axes).tolist(),
        **{name: axis.tolist() for name, axis in zip("uvw", axes, strict=True)},
    }
    attributes = [
        {"name": name, "location": location, "data": _data(values[order], put)}
        for name, values in columns.items()
    ]
    stem = Path(path).stem
    element = {"name": stem, "attributes": attributes, "geometry": geometry}
    return _archive(members, {"name": stem, "elements": [element]})


class _Tensor(NamedTuple):
    """Blocks between planes: where they begin, the steps along u, v and w, and their order."""

    origin: Floats
    steps: list[Floats]
    order: NDArray[np.intp]


def _tensor(local: Floats, sizes: Floats) -> _Tensor | None:
    """Return the grid of planes whose cells the blocks are, u fastest; None where there is none."""
    place, counts, steps = np.zeros(len(local), np.int64), 1, []
    for axis in range(3):
        values, near = local[:, axis], _EVEN * sizes[:, axis].min()
        order = np.argsort(values, kind="stable")
        begins = np.diff(values[order], prepend=-np.inf) > near
        number = np.empty(len(values), np.int64)
        number[order] = np.cumsum(begins) - 1
        first = order[begins]
        step, centre = sizes[first, axis], values[first]
        same = (np.abs(sizes[:, axis] - step[number]) <= near).all()
        joined = np.abs(np.diff(centre) - (step[1:] + step[:-1]) / 2) <= near
        if not (same and joined.all()):
            return None
        place += counts * number
        counts *= len(first)
        steps.append(step)
    if counts != len(local) or len(np.unique(place)) != counts:
        return None
    return _Tensor((local - sizes / 2).min(axis=0), steps, np.argsort(place))


def _divided(local: Floats, sizes: Floats) -> _Division | None:
    """Put blocks into parents of the largest size, from the lowest corner on.

    None where some do not fit into one.
    """
    low, size = local - sizes / 2, sizes.max(axis=0)
    origin = low.min(axis=0)
    steps = (low - origin) / size
    index = np.floor(steps + _EVEN).astype(np.int64)
    begin = np.maximum(steps - index, 0.0)
    end = steps - index + sizes / size
    if (end > 1 + _EVEN).any():
        return None
    return _Division(origin, size, index.max(axis=0) + 1, index, begin, np.minimum(end, 1.0))


def _sub_blocks(division: _Division, put: Put) -> dict[str, Any]:
    """Give sub-blocks: on a grid of their parents where they lie on one, else free ones."""
    parts = np.round(1 / (division.high - division.low).min(axis=0))
    low, high = division.low * parts, division.high * parts
    even = all((np.abs(one - np.round(one)) < _EVEN * parts).all() for one in (low, high))
    regular = even and bool((parts <= _MOST_PARTS).all())
    ends = (np.round(low), np.round(high)) if regular else (division.low, division.high)
    kind = np.uint32 if regular else np.float64
    arrays: dict[str, Any] = {}
    named: Iterable[tuple[str, Any]] = zip(
        ("parent", "corner_min", "corner_max"), (division.index, *ends), strict=True
    )
    for what, values in named:
        typed = values.astype(np.uint32 if what == "parent" else kind)
        arrays |= {f"{what}_{axis}": typed[:, n] for n, axis in enumerate("uvw")}
    if regular:
        count = parts.astype(int).tolist()
        return {"type": "Regular", "count": count, "subblocks": put(arrays)}
    return {"type": "Freeform", "subblocks": put(arrays)}


def _data(values: Values, put: Put) -> dict[str, Any]:
    """Give what the index says of values: numbers, or categories with their names."""
    import pyarrow

    if values.dtype.kind in "fiub":
        return {"type": "Number", "values": put({"number": values.astype(np.float64)})}
    texts = pyarrow.array([said(one) or None for one in values.tolist()], pyarrow.string())
    coded = texts.dictionary_encode()
    names = put({"name": coded.dictionary})
    return {
        "type": "Category",
        "values": put({"index": coded.indices.cast("uint32")}),
        "names": names,
    }


def _archive(members: Mapping[str, bytes], project: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    told = {"application": "geodomain", "date": "1980-01-01T00:00:00Z", **project}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(member(name), data)
        archive.writestr(member(INDEX), packed_index(told))
        archive.comment = COMMENT
    return out.getvalue()
