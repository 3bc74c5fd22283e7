"""Block models as VTK data sets: centres by hand, labels as arrays, and the rest as it was."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from label_command import run_command
from late import pv
from wireframes import box, cube

from geodomain import Domain, label_file
from geodomain.cli import main
from geodomain.errors import TableError
from geodomain.formats.block_file import as_numbers
from geodomain.formats.cells import cells_of
from geodomain.formats.vtk import category_array
from geodomain.formats.wireframes import write_mesh
from geodomain.tables.frames import LocalFrame
from geodomain.tables.new_columns import NewColumn

BOTH = ("--solid", "ORE=ore.obj", "--solid", "HALÓ=halo.obj")
PAIR = (0.1, 6.6)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two wireframes."""
    monkeypatch.chdir(tmp_path)
    write_mesh(cube(), tmp_path / "ore.obj")
    write_mesh(box((5, 5, 5), (15, 15, 15)), tmp_path / "halo.obj")
    return tmp_path


def run(source: str, out: str, *options: str, code: int = 0) -> Result:
    return run_command("label", source, *BOTH, "-o", out, *options, code=code)


def image(shape: tuple = (4, 3, 2), spacing: float = 5.0) -> pv.ImageData:
    grid = pv.ImageData(dimensions=np.array(shape) + 1, spacing=(spacing,) * 3)
    grid.cell_data["AU"] = np.arange(grid.n_cells, dtype=np.float32)
    grid.point_data["P"] = np.arange(grid.n_points)
    grid.field_data["site"] = ["North pit"]
    return grid


KINDS = ("a.vti", "a.vtr", "a.vts", "voxels.vtu", "hexahedra.vtu", "image.vtk", "grid.vtk")


def models() -> dict[str, pv.DataSet]:
    """Return the same 24 blocks as each kind of data set."""
    grid = image()
    voxels = grid.cast_to_unstructured_grid()
    hexahedra = grid.cast_to_structured_grid().cast_to_unstructured_grid()
    datasets = (
        grid,
        grid.cast_to_rectilinear_grid(),
        grid.cast_to_structured_grid(),
        voxels,
        hexahedra,
        grid,
        voxels,
    )
    return dict(zip(KINDS, datasets, strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_labels_are_an_array_of_the_cells(folder: Path, name: str) -> None:
    before = models()[name]
    before.save(name)
    out = "out" + Path(name).suffix
    result = run(name, out, "--background", "W", "--flags")
    after = pv.read(out)
    expected = [
        ["ORE", "ORE", "HALÓ", "W"] if y and z else ["ORE", "ORE", "W", "W"] if y < 2 else ["W"] * 4
        for z in (0, 1)
        for y in (0, 1, 2)
    ]
    expected[5] = ["W", "HALÓ", "HALÓ", "W"]
    assert after.cell_data["domain"].tolist() == [label for row in expected for label in row]
    assert after.cell_data["in_ore"].tolist() == [
        int(label == "ORE") for label in after.cell_data["domain"]
    ]
    assert type(after) is type(before) and after.n_points == before.n_points
    for arrays in ("cell_data", "point_data", "field_data"):
        for key, array in getattr(before, arrays).items():
            np.testing.assert_array_equal(getattr(after, arrays)[key], array)
            assert getattr(after, arrays)[key].dtype == array.dtype
    np.testing.assert_array_equal(after.points, before.points)
    assert "HALÓ" in result.stderr and "1,000" in result.stderr  # 8 blocks of 125 cubic metres
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [name, out, "halo.obj", "ore.obj"]
    )


def centres(dataset: pv.DataSet) -> tuple[np.ndarray, np.ndarray]:
    cells = cells_of(dataset, "model")
    out, sizes = np.empty((2, cells.count, 3))
    for where, points, lengths in cells.chunks():
        out[where], sizes[where] = points, lengths
    return out, sizes


def as_cells(grid: pv.RectilinearGrid) -> pv.UnstructuredGrid:
    """Return the same cells, with points in double precision whatever PyVista's version."""
    cells = grid.cast_to_unstructured_grid()
    axes = np.meshgrid(grid.x, grid.y, grid.z, indexing="ij")
    cells.points = np.stack([axis.ravel(order="F") for axis in axes], axis=1)
    return cells


def test_a_centre_is_rounded_once() -> None:
    grid = pv.RectilinearGrid([PAIR[0], PAIR[1]], [0.0, 1], [0.0, 1])
    mean, other = (PAIR[0] + PAIR[1]) / 2, PAIR[0] + (PAIR[1] - PAIR[0]) / 2
    assert mean != other
    for dataset in (grid, as_cells(grid)):
        assert centres(dataset)[0][0, 0] == mean


def test_a_centre_is_the_mean_of_two_faces() -> None:
    # 0.1 + 3 * 0.1 and the like: not what a product of half steps would round to.
    grid = pv.ImageData(dimensions=(8, 2, 2), spacing=(0.1, 1, 1), origin=(0.1, 0, 0))
    faces = [0.1 + i * 0.1 for i in range(8)]
    found, sizes = centres(grid)
    assert found[:, 0].tolist() == [(a + b) / 2 for a, b in pairwise(faces)]
    assert sizes[:, 0].tolist() == [b - a for a, b in pairwise(faces)]
    axes = pv.RectilinearGrid(faces, [0.0, 1], [0.0, 1])
    for other in (axes, as_cells(axes)):
        same, lengths = centres(other)
        assert (same == found).all() and (lengths == sizes).all()


@pytest.mark.parametrize("name", KINDS)
def test_centres_are_those_of_pyvista(name: str) -> None:
    dataset = models()[name]
    found, sizes = centres(dataset)
    np.testing.assert_allclose(found, dataset.cell_centers().points, rtol=1e-15)
    assert (sizes == 5).all()


def test_an_extent_that_does_not_begin_at_zero() -> None:
    grid = image((9, 8, 7)).extract_subset([3, 6, 2, 4, 1, 5])
    found, _ = centres(grid)
    np.testing.assert_allclose(found, grid.cell_centers().points)
    assert found[0].tolist() == [17.5, 12.5, 7.5]


def test_a_turned_image() -> None:
    grid = image()
    grid.origin, grid.direction_matrix = (500, 1000, 100), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    found, sizes = centres(grid)
    assert found[1].tolist() == [502.5, 992.5, 102.5] and (sizes == 5).all()
    np.testing.assert_allclose(found, grid.cell_centers().points)


SKEW = np.array([[1.0, 0, 0, 0], [0.25, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def test_cells_that_are_no_boxes() -> None:
    skewed = image().cast_to_structured_grid().transform(SKEW, inplace=False)
    found, sizes = centres(skewed.cast_to_unstructured_grid())
    np.testing.assert_allclose(found, skewed.cell_centers().points, rtol=1e-6)
    assert np.isnan(sizes).all() and (cells_of(skewed, "model").axes == np.eye(3)).all()


@pytest.mark.parametrize("far", [(0, 0, 0), (414_000, 7_480_000, 300)])
@pytest.mark.parametrize("turns", [[("z", 30.0)], [("z", -12.5), ("x", 40.0)], [("z", 90.0)]])
@pytest.mark.parametrize("kind", ["cast_to_structured_grid", "cast_to_unstructured_grid"])
def test_turned_boxes_have_sizes_along_their_edges(
    kind: str, turns: list, far: tuple[float, float, float]
) -> None:
    grid = getattr(pv.ImageData(dimensions=(5, 4, 3), spacing=(10, 8, 2.5)), kind)()
    frame = LocalFrame(turns, far)
    grid.points = frame.to_world(np.asarray(grid.points, np.float64))
    cells = cells_of(grid, "model")
    ((_, found, sizes),) = cells.chunks()
    np.testing.assert_allclose(found, grid.cell_centers().points, atol=1e-8)
    if turns[0][1] == 90:
        assert (cells.axes == np.eye(3)).all() and np.allclose(sizes, (8, 10, 2.5))
    else:
        assert sizes.tolist() == [[10, 8, 2.5]] * 24
        near = 0 if len(turns) == 1 else 1e-8
        np.testing.assert_allclose(cells.axes, np.array(frame.matrix).T, atol=near)
    # One cell that is no box has no size; the others keep theirs.
    grid.points[0] += 0.5
    ((_, _, sizes),) = cells_of(grid.cast_to_unstructured_grid(), "model").chunks()
    assert np.isnan(sizes[0]).all() or np.isnan(sizes).all()


def test_chunks_hold_whole_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = centres(image())
    monkeypatch.setattr("geodomain.formats.cells._CHUNK", 9)
    for dataset in models().values():
        found, _ = centres(dataset)
        assert (found == whole).all()
    lattice = cells_of(image(), "model")
    assert [len(points) for _, points, _ in lattice.chunks()] == [8, 8, 8]


REFUSED = {
    "surface.vtk": (lambda: pv.Cube(), "no blocks"),
    "flat.vti": (lambda: pv.ImageData(dimensions=(3, 3, 1)), "flat: it has 2 x 2 x 0 cells"),
    "tetra.vtu": (lambda: pv.Cube().triangulate().delaunay_3d(), "VTK types 10"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_block_model(folder: Path, name: str) -> None:
    make, sentence = REFUSED[name]
    make().save(name)
    result = run(name, "out" + Path(name).suffix, code=3)
    assert name in result.stderr and sentence in result.stderr
    assert result.stderr.count("\n") == 1 and not list(folder.glob("out*"))


def test_files_are_as_safe_as_text(folder: Path) -> None:
    image().save("a.vti")
    before = Path("a.vti").read_bytes()
    assert "extension .vti" in run("a.vti", "out.vtu", code=3).stderr
    assert "extension .vti" in run("a.vti", "-", code=3).stderr
    assert "--in-place" in run("a.vti", "a.vti", "--overwrite", code=3).stderr
    assert (
        "so --position does not apply"
        in run("a.vti", "b.vti", "--position", "corner", code=3).stderr
    )
    assert "already has a column 'AU'" in run("a.vti", "b.vti", "--column", "au", code=3).stderr
    run("a.vti", "b.vti", "--dry-run")
    assert Path("a.vti").read_bytes() == before
    Path("b.vti").write_bytes(before[: len(before) // 2])
    assert "cannot be read by VTK" in run("b.vti", "c.vti", code=3).stderr
    assert "nil.vti" in run("nil.vti", "c.vti", code=4).stderr
    Path("a.csv").write_bytes(before)
    assert "name it .vti" in run("a.csv", "c.csv", code=3).stderr
    assert not list(folder.glob("c.*")) and not list(folder.glob(".*"))


def test_replacing_and_in_place(folder: Path) -> None:
    image().save("a.vti")
    Path("a.vti").chmod(0o640)
    arguments = ["label", "a.vti", *BOTH, "--in-place", "--replace-column", "au"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert list(pv.read("a.vti").cell_data) == ["AU"]
    assert set(pv.read("a.vti").cell_data["AU"]) == {"ORE", "HALÓ", ""}
    assert Path("a.vti").stat().st_mode & 0o777 == 0o640


def test_nothing_meets_the_model(folder: Path) -> None:
    grid = image()
    grid.origin = (900, 900, 900)
    grid.save("a.vti")
    assert "no solid meets the block model" in run("a.vti", "b.vti", code=3).stderr
    assert sorted(path.name for path in folder.iterdir()) == ["a.vti", "halo.obj", "ore.obj"]


def test_single_precision_at_mine_coordinates_is_said(folder: Path) -> None:
    grid = image().cast_to_structured_grid()
    grid.points = (grid.points + np.array([0, 7_480_000, 0])).astype(np.float32)
    grid.save("a.vts")
    result = run("a.vts", "b.vts", "--allow-disjoint")
    assert "only accurate to 0.5" in result.stderr


def test_pieces_of_a_wrong_kind_are_table_errors() -> None:
    with pytest.raises(TableError, match="MultiBlock"):
        cells_of(pv.MultiBlock(), "model")


def kept(folder: Path, values: np.ndarray, *, other: bool = False) -> np.ndarray:
    """Label two blocks of a domain that keeps labels, the second of another, and read them."""
    grid = pv.ImageData(dimensions=(3, 2, 2), spacing=(5, 5, 5))
    grid.cell_data["zone"] = values
    grid.save(folder / "old.vti")
    domains = [Domain("A", box((0, 0, 0), (10, 5, 5)), code=1, keep=True)]
    if other:
        domains.insert(0, Domain("B", box((5, 0, 0), (10, 5, 5)), code=3))
    given = {"column": "zone", "codes": True, "replace": True, "overwrite": True}
    label_file(folder / "old.vti", domains, folder / "new.vti", **given)
    return np.asarray(pv.read(folder / "new.vti").cell_data["zone"])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "values", [[5e9, 6e9], [2**40, -(2**41)], [2**53 + 1, 2**62 + 1], [1.25, -7e9], [1e300, 2e19]]
)
def test_numbers_that_are_kept_stay_as_they_are(folder: Path, values: list) -> None:
    assert kept(folder, np.array(values)).tolist() == values
    assert kept(folder, np.array(values), other=True).tolist() == [values[0], 3]


def test_integers_that_no_type_holds_are_refused(folder: Path) -> None:
    with pytest.raises(TableError, match=r"beyond 64 bits.* use no domain that keeps"):
        kept(folder, np.array([2**63 + 1, 5], np.uint64))


def test_integers_beside_no_code_are_refused_where_floats_would_round_them() -> None:
    column, codes = NewColumn("zone", ("1", "")), np.array([2, 1], np.int32)
    with pytest.raises(TableError, match=r"cannot hold its old integers beyond 2\^53"):
        as_numbers(column, codes, np.array([2**53 + 1, 5]))
    assert as_numbers(column, codes, np.array([2**52, 5]))[0] == 2**52


# --- Arrays of strings, as VTK holds them.


TEXTS = ["ORE", "HALÓ", "a b"]


@pytest.mark.parametrize("count", [0, 1, 2, 17, 400])
@pytest.mark.parametrize("run", [1, 2, 7, 300])
def test_values_are_the_texts_of_their_places(count: int, run: int) -> None:
    random = np.random.default_rng(count + run)
    places = np.repeat(random.integers(-1, len(TEXTS), count), run)[:count].astype(np.int32)
    array = category_array("domain", TEXTS, places)
    assert array.GetName() == "domain"
    values = [array.GetValue(row) for row in range(array.GetNumberOfValues())]
    assert values == [TEXTS[place] if place >= 0 else "" for place in places]


def test_longer_runs_come_later_and_are_copied_whole() -> None:
    lengths = [1, 5, 2, 64, 3, 129, 1]
    places = np.concatenate([np.full(n, row % 2, np.int32) for row, n in enumerate(lengths)])
    array = category_array("domain", TEXTS, places)
    assert [array.GetValue(row) for row in range(sum(lengths))] == [TEXTS[p] for p in places]


def test_nothing_but_missing() -> None:
    array = category_array("domain", [], np.full(9, -1, np.int32))
    assert {array.GetValue(row) for row in range(9)} == {""}
