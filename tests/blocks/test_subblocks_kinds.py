"""Splitting and joining of Parquet, VTK and rotated models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from late import pandas, pyarrow, pyvista
from shapes import star
from subblocked import CENTRE, solid
from wireframes import box

import geodomain
from geodomain import GeodomainWarning, Mesh, TableError
from geodomain.tables.frames import LocalFrame

# Coarse parts have another volume than the solid.
pytestmark = pytest.mark.filterwarnings("ignore:the blocks in ORE have")
SCHEMES = ("octree", "grid", "seam")
ULP = 2.0**-52


def table(folder: Path, *, single: bool = False) -> Path:
    """Write a lattice about the solid in row groups that cut it, in float64."""
    grid = np.stack(np.meshgrid(*[np.arange(-3.0, 4)] * 2, [-1.0, 0, 1], indexing="ij"), -1)
    centres = grid.reshape(-1, 3) * (25.1, 30.7, 12.3) + CENTRE
    sizes = np.broadcast_to([25.1, 30.7, 12.3], centres.shape)
    columns = {n: centres[:, a] for a, n in enumerate(("X", "Y", "Z"))}
    columns |= {n: sizes[:, a].copy() for a, n in enumerate(("DX", "DY", "DZ"))}
    arrays: dict[str, object] = {
        n: pyarrow.array(v.astype(np.float32) if single else v) for n, v in columns.items()
    }
    arrays["rock"] = pyarrow.array([None if n % 7 == 0 else f"R{n % 3}" for n in range(147)])
    arrays["T"] = pyarrow.array(np.linspace(1, 1000, 147))
    place = folder / "blocks.parquet"
    pyarrow.parquet.write_table(pyarrow.table(arrays), place, row_group_size=40)
    return place


def volumes(path: Path) -> Iterator[tuple[float, float, list[float]]]:
    """Give the volume of each parent, the sum of its parts', and their sizes."""
    before = pyarrow.parquet.read_table(path.with_name("blocks.parquet")).to_pydict()
    after = pyarrow.parquet.read_table(path).to_pydict()
    products = np.prod([np.array(after[n]) for n in ("DX", "DY", "DZ")], axis=0)
    parents = np.prod([np.array(before[n], float) for n in ("DX", "DY", "DZ")], axis=0)
    for row, volume in enumerate(parents):
        yield volume, float(np.sum(products[np.array(after["parent"]) == row])), []


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_parquet_keeps_volumes_columns_and_labels(tmp_path: Path, scheme: str, merge: bool) -> None:
    blocks, out = table(tmp_path), tmp_path / "sub.parquet"
    found = geodomain.subblock_file(
        blocks, {"ORE": solid()}, out, scheme=scheme, minimum="3,7,2", merge=merge, extensive="T"
    )
    for before, after, _ in volumes(out):
        assert abs(after - before) <= 4 * ULP * before
    old, new = pyarrow.parquet.read_table(blocks), pyarrow.parquet.read_table(out)
    assert new.schema.names == [*old.schema.names, "parent", "domain"]
    assert new["rock"].equals(old["rock"].take(new["parent"]))
    assert len(new) == found.written
    shares = np.bincount(new["parent"].to_numpy(), new["T"].to_numpy())
    assert np.allclose(shares, old["T"].to_numpy(), rtol=1e-14, atol=0)
    if merge:
        geodomain.subblock_file(
            blocks, {"ORE": solid()}, tmp_path / "all.parquet", scheme=scheme, minimum="3,7,2",
            extensive="T",
        )  # fmt: skip
        again = tmp_path / "again.parquet"
        geodomain.merge_file(tmp_path / "all.parquet", again, extensive="T")
        other = pyarrow.parquet.read_table(again)
        assert other["parent"].equals(new["parent"])
        assert other["domain"].equals(new["domain"])
        for name in ("X", "Y", "Z", "DX", "DY", "DZ", "T"):
            assert np.allclose(other[name].to_numpy(), new[name].to_numpy(), rtol=1e-14)
    else:
        geodomain.label_file(out, {"ORE": solid()}, tmp_path / "a.parquet", column="again")
        labelled = pyarrow.parquet.read_table(tmp_path / "a.parquet")
        assert labelled["again"].equals(labelled["domain"])


@pytest.mark.parametrize("merge", [False, True])
def test_models_of_one_size_get_columns_of_sizes(tmp_path: Path, merge: bool) -> None:
    ore = {"ORE": box((0, 0, 0), (10, 10, 2.5))}
    size = {"dx": "10", "dy": "10.0", "dz": "5"}
    (tmp_path / "a.csv").write_text("X;Y;Z;AU\n5;5,00;2,5;1,0\n15;5;2,5;2,0\n")
    given = {"scheme": "grid", "minimum": "5,10,2.5", "merge": merge, **size}
    geodomain.subblock_file(tmp_path / "a.csv", ore, tmp_path / "b.csv", **given)
    rows = (tmp_path / "b.csv").read_text().splitlines()
    assert rows[0] == "X;Y;Z;AU;DX;DY;DZ;parent;domain"
    assert rows[-1] == "15;5;2,5;2,0;10;10;5;1;"
    parts = {
        False: ["2,5;5,00;1,25;1,0;5;10;2,5;0;ORE", "7,5;5,00;1,25;1,0;5;10;2,5;0;ORE",
                "2,5;5,00;3,75;1,0;5;10;2,5;0;", "7,5;5,00;3,75;1,0;5;10;2,5;0;"],
        True: ["5;5,00;1,25;1,0;10;10;2,5;0;ORE", "5;5,00;3,75;1,0;10;10;2,5;0;"],
    }  # fmt: skip
    assert rows[1:-1] == parts[merge]
    places = pyarrow.table({"X": [5, 15], "Y": [5, 5], "Z": [2.5, 2.5]})
    pyarrow.parquet.write_table(places, tmp_path / "a.parquet")
    with pytest.warns(GeodomainWarning, match="written as float64"):
        geodomain.subblock_file(tmp_path / "a.parquet", ore, tmp_path / "b.parquet", **given)
    found = pyarrow.parquet.read_table(tmp_path / "b.parquet")
    assert found.schema.names == ["X", "Y", "Z", "DX", "DY", "DZ", "parent", "domain"]
    assert found["DZ"].to_pylist() == [2.5] * len(parts[merge]) + [5.0]


def test_single_precision_is_widened_and_said(tmp_path: Path) -> None:
    blocks, out = table(tmp_path, single=True), tmp_path / "sub.parquet"
    with pytest.warns(GeodomainWarning, match=r"written as float64.*X \(float\), Y \(float\)"):
        geodomain.subblock_file(blocks, {"ORE": solid()}, out, scheme="octree", minimum=4)
    assert pyarrow.parquet.read_schema(out).field("X").type == pyarrow.float64()
    assert pyarrow.parquet.read_schema(out).field("T").type == pyarrow.float64()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_cells_become_hexahedra(tmp_path: Path, scheme: str) -> None:
    image = pyvista.ImageData(dimensions=(6, 6, 4), spacing=(25, 30, 12), origin=(-60, -75, -18))
    image.cell_data["au"] = np.arange(75.0)
    image.save(tmp_path / "blocks.vti")
    body = star(6, radius=(45.0, 60.0, 12.0))
    out = tmp_path / "sub.vtu"
    options = {"scheme": scheme, "minimum": "5,5,3"}
    geodomain.subblock_file(tmp_path / "blocks.vti", {"ORE": body}, out, **options)
    grid = pyvista.read(out)
    assert grid.n_cells > 75
    parent = np.asarray(grid.cell_data["parent"])
    assert (np.asarray(grid.cell_data["au"]) == parent).all()
    sizes = np.abs(grid.compute_cell_sizes()["Volume"])
    assert np.allclose(np.bincount(parent, sizes), 9000, rtol=1e-9)
    geodomain.label_file(out, {"ORE": body}, tmp_path / "again.vtu", column="again")
    labelled = pyvista.read(tmp_path / "again.vtu")
    assert list(labelled.cell_data["again"]) == list(labelled.cell_data["domain"])
    merged = tmp_path / "merged.vtu"
    found = geodomain.merge_file(out, merged)
    left = pyvista.read(merged)
    assert left.n_cells == found.after < found.before
    sizes = np.abs(left.compute_cell_sizes()["Volume"])
    assert np.allclose(np.bincount(left.cell_data["parent"], sizes), 9000, rtol=1e-9)
    with pytest.raises(TableError, match=r"need the extension \.vtu"):
        geodomain.subblock_file(
            tmp_path / "blocks.vti", {"ORE": body}, tmp_path / "sub.vti", **options
        )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rotated_models_are_split_along_their_own_axes(tmp_path: Path, scheme: str) -> None:
    frame = LocalFrame([("z", 30.0)], origin=(414_000.0, 7_480_000.0, 300.0))
    local = box((12, 8, 3), (33, 27, 12))
    world = Mesh(frame.to_world(local.vertices), local.triangles)
    rows = [f"{x},{y},{z},10,10,5" for z in (2.5, 7.5, 12.5) for y in (5, 15, 25) for x in
            (5, 15, 25, 35)]  # fmt: skip
    (tmp_path / "a.csv").write_text("X,Y,Z,DX,DY,DZ\n" + "\n".join(rows))
    where = {"rotation": "z=30", "origin": "414000,7480000,300"}
    out = tmp_path / "sub.csv"
    geodomain.subblock_file(
        tmp_path / "a.csv", {"ORE": world}, out, scheme=scheme, minimum="1,1,1", **where
    )
    geodomain.label_file(out, {"ORE": world}, tmp_path / "b.csv", column="again", **where)
    labels = [row.split(",")[-2:] for row in (tmp_path / "b.csv").read_text().splitlines()[1:]]
    assert all(one == other for one, other in labels)
    assert {one for one, _ in labels} == {"ORE", ""}
    whole = [row for row in out.read_text().splitlines() if ",10,10,5," in row]
    assert 0 < len(whole) < 36  # those that no wall enters


@pytest.mark.filterwarnings("ignore:.*blocks have no usable size")
def test_a_turned_image_is_split_along_its_own_axes(tmp_path: Path) -> None:
    frame = LocalFrame([("z", 30.0)], origin=(0.0, 0.0, 0.0))
    image = pyvista.ImageData(dimensions=(5, 4, 4), spacing=(10, 10, 5))
    image.direction_matrix = np.array(frame.matrix)
    image.save(tmp_path / "a.vti")
    local = box((12, 8, 3), (33, 27, 12))
    ore = {"ORE": Mesh(frame.to_world(local.vertices), local.triangles)}
    out = tmp_path / "sub.vtu"
    found = geodomain.subblock_file(tmp_path / "a.vti", ore, out, scheme="octree", minimum=1)
    assert 0 < found.split < found.parents == 36
    sizes = np.abs(pyvista.read(out).compute_cell_sizes()["Volume"])
    assert np.allclose(np.bincount(pyvista.read(out).cell_data["parent"], sizes), 500)
    geodomain.label_file(out, ore, tmp_path / "b.vtu", column="again")
    labelled = pyvista.read(tmp_path / "b.vtu").cell_data
    assert list(labelled["again"]) == list(labelled["domain"])
    joined = geodomain.merge_file(out, tmp_path / "c.vtu")
    assert joined.parents == 36 and joined.after < joined.before / 2
    merged = pyvista.read(tmp_path / "c.vtu")
    volumes = np.abs(merged.compute_cell_sizes()["Volume"])
    assert np.allclose(np.bincount(merged.cell_data["parent"], volumes), 500)
    again = {"scheme": "octree", "minimum": 1, "merge": True}
    geodomain.subblock_file(tmp_path / "a.vti", ore, tmp_path / "d.vtu", **again)
    assert pyvista.read(tmp_path / "d.vtu").n_cells == joined.after


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.omf").write_bytes(b"PK\3\4")
    with pytest.raises(TableError):
        geodomain.merge_file(tmp_path / "a.omf", tmp_path / "b.omf")


def test_columns_of_other_kinds_are_joined_or_refused(tmp_path: Path) -> None:
    """Categories by numbers without a sign, as polars writes them; lists cannot be compared."""
    blocks, sub, out = table(tmp_path), tmp_path / "sub.parquet", tmp_path / "out.parquet"
    geodomain.subblock_file(
        blocks, {"ORE": solid()}, sub, scheme="grid", minimum="3,7,2", extensive="T"
    )
    plain = geodomain.merge_file(sub, tmp_path / "plain.parquet", extensive="T")
    rows = pyarrow.parquet.read_table(sub)
    codes = pyarrow.array([None if n % 7 == 0 else 0 for n in range(len(rows))], pyarrow.uint32())
    kept = pyarrow.array([None] * len(rows), pyarrow.uint32())
    names = pyarrow.array(["x"])
    for each in (codes, kept):
        column = pyarrow.DictionaryArray.from_arrays(each, names)
        pyarrow.parquet.write_table(rows.append_column("C", column), sub)
        found = geodomain.merge_file(sub, out, extensive="T", overwrite=True)
        assert found.after == plain.after if each is kept else found.after > plain.after
    lists = pyarrow.array([[1]] * len(rows))
    pyarrow.parquet.write_table(rows.append_column("C", lists), sub)
    with pytest.raises(TableError, match=r"sub\.parquet has a column of a type that cannot be"):
        geodomain.merge_file(sub, out, extensive="T", overwrite=True)


def test_an_index_that_is_a_range_is_left_out_and_said(tmp_path: Path) -> None:
    blocks = pyarrow.parquet.read_table(table(tmp_path)).to_pandas()
    blocks.index = pandas.RangeIndex(100, 100 + len(blocks), name="ID")
    place, out = tmp_path / "range.parquet", tmp_path / "sub.parquet"
    blocks.to_parquet(place)
    with pytest.warns(GeodomainWarning, match="the pandas index is a range"):
        found = geodomain.subblock_file(
            place, {"ORE": solid()}, out, scheme="grid", minimum="3,7,2", extensive="T"
        )
    assert pandas.read_parquet(out).index.equals(pandas.RangeIndex(found.written))
