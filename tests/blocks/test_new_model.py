"""Models from nothing: exact centroids, the fewest blocks that fit, and rotation there and back."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_command import run_command
from late import pyarrow, pyvista
from shapes import star
from sheets import level
from wireframes import box, cube

import geodomain
from geodomain import Mesh, TableError, label_file, model_file
from geodomain.blocks import new_model
from geodomain.blocks.new_model import DecimalAxis, as_decimal

DECIMALS = st.decimals(-9_999_999, 9_999_999, allow_nan=False, places=4)
SIZES = st.decimals("0.001", 1000, allow_nan=False, places=3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: str) -> list[list[str]]:
    return [line.split(",") for line in Path(path).read_text().splitlines()]


@given(low=DECIMALS, size=SIZES, count=st.integers(1, 40))
def test_centres_are_exact_and_floats_the_nearest(low: Decimal, size: Decimal, count: int) -> None:
    axis = DecimalAxis(low, size, count)
    texts = [text for some in axis.texts() for text in some]
    due = [Fraction(low) + (2 * n + 1) * Fraction(size) / 2 for n in range(count)]
    assert [Fraction(text) for text in texts] == due
    # All have as many digits after the point, and no more than one of them needs.
    digits = {len(text.partition(".")[2]) for text in texts}
    assert len(digits) == 1 and (digits == {0} or any(text[-1] != "0" for text in texts))
    assert axis.numbers(np.arange(count)).tolist() == [float(one) for one in due]
    assert Fraction(axis.high) == Fraction(low) + count * Fraction(size)


def test_numbers_of_many_digits_are_rounded_once() -> None:
    axis = DecimalAxis(Decimal("123456789012.1234567890123"), Decimal("0.0000000000007"), 9)
    due = [
        Fraction("123456789012.1234567890123") + (2 * n + 1) * Fraction(35, 10**14)
        for n in range(9)
    ]
    assert axis.numbers(np.arange(9)).tolist() == [float(one) for one in due]
    assert str(as_decimal(Fraction(-1, 8))) == "-0.125" and str(as_decimal(Fraction(100))) == "100"


def test_x_is_fastest_in_every_format(folder: Path) -> None:
    asked = dict(origin="414000.05,-10,0", size=["5", "2.5", 1], count=(4, 3, 2))
    made = model_file("m.csv", **asked)
    assert (made.blocks, made.count) == (24, (4, 3, 2))
    head, *body = rows("m.csv")
    assert head == ["x", "y", "z", "dx", "dy", "dz"]
    half, quarter = Fraction(5, 2), Fraction(5, 4)
    due = [
        [Fraction("414002.55") + 5 * i, -10 + half * j + quarter, k + Fraction(1, 2), 5, half, 1]
        for k in range(2)
        for j in range(3)
        for i in range(4)
    ]
    assert [[Fraction(cell) for cell in row] for row in body] == due
    model_file("m.csv.gz", **asked)
    label_file("m.csv.gz", {"A": box((0, -99, -99), (414_010, 99, 99))}, "o.csv")
    assert [row[:-1] for row in rows("o.csv")] == [head, *body]
    model_file("m.parquet", **asked)
    table = pyarrow.parquet.read_table("m.parquet")
    assert table.column_names == head
    numbers = np.array([[float(cell) for cell in row] for row in due])
    assert np.array_equal(
        np.stack([column.to_numpy() for column in table.columns], axis=1), numbers
    )
    model_file("m.vti", **asked)
    assert np.allclose(pyvista.read("m.vti").cell_centers().points, numbers[:, :3], atol=1e-9)


def test_long_axes_are_written_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = dict(origin="0,0,0", size=1, count="7,5,3")
    model_file("whole.csv", **asked)
    model_file("whole.parquet", **asked)
    monkeypatch.setattr(new_model, "_BUFFER", 4)  # so that no axis is held
    monkeypatch.setattr(new_model, "_GROUP", 11)
    monkeypatch.setattr("geodomain.blocks.new_model._CHUNK", 3)
    told: list[tuple[int, int | None]] = []
    model_file("parts.csv", **asked, progress=lambda done, total: told.append((done, total)))
    model_file("parts.parquet", **asked)
    assert Path("parts.csv").read_bytes() == Path("whole.csv").read_bytes()
    one, other = (pyarrow.parquet.read_table(f"{name}.parquet") for name in ("whole", "parts"))
    assert one.equals(other)
    assert pyarrow.parquet.ParquetFile("parts.parquet").num_row_groups == 10
    assert told[-1][1] == 105


@pytest.mark.parametrize("anchor", [None, "3.5,0.25,-1"])
@pytest.mark.parametrize("margin", [0, "2.5", "1,0,30"])
def test_the_fewest_blocks_hold_the_meshes(folder: Path, margin, anchor) -> None:
    meshes = [star(9, centre=(414_000.3, 7_480_000.7, 12.5)), cube()]
    sizes = (Fraction(10), Fraction(5), Fraction("2.5"))
    given = str(margin).split(",") * 3
    corner = [Fraction(one) for one in (anchor or "0,0,0").split(",")]
    for some, name in ((meshes[:1], "m.csv"), (meshes, "m.vti")):
        made = model_file(name, size="10,5,2.5", fit=some, margin=margin, origin=anchor)
        for k, axis in enumerate(made.axes):
            used = np.concatenate([mesh.vertices[mesh.triangles][..., k].ravel() for mesh in some])
            low, high = (
                Fraction(used.min()) - Fraction(given[k]),
                Fraction(used.max()) + Fraction(given[k]),
            )
            first, last = floor((low - corner[k]) / sizes[k]), ceil((high - corner[k]) / sizes[k])
            assert Fraction(axis.low) == corner[k] + first * sizes[k]
            assert axis.count == last - first and Fraction(axis.size) == sizes[k]


def test_a_flat_mesh_gets_a_layer(folder: Path) -> None:
    made = model_file("m.csv", size=5, fit=level(10.0, 4))
    assert [(str(axis.low), axis.count) for axis in made.axes][2] == ("10", 1)


def test_a_wireframe_alone_is_enough(folder: Path) -> None:
    ore = star(9, centre=(414_000.3, 7_480_000.7, 12.5))
    geodomain.write_mesh(ore, "ore.ply")
    for name in ("m.csv", "m.parquet", "m.vti"):
        model_file(name, size="10,10,5", fit="ore.ply", margin=10)
        found = label_file(name, {"ORE": "ore.ply"}, f"labelled_{name}")
        assert found.domains[0].volume == pytest.approx(ore.volume, rel=0.02)
        assert not found.warnings


@pytest.mark.parametrize("rotation", ["z=30", "z=30,x=-20", "y=80"])
@pytest.mark.parametrize("local", [None, "1000,2000.5,-3"])
def test_rotation_there_and_back(folder: Path, rotation: str, local: str | None) -> None:
    asked = dict(rotation=rotation, origin="414000,7480000,100", local_origin=local)
    ore = star(7, radius=(60, 30, 20), centre=(414_010.0, 7_480_040.0, 90.0))
    made = model_file("m.csv", size="4,4,2", fit=ore, margin=4, **asked)
    label_file("m.csv", {"ORE": ore}, "o.csv", **asked)
    # The blocks are where a rotation by hand has them, and those around the solid are outside.
    _, *body = rows("o.csv")
    local_places = np.array([[float(cell) for cell in row[:3]] for row in body])
    world = local_places - [float(v) for v in (local or "0,0,0").split(",")]
    for turn in reversed(rotation.split(",")):
        axis, angle = turn[0], np.radians(float(turn[2:]))
        one, two = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
        c, s = np.cos(angle), np.sin(angle)
        a, b = world[:, one].copy(), world[:, two].copy()
        world[:, one], world[:, two] = c * a + s * b, -s * a + c * b
    world += [414_000, 7_480_000, 100]
    inside = geodomain.contains(ore, world)
    labels = np.array([row[6] for row in body])
    assert (labels == np.where(inside, "ORE", "")).mean() > 0.9999
    low, high = (
        np.array([float(getattr(axis, end)) for axis in made.axes]) for end in ("low", "high")
    )
    edge = ((local_places < low + 4) | (local_places > high - 4)).any(axis=1)
    assert inside.sum() * 32 == pytest.approx(ore.volume, rel=0.03) and not inside[edge].any()
    # A VTK image is turned itself, and its cells come in the same order.
    model_file("m.vti", size="4,4,2", fit=ore, margin=4, **asked)
    label_file("m.vti", {"ORE": ore}, "o.vti")
    found = pyvista.read("o.vti")
    assert np.allclose(found.cell_centers().points, world, atol=1e-6)
    assert (np.array(found.cell_data["domain"]) == labels).mean() > 0.999


def run(*options: str, code: int = 0):
    return run_command("model", *options, code=code)


def test_the_command(folder: Path) -> None:
    result = run("--origin", "0.1,0,0", "--size", "1", "--count", "2,1,1", "-o", "m.csv")
    assert Path("m.csv").read_text() == "x,y,z,dx,dy,dz\n0.6,0.5,0.5,1,1,1\n1.6,0.5,0.5,1,1,1\n"
    assert result.stderr.splitlines()[:2] == ["2 blocks of 1 x 1 x 1", "x: 0.1 to 2.1, 2 blocks"]
    geodomain.write_mesh(cube(), "ore.obj")
    told = run("--fit", "ore.obj", "--size", "4", "--margin", "0.5", "-o", "m.vti", "--json").stdout
    assert json.loads(told)["low"] == ["-4"] * 3 and json.loads(told)["count"] == [4, 4, 4]
    turned = ("--rotation", "z=90", "--origin", "5,5,0")
    result = run(*turned, "--size", "5", "--count", "1,1,2", "-o", "r.csv")
    assert "label them with --rotation z=90 --origin 5,5,0 --local-origin 0,0,0" in result.stderr
    text = run("--origin", "0,0,0", "--size", "1", "--count", "1,1,1", "-o", "-", "-q").stdout
    assert text == "x,y,z,dx,dy,dz\n0.5,0.5,0.5,1,1,1\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--origin", "0,0,0"],
        ["--origin", "0,0,0", "--count", "1,1,1", "--fit", "ore.obj"],
        ["--count", "1,1,1"],
        ["--origin", "0,0,0", "--count", "1,1,1", "--margin", "1"],
        ["--fit", "ore.obj", "--rotation", "z=1"],
        ["--fit", "ore.obj", "--local-origin", "0,0,0"],
        ["--origin", "0,0", "--count", "1,1,1"],
        ["--origin", "0,0,nan", "--count", "1,1,1"],
        ["--origin", "0,0,0", "--count", "1,0,1"],
        ["--origin", "0,0,0", "--count", "1,1.5,1"],
        ["--fit", "ore.obj", "--margin", "-1"],
    ],
)
def test_options_that_make_no_sense(folder: Path, options: list[str]) -> None:
    geodomain.write_mesh(cube(), "ore.obj")
    run("--size", "1", "-o", "m.csv", *options, code=2)
    assert not Path("m.csv").exists()
    for size in ("0", "-1", "1,1", "a", "inf", "1e-40"):
        run("--size", size, "-o", "m.csv", "--fit", "ore.obj", code=2)


def test_what_is_refused(folder: Path) -> None:
    geodomain.write_mesh(cube(), "ore.obj")
    asked = dict(origin="0,0,0", size=1, count=(1, 1, 1))
    with pytest.raises(TableError, match=r"use the extension \.csv"):
        model_file("m.omf", **asked)
    with pytest.raises(TableError, match="too small"):
        model_file("m.csv", origin="7480000,0,0", size="1e-9", count=(2, 2, 2))
    with pytest.raises(TableError, match="has no triangle"):
        model_file("m.csv", size=1, fit=Mesh(np.empty((0, 3)), np.empty((0, 3), int)))
    Path("x.csv").write_text("x")
    with pytest.raises(TableError, match="is the input"):
        model_file("x.csv", size=1, fit="x.csv", overwrite=True)
    with pytest.raises(ValueError, match="either count= or fit="):
        model_file("m.csv", size=1)
    with pytest.raises(ValueError, match="needs origin="):
        model_file("m.csv", size=1, count=(1, 1, 1))
    model_file("m.csv", **asked)
    with pytest.raises(FileExistsError):
        model_file("m.csv", **asked)
    assert sorted(path.name for path in folder.iterdir()) == ["m.csv", "ore.obj", "x.csv"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_a_model_that_the_disk_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    """As where sizes are in another unit; nothing is written."""
    with pytest.raises(TableError, match=r"blocks need at least .* GB.*in the unit"):
        model_file(tmp_path / name, origin="0,0,0", size=0.001, count="10000000,10000000,10000000")
    assert not list(tmp_path.iterdir())
