"""Points of GeoParquet: exact coordinates, a CRS that is copied and printed, and no degrees."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from late import pa, parquet
from wireframes import cube

import geodomain
from geodomain import TableError

POINTS = np.array([[1.0, 1, 1], [11, 1, 1], [0.1, 0.7, 0.3], [10, 5, 5], [np.nan] * 3])
LABELS = ["ORE", "W", "ORE", "W", ""]
MGA = {
    "type": "ProjectedCRS",
    "name": "GDA94 / MGA zone 50",
    "id": {"authority": "EPSG", "code": 28350},
}
DEGREES = {"type": "GeographicCRS", "name": "WGS 84", "id": {"authority": "EPSG", "code": 4326}}


def well_known(point, order: str = "<", kind: int = 1001) -> bytes | None:
    if np.isnan(point).all():
        return None
    return struct.pack(f"{order}BI3d", order == "<", kind, *point)


def geometry(encoding: str):
    if encoding == "point":
        rows = [None if np.isnan(p).all() else dict(zip("xyz", p, strict=True)) for p in POINTS]
        return pa.array(rows, pa.struct([(axis, pa.float64()) for axis in "xyz"]))
    binary = pa.large_binary() if encoding == "large" else pa.binary()
    kinds = {"big": (">", 1001), "postgis": ("<", 0x80000001)}
    return pa.array([well_known(p, *kinds.get(encoding, ("<", 1001))) for p in POINTS], binary)


def write(path: Path, encoding: str = "WKB", *, column=None, **told: object) -> Path:
    """Write points with a grade in row groups of two."""
    about = {
        "encoding": "point" if encoding == "point" else "WKB",
        "geometry_types": ["Point Z"],
        "crs": MGA,
    } | told
    about = {name: value for name, value in about.items() if value is not ...}
    geo = {"version": "1.1.0", "primary_column": "shape", "columns": {"shape": about}}
    table = pa.table(
        {"AU": np.arange(5.0), "shape": geometry(encoding) if column is None else column}
    )
    table = table.replace_schema_metadata({"geo": json.dumps(geo)})
    parquet.write_table(table, path, row_group_size=2)
    return path


@pytest.mark.parametrize("encoding", ["WKB", "big", "postgis", "large", "point"])
def test_points_are_labelled_and_everything_stays(encoding: str, tmp_path: Path) -> None:
    source = write(tmp_path / "a.parquet", encoding)
    out = tmp_path / "b.parquet"
    geodomain.label_file(source, {"ORE": cube()}, out, background="W")
    made, before = parquet.read_table(out), parquet.read_table(source)
    assert made["domain"].to_pylist() == LABELS
    assert made.schema.names == ["AU", "shape", "domain"]
    assert made.drop_columns("domain").equals(before)
    assert json.loads(made.schema.metadata[b"geo"]) == json.loads(before.schema.metadata[b"geo"])


def test_the_crs_is_said(tmp_path: Path) -> None:
    facts = geodomain.inspect_file(write(tmp_path / "a.parquet")).facts
    assert facts["CRS"] == "GDA94 / MGA zone 50 (EPSG:28350)"
    facts = geodomain.inspect_file(write(tmp_path / "b.parquet", crs=None)).facts
    assert facts["CRS"] == "unknown"


@pytest.mark.parametrize(
    "crs",
    [
        DEGREES,
        ...,
        {"type": "CompoundCRS", "name": "WGS 84 + EGM96", "components": [DEGREES, {}]},
        {"type": "BoundCRS", "source_crs": DEGREES},
        'GEOGCRS["WGS 84", DATUM["World Geodetic System 1984"]]',
        "EPSG:4326",
    ],
)
def test_degrees_are_refused(crs: object, tmp_path: Path) -> None:
    source = write(tmp_path / "a.parquet", crs=crs)
    with pytest.raises(
        TableError, match=r"^a\.parquet: the column 'shape' has .*in degrees .*to_crs"
    ):
        geodomain.label_file(source, {"ORE": cube()}, tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()


def test_ordinary_columns_come_first(tmp_path: Path) -> None:
    table = parquet.read_table(write(tmp_path / "a.parquet", crs=DEGREES))
    for axis, name in enumerate("XYZ"):
        table = table.append_column(name, pa.array(POINTS[:, axis]))
    parquet.write_table(table, tmp_path / "b.parquet")
    geodomain.label_file(tmp_path / "b.parquet", {"ORE": cube()}, tmp_path / "c.parquet")
    assert parquet.read_table(tmp_path / "c.parquet")["domain"].to_pylist()[0] == "ORE"


def test_replacing_a_column_keeps_the_points(tmp_path: Path) -> None:
    source, out, again = (tmp_path / f"{name}.parquet" for name in "abc")
    write(source)
    geodomain.label_file(source, {"OLD": cube()}, out)
    geodomain.label_file(out, {"ORE": cube()}, again, background="W", replace=True)
    made = parquet.read_table(again)
    assert made["domain"].to_pylist() == LABELS
    assert made["shape"].equals(parquet.read_table(source)["shape"])


def test_other_geometries_are_refused(tmp_path: Path) -> None:
    flat = pa.array([struct.pack("<BI2d", 1, 1, 5.0, 5.0)] * 5)
    line = pa.array([struct.pack("<BI3d", 1, 1002, 5.0, 5.0, 5.0)] * 5)
    for column in (flat, line):
        source = write(tmp_path / "a.parquet", column=column)
        with pytest.raises(TableError, match="not points with z, first in row 1 of a row group"):
            geodomain.label_file(source, {"ORE": cube()}, None)
    for kinds in (["Polygon"], ["Point"], ["Point Z", "Point"]):
        source = write(tmp_path / "a.parquet", geometry_types=kinds)
        with pytest.raises(TableError, match="no complete set of centroid columns"):
            geodomain.label_file(source, {"ORE": cube()}, None)
    source = write(tmp_path / "a.parquet")
    with pytest.raises(TableError, match="cannot be split or joined: store them as columns"):
        geodomain.subblock_file(
            source, {"ORE": cube()}, tmp_path / "b.parquet", scheme="octree", minimum=1,
            dx=10, dy=10, dz=10,
        )  # fmt: skip


def test_damaged_geometries_are_refused_by_their_row(tmp_path: Path) -> None:
    good = struct.pack("<BI3d", 1, 1001, 5.0, 5.0, 5.0)
    for bad in (b"\x02" + good[1:], struct.pack("<BI3d", 1, 1002, 5.0, 5.0, 5.0), good[:-1], b""):
        source = write(tmp_path / "a.parquet", column=pa.array([good, None, bad, good, good]))
        table = parquet.read_table(source)
        parquet.write_table(table, source)  # one row group
        with pytest.raises(TableError, match=r"'shape' .*not points with z, first in row 3 of"):
            geodomain.label_file(source, {"ORE": cube()}, None)
    flat = pa.array([{"x": 5.0, "y": 5.0}] * 5)
    texts = pa.array([{"x": "5", "y": "5", "z": "high"}] * 5)
    for column in (flat, texts, pa.array(range(5)), pa.array([[5.0, 5, 5]] * 5)):
        for encoding in ("WKB", "point"):
            source = write(
                tmp_path / "a.parquet", encoding=encoding, column=column, geometry_types=[]
            )
            with pytest.raises(TableError, match=r"'shape' .*not points with z, first in row 1 of"):
                geodomain.label_file(source, {"ORE": cube()}, None)


def test_other_layouts_of_binary_columns(tmp_path: Path) -> None:
    column = geometry("WKB")
    for made in (column.dictionary_encode(), column.cast(pa.binary(29))):
        source, out = (
            write(tmp_path / "a.parquet", column=made),
            tmp_path / f"{made.type.id}.parquet",
        )
        geodomain.label_file(source, {"ORE": cube()}, out, background="W")
        assert parquet.read_table(out)["domain"].to_pylist() == LABELS


@pytest.mark.parametrize(
    "told",
    [
        {"crs": {"type": "CompoundCRS", "components": None}},
        {"crs": {"type": "CompoundCRS", "components": [3, {}]}},
        {"crs": {"type": "CompoundCRS", "components": 5}},
        {"crs": 5},
        {"geometry_types": None},
    ],
)
def test_odd_metadata_are_no_fault(told: dict[str, object], tmp_path: Path) -> None:
    source = write(tmp_path / "a.parquet", **told)
    geodomain.label_file(source, {"ORE": cube()}, tmp_path / "b.parquet", background="W")
    assert parquet.read_table(tmp_path / "b.parquet")["domain"].to_pylist() == LABELS


def test_a_converted_table_has_coordinates(tmp_path: Path) -> None:
    geodomain.convert_blocks(write(tmp_path / "a.parquet"), tmp_path / "b.csv")
    header, first, *_ = (tmp_path / "b.csv").read_text().split()
    assert header == "AU,shape,shape.x,shape.y,shape.z"
    assert first == f"0,{well_known(POINTS[0]).hex()},1,1,1"
    with pytest.raises(
        TableError, match=r"the column 'shape' holds struct.*: leave this column out"
    ):
        geodomain.convert_blocks(write(tmp_path / "c.parquet", "point"), tmp_path / "d.csv")


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_files_of_geopandas(encoding: str, tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    places = geopandas.points_from_xy(*POINTS[:4].T)
    frame = geopandas.GeoDataFrame({"hole": list("ABCD")}, geometry=places, crs="EPSG:28350")
    frame.to_parquet(tmp_path / "a.parquet", geometry_encoding=encoding)
    out = tmp_path / "b.parquet"
    geodomain.label_file(tmp_path / "a.parquet", {"ORE": cube()}, out, background="W")
    made = geopandas.read_parquet(out)
    assert made.pop("domain").tolist() == LABELS[:4]
    assert made.equals(frame) and made.crs == frame.crs
