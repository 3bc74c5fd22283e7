# pyright: strict
"""What goes in decides what comes out: columns, tables and arrays of other libraries.

Type checkers read this file, nothing runs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, assert_type

import numpy as np
import polars as pl
import trimesh
import xarray as xr
from numpy.typing import NDArray

import geodomain


class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def label_tables(blocks: pl.DataFrame, ore: trimesh.Trimesh, holes: geodomain.Drillholes) -> None:
    domains = {"ORE": ore}
    assert_type(geodomain.label_blocks(blocks, domains), pl.Series)
    assert_type(geodomain.label(blocks, domains), pl.Series)
    assert_type(geodomain.proportions_blocks(blocks, domains), pl.DataFrame)
    geodomain.view(blocks, grade="AU")
    assert_type(geodomain.flag(blocks, holes, domains), pl.Series)
    assert_type(geodomain.flag(blocks, holes, domains, by="split"), pl.DataFrame)


def label_model(model: xr.DataArray, ore: trimesh.Trimesh) -> NDArray[np.bool_]:
    x, y, z = model["x"], model["y"], model["z"]
    assert_type(geodomain.label_lattice(x, y, z, {"ORE": ore}, like=model), xr.DataArray)
    bits = geodomain.contains_lattice(ore, x, y, z, packed=True)
    assert_type(bits, NDArray[np.uint8])
    return geodomain.contains_lattice(ore, x, y, z)


def label_whatever_is_held(
    stream: ArrowStream, grades: xr.DataArray, model: xr.Dataset, scene: trimesh.Scene
) -> None:
    domains = {"ORE": scene}
    geodomain.label_blocks(stream, "domains.toml")
    geodomain.label(stream, domains)
    geodomain.view(stream, domains=domains)
    assert_type(geodomain.label_grid(grades, Path("domains.toml")), xr.DataArray)
    assert_type(geodomain.label_lattice(grades, domains), xr.DataArray)
    assert_type(geodomain.label_grid(model, domains), xr.DataArray)
    assert_type(geodomain.label_lattice(model, domains), xr.DataArray)
    assert_type(geodomain.contains_lattice(scene, model), xr.DataArray)
    assert_type(geodomain.contains_lattice(scene, grades), xr.DataArray)
    assert_type(geodomain.PointLocator(scene).contains_lattice(grades), xr.DataArray)
    assert_type(geodomain.contains(scene, [1.0, 2.0, 3.0]), NDArray[np.bool_])
    assert_type(geodomain.label_codes([1.0, 2.0, 3.0], {"ORE": scene}), NDArray[np.int32])
    assert_type(geodomain.label_points([1.0, 2.0, 3.0], "domains.toml"), NDArray[np.str_])
