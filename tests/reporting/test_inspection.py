"""What is understood of block models: lattices, sub-blocks, rotations, and how meshes fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from surfaces import hairline
from wireframes import box

import geodomain
from geodomain import write_mesh
from geodomain.cli import main
from geodomain.errors import TableError
from geodomain.reporting.survey import Survey, find_lattice, sub_blocking
from geodomain.synthetic import deposit
from geodomain.tables.frames import LocalFrame
from geodomain.tables.rotation import azimuth_of


def grid(shape=(5, 4, 3), size=(10.0, 20.0, 5.0), origin=(414_000.0, 7_480_000.0, 150.0)):
    """Return the centroids and sizes of a regular model, x fastest."""
    axes = [o + s * (np.arange(n) + 0.5) for n, s, o in zip(shape, size, origin, strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    return points, np.tile(size, (len(points), 1))


def surveyed(points, sizes, *, chunk: int = 17, **options) -> Survey:
    survey = Survey(**options)
    for start in range(0, len(points), chunk):
        rows = slice(start, start + chunk)
        survey.add(points[rows], None if sizes is None else sizes[rows])
    return survey


@pytest.mark.parametrize("sized", [True, False])
def test_a_regular_model(sized: bool) -> None:
    points, sizes = grid()
    survey = surveyed(points, sizes if sized else None)
    lattice = find_lattice(survey)
    assert lattice and lattice.cells == (5, 4, 3) and lattice.filled == pytest.approx(1)
    assert lattice.spacing == pytest.approx((10, 20, 5))
    assert lattice.origin == pytest.approx((414_000, 7_480_000, 150))
    assert sub_blocking(survey) == ("regular" if sized else "sizes unknown")
    assert survey.centroids.tolist() == [points.min(axis=0).tolist(), points.max(axis=0).tolist()]
    if sized:
        assert survey.extent[1].tolist() == [414_050, 7_480_080, 165]
        assert survey.volume == 60 * 1000


def test_a_model_with_holes_and_blocks_twice() -> None:
    points, sizes = grid()
    half = surveyed(points[::2], sizes[::2])
    assert find_lattice(half).filled == pytest.approx(0.5)  # type: ignore[union-attr]
    twice = surveyed(np.concatenate([points, points]), np.concatenate([sizes, sizes]))
    assert find_lattice(twice).filled == pytest.approx(2)  # type: ignore[union-attr]


def test_missing_centroids_and_sizes() -> None:
    points, sizes = grid()
    points[3, 1], sizes[7, 0] = np.nan, np.nan
    survey = surveyed(points, sizes)
    assert (survey.rows, survey.missing, survey.sized) == (60, 1, False)
    assert sub_blocking(survey) == "sizes unknown"
    nothing = surveyed(np.full((3, 3), np.nan), None)
    assert find_lattice(nothing) is None and nothing.missing == 3
    assert find_lattice(Survey()) is None


def test_points_on_no_lattice() -> None:
    points = np.random.default_rng(1).random((100, 3))
    assert find_lattice(surveyed(points, np.full((100, 3), 0.1))) is None
    assert find_lattice(surveyed(points, None)) is None


@given(st.floats(-44, 44).filter(lambda angle: abs(angle) > 0.1), st.integers(1, 40))
def test_a_turned_lattice_in_the_world(angle: float, chunk: int) -> None:
    points, sizes = grid(shape=(12, 4, 3))
    world = LocalFrame([("z", angle)], (414_000, 7_480_000, 0), (414_000, 7_480_000, 0))
    survey = surveyed(world.to_world(points), sizes, chunk=12 * chunk)
    assert survey.azimuth == pytest.approx(angle, abs=1e-5)
    lattice = find_lattice(survey)
    assert lattice and lattice.cells == (12, 4, 3) and lattice.filled == pytest.approx(1)


def test_a_lattice_in_a_frame_that_is_known() -> None:
    points, sizes = grid(origin=(0.0, 0.0, 0.0))
    frame = LocalFrame([("z", 30), ("x", -60)], (414_000, 7_480_000, 150))
    lattice = find_lattice(surveyed(frame.to_world(points), sizes, local=frame))
    assert lattice and lattice.cells == (5, 4, 3)
    assert lattice.origin == pytest.approx((0, 0, 0), abs=1e-6)


def test_no_turn_is_seen_where_there_is_none() -> None:
    points, sizes = grid()
    assert azimuth_of(points, sizes) == 0
    assert azimuth_of(np.random.default_rng(2).random((50, 3)), np.ones((50, 3))) == 0


@pytest.mark.full
def test_the_deposits_octree() -> None:
    blocks = deposit("small").subblocked
    survey = surveyed(blocks.centroids, blocks.sizes, chunk=5000)
    lattice = find_lattice(survey)
    assert sub_blocking(survey) == "octree"
    assert lattice and lattice.filled == pytest.approx(1)
    assert np.prod(lattice.cells) * np.prod(lattice.spacing) == pytest.approx(survey.volume)


def test_other_sub_blocks_than_an_octree() -> None:
    points, sizes = grid()
    sizes[0] = (10, 20, 2.5)
    assert sub_blocking(surveyed(points, sizes)) == "sub-blocked"


def test_blocks_in_the_box_of_a_mesh() -> None:
    points, sizes = grid(origin=(0.0, 0.0, 0.0))
    bounds = box((0, 0, 0), (25, 30, 100)).bounds  # walls count: x 5, 15, 25 and y 10, 30
    assert surveyed(points, sizes, boxes=[bounds]).inside.tolist() == [3 * 2 * 3]


def test_inspect_file_returns_what_the_command_prints(tmp_path: Path) -> None:
    points, sizes = grid()
    rows = [",".join(map(repr, row)) for row in np.hstack([points, sizes]).tolist()]
    path = tmp_path / "b<1>.csv"
    path.write_text("\n".join(["X,Y,Z,DX,DY,DZ", *rows, ""]))
    ore, far = (box(tuple(at), tuple(at + 20)) for at in (points[0], points[0] + 900))
    write_mesh(ore, tmp_path / "ore.obj")
    (tmp_path / "d.toml").write_text('[[domain]]\nname = "ORE"\nmesh = "ore.obj"\n')
    said = CliRunner().invoke(main, ["inspect", str(path), str(tmp_path / "ore.obj")])
    found = geodomain.inspect_file(path, tmp_path / "ore.obj")
    # The last line says a time.
    assert said.stdout.splitlines()[:-1] == str(found).splitlines()[:-1]
    assert found.rows == 60 and found.meshes[0].meets and found.warnings == ()
    listed = geodomain.inspect_file(path, domains=tmp_path / "d.toml")
    mapped = geodomain.inspect_file(path, domains={"ORE": [tmp_path / "ore.obj"]})
    assert listed.meshes == mapped.meshes == found.meshes
    with pytest.warns(geodomain.GeodomainWarning, match="does not meet the block model"):
        found = geodomain.inspect_file(path, [ore, far], dx="DX", dy="DY", dz="DZ")
    assert len(found.warnings) == 1 and len(found.meshes) == 2
    assert "b<1>.csv: 60 blocks, regular, 2 meshes, 1 warning>" in repr(found)
    html = found._repr_html_()
    assert "b&lt;1&gt;.csv" in html and "b<1>" not in html and "warning: " in html


def test_check_file_reports_on_what_it_wrote(tmp_path: Path) -> None:
    path, out = tmp_path / "hair.ply", tmp_path / "closed.ply"
    write_mesh(hairline(0.0004), path)
    found = geodomain.check_file(path)
    assert not found.report.fit and found.welded is None
    assert found.weld_closes == {1e-6: False, 1e-3: True, 1e-2: True}
    found = geodomain.check_file(path, out, weld=0.001)
    assert found.report.fit and found.report.name == "closed.ply"
    assert found.welded is not None and found.welded["moved"] == 4
    assert str(found).startswith("welded at 0.001: 4 vertices moved")
    before = out.read_bytes()
    for options, error in (
        ({"weld": 0.001}, FileExistsError),
        ({}, ValueError),
        ({"weld": -1.0, "overwrite": True}, ValueError),
    ):
        with pytest.raises(error):
            geodomain.check_file(path, out, **options)
    with pytest.raises(FileNotFoundError):
        geodomain.check_file(path, tmp_path / "no" / "x.ply", weld=0.001)
    assert out.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["closed.ply", "hair.ply"]


LATTICES = {
    "even": ("0 9 0 8 0 10", "1 2 0.5"),
    "small": ("3 5 0 1 -2 9", "0.1 0.3 0.7"),
    "far": ("80000000 80000009 0 8 0 12", "0.1 10 10"),
    "reversed": ("0 9 0 8 0 10", "1 -2 0.5"),
    "a code": ("-99 -90 0 8 -99 -89", "1 1 1"),
}


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("kind", LATTICES)
def test_a_lattice_is_described_without_its_cells(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extent, spacing = LATTICES[kind]
    (tmp_path / "a.vti").write_text(
        f'<VTKFile type="ImageData" byte_order="LittleEndian"><ImageData WholeExtent="{extent}" '
        f'Origin="-1.5 7 2" Spacing="{spacing}"><Piece Extent="{extent}"><CellData></CellData>'
        "</Piece></ImageData></VTKFile>"
    )
    box = geodomain.Mesh([[0, 9, 3], [3, 9, 3], [0, 12, 3], [0, 9, 9]], [[0, 1, 2], [0, 2, 3]])
    short = geodomain.inspect_file(tmp_path / "a.vti", [box]).as_dict()
    monkeypatch.setattr("geodomain.reporting.inspect.even_lattice", lambda *_, **__: None)
    full = geodomain.inspect_file(tmp_path / "a.vti", [box]).as_dict()
    assert short.pop("volume") == pytest.approx(full.pop("volume"), rel=1e-12)
    del short["seconds"], full["seconds"]
    filled = full["lattice"].pop("filled")
    assert short["lattice"].pop("filled") == pytest.approx(filled, rel=1e-12)
    assert short == full


@pytest.mark.parametrize("extent", ["0 1000 0 1000 0 1000", "0 100000 0 1 0 100000"])
def test_a_billion_cells_are_described_at_once(extent: str, tmp_path: Path) -> None:
    (tmp_path / "a.vti").write_text(
        f'<VTKFile type="ImageData" byte_order="LittleEndian"><ImageData WholeExtent="{extent}" '
        f'Origin="0 0 0" Spacing="1 1 1"><Piece Extent="{extent}"><CellData></CellData>'
        "</Piece></ImageData></VTKFile>"
    )
    found = geodomain.inspect_file(tmp_path / "a.vti")
    assert found.rows == found.volume >= 10**9 and found.lattice is not None


@pytest.mark.parametrize(
    ("extent", "size"),
    [("0 2000000000 0 1 0 1", "2,000,000,000 x 1 x 1"), ("0 90000 0 90000 0 90000", "TB")],
)
def test_a_lattice_larger_than_memory_is_refused(extent: str, size: str, tmp_path: Path) -> None:
    (tmp_path / "a.vti").write_text(
        f'<VTKFile type="ImageData" byte_order="LittleEndian"><ImageData WholeExtent="{extent}" '
        f'Origin="0 0 0" Spacing="1 1 1"><Piece Extent="{extent}"><CellData></CellData>'
        "</Piece></ImageData></VTKFile>"
    )
    with pytest.raises(TableError, match=f"{size}.* allow more with GEODOMAIN_MEMORY="):
        geodomain.inspect_file(tmp_path / "a.vti")
