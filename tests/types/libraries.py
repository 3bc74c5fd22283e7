# pyright: strict
"""What goes in decides what comes out: columns, tables and arrays of other libraries.

Type checkers read this file, nothing runs it.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np
import polars as pl
import trimesh
import xarray as xr
from numpy.typing import NDArray

import geodomain


def label_tables(blocks: pl.DataFrame, ore: trimesh.Trimesh, holes: geodomain.Drillholes) -> None:
    domains = {"ORE": ore}
    assert_type(geodomain.label_blocks(blocks, domains), pl.Series)
    assert_type(geodomain.label(blocks, domains), pl.Series)
    assert_type(geodomain.proportions_blocks(blocks, domains), pl.DataFrame)
    assert_type(geodomain.flag(blocks, holes, domains), pl.Series)
    assert_type(geodomain.flag(blocks, holes, domains, by="split"), pl.DataFrame)


def label_model(model: xr.DataArray, ore: trimesh.Trimesh) -> NDArray[np.bool_]:
    x, y, z = model["x"], model["y"], model["z"]
    assert_type(geodomain.label_lattice(x, y, z, {"ORE": ore}, like=model), xr.DataArray)
    bits = geodomain.contains_lattice(ore, x, y, z, packed=True)
    assert_type(bits, NDArray[np.uint8])
    return geodomain.contains_lattice(ore, x, y, z)
